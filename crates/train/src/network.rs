//! Maps `f: X -> Y`: linear, or feed-forward networks (Collell & Moens 2018, section 3).

use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::{Observer, Rows};
use mnno_simd::Kernels;
use serde::{Deserialize, Serialize};

use crate::init::Init;
use crate::product::{Pieces, ROWS, Spare, multiply, transpose, view};
use crate::{MapError, Real};

/// Most hidden layers of a network.
pub const MOST_HIDDEN: usize = 8;

/// What a hidden unit does to its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(0, z)`, as in the paper.
    #[default]
    Relu,
    /// `tanh(z)`.
    Tanh,
    /// `1 / (1 + e^-z)`.
    Sigmoid,
}

impl Activation {
    /// Every activation, with its name.
    pub const ALL: [(Self, &str); 3] = [(Self::Relu, "relu"), (Self::Tanh, "tanh"), (Self::Sigmoid, "sigmoid")];

    #[inline(always)]
    fn value<T: Real>(self, z: T) -> T {
        match self {
            Self::Relu => {
                if z > T::default() {
                    z
                } else {
                    T::default()
                }
            }
            Self::Tanh => z.tanh(),
            Self::Sigmoid => z.sigmoid(),
        }
    }

    /// The derivative, from the value.
    #[inline(always)]
    pub(crate) fn slope<T: Real>(self, value: T) -> T {
        let one = T::of(1.0);
        match self {
            Self::Relu => {
                if value > T::default() {
                    one
                } else {
                    T::default()
                }
            }
            Self::Tanh => one - value * value,
            Self::Sigmoid => value * (one - value),
        }
    }

    /// Applies it to sums `[units, rows]` with the bias of each unit.
    fn apply<T: Real>(self, sums: &mut [T], biases: &[T], rows: usize) {
        match self {
            // Inside the arm, the loop is one of plain vector instructions.
            Self::Relu => of_units(sums, biases, rows, |z| Self::Relu.value(z)),
            _ => of_units(sums, biases, rows, |z| self.value(z)),
        }
    }

    /// Multiplies gradients with its derivatives, from `scale` times its values.
    pub(crate) fn descend<T: Real>(self, gradients: &mut [T], values: &[T], scale: T) {
        match self {
            Self::Relu => multiply_by(gradients, values, |value| Self::Relu.slope(value)),
            _ => multiply_by(gradients, values, |value| self.slope(value / scale)),
        }
    }
}

/// Replaces each sum of `[units, rows]` by what `value` makes of it and the bias of its unit.
fn of_units<T: Real>(sums: &mut [T], biases: &[T], rows: usize, value: impl Fn(T) -> T) {
    Kernels::detect().run(
        #[inline(always)]
        || {
            for (sums, &bias) in sums.chunks_exact_mut(rows).zip(biases) {
                for z in sums {
                    *z = value(*z + bias);
                }
            }
        },
    );
}

/// `a_i *= factor(b_i)`.
pub(crate) fn multiply_by<T: Real>(a: &mut [T], b: &[T], factor: impl Fn(T) -> T) {
    Kernels::detect().run(
        #[inline(always)]
        || a.iter_mut().zip(b).for_each(|(a, &b)| *a *= factor(b)),
    );
}

/// One layer: `W a + b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T> {
    /// `[outputs, inputs]`, row-major.
    pub weights: Vec<T>,
    /// `[outputs]`.
    pub biases: Vec<T>,
}

impl<T> Layer<T> {
    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.biases.len()
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.weights.len() / self.biases.len()
    }
}

/// A map from `[n, dx]` to `[n, dy]`: `f(x) = W_h s(... s(W_0 x + b_0) ...) + b_h` with `h` hidden layers; with none, it is linear.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<T = f32> {
    layers: Vec<Layer<T>>,
    activation: Activation,
}

/// The sizes of a map, input first: `[dx, hidden.., dy]`.
pub fn widths(dx: usize, hidden: usize, units: usize, dy: usize) -> Vec<usize> {
    let mut widths = vec![units; hidden + 2];
    (widths[0], widths[hidden + 1]) = (dx, dy);
    widths
}

impl<T: Real> Map<T> {
    /// A map of the given sizes, input first, with random weights and every bias at `bias`.
    ///
    /// # Panics
    /// With fewer than two sizes, more than [`MOST_HIDDEN`] hidden layers, or a size of 0.
    pub fn random(widths: &[usize], activation: Activation, init: Init, bias: f64, seed: u64) -> Self {
        assert!((2..=MOST_HIDDEN + 2).contains(&widths.len()), "{} layers", widths.len());
        assert!(widths.iter().all(|&width| width > 0), "a layer without units");
        let layer = |(number, size): (usize, &[usize])| Layer {
            weights: init.weights(size[0], size[1], seed, number as u64),
            biases: vec![T::of(bias); size[1]],
        };
        Self { layers: widths.windows(2).enumerate().map(layer).collect(), activation }
    }

