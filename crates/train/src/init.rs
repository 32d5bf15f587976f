//! The weights that training starts from.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use crate::Real;

/// How the weights of a layer with `inputs` and `outputs` are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Init {
    /// Uniform in `±sqrt(6 / (inputs + outputs))` (Glorot and Bengio 2010), Keras's default and the paper's.
    #[default]
    GlorotUniform,
    /// Normal with this standard deviation, redrawn where beyond two of them.
    TruncatedNormal(f64),
    /// Uniform in plus or minus this bound.
    Uniform(f64),
}

impl Init {
    /// Weights `[outputs, inputs]` of layer `number`.
    pub(crate) fn weights<T: Real>(self, inputs: usize, outputs: usize, seed: u64, number: u64) -> Vec<T> {
        let mut random = stream(seed, Purpose::Weights, number);
        let mut draw: Box<dyn FnMut() -> f64> = match self {
            Self::GlorotUniform => {
                let bound = (6.0 / (inputs + outputs) as f64).sqrt();
                Box::new(move || bound * uniform(&mut random))
            }
            Self::Uniform(bound) => Box::new(move || bound * uniform(&mut random)),
            Self::TruncatedNormal(deviation) => Box::new(move || {
                loop {
                    let z: f64 = random.sample(StandardNormal);
                    if z.abs() <= 2.0 {
                        return deviation * z;
                    }
                }
            }),
        };
        (0..inputs * outputs).map(|_| T::of(draw())).collect()
    }
}

/// Uniform in `[-1, 1)`.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    2.0 * random.random::<f64>() - 1.0
}

/// What random numbers are for: each has a stream of its own, so that none depends on how many another takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Weights,
    /// The order of the rows in an epoch.
    Order,
    Dropout,
    /// The order in which negatives are looked at.
    Negatives,
    Folds,
}

/// The random numbers of a seed for a purpose, and of a part of it.
pub(crate) fn stream(seed: u64, purpose: Purpose, part: u64) -> Xoshiro256PlusPlus {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&(purpose as u64 + 1).to_le_bytes());
    bytes[16..24].copy_from_slice(&part.to_le_bytes());
    // A state so regular gives regular numbers at first: one that was drawn from it does not.
    let mut seeder = Xoshiro256PlusPlus::from_seed(bytes);
    for _ in 0..32 {
        seeder.random::<u64>();
    }
    Xoshiro256PlusPlus::from_rng(&mut seeder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(weights: &[f64]) -> (f64, f64, f64) {
        let n = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / n;
        let variance = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / n;
        (mean, variance, weights.iter().fold(0.0, |most, w| w.abs().max(most)))
    }

    #[test]
    fn weights_have_the_bounds_and_moments_of_their_distribution() {
        // A normal distribution cut at two standard deviations has 0.7737 of its variance.
        let glorot = 6.0 / 400.0_f64;
        for (init, variance, bound) in [
            (Init::GlorotUniform, glorot / 3.0, glorot.sqrt()),
            (Init::Uniform(1.0), 1.0 / 3.0, 1.0),
            (Init::TruncatedNormal(0.05), 0.7737 * 0.0025, 0.1),
        ] {
            let weights = init.weights::<f64>(300, 100, 7, 0);
            let (mean, found, most) = moments(&weights);
            // Six standard errors, and a little more.
            assert!(mean.abs() < 6.0 * (variance / 30_000.0).sqrt(), "{init:?}: mean {mean}");
            assert!((found / variance - 1.0).abs() < 0.04, "{init:?}: variance {found}, expected {variance}");
            assert!(most <= bound && most > 0.98 * bound, "{init:?}: {most} of {bound}");
        }
    }

    #[test]
    fn layers_and_seeds_have_weights_of_their_own() {
        let weights = |seed, number| Init::GlorotUniform.weights::<f32>(8, 8, seed, number);
        assert_eq!(weights(1, 0), weights(1, 0));
        assert_ne!(weights(1, 0), weights(1, 1));
        assert_ne!(weights(1, 0), weights(2, 0));
    }
}
