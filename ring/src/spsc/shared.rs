//! What the two halves share: positions, the table of chunks, and the end of it all.
//!
//! # Positions
//!
//! A position counts slots since the ring was made, wrapping. Chunk after chunk covers a range of
//! positions, each exactly as long as the chunk; the items of a chunk lie at its beginning. A chunk
//! that is closed early (a contiguous reservation did not fit) has a *hole* from its last item to
//! the end of its range, and the tail skips it. So a chunk is complete exactly when the tail has
//! reached the end of its range, full or not.
//!
//! ```text
//!  chunk   reclaimed      head                       installed
//!              |            |                            |
//!  table   ... | idle, idle | draining, complete, filling| ...
//!                                 |                    |
//!  position                  consumer's             tail
//! ```
//!
//! # Invariants
//!
//! 1. The slots at positions from the consumer's to the tail, holes left out, hold items; the
//!    consumer owns them. All other slots of chunks that are not idle are empty, and the producer
//!    owns those of the chunk that it fills.
//! 2. Chunks `head..installed` belong to the ring's traffic, chunks `reclaimed..head` are idle and
//!    belong to the producer; there are never more than `chunks` of both, and the table has at least
//!    as many entries, so an entry is not written again while its chunk is in either range.
//! 3. An entry is written by the producer alone, before the tail passes the chunk's start (`used`:
//!    before the tail reaches the end of the chunk's range).
//!
//! # Orderings
//!
//! | word | writer | pairs |
//! |---|---|---|
//! | `tail` | producer | its Release store with the consumer's Acquire load: items, entries and `used` are seen |
//! | `head` | consumer | its Release store with the producer's Acquire loads: the consumer has done with the chunk, and `read` is not behind the next one's start |
//! | `installed` | producer | its Release store with the Acquire load of the consumer's `len` and `is_full`: entries are seen |
//! | `producer_gone` | producer | its Release store with the consumer's Acquire loads: the last tail is seen |
//! | `consumer_gone` | consumer | its Release store with the producer's Acquire loads: the last `read` is seen |
//! | `read` | consumer | none of its own: it is seen with `head` and `consumer_gone`, and may be newer |
//! | `reclaimed` | producer | none: the consumer never looks at it |
//! | an entry's words | producer | none of their own: they are seen with `tail` and `installed` |
//!
//! Either half may end last and then looks at all of them; what the other half did comes before that
//! by the swap in [`Joint`](super::joint::Joint). Where a half only counts (`free_slots`, the tail in
//! the consumer's `is_full`) it loads Relaxed, since nothing is accessed on the strength of the count.

use crate::chunk;
use crate::error::BuildError;
use crate::primitive::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, Slot};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use crossbeam_utils::CachePadded;

/// A chunk in the table. One cache line, so that the entry being written disturbs no other.
#[repr(align(64))]
pub(super) struct Entry<T> {
    /// The chunk's first slot.
    pub(super) first: AtomicPtr<Slot<T>>,
    /// The position of that slot.
    pub(super) start: AtomicUsize,
    /// Slots from the start on that hold items once the chunk is complete.
    pub(super) used: AtomicUsize,
    /// Positions lost to holes before this chunk.
    pub(super) holes: AtomicUsize,
}

/// Words that the producer writes.
pub(super) struct ProducerWords {
    /// Position up to which everything is committed.
    pub(super) tail: AtomicUsize,
    /// Sequence number of the next chunk to be installed.
    pub(super) installed: AtomicUsize,
    /// Sequence number of the oldest idle chunk.
    pub(super) reclaimed: AtomicUsize,
}

/// Words that the consumer writes.
pub(super) struct ConsumerWords {
    /// Sequence number of the oldest chunk that is not idle.
    pub(super) head: AtomicUsize,
    /// The consumer's position when it last found nothing to take, gave a chunk back, or ended.
    pub(super) read: AtomicUsize,
}

/// What both halves read and hardly anybody writes.
pub(super) struct Fixed<T> {
    pub(super) chunk_len: usize,
    pub(super) chunks: usize,
    /// A power of two of entries; chunk `seq` has entry `seq % len`.
    table: Box<[Entry<T>]>,
    pub(super) producer_gone: AtomicBool,
    pub(super) consumer_gone: AtomicBool,
}

pub(super) struct Shared<T> {
    pub(super) producer: CachePadded<ProducerWords>,
    pub(super) consumer: CachePadded<ConsumerWords>,
    pub(super) fixed: CachePadded<Fixed<T>>,
}

