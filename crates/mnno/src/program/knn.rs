//! `mnno knn`: the exact nearest neighbours, written to a file.

use std::collections::HashMap;

use mnno::store::output::{AtomicFile, Lists, list_paths, prepare_lists};
use mnno::{Exclude, Metric, NO_NEIGHBOUR, Neighbours, Search};
use rayon::ThreadPool;
use serde::Serialize;

use super::args::{Knn, SearchArgs, SelfRule, spelled};
use super::budget::Budget;
use super::failure::Failure;
use super::inputs::{self, Checked};
use super::pairing::without_zero_rows;
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport, OutputReport, counted};
use super::searcher;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    conventions: Conventions,
    inputs: Vec<InputReport>,
    k: usize,
    queries: usize,
    /// Queries whose last neighbour and the best one left out have equal scores.
    tied_at_k: usize,
    /// Places that no candidate fills.
    padded_places: usize,
    /// Zero rows without a list, and zero rows that are in no list.
    dropped_rows: usize,
    outputs: Vec<OutputReport>,
}

#[derive(Serialize)]
struct Conventions {
    metric: &'static str,
    score: &'static str,
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    self_rule: Option<String>,
    exclude_same_label: bool,
    ties: String,
    zero: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<[usize; 2]>,
    seed: u64,
}

pub(crate) fn run(args: &Knn, interruption: &Interruption) -> Result<(), Failure> {
    let SearchArgs { metric, ties, zero, seed, .. } = args.search;
    if args.distance && metric != Metric::Cosine {
        return Err(Failure::usage(format!(
            "--distance turns cosine similarities into distances; the metric is {metric}"
        )));
    }
    if args.k == 0 {
        return Err(Failure::usage("k is 0: a list needs at least one neighbour"));
    }
    let threads = searcher::start_threads(args.search.threads)?;
    let mut files = vec![args.base.clone()];
    files.extend(args.queries.clone());
    let options = inputs::open_options(&args.input, args.labels.as_ref());
    let mut budget = Budget::new(args.input.memory);
    let inputs = inputs::open_checked(&files, &options, &mut budget, Some(&threads), interruption)?;
    if inputs.len() != files.len() {
        return Err(Failure::usage("knn searches one matrix").hint("name one layer in place of ::*"));
    }
    for path in list_paths(&args.output)? {
        searcher::refuse_input_as_output(&path, inputs.iter().map(|i| &i.matrix), args.labels.as_deref())?;
        // Made and dropped: a folder that takes no files is found before the search, not after it.
        AtomicFile::create(&path)?;
    }
    let (base, queries) = (&inputs[0], &inputs[inputs.len() - 1]);
    let found = search(args, base, queries, &mut budget, &threads, interruption)?;

    let lists = Lists {
        n: queries.matrix.n(),
        k: args.k,
        indices: &found.indices,
        scores: &found.scores,
        query_names: queries.matrix.names(),
        base_names: base.matrix.names(),
    };
    let prepared = prepare_lists(&lists, &args.output)?;
    // The fingerprints are those of the files that are found unchanged.
    let input_reports = inputs.iter().map(InputReport::new).collect();
    for input in &inputs {
        input.matrix.verify_unchanged()?;
    }
    interruption.check()?;
    let outputs = prepared.publish()?.into_iter().map(OutputReport::from).collect();

    let self_rule = args.queries.is_none().then(|| spelled(&args.self_rule));
    let report = Report {
        command: "knn",
        version: env!("CARGO_PKG_VERSION"),
        conventions: Conventions {
            metric: metric.name(),
            score: score_name(metric, args.distance),
            self_rule,
            exclude_same_label: args.exclude_same_label,
            ties: spelled(&ties),
            zero: spelled(&zero),
            rows: args.input.rows.as_ref().map(|r| [r.start, r.end]),
            seed,
        },
        inputs: input_reports,
        k: args.k,
        queries: queries.matrix.n(),
        tied_at_k: found.tied,
        padded_places: found.indices.iter().filter(|&&i| i == NO_NEIGHBOUR).count(),
        dropped_rows: found.dropped,
        outputs,
    };
    if args.json { report::print_json(&report) } else { report::print(&text(&report)) }
}

fn score_name(metric: Metric, distance: bool) -> &'static str {
    match metric {
        Metric::Cosine if distance => "cosine distance, 1 - similarity",
        Metric::Cosine => "cosine similarity",
        Metric::InnerProduct => "inner product",
        Metric::Euclidean => "euclidean distance",
        Metric::SquaredEuclidean => "squared euclidean distance",
    }
}

/// Lists in the numbering of the chosen rows, with the scores that are reported.
struct Found {
    indices: Vec<u32>,
    scores: Vec<f64>,
    tied: usize,
    dropped: usize,
}

