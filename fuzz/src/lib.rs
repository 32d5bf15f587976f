//! What every fuzz target does: bytes become a file, and the file is read as a program would read it.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;

use mnno_exact::Rows;
use mnno_store::{Format, Matrix, OpenOptions, open};
use tempfile::{Builder, NamedTempFile};

/// Most bytes of memory that an argument may take.
const BUDGET: u64 = 64 << 10;
/// What follows the path: nothing; all layers of the only member; a member of a name short enough to be hit upon.
const SUFFIXES: [&str; 3] = ["", "::*", "::x"];
/// One for each way that detection takes; the last is no format's.
const EXTENSIONS: [&str; 7] = ["npy", "csv", "fvecs", "txt", "bin", "mat", "x"];

/// Reads the bytes as a file of that format.
///
/// # Panics
/// If the readers break a promise; or if there is no room for a file.
pub fn open_as(format: Format, bytes: &[u8]) {
    read(&file(format.name(), bytes), Some(format));
}

/// Reads the bytes as a file whose format has to be found out, under several names.
///
/// # Panics
/// As [`open_as`] does.
pub fn detect(bytes: &[u8]) {
    for extension in EXTENSIONS {
        read(&file(extension, bytes), None);
    }
}

/// A file of its own in each process, in memory where the system has such a folder, gone when it is dropped.
fn file(extension: &str, bytes: &[u8]) -> NamedTempFile {
    let (shared, other) = (Path::new("/dev/shm"), std::env::temp_dir());
    let folder = if shared.is_dir() { shared } else { &other };
    let suffix = format!(".{extension}");
    let mut file = Builder::new().prefix("mnno-fuzz-").suffix(&suffix).tempfile_in(folder).expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    file
}

fn read(file: &NamedTempFile, format: Option<Format>) {
    let path = file.path().to_str().expect("a path in UTF-8");
    let options = OpenOptions { format, memory: BUDGET, ..OpenOptions::default() };
    for suffix in SUFFIXES {
        match open(&format!("{path}{suffix}"), &options) {
            Ok(matrices) => matrices.iter().for_each(|matrix| use_matrix(matrix, path)),
            Err(error) => expect_message(&error.to_string(), path),
        }
    }
}

fn use_matrix(matrix: &Matrix, path: &str) {
    assert!(matrix.held_bytes() <= BUDGET, "{} bytes held", matrix.held_bytes());
    if let Some(last) = matrix.n().checked_sub(1) {
        assert_eq!(matrix.row(last, &mut Vec::new()).len(), matrix.d());
    }
    let summary = matrix.summary(&()).expect("nothing interrupts it");
    let bad_values = summary.nan.count + summary.infinite.count;
    match matrix.check(BUDGET, &()) {
        Ok(_) => assert_eq!(bad_values, 0),
        Err(error) => {
            assert_ne!(bad_values, 0, "{error}");
            expect_message(&error.to_string(), path);
        }
    }
}

/// One line that begins with the file.
fn expect_message(text: &str, path: &str) {
    assert!(text.starts_with(path) && text.lines().count() == 1, "{text}");
}
