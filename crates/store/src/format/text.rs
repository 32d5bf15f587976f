//! CSV and TSV: a row per line, with or without row names in the first column and a header line.
//!
//! Numbers go straight to f32, since a detour over f64 would round twice. The first column holds row names when at
//! least half of its cells are no numbers (some names may well be, such as label ids), or when the header says so. A stray
//! word in a column of numbers is an error: a slip of the pen must not turn values into names.

use std::cell::Cell;
use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::table::{Table, TableBuilder, check_now_and_then};
use crate::error::shown;
use crate::open::Limits;
use crate::scattered::Decode;
use crate::{Fault, Format, StoreError};

/// The byte order mark that some editors put first.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// First cells of a header line that stand above names, in lower case.
const NAME_HEADINGS: [&str; 6] = ["", "name", "id", "word", "label", "key"];

/// What the first pass finds out.
struct Shape {
    header: bool,
    names: bool,
    rows: usize,
    width: usize,
}

/// Reads the table, within the limits.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format, limits: Limits<'_>) -> Result<Table, StoreError> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let delimiter = delimiter(&bytes[start..], format);
    let text = Text { file, format, bytes: &bytes[start..], start, delimiter, limits };
    let shape = text.shape()?;
    text.table(&shape)
}

/// Appends the numbers of the record at the beginning of `bytes`, as far as it has them.
pub(crate) fn decode(bytes: &[u8], delimiter: u8, names: bool, d: usize, out: &mut Vec<f32>) {
    let mut record = ByteRecord::new();
    if reader(bytes, delimiter).read_byte_record(&mut record).is_ok() {
        out.extend(record.iter().skip(usize::from(names)).take(d).map_while(number));
    }
}

fn reader<R: Read>(bytes: R, delimiter: u8) -> Reader<R> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        // Tab-separated words include lone quotation marks.
        .quoting(delimiter != b'\t')
        .from_reader(bytes)
}

/// The delimiter that the first line has most of.
fn delimiter(bytes: &[u8], format: Format) -> u8 {
    if format == Format::Tsv {
        return b'\t';
    }
    let line = bytes.split(|&b| b == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    let count = |delimiter: u8| line.split(|&b| b == delimiter).count();
    // The last of several maxima wins.
    [b'\t', b';', b','].into_iter().max_by_key(|&delimiter| count(delimiter)).unwrap_or(b',')
}

/// Bytes that end with an error where a record has no end: one quotation mark makes a record of all that follows.
struct Limited<'a> {
    bytes: &'a [u8],
    read: u64,
    record_start: &'a Cell<u64>,
    longest: u64,
}

impl Read for Limited<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read - self.record_start.get() > self.longest {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.bytes.read(out)?;
        self.read += count as u64;
        Ok(count)
    }
}

struct Text<'a> {
    file: &'a str,
    format: Format,
    bytes: &'a [u8],
    /// Where they begin in the file.
    start: usize,
    delimiter: u8,
    limits: Limits<'a>,
}

impl Text<'_> {
    fn bad(&self, fault: Fault) -> StoreError {
        StoreError::Malformed { file: self.file.to_owned(), format: self.format, fault, looks_like: None }
    }

    /// Calls `visit` with each record.
    fn each_record(&self, mut visit: impl FnMut(&ByteRecord) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let record_start = Cell::new(0);
        // A record and the ends of its cells are held in memory.
        let longest = (self.limits.budget / 16).max(1 << 16);
        let bytes = Limited { bytes: self.bytes, read: 0, record_start: &record_start, longest };
        let mut reader = reader(bytes, self.delimiter);
        let mut record = ByteRecord::new();
        let (mut records, mut line) = (0, 1);
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(true) => {
                    let rest = &self.bytes[record_start.get() as usize..];
                    let is_last = reader.position().byte() as usize >= self.bytes.len();
                    if is_last && self.is_open(rest) {
                        return Err(self.bad(Fault::OpenQuote { line }));
                    }
                    visit(&record)?;
                }
                Ok(false) => return Ok(()),
                // Records of any width are let through, and memory does not fail to be read.
                Err(_) => return Err(self.bad(Fault::LongRecord { line, longest })),
            }
            record_start.set(reader.position().byte());
            line = reader.position().line();
            check_now_and_then(records, self.limits.observer)?;
            records += 1;
        }
    }

    /// Whether a quotation mark opens a cell of the last record and none closes it.
    fn is_open(&self, record: &[u8]) -> bool {
        let marks = record.iter().filter(|&&b| b == b'"').count();
        let opens = |pair: &[u8]| pair == [self.delimiter, b'"'] || pair == b"\n\"";
        let begins_cell = record.starts_with(b"\"") || record.windows(2).any(opens);
        self.delimiter != b'\t' && marks % 2 == 1 && begins_cell
    }

    fn shape(&self) -> Result<Shape, StoreError> {
        let mut shape = Shape { header: false, names: false, rows: 0, width: 0 };
        let mut first_line = None;
        let mut words = 0;
        self.each_record(|record| {
            let width = record.len();
            if first_line.is_none() {
                first_line = Some(line(record));
                shape.width = width;
                shape.header = is_header(record);
                shape.names = shape.header && width > 1 && is_name_heading(&record[0]);
                if shape.header {
                    return Ok(());
                }
            }
            if width != shape.width {
                return Err(self.bad(Fault::Ragged {
                    line: line(record),
                    found: width,
                    first_line: first_line.unwrap_or(1),
                    expected: shape.width,
                }));
            }
            words += usize::from(number(&record[0]).is_none());
            shape.rows += 1;
            Ok(())
        })?;
        shape.names |= shape.width > 1 && words > 0 && 2 * words >= shape.rows;
        Ok(shape)
    }

    fn table(&self, shape: &Shape) -> Result<Table, StoreError> {
        let first = usize::from(shape.names);
        let size = (shape.rows, shape.width - first);
        let mut table = TableBuilder::new(self.file, self.bytes.len(), size, shape.names, self.limits)?;
        let mut skip = shape.header;
        let mut row = 0;
        self.each_record(|record| {
            if std::mem::take(&mut skip) {
                return Ok(());
            }
            let name = shape.names.then(|| str::from_utf8(&record[0])).transpose();
            let name = name.map_err(|_| self.bad(Fault::NameText { line: line(record) }))?;
            let start = record.position().map_or(0, |position| position.byte() as usize);
            table.row(self.start + start, name)?;
            for (column, cell) in record.iter().enumerate().skip(first) {
                let Some(value) = number(cell) else {
                    let (line, cell, text) = (line(record), column + 1, cell_text(cell));
                    return Err(self.bad(Fault::NotANumber { line, cell, text }));
                };
                check_range(self.file, row, column - first, cell, value)?;
                table.value(value);
            }
            row += 1;
            Ok(())
        })?;
        Ok(table.finish(Decode::Cells { delimiter: self.delimiter, names: shape.names }))
    }
}

