//! Training by mini-batches.

use mnno_simd::Kernels;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::init::{Purpose, stream};
use crate::loss::Batch;
use crate::network::multiply_by;
use crate::optimizer::{Memory, Rule};
use crate::product::{Pieces, ROWS, Spare, multiply, transpose, view};
use crate::{Classes, Layer, Loss, Map, MapError, Optimizer, Real};

/// Paired rows, in memory: row `i` of `x` belongs to row `i` of `y`.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a, T = f32> {
    /// `[n, dx]`, row-major.
    pub x: &'a [T],
    /// Its dimensions.
    pub dx: usize,
    /// `[n, dy]`, row-major.
    pub y: &'a [T],
    /// Its dimensions.
    pub dy: usize,
    /// For the losses that need negatives.
    pub classes: Option<&'a Classes>,
}

impl<T> Pairs<'_, T> {
    /// Number of pairs.
    pub fn n(&self) -> usize {
        self.x.len() / self.dx
    }
}

/// How a map is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitOptions {
    /// What is made small.
    pub loss: Loss,
    /// How weights follow the gradient.
    pub optimizer: Optimizer,
    /// How far, at a step.
    pub learning_rate: f64,
    /// Times that every row is seen.
    pub epochs: usize,
    /// Rows of a step.
    pub batch: usize,
    /// The share of hidden units that are left out of a step, in `[0, 1)`; the others are scaled up.
    pub dropout: f64,
    /// Ends training after so many epochs without a smaller test loss, and goes back to the weights that had the smallest. Needs
    /// test rows.
    pub patience: Option<usize>,
    /// Seed of the order of the rows, dropout and negatives.
    pub seed: u64,
    /// Threads of the products; the result does not depend on it.
    pub pieces: Pieces,
}

impl FitOptions {
    /// The paper's: `RMSprop`, batches of 64, no dropout, every epoch.
    pub fn new(loss: Loss, learning_rate: f64, epochs: usize) -> Self {
        Self {
            loss,
            optimizer: Optimizer::RmsProp,
            learning_rate,
            epochs,
            batch: 64,
            dropout: 0.0,
            patience: None,
            seed: 0,
            pieces: Pieces::Parallel,
        }
    }
}

/// What an epoch came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// From 1.
    pub number: usize,
    /// The mean loss of the training rows, each taken when its batch came, before the weights changed.
    pub train_loss: f64,
    /// The mean loss of the test rows after the epoch; none without test rows.
    pub test_loss: Option<f64>,
}

/// Trains `map` on the rows `train` of the pairs; `watch` is called after every epoch, and may end training with an error.
///
/// The result has the same bits for any number of threads.
///
/// # Errors
/// [`MapError::Diverged`] if a loss is not finite, [`MapError::Rows`] without training rows, or what `watch` returns.
///
/// # Panics
/// If the dimensions of the map are not those of the pairs, a row does not exist, the batch is 0, or `dropout` is not in `[0, 1)`.
pub fn fit<T: Real>(
    map: &mut Map<T>,
    pairs: &Pairs<'_, T>,
    train: &[u32],
    test: &[u32],
    options: &FitOptions,
    mut watch: impl FnMut(&Epoch, &Map<T>) -> Result<(), MapError>,
) -> Result<Vec<Epoch>, MapError> {
    assert_eq!((map.dx(), map.dy()), (pairs.dx, pairs.dy), "the map is of other dimensions");
    assert!(options.batch > 0 && (0.0..1.0).contains(&options.dropout), "{options:?}");
    if train.is_empty() {
        return Err(MapError::Rows { rows: 0, needed: 1 });
    }
    let mut trainer = Trainer::new(map, options, train.len());
    let mut order = train.to_vec();
    let mut curve: Vec<Epoch> = Vec::with_capacity(options.epochs);
    let mut best: Option<(f64, usize, Map<T>)> = None;
    for number in 1..=options.epochs {
        order.shuffle(&mut stream(options.seed, Purpose::Order, number as u64));
        let mut total = 0.0;
        for (batch, rows) in order.chunks(options.batch).enumerate() {
            total += trainer.step(map, pairs, rows, ((number as u64) << 32) | batch as u64);
        }
        let train_loss = total / train.len() as f64;
        let test_loss = (!test.is_empty()).then(|| mean_loss(map, pairs, test, options));
        let epoch = Epoch { number, train_loss, test_loss };
        if !train_loss.is_finite() || test_loss.is_some_and(|loss| !loss.is_finite()) {
            return Err(MapError::Diverged { epoch: number, learning_rate: options.learning_rate });
        }
        curve.push(epoch);
        watch(&epoch, map)?;
        if let (Some(patience), Some(loss)) = (options.patience, test_loss) {
            match &best {
                Some((least, at, _)) if loss >= *least => {
                    if number - at >= patience {
                        break;
                    }
                }
                _ => best = Some((loss, number, map.clone())),
            }
        }
    }
    if let Some((_, _, weights)) = best {
        *map = weights;
    }
    Ok(curve)
}

