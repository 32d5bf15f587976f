//! What can be found out about the values of a matrix before it is used.

use mnno_exact::{Kernels, Observer, Rows};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::error::Need;
use crate::matrix::Matrix;
use crate::widen::Raw;
use crate::{ElementType, StoreError};

/// Values read at a time.
const BLOCK_VALUES: usize = 1 << 18;
/// Blocks that the system is asked to fetch at a time.
const BLOCKS_AHEAD: usize = 32;
/// Memory that a summary takes for each row, at most.
pub const SUMMARY_BYTES_PER_ROW: u64 = 48;
/// Positions that are listed; all are counted.
const LISTED: usize = 5;

/// What the conversion to f32 did to a type that f32 does not hold exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// Values that were rounded.
    pub rounded_values: u64,
    /// Distinct rows that are no longer distinct: the number of different rows before, less that after, told apart by a hash
    /// of 64 bits. None where memory did not suffice to count them.
    pub rows_made_equal: Option<u64>,
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

/// How many rows there are of a kind, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowList {
    /// All of them.
    pub count: usize,
    /// The first ones.
    pub first: Vec<usize>,
}

impl RowList {
    fn add(&mut self, row: usize) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(row);
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
    /// Finite values of f64 that no f32 comes near.
    pub beyond_f32: Positions,
    /// Rows of zeros.
    pub zero_rows: RowList,
    /// Smallest, median and largest Euclidean norm of the rows without NaN and infinities (the lower of two middle ones);
    /// none without such rows.
    pub norms: Option<[f64; 3]>,
    /// Groups of equal rows.
    pub equal_rows: EqualRows,
}

/// Rows of zeros, counted from the start of the chosen range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZeroRows {
    count: usize,
    /// A bit for each row, once there is a zero row.
    bits: Vec<u64>,
}

impl ZeroRows {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether row `i` is one.
    pub fn contains(&self, i: usize) -> bool {
        self.bits.get(i / 64).is_some_and(|bits| bits >> (i % 64) & 1 == 1)
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> u64 {
        8 * self.bits.len() as u64
    }

    fn add(&mut self, i: usize, n: usize) {
        self.bits.resize(n.div_ceil(64), 0);
        self.bits[i / 64] |= 1 << (i % 64);
        self.count += 1;
    }
}

/// What a matrix free of bad values is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Rows of zeros.
    pub zero_rows: ZeroRows,
    /// What the conversion to f32 did; none for types that f32 holds exactly.
    pub rounding: Option<Rounding>,
}