fn line(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

pub(crate) fn number(cell: &[u8]) -> Option<f32> {
    str::from_utf8(cell).ok()?.trim().parse().ok()
}

pub(crate) fn cell_text(cell: &[u8]) -> String {
    shown(String::from_utf8_lossy(cell).trim())
}

/// Only a number too large becomes infinite without saying so.
pub(crate) fn check_range(file: &str, row: usize, column: usize, cell: &[u8], value: f32) -> Result<(), StoreError> {
    if value.is_infinite() && cell.iter().any(u8::is_ascii_digit) {
        return Err(StoreError::BeyondF32 { file: file.to_owned(), row, column, value: cell_text(cell) });
    }
    Ok(())
}

fn is_name_heading(cell: &[u8]) -> bool {
    str::from_utf8(cell).is_ok_and(|cell| NAME_HEADINGS.contains(&cell.trim().to_lowercase().as_str()))
}

/// Whether the first line is a header: no number in it; or, as pandas writes it, column numbers
/// beside a heading of names. A line of some numbers is data, so that a typing error in the first row is found.
fn is_header(record: &ByteRecord) -> bool {
    let Some(first) = record.get(0) else { return false };
    if record.len() == 1 {
        return number(first).is_none();
    }
    let counts_from = |start: usize| {
        record.iter().skip(1).enumerate().all(|(i, cell)| number(cell).is_some_and(|v| v == (start + i) as f32))
    };
    record.iter().all(|cell| number(cell).is_none()) || is_name_heading(first) && (counts_from(0) || counts_from(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Storage;

    fn table(text: &str) -> Table {
        parse("x.csv", text.as_bytes(), Format::Csv, Limits { budget: 1 << 20, keep: 1 << 20, observer: &() }).unwrap()
    }

    #[test]
    fn a_header_has_no_numbers_or_counts_columns_under_a_heading_of_names() {
        for (text, n, d, named) in [
            ("a,b\n1,2\n", 1, 2, false),
            ("1,2\n3,4\n", 2, 2, false),
            ("0,1\n3,4\n", 2, 2, false),
            (",0,1\nx,3,4\n", 1, 2, true),
            ("id,1,2\n7,3,4\n", 1, 2, true),
            // A row that is named "word" is no header.
            ("word,0.5,2\nx,3,4\n", 2, 2, true),
            ("Key,a,b\n1,3,4\n", 1, 2, true),
            ("a,b,c\n", 0, 3, false),
            ("a\n1\n", 1, 1, false),
            ("x,NA,y\n7,3,4\n", 1, 3, false),
            ("cat,1\n\n\ndog,2\n", 2, 1, true),
        ] {
            let table = table(text);
            assert_eq!((table.n, table.d, table.names.is_some()), (n, d, named), "{text:?}");
            let Storage::Parsed(values) = table.storage else { panic!("small tables are held") };
            assert_eq!(values.len(), n * d);
        }
    }

    #[test]
    fn the_most_frequent_delimiter_of_the_first_line_wins() {
        for (text, expected) in
            [("a, b;1;2\n", b';'), ("1,2\n", b','), ("a,b\t1\t2\n", b'\t'), ("1\n", b','), ("", b',')]
        {
            assert_eq!(char::from(delimiter(text.as_bytes(), Format::Csv)), char::from(expected), "{text:?}");
        }
    }
}
