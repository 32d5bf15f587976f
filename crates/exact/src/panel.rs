//! Packed rows, cut into blocks: a run of base rows that all threads search at the same time, or the rows that ask.

use std::ops::Range;

use mnno_simd::{GROUP, TILE, Tile};
use rayon::prelude::*;

use crate::error::Side;
use crate::pack::{Block, Packed, Role, Scratch};
use crate::pages::Pages;
use crate::space::Space;
use crate::{Rows, SearchError};

/// Packed rows, cut into blocks.
#[derive(Debug)]
pub(crate) struct Panel {
    /// Number of the first row.
    pub(crate) first: usize,
    /// Rows per block, but for the last.
    block: usize,
    role: Role,
    /// Those of all blocks.
    tiles: Pages<Tile>,
    tiles_per_block: usize,
    pub(crate) blocks: Vec<Block>,
}

impl Panel {
    pub(crate) fn new(block: usize, role: Role) -> Self {
        Self { first: 0, block, role, tiles: Pages::default(), tiles_per_block: 1, blocks: Vec::new() }
    }

    /// Fills the panel with rows `range` of `rows`, on the current thread pool.
    pub(crate) fn fill(
        &mut self,
        rows: &dyn Rows,
        range: Range<usize>,
        side: Side,
        space: &Space,
    ) -> Result<(), SearchError> {
        self.first = range.start;
        self.blocks.resize_with(range.len().div_ceil(self.block), Block::new);
        // A tile at least, so that each block has its own even where rows have no values.
        self.tiles_per_block = (self.block.next_multiple_of(GROUP) / TILE * space.depth()).max(1);
        self.tiles.resize(self.blocks.len() * self.tiles_per_block)?;
        let (size, role) = (self.block, self.role);
        let tiles = self.tiles.as_mut_slice().par_chunks_mut(self.tiles_per_block);
        self.blocks.par_iter_mut().zip(tiles).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (i, (block, tiles))| {
                let first = range.start + i * size;
                block.fill(rows, first..(first + size).min(range.end), side, role, space, tiles, scratch)
            },
        )
    }

    /// Rows per block, but for the last.
    pub(crate) fn block_rows(&self) -> usize {
        self.block
    }

    /// Number of rows.
    pub(crate) fn n(&self) -> usize {
        self.blocks.last().map_or(0, |last| last.first + last.n - self.first)
    }

    /// Block `i`.
    pub(crate) fn packed(&self, i: usize) -> Packed<'_> {
        self.blocks[i].with_tiles(&self.tiles.as_slice()[i * self.tiles_per_block..])
    }

    /// `dot(b, b)` of the row at `position`.
    pub(crate) fn squared_norm(&self, position: usize) -> f64 {
        self.blocks[position / self.block].squared_norms[position % self.block]
    }
}
