//! Experiment 1: do mapped rows have the neighbours of their targets, or still those of what was mapped?

use mnno_measures::Overlap;
use rayon::prelude::*;

use crate::fit::gather;
use crate::{
    Choice, Epoch, ExperimentError, FitOptions, Grid, Lambda, Map, MapError, Neighbourhoods, Neighbouring, Outcomes,
    Pairs, Pieces, Recipe, Split, fit, folds, ridge, select,
};

/// How a map is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// By training, at a point of the grid that is chosen by cross-validation.
    Trained(Recipe),
    /// By ridge regression.
    Ridge(Lambda),
}

/// What maps are trained and tested on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One map is trained for each, and tested on its test rows.
    pub splits: Vec<Split>,
    /// The seed of each.
    pub seeds: Vec<u64>,
    /// Folds within the training rows of each split, on which its point of the grid is chosen. None where it is chosen on the splits
    /// themselves, one for all, as in the paper.
    pub inner: Vec<Vec<Split>>,
}

impl Plan {
    /// `count` folds of `n` rows, each of them tested on once. The point of the grid is chosen on these folds, or with `nested` on as many
    /// folds within the training rows of each.
    ///
    /// # Errors
    /// [`MapError::Rows`] if there are too few rows for so many folds.
    pub fn of_folds(n: usize, count: usize, nested: bool, seed: u64) -> Result<Self, MapError> {
        let rows: Vec<u32> = (0..n as u32).collect();
        let splits = folds(&rows, count, seed)?;
        let inner = if nested {
            splits.iter().map(|split| folds(&split.train, count, seed)).collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        Ok(Self { seeds: vec![seed; count], splits, inner })
    }

    /// The first `train` of `n` rows to train on and the others to test on, by `runs` maps with seeds of their own. The point of the grid
    /// is chosen on `count` folds of the training rows.
    ///
    /// # Errors
    /// [`MapError::Rows`] if there are too few training rows for so many folds, or no test rows.
    pub fn of_runs(train: usize, n: usize, runs: usize, count: usize, seed: u64) -> Result<Self, MapError> {
        if train >= n {
            return Err(MapError::Rows { rows: 0, needed: 1 });
        }
        let split = Split { train: (0..train as u32).collect(), test: (train as u32..n as u32).collect() };
        let inner = vec![folds(&split.train, count, seed)?];
        let seeds = (0..runs as u64).map(|run| seed.wrapping_add(run)).collect();
        Ok(Self { splits: vec![split; runs], seeds, inner })
    }
}

/// One map, trained and mapped for each split.
#[derive(Debug)]
pub struct Cell {
    /// In the order of the splits.
    pub runs: Vec<Run>,
}

/// The map of a split.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it was found.
    pub choice: Option<Choice>,
    /// The lambda, if it is a ridge regression.
    pub lambda: Option<f64>,
    /// The test rows, mapped, `[n, dy]`.
    pub mapped: Vec<f32>,
    /// Mean of `1/2 |f(x) - y|^2` over the test rows.
    pub mse: f64,
    /// `1 - sum |f(x) - y|^2 / sum |mean(y) - y|^2` over the test rows; none if all targets are equal.
    pub r2: Option<f64>,
}

/// How the map of a split is found, once that is chosen.
enum Way<'a> {
    Trained(&'a Recipe, Choice),
    Ridge(Lambda),
}

