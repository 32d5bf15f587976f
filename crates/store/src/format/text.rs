//! CSV and TSV: a row per line, with or without row names in the first column and a header line.
//!
//! Numbers go straight to f32, since a detour over f64 would round twice. The first column holds row names when at
//! least half of its cells are words (some names may well be numbers, such as label ids), or when the header says so. A stray
//! word in a column of numbers is an error: a slip of the pen, a decimal comma or a missing value must not turn values into
//! names.

use std::cell::Cell;
use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::headings::{Counting, counts, is_header, is_name_heading, is_word};
use super::table::{Table, TableBuilder, check_now_and_then};
use crate::error::shown_bytes;
use crate::open::Limits;
use crate::scattered::Decode;
use crate::{Fault, Format, StoreError};

/// The byte order mark that some editors put first.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the first pass finds out.
struct Shape {
    header: bool,
    names: bool,
    rows: usize,
    width: usize,
    /// Bytes of the first cells.
    name_bytes: u64,
    remarks: Vec<String>,
}

/// Reads the table, within the limits.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format, limits: Limits<'_>) -> Result<Table, StoreError> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let delimiter = delimiter(&bytes[start..], format);
    let text = Text { file, format, bytes: &bytes[start..], start, delimiter, limits };
    let shape = text.shape()?;
    text.table(shape)
}