/// The mean loss of some rows, in batches of 64 in their order; the negatives of a batch are the same every time.
pub fn mean_loss<T: Real>(map: &Map<T>, pairs: &Pairs<'_, T>, rows: &[u32], options: &FitOptions) -> f64 {
    let mut losses = vec![0.0; rows.len().div_ceil(ROWS)];
    let spare = Spare::new();
    let batches = rows.chunks(ROWS).zip(&mut losses).enumerate().collect();
    options.pieces.run(batches, |(batch, (rows, loss))| {
        let x = gather(pairs.x, pairs.dx, rows);
        spare.with(rows.len() * pairs.dy, |mapped| {
            map.apply_block(&x, rows.len(), mapped, &spare);
            let batch = batch_of(pairs, rows, mapped, options.seed, batch as u64);
            *loss = options.loss.evaluate(&batch, None, Pieces::InTurn);
        });
    });
    losses.iter().sum::<f64>() / rows.len() as f64
}

pub(crate) fn batch_of<'a, T>(
    pairs: &Pairs<'a, T>,
    rows: &'a [u32],
    mapped: &'a [T],
    seed: u64,
    part: u64,
) -> Batch<'a, T> {
    let random = stream(seed, Purpose::Negatives, part);
    Batch { rows, mapped, targets: pairs.y, dy: pairs.dy, classes: pairs.classes, random }
}

fn row<T>(values: &[T], d: usize, i: u32) -> &[T] {
    &values[i as usize * d..][..d]
}

/// Some rows of `[n, d]`.
pub(crate) fn gather<T: Copy>(values: &[T], d: usize, rows: &[u32]) -> Vec<T> {
    rows.iter().flat_map(|&i| row(values, d, i)).copied().collect()
}

/// The state of a training run, and its buffers. Activations are `[units, rows]`, so that pieces of every product are contiguous.
pub(crate) struct Trainer<'a, T> {
    options: &'a FitOptions,
    kernels: Kernels,
    step: u64,
    /// Of the weights and the biases of each layer.
    memory: Vec<[Memory<T>; 2]>,
    /// What each layer takes; the last is what the map gives.
    activations: Vec<Vec<T>>,
    /// For each hidden layer, what dropout multiplies its units with.
    pub(crate) masks: Vec<Vec<T>>,
    /// The gradient of the loss with respect to the sums of a layer, and of the layer before.
    delta: Vec<T>,
    before: Vec<T>,
    /// By rows, what the map takes and gives, and the gradient with respect to that.
    rows: Vec<T>,
    mapped: Vec<T>,
    gradient: Vec<T>,
    /// For gradients of weights.
    spare: Spare<T>,
}

impl<'a, T: Real> Trainer<'a, T> {
    pub(crate) fn new(map: &Map<T>, options: &'a FitOptions, rows: usize) -> Self {
        let batch = options.batch.min(rows);
        let widest = map.layers().iter().map(Layer::outputs).chain([map.dx()]).max().unwrap_or(0);
        let buffer = |units: usize| vec![T::default(); units * batch];
        let hidden = &map.layers()[..map.layers().len() - 1];
        Self {
            options,
            kernels: Kernels::detect(),
            step: 0,
            memory: map
                .layers()
                .iter()
                .map(|layer| [layer.weights.len(), layer.outputs()].map(|count| options.optimizer.memory(count)))
                .collect(),
            activations: [map.dx()].into_iter().chain(map.layers().iter().map(Layer::outputs)).map(buffer).collect(),
            masks: hidden
                .iter()
                .map(|l| if options.dropout > 0.0 { buffer(l.outputs()) } else { Vec::new() })
                .collect(),
            delta: buffer(widest),
            before: buffer(widest),
            rows: buffer(map.dx()),
            mapped: buffer(map.dy()),
            gradient: buffer(map.dy()),
            spare: Spare::new(),
        }
    }

