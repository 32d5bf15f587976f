//! How the work of a search is cut, and the memory that a cut takes.

use std::num::NonZeroUsize;

use mnno_simd::{GROUP, Hit, TILE};

use crate::lists::{Lists, Query};
use crate::pack::Block;
use crate::sweep::Sweep;

/// How the work is cut. It changes speed and memory, never an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Rows that are searched in as many others at a time.
    pub block: NonZeroUsize,
    /// Base rows that are packed at a time and searched by all threads.
    pub panel: NonZeroUsize,
}

const BLOCK: usize = 512;
/// Panels of queries that are not the base: large enough to make the packing of queries cheap.
const PANEL_BYTES: u64 = 32 << 20;
/// Some block products pack their operands into buffers of their own, of about this size.
const PRODUCT_BYTES: u64 = 4 << 20;

/// What the memory of a search depends on, beside the cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) d: usize,
    /// Tiles that 16 packed rows take.
    pub(crate) depth: usize,
    pub(crate) k: usize,
    /// Base rows.
    pub(crate) n: usize,
    pub(crate) threads: usize,
}

impl Shape {
    /// Bytes of memory that the hits of one list take while they wait.
    fn waiting_memory(self) -> u64 {
        (Lists::room(self.k, self.n) as u64).saturating_mul(size_of::<Hit>() as u64)
    }
}

impl Tiles {
    /// The default for packed rows of `depth` tiles: a panel of about 32 MiB.
    pub(crate) fn for_shape(shape: Shape) -> Self {
        let row = Block::memory(GROUP, shape.depth) / GROUP as u64;
        Self::new(BLOCK, (PANEL_BYTES / row.max(1)).clamp(BLOCK as u64, 1 << 18) as usize)
    }

    fn new(block: usize, panel: usize) -> Self {
        let at_least_one = |n| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
        Self { block: at_least_one(block), panel: at_least_one(panel) }
    }

    /// Rows of a block: whole groups.
    pub(crate) fn block_rows(self) -> usize {
        self.block.get().min(1 << 20).next_multiple_of(GROUP)
    }

    /// Bytes of memory that a search of queries in a base takes, beside its lists.
    fn memory(self, shape: Shape) -> u64 {
        let hits = shape.waiting_memory().saturating_mul(self.block_rows() as u64);
        let thread = self.thread_memory(shape).saturating_add(Block::memory(self.block_rows(), shape.depth));
        thread
            .saturating_add(hits)
            .saturating_mul(shape.threads as u64)
            .saturating_add(Block::memory(self.panel.get().min(shape.n), shape.depth))
    }

    /// Bytes of memory that a self-join takes, each pair once, beside its lists.
    pub(crate) fn self_join_memory(self, shape: Shape) -> u64 {
        // The query, its rank and threshold, and the hits that wait.
        let list = shape.waiting_memory().saturating_add(size_of::<Query>() as u64 + 16);
        // Turned rows instead of packed queries.
        let thread = self.thread_memory(shape).saturating_add(Block::memory(self.block_rows(), shape.depth));
        thread
            .saturating_mul(shape.threads as u64)
            .saturating_add(list.saturating_mul(shape.n as u64))
            .saturating_add(Block::memory(shape.n, shape.depth))
    }

    /// What one thread works with: a pair of blocks, rows on their way.
    fn thread_memory(self, shape: Shape) -> u64 {
        let row = (shape.d as u64).saturating_mul(4);
        let sixteen = (shape.depth as u64).saturating_mul(1024);
        // Rows on their way into a block, in a vector that grows by doubling, and to be scored.
        row.saturating_mul(3 * TILE as u64 + 8)
            .saturating_add(sixteen)
            .saturating_add(Sweep::memory(self.block_rows()))
            // Hits that are sorted.
            .saturating_add(shape.waiting_memory().saturating_mul(self.block_rows() as u64))
            .saturating_add(PRODUCT_BYTES)
    }

    /// The default for rows of this shape, cut smaller until it takes no more than `memory` bytes, or the smallest; and what
    /// it takes.
    pub(crate) fn within(memory: u64, shape: Shape) -> (Self, u64) {
        let mut tiles = Self::for_shape(shape);
        loop {
            let needed = tiles.memory(shape);
            let [block, panel] = [tiles.block, tiles.panel].map(NonZeroUsize::get);
            // A panel costs little speed until it is as small as a block.
            let smaller = if panel > block {
                Self::new(block, (panel / 2).max(block))
            } else if block > GROUP {
                Self::new(block / 2, panel / 2)
            } else {
                return (tiles, needed);
            };
            if needed <= memory {
                return (tiles, needed);
            }
            tiles = smaller;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_shrink_to_the_memory_and_no_further() {
        for d in [0, 1, 64, 768, 100_000] {
            let shape = Shape { d, depth: d.div_ceil(16), k: 10, n: 1 << 20, threads: 4 };
            let default = Tiles::for_shape(shape);
            let needed = default.memory(shape);
            assert_eq!(Tiles::within(needed, shape), (default, needed));
            let (smaller, less) = Tiles::within(needed - 1, shape);
            assert!(less < needed && smaller.memory(shape) == less, "{d}");
            let (smallest, least) = Tiles::within(0, shape);
            assert_eq!((smallest.block.get(), smallest.panel.get()), (GROUP, GROUP), "{d}");
            assert!(least > 0);
        }
    }
}