/// Appends the numbers of the record at the beginning of `bytes`, as far as it has them.
pub(crate) fn decode(bytes: &[u8], delimiter: u8, names: bool, d: usize, out: &mut Vec<f32>) {
    let end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(bytes.len());
    let line = &bytes[..end];
    // Most rows have no quotation marks, and are decoded without the setting up of a reader.
    if !line.is_empty() && !line.contains(&b'"') {
        out.extend(line.split(|&b| b == delimiter).skip(usize::from(names)).take(d).map_while(number));
        return;
    }
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
    // The last of several maxima wins: a comma beside as many others is a decimal one, or part of a name.
    let most = [b',', b';', b'\t'].into_iter().max_by_key(|&delimiter| count(delimiter));
    most.filter(|&delimiter| count(delimiter) > 1).unwrap_or(b',')
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
        let longest = (self.limits.budget / 40).max(1 << 15);
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
        let marks = record.split(|&b| b == b'"').count() - 1;
        let opens = |pair: &[u8]| pair == [self.delimiter, b'"'] || pair == b"\n\"";
        let begins_cell = record.starts_with(b"\"") || record.windows(2).any(opens);
        self.delimiter != b'\t' && marks % 2 == 1 && begins_cell
    }

    fn shape(&self) -> Result<Shape, StoreError> {
        let mut shape = Shape { header: false, names: false, rows: 0, width: 0, name_bytes: 0, remarks: Vec::new() };
        let (mut numbered_columns, mut numbers) = (false, Counting::default());
        let (mut unnamed, mut nameless, mut heading_of_row) = (false, false, false);
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
                    unnamed = record[0].is_empty();
                    return Ok(());
                }
                numbered_columns = width > 2 && (counts(record, 0) || counts(record, 1));
                heading_of_row = width > 1 && !record[0].is_empty() && is_name_heading(&record[0]);
            }
            if width != shape.width {
                return Err(self.bad(Fault::Ragged {
                    line: line(record),
                    found: width,
                    first_line: first_line.unwrap_or(1),
                    expected: shape.width,
                }));
            }
            words += usize::from(is_word(&record[0]));
            nameless |= record[0].is_empty();
            numbers.next(&record[0]);
            shape.name_bytes += record[0].len() as u64;
            shape.rows += 1;
            Ok(())
        })?;
        if shape.names && unnamed && nameless {
            // A first column without heading and with empty cells is no column of names: its empty cells are to be found.
            (shape.header, shape.names) = (false, false);
        }
        shape.names |= shape.width > 1 && words > 0 && 2 * words >= shape.rows;
        if heading_of_row {
            shape.remarks.push(
                "the first line begins as a header does, but was taken as a row: remove it if it is one".to_owned(),
            );
        }
        if numbered_columns && !shape.names {
            shape
                .remarks
                .push("the first line numbers the columns, but was taken as a row: remove it if it is none".to_owned());
        }
        if let Some(first) = numbers.first.filter(|_| shape.rows > 2 && shape.width > 1 && !shape.names) {
            shape.remarks.push(format!(
                "the first column counts up from {first}, but was taken as values: head it with 'id' if it numbers the rows"
            ));
        }
        Ok(shape)
    }

    fn table(&self, shape: Shape) -> Result<Table, StoreError> {
        let first = usize::from(shape.names);
        let size = (shape.rows, shape.width - first);
        let names = shape.names.then_some(shape.name_bytes);
        let mut table = TableBuilder::new(self.file, size, names, self.limits)?;
        let mut skip = shape.header;
        let mut row = 0;
        self.each_record(|record| {
            if std::mem::take(&mut skip) {
                return Ok(());
            }
            if shape.names && !shape.header && record[0].is_empty() {
                // Only below a heading may a name be empty.
                return Err(self.bad(Fault::NotANumber { line: line(record), cell: 1, text: String::new() }));
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
        let table = table.finish(Decode::Cells { delimiter: self.delimiter, names: shape.names });
        Ok(Table { remarks: shape.remarks, ..table })
    }
}

fn line(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

pub(crate) fn number(cell: &[u8]) -> Option<f32> {
    str::from_utf8(cell).ok()?.trim().parse().ok()
}

pub(crate) fn cell_text(cell: &[u8]) -> String {
    shown_bytes(cell)
}

/// Only a number too large becomes infinite without saying so.
pub(crate) fn check_range(file: &str, row: usize, column: usize, cell: &[u8], value: f32) -> Result<(), StoreError> {
    if value.is_infinite() && cell.iter().any(u8::is_ascii_digit) {
        return Err(StoreError::BeyondF32 { file: file.to_owned(), row, column, value: cell_text(cell) });
    }
    Ok(())
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
            ("userId,a,b\n7,1,2\n3,4,5\n", 2, 2, true),
            ("date,a\n2020-01-01,1\n2020-01-02,2\n", 2, 1, true),
            ("city,2019_avg,2020_avg\nx,3,4\n", 1, 2, true),
            ("Key,a,b\n1,3,4\n", 1, 2, true),
            ("image_id,0,1\n7,3,4\n", 1, 2, true),
            ("Unnamed: 0,x,y\n0,3,4\n", 1, 2, true),
            ("40 115,3\n7,4\n", 2, 1, true),
            ("a,b,c\n", 0, 3, false),
            ("a\n1\n", 1, 1, false),
            ("cat,1\n\n\ndog,2\n", 2, 1, true),
        ] {
            let table = table(text);
            assert_eq!((table.n, table.d, table.names.is_some()), (n, d, named), "{text:?}");
            let Storage::Parsed(values) = table.storage else { panic!("small tables are held") };
            assert_eq!(values.len(), n * d);
        }
    }

    /// What is no number in the first column is a fault to be named, unless it is a word: else the column would be lost.
    #[test]
    fn misspelt_and_missing_numbers_do_not_make_names() {
        for text in [
            "x;y\n0,5;1\n2,5;3\n",
            "0,5;1;2\n1,5;4;5\n",
            "\"1,234\",2\n\"5,678\",3\n",
            "5%,2\n6%,3\n",
            "1D0,2\n2D0,3\n",
            "\u{2212}1,2\n\u{2212}2,3\n",
            "1_000,2\n2_000,3\n",
            "a,b,c\n,1,2\n,3,4\n5,6,7\n",
            "a,b\nNA,1\n2,3\n",
            "a,b\n-,1\n?,3\n",
            ",1,2\n,3,4\n5,6,7\n",
            ",,\n1,2,3\n4,5,6\n",
            "NA,NA,NA\n1,2,3\n4,5,6\n",
            "None,2\nnull,3\n",
            "cat,NA,NA\ndog,1,2\nowl,3,4\n",
            "cat,,\ndog,1,2\nowl,3,4\n",
            "cat,1.5x\ndog,1\nowl,3\n",
            "cat,5%\ndog,1\nowl,3\n",
            "1.0.0,2..5\n1,2\n3,4\n",
            "1.x\n1\n2\n",
            "<NA>,<NA>\n4,5\n6,7\n",
            "cat;1,5\ndog;3,5\n",
            "cat\t1,5\ndog\t3,5\n",
            "5kg,2\n6kg,3\n",
            "#N/A,2\n#REF!,3\n",
            ",2019,2020\ncat,1,2\ndog,3,4\n",
        ] {
            let limits = Limits { budget: 1 << 20, keep: 1 << 20, observer: &() };
            let error = parse("x.csv", text.as_bytes(), Format::Csv, limits).unwrap_err();
            assert!(
                matches!(error, StoreError::Malformed { fault: Fault::NotANumber { .. }, .. }),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn what_may_have_been_meant_otherwise_is_remarked() {
        for (text, remarks) in [
            ("0,1,2\n5,6,7\n5,6,7\n", &["first line"][..]),
            ("1,2,3\n2,6,7\n3,6,7\n", &["first line", "first column counts up from 1"]),
            ("1000,2,3\n1001,6,7\n1002,6,7\n", &["first column counts up from 1000"]),
            ("1000,2,3\n1001,6,7\n1003,6,7\n", &[]),
            ("1,2\n2,3\n", &[]),
            ("0,2\n1,4\n2,5\n", &["first column counts up from 0"]),
            ("id,a,b\n1,2,3\n2,6,7\n3,6,7\n", &[]),
            ("name,2019,2020\ncat,1,2\ndog,3,4\n", &["begins as a header does"]),
        ] {
            let found = table(text).remarks;
            assert_eq!(found.len(), remarks.len(), "{text:?}: {found:?}");
            assert!(found.iter().zip(remarks).all(|(found, part)| found.contains(part)), "{text:?}: {found:?}");
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
