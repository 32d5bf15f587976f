//! The exact lists that recall is measured against: computed, or kept from an earlier run.

use std::path::PathBuf;
use std::time::Instant;

use mnno::{Kernels, Metric, NO_NEIGHBOUR, Neighbours, Rows, Search, Threads};
use serde::Serialize;

use super::cache::{Cache, Entry, Question};
use super::given::GivenReport;
use super::{Asking, Setting};
use crate::program::budget::Budget;
use crate::program::failure::Failure;
use crate::program::inputs;
use crate::program::progress::Progress;
use crate::program::report::note;

/// Where exact lists come from.
#[derive(Serialize)]
pub(super) struct TruthReport {
    /// `computed` or `cache`.
    source: &'static str,
    /// Where they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Of the search, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// Queries whose last neighbour and the best one left out have equal scores.
    tied_at_k: usize,
    /// How they compare with lists that were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) given: Option<GivenReport>,
}

impl TruthReport {
    fn new(lists: &Neighbours, file: Option<PathBuf>, seconds: Option<f64>) -> Self {
        Self {
            source: if seconds.is_some() { "computed" } else { "cache" },
            file: file.map(|file| file.display().to_string()),
            seconds,
            tied_at_k: lists.tied_rows(),
            given: None,
        }
    }

    /// `exact search, 0.21 s, kept in ..`.
    pub(super) fn text(&self) -> String {
        match (self.seconds, &self.file) {
            (Some(seconds), Some(file)) => format!("exact search, {seconds:.2} s; kept in {file}"),
            (Some(seconds), None) => format!("exact search, {seconds:.2} s"),
            (None, file) => format!("read from {}", file.as_deref().unwrap_or_default()),
        }
    }
}

/// The exact lists of the rows that ask.
pub(super) fn find(
    setting: &Setting<'_>,
    asking: &Asking<'_>,
    cache: &Cache,
    budget: &Budget,
) -> Result<(Neighbours, TruthReport), Failure> {
    let Setting { base, metric, k, .. } = *setting;
    let question = Question::new(base, asking, metric, k);
    match cache.read(&question) {
        Entry::Lists(lists, path) if are_of(&lists, setting, asking) => {
            let report = TruthReport::new(&lists, Some(path), None);
            return Ok((lists, report));
        }
        Entry::Lists(_, path) | Entry::Damaged(path) => {
            note(&format!("{}: the kept truth is damaged: it is computed again", path.display()));
        }
        Entry::Missing => {}
    }
    let started = Instant::now();
    let progress = Progress::new("truth", "million pairs", setting.interruption);
    let search = Search::new(metric, k)
        .exclude(asking.exclude())
        .kernels(setting.kernels)
        .threads(Threads::Pool(setting.threads))
        .memory(budget.left())
        .observer(&progress);
    let lists = asking
        .with_rows(|queries| search.queries(&base.matrix, queries))
        .map_err(|e| inputs::search_failure(e, base.name(), asking.input.name(), k, budget))?;
    drop(progress);
    let seconds = started.elapsed().as_secs_f64();
    // What is kept must be of the content that its name tells of.
    base.matrix.verify_unchanged()?;
    asking.input.matrix.verify_unchanged()?;
    let file = cache.write(&question, &lists).unwrap_or_else(|e| {
        note(&format!("the truth is not kept for the next run: {e}"));
        None
    });
    let report = TruthReport::new(&lists, file, Some(seconds));
    Ok((lists, report))
}

/// Whether lists that were kept have the scores of the rows as they are.
fn are_of(lists: &Neighbours, setting: &Setting<'_>, asking: &Asking<'_>) -> bool {
    let (base, exclude) = (&setting.base.matrix, asking.exclude());
    let scorer = Scorer { kernels: setting.kernels, metric: setting.metric };
    asking.with_rows(|queries| {
        let mut scratch = Vec::new();
        (0..lists.n()).all(|i| {
            let (list, scores) = (lists.list(i), lists.list_scores(i));
            let query = queries.row(i, &mut scratch);
            list.iter().zip(scores).all(|(&index, &score)| {
                index != NO_NEIGHBOUR
                    && (index as usize) < base.n()
                    && !exclude.excludes(i, index)
                    && scorer.score(query, base, index).to_bits() == score.to_bits()
            })
        })
    })
}

/// Canonical scores of single pairs.
#[derive(Clone, Copy)]
pub(super) struct Scorer {
    pub(super) kernels: Kernels,
    pub(super) metric: Metric,
}

impl Scorer {
    pub(super) fn score(self, query: &[f32], base: &dyn Rows, index: u32) -> f64 {
        let mut scratch = Vec::new();
        let row = base.row(index as usize, &mut scratch);
        let squared_norm = |x| self.kernels.dot(x, x);
        self.metric.scores(self.kernels, query, [row], squared_norm(query), [squared_norm(row)])[0]
    }
}
