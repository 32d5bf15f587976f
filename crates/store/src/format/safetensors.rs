//! safetensors: a length, a JSON header of that length, and the tensors, which cover the rest without gap or overlap.
//!
//! Rejected: the `safetensors` crate (0.8). Its errors have no numbers, repeated names pass, and the end of the last tensor
//! is added to the length of the header without a check for overflow.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Container, Member};
use crate::error::{Need, shortened, shown};
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::open::{Limits, beginning};
use crate::{ElementType, Fault, Format, StoreError};

const LENGTH: usize = size_of::<u64>();
/// The longest header that the format allows.
const LONGEST_HEADER: u64 = 100_000_000;
/// The entry that describes the file and not a tensor.
const METADATA: &str = "__metadata__";
/// What a parsed header takes for each of its characters, at most.
const PARSED: u64 = 8;

/// A tensor as the header declares it.
#[derive(Debug, Deserialize)]
struct Tensor {
    #[serde(skip)]
    name: String,
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The tensors of a file, in the order of their data.
pub(crate) struct Tensors<'a> {
    file: &'a str,
    /// Where the data begin.
    data: usize,
    found: Vec<Tensor>,
}

impl<'a> Tensors<'a> {
    pub(crate) fn open(file: &'a str, bytes: &[u8], budget: u64) -> Result<Self, StoreError> {
        let bad = |fault| malformed(file, fault);
        let Some(&declared) = bytes.first_chunk::<LENGTH>() else {
            return Err(bad(Fault::HeaderCut { length: bytes.len() }));
        };
        let declared = u64::from_le_bytes(declared);
        let available = bytes.len() - LENGTH;
        if declared > available as u64 {
            // Text read as a length gives a huge one.
            return Err(bad(match bytes[LENGTH - 1] {
                0 => Fault::HeaderPastEnd { declared, available },
                _ => Fault::Signature { expected: Format::Safetensors, found: beginning(bytes) },
            }));
        }
        if declared > LONGEST_HEADER {
            return Err(bad(Fault::HeaderLength { declared, most: LONGEST_HEADER }));
        }
        let needed = PARSED * declared;
        if needed > budget {
            return Err(StoreError::OverBudget { file: file.to_owned(), needed, need: Need::Header, budget });
        }
        let data = LENGTH + declared as usize;
        let header = &bytes[LENGTH..data];
        if !header.starts_with(b"{") {
            return Err(bad(Fault::Signature { expected: Format::Safetensors, found: beginning(header) }));
        }
        let Header(mut tensors) =
            serde_json::from_slice(header).map_err(|e| bad(Fault::Json(shortened(&e.to_string(), 200))))?;
        tensors.sort_by_key(|tensor| tensor.data_offsets);
        let this = Self { file, data, found: tensors };
        this.check(bytes.len() - data).map_err(bad)?;
        Ok(this)
    }

    /// Checks that the tensors cover `available` bytes, each of them once, and that no name stands for two.
    fn check(&self, available: usize) -> Result<(), Fault> {
        let mut names: Vec<&str> = self.found.iter().map(|tensor| tensor.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::RepeatedTensor { name: shown(pair[0]) });
        }
        let mut end = 0;
        for tensor in &self.found {
            let (begin, next) = tensor.data_offsets;
            let name = || shown(&tensor.name);
            if begin != end || next < begin {
                return Err(Fault::TensorOffsets { name: name(), begin, end: next, expected: end });
            }
            end = next;
        }
        if end != available as u64 {
            return Err(Fault::TensorsEnd { end, available: available as u64 });
        }
        Ok(())
    }

    fn member(&self, tensor: &Tensor) -> Result<Member, StoreError> {
        let file = format!("{}::{}", self.file, shown(&tensor.name));
        let (begin, end) = tensor.data_offsets;
        let header = ArrayHeader {
            shape: tensor.shape.clone(),
            element: element(&file, &tensor.dtype)?,
            big_endian: false,
            fortran: false,
            offset: self.data + begin as usize,
        };
        header.check_length(&file, (end - begin) as usize)?;
        Ok(Member { name: tensor.name.clone(), header, storage: Storage::InFile })
    }

    /// Every tensor, in the order of the data.
    pub(crate) fn members(&self) -> Result<Vec<Member>, StoreError> {
        self.found.iter().map(|tensor| self.member(tensor)).collect()
    }

    /// What the metadata of a checked file say under the key `mnno`.
    pub(crate) fn description(&self, bytes: &[u8]) -> Result<Option<String>, StoreError> {
        #[derive(Deserialize)]
        struct Described {
            #[serde(rename = "__metadata__")]
            metadata: Option<Metadata>,
        }
        #[derive(Deserialize)]
        struct Metadata {
            mnno: Option<String>,
        }
        let described: Described = serde_json::from_slice(&bytes[LENGTH..self.data])
            .map_err(|e| malformed(self.file, Fault::Json(shortened(&e.to_string(), 200))))?;
        Ok(described.metadata.and_then(|metadata| metadata.mnno))
    }
}

impl Container for Tensors<'_> {
    fn is_single(&self) -> bool {
        self.found.len() == 1
    }

    fn has(&self, name: &str) -> bool {
        self.found.iter().any(|tensor| tensor.name == name)
    }

    fn read(&mut self, wanted: Option<&str>, _: Limits<'_>) -> Result<Member, StoreError> {
        let tensor = match wanted {
            Some(wanted) => self.found.iter().find(|tensor| tensor.name == wanted),
            None => self.found.first().filter(|_| self.is_single()),
        };
        let Some(tensor) = tensor else {
            let describe = |t: &Tensor| {
                let shape = t.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                format!("{} ({shape}) {}", shown(&t.name), shown(&t.dtype))
            };
            let members = self.found.iter().map(describe).collect();
            return Err(StoreError::Member { file: self.file.to_owned(), wanted: wanted.map(str::to_owned), members });
        };
        self.member(tensor)
    }
}

fn element(file: &str, dtype: &str) -> Result<ElementType, StoreError> {
    let what = match dtype {
        "F16" => return Ok(ElementType::F16),
        "BF16" => return Ok(ElementType::Bf16),
        "F32" => return Ok(ElementType::F32),
        "F64" => return Ok(ElementType::F64),
        "I8" => return Ok(ElementType::I8),
        "U8" => return Ok(ElementType::U8),
        "I16" => return Ok(ElementType::I16),
        "U16" => return Ok(ElementType::U16),
        "I32" => return Ok(ElementType::I32),
        "U32" => return Ok(ElementType::U32),
        "I64" => return Ok(ElementType::I64),
        "U64" => return Ok(ElementType::U64),
        "BOOL" => "booleans",
        "C64" => "complex numbers",
        narrow if narrow.starts_with("F8") || narrow.starts_with("F6") || narrow.starts_with("F4") => {
            "floats of 8 bits or less, which need a scale"
        }
        _ => "an unknown type",
    };
    Err(StoreError::ElementKind { file: file.to_owned(), descr: shown(dtype), what })
}

/// The entries of the header, so that a repeated name is seen.
struct Header(Vec<Tensor>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Header, M::Error> {
                let mut tensors = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        tensors.push(Tensor { name, ..map.next_value()? });
                    }
                }
                Ok(Header(tensors))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn malformed(file: &str, fault: Fault) -> StoreError {
    StoreError::Malformed { file: file.to_owned(), format: Format::Safetensors, fault, looks_like: None }
}
