//! The measure and its statistics against hand-computed values and slow definitions.

mod support;

use std::collections::HashSet;

use mnno_exact::{NO_NEIGHBOUR, Neighbours};
use mnno_measures::{MeasureError, SelfRule, chance, check_k, mnno, permutation_p};
use support::{Random, lists_of, nearest, random_lists};

/// Two spaces of 60 points, the second a noisy copy of the first.
fn related(seed: u64, noise: f64) -> (Neighbours, Neighbours) {
    let mut random = Random::new(seed);
    let v = random.normals(60 * 3);
    let z: Vec<f64> = v.iter().map(|v| v + noise * random.normal()).collect();
    (nearest(&v, 3, 5, SelfRule::Exclude), nearest(&z, 3, 5, SelfRule::Exclude))
}

#[test]
fn a_case_worked_by_hand() {
    let a = lists_of(4, 2, vec![1, 2, 0, 2, 3, 1, 0, 1]);
    let b = lists_of(4, 2, vec![2, 1, 0, 2, 0, 1, 2, 1]);
    let overlap = mnno(&a, &b).unwrap();
    assert_eq!(overlap.counts(), [2, 2, 1, 1]);
    assert_eq!((overlap.n(), overlap.k(), overlap.total()), (4, 2, 6));
    // At K' = 1 only row 1 agrees.
    assert_eq!(overlap.by_k(), [0.25, 0.75]);
    assert_eq!(overlap.value(), 0.75);
    // Shares 1, 1, 1/2, 1/2: variance 1/12; sqrt(2 / 12 / 4).
    let error = (1.0f64 / 24.0).sqrt();
    assert!((overlap.std_error() - error).abs() < 1e-15);
    let (low, high) = overlap.ci95();
    assert!((low - (0.75 - 1.959_964 * error)).abs() < 1e-6);
    assert_eq!(high, 1.0, "cut: 0.75 + 0.40 is no overlap");
}

#[test]
fn the_same_lists_overlap_fully() {
    let lists = random_lists(&mut Random::new(1), 50, 7, SelfRule::Exclude);
    let overlap = mnno(&lists, &lists).unwrap();
    assert_eq!(overlap.by_k(), [1.0; 7]);
    assert_eq!((overlap.value(), overlap.std_error(), overlap.ci95()), (1.0, 0.0, (1.0, 1.0)));
}

#[test]
fn every_k_equals_the_definition_on_sets() {
    let mut random = Random::new(2);
    for (n, k) in [(2, 1), (9, 8), (40, 13), (120, 30)] {
        let a = random_lists(&mut random, n, k, SelfRule::Exclude);
        let b = random_lists(&mut random, n, k, SelfRule::Exclude);
        let overlap = mnno(&a, &b).unwrap();
        for shorter in 1..=k {
            let set = |l: &Neighbours, i| l.list(i)[..shorter].iter().copied().collect::<HashSet<u32>>();
            let shared: usize = (0..n).map(|i| set(&a, i).intersection(&set(&b, i)).count()).sum();
            assert_eq!(overlap.by_k()[shorter - 1], shared as f64 / (shorter * n) as f64, "n {n}, K' {shorter}");
        }
        assert_eq!(overlap.by_k()[k - 1], overlap.value());
        assert_eq!(overlap, mnno(&b, &a).unwrap(), "symmetric");
    }
}

#[test]
fn what_has_no_overlap_is_refused_with_both_numbers() {
    let (a, b) = (lists_of(3, 1, vec![1, 2, 0]), lists_of(2, 1, vec![1, 0]));
    assert_eq!(mnno(&a, &b), Err(MeasureError::Rows { a: 3, b: 2 }));
    let b = lists_of(3, 2, vec![1, 2, 2, 0, 0, 1]);
    assert_eq!(mnno(&a, &b), Err(MeasureError::Lengths { a: 1, b: 2 }));
    let empty = lists_of(3, 0, vec![]);
    assert_eq!(mnno(&empty, &empty), Err(MeasureError::KZero));
    let short = lists_of(3, 2, vec![1, 2, 2, NO_NEIGHBOUR, 0, 1]);
    assert_eq!(mnno(&b, &short), Err(MeasureError::ShortList { row: 1 }));
    let unknown = lists_of(3, 2, vec![1, 2, 2, 0, 0, 3]);
    assert_eq!(mnno(&unknown, &b), Err(MeasureError::UnknownRow { row: 2, index: 3, n: 3 }));
    let repeated = lists_of(3, 2, vec![1, 2, 2, 2, 0, 1]);
    assert_eq!(mnno(&b, &repeated), Err(MeasureError::Repeated { row: 1, index: 2 }));
}

