//! A command-line argument becomes matrices.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use mnno_exact::Observer;

use crate::bytes::Source;
use crate::error::shown;
use crate::format::table::{NAME_OVERHEAD, Table};
use crate::format::{Container, big_ann, mat, npy, npz, safetensors, text, vecs, word2vec_binary, words};
use crate::layout::{ArrayHeader, Layout};
use crate::matrix::{Array, Matrix, Part, Storage};
use crate::{ElementType, Format, Io, StoreError, labels, names, parts};

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Mapped or read whole.
    pub io: Io,
    /// The format; found out when none is given.
    pub format: Option<Format>,
    /// Most bytes of memory that the matrices of an argument may take: what must be unpacked or parsed, names, labels. The
    /// values of a text that take more than half of it are parsed again whenever they are read.
    pub memory: u64,
    /// Rows to keep, from 0, the end excluded; all when none are given.
    pub rows: Option<Range<usize>>,
    /// Names of the rows, in place of those in the file: `PATH[::COLUMN]`, a line per row, with a header or without.
    pub names: Option<String>,
    /// A file of labels: a line per row, labels separated by tabs, commas or blanks.
    pub labels: Option<PathBuf>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { io: Io::Map, format: None, memory: 4 << 30, rows: None, names: None, labels: None }
    }
}

/// The layers asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layers {
    One(usize),
    All,
}

impl Layers {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "*" => Some(Self::All),
            _ if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok().map(Self::One),
            _ => None,
        }
    }
}

/// Opens `PATH[::NAME][::LAYER]`: NAME a member of an npz, safetensors or mat file, LAYER a layer (from 0) of an array
/// `[n, layers, d]`, `*` for all of them, which gives several matrices. PATH may be a folder, whose files are then parts of
/// one matrix, numbers in their names by value; or `@LIST`, a text file that names the parts, one per line. A file whose
/// name contains `::` or begins with `@` is taken as it is.
///
/// Headers and lengths are checked, values are not: see [`Matrix::check`]. Matrices without rows or columns open.
///
/// # Errors
/// Whatever is wrong with the file or with the request: [`StoreError::kind`] sorts it.
pub fn open(argument: &str, options: &OpenOptions) -> Result<Vec<Matrix>, StoreError> {
    open_with_observer(argument, options, &())
}

/// As [`open`], for programs that can be interrupted: the observer is asked often whether to go on.
///
/// # Errors
/// As [`open`], and [`StoreError::Interrupted`].
pub fn open_with_observer(
    argument: &str,
    options: &OpenOptions,
    observer: &dyn Observer,
) -> Result<Vec<Matrix>, StoreError> {
    let (path, suffix) = split(argument);
    let mut budget = options.memory;
    let mut opened = Vec::new();
    let files = parts::files(path)?;
    for (i, file) in files.iter().enumerate() {
        // Half is left for what comes later: other parts, other files, a search.
        let keep = budget / 2 / (files.len() - i) as u64;
        let part = Opened::open(file, &suffix, options, Limits { budget, keep, observer })?;
        budget = budget.saturating_sub(part.held + if files.len() > 1 { PART } else { 0 });
        opened.push(part);
    }
    let path = parts::list(path).unwrap_or(path).to_owned();
    let mut names = names_of_all(&mut opened)?.map(Arc::new);
    let mut remarks: Vec<String> = opened.iter().flat_map(|part| part.remarks.clone()).collect();
    let all_rows = joined(&opened, 0)?.1;
    let rows = options.rows.clone().unwrap_or(0..all_rows);
    if rows.start > rows.end || rows.end > all_rows {
        let file = if let [only] = &opened[..] { only.array.name.clone() } else { argument.to_owned() };
        return Err(StoreError::RowRange { file, start: rows.start, end: rows.end, n: all_rows });
    }
    if let Some(beside) = &options.names {
        let (read, held, remark) = names::read(beside, (argument, all_rows), budget, observer)?;
        budget -= held;
        remarks.extend(remark);
        names = Some(Arc::new(read));
    }
    let mut labels = None;
    if let Some(path) = &options.labels {
        let (read, held) = labels::read(path, argument, all_rows, &rows, budget)?;
        budget -= held;
        labels = Some(Arc::new(read));
    }
    let remarks: Arc<[String]> = remarks.into();
    let several = suffix.last() == Some(&"*");
    let fingerprint = Arc::new(OnceLock::new());
    let matrix = |which: usize| {
        let (parts, _) = joined(&opened, which)?;
        let layer = opened[0].layers[which].0;
        let display_name = match (layer, argument.strip_suffix('*')) {
            (Some(layer), Some(stem)) if several => format!("{stem}{layer}"),
            _ => argument.to_owned(),
        };
        Ok(Matrix {
            parts: narrowed(parts, &rows).into(),
            n: rows.len(),
            layer,
            first_row: rows.start,
            path: path.clone(),
            display_name,
            names: names.clone(),
            remarks: Arc::clone(&remarks),
            labels: labels.clone(),
            held: options.memory - budget,
            fingerprint: Arc::clone(&fingerprint),
        })
    };
    (0..opened[0].layers.len()).map(matrix).collect()
}

