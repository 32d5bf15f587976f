//! `mnno compare`: the overlap of neighbourhoods for every pair of files, each file searched once.

use mnno::measures::{self, MeasureError, Overlap};
use mnno::store::output::{AtomicFile, WriteError, csv_cause};
use mnno::{Exclude, Neighbours, Search, Threads};
use rayon::ThreadPool;
use serde::Serialize;

use super::approximate::{self, ApproximateReport, Sample};
use super::args::{Compare, SearchArgs, SelfRule, TieRule, spelled};
use super::budget::Budget;
use super::failure::Failure;
use super::inputs::{self, Checked};
use super::pairing::{self, Pairing, without_zero_rows};
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport, counted};
use super::searcher;

/// What a thread takes for each row while it permutes the pairing, with what the overlap holds.
const BYTES_PER_PERMUTED_ROW: u64 = 12;
/// What the result of a pair takes, and what is printed of it.
const BYTES_PER_PAIR: u64 = 1 << 10;
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
    join: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    approximate: Option<ApproximateReport>,
}

pub(crate) fn run(args: &Compare, interruption: &Interruption) -> Result<(), Failure> {
    let rule = self_rule(args).into();
    let threads = searcher::start_threads(args.search.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let options = inputs::open_options(&args.input, None);
    let inputs = inputs::open_checked(&args.files, &options, &mut budget, Some(&threads), interruption)?;
    if inputs.len() < 2 {
        return Err(Failure::usage("compare needs two or more matrices, and was given one")
            .hint("give a second file, or ::* to compare all layers of an array [n, layers, d]"));
    }
    let mut per_row = None;
    if let Some(path) = &args.per_row {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
            return Err(Failure::usage(format!("{}: --per-row writes CSV", path.display())).hint("name it OUT.csv"));
        }
        searcher::refuse_input_as_output(path, inputs.iter().map(|i| &i.matrix), None)?;
        per_row = Some(AtomicFile::create(path)?);
    }
    let Pairing { rows, left_out } = pairing::pair(&inputs, args.join, &mut budget)?;
    let paired: Vec<_> = inputs.iter().collect();
    let (rows, dropped) = without_zero_rows(&paired, rows, args.search.metric, args.search.zero)?;
    let n = rows[0].as_ref().map_or(inputs[0].matrix.n(), Vec::len);
    budget.take(4 * rows.iter().flatten().map(Vec::len).sum::<usize>() as u64, "the list of rows to compare")?;
    if n < 2 && self_rule(args) == SelfRule::Exclude {
        let left = counted(n, "row");
        return Err(Failure::usage(format!("{left} to compare: a row finds its neighbours among others")));
    }
    measures::check_k(n, args.k, rule).map_err(|e| k_failure(&e, dropped))?;

    let mut lists = Vec::new();
    let mut samples = Vec::new();
    for (space, (input, rows)) in inputs.iter().zip(&rows).enumerate() {
        let (found, sample) = search(args, input, rows.as_deref(), space, &budget, &threads, interruption)?;
        budget.take(Neighbours::memory(n, args.k), "keeping the lists of all files")?;
        lists.push(found);
        samples.extend(sample);
    }
    let permuted_rows = (n * threads.current_num_threads()) as u64;
    budget.take(permuted_rows * BYTES_PER_PERMUTED_ROW, "permuting the pairing")?;
    let pairs = (lists.len() * (lists.len() - 1) / 2) as u64;
    let counts = if args.per_row.is_some() { 4 * n as u64 } else { 0 };
    budget.take(pairs * (counts + 8 * args.k as u64 + BYTES_PER_PAIR), "keeping the results of all pairs")?;
    let mut overlaps = Vec::new();
    let mut results = Vec::new();
    for a in 0..lists.len() {
        for b in a + 1..lists.len() {
            let (mut result, overlap) = compare_pair(args, &lists, a, b, rule, &threads, interruption)?;
            if let (Some(of_a), Some(of_b)) = (samples.get(a), samples.get(b)) {
                result.approximate = Some(ApproximateReport::new(&lists[a], of_a, &lists[b], of_b, result.value));
            }
            results.push(result);
            overlaps.extend(args.per_row.is_some().then_some(overlap));
        }
    }
    let mut input_reports: Vec<_> = inputs.iter().map(InputReport::new).collect();
    for ((report, lists), left_out) in input_reports.iter_mut().zip(&lists).zip(left_out) {
        report.tied_at_k = Some(lists.tied_rows());
        report.left_out = args.join.map(|_| left_out);
    }
    if let Some(file) = &mut per_row {
        let written = write_per_row(file, &inputs[0], rows[0].as_deref(), &results, &overlaps);
        written.map_err(|e| WriteError::io(file.path(), csv_cause(e)))?;
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
        conventions: conventions(args),
        inputs: input_reports,
        dropped_rows: dropped,
        results,
        per_row: args.per_row.as_ref().map(|p| p.display().to_string()),
    };
    if args.json { report::print_json(&report) } else { report::print(&text(&report, args)) }
}

