//! Labels that travel beside a matrix: a line per row, one or several labels each.

use std::ops::Range;
use std::path::Path;

use crate::StoreError;
use crate::bytes::{Io, Source};
use crate::error::Need;
use crate::format::table::NAME_OVERHEAD;

/// The labels of rows `rows` of a matrix `file` with `n` rows. The file of labels has a line for every row of the matrix,
/// or one for every row of the range.
pub(crate) fn read(
    path: &Path,
    file: &str,
    n: usize,
    rows: &Range<usize>,
    budget: u64,
) -> Result<Vec<Vec<String>>, StoreError> {
    let source = Source::open(path, Io::Read, budget)?;
    let text = str::from_utf8(source.bytes()).map_err(|e| StoreError::LabelText {
        path: path.to_owned(),
        line: source.bytes()[..e.valid_up_to()].split(|&b| b == b'\n').count(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().count();
    let skip = match lines {
        _ if lines == n => rows.start,
        _ if lines == rows.len() => 0,
        _ => {
            return Err(StoreError::LabelCount { path: path.to_owned(), lines, rows: n, file: file.to_owned() });
        }
    };
    // A label and what separates it from the next take two characters or more.
    let held = source.bytes().len() as u64 / 2 * NAME_OVERHEAD + rows.len() as u64 * size_of::<Vec<String>>() as u64;
    if held > budget {
        return Err(StoreError::OverBudget {
            file: path.display().to_string(),
            needed: held,
            need: Need::Labels,
            budget,
        });
    }
    let labels_of = |(i, line): (usize, &str)| {
        let labels: Vec<String> =
            line.split(['\t', ',', ' ']).filter(|label| !label.is_empty()).map(str::to_owned).collect();
        if labels.is_empty() {
            return Err(StoreError::EmptyLabel { path: path.to_owned(), line: i + 1 });
        }
        Ok(labels)
    };
    text.lines().enumerate().skip(skip).take(rows.len()).map(labels_of).collect()
}
