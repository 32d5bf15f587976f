//! What walks compare: the distinct rows of a base as they are.

use mnno_exact::{EqualRows, Kernels, Metric, Rows};

use crate::walk::{Near, Seen};

/// Rows scored at a time.
const AT_ONCE: usize = 4;
/// What the operations of a rough score take off or add, of the largest that it could be.
const ROUGH: f64 = 4e-7;
/// Rough scores of rows with norms, and differences, beyond these are not numbers to rely on.
const LARGE: f64 = 1e18;
const SMALL: f64 = 1e-15;

/// The distinct rows of a base under a metric; node `i` is the first row of group `i`.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    pub(crate) base: &'a dyn Rows,
    pub(crate) equal: &'a EqualRows,
    pub(crate) metric: Metric,
    pub(crate) kernels: Kernels,
    /// `dot(b, b)` of each node.
    pub(crate) squared_norms: &'a [f64],
}

impl<'a> Points<'a> {
    /// The row of a node.
    fn number(&self, node: u32) -> usize {
        let equal = self.equal;
        if equal.groups() == equal.rows() { node as usize } else { equal.first(node as usize) as usize }
    }

    pub(crate) fn row<'s>(&self, node: u32, scratch: &'s mut Vec<f32>) -> &'s [f32]
    where
        'a: 's,
    {
        self.base.row(self.number(node), scratch)
    }

    /// Tells of each row that is equal to a node.
    pub(crate) fn for_each_row(&self, node: u32, mut told: impl FnMut(u32)) {
        if self.equal.groups() == self.equal.rows() {
            told(node);
        } else {
            self.equal.group(node as usize).iter().for_each(|&row| told(row));
        }
    }

    /// Asks for a node's row.
    pub(crate) fn prefetch(&self, node: u32) {
        if let Some(row) = self.base.borrowed(self.number(node)) {
            mnno_simd::prefetch(row);
        }
        if self.metric == Metric::Cosine {
            mnno_simd::prefetch(&self.squared_norms[node as usize..=node as usize]);
        }
    }

    /// Four rows, the last of fewer more than once.
    fn four<'s>(&self, nodes: &[u32], scratch: &'s mut [Vec<f32>; AT_ONCE]) -> ([&'s [f32]; AT_ONCE], [f64; AT_ONCE])
    where
        'a: 's,
    {
        let four: [u32; AT_ONCE] = std::array::from_fn(|i| nodes[i.min(nodes.len() - 1)]);
        let mut scratch = scratch.iter_mut();
        let rows = four.map(|node| self.row(node, scratch.next().expect("one for each row")));
        let norms =
            four.map(|node| if self.metric == Metric::Cosine { self.squared_norms[node as usize] } else { 0.0 });
        (rows, norms)
    }

    /// The canonical scores of a query with nodes.
    pub(crate) fn canonical(&self, query: &[f32], squared_norm: f64, nodes: &[u32], mut told: impl FnMut(u32, f64)) {
        let mut scratch: [Vec<f32>; AT_ONCE] = Default::default();
        for nodes in nodes.chunks(AT_ONCE) {
            let (rows, norms) = self.four(nodes, &mut scratch);
            let scores = self.metric.scores(self.kernels, query, rows, squared_norm, norms);
            nodes.iter().zip(scores).for_each(|(&node, score)| told(node, score));
        }
    }

    /// Whether f32 holds the scores of rows with each other, and tells apart nodes whose scores, products, differ by `spread`.
    pub(crate) fn are_rough_enough(&self, spread: f64, hidden: f64) -> bool {
        let longest = self.squared_norms.iter().copied().fold(0.0, f64::max).sqrt();
        let noise = match self.metric {
            Metric::Cosine => ROUGH,
            Metric::InnerProduct => ROUGH * longest * longest,
            // Of the difference itself.
            Metric::Euclidean | Metric::SquaredEuclidean => 0.0,
        };
        longest < LARGE && spread > SMALL * SMALL && noise <= hidden * spread
    }

    /// The query's scores with the rows, in f32; none if f32 does not hold them.
    pub(crate) fn near<'s>(&'s self, query: &'s [f32], squared_norm: f64) -> Option<NearRows<'s>> {
        let norm = squared_norm.sqrt();
        let held = norm < LARGE && (norm > SMALL || self.metric != Metric::InnerProduct && norm == 0.0);
        let factor = if self.metric == Metric::Cosine { 1.0 / norm } else { 1.0 };
        held.then(|| NearRows { points: self, query, squared_norm, factor, scratch: Default::default() })
    }

    /// The query's scores with the rows, canonical ones: for what f32 does not hold.
    pub(crate) fn near_exactly<'s>(&'s self, query: &'s [f32], squared_norm: f64) -> NearRowsExactly<'s> {
        let origin = match self.metric {
            Metric::Cosine => Some(1.0),
            Metric::InnerProduct => None,
            Metric::Euclidean | Metric::SquaredEuclidean => Some(0.0),
        };
        NearRowsExactly { points: self, query, squared_norm, origin }
    }
}

/// Scores with the rows, in f32.
pub(crate) struct NearRows<'a> {
    points: &'a Points<'a>,
    query: &'a [f32],
    squared_norm: f64,
    /// Multiplies products.
    factor: f64,
    scratch: [Vec<f32>; AT_ONCE],
}

