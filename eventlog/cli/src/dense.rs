//! `eventlog renumber`: cost centres with numbers that tell where their definitions stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use ghc_eventlog::format::{
    CostCentreFlags, Decoded, Event, EventSize, Header, RawEvent, Record, ZStr,
};

use crate::args::RenumberArgs;
use crate::blocks::{Blocks, Place};
use crate::check;
use crate::input::{self, Fault};
use crate::outcome::{Outcome, complain};
use crate::profile::CostCentre;
use crate::replay::same_file;
use crate::units::counted;

/// A definition of a cost centre.
const DEFINITION: u16 = 161;

/// What the run-time system's own cost centres have as their place in the source.
const BUILT_IN: &str = "<built-in>";

/// The run-time system's own cost centres, label and module, in the order of their definitions.
const OWN: [(&str, &str); 7] = [
    ("IDLE", "IDLE"),
    ("PINNED", "SYSTEM"),
    ("DONT_CARE", "MAIN"),
    ("OVERHEAD_of", "PROFILING"),
    ("GC", "GC"),
    ("SYSTEM", "SYSTEM"),
    ("MAIN", "MAIN"),
];

pub(crate) fn run(args: &RenumberArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let (file, output) = (&args.file, args.output.display().to_string());
    match same_file(Path::new(file), &args.output) {
        Ok(false) => {}
        Ok(true) => {
            complain(
                &output,
                &"the log would overwrite the one that it is made of",
            );
            return Ok(Outcome::Failed);
        }
        Err(error) => {
            complain(file, &error);
            return Ok(Outcome::Failed);
        }
    }
    let opened = input::by_time(file, false, |_| ());
    let found = opened.and_then(|events| Ok((events, CostCentres::read(file)?)));
    let (mut events, found) = match found {
        Ok(found) => found,
        Err(fault) => return Ok(failed(file, &fault)),
    };
    let all = match Dense::of(found, events.header()) {
        Ok(all) => all,
        Err(reason) => {
            complain(file, &reason);
            return Ok(Outcome::Bad);
        }
    };
    let mut outcome = Outcome::Good;
    let written = File::create(&args.output).and_then(|output| {
        let mut blocks = Blocks::new(BufWriter::new(output), events.header())?;
        all.define(&mut blocks)?;
        let mut bytes = Vec::new();
        loop {
            match events.next_placed() {
                Ok(Some((raw, _))) if raw.id == DEFINITION => {}
                Ok(Some((raw, time))) => {
                    bytes.clear();
                    bytes.extend_from_slice(raw.bytes());
                    all.renumber(&raw, &mut bytes);
                    let place = Place {
                        time,
                        input: 0,
                        offset: raw.offset,
                    };
                    blocks.placed(raw.cap, raw.time, place, &bytes)?;
                }
                Ok(None) => break,
                Err(error) => {
                    outcome = outcome.max(failed(file, &error.into()));
                    break;
                }
            }
        }
        blocks.finish()
    });
    if let Err(error) = written {
        complain(&output, &error);
        return Ok(Outcome::Failed);
    }
    if let Some(fault) = events.fault() {
        outcome = outcome.max(failed(file, &Fault::Log(*fault)));
    }
    let count = counted(all.numbers.len() as u64, "cost centre", "cost centres");
    writeln!(out, "{file}: {count}")?;
    Ok(outcome.max(check::written(&args.output, out)?))
}

fn failed(file: &str, fault: &Fault) -> Outcome {
    complain(file, fault);
    match fault {
        Fault::Log(_) => Outcome::Bad,
        Fault::Io(_) => Outcome::Failed,
    }
}

/// What a log says of cost centres.
#[derive(Default)]
struct CostCentres {
    defined: BTreeMap<u32, CostCentre>,
    /// Those that samples have.
    used: BTreeSet<u32>,
    /// The earliest time in the log.
    begin: Option<u64>,
}

