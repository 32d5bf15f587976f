//! Files opened, checked, and narrowed to the rows that can be used.

use mnno::store::{Matrix, OpenOptions, Rounding};
use mnno::{Metric, Rows, SearchError, Side, Subset};

use super::args::{Input, ZeroRule};
use super::failure::Failure;
use super::progress::Interruption;

/// One matrix of the command line, free of NaN and infinities.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) matrix: Matrix,
    /// What converting its values to f32 did, where that is not exact.
    pub(crate) rounding: Option<Rounding>,
}

impl Checked {
    pub(crate) fn name(&self) -> &str {
        self.matrix.display_name()
    }
}

/// Opens the matrices of each argument (a file with all its layers is several) and checks every value.
pub(crate) fn open_checked(
    arguments: &[String],
    options: &OpenOptions,
    interruption: &Interruption,
) -> Result<Vec<Checked>, Failure> {
    let mut inputs = Vec::new();
    for argument in arguments {
        for matrix in mnno::store::open(argument, options)? {
            interruption.check()?;
            if matrix.n() == 0 || matrix.d() == 0 {
                let (n, d) = (matrix.n(), matrix.d());
                let what = if n == 0 { "no rows" } else { "no columns" };
                return Err(Failure::bad_data(format!(
                    "{}: the matrix is {n} x {d}: it has {what}",
                    matrix.display_name()
                )));
            }
            matrix.validate()?;
            let rounding = matrix.rounding()?;
            inputs.push(Checked { matrix, rounding });
        }
    }
    Ok(inputs)
}

/// The store's options for the command line's.
pub(crate) fn open_options(input: &Input, labels: Option<&std::path::PathBuf>) -> OpenOptions {
    OpenOptions {
        io: input.io.into(),
        format: input.format,
        memory: input.memory,
        rows: input.rows.clone(),
        labels: labels.cloned(),
    }
}

/// The rows to use when some may have to be dropped; none means all of them.
pub(crate) fn usable_rows(matrices: &[&Matrix], metric: Metric, zero: ZeroRule) -> Result<Option<Vec<u32>>, Failure> {
    if metric != Metric::Cosine {
        return Ok(None);
    }
    let mut dropped = std::collections::BTreeSet::new();
    for matrix in matrices {
        let zeros = matrix.zero_rows();
        if let (Some(&row), ZeroRule::Error) = (zeros.first(), zero) {
            let also = if zeros.len() > 1 { format!(" (and {} more)", zeros.len() - 1) } else { String::new() };
            let row = row + matrix.rows_offset();
            return Err(Failure::bad_data(format!(
                "{}: row {row} (from 0) is a zero vector{also}: it has no direction, so its cosine is undefined",
                matrix.display_name()
            ))
            .hint("--zero drop leaves such rows out of every file; --metric euclidean needs no direction"));
        }
        dropped.extend(zeros);
    }
    if dropped.is_empty() {
        return Ok(None);
    }
    let n = matrices.iter().map(|m| m.n()).max().unwrap_or(0);
    Ok(Some((0..n).filter(|i| !dropped.contains(i)).map(|i| i as u32).collect()))
}

/// Calls `search` with the rows that are left of a matrix.
pub(crate) fn with_rows<T>(matrix: &Matrix, keep: Option<&[u32]>, search: impl FnOnce(&dyn Rows) -> T) -> T {
    match keep {
        Some(keep) => search(&Subset::new(matrix, keep)),
        None => search(matrix),
    }
}

/// A search's error, with the files' names in place of its sides.
pub(crate) fn search_failure(error: SearchError, base: &str, queries: &str) -> Failure {
    let file = |side| if side == Side::Base { base } else { queries };
    match error {
        SearchError::Interrupted => Failure::interrupted(),
        SearchError::Dimensions { queries: q, base: b } => {
            Failure::bad_data(format!("{queries}: rows have {q} dimensions, but those of {base} have {b}"))
        }
        SearchError::NonFinite { side, row, column, value } => {
            Failure::bad_data(format!("{}: row {row}, column {column} (both from 0) is {value}", file(side)))
        }
        other => Failure::bad_data(format!("{base}: {other}")),
    }
}
