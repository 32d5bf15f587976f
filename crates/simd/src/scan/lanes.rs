//! The few vector operations that the scan is written in.

/// A vector of f32, and how this tier works on it.
pub(super) trait Lanes: Copy {
    /// A vector.
    type V: Copy;
    /// Lanes per vector, at most 16.
    const WIDTH: usize;

    fn splat(self, value: f32) -> Self::V;
    /// The first lanes of `values`.
    fn load(self, values: &[f32]) -> Self::V;
    /// The first products: bits of f32, or of i32 that are converted.
    fn load_product<const INT: bool>(self, words: &[u32]) -> Self::V;
    fn store(self, vector: Self::V, out: &mut [f32]);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller lanes; those of `b` where they are unordered.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bit `l` is set where lane `l` of `a` is at least that of `b`; unordered lanes are not.
    fn reaches(self, a: Self::V, b: Self::V) -> u32;
}

/// Arrays, for the compiler to make of them what it can.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Lanes for Plain {
    type V = [f32; 4];
    const WIDTH: usize = 4;

    #[inline(always)]
    fn splat(self, value: f32) -> Self::V {
        [value; Self::WIDTH]
    }

    #[inline(always)]
    fn load(self, values: &[f32]) -> Self::V {
        first(values)
    }

    #[inline(always)]
    fn load_product<const INT: bool>(self, words: &[u32]) -> Self::V {
        let words: [u32; Self::WIDTH] = first(words);
        if INT { words.map(|w| w.cast_signed() as f32) } else { words.map(f32::from_bits) }
    }

    #[inline(always)]
    fn store(self, vector: Self::V, out: &mut [f32]) {
        out[..Self::WIDTH].copy_from_slice(&vector);
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] + b[l])
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] - b[l])
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| a[l] * b[l])
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|l| if a[l] < b[l] { a[l] } else { b[l] })
    }

    #[inline(always)]
    fn reaches(self, a: Self::V, b: Self::V) -> u32 {
        (0..Self::WIDTH).map(|l| u32::from(a[l] >= b[l]) << l).sum()
    }
}

#[inline(always)]
fn first<T: Copy, const N: usize>(values: &[T]) -> [T; N] {
    *values.first_chunk().expect("whole vectors")
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m256i, __m512, __m512i, _CMP_GE_OQ};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{Lanes, first};

    impl Lanes for V3 {
        type V = __m256;
        const WIDTH: usize = 8;

        #[inline(always)]
        fn splat(self, value: f32) -> __m256 {
            self.avx._mm256_set1_ps(value)
        }

        #[inline(always)]
        fn load(self, values: &[f32]) -> __m256 {
            cast::<[f32; 8], __m256>(first(values))
        }

        #[inline(always)]
        fn load_product<const INT: bool>(self, words: &[u32]) -> __m256 {
            let words: [u32; 8] = first(words);
            if INT { self.avx._mm256_cvtepi32_ps(cast::<_, __m256i>(words)) } else { cast(words) }
        }

        #[inline(always)]
        fn store(self, vector: __m256, out: &mut [f32]) {
            *out.first_chunk_mut().expect("whole vectors") = cast::<__m256, [f32; 8]>(vector);
        }

        #[inline(always)]
        fn add(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_add_ps(a, b)
        }

        #[inline(always)]
        fn sub(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_sub_ps(a, b)
        }

        #[inline(always)]
        fn mul(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_mul_ps(a, b)
        }

        #[inline(always)]
        fn min(self, a: __m256, b: __m256) -> __m256 {
            self.avx._mm256_min_ps(a, b)
        }

        #[inline(always)]
        fn reaches(self, a: __m256, b: __m256) -> u32 {
            self.avx._mm256_movemask_ps(self.avx._mm256_cmp_ps::<_CMP_GE_OQ>(a, b)).cast_unsigned()
        }
    }

    impl Lanes for V4 {
        type V = __m512;
        const WIDTH: usize = 16;

        #[inline(always)]
        fn splat(self, value: f32) -> __m512 {
            self.avx512f._mm512_set1_ps(value)
        }

        #[inline(always)]
        fn load(self, values: &[f32]) -> __m512 {
            cast::<[f32; 16], __m512>(first(values))
        }

        #[inline(always)]
        fn load_product<const INT: bool>(self, words: &[u32]) -> __m512 {
            let words: [u32; 16] = first(words);
            if INT { self.avx512f._mm512_cvtepi32_ps(cast::<_, __m512i>(words)) } else { cast(words) }
        }

        #[inline(always)]
        fn store(self, vector: __m512, out: &mut [f32]) {
            *out.first_chunk_mut().expect("whole vectors") = cast::<__m512, [f32; 16]>(vector);
        }

        #[inline(always)]
        fn add(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_add_ps(a, b)
        }

        #[inline(always)]
        fn sub(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_sub_ps(a, b)
        }

        #[inline(always)]
        fn mul(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_mul_ps(a, b)
        }

        #[inline(always)]
        fn min(self, a: __m512, b: __m512) -> __m512 {
            self.avx512f._mm512_min_ps(a, b)
        }

        #[inline(always)]
        fn reaches(self, a: __m512, b: __m512) -> u32 {
            u32::from(self.avx512f._mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b))
        }
    }
}
