//! Paired rows in memory, ready to train on.

use std::path::{Path, PathBuf};

use bytemuck::cast_slice;
use mnno::measures::MeasureError;
use mnno::store::plain;
use mnno::train::{Classes, ExperimentError, MapError, Pairs, Space};
use mnno::{Metric, SearchError};
use rayon::ThreadPool;
use xxhash_rust::xxh3::Xxh3;

use super::args::{ConstantRule, Input, PairArgs};
use super::budget::Budget;
use super::failure::{Failure, code};
use super::inputs::{self, Checked};
use super::pairing::{self, without_zero_rows};
use super::progress::Interruption;
use super::report::{InputReport, counted, size};
use super::searcher;

/// What the classes of a row take, and each of its labels.
const BYTES_PER_ROW_OF_LABELS: u64 = 64;
const BYTES_PER_LABEL: u64 = 128;

/// What the files are, in the order of reports.
pub(crate) const ROLES: [&str; 4] = ["x", "y", "test x", "test y"];

/// The rows of X and Y, and behind them those to test on, if files of them are given.
pub(crate) struct Paired {
    /// X, Y, and X and Y of the test rows.
    pub(crate) inputs: Vec<Checked>,
    x: Vec<f32>,
    y: Vec<f32>,
    /// Pairs to train on; those behind them are for tests.
    pub(crate) train: usize,
    classes: Option<Classes>,
    /// A hash of the labels of all rows, in their order.
    labels: u128,
    /// The rows of the files of X and Y, for messages.
    rows: Vec<[u32; 2]>,
    /// Rows left out because they are zero.
    pub(crate) dropped: usize,
    /// For each file that is joined by name, rows whose names are not in its partner.
    left_out: Vec<usize>,
}

/// Opens, checks and pairs the files.
pub(crate) fn open(
    args: &PairArgs,
    input: &Input,
    budget: &mut Budget,
    threads: &ThreadPool,
    interruption: &Interruption,
) -> Result<Paired, Failure> {
    let mut paired = Paired {
        inputs: Vec::new(),
        x: Vec::new(),
        y: Vec::new(),
        train: 0,
        classes: None,
        labels: 0,
        rows: Vec::new(),
        dropped: 0,
        left_out: Vec::new(),
    };
    let mut labels = Vec::new();
    let tests = args.test_x.iter().zip(&args.test_y).map(|(x, y)| (x, y, &args.test_labels));
    for (x, y, of_labels) in [(&args.x, &args.y, &args.labels)].into_iter().chain(tests) {
        let mut open = |file: &String, labels: Option<&PathBuf>| {
            let options = inputs::open_options(input, labels);
            inputs::one_with(file, &options, budget, threads, interruption)
        };
        let files = [open(x, of_labels.as_ref())?, open(y, None)?];
        add(&mut paired, files, args, budget, &mut labels)?;
        if paired.train == 0 {
            paired.train = paired.rows.len();
        }
    }
    if args.labels.is_some() {
        if labels.len() < paired.rows.len() {
            let message = "--labels: the rows of --test-x have no labels".to_owned();
            return Err(Failure::usage(message).hint("give them with --test-labels"));
        }
        let count: usize = labels.iter().map(Vec::len).sum();
        let needed = labels.len() as u64 * BYTES_PER_ROW_OF_LABELS + count as u64 * BYTES_PER_LABEL;
        budget.take(needed, "telling labels apart")?;
        let classes = Classes::new(&labels);
        if let Some(path) = args.labels.as_ref().filter(|_| classes.is_one()) {
            let rows = counted(labels.len(), "row");
            return Err(Failure::bad_data(format!("{}: one label stands in each of {rows}", path.display())).hint(
                "negatives of the margin losses are rows that share no label: give labels that differ, or none",
            ));
        }
        paired.classes = Some(classes);
        paired.labels = hash_of(&labels);
    }
    if args.constant == ConstantRule::Error {
        for space in 0..2 {
            paired.refuse_constant_columns(space)?;
        }
    }
    Ok(paired)
}

