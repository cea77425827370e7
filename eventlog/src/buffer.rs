//! A capability's event buffer as its writer sees it: the end that time-stamps, encodes and counts.
//! The other end is a [`BufferReader`](crate::buffer_reader::BufferReader).
//!
//! The buffer is a ring of bytes in which every commit is one whole event, but for what each chunk
//! begins and ends with; see [`chunk_record`](crate::chunk_record). The end of a chunk is the writer's
//! to know: it leaves room for it, writes it before it asks for the next chunk, and so closes the chunk
//! also where it is refused another.

use crate::chunk_record::{ChunkEnd, ChunkHead};
use crate::clock::Clock;
use crate::counter::Counters;
use crate::error::EmitError;
use crate::format::{
    self, BlockMarker, CapNo, Encode, Event, Header, Origin, StopStatus, ThreadId, UserEvent,
};
use crate::marks::{Marks, StickyId};
use crate::signals::Signals;
use crate::sticky::is_tracked;
use chunkring::ReserveError;
use chunkring::spsc::Producer;
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::time::Instant;

/// The longest event: a head with a length, and the most that the length can say.
pub(crate) const MAX_EVENT_LEN: usize = format::VARIABLE_HEAD + format::MAX_PAYLOAD;

/// Chunks that a buffer can have at most.
pub(crate) const MAX_CHUNKS: usize = 128;

/// How a buffer of a given size is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferShape {
    /// Bytes of a chunk as the ring has it.
    pub(crate) chunk_len: usize,
    /// Bytes of it that count as the buffer's size.
    pub(crate) share: usize,
    pub(crate) chunks: usize,
}

impl BufferShape {
    /// The smallest buffer: one chunk that makes a block with the longest event.
    pub(crate) const MINIMUM: usize = BlockMarker::LEN + MAX_EVENT_LEN;

    /// The largest: a block's length has 32 bits, and a chunk can become one block.
    pub(crate) const MAXIMUM: usize = (u32::MAX as usize - BlockMarker::LEN) / 2;

    /// Bytes of a chunk of a capability's buffer that are not counted as its size.
    pub(crate) const OVERHEAD: usize = ChunkHead::LEN + ChunkEnd::LEN;

    /// A capability's buffer. Chunks of at least the longest event, four of them where the size allows:
    /// the collector can then read one while two others are written and given back.
    pub(crate) fn of_capability(bytes: usize) -> Self {
        let share = bytes.div_ceil(4).max(Self::MINIMUM);
        BufferShape {
            chunk_len: share + Self::OVERHEAD,
            share,
            chunks: bytes.div_ceil(share).max(1),
        }
    }

    /// The shared buffer, whose chunks have lengths that are powers of two and that its ring can have. Two
    /// of them at least, so that one can be drained while the other is filled.
    pub(crate) fn of_shared(bytes: usize) -> Self {
        const SHORTEST: usize = (2 * MAX_EVENT_LEN).next_power_of_two() / 2;
        const LONGEST: usize = 1 << 24;
        let chunk_len = 1 << (bytes / 4).clamp(SHORTEST, LONGEST).ilog2();
        BufferShape {
            chunk_len,
            share: chunk_len,
            chunks: bytes.div_ceil(chunk_len).max(2),
        }
    }

    /// The most chunks where the buffer may grow to `max_bytes`.
    pub(crate) fn most_chunks(self, max_bytes: usize) -> usize {
        (max_bytes / self.share).clamp(self.chunks, MAX_CHUNKS.max(self.chunks))
    }
}

/// The end that events are written to.
#[derive(Debug)]
pub(crate) struct BufferWriter {
    producer: Producer<u8>,
    /// Bytes that events may take before something is to be done: the collector woken, or the next chunk
    /// begun.
    budget: usize,
    /// What the budget was when it was last set.
    granted: usize,
    /// Bytes written since the collector was last woken, those of the budget left out.
    unannounced: usize,
    /// Whether there is a chunk whose end has not been written.
    is_open: bool,
    clock: Clock,
    /// The latest time stamp written.
    last: u64,
    counters: Arc<CachePadded<Counters>>,
    signals: Arc<Signals>,
    /// The log's, for the types that it declares.
    header: Arc<Header>,
}

impl BufferWriter {
    pub(crate) fn new(
        producer: Producer<u8>,
        clock: Clock,
        counters: Arc<CachePadded<Counters>>,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        BufferWriter {
            producer,
            budget: 0,
            granted: 0,
            unannounced: 0,
            is_open: false,
            clock,
            last: 0,
            counters,
            signals,
            header,
        }
    }

