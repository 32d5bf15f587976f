//! What each index finds, and how fast.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use mnno::hnsw::{BuildOptions, Found, Index, SearchOptions};
use mnno::{Neighbours, Observer, Search, SearchError, Threads, measures};
use rayon::ThreadPool;

use super::cache::Cache;
use super::report::{BaseRows, ResultReport};
use super::{Asking, Setting, truth};
use crate::program::args::{Bench, GraphKind, IndexKind, TraversalRule, spelled};
use crate::program::budget::Budget;
use crate::program::failure::Failure;
use crate::program::inputs;
use crate::program::progress::Progress;
use crate::program::report::note;
use crate::program::searcher;

/// Passes over the queries are repeated until so much time is measured.
const MEASURED: Duration = Duration::from_millis(500);
/// Base rows are compared with the queries where these reach about this recall.
const TYPICAL: f64 = 0.9;

/// All that is measured of a file.
pub(super) struct Measurement<'a> {
    args: &'a Bench,
    setting: &'a Setting<'a>,
    asking: &'a Asking<'a>,
    exact: &'a Neighbours,
    cache: &'a Cache,
    budget: &'a Budget,
    /// Beside the threads of the setting, where these are several.
    one: Option<ThreadPool>,
}

/// An index, the seconds that it took to build it, and the near rows that were looked at for each row.
pub(super) struct Built {
    index: Index,
    build_s: f64,
    ef_construction: usize,
}

impl<'a> Measurement<'a> {
    pub(super) fn new(
        args: &'a Bench,
        setting: &'a Setting<'a>,
        asking: &'a Asking<'a>,
        exact: &'a Neighbours,
        cache: &'a Cache,
        budget: &'a Budget,
    ) -> Result<Self, Failure> {
        let several = setting.threads.current_num_threads() > 1;
        let one = several.then(|| searcher::start_threads(NonZeroUsize::new(1))).transpose()?;
        Ok(Self { args, setting, asking, exact, cache, budget, one })
    }

    fn pools(&self) -> impl Iterator<Item = &ThreadPool> {
        self.one.iter().chain([self.setting.threads])
    }

    fn failure(&self, error: SearchError) -> Failure {
        let (base, queries) = (self.setting.base.name(), self.asking.input.name());
        inputs::search_failure(error, base, queries, self.setting.k, self.budget)
    }

    fn recall(&self, found: &Neighbours) -> f64 {
        measures::recall(found, self.exact).expect("as many lists, of one length").value()
    }

    /// Exact search: nothing is built, nothing is kept beside the base.
    pub(super) fn exact(&self) -> Result<Vec<ResultReport>, Failure> {
        let (setting, mut results) = (self.setting, Vec::new());
        let progress = Progress::new("measure exact", "settings", setting.interruption);
        let total = self.pools().count() as u64;
        for (done, pool) in self.pools().enumerate() {
            progress.progress(done as u64, total);
            let search = Search::new(setting.metric, setting.k)
                .exclude(self.asking.exclude())
                .kernels(setting.kernels)
                .threads(Threads::Pool(pool))
                .memory(self.budget.left())
                .observer(setting.interruption);
            let pass = || self.asking.with_rows(|queries| search.queries(&setting.base.matrix, queries));
            let (found, qps) = self.timed(pass)?;
            results.push(ResultReport {
                index: spelled(&IndexKind::Exact),
                ef: None,
                ef_construction: None,
                traversal: None,
                recall: self.recall(&found),
                qps,
                threads: pool.current_num_threads(),
                build_s: 0.0,
                bytes: 0,
                finished_exactly: 0,
                nearby_lists: None,
            });
        }
        Ok(results)
    }

    /// An index, built.
    pub(super) fn built(&self, kind: GraphKind) -> Result<Built, Failure> {
        let (args, setting, base) = (self.args, self.setting, &self.setting.base.matrix);
        let options = kind.options(args.m, args.ef_construction, false, args.seed)?;
        let options = BuildOptions { lists: args.lists.into(), ..options };
        let needed = options.memory_beside(base.n(), base.d(), setting.threads.current_num_threads());
        let memory = self.left_after(needed, "building the index")?;
        let unit = if kind == GraphKind::Hnsw { "rows" } else { "million pairs" };
        let progress = Progress::new("build", unit, setting.interruption);
        let started = Instant::now();
        let threads = Threads::Pool(setting.threads);
        let index = Index::build(base, setting.metric, BuildOptions { memory, ..options }, threads, &progress)
            .map_err(|e| self.failure(e))?;
        Ok(Built { index, build_s: started.elapsed().as_secs_f64(), ef_construction: options.ef_construction })
    }

    fn left_after(&self, bytes: u64, what: &str) -> Result<u64, Failure> {
        self.budget.left().checked_sub(bytes).ok_or_else(|| self.budget.exceeded(bytes, what))
    }

