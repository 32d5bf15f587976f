//! Word vectors as text: glove (lines of a word and its numbers) and word2vec, which fastText writes too (the same after
//! a line of two counts).
//!
//! Fields are separated by blanks or tabs and by nothing else: words hold commas, quotation marks and no-break spaces. A
//! word may hold blanks as well (`. . .` is one in the largest file of glove): it is what stands before the last `d` fields. Where
//! a number would so become part of a word the line is refused, since a number too many is the likelier cause.

use std::ops::Range;

use super::table::{Table, TableBuilder, refuse_repeated};
use super::text::{BOM, cell_text, number};
use crate::error::shown_bytes;
use crate::open::Limits;
use crate::scattered::Decode;
use crate::{Fault, Format, StoreError};

/// Reads the table, within the limits.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format, limits: Limits<'_>) -> Result<Table, StoreError> {
    let malformed = |fault, looks_like| StoreError::Malformed { file: file.to_owned(), format, fault, looks_like };
    let bad = |fault| malformed(fault, None);
    let mut lines = Lines { bytes, at: if bytes.starts_with(BOM) { BOM.len() } else { 0 }, number: 0 };
    let header = format == Format::Word2vec;
    let first = if header { lines.next() } else { lines.clone().next() };
    let first = first.map_or(&bytes[..0], |line| line.text);
    let (d, declared) = if header {
        let Some((n, d)) = counts(first) else {
            let found = shown_bytes(first);
            return Err(malformed(Fault::WordCounts { found }, (dimension(first) > 0).then_some(Format::Glove)));
        };
        (d, Some(n))
    } else {
        let d = dimension(first);
        if d == 0 {
            return Err(bad(Fault::NoWordVector { found: shown_bytes(first) }));
        }
        // A number inside what would be the word is a sign that a number behind it is misspelt.
        let of_word = fields(first).count() - d;
        if fields(first).take(of_word).skip(1).any(|field| is_almost_number(&first[field])) {
            let text = fields(first).nth(of_word - 1).map_or_else(String::new, |field| cell_text(&first[field]));
            return Err(bad(Fault::NotANumber { line: 1, cell: of_word, text }));
        }
        (d as u64, None)
    };
    let header_lines = lines.number;
    // Empty lines are no rows at the end, and faults anywhere else.
    let (mut last, mut word_bytes) = (header_lines, 0);
    for line in lines.clone().filter(|line| !line.text.is_empty()) {
        last = line.number;
        word_bytes += fields(line.text).next().map_or(0, |word| word.len() as u64);
    }
    let n = last - header_lines;
    if let Some(declared) = declared.filter(|&declared| declared != n) {
        return Err(bad(Fault::WordLines { declared, found: n }));
    }
    let expected = usize::try_from(d).ok().filter(|_| d <= bytes.len() as u64 || n == 0);
    let Some(d) = expected else {
        // Not to be allocated for: the first line has fewer.
        let found = lines.next().map_or(0, |line| fields(line.text).count().saturating_sub(1));
        return Err(bad(Fault::Numbers { line: header_lines + 1, found, expected: d, declared: header }));
    };
    let n = n as usize;
    let mut table = TableBuilder::new(file, (n, d), Some(word_bytes), limits)?;
    for (row, line) in lines.take(n).enumerate() {
        let (word, numbers) = line.split(d, header).map_err(bad)?;
        let word = str::from_utf8(word).map_err(|_| bad(Fault::NameText { line: line.number }))?;
        table.row(line.start, Some(word))?;
        for (column, (cell, field)) in numbers.enumerate() {
            let field = &line.text[field];
            let Some(value) = number(field) else {
                return Err(bad(Fault::NotANumber { line: line.number, cell: cell + 1, text: cell_text(field) }));
            };
            super::text::check_range(file, row, column, field, value)?;
            table.value(value);
        }
    }
    let mut table = table.finish(Decode::Words);
    if d > 1 && !header && counts_up(first, d) {
        let remark =
            "the first line numbers the columns, but was taken as a word and its numbers: remove it if it is none";
        table.remarks.push(remark.to_owned());
    }
    // Rows that were written without names are numbered from 0.
    let is_number = |(row, name): (usize, &String)| name.parse::<f32>().is_ok() && *name != row.to_string();
    if n > 1 && table.names.iter().flatten().enumerate().all(is_number) {
        let remark = "every word is a number: if this is a table without words, save it as npy or csv";
        table.remarks.push(remark.to_owned());
    }
    refuse_repeated(table.names.as_deref().unwrap_or_default(), "line", header_lines + 1).map_err(bad)?;
    Ok(table)
}

