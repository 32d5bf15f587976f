//! What an index must find, whatever the data look like.

use mnno_exact::{Exclude, Metric, Neighbours, Observer, Search, SearchError, SliceRows, Threads, Ties};
use mnno_hnsw::{BuildOptions, Index, Method, SearchOptions};

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    /// Normal enough.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }

    fn matrix(&mut self, n: usize, d: usize) -> Vec<f32> {
        (0..n * d).map(|_| self.normal()).collect()
    }
}

/// `per` rows around each of `clusters` centres, which lie `spread` times as far apart as rows from theirs.
fn clustered(random: &mut Random, clusters: usize, per: usize, d: usize, spread: f32) -> Vec<f32> {
    let mut rows = Vec::new();
    for _ in 0..clusters {
        let centre: Vec<f32> = (0..d).map(|_| spread * random.normal()).collect();
        for _ in 0..per {
            rows.extend(centre.iter().map(|c| c + random.normal()));
        }
    }
    rows
}

/// Ways to build a graph.
const METHODS: [Method; 3] = [Method::KnnGraph, Method::Hnsw { parallel: false }, Method::Hnsw { parallel: true }];

fn build(rows: &[f32], d: usize, metric: Metric) -> Index {
    build_by(Method::KnnGraph, rows, d, metric)
}

fn build_by(method: Method, rows: &[f32], d: usize, metric: Metric) -> Index {
    Index::build(&SliceRows::new(rows, d), metric, BuildOptions::new(method), Threads::All, &()).unwrap()
}

/// The share of the exact neighbours that were found; equal scores count as found.
fn recall(found: &Neighbours, exact: &Neighbours, rows: impl Iterator<Item = usize>) -> f64 {
    let (mut hits, mut places) = (0, 0);
    for i in rows {
        let last = exact.metric().goodness(*exact.list_scores(i).last().unwrap());
        hits += found.list_scores(i).iter().filter(|&&score| exact.metric().goodness(score) >= last).count();
        places += exact.k();
    }
    f64::from(hits as u32) / f64::from(places as u32)
}

#[test]
fn most_neighbours_are_found_under_every_metric() {
    let (n, d, k) = (2000, 24, 10);
    let mut random = Random(1);
    let rows = random.matrix(n, d);
    let queries = random.matrix(200, d);
    let (base, queries) = (SliceRows::new(&rows, d), SliceRows::new(&queries, d));
    for (method, metric) in METHODS.into_iter().flat_map(|method| Metric::ALL.map(|metric| (method, metric))) {
        let index = build_by(method, &rows, d, metric);
        for (asking, exclude) in [(&base, Exclude::SameIndex), (&queries, Exclude::None)] {
            let exact = Search::new(metric, k).exclude(exclude).queries(&base, asking).unwrap();
            let mut last = 0.0;
            for (ef, least) in [(20, 0.7), (100, 0.95), (400, 0.99)] {
                for codes in [false, true] {
                    let options = SearchOptions { ef, exclude, codes, ..SearchOptions::new(k) };
                    let found = index.search(&base, asking, &options).unwrap();
                    assert_eq!(found.exact, 0);
                    last = recall(&found.lists, &exact, 0..exact.n());
                    assert!(last >= least, "{method:?}, {metric}, ef {ef}, codes {codes}: recall {last}");
                }
            }
            assert!(last <= 1.0);
        }
    }
}

#[test]
fn scores_and_order_are_the_exact_searchs() {
    let (n, d, k) = (1000, 7, 10);
    let rows = Random(2).matrix(n, d);
    let base = SliceRows::new(&rows, d);
    for metric in Metric::ALL {
        let exact = Search::new(metric, k).self_join(&base).unwrap();
        // A beam of all nodes misses nothing.
        let options = SearchOptions { ef: n, ..SearchOptions::new(k) };
        let found = build(&rows, d, metric).self_join(&base, &options).unwrap();
        assert_eq!(found.lists, exact, "{metric}");
    }
}

#[test]
fn an_index_is_the_same_for_any_threads() {
    let rows = Random(3).matrix(2000, 12);
    let base = SliceRows::new(&rows, 12);
    for method in [Method::KnnGraph, Method::Hnsw { parallel: false }] {
        let build = |threads| {
            let threads = Threads::Count(std::num::NonZeroUsize::new(threads).unwrap());
            Index::build(&base, Metric::Cosine, BuildOptions::new(method), threads, &()).unwrap()
        };
        let (one, three) = (build(1), build(3));
        assert_eq!(one.graph(), three.graph());
        let options = SearchOptions::new(5);
        assert_eq!(one.self_join(&base, &options).unwrap(), three.self_join(&base, &options).unwrap());
    }
}

