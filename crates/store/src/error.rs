//! What can be wrong with a file.

use std::path::PathBuf;
use std::{fmt, io};

use crate::{Format, TextFault};

/// The sort of a failure, from which a program derives its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file holds what cannot be used.
    BadData,
    /// The file cannot be opened or read.
    CannotOpen,
    /// The file changed while it was in use.
    Changed,
    /// The request does not fit the file.
    Usage,
    /// The observer asked to give up.
    Interrupted,
}

/// What memory is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The whole file, read and not mapped.
    Read,
    /// A compressed member.
    Unpack,
    /// The names of the rows.
    Names,
    /// Where the rows of a text begin.
    Rows,
    /// A header.
    Header,
    /// The labels of the rows.
    Labels,
    /// The ratings of words.
    Ratings,
    /// Which rows are zero.
    ZeroRows,
}

impl Need {
    fn hint(self) -> &'static str {
        match self {
            Self::Read => "leave --io read out, so that the file is mapped, or raise --memory",
            Self::Unpack => "raise --memory, or save it uncompressed, as np.save does: such files are mapped",
            Self::Names | Self::Rows | Self::Header | Self::Labels | Self::Ratings | Self::ZeroRows => "raise --memory",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "to be read whole",
            Self::Unpack => "to be unpacked",
            Self::Names => "for the names of its rows",
            Self::Rows => "to find its rows",
            Self::Header => "for its header",
            Self::Labels => "for its labels",
            Self::Ratings => "for its ratings",
            Self::ZeroRows => "to list its zero rows",
        })
    }
}

