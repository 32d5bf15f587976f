//! Faults that users met in other libraries, each with the right answer, and the edges of the
//! search itself.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use mnno_exact::{Exclude, Metric, NO_NEIGHBOUR, Observer, Search, SearchError, Side, SliceRows, Subset, Tiles};
use support::Random;

fn indices(metric: Metric, k: usize, base: &[f32], queries: &[f32], d: usize) -> Vec<u32> {
    Search::new(metric, k).queries(&SliceRows::new(base, d), &SliceRows::new(queries, d)).unwrap().indices().to_vec()
}

#[test]
fn b1_faiss_5285_distances_survive_a_large_shared_offset() {
    let q = [1e7f32 + 3.0, 1e7 + 4.0];
    // Differences that f32 holds exactly at this offset: squared distances 19405, 25 and 0.
    let base = [q[0] + 139.0, q[1] - 8.0 + 17.0, q[0] + 3.0, q[1] + 4.0, q[0], q[1]];
    let expected = [139.0 * 139.0 + 9.0 * 9.0, 25.0, 0.0];
    for metric in [Metric::Euclidean, Metric::SquaredEuclidean] {
        let lists = Search::new(metric, 3).queries(&SliceRows::new(&base, 2), &SliceRows::new(&q, 2)).unwrap();
        assert_eq!(lists.indices(), [2, 1, 0]);
        assert_eq!(lists.scores(), [expected[2], expected[1], expected[0]]);
    }
}

#[test]
fn b4_scikit_learn_9354_near_vectors_keep_their_distance() {
    let a: Vec<f32> = ["61.221638", "71.606628", "-65.751265"].map(|v| v.parse().unwrap()).to_vec();
    let b: Vec<f32> = ["61.221638", "71.608940", "-65.728477"].map(|v| v.parse().unwrap()).to_vec();
    let lists = Search::new(Metric::Euclidean, 1).queries(&SliceRows::new(&b, 3), &SliceRows::new(&a, 3)).unwrap();
    let exact: f64 = a.iter().zip(&b).map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2)).sum::<f64>().sqrt();
    let got = Metric::Euclidean.reported(lists.scores()[0]);
    assert!((got - exact).abs() <= 1e-15 * exact, "{got} against {exact}");
}

#[test]
fn b5_usearch_275_a_base_row_finds_itself() {
    let mut r = Random::new(1);
    let base: Vec<f32> = (0..1000 * 64).map(|_| r.normal() as f32).collect();
    for metric in [Metric::Cosine, Metric::Euclidean, Metric::SquaredEuclidean] {
        for row in [0, 100, 999] {
            assert_eq!(indices(metric, 1, &base, &base[row * 64..(row + 1) * 64], 64), [row as u32], "{metric}");
        }
    }
}

#[test]
fn b6_usearch_527_one_query_and_many_give_equal_bytes() {
    let mut r = Random::new(2);
    let base: Vec<f32> = (0..700 * 33).map(|_| r.normal() as f32).collect();
    let rows = SliceRows::new(&base, 33);
    for metric in Metric::ALL {
        let all = Search::new(metric, 5).exclude(Exclude::None).self_join(&rows).unwrap();
        for i in (0..700).step_by(53) {
            let one = Search::new(metric, 5).queries(&rows, &SliceRows::new(&base[i * 33..(i + 1) * 33], 33)).unwrap();
            assert_eq!(one.list(0), all.list(i), "{metric}, query {i}");
            assert_eq!(one.list_scores(0), all.list_scores(i), "{metric}, query {i}");
        }
    }
}

#[test]
fn c1_faiss_1201_duplicates_keep_the_lower_index_first() {
    let mut r = Random::new(3);
    let mut base: Vec<f32> = (0..6 * 4).map(|_| r.normal() as f32).collect();
    base.copy_within(12..16, 20); // row 5 = row 3
    let rows = SliceRows::new(&base, 4);
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let with_self = Search::new(metric, 2).exclude(Exclude::None).self_join(&rows).unwrap();
        assert_eq!(with_self.list(3), [3, 5], "{metric}");
        assert_eq!(with_self.list(5), [3, 5], "{metric}");
        let without = Search::new(metric, 2).self_join(&rows).unwrap();
        assert_eq!(without.list(3)[0], 5, "{metric}");
        assert_eq!(without.list(5)[0], 3, "{metric}");
    }
}

