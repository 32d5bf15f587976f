//! The file of an index.
//!
//! Little-endian. A head of 80 bytes, then the sections that it lists, each padded to a multiple of 8 bytes:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | `mnnoann` and a zero |
//! | 8..12 | version, 1 |
//! | 12..16 | metric: 0 cosine, 1 inner product, 2 Euclidean, 3 squared Euclidean |
//! | 16..32 | rows and columns of the base |
//! | 32..48 | the base's fingerprint, as the caller names it |
//! | 48..56 | number of sections |
//! | 56..64 | XXH3-64 of the table of sections |
//! | 64..72 | XXH3-64 of bytes 0..64 |
//! | 72..80 | zero |
//! | 80.. | the table: for each section its kind, its length in bytes, and the XXH3-64 of its bytes, 8 bytes each |
//!
//! Nothing of a file is used before all of it is checked: an index that opens cannot lead a walk astray.

use std::io::{self, Write};

use mnno_exact::{EqualRows, Metric};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::codes::Codes;
use crate::graph::Graph;
use crate::search::Index;

const MAGIC: &[u8; 8] = b"mnnoann\0";
const VERSION: u32 = 1;
const HEAD: usize = 80;
const ENTRY: usize = 24;

/// The sections, in the order of the file; the last ones, of codes, may be missing.
const SECTIONS: [&str; 11] = [
    "groups of equal rows",
    "squared norms",
    "spread",
    "ends of neighbours",
    "neighbours",
    "entries",
    "centre of codes",
    "codes of entries",
    "terms of entries",
    "codes of nodes",
    "terms of nodes",
];
/// Bytes of the numbers in each.
const WIDTHS: [u64; 11] = [4, 8, 8, 8, 4, 4, 8, 4, 4, 4, 4];
const WITHOUT_CODES: usize = 6;
const WITHOUT_CODES_OF_NODES: usize = 9;

/// Numbers of a section.
enum Section<'a> {
    Words(&'a [u32]),
    Longs(&'a [u64]),
    Doubles(&'a [f64]),
}

impl Section<'_> {
    /// The section's bytes, some at a time.
    fn for_each_part(&self, told: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Words(values) => in_parts(values, told, |v| v.to_le_bytes()),
            Self::Longs(values) => in_parts(values, told, |v| v.to_le_bytes()),
            Self::Doubles(values) => in_parts(values, told, |v| v.to_le_bytes()),
        }
    }
}

fn in_parts<T, const N: usize>(
    values: &[T],
    mut told: impl FnMut(&[u8]) -> io::Result<()>,
    bytes: impl Fn(&T) -> [u8; N],
) -> io::Result<()> {
    let mut part = Vec::new();
    for some in values.chunks(1 << 13) {
        part.clear();
        part.extend(some.iter().flat_map(&bytes));
        told(&part)?;
    }
    Ok(())
}

/// Why a file is no index that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It begins otherwise.
    #[error("this is no index of mnno: it does not begin as one")]
    NotAnIndex,
    /// It is of another version than this program reads, most likely a later one.
    #[error("the index has format version {found}; this program reads version {VERSION}")]
    Version {
        /// The version that the file names.
        found: u32,
    },
    /// It ends too early, or goes on too long.
    #[error("the index should have {needed} bytes, and has {found}")]
    Length {
        /// Bytes that its head calls for.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Bytes are not those that were written.
    #[error("the index is damaged: the checksum of its {section} does not match")]
    Checksum {
        /// What is damaged.
        section: &'static str,
    },
    /// There is no memory for what it holds.
    #[error("there is no memory for what the index holds")]
    Memory,
    /// The numbers contradict each other.
    #[error("the index is damaged: {what}")]
    Invalid {
        /// Which ones.
        what: &'static str,
    },
}

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The metric that the index was built for.
    pub metric: Metric,
    /// Rows of the base.
    pub n: u64,
    /// Columns of the base.
    pub d: u64,
    /// The base's fingerprint.
    pub fingerprint: u128,
}

