//! A run of base rows that all threads search at the same time.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Side;
use crate::pack::{Block, Role, Scratch};
use crate::space::Space;
use crate::{Rows, SearchError};

/// Packed base rows, cut into blocks.
#[derive(Debug)]
pub(crate) struct Panel {
    /// Number of the first row.
    pub(crate) first: usize,
    /// Rows per block, but for the last.
    block: usize,
    pub(crate) blocks: Vec<Block>,
}

impl Panel {
    pub(crate) fn new(block: usize) -> Self {
        Self { first: 0, block, blocks: Vec::new() }
    }

    /// Fills the panel with rows `rows` of `base`, on the current thread pool.
    pub(crate) fn fill(&mut self, base: &dyn Rows, rows: Range<usize>, space: &Space) -> Result<(), SearchError> {
        self.first = rows.start;
        self.blocks.resize_with(rows.len().div_ceil(self.block), Block::new);
        let size = self.block;
        self.blocks.par_iter_mut().enumerate().try_for_each_init(Scratch::default, |scratch, (i, block)| {
            let first = rows.start + i * size;
            block.fill(base, first..(first + size).min(rows.end), Side::Base, Role::Columns, space, scratch)
        })?;
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn n(&self) -> usize {
        self.blocks.last().map_or(0, |last| last.first + last.n - self.first)
    }

    /// `dot(b, b)` of the row at `position`.
    pub(crate) fn squared_norm(&self, position: usize) -> f64 {
        self.blocks[position / self.block].squared_norms[position % self.block]
    }
}
