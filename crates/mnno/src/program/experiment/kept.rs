//! Finished trainings of a grid, kept in files so that an interrupted search goes on where it was.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mnno::store::output::{AtomicFile, WriteError};
use mnno::store::plain;
use mnno::train::{Outcome, Outcomes, Point};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::program::failure::{Failure, code};
use crate::program::report::shown;

/// The folder of the trainings of one map, in one direction, with one loss.
pub(super) struct Kept {
    folder: PathBuf,
    /// What the trainings are of: the names of the folder and of the one above it.
    of: String,
    epochs: usize,
}

/// A file.
#[derive(Serialize, Deserialize)]
struct Training {
    point: Point,
    /// From 0.
    fold: usize,
    outcome: Outcome,
    /// A hash of the others, and of what they are of.
    hash: String,
}

impl Training {
    fn new(of: &str, point: Point, fold: usize, outcome: Outcome) -> serde_json::Result<Self> {
        let hash = xxh3_64(&serde_json::to_vec(&(of, point, fold, &outcome))?);
        Ok(Self { point, fold, outcome, hash: format!("{hash:016x}") })
    }
}

impl Kept {
    /// The folder `identity/name` of a grid, which is made if it is not there. Trainings run for `epochs`.
    pub(super) fn new(grid: &Path, identity: &str, name: &str, epochs: usize) -> Result<Self, Failure> {
        let of = format!("{identity}/{name}");
        let folder = grid.join(&of);
        make_folder(&folder)?;
        Ok(Self { folder, of, epochs })
    }

    fn path(&self, point: &Point, fold: usize) -> PathBuf {
        let Point { learning_rate, units, dropout, margin } = point;
        self.folder.join(format!(
            "rate-{learning_rate:e}.units-{units}.dropout-{dropout:e}.margin-{margin:e}.fold-{fold}.json"
        ))
    }
}

impl Outcomes<Failure> for Kept {
    fn find(&self, point: &Point, fold: usize) -> Result<Option<Outcome>, Failure> {
        let path = self.path(point, fold);
        let hint = "it was changed since it was written: remove it, and it is trained again";
        let bad = |what: String| Failure::bad_data(format!("{}: {what}", path.display())).hint(hint);
        if path.exists() && !path.is_file() {
            return Err(bad("is no file".to_owned()));
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::new(code::CANNOT_OPEN, format!("{}: {}", path.display(), plain(&error))));
            }
        };
        let no_training = |e: serde_json::Error| bad(format!("no kept training: {e}"));
        let training: Training = serde_json::from_slice(&bytes).map_err(no_training)?;
        let whole = match &training.outcome {
            Outcome::Losses(losses) => losses.len() == self.epochs && losses.iter().all(|(a, b)| (a + b).is_finite()),
            Outcome::Diverged(epoch) => (1..=self.epochs).contains(epoch),
        };
        let Training { point: of_point, fold: of_fold, outcome, hash } = training;
        if of_point != *point || of_fold != fold || !whole {
            return Err(bad("the training kept here is another than the name says".to_owned()));
        }
        let same = Training::new(&self.of, of_point, of_fold, outcome).map_err(no_training)?;
        if same.hash != hash {
            return Err(bad(format!("its content has the hash {}, but {} is written in it", same.hash, shown(&hash))));
        }
        Ok(Some(same.outcome))
    }

    fn keep(&self, point: &Point, fold: usize, outcome: &Outcome) -> Result<(), Failure> {
        let path = self.path(point, fold);
        let mut file = AtomicFile::create(&path)?;
        let json = Training::new(&self.of, *point, fold, outcome.clone())
            .and_then(|training| serde_json::to_string(&training));
        json.map_err(std::io::Error::from)
            .and_then(|json| writeln!(file, "{json}"))
            .map_err(|e| WriteError::io(&path, e))?;
        Ok(file.publish()?)
    }
}

/// Makes a folder and those above it.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| {
        let what = if folder.exists() { "is no folder".to_owned() } else { format!("cannot be made: {}", plain(&e)) };
        Failure::new(code::CANNOT_WRITE, format!("{}: the folder of the results {what}", folder.display()))
            .hint("name a folder with -o")
    })
}
