//! The formats: how bytes become a checked layout. One file each; no unsafe here.

pub(crate) mod big_ann;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod text;
pub(crate) mod vecs;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A numpy array.
    Npy,
    /// A zip of numpy arrays.
    Npz,
    /// Comma-separated values (or semicolons).
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Rows of an i32 dimension and as many f32 (TEXMEX).
    Fvecs,
    /// Rows of an i32 dimension and as many i32 (TEXMEX).
    Ivecs,
    /// u32 rows, u32 columns, then f32 (big-ann-benchmarks).
    Fbin,
    /// u32 rows, u32 columns, then i32 (big-ann-benchmarks).
    Ibin,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] =
        [Self::Npy, Self::Npz, Self::Csv, Self::Tsv, Self::Fvecs, Self::Ivecs, Self::Fbin, Self::Ibin];

    /// The name, which is also the extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Fvecs => "fvecs",
            Self::Ivecs => "ivecs",
            Self::Fbin => "fbin",
            Self::Ibin => "ibin",
        }
    }

    /// The format of a file: by content where the format has a signature, else by extension.
    pub(crate) fn detect(path: &Path, bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(npy::MAGIC) {
            return Some(Self::Npy);
        }
        if npz::SIGNATURES.iter().any(|s| bytes.starts_with(s)) {
            return Some(Self::Npz);
        }
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        extension.parse().ok()
    }
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