/// Labels hold neither blanks nor ends of lines.
fn hash_of(labels: &[Vec<String>]) -> u128 {
    let mut hasher = Xxh3::new();
    for row in labels {
        for label in row {
            hasher.update(label.as_bytes());
            hasher.update(b" ");
        }
        hasher.update(b"\n");
    }
    hasher.digest128()
}

/// Pairs two files and appends their rows.
fn add(
    paired: &mut Paired,
    files: [Checked; 2],
    args: &PairArgs,
    budget: &mut Budget,
    labels: &mut Vec<Vec<String>>,
) -> Result<(), Failure> {
    for (number, file) in files.iter().enumerate() {
        if let Some(before) = paired.inputs.get(number)
            && before.matrix.d() != file.matrix.d()
        {
            let (d, expected) = (file.matrix.d(), before.matrix.d());
            let message =
                format!("{}: rows have {d} dimensions, but those of {} have {expected}", file.name(), before.name());
            return Err(
                Failure::bad_data(message).hint("test rows are of the same two spaces as X and Y, in this order")
            );
        }
    }
    let pairing = pairing::pair(&files, args.join, budget)?;
    let both: Vec<&Checked> = files.iter().collect();
    let (chosen, dropped) = without_zero_rows(&both, pairing.rows, Metric::Cosine, args.zero)
        .map_err(|failure| failure.hint("--zero drop leaves such rows out of every file"))?;
    let n = chosen[0].as_ref().map_or(files[0].matrix.n(), Vec::len);
    let bytes = n as u64 * (4 * (files[0].matrix.d() + files[1].matrix.d()) as u64 + 8);
    budget.take(bytes, "holding the pairs, which are trained on in random order,")?;
    for (values, (file, chosen)) in [&mut paired.x, &mut paired.y].into_iter().zip(files.iter().zip(&chosen)) {
        values.reserve_exact(n * file.matrix.d());
        let mut scratch = Vec::new();
        inputs::with_rows(&file.matrix, chosen.as_deref(), |rows| {
            (0..rows.n()).for_each(|i| values.extend_from_slice(rows.row(i, &mut scratch)));
        });
    }
    let row = |space: usize, i: usize| chosen[space].as_ref().map_or(i as u32, |rows| rows[i]);
    paired.rows.extend((0..n).map(|i| [row(0, i), row(1, i)]));
    if let Some(of_rows) = files[0].matrix.labels() {
        labels.extend((0..n).map(|i| of_rows[row(0, i) as usize].clone()));
    }
    paired.dropped += dropped;
    paired.left_out.extend(pairing.left_out.into_iter().filter(|_| args.join.is_some()));
    paired.inputs.extend(files);
    Ok(())
}

impl Paired {
    /// Number of pairs, those of the test files included.
    pub(crate) fn n(&self) -> usize {
        self.rows.len()
    }

    fn d(&self, space: usize) -> usize {
        self.inputs[space].matrix.d()
    }

