//! What the two halves share: positions, the table of chunks, the settings, and the end of it all.
//!
//! # Positions
//!
//! A position counts slots since the ring was made, wrapping. Chunk after chunk covers a range of
//! positions, each exactly as long as the chunk; the items of a chunk lie at its beginning. A chunk
//! that is closed early (a contiguous reservation did not fit, or it was sealed) has a *hole* from
//! its last item to the end of its range, and the tail skips it. So a chunk is complete exactly when
//! the tail has reached the end of its range, full or not.
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
//! 2. Chunks `head..installed` belong to the ring's traffic. Chunks `reclaimed..head` are idle, but
//!    for those that the consumer has detached, whose entry has no chunk; whoever moves `reclaimed`
//!    past an idle chunk owns it. There are never more chunks from `reclaimed` to `installed` than
//!    the table has entries, so an entry is not written again while its chunk is in either range.
//! 3. An entry is written by the producer alone, before the tail passes the chunk's start (`used`:
//!    before the tail reaches the end of the chunk's range); but the consumer, and nobody else, may
//!    take the chunk out of it before the head passes it.
//!
//! # Orderings
//!
//! | word | writer | pairs |
//! |---|---|---|
//! | `tail` | producer | its Release store with the consumer's Acquire load: items, entries and `used` are seen |
//! | `head` | consumer | its Release store with the Acquire loads of the producer and of whoever trims: the consumer has done with the chunk and its entry, and `read` is not behind the next one's start |
//! | `reclaimed` | producer, trimmers | Release exchanges with each other's Acquire loads: whoever moves it has read the chunk's entry before the producer writes it again. What the new owner must see has come with the head |
//! | `installed` | producer | its Release store with the Acquire load of the consumer's `len` and `is_full`: entries are seen |
//! | `producer_gone` | producer | its Release store with the consumer's Acquire loads: the last tail is seen |
//! | `consumer_gone` | consumer | its Release store with the producer's Acquire loads: the last `read` is seen |
//! | `half_gone` | both halves | each swaps, AcqRel: the second sees all that the first did |
//! | `read` | consumer | none of its own: it is seen with `head` and `consumer_gone`, and may be newer |
//! | an entry's words | producer; `first` also the consumer | none of their own: they are seen with `tail`, `installed` and `head` |
//! | settings | anybody | Relaxed: a setting permits nothing by itself |
//!
//! Where a half only counts (`free_slots`, the tail in the consumer's `is_full`) it loads Relaxed,
//! since nothing is accessed on the strength of the count.

use crate::error::BuildError;
use crate::primitive::{AtomicPtr, AtomicUsize, Ordering, Slot, load_before_write};
use crate::settings::{Plan, Resizable, Settings};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use crossbeam_utils::CachePadded;

/// A chunk in the table. One cache line, so that the entry being written disturbs no other.
#[repr(align(64))]
pub(crate) struct Entry<T> {
    /// The chunk's first slot; null once the consumer has detached it.
    pub(crate) first: AtomicPtr<Slot<T>>,
    /// Slots of the chunk.
    pub(crate) len: AtomicUsize,
    /// The position of the first slot.
    pub(crate) start: AtomicUsize,
    /// Slots from the start on that hold items once the chunk is complete.
    pub(crate) used: AtomicUsize,
    /// Positions lost to holes before this chunk.
    pub(crate) holes: AtomicUsize,
}

/// Words that the producer writes.
pub(crate) struct ProducerWords {
    /// Position up to which everything is committed.
    pub(crate) tail: AtomicUsize,
    /// Sequence number of the next chunk to be installed.
    pub(crate) installed: AtomicUsize,
}

/// Words that the consumer writes.
pub(crate) struct ConsumerWords {
    /// Sequence number of the oldest chunk that is in traffic.
    pub(crate) head: AtomicUsize,
    /// The consumer's position when it last found nothing to take, gave a chunk back, or ended.
    pub(crate) read: AtomicUsize,
}

pub(crate) struct Shared<T> {
    pub(crate) producer: CachePadded<ProducerWords>,
    pub(crate) consumer: CachePadded<ConsumerWords>,
    /// Sequence number of the oldest chunk that may be idle.
    reclaimed: CachePadded<AtomicUsize>,
    /// A power of two of entries; chunk `seq` has entry `seq % len`.
    table: Box<[Entry<T>]>,
    pub(crate) settings: CachePadded<Settings<T>>,
}

/// The most entries of a table that can exist at all: a power of two whose bytes stay within
/// `isize::MAX`. (The size of an entry does not depend on the items.)
pub(crate) const MAX_ENTRIES: usize = 1 << (isize::MAX as usize / size_of::<Entry<()>>()).ilog2();

