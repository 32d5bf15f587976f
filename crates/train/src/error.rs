//! Why a map cannot be made, read or applied, and why an experiment ends early.

use std::fmt;

use mnno_exact::SearchError;
use mnno_measures::MeasureError;

/// What is wrong with a map or its data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// Rows of other dimensions than the map takes.
    #[error("rows have {rows} dimensions, but the map takes {map}")]
    Dimensions {
        /// Dimensions of the rows.
        rows: usize,
        /// Dimensions that the map takes.
        map: usize,
    },
    /// Layers that do not make a map.
    #[error("the layers do not fit each other, or are none or more than 9")]
    Layers,
    /// A weight or bias that is no number.
    #[error("a weight or bias of layer {layer} (from 0) is {value}")]
    NonFiniteWeight {
        /// The layer.
        layer: usize,
        /// The weight.
        value: f64,
    },
    /// A mapped row with a value beyond f32.
    #[error("row {row} (from 0) is mapped to values beyond f32")]
    Overflow {
        /// The row.
        row: usize,
    },
    /// A loss that is no longer a number.
    #[error("the loss is not finite in epoch {epoch} at learning rate {learning_rate}")]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The learning rate.
        learning_rate: f64,
    },
    /// The observer asked for an end.
    #[error("interrupted")]
    Interrupted,
    /// Too few rows for what is asked.
    #[error("too few rows: {rows}, where {needed} are needed")]
    Rows {
        /// Rows there are.
        rows: usize,
        /// Rows needed.
        needed: usize,
    },
    /// A decomposition that found no solution.
    #[error("the equations of ridge regression have no numerical solution")]
    Unsolvable,
    /// Every point of a grid ended with a loss that is not finite.
    #[error("the loss is not finite at any point of the grid: the smallest learning rate is {learning_rate}")]
    AllDiverged {
        /// The smallest learning rate tried.
        learning_rate: f64,
    },
}

/// A set of rows of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// What is mapped.
    X,
    /// What it should be mapped to.
    Y,
    /// What it is mapped to.
    Mapped,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "X",
            Self::Y => "Y",
            Self::Mapped => "f(X)",
        })
    }
}

/// Why an experiment ends early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A map cannot be trained or applied.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Neighbours cannot be found.
    #[error("{space}: {source}")]
    Search {
        /// Whose neighbours.
        space: Space,
        /// Why.
        source: SearchError,
    },
    /// Lists cannot be compared, or have no `k` candidates.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

impl ExperimentError {
    /// The same with the numbers of the rows that were searched: `rows[i]` for `i`.
    pub(crate) fn renumbered(self, rows: &[u32]) -> Self {
        match self {
            Self::Search { space, source } => {
                Self::Search { space, source: source.renumbered(|i| rows[i] as usize, true) }
            }
            other => other,
        }
    }
}
