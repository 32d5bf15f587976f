//! Products of matrices, cut into pieces that do not depend on the number of threads.
//!
//! Every matrix is row-major. A product is cut over rows of its result and never over the dimension that is summed, and each
//! piece is computed by faer on one thread, so that a result has the same bits for any number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::Real;

/// Rows of a result that are computed at once.
pub(crate) const ROWS: usize = 64;

/// Which threads the pieces of a product run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// The calling thread, one after the other: for maps that are trained side by side.
    InTurn,
    /// Those of the current rayon pool.
    Parallel,
}

impl Pieces {
    /// Calls `work` with each item.
    pub(crate) fn run<I: Send>(self, items: Vec<I>, work: impl Fn(I) + Send + Sync) {
        match self {
            Self::Parallel if items.len() > 1 && rayon::current_num_threads() > 1 => {
                items.into_par_iter().with_max_len(1).for_each(work);
            }
            _ => items.into_iter().for_each(work),
        }
    }

    /// Calls `work` with the number of its first row and each piece of [`ROWS`] rows of `columns` values.
    pub(crate) fn over_rows<T: Send>(
        self,
        result: &mut [T],
        columns: usize,
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let pieces = result.chunks_mut(ROWS * columns).enumerate().collect();
        self.run(pieces, |(piece, rows)| work(piece * ROWS, rows));
    }
}

/// A matrix `[rows, columns]`, or its transpose.
pub(crate) fn view<T>(values: &[T], rows: usize, columns: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(values, rows, columns)
}

/// `result = a b`, on the calling thread.
pub(crate) fn multiply<T: Real>(result: &mut [T], a: MatRef<'_, T>, b: MatRef<'_, T>) {
    let result = MatMut::from_row_major_slice_mut(result, a.nrows(), b.ncols());
    matmul(result, Accum::Replace, a, b, T::of(1.0), Par::Seq);
}

/// `to[columns][rows]` from `from[rows][columns]`, of which `to` takes the first `rows`.
pub(crate) fn transpose<T: Copy>(from: &[T], rows: usize, columns: usize, to: &mut [T]) {
    // Squares that fit the cache: whole columns would touch a new line with every value.
    const SIDE: usize = 16;
    for row in (0..rows).step_by(SIDE) {
        for column in (0..columns).step_by(SIDE) {
            for r in row..rows.min(row + SIDE) {
                for c in column..columns.min(column + SIDE) {
                    to[c * rows + r] = from[r * columns + c];
                }
            }
        }
    }
}
