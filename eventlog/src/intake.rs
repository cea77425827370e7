//! What another writer hands over, from its threads to the collector: a queue of copies that never waits,
//! within a budget of bytes. What is in the copies, and what becomes of them, is no concern of this file,
//! but for the counts of what finds no room.
//!
//! The memory of a write goes round: it is filled by the thread that writes, emptied by the collector, and kept
//! for a write of its size. The lock is held for a few instructions, never while bytes are copied, memory is
//! had, or anybody is waited for (but see [`Policy::OverwriteOldest`]).

use crate::buffer_reader::{Losses, count_events};
use crate::counter::Tally;
use crate::error::{EmitError, ResizeError};
use crate::format::{BlockMarker, CapNo, END_MARKER, Header};
use crate::missed::{Missed, begin_of};
use crate::policy::Policy;
use crate::relay::Mender;
use crate::signals::Signals;
use crate::sizes::Sizes;
use crate::write_memory::WriteMemory;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Bytes of the shortest memory that a write is copied into.
const SHORTEST: usize = 1 << 12;

/// Bytes beyond the budget for writes that carry no event: who reads what follows has to know them.
const RESERVE: usize = 1 << 16;

/// Writes of one size whose memory is made ready before they come.
const READY: usize = 4;

/// The queue between the threads that write and the collector.
#[derive(Debug)]
pub(crate) struct Intake {
    state: Mutex<State>,
    signals: Arc<Signals>,
    /// By which the events of what is dropped are counted.
    measure: Mender,
    header: Arc<Header>,
    /// The process whose log it is. In a child that it forks the lock may be held by a thread that is not there.
    process: u32,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Entry>,
    /// Entries that have been put in so far, at the end.
    put: u64,
    budget: usize,
    policy: Policy,
    /// Bytes of memory that writes lie in which are not done with.
    used: usize,
    spares: Spares,
    /// What was dropped, by its owner and cause.
    lost: BTreeMap<Option<CapNo>, Dropped>,
    dropped_writes: u64,
    dropped_bytes: u64,
    /// What was dropped and is no write of a log.
    unreadable_writes: u64,
    unreadable_bytes: u64,
    /// Events that the program itself wanted to emit.
    own: u64,
    closed: bool,
}

/// Events that were dropped, by cause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) full: u64,
    pub(crate) overwritten: Tally,
    pub(crate) stopped: u64,
}

/// What has become of the writes that were not passed on to the collector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lost: BTreeMap<Option<CapNo>, Dropped>,
    pub(crate) dropped_writes: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) unreadable_writes: u64,
    pub(crate) unreadable_bytes: u64,
    pub(crate) own: u64,
    pub(crate) budget: usize,
    /// Bytes of all memory that the intake has.
    pub(crate) memory: usize,
}

/// What comes out, in order.
#[derive(Debug)]
pub(crate) enum Entry {
    Write(Write),
    /// Writes that were dropped here.
    Lost(Missed),
}

/// A copy of a write. Its memory goes back to where it came from.
#[derive(Debug)]
pub(crate) struct Write {
    /// `None` once it has gone back.
    memory: Option<WriteMemory>,
    /// Whether the intake counts its memory as used.
    counted: bool,
    home: Weak<Intake>,
}

impl Deref for Write {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_deref().unwrap_or_default()
    }
}

impl Write {
    /// Bytes of its memory.
    pub(crate) fn memory(&self) -> usize {
        self.memory.as_ref().map_or(0, WriteMemory::size)
    }

    /// Takes its memory out of the intake's account: somebody else counts it from now on.
    pub(crate) fn leave(&mut self) {
        if let Some(home) = self.home.upgrade() {
            if mem::take(&mut self.counted) {
                home.state().used -= self.memory();
            }
        }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if let (Some(home), Some(memory)) = (self.home.upgrade(), self.memory.take()) {
            home.take_back(memory, self.counted);
        }
    }
}

/// Memory that is kept for the next writes, by the power of two that is its length.
#[derive(Debug, Default)]
struct Spares {
    of_size: BTreeMap<usize, Vec<WriteMemory>>,
    bytes: usize,
    /// The size that was asked for last and was not there.
    wanted: Option<usize>,
}

