//! What a log that begins late has to be told first: the sticky events, kept as of every moment, and
//! replayed after each header.
//!
//! The collector shows every block here in which its writer says that there are such events, before
//! the block goes out; so the set is at any time what the events that went out have made it, and a
//! cut of the log is a cut of the set.

use crate::format::{self, BlockMarker, CapNo, Decoded, Event, Header, RawEvent, StopStatus};
use crate::format::{CapsetId, ThreadId};
use crate::marks::{Mark, Marks};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Whether events of that type change what is replayed.
#[inline(always)]
pub(crate) const fn is_tracked(id: u16) -> bool {
    matches!(
        id,
        0..=2 | 8 | 25..=33 | 43..=48 | 52 | 160 | 161 | 168 | 169 | 210
    )
}

/// Which event a newer one takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Capset(CapsetId),
    Assignment(CapsetId, CapNo),
    /// What is said once of a set, by the event's type.
    OfCapset(CapsetId, u16),
    Cap(CapNo),
    CapDisabled(CapNo),
    HeapProfile(u8),
    TimeProfile,
    CostCentre(u32),
    InfoTable(u64),
    TickyCounter(u64),
    /// Marked by the program.
    Marked(u64),
}

/// An event as it was in the log.
#[derive(Debug)]
struct Entry {
    cap: Option<CapNo>,
    bytes: Box<[u8]>,
}

/// What a thread did last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Only its label is known.
    Unknown,
    Created,
    Runs,
    Stopped {
        status: StopStatus,
        info: u32,
    },
    WokenUp {
        other: CapNo,
    },
}

/// A thread that lives on.
#[derive(Debug)]
struct Thread {
    last: Last,
    /// When it did that.
    last_time: u64,
    /// The capability that it was made or ran on last, and when.
    cap: Option<CapNo>,
    cap_time: u64,
    label: Option<(u64, Box<str>)>,
}

/// A thread that has finished: what another capability's block still has to say of it is older.
#[derive(Debug)]
struct Finished {
    time: u64,
    /// Passes that had ended.
    passes: u64,
}

/// Bytes that an event or a thread takes here besides what it holds.
const OVERHEAD: usize = 128;

/// Threads that have finished, of which so many are remembered without further ado.
const MANY_FINISHED: usize = 4_096;

/// Bytes of the events of one replayed block, but for one that is longer alone.
const BLOCK_LEN: usize = 1 << 20;

/// The sticky events of a log.
#[derive(Debug)]
pub(crate) struct Sticky {
    /// In the order in which they came.
    entries: BTreeMap<u64, Entry>,
    numbers: BTreeMap<Key, u64>,
    next: u64,
    threads: HashMap<ThreadId, Thread>,
    finished: HashMap<ThreadId, Finished>,
    /// The log's, by which its events can be told apart.
    header: Arc<Header>,
    passes: u64,
    /// Memory in use, roughly.
    bytes: usize,
    limit: usize,
    refused: u64,
}

impl Sticky {
    /// A set that takes about `limit` bytes at most.
    pub(crate) fn new(limit: usize, header: Arc<Header>) -> Self {
        Sticky {
            entries: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 0,
            threads: HashMap::new(),
            finished: HashMap::new(),
            header,
            passes: 0,
            bytes: 0,
            limit,
            refused: 0,
        }
    }

    /// Says that the log whose events come has that header.
    pub(crate) fn set_header(&mut self, header: &Arc<Header>) {
        self.header = Arc::clone(header);
    }

    /// Memory in use, roughly, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Events that found no room.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes in what a block holds of such events, and tells how many there are.
    pub(crate) fn observe(&mut self, cap: Option<CapNo>, block: &[u8], marks: &mut Marks) -> u64 {
        let mut count = 0;
        let header = Arc::clone(&self.header);
        for raw in format::events(block, &header).map_while(Result::ok) {
            if is_tracked(raw.id) {
                count += 1;
                // Ours are readable.
                if let Ok(Decoded::Known(event)) = raw.decode() {
                    self.track(cap, &raw, &event);
                }
            } else if let Some(mark) = marks.take(cap, &raw) {
                count += 1;
                if let Mark::Sticky(number) = mark {
                    self.set(Key::Marked(number), cap, raw.bytes());
                }
            }
        }
        count
    }

    /// Forgets what the program has removed.
    pub(crate) fn unmark(&mut self, marks: &mut Marks) {
        for number in marks.take_removed() {
            self.remove(Key::Marked(number));
        }
    }

