//! Rows that will be needed soon.
#![allow(unsafe_code)] // one instruction

/// Asks for the beginning of `row` to be brought into the cache, and does not wait for it.
#[inline]
pub fn prefetch<T>(row: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        /// Bytes of a cache line.
        const LINE: usize = 64;
        /// Lines that are asked for; the CPU itself follows from there.
        const LINES: usize = 48;
        let begin = row.as_ptr().cast::<i8>();
        for line in 0..size_of_val(row).div_ceil(LINE).min(LINES) {
            let address = begin.wrapping_add(line * LINE);
            // SAFETY: the instruction changes nothing but the cache and cannot fault.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
