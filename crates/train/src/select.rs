//! The choice of learning rate, hidden units, dropout, margin and number of epochs by cross-validation.

use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::Observer;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Activation, Epoch, FitOptions, Init, Loss, Map, MapError, Optimizer, Pairs, Pieces, Split, fit, widths};

/// What is not chosen: the shape of a map, but for its units, and how it is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Hidden layers; 0 for a linear map.
    pub hidden: usize,
    /// Of the hidden units.
    pub activation: Activation,
    /// Of the weights.
    pub init: Init,
    /// What every bias starts at.
    pub bias: f64,
    /// What is made small; its margin is the point's.
    pub loss: Loss,
    /// How weights follow the gradient.
    pub optimizer: Optimizer,
    /// Most epochs.
    pub epochs: usize,
    /// Rows of a step.
    pub batch: usize,
}

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How far weights follow the gradient at a step.
    pub learning_rate: f64,
    /// Units of each hidden layer; 0 for a linear map.
    pub units: usize,
    /// The share of hidden units left out of a step.
    pub dropout: f64,
    /// The margin of the loss; 0 if it has none.
    pub margin: f64,
}

/// The values that are tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Learning rates.
    pub learning_rates: Vec<f64>,
    /// Numbers of units of each hidden layer.
    pub units: Vec<usize>,
    /// Shares of hidden units left out.
    pub dropouts: Vec<f64>,
    /// Margins of the max-margin losses.
    pub margins: Vec<f64>,
}

impl Grid {
    /// The values that the paper tries (appendix A), without dropout, as in the tables it prints.
    pub fn paper() -> Self {
        Self {
            learning_rates: vec![0.01, 0.001, 0.0001],
            units: vec![64, 128, 256, 512, 1024],
            dropouts: vec![0.0],
            margins: vec![1.0, 2.5, 5.0, 7.5, 10.0],
        }
    }

    /// The points that make a difference to a recipe: a linear map has no units, and not every loss a margin to choose.
    pub fn points(&self, recipe: &Recipe) -> Vec<Point> {
        let (units, dropouts) =
            if recipe.hidden == 0 { (&[0][..], &[0.0][..]) } else { (&self.units[..], &self.dropouts[..]) };
        let given = [recipe.loss.margin().unwrap_or(0.0)];
        let margins = if recipe.loss.is_max_margin() { &self.margins[..] } else { &given };
        let mut points = Vec::new();
        for &units in units {
            for &learning_rate in &self.learning_rates {
                for &dropout in dropouts {
                    points.extend(margins.iter().map(|&margin| Point { learning_rate, units, dropout, margin }));
                }
            }
        }
        points
    }
}

impl Recipe {
    /// The map that training at a point starts from.
    pub fn start(&self, point: &Point, dx: usize, dy: usize, seed: u64) -> Map {
        Map::random(&widths(dx, self.hidden, point.units, dy), self.activation, self.init, self.bias, seed)
    }

    /// How it is trained there.
    pub fn options(&self, point: &Point, epochs: usize, seed: u64, pieces: Pieces) -> FitOptions {
        FitOptions {
            loss: Loss::named(self.loss.name(), point.margin).unwrap_or(self.loss),
            optimizer: self.optimizer,
            batch: self.batch,
            dropout: point.dropout,
            seed,
            pieces,
            ..FitOptions::new(self.loss, point.learning_rate, epochs)
        }
    }
}

/// What training on a fold at a point came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// For each epoch, the mean loss of training rows and of test rows.
    Losses(Vec<(f64, f64)>),
    /// A loss that was not finite, in this epoch.
    Diverged(usize),
}

/// Where outcomes are kept, so that what is finished is not trained again.
pub trait Outcomes<E>: Sync {
    /// The outcome of a point on a fold, if it is finished.
    ///
    /// # Errors
    /// What the place has to say.
    fn find(&self, point: &Point, fold: usize) -> Result<Option<Outcome>, E>;

    /// Keeps an outcome.
    ///
    /// # Errors
    /// What the place has to say.
    fn keep(&self, point: &Point, fold: usize, outcome: &Outcome) -> Result<(), E>;
}

/// Keeps nothing.
impl<E> Outcomes<E> for () {
    fn find(&self, _: &Point, _: usize) -> Result<Option<Outcome>, E> {
        Ok(None)
    }

