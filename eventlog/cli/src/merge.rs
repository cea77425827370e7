//! `eventlog merge`: several logs in, one log out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use ghc_eventlog::format::{
    CapNo, Decoded, Decoder, Event, EventSize, EventsByTime, Header, HeaderError, Record,
    StopStatus, ThreadId,
};

use crate::args::MergeArgs;
use crate::blocks::{Blocks, Place};
use crate::check;
use crate::input::{self, Fault};
use crate::outcome::{Outcome, complain};
use crate::renumber::Numbers;
use crate::replay::same_file;
use crate::retold::{Beginning, Retold, Verdict};
use crate::units::{counted, duration};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// The most capabilities of a log.
const CAPS: u64 = 0xffff;

/// The most threads or capability sets of a log.
const IDS: u64 = 1 << 32;

pub(crate) fn run(args: &MergeArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let output = args.output.display().to_string();
    let mut inputs = Vec::new();
    let mut retold = Retold::default();
    for file in &args.files {
        match same_file(Path::new(file), &args.output) {
            Ok(false) => match Input::open(file, args) {
                Ok(mut input) => {
                    retold.ask(inputs.len(), &mut input.beginning);
                    inputs.push(input);
                }
                Err(fault) => return Ok(failed(file, &fault)),
            },
            Ok(true) => {
                complain(&output, &"the log would overwrite one that it is made of");
                return Ok(Outcome::Failed);
            }
            Err(error) => {
                complain(file, &error);
                return Ok(Outcome::Failed);
            }
        }
    }
    for (at, input) in inputs.iter_mut().enumerate() {
        if let Err(fault) = input.read(at, args.lenient, &mut retold) {
            return Ok(failed(&input.name, &fault));
        }
    }
    let header = match prepare(&mut inputs, args.processes) {
        Ok(header) => header,
        Err((file, reason)) => {
            complain(&file, &reason);
            return Ok(Outcome::Bad);
        }
    };
    let merged = File::create(&args.output).and_then(|file| {
        let mut blocks = Blocks::new(BufWriter::new(file), &header)?;
        let told = merge(&mut inputs, &mut blocks, &mut retold, args.processes)?;
        blocks.finish()?;
        Ok(told)
    });
    let skipped = inputs.iter().any(|input| input.skipped);
    let mut outcome = if skipped { Outcome::Bad } else { Outcome::Good };
    let told = match merged {
        Ok(told) => told,
        Err(error) => {
            complain(&output, &error);
            return Ok(Outcome::Failed);
        }
    };
    if let Some((file, fault)) = told.fault {
        outcome = outcome.max(failed(&file, &fault));
    }
    for input in &inputs {
        if let Some(fault) = input.events.fault() {
            outcome = outcome.max(failed(&input.name, &Fault::Log(*fault)));
        }
        let events = counted(input.given, "event", "events");
        write!(out, "{}: {events}", input.name)?;
        match input.shift {
            0 => writeln!(out)?,
            shift => writeln!(out, ", {} later", duration(shift))?,
        }
    }
    if told.again > 0 {
        let again = counted(told.again, "event", "events");
        writeln!(out, "  kept once: {again} of more than one log")?;
    }
    Ok(outcome.max(check::written(&args.output, out)?))
}

fn failed(file: &str, fault: &Fault) -> Outcome {
    complain(file, fault);
    match fault {
        Fault::Log(_) => Outcome::Bad,
        Fault::Io(_) => Outcome::Failed,
    }
}

/// A log to be merged.
struct Input {
    name: String,
    events: EventsByTime<File>,
    /// Whether something that is broken was left out.
    skipped: bool,
    /// Where it goes on from another log; of logs of several processes, none does.
    beginning: Beginning,
    /// What is known from the log's content.
    numbers: Numbers,
    pids: BTreeSet<u32>,
    /// The time of the wall clock at the log's time 0, in nanoseconds since 1970.
    zero: Option<i128>,
    /// What is added to the log's numbers and times.
    add: Numbers,
    shift: u64,
    given: u64,
}

impl Input {
    fn open(name: &str, args: &MergeArgs) -> Result<Self, Fault> {
        let mut skipped = false;
        let events = input::by_time(name, args.lenient, |gap| {
            complain(name, gap);
            skipped = true;
        })?;
        let beginning = match args.processes {
            true => Beginning::default(),
            false => Beginning::read(name)?,
        };
        Ok(Self {
            name: name.to_owned(),
            events,
            skipped,
            beginning,
            numbers: Numbers::default(),
            pids: BTreeSet::new(),
            zero: None,
            add: Numbers::default(),
            shift: 0,
            given: 0,
        })
    }