#[test]
fn c2_scikit_learn_16512_self_is_left_out_by_identity() {
    let rows = [1.0, 5.0, 1.0, 5.0, 7.0, 3.0, 9.0, 6.0, 10.0, 1.0];
    let lists = Search::new(Metric::Euclidean, 2).self_join(&SliceRows::new(&rows, 2)).unwrap();
    assert_eq!(lists.list(0), [1, 2]);
    assert_eq!(lists.list(1), [0, 2]);
    for i in 0..5 {
        assert!(!lists.list(i).contains(&(i as u32)), "row {i} lists itself");
    }
}

#[test]
fn c5_vectordbbench_357_ties_across_k_are_counted() {
    let mut r = Random::new(4);
    let mut base: Vec<f32> = (0..100 * 8).map(|_| r.normal() as f32).collect();
    let copy: Vec<f32> = base[..8].to_vec();
    for i in 0..20 {
        base[i * 5 * 8..i * 5 * 8 + 8].copy_from_slice(&copy);
    }
    let lists = Search::new(Metric::Euclidean, 10).self_join(&SliceRows::new(&base, 8)).unwrap();
    // Each of the 20 copies has 19 others at distance 0; a list of 10 cuts through them.
    assert!((0..100).step_by(5).all(|i| lists.tied_at_k(i)));
    // So do the lists of a few rows that have the copies at their edge.
    let data = support::Data { name: "copies", n: 100, d: 8, values: base.clone() };
    let distance = |i, j| support::squared_euclidean(data.row(i), data.row(j));
    let cut = |&i: &usize| {
        let mut all: Vec<f64> = (0..100).filter(|&j| j != i).map(|j| distance(i, j)).collect();
        all.sort_by(f64::total_cmp);
        all[9] == all[10]
    };
    assert_eq!(lists.tied_rows(), (0..100).filter(cut).count());
    let short = Search::new(Metric::Euclidean, 19).self_join(&SliceRows::new(&base, 8)).unwrap();
    assert!((0..100).step_by(5).all(|i| !short.tied_at_k(i)), "19 places hold all 19 copies");
}

#[test]
fn d1_usearch_320_tiny_rows_are_parallel_and_zero_rows_are_an_error() {
    let tiny_and_unit = [1e-30, 0.0, 1.0, 0.0];
    let q = [1.0, 0.0];
    let lists =
        Search::new(Metric::Cosine, 2).queries(&SliceRows::new(&tiny_and_unit, 2), &SliceRows::new(&q, 2)).unwrap();
    assert_eq!((lists.indices(), lists.scores()), (&[0, 1][..], &[1.0, 1.0][..]));

    let with_zero = [1e-30, 0.0, 0.0, 0.0, 1.0, 0.0];
    let base = SliceRows::new(&with_zero, 2);
    let error = Search::new(Metric::Cosine, 2).queries(&base, &SliceRows::new(&q, 2)).unwrap_err();
    assert!(matches!(error, SearchError::ZeroVector { side: Side::Base, row: 1 }), "{error}");
    let error = Search::new(Metric::Cosine, 2).queries(&SliceRows::new(&q, 2), &base).unwrap_err();
    assert!(matches!(error, SearchError::ZeroVector { side: Side::Queries, row: 1 }), "{error}");
}

