//! `mnno convert`: the vectors of a file in another format.

use std::path::Path;

use mnno::store::Format;
use mnno::store::output::{AtomicFile, Vectors, WriteError, prepare_matrix};
use serde::Serialize;

use super::args::Convert;
use super::budget::Budget;
use super::failure::Failure;
use super::inputs;
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport, OutputReport};
use super::searcher;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    inputs: Vec<InputReport>,
    outputs: Vec<OutputReport>,
    notes: Vec<String>,
}

pub(crate) fn run(args: &Convert, interruption: &Interruption) -> Result<(), Failure> {
    let output = &args.output;
    let format = match args.to {
        Some(format) => format,
        None if output.is_dir() => return Err(WriteError::Folder { path: output.clone() }.into()),
        None => Format::of_extension(output).ok_or_else(|| unknown_extension(output))?,
    };
    let mut budget = Budget::new(args.input.memory);
    let options = inputs::open_options(&args.input, None);
    let arguments = std::slice::from_ref(&args.input_file);
    let mut inputs = inputs::open_checked(arguments, &options, &mut budget, None, interruption)?;
    if inputs.len() > 1 {
        return Err(Failure::usage("convert writes one matrix").hint("name one layer in place of ::*"));
    }
    let input = inputs.remove(0);
    let matrix = &input.matrix;
    searcher::refuse_input_as_output(output, [matrix], None)?;
    // Made and dropped: a folder that takes no files is found at once.
    AtomicFile::create(output)?;

    let progress = Progress::new(&format!("write {}", output.display()), "rows", interruption);
    let vectors = Vectors { rows: matrix, names: matrix.names() };
    let prepared = prepare_matrix(vectors, format, output, budget.left(), &progress)?;
    drop(progress);
    // The fingerprint is that of the file that is found unchanged.
    let input_report = InputReport::new(&input);
    matrix.verify_unchanged()?;
    interruption.check()?;
    let outputs: Vec<_> = prepared.publish()?.into_iter().map(OutputReport::from).collect();

    let mut notes = Vec::new();
    if matrix.names().is_some() && !format.holds_names() {
        notes.push(format!("the names of the rows are not in {}: {format} has no place for them", output.display()));
    }
    if matrix.names().is_none() && format.needs_names() {
        notes.push(format!("the rows have no names, which {format} needs: they are numbered from 0"));
    }
    let report =
        Report { command: "convert", version: env!("CARGO_PKG_VERSION"), inputs: vec![input_report], outputs, notes };
    if args.json {
        return report::print_json(&report);
    }
    report.notes.iter().for_each(|note| report::note(note));
    let written: String = report.outputs.iter().map(OutputReport::line).collect();
    report::print(&format!("{}\n{written}", report.inputs[0].line()))
}

/// The failure of an output whose extension names no format of vectors.
pub(crate) fn unknown_extension(output: &Path) -> Failure {
    Failure::usage(format!("{}: the extension names no format", output.display())).hint(
        "use .npy, .npz, .safetensors, .csv, .tsv, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin, .ibin, .mat, .txt (glove), \
         .vec (word2vec) or .bin (word2vec binary), or name the format with --to",
    )
}
