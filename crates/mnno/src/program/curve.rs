//! Learning curves as lines of a table and of a CSV file.

use std::path::Path;

use mnno::store::output::{AtomicFile, WriteError, csv_cause};
use mnno::train::Epoch;
use mnno::train::experiment::CurvePoint;
use serde::Serialize;

use crate::program::failure::Failure;
use crate::program::report;

/// Epochs that the text shows.
const SHOWN: usize = 10;

/// An epoch, or the whole of a fit in closed form, which is epoch 0: losses and, where they were asked for, overlaps.
#[derive(Serialize)]
pub(crate) struct Line {
    pub(crate) epoch: usize,
    train_loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_loss: Option<f64>,
    #[serde(flatten)]
    overlaps: Option<Overlaps>,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // the fields' names are those of the report
struct Overlaps {
    train_x_fx: f64,
    train_y_fx: f64,
    test_x_fx: Option<f64>,
    test_y_fx: Option<f64>,
}

impl Line {
    pub(crate) fn new(epoch: &Epoch) -> Self {
        let Epoch { number, train_loss, test_loss } = *epoch;
        Self { epoch: number, train_loss, test_loss, overlaps: None }
    }

    pub(crate) fn of_point(point: &CurvePoint) -> Self {
        let overlaps = Overlaps {
            train_x_fx: point.train[0],
            train_y_fx: point.train[1],
            test_x_fx: point.test.map(|test| test[0]),
            test_y_fx: point.test.map(|test| test[1]),
        };
        Self { epoch: point.epoch, train_loss: point.train_loss, test_loss: point.test_loss, overlaps: Some(overlaps) }
    }

    /// As cells of a table, with so many digits.
    fn cells(&self, digits: usize) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
        let epoch = if self.epoch == 0 { "-".to_owned() } else { self.epoch.to_string() };
        let mut cells = vec![epoch, number(Some(self.train_loss)), number(self.test_loss)];
        if let Some(of) = &self.overlaps {
            cells.extend([Some(of.train_x_fx), Some(of.train_y_fx), of.test_x_fx, of.test_y_fx].map(number));
        }
        cells
    }
}

pub(crate) const HEADINGS: [&str; 7] =
    ["epoch", "train loss", "test loss", "train X,f(X)", "train Y,f(X)", "test X,f(X)", "test Y,f(X)"];

/// Writes them to a CSV file, which is not in place yet.
pub(crate) fn write(path: &Path, lines: &[Line]) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(path)?;
    let mut write = || {
        let mut csv = csv::Writer::from_writer(&mut file);
        csv.write_record(["epoch", "train_loss", "test_loss", "train_x_fx", "train_y_fx", "test_x_fx", "test_y_fx"])?;
        for line in lines {
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:?}"));
            let of = line.overlaps.as_ref();
            csv.write_record([
                line.epoch.to_string(),
                number(Some(line.train_loss)),
                number(line.test_loss),
                number(of.map(|of| of.train_x_fx)),
                number(of.map(|of| of.train_y_fx)),
                number(of.and_then(|of| of.test_x_fx)),
                number(of.and_then(|of| of.test_y_fx)),
            ])?;
        }
        csv.flush().map_err(csv::Error::from)
    };
    write().map_err(|e| WriteError::io(path, csv_cause(e)))?;
    Ok(file)
}

/// Some of the lines, the first and the last among them.
pub(crate) fn table(lines: &[Line]) -> String {
    let columns = lines.first().map_or(0, |line| line.cells(6).len());
    let mut rows = vec![HEADINGS[..columns].iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>()];
    let every = lines.len().div_ceil(SHOWN);
    let shown = |line: &&Line| line.epoch <= 1 || line.epoch.is_multiple_of(every) || line.epoch == lines.len();
    rows.extend(lines.iter().filter(shown).map(|line| line.cells(6)));
    report::table(&rows)
}
