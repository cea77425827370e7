//! What a log that begins late has to be told first: the sticky events, kept as of every moment, and
//! replayed after each header.
//!
//! The collector shows every block here in which its writer says that there are such events, before
//! the block goes out; so the set is at any time what the events that went out have made it, and a
//! cut of the log is a cut of the set.

use crate::format::{self, BlockMarker, CapNo, Decoded, Event, Header, RawEvent, StopStatus};
use crate::format::{CapsetId, EventSize, ThreadId};
use crate::marks::{Mark, Marks};
use crate::thread_table::ThreadTable;
use std::collections::{BTreeMap, HashMap, VecDeque};
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
    /// What another capability's block still has to say of it is older.
    Finished {
        /// Passes that had ended.
        passes: u64,
    },
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    last: Last,
    /// When it did that.
    last_time: u64,
    /// The capability that it was made or ran on last, and when.
    cap: Option<CapNo>,
    cap_time: u64,
}

/// A thread, or what is left of it.
#[derive(Debug)]
struct Thread {
    stage: Stage,
    /// From when on it lives: what has happened before that is of one that had the same number.
    begin: u64,
    label: Option<(u64, Box<str>)>,
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
    threads: ThreadTable<Thread>,
    /// Threads that have finished, and how many passes had ended then, which is in order.
    finished: VecDeque<(ThreadId, u64)>,
    /// The log's, by which its events can be told apart.
    header: Arc<Header>,
    /// Whether that declares the steps of threads as GHC does since 7.0.
    knows_steps: bool,
    passes: u64,
    /// Which log's they are.
    identity: Arc<()>,
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
            threads: ThreadTable::new(),
            finished: VecDeque::new(),
            knows_steps: declares_steps(&header),
            header,
            passes: 0,
            identity: Arc::new(()),
            bytes: 0,
            limit,
            refused: 0,
        }
    }

    /// Says that the log whose events come has that header.
    pub(crate) fn set_header(&mut self, header: &Arc<Header>) {
        self.knows_steps = declares_steps(header);
        self.header = Arc::clone(header);
    }

    /// Memory in use, roughly, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Whether there is a definition of that cost centre.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn defines_cost_centre(&self, id: u32) -> bool {
        self.numbers.contains_key(&Key::CostCentre(id))
    }

    /// Events that found no room.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes in what a block holds of such events, and tells how many there are.
    pub(crate) fn observe(&mut self, cap: Option<CapNo>, block: &[u8], marks: &mut Marks) -> u64 {
        self.observe_with(cap, block, marks, |_| ())
    }

    /// As [`observe`](Self::observe), and shows every event of the block to `look`.
    pub(crate) fn observe_with(
        &mut self,
        cap: Option<CapNo>,
        block: &[u8],
        marks: &mut Marks,
        mut look: impl FnMut(&[u8]),
    ) -> u64 {
        let mut count = 0;
        let header = Arc::clone(&self.header);
        let mut rest = block;
        loop {
            if self.knows_steps {
                let (steps, behind) = self.take_steps(cap, rest, &mut look);
                count += steps;
                rest = behind;
            }
            let Some(Ok(raw)) = format::events(rest, &header).next() else {
                return count;
            };
            rest = &rest[raw.bytes().len()..];
            look(raw.bytes());
            if let Some((thread, last)) = step(raw.id, raw.payload, self.passes) {
                count += 1;
                self.note_step(cap, raw.time, thread, last);
            } else if is_tracked(raw.id) {
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
    }

    /// Takes in the steps of threads with which the events begin, where the header
    /// [declares](declares_steps) them, and shows them to `look`. Tells how many there are, and what is behind.
    ///
    /// Most of what is tracked is that, and a thread does several things one after the other: what it does
    /// last is looked up and noted once.
    #[inline(never)]
    fn take_steps<'a>(
        &mut self,
        cap: Option<CapNo>,
        events: &'a [u8],
        look: &mut impl FnMut(&[u8]),
    ) -> (u64, &'a [u8]) {
        let mut count = 0;
        let mut rest = events;
        while let Some(run) = Run::first(rest, look) {
            if let Some((time, thread, last)) = run.last(rest, self.passes) {
                self.thread(cap, time, thread, last, run.steps);
            }
            count += run.steps;
            rest = &rest[run.len..];
        }
        (count, rest)
    }

    /// Takes in what a block holds of such events at these places; there may be others there. None is marked by the
    /// program.
    pub(crate) fn observe_at(&mut self, cap: Option<CapNo>, block: &[u8], places: &[u32]) {
        let header = Arc::clone(&self.header);
        for raw in format::events_at(block, &header, places) {
            if let Some((thread, last)) = step(raw.id, raw.payload, self.passes) {
                self.note_step(cap, raw.time, thread, last);
            } else if is_tracked(raw.id) {
                // What has another layout than today's tells nothing.
                if let Ok(Decoded::Known(event)) = raw.decode() {
                    self.track(cap, &raw, &event);
                }
            }
        }
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
            // Every type that is tracked is here, or is a step of a thread.
            _ => return,
        };
        self.set(key, cap, raw.bytes());
    }

    fn set(&mut self, key: Key, cap: Option<CapNo>, bytes: &[u8]) {
        self.remove(key);
        if !self.make_room(bytes.len(), 1) {
            return;
        }
        self.numbers.insert(key, self.next);
        let bytes = bytes.into();
        self.entries.insert(self.next, Entry { cap, bytes });
        self.next += 1;
    }

    /// Counts the memory for `len` bytes that so many events are about, or the refusal of these.
    fn make_room(&mut self, len: usize, events: u64) -> bool {
        let bytes = self.bytes + OVERHEAD + len;
        if bytes > self.limit {
            self.refused += events;
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
            self.threads.retain(|thread| {
                let stays = thread.stage.last != Last::Runs || thread.stage.cap != Some(cap);
                if !stays {
                    *bytes -= thread.bytes();
                }
                stays
            });
        }
    }

    /// Begins a thread that is not known, if what happened to it at that time, in so many events, is not over
    /// already.
    #[cold]
    fn begin_thread(&mut self, id: ThreadId, time: u64, events: u64) -> Option<&mut Thread> {
        let end = self
            .threads
            .get(id)
            .map(|finished| finished.stage.last_time);
        if end.is_some_and(|end| time <= end) || !self.make_room(0, events) {
            return None;
        }
        let begin = end.map_or(0, |end| end + 1);
        self.threads.insert(id, Thread::new(begin));
        self.threads.get_mut(id)
    }

    /// Blocks of several capabilities are not in order of time: what a thread did last is told by the
    /// time stamps, which are in order since it does one thing after the other. It took so many `events`.
    #[inline(always)]
    fn thread(&mut self, cap: Option<CapNo>, time: u64, id: ThreadId, last: Last, events: u64) {
        let thread = match self.threads.get_mut(id) {
            Some(thread) if thread.lives() => thread,
            _ => match self.begin_thread(id, time, events) {
                Some(thread) => thread,
                None => return,
            },
        };
        if time < thread.stage.last_time.max(thread.begin) {
            return;
        }
        let stage = &mut thread.stage;
        stage.last = last;
        stage.last_time = time;
        if let Last::Finished { passes } = last {
            let bytes = thread.bytes();
            thread.label = None;
            self.bytes -= bytes;
            self.finished.push_back((id, passes));
            return;
        }
        // A thread is woken up by another one, wherever that runs.
        if !matches!(last, Last::WokenUp { .. }) || stage.cap.is_none() {
            stage.cap = cap;
            stage.cap_time = time;
        }
    }

    #[cold]
    fn note_step(&mut self, cap: Option<CapNo>, time: u64, id: ThreadId, last: Last) {
        self.thread(cap, time, id, last, 1);
    }

    fn label(&mut self, time: u64, id: ThreadId, label: &str) {
        let lives = self.threads.get(id).is_some_and(Thread::lives);
        let thread = match lives {
            true => self.threads.get_mut(id),
            false => self.begin_thread(id, time, 1),
        };
        let Some(thread) = thread.filter(|thread| time >= thread.begin) else {
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
        if let Some(thread) = self.threads.get_mut(id) {
            thread.label = Some((time, label.into()));
        }
    }

    /// Whether threads that have finished use up memory until a pass over all buffers has ended.
    pub(crate) fn wants_pass(&self) -> bool {
        self.finished.len() > MANY_FINISHED
    }

    /// Whether they are so many that they are better forgotten, whatever may still come of them.
    pub(crate) fn remembers_too_many(&self) -> bool {
        self.finished.len() > 64 * MANY_FINISHED
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
        while let Some(&(id, end)) = self.finished.front() {
            if end >= passes {
                break;
            }
            self.finished.pop_front();
            let thread = self.threads.get(id);
            // Another one may have its number by now.
            if thread.is_some_and(|thread| thread.stage.last == (Last::Finished { passes: end })) {
                self.threads.remove(id);
            }
        }
    }

    /// The events to be replayed, as blocks. Time stamps are those of the events as they were; a
    /// thread's are of when it last ran on its capability. So nothing that follows is earlier.
    pub(crate) fn blocks(&self, now: u64, out: &mut Vec<u8>) {
        let mut by_cap = self.definitions(0);
        for (id, thread) in self.living() {
            let stage = thread.stage;
            let mut events = Vec::new();
            stage.say_made(id, &mut events);
            thread.say_label(id, stage.cap_time, &mut events);
            stage.say_last(id, &mut events);
            let of_cap = by_cap.entry(stage.cap).or_default();
            of_cap.push((stage.cap_time, events));
        }
        write_blocks(by_cap, now, out);
    }

    /// What is to be remembered of a moment, to tell later what has come since.
    pub(crate) fn moment(&self) -> Moment {
        let threads = self.living().into_iter().map(|(id, thread)| {
            let labelled = thread.label.as_ref().map(|(time, _)| *time);
            (id, (thread.stage, labelled))
        });
        Moment {
            of: Arc::clone(&self.identity),
            next: self.next,
            threads: threads.collect(),
        }
    }

    /// The events that tell what has come since, as blocks: what has been defined, and what each thread has
    /// done, in the order that the state machines of readers want. They are of the time `at`, when the log
    /// comes back: what was there is earlier, and what follows is later. None where it was not a moment of
    /// this log.
    pub(crate) fn blocks_since(&self, moment: &Moment, at: u64, out: &mut Vec<u8>) {
        if !Arc::ptr_eq(&self.identity, &moment.of) {
            return;
        }
        let mut by_cap = self.definitions(moment.next);
        let mut say = |stage: Stage, events: Vec<u8>| {
            if !events.is_empty() {
                let of_cap = by_cap.entry(stage.cap).or_default();
                of_cap.push((stage.cap_time, events));
            }
        };
        for (id, thread) in self.living() {
            let at_last = thread.stage;
            let stage = at_last.at(at);
            let (before, labelled) = match moment.threads.get(&id) {
                Some((before, labelled)) => (Some(*before), *labelled),
                None => (None, None),
            };
            let mut events = Vec::new();
            match before.filter(|before| before.last != Last::Unknown) {
                Some(before) if before != at_last => {
                    if before.last == Last::Runs && !matches!(stage.last, Last::Stopped { .. }) {
                        stage.say_stopped(id, StopStatus::Yielding, 0, &mut events);
                    }
                    stage.say_last_after(before.last, id, &mut events);
                }
                Some(_) => {}
                None => {
                    stage.say_made(id, &mut events);
                    stage.say_last(id, &mut events);
                }
            }
            if thread.label.as_ref().map(|(time, _)| *time) != labelled {
                thread.say_label(id, at, &mut events);
            }
            say(stage, events);
        }
        let gone = moment.threads.iter().filter(|(id, (before, _))| {
            before.last != Last::Unknown && !self.threads.get(**id).is_some_and(Thread::lives)
        });
        for (id, (before, _)) in gone {
            let before = before.at(at);
            let mut events = Vec::new();
            if before.last != Last::Runs {
                before.say_run(*id, &mut events);
            }
            before.say_stopped(*id, StopStatus::Finished, 0, &mut events);
            say(before, events);
        }
        write_blocks(by_cap, at, out);
    }

    /// The threads that live, in order.
    fn living(&self) -> Vec<(ThreadId, &Thread)> {
        let threads = self.threads.iter();
        let mut threads: Vec<_> = threads.filter(|(_, thread)| thread.lives()).collect();
        threads.sort_unstable_by_key(|(id, _)| *id);
        threads
    }

    /// The events that are no threads', from that number on, and their times.
    fn definitions(&self, first: u64) -> ByCap {
        let mut by_cap = ByCap::new();
        for (_, entry) in self.entries.range(first..) {
            let time = format::events(&entry.bytes, &self.header).next();
            let time = time.and_then(Result::ok).map_or(0, |event| event.time);
            let events = by_cap.entry(entry.cap).or_default();
            events.push((time, entry.bytes.to_vec()));
        }
        by_cap
    }
}

