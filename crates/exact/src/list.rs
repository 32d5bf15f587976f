//! The candidates of one query: from the filter's hits to canonical scores.

use mnno_simd::{Hit, Kernels, prefetch};

use crate::bound::QueryBound;
use crate::panel::Panel;
use crate::{Metric, Rows, TopK};

/// Candidates scored at a time: enough chains of f64 additions to hide their latency.
const SCORED_AT_ONCE: usize = 4;

/// A base row that may belong to the best.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The score is at most this.
    upper: f32,
    /// The score is at least this.
    lower: f32,
    /// Position in the panel.
    index: u32,
}

/// The candidates of one query: the best of those that have been scored, and some that wait for it.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// What the upper bound of a candidate must reach.
    pub(crate) threshold: f32,
    waiting: Vec<Candidate>,
    pub(crate) best: TopK,
}

/// What a list must know of its query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    /// Its number.
    pub(crate) number: usize,
    /// Its `dot(q, q)`.
    pub(crate) squared_norm: f64,
    pub(crate) bound: QueryBound,
}

/// Scores candidates on one thread.
pub(crate) struct Scorer<'a> {
    pub(crate) metric: Metric,
    pub(crate) kernels: Kernels,
    pub(crate) base: &'a dyn Rows,
    pub(crate) queries: &'a dyn Rows,
    query_scratch: Vec<f32>,
    row_scratch: [Vec<f32>; SCORED_AT_ONCE],
}

impl<'a> Scorer<'a> {
    pub(crate) fn new(metric: Metric, kernels: Kernels, base: &'a dyn Rows, queries: &'a dyn Rows) -> Self {
        Self { metric, kernels, base, queries, query_scratch: Vec::new(), row_scratch: Default::default() }
    }

    /// Asks for rows that will be scored soon.
    fn prefetch(&mut self, candidates: &[Candidate], panel: &Panel) {
        for candidate in candidates {
            if let Some(row) = self.base.borrowed(panel.first + candidate.index as usize) {
                prefetch(row);
            }
        }
    }

    /// Offers the canonical scores of `candidates` to `best`.
    ///
    /// Checked rows give no NaN. A row that gives one has changed since it was checked, as a mapped file can: whoever
    /// owns the rows has to notice that, and the search only must not fail of it.
    fn score<const R: usize>(&mut self, candidates: &[Candidate; R], query: Query, panel: &Panel, best: &mut TopK) {
        let q = self.queries.row(query.number, &mut self.query_scratch);
        let mut scratch = self.row_scratch.iter_mut();
        let positions = candidates.map(|c| c.index as usize);
        let rows = positions.map(|p| self.base.row(panel.first + p, scratch.next().expect("R scratch rows")));
        let norms = positions.map(|p| panel.squared_norm(p));
        let scores = self.metric.scores(self.kernels, q, rows, query.squared_norm, norms);
        for (position, score) in positions.into_iter().zip(scores).filter(|(_, score)| !score.is_nan()) {
            best.offer((panel.first + position) as u32, score);
        }
    }
}

impl List {
    pub(crate) fn new(best: TopK) -> Self {
        Self { threshold: f32::NEG_INFINITY, waiting: Vec::new(), best }
    }

    /// Most candidates that wait, in a list of `k` places.
    fn most_waiting(k: usize) -> usize {
        k.saturating_add(1).saturating_mul(4).saturating_add(16)
    }

    /// Bytes of memory that the waiting candidates of a list of `k` places take at most, of `n` base rows.
    pub(crate) fn waiting_memory(k: usize, n: usize) -> u64 {
        (Self::most_waiting(k).min(n) as u64).saturating_mul(2 * size_of::<Candidate>() as u64)
    }

    /// Takes a hit of the filter.
    pub(crate) fn take(&mut self, hit: Hit, query: Query, panel: &Panel, scorer: &mut Scorer<'_>) {
        // The threshold may have risen since the scan.
        if hit.upper < self.threshold {
            return;
        }
        if self.waiting.capacity() == 0 {
            // Nearly every list comes to hold so many.
            self.waiting.reserve_exact(Self::most_waiting(self.best.k()).min(64));
        }
        self.waiting.push(Candidate { upper: hit.upper, lower: hit.lower, index: hit.base });
        let most = Self::most_waiting(self.best.k());
        if self.waiting.len() >= most {
            self.raise_threshold(query.bound);
            if self.waiting.len() > most / 4 * 3 {
                self.settle(query, panel, scorer);
            }
        }
    }

    /// Raises the threshold if enough candidates wait to make it worth while.
    pub(crate) fn tidy(&mut self, bound: QueryBound) {
        if self.waiting.len() >= self.best.k().saturating_add(1).saturating_mul(2) {
            self.raise_threshold(bound);
        }
    }

    /// The `k + 1` best lower bounds are a threshold.
    fn raise_threshold(&mut self, bound: QueryBound) {
        let k = self.best.k();
        if self.waiting.len() > k {
            let (_, &mut kth, _) = self.waiting.select_nth_unstable_by(k, |a, b| b.lower.total_cmp(&a.lower));
            self.threshold = self.threshold.max(bound.threshold_from_lower(kth.lower));
        }
        let threshold = self.threshold;
        self.waiting.retain(|c| c.upper >= threshold);
    }

    /// Scores those that wait, best first, until the rest cannot belong to the best.
    pub(crate) fn settle(&mut self, query: Query, panel: &Panel, scorer: &mut Scorer<'_>) {
        self.waiting.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        let mut rest = self.waiting.as_slice();
        while rest.first().is_some_and(|c| c.upper >= self.threshold) {
            if let Some((four, others)) = rest.split_first_chunk::<SCORED_AT_ONCE>() {
                scorer.prefetch(&others[..others.len().min(SCORED_AT_ONCE)], panel);
                scorer.score(four, query, panel, &mut self.best);
                rest = others;
            } else {
                scorer.score(&[rest[0]], query, panel, &mut self.best);
                rest = &rest[1..];
            }
            if let Some(score) = self.best.threshold() {
                self.threshold = self.threshold.max(query.bound.threshold(score));
            }
        }
        self.waiting.clear();
    }

    /// Settles the list and gives back what the waiting candidates took.
    pub(crate) fn finish(&mut self, query: Query, panel: &Panel, scorer: &mut Scorer<'_>) {
        if self.waiting.len() > self.best.k() + 1 {
            self.raise_threshold(query.bound);
        }
        self.settle(query, panel, scorer);
        self.waiting = Vec::new();
    }
}
