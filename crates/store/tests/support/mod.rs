//! Shared by the tests of the store.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::{Path, PathBuf};

use mnno_exact::Rows;
use mnno_store::Matrix;

/// A folder of `fixtures` at the root of the workspace.
pub(crate) fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder)
}

/// A folder without a disk behind it, where there is one: outputs are brought to the disk, which takes its time.
pub(crate) fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// All values, read in blocks of `step` rows.
pub(crate) fn values(matrix: &Matrix, step: usize) -> Vec<f32> {
    let mut values = Vec::new();
    let mut scratch = Vec::new();
    for start in (0..matrix.n()).step_by(step) {
        let end = (start + step).min(matrix.n());
        let block = matrix.block(start..end, &mut scratch);
        (0..end - start).for_each(|i| values.extend_from_slice(block.row(i)));
    }
    values
}

/// An npy of version 1 with the dict literal `header`.
pub(crate) fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let blanks = 63 - (10 + header.len()) % 64;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len() + blanks + 1).unwrap().to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(std::iter::repeat_n(b' ', blanks));
    bytes.push(b'\n');
    bytes.extend_from_slice(data);
    bytes
}

/// Little-endian bytes of values.
pub(crate) fn le(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}
