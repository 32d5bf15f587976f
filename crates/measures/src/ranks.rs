//! Ranks with ties, and values that differ by rounding alone.

/// What is left of a number's precision after some thousand roundings: smaller differences are noise.
const NOISE: f64 = 1e-12;

/// Values with average ranks, from 1.
pub(crate) struct Ranked {
    /// For each value the mean of the places that it and its equals take in ascending order.
    pub(crate) ranks: Vec<f64>,
    /// How many values each group of equal ones has, groups of one included.
    pub(crate) groups: Vec<usize>,
}

impl Ranked {
    pub(crate) fn new(values: &[f64]) -> Self {
        let order = ascending(values);
        let mut ranks = vec![0.0; values.len()];
        let mut groups = Vec::new();
        let mut before = 0;
        for group in order.chunk_by(|&a, &b| values[a as usize] == values[b as usize]) {
            let rank = before as f64 + f64::midpoint(1.0, group.len() as f64);
            for &i in group {
                ranks[i as usize] = rank;
            }
            groups.push(group.len());
            before += group.len();
        }
        Self { ranks, groups }
    }

    pub(crate) fn has_ties(&self) -> bool {
        self.groups.len() < self.ranks.len()
    }

    /// The sum of `t^3 - t` over groups of `t` equal values, by which ties lower the variance of a rank sum.
    pub(crate) fn tie_term(&self) -> f64 {
        self.groups.iter().map(|&t| t as f64).map(|t| t * (t * t - 1.0)).sum()
    }
}

/// The ranks of values from 1, equal ones with the mean of their places. All values must be numbers.
///
/// ```
/// assert_eq!(mnno_measures::average_ranks(&[7.0, -1.0, 7.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
/// ```
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    Ranked::new(values).ranks
}

/// Makes values equal that differ by rounding alone, so that they share a rank: in ascending order, a value at most
/// `1e-12 scale` above its predecessor becomes equal to it. `scale` is the size of the numbers that the values were computed
/// from: 1 for cosines; where nothing better is known, the largest absolute value ([`largest`]).
///
/// The similarities of rows that point in one direction are equal, but computed they differ in their last digits, and
/// ranks would make a result out of these.
///
/// ```
/// let equal = mnno_measures::without_rounding_noise(&[0.3, 0.1 + 0.2, 0.7], 1.0);
/// assert_eq!(equal, [0.3, 0.3, 0.7]);
/// ```
pub fn without_rounding_noise(values: &[f64], scale: f64) -> Vec<f64> {
    let mut settled = values.to_vec();
    let mut before: Option<(f64, f64)> = None;
    for i in ascending(values) {
        let value = values[i as usize];
        let shared = before.filter(|&(last, _)| value - last <= NOISE * scale).map_or(value, |(_, shared)| shared);
        settled[i as usize] = shared;
        before = Some((value, shared));
    }
    settled
}

/// The largest absolute value; 0 of none.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, v| v.abs().max(largest))
}

fn ascending(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_places() {
        let ranked = Ranked::new(&[3.0, 1.0, 3.0, 3.0, 0.0, -0.0]);
        assert_eq!(ranked.ranks, [5.0, 3.0, 5.0, 5.0, 1.5, 1.5]);
        assert_eq!(ranked.groups, [2, 1, 3]);
        assert_eq!(ranked.tie_term(), 6.0 + 24.0);
    }

    #[test]
    fn noise_is_relative_to_the_scale() {
        let values = [5e-13, 0.0, -4e-13, 3e-12];
        assert_eq!(without_rounding_noise(&values, 1.0), [-4e-13, -4e-13, -4e-13, 3e-12]);
        assert_eq!(without_rounding_noise(&values, largest(&values)), values);
    }
}
