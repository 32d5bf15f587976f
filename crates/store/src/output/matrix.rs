//! Vectors in any of the input formats, written block by block.
//!
//! Values are f32, and read back as the same f32: text has the shortest digits that do, and formats of integers take
//! nothing but the integers that they hold. Names are kept where the format has a place for them; words, which some formats
//! must have, are the row numbers where there are no names.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mnno_exact::{Observer, Rows};

use super::arrays::npy_header;
use super::npz::write_npz;
use super::{AtomicFile, Prepared, WriteError, Written, mat};
use crate::error::shown;
use crate::format::table::refuse_repeated;
use crate::format::word2vec_binary::LONGEST_WORD;
use crate::{ElementType, Format};

/// The name of the vectors in files whose arrays have names.
const NAME: &str = "vectors";
/// Values read at a time.
const BLOCK_VALUES: usize = 1 << 18;
/// Columns are gathered in memory up to this size, beyond which more passes cost little.
const LARGEST_GATHER: u64 = 256 << 20;

/// Vectors to write.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// The vectors, `[n, d]`.
    pub rows: &'a dyn Rows,
    /// Their names, `[n]`.
    pub names: Option<&'a [String]>,
}

impl Format {
    /// Whether a file of this format has a place for the names of its rows.
    pub fn holds_names(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Glove | Self::Word2vec | Self::Word2vecBinary)
    }

    /// Whether a file of this format cannot be without names.
    pub fn needs_names(self) -> bool {
        matches!(self, Self::Glove | Self::Word2vec | Self::Word2vecBinary)
    }

    /// The elements that it is written with, each row of them or the whole.
    fn written_as(self) -> ElementType {
        match self {
            Self::Bvecs | Self::U8bin => ElementType::U8,
            Self::I8bin => ElementType::I8,
            Self::Ivecs | Self::Ibin => ElementType::I32,
            _ => ElementType::F32,
        }
    }
}

/// Writes `vectors` in `format` beside `path`; [`Prepared::publish`] puts the file into place. Takes up to `memory` bytes,
/// much less in most formats. The same vectors give the same bytes. The observer is told of rows.
///
/// # Errors
/// [`WriteError`] if the format cannot hold a value, a name or the shape, if the file cannot be written, or if the observer
/// cancels.
///
/// # Panics
/// If names are given and are not `[n]`.
///
/// # Examples
/// ```
/// use mnno_exact::SliceRows;
/// use mnno_store::output::{Vectors, prepare_matrix};
/// use mnno_store::{Format, OpenOptions, open};
/// let path = tempfile::tempdir()?.keep().join("out.vec");
/// let names = ["cat", "dog"].map(str::to_owned);
/// let vectors = Vectors { rows: &SliceRows::new(&[1.0, 0.5, -2.0, 0.1], 2), names: Some(&names) };
/// prepare_matrix(vectors, Format::Word2vec, &path, 1 << 20, &())?.publish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "2 2\ncat 1.0 0.5\ndog -2.0 0.1\n");
/// assert_eq!(open(path.to_str().unwrap(), &OpenOptions::default())?[0].names(), Some(&names[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare_matrix(
    vectors: Vectors<'_>,
    format: Format,
    path: &Path,
    memory: u64,
    observer: &dyn Observer,
) -> Result<Prepared, WriteError> {
    let (n, d) = (vectors.rows.n(), vectors.rows.d());
    assert!(vectors.names.is_none_or(|names| names.len() == n), "names are [n]");
    let job = Job { vectors, format, path, memory, observer };
    job.check_shape()?;
    job.check_names()?;
    let mut file = AtomicFile::create(path)?;
    job.write(&mut file).map_err(|stop| match stop {
        Stop::Write(error) => error,
        Stop::Io(source) => WriteError::io(path, source),
    })?;
    file.sync()?;
    let columns = d + usize::from(matches!(format, Format::Csv | Format::Tsv) && vectors.names.is_some());
    let dtype = match format {
        Format::Csv | Format::Tsv | Format::Glove | Format::Word2vec => "text",
        _ => format.written_as().name(),
    };
    let what = if columns > d { "names and vectors" } else { "vectors" };
    Ok(Prepared::new(vec![file], vec![Written { path: path.to_owned(), what, shape: vec![n, columns], dtype }]))
}

/// Why writing stops.
enum Stop {
    Write(WriteError),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[derive(Clone, Copy)]
struct Job<'a> {
    vectors: Vectors<'a>,
    format: Format,
    path: &'a Path,
    memory: u64,
    observer: &'a dyn Observer,
}

