//! `mnno map fit`: a map trained from paired files.

use mnno::store::output::{AtomicFile, prepare_tensors, same_file};
use mnno::train::experiment::{Curve, CurvePoint};
use mnno::train::{
    Epoch, ExperimentError, FitOptions, Loss, Map, MapError, Neighbourhoods, Neighbouring, Pairs, Pieces, Ridge, Split,
    fit, hold_out, mean_loss, ridge, widths,
};
use mnno::{Neighbours, Observer, measures};
use rayon::ThreadPool;
use serde::Serialize;

use super::model::{self, Description, Training};
use crate::program::args::{MapFit, MapKind, spelled};
use crate::program::budget::Budget;
use crate::program::canvas;
use crate::program::curve::{self, HEADINGS, Line};
use crate::program::curve_picture::{self, LearningCurve};
use crate::program::failure::Failure;
use crate::program::paired::{self, Paired, ROLES};
use crate::program::progress::{Interruption, Progress};
use crate::program::report::{self, FileReport, InputReport, OutputReport, counted};
use crate::program::searcher;
use crate::program::training::{check_batch, name_of, ridge_memory, training_memory};

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
    curve: Vec<Line>,
    outputs: Vec<OutputReport>,
}

#[derive(Serialize)]
struct NeighboursReport {
    k: usize,
    metric: &'static str,
    #[serde(rename = "self")]
    self_rule: String,
    /// mNNO(X, Y) of the test rows, or else of the training rows: what they share without a map.
    x_y: f64,
    chance: f64,
}

