//! P-values of several tests at once, adjusted so that a level holds for all of them together.

use crate::Undefined;

/// Bonferroni's adjustment: every p-value times their number, at most 1.
///
/// # Errors
/// [`Undefined::NoPValue`] for what does not lie in `[0, 1]`.
///
/// ```
/// assert_eq!(mnno_measures::bonferroni(&[0.25, 0.0625, 0.75])?, [0.75, 0.1875, 1.0]);
/// # Ok::<(), mnno_measures::Undefined>(())
/// ```
pub fn bonferroni(p: &[f64]) -> Result<Vec<f64>, Undefined> {
    check(p)?;
    Ok(p.iter().map(|value| (value * p.len() as f64).min(1.0)).collect())
}

/// Holm's adjustment (1979), as safe as Bonferroni's and never larger: in ascending order, the first p-value times their
/// number, the second times one less, and so on, none below the one before it, at most 1.
///
/// # Errors
/// As [`bonferroni`].
///
/// ```
/// assert_eq!(mnno_measures::holm(&[0.25, 0.0625, 0.75])?, [0.5, 0.1875, 0.75]);
/// # Ok::<(), mnno_measures::Undefined>(())
/// ```
pub fn holm(p: &[f64]) -> Result<Vec<f64>, Undefined> {
    check(p)?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (before, i) in order.into_iter().enumerate() {
        least = (p[i] * (p.len() - before) as f64).min(1.0).max(least);
        adjusted[i] = least;
    }
    Ok(adjusted)
}

fn check(p: &[f64]) -> Result<(), Undefined> {
    match p.iter().position(|value| !(0.0..=1.0).contains(value)) {
        Some(index) => Err(Undefined::NoPValue { index, value: p[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_p_value_is_named() {
        for adjust in [bonferroni, holm] {
            for bad in [f64::NAN, -0.1, 1.5] {
                let reason = adjust(&[0.5, bad]).unwrap_err().to_string();
                assert_eq!(reason, format!("value 1 (from 0) is {bad}, which is no p-value"));
            }
            assert_eq!(adjust(&[]), Ok(vec![]));
        }
    }
}
