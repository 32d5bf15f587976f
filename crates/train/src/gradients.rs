//! Gradients against finite differences, for every depth, activation and loss.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::fit::{Trainer, batch_of};
use crate::{Activation, Classes, FitOptions, Init, Loss, Map, Optimizer, Pairs, Pieces, widths};

const LOSSES: [Loss; 5] =
    [Loss::Mse, Loss::Cosine, Loss::MaxMargin(1.0), Loss::MaxMarginTarget(1.0), Loss::HingeRank(0.5)];
const PART: u64 = 3;

fn normal(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| random.sample(rand_distr::StandardNormal)).collect()
}

fn loss_of(map: &Map<f64>, pairs: &Pairs<'_, f64>, rows: &[u32], options: &FitOptions) -> f64 {
    let x: Vec<f64> = rows.iter().flat_map(|&i| &pairs.x[i as usize * pairs.dx..][..pairs.dx]).copied().collect();
    let mapped = map.apply(&x, Pieces::InTurn);
    options.loss.evaluate(&batch_of(pairs, rows, &mapped, options.seed, PART), None, Pieces::InTurn) / rows.len() as f64
}

/// A step of gradient descent at rate 1 takes the gradient away from the weights.
fn gradient(map: &Map<f64>, pairs: &Pairs<'_, f64>, rows: &[u32], options: &FitOptions) -> Vec<f64> {
    let mut after = map.clone();
    Trainer::new(map, options, rows.len()).step(&mut after, pairs, rows, PART);
    let numbers = |map: &Map<f64>| map.layers().iter().flat_map(|l| [&l.weights[..], &l.biases].concat()).collect();
    let (before, after): (Vec<f64>, Vec<f64>) = (numbers(map), numbers(&after));
    before.iter().zip(after).map(|(before, after)| before - after).collect()
}

/// Weight or bias `place` of all, in the order of [`gradient`].
fn number_at(map: &mut Map<f64>, mut place: usize) -> &mut f64 {
    for layer in map.layers_mut() {
        let (weights, biases) = (layer.weights.len(), layer.biases.len());
        if place < weights + biases {
            return if place < weights { &mut layer.weights[place] } else { &mut layer.biases[place - weights] };
        }
        place -= weights + biases;
    }
    unreachable!("the place is one of the map's")
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let (dx, dy, n) = (5, 4, 9);
    let (x, y) = (normal(n * dx, 1), normal(n * dy, 2));
    let labels: Vec<_> = (0..n).map(|i| vec![(i % 3).to_string()]).collect();
    let of_labels = Classes::new(&labels);
    for hidden in [0, 1, 2, 3, 5, 8] {
        for (activation, _) in Activation::ALL {
            for loss in LOSSES {
                for classes in [None, Some(&of_labels)] {
                    check(hidden, activation, loss, &Pairs { x: &x, dx, y: &y, dy, classes });
                }
            }
        }
    }
}

fn check(hidden: usize, activation: Activation, loss: Loss, pairs: &Pairs<'_, f64>) {
    let rows = [8, 1, 0, 5, 3, 2];
    let options = FitOptions { optimizer: Optimizer::Sgd, ..FitOptions::new(loss, 1.0, 1) };
    let sizes = widths(pairs.dx, hidden, 6, pairs.dy);
    // So that what comes in still shows after eight layers.
    let bound = if activation == Activation::Sigmoid { 2.5 } else { 0.9 };
    let map = Map::<f64>::random(&sizes, activation, Init::Uniform(bound), 0.1, 11);
    let found = gradient(&map, pairs, &rows, &options);
    assert!(found.iter().any(|g| g.abs() > 1e-3), "{hidden} {activation:?} {loss:?}: no gradient to check");
    let step = 1e-6;
    for (place, found) in found.into_iter().enumerate() {
        let mut moved = map.clone();
        let mut at = |by: f64| {
            *number_at(&mut moved, place) += by;
            loss_of(&moved, pairs, &rows, &options)
        };
        let expected = (at(step) - at(-2.0 * step)) / (2.0 * step);
        // The differences are good to about 1e-9; a unit at the bend of relu would show as an error of its whole slope.
        let close = (found - expected).abs() <= 1e-7 * (1.0 + expected.abs());
        assert!(close, "{hidden} {activation:?} {loss:?}, number {place}: {found}, expected {expected}");
    }
}

#[test]
fn dropout_has_the_gradient_of_the_units_that_are_left() {
    let (dx, dy, n) = (4, 3, 5);
    let (x, y) = (normal(n * dx, 3), normal(n * dy, 4));
    let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
    let rows = [0, 1, 2, 3, 4];
    let options = FitOptions { optimizer: Optimizer::Sgd, dropout: 0.5, ..FitOptions::new(Loss::Mse, 1.0, 1) };
    for (activation, _) in Activation::ALL {
        let map = Map::<f64>::random(&[dx, 40, dy], activation, Init::Uniform(0.9), 0.1, 5);
        let mut trainer = Trainer::new(&map, &options, n);
        let total = trainer.step(&mut map.clone(), &pairs, &rows, PART);
        // The mask is that of the part, so a changed weight changes the loss by its gradient under the same mask.
        let found = gradient(&map, &pairs, &rows, &options);
        let step = 1e-6;
        for (place, found) in found.into_iter().enumerate() {
            let mut moved = map.clone();
            *number_at(&mut moved, place) += step;
            let expected = (trainer.step(&mut moved, &pairs, &rows, PART) - total) / (n as f64 * step);
            assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{activation:?} {place}");
        }
        let kept = trainer.masks[0].iter().filter(|&&scale| scale == 2.0).count();
        let dropped = trainer.masks[0].iter().filter(|&&scale| scale == 0.0).count();
        assert_eq!(kept + dropped, 200);
        // Six standard deviations around one half.
        assert!((58..142).contains(&kept), "{kept} of 200 units kept");
    }
}
