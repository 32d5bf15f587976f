//! One small file per fault, written by `tools/make_bad.py`, and the exact words of each error in `expected.txt`.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use mnno_store::{ErrorKind, Io, OpenOptions, StoreError, open};
use support::fixtures;

/// Opens a file and checks its values, within a budget of 1 MiB.
fn use_file(name: &str, io: Io) -> Result<(), StoreError> {
    let path = fixtures("bad").join(name);
    let argument = path.display().to_string();
    // A file that is read whole takes its part of the budget.
    let read = if io == Io::Read { fs::metadata(&path).unwrap().len() } else { 0 };
    let options = OpenOptions { io, memory: (1 << 20) + read, ..OpenOptions::default() };
    open(&argument, &options)?.iter().try_for_each(|matrix| matrix.check(1 << 20, &()).map(drop))
}

#[test]
fn every_bad_file_is_refused_in_the_expected_words() {
    let mut names: BTreeSet<String> =
        fs::read_dir(fixtures("bad")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.remove("expected.txt"));
    let folder = format!("{}/", fixtures("bad").display());
    let mut found = String::new();
    for name in &names {
        match use_file(name, Io::Map) {
            Ok(()) => writeln!(found, "{name}: accepted").unwrap(),
            Err(error) => {
                assert_eq!(use_file(name, Io::Read).unwrap_err().to_string(), error.to_string());
                assert!(error.kind() != ErrorKind::Changed, "{name}");
                writeln!(found, "{}", error.to_string().replace(&folder, "")).unwrap();
                if let Some(hint) = error.hint() {
                    writeln!(found, "  hint: {hint}").unwrap();
                }
            }
        }
    }
    let expected = fs::read_to_string(fixtures("bad").join("expected.txt")).unwrap();
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of expected.txt", i + 1);
    }
    assert_eq!(found, expected, "a file without its words, or words without their file");
    assert!(names.len() >= 300, "{} bad files", names.len());
}