impl Matrix {
    /// Visits the rows in order; a matrix without columns has none to look at, however many it declares.
    fn for_each_row(
        &self,
        observer: &dyn Observer,
        mut visit: impl FnMut(usize, &[f32]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.d() == 0 {
            return Ok(());
        }
        let step = (BLOCK_VALUES / self.d()).max(1);
        let ahead = step * BLOCKS_AHEAD;
        let mut scratch = Vec::new();
        for start in (0..self.n()).step_by(step) {
            if observer.cancelled() {
                return Err(StoreError::Interrupted);
            }
            if start.is_multiple_of(ahead) {
                let next = start.saturating_add(ahead).min(self.n());
                self.prefetch(next..next.saturating_add(ahead).min(self.n()));
            }
            let end = (start + step).min(self.n());
            let block = self.block(start..end, &mut scratch);
            for i in start..end {
                visit(i, block.row(i - start))?;
            }
            observer.progress(end as u64, self.n() as u64);
        }
        Ok(())
    }

    /// Checks every value in one pass, and tells what the values are like, in `memory` bytes: a bit for each row if
    /// there are zero rows, and 16 bytes to count the rows that rounding makes equal, which is left if they do not fit.
    ///
    /// # Errors
    /// [`StoreError::OverBudget`] if the zero rows cannot be listed, [`StoreError::NonFinite`] for the first NaN or infinity,
    /// [`StoreError::BeyondF32`] for the first finite value that no f32 comes near, [`StoreError::Interrupted`] if the observer
    /// cancels.
    pub fn check(&self, memory: u64, observer: &dyn Observer) -> Result<Check, StoreError> {
        let mut zero_rows = ZeroRows::default();
        // A bit for each row, taken with the first zero row.
        let needed = self.n().div_ceil(64) as u64 * 8;
        let left = memory.saturating_sub(needed);
        let mut rounding = (!self.element().widens_exactly()).then(|| RoundingCount::new(self.n(), left));
        let kernels = Kernels::detect();
        self.for_each_row(observer, |i, row| {
            // In f64 squares of finite f32 values neither overflow nor vanish.
            let squares = kernels.dot(row, row);
            if !squares.is_finite()
                && let Some(column) = row.iter().position(|v| !v.is_finite())
            {
                return Err(self.bad_value(i, column, row[column]));
            }
            if squares == 0.0 {
                if needed > memory {
                    let file = self.display_name.clone();
                    return Err(StoreError::OverBudget { file, needed, need: Need::ZeroRows, budget: memory });
                }
                zero_rows.add(i, self.n());
            }
            if let Some(rounding) = &mut rounding {
                let (part, in_part) = self.locate(i);
                rounding.row(row, |column| part.raw(in_part, column));
            }
            Ok(())
        })?;
        Ok(Check { zero_rows, rounding: rounding.map(RoundingCount::finish) })
    }

    fn bad_value(&self, i: usize, column: usize, value: f32) -> StoreError {
        let (part, in_part) = self.locate(i);
        let (file, row) = (part.array.name.clone(), in_part + part.skipped);
        if self.is_finite_f64(i, column)
            && let Raw::Float(value) = part.raw(in_part, column)
        {
            return StoreError::BeyondF32 { file, row, column, value: format!("{value:e}") };
        }
        StoreError::NonFinite { file, row, column, value }
    }

    /// What the matrix holds, in one pass over the values and one over the rows that look equal. Takes up to
    /// [`SUMMARY_BYTES_PER_ROW`] of memory for each row.
    ///
    /// # Errors
    /// [`StoreError::Interrupted`] if the observer cancels.
    pub fn summary(&self, observer: &dyn Observer) -> Result<Summary, StoreError> {
        let kernels = Kernels::detect();
        let [mut nan, mut infinite, mut beyond_f32] = [const { Positions { count: 0, first: Vec::new() } }; 3];
        let mut zero_rows = RowList::default();
        let mut norms = Vec::new();
        let mut hashes = Vec::new();
        let mut key = Vec::new();
        // A matrix without columns has no rows to look at.
        let rows = if self.d() == 0 { 0 } else { self.n() };
        norms.reserve_exact(rows);
        hashes.reserve_exact(rows);
        self.for_each_row(observer, |i, row| {
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
                    } else if value.is_infinite() && self.is_finite_f64(i, column) {
                        beyond_f32.add(i + self.first_row, column);
                    } else if value.is_infinite() {
                        infinite.add(i + self.first_row, column);
                    }
                }
            }
            if square == 0.0 {
                zero_rows.add(i + self.first_row);
            }
            Ok(())
        })?;
        norms.sort_unstable_by(f64::total_cmp);
        let middle = norms.last().map(|&max| [norms[0], norms[(norms.len() - 1) / 2], max]);
        drop(norms); // to make room
        Ok(Summary { nan, infinite, beyond_f32, zero_rows, norms: middle, equal_rows: self.equal_rows(hashes) })
    }

    /// Only f64 has finite values beyond f32; text with such numbers does not open.
    fn is_finite_f64(&self, i: usize, column: usize) -> bool {
        let (part, in_part) = self.locate(i);
        self.element() == ElementType::F64 && matches!(part.raw(in_part, column), Raw::Float(v) if v.is_finite())
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

/// Counts what rounding does to the rows that it is shown.
struct RoundingCount {
    rounded_values: u64,
    /// Hashes of the rows before and after, while there is memory for them.
    hashes: Option<[Vec<u64>; 2]>,
    row: Vec<u8>,
}

impl RoundingCount {
    fn new(n: usize, memory: u64) -> Self {
        let fits = (n as u64).saturating_mul(16) <= memory;
        let hashes = fits.then(|| [Vec::with_capacity(n), Vec::with_capacity(n)]);
        Self { rounded_values: 0, hashes, row: Vec::new() }
    }

    fn row(&mut self, rounded: &[f32], raw: impl Fn(usize) -> Raw) {
        self.row.clear();
        for column in 0..rounded.len() {
            let value = raw(column);
            self.rounded_values += u64::from(!value.is_f32());
            self.row.extend(value.key().to_le_bytes());
        }
        if let Some([before, after]) = &mut self.hashes {
            before.push(xxh3_64(&self.row));
            self.row.clear();
            self.row.extend(rounded.iter().flat_map(|&v| value_key(v).to_le_bytes()));
            after.push(xxh3_64(&self.row));
        }
    }

    fn finish(self) -> Rounding {
        let distinct = |mut hashes: Vec<u64>| {
            hashes.sort_unstable();
            hashes.dedup();
            hashes.len() as u64
        };
        let rows_made_equal = self.hashes.map(|[before, after]| distinct(before).saturating_sub(distinct(after)));
        Rounding { rounded_values: self.rounded_values, rows_made_equal }
    }
}

/// Equal for equal values: one key for 0 and -0, one for every NaN.
fn value_key(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { (value + 0.0).to_bits() }
}
