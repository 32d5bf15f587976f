//! `mnno compare`: the overlap of neighbourhoods for every pair of files, each file searched once.

use mnno::measures::{self, MeasureError, Overlap};
use mnno::store::output::{AtomicFile, WriteError};
use mnno::{Exclude, Neighbours, Search};
use serde::Serialize;

use super::args::{Compare, Preset, SearchArgs, SelfRule, spelled};
use super::failure::Failure;
use super::inputs::{self, Checked};
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport, counted};
use super::searcher;

/// Above this share of tied rows the tie rule has a say in the result.
const TIES_WORTH_A_WARNING: f64 = 0.01;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    conventions: Conventions,
    inputs: Vec<InputReport>,
    dropped_rows: usize,
    results: Vec<PairReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_row: Option<String>,
}

#[derive(Serialize)]
struct Conventions {
    metric: &'static str,
    #[serde(rename = "self")]
    self_rule: String,
    ties: String,
    zero: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<[usize; 2]>,
    permutations: u32,
    seed: u64,
}

#[derive(Serialize)]
struct PairReport {
    a: usize,
    b: usize,
    measure: &'static str,
    k: usize,
    n: usize,
    value: f64,
    chance: f64,
    std_error: f64,
    ci95: [f64; 2],
    p: Option<f64>,
    by_k: Vec<f64>,
}

pub(crate) fn run(args: &Compare, interruption: &Interruption) -> Result<(), Failure> {
    let self_rule = match args.preset {
        Some(Preset::Collell2018) => SelfRule::Include,
        None => args.self_rule,
    };
    let rule = match self_rule {
        SelfRule::Exclude => measures::SelfRule::Exclude,
        SelfRule::Include => measures::SelfRule::Include,
    };
    let inputs = inputs::open_checked(&args.files, &inputs::open_options(&args.input, None), interruption)?;
    if inputs.len() < 2 {
        return Err(Failure::usage("compare needs two or more matrices, and was given one")
            .hint("give a second file, or ::* to compare all layers of an array [n, layers, d]"));
    }
    let mut per_row = None;
    if let Some(path) = &args.per_row {
        searcher::refuse_input_as_output(path, &inputs, None)?;
        per_row = Some(AtomicFile::create(path)?);
    }
    check_rows_correspond(&inputs)?;
    let matrices: Vec<_> = inputs.iter().map(|i| &i.matrix).collect();
    let keep = inputs::usable_rows(&matrices, args.search.metric, args.search.zero)?;
    let file_rows = inputs[0].matrix.n();
    let n = keep.as_ref().map_or(file_rows, Vec::len);
    measures::check_k(n, args.k, rule).map_err(|e| k_failure(&e, file_rows - n))?;

    let mut lists = Vec::new();
    for (space, input) in inputs.iter().enumerate() {
        lists.push(search(args, input, keep.as_deref(), self_rule, space, interruption)?);
    }
    let mut overlaps = Vec::new();
    let mut results = Vec::new();
    for a in 0..lists.len() {
        for b in a + 1..lists.len() {
            let (result, overlap) = compare_pair(args, &lists, a, b, rule, interruption)?;
            results.push(result);
            overlaps.push(overlap);
        }
    }
    let mut input_reports: Vec<_> = inputs.iter().map(InputReport::new).collect();
    for (report, lists) in input_reports.iter_mut().zip(&lists) {
        report.tied_at_k = Some(lists.tied_rows());
    }
    if let Some(file) = &mut per_row {
        let written = write_per_row(file, &inputs, keep.as_deref(), &results, &overlaps);
        written.map_err(|e| WriteError::io(file.path(), e.into()))?;
    }
    for input in &inputs {
        input.matrix.verify_unchanged()?;
    }
    interruption.check()?;
    if let Some(file) = per_row {
        file.publish()?;
    }
    let report = Report {
        command: "compare",
        version: env!("CARGO_PKG_VERSION"),
        conventions: conventions(args, self_rule),
        inputs: input_reports,
        dropped_rows: file_rows - n,
        results,
        per_row: args.per_row.as_ref().map(|p| p.display().to_string()),
    };
    if args.json { report::print_json(&report) } else { report::print(&text(&report, args)) }
}

