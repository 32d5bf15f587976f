//! A matrix of a file, read as f32 rows.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use mnno_exact::{RowBlock, Rows};

use crate::bytes::Source;
use crate::fingerprint::Fingerprint;
use crate::layout::Layout;
use crate::widen::widen;
use crate::{ElementType, Format, StoreError};

/// Where the bytes of a matrix are.
#[derive(Debug)]
pub(crate) enum Storage {
    /// In the file, in place.
    InFile,
    /// Unpacked from a compressed member.
    Unpacked(Vec<u8>),
    /// Parsed from text.
    Parsed(Vec<f32>),
}

/// An array of a file and all that its matrices share.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) source: Arc<Source>,
    pub(crate) storage: Storage,
    pub(crate) format: Format,
    /// The file, and the member where there is one.
    pub(crate) name: String,
    pub(crate) member: Option<String>,
    /// Names of all rows.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) fortran: bool,
    pub(crate) fingerprint: OnceLock<Fingerprint>,
}

/// How the values of a matrix are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// In place: the map (or the copy in memory) is the matrix.
    View,
    /// From the map, converted to f32 block by block as they are used.
    ConvertedPerBlock,
    /// Unpacked or parsed into memory.
    InMemory,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::View => "used in place",
            Self::ConvertedPerBlock => "converted block by block",
            Self::InMemory => "unpacked into memory",
        })
    }
}

/// How the elements of an array follow each other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row by row.
    RowMajor,
    /// Column by column (Fortran).
    ColumnMajor,
    /// A layer of an array `[n, layers, d]`.
    Layer(usize),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowMajor => f.write_str("row-major"),
            Self::ColumnMajor => f.write_str("column-major"),
            Self::Layer(layer) => write!(f, "layer {layer}"),
        }
    }
}

/// A matrix `[n, d]` of a file. Implements [`Rows`]; cheap to clone.
///
/// Values are f32: other types are converted when they are read, always to the same f32 (f16 and the integers up to 16
/// bits exactly, f64 and wider integers rounded to nearest even). Row numbers count from the start of the range chosen
/// with `--rows`, except in error messages, which count from the start of the file.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub(crate) array: Arc<Array>,
    pub(crate) layout: Layout,
    pub(crate) layer: Option<usize>,
    pub(crate) first_row: usize,
    pub(crate) display_name: String,
    pub(crate) labels: Option<Arc<[Vec<String>]>>,
}

impl Matrix {
    /// The file.
    pub fn path(&self) -> &Path {
        self.array.source.path()
    }

    /// The member of the file that holds it, where the format has members.
    pub fn member(&self) -> Option<&str> {
        self.array.member.as_deref()
    }

    /// The layer of an array `[n, layers, d]` that it is.
    pub fn layer(&self) -> Option<usize> {
        self.layer
    }

    /// Number of rows, of the chosen range.
    pub fn n(&self) -> usize {
        self.layout.n
    }

    /// Number of columns (dimensions).
    pub fn d(&self) -> usize {
        self.layout.d
    }

    /// The argument that named this matrix, with its own layer where all were asked for.
    pub fn display_name(&self) -> &str {
        &self.display_name
    }

    /// The format it was read as.
    pub fn format(&self) -> Format {
        self.array.format
    }

    /// The type of the elements in the file; text counts as f32.
    pub fn element(&self) -> ElementType {
        self.layout.element
    }

    /// How the elements follow each other in the file.
    pub fn order(&self) -> Order {
        match self.layer {
            Some(layer) => Order::Layer(layer),
            None if self.array.fortran => Order::ColumnMajor,
            None => Order::RowMajor,
        }
    }

    /// How the values are reached.
    pub fn access(&self) -> Access {
        match (&self.array.storage, self.view()) {
            (Storage::InFile, Some(_)) => Access::View,
            (Storage::InFile, None) => Access::ConvertedPerBlock,
            _ => Access::InMemory,
        }
    }

    /// Whether the file is mapped, and not copied into memory.
    pub fn is_mapped(&self) -> bool {
        self.array.source.is_mapped()
    }

    /// The names of the rows, `[n]`, where the file has them.
    pub fn names(&self) -> Option<&[String]> {
        let names = self.array.names.as_ref()?;
        Some(&names[self.first_row..self.first_row + self.layout.n])
    }

    /// The labels of the rows, `[n]`, where a file of labels was given.
    pub fn labels(&self) -> Option<&[Vec<String>]> {
        self.labels.as_deref()
    }

    /// Where the chosen range of rows begins in the file.
    pub fn rows_offset(&self) -> usize {
        self.first_row
    }

    /// A hash of the file's content, computed once.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.array.fingerprint.get_or_init(|| Fingerprint::of(self.array.source.bytes()))
    }

    /// Checks that the file is still the one that was opened; to be asked before a result is published.
    ///
    /// # Errors
    /// [`StoreError::Changed`].
    pub fn verify_unchanged(&self) -> Result<(), StoreError> {
        self.array.source.verify_unchanged()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.array.storage {
            Storage::InFile => self.array.source.bytes(),
            Storage::Unpacked(bytes) => bytes,
            Storage::Parsed(values) => bytemuck::cast_slice(values),
        }
    }

    /// The matrix as f32 in place: values and row stride in values, if it can be had so.
    fn view(&self) -> Option<(&[f32], usize)> {
        let Layout { n, d, offset, row_stride, .. } = self.layout;
        if !self.layout.is_plain_f32() {
            return None;
        }
        let length = n.checked_sub(1).map_or(0, |last| last * row_stride + 4 * d);
        let values = bytemuck::try_cast_slice(&self.bytes()[offset..offset + length]).ok()?;
        Some((values, row_stride / 4))
    }
}

impl Rows for Matrix {
    fn n(&self) -> usize {
        self.layout.n
    }

    fn d(&self) -> usize {
        self.layout.d
    }

    fn block<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> RowBlock<'a> {
        let (n, d) = (self.layout.n, self.layout.d);
        assert!(rows.start <= rows.end && rows.end <= n, "rows {rows:?} of {n}");
        if let Some((values, stride)) = self.view() {
            let stride = stride.max(d);
            let values = &values[(rows.start * stride).min(values.len())..];
            return RowBlock::new(values, rows.len(), d, stride);
        }
        scratch.clear();
        scratch.reserve(rows.len() * d);
        widen(self.bytes(), &self.layout.rows(rows.start, rows.end), scratch);
        RowBlock::new(scratch, rows.len(), d, d)
    }
}