/// Clusters so far apart that no list leads from one to another.
#[test]
fn clusters_far_apart_are_connected() {
    for clusters in [50, 400] {
        let (d, per, k) = (16, 4000 / clusters, 10);
        let rows = clustered(&mut Random(4), clusters, per, d, 100.0);
        let base = SliceRows::new(&rows, d);
        let k = k.min(per - 1);
        let exact = Search::new(Metric::Euclidean, k).self_join(&base).unwrap();
        let options = SearchOptions { ef: 200, ..SearchOptions::new(k) };
        for method in METHODS {
            let found = build_by(method, &rows, d, Metric::Euclidean).self_join(&base, &options).unwrap();
            let recall = recall(&found.lists, &exact, 0..exact.n());
            assert!(recall >= 0.99, "{method:?}, {clusters} clusters: {recall}");
        }
    }
}

#[test]
fn copies_of_a_row_do_not_hide_the_others() {
    let (n, d, k) = (5000, 16, 10);
    let mut random = Random(5);
    let mut rows = random.matrix(n, d);
    let alone = |rows: &[f32]| {
        let base = SliceRows::new(rows, d);
        let exact = Search::new(Metric::Cosine, k).self_join(&base).unwrap();
        let found = build(rows, d, Metric::Cosine).self_join(&base, &SearchOptions::new(k)).unwrap();
        recall(&found.lists, &exact, 0..n)
    };
    let before = alone(&rows);
    let one = rows[..d].to_vec();
    for _ in 0..1000 {
        rows.extend_from_slice(&one);
    }
    let after = alone(&rows);
    assert!(after >= before - 0.02 && before > 0.9, "{before} before, {after} after");
}

#[test]
fn copies_are_expanded_in_the_order_of_ties() {
    let d = 3;
    let mut random = Random(6);
    let kinds = random.matrix(40, d);
    let rows: Vec<f32> = (0..200).flat_map(|i| kinds[i % 40 * d..][..d].to_vec()).collect();
    let base = SliceRows::new(&rows, d);
    for (method, ties) in METHODS
        .into_iter()
        .flat_map(|method| [Ties::LowerIndex, Ties::Random { seed: 1, space: 0 }].map(|ties| (method, ties)))
    {
        let index = build_by(method, &rows, d, Metric::Euclidean);
        assert_eq!(index.graph().n(), 40);
        let exact = Search::new(Metric::Euclidean, 7).ties(ties).self_join(&base).unwrap();
        let found = index.self_join(&base, &SearchOptions { ties, ef: 40, ..SearchOptions::new(7) }).unwrap();
        assert_eq!(found.lists, exact);
    }
}

/// With so many left out no walk meets k candidates, so that the queries are searched exactly.
#[test]
fn lists_that_walks_leave_short_are_finished_exactly() {
    let (n, d) = (600, 8);
    let rows = Random(7).matrix(n, d);
    let base = SliceRows::new(&rows, d);
    let index = build(&rows, d, Metric::SquaredEuclidean);
    let groups: Vec<Vec<u32>> = (0..n as u32).map(|i| vec![u32::from(i % 50 == 0)]).collect();
    let exclude = Exclude::Groups { queries: &groups, base: &groups };
    let exact = Search::new(Metric::SquaredEuclidean, 10).exclude(exclude).queries(&base, &base).unwrap();
    let options = SearchOptions { exclude, ef: 12, ..SearchOptions::new(10) };
    let found = index.self_join(&base, &options).unwrap();
    assert!(found.exact > n / 2, "{}", found.exact);
    let finished = recall(&found.lists, &exact, 0..n);
    assert!(finished > 0.9, "{finished}");
    assert_eq!(found.lists.indices().iter().filter(|&&i| i == mnno_exact::NO_NEIGHBOUR).count(), 0);
    // More neighbours than there are rows.
    let all = index.self_join(&base, &SearchOptions::new(n + 5)).unwrap();
    assert_eq!(all.lists, Search::new(Metric::SquaredEuclidean, n + 5).self_join(&base).unwrap());
    assert_eq!(all.exact, 0, "walks that see all rows miss none");
}

#[test]
fn small_and_odd_bases_work() {
    for (n, d) in [(0, 3), (1, 3), (2, 1), (3, 4), (5, 2), (33, 65)] {
        let rows = Random(8).matrix(n, d);
        let base = SliceRows::new(&rows, d);
        for (method, metric) in METHODS.into_iter().flat_map(|method| Metric::ALL.map(|metric| (method, metric))) {
            let index = build_by(method, &rows, d, metric);
            let exact = Search::new(metric, 3).self_join(&base).unwrap();
            let found = index.self_join(&base, &SearchOptions::new(3)).unwrap();
            assert_eq!(found.lists, exact, "{method:?}, {metric}, {n} x {d}");
        }
    }
}

