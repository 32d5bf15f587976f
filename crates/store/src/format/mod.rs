//! The formats: how bytes become a checked layout. One file each; no unsafe here.

pub(crate) mod big_ann;
pub(crate) mod foreign;
pub(crate) mod headings;
pub(crate) mod mat;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod safetensors;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod unpack;
pub(crate) mod vecs;
pub(crate) mod word2vec_binary;
pub(crate) mod words;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::StoreError;
use crate::layout::ArrayHeader;
use crate::matrix::Storage;
use crate::open::{Limits, beginning};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A numpy array.
    Npy,
    /// A zip of numpy arrays.
    Npz,
    /// A JSON header and the tensors that it describes.
    Safetensors,
    /// Comma-separated values (or semicolons).
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Rows of an i32 dimension and as many f32 (TEXMEX).
    Fvecs,
    /// Rows of an i32 dimension and as many u8 (TEXMEX).
    Bvecs,
    /// Rows of an i32 dimension and as many i32 (TEXMEX).
    Ivecs,
    /// u32 rows, u32 columns, then f32 (big-ann-benchmarks).
    Fbin,
    /// u32 rows, u32 columns, then u8 (big-ann-benchmarks).
    U8bin,
    /// u32 rows, u32 columns, then i8 (big-ann-benchmarks).
    I8bin,
    /// u32 rows, u32 columns, then i32 (big-ann-benchmarks).
    Ibin,
    /// Lines of a word and its numbers.
    Glove,
    /// A line of two counts, then lines of a word and its numbers; fastText writes it too.
    Word2vec,
    /// A line of two counts, then words, each followed by its numbers as f32.
    Word2vecBinary,
    /// MATLAB 5 to 7.
    Mat,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 16] = [
        Self::Npy,
        Self::Npz,
        Self::Safetensors,
        Self::Csv,
        Self::Tsv,
        Self::Fvecs,
        Self::Bvecs,
        Self::Ivecs,
        Self::Fbin,
        Self::U8bin,
        Self::I8bin,
        Self::Ibin,
        Self::Glove,
        Self::Word2vec,
        Self::Word2vecBinary,
        Self::Mat,
    ];

    /// The name; for most formats also the extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Safetensors => "safetensors",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Fvecs => "fvecs",
            Self::Bvecs => "bvecs",
            Self::Ivecs => "ivecs",
            Self::Fbin => "fbin",
            Self::U8bin => "u8bin",
            Self::I8bin => "i8bin",
            Self::Ibin => "ibin",
            Self::Glove => "glove",
            Self::Word2vec => "word2vec",
            Self::Word2vecBinary => "word2vec-binary",
            Self::Mat => "mat",
        }
    }

    /// The format that an extension stands for, in a name to write to; word vectors have extensions of their own.
    pub fn of_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" => Some(Self::Glove),
            "vec" => Some(Self::Word2vec),
            "bin" => Some(Self::Word2vecBinary),
            name => name.parse().ok(),
        }
    }

    /// The format of a file: by content where the format has a signature, else by extension.
    pub(crate) fn detect(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        if bytes.starts_with(npy::MAGIC) {
            return Ok(Self::Npy);
        }
        if npz::SIGNATURES.iter().any(|s| bytes.starts_with(s)) {
            return Ok(Self::Npz);
        }
        if bytes.starts_with(mat::SIGNATURE) {
            return Ok(Self::Mat);
        }
        let by_extension = match Self::of_extension(path) {
            Some(Self::Glove) if words::starts_with_counts(bytes) => Some(Self::Word2vec),
            // Many programs write a .bin.
            Some(Self::Word2vecBinary) if !bytes.first().is_some_and(u8::is_ascii_digit) => None,
            by_extension => by_extension,
        };
        foreign::refuse(path, bytes, by_extension)?;
        if by_extension == Some(Self::Glove) && words::is_table(bytes) {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                what: "a table of numbers without words",
                hint: "save it as npy, or as csv with delimiter=','; --format glove takes the first of each line for a word",
            });
        }
        by_extension.ok_or_else(|| {
            let looks_like = BY_SIZE.into_iter().find(|&format| fits(bytes, format));
            StoreError::UnknownFormat { path: path.to_owned(), found: beginning(bytes), looks_like }
        })
    }
}

/// Formats that can be told by the size of the file, in the order in which they are tried.
const BY_SIZE: [Format; 4] = [Format::Fvecs, Format::Bvecs, Format::Fbin, Format::U8bin];

/// Whether bytes have the size that their beginning declares in a format of [`BY_SIZE`].
fn fits(bytes: &[u8], format: Format) -> bool {
    match format {
        Format::Fvecs => vecs::fits(bytes, 4),
        Format::Bvecs => vecs::fits(bytes, 1),
        Format::Fbin => big_ann::fits(bytes, 4),
        _ => big_ann::fits(bytes, 1),
    }
}

/// The format whose size bytes have, when they do not fit `format`. Integers of four bytes stay integers.
pub(crate) fn likely(bytes: &[u8], format: Format) -> Option<Format> {
    let integers = matches!(format, Format::Ivecs | Format::Ibin);
    let narrow = |found| match found {
        Format::Fvecs if integers => Format::Ivecs,
        Format::Fbin if integers => Format::Ibin,
        other => other,
    };
    BY_SIZE.into_iter().filter(|&other| fits(bytes, other)).map(narrow).find(|&found| found != format)
}

/// An array of a file that holds several under names.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) header: ArrayHeader,
    pub(crate) storage: Storage,
}

/// A file that holds several arrays under names.
pub(crate) trait Container {
    /// Whether there is one member only.
    fn is_single(&self) -> bool;

    /// Whether there is a member of that name.
    fn has(&self, name: &str) -> bool;

    /// The member of that name, or the only one; what has to be unpacked must fit the budget.
    fn read(&mut self, wanted: Option<&str>, limits: Limits<'_>) -> Result<Member, StoreError>;
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// A name that is no format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}': expected {expected}", expected = names())]
pub struct UnknownFormat(pub String);

/// The names of all formats, as messages list them.
pub(crate) fn names() -> String {
    let names = Format::ALL.map(Format::name);
    let (last, others) = names.split_last().expect("there are formats");
    format!("{} or {last}", others.join(", "))
}
