//! Training as a whole: the same bits for any number of threads, and what it does with what cannot be trained on.

use mnno_exact::{Metric, Observer};
use mnno_measures::SelfRule;
use mnno_train::experiment::{Plan, Scheme, measure, train};
use mnno_train::{
    Activation, Choice, Epoch, FitOptions, Grid, Init, Lambda, Layer, Loss, Map, MapError, Neighbouring, Optimizer,
    Outcome, Outcomes, Pairs, Pieces, Point, Recipe, fit, of_test_rows, select, widths,
};
use rayon::ThreadPool;

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Irregular numbers around 0, the same everywhere.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Rows `[n, dy]` that depend on rows `[n, dx]`, but not only.
fn targets(x: &[f32], dx: usize, dy: usize) -> Vec<f32> {
    let noise = numbers(x.len() / dx * dy, 99);
    let of = |i: usize, column: usize| x[i / dy * dx + column % dx];
    (0..noise.len()).map(|i| of(i, i) * of(i, i + 1) + of(i, 0) + 0.3 * noise[i]).collect()
}

fn bits(map: &Map) -> Vec<u32> {
    map.layers().iter().flat_map(|layer| layer.weights.iter().chain(&layer.biases)).map(|w| w.to_bits()).collect()
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (n, dx, dy) = (203, 7, 150);
    let x = numbers(n * dx, 1);
    let y = targets(&x, dx, dy);
    let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
    let rows: Vec<u32> = (0..n as u32).collect();
    for (loss, optimizer, dropout) in [
        (Loss::Mse, Optimizer::RmsProp, 0.0),
        (Loss::Cosine, Optimizer::Adam, 0.25),
        (Loss::MaxMargin(1.0), Optimizer::AdaGrad, 0.25),
        (Loss::MaxMarginTarget(1.0), Optimizer::Sgd, 0.0),
        (Loss::HingeRank(0.1), Optimizer::RmsProp, 0.0),
    ] {
        let trained = |threads: usize, pieces| {
            let options = FitOptions { optimizer, dropout, pieces, seed: 4, ..FitOptions::new(loss, 0.003, 4) };
            let mut map = Map::random(&widths(dx, 2, 130, dy), Activation::Relu, Init::GlorotUniform, 0.1, 4);
            let mut fitted = || fit(&mut map, &pairs, &rows[..150], &rows[150..], &options, |_, _| Ok(()));
            let curve = pool(threads).install(&mut fitted).unwrap();
            (bits(&map), curve)
        };
        let (expected, curve) = trained(1, Pieces::InTurn);
        assert!(curve[3].train_loss < curve[0].train_loss, "{loss:?} does not fall: {curve:?}");
        for threads in [1, 2, 3, 5] {
            let (found, of_threads) = trained(threads, Pieces::Parallel);
            assert!(found == expected, "{loss:?} {optimizer:?}: other weights on {threads} threads");
            assert_eq!(of_threads, curve);
        }
    }
}

#[test]
fn the_seed_and_every_option_matter() {
    let (n, dx, dy) = (64, 5, 6);
    let x = numbers(n * dx, 1);
    let y = targets(&x, dx, dy);
    let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
    let rows: Vec<u32> = (0..n as u32).collect();
    let trained = |options: FitOptions| {
        let mut map = Map::random(&[dx, 8, dy], Activation::Tanh, Init::GlorotUniform, 0.0, 1);
        fit(&mut map, &pairs, &rows, &[], &options, |_, _| Ok(())).unwrap();
        bits(&map)
    };
    let base = FitOptions { batch: 16, ..FitOptions::new(Loss::Mse, 0.01, 2) };
    let expected = trained(base);
    assert_eq!(trained(base), expected);
    for other in [
        FitOptions { seed: 1, ..base },
        FitOptions { batch: 17, ..base },
        FitOptions { dropout: 0.5, ..base },
        FitOptions { learning_rate: 0.02, ..base },
        FitOptions { epochs: 3, ..base },
        FitOptions { loss: Loss::Cosine, ..base },
        FitOptions { optimizer: Optimizer::Adam, ..base },
    ] {
        assert_ne!(trained(other), expected, "{other:?}");
    }
}

