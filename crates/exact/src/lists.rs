//! The lists of a block of queries: from the filter's hits to canonical scores.

use bytemuck::Zeroable;
use mnno_simd::{Hit, Kernels, prefetch};

use crate::bound::QueryBound;
use crate::pack::Block;
use crate::panel::Panel;
use crate::{Exclude, Metric, Rows, SearchError, TopK};

/// Hits scored at a time: enough chains of f64 additions to hide their latency.
const SCORED_AT_ONCE: usize = 4;
/// Hits ahead of those that are scored whose rows are asked for.
const AHEAD: usize = 8;

/// What a list must know of its query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    /// Its number.
    pub(crate) number: usize,
    /// Its `dot(q, q)`.
    pub(crate) squared_norm: f64,
    pub(crate) bound: QueryBound,
}

/// The queries of a block.
#[derive(Debug)]
pub(crate) struct Queries {
    /// What the number of the first one is in hits.
    pub(crate) first: usize,
    pub(crate) all: Vec<Query>,
}

/// The best of each query of a block among those that were scored, and hits that wait for it.
///
/// The hits of all queries wait in one buffer, as they came, and are sorted out only when many have gathered: so handing
/// one in costs no more than writing it down.
#[derive(Debug)]
pub(crate) struct Lists<'a> {
    /// What the upper bound of a hit must reach, per query; infinite for those that pad the block.
    pub(crate) thresholds: Vec<f32>,
    best: &'a mut [TopK],
    hits: &'a mut [Hit],
    /// How many of `hits` wait.
    waiting: usize,
    /// How many may gather before they are sorted out.
    enough: usize,
}

/// Where hits come from: what all blocks share.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) panel: &'a Panel,
    pub(crate) exclude: Exclude<'a>,
}

/// Scores hits on one thread.
pub(crate) struct Scorer<'a> {
    metric: Metric,
    kernels: Kernels,
    base: &'a dyn Rows,
    queries: &'a dyn Rows,
    query_scratch: Vec<f32>,
    row_scratch: [Vec<f32>; SCORED_AT_ONCE],
    /// Hits by query, and where those of each end.
    sorted: Vec<Hit>,
    ends: Vec<usize>,
    lower: Vec<f32>,
}

impl<'a> Scorer<'a> {
    pub(crate) fn new(metric: Metric, kernels: Kernels, base: &'a dyn Rows, queries: &'a dyn Rows) -> Self {
        Self {
            metric,
            kernels,
            base,
            queries,
            query_scratch: Vec::new(),
            row_scratch: Default::default(),
            sorted: Vec::new(),
            ends: Vec::new(),
            lower: Vec::new(),
        }
    }

    /// Offers the canonical scores of `hits`, all of one query, to `best`.
    ///
    /// Checked rows give no NaN. A row that gives one has changed since it was checked, as a mapped file can: whoever
    /// owns the rows has to notice that, and the search only must not fail of it.
    fn score<const R: usize>(&mut self, hits: &[Hit; R], query: Query, panel: &Panel, best: &mut TopK) {
        let q = self.queries.row(query.number, &mut self.query_scratch);
        let mut scratch = self.row_scratch.iter_mut();
        let positions = hits.map(|hit| hit.base as usize);
        let rows = positions.map(|p| self.base.row(panel.first + p, scratch.next().expect("R scratch rows")));
        let norms = positions.map(|p| panel.squared_norm(p));
        let scores = self.metric.scores(self.kernels, q, rows, query.squared_norm, norms);
        for (position, score) in positions.into_iter().zip(scores).filter(|(_, score)| !score.is_nan()) {
            best.offer((panel.first + position) as u32, score);
        }
    }

