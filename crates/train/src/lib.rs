//! Maps from one space to another: how they are trained and chosen, and the experiments of Collell & Moens (2018), "Do
//! Neural Network Cross-Modal Mappings Really Bridge Modalities?".
//!
//! The way of the data is `pairs -> fit -> Map -> mapped rows -> neighbour lists -> mNNO`. Everything random comes from a seed,
//! and every sum has one order, so that results have the same bits for any number of threads (on CPUs with the same
//! vector instructions, which faer's products follow).
#![forbid(unsafe_code)]
#![allow(clippy::inline_always)] // what is not inlined into a tier's entry is compiled without its instructions

mod classes;
mod error;
pub mod experiment;
mod fit;
mod folds;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod gradients;
mod init;
mod loss;
mod neighbourhoods;
mod network;
mod optimizer;
mod product;
mod real;
mod ridge;
mod select;

pub use classes::Classes;
pub use error::{ExperimentError, MapError, Space};
pub use fit::{Epoch, FitOptions, Pairs, fit, mean_loss};
pub use folds::{Split, folds, hold_out};
pub use init::Init;
pub use loss::Loss;
pub use neighbourhoods::{Neighbourhoods, Neighbouring, of_test_rows};
pub use network::{Activation, Layer, MOST_HIDDEN, Map, widths};
pub use optimizer::Optimizer;
pub use product::Pieces;
pub use real::Real;
pub use ridge::{Lambda, Ridge, ridge};
pub use select::{Choice, Grid, Outcome, Outcomes, Point, Recipe, select};
