//! Bytes by AVX2 and AVX-512: widened to 16 bits, and multiplied there.

use std::arch::x86_64::{__m128i, __m256i, __m512i};

use pulp::cast;
use pulp::x86::{V3, V4};

use super::{AT_ONCE, Bytes, Line};

impl Bytes for V3 {
    type Sums = __m256i;

    #[inline(always)]
    fn zero(self) -> __m256i {
        self.avx._mm256_setzero_si256()
    }

    #[inline(always)]
    fn add_products(self, mut sums: __m256i, x: &Line, y: &Line) -> __m256i {
        let avx2 = self.avx2;
        let (x, y) = (cast::<Line, [__m128i; 4]>(*x), cast::<Line, [__m128i; 4]>(*y));
        for part in 0..4 {
            let (x, y) = (avx2._mm256_cvtepi8_epi16(x[part]), avx2._mm256_cvtepu8_epi16(y[part]));
            sums = avx2._mm256_add_epi32(sums, avx2._mm256_madd_epi16(x, y));
        }
        sums
    }

    #[inline(always)]
    fn totals(self, sums: [__m256i; AT_ONCE]) -> [i32; AT_ONCE] {
        totals(self, sums)
    }
}

impl Bytes for V4 {
    type Sums = __m512i;

    #[inline(always)]
    fn zero(self) -> __m512i {
        self.avx512f._mm512_setzero_si512()
    }

    #[inline(always)]
    fn add_products(self, mut sums: __m512i, x: &Line, y: &Line) -> __m512i {
        let bw = self.avx512bw;
        let (x, y) = (cast::<Line, [__m256i; 2]>(*x), cast::<Line, [__m256i; 2]>(*y));
        for part in 0..2 {
            let products = bw._mm512_madd_epi16(bw._mm512_cvtepi8_epi16(x[part]), bw._mm512_cvtepu8_epi16(y[part]));
            sums = self.avx512f._mm512_add_epi32(sums, products);
        }
        sums
    }

    #[inline(always)]
    fn totals(self, sums: [__m512i; AT_ONCE]) -> [i32; AT_ONCE] {
        let mut halves = [self.avx._mm256_setzero_si256(); AT_ONCE];
        for r in 0..AT_ONCE {
            let [low, high] = cast::<__m512i, [__m256i; 2]>(sums[r]);
            halves[r] = self.avx2._mm256_add_epi32(low, high);
        }
        totals(*self, halves)
    }
}

/// Four sums of eight.
#[inline(always)]
pub(super) fn totals(simd: V3, sums: [__m256i; AT_ONCE]) -> [i32; AT_ONCE] {
    let avx2 = simd.avx2;
    let (a, b) = (avx2._mm256_hadd_epi32(sums[0], sums[1]), avx2._mm256_hadd_epi32(sums[2], sums[3]));
    let [low, high] = cast::<__m256i, [__m128i; 2]>(avx2._mm256_hadd_epi32(a, b));
    cast(simd.sse2._mm_add_epi32(low, high))
}
