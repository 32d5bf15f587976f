//! The lists equal the scalar f64 reference byte for byte, for any threads, tiles and SIMD tier.

mod support;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use mnno_exact::{Exclude, Filter, Kernels, Metric, Search, SliceRows, Subset, Threads, Ties, Tiles};
use support::{Data, Random, all_data, assert_same_bytes, brute_force};

fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("not zero")
}

/// Three cuts: the smallest blocks in panels that divide nothing, blocks of two groups in panels of two blocks, and all rows
/// in one panel, so that a self-join looks at each pair once.
fn three_tiles() -> [Tiles; 3] {
    let cut = |block, panel| Tiles { block: count(block), panel: count(panel) };
    [cut(1, 47), cut(64, 128), cut(32, 1 << 20)]
}

/// Counts up, so that ways of searching meet data and metrics in every combination.
fn turn() -> usize {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    TURN.fetch_add(1, Ordering::Relaxed)
}

/// How a search is done; no answer depends on it.
#[derive(Clone, Copy, Debug)]
struct Way {
    kernels: Kernels,
    filter: Option<Filter>,
    threads: usize,
    tiles: Tiles,
}

impl Way {
    fn apply(self, search: Search<'_>) -> Search<'_> {
        let threads = Threads::Count(count(self.threads));
        search.kernels(self.kernels).filter(self.filter).threads(threads).tiles(self.tiles)
    }
}

/// The kernels of every SIMD tier with every filter they have, and the one that is chosen.
fn every_filter() -> impl Iterator<Item = (Kernels, Option<Filter>)> {
    Kernels::available().into_iter().flat_map(|kernels| {
        let filters = Filter::available(kernels).into_iter().map(Some).chain([None]);
        filters.map(move |filter| (kernels, filter))
    })
}

/// Every SIMD tier and filter, each with one of the three cuts and 1 to 3 threads; another `turn` combines them otherwise.
fn every_way(turn: usize) -> Vec<Way> {
    let ways = every_filter().enumerate().map(|(i, (kernels, filter))| Way {
        kernels,
        filter,
        threads: 1 + (i + turn) % 3,
        tiles: three_tiles()[(i + turn / 3) % 3],
    });
    ways.collect()
}

fn metrics_for(data: &Data) -> impl Iterator<Item = Metric> {
    let no_cosine = data.has_zero_row();
    Metric::ALL.into_iter().filter(move |&m| !(no_cosine && m == Metric::Cosine))
}

#[test]
fn self_joins_equal_the_reference() {
    for (n, d) in [(150, 1), (150, 3), (203, 37), (97, 130)] {
        for data in all_data(n, d, 1) {
            let rows = SliceRows::new(&data.values, d);
            for metric in metrics_for(&data) {
                let expected = brute_force(metric, 10, &data, &data, |i, j| i != j, |j| j);
                for way in every_way(turn()) {
                    let got = way.apply(Search::new(metric, 10)).self_join(&rows).unwrap();
                    let what = format!("{}, n {n}, d {d}, {metric}, {way:?}", data.name);
                    assert_same_bytes(&got, &expected, &what);
                }
            }
        }
    }
}

#[test]
fn queries_against_a_base_equal_the_reference() {
    let (n, d) = (301, 24);
    for (base, queries) in all_data(n, d, 2).into_iter().zip(all_data(41, d, 3)) {
        let (base_rows, query_rows) = (SliceRows::new(&base.values, d), SliceRows::new(&queries.values, d));
        for metric in metrics_for(&base).filter(|&m| metrics_for(&queries).any(|q| q == m)) {
            for k in [0, 1, 7, 300, 301, 305] {
                let expected = brute_force(metric, k, &base, &queries, |_, _| true, |j| j);
                for way in every_way(turn()) {
                    let got = way.apply(Search::new(metric, k)).queries(&base_rows, &query_rows).unwrap();
                    assert_same_bytes(&got, &expected, &format!("{}, {metric}, k {k}, {way:?}", base.name));
                }
            }
        }
    }
}

#[test]
fn exclusions_equal_the_reference() {
    let (n, d) = (180, 8);
    let mut r = Random::new(4);
    let groups: Vec<Vec<u32>> = (0..n).map(|_| (0..r.below(3)).map(|_| r.below(6) as u32).collect()).collect();
    let ids: Vec<Vec<u32>> = (0..n).map(|_| (0..r.below(40)).map(|_| r.below(n) as u32).collect()).collect();
    for data in all_data(n, d, 5) {
        let rows = SliceRows::new(&data.values, d);
        for metric in metrics_for(&data) {
            for way in every_way(turn()) {
                let search = way.apply(Search::new(metric, 6));
                let check = |exclude, candidate: &dyn Fn(usize, usize) -> bool, what: &str| {
                    let expected = brute_force(metric, 6, &data, &data, candidate, |j| j);
                    let got = search.exclude(exclude).self_join(&rows).unwrap();
                    assert_same_bytes(&got, &expected, &format!("{}, {metric}, {what}, {way:?}", data.name));
                };
                check(Exclude::None, &|_, _| true, "none");
                check(Exclude::SameIndex, &|i, j| i != j, "same index");
                check(Exclude::Ids(&ids), &|i, j| !ids[i].contains(&(j as u32)), "ids");
                let apart = |i: usize, j: usize| groups[i].iter().all(|g| !groups[j].contains(g));
                check(Exclude::Groups { queries: &groups, base: &groups }, &apart, "groups");
            }
        }
    }
}

/// Under random ties the order of equal scores is some fixed order of the indices, the same for every query, k and cut.
#[test]
fn random_ties_follow_one_order() {
    let (n, d) = (120, 5);
    let ties = Ties::Random { seed: 11, space: 2 };
    let equal = vec![1.0f32; n * d];
    let first = Search::new(Metric::InnerProduct, n)
        .ties(ties)
        .queries(&SliceRows::new(&equal, d), &SliceRows::new(&equal[..d], d));
    let mut place = vec![0; n];
    for (rank, &index) in first.unwrap().list(0).iter().enumerate() {
        place[index as usize] = rank;
    }
    for data in all_data(n, d, 6) {
        let rows = SliceRows::new(&data.values, d);
        for metric in metrics_for(&data) {
            let expected = brute_force(metric, 9, &data, &data, |i, j| i != j, |j| place[j]);
            for tiles in three_tiles() {
                let got = Search::new(metric, 9).ties(ties).tiles(tiles).self_join(&rows).unwrap();
                assert_same_bytes(&got, &expected, &format!("{}, {metric}, {tiles:?}", data.name));
            }
        }
    }
}

/// Large enough for several default tiles, so that the filter drops most pairs.
#[test]
fn several_tiles_equal_the_reference() {
    for (n, d) in [(3000, 16), (2500, 100)] {
        for data in all_data(n, d, 7) {
            let rows = SliceRows::new(&data.values, d);
            let some: Vec<u32> = (0..n as u32).step_by(61).collect();
            let queries = Data {
                name: data.name,
                n: some.len(),
                d,
                values: some.iter().flat_map(|&i| data.row(i as usize).to_vec()).collect(),
            };
            for metric in metrics_for(&data) {
                let expected = brute_force(metric, 10, &data, &queries, |_, _| true, |j| j);
                for (kernels, filter) in every_filter() {
                    let search = Search::new(metric, 10).kernels(kernels).filter(filter);
                    let what = format!("{}, n {n}, d {d}, {metric}, {} {filter:?}", data.name, kernels.tier());
                    let got = search.queries(&rows, &Subset::new(&rows, &some)).unwrap();
                    assert_same_bytes(&got, &expected, &what);
                }
            }
        }
    }
}

/// Large enough for several blocks of the default size: each pair of blocks is looked at once, for both.
#[test]
fn self_joins_of_several_blocks_equal_the_reference() {
    let (n, d) = (1100, 20);
    for data in all_data(n, d, 13) {
        let rows = SliceRows::new(&data.values, d);
        for metric in metrics_for(&data) {
            let expected = brute_force(metric, 10, &data, &data, |i, j| i != j, |j| j);
            for (kernels, filter) in every_filter() {
                let got = Search::new(metric, 10).kernels(kernels).filter(filter).self_join(&rows).unwrap();
                let what = format!("{}, n {n}, d {d}, {metric}, {} {filter:?}", data.name, kernels.tier());
                assert_same_bytes(&got, &expected, &what);
            }
        }
    }
}

/// Case G3 (castorini/pyserini#1255): a longer list begins with the shorter one.
#[test]
fn g3_pyserini_1255_shorter_lists_are_prefixes() {
    for data in all_data(200, 6, 8) {
        let rows = SliceRows::new(&data.values, data.d);
        for metric in metrics_for(&data) {
            let long = Search::new(metric, 10).self_join(&rows).unwrap();
            for k in [1, 3, 9] {
                let short = Search::new(metric, k).self_join(&rows).unwrap();
                for i in 0..data.n {
                    assert_eq!(short.list(i), &long.list(i)[..k], "{}, {metric}, query {i}", data.name);
                    assert_eq!(short.next_score(i), long.list_scores(i)[k], "{}, {metric}, query {i}", data.name);
                }
            }
        }
    }
}

/// Metamorphic: powers of two scale every score without rounding, so they change no list.
#[test]
fn scaling_by_a_power_of_two_changes_nothing() {
    for data in all_data(150, 12, 9).into_iter().filter(|d| !["subnormal", "one huge coordinate"].contains(&d.name)) {
        let scaled: Vec<f32> = data.values.iter().map(|v| v * 4.0).collect();
        for metric in metrics_for(&data) {
            let plain = Search::new(metric, 5).self_join(&SliceRows::new(&data.values, data.d)).unwrap();
            let large = Search::new(metric, 5).self_join(&SliceRows::new(&scaled, data.d)).unwrap();
            assert_eq!(plain.indices(), large.indices(), "{}, {metric}", data.name);
        }
    }
}

/// Metamorphic: a permutation of the base permutes the answers, where no two scores are equal.
#[test]
fn permuting_the_base_permutes_the_lists() {
    let data = all_data(300, 20, 10).remove(0);
    let rows = SliceRows::new(&data.values, data.d);
    let mut order: Vec<u32> = (0..data.n as u32).collect();
    let mut r = Random::new(12);
    for i in (1..order.len()).rev() {
        order.swap(i, r.below(i + 1));
    }
    for metric in Metric::ALL {
        let plain = Search::new(metric, 8).exclude(Exclude::None).self_join(&rows).unwrap();
        let moved = Search::new(metric, 8).queries(&Subset::new(&rows, &order), &rows).unwrap();
        let back: Vec<u32> = moved.indices().iter().map(|&i| order[i as usize]).collect();
        assert_eq!(plain.indices(), back, "{metric}");
        assert_eq!(plain.scores(), moved.scores(), "{metric}");
    }
}
