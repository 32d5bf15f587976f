//! Whose neighbours mapped rows have: those of what was mapped, or those of what was meant.

use std::sync::Arc;

use mnno_exact::{Exclude, Metric, Neighbours, Observer, Search, SearchError, SliceRows, Threads};
use mnno_measures::{Overlap, SelfRule, check_k, mnno};
use rayon::ThreadPool;

use crate::fit::gather;
use crate::{ExperimentError, Pairs, Space, Split};

/// How neighbours are found.
#[derive(Clone, Copy)]
pub struct Neighbouring<'a> {
    /// Neighbours of a row.
    pub k: usize,
    /// Whether a row is its own neighbour.
    pub rule: SelfRule,
    /// The threads that search.
    pub threads: &'a ThreadPool,
    /// Most bytes that a search may take.
    pub memory: u64,
    /// Asked whether to go on.
    pub observer: &'a dyn Observer,
}

impl Neighbouring<'_> {
    /// The neighbours of rows `[n, d]` among themselves.
    pub(crate) fn lists(
        &self,
        metric: Metric,
        space: Space,
        rows: &[f32],
        d: usize,
    ) -> Result<Neighbours, ExperimentError> {
        let exclude = if self.rule == SelfRule::Exclude { Exclude::SameIndex } else { Exclude::None };
        let search = Search::new(metric, self.k).exclude(exclude).threads(Threads::Pool(self.threads));
        let found = search.memory(self.memory).observer(self.observer).self_join(&SliceRows::new(rows, d));
        found.map_err(|source| match source {
            SearchError::Interrupted => crate::MapError::Interrupted.into(),
            source => ExperimentError::Search { space, source },
        })
    }
}

/// The neighbours of some pairs in their two spaces, under one metric.
#[derive(Clone, Debug)]
pub struct Neighbourhoods {
    metric: Metric,
    x: Arc<Neighbours>,
    y: Arc<Neighbours>,
}

impl Neighbourhoods {
    /// Searches both spaces for the neighbours of the rows `rows` among each other.
    ///
    /// # Errors
    /// [`ExperimentError::Measure`] if `rows` are too few for `k`, or the search's.
    pub fn new(
        pairs: &Pairs<'_>,
        rows: &[u32],
        metric: Metric,
        neighbouring: &Neighbouring<'_>,
    ) -> Result<Self, ExperimentError> {
        check_k(rows.len(), neighbouring.k, neighbouring.rule)?;
        let lists = |space, values, d| {
            let lists = neighbouring.lists(metric, space, &gather(values, d, rows), d);
            lists.map_err(|error| error.renumbered(rows))
        };
        Ok(Self {
            metric,
            x: lists(Space::X, pairs.x, pairs.dx)?.into(),
            y: lists(Space::Y, pairs.y, pairs.dy)?.into(),
        })
    }

    /// The metric that ranks neighbours.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The same of the map from `y` to `x`.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self { metric: self.metric, x: Arc::clone(&self.y), y: Arc::clone(&self.x) }
    }

    /// The same with the `k` nearest neighbours only.
    ///
    /// # Panics
    /// If `k` is more than were searched for.
    #[must_use]
    pub fn nearest(&self, k: usize) -> Self {
        Self { metric: self.metric, x: self.x.nearest(k).into(), y: self.y.nearest(k).into() }
    }

    /// The neighbours in the space that is mapped, and in that of the targets.
    pub fn of_pairs(&self) -> [&Neighbours; 2] {
        [&self.x, &self.y]
    }

    /// The overlaps `(X, f(X))` and `(Y, f(X))` for mapped rows `[n, dy]`.
    ///
    /// # Errors
    /// The search's: under the cosine, a row that is mapped to zero has no neighbours.
    pub fn overlaps(
        &self,
        mapped: &[f32],
        dy: usize,
        neighbouring: &Neighbouring<'_>,
    ) -> Result<[Overlap; 2], ExperimentError> {
        let lists = neighbouring.lists(self.metric, Space::Mapped, mapped, dy)?;
        Ok([mnno(&self.x, &lists)?, mnno(&self.y, &lists)?])
    }
}

/// The neighbourhoods of each split's test rows, for each metric. Splits with the same test rows share them.
///
/// # Errors
/// As [`Neighbourhoods::new`].
pub fn of_test_rows(
    pairs: &Pairs<'_>,
    splits: &[Split],
    metrics: &[Metric],
    neighbouring: &Neighbouring<'_>,
) -> Result<Vec<Vec<Neighbourhoods>>, ExperimentError> {
    let mut found: Vec<Vec<Neighbourhoods>> = Vec::with_capacity(splits.len());
    for (number, split) in splits.iter().enumerate() {
        let of_split = match splits[..number].iter().position(|before| before.test == split.test) {
            Some(same) => found[same].clone(),
            None => metrics
                .iter()
                .map(|&metric| Neighbourhoods::new(pairs, &split.test, metric, neighbouring))
                .collect::<Result<_, _>>()?,
        };
        found.push(of_split);
    }
    Ok(found)
}
