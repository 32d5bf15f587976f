//! The nearest of every node among those of nearby clusters: lists that are not exact, for more nodes than exact ones can be
//! had for, whose time grows with the square of `n`.
//!
//! 1. Random nodes become pivots, about one in [`OF_PIVOT`]; each node joins the clusters of its [`OVERLAP`] nearest ones.
//! 2. A cluster that is much too large, since many nodes have the same pivots near, is halved until it is not: by which of two of
//!    its nodes the others are nearer to.
//! 3. Each cluster is searched exactly, and a node keeps the best that its clusters have found.
//!
//! A neighbour is missed where the two nodes share no cluster: one in ten or so, more often a far one than a near one.
//! Pivots, distances and ties are those of exact searches, so that the lists are the same for any threads and SIMD tier.

use mnno_exact::{NO_NEIGHBOUR, Observer, Rows, SearchError, Subset};
use rayon::prelude::*;

use crate::build::{Builder, Quiet, going_on};
use crate::prune::{Candidate, sort};
use crate::space::Space;

/// Which lists of nearest nodes a graph is built from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lists {
    /// Exact ones, unless those of nearby clusters are estimated to take less time: from about 500,000 distinct rows on. The
    /// estimate looks at nothing but the number of rows.
    #[default]
    Auto,
    /// Exact ones.
    Exact,
    /// Those of nearby clusters: about nine in ten of the exact neighbours.
    Nearby,
}

/// Nodes for each pivot, at least.
const OF_PIVOT: usize = 2500;
/// Pivots are at most the square root of so many times the nodes, lest finding the nearest ones takes longer than the rest.
const OF_ROOT: usize = 2;
/// Clusters that a node joins.
const OVERLAP: usize = 3;
/// The largest cluster has so many times the nodes of an average one, at most.
const LARGEST: usize = 3;
/// Fewer nodes get exact lists, unless others are asked for.
const LEAST: usize = 100_000;
/// What a node's list of a search costs beside its products, in products: its candidates are scored, sorted and merged. It
/// was measured with 64 neighbours and AMX; where products are slower it is less.
const LIST: f64 = 120_000.0;
/// Clusters differ in size, which makes the products so many times as many.
const UNEVEN: f64 = 1.25;

/// Bytes that the clusters of a node take at most: its nearest pivots with their scores, its places in clusters that grow.
pub(crate) const MEMORY: u64 = 32 * OVERLAP as u64;

fn pivots_of(n: usize) -> usize {
    (n / OF_PIVOT).min((n.saturating_mul(OF_ROOT)).isqrt()).max(1)
}

/// How many times as long exact lists of `n` nodes would take as those of nearby clusters.
///
/// A node costs half of its products with all others and a list; or its products with the pivots, and in each of its
/// clusters half of its products with the others and a list.
fn times_as_long(n: usize) -> f64 {
    let exact = n as f64 / 2.0 + LIST;
    let pivots = pivots_of(n);
    let overlap = OVERLAP.min(pivots) as f64;
    let cluster = UNEVEN * overlap * n as f64 / pivots as f64;
    exact / (pivots as f64 + overlap * (cluster / 2.0 + LIST))
}

impl Lists {
    /// If lists of `n` nodes are those of nearby clusters: how many times as long exact ones would take, by estimate.
    pub(crate) fn nearby(self, n: usize) -> Option<f64> {
        let times = times_as_long(n);
        match self {
            Self::Auto => (n >= LEAST && times > 1.0).then_some(times),
            Self::Exact => None,
            Self::Nearby => Some(times),
        }
    }
}

impl Builder<'_> {
    /// The `k` nearest of each node among those of its clusters.
    pub(crate) fn nearby(&self, space: &Space<'_>, k: usize) -> Result<Vec<Vec<Candidate>>, SearchError> {
        let n = space.n();
        let mut pivots = self.random_order();
        pivots.truncate(pivots_of(n));
        pivots.sort_unstable();
        let clusters = self.clusters(space, &pivots)?;
        let pairs = |cluster: &Vec<u32>| (cluster.len() as u64).pow(2);
        let mut part = Part { whole: self.observer, before: 0, total: clusters.iter().map(pairs).sum() };
        let mut lists: Vec<Vec<Candidate>> = vec![Vec::new(); n];
        for cluster in &clusters {
            let found = self.search(space.metric(), k, &part).self_join(&Subset::new(space as &dyn Rows, cluster))?;
            let merge = |(i, &node): (usize, &u32)| {
                let places =
                    found.list(i).iter().zip(found.list_scores(i)).filter(|&(&other, _)| other != NO_NEIGHBOUR);
                let new = places.map(|(&other, &score)| (space.squared_distance(score), cluster[other as usize]));
                let mut list: Vec<Candidate> = lists[node as usize].iter().copied().chain(new).collect();
                sort(&mut list);
                list.truncate(k);
                list.shrink_to_fit();
                list
            };
            let merged: Vec<_> = self.threads.run(|| cluster.par_iter().enumerate().map(merge).collect())?;
            for (&node, list) in cluster.iter().zip(merged) {
                lists[node as usize] = list;
            }
            part.before += pairs(cluster);
        }
        Ok(lists)
    }

    /// The clusters of these pivots, of which none is too large; each has its nodes in their order.
    fn clusters(&self, space: &Space<'_>, pivots: &[u32]) -> Result<Vec<Vec<u32>>, SearchError> {
        let overlap = OVERLAP.min(pivots.len());
        let quiet = Quiet(self.observer);
        let nearest =
            self.search(space.metric(), overlap, &quiet).queries(&Subset::new(space as &dyn Rows, pivots), space)?;
        let mut left: Vec<Vec<u32>> = vec![Vec::new(); pivots.len()];
        for node in 0..nearest.n() {
            for &pivot in nearest.list(node) {
                left[pivot as usize].push(node as u32);
            }
        }
        let largest = LARGEST * overlap * space.n().div_ceil(pivots.len().max(1));
        let mut clusters = Vec::new();
        while let Some(cluster) = left.pop() {
            if cluster.len() <= largest {
                clusters.push(cluster);
            } else {
                going_on(self.observer)?;
                left.extend(self.threads.run(|| halves(space, cluster))?);
            }
        }
        Ok(clusters)
    }
}

/// The half of the nodes that lie rather toward the first, and the others, which lie rather toward the one farthest from it.
fn halves(space: &Space<'_>, mut cluster: Vec<u32>) -> [Vec<u32>; 2] {
    let distances =
        |from: u32| -> Vec<f64> { cluster.par_iter().map(|&node| space.distance_between(from, node)).collect() };
    let near = distances(cluster[0]);
    let farthest = (0..cluster.len()).max_by(|&a, &b| near[a].total_cmp(&near[b])).unwrap_or(0);
    let far = distances(cluster[farthest]);
    let mut order: Vec<(f64, u32)> = cluster.drain(..).enumerate().map(|(i, node)| (near[i] - far[i], node)).collect();
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (first, second) = order.split_at(middle);
    [first, second].map(|half| {
        let mut nodes: Vec<u32> = half.iter().map(|&(_, node)| node).collect();
        nodes.sort_unstable();
        nodes
    })
}

/// Tells of a search as one of several.
struct Part<'a> {
    whole: &'a dyn Observer,
    /// Steps that are done by those before, and in all.
    before: u64,
    total: u64,
}

impl Observer for Part<'_> {
    fn progress(&self, done: u64, _: u64) {
        self.whole.progress(self.before + done, self.total);
    }

    fn cancelled(&self) -> bool {
        self.whole.cancelled()
    }
}
