//! Bytes by the dot-product instructions of AVX-VNNI and AVX-512 VNNI, unsigned times signed as they come.
#![allow(unsafe_code)]

use std::arch::x86_64::{__m256i, __m512i, _mm256_dpbusd_avx_epi32, _mm512_dpbusd_epi32};

use bytemuck::cast;
use pulp::x86::{V3, V4};

use super::{AT_ONCE, Bytes, Line};

#[derive(Clone, Copy)]
struct Vnni256(V3);

impl Bytes for Vnni256 {
    type Sums = __m256i;

    #[inline(always)]
    fn zero(self) -> __m256i {
        Bytes::zero(self.0)
    }

    #[inline(always)]
    fn add_products(self, sums: __m256i, x: &Line, y: &Line) -> __m256i {
        let (x, y) = (cast::<Line, [__m256i; 2]>(*x), cast::<Line, [__m256i; 2]>(*y));
        // SAFETY: only `Backend::AvxVnni` selects this, and it exists only where the CPU has these instructions.
        unsafe { _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(sums, y[0], x[0]), y[1], x[1]) }
    }

    #[inline(always)]
    fn totals(self, sums: [__m256i; AT_ONCE]) -> [i32; AT_ONCE] {
        Bytes::totals(self.0, sums)
    }
}

#[derive(Clone, Copy)]
struct Vnni512(V4);

impl Bytes for Vnni512 {
    type Sums = __m512i;

    #[inline(always)]
    fn zero(self) -> __m512i {
        Bytes::zero(self.0)
    }

    #[inline(always)]
    fn add_products(self, sums: __m512i, x: &Line, y: &Line) -> __m512i {
        // SAFETY: only `Backend::Avx512Vnni` and `Backend::Amx` select this, and they exist only where the CPU has these
        // instructions.
        unsafe { _mm512_dpbusd_epi32(sums, cast(*y), cast(*x)) }
    }

    #[inline(always)]
    fn totals(self, sums: [__m512i; AT_ONCE]) -> [i32; AT_ONCE] {
        Bytes::totals(self.0, sums)
    }
}

/// `Backend::AvxVnni` must have selected this.
pub(super) fn products_of_256_bits(simd: V3, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
    #[target_feature(enable = "avx2,fma,avxvnni")]
    fn compiled(simd: V3, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
        super::products(Vnni256(simd), x, rows, ids, out);
    }
    // SAFETY: as in `Vnni256`.
    unsafe { compiled(simd, x, rows, ids, out) }
}

/// `Backend::Avx512Vnni` or `Backend::Amx` must have selected this.
pub(super) fn products_of_512_bits(simd: V4, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn compiled(simd: V4, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
        super::products(Vnni512(simd), x, rows, ids, out);
    }
    // SAFETY: as in `Vnni512`.
    unsafe { compiled(simd, x, rows, ids, out) }
}
