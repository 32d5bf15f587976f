//! The command line. Every flag is defined here, once.
#![allow(clippy::doc_markdown)] // these comments are the help text, where backticks would show

mod bench;
mod idle;
mod train;
mod values;
mod words;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use mnno::Metric;
use mnno::hnsw::{BuildOptions, Lists, Method};
use mnno::store::{Format, Io};

use super::failure::Failure;
pub(crate) use bench::{Bench, IndexKind};
pub(crate) use idle::remarks as idle_remarks;
pub(crate) use train::{
    ConstantRule, CrossModal, Directions, MapApply, MapCommand, MapFit, MapKind, PairArgs, TrainingArgs, Untrained,
};
use values::{format_names, parse_rows, parse_size, parse_threads};
pub(crate) use words::{SimilarityRule, UnknownRule, WordArgs, Words};

/// Do two sets of vectors describe the same neighbourhoods?
///
/// A FILE is PATH[::NAME][::LAYER]: NAME a member of an npz, safetensors or mat file, LAYER a layer of an array
/// [n, layers, d] (from 0), or * for all of them. PATH is a file, a folder of part files, or @LIST, a text file that lists them.
#[derive(Debug, Parser)]
#[command(name = "mnno", version, max_term_width = 110)]
#[command(
    after_help = "Exit codes: 0 ok, 2 usage, 65 bad data, 66 cannot open, 71 system error, 73 cannot write, 74 input changed \
                  or I/O error, 130 interrupted.\nMNNO_SIMD=portable|avx2|avxvnni|avx512|avx512vnni|amx forces a SIMD tier; results are the same."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a feature file holds and whether it is fit for use
    Inspect(Inspect),
    /// Find the exact nearest neighbours and write them to a file
    Knn(Knn),
    /// Measure how much of their neighbourhoods two or more spaces share (mNNO)
    Compare(Compare),
    /// Write the vectors of a file in another format
    Convert(Convert),
    /// Build an index of a file, and find approximate neighbours with it
    #[command(subcommand)]
    Index(IndexCommand),
    /// Measure recall and queries per second of exact and approximate search on a file
    Bench(Bench),
    /// Train a map from one space to another, and map rows with it
    #[command(subcommand)]
    Map(MapCommand),
    /// Run an experiment of Collell & Moens 2018
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    /// Correlate the similarities of word vectors with those that people see
    Words(Words),
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Feature files: PATH[::NAME][::LAYER], folders of parts, or @LIST (see mnno --help)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Labels, a line per row: one or several, separated by tabs, commas or spaces
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Knn {
    /// The vectors that are searched: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The vectors that ask; without it, every row of BASE asks for its nearest among the others
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<String>,
    /// Neighbours per query; places beyond the number of candidates hold index -1 and the worst score
    #[arg(short, default_value_t = 10)]
    pub(crate) k: usize,
    /// Output: NAME.npz (indices, scores), NAME.npy (two files: NAME.indices.npy, NAME.scores.npy), NAME.ivecs
    /// (with NAME.scores.fvecs), NAME.ibin (with NAME.scores.fbin) or NAME.csv; existing files are replaced
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Report the cosine distance, 1 - similarity
    #[arg(long)]
    pub(crate) distance: bool,
    /// Whether a row may be its own neighbour
    #[arg(long = "self", value_enum, default_value_t, conflicts_with = "queries")]
    pub(crate) self_rule: SelfRule,
    /// Labels of BASE, a line per row: one or several, separated by tabs, commas or spaces
    #[arg(long, value_name = "FILE", conflicts_with = "queries", requires = "exclude_same_label")]
    pub(crate) labels: Option<PathBuf>,
    /// Leave out neighbours that share a label with the query, the query itself included
    #[arg(long, requires = "labels", conflicts_with = "self_rule")]
    pub(crate) exclude_same_label: bool,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The vectors to be converted: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "IN")]
    pub(crate) input_file: String,
    /// Output, in the format of its extension: npy, npz, safetensors, csv, tsv, fvecs, bvecs, ivecs, fbin, u8bin, i8bin, ibin,
    /// mat, txt (glove), vec (word2vec text) or bin (word2vec binary); an existing file is replaced
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Write this format, whatever the extension
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) to: Option<Format>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Two or more feature files of the same rows, in the same order unless they are joined: PATH[::NAME][::LAYER],
    /// folders of parts, or @LIST (see mnno --help)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Neighbours per row
    #[arg(short, default_value_t = 10)]
    pub(crate) k: usize,
    /// Whether a row may be its own neighbour
    #[arg(long = "self", value_enum, default_value_t)]
    pub(crate) self_rule: SelfRule,
    /// The self rule of a publication: collell2018 is --self include, and nothing else
    #[arg(long, value_enum, conflicts_with = "self_rule")]
    pub(crate) preset: Option<Preset>,
    /// Pair rows of the same name, whatever their order and number, and not those at the same place
    #[arg(long, value_enum)]
    pub(crate) join: Option<Join>,
    /// Find neighbours approximately, by an index, and say from a sample of rows what that does to the result
    #[arg(long)]
    pub(crate) ann: bool,
    /// With --ann, rows kept in view during a search: more find more of the true neighbours, and take longer
    #[arg(long, default_value_t = 64, value_name = "COUNT", requires = "ann")]
    pub(crate) ef: usize,
    /// Permutations of the pairing behind p; 0 leaves p out
    #[arg(long, default_value_t = 999, value_name = "COUNT")]
    pub(crate) permutations: u32,
    /// Also write the shared neighbours of every row to a CSV file
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) per_row: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// Do mapped rows have the neighbours of their targets, or still those of what was mapped?
    CrossModal(Box<CrossModal>),
    /// Do networks that were never trained keep the similarities of what they map?
    Untrained(Untrained),
}

