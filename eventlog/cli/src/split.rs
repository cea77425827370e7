//! `eventlog split`: one log in, several logs out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{CapNo, Decoder, Header, RawEvent, Record};

use crate::args::SplitArgs;
use crate::blocks::{Blocks, Place};
use crate::input::{self, Fault};
use crate::outcome::{Outcome, complain};
use crate::replay::same_file;
use crate::sticky::{Entry, Sticky};
use crate::units::{counted, seconds, size};

/// The least digits of a piece's number.
const DIGITS: usize = 3;

pub(crate) fn run(args: &SplitArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let file = &args.file;
    if let (Some(from), Some(to)) = (args.from, args.to) {
        if to <= from {
            let (from, to) = (seconds(from), seconds(to));
            let reason = format!("the end must be after the begin: --from {from} --to {to}");
            complain(file, &reason);
            return Ok(Outcome::Failed);
        }
    }
    let mut outcome = Outcome::Good;
    let opened = input::by_time(file, args.lenient, |gap| {
        complain(file, gap);
        outcome = Outcome::Bad;
    });
    let mut events = match opened {
        Ok(events) => events,
        Err(fault) => return Ok(failed(file, &fault)),
    };
    let header = match input::header(&events) {
        Ok(header) => header,
        Err(error) => {
            complain(file, &error);
            return Ok(Outcome::Bad);
        }
    };
    let digits = match numbered(args) {
        Ok(count) => count.to_string().len().max(DIGITS),
        Err(fault) => return Ok(failed(file, &fault)),
    };
    let mut pieces = Pieces {
        args,
        header,
        digits,
        sticky: Sticky::default(),
        open: BTreeMap::new(),
        done: Vec::new(),
        begun: 0,
    };
    loop {
        match events.next_placed() {
            Ok(None) => break,
            Ok(Some((raw, place))) => {
                if args.to.is_some_and(|to| raw.time >= to) {
                    break;
                }
                if let Err((name, error)) = pieces.event(&raw, place) {
                    complain(&name, &error);
                    return Ok(Outcome::Failed);
                }
            }
            Err(error) => {
                outcome = outcome.max(failed(file, &error.into()));
                break;
            }
        }
    }
    if let Err((name, error)) = pieces.close() {
        complain(&name, &error);
        return Ok(Outcome::Failed);
    }
    for (path, events, bytes) in &pieces.done {
        let events = counted(*events, "event", "events");
        writeln!(out, "{}: {events}, {}", path.display(), size(*bytes))?;
    }
    if pieces.done.is_empty() {
        complain(file, &"no events there: nothing written");
        outcome = outcome.max(Outcome::Bad);
    }
    if let Some(fault) = events.fault() {
        outcome = outcome.max(failed(file, &Fault::Log(*fault)));
    }
    Ok(outcome)
}

