//! Flags that were given and do nothing beside the others.

use clap::ArgMatches;
use clap::parser::ValueSource;
use mnno::train::Loss;

use super::{Cli, Command, CrossModal, ExperimentCommand, MapCommand, MapFit, MapKind};

/// Flags by their ids, and why they do nothing.
type Idle = (&'static [&'static str], &'static str);

/// What only maps that are trained need.
const OF_TRAINED: &[&str] = &[
    "losses",
    "loss",
    "margin",
    "learning_rate",
    "hidden",
    "dropout",
    "activation",
    "optimizer",
    "init",
    "bias",
    "epochs",
    "batch",
    "patience",
];
/// What only hidden layers need.
const OF_HIDDEN: &[&str] = &["hidden", "dropout", "activation"];
const OF_CLASSES: Idle = (&["labels"], "only the margin losses need negatives");
const OF_RIDGE: Idle = (&["lambda"], "only ridge has it");

/// A remark for each flag of the command line that does nothing.
pub(crate) fn remarks(cli: &Cli, matches: &ArgMatches) -> Vec<String> {
    let idle = match &cli.command {
        Command::Map(MapCommand::Fit(args)) => of_fit(args),
        Command::Experiment(ExperimentCommand::CrossModal(args)) => of_cross_modal(args),
        _ => return Vec::new(),
    };
    let innermost = matches.subcommand().and_then(|(_, matches)| matches.subcommand());
    let is_given = |id: &str| {
        innermost.is_some_and(|(_, matches)| {
            // A flag of the other command is no flag of this one.
            matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
        })
    };
    let mut remarks = Vec::new();
    for (ids, reason) in idle {
        let given = ids.iter().filter(|id| is_given(id));
        remarks.extend(given.map(|id| format!("{} does nothing: {reason}", flag(id))));
    }
    remarks
}

fn flag(id: &str) -> String {
    match id {
        "k" => "-k".to_owned(),
        "self_rule" => "--self".to_owned(),
        _ => format!("--{}", id.replace('_', "-")),
    }
}

fn of_fit(args: &MapFit) -> Vec<Idle> {
    let mut idle = match args.map {
        MapKind::Ridge => vec![(OF_TRAINED, "ridge is computed in closed form, of the mse"), OF_CLASSES],
        MapKind::Trained(0) => vec![(OF_HIDDEN, "lin has no hidden layer"), OF_RIDGE],
        MapKind::Trained(_) => vec![OF_RIDGE],
    };
    if args.map != MapKind::Ridge && !has_margin(&args.loss) {
        idle.push(OF_CLASSES);
    }
    if !args.mnno {
        idle.push((&["k", "metric", "self_rule"], "neighbours are searched with --mnno"));
    }
    idle
}

fn of_cross_modal(args: &CrossModal) -> Vec<Idle> {
    let mut idle = Vec::new();
    if !args.maps.contains(&MapKind::Ridge) {
        idle.push(OF_RIDGE);
    }
    let is_trained = |kind: &MapKind| matches!(kind, MapKind::Trained(_));
    if args.maps.iter().any(is_trained) {
        if args.maps.iter().all(|kind| matches!(kind, MapKind::Trained(0) | MapKind::Ridge)) {
            idle.push((OF_HIDDEN, "no map has a hidden layer"));
        }
        if !args.losses.iter().any(|loss| Loss::named(loss, 1.0).is_some_and(Loss::is_max_margin)) {
            idle.push((&["margin"], "only the max-margin losses have margins to choose from"));
        }
        if !args.losses.iter().any(|loss| has_margin(loss)) {
            idle.push(OF_CLASSES);
        }
    } else {
        idle.extend([(OF_TRAINED, "ridge is computed in closed form, of the mse"), OF_CLASSES]);
    }
    if args.pairs.test_x.is_none() {
        idle.push((&["runs"], "without --test-x every fold is trained on once"));
    }
    idle
}

fn has_margin(loss: &str) -> bool {
    Loss::named(loss, 1.0).is_some_and(|loss| loss.margin().is_some())
}