#[test]
fn numbers_at_the_end_of_their_range_are_no_trouble() {
    let rows = Random(13).matrix(300, 4);
    let base = SliceRows::new(&rows, 4);
    let exact = Search::new(Metric::Euclidean, 3).self_join(&base).unwrap();
    for method in METHODS {
        for (m, ef_construction) in [(1, 1), (2, 1), (2, 0), (1000, 1), (300, 500)] {
            let options = BuildOptions { m, ef_construction, ..BuildOptions::new(method) };
            let index = Index::build(&base, Metric::Euclidean, options, Threads::All, &()).unwrap();
            let found = index.self_join(&base, &SearchOptions { ef: 300, ..SearchOptions::new(3) }).unwrap();
            assert_eq!(found.lists, exact, "{method:?}, m {m}, ef_construction {ef_construction}");
        }
    }
}

/// Cancels as soon as it is told of progress.
#[derive(Default)]
struct Impatient(std::sync::atomic::AtomicU64);

impl Observer for Impatient {
    fn progress(&self, done: u64, _: u64) {
        self.0.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed) > 0
    }
}

#[test]
fn insertion_can_be_interrupted() {
    let n = 2000;
    let rows = Random(14).matrix(n, 4);
    for parallel in [false, true] {
        let (options, observer) = (BuildOptions::new(Method::Hnsw { parallel }), Impatient::default());
        let built = Index::build(&SliceRows::new(&rows, 4), Metric::Cosine, options, Threads::All, &observer);
        assert!(matches!(built, Err(SearchError::Interrupted)), "{built:?}");
        assert!(observer.0.into_inner() < n as u64);
    }
}

#[test]
fn bad_rows_and_shapes_are_refused() {
    let rows = [1.0, 2.0, f32::NAN, 0.0, 5.0, 6.0];
    let base = SliceRows::new(&rows, 2);
    for method in METHODS {
        let built = Index::build(&base, Metric::Euclidean, BuildOptions::new(method), Threads::All, &());
        assert!(matches!(built, Err(SearchError::NonFinite { row: 1, column: 0, .. })), "{built:?}");
    }

    let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let base = SliceRows::new(&rows, 2);
    let index = build(&rows, 2, Metric::Cosine);
    let wide = index.search(&base, &SliceRows::new(&rows, 3), &SearchOptions::new(1));
    assert!(matches!(wide, Err(SearchError::Dimensions { queries: 3, base: 2 })), "{wide:?}");
    for bad in [[f32::INFINITY, 0.0], [0.0, 0.0]] {
        let found = index.search(&base, &SliceRows::new(&bad, 2), &SearchOptions::new(1));
        assert!(matches!(found, Err(SearchError::NonFinite { .. } | SearchError::ZeroVector { .. })), "{found:?}");
    }
}

/// Scores beyond f32, which walks must still tell apart, and rows whose last value under the inner product would be.
#[test]
fn very_long_and_very_short_rows_are_found() {
    let (n, d, k) = (500, 8, 10);
    for scale in [1e20, 3e37, 1e-25] {
        let rows: Vec<f32> = Random(9).matrix(n, d).iter().map(|x| x * scale).collect();
        let base = SliceRows::new(&rows, d);
        for metric in Metric::ALL {
            let exact = Search::new(metric, k).self_join(&base).unwrap();
            let options = SearchOptions { ef: 100, ..SearchOptions::new(k) };
            for method in METHODS {
                let found = build_by(method, &rows, d, metric).self_join(&base, &options).unwrap();
                let recall = recall(&found.lists, &exact, 0..n);
                assert!(recall > 0.98, "{method:?}, {metric}, {scale:e}: {recall}");
            }
        }
    }
}

#[test]
fn errors_name_rows_of_the_base() {
    // Rows 0 and 1 are equal, so that row 2 is the second distinct one.
    let rows = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    for method in METHODS {
        let options = BuildOptions::new(method);
        let built = Index::build(&SliceRows::new(&rows, 2), Metric::Cosine, options, Threads::All, &());
        assert!(matches!(built, Err(SearchError::ZeroVector { row: 2, .. })), "{built:?}");
    }
}

