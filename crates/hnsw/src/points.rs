//! What walks compare: the distinct rows of a base, as they are or in bytes.

use mnno_exact::{EqualRows, Kernels, Metric, Rows};
use mnno_simd::{Element, Frame, TILE};
use rayon::prelude::*;

use crate::space::unit;
use crate::walk::Near;

/// Rows scored at a time.
const AT_ONCE: usize = 4;
/// Products of rows of so many bytes are exact in i32.
pub(crate) const LONGEST: usize = 133_144;
/// Rows whose mean is the origin of bytes.
const SAMPLED: usize = 1024;

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
    pub(crate) fn row<'s>(&self, node: u32, scratch: &'s mut Vec<f32>) -> &'s [f32]
    where
        'a: 's,
    {
        self.base.row(self.equal.first(node as usize) as usize, scratch)
    }

    /// The canonical scores of a query with nodes, `AT_ONCE` at a time.
    pub(crate) fn canonical(&self, query: &[f32], squared_norm: f64, nodes: &[u32], mut told: impl FnMut(u32, f64)) {
        let mut scratch: [Vec<f32>; AT_ONCE] = Default::default();
        let (chunks, rest) = nodes.as_chunks::<AT_ONCE>();
        for chunk in chunks {
            let mut scratch = scratch.iter_mut();
            let rows = chunk.map(|node| self.row(node, scratch.next().expect("one for each row")));
            let norms = chunk.map(|node| self.squared_norms[node as usize]);
            let scores = self.metric.scores(self.kernels, query, rows, squared_norm, norms);
            chunk.iter().zip(scores).for_each(|(&node, score)| told(node, score));
        }
        for &node in rest {
            let row = self.row(node, &mut scratch[0]);
            let norm = self.squared_norms[node as usize];
            told(node, self.metric.scores(self.kernels, query, [row], squared_norm, [norm])[0]);
        }
    }

    /// The query's scores with the rows themselves.
    pub(crate) fn near<'s>(&'s self, query: &'s [f32], squared_norm: f64) -> NearRows<'s> {
        NearRows { points: self, query, squared_norm }
    }
}

/// Scores with the rows as they are.
pub(crate) struct NearRows<'a> {
    points: &'a Points<'a>,
    query: &'a [f32],
    squared_norm: f64,
}

impl Near for NearRows<'_> {
    fn prefetch(&self, node: u32) {
        if let Some(row) = self.points.base.borrowed(self.points.equal.first(node as usize) as usize) {
            mnno_simd::prefetch(row);
        }
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f64>) {
        scores.clear();
        let metric = self.points.metric;
        self.points.canonical(self.query, self.squared_norm, nodes, |_, score| scores.push(metric.goodness(score)));
    }
}

/// Rows rounded to bytes, one scale for each, about a common origin: a quarter of the memory traffic of f32.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    /// Words of four bytes per row, padded with zeros.
    width: usize,
    pub(crate) words: Vec<u32>,
    /// Per node: what a byte is worth, and what is added to a product.
    pub(crate) step: Vec<f32>,
    pub(crate) offset: Vec<f32>,
    pub(crate) centre: Vec<f64>,
    /// Multiplies rows first, unless they are made unit rows: a power of two, for numbers that f32 can hold.
    scale: f64,
    metric: Metric,
    kernels: Kernels,
}

impl Codes {
    /// The codes of all nodes, of rows of at most [`LONGEST`] values, made on the current thread pool; and by how much the rounding
    /// of one side puts a score off: the mean over nodes of what is lost times the row's distance from the origin, over the
    /// root of d, as if what is lost had a random direction.
    pub(crate) fn new(points: &Points<'_>) -> (Self, f64) {
        let (metric, kernels, d) = (points.metric, points.kernels, points.base.d());
        let n = points.equal.groups();
        let scale = unit(points.squared_norms);
        let mut centre = vec![0.0; d];
        let mut scratch = Vec::new();
        let sampled: Vec<u32> = (0..n as u32).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        for &node in &sampled {
            let factor = factor(metric, points.squared_norms[node as usize], scale) / sampled.len() as f64;
            let row = points.row(node, &mut scratch);
            centre.iter_mut().zip(row).for_each(|(c, &x)| *c += factor * f64::from(x));
        }
        let width = width(d);
        let mut codes = Self {
            width,
            words: vec![0; n * width],
            step: vec![0.0; n],
            offset: vec![0.0; n],
            centre,
            scale,
            metric,
            kernels,
        };
        let (mut words, mut step, mut offset) =
            (std::mem::take(&mut codes.words), std::mem::take(&mut codes.step), std::mem::take(&mut codes.offset));
        let coder = &codes;
        let nodes = words.par_chunks_mut(width.max(1)).zip(&mut step).zip(&mut offset).enumerate();
        let noise = nodes.map_init(Coder::default, |scratch, (node, ((words, step), offset))| {
            let squared_norm = points.squared_norms[node];
            let coded = coder.code(points.row(node as u32, &mut scratch.row), squared_norm, &mut scratch.coding);
            words.copy_from_slice(&scratch.coding.words);
            (*step, *offset) = (coded.step, coded.offset);
            coded.lost
        });
        let noise: Vec<f64> = noise.collect();
        let noise = noise.iter().sum::<f64>() / (n.max(1) as f64) / (d.max(1) as f64).sqrt();
        let noise = if metric == Metric::Cosine { noise } else { noise / (scale * scale) };
        (codes.words, codes.step, codes.offset) = (words, step, offset);
        (codes, noise)
    }

