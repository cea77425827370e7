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
//! # Rings that can be overwritten
//!
//! In those the consumer's chunk leaves the table when it is entered, and the producer may take the
//! oldest of the others away at any time; [`taken`](super::taken) says who has what. So
//!
//! 4. the chunks that nobody has taken, `taken..installed`, are in the table, and there are never more
//!    than it has entries. The consumer owns the one that it holds, until it gives it back, and keeps
//!    what the entry said of it; where it ends is in the chunk's own head. The producer owns one that it
//!    has evicted, with its items.
//! 5. Idle chunks wait in a table of their own, in the order in which the consumer gave them back:
//!    `reclaimed..head` are numbers of chunks that it gave back, and the consumer alone writes the
//!    entries, as many as there are chunks at most, since the producer makes none while one is idle.
//! 6. `read` is a number of items. Added to those that were overwritten it tells how many have gone.
//!
//! # Orderings
//!
//! | word | writer | pairs |
//! |---|---|---|
//! | `tail` | producer | its Release store with the consumer's Acquire load: items, entries and `used` are seen |
//! | `head` | consumer | its Release store with the Acquire loads of the producer and of whoever trims: the consumer has done with the chunk and its entry, and `read` is not behind the next one's start |
//! | `reclaimed` | producer, trimmers | Release exchanges with each other's Acquire loads: whoever moves it has read the chunk's entry before the producer writes it again. What the new owner must see has come with the head |
//! | `installed` | producer | its Release store with the Acquire loads of the consumer's `len` and `is_full`, and in a ring that can be overwritten of whoever enters or counts chunks: entries are seen |
//! | `producer_gone` | producer | its Release store with the consumer's Acquire loads: the last tail is seen |
//! | `consumer_gone` | consumer | its Release store with the producer's Acquire loads: the last `read` is seen |
//! | `half_gone` | both halves | each swaps, AcqRel: the second sees all that the first did |
//! | `read` | consumer | none of its own: it is seen with `head` and `consumer_gone`, and may be newer |
//! | `taken` | both halves | see [there](super::taken) |
//! | `held` | consumer | its start is seen with the exchange that enters the chunk, the rest at the end |
//! | an entry's words | producer; `first` also the consumer | none of their own: they are seen with `tail`, `installed` and `head` |
//! | settings | anybody | Relaxed: a setting permits nothing by itself |
//!
//! Where a half only counts (`free_slots`, the tail in the consumer's `is_full`) it loads Relaxed,
//! since nothing is accessed on the strength of the count.

use super::taken::Taken;
use crate::error::BuildError;
use crate::primitive::{AtomicPtr, AtomicUsize, Ordering, Slot, load_before_write};
use crate::settings::{FEW_BYTES, Plan, Resizable, Settings};
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
pub(crate) struct ConsumerWords<T> {
    /// Sequence number of the oldest chunk that is in traffic; in a ring that can be overwritten, of the
    /// next chunk to be given back (invariant 5).
    pub(crate) head: AtomicUsize,
    /// The consumer's position when it last found nothing to take, gave a chunk back, or ended; in a
    /// ring that can be overwritten, as many items as it had taken by then (invariant 6).
    pub(crate) read: AtomicUsize,
    pub(crate) held: Held<T>,
}

/// The chunk that the consumer of an overwritable ring holds.
pub(crate) struct Held<T> {
    /// The position of the first slot of the chunk that was entered last.
    pub(crate) start: AtomicUsize,
    /// These are told at the consumer's end: its first slot, its slots, and the next item's position.
    pub(crate) first: AtomicPtr<Slot<T>>,
    pub(crate) len: AtomicUsize,
    pub(crate) position: AtomicUsize,
}

