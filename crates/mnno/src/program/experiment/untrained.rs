//! `mnno experiment untrained`: what random maps do to the similarities of words (Collell & Moens 2018, experiment 2)

use std::collections::BTreeSet;

use mnno::measures::{RatedPair, Similarity, Unknown, WordSimilarity};
use mnno::train::MapError;
use mnno::train::experiment::{self as library, Agreement};
use mnno::{Kernels, Subset};
use serde::Serialize;

use crate::program::args::{MapKind, Untrained, ZeroRule, spelled};
use crate::program::budget::Budget;
use crate::program::failure::Failure;
use crate::program::progress::{Interruption, Progress};
use crate::program::report::{self, InputReport, counted};
use crate::program::searcher;
use crate::program::training::name_of;
use crate::program::vocabulary::{self, RatingsReport, WordVectors};

/// What a star stands for.
const SIGNIFICANT: f64 = 0.05;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    conventions: Conventions,
    inputs: Vec<InputReport>,
    ratings: Vec<RatingsReport>,
    results: Vec<ResultReport>,
}

#[derive(Serialize)]
struct Conventions {
    weights: &'static str,
    biases: f64,
    activation: &'static str,
    hidden_units: usize,
    output_dims: usize,
    runs: u64,
    seed: u64,
    unknown: &'static str,
    zero: String,
    case: &'static str,
    ties: &'static str,
}

#[derive(Serialize)]
struct ResultReport {
    file: String,
    similarity: &'static str,
    map: String,
    /// Of the rows as they are.
    x: Option<f64>,
    /// Of mapped rows, the mean of all runs.
    fx: Option<f64>,
    runs: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undefined: Option<String>,
    p: Option<f64>,
    p_signed_rank: Option<f64>,
    pairs: usize,
    known: usize,
    /// Known pairs that are left out because a vector is zero.
    without_direction: usize,
    /// Likewise of mapped rows, for each run.
    runs_without_direction: Vec<usize>,
}

pub(super) fn run(args: &Untrained, interruption: &Interruption) -> Result<(), Failure> {
    if args.maps.contains(&MapKind::Ridge) {
        return Err(Failure::usage("--maps ridge: ridge regression is trained").hint("choose lin, or nn-1 to nn-8"));
    }
    let threads = searcher::start_threads(args.threads)?;
    let mut budget = Budget::new(args.vectors.input.memory);
    let WordVectors { input, ratings, found } = WordVectors::open(&args.vectors, &mut budget, interruption)?;
    let kernels = Kernels::detect();
    if args.zero == ZeroRule::Error {
        for found in &found {
            vocabulary::refuse_zero_vectors(&found.pairs, Unknown::Drop, &input, "")?;
        }
    }
    // Only the words that are rated are mapped.
    let rows: Vec<u32> = found
        .iter()
        .flat_map(|f| &f.pairs)
        .flat_map(|p| p.rows)
        .flatten()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let place = |row: u32| rows.binary_search(&row).map(|place| place as u32).ok();
    let of_subset = |pair: &RatedPair| RatedPair { rows: pair.rows.map(|row| row.and_then(place)), ..*pair };
    let pairs: Vec<Vec<RatedPair>> = found.iter().map(|found| found.pairs.iter().map(of_subset).collect()).collect();
    let d = input.matrix.d();
    let deepest = args.maps.iter().map(|kind| kind.hidden()).max().unwrap_or(0);
    let sizes = mnno::train::widths(d, deepest, args.hidden, args.dims);
    let weights: usize = sizes.windows(2).map(|pair| pair[0] * pair[1] + pair[1]).sum();
    budget.take(4 * (weights + rows.len() * args.dims) as u64, "a random map and the rows that it maps")?;
    let seeds: Vec<u64> = (0..args.runs).map(|run| args.seed.wrapping_add(run)).collect();
    let subset = Subset::new(&input.matrix, &rows);
    let mut results = Vec::new();
    for kind in &args.maps {
        let shape = library::Untrained {
            hidden: kind.hidden(),
            units: args.hidden,
            outputs: args.dims,
            activation: args.activation,
        };
        let progress = Progress::new(&kind.name(), "maps", interruption);
        let run = || library::untrained(&subset, &pairs, &shape, &seeds, kernels, &progress);
        let agreements = threads.install(run).map_err(|error| match error {
            MapError::Overflow { row } => vocabulary::overflow(&input, rows[row] as usize),
            error => error.into(),
        })?;
        let report = |agreement: &Agreement| {
            ResultReport::new(ratings[agreement.ratings].display_name(), *kind, agreement, &pairs)
        };
        results.extend(agreements.iter().map(report));
    }
    input.matrix.verify_unchanged()?;
    let report = Report {
        command: "experiment untrained",
        version: env!("CARGO_PKG_VERSION"),
        conventions: Conventions {
            weights: "uniform in [-1, 1]",
            biases: 0.0,
            activation: name_of(&mnno::train::Activation::ALL, args.activation),
            hidden_units: args.hidden,
            output_dims: args.dims,
            runs: args.runs,
            seed: args.seed,
            unknown: "drop",
            zero: spelled(&args.zero),
            case: "as written, else in lower case",
            ties: "average ranks",
        },
        inputs: vec![InputReport::new(&input)],
        ratings: ratings.iter().zip(&found).map(|(ratings, found)| RatingsReport::new(ratings, found)).collect(),
        results,
    };
    interruption.check()?;
    if args.json { report::print_json(&report) } else { report::print(&text(&report, args)) }
}