fn self_rule(args: &Compare) -> SelfRule {
    args.self_rule.or_of(args.preset)
}

fn conventions(args: &Compare) -> Conventions {
    let SearchArgs { metric, ties, zero, seed, .. } = args.search;
    Conventions {
        metric: metric.name(),
        self_rule: spelled(&self_rule(args)),
        ties: spelled(&ties),
        zero: spelled(&zero),
        preset: args.preset.as_ref().map(spelled),
        join: args.join.as_ref().map(spelled),
        rows: args.input.rows.as_ref().map(|r| [r.start, r.end]),
        permutations: args.permutations,
        seed,
    }
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
    space: usize,
    budget: &Budget,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<(Neighbours, Option<Sample>), Failure> {
    let progress = Progress::new(input.name(), "million pairs", interruption).verbose(args.search.verbose);
    let exclude = if self_rule(args) == SelfRule::Exclude { Exclude::SameIndex } else { Exclude::None };
    let search = Search::new(args.search.metric, args.k).exclude(exclude).memory(budget.left()).observer(&progress);
    let search = searcher::configure(search, &args.search, space as u64, threads);
    let found = inputs::with_rows(&input.matrix, keep, |rows| {
        if args.ann {
            let (lists, sample) = approximate::lists(
                search,
                rows,
                args.ef,
                exclude,
                (Threads::Pool(threads), threads.current_num_threads()),
                (&progress, interruption),
            )?;
            Ok((lists, Some(sample)))
        } else {
            Ok((search.self_join(rows)?, None))
        }
    });
    found.map_err(|e| inputs::search_failure(e, input.name(), input.name(), args.k, budget))
}

fn compare_pair(
    args: &Compare,
    lists: &[Neighbours],
    a: usize,
    b: usize,
    rule: measures::SelfRule,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<(PairReport, Overlap), Failure> {
    let overlap = measures::mnno(&lists[a], &lists[b]).map_err(|e| Failure::bad_data(e.to_string()))?;
    let (n, k) = (lists[a].n(), args.k);
    let progress = Progress::new(&format!("[{a}] and [{b}]"), "permutations", interruption);
    let permute =
        || measures::permutation_p(&lists[a], &lists[b], &overlap, args.permutations, args.search.seed, &progress);
    let p = threads.install(permute).map_err(|_| Failure::interrupted())?;
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
        approximate: None,
    };
    Ok((report, overlap))
}

/// A line per row: its number in the first file, its name where that has names, and its shared neighbours for every pair.
fn write_per_row(
    file: &mut AtomicFile,
    first: &Checked,
    rows: Option<&[u32]>,
    results: &[PairReport],
    overlaps: &[Overlap],
) -> csv::Result<()> {
    let names = first.matrix.names();
    let offset = first.matrix.rows_offset();
    let mut csv = csv::Writer::from_writer(file);
    let mut header = vec!["row".to_owned()];
    header.extend(names.map(|_| "name".to_owned()));
    header.extend(results.iter().map(|r| format!("shared_{}_{}", r.a, r.b)));
    csv.write_record(&header)?;
    for i in 0..results[0].n {
        let row = rows.map_or(i, |rows| rows[i] as usize);
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
        "\n{}, self {}d, {}{}; {} each, {} per row\n\n",
        c.metric,
        c.self_rule,
        report::ties(&c.ties),
        c.join.as_ref().map_or(String::new(), |what| format!(", rows joined by {what}")),
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
    for r in &report.results {
        if let Some(approximate) = &r.approximate {
            text += &format!("\n[{}] and [{}]: {}\n", r.a, r.b, approximate.text());
        }
    }
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
            text += &format!("[{i}] {}\n", report::tied(tied, "row", &c.ties));
        }
        if args.search.ties == TieRule::LowerIndex && tied as f64 > TIES_WORTH_A_WARNING * first.n as f64 {
            report::note(&format!(
                "{}: {:.1} % of the rows are tied across K, which can lift mNNO: compare with --ties random",
                input.path,
                100.0 * tied as f64 / first.n as f64
            ));
        }
    }
    let names: Vec<String> = (0..report.inputs.len()).map(|i| i.to_string()).collect();
    text += &report::missing(names.iter().map(String::as_str).zip(&report.inputs), report.dropped_rows);
    if let Some(path) = &report.per_row {
        text += &format!("wrote {path}: {} of shared neighbours, csv\n", counted(first.n, "row"));
    }
    text
}
