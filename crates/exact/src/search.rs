//! The search: what a caller asks for, and the walk over panels of base rows and blocks of queries.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU64;

use mnno_simd::Kernels;

use crate::equal::EqualRows;
use crate::error::Side;
use crate::filter::{self, Filter};
use crate::pack::Role;
use crate::panel::Panel;
use crate::schedule::Job;
use crate::space::Space;
use crate::tiles::{Shape, Tiles};
use crate::{Exclude, Metric, NO_NEIGHBOUR, Neighbours, Rows, SearchError, Subset, Ties, TopK};

/// Told how far a long operation is, and asked whether to go on. Called from several threads.
pub trait Observer: Sync {
    /// `done` of `total` steps are finished: pairs of rows in a search.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Told in a line how the work is done, for those who want to know.
    fn note(&self, message: &str) {
        let _ = message;
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
    /// Runs `work` on these threads.
    ///
    /// # Errors
    /// [`SearchError::Threads`] if they cannot be started.
    pub fn run<T: Send>(self, work: impl FnOnce() -> T + Send) -> Result<T, SearchError> {
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
    same_rows: bool,
    filter: Option<Filter>,
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
            same_rows: false,
            filter: None,
            kernels: Kernels::detect(),
            observer: &(),
        }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Neighbours per query.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The most memory that the search may take, in bytes.
    pub fn memory_limit(&self) -> u64 {
        self.memory
    }

    /// How equal scores are ordered.
    pub fn tie_rule(&self) -> Ties {
        self.ties
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
    /// excluded. Within a limit the rows of a self-join are packed as a whole, 1 to 4 bytes per value and `96 (k + 1)` bytes for
    /// candidates of each row, if that fits, or else panel by panel, which takes about twice the time. Without a limit they are;
    /// any other search takes about 32 MiB, and 8 MiB per thread, beside its lists. Not looked at where [`Search::tiles`] are set.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the precision of the filter; by default, or with `None`, it is chosen from a sample of the rows. Answers are the
    /// same.
    #[must_use]
    pub fn filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
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
    pub fn self_join(mut self, rows: &dyn Rows) -> Result<Neighbours, SearchError> {
        self.exclude = Some(self.exclude.unwrap_or(Exclude::SameIndex));
        self.same_rows = true;
        self.queries(rows, rows)
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
        self.threads.run(|| Ok(Neighbours::collect(self.checked(base, queries)?, self.metric, self.k)))?
    }

    /// As [`Search::queries`]: the best of each query, of which [`Neighbours::collect`] makes lists.
    ///
    /// # Errors
    /// As [`Search::queries`].
    pub fn best(self, base: &dyn Rows, queries: &dyn Rows) -> Result<Vec<TopK>, SearchError> {
        self.threads.run(|| self.checked(base, queries))?
    }

    /// The best of each query, once it is known that they can be had.
    fn checked(&self, base: &dyn Rows, queries: &dyn Rows) -> Result<Vec<TopK>, SearchError> {
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
        self.best_of_each(base, queries)
    }

    /// The best rows of each query, equal rows searched once.
    fn best_of_each(&self, base: &dyn Rows, queries: &dyn Rows) -> Result<Vec<TopK>, SearchError> {
        let exclude = self.exclude.unwrap_or_default();
        let left_out = match exclude {
            Exclude::None => 0,
            Exclude::SameIndex => 1,
            Exclude::Ids(_) | Exclude::Groups { .. } => return self.all_lists(base, queries),
        };
        let Some(equal) = EqualRows::find(base, self.k, self.ties, self.memory) else {
            return self.all_lists(base, queries);
        };
        let kinds = Subset::new(base, &equal.first);
        let places = self.k.saturating_add(1 + left_out);
        // Beside the groups and the lists of all rows.
        let beside = equal.bytes() as u64 + Self::list_memory(queries.n(), self.k);
        let memory = if self.memory == u64::MAX { u64::MAX } else { self.memory.saturating_sub(beside) };
        let search = Self { k: places, ties: Ties::LowerIndex, exclude: None, memory, ..*self };
        self.observer.note(&format!("{} of {} base rows differ", equal.first.len(), base.n()));
        let asking: &dyn Rows = if self.same_rows { &kinds } else { queries };
        let number = |row: usize| equal.first[row] as usize;
        let lists = search.all_lists(&kinds, asking).map_err(|e| e.renumbered(number, self.same_rows))?;
        let lists = Neighbours::collect(lists, self.metric, places);
        Ok(equal.expand(&lists, self.k, self.ties, queries.n(), |query| {
            let list = if self.same_rows { equal.group[query] as usize } else { query };
            (list, (left_out == 1).then_some(query as u32))
        }))
    }

    fn all_lists(&self, base: &dyn Rows, queries: &dyn Rows) -> Result<Vec<TopK>, SearchError> {
        let n = base.n();
        let exclude = self.exclude.unwrap_or_default();
        let space = self.space(base, queries)?;
        let job = Job {
            space,
            k: self.k,
            base,
            queries,
            exclude,
            group_sizes: exclude.group_sizes(),
            observer: self.observer,
            done: AtomicU64::new(0),
            total: (queries.n() as u64).saturating_mul(n as u64),
        };
        let mut best = vec![TopK::new(self.k, self.metric, self.ties); queries.n()];
        let (tiles, whole) = self.cut(&job.space, queries.n(), n)?;
        let block = tiles.block_rows();
        let mut panel = Panel::new(block, Role::Columns);
        if whole {
            self.observer.note("each pair of rows is looked at once");
            panel.fill(base, 0..n, Side::Base, &job.space)?;
            job.self_join(&panel, &mut best)?;
            return Ok(best);
        }
        let panels = n.div_ceil(tiles.panel.get());
        self.observer.note(&format!("the base is searched in {panels} panel{}", if panels == 1 { "" } else { "s" }));
        // A block for each thread, even when the queries are few.
        let queries_at_a_time = queries.n().div_ceil(rayon::current_num_threads()).clamp(1, block);
        for first in (0..n).step_by(tiles.panel.get()) {
            let end = (first + tiles.panel.get()).min(n);
            base.prefetch(end..end.saturating_add(tiles.panel.get()).min(n));
            panel.fill(base, first..end, Side::Base, &job.space)?;
            job.search_panel(&panel, queries_at_a_time, &mut best)?;
        }
        Ok(best)
    }

    /// The space of the filter that was asked for, or else of the one that suits the rows.
    fn space(&self, base: &dyn Rows, queries: &dyn Rows) -> Result<Space, SearchError> {
        let space = Space::new(base, self.metric, self.kernels);
        let (filter, why) = match self.filter {
            None => filter::choose(&space, base, queries, self.same_rows, self.k, self.memory),
            Some(filter) if Filter::available(self.kernels).contains(&filter) => {
                (filter, format!("filter {filter}: as asked"))
            }
            Some(filter) => return Err(SearchError::Filter { filter, tier: self.kernels.tier() }),
        };
        self.observer.note(&format!("{why}; SIMD tier {}", self.kernels.tier()));
        Ok(space.with_element(filter.element()))
    }

    /// How the work is cut, and whether all of the base is packed and each pair of its rows looked at once.
    fn cut(&self, space: &Space, queries: usize, n: usize) -> Result<(Tiles, bool), SearchError> {
        let (d, depth, threads) = (space.centre.len(), space.depth(), rayon::current_num_threads());
        let shape = Shape { d, depth, k: self.k, n, threads };
        if let Some(tiles) = self.tiles {
            return Ok((tiles, self.same_rows && tiles.panel.get() >= n));
        }
        let lists = Self::list_memory(queries, self.k);
        let left = self.memory.saturating_sub(lists);
        let default = Tiles::for_shape(shape);
        if self.same_rows && default.self_join_memory(shape) <= left {
            return Ok((default, true));
        }
        let (tiles, needed) = Tiles::within(left, shape);
        let needed = needed.saturating_add(lists);
        if needed > self.memory {
            return Err(SearchError::Memory { needed, budget: self.memory });
        }
        Ok((tiles, false))
    }

    /// Bytes of memory that the lists of `queries` take at most, with `k` neighbours each: while candidates are collected,
    /// and while they become the answer.
    pub fn list_memory(queries: usize, k: usize) -> u64 {
        // A candidate takes 16 bytes, and a place of the answer 12; the rest is what a list takes beside them.
        let list = (k as u64).saturating_mul(28).saturating_add(16 + size_of::<TopK>() as u64 + 48);
        list.saturating_mul(queries as u64)
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
            .field("filter", &self.filter)
            .field("kernels", &self.kernels)
            .finish_non_exhaustive()
    }
}
