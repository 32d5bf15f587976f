//! fvecs and ivecs (TEXMEX): each row is an i32 dimension and as many 4-byte elements, little-endian.

use crate::layout::Layout;
use crate::{ElementType, Format, StoreError};

/// Checks every row's dimension; the rows are then read in place.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format) -> Result<Layout, StoreError> {
    let bad = |fault: String| StoreError::Malformed {
        file: file.to_owned(),
        format,
        fault,
        hint: super::big_ann::fits(bytes).then_some("it has the size of a big-ann file: try --format fbin or ibin"),
    };
    let element = if format == Format::Ivecs { ElementType::I32 } else { ElementType::F32 };
    let layout =
        |n, d: usize| Layout { n, d, offset: 4, row_stride: 4 * (d + 1), column_stride: 4, element, big_endian: false };
    if bytes.is_empty() {
        return Ok(Layout { offset: 0, ..layout(0, 0) });
    }
    let dimension = |at: usize| bytes[at..].first_chunk().map(|&b| i32::from_le_bytes(b));
    let first = dimension(0).ok_or_else(|| bad(format!("{} bytes are too few for one row", bytes.len())))?;
    let d = usize::try_from(first).map_err(|_| bad(format!("row 0 declares {first} dimensions")))?;
    let row = 4 * (d + 1);
    for (i, start) in (0..bytes.len()).step_by(row).enumerate() {
        let left = bytes.len() - start;
        match dimension(start) {
            Some(found) if found == first => {}
            Some(found) => {
                return Err(bad(format!("row {i} (from 0) declares {found} dimensions, row 0 declares {first}")));
            }
            None => return Err(bad(format!("{left} bytes are left behind row {}", i - 1))),
        }
        if left < row {
            return Err(bad(format!("row {i} (from 0) needs {row} bytes, but {left} remain")));
        }
    }
    Ok(layout(bytes.len() / row, d))
}

/// Whether bytes could be of this format.
pub(crate) fn fits(bytes: &[u8]) -> bool {
    let Some(&first) = bytes.first_chunk() else { return false };
    let row = (i64::from(i32::from_le_bytes(first)) + 1) * 4;
    row > 4 && bytes.len() as i64 % row == 0
}
