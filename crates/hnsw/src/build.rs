//! How a graph is built, and one from exact neighbour lists: prune, add the way back, connect. The other way is in
//! `incremental.rs`.
//!
//! 1. Every node gets its exact nearest nodes as candidates (of very many nodes, most of them: `nearby.rs`), and as many of nested random subsets of the nodes, whose
//!    nearest are far: the long edges that make walks short.
//! 2. A candidate becomes a neighbour unless a nearer neighbour already leads there: unless it is nearer to that one,
//!    by a factor, than to the node (the relative-neighbourhood rule; Toussaint 1980, with the factor of Jayaram Subramanya
//!    et al. 2019).
//! 3. Edges get their way back, and nodes that then have too many neighbours are pruned again. Under the inner product the `m`
//!    nodes of the largest products are neighbours as well.
//! 4. What cannot be reached from the entries gets an edge from its nearest candidate that can, or from where a descent
//!    toward it ends.
//!
//! Nothing depends on the order in which threads run, so the same rows give the same graph.

use mnno_exact::{Metric, NO_NEIGHBOUR, Neighbours, Observer, Rows, Search, SearchError, Subset, Threads, Ties};
use rayon::prelude::*;

use crate::graph::{Graph, parts, reach};
use crate::incremental;
use crate::nearby::{self, Lists};
use crate::points::Points;
use crate::prune::{Candidate, Pruner, sort};
use crate::search::HIDDEN;
use crate::space::Space;

/// Where a graph comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// From exact neighbour lists: the same graph every time, for any number of threads.
    #[default]
    KnnGraph,
    /// Row by row, each among the nearest that a walk finds of those before it (Malkov and Yashunin 2016), by the crate
    /// `hnsw_rs`.
    Hnsw {
        /// Whether threads insert rows side by side. The graph then depends on which comes first; else it is the same every
        /// time.
        parallel: bool,
    },
}

impl Method {
    /// Largest [`BuildOptions::m`] under [`Method::Hnsw`].
    pub const MOST_M_OF_HNSW: usize = 256;

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::KnnGraph => "knn-graph",
            Self::Hnsw { .. } => "hnsw",
        }
    }

    /// The [`BuildOptions::ef_construction`] that does in most cases: 32, or 200 under [`Method::Hnsw`].
    pub fn ef_construction(self) -> usize {
        match self {
            Self::KnnGraph => 32,
            Self::Hnsw { .. } => 200,
        }
    }
}

/// How a graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// Where it comes from.
    pub method: Method,
    /// Half of the most neighbours that a node keeps, as in HNSW; under [`Method::Hnsw`] the nearest number of 2 to
    /// [`Method::MOST_M_OF_HNSW`] is taken.
    pub m: usize,
    /// Candidates that are looked at for each node: its exact nearest, or under [`Method::Hnsw`] what a walk keeps in view.
    pub ef_construction: usize,
    /// Under [`Method::KnnGraph`], whether the nearest are exact.
    pub lists: Lists,
    /// Of the random subsets and pivots, or under [`Method::Hnsw`] of the order of insertion.
    pub seed: u64,
    /// The most memory, in bytes, that each of the exact searches may take beside [`BuildOptions::memory_beside`].
    pub memory: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self::new(Method::default())
    }
}

impl BuildOptions {
    /// `m` 16 and the method's usual `ef_construction`.
    pub fn new(method: Method) -> Self {
        Self { method, m: 16, ef_construction: method.ef_construction(), lists: Lists::Auto, seed: 0, memory: u64::MAX }
    }

    /// Bytes of memory that building an index of `n` rows of `d` values on `threads` threads takes beside its exact searches, at
    /// most: candidates, edges and ways back, equal rows, codes, and the rows that a thread prunes.
    pub fn memory_beside(&self, n: usize, d: usize, threads: usize) -> u64 {
        if let Method::Hnsw { .. } = self.method {
            return incremental::memory(self, n, d);
        }
        let candidates = self.ef_construction.saturating_add(2 * OF_SUBSET);
        // Edges and their ways back, and under the inner product the lists of largest products.
        let edges = self.m.saturating_mul(8).saturating_add(BACK);
        let row =
            candidates.saturating_add(edges).saturating_mul(size_of::<Candidate>()).saturating_add(d + 160) as u64;
        // The clusters that a node joins, while they are looked for and once they are found.
        let row = row.saturating_add(if self.lists.nearby(n).is_some() { nearby::MEMORY } else { 0 });
        let pruned = candidates.saturating_add(edges).saturating_mul(d.saturating_mul(4)) as u64;
        row.saturating_mul(n as u64).saturating_add(pruned.saturating_mul(threads as u64))
    }
}

/// Candidates of a subset.
const OF_SUBSET: usize = 24;
/// Each subset has one node in so many of the one before.
const SUBSET: usize = 4;
/// Nodes that walks begin from, at most, and of how many nodes there is one.
const ENTRIES: usize = 512;
const NODES_PER_ENTRY: usize = 32;
/// One in so many nodes may lie more densely than rounding leaves apart.
const DENSER: usize = 100;
/// Ways back that are looked at for each node, nearest first.
const BACK: usize = 96;

