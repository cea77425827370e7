//! Whose events are these? What earlier blocks tell of the capability of events without a marker.
//!
//! In the run-time system a thread runs on one capability at a time, and its events go to that
//! capability's buffer. So where a thread was last seen tells where its next events come from:
//!
//! 1. Events that begin with the stop of a thread come from the capability whose last block left
//!    that thread running.
//! 2. Otherwise each thread that runs or stops, and was not made or moved there by these events
//!    themselves, speaks once for the capability where it was last seen running or was moved to,
//!    if that was not later. The capability with the most voices has it.
//! 3. Otherwise what is left when all but one of the known capabilities are ruled out.
//!
//! A capability is ruled out if its last block ended after a thread ran or stopped here, if a
//! thread moves to it from here, or if a spark is stolen from it. Only run and stop events count
//! for times, as garbage collections are dated back. Events that no capability emits rule out all
//! of them, and a draw is decided for none.
//!
//! That a thread is made, labelled or woken up says nothing: another capability does that.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::{CapNo, Header, RawEvent, ThreadId, events, events_at};

/// Threads that are remembered: the last ones made, as their numbers are given in turn.
const THREADS: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Sighting {
    thread: ThreadId,
    time: u64,
    cap: CapNo,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cap {
    /// Latest end of its blocks.
    end: u64,
    /// The thread that its last block left running.
    running: Option<ThreadId>,
}

/// Whether events of that type tell where a thread is.
#[inline(always)]
pub(super) const fn tells_of_a_thread(id: u16) -> bool {
    matches!(id, 1 | 2 | 4)
}

/// What blocks have told so far. Bounded: a slot for each of the last threads, and the capabilities.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    caps: BTreeMap<CapNo, Cap>,
    /// Empty as long as no thread was seen.
    threads: Vec<Option<Sighting>>,
}

/// What an event tells of the whereabouts of a thread.
enum Hint {
    Run(ThreadId),
    Stop(ThreadId),
    Move(ThreadId, CapNo),
    Create(ThreadId),
    Steal(CapNo),
    /// Only that some capability emitted it.
    SomeCap,
    Nothing,
}

impl Hint {
    /// Reads only the fields that matter, as every event of a log comes along here. Payloads of
    /// other lengths than today's hint at nothing.
    #[inline]
    fn of(raw: &RawEvent<'_>) -> Self {
        let known = match (raw.id, raw.payload) {
            (0, payload) => first(payload, 4).map(Self::Create),
            (1, payload) => first(payload, 4).map(Self::Run),
            (2, payload) => first(payload, 10).map(Self::Stop),
            (4, &[.., high, low]) => first(raw.payload, 6).and_then(|thread| {
                let to = CapNo::new(u16::from_be_bytes([high, low]))?;
                Some(Self::Move(thread, to))
            }),
            (39, &[high, low]) => CapNo::new(u16::from_be_bytes([high, low])).map(Self::Steal),
            (3 | 8..=12 | 15 | 19..=22 | 34..=38 | 40 | 41 | 44, _) => Some(Self::SomeCap),
            (49..=51 | 53 | 54 | 58 | 90 | 91 | 181 | 206, _) => Some(Self::SomeCap),
            _ => None,
        };
        known.unwrap_or(Self::Nothing)
    }
}

/// The thread at the start of a payload, if that has the length it should have.
#[inline]
fn first(payload: &[u8], len: usize) -> Option<ThreadId> {
    let thread = payload.first_chunk().filter(|_| payload.len() == len)?;
    Some(ThreadId(u32::from_be_bytes(*thread)))
}

impl Evidence {
    pub(super) fn new() -> Self {
        Self {
            caps: BTreeMap::new(),
            threads: Vec::new(),
        }
    }

    fn slot(thread: ThreadId) -> usize {
        thread.0 as usize % THREADS
    }

    fn seen(&self, thread: ThreadId) -> Option<Sighting> {
        let slot = *self.threads.get(Self::slot(thread))?;
        slot.filter(|sighting| sighting.thread == thread)
    }

