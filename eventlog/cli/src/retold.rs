//! What a log that begins late tells again of its threads, and what of that a merged log has already.
//!
//! A log that goes on in another sink says there first, in blocks directly behind the header, which threads
//! live and what each did last: `CREATE_THREAD`, its label, and what brings it to where it is, all with
//! the time at which it last ran. The moment of the cut is where each of these blocks ends.

use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;

use ghc_eventlog::format::{
    CapNo, Decoded, Event, EventSize, Header, RawEvent, Record, StopStatus, ThreadId,
};

use crate::input::{self, Fault};

/// What a log says first of a thread.
#[derive(Debug, Default)]
struct Told {
    time: u64,
    created: bool,
    label: Option<Box<str>>,
    last: Option<Last>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    Runs,
    Stopped,
    WokenUp,
}

/// The beginning of a log that goes on where another one was cut.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    /// The offset of the first byte that is not of it; 0 where there is none.
    end: u64,
    /// When the log was cut.
    pub(crate) cut: u64,
    threads: HashMap<ThreadId, Told>,
}

impl Beginning {
    /// Reads the beginning of a log. Where the log is bad, it has ended there.
    pub(crate) fn read(name: &str) -> Result<Self, Fault> {
        let mut beginning = Self::default();
        let mut block = Block::default();
        let mut file = File::open(name).map_err(Fault::Io)?;
        let read = input::read(&mut file, |record, _| {
            let goes_on = match record {
                Record::Header(header) => is_known(header),
                Record::BlockBegin { offset, marker } => {
                    beginning.add(&mut block);
                    let goes_on = match beginning.end {
                        0 => true,
                        _ => marker.end == beginning.cut && marker.cap >= block.cap,
                    };
                    block = Block {
                        cap: marker.cap,
                        cut: marker.end,
                        end: offset + u64::from(marker.size),
                        threads: HashMap::new(),
                    };
                    goes_on
                }
                Record::Event(raw) => raw.offset < block.end && block.take(&raw),
                _ => {
                    beginning.add(&mut block);
                    false
                }
            };
            match goes_on {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        match read {
            Err(Fault::Io(error)) => Err(Fault::Io(error)),
            Ok(()) | Err(Fault::Log(_)) => Ok(beginning),
        }
    }

    /// Adds a block that is whole.
    fn add(&mut self, block: &mut Block) {
        if block.end > 0 {
            (self.end, self.cut) = (block.end, block.cut);
            self.threads.extend(block.threads.drain());
        }
    }

    /// Whether the event is of the beginning.
    pub(crate) const fn holds(&self, raw: &RawEvent<'_>) -> bool {
        raw.offset < self.end
    }
}

/// Whether what threads do is declared as it is in logs that are cut.
fn is_known(header: &Header) -> bool {
    [(0, 4), (1, 4), (2, 10), (8, 6)]
        .into_iter()
        .all(|(id, size)| header.size(id) == Some(EventSize::Fixed(size)))
}

/// A block that may be of the beginning.
#[derive(Default)]
struct Block {
    cap: Option<CapNo>,
    cut: u64,
    end: u64,
    threads: HashMap<ThreadId, Told>,
}

impl Block {
    /// Takes an event in. Whether one of a beginning can be there.
    fn take(&mut self, raw: &RawEvent<'_>) -> bool {
        let Ok(Decoded::Known(event)) = raw.decode() else {
            return true;
        };
        let Some(thread) = thread_of(&event) else {
            return true;
        };
        let told = self.threads.entry(thread).or_insert_with(|| Told {
            time: raw.time,
            ..Told::default()
        });
        if told.time != raw.time {
            return false;
        }
        match (event, told.created, told.last) {
            (Event::CreateThread { .. }, false, None) if told.label.is_none() => {
                told.created = true;
            }
            (Event::ThreadLabel { label, .. }, _, None) if told.label.is_none() => {
                told.label = Some(label.into());
            }
            (Event::RunThread { .. }, true, None) => told.last = Some(Last::Runs),
            (Event::StopThread { status, .. }, true, Some(Last::Runs))
                if status != StopStatus::Finished =>
            {
                told.last = Some(Last::Stopped);
            }
            (Event::ThreadWakeup { .. }, true, None) => told.last = Some(Last::WokenUp),
            _ => return false,
        }
        true
    }
}

/// The thread that such an event is about, if it is of those that are told again.
fn thread_of(event: &Event<'_>) -> Option<ThreadId> {
    match *event {
        Event::CreateThread { thread }
        | Event::RunThread { thread }
        | Event::StopThread { thread, .. }
        | Event::ThreadWakeup { thread, .. }
        | Event::ThreadLabel { thread, .. } => Some(thread),
        _ => None,
    }
}

/// What one log tells first of a thread, and whether those that were cut before it tell that, too.
#[derive(Debug)]
struct Asked {
    input: usize,
    cut: u64,
    told: Told,
    /// What it did, but for running, which shows in its state.
    last_known: bool,
    /// Until when the last label that they tell was not replaced, and whether it is this one.
    label: Option<(u64, bool)>,
}

/// What a thread has done last in the log that is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Made,
    Runs {
        on: Option<CapNo>,
        since: u64,
        /// The log that tells it.
        input: usize,
    },
    Stopped,
    WokenUp,
}

/// What becomes of an event of a beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Keep,
    /// The merged log has it.
    Drop,
    /// The thread has to stop before, on the capability on which it runs, at that time.
    KeepAfterStop(ThreadId, Option<CapNo>, u64),
    /// It has to come after what happened at that time, which it replaces.
    KeepLater(u64),
}

/// Tells what several logs say of threads at their beginnings from what is new in that.
#[derive(Debug, Default)]
pub(crate) struct Retold {
    asked: HashMap<ThreadId, Vec<Asked>>,
    states: HashMap<ThreadId, State>,
    /// The thread that ran last on each capability.
    ran: HashMap<Option<CapNo>, ThreadId>,
}

impl Retold {
    /// Asks whether what that log says of threads first is in another one.
    pub(crate) fn ask(&mut self, input: usize, beginning: &mut Beginning) {
        for (thread, told) in beginning.threads.drain() {
            self.asked.entry(thread).or_default().push(Asked {
                input,
                cut: beginning.cut,
                told,
                last_known: false,
                label: None,
            });
        }
    }

