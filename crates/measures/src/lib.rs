//! Measures of agreement between neighbour lists: lists in, numbers out.
//!
//! [`mnno`] is the mean nearest-neighbour overlap of Collell & Moens (2018), Definition 1; [`statistics`](chance) give it
//! a chance level, a standard error and an interval, [`permutation_p`] a p-value. [`recall`] is the share of exact neighbours that
//! approximate lists hold. All of them work on finished lists ([`mnno_exact::Neighbours`]); none searches.
//!
//! Numbers are compared by correlations ([`pearson`], [`spearman`], [`kendall`]) and by tests of ranks ([`rank_sum`],
//! [`signed_rank`]), whose p-values [`bonferroni`] and [`holm`] adjust. Where one has no value the result is [`Undefined`],
//! with the reason; [`word_similarity`] correlates vectors with ratings by people. All agree with `SciPy` (`tests/statistics.rs`).
//!
//! Rows of one data set depend on each other through their lists, which rules out the usual shortcuts: resampling rows
//! with replacement makes copies that become each other's neighbours, and the naive standard error is too small.
#![forbid(unsafe_code)]

mod correlation;
mod error;
mod multiple;
mod overlap;
mod permutation;
mod rank_tests;
mod ranks;
mod recall;
mod statistics;
mod undefined;
mod word_similarity;

pub use correlation::{kendall, pearson, spearman};
pub use error::MeasureError;
pub use multiple::{bonferroni, holm};
pub use overlap::{Overlap, mnno};
pub use permutation::permutation_p;
pub use rank_tests::{PMethod, RankTest, rank_sum, signed_rank};
pub use ranks::{average_ranks, largest, without_rounding_noise};
pub use recall::{Recall, recall};
pub use statistics::{SelfRule, chance, check_k};
pub use undefined::Undefined;
pub use word_similarity::{RatedPair, Similarity, Unknown, WordSimilarity, mean_row, word_similarity};
