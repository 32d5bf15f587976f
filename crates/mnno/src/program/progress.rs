//! Progress on a terminal, and interruption.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use mnno::Observer;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use super::failure::{Failure, code};
use super::report::note;

/// Nothing is shown of work that ends sooner.
const QUIET: Duration = Duration::from_secs(1);

/// Set by the first Ctrl-C (or SIGTERM); the second one ends the process at once.
#[derive(Clone, Debug)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Installs the signal handlers.
    pub(crate) fn install() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        let fail = |e| Failure::new(code::SYSTEM, format!("cannot install the signal handlers: {e}"));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, i32::from(code::INTERRUPTED), Arc::clone(&flag))
                .map_err(fail)?;
            flag::register(signal, Arc::clone(&flag)).map_err(fail)?;
        }
        // A file size limit must fail the write, not kill the process and leave a temporary file.
        flag::register(SIGXFSZ, Arc::default()).map_err(fail)?;
        Ok(Self(flag))
    }

    fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once a signal has come; asked between the steps of a command.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.seen() { Err(Failure::interrupted()) } else { Ok(()) }
    }
}

impl Observer for Interruption {
    fn cancelled(&self) -> bool {
        self.seen()
    }
}

/// A progress bar on stderr with rate and time left, where stderr is a terminal.
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    verbose: bool,
    started: Instant,
    interruption: &'a Interruption,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(what: &str, unit: &'static str, interruption: &'a Interruption) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {percent}%  {rate}  {eta} left")
            .expect("the template is well-formed")
            .with_key("rate", move |state: &ProgressState, out: &mut dyn Write| {
                // A rate that cannot be drawn is no reason to fail.
                let scale = if unit.starts_with("million") { 1e6 } else { 1.0 };
                let _ = write!(out, "{:.0} {unit}/s", state.per_sec() / scale);
            })
            .progress_chars("=> ");
        bar.set_style(style);
        bar.set_prefix(what.to_owned());
        Self { bar, verbose: false, started: Instant::now(), interruption }
    }

    /// Whether to print how the work is done.
    pub(crate) fn verbose(mut self, verbose: bool) -> Self {
        self.verbose = verbose;
        self
    }
}

impl Observer for Progress<'_> {
    fn progress(&self, done: u64, total: u64) {
        if self.bar.is_hidden() && self.started.elapsed() > QUIET {
            // A draw target that is no terminal stays hidden.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(total);
        self.bar.set_position(self.bar.position().max(done));
    }

    fn note(&self, message: &str) {
        if self.verbose {
            let line = format!("{}: {message}", self.bar.prefix());
            self.bar.suspend(|| note(&line));
        }
    }

    fn cancelled(&self) -> bool {
        self.interruption.seen()
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
