//! `mnno map apply`: the rows of a file, mapped.

use mnno::SliceRows;
use mnno::store::Format;
use mnno::store::output::{AtomicFile, Vectors, WriteError, prepare_matrix, same_file};
use mnno::train::{MapError, Pieces};
use serde::Serialize;

use super::model::{self, Description};
use crate::program::args::MapApply;
use crate::program::budget::Budget;
use crate::program::convert::unknown_extension;
use crate::program::failure::{Failure, code};
use crate::program::inputs;
use crate::program::progress::{Interruption, Progress};
use crate::program::report::{self, InputReport, OutputReport};
use crate::program::searcher;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    model: String,
    map: Description,
    inputs: Vec<InputReport>,
    outputs: Vec<OutputReport>,
}

pub(super) fn run(args: &MapApply, interruption: &Interruption) -> Result<(), Failure> {
    let output = &args.output;
    let format = match args.to {
        Some(format) => format,
        None if output.is_dir() => return Err(WriteError::Folder { path: output.clone() }.into()),
        None => Format::of_extension(output).ok_or_else(|| unknown_extension(output))?,
    };
    let threads = searcher::start_threads(args.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let (map, description) = model::read(&args.model, budget.left())?;
    let values: usize = map.layers().iter().map(|layer| layer.weights.len() + layer.outputs()).sum();
    budget.take(4 * values as u64, "holding the map")?;
    let input = inputs::one_matrix(&args.x, args.input.rows.clone(), &args.input, &mut budget, &threads, interruption)?;
    let matrix = &input.matrix;
    let model = args.model.display();
    if matrix.d() != map.dx() {
        let (d, dx) = (matrix.d(), map.dx());
        let message = format!("{}: rows have {d} dimensions, but {model} maps {dx} to {}", input.name(), map.dy());
        return Err(
            Failure::bad_data(message).hint(format!("it was trained on {}", report::shown(&description.x.path)))
        );
    }
    searcher::refuse_input_as_output(output, [matrix], None)?;
    if same_file(output, &args.model) {
        let message = format!("{}: the output is the same file as the map", output.display());
        return Err(
            Failure::new(code::CANNOT_WRITE, message).hint("choose another output; inputs are never overwritten")
        );
    }
    AtomicFile::create(output)?;

    budget.take(4 * (matrix.n() * map.dy()) as u64, "holding the mapped rows")?;
    let progress = Progress::new(&format!("map {}", input.name()), "rows", interruption);
    let mapped =
        threads.install(|| map.apply_rows(matrix, Pieces::Parallel, &progress)).map_err(|error| match error {
            MapError::Overflow { row } => Failure::bad_data(format!(
                "{}: row {} (from 0) is mapped to values beyond f32",
                input.name(),
                row + matrix.rows_offset()
            ))
            .hint(format!("{model} was trained on rows of other magnitude")),
            error => error.into(),
        })?;
    drop(progress);
    let rows = SliceRows::new(&mapped, map.dy());
    let vectors = Vectors { rows: &rows, names: matrix.names() };
    let prepared = prepare_matrix(vectors, format, output, budget.left(), interruption)?;
    let input_report = InputReport::new(&input);
    matrix.verify_unchanged()?;
    interruption.check()?;
    let outputs = prepared.publish()?.into_iter().map(OutputReport::from).collect();
    if matrix.names().is_some() && !format.holds_names() {
        report::note(&format!("the names of the rows are not in {}: {format} has no place for them", output.display()));
    }
    let report = Report {
        command: "map apply",
        version: env!("CARGO_PKG_VERSION"),
        model: args.model.display().to_string(),
        map: description,
        inputs: vec![input_report],
        outputs,
    };
    if args.json {
        return report::print_json(&report);
    }
    let written: String = report.outputs.iter().map(OutputReport::line).collect();
    let widths: Vec<String> = report.map.widths.iter().map(usize::to_string).collect();
    report::print(&format!(
        "{}\n{}: {}, {}, trained on {} and {}\n{written}",
        report.inputs[0].line(),
        report.model,
        report::shown(&report.map.map),
        widths.join(" -> "),
        report::shown(&report.map.x.path),
        report::shown(&report.map.y.path)
    ))
}
