//! A matrix of a file, read as f32 rows.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mnno_exact::{RowBlock, Rows};

use crate::bytes::Source;
use crate::fingerprint::Fingerprint;
use crate::labels::Labels;
use crate::layout::Layout;
use crate::scattered::Scattered;
use crate::widen::{Raw, raw, widen};
use crate::{ElementType, Format, StoreError};

/// Where the values of an array are.
#[derive(Debug, Default)]
pub(crate) enum Storage {
    /// In the file, in place.
    #[default]
    InFile,
    /// Unpacked from a compressed member.
    Unpacked(Vec<u8>),
    /// Parsed from text.
    Parsed(Vec<f32>),
    /// In the file, row by row at uneven distances.
    Scattered(Scattered),
}

/// An array of a file and all that its matrices share.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) source: Source,
    pub(crate) storage: Storage,
    pub(crate) format: Format,
    /// The file, and the member where there is one.
    pub(crate) name: String,
    pub(crate) member: Option<String>,
    pub(crate) fortran: bool,
}

impl Array {
    /// Bytes of memory that it takes.
    pub(crate) fn held(&self) -> u64 {
        let storage = match &self.storage {
            Storage::InFile => 0,
            Storage::Unpacked(bytes) => bytes.len(),
            Storage::Parsed(values) => 4 * values.len(),
            Storage::Scattered(scattered) => 8 * scattered.starts.len(),
        };
        self.source.held() + storage as u64
    }

    fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::InFile | Storage::Scattered(_) => self.source.bytes(),
            Storage::Unpacked(bytes) => bytes,
            Storage::Parsed(values) => bytemuck::cast_slice(values),
        }
    }
}

/// A run of rows of one file.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) array: Arc<Array>,
    /// Of the chosen rows.
    pub(crate) layout: Layout,
    /// Rows of the file before the chosen ones.
    pub(crate) skipped: usize,
    /// The row of the matrix that the first chosen one is.
    pub(crate) start: usize,
}

impl Part {
    /// The rows as f32 in place: values and row stride in values, if they can be had so.
    fn view(&self) -> Option<(&[f32], usize)> {
        let Layout { n, d, offset, row_stride, .. } = self.layout;
        if !self.layout.is_plain_f32() || matches!(self.array.storage, Storage::Scattered(_)) {
            return None;
        }
        let length = n.checked_sub(1).map_or(0, |last| last * row_stride + 4 * d);
        let values = bytemuck::try_cast_slice(&self.array.bytes()[offset..offset + length]).ok()?;
        Some((values, (row_stride / 4).max(d)))
    }

    /// Appends rows `rows`, counted from the first chosen one, to `out`.
    fn read(&self, rows: Range<usize>, out: &mut Vec<f32>) {
        let bytes = self.array.bytes();
        match &self.array.storage {
            Storage::Scattered(scattered) => {
                scattered.read(bytes, self.skipped + rows.start..self.skipped + rows.end, self.layout.d, out);
            }
            _ => widen(bytes, &self.layout.rows(rows.start, rows.end), out),
        }
    }

    /// The value at (`row`, `column`) as the file has it; not for scattered rows.
    pub(crate) fn raw(&self, row: usize, column: usize) -> Raw {
        raw(self.array.bytes(), &self.layout, row, column)
    }

    fn access(&self) -> Access {
        match (&self.array.storage, self.view()) {
            (Storage::InFile, Some(_)) => Access::View,
            (Storage::Unpacked(_) | Storage::Parsed(_), _) => Access::InMemory,
            (Storage::InFile | Storage::Scattered(_), _) => Access::ConvertedPerBlock,
        }
    }
}

/// How the values of a matrix are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// In place: the map (or the copy in memory) is the matrix.
    View,
    /// From the file, converted to f32 block by block as they are used.
    ConvertedPerBlock,
    /// Unpacked or parsed, and held in memory.
    InMemory,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::View => "used in place",
            Self::ConvertedPerBlock => "converted block by block",
            Self::InMemory => "held in memory",
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

/// A matrix `[n, d]` of a file, or of several that follow each other. Implements [`Rows`]; cheap to clone.
///
/// Values are f32: other types are converted when they are read, always to the same f32 (f16, bf16 and the integers up to
/// 16 bits exactly, f64 and wider integers rounded to nearest even). Row numbers count from the start of the range chosen
/// with `--rows`, except in error messages, which count from the start of the file.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// At least one.
    pub(crate) parts: Arc<[Part]>,
    pub(crate) n: usize,
    pub(crate) layer: Option<usize>,
    pub(crate) first_row: usize,
    pub(crate) path: PathBuf,
    pub(crate) display_name: String,
    /// Of all rows, those outside the chosen range included.
    pub(crate) names: Option<Arc<Vec<String>>>,
    pub(crate) remarks: Arc<[String]>,
    pub(crate) labels: Option<Arc<Labels>>,
    pub(crate) held: u64,
    pub(crate) fingerprint: Arc<OnceLock<Fingerprint>>,
}

impl Matrix {
    fn first(&self) -> &Part {
        &self.parts[0]
    }

