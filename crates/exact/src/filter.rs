//! The precision of the filter, and the choice of it for a data set.

use std::fmt;
use std::str::FromStr;

use mnno_simd::{Element, GROUP, Kernels, Tier};
use rayon::prelude::*;

use crate::error::Side;
use crate::pack::{Block, Role};
use crate::panel::Panel;
use crate::space::{self, Space};
use crate::sweep::{Asking, Sweep};
use crate::{Rows, SearchError, Subset};

/// The precision in which a search proposes candidates. It changes speed, never an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// bfloat16, in CPUs with AMX.
    Bf16,
    /// Bytes, one scale per row, in CPUs with AMX or VNNI.
    Int8,
    /// f32, everywhere.
    Float32,
}

impl Filter {
    /// Every filter.
    pub const ALL: [Self; 3] = [Self::Bf16, Self::Int8, Self::Float32];

    /// Those that these kernels have.
    pub fn available(kernels: Kernels) -> Vec<Self> {
        Self::ALL.into_iter().filter(|f| kernels.elements().contains(&f.element())).collect()
    }

    /// The name that [`FromStr`] reads back.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
            Self::Float32 => "f32",
        }
    }

    pub(crate) fn element(self) -> Element {
        match self {
            Self::Bf16 => Element::Bf16,
            Self::Int8 => Element::Int8,
            Self::Float32 => Element::Float32,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Filter {
    type Err = UnknownFilter;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| UnknownFilter(name.to_owned()))
    }
}

/// A name that is no filter's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown filter '{0}': expected bf16, int8 or f32")]
pub struct UnknownFilter(pub String);

/// Multiplications below which a choice costs more than it can bring.
const SMALL: u64 = 1 << 24;

/// Rows that one thread packs at a time.
const BLOCK: usize = 128;
/// Rows that a sample has at least.
const LEAST_SAMPLE: usize = 128;
/// Memory that packed rows of a sample may take.
const SAMPLE_BYTES: u64 = 64 << 20;

/// What a filter costs, in nanoseconds of one thread on a CPU of the 2020s. Only ratios matter.
struct Cost {
    /// Multiplying and adding one value.
    value: f64,
    /// Testing one product.
    product: f64,
}

impl Cost {
    fn new(tier: Tier, filter: Filter) -> Self {
        let value = match (tier, filter) {
            (Tier::Amx, Filter::Int8) => 0.0007,
            (Tier::Amx, Filter::Bf16) => 0.0014,
            (Tier::Avx512Vnni, Filter::Int8) => 0.0033,
            (Tier::AvxVnni, Filter::Int8) => 0.0052,
            (Tier::Amx | Tier::Avx512Vnni | Tier::Avx512, _) => 0.012,
            _ => 0.02,
        };
        Self { value, product: if filter == Filter::Int8 { 0.15 } else { 0.12 } }
    }

    /// Of one query against `n` base rows.
    fn of_query(&self, filter: Filter, n: usize, d: usize) -> f64 {
        let values = space::depth(filter.element(), d) * 16 * filter.element().per_word();
        n as f64 * (values as f64 * self.value + self.product)
    }
}

/// Of a candidate that is left, and of the dozen that wait for a time in its stead: handing them out, raising thresholds,
/// fetching its row and scoring it in f64.
fn candidate_cost(d: usize) -> f64 {
    1000.0 + 0.5 * d as f64
}

/// The filter for a search, and why. `space` is of any element.
pub(crate) fn choose(
    space: &Space,
    base: &dyn Rows,
    queries: &dyn Rows,
    same_rows: bool,
    k: usize,
    memory: u64,
) -> (Filter, String) {
    let (n, d, tier) = (base.n(), base.d(), space.kernels.tier());
    let mut filters = Filter::available(space.kernels);
    let only = |filter, why: &str| (filter, format!("filter {filter}: {why}"));
    if filters.len() == 1 {
        return only(Filter::Float32, &format!("the only one of the SIMD tier {tier}"));
    }
    if (n as u64).saturating_mul(queries.n() as u64).saturating_mul(d as u64) < SMALL {
        return only(Filter::Float32, "the data are small");
    }
    // The cheapest products first: often nothing else needs to be looked at.
    let pairs = if same_rows { n.div_ceil(2) } else { n };
    let filter_cost = |filter| Cost::new(tier, filter).of_query(filter, pairs, d);
    filters.sort_by(|&a, &b| filter_cost(a).total_cmp(&filter_cost(b)));
    let sample = Sample::new(base, queries, same_rows, memory);
    if sample.base.len() < LEAST_SAMPLE.min(n) {
        return only(Filter::Float32, "there is little memory for a sample");
    }
    let mut best = (f64::INFINITY, Filter::Float32);
    let mut told = Vec::new();
    for filter in filters {
        let least = filter_cost(filter);
        if least >= best.0 {
            continue;
        }
        // A row that cannot be searched is told of by the search, under its own number.
        let candidates = sample.candidates(&space.with_element(filter.element()), base, queries, k);
        let Ok(candidates) = candidates else { return only(Filter::Float32, "a sampled row cannot be searched") };
        told.push(format!("{filter} leaves about {candidates:.0} candidates per query"));
        let cost = least + candidates * candidate_cost(d);
        if cost < best.0 {
            best = (cost, filter);
        }
    }
    let (queries, rows) = (sample.queries.len(), sample.base.len());
    (best.1, format!("filter {}: {} (from {queries} queries and {rows} base rows)", best.1, told.join(", ")))
}

