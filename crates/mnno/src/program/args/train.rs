//! The flags of `mnno map` and `mnno experiment cross-modal`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use mnno::Metric;
use mnno::store::Format;
use mnno::train::{Activation, Grid, Init, Lambda, Loss, MOST_HIDDEN, Optimizer};

use super::values::{format_names, parse_threads};
use super::{Input, Join, Preset, SelfRule, WordArgs, ZeroRule};

#[derive(Debug, Subcommand)]
pub(crate) enum MapCommand {
    /// Train a map from the rows of X to those of Y
    Fit(Box<MapFit>),
    /// Map the rows of a file
    Apply(MapApply),
}

#[derive(Debug, Args)]
pub(crate) struct MapFit {
    #[command(flatten)]
    pub(crate) pairs: PairArgs,
    /// The map, a safetensors file; an existing file is replaced
    #[arg(short, long, value_name = "MODEL.safetensors")]
    pub(crate) output: PathBuf,
    /// lin, nn-1 to nn-8 (so many hidden layers), or ridge (linear, in closed form)
    #[arg(long, default_value = "nn-1", value_name = "MAP")]
    pub(crate) map: MapKind,
    /// Units of each hidden layer
    #[arg(long, default_value_t = 512, value_name = "UNITS", value_parser = clap::value_parser!(u32).range(1..=65_536).map(|units| units as usize))]
    pub(crate) hidden: usize,
    /// What training makes small
    #[arg(long, default_value = "mse", value_name = "LOSS", value_parser = PossibleValuesParser::new(Loss::NAMES))]
    pub(crate) loss: String,
    /// Margin of the losses that have one: 1 for max-margin, 0.1 for hinge-rank
    #[arg(long, value_name = "MARGIN", value_parser = parse_positive)]
    pub(crate) margin: Option<f64>,
    /// How far weights follow the gradient at a step
    #[arg(long, default_value_t = 0.001, value_name = "RATE", value_parser = parse_positive)]
    pub(crate) learning_rate: f64,
    /// Share of hidden units left out of each step, at random
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) dropout: f64,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    /// Test on this share of the rows of X and Y, drawn at random, and do not train on them
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "test_x")]
    pub(crate) test_share: Option<f64>,
    /// End after so many epochs without a smaller test loss, and keep the map that had the smallest
    #[arg(long, value_name = "EPOCHS")]
    pub(crate) patience: Option<NonZeroUsize>,
    /// Measure after every epoch whose neighbours mapped rows have: mNNO(X, f(X)) and mNNO(Y, f(X))
    #[arg(long)]
    pub(crate) mnno: bool,
    /// Neighbours per row, with --mnno
    #[arg(short, default_value_t = 10)]
    pub(crate) k: usize,
    /// Metric of the neighbours, with --mnno
    #[arg(long, default_value = "cosine", value_name = "METRIC")]
    pub(crate) metric: Metric,
    /// Whether a row may be its own neighbour, with --mnno
    #[arg(long = "self", value_enum, default_value_t)]
    pub(crate) self_rule: SelfRule,
    /// Also write the losses of every epoch, and what --mnno measures, to a CSV file
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) curve: Option<PathBuf>,
    /// Also draw them, with --mnno; may be given more than once
    #[arg(long, value_name = "OUT.svg|OUT.png", requires = "mnno")]
    pub(crate) plot: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MapApply {
    /// A map that mnno map fit has written
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The rows to map: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "X")]
    pub(crate) x: String,
    /// Output, in the format of its extension, as of mnno convert; an existing file is replaced
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Write this format, whatever the extension
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) to: Option<Format>,
    /// Threads, at most 1024; all by default
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "For each direction, map and loss: a grid search by cross-validation, then the maps that are reported. Finished trainings are \
                  kept in OUT/grid: run again after an interruption, and they are not trained again.\nStars: the two overlaps of a \
                  map differ, two-sided rank-sum over the test rows, p < 0.001 after Bonferroni over all pairs printed."
)]
pub(crate) struct CrossModal {
    #[command(flatten)]
    pub(crate) pairs: PairArgs,
    /// Folder of the results: results.json, results.csv, table.md, table.tex, curves, and the trainings of the grid
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Maps: lin, nn-1 to nn-8, ridge
    #[arg(long, value_delimiter = ',', value_name = "MAP,..", default_value = "lin,nn-1")]
    pub(crate) maps: Vec<MapKind>,
    /// Losses of the trained maps
    #[arg(long, value_delimiter = ',', value_name = "LOSS,..", default_value = "mse", value_parser = PossibleValuesParser::new(Loss::NAMES))]
    pub(crate) losses: Vec<String>,
    /// From X to Y, from Y to X, or both
    #[arg(long, value_enum, default_value_t)]
    pub(crate) direction: Directions,
    /// Neighbours per row
    #[arg(short, value_delimiter = ',', value_name = "K,..", default_value = "5,10,30")]
    pub(crate) k: Vec<usize>,
    /// Whether a row may be its own neighbour
    #[arg(long = "self", value_enum, default_value_t)]
    pub(crate) self_rule: SelfRule,
    /// The self rule of a publication: collell2018 is --self include, and nothing else
    #[arg(long, value_enum, conflicts_with = "self_rule")]
    pub(crate) preset: Option<Preset>,
    /// Folds of the cross-validation; without test files they are what is reported, too
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(2..=1000).map(usize::from))]
    pub(crate) folds: usize,
    /// With test files: maps trained from different seeds
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000).map(usize::from))]
    pub(crate) runs: usize,
    /// Choose within the training rows of each fold, and not by the folds that are reported
    #[arg(long, conflicts_with = "test_x")]
    pub(crate) nested: bool,
    /// Learning rates to choose from
    #[arg(long, value_delimiter = ',', value_name = "RATE,..", default_values_t = Grid::paper().learning_rates, value_parser = parse_positive)]
    pub(crate) learning_rate: Vec<f64>,
    /// Numbers of units of each hidden layer to choose from
    #[arg(long, value_delimiter = ',', value_name = "UNITS,..", default_values_t = Grid::paper().units,
          value_parser = clap::value_parser!(u32).range(1..=65_536).map(|units| units as usize))]
    pub(crate) hidden: Vec<usize>,
    /// Shares of hidden units left out to choose from; the paper tried 0,0.25,0.5,0.75 and prints results with 0
    #[arg(long, value_delimiter = ',', value_name = "SHARE,..", default_values_t = Grid::paper().dropouts, value_parser = parse_share)]
    pub(crate) dropout: Vec<f64>,
    /// Margins of the max-margin losses to choose from
    #[arg(long, value_delimiter = ',', value_name = "MARGIN,..", default_values_t = Grid::paper().margins, value_parser = parse_positive)]
    pub(crate) margin: Vec<f64>,
    #[command(flatten)]
    pub(crate) training: TrainingArgs,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Weights are uniform in [-1, 1] and biases 0, as in the paper; it does not state the number of hidden units.\nStars: the runs differ \
                  from the input's correlation, two-sided rank-sum against it repeated as often, p < 0.05."
)]
pub(crate) struct Untrained {
    #[command(flatten)]
    pub(crate) vectors: WordArgs,
    /// Maps: lin, nn-1 to nn-8
    #[arg(long, value_delimiter = ',', value_name = "MAP,..", default_value = "lin,nn-1")]
    pub(crate) maps: Vec<MapKind>,
    /// Units of each hidden layer
    #[arg(long, default_value_t = 2048, value_name = "UNITS", value_parser = clap::value_parser!(u32).range(1..=65_536).map(|units| units as usize))]
    pub(crate) hidden: usize,
    /// Dimensions of mapped rows
    #[arg(long, default_value_t = 2048, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=65_536).map(|units| units as usize))]
    pub(crate) dims: usize,
    /// What hidden units do
    #[arg(long, default_value = "tanh", value_name = "NAME", value_parser = named(Activation::ALL))]
    pub(crate) activation: Activation,
    /// Random maps of each shape
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000).map(u64::from))]
    pub(crate) runs: u64,
    /// Zero vectors under cosine, which have no direction: refuse them, or drop their pairs
    #[arg(long, value_enum, default_value_t)]
    pub(crate) zero: ZeroRule,
    /// Seed of the first map; the others follow
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default. Results are the same for any number
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Paired files.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// What is mapped: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "X")]
    pub(crate) x: String,
    /// What it is mapped to: row i of Y belongs to row i of X
    #[arg(value_name = "Y")]
    pub(crate) y: String,
    /// Rows to test on, with --test-y
    #[arg(long, value_name = "FILE", requires = "test_y", conflicts_with = "rows")]
    pub(crate) test_x: Option<String>,
    /// What the rows of --test-x belong to
    #[arg(long, value_name = "FILE", requires = "test_x")]
    pub(crate) test_y: Option<String>,
    /// Classes of the rows, a line per row: one or several, separated by tabs, commas or spaces. Negatives of the margin losses
    /// share none with the row; without it, any other row is one
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Classes of the rows of --test-x
    #[arg(long, value_name = "FILE", requires = "test_x", requires = "labels")]
    pub(crate) test_labels: Option<PathBuf>,
    /// Pair rows of the same name, whatever their order and number, and not those at the same place
    #[arg(long, value_enum)]
    pub(crate) join: Option<Join>,
    /// Zero vectors, which have no direction: refuse them, or drop the row from both files
    #[arg(long, value_enum, default_value_t)]
    pub(crate) zero: ZeroRule,
    /// Columns with one value in every row: refuse them, or train with them all the same
    #[arg(long, value_enum, default_value_t)]
    pub(crate) constant: ConstantRule,
}