    fn keep(&self, _: &Point, _: usize, _: &Outcome) -> Result<(), E> {
        Ok(())
    }
}

/// The best point of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The point.
    pub point: Point,
    /// The epoch after which the mean test loss of the folds is smallest.
    pub epochs: usize,
    /// That loss.
    pub test_loss: f64,
}

/// Trains at every point on every fold, side by side on the current thread pool, each on one thread, and chooses the point and the epoch
/// whose test loss, averaged over folds, is smallest (the first of equal ones). Losses of different margins are compared as shares of
/// the margin: at a smaller margin the loss of any map is smaller. A point that does not stay finite on every fold is not chosen.
///
/// # Errors
/// [`MapError::AllDiverged`] if no point stays finite, [`MapError::Interrupted`], and what `outcomes` says.
pub fn select<E: From<MapError> + Send>(
    recipe: &Recipe,
    grid: &Grid,
    pairs: &Pairs<'_>,
    splits: &[Split],
    seed: u64,
    outcomes: &dyn Outcomes<E>,
    observer: &dyn Observer,
) -> Result<Choice, E> {
    let points = grid.points(recipe);
    let done = AtomicU64::new(0);
    let total = (points.len() * splits.len()) as u64;
    // The largest maps first, so that none is left for the end.
    let mut tasks: Vec<(usize, usize)> =
        (0..points.len()).flat_map(|point| (0..splits.len()).map(move |fold| (point, fold))).collect();
    tasks.sort_by_key(|&(point, _)| std::cmp::Reverse(points[point].units));
    let outcome = |&(point, fold): &(usize, usize)| {
        let (at, split) = (&points[point], &splits[fold]);
        let outcome = if let Some(outcome) = outcomes.find(at, fold)? {
            outcome
        } else {
            let outcome = train(recipe, at, pairs, split, seed, observer)?;
            outcomes.keep(at, fold, &outcome)?;
            outcome
        };
        observer.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok(((point, fold), outcome))
    };
    let mut found = tasks.par_iter().with_max_len(1).map(outcome).collect::<Result<Vec<_>, E>>()?;
    found.sort_by_key(|&(task, _)| task);
    let choices = found.chunks(splits.len()).zip(&points).filter_map(|(folds, &point)| best_epoch(point, folds));
    let share = |choice: &Choice| {
        if recipe.loss.is_max_margin() { choice.test_loss / choice.point.margin } else { choice.test_loss }
    };
    choices.min_by(|a, b| share(a).total_cmp(&share(b))).ok_or_else(|| {
        let learning_rate = grid.learning_rates.iter().copied().fold(f64::INFINITY, f64::min);
        MapError::AllDiverged { learning_rate }.into()
    })
}

fn train(
    recipe: &Recipe,
    point: &Point,
    pairs: &Pairs<'_>,
    split: &Split,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Outcome, MapError> {
    let mut map = recipe.start(point, pairs.dx, pairs.dy, seed);
    let options = recipe.options(point, recipe.epochs, seed, Pieces::InTurn);
    let watch = |_: &Epoch, _: &Map| if observer.cancelled() { Err(MapError::Interrupted) } else { Ok(()) };
    match fit(&mut map, pairs, &split.train, &split.test, &options, watch) {
        Ok(curve) => {
            let losses = curve.iter().map(|epoch| (epoch.train_loss, epoch.test_loss.unwrap_or(f64::NAN)));
            Ok(Outcome::Losses(losses.collect()))
        }
        Err(MapError::Diverged { epoch, .. }) => Ok(Outcome::Diverged(epoch)),
        Err(error) => Err(error),
    }
}

/// The epoch with the smallest test loss, averaged over folds. None if a fold diverged.
fn best_epoch(point: Point, folds: &[((usize, usize), Outcome)]) -> Option<Choice> {
    let mut sums: Vec<f64> = Vec::new();
    for (_, outcome) in folds {
        let Outcome::Losses(losses) = outcome else { return None };
        sums.resize(losses.len(), 0.0);
        sums.iter_mut().zip(losses).for_each(|(sum, (_, test))| *sum += test);
    }
    let means = sums.iter().map(|sum| sum / folds.len() as f64).enumerate();
    means.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(epoch, test_loss)| Choice { point, epochs: epoch + 1, test_loss })
}
