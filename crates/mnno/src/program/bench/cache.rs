//! The cache of exact lists: one file for each question, named by a hash of all that the answer depends on.
//!
//! An entry is believed only if its head names the same question, its checksum fits, and the scores of its lists are those of
//! the rows (which [`super::truth`] looks at); anything else is computed again. Entries appear whole or not at all, so that
//! runs do not disturb each other.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use mnno::store::output::{AtomicFile, WriteError};
use mnno::store::{Coverage, Matrix};
use mnno::{Metric, Neighbours};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::Asking;
use crate::program::inputs::Checked;

/// Begins each entry, with the version of the layout.
const MAGIC: &[u8; 16] = b"mnno truth v1\0\0\0";
/// Magic, key, lists, places.
const HEAD: usize = 48;
const CHECKSUM: usize = 16;

/// Where entries lie.
pub(super) struct Cache(Option<PathBuf>);

/// What an entry answers.
#[derive(Clone, Copy)]
pub(super) struct Question {
    key: u128,
    metric: Metric,
    n: usize,
    k: usize,
}

impl Question {
    /// The `k` nearest rows of `base` for each row that asks.
    pub(super) fn new(base: &Checked, asking: &Asking<'_>, metric: Metric, k: usize) -> Self {
        let mut hasher = Xxh3::new();
        hasher.update(MAGIC);
        hasher.update(metric.name().as_bytes());
        hasher.update(&(k as u64).to_le_bytes());
        identify(&base.matrix, &mut hasher);
        match &asking.sampled {
            None => identify(&asking.input.matrix, &mut hasher),
            Some(rows) => {
                hasher.update(b"rows of the base, each without itself");
                for row in rows {
                    hasher.update(&row.to_le_bytes());
                }
            }
        }
        Self { key: hasher.digest128(), metric, n: asking.n(), k }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend(self.key.to_le_bytes());
        head.extend((self.n as u64).to_le_bytes());
        head.extend((self.k as u64).to_le_bytes());
        head
    }

    /// Bytes of an entry.
    fn length(&self) -> usize {
        HEAD + 12 * self.n * self.k + 8 * self.n + CHECKSUM
    }

    fn encode(&self, lists: &Neighbours) -> Vec<u8> {
        let mut bytes = self.head();
        bytes.extend(lists.indices().iter().flat_map(|index| index.to_le_bytes()));
        bytes.extend(lists.scores().iter().flat_map(|score| score.to_le_bytes()));
        bytes.extend((0..self.n).flat_map(|i| lists.next_score(i).to_le_bytes()));
        bytes.extend(xxh3_128(&bytes).to_le_bytes());
        bytes
    }

    /// The lists of an entry; none if it is damaged or answers something else.
    fn decode(&self, bytes: &[u8]) -> Option<Neighbours> {
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
        let body = content.strip_prefix(self.head().as_slice())?;
        if bytes.len() != self.length() || xxh3_128(content) != u128::from_le_bytes(*checksum) {
            return None;
        }
        let (indices, scores) = body.split_at(4 * self.n * self.k);
        let indices = indices.as_chunks().0.iter().map(|&index| u32::from_le_bytes(index)).collect();
        let mut scores: Vec<f64> = scores.as_chunks().0.iter().map(|&score| f64::from_le_bytes(score)).collect();
        let next = scores.split_off(self.n * self.k);
        Some(Neighbours::from_parts(self.metric, self.n, self.k, indices, scores, next))
    }
}

/// What tells the rows of a matrix from those of any other.
fn identify(matrix: &Matrix, hasher: &mut Xxh3) {
    let fingerprint = matrix.fingerprint();
    hasher.update(&fingerprint.hash.to_le_bytes());
    let layer = matrix.layer().map_or(u64::MAX, |layer| layer as u64);
    for number in [matrix.rows_offset() as u64, matrix.n() as u64, matrix.d() as u64, layer] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(format!("{}, {}: {}", matrix.format(), matrix.element(), matrix.member().unwrap_or("")).as_bytes());
    if fingerprint.coverage == Coverage::Sampled {
        // What was changed between the samples shows in the time.
        for file in matrix.files() {
            let changed = file.metadata().and_then(|metadata| metadata.modified()).ok();
            let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            hasher.update(file.as_os_str().as_encoded_bytes());
            hasher.update(&since.as_nanos().to_le_bytes());
        }
    }
}

/// What the cache has for a question.
pub(super) enum Entry {
    Missing,
    /// A file that does not answer the question.
    Damaged(PathBuf),
    Lists(Neighbours, PathBuf),
}

impl Cache {
    /// In `folder`, or else where the user's caches are; nowhere if that is not known.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        let of_user = |name, below: &str| {
            let folder = std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())?;
            Some(folder.join(below))
        };
        Self(
            folder
                .map(Path::to_owned)
                .or_else(|| of_user("XDG_CACHE_HOME", "mnno"))
                .or_else(|| of_user("HOME", ".cache/mnno")),
        )
    }

    fn path(&self, question: &Question) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(format!("{:032x}.truth", question.key)))
    }

    pub(super) fn read(&self, question: &Question) -> Entry {
        let Some(path) = self.path(question) else { return Entry::Missing };
        let Ok(metadata) = path.metadata() else { return Entry::Missing };
        // Nothing is waited for in a pipe, and no more is read than an entry has.
        let fits = metadata.is_file() && metadata.len() == question.length() as u64;
        let bytes = if fits { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        match question.decode(&bytes) {
            Some(lists) => Entry::Lists(lists, path),
            None => Entry::Damaged(path),
        }
    }

    /// Keeps lists; where, if that is anywhere.
    pub(super) fn write(&self, question: &Question, lists: &Neighbours) -> Result<Option<PathBuf>, WriteError> {
        let (Some(folder), Some(path)) = (&self.0, self.path(question)) else { return Ok(None) };
        std::fs::create_dir_all(folder).map_err(|e| WriteError::io(folder, e))?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(&question.encode(lists)).map_err(|e| WriteError::io(&path, e))?;
        file.publish()?;
        Ok(Some(path))
    }
}
