//! Exact nearest neighbours: the ones of the canonical f64 score, whatever the machine.
#![forbid(unsafe_code)]

mod metric;
mod neighbours;
mod rows;

pub use metric::{Metric, UnknownMetric};
pub use mnno_simd::{Kernels, Tier, UnavailableTier};
pub use neighbours::{NO_NEIGHBOUR, Neighbours};
pub use rows::{RowBlock, Rows, SliceRows, Subset};