impl CostCentres {
    fn read(name: &str) -> Result<Self, Fault> {
        let mut found = Self::default();
        let mut file = File::open(name).map_err(Fault::Io)?;
        let read = input::read(&mut file, |record, _| {
            match record {
                Record::BlockBegin { marker, .. } => found.began(marker.begin),
                Record::Event(raw) => found.see(&raw),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        match read {
            Err(Fault::Io(error)) => Err(Fault::Io(error)),
            // Told at the end, with what is before it renumbered.
            Ok(()) | Err(Fault::Log(_)) => Ok(found),
        }
    }

    fn began(&mut self, time: u64) {
        self.begin = Some(self.begin.map_or(time, |begin| begin.min(time)));
    }

    fn see(&mut self, raw: &RawEvent<'_>) {
        self.began(raw.time);
        let Ok(Decoded::Known(event)) = raw.decode() else {
            return;
        };
        self.defined.extend(CostCentre::defined_by(&event));
        if let Event::ProfSampleCostCentre { stack, .. }
        | Event::HeapProfSampleCostCentre { stack, .. } = event
        {
            self.used.extend(stack.iter());
        }
    }
}

/// Cost centres with their new numbers.
struct Dense {
    numbers: BTreeMap<u32, u32>,
    /// In the order in which they are defined, with falling numbers.
    definitions: Vec<(u32, CostCentre)>,
    time: u64,
}

impl Dense {
    fn of(found: CostCentres, header: &Header) -> Result<Self, String> {
        if found.defined.is_empty() && found.used.is_empty() {
            return Err("no cost centre".to_owned());
        }
        if header.size(DEFINITION) != Some(EventSize::Variable) {
            return Err("samples of cost centres, and no definition is declared".to_owned());
        }
        let mut defined = found.defined;
        for id in found.used {
            defined.entry(id).or_insert_with(|| CostCentre {
                label: format!("cost centre {id}"),
                ..CostCentre::default()
            });
        }
        let own_place = |of: &CostCentre| {
            let known = |(label, module)| of.label == label && of.module == module;
            let place = OWN.into_iter().position(known);
            place.filter(|_| of.source == BUILT_IN)
        };
        // By the old number, where there is one.
        let mut own: [(Option<u32>, CostCentre); OWN.len()] = OWN.map(|(label, module)| {
            let of = CostCentre {
                label: label.to_owned(),
                module: module.to_owned(),
                source: BUILT_IN.to_owned(),
                is_caf: false,
            };
            (None, of)
        });
        let mut others = Vec::new();
        for (id, of) in defined {
            match own_place(&of) {
                Some(place) if own[place].0.is_none() => own[place] = (Some(id), of),
                _ => others.push((Some(id), of)),
            }
        }
        let all: Vec<_> = own.into_iter().chain(others.into_iter().rev()).collect();
        let count = u32::try_from(all.len()).map_err(|_| {
            let most = u32::MAX;
            format!("{} cost centres, the most are {most}", all.len())
        })?;
        let mut numbers = BTreeMap::new();
        let mut definitions = Vec::new();
        for (number, (id, of)) in (1..=count).rev().zip(all) {
            numbers.extend(id.map(|id| (id, number)));
            definitions.push((number, of));
        }
        Ok(Self {
            numbers,
            definitions,
            time: found.begin.unwrap_or(0),
        })
    }

    fn define<W: Write>(&self, blocks: &mut Blocks<W>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (number, of) in &self.definitions {
            let event = Event::HeapProfCostCentre {
                cost_centre: *number,
                label: ZStr::up_to_nul(&of.label),
                module: ZStr::up_to_nul(&of.module),
                location: ZStr::up_to_nul(&of.source),
                flags: match of.is_caf {
                    true => CostCentreFlags::CAF,
                    false => CostCentreFlags(0),
                },
            };
            bytes.clear();
            event.encode_to_vec(self.time, &mut bytes);
            blocks.event(None, self.time, &bytes)?;
        }
        Ok(())
    }

    /// Puts the new numbers into a sample.
    fn renumber(&self, raw: &RawEvent<'_>, event: &mut [u8]) {
        // Where the depth of the stack stands in the payload. The numbers are behind it.
        let depth_at = match raw.id {
            163 => 9,
            167 => 12,
            _ => return,
        };
        let head = event.len() - raw.payload.len();
        let Some((depth, stack)) = event[head..]
            .split_at_mut_checked(depth_at)
            .and_then(|(_, rest)| rest.split_first_mut())
        else {
            return;
        };
        for number in stack.chunks_exact_mut(4).take(usize::from(*depth)) {
            let old = number.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
            if let Some(new) = self.numbers.get(&old) {
                number.copy_from_slice(&new.to_be_bytes());
            }
        }
    }
}