/// Rows to try filters on.
struct Sample {
    base: Vec<u32>,
    queries: Vec<u32>,
    /// Whether base and queries are the same rows.
    same_rows: bool,
    /// Rows of the whole base.
    all: usize,
}

impl Sample {
    fn new(base: &dyn Rows, queries: &dyn Rows, same_rows: bool, memory: u64) -> Self {
        let row = Block::memory(GROUP, space::depth(Element::Float32, base.d())) / GROUP as u64;
        let most = (memory / 16).min(SAMPLE_BYTES) / row.max(1);
        let rows = (base.n() / 16).clamp(512, 2048).min(most as usize);
        Self { base: spread(base.n(), rows), queries: spread(queries.n(), rows / 16), same_rows, all: base.n() }
    }

    /// How many base rows per query, of all, a filter would leave to be scored.
    ///
    /// In the sample fewer rows stand above a score than in the base. The list's last place is taken to lie where as large a
    /// share of the sample as of the base stands above it, but at least one row does.
    fn candidates(&self, space: &Space, base: &dyn Rows, queries: &dyn Rows, k: usize) -> Result<f64, SearchError> {
        let base = Subset::new(base, &self.base);
        let mut panel = Panel::new(BLOCK, Role::Columns);
        panel.fill(&base, 0..self.base.len(), Side::Base, space)?;
        let places = k.saturating_add(1);
        let place = places.saturating_mul(self.base.len()).saturating_add(self.all / 2) / self.all.max(1);
        let place = place.max(1);
        let kept = self.queries.par_chunks(GROUP).map(|asking| self.kept(asking, queries, &panel, space, place));
        let kept = kept.sum::<Result<usize, SearchError>>()? as f64 / self.queries.len().max(1) as f64;
        Ok((kept / place as f64 * places as f64).min(self.all as f64))
    }

    /// How many rows of the sample, for all of some queries together, may reach the score of the row at `place`.
    fn kept(
        &self,
        asking: &[u32],
        queries: &dyn Rows,
        panel: &Panel,
        space: &Space,
        place: usize,
    ) -> Result<usize, SearchError> {
        let rows = Subset::new(queries, asking);
        let mut packed = Panel::new(GROUP, Role::Rows);
        packed.fill(&rows, 0..asking.len(), Side::Queries, space)?;
        let packed = packed.packed(0);
        let ranks = vec![usize::MAX; asking.len()];
        let whole = Asking { packed, queries: &[], ranks: &ranks, number: 0 };
        let mut sweep = Sweep::default();
        sweep.thresholds = vec![f32::NEG_INFINITY; packed.block.padded()];
        let mut bounds = vec![Vec::with_capacity(self.base.len()); asking.len()];
        for (i, block) in panel.blocks.iter().enumerate() {
            sweep.pair(&whole, panel.packed(i), block.first, false, space, |sweep| {
                for hit in &sweep.row_hits {
                    let (query, row) = (hit.query as usize, hit.base as usize);
                    // Not those that only pad, nor a row with itself.
                    let real = query < asking.len() && row < self.base.len();
                    if real && !(self.same_rows && asking[query] == self.base[row]) {
                        bounds[query].push((hit.upper, hit.lower));
                    }
                }
            });
        }
        Ok(bounds.iter_mut().map(|bounds| kept(bounds, place)).sum())
    }
}

/// How many rows with these bounds may reach the score of the row at `place`, from 1.
fn kept(bounds: &mut [(f32, f32)], place: usize) -> usize {
    let score = |&(upper, lower): &(f32, f32)| if lower.is_finite() { 0.5 * (upper + lower) } else { lower };
    let threshold = if place > bounds.len() {
        f32::NEG_INFINITY
    } else {
        let (_, at_place, _) = bounds.select_nth_unstable_by(place - 1, |a, b| score(b).total_cmp(&score(a)));
        score(at_place)
    };
    bounds.iter().filter(|(upper, _)| *upper >= threshold).count()
}

/// `count` of `n` numbers, or all, as evenly as can be.
pub(crate) fn spread(n: usize, count: usize) -> Vec<u32> {
    let count = count.min(n);
    (0..count).map(|i| (i as u64 * n as u64 / count as u64) as u32).collect()
}
