//! Why a result cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::plain;

/// Why a result cannot be written. Each message is one line that begins with the output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The folder that should hold the output is not there.
    #[error("{}: the folder {} does not exist", path.display(), folder.display())]
    MissingFolder {
        /// The output.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The path names a folder.
    #[error("{}: an output needs the name of a file, and this is a folder", path.display())]
    Folder {
        /// The output.
        path: PathBuf,
    },
    /// The path names a device, a pipe or a socket, which a rename would replace.
    #[error("{}: this is a device, a pipe or a socket, not a file", path.display())]
    Special {
        /// The output.
        path: PathBuf,
    },
    /// The path is a symbolic link that leads nowhere.
    #[error("{}: the symbolic link cannot be followed: {}", path.display(), plain(source))]
    BrokenLink {
        /// The output.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file exists and is write-protected. A rename would replace it all the same, so it is refused here.
    #[error("{}: the file exists and is write-protected", path.display())]
    ReadOnly {
        /// The output.
        path: PathBuf,
    },
    /// The folder does not take new files.
    #[error("{}: {}", path.display(), plain(source))]
    Denied {
        /// The output.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The disk or the quota is used up.
    #[error("{}: {}", path.display(), plain(source))]
    DiskFull {
        /// The output.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The operating system refuses for another reason.
    #[error("{}: {}", path.display(), plain(source))]
    Io {
        /// The output.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Links make one file of two outputs.
    #[error("{}: this is the same file as the other output, {}", path.display(), other.display())]
    OneFile {
        /// The output.
        path: PathBuf,
        /// The other output.
        other: PathBuf,
    },
    /// No layout of neighbour lists has this extension.
    #[error(
        "{}: the extension names no layout of neighbour lists; there are .npz, .npy (two files: .indices.npy and \
         .scores.npy), .ivecs (with .scores.fvecs), .ibin (with .scores.fbin), and .csv",
        path.display()
    )]
    UnknownLayout {
        /// The output.
        path: PathBuf,
    },
    /// A number does not fit the 32 bits that the layout has for it.
    #[error("{}: {what} {value} is above {largest}, the largest of this layout", path.display())]
    TooLarge {
        /// The output.
        path: PathBuf,
        /// What the number is.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest that fits.
        largest: u64,
    },
    /// A value that the elements of the format cannot hold.
    #[error("{}: row {row}, column {column} (both from 0) is {value:?}, which {element} does not hold", path.display())]
    Value {
        /// The output.
        path: PathBuf,
        /// Row of the matrix.
        row: usize,
        /// Column of the matrix.
        column: usize,
        /// The value.
        value: f32,
        /// The type of the format's elements.
        element: crate::ElementType,
    },
    /// A row name that the format cannot hold.
    #[error("{}: the name of row {row} (from 0), '{name}', {why}", path.display())]
    Name {
        /// The output.
        path: PathBuf,
        /// The row.
        row: usize,
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Two rows of one name, in a format in which names are words.
    #[error("{}: {fault}", path.display())]
    RepeatedName {
        /// The output.
        path: PathBuf,
        /// The rows.
        fault: crate::Fault,
    },
    /// Columns must be gathered in memory, and not even one fits.
    #[error("{}: a column of {n} values needs {needed} bytes of memory, but {budget} are left of the budget", path.display())]
    Memory {
        /// The output.
        path: PathBuf,
        /// Rows of the matrix.
        n: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// The observer asked to give up.
    #[error("interrupted")]
    Interrupted,
    /// A finite score would become infinite in f32.
    #[error("{}: the score {score} of query {query} is outside the range of f32, the type of this layout", path.display())]
    ScoreRange {
        /// The output.
        path: PathBuf,
        /// Row of the list, from 0.
        query: usize,
        /// The score.
        score: f64,
    },
}

impl WriteError {
    /// What the operating system said about writing `path`.
    pub fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Denied { path, source },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path, source },
            _ => Self::Io { path, source },
        }
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingFolder { folder, .. } => Some(format!("create it: mkdir -p '{}'", folder.display())),
            Self::Folder { path } => Some(format!("add a file name, as in {}", path.join("out.npy").display())),
            Self::Special { .. } => {
                Some("outputs are written beside their place and renamed: give the name of a file".to_owned())
            }
            Self::BrokenLink { .. } | Self::OneFile { .. } => {
                Some("remove the link, or give another output".to_owned())
            }
            Self::ReadOnly { .. } => Some("allow writing to it, or give another output".to_owned()),
            Self::Denied { .. } => Some(
                "the folder itself must be writable: outputs are written beside their place and renamed".to_owned(),
            ),
            Self::DiskFull { .. } => {
                Some("free some space, or give an output on another disk; no part of the file was left".to_owned())
            }
            Self::TooLarge { .. } | Self::ScoreRange { .. } => {
                Some("write .npz, .npy or .csv, which have no such limit".to_owned())
            }
            Self::Value { .. } => Some("write a format of f32, such as npy or fbin".to_owned()),
            Self::Name { .. } => Some("csv holds any name".to_owned()),
            Self::RepeatedName { .. } => Some("csv holds repeated names; npy holds none".to_owned()),
            Self::Memory { .. } => Some("raise --memory, or write npy".to_owned()),
            Self::Io { .. } | Self::UnknownLayout { .. } | Self::Interrupted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_that_begins_with_the_output() {
        let path = || PathBuf::from("a/out.bin");
        for error in [
            WriteError::MissingFolder { path: path(), folder: PathBuf::from("a") },
            WriteError::Folder { path: path() },
            WriteError::Special { path: path() },
            WriteError::ReadOnly { path: path() },
            WriteError::UnknownLayout { path: path() },
            WriteError::TooLarge { path: path(), what: "the index", value: 3_000_000_000, largest: 2_147_483_647 },
            WriteError::ScoreRange { path: path(), query: 3, score: 1e39 },
        ] {
            let message = error.to_string();
            assert!(message.starts_with("a/out.bin: ") && !message.contains('\n'), "{message}");
        }
    }
}
