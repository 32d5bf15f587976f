//! Whatever the bounds are, as long as they hold: the answer is the same.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use mnno_simd::{Hit, Kernels};

use super::spaces::wild;
use super::support::{Data, Random, all_data, assert_same_bytes, brute_force};
use super::{QUERIES, every_hit};
use crate::error::Side;
use crate::list::{List, Scorer};
use crate::pack::{Block, Role, Scratch};
use crate::panel::Panel;
use crate::schedule::Job;
use crate::space::Space;
use crate::{Exclude, Filter, Metric, Neighbours, SliceRows, Ties, TopK};

const K: usize = 7;

fn new_list(metric: Metric) -> List {
    List::new(TopK::new(K, metric, Ties::LowerIndex))
}

/// The lists of the rows among the others, found in a space: in one panel, each pair of blocks once, or else in panels of
/// `panel` rows.
fn lists(rows: &SliceRows<'_>, n: usize, space: &Space, block: usize, panel: Option<usize>) -> Neighbours {
    let job = Job {
        space: space.clone(),
        k: K,
        base: rows,
        queries: rows,
        exclude: Exclude::SameIndex,
        group_sizes: HashMap::new(),
        observer: &(),
        done: AtomicU64::new(0),
        total: 0,
    };
    let mut packed = Panel::new(block);
    let list = new_list(space.metric);
    let Some(panel) = panel else {
        packed.fill(rows, 0..n, space).unwrap();
        return Neighbours::collect(job.self_join(&packed, &list).unwrap(), space.metric, K);
    };
    let mut lists = vec![list; n];
    for first in (0..n).step_by(panel) {
        packed.fill(rows, first..(first + panel).min(n), space).unwrap();
        job.search_panel(&packed, block, &mut lists).unwrap();
    }
    Neighbours::collect(lists.into_iter().map(|list| list.best).collect(), space.metric, K)
}

fn metrics_of(data: &Data) -> impl Iterator<Item = Metric> {
    let no_cosine = data.has_zero_row();
    Metric::ALL.into_iter().filter(move |&metric| !(no_cosine && metric == Metric::Cosine))
}

#[test]
fn any_space_gives_the_same_lists() {
    let (n, d) = (150, 12);
    let mut turn = 0;
    for data in all_data(n, d, 21) {
        let rows = SliceRows::new(&data.values, d);
        for metric in metrics_of(&data) {
            let expected = brute_force(metric, K, &data, &data, |i, j| i != j, |j| j);
            for kernels in Kernels::available() {
                for filter in Filter::available(kernels) {
                    turn += 1;
                    let space = Space { kernels, ..wild(&data, metric, turn).with_element(filter.element()) };
                    let panel = [None, Some(64), Some(47)][turn % 3];
                    let got = lists(&rows, n, &space, 32, panel);
                    let what = format!("{}, {metric}, {} {filter}, turn {turn}", data.name, kernels.tier());
                    assert_same_bytes(&got, &expected, &what);
                }
            }
        }
    }
}

/// Every hit in random order, its bounds as they are or up to twice as wide.
#[test]
fn wider_bounds_give_the_same_lists() {
    let (n, d) = (200, 5);
    let mut random = Random::new(22);
    for data in all_data(n, d, 23) {
        let rows = SliceRows::new(&data.values, d);
        for metric in metrics_of(&data) {
            let expected = brute_force(metric, K, &data, &data, |_, _| true, |j| j);
            for filter in Filter::available(Kernels::detect()) {
                let space = Space::new(&rows, metric, Kernels::detect()).with_element(filter.element());
                let mut panel = Panel::new(32);
                panel.fill(&rows, 0..n, &space).unwrap();
                let mut queries = Block::new();
                queries.fill(&rows, 0..QUERIES, Side::Queries, Role::Rows, &space, &mut Scratch::default()).unwrap();
                let (hits, _) = every_hit(&queries, &panel, &space);
                let mut scorer = Scorer::new(metric, space.kernels, &rows, &rows);
                for (i, (hits, query)) in hits.iter().zip(queries.queries()).enumerate() {
                    let mut list = new_list(metric);
                    for hit in shuffled(hits, &mut random) {
                        list.take(wider(hit, &mut random), query, &panel, &mut scorer);
                        if random.below(8) == 0 {
                            list.tidy(query.bound);
                        }
                    }
                    list.finish(query, &panel, &mut scorer);
                    let got: Vec<(u32, u64)> = list.best.ranked().map(|(row, score)| (row, score.to_bits())).collect();
                    let places = expected.list(i).iter().zip(expected.list_scores(i));
                    let places: Vec<(u32, u64)> = places.map(|(&row, score)| (row, score.to_bits())).collect();
                    assert_eq!(got[..K], places, "{}, {metric}, {filter}, query {i}", data.name);
                    assert_eq!(got[K].1, expected.next_score(i).to_bits(), "{}, {metric}, {filter}, {i}", data.name);
                }
            }
        }
    }
}

fn shuffled(hits: &[Hit], random: &mut Random) -> Vec<Hit> {
    let mut hits = hits.to_vec();
    for i in (1..hits.len()).rev() {
        hits.swap(i, random.below(i + 1));
    }
    hits
}

fn wider(hit: Hit, random: &mut Random) -> Hit {
    let error = 0.5 * (hit.upper - hit.lower);
    let mut more = || error * (2.0 * random.uniform() - 1.0).max(0.0) as f32;
    Hit { upper: hit.upper + more(), lower: hit.lower - more(), ..hit }
}