impl Spares {
    fn take(&mut self, size: usize) -> Option<WriteMemory> {
        let Some(memory) = self.of_size.get_mut(&size).and_then(Vec::pop) else {
            self.wanted = Some(size);
            return None;
        };
        self.bytes -= size;
        Some(memory)
    }

    fn put(&mut self, memory: WriteMemory) {
        self.bytes += memory.size();
        self.of_size.entry(memory.size()).or_default().push(memory);
    }

    fn count(&self, size: usize) -> usize {
        self.of_size.get(&size).map_or(0, Vec::len)
    }

    /// Takes out memory until no more than `limit` bytes are left, that of another size than `size` first.
    fn shrink_to(&mut self, limit: usize, size: usize) -> Vec<WriteMemory> {
        let mut gone = Vec::new();
        while self.bytes > limit {
            let others = self.of_size.iter_mut().filter(|(_, idle)| !idle.is_empty());
            let of_size = others.max_by_key(|(of, _)| (**of != size, **of));
            let Some(memory) = of_size.and_then(|(_, idle)| idle.pop()) else {
                break;
            };
            self.bytes -= memory.size();
            gone.push(memory);
        }
        gone
    }
}

/// Whether a write may come in, and the memory for it where some is there.
enum Admission {
    Admitted(Option<WriteMemory>),
    Full,
    Closed,
}

/// Why a write is dropped.
#[derive(Clone, Copy)]
enum Cause {
    Full,
    Overwritten,
    Stopped,
}

impl State {
    /// The most bytes that may be used.
    fn limit(&self) -> usize {
        match self.policy {
            Policy::Grow { max_bytes } => self.budget.max(max_bytes),
            _ => self.budget,
        }
    }

    /// Whether there is room for a write that takes `size` bytes of memory. The first one always finds some.
    fn admits(&self, size: usize, is_control: bool) -> bool {
        let reserve = if is_control { RESERVE } else { 0 };
        self.used == 0 || self.used.saturating_add(size) <= self.limit().saturating_add(reserve)
    }

    /// Counts what was dropped. Tells what is to be told of it in its place.
    fn drop_content(&mut self, content: &Content, cause: Cause) -> Missed {
        let mut missed = Missed::default();
        let Some(blocks) = &content.blocks else {
            self.unreadable_writes += 1;
            self.unreadable_bytes += content.bytes;
            return missed;
        };
        self.dropped_writes += 1;
        self.dropped_bytes += content.bytes;
        for &(cap, begin, tally) in blocks {
            let dropped = self.lost.entry(cap).or_default();
            let losses = match cause {
                Cause::Full => {
                    dropped.full += tally.events;
                    Losses::full(tally)
                }
                Cause::Overwritten => {
                    dropped.overwritten += tally;
                    Losses::overwritten(tally)
                }
                Cause::Stopped => {
                    dropped.stopped += tally.events;
                    continue;
                }
            };
            missed.add(cap, begin, (0, 0), losses);
        }
        missed
    }

    /// Puts what was missed behind everything else.
    fn put_missed(&mut self, missed: Missed) {
        if missed.is_none() {
            return;
        }
        if let Some(Entry::Lost(last)) = self.queue.back_mut() {
            last.merge(missed);
            return;
        }
        self.queue.push_back(Entry::Lost(missed));
        self.put += 1;
    }
}

/// What a write holds, as far as somebody asks who drops it.
struct Content {
    bytes: u64,
    /// Of each block its capability, its time and its events; `None` where it is no write of a log.
    blocks: Option<Vec<(Option<CapNo>, u64, Tally)>>,
}

