//! Finished trainings of a grid, kept in files so that an interrupted search goes on where it was.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mnno::store::output::{AtomicFile, WriteError};
use mnno::store::plain;
use mnno::train::{Outcome, Outcomes, Point};
use serde::{Deserialize, Serialize};

use crate::program::failure::{Failure, code};

/// The folder of the trainings of one map, in one direction, with one loss.
pub(super) struct Kept {
    folder: PathBuf,
    epochs: usize,
}

/// A file.
#[derive(Serialize, Deserialize)]
struct Training {
    point: Point,
    /// From 0.
    fold: usize,
    outcome: Outcome,
}

impl Kept {
    /// A folder, which is made if it is not there. Trainings run for `epochs`.
    pub(super) fn new(folder: PathBuf, epochs: usize) -> Result<Self, Failure> {
        make_folder(&folder)?;
        Ok(Self { folder, epochs })
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
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::new(code::CANNOT_OPEN, format!("{}: {}", path.display(), plain(&error))));
            }
        };
        let hint = "it was changed since it was written: remove it, and it is trained again";
        let bad = |what: String| Failure::bad_data(format!("{}: {what}", path.display())).hint(hint);
        let training: Training = serde_json::from_str(&text).map_err(|e| bad(format!("no kept training: {e}")))?;
        let whole = match &training.outcome {
            Outcome::Losses(losses) => losses.len() == self.epochs && losses.iter().all(|(a, b)| (a + b).is_finite()),
            Outcome::Diverged(epoch) => (1..=self.epochs).contains(epoch),
        };
        if training.point != *point || training.fold != fold || !whole {
            return Err(bad("the training kept here is another than the name says".to_owned()));
        }
        Ok(Some(training.outcome))
    }

    fn keep(&self, point: &Point, fold: usize, outcome: &Outcome) -> Result<(), Failure> {
        let path = self.path(point, fold);
        let training = Training { point: *point, fold, outcome: outcome.clone() };
        let mut file = AtomicFile::create(&path)?;
        let json = serde_json::to_string(&training).map_err(std::io::Error::from);
        json.and_then(|json| writeln!(file, "{json}")).map_err(|e| WriteError::io(&path, e))?;
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
