//! Rows made ready for the filter: operands of block products, and what turns products into bounds.

use std::ops::Range;

use mnno_simd::{Frame, GROUP, Kernels, Operand, Quantised, Side, TILE, Tile};

use crate::bound::{self, QueryBound, Terms};
use crate::error::Side as Which;
use crate::lists::Query;
use crate::pages::Pages;
use crate::space::Space;
use crate::{Metric, Rows, SearchError};

/// `dot(x, x)` of a row, with the checks that make every score defined. `i` is its number, for messages.
fn squared_norm(row: &[f32], i: usize, metric: Metric, kernels: Kernels, side: Which) -> Result<f64, SearchError> {
    let norm = kernels.dot(row, row);
    // The squares of finite f32 values cannot overflow f64, so only a bad value makes the sum bad.
    if !norm.is_finite()
        && let Some(column) = row.iter().position(|v| !v.is_finite())
    {
        return Err(SearchError::NonFinite { side, row: i, column, value: row[column] });
    }
    if norm == 0.0 && metric == Metric::Cosine {
        return Err(SearchError::ZeroVector { side, row: i });
    }
    Ok(norm)
}

/// How packed rows are meant to be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// As rows of a block product: the queries.
    Rows,
    /// As columns: the base.
    Columns,
}

/// Up to [`crate::Tiles::block`] rows, packed and padded to whole groups, but for their tiles, which lie elsewhere:
/// `[16 rows][tile]`, or one matrix `[word][row]` where the kernels want operands interleaved.
#[derive(Debug)]
pub(crate) struct Block {
    /// Number of the first row.
    pub(crate) first: usize,
    /// Rows, without padding.
    pub(crate) n: usize,
    depth: usize,
    interleaved: bool,
    step: Vec<f32>,
    offset: Vec<f32>,
    residual: Vec<f32>,
    norm: Vec<f32>,
    on_residual: Vec<f32>,
    on_norm: Vec<f32>,
    group_residual: Vec<f32>,
    group_norm: Vec<f32>,
    /// `dot(x, x)` of each row.
    pub(crate) squared_norms: Vec<f64>,
    /// What turns the scores of each row, when it asks, into thresholds.
    pub(crate) bounds: Vec<QueryBound>,
}

/// Buffers for packing on one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    rows: Vec<f32>,
    centred: Vec<f64>,
    words: Vec<u32>,
}

