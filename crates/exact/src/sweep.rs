//! One block of queries against one block of the base: products, and what the filter leaves of them.

use std::ops::Range;

use mnno_simd::{Cell, GROUP, Hit, Products, TILE, Tile};

use crate::lists::Query;
use crate::pack::{Block, Packed};
use crate::space::Space;

/// Rows of a cell, multiplied and then filtered together: every group of them asks for the same columns, from the
/// second-level cache.
const ROWS: usize = 128;
/// Columns of a cell at most, and the bytes that their tiles may take, so that they stay in that cache.
const COLUMNS: usize = 256;
const COLUMN_BYTES: usize = 512 << 10;
/// Words between rows of products: rows a power of two apart would share few lines of the cache.
const GAP: usize = TILE;
/// Hits that are gathered before they are handed out.
const HITS: usize = 4096;
/// Sets of columns, per place of a list, whose best lower bounds make a first threshold.
const SETS_PER_PLACE: usize = 4;
const LEAST_SETS: usize = 64;

/// The queries of a sweep.
pub(crate) struct Asking<'a> {
    /// As rows of a product.
    pub(crate) packed: Packed<'a>,
    pub(crate) queries: &'a [Query],
    /// How many base rows must be known to reach a score for it to be a threshold, per query.
    pub(crate) ranks: &'a [usize],
    /// Added to positions in the block to give the numbers in hits.
    pub(crate) number: usize,
}

/// A group of queries, some columns, and where their products lie.
struct Strip {
    rows: Range<usize>,
    columns: Range<usize>,
    products: Range<usize>,
    stride: usize,
}

/// Columns of a cell where 16 of them take `depth` tiles.
fn columns_of(depth: usize) -> usize {
    (COLUMN_BYTES / (size_of::<Tile>() / TILE * depth.max(1)) / GROUP * GROUP).clamp(GROUP, COLUMNS)
}

/// Works through pairs of blocks on one thread; keeps its buffers between calls.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// One per query, infinite for those that only pad the block.
    pub(crate) thresholds: Vec<f32>,
    /// The same of the columns.
    pub(crate) column_thresholds: Vec<f32>,
    products: Vec<u32>,
    maxima: Vec<f32>,
    pub(crate) row_hits: Vec<Hit>,
    pub(crate) column_hits: Vec<Hit>,
}

impl Sweep {
    /// Finds every row of `base`, whose number is its position plus `number`, that may reach the threshold of a query; with
    /// `both`, also every query that may reach the threshold of a row of `base`. `flush` is called from time to time, and at
    /// the end, to take `row_hits` and `column_hits`, which are cleared afterwards; it may raise the thresholds.
    pub(crate) fn pair(
        &mut self,
        asking: &Asking<'_>,
        base: Packed<'_>,
        number: usize,
        both: bool,
        space: &Space,
        mut flush: impl FnMut(&mut Self),
    ) {
        let (rows, columns) = (asking.packed.block.padded(), base.block.padded());
        let (cell_rows, mut cell_columns) =
            if base.divides() { (ROWS, columns_of(base.depth())) } else { (rows, columns) };
        if self.thresholds.contains(&f32::NEG_INFINITY) {
            // A first threshold is the better, the more columns it is drawn from.
            cell_columns = columns;
        }
        let stride = cell_columns.min(columns) + GAP;
        self.products.resize(cell_rows.min(rows) * stride, 0);
        for row in (0..rows).step_by(cell_rows) {
            let row_range = row..(row + cell_rows).min(rows);
            for column in (0..columns).step_by(cell_columns) {
                let column_range = column..(column + cell_columns).min(columns);
                space.kernels.product(
                    space.element,
                    asking.packed.operand(row_range.clone()),
                    base.operand(column_range.clone()),
                    Products { words: &mut self.products, stride },
                );
                for first in row_range.clone().step_by(GROUP) {
                    let products = (first - row) * stride..self.products.len();
                    let strip = Strip { rows: first..first + GROUP, columns: column_range.clone(), products, stride };
                    self.filter(asking, base.block, number, both, &strip, space);
                    if self.row_hits.len() + self.column_hits.len() >= HITS {
                        self.hand_out(&mut flush);
                    }
                }
            }
        }
        self.hand_out(&mut flush);
    }

    fn hand_out(&mut self, flush: &mut impl FnMut(&mut Self)) {
        flush(self);
        self.row_hits.clear();
        self.column_hits.clear();
    }

    /// Bytes of memory that a pair of blocks of `rows` rows takes at most.
    pub(crate) fn memory(rows: usize) -> u64 {
        let products = size_of::<u32>() * rows * (rows + GAP);
        // A vector that grows by doubling holds its old half meanwhile.
        let hits = 3 * 2 * (HITS + GROUP * rows) * size_of::<Hit>();
        (products + hits) as u64
    }

    /// One group of rows of a cell.
    fn filter(&mut self, asking: &Asking<'_>, base: &Block, number: usize, both: bool, strip: &Strip, space: &Space) {
        let (rows, columns) = (strip.rows.clone(), strip.columns.clone());
        let cell = Cell {
            element: space.element,
            products: &self.products[strip.products.clone()],
            stride: strip.stride,
            rows: asking.packed.block.side(rows.clone()),
            columns: base.side(columns.clone()),
            first_row: asking.number + rows.start,
            first_column: number + columns.start,
        };
        for row in rows.start..rows.end.min(asking.packed.block.n) {
            if self.thresholds[row] == f32::NEG_INFINITY {
                let sets =
                    SETS_PER_PLACE.saturating_mul(asking.ranks[row]).max(LEAST_SETS).min(columns.len()) / TILE * TILE;
                let Some(last) = asking.ranks[row].checked_sub(1).filter(|&last| last < sets) else { continue };
                self.maxima.resize(sets, 0.0);
                space.kernels.lower_bounds(cell, row - rows.start, &mut self.maxima);
                let (_, &mut lower, _) = self.maxima.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
                self.thresholds[row] = asking.queries[row].bound.threshold_from_lower(lower);
            }
        }
        let thresholds = &self.thresholds[rows];
        if both {
            let of_columns = &self.column_thresholds[columns];
            space.kernels.scan_both(cell, thresholds, of_columns, &mut self.row_hits, &mut self.column_hits);
        } else {
            space.kernels.scan(cell, thresholds, &mut self.row_hits);
        }
    }
}
