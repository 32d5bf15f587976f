//! The lists a search returns.

use rayon::prelude::*;

use crate::{Metric, TopK};

/// Lists that are worth a task of their own.
const LISTS_PER_TASK: usize = 256;

/// The index that fills a place for which there was no candidate.
pub const NO_NEIGHBOUR: u32 = u32::MAX;

/// The `k` nearest base rows of each query, nearest first.
///
/// `indices` and `scores` are `[n, k]`, row-major. Scores are canonical (squared under
/// [`Metric::Euclidean`]); [`Metric::reported`] turns them into what a report shows. Places that no candidate fills hold
/// [`NO_NEIGHBOUR`] and [`Metric::worst`].
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    metric: Metric,
    n: usize,
    k: usize,
    indices: Vec<u32>,
    scores: Vec<f64>,
    next: Vec<f64>,
}

impl Neighbours {
    /// Lists of `k` places for `n` queries: `indices` and `scores` are `[n, k]`, `next` is `[n]` and holds the score of
    /// the best candidate left out of each list ([`Metric::worst`] where there is none).
    ///
    /// # Panics
    /// If the lengths do not fit `n` and `k`.
    pub fn from_parts(metric: Metric, n: usize, k: usize, indices: Vec<u32>, scores: Vec<f64>, next: Vec<f64>) -> Self {
        assert_eq!(indices.len(), n * k, "indices are [n, k]");
        assert_eq!(scores.len(), n * k, "scores are [n, k]");
        assert_eq!(next.len(), n, "next is [n]");
        Self { metric, n, k, indices, scores, next }
    }

    /// Lists of `k` places from the best of each query, on the current thread pool.
    pub fn collect(best: Vec<TopK>, metric: Metric, k: usize) -> Self {
        let (n, worst) = (best.len(), metric.worst());
        let mut indices = vec![NO_NEIGHBOUR; n * k];
        let mut scores = vec![worst; n * k];
        let mut next = vec![worst; n];
        if k == 0 {
            for (next, list) in next.iter_mut().zip(best) {
                *next = list.ranked().next().map_or(worst, |(_, score)| score);
            }
        } else {
            let places = indices.par_chunks_mut(k).zip(scores.par_chunks_mut(k));
            let lists = places.zip(&mut next).zip(best).with_min_len(LISTS_PER_TASK);
            lists.for_each(|(((indices, scores), next), list)| {
                for (place, (index, score)) in list.ranked().enumerate() {
                    if place < k {
                        indices[place] = index;
                        scores[place] = score;
                    } else {
                        *next = score;
                    }
                }
            });
        }
        Self::from_parts(metric, n, k, indices, scores, next)
    }

    /// The lists of some of the queries, in the order in which they are named.
    ///
    /// # Panics
    /// If a query is not below [`Neighbours::n`].
    #[must_use]
    pub fn of_queries(&self, queries: &[u32]) -> Self {
        let queries = || queries.iter().map(|&query| query as usize);
        Self {
            metric: self.metric,
            n: queries().len(),
            k: self.k,
            indices: queries().flat_map(|i| self.list(i)).copied().collect(),
            scores: queries().flat_map(|i| self.list_scores(i)).copied().collect(),
            next: queries().map(|i| self.next[i]).collect(),
        }
    }

    /// The first `k` places of every list, as a search for `k` would have found them.
    ///
    /// # Panics
    /// If `k` is more than [`Neighbours::k`].
    ///
    /// # Examples
    /// ```
    /// use mnno_exact::{Metric, Search, SliceRows};
    /// let rows = [0.0, 1.0, 5.0, 6.5];
    /// let search = |k| Search::new(Metric::Euclidean, k).self_join(&SliceRows::new(&rows, 1));
    /// assert_eq!(search(3)?.nearest(1), search(1)?);
    /// # Ok::<(), mnno_exact::SearchError>(())
    /// ```
    #[must_use]
    pub fn nearest(&self, k: usize) -> Self {
        assert!(k <= self.k, "{k} places of lists of {}", self.k);
        if k == self.k {
            return self.clone();
        }
        Self {
            metric: self.metric,
            n: self.n,
            k,
            indices: (0..self.n).flat_map(|i| &self.list(i)[..k]).copied().collect(),
            scores: (0..self.n).flat_map(|i| &self.list_scores(i)[..k]).copied().collect(),
            next: (0..self.n).map(|i| self.list_scores(i)[k]).collect(),
        }
    }

    /// Bytes of memory that `n` lists of `k` places take.
    pub fn memory(n: usize, k: usize) -> u64 {
        (k as u64).saturating_mul(12).saturating_add(8).saturating_mul(n as u64)
    }

    /// The metric that ranked the lists.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Number of queries.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Places per list.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Base rows, `[n, k]`.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Canonical scores, `[n, k]`.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The list of query `i`, nearest first.
    ///
    /// # Panics
    /// If `i` is not below [`Neighbours::n`].
    pub fn list(&self, i: usize) -> &[u32] {
        &self.indices[i * self.k..(i + 1) * self.k]
    }

    /// The canonical scores of query `i`, nearest first.
    ///
    /// # Panics
    /// If `i` is not below [`Neighbours::n`].
    pub fn list_scores(&self, i: usize) -> &[f64] {
        &self.scores[i * self.k..(i + 1) * self.k]
    }

    /// The canonical score of the best candidate left out of the list of query `i`.
    ///
    /// # Panics
    /// If `i` is not below [`Neighbours::n`].
    pub fn next_score(&self, i: usize) -> f64 {
        self.next[i]
    }

    /// Whether the last place of list `i` and the best candidate left out have the same score, so that only the tie
    /// rule chose between them.
    ///
    /// # Panics
    /// If `i` is not below [`Neighbours::n`].
    pub fn tied_at_k(&self, i: usize) -> bool {
        self.list(i).last().is_some_and(|&last| last != NO_NEIGHBOUR)
            && self.list_scores(i).last() == Some(&self.next[i])
    }

    /// Number of queries for which [`Neighbours::tied_at_k`] holds.
    pub fn tied_rows(&self) -> usize {
        (0..self.n).filter(|&i| self.tied_at_k(i)).count()
    }
}