fn search(
    args: &Knn,
    base: &Checked,
    queries: &Checked,
    budget: &mut Budget,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<Found, Failure> {
    let SearchArgs { metric, zero, .. } = args.search;
    let usable = |input| without_zero_rows(&[input], vec![None], metric, zero).map(|(mut rows, _)| rows.remove(0));
    let keep_base = usable(base)?;
    let keep_queries = if args.queries.is_none() { keep_base.clone() } else { usable(queries)? };
    let kept = keep_base.iter().chain(&keep_queries).map(Vec::len).sum::<usize>();
    budget.take(4 * kept as u64, "the list of rows without zeros")?;
    let groups;
    let exclude = if args.exclude_same_label {
        // Numbers in lists, and each label with its number.
        let labels = base.matrix.labels().unwrap_or_default();
        let count: usize = labels.iter().map(Vec::len).sum();
        budget.take((labels.len() * 64 + count * 128) as u64, "telling labels apart")?;
        groups = groups_of(base, keep_base.as_deref());
        Exclude::Groups { queries: &groups, base: &groups }
    } else if args.queries.is_none() && args.self_rule == SelfRule::Exclude {
        Exclude::SameIndex
    } else {
        Exclude::None
    };
    let progress = Progress::new("search", "million pairs", interruption).verbose(args.search.verbose);
    let search = Search::new(metric, args.k).exclude(exclude).memory(budget.left()).observer(&progress);
    let search = searcher::configure(search, &args.search, 0, threads);
    let lists = inputs::with_rows(&base.matrix, keep_base.as_deref(), |b| {
        if args.queries.is_none() {
            search.self_join(b)
        } else {
            inputs::with_rows(&queries.matrix, keep_queries.as_deref(), |q| search.queries(b, q))
        }
    })
    .map_err(|e| inputs::search_failure(e, base.name(), queries.name(), args.k, budget))?;
    drop(progress);
    Ok(in_file_numbers(args, &lists, base, queries, keep_base.as_deref(), keep_queries.as_deref()))
}

/// Labels as numbers. A row shares its labels with itself, and so is never its own neighbour.
fn groups_of(base: &Checked, keep: Option<&[u32]>) -> Vec<Vec<u32>> {
    let mut numbers = HashMap::new();
    let labels = base.matrix.labels().unwrap_or_default();
    let mut group = |row: &Vec<String>| {
        row.iter()
            .map(|label| {
                let next = numbers.len() as u32;
                *numbers.entry(label.clone()).or_insert(next)
            })
            .collect()
    };
    match keep {
        Some(keep) => keep.iter().map(|&i| group(&labels[i as usize])).collect(),
        None => labels.iter().map(group).collect(),
    }
}

/// Undoes the dropping of rows: a dropped query keeps its place, with an empty list.
fn in_file_numbers(
    args: &Knn,
    lists: &Neighbours,
    base: &Checked,
    queries: &Checked,
    keep_base: Option<&[u32]>,
    keep_queries: Option<&[u32]>,
) -> Found {
    let (n, k, metric) = (queries.matrix.n(), args.k, args.search.metric);
    let reported = |score: f64| {
        let value = metric.reported(score);
        if args.distance { 1.0 - value } else { value }
    };
    let mut indices = vec![NO_NEIGHBOUR; n * k];
    let mut scores = vec![reported(metric.worst()); n * k];
    for i in 0..lists.n() {
        let place = keep_queries.map_or(i, |keep| keep[i] as usize) * k;
        for (j, (&index, &score)) in lists.list(i).iter().zip(lists.list_scores(i)).enumerate() {
            if index != NO_NEIGHBOUR {
                indices[place + j] = keep_base.map_or(index, |keep| keep[index as usize]);
                scores[place + j] = reported(score);
            }
        }
    }
    let dropped_of = |checked: &Checked, keep: Option<&[u32]>| keep.map_or(0, |keep| checked.matrix.n() - keep.len());
    let dropped_queries = if args.queries.is_some() { dropped_of(queries, keep_queries) } else { 0 };
    Found { indices, scores, tied: lists.tied_rows(), dropped: dropped_of(base, keep_base) + dropped_queries }
}

fn text(report: &Report) -> String {
    let c = &report.conventions;
    let mut text = String::new();
    for (input, role) in report.inputs.iter().zip(["base", "queries"]) {
        text += &format!("{role}: {}\n", input.line());
    }
    let self_rule = c.self_rule.as_ref().map_or(String::new(), |rule| format!(", self {rule}d"));
    let label_rule = if c.exclude_same_label { ", rows with a common label excluded" } else { "" };
    text += &format!(
        "\n{}{self_rule}{label_rule}, {}; {}, {} each\n",
        c.metric,
        report::ties(&c.ties),
        report::queries(report.queries),
        counted(report.k, "neighbour")
    );
    text += &format!("scores: {}\n", c.score);
    if report.tied_at_k > 0 {
        text += &format!("{}\n", report::tied(report.tied_at_k, "list", &c.ties));
    }
    if report.dropped_rows > 0 {
        text += &format!(
            "{} dropped: in no list, and their own lists are empty.\n",
            counted(report.dropped_rows, "zero row")
        );
    }
    text + &report::written(report.padded_places, &report.outputs)
}
