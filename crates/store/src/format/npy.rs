//! numpy's npy, versions 1 to 3: a magic string, a Python dict literal, the elements.
//!
//! The format is numpy's NEP 1. The dict has exactly the keys `descr`,
//! `fortran_order` and `shape`. Pickled objects are refused, never read.

use crate::error::shown;
use crate::layout::ArrayHeader;
use crate::open::beginning;
use crate::{DictFault, ElementType, Fault, Format, StoreError};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header that is read; numpy itself refuses headers above 10,000 bytes unless told to trust the file.
const LONGEST_HEADER: usize = 1 << 16;

/// Reads the header at the start of `bytes`, and checks the array's size against their length.
pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<ArrayHeader, StoreError> {
    let header = parse_header(file, bytes)?;
    header.check_length(file, bytes.len() - header.offset)?;
    Ok(header)
}

/// Reads the header alone; `bytes` may end before the data does.
pub(crate) fn parse_header(file: &str, bytes: &[u8]) -> Result<ArrayHeader, StoreError> {
    let bad = |fault| StoreError::Malformed { file: file.to_owned(), format: Format::Npy, fault, looks_like: None };
    if !bytes.starts_with(MAGIC) {
        return Err(bad(Fault::Signature { expected: Format::Npy, found: beginning(bytes) }));
    }
    let cut = || bad(Fault::HeaderCut { length: bytes.len() });
    let [major, minor] = *bytes[MAGIC.len()..].first_chunk().ok_or_else(cut)?;
    let rest = &bytes[MAGIC.len() + 2..];
    let (declared, start) = match (major, minor) {
        (1, 0) => (u16::from_le_bytes(*rest.first_chunk().ok_or_else(cut)?) as usize, MAGIC.len() + 4),
        (2 | 3, 0) => (u32::from_le_bytes(*rest.first_chunk().ok_or_else(cut)?) as usize, MAGIC.len() + 6),
        _ => return Err(bad(Fault::NpyVersion { major, minor })),
    };
    if declared > LONGEST_HEADER {
        return Err(bad(Fault::HeaderLength { declared: declared as u64, most: LONGEST_HEADER as u64 }));
    }
    let available = bytes.len() - start;
    let text = bytes
        .get(start..start + declared)
        .ok_or_else(|| bad(Fault::HeaderPastEnd { declared: declared as u64, available }))?;
    let text = str::from_utf8(text).map_err(|_| bad(Fault::NpyHeaderText))?;
    let mut parser = Parser { text, at: 0 };
    let dict = parser.dict();
    let dict = dict.map_err(|fault| {
        let character = text[..parser.at].chars().count();
        bad(Fault::NpyHeader { character, fault })
    })?;
    let (element, big_endian) = element(file, &dict.descr)?;
    Ok(ArrayHeader { shape: dict.shape, element, big_endian, fortran: dict.fortran_order, offset: start + declared })
}

/// The element type and whether it is big-endian.
fn element(file: &str, descr: &Descr) -> Result<(ElementType, bool), StoreError> {
    let refused = |what| {
        let descr = match descr {
            Descr::Simple(text) => format!("'{}'", shown(text)),
            Descr::Structured => "[..]".to_owned(),
        };
        Err(StoreError::ElementKind { file: file.to_owned(), descr, what })
    };
    let Descr::Simple(text) = descr else { return refused("structured records") };
    let (order, code) = match text.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &text[1..]),
        _ => ('=', text.as_str()),
    };
    let big_endian = match order {
        '>' => true,
        '<' => false,
        _ => cfg!(target_endian = "big"),
    };
    let element = match code {
        "f2" => ElementType::F16,
        "f4" => ElementType::F32,
        "f8" => ElementType::F64,
        "i1" => ElementType::I8,
        "u1" => ElementType::U8,
        "i2" => ElementType::I16,
        "u2" => ElementType::U16,
        "i4" => ElementType::I32,
        "u4" => ElementType::U32,
        "i8" => ElementType::I64,
        "u8" => ElementType::U64,
        _ => {
            return refused(match code.chars().next() {
                _ if matches!(code, "b1" | "?") => "booleans",
                Some('O') => "Python objects",
                Some('c') => "complex numbers",
                Some('f') => "floats of another size",
                Some('S' | 'a' | 'U') => "strings",
                Some('M' | 'm') => "dates or time spans",
                Some('V') => "raw bytes",
                _ => "an unknown type",
            });
        }
    };
    Ok((element, big_endian))
}

/// `descr` as the header has it.
#[derive(Debug)]
enum Descr {
    Simple(String),
    Structured,
}

struct Dict {
    descr: Descr,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Reads the subset of Python literals that npy headers consist of.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether `token` comes next; steps over it if so.
    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expected(&self, expected: &'static str) -> DictFault {
        let found: String = self.rest().trim_end().chars().take(12).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        DictFault::Expected { expected, found }
    }

    fn expect(&mut self, token: &'static str) -> Result<(), DictFault> {
        if self.take(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    fn dict(&mut self) -> Result<Dict, DictFault> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.take("}") {
            let key = self.string()?;
            self.expect(":")?;
            let again = match key {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(DictFault::UnknownKey(shown(key))),
            };
            if again {
                return Err(DictFault::RepeatedKey(key.to_owned()));
            }
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        self.skip_blanks();
        if !self.rest().is_empty() {
            return Err(DictFault::Trailing);
        }
        Ok(Dict {
            descr: descr.ok_or(DictFault::MissingKey("descr"))?,
            fortran_order: fortran_order.ok_or(DictFault::MissingKey("fortran_order"))?,
            shape: shape.ok_or(DictFault::MissingKey("shape"))?,
        })
    }

    fn string(&mut self) -> Result<&'a str, DictFault> {
        let quote = if self.take("'") {
            '\''
        } else if self.take("\"") {
            '"'
        } else {
            return Err(self.expected("a string"));
        };
        let end = self.rest().find(quote).ok_or(DictFault::Unclosed("string"))?;
        let text = &self.rest()[..end];
        self.at += end + 1;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, DictFault> {
        if self.take("True") {
            Ok(true)
        } else if self.take("False") {
            Ok(false)
        } else {
            Err(self.expected("True or False"))
        }
    }

    fn descr(&mut self) -> Result<Descr, DictFault> {
        if !self.take("[") {
            return Ok(Descr::Simple(self.string()?.to_owned()));
        }
        // A list of fields: only its end matters.
        let mut depth = 1;
        while depth > 0 {
            self.skip_blanks();
            match self.rest().chars().next() {
                Some('\'' | '"') => {
                    self.string()?;
                    continue;
                }
                Some('[') => depth += 1,
                Some(']') => depth -= 1,
                Some(_) => {}
                None => return Err(DictFault::Unclosed("list of fields")),
            }
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
        Ok(Descr::Structured)
    }

    fn shape(&mut self) -> Result<Vec<u64>, DictFault> {
        let mut axes = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            self.skip_blanks();
            let digits = self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
            axes.push(self.rest()[..digits].parse().map_err(|_| self.expected("a whole number from 0 to 2^64 - 1"))?);
            self.at += digits;
            // Python 2 wrote long integers with an L.
            self.take("L");
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(axes)
    }
}
