//! The graph: who is whose neighbour, and where a walk begins.

use mnno_exact::{Pages, SearchError};

/// A directed graph over the nodes `0..n`, in flat arrays, and the nodes where walks begin.
#[derive(Debug, PartialEq)]
pub struct Graph {
    /// Where the neighbours of each node end.
    ends: Pages<u64>,
    neighbours: Pages<u32>,
    entries: Vec<u32>,
}

impl Graph {
    /// The graph of these lists.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    ///
    /// # Panics
    /// If a neighbour or an entry is no node.
    pub(crate) fn new(lists: &[Vec<u32>], entries: Vec<u32>) -> Result<Self, SearchError> {
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u64;
            Some(*end)
        });
        let graph = Self::from_parts(&ends.collect::<Vec<u64>>(), &lists.concat(), entries)?;
        Ok(graph.expect("edges lead to nodes"))
    }

    /// The graph of these arrays: where the neighbours of each node end, all neighbours, and entries. None unless every edge
    /// and entry is a node, each node ends after the one before, and there is an entry if there are nodes.
    ///
    /// # Errors
    /// [`SearchError::Allocation`]
    pub(crate) fn from_parts(ends: &[u64], neighbours: &[u32], entries: Vec<u32>) -> Result<Option<Self>, SearchError> {
        let fits = u32::try_from(ends.len()).is_ok_and(|n| neighbours.iter().chain(&entries).all(|&node| node < n))
            && ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == neighbours.len() as u64
            && entries.is_empty() == ends.is_empty();
        if !fits {
            return Ok(None);
        }
        Ok(Some(Self { ends: Pages::of(ends)?, neighbours: Pages::of(neighbours)?, entries }))
    }

    /// What [`Graph::from_parts`] takes.
    pub(crate) fn parts(&self) -> (&[u64], &[u32], &[u32]) {
        (self.ends.as_slice(), self.neighbours.as_slice(), &self.entries)
    }

    /// Number of nodes.
    pub fn n(&self) -> usize {
        self.ends.as_slice().len()
    }

    /// The neighbours of a node.
    ///
    /// # Panics
    /// If `node` is not below [`Graph::n`].
    pub fn neighbours(&self, node: u32) -> &[u32] {
        self.edges_of_nodes().of(node)
    }

    /// The neighbours of each node, found quickly.
    pub(crate) fn edges_of_nodes(&self) -> Edges<'_> {
        Edges { ends: self.ends.as_slice(), neighbours: self.neighbours.as_slice() }
    }

    /// The nodes where walks begin; none only if there are no nodes.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.neighbours.as_slice().len()
    }

    /// Bytes of memory that the graph takes.
    pub fn bytes(&self) -> usize {
        8 * self.ends.as_slice().len() + 4 * (self.neighbours.as_slice().len() + self.entries.len())
    }
}

/// The arrays of a graph.
#[derive(Clone, Copy)]
pub(crate) struct Edges<'a> {
    ends: &'a [u64],
    neighbours: &'a [u32],
}

impl<'a> Edges<'a> {
    /// The neighbours of a node.
    #[inline]
    pub(crate) fn of(self, node: u32) -> &'a [u32] {
        let node = node as usize;
        let begin = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.neighbours[begin as usize..self.ends[node] as usize]
    }
}

/// For each of `n` nodes one that stands for all that edges, in either direction, connect with it.
pub(crate) fn parts<I: Iterator<Item = u32>>(n: usize, edges: impl Fn(u32) -> I) -> Vec<u32> {
    let mut above: Vec<u32> = (0..n as u32).collect();
    let find = |above: &mut Vec<u32>, mut node: u32| {
        while above[node as usize] != node {
            above[node as usize] = above[above[node as usize] as usize];
            node = above[node as usize];
        }
        node
    };
    for node in 0..n as u32 {
        for other in edges(node) {
            let (a, b) = (find(&mut above, node), find(&mut above, other));
            above[a.max(b) as usize] = a.min(b);
        }
    }
    (0..n as u32).map(|node| find(&mut above, node)).collect()
}

/// Marks everything that can be reached from `nodes`; returns how much was new.
pub(crate) fn reach(lists: &[Vec<u32>], nodes: &[u32], reached: &mut [bool]) -> usize {
    let mut stack: Vec<u32> = nodes.iter().copied().filter(|&node| !reached[node as usize]).collect();
    for &node in &stack {
        reached[node as usize] = true;
    }
    let mut found = stack.len();
    while let Some(node) = stack.pop() {
        for &other in &lists[node as usize] {
            if !reached[other as usize] {
                reached[other as usize] = true;
                found += 1;
                stack.push(other);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_are_what_edges_connect() {
        let edges: [&[u32]; 7] = [&[3], &[], &[1], &[], &[6, 5], &[], &[]];
        assert_eq!(parts(7, |node| edges[node as usize].iter().copied()), [0, 1, 1, 0, 4, 4, 4]);
    }
}