    /// The file, the folder of parts, or the list of parts.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every file that it is read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.array.source.path())
    }

    /// The member of the file that holds it, where the format has members.
    pub fn member(&self) -> Option<&str> {
        self.first().array.member.as_deref()
    }

    /// The layer of an array `[n, layers, d]` that it is.
    pub fn layer(&self) -> Option<usize> {
        self.layer
    }

    /// Number of rows, of the chosen range.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of columns (dimensions).
    pub fn d(&self) -> usize {
        self.first().layout.d
    }

    /// The argument that named this matrix, with its own layer where all were asked for.
    pub fn display_name(&self) -> &str {
        &self.display_name
    }

    /// The format it was read as; of several files, that of the first.
    pub fn format(&self) -> Format {
        self.first().array.format
    }

    /// The type of the elements in the file; text counts as f32.
    pub fn element(&self) -> ElementType {
        self.first().layout.element
    }

    /// How the elements follow each other in the file.
    pub fn order(&self) -> Order {
        match self.layer {
            Some(layer) => Order::Layer(layer),
            None if self.first().array.fortran => Order::ColumnMajor,
            None => Order::RowMajor,
        }
    }

    /// How the values are reached; of several files in different ways, block by block.
    pub fn access(&self) -> Access {
        let access = self.first().access();
        if self.parts.iter().all(|part| part.access() == access) { access } else { Access::ConvertedPerBlock }
    }

    /// Whether the file is mapped, and not copied into memory.
    pub fn is_mapped(&self) -> bool {
        self.first().array.source.is_mapped()
    }

    /// Bytes of memory that it takes beside the map: what is unpacked or parsed, names and labels. Layers of one array
    /// share them.
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// The names of the rows, `[n]`, where the file has them.
    pub fn names(&self) -> Option<&[String]> {
        let names = self.names.as_ref()?;
        Some(&names[self.first_row..self.first_row + self.n])
    }

    /// What may have been meant otherwise than it was taken, such as a first line of column numbers; each names its file.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The labels of the rows, `[n]`, where a file of labels was given.
    pub fn labels(&self) -> Option<&[Vec<String>]> {
        self.labels.as_ref().map(|labels| &labels.of_rows[..])
    }

    /// The file that the labels are from, and a hash of its content.
    pub fn label_file(&self) -> Option<(&Path, Fingerprint)> {
        self.labels.as_ref().map(|labels| (labels.path.as_path(), labels.fingerprint))
    }

    /// Where the chosen range of rows begins in the file.
    pub fn rows_offset(&self) -> usize {
        self.first_row
    }

    /// A hash of the content of the file, or of all files, computed once.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| {
            let each: Vec<_> = self.parts.iter().map(|part| Fingerprint::of(part.array.source.bytes())).collect();
            Fingerprint::of_all(&each)
        })
    }

    /// The value at (`row`, `column`) if it is a whole number that is known for certain: integers as the file has them, other types
    /// where they tell neighbouring whole numbers apart.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn whole_number(&self, row: usize, column: usize) -> Option<i64> {
        assert!(row < self.n && column < self.d(), "({row}, {column}) of {} x {}", self.n, self.d());
        let (part, i) = self.locate(row);
        let (value, apart) = match &part.array.storage {
            Storage::Scattered(_) => (Raw::Float(self.row(row, &mut Vec::new())[column].into()), 24),
            Storage::InFile | Storage::Unpacked(_) | Storage::Parsed(_) => {
                (part.raw(i, column), if part.layout.element == ElementType::F64 { 53 } else { 24 })
            }
        };
        match value {
            Raw::Signed(v) => Some(v),
            Raw::Unsigned(v) => v.try_into().ok(),
            Raw::Float(v) => (v.fract() == 0.0 && v.abs() < f64::from(apart).exp2()).then_some(v as i64),
        }
    }

    /// Checks that the files are still those that were opened; to be asked before a result is published.
    ///
    /// # Errors
    /// [`StoreError::Changed`].
    pub fn verify_unchanged(&self) -> Result<(), StoreError> {
        self.parts.iter().try_for_each(|part| part.array.source.verify_unchanged())
    }

    /// The part that holds row `i`, and the row's number among the chosen ones of the part.
    pub(crate) fn locate(&self, i: usize) -> (&Part, usize) {
        let part = &self.parts[self.parts.partition_point(|part| part.start + part.layout.n <= i)];
        (part, i - part.start)
    }
}

impl Rows for Matrix {
    fn n(&self) -> usize {
        self.n
    }

    fn d(&self) -> usize {
        Matrix::d(self)
    }

    fn borrowed(&self, i: usize) -> Option<&[f32]> {
        let (part, i) = self.locate(i);
        let (values, stride) = part.view()?;
        Some(&values[i * stride..i * stride + self.d()])
    }

    fn block<'a>(&'a self, rows: Range<usize>, scratch: &'a mut Vec<f32>) -> RowBlock<'a> {
        let d = self.d();
        assert!(rows.start <= rows.end && rows.end <= self.n, "rows {rows:?} of {}", self.n);
        scratch.clear();
        if rows.is_empty() {
            return RowBlock::new(scratch, 0, d, d);
        }
        let (part, first) = self.locate(rows.start);
        if first + rows.len() <= part.layout.n
            && let Some((values, stride)) = part.view()
        {
            return RowBlock::new(&values[(first * stride).min(values.len())..], rows.len(), d, stride);
        }
        scratch.reserve(rows.len() * d);
        let mut next = rows.start;
        while next < rows.end {
            let (part, first) = self.locate(next);
            let count = (part.layout.n - first).min(rows.end - next);
            part.read(first..first + count, scratch);
            next += count;
        }
        RowBlock::new(scratch, rows.len(), d, d)
    }

    fn prefetch(&self, rows: Range<usize>) {
        for part in self.parts.iter() {
            let Layout { n, offset, row_stride, .. } = part.layout;
            let [start, end] = [rows.start, rows.end].map(|row| row.saturating_sub(part.start).min(n));
            let Part { array, layout, .. } = part;
            // Column by column, the rows of a block are everywhere.
            if start < end && matches!(array.storage, Storage::InFile) && row_stride >= layout.d * layout.element.size()
            {
                array
                    .source
                    .prefetch(offset + start * row_stride..offset + (end - 1) * row_stride + layout.column_stride);
            }
        }
    }
}
