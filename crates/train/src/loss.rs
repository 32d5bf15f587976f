//! What training makes small, and its gradient with respect to the mapped rows.

use mnno_simd::Kernels;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

use crate::product::{Pieces, SOME_ROWS};
use crate::{Classes, Real};

/// A loss, averaged over the rows of a batch. `f` is the mapped row, `y` its target.
///
/// The last three need a negative for every row: the first row of another class, in a random order of the batch, that violates
/// the margin (as in Weston et al. 2011 and Lazaridou et al. 2015). Without classes, any other row of the batch is one. A row that has
/// no violating negative in its batch contributes 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// `1/2 |f - y|^2`, summed over dimensions. Keras divides by `dy` in place of 2, so that its gradients are `2 / dy` times
    /// these.
    Mse,
    /// `1 - cos(f, y)`; 1 where one of them is zero.
    Cosine,
    /// `max(0, margin + |f - y| - |f~ - y|)` with `f~` the mapped negative (Collell & Moens 2018).
    MaxMargin(f64),
    /// `max(0, margin + |f - y| - |f - y~|)` with `y~` the target of the negative, as in the literature on retrieval.
    MaxMarginTarget(f64),
    /// `max(0, margin - t f + t~ f)` with `t` the target at unit length (Frome et al. 2013, cut after the first violation).
    HingeRank(f64),
}

impl Loss {
    /// The names of the losses.
    pub const NAMES: [&'static str; 5] = ["mse", "cosine", "max-margin", "max-margin-target", "hinge-rank"];
    /// The margin of [`Loss::HingeRank`] in the paper.
    pub const HINGE_RANK_MARGIN: f64 = 0.1;

    /// The loss of a name; `margin` is for those that have one. `None` for other names.
    pub fn named(name: &str, margin: f64) -> Option<Self> {
        Some(match name {
            "mse" => Self::Mse,
            "cosine" => Self::Cosine,
            "max-margin" => Self::MaxMargin(margin),
            "max-margin-target" => Self::MaxMarginTarget(margin),
            "hinge-rank" => Self::HingeRank(margin),
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::Cosine => "cosine",
            Self::MaxMargin(_) => "max-margin",
            Self::MaxMarginTarget(_) => "max-margin-target",
            Self::HingeRank(_) => "hinge-rank",
        }
    }

    /// Its margin, if it has one.
    pub fn margin(self) -> Option<f64> {
        match self {
            Self::Mse | Self::Cosine => None,
            Self::MaxMargin(margin) | Self::MaxMarginTarget(margin) | Self::HingeRank(margin) => Some(margin),
        }
    }

    /// Whether it has the margins that the paper chooses from.
    pub fn is_max_margin(self) -> bool {
        matches!(self, Self::MaxMargin(_) | Self::MaxMarginTarget(_))
    }

    /// The sum of the losses of a batch, whose mean is what is minimised; `gradient`, if asked for, becomes that of the mean.
    pub(crate) fn evaluate<T: Real>(self, batch: &Batch<'_, T>, gradient: Option<&mut [T]>, pieces: Pieces) -> f64 {
        let scale = T::of(1.0 / batch.rows.len() as f64);
        if self.margin().is_some() {
            return self.with_negatives(batch, gradient, scale);
        }
        let kernels = Kernels::detect();
        let mut losses = vec![0.0; batch.rows.len()];
        let of_row = |i: usize, loss: &mut f64, gradient: Option<&mut [T]>| {
            kernels.run(
                #[inline(always)]
                || *loss = self.of_pair(batch.mapped(i), batch.target(i), gradient, scale),
            );
        };
        match gradient {
            Some(gradient) => {
                let rows = gradient.chunks_mut(SOME_ROWS * batch.dy).zip(losses.chunks_mut(SOME_ROWS)).enumerate();
                pieces.run(rows.collect(), |(piece, (gradient, losses))| {
                    for (i, (row, loss)) in gradient.chunks_mut(batch.dy).zip(losses).enumerate() {
                        of_row(piece * SOME_ROWS + i, loss, Some(row));
                    }
                });
            }
            None => losses.iter_mut().enumerate().for_each(|(i, loss)| of_row(i, loss, None)),
        }
        losses.iter().sum()
    }

    /// As [`Loss::evaluate`], of a loss with a margin: rows have a part in the gradients of others.
    fn with_negatives<T: Real>(self, batch: &Batch<'_, T>, mut gradient: Option<&mut [T]>, scale: T) -> f64 {
        if let Some(gradient) = gradient.as_deref_mut() {
            gradient.fill(T::default());
        }
        let mut order: Vec<usize> = (0..batch.rows.len()).collect();
        let mut random = batch.random.clone();
        let mut total = 0.0;
        for i in 0..batch.rows.len() {
            order.shuffle(&mut random);
            let negative = order.iter().copied().find(|&j| self.violates(batch, i, j));
            total += self.of_row(batch, i, negative, gradient.as_deref_mut().map(|gradient| (gradient, scale)));
        }
        total
    }

    /// The loss of a row without a negative; its gradient, times a scale, where it is asked for.
    #[inline(always)]
    fn of_pair<T: Real>(self, f: &[T], y: &[T], gradient: Option<&mut [T]>, scale: T) -> f64 {
        if self == Self::Cosine {
            let (fy, ff, yy) = (dot(f, y), dot(f, f), dot(y, y));
            let length = (ff * yy).sqrt();
            if length == 0.0 {
                if let Some(gradient) = gradient {
                    gradient.fill(T::default());
                }
                return 1.0;
            }
            if let Some(gradient) = gradient {
                let (of_f, of_y) = (scale * T::of(fy / (length * ff)), scale * T::of(1.0 / length));
                for ((g, &f), &y) in gradient.iter_mut().zip(f).zip(y) {
                    *g = f * of_f - y * of_y;
                }
            }
            return 1.0 - fy / length;
        }
        if let Some(gradient) = gradient {
            for ((g, &f), &y) in gradient.iter_mut().zip(f).zip(y) {
                *g = scale * (f - y);
            }
        }
        0.5 * squared_distance(f, y)
    }

    /// Whether `j` is a negative of row `i` within the margin.
    fn violates<T: Real>(self, batch: &Batch<'_, T>, i: usize, j: usize) -> bool {
        let is_negative = j != i && batch.classes.is_none_or(|classes| classes.differ(batch.rows[i], batch.rows[j]));
        is_negative && self.of_row(batch, i, Some(j), None) > 0.0
    }

    /// The loss of row `i`; its gradient, times a scale, is added where it is asked for.
    pub(crate) fn of_row<T: Real>(
        self,
        batch: &Batch<'_, T>,
        i: usize,
        negative: Option<usize>,
        gradient: Option<(&mut [T], T)>,
    ) -> f64 {
        let (f, y) = (batch.mapped(i), batch.target(i));
        match (self, negative) {
            (Self::Mse | Self::Cosine, _) => {
                let scale = gradient.as_ref().map_or(T::default(), |&(_, scale)| scale);
                self.of_pair(f, y, gradient.map(|(gradient, _)| batch.row_of(gradient, i)), scale)
            }
            (Self::MaxMargin(margin), Some(j)) => {
                let other = batch.mapped(j);
                let (near, far) = (squared_distance(f, y).sqrt(), squared_distance(other, y).sqrt());
                if let Some((gradient, scale)) = gradient {
                    add_difference(batch.row_of(gradient, i), scale * inverse::<T>(near), f, y);
                    add_difference(batch.row_of(gradient, j), -scale * inverse::<T>(far), other, y);
                }
                (margin + near - far).max(0.0)
            }
            (Self::MaxMarginTarget(margin), Some(j)) => {
                let other = batch.target(j);
                let (near, far) = (squared_distance(f, y).sqrt(), squared_distance(f, other).sqrt());
                if let Some((gradient, scale)) = gradient {
                    let gradient = batch.row_of(gradient, i);
                    add_difference(gradient, scale * inverse::<T>(near), f, y);
                    add_difference(gradient, -scale * inverse::<T>(far), f, other);
                }
                (margin + near - far).max(0.0)
            }
            (Self::HingeRank(margin), Some(j)) => {
                let other = batch.target(j);
                let (length, of_other) = (inverse_root::<T>(dot(y, y)), inverse_root::<T>(dot(other, other)));
                if let Some((gradient, scale)) = gradient {
                    for ((g, &y), &other) in batch.row_of(gradient, i).iter_mut().zip(y).zip(other) {
                        *g += scale * (other * of_other - y * length);
                    }
                }
                (margin - dot(y, f) * length.wide() + dot(other, f) * of_other.wide()).max(0.0)
            }
            (_, None) => 0.0,
        }
    }
}

/// Rows that are mapped together.
pub(crate) struct Batch<'a, T> {
    /// Their numbers in the data.
    pub(crate) rows: &'a [u32],
    /// `f(x)`, `[rows, dy]`.
    pub(crate) mapped: &'a [T],
    /// All targets, `[n, dy]`.
    pub(crate) targets: &'a [T],
    pub(crate) dy: usize,
    pub(crate) classes: Option<&'a Classes>,
    /// For the order of the negatives.
    pub(crate) random: Xoshiro256PlusPlus,
}

impl<T> Batch<'_, T> {
    fn mapped(&self, i: usize) -> &[T] {
        &self.mapped[i * self.dy..][..self.dy]
    }

