//! MATLAB 5 to 7: a header of 128 bytes, then variables, plain or compressed (MAT-File Format, Level 5, The `MathWorks`).
//!
//! Real numeric arrays are read, in whatever type MATLAB stored them; all other classes are refused by name. Matrices lie
//! column by column.
//!
//! Rejected: the crates that read MAT files, since they inflate whatever a file holds, without a limit.

use std::collections::HashSet;
use std::io::Read;

use flate2::read::ZlibDecoder;

use super::unpack::Packed;
use super::{Container, Member};
use crate::error::shown;
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::open::{Limits, beginning};
use crate::{ElementType, Fault, Format, StoreError};

pub(crate) const SIGNATURE: &[u8] = b"MATLAB 5.0 MAT-file";

const HEADER: usize = 128;
const VERSION: usize = 124;
const TAG: usize = 8;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// Enough of an inflated variable for its flags, dimensions and name.
const PREFIX: u64 = 4096;
/// The longest name, of which MATLAB allows 63 characters, and the most axes.
const LONGEST_NAME: usize = 255;
const MOST_AXES: usize = 32;
/// More variables than any file of vectors has.
const MOST_VARIABLES: usize = 10_000;

/// A data element: its type and where its content lies.
#[derive(Clone, Copy)]
struct Element {
    kind: u32,
    start: usize,
    length: usize,
}

/// A run of data elements.
#[derive(Clone, Copy)]
struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    big_endian: bool,
}

impl Elements<'_> {
    fn word(&self, at: usize) -> Option<u32> {
        let &word = self.bytes.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    /// The next element, whose content must lie within the bytes unless they are a mere beginning; none at the end.
    fn next(&mut self, whole: bool) -> Result<Option<Element>, Fault> {
        let at = self.at;
        let available = self.bytes.len() - at;
        if available == 0 {
            return Ok(None);
        }
        let cut = Fault::MatTag { offset: at, available };
        let Some(first) = self.word(at) else { return Err(cut) };
        // Up to four bytes share the tag, which then has their number in its upper half.
        let small = first >> 16;
        if small > 0 {
            if small > 4 || available < TAG {
                return Err(Fault::MatSmall { offset: at, length: small });
            }
            self.at += TAG;
            return Ok(Some(Element { kind: first & 0xffff, start: at + 4, length: small as usize }));
        }
        let Some(declared) = self.word(at + 4) else { return Err(cut) };
        let (start, length) = (at + TAG, declared as usize);
        let available = self.bytes.len() - start;
        if length > available && whole {
            return Err(Fault::MatElement { offset: at, declared: u64::from(declared), available: available as u64 });
        }
        // Compressed elements are not padded, and the padding of the last one may be left out.
        let end = if first == COMPRESSED { length } else { length.next_multiple_of(8) };
        self.at = start.saturating_add(end).min(self.bytes.len());
        Ok(Some(Element { kind: first, start, length }))
    }

    /// The next element, which must be there.
    fn part(&mut self, what: &'static str, whole: bool) -> Result<Element, Fault> {
        self.next(whole)?.ok_or(Fault::MatMissing { what })
    }
}

/// What the beginning of a variable says.
struct Head {
    class: u8,
    complex: bool,
    logical: bool,
    dims: Vec<u64>,
    name: String,
}

impl Head {
    /// Reads the parts before the data.
    fn read(elements: &mut Elements<'_>, whole: bool) -> Result<Self, Fault> {
        const OPAQUE: u8 = 17;
        let flags = elements.part("flags", whole)?;
        let word = elements.word(flags.start).filter(|_| flags.length == 8 && matches!(flags.kind, 5 | 6));
        let Some(word) = word else {
            return Err(Fault::MatPart { what: "flags", kind: flags.kind, length: flags.length });
        };
        let class = word as u8;
        let (complex, logical) = (word & 0x800 != 0, word & 0x200 != 0);
        let mut dims = Vec::new();
        if class != OPAQUE {
            let part = elements.part("dimensions", whole)?;
            let bad = || Fault::MatPart { what: "dimensions", kind: part.kind, length: part.length };
            if !matches!(part.kind, 5 | 6)
                || !part.length.is_multiple_of(4)
                || !(8..=4 * MOST_AXES).contains(&part.length)
            {
                return Err(bad());
            }
            for at in (part.start..part.start + part.length).step_by(4) {
                let dim = elements.word(at).ok_or_else(bad)?.cast_signed();
                dims.push(u64::try_from(dim).map_err(|_| Fault::MatDimension { found: dim })?);
            }
        }
        let part = elements.part("name", whole)?;
        let name = elements.bytes.get(part.start..part.start + part.length);
        let Some(name) = name.filter(|name| matches!(part.kind, 1 | 2 | 16) && name.len() <= LONGEST_NAME) else {
            return Err(Fault::MatPart { what: "name", kind: part.kind, length: part.length });
        };
        Ok(Self { class, complex, logical, dims, name: String::from_utf8_lossy(name).into_owned() })
    }

