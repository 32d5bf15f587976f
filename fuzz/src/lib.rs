//! What every fuzz target does: bytes become a file, and the file is read as a program would read it.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::Path;

use mnno_exact::Rows;
use mnno_store::{Format, Matrix, OpenOptions, Rating, open, read_ratings, read_tensors};
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

/// Reads the bytes as ratings of words, and as names and labels of the rows of a small matrix.
///
/// # Panics
/// As [`open_as`] does.
pub fn read_texts(bytes: &[u8]) {
    let (text, matrix) = (file("text", bytes), file("csv", b"1,2\n3,4\n5,6\n"));
    let path = text.path().to_str().expect("a path in UTF-8");
    for argument in [path.to_owned(), format!("{path}::2")] {
        match read_ratings(&argument, BUDGET) {
            Ok(ratings) => {
                assert!(ratings.held_bytes() <= BUDGET && !ratings.pairs().is_empty());
                let is_sound = |pair: &Rating| pair.value.is_finite() && pair.words.iter().all(|word| !word.is_empty());
                assert!(ratings.pairs().iter().all(is_sound), "{ratings:?}");
            }
            Err(error) => expect_message(&error.to_string(), path),
        }
    }
    let matrix = matrix.path().to_str().expect("a path in UTF-8");
    let base = || OpenOptions { memory: BUDGET, ..OpenOptions::default() };
    for options in [
        OpenOptions { names: Some(path.to_owned()), ..base() },
        OpenOptions { names: Some(format!("{path}::x")), ..base() },
        OpenOptions { labels: Some(path.into()), ..base() },
    ] {
        match open(matrix, &options) {
            Ok(matrices) => {
                let names = matrices[0].names().map_or(0, <[String]>::len);
                let labels = matrices[0].labels().map_or(0, <[Vec<String>]>::len);
                assert_eq!(names + labels, matrices[0].n());
                assert!(matrices[0].names().is_none_or(|names| names.iter().all(|name| !name.is_empty())));
            }
            Err(error) => expect_message(&error.to_string(), path),
        }
    }
}

/// Reads the bytes as the tensors of a model.
///
/// # Panics
/// As [`open_as`] does.
pub fn read_model(bytes: &[u8]) {
    let file = file("safetensors", bytes);
    match read_tensors(file.path(), BUDGET) {
        Ok(content) => {
            let held: usize = content.tensors.iter().map(|tensor| 4 * tensor.values.len()).sum();
            assert!(held as u64 <= BUDGET, "{held} bytes held");
            for tensor in &content.tensors {
                assert_eq!(tensor.values.len(), tensor.shape.iter().product::<usize>(), "{}", tensor.name);
            }
        }
        Err(error) => expect_message(&error.to_string(), file.path().to_str().expect("a path in UTF-8")),
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
