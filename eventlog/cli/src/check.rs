//! `eventlog check`: one line a log.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::args::CheckArgs;
use crate::gather::{Bad, Summary};
use crate::input;
use crate::outcome::{Outcome, complain};
use crate::units::{counted, duration};

pub(crate) fn run(args: &CheckArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut outcome = Outcome::Good;
    for file in &args.files {
        outcome = outcome.max(check(file, out)?);
    }
    Ok(outcome)
}

/// Prints the line of one file.
pub(crate) fn check(file: &str, out: &mut dyn Write) -> io::Result<Outcome> {
    let summary = match input::open(file) {
        Ok(mut input) => Summary::of(&mut *input),
        Err(error) => {
            complain(file, &error);
            return Ok(Outcome::Failed);
        }
    };
    match &summary.fault {
        None => {
            writeln!(out, "{file}: ok, {}", describe(&summary))?;
            Ok(Outcome::Good)
        }
        Some(Bad::Log(reason)) => {
            writeln!(out, "{file}: {reason}")?;
            Ok(Outcome::Bad)
        }
        Some(Bad::Io(error)) => {
            complain(file, error);
            Ok(Outcome::Failed)
        }
    }
}

/// Prints the line of what has been written, where it can be read back: what is no regular file cannot.
pub(crate) fn written(path: &Path, out: &mut dyn Write) -> io::Result<Outcome> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(Outcome::Good);
    }
    check(&path.display().to_string(), out)
}

/// What is told of a sound log.
pub(crate) fn describe(summary: &Summary) -> String {
    let caps = summary.caps.keys().flatten().count() as u64;
    let mut parts = vec![
        format!("{} events in {} blocks", summary.events, summary.blocks),
        counted(caps, "capability", "capabilities"),
        duration(summary.duration()),
    ];
    parts.extend(summary.rts.clone());
    parts.join(", ")
}
