//! Rows made ready for the block product: unit length, f32, packed without gaps.

use mnno_simd::Kernels;
use rayon::prelude::*;

use crate::error::Side;
use crate::{Metric, RowBlock, Rows, SearchError};

/// Rows per task when a panel is packed in parallel.
pub(crate) const PACK_ROWS: usize = 256;

/// `dot(x, x)` of each row of a block, with the checks that make every score defined. `first` is the number of the
/// block's first row, for messages.
pub(crate) fn squared_norms(
    block: RowBlock<'_>,
    first: usize,
    metric: Metric,
    kernels: Kernels,
    side: Side,
    out: &mut [f64],
) -> Result<(), SearchError> {
    for (i, norm) in out.iter_mut().enumerate() {
        let row = block.row(i);
        *norm = kernels.dot(row, row);
        // The squares of finite f32 values cannot overflow f64, so only a bad value makes the sum bad.
        if !norm.is_finite()
            && let Some(column) = row.iter().position(|v| !v.is_finite())
        {
            return Err(SearchError::NonFinite { side, row: first + i, column, value: row[column] });
        }
        if *norm == 0.0 && metric == Metric::Cosine {
            return Err(SearchError::ZeroVector { side, row: first + i });
        }
    }
    Ok(())
}

/// Writes the rows of `block` into `out`, `[n, d]` without gaps, each divided by its norm; a zero row stays zero.
pub(crate) fn unit_rows(block: RowBlock<'_>, squared_norms: &[f64], d: usize, out: &mut [f32]) {
    if d == 0 {
        return;
    }
    for (i, (unit, &norm)) in out.chunks_exact_mut(d).zip(squared_norms).enumerate() {
        let inverse = if norm > 0.0 { 1.0 / norm.sqrt() } else { 0.0 };
        for (u, &x) in unit.iter_mut().zip(block.row(i)) {
            *u = (f64::from(x) * inverse) as f32;
        }
    }
}

/// A run of base rows that all threads search at the same time.
#[derive(Debug)]
pub(crate) struct Panel {
    /// Number of the first row.
    pub(crate) first: usize,
    /// Unit rows, `[n, d]`.
    pub(crate) unit: Vec<f32>,
    /// `dot(b, b)` of each row.
    pub(crate) squared_norms: Vec<f64>,
    /// Weight of each row in the scan.
    pub(crate) weights: Vec<f64>,
    /// Offset of each row in the scan.
    pub(crate) offsets: Vec<f64>,
}

impl Panel {
    pub(crate) fn new() -> Self {
        Self { first: 0, unit: Vec::new(), squared_norms: Vec::new(), weights: Vec::new(), offsets: Vec::new() }
    }

    /// Fills the panel with rows `rows` of `base`, on the current thread pool.
    pub(crate) fn fill(
        &mut self,
        base: &dyn Rows,
        rows: std::ops::Range<usize>,
        metric: Metric,
        kernels: Kernels,
    ) -> Result<(), SearchError> {
        let (n, d) = (rows.len(), base.d());
        self.first = rows.start;
        self.unit.resize(n * d, 0.0);
        self.squared_norms.resize(n, 0.0);
        self.unit
            .par_chunks_mut((PACK_ROWS * d).max(1))
            .zip(self.squared_norms.par_chunks_mut(PACK_ROWS))
            .enumerate()
            .try_for_each_init(Vec::new, |scratch, (task, (unit, norms))| {
                let first = rows.start + task * PACK_ROWS;
                let block = base.block(first..first + norms.len(), scratch);
                squared_norms(block, first, metric, kernels, Side::Base, norms)?;
                unit_rows(block, norms, d, unit);
                Ok(())
            })?;
        let bounds = self.squared_norms.iter().map(|&bb| crate::bound::weight_and_offset(metric, bb));
        (self.weights, self.offsets) = bounds.unzip();
        Ok(())
    }
}