    /// Puts hits in the order of their queries, in `sorted`, where those of the `i`-th end at `ends[i]`.
    fn sort(&mut self, hits: &[Hit], queries: &Queries) {
        self.ends.clear();
        self.ends.resize(queries.all.len() + 1, 0);
        for hit in hits {
            self.ends[hit.query as usize - queries.first + 1] += 1;
        }
        for i in 1..self.ends.len() {
            self.ends[i] += self.ends[i - 1];
        }
        self.sorted.resize(hits.len(), Hit::zeroed());
        for hit in hits {
            let place = &mut self.ends[hit.query as usize - queries.first];
            self.sorted[*place] = *hit;
            *place += 1;
        }
    }

    /// What the `k + 1` best lower bounds are as a threshold, if there are so many.
    fn threshold(&mut self, hits: &[Hit], k: usize, bound: QueryBound) -> Option<f32> {
        if hits.len() <= k {
            return None;
        }
        self.lower.clear();
        self.lower.extend(hits.iter().map(|hit| hit.lower));
        let (_, &mut kth, _) = self.lower.select_nth_unstable_by(k, |a, b| b.total_cmp(a));
        Some(bound.threshold_from_lower(kth))
    }
}

impl Queries {
    /// The rows of a block, the first of which has the number `first` in hits.
    pub(crate) fn new(block: &Block, first: usize) -> Self {
        Self { first, all: block.queries() }
    }
}

impl<'a> Lists<'a> {
    /// Hits that there must be room for per list of `k` places, of `n` base rows.
    pub(crate) fn room(k: usize, n: usize) -> usize {
        k.saturating_add(1).saturating_mul(6).min(n).max(1)
    }

    /// Room for the hits of `lists` lists of `k` places, of `n` base rows; fresh memory of which what is not needed is not touched.
    pub(crate) fn rooms(lists: usize, k: usize, n: usize) -> Result<Vec<Hit>, SearchError> {
        let hits = lists.saturating_mul(Self::room(k, n));
        bytemuck::allocation::try_zeroed_vec(hits).map_err(|()| SearchError::Allocation {
            bytes: hits.saturating_mul(size_of::<Hit>()),
            source: std::io::ErrorKind::OutOfMemory.into(),
        })
    }

    /// Lists that hold `best`, of the first rows of `block`, with room for their hits.
    pub(crate) fn new(queries: &Queries, block: &Block, best: &'a mut [TopK], hits: &'a mut [Hit]) -> Self {
        let known = best.iter().zip(&queries.all);
        let mut thresholds: Vec<f32> = known
            .map(|(best, query)| best.threshold().map_or(f32::NEG_INFINITY, |score| query.bound.threshold(score)))
            .collect();
        thresholds.resize(block.padded(), f32::INFINITY);
        let mut lists = Self { thresholds, best, hits, waiting: 0, enough: 0 };
        lists.enough = lists.least();
        lists
    }

    fn k(&self) -> usize {
        self.best.first().map_or(0, TopK::k)
    }

    /// So few hits are not worth a sorting.
    fn least(&self) -> usize {
        ((self.k().saturating_add(1)) * 3 / 2).saturating_mul(self.best.len()).min(self.hits.len())
    }

    /// Keeps the higher thresholds.
    pub(crate) fn raise(&mut self, thresholds: &[f32]) {
        for (known, &raised) in self.thresholds.iter_mut().zip(thresholds) {
            *known = known.max(raised);
        }
    }

    /// Takes hits of the filter.
    pub(crate) fn take(&mut self, hits: &[Hit], queries: &Queries, source: Source<'_>, scorer: &mut Scorer<'_>) {
        for &hit in hits {
            let (i, base) = (hit.query as usize - queries.first, hit.base as usize);
            // The threshold may have risen since the scan; rows past the last pad a block.
            if hit.upper >= self.thresholds[i]
                && base < source.panel.n()
                && !source.exclude.excludes(queries.all[i].number, (source.panel.first + base) as u32)
            {
                if self.waiting == self.hits.len() {
                    self.tidy(queries, source.panel, scorer);
                }
                self.hits[self.waiting] = hit;
                self.waiting += 1;
            }
        }
        if self.waiting >= self.enough {
            self.tidy(queries, source.panel, scorer);
        }
    }

