//! Recall: what share of the exact neighbours approximate lists hold.

use mnno_exact::{Metric, NO_NEIGHBOUR, Neighbours};

use crate::MeasureError;

/// The recall of approximate lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Recall {
    /// For each query: places filled, and places that the exact list has.
    counts: Vec<(u32, u32)>,
}

impl Recall {
    /// The share of the exact places that are filled, in `[0, 1]`; 1 where there are none.
    pub fn value(&self) -> f64 {
        let sum = |count: fn(&(u32, u32)) -> u32| self.counts.iter().map(|c| u64::from(count(c))).sum::<u64>() as f64;
        let (filled, places) = (sum(|c| c.0), sum(|c| c.1));
        if places == 0.0 { 1.0 } else { filled / places }
    }

    /// Standard error of [`Recall::value`] over independent queries: `sd / sqrt(n)` of the shares of single queries. NaN for fewer
    /// than two queries.
    pub fn std_error(&self) -> f64 {
        let share = |&(filled, places): &(u32, u32)| f64::from(filled) / f64::from(places.max(1));
        let n = self.counts.len() as f64;
        let mean = self.counts.iter().map(share).sum::<f64>() / n;
        let variance = self.counts.iter().map(|c| (share(c) - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (variance / n).sqrt()
    }
}

/// Recall@k of `found` against the `exact` lists of the same queries: the share of exact places that the found lists fill.
///
/// Equal scores are credited: a place at which the exact list ends with ties is filled by any candidate of that score, whichever the
/// tie rule chose; a nearer one that was missed is not made up for by more ties. An index that a list repeats counts once, and
/// places without a candidate ([`NO_NEIGHBOUR`]) count on neither side. Scores must be canonical on both.
///
/// # Errors
/// [`MeasureError::Rows`] or [`MeasureError::Lengths`] if the numbers of lists or their lengths differ.
///
/// # Examples
/// ```
/// use mnno_exact::{Metric, Neighbours};
/// let lists = |ids, scores| Neighbours::from_parts(Metric::Cosine, 1, 2, ids, scores, vec![0.5]);
/// let exact = lists(vec![4, 7], vec![0.9, 0.8]);
/// // Row 9 is as near as row 7; nothing is as near as row 4.
/// assert_eq!(mnno_measures::recall(&lists(vec![4, 9], vec![0.9, 0.8]), &exact)?.value(), 1.0);
/// assert_eq!(mnno_measures::recall(&lists(vec![7, 9], vec![0.8, 0.8]), &exact)?.value(), 0.5);
/// # Ok::<(), mnno_measures::MeasureError>(())
/// ```
pub fn recall(found: &Neighbours, exact: &Neighbours) -> Result<Recall, MeasureError> {
    if found.n() != exact.n() {
        return Err(MeasureError::Rows { a: found.n(), b: exact.n() });
    }
    if found.k() != exact.k() {
        return Err(MeasureError::Lengths { a: found.k(), b: exact.k() });
    }
    let metric = exact.metric();
    let mut seen = Vec::new();
    let mut filled = |i: usize| {
        let places = exact.list(i).iter().filter(|&&index| index != NO_NEIGHBOUR).count();
        let Some(last) = places.checked_sub(1).map(|last| metric.goodness(exact.list_scores(i)[last])) else {
            return (0, 0);
        };
        let (nearer, _) = reaching(metric, exact, i, last, &mut seen);
        let (found_nearer, found_tied) = reaching(metric, found, i, last, &mut seen);
        let filled = found_nearer.min(nearer) + found_tied.min(places - nearer);
        (filled as u32, places as u32)
    };
    Ok(Recall { counts: (0..exact.n()).map(&mut filled).collect() })
}

/// How many different rows of a list are better than `last`, and how many are as good. `seen` is scratch.
fn reaching(metric: Metric, lists: &Neighbours, i: usize, last: f64, seen: &mut Vec<u32>) -> (usize, usize) {
    seen.clear();
    let (mut better, mut tied) = (0, 0);
    for (&index, &score) in lists.list(i).iter().zip(lists.list_scores(i)) {
        if index == NO_NEIGHBOUR || seen.contains(&index) {
            continue;
        }
        seen.push(index);
        let goodness = metric.goodness(score);
        better += usize::from(goodness > last);
        tied += usize::from(goodness == last);
    }
    (better, tied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(metric: Metric, k: usize, ids: &[u32], scores: &[f64]) -> Neighbours {
        let n = ids.len() / k;
        Neighbours::from_parts(metric, n, k, ids.to_vec(), scores.to_vec(), vec![metric.worst(); n])
    }

    fn value(found: &Neighbours, exact: &Neighbours) -> f64 {
        recall(found, exact).unwrap().value()
    }

    #[test]
    fn ties_at_the_end_are_credited_and_nearer_rows_are_not_made_up_for() {
        let exact = lists(Metric::Euclidean, 3, &[5, 1, 2], &[0.0, 4.0, 4.0]);
        for (ids, scores, expected) in [
            ([5, 1, 2], [0.0, 4.0, 4.0], 1.0),
            ([5, 8, 9], [0.0, 4.0, 4.0], 1.0),
            ([8, 9, 1], [4.0, 4.0, 4.0], 2.0 / 3.0),
            ([5, 1, 7], [0.0, 4.0, 4.5], 2.0 / 3.0),
            ([6, 7, 8], [5.0, 5.0, 6.0], 0.0),
        ] {
            assert_eq!(value(&lists(Metric::Euclidean, 3, &ids, &scores), &exact), expected, "{ids:?}");
        }
    }

    #[test]
    fn a_repeated_row_counts_once_and_an_empty_place_not_at_all() {
        let exact = lists(Metric::InnerProduct, 3, &[5, 1, 2], &[9.0, 8.0, 7.0]);
        let repeated = lists(Metric::InnerProduct, 3, &[5, 5, 1], &[9.0, 9.0, 8.0]);
        assert_eq!(value(&repeated, &exact), 2.0 / 3.0);
        let worst = f64::NEG_INFINITY;
        let short = lists(Metric::InnerProduct, 3, &[5, NO_NEIGHBOUR, NO_NEIGHBOUR], &[9.0, worst, worst]);
        assert_eq!(value(&short, &exact), 1.0 / 3.0);
        // Of a truth with one place, that one is all there is.
        assert_eq!(value(&short, &short), 1.0);
        assert_eq!(value(&exact, &short), 1.0);
        let empty = lists(Metric::InnerProduct, 1, &[NO_NEIGHBOUR], &[worst]);
        assert_eq!(value(&empty, &empty), 1.0);
    }

    #[test]
    fn queries_are_weighed_by_their_places_and_spread_makes_the_error() {
        let exact = lists(Metric::Cosine, 1, &[0, 1, 2, 3], &[0.5; 4]);
        let found = lists(Metric::Cosine, 1, &[0, 9, 2, 9], &[0.5, 0.1, 0.5, 0.1]);
        let found = recall(&found, &exact).unwrap();
        assert_eq!(found.value(), 0.5);
        assert_eq!(found.std_error(), (1.0_f64 / 3.0 / 4.0).sqrt());
        assert_eq!(recall(&exact, &exact).unwrap().std_error(), 0.0);
    }

    #[test]
    fn other_queries_or_lengths_are_errors() {
        let two = lists(Metric::Cosine, 1, &[0, 1], &[0.5; 2]);
        let long = lists(Metric::Cosine, 2, &[0, 1], &[0.5; 2]);
        let one = lists(Metric::Cosine, 1, &[0], &[0.5]);
        assert_eq!(recall(&one, &two), Err(MeasureError::Rows { a: 1, b: 2 }));
        assert_eq!(recall(&one, &long), Err(MeasureError::Lengths { a: 1, b: 2 }));
    }
}