    /// Hears of an event of the log that begins so. What is asked is known once all have been heard.
    pub(crate) fn hear(
        &mut self,
        input: usize,
        beginning: &Beginning,
        raw: &RawEvent<'_>,
        event: &Event<'_>,
    ) {
        let (cut, time) = (beginning.cut, raw.time);
        let Some(asked) = thread_of(event).and_then(|thread| self.asked.get_mut(&thread)) else {
            return;
        };
        for asked in asked {
            if (cut, input) >= (asked.cut, asked.input) || time > asked.cut {
                continue;
            }
            let told = &asked.told;
            let known = match *event {
                Event::StopThread { .. } => told.last == Some(Last::Stopped) && time == told.time,
                // Its time is not told, only that it came after the thread had run.
                Event::ThreadWakeup { .. } => told.last == Some(Last::WokenUp) && time >= told.time,
                Event::ThreadLabel { label, .. } => {
                    // One that is told again was the last when the log was cut.
                    let held = if beginning.holds(raw) { cut } else { time };
                    if asked.label.is_none_or(|(last, _)| held >= last) {
                        asked.label = Some((held, told.label.as_deref() == Some(label)));
                    }
                    false
                }
                _ => false,
            };
            asked.last_known |= known;
        }
    }

    /// What becomes of an event of the beginning of that log, when all before it is merged.
    pub(crate) fn judge(&self, input: usize, raw: &RawEvent<'_>, event: &Event<'_>) -> Verdict {
        let Some((thread, asked)) =
            thread_of(event).and_then(|thread| Some((thread, self.asked(input, thread)?)))
        else {
            return Verdict::Keep;
        };
        let state = self.states.get(&thread).copied();
        let drop = match event {
            Event::CreateThread { .. } => state.is_some(),
            Event::ThreadLabel { .. } => asked.label.is_some_and(|(_, same)| same),
            Event::RunThread { .. } => {
                asked.last_known || matches!(state, Some(State::Runs { on, .. }) if on == raw.cap)
            }
            Event::ThreadWakeup { .. } => asked.last_known || state == Some(State::WokenUp),
            _ => asked.last_known,
        };
        match (event, state) {
            _ if drop => Verdict::Drop,
            (Event::ThreadLabel { .. }, _) => match asked.label {
                Some((held, _)) if held > asked.told.time => Verdict::KeepLater(held),
                _ => Verdict::Keep,
            },
            (
                Event::RunThread { .. } | Event::ThreadWakeup { .. },
                Some(State::Runs { on, since, .. }),
            ) => {
                // Readers that sort know no order among capabilities at one time.
                let time = raw.time.saturating_sub(1).max(since);
                Verdict::KeepAfterStop(thread, on, time)
            }
            _ => Verdict::Keep,
        }
    }