    /// Why the variable is no real numeric array.
    fn refused(&self) -> Option<&'static str> {
        Some(match self.class {
            6..=15 if self.complex => "complex",
            6..=15 if self.logical => "logical",
            6..=15 => return None,
            1 => "a cell array",
            2 => "a struct",
            3 => "an object",
            4 => "text",
            5 => "sparse",
            16 => "a function",
            17 => "an object that only MATLAB can read",
            _ => "of an unknown class",
        })
    }

    fn describe(&self) -> String {
        let shape = self.dims.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let class = match self.class {
            6 => "double",
            7 => "single",
            8 => "int8",
            9 => "uint8",
            10 => "int16",
            11 => "uint16",
            12 => "int32",
            13 => "uint32",
            14 => "int64",
            15 => "uint64",
            _ => "",
        };
        let what = self.refused().unwrap_or(class);
        format!("{} ({shape}) {what}", shown(&self.name))
    }
}

/// A variable: what it is, and the element that it is in.
struct Variable {
    head: Head,
    element: Element,
}

/// The variables of a file, in its order.
pub(crate) struct Variables<'a> {
    file: &'a str,
    bytes: &'a [u8],
    big_endian: bool,
    found: Vec<Variable>,
}

impl<'a> Variables<'a> {
    pub(crate) fn open(file: &'a str, bytes: &'a [u8]) -> Result<Self, StoreError> {
        let bad = |fault| malformed(file, fault);
        if !bytes.starts_with(SIGNATURE) {
            return Err(bad(Fault::Signature { expected: Format::Mat, found: beginning(bytes) }));
        }
        let Some(&[a, b, c, d]) = bytes.get(VERSION..).and_then(<[u8]>::first_chunk) else {
            return Err(bad(Fault::HeaderCut { length: bytes.len() }));
        };
        let (big_endian, version) = match [c, d] {
            [b'I', b'M'] => (false, u16::from_le_bytes([a, b])),
            [b'M', b'I'] => (true, u16::from_be_bytes([a, b])),
            mark => return Err(bad(Fault::MatEndian { found: shown(&String::from_utf8_lossy(&mark)) })),
        };
        if version != 0x0100 {
            return Err(bad(Fault::MatVersion { found: version }));
        }
        let mut this = Self { file, bytes, big_endian, found: Vec::new() };
        let mut elements = Elements { bytes, at: HEADER, big_endian };
        let mut names = HashSet::new();
        while let Some(element) = elements.next(true).map_err(bad)? {
            let head = this.head(element).map_err(bad)?;
            // What has no name is MATLAB's own, such as the data behind function handles.
            if head.name.is_empty() {
                continue;
            }
            if this.found.len() == MOST_VARIABLES {
                return Err(bad(Fault::MatVariables { most: MOST_VARIABLES }));
            }
            if !names.insert(head.name.clone()) {
                return Err(bad(Fault::RepeatedVariable { name: shown(&head.name) }));
            }
            this.found.push(Variable { head, element });
        }
        Ok(this)
    }