fn conventions(args: &Compare, self_rule: SelfRule) -> Conventions {
    let SearchArgs { metric, ties, zero, seed, .. } = args.search;
    Conventions {
        metric: metric.name(),
        self_rule: spelled(&self_rule),
        ties: spelled(&ties),
        zero: spelled(&zero),
        preset: args.preset.as_ref().map(spelled),
        rows: args.input.rows.as_ref().map(|r| [r.start, r.end]),
        permutations: args.permutations,
        seed,
    }
}

/// Rows are paired by position: the files need as many rows and, where they have names, the same ones.
fn check_rows_correspond(inputs: &[Checked]) -> Result<(), Failure> {
    let first = &inputs[0];
    for other in &inputs[1..] {
        let (n, m) = (first.matrix.n(), other.matrix.n());
        if n != m {
            return Err(Failure::bad_data(format!(
                "{}: {}, but {} has {n}: compare pairs rows by position",
                other.name(),
                counted(m, "row"),
                first.name()
            ))
            .hint("--rows A..B takes the same range of every file"));
        }
    }
    let mut named: Option<(&Checked, &[String])> = None;
    for input in inputs {
        let Some(names) = input.matrix.names() else { continue };
        if let Some((first, expected)) = named
            && let Some(row) = (0..names.len()).find(|&i| names[i] != expected[i])
        {
            return Err(Failure::bad_data(format!(
                "{}: row {} (from 0) is named '{}', but in {} it is '{}'",
                input.name(),
                row + input.matrix.rows_offset(),
                report::shown(&names[row]),
                first.name(),
                report::shown(&expected[row])
            ))
            .hint("compare pairs rows by position: bring the files into the same order, or drop the names"));
        }
        named = named.or(Some((input, names)));
    }
    Ok(())
}

fn k_failure(error: &MeasureError, dropped: usize) -> Failure {
    let after =
        if dropped == 0 { String::new() } else { format!(" (after dropping {})", counted(dropped, "zero row")) };
    match error {
        MeasureError::KZero => Failure::usage(error.to_string()),
        _ => Failure::usage(format!("{error}{after}")).hint("choose a smaller -k"),
    }
}

fn search(
    args: &Compare,
    input: &Checked,
    keep: Option<&[u32]>,
    self_rule: SelfRule,
    space: usize,
    interruption: &Interruption,
) -> Result<Neighbours, Failure> {
    let progress = Progress::new(input.name(), "million pairs", interruption);
    let exclude = if self_rule == SelfRule::Exclude { Exclude::SameIndex } else { Exclude::None };
    let search = Search::new(args.search.metric, args.k).exclude(exclude).observer(&progress);
    let search = searcher::configure(search, &args.search, space as u64)?;
    inputs::with_rows(&input.matrix, keep, |rows| search.self_join(rows))
        .map_err(|e| inputs::search_failure(e, input.name(), input.name()))
}

fn compare_pair(
    args: &Compare,
    lists: &[Neighbours],
    a: usize,
    b: usize,
    rule: measures::SelfRule,
    interruption: &Interruption,
) -> Result<(PairReport, Overlap), Failure> {
    let overlap = measures::mnno(&lists[a], &lists[b]).map_err(|e| Failure::bad_data(e.to_string()))?;
    let (n, k) = (lists[a].n(), args.k);
    let progress = Progress::new(&format!("[{a}] and [{b}]"), "permutations", interruption);
    let p = searcher::in_pool(args.search.threads, || {
        measures::permutation_p(&lists[a], &lists[b], &overlap, args.permutations, args.search.seed, &progress)
    })?
    .map_err(|_| Failure::interrupted())?;
    drop(progress);
    let (low, high) = overlap.ci95();
    let report = PairReport {
        a,
        b,
        measure: "mnno",
        k,
        n,
        value: overlap.value(),
        chance: measures::chance(n, k, rule),
        std_error: overlap.std_error(),
        ci95: [low, high],
        p,
        by_k: overlap.by_k().to_vec(),
    };
    Ok((report, overlap))
}

