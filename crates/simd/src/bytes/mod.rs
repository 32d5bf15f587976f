//! Products of one row of bytes with some of many: what a walk over a graph compares.

#[cfg(target_arch = "x86_64")]
mod vnni;
#[cfg(target_arch = "x86_64")]
mod x86;

use bytemuck::{Pod, Zeroable};

use crate::tier::Backend;
use crate::{Kernels, TILE};

/// A cache line of 64 bytes, in words of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Line(pub [u32; TILE]);

impl Line {
    /// All bytes zero.
    pub const ZERO: Self = Self([0; TILE]);
    /// All bytes 128: what stands for zero in rows.
    const ORIGIN: Self = Self([0x8080_8080; TILE]);
}

/// Rows multiplied at a time.
const AT_ONCE: usize = 4;

impl Kernels {
    /// The dot products of `x`, signed bytes, with the rows numbered `ids`, exact in i32 for up to 133,144 values.
    ///
    /// `rows` holds rows as long as `x`, one after the other, of bytes to which 128 was added. A byte that stands for
    /// nothing is zero in `x`.
    ///
    /// # Panics
    /// If a row does not lie in `rows`.
    ///
    /// # Examples
    /// ```
    /// use mnno_simd::{Kernels, Line};
    /// let line = |bytes: [u8; 4]| [Line([u32::from_ne_bytes(bytes); 16])];
    /// let mut products = Vec::new();
    /// let (x, row) = (line([1, 2, 0, 255]), line([129, 130, 128, 131]));
    /// Kernels::detect().dot_bytes(&x, &row, &[0], &mut products);
    /// assert_eq!(products, [16 * (1 + 2 * 2 - 3)]);
    /// ```
    pub fn dot_bytes(self, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
        match self.backend() {
            Backend::Portable => products(Plain, x, rows, ids, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) => simd.vectorize(
                #[inline(always)]
                || products(simd, x, rows, ids, out),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) => simd.vectorize(
                #[inline(always)]
                || products(simd, x, rows, ids, out),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::AvxVnni(simd) => vnni::products_of_256_bits(simd, x, rows, ids, out),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Vnni(simd) | Backend::Amx(simd) => vnni::products_of_512_bits(simd, x, rows, ids, out),
        }
    }
}

/// Sums of products of bytes, and how a tier makes them.
trait Bytes: Copy {
    type Sums: Copy;

    fn zero(self) -> Self::Sums;
    /// Signed times unsigned.
    fn add_products(self, sums: Self::Sums, x: &Line, y: &Line) -> Self::Sums;
    fn totals(self, sums: [Self::Sums; AT_ONCE]) -> [i32; AT_ONCE];
}

// No closures here: what is not inlined into the tier's entry is compiled without its instructions.
#[inline(always)]
fn products<B: Bytes>(bytes: B, x: &[Line], rows: &[Line], ids: &[u32], out: &mut Vec<i32>) {
    let mut sums = [bytes.zero(); AT_ONCE];
    for line in x {
        sums[0] = bytes.add_products(sums[0], line, &Line::ORIGIN);
    }
    let origin = bytes.totals(sums)[0];
    out.clear();
    out.reserve(ids.len().next_multiple_of(AT_ONCE));
    let (fours, rest) = ids.as_chunks::<AT_ONCE>();
    for four in fours {
        out.extend_from_slice(&products_of_four(bytes, x, rows, four, origin));
    }
    if let Some(&last) = rest.last() {
        let mut four = [last; AT_ONCE];
        four[..rest.len()].copy_from_slice(rest);
        let products = products_of_four(bytes, x, rows, &four, origin);
        out.extend_from_slice(&products[..rest.len()]);
    }
}

#[inline(always)]
fn products_of_four<B: Bytes>(
    bytes: B,
    x: &[Line],
    rows: &[Line],
    four: &[u32; AT_ONCE],
    origin: i32,
) -> [i32; AT_ONCE] {
    let mut lines: [&[Line]; AT_ONCE] = [&[]; AT_ONCE];
    for r in 0..AT_ONCE {
        let begin = four[r] as usize * x.len();
        lines[r] = &rows[begin..begin + x.len()];
    }
    let mut sums = [bytes.zero(); AT_ONCE];
    for step in 0..x.len() {
        for r in 0..AT_ONCE {
            sums[r] = bytes.add_products(sums[r], &x[step], &lines[r][step]);
        }
    }
    let mut totals = bytes.totals(sums);
    for total in &mut totals {
        // Exact modulo 2^32, as is the whole.
        *total = total.wrapping_sub(origin);
    }
    totals
}

/// Words, for the compiler to make of them what it can.
#[derive(Clone, Copy)]
struct Plain;

impl Bytes for Plain {
    type Sums = [i32; TILE];

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; TILE]
    }

    #[inline(always)]
    fn add_products(self, mut sums: Self::Sums, x: &Line, y: &Line) -> Self::Sums {
        let (x, y) = (bytemuck::cast_ref::<_, [[i8; 4]; TILE]>(&x.0), bytemuck::cast_ref::<_, [[u8; 4]; TILE]>(&y.0));
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            for (&x, &y) in x.iter().zip(y) {
                *sum = sum.wrapping_add(i32::from(x) * i32::from(y));
            }
        }
        sums
    }

    #[inline(always)]
    fn totals(self, sums: [Self::Sums; AT_ONCE]) -> [i32; AT_ONCE] {
        sums.map(|sums| sums.into_iter().fold(0, i32::wrapping_add))
    }
}
