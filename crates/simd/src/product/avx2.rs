//! f32 by AVX2 and FMA: 5 or 6 rows with 16 columns at a time, in 10 or 12 of 16 registers.

use pulp::f32x8;
use pulp::x86::V3;

use super::registers::{self, Arithmetic, Pair};
use super::{Operand, Products};

#[derive(Clone, Copy)]
struct Float32(V3);

impl Arithmetic for Float32 {
    type Vector = [f32x8; 2];

    #[inline(always)]
    fn splat(self, word: u32) -> [f32x8; 2] {
        [self.0.splat_f32x8(f32::from_bits(word)); 2]
    }

    #[inline(always)]
    fn multiply_add(self, rows: [f32x8; 2], columns: [f32x8; 2], sums: [f32x8; 2]) -> [f32x8; 2] {
        [self.0.mul_add_f32x8(rows[0], columns[0], sums[0]), self.0.mul_add_f32x8(rows[1], columns[1], sums[1])]
    }

    #[inline(always)]
    fn multiply_pair(self, pair: &mut Pair<'_>) {
        pair.multiply_in_sixteen_registers(self);
    }
}

/// The products of f32.
pub(super) fn float32(simd: V3, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    simd.vectorize(
        #[inline(always)]
        || registers::product(Float32(simd), rows, columns, out),
    );
}
