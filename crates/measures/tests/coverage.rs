//! The promises that only a simulation can show: how often the interval covers, and where chance lies.

mod support;

use mnno_measures::{SelfRule, chance, mnno};
use rayon::prelude::*;
use support::{Random, nearest};

const N: usize = 300;
const D: usize = 8;
const K: usize = 10;
const REPLICATIONS: u64 = 1000;

/// Row by row `x W + noise`: `x` is `[n, d]`, `map` `[d, e]`, the result `[n, e]`.
fn noisy_map(random: &mut Random, x: &[f64], d: usize, map: &[f64], noise: f64) -> Vec<f64> {
    let e = map.len() / d;
    let mut mapped = Vec::with_capacity(x.len() / d * e);
    for row in x.chunks_exact(d) {
        for column in 0..e {
            let clean: f64 = row.iter().zip(map.iter().skip(column).step_by(e)).map(|(x, w)| x * w).sum();
            mapped.push(clean + noise * random.normal());
        }
    }
    mapped
}

/// The share of samples whose interval holds the mean over all samples, and that mean.
fn coverage(seed: u64, map: &[f64], noise: f64) -> (f64, f64) {
    let samples: Vec<(f64, (f64, f64))> = (0..REPLICATIONS)
        .into_par_iter()
        .map(|replication| {
            let mut random = Random::new(seed + (replication << 32));
            let v = random.normals(N * D);
            let z = noisy_map(&mut random, &v, D, map, noise);
            let rule = SelfRule::Exclude;
            let overlap = mnno(&nearest(&v, D, K, rule), &nearest(&z, map.len() / D, K, rule)).unwrap();
            (overlap.value(), overlap.ci95())
        })
        .collect();
    let mean = samples.iter().map(|s| s.0).sum::<f64>() / samples.len() as f64;
    let covered = samples.iter().filter(|(_, (low, high))| (low..=high).contains(&&mean)).count();
    (covered as f64 / samples.len() as f64, mean)
}

#[test]
fn the_interval_covers_when_one_space_is_the_other_with_noise() {
    let identity: Vec<f64> = (0..D * D).map(|p| f64::from(u8::from(p / D == p % D))).collect();
    let (covered, mean) = coverage(1, &identity, 0.5);
    assert!((0.2..0.8).contains(&mean), "the setting should be neither empty nor full: mNNO = {mean}");
    assert!((0.91..=0.98).contains(&covered), "coverage {covered} of mNNO = {mean}");
}

#[test]
fn the_interval_covers_when_one_space_is_a_noisy_linear_map_of_the_other() {
    const E: usize = 5;
    let map = Random::new(2).normals(D * E);
    let (covered, mean) = coverage(3, &map, 1.0);
    assert!((0.1..0.8).contains(&mean), "the setting should be neither empty nor full: mNNO = {mean}");
    assert!((0.91..=0.98).contains(&covered), "coverage {covered} of mNNO = {mean}");
}

#[test]
fn spaces_without_relation_average_to_chance() {
    for (seed, rule) in [(4, SelfRule::Exclude), (5, SelfRule::Include)] {
        let values: Vec<f64> = (0..REPLICATIONS / 2)
            .into_par_iter()
            .map(|replication| {
                let mut random = Random::new(seed + (replication << 32));
                let (v, z) = (random.normals(N * D), random.normals(N * D));
                mnno(&nearest(&v, D, K, rule), &nearest(&z, D, K, rule)).unwrap().value()
            })
            .collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let (expected, error) = (chance(N, K, rule), (variance / count).sqrt());
        assert!((mean - expected).abs() < 3.0 * error, "{rule:?}: {mean} ± {error}, expected {expected}");
    }
}
