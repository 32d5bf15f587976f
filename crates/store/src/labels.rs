//! Labels that travel beside a matrix: a line per row, one or several labels each.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bytes::{Io, Source};
use crate::error::Need;
use crate::format::table::NAME_OVERHEAD;
use crate::{Fingerprint, StoreError};

/// What the labels of a row take beside the labels.
const ROW_OVERHEAD: u64 = (size_of::<Vec<String>>() + 16) as u64;

/// The labels of rows, and where they are from.
#[derive(Debug)]
pub(crate) struct Labels {
    pub(crate) path: PathBuf,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) of_rows: Vec<Vec<String>>,
}

/// The labels of rows `rows` of a matrix `file` with `n` rows. The file of labels has a line for every row of the matrix,
/// or one for every row of the range. Returns the bytes that they take, too.
pub(crate) fn read(
    path: &Path,
    file: &str,
    n: usize,
    rows: &Range<usize>,
    budget: u64,
) -> Result<(Labels, u64), StoreError> {
    let source = Source::open(path, Io::Read, budget)?;
    let text = source.text().map_err(|line| StoreError::LabelText { path: path.to_owned(), line })?;
    // Editors end a file with empty lines.
    let text = text.trim_end_matches(['\r', '\n']);
    let lines = text.lines().count();
    let skip = match lines {
        _ if lines == n => rows.start,
        _ if lines == rows.len() => 0,
        _ => {
            return Err(StoreError::LabelCount { path: path.to_owned(), lines, rows: n, file: file.to_owned() });
        }
    };
    let mut held = rows.len() as u64 * ROW_OVERHEAD;
    let mut all = Vec::with_capacity(rows.len());
    for (i, line) in text.lines().enumerate().skip(skip).take(rows.len()) {
        let labels = || line.split(['\t', ',', ' ']).filter(|label| !label.is_empty());
        let count = labels().count();
        if count == 0 {
            return Err(StoreError::EmptyLabel { path: path.to_owned(), line: i + 1 });
        }
        held += labels().map(|label| NAME_OVERHEAD + label.len() as u64).sum::<u64>();
        let needed = held + source.bytes().len() as u64;
        if needed > budget {
            return Err(StoreError::OverBudget {
                file: path.display().to_string(),
                needed,
                need: Need::Labels,
                budget,
            });
        }
        let mut row = Vec::with_capacity(count);
        row.extend(labels().map(str::to_owned));
        all.push(row);
    }
    let fingerprint = Fingerprint::of(source.bytes());
    Ok((Labels { path: path.to_owned(), fingerprint, of_rows: all }, held))
}
