//! One event buffer: the writing end that time-stamps, encodes and counts, and the reading end that
//! the collector drains. A ring of bytes in which every commit is one whole event.

use crate::clock::Clock;
use crate::error::EmitError;
use crate::format::{self, BlockMarker, CapNo, Event};
use crate::marks::{Marks, StickyId};
use crate::signals::Signals;
use crate::statistics::{BufferStatistics, Lost};
use crate::sticky::is_tracked;
use chunkring::spsc::{Consumer, Producer, ReadSlice};
use chunkring::{Builder, ReserveError};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The longest event: a head with a length, and the most that the length can say.
const MAX_EVENT_LEN: usize = format::VARIABLE_HEAD + format::MAX_PAYLOAD;

/// How a buffer of a given size is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferShape {
    chunk_len: usize,
    chunks: usize,
}

impl BufferShape {
    /// The smallest buffer: one chunk that takes the longest event.
    pub(crate) const MINIMUM: usize = MAX_EVENT_LEN;

    /// The largest: a block's length has 32 bits, and a chunk can become one block.
    pub(crate) const MAXIMUM: usize = (u32::MAX as usize - BlockMarker::LEN) / 2;

    /// Chunks of at least the longest event, four of them where the size allows: the collector can
    /// then read one while two others are written and given back.
    pub(crate) fn of_size(bytes: usize) -> Self {
        let chunk_len = (bytes / 4).max(MAX_EVENT_LEN);
        BufferShape {
            chunk_len,
            chunks: (bytes / chunk_len).max(1),
        }
    }
}

/// Counts that one thread writes and any thread may read.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    events: AtomicU64,
    bytes: AtomicU64,
    full: AtomicU64,
    stopped: AtomicU64,
    /// Events that the collector is to look at.
    tracked: AtomicU64,
}

/// Adds to a counter that only the calling thread writes.
#[inline]
fn add(counter: &AtomicU64, n: u64) {
    // Relaxed: single writer. Release, for the Acquire in `BufferReader::statistics`: who sees the
    // count sees what it counts, and what was counted before.
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Release);
}

/// Makes both ends of a buffer, with all its memory.
pub(crate) fn buffer(
    capability: Option<CapNo>,
    shape: BufferShape,
    clock: Clock,
    signals: Arc<Signals>,
) -> Result<(BufferWriter, BufferReader), chunkring::BuildError> {
    let BufferShape { chunk_len, chunks } = shape;
    let (producer, consumer) = Builder::new(chunk_len, chunks).preallocate(true).spsc()?;
    let counters = Arc::new(CachePadded::new(Counters::default()));
    let writer = BufferWriter {
        producer,
        clock,
        last: 0,
        unannounced: 0,
        // Woken when an eighth is filled, the collector has the rest of the time to begin.
        watermark: chunk_len * chunks / 8,
        counters: Arc::clone(&counters),
        signals,
    };
    Ok((
        writer,
        BufferReader {
            capability,
            consumer,
            counters,
            tracked: 0,
            taken: 0,
            late_events: 0,
            late_bytes: 0,
            blocks: 0,
        },
    ))
}

/// The end that events are written to.
#[derive(Debug)]
pub(crate) struct BufferWriter {
    producer: Producer<u8>,
    clock: Clock,
    /// The latest time stamp written.
    last: u64,
    /// Bytes written since the collector was last woken.
    unannounced: usize,
    watermark: usize,
    counters: Arc<CachePadded<Counters>>,
    signals: Arc<Signals>,
}

impl BufferWriter {
    /// Stamps, encodes and commits one event, unless the log has been stopped.
    #[inline]
    pub(crate) fn emit(&mut self, event: &Event<'_>) -> Result<(), EmitError> {
        if self.signals.is_stopped() {
            add(&self.counters.stopped, 1);
            return Err(EmitError::Stopped);
        }
        self.commit(event)
    }

    /// Stamps, encodes and commits one event.
    #[inline]
    pub(crate) fn commit(&mut self, event: &Event<'_>) -> Result<(), EmitError> {
        // Known to the compiler where the caller says which event it is.
        self.put(event, is_tracked(event.id())).map(drop)
    }

    /// As [`emit`](Self::emit), and marks the event as one that the program wants to have replayed.
    pub(crate) fn emit_sticky(
        &mut self,
        cap: Option<CapNo>,
        event: &Event<'_>,
        marks: &mut Marks,
    ) -> Result<StickyId, EmitError> {
        if is_tracked(event.id()) || self.signals.is_stopped() {
            return self.emit(event).map(|()| marks.number());
        }
        let time = self.put(event, true)?;
        Ok(marks.add(cap, time, event))
    }

