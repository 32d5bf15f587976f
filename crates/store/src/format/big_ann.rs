//! fbin, ibin, u8bin and i8bin (big-ann-benchmarks): u32 rows, u32 columns, then the elements, little-endian.

use crate::layout::{ArrayHeader, Layout};
use crate::{ElementType, Fault, Format, StoreError};

const HEADER: usize = 8;

/// Checks the declared shape against the length of the file.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format) -> Result<Layout, StoreError> {
    let Some((n, d)) = shape(bytes) else {
        let fault = Fault::HeaderCut { length: bytes.len() };
        return Err(StoreError::Malformed { file: file.to_owned(), format, fault, looks_like: None });
    };
    let element = match format {
        Format::Ibin => ElementType::I32,
        Format::U8bin => ElementType::U8,
        Format::I8bin => ElementType::I8,
        _ => ElementType::F32,
    };
    let header =
        ArrayHeader { shape: vec![n.into(), d.into()], element, big_endian: false, fortran: false, offset: HEADER };
    header.check_length(file, bytes.len() - HEADER).map_err(|mut error| {
        if let StoreError::Length { looks_like, .. } = &mut error {
            *looks_like = super::likely(bytes, format);
        }
        error
    })?;
    Ok(Layout::of_array(&header, None))
}

fn shape(bytes: &[u8]) -> Option<(u32, u32)> {
    let (n, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*n), u32::from_le_bytes(*rest.first_chunk()?)))
}

/// Whether bytes could be a matrix of elements of `size` bytes.
pub(crate) fn fits(bytes: &[u8], size: usize) -> bool {
    shape(bytes).is_some_and(|(n, d)| {
        let declared = u64::from(n).checked_mul(d.into()).and_then(|v| v.checked_mul(size as u64));
        n > 0 && d > 0 && declared == Some((bytes.len() - HEADER) as u64)
    })
}
