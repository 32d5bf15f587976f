//! A file that is truncated while it is mapped: the program ends with one line and exit code 74, not with a core dump.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use mnno_store::{Io, OpenOptions, install_fault_handler, open};

/// Opens a file of 4 MiB, empties it, and reads its last row.
fn read_after_truncation(io: Io) -> f32 {
    const ROWS: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fbin");
    let header = [(ROWS as u32).to_le_bytes(), 1_u32.to_le_bytes()].concat();
    fs::write(&path, [header, vec![0; 4 * ROWS]].concat()).unwrap();
    let options = OpenOptions { io, ..OpenOptions::default() };
    let matrix = open(path.to_str().unwrap(), &options).unwrap().remove(0);
    fs::File::create(&path).unwrap();
    assert!(matrix.verify_unchanged().is_err());
    mnno_exact::Rows::row(&matrix, ROWS - 1, &mut Vec::new())[0]
}

#[test]
fn reading_a_truncated_map_ends_the_program_with_one_line() {
    const NAME: &str = "reading_a_truncated_map_ends_the_program_with_one_line";
    const CHILD: &str = "MNNO_TEST_FAULT_CHILD";
    if std::env::var_os(CHILD).is_some() {
        install_fault_handler();
        read_after_truncation(Io::Map);
        return;
    }
    // This test again, in a process of its own that does not survive it.
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let message = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "error: an input file was truncated or became unreadable while it was mapped");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains("--io read"), "{message}");
}

#[test]
fn a_file_read_whole_is_immune() {
    assert_eq!(read_after_truncation(Io::Read), 0.0);
}
