//! The search: what a caller asks for, and the walk over panels of base rows and blocks of queries.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use mnno_simd::Kernels;
use rayon::prelude::*;

use crate::error::Side;
use crate::pack::{Panel, squared_norms};
use crate::tile::TileSearch;
use crate::tiles::Tiles;
use crate::{Exclude, Metric, NO_NEIGHBOUR, Neighbours, Rows, SearchError, Ties, TopK};

/// Told how far a long operation is, and asked whether to go on. Called from several threads.
pub trait Observer: Sync {
    /// `done` of `total` steps are finished: pairs of rows in a search.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Whether to give up; asked often.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Watches nothing.
impl Observer for () {}

/// Which threads a search runs on. The library starts no global pool.
#[derive(Clone, Copy, Debug, Default)]
pub enum Threads<'a> {
    /// As many as the process may use, for the time of the search.
    #[default]
    All,
    /// So many, for the time of the search.
    Count(NonZeroUsize),
    /// The caller's pool.
    Pool(&'a rayon::ThreadPool),
}

impl Threads<'_> {
    fn run<T: Send>(self, work: impl FnOnce() -> T + Send) -> Result<T, SearchError> {
        let count = match self {
            Self::Pool(pool) => return Ok(pool.install(work)),
            Self::Count(count) => count,
            Self::All => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get()).build().map_err(SearchError::Threads)?;
        Ok(pool.install(work))
    }
}

/// An exact k-nearest-neighbour search.
///
/// The lists are those of the canonical f64 score of the [`Metric`], equal scores ordered by [`Ties`]: the same bytes for
/// any threads, tiles and SIMD tier.
///
/// # Examples
/// ```
/// use mnno_exact::{Metric, Search, SliceRows};
/// let rows = [0.0, 0.0, 1.0, 0.0, 0.0, 3.0];
/// let lists = Search::new(Metric::Euclidean, 1).self_join(&SliceRows::new(&rows, 2))?;
/// assert_eq!(lists.indices(), [1, 0, 0]);
/// # Ok::<(), mnno_exact::SearchError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Search<'a> {
    pub(crate) metric: Metric,
    pub(crate) k: usize,
    pub(crate) ties: Ties,
    exclude: Option<Exclude<'a>>,
    threads: Threads<'a>,
    tiles: Option<Tiles>,
    memory: u64,
    pub(crate) kernels: Kernels,
    observer: &'a dyn Observer,
}

impl<'a> Search<'a> {
    /// A search for the `k` nearest rows under `metric`, on all threads, with the fastest kernels of this CPU.
    pub fn new(metric: Metric, k: usize) -> Self {
        Self {
            metric,
            k,
            ties: Ties::default(),
            exclude: None,
            threads: Threads::default(),
            tiles: None,
            memory: u64::MAX,
            kernels: Kernels::detect(),
            observer: &(),
        }
    }

    /// Sets how equal scores are ordered.
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// Sets which base rows are no candidates. Unless set, a self-join leaves out the row itself and any other search
    /// nothing.
    #[must_use]
    pub fn exclude(mut self, exclude: Exclude<'a>) -> Self {
        self.exclude = Some(exclude);
        self
    }

    /// Sets the threads.
    #[must_use]
    pub fn threads(mut self, threads: Threads<'a>) -> Self {
        self.threads = threads;
        self
    }

    /// Sets how the work is cut.
    #[must_use]
    pub fn tiles(mut self, tiles: Tiles) -> Self {
        self.tiles = Some(tiles);
        self
    }

    /// Sets the most memory that the search may take, in bytes, its lists included and what the rows take of their own
    /// excluded. Without a limit a search takes about 32 MiB and 3 MiB per thread beside its lists.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the kernels.
    #[must_use]
    pub fn kernels(mut self, kernels: Kernels) -> Self {
        self.kernels = kernels;
        self
    }

