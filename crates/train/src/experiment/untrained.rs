//! Experiment 2: do networks that were never trained keep the similarities of what they map?

use mnno_exact::{Kernels, Observer, Rows, SliceRows};
use mnno_measures::{RatedPair, Similarity, Unknown, WordSimilarity, rank_sum, signed_rank, word_similarity};

use crate::{Activation, Init, Map, MapError, Pieces, widths};

/// Random maps of one shape: weights uniform in `[-1, 1]`, biases 0, as in the paper (section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untrained {
    /// Hidden layers; 0 for a linear map.
    pub hidden: usize,
    /// Units of each hidden layer. The paper does not say how many it has.
    pub units: usize,
    /// Dimensions of mapped rows, 2,048 in the paper.
    pub outputs: usize,
    /// What hidden units do, tanh in the paper.
    pub activation: Activation,
}

/// The agreement with one set of ratings, by one similarity.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Which of the ratings.
    pub ratings: usize,
    /// How similarity is computed.
    pub similarity: Similarity,
    /// Of the rows as they are.
    pub input: WordSimilarity,
    /// Of the mapped rows, for each seed. A row that is mapped to zero has no cosine either.
    pub mapped: Vec<WordSimilarity>,
}

/// What mapping does to an [`Agreement`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The mean of the mapped rows' correlations.
    pub mean: f64,
    /// Two-sided rank-sum of the runs against the input's value, repeated as often: the paper's test. None where undefined.
    pub p: Option<f64>,
    /// Two-sided signed-rank of the runs about the input's value. None where undefined.
    pub p_signed_rank: Option<f64>,
}

impl Agreement {
    /// Compares the mapped rows with the input; none if a correlation is undefined.
    pub fn change(&self) -> Option<Change> {
        let input = *self.input.spearman.as_ref().ok()?;
        let runs: Vec<f64> =
            self.mapped.iter().map(|run| run.spearman.as_ref().ok().copied()).collect::<Option<_>>()?;
        let repeated = vec![input; runs.len()];
        Some(Change {
            mean: runs.iter().sum::<f64>() / runs.len() as f64,
            p: rank_sum(&runs, &repeated).ok().map(|test| test.p),
            p_signed_rank: signed_rank(&runs, &repeated).ok().map(|test| test.p),
        })
    }
}

/// Maps `rows` by a random map for each seed, on the current thread pool, and correlates similarities with every set of ratings, before
/// and after. Pairs with an unknown word are left out.
///
/// # Errors
/// [`MapError::Overflow`] if a row is mapped beyond f32, [`MapError::Interrupted`].
///
/// # Panics
/// If a pair names a row that does not exist.
pub fn untrained(
    rows: &dyn Rows,
    ratings: &[Vec<RatedPair>],
    shape: &Untrained,
    seeds: &[u64],
    kernels: Kernels,
    observer: &dyn Observer,
) -> Result<Vec<Agreement>, MapError> {
    let mut agreements = Vec::new();
    for (number, pairs) in ratings.iter().enumerate() {
        agreements.extend(Similarity::ALL.map(|similarity| Agreement {
            ratings: number,
            similarity,
            input: word_similarity(rows, pairs, similarity, Unknown::Drop, kernels),
            mapped: Vec::with_capacity(seeds.len()),
        }));
    }
    let sizes = widths(rows.d(), shape.hidden, shape.units, shape.outputs);
    for (run, &seed) in seeds.iter().enumerate() {
        if observer.cancelled() {
            return Err(MapError::Interrupted);
        }
        let map = Map::random(&sizes, shape.activation, Init::Uniform(1.0), 0.0, seed);
        let mapped = map.apply_rows(rows, Pieces::Parallel, &())?;
        let mapped = SliceRows::new(&mapped, shape.outputs);
        for agreement in &mut agreements {
            let pairs = &ratings[agreement.ratings];
            agreement.mapped.push(word_similarity(&mapped, pairs, agreement.similarity, Unknown::Drop, kernels));
        }
        observer.progress(run as u64 + 1, seeds.len() as u64);
    }
    Ok(agreements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_maps_keep_order_and_a_constant_is_undefined() {
        // Words along an arc: similarity falls with the distance of their numbers.
        let rows: Vec<f32> =
            (0..12).flat_map(|i| [(f64::from(i) / 8.0).cos() as f32, (f64::from(i) / 8.0).sin() as f32]).collect();
        let rows = SliceRows::new(&rows, 2);
        let pair = |a: u32, b: u32, rating| RatedPair { rows: [Some(a), Some(b)], rating };
        let all: Vec<_> = (1..12).map(|b| pair(0, b, -f64::from(b))).collect();
        let constant = vec![pair(0, 1, 5.0), pair(2, 3, 5.0)];
        let seeds: Vec<u64> = (0..10).collect();
        for hidden in [0, 1] {
            let shape = Untrained { hidden, units: 256, outputs: 512, activation: Activation::Tanh };
            let found =
                untrained(&rows, &[all.clone(), constant.clone()], &shape, &seeds, Kernels::detect(), &()).unwrap();
            assert_eq!(found.len(), 4);
            for agreement in &found[..2] {
                let change = agreement.change().unwrap();
                assert_eq!(agreement.input.spearman, Ok(1.0));
                assert!(change.mean > 0.98, "{hidden} {agreement:?}");
                assert!(change.p_signed_rank.is_none_or(|p| (0.0..=1.0).contains(&p)));
            }
            for agreement in &found[2..] {
                assert_eq!(agreement.change(), None);
                assert!(agreement.mapped.iter().all(|run| run.spearman.is_err()));
            }
        }
    }
}
