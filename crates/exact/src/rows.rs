//! What a search reads: rows of f32, block by block.
//!
//! The engine never sees a file. Whoever holds vectors implements [`Rows`]; a mapped f32 file hands out itself,
//! other element types widen one block at a time into the caller's scratch. So half-precision data and data larger
//! than memory need no second engine.

use std::ops::Range;

/// A matrix `[n, d]` of f32, read by rows.
///
/// Implementations answer the same values for the same row every time, from any thread.
pub trait Rows: Sync {
    /// Number of rows.
    fn n(&self) -> usize;

    /// Number of columns (dimensions).
    fn d(&self) -> usize;

    /// Rows `rows` as f32, borrowed from `self` or written into `scratch`.
    ///
    /// # Panics
    /// If `rows` ends past [`Rows::n`].
    fn block<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> RowBlock<'a>;

    /// Told that rows `rows` will be read soon, in their order: a chance to fetch them from slow storage meanwhile. Does
    /// nothing unless implemented.
    fn prefetch(&self, rows: Range<usize>) {
        let _ = rows;
    }

    /// Row `i` if it lies in memory as f32: a chance to bring it into the cache before it is read. `None` unless implemented.
    ///
    /// # Panics
    /// If `i` is not below [`Rows::n`].
    fn borrowed(&self, i: usize) -> Option<&[f32]> {
        let _ = i;
        None
    }

    /// Row `i` as f32, `d` values long.
    ///
    /// # Panics
    /// If `i` is not below [`Rows::n`].
    fn row<'a>(&'a self, i: usize, scratch: &'a mut Vec<f32>) -> &'a [f32] {
        self.block(i..i + 1, scratch).row(0)
    }
}

/// A run of rows, `stride >= d` apart, row-major.
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'a> {
    data: &'a [f32],
    n: usize,
    d: usize,
    stride: usize,
}

impl<'a> RowBlock<'a> {
    /// `n` rows of `d` values in `data`, the first value of each row `stride` after that of the row before.
    ///
    /// # Panics
    /// If `stride < d` or `data` is too short for the last row.
    pub fn new(data: &'a [f32], n: usize, d: usize, stride: usize) -> Self {
        assert!(stride >= d, "row stride {stride} is below d = {d}");
        let needed = n.checked_sub(1).map_or(0, |last| last * stride + d);
        assert!(data.len() >= needed, "{n} rows of {d} values need {needed}, {} given", data.len());
        Self { data, n, d, stride }
    }

    /// Number of rows in the block.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Row `i` of the block.
    ///
    /// # Panics
    /// If `i` is not below [`RowBlock::n`].
    pub fn row(&self, i: usize) -> &'a [f32] {
        assert!(i < self.n, "row {i} of a block of {}", self.n);
        &self.data[i * self.stride..i * self.stride + self.d]
    }
}

/// Rows in memory: a borrowed row-major slice `[n, d]`.
///
/// ```
/// use mnno_exact::{Rows, SliceRows};
/// let rows = SliceRows::new(&[1.0, 2.0, 3.0, 4.0], 2);
/// assert_eq!((rows.n(), rows.d()), (2, 2));
/// assert_eq!(rows.row(1, &mut Vec::new()), [3.0, 4.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SliceRows<'a> {
    data: &'a [f32],
    n: usize,
    d: usize,
}

impl<'a> SliceRows<'a> {
    /// Rows of `d` values each.
    ///
    /// # Panics
    /// If `d` is 0 while `data` is not empty, or `data.len()` is no multiple of `d`.
    pub fn new(data: &'a [f32], d: usize) -> Self {
        assert!(
            data.is_empty() || (d > 0 && data.len().is_multiple_of(d)),
            "{} values do not make rows of {d}",
            data.len()
        );
        let n = data.len().checked_div(d).unwrap_or(0);
        Self { data, n, d }
    }
}

impl Rows for SliceRows<'_> {
    fn n(&self) -> usize {
        self.n
    }

    fn d(&self) -> usize {
        self.d
    }

    fn block<'a>(&'a self, rows: Range<usize>, _scratch: &'a mut Vec<f32>) -> RowBlock<'a> {
        let d = self.d;
        RowBlock::new(&self.data[rows.start * d..rows.end * d], rows.len(), d, d)
    }

    fn borrowed(&self, i: usize) -> Option<&[f32]> {
        Some(&self.data[i * self.d..(i + 1) * self.d])
    }
}

/// Some rows of a matrix, in a stated order: row `i` is row `keep[i]` of `inner`.
#[derive(Debug)]
pub struct Subset<'a, R: ?Sized> {
    inner: &'a R,
    keep: &'a [u32],
}

impl<'a, R: Rows + ?Sized> Subset<'a, R> {
    /// The rows `keep` of `inner`.
    ///
    /// # Panics
    /// If an index is not below `inner.n()`.
    pub fn new(inner: &'a R, keep: &'a [u32]) -> Self {
        assert!(keep.iter().all(|&i| (i as usize) < inner.n()), "a kept row lies past the last row");
        Self { inner, keep }
    }
}

impl<R: Rows + ?Sized> Rows for Subset<'_, R> {
    fn n(&self) -> usize {
        self.keep.len()
    }

    fn d(&self) -> usize {
        self.inner.d()
    }

    fn block<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> RowBlock<'a> {
        let d = self.d();
        let n = rows.len();
        scratch.clear();
        let mut one = Vec::new();
        for &i in &self.keep[rows] {
            scratch.extend_from_slice(self.inner.row(i as usize, &mut one));
        }
        RowBlock::new(scratch, n, d, d)
    }

    fn prefetch(&self, rows: Range<usize>) {
        // Worth it only where the kept rows follow each other closely.
        let kept = &self.keep[rows];
        if let &[first, .., last] = kept
            && (first..last).len() < 2 * kept.len()
        {
            self.inner.prefetch(first as usize..last as usize + 1);
        }
    }

    fn borrowed(&self, i: usize) -> Option<&[f32]> {
        self.inner.borrowed(self.keep[i] as usize)
    }

    fn row<'a>(&'a self, i: usize, scratch: &'a mut Vec<f32>) -> &'a [f32] {
        self.inner.row(self.keep[i] as usize, scratch)
    }
}
