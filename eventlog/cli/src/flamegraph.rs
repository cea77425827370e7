//! `eventlog flamegraph`: a profile by cost centre, as a picture or as folded stacks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ghc_eventlog::format::{Decoder, HeapBreakdown};
use inferno::flamegraph::{self, Options};

use crate::args::FlamegraphArgs;
use crate::gather::{Bad, Summary};
use crate::input;
use crate::outcome::{Outcome, complain};
use crate::profile::{Profile, Stacks};
use crate::replay::same_file;
use crate::text;
use crate::units::{counted, duration, seconds, size};

pub(crate) fn run(args: &FlamegraphArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let file = &args.file;
    let summary = match input::open(file) {
        Ok(mut input) => Summary::with_profile(Decoder::new(), &mut *input, |_| ()),
        Err(error) => {
            complain(file, &error);
            return Ok(Outcome::Failed);
        }
    };
    let mut outcome = Outcome::Good;
    match &summary.fault {
        None => {}
        Some(Bad::Log(reason)) => {
            complain(file, reason);
            outcome = Outcome::Bad;
        }
        Some(Bad::Io(error)) => {
            complain(file, error);
            return Ok(Outcome::Failed);
        }
    }
    let profile = summary.profile.unwrap_or_default();
    let graph = match Graph::of(&profile, args.bytes) {
        Ok(graph) => graph,
        Err(reason) => {
            complain(file, &reason);
            return Ok(Outcome::Bad);
        }
    };
    let picture = if args.folded {
        graph.folded()
    } else {
        match graph.svg(summary.program.as_deref().unwrap_or(file)) {
            Ok(picture) => picture,
            Err(error) => {
                complain(file, &error);
                return Ok(Outcome::Failed);
            }
        }
    };
    let Some(output) = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    else {
        out.write_all(&picture)?;
        return Ok(outcome);
    };
    if let Err(error) = write(file, output, &picture) {
        complain(&output.display().to_string(), &error);
        return Ok(Outcome::Failed);
    }
    Ok(outcome)
}

fn write(file: &str, output: &Path, picture: &[u8]) -> io::Result<()> {
    if same_file(Path::new(file), output)? {
        return Err(io::Error::other("the graph would overwrite the log"));
    }
    let mut output = BufWriter::new(File::create(output)?);
    output.write_all(picture)?;
    output.flush()
}

/// Folded stacks, and what is said of them.
struct Graph {
    title: &'static str,
    what: String,
    unit: &'static str,
    /// In order, as the drawing wants them.
    lines: Vec<String>,
}

impl Graph {
    /// The graph of what the profile says of bytes or of time, or why there is none.
    fn of(profile: &Profile, bytes: bool) -> Result<Self, String> {
        match bytes {
            true => Self::of_bytes(profile),
            false => Self::of_time(profile),
        }
    }

    fn of_time(profile: &Profile) -> Result<Self, String> {
        let time = &profile.time;
        if time.stacks.is_empty() {
            let reason = match (time.begun, profile.heap.largest()) {
                (true, _) => "a time profile begins, and there is no tick in it",
                (false, Some(_)) => "no time profile; --bytes draws the heap profile",
                (false, None) => "no profile by cost centre",
            };
            return Err(reason.to_owned());
        }
        let ticks = counted(time.ticks, "tick", "ticks");
        Ok(Self {
            title: "Time by cost centre",
            what: match time.interval {
                Some(interval) => format!("{ticks} of {}", duration(interval)),
                None => ticks,
            },
            unit: "ticks",
            lines: lines(profile, &time.stacks),
        })
    }

    fn of_bytes(profile: &Profile) -> Result<Self, String> {
        let Some(largest) = profile.heap.largest() else {
            return Err(match profile.heap.breakdown {
                Some(HeapBreakdown::CostCentre) => {
                    "a heap profile begins, and there is no sample in it".to_owned()
                }
                Some(other) => {
                    let by = text::heap_breakdown(other);
                    format!("the heap profile is by {by}, not by cost centre")
                }
                None if profile.time.begun => {
                    "no heap profile; without --bytes the time profile is drawn".to_owned()
                }
                None => "no profile by cost centre".to_owned(),
            });
        };
        if largest.bytes == 0 {
            return Err("no sample of the heap profile holds anything".to_owned());
        }
        Ok(Self {
            title: "Bytes by cost centre",
            what: format!("{} at {} s", size(largest.bytes), seconds(largest.time)),
            unit: "bytes",
            lines: lines(profile, &largest.stacks),
        })
    }

    fn folded(&self) -> Vec<u8> {
        let mut text = self.lines.join("\n").into_bytes();
        text.push(b'\n');
        text
    }

    fn svg(&self, program: &str) -> io::Result<Vec<u8>> {
        let mut options = Options::default();
        options.title = self.title.to_owned();
        options.subtitle = Some(format!("{program}: {}", self.what));
        options.count_name = self.unit.to_owned();
        options.name_type = "Cost centre:".to_owned();
        // The same log gives the same picture.
        options.deterministic = true;
        let mut svg = Vec::new();
        let lines = self.lines.iter().map(String::as_str);
        flamegraph::from_lines(&mut options, lines, &mut svg).map_err(io::Error::other)?;
        Ok(svg)
    }
}

/// The stacks as lines of folded text, outermost first. Stacks of the same names are one line. In the order of
/// the frames, not of the text: so those that have an outer part in common lie together.
fn lines(profile: &Profile, stacks: &Stacks) -> Vec<String> {
    let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for (stack, sum) in stacks.iter().filter(|(_, sum)| **sum > 0) {
        let mut frames: Vec<String> = stack.iter().rev().map(|id| frame(profile, *id)).collect();
        if frames.is_empty() {
            frames.push("(none)".to_owned());
        }
        let of_names = sums.entry(frames).or_default();
        *of_names = of_names.saturating_add(*sum);
    }
    sums.iter()
        .map(|(frames, sum)| format!("{} {sum}", frames.join(";")))
        .collect()
}

/// The name of a cost centre, without what sets frames and sums apart in folded text.
fn frame(profile: &Profile, id: u32) -> String {
    let Some(of) = profile.cost_centres.get(&id) else {
        return format!("(number_{id})");
    };
    let name = match &*of.module {
        "" => of.label.clone(),
        module => format!("{module}.{}", of.label),
    };
    let plain = |c: char| match c {
        ';' => ',',
        c if c.is_whitespace() || c.is_control() => '_',
        c => c,
    };
    name.chars().map(plain).collect()
}
