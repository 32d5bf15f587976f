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

/// Rows rounded to bytes about a common origin: those of the graph's entries, and of all nodes where rounding hides little.
#[derive(Debug)]
pub(crate) struct Codes {
    coder: Coder,
    entries: CodedRows,
    /// `0..` the number of entries.
    numbers: Vec<u32>,
    nodes: Option<CodedRows>,
}

/// How rows become bytes.
#[derive(Debug)]
struct Coder {
    metric: Metric,
    kernels: Kernels,
    /// Multiplies rows, unless they are made unit rows: a power of two, for numbers that f32 can hold.
    power: f64,
    /// The origin, of scaled rows.
    centre: Vec<f64>,
}

/// Row by row its bytes, which stand 128 too high, and in its last two words what a byte is worth and what is added to a product.
/// Where those lie a query has zeros, so that they do not matter to products.
#[derive(Debug)]
struct CodedRows {
    /// Lines per row.
    width: usize,
    lines: Pages<Line>,
}

/// A query in bytes, and the buffers for making it.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    lines: Vec<Line>,
    scratch: Vec<f64>,
    products: Vec<i32>,
    scores: Vec<f32>,
    nearest: Vec<Seen>,
}

/// What is said of a coded row.
#[derive(Clone, Copy)]
pub(crate) struct Coded {
    step: f32,
    /// Added to products with the row.
    offset: f32,
    /// Of a query: what its scores lack of its products with rows.
    shift: f64,
    /// About the origin.
    norm: f64,
    /// By how much rounding moves it.
    residual: f64,
}

impl Coder {
    /// With the mean of some nodes as the origin.
    fn new(points: &Points<'_>) -> Self {
        let (n, d) = (points.equal.groups(), points.base.d());
        let power = unit(points.squared_norms);
        let mut coder = Self { metric: points.metric, kernels: points.kernels, power, centre: Vec::new() };
        let mut centre = vec![0.0; d];
        let mut scratch = Vec::new();
        let sampled: Vec<u32> = (0..n as u32).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        for &node in &sampled {
            let factor = coder.factor(points.squared_norms[node as usize]) / sampled.len() as f64;
            let row = points.row(node, &mut scratch);
            centre.iter_mut().zip(row).for_each(|(c, &x)| *c += factor * f64::from(x));
        }
        coder.centre = centre;
        coder
    }

    fn factor(&self, squared_norm: f64) -> f64 {
        match self.metric {
            Metric::Cosine if squared_norm > 0.0 => 1.0 / squared_norm.sqrt(),
            Metric::Cosine => 1.0,
            _ => self.power,
        }
    }

    /// What products are multiplied by.
    fn squared(&self) -> f64 {
        if self.metric == Metric::Cosine { 1.0 } else { self.power * self.power }
    }

    /// Makes `coding.lines` of a row, signed bytes.
    fn code(&self, row: &[f32], squared_norm: f64, coding: &mut Coding) -> Coded {
        coding.lines.resize(width(row.len()), Line::ZERO);
        let frame = Frame { factor: self.factor(squared_norm), centre: &self.centre };
        let words = bytemuck::cast_slice_mut(&mut coding.lines);
        let quantised = self.kernels.quantise(Element::Int8, row, frame, words, &mut coding.scratch);
        let Quantised { step, residual, squared_norm, with_centre, .. } = quantised;
        let (offset, shift) = match self.metric {
            Metric::Cosine | Metric::InnerProduct => {
                (with_centre, with_centre + self.centre.iter().map(|c| c * c).sum::<f64>())
            }
            Metric::Euclidean | Metric::SquaredEuclidean => (-0.5 * squared_norm, -0.5 * squared_norm),
        };
        Coded { step, offset: offset as f32, shift, norm: squared_norm.sqrt(), residual }
    }
}

/// Lines of a row of `d` bytes and two numbers.
fn width(d: usize) -> usize {
    (d + 8).div_ceil(4 * TILE)
}

/// What a byte of a row is worth, and what is added to its products.
#[inline]
fn terms(row: &[u32]) -> [f32; 2] {
    let [.., step, offset] = row else { return [0.0; 2] };
    [f32::from_bits(*step), f32::from_bits(*offset)]
}

