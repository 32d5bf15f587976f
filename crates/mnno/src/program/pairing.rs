//! Which rows of several files are one thing: those at the same place, or those of the same name.

use std::collections::HashMap;

use mnno::Metric;

use super::args::{Join, ZeroRule};
use super::budget::Budget;
use super::failure::Failure;
use super::inputs::Checked;
use super::report::{counted, shown};

/// What a name takes in a table of names, and a row in a list of rows.
const BYTES_PER_NAME: u64 = 48;

/// The rows of a file, in the order of the comparison; none means all of them, as they are.
pub(crate) type Chosen = Option<Vec<u32>>;

/// Rows that belong together.
#[derive(Debug)]
pub(crate) struct Pairing {
    /// For each file.
    pub(crate) rows: Vec<Chosen>,
    /// For each file, rows whose names are not in every file.
    pub(crate) left_out: Vec<usize>,
}

/// Pairs the rows of all files.
pub(crate) fn pair(inputs: &[Checked], join: Option<Join>, budget: &mut Budget) -> Result<Pairing, Failure> {
    match join {
        None => by_position(inputs),
        Some(Join::Name) => by_name(inputs, budget),
    }
}

/// The files need as many rows and, where they have names, the same ones.
fn by_position(inputs: &[Checked]) -> Result<Pairing, Failure> {
    let first = &inputs[0];
    let all_named = inputs.iter().all(|input| input.matrix.names().is_some());
    for other in &inputs[1..] {
        let (n, m) = (first.matrix.n(), other.matrix.n());
        if n != m {
            return Err(Failure::bad_data(format!(
                "{}: {}, but {} has {n}: rows are paired by position",
                other.name(),
                counted(m, "row"),
                first.name()
            ))
            .hint(if all_named {
                "--join name pairs rows of the same name; --rows A..B takes the same range of every file"
            } else {
                "--rows A..B takes the same range of every file"
            }));
        }
    }
    let mut named: Option<(&Checked, &[String])> = None;
    for input in inputs {
        let Some(names) = input.matrix.names() else { continue };
        if let Some((first, expected)) = named
            && let Some(row) = (0..names.len()).find(|&i| names[i] != expected[i])
        {
            let failure = Failure::bad_data(format!(
                "{}: row {} (from 0) is named '{}', but in {} it is '{}'",
                input.name(),
                row + input.matrix.rows_offset(),
                shown(&names[row]),
                first.name(),
                shown(&expected[row])
            ));
            return Err(failure.hint(if all_named {
                "--join name pairs rows of the same name, whatever their order"
            } else {
                "rows are paired by position: bring the files into the same order, or drop the names"
            }));
        }
        named = named.or(Some((input, names)));
    }
    Ok(Pairing { rows: vec![None; inputs.len()], left_out: vec![0; inputs.len()] })
}