impl Index {
    /// Writes the index; `fingerprint` names the base it was built from.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, fingerprint: u128, out: &mut dyn Write) -> io::Result<()> {
        let (ends, neighbours, entries) = self.graph.parts();
        let mut sections = vec![
            Section::Words(self.equal.of_rows()),
            Section::Doubles(&self.squared_norms),
            Section::Doubles(std::slice::from_ref(&self.spread)),
            Section::Longs(ends),
            Section::Words(neighbours),
            Section::Words(entries),
        ];
        if let Some(codes) = &self.codes {
            let (centre, of_entries, of_nodes) = codes.parts();
            sections.push(Section::Doubles(centre));
            sections.extend(of_entries.into_iter().chain(of_nodes.into_iter().flatten()).map(Section::Words));
        }
        let mut table = Vec::new();
        for (kind, section) in sections.iter().enumerate() {
            let mut hasher = Xxh3::new();
            let mut length = 0;
            section.for_each_part(|part| {
                hasher.update(part);
                length += part.len() as u64;
                Ok(())
            })?;
            for number in [kind as u64, length, hasher.digest()] {
                table.extend(number.to_le_bytes());
            }
        }
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend((metric_number(self.metric)).to_le_bytes());
        head.extend((self.equal.rows() as u64).to_le_bytes());
        head.extend((self.d as u64).to_le_bytes());
        head.extend(fingerprint.to_le_bytes());
        head.extend((sections.len() as u64).to_le_bytes());
        head.extend(xxh3_64(&table).to_le_bytes());
        head.extend(xxh3_64(&head).to_le_bytes());
        head.extend([0; 8]);
        out.write_all(&head)?;
        out.write_all(&table)?;
        for section in &sections {
            let mut length = 0;
            section.for_each_part(|part| {
                length += part.len();
                out.write_all(part)
            })?;
            out.write_all(&[0; 8][..padding(length)])?;
        }
        Ok(())
    }

    /// The index that `bytes` hold, and what the file says about itself.
    ///
    /// # Errors
    /// [`FileError`], before anything of a damaged file is used.
    pub fn read(bytes: &[u8]) -> Result<(Self, Head), FileError> {
        let head = head(bytes)?;
        let sections = sections(bytes)?;
        let groups = u32s(sections[0]);
        if groups.len() as u64 != head.n {
            return Err(FileError::Invalid { what: "there is not one group for each row" });
        }
        let equal =
            EqualRows::from_groups(groups).ok_or(FileError::Invalid { what: "groups are not numbered in order" })?;
        let nodes = equal.groups();
        let squared_norms = f64s(sections[1]);
        if squared_norms.len() != nodes || squared_norms.iter().any(|norm| !norm.is_finite() || *norm < 0.0) {
            return Err(FileError::Invalid { what: "there is not a norm for each distinct row" });
        }
        let &[spread] = f64s(sections[2]).as_slice() else {
            return Err(FileError::Invalid { what: "there is not one spread of scores" });
        };
        if !(spread.is_finite() && spread >= 0.0) {
            return Err(FileError::Invalid { what: "the spread of scores is no distance" });
        }
        let no_memory = |_| FileError::Memory;
        let graph = Graph::from_parts(&u64s(sections[3]), &u32s(sections[4]), u32s(sections[5])).map_err(no_memory)?;
        let graph = graph.filter(|graph| graph.n() == nodes);
        let graph = graph.ok_or(FileError::Invalid { what: "edges lead to rows that do not exist" })?;
        let d = usize::try_from(head.d).map_err(|_| FileError::Invalid { what: "there are too many columns" })?;
        let codes = match &sections[WITHOUT_CODES..] {
            [centre, entries, terms, of_nodes @ ..] => {
                let [entries, terms] = [u32s(entries), u32s(terms)];
                let of_nodes: Vec<Vec<u32>> = of_nodes.iter().map(|section| u32s(section)).collect();
                let nodes = if let [nodes, terms] = &*of_nodes { Some([&**nodes, &**terms]) } else { None };
                let parts = (f64s(centre), [&*entries, &*terms], nodes);
                let codes = Codes::from_parts(parts, &squared_norms, graph.entries().len(), head.metric);
                let codes = codes.map_err(no_memory)?.filter(|_| sections[WITHOUT_CODES].len() / 8 == d);
                Some(codes.ok_or(FileError::Invalid { what: "codes do not fit the rows" })?)
            }
            _ => None,
        };
        Ok((Self { metric: head.metric, d, equal, graph, squared_norms, codes, spread, nearby: None }, head))
    }
}