/// How many pieces get a number, as far as that is known before they are made: 0 if not.
fn numbered(args: &SplitArgs) -> Result<usize, Fault> {
    let Some(every) = args.every else {
        return Ok(0);
    };
    let mut input = File::open(&args.file).map_err(Fault::Io)?;
    let decoder = match args.lenient {
        true => Decoder::lenient(),
        false => Decoder::new(),
    };
    let within = args.from.unwrap_or(0)..args.to.unwrap_or(u64::MAX);
    let mut spans = BTreeSet::new();
    let read = input::read_by(decoder, &mut input, |record, _| {
        match record {
            Record::Event(raw) if within.contains(&raw.time) => {
                spans.insert(raw.time / every);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match read {
        Err(Fault::Io(error)) => Err(Fault::Io(error)),
        // Told at the end, with what is before it split.
        Ok(()) | Err(Fault::Log(_)) => Ok(spans.len()),
    }
}

fn failed(file: &str, fault: &Fault) -> Outcome {
    complain(file, fault);
    match fault {
        Fault::Log(_) => Outcome::Bad,
        Fault::Io(_) => Outcome::Failed,
    }
}

/// What cannot be written, and why.
type Refused = (String, io::Error);

struct Pieces<'a> {
    args: &'a SplitArgs,
    header: Header,
    /// Digits of the numbers in names.
    digits: usize,
    sticky: Sticky,
    /// The pieces that grow: of each capability, or one at a time.
    open: BTreeMap<Key, Piece>,
    /// Name, events and bytes.
    done: Vec<(PathBuf, u64, u64)>,
    begun: u64,
}

/// What all events of a piece have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    All,
    /// So many spans of time were before it.
    Span(u64),
    Cap(Option<CapNo>),
}

struct Piece {
    path: PathBuf,
    blocks: Blocks<BufWriter<File>>,
    /// Whether there is more in it than what was before it.
    used: bool,
}

impl Pieces<'_> {
    /// Adds an event that comes at `time` in the log.
    fn event(&mut self, raw: &RawEvent<'_>, time: u64) -> Result<(), Refused> {
        if self.args.from.is_some_and(|from| raw.time < from) {
            self.sticky.see(raw);
            return Ok(());
        }
        let key = if self.args.caps {
            Key::Cap(raw.cap)
        } else if let Some(every) = self.args.every {
            Key::Span(raw.time / every)
        } else {
            Key::All
        };
        let full = self.args.size.is_some_and(|size| {
            let piece = self.open.get(&key);
            piece.is_some_and(|piece| {
                let more = piece.blocks.most(raw.cap, raw.bytes().len());
                piece.used && piece.blocks.size() + more > size
            })
        });
        let other = !self.args.caps && !self.open.contains_key(&key);
        if full || other {
            self.close()?;
        }
        if !self.open.contains_key(&key) {
            let piece = self.begin(key)?;
            self.open.insert(key, piece);
        }
        let shared = self.sticky.see(raw);
        let place = Place {
            time,
            input: 0,
            offset: raw.offset,
        };
        for (of, piece) in &mut self.open {
            // With a piece for each capability, what tells of more than one goes to all.
            if *of == key || shared {
                piece.used |= *of == key;
                piece
                    .blocks
                    .placed(raw.cap, raw.time, place, raw.bytes())
                    .map_err(|error| (piece.path.display().to_string(), error))?;
            }
        }
        Ok(())
    }

    /// Begins a piece with what must be told first.
    fn begin(&mut self, key: Key) -> Result<Piece, Refused> {
        self.begun += 1;
        let path = self.path(key);
        let name = path.display().to_string();
        let begun = match same_file(Path::new(&self.args.file), &path) {
            Ok(true) => Err(io::Error::other("a piece would overwrite the log")),
            Ok(false) => File::create(&path),
            Err(error) => Err(error),
        };
        let entries = match key {
            Key::Cap(_) => self.sticky.shared(),
            Key::All | Key::Span(_) => self.sticky.all(),
        };
        let blocks = begun.and_then(|file| {
            let mut blocks = Blocks::new(BufWriter::new(file), &self.header)?;
            for Entry {
                time, cap, bytes, ..
            } in entries
            {
                blocks.event(*cap, *time, bytes)?;
            }
            Ok(blocks)
        });
        match blocks {
            Ok(blocks) => Ok(Piece {
                path,
                blocks,
                used: false,
            }),
            Err(error) => Err((name, error)),
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        let mut name = self.args.output.clone().into_os_string();
        match key {
            Key::Cap(Some(cap)) => name.push(format!("-cap{cap}")),
            Key::Cap(None) => name.push("-none"),
            Key::All if self.args.size.is_none() => {}
            Key::All | Key::Span(_) => {
                name.push(format!("-{:0digits$}", self.begun, digits = self.digits));
            }
        }
        name.push(".eventlog");
        name.into()
    }

    /// Ends the pieces that grow.
    fn close(&mut self) -> Result<(), Refused> {
        for piece in std::mem::take(&mut self.open).into_values() {
            let Piece { path, blocks, .. } = piece;
            let (events, bytes) = (blocks.events(), blocks.size());
            blocks
                .finish()
                .map_err(|error| (path.display().to_string(), error))?;
            self.done.push((path, events, bytes));
        }
        Ok(())
    }
}
