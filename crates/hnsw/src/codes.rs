//! Rows rounded to bytes: a quarter of the memory traffic of f32.

use mnno_exact::{Kernels, Metric, Pages, SearchError};
use mnno_simd::{Element, Frame, Line, Quantised, TILE};
use rayon::prelude::*;

use crate::points::Points;
use crate::space::unit;
use crate::walk::{Near, Seen};

/// Products of rows of so many bytes are exact in i32.
pub(crate) const LONGEST: usize = 133_144;
/// Bytes of a line.
const LINE: usize = size_of::<Line>();
/// Numbers that are kept with the bytes of a row.
const TERMS: usize = 2;
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

/// Row by row its bytes, which stand 128 too high, and its terms: what a byte is worth, and what is added to a product. Where its
/// last line has room, they are the last two words of that: a query has zeros there, so that they do not matter to products.
#[derive(Debug)]
struct CodedRows {
    /// Lines per row.
    width: usize,
    lines: Pages<Line>,
    /// The terms, if lines have no room.
    apart: Pages<[u32; TERMS]>,
}

/// All words of coded rows: of their bytes, and of terms that lie apart.
type Words<'a> = [&'a [u32]; 2];

/// Where the terms of rows lie.
#[derive(Clone, Copy)]
struct Terms<'a> {
    words: &'a [u32],
    /// Words from those of one row to those of the next.
    stride: usize,
}

impl Terms<'_> {
    #[inline]
    fn words(&self, row: u32) -> &[u32] {
        let end = (row as usize + 1) * self.stride;
        &self.words[end - TERMS..end]
    }

    /// What a byte of the row is worth, and what is added to its products.
    #[inline]
    fn of(&self, row: u32) -> [f32; TERMS] {
        let words = self.words(row);
        [f32::from_bits(words[0]), f32::from_bits(words[1])]
    }
}

/// A query in bytes, and the buffers for making it.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    lines: Vec<Line>,
    scratch: Vec<f64>,
    /// The part of the origin that is taken off a query.
    centre: Vec<f64>,
    products: Vec<i32>,
    scores: Vec<f32>,
    nearest: Vec<Seen>,
}

/// What is said of a coded row.
#[derive(Clone, Copy)]
struct CodedRow {
    step: f32,
    /// Added to products with the row.
    offset: f32,
    /// By how much rounding moves it, times its norm about the origin.
    lost: f64,
}

/// What is said of a coded query.
#[derive(Clone, Copy)]
pub(crate) struct Coded {
    step: f32,
    /// Multiplies the offsets of rows.
    offsets: f32,
    /// What scores are beside those that rows have: as many times, and less so much.
    scale: f64,
    shift: f64,
    /// Of what was rounded.
    norm: f64,
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

    /// Whether scores are products.
    fn of_products(&self) -> bool {
        matches!(self.metric, Metric::Cosine | Metric::InnerProduct)
    }

    /// Makes `coding.lines` of a row, signed bytes.
    fn code_row(&self, row: &[f32], squared_norm: f64, coding: &mut Coding) -> CodedRow {
        let said = self.quantise(row, Frame { factor: self.factor(squared_norm), centre: &self.centre }, coding);
        let offset = if self.of_products() { said.with_centre } else { -0.5 * said.squared_norm };
        CodedRow { step: said.step, offset: offset as f32, lost: said.residual * said.squared_norm.sqrt() }
    }

