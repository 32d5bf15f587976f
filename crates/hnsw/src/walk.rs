//! A walk over the graph toward a query: always on from the nearest node that it has not left yet.

use crate::Graph;

/// Scores of one query with nodes; larger is nearer.
pub(crate) trait Near {
    /// Asks for what the score of a node is made of.
    fn prefetch(&self, node: u32);

    /// Writes the score of each node to `scores`, which is cleared first.
    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f64>);
}

/// A node that was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) score: f64,
    pub(crate) node: u32,
    left: bool,
}

/// What walks on one thread work with.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// A bit for each node.
    visited: Vec<u64>,
    /// The nearest nodes seen, nearest first.
    beam: Vec<Seen>,
    fresh: Vec<u32>,
    scores: Vec<f64>,
}

impl Walk {
    /// Nodes near the query, nearest first: at most `ef`.
    pub(crate) fn walk(&mut self, graph: &Graph, near: &mut impl Near, ef: usize) -> &[Seen] {
        self.visited.clear();
        self.visited.resize(graph.n().div_ceil(64), 0);
        self.beam.clear();
        self.visit(graph.entries(), near);
        self.keep(ef);
        let mut next = 0;
        while let Some(seen) = self.beam.get_mut(next) {
            if seen.left {
                next += 1;
                continue;
            }
            seen.left = true;
            let node = seen.node;
            self.visit(graph.neighbours(node), near);
            next = next.min(self.keep(ef));
        }
        &self.beam
    }

    /// Scores those of `nodes` that were not visited yet.
    fn visit(&mut self, nodes: &[u32], near: &mut impl Near) {
        self.fresh.clear();
        for &node in nodes {
            let (word, bit) = (&mut self.visited[node as usize / 64], 1 << (node % 64));
            if *word & bit == 0 {
                *word |= bit;
                near.prefetch(node);
                self.fresh.push(node);
            }
        }
        near.scores(&self.fresh, &mut self.scores);
    }

    /// Keeps the nodes just scored that are among the `ef` nearest; the first place in the beam that changed.
    fn keep(&mut self, ef: usize) -> usize {
        let mut first = usize::MAX;
        for (&node, &score) in self.fresh.iter().zip(&self.scores) {
            if self.beam.len() >= ef && self.beam.last().is_none_or(|last| score <= last.score) {
                continue;
            }
            let place = self.beam.partition_point(|seen| seen.score >= score);
            if self.beam.len() >= ef {
                self.beam.pop();
            }
            self.beam.insert(place, Seen { score, node, left: false });
            first = first.min(place);
        }
        first
    }
}
