//! `mnno bench`: recall and speed of exact and approximate search on the user's own files.
//!
//! The way of it: the rows that ask ([`Asking`]), their exact lists (`truth.rs`, kept by `cache.rs`, compared with given ones by
//! `given.rs`), what each index finds and how fast (`measure.rs`), and how that is shown (`report.rs`, `picture.rs`).

mod cache;
mod given;
mod measure;
mod picture;
mod report;
mod truth;

use std::path::Path;

use mnno::store::output::AtomicFile;
use mnno::{Exclude, Kernels, Metric, Neighbours, Rows, Search, Subset};
use rayon::ThreadPool;

use super::args::{Bench, Input};
use super::budget::Budget;
use super::canvas;
use super::failure::{Failure, code};
use super::inputs::{self, Checked};
use super::progress::Interruption;
use super::report::{InputReport, counted, note, print, print_json};
use super::searcher;
use cache::Cache;
use measure::Measurement;
use report::Report;

/// Rows of the base that ask, at most.
const SAMPLED: usize = 1000;
/// Memory for each row of a sample: its number, and itself as a list of one.
const BYTES_PER_SAMPLED: u64 = 64;

/// What all measurements have in common.
struct Setting<'a> {
    base: &'a Checked,
    metric: Metric,
    k: usize,
    kernels: Kernels,
    threads: &'a ThreadPool,
    interruption: &'a Interruption,
}

/// The rows that ask: all of a file, or a sample of the base, of which none is its own neighbour.
struct Asking<'a> {
    input: &'a Checked,
    sampled: Option<Vec<u32>>,
    own: Vec<Vec<u32>>,
}

impl<'a> Asking<'a> {
    fn all(input: &'a Checked) -> Self {
        Self { input, sampled: None, own: Vec::new() }
    }

    /// Evenly spread rows of the base.
    fn sample(base: &'a Checked) -> Self {
        let n = base.matrix.n();
        let count = SAMPLED.min(n);
        let rows: Vec<u32> = (0..count).map(|i| (i * n / count) as u32).collect();
        Self { input: base, own: rows.iter().map(|&row| vec![row]).collect(), sampled: Some(rows) }
    }

    fn n(&self) -> usize {
        self.sampled.as_ref().map_or(self.input.matrix.n(), Vec::len)
    }

    fn exclude(&self) -> Exclude<'_> {
        if self.sampled.is_some() { Exclude::Ids(&self.own) } else { Exclude::None }
    }

    fn with_rows<T>(&self, ask: impl FnOnce(&dyn Rows) -> T) -> T {
        match &self.sampled {
            Some(rows) => ask(&Subset::new(&self.input.matrix, rows)),
            None => ask(&self.input.matrix),
        }
    }
}

