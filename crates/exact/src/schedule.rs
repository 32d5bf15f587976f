//! The walk over pairs of blocks, in parallel.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mnno_simd::{Hit, Tile};
use rayon::prelude::*;

use crate::error::Side;
use crate::list::{List, Query, Scorer};
use crate::pack::{Block, Role, Scratch};
use crate::panel::Panel;
use crate::space::Space;
use crate::sweep::{Asking, Sweep};
use crate::{Exclude, Observer, Rows, SearchError, TopK};

/// What all threads of a search share.
pub(crate) struct Job<'a> {
    pub(crate) space: Space,
    pub(crate) k: usize,
    pub(crate) base: &'a dyn Rows,
    pub(crate) queries: &'a dyn Rows,
    pub(crate) exclude: Exclude<'a>,
    pub(crate) group_sizes: HashMap<u32, usize>,
    pub(crate) observer: &'a dyn Observer,
    /// Pairs of rows done, and in all.
    pub(crate) done: AtomicU64,
    pub(crate) total: u64,
}

impl Job<'_> {
    fn scorer(&self) -> Scorer<'_> {
        Scorer::new(self.space.metric, self.space.kernels, self.base, self.queries)
    }

    fn ranks(&self, queries: &[Query]) -> Vec<usize> {
        let rank =
            |q: &Query| self.k.saturating_add(1).saturating_add(self.exclude.at_most(q.number, &self.group_sizes));
        queries.iter().map(rank).collect()
    }

    /// Told between pairs of blocks.
    fn advance(&self, pairs: usize) -> Result<(), SearchError> {
        let pairs = pairs as u64;
        self.observer.progress(self.done.fetch_add(pairs, Ordering::Relaxed) + pairs, self.total);
        if self.observer.cancelled() { Err(SearchError::Interrupted) } else { Ok(()) }
    }

    /// Hands the hits of one block's queries, whose first has position `first`, to their lists.
    fn take(
        &self,
        hits: &[Hit],
        first: usize,
        lists: &mut [List],
        queries: &[Query],
        panel: &Panel,
        scorer: &mut Scorer<'_>,
    ) {
        for &hit in hits {
            let i = hit.query as usize - first;
            let (base, query) = (hit.base as usize, queries[i]);
            // Rows past the last pad a block.
            if base < panel.n() && !self.exclude.excludes(query.number, (panel.first + base) as u32) {
                lists[i].take(hit, query, panel, scorer);
            }
        }
    }

    /// Searches all queries in a panel, `block` at a time; `lists` has one list for each.
    pub(crate) fn search_panel(&self, panel: &Panel, block: usize, lists: &mut [List]) -> Result<(), SearchError> {
        let workers = Workers::default();
        lists.par_chunks_mut(block).enumerate().try_for_each(|(task, lists)| {
            workers.with(
                || (Block::new(), Scratch::default(), Sweep::default(), self.scorer()),
                |worker| {
                    let (asking, scratch, sweep, scorer) = worker;
                    let first = task * block;
                    let rows = first..first + lists.len();
                    asking.fill(self.queries, rows, Side::Queries, Role::Rows, &self.space, scratch)?;
                    let queries = asking.queries();
                    let ranks = self.ranks(&queries);
                    let asking =
                        Asking { block: asking, tiling: asking.tiling(), queries: &queries, ranks: &ranks, number: 0 };
                    thresholds(lists, asking.block, &mut sweep.thresholds);
                    for base in &panel.blocks {
                        sweep.pair(&asking, base, base.first - panel.first, false, &self.space, |sweep| {
                            raise(lists, &sweep.thresholds);
                            self.take(&sweep.row_hits, 0, lists, &queries, panel, scorer);
                            thresholds(lists, asking.block, &mut sweep.thresholds);
                        });
                        self.advance(lists.len() * base.n)?;
                    }
                    for (list, &query) in lists.iter_mut().zip(&queries) {
                        list.finish(query, panel, scorer);
                    }
                    Ok(())
                },
            )
        })
    }

    /// Searches the rows of a panel that holds the whole base in themselves, each pair of blocks once.
    pub(crate) fn self_join(&self, panel: &Panel, list: &List) -> Result<Vec<TopK>, SearchError> {
        let blocks = &panel.blocks;
        let askers: Vec<Asker> = blocks.par_iter().map(|block| self.asker(block, list)).collect();
        let new_worker = || (Vec::<Tile>::new(), None, Sweep::default(), self.scorer());
        let workers = Workers::default();

        // First each block with itself, so that every row has a threshold before others ask on its behalf. Then block i
        // with i + 1, i + 2 .. in a circle, half the way around: each pair once, and the same work for every block.
        let pairs: Vec<(usize, usize)> = (0..blocks.len())
            .flat_map(|i| (1..=blocks.len() / 2).map(move |offset| (i, offset)))
            .filter(|&(i, offset)| 2 * offset < blocks.len() || i < offset)
            .map(|(i, offset)| (i, (i + offset) % blocks.len()))
            .collect();
        let diagonal: Vec<(usize, usize)> = (0..blocks.len()).map(|i| (i, i)).collect();
        for tasks in [diagonal, pairs] {
            tasks.into_par_iter().try_for_each(|(i, j)| {
                workers.with(new_worker, |(tiles, turned, sweep, scorer)| {
                    let (block, base, both) = (&blocks[i], &blocks[j], i != j);
                    if *turned != Some(i) {
                        block.turned(tiles);
                        *turned = Some(i);
                    }
                    let (queries, ranks) = (&askers[i].queries, &askers[i].ranks);
                    let asking = Asking { block, tiling: block.tiling_of(tiles), queries, ranks, number: block.first };
                    let (rows, columns) = (&askers[i], &askers[j]);
                    sweep.thresholds.clone_from(&rows.lists().thresholds);
                    if both {
                        sweep.column_thresholds.clone_from(&columns.lists().thresholds);
                    }
                    sweep.pair(&asking, base, base.first, both, &self.space, |sweep| {
                        self.log(rows, &mut sweep.thresholds, &sweep.row_hits, !both, panel, scorer);
                        if both {
                            self.log(columns, &mut sweep.column_thresholds, &sweep.column_hits, false, panel, scorer);
                        }
                    });
                    self.advance(block.n * base.n * if both { 2 } else { 1 })
                })
            })?;
        }
        askers.par_iter().for_each_init(
            || self.scorer(),
            |scorer, asker| {
                let mut lists = asker.lists();
                self.drain(&mut lists, &[], asker, panel, scorer);
                for (list, &query) in lists.lists.iter_mut().zip(&asker.queries) {
                    list.finish(query, panel, scorer);
                }
            },
        );
        let lists = askers.into_iter().map(|a| a.shared.into_inner().unwrap_or_else(PoisonError::into_inner).lists);
        Ok(lists.flatten().map(|list| list.best).collect())
    }

    fn asker(&self, block: &Block, list: &List) -> Asker {
        let queries = block.queries();
        let ranks = self.ranks(&queries);
        let lists = vec![list.clone(); block.n];
        let mut thresholds = Vec::new();
        self::thresholds(&lists, block, &mut thresholds);
        Asker { first: block.first, queries, ranks, shared: Mutex::new(Shared { lists, thresholds, hits: Vec::new() }) }
    }

    /// Adds hits to those of a block; `thresholds`, which the sweep may have raised, become the block's.
    fn log(
        &self,
        asker: &Asker,
        thresholds: &mut Vec<f32>,
        hits: &[Hit],
        drain: bool,
        panel: &Panel,
        scorer: &mut Scorer<'_>,
    ) {
        let mut shared = asker.lists();
        for (known, &raised) in shared.thresholds.iter_mut().zip(thresholds.iter()) {
            *known = known.max(raised);
        }
        if drain || shared.hits.len() + hits.len() >= HITS_PER_LIST * shared.lists.len() {
            self.drain(&mut shared, hits, asker, panel, scorer);
        } else {
            shared.hits.extend_from_slice(hits);
        }
        thresholds.clone_from(&shared.thresholds);
    }

    /// Hands the hits of a block, and some more, to its lists.
    fn drain(&self, shared: &mut Shared, more: &[Hit], asker: &Asker, panel: &Panel, scorer: &mut Scorer<'_>) {
        let Shared { lists, thresholds, hits } = shared;
        raise(lists, thresholds);
        self.take(hits, asker.first, lists, &asker.queries, panel, scorer);
        self.take(more, asker.first, lists, &asker.queries, panel, scorer);
        hits.clear();
        for ((list, threshold), query) in lists.iter_mut().zip(thresholds).zip(&asker.queries) {
            list.tidy(query.bound);
            *threshold = list.threshold;
        }
    }
}