#[test]
fn d3_faiss_5219_a_bad_value_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        // The last is large enough for a sample of its rows to be tried first; every fifth is in it.
        for (n, d, bad_row) in [(1000, 3, 500), (2600, 16, 5)] {
            let mut base: Vec<f32> = (0..n * d).map(|i| (i % 101) as f32 + 0.5).collect();
            base[bad_row * d + 2] = bad;
            for metric in Metric::ALL {
                match Search::new(metric, 1).self_join(&SliceRows::new(&base, d)).unwrap_err() {
                    SearchError::NonFinite { row, column: 2, value, .. } => {
                        assert_eq!((row, value.to_bits()), (bad_row, bad.to_bits()));
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
}

#[test]
fn d4_faiss_1206_places_without_candidates_are_padded() {
    let rows = [1.0, 2.0, 4.0];
    for (metric, worst) in [(Metric::InnerProduct, f64::NEG_INFINITY), (Metric::Euclidean, f64::INFINITY)] {
        let lists = Search::new(metric, 5).queries(&SliceRows::new(&rows, 1), &SliceRows::new(&rows, 1)).unwrap();
        for i in 0..3 {
            assert_eq!(lists.list(i)[3..], [NO_NEIGHBOUR, NO_NEIGHBOUR], "{metric}");
            assert_eq!(lists.list_scores(i)[3..], [worst, worst], "{metric}");
            assert!(!lists.tied_at_k(i), "{metric}");
        }
    }
}

#[test]
fn d5_faiss_3830_an_empty_base_answers_every_query_alike() {
    for n in [1, 19, 20, 300] {
        let queries = vec![1.0f32; n * 4];
        let queries = SliceRows::new(&queries, 4);
        let lists = Search::new(Metric::Euclidean, 2).queries(&Subset::new(&queries, &[]), &queries).unwrap();
        assert!(lists.indices().iter().all(|&i| i == NO_NEIGHBOUR));
        assert!(lists.scores().iter().all(|&s| s == f64::INFINITY));
    }
}

/// Case E4 (beir pull 117): lists are merged as they come; many panels and a large k give the reference's answer.
#[test]
fn e4_beir_117_many_blocks_and_a_large_k() {
    let one = |n| std::num::NonZeroUsize::new(n).unwrap();
    let mut r = Random::new(5);
    let base: Vec<f32> = (0..2000 * 4).map(|_| r.below(50) as f32).collect();
    let queries: Vec<f32> = (0..10 * 4).map(|_| r.below(50) as f32).collect();
    let (base, queries) = (SliceRows::new(&base, 4), SliceRows::new(&queries, 4));
    let search = Search::new(Metric::Euclidean, 1000);
    let whole = search.queries(&base, &queries).unwrap();
    let tiles = Tiles { block: one(4), panel: one(10) };
    assert_eq!(search.tiles(tiles).queries(&base, &queries).unwrap(), whole);
}

#[test]
fn g6_pynndescent_135_no_index_twice_in_a_list() {
    let mut r = Random::new(6);
    let base: Vec<f32> = (0..100 * 100).map(|_| r.uniform() as f32).collect();
    for metric in Metric::ALL {
        let lists = Search::new(metric, 30).self_join(&SliceRows::new(&base, 100)).unwrap();
        for i in 0..100 {
            let mut list = lists.list(i).to_vec();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), 30, "{metric}, query {i}");
        }
    }
}

#[test]
fn a_row_against_itself_has_cosine_one() {
    let mut r = Random::new(7);
    let base: Vec<f32> = (0..500 * 77).map(|_| r.normal() as f32).collect();
    let lists = Search::new(Metric::Cosine, 1).exclude(Exclude::None).self_join(&SliceRows::new(&base, 77)).unwrap();
    assert!(lists.scores().iter().all(|&s| s == 1.0));
}

#[test]
fn rows_without_columns_are_all_alike() {
    struct NoColumns;
    impl mnno_exact::Rows for NoColumns {
        fn n(&self) -> usize {
            3
        }
        fn d(&self) -> usize {
            0
        }
        fn block<'a>(&'a self, rows: std::ops::Range<usize>, _: &'a mut Vec<f32>) -> mnno_exact::RowBlock<'a> {
            mnno_exact::RowBlock::new(&[], rows.len(), 0, 0)
        }
    }
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        let lists = Search::new(metric, 2).self_join(&NoColumns).unwrap();
        assert_eq!(lists.indices(), [1, 2, 0, 2, 0, 1], "{metric}");
        assert!(lists.scores().iter().all(|&s| s == 0.0));
    }
    let error = Search::new(Metric::Cosine, 2).self_join(&NoColumns).unwrap_err();
    assert!(matches!(error, SearchError::ZeroVector { row: 0, .. }), "{error}");
}

