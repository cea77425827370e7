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

#[cfg(test)]
mod tests {
    use super::*;
    use ghc_eventlog::format::events;

    /// When the second log was cut off the first one, and where its beginning ends.
    const CUT: u64 = 20;
    const END: u64 = 1;

    fn cap(number: u16) -> Option<CapNo> {
        CapNo::new(number)
    }

    /// Shows an event of that capability and time to `look`, as one of or behind a beginning.
    fn show<R>(
        event: Event<'_>,
        (cap, time, in_beginning): (Option<CapNo>, u64, bool),
        look: impl FnOnce(&RawEvent<'_>, &Event<'_>) -> R,
    ) -> R {
        let mut bytes = Vec::new();
        event.encode_to_vec(time, &mut bytes);
        let mut raw = events(&bytes, Header::standard()).next().unwrap().unwrap();
        raw.cap = cap;
        raw.offset = if in_beginning { 0 } else { END };
        look(&raw, &event)
    }

    /// A merge in which the second log tells first of these threads: when each ran last, and what it did then.
    fn retold<const N: usize>(threads: [(u32, u64, Last); N]) -> (Retold, Beginning) {
        let threads = threads.map(|(thread, time, last)| {
            let told = Told {
                time,
                created: true,
                label: None,
                last: Some(last),
            };
            (ThreadId(thread), told)
        });
        let mut beginning = Beginning {
            end: END,
            cut: CUT,
            threads: threads.into(),
        };
        let mut retold = Retold::default();
        retold.ask(1, &mut beginning);
        (retold, beginning)
    }

    /// That a thread runs, as a log tells it that was merged.
    fn runs(retold: &mut Retold, input: usize, thread: u32, on: u16, time: u64) {
        let event = Event::RunThread {
            thread: ThreadId(thread),
        };
        show(event, (cap(on), time, false), |raw, event| {
            retold.see(input, raw, event)
        });
    }

    /// What is said before thread 2 runs on capability 0, as the second log tells it.
    fn way(
        (retold, beginning): &mut (Retold, Beginning),
        time: u64,
    ) -> Option<(ThreadId, StopStatus, u64)> {
        let event = Event::RunThread {
            thread: ThreadId(2),
        };
        show(event, (cap(0), time, false), |raw, event| {
            retold.make_way(1, beginning, raw, event)
        })
    }

    #[test]
    fn a_thread_that_the_next_log_knows_no_more_has_gone_before_another_runs() {
        let mut merge = retold([(2, 15, Last::Stopped)]);
        runs(&mut merge.0, 0, 1, 0, 10);
        let gone = Some((ThreadId(1), StopStatus::Finished, 29));
        assert_eq!(way(&mut merge, 30), gone);
        assert!(!merge.0.states.contains_key(&ThreadId(1)));
        assert_eq!(way(&mut merge, 31), None, "it has been said");
    }

    #[test]
    fn a_thread_that_ran_elsewhere_meanwhile_has_only_stopped() {
        for (ran, expected) in [
            (10, None),
            (11, Some((ThreadId(1), StopStatus::Yielding, 29))),
        ] {
            let mut merge = retold([(1, ran, Last::Runs), (2, 15, Last::Stopped)]);
            runs(&mut merge.0, 0, 1, 0, 10);
            assert_eq!(way(&mut merge, 30), expected);
            let stopped = merge.0.states[&ThreadId(1)] == State::Stopped;
            assert_eq!(stopped, expected.is_some());
        }
    }

    #[test]
    fn it_stops_not_before_it_has_run() {
        let mut merge = retold([(2, 5, Last::Stopped)]);
        runs(&mut merge.0, 0, 1, 0, 10);
        let gone = Some((ThreadId(1), StopStatus::Finished, 10));
        assert_eq!(way(&mut merge, 10), gone);
    }

    #[test]
    fn what_stays_as_the_logs_tell_it_needs_no_way() {
        // (the log that tells of the thread, the thread, when it ran)
        for (input, thread, time) in [
            // The same log told it, and what one log says by itself is so.
            (1, 1, 10),
            // It ran when the second log had begun.
            (0, 1, CUT),
            // It is the thread itself.
            (0, 2, 10),
        ] {
            let mut merge = retold([(2, 15, Last::Stopped)]);
            runs(&mut merge.0, input, thread, 0, time);
            assert_eq!(way(&mut merge, 30), None, "{thread} of {input} at {time}");
        }
        // It has gone on to another capability.
        let mut merge = retold([(2, 15, Last::Stopped)]);
        runs(&mut merge.0, 0, 1, 0, 10);
        runs(&mut merge.0, 0, 1, 3, 12);
        assert_eq!(way(&mut merge, 30), None);
    }

    #[test]
    fn a_beginning_makes_way_for_threads_that_have_run_there() {
        for (last, in_beginning, makes) in [
            (Last::Runs, true, true),
            (Last::Stopped, true, true),
            (Last::WokenUp, true, false),
            (Last::Runs, false, false),
        ] {
            let (mut merge, beginning) = retold([(2, 15, last)]);
            runs(&mut merge, 0, 1, 0, 10);
            let event = Event::CreateThread {
                thread: ThreadId(2),
            };
            let way = show(event, (cap(0), 15, in_beginning), |raw, event| {
                merge.make_way(1, &beginning, raw, event)
            });
            assert_eq!(way.is_some(), makes, "{last:?}, {in_beginning}");
        }
    }
}