/// Appends the numbers of the line at the beginning of `bytes`, as far as it has them.
pub(crate) fn decode(bytes: &[u8], d: usize, out: &mut Vec<f32>) {
    let mut lines = Lines { bytes, at: 0, number: 0 };
    if let Some(line) = lines.next()
        && let Ok((_, numbers)) = line.split(d, false)
    {
        out.extend(numbers.map_while(|(_, field)| number(&line.text[field])));
    }
}

/// Whether the first line is two counts and nothing else.
pub(crate) fn starts_with_counts(bytes: &[u8]) -> bool {
    const LONGEST: usize = 64;
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let start = &bytes[..bytes.len().min(LONGEST)];
    let end = start.iter().position(|&b| b == b'\n');
    end.is_some_and(|end| counts(start[..end].trim_ascii_end()).is_some())
}

/// Whether half of the first lines begin with a number that has a point or an exponent: no words, as in a table of numbers.
pub(crate) fn is_table(bytes: &[u8]) -> bool {
    const LINES: usize = 100;
    let is_fraction = |field: &[u8]| number(field).is_some() && field.iter().any(|b| matches!(b, b'.' | b'e' | b'E'));
    let (mut lines, mut fractions) = (0, 0);
    for line in (Lines { bytes, at: 0, number: 0 }).filter(|line| !line.text.is_empty()).take(LINES) {
        lines += 1;
        fractions += usize::from(fields(line.text).next().is_some_and(|field| is_fraction(&line.text[field])));
    }
    lines > 0 && 2 * fractions >= lines
}

/// Two counts, of words and of dimensions.
pub(crate) fn counts(line: &[u8]) -> Option<(u64, u64)> {
    let mut counts = fields(line).map(|field| {
        let field = &line[field];
        // Not "+5", which would parse too.
        field.iter().all(u8::is_ascii_digit).then(|| str::from_utf8(field).ok()?.parse().ok()).flatten()
    });
    match (counts.next(), counts.next(), counts.next()) {
        (Some(Some(n)), Some(Some(d)), None) => Some((n, d)),
        _ => None,
    }
}

/// Whether the numbers of a line are 0, 1, .. or 1, 2, ..
fn counts_up(line: &[u8], d: usize) -> bool {
    let numbers = || fields(line).skip(1).map(|field| number(&line[field]));
    [0, 1].iter().any(|start| numbers().enumerate().all(|(i, v)| v == Some((start + i) as f32)))
        && numbers().count() == d
}

/// How many numbers a line ends with, behind a word.
fn dimension(line: &[u8]) -> usize {
    fields(line).skip(1).fold(0, |run, field| if number(&line[field]).is_some() { run + 1 } else { 0 })
}

/// The place of a field among those of its line, from 0, and where it stands.
type Field = (usize, Range<usize>);

/// Whether a field is a number, or would be without brackets and separators of other formats.
fn is_almost_number(field: &[u8]) -> bool {
    const AROUND: &[u8] = b",;:|[](){}'\"";
    let mut parts = field.split(|b| AROUND.contains(b)).filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(|part| number(part).is_some_and(f32::is_finite))
}

/// Where the fields of a line are.
fn fields(line: &[u8]) -> impl Iterator<Item = Range<usize>> + Clone {
    let separates = |b: &u8| matches!(b, b' ' | b'\t');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].iter().position(|b| !separates(b))?;
        at = line[start..].iter().position(separates).map_or(line.len(), |length| start + length);
        Some(start..at)
    })
}