pub(crate) struct Builder<'a> {
    pub(crate) points: Points<'a>,
    pub(crate) options: BuildOptions,
    pub(crate) threads: Threads<'a>,
    pub(crate) observer: &'a dyn Observer,
}

/// A graph, and how far apart the scores of a node's nearest and its farthest candidate are, for one of the densest nodes: what
/// a walk must be able to tell apart.
pub(crate) struct Built {
    pub(crate) graph: Graph,
    pub(crate) spread: f64,
    /// [`Index::nearby`](crate::Index::nearby).
    pub(crate) nearby: Option<f64>,
}

impl Builder<'_> {
    pub(crate) fn build(&self) -> Result<Built, SearchError> {
        let space = Space::new(&self.points);
        match self.options.method {
            Method::KnnGraph => self.by_lists(&space),
            Method::Hnsw { parallel } => self.by_insertion(&space, parallel),
        }
    }

    fn by_lists(&self, space: &Space<'_>) -> Result<Built, SearchError> {
        let n = self.points.equal.groups();
        let k = self.options.ef_construction;
        let nearby = self.options.lists.nearby(n);
        let mut candidates: Vec<Vec<Candidate>> = vec![Vec::new(); n];
        if nearby.is_some() {
            candidates = self.nearby(space, k)?;
        } else {
            self.add_nearest(space, None, k, &mut candidates)?;
        }
        let spread = spread(space, candidates.iter().filter_map(|list| Some((list.first()?.0, list.last()?.0))));
        let order = self.random_order();
        let entries = entries(&order, &candidates);
        let mut size = n / SUBSET;
        while size > OF_SUBSET && size >= entries_of(n) {
            let mut subset = order[..size].to_vec();
            subset.sort_unstable();
            self.add_nearest(space, Some(&subset), OF_SUBSET, &mut candidates)?;
            size /= SUBSET;
        }
        let products = self.largest_products()?;
        let rough = self.points.are_rough_enough(spread, HIDDEN);
        let graph = self.threads.run(|| self.graph(space, rough, &candidates, entries, products.as_ref()))??;
        Ok(Built { graph, spread, nearby })
    }

    /// The nodes in a random order.
    pub(crate) fn random_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.points.equal.groups() as u32).collect();
        let random = Ties::Random { seed: self.options.seed, space: 0 };
        order.sort_unstable_by_key(|&node| (random.key(node), node));
        order
    }

    /// An exact search.
    pub(crate) fn search<'s>(&'s self, metric: Metric, k: usize, observer: &'s dyn Observer) -> Search<'s> {
        Search::new(metric, k)
            .kernels(self.points.kernels)
            .threads(self.threads)
            .memory(self.options.memory)
            .observer(observer)
    }

    /// Adds the `k` exact nearest of each node, among all nodes or those of a subset, to its candidates.
    fn add_nearest(
        &self,
        space: &Space<'_>,
        subset: Option<&[u32]>,
        k: usize,
        candidates: &mut [Vec<Candidate>],
    ) -> Result<(), SearchError> {
        // The bar is that of the first search, which is nearly all of the work.
        let quiet = Quiet(self.observer);
        let observer = if subset.is_some() { &quiet } else { self.observer };
        let search = self.search(space.metric(), k, observer);
        let lists = match subset {
            Some(subset) => search.self_join(&Subset::new(space as &dyn Rows, subset))?,
            None => search.self_join(space)?,
        };
        let number = |i: u32| subset.map_or(i, |subset| subset[i as usize]);
        for i in 0..lists.n() {
            let list = &mut candidates[number(i as u32) as usize];
            list.reserve_exact(k);
            for (&other, &score) in lists.list(i).iter().zip(lists.list_scores(i)) {
                if other != NO_NEIGHBOUR {
                    list.push((space.squared_distance(score), number(other)));
                }
            }
        }
        Ok(())
    }

    /// Under the inner product, the nodes that have the largest products with each: often a few long rows, far away in the space
    /// of distances.
    pub(crate) fn largest_products(&self) -> Result<Option<Neighbours>, SearchError> {
        if self.points.metric != Metric::InnerProduct {
            return Ok(None);
        }
        let rows: Vec<u32> = (0..self.points.equal.groups()).map(|node| self.points.equal.first(node)).collect();
        let quiet = Quiet(self.observer);
        let search = self.search(Metric::InnerProduct, self.options.m, &quiet);
        search.self_join(&Subset::new(self.points.base, &rows)).map(Some)
    }

    fn graph(
        &self,
        space: &Space<'_>,
        rough: bool,
        candidates: &[Vec<Candidate>],
        entries: Vec<u32>,
        products: Option<&Neighbours>,
    ) -> Result<Graph, SearchError> {
        let pruner = || Pruner::new(space, rough);
        let most = 2 * self.options.m;
        let forward: Vec<Vec<Candidate>> = candidates
            .par_iter()
            .map_init(pruner, |pruner, list| {
                going_on(self.observer)?;
                Ok(pruner.prune(list.clone(), most))
            })
            .collect::<Result<_, SearchError>>()?;
        let mut back: Vec<Vec<Candidate>> = vec![Vec::new(); forward.len()];
        for (node, list) in forward.iter().enumerate() {
            for &(distance, other) in list {
                back[other as usize].push((distance, node as u32));
            }
        }
        let lists = forward.into_par_iter().zip(back).map_init(pruner, |pruner, (mut list, mut back)| {
            going_on(self.observer)?;
            sort(&mut back);
            back.truncate(BACK);
            list.append(&mut back);
            sort(&mut list);
            if list.len() > most {
                list = pruner.prune(list, most);
            }
            Ok(list.into_iter().map(|(_, other)| other).collect())
        });
        let lists = lists.collect::<Result<Vec<Vec<u32>>, SearchError>>()?;
        finish(space, candidates, entries, lists, products)
    }
}

