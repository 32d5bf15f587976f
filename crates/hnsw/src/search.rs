//! The index: built once, searched often.

use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::{
    EqualRows, Exclude, Kernels, Metric, Neighbours, Observer, Rows, Search, SearchError, Side, Subset, Threads, Ties,
    TopK,
};
use rayon::prelude::*;

use crate::build::{BuildOptions, Builder, Quiet, going_on};
use crate::codes::{Codes, Coding, LONGEST};
use crate::graph::Graph;
use crate::points::Points;
use crate::walk::{Near, Seen, Walk};

/// Queries between two words to the observer.
const TOLD: u64 = 256;
/// Queries that are worth a task of their own.
const PER_TASK: usize = 16;
/// Rounding may hide this share of what a walk must tell apart.
pub(crate) const HIDDEN: f64 = 0.25;
/// Entries that a walk begins at.
const STARTS: usize = 8;
/// Nodes whose canonical scores are made at a time.
const SCORED: usize = 4;
/// Nodes whose rows are asked for before they are scored.
const AHEAD: usize = 12;

/// A graph over the rows of a base.
///
/// It holds no rows: the base it was built from must be given to every search.
#[derive(Debug)]
pub struct Index {
    pub(crate) metric: Metric,
    pub(crate) d: usize,
    pub(crate) equal: EqualRows,
    pub(crate) graph: Graph,
    pub(crate) squared_norms: Vec<f64>,
    pub(crate) codes: Option<Codes>,
    /// How far apart the scores of a node's nearest and its farthest candidate are, as products, for one of the densest nodes.
    pub(crate) spread: f64,
    pub(crate) nearby: Option<f64>,
}

/// How an index is searched.
#[derive(Clone, Copy)]
pub struct SearchOptions<'a> {
    /// Neighbours per query.
    pub k: usize,
    /// Nodes that a walk keeps in view: more find more, and take longer. [`Index::ef`] is what is taken.
    pub ef: usize,
    /// How equal scores are ordered.
    pub ties: Ties,
    /// Which base rows are no candidates.
    pub exclude: Exclude<'a>,
    /// Whether walks look at bytes, where the index has them.
    pub codes: bool,
    /// The most memory, in bytes, that an exact search may take of queries whose walks met too few candidates.
    pub memory: u64,
    /// Which threads search.
    pub threads: Threads<'a>,
    /// Told of queries that are done, and may cancel.
    pub observer: &'a dyn Observer,
}

impl SearchOptions<'_> {
    /// `k` neighbours with `ef` 64, on all threads.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            ef: 64,
            ties: Ties::default(),
            exclude: Exclude::None,
            codes: true,
            memory: u64::MAX,
            threads: Threads::default(),
            observer: &(),
        }
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The lists, in canonical scores and order.
    pub lists: Neighbours,
    /// Queries whose walks met too few candidates, and that were searched exactly.
    pub exact: usize,
}

impl Index {
    /// Builds the index of `base`.
    ///
    /// # Errors
    /// As [`Search::self_join`].
    pub fn build(
        base: &dyn Rows,
        metric: Metric,
        options: BuildOptions,
        threads: Threads<'_>,
        observer: &dyn Observer,
    ) -> Result<Self, SearchError> {
        let kernels = Kernels::detect();
        let equal = threads.run(|| EqualRows::all(base))?;
        going_on(observer)?;
        let squared_norms = threads.run(|| {
            let norm = |scratch: &mut Vec<f32>, node: usize| {
                let row = base.row(equal.first(node) as usize, scratch);
                kernels.dot(row, row)
            };
            (0..equal.groups()).into_par_iter().map_init(Vec::new, norm).collect::<Vec<f64>>()
        })?;
        let mut scratch = Vec::new();
        for (node, &squared_norm) in squared_norms.iter().enumerate() {
            let number = equal.first(node) as usize;
            if !squared_norm.is_finite() || squared_norm == 0.0 {
                check(metric, Side::Base, number, base.row(number, &mut scratch), squared_norm)?;
            }
        }
        let points = Points { base, equal: &equal, metric, kernels, squared_norms: &squared_norms };
        let built = Builder { points, options, threads, observer }.build()?;
        let codes = if base.d() <= LONGEST {
            Some(threads.run(|| Codes::new(&points, built.graph.entries(), HIDDEN * built.spread))??)
        } else {
            None
        };
        Ok(Self {
            metric,
            d: base.d(),
            graph: built.graph,
            squared_norms,
            codes,
            equal,
            spread: built.spread,
            nearby: built.nearby,
        })
    }

