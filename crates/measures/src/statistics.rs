//! Chance level, standard error, interval, and the range of k.

use crate::MeasureError;

/// Two-sided 95 % quantile of the standard normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// Whether a row is a candidate for its own list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfRule {
    /// No: left out by its identity.
    #[default]
    Exclude,
    /// Yes, as in the code published with Collell & Moens (2018). Each row then shares itself with itself, which lifts
    /// every value by about 1/K.
    Include,
}

/// The value that mNNO has on average for `n` rows whose pairing means nothing: `K/(n-1)` with the row itself excluded,
/// `(1 + (K-1)^2/(n-1))/K` with it included (it is then the first of its list in both spaces, and `K-1` others are left
/// to chance). Meaningful for a `k` that [`check_k`] accepts.
pub fn chance(n: usize, k: usize, rule: SelfRule) -> f64 {
    let (n, k) = (n as f64, k as f64);
    match rule {
        SelfRule::Exclude => k / (n - 1.0),
        // A single row has no others, and shares itself.
        SelfRule::Include if n == 1.0 => 1.0,
        SelfRule::Include => (1.0 + (k - 1.0) * (k - 1.0) / (n - 1.0)) / k,
    }
}

/// Checks that each of `n` rows has `k` candidates: `1 <= k <= n - 1` with the row itself excluded, `1 <= k <= n` with it
/// included.
///
/// # Errors
/// [`MeasureError::KZero`] or [`MeasureError::KTooLarge`].
pub fn check_k(n: usize, k: usize, rule: SelfRule) -> Result<(), MeasureError> {
    let largest = match rule {
        SelfRule::Exclude => n.saturating_sub(1),
        SelfRule::Include => n,
    };
    match k {
        0 => Err(MeasureError::KZero),
        k if k > largest => Err(MeasureError::KTooLarge { k, n, largest }),
        _ => Ok(()),
    }
}

/// See [`crate::Overlap::std_error`].
pub(crate) fn standard_error(counts: &[u32], k: usize) -> f64 {
    let n = counts.len() as f64;
    let share = |&count: &u32| f64::from(count) / k as f64;
    let mean = counts.iter().map(share).sum::<f64>() / n;
    let variance = counts.iter().map(|c| (share(c) - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (2.0 * variance / n).sqrt()
}

/// See [`crate::Overlap::ci95`].
pub(crate) fn interval(value: f64, std_error: f64) -> (f64, f64) {
    // `clamp` keeps the NaN of a single row, which `max` and `min` would turn into a bound.
    ((value - Z95 * std_error).clamp(0.0, 1.0), (value + Z95 * std_error).clamp(0.0, 1.0))
}
