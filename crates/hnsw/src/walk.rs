//! A walk over the graph toward a query: always on from the nearest node that it has not left yet.

use crate::Graph;

/// Places from the end within which the place of a node is looked for one by one.
const SHORT: usize = 16;

/// Scores of one query with nodes; larger is nearer.
pub(crate) trait Near {
    /// Asks for what the score of a node is made of.
    fn prefetch(&self, node: u32);

    /// Writes the score of each node to `scores`, which is cleared first.
    fn scores(&mut self, nodes: &[u32], scores: &mut Vec<f32>);

    /// What the score of a node with this canonical score would be without rounding.
    fn without_rounding(&self, canonical: f64) -> f64;

    /// What rounding may take off the score of a node.
    fn margin(&self, seen: Seen) -> f64;
}

/// A node that was seen, in one number: the nearer, the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Above the node and whether it was left.
    const SCORE: u32 = 33;

    /// Of the score, all but its lowest bit.
    pub(crate) fn new(node: u32, score: f32) -> Self {
        let bits = if score.is_nan() { f32::MAX } else { (-score).clamp(f32::MIN, f32::MAX) }.to_bits();
        // Numbers, turned so that they are ordered as their bits are.
        let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        Self(u64::from(ordered >> 1) << Self::SCORE | u64::from(node) << 1)
    }

    pub(crate) fn node(self) -> u32 {
        (self.0 >> 1) as u32
    }

    pub(crate) fn score(self) -> f32 {
        let ordered = ((self.0 >> Self::SCORE) << 1) as u32;
        -f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
    }

    fn is_left(self) -> bool {
        self.0 & 1 == 1
    }

    fn left(self) -> Self {
        Self(self.0 | 1)
    }

    /// Puts this in its place among the nearest `most`, which are sorted, if it is one of them; that place.
    pub(crate) fn keep(self, nearest: &mut Vec<Self>, most: usize) -> Option<usize> {
        if nearest.len() < most {
            nearest.push(self);
        } else {
            *nearest.last_mut().filter(|last| self < **last)? = self;
        }
        // Most of what comes late is far down, and has not far to go.
        let last = nearest.len() - 1;
        let near = last.saturating_sub(SHORT);
        let mut place = last;
        if self < nearest[near] {
            place = nearest[..near].partition_point(|&other| other < self);
            nearest.copy_within(place..last, place + 1);
        } else {
            while place > 0 && self < nearest[place - 1] {
                nearest[place] = nearest[place - 1];
                place -= 1;
            }
        }
        nearest[place] = self;
        Some(place)
    }
}

/// What walks on one thread work with.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// A bit for each node.
    visited: Vec<u64>,
    /// Nodes whose bits are set.
    set: Vec<u32>,
    /// The nearest nodes seen, nearest first.
    beam: Vec<Seen>,
    fresh: Vec<u32>,
    scores: Vec<f32>,
}

impl Walk {
    /// Nodes near the query, nearest first: at most `ef`. The walk begins at the nodes `starts`.
    pub(crate) fn walk(&mut self, graph: &Graph, starts: &[u32], near: &mut impl Near, ef: usize) -> &[Seen] {
        for node in self.set.drain(..) {
            self.visited[node as usize / 64] = 0;
        }
        self.visited.resize(graph.n().div_ceil(64), 0);
        self.beam.clear();
        self.look_at(starts, near);
        near.scores(&self.fresh, &mut self.scores);
        self.keep(ef);
        let edges = graph.edges_of_nodes();
        let mut next = 0;
        while let Some(ahead) = self.beam[next..].iter().position(|seen| !seen.is_left()) {
            next += ahead;
            let seen = &mut self.beam[next];
            *seen = seen.left();
            let node = seen.node();
            self.look_at(edges.of(node), near);
            // Most often the next.
            if let Some(seen) = self.beam[next..].iter().find(|seen| !seen.is_left()) {
                mnno_simd::prefetch(edges.of(seen.node()));
            }
            near.scores(&self.fresh, &mut self.scores);
            next = next.min(self.keep(ef));
        }
        &self.beam
    }

    /// Those of `nodes` that were not seen yet are the fresh ones.
    fn look_at(&mut self, nodes: &[u32], near: &impl Near) {
        // Whether a node was seen is a coin toss, which no branch foretells: each is written down, and written over if it was.
        self.fresh.resize(nodes.len(), 0);
        let mut count = 0;
        for &node in nodes {
            let (word, bit) = (&mut self.visited[node as usize / 64], 1 << (node % 64));
            self.fresh[count] = node;
            count += usize::from(*word & bit == 0);
            *word |= bit;
        }
        self.fresh.truncate(count);
        self.fresh.iter().for_each(|&node| near.prefetch(node));
        self.set.extend_from_slice(&self.fresh);
    }

    /// Keeps the nodes just scored that are among the `ef` nearest; the first place in the beam that changed.
    fn keep(&mut self, ef: usize) -> usize {
        let mut first = usize::MAX;
        for (&node, &score) in self.fresh.iter().zip(&self.scores) {
            if let Some(place) = Seen::new(node, score).keep(&mut self.beam, ef) {
                first = first.min(place);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_ordered_by_score_and_then_by_number() {
        let scores = [f32::INFINITY, 3e38, 1.5, 1e-40, 0.0, -1e-40, -2.0, -3e38, f32::NEG_INFINITY];
        let near = |x: f32, y: f32| (x - y).abs() <= 3e-7 * y.abs() + 1e-44;
        let mut seen: Vec<Seen> = scores.iter().map(|&score| Seen::new(u32::MAX, score)).collect();
        assert!(seen.is_sorted());
        for (seen, score) in seen.iter().zip(scores) {
            assert_eq!(seen.node(), u32::MAX);
            assert!(near(seen.score(), score.clamp(f32::MIN, f32::MAX)), "{} {score}", seen.score());
        }
        assert!([f32::NAN, -f32::NAN].iter().all(|&nan| Seen::new(7, nan) == Seen::new(7, f32::NEG_INFINITY)));
        seen = vec![Seen::new(3, 1.0), Seen::new(4, 1.0).left(), Seen::new(5, 1.0)];
        assert!(seen.is_sorted() && seen[1].is_left() && !seen[2].is_left());
    }
}