    /// Changes the map by one batch; returns the sum of the losses before.
    pub(crate) fn step(&mut self, map: &mut Map<T>, pairs: &Pairs<'_, T>, rows: &[u32], part: u64) -> f64 {
        let (n, pieces) = (rows.len(), self.options.pieces);
        for (to, &i) in self.rows.chunks_exact_mut(pairs.dx).zip(rows) {
            to.copy_from_slice(row(pairs.x, pairs.dx, i));
        }
        transpose(&self.rows[..n * pairs.dx], n, pairs.dx, &mut self.activations[0], pieces);
        self.forward(map, n, part);
        let mapped = &mut self.mapped[..n * pairs.dy];
        let gradient = &mut self.gradient[..n * pairs.dy];
        transpose(&self.activations[map.layers().len()][..n * pairs.dy], pairs.dy, n, mapped, pieces);
        let batch = batch_of(pairs, rows, mapped, self.options.seed, part);
        let total = self.options.loss.evaluate(&batch, Some(gradient), pieces);
        transpose(gradient, n, pairs.dy, &mut self.delta, pieces);
        self.step += 1;
        let rule = self.options.optimizer.rule(self.options.learning_rate, self.step);
        for number in (0..map.layers().len()).rev() {
            if number > 0 {
                self.back(map, number, n);
            }
            let layer = &mut map.layers_mut()[number];
            let input = &self.activations[number][..layer.inputs() * n];
            let delta = &self.delta[..layer.outputs() * n];
            let step = Step { rule, kernels: self.kernels, pieces, spare: &self.spare };
            step.update(layer, &mut self.memory[number], input, delta, n);
            std::mem::swap(&mut self.delta, &mut self.before);
        }
        total
    }

    /// The gradient with respect to the sums of the layer before layer `number`.
    fn back(&mut self, map: &Map<T>, number: usize, n: usize) {
        let (layer, activation) = (&map.layers()[number], map.activation());
        let (inputs, outputs) = (layer.inputs(), layer.outputs());
        let weights = view(&layer.weights, outputs, inputs);
        let delta = view(&self.delta[..outputs * n], outputs, n);
        let (input, mask) = (&self.activations[number], &self.masks[number - 1]);
        // What dropout kept was scaled; what it left out is 0 by its mask.
        let scale = T::of(if mask.is_empty() { 1.0 } else { kept(self.options.dropout) });
        self.options.pieces.over_rows(&mut self.before[..inputs * n], (ROWS, n), |first, before| {
            multiply(before, weights.subcols(first, before.len() / n).transpose(), delta);
            activation.descend(before, &input[first * n..], scale);
            if !mask.is_empty() {
                multiply_by(before, &mask[first * n..], |scale| scale);
            }
        });
    }

    fn forward(&mut self, map: &Map<T>, n: usize, part: u64) {
        let mut random = stream(self.options.seed, Purpose::Dropout, part);
        for number in 0..map.layers().len() {
            let (inputs, outputs) = self.activations.split_at_mut(number + 1);
            let input = &inputs[number][..map.layers()[number].inputs() * n];
            let output = &mut outputs[0][..map.layers()[number].outputs() * n];
            map.forward(number, input, n, output, self.options.pieces);
            if let Some(mask) = self.masks.get_mut(number)
                && !mask.is_empty()
            {
                draw_mask(&mut random, self.options.dropout, &mut mask[..output.len()]);
                multiply_by(output, mask, |scale| scale);
            }
        }
    }
}

/// 0 with probability `dropout`, else [`kept`].
fn draw_mask<T: Real>(random: &mut Xoshiro256PlusPlus, dropout: f64, mask: &mut [T]) {
    let mut random = Xoshiro256PlusPlus::from_rng(random);
    let kept = T::of(kept(dropout));
    for scale in mask {
        *scale = if random.random::<f64>() < dropout { T::default() } else { kept };
    }
}

/// What the units that dropout keeps are multiplied with.
fn kept(dropout: f64) -> f64 {
    1.0 / (1.0 - dropout)
}

/// How a layer is changed.
struct Step<'a, T> {
    rule: Rule<T>,
    kernels: Kernels,
    pieces: Pieces,
    spare: &'a Spare<T>,
}

impl<T: Real> Step<'_, T> {
    /// Changes a layer by the gradient of its sums: a few units at a time, whose gradient stays in the cache.
    fn update(&self, layer: &mut Layer<T>, memory: &mut [Memory<T>; 2], input: &[T], delta: &[T], n: usize) {
        let inputs = layer.inputs();
        let [of_weights, of_biases] = memory;
        let mut means = of_weights.mean.chunks_mut(ROWS * inputs);
        let mut squares = of_weights.square.chunks_mut(ROWS * inputs);
        let parts = layer.weights.chunks_mut(ROWS * inputs).zip(delta.chunks(ROWS * n)).map(|(weights, delta)| {
            (weights, delta, means.next().unwrap_or_default(), squares.next().unwrap_or_default())
        });
        self.pieces.run(parts.collect(), |(weights, delta, mean, square)| {
            self.spare.with(weights.len(), |gradient| {
                let units = delta.len() / n;
                multiply(gradient, view(delta, units, n), view(input, inputs, n).transpose());
                self.rule.update(self.kernels, weights, gradient, mean, square);
            });
        });
        let gradient: Vec<T> = delta.chunks_exact(n).map(sum).collect();
        self.rule.update(self.kernels, &mut layer.biases, &gradient, &mut of_biases.mean, &mut of_biases.square);
    }
}

fn sum<T: Real>(values: &[T]) -> T {
    values.iter().fold(T::default(), |sum, &value| sum + value)
}
