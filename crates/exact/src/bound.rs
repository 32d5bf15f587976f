//! The certificate: how far an estimate can be from the canonical score.
//!
//! # Setting
//!
//! Let `x` be a query, `y` a base row, `d` values each. `u = 2^-24` and `e = 2^-53` are the unit roundoffs of f32 and f64,
//! `gamma_m = m u / (1 - m u)` (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.1). `p(x)` is
//! `x` times a power of two `s`, under the cosine also divided by its norm. `c` is any vector, the *centre*, with
//! `|c| <= 10^18`; `a = p(x) - c` and `b = p(y) - c` are what is rounded to `a~` and `b~`, with `r_a = |a - a~|` and
//! `n_a = |a~|`. Neither `s` nor `c` need be good, since nothing below depends on how they were found.
//!
//! The filter ranks by a score that differs from the canonical one by a factor and a shift that is constant for a query:
//!
//! | metric | score | canonical score turned so that larger is nearer | shift |
//! |---|---|---|---|
//! | cosine, ip | `a.b + c.b` | `(a.b + c.b + a.c + c.c) / s^2` | `-(a.c + c.c)` |
//! | euclidean | `a.b - b.b / 2` | `(2 a.b - b.b - a.a) / s^2` | `a.a / 2` |
//!
//! so that the score is `a.b + t` with a term `t` of the base row alone, and a canonical score `g` is worth
//! `factor g + shift`, with `factor` `s^2`, and `s^2 / 2` for distances.
//!
//! # The estimate
//!
//! `|a.b - a~.b~| <= |a| r_b + r_a |b~|` and `|a| <= n_a + r_a`. The kernels compute `a~.b~` as `P`:
//!
//! - int8: the sum is exact in i32 for `d <= 133,144`; its conversion to f32 and the two multiplications with the steps round
//!   three times, so `|P - a~.b~| <= gamma_3 n_a n_b`.
//! - bf16 and f32: the terms are summed in some order, each product exact (bf16), rounded, or fused with an addition. Whatever
//!   the order, a term passes at most one rounding per term of the sum, padding included, so that by Cauchy-Schwarz
//!   `|P - a~.b~| <= gamma_m n_a n_b` with `m = d' + 1`, `d'` the padded width.
//!
//! The scan adds `t` in f32, or compares `P` with a rounded difference, which decides the same or lets more through: rounding
//! is monotone. With `E = (n_a + r_a) r_b + (r_a + gamma n_a) n_b` the score is within `E + u |t|` of the estimate for
//! `gamma = gamma_(d' + 24)`, or `gamma_24` for int8, where `gamma_m + 4 u <= gamma_(m+4)` takes care of the addition's share
//! of `P`.
//!
//! `t` is stored rounded up by `8 u |t|`, more than its own rounding and the addition can lose, so that `estimate + E` bounds
//! the score from above; for the bound from below the scan takes `16 u (|estimate| + |t|)` off `estimate - E` (`below` in
//! the scan), which also pays for the rounding of the difference.
//!
//! `E` itself is evaluated in f32 from four factors, each rounded up and enlarged by `32 u`, for three roundings.
//!
//! *Below the normal range.* The kernels and an embedding program's settings may take numbers below `2^-126` for zero. What
//! that takes from a stored row, at most `2^-126 sqrt(d)` of its length, is far less than the `2^-50` that are added to every
//! factor of `E`, so to `r_a` and `r_b`. Products and sums on the way to an estimate lose `2^-126` at most `d + 3` times each,
//! together less than `2^-104` for the `d <= 2^20` allowed, of the `2^-99` that the addition puts into `E`.
//!
//! *Above.* Rows with a norm above `10^18` in units of the space are stored as zero with `r = inf`: they always survive,
//! and as queries let everything survive. All other products and terms stay below `10^37`.
//!
//! # From scores to thresholds
//!
//! All that is left is f64: `p`, `a` and `b` as computed, `t`, the shift, the threshold, and the canonical score, which is
//! itself off from the real number. Let `S = (|a| + |c|) (|b| + |c|)`, and for distances `(|a| + |b|)^2`; `|p(x)| |p(y)|`,
//! `|a| |b|`, `|a| |c|`, `|c| |b|` and `c.c` are at most `S`.
//!
//! - The canonical dot product passes `d / 8 + 4` roundings per term (a product of two f32 is exact in f64):
//!   `(d / 8 + 4) e S`. The cosine's norms add as much, their product, root and the division 3 more; the clamp only brings
//!   it nearer. The distance is a sum of squares of rounded differences: `(d / 8 + 7) e |a - b|^2`.
//! - Under the cosine `p(x)` is off by a factor, of the norm, root, division and product, `1 + (d / 16 + 5) e` at most, and so
//!   is `p(y)`: `(d / 8 + 10) e S`. The subtraction of the centre is off by `e |a|`, and `e |b|`: `2 e S`.
//! - `t` and the two terms of the shift are each summed in 16 lanes: `3 (d / 16 + 19) e S`.
//! - The threshold adds three numbers of at most `2 S`: `6 e S`.
//!
//! Together less than `(9 d / 16 + 86) e S`, for which `kappa S` is used with `kappa = (d + 128) e`. It falls into parts:
//! `kappa (|a| + |c|) |c|`, or `kappa |a|^2` for distances, belongs to the query and is the `slack` of its thresholds.
//! `kappa (|a| + |c|) |b|`, or `2 kappa |a| |b|`, joins `E`, with `|b| <= n_b + r_b`. The last, `kappa |b|^2` for distances, is
//! less than `u |t|`, which the rounding of `t` has room for. So a long row in the base costs the others nothing.
//!
//! So a row whose upper bound lies below `factor g + shift - slack`, rounded down, has a canonical score worse than `g`. And if
//! `k + 1` rows have a lower bound of at least `l`, each has a canonical score worth `l - slack`, and a row whose upper bound
//! lies below `l - 2 slack` a worse one than all of them. Equal scores survive either way, for the tie rule to order.