    fn track(&mut self, cap: Option<CapNo>, raw: &RawEvent<'_>, event: &Event<'_>) {
        let of_capset = |capset| Key::OfCapset(capset, raw.id);
        let key = match *event {
            Event::CreateThread { thread } => {
                return self.thread(cap, raw.time, thread, Last::Created);
            }
            Event::RunThread { thread } => return self.thread(cap, raw.time, thread, Last::Runs),
            Event::StopThread {
                thread,
                status,
                info,
            } => return self.thread(cap, raw.time, thread, Last::Stopped { status, info }),
            Event::ThreadWakeup { thread, other } => {
                return self.thread(cap, raw.time, thread, Last::WokenUp { other });
            }
            Event::ThreadLabel { thread, label } => return self.label(raw.time, thread, label),
            Event::CapsetDelete { capset } => return self.remove_capset(capset),
            Event::CapsetRemoveCap { capset, cap } => {
                return self.remove(Key::Assignment(capset, cap));
            }
            Event::CapDelete { cap } => return self.remove_cap(cap),
            Event::CapEnable { cap } => return self.remove(Key::CapDisabled(cap)),
            Event::CapsetCreate { capset, .. } => Key::Capset(capset),
            Event::CapsetAssignCap { capset, cap } => Key::Assignment(capset, cap),
            Event::CapCreate { cap } => Key::Cap(cap),
            Event::CapDisable { cap } => Key::CapDisabled(cap),
            Event::RtsIdentifier { capset, .. }
            | Event::ProgramArgs { capset, .. }
            | Event::ProgramEnv { capset, .. }
            | Event::OsProcessPid { capset, .. }
            | Event::OsProcessPpid { capset, .. }
            | Event::WallClockTime { capset, .. }
            | Event::HeapInfoGhc { capset, .. } => of_capset(capset),
            Event::HeapProfBegin { profile, .. } => Key::HeapProfile(profile),
            Event::HeapProfCostCentre { cost_centre, .. } => Key::CostCentre(cost_centre),
            Event::ProfBegin { .. } => Key::TimeProfile,
            Event::InfoTable { info, .. } => Key::InfoTable(info),
            Event::TickyCounterDef { counter, .. } => Key::TickyCounter(counter),
            _ => unreachable!("every type that is tracked is here"),
        };
        self.set(key, cap, raw.bytes());
    }

    fn set(&mut self, key: Key, cap: Option<CapNo>, bytes: &[u8]) {
        self.remove(key);
        if !self.make_room(bytes.len()) {
            return;
        }
        self.numbers.insert(key, self.next);
        let bytes = bytes.into();
        self.entries.insert(self.next, Entry { cap, bytes });
        self.next += 1;
    }

    /// Counts the memory for `len` bytes, or the refusal.
    fn make_room(&mut self, len: usize) -> bool {
        let bytes = self.bytes + OVERHEAD + len;
        if bytes > self.limit {
            self.refused += 1;
            return false;
        }
        self.bytes = bytes;
        true
    }

    fn remove(&mut self, key: Key) {
        if let Some(number) = self.numbers.remove(&key) {
            if let Some(entry) = self.entries.remove(&number) {
                self.bytes -= OVERHEAD + entry.bytes.len();
            }
        }
    }

