//! Why a measure is not defined for its input.

/// Why a measure is not defined for its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The two sets have different numbers of lists.
    #[error("one space has {a} rows, the other {b}: lists are compared row by row")]
    Rows {
        /// Lists of the first set.
        a: usize,
        /// Lists of the second set.
        b: usize,
    },
    /// The lists have different lengths.
    #[error("one space has lists of {a} neighbours, the other of {b}")]
    Lengths {
        /// Places per list in the first space.
        a: usize,
        /// Places per list in the second space.
        b: usize,
    },
    /// Lists of no neighbours have no overlap.
    #[error("k is 0: an overlap needs at least one neighbour")]
    KZero,
    /// There are fewer candidates than places.
    #[error("k = {k} neighbours are more than the {largest} candidates that each of {n} rows has")]
    KTooLarge {
        /// Neighbours asked for.
        k: usize,
        /// Rows.
        n: usize,
        /// The largest k for so many rows.
        largest: usize,
    },
    /// A list has a place that no candidate fills.
    #[error("the list of row {row} has fewer than k neighbours")]
    ShortList {
        /// The row, from 0.
        row: usize,
    },
    /// A list names a row that does not exist.
    #[error("the list of row {row} names row {index} of a space of {n} rows")]
    UnknownRow {
        /// The row, from 0.
        row: usize,
        /// The neighbour it lists.
        index: u32,
        /// Rows of the space.
        n: usize,
    },
    /// The observer asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A list names a row twice.
    #[error("the list of row {row} names row {index} twice")]
    Repeated {
        /// The row, from 0.
        row: usize,
        /// The neighbour it repeats.
        index: u32,
    },
}
