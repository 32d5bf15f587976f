//! Scores in f32, for what is ranked roughly first: half the work of the canonical ones, and the same on every tier.

use crate::Kernels;
use crate::lanes::Term;
use crate::tier::Backend;

/// Lanes of f32: element `j` goes to lane `j mod 16`.
const LANES: usize = 16;
/// Rows at a time.
const AT_ONCE: usize = 4;

impl Kernels {
    /// `sum_j x_j * y_j` in f32 for each of four rows `y`; each operation is rounded, in an order that all tiers share.
    ///
    /// # Panics
    /// If a length differs from that of `x`.
    ///
    /// # Examples
    /// ```
    /// let kernels = mnno_simd::Kernels::detect();
    /// assert_eq!(kernels.dot_rough(&[1.0, 2.0], [&[3.0, 4.0]; 4]), [11.0; 4]);
    /// ```
    pub fn dot_rough(self, x: &[f32], rows: [&[f32]; AT_ONCE]) -> [f32; AT_ONCE] {
        self.sum_rough(x, rows, Term::Product)
    }

    /// `sum_j (x_j - y_j)^2` in f32, as [`Kernels::dot_rough`].
    ///
    /// # Panics
    /// If a length differs from that of `x`.
    pub fn squared_euclidean_rough(self, x: &[f32], rows: [&[f32]; AT_ONCE]) -> [f32; AT_ONCE] {
        self.sum_rough(x, rows, Term::SquaredDifference)
    }

    fn sum_rough(self, x: &[f32], rows: [&[f32]; AT_ONCE], term: Term) -> [f32; AT_ONCE] {
        for row in rows {
            assert_eq!(x.len(), row.len(), "rows of different length");
        }
        match self.backend() {
            Backend::Portable => sums(Plain, x, &rows, term),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) | Backend::AvxVnni(simd) => simd.vectorize(
                #[inline(always)]
                || sums(simd, x, &rows, term),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) | Backend::Avx512Vnni(simd) | Backend::Amx(simd) => simd.vectorize(
                #[inline(always)]
                || sums(simd, x, &rows, term),
            ),
        }
    }
}

/// Sixteen lanes of f32, and how a tier works on them.
trait Wide: Copy {
    type V: Copy;

    fn load(self, values: &[f32; LANES]) -> Self::V;
    fn add(self, x: Self::V, y: Self::V) -> Self::V;
    fn subtract(self, x: Self::V, y: Self::V) -> Self::V;
    fn multiply(self, x: Self::V, y: Self::V) -> Self::V;
    /// Of each: lanes eight apart are added, then neighbours twice, then the two halves.
    fn totals(self, sums: [Self::V; AT_ONCE]) -> [f32; AT_ONCE];
}

// No closures here: what is not inlined into the tier's entry is compiled without its instructions.
#[inline(always)]
fn sums<W: Wide>(wide: W, x: &[f32], rows: &[&[f32]; AT_ONCE], term: Term) -> [f32; AT_ONCE] {
    let mut sums = [wide.load(&[0.0; LANES]); AT_ONCE];
    let (body, rest) = x.as_chunks::<LANES>();
    let mut bodies: [&[[f32; LANES]]; AT_ONCE] = [&[]; AT_ONCE];
    for r in 0..AT_ONCE {
        bodies[r] = rows[r].as_chunks::<LANES>().0;
    }
    for (step, xs) in body.iter().enumerate() {
        let xs = wide.load(xs);
        for r in 0..AT_ONCE {
            sums[r] = wide.add(sums[r], value(wide, xs, wide.load(&bodies[r][step]), term));
        }
    }
    if !rest.is_empty() {
        let xs = wide.load(&padded(rest));
        for r in 0..AT_ONCE {
            let ys = wide.load(&padded(&rows[r][body.len() * LANES..]));
            sums[r] = wide.add(sums[r], value(wide, xs, ys, term));
        }
    }
    wide.totals(sums)
}

