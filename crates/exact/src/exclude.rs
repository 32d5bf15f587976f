//! Which base rows are no candidates for a query.

use std::collections::HashMap;

use crate::SearchError;

/// Candidates left out of a search: by identity, never by dropping a column of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub enum Exclude<'a> {
    /// Every base row is a candidate.
    #[default]
    None,
    /// Base row `i` is no candidate for query `i`: the row itself, when a set is searched in itself.
    SameIndex,
    /// Base rows `ids[i]` are no candidates for query `i`, in any order.
    Ids(&'a [Vec<u32>]),
    /// Base rows that share a group with the query are no candidates (same document, same class). Each row has any
    /// number of groups.
    Groups {
        /// The groups of each query.
        queries: &'a [Vec<u32>],
        /// The groups of each base row.
        base: &'a [Vec<u32>],
    },
}

impl Exclude<'_> {
    /// Whether a base row is no candidate for a query.
    ///
    /// # Panics
    /// If there is no entry for either.
    pub fn excludes(&self, query: usize, base_row: u32) -> bool {
        match self {
            Self::None => false,
            Self::SameIndex => query == base_row as usize,
            Self::Ids(ids) => ids[query].contains(&base_row),
            Self::Groups { queries, base } => {
                queries[query].iter().any(|group| base[base_row as usize].contains(group))
            }
        }
    }

    /// The number of base rows of each group, where groups are excluded.
    pub(crate) fn group_sizes(&self) -> HashMap<u32, usize> {
        let mut sizes = HashMap::new();
        if let Self::Groups { base, .. } = self {
            for group in base.iter().flatten() {
                *sizes.entry(*group).or_default() += 1;
            }
        }
        sizes
    }

    /// At least as many as the base rows that are no candidates for `query`.
    pub(crate) fn at_most(&self, query: usize, group_sizes: &HashMap<u32, usize>) -> usize {
        match self {
            Self::None => 0,
            Self::SameIndex => 1,
            Self::Ids(ids) => ids[query].len(),
            Self::Groups { queries, .. } => queries[query].iter().filter_map(|group| group_sizes.get(group)).sum(),
        }
    }

    /// Checks that there is one entry per row.
    ///
    /// # Errors
    /// [`SearchError::ExcludeLength`].
    pub fn check(&self, queries: usize, base: usize) -> Result<(), SearchError> {
        let expect = |what, rows, given| {
            if rows == given { Ok(()) } else { Err(SearchError::ExcludeLength { what, rows, given }) }
        };
        match self {
            Self::None | Self::SameIndex => Ok(()),
            Self::Ids(ids) => expect("excluded ids", queries, ids.len()),
            Self::Groups { queries: q, base: b } => {
                expect("groups of the queries", queries, q.len())?;
                expect("groups of the base", base, b.len())
            }
        }
    }
}
