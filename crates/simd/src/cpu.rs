//! What this CPU and its operating system allow, beyond what `std` detects. Asked once per process.
#![allow(unsafe_code)] // one system call

/// Whether AMX tiles with int8 and bf16 products may be used by this process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) fn has_amx() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;

    /// Linux: `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)` asks for the tile registers on behalf of the whole process.
    fn request_tiles() -> bool {
        let result: i64;
        // SAFETY: system call 158 with these numbers reads and writes no memory of ours; the registers that the kernel
        // overwrites are declared.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") 158i64 => result,
                in("rdi") 0x1023u64,
                in("rsi") 18u64,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    static AMX: OnceLock<bool> = OnceLock::new();
    *AMX.get_or_init(|| {
        const OSXSAVE: u32 = 1 << 27;
        const BF16_TILE_INT8: u32 = 1 << 22 | 1 << 24 | 1 << 25;
        const TILE_STATE: u64 = 1 << 17 | 1 << 18;
        if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 {
            return false;
        }
        // SAFETY: OSXSAVE says that the instruction exists.
        let enabled = unsafe { std::arch::x86_64::_xgetbv(0) };
        let cpu = __cpuid_count(7, 0).edx & BF16_TILE_INT8 == BF16_TILE_INT8;
        cpu && enabled & TILE_STATE == TILE_STATE && request_tiles()
    })
}

/// Elsewhere nobody knows how to ask for the tile registers.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) fn has_amx() -> bool {
    false
}