/// What threads work with, kept from task to task: as many as there are threads.
struct Workers<W>(Mutex<Vec<W>>);

impl<W> Default for Workers<W> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<W> Workers<W> {
    fn with<T>(&self, new: impl FnOnce() -> W, work: impl FnOnce(&mut W) -> T) -> T {
        let idle = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut worker = kept.unwrap_or_else(new);
        let result = work(&mut worker);
        idle().push(worker);
        result
    }
}

/// Hits per list that are gathered before they are handed out: the lists of a block leave the cache between two blocks.
pub(crate) const HITS_PER_LIST: usize = 4;

/// A block of the self-join, whose rows ask and are asked for.
struct Asker {
    first: usize,
    queries: Vec<Query>,
    ranks: Vec<usize>,
    shared: Mutex<Shared>,
}

impl Asker {
    fn lists(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Shared {
    lists: Vec<List>,
    /// Those of the lists, and of the block's padding.
    thresholds: Vec<f32>,
    /// Not yet handed to the lists.
    hits: Vec<Hit>,
}

/// The thresholds of a block's lists, and of its padding, which asks for nothing.
fn thresholds(lists: &[List], block: &Block, out: &mut Vec<f32>) {
    out.clear();
    out.extend(lists.iter().map(|list| list.threshold));
    out.resize(block.padded(), f32::INFINITY);
}

/// Keeps what a sweep has raised.
fn raise(lists: &mut [List], thresholds: &[f32]) {
    for (list, &threshold) in lists.iter_mut().zip(thresholds) {
        list.threshold = list.threshold.max(threshold);
    }
}
