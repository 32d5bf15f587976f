//! Rows rounded to bytes: a quarter of the memory traffic of f32.

use mnno_exact::{Kernels, Metric, Pages, SearchError};
use mnno_simd::{Element, Frame, Line, Quantised, TILE};
use rayon::prelude::*;

use crate::points::Points;
use crate::space::unit;
use crate::walk::{Near, Seen};

/// Products of rows of so many bytes are exact in i32.
pub(crate) const LONGEST: usize = 133_144;
/// Rows whose mean is the origin of bytes.
const SAMPLED: usize = 1024;
/// Turns signed bytes into bytes that stand 128 too high, and back.
const SIGNS: u32 = 0x8080_8080;
/// Rounding may put a score off by so many times what it does in the mean square.
const MARGIN: f64 = 4.0;

/// The nodes' rows about a common origin, in bytes that stand 128 too high, one scale for each.
#[derive(Debug)]
pub(crate) struct Codes {
    /// Lines per row.
    width: usize,
    /// Row by row: its bytes, and in its last two words what a byte is worth and what is added to a product. Where those lie a
    /// query has zeros, so that they do not matter to products.
    lines: Pages<Line>,
    pub(crate) centre: Vec<f64>,
    /// Lines of the graph's entries, in their order.
    entries: Vec<Line>,
    numbers: Vec<u32>,
    frame: Scale,
}

/// How rows are scaled before they are rounded.
#[derive(Clone, Copy, Debug)]
struct Scale {
    metric: Metric,
    kernels: Kernels,
    /// Multiplies rows, unless they are made unit rows: a power of two, for numbers that f32 can hold.
    power: f64,
}

impl Scale {
    fn factor(self, squared_norm: f64) -> f64 {
        match self.metric {
            Metric::Cosine if squared_norm > 0.0 => 1.0 / squared_norm.sqrt(),
            Metric::Cosine => 1.0,
            _ => self.power,
        }
    }

    /// What products are multiplied by.
    fn squared(self) -> f64 {
        if self.metric == Metric::Cosine { 1.0 } else { self.power * self.power }
    }

    fn code(self, row: &[f32], squared_norm: f64, centre: &[f64], coding: &mut Coding) -> Coded {
        coding.lines.resize(width(row.len()), Line::ZERO);
        let frame = Frame { factor: self.factor(squared_norm), centre };
        let words = bytemuck::cast_slice_mut(&mut coding.lines);
        let quantised = self.kernels.quantise(Element::Int8, row, frame, words, &mut coding.scratch);
        let (offset, shift) = match self.metric {
            Metric::Cosine | Metric::InnerProduct => {
                let of_centre: f64 = centre.iter().map(|c| c * c).sum();
                (quantised.with_centre, quantised.with_centre + of_centre)
            }
            Metric::Euclidean | Metric::SquaredEuclidean => {
                (-0.5 * quantised.squared_norm, -0.5 * quantised.squared_norm)
            }
        };
        let Quantised { step, residual, squared_norm, .. } = quantised;
        Coded { step, offset: offset as f32, shift, norm: squared_norm.sqrt(), residual }
    }
}

/// Lines of a row of `d` bytes and two numbers.
fn width(d: usize) -> usize {
    (d + 8).div_ceil(4 * TILE)
}

/// Buffers for making codes.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    row: Vec<f32>,
    lines: Vec<Line>,
    scratch: Vec<f64>,
    products: Vec<i32>,
}

struct Coded {
    step: f32,
    offset: f32,
    /// Of a query: what its scores lack of its products with rows.
    shift: f64,
    /// About the origin.
    norm: f64,
    /// By how much rounding moves it.
    residual: f64,
}