impl CodedRows {
    /// Of these nodes, made on the current thread pool; with the mean of what rounding moves a row by times its norm.
    fn new(points: &Points<'_>, coder: &Coder, nodes: &[u32]) -> Result<(Self, f64), SearchError> {
        let width = width(points.base.d());
        let mut lines = Pages::default();
        lines.resize(nodes.len() * width)?;
        let rows = lines.as_mut_slice().par_chunks_mut(width).zip(nodes);
        let lost = rows.map_init(<(Vec<f32>, Coding)>::default, |(row, coding), (lines, &node)| {
            let coded = coder.code(points.row(node, row), points.squared_norms[node as usize], coding);
            for (line, coded) in lines.iter_mut().zip(&coding.lines) {
                *line = Line(coded.0.map(|word| word ^ SIGNS));
            }
            let [.., step, offset] = &mut lines[width - 1].0;
            (*step, *offset) = (coded.step.to_bits(), coded.offset.to_bits());
            coded.residual * coded.norm
        });
        // In order, so that the sum is the same for any threads.
        let lost: Vec<f64> = lost.collect();
        Ok((Self { width, lines }, lost.iter().sum::<f64>() / nodes.len().max(1) as f64))
    }

    /// Of `n` rows of `d` values from their words. None if the lengths or numbers do not fit.
    fn from_words(words: &[u32], n: usize, d: usize) -> Result<Option<Self>, SearchError> {
        let width = width(d);
        let finite = words.chunks_exact(TILE * width).all(|row| terms(row).into_iter().all(f32::is_finite));
        if n.checked_mul(TILE * width) != Some(words.len()) || !finite {
            return Ok(None);
        }
        let mut lines: Pages<Line> = Pages::default();
        lines.resize(n * width)?;
        bytemuck::cast_slice_mut(lines.as_mut_slice()).copy_from_slice(words);
        Ok(Some(Self { width, lines }))
    }

    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.lines.as_slice())
    }

    fn near<'a>(
        &'a self,
        coder: &'a Coder,
        coded: Coded,
        lines: &'a [Line],
        products: &'a mut Vec<i32>,
    ) -> NearCodes<'a> {
        NearCodes { coder, rows: self.lines.as_slice(), width: self.width, lines, products, coded }
    }
}

