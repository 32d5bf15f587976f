//! The walk over pairs of blocks, in parallel.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mnno_simd::{Hit, Tile};
use rayon::prelude::*;

use crate::error::Side;
use crate::lists::{Lists, Queries, Query, Scorer, Source};
use crate::pack::Role;
use crate::pages::Pages;
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

    fn ranks(&self, queries: &Queries) -> Vec<usize> {
        let rank =
            |q: &Query| self.k.saturating_add(1).saturating_add(self.exclude.at_most(q.number, &self.group_sizes));
        queries.all.iter().map(rank).collect()
    }

    /// Told between pairs of blocks.
    fn advance(&self, pairs: usize) -> Result<(), SearchError> {
        let pairs = pairs as u64;
        self.observer.progress(self.done.fetch_add(pairs, Ordering::Relaxed) + pairs, self.total);
        if self.observer.cancelled() { Err(SearchError::Interrupted) } else { Ok(()) }
    }

    /// Searches all queries in a panel, `block` at a time; `best` has one list for each.
    pub(crate) fn search_panel(&self, panel: &Panel, block: usize, best: &mut [TopK]) -> Result<(), SearchError> {
        let source = Source { panel, exclude: self.exclude };
        let n_base = self.base.n();
        let new_worker = || (Panel::new(block, Role::Rows), Vec::new(), Sweep::default(), self.scorer());
        let workers = Workers::default();
        best.par_chunks_mut(block).enumerate().try_for_each(|(task, best)| {
            workers.with(new_worker, |(asking, hits, sweep, scorer)| {
                let first = task * block;
                if hits.is_empty() {
                    *hits = Lists::rooms(block, self.k, n_base)?;
                }
                asking.fill(self.queries, first..first + best.len(), Side::Queries, &self.space)?;
                let asking = asking.packed(0);
                let queries = Queries::new(asking.block, 0);
                let ranks = self.ranks(&queries);
                let n = best.len();
                let mut lists = Lists::new(&queries, asking.block, best, &mut hits[..n * Lists::room(self.k, n_base)]);
                let asking = Asking { packed: asking, queries: &queries.all, ranks: &ranks, number: 0 };
                sweep.thresholds.clone_from(&lists.thresholds);
                for (i, base) in panel.blocks.iter().enumerate() {
                    sweep.pair(&asking, panel.packed(i), base.first - panel.first, false, &self.space, |sweep| {
                        lists.raise(&sweep.thresholds);
                        lists.take(&sweep.row_hits, &queries, source, scorer);
                        sweep.thresholds.clone_from(&lists.thresholds);
                    });
                    self.advance(n * base.n)?;
                }
                lists.finish(&queries, panel, scorer);
                Ok(())
            })
        })
    }

    /// Searches the rows of a panel that holds the whole base in themselves, each pair of blocks once; `best` has one list
    /// for each.
    pub(crate) fn self_join(&self, panel: &Panel, best: &mut [TopK]) -> Result<(), SearchError> {
        let blocks = &panel.blocks;
        let source = Source { panel, exclude: self.exclude };
        let room = Lists::room(self.k, self.base.n());
        let mut hits = Lists::rooms(best.len(), self.k, self.base.n())?;
        let block = panel.block_rows();
        let askers = blocks.par_iter().zip(best.par_chunks_mut(block));
        let askers: Vec<Asker<'_>> = askers
            .zip(hits.par_chunks_mut(block * room))
            .map(|((block, best), hits)| {
                let queries = Queries::new(block, block.first);
                let ranks = self.ranks(&queries);
                let lists = Mutex::new(Lists::new(&queries, block, best, hits));
                Asker { queries, ranks, lists }
            })
            .collect();
        let new_worker = || (Pages::<Tile>::default(), None, Sweep::default(), self.scorer());
        let workers = Workers::default();

        // First each block with itself, so that every row has a threshold before others ask on its behalf. Then block i
        // with i + 1, i + 2 .. in a circle, half the way around: each pair once, and the same work for every block.
        let half = blocks.len() / 2;
        let pair = |task: usize| {
            let (i, offset) = (task / half, 1 + task % half);
            // With an even number of blocks, those that face each other meet twice.
            (2 * offset < blocks.len() || i < offset).then(|| (i, (i + offset) % blocks.len()))
        };
        for (tasks, both) in [(blocks.len(), false), (blocks.len() * half, true)] {
            (0..tasks).into_par_iter().filter_map(|t| if both { pair(t) } else { Some((t, t)) }).try_for_each(
                |(i, j)| {
                    workers.with(new_worker, |(tiles, turned, sweep, scorer)| {
                        let (block, base) = (&blocks[i], &blocks[j]);
                        if *turned != Some(i) {
                            panel.packed(i).turned(tiles)?;
                            *turned = Some(i);
                        }
                        let (rows, columns) = (&askers[i], &askers[j]);
                        let packed = block.with_tiles(tiles.as_slice());
                        let asking =
                            Asking { packed, queries: &rows.queries.all, ranks: &rows.ranks, number: block.first };
                        sweep.thresholds.clone_from(&rows.lists().thresholds);
                        if both {
                            sweep.column_thresholds.clone_from(&columns.lists().thresholds);
                        }
                        sweep.pair(&asking, panel.packed(j), base.first, both, &self.space, |sweep| {
                            rows.take(&sweep.row_hits, &mut sweep.thresholds, source, scorer);
                            if both {
                                columns.take(&sweep.column_hits, &mut sweep.column_thresholds, source, scorer);
                            }
                        });
                        if !both {
                            rows.lists().tidy(&rows.queries, panel, scorer);
                        }
                        self.advance(block.n * base.n * if both { 2 } else { 1 })
                    })
                },
            )?;
        }
        askers.par_iter().for_each(|asker| {
            workers.with(new_worker, |(.., scorer)| asker.lists().finish(&asker.queries, panel, scorer));
        });
        Ok(())
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

/// A block of the self-join, whose rows ask and are asked for.
struct Asker<'a> {
    queries: Queries,
    ranks: Vec<usize>,
    lists: Mutex<Lists<'a>>,
}

impl<'a> Asker<'a> {
    fn lists(&self) -> MutexGuard<'_, Lists<'a>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes hits; `thresholds`, which the sweep may have raised, and those of the lists become the higher of both.
    fn take(&self, hits: &[Hit], thresholds: &mut Vec<f32>, source: Source<'_>, scorer: &mut Scorer<'_>) {
        let mut lists = self.lists();
        lists.raise(thresholds);
        lists.take(hits, &self.queries, source, scorer);
        thresholds.clone_from(&lists.thresholds);
    }
}
