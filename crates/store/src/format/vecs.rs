//! fvecs and ivecs (TEXMEX): each row is an i32 dimension and as many 4-byte elements, little-endian.

use crate::layout::Layout;
use crate::{ElementType, Fault, Format, StoreError};

/// Checks every row's dimension; the rows are then read in place.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format) -> Result<Layout, StoreError> {
    let bad = |fault| {
        let other = if format == Format::Ivecs { Format::Ibin } else { Format::Fbin };
        let looks_like = super::big_ann::fits(bytes).then_some(other);
        StoreError::Malformed { file: file.to_owned(), format, fault, looks_like }
    };
    let element = if format == Format::Ivecs { ElementType::I32 } else { ElementType::F32 };
    let layout =
        |n, d: usize| Layout { n, d, offset: 4, row_stride: 4 * (d + 1), column_stride: 4, element, big_endian: false };
    if bytes.is_empty() {
        return Ok(Layout { offset: 0, ..layout(0, 0) });
    }
    let dimension = |at: usize| bytes[at..].first_chunk().map(|&b| i32::from_le_bytes(b));
    let first = dimension(0).ok_or_else(|| bad(Fault::HeaderCut { length: bytes.len() }))?;
    let Ok(d) = u32::try_from(first) else { return Err(bad(Fault::Dimension { row: 0, found: first })) };
    let needed = 4 * (u64::from(d) + 1);
    let cut = |row, available| bad(Fault::RowCut { row, needed, available });
    let Ok(length) = usize::try_from(needed) else { return Err(cut(0, bytes.len())) };
    for (row, start) in (0..bytes.len()).step_by(length).enumerate() {
        let available = bytes.len() - start;
        match dimension(start) {
            Some(found) if found != first => return Err(bad(Fault::DimensionChanged { row, found, first })),
            Some(_) if available >= length => {}
            _ => return Err(cut(row, available)),
        }
    }
    Ok(layout(bytes.len() / length, d as usize))
}

/// Whether bytes could be of this format.
pub(crate) fn fits(bytes: &[u8]) -> bool {
    let Some(&first) = bytes.first_chunk() else { return false };
    let d = u32::try_from(i32::from_le_bytes(first)).unwrap_or(0);
    d > 0 && (bytes.len() as u64).is_multiple_of(4 * (u64::from(d) + 1))
}
