//! Signed bytes by AVX-512 VNNI: 12 rows with 32 columns at a time, in 24 of 32 registers.
//!
//! `vpdpbusd` multiplies unsigned bytes by signed ones, so 128 is added to the columns, and taken from the sums again.
#![allow(unsafe_code)]

use std::arch::x86_64::{__m512i, _mm512_dpbusd_epi32};

use bytemuck::cast;
use pulp::x86::V4;

use super::registers::{self, Arithmetic, Pair};
use super::{Operand, Products};
use crate::Tile;

#[derive(Clone, Copy)]
struct Int8(V4);

impl Arithmetic for Int8 {
    type Vector = __m512i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m512i {
        cast(self.0.splat_u32x16(word))
    }

    #[inline(always)]
    fn multiply_add(self, rows: __m512i, columns: __m512i, sums: __m512i) -> __m512i {
        // SAFETY: only `Backend::Avx512Vnni` selects `int8`, and it exists only where the CPU has these instructions.
        unsafe { _mm512_dpbusd_epi32(sums, columns, rows) }
    }

    #[inline(always)]
    fn prepare(self, columns: __m512i) -> __m512i {
        self.0.avx512f._mm512_xor_si512(columns, self.splat(0x8080_8080))
    }

    #[inline(always)]
    fn correction(self, tiles: &[Tile], row: usize) -> u32 {
        registers::unsigned_correction(self, tiles, row)
    }

    #[inline(always)]
    fn multiply_pair(self, pair: &mut Pair<'_>) {
        pair.multiply::<_, 0, 12, 2>(self, 0);
        pair.multiply::<_, 12, 12, 2>(self, 0);
        pair.multiply::<_, 24, 8, 2>(self, 0);
    }
}

/// The products of signed bytes. `Backend::Avx512Vnni` must have selected this.
pub(super) fn int8(simd: V4, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn compiled(simd: V4, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
        registers::product(Int8(simd), rows, columns, out);
    }
    // SAFETY: as in `multiply_add`.
    unsafe { compiled(simd, rows, columns, out) }
}