/// Chooses a point of the grid and trains a map for every split, on the current thread pool. `outcomes` tells where what the choice
/// for a split takes is kept; it is called with none where the choice is one for all.
///
/// # Errors
/// [`MapError`], and what `outcomes` says.
pub fn train<'a, E: From<MapError> + Send + 'a>(
    scheme: &Scheme,
    grid: &Grid,
    pairs: &Pairs<'_>,
    plan: &Plan,
    outcomes: &dyn Fn(Option<usize>) -> &'a dyn Outcomes<E>,
    observer: &dyn mnno_exact::Observer,
) -> Result<Cell, E> {
    let choose = |splits: &[Split], number: Option<usize>| {
        Ok::<_, E>(match scheme {
            Scheme::Ridge(lambda) => Way::Ridge(*lambda),
            Scheme::Trained(recipe) => {
                Way::Trained(recipe, select(recipe, grid, pairs, splits, plan.seeds[0], outcomes(number), observer)?)
            }
        })
    };
    let ways = match &plan.inner[..] {
        [] => vec![choose(&plan.splits, None)?],
        [one] => vec![choose(one, None)?],
        several => {
            several.iter().enumerate().map(|(number, splits)| choose(splits, Some(number))).collect::<Result<_, E>>()?
        }
    };
    let mut splits: Vec<_> = plan.splits.iter().zip(&plan.seeds).enumerate().collect();
    // A closed form has no seed: of equal splits it is computed once.
    let is_repeated = matches!(scheme, Scheme::Ridge(_)) && plan.splits.windows(2).all(|pair| pair[0] == pair[1]);
    if is_repeated {
        splits.truncate(1);
    }
    let mut runs = splits
        .into_par_iter()
        .with_max_len(1)
        .map(|(number, (split, &seed))| {
            if observer.cancelled() {
                return Err(MapError::Interrupted);
            }
            let (map, choice, lambda) = match &ways[number % ways.len()] {
                Way::Ridge(lambda) => {
                    let found = ridge(pairs, &split.train, *lambda)?;
                    (found.map, None, Some(found.lambda))
                }
                Way::Trained(recipe, choice) => {
                    let mut map = recipe.start(&choice.point, pairs.dx, pairs.dy, seed);
                    let options = recipe.options(&choice.point, choice.epochs, seed, Pieces::InTurn);
                    let watch = |_: &Epoch, _: &Map| {
                        if observer.cancelled() { Err(MapError::Interrupted) } else { Ok(()) }
                    };
                    fit(&mut map, pairs, &split.train, &[], &options, watch)?;
                    (map, Some(*choice), None)
                }
            };
            let mapped = map.apply(&gather(pairs.x, pairs.dx, &split.test), Pieces::InTurn);
            if let Some(place) = mapped.iter().position(|value| !value.is_finite()) {
                return Err(MapError::Overflow { row: split.test[place / pairs.dy] as usize });
            }
            let (mse, r2) = errors(&mapped, &gather(pairs.y, pairs.dy, &split.test), pairs.dy);
            Ok(Run { choice, lambda, mapped, mse, r2 })
        })
        .collect::<Result<Vec<_>, MapError>>()?;
    if is_repeated {
        runs = vec![runs.remove(0); plan.splits.len()];
    }
    Ok(Cell { runs })
}

/// The mean of `1/2 |f - y|^2`, and R2 over all dimensions together.
fn errors(mapped: &[f32], targets: &[f32], dy: usize) -> (f64, Option<f64>) {
    let n = (targets.len() / dy) as f64;
    let mut means = vec![0.0; dy];
    for row in targets.chunks_exact(dy) {
        means.iter_mut().zip(row).for_each(|(mean, &y)| *mean += f64::from(y) / n);
    }
    let (mut left, mut spread) = (0.0, 0.0);
    for (f, y) in mapped.chunks_exact(dy).zip(targets.chunks_exact(dy)) {
        for ((&f, &y), mean) in f.iter().zip(y).zip(&means) {
            left += (f64::from(f) - f64::from(y)).powi(2);
            spread += (mean - f64::from(y)).powi(2);
        }
    }
    // Of equal targets, a mean that was rounded would leave a spread.
    let vary = targets.chunks_exact(dy).any(|row| row != &targets[..dy]);
    (0.5 * left / n, vary.then(|| 1.0 - left / spread))
}

/// The overlaps of a cell under one metric, for one k.
#[derive(Debug)]
pub struct Measured {
    /// Which of the neighbourhoods' metrics.
    pub metric: mnno_exact::Metric,
    /// Neighbours of a row.
    pub k: usize,
    /// Of each split, in their order.
    pub splits: Vec<Overlaps>,
    /// For each test row, the neighbours shared by X and f(X); the mean of its runs where there are several.
    pub rows_x_fx: Vec<f64>,
    /// Likewise of Y and f(X).
    pub rows_y_fx: Vec<f64>,
}

