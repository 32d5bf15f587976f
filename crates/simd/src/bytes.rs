//! Dot products of signed bytes, one row with a few others: what a walk over a graph compares.

use crate::Kernels;
use crate::tier::Backend;

impl Kernels {
    /// Dot products of `x` with each of `R` rows, exact in i32 for up to 133,144 values.
    ///
    /// # Panics
    /// If a length differs from that of `x`.
    ///
    /// # Examples
    /// ```
    /// let kernels = mnno_simd::Kernels::detect();
    /// assert_eq!(kernels.dot_bytes(&[1, -2], [&[3, 4], &[-128, 127]]), [-5, -382]);
    /// ```
    pub fn dot_bytes<const R: usize>(self, x: &[i8], rows: [&[i8]; R]) -> [i32; R] {
        for row in rows {
            assert_eq!(x.len(), row.len(), "rows of different length");
        }
        match self.backend() {
            Backend::Portable => products(Plain, x, &rows),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) | Backend::AvxVnni(simd) => simd.vectorize(
                #[inline(always)]
                || products(simd, x, &rows),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) | Backend::Avx512Vnni(simd) | Backend::Amx(simd) => simd.vectorize(
                #[inline(always)]
                || products(simd, x, &rows),
            ),
        }
    }
}

/// Bytes multiplied at a time.
const LANES: usize = 32;

/// Sums of products of 32 bytes, and how a tier makes them.
trait Bytes: Copy {
    type Sums: Copy;

    fn zero(self) -> Self::Sums;
    fn add_products(self, sums: Self::Sums, x: &[i8; LANES], y: &[i8; LANES]) -> Self::Sums;
    fn total(self, sums: Self::Sums) -> i32;
}

#[inline(always)]
fn products<B: Bytes, const R: usize>(bytes: B, x: &[i8], rows: &[&[i8]; R]) -> [i32; R] {
    let (body, rest) = x.as_chunks::<LANES>();
    let mut sums = [bytes.zero(); R];
    let mut bodies: [&[[i8; LANES]]; R] = [&[]; R];
    for r in 0..R {
        bodies[r] = rows[r].as_chunks::<LANES>().0;
    }
    // No closures here: what is not inlined into the tier's entry is compiled without its instructions.
    for (step, xs) in body.iter().enumerate() {
        for r in 0..R {
            sums[r] = bytes.add_products(sums[r], xs, &bodies[r][step]);
        }
    }
    let mut totals = [0; R];
    for r in 0..R {
        totals[r] = bytes.total(sums[r]);
        for (&a, &b) in rest.iter().zip(&rows[r][body.len() * LANES..]) {
            totals[r] += i32::from(a) * i32::from(b);
        }
    }
    totals
}

/// Arrays, for the compiler to make of them what it can.
#[derive(Clone, Copy)]
struct Plain;

impl Bytes for Plain {
    type Sums = [i32; LANES];

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; LANES]
    }

    #[inline(always)]
    fn add_products(self, sums: Self::Sums, x: &[i8; LANES], y: &[i8; LANES]) -> Self::Sums {
        std::array::from_fn(|l| sums[l] + i32::from(x[l]) * i32::from(y[l]))
    }

    #[inline(always)]
    fn total(self, sums: Self::Sums) -> i32 {
        sums.iter().sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Bytes, LANES};

    impl Bytes for V3 {
        type Sums = __m256i;

        #[inline(always)]
        fn zero(self) -> __m256i {
            self.avx._mm256_setzero_si256()
        }

        #[inline(always)]
        fn add_products(self, sums: __m256i, x: &[i8; LANES], y: &[i8; LANES]) -> __m256i {
            let (x, y) = (cast::<[i8; LANES], [__m128i; 2]>(*x), cast::<[i8; LANES], [__m128i; 2]>(*y));
            let avx2 = self.avx2;
            let low = avx2._mm256_madd_epi16(avx2._mm256_cvtepi8_epi16(x[0]), avx2._mm256_cvtepi8_epi16(y[0]));
            let high = avx2._mm256_madd_epi16(avx2._mm256_cvtepi8_epi16(x[1]), avx2._mm256_cvtepi8_epi16(y[1]));
            avx2._mm256_add_epi32(sums, avx2._mm256_add_epi32(low, high))
        }

        #[inline(always)]
        fn total(self, sums: __m256i) -> i32 {
            cast::<__m256i, [i32; 8]>(sums).iter().sum()
        }
    }

    impl Bytes for V4 {
        type Sums = __m512i;

        #[inline(always)]
        fn zero(self) -> __m512i {
            self.avx512f._mm512_setzero_si512()
        }

        #[inline(always)]
        fn add_products(self, sums: __m512i, x: &[i8; LANES], y: &[i8; LANES]) -> __m512i {
            let (x, y) = (cast::<[i8; LANES], __m256i>(*x), cast::<[i8; LANES], __m256i>(*y));
            let bw = self.avx512bw;
            let products = bw._mm512_madd_epi16(bw._mm512_cvtepi8_epi16(x), bw._mm512_cvtepi8_epi16(y));
            self.avx512f._mm512_add_epi32(sums, products)
        }

        #[inline(always)]
        fn total(self, sums: __m512i) -> i32 {
            cast::<__m512i, [i32; 16]>(sums).iter().sum()
        }
    }
}
