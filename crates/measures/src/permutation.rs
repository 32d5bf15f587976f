//! A p-value from permuting the pairing.

use mnno_exact::Neighbours;
use rayon::prelude::*;

use crate::Overlap;

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
/// # Panics
/// If the lists differ in rows, or `overlap` is not of these lists.
pub fn permutation_p(a: &Neighbours, b: &Neighbours, overlap: &Overlap, permutations: u32, seed: u64) -> Option<f64> {
    let n = overlap.n();
    assert!(a.n() == n && b.n() == n, "the overlap of {n} rows is not of lists of {} and {}", a.n(), b.n());
    if permutations == 0 {
        return None;
    }
    let observed = overlap.total();
    let hits = (0..permutations)
        .into_par_iter()
        .map_init(
            || (Vec::new(), vec![u32::MAX; n]),
            |(pairing, stamps), t| {
                shuffle(pairing, n, SplitMix64(mix(seed) ^ u64::from(t)));
                u32::from(paired_overlap(a, b, pairing, stamps) >= observed)
            },
        )
        .sum::<u32>();
    Some(f64::from(1 + hits) / (1.0 + f64::from(permutations)))
}

/// The total overlap when row `i` of `a` is paired with row `pairing[i]` of `b`.
fn paired_overlap(a: &Neighbours, b: &Neighbours, pairing: &[u32], stamps: &mut [u32]) -> u64 {
    stamps.fill(u32::MAX);
    let mut total = 0;
    for (i, &partner) in pairing.iter().enumerate() {
        for &j in b.list(partner as usize) {
            stamps[j as usize] = i as u32;
        }
        total += a.list(i).iter().filter(|&&j| stamps[pairing[j as usize] as usize] == i as u32).count() as u64;
    }
    total
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
            if wide as u64 >= bound.wrapping_neg() % bound {
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
    use super::*;

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