/// Keeps the rows whose names are in every file, in the order of the first.
fn by_name(inputs: &[Checked], budget: &mut Budget) -> Result<Pairing, Failure> {
    let mut names = Vec::new();
    for input in inputs {
        let Some(of_file) = input.matrix.names() else {
            return Err(Failure::usage(format!("{}: the file has no row names to join by", input.name()))
                .hint("names are in CSV, TSV and word-vector files; without --join rows are paired by position"));
        };
        names.push(of_file);
    }
    let all: usize = names.iter().map(|names| names.len()).sum();
    budget.take(all as u64 * BYTES_PER_NAME, "joining by name")?;
    // The first row of each name.
    let first_rows: Vec<HashMap<&str, u32>> = names
        .iter()
        .map(|names| {
            let mut rows = HashMap::with_capacity(names.len());
            for (row, name) in names.iter().enumerate() {
                rows.entry(name.as_str()).or_insert(row as u32);
            }
            rows
        })
        .collect();
    let in_every_file = |name: &str| first_rows.iter().all(|rows| rows.contains_key(name));
    let common: Vec<Vec<u32>> = names
        .iter()
        .map(|names| (0..names.len() as u32).filter(|&row| in_every_file(&names[row as usize])).collect())
        .collect();
    if common[0].is_empty() {
        let firsts: Vec<_> = inputs.iter().zip(&names).map(|(input, names)| (input.name(), &names[0])).collect();
        let (file, name) = firsts[0];
        let (other, other_name) = firsts[firsts.len() - 1];
        return Err(Failure::bad_data(format!(
            "no row name is in every file: the names of {file} begin with '{}', those of {other} with '{}'",
            shown(name),
            shown(other_name)
        )));
    }
    let left_out = names.iter().zip(&common).map(|(names, common)| names.len() - common.len()).collect();
    let name_of = |file: usize, row: u32| &names[file][row as usize];
    let same_order = (1..inputs.len()).all(|file| {
        common[file].len() == common[0].len()
            && common[file].iter().zip(&common[0]).all(|(&row, &first)| name_of(file, row) == name_of(0, first))
    });
    if same_order {
        // So that names may repeat: their rows correspond by position.
        return Ok(Pairing { rows: common.into_iter().map(Some).collect(), left_out });
    }
    for (file, rows) in common.iter().enumerate() {
        let is_first = |&row: &u32| first_rows[file][name_of(file, row).as_str()] == row;
        if let Some(&again) = rows.iter().find(|row| !is_first(row)) {
            let name = name_of(file, again);
            let offset = inputs[file].matrix.rows_offset();
            return Err(Failure::bad_data(format!(
                "{}: rows {} and {} (from 0) are both named '{}', and the files differ in order: the name does not tell \
                 which is meant",
                inputs[file].name(),
                first_rows[file][name.as_str()] as usize + offset,
                again as usize + offset,
                shown(name)
            ))
            .hint("give every row a name of its own, or bring the files into the same order"));
        }
    }
    let rows = first_rows
        .iter()
        .map(|of_file| Some(common[0].iter().map(|&row| of_file[name_of(0, row).as_str()]).collect()))
        .collect();
    Ok(Pairing { rows, left_out })
}

/// Leaves out what is a zero row in any of the files, if the metric needs directions; returns how many were.
pub(crate) fn without_zero_rows(
    inputs: &[&Checked],
    rows: Vec<Chosen>,
    metric: Metric,
    zero: ZeroRule,
) -> Result<(Vec<Chosen>, usize), Failure> {
    if metric != Metric::Cosine || inputs.iter().all(|input| input.check.zero_rows.count() == 0) {
        return Ok((rows, 0));
    }
    let n = rows[0].as_ref().map_or(inputs[0].matrix.n(), Vec::len) as u32;
    let row_at = |file: usize, place: u32| rows[file].as_ref().map_or(place, |rows| rows[place as usize]);
    let is_zero = |file: usize, place: u32| inputs[file].check.zero_rows.contains(row_at(file, place) as usize);
    if zero == ZeroRule::Error {
        for (file, input) in inputs.iter().enumerate() {
            let mut zeros = (0..n).filter(|&place| is_zero(file, place)).map(|place| row_at(file, place));
            if let Some(row) = zeros.next() {
                let more = zeros.count();
                let also = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                return Err(Failure::bad_data(format!(
                    "{}: row {} (from 0) is a zero vector{also}: it has no direction, so its cosine is undefined",
                    input.name(),
                    row as usize + input.matrix.rows_offset()
                ))
                .hint("--zero drop leaves such rows out of every file; --metric euclidean needs no direction"));
            }
        }
        return Ok((rows, 0));
    }
    let keep: Vec<u32> = (0..n).filter(|&place| !(0..inputs.len()).any(|file| is_zero(file, place))).collect();
    let dropped = n as usize - keep.len();
    if dropped == 0 {
        return Ok((rows, 0));
    }
    let kept = (0..inputs.len()).map(|file| Some(keep.iter().map(|&place| row_at(file, place)).collect())).collect();
    Ok((kept, dropped))
}
