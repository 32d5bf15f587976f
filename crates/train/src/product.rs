//! Products of matrices, cut into pieces that do not depend on the number of threads.
//!
//! Every matrix is row-major. A product is cut over rows of its result and never over the dimension that is summed, and each
//! piece is computed by faer on one thread, so that a result has the same bits for any number of threads.

use std::sync::{Mutex, PoisonError};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::Real;

/// Rows of a result that are computed at once.
pub(crate) const ROWS: usize = 64;
/// Rows of a batch that are worth a task of their own.
pub(crate) const SOME_ROWS: usize = 8;

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

    /// Calls `work` with each piece of `rows` rows of `columns` values, and the number of its first row.
    pub(crate) fn over_rows<T: Send>(
        self,
        result: &mut [T],
        (rows, columns): (usize, usize),
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let pieces = result.chunks_mut(rows * columns).enumerate().collect();
        self.run(pieces, |(piece, part)| work(piece * rows, part));
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

/// `to[columns][rows]` from `from[rows][columns]`.
pub(crate) fn transpose<T: Real>(from: &[T], rows: usize, columns: usize, to: &mut [T], pieces: Pieces) {
    // Squares of this side fit the cache: whole columns would touch a new line with every value.
    const SIDE: usize = 8;
    let bands = to[..rows * columns].chunks_mut(SIDE * rows).enumerate().collect();
    pieces.run(bands, |(band, to)| {
        let column = band * SIDE;
        let wide = to.len() / rows;
        for (block, from) in from.chunks(SIDE * columns).enumerate() {
            for (r, from) in from.chunks_exact(columns).enumerate() {
                let place = block * SIDE + r;
                for (c, &value) in from[column..column + wide].iter().enumerate() {
                    to[c * rows + place] = value;
                }
            }
        }
    });
}

/// Buffers that are used again, so that the system is not asked for memory at every step.
#[derive(Debug)]
pub(crate) struct Spare<T>(Mutex<Vec<Vec<T>>>);

impl<T: Real> Spare<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Calls `work` with a buffer of `length` numbers, whatever they are.
    pub(crate) fn with<R>(&self, length: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
        // A buffer is lost if `work` panics, and nothing else.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = lock().pop().unwrap_or_default();
        if buffer.len() < length {
            buffer.resize(length, T::default());
        }
        let result = work(&mut buffer[..length]);
        lock().push(buffer);
        result
    }
}
