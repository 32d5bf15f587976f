//! npz: a zip of npy members. Stored members are read in place, deflated ones within a budget.
//!
//! The zip library keeps one member of each name and trusts the directory; so repeated names are refused here, and what
//! the directory declares is compared with what is there.

use std::io::{self, Cursor, Read};

use zip::{CompressionMethod, ZipArchive};

use super::unpack::{CHUNK, Packed};
use super::{Container, Member};
use crate::error::{Need, shown};
use crate::format::npy;
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::open::{Limits, beginning};
use crate::{Fault, Format, StoreError};

/// A zip with members, and an empty one.
pub(crate) const SIGNATURES: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Enough of a member for its npy header.
const HEADER_BYTES: u64 = (1 << 16) + 64;
/// What a parsed directory takes for each of its bytes, at most.
const PARSED: u64 = 8;
const FREE: u64 = 1 << 13;
/// Members whose shapes are looked up for an error message.
const DESCRIBED: usize = 20;

/// The directory of an npz.
pub(crate) struct Archive<'a> {
    file: &'a str,
    bytes: &'a [u8],
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// In the order of the directory.
    names: Vec<String>,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(file: &'a str, bytes: &'a [u8], budget: u64) -> Result<Self, StoreError> {
        if !SIGNATURES.iter().any(|signature| bytes.starts_with(signature)) {
            return Err(malformed(file, Fault::Signature { expected: Format::Npz, found: beginning(bytes) }));
        }
        // A few members are no matter.
        let needed = directory(bytes).saturating_sub(FREE).saturating_mul(PARSED);
        if needed > budget {
            return Err(StoreError::OverBudget { file: file.to_owned(), needed, need: Need::Header, budget });
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| malformed(file, Fault::Zip(e.to_string())))?;
        if zip.has_duplicate_names() {
            return Err(malformed(file, Fault::RepeatedMember));
        }
        let names: Vec<_> = zip.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if names.iter().any(|name| name.ends_with("/data.pkl")) {
            return Err(malformed(file, Fault::PyTorch));
        }
        Ok(Self { file, bytes, zip, names })
    }

    fn find(&self, wanted: &str) -> Option<usize> {
        let exact = self.names.iter().position(|name| name == wanted);
        exact.or_else(|| self.names.iter().position(|name| name.strip_suffix(".npy") == Some(wanted)))
    }

    fn no_member(&mut self, wanted: Option<&str>) -> StoreError {
        let members = (0..self.names.len()).map(|index| self.describe(index)).collect();
        StoreError::Member { file: self.file.to_owned(), wanted: wanted.map(str::to_owned), members }
    }

    /// `name (shape, type)`, or the name alone where its header cannot be read or there are too many to look at.
    fn describe(&mut self, index: usize) -> String {
        let name = short(&self.names[index]).to_owned();
        let mut start = Vec::new();
        let entry = (index < DESCRIBED).then(|| self.zip.by_index(index).ok()).flatten();
        let read = entry.and_then(|entry| entry.take(HEADER_BYTES).read_to_end(&mut start).ok());
        match read.and_then(|_| npy::parse_header(&name, &start).ok()) {
            Some(header) => format!("{} {} {}", shown(&name), header.shape_tuple(), header.element),
            None => shown(&name),
        }
    }
}

impl Container for Archive<'_> {
    fn is_single(&self) -> bool {
        self.names.len() == 1
    }

    /// With or without `.npy`.
    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn read(&mut self, wanted: Option<&str>, limits: Limits<'_>) -> Result<Member, StoreError> {
        let index = match wanted {
            Some(wanted) => self.find(wanted),
            None => self.is_single().then_some(0),
        };
        let index = index.ok_or_else(|| self.no_member(wanted))?;
        let name = short(&self.names[index]).to_owned();
        let file = format!("{}::{}", self.file, shown(&name));
        let bad = |fault| malformed(&file, fault);

        let entry = self.zip.by_index_raw(index).map_err(|e| bad(Fault::Zip(e.to_string())))?;
        if entry.encrypted() {
            return Err(bad(Fault::Encrypted));
        }
        let (method, declared, stored) = (entry.compression(), entry.size(), entry.compressed_size());
        let offset = entry.data_start().unwrap_or(u64::MAX);
        drop(entry);
        let available = (self.bytes.len() as u64).saturating_sub(offset);
        if stored > available {
            return Err(bad(Fault::MemberCut { declared: stored, offset, available }));
        }
        match method {
            CompressionMethod::Stored => {
                if stored != declared {
                    return Err(bad(Fault::StoredLength { stored, declared }));
                }
                let mut entry = self.zip.by_index(index).map_err(|e| bad(Fault::Zip(e.to_string())))?;
                // Read to its end, where the checksum is compared.
                while io::copy(&mut entry.by_ref().take(CHUNK), &mut io::sink()).map_err(|e| bad(Fault::Damaged(e)))?
                    > 0
                {
                    if limits.observer.cancelled() {
                        return Err(StoreError::Interrupted);
                    }
                }
                let start = offset as usize;
                let mut header = array(&file, &self.bytes[start..start + stored as usize])?;
                header.offset += start;
                Ok(Member { name, header, storage: Storage::InFile })
            }
            CompressionMethod::Deflated => {
                let entry = self.zip.by_index(index).map_err(|e| bad(Fault::Zip(e.to_string())))?;
                let packed = Packed { file: &file, format: Format::Npz, stored, declared };
                let unpacked = packed.read(entry, limits)?;
                let header = array(&file, &unpacked)?;
                Ok(Member { name, header, storage: Storage::Unpacked(unpacked) })
            }
            other => Err(bad(Fault::Compression { method: other.to_string() })),
        }
    }
}

/// Bytes of the directory, as the record at the end of a zip declares them; none if there is no such record.
fn directory(bytes: &[u8]) -> u64 {
    const RECORD: &[u8] = b"PK\x05\x06";
    const LONGEST: usize = 22 + (1 << 16);
    const SIZE: usize = 12;
    let end = &bytes[bytes.len().saturating_sub(LONGEST)..];
    let record = end.windows(RECORD.len()).rposition(|window| window == RECORD);
    let size = record.and_then(|at| end[at..].get(SIZE..)?.first_chunk());
    // No more than there is: larger declarations are found to be wrong.
    size.map_or(0, |&size| u64::from(u32::from_le_bytes(size)).min(bytes.len() as u64))
}

/// The header of a member's data.
fn array(file: &str, data: &[u8]) -> Result<ArrayHeader, StoreError> {
    if !data.starts_with(npy::MAGIC) {
        return Err(malformed(file, Fault::NotAnArray { found: beginning(data) }));
    }
    npy::parse(file, data)
}

fn short(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

fn malformed(file: &str, fault: Fault) -> StoreError {
    StoreError::Malformed { file: file.to_owned(), format: Format::Npz, fault, looks_like: None }
}