    /// Codes of rows of `d` values with these squared norms: their words, steps, offsets and centre. None if the lengths or
    /// numbers do not fit.
    pub(crate) fn from_parts(
        (words, step, offset, centre): (Vec<u32>, Vec<f32>, Vec<f32>, Vec<f64>),
        squared_norms: &[f64],
        d: usize,
        metric: Metric,
        kernels: Kernels,
    ) -> Option<Self> {
        let (n, scale) = (squared_norms.len(), unit(squared_norms));
        let fits =
            n.checked_mul(width(d)) == Some(words.len()) && step.len() == n && offset.len() == n && centre.len() == d;
        let finite = step.iter().chain(&offset).all(|v| v.is_finite()) && centre.iter().all(|c| c.is_finite());
        (fits && finite).then(|| Self { width: width(d), words, step, offset, centre, scale, metric, kernels })
    }

    fn code(&self, row: &[f32], squared_norm: f64, coding: &mut Coding) -> Coded {
        coding.words.resize(self.width, 0);
        let frame = Frame { factor: factor(self.metric, squared_norm, self.scale), centre: &self.centre };
        let quantised = self.kernels.quantise(Element::Int8, row, frame, &mut coding.words, &mut coding.scratch);
        let offset = match self.metric {
            Metric::Cosine | Metric::InnerProduct => quantised.with_centre,
            Metric::Euclidean | Metric::SquaredEuclidean => -0.5 * quantised.squared_norm,
        };
        Coded { step: quantised.step, offset: offset as f32, lost: quantised.residual * quantised.squared_norm.sqrt() }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.words.len() + 8 * self.step.len() + 8 * self.centre.len()
    }

    /// The query's scores with the codes; none if it is so much longer than the rows that it has no code.
    pub(crate) fn near<'s>(
        &'s self,
        query: &[f32],
        squared_norm: f64,
        coding: &'s mut Coding,
    ) -> Option<NearCodes<'s>> {
        let Coded { step, lost, .. } = self.code(query, squared_norm, coding);
        lost.is_finite().then(|| NearCodes { codes: self, query: bytemuck::cast_slice(&coding.words), step })
    }

    fn row(&self, node: u32) -> &[u32] {
        let begin = node as usize * self.width;
        &self.words[begin..begin + self.width]
    }
}

/// Words of a row of `d` bytes.
fn width(d: usize) -> usize {
    d.div_ceil(4).next_multiple_of(TILE)
}

/// Buffers for making codes.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    words: Vec<u32>,
    scratch: Vec<f64>,
}

#[derive(Default)]
struct Coder {
    row: Vec<f32>,
    coding: Coding,
}

struct Coded {
    step: f32,
    offset: f32,
    lost: f64,
}

fn factor(metric: Metric, squared_norm: f64, scale: f64) -> f64 {
    match metric {
        Metric::Cosine if squared_norm > 0.0 => 1.0 / squared_norm.sqrt(),
        Metric::Cosine => 1.0,
        _ => scale,
    }
}

/// Scores with codes, up to what is constant for a query.
pub(crate) struct NearCodes<'a> {
    codes: &'a Codes,
    query: &'a [i8],
    step: f32,
}

impl Near for NearCodes<'_> {
    fn prefetch(&self, node: u32) {
        mnno_simd::prefetch(bytemuck::cast_slice(self.codes.row(node)));
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f64>) {
        scores.clear();
        let codes = self.codes;
        let score = |node: u32, product: i32| {
            f64::from(product as f32 * (self.step * codes.step[node as usize]) + codes.offset[node as usize])
        };
        let (chunks, rest) = nodes.as_chunks::<AT_ONCE>();
        for chunk in chunks {
            let rows = chunk.map(|node| bytemuck::cast_slice(codes.row(node)));
            let products = codes.kernels.dot_bytes(self.query, rows);
            scores.extend(chunk.iter().zip(products).map(|(&node, product)| score(node, product)));
        }
        for &node in rest {
            scores.push(score(node, codes.kernels.dot_bytes(self.query, [bytemuck::cast_slice(codes.row(node))])[0]));
        }
    }
}