    /// What has to be said before an event that a log which begins so holds: that the thread which runs on
    /// that capability, as far as is known, has stopped, and when. Where the log knows of it no more, or tells
    /// that it ran again, it has done that in a log that is missing.
    pub(crate) fn make_way(
        &mut self,
        input: usize,
        beginning: &Beginning,
        raw: &RawEvent<'_>,
        event: &Event<'_>,
    ) -> Option<(ThreadId, StopStatus, u64)> {
        let thread = thread_of(event)?;
        let runs = match event {
            Event::RunThread { .. } => true,
            // It is said to be made, and to run, at one time.
            Event::CreateThread { .. } | Event::ThreadLabel { .. } if beginning.holds(raw) => {
                let last = self.asked(input, thread)?.told.last;
                matches!(last, Some(Last::Runs | Last::Stopped))
            }
            _ => false,
        };
        if !runs {
            return None;
        }
        let other = *self.ran.get(&raw.cap).filter(|other| **other != thread)?;
        let since = match self.states.get(&other) {
            // What one log says by itself is as its program said it.
            Some(State::Runs {
                on,
                since,
                input: of,
            }) if *on == raw.cap && *of != input && *since < beginning.cut => *since,
            _ => return None,
        };
        let status = match self.asked(input, other) {
            None => StopStatus::Finished,
            Some(asked) if asked.told.time > since => StopStatus::Yielding,
            Some(_) => return None,
        };
        match status {
            StopStatus::Finished => self.states.remove(&other),
            _ => self.states.insert(other, State::Stopped),
        };
        Some((other, status, raw.time.saturating_sub(1).max(since)))
    }

    fn asked(&self, input: usize, thread: ThreadId) -> Option<&Asked> {
        let mut asked = self.asked.get(&thread)?.iter();
        asked.find(|asked| asked.input == input)
    }

    /// Takes in an event of the merged log.
    pub(crate) fn see(&mut self, input: usize, raw: &RawEvent<'_>, event: &Event<'_>) {
        let state = match *event {
            Event::CreateThread { .. } => State::Made,
            Event::RunThread { .. } => State::Runs {
                on: raw.cap,
                since: raw.time,
                input,
            },
            Event::StopThread {
                thread,
                status: StopStatus::Finished,
                ..
            } => {
                self.states.remove(&thread);
                return;
            }
            Event::StopThread { .. } => State::Stopped,
            Event::ThreadWakeup { .. } => State::WokenUp,
            _ => return,
        };
        if let Some(thread) = thread_of(event).filter(|_| !self.asked.is_empty()) {
            self.states.insert(thread, state);
            if matches!(state, State::Runs { .. }) {
                self.ran.insert(raw.cap, thread);
            }
        }
    }
}