/// Rows of very different length, where the largest products are with a few of them.
#[test]
fn largest_products_are_found_among_rows_of_any_length() {
    let (n, d, k) = (2000, 50, 10);
    for sigma in [0.0, 0.3, 1.0, 3.0] {
        let mut random = Random(10);
        let mut rows = random.matrix(n, d);
        for row in rows.chunks_mut(d) {
            let length = (sigma * random.normal()).exp();
            for x in row {
                *x *= length;
            }
        }
        let base = SliceRows::new(&rows, d);
        let exact = Search::new(Metric::InnerProduct, k).self_join(&base).unwrap();
        for method in METHODS {
            let index = build_by(method, &rows, d, Metric::InnerProduct);
            let found = index.self_join(&base, &SearchOptions::new(k)).unwrap();
            let recall = recall(&found.lists, &exact, 0..n);
            assert!(recall > 0.95, "{method:?}, sigma {sigma}: {recall}");
        }
    }
}

/// A cluster so dense that bytes tell none of its rows apart, in data that bytes would do for otherwise.
#[test]
fn rows_of_a_dense_cluster_are_told_apart() {
    let (n, d, k) = (2000, 40, 10);
    for share in [20, 3] {
        let mut random = Random(11);
        let mut rows = random.matrix(n, d);
        let (one, others) = rows.split_at_mut(d);
        for row in others.chunks_mut(d).take(n / share) {
            row.iter_mut().zip(&*one).for_each(|(x, centre)| *x = centre + 1e-4 * *x);
        }
        let base = SliceRows::new(&rows, d);
        for metric in Metric::ALL {
            let exact = Search::new(metric, k).self_join(&base).unwrap();
            let found = build(&rows, d, metric).self_join(&base, &SearchOptions::new(k)).unwrap();
            let recall = recall(&found.lists, &exact, 0..n / share);
            assert!(recall > 0.95, "{metric}, one in {share}: {recall}");
        }
    }
}

#[test]
fn equal_scores_in_view_are_ordered_by_row() {
    let d = 4;
    let mut random = Random(12);
    let rows: Vec<f32> = (0..300 * d).map(|_| f32::from(random.normal() > 0.0)).chain([1.0; 4]).collect();
    let base = SliceRows::new(&rows, d);
    let query = SliceRows::new(&[0.0; 4], d);
    let index = build(&rows, d, Metric::InnerProduct);
    for asking in [&base, &query] {
        let exact = Search::new(Metric::InnerProduct, 5).queries(&base, asking).unwrap();
        let found = index.search(&base, asking, &SearchOptions { ef: 400, ..SearchOptions::new(5) }).unwrap();
        assert_eq!(found.lists, exact);
    }
}

/// The order of products does not depend on how long a query is.
#[test]
fn short_and_long_queries_find_the_same_products() {
    const D: usize = 50;
    let mut random = Random(31);
    for mean in [0.0, 3.0] {
        let rows: Vec<f32> = (0..3000 * D).map(|_| random.normal() + mean).collect();
        let queries: Vec<f32> = (0..100 * D).map(|_| random.normal() + mean).collect();
        let base = SliceRows::new(&rows, D);
        let index = build(&rows, D, Metric::InnerProduct);
        let found = |length: f32| {
            let queries: Vec<f32> = queries.iter().map(|x| x * length).collect();
            let queries = SliceRows::new(&queries, D);
            let options = SearchOptions { ef: 200, ..SearchOptions::new(10) };
            let found = index.search(&base, &queries, &options).unwrap().lists;
            let exact = Search::new(Metric::InnerProduct, 10).queries(&base, &queries).unwrap();
            recall(&found, &exact, 0..100)
        };
        for length in [1e-30, 1e-5, 1.0, 1e20] {
            assert!(found(length) > 0.97, "mean {mean}, length {length}: {}", found(length));
        }
    }
}

/// Clusters that no list leads out of: each has a node where walks can begin.
#[test]
fn no_cluster_is_lost() {
    const D: usize = 50;
    let mut random = Random(32);
    let rows = clustered(&mut random, 100, 50, D, 100_000.0);
    let base = SliceRows::new(&rows, D);
    let exact = Search::new(Metric::SquaredEuclidean, 10).self_join(&base).unwrap();
    for seed in 0..3 {
        let options = BuildOptions { seed, ..BuildOptions::default() };
        let index = Index::build(&base, Metric::SquaredEuclidean, options, Threads::default(), &()).unwrap();
        let found = index.self_join(&base, &SearchOptions::new(10)).unwrap();
        let recall = recall(&found.lists, &exact, 0..rows.len() / D);
        assert!(recall > 0.99, "seed {seed}: {recall}");
    }
}
