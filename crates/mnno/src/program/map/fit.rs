//! `mnno map fit`: a map trained from paired files.

use std::path::Path;

use mnno::measures::SelfRule as Rule;
use mnno::store::output::{AtomicFile, WriteError, csv_cause, prepare_tensors};
use mnno::train::experiment::{Curve, CurvePoint};
use mnno::train::{
    Epoch, ExperimentError, FitOptions, Loss, Map, MapError, Neighbourhoods, Neighbouring, Pairs, Pieces, Ridge, Split,
    fit, hold_out, ridge, widths,
};
use mnno::{Observer, measures};
use rayon::ThreadPool;
use serde::Serialize;

use super::model::{self, Description, Trained, Training};
use crate::program::args::{MapFit, MapKind, SelfRule, spelled};
use crate::program::budget::Budget;
use crate::program::canvas;
use crate::program::curve_picture::{self, LearningCurve};
use crate::program::failure::Failure;
use crate::program::paired::{self, Paired};
use crate::program::progress::{Interruption, Progress};
use crate::program::report::{self, InputReport, OutputReport, counted};
use crate::program::searcher;
use crate::program::training::{name_of, training_memory};

/// Epochs that the text shows.
const SHOWN: usize = 10;

#[derive(Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    inputs: Vec<InputReport>,
    map: Description,
    train_rows: usize,
    test_rows: usize,
    dropped_rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    neighbours: Option<NeighboursReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Vec<Line>>,
    outputs: Vec<OutputReport>,
}

#[derive(Serialize)]
struct NeighboursReport {
    k: usize,
    metric: &'static str,
    #[serde(rename = "self")]
    self_rule: String,
}

