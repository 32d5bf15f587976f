//! The program `mnno`: a thin layer over the library.
#![forbid(unsafe_code)]

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::main()
}
