//! The operands of block products: rows in low precision, cut into tiles of 1 KiB.

use bytemuck::{Pod, Zeroable};

/// What the words of a tile hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Four signed bytes per word; products are exact in i32 up to 133,144 values per row.
    Int8,
    /// Two bfloat16 per word; products are summed in f32.
    Bf16,
    /// One f32 per word; products are summed in f32.
    Float32,
}

impl Element {
    /// Values per word of 32 bits.
    pub fn per_word(self) -> usize {
        match self {
            Self::Int8 => 4,
            Self::Bf16 => 2,
            Self::Float32 => 1,
        }
    }
}

/// Rows, and words per row, of a tile.
pub const TILE: usize = 16;

/// 16 x 16 words of 32 bits: 16 words of each of 16 rows.
///
/// As an operand of [`Kernels::product`](crate::Kernels::product) a tile of *rows* is `[row][word]`, one of *columns*
/// `[word][row]`; [`Tile::transposed`] turns one into the other.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Tile(pub [[u32; TILE]; TILE]);

impl Tile {
    /// All words zero.
    pub const ZERO: Self = Self([[0; TILE]; TILE]);

    /// `[i][j]` becomes `[j][i]`.
    #[must_use]
    #[inline]
    pub fn transposed(&self) -> Self {
        let mut out = Self::ZERO;
        for (i, row) in self.0.iter().enumerate() {
            for (j, &word) in row.iter().enumerate() {
                out.0[j][i] = word;
            }
        }
        out
    }
}
