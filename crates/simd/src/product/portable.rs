//! Products by faer, which brings its own kernels for what the CPU has.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{Operand, Products};
use crate::TILE;

/// The products of interleaved f32 operands.
pub(super) fn float32(rows: Operand<'_>, columns: Operand<'_>, out: &mut Products<'_>) {
    let words = rows.depth() * TILE;
    let (m, n) = (rows.blocks * TILE, columns.blocks * TILE);
    let (lhs, rhs): (&[f32], &[f32]) = (bytemuck::cast_slice(rows.tiles), bytemuck::cast_slice(columns.tiles));
    let stride = out.stride;
    let words_out = &mut out.words[..(m - 1) * stride + n];
    matmul(
        // The row-major constructor with a stride exchanges its strides in faer 0.24 and writes out of bounds.
        MatMut::from_column_major_slice_with_stride_mut(bytemuck::cast_slice_mut(words_out), n, m, stride)
            .transpose_mut(),
        Accum::Replace,
        MatRef::from_row_major_slice(lhs, words, m).transpose(),
        MatRef::from_row_major_slice(rhs, words, n),
        1.0,
        // faer's parallel product has an open report of wrong elements (faer-rs#175); the threads are ours.
        Par::Seq,
    );
}