/// The graph of these lists, with the largest products and whatever edges make every node reachable from the entries.
pub(crate) fn finish(
    space: &Space<'_>,
    candidates: &[Vec<Candidate>],
    entries: Vec<u32>,
    mut lists: Vec<Vec<u32>>,
    products: Option<&Neighbours>,
) -> Result<Graph, SearchError> {
    if let Some(products) = products {
        for (node, list) in lists.iter_mut().enumerate() {
            let largest = products.list(node).iter().filter(|&&other| other != NO_NEIGHBOUR);
            let more: Vec<u32> = largest.copied().filter(|other| !list.contains(other)).collect();
            list.extend(more);
        }
    }
    connect(space, candidates, &entries, &mut lists);
    Graph::new(&lists, entries)
}

/// How many of `n` nodes walks begin from.
pub(crate) fn entries_of(n: usize) -> usize {
    (n / NODES_PER_ENTRY).clamp(1, ENTRIES).min(n)
}

/// The first nodes of `order`, and one of each part of the nodes that lists do not lead out of and that has none, the largest
/// parts first: at most [`ENTRIES`].
fn entries(order: &[u32], lists: &[Vec<Candidate>]) -> Vec<u32> {
    let parts = parts(lists.len(), |node| lists[node as usize].iter().map(|&(_, other)| other));
    let part = |&node: &u32| parts[node as usize] as usize;
    let mut sizes = vec![0u32; lists.len()];
    for node in order {
        sizes[part(node)] += 1;
    }
    let (first, rest) = order.split_at(entries_of(order.len()));
    let mut begun = vec![false; lists.len()];
    for node in first {
        begun[part(node)] = true;
    }
    let mut more: Vec<u32> =
        rest.iter().copied().filter(|node| !std::mem::replace(&mut begun[part(node)], true)).collect();
    more.sort_by_key(|node| std::cmp::Reverse(sizes[part(node)]));
    more.truncate(ENTRIES - first.len().min(ENTRIES));
    let mut entries = [first, &more].concat();
    entries.sort_unstable();
    entries
}

/// [`Built::spread`] of the squared distances of nodes from their nearest and their farthest candidates.
pub(crate) fn spread(space: &Space<'_>, ends: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut spreads: Vec<f64> = ends.map(|(nearest, farthest)| space.score(farthest - nearest)).collect();
    let place = spreads.len() / DENSER;
    if spreads.is_empty() { 0.0 } else { *spreads.select_nth_unstable_by(place, f64::total_cmp).1 }
}

/// Passes on whether to give up, and nothing else.
pub(crate) struct Quiet<'a>(pub(crate) &'a dyn Observer);

impl Observer for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// An error once the observer cancels.
pub(crate) fn going_on(observer: &dyn Observer) -> Result<(), SearchError> {
    if observer.cancelled() { Err(SearchError::Interrupted) } else { Ok(()) }
}

/// Makes every node reachable from the entries.
fn connect(space: &Space<'_>, candidates: &[Vec<Candidate>], entries: &[u32], lists: &mut [Vec<u32>]) {
    let n = lists.len();
    let mut reached = vec![false; n];
    let mut found = reach(lists, entries, &mut reached);
    let mut node = 0;
    while found < n {
        if reached[node] {
            node += 1;
            continue;
        }
        let near = candidates[node].iter().find(|&&(_, other)| reached[other as usize]);
        let from = near.map_or_else(|| descend(space, node as u32, entries, lists), |&(_, other)| other);
        lists[from as usize].push(node as u32);
        found += reach(lists, &[node as u32], &mut reached);
    }
}

/// From the entry nearest to `node` on to nearer neighbours, as far as that goes.
fn descend(space: &Space<'_>, node: u32, entries: &[u32], lists: &[Vec<u32>]) -> u32 {
    let nearest = |nodes: &[u32]| {
        let distances = nodes.iter().map(|&other| (space.distance_between(node, other), other));
        distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    };
    let mut here = nearest(entries).unwrap_or((0.0, 0));
    while let Some(next) = nearest(&lists[here.1 as usize]).filter(|next| next.0 < here.0) {
        here = next;
    }
    here.1
}
