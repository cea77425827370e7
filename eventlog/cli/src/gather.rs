//! What a log holds, counted in one pass. Nothing here prints.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;

use ghc_eventlog::format::{
    BLOCK_MARKER, BlockMarker, CapNo, DecodeError, Decoded, Decoder, Event, EventError, Gap,
    Header, RawEvent, Record,
};

use crate::input::{self, Fault};
use crate::profile::Profile;

/// Everything that is told of a log.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Bytes of the file, those after a fault included.
    pub(crate) bytes: u64,
    pub(crate) header_bytes: u64,
    pub(crate) event_types: usize,
    /// Events, block markers included.
    pub(crate) events: u64,
    pub(crate) blocks: u64,
    pub(crate) outside_block: u64,
    pub(crate) backwards_in_block: u64,
    pub(crate) data_end: bool,
    /// Earliest and latest time, block markers included.
    pub(crate) times: Option<Span>,
    pub(crate) caps: BTreeMap<Option<CapNo>, CapSummary>,
    pub(crate) types: BTreeMap<u16, TypeSummary>,
    pub(crate) program: Option<String>,
    pub(crate) rts: Option<String>,
    /// Gathered only where it is wanted: it takes memory for each stack of cost centres.
    pub(crate) profile: Option<Profile>,
    pub(crate) fault: Option<Bad>,
}

/// Of one capability, block markers not counted.
#[derive(Debug, Default)]
pub(crate) struct CapSummary {
    pub(crate) blocks: u64,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) times: Option<Span>,
}

#[derive(Debug)]
pub(crate) struct TypeSummary {
    pub(crate) name: String,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

/// Two times, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// The first fault of a log.
#[derive(Debug)]
pub(crate) enum Bad {
    Log(String),
    Io(io::Error),
}

fn widen(span: &mut Option<Span>, time: u64) {
    let Span { first, last } = span.unwrap_or(Span {
        first: time,
        last: time,
    });
    *span = Some(Span {
        first: first.min(time),
        last: last.max(time),
    });
}

impl Summary {
    /// Reads a log to its end, or to what makes it unreadable.
    pub(crate) fn of(input: &mut dyn Read) -> Self {
        Self::default().read(Decoder::new(), input, |_| ())
    }

    /// The same with the profile by cost centre, by a decoder that is given. Tells `skip` what it leaves out.
    pub(crate) fn with_profile(
        decoder: Decoder,
        input: &mut dyn Read,
        skip: impl FnMut(&Gap),
    ) -> Self {
        let summary = Self {
            profile: Some(Profile::default()),
            ..Self::default()
        };
        summary.read(decoder, input, skip)
    }

    fn read(self, decoder: Decoder, input: &mut dyn Read, mut skip: impl FnMut(&Gap)) -> Self {
        let mut summary = self;
        let mut counted = Counted { input, bytes: 0 };
        let mut gathering = Gathering::default();
        let read = input::read_by(decoder, &mut counted, |record, end| {
            if let Record::Skipped(gap) = &record {
                skip(gap);
            }
            gathering.record(&mut summary, record, end);
            ControlFlow::Continue(())
        });
        let unreadable = gathering
            .unreadable
            .map(|error| Bad::Log(error.to_string()));
        summary.fault = match read {
            Ok(()) => unreadable,
            Err(Fault::Io(error)) => Some(Bad::Io(error)),
            // Offsets only grow: an unreadable event came first.
            Err(fault) => unreadable.or(Some(Bad::Log(fault.to_string()))),
        };
        // The rest of a bad log counts as bytes, nothing more.
        if matches!(summary.fault, Some(Bad::Log(_))) {
            if let Err(error) = io::copy(&mut counted, &mut io::sink()) {
                summary.fault = Some(Bad::Io(error));
            }
        }
        summary.bytes = counted.bytes;
        summary
    }

    /// The program's duration as far as the log tells, in nanoseconds.
    pub(crate) fn duration(&self) -> u64 {
        self.times.map_or(0, |span| span.last - span.first)
    }
}

/// Counts what is read.
struct Counted<'i> {
    input: &'i mut dyn Read,
    bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        self.bytes += len as u64;
        Ok(len)
    }
}