/// How maps are trained, whatever their shape.
#[derive(Debug, Args)]
pub(crate) struct TrainingArgs {
    /// What hidden units do
    #[arg(long, default_value = "relu", value_name = "NAME", value_parser = named(Activation::ALL))]
    pub(crate) activation: Activation,
    /// How weights follow the gradient
    #[arg(long, default_value = "rmsprop", value_name = "NAME", value_parser = named(Optimizer::ALL))]
    pub(crate) optimizer: Optimizer,
    /// What weights start from
    #[arg(long, value_enum, default_value_t)]
    pub(crate) init: InitRule,
    /// What biases start from, 0 or 0.1 as a rule
    #[arg(long, default_value_t = 0.0, value_name = "VALUE", value_parser = parse_finite, allow_negative_numbers = true)]
    pub(crate) bias: f64,
    /// Times that every row is seen; of an experiment, at most
    #[arg(long, default_value_t = 100, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000).map(|count| count as usize))]
    pub(crate) epochs: usize,
    /// Rows of a step
    #[arg(long, default_value_t = 64, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..=1_000_000).map(|count| count as usize))]
    pub(crate) batch: usize,
    /// How strongly ridge holds weights down: a number from 0, or loo for the one with the smallest leave-one-out error
    #[arg(long, default_value = "loo", value_name = "LAMBDA", value_parser = parse_lambda)]
    pub(crate) lambda: Lambda,
    /// Seed of weights, folds, the order of rows, dropout and negatives
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default. Results are the same for any number
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// The shape of a map, without its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapKind {
    /// So many hidden layers; linear with none.
    Trained(usize),
    Ridge,
}

