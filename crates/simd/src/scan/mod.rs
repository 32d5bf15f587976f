//! The filter of the search: which products of a cell could still matter to whom.

mod lanes;

use bytemuck::{Pod, Zeroable};
use lanes::{Lanes, Plain};

use crate::tier::Backend;
use crate::{Element, Kernels};

/// Rows of a side whose largest errors are kept together.
pub const GROUP: usize = 32;

/// What turns products into bounds, per row of one side of a cell; all slices but the last two have its length, a multiple
/// of [`GROUP`].
///
/// A row `q` that asks and a row `b` that is asked for have the estimate
/// `product * q.step * b.step + b.offset` and the error `q.on_residual * b.residual + q.on_norm * b.norm`, not negative.
/// Steps are 1, and not looked at, unless products are of [`Element::Int8`].
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Multiplier of the products.
    pub step: &'a [f32],
    /// What is added when the row is asked for; minus infinity if there is no such row.
    pub offset: &'a [f32],
    /// See the error.
    pub residual: &'a [f32],
    /// See the error.
    pub norm: &'a [f32],
    /// See the error.
    pub on_residual: &'a [f32],
    /// See the error.
    pub on_norm: &'a [f32],
    /// The largest `residual` of each group of [`GROUP`] rows.
    pub group_residual: &'a [f32],
    /// The largest `norm` of each group.
    pub group_norm: &'a [f32],
}

impl Side<'_> {
    fn len(&self) -> usize {
        let n = self.step.len();
        let same = [self.offset, self.residual, self.norm, self.on_residual, self.on_norm].iter().all(|s| s.len() == n);
        let groups = self.group_residual.len() * GROUP == n && self.group_norm.len() * GROUP == n;
        assert!(same && groups, "the parts of a side differ in length");
        n
    }

    /// What a product must reach at least, less its offset, for the estimate to come within its error of `threshold`, for
    /// each row of `group` that asks for some row of the other side's group.
    #[inline(always)]
    fn reach(&self, group: usize, other: &Self, other_group: usize, thresholds: &[f32]) -> [f32; GROUP] {
        let (residual, norm) = (other.group_residual[other_group], other.group_norm[other_group]);
        let part = group * GROUP..(group + 1) * GROUP;
        let (on_residual, on_norm) = (&self.on_residual[part.clone()], &self.on_norm[part.clone()]);
        let threshold = &thresholds[part];
        let mut reach = [0.0; GROUP];
        for i in 0..GROUP {
            // Infinity less an infinite error would be no number.
            let error = on_residual[i] * residual + on_norm[i] * norm;
            reach[i] = if threshold[i] < f32::INFINITY { threshold[i] - error } else { f32::INFINITY };
        }
        reach
    }

    /// The bounds of the score that row `asked` of `other` has for row `asking`, of which `estimate` is the estimate less the
    /// offset.
    #[inline(always)]
    fn bounds(&self, asking: usize, other: &Self, asked: usize, estimate: f32) -> (f32, f32) {
        let error = self.on_residual[asking] * other.residual[asked] + self.on_norm[asking] * other.norm[asked];
        let (offset, value) = (other.offset[asked], estimate + other.offset[asked]);
        (value + error, below(value, offset, error))
    }
}

/// A lower bound for the score whose estimate is `value`: what the offset and the estimate were rounded up comes off too.
#[inline(always)]
fn below(value: f32, offset: f32, error: f32) -> f32 {
    const ROUNDING: f32 = 1.0 / (1 << 20) as f32;
    (value - error) - (value.abs() + offset.abs()) * ROUNDING
}

/// A row `base` that may matter to the row `query`, by their numbers, and bounds of its score.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Hit {
    /// The row that asks.
    pub query: u32,
    /// The row that is asked for.
    pub base: u32,
    /// The score is at most this.
    pub upper: f32,
    /// The score is at least this.
    pub lower: f32,
}

/// The products of a cell, row by row, as [`Kernels::product`] left them.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// What the products are of: i32 for [`Element::Int8`], else f32.
    pub element: Element,
    /// Their bits.
    pub products: &'a [u32],
    /// Words from one row to the next.
    pub stride: usize,
    /// The rows, which ask.
    pub rows: Side<'a>,
    /// The columns, which are asked for, and ask as well in [`Kernels::scan_both`].
    pub columns: Side<'a>,
    /// Number of the first row, for hits.
    pub first_row: usize,
    /// Number of the first column, for hits.
    pub first_column: usize,
}