/// What a map, or the mean of several, came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlaps {
    /// mNNO(X, f(X)).
    pub x_fx: f64,
    /// mNNO(Y, f(X)).
    pub y_fx: f64,
    /// mNNO(X, Y).
    pub x_y: f64,
    /// What mNNO is by chance.
    pub chance: f64,
    /// The shares of test rows whose last neighbour in X, in Y and in f(X) the tie rule chose.
    pub tied: [f64; 3],
}

impl Measured {
    /// The means over splits.
    pub fn mean(&self) -> Overlaps {
        let n = self.splits.len() as f64;
        let mean = |value: &dyn Fn(&Overlaps) -> f64| self.splits.iter().map(value).sum::<f64>() / n;
        Overlaps {
            x_fx: mean(&|of| of.x_fx),
            y_fx: mean(&|of| of.y_fx),
            x_y: mean(&|of| of.x_y),
            chance: mean(&|of| of.chance),
            tied: [0, 1, 2].map(|space| mean(&|of| of.tied[space])),
        }
    }
}

/// Measures a cell for every metric of `neighbourhoods` (those of each split's test rows) and every k.
///
/// # Errors
/// The search's: under the cosine, a row that is mapped to zero has no neighbours.
///
/// # Panics
/// If a k is more than the lists have places.
pub fn measure(
    cell: &Cell,
    dy: usize,
    plan: &Plan,
    neighbourhoods: &[Vec<Neighbourhoods>],
    ks: &[usize],
    neighbouring: &Neighbouring<'_>,
) -> Result<Vec<Measured>, ExperimentError> {
    let same_rows = plan.splits.windows(2).all(|pair| pair[0].test == pair[1].test);
    let mut measured = Vec::new();
    for metric in 0..neighbourhoods[0].len() {
        let mut of_runs = Vec::with_capacity(cell.runs.len());
        for ((run, found), split) in cell.runs.iter().zip(neighbourhoods).zip(&plan.splits) {
            let space = &found[metric];
            let lists = neighbouring.lists(space.metric(), crate::Space::Mapped, &run.mapped, dy);
            of_runs.push((lists.map_err(|error| error.renumbered(&split.test))?, space));
        }
        for &k in ks {
            let mut of_k = Measured {
                metric: neighbourhoods[0][metric].metric(),
                k,
                splits: Vec::new(),
                rows_x_fx: Vec::new(),
                rows_y_fx: Vec::new(),
            };
            for (lists, space) in &of_runs {
                let [x, y] = space.of_pairs().map(|lists| lists.nearest(k));
                let mapped = lists.nearest(k);
                let (x_fx, y_fx) = (mnno_measures::mnno(&x, &mapped)?, mnno_measures::mnno(&y, &mapped)?);
                of_k.splits.push(Overlaps {
                    x_fx: x_fx.value(),
                    y_fx: y_fx.value(),
                    x_y: mnno_measures::mnno(&x, &y)?.value(),
                    chance: mnno_measures::chance(x.n(), k, neighbouring.rule),
                    tied: [&x, &y, &mapped].map(|lists| lists.tied_rows() as f64 / lists.n() as f64),
                });
                add_rows(&mut of_k.rows_x_fx, &x_fx, same_rows);
                add_rows(&mut of_k.rows_y_fx, &y_fx, same_rows);
            }
            if same_rows {
                // Divided once, so that rows with the same neighbours in all stay tied.
                let runs = cell.runs.len() as f64;
                of_k.rows_x_fx.iter_mut().chain(&mut of_k.rows_y_fx).for_each(|row| *row /= runs);
            }
            measured.push(of_k);
        }
    }
    Ok(measured)
}

/// Appends the rows of a split, or adds them up where all splits have the same.
fn add_rows(rows: &mut Vec<f64>, overlap: &Overlap, same_rows: bool) {
    let counts = overlap.counts().iter().map(|&count| f64::from(count));
    if same_rows {
        rows.resize(overlap.n(), 0.0);
        rows.iter_mut().zip(counts).for_each(|(row, count)| *row += count);
    } else {
        rows.extend(counts);
    }
}

