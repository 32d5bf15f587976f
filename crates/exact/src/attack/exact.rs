//! The scores that the filter estimates, in exact arithmetic.

use num_bigint::{BigInt, BigUint};

use crate::Metric;
use crate::space::Space;

/// A [`BigInt`] counts units of `2^-POINT`.
const POINT: i32 = 1400;
/// The cosine's roots are good to `2^-ROOT`.
const ROOT: i32 = 500;

/// A number as a [`BigInt`].
pub(super) fn exact(value: f64) -> BigInt {
    let (integer, exponent) = parts(value);
    shifted(integer.into(), exponent)
}

/// The f64 next to a number, or nearly.
pub(super) fn near(number: &BigInt) -> f64 {
    let shift = i32::try_from(number.bits()).expect("few bits").max(64) - 64;
    let leading = i128::try_from(number >> shift).expect("at most 65 bits") as f64;
    // In two steps, since one factor might be below the range of f64.
    let exponent = shift - POINT;
    leading * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
}

/// An integer, and the exponent of the power of two that it is multiplied by.
fn parts(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)).cast_signed();
    let (integer, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    (if value < 0.0 { -integer } else { integer }, exponent)
}

/// `integer 2^exponent`
fn shifted(integer: i128, exponent: i32) -> BigInt {
    let integer = BigInt::from(integer);
    if exponent + POINT >= 0 { integer << (exponent + POINT) } else { divided(&integer, -exponent - POINT) }
}

/// `number / 2^shift`, which must be an integer.
fn divided(number: &BigInt, shift: i32) -> BigInt {
    let quotient = number >> shift;
    assert_eq!(&quotient << shift, *number, "too fine a number for this arithmetic");
    quotient
}

/// Numbers in parts; zeros have the least exponent of the others.
struct Vector {
    parts: Vec<(i64, i32)>,
    least: i32,
    most: i32,
}

impl Vector {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let mut parts: Vec<(i64, i32)> = values.map(parts).collect();
        let exponents = parts.iter().filter(|part| part.0 != 0).map(|part| part.1);
        let (least, most) = (exponents.clone().min().unwrap_or(0), exponents.max().unwrap_or(0));
        parts.iter_mut().filter(|part| part.0 == 0).for_each(|part| part.1 = least);
        Self { parts, least, most }
    }

    fn dot(&self, other: &Self) -> BigInt {
        let least = self.least + other.least;
        // Products of one exponent have at most 106 bits, and rows far less than 2^20 values.
        let mut sums = vec![0i128; (self.most + other.most - least).unsigned_abs() as usize + 1];
        for ((x, e), (y, f)) in self.parts.iter().zip(&other.parts) {
            sums[(e + f - least).unsigned_abs() as usize] += i128::from(*x) * i128::from(*y);
        }
        sums.into_iter().zip(least..).filter(|(sum, _)| *sum != 0).map(|(sum, exponent)| shifted(sum, exponent)).sum()
    }
}

/// `numerator / sqrt(square)`, where `square` counts units of `2^-point`.
fn over_root(numerator: &BigInt, square: &BigInt, point: i32) -> BigInt {
    let quotient = ((numerator * numerator) << point) / square;
    let root: BigUint = (quotient >> (2 * (POINT - ROOT))).magnitude().sqrt();
    BigInt::from_biguint(numerator.sign(), root) << (POINT - ROOT)
}

/// A row with its products.
pub(super) struct ExactRow {
    /// Scaled, but not divided by its norm.
    values: Vector,
    square: BigInt,
    with_centre: BigInt,
}

/// The space of [`ExactRow`]s.
pub(super) struct ExactSpace {
    metric: Metric,
    scale: f64,
    centre: Vector,
    centre_square: BigInt,
}

impl ExactSpace {
    pub(super) fn new(space: &Space) -> Self {
        let centre = Vector::new(space.centre.iter().copied());
        Self { metric: space.metric, scale: space.scale, centre_square: centre.dot(&centre), centre }
    }

    pub(super) fn row(&self, row: &[f32]) -> ExactRow {
        let values = Vector::new(row.iter().map(|&x| f64::from(x) * self.scale));
        ExactRow { square: values.dot(&values), with_centre: values.dot(&self.centre), values }
    }

    /// `|a|` and `|c|`, nearly.
    pub(super) fn lengths(&self, row: &ExactRow) -> (f64, f64) {
        let (square, with_centre) = match self.metric {
            Metric::Cosine => (exact(self.scale * self.scale), self.cosine_with_centre(row)),
            _ => (row.square.clone(), row.with_centre.clone()),
        };
        let length = |square: &BigInt| near(square).max(0.0).sqrt();
        (length(&(square - 2 * with_centre + &self.centre_square)), length(&self.centre_square))
    }

    fn cosine_with_centre(&self, row: &ExactRow) -> BigInt {
        (over_root(&row.with_centre, &row.square, POINT) * exact(self.scale)) >> POINT
    }

    /// The scores of [`crate::bound`] that `y` has for `x` and `x` for `y`: `a.b + t`, with `a = p(x) - c` and `b = p(y) - c`
    /// multiplied out.
    pub(super) fn scores(&self, x: &ExactRow, y: &ExactRow) -> [BigInt; 2] {
        let product = x.values.dot(&y.values);
        match self.metric {
            Metric::InnerProduct => [x, y].map(|asking| &product - &asking.with_centre),
            Metric::Euclidean | Metric::SquaredEuclidean => [(x, y), (y, x)].map(|(asking, asked)| {
                &product - &asking.with_centre + divided(&(&self.centre_square - &asked.square), 1)
            }),
            Metric::Cosine => {
                let cosine = over_root(&product, &(&x.square * &y.square), 2 * POINT);
                let product = (cosine * exact(self.scale * self.scale)) >> POINT;
                [x, y].map(|asking| &product - self.cosine_with_centre(asking))
            }
        }
    }
}
