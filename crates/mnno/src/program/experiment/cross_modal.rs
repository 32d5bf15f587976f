//! `mnno experiment cross-modal`: whose neighbours do mapped rows have? (Collell & Moens 2018, experiment 1)

use std::path::PathBuf;

use mnno::measures::MeasureError;
use mnno::train::experiment::{self as library, Cell, Curve, CurvePoint, Measured, Plan, Scheme};
use mnno::train::{
    ExperimentError, Grid, Lambda, Loss, Neighbourhoods, Neighbouring, Outcomes, Pairs, Pieces, Recipe, of_test_rows,
    widths,
};
use mnno::{Metric, Neighbours};
use rayon::ThreadPool;
use xxhash_rust::xxh3::xxh3_64;

use super::kept::{Kept, make_folder};
use super::outputs::Outputs;
use super::results::{Conventions, Report, cell_report, rows, split_rows};
use super::tables;
use crate::program::args::{CrossModal, Directions, MapKind, SelfRule, TrainingArgs, spelled};
use crate::program::budget::Budget;
use crate::program::failure::{Failure, code};
use crate::program::paired::{self, Paired};
use crate::program::progress::{Interruption, Progress};
use crate::program::report;
use crate::program::searcher;
use crate::program::training::{check_batch, name_of, ridge_memory, training_memory};

pub(super) const METRICS: [Metric; 2] = [Metric::Cosine, Metric::Euclidean];

/// A map to train in a direction.
pub(super) struct Task {
    pub(super) swapped: bool,
    pub(super) kind: MapKind,
    pub(super) loss: Loss,
}

impl Task {
    pub(super) fn direction(&self) -> &'static str {
        if self.swapped { "y->x" } else { "x->y" }
    }

    fn name(&self) -> String {
        format!("{} {} {}", self.direction(), self.kind.name(), self.loss.name())
    }

    /// A failure of data that tells of the task.
    fn named(&self, failure: Failure) -> Failure {
        let Failure { code, message, hint } = failure;
        let message = if code == code::BAD_DATA { format!("{message} ({})", self.name()) } else { message };
        Failure { code, message, hint }
    }

    pub(super) fn file_name(&self) -> String {
        let direction = if self.swapped { "y-to-x" } else { "x-to-y" };
        format!("{direction}.{}.{}", self.kind.name(), self.loss.name())
    }
}

/// What all tasks share.
pub(super) struct Setting<'a> {
    args: &'a CrossModal,
    pub(super) paired: &'a Paired,
    pub(super) plan: Plan,
    grid: Grid,
    pub(super) neighbouring: Neighbouring<'a>,
    threads: &'a ThreadPool,
    interruption: &'a Interruption,
    budget: &'a Budget,
    /// What trainings depend on, but for map, direction, loss and point.
    identity: String,
}

pub(super) fn run(args: &CrossModal, interruption: &Interruption) -> Result<(), Failure> {
    experiment(args, interruption).map_err(|failure| {
        if failure.code != code::INTERRUPTED {
            return failure;
        }
        Failure::new(failure.code, format!("interrupted; finished trainings are kept in {}", grid(args).display()))
            .hint("the same command goes on from there")
    })
}

