//! What can be found out about the values of a matrix before it is used.

use std::convert::Infallible;

use mnno_exact::{Kernels, Rows};
use xxhash_rust::xxh3::xxh3_128;

use crate::StoreError;
use crate::matrix::Matrix;
use crate::widen::{Raw, raw};

/// Values read at a time.
const BLOCK_VALUES: usize = 1 << 18;
/// Positions that are listed; all are counted.
const LISTED: usize = 5;

/// What the conversion to f32 did to a type that f32 does not hold exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// Values that were rounded.
    pub rounded_values: u64,
    /// Distinct rows that are no longer distinct: the number of different rows before, less that after.
    pub rows_made_equal: u64,
}

/// How many there are of something, and where the first few are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// All of them.
    pub count: u64,
    /// Row and column of the first ones.
    pub first: Vec<(usize, usize)>,
}

impl Positions {
    fn add(&mut self, row: usize, column: usize) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push((row, column));
        }
    }
}

/// Rows with equal values; 0 and -0 are equal, NaN equals itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EqualRows {
    /// Groups of two or more equal rows.
    pub groups: usize,
    /// Rows in these groups.
    pub rows: usize,
    /// Rows of the largest group.
    pub largest: usize,
    /// The first rows of the largest group.
    pub largest_first: Vec<usize>,
}

/// What a matrix holds. Rows count from the start of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// NaN values.
    pub nan: Positions,
    /// Infinite values.
    pub infinite: Positions,
    /// Rows of zeros.
    pub zero_rows: Vec<usize>,
    /// Smallest, median and largest Euclidean norm of the rows without NaN and infinities (the lower of two middle ones);
    /// none without such rows.
    pub norms: Option<[f64; 3]>,
    /// Groups of equal rows.
    pub equal_rows: EqualRows,
}

impl Matrix {
    /// Visits the rows in order; a matrix without columns has none to look at, however many it declares.
    fn for_each_row<E>(&self, mut visit: impl FnMut(usize, &[f32]) -> Result<(), E>) -> Result<(), E> {
        if self.d() == 0 {
            return Ok(());
        }
        let step = (BLOCK_VALUES / self.d()).max(1);
        let mut scratch = Vec::new();
        for start in (0..self.n()).step_by(step) {
            let end = (start + step).min(self.n());
            let block = self.block(start..end, &mut scratch);
            for i in start..end {
                visit(i, block.row(i - start))?;
            }
        }
        Ok(())
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`StoreError::NonFinite`] for the first NaN or infinity, [`StoreError::BeyondF32`] for the first finite value that no
    /// f32 comes near.
    pub fn validate(&self) -> Result<(), StoreError> {
        self.for_each_row(|i, row| match row.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(column) => Err(self.bad_value(i, column, row[column])),
        })
    }

    fn bad_value(&self, i: usize, column: usize, value: f32) -> StoreError {
        let (file, row) = (self.array.name.clone(), i + self.first_row);
        match raw(self.bytes(), &self.layout, i, column) {
            Raw::Float(value) if value.is_finite() => {
                StoreError::BeyondF32 { file, row, column, value: format!("{value:e}") }
            }
            _ => StoreError::NonFinite { file, row, column, value },
        }
    }

    /// Rows of zeros, counted from the start of the chosen range.
    pub fn zero_rows(&self) -> Vec<usize> {
        let mut zeros = Vec::new();
        let Ok(()) = self.for_each_row::<Infallible>(|i, row| {
            if row.iter().all(|&v| v == 0.0) {
                zeros.push(i);
            }
            Ok(())
        });
        zeros
    }

    /// What the conversion to f32 did; none for types that f32 holds exactly. Takes 32 bytes of memory per row.
    ///
    /// # Errors
    /// Those of [`Matrix::validate`]: a value that is no number, or beyond f32, has no rounding.
    pub fn rounding(&self) -> Result<Option<Rounding>, StoreError> {
        if self.layout.element.widens_exactly() {
            return Ok(None);
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut rounded_values = 0;
        let (mut raw_row, mut f32_row) = (Vec::new(), Vec::new());
        self.for_each_row(|i, row| {
            raw_row.clear();
            f32_row.clear();
            for (j, &rounded) in row.iter().enumerate() {
                if !rounded.is_finite() {
                    return Err(self.bad_value(i, j, rounded));
                }
                let value = raw(self.bytes(), &self.layout, i, j);
                rounded_values += u64::from(!value.is_f32());
                raw_row.extend(value.key().to_le_bytes());
                f32_row.extend(value_key(rounded).to_le_bytes());
            }
            before.push(xxh3_128(&raw_row));
            after.push(xxh3_128(&f32_row));
            Ok(())
        })?;
        let distinct = |mut hashes: Vec<u128>| {
            hashes.sort_unstable();
            hashes.dedup();
            hashes.len() as u64
        };
        Ok(Some(Rounding { rounded_values, rows_made_equal: distinct(before).saturating_sub(distinct(after)) }))
    }

    /// What the matrix holds, in one pass over the values and one over the rows that look equal. Takes about 32 bytes of
    /// memory per row.
    pub fn summary(&self) -> Summary {
        let kernels = Kernels::detect();
        let (mut nan, mut infinite) = (Positions::default(), Positions::default());
        let mut zero_rows = Vec::new();
        let mut norms = Vec::new();
        let mut hashes = Vec::new();
        let mut key = Vec::new();
        let Ok(()) = self.for_each_row::<Infallible>(|i, row| {
            key.clear();
            key.extend(row.iter().flat_map(|&v| value_key(v).to_le_bytes()));
            hashes.push((xxh3_128(&key), i as u64));
            let square = kernels.dot(row, row);
            if square.is_finite() {
                norms.push(square.sqrt());
            } else {
                for (column, value) in row.iter().enumerate() {
                    if value.is_nan() {
                        nan.add(i + self.first_row, column);
                    } else if value.is_infinite() {
                        infinite.add(i + self.first_row, column);
                    }
                }
            }
            if square == 0.0 {
                zero_rows.push(i + self.first_row);
            }
            Ok(())
        });
        norms.sort_unstable_by(f64::total_cmp);
        let norms = norms.last().map(|&max| [norms[0], norms[(norms.len() - 1) / 2], max]);
        Summary { nan, infinite, zero_rows, norms, equal_rows: self.equal_rows(hashes) }
    }

    /// Groups of equal rows among those of equal hash, each candidate compared value by value with its group's first.
    fn equal_rows(&self, mut hashes: Vec<(u128, u64)>) -> EqualRows {
        hashes.sort_unstable();
        let mut equal = EqualRows::default();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for run in hashes.chunk_by(|x, y| x.0 == y.0).filter(|run| run.len() > 1) {
            let first = self.row(run[0].1 as usize, &mut a);
            let group: Vec<usize> = run
                .iter()
                .map(|&(_, i)| i as usize)
                .filter(|&i| {
                    let row = self.row(i, &mut b);
                    first.iter().zip(row).all(|(&x, &y)| value_key(x) == value_key(y))
                })
                .collect();
            if group.len() > 1 {
                equal.groups += 1;
                equal.rows += group.len();
                if group.len() > equal.largest {
                    equal.largest = group.len();
                    equal.largest_first = group.iter().take(LISTED).map(|i| i + self.first_row).collect();
                }
            }
        }
        equal
    }
}

/// Equal for equal values: one key for 0 and -0, one for every NaN.
fn value_key(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() }
}