#[test]
fn early_stopping_keeps_the_weights_of_the_smallest_test_loss() {
    let (n, dx, dy) = (60, 6, 4);
    // Nothing can be learned here that holds for other rows.
    let (x, y) = (numbers(n * dx, 1), numbers(n * dy, 2));
    let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
    let rows: Vec<u32> = (0..n as u32).collect();
    let options = FitOptions { patience: Some(3), ..FitOptions::new(Loss::Mse, 0.01, 300) };
    let mut map = Map::random(&[dx, 64, dy], Activation::Relu, Init::GlorotUniform, 0.0, 1);
    let mut seen = Vec::new();
    let watch = |_: &Epoch, map: &Map| {
        seen.push(bits(map));
        Ok(())
    };
    let curve = fit(&mut map, &pairs, &rows[..30], &rows[30..], &options, watch).unwrap();
    let losses: Vec<f64> = curve.iter().map(|epoch| epoch.test_loss.unwrap()).collect();
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    assert!(curve.len() < 300, "training did not stop");
    assert_eq!(curve.len(), best + 4);
    assert!(bits(&map) == seen[best]);
}

#[test]
fn a_loss_that_is_not_finite_names_the_epoch_and_the_learning_rate() {
    let x = numbers(64 * 3, 1);
    let y: Vec<f32> = targets(&x, 3, 2).iter().map(|y| y * 1e18).collect();
    let pairs = Pairs { x: &x, dx: 3, y: &y, dy: 2, classes: None };
    let rows: Vec<u32> = (0..64).collect();
    let options = FitOptions { optimizer: Optimizer::Sgd, ..FitOptions::new(Loss::Mse, 1e6, 50) };
    let mut map = Map::random(&[3, 8, 2], Activation::Relu, Init::GlorotUniform, 0.0, 1);
    let failed = fit(&mut map, &pairs, &rows, &[], &options, |_, _| Ok(())).unwrap_err();
    let MapError::Diverged { epoch, learning_rate } = failed else { panic!("{failed:?}") };
    assert!((1..=50).contains(&epoch) && learning_rate == 1e6);
    assert_eq!(failed.to_string(), format!("the loss is not finite in epoch {epoch} at learning rate 1000000"));
}

#[test]
fn weights_that_are_no_map_are_refused() {
    let layer = |outputs: usize, inputs: usize, fill: f32| Layer {
        weights: vec![fill; outputs * inputs],
        biases: vec![0.0; outputs],
    };
    let of = |layers| Map::from_layers(layers, Activation::Relu);
    assert_eq!(of(vec![]).unwrap_err(), MapError::Layers);
    assert_eq!(of(vec![layer(3, 2, 0.5), layer(1, 2, 0.5)]).unwrap_err(), MapError::Layers);
    assert_eq!(of(vec![layer(2, 2, 0.5); 10]).unwrap_err(), MapError::Layers);
    let infinite = of(vec![layer(3, 2, 0.5), layer(1, 3, f32::INFINITY)]).unwrap_err();
    assert_eq!(infinite, MapError::NonFiniteWeight { layer: 1, value: f64::INFINITY });
    assert!(matches!(of(vec![layer(3, 2, f32::NAN)]).unwrap_err(), MapError::NonFiniteWeight { layer: 0, .. }));
    let rows = mnno_exact::SliceRows::new(&[1.0, 2.0, 3.0], 3);
    let map = of(vec![layer(3, 2, 0.5)]).unwrap();
    assert_eq!(map.apply_rows(&rows, Pieces::InTurn, &()), Err(MapError::Dimensions { rows: 3, map: 2 }));
    let rows = mnno_exact::SliceRows::new(&[0.0, 0.0, 3.0, 3.0], 2);
    let huge = of(vec![layer(1, 2, f32::MAX)]).unwrap();
    assert_eq!(huge.apply_rows(&rows, Pieces::Parallel, &Cancelled), Err(MapError::Interrupted));
    assert_eq!(huge.apply_rows(&rows, Pieces::InTurn, &()), Err(MapError::Overflow { row: 1 }));
}

fn recipe(hidden: usize, loss: Loss) -> Recipe {
    Recipe {
        hidden,
        activation: Activation::Relu,
        init: Init::GlorotUniform,
        bias: 0.0,
        loss,
        optimizer: Optimizer::RmsProp,
        epochs: 6,
        batch: 32,
    }
}

#[test]
fn the_grid_is_that_of_the_paper_where_it_matters() {
    let grid = Grid { dropouts: vec![0.0, 0.25, 0.5, 0.75], ..Grid::paper() };
    let points = |hidden, loss| grid.points(&recipe(hidden, loss)).len();
    assert_eq!(points(0, Loss::Mse), 3);
    assert_eq!(points(1, Loss::Mse), 60);
    assert_eq!(points(0, Loss::MaxMargin(1.0)), 15);
    assert_eq!(points(3, Loss::MaxMarginTarget(1.0)), 300);
    assert_eq!(points(1, Loss::HingeRank(0.1)), 60);
    assert_eq!(Grid::paper().points(&recipe(1, Loss::Mse)).len(), 15);
}

/// Outcomes that were kept beforehand.
struct Kept(Vec<(Point, usize, Outcome)>);

