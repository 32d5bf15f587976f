//! npz: a zip of npy members. Stored members are read in place, deflated ones within a budget.

use std::collections::HashSet;
use std::io::{Cursor, Read};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::format::npy;
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::{Format, StoreError};

/// A zip with members, and an empty one.
pub(crate) const SIGNATURES: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Enough of a member for its npy header.
const HEADER_BYTES: u64 = (1 << 16) + 64;

/// Opens member `wanted`, or the only one.
pub(crate) fn parse(
    file: &str,
    bytes: &[u8],
    wanted: Option<&str>,
    budget: u64,
) -> Result<(String, ArrayHeader, Storage), StoreError> {
    let bad = |fault: String| StoreError::Malformed { file: file.to_owned(), format: Format::Npz, fault, hint: None };
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| bad(zip_fault(&e)))?;
    let names = zip.file_names().map(|name| name.map(|n| n.into_owned())).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(|e| bad(zip_fault(&e)))?;
    refuse_repeated_names(&mut zip, bytes).map_err(&bad)?;
    let Some(name) = choose(&names, wanted) else {
        let problem = match wanted {
            Some(wanted) => format!("there is no member '{wanted}'"),
            None if names.is_empty() => "the archive is empty".to_owned(),
            None => "no member was chosen".to_owned(),
        };
        let members = names.iter().map(|name| describe(&mut zip, name)).collect();
        return Err(StoreError::Member { file: file.to_owned(), problem, members });
    };
    let member = format!("{file}::{}", name.strip_suffix(".npy").unwrap_or(&name));
    let bad = |fault: String| StoreError::Malformed { file: member.clone(), format: Format::Npz, fault, hint: None };
    let mut entry = zip.by_name(&name).map_err(|e| bad(zip_fault(&e)))?;
    let size = entry.size();
    match entry.compression() {
        CompressionMethod::Stored => {
            let start = entry.data_start().ok_or_else(|| bad("the member's data cannot be found".to_owned()))?;
            if entry.compressed_size() != size {
                let stored = entry.compressed_size();
                return Err(bad(format!("stored as {stored} bytes, but declared as {size}")));
            }
            let end = start.checked_add(size).filter(|&end| end <= bytes.len() as u64);
            let Some(end) = end else {
                let left = (bytes.len() as u64).saturating_sub(start);
                return Err(bad(format!("the member declares {size} bytes at offset {start}, but {left} remain")));
            };
            let (start, end) = (start as usize, end as usize);
            let mut header = npy::parse(&member, &bytes[start..end])?;
            header.offset += start;
            Ok((member, header, Storage::InFile))
        }
        CompressionMethod::Deflated => {
            if size > budget {
                return Err(StoreError::OverBudget { file: member, needed: size, budget });
            }
            let mut unpacked = Vec::new();
            // One byte more than declared shows a member that lies; nothing is reserved on its word.
            let read = (&mut entry).take(size.saturating_add(1)).read_to_end(&mut unpacked);
            read.map_err(|e| bad(format!("the member cannot be unpacked: {e}")))?;
            if unpacked.len() as u64 != size {
                let more = if unpacked.len() as u64 > size { "more" } else { "fewer" };
                return Err(bad(format!("the member declares {size} bytes, but unpacks to {more}")));
            }
            let header = npy::parse(&member, &unpacked)?;
            Ok((member, header, Storage::Unpacked(unpacked)))
        }
        other => Err(bad(format!("the member is compressed with {other}; only stored and deflated members are read"))),
    }
}

fn choose(names: &[String], wanted: Option<&str>) -> Option<String> {
    match wanted {
        Some(wanted) => names.iter().find(|name| *name == wanted || name.strip_suffix(".npy") == Some(wanted)).cloned(),
        None => match names {
            [only] => Some(only.clone()),
            _ => None,
        },
    }
}

/// The index of a zip library keeps one member of each name; a file that has more is refused.
fn refuse_repeated_names(zip: &mut ZipArchive<Cursor<&[u8]>>, bytes: &[u8]) -> Result<(), String> {
    const CENTRAL_HEADER: &[u8] = b"PK\x01\x02";
    let directory = usize::try_from(zip.central_directory_start()).ok().and_then(|start| bytes.get(start..));
    let mut rest = directory.unwrap_or_default();
    let mut seen = HashSet::new();
    while rest.starts_with(CENTRAL_HEADER) && rest.len() >= 46 {
        let length = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]) as usize;
        let (name, extra, comment) = (length(28), length(30), length(32));
        let Some(entry) = rest.get(46..46 + name) else { break };
        if !seen.insert(entry) {
            return Err(format!("two members are named '{}'", String::from_utf8_lossy(entry)));
        }
        rest = rest.get(46 + name + extra + comment..).unwrap_or_default();
    }
    Ok(())
}

/// `name (shape, type)`, or why its header cannot be read.
fn describe(zip: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> String {
    let short = name.strip_suffix(".npy").unwrap_or(name);
    let header = zip.by_name(name).ok().and_then(|entry| {
        let mut start = Vec::new();
        entry.take(HEADER_BYTES).read_to_end(&mut start).ok()?;
        npy::parse_header(name, &start).ok()
    });
    match header {
        Some(header) => format!("{short} ({} {})", header.shape_text(), header.element),
        None => format!("{short} (not a numeric array)"),
    }
}

fn zip_fault(error: &ZipError) -> String {
    format!("not a readable zip: {error}")
}