impl Kernels {
    /// Pushes onto `hits` every column whose upper bound for a row reaches that row's threshold, but for rounding, which the
    /// errors must have room for: three roundings of the estimate, one of its sum with the offset, two of the error. Nothing
    /// reaches infinity.
    ///
    /// # Panics
    /// If a part of the cell has the wrong length.
    pub fn scan(self, cell: Cell<'_>, thresholds: &[f32], hits: &mut Vec<Hit>) {
        self.scan_cell::<false>(&cell, thresholds, &[], hits, &mut Vec::new());
    }

    /// [`Kernels::scan`], and the same with rows and columns in exchanged roles: `column_hits` takes every row whose upper
    /// bound for a column reaches the column's threshold.
    ///
    /// # Panics
    /// As [`Kernels::scan`].
    pub fn scan_both(
        self,
        cell: Cell<'_>,
        row_thresholds: &[f32],
        column_thresholds: &[f32],
        row_hits: &mut Vec<Hit>,
        column_hits: &mut Vec<Hit>,
    ) {
        assert_eq!(cell.columns.len(), column_thresholds.len(), "one threshold per column");
        self.scan_cell::<true>(&cell, row_thresholds, column_thresholds, row_hits, column_hits);
    }

    /// The largest lower bounds that row `row` has of its columns, one of each of `maxima.len()` sets that share no column:
    /// as many columns have at least these scores.
    ///
    /// # Panics
    /// As [`Kernels::scan`], or if the number of maxima is no multiple of 16.
    pub fn lower_bounds(self, cell: Cell<'_>, row: usize, maxima: &mut [f32]) {
        cell.check();
        assert!(maxima.len().is_multiple_of(16), "{} maxima", maxima.len());
        maxima.fill(f32::NEG_INFINITY);
        if maxima.is_empty() {
            return;
        }
        self.run(
            #[inline(always)]
            || match cell.element {
                Element::Int8 => lower_bounds::<true>(cell, row, maxima),
                Element::Bf16 | Element::Float32 => lower_bounds::<false>(cell, row, maxima),
            },
        );
    }

    fn scan_cell<const BOTH: bool>(
        self,
        cell: &Cell<'_>,
        row_thresholds: &[f32],
        column_thresholds: &[f32],
        row_hits: &mut Vec<Hit>,
        column_hits: &mut Vec<Hit>,
    ) {
        cell.check();
        assert_eq!(cell.rows.len(), row_thresholds.len(), "one threshold per row");
        let mut scan = Scan::<BOTH> { cell, row_thresholds, column_thresholds, row_hits, column_hits };
        let int = cell.element == Element::Int8;
        match self.backend() {
            Backend::Portable => scan.walk_any(Plain, int),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(simd) | Backend::AvxVnni(simd) => simd.vectorize(
                #[inline(always)]
                || scan.walk_any(simd, int),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(simd) | Backend::Avx512Vnni(simd) | Backend::Amx(simd) => simd.vectorize(
                #[inline(always)]
                || scan.walk_any(simd, int),
            ),
        }
    }
}

impl Cell<'_> {
    fn check(&self) {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        assert!(self.stride >= columns, "rows of {} words do not hold {columns} products", self.stride);
        let needed = if rows == 0 { 0 } else { (rows - 1) * self.stride + columns };
        assert!(self.products.len() >= needed, "{needed} products are needed, {} given", self.products.len());
    }
}

/// One pass over a cell.
struct Scan<'a, const BOTH: bool> {
    cell: &'a Cell<'a>,
    row_thresholds: &'a [f32],
    column_thresholds: &'a [f32],
    row_hits: &'a mut Vec<Hit>,
    column_hits: &'a mut Vec<Hit>,
}

