//! Logs that tests have written: into memory, read back strictly, and left for another checker.

#![allow(dead_code, reason = "no test file uses all of it")]

use ghc_eventlog::format::{BlockMarker, CapNo, Decoded, Decoder, Event, LossCause, Record};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A sink whose content can be looked at. Clones have the same content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(crate) fn content(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that hangs as long as somebody holds the gate.
pub(crate) struct Gated {
    pub(crate) gate: Arc<Mutex<()>>,
    pub(crate) memory: Memory,
}

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _open = self.gate.lock().unwrap();
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event as it lies in a log, with its text as a string of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) cap: Option<CapNo>,
    pub(crate) time: u64,
    pub(crate) id: u16,
    /// The text of a user message or marker.
    pub(crate) text: String,
    /// What the event says was lost.
    pub(crate) lost: Option<(LossCause, u64, u64)>,
}

/// A log, read strictly to its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) events: Vec<Read>,
    pub(crate) blocks: Vec<BlockMarker>,
}

impl Written {
    /// Reads a log that ought to be valid and complete. Leaves it in the directory that the
    /// environment's `ELV_LOGS` names, for another checker to judge.
    pub(crate) fn read(name: &str, log: &[u8]) -> Self {
        if let Some(directory) = std::env::var_os("ELV_LOGS") {
            let directory = std::path::PathBuf::from(directory);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("log-{name}.eventlog")), log).unwrap();
        }
        Self::read_prefix(log, true)
    }

    /// Reads what is there of a log, which must be its end only where `whole` says so.
    pub(crate) fn read_prefix(mut log: &[u8], whole: bool) -> Self {
        let mut written = Written::default();
        let mut decoder = Decoder::new();
        while let Some(record) = decoder.next(&mut log).expect("a valid log") {
            match record {
                Record::Event(raw) => {
                    let mut lost = None;
                    let text = match raw.decode().expect("a readable event") {
                        Decoded::Known(Event::UserMessage { text }) => text,
                        Decoded::Known(Event::UserMarker { name }) => name,
                        Decoded::Known(Event::EventsLost {
                            cause,
                            events,
                            bytes,
                        }) => {
                            lost = Some((cause, events, bytes));
                            ""
                        }
                        Decoded::Known(_) | Decoded::User(_) => "",
                        Decoded::Other { .. } => panic!("an event of no known type"),
                    };
                    let read = Read {
                        cap: raw.cap,
                        time: raw.time,
                        id: raw.id,
                        text: text.to_owned(),
                        lost,
                    };
                    written.events.push(read);
                }
                Record::BlockBegin { marker, .. } => written.blocks.push(marker),
                _ => {}
            }
        }
        if whole {
            decoder.finish().expect("a complete log");
        }
        written
    }

    /// Whether a log has no end yet. Its last two bytes do not tell: the marker of a shared block
    /// ends as a log does.
    pub(crate) fn is_cut(mut log: &[u8]) -> bool {
        let mut decoder = Decoder::new();
        while decoder.next(&mut log).expect("a valid log").is_some() {}
        decoder.finish().is_err()
    }

    /// Texts of one capability's user messages, in order.
    pub(crate) fn messages(&self, cap: u16) -> Vec<&str> {
        self.events
            .iter()
            .filter(|event| event.id == 19 && event.cap == CapNo::new(cap))
            .map(|event| event.text.as_str())
            .collect()
    }

    /// Events of one capability, or of none; block markers and those that tell of losses left out.
    pub(crate) fn count(&self, cap: Option<CapNo>) -> u64 {
        let own = |event: &&Read| event.cap == cap && event.lost.is_none();
        self.events.iter().filter(own).count() as u64
    }

    /// Events, and their bytes, that the log itself says one capability, or none, has lost by a cause.
    pub(crate) fn lost(&self, of: Option<CapNo>, by: LossCause) -> (u64, u64) {
        let mut sum = (0, 0);
        for event in self.events.iter().filter(|event| event.cap == of) {
            if let Some((_, events, bytes)) = event.lost.filter(|(cause, ..)| *cause == by) {
                sum = (sum.0 + events, sum.1 + bytes);
            }
        }
        sum
    }
}
