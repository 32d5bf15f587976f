//! The files behind an argument: one, all of a folder, or those that a list names.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::bytes::{Io, Source};

/// Stands before the path of a list.
pub(crate) const LIST: char = '@';

/// Systems map about 65,000 files at most.
const MOST_PARTS: usize = 50_000;

/// The files of a path, in the order in which their rows follow each other.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (files, what) = match list(path) {
        Some(list) => (listed(list)?, "list"),
        None if path.is_dir() => (in_folder(path)?, "folder"),
        None => return Ok(vec![path.to_owned()]),
    };
    match files.len() {
        0 => Err(StoreError::NoParts { path: path.to_owned(), what }),
        count if count > MOST_PARTS => Err(StoreError::TooManyParts { path: path.to_owned(), most: MOST_PARTS }),
        _ => Ok(files),
    }
}

/// The path of a list, from an argument that begins with @ and is not itself a file.
pub(crate) fn list(path: &Path) -> Option<&Path> {
    let list = path.to_str()?.strip_prefix(LIST)?;
    (!list.is_empty() && !path.exists()).then_some(Path::new(list))
}

/// Paths, one per line; relative ones are seen from the list's folder.
fn listed(list: &Path) -> Result<Vec<PathBuf>, StoreError> {
    const LONGEST: u64 = 1 << 23;
    let source = Source::open(list, Io::Read, LONGEST)?;
    let text = str::from_utf8(source.bytes()).map_err(|_| StoreError::ListText { path: list.to_owned() })?;
    let text = text.trim_start_matches('\u{feff}');
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for (i, line) in text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()) {
        let entry = folder.join(line);
        if !entry.exists() {
            return Err(StoreError::ListEntry { list: list.to_owned(), line: i + 1, entry });
        }
        files.push(entry);
        if files.len() > MOST_PARTS {
            break;
        }
    }
    Ok(files)
}

/// All entries that are not hidden, numbers in their names by value.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let fail = |source| StoreError::CannotOpen { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            files.push(entry.path());
        }
    }
    files.sort_by(|a, b| natural(a.as_os_str().as_encoded_bytes(), b.as_os_str().as_encoded_bytes()));
    Ok(files)
}

/// The order in which 2 is before 10.
fn natural(mut a: &[u8], mut b: &[u8]) -> Ordering {
    let (whole_a, whole_b) = (a, b);
    while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (number_a, number_b);
            (number_a, a) = leading_number(a);
            (number_b, b) = leading_number(b);
            let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
            if order.is_ne() {
                return order;
            }
        } else if x == y {
            (a, b) = (rest_a, rest_b);
        } else {
            return x.cmp(y);
        }
    }
    // 1 and 01 are one number, and yet two names.
    a.len().cmp(&b.len()).then_with(|| whole_a.cmp(whole_b))
}

/// The digits at the beginning, without zeros in front, and what follows them.
fn leading_number(text: &[u8]) -> (&[u8], &[u8]) {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let zeros = text[..digits].iter().take_while(|&&b| b == b'0').count();
    (&text[zeros..digits], &text[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_go_by_value() {
        let sorted = ["a", "a-01.npy", "a-1.npy", "a-2.npy", "a-10.npy", "a-10b.npy", "a-b.npy", "a1-2", "a1-10", "b0"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                let order = natural(a.as_bytes(), b.as_bytes());
                assert_eq!(order, i.cmp(&j), "{a} {b}");
            }
        }
        let large = ["x99999999999999999999999", "x100000000000000000000000"];
        assert_eq!(natural(large[0].as_bytes(), large[1].as_bytes()), Ordering::Less);
    }
}
