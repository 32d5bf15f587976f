//! Wilcoxon's two tests by ranks, both two-sided.
//!
//! Small samples without ties have exact p-values, counted over all orders of the ranks; others have those of the normal
//! approximation, with correction for ties and for continuity. Each function says which is when.

use crate::Undefined;
use crate::ranks::{Ranked, largest, without_rounding_noise};
use crate::undefined::{check, check_paired, check_varies};

/// Up to so many values p is exact: all counts of orders are below 2^53, which f64 holds.
const EXACT: usize = 50;

/// The result of a test by ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Of the rank-sum test, Mann and Whitney's `U` of the first sample: the pairs in which its value is the larger, equal ones
    /// counted half. Of the signed-rank test, the sum of the ranks of positive differences.
    pub statistic: f64,
    /// The two-sided p-value. Relative precision holds down to 1e-307; what is too small for f64 is 0 ([`PMethod::Normal`]'s
    /// `z` then tells how far out the statistic lies).
    pub p: f64,
    /// How p was found.
    pub method: PMethod,
}

/// How a p-value was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PMethod {
    /// From the distribution of the statistic over all orders.
    Exact,
    /// By the normal approximation, corrected for ties and for continuity.
    Normal {
        /// The statistic less its mean, half a step nearer to it, in standard deviations; positive if the first sample is the larger.
        z: f64,
    },
}

/// The rank-sum test of Wilcoxon (1945), Mann & Whitney (1947): whether values of one sample tend to be larger than those of
/// another. `O(n log n)`.
///
/// p is exact for samples of at most 50 values together, all of them different; else normal.
///
/// # Errors
/// [`Undefined`]: fewer than two values in a sample, NaN or infinities, or values that are all equal.
///
/// ```
/// use mnno_measures::{PMethod, rank_sum};
/// let test = rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0])?;
/// assert_eq!((test.statistic, test.p, test.method), (0.0, 2.0 / 20.0, PMethod::Exact));
/// # Ok::<(), mnno_measures::Undefined>(())
/// ```
pub fn rank_sum(x: &[f64], y: &[f64]) -> Result<RankTest, Undefined> {
    check(x)?;
    check(y)?;
    let pooled = [x, y].concat();
    check_varies(&pooled)?;
    let ranked = Ranked::new(&pooled);
    let (a, b, n) = (x.len() as f64, y.len() as f64, pooled.len() as f64);
    let statistic = ranked.ranks[..x.len()].iter().sum::<f64>() - a * (a + 1.0) / 2.0;
    if pooled.len() <= EXACT && !ranked.has_ties() {
        return Ok(RankTest::exact(statistic, &rank_sum_orders(x.len(), y.len())));
    }
    let variance = a * b / 12.0 * ((n + 1.0) - ranked.tie_term() / (n * (n - 1.0)));
    Ok(RankTest::normal(statistic, a * b / 2.0, variance))
}

/// The signed-rank test of Wilcoxon (1945) for paired values: whether differences `x - y` lean to one side of 0. A single
/// sample is tested against a number by pairing each value with it.
///
/// Pairs without a difference are left out, as Wilcoxon did; differences equal but for rounding are tied. p is exact for at most
/// 50 pairs if all of them differ, each by another amount; else normal.
///
/// # Errors
/// [`Undefined`]: different numbers of values, fewer than two, NaN or infinities, or no difference in any pair.
pub fn signed_rank(x: &[f64], y: &[f64]) -> Result<RankTest, Undefined> {
    check_paired(x, y)?;
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    check(&differences)?;
    // A difference of 0 joins the sizes, so that what rounding left of one becomes 0 too.
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).chain([0.0]).collect();
    let sizes = without_rounding_noise(&sizes, largest(x).max(largest(y)));
    let (sizes, positive): (Vec<f64>, Vec<bool>) =
        sizes.iter().zip(&differences).filter(|(size, _)| **size > 0.0).map(|(size, d)| (size, *d > 0.0)).unzip();
    if sizes.is_empty() {
        return Err(Undefined::NoDifference { count: x.len() });
    }
    let ranked = Ranked::new(&sizes);
    let statistic = ranked.ranks.iter().zip(positive).filter(|(_, positive)| *positive).map(|(rank, _)| rank).sum();
    if x.len() <= EXACT && sizes.len() == x.len() && !ranked.has_ties() {
        return Ok(RankTest::exact(statistic, &signed_rank_orders(sizes.len())));
    }
    let n = sizes.len() as f64;
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - ranked.tie_term() / 2.0) / 24.0;
    Ok(RankTest::normal(statistic, n * (n + 1.0) / 4.0, variance))
}

