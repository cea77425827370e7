//! `eventlog show`: one line an event.

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;

use ghc_eventlog::format::{CapNo, Decoder, EventsByTime, Header, RawEvent, Record, events};

use crate::args::{Cap, ShowArgs};
use crate::input::{self, Fault};
use crate::outcome::{Outcome, complain};
use crate::text;
use crate::units::seconds;

pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let file = &args.file;
    if !args.unsorted && !args.lenient {
        match input::seekable(file) {
            Ok(Some(input)) => return sorted(args, input, out),
            Ok(None) => {}
            Err(error) => {
                complain(file, &error);
                return Ok(Outcome::Failed);
            }
        }
    }
    let mut input = match input::open(file) {
        Ok(input) => input,
        Err(error) => {
            complain(file, &error);
            return Ok(Outcome::Failed);
        }
    };
    let mut printer = Printer {
        out,
        left: args.limit.unwrap_or(u64::MAX),
        unreadable: 0,
    };
    let wanted = |raw: &RawEvent<'_>| is_wanted(args, raw);
    let mut kept = Kept::default();
    let mut printed = Ok(());
    let mut gaps = 0;
    let decoder = if args.lenient {
        Decoder::lenient()
    } else {
        Decoder::new()
    };
    let read = input::read_by(decoder, &mut *input, |record, _| {
        match record {
            Record::Header(read) => kept.headers.push(read.clone()),
            Record::Event(raw) if wanted(&raw) => {
                if !args.unsorted {
                    kept.keep(&raw);
                } else if printer.left > 0 {
                    let header = kept.headers.last();
                    printed = header.map_or(Ok(()), |header| printer.print(raw.cap, &raw, header));
                }
            }
            Record::Skipped(gap) => {
                complain(file, &gap);
                gaps += 1;
            }
            _ => {}
        }
        if printed.is_err() || (args.unsorted && printer.left == 0) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    printed?;
    kept.print(&mut printer)?;
    let outcome = finish(args, printer, read.err())?;
    Ok(if gaps > 0 {
        outcome.max(Outcome::Bad)
    } else {
        outcome
    })
}

fn is_wanted(args: &ShowArgs, raw: &RawEvent<'_>) -> bool {
    args.cap.is_none_or(|cap| cap.0 == raw.cap.map(CapNo::get))
}

/// Shows a file, in which one can go back, without keeping all of it.
fn sorted(args: &ShowArgs, input: File, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut printer = Printer {
        out,
        left: args.limit.unwrap_or(u64::MAX),
        unreadable: 0,
    };
    // What is shown may all lie in one moment: only the log's own length is a bound.
    let opened = EventsByTime::new(input).map(|events| events.limit(usize::MAX));
    let mut events = match opened {
        Ok(events) => events,
        Err(error) => return finish(args, printer, Some(error.into())),
    };
    let header = events.header().clone();
    let fault = loop {
        if printer.left == 0 {
            break None;
        }
        match events.next() {
            Ok(None) => break None,
            Ok(Some(raw)) if is_wanted(args, &raw) => printer.print(raw.cap, &raw, &header)?,
            Ok(Some(_)) => {}
            Err(error) => break Some(error.into()),
        }
    };
    let fault = fault.or_else(|| events.fault().copied().map(Fault::Log));
    finish(args, printer, fault)
}

/// Tells what was wrong, and where nothing was what was asked for.
fn finish(args: &ShowArgs, printer: Printer<'_>, fault: Option<Fault>) -> io::Result<Outcome> {
    let asked = args.cap.filter(|_| args.limit != Some(0));
    // What comes behind a fault is not known.
    let none = printer.left == args.limit.unwrap_or(u64::MAX) && fault.is_none();
    let outcome = printer.finish(&args.file, fault)?;
    let Some(Cap(cap)) = asked.filter(|_| none) else {
        return Ok(outcome);
    };
    let reason = match cap {
        Some(cap) => format!("no event is of capability {cap}"),
        None => "every event is of a capability".to_owned(),
    };
    complain(&args.file, &reason);
    Ok(outcome.max(Outcome::Bad))
}

/// Prints events, a line each.
pub(crate) struct Printer<'o> {
    pub(crate) out: &'o mut dyn Write,
    /// Lines that may still be printed.
    pub(crate) left: u64,
    pub(crate) unreadable: u64,
}

impl Printer<'_> {
    /// Tells what was wrong, once all has been printed.
    fn finish(self, file: &str, fault: Option<Fault>) -> io::Result<Outcome> {
        self.out.flush()?;
        let mut outcome = Outcome::Good;
        if self.unreadable > 0 {
            let unreadable = self.unreadable;
            let reason = format!("{unreadable} of the events shown cannot be read");
            complain(file, &reason);
            outcome = Outcome::Bad;
        }
        if let Some(fault) = fault {
            complain(file, &fault);
            outcome = outcome.max(match fault {
                Fault::Log(_) => Outcome::Bad,
                Fault::Io(_) => Outcome::Failed,
            });
        }
        Ok(outcome)
    }

    pub(crate) fn print(
        &mut self,
        cap: Option<CapNo>,
        raw: &RawEvent<'_>,
        header: &Header,
    ) -> io::Result<()> {
        self.left -= 1;
        let cap = cap.map_or("-".to_owned(), |cap| cap.to_string());
        let time = seconds(raw.time);
        let text = match raw.decode() {
            Ok(event) => text::of(event, header),
            Err(error) => {
                self.unreadable += 1;
                let name = text::type_name(raw.id, header);
                format!("{name}: unreadable: {}", error.kind)
            }
        };
        writeln!(self.out, "{time:>14}  cap {cap:<3}  {text}")
    }
}

/// Events of a log in which one cannot go back, put by until all have been seen, in as many bytes as they take in the log and a few more.
#[derive(Default)]
struct Kept {
    /// Of one log, or of several one after the other.
    headers: Vec<Header>,
    bytes: Vec<u8>,
    places: Vec<Place>,
}

struct Place {
    time: u64,
    start: usize,
    len: u32,
    cap: Option<CapNo>,
    /// Headers that came before it.
    headers: usize,
}

impl Kept {
    fn keep(&mut self, raw: &RawEvent<'_>) {
        self.places.push(Place {
            time: raw.time,
            start: self.bytes.len(),
            len: raw.bytes().len() as u32,
            cap: raw.cap,
            headers: self.headers.len(),
        });
        self.bytes.extend_from_slice(raw.bytes());
    }

    fn print(mut self, printer: &mut Printer<'_>) -> io::Result<()> {
        self.places.sort_by_key(|place| place.time);
        for place in self.places {
            if printer.left == 0 {
                break;
            }
            let header = &self.headers[place.headers - 1];
            let bytes = &self.bytes[place.start..][..place.len as usize];
            for raw in events(bytes, header).flatten() {
                printer.print(place.cap, &raw, header)?;
            }
        }
        Ok(())
    }
}