#[test]
fn k_is_bounded_by_the_candidates() {
    assert_eq!(check_k(5, 4, SelfRule::Exclude), Ok(()));
    assert_eq!(check_k(5, 5, SelfRule::Exclude), Err(MeasureError::KTooLarge { k: 5, n: 5, largest: 4 }));
    assert_eq!(check_k(5, 5, SelfRule::Include), Ok(()));
    assert_eq!(check_k(5, 6, SelfRule::Include), Err(MeasureError::KTooLarge { k: 6, n: 5, largest: 5 }));
    assert_eq!(check_k(5, 0, SelfRule::Include), Err(MeasureError::KZero));
    assert_eq!(check_k(0, 1, SelfRule::Exclude), Err(MeasureError::KTooLarge { k: 1, n: 0, largest: 0 }));
}

#[test]
fn random_lists_average_to_chance() {
    let mut random = Random::new(3);
    for (n, k) in [(8, 3), (50, 10), (200, 1)] {
        for rule in [SelfRule::Exclude, SelfRule::Include] {
            let overlap = |random: &mut Random| {
                mnno(&random_lists(random, n, k, rule), &random_lists(random, n, k, rule)).unwrap().value()
            };
            let values: Vec<f64> = (0..400).map(|_| overlap(&mut random)).collect();
            let mean = values.iter().sum::<f64>() / 400.0;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 399.0;
            // Rounding only, where every sample is the same (K = 1 with the row itself included).
            let allowed = 3.0 * (variance / 400.0).sqrt() + 1e-12;
            let expected = chance(n, k, rule);
            assert!((mean - expected).abs() < allowed, "n {n}, k {k}, {rule:?}: {mean}, expected {expected}");
        }
    }
    assert_eq!(chance(1, 1, SelfRule::Include), 1.0);
}

#[test]
fn no_random_pairing_reaches_the_true_one_of_equal_spaces() {
    let (a, _) = related(4, 0.0);
    let overlap = mnno(&a, &a).unwrap();
    assert_eq!(permutation_p(&a, &a, &overlap, 199, 0, &()), Ok(Some(1.0 / 200.0)));
    assert_eq!(permutation_p(&a, &a, &overlap, 0, 0, &()), Ok(None));
}

#[test]
fn p_does_not_depend_on_the_threads() {
    let (a, b) = related(5, 8.0);
    let overlap = mnno(&a, &b).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| permutation_p(&a, &b, &overlap, 500, 7, &()).unwrap().unwrap())
    };
    assert_eq!(on(1), on(4));
    assert!((0.01..0.99).contains(&on(1)), "p = {} would hide a difference", on(1));
}

#[test]
fn p_is_spread_evenly_when_the_pairing_means_nothing() {
    let mut random = Random::new(6);
    let below: Vec<f64> = (0..300)
        .map(|seed| {
            let (v, z) = (random.normals(40 * 3), random.normals(40 * 3));
            let (a, b) = (nearest(&v, 3, 4, SelfRule::Exclude), nearest(&z, 3, 4, SelfRule::Exclude));
            permutation_p(&a, &b, &mnno(&a, &b).unwrap(), 99, seed, &()).unwrap().unwrap()
        })
        .collect();
    for level in [0.1, 0.25, 0.5] {
        let share = below.iter().filter(|&&p| p <= level).count() as f64 / 300.0;
        // Equal totals count as hits, so that a share may fall short of its level by a little, never pass it by more
        // than chance: three standard deviations of a share of 300.
        let spread = 3.0 * (level * (1.0 - level) / 300.0f64).sqrt();
        assert!((level - spread - 0.05..level + spread).contains(&share), "{share} of p-values are at most {level}");
    }
}
