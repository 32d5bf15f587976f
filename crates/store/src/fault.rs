//! The ways in which a file can depart from its format.

use std::io;

use crate::error::counted;

/// How a file departs from its format. Rows and columns count from 0, lines and cells of text from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The signature is another one.
    #[error("this is no {expected} file: {found}")]
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
    /// A header longer than any sensible one.
    #[error("the header declares its length as {declared} bytes; at most {most} are read")]
    HeaderLength {
        /// The declared length.
        declared: u64,
        /// The longest that is read.
        most: u64,
    },
    /// A header that goes past the end of the file.
    #[error("the header declares its length as {declared} bytes, but {available} remain")]
    HeaderPastEnd {
        /// The declared length.
        declared: u64,
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
    /// A quotation mark that nothing closes.
    #[error("a quotation mark opens a cell in the record that begins on line {line}, and none closes it")]
    OpenQuote {
        /// The first line of the record.
        line: u64,
    },
    /// A record of text that goes on and on.
    #[error("the record on line {line} goes on for more than {longest} bytes")]
    LongRecord {
        /// Its first line.
        line: u64,
        /// The most that is read.
        longest: u64,
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
    /// A model of `PyTorch`, which is a zip of pickled objects.
    #[error("this is a PyTorch file, whose objects are pickled: mnno never unpickles")]
    PyTorch,
    /// A safetensors header that is not the JSON it should be.
    #[error("the header is not as it should be: {0}")]
    Json(String),
    /// A tensor that does not begin where the one before it ends.
    #[error("tensor '{name}' lies at bytes {begin}..{end} of the data, but the one before it ends at {expected}")]
    TensorOffsets {
        /// The tensor.
        name: String,
        /// Its first byte.
        begin: u64,
        /// The byte after its last.
        end: u64,
        /// Where it should begin.
        expected: u64,
    },
    /// Tensors that do not end with the file.
    #[error("the tensors end at byte {end} of the data, but there are {available} bytes")]
    TensorsEnd {
        /// Where the last tensor ends.
        end: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// Two tensors of one name.
    #[error("two tensors are named '{name}'")]
    RepeatedTensor {
        /// The name.
        name: String,
    },
    /// A MATLAB file of a version that does not exist.
    #[error("MATLAB file version {found:#06x} is not known (0x0100 is)")]
    MatVersion {
        /// The version.
        found: u16,
    },
    /// A MATLAB file that does not tell its byte order.
    #[error("the header ends with '{found}' in place of IM or MI, which tell the byte order")]
    MatEndian {
        /// What it ends with.
        found: String,
    },
    /// A MATLAB data element that is cut in its tag.
    #[error("{available} bytes at offset {offset} are too few for the tag of a data element")]
    MatTag {
        /// Where the element begins, from the start of the file or of its matrix.
        offset: usize,
        /// Bytes left.
        available: usize,
    },
    /// A small MATLAB data element of more than four bytes.
    #[error("the data element at offset {offset} declares {length} bytes in a place for 4")]
    MatSmall {
        /// Where the element begins, from the start of the file or of its matrix.
        offset: usize,
        /// Its length.
        length: u32,
    },
    /// A MATLAB data element that goes past the end.
    #[error("the data element at offset {offset} declares {declared} bytes, but {available} remain")]
    MatElement {
        /// Where the element begins, from the start of the file or of its matrix.
        offset: usize,
        /// Declared bytes.
        declared: u64,
        /// Bytes left.
        available: u64,
    },
    /// A MATLAB data element where a variable should be.
    #[error("the data element at offset {offset} is of type {kind}; a variable is of type 14, or 15 if compressed")]
    MatKind {
        /// Where the element begins in the file.
        offset: usize,
        /// Its type.
        kind: u32,
    },
    /// More MATLAB variables than are looked through.
    #[error("there are more than {most} variables")]
    MatVariables {
        /// The most that are looked through.
        most: usize,
    },
    /// A MATLAB variable that ends too early.
    #[error("the variable ends before its {what}")]
    MatMissing {
        /// The part that is not there.
        what: &'static str,
    },
    /// A part of a MATLAB variable that cannot be what its place says.
    #[error("the {what} of the variable cannot be {length} bytes of type {kind}")]
    MatPart {
        /// The part.
        what: &'static str,
        /// Its type.
        kind: u32,
        /// Its length in bytes.
        length: usize,
    },
    /// A MATLAB variable with a negative dimension.
    #[error("the variable declares a dimension of {found}")]
    MatDimension {
        /// The dimension.
        found: i32,
    },
    /// A MATLAB variable that is no real numeric array.
    #[error("the variable is {what}; only real numeric matrices are read")]
    MatClass {
        /// What it is.
        what: &'static str,
    },
    /// Two MATLAB variables of one name.
    #[error("two variables are named '{name}'")]
    RepeatedVariable {
        /// The name.
        name: String,
    },
    /// Data that go on where they should end.
    #[error("the member has {} behind the end of its data", counted(*extra, "byte"))]
    BytesBehind {
        /// The bytes too many.
        extra: u64,
    },
    /// A first line that is not two counts.
    #[error("the first line should be two counts, of words and of dimensions; it is '{found}'")]
    WordCounts {
        /// The line.
        found: String,
    },
    /// Another number of rows than the first line declares.
    #[error("the first line declares {}, but the file has {} behind it", counted(*declared, "word"), counted(*found, "line"))]
    WordLines {
        /// Declared words.
        declared: u64,
        /// Lines that follow.
        found: u64,
    },
    /// A first line that is no word and numbers.
    #[error("the first line should be a word and its numbers; it is '{found}'")]
    NoWordVector {
        /// The line.
        found: String,
    },
    /// A line with more or fewer numbers.
    #[error(
        "line {line} has {found} field{} behind its word, but {expected} are expected, as line 1 {}",
        if *found == 1 { "" } else { "s" },
        if *declared { "declares" } else { "has" }
    )]
    Numbers {
        /// The line.
        line: u64,
        /// Its fields behind the first.
        found: usize,
        /// Numbers of the first line.
        expected: u64,
        /// Whether the first line declares them, rather than has them.
        declared: bool,
    },
    /// An empty line between others.
    #[error("line {line} is empty")]
    EmptyLine {
        /// The line.
        line: u64,
    },
    /// A line that begins with a blank.
    #[error("line {line} begins with a blank: it has no word")]
    NoWord {
        /// The line.
        line: u64,
    },
    /// A word that stands for two vectors.
    #[error(
        "the word '{word}' is on {place} {first} and again on {place} {again} (from {}){}",
        u8::from(*place == "line"),
        if *more > 0 { format!(" (and {more} more words are repeated)") } else { String::new() }
    )]
    RepeatedWord {
        /// The word.
        word: String,
        /// What is counted: lines from 1, rows from 0.
        place: &'static str,
        /// Where it is first.
        first: u64,
        /// Where it is again.
        again: u64,
        /// Further repetitions.
        more: usize,
    },
    /// A word in a binary file that no blank ends.
    #[error("row {row} (from 0): no blank ends its word within {within} bytes")]
    WordEnd {
        /// The row.
        row: usize,
        /// Bytes looked at.
        within: usize,
    },
    /// A row of a binary file whose word is empty.
    #[error("row {row} (from 0) has no word")]
    EmptyWord {
        /// The row.
        row: usize,
    },
    /// A word in a binary file that is not UTF-8.
    #[error("row {row} (from 0): the word is not UTF-8")]
    WordText {
        /// The row.
        row: usize,
    },
    /// A binary file that goes on behind its last row.
    #[error("the first line declares {}, but the file has {} behind the last", counted(*rows, "word"), counted(*extra, "byte"))]
    BytesLeft {
        /// Declared words.
        rows: u64,
        /// Bytes left.
        extra: u64,
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
            Self::Signature { found, .. } if found == "it is empty" => "copy or export it again",
            Self::Signature { .. } => "name the right format with --format",
            Self::Ragged { .. } => {
                "each line needs as many cells: remove titles and comments, and delimiters at the end"
            }
            Self::OpenQuote { .. } => "close it, or double a mark that belongs to the text",
            Self::LongRecord { .. } => {
                "a quotation mark may not be closed; or raise --memory, of which a record may take a part"
            }
            Self::Compression { .. } => "save it with np.savez or np.savez_compressed",
            Self::Encrypted => "unpack it first",
            Self::Damaged(_)
            | Self::MemberCut { .. }
            | Self::RowCut { .. }
            | Self::HeaderCut { .. }
            | Self::HeaderPastEnd { .. }
            | Self::TensorsEnd { .. }
            | Self::MatTag { .. }
            | Self::MatElement { .. }
            | Self::WordEnd { .. }
            | Self::BytesLeft { .. } => "the file is incomplete or damaged: copy or export it again",
            Self::WordLines { .. } => {
                "the file is incomplete or its first line is wrong; if that is no line of counts, try --format glove"
            }
            Self::PyTorch => "load it in Python and save the vectors: np.save(path, x.numpy())",
            Self::MatClass { what: "complex" } => "save its parts as one real matrix: x = [real(x) imag(x)]",
            Self::MatClass { what: "logical" | "sparse" } => "save it as a full matrix of numbers: x = full(double(x))",
            Self::MatClass { what: "text" } => "save numbers in its place",
            Self::MatClass { .. } => "save the matrix that it holds as a variable of its own",
            Self::WordCounts { .. } => "such a line begins word2vec files, as in '400000 300'",
            Self::NoWordVector { .. } => {
                "a line of a GloVe file is a word and its numbers, separated by blanks: remove a title, name a file of commas .csv"
            }
            Self::RepeatedWord { .. } => "remove one of them: a word can have one vector only",
            Self::NoWord { .. } | Self::EmptyLine { .. } => "remove the line, or give it a word and its numbers",
            Self::Numbers { .. } => {
                "blanks separate the fields; a word may hold blanks, but no part of it that is a number"
            }
            Self::NameText { .. } | Self::WordText { .. } => "save the file with names in UTF-8",
            Self::NotANumber { text, .. } if text.is_empty() => {
                "a cell is empty: fill it in, or remove the delimiter at the end of the line"
            }
            Self::NotANumber { text, .. } if text.contains(',') => {
                "numbers have a point, not a comma, and blanks between them; a file of commas is named .csv"
            }
            Self::NotANumber { cell: 1, .. } => {
                "if the first column holds row names, add a header line that begins with 'name'"
            }
            Self::NotANumber { .. } => {
                "every cell but a row's name is a number: remove titles, comments and columns of text"
            }
            Self::Zip(_) => "the file is incomplete or no zip: copy or export it again",
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