    fn remove_capset(&mut self, capset: CapsetId) {
        let (first, last) = (
            CapNo::default(),
            CapNo::new(u16::MAX - 1).unwrap_or_default(),
        );
        let assignments = Key::Assignment(capset, first)..=Key::Assignment(capset, last);
        let said = Key::OfCapset(capset, 0)..=Key::OfCapset(capset, u16::MAX);
        let keys = self.numbers.range(assignments);
        let keys: Vec<_> = keys
            .chain(self.numbers.range(said))
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            self.remove(key);
        }
        self.remove(Key::Capset(capset));
    }

    /// The capability is gone, and with it a thread that ran on it: nothing will stop it any more.
    fn remove_cap(&mut self, cap: CapNo) {
        self.remove(Key::CapDisabled(cap));
        if self.numbers.contains_key(&Key::Cap(cap)) {
            self.remove(Key::Cap(cap));
            let bytes = &mut self.bytes;
            self.threads.retain(|_, thread| {
                let stays = thread.last != Last::Runs || thread.cap != Some(cap);
                if !stays {
                    *bytes -= thread.bytes();
                }
                stays
            });
        }
    }

    /// The thread, if what happened to it at that time is not over already.
    fn living(&mut self, id: ThreadId, time: u64) -> Option<&mut Thread> {
        if self.finished.get(&id).is_some_and(|end| time <= end.time) {
            return None;
        }
        if !self.threads.contains_key(&id) {
            if !self.make_room(0) {
                return None;
            }
            let thread = Thread {
                last: Last::Unknown,
                last_time: 0,
                cap: None,
                cap_time: 0,
                label: None,
            };
            self.threads.insert(id, thread);
        }
        self.threads.get_mut(&id)
    }

    /// Blocks of several capabilities are not in order of time: what a thread did last is told by the
    /// time stamps, which are in order since it does one thing after the other.
    fn thread(&mut self, cap: Option<CapNo>, time: u64, id: ThreadId, last: Last) {
        let finished = matches!(
            last,
            Last::Stopped {
                status: StopStatus::Finished,
                ..
            }
        );
        let Some(thread) = self.living(id, time) else {
            return;
        };
        if time < thread.last_time {
            return;
        }
        if finished {
            if let Some(thread) = self.threads.remove(&id) {
                self.bytes -= thread.bytes();
            }
            let passes = self.passes;
            self.finished.insert(id, Finished { time, passes });
            return;
        }
        thread.last = last;
        thread.last_time = time;
        // A thread is woken up by another one, wherever that runs.
        if !matches!(last, Last::WokenUp { .. }) || thread.cap.is_none() {
            thread.cap = cap;
            thread.cap_time = time;
        }
    }

    fn label(&mut self, time: u64, id: ThreadId, label: &str) {
        let Some(thread) = self.living(id, time) else {
            return;
        };
        let before = thread.label_len();
        if thread.label.as_ref().is_some_and(|(last, _)| time < *last) {
            return;
        }
        thread.label = None;
        self.bytes -= before;
        if self.bytes + label.len() > self.limit {
            self.refused += 1;
            return;
        }
        self.bytes += label.len();
        if let Some(thread) = self.threads.get_mut(&id) {
            thread.label = Some((time, label.into()));
        }
    }

    /// Whether threads that have finished use up memory until a pass over all buffers has ended.
    pub(crate) fn wants_pass(&self) -> bool {
        self.finished.len() > MANY_FINISHED
    }

    /// The events that the program has marked, and whose they are.
    pub(crate) fn marked(&self) -> impl Iterator<Item = (Option<CapNo>, &[u8])> {
        let marked = Key::Marked(0)..=Key::Marked(u64::MAX);
        let numbers = self.numbers.range(marked).map(|(_, number)| number);
        let entries = numbers.filter_map(|number| self.entries.get(number));
        entries.map(|entry| (entry.cap, &*entry.bytes))
    }

    /// A pass over all buffers has ended: what happened before the end of a thread that had been seen
    /// when the pass began has been seen, too.
    pub(crate) fn end_pass(&mut self) {
        let passes = self.passes;
        self.passes += 1;
        self.finished.retain(|_, end| end.passes == passes);
    }

    /// The events to be replayed, as blocks. Time stamps are those of the events as they were; a
    /// thread's are of when it last ran on its capability. So nothing that follows is earlier.
    pub(crate) fn blocks(&self, now: u64, out: &mut Vec<u8>) {
        let mut by_cap: BTreeMap<Option<CapNo>, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
        for entry in self.entries.values() {
            let time = format::events(&entry.bytes, &self.header).next();
            let time = time.and_then(Result::ok).map_or(0, |event| event.time);
            let events = by_cap.entry(entry.cap).or_default();
            events.push((time, entry.bytes.to_vec()));
        }
        let mut threads: Vec<_> = self.threads.iter().collect();
        threads.sort_unstable_by_key(|(id, _)| **id);
        for (id, thread) in threads {
            let events = by_cap.entry(thread.cap).or_default();
            events.push((thread.cap_time, thread.replay(*id)));
        }
        for (cap, mut events) in by_cap {
            events.sort_by_key(|(time, _)| *time);
            let mut rest = &events[..];
            while let Some((begin, _)) = rest.first() {
                let mut len = 0;
                let count = rest.iter().take_while(|(_, bytes)| {
                    let first = len == 0;
                    len += bytes.len();
                    first || len <= BLOCK_LEN
                });
                let (block, others) = rest.split_at(count.count());
                rest = others;
                let len: usize = block.iter().map(|(_, bytes)| bytes.len()).sum();
                let marker = BlockMarker {
                    begin: *begin,
                    size: u32::try_from(BlockMarker::LEN + len).expect("an event is far shorter"),
                    end: now.max(*begin),
                    cap,
                };
                out.extend(marker.encode());
                block.iter().for_each(|(_, bytes)| out.extend(bytes));
            }
        }
    }
}

impl Thread {
    fn label_len(&self) -> usize {
        self.label.as_ref().map_or(0, |(_, label)| label.len())
    }

    fn bytes(&self) -> usize {
        OVERHEAD + self.label_len()
    }

    /// What brings the thread to where it is, in the order that the state machines of readers want.
    fn replay(&self, thread: ThreadId) -> Vec<u8> {
        let mut out = Vec::new();
        let mut say = |event: Event<'_>| event.encode_to_vec(self.cap_time, &mut out);
        if self.last != Last::Unknown {
            say(Event::CreateThread { thread });
        }
        if let Some((_, label)) = &self.label {
            say(Event::ThreadLabel { thread, label });
        }
        match self.last {
            Last::Unknown | Last::Created => {}
            Last::Runs => {
                say(Event::RunThread { thread });
            }
            Last::Stopped { status, info } => {
                say(Event::RunThread { thread });
                say(Event::StopThread {
                    thread,
                    status,
                    info,
                });
            }
            Last::WokenUp { other } => {
                say(Event::ThreadWakeup { thread, other });
            }
        }
        out
    }
}