impl<const BOTH: bool> Scan<'_, BOTH> {
    #[inline(always)]
    fn walk_any<L: Lanes>(&mut self, lanes: L, int: bool) {
        if int { self.walk::<L, true>(lanes) } else { self.walk::<L, false>(lanes) }
    }

    #[inline(always)]
    fn walk<L: Lanes, const INT: bool>(&mut self, lanes: L) {
        let (rows, columns) = (self.cell.rows, self.cell.columns);
        for row_group in 0..rows.group_norm.len() {
            for column_group in 0..columns.group_norm.len() {
                let row_reach = rows.reach(row_group, &columns, column_group, self.row_thresholds);
                let column_reach = if BOTH {
                    columns.reach(column_group, &rows, row_group, self.column_thresholds)
                } else {
                    [0.0; GROUP]
                };
                for part in (0..GROUP).step_by(2 * L::WIDTH) {
                    self.part::<L, INT>(
                        lanes,
                        row_group * GROUP,
                        column_group * GROUP,
                        part,
                        &row_reach,
                        &column_reach,
                    );
                }
            }
        }
    }

    /// [`GROUP`] rows by the two vectors of columns that begin at `first_column + part`.
    #[inline(always)]
    fn part<L: Lanes, const INT: bool>(
        &mut self,
        lanes: L,
        first_row: usize,
        first_column: usize,
        part: usize,
        row_reach: &[f32; GROUP],
        column_reach: &[f32; GROUP],
    ) {
        let &Cell { products, stride, rows, columns, .. } = self.cell;
        let first_column = first_column + part;
        let second = first_column + L::WIDTH;
        let steps = (lanes.load(&columns.step[first_column..]), lanes.load(&columns.step[second..]));
        let offsets = (lanes.load(&columns.offset[first_column..]), lanes.load(&columns.offset[second..]));
        let reaches = (lanes.load(&column_reach[part..]), lanes.load(&column_reach[part + L::WIDTH..]));
        let row_step: &[f32; GROUP] = rows.step[first_row..].first_chunk().expect("whole groups");
        let row_offset: &[f32; GROUP] = rows.offset[first_row..].first_chunk().expect("whole groups");
        // No closures here: what is not inlined into the tier's entry is compiled without its instructions.
        for r in 0..GROUP {
            let begin = (first_row + r) * stride + first_column;
            let of_row = &products[begin..begin + 2 * L::WIDTH];
            let mut estimates = (lanes.load_product::<INT>(of_row), lanes.load_product::<INT>(&of_row[L::WIDTH..]));
            if INT {
                let step = lanes.splat(row_step[r]);
                estimates = (
                    lanes.mul(lanes.mul(estimates.0, steps.0), step),
                    lanes.mul(lanes.mul(estimates.1, steps.1), step),
                );
            }
            // An estimate and its offset come up to what is needed if the estimate comes up to the difference, however that
            // is rounded, since rounding keeps the order of numbers.
            let needed = lanes.splat(row_reach[r]);
            let mut least = (lanes.sub(needed, offsets.0), lanes.sub(needed, offsets.1));
            if BOTH {
                let own = lanes.splat(row_offset[r]);
                least = (lanes.min(least.0, lanes.sub(reaches.0, own)), lanes.min(least.1, lanes.sub(reaches.1, own)));
            }
            let mask = lanes.reaches(estimates.0, least.0) | lanes.reaches(estimates.1, least.1) << L::WIDTH;
            if mask != 0 {
                // The test took the largest errors of a group; now those of each pair.
                let row = first_row + r;
                let row_mask = self.rows_that_ask(lanes, row, first_column, estimates.0)
                    | self.rows_that_ask(lanes, row, second, estimates.1) << L::WIDTH;
                let column_mask = if BOTH {
                    self.columns_that_ask(lanes, row, first_column, estimates.0)
                        | self.columns_that_ask(lanes, row, second, estimates.1) << L::WIDTH
                } else {
                    0
                };
                if row_mask | column_mask != 0 {
                    let mut values = [0.0; GROUP];
                    lanes.store(estimates.0, &mut values);
                    lanes.store(estimates.1, &mut values[L::WIDTH..]);
                    self.push(row, first_column, &values, row_mask, column_mask);
                }
            }
        }
    }

    /// The columns from `column` on whose upper bounds, computed as [`Side::bounds`] does, reach the row's threshold.
    #[inline(always)]
    fn rows_that_ask<L: Lanes>(&self, lanes: L, row: usize, column: usize, estimates: L::V) -> u32 {
        let Cell { rows, columns, .. } = self.cell;
        let on_residual = lanes.mul(lanes.splat(rows.on_residual[row]), lanes.load(&columns.residual[column..]));
        let on_norm = lanes.mul(lanes.splat(rows.on_norm[row]), lanes.load(&columns.norm[column..]));
        let value = lanes.add(estimates, lanes.load(&columns.offset[column..]));
        let upper = lanes.add(value, lanes.add(on_residual, on_norm));
        lanes.reaches(upper, lanes.splat(self.row_thresholds[row]))
    }

    /// The columns from `column` on for which the row's upper bound reaches their thresholds.
    #[inline(always)]
    fn columns_that_ask<L: Lanes>(&self, lanes: L, row: usize, column: usize, estimates: L::V) -> u32 {
        let Cell { rows, columns, .. } = self.cell;
        let on_residual = lanes.mul(lanes.load(&columns.on_residual[column..]), lanes.splat(rows.residual[row]));
        let on_norm = lanes.mul(lanes.load(&columns.on_norm[column..]), lanes.splat(rows.norm[row]));
        let value = lanes.add(estimates, lanes.splat(rows.offset[row]));
        let upper = lanes.add(value, lanes.add(on_residual, on_norm));
        lanes.reaches(upper, lanes.load(&self.column_thresholds[column..]))
    }

    /// Pushes the hits of a row: the columns that `row_mask` names are hits of the row, and it is one of those of
    /// `column_mask`. `estimates` are without offsets.
    #[inline(never)]
    fn push(&mut self, row: usize, first_column: usize, estimates: &[f32; GROUP], row_mask: u32, column_mask: u32) {
        let &Cell { rows, columns, first_row, first_column: first, .. } = self.cell;
        let row_number = (first_row + row) as u32;
        for bit in bits(row_mask) {
            let column = first_column + bit;
            let (upper, lower) = rows.bounds(row, &columns, column, estimates[bit]);
            if reached(self.row_thresholds[row], upper) {
                self.row_hits.push(Hit { query: row_number, base: (first + column) as u32, upper, lower });
            }
        }
        for bit in bits(column_mask) {
            let column = first_column + bit;
            let (upper, lower) = columns.bounds(column, &rows, row, estimates[bit]);
            if reached(self.column_thresholds[column], upper) {
                self.column_hits.push(Hit { query: (first + column) as u32, base: row_number, upper, lower });
            }
        }
    }
}

