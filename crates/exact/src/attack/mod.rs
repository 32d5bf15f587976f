//! The certificate under attack: bounds of adversarial rows against scores in exact arithmetic.

mod exact;
mod noise;
mod spaces;
#[path = "../../tests/support/mod.rs"]
mod support;

use mnno_simd::{Element, Hit, Kernels};
use num_bigint::BigInt;

use crate::error::Side;
use crate::lists::Query;
use crate::pack::{Block, Packed, Role};
use crate::panel::Panel;
use crate::space::Space;
use crate::sweep::{Asking, Sweep};
use crate::{Filter, Metric, SliceRows};
use exact::{ExactRow, ExactSpace, exact, near};
use support::{Data, all_data, canonical};

/// Rows that ask; the first ones of those that are asked for.
const QUERIES: usize = 6;
/// Rows in all: a block and a part of one.
const ROWS: usize = 37;
/// Rows of a block.
const BLOCK: usize = 32;

/// Data in a space, with what is true of it.
struct Case<'a> {
    data: &'a Data,
    space: &'a Space,
    name: String,
    /// What a query and a row score, then a row and a query, in exact arithmetic.
    scores: Vec<BigInt>,
    canonical: Vec<f64>,
    /// What bounds may lack, per row that asks: its part of what f64 loses of rows and terms.
    lost: Vec<BigInt>,
}

/// The position of a pair in the scores of a case.
fn place(query: usize, row: usize, turned: bool) -> usize {
    (query * ROWS + row) * 2 + usize::from(turned)
}

impl<'a> Case<'a> {
    /// `strict` says that f64 loses nothing.
    fn new(data: &'a Data, space: &'a Space, strict: bool, name: &str) -> Self {
        let exact_space = ExactSpace::new(space);
        let rows: Vec<ExactRow> = (0..ROWS).map(|i| exact_space.row(data.row(i))).collect();
        let (mut scores, mut scored) = (Vec::new(), Vec::new());
        for query in 0..QUERIES {
            for row in 0..ROWS {
                scores.extend(exact_space.scores(&rows[query], &rows[row]));
                scored.push(canonical(space.metric, data.row(query), data.row(row)));
            }
        }
        let d = data.d as f64;
        let of_norms = if space.metric == Metric::Cosine { d / 8.0 + 10.0 } else { 0.0 };
        let roundings = if strict { 0.0 } else { of_norms + 2.0 + (d / 16.0 + 18.0) };
        let lost = rows.iter().map(|row| exact_space.lengths(row)).map(|(a, c)| {
            let size = if space.metric.larger_is_nearer() { (a + c) * c } else { a * a };
            exact(roundings * 0.5 * f64::EPSILON * size)
        });
        let name = format!("{}, d {}, {}, {name}", data.name, data.d, space.metric);
        Self { data, space, name, scores, canonical: scored, lost: lost.collect() }
    }

    /// The bounds of every pair, in both directions, checked; the largest share of a bound's width that was needed.
    fn check(&self, kernels: Kernels, element: Element) -> f64 {
        let what = format!("{}, {}, {element:?}", self.name, kernels.tier());
        let space = Space { kernels, ..self.space.with_element(element) };
        let rows = SliceRows::new(&self.data.values, self.data.d);
        let mut panel = Panel::new(BLOCK, Role::Columns);
        panel.fill(&rows, 0..ROWS, Side::Base, &space).unwrap();
        let mut queries = Panel::new(QUERIES, Role::Rows);
        queries.fill(&rows, 0..QUERIES, Side::Queries, &space).unwrap();
        let queries = queries.packed(0);

        let (hits, turned) = every_hit(queries, &panel, &space);
        let of_rows: Vec<Query> = panel.blocks.iter().flat_map(Block::queries).collect();
        let one = self.check_hits(&hits, &queries.block.queries(), false, &what);
        let other = self.check_hits(&turned, &of_rows, true, &format!("{what}, turned"));
        one.max(other)
    }

    /// As [`Case::check`]. Hits are `[query][row]`, or the other way round if `turned`.
    fn check_hits(&self, hits: &[Vec<Hit>], queries: &[Query], turned: bool, what: &str) -> f64 {
        let mut needed = 0.0f64;
        for (asking, (hits, Query { bound, .. })) in hits.iter().zip(queries).enumerate() {
            let lost = &self.lost[asking];
            let mut known = Vec::new();
            for (asked, hit) in hits.iter().enumerate() {
                let (query, row) = if turned { (asked, asking) } else { (asking, asked) };
                let score = &self.scores[place(query, row, turned)];
                let canonical = self.canonical[query * ROWS + row];
                let (upper, lower) = (f64::from(hit.upper), f64::from(hit.lower));
                let what = || format!("{what}: {:e} in {lower:e} to {upper:e} for {asking} of {asked}", near(score));
                assert!(upper == f64::INFINITY || *score <= exact(upper) + lost, "{}: above", what());
                assert!(lower == f64::NEG_INFINITY || *score >= exact(lower) - lost, "{}: below", what());
                let threshold = bound.threshold(canonical);
                assert!(threshold <= hit.upper, "{}: not up to its own {threshold:e}", what());
                let share = (near(score) - 0.5 * (upper + lower)).abs() / (0.5 * (upper - lower));
                needed = needed.max(if share.is_finite() { share } else { 0.0 });
                known.push((self.space.metric.goodness(canonical), hit));
            }
            for (goodness, by) in &known {
                let threshold = bound.threshold_from_lower(by.lower);
                for (_, hit) in known.iter().filter(|(better, _)| better >= goodness) {
                    assert!(threshold <= hit.upper, "{what}: {hit:?} is left out by {by:?}");
                }
            }
        }
        needed
    }
}

