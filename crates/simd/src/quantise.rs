//! Rows in low precision, with what the rounding lost.

use std::cmp::Ordering;

use crate::{Element, Kernels, TILE};

/// How rows are moved and scaled before they are rounded.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Multiplies each value.
    pub factor: f64,
    /// Subtracted from each scaled value; as long as the row.
    pub centre: &'a [f64],
}

/// What [`Kernels::quantise`] tells of a row: sums in f64 of `w = factor * row - centre` and of its rounding `v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantised {
    /// Multiplied by this the stored numbers give `v`; 1 unless the element is [`Element::Int8`].
    pub step: f32,
    /// `|v|`
    pub norm: f64,
    /// `|w - v|`; infinite if the row is out of range.
    pub residual: f64,
    /// `w . w`
    pub squared_norm: f64,
    /// `w . centre`
    pub with_centre: f64,
}

/// Rows whose largest value is below this are stored as zero, so that steps are normal numbers of f32.
const LEAST: f64 = 1e-27;
/// Rows with a norm above this are stored as zero and said to be out of range, so that no score overflows f32.
const MOST: f64 = 1e18;
const LANES: usize = 16;
/// Added and taken off again, this rounds an f32 below 2^22 to an integer.
const ROUND: f32 = 12_582_912.0;

impl Kernels {
    /// Rounds `frame.factor * row - frame.centre` to `element` and stores it in `words`, the rest of which becomes zero.
    ///
    /// `scratch` is overwritten. A row with a norm above 1e18 after scaling is stored as zero and has an infinite residual.
    ///
    /// # Panics
    /// If the row and the centre differ in length or `words` is too short.
    pub fn quantise(
        self,
        element: Element,
        row: &[f32],
        frame: Frame<'_>,
        words: &mut [u32],
        scratch: &mut Vec<f64>,
    ) -> Quantised {
        let d = row.len();
        assert_eq!(d, frame.centre.len(), "row and centre of different length");
        let padded = d.next_multiple_of(LANES);
        assert!(words.len().is_multiple_of(TILE) && words.len() * element.per_word() >= d, "too few words for a row");
        scratch.resize(padded, 0.0);
        scratch[d..].fill(0.0);
        let sums = self.run(
            #[inline(always)]
            || centred(row, frame, scratch),
        );
        words.fill(0);
        let whole = Quantised {
            step: 1.0,
            norm: 0.0,
            residual: sums.squared_norm.sqrt(),
            squared_norm: sums.squared_norm,
            with_centre: sums.with_centre,
        };
        if !matches!(sums.squared_norm.partial_cmp(&(MOST * MOST)), Some(Ordering::Less)) {
            return Quantised { residual: f64::INFINITY, ..whole };
        }
        if sums.largest < LEAST {
            return whole;
        }
        let step = if element == Element::Int8 { (sums.largest / 127.0) as f32 } else { 1.0 };
        let (norm, residual) = self.run(
            #[inline(always)]
            || match element {
                Element::Int8 => int8(scratch, step, bytemuck::cast_slice_mut(words)),
                Element::Bf16 => bf16(scratch, bytemuck::cast_slice_mut(words)),
                Element::Float32 => float32(scratch, bytemuck::cast_slice_mut(words)),
            },
        );
        Quantised { step, norm: norm.sqrt() * f64::from(step), residual: residual.sqrt(), ..whole }
    }
}

struct Sums {
    largest: f64,
    squared_norm: f64,
    with_centre: f64,
}

/// Fills `out` with the scaled and centred row.
#[inline(always)]
fn centred(row: &[f32], frame: Frame<'_>, out: &mut [f64]) -> Sums {
    let mut largest = [0.0f64; LANES];
    let mut squares = [0.0f64; LANES];
    let mut products = [0.0f64; LANES];
    let (row_chunks, row_rest) = row.as_chunks::<LANES>();
    let (centre_chunks, centre_rest) = frame.centre.as_chunks::<LANES>();
    let (out_chunks, _) = out.as_chunks_mut::<LANES>();
    for ((x, c), w) in row_chunks.iter().zip(centre_chunks).zip(out_chunks.iter_mut()) {
        for l in 0..LANES {
            let value = f64::from(x[l]) * frame.factor - c[l];
            w[l] = value;
            largest[l] = larger(value.abs(), largest[l]);
            squares[l] += value * value;
            products[l] += value * c[l];
        }
    }
    if let Some(w) = out_chunks.get_mut(row_chunks.len()) {
        for (l, (&x, &c)) in row_rest.iter().zip(centre_rest).enumerate() {
            let value = f64::from(x) * frame.factor - c;
            w[l] = value;
            largest[l] = larger(value.abs(), largest[l]);
            squares[l] += value * value;
            products[l] += value * c;
        }
    }
    Sums {
        largest: largest.iter().copied().fold(0.0, larger),
        squared_norm: squares.iter().sum(),
        with_centre: products.iter().sum(),
    }
}

/// The maximum as one instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Stores `w / step` rounded to integers; the sums of squares of what is stored, in steps, and of what is lost.
#[inline(always)]
fn int8(w: &[f64], step: f32, bytes: &mut [u8]) -> (f64, f64) {
    let inverse = 1.0 / step;
    rounded(w, f64::from(step), bytes, |value| {
        // Not above 127 but for rounding, which this takes off again.
        let whole = (value as f32 * inverse + ROUND) - ROUND;
        (whole, (whole as i8).cast_unsigned())
    })
}

/// As [`int8`], rounded to bfloat16, those below the normal range to zero.
#[inline(always)]
fn bf16(w: &[f64], halves: &mut [u16]) -> (f64, f64) {
    rounded(w, 1.0, halves, |value| {
        let bits = (value as f32).to_bits();
        // To nearest, halfway cases to even.
        let bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
        let bits = if bits & 0x7f80_0000 == 0 { 0 } else { bits };
        (f32::from_bits(bits), (bits >> 16) as u16)
    })
}

/// As [`int8`], rounded to f32.
#[inline(always)]
fn float32(w: &[f64], out: &mut [f32]) -> (f64, f64) {
    rounded(w, 1.0, out, |value| {
        let rounded = value as f32;
        (rounded, rounded)
    })
}

/// Stores each value as `round` says; the sums of squares of what is stored, in steps, and of what is lost.
#[inline(always)]
fn rounded<T: Copy>(w: &[f64], step: f64, out: &mut [T], round: impl Fn(f64) -> (f32, T)) -> (f64, f64) {
    let mut stored = [0.0f64; LANES];
    let mut lost = [0.0f64; LANES];
    for (values, out) in w.as_chunks::<LANES>().0.iter().zip(out.as_chunks_mut::<LANES>().0) {
        for l in 0..LANES {
            let (value, word) = round(values[l]);
            let value = f64::from(value);
            out[l] = word;
            stored[l] += value * value;
            let rest = values[l] - value * step;
            lost[l] += rest * rest;
        }
    }
    (stored.iter().sum(), lost.iter().sum())
}
