//! What `bench` prints and writes.

use std::path::Path;

use mnno::measures::Recall;
use mnno::store::output::{AtomicFile, WriteError};
use serde::Serialize;

use super::cannot_write;
use super::truth::TruthReport;
use crate::program::failure::Failure;
use crate::program::report::{self, InputReport, counted, size, table};

/// Base rows do better where their recall is higher by so much, and by this many standard errors.
const BETTER: f64 = 0.05;
const ERRORS: f64 = 2.0;
/// The recalls that people ask for.
const AIMS: [f64; 2] = [0.95, 0.99];

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) command: &'static str,
    pub(super) version: &'static str,
    pub(super) metric: &'static str,
    pub(super) k: usize,
    pub(super) queries: usize,
    /// Whether the queries are rows of the base, each of which is left out of its own list.
    pub(super) sampled_base_rows: bool,
    pub(super) m: usize,
    pub(super) seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<[usize; 2]>,
    pub(super) inputs: Vec<InputReport>,
    pub(super) truth: TruthReport,
    pub(super) results: Vec<ResultReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base_rows: Option<BaseRows>,
    pub(super) outputs: Vec<String>,
}

/// One setting; a line of the CSV file.
#[derive(Serialize)]
pub(super) struct ResultReport {
    pub(super) index: String,
    /// Rows kept in view; exact search has none.
    pub(super) ef: Option<usize>,
    /// Near rows that were looked at for each row while the graph was built.
    pub(super) ef_construction: Option<usize>,
    /// What walks look at: `int8` or `f32`.
    pub(super) traversal: Option<&'static str>,
    pub(super) recall: f64,
    /// Queries per second.
    pub(super) qps: f64,
    pub(super) threads: usize,
    pub(super) build_s: f64,
    /// Of memory that the index keeps between searches, beside the base.
    pub(super) bytes: usize,
    /// Queries whose walks met too few candidates, and that were searched exactly.
    pub(super) finished_exactly: usize,
    /// If the graph comes from lists of nearby clusters: how many times as long exact ones would take.
    pub(super) nearby_lists: Option<f64>,
}

/// Rows of the base as queries, beside the queries, at one beam.
#[derive(Serialize)]
pub(super) struct BaseRows {
    ef: usize,
    rows: usize,
    recall: f64,
    queries_recall: f64,
    /// Whether the rows do better than the queries, by more than chance explains.
    shifted: bool,
}

impl BaseRows {
    pub(super) fn new(ef: usize, rows: usize, of_rows: &Recall, of_queries: &Recall) -> Self {
        let (recall, queries_recall) = (of_rows.value(), of_queries.value());
        let error = of_rows.std_error().hypot(of_queries.std_error());
        let shifted = recall - queries_recall > (ERRORS * error).max(BETTER);
        Self { ef, rows, recall, queries_recall, shifted }
    }

    pub(super) fn warning(&self) -> Option<String> {
        let Self { ef, rows, recall, queries_recall, shifted } = self;
        shifted.then(|| {
            format!(
                "the queries are distributed otherwise than the base: with ef {ef} their recall is {queries_recall:.4}, but that of \
                 {rows} rows of the base as queries is {recall:.4}. Choose ef by queries such as these, never by rows of the base"
            )
        })
    }
}

