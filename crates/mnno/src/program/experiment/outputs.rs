//! The files of the cross-modal experiment: written beside their places, and put there at the end.

use std::io::Write;
use std::path::PathBuf;

use mnno::measures;
use mnno::store::output::{AtomicFile, WriteError, csv_cause};
use mnno::train::Neighbourhoods;
use mnno::train::experiment::CurvePoint;
use serde::Serialize;

use super::cross_modal::{METRICS, Setting, Task, self_rule};
use super::kept::make_folder;
use super::results::Report;
use super::tables;
use crate::program::args::{CrossModal, MapKind, spelled};
use crate::program::curve::{self, Line};
use crate::program::curve_picture::{self, LearningCurve};
use crate::program::failure::Failure;
use crate::program::paired::Paired;
use crate::program::report::{self, OutputReport};

/// Files that are written, but not yet in place.
pub(super) struct Outputs<'a> {
    args: &'a CrossModal,
    /// By their tasks' file names. They are drawn at the end: files that wait for their places would be left behind by a kill.
    curves: Vec<(String, LearningCurve)>,
    /// With what they are, and their formats.
    files: Vec<(AtomicFile, &'static str, &'static str)>,
}

/// Those that are not of a task.
const NAMES: [&str; 5] = ["results.json", "results.csv", "splits.csv", "table.md", "table.tex"];

impl<'a> Outputs<'a> {
    /// Refuses a folder in which an input would be overwritten, or that takes no files.
    pub(super) fn new(args: &'a CrossModal, tasks: &[Task], paired: &Paired) -> Result<Self, Failure> {
        let outputs = Self { args, curves: Vec::new(), files: Vec::new() };
        let curves = tasks
            .iter()
            .filter(|task| task.kind != MapKind::Ridge)
            .flat_map(|task| ["csv", "svg", "png"].map(|extension| curve_name(&task.file_name(), extension)));
        for name in NAMES.map(str::to_owned).into_iter().chain(curves) {
            let path = outputs.path(&name);
            paired.refuse_as_output(&path, &args.pairs)?;
            path.parent().map_or(Ok(()), make_folder)?;
            // Made and dropped: what cannot be written is found before the trainings.
            AtomicFile::create(&path).map_err(|e| Failure::from(e).hint("name another folder with -o"))?;
        }
        Ok(outputs)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.args.output.join(name)
    }

    fn add(&mut self, name: &str, what: &'static str, bytes: &[u8], format: &'static str) -> Result<(), Failure> {
        let path = self.path(name);
        let mut file = AtomicFile::create(&path)?;
        file.write_all(bytes).map_err(|e| WriteError::io(&path, e))?;
        file.sync()?;
        self.files.push((file, what, format));
        Ok(())
    }

    pub(super) fn curve(
        &mut self,
        setting: &Setting<'_>,
        task: &Task,
        points: Vec<CurvePoint>,
        chosen: usize,
        of_test: &Neighbourhoods,
    ) -> Result<(), Failure> {
        let k = setting.curve_k();
        let split = &setting.plan.splits[0];
        let names =
            setting.paired.names(task.swapped).map(|name| report::shown(name.rsplit('/').next().unwrap_or(name)));
        let title = format!("{} to {}: {}, {}", names[0], names[1], task.kind.name(), task.loss.name());
        let subtitle = format!(
            "{}, K = {k}, self {}d; first of {} {}: {} rows to train on, {} to test on",
            METRICS[0],
            spelled(&self_rule(self.args)),
            setting.plan.splits.len(),
            if setting.paired.train < setting.paired.n() { "seeds" } else { "folds" },
            split.train.len(),
            split.test.len()
        );
        let chance = measures::chance(split.test.len(), k, setting.neighbouring.rule);
        let [x, y] = of_test.of_pairs();
        let x_y = measures::mnno(x, y).map_err(|error| Failure::bad_data(error.to_string()))?.value();
        let curve = LearningCurve { title, subtitle, points, chosen: Some(chosen), x_y: Some(x_y), chance };
        self.curves.push((task.file_name(), curve));
        Ok(())
    }

    /// Writes and draws everything.
    pub(super) fn results(&mut self, report: &Report) -> Result<(), Failure> {
        for (task, curve) in std::mem::take(&mut self.curves) {
            let lines: Vec<Line> = curve.points.iter().map(Line::of_point).collect();
            let csv = curve::write(&self.path(&curve_name(&task, "csv")), &lines)?;
            self.files.push((csv, "learning curve", "csv"));
            for extension in ["svg", "png"] {
                let file = curve_picture::draw(&curve, &self.path(&curve_name(&task, extension)))?;
                self.files.push((file, "learning curve", extension));
            }
        }
        let path = self.path("results.json");
        let json = serde_json::to_string_pretty(report).map_err(|e| WriteError::io(&path, e.into()))?;
        self.add("results.json", "results", (json + "\n").as_bytes(), "json")?;
        self.table("results.csv", "results", &report.rows)?;
        self.table("splits.csv", "results by split", &report.splits)?;
        self.add("table.md", "table", tables::markdown(report).as_bytes(), "markdown")?;
        self.add("table.tex", "table", tables::latex(report).as_bytes(), "latex")
    }

    fn table<T: Serialize>(&mut self, name: &str, what: &'static str, rows: &[T]) -> Result<(), Failure> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let written = rows.iter().try_for_each(|row| csv.serialize(row));
        let bytes = written.and_then(|()| csv.into_inner().map_err(|e| e.into_error().into()));
        let bytes = bytes.map_err(|e| WriteError::io(&self.path(name), csv_cause(e)))?;
        self.add(name, what, &bytes, "csv")
    }

    pub(super) fn publish(self) -> Result<Vec<OutputReport>, Failure> {
        let mut reports = Vec::new();
        for (file, what, format) in self.files {
            reports.push(OutputReport::new(file.path(), what, Vec::new(), format));
            file.publish()?;
        }
        Ok(reports)
    }
}

fn curve_name(task: &str, extension: &str) -> String {
    format!("curves/{task}.{extension}")
}
