//! Equal rows, which no filter can tell apart: one of each kind is searched, and stands for all.

use std::ops::Range;

use rayon::prelude::*;

use crate::filter::spread;
use crate::{NO_NEIGHBOUR, Neighbours, Rows, Ties, TopK};

/// Rows that are looked at first: where equal rows matter, some of these are equal.
const SAMPLED: usize = 2048;

/// Bytes of memory per row that finding equal rows takes at most.
const ROW_MEMORY: u64 = 16 + 2 * 4 + 8 + 4;

/// Rows of a base, grouped by their bits.
#[derive(Debug)]
pub struct EqualRows {
    /// One row of each group, the first in the order of ties; the groups are in that order.
    pub(crate) first: Vec<u32>,
    /// The group of each row.
    pub(crate) group: Vec<u32>,
    /// The rows group by group, in that order.
    rows: Vec<u32>,
    /// Where the rows of each group lie in `rows`.
    places: Vec<Range<u32>>,
}

impl EqualRows {
    /// The groups of `base`, in the order of their first rows, made on the current thread pool.
    pub fn all(base: &dyn Rows) -> Self {
        let ties = Ties::LowerIndex;
        let (rows, places) = Self::sorted(base, ties);
        Self::of(rows, places, ties)
    }

    /// The groups that each row names. None unless groups are numbered from 0 in the order of their first rows.
    pub fn from_groups(group: Vec<u32>) -> Option<Self> {
        let mut first = Vec::new();
        let mut sizes: Vec<u32> = Vec::new();
        for (row, &group) in group.iter().enumerate() {
            if group as usize == first.len() {
                first.push(row as u32);
                sizes.push(0);
            }
            *sizes.get_mut(group as usize)? += 1;
        }
        let ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let places: Vec<Range<u32>> = ends.zip(&sizes).map(|(end, size)| end - size..end).collect();
        let mut next: Vec<u32> = places.iter().map(|place| place.start).collect();
        let mut rows = vec![0; group.len()];
        for (row, &group) in group.iter().enumerate() {
            let place = &mut next[group as usize];
            rows[*place as usize] = row as u32;
            *place += 1;
        }
        Some(Self { first, group, rows, places })
    }

    /// The group of each row: what [`EqualRows::from_groups`] takes.
    pub fn of_rows(&self) -> &[u32] {
        &self.group
    }

    /// Number of groups: distinct rows.
    pub fn groups(&self) -> usize {
        self.first.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The first row of a group.
    ///
    /// # Panics
    /// If `group` is not below [`EqualRows::groups`].
    pub fn first(&self, group: usize) -> u32 {
        self.first[group]
    }

    /// The rows of a group.
    ///
    /// # Panics
    /// If `group` is not below [`EqualRows::groups`].
    pub fn group(&self, group: usize) -> &[u32] {
        let place = &self.places[group];
        &self.rows[place.start as usize..place.end as usize]
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * (self.first.len() + self.group.len() + self.rows.len()) + 8 * self.places.len()
    }

    /// The groups of `base`, if so many rows are equal that a row meets more of its own kind than a list of `k` has places.
    /// None if that takes more than `memory` bytes.
    pub(crate) fn find(base: &dyn Rows, k: usize, ties: Ties, memory: u64) -> Option<Self> {
        let n = base.n();
        let sample = spread(n, SAMPLED);
        if hashes(base, &sample).windows(2).all(|two| two[0].0 != two[1].0) || n as u64 * ROW_MEMORY > memory {
            return None;
        }
        let (rows, places) = Self::sorted(base, ties);
        let pairs: u64 = places.iter().map(|p: &Range<u32>| (p.len() as u64).pow(2)).sum();
        (pairs > (n as u64).saturating_mul(k as u64 + 1)).then(|| Self::of(rows, places, ties))
    }

    /// The rows group by group, each in the order of ties, and where the groups lie.
    fn sorted(base: &dyn Rows, ties: Ties) -> (Vec<u32>, Vec<Range<u32>>) {
        let all: Vec<u32> = (0..base.n() as u32).collect();
        let mut rows = Vec::with_capacity(all.len());
        let mut places = Vec::new();
        let place = |row: &u32| (ties.key(*row), *row);
        for same_hash in hashes(base, &all).chunk_by(|a, b| a.0 == b.0) {
            let mut rest: Vec<u32> = same_hash.iter().map(|&(_, row)| row).collect();
            // Different rows may share a hash.
            while let Some(&one) = rest.first() {
                let begin = rows.len();
                rows.extend(rest.extract_if(.., |&mut row| equal(base, one, row)));
                rows[begin..].sort_unstable_by_key(place);
                places.push(begin as u32..rows.len() as u32);
            }
        }
        (rows, places)
    }

    fn of(rows: Vec<u32>, mut places: Vec<Range<u32>>, ties: Ties) -> Self {
        let place = |row: &u32| (ties.key(*row), *row);
        let first_of = |p: &Range<u32>| rows[p.start as usize];
        places.par_sort_unstable_by_key(|p| place(&first_of(p)));
        let mut group = vec![0; rows.len()];
        for (number, p) in places.iter().enumerate() {
            rows[p.start as usize..p.end as usize].iter().for_each(|&row| group[row as usize] = number as u32);
        }
        Self { first: places.iter().map(first_of).collect(), group, rows, places }
    }

    /// Lists of `k` rows from lists of groups. `of_query` names the list of each query and a row that is left out of it.
    ///
    /// The lists of groups must be one place longer than `k`, and one more where a row is left out: each of the `k + 1` best
    /// rows is in one of as many best groups, where groups rank by their score and their first row.
    pub(crate) fn expand(
        &self,
        lists: &Neighbours,
        k: usize,
        ties: Ties,
        queries: usize,
        of_query: impl Fn(usize) -> (usize, Option<u32>) + Sync,
    ) -> Vec<TopK> {
        let expanded = (0..queries).into_par_iter().map(|query| {
            let (list, left_out) = of_query(query);
            let mut best = TopK::new(k, lists.metric(), ties);
            for (&group, &score) in lists.list(list).iter().zip(lists.list_scores(list)) {
                if group == NO_NEIGHBOUR {
                    break;
                }
                let place = &self.places[group as usize];
                let rows = self.rows[place.start as usize..place.end as usize].iter();
                let rows = rows.filter(|&&row| Some(row) != left_out).take(k.saturating_add(1));
                rows.for_each(|&row| best.offer(row, score));
            }
            best
        });
        expanded.collect()
    }
}

/// The rows `rows` by a hash of their bits, in ascending order.
fn hashes(base: &dyn Rows, rows: &[u32]) -> Vec<(u64, u32)> {
    let mut hashes: Vec<(u64, u32)> = rows
        .par_iter()
        .map_init(Vec::new, |scratch, &row| {
            let row_hash = base.row(row as usize, scratch).iter().fold(0u64, |hash, value| {
                (hash.rotate_left(5) ^ u64::from(value.to_bits())).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            });
            (row_hash, row)
        })
        .collect();
    hashes.par_sort_unstable();
    hashes
}

fn equal(base: &dyn Rows, a: u32, b: u32) -> bool {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let (a, b) = (base.row(a as usize, &mut first), base.row(b as usize, &mut second));
    a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
}
