//! Rows that will be needed soon.
#![allow(unsafe_code)] // one instruction

/// Asks for the beginning of `row` to be brought into the cache, and does not wait for it.
#[inline]
pub fn prefetch(row: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        /// Values in a cache line of 64 bytes.
        const LINE: usize = 16;
        /// Lines that are asked for; the CPU itself follows from there.
        const LINES: usize = 48;
        for line in row.chunks(LINE).take(LINES) {
            // SAFETY: the instruction changes nothing but the cache and cannot fault; the address lies in the slice.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
