//! Indexes from lists of nearby clusters, held to exact lists.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::{Metric, Neighbours, Observer, Rows, Search, SearchError, SliceRows, Threads};
use mnno_hnsw::{BuildOptions, Index, Lists, Method, SearchOptions};

/// Numbers that look normal (the sum of twelve of `SplitMix64`).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    }

    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }

    fn matrix(&mut self, n: usize, d: usize) -> Vec<f32> {
        (0..n * d).map(|_| self.normal()).collect()
    }
}

const NEARBY: BuildOptions = BuildOptions {
    method: Method::KnnGraph,
    m: 16,
    ef_construction: 64,
    lists: Lists::Nearby,
    seed: 0,
    memory: u64::MAX,
};

fn build(rows: &dyn Rows, metric: Metric, lists: Lists) -> Index {
    Index::build(rows, metric, BuildOptions { lists, ..NEARBY }, Threads::All, &()).unwrap()
}

/// The share of the exact neighbours that are found.
fn recall(found: &Neighbours, exact: &Neighbours) -> f64 {
    let lists = (0..exact.n()).map(|i| (found.list(i), exact.list(i)));
    let hits: usize = lists.map(|(found, exact)| exact.iter().filter(|other| found.contains(other)).count()).sum();
    hits as f64 / exact.indices().len() as f64
}

/// Recall of 10 neighbours of further rows with the indexes by exact and by nearby lists.
fn recalls(rows: &[f32], queries: &[f32], d: usize, metric: Metric) -> [f64; 2] {
    let (base, queries) = (SliceRows::new(rows, d), SliceRows::new(queries, d));
    let exact = Search::new(metric, 10).queries(&base, &queries).unwrap();
    [Lists::Exact, Lists::Nearby].map(|lists| {
        let index = build(&base, metric, lists);
        assert_eq!(index.nearby().is_some(), lists == Lists::Nearby);
        recall(&index.search(&base, &queries, &SearchOptions::new(10)).unwrap().lists, &exact)
    })
}

#[test]
fn little_is_lost_under_every_metric() {
    let (n, d) = (12_000, 12);
    let mut random = Random(1);
    let (rows, queries) = (random.matrix(n, d), random.matrix(300, d));
    for metric in Metric::ALL {
        let [exact, nearby] = recalls(&rows, &queries, d, metric);
        assert!(nearby >= exact - 0.02 && nearby > 0.9, "{metric}: {nearby}, by exact lists {exact}");
    }
}

/// Rows of very different length: the shortest pivot is the nearest of nearly all rows, whose cluster is halved.
#[test]
fn clusters_that_are_too_large_are_halved() {
    let (n, d) = (40_000, 12);
    let mut random = Random(2);
    let mut rows = random.matrix(n, d);
    for row in rows.chunks_mut(d) {
        let length = (2.0 * random.normal()).exp();
        for x in row {
            *x *= length;
        }
    }
    let queries: Vec<f32> = rows.chunks(d).step_by(100).flatten().map(|x| x * 1.01).collect();
    let [exact, nearby] = recalls(&rows, &queries, d, Metric::Euclidean);
    assert!(nearby >= exact - 0.05 && nearby > 0.85, "{nearby}, by exact lists {exact}");
}

#[test]
fn clusters_far_apart_are_connected() {
    let d = 8;
    for clusters in [50, 400] {
        let mut random = Random(3);
        let centres: Vec<f32> = (0..clusters * d).map(|_| 100.0 * random.normal()).collect();
        let rows: Vec<f32> = (0..10_000)
            .flat_map(|i| centres[i % clusters * d..][..d].to_vec())
            .map(|centre| centre + random.normal())
            .collect();
        let base = SliceRows::new(&rows, d);
        let exact = Search::new(Metric::Euclidean, 10).self_join(&base).unwrap();
        let options = SearchOptions { ef: 200, ..SearchOptions::new(10) };
        let found = build(&base, Metric::Euclidean, Lists::Nearby).self_join(&base, &options).unwrap();
        let recall = recall(&found.lists, &exact);
        assert!(recall >= 0.99, "{clusters} clusters: {recall}");
    }
}

#[test]
fn an_index_is_the_same_bytes_for_any_threads() {
    let rows = Random(4).matrix(8_000, 10);
    let base = SliceRows::new(&rows, 10);
    let bytes = |threads, seed| {
        let threads = Threads::Count(NonZeroUsize::new(threads).unwrap());
        let index = Index::build(&base, Metric::Cosine, BuildOptions { seed, ..NEARBY }, threads, &()).unwrap();
        let mut bytes = Vec::new();
        index.write(0, &mut bytes).unwrap();
        bytes
    };
    let one = bytes(1, 0);
    assert!(one == bytes(2, 0) && one == bytes(3, 0));
    assert!(one != bytes(1, 1), "the seed chooses pivots");
}

#[test]
fn few_rows_have_exact_lists() {
    for n in [0, 1, 2, 50] {
        let rows = Random(5).matrix(n, 3);
        let base = SliceRows::new(&rows, 3);
        for metric in Metric::ALL {
            let [exact, nearby] = [Lists::Exact, Lists::Nearby].map(|lists| build(&base, metric, lists));
            assert_eq!(exact.graph(), nearby.graph(), "{metric}, {n} rows");
        }
    }
}

#[test]
fn exact_lists_are_taken_where_they_take_little_time() {
    let rows = Random(6).matrix(3_000, 2);
    let base = SliceRows::new(&rows, 2);
    let [auto, exact] = [Lists::Auto, Lists::Exact].map(|lists| build(&base, Metric::Euclidean, lists));
    assert_eq!((auto.nearby(), auto.graph()), (None, exact.graph()));
    let many = |lists| BuildOptions { lists, ..NEARBY }.memory_beside(1 << 24, 100, 2);
    assert_eq!(many(Lists::Auto), many(Lists::Nearby));
    assert!(many(Lists::Auto) > many(Lists::Exact));
}

/// Notes progress, and cancels at a share of it.
struct Watch {
    done: AtomicU64,
    total: AtomicU64,
    share: f64,
}

impl Watch {
    fn until(share: f64) -> Self {
        Self { done: AtomicU64::new(0), total: AtomicU64::new(0), share }
    }
}

impl Observer for Watch {
    fn progress(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        assert!(done <= total);
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        let total = self.total.load(Ordering::Relaxed);
        total > 0 && self.done.load(Ordering::Relaxed) as f64 > self.share * total as f64
    }
}

#[test]
fn progress_reaches_its_end_and_a_build_can_be_interrupted() {
    let rows = Random(7).matrix(12_000, 4);
    let base = SliceRows::new(&rows, 4);
    let built = |watch: &Watch| Index::build(&base, Metric::Euclidean, NEARBY, Threads::All, watch).map(drop);
    let watch = Watch::until(1.0);
    built(&watch).unwrap();
    assert_eq!(watch.done.into_inner(), watch.total.into_inner());
    let watch = Watch::until(0.5);
    assert!(matches!(built(&watch), Err(SearchError::Interrupted)));
    assert!(watch.done.into_inner() < watch.total.into_inner());
}
