//! The results of the cross-modal experiment as tables, in the layout of the paper's Table 1.

use super::results::{CellReport, Report, Row};
use crate::program::paired::ROLES;
use crate::program::report::{self, counted};

/// What a star stands for.
const SIGNIFICANT: f64 = 0.001;

/// What the overlaps are of.
const MEANING: &str = "X,f(X): share of its K nearest neighbours that a mapped row has in common with what was mapped; Y,f(X): with its \
                       target; X,Y: that the two have without a map. X is what is mapped: in rows y->x that is the file Y.";

const ERRORS: &str = "MSE: mean of 1/2 |f(x) - y|^2 over test rows; R2 over all dimensions together. Maps of other losses are not made to be \
                      small in them.";

/// A value of a row.
type Value = fn(&Row) -> f64;

/// What a direction has without a map.
const WITHOUT_MAP: [(&str, Value); 2] = [("X,Y", |row| row.x_y), ("chance", |row| row.chance)];

impl Row {
    fn star(&self) -> &'static str {
        if self.p.is_some_and(|p| p < SIGNIFICANT) { "*" } else { "" }
    }
}

impl Report {
    /// The rows of a cell under a metric, one for each k.
    fn of_cell<'a>(&'a self, cell: &'a CellReport, metric: &'a str) -> impl Iterator<Item = &'a Row> {
        let same = move |row: &&Row| {
            (row.direction, &row.map, row.loss, row.metric) == (cell.direction, &cell.map, cell.loss, metric)
        };
        self.rows.iter().filter(same)
    }

    /// A line on ties, if there are any.
    fn ties(&self) -> Option<String> {
        let most = |value: fn(&Row) -> f64| 100.0 * self.rows.iter().map(value).fold(0.0, f64::max);
        let (given, mapped) = (most(|row| row.tied_x.max(row.tied_y)), most(|row| row.tied_fx));
        (given > 0.0 || mapped > 0.0).then(|| {
            format!(
                "Up to {given:.1} % of the test rows are tied across K in X or Y, and up to {mapped:.1} % in f(X): the lower row number came \
                 first, which can lift overlaps. tied_x, tied_y and tied_fx of the results tell where.\n"
            )
        })
    }

    /// Whether what needs no map is to be told behind a cell.
    fn is_last_of_direction(&self, number: usize) -> bool {
        self.cells.get(number + 1).is_none_or(|next| next.direction != self.cells[number].direction)
    }

    fn metrics(&self) -> Vec<&'static str> {
        let mut metrics: Vec<_> = self.rows.iter().map(|row| row.metric).collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    /// What makes results comparable with others.
    fn convention(&self) -> String {
        let c = &self.conventions;
        let preset = c.preset.as_ref().map_or(String::new(), |preset| format!(" (preset {preset})"));
        format!("Self {}d{preset}, ties by lower index; {}; chosen {}.", c.self_rule, c.tested, c.chosen)
    }

    fn stars(&self) -> String {
        format!(
            "* the two overlaps differ: two-sided rank-sum over the test rows, p < {SIGNIFICANT} after Bonferroni over {}. The paper \
             names the test and no sample; its five runs or folds cannot reach that p, so rows are taken for it.",
            counted(self.conventions.comparisons, "pair")
        )
    }
}

fn fit(cell: &CellReport) -> [String; 2] {
    [significant(cell.mse), cell.r2.map_or_else(|| "-".to_owned(), |r2| format!("{r2:.3}"))]
}

/// Four significant digits.
fn significant(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) { format!("{value:.3e}") } else { format!("{value:.4}") }
}

/// The whole result for a reader.
pub(super) fn text(report: &Report) -> String {
    let c = &report.conventions;
    let inputs = || ROLES.into_iter().zip(&report.inputs);
    let mut text = report::inputs(inputs());
    text += &format!("\n{}\n", report.convention());
    for metric in report.metrics() {
        text += &format!("\nmNNO, {metric} neighbours\n");
        let mut above = vec![String::new()];
        let mut heading = vec![String::new()];
        for k in &c.k {
            above.extend([format!("K = {k}"), String::new()]);
            heading.extend(["X,f(X)", "Y,f(X)"].map(str::to_owned));
        }
        heading.extend(["MSE", "R2"].map(str::to_owned));
        let mut rows = vec![above, heading];
        for (number, cell) in report.cells.iter().enumerate() {
            let mut line = vec![format!("{} {} {}", cell.direction, cell.map, cell.loss)];
            for row in report.of_cell(cell, metric) {
                // Values stay below each other, with a star or without.
                let marked = |value: &str, star: &str| format!("{value}{star:1}");
                let (mut x, mut y) = (format!("{:.3} ", row.x_fx), format!("{:.3} ", row.y_fx));
                let larger = if row.x_fx >= row.y_fx { &mut x } else { &mut y };
                *larger = marked(larger.trim_end(), row.star());
                line.extend([x, y]);
            }
            line.extend(fit(cell));
            rows.push(line);
            if report.is_last_of_direction(number) {
                for (name, value) in WITHOUT_MAP {
                    let of_k =
                        report.of_cell(cell, metric).flat_map(|row| [String::new(), format!("{:.3} ", value(row))]);
                    rows.push([format!("{} {name}", cell.direction)].into_iter().chain(of_k).collect());
                }
            }
        }
        text += &report::table(&rows);
    }
    text += &choices(report);
    text += &format!("\n{MEANING}\n{}\n{ERRORS}\n", report.stars());
    text.extend(report.ties());
    text += &report::missing(inputs(), report.dropped_rows);
    text.extend(report.outputs.iter().map(report::OutputReport::line));
    text
}

