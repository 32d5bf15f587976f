//! A command-line argument becomes matrices.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::bytes::Source;
use crate::error::shown;
use crate::format::{big_ann, npy, npz, text, vecs};
use crate::layout::{ArrayHeader, Layout};
use crate::matrix::{Array, Matrix, Storage};
use crate::{ElementType, Format, Io, StoreError, labels};

/// How files are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Mapped or read whole.
    pub io: Io,
    /// The format; found out when none is given.
    pub format: Option<Format>,
    /// Most bytes that the values of one file may take in memory when they must be unpacked or parsed.
    pub memory: u64,
    /// Rows to keep, from 0, the end excluded; all when none are given.
    pub rows: Option<Range<usize>>,
    /// A file of labels: a line per row, labels separated by tabs, commas or blanks.
    pub labels: Option<PathBuf>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { io: Io::Map, format: None, memory: 4 << 30, rows: None, labels: None }
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

/// Opens `PATH[::NAME][::LAYER]`: NAME a member of an npz, LAYER a layer (from 0) of an array `[n, layers, d]`, `*` for
/// all of them, which gives several matrices. A file whose name contains `::` is taken as it is.
///
/// Headers and lengths are checked, values are not: see [`Matrix::validate`]. Matrices without rows or columns open.
///
/// # Errors
/// Whatever is wrong with the file or with the request: [`StoreError::kind`] sorts it.
pub fn open(argument: &str, options: &OpenOptions) -> Result<Vec<Matrix>, StoreError> {
    let (path, parts) = split(argument);
    let source = Arc::new(Source::open(path, options.io)?);
    let file = path.display().to_string();
    let bytes = source.bytes();
    let format = options
        .format
        .or_else(|| Format::detect(path, bytes))
        .ok_or_else(|| StoreError::UnknownFormat { path: path.to_owned(), found: beginning(bytes) })?;
    let one_matrix = || match parts.first() {
        None => Ok(()),
        Some(&part) => {
            let (file, given) = (file.clone(), part.to_owned());
            Err(StoreError::NoSuchPart { file, format, part: "members or layers", given })
        }
    };
    let opened = match format {
        Format::Npy => open_npy(&file, bytes, &parts)?,
        Format::Npz => open_npz(&file, bytes, &parts, options.memory)?,
        Format::Csv | Format::Tsv => {
            one_matrix()?;
            Opened::of_table(text::parse(&file, bytes, format, options.memory)?)
        }
        Format::Fvecs | Format::Ivecs => {
            one_matrix()?;
            Opened::in_file(vecs::parse(&file, bytes, format)?)
        }
        Format::Fbin | Format::Ibin => {
            one_matrix()?;
            Opened::in_file(big_ann::parse(&file, bytes, format)?)
        }
    };
    let name = opened.member.as_ref().map_or_else(|| file.clone(), |member| format!("{file}::{}", shown(member)));
    let array = Arc::new(Array {
        storage: opened.storage,
        format,
        name,
        member: opened.member,
        names: opened.names,
        fortran: opened.fortran,
        fingerprint: OnceLock::new(),
        source,
    });
    let several = opened.layers.len() > 1;
    let star = parts.last() == Some(&"*");
    debug_assert!(star || !several);
    opened
        .layers
        .into_iter()
        .map(|(layer, layout)| {
            let display_name = match (layer, argument.strip_suffix('*')) {
                (Some(layer), Some(stem)) if star => format!("{stem}{layer}"),
                _ => argument.to_owned(),
            };
            narrowed(&array, layer, &layout, display_name, options)
        })
        .collect()
}

/// An array on its way into matrices.
struct Opened {
    member: Option<String>,
    storage: Storage,
    names: Option<Vec<String>>,
    fortran: bool,
    layers: Vec<(Option<usize>, Layout)>,
}

impl Opened {
    fn in_file(layout: Layout) -> Self {
        Self { member: None, storage: Storage::InFile, names: None, fortran: false, layers: vec![(None, layout)] }
    }

    fn of_table(table: text::Table) -> Self {
        let layout = Layout {
            n: table.n,
            d: table.d,
            offset: 0,
            row_stride: 4 * table.d,
            column_stride: 4,
            element: ElementType::F32,
            big_endian: cfg!(target_endian = "big"),
        };
        Self { storage: Storage::Parsed(table.values), names: table.names, ..Self::in_file(layout) }
    }
}

fn open_npy(file: &str, bytes: &[u8], parts: &[&str]) -> Result<Opened, StoreError> {
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
    Ok(Opened { member: None, storage: Storage::InFile, names: None, fortran: header.fortran, layers })
}

fn open_npz(file: &str, bytes: &[u8], parts: &[&str], memory: u64) -> Result<Opened, StoreError> {
    let (name, layers) = match *parts {
        [] => (None, None),
        [name] => (Some(name), None),
        [name, layer] => (Some(name), Some(Layers::parse(layer).ok_or_else(|| not_a_layer(file, layer))?)),
        [_, _, extra, ..] => return Err(not_a_layer(file, extra)),
    };
    let mut archive = npz::Archive::open(file, bytes)?;
    // The only member needs no name, so that a number in its place is a layer.
    let (name, layers) = match name {
        Some(text) if archive.is_single() && !archive.has(text) => match Layers::parse(text) {
            Some(only) if layers.is_none() => (None, Some(only)),
            _ => (name, layers),
        },
        _ => (name, layers),
    };
    let member = archive.read(name, memory)?;
    let full_name = format!("{file}::{}", shown(&member.name));
    let layers = layouts(&full_name, &member.header, layers)?;
    let fortran = member.header.fortran;
    Ok(Opened { member: Some(member.name), storage: member.storage, names: None, fortran, layers })
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

/// The matrix of the chosen rows, with their labels.
fn narrowed(
    array: &Arc<Array>,
    layer: Option<usize>,
    layout: &Layout,
    display_name: String,
    options: &OpenOptions,
) -> Result<Matrix, StoreError> {
    let n = layout.n;
    let rows = options.rows.clone().unwrap_or(0..n);
    if rows.start > rows.end || rows.end > n {
        return Err(StoreError::RowRange { file: array.name.clone(), start: rows.start, end: rows.end, n });
    }
    let labels = match &options.labels {
        Some(path) => Some(labels::read(path, &array.name, n, &rows)?.into()),
        None => None,
    };
    Ok(Matrix {
        array: Arc::clone(array),
        layout: layout.rows(rows.start, rows.end),
        layer,
        first_row: rows.start,
        display_name,
        labels,
    })
}

/// Splits an argument into its path, the longest part up to a `::` that exists, and what follows.
fn split(argument: &str) -> (&Path, Vec<&str>) {
    let ends = argument.match_indices("::").map(|(at, _)| at);
    let end = std::iter::once(argument.len())
        .chain(ends.collect::<Vec<_>>().into_iter().rev())
        .find(|&end| end > 0 && Path::new(&argument[..end]).exists())
        .or_else(|| argument.find("::").filter(|&at| at > 0))
        .unwrap_or(argument.len());
    let parts = argument[end..].strip_prefix("::").map_or_else(Vec::new, |rest| rest.split("::").collect());
    (Path::new(&argument[..end]), parts)
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
