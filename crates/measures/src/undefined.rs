//! Why a statistic has no value for its input.

/// Why a statistic is undefined. A statistic is then this reason, never NaN and never a number that looks like a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Undefined {
    /// Values that are paired one to one, but of different number.
    #[error("{first} values cannot be paired with {second}")]
    Lengths {
        /// Values of the first input.
        first: usize,
        /// Values of the second.
        second: usize,
    },
    /// No statistic without at least two values.
    #[error("too few values: {count}, where 2 are needed")]
    TooFew {
        /// Values given.
        count: usize,
    },
    /// A value that is NaN or infinite.
    #[error("value {index} (from 0) is {value}")]
    NonFinite {
        /// Where it stands.
        index: usize,
        /// The value.
        value: f64,
    },
    /// All values are equal, so that nothing can vary with them.
    #[error("constant input: all {count} values are equal")]
    Constant {
        /// Values given.
        count: usize,
    },
    /// No pair differs, so that no difference has a sign.
    #[error("no difference: the values of all {count} pairs are equal")]
    NoDifference {
        /// Pairs given.
        count: usize,
    },
    /// A p-value that is none.
    #[error("value {index} (from 0) is {value}, which is no p-value")]
    NoPValue {
        /// Where it stands.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// Two values or more, all of them finite.
pub(crate) fn check(values: &[f64]) -> Result<(), Undefined> {
    if values.len() < 2 {
        return Err(Undefined::TooFew { count: values.len() });
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(Undefined::NonFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Not all values are equal.
pub(crate) fn check_varies(values: &[f64]) -> Result<(), Undefined> {
    if values.iter().all(|v| v == &values[0]) { Err(Undefined::Constant { count: values.len() }) } else { Ok(()) }
}

/// As many values on both sides, each side as [`check`] wants it.
pub(crate) fn check_paired(x: &[f64], y: &[f64]) -> Result<(), Undefined> {
    if x.len() != y.len() {
        return Err(Undefined::Lengths { first: x.len(), second: y.len() });
    }
    check(x)?;
    check(y)
}