impl<T> Shared<T> {
    pub(crate) fn new(plan: Plan<T>) -> Result<Self, BuildError> {
        let settings = Settings::new(&plan);
        let Plan {
            chunk_len,
            chunks,
            entries,
            preallocate,
            origin,
            ..
        } = plan;
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..entries).map(|_| Entry {
            first: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            holes: AtomicUsize::new(0),
        }));
        let shared = Shared {
            producer: CachePadded::new(ProducerWords {
                tail: AtomicUsize::new(origin),
                installed: AtomicUsize::new(origin),
            }),
            consumer: CachePadded::new(ConsumerWords {
                head: AtomicUsize::new(origin),
                read: AtomicUsize::new(origin),
            }),
            reclaimed: CachePadded::new(AtomicUsize::new(origin)),
            table: table.into_boxed_slice(),
            settings: CachePadded::new(settings),
        };
        if preallocate {
            // Chunks that wait as idle ones do, as if the ring had used each of them once. Where
            // one cannot be had, dropping `shared` frees those before it.
            for count in 1..=chunks {
                let settings = &*shared.settings;
                let first = settings.form.make(chunk_len, &settings.pool);
                let first = first.ok_or(BuildError::OutOfMemory)?;
                let entry = shared.entry(origin.wrapping_add(count - 1));
                entry.first.store(first.as_ptr(), Ordering::Relaxed);
                entry.len.store(chunk_len, Ordering::Relaxed);
                let next = origin.wrapping_add(count);
                shared.producer.installed.store(next, Ordering::Relaxed);
                shared.consumer.head.store(next, Ordering::Relaxed);
            }
        }
        Ok(shared)
    }

    /// The table's entry of chunk `seq`.
    #[inline]
    pub(crate) fn entry(&self, seq: usize) -> &Entry<T> {
        &self.table[seq & (self.table.len() - 1)]
    }

    /// The most items that fit, as set.
    pub(crate) fn capacity(&self) -> usize {
        // Relaxed: settings. Their bounds keep the product below `isize::MAX`.
        self.settings.chunk_len.load(Ordering::Relaxed)
            * self.settings.chunks.load(Ordering::Relaxed)
    }

    /// Whether chunks from the oldest idle one to before `seq` are more than `most`.
    pub(crate) fn exceeds(&self, seq: usize, most: usize) -> bool {
        // Relaxed: an old value makes the number too large, which is to err on the side of giving
        // memory back.
        let reclaimed = load_before_write(&self.reclaimed, Ordering::Relaxed);
        let count = seq.wrapping_sub(reclaimed);
        (count as isize) > 0 && count > most
    }

    /// Whether as many chunks before `seq` are idle as shall circulate within the table, chunk
    /// `seq - 1` not counted.
    pub(crate) fn has_idle(&self, seq: usize) -> bool {
        self.exceeds(seq, self.settings.keep_idle)
    }

    /// Owns the oldest idle chunk, of those before `head`, which must have been acquired. Gives its
    /// first slot and its length.
    pub(crate) fn reclaim(&self, head: usize) -> Option<(NonNull<Slot<T>>, usize)> {
        // Acquire, here and where the exchange fails: pairs with the exchange below of whoever moved
        // it here, which has read the entries before. So the producer writes them after that.
        let mut seq = load_before_write(&self.reclaimed, Ordering::Acquire);
        while (head.wrapping_sub(seq) as isize) > 0 {
            let entry = self.entry(seq);
            // Before the exchange: once it has succeeded, the producer may write the entry again.
            // Relaxed: whatever the producer and the consumer have written to it before the head
            // passed it has been acquired with the head.
            // Plain loads also under loom: to it, an exchange of nothing whose outcome is thrown away
            // could come after what the producer stores next, and put the old value back.
            let first = entry.first.load(Ordering::Relaxed);
            let len = entry.len.load(Ordering::Relaxed);
            // Release: pairs with the Acquire loads above; otherwise the loads of the entry could come
            // after the exchange, and see the chunk that the producer installs there next. (Such a
            // load of a later store is beyond loom, which runs stores in order.)
            match self.reclaimed.compare_exchange(
                seq,
                seq.wrapping_add(1),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => match NonNull::new(first) {
                    Some(first) => return Some((first, len)),
                    // The consumer has detached it.
                    None => seq = seq.wrapping_add(1),
                },
                Err(seen) => seq = seen,
            }
        }
        None
    }

    /// To be called by each half as its last doing. The second one drops the items that are left and
    /// frees the chunks.
    pub(crate) fn half_ends(&self) {
        // Release: what this half did comes before the other's doing below. Acquire: what the other
        // did comes before this one's.
        if self.settings.half_gone.swap(true, Ordering::AcqRel) {
            self.end();
        }
    }

    fn end(&self) {
        // Relaxed: both halves are gone, and the later of them has acquired all that the other wrote.
        let head = self.consumer.head.load(Ordering::Relaxed);
        let mut rest = Rest {
            shared: self,
            seq: head,
            head,
            installed: self.producer.installed.load(Ordering::Relaxed),
            read: self.consumer.read.load(Ordering::Relaxed),
            tail: self.producer.tail.load(Ordering::Relaxed),
        };
        rest.free_all();
    }
}

