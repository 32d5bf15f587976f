//! Correlations of paired values.

use crate::Undefined;
use crate::ranks::{average_ranks, largest};
use crate::undefined::{check_paired, check_varies};

/// Pearson's correlation `r` of paired values, in `[-1, 1]`.
///
/// # Errors
/// [`Undefined`]: different numbers of values, fewer than two, NaN or infinities, or a constant side.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<f64, Undefined> {
    check_correlated(x, y)?;
    let (x, y) = (centred(x), centred(y));
    Ok(x.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>().clamp(-1.0, 1.0))
}

/// Spearman's correlation `ρ` of paired values: Pearson's of their ranks, equal values with the mean of their places.
///
/// Ranks tell apart whatever differs, rounding noise included: pass values that were computed through
/// [`without_rounding_noise`](crate::without_rounding_noise) first.
///
/// # Errors
/// As [`pearson`].
pub fn spearman(x: &[f64], y: &[f64]) -> Result<f64, Undefined> {
    check_correlated(x, y)?;
    // The sums are exact, and the root of a square is: the same order gives 1.
    let mean = f64::midpoint(1.0, x.len() as f64);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in average_ranks(x).into_iter().zip(average_ranks(y)) {
        let (x, y) = (x - mean, y - mean);
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    Ok((xy / (xx * yy).sqrt()).clamp(-1.0, 1.0))
}

/// Kendall's correlation `τ_b` of paired values, which corrects for ties on either side (Kendall 1945), in
/// `O(n log n)` (Knight 1966).
///
/// # Errors
/// As [`pearson`].
pub fn kendall(x: &[f64], y: &[f64]) -> Result<f64, Undefined> {
    check_correlated(x, y)?;
    // Adding 0 makes one zero of the two that are equal.
    let mut pairs: Vec<(f64, f64)> = x.iter().zip(y).map(|(x, y)| (x + 0.0, y + 0.0)).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let all = pairs_within(pairs.len());
    let tied_x: u64 = pairs.chunk_by(|a, b| a.0 == b.0).map(|group| pairs_within(group.len())).sum();
    let tied_both: u64 = pairs.chunk_by(|a, b| a == b).map(|group| pairs_within(group.len())).sum();
    let mut y: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let discordant = inversions(&mut y, &mut Vec::with_capacity(pairs.len()));
    // The values are sorted by now.
    let tied_y: u64 = y.chunk_by(|a, b| a == b).map(|group| pairs_within(group.len())).sum();
    let concordant = all + tied_both - tied_x - tied_y - discordant;
    let difference = concordant as f64 - discordant as f64;
    Ok((difference / ((all - tied_x) as f64).sqrt() / ((all - tied_y) as f64).sqrt()).clamp(-1.0, 1.0))
}

fn check_correlated(x: &[f64], y: &[f64]) -> Result<(), Undefined> {
    check_paired(x, y)?;
    check_varies(x)?;
    check_varies(y)
}

/// The values less their mean, scaled to a sum of squares of 1.
fn centred(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    // So that a difference of two of the largest numbers stays finite.
    let scale = if largest(values) > 1e300 { 0.25 } else { 1.0 };
    let mean = values.iter().map(|v| scale * v / n).sum::<f64>();
    let centred: Vec<f64> = values.iter().map(|v| scale * v - mean).collect();
    let largest = largest(&centred);
    let norm = centred.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt();
    centred.iter().map(|v| v / largest / norm).collect()
}

fn pairs_within(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

/// Sorts the values and counts the pairs that stood in descending order.
fn inversions(values: &mut [f64], merged: &mut Vec<f64>) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = inversions(left, merged) + inversions(right, merged);
    merged.clear();
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        if right[r] < left[l] {
            count += (left.len() - l) as u64;
            merged.push(right[r]);
            r += 1;
        } else {
            merged.push(left[l]);
            l += 1;
        }
    }
    merged.extend_from_slice(&left[l..]);
    merged.extend_from_slice(&right[r..]);
    values.copy_from_slice(merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    type Correlation = fn(&[f64], &[f64]) -> Result<f64, Undefined>;
    const ALL: [Correlation; 3] = [pearson, spearman, kendall];

    #[test]
    fn extremes_are_one_and_minus_one() {
        let x = [1.0, 4.0, 2.0, 8.0, -3.0];
        let turned = x.map(|v| 7.0 - 2.0 * v);
        for correlation in ALL {
            assert!((correlation(&x, &x).unwrap() - 1.0).abs() < 1e-15);
            assert!((correlation(&x, &turned).unwrap() + 1.0).abs() < 1e-15);
            let huge = [-1.6e308, 1.7e308, 1.7e308];
            assert!((correlation(&[-5.0, 3.0, 3.0], &huge).unwrap() - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn kendall_counts_pairs() {
        let x = [1.0, 2.0, 2.0, 3.0, 5.0, 4.0, 4.0, 0.0];
        let y = [2.0, 2.0, 3.0, 1.0, 3.0, 3.0, 2.0, 2.0];
        let (mut difference, mut untied_x, mut untied_y) = (0.0, 0.0, 0.0);
        for i in 0..x.len() {
            for j in 0..i {
                let sign = |a: f64, b: f64| if a == b { 0.0 } else { (a - b).signum() };
                let (of_x, of_y) = (sign(x[i], x[j]), sign(y[i], y[j]));
                difference += of_x * of_y;
                untied_x += of_x.abs();
                untied_y += of_y.abs();
            }
        }
        assert_eq!(kendall(&x, &y).unwrap(), difference / f64::sqrt(untied_x) / f64::sqrt(untied_y));
    }

    #[test]
    fn no_value_without_a_reason() {
        let varied = [1.0, 2.0, 4.0];
        for correlation in ALL {
            let reason = |x: &[f64], y: &[f64]| correlation(x, y).unwrap_err().to_string();
            assert_eq!(reason(&varied, &[5.0; 3]), "constant input: all 3 values are equal");
            assert_eq!(reason(&[5.0; 3], &varied), "constant input: all 3 values are equal");
            assert_eq!(reason(&varied, &varied[1..]), "3 values cannot be paired with 2");
            assert_eq!(reason(&[1.0], &[1.0]), "too few values: 1, where 2 are needed");
            assert_eq!(reason(&[], &[]), "too few values: 0, where 2 are needed");
            assert_eq!(reason(&varied, &[1.0, f64::NAN, 2.0]), "value 1 (from 0) is NaN");
            assert_eq!(reason(&[1.0, 0.0, f64::INFINITY], &varied), "value 2 (from 0) is inf");
        }
    }
}
