//! Block products in low precision: all scores of some rows with some columns, one file per instruction set.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512vnni;
#[cfg(target_arch = "x86_64")]
mod avxvnni;
mod portable;
#[cfg(target_arch = "x86_64")]
mod registers;

use crate::tier::Backend;
use crate::{Element, Kernels, TILE, Tile};

/// One side of a block product: `blocks` blocks of 16 rows, each of `depth` tiles.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    tiles: &'a [Tile],
    blocks: usize,
}

impl<'a> Operand<'a> {
    /// `tiles` as `blocks` blocks of 16 rows.
    ///
    /// # Panics
    /// If `blocks` is odd, or the tiles cannot be dealt out evenly.
    pub fn new(tiles: &'a [Tile], blocks: usize) -> Self {
        assert!(blocks.is_multiple_of(2), "{blocks} blocks: they are multiplied two by two");
        assert!(
            tiles.len().checked_rem(blocks).unwrap_or(tiles.len()) == 0,
            "{} tiles do not make {blocks} blocks",
            tiles.len()
        );
        Self { tiles, blocks }
    }

    /// Tiles per block.
    fn depth(self) -> usize {
        self.tiles.len().checked_div(self.blocks).unwrap_or(0)
    }
}

/// Where products go: row `i` begins at word `i * stride`.
#[derive(Debug)]
pub struct Products<'a> {
    /// Bits of i32 ([`Element::Int8`]) or f32.
    pub words: &'a mut [u32],
    /// Words from one row to the next.
    pub stride: usize,
}

impl Kernels {
    /// How the words of operands lie in memory, see [`Kernels::product`].
    pub fn interleaved(self) -> bool {
        matches!(self.backend(), Backend::Portable)
    }

    /// The elements that [`Kernels::product`] multiplies, fastest first.
    pub fn elements(self) -> &'static [Element] {
        match self.backend() {
            Backend::Portable => &[Element::Float32],
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(_) | Backend::Avx512(_) => &[Element::Float32],
            #[cfg(target_arch = "x86_64")]
            Backend::AvxVnni(_) | Backend::Avx512Vnni(_) => &[Element::Int8, Element::Float32],
            #[cfg(target_arch = "x86_64")]
            Backend::Amx(_) => &[Element::Int8, Element::Bf16, Element::Float32],
        }
    }

    /// The dot products of every row with every column, `[rows, columns]`.
    ///
    /// Each operand holds blocks of 16 rows one after the other, and a block its tiles, 16 words of each row at a time:
    /// `[row][word]` in a tile of `rows`, `[word][row]` in one of `columns`. Where [`Kernels::interleaved`], an operand is
    /// instead one matrix `[word][row]` over all its blocks, on both sides.
    ///
    /// Sums of [`Element::Int8`] are exact modulo 2^32. Others are sums in f32 of exact or once-rounded products, in any
    /// order, fused or not; numbers below the normal range may be taken for zero.
    ///
    /// # Panics
    /// If the operands differ in depth, `out` is too small, or this tier does not multiply `element`.
    pub fn product(self, element: Element, rows: Operand<'_>, columns: Operand<'_>, mut out: Products<'_>) {
        assert!(self.elements().contains(&element), "{} has no products of {element:?}", self.tier());
        if rows.blocks == 0 || columns.blocks == 0 {
            return;
        }
        assert_eq!(rows.depth(), columns.depth(), "operands of different depth");
        assert!(out.stride >= columns.blocks * TILE, "rows of {} words do not hold the products", out.stride);
        let needed = (rows.blocks * TILE - 1) * out.stride + columns.blocks * TILE;
        assert!(out.words.len() >= needed, "products need {needed} words, {} given", out.words.len());
        match (self.backend(), element) {
            (Backend::Portable, _) => portable::float32(rows, columns, &mut out),
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx2(simd), _) | (Backend::AvxVnni(simd), Element::Float32) => {
                avx2::float32(simd, rows, columns, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Backend::AvxVnni(simd), _) => avxvnni::int8(simd, rows, columns, out),
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx512(simd), _) | (Backend::Avx512Vnni(simd) | Backend::Amx(simd), Element::Float32) => {
                avx512::float32(simd, rows, columns, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Backend::Avx512Vnni(simd), _) => avx512vnni::int8(simd, rows, columns, out),
            #[cfg(target_arch = "x86_64")]
            (Backend::Amx(_), Element::Int8) => amx::int8(rows, columns, out),
            #[cfg(target_arch = "x86_64")]
            (Backend::Amx(_), Element::Bf16) => amx::bf16(rows, columns, out),
        }
    }
}

/// What operands without columns give.
#[cfg(target_arch = "x86_64")]
fn zero(rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    let Products { words, stride } = out;
    for row in words.chunks_mut(stride).take(rows.blocks * TILE) {
        row[..columns.blocks * TILE].fill(0);
    }
}