impl RankTest {
    /// From the number of orders that give each value of the statistic, which is symmetric.
    fn exact(statistic: f64, orders: &[f64]) -> Self {
        let smaller = statistic.min((orders.len() - 1) as f64 - statistic);
        let tail: f64 =
            orders.iter().enumerate().take_while(|(value, _)| *value as f64 <= smaller).map(|(_, n)| n).sum();
        let all: f64 = orders.iter().sum();
        Self { statistic, p: (2.0 * tail / all).min(1.0), method: PMethod::Exact }
    }

    fn normal(statistic: f64, mean: f64, variance: f64) -> Self {
        let distance = ((statistic - mean).abs() - 0.5).max(0.0);
        let z = distance.copysign(statistic - mean) / variance.sqrt();
        // Twice the upper tail of the normal distribution.
        Self { statistic, p: libm::erfc(z.abs() / std::f64::consts::SQRT_2), method: PMethod::Normal { z } }
    }
}

/// The number of orders of `a` and `b` different values in which the first sample has `U = 0, 1, .., a b`.
fn rank_sum_orders(a: usize, b: usize) -> Vec<f64> {
    // With the largest value in the first sample, `b` pairs count; in the second, none: so f(i, j) = f(i-1, j) << j + f(i, j-1).
    let mut of_fewer: Vec<Vec<f64>> = vec![vec![1.0]; b + 1];
    for i in 1..=a {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=b {
            let mut orders = vec![0.0; i * j + 1];
            orders[..row[j - 1].len()].copy_from_slice(&row[j - 1]);
            of_fewer[j].iter().enumerate().for_each(|(u, count)| orders[u + j] += count);
            row.push(orders);
        }
        of_fewer = row;
    }
    of_fewer.swap_remove(b)
}

/// The number of choices among the ranks `1, .., n` whose sum is `0, 1, .., n (n + 1) / 2`.
fn signed_rank_orders(n: usize) -> Vec<f64> {
    let mut orders = vec![0.0; n * (n + 1) / 2 + 1];
    orders[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..orders.len()).rev() {
            orders[sum] += orders[sum - rank];
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order is counted once: binomially many, and 2^n.
    #[test]
    fn orders_are_all_counted() {
        assert_eq!(rank_sum_orders(25, 25).iter().sum::<f64>(), 126_410_606_437_752.0);
        assert_eq!(rank_sum_orders(2, 3), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        assert_eq!(signed_rank_orders(50).iter().sum::<f64>(), 50_f64.exp2());
        assert_eq!(signed_rank_orders(3), [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn shares_tie_as_their_counts_do() {
        let (x, y) = ([3.0, 2.0, 7.0, 1.0, 6.0, 4.0], [2.0, 1.0, 4.0, 1.0, 4.0, 9.0]);
        let shares = |counts: [f64; 6]| counts.map(|count| count / 10.0);
        assert_ne!(0.3 - 0.2, 0.2 - 0.1);
        assert_eq!(signed_rank(&shares(x), &shares(y)).unwrap(), signed_rank(&x, &y).unwrap());
    }

    #[test]
    fn sides_are_symmetric() {
        let (x, y) = ([1.0, 5.0, 9.0, 2.0, 2.0], [0.0, 3.0, 1.0, 2.0, 8.0]);
        for test in [rank_sum, signed_rank] {
            let (one, other) = (test(&x, &y).unwrap(), test(&y, &x).unwrap());
            assert_eq!(one.p, other.p);
            assert!(
                matches!((one.method, other.method), (PMethod::Normal { z: a }, PMethod::Normal { z: b }) if a == -b)
            );
        }
    }

    #[test]
    fn no_value_without_a_reason() {
        let ten = [2.0; 10];
        let undefined = |result: Result<RankTest, Undefined>| result.unwrap_err().to_string();
        assert_eq!(undefined(rank_sum(&ten, &ten)), "constant input: all 20 values are equal");
        assert_eq!(undefined(signed_rank(&ten, &ten)), "no difference: the values of all 10 pairs are equal");
        assert_eq!(undefined(signed_rank(&ten, &ten[1..])), "10 values cannot be paired with 9");
        for test in [rank_sum, signed_rank] {
            assert_eq!(undefined(test(&[1.0], &[2.0])), "too few values: 1, where 2 are needed");
            assert_eq!(undefined(test(&[1.0, f64::NAN], &[2.0, 3.0])), "value 1 (from 0) is NaN");
        }
        // One side may be constant: ten runs against a number.
        assert!(rank_sum(&[1.0, 2.5, 3.0], &ten).is_ok() && signed_rank(&[1.0, 3.0], &ten[..2]).is_ok());
    }
}