/// Checks the head.
fn head(bytes: &[u8]) -> Result<Head, FileError> {
    if bytes.len() < MAGIC.len() || &bytes[..MAGIC.len()] != MAGIC {
        return Err(FileError::NotAnIndex);
    }
    if bytes.len() < HEAD {
        return Err(FileError::Length { needed: HEAD as u64, found: bytes.len() as u64 });
    }
    let version = u32s(&bytes[8..12])[0];
    if version != VERSION {
        return Err(FileError::Version { found: version });
    }
    if u64_at(bytes, 64) != xxh3_64(&bytes[..64]) || bytes[72..HEAD] != [0; 8] {
        return Err(FileError::Checksum { section: "head" });
    }
    let metric = u32s(&bytes[12..16])[0];
    let metric = Metric::ALL.into_iter().find(|&m| metric_number(m) == metric);
    let metric = metric.ok_or(FileError::Invalid { what: "it names no metric" })?;
    let fingerprint = u128::from(u64_at(bytes, 32)) | u128::from(u64_at(bytes, 40)) << 64;
    Ok(Head { metric, n: u64_at(bytes, 16), d: u64_at(bytes, 24), fingerprint })
}

/// The sections, their lengths and checksums checked.
fn sections(bytes: &[u8]) -> Result<Vec<&[u8]>, FileError> {
    let count = u64_at(bytes, 48);
    if ![WITHOUT_CODES, WITHOUT_CODES_OF_NODES, SECTIONS.len()].contains(&(count as usize)) {
        return Err(FileError::Invalid { what: "it has another number of sections" });
    }
    let names = &SECTIONS[..count as usize];
    let found = bytes.len() as u64;
    let table_end = HEAD + names.len() * ENTRY;
    let table = bytes.get(HEAD..table_end).ok_or(FileError::Length { needed: table_end as u64, found })?;
    if xxh3_64(table) != u64_at(bytes, 56) {
        return Err(FileError::Checksum { section: "table of sections" });
    }
    let mut begin = table_end;
    let mut sections = Vec::new();
    for (kind, &name) in names.iter().enumerate() {
        let entry = &table[kind * ENTRY..(kind + 1) * ENTRY];
        let (length, checksum) = (u64_at(entry, 8), u64_at(entry, 16));
        let padded = length.checked_next_multiple_of(8).and_then(|length| length.checked_add(begin as u64));
        let needed = padded.unwrap_or(u64::MAX);
        if needed > found {
            return Err(FileError::Length { needed, found });
        }
        let section = &bytes[begin..begin + length as usize];
        let rest = &bytes[begin + length as usize..needed as usize];
        if length % WIDTHS[kind] != 0 {
            return Err(FileError::Invalid { what: "a section ends within a number" });
        }
        if u64_at(entry, 0) != kind as u64 || xxh3_64(section) != checksum || rest.iter().any(|&byte| byte != 0) {
            return Err(FileError::Checksum { section: name });
        }
        sections.push(section);
        begin = needed as usize;
    }
    if begin as u64 == found { Ok(sections) } else { Err(FileError::Length { needed: begin as u64, found }) }
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(8) - length
}

fn metric_number(metric: Metric) -> u32 {
    match metric {
        Metric::Cosine => 0,
        Metric::InnerProduct => 1,
        Metric::Euclidean => 2,
        Metric::SquaredEuclidean => 3,
    }
}

fn u64_at(bytes: &[u8], begin: usize) -> u64 {
    u64::from_le_bytes(*bytes[begin..].first_chunk().expect("the caller has checked the length"))
}

fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|&word| f64::from_le_bytes(word)).collect()
}
