//! Every tier gives the bits of the definition, at every length and alignment.

use mnno_simd::{Kernels, Tier, UnavailableTier};

/// Values of mixed size and sign from a linear congruence; `salt` tells sequences apart.
fn values(n: usize, salt: u64) -> Vec<f32> {
    let mut state = salt;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..n).map(|_| ((next() % 20_001) as f32 - 10_000.0) * 2f32.powi((next() % 40) as i32 - 20)).collect()
}

fn reduce(terms: impl Iterator<Item = f64>) -> f64 {
    let mut l = [0.0f64; 8];
    terms.enumerate().for_each(|(j, term)| l[j % 8] += term);
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    reduce(x.iter().zip(y).map(|(&a, &b)| f64::from(a) * f64::from(b)))
}

fn squared_euclidean(x: &[f32], y: &[f32]) -> f64 {
    reduce(x.iter().zip(y).map(|(&a, &b)| (f64::from(a) - f64::from(b)) * (f64::from(a) - f64::from(b))))
}

/// Lengths from 0 to past four of the widest registers, each at 16 starts, so that loads are aligned and not.
#[test]
fn dot_and_distance_equal_the_definition_bit_for_bit() {
    let (x, y, z) = (values(200, 1), values(200, 2), values(200, 3));
    for kernels in Kernels::available() {
        let tier = kernels.tier();
        for d in 0..=131 {
            for start in 0..16 {
                let cut = |v: &'_ [f32]| v[start..start + d].to_vec();
                let (a, b, c) = (&x[start..start + d], &y[start..start + d], &z[start..start + d]);
                assert_eq!(kernels.dot(a, b).to_bits(), dot(a, b).to_bits(), "{tier}, d {d}, start {start}");
                let many = kernels.dot_many(a, [b, c, a]);
                assert_eq!(many.map(f64::to_bits), [dot(a, b), dot(a, c), dot(a, a)].map(f64::to_bits), "{tier}, {d}");
                let expected = squared_euclidean(a, b);
                assert_eq!(kernels.squared_euclidean(a, b).to_bits(), expected.to_bits(), "{tier}, {d}, {start}");
                let many = kernels.squared_euclidean_many(a, [c, b]);
                assert_eq!(
                    many.map(f64::to_bits),
                    [squared_euclidean(a, c), expected].map(f64::to_bits),
                    "{tier}, {d}"
                );
                // The same values elsewhere in memory.
                assert_eq!(kernels.dot(&cut(&x), &cut(&y)).to_bits(), dot(a, b).to_bits(), "{tier}, d {d}");
            }
        }
    }
}

#[test]
fn extreme_values_follow_the_definition() {
    let rows = [
        vec![f32::MAX; 19],
        vec![f32::MIN_POSITIVE / 8.0; 19],
        vec![f32::from_bits(1); 19],
        vec![-0.0; 19],
        vec![f32::INFINITY; 19],
    ];
    for kernels in Kernels::available() {
        for x in &rows {
            for y in &rows {
                let (got, expected) = (kernels.dot(x, y), dot(x, y));
                assert!(got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()), "{got} {expected}");
            }
        }
        assert!(kernels.dot(&[f32::NAN, 1.0], &[1.0, 1.0]).is_nan());
    }
}

#[test]
fn tiers_are_named_and_found() {
    let names = ["portable", "avx2", "avxvnni", "avx512", "avx512vnni", "amx"];
    assert_eq!(Tier::ALL.map(Tier::name), names);
    for tier in Tier::ALL {
        assert_eq!(tier.name().parse(), Ok(tier));
    }
    assert_eq!("sse9".parse::<Tier>(), Err(UnavailableTier::Unknown("sse9".to_owned())));
    let available: Vec<Tier> = Kernels::available().into_iter().map(Kernels::tier).collect();
    assert_eq!(available.first(), Some(&Tier::Portable));
    assert_eq!(available.last(), Some(&Kernels::detect().tier()));
}

#[test]
#[should_panic(expected = "rows of different length")]
fn rows_of_different_length_are_refused() {
    Kernels::detect().dot_many(&[1.0, 2.0], [&[1.0, 2.0], &[1.0]]);
}

#[test]
fn products_of_bytes_are_exact_at_every_length_and_alignment() {
    let bytes = |salt: u64| -> Vec<i8> { values(300, salt).iter().map(|v| v.to_bits() as i8).collect() };
    let (x, y, mut z) = (bytes(1), bytes(2), bytes(3));
    z.fill(-128);
    let dot = |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
    for kernels in Kernels::available() {
        for d in 0..=131 {
            for start in 0..16 {
                let [a, b, c] = [&x, &y, &z].map(|v| &v[start..start + d]);
                let expected = [dot(a, b), dot(a, c), dot(a, a)];
                assert_eq!(kernels.dot_bytes(a, [b, c, a]), expected, "{}, d {d}, start {start}", kernels.tier());
                assert_eq!(kernels.dot_bytes(c, [c]), [dot(c, c)], "{}, d {d}", kernels.tier());
            }
        }
    }
}