/// What each of many files takes beside its content, at most.
const PART: u64 = 1 << 10;

/// The names of all rows; either every part has names or none.
fn names_of_all(opened: &mut [Opened]) -> Result<Option<Vec<String>>, StoreError> {
    let (first, others) = opened.split_first_mut().expect("there is a part");
    let has = |part: &Opened| if part.names.is_some() { "row names" } else { "no row names" };
    if let Some(other) = others.iter().find(|other| other.names.is_some() != first.names.is_some()) {
        return Err(StoreError::Part {
            file: other.array.name.clone(),
            found: format!("it has {}", has(other)),
            first: first.array.name.clone(),
            expected: has(first).to_owned(),
        });
    }
    let Some(mut names) = first.names.take() else { return Ok(None) };
    names.reserve_exact(others.iter().flat_map(|other| &other.names).map(Vec::len).sum());
    for other in others {
        names.extend(other.names.take().unwrap_or_default());
    }
    Ok(Some(names))
}

/// The layer of number `which` of each file, one behind the other, and the rows of all.
fn joined(opened: &[Opened], which: usize) -> Result<(Vec<Part>, usize), StoreError> {
    let first = &opened[0];
    let mut parts = Vec::with_capacity(opened.len());
    let mut rows = 0_usize;
    for other in opened {
        let shape = |opened: &Opened| {
            let (_, layout) = opened.layers[which];
            let layers = opened.layers.len();
            let layers = if layers > 1 { format!("{layers} layers of ") } else { String::new() };
            format!("{layers}rows of {} {}", layout.d, layout.element)
        };
        if other.layers.len() != first.layers.len() || shape(other) != shape(first) {
            return Err(StoreError::Part {
                file: other.array.name.clone(),
                found: format!("it has {}", shape(other)),
                first: first.array.name.clone(),
                expected: shape(first),
            });
        }
        let (_, layout) = other.layers[which];
        parts.push(Part { array: Arc::clone(&other.array), layout, skipped: 0, start: rows });
        rows = rows.checked_add(layout.n).filter(|&n| isize::try_from(n).is_ok()).ok_or_else(|| {
            let (file, shape) = (other.array.name.clone(), format!("{rows} + {} x {}", layout.n, layout.d));
            StoreError::TooLarge { file, shape, element: layout.element }
        })?;
    }
    Ok((parts, rows))
}

/// The parts with no other rows than `rows`; some then have none.
fn narrowed(parts: Vec<Part>, rows: &Range<usize>) -> Vec<Part> {
    let narrow = |part: Part| {
        let [start, end] = [rows.start, rows.end].map(|row| row.saturating_sub(part.start).min(part.layout.n));
        let layout = part.layout.rows(start, end);
        Part { layout, skipped: start, start: (part.start + start).saturating_sub(rows.start), ..part }
    };
    parts.into_iter().map(narrow).collect()
}

/// What opening a file may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Bytes of memory.
    pub(crate) budget: u64,
    /// Bytes of memory for values that could as well be parsed again.
    pub(crate) keep: u64,
    /// Asked whether to go on.
    pub(crate) observer: &'a dyn Observer,
}

