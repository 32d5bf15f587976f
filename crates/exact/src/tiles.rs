//! How the work of a search is cut, and the memory that a cut takes.

use std::num::NonZeroUsize;

use crate::pack::PACK_ROWS;

/// How the work is cut. It changes speed and memory, never an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Queries per block.
    pub queries: NonZeroUsize,
    /// Base rows per product.
    pub base: NonZeroUsize,
    /// Base rows that are packed at a time and searched by all threads.
    pub panel: NonZeroUsize,
}

const QUERIES: usize = 256;
const BASE: usize = 512;
const PANEL_BYTES: usize = 32 << 20;
/// The block product packs its operands into buffers of its own, of about this size.
const PRODUCT_BYTES: u64 = 4 << 20;

impl Tiles {
    /// The default for rows of `d` values: a panel of about 32 MiB.
    pub fn for_dimension(d: usize) -> Self {
        Self::new(QUERIES, BASE, (PANEL_BYTES / (4 * d.max(1))).clamp(BASE, 1 << 18))
    }

    fn new(queries: usize, base: usize, panel: usize) -> Self {
        let at_least_one = |n| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
        Self { queries: at_least_one(queries), base: at_least_one(base), panel: at_least_one(panel) }
    }

    /// Bytes of memory that a search of rows of `d` values takes on `threads` threads, beside its lists.
    pub fn memory(self, d: usize, threads: usize) -> u64 {
        let [queries, base, panel] = [self.queries, self.base, self.panel].map(|n| n.get() as u64);
        let row = (d as u64).saturating_mul(4);
        let packed = panel.min(PACK_ROWS as u64);
        // Unit rows, and three numbers of 8 bytes that the scan reads.
        let panel = row.saturating_add(24).saturating_mul(panel);
        // The queries as they are and as unit rows; rows on their way into the panel or to be scored again.
        let rows = row.saturating_mul(2 * queries + packed + 8);
        let thread = rows.saturating_add(4 * queries * base + 16 * base + PRODUCT_BYTES);
        thread.saturating_mul(threads as u64).saturating_add(panel)
    }

    /// The default for rows of `d` values, cut smaller until it takes no more than `memory` bytes, or the smallest; and what
    /// it takes.
    pub(crate) fn within(memory: u64, d: usize, threads: usize) -> (Self, u64) {
        let mut tiles = Self::for_dimension(d);
        loop {
            let needed = tiles.memory(d, threads);
            let [queries, base, panel] = [tiles.queries, tiles.base, tiles.panel].map(NonZeroUsize::get);
            // A panel costs little speed until it is as small as a tile.
            let smaller = if panel > BASE {
                Self::new(queries, base, (panel / 2).max(BASE))
            } else if queries > 1 {
                Self::new(queries / 2, base, panel)
            } else if panel > 1 {
                Self::new(queries, panel / 2, panel / 2)
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
            let default = Tiles::for_dimension(d);
            let needed = default.memory(d, 4);
            assert_eq!(Tiles::within(needed, d, 4), (default, needed));
            let (smaller, less) = Tiles::within(needed - 1, d, 4);
            assert!(less < needed && smaller.memory(d, 4) == less, "{d}");
            let (smallest, least) = Tiles::within(0, d, 4);
            assert_eq!((smallest.queries.get(), smallest.base.get(), smallest.panel.get()), (1, 1, 1), "{d}");
            assert!(least > 0);
        }
    }
}