/// An epoch: number, losses and, where they were asked for, overlaps.
#[derive(Serialize)]
struct Line {
    epoch: usize,
    train_loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_loss: Option<f64>,
    #[serde(flatten)]
    overlaps: Option<Overlaps>,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // the fields' names are those of the report
struct Overlaps {
    train_x_fx: f64,
    train_y_fx: f64,
    test_x_fx: Option<f64>,
    test_y_fx: Option<f64>,
}

pub(super) fn run(args: &MapFit, interruption: &Interruption) -> Result<(), Failure> {
    let threads = searcher::start_threads(args.training.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let paired = paired::open(&args.pairs, &args.input, &mut budget, &threads, interruption)?;
    let mut outputs = Vec::new();
    for path in [Some(&args.output), args.curve.as_ref()].into_iter().flatten().chain(&args.plot) {
        paired.refuse_as_output(path, &args.pairs)?;
        outputs.push(AtomicFile::create(path)?);
    }
    drop(outputs);
    args.plot.iter().try_for_each(|path| canvas::check_extension(path))?;
    let pairs = paired.pairs(false);
    let split = split(args, &paired)?;
    if args.patience.is_some() && split.test.is_empty() {
        return Err(Failure::usage("--patience watches the test loss, and there are no rows to test on")
            .hint("set some aside with --test-share 0.2, or give --test-x and --test-y"));
    }
    let MapKind::Trained(hidden) = args.map else {
        return by_ridge(args, &paired, &pairs, &split, interruption);
    };
    let options = options(args)?;
    let sizes = widths(pairs.dx, hidden, args.hidden, pairs.dy);
    budget.take(training_memory(&sizes, args.training.batch, args.training.optimizer), "training the map")?;
    let mut map = Map::random(
        &sizes,
        args.training.activation,
        args.training.init.into(),
        args.training.bias,
        args.training.seed,
    );
    let progress = Progress::new("train", "epochs", interruption);
    let points = if args.mnno {
        let neighbouring = neighbouring(args, &threads, &budget, interruption);
        with_overlaps(args, &mut map, &pairs, &split, &options, neighbouring, &progress)
    } else {
        let watch = |epoch: &Epoch, _: &Map| {
            progress.progress(epoch.number as u64, options.epochs as u64);
            if interruption.cancelled() { Err(MapError::Interrupted) } else { Ok(()) }
        };
        let fitted = threads.install(|| fit(&mut map, &pairs, &split.train, &split.test, &options, watch));
        fitted.map(|curve| curve.iter().map(|epoch| (Line::new(epoch), None)).collect()).map_err(ExperimentError::from)
    };
    drop(progress);
    let points: Vec<(Line, Option<CurvePoint>)> = points.map_err(|error| paired.failure(error, false, &budget))?;
    let (lines, points): (Vec<_>, Vec<_>) = points.into_iter().unzip();
    let training = Training::Batches {
        loss: options.loss.name().to_owned(),
        margin: options.loss.margin(),
        optimizer: name_of(&mnno::train::Optimizer::ALL, options.optimizer).to_owned(),
        learning_rate: options.learning_rate,
        batch: options.batch,
        dropout: options.dropout,
        init: spelled(&args.training.init),
        bias: args.training.bias,
        epochs: kept_epochs(&lines, args.patience.is_some()),
        seed: options.seed,
    };
    let points: Vec<CurvePoint> = points.into_iter().flatten().collect();
    finish(args, &paired, &split, (&map, training), lines, &points, interruption)
}

fn by_ridge(
    args: &MapFit,
    paired: &Paired,
    pairs: &Pairs<'_>,
    split: &Split,
    interruption: &Interruption,
) -> Result<(), Failure> {
    if args.mnno || args.curve.is_some() {
        return Err(Failure::usage("ridge has no epochs: --mnno and --curve have nothing to measure"));
    }
    let Ridge { map, lambda, leave_one_out } = ridge(pairs, &split.train, args.training.lambda)?;
    finish(args, paired, split, (&map, Training::Ridge { lambda, leave_one_out }), Vec::new(), &[], interruption)
}

/// The epoch whose weights the map has.
fn kept_epochs(lines: &[Line], patience: bool) -> usize {
    let best = lines.iter().min_by(|a, b| a.test_loss.unwrap_or(0.0).total_cmp(&b.test_loss.unwrap_or(0.0)));
    match best {
        Some(best) if patience => best.epoch,
        _ => lines.len(),
    }
}

fn options(args: &MapFit) -> Result<FitOptions, Failure> {
    let margin = args.margin.unwrap_or(if args.loss == "hinge-rank" { Loss::HINGE_RANK_MARGIN } else { 1.0 });
    let loss = Loss::named(&args.loss, margin).unwrap_or(Loss::Mse);
    if args.margin.is_some() && loss.margin().is_none() {
        return Err(Failure::usage(format!("--margin: the loss {} has none", loss.name())));
    }
    Ok(FitOptions {
        optimizer: args.training.optimizer,
        batch: args.training.batch,
        dropout: args.dropout,
        patience: args.patience.map(Into::into),
        seed: args.training.seed,
        pieces: Pieces::Parallel,
        ..FitOptions::new(loss, args.learning_rate, args.training.epochs)
    })
}

/// The rows to train on and those to test on.
fn split(args: &MapFit, paired: &Paired) -> Result<Split, Failure> {
    let (train, n) = (paired.train as u32, paired.n() as u32);
    let whole = Split { train: (0..train).collect(), test: (train..n).collect() };
    match args.test_share {
        Some(share) if share > 0.0 => Ok(hold_out(&whole.train, share, args.training.seed)?),
        _ => Ok(whole),
    }
}

fn neighbouring<'a>(
    args: &MapFit,
    threads: &'a ThreadPool,
    budget: &Budget,
    interruption: &'a Interruption,
) -> Neighbouring<'a> {
    let rule = if args.self_rule == SelfRule::Include { Rule::Include } else { Rule::Exclude };
    Neighbouring { k: args.k, rule, threads, memory: budget.left(), observer: interruption }
}

fn with_overlaps(
    args: &MapFit,
    map: &mut Map,
    pairs: &Pairs<'_>,
    split: &Split,
    options: &FitOptions,
    neighbouring: Neighbouring<'_>,
    progress: &Progress<'_>,
) -> Result<Vec<(Line, Option<CurvePoint>)>, ExperimentError> {
    let of_train = Neighbourhoods::new(pairs, &split.train, args.metric, &neighbouring)?;
    let test = (!split.test.is_empty()).then(|| Neighbourhoods::new(pairs, &split.test, args.metric, &neighbouring));
    let of_test = test.transpose()?;
    let curve = Curve { pairs, split, neighbourhoods: (&of_train, of_test.as_ref()), neighbouring };
    let watch = |point: &CurvePoint| progress.progress(point.epoch as u64, options.epochs as u64);
    let points = neighbouring.threads.install(|| curve.fit(map, options, watch))?;
    Ok(points.into_iter().map(|point| (Line::of_point(&point), Some(point))).collect())
}

