//! Files opened, checked, and narrowed to the rows that can be used.

use std::ops::Range;

use mnno::store::{Access, Check, Format, Matrix, OpenOptions, plain};
use mnno::{Metric, Rows, SearchError, Side, Subset};
use rayon::ThreadPool;

use super::args::{Input, ZeroRule};
use super::budget::Budget;
use super::failure::{Failure, code};
use super::pairing::without_zero_rows;
use super::progress::{Interruption, Progress};
use super::report::{note, size};

/// What working on one row takes for each column: the row as it is, as f32, and as keys.
const BYTES_PER_COLUMN: u64 = 32;

/// One matrix of the command line, free of NaN and infinities.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) matrix: Matrix,
    pub(crate) check: Check,
}

impl Checked {
    pub(crate) fn name(&self) -> &str {
        self.matrix.display_name()
    }
}

/// Opens the matrices of each argument (a file with all its layers is several) and checks every value; meanwhile `threads`,
/// if there are any, take the fingerprints that reports will name. What they hold in memory is taken from the budget.
pub(crate) fn open_checked(
    arguments: &[String],
    options: &OpenOptions,
    budget: &mut Budget,
    threads: Option<&ThreadPool>,
    interruption: &Interruption,
) -> Result<Vec<Checked>, Failure> {
    let mut inputs = Vec::new();
    for argument in arguments {
        for matrix in open(argument, options, budget, interruption)? {
            if matrix.n() == 0 || matrix.d() == 0 {
                let (n, d) = (matrix.n(), matrix.d());
                let what = if n == 0 { "no rows" } else { "no columns" };
                return Err(Failure::bad_data(format!(
                    "{}: the matrix is {n} x {d}: it has {what}",
                    matrix.display_name()
                )));
            }
            let progress = Progress::new(&format!("check {}", matrix.display_name()), "rows", interruption);
            let check = || matrix.check(budget.left(), &progress);
            let check = match threads {
                Some(threads) => threads.join(check, || matrix.fingerprint()).0?,
                None => check()?,
            };
            budget.take(check.zero_rows.held_bytes(), "the list of zero rows")?;
            inputs.push(Checked { matrix, check });
        }
    }
    Ok(inputs)
}

/// The matrix of an argument that must name one.
pub(crate) fn one_matrix(
    argument: &String,
    rows: Option<Range<usize>>,
    input: &Input,
    budget: &mut Budget,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<Checked, Failure> {
    let options = OpenOptions { rows, ..open_options(input, None) };
    one_with(argument, &options, budget, threads, interruption)
}

/// As [`one_matrix`], with the store's options.
pub(crate) fn one_with(
    argument: &String,
    options: &OpenOptions,
    budget: &mut Budget,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<Checked, Failure> {
    let files = std::slice::from_ref(argument);
    let mut found = open_checked(files, options, budget, Some(threads), interruption)?;
    match found.pop() {
        Some(one) if found.is_empty() => Ok(one),
        _ => Err(Failure::usage(format!("{argument}: one matrix is needed, but these are several"))
            .hint("name one layer in place of ::*")),
    }
}

/// Zero rows have no place in an index under the cosine.
pub(crate) fn refuse_zero_rows(input: &Checked, metric: Metric) -> Result<(), Failure> {
    let hint = "leave such rows out of the file, or use --metric euclidean, which needs no direction";
    without_zero_rows(&[input], vec![None], metric, ZeroRule::Error).map(|_| ()).map_err(|failure| failure.hint(hint))
}

/// Opens the matrices of an argument, which share what they hold in memory.
pub(crate) fn open(
    argument: &str,
    options: &OpenOptions,
    budget: &mut Budget,
    interruption: &Interruption,
) -> Result<Vec<Matrix>, Failure> {
    let options = OpenOptions { memory: budget.left(), ..options.clone() };
    let matrices = mnno::store::open_with_observer(argument, &options, interruption)?;
    let first = &matrices[0];
    budget.take(first.held_bytes(), argument)?;
    budget.take(first.d() as u64 * BYTES_PER_COLUMN, &format!("{argument}: a row of {} columns", first.d()))?;
    first.remarks().iter().for_each(|remark| note(remark));
    let text = matches!(first.format(), Format::Csv | Format::Tsv | Format::Glove | Format::Word2vec);
    if text && first.access() == Access::ConvertedPerBlock {
        note(&format!(
            "{argument}: the text takes more than half of --memory, so it is parsed again whenever it is read"
        ));
    }
    Ok(matrices)
}

/// The store's options for the command line's.
pub(crate) fn open_options(input: &Input, labels: Option<&std::path::PathBuf>) -> OpenOptions {
    OpenOptions {
        io: input.io.into(),
        format: input.format,
        rows: input.rows.clone(),
        labels: labels.cloned(),
        ..OpenOptions::default()
    }
}

/// Calls `search` with the rows that are left of a matrix.
pub(crate) fn with_rows<T>(matrix: &Matrix, keep: Option<&[u32]>, search: impl FnOnce(&dyn Rows) -> T) -> T {
    match keep {
        Some(keep) => search(&Subset::new(matrix, keep)),
        None => search(matrix),
    }
}

/// A search's error, with the files' names in place of its sides.
pub(crate) fn search_failure(error: SearchError, base: &str, queries: &str, k: usize, budget: &Budget) -> Failure {
    let file = |side| if side == Side::Base { base } else { queries };
    match error {
        SearchError::Interrupted => Failure::interrupted(),
        SearchError::Dimensions { queries: q, base: b } => {
            Failure::bad_data(format!("{queries}: rows have {q} dimensions, but those of {base} have {b}"))
        }
        SearchError::NonFinite { side, row, column, value } => {
            Failure::bad_data(format!("{}: row {row}, column {column} (both from 0) is {value}", file(side)))
        }
        SearchError::Memory { needed, .. } => {
            let what = format!("a search for {k} neighbours of each row of {queries}");
            budget.exceeded(needed, &what).hint("choose a smaller -k or fewer --threads, or raise --memory")
        }
        SearchError::Allocation { bytes, source } => {
            let (bytes, cause) = (size(bytes as u64), plain(&source));
            let message = format!("cannot get {bytes} of memory for a search of {base}: {cause}");
            Failure::new(code::SYSTEM, message).hint("lower --memory to what the machine can give, or raise its limits")
        }
        SearchError::Filter { filter, tier } => {
            Failure::usage(format!("--filter {filter}: the SIMD tier {tier} has no such filter"))
                .hint("leave the choice to mnno: --filter auto")
        }
        other => Failure::bad_data(format!("{base}: {other}")),
    }
}