    fn target(&self, i: usize) -> &[T] {
        &self.targets[self.rows[i] as usize * self.dy..][..self.dy]
    }

    fn row_of<'g>(&self, gradient: &'g mut [T], i: usize) -> &'g mut [T] {
        &mut gradient[i * self.dy..][..self.dy]
    }
}

/// `gradient += scale (a - b)`.
fn add_difference<T: Real>(gradient: &mut [T], scale: T, a: &[T], b: &[T]) {
    for ((g, &a), &b) in gradient.iter_mut().zip(a).zip(b) {
        *g += scale * (a - b);
    }
}

/// `1 / length`, 0 for a length of 0: the derivative of a distance that is 0.
fn inverse<T: Real>(length: f64) -> T {
    if length == 0.0 { T::default() } else { T::of(1.0 / length) }
}

fn inverse_root<T: Real>(square: f64) -> T {
    inverse(square.sqrt())
}

/// Independent sums, so that the additions overlap.
const LANES: usize = 8;

#[inline(always)]
fn sum_of<T: Real>(a: &[T], b: &[T], term: impl Fn(T, T) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(&a, &b)| term(a, b)).sum::<f64>()
}

/// As `mnno_simd`'s of f32, but of f64 too.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    sum_of(a, b, |a, b| a.wide() * b.wide())
}

#[inline(always)]
fn squared_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    sum_of(a, b, |a, b| {
        let difference = a.wide() - b.wide();
        difference * difference
    })
}
