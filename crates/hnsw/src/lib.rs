//! Approximate nearest neighbours: a graph over the distinct rows of a base, and walks over it.
//!
//! **How to think about it.** A walk keeps a beam of the `ef` nearest nodes that it has seen, and always goes on from the
//! nearest one that it has not left: it finds most of the true neighbours after looking at a few hundred rows. What is found
//! is scored and ordered as the exact search would, so that an approximate list differs from the exact one only by what the
//! walk has missed.
//!
//! **The graph** is built from exact neighbour lists ([`Index::build`], `build.rs`), which [`mnno_exact`] makes cheap; of very
//! many rows, from lists of nearby clusters, most of which is exact ([`Lists`], `nearby.rs`). It is the
//! same for any number of threads and any SIMD tier. [`Method::Hnsw`] builds it row by row instead (`incremental.rs`), which
//! takes longer where the lists are cheap and finds a little less; that graph is the same every time only if one thread
//! inserts.
//!
//! **What walks look at**: rows rounded to bytes, a quarter of the memory traffic, where rounding hides less than the walk
//! must tell apart ([`Index::codes`]); else the rows in f32, or in f64 where that hides too much. The entries to begin at are
//! chosen by their bytes in any case.
//!
//! **Equal rows** enter the graph once and are expanded in the answer: copies can neither crowd a list nor cut the graph.
//!
//! **Cost.** Build: one exact self-join with `ef_construction` neighbours, and pruning; or a walk for each row. Memory per
//! row: at most about `8 m + 8` bytes for the graph, `d` rounded up to a multiple of 64 for bytes (8 more where that leaves no
//! room for two numbers), 28 for norms and equal rows; the vectors stay where they are.
//!
//! # Examples
//! ```
//! use mnno_exact::{Metric, SliceRows};
//! use mnno_hnsw::{BuildOptions, Index, SearchOptions};
//! let rows: Vec<f32> = (0..200u8).map(f32::from).collect();
//! let rows = SliceRows::new(&rows, 2);
//! let index = Index::build(&rows, Metric::Euclidean, BuildOptions::default(), Default::default(), &())?;
//! let found = index.self_join(&rows, &SearchOptions::new(1))?;
//! assert_eq!(found.lists.list(7), [6]);
//! # Ok::<(), mnno_exact::SearchError>(())
//! ```
#![forbid(unsafe_code)]

mod build;
mod codes;
mod file;
mod graph;
mod incremental;
mod nearby;
mod points;
mod prune;
mod search;
mod space;
mod walk;

pub use build::{BuildOptions, Method};
pub use file::{FileError, Head};
pub use graph::Graph;
pub use nearby::Lists;
pub use search::{Found, Index, SearchOptions};