impl Block {
    pub(crate) fn new() -> Self {
        Self {
            first: 0,
            n: 0,
            depth: 0,
            interleaved: false,
            step: Vec::new(),
            offset: Vec::new(),
            residual: Vec::new(),
            norm: Vec::new(),
            on_residual: Vec::new(),
            on_norm: Vec::new(),
            group_residual: Vec::new(),
            group_norm: Vec::new(),
            squared_norms: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// Packs rows `range` of `rows` into the first of `tiles`.
    #[expect(clippy::too_many_arguments, reason = "where from, where to, and how")]
    pub(crate) fn fill(
        &mut self,
        rows: &dyn Rows,
        range: Range<usize>,
        which: Which,
        role: Role,
        space: &Space,
        tiles: &mut [Tile],
        scratch: &mut Scratch,
    ) -> Result<(), SearchError> {
        self.reset(range.start, range.len(), space);
        let words = self.depth * TILE;
        let Scratch { rows: rows_scratch, centred, words: sixteen_rows } = scratch;
        sixteen_rows.resize(TILE * words, 0);
        for begin in (0..self.padded()).step_by(TILE) {
            let end = (begin + TILE).min(self.n).max(begin);
            let block = rows.block(range.start + begin.min(self.n)..range.start + end.min(self.n), rows_scratch);
            sixteen_rows.fill(0);
            for i in begin..end {
                let row = block.row(i - begin);
                let squared_norm = squared_norm(row, range.start + i, space.metric, space.kernels, which)?;
                let frame = Frame { factor: space.factor(squared_norm), centre: &space.centre };
                let row_words = &mut sixteen_rows[(i - begin) * words..(i - begin + 1) * words];
                let quantised = space.kernels.quantise(space.element, row, frame, row_words, centred);
                self.set(i, squared_norm, quantised, space);
            }
            self.store(begin / TILE, sixteen_rows, role, tiles);
        }
        for group in 0..self.group_norm.len() {
            let part = group * GROUP..(group + 1) * GROUP;
            self.group_residual[group] = self.residual[part.clone()].iter().copied().fold(0.0, f32::max);
            self.group_norm[group] = self.norm[part].iter().copied().fold(0.0, f32::max);
        }
        Ok(())
    }

    /// Rows with padding.
    pub(crate) fn padded(&self) -> usize {
        self.n.next_multiple_of(GROUP)
    }

    fn reset(&mut self, first: usize, n: usize, space: &Space) {
        let padded = n.next_multiple_of(GROUP);
        self.first = first;
        self.n = n;
        self.depth = space.depth();
        self.interleaved = space.kernels.interleaved();
        for numbers in [&mut self.step, &mut self.on_residual, &mut self.on_norm] {
            numbers.resize(padded, 0.0);
        }
        for numbers in [&mut self.residual, &mut self.norm] {
            numbers.resize(padded, 0.0);
            numbers[n..].fill(bound::LEAST);
        }
        self.offset.resize(padded, 0.0);
        self.offset[n..].fill(f32::NEG_INFINITY);
        self.group_residual.resize(padded / GROUP, 0.0);
        self.group_norm.resize(padded / GROUP, 0.0);
        self.squared_norms.resize(n, 0.0);
        self.bounds.clear();
    }

    fn set(&mut self, i: usize, squared_norm: f64, quantised: Quantised, space: &Space) {
        let terms = Terms::new(quantised, space);
        self.step[i] = quantised.step;
        self.offset[i] = terms.offset;
        self.residual[i] = terms.residual;
        self.norm[i] = terms.norm;
        self.on_residual[i] = terms.on_residual;
        self.on_norm[i] = terms.on_norm;
        self.squared_norms[i] = squared_norm;
        self.bounds.push(terms.bound);
    }

    /// Stores the words of 16 rows, `[row][word]`.
    fn store(&self, sixteen: usize, words: &[u32], role: Role, tiles: &mut [Tile]) {
        let of_row = self.depth * TILE;
        let blocks = self.padded() / TILE;
        for t in 0..self.depth {
            let mut tile = Tile::ZERO;
            for (line, row) in tile.0.iter_mut().zip(words.chunks_exact(of_row)) {
                line.copy_from_slice(&row[t * TILE..(t + 1) * TILE]);
            }
            if self.interleaved {
                let all: &mut [u32] = bytemuck::cast_slice_mut(tiles);
                for (k, line) in tile.transposed().0.iter().enumerate() {
                    let begin = (t * TILE + k) * blocks * TILE + sixteen * TILE;
                    all[begin..begin + TILE].copy_from_slice(line);
                }
                continue;
            }
            tiles[sixteen * self.depth + t] = if role == Role::Rows { tile } else { tile.transposed() };
        }
    }

    /// The rows as queries.
    pub(crate) fn queries(&self) -> Vec<Query> {
        let query = |i| Query { number: self.first + i, squared_norm: self.squared_norms[i], bound: self.bounds[i] };
        (0..self.n).map(query).collect()
    }

    /// The block with its tiles, of which `tiles` are the first or all.
    pub(crate) fn with_tiles<'a>(&'a self, tiles: &'a [Tile]) -> Packed<'a> {
        Packed { block: self, tiles: &tiles[..self.padded() / TILE * self.depth] }
    }

    /// What turns the products of these rows, all or some whole groups, into bounds.
    pub(crate) fn side(&self, rows: Range<usize>) -> Side<'_> {
        let groups = rows.start / GROUP..rows.end / GROUP;
        Side {
            step: &self.step[rows.clone()],
            offset: &self.offset[rows.clone()],
            residual: &self.residual[rows.clone()],
            norm: &self.norm[rows.clone()],
            on_residual: &self.on_residual[rows.clone()],
            on_norm: &self.on_norm[rows],
            group_residual: &self.group_residual[groups.clone()],
            group_norm: &self.group_norm[groups],
        }
    }

    /// Bytes of memory that a block of `n` rows takes whose 16 rows take `depth` tiles.
    pub(crate) fn memory(n: usize, depth: usize) -> u64 {
        let padded = n.next_multiple_of(GROUP) as u64;
        let tiles = (depth as u64).saturating_mul((size_of::<Tile>() / TILE) as u64);
        padded.saturating_mul(tiles.saturating_add(6 * 4 + 8 + size_of::<QueryBound>() as u64 + 1))
    }
}

/// A block and its tiles, as one side of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) block: &'a Block,
    tiles: &'a [Tile],
}

impl<'a> Packed<'a> {
    /// Tiles that 16 rows take.
    pub(crate) fn depth(self) -> usize {
        self.block.depth
    }

    /// Whether the rows can be multiplied part by part.
    pub(crate) fn divides(self) -> bool {
        !self.block.interleaved
    }

    /// `rows`: whole groups, all of them unless the block divides.
    pub(crate) fn operand(self, rows: Range<usize>) -> Operand<'a> {
        let depth = self.block.depth;
        Operand::new(&self.tiles[rows.start / TILE * depth..rows.end / TILE * depth], rows.len() / TILE)
    }

    /// Fills `tiles` with those of these columns turned to rows.
    pub(crate) fn turned(self, tiles: &mut Pages<Tile>) -> Result<(), SearchError> {
        tiles.resize(self.tiles.len())?;
        let tiles = tiles.as_mut_slice();
        if self.block.interleaved {
            tiles.copy_from_slice(self.tiles);
        } else {
            for (turned, tile) in tiles.iter_mut().zip(self.tiles) {
                *turned = tile.transposed();
            }
        }
        Ok(())
    }
}
