//! One block of queries against one panel: propose, certify, re-score.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use mnno_simd::{Kernels, ScanRows};

use crate::bound::{QueryBound, product_error};
use crate::pack::{Panel, unit_rows};
use crate::{Exclude, Metric, Rows, Search, TopK};

/// Candidates scored at a time: enough chains of f64 additions to hide their latency.
const RESCORED_AT_ONCE: usize = 4;

/// Works through tiles on one thread; keeps its buffers between calls.
pub(crate) struct TileSearch<'a> {
    metric: Metric,
    k: usize,
    kernels: Kernels,
    exclude: Exclude<'a>,
    base: &'a dyn Rows,
    queries: &'a dyn Rows,
    tile_rows: usize,
    product_error: f64,
    unit_queries: Vec<f32>,
    products: Vec<f32>,
    hits: Vec<u32>,
    lower: Vec<f64>,
    query_scratch: Vec<f32>,
    row_scratch: [Vec<f32>; RESCORED_AT_ONCE],
}

/// A tile: rows `start..end` of the panel, and what the scan reads of them.
#[derive(Clone, Copy)]
struct Tile<'a> {
    first_row: usize,
    weights: &'a [f64],
    offsets: &'a [f64],
    squared_norms: &'a [f64],
}

impl<'a> TileSearch<'a> {
    pub(crate) fn new(
        search: &Search<'_>,
        base: &'a dyn Rows,
        queries: &'a dyn Rows,
        exclude: Exclude<'a>,
        tile_rows: usize,
    ) -> Self {
        Self {
            metric: search.metric,
            k: search.k,
            kernels: search.kernels,
            exclude,
            base,
            queries,
            tile_rows,
            product_error: product_error(base.d()),
            unit_queries: Vec::new(),
            products: Vec::new(),
            hits: Vec::new(),
            lower: Vec::new(),
            query_scratch: Vec::new(),
            row_scratch: Default::default(),
        }
    }

    /// Offers to each of `lists` (queries `first_query..`, with their squared norms) every row of the panel that may
    /// belong to its best `k + 1`.
    pub(crate) fn search(&mut self, panel: &Panel, first_query: usize, query_norms: &[f64], lists: &mut [TopK]) {
        let d = self.base.d();
        let block = self.queries.block(first_query..first_query + lists.len(), &mut self.query_scratch);
        self.unit_queries.resize(lists.len() * d, 0.0);
        unit_rows(block, query_norms, d, &mut self.unit_queries);

        let panel_rows = panel.squared_norms.len();
        for start in (0..panel_rows).step_by(self.tile_rows) {
            let rows = start..(start + self.tile_rows).min(panel_rows);
            let tile = Tile {
                first_row: panel.first + start,
                weights: &panel.weights[rows.clone()],
                offsets: &panel.offsets[rows.clone()],
                squared_norms: &panel.squared_norms[rows.clone()],
            };
            self.propose(&panel.unit[rows.start * d..rows.end * d], lists.len(), rows.len());
            let norm_max = tile.squared_norms.iter().copied().fold(0.0, f64::max).sqrt();
            for (i, list) in lists.iter_mut().enumerate() {
                let qq = query_norms[i];
                let bound = QueryBound::new(self.metric, d, qq, norm_max);
                self.certify(i, first_query + i, tile, bound, list);
                self.rescore(first_query + i, qq, tile, list);
            }
        }
    }

    /// The block product `[queries, tile rows]` in f32.
    fn propose(&mut self, unit_base: &[f32], queries: usize, rows: usize) {
        let d = self.base.d();
        self.products.resize(queries * rows, 0.0);
        matmul(
            MatMut::from_row_major_slice_mut(&mut self.products, queries, rows),
            Accum::Replace,
            MatRef::from_row_major_slice(&self.unit_queries, queries, d),
            MatRef::from_row_major_slice(unit_base, rows, d).transpose(),
            1.0,
            Par::Seq,
        );
    }

