//! The memory that `--memory` allows, shared out among all that a command holds.

use super::failure::Failure;
use super::report::size;

/// What the program itself and the stacks of its threads take.
const PROGRAM: u64 = 16 << 20;
/// The least that `--memory` accepts.
pub(crate) const LEAST: u64 = 64 << 20;

/// Anonymous memory; pages of mapped files do not count, since the system takes them back when it needs to.
#[derive(Debug)]
pub(crate) struct Budget {
    total: u64,
    left: u64,
}

impl Budget {
    pub(crate) fn new(total: u64) -> Self {
        Self { total, left: total.saturating_sub(PROGRAM) }
    }

    /// Bytes that may still be taken.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Takes bytes for good.
    pub(crate) fn take(&mut self, bytes: u64, what: &str) -> Result<(), Failure> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.exceeded(bytes, what)),
        }
    }

    /// The failure of something that would take `needed` bytes.
    pub(crate) fn exceeded(&self, needed: u64, what: &str) -> Failure {
        let (left, total) = (size(self.left), size(self.total));
        Failure::usage(format!("{what} needs {} of memory, but {left} are left of --memory {total}", size(needed)))
            .hint("raise --memory")
    }
}