/// Events to be replayed, by the capability whose blocks they belong in, with their times.
type ByCap = BTreeMap<Option<CapNo>, Vec<(u64, Vec<u8>)>>;

/// Where a log was at a moment.
#[derive(Debug)]
pub(crate) struct Moment {
    /// Which log's.
    of: Arc<()>,
    /// The number of the next definition.
    next: u64,
    /// How far the threads had come that lived, and when they were labelled.
    threads: HashMap<ThreadId, (Stage, Option<u64>)>,
}

/// Makes blocks of the events, each capability's in order of time.
fn write_blocks(by_cap: ByCap, now: u64, out: &mut Vec<u8>) {
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

/// Whether the header declares the steps of threads with the lengths that are theirs since GHC 7.0.
fn declares_steps(header: &Header) -> bool {
    let declares = |id| match (Run::len(id), header.size(id)) {
        (None, _) => true,
        (Some(len), Some(EventSize::Fixed(bytes))) => Run::HEAD + usize::from(bytes) == len,
        (Some(_), _) => false,
    };
    (0..=8).all(declares)
}

/// What a thread does, where that is all that the event says.
#[inline]
fn step(id: u16, payload: &[u8], passes: u64) -> Option<(ThreadId, Last)> {
    if !matches!(id, 0..=2 | 8) {
        return None;
    }
    let (thread, rest) = payload.split_first_chunk()?;
    let thread = ThreadId(u32::from_be_bytes(*thread));
    let last = match (id, rest) {
        (0, _) => Last::Created,
        (1, _) => Last::Runs,
        (2, &[high, low, i0, i1, i2, i3]) => {
            let status = StopStatus::from_code(u16::from_be_bytes([high, low]))?;
            let info = u32::from_be_bytes([i0, i1, i2, i3]);
            match status == StopStatus::Finished {
                true => Last::Finished { passes },
                false => Last::Stopped { status, info },
            }
        }
        (8, &[high, low]) => Last::WokenUp {
            other: CapNo::new(u16::from_be_bytes([high, low]))?,
        },
        // Ours are not like that.
        _ => return None,
    };
    Some((thread, last))
}

/// Steps of one thread, one after the other in a block, of which nothing but the last is to be known.
#[derive(Clone, Copy)]
struct Run {
    steps: u64,
    /// Where the last step begins.
    last: usize,
    /// Bytes of all of them.
    len: usize,
    /// Where the thread stops with the last one.
    status: Option<StopStatus>,
}

impl Run {
    /// Bytes before a step's payload.
    const HEAD: usize = 10;

    /// Bytes of an event of that type, where it is a step and the header [declares](declares_steps) it.
    #[inline(always)]
    const fn len(id: u16) -> Option<usize> {
        match id {
            0 | 1 => Some(Run::HEAD + 4),
            2 => Some(Run::HEAD + 10),
            8 => Some(Run::HEAD + 6),
            _ => None,
        }
    }

    /// The steps with which the events begin, each of which is shown to `look`.
    #[inline(always)]
    fn first(events: &[u8], look: &mut impl FnMut(&[u8])) -> Option<Run> {
        let thread: [u8; 4] = *events.get(Run::HEAD..)?.first_chunk()?;
        let mut run = Run {
            steps: 0,
            last: 0,
            len: 0,
            status: None,
        };
        let mut latest = 0;
        while let Some(rest) = events.get(run.len..) {
            let Some(&[i0, i1, t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3]) =
                rest.first_chunk()
            else {
                break;
            };
            let time = u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
            if [n0, n1, n2, n3] != thread || time < latest {
                break;
            }
            let id = u16::from_be_bytes([i0, i1]);
            let Some(event) = Run::len(id).and_then(|len| rest.get(..len)) else {
                break;
            };
            let mut status = None;
            match (id, event) {
                (2, &[.., high, low, _, _, _, _]) => {
                    status = StopStatus::from_code(u16::from_be_bytes([high, low]));
                    if status.is_none() {
                        break;
                    }
                }
                // Where a thread ran, a wake-up does not tell.
                (8, _) if run.steps > 0 => break,
                _ => {}
            }
            look(event);
            latest = time;
            run = Run {
                steps: run.steps + 1,
                last: run.len,
                len: run.len + event.len(),
                status,
            };
            // Behind a thread's end comes another one of the same number.
            if status == Some(StopStatus::Finished) {
                break;
            }
        }
        (run.steps > 0).then_some(run)
    }

    /// When the thread did what it did last.
    #[inline(always)]
    fn last(&self, events: &[u8], passes: u64) -> Option<(u64, ThreadId, Last)> {
        let event = &events[self.last..self.len];
        let [i0, i1, t0, t1, t2, t3, t4, t5, t6, t7, n0, n1, n2, n3] = *event.first_chunk()?;
        let time = u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let thread = ThreadId(u32::from_be_bytes([n0, n1, n2, n3]));
        let last = match (u16::from_be_bytes([i0, i1]), self.status) {
            (1, _) => Last::Runs,
            (_, Some(StopStatus::Finished)) => Last::Finished { passes },
            (_, Some(status)) => {
                let info = u32::from_be_bytes(*event.last_chunk()?);
                Last::Stopped { status, info }
            }
            (id, None) => step(id, &event[Run::HEAD..], passes)?.1,
        };
        Some((time, thread, last))
    }
}

impl Thread {
    fn new(begin: u64) -> Self {
        Thread {
            stage: Stage {
                last: Last::Unknown,
                last_time: 0,
                cap: None,
                cap_time: 0,
            },
            begin,
            label: None,
        }
    }

    fn lives(&self) -> bool {
        !matches!(self.stage.last, Last::Finished { .. })
    }

    fn label_len(&self) -> usize {
        self.label.as_ref().map_or(0, |(_, label)| label.len())
    }

    fn bytes(&self) -> usize {
        OVERHEAD + self.label_len()
    }

    fn say_label(&self, thread: ThreadId, time: u64, out: &mut Vec<u8>) {
        if let Some((_, label)) = &self.label {
            Event::ThreadLabel { thread, label }.encode_to_vec(time, out);
        }
    }
}

impl Stage {
    /// The same, to be told as of another time.
    fn at(self, time: u64) -> Self {
        Stage {
            cap_time: time,
            ..self
        }
    }

    /// What is replayed of a thread has the time of when it last ran on its capability.
    fn say(&self, event: Event<'_>, out: &mut Vec<u8>) {
        event.encode_to_vec(self.cap_time, out);
    }

    fn say_made(&self, thread: ThreadId, out: &mut Vec<u8>) {
        if self.last != Last::Unknown {
            self.say(Event::CreateThread { thread }, out);
        }
    }

    fn say_run(&self, thread: ThreadId, out: &mut Vec<u8>) {
        self.say(Event::RunThread { thread }, out);
    }

    fn say_stopped(&self, thread: ThreadId, status: StopStatus, info: u32, out: &mut Vec<u8>) {
        let stopped = Event::StopThread {
            thread,
            status,
            info,
        };
        self.say(stopped, out);
    }

    /// What brings a thread that has been made to where it is, in the order that the state machines of
    /// readers want.
    fn say_last(&self, thread: ThreadId, out: &mut Vec<u8>) {
        self.say_last_after(Last::Created, thread, out);
    }

    /// As [`say_last`](Self::say_last), for a thread of which `before` has been said. One that runs, and is
    /// to do anything but stop, has to be stopped before.
    fn say_last_after(&self, before: Last, thread: ThreadId, out: &mut Vec<u8>) {
        match self.last {
            Last::Unknown | Last::Created | Last::Finished { .. } => {}
            Last::Runs => self.say_run(thread, out),
            Last::Stopped { status, info } => {
                if before != Last::Runs {
                    self.say_run(thread, out);
                }
                self.say_stopped(thread, status, info, out);
            }
            Last::WokenUp { other } => self.say(Event::ThreadWakeup { thread, other }, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look like chance, the same in every run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    fn any_event(dice: &mut Dice) -> Event<'static> {
        let thread = ThreadId(1 + dice.below(5) as u32 * 64);
        let info = dice.below(3) as u32;
        match dice.below(12) {
            0 => Event::CreateThread { thread },
            1..=3 => Event::RunThread { thread },
            4..=6 => Event::StopThread {
                thread,
                status: StopStatus::Yielding,
                info,
            },
            7 => Event::StopThread {
                thread,
                status: StopStatus::Finished,
                info,
            },
            8 | 9 => Event::ThreadWakeup {
                thread,
                other: CapNo::default(),
            },
            10 => Event::ThreadLabel {
                thread,
                label: "name",
            },
            _ => Event::UserMessage { text: "between" },
        }
    }

    #[test]
    fn steps_that_are_taken_in_together_come_to_the_same_as_one_by_one() {
        let mut dice = Dice(7);
        for limit in [1 << 20, 3 * OVERHEAD] {
            let new = || Sticky::new(limit, Arc::new(Header::standard().clone()));
            let (mut together, mut single) = (new(), new());
            let mut marks = Marks::default();
            let mut time = 0;
            for _ in 0..3_000 {
                let cap = CapNo::new(dice.below(3) as u16);
                // Some blocks begin before the end of another capability's.
                time = time.max(20) - dice.below(10);
                let (mut body, mut seen) = (Vec::new(), 0);
                let mut counts = 0;
                for _ in 0..dice.below(8) {
                    time += dice.below(3);
                    let start = body.len();
                    // Those of the shared buffer are only nearly in order.
                    let late = dice.below(10) / 8;
                    any_event(&mut dice).encode_to_vec(time - late, &mut body);
                    counts += single.observe(cap, &body[start..], &mut marks);
                    seen += 1;
                }
                let mut looked = 0;
                let count = together.observe_with(cap, &body, &mut marks, |_| looked += 1);
                assert_eq!((count, looked), (counts, seen));
                if dice.below(20) == 0 {
                    together.end_pass();
                    single.end_pass();
                }
                let mut replayed = [Vec::new(), Vec::new()];
                together.blocks(time, &mut replayed[0]);
                single.blocks(time, &mut replayed[1]);
                assert_eq!(replayed[0], replayed[1]);
                assert_eq!(together.bytes(), single.bytes());
            }
            assert_eq!(together.refused(), single.refused());
        }
    }

    #[test]
    fn steps_of_a_log_that_declares_them_otherwise_are_read_as_it_declares_them() {
        use crate::format::EventType;
        let types = [
            EventType::new(0, EventSize::Fixed(8), "Create thread"),
            EventType::new(1, EventSize::Fixed(8), "Run thread"),
            EventType::new(19, EventSize::Variable, "User message"),
        ];
        let header = Header::new(types).unwrap();
        assert!(!declares_steps(&header) && declares_steps(Header::standard()));
        let mut body = Vec::new();
        for id in [0_u16, 1] {
            body.extend(id.to_be_bytes());
            body.extend(9_u64.to_be_bytes());
            body.extend(1_u64.to_be_bytes());
        }
        let mut sticky = Sticky::new(1 << 20, Arc::new(header));
        assert_eq!(sticky.observe(None, &body, &mut Marks::default()), 2);
    }
}
