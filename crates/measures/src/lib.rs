//! Measures of agreement between neighbour lists: lists in, numbers out.
//!
//! [`mnno`] is the mean nearest-neighbour overlap of Collell & Moens (2018), Definition 1; [`statistics`](chance) give it
//! a chance level, a standard error and an interval, [`permutation_p`] a p-value. [`recall`] is the share of exact neighbours that
//! approximate lists hold. All of them work on finished lists ([`mnno_exact::Neighbours`]); none searches.
//!
//! Rows of one data set depend on each other through their lists, which rules out the usual shortcuts: resampling rows
//! with replacement makes copies that become each other's neighbours, and the naive standard error is too small.
#![forbid(unsafe_code)]

mod error;
mod overlap;
mod permutation;
mod recall;
mod statistics;

pub use error::MeasureError;
pub use overlap::{Overlap, mnno};
pub use permutation::permutation_p;
pub use recall::{Recall, recall};
pub use statistics::{SelfRule, chance, check_k};
