//! The `eventlog` command. Here the parts meet; each verb has a file of its own.

mod args;
mod blocks;
mod check;
mod dense;
mod flamegraph;
mod gather;
mod input;
mod merge;
#[cfg(target_os = "linux")]
mod objects;
mod outcome;
mod profile;
mod record;
mod renumber;
mod replay;
mod retold;
mod show;
mod split;
mod stats;
mod sticky;
mod stream;
mod table;
mod tail;
mod text;
mod units;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Verb};
use outcome::Outcome;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match args.verb {
        Verb::Check(args) => check::run(&args, &mut out),
        Verb::Show(args) => show::run(&args, &mut out),
        Verb::Stats(args) => stats::run(&args, &mut out),
        Verb::Tail(args) => tail::run(&args, &mut out),
        Verb::Record(args) => record::run(&args, &mut out),
        #[cfg(target_os = "linux")]
        Verb::Objects(args) => objects::run(&args, &mut out),
        Verb::Merge(args) => merge::run(&args, &mut out),
        Verb::Split(args) => split::run(&args, &mut out),
        Verb::Replay(args) => replay::run(&args, &mut out),
        Verb::Flamegraph(args) => flamegraph::run(&args, &mut out),
        Verb::Renumber(args) => dense::run(&args, &mut out),
    };
    match done.and_then(|outcome| out.flush().map(|()| outcome)) {
        Ok(outcome) => outcome.into(),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            outcome::complain("standard output", &error);
            Outcome::Failed.into()
        }
    }
}
