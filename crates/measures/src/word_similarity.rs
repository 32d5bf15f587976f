//! How well similarities of word vectors agree with those that people see.

use mnno_exact::{Kernels, Metric, Observer, Rows};

use crate::ranks::{largest, without_rounding_noise};
use crate::{MeasureError, Undefined, spearman};

/// How similar two vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// The cosine of their angle. A zero vector has none.
    Cosine,
    /// `1 / (1 + distance)`, of the Euclidean distance.
    Euclidean,
}

impl Similarity {
    /// Every similarity, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Cosine, Self::Euclidean];

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Euclidean => "euclidean",
        }
    }

    /// The similarity of two rows, from the canonical score of the metric; none of a zero vector under the cosine.
    fn of(self, kernels: Kernels, x: &[f32], y: &[f32]) -> Option<f64> {
        match self {
            Self::Cosine => {
                let (xx, yy) = (kernels.dot(x, x), kernels.dot(y, y));
                let [cosine] = Metric::Cosine.scores(kernels, x, [y], xx, [yy]);
                (xx > 0.0 && yy > 0.0).then_some(cosine)
            }
            Self::Euclidean => Some(1.0 / (1.0 + Metric::Euclidean.reported(kernels.squared_euclidean(x, y)))),
        }
    }

    /// The size of the numbers that rounding noise is to be measured by.
    fn scale(self, similarities: &[f64]) -> f64 {
        match self {
            Self::Cosine => 1.0,
            Self::Euclidean => largest(similarities),
        }
    }
}

/// Two words and how similar people find them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedPair {
    /// The rows of both words; none for a word without one.
    pub rows: [Option<u32>; 2],
    /// The rating, on any scale; more is more similar.
    pub rating: f64,
}

impl RatedPair {
    /// Whether both words have rows.
    pub fn is_known(&self) -> bool {
        self.rows.iter().all(Option::is_some)
    }
}

/// What becomes of pairs with an unknown word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unknown<'a> {
    /// They are left out.
    Drop,
    /// Every unknown word has this vector, such as the mean of all.
    Vector(&'a [f32]),
    /// Their similarity is 0.
    Zero,
}

/// The agreement of similarities with ratings.
#[derive(Clone, Debug, PartialEq)]
pub struct WordSimilarity {
    /// Spearman's correlation of similarities and ratings, ties with average ranks; or why there is none.
    pub spearman: Result<f64, Undefined>,
    /// Pairs both of whose words have rows.
    pub known: usize,
    /// Pairs left out because one of their vectors is zero and so has no cosine.
    pub without_direction: usize,
    /// Pairs that the correlation is of.
    pub compared: usize,
}

/// Spearman's correlation of the similarities of `rows` with the ratings of `pairs`, as in Collell & Moens (2018),
/// section 4.2. Similarities are computed in f64 from rows of f32, and those that differ by rounding alone share a rank
/// ([`without_rounding_noise`]).
///
/// # Panics
/// If a pair names a row that does not exist, or the vector of unknown words has another length than rows.
///
/// # Examples
/// ```
/// use mnno_exact::{Kernels, SliceRows};
/// use mnno_measures::{RatedPair, Similarity, Unknown, word_similarity};
///
/// let rows = SliceRows::new(&[1.0, 0.0, 1.0, 0.1, 0.5, 1.0], 2);
/// let pair = |a, b, rating| RatedPair { rows: [a, b], rating };
/// let pairs = [pair(Some(0), Some(1), 9.0), pair(Some(0), Some(2), 4.0), pair(Some(1), None, 7.0)];
/// let found = word_similarity(&rows, &pairs, Similarity::Cosine, Unknown::Drop, Kernels::detect());
/// assert_eq!((found.spearman, found.known), (Ok(1.0), 2));
/// ```
pub fn word_similarity(
    rows: &dyn Rows,
    pairs: &[RatedPair],
    similarity: Similarity,
    unknown: Unknown<'_>,
    kernels: Kernels,
) -> WordSimilarity {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let (mut similarities, mut ratings) = (Vec::new(), Vec::new());
    let (mut known, mut without_direction) = (0, 0);
    for pair in pairs {
        let both_known = pair.is_known();
        known += usize::from(both_known);
        let of_pair = match unknown {
            Unknown::Drop if !both_known => continue,
            Unknown::Zero if !both_known => Some(0.0),
            Unknown::Drop | Unknown::Zero | Unknown::Vector(_) => {
                let vector: &[f32] = if let Unknown::Vector(vector) = unknown { vector } else { &[] };
                let x = pair.rows[0].map_or(vector, |row| rows.row(row as usize, &mut one));
                let y = pair.rows[1].map_or(vector, |row| rows.row(row as usize, &mut other));
                similarity.of(kernels, x, y)
            }
        };
        match of_pair {
            Some(value) => {
                similarities.push(value);
                ratings.push(pair.rating);
            }
            None => without_direction += 1,
        }
    }
    let settled = without_rounding_noise(&similarities, similarity.scale(&similarities));
    WordSimilarity { spearman: spearman(&settled, &ratings), known, without_direction, compared: ratings.len() }
}

