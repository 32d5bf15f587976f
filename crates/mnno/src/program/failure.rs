//! How a command fails: one line, an optional hint, an exit code.

use mnno::store::output::WriteError;
use mnno::store::{ErrorKind, StoreError};
use mnno::train::MapError;

/// Exit codes, as documented in `mnno --help` (the names and numbers of `sysexits.h` where it has one).
pub(crate) mod code {
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const BAD_DATA: u8 = 65;
    pub(crate) const CANNOT_OPEN: u8 = 66;
    pub(crate) const SYSTEM: u8 = 71;
    pub(crate) const CANNOT_WRITE: u8 = 73;
    pub(crate) const CHANGED: u8 = 74;
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// A command's failure, ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(code::USAGE, message)
    }

    pub(crate) fn bad_data(message: impl Into<String>) -> Self {
        Self::new(code::BAD_DATA, message)
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(code::INTERRUPTED, "interrupted; nothing was written")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.kind() == ErrorKind::Interrupted {
            return Self::interrupted();
        }
        let code = match error.kind() {
            ErrorKind::Usage => code::USAGE,
            ErrorKind::CannotOpen => code::CANNOT_OPEN,
            ErrorKind::Changed => code::CHANGED,
            _ => code::BAD_DATA,
        };
        Self { code, message: error.to_string(), hint: error.hint() }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        if matches!(error, WriteError::Interrupted) {
            return Self::interrupted();
        }
        let code = if matches!(error, WriteError::UnknownLayout { .. }) { code::USAGE } else { code::CANNOT_WRITE };
        Self { code, message: error.to_string(), hint: error.hint() }
    }
}

impl From<MapError> for Failure {
    fn from(error: MapError) -> Self {
        let message = error.to_string();
        match error {
            MapError::Interrupted => Self::interrupted(),
            MapError::Diverged { .. } | MapError::AllDiverged { .. } => Self::bad_data(message)
                .hint("choose a smaller --learning-rate; values far from 1 train better when they are scaled first"),
            MapError::Overflow { .. } => Self::bad_data(message).hint("choose a smaller --learning-rate"),
            MapError::Rows { .. } => Self::usage(message).hint("give more rows"),
            _ => Self::bad_data(message),
        }
    }
}