/// How each map was found.
fn choices(report: &Report) -> String {
    let most = report.conventions.epochs;
    let heading = ["chosen", "learning rate", "hidden units", "dropout", "margin", "epochs", "test loss"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let mut still_falling = false;
    for cell in &report.cells {
        let name = format!("{} {} {}", cell.direction, cell.map, cell.loss);
        for choice in &cell.choices {
            let point = &choice.point;
            let or_none = |value: f64, none: bool| if none { "-".to_owned() } else { value.to_string() };
            still_falling |= choice.epochs == most;
            rows.push(vec![
                name.clone(),
                point.learning_rate.to_string(),
                or_none(point.units as f64, point.units == 0),
                or_none(point.dropout, point.units == 0),
                or_none(point.margin, point.margin == 0.0),
                choice.epochs.to_string(),
                significant(choice.test_loss),
            ]);
        }
        if !cell.lambdas.is_empty() {
            let mut lambdas: Vec<String> = cell.lambdas.iter().map(f64::to_string).collect();
            lambdas.dedup();
            rows.push(vec![name, format!("lambda {}", lambdas.join(", "))]);
        }
    }
    let mut text = format!("\n{}", report::table(&rows));
    if still_falling {
        text +=
            &format!("Where the last of {most} epochs was chosen, the test loss was still falling: raise --epochs.\n");
    }
    text
}

pub(super) fn markdown(report: &Report) -> String {
    let c = &report.conventions;
    let mut text = format!("{}\n", report.convention());
    for metric in report.metrics() {
        text += &format!("\nmNNO, {metric} neighbours\n\n| | | |");
        c.k.iter()
            .for_each(|k| text += &format!(" X,f(X), K = {k} | Y,f(X), K = {k} | X,Y, K = {k} | chance, K = {k} |"));
        text += " MSE | R2 |\n|---|---|---|";
        text += &"---:|".repeat(4 * c.k.len() + 2);
        text.push('\n');
        for cell in &report.cells {
            text += &format!("| {} | {} | {} |", cell.direction, cell.map, cell.loss);
            for row in report.of_cell(cell, metric) {
                let [x, y] = overlaps(row, |value, star| format!("**{value}**{}", star.replace('*', "\\*")));
                text += &format!(" {x} | {y} | {:.3} | {:.3} |", row.x_y, row.chance);
            }
            let [mse, r2] = fit(cell);
            text += &format!(" {mse} | {r2} |\n");
        }
    }
    text + &format!("\n{MEANING}\n\n{}\n\n{ERRORS}\n", report.stars().replace('*', "\\*"))
}

pub(super) fn latex(report: &Report) -> String {
    let c = &report.conventions;
    let mut text = String::new();
    for metric in report.metrics() {
        text += &format!("% {}\n", report.convention());
        text += &format!("\\begin{{tabular}}{{lll{}rr}}\n", "rr".repeat(c.k.len()));
        text += &format!("\\multicolumn{{3}}{{l}}{{{metric}}}");
        c.k.iter().for_each(|k| text += &format!(" & \\multicolumn{{2}}{{c}}{{$K={k}$}}"));
        text += " & & \\\\\n & &";
        c.k.iter().for_each(|_| text += " & $X,f(X)$ & $Y,f(X)$");
        text += " & MSE & $R^2$ \\\\\n\\hline\n";
        for (number, cell) in report.cells.iter().enumerate() {
            let direction =
                cell.direction.replace("->", " \\rightarrow ").to_uppercase().replace("RIGHTARROW", "rightarrow");
            text += &format!("${direction}$ & {} & {}", cell.map, cell.loss);
            for row in report.of_cell(cell, metric) {
                let [x, y] = overlaps(row, |value, star| {
                    let star = if star.is_empty() { "" } else { "$^*$" };
                    format!("\\textbf{{{value}}}{star}")
                });
                text += &format!(" & {x} & {y}");
            }
            let [mse, r2] = fit(cell);
            text += &format!(" & {mse} & {r2} \\\\\n");
            if report.is_last_of_direction(number) {
                for (name, value) in WITHOUT_MAP {
                    text += &format!("${direction}$ & {} &", name.replace("X,Y", "$X,Y$"));
                    report
                        .of_cell(cell, metric)
                        .for_each(|row| text += &format!(" & \\multicolumn{{2}}{{c}}{{{:.3}}}", value(row)));
                    text += " & & \\\\\n";
                }
            }
        }
        text += "\\end{tabular}\n\n";
    }
    text += &format!("% {MEANING}\n% {}\n% {ERRORS}\n", report.stars());
    text
}

/// X,f(X) and Y,f(X); the larger one by `strong`, with its star.
fn overlaps(row: &Row, strong: impl Fn(&str, &str) -> String) -> [String; 2] {
    let [x, y] = [row.x_fx, row.y_fx].map(|value| format!("{value:.3}"));
    if row.x_fx >= row.y_fx { [strong(&x, row.star()), y] } else { [x, strong(&y, row.star())] }
}