/// The mean of all rows, which may stand for an unknown word ([`Unknown::Vector`]): summed in f64, rounded to f32 at the end.
/// The observer is told of finished rows.
///
/// # Errors
/// [`MeasureError::Interrupted`] if the observer cancels.
///
/// # Panics
/// If there are no rows.
pub fn mean_row(rows: &dyn Rows, observer: &dyn Observer) -> Result<Vec<f32>, MeasureError> {
    const BLOCK: usize = 1 << 10;
    let n = rows.n();
    assert!(n > 0, "no rows have no mean");
    let mut sums = vec![0.0; rows.d()];
    let mut scratch = Vec::new();
    for start in (0..n).step_by(BLOCK) {
        if observer.cancelled() {
            return Err(MeasureError::Interrupted);
        }
        let end = n.min(start + BLOCK);
        rows.prefetch(end..n.min(end + BLOCK));
        let block = rows.block(start..end, &mut scratch);
        for i in 0..block.n() {
            for (sum, &value) in sums.iter_mut().zip(block.row(i)) {
                *sum += f64::from(value);
            }
        }
        observer.progress(end as u64, n as u64);
    }
    Ok(sums.into_iter().map(|sum| (sum / n as f64) as f32).collect())
}

#[cfg(test)]
mod tests {
    use mnno_exact::SliceRows;

    use super::*;

    const WORDS: [f32; 8] = [1.0, 0.0, 0.9, 0.2, 0.1, 1.0, -1.0, 0.1];

    fn pair(a: u32, b: Option<u32>, rating: f64) -> RatedPair {
        RatedPair { rows: [Some(a), b], rating }
    }

    fn of(pairs: &[RatedPair], similarity: Similarity, unknown: Unknown<'_>) -> WordSimilarity {
        word_similarity(&SliceRows::new(&WORDS, 2), pairs, similarity, unknown, Kernels::detect())
    }

    /// Case D8: distances of collinear rows are equal, and differ in their last digits only.
    #[test]
    fn d8_thirty_rescalings_of_one_row_have_no_correlation() {
        let row: Vec<f32> = (0..7u8).map(|j| 0.3 + f32::from(j) * 0.7).collect();
        let scaled = |i: u8| row.iter().map(move |v| v * (0.1 + 0.37 * f32::from(i)));
        let values: Vec<f32> = (0..31).flat_map(scaled).collect();
        let rows = SliceRows::new(&values, 7);
        let pairs: Vec<RatedPair> = (1..31u8).map(|i| pair(0, Some(i.into()), f64::from(i))).collect();
        let kernels = Kernels::detect();
        let cosines = pairs.iter().map(|pair| {
            let [x, y] = pair.rows.map(|row| rows.row(row.unwrap() as usize, &mut Vec::new()).to_vec());
            Similarity::Cosine.of(kernels, &x, &y).unwrap()
        });
        let ratings: Vec<f64> = pairs.iter().map(|pair| pair.rating).collect();
        assert!(spearman(&cosines.collect::<Vec<_>>(), &ratings).is_ok(), "there is noise to rank");
        let found = word_similarity(&rows, &pairs, Similarity::Cosine, Unknown::Drop, kernels);
        assert_eq!(found.spearman, Err(Undefined::Constant { count: 30 }));
    }

    /// Each policy gives another order: the unknown pair is absent, in the middle, or last.
    #[test]
    fn unknown_words_are_dropped_replaced_or_not_similar() {
        let pairs = [pair(0, Some(1), 4.0), pair(0, None, 3.0), pair(0, Some(2), 2.0), pair(0, Some(3), 1.0)];
        for similarity in Similarity::ALL {
            let drop = of(&pairs, similarity, Unknown::Drop);
            assert_eq!((drop.known, drop.compared), (3, 3));
            assert!((drop.spearman.unwrap() - 1.0).abs() < 1e-15);
            let vector = of(&pairs, similarity, Unknown::Vector(&[0.8, 0.6]));
            assert_eq!((vector.known, vector.compared), (3, 4));
            assert!((vector.spearman.unwrap() - 1.0).abs() < 1e-15);
        }
        // The unknown pair stands below (0, 2) and above (0, 3) under the cosine, below all by distance.
        let found = of(&pairs, Similarity::Cosine, Unknown::Zero);
        assert!((found.spearman.unwrap() - 0.8).abs() < 1e-15);
        let found = of(&pairs, Similarity::Euclidean, Unknown::Zero);
        assert!((found.spearman.unwrap() - 0.4).abs() < 1e-15);
    }

    #[test]
    fn the_mean_is_of_every_column() {
        let values: Vec<f32> = (0..2500u16).flat_map(|i| [f32::from(i), 1.0]).collect();
        assert_eq!(mean_row(&SliceRows::new(&values, 2), &()).unwrap(), [1249.5, 1.0]);
    }

    #[test]
    fn a_zero_vector_has_no_cosine_but_a_distance() {
        let pairs = [pair(0, Some(1), 4.0), pair(0, None, 2.0), pair(0, Some(3), 1.0)];
        let zero = Unknown::Vector(&[0.0, 0.0]);
        let found = of(&pairs, Similarity::Cosine, zero);
        assert_eq!((found.known, found.without_direction, found.compared), (2, 1, 2));
        assert_eq!(of(&pairs, Similarity::Euclidean, zero).compared, 3);
    }
}
