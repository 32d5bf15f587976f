//! `mnno index`: an approximate index of a file, built once and searched often.

use std::path::Path;
use std::time::Instant;

use mnno::hnsw::{BuildOptions, Found, Index, Method, SearchOptions};
use mnno::store::output::{AtomicFile, Lists, WriteError, list_paths, prepare_lists};
use mnno::store::{Format, plain};
use mnno::{Exclude, NO_NEIGHBOUR, Neighbours, Threads, Ties};
use serde::Serialize;

use super::args::{GraphKind, IndexBuild, IndexCommand, IndexSearch, SelfRule, TieRule, TraversalRule, spelled};
use super::budget::Budget;
use super::failure::{Failure, code};
use super::inputs;
use super::progress::{Interruption, Progress};
use super::report::{self, InputReport, OutputReport, counted};
use super::searcher;

pub(crate) fn run(command: &IndexCommand, interruption: &Interruption) -> Result<(), Failure> {
    match command {
        IndexCommand::Build(args) => build(args, interruption),
        IndexCommand::Search(args) => search(args, interruption),
    }
}

#[derive(Serialize)]
struct BuildReport {
    command: &'static str,
    version: &'static str,
    metric: &'static str,
    /// How the graph was built.
    index: &'static str,
    m: usize,
    ef_construction: usize,
    /// Whether the same command gives the same index.
    deterministic: bool,
    seed: u64,
    /// If the graph comes from lists of nearby clusters: how many times as long exact ones would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearby_lists: Option<f64>,
    inputs: Vec<InputReport>,
    /// Distinct rows.
    nodes: usize,
    edges: usize,
    entries: usize,
    /// What walks look at: bytes, or the rows.
    codes: bool,
    /// Of memory, while it is searched.
    bytes: usize,
    build_s: f64,
    output: String,
}