    #[inline]
    fn see(&mut self, thread: ThreadId, time: u64, cap: CapNo) {
        if self.threads.is_empty() {
            self.threads.resize(THREADS, None);
        }
        let slot = &mut self.threads[Self::slot(thread)];
        match slot {
            Some(known) if known.thread == thread && known.time > time => {}
            _ => *slot = Some(Sighting { thread, time, cap }),
        }
    }

    /// Learns from a block of `cap` that ended at `end`, of the events at the `notable` places of it. They must be
    /// sound.
    pub(super) fn learn(
        &mut self,
        cap: CapNo,
        end: u64,
        body: &[u8],
        header: &Header,
        notable: &[u32],
    ) {
        let Cap {
            end: before,
            mut running,
        } = self.caps.get(&cap).copied().unwrap_or_default();
        for raw in events_at(body, header, notable) {
            if !tells_of_a_thread(raw.id) {
                continue;
            }
            match Hint::of(&raw) {
                Hint::Run(thread) => {
                    self.see(thread, raw.time, cap);
                    running = Some(thread);
                }
                Hint::Stop(thread) => {
                    self.see(thread, raw.time, cap);
                    running = None;
                }
                Hint::Move(thread, to) => self.see(thread, raw.time, to),
                _ => {}
            }
        }
        let end = end.max(before);
        self.caps.insert(cap, Cap { end, running });
    }

    /// The log was stopped in between: what happened there is not known.
    pub(super) fn interrupted(&mut self) {
        for cap in self.caps.values_mut() {
            cap.running = None;
        }
    }

    /// The capability that these events come from, as far as anything tells. They must be sound.
    pub(super) fn whose(&self, body: &[u8], header: &Header) -> Option<CapNo> {
        let mut left: BTreeSet<CapNo> = self.caps.keys().copied().collect();
        let mut voices: BTreeMap<CapNo, usize> = BTreeMap::new();
        let mut mentioned: BTreeSet<ThreadId> = BTreeSet::new();
        let mut continued = None;
        let mut first_run = None;
        let mut from_a_cap = false;
        for raw in events(body, header).flatten() {
            let hint = Hint::of(&raw);
            from_a_cap |= !matches!(hint, Hint::Nothing);
            match hint {
                Hint::Run(thread) | Hint::Stop(thread) => {
                    if first_run.is_none() {
                        first_run = Some(raw.time);
                        left.retain(|cap| self.caps[cap].end <= raw.time);
                        if matches!(hint, Hint::Stop(_)) {
                            continued = self
                                .caps
                                .iter()
                                .find(|(_, cap)| cap.running == Some(thread))
                                .map(|(cap, _)| *cap);
                        }
                    }
                    if mentioned.insert(thread) {
                        let seen = self.seen(thread).filter(|seen| seen.time <= raw.time);
                        if let Some(seen) = seen {
                            *voices.entry(seen.cap).or_default() += 1;
                        }
                    }
                }
                Hint::Move(thread, to) => {
                    mentioned.insert(thread);
                    left.remove(&to);
                }
                Hint::Create(thread) => {
                    mentioned.insert(thread);
                }
                Hint::Steal(victim) => {
                    left.remove(&victim);
                }
                Hint::SomeCap | Hint::Nothing => {}
            }
        }
        if !from_a_cap {
            return None;
        }
        if let Some(cap) = continued.filter(|cap| left.contains(cap)) {
            return Some(cap);
        }
        voices.retain(|cap, _| left.contains(cap));
        let most = voices.values().copied().max();
        let mut best = voices
            .iter()
            .filter(|(_, count)| Some(**count) == most)
            .map(|(cap, _)| *cap);
        match (best.next(), best.next()) {
            (Some(cap), None) => Some(cap),
            (Some(_), Some(_)) => None,
            (None, _) => {
                let mut left = left.into_iter();
                left.next().filter(|_| left.next().is_none())
            }
        }
    }
}