    /// Whether `base` has the shape and the norms, bit for bit, of the base that the index was built from; looks at every
    /// distinct row, on the current thread pool.
    pub fn is_of(&self, base: &dyn Rows) -> bool {
        let kernels = Kernels::detect();
        (base.n(), base.d()) == (self.equal.rows(), self.d)
            && (0..self.equal.groups()).into_par_iter().all(|node| {
                let mut scratch = Vec::new();
                let row = base.row(self.equal.first(node) as usize, &mut scratch);
                kernels.dot(row, row).to_bits() == self.squared_norms[node].to_bits()
            })
    }

    /// The metric that the index was built for.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The graph over the distinct rows.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// If the index has just been built from lists of nearby clusters ([`Lists`](crate::Lists)): how many times as long exact
    /// ones would have taken, by estimate.
    pub fn nearby(&self) -> Option<f64> {
        self.nearby
    }

    /// Nodes that a walk keeps in view: at least the list, the best one left out and the query itself, at most all.
    pub fn ef(&self, options: &SearchOptions<'_>) -> usize {
        options.ef.max(options.k.saturating_add(2)).min(self.graph.n())
    }

    /// Whether there are rows in bytes for walks to look at.
    pub fn codes(&self) -> bool {
        self.codes.as_ref().is_some_and(Codes::are_of_nodes)
    }

    /// Bytes of memory that the index takes, without the rows.
    pub fn bytes(&self) -> usize {
        let codes = self.codes.as_ref().map_or(0, Codes::bytes);
        self.graph.bytes() + codes + 8 * self.squared_norms.len() + self.equal.bytes()
    }

    /// The neighbours of each row of `base`, the base that the index was built from, among the others.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn self_join(&self, base: &dyn Rows, options: &SearchOptions<'_>) -> Result<Found, SearchError> {
        let exclude = match options.exclude {
            Exclude::None => Exclude::SameIndex,
            other => other,
        };
        self.search(base, base, &SearchOptions { exclude, ..*options })
    }

    /// The neighbours of each query in `base`, the base that the index was built from.
    ///
    /// # Errors
    /// As [`Search::queries`]; [`SearchError::Dimensions`] also if `base` is not as wide as the index.
    ///
    /// # Panics
    /// If `base` has another number of rows than the index was built from.
    pub fn search(
        &self,
        base: &dyn Rows,
        queries: &dyn Rows,
        options: &SearchOptions<'_>,
    ) -> Result<Found, SearchError> {
        for rows in [base, queries] {
            if rows.d() != self.d {
                return Err(SearchError::Dimensions { queries: rows.d(), base: self.d });
            }
        }
        assert_eq!(base.n(), self.equal.rows(), "the index was built from another number of rows");
        options.exclude.check(queries.n(), base.n())?;
        let kernels = Kernels::detect();
        let points =
            Points { base, equal: &self.equal, metric: self.metric, kernels, squared_norms: &self.squared_norms };
        let rough = points.are_rough_enough(self.spread, HIDDEN);
        let done = AtomicU64::new(0);
        let total = queries.n() as u64;
        let mut best: Vec<TopK> = options.threads.run(|| {
            let walked =
                (0..queries.n()).into_par_iter().with_min_len(PER_TASK).map_init(Worker::default, |worker, i| {
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(TOLD) || done == total {
                        options.observer.progress(done, total);
                    }
                    going_on(options.observer)?;
                    self.list(&points, rough, queries, i, options, worker)
                });
            walked.collect::<Result<Vec<TopK>, SearchError>>()
        })??;
        // A walk that keeps all nodes in view has met whatever there is.
        let met_all = self.ef(options) >= self.graph.n();
        let is_short = |&i: &u32| best[i as usize].len() < options.k && !met_all;
        let short: Vec<u32> = (0..best.len() as u32).filter(is_short).collect();
        let exact = self.finish(base, queries, &short, options)?;
        for (&i, list) in short.iter().zip(exact) {
            best[i as usize] = list;
        }
        let lists = options.threads.run(|| Neighbours::collect(best, self.metric, options.k))?;
        Ok(Found { lists, exact: short.len() })
    }

    /// The list of query `i`, as far as a walk finds it.
    fn list(
        &self,
        points: &Points<'_>,
        rough: bool,
        queries: &dyn Rows,
        i: usize,
        options: &SearchOptions<'_>,
        worker: &mut Worker,
    ) -> Result<TopK, SearchError> {
        let Worker { walk, coding, row, starts, nodes } = worker;
        let query = queries.row(i, row);
        let squared_norm = points.kernels.dot(query, query);
        check(self.metric, Side::Queries, i, query, squared_norm)?;
        let ef = self.ef(options);
        let query = Query { points, row: query, squared_norm, number: i, options };
        let graph = &self.graph;
        let coded = self.codes.as_ref().and_then(|codes| Some((codes, codes.code(query.row, squared_norm, coding)?)));
        let starts = match coded {
            // Not every node can be reached from each entry: a walk that keeps all in view begins at all.
            Some((codes, coded)) if ef < graph.n() => {
                codes.nearest_entries(coded, graph.entries(), STARTS.min(ef), coding, starts);
                &*starts
            }
            _ => graph.entries(),
        };
        let coded = coded.filter(|_| options.codes);
        if let Some(mut near) = coded.and_then(|(codes, coded)| codes.near(coded, coding)) {
            return Ok(query.best_of(walk.walk(graph, starts, &mut near, ef), &near, nodes));
        }
        if let Some(mut near) = points.near(query.row, squared_norm).filter(|_| rough) {
            return Ok(query.best_of(walk.walk(graph, starts, &mut near, ef), &near, nodes));
        }
        let mut near = points.near_exactly(query.row, squared_norm);
        Ok(query.best_of(walk.walk(graph, starts, &mut near, ef), &near, nodes))
    }

    /// The lists of the queries `short`, searched exactly.
    fn finish(
        &self,
        base: &dyn Rows,
        queries: &dyn Rows,
        short: &[u32],
        options: &SearchOptions<'_>,
    ) -> Result<Vec<TopK>, SearchError> {
        if short.is_empty() {
            return Ok(Vec::new());
        }
        let of_short = |lists: &[Vec<u32>]| short.iter().map(|&i| lists[i as usize].clone()).collect::<Vec<_>>();
        let ids: Vec<Vec<u32>>;
        let groups;
        let exclude = match options.exclude {
            Exclude::None => Exclude::None,
            Exclude::SameIndex => {
                ids = short.iter().map(|&i| vec![i]).collect();
                Exclude::Ids(&ids)
            }
            Exclude::Ids(all) => {
                ids = of_short(all);
                Exclude::Ids(&ids)
            }
            Exclude::Groups { queries, base } => {
                groups = of_short(queries);
                Exclude::Groups { queries: &groups, base }
            }
        };
        let quiet = Quiet(options.observer);
        let search = Search::new(self.metric, options.k)
            .ties(options.ties)
            .exclude(exclude)
            .threads(options.threads)
            .memory(options.memory)
            .observer(&quiet);
        search.best(base, &Subset::new(queries, short))
    }
}

