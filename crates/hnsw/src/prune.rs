//! The relative-neighbourhood rule: which of a node's candidates become its neighbours.

use mnno_exact::Rows;

use crate::space::Space;

/// A candidate: its squared distance, and its number.
pub(crate) type Candidate = (f64, u32);

/// Squared distances between candidates count so many times: 1.05 squared, nearly.
const FACTOR: f64 = 1.1;
/// Candidates that one is compared with at a time.
const AT_ONCE: usize = 4;

/// Nearest first, each candidate once.
pub(crate) fn sort(list: &mut Vec<Candidate>) {
    list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    list.dedup_by_key(|candidate| candidate.1);
}

/// Prunes lists on one thread.
pub(crate) struct Pruner<'a> {
    space: &'a Space<'a>,
    /// Whether f32 tells distances between candidates apart.
    rough: bool,
    /// The candidates' rows, one after the other, if they do not lie in memory.
    copies: Vec<f32>,
    scratch: Vec<f32>,
}

impl<'a> Pruner<'a> {
    pub(crate) fn new(space: &'a Space<'a>, rough: bool) -> Self {
        Self { space, rough, copies: Vec::new(), scratch: Vec::new() }
    }

    /// At most `most` of the candidates, nearest first, none of which a kept one before it is much nearer to than the node.
    pub(crate) fn prune(&mut self, mut list: Vec<Candidate>, most: usize) -> Vec<Candidate> {
        sort(&mut list);
        let (space, d) = (self.space, self.space.d());
        let norms: Vec<f64> = list.iter().map(|&(_, other)| space.squared_norm(other)).collect();
        let borrowed: Option<Vec<&[f32]>> = list.iter().map(|&(_, other)| space.borrowed(other as usize)).collect();
        let rows = borrowed.unwrap_or_else(|| {
            self.copies.clear();
            for &(_, other) in &list {
                self.copies.extend_from_slice(space.row(other as usize, &mut self.scratch));
            }
            (0..list.len()).map(|i| &self.copies[i * d..(i + 1) * d]).collect()
        });
        for row in &rows {
            mnno_simd::prefetch(row);
        }
        let mut kept: Vec<usize> = Vec::with_capacity(most);
        for (i, &(distance, _)) in list.iter().enumerate() {
            if kept.len() == most {
                break;
            }
            let led = kept.chunks(AT_ONCE).any(|some| {
                let four: [usize; AT_ONCE] = std::array::from_fn(|j| some[j.min(some.len() - 1)]);
                let (others, of_others) = (four.map(|j| rows[j]), four.map(|j| norms[j]));
                let between = if self.rough {
                    space.rough_distances(rows[i], others, norms[i], of_others)
                } else {
                    space.distances(rows[i], others, norms[i], of_others)
                };
                between.into_iter().any(|between| FACTOR * between <= distance)
            });
            if !led {
                kept.push(i);
            }
        }
        kept.into_iter().map(|i| list[i]).collect()
    }
}