use mnno_simd::{Element, Quantised};

use crate::Metric;
use crate::space::Space;

/// Beyond this the derivation does not hold, and every row is scored canonically.
const MAX_TERMS: usize = 1 << 20;
/// Products of this many int8 values are exact in i32.
const MAX_INT8: usize = (i32::MAX / (127 * 127)) as usize;
/// Added to every factor of an error: it covers what falls below the normal range of f32.
pub(crate) const LEAST: f32 = 1.0 / (1u64 << 50) as f32;

/// The largest relative error of a product of rows of `d` values, and of its way to an estimate.
pub(crate) fn product_error(element: Element, d: usize) -> f64 {
    let terms = match element {
        Element::Int8 if d <= MAX_INT8 => 0,
        Element::Bf16 | Element::Float32 if d <= MAX_TERMS => d.next_multiple_of(32),
        _ => return f64::MAX, // a row that is stored as zero has no error even then
    };
    let mu = (terms + 24) as f64 / f64::from(1u32 << 24);
    mu / (1.0 - mu)
}

/// What a packed row contributes to estimates, bounds and thresholds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) offset: f32,
    pub(crate) residual: f32,
    pub(crate) norm: f32,
    pub(crate) on_residual: f32,
    pub(crate) on_norm: f32,
    pub(crate) bound: QueryBound,
}

impl Terms {
    pub(crate) fn new(row: Quantised, space: &Space) -> Self {
        let kappa = (space.centre.len() as f64 + 128.0) * (0.5 * f64::EPSILON);
        let (length, c) = (row.squared_norm.sqrt(), space.centre_norm);
        let square = space.scale * space.scale;
        let (offset, factor, shift, slack, on_length) = match space.metric {
            Metric::Cosine | Metric::InnerProduct => {
                let shift = -(row.with_centre + c * c);
                (row.with_centre, square, shift, kappa * (length + c) * c, kappa * (length + c))
            }
            Metric::Euclidean | Metric::SquaredEuclidean => {
                let half = 0.5 * row.squared_norm;
                (-half, 0.5 * square, half, kappa * row.squared_norm, 2.0 * kappa * length)
            }
        };
        let unbounded = !row.residual.is_finite();
        Self {
            offset: if unbounded { 0.0 } else { up(offset + offset.abs() * (8.0 * UNIT)) },
            residual: inflated(row.residual),
            norm: inflated(row.norm),
            on_residual: inflated(row.norm + row.residual + on_length),
            on_norm: inflated(row.residual + space.product_error * row.norm + on_length),
            bound: QueryBound { larger_is_nearer: space.metric.larger_is_nearer(), factor, shift, slack },
        }
    }
}

/// The unit roundoff of f32.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// A little above `value`, which is not negative: what the f32 arithmetic of the scan may lose.
fn inflated(value: f64) -> f32 {
    up(value * (1.0 + 32.0 * UNIT) + f64::from(LEAST))
}

/// The least f32 that is not below `value`.
fn up(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

/// The greatest f32 that is not above `value`.
fn down(value: f64) -> f32 {
    -up(-value)
}

/// What turns scores of one query into thresholds of the scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryBound {
    larger_is_nearer: bool,
    factor: f64,
    shift: f64,
    slack: f64,
}

impl QueryBound {
    /// What an upper bound must reach for the row to reach the canonical score `score`.
    pub(crate) fn threshold(&self, score: f64) -> f32 {
        let goodness = if self.larger_is_nearer { score } else { -score };
        down(goodness * self.factor + self.shift - self.slack)
    }

    /// What an upper bound must reach for the row to reach the score of a row with this lower bound.
    pub(crate) fn threshold_from_lower(&self, lower: f32) -> f32 {
        down(f64::from(lower) - 2.0 * self.slack)
    }
}
