//! Products in vector registers, for every instruction set that has such: the sums of some rows with some columns stay in
//! registers over all tiles of a block.

use bytemuck::{Pod, cast};

use super::{Operand, Products};
use crate::{TILE, Tile};

/// What an instruction set does with 16 words, in one register or two. All of it is inlined into a function that is
/// compiled for the set.
pub(super) trait Arithmetic: Copy {
    /// 16 words.
    type Vector: Pod;

    /// `word` 16 times.
    fn splat(self, word: u32) -> Self::Vector;

    /// `sums`, and the products of `rows` and prepared `columns`, word by word.
    fn multiply_add(self, rows: Self::Vector, columns: Self::Vector, sums: Self::Vector) -> Self::Vector;

    /// What is done to columns before they are multiplied.
    #[inline(always)]
    fn prepare(self, columns: Self::Vector) -> Self::Vector {
        columns
    }

    /// What the sums of a row must begin with, given what [`Arithmetic::prepare`] does to the columns. `tiles` are the
    /// block that the row lies in.
    #[inline(always)]
    fn correction(self, _tiles: &[Tile], _row: usize) -> u32 {
        0
    }

    /// Calls [`Pair::multiply`] until all 32 x 32 products are there, in shapes that suit the number of registers.
    fn multiply_pair(self, pair: &mut Pair<'_>);
}

/// Two blocks of rows with two of columns, and where their products go.
pub(super) struct Pair<'a> {
    /// Tiles of either block, one block after the other.
    rows: [&'a [Tile]; 2],
    columns: [&'a [Tile]; 2],
    corrections: [u32; 2 * TILE],
    out: Products<'a>,
}

impl Pair<'_> {
    /// The products of `ROWS` rows, from `FIRST` on, with `COLUMNS` blocks of columns from `block` on.
    #[inline(always)]
    pub(super) fn multiply<A: Arithmetic, const FIRST: usize, const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        simd: A,
        block: usize,
    ) {
        let columns: [&[Tile]; COLUMNS] = std::array::from_fn(|n| self.columns[block + n]);
        let mut sums = [[simd.splat(0); COLUMNS]; ROWS];
        for (r, sums) in sums.iter_mut().enumerate() {
            *sums = [simd.splat(self.corrections[FIRST + r]); COLUMNS];
        }
        for (k, (upper, lower)) in self.rows[0].iter().zip(self.rows[1]).enumerate() {
            let tiles: [&Tile; COLUMNS] = std::array::from_fn(|n| &columns[n][k]);
            let rows: [&[u32; TILE]; ROWS] = std::array::from_fn(|r| match FIRST + r {
                row @ ..TILE => &upper.0[row],
                row => &lower.0[row - TILE],
            });
            for word in 0..TILE {
                let mut vectors = [simd.splat(0); COLUMNS];
                for (vector, tile) in vectors.iter_mut().zip(tiles) {
                    *vector = simd.prepare(cast(tile.0[word]));
                }
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let row = simd.splat(row[word]);
                    for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                        *sum = simd.multiply_add(row, vector, *sum);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (words, &sum) in self.words::<COLUMNS>(FIRST + r, block).iter_mut().zip(sums) {
                *words = cast(sum);
            }
        }
    }

    /// All 32 x 32 products where 16 words take two of 16 registers: 5 or 6 rows with one block of columns at a time.
    #[inline(always)]
    pub(super) fn multiply_in_sixteen_registers<A: Arithmetic>(&mut self, simd: A) {
        for block in 0..2 {
            self.multiply::<_, 0, 5, 1>(simd, block);
            self.multiply::<_, 5, 5, 1>(simd, block);
            self.multiply::<_, 10, 6, 1>(simd, block);
            self.multiply::<_, 16, 5, 1>(simd, block);
            self.multiply::<_, 21, 5, 1>(simd, block);
            self.multiply::<_, 26, 6, 1>(simd, block);
        }
    }

    /// Where the products of a row with `COLUMNS` blocks of columns go.
    #[inline(always)]
    fn words<const COLUMNS: usize>(&mut self, row: usize, block: usize) -> &mut [[u32; TILE]] {
        let first = row * self.out.stride + block * TILE;
        self.out.words[first..first + COLUMNS * TILE].as_chunks_mut().0
    }
}

/// Walks over the products in blocks of 32 x 32.
#[inline(always)]
pub(super) fn product<A: Arithmetic>(simd: A, rows: Operand<'_>, columns: Operand<'_>, out: Products<'_>) {
    let depth = rows.depth();
    if depth == 0 {
        super::zero(rows, columns, out);
        return;
    }
    for (i, two_rows) in rows.tiles.chunks_exact(2 * depth).enumerate() {
        let rows: [&[Tile]; 2] = two_rows.split_at(depth).into();
        let mut corrections = [0; 2 * TILE];
        for (row, correction) in corrections.iter_mut().enumerate() {
            *correction = simd.correction(rows[row / TILE], row % TILE);
        }
        for (j, two_columns) in columns.tiles.chunks_exact(2 * depth).enumerate() {
            let words = &mut out.words[2 * TILE * (i * out.stride + j)..];
            let out = Products { words, ..out };
            simd.multiply_pair(&mut Pair { rows, columns: two_columns.split_at(depth).into(), corrections, out });
        }
    }
}

/// [`Arithmetic::correction`] where signed bytes of columns were made unsigned by adding 128: `-128` times the sum of the
/// row's bytes.
#[inline(always)]
pub(super) fn unsigned_correction<A: Arithmetic>(simd: A, tiles: &[Tile], row: usize) -> u32 {
    let mut sums = simd.splat(0);
    for tile in tiles {
        sums = simd.multiply_add(cast(tile.0[row]), simd.splat(0x8080_8080), sums);
    }
    let sums: [u32; TILE] = cast(sums);
    sums.iter().fold(0u32, |total, &sum| total.wrapping_sub(sum))
}
