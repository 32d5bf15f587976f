//! Exact nearest neighbours: the ones of the canonical f64 score, whatever the machine.
//!
//! A search goes through three steps, one pair of blocks of rows at a time:
//!
//! 1. **Propose** (`sweep.rs`): block products of rows in low precision (`pack.rs`) estimate the score of every pair.
//! 2. **Certify** (`bound.rs`, and the scan in [`mnno_simd`]): a pair is dropped only if its estimate and a proven error
//!    bound show that it cannot be among the `k + 1` best of the canonical order.
//! 3. **Re-score** (`lists.rs`): the few that are left are scored in f64, in one fixed order of operations
//!    ([`mnno_simd::Kernels`]), and kept by (score, tie rule) ([`TopK`]).
//!
//! The filter's rounding therefore never decides an answer, and neither does the way the work is cut. Its precision
//! ([`Filter`]) is chosen for the data from a sample (`filter.rs`). A self-join looks at each pair once, for both rows
//! (`schedule.rs`); rows with the same bits are searched once (`equal.rs`). The full score matrix never exists: memory is
//! the packed rows, all of them or one panel after the other (`tiles.rs`), products of a pair of blocks per thread, and
//! `O(n k)` for the lists.
//!
//! Rejected: ranking by the f32 product itself, as most libraries do (its ties and near-ties depend on the blocking), and
//! the threads of a product library (each pair of blocks runs sequentially; parallelism is over pairs).
#![forbid(unsafe_code)]

#[cfg(test)]
mod attack;
mod bound;
mod equal;
mod error;
mod exclude;
mod filter;
mod lists;
mod metric;
mod neighbours;
mod pack;
mod pages;
mod panel;
mod rows;
mod schedule;
mod search;
mod space;
mod sweep;
mod tiles;
mod top_k;

pub use equal::EqualRows;
pub use error::{SearchError, Side};
pub use exclude::Exclude;
pub use filter::{Filter, UnknownFilter};
pub use metric::{Metric, UnknownMetric};
pub use mnno_simd::{Kernels, Tier, UnavailableTier};
pub use neighbours::{NO_NEIGHBOUR, Neighbours};
pub use pages::Pages;
pub use rows::{RowBlock, Rows, SliceRows, Subset};
pub use search::{Observer, Search, Threads};
pub use tiles::Tiles;
pub use top_k::{Ties, TopK};

#[cfg(test)]
extern crate self as mnno_exact; // the reference of the tests beside this crate