impl Job<'_> {
    fn path(&self) -> PathBuf {
        self.path.to_owned()
    }

    fn check_shape(&self) -> Result<(), WriteError> {
        let largest = match self.format {
            Format::Fvecs | Format::Bvecs | Format::Ivecs => [u64::MAX, i32::MAX as u64],
            Format::Fbin | Format::U8bin | Format::I8bin | Format::Ibin => [u64::from(u32::MAX); 2],
            _ => return Ok(()),
        };
        let shape = [self.vectors.rows.n(), self.vectors.rows.d()].map(|axis| axis as u64);
        let counted = ["the number of rows", "the number of columns"].into_iter().zip(shape).zip(largest);
        for ((what, value), largest) in counted {
            if value > largest {
                return Err(WriteError::TooLarge { path: self.path(), what, value, largest });
            }
        }
        Ok(())
    }

    /// Names must come back as they were, and words must be different.
    fn check_names(&self) -> Result<(), WriteError> {
        let Some(names) = self.vectors.names else { return Ok(()) };
        let separators: &[u8] = match self.format {
            Format::Tsv => b"\t\n\r",
            format if format.needs_names() => b" \t\n\r\x0b\x0c",
            _ => return Ok(()),
        };
        let bad = |row: usize, why| WriteError::Name { path: self.path(), row, name: shown(&names[row]), why };
        for (row, name) in names.iter().enumerate() {
            if name.bytes().any(|b| separators.contains(&b)) {
                return Err(bad(row, "holds a blank, a tab or a line break, which ends names in this format"));
            }
            if self.format == Format::Word2vecBinary && name.len() >= LONGEST_WORD {
                return Err(bad(row, "is longer than words in this format can be"));
            }
            if self.format.needs_names() && name.is_empty() {
                return Err(bad(row, "is empty, and each row needs a word in this format"));
            }
        }
        if self.format == Format::Glove && names.first().is_some_and(|name| name.starts_with('\u{feff}')) {
            return Err(bad(0, "begins with a byte order mark, which would be taken for that of the file"));
        }
        if self.format.needs_names() {
            let repeated = refuse_repeated(names, "row", 0);
            repeated.map_err(|fault| WriteError::RepeatedName { path: self.path(), fault })?;
        }
        Ok(())
    }

    /// Visits the rows in order.
    fn each_row(&self, mut visit: impl FnMut(usize, &[f32]) -> Result<(), Stop>) -> Result<(), Stop> {
        let rows = self.vectors.rows;
        let step = (BLOCK_VALUES / rows.d().max(1)).max(1);
        let mut scratch = Vec::new();
        for start in (0..rows.n()).step_by(step) {
            if self.observer.cancelled() {
                return Err(Stop::Write(WriteError::Interrupted));
            }
            let end = (start + step).min(rows.n());
            rows.prefetch(end..end.saturating_add(step).min(rows.n()));
            let block = rows.block(start..end, &mut scratch);
            for i in start..end {
                visit(i, block.row(i - start))?;
            }
            self.observer.progress(end as u64, rows.n() as u64);
        }
        Ok(())
    }

    fn write(&self, out: &mut AtomicFile) -> Result<(), Stop> {
        let (n, d) = (self.vectors.rows.n(), self.vectors.rows.d());
        match self.format {
            Format::Npy => {
                out.write_all(&npy_header::<f32>(n, d))?;
                self.write_elements(out, false)
            }
            Format::Npz => write_npz(out, &[(NAME, 4 * n as u64 * d as u64)], |_, mut out| {
                out.write_all(&npy_header::<f32>(n, d))?;
                self.write_elements(&mut out, false)
            }),
            Format::Safetensors => {
                let end = 4 * n as u64 * d as u64;
                let json = format!(r#"{{"{NAME}":{{"dtype":"F32","shape":[{n},{d}],"data_offsets":[0,{end}]}}}}"#);
                let padded = json.len().next_multiple_of(8);
                out.write_all(&(padded as u64).to_le_bytes())?;
                write!(out, "{json:<padded$}")?;
                self.write_elements(out, false)
            }
            Format::Fbin | Format::U8bin | Format::I8bin | Format::Ibin => {
                out.write_all(&(n as u32).to_le_bytes())?;
                out.write_all(&(d as u32).to_le_bytes())?;
                self.write_elements(out, false)
            }
            Format::Fvecs | Format::Bvecs | Format::Ivecs => self.write_elements(out, true),
            Format::Csv | Format::Tsv | Format::Glove | Format::Word2vec => self.write_text(out),
            Format::Word2vecBinary => {
                writeln!(out, "{n} {d}")?;
                self.each_row(|i, row| {
                    write!(out, "{} ", self.word(i))?;
                    write_f32(out, row)?;
                    Ok(out.write_all(b"\n")?)
                })
            }
            Format::Mat => self.write_mat(out),
        }
    }

    /// The rows as elements of the format's type, each row behind its dimension if asked for.
    fn write_elements(&self, out: &mut impl Write, dimension: bool) -> Result<(), Stop> {
        let element = self.format.written_as();
        let d = self.vectors.rows.d() as u32;
        self.each_row(|row, values| {
            if dimension {
                out.write_all(&d.to_le_bytes())?;
            }
            if element == ElementType::F32 {
                return Ok(write_f32(out, values)?);
            }
            for (column, &value) in values.iter().enumerate() {
                let Some(integer) = exact_integer(value, element) else {
                    return Err(Stop::Write(WriteError::Value { path: self.path(), row, column, value, element }));
                };
                out.write_all(&integer.to_le_bytes()[..element.size()])?;
            }
            Ok(())
        })
    }

    fn word(&self, row: usize) -> String {
        self.vectors.names.map_or_else(|| row.to_string(), |names| names[row].clone())
    }

    fn write_text(&self, out: &mut AtomicFile) -> Result<(), Stop> {
        let (n, d) = (self.vectors.rows.n(), self.vectors.rows.d());
        let separator = match self.format {
            Format::Csv => ',',
            Format::Tsv => '\t',
            _ => ' ',
        };
        let named = self.vectors.names.is_some() || self.format.needs_names();
        match self.format {
            Format::Word2vec => writeln!(out, "{n} {d}")?,
            // Column numbers under a heading of names are a header, whatever the names are.
            Format::Csv | Format::Tsv if named => {
                write!(out, "name")?;
                (0..d).try_for_each(|column| write!(out, "{separator}{column}"))?;
                writeln!(out)?;
            }
            _ => {}
        }
        self.each_row(|i, row| {
            if named {
                let word = self.word(i);
                let cell = if self.format == Format::Csv { quoted(&word) } else { word };
                write!(out, "{cell}")?;
            }
            for (column, value) in row.iter().enumerate() {
                if named || column > 0 {
                    write!(out, "{separator}")?;
                }
                // The shortest digits that read back the same, always with a point or an exponent.
                write!(out, "{value:?}")?;
            }
            Ok(writeln!(out)?)
        })
    }

    /// Column by column, as many columns at a time as memory holds.
    fn write_mat(&self, out: &mut AtomicFile) -> Result<(), Stop> {
        let (n, d) = (self.vectors.rows.n(), self.vectors.rows.d());
        let Some((header, padding)) = mat::header(NAME, n, d) else {
            let value = (n as u64).saturating_mul(d as u64).saturating_mul(4);
            let (what, largest) = ("the number of bytes", i32::MAX as u64);
            return Err(Stop::Write(WriteError::TooLarge { path: self.path(), what, value, largest }));
        };
        out.write_all(&header)?;
        let column = 4 * n as u64;
        if column > self.memory {
            let (path, needed, budget) = (self.path(), column, self.memory);
            return Err(Stop::Write(WriteError::Memory { path, n, needed, budget }));
        }
        let at_once = (self.memory.min(LARGEST_GATHER.max(column)) / column.max(1)).clamp(1, d.max(1) as u64) as usize;
        let mut gathered = vec![0.0; n * at_once];
        for first in (0..d).step_by(at_once) {
            let columns = at_once.min(d - first);
            self.each_row(|i, row| {
                for (column, &value) in row[first..first + columns].iter().enumerate() {
                    gathered[column * n + i] = value;
                }
                Ok(())
            })?;
            write_f32(out, &gathered[..columns * n])?;
        }
        Ok(out.write_all(&[0; 8][..padding])?)
    }
}

/// Values as the formats hold them, little-endian.
fn write_f32(out: &mut impl Write, values: &[f32]) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(values));
    }
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// The value as an integer of the type, if it is one; -0 is not, since it would come back as 0.
fn exact_integer(value: f32, element: ElementType) -> Option<i64> {
    let integer = value as i64;
    let range = match element {
        ElementType::U8 => 0..=255,
        ElementType::I8 => -128..=127,
        _ => i64::from(i32::MIN)..=i64::from(i32::MAX),
    };
    (range.contains(&integer) && (integer as f32).to_bits() == value.to_bits()).then_some(integer)
}

/// A cell of CSV that may hold anything.
fn quoted(cell: &str) -> String {
    if cell.is_empty() || cell.contains([',', '"', '\n', '\r', ';', '\t']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
