//! What can be wrong with a text that stands beside the vectors: names of rows, ratings of words.

use crate::error::counted;

/// What is wrong with a text of names or ratings; lines count from 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TextFault {
    /// Bytes that are no UTF-8.
    NotUtf8 {
        /// The line.
        line: usize,
    },
    /// Lines that end with a carriage return alone, as on old Macs.
    OldLineEnds,
    /// Neither a line per row, nor one more for the header.
    NameCount {
        /// Lines.
        lines: usize,
        /// Rows of the matrix.
        rows: usize,
        /// The matrix.
        file: String,
    },
    /// A line without a name.
    NoName {
        /// The line.
        line: usize,
    },
    /// A column asked for by its heading, in a text without headings.
    NoHeader {
        /// The heading.
        wanted: String,
    },
    /// No column has the heading asked for.
    NoColumn {
        /// The heading.
        wanted: String,
        /// Those that there are.
        columns: Vec<String>,
    },
    /// Several columns have the heading asked for.
    SameHeading {
        /// The heading.
        wanted: String,
    },
    /// Several columns of ratings, and none chosen.
    SeveralColumns {
        /// Their headings, or numbers from 1.
        columns: Vec<String>,
    },
    /// No pair of words in the whole text.
    NoRatings,
    /// Fewer cells than two words and a rating.
    TooFewCells {
        /// The line.
        line: usize,
        /// Its cells.
        cells: usize,
    },
    /// Another number of cells than in the first line.
    Ragged {
        /// The line.
        line: usize,
        /// Its cells.
        cells: usize,
        /// Cells of the first line.
        expected: usize,
    },
    /// A cell that goes on in the next line: as a rule a quote that is not closed.
    LineBreak {
        /// The line.
        line: usize,
    },
    /// An empty cell in the place of a word, or a cell `word1#word2` without both.
    NoWord {
        /// The line.
        line: usize,
    },
    /// A rating that is no finite number.
    NoNumber {
        /// The line.
        line: usize,
        /// The cell.
        cell: String,
    },
}

impl std::fmt::Display for TextFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotUtf8 { line } => write!(f, "line {line} is not UTF-8"),
            Self::OldLineEnds => f.write_str("its lines end with a carriage return alone"),
            Self::NameCount { lines, rows, file } => {
                write!(f, "{} of names for {} of {file}", counted(*lines as u64, "line"), counted(*rows as u64, "row"))
            }
            Self::NoName { line } => write!(f, "line {line} has no name"),
            Self::NoHeader { wanted } => {
                write!(f, "column '{wanted}' was asked for, but there are as many lines as rows, so none is a header")
            }
            Self::NoColumn { wanted, columns } => {
                write!(f, "there is no column '{wanted}'; it has {}", columns.join(", "))
            }
            Self::SameHeading { wanted } => write!(f, "several columns have the heading '{wanted}'"),
            Self::SeveralColumns { columns } => {
                write!(f, "there are several columns of ratings, and none was chosen: {}", columns.join(", "))
            }
            Self::NoRatings => f.write_str("there are no ratings in it"),
            Self::TooFewCells { line, cells } => {
                write!(f, "line {line} has {}: two words and a rating are needed", counted(*cells as u64, "cell"))
            }
            Self::Ragged { line, cells, expected } => {
                write!(f, "line {line} has {}, but the first line has {expected}", counted(*cells as u64, "cell"))
            }
            Self::LineBreak { line } => write!(f, "line {line}: a cell in quotes goes on in the next line"),
            Self::NoWord { line } => write!(f, "line {line} does not begin with two words"),
            Self::NoNumber { line, cell } => write!(f, "line {line}: the rating '{cell}' is not a finite number"),
        }
    }
}

impl TextFault {
    pub(crate) fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NameCount { .. } => {
                "names need a line per row, in the order of the rows, and at most a header above them"
            }
            Self::NoHeader { .. } => "leave the column out, or put a header above the names",
            Self::NoColumn { .. } | Self::SeveralColumns { .. } => "choose a column with ::COLUMN behind the path",
            Self::SameHeading { .. } => "give them headings that differ",
            Self::Ragged { .. } => {
                "every line needs as many cells as the first; a cell with a comma is written in quotes"
            }
            Self::NoRatings | Self::TooFewCells { .. } | Self::NoWord { .. } => {
                "a line is word1 word2 rating, or word1#word2 rating, separated by tabs, commas or blanks"
            }
            Self::NoNumber { .. } => "leave out pairs without a rating; decimals are written with a point",
            Self::OldLineEnds => "save it with line feeds, or with both, at the ends of lines",
            Self::LineBreak { .. } => "close the quotes, or write a quote that is part of a cell twice, within quotes",
            Self::NotUtf8 { .. } | Self::NoName { .. } => return None,
        })
    }
}