/// A mapped file can be changed by others between the check of its rows and their use.
#[test]
fn rows_that_turn_bad_under_the_search_do_not_panic() {
    struct Turning([f32; 12], [f32; 2]);
    impl mnno_exact::Rows for Turning {
        fn n(&self) -> usize {
            6
        }
        fn d(&self) -> usize {
            2
        }
        fn block<'a>(&'a self, rows: std::ops::Range<usize>, _: &'a mut Vec<f32>) -> mnno_exact::RowBlock<'a> {
            mnno_exact::RowBlock::new(&self.0[2 * rows.start..], rows.len(), 2, 2)
        }
        fn row<'a>(&'a self, i: usize, _: &'a mut Vec<f32>) -> &'a [f32] {
            if i == 4 { &self.1 } else { &self.0[2 * i..2 * i + 2] }
        }
    }
    let rows = Turning([1.0, 0.5, 2.0, 0.5, 3.0, 0.5, 4.0, 0.5, 5.0, 0.5, 6.0, 0.5], [f32::NAN; 2]);
    for metric in Metric::ALL {
        let lists = Search::new(metric, 5).self_join(&rows).unwrap();
        assert!(!lists.list(0).contains(&4), "{metric}");
    }
}

/// Beyond the width that the error bound is derived for, every row is scored canonically.
#[test]
fn rows_wider_than_the_bound_are_searched() {
    let d = 1 << 20;
    let mut r = Random::new(8);
    let mut values: Vec<f32> = (0..5 * d).map(|_| r.normal() as f32).collect();
    values[2 * d..3 * d].fill(0.0);
    let data = support::Data { name: "wide", n: 5, d, values };
    let rows = SliceRows::new(&data.values, d);
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        let expected = support::brute_force(metric, 1, &data, &data, |i, j| i != j, |j| j);
        support::assert_same_bytes(&Search::new(metric, 1).self_join(&rows).unwrap(), &expected, metric.name());
    }
}

#[test]
fn mismatched_dimensions_and_exclusions_are_refused() {
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0]);
    let error = Search::new(Metric::Euclidean, 1).queries(&SliceRows::new(&a, 2), &SliceRows::new(&b, 3)).unwrap_err();
    assert_eq!(error.to_string(), "queries have 3 dimensions, but the base has 2");
    let error =
        Search::new(Metric::Euclidean, 1).exclude(Exclude::Ids(&[])).self_join(&SliceRows::new(&a, 2)).unwrap_err();
    assert_eq!(error.to_string(), "excluded ids: 0 entries for 2 rows");
    for k in [usize::MAX, usize::MAX / 2] {
        let error = Search::new(Metric::Euclidean, k).self_join(&SliceRows::new(&a, 2)).unwrap_err();
        assert!(matches!(error, SearchError::TooManyPlaces { queries: 2, .. }), "{error}");
    }
}

#[test]
fn the_observer_sees_the_end_and_can_stop() {
    struct Watch {
        last: AtomicU64,
        stop: bool,
    }
    impl Observer for Watch {
        fn progress(&self, done: u64, total: u64) {
            assert_eq!(total, 400 * 400);
            self.last.fetch_max(done, Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.stop
        }
    }
    let rows: Vec<f32> = (0..400 * 2).map(|i| i as f32).collect();
    let rows = SliceRows::new(&rows, 2);
    let watch = Watch { last: AtomicU64::new(0), stop: false };
    Search::new(Metric::Euclidean, 3).observer(&watch).self_join(&rows).unwrap();
    assert_eq!(watch.last.into_inner(), 400 * 400);
    let watch = Watch { last: AtomicU64::new(0), stop: true };
    let error = Search::new(Metric::Euclidean, 3).observer(&watch).self_join(&rows).unwrap_err();
    assert!(matches!(error, SearchError::Interrupted), "{error}");
}
