//! `mnno words`: do similarities of word vectors agree with those that people see?

use mnno::Kernels;
use mnno::measures::{Similarity, Unknown, WordSimilarity, mean_row, word_similarity};
use mnno::store::Ratings;
use serde::Serialize;

use super::args::{SimilarityRule, UnknownRule, Words, ZeroRule, spelled};
use super::budget::Budget;
use super::failure::Failure;
use super::inputs::Checked;
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport};
use super::vocabulary::{self, Found, RatingsReport, WordVectors};

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
    unknown: String,
    zero: String,
    case: &'static str,
    ties: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<[usize; 2]>,
}

#[derive(Serialize)]
struct ResultReport {
    file: String,
    similarity: &'static str,
    spearman: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undefined: Option<String>,
    pairs: usize,
    known: usize,
    compared: usize,
    /// Pairs dropped since a vector is zero.
    without_direction: usize,
}

pub(crate) fn run(args: &Words, interruption: &Interruption) -> Result<(), Failure> {
    let mut budget = Budget::new(args.vectors.input.memory);
    let WordVectors { input, ratings, found } = WordVectors::open(&args.vectors, &mut budget, interruption)?;
    let kernels = Kernels::detect();
    let mean = mean_of_unknown(args, &found, &input, interruption)?;
    let unknown = match (args.unknown, &mean) {
        (UnknownRule::Drop, _) => Unknown::Drop,
        (UnknownRule::Zero, _) => Unknown::Zero,
        // Without a mean there is no unknown word.
        (UnknownRule::Mean, mean) => mean.as_ref().map_or(Unknown::Drop, |mean| Unknown::Vector(mean)),
    };
    let mut results = Vec::new();
    for (ratings, found) in ratings.iter().zip(&found) {
        for similarity in similarities(args) {
            if similarity == Similarity::Cosine && args.zero == ZeroRule::Error {
                vocabulary::refuse_zero_vectors(
                    &found.pairs,
                    unknown,
                    &input,
                    "; --similarity euclidean needs no direction",
                )?;
            }
            interruption.check()?;
            let result = word_similarity(&input.matrix, &found.pairs, similarity, unknown, kernels);
            results.push(ResultReport::new(ratings, similarity, result));
        }
    }
    input.matrix.verify_unchanged()?;
    let report = Report {
        command: "words",
        version: env!("CARGO_PKG_VERSION"),
        conventions: Conventions {
            unknown: spelled(&args.unknown),
            zero: spelled(&args.zero),
            case: "as written, else in lower case",
            ties: "average ranks",
            rows: args.vectors.input.rows.as_ref().map(|rows| [rows.start, rows.end]),
        },
        inputs: vec![InputReport::new(&input)],
        ratings: ratings.iter().zip(&found).map(|(ratings, found)| RatingsReport::new(ratings, found)).collect(),
        results,
    };
    interruption.check()?;
    if args.json { report::print_json(&report) } else { report::print(&text(&report, args)) }
}

fn similarities(args: &Words) -> Vec<Similarity> {
    match args.similarity {
        Some(SimilarityRule::Cosine) => vec![Similarity::Cosine],
        Some(SimilarityRule::Euclidean) => vec![Similarity::Euclidean],
        None => Similarity::ALL.to_vec(),
    }
}

/// The mean of all rows, if an unknown word needs it.
fn mean_of_unknown(
    args: &Words,
    found: &[Found],
    input: &Checked,
    interruption: &Interruption,
) -> Result<Option<Vec<f32>>, Failure> {
    let has_unknown = |found: &Found| found.pairs.iter().any(|pair| pair.rows.contains(&None));
    if args.unknown != UnknownRule::Mean || !found.iter().any(has_unknown) {
        return Ok(None);
    }
    let progress = Progress::new(&format!("mean of {}", input.name()), "rows", interruption);
    mean_row(&input.matrix, &progress).map(Some).map_err(|_| Failure::interrupted())
}

impl ResultReport {
    fn new(ratings: &Ratings, similarity: Similarity, result: WordSimilarity) -> Self {
        let undefined = result.spearman.as_ref().err().map(ToString::to_string);
        Self {
            file: ratings.display_name().to_owned(),
            similarity: similarity.name(),
            spearman: result.spearman.ok(),
            undefined,
            pairs: ratings.pairs().len(),
            known: result.known,
            compared: result.compared,
            without_direction: result.without_direction,
        }
    }
}

fn text(report: &Report, args: &Words) -> String {
    let mut text = format!("{}\n", report.inputs[0].line());
    for ratings in &report.ratings {
        text += &format!("{}\n", ratings.line());
    }
    let policy = match args.unknown {
        UnknownRule::Drop => "pairs with an unknown word are dropped",
        UnknownRule::Mean => "an unknown word has the mean of all rows",
        UnknownRule::Zero => "pairs with an unknown word have similarity 0",
    };
    text += &format!("\nwords as written, else in lower case; {policy}; equal values have average ranks\n\n");
    let mut rows = vec![["", "similarity", "Spearman", "known pairs"].map(str::to_owned).to_vec()];
    for r in &report.results {
        rows.push(vec![
            r.file.clone(),
            r.similarity.to_owned(),
            r.spearman.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.6}")),
            format!("{}/{}", r.known, r.pairs),
        ]);
    }
    text += &report::table(&rows);
    for r in &report.results {
        if let Some(reason) = &r.undefined {
            text += &format!("{}, {}: undefined: {reason}\n", r.file, r.similarity);
        }
        if r.without_direction > 0 {
            text += &format!("{}, {}: {}\n", r.file, r.similarity, vocabulary::without_direction(r.without_direction));
        }
    }
    text + "\nSpearman's correlation of similarities and ratings: 1 the same order, 0 none, -1 the opposite one.\n"
}