impl Intake {
    pub(crate) fn new(
        budget: usize,
        policy: Policy,
        signals: Arc<Signals>,
        measure: Mender,
        header: Arc<Header>,
    ) -> Arc<Self> {
        Arc::new(Intake {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                put: 0,
                budget,
                policy,
                used: 0,
                spares: Spares::default(),
                lost: BTreeMap::new(),
                dropped_writes: 0,
                dropped_bytes: 0,
                unreadable_writes: 0,
                unreadable_bytes: 0,
                own: 0,
                closed: false,
            }),
            signals,
            measure,
            header,
            process: std::process::id(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What panics in here is an allocation that fails, and then the lists are as before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`BlockWriter::write`].
    fn write(self: &Arc<Self>, bytes: &[u8]) -> Result<(), EmitError> {
        if self.process != std::process::id() {
            return Err(EmitError::Stopped);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(size) = bytes.len().max(SHORTEST).checked_next_power_of_two() else {
            return self.drop_write(bytes, Cause::Full);
        };
        let memory = match self.admit(size, bytes) {
            Admission::Admitted(memory) => memory,
            Admission::Full => return self.drop_write(bytes, Cause::Full),
            Admission::Closed => return self.drop_write(bytes, Cause::Stopped),
        };
        let Some(mut memory) = memory.or_else(|| WriteMemory::new(size)) else {
            self.state().used -= size;
            return self.drop_write(bytes, Cause::Full);
        };
        memory.fill(bytes);
        let write = Write {
            memory: Some(memory),
            counted: true,
            home: Arc::downgrade(self),
        };
        let mut state = self.state();
        if state.closed {
            drop(state);
            return self.drop_write(&write, Cause::Stopped);
        }
        state.queue.push_back(Entry::Write(write));
        state.put += 1;
        drop(state);
        self.signals.wake_collector();
        Ok(())
    }

    fn admit(&self, size: usize, bytes: &[u8]) -> Admission {
        let mut gone = Vec::new();
        let mut state = self.state();
        if state.closed {
            return Admission::Closed;
        }
        let is_control = bytes == END_MARKER || Mender::is_header(bytes);
        if !state.admits(size, is_control) {
            if state.policy == Policy::OverwriteOldest {
                self.overwrite(&mut state, size, &mut gone);
            }
            if !state.admits(size, is_control) {
                return Admission::Full;
            }
        }
        state.used += size;
        let memory = state.spares.take(size);
        let idle = state.limit().saturating_sub(state.used);
        let idle = state.spares.shrink_to(idle, size);
        // Freed without the lock, here and with the writes that are gone.
        drop(state);
        drop(idle);
        Admission::Admitted(memory)
    }

    /// Drops the oldest writes until there is room, but for the last header among them: who reads what follows has
    /// to know whether it comes under the log's.
    fn overwrite(&self, state: &mut State, size: usize, gone: &mut Vec<WriteMemory>) {
        let mut missed = Missed::default();
        let mut header = None;
        while !state.admits(size, false) {
            match state.queue.pop_front() {
                Some(Entry::Write(write)) => {
                    let overwritten = match Mender::is_header(&write) {
                        true => header.replace(write),
                        false => Some(write),
                    };
                    let Some(mut write) = overwritten else {
                        continue;
                    };
                    missed.merge(state.drop_content(&self.content(&write), Cause::Overwritten));
                    state.used -= write.memory();
                    // What comes back by itself asks for the lock.
                    gone.extend(write.memory.take());
                }
                Some(Entry::Lost(earlier)) => missed.merge(earlier),
                None => break,
            }
        }
        if let Some(header) = header {
            state.queue.push_front(Entry::Write(header));
        }
        if !missed.is_none() {
            state.queue.push_front(Entry::Lost(missed));
        }
    }

    /// Counts the events of a write and tells of them where they are missing.
    #[cold]
    fn drop_write(&self, bytes: &[u8], cause: Cause) -> Result<(), EmitError> {
        // The longest part, without the lock.
        let content = self.content(bytes);
        let mut state = self.state();
        // Nobody would tell of it any more where it is missing.
        let cause = if state.closed { Cause::Stopped } else { cause };
        let missed = state.drop_content(&content, cause);
        match cause {
            Cause::Full | Cause::Overwritten => {
                state.put_missed(missed);
                drop(state);
                self.signals.wake_collector();
                Err(EmitError::Full)
            }
            Cause::Stopped => Err(EmitError::Stopped),
        }
    }

    fn content(&self, bytes: &[u8]) -> Content {
        let blocks = self.measure.blocks_of(bytes).map(|blocks| {
            let content = blocks.map(|(marker, body)| {
                let tally = Tally {
                    events: count_events(body, &self.header),
                    bytes: body.len() as u64,
                };
                (marker.cap, begin_of(&marker, body), tally)
            });
            content.filter(|(_, _, tally)| tally.events != 0).collect()
        });
        Content {
            bytes: bytes.len() as u64,
            blocks: blocks.ok(),
        }
    }

    /// Takes memory back that a write is done with; `counted` where it was within the budget.
    fn take_back(&self, memory: WriteMemory, counted: bool) {
        let mut state = self.state();
        let size = memory.size();
        if counted {
            state.used -= size;
        }
        // No more writes come to a log that has ended.
        let limit = match state.closed {
            false => state.limit().saturating_sub(state.used),
            true => 0,
        };
        state.spares.put(memory);
        let gone = state.spares.shrink_to(limit, size);
        drop(state);
        drop(gone);
    }

    /// Makes memory ready for the next writes of the size that was asked for last and was not there, so that the
    /// threads that write need not wait for the system to clear it.
    pub(crate) fn make_ready(&self) {
        let Some(size) = self.state().spares.wanted.take() else {
            return;
        };
        loop {
            {
                let state = self.state();
                let held = state.used.saturating_add(state.spares.bytes);
                let fits = held.saturating_add(size) <= state.limit();
                if !fits || state.closed || state.spares.count(size) >= READY {
                    return;
                }
            }
            let Some(mut memory) = WriteMemory::new(size) else {
                return;
            };
            memory.make_ready();
            self.take_back(memory, false);
        }
    }

    /// Where what has been put in by now ends.
    pub(crate) fn mark(&self) -> u64 {
        self.state().put
    }

    /// Bytes of memory that what comes next may take; `None` where nothing comes before the mark.
    pub(crate) fn next_memory(&self, mark: u64) -> Option<usize> {
        let state = self.state();
        let position = state.put - state.queue.len() as u64;
        let next = state.queue.front().filter(|_| position < mark)?;
        Some(match next {
            // A marker may be put before it.
            Entry::Write(write) => write.memory().max(write.len() + BlockMarker::LEN),
            Entry::Lost(missed) => missed.told_len(),
        })
    }

    /// Takes out what comes next, as far as it is before the mark.
    pub(crate) fn take(&self, mark: u64) -> Option<Entry> {
        let mut state = self.state();
        let position = state.put - state.queue.len() as u64;
        if position < mark {
            state.queue.pop_front()
        } else {
            None
        }
    }

    /// Takes nothing in from now on. What is being copied just now is counted as come too late.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let idle = state.spares.shrink_to(0, 0);
        // Freed without the lock.
        drop(state);
        drop(idle);
    }

    pub(crate) fn counts(&self) -> Counts {
        let state = self.state();
        Counts {
            lost: state.lost.clone(),
            dropped_writes: state.dropped_writes,
            dropped_bytes: state.dropped_bytes,
            unreadable_writes: state.unreadable_writes,
            unreadable_bytes: state.unreadable_bytes,
            own: state.own,
            budget: state.budget,
            memory: state.used + state.spares.bytes,
        }
    }

    /// Counts an event that the program itself wanted to emit.
    pub(crate) fn refuse_own(&self) -> EmitError {
        if self.process == std::process::id() {
            self.state().own += 1;
        }
        EmitError::Relayed
    }

    pub(crate) fn resize(&self, bytes: usize) -> Result<(), ResizeError> {
        Sizes::check(bytes)?;
        let mut state = self.state();
        state.budget = bytes;
        let idle = state.limit().saturating_sub(state.used);
        let gone = state.spares.shrink_to(idle, 0);
        drop(state);
        drop(gone);
        Ok(())
    }

    pub(crate) fn budget(&self) -> usize {
        self.state().budget
    }

    pub(crate) fn set_policy(&self, policy: Policy) {
        self.state().policy = policy;
    }

    pub(crate) fn policy(&self) -> Policy {
        self.state().policy
    }
}

/// What another writer, GHC's run-time system above all, hands its blocks to; see
/// [`Builder::relayed`](crate::Builder::relayed). Clones write to the same log. A writer does not keep its log
/// alive.
///
/// ```
/// use ghc_eventlog::format::{BlockMarker, CapNo, Event, Header};
/// use ghc_eventlog::{EventLog, Sink};
///
/// let (sink, content) = Sink::memory();
/// let header = Header::standard();
/// let (log, writer) = EventLog::builder().relayed(sink, header)?;
/// let event = Event::UserMessage { text: "hello" };
/// let size = (BlockMarker::LEN + event.encoded_len()) as u32;
/// let mut block = BlockMarker { begin: 1, size, end: 3, cap: CapNo::new(0) }.encode().to_vec();
/// event.encode_to_vec(2, &mut block);
///
/// writer.write(&header.encode())?;
/// writer.write(&block)?;
/// log.stop()?;
/// assert_eq!(content.bytes(), [header.encode(), block, vec![0xff, 0xff]].concat());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockWriter(Arc<Intake>);

impl BlockWriter {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        BlockWriter(intake)
    }