impl Outcomes<MapError> for Kept {
    fn find(&self, point: &Point, fold: usize) -> Result<Option<Outcome>, MapError> {
        Ok(self.0.iter().find(|(p, f, _)| p == point && *f == fold).map(|(_, _, outcome)| outcome.clone()))
    }

    fn keep(&self, _: &Point, _: usize, _: &Outcome) -> Result<(), MapError> {
        panic!("everything was kept before");
    }
}

#[test]
fn the_point_and_epoch_of_the_smallest_mean_test_loss_are_chosen() {
    let (x, y) = (numbers(20 * 2, 1), numbers(20 * 2, 2));
    let pairs = Pairs { x: &x, dx: 2, y: &y, dy: 2, classes: None };
    let splits = Plan::of_folds(20, 2, false, 0).unwrap().splits;
    let rates = [0.1, 0.01, 0.001];
    let grid = Grid { learning_rates: rates.to_vec(), margins: vec![1.0, 4.0], ..Grid::paper() };
    let point = |learning_rate, margin| Point { learning_rate, units: 0, dropout: 0.0, margin };
    let chosen = |loss: Loss, kept: Vec<(f64, f64, [Outcome; 2])>| {
        let outcomes = kept.into_iter().flat_map(|(rate, margin, folds)| {
            folds.into_iter().enumerate().map(move |(fold, outcome)| (point(rate, margin), fold, outcome))
        });
        select(&recipe(0, loss), &grid, &pairs, &splits, 0, &Kept(outcomes.collect()), &())
    };
    let tests = |losses: &[f64]| Outcome::Losses(losses.iter().map(|&test| (0.0, test)).collect());
    // The second has the smallest loss of a fold, the first the smallest mean, the third does not stay finite.
    let choice = chosen(
        Loss::Mse,
        vec![
            (0.1, 0.0, [tests(&[5.0, 3.0, 4.0]), tests(&[5.0, 2.0, 1.5])]),
            (0.01, 0.0, [tests(&[9.0, 9.0, 9.0]), tests(&[0.1, 0.1, 0.1])]),
            (0.001, 0.0, [tests(&[0.0, 0.0, 0.0]), Outcome::Diverged(2)]),
        ],
    );
    assert_eq!(choice, Ok(Choice { point: point(0.1, 0.0), epochs: 2, test_loss: 2.5 }));
    // Of margins, the share that is left of them counts: 0.9 of 1, but 2 of 4.
    let kept = rates
        .into_iter()
        .flat_map(|rate| [(rate, 1.0, [tests(&[0.9]), tests(&[0.9])]), (rate, 4.0, [tests(&[2.0]), tests(&[2.0])])]);
    assert_eq!(chosen(Loss::MaxMargin(1.0), kept.collect()).unwrap().point, point(0.1, 4.0));
    let diverged = rates.map(|rate| (rate, 0.0, [Outcome::Diverged(1), tests(&[1.0])]));
    assert_eq!(chosen(Loss::Mse, diverged.into()), Err(MapError::AllDiverged { learning_rate: 0.001 }));
}

#[test]
fn nested_selection_sees_nothing_of_the_fold_that_is_reported() {
    let plan = Plan::of_folds(50, 5, true, 3).unwrap();
    for (split, inner) in plan.splits.iter().zip(&plan.inner) {
        assert_eq!(inner.len(), 5);
        for fold in inner {
            assert!(fold.train.iter().chain(&fold.test).all(|row| split.train.contains(row)));
        }
    }
    let runs = Plan::of_runs(40, 50, 3, 4, 7).unwrap();
    assert_eq!(runs.seeds, [7, 8, 9]);
    assert!(runs.splits.iter().all(|split| split.test == (40..50).collect::<Vec<u32>>()));
    assert!(runs.inner[0].iter().all(|fold| fold.train.iter().chain(&fold.test).all(|&row| row < 40)));
    assert!(matches!(Plan::of_folds(4, 5, false, 0), Err(MapError::Rows { rows: 4, needed: 5 })));
    assert!(matches!(Plan::of_runs(40, 40, 3, 4, 7), Err(MapError::Rows { rows: 0, needed: 1 })));
}

struct Cancelled;

impl Observer for Cancelled {
    fn cancelled(&self) -> bool {
        true
    }
}

