//! Intel AMX: two by two tiles of products at a time, in assembly, since the intrinsics are not stable.
#![allow(unsafe_code)]

use super::{Operand, Products};
use crate::{TILE, Tile};

/// The layout of all eight tile registers: 16 rows of 64 bytes (palette 1).
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_per_row: [u16; 16],
    rows: [u8; 16],
}

static CONFIGURATION: Configuration = Configuration {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes_per_row: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// What one run of the inner loop reads and writes: two blocks of rows, two of columns, 32 x 32 products.
struct Block {
    rows: *const Tile,
    columns: *const Tile,
    /// Tiles per block, at least one.
    depth: usize,
    products: *mut u32,
    /// Bytes from one row of products to the next.
    stride: usize,
}

macro_rules! kernel {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// The tile registers are configured; `rows` and `columns` point to `2 depth` tiles each, `products` to 32 rows of
        /// 32 words, `stride` bytes apart.
        #[inline(always)]
        unsafe fn $name(block: Block) {
            // SAFETY: the loop reads `depth` tiles from each of the four blocks and nothing else (a prefetch past the last is a
            // hint without effect), and stores the 32 x 32 words; all of them are the caller's promise. Every register that is
            // written is declared.
            unsafe {
                std::arch::asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{a0} + {row}]",
                    "tileloadd tmm6, [{b0} + {row}]",
                    concat!($instruction, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{b1} + {row}]",
                    concat!($instruction, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [{a1} + {row}]",
                    concat!($instruction, " tmm2, tmm5, tmm6"),
                    // The second block's next tile, or the next two blocks' first, into the nearest cache: about a
                    // twentieth faster where columns come from the second.
                    ".irp line, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
                    "prefetcht0 [{b1} + 1024 + 64 * \\line]",
                    ".endr",
                    concat!($instruction, " tmm3, tmm5, tmm7"),
                    "add {a0}, 1024",
                    "add {a1}, 1024",
                    "add {b0}, 1024",
                    "add {b1}, 1024",
                    "dec {depth}",
                    "jnz 2b",
                    "tilestored [{c0} + {stride}], tmm0",
                    "tilestored [{c0} + {stride} + 64], tmm1",
                    "tilestored [{c1} + {stride}], tmm2",
                    "tilestored [{c1} + {stride} + 64], tmm3",
                    a0 = inout(reg) block.rows => _,
                    a1 = inout(reg) block.rows.add(block.depth) => _,
                    b0 = inout(reg) block.columns => _,
                    b1 = inout(reg) block.columns.add(block.depth) => _,
                    depth = inout(reg) block.depth => _,
                    c0 = in(reg) block.products,
                    c1 = in(reg) block.products.byte_add(TILE * block.stride),
                    stride = in(reg) block.stride,
                    row = in(reg) 64usize,
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}

kernel!(multiply_int8, "tdpbssd");
kernel!(multiply_bf16, "tdpbf16ps");

/// Walks over the products in blocks of 32 x 32.
#[inline(always)]
fn product(rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>, multiply: impl Fn(Block)) {
    let depth = rows.depth();
    if depth == 0 {
        super::zero(rows, columns, out);
        return;
    }
    // SAFETY: `Kernels` of this tier exist only where AMX may be used (cpu.rs), and the configuration is a valid one.
    unsafe { std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION, options(nostack, readonly)) };
    for (i, two_rows) in rows.tiles.chunks_exact(2 * depth).enumerate() {
        for (j, two_columns) in columns.tiles.chunks_exact(2 * depth).enumerate() {
            multiply(Block {
                rows: two_rows.as_ptr(),
                columns: two_columns.as_ptr(),
                depth,
                products: out.words[2 * TILE * (i * out.stride + j)..].as_mut_ptr(),
                stride: 4 * out.stride,
            });
        }
    }
    // SAFETY: as above. Releases the registers, so that a switch of threads need not save them.
    unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
}

/// The products of signed bytes.
pub(super) fn int8(rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    // SAFETY: `product` configures the registers and hands out two blocks of each operand, and `Kernels::product` has
    // checked that all products lie in `out`.
    product(rows, columns, out, |block| unsafe { multiply_int8(block) });
}

/// The products of bfloat16.
pub(super) fn bf16(rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    // SAFETY: as in `int8`.
    product(rows, columns, out, |block| unsafe { multiply_bf16(block) });
}