/// A query that is walked for.
struct Query<'a> {
    points: &'a Points<'a>,
    row: &'a [f32],
    squared_norm: f64,
    number: usize,
    options: &'a SearchOptions<'a>,
}

impl Query<'_> {
    /// The best of the nodes in view by canonical scores. None is made for a node that rounding cannot have hidden among the
    /// best, unless all nodes are in view.
    fn best_of(&self, beam: &[Seen], near: &impl Near, nodes: &mut Vec<u32>) -> TopK {
        let Self { points, options, .. } = *self;
        let mut best = TopK::new(options.k, points.metric, options.ties);
        let all = beam.len() == points.equal.groups();
        beam.iter().take(AHEAD).for_each(|seen| points.prefetch(seen.node()));
        for (i, four) in beam.chunks(SCORED).enumerate() {
            beam.iter().skip(i * SCORED + AHEAD).take(SCORED).for_each(|seen| points.prefetch(seen.node()));
            let last = best.threshold().filter(|_| !all).map(|last| near.without_rounding(last));
            let matters = |seen: &&Seen| last.is_none_or(|last| f64::from(seen.score()) + near.margin(**seen) >= last);
            nodes.clear();
            nodes.extend(four.iter().filter(matters).map(|seen| seen.node()));
            points.canonical(self.row, self.squared_norm, nodes, |node, score| {
                if !score.is_nan() {
                    points.for_each_row(node, |row| {
                        if !options.exclude.excludes(self.number, row) {
                            best.offer(row, score);
                        }
                    });
                }
            });
        }
        best
    }
}

/// Whether row `i` has scores.
fn check(metric: Metric, side: Side, i: usize, row: &[f32], squared_norm: f64) -> Result<(), SearchError> {
    if let Some(column) = row.iter().position(|value| !value.is_finite()) {
        return Err(SearchError::NonFinite { side, row: i, column, value: row[column] });
    }
    if squared_norm == 0.0 && metric == Metric::Cosine {
        return Err(SearchError::ZeroVector { side, row: i });
    }
    Ok(())
}

/// What walks on one thread work with.
#[derive(Default)]
struct Worker {
    walk: Walk,
    coding: Coding,
    row: Vec<f32>,
    starts: Vec<u32>,
    nodes: Vec<u32>,
}