/// A file on its way into matrices.
struct Opened {
    array: Arc<Array>,
    names: Option<Vec<String>>,
    remarks: Vec<String>,
    layers: Vec<(Option<usize>, Layout)>,
    /// Bytes of memory, names included.
    held: u64,
}

/// What a parser finds in a file.
#[derive(Default)]
struct Found {
    member: Option<String>,
    storage: Storage,
    names: Option<Vec<String>>,
    remarks: Vec<String>,
    fortran: bool,
    layers: Vec<(Option<usize>, Layout)>,
}

impl Opened {
    fn open(path: &Path, suffix: &[&str], options: &OpenOptions, limits: Limits<'_>) -> Result<Self, StoreError> {
        let source = Source::open(path, options.io, limits.budget)?;
        let limits = Limits { budget: limits.budget.saturating_sub(source.held()), ..limits };
        let file = path.display().to_string();
        let bytes = source.bytes();
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(path, bytes)?,
        };
        let found = parse(&file, bytes, format, suffix, limits)?;
        let names_held = found.names.iter().flatten().map(|name| NAME_OVERHEAD + name.len() as u64).sum::<u64>();
        let name = found.member.as_ref().map_or_else(|| file.clone(), |member| format!("{file}::{}", shown(member)));
        let Found { member, storage, names, remarks, fortran, layers } = found;
        let remarks = remarks.into_iter().map(|remark| format!("{name}: {remark}")).collect();
        let array = Array { source, storage, format, name, member, fortran };
        let held = array.held() + names_held;
        Ok(Self { array: Arc::new(array), names, remarks, layers, held })
    }
}

impl Found {
    fn in_file(layout: Layout) -> Self {
        Self { layers: vec![(None, layout)], ..Self::default() }
    }

    fn of_table(table: Table) -> Self {
        let layout = Layout {
            n: table.n,
            d: table.d,
            offset: 0,
            row_stride: 4 * table.d,
            column_stride: 4,
            element: ElementType::F32,
            big_endian: cfg!(target_endian = "big"),
        };
        Self { storage: table.storage, names: table.names, remarks: table.remarks, ..Self::in_file(layout) }
    }
}

/// Every format's way from bytes to a checked layout.
fn parse(file: &str, bytes: &[u8], format: Format, suffix: &[&str], limits: Limits<'_>) -> Result<Found, StoreError> {
    let holds_arrays = matches!(format, Format::Npy | Format::Npz | Format::Safetensors | Format::Mat);
    if let (Some(&given), false) = (suffix.first(), holds_arrays) {
        let (file, given) = (file.to_owned(), given.to_owned());
        return Err(StoreError::NoSuchPart { file, format, part: "members or layers", given });
    }
    let member = |container: &mut dyn Container| open_member(file, suffix, limits, container);
    Ok(match format {
        Format::Npy => open_npy(file, bytes, suffix)?,
        Format::Npz => member(&mut npz::Archive::open(file, bytes, limits.budget)?)?,
        Format::Safetensors => member(&mut safetensors::Tensors::open(file, bytes, limits.budget)?)?,
        Format::Mat => member(&mut mat::Variables::open(file, bytes)?)?,
        Format::Csv | Format::Tsv => Found::of_table(text::parse(file, bytes, format, limits)?),
        Format::Glove | Format::Word2vec => Found::of_table(words::parse(file, bytes, format, limits)?),
        Format::Word2vecBinary => Found::of_table(word2vec_binary::parse(file, bytes, limits)?),
        Format::Fvecs | Format::Bvecs | Format::Ivecs => Found::in_file(vecs::parse(file, bytes, format)?),
        Format::Fbin | Format::U8bin | Format::I8bin | Format::Ibin => {
            Found::in_file(big_ann::parse(file, bytes, format)?)
        }
    })
}

fn open_npy(file: &str, bytes: &[u8], parts: &[&str]) -> Result<Found, StoreError> {
    let layers = match *parts {
        [] => None,
        [layer] => Some(Layers::parse(layer).ok_or_else(|| StoreError::NoSuchPart {
            file: file.to_owned(),
            format: Format::Npy,
            part: "members",
            given: layer.to_owned(),
        })?),
        [_, extra, ..] => return Err(not_a_layer(file, extra)),
    };
    let header = npy::parse(file, bytes)?;
    let layers = layouts(file, &header, layers)?;
    Ok(Found { fortran: header.fortran, layers, ..Found::default() })
}

