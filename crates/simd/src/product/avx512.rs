//! f32 by AVX-512: 12 rows with 32 columns at a time, in 24 of 32 registers.

use pulp::f32x16;
use pulp::x86::V4;

use super::registers::{self, Arithmetic, Pair};
use super::{Operand, Products};

#[derive(Clone, Copy)]
struct Float32(V4);

impl Arithmetic for Float32 {
    type Vector = f32x16;

    #[inline(always)]
    fn splat(self, word: u32) -> f32x16 {
        self.0.splat_f32x16(f32::from_bits(word))
    }

    #[inline(always)]
    fn multiply_add(self, rows: f32x16, columns: f32x16, sums: f32x16) -> f32x16 {
        self.0.mul_add_f32x16(rows, columns, sums)
    }

    #[inline(always)]
    fn multiply_pair(self, pair: &mut Pair<'_>) {
        pair.multiply::<_, 0, 12, 2>(self, 0);
        pair.multiply::<_, 12, 12, 2>(self, 0);
        pair.multiply::<_, 24, 8, 2>(self, 0);
    }
}

/// The products of f32.
pub(super) fn float32(simd: V4, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    simd.vectorize(
        #[inline(always)]
        || registers::product(Float32(simd), rows, columns, out),
    );
}