/// The targets are X once more, so a map that reaches them keeps all neighbours.
#[test]
fn a_map_to_the_same_space_shares_all_neighbours() {
    let (n, d) = (120, 6);
    let x = numbers(n * d, 5);
    let pairs = Pairs { x: &x, dx: d, y: &x, dy: d, classes: None };
    let plan = Plan::of_folds(n, 3, false, 0).unwrap();
    let threads = pool(2);
    let neighbouring =
        Neighbouring { k: 5, rule: SelfRule::Exclude, threads: &threads, memory: 1 << 30, observer: &() };
    let found = of_test_rows(&pairs, &plan.splits, &[Metric::Cosine, Metric::Euclidean], &neighbouring).unwrap();
    let scheme = Scheme::Ridge(Lambda::Given(0.0));
    let none = |_: Option<usize>| &() as &dyn Outcomes<MapError>;
    let trained = |observer: &dyn Observer| train::<MapError>(&scheme, &Grid::paper(), &pairs, &plan, &none, observer);
    assert!(matches!(trained(&Cancelled), Err(MapError::Interrupted)));
    let cell = trained(&()).unwrap();
    assert!(cell.runs.iter().all(|run| run.r2.unwrap() > 0.999_999 && run.lambda == Some(0.0)));
    for of in measure(&cell, d, &plan, &found, &[1, 5], &neighbouring).unwrap() {
        let mean = of.mean();
        assert!(mean.x_fx > 0.999 && mean.y_fx == mean.x_fx && mean.x_y == 1.0, "{of:?}");
        assert!((mean.chance - of.k as f64 / 39.0).abs() < 1e-12);
        assert_eq!(of.rows_x_fx.len(), n);
    }
}

/// Each share is a count by the number of runs: rows with the same count are tied, whatever the order of their counts.
#[test]
fn rows_of_several_runs_tie_as_their_counts_do() {
    let (train_rows, n, dx, dy, runs) = (60, 160, 6, 5, 6);
    let x = numbers(n * dx, 5);
    let y = targets(&x, dx, dy);
    let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
    let plan = Plan::of_runs(train_rows, n, runs, 2, 0).unwrap();
    let threads = pool(2);
    let neighbouring =
        Neighbouring { k: 7, rule: SelfRule::Exclude, threads: &threads, memory: 1 << 30, observer: &() };
    let found = of_test_rows(&pairs, &plan.splits, &[Metric::Cosine], &neighbouring).unwrap();
    let recipe = Recipe { epochs: 3, ..recipe(1, Loss::Mse) };
    let grid = Grid { learning_rates: vec![0.01], units: vec![8], ..Grid::paper() };
    let none = |_: Option<usize>| &() as &dyn Outcomes<MapError>;
    let cell = train::<MapError>(&Scheme::Trained(recipe), &grid, &pairs, &plan, &none, &()).unwrap();
    let of = &measure(&cell, dy, &plan, &found, &[7], &neighbouring).unwrap()[0];
    let shares = of.rows_x_fx.iter().chain(&of.rows_y_fx);
    let is_share = |share: &f64| (share * runs as f64).round() / runs as f64 == *share;
    assert!(shares.clone().all(is_share));
    // Maps of other seeds, or the counts of all would be multiples.
    assert!(shares.clone().any(|share| share.fract() != 0.0));
    assert_eq!((of.rows_x_fx.len(), of.splits.len()), (n - train_rows, runs));
}

#[test]
fn targets_that_are_all_equal_have_no_r2() {
    let (n, d) = (49, 4);
    let x = numbers(n * d, 5);
    let y = vec![0.1; n * 2];
    let pairs = Pairs { x: &x, dx: d, y: &y, dy: 2, classes: None };
    let plan = Plan::of_folds(n, 3, false, 0).unwrap();
    let none = |_: Option<usize>| &() as &dyn Outcomes<MapError>;
    let scheme = Scheme::Ridge(Lambda::Given(1.0));
    let cell = train::<MapError>(&scheme, &Grid::paper(), &pairs, &plan, &none, &()).unwrap();
    assert!(cell.runs.iter().all(|run| run.r2.is_none() && run.mse < 1e-9), "{:?}", cell.runs);
}

#[test]
fn layers_that_make_no_map_are_refused() {
    let layer = |outputs: usize, weights: usize| Layer { weights: vec![0.5_f32; weights], biases: vec![0.0; outputs] };
    for layers in [
        vec![],
        vec![layer(0, 0)],
        vec![layer(2, 0)],
        vec![layer(0, 4)],
        vec![layer(2, 5)],
        vec![layer(2, 4), layer(0, 0)],
        vec![layer(0, 0), layer(2, 4)],
        vec![layer(2, 4), layer(2, 6)],
        vec![layer(1, 1); 10],
    ] {
        assert_eq!(Map::from_layers(layers.clone(), Activation::Relu).err(), Some(MapError::Layers), "{layers:?}");
    }
    assert!(Map::from_layers(vec![layer(2, 4), layer(3, 6)], Activation::Relu).is_ok());
}