#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Build an index: a graph of near rows
    Build(IndexBuild),
    /// Find approximate nearest neighbours and write them to a file
    Search(IndexSearch),
}

#[derive(Debug, Args)]
pub(crate) struct IndexBuild {
    /// The vectors that will be searched: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The index; an existing file is replaced. It holds no vectors: BASE is needed to search
    #[arg(short, long, value_name = "INDEX")]
    pub(crate) output: PathBuf,
    /// cosine, ip (inner product), euclidean, or l2 (squared euclidean)
    #[arg(long, default_value = "cosine", value_name = "METRIC")]
    pub(crate) metric: Metric,
    /// How the graph is built
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub(crate) index: GraphKind,
    /// Half of the most neighbours that a row keeps in the graph; at most 256 with hnsw
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=512).map(usize::from))]
    pub(crate) m: usize,
    /// Near rows that are looked at for each row: its exact nearest [32], or those in view of a walk with hnsw [200]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096).map(usize::from))]
    pub(crate) ef_construction: Option<usize>,
    /// Whether the near rows of knn-graph are exact
    #[arg(long, value_enum, default_value_t)]
    pub(crate) lists: ListsRule,
    /// Insert rows one after the other, so that hnsw too gives the same index every time; knn-graph always does
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Seed of the random choice of entries and long edges, and of the order of insertion
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default. The index of knn-graph is the same for any number
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IndexSearch {
    /// An index that mnno index build has written
    #[arg(value_name = "INDEX")]
    pub(crate) index: PathBuf,
    /// The vectors that the index was built from
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The vectors that ask; without it, every row of BASE asks for its nearest among the others
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<String>,
    /// Neighbours per query; places beyond the number of candidates hold index -1 and the worst score
    #[arg(short, default_value_t = 10)]
    pub(crate) k: usize,
    /// Rows kept in view during a search: more find more of the true neighbours, and take longer
    #[arg(long, default_value_t = 64, value_name = "COUNT")]
    pub(crate) ef: usize,
    /// What is looked at on the way
    #[arg(long, value_enum, default_value_t)]
    pub(crate) traversal: TraversalRule,
    /// Output, as of mnno knn; existing files are replaced
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Whether a row may be its own neighbour
    #[arg(long = "self", value_enum, default_value_t, conflicts_with = "queries")]
    pub(crate) self_rule: SelfRule,
    /// Order of equal scores
    #[arg(long, value_enum, default_value_t)]
    pub(crate) ties: TieRule,
    /// Seed of random ties
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// How neighbours are found.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// cosine, ip (inner product), euclidean, or l2 (squared euclidean)
    #[arg(long, default_value = "cosine", value_name = "METRIC")]
    pub(crate) metric: Metric,
    /// Order of equal scores
    #[arg(long, value_enum, default_value_t)]
    pub(crate) ties: TieRule,
    /// Zero vectors under cosine, which have no direction: refuse them, or drop the row from every file
    #[arg(long, value_enum, default_value_t)]
    pub(crate) zero: ZeroRule,
    /// Seed of random ties and permutations
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Precision of the filter that proposes candidates; never changes an answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) filter: FilterRule,
    /// Print how each search was done
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// How files are read.
#[derive(Clone, Debug, Args)]
pub(crate) struct Input {
    /// Use only rows A up to, not including, B (from 0) of every file; row A is then number 0 of lists
    #[arg(long, value_name = "A..B", value_parser = parse_rows)]
    pub(crate) rows: Option<Range<usize>>,
    /// Take files to be of this format instead of looking
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) format: Option<Format>,
    /// Map files into memory, or read them whole (immune to changes by others meanwhile)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) io: IoRule,
    /// Most memory for everything that is not a mapped file, such as 512M or 4G; at least 64M
    #[arg(long, default_value = "4G", value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: u64,
}

