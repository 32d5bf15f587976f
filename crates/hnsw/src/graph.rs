//! The graph: who is whose neighbour, and where a walk begins.

/// A directed graph over the nodes `0..n`, in flat arrays, and the nodes where walks begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each node end.
    ends: Vec<u64>,
    neighbours: Vec<u32>,
    entries: Vec<u32>,
}

impl Graph {
    /// The graph of these lists.
    ///
    /// # Panics
    /// If a neighbour or an entry is no node.
    pub(crate) fn new(lists: &[Vec<u32>], entries: Vec<u32>) -> Self {
        let n = lists.len() as u32;
        assert!(lists.iter().flatten().chain(&entries).all(|&node| node < n), "an edge leads to no node");
        let neighbours = lists.concat();
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u64;
            Some(*end)
        });
        Self { ends: ends.collect(), neighbours, entries }
    }

    /// The graph of these arrays: where the neighbours of each node end, all neighbours, and entries. None unless every edge
    /// and entry is a node, each node ends after the one before, and there is an entry if there are nodes.
    pub(crate) fn from_parts(ends: Vec<u64>, neighbours: Vec<u32>, entries: Vec<u32>) -> Option<Self> {
        let n = u32::try_from(ends.len()).ok()?;
        let fits = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == neighbours.len() as u64
            && neighbours.iter().chain(&entries).all(|&node| node < n)
            && entries.is_empty() == ends.is_empty();
        fits.then_some(Self { ends, neighbours, entries })
    }

    /// What [`Graph::from_parts`] takes.
    pub(crate) fn parts(&self) -> (&[u64], &[u32], &[u32]) {
        (&self.ends, &self.neighbours, &self.entries)
    }

    /// Number of nodes.
    pub fn n(&self) -> usize {
        self.ends.len()
    }

    /// The neighbours of a node.
    ///
    /// # Panics
    /// If `node` is not below [`Graph::n`].
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let begin = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.neighbours[begin as usize..self.ends[node] as usize]
    }

    /// Asks for the neighbours of a node.
    pub(crate) fn prefetch(&self, node: u32) {
        mnno_simd::prefetch(self.neighbours(node));
    }

    /// The nodes where walks begin; none only if there are no nodes.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.neighbours.len()
    }

    /// Bytes of memory that the graph takes.
    pub fn bytes(&self) -> usize {
        8 * self.ends.len() + 4 * (self.neighbours.len() + self.entries.len())
    }
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