fn build(args: &IndexBuild, interruption: &Interruption) -> Result<(), Failure> {
    let options = args.index.options(args.m, args.ef_construction, args.deterministic, args.seed)?;
    let options = BuildOptions { lists: args.lists.into(), ..options };
    let threads = searcher::start_threads(args.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let base =
        inputs::one_matrix(&args.base, args.input.rows.clone(), &args.input, &mut budget, &threads, interruption)?;
    inputs::refuse_zero_rows(&base, args.metric)?;
    searcher::refuse_input_as_output(&args.output, [&base.matrix], None)?;
    // Made and dropped: a folder that takes no files is found before the work, not after it.
    AtomicFile::create(&args.output)?;
    if let Some(format) = Format::of_extension(&args.output) {
        let message =
            format!("{}: the extension is that of {format} files, and an index is none", args.output.display());
        return Err(Failure::usage(message).hint("name it NAME.ann, for instance"));
    }
    let (n, d) = (base.matrix.n(), base.matrix.d());
    budget.take(options.memory_beside(n, d, threads.current_num_threads()), "building the index")?;
    let options = BuildOptions { memory: budget.left(), ..options };
    let started = Instant::now();
    let unit = if args.index == GraphKind::Hnsw { "rows" } else { "million pairs" };
    let progress = Progress::new("build", unit, interruption);
    let index = Index::build(&base.matrix, args.metric, options, Threads::Pool(&threads), &progress)
        .map_err(|e| inputs::search_failure(e, base.name(), base.name(), options.ef_construction, &budget))?;
    drop(progress);
    let build_s = started.elapsed().as_secs_f64();
    let input = InputReport::new(&base);
    base.matrix.verify_unchanged()?;
    interruption.check()?;
    let mut file = AtomicFile::create(&args.output)?;
    let fingerprint = base.matrix.fingerprint().hash;
    index.write(fingerprint, &mut file).map_err(|e| WriteError::io(&args.output, e))?;
    file.publish()?;
    let graph = index.graph();
    let report = BuildReport {
        command: "index build",
        version: env!("CARGO_PKG_VERSION"),
        metric: args.metric.name(),
        index: options.method.name(),
        m: options.m,
        ef_construction: options.ef_construction,
        deterministic: options.method != Method::Hnsw { parallel: true },
        seed: args.seed,
        nearby_lists: index.nearby(),
        inputs: vec![input],
        nodes: graph.n(),
        edges: graph.edges(),
        entries: graph.entries().len(),
        codes: index.codes(),
        bytes: index.bytes(),
        build_s,
        output: args.output.display().to_string(),
    };
    if args.json { report::print_json(&report) } else { report::print(&build_text(&report)) }
}

fn build_text(report: &BuildReport) -> String {
    let edges = if report.nodes == 0 { 0.0 } else { report.edges as f64 / report.nodes as f64 };
    let looks_at = if report.codes { "rows rounded to bytes" } else { "the rows themselves" };
    let nearby = report.nearby_lists.map(report::nearby_text).unwrap_or_default();
    format!(
        "base: {}\n\n{} by {}: {} with {edges:.1} edges each on average, {}; walks look at {looks_at}\n{nearby}\
         built in {:.2} s; takes {} of memory beside the base\nwrote {}\n",
        report.inputs[0].line(),
        report.metric,
        report.index,
        counted(report.nodes, "distinct row"),
        counted(report.entries, "starting point"),
        report.build_s,
        report::size(report.bytes as u64),
        report.output
    )
}

#[derive(Serialize)]
struct SearchReport {
    command: &'static str,
    version: &'static str,
    metric: &'static str,
    #[serde(rename = "self", skip_serializing_if = "Option::is_none")]
    self_rule: Option<String>,
    index: String,
    inputs: Vec<InputReport>,
    k: usize,
    /// Nodes kept in view.
    ef: usize,
    queries: usize,
    /// Queries that were searched exactly, since their walks met too few candidates.
    finished_exactly: usize,
    padded_places: usize,
    outputs: Vec<OutputReport>,
}

fn search(args: &IndexSearch, interruption: &Interruption) -> Result<(), Failure> {
    if args.k == 0 {
        return Err(Failure::usage("k is 0: a list needs at least one neighbour"));
    }
    let threads = searcher::start_threads(args.threads)?;
    let mut budget = Budget::new(args.input.memory);
    let (index, fingerprint) = read(&args.index, &mut budget)?;
    let base =
        inputs::one_matrix(&args.base, args.input.rows.clone(), &args.input, &mut budget, &threads, interruption)?;
    if base.matrix.fingerprint().hash != fingerprint || !threads.install(|| index.is_of(&base.matrix)) {
        return Err(Failure::bad_data(format!(
            "{}: the index was not built from {}",
            args.index.display(),
            base.name()
        ))
        .hint("build it again with mnno index build, or name the very file it was built from, with the same --rows"));
    }
    let queries = match &args.queries {
        // --rows is about the base.
        Some(queries) => Some(inputs::one_matrix(queries, None, &args.input, &mut budget, &threads, interruption)?),
        None => None,
    };
    let asking = queries.as_ref().unwrap_or(&base);
    inputs::refuse_zero_rows(asking, index.metric())?;
    let given = [Some(&base), queries.as_ref()];
    for path in list_paths(&args.output)? {
        searcher::refuse_input_as_output(&path, given.iter().flatten().map(|i| &i.matrix), Some(&args.index))?;
        AtomicFile::create(&path)?;
    }
    let n = asking.matrix.n();
    // Lists as they are found, and as they are reported.
    let places = mnno::Search::list_memory(n, args.k).saturating_add(Neighbours::memory(n, args.k));
    let walks = (index.graph().n() as u64 / 8).saturating_add(24 * args.ef.min(index.graph().n()) as u64);
    let needed = places.saturating_add(walks.saturating_mul(threads.current_num_threads() as u64));
    budget.take(needed, &format!("keeping {} each of {n} queries", counted(args.k, "neighbour")))?;
    let ties = match args.ties {
        TieRule::LowerIndex => Ties::LowerIndex,
        TieRule::Random => Ties::Random { seed: args.seed, space: 0 },
    };
    let own = queries.is_none() && args.self_rule == SelfRule::Exclude;
    let progress = Progress::new("search", "queries", interruption);
    let options = SearchOptions {
        ef: args.ef,
        codes: args.traversal == TraversalRule::Auto,
        ties,
        memory: budget.left(),
        exclude: if own { Exclude::SameIndex } else { Exclude::None },
        threads: Threads::Pool(&threads),
        observer: &progress,
        ..SearchOptions::new(args.k)
    };
    let ef = index.ef(&options);
    if ef > args.ef {
        report::note(&format!("ef {} is too small for -k {}: {ef} is taken", args.ef, args.k));
    }
    let Found { lists, exact } = index
        .search(&base.matrix, &asking.matrix, &options)
        .map_err(|e| inputs::search_failure(e, base.name(), asking.name(), args.k, &budget))?;
    drop(progress);
    let metric = index.metric();
    let scores: Vec<f64> = lists.scores().iter().map(|&score| metric.reported(score)).collect();
    let prepared = prepare_lists(
        &Lists {
            n: asking.matrix.n(),
            k: args.k,
            indices: lists.indices(),
            scores: &scores,
            query_names: asking.matrix.names(),
            base_names: base.matrix.names(),
        },
        &args.output,
    )?;
    let input_reports = given.iter().flatten().map(|input| InputReport::new(input)).collect();
    for input in given.iter().flatten() {
        input.matrix.verify_unchanged()?;
    }
    interruption.check()?;
    let report = SearchReport {
        command: "index search",
        version: env!("CARGO_PKG_VERSION"),
        metric: metric.name(),
        self_rule: queries.is_none().then(|| spelled(&args.self_rule)),
        index: args.index.display().to_string(),
        inputs: input_reports,
        k: args.k,
        ef,
        queries: asking.matrix.n(),
        finished_exactly: exact,
        padded_places: lists.indices().iter().filter(|&&i| i == NO_NEIGHBOUR).count(),
        outputs: prepared.publish()?.into_iter().map(OutputReport::from).collect(),
    };
    if args.json { report::print_json(&report) } else { report::print(&search_text(&report)) }
}

fn search_text(report: &SearchReport) -> String {
    let mut text = String::new();
    for (input, role) in report.inputs.iter().zip(["base", "queries"]) {
        text += &format!("{role}: {}\n", input.line());
    }
    let self_rule = report.self_rule.as_ref().map_or(String::new(), |rule| format!(", self {rule}d"));
    text += &format!(
        "\n{}{self_rule}; {}, {} each, found with ef {}: approximate\n",
        report.metric,
        report::queries(report.queries),
        counted(report.k, "neighbour"),
        report.ef
    );
    if report.finished_exactly > 0 {
        text += &format!("walks that met too few candidates, finished by exact search: {}\n", report.finished_exactly);
    }
    text + &report::written(report.padded_places, &report.outputs)
}

/// The index of a file, and the fingerprint of its base.
fn read(path: &Path, budget: &mut Budget) -> Result<(Index, u128), Failure> {
    let failure = |e: &std::io::Error| Failure::new(code::CANNOT_OPEN, format!("{}: {}", path.display(), plain(e)));
    let metadata = std::fs::metadata(path).map_err(|e| failure(&e))?;
    if !metadata.is_file() {
        return Err(Failure::new(code::CANNOT_OPEN, format!("{}: this is not a regular file", path.display())));
    }
    let length = metadata.len();
    // The file, and what is made of it.
    budget.take(length.saturating_mul(2), &path.display().to_string())?;
    let bytes = std::fs::read(path).map_err(|e| failure(&e))?;
    let (index, head) = Index::read(&bytes).map_err(|e| {
        Failure::bad_data(format!("{}: {e}", path.display())).hint("mnno index build makes an index of a feature file")
    })?;
    Ok((index, head.fingerprint))
}