/// What is wrong with a file. Each message is one line that begins with the file; rows and columns count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refuses.
    #[error("{}: {}", path.display(), plain(source))]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The path is no regular file.
    #[error("{}: this is {kind}", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Another state of the file than the one that was opened.
    #[error("{}: the file changed while it was in use: {what}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// A format that is known and not read.
    #[error("{}: this is {what}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is, in words.
        what: &'static str,
        /// What to do with it.
        hint: &'static str,
    },
    /// A folder without files, or a list that names none.
    #[error("{}: there is no file in this {what}", path.display())]
    NoParts {
        /// The folder or the list.
        path: PathBuf,
        /// Which of the two.
        what: &'static str,
    },
    /// More parts than can be opened.
    #[error("{}: there are more than {most} part files", path.display())]
    TooManyParts {
        /// The folder or the list.
        path: PathBuf,
        /// The most that are opened.
        most: usize,
    },
    /// A file of a list that is not there.
    #[error("{}: line {line} names {}, which does not exist", list.display(), entry.display())]
    ListEntry {
        /// The list.
        list: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The file.
        entry: PathBuf,
    },
    /// A list of files that is not UTF-8.
    #[error("{}: the list of files is not UTF-8", path.display())]
    ListText {
        /// The list.
        path: PathBuf,
    },
    /// A file that is no further part of the matrix that another one begins.
    #[error("{file}: {found}, but {first} has {expected}: they are not parts of one matrix")]
    Part {
        /// The file, and the member where there is one.
        file: String,
        /// What it has.
        found: String,
        /// The first part.
        first: String,
        /// What that has.
        expected: String,
    },
    /// The observer asked to give up.
    #[error("interrupted")]
    Interrupted,
    /// Neither content nor name tells the format.
    #[error("{}: unknown format: {found}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// How it begins, in words.
        found: String,
        /// The format that the content fits, where there is one.
        looks_like: Option<crate::Format>,
    },
    /// The file does not follow its format.
    #[error("{file}: {fault}")]
    Malformed {
        /// The file, and the member where there is one.
        file: String,
        /// The format that it was read as.
        format: crate::Format,
        /// What is wrong.
        fault: crate::Fault,
        /// The format that the content fits, where that is another one.
        looks_like: Option<crate::Format>,
    },
    /// The header and the length of the file disagree.
    #[error(
        "{file}: header declares {shape} {element} = {declared} bytes at offset {offset}, but {available} remain ({})",
        difference(*declared, *available)
    )]
    Length {
        /// The file, and the member where there is one.
        file: String,
        /// The declared shape, `n x d`.
        shape: String,
        /// The declared element type.
        element: crate::ElementType,
        /// Bytes that the shape needs.
        declared: u64,
        /// Where the data begins.
        offset: u64,
        /// Bytes from there to the end.
        available: u64,
        /// The format that the content fits, where that is another one.
        looks_like: Option<crate::Format>,
    },
    /// The declared shape needs more bytes than a file can have.
    #[error("{file}: header declares {shape} {element}, more bytes than can be addressed")]
    TooLarge {
        /// The file, and the member where there is one.
        file: String,
        /// The declared shape.
        shape: String,
        /// The declared element type.
        element: crate::ElementType,
    },
    /// Elements that are no real numbers, or of a type that is not read.
    #[error("{file}: elements of type {descr} ({what}) cannot be used as vectors")]
    ElementKind {
        /// The file, and the member where there is one.
        file: String,
        /// The type as the file spells it.
        descr: String,
        /// The type in words.
        what: &'static str,
    },
    /// An array that is no matrix.
    #[error("{file}: the array has shape {shape}; a matrix [rows, dims] is needed")]
    NotAMatrix {
        /// The file, and the member where there is one.
        file: String,
        /// The shape.
        shape: String,
        /// Whether a layer of it would be a matrix.
        layers: bool,
    },
    /// A member that the file does not have, or none chosen among several.
    #[error("{file}: {}", no_member(wanted.as_deref(), members))]
    Member {
        /// The file.
        file: String,
        /// The member asked for, where one was.
        wanted: Option<String>,
        /// The members, each with its shape and type.
        members: Vec<String>,
    },
    /// A layer beyond the last.
    #[error("{file}: there is no layer {layer} (from 0): the array has {layers}")]
    Layer {
        /// The file, and the member where there is one.
        file: String,
        /// The layer asked for.
        layer: usize,
        /// Layers of the array.
        layers: usize,
    },
    /// Something else in the place of a layer.
    #[error("{file}: '{given}' is not a layer: a number from 0, or *")]
    NotALayer {
        /// The file.
        file: String,
        /// What was given.
        given: String,
    },
    /// A layer of an array that has none.
    #[error("{file}: the array has shape {shape} and so no layers, but one was asked for")]
    NoLayers {
        /// The file, and the member where there is one.
        file: String,
        /// The shape.
        shape: String,
    },
    /// More layers than `*` may stand for.
    #[error("{file}: * stands for at most {most} layers, but the array has {layers}")]
    TooManyLayers {
        /// The file, and the member where there is one.
        file: String,
        /// Layers of the array.
        layers: usize,
        /// The most that are opened at once.
        most: usize,
    },
    /// A part of the argument that the format has no use for.
    #[error("{file}: {format} files have no {part}, but '{given}' was asked for")]
    NoSuchPart {
        /// The file.
        file: String,
        /// The file's format.
        format: crate::Format,
        /// Members or layers.
        part: &'static str,
        /// What was asked for.
        given: String,
    },
    /// Rows beyond the last.
    #[error("{file}: rows {start}..{end} were asked for, but there are {n}")]
    RowRange {
        /// The file, and the member where there is one.
        file: String,
        /// First row asked for.
        start: usize,
        /// Row after the last one asked for.
        end: usize,
        /// Rows of the matrix.
        n: usize,
    },
    /// Data that must be unpacked or parsed and does not fit the budget.
    #[error("{file}: needs {needed} bytes of memory {need}, but {budget} are left of the budget")]
    OverBudget {
        /// The file, and the member where there is one.
        file: String,
        /// Bytes needed.
        needed: u64,
        /// What for.
        need: Need,
        /// Bytes allowed.
        budget: u64,
    },
    /// A value is NaN or infinite.
    #[error("{file}: row {row}, column {column} (both from 0) is {value}")]
    NonFinite {
        /// The file, and the member where there is one.
        file: String,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value.
        value: f32,
    },
    /// A finite value is larger than any f32.
    #[error("{file}: row {row}, column {column} (both from 0) is {value}, beyond the range of f32")]
    BeyondF32 {
        /// The file, and the member where there is one.
        file: String,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value, as text has it or in scientific notation.
        value: String,
    },
    /// A text of names or of ratings that cannot be used.
    #[error("{}: {fault}", path.display())]
    Text {
        /// The text.
        path: PathBuf,
        /// What is wrong.
        fault: crate::TextFault,
    },
    /// As many labels as rows are needed.
    #[error("{}: {lines} lines of labels for {rows} rows of {file}", path.display())]
    LabelCount {
        /// The file of labels.
        path: PathBuf,
        /// Its lines.
        lines: usize,
        /// Rows of the matrix.
        rows: usize,
        /// The matrix.
        file: String,
    },
    /// A line of labels that is not UTF-8.
    #[error("{}: line {line} is not UTF-8", path.display())]
    LabelText {
        /// The file of labels.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line without a label.
    #[error("{}: line {line} has no label", path.display())]
    EmptyLabel {
        /// The file of labels.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl StoreError {
    /// The sort of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::CannotOpen { .. } | Self::NotAFile { .. } | Self::NoParts { .. } | Self::ListEntry { .. } => {
                ErrorKind::CannotOpen
            }
            Self::Changed { .. } => ErrorKind::Changed,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Member { .. }
            | Self::Layer { .. }
            | Self::NotALayer { .. }
            | Self::NoLayers { .. }
            | Self::TooManyLayers { .. }
            | Self::NoSuchPart { .. }
            | Self::NotAMatrix { layers: true, .. }
            | Self::RowRange { .. }
            | Self::Text {
                fault:
                    TextFault::NoHeader { .. }
                    | TextFault::NoColumn { .. }
                    | TextFault::SameHeading { .. }
                    | TextFault::SeveralColumns { .. },
                ..
            } => ErrorKind::Usage,
            _ => ErrorKind::BadData,
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Changed { .. } => "run again when nobody writes to it; --io read copies files into memory first",
            Self::NotAFile { kind: "a directory", .. } => "a folder of parts holds files only",
            Self::Foreign { hint, .. } => hint,
            Self::NoParts { .. } => "name a file, a folder of part files, or with @LIST a text file that lists them",
            Self::TooManyParts { .. } => {
                "join them into fewer files: mnno convert reads several folders or lists one by one"
            }
            Self::ListEntry { .. } => "each line of a list is the path of a file, seen from the folder of the list",
            Self::ListText { .. } => "@ stands before a text file that names a part per line",
            Self::Part { .. } => "parts have equal columns and types; @LIST names a text file that lists those to read",
            Self::NotAFile { .. } => "write the data to a file first: it is read more than once",
            Self::UnknownFormat { looks_like: Some(other), .. } => {
                return Some(format!("it has the size of {other} data: try --format {other}"));
            }
            Self::UnknownFormat { .. } => {
                let names = crate::format::names();
                return Some(format!("name the format with --format {names}; a list of part files is given as @LIST"));
            }
            Self::Malformed { looks_like: Some(Format::Glove), .. } => {
                "there is no line of counts, as in GloVe files: try --format glove"
            }
            Self::Malformed { looks_like: Some(other), .. } | Self::Length { looks_like: Some(other), .. } => {
                return Some(format!("it has the size of {other} data: try --format {other}"));
            }
            Self::Malformed { fault, .. } => return fault.hint().map(str::to_owned),
            Self::Text { fault, .. } => return fault.hint().map(str::to_owned),
            Self::Length { declared, available, .. } if declared > available => {
                "the file is incomplete or its header is wrong: copy or export it again"
            }
            Self::Length { .. } => "the header is wrong, or something was appended: export it again",
            Self::ElementKind { what: "Python objects", .. } => {
                "they are pickled, and mnno never unpickles; save them as numbers: np.save(path, x.astype('float32'))"
            }
            Self::ElementKind { .. } => "save it as real numbers, as with x.astype('float32')",
            Self::NoLayers { .. } => "leave the layer out",
            Self::NotAMatrix { layers: true, .. } => {
                "choose a layer of [rows, layers, dims] with ::0 behind the path, or ::* for all of them"
            }
            Self::NotAMatrix { .. } => "reshape it to [rows, dims]",
            Self::Member { members, .. } if members.is_empty() => return None,
            Self::Member { .. } => "choose a member with ::NAME behind the path",
            Self::OverBudget { need, .. } => need.hint(),
            Self::NonFinite { .. } => "remove or replace such rows; 'mnno inspect' counts them and shows the first",
            Self::BeyondF32 { .. } => "rescale the values: mnno computes on f32",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// The operating system's words without the number that Rust adds.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// A file's own words in a message: short, on one line, and without a terminal's control characters.
pub(crate) fn shown(text: &str) -> String {
    shortened(text, 40)
}

/// As [`shown`], of the first characters of bytes that may be no text and may go on for long.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    const ENOUGH: usize = 256;
    shown(String::from_utf8_lossy(&bytes[..bytes.len().min(ENOUGH)]).trim())
}

/// As [`shown`], up to a number of characters.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let escaped = |c: char| if c == '\'' || c == '"' { c.to_string() } else { c.escape_debug().to_string() };
    let mut shown: String = text.chars().take(longest).map(escaped).collect();
    if text.chars().nth(longest).is_some() {
        shown.push_str("..");
    }
    shown
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn difference(declared: u64, available: u64) -> String {
    if declared > available {
        format!("{} short", declared - available)
    } else {
        format!("{} extra", available - declared)
    }
}

fn no_member(wanted: Option<&str>, members: &[String]) -> String {
    const SHOWN: usize = 20;
    if members.is_empty() {
        return "it holds no arrays".to_owned();
    }
    let problem =
        wanted.map_or_else(|| "no member was chosen".to_owned(), |name| format!("there is no member '{name}'"));
    let list = members.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = members.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{problem}; it holds {list}{more}")
}