impl Codes {
    /// The codes of all nodes, of rows of at most [`LONGEST`] values, made on the current thread pool; and by how much the rounding
    /// of one side puts a score off, a product: the mean over nodes of what is lost times the row's distance from the origin,
    /// over the root of d, as if what is lost had a random direction.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    pub(crate) fn new(points: &Points<'_>, entries: &[u32]) -> Result<(Self, f64), SearchError> {
        let (metric, kernels, d) = (points.metric, points.kernels, points.base.d());
        let n = points.equal.groups();
        let frame = Scale { metric, kernels, power: unit(points.squared_norms) };
        let mut centre = vec![0.0; d];
        let mut scratch = Vec::new();
        let sampled: Vec<u32> = (0..n as u32).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        for &node in &sampled {
            let factor = frame.factor(points.squared_norms[node as usize]) / sampled.len() as f64;
            let row = points.row(node, &mut scratch);
            centre.iter_mut().zip(row).for_each(|(c, &x)| *c += factor * f64::from(x));
        }
        let width = width(d);
        let mut lines = Pages::default();
        lines.resize(n * width)?;
        let nodes = lines.as_mut_slice().par_chunks_mut(width).enumerate();
        let noise = nodes.map_init(Coding::default, |coding, (node, lines)| {
            let mut row = std::mem::take(&mut coding.row);
            let coded = frame.code(points.row(node as u32, &mut row), points.squared_norms[node], &centre, coding);
            coding.row = row;
            for (line, coded) in lines.iter_mut().zip(&coding.lines) {
                *line = Line(coded.0.map(|word| word ^ SIGNS));
            }
            let [.., step, offset] = &mut lines[width - 1].0;
            (*step, *offset) = (coded.step.to_bits(), coded.offset.to_bits());
            coded.residual * coded.norm
        });
        let noise: Vec<f64> = noise.collect();
        let noise = noise.iter().sum::<f64>() / (n.max(1) as f64) / (d.max(1) as f64).sqrt() / frame.squared();
        let codes = Self { width, lines, centre, entries: Vec::new(), numbers: Vec::new(), frame };
        Ok((codes.started(entries), noise))
    }

    /// Codes of rows of `d` values with these squared norms, for a graph with these entries: their words and centre. None if the
    /// lengths or numbers do not fit.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    pub(crate) fn from_parts(
        (words, centre): (&[u32], Vec<f64>),
        squared_norms: &[f64],
        entries: &[u32],
        d: usize,
        metric: Metric,
    ) -> Result<Option<Self>, SearchError> {
        let (n, width) = (squared_norms.len(), width(d));
        let finite = words.chunks_exact(TILE * width).all(|row| terms(row).into_iter().all(f32::is_finite))
            && centre.iter().all(|c| c.is_finite());
        if n.checked_mul(TILE * width) != Some(words.len()) || centre.len() != d || !finite {
            return Ok(None);
        }
        let mut lines: Pages<Line> = Pages::default();
        lines.resize(n * width)?;
        for (line, words) in lines.as_mut_slice().iter_mut().zip(words.as_chunks().0) {
            *line = Line(*words);
        }
        let frame = Scale { metric, kernels: Kernels::detect(), power: unit(squared_norms) };
        let codes = Self { width, lines, centre, entries: Vec::new(), numbers: Vec::new(), frame };
        Ok(Some(codes.started(entries)))
    }

    /// With the lines of the entries side by side.
    fn started(mut self, entries: &[u32]) -> Self {
        self.entries = entries.iter().flat_map(|&node| self.row(node)).copied().collect();
        self.numbers = (0..entries.len() as u32).collect();
        self
    }

    /// All lines, as words.
    pub(crate) fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.lines.as_slice())
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let lines = self.lines.as_slice().len() + self.entries.len();
        lines * size_of::<Line>() + 8 * self.centre.len() + 4 * self.numbers.len()
    }

    /// The query's scores with the codes; none if it is so much longer than the rows that it has no code.
    pub(crate) fn near<'s>(
        &'s self,
        query: &[f32],
        squared_norm: f64,
        coding: &'s mut Coding,
    ) -> Option<NearCodes<'s>> {
        let Coded { step, shift, norm, residual, .. } = self.frame.code(query, squared_norm, &self.centre, coding);
        let Coding { lines, products, .. } = coding;
        residual.is_finite().then(|| NearCodes {
            codes: self,
            rows: self.lines.as_slice(),
            lines,
            products,
            step,
            shift,
            norm,
        })
    }

    fn row(&self, node: u32) -> &[Line] {
        let begin = node as usize * self.width;
        &self.lines.as_slice()[begin..begin + self.width]
    }
}

/// Scores with codes: products of scaled rows up to what is constant for a query, or half the negative squared distance.
pub(crate) struct NearCodes<'a> {
    codes: &'a Codes,
    rows: &'a [Line],
    lines: &'a [Line],
    products: &'a mut Vec<i32>,
    step: f32,
    /// What scores lack of products.
    shift: f64,
    /// Of the query about the origin.
    norm: f64,
}

/// What a byte of a row is worth, and what is added to its products.
#[inline]
fn terms(row: &[u32]) -> [f32; 2] {
    let [.., step, offset] = row else { return [0.0; 2] };
    [f32::from_bits(*step), f32::from_bits(*offset)]
}

impl NearCodes<'_> {
    fn row(&self, node: u32) -> &[Line] {
        let begin = node as usize * self.lines.len();
        &self.rows[begin..begin + self.lines.len()]
    }

    /// The scores of rows, of which `rows` holds all.
    fn scores_among(&mut self, rows: &[Line], ids: &[u32], scores: &mut Vec<f32>) {
        self.codes.frame.kernels.dot_bytes(self.lines, rows, ids, self.products);
        let (step, width) = (self.step, self.lines.len());
        let score = |(&id, &product): (&u32, &i32)| {
            let [of_row, offset] = terms(&rows[id as usize * width + width - 1].0);
            product as f32 * (step * of_row) + offset
        };
        scores.clear();
        scores.extend(ids.iter().zip(&*self.products).map(score));
    }
}

impl Near for NearCodes<'_> {
    fn prefetch(&self, node: u32) {
        mnno_simd::prefetch(self.row(node));
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>) {
        self.scores_among(self.rows, nodes, scores);
    }

    fn scores_of_entries(&mut self, _: &[u32], scores: &mut Vec<f32>) {
        let Codes { entries, numbers, .. } = self.codes;
        self.scores_among(entries, numbers, scores);
    }

    fn without_rounding(&self, canonical: f64) -> f64 {
        let frame = self.codes.frame;
        let product = match frame.metric {
            Metric::Cosine | Metric::InnerProduct => canonical,
            Metric::Euclidean | Metric::SquaredEuclidean => -0.5 * canonical,
        };
        product * frame.squared() - self.shift
    }

    fn margin(&self, seen: Seen) -> f64 {
        // A rounded value is off by a step over the root of 12 in the mean square, and either side is rounded; rows are about as
        // many steps long as the query.
        let [step, _] = terms(&self.row(seen.node())[self.lines.len() - 1].0);
        MARGIN * (2.0f64 / 12.0).sqrt() * f64::from(step) * self.norm
    }
}