pub(crate) fn run(args: &Bench, interruption: &Interruption) -> Result<(), Failure> {
    if args.k == 0 {
        return Err(Failure::usage("k is 0: a list needs at least one neighbour"));
    }
    args.plot.iter().try_for_each(|path| canvas::check_extension(path))?;
    let kernels = Kernels::detect();
    let threads = searcher::start_threads(args.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let mut open =
        |file: &String, rows, input: &Input| inputs::one_matrix(file, rows, input, &mut budget, &threads, interruption);
    let base = open(&args.base, args.input.rows.clone(), &args.input)?;
    // --rows is about the base.
    let queries = args.queries.as_ref().map(|file| open(file, None, &args.input)).transpose()?;
    let truth = args.truth.as_ref().map(|file| open(file, None, &args.input.without_format())).transpose()?;
    inputs::refuse_zero_rows(&base, args.metric)?;
    queries.iter().try_for_each(|queries| inputs::refuse_zero_rows(queries, args.metric))?;
    check_k(args.k, &base, queries.is_some())?;
    let given: Vec<&Checked> = [Some(&base), queries.as_ref(), truth.as_ref()].into_iter().flatten().collect();
    let outputs: Vec<&Path> = args.csv.iter().chain(&args.plot).map(AsRef::as_ref).collect();
    for (i, path) in outputs.iter().enumerate() {
        searcher::refuse_input_as_output(path, given.iter().map(|input| &input.matrix), None)?;
        if outputs[..i].contains(path) {
            return Err(Failure::usage(format!("{}: two outputs have this name", path.display())));
        }
        // Made and dropped: a folder that takes no files is found before the work, not after it.
        AtomicFile::create(path)?;
    }

    let asking = queries.as_ref().map_or_else(|| Asking::sample(&base), Asking::all);
    let count = asking.n().max(SAMPLED);
    // Exact lists of the queries and of a sample of the base, and those that are found.
    let lists = Search::list_memory(count, args.k).saturating_add(Neighbours::memory(count, args.k).saturating_mul(4));
    budget.take(
        lists.saturating_add(2 * SAMPLED as u64 * BYTES_PER_SAMPLED),
        &format!("keeping {} each of {count} queries", counted(args.k, "neighbour")),
    )?;
    let setting = Setting { base: &base, metric: args.metric, k: args.k, kernels, threads: &threads, interruption };
    let cache = Cache::new(args.truth_cache.as_deref());
    let (exact, mut truth_report) = truth::find(&setting, &asking, &cache, &budget)?;
    if let Some(truth) = &truth {
        let given = given::compare(&truth.matrix, &exact, &setting, &asking)?;
        if let Some(warning) = given.warning() {
            note(&warning);
        }
        truth_report.given = Some(given);
    }
    let measurement = Measurement::new(args, &setting, &asking, &exact, &cache, &budget)?;
    let mut results = Vec::new();
    let mut base_rows = None;
    for (i, kind) in args.index.iter().enumerate() {
        if args.index[..i].contains(kind) {
            continue;
        }
        let Some(graph) = kind.graph() else {
            results.extend(measurement.exact()?);
            continue;
        };
        let index = measurement.built(graph)?;
        let of_index = measurement.walks(*kind, &index)?;
        if queries.is_some() && base_rows.is_none() {
            base_rows = measurement.base_rows(&index, &of_index)?;
        }
        results.extend(of_index);
    }
    if let Some(warning) = base_rows.as_ref().and_then(report::BaseRows::warning) {
        note(&warning);
    }
    let report = Report {
        command: "bench",
        version: env!("CARGO_PKG_VERSION"),
        metric: args.metric.name(),
        k: args.k,
        queries: asking.n(),
        sampled_base_rows: asking.sampled.is_some(),
        m: args.m,
        seed: args.seed,
        rows: args.input.rows.as_ref().map(|rows| [rows.start, rows.end]),
        inputs: given.iter().map(|input| InputReport::new(input)).collect(),
        truth: truth_report,
        results,
        base_rows,
        outputs: outputs.iter().map(|path| path.display().to_string()).collect(),
    };
    given.iter().try_for_each(|input| input.matrix.verify_unchanged())?;
    interruption.check()?;
    let csv = args.csv.as_ref().map(|path| report.csv(path));
    let plots = args.plot.iter().map(|path| canvas::draw(&report, path));
    for file in csv.into_iter().chain(plots).collect::<Result<Vec<_>, _>>()? {
        file.publish()?;
    }
    if args.json { print_json(&report) } else { print(&report.text()) }
}

/// Recall is about `k` true neighbours, so there must be so many.
fn check_k(k: usize, base: &Checked, with_queries: bool) -> Result<(), Failure> {
    let n = base.matrix.n();
    let candidates = if with_queries { n } else { n - 1 };
    if k <= candidates {
        return Ok(());
    }
    let of_each = if with_queries { "" } else { " that each of its rows has" };
    Err(Failure::usage(format!(
        "k = {k} neighbours are more than the {candidates} candidates of {}{of_each}",
        base.name()
    ))
    .hint("choose a smaller -k"))
}

/// The failure of a file that cannot be made.
fn cannot_write(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(code::CANNOT_WRITE, format!("{}: {why}", path.display()))
}
