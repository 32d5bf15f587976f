//! fbin and ibin (big-ann-benchmarks): u32 rows, u32 columns, then 4-byte elements, little-endian.

use crate::layout::{ArrayHeader, Layout};
use crate::{ElementType, Format, StoreError};

const HEADER: usize = 8;

/// Checks the declared shape against the length of the file.
pub(crate) fn parse(file: &str, bytes: &[u8], format: Format) -> Result<Layout, StoreError> {
    let likely_vecs = super::vecs::fits(bytes).then_some("it has the size of a vecs file: try --format fvecs or ivecs");
    let bad = |fault: String, hint| StoreError::Malformed { file: file.to_owned(), format, fault, hint };
    let Some((n, d)) = shape(bytes) else {
        return Err(bad(format!("{} bytes are too few for the {HEADER} of a header", bytes.len()), None));
    };
    let element = if format == Format::Ibin { ElementType::I32 } else { ElementType::F32 };
    let header =
        ArrayHeader { shape: vec![n.into(), d.into()], element, big_endian: false, fortran: false, offset: HEADER };
    match header.check_length(file, bytes.len() - HEADER) {
        Ok(()) => Ok(Layout::of_array(&header, None)),
        Err(error) if likely_vecs.is_some() => {
            let fault = error.to_string();
            let fault = fault.strip_prefix(file).and_then(|f| f.strip_prefix(": ")).unwrap_or(&fault).to_owned();
            Err(bad(fault, likely_vecs))
        }
        Err(error) => Err(error),
    }
}

fn shape(bytes: &[u8]) -> Option<(u32, u32)> {
    let (n, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*n), u32::from_le_bytes(*rest.first_chunk()?)))
}

/// Whether bytes could be of this format.
pub(crate) fn fits(bytes: &[u8]) -> bool {
    shape(bytes).is_some_and(|(n, d)| {
        let declared = u64::from(n).checked_mul(d.into()).and_then(|v| v.checked_mul(4));
        n > 0 && d > 0 && declared == Some((bytes.len() - HEADER) as u64)
    })
}
