//! Compressed data, unpacked within a budget.

use std::io::Read;

use crate::error::Need;
use crate::open::Limits;
use crate::{Fault, Format, StoreError};

/// Deflate does not shrink data to less than this part of their length.
const LARGEST_RATIO: u64 = 1032;
/// Bytes between two looks at the observer.
pub(crate) const CHUNK: u64 = 1 << 20;

/// What a file says of compressed data.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The file and the member, for messages.
    pub(crate) file: &'a str,
    pub(crate) format: Format,
    /// Bytes in the file.
    pub(crate) stored: u64,
    /// Bytes that they unpack to.
    pub(crate) declared: u64,
}

impl Packed<'_> {
    /// Reads what `reader` unpacks, which must be as long as declared, to its end, so that a checksum there is compared.
    pub(crate) fn read(self, mut reader: impl Read, limits: Limits<'_>) -> Result<Vec<u8>, StoreError> {
        let Limits { budget, observer, .. } = limits;
        let Self { file, format, stored, declared } = self;
        let bad = |fault| StoreError::Malformed { file: file.to_owned(), format, fault, looks_like: None };
        let over = || StoreError::OverBudget { file: file.to_owned(), needed: declared, need: Need::Unpack, budget };
        if declared > budget {
            return Err(over());
        }
        let likely = declared.min(stored.saturating_mul(LARGEST_RATIO));
        let mut unpacked = Vec::new();
        unpacked.try_reserve_exact(usize::try_from(likely).unwrap_or(usize::MAX)).map_err(|_| over())?;
        loop {
            if observer.cancelled() {
                return Err(StoreError::Interrupted);
            }
            let left = declared - unpacked.len() as u64;
            let read = reader.by_ref().take(left.min(CHUNK)).read_to_end(&mut unpacked);
            if read.map_err(|e| bad(Fault::Damaged(e)))? == 0 {
                break;
            }
        }
        // One byte more shows data that lie.
        let more = reader.read(&mut [0]).map_err(|e| bad(Fault::Damaged(e)))?;
        let unpacked_length = (unpacked.len() + more) as u64;
        if unpacked_length != declared {
            return Err(bad(Fault::UnpackedLength { declared, unpacked: unpacked_length }));
        }
        Ok(unpacked)
    }
}
