//! `mnno experiment`: the experiments of Collell & Moens (2018).

mod cross_modal;
mod kept;
mod outputs;
mod results;
mod tables;
mod untrained;

use super::args::ExperimentCommand;
use super::failure::Failure;
use super::progress::Interruption;

pub(crate) fn run(command: &ExperimentCommand, interruption: &Interruption) -> Result<(), Failure> {
    match command {
        ExperimentCommand::CrossModal(args) => cross_modal::run(args, interruption),
        ExperimentCommand::Untrained(args) => untrained::run(args, interruption),
    }
}
