//! Maps from one space to another: how they are trained and chosen, and the experiments of Collell & Moens (2018), "Do
//! Neural Network Cross-Modal Mappings Really Bridge Modalities?".
//!
//! The way of the data is `pairs -> fit -> Map -> mapped rows -> neighbour lists -> mNNO`. Everything random comes from a seed,
//! and every sum has one order, so that results have the same bits for any number of threads (on CPUs with the same
//! vector instructions, which faer's products follow).
//!
//! Rejected: stochastic rounding or half precision for weights (nothing here is large enough to need it), and a graph of operations with
//! automatic gradients (five losses and one shape of network are a page by hand, and fuse with the update).
//!
//! # Examples
//! ```
//! use mnno_train::{Activation, FitOptions, Init, Loss, Map, Pairs, Pieces, fit};
//!
//! // y = 2 x0 - x1
//! let x: Vec<f32> = (0..200u8).map(|i| f32::from(i % 17) / 17.0).collect();
//! let y: Vec<f32> = x.chunks(2).map(|x| 2.0 * x[0] - x[1]).collect();
//! let pairs = Pairs { x: &x, dx: 2, y: &y, dy: 1, classes: None };
//! let (train, test): (Vec<u32>, Vec<u32>) = (0..100).partition(|i| i % 5 > 0);
//!
//! let mut map = Map::random(&[2, 1], Activation::Relu, Init::GlorotUniform, 0.0, 1);
//! let options = FitOptions { batch: 10, ..FitOptions::new(Loss::Mse, 0.01, 60) };
//! let curve = fit(&mut map, &pairs, &train, &test, &options, |_, _| Ok(()))?;
//! assert!(curve[59].test_loss.unwrap() < 0.01 * curve[0].test_loss.unwrap());
//! assert!((map.apply(&[0.5, 0.5], Pieces::InTurn)[0] - 0.5).abs() < 0.05);
//! # Ok::<(), mnno_train::MapError>(())
//! ```
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
