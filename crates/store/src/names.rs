//! Names of rows from a file beside a matrix that has none.

use mnno_exact::Observer;

use crate::bytes::{Io, Source};
use crate::error::{Need, shown};
use crate::format::table::{NAME_OVERHEAD, check_now_and_then};
use crate::open::split;
use crate::{StoreError, TextFault};

/// The names of the `n` rows of a matrix `file`, from `PATH[::COLUMN]`: a line per row, of which a tab ends the name; or one line
/// more for a header of tabs or commas, below whose first cell, or COLUMN, they stand. Returns the bytes that they take, too.
pub(crate) fn read(
    argument: &str,
    (file, n): (&str, usize),
    budget: u64,
    observer: &dyn Observer,
) -> Result<(Vec<String>, u64), StoreError> {
    let (path, suffix) = split(argument);
    let wanted = (!suffix.is_empty()).then(|| suffix.join("::"));
    let source = Source::open(path, Io::Read, budget)?;
    let fault = |fault| StoreError::Text { path: path.to_owned(), fault };
    let text = source.text().map_err(|line| fault(TextFault::NotUtf8 { line }))?;
    // Editors end a file with empty lines.
    let text = text.trim_end_matches(['\r', '\n']);
    let lines = text.lines().count();
    let (skip, column, delimiter) = match wanted {
        _ if lines == n.saturating_add(1) => {
            let header = text.lines().next().unwrap_or_default();
            let delimiter = if header.contains('\t') { '\t' } else { ',' };
            (1, place(header, delimiter, wanted).map_err(fault)?, delimiter)
        }
        Some(wanted) if lines == n => return Err(fault(TextFault::NoHeader { wanted })),
        None if lines == n => (0, 0, '\t'),
        _ => return Err(fault(TextFault::NameCount { lines, rows: n, file: file.to_owned() })),
    };
    let mut held = 0;
    let mut names = Vec::with_capacity(n);
    for (i, line) in text.lines().enumerate().skip(skip) {
        check_now_and_then(i, observer)?;
        let name = cells(line, delimiter).nth(column).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| fault(TextFault::NoName { line: i + 1 }))?;
        held += NAME_OVERHEAD + name.len() as u64;
        let needed = held + source.bytes().len() as u64;
        if needed > budget {
            return Err(StoreError::OverBudget { file: argument.to_owned(), needed, need: Need::Names, budget });
        }
        names.push(name);
    }
    Ok((names, held))
}

/// The number of the column with a heading; the first if none is asked for.
fn place(header: &str, delimiter: char, wanted: Option<String>) -> Result<usize, TextFault> {
    let Some(wanted) = wanted else { return Ok(0) };
    let columns: Vec<String> = cells(header, delimiter).collect();
    columns
        .iter()
        .position(|column| *column == wanted)
        .ok_or_else(|| TextFault::NoColumn { wanted, columns: columns.iter().map(|column| shown(column)).collect() })
}

/// The cells of a line. Between commas a cell may stand in quotes, and so may the quotes in it, doubled.
fn cells(line: &str, delimiter: char) -> impl Iterator<Item = String> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let mut is_quoted = false;
        let end = line.find(|c| {
            is_quoted ^= c == '"' && delimiter == ',';
            c == delimiter && !is_quoted
        });
        let cell = line[..end.unwrap_or(line.len())].trim();
        rest = end.map(|end| &line[end + 1..]);
        let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).filter(|_| delimiter == ',');
        Some(quoted.map_or_else(|| cell.to_owned(), |cell| cell.replace("\"\"", "\"")))
    })
}
