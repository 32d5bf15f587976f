//! Rows at and beyond the limits of what the filter can bound.

mod support;

use std::num::NonZeroUsize;

use mnno_exact::{Filter, Kernels, Metric, Search, SliceRows, Threads, Tiles};
use support::{Data, Random, assert_same_bytes, brute_force};

fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("not zero")
}

/// A late row whose score, and what f64 loses of it, is made of products far larger than those of the rows before: what these
/// may lose says nothing of it.
#[test]
fn a_row_far_larger_than_those_before_is_found() {
    let (n, d) = (2048, 1032);
    // The mean of the even rows, which are those that the space is made of.
    let mut query = vec![0.0; d];
    query[..2].fill(1024.0);
    query[8..].iter_mut().step_by(16).for_each(|x| *x = 1.0);
    let mut values = query.repeat(n);
    for (i, row) in values.chunks_mut(d).enumerate() {
        if i % 2 == 0 {
            row[2] = if i % 4 == 0 { (i / 4 + 1) as f32 / 1024.0 } else { -((i / 4 + 1) as f32) / 1024.0 };
        } else {
            row.fill(0.0);
            row[3] = (i / 2) as f32 / 64.0;
            row[8] = if i < 128 { 200.0 } else { -(i as f32) };
        }
    }
    // 64 times 2.25, but 64 times 4 in f64, where 2^54 + 2.25 is rounded to a multiple of 4.
    let large = 2f32.powi(44);
    let last = &mut values[(n - 1) * d..];
    last.fill(0.0);
    last[..2].copy_from_slice(&[large, -large]);
    last[8..].iter_mut().step_by(16).for_each(|x| *x = 2.25);
    let data = Data { name: "a large row", n, d, values };
    let queries = Data { name: "the mean", n: 1, d, values: query };
    let expected = brute_force(Metric::InnerProduct, 1040, &data, &queries, |_, _| true, |j| j);
    assert_eq!((expected.list(0)[1024], expected.list_scores(0)[1024]), (n as u32 - 1, 256.0));

    let tiles = Tiles { block: count(32), panel: count(32) };
    for kernels in Kernels::available() {
        for filter in Filter::available(kernels) {
            let search = Search::new(Metric::InnerProduct, 1040).kernels(kernels).filter(Some(filter)).tiles(tiles);
            let got = search.queries(&SliceRows::new(&data.values, d), &SliceRows::new(&queries.values, d)).unwrap();
            assert_same_bytes(&got, &expected, &format!("{} {filter}", kernels.tier()));
        }
    }
}

/// More values than a bound is proven for: every row is scored, those that are the centre of the space included.
#[test]
fn wide_rows_without_length_are_searched() {
    for (filter, d) in [(Filter::Int8, 133_145), (Filter::Float32, (1 << 20) + 1)] {
        if !Filter::available(Kernels::detect()).contains(&filter) {
            continue;
        }
        // The mean of four equal rows is exact.
        let (n, values) = (4, vec![0.5; 4 * d]);
        let data = Data { name: "equal rows", n, d, values };
        let expected = brute_force(Metric::InnerProduct, 3, &data, &data, |i, j| i != j, |j| j);
        let search = Search::new(Metric::InnerProduct, 3).filter(Some(filter));
        let got = search.self_join(&SliceRows::new(&data.values, d)).unwrap();
        assert_same_bytes(&got, &expected, filter.name());
    }
}

/// Rows so far out that nothing bounds their scores, and blocks of queries that are not full: what pads them finds nothing.
#[test]
fn rows_out_of_range_are_found_by_queries_alone() {
    let (n, d) = (2 * 1024, 3);
    let mut random = Random::new(31);
    let mut values: Vec<f32> = (0..n * d).map(|_| random.normal() as f32).collect();
    // Not among the rows that the space is made of, which are those of even number.
    for row in [1, 33, 1001] {
        values[row * d] = 1e25 * row as f32;
    }
    let data = Data { name: "rows out of range", n, d, values };
    let rows = SliceRows::new(&data.values, d);
    let some: Vec<u32> = (0..n as u32).step_by(13).collect();
    let values = some.iter().flat_map(|&i| data.row(i as usize).to_vec()).collect();
    let queries = Data { name: "", n: some.len(), d, values };
    let tiles = Tiles { block: count(32), panel: count(64) };
    for metric in Metric::ALL {
        let expected = brute_force(metric, 9, &data, &queries, |_, _| true, |j| j);
        let joined = brute_force(metric, 9, &data, &data, |i, j| i != j, |j| j);
        for kernels in Kernels::available() {
            for filter in Filter::available(kernels) {
                let what = format!("{metric}, {} {filter}", kernels.tier());
                let search = Search::new(metric, 9).kernels(kernels).filter(Some(filter));
                let one_thread = search.tiles(tiles).threads(Threads::Count(count(1)));
                let got = one_thread.queries(&rows, &SliceRows::new(&queries.values, d)).unwrap();
                assert_same_bytes(&got, &expected, &what);
                let got = search.tiles(Tiles { block: count(32), panel: count(1 << 20) }).self_join(&rows).unwrap();
                assert_same_bytes(&got, &joined, &format!("{what}, joined"));
            }
        }
    }
}
