//! The space that rows are filtered in: where its origin lies, its unit, and the numbers it is written in.

use std::cmp::Ordering;

use mnno_simd::{Element, Kernels, TILE};

use crate::bound::product_error;
use crate::{Metric, Rows};

/// Rows that the origin and the unit are taken from.
const SAMPLED: usize = 1024;

/// How rows become operands: unit rows under the cosine, then scaled by a power of two, moved to the middle of a sample
/// and rounded. Where the origin lies and how long the unit is changes how tight the bounds are, never whether they hold.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) metric: Metric,
    pub(crate) kernels: Kernels,
    pub(crate) element: Element,
    /// A power of two.
    pub(crate) scale: f64,
    /// Scaled.
    pub(crate) centre: Vec<f64>,
    pub(crate) centre_norm: f64,
    /// Largest relative error of a product, see [`crate::bound`].
    pub(crate) product_error: f64,
}

impl Space {
    /// A space for the rows of `base`, in f32.
    pub(crate) fn new(base: &dyn Rows, metric: Metric, kernels: Kernels) -> Self {
        let (n, d) = (base.n(), base.d());
        let mut scratch = Vec::new();
        let sampled: Vec<usize> = (0..n).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        let factor = |row: &[f32]| if metric == Metric::Cosine { inverse_norm(kernels.dot(row, row)) } else { 1.0 };

        let mut centre = vec![0.0f64; d];
        for &i in &sampled {
            let row = base.row(i, &mut scratch);
            let factor = factor(row) / sampled.len() as f64;
            centre.iter_mut().zip(row).for_each(|(c, &x)| *c += factor * f64::from(x));
        }
        // Errors grow with the distance from the centre. A mean that a few long rows have drawn away from the others is none.
        let (mut moved, mut unmoved, mut largest) = (0.0, 0.0, 0.0f64);
        for &i in &sampled {
            let row = base.row(i, &mut scratch);
            let factor = factor(row);
            let length = factor * kernels.dot(row, row).sqrt();
            let distance: f64 = row.iter().zip(&centre).map(|(&x, c)| (factor * f64::from(x) - c).powi(2)).sum();
            if length > 0.0 {
                moved += distance.sqrt() / length;
                unmoved += 1.0;
            }
            largest = largest.max(length);
        }
        if moved.partial_cmp(&unmoved) != Some(Ordering::Less) {
            centre.fill(0.0);
        }
        // A file that changes while it is read may have given NaN; any finite scale and centre will do.
        let exponent = if metric != Metric::Cosine && largest > 0.0 { -largest.log2().ceil() } else { 0.0 };
        let scale = exponent.clamp(-300.0, 300.0).exp2();
        for c in &mut centre {
            *c = if c.is_finite() { *c * scale } else { 0.0 };
        }
        let centre_norm = squares(&centre).sqrt();
        let (element, product_error) = (Element::Float32, product_error(Element::Float32, d));
        Self { metric, kernels, element, scale, centre, centre_norm, product_error }
    }

    /// The same space in other numbers.
    pub(crate) fn with_element(&self, element: Element) -> Self {
        Self { element, product_error: product_error(element, self.centre.len()), ..self.clone() }
    }

    /// What a row of this squared norm is multiplied by.
    pub(crate) fn factor(&self, squared_norm: f64) -> f64 {
        if self.metric == Metric::Cosine { self.scale * inverse_norm(squared_norm) } else { self.scale }
    }

    /// Tiles that a block of 16 rows takes.
    pub(crate) fn depth(&self) -> usize {
        depth(self.element, self.centre.len())
    }
}

/// Tiles that 16 rows of `d` values take.
pub(crate) fn depth(element: Element, d: usize) -> usize {
    d.div_ceil(element.per_word()).div_ceil(TILE)
}

/// `c . c`, summed in as many lanes as [`crate::bound`] counts on.
fn squares(values: &[f64]) -> f64 {
    let (body, rest) = values.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for chunk in body {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value * value;
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += value * value;
    }
    sums.iter().sum()
}

fn inverse_norm(squared_norm: f64) -> f64 {
    if squared_norm > 0.0 { 1.0 / squared_norm.sqrt() } else { 0.0 }
}
