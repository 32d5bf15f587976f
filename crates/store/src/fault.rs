//! The ways in which a file can depart from its format.

use std::io;

/// How a file departs from its format. Rows and columns count from 0, lines and cells of text from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The signature is another one.
    #[error("not an {expected} file: {found}")]
    Signature {
        /// The format that was expected.
        expected: crate::Format,
        /// How it begins, in words.
        found: String,
    },
    /// A member that is no npy file.
    #[error("the member is no array: {found}")]
    NotAnArray {
        /// How it begins, in words.
        found: String,
    },
    /// The file ends before its header does.
    #[error("{length} bytes are too few for the header")]
    HeaderCut {
        /// Bytes in the file.
        length: usize,
    },
    /// A version of npy that does not exist.
    #[error("npy version {major}.{minor} is not known (1.0, 2.0 and 3.0 are)")]
    NpyVersion {
        /// The first byte of the version.
        major: u8,
        /// The second byte.
        minor: u8,
    },
    /// An npy header longer than any sensible one.
    #[error("the header declares its length as {declared} bytes; at most {most} are read")]
    NpyHeaderLength {
        /// The declared length.
        declared: usize,
        /// The longest that is read.
        most: usize,
    },
    /// An npy header that goes past the end of the file.
    #[error("the header declares its length as {declared} bytes, but {available} remain")]
    NpyHeaderCut {
        /// The declared length.
        declared: usize,
        /// Bytes left in the file.
        available: usize,
    },
    /// An npy header that is not UTF-8.
    #[error("the header is not text")]
    NpyHeaderText,
    /// An npy header that is not the expected dict.
    #[error("header, at character {character} (from 0): {fault}")]
    NpyHeader {
        /// Where it goes wrong.
        character: usize,
        /// What goes wrong.
        fault: DictFault,
    },
    /// The zip directory cannot be read.
    #[error("not a readable zip: {0}")]
    Zip(String),
    /// Two members of one name.
    #[error("two members have the same name")]
    RepeatedMember,
    /// A member behind a password.
    #[error("the member is encrypted")]
    Encrypted,
    /// A member that is neither stored nor deflated.
    #[error("the member is compressed with {method}; only stored and deflated members are read")]
    Compression {
        /// The method's name.
        method: String,
    },
    /// A stored member whose two lengths differ.
    #[error("the member is stored as {stored} bytes, but declared as {declared}")]
    StoredLength {
        /// Bytes in the archive.
        stored: u64,
        /// Bytes declared for the data.
        declared: u64,
    },
    /// A member that goes past the end of the file.
    #[error("the member declares {declared} bytes at offset {offset}, but {available} remain")]
    MemberCut {
        /// Declared bytes.
        declared: u64,
        /// Where its data begins.
        offset: u64,
        /// Bytes from there to the end of the file.
        available: u64,
    },
    /// A member whose data is damaged.
    #[error("the member's data is damaged: {0}")]
    Damaged(io::Error),
    /// A member that unpacks to another length.
    #[error("the member declares {declared} bytes, but unpacks to {unpacked}")]
    UnpackedLength {
        /// Declared bytes.
        declared: u64,
        /// Bytes unpacked.
        unpacked: u64,
    },
    /// A row of vecs that cannot have the dimension it declares.
    #[error("row {row} (from 0) declares {found} dimensions")]
    Dimension {
        /// The row.
        row: usize,
        /// The declared dimension.
        found: i32,
    },
    /// A row of vecs of another dimension than the first.
    #[error("row {row} (from 0) declares {found} dimensions, but row 0 declares {first}")]
    DimensionChanged {
        /// The row.
        row: usize,
        /// Its dimension.
        found: i32,
        /// The dimension of row 0.
        first: i32,
    },
    /// A row of vecs that goes past the end of the file.
    #[error("row {row} (from 0) needs {needed} bytes, but {available} remain")]
    RowCut {
        /// The row.
        row: usize,
        /// Bytes of a row.
        needed: u64,
        /// Bytes left in the file.
        available: usize,
    },
    /// A line of text with more or fewer cells.
    #[error("line {line} has {found} cell{}, but line {first_line} has {expected}", if *found == 1 { "" } else { "s" })]
    Ragged {
        /// The line.
        line: u64,
        /// Its cells.
        found: usize,
        /// The first line.
        first_line: u64,
        /// Cells of the first line.
        expected: usize,
    },
    /// A cell of text that should be a number.
    #[error("line {line}, cell {cell} (both from 1): '{text}' is not a number")]
    NotANumber {
        /// The line.
        line: u64,
        /// The cell.
        cell: usize,
        /// What it holds.
        text: String,
    },
    /// A row name that is not UTF-8.
    #[error("line {line}: the row's name is not UTF-8")]
    NameText {
        /// The line.
        line: u64,
    },
}

impl Fault {
    /// What to do about it, where that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Signature { .. } => "name the right format with --format",
            Self::Compression { .. } => "save it with np.savez or np.savez_compressed",
            Self::Encrypted => "unpack it first",
            Self::Damaged(_) | Self::MemberCut { .. } | Self::RowCut { .. } | Self::HeaderCut { .. } => {
                "the file is incomplete or damaged: copy or export it again"
            }
            Self::NotANumber { text, .. } if text.is_empty() => {
                "a cell is empty: fill it in, or remove the delimiter at the end of the line"
            }
            Self::NotANumber { cell: 1, .. } => {
                "if the first column holds row names, add a header line that begins with 'name'"
            }
            _ => return None,
        })
    }
}

/// How an npy header departs from the dict it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DictFault {
    /// Something else in a place.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What belongs there.
        expected: &'static str,
        /// What stands there, in quotation marks, or that the header ends.
        found: String,
    },
    /// A key that npy headers do not have.
    #[error("unknown key '{0}'")]
    UnknownKey(String),
    /// A key twice.
    #[error("key '{0}' appears twice")]
    RepeatedKey(String),
    /// A key that is not there.
    #[error("key '{0}' is missing")]
    MissingKey(&'static str),
    /// Text behind the dict.
    #[error("there is something behind the closing }}")]
    Trailing,
    /// A string or list without its end.
    #[error("the {0} is not closed")]
    Unclosed(&'static str),
}
