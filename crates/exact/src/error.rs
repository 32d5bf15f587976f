//! Why a search cannot be done.

use std::fmt;

use crate::{Filter, Tier};

/// Which of the two matrices an error speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The rows that are searched.
    Base,
    /// The rows that ask.
    Queries,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Queries => "queries",
        })
    }
}

/// Why a search cannot be done. Rows and columns count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// Queries and base have different numbers of columns.
    #[error("queries have {queries} dimensions, but the base has {base}")]
    Dimensions {
        /// Columns of the queries.
        queries: usize,
        /// Columns of the base.
        base: usize,
    },
    /// A value is NaN or infinite, so that no order of the scores is defined.
    #[error("{side}: row {row}, column {column} is {value}")]
    NonFinite {
        /// The matrix.
        side: Side,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The value found.
        value: f32,
    },
    /// A zero vector has no direction, so that its cosine is undefined.
    #[error("{side}: row {row} is a zero vector, whose cosine is undefined")]
    ZeroVector {
        /// The matrix.
        side: Side,
        /// Its row.
        row: usize,
    },
    /// Row numbers are u32 inside, one of them reserved.
    #[error("the base has {n} rows; at most {max} can be searched", max = u32::MAX - 1)]
    TooManyRows {
        /// Rows of the base.
        n: usize,
    },
    /// The lists would take more memory than can be addressed.
    #[error("{queries} lists of {k} neighbours are more than memory can hold")]
    TooManyPlaces {
        /// Number of queries.
        queries: usize,
        /// Places per list.
        k: usize,
    },
    /// The lists and the smallest tiles take more memory than the search may take.
    #[error("the search needs {needed} bytes of memory, but may take {budget}")]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// The kernels have no products of this precision.
    #[error("the SIMD tier {tier} has no {filter} filter")]
    Filter {
        /// The filter that was asked for.
        filter: Filter,
        /// The tier of the kernels.
        tier: Tier,
    },
    /// An exclusion does not fit the matrices.
    #[error("{what}: {given} entries for {rows} rows")]
    ExcludeLength {
        /// What was given.
        what: &'static str,
        /// Rows of the matrix.
        rows: usize,
        /// Entries given.
        given: usize,
    },
    /// The threads could not be started.
    #[error("cannot start the search threads")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// The system has no memory for the packed rows or the candidates.
    #[error("cannot get {bytes} bytes of memory")]
    Allocation {
        /// Bytes asked for.
        bytes: usize,
        /// Why.
        source: std::io::Error,
    },
    /// The observer asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl SearchError {
    /// The same of other rows: those of the base, and of the queries if they are the base's, are `number(row)`.
    #[must_use]
    pub fn renumbered(self, number: impl Fn(usize) -> usize, queries_too: bool) -> Self {
        let number = |side, row| if side == Side::Base || queries_too { number(row) } else { row };
        match self {
            Self::NonFinite { side, row, column, value } => {
                Self::NonFinite { side, row: number(side, row), column, value }
            }
            Self::ZeroVector { side, row } => Self::ZeroVector { side, row: number(side, row) },
            other => other,
        }
    }
}
