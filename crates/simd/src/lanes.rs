//! The canonical accumulation: eight interleaved f64 lanes, one reduction.

/// Number of interleaved accumulators. Part of the definition of a score: changing it changes results.
const LANES: usize = 8;

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// `x_j * y_j`
    Product,
    /// `(x_j - y_j)^2`
    SquaredDifference,
}

/// Eight lanes of f64, and how a tier works on them.
pub(crate) trait Wide: Copy {
    type V: Copy;

    fn zero(self) -> Self::V;
    /// The values as f64, which is exact.
    fn load(self, values: &[f32; LANES]) -> Self::V;
    /// `sum + x y`. The product of two f32 is exact in f64, so fusing it with the addition changes nothing.
    fn add_product(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V;
    /// `sum + (x - y)^2`, each of the three operations rounded.
    fn add_squared_difference(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V;
    fn lanes(self, v: Self::V) -> [f64; LANES];
}

/// `sum_j term(x_j, row_j)` for each of `R` rows, in the canonical order.
///
/// All rows are as long as `x` (asserted by the callers).
#[inline(always)]
pub(crate) fn accumulate<W: Wide, const R: usize>(wide: W, x: &[f32], rows: &[&[f32]; R], term: Term) -> [f64; R] {
    let mut sums = [wide.zero(); R];
    let (body, rest) = x.as_chunks::<LANES>();
    let mut bodies: [&[[f32; LANES]]; R] = [&[]; R];
    for r in 0..R {
        bodies[r] = rows[r].as_chunks::<LANES>().0;
    }
    // No closures here: what is not inlined into the tier's entry is compiled without its instructions.
    for (step, xs) in body.iter().enumerate() {
        let xs = wide.load(xs);
        for r in 0..R {
            sums[r] = add(wide, sums[r], xs, wide.load(&bodies[r][step]), term);
        }
    }
    if !rest.is_empty() {
        // Zeros add nothing: a sum that began at zero is never -0.
        let xs = wide.load(&padded(rest));
        for r in 0..R {
            let ys = wide.load(&padded(&rows[r][body.len() * LANES..]));
            sums[r] = add(wide, sums[r], xs, ys, term);
        }
    }
    let mut totals = [0.0; R];
    for r in 0..R {
        let l = wide.lanes(sums[r]);
        totals[r] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
    totals
}

#[inline(always)]
fn add<W: Wide>(wide: W, sum: W::V, x: W::V, y: W::V, term: Term) -> W::V {
    match term {
        Term::Product => wide.add_product(sum, x, y),
        Term::SquaredDifference => wide.add_squared_difference(sum, x, y),
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
pub(crate) struct Plain;

impl Wide for Plain {
    type V = [f64; LANES];

    #[inline(always)]
    fn zero(self) -> Self::V {
        [0.0; LANES]
    }

    #[inline(always)]
    fn load(self, values: &[f32; LANES]) -> Self::V {
        values.map(f64::from)
    }

    #[inline(always)]
    fn add_product(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|l| sum[l] + x[l] * y[l])
    }

    #[inline(always)]
    fn add_squared_difference(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|l| sum[l] + (x[l] - y[l]) * (x[l] - y[l]))
    }

    #[inline(always)]
    fn lanes(self, v: Self::V) -> [f64; LANES] {
        v
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m256d, __m512d};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{LANES, Wide};

    impl Wide for V3 {
        type V = (__m256d, __m256d);

        #[inline(always)]
        fn zero(self) -> Self::V {
            (self.avx._mm256_setzero_pd(), self.avx._mm256_setzero_pd())
        }

        #[inline(always)]
        fn load(self, values: &[f32; LANES]) -> Self::V {
            let all = cast::<[f32; LANES], __m256>(*values);
            let (low, high) = (self.avx._mm256_castps256_ps128(all), self.avx._mm256_extractf128_ps::<1>(all));
            (self.avx._mm256_cvtps_pd(low), self.avx._mm256_cvtps_pd(high))
        }

        #[inline(always)]
        fn add_product(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
            (self.fma._mm256_fmadd_pd(x.0, y.0, sum.0), self.fma._mm256_fmadd_pd(x.1, y.1, sum.1))
        }

        #[inline(always)]
        fn add_squared_difference(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
            let t = (self.avx._mm256_sub_pd(x.0, y.0), self.avx._mm256_sub_pd(x.1, y.1));
            let square = (self.avx._mm256_mul_pd(t.0, t.0), self.avx._mm256_mul_pd(t.1, t.1));
            (self.avx._mm256_add_pd(sum.0, square.0), self.avx._mm256_add_pd(sum.1, square.1))
        }

        #[inline(always)]
        fn lanes(self, v: Self::V) -> [f64; LANES] {
            cast([v.0, v.1])
        }
    }

    impl Wide for V4 {
        type V = __m512d;

        #[inline(always)]
        fn zero(self) -> Self::V {
            self.avx512f._mm512_setzero_pd()
        }

        #[inline(always)]
        fn load(self, values: &[f32; LANES]) -> Self::V {
            self.avx512f._mm512_cvtps_pd(cast::<[f32; LANES], __m256>(*values))
        }

        #[inline(always)]
        fn add_product(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
            self.avx512f._mm512_fmadd_pd(x, y, sum)
        }

        #[inline(always)]
        fn add_squared_difference(self, sum: Self::V, x: Self::V, y: Self::V) -> Self::V {
            let t = self.avx512f._mm512_sub_pd(x, y);
            self.avx512f._mm512_add_pd(sum, self.avx512f._mm512_mul_pd(t, t))
        }

        #[inline(always)]
        fn lanes(self, v: Self::V) -> [f64; LANES] {
            cast(v)
        }
    }
}
