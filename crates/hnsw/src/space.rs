//! The space that a graph is built in: one in which nearness is a distance.

use std::ops::Range;

use mnno_exact::{Metric, RowBlock, Rows};

use crate::points::Points;

/// The distinct rows, under the cosine or the Euclidean distance. For the inner product rows get one more value, which makes
/// them equally long: then the nearest by distance are those of the largest product with a query that has a zero there
/// (Neyshabur and Srebro 2015).
pub(crate) struct Space<'a> {
    points: &'a Points<'a>,
    /// The last value of each row, under the inner product.
    last: Option<Vec<f32>>,
    /// Multiplies rows that have a last value: a power of two that makes the longest about 1, so that nothing leaves f32.
    scale: f64,
    /// Squared norm of such rows.
    longest: f64,
}

/// A power of two that makes the longest of rows with these squared norms about 1 when it multiplies them.
pub(crate) fn unit(squared_norms: &[f64]) -> f64 {
    let longest = squared_norms.iter().copied().fold(0.0, f64::max);
    if longest > 0.0 { (-0.5 * longest.log2()).round().exp2() } else { 1.0 }
}

impl<'a> Space<'a> {
    pub(crate) fn new(points: &'a Points<'a>) -> Self {
        let longest = points.squared_norms.iter().copied().fold(0.0, f64::max);
        let scale = unit(points.squared_norms);
        let last = (points.metric == Metric::InnerProduct).then(|| {
            points.squared_norms.iter().map(|norm| ((longest - norm).max(0.0).sqrt() * scale) as f32).collect()
        });
        Self { points, last, scale, longest: longest * scale * scale }
    }

    pub(crate) fn metric(&self) -> Metric {
        if self.points.metric == Metric::Cosine { Metric::Cosine } else { Metric::SquaredEuclidean }
    }

    /// The squared distance, of unit rows under the cosine, for a canonical score.
    pub(crate) fn squared_distance(&self, score: f64) -> f64 {
        if self.metric() == Metric::Cosine { 2.0 - 2.0 * score } else { score }
    }

    /// What a difference of squared distances is as a difference of scores, of products.
    pub(crate) fn score(&self, difference: f64) -> f64 {
        0.5 * difference / if self.last.is_some() { self.scale * self.scale } else { 1.0 }
    }

    pub(crate) fn squared_norm(&self, node: u32) -> f64 {
        if self.last.is_some() { self.longest } else { self.points.squared_norms[node as usize] }
    }

    /// Squared distances of a row with others, given their squared norms.
    pub(crate) fn distances<const R: usize>(
        &self,
        x: &[f32],
        rows: [&[f32]; R],
        squared_norm: f64,
        squared_norms: [f64; R],
    ) -> [f64; R] {
        let scores = self.metric().scores(self.points.kernels, x, rows, squared_norm, squared_norms);
        scores.map(|score| self.squared_distance(score))
    }

    /// As [`Space::distances`], of four rows in f32.
    pub(crate) fn rough_distances(
        &self,
        x: &[f32],
        rows: [&[f32]; 4],
        squared_norm: f64,
        squared_norms: [f64; 4],
    ) -> [f64; 4] {
        let kernels = self.points.kernels;
        if self.metric() == Metric::Cosine {
            let products = kernels.dot_rough(x, rows);
            std::array::from_fn(|i| 2.0 - 2.0 * f64::from(products[i]) / (squared_norm * squared_norms[i]).sqrt())
        } else {
            kernels.squared_euclidean_rough(x, rows).map(f64::from)
        }
    }

    pub(crate) fn distance_between(&self, a: u32, b: u32) -> f64 {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let (x, y) = (self.row(a as usize, &mut first), self.row(b as usize, &mut second));
        self.distances(x, [y], self.squared_norm(a), [self.squared_norm(b)])[0]
    }
}

impl Rows for Space<'_> {
    fn n(&self) -> usize {
        self.points.equal.groups()
    }

    fn d(&self) -> usize {
        self.points.base.d() + usize::from(self.last.is_some())
    }

    fn borrowed(&self, i: usize) -> Option<&[f32]> {
        if self.last.is_some() { None } else { self.points.base.borrowed(self.points.equal.first(i) as usize) }
    }

    fn block<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> RowBlock<'a> {
        let (n, d) = (rows.len(), self.d());
        scratch.clear();
        let mut one = Vec::new();
        for node in rows {
            let row = self.points.row(node as u32, &mut one);
            match &self.last {
                Some(last) => {
                    scratch.extend(row.iter().map(|&x| (f64::from(x) * self.scale) as f32));
                    scratch.push(last[node]);
                }
                None => scratch.extend_from_slice(row),
            }
        }
        RowBlock::new(scratch, n, d, d)
    }
}
