//! Whatever the bounds are, as long as they hold: the answer is the same.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use bytemuck::Zeroable;
use mnno_simd::{Hit, Kernels};

use super::spaces::wild;
use super::support::{Data, Random, all_data, assert_same_bytes, brute_force};
use super::{QUERIES, every_hit};
use crate::error::Side;
use crate::lists::{Lists, Queries, Scorer, Source};
use crate::pack::Role;
use crate::panel::Panel;
use crate::schedule::Job;
use crate::space::Space;
use crate::{Exclude, Filter, Metric, Neighbours, SliceRows, Ties, TopK};

const K: usize = 7;

fn new_list(metric: Metric) -> TopK {
    TopK::new(K, metric, Ties::LowerIndex)
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
    let mut packed = Panel::new(block, Role::Columns);
    let mut best = vec![new_list(space.metric); n];
    let Some(panel) = panel else {
        packed.fill(rows, 0..n, Side::Base, space).unwrap();
        job.self_join(&packed, &mut best).unwrap();
        return Neighbours::collect(best, space.metric, K);
    };
    for first in (0..n).step_by(panel) {
        packed.fill(rows, first..(first + panel).min(n), Side::Base, space).unwrap();
        job.search_panel(&packed, block, &mut best).unwrap();
    }
    Neighbours::collect(best, space.metric, K)
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

/// Every hit in random order, its bounds as they are or up to twice as wide, with much room for those that wait or little.
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
                let mut panel = Panel::new(32, Role::Columns);
                panel.fill(&rows, 0..n, Side::Base, &space).unwrap();
                let mut queries = Panel::new(QUERIES, Role::Rows);
                queries.fill(&rows, 0..QUERIES, Side::Queries, &space).unwrap();
                let (hits, _) = every_hit(queries.packed(0), &panel, &space);
                let block = &queries.blocks[0];
                let mut scorer = Scorer::new(metric, space.kernels, &rows, &rows);
                let asking = Queries::new(block, 0);
                let source = Source { panel: &panel, exclude: Exclude::None };
                let mut best = vec![new_list(metric); QUERIES];
                let mut room = vec![Hit::zeroed(); QUERIES * random.below(30).max(1)];
                let mut lists = Lists::new(&asking, block, &mut best, &mut room);
                let mut rest = shuffled(&hits.concat(), &mut random);
                while !rest.is_empty() {
                    let some = rest.split_off(rest.len() - (1 + random.below(200)).min(rest.len()));
                    let some: Vec<Hit> = some.into_iter().map(|hit| wider(hit, &mut random)).collect();
                    lists.take(&some, &asking, source, &mut scorer);
                    if random.below(8) == 0 {
                        lists.tidy(&asking, &panel, &mut scorer);
                    }
                }
                lists.finish(&asking, &panel, &mut scorer);
                for (i, best) in best.into_iter().enumerate() {
                    let got: Vec<(u32, u64)> = best.ranked().map(|(row, score)| (row, score.to_bits())).collect();
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