/// Gathers what a log holds while it comes, a piece at a time.
pub(crate) struct Gatherer {
    decoder: Decoder,
    summary: Summary,
    gathering: Gathering,
}

impl Gatherer {
    pub(crate) fn new() -> Self {
        Self {
            decoder: Decoder::new(),
            summary: Summary::default(),
            gathering: Gathering::default(),
        }
    }

    /// Takes in what comes next in the log.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let start = self.summary.bytes;
        let mut rest = bytes;
        while let Some(record) = self.decoder.next(&mut rest)? {
            let end = start + (bytes.len() - rest.len()) as u64;
            self.gathering.record(&mut self.summary, record, end);
        }
        self.summary.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What has been taken in, with the first event that cannot be read as its fault.
    pub(crate) fn finish(mut self) -> Summary {
        let unreadable = self.gathering.unreadable;
        self.summary.fault = unreadable.map(|error| Bad::Log(error.to_string()));
        self.summary
    }
}

#[derive(Default)]
struct Gathering {
    block_end: u64,
    previous: u64,
    unreadable: Option<EventError>,
}

impl Gathering {
    fn record(&mut self, summary: &mut Summary, record: Record<'_>, end: u64) {
        match record {
            Record::Header(header) => {
                // There is another one where a log lies behind a damaged one.
                if summary.header_bytes == 0 {
                    summary.header_bytes = end;
                    summary.event_types = header.event_types().len();
                }
                for (id, kind) in types(header) {
                    summary.types.entry(id).or_insert(kind);
                }
            }
            Record::BlockBegin { offset, marker } => {
                summary.blocks += 1;
                summary.caps.entry(marker.cap).or_default().blocks += 1;
                self.block_end = offset + u64::from(marker.size);
                self.previous = marker.begin;
                count(summary, BLOCK_MARKER, marker.begin, BlockMarker::LEN);
            }
            Record::Event(raw) => self.event(summary, &raw),
            Record::End => summary.data_end = true,
            _ => {}
        }
    }

    fn event(&mut self, summary: &mut Summary, raw: &RawEvent<'_>) {
        let len = raw.bytes().len();
        if raw.offset >= self.block_end {
            summary.outside_block += 1;
        } else if raw.time < self.previous {
            summary.backwards_in_block += 1;
        }
        self.previous = raw.time;
        let cap = summary.caps.entry(raw.cap).or_default();
        cap.events += 1;
        cap.bytes += len as u64;
        widen(&mut cap.times, raw.time);
        count(summary, raw.id, raw.time, len);
        match raw.decode() {
            Ok(Decoded::Known(Event::ProgramArgs { args, .. })) => {
                summary.program = Some(command(args.iter()));
            }
            Ok(Decoded::Known(Event::RtsIdentifier { name, .. })) => {
                summary.rts = Some(name.to_owned());
            }
            Ok(Decoded::Known(event)) => {
                if let Some(profile) = &mut summary.profile {
                    profile.see(raw.time, &event);
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.unreadable.get_or_insert(error);
            }
        }
    }
}

fn types(header: &Header) -> BTreeMap<u16, TypeSummary> {
    let declared = header.event_types().iter();
    let summary = |name: &str| TypeSummary {
        name: name.trim().to_owned(),
        events: 0,
        bytes: 0,
    };
    declared
        .map(|declared| (declared.id, summary(&declared.description)))
        .collect()
}

fn count(summary: &mut Summary, id: u16, time: u64, len: usize) {
    summary.events += 1;
    widen(&mut summary.times, time);
    if let Some(kind) = summary.types.get_mut(&id) {
        kind.events += 1;
        kind.bytes += len as u64;
    }
}

/// A command line that a shell would take for the same one.
fn command<'a>(args: impl Iterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "+-_./=:,@%".contains(c);
    let quoted = args.map(|arg| {
        if !arg.is_empty() && arg.chars().all(plain) {
            arg.to_owned()
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