    /// A map of given layers.
    ///
    /// # Errors
    /// [`MapError::Layers`] if there are none or too many, or one does not take what the one before gives;
    /// [`MapError::NonFiniteWeight`] if a number is NaN or infinite.
    pub fn from_layers(layers: Vec<Layer<T>>, activation: Activation) -> Result<Self, MapError> {
        let is_whole = |layer: &Layer<T>| {
            !layer.biases.is_empty()
                && !layer.weights.is_empty()
                && layer.weights.len().is_multiple_of(layer.biases.len())
        };
        let fits = |pair: &[Layer<T>]| pair[0].outputs() == pair[1].inputs();
        // Only whole layers have a number of inputs.
        if !(1..=MOST_HIDDEN + 1).contains(&layers.len())
            || !layers.iter().all(is_whole)
            || !layers.windows(2).all(fits)
        {
            return Err(MapError::Layers);
        }
        for (number, layer) in layers.iter().enumerate() {
            if let Some(&value) = layer.weights.iter().chain(&layer.biases).find(|x| !x.wide().is_finite()) {
                return Err(MapError::NonFiniteWeight { layer: number, value: value.wide() });
            }
        }
        Ok(Self { layers, activation })
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer<T>] {
        &self.layers
    }

    pub(crate) fn layers_mut(&mut self) -> &mut [Layer<T>] {
        &mut self.layers
    }

    /// What the hidden units do.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Dimensions of what is mapped.
    pub fn dx(&self) -> usize {
        self.layers[0].inputs()
    }

    /// Dimensions of the result.
    pub fn dy(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs()
    }

    /// The output of layer `number` for a batch: `[inputs, rows]` in, `[outputs, rows]` out, activation included.
    pub(crate) fn forward(&self, number: usize, input: &[T], rows: usize, output: &mut [T], pieces: Pieces) {
        let layer = &self.layers[number];
        let inputs = layer.inputs();
        let is_last = number + 1 == self.layers.len();
        pieces.over_rows(output, (ROWS, rows), |first, output| {
            let count = output.len() / rows;
            let weights = &layer.weights[first * inputs..(first + count) * inputs];
            multiply(output, view(weights, count, inputs), view(input, inputs, rows));
            let biases = &layer.biases[first..first + count];
            if is_last {
                of_units(output, biases, rows, |z| z);
            } else {
                self.activation.apply(output, biases, rows);
            }
        });
    }

    /// `f(x)` of rows `[n, dx]` as `[n, dy]`, both row-major.
    ///
    /// # Panics
    /// If `x` is no whole number of rows.
    pub fn apply(&self, x: &[T], pieces: Pieces) -> Vec<T> {
        let mut mapped = vec![T::default(); x.len() / self.dx() * self.dy()];
        self.apply_into(x, &mut mapped, pieces);
        mapped
    }

    /// As [`Map::apply`], into rows that are there.
    ///
    /// # Panics
    /// If `x` is no whole number of rows, or `mapped` has another number of them.
    pub fn apply_into(&self, x: &[T], mapped: &mut [T], pieces: Pieces) {
        let (dx, dy, spare) = (self.dx(), self.dy(), Spare::new());
        assert!(x.len().is_multiple_of(dx), "{} values are no rows of {dx}", x.len());
        assert_eq!(mapped.len(), x.len() / dx * dy, "rows to map into");
        pieces.over_rows(mapped, (ROWS, dy), |first, mapped| {
            let rows = mapped.len() / dy;
            self.apply_block(&x[first * dx..(first + rows) * dx], rows, mapped, &spare);
        });
    }

    /// As [`Map::apply`], of some rows, on one thread.
    pub(crate) fn apply_block(&self, x: &[T], rows: usize, mapped: &mut [T], spare: &Spare<T>) {
        let widest = self.layers.iter().map(Layer::outputs).chain([self.dx()]).max().unwrap_or(0);
        spare.with(2 * widest * rows, |buffers| {
            let (mut input, mut output) = buffers.split_at_mut(widest * rows);
            transpose(x, rows, self.dx(), input, Pieces::InTurn);
            for (number, layer) in self.layers.iter().enumerate() {
                let sums = &mut output[..layer.outputs() * rows];
                self.forward(number, &input[..layer.inputs() * rows], rows, sums, Pieces::InTurn);
                std::mem::swap(&mut input, &mut output);
            }
            transpose(&input[..self.dy() * rows], self.dy(), rows, mapped, Pieces::InTurn);
        });
    }
}

impl Map<f32> {
    /// `f(x)` of every row, `[n, dy]`. The observer is told of finished rows.
    ///
    /// # Errors
    /// [`MapError::Dimensions`] if the rows have other dimensions than the map takes, [`MapError::Overflow`] if a result is
    /// beyond f32, [`MapError::Interrupted`].
    pub fn apply_rows(&self, rows: &dyn Rows, pieces: Pieces, observer: &dyn Observer) -> Result<Vec<f32>, MapError> {
        if rows.d() != self.dx() {
            return Err(MapError::Dimensions { rows: rows.d(), map: self.dx() });
        }
        let mut mapped = vec![0.0; rows.n() * self.dy()];
        let (spare, done) = (Spare::new(), AtomicU64::new(0));
        pieces.over_rows(&mut mapped, (ROWS, self.dy()), |first, mapped| {
            if observer.cancelled() {
                return;
            }
            let count = mapped.len() / self.dy();
            let mut scratch = Vec::new();
            let block = rows.block(first..first + count, &mut scratch);
            let x: Vec<f32> = (0..count).flat_map(|i| block.row(i)).copied().collect();
            self.apply_block(&x, count, mapped, &spare);
            observer.progress(done.fetch_add(count as u64, Ordering::Relaxed) + count as u64, rows.n() as u64);
        });
        if observer.cancelled() {
            return Err(MapError::Interrupted);
        }
        match mapped.iter().position(|value| !value.is_finite()) {
            Some(place) => Err(MapError::Overflow { row: place / self.dy() }),
            None => Ok(mapped),
        }
    }
}