    /// Reads what has to be known of the log before it is merged.
    fn read(&mut self, at: usize, lenient: bool, retold: &mut Retold) -> Result<(), Fault> {
        let mut file = File::open(&self.name).map_err(Fault::Io)?;
        let decoder = match lenient {
            true => Decoder::lenient(),
            false => Decoder::new(),
        };
        let read = input::read_by(decoder, &mut file, |record, _| {
            if let Record::Event(raw) = record {
                self.numbers.see(&raw);
                match raw.decode() {
                    Ok(Decoded::Known(Event::OsProcessPid { pid, .. })) => {
                        self.pids.insert(pid);
                    }
                    Ok(Decoded::Known(Event::WallClockTime {
                        unix_seconds,
                        nanoseconds,
                        ..
                    })) => {
                        let clock =
                            u128::from(unix_seconds) * u128::from(SECOND) + u128::from(nanoseconds);
                        let zero = clock as i128 - i128::from(raw.time);
                        self.zero.get_or_insert(zero);
                    }
                    Ok(Decoded::Known(event)) => {
                        retold.hear(at, &self.beginning, &raw, &event);
                    }
                    _ => {}
                }
            }
            ControlFlow::Continue(())
        });
        match read {
            Err(Fault::Io(error)) => Err(Fault::Io(error)),
            // Told at the end, with what is before it merged.
            Ok(()) | Err(Fault::Log(_)) => Ok(()),
        }
    }
}

/// The header of the logs together. Sees to it that their numbers and times can be.
fn prepare(inputs: &mut [Input], processes: bool) -> Result<Header, (String, String)> {
    let mut all = Header::new([]).ok();
    for input in &*inputs {
        let union = input::header(&input.events).and_then(|header| match &all {
            Some(all) if !all.event_types().is_empty() => all.union(&header),
            _ => Ok(header),
        });
        all = Some(union.map_err(|error: HeaderError| (input.name.clone(), error.to_string()))?);
    }
    let header = all.unwrap_or_else(|| Header::standard().clone());
    if processes {
        align(inputs)?;
        renumber(inputs, &header)?;
    } else {
        let mut first: Option<(&str, u32)> = None;
        for input in &*inputs {
            for pid in &input.pids {
                let (name, known) = *first.get_or_insert((&input.name, *pid));
                if known != *pid {
                    let reason = format!(
                        "of process {pid}, and {name} is of process {known}: --processes puts \
                         logs of several processes together"
                    );
                    return Err((input.name.clone(), reason));
                }
            }
        }
    }
    Ok(header)
}

/// Lets the log that began first begin at its time 0, and the others later.
fn align(inputs: &mut [Input]) -> Result<(), (String, String)> {
    let mut zeros = Vec::new();
    for input in &*inputs {
        let Some(zero) = input.zero else {
            let reason = "tells no wall clock time, by which it could be put beside the others";
            return Err((input.name.clone(), reason.to_owned()));
        };
        zeros.push(zero);
    }
    let first = zeros.iter().min().copied().unwrap_or(0);
    for (input, zero) in inputs.iter_mut().zip(zeros) {
        input.shift = u64::try_from(zero - first).map_err(|_| {
            let reason = "began more than five centuries after another one";
            (input.name.clone(), reason.to_owned())
        })?;
    }
    Ok(())
}

/// Gives each log numbers of its own.
fn renumber(inputs: &mut [Input], header: &Header) -> Result<(), (String, String)> {
    const CREATE_THREAD: u16 = 0;
    let mut sum = Numbers::default();
    for input in inputs {
        if header.size(CREATE_THREAD) == Some(EventSize::Fixed(8)) {
            let reason = "of GHC 6.12, whose threads cannot be renumbered";
            return Err((input.name.clone(), reason.to_owned()));
        }
        input.add = sum;
        sum.caps += input.numbers.caps;
        sum.capsets += input.numbers.capsets;
        sum.threads += input.numbers.threads;
        for (count, most, what) in [
            (sum.caps, CAPS, "capabilities"),
            (sum.capsets, IDS, "capability sets"),
            (sum.threads, IDS, "threads"),
        ] {
            if count > most {
                let reason = format!("makes it {count} {what}, the most are {most}");
                return Err((input.name.clone(), reason));
            }
        }
    }
    Ok(())
}

/// What is told of a merge.
#[derive(Default)]
struct Told {
    /// Events left out since an earlier log has them.
    again: u64,
    /// The log that could not be read to its end, and why.
    fault: Option<(String, Fault)>,
}

/// Events of one time, to find those that several logs hold.
#[derive(Default)]
struct Moment {
    time: u64,
    merged: HashMap<(Option<CapNo>, Vec<u8>), Times>,
}

/// How often an event is there.
#[derive(Default)]
struct Times {
    merged: u64,
    /// In each input.
    of: HashMap<usize, u64>,
}