/// Whether an upper bound reaches a threshold; none reaches infinity, not even that of a row out of range.
fn reached(threshold: f32, upper: f32) -> bool {
    upper >= threshold && threshold < f32::INFINITY
}

/// The positions of the bits of `mask`, ascending.
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 32).then_some(bit)
    })
}

#[inline(always)]
fn lower_bounds<const INT: bool>(cell: Cell<'_>, row: usize, maxima: &mut [f32]) {
    const WIDTH: usize = 16;
    let Cell { products, stride, rows, columns, .. } = cell;
    let sets = maxima.len() / WIDTH;
    let maxima = maxima.as_chunks_mut::<WIDTH>().0;
    let products = &products[row * stride..row * stride + columns.step.len()];
    let (on_residual, on_norm, scale) = (rows.on_residual[row], rows.on_norm[row], rows.step[row]);
    let vectors = products.as_chunks::<WIDTH>().0.iter();
    let vectors = vectors.zip(columns.step.as_chunks::<WIDTH>().0).zip(columns.offset.as_chunks::<WIDTH>().0);
    for (position, ((products, step), offset)) in vectors.enumerate() {
        let group = position * WIDTH / GROUP;
        let error = on_residual * columns.group_residual[group] + on_norm * columns.group_norm[group];
        let largest = &mut maxima[position % sets];
        for l in 0..WIDTH {
            let estimate =
                if INT { products[l].cast_signed() as f32 * step[l] * scale } else { f32::from_bits(products[l]) };
            let lower = below(estimate + offset[l], offset[l], error);
            largest[l] = if lower > largest[l] { lower } else { largest[l] };
        }
    }
}