/// A line per row: its number in the file, its name where there is one, and its shared neighbours for every pair.
fn write_per_row(
    file: &mut AtomicFile,
    inputs: &[Checked],
    keep: Option<&[u32]>,
    results: &[PairReport],
    overlaps: &[Overlap],
) -> csv::Result<()> {
    let names = inputs.iter().find_map(|i| i.matrix.names());
    let offset = inputs[0].matrix.rows_offset();
    let mut csv = csv::Writer::from_writer(file);
    let mut header = vec!["row".to_owned()];
    header.extend(names.map(|_| "name".to_owned()));
    header.extend(results.iter().map(|r| format!("shared_{}_{}", r.a, r.b)));
    csv.write_record(&header)?;
    for i in 0..results[0].n {
        let row = keep.map_or(i, |keep| keep[i] as usize);
        let mut record = vec![(row + offset).to_string()];
        record.extend(names.map(|names| names[row].clone()));
        record.extend(overlaps.iter().map(|o| o.counts()[i].to_string()));
        csv.write_record(&record)?;
    }
    Ok(csv.flush()?)
}

fn text(report: &Report, args: &Compare) -> String {
    let c = &report.conventions;
    let first = &report.results[0];
    let mut text = String::new();
    for (i, input) in report.inputs.iter().enumerate() {
        text += &format!("[{i}] {}\n", input.line());
    }
    text += &format!(
        "\n{}, self {}d, ties by {}; {} each, {} per row\n\n",
        c.metric,
        c.self_rule,
        c.ties.replace('-', " "),
        counted(first.n, "row"),
        counted(first.k, "neighbour")
    );
    let smallest_p = 1.0 / (f64::from(args.permutations) + 1.0);
    // Enough to tell the smallest p from 0.
    let p_digits = args.permutations.max(1).ilog10() as usize + 2;
    // A single row has no spread.
    let one_row = first.n == 1;
    let mut rows = vec![["", "mNNO", "chance", "95 % interval", "std error", "p"].map(str::to_owned).to_vec()];
    for r in &report.results {
        rows.push(vec![
            format!("[{}] and [{}]", r.a, r.b),
            format!("{:.6}", r.value),
            format!("{:.6}", r.chance),
            if one_row { "-".to_owned() } else { format!("{:.6} to {:.6}", r.ci95[0], r.ci95[1]) },
            if one_row { "-".to_owned() } else { format!("{:.6}", r.std_error) },
            r.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.p_digits$}")),
        ]);
    }
    text += &report::table(&rows);
    text += &format!(
        "\nmNNO is the mean share of its {} nearest neighbours that a row has in common in two spaces: 0 none, 1 all.\n",
        first.k
    );
    if args.permutations > 0 {
        text += &format!(
            "p: (1 + pairings that reach the value) / (1 + {0}) over {0} random pairings of the rows; at least {1:.p_digits$}.\n",
            args.permutations, smallest_p
        );
    }
    for (i, input) in report.inputs.iter().enumerate() {
        let tied = input.tied_at_k.unwrap_or(0);
        if tied > 0 {
            text +=
                &format!("[{i}] {} tied across K: the tie rule chose their last neighbour.\n", counted(tied, "row"));
        }
        if tied as f64 > TIES_WORTH_A_WARNING * first.n as f64 {
            report::note(&format!(
                "{}: {:.1} % of the rows are tied across K, which can lift mNNO: compare with --ties random",
                input.path,
                100.0 * tied as f64 / first.n as f64
            ));
        }
    }
    if report.dropped_rows > 0 {
        text += &format!("{} dropped from every file: zero in one of them.\n", counted(report.dropped_rows, "row"));
    }
    if let Some(path) = &report.per_row {
        text += &format!("wrote {path}: {} of shared neighbours, csv\n", counted(first.n, "row"));
    }
    text
}
