//! Neighbour lists as files.
//!
//! | Extension | Files | Indices | Scores |
//! |---|---|---|---|
//! | `.npz` | one, members `indices` and `scores` | i64 | f64 |
//! | `.npy` | `OUT.indices.npy` and `OUT.scores.npy` | i64 | f64 |
//! | `.ivecs` | `OUT.ivecs` and `OUT.scores.fvecs` | i32 | f32 |
//! | `.ibin` | `OUT.ibin` and `OUT.scores.fbin` | i32 | f32 |
//! | `.csv` | one, a line per place | text | text, the shortest that reads back the same |
//!
//! All are `[n, k]`, row-major. A place without a neighbour has index -1, and its score is written as given. A number that
//! the 32 bits of a layout cannot hold is an error; scores are otherwise rounded to f32 there.

use std::io;
use std::path::{Path, PathBuf};

use mnno_exact::NO_NEIGHBOUR;

use super::arrays::{write_bin, write_npy, write_vecs};
use super::npz::write_npz;
use super::{AtomicFile, WriteError, same_file};

/// The largest number in 32-bit layouts.
const LARGEST: u32 = i32::MAX as u32;

/// Neighbour lists to write.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    /// Number of lists.
    pub n: usize,
    /// Places per list.
    pub k: usize,
    /// Base rows, `[n, k]`, nearest first; [`NO_NEIGHBOUR`] where there is none.
    pub indices: &'a [u32],
    /// Scores as they are to be reported, `[n, k]`.
    pub scores: &'a [f64],
    /// Names of the queries, `[n]`. Only CSV has a place for them.
    pub query_names: Option<&'a [String]>,
    /// Names of all base rows. Only CSV has a place for them.
    pub base_names: Option<&'a [String]>,
}

/// A file in its place, or one of the two members of an npz file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// What it holds: `indices`, `scores`, `neighbours` for both, or vectors.
    pub what: &'static str,
    /// Rows and columns.
    pub shape: Vec<usize>,
    /// The type of the elements, or `text`.
    pub dtype: &'static str,
}

/// Complete files on the disk that do not have their names yet; dropped, they leave no trace.
#[derive(Debug)]
pub struct Prepared {
    files: Vec<AtomicFile>,
    written: Vec<Written>,
}

impl Prepared {
    pub(super) fn new(files: Vec<AtomicFile>, written: Vec<Written>) -> Self {
        Self { files, written }
    }

    /// Gives each file its name, in place of what was there.
    ///
    /// # Errors
    /// [`WriteError`] if a rename is refused. Each file is then the old or the new one, never a part; of a pair, the first
    /// may be new already.
    pub fn publish(self) -> Result<Vec<Written>, WriteError> {
        self.files.into_iter().try_for_each(AtomicFile::publish)?;
        Ok(self.written)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Npz,
    Npy,
    Vecs,
    Bin,
    Csv,
}

impl Layout {
    fn of(path: &Path) -> Result<Self, WriteError> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("npz") => Ok(Self::Npz),
            Some("npy") => Ok(Self::Npy),
            Some("ivecs") => Ok(Self::Vecs),
            Some("ibin") => Ok(Self::Bin),
            Some("csv") => Ok(Self::Csv),
            _ if path.is_dir() => Err(WriteError::Folder { path: path.to_owned() }),
            _ => Err(WriteError::UnknownLayout { path: path.to_owned() }),
        }
    }

    fn paths(self, path: &Path) -> Vec<PathBuf> {
        match self {
            Self::Npz | Self::Csv => vec![path.to_owned()],
            Self::Npy => vec![path.with_extension("indices.npy"), path.with_extension("scores.npy")],
            Self::Vecs => vec![path.to_owned(), path.with_extension("scores.fvecs")],
            Self::Bin => vec![path.to_owned(), path.with_extension("scores.fbin")],
        }
    }
}

/// The files that the output name `path` stands for, before any work: a program can compare them with its inputs.
///
/// # Errors
/// [`WriteError::UnknownLayout`], [`WriteError::Folder`] if the name is a folder's, or [`WriteError::OneFile`] if links lead
/// from two of the files to the same.
pub fn list_paths(path: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let paths = Layout::of(path)?.paths(path);
    match &paths[..] {
        [first, second] if same_file(first, second) => {
            Err(WriteError::OneFile { path: first.clone(), other: second.clone() })
        }
        _ => Ok(paths),
    }
}

