//! Which rows are of one class.

use std::collections::HashMap;

/// The classes of rows, one or several each. Two rows are of different classes if they share none.
#[derive(Clone, Debug)]
pub struct Classes {
    /// For each row, its classes in ascending order.
    of_rows: Vec<Vec<u32>>,
}

impl Classes {
    /// The classes that labels name: `labels[i]` are those of row `i`.
    pub fn new(labels: &[Vec<String>]) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut of_rows: Vec<Vec<u32>> = Vec::with_capacity(labels.len());
        for labels in labels {
            let mut row = Vec::with_capacity(labels.len());
            for label in labels {
                let next = numbers.len() as u32;
                row.push(*numbers.entry(label).or_insert(next));
            }
            row.sort_unstable();
            of_rows.push(row);
        }
        Self { of_rows }
    }

    /// Whether one class is that of every row, so that no row has a negative.
    pub fn is_one(&self) -> bool {
        let Some((first, others)) = self.of_rows.split_first() else { return false };
        first.iter().any(|class| others.iter().all(|row| row.binary_search(class).is_ok()))
    }

    /// Whether rows `i` and `j` share no class.
    pub(crate) fn differ(&self, i: u32, j: u32) -> bool {
        let (mut a, mut b) = (&self.of_rows[i as usize][..], &self.of_rows[j as usize][..]);
        while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
            match x.cmp(y) {
                std::cmp::Ordering::Equal => return false,
                std::cmp::Ordering::Less => a = a_rest,
                std::cmp::Ordering::Greater => b = b_rest,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_differ_if_they_share_no_label() {
        let labels = [vec!["sky", "sea"], vec!["road"], vec!["road", "sky"], vec!["sea", "sea"]];
        let classes = Classes::new(&labels.map(|row| row.into_iter().map(str::to_owned).collect()));
        assert!(classes.differ(0, 1) && classes.differ(1, 3) && classes.differ(2, 3));
        assert!(!classes.is_one());
        assert!(Classes::new(&[["a", "b"], ["c", "a"]].map(|row| row.map(str::to_owned).to_vec())).is_one());
        assert!(!classes.differ(0, 2) && !classes.differ(1, 2) && !classes.differ(0, 3) && !classes.differ(0, 0));
    }
}
