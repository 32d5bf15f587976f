//! Names of rows from a file beside a matrix that has none.

use csv::{ReaderBuilder, StringRecord, StringRecordsIntoIter, Terminator, Trim};
use mnno_exact::Observer;

use crate::bytes::{Io, Source};
use crate::error::{Need, shown};
use crate::format::headings::is_name_heading;
use crate::format::table::{NAME_OVERHEAD, check_now_and_then};
use crate::open::split;
use crate::{StoreError, TextFault};

/// The names of the `n` rows of a matrix `file`, from `PATH[::COLUMN]`: a line per row, of which a tab ends the name; or one line
/// more for a header of tabs or commas, below whose first cell, or COLUMN, they stand. Returns the bytes that they take, too, and a
/// remark on a header that may be a name.
pub(crate) fn read(
    argument: &str,
    (file, n): (&str, usize),
    budget: u64,
    observer: &dyn Observer,
) -> Result<(Vec<String>, u64, Option<String>), StoreError> {
    let (path, suffix) = split(argument);
    let wanted = (!suffix.is_empty()).then(|| suffix.join("::"));
    let source = Source::open(path, Io::Read, budget)?;
    let fault = |fault| StoreError::Text { path: path.to_owned(), fault };
    let text = source.text().map_err(|line| fault(TextFault::NotUtf8 { line }))?;
    // Editors end a file with empty lines.
    let text = text.trim_end_matches(['\r', '\n']);
    let lines = text.lines().count();
    let mut remark = None;
    let mut held = 0;
    let mut names = Vec::with_capacity(n);
    let mut add = |line: usize, name: &str| {
        check_now_and_then(line, observer)?;
        if name.is_empty() {
            return Err(fault(TextFault::NoName { line }));
        }
        held += NAME_OVERHEAD + name.len() as u64;
        let needed = held + source.bytes().len() as u64;
        if needed > budget {
            return Err(StoreError::OverBudget { file: argument.to_owned(), needed, need: Need::Names, budget });
        }
        names.push(name.to_owned());
        Ok(())
    };
    if lines == n.saturating_add(1) {
        // The reader of the table would pass over it.
        if let Some(i) = text.lines().position(|line| line.trim().is_empty()) {
            return Err(fault(TextFault::NoName { line: i + 1 }));
        }
        let mut table = Table::new(text);
        let header = table.next().transpose().map_err(fault)?.unwrap_or_default();
        if wanted.is_none() && !is_name_heading(header[0].as_bytes()) {
            let heading = shown(&header[0]);
            remark = Some(format!(
                "{argument}: '{heading}' in its first line is taken for a header, since rows are one fewer than lines"
            ));
        }
        let column = wanted.map_or(Ok(0), |wanted| place(header.iter(), wanted)).map_err(fault)?;
        for (i, row) in table.enumerate() {
            add(i + 2, &row.map_err(fault)?[column])?;
        }
        // A quote alone at the end is no row to the reader.
        if names.len() < n {
            return Err(fault(TextFault::NoName { line: names.len() + 2 }));
        }
    } else if lines == n {
        if let Some(wanted) = wanted {
            return Err(fault(TextFault::NoHeader { wanted }));
        }
        let first = text.split(['\t', '\n']).next().unwrap_or_default();
        if !first.is_empty() && is_name_heading(first.as_bytes()) {
            remark = Some(format!(
                "{argument}: '{}' in its first line is taken for a name, since there are as many lines as rows",
                shown(first.trim())
            ));
        }
        for (i, line) in text.lines().enumerate() {
            add(i + 1, line.split('\t').next().unwrap_or_default().trim())?;
        }
    } else {
        return Err(fault(TextFault::NameCount { lines, rows: n, file: file.to_owned() }));
    }
    Ok((names, held, remark))
}

/// The lines of a table in cells, separated by tabs if the first line has any, else by commas.
struct Table<'a> {
    records: StringRecordsIntoIter<&'a [u8]>,
    /// The line that is next, from 1.
    line: usize,
    /// Cells of the first line.
    expected: Option<usize>,
}

impl<'a> Table<'a> {
    fn new(text: &'a str) -> Self {
        let by_tabs = text.lines().next().is_some_and(|header| header.contains('\t'));
        let mut reader = ReaderBuilder::new();
        reader.has_headers(false).flexible(true).trim(Trim::All);
        // Between tabs a quote is a character like others.
        reader.delimiter(if by_tabs { b'\t' } else { b',' }).quoting(!by_tabs);
        // A line is what str::lines() takes for one; carriage returns are trimmed.
        reader.terminator(Terminator::Any(b'\n'));
        Self { records: reader.from_reader(text.as_bytes()).into_records(), line: 1, expected: None }
    }
}

impl Iterator for Table<'_> {
    type Item = Result<StringRecord, TextFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.line;
        self.line += 1;
        let Ok(record) = self.records.next()? else { return Some(Err(TextFault::NotUtf8 { line })) };
        // A quote that is not closed takes in the lines behind it.
        if record.iter().any(|cell| cell.contains('\n')) {
            return Some(Err(TextFault::LineBreak { line }));
        }
        let expected = *self.expected.get_or_insert(record.len());
        Some(if record.len() == expected {
            Ok(record)
        } else {
            Err(TextFault::Ragged { line, cells: record.len(), expected })
        })
    }
}

/// The number of the only column with a heading.
pub(crate) fn place<S: AsRef<str>>(headings: impl Iterator<Item = S>, wanted: String) -> Result<usize, TextFault> {
    let headings: Vec<S> = headings.collect();
    let mut places = (0..headings.len()).filter(|&column| headings[column].as_ref() == wanted);
    match (places.next(), places.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => Err(TextFault::SameHeading { wanted: shown(&wanted) }),
        (None, _) => Err(TextFault::NoColumn {
            wanted,
            columns: headings.iter().map(|heading| shown(heading.as_ref())).collect(),
        }),
    }
}