impl Report {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let roles = if self.sampled_base_rows { ["base"; 3] } else { ["base", "queries", "given truth"] };
        for (input, role) in self.inputs.iter().zip(roles) {
            text += &format!("{role}: {}\n", input.line());
        }
        text += &format!("truth: {}\n", self.truth.text());
        if let Some(given) = &self.truth.given {
            text += &format!("given truth: {}\n", given.text());
        }
        let asking = if self.sampled_base_rows {
            format!("{} of the base, evenly spread, each left out of its own list", counted(self.queries, "row"))
        } else {
            report::queries(self.queries)
        };
        text += &format!("\n{}; {asking}; {} each\n", self.metric, counted(self.k, "neighbour"));
        for block in self.blocks() {
            text += &format!("\n{}", self.block(block));
        }
        for output in &self.outputs {
            text += &format!("wrote {output}\n");
        }
        text
    }

    /// The results of one index after the other.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[ResultReport]> {
        self.results.chunk_by(|a, b| a.index == b.index)
    }

    fn block(&self, results: &[ResultReport]) -> String {
        let first = &results[0];
        let mut text = match first.traversal {
            None => format!("{}: nothing to build or to keep\n", first.index),
            Some(traversal) => format!(
                "{}: built in {:.2} s, takes {} of memory beside the base; walks look at {traversal}\n",
                first.index,
                first.build_s,
                size(first.bytes as u64)
            ),
        };
        text += &first.nearby_lists.map(report::nearby_text).unwrap_or_default();
        let settings: Vec<&[ResultReport]> = results.chunk_by(|a, b| a.ef == b.ef).collect();
        let speeds = |setting: &[ResultReport]| -> Vec<String> {
            setting.iter().map(|result| format!("queries/s, {}", counted(result.threads, "thread"))).collect()
        };
        let mut rows = vec![[vec!["ef".to_owned(), format!("recall@{}", self.k)], speeds(settings[0])].concat()];
        for setting in settings {
            let ef = setting[0].ef.map_or("-".to_owned(), |ef| ef.to_string());
            let speeds = setting.iter().map(|result| thousands(result.qps)).collect();
            rows.push([vec![ef, format!("{:.4}", setting[0].recall)], speeds].concat());
        }
        text += &table(&rows);
        let finished = results.iter().map(|result| result.finished_exactly).max().unwrap_or(0);
        if finished > 0 {
            text += &format!("walks that met too few candidates, finished by exact search: up to {finished}\n");
        }
        if first.ef.is_some() {
            let threads = results.iter().map(|result| result.threads).max();
            let most = |result: &&ResultReport| Some(result.threads) == threads;
            let exact = self.results.iter().filter(most).find(|result| result.ef.is_none());
            text += &format!("{}\n", reached(&results.iter().filter(most).collect::<Vec<_>>(), exact));
        }
        text
    }

    pub(super) fn csv(&self, path: &Path) -> Result<AtomicFile, Failure> {
        let mut writer = csv::Writer::from_writer(AtomicFile::create(path)?);
        self.results.iter().try_for_each(|result| writer.serialize(result)).map_err(|e| cannot_write(path, e))?;
        writer.into_inner().map_err(|e| WriteError::io(path, e.into_error()).into())
    }
}

/// `with 2 threads: recall 0.95 from ef 24, at 41,000 queries per second; 0.99 ..`.
fn reached(results: &[&ResultReport], exact: Option<&ResultReport>) -> String {
    let smallest = results[0].ef;
    let best = results.iter().copied().max_by(|a, b| a.recall.total_cmp(&b.recall));
    let mut said = Vec::new();
    let mut pays = String::new();
    for aim in AIMS {
        let first = results.iter().copied().find(|result| result.recall >= aim);
        if let Some((result, ef)) = first.and_then(|result| Some((result, result.ef?))) {
            let smallest = if result.ef == smallest { " (the smallest tried)" } else { "" };
            said.push(format!("{aim} from ef {ef}{smallest}, at {} queries per second", thousands(result.qps)));
            pays = exact.map_or_else(String::new, |exact| repaid(result, exact, aim));
        } else if let Some((result, ef)) = best.and_then(|result| Some((result, result.ef?))) {
            let rows = if result.traversal == Some("int8") { ", or --traversal f32" } else { "" };
            said.push(format!(
                "{aim} is not reached: the highest is {:.4}, at ef {ef}. Try a larger --ef; if that does not help, a larger --m \
                 and --ef-construction{rows}",
                result.recall
            ));
            break;
        }
    }
    format!("with {}: recall {}{pays}", counted(results[0].threads, "thread"), said.join("; "))
}

/// What a graph is worth beside exact search.
fn repaid(graph: &ResultReport, exact: &ResultReport, aim: f64) -> String {
    let saved = 1.0 / exact.qps - 1.0 / graph.qps;
    if saved > 0.0 {
        let (times, queries) = (graph.qps / exact.qps, thousands((graph.build_s / saved).ceil()));
        format!("\nat {aim} that is {times:.1} times exact search; the build is repaid after {queries} queries")
    } else {
        format!("\nat {aim} exact search is as fast, with nothing to build")
    }
}

/// `41,000`, with three digits that mean something.
pub(super) fn thousands(value: f64) -> String {
    if value < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_are_set_apart() {
        for (value, text) in [(0.25, "0.2"), (99.9, "99.9"), (999.6, "1,000"), (41_234.0, "41,234"), (1e6, "1,000,000")]
        {
            assert_eq!(thousands(value), text);
        }
    }
}
