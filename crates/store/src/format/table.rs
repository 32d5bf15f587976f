//! Tables of text on their way into memory: the values when they fit the budget, else where each row begins.

use mnno_exact::Observer;

use crate::error::{Need, shown};
use crate::matrix::Storage;
use crate::open::Limits;
use crate::scattered::{Decode, Scattered};
use crate::{Fault, StoreError};

/// A table of text.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) storage: Storage,
    pub(crate) names: Option<Vec<String>>,
    /// What a reader may have taken otherwise than it was meant.
    pub(crate) remarks: Vec<String>,
}

/// What is kept of the rows.
enum Kept {
    Values(Vec<f32>),
    Starts(Vec<u64>),
}

/// Collects the rows of a table whose shape is known.
pub(crate) struct TableBuilder<'a> {
    file: &'a str,
    limits: Limits<'a>,
    kept: Kept,
    names: Option<Vec<String>>,
    held: u64,
    rows: usize,
    d: usize,
}

/// What a name takes beside its characters.
pub(crate) const NAME_OVERHEAD: u64 = (size_of::<String>() + 32) as u64;

impl<'a> TableBuilder<'a> {
    /// A table of `n` rows of `d` values, with names of `names` bytes together if it has names. Its values are kept if they fit
    /// [`Limits::keep`] with the names.
    ///
    /// # Errors
    /// [`StoreError::OverBudget`] if not even the starts of the rows fit.
    pub(crate) fn new(
        file: &'a str,
        (n, d): (usize, usize),
        names: Option<u64>,
        limits: Limits<'a>,
    ) -> Result<Self, StoreError> {
        let (rows, values) = (n as u64, (n as u64).saturating_mul(d as u64));
        let names_held = names.map_or(0, |bytes| rows * NAME_OVERHEAD + bytes);
        let keep_values = values.saturating_mul(4).saturating_add(names_held) <= limits.keep;
        let held = if keep_values { 4 * values } else { 8 * rows };
        let at_least = held + names_held;
        let budget = limits.budget;
        if at_least > budget {
            let need = if names.is_some() { Need::Names } else { Need::Rows };
            return Err(StoreError::OverBudget { file: file.to_owned(), needed: at_least, need, budget });
        }
        Ok(Self {
            file,
            limits,
            kept: if keep_values {
                Kept::Values(Vec::with_capacity(values as usize))
            } else {
                Kept::Starts(Vec::with_capacity(n))
            },
            names: names.map(|_| Vec::with_capacity(n)),
            held,
            rows: 0,
            d,
        })
    }

    /// Begins the next row, which stands at byte `start`.
    pub(crate) fn row(&mut self, start: usize, name: Option<&str>) -> Result<(), StoreError> {
        check_now_and_then(self.rows, self.limits.observer)?;
        self.rows += 1;
        if let Kept::Starts(starts) = &mut self.kept {
            starts.push(start as u64);
        }
        if let (Some(names), Some(name)) = (&mut self.names, name) {
            self.held += NAME_OVERHEAD + name.len() as u64;
            if self.held > self.limits.budget {
                let (file, needed) = (self.file.to_owned(), self.held);
                return Err(StoreError::OverBudget { file, needed, need: Need::Names, budget: self.limits.budget });
            }
            names.push(name.to_owned());
        }
        Ok(())
    }

    /// Adds a value to the row.
    pub(crate) fn value(&mut self, value: f32) {
        if let Kept::Values(values) = &mut self.kept {
            values.push(value);
        }
    }

    /// The table; its rows, if they were not kept, are to be decoded so.
    pub(crate) fn finish(self, decode: Decode) -> Table {
        let storage = match self.kept {
            Kept::Values(values) => Storage::Parsed(values),
            Kept::Starts(starts) => Storage::Scattered(Scattered { starts, decode }),
        };
        Table { n: self.rows, d: self.d, storage, names: self.names, remarks: Vec::new() }
    }
}

/// Asks the observer whether to go on, but not at every row.
pub(crate) fn check_now_and_then(row: usize, observer: &dyn Observer) -> Result<(), StoreError> {
    const ROWS: usize = 1024;
    if row.is_multiple_of(ROWS) && observer.cancelled() { Err(StoreError::Interrupted) } else { Ok(()) }
}

/// Words are the names by which vectors are found, so each stands once. `first` is the number of the first one, `place` what
/// is counted.
pub(crate) fn refuse_repeated(names: &[String], place: &'static str, first: u64) -> Result<(), Fault> {
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (&names[i as usize], i));
    let repeats = || order.windows(2).filter(|pair| names[pair[0] as usize] == names[pair[1] as usize]);
    let Some(pair) = repeats().min_by_key(|pair| pair[1]) else { return Ok(()) };
    Err(Fault::RepeatedWord {
        word: shown(&names[pair[1] as usize]),
        place,
        first: first + u64::from(pair[0]),
        again: first + u64::from(pair[1]),
        more: repeats().count() - 1,
    })
}
