//! A p-value from permuting the pairing.

use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::{Neighbours, Observer};
use rayon::prelude::*;

use crate::{MeasureError, Overlap};

/// One-sided p-value of an overlap: the share of random pairings of the rows that overlap at least as much,
/// `(1 + hits) / (1 + permutations)`. None for no permutations.
///
/// Under a pairing `i -> pi(i)` row `i` of `a` meets row `pi(i)` of `b`, and so do their neighbours: the overlap of row `i`
/// is `|pi(NN_a(i)) ∩ NN_b(pi(i))|`. Only the finished lists are needed, `O(n k)` for each permutation. Totals are compared
/// as integers, so equality is exact.
///
/// Permutation `t` is drawn by Fisher-Yates from a `SplitMix64` stream seeded with (`seed`, `t`): the same for any number of
/// threads. Runs on the rayon pool that the caller has installed.
///
/// The permuted lists keep the ties as they were broken. Under [`mnno_exact::Ties::LowerIndex`] both spaces break them
/// alike for the true pairing only, so where ties across k are many, p speaks of them too: break ties at random there.
///
/// The observer is told of finished permutations.
///
/// # Errors
/// [`MeasureError::Interrupted`] if the observer cancels.
///
/// # Panics
/// If `overlap` is not of these lists.
///
/// # Examples
/// ```
/// use mnno_exact::{Metric, Search, SliceRows};
/// let x: Vec<f32> = (0..40u8).map(|i| f32::from(i).powi(2)).collect();
/// let lists = Search::new(Metric::Euclidean, 3).self_join(&SliceRows::new(&x, 1))?;
/// let overlap = mnno_measures::mnno(&lists, &lists)?;
/// assert_eq!(mnno_measures::permutation_p(&lists, &lists, &overlap, 99, 0, &())?, Some(0.01));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn permutation_p(
    a: &Neighbours,
    b: &Neighbours,
    overlap: &Overlap,
    permutations: u32,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Option<f64>, MeasureError> {
    let n = overlap.n();
    for lists in [a, b] {
        assert_eq!((lists.n(), lists.k()), (n, overlap.k()), "the overlap is of lists of another shape");
    }
    if permutations == 0 {
        return Ok(None);
    }
    let done = AtomicU64::new(0);
    let observed = overlap.total();
    let hits = (0..permutations)
        .into_par_iter()
        .map_init(
            || (Vec::new(), vec![u32::MAX; n]),
            |(pairing, stamps), t| {
                if observer.cancelled() {
                    return Err(MeasureError::Interrupted);
                }
                shuffle(pairing, n, SplitMix64(mix(seed) ^ u64::from(t)));
                let hit = u32::from(overlap_reaches(observed, a, b, pairing, stamps));
                observer.progress(done.fetch_add(1, Ordering::Relaxed) + 1, permutations.into());
                Ok(hit)
            },
        )
        .sum::<Result<u32, MeasureError>>()?;
    Ok(Some((1.0 + f64::from(hits)) / (1.0 + f64::from(permutations))))
}

/// Whether the total overlap, when row `i` of `a` is paired with row `pairing[i]` of `b`, is at least `least`.
fn overlap_reaches(least: u64, a: &Neighbours, b: &Neighbours, pairing: &[u32], stamps: &mut [u32]) -> bool {
    stamps.fill(u32::MAX);
    let mut total = 0;
    for (i, &partner) in pairing.iter().enumerate() {
        // A row adds k at most.
        let most = ((pairing.len() - i) * a.k()) as u64;
        if total >= least || total + most < least {
            break;
        }
        for &j in b.list(partner as usize) {
            stamps[j as usize] = i as u32;
        }
        total += a.list(i).iter().filter(|&&j| stamps[pairing[j as usize] as usize] == i as u32).count() as u64;
    }
    total >= least
}

/// A random permutation of `0..n`.
fn shuffle(order: &mut Vec<u32>, n: usize, mut random: SplitMix64) {
    order.clear();
    order.extend(0..n as u32);
    for i in (1..n).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Uniform in `0..bound`, without bias (Lemire 2019): draws whose low half falls into the uneven rest are repeated.
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let wide = u128::from(self.next()) * u128::from(bound);
            // The rest is smaller than the bound: most draws are spared the division.
            if wide as u64 >= bound || wide as u64 >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }
}

fn mix(x: u64) -> u64 {
    let z = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use mnno_exact::{Metric, Search, SliceRows};

    use super::*;

    fn lists(x: &[f32]) -> Neighbours {
        Search::new(Metric::Euclidean, 3).self_join(&SliceRows::new(x, 2)).unwrap()
    }

    /// Normal enough, and without ties.
    fn points(random: &mut SplitMix64, n: usize) -> Vec<f32> {
        let mut uniform = || random.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0;
        (0..2 * n).map(|_| uniform() + uniform() + uniform()).collect()
    }

    #[test]
    fn p_equals_a_search_of_the_permuted_rows() {
        let (n, permutations, seed) = (30, 200, 3);
        let mut random = SplitMix64(5);
        let (v, noise) = (points(&mut random, n), points(&mut random, n));
        let z: Vec<f32> = v.iter().zip(&noise).map(|(v, e)| v + 3.0 * e).collect();
        let (a, b) = (lists(&v), lists(&z));
        let overlap = crate::mnno(&a, &b).unwrap();
        let mut order = Vec::new();
        let mut hits = 0;
        for t in 0..permutations {
            shuffle(&mut order, n, SplitMix64(mix(seed) ^ u64::from(t)));
            let permuted: Vec<f32> = order.iter().flat_map(|&i| [z[2 * i as usize], z[2 * i as usize + 1]]).collect();
            hits += u32::from(crate::mnno(&a, &lists(&permuted)).unwrap().total() >= overlap.total());
        }
        assert!(hits > 0 && hits < permutations / 2, "{hits} hits would hide a difference");
        let expected = f64::from(1 + hits) / f64::from(1 + permutations);
        assert_eq!(permutation_p(&a, &b, &overlap, permutations, seed, &()).unwrap(), Some(expected));
    }

    #[test]
    fn a_seed_means_the_same_permutation_in_every_version() {
        let mut order = Vec::new();
        shuffle(&mut order, 10, SplitMix64(mix(42) ^ 1));
        assert_eq!(order, [8, 1, 9, 4, 3, 5, 0, 6, 7, 2]);
    }

    #[test]
    fn every_permutation_of_four_is_as_likely() {
        let mut seen = std::collections::HashMap::new();
        let mut order = Vec::new();
        for t in 0..24_000 {
            shuffle(&mut order, 4, SplitMix64(mix(9) ^ t));
            *seen.entry(order.clone()).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        // 1000 expected of each, standard deviation 31.
        assert!(seen.values().all(|&count| (850..1150).contains(&count)), "{seen:?}");
    }
}