    /// Sets who is told of progress and may cancel.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = observer;
        self
    }

    /// The nearest rows of each row of `rows` among the others.
    ///
    /// # Errors
    /// As [`Search::queries`].
    pub fn self_join(self, rows: &dyn Rows) -> Result<Neighbours, SearchError> {
        let exclude = self.exclude.unwrap_or(Exclude::SameIndex);
        self.exclude(exclude).queries(rows, rows)
    }

    /// The nearest rows of `base` for each row of `queries`: `[queries.n(), k]`.
    ///
    /// With fewer than `k` candidates the rest of a list holds [`NO_NEIGHBOUR`] and [`Metric::worst`].
    ///
    /// # Errors
    /// [`SearchError`] if the dimensions differ, a value is NaN or infinite, a row is zero under the cosine, the base has
    /// too many rows or the lists too many places, the memory does not suffice, an exclusion does not fit, threads cannot
    /// be started, or the observer cancels.
    pub fn queries(self, base: &dyn Rows, queries: &dyn Rows) -> Result<Neighbours, SearchError> {
        if queries.d() != base.d() {
            return Err(SearchError::Dimensions { queries: queries.d(), base: base.d() });
        }
        if base.n() >= NO_NEIGHBOUR as usize {
            return Err(SearchError::TooManyRows { n: base.n() });
        }
        // 16 bytes per place while searching, 12 in the answer.
        let places = self.k.checked_add(1).and_then(|k| k.checked_mul(queries.n()));
        if places.is_none_or(|places| places > isize::MAX as usize / 16) {
            return Err(SearchError::TooManyPlaces { queries: queries.n(), k: self.k });
        }
        self.exclude.unwrap_or_default().check(queries.n(), base.n())?;
        let lists = self.threads.run(|| self.all_lists(base, queries))??;
        Ok(self.collect(lists))
    }

    fn all_lists(&self, base: &dyn Rows, queries: &dyn Rows) -> Result<Vec<TopK>, SearchError> {
        let d = base.d();
        let threads = rayon::current_num_threads();
        let tiles = match self.tiles {
            Some(tiles) => tiles,
            None => self.tiles_within_memory(queries.n(), d, threads)?,
        };
        // A block for each thread, even when the queries are few.
        let block = queries.n().div_ceil(threads).clamp(1, tiles.queries.get());
        let query_norms = self.query_norms(queries, block)?;
        let total = queries.n() as u64 * base.n() as u64;
        let done = AtomicU64::new(0);

        let mut lists = vec![TopK::new(self.k, self.metric, self.ties); queries.n()];
        let mut panel = Panel::new();
        for first in (0..base.n()).step_by(tiles.panel.get()) {
            let end = (first + tiles.panel.get()).min(base.n());
            base.prefetch(end..end.saturating_add(tiles.panel.get()).min(base.n()));
            panel.fill(base, first..end, self.metric, self.kernels)?;
            let (panel, exclude) = (&panel, self.exclude.unwrap_or_default());
            lists.par_chunks_mut(block).zip(query_norms.par_chunks(block)).enumerate().try_for_each_init(
                || TileSearch::new(self, base, queries, exclude, tiles.base.get()),
                |tile_search, (task, (lists, norms))| {
                    if self.observer.cancelled() {
                        return Err(SearchError::Interrupted);
                    }
                    tile_search.search(panel, task * block, norms, lists);
                    let pairs = (lists.len() * (end - first)) as u64;
                    self.observer.progress(done.fetch_add(pairs, Ordering::Relaxed) + pairs, total);
                    Ok(())
                },
            )?;
        }
        Ok(lists)
    }

    fn tiles_within_memory(&self, queries: usize, d: usize, threads: usize) -> Result<Tiles, SearchError> {
        let lists = Self::list_memory(queries, self.k);
        let left = self.memory.saturating_sub(lists);
        let (tiles, needed) = Tiles::within(left, d, threads);
        let needed = needed.saturating_add(lists);
        if needed > self.memory { Err(SearchError::Memory { needed, budget: self.memory }) } else { Ok(tiles) }
    }

    /// Bytes of memory that the lists of `queries` take at most, with `k` neighbours each: while candidates are collected,
    /// and while they become the answer.
    pub fn list_memory(queries: usize, k: usize) -> u64 {
        // A candidate takes 16 bytes, and a place of the answer 12; the rest is what a list takes beside them.
        let list = (k as u64).saturating_mul(28).saturating_add(16 + size_of::<TopK>() as u64 + 48);
        list.saturating_mul(queries as u64)
    }

    fn query_norms(&self, queries: &dyn Rows, block: usize) -> Result<Vec<f64>, SearchError> {
        let mut norms = vec![0.0; queries.n()];
        norms.par_chunks_mut(block).enumerate().try_for_each_init(Vec::new, |scratch, (task, norms)| {
            let first = task * block;
            let rows = queries.block(first..first + norms.len(), scratch);
            squared_norms(rows, first, self.metric, self.kernels, Side::Queries, norms)
        })?;
        Ok(norms)
    }

    fn collect(&self, lists: Vec<TopK>) -> Neighbours {
        let (n, k) = (lists.len(), self.k);
        let worst = self.metric.worst();
        let mut indices = vec![NO_NEIGHBOUR; n * k];
        let mut scores = vec![worst; n * k];
        let mut next = vec![worst; n];
        for (i, list) in lists.into_iter().enumerate() {
            for (place, (index, score)) in list.ranked().enumerate() {
                if place < k {
                    indices[i * k + place] = index;
                    scores[i * k + place] = score;
                } else {
                    next[i] = score;
                }
            }
        }
        Neighbours::from_parts(self.metric, n, k, indices, scores, next)
    }
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("metric", &self.metric)
            .field("k", &self.k)
            .field("ties", &self.ties)
            .field("exclude", &self.exclude)
            .field("threads", &self.threads)
            .field("tiles", &self.tiles)
            .field("kernels", &self.kernels)
            .finish_non_exhaustive()
    }
}
