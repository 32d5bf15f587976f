//! Rows cut into folds.

use rand::seq::SliceRandom;

use crate::MapError;
use crate::init::{Purpose, stream};

/// Rows to train on, and rows to test on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// In ascending order.
    pub train: Vec<u32>,
    /// In ascending order, none of them in `train`.
    pub test: Vec<u32>,
}

/// `rows` cut at random into `count` test folds whose sizes differ by one at most; each is tested on by what is trained on the others.
///
/// # Errors
/// [`MapError::Rows`] if there are fewer rows than folds, or fewer than two folds.
pub fn folds(rows: &[u32], count: usize, seed: u64) -> Result<Vec<Split>, MapError> {
    if count < 2 || rows.len() < count {
        return Err(MapError::Rows { rows: rows.len(), needed: count.max(2) });
    }
    let mut order = rows.to_vec();
    order.shuffle(&mut stream(seed, Purpose::Folds, 0));
    let start = |fold: usize| fold * rows.len() / count;
    let sorted = |mut rows: Vec<u32>| {
        rows.sort_unstable();
        rows
    };
    let split = |fold| Split {
        train: sorted([&order[..start(fold)], &order[start(fold + 1)..]].concat()),
        test: sorted(order[start(fold)..start(fold + 1)].to_vec()),
    };
    Ok((0..count).map(split).collect())
}

/// `rows` cut at random into training rows and a `share` of test rows, to the nearest row but neither of them empty.
///
/// # Errors
/// [`MapError::Rows`] for fewer than two rows.
pub fn hold_out(rows: &[u32], share: f64, seed: u64) -> Result<Split, MapError> {
    if rows.len() < 2 {
        return Err(MapError::Rows { rows: rows.len(), needed: 2 });
    }
    #[allow(clippy::cast_sign_loss)]
    let count = ((share * rows.len() as f64).round() as usize).clamp(1, rows.len() - 1);
    let mut order = rows.to_vec();
    order.shuffle(&mut stream(seed, Purpose::Folds, 0));
    let mut train = order.split_off(count);
    order.sort_unstable();
    train.sort_unstable();
    Ok(Split { train, test: order })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_held_out_and_neither_side_is_empty() {
        let rows: Vec<u32> = (0..10).collect();
        for (share, expected) in [(0.2, 2), (0.249, 2), (0.26, 3), (0.001, 1), (0.999, 9)] {
            let split = hold_out(&rows, share, 5).unwrap();
            assert_eq!(split.test.len(), expected, "{share}");
            let mut all = [split.train, split.test].concat();
            all.sort_unstable();
            assert_eq!(all, rows);
        }
        assert_eq!(hold_out(&rows[..2], 0.5, 5).map(|split| split.test.len()), Ok(1));
        assert_eq!(hold_out(&rows[..1], 0.5, 5), Err(MapError::Rows { rows: 1, needed: 2 }));
    }

    #[test]
    fn every_row_is_tested_once_and_trained_on_otherwise() {
        let rows: Vec<u32> = (10..33).collect();
        let splits = folds(&rows, 5, 1).unwrap();
        let mut tested: Vec<u32> = splits.iter().flat_map(|split| split.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, rows);
        for split in &splits {
            assert!((4..=5).contains(&split.test.len()));
            let mut all = [&split.train[..], &split.test].concat();
            all.sort_unstable();
            assert_eq!(all, rows);
        }
        assert_eq!(splits, folds(&rows, 5, 1).unwrap());
        assert_ne!(splits, folds(&rows, 5, 2).unwrap());
        assert_eq!(folds(&rows[..4], 5, 1), Err(MapError::Rows { rows: 4, needed: 5 }));
        assert_eq!(folds(&rows, 1, 1), Err(MapError::Rows { rows: 23, needed: 2 }));
    }
}