    /// Stamps, encodes and commits one event, unless the log has been stopped.
    #[inline]
    pub(crate) fn emit(&mut self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        let event = match event.origin() {
            Origin::Known(event) => event,
            Origin::User(event) => return self.emit_user(event),
        };
        // The kinds that programs emit most of all have a function each. Where the caller says which kind it is,
        // this is a call of that function, and what the event holds goes there in registers.
        match *event {
            Event::UserMessage { text } => self.emit_message(text),
            Event::UserMarker { name } => self.emit_marker(name),
            Event::RunThread { thread } => self.emit_run(thread),
            Event::StopThread {
                thread,
                status,
                info,
            } => self.emit_stop(thread, status, info),
            _ => self.emit_any(event),
        }
    }

    // What cuts a text takes an event, which has to be in memory; behind the bound that is known not to happen.
    #[inline(never)]
    fn emit_message(&mut self, text: &str) -> Result<(), EmitError> {
        if text.len() > format::MAX_PAYLOAD {
            return self.emit_any(&Event::UserMessage { text });
        }
        self.emit_one(&Event::UserMessage { text })
    }

    #[inline(never)]
    fn emit_marker(&mut self, name: &str) -> Result<(), EmitError> {
        if name.len() > format::MAX_PAYLOAD {
            return self.emit_any(&Event::UserMarker { name });
        }
        self.emit_one(&Event::UserMarker { name })
    }

    #[inline(never)]
    fn emit_run(&mut self, thread: ThreadId) -> Result<(), EmitError> {
        self.emit_one(&Event::RunThread { thread })
    }

    #[inline(never)]
    fn emit_stop(
        &mut self,
        thread: ThreadId,
        status: StopStatus,
        info: u32,
    ) -> Result<(), EmitError> {
        self.emit_one(&Event::StopThread {
            thread,
            status,
            info,
        })
    }

    /// As [`emit`](Self::emit), of whatever kind the event is.
    #[inline(never)]
    fn emit_any(&mut self, event: &Event<'_>) -> Result<(), EmitError> {
        self.emit_one(event)
    }

    /// As [`emit`](Self::emit), where the log declares the event's type.
    #[inline(never)]
    fn emit_user(&mut self, event: &UserEvent<'_>) -> Result<(), EmitError> {
        self.check_type(event)?;
        self.emit_one(event)
    }

    /// Counts the event as lost where the log does not declare its type.
    fn check_type(&self, event: &UserEvent<'_>) -> Result<(), EmitError> {
        if self.header.user_type(event.id()) == Some(event.event_type()) {
            return Ok(());
        }
        self.counters.miss_declaration();
        Err(EmitError::Undeclared { id: event.id() })
    }

    #[inline(always)]
    fn emit_one(&mut self, event: &impl Encode) -> Result<(), EmitError> {
        let len = event.encoded_len();
        if len > self.budget || self.signals.is_stopped() {
            self.prepare(len)?;
        }
        // Known to the compiler where the caller says which event it is.
        self.put(event, len, is_tracked(event.id()));
        Ok(())
    }

    /// Counts an event as come too late where this is a forked child, in which nothing can be marked: the lock of
    /// the marks may be held by a thread that is not there.
    pub(crate) fn check_process(&self) -> Result<(), EmitError> {
        if self.signals.is_forked() {
            self.counters.stop();
            return Err(EmitError::Stopped);
        }
        Ok(())
    }

    /// Sees to it that there is room for the event, and so that [`emit_sticky`](Self::emit_sticky) of it
    /// waits for nothing.
    pub(crate) fn make_room(&mut self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        if let Origin::User(event) = event.origin() {
            self.check_type(event)?;
        }
        let len = event.encoded_len();
        if len > self.budget || self.signals.is_stopped() {
            self.prepare(len)?;
        }
        Ok(())
    }

    /// As [`emit`](Self::emit), and marks the event as one that the program wants to have replayed. There
    /// must be [room](Self::make_room) for it.
    pub(crate) fn emit_sticky(
        &mut self,
        cap: CapNo,
        event: &(impl Encode + ?Sized),
        marks: &mut Marks,
    ) -> StickyId {
        let time = self.put(event, event.encoded_len(), true);
        if is_tracked(event.id()) {
            return marks.number();
        }
        marks.add(Some(cap), time, event)
    }