    /// Makes `coding.lines` of a query. None if it is so much longer than the rows that it has no code.
    ///
    /// A product with a row is that with the row about the origin, up to what is the same for all rows. A unit query `q` is
    /// rounded less what it shares with the origin `c`, `t c`, since `q y = (q - t c) y + t c y`, and of each row `y` the product
    /// with `c` is known. How long the query is does not matter.
    fn code_query(&self, query: &[f32], squared_norm: f64, coding: &mut Coding) -> Option<Coded> {
        if !self.of_products() {
            let said = self.quantise(query, Frame { factor: self.power, centre: &self.centre }, coding);
            let (scale, shift) = (self.squared(), -0.5 * said.squared_norm);
            let coded = Coded { step: said.step, offsets: 1.0, scale, shift, norm: said.squared_norm.sqrt() };
            return said.residual.is_finite().then_some(coded);
        }
        let factor = if squared_norm > 0.0 { 1.0 / squared_norm.sqrt() } else { 1.0 };
        let with_centre: f64 = query.iter().zip(&self.centre).map(|(&x, c)| factor * f64::from(x) * c).sum();
        let of_centre: f64 = self.centre.iter().map(|c| c * c).sum();
        let share = if of_centre > 0.0 { with_centre / of_centre } else { 0.0 };
        let mut centre = std::mem::take(&mut coding.centre);
        centre.clear();
        centre.extend(self.centre.iter().map(|c| share * c));
        let said = self.quantise(query, Frame { factor, centre: &centre }, coding);
        coding.centre = centre;
        let scale = if self.metric == Metric::Cosine { 1.0 } else { self.power * factor };
        let (offsets, norm) = (share as f32, said.squared_norm.sqrt());
        Some(Coded { step: said.step, offsets, scale, shift: with_centre, norm })
    }

    fn quantise(&self, row: &[f32], frame: Frame<'_>, coding: &mut Coding) -> Quantised {
        coding.lines.resize(width(row.len()), Line::ZERO);
        let words = bytemuck::cast_slice_mut(&mut coding.lines);
        self.kernels.quantise(Element::Int8, row, frame, words, &mut coding.scratch)
    }
}

/// Lines of a row of `d` bytes.
fn width(d: usize) -> usize {
    d.div_ceil(LINE).max(1)
}

/// Whether the last line of a row of `d` bytes has room for its terms.
fn has_room(d: usize) -> bool {
    width(d) * LINE - d >= TERMS * size_of::<f32>()
}

impl CodedRows {
    /// Of these nodes, made on the current thread pool; with the mean of what rounding moves a row by times its norm.
    fn new(points: &Points<'_>, coder: &Coder, nodes: &[u32]) -> Result<(Self, f64), SearchError> {
        let mut coded = Self::room(nodes.len(), points.base.d())?;
        let rows = coded.lines.as_mut_slice().par_chunks_mut(coded.width).zip(nodes);
        let said = rows.map_init(<(Vec<f32>, Coding)>::default, |(row, coding), (lines, &node)| {
            let coded = coder.code_row(points.row(node, row), points.squared_norms[node as usize], coding);
            for (line, coded) in lines.iter_mut().zip(&coding.lines) {
                *line = Line(coded.0.map(|word| word ^ SIGNS));
            }
            coded
        });
        // In order, so that the sum is the same for any threads.
        let said: Vec<CodedRow> = said.collect();
        let terms = said.iter().map(|coded| [coded.step.to_bits(), coded.offset.to_bits()]);
        if has_room(points.base.d()) {
            for (lines, terms) in coded.lines.as_mut_slice().chunks_mut(coded.width).zip(terms) {
                lines[coded.width - 1].0[TILE - TERMS..].copy_from_slice(&terms);
            }
        } else {
            coded.apart.as_mut_slice().iter_mut().zip(terms).for_each(|(apart, terms)| *apart = terms);
        }
        let lost = said.iter().map(|coded| coded.lost).sum::<f64>();
        Ok((coded, lost / nodes.len().max(1) as f64))
    }

    /// Room for `n` rows of `d` values.
    fn room(n: usize, d: usize) -> Result<Self, SearchError> {
        let width = width(d);
        let mut coded = Self { width, lines: Pages::default(), apart: Pages::default() };
        coded.lines.resize(n.saturating_mul(width))?;
        coded.apart.resize(if has_room(d) { 0 } else { n })?;
        Ok(coded)
    }

    /// Of `n` rows of `d` values from their words. None if the lengths or numbers do not fit.
    fn from_words([words, apart]: Words<'_>, n: usize, d: usize) -> Result<Option<Self>, SearchError> {
        let of_apart = if has_room(d) { 0 } else { n };
        if n.checked_mul(TILE * width(d)) != Some(words.len()) || of_apart * TERMS != apart.len() {
            return Ok(None);
        }
        let mut coded = Self::room(n, d)?;
        bytemuck::cast_slice_mut(coded.lines.as_mut_slice()).copy_from_slice(words);
        bytemuck::cast_slice_mut(coded.apart.as_mut_slice()).copy_from_slice(apart);
        let terms = coded.terms();
        let finite = (0..n as u32).all(|row| terms.of(row).iter().all(|term| term.is_finite()));
        Ok(finite.then_some(coded))
    }

