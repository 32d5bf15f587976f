//! A graph row by row, as HNSW builds it: the crate `hnsw_rs` inserts, and what it has built becomes flat lists.
//!
//! 1. Rows are inserted in a random order, since those of files that come cluster by cluster would leave the clusters
//!    apart; as points whose Euclidean distance grows with that of the space: the crate knows no norms, refuses negative
//!    distances and counts in f32.
//! 2. Nodes from its highest layers down become the entries, its lowest layer the lists. A list also gets the node's
//!    neighbours of higher layers: long edges.
//! 3. Largest products and what connects the graph are added as to one from exact lists.
//!
//! The crate draws layers from a seed of its own and breaks no tie at random, so that one thread gives the same graph every
//! time. It panics on distances that are no numbers and ends the program where `m` is above 256: neither reaches it. What it
//! has to say goes to the `log` of whoever listens, nothing to stdout.

use std::sync::atomic::{AtomicU64, Ordering};

use hnsw_rs::anndists::dist::Distance;
use hnsw_rs::hnsw::Hnsw;
use mnno_exact::{Exclude, Kernels, Metric, NO_NEIGHBOUR, Rows, SearchError, Subset};
use rayon::prelude::*;

use crate::build::{BuildOptions, Builder, Built, Method, Quiet, entries_of, finish, going_on, spread};
use crate::graph::Graph;
use crate::prune::Candidate;
use crate::space::{Space, unit};

/// Rows between two words to the observer.
const TOLD: u64 = 256;
/// Layers, the lowest included.
const LAYERS: usize = 16;
/// Nodes whose exact nearest tell how dense the rows lie, and how many nearest.
const SAMPLED: usize = 1024;
const NEAREST: usize = 64;

/// Bytes that building takes beside its exact searches, at most. Of each node the crate keeps a copy of the row and a list for each
/// layer; of each neighbour, a distance and a pointer in a block of their own.
pub(crate) fn memory(options: &BuildOptions, n: usize, d: usize) -> u64 {
    let point = d.saturating_mul(5).saturating_add(1024);
    let edges = m(options).saturating_mul(192);
    (point.saturating_add(edges) as u64).saturating_mul(n as u64)
}

/// What the crate can do with.
fn m(options: &BuildOptions) -> usize {
    options.m.clamp(2, Method::MOST_M_OF_HNSW)
}

/// How far points lie apart, in units that f32 can hold.
struct Apart {
    kernels: Kernels,
    scale: f64,
}

impl Distance<f32> for Apart {
    fn eval(&self, a: &[f32], b: &[f32]) -> f32 {
        let [squared] = self.kernels.squared_euclidean_many(a, [b]);
        (squared.sqrt() * self.scale) as f32
    }
}

/// The nodes' nearest as far as they were found, their lists, and the entries.
struct Flat {
    near: Vec<Vec<Candidate>>,
    lists: Vec<Vec<u32>>,
    entries: Vec<u32>,
}

impl Builder<'_> {
    pub(crate) fn by_insertion(&self, space: &Space<'_>, parallel: bool) -> Result<Built, SearchError> {
        let spread = self.sampled_spread(space)?;
        let products = self.largest_products()?;
        let graph = self.threads.run(|| {
            if space.n() == 0 {
                return Graph::new(&[], Vec::new());
            }
            let hnsw = self.inserted(space, parallel)?;
            let Flat { near, lists, entries } = flatten(&hnsw, space.n());
            drop(hnsw);
            finish(space, &near, entries, lists, products.as_ref())
        })??;
        Ok(Built { graph, spread, nearby: None })
    }

    /// All nodes, inserted.
    fn inserted(&self, space: &Space<'_>, parallel: bool) -> Result<Hnsw<'static, f32, Apart>, SearchError> {
        let n = space.n();
        let norms = self.points.squared_norms;
        let scale = match self.points.metric {
            Metric::Euclidean | Metric::SquaredEuclidean => unit(norms),
            // Points are about 1 long already.
            Metric::Cosine | Metric::InnerProduct => 1.0,
        };
        let apart = Apart { kernels: self.points.kernels, scale };
        let hnsw = Hnsw::new(m(&self.options), n, LAYERS, self.options.ef_construction.max(1), apart);
        let done = AtomicU64::new(0);
        let insert = |(row, point): &mut (Vec<f32>, Vec<f32>), node: u32| {
            let node = node as usize;
            going_on(self.observer)?;
            let row = space.row(node, row);
            if unit_rows(space) {
                let factor = 1.0 / norms[node].sqrt();
                point.clear();
                point.extend(row.iter().map(|&x| (f64::from(x) * factor) as f32));
                hnsw.insert_slice((point, node));
            } else {
                hnsw.insert_slice((row, node));
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(TOLD) || done == n as u64 {
                self.observer.progress(done, n as u64);
            }
            Ok(())
        };
        let order = self.random_order();
        let mut scratch = Default::default();
        // A point beside the first would find nothing to be a neighbour of.
        let serial = if parallel { 1 } else { n };
        order[..serial].iter().try_for_each(|&node| insert(&mut scratch, node))?;
        order[serial..].par_iter().try_for_each_init(Default::default, |scratch, &node| insert(scratch, node))?;
        Ok(hnsw)
    }

    /// [`Built::spread`] of exact lists of some nodes.
    fn sampled_spread(&self, space: &Space<'_>) -> Result<f64, SearchError> {
        let mut sample = self.random_order();
        sample.truncate(SAMPLED);
        let own: Vec<Vec<u32>> = sample.iter().map(|&node| vec![node]).collect();
        let quiet = Quiet(self.observer);
        let search = self.search(space.metric(), NEAREST, &quiet).exclude(Exclude::Ids(&own));
        let lists = search.queries(space, &Subset::new(space as &dyn Rows, &sample))?;
        Ok(spread(
            space,
            (0..lists.n()).filter_map(|i| {
                let found = lists.list(i).iter().filter(|&&other| other != NO_NEIGHBOUR).count();
                let scores = &lists.list_scores(i)[..found];
                Some((space.squared_distance(*scores.first()?), space.squared_distance(*scores.last()?)))
            }),
        ))
    }
}

/// Whether points are rows made one long.
fn unit_rows(space: &Space<'_>) -> bool {
    space.metric() == Metric::Cosine
}

/// What `hnsw`, which has `n` points, has found.
fn flatten(hnsw: &Hnsw<'_, f32, Apart>, n: usize) -> Flat {
    let mut flat = Flat { near: vec![Vec::new(); n], lists: vec![Vec::new(); n], entries: Vec::new() };
    let points = hnsw.get_point_indexation();
    let entries = entries_of(n);
    for layer in (0..=usize::from(hnsw.get_max_level_observed())).rev() {
        let room = entries - flat.entries.len();
        flat.entries.extend(points.get_layer_iterator(layer).take(room).map(|point| point.get_origin_id() as u32));
        for point in points.get_layer_iterator(layer) {
            let node = point.get_origin_id();
            let neighbours = point.get_neighborhood_id();
            let list = &mut flat.lists[node];
            let near = &mut flat.near[node];
            near.extend(neighbours[0].iter().map(|other| (f64::from(other.distance), other.d_id as u32)));
            for other in neighbours[..=layer].iter().flatten() {
                let other = other.d_id as u32;
                if !list.contains(&other) {
                    list.push(other);
                }
            }
        }
    }
    flat.entries.sort_unstable();
    flat
}