    /// The pairs, from X to Y or, `swapped`, from Y to X.
    pub(crate) fn pairs(&self, swapped: bool) -> Pairs<'_> {
        let classes = self.classes.as_ref();
        if swapped {
            Pairs { x: &self.y, dx: self.d(1), y: &self.x, dy: self.d(0), classes }
        } else {
            Pairs { x: &self.x, dx: self.d(0), y: &self.y, dy: self.d(1), classes }
        }
    }

    /// A column that is the same in every row has nothing to tell, and is most often a mistake in the export.
    fn refuse_constant_columns(&self, space: usize) -> Result<(), Failure> {
        let (values, d) = ([&self.x, &self.y][space], self.d(space));
        let mut rows = values[..self.train * d].chunks_exact(d);
        let Some(first) = rows.next().filter(|_| self.train > 1) else { return Ok(()) };
        let mut varies = vec![false; d];
        for row in rows {
            for ((varies, value), first) in varies.iter_mut().zip(row).zip(first) {
                *varies |= value != first;
            }
        }
        let mut constant = (0..d).filter(|&column| !varies[column]);
        let Some(column) = constant.next() else { return Ok(()) };
        let more = constant.count();
        let also = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let (file, value) = (self.inputs[space].name(), first[column]);
        let rows = counted(self.train, "row");
        let message = format!("{file}: column {column} (from 0){also} is constant: {value} in each of {rows}");
        Err(Failure::bad_data(message)
            .hint("leave such columns out of the file; --constant keep trains with them all the same"))
    }

    /// The files behind X and Y of a direction.
    pub(crate) fn names(&self, swapped: bool) -> [&str; 2] {
        let [x, y] = [self.inputs[0].name(), self.inputs[1].name()];
        if swapped { [y, x] } else { [x, y] }
    }

    /// The files, as results carry them.
    pub(crate) fn reports(&self) -> Vec<InputReport> {
        let mut reports: Vec<_> = self.inputs.iter().map(InputReport::new).collect();
        for (report, &left_out) in reports.iter_mut().zip(&self.left_out) {
            report.left_out = Some(left_out);
        }
        reports
    }

    /// Refuses an output that is an input.
    pub(crate) fn refuse_as_output(&self, path: &Path, args: &PairArgs) -> Result<(), Failure> {
        let matrices = || self.inputs.iter().map(|input| &input.matrix);
        for labels in [&args.labels, &args.test_labels] {
            searcher::refuse_input_as_output(path, matrices(), labels.as_deref())?;
        }
        Ok(())
    }

    /// Tells of inputs that changed meanwhile.
    pub(crate) fn verify_unchanged(&self) -> Result<(), Failure> {
        Ok(self.inputs.iter().try_for_each(|input| input.matrix.verify_unchanged())?)
    }

    /// Names all that is trained and tested on, wherever it is from: values, their order, and labels.
    pub(crate) fn content(&self) -> String {
        let mut hasher = Xxh3::new();
        for values in [&self.x, &self.y] {
            hasher.update(cast_slice(values));
        }
        let values = hasher.digest128();
        let [dx, dy] = [0, 1].map(|space| self.d(space));
        format!("{} of {} rows, {dx} {dy} dims, {values:032x} {:032x}", self.train, self.n(), self.labels)
    }

    /// The file and the row of it that row `i` of the pairs is in a space.
    fn place(&self, space: usize, i: usize) -> (&str, usize) {
        let input = &self.inputs[if i < self.train { space } else { space + 2 }];
        (input.name(), self.rows[i][space] as usize + input.matrix.rows_offset())
    }

    /// An experiment's error, with files and rows in place of what the library knows.
    pub(crate) fn failure(&self, error: ExperimentError, swapped: bool, budget: &Budget) -> Failure {
        match error {
            ExperimentError::Map(MapError::Overflow { row }) => {
                let (file, row) = self.place(usize::from(swapped), row);
                Failure::bad_data(format!("{file}: row {row} (from 0) is mapped to values beyond f32"))
                    .hint("choose a smaller --learning-rate")
            }
            ExperimentError::Map(error) => error.into(),
            ExperimentError::Measure(error @ MeasureError::KTooLarge { .. }) => {
                Failure::usage(error.to_string()).hint("choose a smaller -k, or train and test on more rows")
            }
            ExperimentError::Measure(error @ MeasureError::KZero) => Failure::usage(error.to_string()),
            ExperimentError::Search { space, source } => self.search_failure(space, source, swapped, budget),
            error => Failure::bad_data(error.to_string()),
        }
    }

    fn search_failure(&self, space: Space, error: SearchError, swapped: bool, budget: &Budget) -> Failure {
        let number = usize::from(swapped != (space == Space::Y));
        match error {
            SearchError::ZeroVector { row, .. } => {
                let (file, row) = self.place(number, row);
                let message =
                    format!("{file}: row {row} (from 0) is mapped to zero, which has no direction and no cosine");
                Failure::bad_data(message).hint("choose another --activation, --init or --bias")
            }
            SearchError::Memory { needed, .. } => budget.exceeded(needed, "a search for neighbours"),
            SearchError::Allocation { bytes, source } => {
                let message = format!("cannot get {} of memory for a search: {}", size(bytes as u64), plain(&source));
                Failure::new(code::SYSTEM, message)
                    .hint("lower --memory to what the machine can give, or raise its limits")
            }
            error => Failure::bad_data(format!("{space}: {error}")),
        }
    }
}