    fn content(&self, element: Element) -> &'a [u8] {
        &self.bytes[element.start..element.start + element.length]
    }

    fn head(&self, element: Element) -> Result<Head, Fault> {
        let content = self.content(element);
        let inflated;
        let (bytes, whole) = match element.kind {
            MATRIX => (content, true),
            COMPRESSED => {
                let mut prefix = Vec::new();
                // A shorter or damaged end shows when the variable is read.
                let read = ZlibDecoder::new(content).take(PREFIX).read_to_end(&mut prefix);
                read.map_err(Fault::Damaged)?;
                inflated = prefix;
                let mut outer = Elements { bytes: &inflated, at: 0, big_endian: self.big_endian };
                let matrix = outer.part("matrix", false)?;
                if matrix.kind != MATRIX {
                    return Err(Fault::MatKind { offset: element.start - TAG, kind: matrix.kind });
                }
                (&inflated[matrix.start..], false)
            }
            kind => return Err(Fault::MatKind { offset: element.start - TAG, kind }),
        };
        Head::read(&mut Elements { bytes, at: 0, big_endian: self.big_endian }, whole)
    }

    /// The content of a compressed variable's matrix, behind its tag.
    fn inflate(&self, file: &str, element: Element, limits: Limits<'_>) -> Result<Vec<u8>, StoreError> {
        let bad = |fault| malformed(file, fault);
        let content = self.content(element);
        let mut decoder = ZlibDecoder::new(content);
        let mut tag = [0; TAG];
        decoder.read_exact(&mut tag).map_err(|e| bad(Fault::Damaged(e)))?;
        let tag = Elements { bytes: &tag, at: 0, big_endian: self.big_endian };
        let declared = u64::from(tag.word(4).unwrap_or(0));
        let packed = Packed { file, format: Format::Mat, stored: content.len() as u64, declared };
        let inflated = packed.read(&mut decoder, limits)?;
        let extra = content.len() as u64 - decoder.total_in();
        if extra > 0 {
            return Err(bad(Fault::BytesBehind { extra }));
        }
        Ok(inflated)
    }
}

impl Container for Variables<'_> {
    fn is_single(&self) -> bool {
        self.found.len() == 1
    }

    fn has(&self, name: &str) -> bool {
        self.found.iter().any(|variable| variable.head.name == name)
    }

    fn read(&mut self, wanted: Option<&str>, limits: Limits<'_>) -> Result<Member, StoreError> {
        let variable = match wanted {
            Some(wanted) => self.found.iter().find(|variable| variable.head.name == wanted),
            None => self.found.first().filter(|_| self.is_single()),
        };
        let Some(Variable { head, element }) = variable else {
            let members = self.found.iter().map(|variable| variable.head.describe()).collect();
            return Err(StoreError::Member { file: self.file.to_owned(), wanted: wanted.map(str::to_owned), members });
        };
        let name = head.name.clone();
        let file = format!("{}::{}", self.file, shown(&name));
        let bad = |fault| malformed(&file, fault);
        if let Some(what) = head.refused() {
            return Err(bad(Fault::MatClass { what }));
        }
        let inflated = (element.kind == COMPRESSED).then(|| self.inflate(&file, *element, limits)).transpose()?;
        let content = inflated.as_deref().unwrap_or_else(|| self.content(*element));
        let mut elements = Elements { bytes: content, at: 0, big_endian: self.big_endian };
        let head = Head::read(&mut elements, true).map_err(bad)?;
        let data = elements.part("numbers", true).map_err(bad)?;
        let Some(stored) = stored_type(data.kind) else {
            return Err(bad(Fault::MatPart { what: "numbers", kind: data.kind, length: data.length }));
        };
        let mut header = ArrayHeader {
            shape: head.dims,
            element: stored,
            big_endian: self.big_endian,
            fortran: true,
            offset: data.start,
        };
        header.check_length(&file, data.length)?;
        let extra = (content.len() - elements.at) as u64;
        if extra > 0 {
            return Err(bad(Fault::BytesBehind { extra }));
        }
        let storage = if let Some(bytes) = inflated {
            Storage::Unpacked(bytes)
        } else {
            header.offset += element.start;
            Storage::InFile
        };
        Ok(Member { name, header, storage })
    }
}

/// The type in which numbers are stored, which may be narrower than their class.
fn stored_type(kind: u32) -> Option<ElementType> {
    Some(match kind {
        1 => ElementType::I8,
        2 => ElementType::U8,
        3 => ElementType::I16,
        4 => ElementType::U16,
        5 => ElementType::I32,
        6 => ElementType::U32,
        7 => ElementType::F32,
        9 => ElementType::F64,
        12 => ElementType::I64,
        13 => ElementType::U64,
        _ => return None,
    })
}

fn malformed(file: &str, fault: Fault) -> StoreError {
    StoreError::Malformed { file: file.to_owned(), format: Format::Mat, fault, looks_like: None }
}