    /// Leaves in `hits` the rows of the tile that may belong to the best `k + 1` of a query.
    fn certify(&mut self, in_block: usize, query: usize, tile: Tile<'_>, bound: QueryBound, list: &TopK) {
        let rows = tile.weights.len();
        let products = &self.products[in_block * rows..(in_block + 1) * rows];
        let threshold =
            list.threshold().map_or(f64::NEG_INFINITY, |score| bound.threshold(self.metric.goodness(score)));
        let scan_rows = ScanRows { products, weights: tile.weights, offsets: tile.offsets };
        self.hits.clear();
        self.kernels.scan(scan_rows, bound.scale, self.product_error, threshold, &mut self.hits);
        let (exclude, first_row) = (&self.exclude, tile.first_row as u32);
        if !matches!(exclude, Exclude::None) {
            self.hits.retain(|&j| !exclude.excludes(query, first_row + j));
        }
        if self.hits.len() <= self.k + 1 || self.product_error.is_infinite() {
            return;
        }
        // The k + 1 best lower estimates are a threshold of their own.
        let estimate = |j: u32, error: f64| {
            let j = j as usize;
            bound.scale * tile.weights[j] * (f64::from(products[j]) + error) + tile.offsets[j]
        };
        self.lower.clear();
        self.lower.extend(self.hits.iter().map(|&j| estimate(j, -self.product_error)));
        let (_, &mut lower, _) = self.lower.select_nth_unstable_by(self.k, |a, b| b.total_cmp(a));
        let threshold = bound.threshold_from_lower(lower);
        let error = self.product_error;
        self.hits.retain(|&j| {
            let upper = estimate(j, error);
            upper >= threshold || upper.is_nan() || threshold.is_nan()
        });
    }

    /// Scores the survivors canonically and offers them to the list.
    ///
    /// Checked rows give no NaN. A row that gives one has changed since it was checked, as a mapped file can: whoever
    /// owns the rows has to notice that, and the search only must not fail of it.
    fn rescore(&mut self, query: usize, qq: f64, tile: Tile<'_>, list: &mut TopK) {
        if self.hits.is_empty() {
            return;
        }
        let q = self.queries.row(query, &mut self.query_scratch);
        let (groups, rest) = self.hits.as_chunks::<RESCORED_AT_ONCE>();
        for group in groups {
            let mut scratch = self.row_scratch.iter_mut();
            let rows = group.map(|j| self.base.row(tile.first_row + j as usize, scratch.next().expect("one per row")));
            let norms = group.map(|j| tile.squared_norms[j as usize]);
            let scores = self.metric.scores(self.kernels, q, rows, qq, norms);
            for (j, score) in group.iter().zip(scores).filter(|(_, score)| !score.is_nan()) {
                list.offer(tile.first_row as u32 + j, score);
            }
        }
        for &j in rest {
            let row = self.base.row(tile.first_row + j as usize, &mut self.row_scratch[0]);
            let [score] = self.metric.scores(self.kernels, q, [row], qq, [tile.squared_norms[j as usize]]);
            if !score.is_nan() {
                list.offer(tile.first_row as u32 + j, score);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SliceRows;

    /// On well-spread data little more than the answer is scored again; else the filter would be right but useless.
    #[test]
    fn few_candidates_survive_on_random_data() {
        let (n, d, k) = (2000, 32, 10);
        let mut state = 1u64;
        let values: Vec<f32> = (0..n * d)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
            })
            .collect();
        let rows = SliceRows::new(&values, d);
        for metric in Metric::ALL {
            let search = Search::new(metric, k);
            let mut panel = Panel::new();
            panel.fill(&rows, 0..n, metric, search.kernels).unwrap();
            let mut tiles = TileSearch::new(&search, &rows, &rows, Exclude::SameIndex, n);
            let mut survivors = 0;
            for query in 0..100 {
                let norm = panel.squared_norms[query];
                let mut list = [TopK::new(k, metric, search.ties)];
                tiles.search(&panel, query, &[norm], &mut list);
                survivors += tiles.hits.len();
            }
            let per_query = survivors as f64 / 100.0;
            assert!((11.0..13.0).contains(&per_query), "{metric}: {per_query} survivors for {k} + 1 places");
        }
    }
}