/// What an epoch came to, with overlaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// From 1.
    pub epoch: usize,
    /// As of [`Epoch`].
    pub train_loss: f64,
    /// As of [`Epoch`].
    pub test_loss: Option<f64>,
    /// mNNO(X, f(X)) and mNNO(Y, f(X)) among the training rows.
    pub train: [f64; 2],
    /// mNNO(X, f(X)) and mNNO(Y, f(X)) among the test rows; none without test rows.
    pub test: Option<[f64; 2]>,
}

/// The paper's Figure 2: losses and overlaps by epoch.
#[derive(Clone, Copy)]
pub struct Curve<'a> {
    /// What is mapped.
    pub pairs: &'a Pairs<'a>,
    /// Rows trained on and tested on.
    pub split: &'a Split,
    /// The neighbours of the training rows, and of the test rows if there are any.
    pub neighbourhoods: (&'a Neighbourhoods, Option<&'a Neighbourhoods>),
    /// How neighbours of mapped rows are found.
    pub neighbouring: Neighbouring<'a>,
}

/// Rows with room for what they are mapped to.
struct Mapped<'a> {
    rows: &'a [u32],
    x: Vec<f32>,
    fx: Vec<f32>,
}

impl Curve<'_> {
    /// mNNO(X, f(X)) and mNNO(Y, f(X)) among the training rows and, if there are any, the test rows, on the current thread pool.
    ///
    /// # Errors
    /// The search's: under the cosine, a row that is mapped to zero has no neighbours.
    pub fn overlaps(&self, map: &Map) -> Result<([f64; 2], Option<[f64; 2]>), ExperimentError> {
        let [mut train, mut test] = self.mapped();
        self.overlaps_in(map, &mut train, &mut test)
    }

    /// The training rows and the test rows.
    fn mapped(&self) -> [Mapped<'_>; 2] {
        [&self.split.train, &self.split.test].map(|rows| Mapped {
            rows,
            x: gather(self.pairs.x, self.pairs.dx, rows),
            fx: vec![0.0; rows.len() * self.pairs.dy],
        })
    }

    fn overlaps_in(
        &self,
        map: &Map,
        train: &mut Mapped<'_>,
        test: &mut Mapped<'_>,
    ) -> Result<([f64; 2], Option<[f64; 2]>), ExperimentError> {
        let of = |space: &Neighbourhoods, mapped: &mut Mapped<'_>| {
            map.apply_into(&mapped.x, &mut mapped.fx, Pieces::Parallel);
            let found = space.overlaps(&mapped.fx, self.pairs.dy, &self.neighbouring);
            found.map(|pair| pair.map(|overlap| overlap.value())).map_err(|error| error.renumbered(mapped.rows))
        };
        let (of_train, of_test) = self.neighbourhoods;
        Ok((of(of_train, train)?, of_test.map(|space| of(space, test)).transpose()?))
    }

    /// Trains `map` and measures it after every epoch; `watch` sees each.
    ///
    /// # Errors
    /// [`MapError`] from training, and the search's.
    pub fn fit(
        &self,
        map: &mut Map,
        options: &FitOptions,
        mut watch: impl FnMut(&CurvePoint),
    ) -> Result<Vec<CurvePoint>, ExperimentError> {
        let mut points = Vec::with_capacity(options.epochs);
        let mut failed = None;
        let [mut train, mut test] = self.mapped();
        let fitted = fit(map, self.pairs, &self.split.train, &self.split.test, options, |epoch, map| {
            let Epoch { number, train_loss, test_loss } = *epoch;
            match self.overlaps_in(map, &mut train, &mut test) {
                Ok((train, test)) => {
                    let point = CurvePoint { epoch: number, train_loss, test_loss, train, test };
                    watch(&point);
                    points.push(point);
                    if self.neighbouring.observer.cancelled() { Err(MapError::Interrupted) } else { Ok(()) }
                }
                Err(error) => {
                    failed = Some(error);
                    Err(MapError::Interrupted)
                }
            }
        });
        match (fitted, failed) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(error.into()),
            (Ok(_), None) => Ok(points),
        }
    }
}
