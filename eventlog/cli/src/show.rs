//! `eventlog show`: one line an event.

use std::io::{self, Write};
use std::ops::ControlFlow;

use ghc_eventlog::format::{CapNo, Header, RawEvent, Record, events};

use crate::args::ShowArgs;
use crate::input::{self, Fault};
use crate::outcome::{Outcome, complain};
use crate::text;
use crate::units::seconds;

pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let file = &args.file;
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
    let wanted = |raw: &RawEvent<'_>| args.cap.is_none_or(|cap| cap.0 == raw.cap.map(CapNo::get));
    let mut header = None;
    let mut kept = Kept::default();
    let mut printed = Ok(());
    let read = input::read(&mut *input, |record, _| {
        match record {
            Record::Header(read) => header = Some(read.clone()),
            Record::Event(raw) if wanted(&raw) => {
                if !args.unsorted {
                    kept.keep(&raw);
                } else if printer.left > 0 {
                    printed = header
                        .as_ref()
                        .map_or(Ok(()), |header| printer.print(raw.cap, &raw, header));
                }
            }
            _ => {}
        }
        if printed.is_err() || (args.unsorted && printer.left == 0) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    printed?;
    if let Some(header) = &header {
        kept.print(&mut printer, header)?;
    }
    printer.out.flush()?;

    let unreadable = printer.unreadable;
    if unreadable > 0 {
        let reason = format!("{unreadable} of the events shown cannot be read");
        complain(file, &reason);
    }
    match read {
        Ok(()) if unreadable == 0 => Ok(Outcome::Good),
        Ok(()) => Ok(Outcome::Bad),
        Err(fault) => {
            complain(file, &fault);
            Ok(match fault {
                Fault::Log(_) => Outcome::Bad,
                Fault::Io(_) => Outcome::Failed,
            })
        }
    }
}

/// Prints events, a line each.
pub(crate) struct Printer<'o> {
    pub(crate) out: &'o mut dyn Write,
    /// Lines that may still be printed.
    pub(crate) left: u64,
    pub(crate) unreadable: u64,
}

impl Printer<'_> {
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

/// Events put by until all have been seen, in as many bytes as they take in the log and a few more.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

struct Place {
    time: u64,
    start: usize,
    len: u32,
    cap: Option<CapNo>,
}

impl Kept {
    fn keep(&mut self, raw: &RawEvent<'_>) {
        self.places.push(Place {
            time: raw.time,
            start: self.bytes.len(),
            len: raw.bytes().len() as u32,
            cap: raw.cap,
        });
        self.bytes.extend_from_slice(raw.bytes());
    }

    fn print(mut self, printer: &mut Printer<'_>, header: &Header) -> io::Result<()> {
        self.places.sort_by_key(|place| place.time);
        for place in self.places {
            if printer.left == 0 {
                break;
            }
            let bytes = &self.bytes[place.start..][..place.len as usize];
            for raw in events(bytes, header).flatten() {
                printer.print(place.cap, &raw, header)?;
            }
        }
        Ok(())
    }
}
