//! `mnno inspect`: what a file holds, and whether it is fit for use.

use std::collections::HashSet;

use mnno::store::{ErrorKind, Matrix, Positions, SUMMARY_BYTES_PER_ROW, Summary};
use serde::Serialize;

use super::args::Inspect;
use super::budget::Budget;
use super::failure::Failure;
use super::inputs;
use super::progress::{Interruption, Progress};
use super::report::{self, RoundingReport, counted};

/// Rows and names that are shown; all are counted.
const SHOWN: usize = 5;
/// What telling names apart takes for each.
const BYTES_PER_NAME: u64 = 32;
/// Characters of a name that are shown.
const LONGEST_NAME: usize = 80;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    inputs: Vec<FileReport>,
}

#[derive(Serialize)]
struct FileReport {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    format: String,
    rows: usize,
    dims: usize,
    dtype: String,
    order: String,
    mapped: bool,
    access: String,
    fingerprint: String,
    names: Option<NameReport>,
    labels: Option<LabelReport>,
    rounding: Option<RoundingReport>,
    norms: Option<NormReport>,
    /// Whether every value is a finite f32 and the matrix is not empty.
    fit: bool,
    nan: PositionReport,
    infinite: PositionReport,
    beyond_f32: PositionReport,
    zero_rows: RowReport,
    equal_rows: EqualReport,
}

#[derive(Serialize)]
struct NameReport {
    distinct: usize,
    first: Vec<String>,
}

#[derive(Serialize)]
struct LabelReport {
    distinct: usize,
    most_per_row: usize,
}

#[derive(Serialize)]
struct NormReport {
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Serialize)]
struct PositionReport {
    count: u64,
    first: Vec<(usize, usize)>,
}

impl From<Positions> for PositionReport {
    fn from(p: Positions) -> Self {
        Self { count: p.count, first: p.first }
    }
}

#[derive(Serialize)]
struct RowReport {
    count: usize,
    first: Vec<usize>,
}

#[derive(Serialize)]
struct EqualReport {
    groups: usize,
    rows: usize,
    largest: usize,
    largest_first: Vec<usize>,
}

pub(crate) fn run(args: &Inspect, interruption: &Interruption) -> Result<(), Failure> {
    let options = inputs::open_options(&args.input, args.labels.as_ref());
    let mut reports = Vec::new();
    for argument in &args.files {
        let mut budget = Budget::new(args.input.memory);
        for matrix in inputs::open(argument, &options, &mut budget, interruption)? {
            let report = describe(&matrix, &budget, interruption)?;
            matrix.verify_unchanged()?;
            reports.push(report);
        }
    }
    if args.json {
        report::print_json(&Report { command: "inspect", version: env!("CARGO_PKG_VERSION"), inputs: reports })
    } else {
        report::print(&reports.iter().map(text).collect::<Vec<_>>().join("\n"))
    }
}

fn describe(matrix: &Matrix, budget: &Budget, interruption: &Interruption) -> Result<FileReport, Failure> {
    let per_row = SUMMARY_BYTES_PER_ROW + if matrix.names().is_some() { BYTES_PER_NAME } else { 0 };
    let needed = (matrix.n() as u64).saturating_mul(per_row);
    if matrix.d() > 0 && needed > budget.left() {
        return Err(budget.exceeded(needed, "telling equal rows apart"));
    }
    let progress = Progress::new(&format!("inspect {}", matrix.display_name()), "rows", interruption);
    let Summary { nan, infinite, beyond_f32, zero_rows, norms, equal_rows } = matrix.summary(&progress)?;
    // NaN and values beyond f32 have no rounding, and lines of their own.
    let rounding = match matrix.check(budget.left(), &progress) {
        Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error.into()),
        check => check.ok().and_then(|check| check.rounding),
    };
    Ok(FileReport {
        path: matrix.display_name().to_owned(),
        files: report::files(matrix),
        format: matrix.format().to_string(),
        rows: matrix.n(),
        dims: matrix.d(),
        dtype: matrix.element().to_string(),
        order: matrix.order().to_string(),
        mapped: matrix.is_mapped(),
        access: matrix.access().to_string(),
        fingerprint: matrix.fingerprint().to_string(),
        names: matrix.names().map(|names| NameReport {
            distinct: names.iter().collect::<HashSet<_>>().len(),
            first: names.iter().take(SHOWN).map(|name| name.chars().take(LONGEST_NAME).collect()).collect(),
        }),
        labels: matrix.labels().map(|labels| LabelReport {
            distinct: labels.iter().flatten().collect::<HashSet<_>>().len(),
            most_per_row: labels.iter().map(Vec::len).max().unwrap_or(0),
        }),
        rounding: rounding.map(RoundingReport::from),
        norms: norms.map(|[min, median, max]| NormReport { min, median, max }),
        fit: matrix.n() > 0 && matrix.d() > 0 && nan.count + infinite.count + beyond_f32.count == 0,
        nan: nan.into(),
        infinite: infinite.into(),
        beyond_f32: beyond_f32.into(),
        zero_rows: RowReport { count: zero_rows.count, first: zero_rows.first },
        equal_rows: EqualReport {
            groups: equal_rows.groups,
            rows: equal_rows.rows,
            largest: equal_rows.largest,
            largest_first: equal_rows.largest_first,
        },
    })
}

