//! How a run went, as an exit code, and how faults are told.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// From the best to the worst, so that the outcome of many files is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// All is well.
    Good,
    /// A log is bad.
    Bad,
    /// A file cannot be read or written.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

/// Tells a fault of a file, on standard error.
pub(crate) fn complain(file: &str, reason: &dyn Display) {
    // Where nobody reads it the exit code still tells; `eprintln!` would panic.
    let _ = writeln!(io::stderr(), "eventlog: {file}: {reason}");
}
