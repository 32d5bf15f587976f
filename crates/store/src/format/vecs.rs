//! fvecs, bvecs and ivecs (TEXMEX): each row is an i32 dimension and as many elements, little-endian.

use crate::layout::Layout;
use crate::{ElementType, Fault, Format, StoreError};

const DIMENSION: usize = 4;

/// Checks every row's dimension; the rows are then read in place.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format) -> Result<Layout, StoreError> {
    let element = match format {
        Format::Ivecs => ElementType::I32,
        Format::Bvecs => ElementType::U8,
        _ => ElementType::F32,
    };
    let size = element.size();
    let bad = |fault| {
        let looks_like = super::likely(bytes, format);
        StoreError::Malformed { file: file.to_owned(), format, fault, looks_like }
    };
    let layout = |n, d: usize| Layout {
        n,
        d,
        offset: DIMENSION,
        row_stride: DIMENSION + size * d,
        column_stride: size,
        element,
        big_endian: false,
    };
    if bytes.is_empty() {
        return Ok(Layout { offset: 0, ..layout(0, 0) });
    }
    let dimension = |at: usize| bytes[at..].first_chunk().map(|&b| i32::from_le_bytes(b));
    let first = dimension(0).ok_or_else(|| bad(Fault::HeaderCut { length: bytes.len() }))?;
    let Ok(d) = u32::try_from(first) else { return Err(bad(Fault::Dimension { row: 0, found: first })) };
    let needed = DIMENSION as u64 + size as u64 * u64::from(d);
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

/// Whether bytes could be rows of elements of `size` bytes, judged by the first two rows and the length.
pub(crate) fn fits(bytes: &[u8], size: usize) -> bool {
    let Some(first) = bytes.first_chunk::<DIMENSION>() else { return false };
    let d = u32::try_from(i32::from_le_bytes(*first)).unwrap_or(0);
    let length = DIMENSION as u64 + size as u64 * u64::from(d);
    let second = usize::try_from(length).ok().and_then(|start| bytes.get(start..start + DIMENSION));
    d > 0 && (bytes.len() as u64).is_multiple_of(length) && second.is_none_or(|second| second == first)
}
