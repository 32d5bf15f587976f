//! mNNO, the mean nearest-neighbour overlap.

use mnno_exact::{NO_NEIGHBOUR, Neighbours};

use crate::MeasureError;
use crate::statistics::{interval, standard_error};

/// The overlap of two sets of neighbour lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    k: usize,
    counts: Vec<u32>,
    by_k: Vec<f64>,
}

impl Overlap {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.counts.len()
    }

    /// Places per list.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Neighbours that each row has in both lists, `[n]`, each at most `k`.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// mNNO for every K' from 1 to `k`: element `K' - 1` compares the first K' places of the lists.
    pub fn by_k(&self) -> &[f64] {
        &self.by_k
    }

    /// Sum of [`Overlap::counts`].
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }

    /// mNNO at `k`, in `[0, 1]`: 0 for no common neighbour, 1 for the same neighbours everywhere. NaN for
    /// no rows.
    pub fn value(&self) -> f64 {
        self.total() as f64 / (self.k as f64 * self.n() as f64)
    }

    /// Standard error of [`Overlap::value`]: `sqrt(2) sd(NNO_i / K) / sqrt(n)`, `sd` with denominator `n - 1`.
    ///
    /// An approximation for independent samples. The rows of one sample share their candidates, so their overlaps depend
    /// on each other; the usual `sd / sqrt(n)` covers the true value in 79-84 % of simulations where it claims 95 %, and
    /// the factor `sqrt(2)` brings that to 92-97 % (n = 300 to 1000). NaN for a single row.
    pub fn std_error(&self) -> f64 {
        standard_error(&self.counts, self.k)
    }

    /// The interval `value ± 1.96 std_error`, cut to `[0, 1]`, as (low, high); meant to cover the true value in 95 % of
    /// samples, under the assumptions of [`Overlap::std_error`]. NaN for a single row.
    pub fn ci95(&self) -> (f64, f64) {
        interval(self.value(), self.std_error())
    }
}

/// Mean nearest-neighbour overlap of two spaces, row `i` of `a` paired with row `i` of `b`, for every K' up to `k` in one
/// pass.
///
/// `mNNO^K(V,Z) = 1/(K n) sum_i |NN^K(v_i) ∩ NN^K(z_i)|` (Collell & Moens 2018, Definition 1; the "mutual kNN" of later
/// work). Symmetric in its arguments. The lists must come from searches of a space in itself, with the same rule about
/// the row itself.
///
/// # Errors
/// [`MeasureError`] if rows or list lengths differ, lists are empty, or a list is short, names no row of the space
/// or names a row twice.
///
/// # Examples
/// ```
/// use mnno_exact::{Metric, Search, SliceRows};
/// let x = [0.0, 1.0, 5.0, 6.5];
/// let lists = Search::new(Metric::Euclidean, 2).self_join(&SliceRows::new(&x, 1))?;
/// assert_eq!(mnno_measures::mnno(&lists, &lists)?.by_k(), [1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mnno(a: &Neighbours, b: &Neighbours) -> Result<Overlap, MeasureError> {
    let (n, k) = (a.n(), a.k());
    if b.n() != n {
        return Err(MeasureError::Rows { a: n, b: b.n() });
    }
    if b.k() != k {
        return Err(MeasureError::Lengths { a: k, b: b.k() });
    }
    if k == 0 {
        return Err(MeasureError::KZero);
    }
    check_lists(a)?;
    check_lists(b)?;
    // A common neighbour at places r and s counts for every K' above both.
    let mut first_seen_at = vec![0u64; k];
    let mut counts = Vec::with_capacity(n);
    let mut place_in_a = vec![(u32::MAX, 0usize); n];
    for i in 0..n {
        for (place, &j) in a.list(i).iter().enumerate() {
            place_in_a[j as usize] = (i as u32, place);
        }
        let mut shared = 0;
        for (place, &j) in b.list(i).iter().enumerate() {
            let (row, other) = place_in_a[j as usize];
            if row == i as u32 {
                shared += 1;
                first_seen_at[place.max(other)] += 1;
            }
        }
        counts.push(shared);
    }
    let mut common = 0;
    let by_k = first_seen_at
        .iter()
        .enumerate()
        .map(|(place, &new)| {
            common += new;
            common as f64 / ((place + 1) as f64 * n as f64)
        })
        .collect();
    Ok(Overlap { k, counts, by_k })
}

fn check_lists(lists: &Neighbours) -> Result<(), MeasureError> {
    let n = lists.n();
    let mut listed_by = vec![NO_NEIGHBOUR; n];
    for row in 0..n {
        for &index in lists.list(row) {
            if index == NO_NEIGHBOUR {
                return Err(MeasureError::ShortList { row });
            }
            if index as usize >= n {
                return Err(MeasureError::UnknownRow { row, index, n });
            }
            if std::mem::replace(&mut listed_by[index as usize], row as u32) == row as u32 {
                return Err(MeasureError::Repeated { row, index });
            }
        }
    }
    Ok(())
}