#[inline(always)]
fn value<W: Wide>(wide: W, x: W::V, y: W::V, term: Term) -> W::V {
    match term {
        Term::Product => wide.multiply(x, y),
        Term::SquaredDifference => {
            let difference = wide.subtract(x, y);
            wide.multiply(difference, difference)
        }
    }
}

#[inline(always)]
fn padded(rest: &[f32]) -> [f32; LANES] {
    let mut values = [0.0; LANES];
    values[..rest.len()].copy_from_slice(rest);
    values
}

/// Arrays, for the compiler to make of them what it can.
#[derive(Clone, Copy)]
struct Plain;

impl Wide for Plain {
    type V = [f32; LANES];

    #[inline(always)]
    fn load(self, values: &[f32; LANES]) -> Self::V {
        *values
    }

    #[inline(always)]
    fn add(self, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|l| x[l] + y[l])
    }

    #[inline(always)]
    fn subtract(self, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|l| x[l] - y[l])
    }

    #[inline(always)]
    fn multiply(self, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|l| x[l] * y[l])
    }

    #[inline(always)]
    fn totals(self, sums: [Self::V; AT_ONCE]) -> [f32; AT_ONCE] {
        sums.map(|v| {
            let e: [f32; 8] = std::array::from_fn(|l| v[l] + v[l + 8]);
            ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]))
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128, __m256, __m512};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{AT_ONCE, LANES, Wide};

    impl Wide for V3 {
        type V = [__m256; 2];

        #[inline(always)]
        fn load(self, values: &[f32; LANES]) -> Self::V {
            cast(*values)
        }

        #[inline(always)]
        fn add(self, x: Self::V, y: Self::V) -> Self::V {
            [self.avx._mm256_add_ps(x[0], y[0]), self.avx._mm256_add_ps(x[1], y[1])]
        }

        #[inline(always)]
        fn subtract(self, x: Self::V, y: Self::V) -> Self::V {
            [self.avx._mm256_sub_ps(x[0], y[0]), self.avx._mm256_sub_ps(x[1], y[1])]
        }

        #[inline(always)]
        fn multiply(self, x: Self::V, y: Self::V) -> Self::V {
            [self.avx._mm256_mul_ps(x[0], y[0]), self.avx._mm256_mul_ps(x[1], y[1])]
        }

        #[inline(always)]
        fn totals(self, sums: [Self::V; AT_ONCE]) -> [f32; AT_ONCE] {
            let avx = self.avx;
            let mut eights = [avx._mm256_setzero_ps(); AT_ONCE];
            for r in 0..AT_ONCE {
                eights[r] = avx._mm256_add_ps(sums[r][0], sums[r][1]);
            }
            let (a, b) = (avx._mm256_hadd_ps(eights[0], eights[1]), avx._mm256_hadd_ps(eights[2], eights[3]));
            let [low, high] = cast::<__m256, [__m128; 2]>(avx._mm256_hadd_ps(a, b));
            cast(self.sse._mm_add_ps(low, high))
        }
    }

    impl Wide for V4 {
        type V = __m512;

        #[inline(always)]
        fn load(self, values: &[f32; LANES]) -> Self::V {
            cast(*values)
        }

        #[inline(always)]
        fn add(self, x: Self::V, y: Self::V) -> Self::V {
            self.avx512f._mm512_add_ps(x, y)
        }

        #[inline(always)]
        fn subtract(self, x: Self::V, y: Self::V) -> Self::V {
            self.avx512f._mm512_sub_ps(x, y)
        }

        #[inline(always)]
        fn multiply(self, x: Self::V, y: Self::V) -> Self::V {
            self.avx512f._mm512_mul_ps(x, y)
        }

        #[inline(always)]
        fn totals(self, sums: [Self::V; AT_ONCE]) -> [f32; AT_ONCE] {
            let mut halves = [[self.avx._mm256_setzero_ps(); 2]; AT_ONCE];
            for r in 0..AT_ONCE {
                halves[r] = cast(sums[r]);
            }
            Wide::totals(*self, halves)
        }
    }
}