impl Line {
    fn new(epoch: &Epoch) -> Self {
        let Epoch { number, train_loss, test_loss } = *epoch;
        Self { epoch: number, train_loss, test_loss, overlaps: None }
    }

    fn of_point(point: &CurvePoint) -> Self {
        let overlaps = Overlaps {
            train_x_fx: point.train[0],
            train_y_fx: point.train[1],
            test_x_fx: point.test.map(|test| test[0]),
            test_y_fx: point.test.map(|test| test[1]),
        };
        Self { epoch: point.epoch, train_loss: point.train_loss, test_loss: point.test_loss, overlaps: Some(overlaps) }
    }

    /// As cells of a table, with `digits` significant ones.
    fn cells(&self, digits: usize) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
        let mut cells = vec![self.epoch.to_string(), number(Some(self.train_loss)), number(self.test_loss)];
        if let Some(of) = &self.overlaps {
            cells.extend([Some(of.train_x_fx), Some(of.train_y_fx), of.test_x_fx, of.test_y_fx].map(number));
        }
        cells
    }
}

const HEADINGS: [&str; 7] =
    ["epoch", "train loss", "test loss", "train X,f(X)", "train Y,f(X)", "test X,f(X)", "test Y,f(X)"];

fn write_curve(path: &Path, lines: &[Line]) -> Result<AtomicFile, Failure> {
    let mut file = AtomicFile::create(path)?;
    let mut write = || {
        let mut csv = csv::Writer::from_writer(&mut file);
        csv.write_record(["epoch", "train_loss", "test_loss", "train_x_fx", "train_y_fx", "test_x_fx", "test_y_fx"])?;
        for line in lines {
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let of = line.overlaps.as_ref();
            csv.write_record([
                line.epoch.to_string(),
                line.train_loss.to_string(),
                number(line.test_loss),
                number(of.map(|of| of.train_x_fx)),
                number(of.map(|of| of.train_y_fx)),
                number(of.and_then(|of| of.test_x_fx)),
                number(of.and_then(|of| of.test_y_fx)),
            ])?;
        }
        csv.flush().map_err(csv::Error::from)
    };
    write().map_err(|e| WriteError::io(path, csv_cause(e)))?;
    Ok(file)
}

fn finish(
    args: &MapFit,
    paired: &Paired,
    split: &Split,
    (map, training): (&Map, Training),
    lines: Vec<Line>,
    points: &[CurvePoint],
    interruption: &Interruption,
) -> Result<(), Failure> {
    let inputs: Vec<_> = paired.inputs.iter().map(InputReport::new).collect();
    let trained = |of: &InputReport| Trained { path: of.path.clone(), fingerprint: of.fingerprint.clone() };
    let description = Description {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        map: args.map.name(),
        widths: std::iter::once(map.dx()).chain(map.layers().iter().map(mnno::train::Layer::outputs)).collect(),
        activation: map.activation(),
        x: trained(&inputs[0]),
        y: trained(&inputs[1]),
        training,
    };
    let prepared = prepare_tensors(&model::content(map, &description)?, "map", &args.output)?;
    let curve = args.curve.as_ref().map(|path| write_curve(path, &lines)).transpose()?;
    let title = description.title();
    let subtitle = format!(
        "{}, K = {}, self {}d; {} to train on, {} to test on",
        args.metric,
        args.k,
        spelled(&args.self_rule),
        counted(split.train.len(), "row"),
        split.test.len()
    );
    let n = if split.test.is_empty() { split.train.len() } else { split.test.len() };
    let rule = if args.self_rule == SelfRule::Include { Rule::Include } else { Rule::Exclude };
    let chosen = args.patience.map(|_| kept_epochs(&lines, true));
    let chance = measures::chance(n, args.k, rule);
    let picture = LearningCurve { title: &title, subtitle: &subtitle, points, chosen, x_y: None, chance };
    let plots = args.plot.iter().map(|path| curve_picture::draw(&picture, path)).collect::<Result<Vec<_>, _>>()?;
    paired.verify_unchanged()?;
    interruption.check()?;
    let mut outputs: Vec<_> = prepared.publish()?.into_iter().map(OutputReport::from).collect();
    if let Some(file) = curve {
        outputs.push(OutputReport::new(file.path(), "learning curve", vec![lines.len(), HEADINGS.len()], "text"));
        file.publish()?;
    }
    for plot in plots {
        outputs.push(OutputReport::new(plot.path(), "learning curve", vec![], "picture"));
        plot.publish()?;
    }
    let neighbours = args.mnno.then(|| NeighboursReport {
        k: args.k,
        metric: args.metric.name(),
        self_rule: spelled(&args.self_rule),
    });
    let report = Report {
        command: "map fit",
        version: env!("CARGO_PKG_VERSION"),
        inputs,
        map: description,
        train_rows: split.train.len(),
        test_rows: split.test.len(),
        dropped_rows: paired.dropped,
        neighbours,
        curve: (!lines.is_empty()).then_some(lines),
        outputs,
    };
    if args.json { report::print_json(&report) } else { report::print(&text(&report, &subtitle)) }
}

