//! word2vec's binary: a line of two counts, then each word, a blank and its f32 numbers, little-endian. The program that
//! came first ends each row with a line feed, gensim does not.

use super::table::{NAME_OVERHEAD, Table, check_now_and_then, refuse_repeated};
use super::words::counts;
use crate::error::{Need, shown_bytes};
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::open::Limits;
use crate::scattered::{Decode, Scattered};
use crate::{ElementType, Fault, Format, StoreError};

/// Longer words are taken for damage.
pub(crate) const LONGEST_WORD: usize = 1000;
/// The line of counts.
const LONGEST_HEADER: usize = 64;

/// Finds the rows, which are then read in place. Their names and starts must fit the budget.
pub(crate) fn parse(file: &str, bytes: &[u8], limits: Limits<'_>) -> Result<Table, StoreError> {
    let Limits { budget, observer, .. } = limits;
    let format = Format::Word2vecBinary;
    let bad = |fault| StoreError::Malformed { file: file.to_owned(), format, fault, looks_like: None };
    let start = &bytes[..bytes.len().min(LONGEST_HEADER)];
    let line = start.iter().position(|&b| b == b'\n').unwrap_or(start.len());
    let Some((n, d)) = counts(start[..line].trim_ascii_end()) else {
        return Err(bad(Fault::WordCounts { found: shown_bytes(&start[..line]) }));
    };
    let mut at = (line + 1).min(bytes.len());
    let header =
        ArrayHeader { shape: vec![n, d], element: ElementType::F32, big_endian: false, fortran: false, offset: at };
    // Words lie between the numbers, so that there are more bytes than the numbers need.
    let numbers = header.bytes(file)?;
    let available = (bytes.len() - at) as u64;
    let needed = numbers.saturating_add(n.saturating_mul(2));
    if needed > available {
        return Err(header.length_error(file, available));
    }
    let (rows, row_bytes) = (n as usize, 4 * d as usize);
    let mut held = n.saturating_mul(8 + NAME_OVERHEAD);
    let over = |needed| StoreError::OverBudget { file: file.to_owned(), needed, need: Need::Names, budget };
    if held > budget {
        return Err(over(held));
    }
    let (mut starts, mut names) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        check_now_and_then(row, observer)?;
        at += bytes[at..].iter().take_while(|&&b| b == b'\n').count();
        let rest = &bytes[at..];
        let limit = rest.len().min(LONGEST_WORD);
        let Some(length) = rest[..limit].iter().position(|&b| b == b' ') else {
            return Err(bad(Fault::WordEnd { row, within: limit }));
        };
        let word = str::from_utf8(&rest[..length]).map_err(|_| bad(Fault::WordText { row }))?;
        if word.is_empty() {
            return Err(bad(Fault::EmptyWord { row }));
        }
        held += length as u64;
        if held > budget {
            return Err(over(held));
        }
        names.push(word.to_owned());
        at += length + 1;
        let available = bytes.len() - at;
        if available < row_bytes {
            return Err(bad(Fault::RowCut { row, needed: row_bytes as u64, available }));
        }
        starts.push(at as u64);
        at += row_bytes;
    }
    let extra = bytes[at..].trim_ascii().len();
    if extra > 0 {
        return Err(bad(Fault::BytesLeft { rows: n, extra: extra as u64 }));
    }
    refuse_repeated(&names, "row", 0).map_err(bad)?;
    let storage = Storage::Scattered(Scattered { starts, decode: Decode::F32 });
    Ok(Table { n: rows, d: d as usize, storage, names: Some(names), remarks: Vec::new() })
}