/// Writes `lists` in the layout that the extension of `path` names, beside the destinations; [`Prepared::publish`] puts
/// the files into place. The same lists give the same bytes.
///
/// # Errors
/// [`WriteError`] if the extension names no layout, a number does not fit the layout, or a file cannot be written.
///
/// # Panics
/// If indices or scores are not `[n, k]`, or a name is missing.
///
/// # Examples
/// ```
/// use mnno_store::output::{Lists, prepare_lists};
/// let folder = tempfile::tempdir()?;
/// let lists = Lists { n: 2, k: 1, indices: &[1, 0], scores: &[0.5, 0.5], query_names: None, base_names: None };
/// let prepared = prepare_lists(&lists, &folder.path().join("out.npy"))?;
/// // ... are the inputs still what they were?
/// let written = prepared.publish()?;
/// assert_eq!(written[0].path, folder.path().join("out.indices.npy"));
/// assert_eq!((written[1].what, written[1].dtype), ("scores", "f64"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare_lists(lists: &Lists<'_>, path: &Path) -> Result<Prepared, WriteError> {
    let &Lists { n, k, indices, scores, query_names, .. } = lists;
    assert_eq!(indices.len(), n * k, "indices are [n, k]");
    assert_eq!(scores.len(), n * k, "scores are [n, k]");
    assert!(query_names.is_none_or(|names| names.len() == n), "query names are [n]");

    let layout = Layout::of(path)?;
    let paths = list_paths(path)?;
    if matches!(layout, Layout::Vecs | Layout::Bin) {
        check_narrow(lists, &paths)?;
    }
    let wide = || indices.iter().map(|&index| wide(index));
    let narrow = || indices.iter().map(|&index| index.cast_signed()); // NO_NEIGHBOUR has the bits of -1
    let rounded = || scores.iter().map(|&score| score as f32);

    let mut files = Vec::with_capacity(paths.len());
    for (which, path) in paths.iter().enumerate() {
        let mut file = AtomicFile::create(path)?;
        let out = &mut file;
        match (layout, which) {
            (Layout::Npz, _) => write_lists_npz(out, lists),
            (Layout::Csv, _) => write_csv(out, lists),
            (Layout::Npy, 0) => write_npy(out, n, k, wide()),
            (Layout::Npy, _) => write_npy(out, n, k, scores.iter().copied()),
            (Layout::Vecs, 0) => write_vecs(out, n, k as u32, narrow()),
            (Layout::Vecs, _) => write_vecs(out, n, k as u32, rounded()),
            (Layout::Bin, 0) => write_bin(out, n as u32, k as u32, narrow()),
            (Layout::Bin, _) => write_bin(out, n as u32, k as u32, rounded()),
        }
        .map_err(|source| WriteError::io(path, source))?;
        file.sync()?;
        files.push(file);
    }

    let entry = |which: usize, what, columns, dtype| {
        let shape = if what == "neighbours" { vec![n * k, columns] } else { vec![n, columns] };
        Written { path: paths[which].clone(), what, shape, dtype }
    };
    let written = match layout {
        Layout::Npz => vec![entry(0, "indices", k, "i64"), entry(0, "scores", k, "f64")],
        Layout::Npy => vec![entry(0, "indices", k, "i64"), entry(1, "scores", k, "f64")],
        Layout::Vecs | Layout::Bin => vec![entry(0, "indices", k, "i32"), entry(1, "scores", k, "f32")],
        Layout::Csv => vec![entry(0, "neighbours", csv_header(lists).len(), "text")],
    };
    Ok(Prepared::new(files, written))
}

fn check_narrow(lists: &Lists<'_>, paths: &[PathBuf]) -> Result<(), WriteError> {
    let too_large = |what, value: u64| {
        Err(WriteError::TooLarge { path: paths[0].clone(), what, value, largest: u64::from(LARGEST) })
    };
    for (what, value) in [("the number of lists", lists.n as u64), ("k", lists.k as u64)] {
        if value > u64::from(LARGEST) {
            return too_large(what, value);
        }
    }
    if let Some(&index) = lists.indices.iter().find(|&&index| index > LARGEST && index != NO_NEIGHBOUR) {
        return too_large("the index", u64::from(index));
    }
    match lists.scores.iter().position(|score| score.is_finite() && !(*score as f32).is_finite()) {
        Some(place) => {
            let (query, score) = (place / lists.k, lists.scores[place]);
            Err(WriteError::ScoreRange { path: paths[1].clone(), query, score })
        }
        None => Ok(()),
    }
}

fn wide(index: u32) -> i64 {
    if index == NO_NEIGHBOUR { -1 } else { i64::from(index) }
}

fn write_lists_npz(out: &mut AtomicFile, lists: &Lists<'_>) -> io::Result<()> {
    let bytes = lists.indices.len() as u64 * 8;
    write_npz(out, &[("indices", bytes), ("scores", bytes)], |which, mut out| match which {
        0 => write_npy(&mut out, lists.n, lists.k, lists.indices.iter().map(|&i| wide(i))),
        _ => write_npy(&mut out, lists.n, lists.k, lists.scores.iter().copied()),
    })
}

