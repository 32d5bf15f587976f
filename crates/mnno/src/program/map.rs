//! `mnno map`: a map trained from paired files, and applied.

mod apply;
mod fit;
mod model;

use super::args::MapCommand;
use super::failure::Failure;
use super::progress::Interruption;

pub(crate) fn run(command: &MapCommand, interruption: &Interruption) -> Result<(), Failure> {
    match command {
        MapCommand::Fit(args) => fit::run(args, interruption),
        MapCommand::Apply(args) => apply::run(args, interruption),
    }
}
