//! Exact nearest neighbours: the ones of the canonical f64 score, whatever the machine.
//!
//! A search goes through three steps, tile by tile (a block of queries against some base rows):
//!
//! 1. **Propose** (`tile.rs`): one f32 block product gives an approximate score of every pair.
//! 2. **Certify** (`bound.rs`): a pair is dropped only if its approximate score and a proven error bound show that it
//!    cannot be among the `k + 1` best of the canonical order.
//! 3. **Re-score** (`tile.rs`): the few that are left are scored in f64, in one fixed order of operations
//!    ([`mnno_simd::Kernels`]), and kept by (score, tie rule) ([`TopK`]).
//!
//! The product's rounding therefore never decides an answer, and neither does the way the work is cut. The full score
//! matrix never exists: memory is one panel of base rows, a tile per thread, and `O(n k)` for the lists.
//!
//! Rejected: ranking by the f32 product itself, as most libraries do (its ties and near-ties depend on the blocking), and
//! the product library's own threads (each tile runs sequentially; parallelism is over blocks of queries).
#![forbid(unsafe_code)]

mod bound;
mod equal;
mod error;
mod exclude;
mod filter;
mod list;
mod metric;
mod neighbours;
mod pack;
mod panel;
mod rows;
mod schedule;
mod search;
mod space;
mod sweep;
mod tiles;
mod top_k;

pub use error::{SearchError, Side};
pub use exclude::Exclude;
pub use filter::{Filter, UnknownFilter};
pub use metric::{Metric, UnknownMetric};
pub use mnno_simd::{Kernels, Tier, UnavailableTier};
pub use neighbours::{NO_NEIGHBOUR, Neighbours};
pub use rows::{RowBlock, Rows, SliceRows, Subset};
pub use search::{Observer, Search, Threads};
pub use tiles::Tiles;
pub use top_k::{Ties, TopK};