impl Near for NearRows<'_> {
    fn prefetch(&self, node: u32) {
        self.points.prefetch(node);
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>) {
        scores.clear();
        let Points { kernels, metric, .. } = *self.points;
        for nodes in nodes.chunks(AT_ONCE) {
            let (rows, norms) = self.points.four(nodes, &mut self.scratch);
            let four = match metric {
                Metric::Cosine => {
                    let mut four = kernels.dot_rough(self.query, rows);
                    for (score, norm) in four.iter_mut().zip(norms) {
                        *score = (f64::from(*score) * self.factor / norm.sqrt()) as f32;
                    }
                    four
                }
                Metric::InnerProduct => kernels.dot_rough(self.query, rows),
                Metric::Euclidean | Metric::SquaredEuclidean => {
                    kernels.squared_euclidean_rough(self.query, rows).map(|distance| -distance)
                }
            };
            scores.extend_from_slice(&four[..nodes.len()]);
        }
    }

    fn without_rounding(&self, canonical: f64) -> f64 {
        self.points.metric.goodness(canonical)
    }

    fn margin(&self, seen: Seen) -> f64 {
        match self.points.metric {
            Metric::Cosine => ROUGH,
            Metric::InnerProduct => {
                ROUGH * (self.squared_norm * self.points.squared_norms[seen.node() as usize]).sqrt()
            }
            Metric::Euclidean | Metric::SquaredEuclidean => ROUGH * f64::from(seen.score().abs()),
        }
    }
}

/// Canonical scores, less 1 under the cosine and the first score under the inner product: f32 then holds what tells near ones
/// apart.
pub(crate) struct NearRowsExactly<'a> {
    points: &'a Points<'a>,
    query: &'a [f32],
    squared_norm: f64,
    origin: Option<f64>,
}

impl Near for NearRowsExactly<'_> {
    fn prefetch(&self, node: u32) {
        self.points.prefetch(node);
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>) {
        scores.clear();
        let metric = self.points.metric;
        let origin = &mut self.origin;
        self.points.canonical(self.query, self.squared_norm, nodes, |_, score| {
            let score = metric.goodness(score);
            scores.push((score - *origin.get_or_insert(score)) as f32);
        });
    }

    fn without_rounding(&self, canonical: f64) -> f64 {
        self.points.metric.goodness(canonical) - self.origin.unwrap_or(0.0)
    }

    fn margin(&self, seen: Seen) -> f64 {
        ROUGH * f64::from(seen.score().abs())
    }
}