pub(super) fn run(args: &MapFit, interruption: &Interruption) -> Result<(), Failure> {
    let threads = searcher::start_threads(args.training.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let paired = paired::open(&args.pairs, &args.input, &mut budget, &threads, interruption)?;
    let paths: Vec<_> = [Some(&args.output), args.curve.as_ref()].into_iter().flatten().chain(&args.plot).collect();
    for (number, path) in paths.iter().enumerate() {
        paired.refuse_as_output(path, &args.pairs)?;
        if paths[..number].iter().any(|before| before == path || same_file(before, path)) {
            return Err(Failure::usage(format!("{}: two outputs would be this file", path.display())));
        }
        // Made and dropped: a place that takes no files is found at once.
        AtomicFile::create(path)?;
    }
    args.plot.iter().try_for_each(|path| canvas::check_extension(path))?;
    let pairs = paired.pairs(false);
    let split = split(args, &paired)?;
    if args.patience.is_some() && split.test.is_empty() {
        return Err(Failure::usage("--patience watches the test loss, and there are no rows to test on")
            .hint("set some aside with --test-share 0.2, or give --test-x and --test-y"));
    }
    let options = options(args)?;
    check_batch(&args.loss, args.training.batch)?;
    let sizes = widths(pairs.dx, args.map.hidden(), args.hidden, pairs.dy);
    if args.map == MapKind::Ridge {
        budget.take(ridge_memory(&pairs), "ridge regression")?;
    } else {
        let batch = args.training.batch.min(split.train.len());
        budget.take(training_memory(&sizes, batch, args.training.optimizer), "training the map")?;
    }
    if args.mnno {
        let lists = 3 * Neighbours::memory(paired.n(), args.k) + 4 * (paired.n() * pairs.dx.max(pairs.dy)) as u64;
        budget.take(lists, "measuring the neighbours of mapped rows")?;
    }
    let failure = |error: ExperimentError| paired.failure(error, false, &budget);
    let spaces = args.mnno.then(|| Spaces::new(args, &pairs, &split, &threads, &budget, interruption));
    let spaces = spaces.transpose().map_err(failure)?;
    let mut lines = Vec::new();
    if args.map == MapKind::Ridge {
        let Ridge { map, lambda, leave_one_out } = ridge(&pairs, &split.train, args.training.lambda)?;
        let measure = || measured(&map, &pairs, &split, spaces.as_ref());
        let (lines, points) = threads.install(measure).map_err(failure)?;
        let training = Training::Ridge { lambda, leave_one_out };
        return finish(args, &paired, &split, (&map, training), (lines, &points, spaces.as_ref()), interruption);
    }
    let mut map = Map::random(
        &sizes,
        args.training.activation,
        args.training.init.into(),
        args.training.bias,
        args.training.seed,
    );
    let progress = Progress::new("train", "epochs", interruption);
    let seen = |epoch: usize| progress.progress(epoch as u64, options.epochs as u64);
    let mut points = Vec::new();
    if let Some(spaces) = &spaces {
        let curve = spaces.curve(&pairs, &split);
        let fitted = threads.install(|| curve.fit(&mut map, &options, |point| seen(point.epoch)));
        points = fitted.map_err(failure)?;
    } else {
        let watch = |epoch: &Epoch, _: &Map| {
            seen(epoch.number);
            lines.push(Line::new(epoch));
            if interruption.cancelled() { Err(MapError::Interrupted) } else { Ok(()) }
        };
        threads.install(|| fit(&mut map, &pairs, &split.train, &split.test, &options, watch))?;
    }
    drop(progress);
    lines.extend(points.iter().map(Line::of_point));
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
    finish(args, &paired, &split, (&map, training), (lines, &points, spaces.as_ref()), interruption)
}

/// The lines and points of a map in closed form: one of each at most, as epoch 0.
fn measured(
    map: &Map,
    pairs: &Pairs<'_>,
    split: &Split,
    spaces: Option<&Spaces<'_>>,
) -> Result<(Vec<Line>, Vec<CurvePoint>), ExperimentError> {
    let options = FitOptions::new(Loss::Mse, 1.0, 1);
    let loss = |rows: &[u32]| mean_loss(map, pairs, rows, &options);
    let test_loss = (!split.test.is_empty()).then(|| loss(&split.test));
    let epoch = Epoch { number: 0, train_loss: loss(&split.train), test_loss };
    let Some(spaces) = spaces else { return Ok((vec![Line::new(&epoch)], Vec::new())) };
    let (train, test) = spaces.curve(pairs, split).overlaps(map)?;
    let point = CurvePoint { epoch: 0, train_loss: epoch.train_loss, test_loss, train, test };
    Ok((vec![Line::of_point(&point)], vec![point]))
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

/// The neighbours that mapped rows are compared with.
struct Spaces<'a> {
    train: Neighbourhoods,
    test: Option<Neighbourhoods>,
    neighbouring: Neighbouring<'a>,
}

impl<'a> Spaces<'a> {
    fn new(
        args: &MapFit,
        pairs: &Pairs<'_>,
        split: &Split,
        threads: &'a ThreadPool,
        budget: &Budget,
        interruption: &'a Interruption,
    ) -> Result<Self, ExperimentError> {
        let rule = args.self_rule.into();
        let neighbouring = Neighbouring { k: args.k, rule, threads, memory: budget.left(), observer: interruption };
        let of = |rows: &[u32]| Neighbourhoods::new(pairs, rows, args.metric, &neighbouring);
        let test = (!split.test.is_empty()).then(|| of(&split.test)).transpose()?;
        Ok(Self { train: of(&split.train)?, test, neighbouring })
    }

    fn curve<'b>(&'b self, pairs: &'b Pairs<'b>, split: &'b Split) -> Curve<'b> {
        Curve { pairs, split, neighbourhoods: (&self.train, self.test.as_ref()), neighbouring: self.neighbouring }
    }

    /// What X and Y share without a map: mNNO(X, Y), and chance; of the test rows if there are any.
    fn without_map(&self) -> Result<(f64, f64), ExperimentError> {
        let [x, y] = self.test.as_ref().unwrap_or(&self.train).of_pairs();
        let chance = measures::chance(x.n(), self.neighbouring.k, self.neighbouring.rule);
        Ok((measures::mnno(x, y)?.value(), chance))
    }
}

fn finish(
    args: &MapFit,
    paired: &Paired,
    split: &Split,
    (map, training): (&Map, Training),
    (lines, points, spaces): (Vec<Line>, &[CurvePoint], Option<&Spaces<'_>>),
    interruption: &Interruption,
) -> Result<(), Failure> {
    let inputs = paired.reports();
    let trained = |of: &InputReport| FileReport { path: of.path.clone(), fingerprint: of.fingerprint.clone() };
    let description = Description {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        map: args.map.name(),
        widths: std::iter::once(map.dx()).chain(map.layers().iter().map(mnno::train::Layer::outputs)).collect(),
        activation: map.activation(),
        x: trained(&inputs[0]),
        y: trained(&inputs[1]),
        labels: inputs[0].labels.clone(),
        rows: args.input.rows.as_ref().map(|rows| [rows.start, rows.end]),
        test_share: args.test_share,
        train_rows: split.train.len(),
        training,
    };
    let prepared = prepare_tensors(&model::content(map, &description)?, "map", &args.output)?;
    let csv = args.curve.as_ref().map(|path| curve::write(path, &lines)).transpose()?;
    let title = description.title();
    let rows = format!("{} to train on, {} to test on", counted(split.train.len(), "row"), split.test.len());
    let subtitle = match spaces {
        Some(_) => format!("{}, K = {}, self {}d; {rows}", args.metric, args.k, spelled(&args.self_rule)),
        None => rows,
    };
    let without = spaces.map(Spaces::without_map).transpose();
    let without = without.map_err(|error| Failure::bad_data(error.to_string()))?;
    let chosen = args.patience.map(|_| kept_epochs(&lines, true));
    let (x_y, chance) = (without.map(|(x_y, _)| x_y), without.map_or(0.0, |(_, chance)| chance));
    let picture = LearningCurve { title, subtitle: subtitle.clone(), points: points.to_vec(), chosen, x_y, chance };
    let plots = args.plot.iter().map(|path| curve_picture::draw(&picture, path)).collect::<Result<Vec<_>, _>>()?;
    paired.verify_unchanged()?;
    interruption.check()?;
    let mut outputs: Vec<_> = prepared.publish()?.into_iter().map(OutputReport::from).collect();
    if let Some(file) = csv {
        outputs.push(OutputReport::new(file.path(), "learning curve", vec![lines.len(), HEADINGS.len()], "text"));
        file.publish()?;
    }
    for plot in plots {
        outputs.push(OutputReport::new(plot.path(), "learning curve", vec![], "picture"));
        plot.publish()?;
    }
    let neighbours = without.map(|(x_y, chance)| NeighboursReport {
        k: args.k,
        metric: args.metric.name(),
        self_rule: spelled(&args.self_rule),
        x_y,
        chance,
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
        curve: lines,
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
    let inputs = || ROLES.into_iter().zip(&report.inputs);
    let mut text = report::inputs(inputs());
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
            text += &format!("; leave-one-out error {error}\n");
        }
    }
    text += &format!("{subtitle}\n");
    text += &format!("\n{}\n", curve::table(&report.curve));
    text += match &map.training {
        Training::Batches { .. } => "The train loss of an epoch is the mean over its batches, each before its step.\n",
        Training::Ridge { .. } => "Losses are 1/2 |f(x) - y|^2, mean over rows.\n",
    };
    if let Some(NeighboursReport { x_y, chance, .. }) = &report.neighbours {
        text += &format!(
            "X,f(X): share of neighbours that mapped rows keep from X; Y,f(X): that they have in common with their targets.\n\
             X and Y share {x_y:.6} without a map, and {chance:.6} by chance, among the {} rows.\n",
            if report.test_rows > 0 { "test" } else { "training" }
        );
        if report.test_rows > 0 {
            text += "Overlaps grow as rows get fewer: those of training and test rows are not to be compared with each other.\n";
        }
    }
    text += &report::missing(inputs(), report.dropped_rows);
    text.extend(report.outputs.iter().map(OutputReport::line));
    text
}

fn spelled_activation(map: &Description) -> &'static str {
    name_of(&mnno::train::Activation::ALL, map.activation)
}
