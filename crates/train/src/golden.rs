//! Losses, gradients, update rules and ridge maps against `PyTorch` and scikit-learn: `fixtures/golden/training.json`, which
//! `tools/golden_training.py` makes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fit::Trainer;
use crate::init::{Purpose, stream};
use crate::loss::Batch;
use crate::{Activation, FitOptions, Lambda, Layer, Loss, Map, Optimizer, Pairs, Pieces, ridge};

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/training.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{what}: {found}, expected {expected}");
}

fn map_of(case: &Value, of: &str) -> Map<f64> {
    let of = if of.is_empty() { case } else { &case[of] };
    let layers = of["weights"].as_array().unwrap().iter().zip(of["biases"].as_array().unwrap());
    let layers = layers.map(|(weights, biases)| Layer { weights: numbers(weights), biases: numbers(biases) });
    let named = |(_, name): &&(Activation, &str)| Some(*name) == case["activation"].as_str();
    Map::from_layers(layers.collect(), Activation::ALL.iter().find(named).unwrap().0).unwrap()
}

#[test]
fn losses_and_gradients_are_those_of_pytorch() {
    let golden = golden();
    let cases = golden["gradients"].as_array().unwrap();
    assert!(cases.len() >= 30);
    let mut gradients = 0;
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let loss = Loss::named(case["loss"]["name"].as_str().unwrap(), case["loss"]["margin"].as_f64().unwrap_or(0.0));
        let loss = loss.unwrap();
        let map = map_of(case, "");
        let (x, y, n) = (numbers(&case["x"]), numbers(&case["y"]), 5);
        let pairs = Pairs { x: &x, dx: map.dx(), y: &y, dy: map.dy(), classes: None };
        let rows: Vec<u32> = (0..n).collect();
        let mapped = map.apply(&x, Pieces::InTurn);
        let batch = Batch {
            rows: &rows,
            mapped: &mapped,
            targets: &y,
            dy: map.dy(),
            classes: None,
            random: stream(0, Purpose::Negatives, 0),
        };
        // The negatives are those of the file, and not the first of a random order.
        let negative = |i: usize| case["negatives"].as_array().and_then(|all| all[i].as_u64()).map(|j| j as usize);
        let total: f64 = (0..n as usize).map(|i| loss.of_row(&batch, i, negative(i), None)).sum();
        close(total / f64::from(n), case["value"].as_f64().unwrap(), name);
        if loss.margin().is_some() {
            continue;
        }
        gradients += 1;
        let options = FitOptions { optimizer: Optimizer::Sgd, ..FitOptions::new(loss, 1.0, 1) };
        let mut after = map.clone();
        Trainer::new(&map, &options, rows.len()).step(&mut after, &pairs, &rows, 0);
        let expected = map_of(case, "gradients").layers().to_vec();
        for ((before, after), expected) in map.layers().iter().zip(after.layers()).zip(&expected) {
            let of = |layer: &Layer<f64>| [&layer.weights[..], &layer.biases].concat();
            for ((before, after), expected) in of(before).iter().zip(of(after)).zip(of(expected)) {
                close(before - after, expected, name);
            }
        }
    }
    assert!(gradients >= 10, "{gradients} gradients");
}

#[test]
fn steps_are_those_of_pytorch() {
    let golden = golden();
    let cases = golden["optimizers"].as_array().unwrap();
    assert_eq!(cases.len(), Optimizer::ALL.len());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let optimizer = Optimizer::ALL.iter().find(|(_, other)| *other == name).unwrap().0;
        let mut parameters = numbers(&case["parameters"]);
        let mut memory = optimizer.memory::<f64>(parameters.len());
        for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let rule = optimizer.rule(case["learning_rate"].as_f64().unwrap(), number as u64 + 1);
            let gradient = numbers(&step["gradient"]);
            let kernels = mnno_simd::Kernels::detect();
            rule.update(kernels, &mut parameters, &gradient, &mut memory.mean, &mut memory.square);
            for (&found, expected) in parameters.iter().zip(numbers(&step["parameters"])) {
                close(found, expected, &format!("{name}, step {number}"));
            }
        }
    }
}

#[test]
fn ridge_maps_are_those_of_scikit_learn() {
    let golden = &golden()["ridge"];
    let f32s = |value: &Value| numbers(value).iter().map(|&number| number as f32).collect::<Vec<_>>();
    let (x, y) = (f32s(&golden["x"]), f32s(&golden["y"]));
    let pairs = Pairs { x: &x, dx: 3, y: &y, dy: 2, classes: None };
    let rows: Vec<u32> = (0..12).collect();
    let maps = golden["maps"].as_array().unwrap();
    assert_eq!(maps.len(), 3);
    for expected in maps {
        let lambda = expected["lambda"].as_f64().unwrap();
        let found = ridge(&pairs, &rows, Lambda::Given(lambda)).unwrap().map;
        let expected = [numbers(&expected["weights"]), numbers(&expected["intercept"])].concat();
        let layer = &found.layers()[0];
        for (&found, expected) in layer.weights.iter().chain(&layer.biases).zip(expected) {
            // Weights are rounded to f32.
            assert!(
                (f64::from(found) - expected).abs() <= 1e-7 * (1.0 + expected.abs()),
                "{lambda}: {found}, {expected}"
            );
        }
    }
    let errors = &golden["leave_one_out"];
    for (lambda, expected) in numbers(&errors["lambdas"]).into_iter().zip(numbers(&errors["errors"])) {
        let found = ridge(&pairs, &rows, Lambda::Given(lambda)).unwrap().leave_one_out.unwrap();
        // Theirs is a mean over rows and columns, ours half the sum over the two columns.
        close(found, expected, &format!("leave-one-out at {lambda}"));
    }
}