impl<T> Shared<T> {
    pub(super) fn new(
        chunk_len: usize,
        chunks: usize,
        preallocate: bool,
        origin: usize,
        too_large: BuildError,
    ) -> Result<Self, BuildError> {
        let entries = chunks.checked_next_power_of_two().ok_or(too_large)?;
        if entries
            .checked_mul(size_of::<Entry<T>>())
            .is_none_or(|n| n > isize::MAX as usize)
        {
            return Err(too_large);
        }
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..entries).map(|_| Entry {
            first: AtomicPtr::new(ptr::null_mut()),
            start: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            holes: AtomicUsize::new(0),
        }));
        let shared = Shared {
            producer: CachePadded::new(ProducerWords {
                tail: AtomicUsize::new(origin),
                installed: AtomicUsize::new(origin),
                reclaimed: AtomicUsize::new(origin),
            }),
            consumer: CachePadded::new(ConsumerWords {
                head: AtomicUsize::new(origin),
                read: AtomicUsize::new(origin),
            }),
            fixed: CachePadded::new(Fixed {
                chunk_len,
                chunks,
                table: table.into_boxed_slice(),
                producer_gone: AtomicBool::new(false),
                consumer_gone: AtomicBool::new(false),
            }),
        };
        if preallocate {
            // Chunks that wait as idle ones do, as if the ring had used each of them once. Where
            // one cannot be had, dropping `shared` frees those before it.
            for count in 1..=chunks {
                let first = chunk::allocate(chunk_len).ok_or(BuildError::OutOfMemory)?;
                let seq = origin.wrapping_add(count - 1);
                shared
                    .entry(seq)
                    .first
                    .store(first.as_ptr(), Ordering::Relaxed);
                let next = origin.wrapping_add(count);
                shared.producer.installed.store(next, Ordering::Relaxed);
                shared.consumer.head.store(next, Ordering::Relaxed);
            }
        }
        Ok(shared)
    }

    /// The table's entry of chunk `seq`.
    #[inline]
    pub(super) fn entry(&self, seq: usize) -> &Entry<T> {
        let table = &self.fixed.table;
        &table[seq & (table.len() - 1)]
    }

    /// The most items that fit.
    pub(super) fn capacity(&self) -> usize {
        self.fixed.chunk_len * self.fixed.chunks
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Both halves are gone, and the later of them has acquired all that the other wrote.
        let mut rest = Rest {
            seq: self.producer.reclaimed.load(Ordering::Relaxed),
            head: self.consumer.head.load(Ordering::Relaxed),
            installed: self.producer.installed.load(Ordering::Relaxed),
            read: self.consumer.read.load(Ordering::Relaxed),
            tail: self.producer.tail.load(Ordering::Relaxed),
            shared: self,
        };
        rest.free_all();
    }
}

/// The chunks that are still to be freed when the ring ends.
struct Rest<'a, T> {
    shared: &'a Shared<T>,
    seq: usize,
    head: usize,
    installed: usize,
    read: usize,
    tail: usize,
}

impl<T> Rest<'_, T> {
    fn free_all(&mut self) {
        while self.seq != self.installed {
            self.free_next();
        }
    }

    /// Drops the items of the next chunk and frees its memory.
    fn free_next(&mut self) {
        let seq = self.seq;
        self.seq = seq.wrapping_add(1);
        let chunk_len = self.shared.fixed.chunk_len;
        let entry = self.shared.entry(seq);
        let first = entry.first.load(Ordering::Relaxed);
        // Frees the memory also when dropping an item panics.
        let memory = Memory { first, chunk_len };
        let idle = (seq.wrapping_sub(self.head) as isize) < 0;
        if !idle {
            let start = entry.start.load(Ordering::Relaxed);
            let committed = self.tail.wrapping_sub(start);
            let end = if committed < chunk_len {
                committed
            } else {
                entry.used.load(Ordering::Relaxed)
            };
            // The consumer, ending, has told its position, which lies in the oldest chunk.
            let begin = if seq == self.head {
                self.read.wrapping_sub(start).min(end)
            } else {
                0
            };
            // SAFETY: by invariant 1 these slots hold items; both halves are gone, so nobody else
            // accesses them, and the chunk is not looked at again.
            unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
        }
    }
}

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        // Reached with chunks left only when dropping an item has panicked: go on with the others.
        self.free_all();
    }
}

/// A chunk's memory, freed at the end of the scope.
struct Memory<T> {
    first: *mut Slot<T>,
    chunk_len: usize,
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        if let Some(first) = NonNull::new(self.first) {
            // SAFETY: by invariant 2 every chunk from `reclaimed` to `installed` was allocated with
            // this length, and the ring ends here.
            unsafe { chunk::free(first, self.chunk_len) };
        }
    }
}
