//! Every tier gives the bits of the definition, at every length and alignment.

use mnno_simd::{Kernels, Line, Tier, UnavailableTier};

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

/// Rows of `width` lines, of bytes that stand 128 too high; the bytes that they stand for.
fn rows_of_bytes(n: usize, width: usize, byte: impl Fn(u64) -> i8) -> (Vec<Line>, Vec<Vec<i8>>) {
    let rows: Vec<Vec<i8>> =
        (0..n).map(|i| (0..64 * width).map(|j| byte((i * 64 * width + j) as u64)).collect()).collect();
    let lines = |row: &Vec<i8>, add: u8| -> Vec<Line> {
        let bytes: Vec<u8> = row.iter().map(|&b| b.cast_unsigned().wrapping_add(add)).collect();
        bytes.chunks(64).map(|c| Line(bytemuck::cast::<[u8; 64], _>(c.try_into().unwrap()))).collect()
    };
    (rows.iter().flat_map(|row| lines(row, 128)).collect(), rows)
}

#[test]
fn products_of_bytes_are_exact_at_every_width_and_number_of_rows() {
    let random = values(20_000, 1);
    let bytes: [&dyn Fn(u64) -> i8; 3] = [&|i| random[i as usize].to_bits() as i8, &|_| -128, &|_| 127];
    for (width, byte) in (0..=5).flat_map(|width| bytes.map(|byte| (width, byte))) {
        let (lines, rows) = rows_of_bytes(9, width, byte);
        for (asking, x) in rows.iter().enumerate() {
            // As asked: signed bytes as they are.
            let query: Vec<Line> = lines[asking * width..(asking + 1) * width]
                .iter()
                .map(|line| Line(line.0.map(|word| word ^ 0x8080_8080)))
                .collect();
            let dot = |y: &Vec<i8>| x.iter().zip(y).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
            for kernels in Kernels::available() {
                for ids in [&[][..], &[3], &[8, 0], &[1, 1, 7], &[0, 1, 2, 3], &[8, 7, 6, 5, 4, 3, 2, 1, 0]] {
                    let expected: Vec<i32> = ids.iter().map(|&id| dot(&rows[id as usize])).collect();
                    let mut got = vec![7];
                    kernels.dot_bytes(&query, &lines, ids, &mut got);
                    assert_eq!(got, expected, "{}, width {width}, rows {ids:?}", kernels.tier());
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "out of range")]
fn rows_of_bytes_that_are_not_there_are_refused() {
    Kernels::detect().dot_bytes(&[Line::ZERO], &[Line::ZERO; 3], &[3], &mut Vec::new());
}

#[test]
fn rough_scores_are_near_and_the_same_on_every_tier() {
    let (x, y) = (values(400, 1), values(400, 2));
    for d in 0..=150 {
        for start in 0..16 {
            let x = &x[start..start + d];
            let rows = [0, 1, 2, 3].map(|r| &y[start + r..start + r + d]);
            let portable = Kernels::with_tier(Tier::Portable).unwrap();
            let products = portable.dot_rough(x, rows);
            let distances = portable.squared_euclidean_rough(x, rows);
            for r in 0..4 {
                let magnitude: f64 = x.iter().zip(rows[r]).map(|(&a, &b)| f64::from(a * b).abs()).sum();
                assert!((f64::from(products[r]) - dot(x, rows[r])).abs() <= 1e-6 * magnitude);
                let exact = portable.squared_euclidean(x, rows[r]);
                assert!((f64::from(distances[r]) - exact).abs() <= 1e-6 * exact);
            }
            for kernels in Kernels::available() {
                assert_eq!(kernels.dot_rough(x, rows), products, "{}, d {d}", kernels.tier());
                assert_eq!(kernels.squared_euclidean_rough(x, rows), distances, "{}, d {d}", kernels.tier());
            }
        }
    }
}
