//! The certificate: how far an approximate product can be from the canonical score.
//!
//! # Setting
//!
//! Write `u = 2^-24` and `w = 2^-53` for the unit roundoffs of f32 and f64, `Nx`, `Ny` for the norms of a query `x` and a
//! base row `y` of `d` values, and `x^`, `y^` for the rows that the product reads: each divided by its norm in f64, then
//! rounded to f32. `c` is the f32 product of `x^` and `y^`. The claim is
//!
//! `|x.y / (Nx Ny) - c| <= eps`, `eps = m u / (1 - m u)`, `m = d + 16`, for `m <= 2^20`.
//!
//! # Derivation
//!
//! *Rounding the rows.* `x^_j = (x_j / Nx)(1 + a_j) + b_j`. The reciprocal of the computed norm has a relative error of at
//! most `(d/16 + 5) w`, below `2^-10 u` for the `d` allowed, so `|a_j| <= (1 + 2^-9) u`; `|b_j| <= 2^-126` covers results
//! below the normal range of f32, even if the CPU flushes them to zero. With Cauchy-Schwarz, `sum |x_j y_j| <= Nx Ny`, the
//! product of the rounded rows differs from `x.y / (Nx Ny)` by at most `2.01 u + 3 d 2^-126`.
//!
//! *The product.* It sums `d` products in an order that we do not know, each product rounded or fused with its addition.
//! On its way to the result a term passes at most `d` roundings, and possibly one with the scale 1, which is exact; so the
//! error is at most `gamma_d sum |x^_j y^_j|` with `gamma_m = m u / (1 - m u)` (Higham, *Accuracy and Stability of
//! Numerical Algorithms*, 2nd ed., section 3.1), plus `2 d 2^-126` for products and sums below the normal range,
//! flushed or not. `sum |x^_j y^_j| <= (1 + 3 u)^2` once more by Cauchy-Schwarz.
//!
//! *Sum.* `gamma_d (1 + 7 u) + 2.01 u + 2^-100 < gamma_d + 4 u <= gamma_(d+16)`, since `gamma_a + gamma_b <= gamma_(a+b)`.
//! The 12 u left over pay for the rounding of `eps` itself.
//!
//! # From products to scores
//!
//! With `g` the canonical score turned so that larger is nearer, and a shift that is constant for a query, the scan tests
//! `scale_x * weight_y * (c + eps) + offset_y < threshold`:
//!
//! | metric | shifted g | scale | weight | offset |
//! |---|---|---|---|---|
//! | cosine | `g` | 1 | 1 | 0 |
//! | ip | `g` | `Nx` | `Ny` | 0 |
//! | euclidean | `g + Nx^2` | `2 Nx` | `Ny` | `-Ny^2` |
//!
//! All of this is f64. What it rounds, and what the canonical score itself is off from the real number, is at most
//! `slack = (d + 32) 2 w S` with `S = 1`, `Nx Nmax` and `(Nx + Nmax)^2`, `Nmax` the largest norm of the tile: the
//! canonical sums pass `d/8 + 4` roundings per term (a product of two f32 is exact in f64; difference and square of
//! the distance add 4), squared norms as many, and the scan six. The clamp of the cosine only brings it nearer.
//! The shift of a threshold is one more rounding, relative to the result, taken off where it is made
//! ([`QueryBound::threshold`]). A threshold that is NaN or minus infinity lets everything through, and so does
//! an `eps` that is infinite.
//!
//! So a row whose upper bound lies below the threshold has a canonical score strictly worse than that of `k + 1` others.

use crate::Metric;

/// Beyond this the derivation does not hold, and every row is scored canonically.
const MAX_TERMS: usize = 1 << 20;

/// The largest distance between a normalised product in f32 and the real one, for rows of `d` values.
pub(crate) fn product_error(d: usize) -> f64 {
    let m = d.saturating_add(16);
    if m > MAX_TERMS {
        return f64::INFINITY;
    }
    let mu = m as f64 / f64::from(1u32 << 24);
    mu / (1.0 - mu)
}

/// What turns the products of one query with a tile into bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryBound {
    /// Multiplier of `weight * (product + eps)`.
    pub(crate) scale: f64,
    /// Shift of the turned score.
    shift: f64,
    /// What f64 rounding may add, over the tile.
    slack: f64,
}