fn open_member(
    file: &str,
    parts: &[&str],
    limits: Limits<'_>,
    container: &mut dyn Container,
) -> Result<Found, StoreError> {
    let (name, layers) = match *parts {
        [] => (None, None),
        [name] => (Some(name), None),
        [name, layer] => (Some(name), Some(Layers::parse(layer).ok_or_else(|| not_a_layer(file, layer))?)),
        [_, _, extra, ..] => return Err(not_a_layer(file, extra)),
    };
    // The only member needs no name, so that a number in its place is a layer.
    let (name, layers) = match name {
        Some(text) if container.is_single() && !container.has(text) => match Layers::parse(text) {
            Some(only) if layers.is_none() => (None, Some(only)),
            _ => (name, layers),
        },
        _ => (name, layers),
    };
    let member = container.read(name, limits)?;
    let full_name = format!("{file}::{}", shown(&member.name));
    let layers = layouts(&full_name, &member.header, layers)?;
    let fortran = member.header.fortran;
    Ok(Found { member: Some(member.name), storage: member.storage, fortran, layers, ..Found::default() })
}

fn not_a_layer(file: &str, given: &str) -> StoreError {
    StoreError::NotALayer { file: file.to_owned(), given: given.to_owned() }
}

/// The matrices of an array: itself if it has two axes, the layers asked for if it has three.
fn layouts(
    file: &str,
    header: &ArrayHeader,
    layers: Option<Layers>,
) -> Result<Vec<(Option<usize>, Layout)>, StoreError> {
    match (header.shape.len(), layers) {
        (2, None) => Ok(vec![(None, Layout::of_array(header, None))]),
        (2, Some(_)) => Err(StoreError::NoLayers { file: file.to_owned(), shape: header.shape_tuple() }),
        (3, Some(layers)) => {
            let count = header.shape[1] as usize;
            let chosen = match layers {
                Layers::One(layer) if layer >= count => {
                    return Err(StoreError::Layer { file: file.to_owned(), layer, layers: count });
                }
                Layers::One(layer) => layer..layer + 1,
                Layers::All if count == 0 => {
                    return Err(StoreError::Layer { file: file.to_owned(), layer: 0, layers: 0 });
                }
                Layers::All if count > MOST_LAYERS => {
                    return Err(StoreError::TooManyLayers { file: file.to_owned(), layers: count, most: MOST_LAYERS });
                }
                Layers::All => 0..count,
            };
            Ok(chosen.map(|layer| (Some(layer), Layout::of_array(header, Some(layer)))).collect())
        }
        (axes, _) => {
            Err(StoreError::NotAMatrix { file: file.to_owned(), shape: header.shape_tuple(), layers: axes == 3 })
        }
    }
}

/// Layers that `*` may stand for: a transformer has tens, an axis in the wrong place has thousands.
const MOST_LAYERS: usize = 1000;

/// Splits an argument into its path, the longest part up to a `::` that exists, and what follows.
pub(crate) fn split(argument: &str) -> (&Path, Vec<&str>) {
    let ends = argument.match_indices("::").map(|(at, _)| at);
    let end = std::iter::once(argument.len())
        .chain(ends.collect::<Vec<_>>().into_iter().rev())
        .find(|&end| end > 0 && exists(&argument[..end]))
        .or_else(|| argument.find("::").filter(|&at| at > 0))
        .unwrap_or(argument.len());
    let parts = argument[end..].strip_prefix("::").map_or_else(Vec::new, |rest| rest.split("::").collect());
    (Path::new(&argument[..end]), parts)
}

fn exists(path: &str) -> bool {
    Path::new(path).exists() || parts::list(Path::new(path)).is_some_and(Path::exists)
}

/// The beginning of a file for a message.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    const SHOWN: usize = 8;
    if bytes.is_empty() {
        return "it is empty".to_owned();
    }
    let shown: Vec<String> = bytes.iter().take(SHOWN).map(|b| format!("{b:02x}")).collect();
    format!("it begins with {}", shown.join(" "))
}