    /// Writes an event of `len` bytes, for which the budget must have room; tells the collector of it where
    /// it is `tracked`, and the caller its time.
    #[inline(always)]
    fn put(&mut self, event: &(impl Encode + ?Sized), len: usize, tracked: bool) -> u64 {
        // Time never runs backwards within a buffer, even where the counters of two cores differ.
        let time = self.clock.now().max(self.last);
        let mut grant = self
            .producer
            .reserve(len)
            .expect("the budget is of the current chunk");
        let written = event.encode(time, grant.spare_mut());
        if tracked {
            // Before the commit: who reads the event finds it counted.
            self.counters.track();
        }
        // SAFETY: `encode` has written the first `written` bytes of the slots it was given.
        unsafe { grant.assume_filled(written) };
        grant.commit_all();
        self.last = time;
        self.budget -= written;
        // After the commit: see `BufferReader::last_statistics`.
        self.counters.take(written);
        time
    }

    /// Sees to it that `len` bytes can be written; else counts the event as lost.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, len: usize) -> Result<(), EmitError> {
        if self.signals.is_stopped() {
            self.counters.stop();
            return Err(EmitError::Stopped);
        }
        self.unannounced += std::mem::take(&mut self.granted) - std::mem::take(&mut self.budget);
        // Woken when an eighth is filled, the collector has the rest of the time to begin.
        let watermark = self.producer.capacity() / 8;
        if self.unannounced >= watermark {
            self.unannounced = 0;
            self.signals.wake_collector();
        }
        if self.rest() < len {
            self.next_chunk(len)?;
        }
        self.budget = self.rest().min(len.max(watermark - self.unannounced));
        self.granted = self.budget;
        Ok(())
    }

    /// Bytes that events may still take of the current chunk.
    fn rest(&self) -> usize {
        if self.is_open {
            self.producer.rest_of_chunk() - ChunkEnd::LEN
        } else {
            0
        }
    }

    /// Goes to the next chunk, which will have `len` bytes for an event; where there is none and the
    /// policy says so, waits for it.
    fn next_chunk(&mut self, len: usize) -> Result<(), EmitError> {
        self.end_chunk();
        let refused = match self.begin_chunk(len) {
            Ok(()) => return Ok(()),
            Err(ReserveError::Full) => self.wait_for_chunk(len),
            Err(refused) => Err(refused),
        };
        let Err(refused) = refused else {
            return Ok(());
        };
        match refused {
            ReserveError::Full => {
                self.counters.refuse(len);
                self.signals.wake_collector();
                Err(EmitError::Full)
            }
            ReserveError::TooLong { .. } => unreachable!("a chunk takes the longest event"),
            // The log's end takes the buffer's other half with it.
            ReserveError::Closed => {
                self.counters.stop();
                Err(EmitError::Stopped)
            }
        }
    }

    /// Tries again and again, asleep in between, as long as the policy allows.
    fn wait_for_chunk(&mut self, len: usize) -> Result<(), ReserveError> {
        let signals = Arc::clone(&self.signals);
        let Some(limit) = signals.may_wait() else {
            return Err(ReserveError::Full);
        };
        let outcome = signals.room.wait(Instant::now() + limit, || {
            if signals.is_stopped() {
                return Some(Err(ReserveError::Closed));
            }
            match self.begin_chunk(len) {
                Err(ReserveError::Full) => {
                    signals.wake_collector();
                    // Somebody may have changed the policy.
                    (!signals.is_waited()).then_some(Err(ReserveError::Full))
                }
                done => Some(done),
            }
        });
        outcome.unwrap_or(Err(ReserveError::Full))
    }

    /// Fills the rest of the current chunk, so that it is complete.
    fn end_chunk(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let rest = self.producer.rest_of_chunk();
        let padding = rest - ChunkEnd::LEN;
        let end = ChunkEnd {
            taken: self.counters.taken(),
            padding: padding as u64,
        };
        let mut grant = self
            .producer
            .reserve(rest)
            .expect("it is what the chunk has left");
        grant.spare_mut()[..padding].fill(std::mem::MaybeUninit::new(0));
        // SAFETY: these slots have just been written.
        unsafe { grant.assume_filled(padding) };
        grant.extend_from_slice(&end.encode());
        grant.commit_all();
    }

    /// Begins a chunk that has `len` bytes for an event.
    fn begin_chunk(&mut self, len: usize) -> Result<(), ReserveError> {
        // Nothing of it is used yet: the chunk that it lies in is asked how long it is.
        drop(self.producer.reserve(ChunkHead::LEN + len)?);
        let head = ChunkHead {
            taken: self.counters.taken(),
            refused: self.counters.refused(),
            tracked: self.counters.tracked(),
            chunk_len: self.producer.rest_of_chunk() as u64,
        };
        let mut grant = self.producer.reserve(ChunkHead::LEN)?;
        grant.extend_from_slice(&head.encode());
        grant.commit_all();
        self.is_open = true;
        Ok(())
    }
}
