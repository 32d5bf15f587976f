//! Kernels of the mnno engine, and their only run-time dispatch.
//!
//! Two rules make the engine's answers independent of the machine:
//!
//! - **One order.** [`Kernels::dot`] and [`Kernels::squared_euclidean`] accumulate in eight interleaved f64 lanes
//!   (element `j` goes to lane `j mod 8`), reduced as `((0+4)+(2+6))+((1+5)+(3+7))`. Wider registers hold more lanes
//!   at once but never another order, so every tier gives the same bits. A product of two f32 is exact in f64, so a
//!   fused multiply-add would not change `dot` either.
//! - **One dispatch.** [`Tier`] names an instruction set, [`Kernels`] is the proof that this CPU has it. Whoever holds
//!   a `Kernels` calls without asking again.
//!
//! What is bound by arithmetic is written in the instructions of each tier, by pulp's safe wrappers of the intrinsics, or in
//! `product/` and `bytes/` by intrinsics and assembly; with `cpu.rs` and `prefetch.rs` the only unsafe code of the engine. The rest is plain loops over fixed-size
//! arrays, compiled for each tier by pulp.
// A kernel is compiled for a tier only where it is inlined into that tier's entry.
#![allow(clippy::inline_always)]

mod bytes;
#[cfg(target_arch = "x86_64")]
mod cpu;
mod lanes;
mod prefetch;
mod product;
mod quantise;
mod rough;
mod scan;
mod tier;
mod tile;

pub use bytes::Line;
use lanes::{Plain, Term};
pub use prefetch::prefetch;
pub use product::{Operand, Products};
pub use quantise::{Frame, Quantised};
pub use scan::{Cell, GROUP, Hit, Side};
use tier::Backend;
pub use tier::{Kernels, Tier, UnavailableTier};
pub use tile::{Element, TILE, Tile};

impl Kernels {
    /// `sum_j x_j * y_j` in f64, in the canonical order.
    ///
    /// NaN and infinities follow IEEE arithmetic. Empty rows give 0.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// # Examples
    /// ```
    /// let kernels = mnno_simd::Kernels::detect();
    /// assert_eq!(kernels.dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
    /// ```
    pub fn dot(self, x: &[f32], y: &[f32]) -> f64 {
        self.dot_many(x, [y])[0]
    }

    /// [`Kernels::dot`] of `x` with each of `R` rows, bit for bit; several chains of additions run at once.
    ///
    /// # Panics
    /// If a length differs from that of `x`.
    pub fn dot_many<const R: usize>(self, x: &[f32], rows: [&[f32]; R]) -> [f64; R] {
        self.accumulate(x, rows, Term::Product)
    }

    /// `sum_j (x_j - y_j)^2` in f64, in the canonical order; difference, square and sum are each rounded.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// # Examples
    /// ```
    /// let kernels = mnno_simd::Kernels::detect();
    /// assert_eq!(kernels.squared_euclidean(&[1.0, 2.0], &[4.0, 6.0]), 25.0);
    /// ```
    pub fn squared_euclidean(self, x: &[f32], y: &[f32]) -> f64 {
        self.squared_euclidean_many(x, [y])[0]
    }

    /// [`Kernels::squared_euclidean`] of `x` with each of `R` rows, bit for bit.
    ///
    /// # Panics
    /// If a length differs from that of `x`.
    pub fn squared_euclidean_many<const R: usize>(self, x: &[f32], rows: [&[f32]; R]) -> [f64; R] {
        self.accumulate(x, rows, Term::SquaredDifference)
    }

    fn accumulate<const R: usize>(self, x: &[f32], rows: [&[f32]; R], term: Term) -> [f64; R] {
        for row in rows {
            assert_eq!(x.len(), row.len(), "rows of different length");
        }
        match self.backend() {
            Backend::Portable => lanes::accumulate(Plain, x, &rows, term),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) | Backend::AvxVnni(simd) => simd.vectorize(
                #[inline(always)]
                || lanes::accumulate(simd, x, &rows, term),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) | Backend::Avx512Vnni(simd) | Backend::Amx(simd) => simd.vectorize(
                #[inline(always)]
                || lanes::accumulate(simd, x, &rows, term),
            ),
        }
    }
}
