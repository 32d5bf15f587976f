//! Seeded data and neighbour lists made the slow way.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

use mnno_exact::{Metric, NO_NEIGHBOUR, Neighbours};
use mnno_measures::SelfRule;

/// A small generator of its own (`SplitMix64`), so that the data of a seed never changes.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `[0, 1)`.
    fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }
}

/// Lists with the given neighbours, `[n, k]`; the scores only have a place.
pub fn lists_of(n: usize, k: usize, indices: Vec<u32>) -> Neighbours {
    Neighbours::from_parts(Metric::Euclidean, n, k, indices, vec![0.0; n * k], vec![0.0; n])
}

/// Lists drawn at random, without any rows behind them. With the row itself included it comes first, as it does in a search.
pub fn random_lists(random: &mut Random, n: usize, k: usize, rule: SelfRule) -> Neighbours {
    let mut indices = Vec::with_capacity(n * k);
    for i in 0..n as u32 {
        let mut others: Vec<u32> = (0..n as u32).filter(|&j| j != i).collect();
        let first = match rule {
            SelfRule::Exclude => None,
            SelfRule::Include => Some(i),
        };
        let drawn = k - first.iter().count();
        for place in 0..drawn {
            let other = place + random.below(others.len() - place);
            others.swap(place, other);
        }
        indices.extend(first.into_iter().chain(others.into_iter().take(drawn)));
    }
    lists_of(n, k, indices)
}

/// The `k` nearest rows of each row of `x`, `[n, d]`, by squared Euclidean distance, ties by lower index.
pub fn nearest(x: &[f64], d: usize, k: usize, rule: SelfRule) -> Neighbours {
    let n = x.len() / d;
    let mut indices = Vec::with_capacity(n * k);
    for (i, q) in x.chunks_exact(d).enumerate() {
        let mut candidates: Vec<(f64, u32)> = x
            .chunks_exact(d)
            .zip(0..)
            .filter(|&(_, j)| rule == SelfRule::Include || i != j as usize)
            .map(|(b, j)| (q.iter().zip(b).map(|(q, b)| (q - b) * (q - b)).sum(), j))
            .collect();
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if k < candidates.len() {
            candidates.select_nth_unstable_by(k, order);
            candidates.truncate(k);
        }
        candidates.sort_unstable_by(order);
        indices.extend(candidates.into_iter().map(|(_, j)| j).chain(std::iter::repeat(NO_NEIGHBOUR)).take(k));
    }
    lists_of(n, k, indices)
}
