//! The best candidates of one query, in a total order that every part of the engine shares.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Metric;

/// Which of two candidates with equal scores comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The one with the lower base index. Two spaces then break their ties alike, which lifts the overlap of their
    /// lists when ties are many.
    #[default]
    LowerIndex,
    /// The one with the lower hash of (`seed`, `space`, base index): a fixed random order, another one for each space.
    Random {
        /// Seed of the run.
        seed: u64,
        /// Number of the space; give each space its own.
        space: u64,
    },
}

impl Ties {
    /// What orders equal scores, the lower first; rows of equal keys go by their number.
    pub fn key(self, index: u32) -> u32 {
        match self {
            Self::LowerIndex => index,
            Self::Random { seed, space } => (mix(mix(mix(seed) ^ space) ^ u64::from(index)) >> 32) as u32,
        }
    }
}

/// The output function of `SplitMix64` (Steele, Lea and Flood 2014): a bijection that spreads every input bit.
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A candidate; the greatest is the *worst*, so that a max-heap gives up the worst first.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The canonical score, negated where smaller is nearer.
    goodness: f64,
    tie: u32,
    index: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // Scores are never NaN (`TopK::offer`), and 0.0 and -0.0 are one score.
        other
            .goodness
            .partial_cmp(&self.goodness)
            .unwrap_or(Ordering::Equal)
            .then(self.tie.cmp(&other.tie))
            .then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// The `k + 1` best candidates seen so far for one query: `k` neighbours and the one just left out, which tells whether
/// there was a tie across `k`.
///
/// # Examples
/// ```
/// use mnno_exact::{Metric, Ties, TopK};
/// let new = || TopK::new(2, Metric::InnerProduct, Ties::LowerIndex);
/// let (mut a, mut b) = (new(), new());
/// a.offer(0, 0.5);
/// a.offer(1, 0.9);
/// b.offer(2, 0.5);
/// let merged = a.merge(b);
/// assert_eq!(merged.ranked().collect::<Vec<_>>(), [(1, 0.9), (0, 0.5), (2, 0.5)]);
/// ```
#[derive(Clone, Debug)]
pub struct TopK {
    k: usize,
    metric: Metric,
    ties: Ties,
    entries: BinaryHeap<Entry>,
}

impl TopK {
    /// An empty list of `k` places under `metric` and `ties`.
    pub fn new(k: usize, metric: Metric, ties: Ties) -> Self {
        Self { k, metric, ties, entries: BinaryHeap::new() }
    }

    /// Number of candidates held, at most `k + 1`.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of places.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Takes the candidate `index` with its canonical `score` if it is among the best `k + 1`.
    ///
    /// Each index may be offered once, to one of the lists that are later merged.
    ///
    /// # Panics
    /// If `score` is NaN.
    pub fn offer(&mut self, index: u32, score: f64) {
        assert!(!score.is_nan(), "the score of base row {index} is NaN");
        self.insert(Entry { goodness: self.metric.goodness(score), tie: self.ties.key(index), index });
    }

    fn insert(&mut self, entry: Entry) {
        if self.entries.len() <= self.k {
            if self.entries.is_empty() {
                // Most lists fill up; of very long ones not even one may.
                self.entries.reserve_exact(self.k.saturating_add(1).min(1 << 10));
            }
            self.entries.push(entry);
        } else if let Some(mut worst) = self.entries.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }

    /// The canonical score that a candidate must reach to matter: that of the worst of `k + 1` candidates; none while
    /// there are fewer.
    pub fn threshold(&self) -> Option<f64> {
        if self.entries.len() <= self.k {
            return None;
        }
        self.entries.peek().map(|worst| self.metric.score_of(worst.goodness))
    }

    /// The best of both lists. Associative and commutative, so that blocks, threads and shards cannot change an answer.
    ///
    /// # Panics
    /// If the lists differ in `k`, metric or tie rule.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        assert!(
            (self.k, self.metric, self.ties) == (other.k, other.metric, other.ties),
            "lists of different k, metric or tie rule cannot be merged"
        );
        for entry in other.entries {
            self.insert(entry);
        }
        self
    }

    /// The candidates as (index, canonical score), best first: at most `k + 1`, of which the first `k` are the neighbours.
    pub fn ranked(self) -> impl Iterator<Item = (u32, f64)> {
        let metric = self.metric;
        self.entries.into_sorted_vec().into_iter().map(move |e| (e.index, metric.score_of(e.goodness)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(k: usize, ties: Ties, entries: &[(u32, f64)]) -> TopK {
        let mut top = TopK::new(k, Metric::SquaredEuclidean, ties);
        for &(index, score) in entries {
            top.offer(index, score);
        }
        top
    }

    /// Case G4 (pytorch/pytorch#27542): `[1, 2, 5, 4, 5]`, larger first.
    #[test]
    fn g4_pytorch_27542_equal_values_keep_their_order() {
        for (k, expected) in [(1, vec![2]), (2, vec![2, 4]), (3, vec![2, 4, 3])] {
            let mut top = TopK::new(k, Metric::InnerProduct, Ties::LowerIndex);
            for (index, value) in [1.0, 2.0, 5.0, 4.0, 5.0].into_iter().enumerate().rev() {
                top.offer(index as u32, value);
            }
            let indices: Vec<u32> = top.ranked().map(|(i, _)| i).take(k).collect();
            assert_eq!(indices, expected);
        }
    }

    #[test]
    fn merge_is_associative_and_commutative() {
        for ties in [Ties::LowerIndex, Ties::Random { seed: 7, space: 1 }] {
            for k in 0..5 {
                // Scores repeat, so that the tie rule decides most places.
                let parts: Vec<TopK> = (0..3)
                    .map(|p| {
                        let entries: Vec<_> = (0..9).map(|i| (i * 3 + p, f64::from((i * 7 + p) % 4))).collect();
                        list(k, ties, &entries)
                    })
                    .collect();
                let [a, b, c] = [&parts[0], &parts[1], &parts[2]];
                let merge = |x: &TopK, y: &TopK| x.clone().merge(y.clone());
                let rank = |top: TopK| top.ranked().collect::<Vec<_>>();
                let left = rank(merge(&merge(a, b), c));
                assert_eq!(left, rank(merge(a, &merge(b, c))));
                assert_eq!(left, rank(merge(&merge(c, a), b)));
                assert_eq!(left.len(), k + 1);
            }
        }
    }

    #[test]
    fn zero_of_either_sign_is_one_score() {
        let top = list(2, Ties::LowerIndex, &[(3, -0.0), (1, 0.0), (2, -0.0)]);
        assert_eq!(top.ranked().map(|(i, _)| i).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn random_ties_depend_on_seed_and_space() {
        let order = |seed, space| {
            let entries: Vec<_> = (0..50).map(|i| (i, 1.0)).collect();
            list(50, Ties::Random { seed, space }, &entries).ranked().map(|(i, _)| i).collect::<Vec<_>>()
        };
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
        assert_ne!(order(1, 0), (0..50).collect::<Vec<_>>());
    }
}