pub(crate) struct Shared<T> {
    pub(crate) producer: CachePadded<ProducerWords>,
    pub(crate) consumer: CachePadded<ConsumerWords<T>>,
    /// Sequence number of the oldest chunk that may be idle.
    reclaimed: CachePadded<AtomicUsize>,
    /// A power of two of entries for chunks in traffic, and as many for idle ones in a ring that can be
    /// overwritten.
    table: Box<[Entry<T>]>,
    /// Chunk `seq` has entry `seq & mask`.
    mask: usize,
    /// The first entry for idle chunks.
    idle: usize,
    /// Who has which chunk, in a ring that can be overwritten. Beside what is looked at with it.
    pub(super) taken: Taken,
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
            overwritable,
            origin,
            ..
        } = plan;
        let idle = if overwritable { entries } else { 0 };
        // No more than `isize::MAX` each.
        let all = entries + idle;
        let mut table = Vec::new();
        table
            .try_reserve_exact(all)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..all).map(|_| Entry {
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
                held: Held {
                    start: AtomicUsize::new(origin),
                    first: AtomicPtr::new(ptr::null_mut()),
                    len: AtomicUsize::new(0),
                    position: AtomicUsize::new(origin),
                },
            }),
            reclaimed: CachePadded::new(AtomicUsize::new(origin)),
            table: table.into_boxed_slice(),
            mask: entries - 1,
            idle,
            taken: Taken::new(origin),
            settings: CachePadded::new(settings),
        };
        if preallocate {
            // Chunks that wait as idle ones do, as if the ring had used each of them once. Where
            // one cannot be had, dropping `shared` frees those before it.
            for count in 1..=chunks {
                let settings = &*shared.settings;
                let first = settings.make_ahead(chunk_len, chunks, count - 1)?;
                let entry = shared.idle_entry(origin.wrapping_add(count - 1));
                entry.first.store(first.as_ptr(), Ordering::Relaxed);
                entry.len.store(chunk_len, Ordering::Relaxed);
                let next = origin.wrapping_add(count);
                if !overwritable {
                    shared.producer.installed.store(next, Ordering::Relaxed);
                }
                shared.consumer.head.store(next, Ordering::Relaxed);
            }
        }
        Ok(shared)
    }

    /// The table's entry of chunk `seq`.
    #[inline]
    pub(crate) fn entry(&self, seq: usize) -> &Entry<T> {
        // SAFETY: there are `mask + 1` entries for chunks in traffic, at the table's beginning.
        unsafe { self.table.get_unchecked(seq & self.mask) }
    }

    /// The table's entry of chunk `seq` once it is idle.
    #[inline]
    pub(crate) fn idle_entry(&self, seq: usize) -> &Entry<T> {
        // SAFETY: as above; and as many follow for idle chunks where `idle` is not zero, and is that number.
        unsafe { self.table.get_unchecked((seq & self.mask) + self.idle) }
    }

    /// Chunks in traffic and idle ones, of a ring that can be overwritten. One that is just being given
    /// back may count as both.
    pub(super) fn count_overwritable(&self) -> usize {
        let seen = self.taken.load();
        // Acquire: pairs with the producer's Release store. An idle chunk that is installed again has been
        // reclaimed before, so it does not count as both, and a ring that keeps its chunks frees none.
        let installed = self.producer.installed.load(Ordering::Acquire);
        // Relaxed, twice: counts of the moment.
        let reclaimed = load_before_write(&self.reclaimed, Ordering::Relaxed);
        let head = self.consumer.head.load(Ordering::Relaxed);
        // The head may be the older one.
        let idle = (head.wrapping_sub(reclaimed) as isize).max(0) as usize;
        (seen.in_traffic(installed) + idle).min(self.settings.max_chunks)
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
        let count = seq.wrapping_sub(self.reclaimed());
        (count as isize) > 0 && count > most
    }

    /// Whether as many chunks of `len` slots from `reclaimed` to before `seq` are idle as shall circulate within
    /// the table, chunk `seq - 1` not counted, where `lately` slots were in use at once.
    pub(crate) fn has_idle(
        &self,
        reclaimed: usize,
        seq: usize,
        len: usize,
        lately: impl FnOnce() -> usize,
    ) -> bool {
        let count = seq.wrapping_sub(reclaimed);
        let settings = &*self.settings;
        if (count as isize) <= 0 {
            return false;
        }
        // Relaxed: a setting. So many chunks there are at the most, however long ago `reclaimed` was looked at.
        let count = count.min(settings.most_ever.load(Ordering::Relaxed));
        if count <= settings.keep_idle {
            return false;
        }
        // Each product of sizes is at most the size of a chunk. Short chunks count for more, since each has its head.
        let bytes = (len * size_of::<T>()).max(1024).saturating_mul(count - 1);
        bytes >= settings.keep_bytes
            || bytes >= FEW_BYTES && len.saturating_mul(count - 1) >= lately()
    }

    /// Sequence number of the oldest chunk that may be idle.
    pub(crate) fn reclaimed(&self) -> usize {
        // Relaxed: as in `exceeds`.
        load_before_write(&self.reclaimed, Ordering::Relaxed)
    }

    /// Owns the oldest idle chunk, of those before `head`, which must have been acquired. Gives its
    /// first slot and its length.
    pub(crate) fn reclaim(&self, head: usize) -> Option<(NonNull<Slot<T>>, usize)> {
        // Acquire, here and where the exchange fails: pairs with the exchange below of whoever moved
        // it here, which has read the entries before. So the producer writes them after that.
        let mut seq = load_before_write(&self.reclaimed, Ordering::Acquire);
        while (head.wrapping_sub(seq) as isize) > 0 {
            let entry = self.idle_entry(seq);
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
        let installed = self.producer.installed.load(Ordering::Relaxed);
        let read = self.consumer.read.load(Ordering::Relaxed);
        let mut rest = Rest {
            shared: self,
            held: false,
            seq: self.consumer.head.load(Ordering::Relaxed),
            installed,
            read: Some(read),
            tail: self.producer.tail.load(Ordering::Relaxed),
        };
        if self.settings.overwritable {
            let seen = self.taken.load();
            rest.held = seen.is_held();
            rest.seq = installed.wrapping_sub(seen.untaken(installed));
            // The chunks in the table have not been read from.
            rest.read = None;
        }
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
        let settings = &*self.settings;
        let exceeds = || {
            if settings.overwritable {
                self.count_overwritable() > most
            } else {
                self.exceeds(installed, most)
            }
        };
        while exceeds() {
            let Some((first, len)) = self.reclaim(head) else {
                break;
            };
            // SAFETY: by invariant 2 (or 5) the chunk is this call's, and it holds no items.
            unsafe { settings.form.free(first, len, &settings.pool) };
        }
    }

    /// Chunks in traffic, and idle ones, detached ones left out.
    fn chunks_in_use(&self) -> usize {
        if self.settings.overwritable {
            return self.count_overwritable();
        }
        // Relaxed: counts of the moment. Each may be older than the next, hence the order.
        // Acquire: whoever moved `reclaimed` had seen a head that is not behind it.
        let reclaimed = self.reclaimed.load(Ordering::Acquire);
        let head = self.consumer.head.load(Ordering::Acquire);
        let installed = self.producer.installed.load(Ordering::Relaxed);
        let in_traffic = installed.wrapping_sub(head);
        let idle = head.wrapping_sub(reclaimed).min(self.mask + 1);
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
    /// Whether the consumer has held a chunk, which is not in the table.
    held: bool,
    seq: usize,
    installed: usize,
    /// The consumer's position, where it lies in chunk `seq`.
    read: Option<usize>,
    tail: usize,
}

impl<T> Rest<'_, T> {
    fn free_all(&mut self) {
        self.shared.free_idle();
        if core::mem::take(&mut self.held) {
            self.free_held();
        }
        while self.seq != self.installed {
            self.free_next();
        }
        if self.shared.settings.overwritable {
            self.shared.taken.end(self.installed);
        } else {
            // Release: pairs with the Acquire load of whoever trims; no entry has a chunk any more.
            self.shared
                .consumer
                .head
                .store(self.installed, Ordering::Release);
        }
    }

    /// Drops the items that are left in the chunk that the consumer has held, and frees its memory.
    fn free_held(&self) {
        // Relaxed, here and below: as in `end`.
        let held = &self.shared.consumer.held;
        let first = held.first.load(Ordering::Relaxed);
        if first.is_null() {
            // A pool's source has panicked when the chunk was given back.
            return;
        }
        let start = held.start.load(Ordering::Relaxed);
        let position = held.position.load(Ordering::Relaxed);
        // SAFETY: the consumer has told its chunk, which came from the ring's form and is freed below.
        let used = unsafe { self.shared.settings.form.used(first) };
        let used = used.load(Ordering::Relaxed);
        let len = held.len.load(Ordering::Relaxed);
        self.free(first, len, start, used, position.wrapping_sub(start));
    }

    /// Drops the items of the next chunk and frees its memory.
    fn free_next(&mut self) {
        let seq = self.seq;
        self.seq = seq.wrapping_add(1);
        let entry = self.shared.entry(seq);
        let first = entry.first.load(Ordering::Relaxed);
        // Whoever trims later finds nothing there.
        entry.first.store(ptr::null_mut(), Ordering::Relaxed);
        let start = entry.start.load(Ordering::Relaxed);
        // The consumer, ending, has told its position, which lies in the oldest chunk.
        let begin = self.read.take().map_or(0, |read| read.wrapping_sub(start));
        self.free(
            first,
            entry.len.load(Ordering::Relaxed),
            start,
            entry.used.load(Ordering::Relaxed),
            begin,
        );
    }

    /// Drops the items of a chunk from its slot `begin` on, and frees its memory.
    fn free(&self, first: *mut Slot<T>, len: usize, start: usize, used: usize, begin: usize) {
        // Frees the memory also when dropping an item panics.
        let memory = Memory::new(self.shared, first, len);
        let committed = self.tail.wrapping_sub(start);
        let end = if committed < len { committed } else { used };
        let begin = begin.min(end);
        // SAFETY: by invariant 1 (or 4) these slots hold items; both halves are gone, so nobody else
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
pub(super) struct Memory<'a, T> {
    shared: &'a Shared<T>,
    first: *mut Slot<T>,
    len: usize,
}

impl<'a, T> Memory<'a, T> {
    /// The memory of the chunk of `len` slots at `first`, which must be the caller's.
    pub(super) fn new(shared: &'a Shared<T>, first: *mut Slot<T>, len: usize) -> Self {
        Memory { shared, first, len }
    }
}

impl<T> Drop for Memory<'_, T> {
    fn drop(&mut self) {
        if let Some(first) = NonNull::new(self.first) {
            let settings = &*self.shared.settings;
            // SAFETY: by invariant 2 (or 4) the chunk belongs to whoever made this, and it is not looked
            // at again.
            unsafe { settings.form.free(first, self.len, &settings.pool) };
        }
    }
}