impl ResultReport {
    fn new(file: &str, kind: MapKind, agreement: &Agreement, pairs: &[Vec<RatedPair>]) -> Self {
        let change = agreement.change();
        let failed = |of: &WordSimilarity| of.spearman.as_ref().err().map(ToString::to_string);
        let undefined = failed(&agreement.input).or_else(|| agreement.mapped.iter().find_map(failed));
        Self {
            file: file.to_owned(),
            similarity: agreement.similarity.name(),
            map: kind.name(),
            x: agreement.input.spearman.as_ref().ok().copied(),
            fx: change.map(|change| change.mean),
            runs: agreement.mapped.iter().map(|run| run.spearman.as_ref().ok().copied()).collect(),
            undefined,
            p: change.and_then(|change| change.p),
            p_signed_rank: change.and_then(|change| change.p_signed_rank),
            pairs: pairs[agreement.ratings].len(),
            known: agreement.input.known,
            without_direction: agreement.input.without_direction,
            runs_without_direction: agreement.mapped.iter().map(|run| run.without_direction).collect(),
        }
    }
}

fn text(report: &Report, args: &Untrained) -> String {
    let c = &report.conventions;
    let mut text = format!("{}\n", report.inputs[0].line());
    for ratings in &report.ratings {
        text += &format!("{}\n", ratings.line());
    }
    let hidden = if args.maps.iter().any(|kind| *kind != MapKind::Trained(0)) {
        format!(", {} hidden units ({}; the paper does not state their number)", c.hidden_units, c.activation)
    } else {
        String::new()
    };
    text += &format!(
        "\n{}, weights {}, biases 0{hidden}, {} dimensions; pairs with an unknown word are dropped\n",
        counted(c.runs as usize, "random map"),
        c.weights,
        c.output_dims
    );
    let mut rows = vec![vec![String::new(), "known pairs".to_owned()]];
    for name in ["X", "f(X)"] {
        rows[0].extend(Similarity::ALL.map(|similarity| format!("{name} {}", similarity.name())));
    }
    let value = |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.3}"));
    for pair in report.results.chunks(Similarity::ALL.len()) {
        let first = &pair[0];
        let mut line = vec![format!("{} {}", first.map, first.file), format!("{}/{}", first.known, first.pairs)];
        line.extend(pair.iter().map(|result| value(result.x)));
        for result in pair {
            let star = if result.p.is_some_and(|p| p < SIGNIFICANT) { "*" } else { " " };
            line.push(value(result.fx) + star);
        }
        rows.push(line);
    }
    text += &format!("\n{}", report::table(&rows));
    let mut reasons = BTreeSet::new();
    for result in &report.results {
        let of = format!("{}, {}", result.file, result.similarity);
        if let Some(reason) = &result.undefined {
            reasons.insert(format!("{of}: undefined: {reason}\n"));
        }
        if result.without_direction > 0 {
            reasons.insert(format!("{of}: {}\n", vocabulary::without_direction(result.without_direction)));
        }
        let runs = &result.runs_without_direction;
        if let (Some(least), Some(most @ 1..)) = (runs.iter().min(), runs.iter().max()) {
            reasons.insert(format!(
                "{} {of}: {least} to {} dropped in a run: a word is mapped to zero, which has no direction.\n",
                result.map,
                counted(*most, "pair")
            ));
        }
    }
    text.extend(reasons);
    text + &format!(
        "\nSpearman's correlation of similarities and ratings, of the vectors X as they are and of their images f(X), mean of all maps.\n* the maps \
         differ from X: two-sided rank-sum against its value repeated {} times, p < {SIGNIFICANT} (the paper's test; a paired one is in --json).\n",
        c.runs
    )
}
