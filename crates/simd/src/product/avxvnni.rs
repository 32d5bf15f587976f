//! Signed bytes by AVX-VNNI: 5 or 6 rows with 16 columns at a time, in 10 or 12 of 16 registers.
//!
//! `vpdpbusd` multiplies unsigned bytes by signed ones, so 128 is added to the columns, and taken from the sums again.
#![allow(unsafe_code)]

use std::arch::x86_64::{__m256i, _mm256_dpbusd_avx_epi32};

use bytemuck::cast;
use pulp::x86::V3;

use super::registers::{self, Arithmetic, Pair};
use super::{Operand, Products};
use crate::Tile;

#[derive(Clone, Copy)]
struct Int8(V3);

impl Arithmetic for Int8 {
    type Vector = [__m256i; 2];

    #[inline(always)]
    fn splat(self, word: u32) -> [__m256i; 2] {
        [cast(self.0.splat_u32x8(word)); 2]
    }

    #[inline(always)]
    fn multiply_add(self, rows: [__m256i; 2], columns: [__m256i; 2], sums: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: only `Backend::AvxVnni` selects `int8`, and it exists only where the CPU has these instructions.
        unsafe {
            [
                _mm256_dpbusd_avx_epi32(sums[0], columns[0], rows[0]),
                _mm256_dpbusd_avx_epi32(sums[1], columns[1], rows[1]),
            ]
        }
    }

    #[inline(always)]
    fn prepare(self, columns: [__m256i; 2]) -> [__m256i; 2] {
        let [sign, _] = self.splat(0x8080_8080);
        [self.0.avx2._mm256_xor_si256(columns[0], sign), self.0.avx2._mm256_xor_si256(columns[1], sign)]
    }

    #[inline(always)]
    fn correction(self, tiles: &[Tile], row: usize) -> u32 {
        registers::unsigned_correction(self, tiles, row)
    }

    #[inline(always)]
    fn multiply_pair(self, pair: &mut Pair<'_>) {
        pair.multiply_in_sixteen_registers(self);
    }
}

/// The products of signed bytes. `Backend::AvxVnni` must have selected this.
pub(super) fn int8(simd: V3, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    #[target_feature(enable = "avx2,avxvnni")]
    fn compiled(simd: V3, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
        registers::product(Int8(simd), rows, columns, out);
    }
    // SAFETY: as in `multiply_add`.
    unsafe { compiled(simd, rows, columns, out) }
}
