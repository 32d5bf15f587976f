//! The flags of `mnno bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use mnno::Metric;

use super::values::parse_threads;
use super::{GraphKind, Input, ListsRule, TraversalRule};

#[derive(Debug, Args)]
#[command(
    after_help = "Recall is the share of the exact neighbours that are found; equal scores count. Speed is that of all queries handed over \
                  at once: one pass to warm up, then passes until half a second is measured, of which the median counts."
)]
pub(crate) struct Bench {
    /// The vectors that are searched: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The vectors that ask; without it up to 1000 rows of BASE, evenly spread, ask for their nearest among the others
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<String>,
    /// Neighbours per query
    #[arg(short, default_value_t = 10)]
    pub(crate) k: usize,
    /// cosine, ip (inner product), euclidean, or l2 (squared euclidean)
    #[arg(long, default_value = "cosine", value_name = "METRIC")]
    pub(crate) metric: Metric,
    /// What is measured
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND,..", default_value = "exact,knn-graph")]
    pub(crate) index: Vec<IndexKind>,
    /// Rows kept in view during a search, one setting after the other; below k + 2 that is taken
    #[arg(long, value_name = "COUNT,..", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..),
          default_value = "12,16,24,32,48,64,96,128,192,256,384,512")]
    pub(crate) ef: Vec<u32>,
    /// Half of the most neighbours that a row keeps in a graph
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=512).map(usize::from))]
    pub(crate) m: usize,
    /// Near rows that are looked at for each row while a graph is built, as of mnno index build
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096).map(usize::from))]
    pub(crate) ef_construction: Option<usize>,
    /// Whether the near rows of knn-graph are exact, as of mnno index build
    #[arg(long, value_enum, default_value_t)]
    pub(crate) lists: ListsRule,
    /// What walks over a graph look at
    #[arg(long, value_enum, default_value_t)]
    pub(crate) traversal: TraversalRule,
    /// Neighbours of the queries that are known, [queries, k or more] numbers of rows of BASE: ours are compared with them
    #[arg(long, value_name = "FILE", requires = "queries")]
    pub(crate) truth: Option<String>,
    /// Folder that keeps exact neighbours for the next run; by default $XDG_CACHE_HOME/mnno or ~/.cache/mnno
    #[arg(long, value_name = "FOLDER")]
    pub(crate) truth_cache: Option<PathBuf>,
    /// Seed of what is random in an index
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Threads, at most 1024; all by default. One thread is measured as well
    #[arg(long, value_name = "COUNT", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the results to a CSV file
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Also draw recall against queries per second; may be given more than once
    #[arg(long, value_name = "OUT.svg|OUT.png")]
    pub(crate) plot: Vec<PathBuf>,
}

/// What finds neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexKind {
    /// Exact search
    Exact,
    /// A graph from exact neighbour lists
    KnnGraph,
    /// A graph built row by row
    Hnsw,
}

impl IndexKind {
    /// What has to be built for it.
    pub(crate) fn graph(self) -> Option<GraphKind> {
        match self {
            Self::Exact => None,
            Self::KnnGraph => Some(GraphKind::KnnGraph),
            Self::Hnsw => Some(GraphKind::Hnsw),
        }
    }
}