fn text(f: &FileReport) -> String {
    let mut lines = vec![
        ("shape", format!("{} rows x {} dims", f.rows, f.dims)),
        ("values", format!("{}, {}", f.dtype, f.order)),
        ("read", format!("{}, {}", if f.mapped { "mapped" } else { "read into memory" }, f.access)),
        ("content", f.fingerprint.clone()),
        (
            "names",
            f.names.as_ref().map_or("none".to_owned(), |n| {
                let first: Vec<String> = n.first.iter().map(|name| report::shown(name)).collect();
                format!("{} distinct: {}{}", n.distinct, first.join(", "), more(first.len(), f.rows))
            }),
        ),
    ];
    if let Some(files) = &f.files {
        lines.insert(1, ("parts", report::parts(files)));
    }
    if let Some(labels) = &f.labels {
        lines.push(("labels", format!("{} distinct, at most {} per row", labels.distinct, labels.most_per_row)));
    }
    if let Some(r) = &f.rounding {
        lines.push(("rounded", r.text()));
    }
    if let Some(n) = &f.norms {
        lines.push(("norms", format!("min {:.6}, median {:.6}, max {:.6}", n.min, n.median, n.max)));
    }
    lines.push(("NaN", positions(&f.nan)));
    lines.push(("infinite", positions(&f.infinite)));
    if f.beyond_f32.count > 0 {
        lines.push(("beyond f32", positions(&f.beyond_f32)));
    }
    let zero = match f.zero_rows.count {
        0 => "none".to_owned(),
        count => format!("{count}: row {}{}", numbers(&f.zero_rows.first), more(f.zero_rows.first.len(), count)),
    };
    lines.push(("zero rows", zero));
    let e = &f.equal_rows;
    let equal = match e.groups {
        0 => "none".to_owned(),
        groups => format!(
            "{} in {}; the largest has {}: row {}{}",
            counted(e.rows, "row"),
            counted(groups, "group"),
            e.largest,
            numbers(&e.largest_first),
            more(e.largest_first.len(), e.largest)
        ),
    };
    lines.push(("equal rows", equal));
    let mut text = format!("{} ({})\n", f.path, f.format);
    for (what, value) in lines {
        text += &format!("  {what:<11} {value}\n");
    }
    if f.rows == 0 || f.dims == 0 {
        text += "  not fit for use: the matrix is empty\n";
    } else if !f.fit {
        text += "  not fit for use: NaN, infinities and numbers beyond f32 are refused\n";
    } else if f.zero_rows.count > 0 {
        text += "  fit for use, but for the cosine of zero rows: --zero drop leaves them out\n";
    }
    text
}

fn positions(p: &PositionReport) -> String {
    match p.count {
        0 => "none".to_owned(),
        count => {
            let shown: Vec<String> = p.first.iter().map(|(row, column)| format!("row {row} column {column}")).collect();
            format!("{count}: {}{}", shown.join(", "), more(shown.len(), count as usize))
        }
    }
}

fn numbers(rows: &[usize]) -> String {
    rows.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn more(shown: usize, all: usize) -> &'static str {
    if shown < all { ", .." } else { "" }
}