/// The hits of each query in each row, and of each row in each query, when everything is a hit.
fn every_hit(queries: Packed<'_>, panel: &Panel, space: &Space) -> (Vec<Vec<Hit>>, Vec<Vec<Hit>>) {
    let asked = |n: usize, padded: usize| [vec![f32::NEG_INFINITY; n], vec![f32::INFINITY; padded - n]].concat();
    let (queries_n, rows_n) = (queries.block.n, panel.n());
    let ranks = vec![usize::MAX; queries_n];
    let asking = Asking { packed: queries, queries: &[], ranks: &ranks, number: 0 };
    let (mut hits, mut turned) = (vec![Vec::new(); queries_n], vec![Vec::new(); rows_n]);
    for (i, block) in panel.blocks.iter().enumerate() {
        let mut sweep = Sweep::default();
        sweep.thresholds = asked(queries_n, queries.block.padded());
        sweep.column_thresholds = asked(block.n, block.padded());
        sweep.pair(&asking, panel.packed(i), block.first, true, space, |sweep| {
            for hit in sweep.row_hits.iter().filter(|hit| (hit.base as usize) < rows_n) {
                hits[hit.query as usize].push(*hit);
            }
            for hit in sweep.column_hits.iter().filter(|hit| (hit.base as usize) < queries_n) {
                turned[hit.query as usize].push(*hit);
            }
        });
    }
    let complete = hits.iter_mut().map(|hits| (hits, rows_n)).chain(turned.iter_mut().map(|hits| (hits, queries_n)));
    for (hits, n) in complete {
        hits.sort_unstable_by_key(|hit| hit.base);
        assert!(hits.iter().map(|hit| hit.base as usize).eq(0..n), "not every pair once: {hits:?}");
    }
    (hits, turned)
}

/// Checks data in every space, tier and filter; the largest share of a bound's width that each filter needed.
fn attack(data: &Data, turn: &mut usize) -> Vec<(Kernels, Filter, f64)> {
    let mut needed = Vec::new();
    // The two distances are the same to the filter.
    let distance = [Metric::Euclidean, Metric::SquaredEuclidean][*turn % 2];
    for metric in [Metric::Cosine, Metric::InnerProduct, distance] {
        *turn += 1;
        if metric == Metric::Cosine && data.has_zero_row() {
            continue;
        }
        for (space, strict, name) in spaces::spaces(data, metric, *turn) {
            let case = Case::new(data, &space, strict, name);
            for kernels in Kernels::available() {
                for filter in Filter::available(kernels) {
                    needed.push((kernels, filter, case.check(kernels, filter.element())));
                }
            }
        }
    }
    needed
}

fn attack_all(dimensions: &[usize], chosen: impl Fn(&str) -> bool) {
    let mut turn = 0;
    for &d in dimensions {
        for data in all_data(ROWS, d, d as u64).into_iter().filter(|data| chosen(data.name)) {
            attack(&data, &mut turn);
        }
    }
}

#[test]
fn bounds_hold_for_few_values() {
    attack_all(&[1, 2, 3, 17], |_| true);
}

#[test]
fn bounds_hold_for_many_values() {
    attack_all(&[100], |_| true);
}

#[test]
fn bounds_hold_for_a_thousand_values() {
    attack_all(&[1000], |_| true);
}

#[test]
fn bounds_hold_for_ten_thousand_values() {
    attack_all(&[10_000], |name| ["gaussian", "mean 1e6, sd 1"].contains(&name));
}

/// A bound a hundred times as wide as it must be is right, but of no use.
#[test]
fn bounds_are_not_much_wider_than_needed() {
    let mut turn = 0;
    let needed: Vec<_> = [3, 100].iter().flat_map(|&d| attack(&all_data(ROWS, d, 1)[0], &mut turn)).collect();
    for kernels in Kernels::available() {
        for filter in Filter::available(kernels) {
            let of_filter = needed.iter().filter(|n| n.0.tier() == kernels.tier() && n.1 == filter);
            let most = of_filter.map(|n| n.2).fold(0.0, f64::max);
            assert!((0.01..=1.0).contains(&most), "{}, {filter}: {most}", kernels.tier());
        }
    }
}