impl Codes {
    /// The codes of nodes of at most [`LONGEST`] values, made on the current thread pool. All of them only if what rounding puts a
    /// score off by, a product, is at most `hidden`: the mean of what it moves a row by times the row's norm, over the root of d,
    /// as if it moved rows in a random direction.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    pub(crate) fn new(points: &Points<'_>, entries: &[u32], hidden: f64) -> Result<Self, SearchError> {
        let coder = Coder::new(points);
        let all: Vec<u32> = (0..points.equal.groups() as u32).collect();
        let (nodes, lost) = CodedRows::new(points, &coder, &all)?;
        let (of_entries, _) = CodedRows::new(points, &coder, entries)?;
        // Either side of a product is rounded.
        let noise = std::f64::consts::SQRT_2 * lost / (points.base.d().max(1) as f64).sqrt() / coder.squared();
        let nodes = (noise <= hidden).then_some(nodes);
        let numbers = (0..entries.len() as u32).collect();
        Ok(Self { coder, entries: of_entries, numbers, nodes })
    }

    /// Codes from what [`Codes::parts`] gives, for nodes with these squared norms and a graph with so many entries. None if the
    /// lengths or numbers do not fit.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    pub(crate) fn from_parts(
        (centre, of_entries, of_nodes): (Vec<f64>, &[u32], Option<&[u32]>),
        squared_norms: &[f64],
        entries: usize,
        metric: Metric,
    ) -> Result<Option<Self>, SearchError> {
        let d = centre.len();
        let finite = centre.iter().all(|c| c.is_finite());
        let Some(entries) = CodedRows::from_words(of_entries, entries, d)?.filter(|_| finite) else { return Ok(None) };
        let nodes = match of_nodes {
            None => None,
            Some(words) => match CodedRows::from_words(words, squared_norms.len(), d)? {
                None => return Ok(None),
                some => some,
            },
        };
        let coder = Coder { metric, kernels: Kernels::detect(), power: unit(squared_norms), centre };
        let numbers = (0..entries.lines.as_slice().len() / entries.width).map(|number| number as u32).collect();
        Ok(Some(Self { coder, entries, numbers, nodes }))
    }

    /// The origin, and the words of entries and of nodes.
    pub(crate) fn parts(&self) -> (&[f64], &[u32], Option<&[u32]>) {
        (&self.coder.centre, self.entries.words(), self.nodes.as_ref().map(CodedRows::words))
    }

    /// Whether there are codes of all nodes.
    pub(crate) fn are_of_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.entries.words().len() + self.nodes.as_ref().map_or(0, |nodes| nodes.words().len());
        4 * (words + self.numbers.len()) + 8 * self.coder.centre.len()
    }

    /// Rounds a query to bytes, which stay in `coding`; none if it is so much longer than the rows that it has no code.
    pub(crate) fn code(&self, query: &[f32], squared_norm: f64, coding: &mut Coding) -> Option<Coded> {
        Some(self.coder.code(query, squared_norm, coding)).filter(|coded| coded.residual.is_finite())
    }

    /// The `count` of the `entries` nearest to the coded query, written to `starts`.
    pub(crate) fn nearest_entries(
        &self,
        coded: Coded,
        entries: &[u32],
        count: usize,
        coding: &mut Coding,
        starts: &mut Vec<u32>,
    ) {
        let Coding { lines, products, scores, nearest, .. } = coding;
        self.entries.near(&self.coder, coded, lines, products).scores(&self.numbers, scores);
        nearest.clear();
        for (&entry, &score) in entries.iter().zip(&*scores) {
            Seen::new(entry, score).keep(nearest, count);
        }
        starts.clear();
        starts.extend(nearest.iter().map(|seen| seen.node()));
    }

    /// The coded query's scores with all nodes, if they have codes.
    pub(crate) fn near<'s>(&'s self, coded: Coded, coding: &'s mut Coding) -> Option<NearCodes<'s>> {
        let Coding { lines, products, .. } = coding;
        self.nodes.as_ref().map(|rows| rows.near(&self.coder, coded, lines, products))
    }
}

/// Scores with codes: products of scaled rows up to what is constant for a query, or half the negative squared distance.
pub(crate) struct NearCodes<'a> {
    coder: &'a Coder,
    rows: &'a [Line],
    /// Lines per row.
    width: usize,
    /// Of the query.
    lines: &'a [Line],
    products: &'a mut Vec<i32>,
    coded: Coded,
}

impl Near for NearCodes<'_> {
    fn prefetch(&self, node: u32) {
        let begin = node as usize * self.width;
        mnno_simd::prefetch(&self.rows[begin..begin + self.width]);
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>) {
        self.coder.kernels.dot_bytes(self.lines, self.rows, nodes, self.products);
        let (step, width, rows) = (self.coded.step, self.width, self.rows);
        scores.clear();
        scores.extend(nodes.iter().zip(&*self.products).map(|(&node, &product)| {
            let [of_row, offset] = terms(&rows[node as usize * width + width - 1].0);
            product as f32 * (step * of_row) + offset
        }));
    }

    fn without_rounding(&self, canonical: f64) -> f64 {
        let product = match self.coder.metric {
            Metric::Cosine | Metric::InnerProduct => canonical,
            Metric::Euclidean | Metric::SquaredEuclidean => -0.5 * canonical,
        };
        product * self.coder.squared() - self.coded.shift
    }

    fn margin(&self, seen: Seen) -> f64 {
        // A rounded value is off by a step over the root of 12 in the mean square, and either side is rounded; rows are about as
        // many steps long as the query.
        let width = self.width;
        let [step, _] = terms(&self.rows[seen.node() as usize * width + width - 1].0);
        MARGIN * (2.0f64 / 12.0).sqrt() * f64::from(step) * self.coded.norm
    }
}