    /// Takes one write as the run-time system makes it: a header, one or more blocks, an end marker. The
    /// bytes are copied and not needed afterwards. Any thread may call it while others do, with whatever locks
    /// held: nothing is waited for (threads that do this at the same time take turns for some instructions), there
    /// is no I/O, and nobody is called back; the collector's thread is woken, which is a system call where it
    /// sleeps. Memory is allocated where none of the size has come back yet.
    ///
    /// Writes of one thread, and those of which one is known to be made before the other, stay in that order.
    /// What is in a write the collector looks at later: what cannot be part of the log is set aside then, and
    /// counted in [`RelayStatistics`](crate::relay::RelayStatistics).
    ///
    /// # Errors
    /// [`EmitError::Full`] where the writes that the sink has not taken use up the
    /// [budget](crate::Builder::relayed): the write is dropped as a whole, its events are counted one by one
    /// (some nanoseconds for each), and the log tells of them in their place. [`EmitError::Stopped`] where the
    /// log has been stopped, and in a forked child.
    ///
    /// ```
    /// use ghc_eventlog::{EmitError, EventLog, Sink, format::Header};
    ///
    /// let (log, writer) = EventLog::builder().relayed(Sink::null(), Header::standard())?;
    /// writer.write(b"rubbish")?;
    /// let relay = log.stop()?.relay.unwrap();
    /// assert_eq!((relay.mends.writes_set_aside, relay.mends.bytes_set_aside), (1, 7));
    /// assert_eq!(writer.write(b"too late"), Err(EmitError::Stopped));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, bytes: &[u8]) -> Result<(), EmitError> {
        self.0.write(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BlockMarker, Event};

    #[test]
    fn a_write_that_finds_no_room_while_the_log_ends_comes_too_late() {
        let header = Header::standard();
        let policy = Policy::DropNewest;
        let measure = Mender::under(header.clone());
        let header = Arc::new(header.clone());
        let intake = Intake::new(1 << 16, policy, Arc::default(), measure, header);
        let mut body = Vec::new();
        Event::GcStart.encode_to_vec(5, &mut body);
        let marker = BlockMarker {
            begin: 5,
            size: (BlockMarker::LEN + body.len()) as u32,
            end: 5,
            cap: None,
        };
        let write = [&marker.encode(), &body[..]].concat();
        assert_eq!(intake.drop_write(&write, Cause::Full), Err(EmitError::Full));
        let end = intake.mark();
        assert!(matches!(intake.take(end), Some(Entry::Lost(_))));
        // It was found to be too much before, and the end comes while its events are counted.
        intake.close();
        let late = intake.drop_write(&write, Cause::Full);
        assert_eq!(late, Err(EmitError::Stopped));
        assert_eq!(intake.mark(), end, "nothing is told behind the end");
        let lost = intake.counts().lost[&None];
        assert_eq!((lost.full, lost.stopped), (1, 1));
    }
}