    fn terms(&self) -> Terms<'_> {
        match self.apart.as_slice() {
            [] => Terms { words: bytemuck::cast_slice(self.lines.as_slice()), stride: TILE * self.width },
            apart => Terms { words: apart.as_flattened(), stride: TERMS },
        }
    }

    fn words(&self) -> Words<'_> {
        [bytemuck::cast_slice(self.lines.as_slice()), self.apart.as_slice().as_flattened()]
    }

    fn near<'a>(
        &'a self,
        coder: &'a Coder,
        coded: Coded,
        lines: &'a [Line],
        products: &'a mut Vec<i32>,
    ) -> NearCodes<'a> {
        NearCodes { coder, rows: self.lines.as_slice(), terms: self.terms(), lines, products, coded }
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
        (centre, of_entries, of_nodes): (Vec<f64>, Words<'_>, Option<Words<'_>>),
        squared_norms: &[f64],
        entries_of: usize,
        metric: Metric,
    ) -> Result<Option<Self>, SearchError> {
        let d = centre.len();
        let finite = centre.iter().all(|c| c.is_finite());
        let Some(entries) = CodedRows::from_words(of_entries, entries_of, d)?.filter(|_| finite) else {
            return Ok(None);
        };
        let nodes = match of_nodes {
            None => None,
            Some(words) => match CodedRows::from_words(words, squared_norms.len(), d)? {
                None => return Ok(None),
                some => some,
            },
        };
        let coder = Coder { metric, kernels: Kernels::detect(), power: unit(squared_norms), centre };
        let numbers = (0..entries_of as u32).collect();
        Ok(Some(Self { coder, entries, numbers, nodes }))
    }

    /// The origin, and the words of entries and of nodes: of their bytes, and of terms that lie apart.
    pub(crate) fn parts(&self) -> (&[f64], Words<'_>, Option<Words<'_>>) {
        (&self.coder.centre, self.entries.words(), self.nodes.as_ref().map(CodedRows::words))
    }

    /// Whether there are codes of all nodes.
    pub(crate) fn are_of_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let of_nodes = self.nodes.as_ref().map_or([&[][..]; 2], CodedRows::words);
        let words: usize = self.entries.words().iter().chain(&of_nodes).map(|words| words.len()).sum();
        4 * (words + self.numbers.len()) + 8 * self.coder.centre.len()
    }

    /// Rounds a query to bytes, which stay in `coding`; none if it is so much longer than the rows that it has no code.
    pub(crate) fn code(&self, query: &[f32], squared_norm: f64, coding: &mut Coding) -> Option<Coded> {
        self.coder.code_query(query, squared_norm, coding)
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
    terms: Terms<'a>,
    /// Of the query.
    lines: &'a [Line],
    products: &'a mut Vec<i32>,
    coded: Coded,
}

impl Near for NearCodes<'_> {
    fn prefetch(&self, node: u32) {
        let (begin, width) = (node as usize * self.lines.len(), self.lines.len());
        mnno_simd::prefetch(&self.rows[begin..begin + width]);
        mnno_simd::prefetch(self.terms.words(node));
    }

    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>) {
        self.coder.kernels.dot_bytes(self.lines, self.rows, nodes, self.products);
        let (Coded { step, offsets, .. }, terms) = (self.coded, self.terms);
        scores.clear();
        scores.extend(nodes.iter().zip(&*self.products).map(|(&node, &product)| {
            let [of_row, offset] = terms.of(node);
            product as f32 * (step * of_row) + offsets * offset
        }));
    }

    fn without_rounding(&self, canonical: f64) -> f64 {
        let product = if self.coder.of_products() { canonical } else { -0.5 * canonical };
        product * self.coded.scale - self.coded.shift
    }

    fn margin(&self, seen: Seen) -> f64 {
        // A rounded value is off by a step over the root of 12 in the mean square, and either side is rounded; rows are about as
        // many steps long as the query.
        let [step, _] = self.terms.of(seen.node());
        MARGIN * (2.0f64 / 12.0).sqrt() * f64::from(step) * self.coded.norm
    }
}