impl QueryBound {
    /// For a query of squared norm `qq` against a tile whose largest norm is `norm_max`.
    pub(crate) fn new(metric: Metric, d: usize, qq: f64, norm_max: f64) -> Self {
        let nx = qq.sqrt();
        let roundoff = (d as f64 + 32.0) * f64::EPSILON;
        let (scale, shift, size) = match metric {
            Metric::Cosine => (1.0, 0.0, 1.0),
            Metric::InnerProduct => (nx, 0.0, nx * norm_max),
            Metric::Euclidean | Metric::SquaredEuclidean => (2.0 * nx, qq, (nx + norm_max) * (nx + norm_max)),
        };
        Self { scale, shift, slack: roundoff * size }
    }

    /// The scan's threshold for "may reach the turned score `goodness`".
    pub(crate) fn threshold(&self, goodness: f64) -> f64 {
        let shifted = self.shift + goodness;
        shifted - (shifted.abs() * (2.0 * f64::EPSILON) + self.slack)
    }

    /// The scan's threshold for "may reach what the row with this lower estimate reaches at least", where `lower` is
    /// `scale * weight * (product - eps) + offset`.
    pub(crate) fn threshold_from_lower(&self, lower: f64) -> f64 {
        lower - (lower.abs() * (2.0 * f64::EPSILON) + 2.0 * self.slack)
    }
}

/// Per-row weight and offset of the scan for a base row of squared norm `bb`.
pub(crate) fn weight_and_offset(metric: Metric, bb: f64) -> (f64, f64) {
    match metric {
        Metric::Cosine => (1.0, 0.0),
        Metric::InnerProduct => (bb.sqrt(), 0.0),
        Metric::Euclidean | Metric::SquaredEuclidean => (bb.sqrt(), -bb),
    }
}

#[cfg(test)]
mod tests {
    use mnno_simd::Kernels;

    use super::*;
    use crate::RowBlock;
    use crate::pack::unit_rows;

    /// Rows of every magnitude from the subnormal to the largest, with and without cancellation.
    fn rows(d: usize) -> Vec<Vec<f32>> {
        let mut state = d as u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        let mut rows = Vec::new();
        for scale in [1e-42f32, 1e-30, 1.0, 1e30] {
            rows.push((0..d).map(|_| scale * next()).collect());
            rows.push((0..d).map(|j| scale * (if j % 2 == 0 { 1.0 } else { -1.0 } + 1e-6 * next())).collect());
            rows.push((0..d).map(|_| scale * (1.0 + 1e-6 * next())).collect());
            rows.push((0..d).map(|j| if j == d / 2 { scale } else { 1e-45 * next() }).collect());
        }
        rows
    }

    /// Sequential f32 sums, the worst of all orders, stay within the bound of the canonical cosine.
    #[test]
    fn products_of_unit_rows_stay_within_the_bound() {
        let kernels = Kernels::detect();
        let mut largest = 0f64;
        for d in [1, 2, 3, 17, 100, 1000, 10_000] {
            let unit = |row: &[f32]| {
                let mut unit = vec![0.0; d];
                unit_rows(RowBlock::new(row, 1, d, d), &[kernels.dot(row, row)], d, &mut unit);
                unit
            };
            let rows = rows(d);
            for x in rows.iter().filter(|r| kernels.dot(r, r) > 0.0) {
                for y in rows.iter().filter(|r| kernels.dot(r, r) > 0.0) {
                    let product = unit(x).iter().zip(unit(y)).fold(0f32, |sum, (a, b)| sum + a * b);
                    let cosine = kernels.dot(x, y) / (kernels.dot(x, x) * kernels.dot(y, y)).sqrt();
                    let share = (f64::from(product) - cosine).abs() / product_error(d);
                    assert!(share <= 1.0, "d {d}: {product} against {cosine}, {share} of the bound");
                    largest = largest.max(share);
                }
            }
        }
        assert!(largest > 0.02, "the bound is {} times what was seen", 1.0 / largest);
    }

    #[test]
    fn rows_too_wide_for_the_derivation_have_no_bound() {
        assert!(product_error(MAX_TERMS - 16) < 0.07);
        assert_eq!(product_error(MAX_TERMS - 15), f64::INFINITY);
        assert_eq!(product_error(usize::MAX), f64::INFINITY);
    }
}