impl Moment {
    /// Whether the log that is merged has this event already, from another input.
    fn has(&mut self, input: usize, cap: Option<CapNo>, time: u64, event: &[u8]) -> bool {
        if self.time != time {
            self.time = time;
            self.merged.clear();
        }
        let times = self.merged.entry((cap, event.to_vec())).or_default();
        let of_input = times.of.entry(input).or_default();
        *of_input += 1;
        let has = *of_input <= times.merged;
        times.merged = times.merged.max(*of_input);
        has
    }
}

/// Events that come later than they say, by the time after which they come.
type Late = BTreeMap<u64, Vec<(Option<CapNo>, Vec<u8>)>>;

/// Merges all events. What fails is the output.
fn merge<W: Write>(
    inputs: &mut [Input],
    blocks: &mut Blocks<W>,
    retold: &mut Retold,
    processes: bool,
) -> io::Result<Told> {
    let mut told = Told::default();
    let mut moment = Moment::default();
    let mut event = Vec::new();
    let mut late = Late::new();
    'all: loop {
        let mut next: Option<(u64, u64, usize)> = None;
        for (at, input) in inputs.iter_mut().enumerate() {
            match input.events.next_time() {
                Ok(Some(time)) => {
                    // At one time, what was cut first comes first: another one goes on from there.
                    let cut = input.beginning.cut;
                    let due = (time.saturating_add(input.shift), cut, at);
                    next = Some(next.map_or(due, |next| next.min(due)));
                }
                Ok(None) => {}
                Err(error) => {
                    told.fault = Some((input.name.clone(), error.into()));
                    break 'all;
                }
            }
        }
        let Some((time, _, at)) = next else {
            break;
        };
        while let Some(entry) = late.first_entry().filter(|entry| *entry.key() < time) {
            let (time, events) = entry.remove_entry();
            write_late(time, &events, blocks)?;
        }
        let input = &mut inputs[at];
        let (raw, place) = match input.events.next_placed() {
            Ok(Some(placed)) => placed,
            Ok(None) => continue,
            Err(error) => {
                told.fault = Some((input.name.clone(), error.into()));
                break 'all;
            }
        };
        input.given += 1;
        event.clear();
        event.extend_from_slice(raw.bytes());
        let mut cap = raw.cap;
        let place = Place {
            time: place.saturating_add(input.shift),
            input: at,
            offset: raw.offset,
        };
        if processes {
            let head = raw.bytes().len() - raw.payload.len();
            input.add.add_to(raw.id, &mut event, head);
            event[2..10].copy_from_slice(&time.to_be_bytes());
            cap = cap.and_then(|cap| CapNo::new((u64::from(cap.get()) + input.add.caps) as u16));
        } else {
            let known = match raw.decode() {
                Ok(Decoded::Known(known)) => Some(known),
                _ => None,
            };
            let verdict = match &known {
                Some(known) if input.beginning.holds(&raw) => retold.judge(at, &raw, known),
                _ => Verdict::Keep,
            };
            if verdict == Verdict::Drop || moment.has(at, cap, time, &event) {
                told.again += 1;
                continue;
            }
            if let Verdict::KeepLater(time) = verdict {
                event[2..10].copy_from_slice(&time.to_be_bytes());
                late.entry(time).or_default().push((cap, event.clone()));
                continue;
            }
            if let Verdict::KeepAfterStop(thread, on, time) = verdict {
                write_stop(on, time, thread, StopStatus::Yielding, blocks)?;
            }
            if let Some(known) = &known {
                let other = retold.make_way(at, &input.beginning, &raw, known);
                if let Some((thread, status, time)) = other {
                    write_stop(cap, time, thread, status, blocks)?;
                }
                retold.see(at, &raw, known);
            }
        }
        blocks.placed(cap, time, place, &event)?;
    }
    for (time, events) in late {
        write_late(time, &events, blocks)?;
    }
    Ok(told)
}

fn write_late<W: Write>(
    time: u64,
    events: &[(Option<CapNo>, Vec<u8>)],
    blocks: &mut Blocks<W>,
) -> io::Result<()> {
    for (cap, event) in events {
        blocks.event(*cap, time, event)?;
    }
    Ok(())
}

/// Says what a log that is missing would have said.
fn write_stop<W: Write>(
    cap: Option<CapNo>,
    time: u64,
    thread: ThreadId,
    status: StopStatus,
    blocks: &mut Blocks<W>,
) -> io::Result<()> {
    let info = 0;
    let stop = Event::StopThread {
        thread,
        status,
        info,
    };
    let mut event = Vec::new();
    stop.encode_to_vec(time, &mut event);
    blocks.event(cap, time, &event)
}
