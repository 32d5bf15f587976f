//! Rows that do not lie at equal distances in the file: found by their starts, decoded whenever they are read.

use std::ops::Range;

use crate::format::{text, words};

/// How a row becomes numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decode {
    /// f32, little-endian.
    F32,
    /// A line of a word and its numbers.
    Words,
    /// A record of delimited cells, the first of which may be a name.
    Cells { delimiter: u8, names: bool },
}

/// Where each row of a file begins.
#[derive(Debug)]
pub(crate) struct Scattered {
    pub(crate) starts: Vec<u64>,
    pub(crate) decode: Decode,
}

impl Scattered {
    /// Appends rows `rows` of `d` values each to `out`. All rows could be decoded when the file was opened; in place of a
    /// row that can no longer be, because the file has changed since, stand NaN.
    pub(crate) fn read(&self, bytes: &[u8], rows: Range<usize>, d: usize, out: &mut Vec<f32>) {
        for &start in &self.starts[rows] {
            let end = out.len() + d;
            let row = bytes.get(start as usize..).unwrap_or_default();
            match self.decode {
                Decode::F32 => out.extend(row.as_chunks().0.iter().take(d).map(|&b| f32::from_le_bytes(b))),
                Decode::Words => words::decode(row, d, out),
                Decode::Cells { delimiter, names } => text::decode(row, delimiter, names, d, out),
            }
            out.resize(end, f32::NAN);
        }
    }
}