    /// Stamps, encodes and commits one event; tells the collector of it where it is `tracked`, and
    /// the caller its time.
    #[inline]
    fn put(&mut self, event: &Event<'_>, tracked: bool) -> Result<u64, EmitError> {
        let len = event.encoded_len();
        // Time never runs backwards within a buffer, even where the counters of two cores differ.
        let time = self.clock.now().max(self.last);
        let mut grant = match self.producer.reserve(len) {
            Ok(grant) => grant,
            Err(refused) => return Err(count_refusal(refused, &self.counters, &self.signals)),
        };
        let written = event.encode(time, grant.spare_mut());
        if tracked {
            // Before the commit: who reads the event finds it counted.
            add(&self.counters.tracked, 1);
        }
        // SAFETY: `encode` has written the first `written` bytes of the slots it was given.
        unsafe { grant.assume_filled(written) };
        grant.commit_all();
        self.last = time;
        // In this order, after the commit: see `BufferReader::last_statistics`.
        add(&self.counters.events, 1);
        add(&self.counters.bytes, written as u64);
        self.unannounced += written;
        if self.unannounced >= self.watermark {
            self.unannounced = 0;
            self.signals.wake_collector();
        }
        Ok(time)
    }

    /// Whether `len` bytes do not fit, or less than half of the buffer is free.
    pub(crate) fn wants_draining(&mut self, len: usize) -> bool {
        // Asked first, since a buffer of one chunk is given back only once the chunk is closed,
        // which a reservation does that does not fit.
        self.producer.reserve(len).is_err()
            || self.producer.free_slots() < self.producer.capacity() / 2
    }
}

/// Counts an event that was not taken in, by the cause.
#[cold]
fn count_refusal(refused: ReserveError, counters: &Counters, signals: &Signals) -> EmitError {
    match refused {
        ReserveError::Full => {
            add(&counters.full, 1);
            signals.wake_collector();
            EmitError::Full
        }
        ReserveError::TooLong { .. } => unreachable!("a chunk takes the longest event"),
        // The log's end takes the buffer's other half with it.
        ReserveError::Closed => {
            add(&counters.stopped, 1);
            EmitError::Stopped
        }
    }
}

/// The end that the collector drains.
#[derive(Debug)]
pub(crate) struct BufferReader {
    capability: Option<CapNo>,
    consumer: Consumer<u8>,
    counters: Arc<CachePadded<Counters>>,
    /// Tracked events that have come out.
    tracked: u64,
    /// Bytes that have come out, those that came late included.
    taken: u64,
    /// Events found after the last block.
    late_events: u64,
    late_bytes: u64,
    blocks: u64,
}

impl BufferReader {
    pub(crate) fn capability(&self) -> Option<CapNo> {
        self.capability
    }

    /// Bytes that are ready.
    pub(crate) fn ready(&self) -> usize {
        self.consumer.len()
    }

    /// Whole events, ready to become a block, and whether there may be tracked ones among them;
    /// `None` where there are none now.
    pub(crate) fn read(&mut self) -> Option<(ReadSlice<'_, u8>, bool)> {
        let body = self.consumer.read().ok()?;
        // Relaxed: an event that has been read has been acquired with all that its writer did before.
        let tracked = self.counters.tracked.load(Ordering::Relaxed);
        Some((body, tracked != self.tracked))
    }

    /// Whether nothing is here and nothing will come.
    pub(crate) fn is_finished(&self) -> bool {
        // In this order: what the writer committed last is seen once its end has been.
        self.consumer.is_closed() && self.consumer.is_empty()
    }

    /// Counts a block of `len` bytes of events that has been made.
    pub(crate) fn count_block(&mut self, len: usize) {
        self.blocks += 1;
        self.taken += len as u64;
    }

    /// Counts tracked events that have come out.
    pub(crate) fn count_tracked(&mut self, count: u64) {
        self.tracked += count;
    }

    /// Takes everything out that is ready, and counts it as come too late for the last block.
    fn discard_late(&mut self) {
        while let Ok(body) = self.consumer.read() {
            self.late_events += count_events(&body);
            self.late_bytes += body.len() as u64;
            self.taken += body.len() as u64;
            body.release_all();
        }
    }

    /// The statistics after the last block, in which each event is either in a block or lost. Where
    /// the writer has just committed an event, waits until it has counted it, too: some
    /// instructions, or as long as its thread is kept from running.
    pub(crate) fn last_statistics(&mut self) -> BufferStatistics {
        loop {
            self.discard_late();
            let statistics = self.statistics();
            // All that came out has been counted, and nothing that is still inside.
            if statistics.bytes + self.late_bytes == self.taken && self.consumer.is_empty() {
                return statistics;
            }
            thread::yield_now();
        }
    }

    pub(crate) fn statistics(&self) -> BufferStatistics {
        // Acquire: pairs with the Release in `add`.
        let get = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        // In this order: the bytes were counted after the events.
        let bytes = get(&self.counters.bytes);
        let events = get(&self.counters.events);
        BufferStatistics {
            capability: self.capability,
            // An event may be found late before it is counted.
            events: events.saturating_sub(self.late_events),
            bytes: bytes.saturating_sub(self.late_bytes),
            blocks: self.blocks,
            lost: Lost {
                full: get(&self.counters.full),
                stopped: get(&self.counters.stopped) + self.late_events,
                sink: 0,
            },
        }
    }
}

/// Events in a run of whole events of ours.
pub(crate) fn count_events(body: &[u8]) -> u64 {
    format::events(body, format::Header::standard())
        .map_while(Result::ok)
        .count() as u64
}