    /// Sorts out the hits that wait: raises thresholds, drops what no longer reaches them, and scores hits where too many are
    /// left. The rest waits by query.
    pub(crate) fn tidy(&mut self, queries: &Queries, panel: &Panel, scorer: &mut Scorer<'_>) {
        let k = self.k();
        // On average, so that less waits afterwards than there is room for.
        let most = self.hits.len() / self.best.len().max(1) / 4 * 3;
        scorer.sorted.reserve_exact(self.hits.len().saturating_sub(scorer.sorted.len()));
        scorer.sort(&self.hits[..self.waiting], queries);
        self.waiting = 0;
        let mut sorted = std::mem::take(&mut scorer.sorted);
        let mut begin = 0;
        for (i, query) in queries.all.iter().enumerate() {
            let list = &mut sorted[begin..scorer.ends[i]];
            begin += list.len();
            let threshold = &mut self.thresholds[i];
            if let Some(raised) = scorer.threshold(list, k, query.bound) {
                *threshold = threshold.max(raised);
            }
            let mut kept = 0;
            for j in 0..list.len() {
                if list[j].upper >= *threshold {
                    list[kept] = list[j];
                    kept += 1;
                }
            }
            let list = &mut list[..kept];
            if self.waiting + kept > (i + 1) * most {
                sort_by_upper(list);
                score_all(list, queries, panel, scorer, &mut self.thresholds, self.best);
            } else {
                self.hits[self.waiting..self.waiting + kept].copy_from_slice(list);
                self.waiting += kept;
            }
        }
        scorer.sorted = sorted;
        self.enough = (2 * self.waiting).clamp(self.least(), self.hits.len());
    }

    /// Scores what waits.
    pub(crate) fn finish(&mut self, queries: &Queries, panel: &Panel, scorer: &mut Scorer<'_>) {
        self.tidy(queries, panel, scorer);
        let hits = &mut self.hits[..self.waiting];
        hits.chunk_by_mut(|a, b| a.query == b.query).for_each(sort_by_upper);
        score_all(hits, queries, panel, scorer, &mut self.thresholds, self.best);
        self.waiting = 0;
    }
}

fn sort_by_upper(hits: &mut [Hit]) {
    hits.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
}

/// Scores hits, which come by query, the highest upper bounds first, until the rest of a query's cannot belong to its best.
fn score_all(
    hits: &[Hit],
    queries: &Queries,
    panel: &Panel,
    scorer: &mut Scorer<'_>,
    thresholds: &mut [f32],
    best: &mut [TopK],
) {
    let (mut rest, mut asked) = (hits, 0);
    while let Some(hit) = rest.first() {
        let position = hits.len() - rest.len();
        let ahead = (position + AHEAD).min(hits.len());
        for hit in &hits[asked.max(position).min(ahead)..ahead] {
            if let Some(row) = scorer.base.borrowed(panel.first + hit.base as usize) {
                prefetch(row);
            }
        }
        asked = ahead;
        let i = hit.query as usize - queries.first;
        let query = queries.all[i];
        if hit.upper < thresholds[i] {
            rest = &rest[rest.iter().take_while(|other| other.query == hit.query).count()..];
            continue;
        }
        match rest.split_first_chunk::<SCORED_AT_ONCE>() {
            Some((four, others)) if four[SCORED_AT_ONCE - 1].query == hit.query => {
                scorer.score(four, query, panel, &mut best[i]);
                rest = others;
            }
            _ => {
                scorer.score(&[*hit], query, panel, &mut best[i]);
                rest = &rest[1..];
            }
        }
        if let Some(score) = best[i].threshold() {
            thresholds[i] = thresholds[i].max(query.bound.threshold(score));
        }
    }
}
