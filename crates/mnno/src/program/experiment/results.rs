//! The results of the cross-modal experiment, as all its files have them.

use mnno::measures::{self, RankTest, Undefined};
use mnno::train::Choice;
use mnno::train::experiment::{Cell, Measured, Overlaps};
use serde::Serialize;

use super::cross_modal::Task;
use crate::program::report::{InputReport, OutputReport};

/// What is printed, and written as results.json but for the names of outputs.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) command: &'static str,
    pub(super) version: &'static str,
    pub(super) conventions: Conventions,
    pub(super) inputs: Vec<InputReport>,
    pub(super) dropped_rows: usize,
    pub(super) cells: Vec<CellReport>,
    pub(super) rows: Vec<Row>,
    /// What the means in `rows` are of.
    pub(super) splits: Vec<SplitRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) outputs: Vec<OutputReport>,
}

#[derive(Serialize)]
pub(super) struct Conventions {
    #[serde(rename = "self")]
    pub(super) self_rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset: Option<String>,
    pub(super) ties: &'static str,
    /// What a map is tested on.
    pub(super) tested: String,
    /// By what the grid's point was chosen.
    pub(super) chosen: String,
    /// Folds to test on, or to choose by where there are test files.
    pub(super) folds: usize,
    /// Maps of different seeds, where there are test files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<usize>,
    /// Whether the choice is made within the training rows of each fold.
    pub(super) nested: bool,
    /// What was chosen from.
    pub(super) learning_rates: Vec<f64>,
    pub(super) hidden: Vec<usize>,
    pub(super) dropouts: Vec<f64>,
    pub(super) margins: Vec<f64>,
    /// A number, or how it was chosen.
    pub(super) lambda: String,
    pub(super) k: Vec<usize>,
    pub(super) activation: &'static str,
    pub(super) optimizer: &'static str,
    pub(super) init: String,
    pub(super) bias: f64,
    pub(super) batch: usize,
    pub(super) epochs: usize,
    pub(super) seed: u64,
    /// Pairs of overlaps that p is adjusted for.
    pub(super) comparisons: usize,
}

/// A map in a direction: how it was found, and how well it fits.
#[derive(Serialize)]
pub(super) struct CellReport {
    pub(super) direction: &'static str,
    pub(super) map: String,
    pub(super) loss: &'static str,
    /// One for all splits, or one for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) choices: Vec<Choice>,
    /// Of each split.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) lambdas: Vec<f64>,
    pub(super) mse: f64,
    pub(super) r2: Option<f64>,
}

/// The overlaps of a map under a metric, for one k.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) direction: &'static str,
    pub(super) map: String,
    pub(super) loss: &'static str,
    pub(super) metric: &'static str,
    #[serde(rename = "self")]
    self_rule: String,
    pub(super) k: usize,
    pub(super) x_fx: f64,
    pub(super) y_fx: f64,
    pub(super) x_y: f64,
    pub(super) chance: f64,
    /// Shares of test rows whose last neighbour the tie rule chose.
    pub(super) tied_x: f64,
    pub(super) tied_y: f64,
    pub(super) tied_fx: f64,
    /// Rank-sum, after Bonferroni; none where every row is tied.
    pub(super) p: Option<f64>,
    /// Signed-rank, paired by row, after Bonferroni.
    p_signed_rank: Option<f64>,
    mse: f64,
    r2: Option<f64>,
}

/// The overlaps of one map: that of a fold, or of a seed.
#[derive(Serialize)]
pub(super) struct SplitRow {
    direction: &'static str,
    map: String,
    loss: &'static str,
    metric: &'static str,
    k: usize,
    /// From 0.
    split: usize,
    x_fx: f64,
    y_fx: f64,
    x_y: f64,
    chance: f64,
    tied_x: f64,
    tied_y: f64,
    tied_fx: f64,
    mse: f64,
    r2: Option<f64>,
}

pub(super) fn cell_report(task: &Task, cell: &Cell) -> CellReport {
    let runs = cell.runs.len() as f64;
    let mut choices: Vec<Choice> = cell.runs.iter().filter_map(|run| run.choice).collect();
    choices.dedup();
    let r2: Option<Vec<f64>> = cell.runs.iter().map(|run| run.r2).collect();
    CellReport {
        direction: task.direction(),
        map: task.kind.name(),
        loss: task.loss.name(),
        choices,
        lambdas: cell.runs.iter().filter_map(|run| run.lambda).collect(),
        mse: cell.runs.iter().map(|run| run.mse).sum::<f64>() / runs,
        r2: r2.map(|all| all.iter().sum::<f64>() / runs),
    }
}

/// The rows of all tasks, with p adjusted for their number.
pub(super) fn rows(cells: &[CellReport], measured: &[(Task, Vec<Measured>)], self_rule: &str) -> Vec<Row> {
    let all = || measured.iter().flat_map(|(_, of_cell)| of_cell);
    let mut p = adjusted(all().map(|of| measures::rank_sum(&of.rows_x_fx, &of.rows_y_fx))).into_iter();
    let mut paired = adjusted(all().map(|of| measures::signed_rank(&of.rows_x_fx, &of.rows_y_fx))).into_iter();
    let mut rows = Vec::new();
    for (cell, (_, of_cell)) in cells.iter().zip(measured) {
        for of in of_cell {
            let Overlaps { x_fx, y_fx, x_y, chance, tied: [tied_x, tied_y, tied_fx] } = of.mean();
            rows.push(Row {
                direction: cell.direction,
                map: cell.map.clone(),
                loss: cell.loss,
                metric: of.metric.name(),
                self_rule: self_rule.to_owned(),
                k: of.k,
                x_fx,
                y_fx,
                x_y,
                chance,
                tied_x,
                tied_y,
                tied_fx,
                p: p.next().flatten(),
                p_signed_rank: paired.next().flatten(),
                mse: cell.mse,
                r2: cell.r2,
            });
        }
    }
    rows
}

/// The results of a task by split.
pub(super) fn split_rows(task: &Task, cell: &Cell, measured: &[Measured]) -> Vec<SplitRow> {
    let of_split = |of: &Measured, split: usize| {
        let Overlaps { x_fx, y_fx, x_y, chance, tied: [tied_x, tied_y, tied_fx] } = of.splits[split];
        SplitRow {
            direction: task.direction(),
            map: task.kind.name(),
            loss: task.loss.name(),
            metric: of.metric.name(),
            k: of.k,
            split,
            x_fx,
            y_fx,
            x_y,
            chance,
            tied_x,
            tied_y,
            tied_fx,
            mse: cell.runs[split].mse,
            r2: cell.runs[split].r2,
        }
    };
    measured.iter().flat_map(|of| (0..cell.runs.len()).map(move |split| of_split(of, split))).collect()
}

/// Bonferroni's adjustment. A test that is not defined counts as one that was made.
fn adjusted(tests: impl Iterator<Item = Result<RankTest, Undefined>>) -> Vec<Option<f64>> {
    let p: Vec<Option<f64>> = tests.map(|test| test.ok().map(|test| test.p)).collect();
    let counted: Vec<f64> = p.iter().map(|p| p.unwrap_or(1.0)).collect();
    let adjusted = measures::bonferroni(&counted).unwrap_or_default();
    p.into_iter().zip(adjusted).map(|(p, adjusted)| p.map(|_| adjusted)).collect()
}
