//! The program: arguments in, one result on stdout, remarks on stderr, an exit code.
//!
//! One file per command; `args.rs` defines every flag, `failure.rs` every exit code, `report.rs` how results look.

mod approximate;
mod args;
mod bench;
mod budget;
mod canvas;
mod compare;
mod convert;
mod curve;
mod curve_picture;
mod experiment;
mod failure;
mod index;
mod inputs;
mod inspect;
mod knn;
mod map;
mod paired;
mod pairing;
mod progress;
mod report;
mod searcher;
mod training;
mod vocabulary;
mod words;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use mnno::Kernels;

use args::{Cli, Command};
use failure::Failure;
use progress::Interruption;

/// Runs the command line of this process.
pub(crate) fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.format(&mut Cli::command()).exit());
    for remark in args::idle_remarks(&cli, &matches) {
        report::note(&remark);
    }
    mnno::store::install_fault_handler();
    mnno::store::return_freed_memory();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // One line each, whatever is in the names of files.
            let mut text = format!("error: {}\n", report::shown(&failure.message));
            if let Some(hint) = failure.hint {
                text += &format!("hint: {}\n", report::shown(&hint));
            }
            // Nowhere is left to report that stderr cannot be written.
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(failure.code)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    Kernels::from_environment().map_err(|e| Failure::usage(format!("MNNO_SIMD: {e}")))?;
    let interruption = Interruption::install()?;
    match &cli.command {
        Command::Inspect(args) => inspect::run(args, &interruption),
        Command::Knn(args) => knn::run(args, &interruption),
        Command::Compare(args) => compare::run(args, &interruption),
        Command::Convert(args) => convert::run(args, &interruption),
        Command::Index(command) => index::run(command, &interruption),
        Command::Bench(args) => bench::run(args, &interruption),
        Command::Map(command) => map::run(command, &interruption),
        Command::Experiment(command) => experiment::run(command, &interruption),
        Command::Words(args) => words::run(args, &interruption),
    }
}
