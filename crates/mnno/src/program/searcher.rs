//! What every command that searches does alike.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use mnno::store::output::same_file;
use mnno::store::{Matrix, plain};
use mnno::{Filter, Search, Threads, Ties};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::args::{FilterRule, SearchArgs, TieRule};
use super::failure::{Failure, code};
use super::report::counted;

/// Starts the threads that the command line asks for. A command starts them once, for all that it does: a pool that is
/// dropped does not wait for its threads, whose stacks would pile up.
pub(crate) fn start_threads(asked: Option<NonZeroUsize>) -> Result<ThreadPool, Failure> {
    let available = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let count = asked.unwrap_or_else(available).get();
    ThreadPoolBuilder::new().num_threads(count).build().map_err(|e| {
        let cause = plain(&io::Error::other(e));
        Failure::new(code::SYSTEM, format!("cannot start {}: {cause}", counted(count, "thread")))
            .hint("start fewer with --threads N, or raise the limits on memory and threads (ulimit)")
    })
}

/// Applies the tie rule (for file number `space`), the filter, the threads and the SIMD tier that `MNNO_SIMD` names.
pub(crate) fn configure<'a>(search: Search<'a>, args: &SearchArgs, space: u64, threads: &'a ThreadPool) -> Search<'a> {
    let ties = match args.ties {
        TieRule::LowerIndex => Ties::LowerIndex,
        TieRule::Random => Ties::Random { seed: args.seed, space },
    };
    let filter = match args.filter {
        FilterRule::Auto => None,
        FilterRule::Bf16 => Some(Filter::Bf16),
        FilterRule::Int8 => Some(Filter::Int8),
        FilterRule::F32 => Some(Filter::Float32),
    };
    search.threads(Threads::Pool(threads)).ties(ties).filter(filter)
}

/// Outputs never replace what was read: files, folders and lists of them, labels.
pub(crate) fn refuse_input_as_output<'a>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'a Matrix>,
    labels: Option<&Path>,
) -> Result<(), Failure> {
    let refuse = |what: &str, input: &Path| {
        let message = format!("{}: the output {what} {}", out.display(), input.display());
        Err(Failure::new(code::CANNOT_WRITE, message).hint("choose another output; inputs are never overwritten"))
    };
    if out.as_os_str() == "-" {
        return Err(Failure::usage("-: outputs are files, which are written beside their place and renamed: name one"));
    }
    // A result that replaced what stdout is sent to would be lost with it.
    if ["/dev/stdout", "/dev/stderr"].iter().any(|stream| same_file(out, Path::new(stream))) {
        let message = format!("{}: this is where standard output or error go", out.display());
        return Err(Failure::new(code::CANNOT_WRITE, message)
            .hint("outputs are written beside their place and renamed: name a file"));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut read: Vec<&Path> = labels.into_iter().collect();
    for matrix in inputs {
        if same_file(folder, matrix.path()) {
            return refuse("would become a part of the input", matrix.path());
        }
        read.extend(matrix.files().chain([matrix.path()]));
    }
    match read.into_iter().find(|input| same_file(out, input)) {
        Some(input) => refuse("is the same file as the input", input),
        None => Ok(()),
    }
}