    /// How an index is searched with a beam of `ef`.
    fn options<'o>(&'o self, index: &Index, ef: usize, pool: &'o ThreadPool) -> Result<SearchOptions<'o>, Failure> {
        let n = index.graph().n();
        let walks = (n as u64 / 8 + 24 * ef.min(n) as u64).saturating_mul(pool.current_num_threads() as u64);
        let memory = self.left_after(walks.saturating_add(index.bytes() as u64), "searching the index")?;
        Ok(SearchOptions {
            ef,
            codes: self.args.traversal == TraversalRule::Auto,
            memory,
            threads: Threads::Pool(pool),
            observer: self.setting.interruption,
            ..SearchOptions::new(self.setting.k)
        })
    }

    /// The beams that are asked for, as they are taken: each once, from the smallest.
    fn efs(&self, index: &Index) -> Result<Vec<usize>, Failure> {
        let mut taken = Vec::new();
        for &asked in &self.args.ef {
            let asked = asked as usize;
            let ef = index.ef(&self.options(index, asked, self.setting.threads)?);
            if ef > asked {
                note(&format!("ef {asked} is too small for -k {}: {ef} is taken", self.setting.k));
            }
            taken.push(ef);
        }
        taken.sort_unstable();
        taken.dedup();
        Ok(taken)
    }

    /// Recall and speed of an index, for each beam and number of threads.
    pub(super) fn walks(&self, kind: IndexKind, built: &Built) -> Result<Vec<ResultReport>, Failure> {
        let Built { index, build_s, ef_construction } = built;
        let (setting, mut results) = (self.setting, Vec::new());
        let efs = self.efs(index)?;
        let progress = Progress::new(&format!("measure {}", spelled(&kind)), "settings", setting.interruption);
        let total = (efs.len() * self.pools().count()) as u64;
        for ef in efs {
            for pool in self.pools() {
                progress.progress(results.len() as u64, total);
                let options = SearchOptions { exclude: self.asking.exclude(), ..self.options(index, ef, pool)? };
                let pass = || self.asking.with_rows(|queries| index.search(&setting.base.matrix, queries, &options));
                let (Found { lists, exact }, qps) = self.timed(pass)?;
                results.push(ResultReport {
                    index: spelled(&kind),
                    ef: Some(ef),
                    ef_construction: Some(*ef_construction),
                    traversal: Some(if options.codes && index.codes() { "int8" } else { "f32" }),
                    recall: self.recall(&lists),
                    qps,
                    threads: pool.current_num_threads(),
                    build_s: *build_s,
                    bytes: index.bytes(),
                    finished_exactly: exact,
                    nearby_lists: index.nearby(),
                });
            }
        }
        Ok(results)
    }

    /// What a pass finds, and queries per second: the median of the passes after the first, which warms up.
    fn timed<T>(&self, pass: impl Fn() -> Result<T, SearchError>) -> Result<(T, f64), Failure> {
        let found = pass().map_err(|e| self.failure(e))?;
        let mut times = Vec::new();
        let mut measured = Duration::ZERO;
        while measured < MEASURED {
            self.setting.interruption.check()?;
            let started = Instant::now();
            pass().map_err(|e| self.failure(e))?;
            let time = started.elapsed();
            measured += time;
            times.push(time);
        }
        times.sort_unstable();
        Ok((found, self.asking.n() as f64 / times[times.len() / 2].as_secs_f64()))
    }

    /// The recall of rows of the base as queries, beside that of the queries; none if the base has too few rows.
    pub(super) fn base_rows(
        &self,
        Built { index, .. }: &Built,
        results: &[ResultReport],
    ) -> Result<Option<BaseRows>, Failure> {
        let setting = self.setting;
        let off = |result: &ResultReport| (result.recall - TYPICAL).abs();
        let nearest = results.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let Some(ef) = nearest.and_then(|result| result.ef).filter(|_| setting.k < setting.base.matrix.n()) else {
            return Ok(None);
        };
        let sample = Asking::sample(setting.base);
        let (exact, _) = truth::find(setting, &sample, self.cache, self.budget)?;
        let of = |asking: &Asking<'_>, exact, ef| {
            let options = self.options(index, ef, setting.threads)?;
            let options = SearchOptions { exclude: asking.exclude(), ..options };
            let found = asking
                .with_rows(|queries| index.search(&setting.base.matrix, queries, &options))
                .map_err(|e| self.failure(e))?;
            Ok::<_, Failure>(measures::recall(&found.lists, exact).expect("as many lists, of one length"))
        };
        // A row of the base itself takes one place in view.
        let (queries, rows) = (of(self.asking, self.exact, ef)?, of(&sample, &exact, ef + 1)?);
        Ok(Some(BaseRows::new(ef, sample.n(), &rows, &queries)))
    }
}