/// A line, without its end and the blanks before it.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// From 1.
    number: u64,
    start: usize,
    text: &'a [u8],
}

impl<'a> Line<'a> {
    /// The word and where its `d` numbers are, each with its place among the fields.
    fn split(self, d: usize, declared: bool) -> Result<(&'a [u8], impl Iterator<Item = Field>), Fault> {
        let Self { number: line, text, .. } = self;
        match text.first() {
            None => return Err(Fault::EmptyLine { line }),
            Some(b' ' | b'\t') => return Err(Fault::NoWord { line }),
            Some(_) => {}
        }
        let found = fields(text).count() - 1;
        // Fields of the word behind its first.
        let extra = found.checked_sub(d);
        let part_of_word = |field: Range<usize>| !is_almost_number(&text[field]);
        match extra {
            Some(extra) if fields(text).skip(1).take(extra).all(part_of_word) => {
                let end = fields(text).nth(extra).map_or(0, |last| last.end);
                Ok((&text[..end], fields(text).enumerate().skip(1 + extra)))
            }
            _ => Err(Fault::Numbers { line, found, expected: d as u64, declared }),
        }
    }
}

/// The lines of a text.
#[derive(Clone)]
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: u64,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let (start, rest) = (self.at, &self.bytes[self.at..]);
        if rest.is_empty() {
            return None;
        }
        let length = rest.iter().position(|&b| b == b'\n');
        self.at = length.map_or(self.bytes.len(), |length| start + length + 1);
        self.number += 1;
        Some(Line { number: self.number, start, text: rest[..length.unwrap_or(rest.len())].trim_ascii_end() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, StoreError> {
        let limits = Limits { budget: 1 << 20, keep: 1 << 20, observer: &() };
        parse("x.txt", text.as_bytes(), Format::Glove, limits)
    }

    /// Separators of other formats must not make numbers parts of words, whose columns would be lost.
    #[test]
    fn numbers_of_other_formats_are_no_words() {
        for text in [
            "cat, 0.1, 0.2, 0.3\n",
            "cat; 0.1; 0.2; 0.3\n",
            "cat 0,1 0,2 3\n",
            "cat [0.1 0.2 0.3\n",
            "1 1:0.5 2:0.7 3\n",
            "cat 1 2\ndog, 0.1, 2 3\n",
        ] {
            assert!(matches!(table(text), Err(StoreError::Malformed { .. })), "{text:?}");
        }
        let names = table(". . . 1 2\nat name@domain.com 3 4\nnew york, 5 6\n").unwrap().names.unwrap();
        assert_eq!(names, [". . .", "at name@domain.com", "new york,"]);
    }

    #[test]
    fn tables_without_words_are_known_by_their_fractions() {
        for (text, expected) in [
            ("1.25e-01 2.5e-01\n-3.0e+00 4.0e+00\n", true),
            ("0.5\t1\n", true),
            ("1984 2.5\n0.5 1\n", true),
            ("nan 2.5\n0.5 1\n0.25 3\n", true),
            ("cat 2.5\ndog 3\n0.5 1\n", false),
            ("0 1.5\n1 2.5\n", false),
            ("cat 1.5\n", false),
            ("", false),
        ] {
            assert_eq!(is_table(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_first_line_of_column_numbers_is_remarked() {
        for (text, remarks) in [
            ("word 0 1\ncat 5 6\n", 1),
            ("word 1 2 3\ncat 5 6 7\n", 1),
            ("cat 0 2\n", 0),
            ("cat 1\n", 0),
            ("0 5 6\n1 7 8\n", 0),
            ("-1 7 3\n-2 0 3\n", 1),
            ("7 5\ncat 1\n", 0),
        ] {
            assert_eq!(table(text).unwrap().remarks.len(), remarks, "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_hides_no_counts() {
        assert!(starts_with_counts(b"\xef\xbb\xbf2 1\ncat 1\n"));
        assert!(!starts_with_counts(b"cat 2\n"));
    }
}