fn csv_header(lists: &Lists<'_>) -> Vec<&'static str> {
    let mut header = vec!["query", "rank", "index", "score"];
    header.extend(lists.query_names.map(|_| "query_name"));
    header.extend(lists.base_names.map(|_| "name"));
    header
}

fn write_csv(out: &mut AtomicFile, lists: &Lists<'_>) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(csv_header(lists)).map_err(csv_cause)?;
    for (place, (&index, score)) in lists.indices.iter().zip(lists.scores).enumerate() {
        let (query, rank) = (place / lists.k, place % lists.k + 1);
        let mut record = vec![query.to_string(), rank.to_string(), wide(index).to_string(), score.to_string()];
        record.extend(lists.query_names.map(|names| names[query].clone()));
        record.extend(
            lists.base_names.map(
                |names| {
                    if index == NO_NEIGHBOUR { String::new() } else { names[index as usize].clone() }
                },
            ),
        );
        csv.write_record(&record).map_err(csv_cause)?;
    }
    csv.flush()
}

/// The operating system's error inside one of csv, as it was: its kind tells a full disk from other failures.
pub fn csv_cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn example() -> Lists<'static> {
        let (indices, scores) = (&[1, 2, 0, NO_NEIGHBOUR], &[0.5, 0.1, 0.5, f64::NEG_INFINITY]);
        Lists { n: 2, k: 2, indices, scores, query_names: None, base_names: None }
    }

    fn publish(lists: &Lists<'_>, path: &Path) -> Vec<Written> {
        prepare_lists(lists, path).unwrap().publish().unwrap()
    }

    fn i64s(bytes: &[u8]) -> Vec<i64> {
        bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)).collect()
    }

    fn f64s(bytes: &[u8]) -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
    }

    #[test]
    fn npz_members_are_stored_at_multiples_of_64_and_reproducible() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.npz"), folder.path().join("b.npz"));
        let written = publish(&example(), &a);
        publish(&example(), &b);
        assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
        let of = |what, dtype| Written { path: a.clone(), what, shape: vec![2, 2], dtype };
        assert_eq!(written, [of("indices", "i64"), of("scores", "f64")]);

        let bytes = fs::read(&a).unwrap();
        let mut zip = zip::ZipArchive::new(io::Cursor::new(&bytes)).unwrap();
        let mut member = |name| {
            let file = zip.by_name(name).unwrap();
            assert_eq!((file.compression(), file.size()), (zip::CompressionMethod::Stored, 128 + 32));
            let start = file.data_start().unwrap() as usize;
            assert_eq!(start % 64, 0, "{name}");
            bytes[start + 128..start + 160].to_vec()
        };
        assert_eq!(i64s(&member("indices.npy")), [1, 2, 0, -1]);
        assert_eq!(f64s(&member("scores.npy")), [0.5, 0.1, 0.5, f64::NEG_INFINITY]);
    }

    #[test]
    fn npy_pairs() {
        let folder = tempfile::tempdir().unwrap();
        let written = publish(&example(), &folder.path().join("out.v1.npy"));
        let [indices, scores] = ["out.v1.indices.npy", "out.v1.scores.npy"].map(|name| folder.path().join(name));
        assert_eq!((&written[0].path, &written[1].path), (&indices, &scores));
        assert_eq!(i64s(&fs::read(indices).unwrap()[128..]), [1, 2, 0, -1]);
        assert_eq!(f64s(&fs::read(scores).unwrap()[128..]), example().scores);
    }

    #[test]
    fn narrow_pairs() {
        for (given, indices, scores) in
            [("o.ivecs", "o.ivecs", "o.scores.fvecs"), ("o.ibin", "o.ibin", "o.scores.fbin")]
        {
            let folder = tempfile::tempdir().unwrap();
            let written = publish(&example(), &folder.path().join(given));
            assert_eq!((written[0].dtype, written[1].dtype), ("i32", "f32"));
            let words = |name| -> Vec<i32> {
                let bytes = fs::read(folder.path().join(name)).unwrap();
                bytes.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect()
            };
            let [half, tenth, worst] = [0.5f32, 0.1, f32::NEG_INFINITY].map(|x| x.to_bits().cast_signed());
            if given == "o.ivecs" {
                assert_eq!(words(indices), [2, 1, 2, 2, 0, -1]);
                assert_eq!(words(scores), [2, half, tenth, 2, half, worst]);
            } else {
                assert_eq!(words(indices), [2, 2, 1, 2, 0, -1]);
                assert_eq!(words(scores), [2, 2, half, tenth, half, worst]);
            }
        }
    }

    #[test]
    fn no_queries_give_files_too() {
        let folder = tempfile::tempdir().unwrap();
        let empty = Lists { n: 0, k: 3, indices: &[], scores: &[], query_names: None, base_names: None };
        for (name, size) in [("o.indices.npy", 128), ("o.ivecs", 0), ("o.ibin", 8), ("o.csv", 23)] {
            publish(&empty, &folder.path().join(name.replace(".indices", "")));
            assert_eq!(fs::metadata(folder.path().join(name)).unwrap().len(), size, "{name}");
        }
    }

    #[test]
    fn a_folder_is_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(list_paths(folder.path()), Err(WriteError::Folder { .. })));
    }
}