impl Input {
    /// As for files whose format is found by looking.
    pub(crate) fn without_format(&self) -> Self {
        Self { format: None, ..self.clone() }
    }
}

/// What tells which rows of several files belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Join {
    /// Their names; rows whose names are not in every file are left out
    Name,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelfRule {
    /// No: left out by its number
    #[default]
    Exclude,
    /// Yes: it is a candidate like any other
    Include,
}

impl SelfRule {
    /// The rule of a preset, if one is asked for.
    pub(crate) fn or_of(self, preset: Option<Preset>) -> Self {
        match preset {
            Some(Preset::Collell2018) => Self::Include,
            None => self,
        }
    }
}

impl From<SelfRule> for mnno::measures::SelfRule {
    fn from(rule: SelfRule) -> Self {
        match rule {
            SelfRule::Exclude => Self::Exclude,
            SelfRule::Include => Self::Include,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Preset {
    /// Collell & Moens 2018: the published code counts the row itself
    Collell2018,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphKind {
    /// From the exact neighbours of every row
    #[default]
    KnnGraph,
    /// Row after row, each among the nearest that are found of those before it
    Hnsw,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListsRule {
    /// Exact up to about 500,000 rows, nearby beyond
    #[default]
    Auto,
    /// The exact nearest of every row, whatever time that takes
    Exact,
    /// The nearest among rows of nearby clusters: most of the exact ones, in less time where rows are many
    Nearby,
}

impl From<ListsRule> for Lists {
    fn from(rule: ListsRule) -> Self {
        match rule {
            ListsRule::Auto => Self::Auto,
            ListsRule::Exact => Self::Exact,
            ListsRule::Nearby => Self::Nearby,
        }
    }
}

impl GraphKind {
    /// How a graph of this kind, of `m` and what else is asked for, is built.
    pub(crate) fn options(
        self,
        m: usize,
        ef_construction: Option<usize>,
        deterministic: bool,
        seed: u64,
    ) -> Result<BuildOptions, Failure> {
        let method = match self {
            Self::KnnGraph => Method::KnnGraph,
            Self::Hnsw => Method::Hnsw { parallel: !deterministic },
        };
        if self == Self::Hnsw && m > Method::MOST_M_OF_HNSW {
            let message = format!("--m {m}: --index hnsw takes at most {}", Method::MOST_M_OF_HNSW);
            return Err(Failure::usage(message).hint("choose a smaller --m, or --index knn-graph"));
        }
        let ef_construction = ef_construction.unwrap_or(method.ef_construction());
        Ok(BuildOptions { m, ef_construction, seed, ..BuildOptions::new(method) })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraversalRule {
    /// Rows rounded to bytes, where the index has them
    #[default]
    Auto,
    /// The rows themselves
    F32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TieRule {
    /// Lower row number first
    #[default]
    LowerIndex,
    /// A random order drawn from --seed, another one in each file
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZeroRule {
    /// Stop with an error that names the row
    #[default]
    Error,
    /// Drop the row from every file and say how many were dropped
    Drop,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterRule {
    /// The fastest for the CPU and the rows
    #[default]
    Auto,
    /// bfloat16
    Bf16,
    /// 8-bit integers
    Int8,
    /// The precision of the rows
    F32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoRule {
    /// Map
    #[default]
    Map,
    /// Read
    Read,
}

impl From<IoRule> for Io {
    fn from(rule: IoRule) -> Self {
        match rule {
            IoRule::Map => Self::Map,
            IoRule::Read => Self::Read,
        }
    }
}

/// The name of a value as the command line spells it.
pub(crate) fn spelled(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