impl MapKind {
    /// Hidden layers; a ridge regression has none.
    pub(crate) fn hidden(self) -> usize {
        if let Self::Trained(hidden) = self { hidden } else { 0 }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Trained(0) => "lin".to_owned(),
            Self::Trained(hidden) => format!("nn-{hidden}"),
            Self::Ridge => "ridge".to_owned(),
        }
    }
}

impl FromStr for MapKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let hidden = |digits: &str| digits.parse().ok().filter(|hidden| (1..=MOST_HIDDEN).contains(hidden));
        match name {
            "lin" => Ok(Self::Trained(0)),
            "ridge" => Ok(Self::Ridge),
            _ => name.strip_prefix("nn-").and_then(hidden).map(Self::Trained).ok_or_else(|| {
                format!("expected lin, ridge, or nn-1 to nn-{MOST_HIDDEN}: a network of so many hidden layers")
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Directions {
    /// From X to Y, then from Y to X
    #[default]
    Both,
    /// From X to Y
    XToY,
    /// From Y to X
    YToX,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConstantRule {
    /// Stop with an error that names the column
    #[default]
    Error,
    /// Train with them
    Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitRule {
    /// Uniform in plus or minus sqrt(6 / (inputs + outputs)), the paper's
    #[default]
    GlorotUniform,
    /// Normal with standard deviation 0.05, redrawn beyond two of them
    TruncatedNormal,
}

impl From<InitRule> for Init {
    fn from(rule: InitRule) -> Self {
        match rule {
            InitRule::GlorotUniform => Self::GlorotUniform,
            InitRule::TruncatedNormal => Self::TruncatedNormal(0.05),
        }
    }
}

/// The values of a table of names.
fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    table: [(T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(table.map(|(_, name)| name)).map(move |given| {
        let found = table.iter().find(|(_, name)| *name == given);
        found.map_or(table[0].0, |(value, _)| *value)
    })
}

fn parse_finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| "expected a number".to_owned())
}

fn parse_positive(text: &str) -> Result<f64, String> {
    parse_finite(text).ok().filter(|&value| value > 0.0).ok_or_else(|| "expected a number above 0".to_owned())
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = parse_finite(text).ok().filter(|value| (0.0..1.0).contains(value));
    share.ok_or_else(|| "expected a number from 0 up to, not including, 1".to_owned())
}

fn parse_lambda(text: &str) -> Result<Lambda, String> {
    if text == "loo" {
        return Ok(Lambda::LeaveOneOut);
    }
    let given = parse_finite(text).ok().filter(|&value| value >= 0.0);
    given.map(Lambda::Given).ok_or_else(|| "expected loo, or a number from 0".to_owned())
}