impl<T> Resizable<T> for Shared<T> {
    fn settings(&self) -> &Settings<T> {
        &self.settings
    }

    /// Frees idle chunks until there are at most `most` from the oldest idle one to the newest.
    fn trim(&self, most: usize) {
        // Acquire: pairs with the consumer's Release store; it has done with the chunks before.
        let head = self.consumer.head.load(Ordering::Acquire);
        // Relaxed: how many there are is a matter of the moment.
        let installed = self.producer.installed.load(Ordering::Relaxed);
        while self.exceeds(installed, most) {
            let Some((first, len)) = self.reclaim(head) else {
                break;
            };
            let settings = &*self.settings;
            // SAFETY: by invariant 2 the chunk is this call's, and it holds no items.
            unsafe { settings.form.free(first, len, &settings.pool) };
        }
    }

    /// Chunks in traffic, and idle ones, detached ones left out.
    fn chunks_in_use(&self) -> usize {
        // Relaxed: counts of the moment. Each may be older than the next, hence the order.
        // Acquire: whoever moved `reclaimed` had seen a head that is not behind it.
        let reclaimed = self.reclaimed.load(Ordering::Acquire);
        let head = self.consumer.head.load(Ordering::Acquire);
        let installed = self.producer.installed.load(Ordering::Relaxed);
        let in_traffic = installed.wrapping_sub(head);
        let idle = head.wrapping_sub(reclaimed).min(self.table.len());
        // A detached chunk has no memory, but its entry is passed over in its turn only.
        let detached = (0..idle)
            .filter(|back| {
                let entry = self.entry(head.wrapping_sub(back + 1));
                entry.first.load(Ordering::Relaxed).is_null()
            })
            .count();
        (in_traffic + idle - detached).min(self.settings.max_chunks)
    }

    fn round_chunk_len(&self, chunk_len: usize) -> usize {
        chunk_len
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Idle chunks are what is left where the halves were never made.
        self.free_idle();
    }
}

impl<T> Shared<T> {
    fn free_idle(&self) {
        // Relaxed: whoever gets here has acquired all that the consumer wrote.
        let head = self.consumer.head.load(Ordering::Relaxed);
        while let Some((first, len)) = self.reclaim(head) {
            let settings = &*self.settings;
            // SAFETY: by invariant 2 the chunk is this call's, and it holds no items.
            unsafe { settings.form.free(first, len, &settings.pool) };
        }
    }
}

/// The chunks in traffic that are still to be freed when the ring ends.
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
        self.shared.free_idle();
        while self.seq != self.installed {
            self.free_next();
        }
        // Release: pairs with the Acquire load of whoever trims; no entry has a chunk any more.
        self.shared
            .consumer
            .head
            .store(self.installed, Ordering::Release);
    }

    /// Drops the items of the next chunk and frees its memory.
    fn free_next(&mut self) {
        let seq = self.seq;
        self.seq = seq.wrapping_add(1);
        let entry = self.shared.entry(seq);
        let first = entry.first.load(Ordering::Relaxed);
        let len = entry.len.load(Ordering::Relaxed);
        // Whoever trims later finds nothing there.
        entry.first.store(ptr::null_mut(), Ordering::Relaxed);
        // Frees the memory also when dropping an item panics.
        let memory = Memory {
            shared: self.shared,
            first,
            len,
        };
        let start = entry.start.load(Ordering::Relaxed);
        let committed = self.tail.wrapping_sub(start);
        let end = if committed < len {
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

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        // Reached with chunks left only when dropping an item has panicked: go on with the others.
        self.free_all();
    }
}

/// A chunk's memory, freed at the end of the scope.
struct Memory<'a, T> {
    shared: &'a Shared<T>,
    first: *mut Slot<T>,
    len: usize,
}

impl<T> Drop for Memory<'_, T> {
    fn drop(&mut self) {
        if let Some(first) = NonNull::new(self.first) {
            let settings = &*self.shared.settings;
            // SAFETY: by invariant 2 the chunks in traffic are the ring's, which ends here.
            unsafe { settings.form.free(first, self.len, &settings.pool) };
        }
    }
}
