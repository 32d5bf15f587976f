//! The reference the engine is held to, and the data it is attacked with.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

use mnno_exact::{Metric, NO_NEIGHBOUR, Neighbours};

/// A small generator of its own, so that the data of a seed never changes.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// A named data set of `n` rows of `d` values.
pub struct Data {
    pub name: &'static str,
    pub n: usize,
    pub d: usize,
    pub values: Vec<f32>,
}

impl Data {
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.d..(i + 1) * self.d]
    }

    pub fn has_zero_row(&self) -> bool {
        (0..self.n).any(|i| self.row(i).iter().all(|&v| v == 0.0))
    }
}

fn make(name: &'static str, n: usize, d: usize, mut value: impl FnMut(usize, usize) -> f64) -> Data {
    let values = (0..n * d).map(|p| value(p / d, p % d) as f32).collect();
    Data { name, n, d, values }
}

/// Random, clustered, duplicate-ridden and adversarial data.
pub fn all_data(n: usize, d: usize, seed: u64) -> Vec<Data> {
    let mut r = Random::new(seed);
    let centres: Vec<f64> = (0..7 * d).map(|_| 10.0 * r.normal()).collect();
    let few: Vec<f64> = (0..5 * d).map(|_| r.normal()).collect();
    let one: Vec<f64> = (0..d).map(|_| r.normal()).collect();
    let mut sets = vec![
        make("gaussian", n, d, |_, _| r.normal()),
        make("clustered", n, d, |i, j| centres[(i * 5 % 7) * d + j] + 1e-2 * r.normal()),
        make("five different rows", n, d, |i, j| few[(i * 3 % 5) * d + j]),
        make("all rows equal", n, d, |_, j| one[j]),
        make("small integers", n, d, |_, _| r.below(3) as f64 - 1.0),
        make("bits, many zero rows", n, d, |i, _| if i % 4 == 0 { 0.0 } else { r.below(2) as f64 }),
        make("mean 1000, sd 1e-3", n, d, |_, _| 1000.0 + 1e-3 * r.normal()),
        make("mean 1e6, sd 1", n, d, |_, _| 1e6 + r.normal()),
        make("subnormal", n, d, |_, _| 1e-41 * r.normal()),
        make("one huge coordinate", n, d, |i, j| if j == i % d { 3e38 } else { r.normal() }),
    ];
    let mut r = Random::new(seed + 1);
    // Near-ties: scores that differ in the last bits of f32 and below.
    sets.push(make("near-ties", n, d, |_, j| one[j] * (1.0 + 1e-7 * r.normal())));
    let scales: Vec<f64> = (0..n).map(|_| 10f64.powf(60.0 * r.uniform() - 30.0)).collect();
    sets.push(make("norms 1e-30 to 1e30", n, d, |i, _| scales[i] * r.normal()));
    // Rescalings of one direction: all cosines are equal or differ by one rounding.
    sets.push(make("one direction", n, d, |i, j| one[j] * scales[i]));
    // Cancellation: large terms of either sign, small sums.
    sets.push(make("cancellation", n, d, |_, j| if j % 2 == 0 { 1e6 } else { -1e6 } + r.normal()));
    sets
}

/// The canonical dot product, written from the definition: 8 interleaved lanes, one reduction.
pub fn dot(x: &[f32], y: &[f32]) -> f64 {
    reduce(x.iter().zip(y).map(|(&a, &b)| f64::from(a) * f64::from(b)))
}

/// The canonical squared distance.
pub fn squared_euclidean(x: &[f32], y: &[f32]) -> f64 {
    reduce(x.iter().zip(y).map(|(&a, &b)| {
        let t = f64::from(a) - f64::from(b);
        t * t
    }))
}

fn reduce(terms: impl Iterator<Item = f64>) -> f64 {
    let mut l = [0.0f64; 8];
    for (j, term) in terms.enumerate() {
        l[j % 8] += term;
    }
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

pub fn canonical(metric: Metric, q: &[f32], b: &[f32]) -> f64 {
    match metric {
        Metric::Cosine => (dot(q, b) / (dot(q, q) * dot(b, b)).sqrt()).clamp(-1.0, 1.0),
        Metric::InnerProduct => dot(q, b),
        Metric::Euclidean | Metric::SquaredEuclidean => squared_euclidean(q, b),
    }
}

/// Every candidate scored in f64, all of them sorted; equal scores in ascending `tie` order.
pub fn brute_force<T: Ord>(
    metric: Metric,
    k: usize,
    base: &Data,
    queries: &Data,
    candidate: impl Fn(usize, usize) -> bool,
    tie: impl Fn(usize) -> T,
) -> Neighbours {
    let (mut indices, mut scores, mut next) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..queries.n {
        let mut all: Vec<(f64, usize)> = (0..base.n)
            .filter(|&j| candidate(i, j))
            .map(|j| (canonical(metric, queries.row(i), base.row(j)), j))
            .collect();
        all.sort_by(|a, b| {
            let nearer = if metric.larger_is_nearer() { b.0.partial_cmp(&a.0) } else { a.0.partial_cmp(&b.0) };
            nearer.expect("no NaN").then_with(|| tie(a.1).cmp(&tie(b.1)))
        });
        for place in 0..k {
            indices.push(all.get(place).map_or(NO_NEIGHBOUR, |e| e.1 as u32));
            scores.push(all.get(place).map_or(metric.worst(), |e| e.0));
        }
        next.push(all.get(k).map_or(metric.worst(), |e| e.0));
    }
    Neighbours::from_parts(metric, queries.n, k, indices, scores, next)
}

/// Byte equality, which `==` on floats is not.
pub fn assert_same_bytes(got: &Neighbours, expected: &Neighbours, what: &str) {
    for i in 0..expected.n() {
        assert_eq!(got.list(i), expected.list(i), "{what}: list of query {i}");
        let bits = |lists: &Neighbours| lists.list_scores(i).iter().map(|s| s.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(got), bits(expected), "{what}: scores of query {i}");
        assert_eq!(
            got.next_score(i).to_bits(),
            expected.next_score(i).to_bits(),
            "{what}: the score after the last of query {i}"
        );
    }
    assert_eq!((got.n(), got.k(), got.metric()), (expected.n(), expected.k(), expected.metric()), "{what}");
}