impl Description {
    /// `nn-1, 300 -> 512 -> 2048, mse`.
    fn title(&self) -> String {
        let widths: Vec<String> = self.widths.iter().map(usize::to_string).collect();
        let loss = match &self.training {
            Training::Batches { loss, margin: Some(margin), .. } => format!("{loss} (margin {margin})"),
            Training::Batches { loss, .. } => loss.clone(),
            Training::Ridge { lambda, .. } => format!("lambda {lambda}"),
        };
        format!("{}, {}, {loss}", self.map, widths.join(" -> "))
    }
}

fn text(report: &Report, subtitle: &str) -> String {
    let mut text = String::new();
    for (name, input) in ["x", "y", "test x", "test y"].iter().zip(&report.inputs) {
        text += &format!("[{name}] {}\n", input.line());
    }
    let map = &report.map;
    text += &format!("\n{}", map.title());
    match &map.training {
        Training::Batches { optimizer, learning_rate, batch, dropout, epochs, seed, .. } => {
            let activation =
                if map.widths.len() > 2 { format!("{}, ", spelled_activation(map)) } else { String::new() };
            text += &format!(
                "; {activation}{optimizer} at {learning_rate}, batches of {batch}, dropout {dropout}, seed {seed}; weights of epoch {epochs}\n"
            );
        }
        Training::Ridge { leave_one_out, .. } => {
            let error = leave_one_out.map_or_else(|| "undefined".to_owned(), |error| format!("{error:.6}"));
            text += &format!("; leave-one-out error {error} (1/2 squared distance, mean over rows)\n");
        }
    }
    if let Some(curve) = &report.curve {
        if report.neighbours.is_some() {
            text += &format!("{subtitle}\n");
        }
        text.push('\n');
        let columns = curve[0].cells(6).len();
        let mut rows = vec![HEADINGS[..columns].iter().map(|&heading| heading.to_owned()).collect::<Vec<_>>()];
        let every = curve.len().div_ceil(SHOWN);
        let shown = |line: &&Line| line.epoch == 1 || line.epoch.is_multiple_of(every) || line.epoch == curve.len();
        rows.extend(curve.iter().filter(shown).map(|line| line.cells(6)));
        text += &report::table(&rows);
        text += "\nThe train loss of an epoch is the mean over its batches, each before its step.\n";
        if report.neighbours.is_some() {
            text += "X,f(X): share of neighbours that mapped rows keep from X; Y,f(X): that they have in common with their targets.\n";
        }
    }
    if report.dropped_rows > 0 {
        text += &format!("{} dropped from both files: zero in one of them.\n", counted(report.dropped_rows, "row"));
    }
    text.extend(report.outputs.iter().map(OutputReport::line));
    text
}

fn spelled_activation(map: &Description) -> &'static str {
    name_of(&mnno::train::Activation::ALL, map.activation)
}