fn experiment(args: &CrossModal, interruption: &Interruption) -> Result<(), Failure> {
    let threads = searcher::start_threads(args.training.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let paired = paired::open(&args.pairs, &args.input, &mut budget, &threads, interruption)?;
    let mut ks = args.k.clone();
    ks.sort_unstable();
    ks.dedup();
    if ks.first() == Some(&0) {
        return Err(Failure::usage(MeasureError::KZero.to_string()));
    }
    args.losses.iter().try_for_each(|loss| check_batch(loss, args.training.batch))?;
    make_folder(&args.output)?;
    let plan = plan(args, &paired)?;
    let tasks = tasks(args);
    let mut outputs = Outputs::new(args, &tasks, &paired)?;
    let grid = Grid {
        learning_rates: args.learning_rate.clone(),
        units: args.hidden.clone(),
        dropouts: args.dropout.clone(),
        margins: args.margin.clone(),
    };
    take_memory(args, &paired, &plan, &threads, &mut budget)?;
    let neighbouring = Neighbouring {
        k: ks.last().copied().unwrap_or(0),
        rule: self_rule(args).into(),
        threads: &threads,
        memory: budget.left(),
        observer: interruption,
    };
    let setting = Setting {
        args,
        paired: &paired,
        plan,
        grid,
        neighbouring,
        threads: &threads,
        interruption,
        budget: &budget,
        identity: identity(args, &paired),
    };
    let failure = |error: ExperimentError| paired.failure(error, false, &budget);
    let progress = Progress::new("neighbours of X and Y", "million pairs", interruption);
    let of_test = Neighbouring { observer: &progress, ..neighbouring };
    let found = of_test_rows(&paired.pairs(false), &setting.plan.splits, &METRICS, &of_test).map_err(failure)?;
    drop(progress);
    let swapped: Vec<Vec<_>> = found.iter().map(|split| split.iter().map(Neighbourhoods::swapped).collect()).collect();

    let mut cells = Vec::new();
    let mut measured = Vec::new();
    let mut splits = Vec::new();
    let spaces = setting.curve_spaces(&tasks, &found).map_err(failure)?;
    for task in tasks {
        let neighbourhoods = if task.swapped { &swapped } else { &found };
        let (cell, of_cell) = setting.run(&task, neighbourhoods, &ks).map_err(|failure| task.named(failure))?;
        if let Some(spaces) = &spaces {
            setting.curve(&task, &cell, spaces, &mut outputs).map_err(|failure| task.named(failure))?;
        }
        cells.push(cell_report(&task, &cell));
        splits.extend(split_rows(&task, &cell, &of_cell));
        measured.push((task, of_cell));
    }
    let report = Report {
        command: "experiment cross-modal",
        version: env!("CARGO_PKG_VERSION"),
        conventions: setting.conventions(ks, measured.iter().map(|(_, of_cell)| of_cell.len()).sum()),
        inputs: paired.reports(),
        dropped_rows: paired.dropped,
        rows: rows(&cells, &measured, &spelled(&self_rule(args))),
        splits,
        cells,
        outputs: Vec::new(),
    };
    outputs.results(&report)?;
    paired.verify_unchanged()?;
    interruption.check()?;
    let report = Report { outputs: outputs.publish()?, ..report };
    if args.json { report::print_json(&report) } else { report::print(&tables::text(&report)) }
}

/// Where finished trainings are kept.
fn grid(args: &CrossModal) -> PathBuf {
    args.output.join("grid")
}

pub(super) fn self_rule(args: &CrossModal) -> SelfRule {
    args.self_rule.or_of(args.preset)
}

fn plan(args: &CrossModal, paired: &Paired) -> Result<Plan, Failure> {
    let (train, n, seed) = (paired.train, paired.n(), args.training.seed);
    let plan = if train < n {
        Plan::of_runs(train, n, args.runs, args.folds, seed)
    } else {
        Plan::of_folds(n, args.folds, args.nested, seed)
    };
    plan.map_err(|error| {
        Failure::from(error).hint("give more rows; cross-validation takes a row for each of its --folds at least")
    })
}

fn tasks(args: &CrossModal) -> Vec<Task> {
    let directions: &[bool] = match args.direction {
        Directions::Both => &[false, true],
        Directions::XToY => &[false],
        Directions::YToX => &[true],
    };
    let margin = |loss: &str| if loss == "hinge-rank" { Loss::HINGE_RANK_MARGIN } else { args.margin[0] };
    let mut tasks: Vec<Task> = Vec::new();
    for &swapped in directions {
        for &kind in &args.maps {
            // The closed form is of one loss.
            let losses = if kind == MapKind::Ridge { &["mse".to_owned()][..] } else { &args.losses };
            let named = losses.iter().filter_map(|name| Loss::named(name, margin(name)));
            tasks.extend(named.map(|loss| Task { swapped, kind, loss }));
        }
    }
    let mut seen = Vec::new();
    tasks.retain(|task| {
        let name = task.file_name();
        let new = !seen.contains(&name);
        seen.push(name);
        new
    });
    tasks
}

/// Names what trainings depend on, but for map, direction, loss and point.
fn identity(args: &CrossModal, paired: &Paired) -> String {
    let TrainingArgs { activation, optimizer, init, bias, epochs, batch, seed, .. } = &args.training;
    let text = format!(
        "{} {activation:?} {optimizer:?} {init:?} {bias} {epochs} {batch} {seed} {} {} {}",
        env!("CARGO_PKG_VERSION"),
        args.folds,
        args.nested,
        paired.content()
    );
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// What the largest maps take on all threads, and the mapped rows and lists.
fn take_memory(
    args: &CrossModal,
    paired: &Paired,
    plan: &Plan,
    threads: &ThreadPool,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let pairs = paired.pairs(false);
    let units = args.hidden.iter().copied().max().unwrap_or(0);
    let of_map = |kind: &MapKind| {
        let batch = args.training.batch.min(pairs.n());
        training_memory(&widths(pairs.dx, kind.hidden(), units, pairs.dy), batch, args.training.optimizer)
    };
    let largest = args.maps.iter().map(of_map).max().unwrap_or(0);
    budget.take(largest * threads.current_num_threads() as u64, "training maps side by side")?;
    if args.maps.contains(&MapKind::Ridge) {
        let largest = ridge_memory(&pairs).max(ridge_memory(&paired.pairs(true)));
        budget.take(largest * threads.current_num_threads() as u64, "ridge regression")?;
    }
    let tested: u64 = plan.splits.iter().map(|split| split.test.len() as u64).sum();
    let places = args.k.iter().copied().max().unwrap_or(0);
    let of_row = 4 * pairs.dx.max(pairs.dy) as u64 + 6 * (12 * places as u64 + 8) + 16 * args.k.len() as u64;
    budget.take(tested * of_row, "holding the mapped test rows and their neighbours")?;
    let curve = 4 * (pairs.n() * (pairs.dx + pairs.dy)) as u64 + 3 * Neighbours::memory(pairs.n(), places);
    budget.take(curve, "measuring learning curves")
}

impl Setting<'_> {
    fn recipe(&self, task: &Task, hidden: usize) -> Recipe {
        let TrainingArgs { activation, optimizer, init, bias, epochs, batch, .. } = self.args.training;
        Recipe { hidden, activation, init: init.into(), bias, loss: task.loss, optimizer, epochs, batch }
    }

    fn run(
        &self,
        task: &Task,
        neighbourhoods: &[Vec<Neighbourhoods>],
        ks: &[usize],
    ) -> Result<(Cell, Vec<Measured>), Failure> {
        let pairs = self.paired.pairs(task.swapped);
        let scheme = match task.kind {
            MapKind::Trained(hidden) => Scheme::Trained(self.recipe(task, hidden)),
            MapKind::Ridge => Scheme::Ridge(self.args.training.lambda),
        };
        let name = task.file_name();
        let places = if self.plan.inner.len() > 1 { self.plan.inner.len() } else { 1 };
        let mut folders = Vec::new();
        if let Scheme::Trained(recipe) = &scheme {
            for place in 0..places {
                let folder = if places > 1 { format!("{name}.outer-{place}") } else { name.clone() };
                folders.push(Kept::new(&grid(self.args), &self.identity, &folder, recipe.epochs)?);
            }
        }
        let progress = Progress::new(&task.name(), "trainings", self.interruption);
        let outcomes = |outer: Option<usize>| &folders[outer.unwrap_or(0)] as &dyn Outcomes<Failure>;
        let trained =
            self.threads.install(|| library::train(&scheme, &self.grid, &pairs, &self.plan, &outcomes, &progress));
        drop(progress);
        let cell: Cell = trained?;
        let measured = library::measure(&cell, pairs.dy, &self.plan, neighbourhoods, ks, &self.neighbouring)
            .map_err(|error| self.paired.failure(error, task.swapped, self.budget))?;
        Ok((cell, measured))
    }

    /// The neighbours that learning curves are measured by: of the training and the test rows of the first split. None if no map is
    /// trained.
    fn curve_spaces(
        &self,
        tasks: &[Task],
        found: &[Vec<Neighbourhoods>],
    ) -> Result<Option<[Neighbourhoods; 2]>, ExperimentError> {
        if tasks.iter().all(|task| task.kind == MapKind::Ridge) {
            return Ok(None);
        }
        let neighbouring = Neighbouring { k: self.curve_k(), ..self.neighbouring };
        let split = &self.plan.splits[0];
        let of_train = Neighbourhoods::new(&self.paired.pairs(false), &split.train, METRICS[0], &neighbouring)?;
        Ok(Some([of_train, found[0][0].nearest(neighbouring.k)]))
    }

    /// Draws the learning curve of a trained map on the first split, over all epochs.
    fn curve(
        &self,
        task: &Task,
        cell: &Cell,
        spaces: &[Neighbourhoods; 2],
        outputs: &mut Outputs<'_>,
    ) -> Result<(), Failure> {
        let (MapKind::Trained(hidden), Some(choice)) = (task.kind, cell.runs[0].choice) else {
            return Ok(());
        };
        let failure = |error| self.paired.failure(error, task.swapped, self.budget);
        let pairs: Pairs<'_> = self.paired.pairs(task.swapped);
        let recipe = self.recipe(task, hidden);
        let (epochs, seed) = (recipe.epochs, self.plan.seeds[0]);
        let mut map = recipe.start(&choice.point, pairs.dx, pairs.dy, seed);
        let options = recipe.options(&choice.point, epochs, seed, Pieces::Parallel);
        let neighbouring = Neighbouring { k: self.curve_k(), ..self.neighbouring };
        let [of_train, of_test] = spaces.each_ref().map(|of| if task.swapped { of.swapped() } else { of.clone() });
        let split = &self.plan.splits[0];
        let curve = Curve { pairs: &pairs, split, neighbourhoods: (&of_train, Some(&of_test)), neighbouring };
        let progress = Progress::new(&format!("learning curve of {}", task.file_name()), "epochs", self.interruption);
        let watch = |point: &CurvePoint| mnno::Observer::progress(&progress, point.epoch as u64, epochs as u64);
        let points = self.threads.install(|| curve.fit(&mut map, &options, watch)).map_err(failure)?;
        drop(progress);
        outputs.curve(self, task, points, choice.epochs, &of_test)
    }

    /// 10, as in the paper, or the smallest.
    pub(super) fn curve_k(&self) -> usize {
        if self.args.k.contains(&10) { 10 } else { self.args.k.iter().copied().min().unwrap_or(1) }
    }

    fn conventions(&self, k: Vec<usize>, comparisons: usize) -> Conventions {
        let args = self.args;
        let TrainingArgs { activation, optimizer, init, bias, epochs, batch, seed, .. } = args.training;
        let tests: Vec<usize> = self.plan.splits.iter().map(|split| split.test.len()).collect();
        let (least, most) = (tests.iter().min().copied().unwrap_or(0), tests.iter().max().copied().unwrap_or(0));
        let sizes = if least == most { least.to_string() } else { format!("{least} or {most}") };
        let fixed = self.paired.train < self.paired.n();
        let tested = if fixed {
            format!("{sizes} test rows, means of {} runs that differ in their seeds", args.runs)
        } else {
            format!("{} folds of {sizes} rows, neighbours within the fold, means over folds", args.folds)
        };
        let chosen = match (fixed, args.nested) {
            (true, _) => format!("by test loss on {} folds of the training rows", args.folds),
            (false, true) => format!("by test loss on {} folds within the training rows of each fold", args.folds),
            (false, false) => "by test loss on the folds that are reported, as in the paper".to_owned(),
        };
        Conventions {
            self_rule: spelled(&self_rule(args)),
            preset: args.preset.as_ref().map(spelled),
            ties: "lower-index",
            folds: args.folds,
            runs: fixed.then_some(args.runs),
            nested: args.nested,
            learning_rates: args.learning_rate.clone(),
            hidden: args.hidden.clone(),
            dropouts: args.dropout.clone(),
            margins: args.margin.clone(),
            lambda: match args.training.lambda {
                Lambda::Given(lambda) => lambda.to_string(),
                Lambda::LeaveOneOut => "loo".to_owned(),
            },
            tested,
            chosen,
            k,
            activation: name_of(&mnno::train::Activation::ALL, activation),
            optimizer: name_of(&mnno::train::Optimizer::ALL, optimizer),
            init: spelled(&init),
            bias,
            batch,
            epochs,
            seed,
            comparisons,
        }
    }
}
