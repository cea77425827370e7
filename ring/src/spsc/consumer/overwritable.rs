//! What the consumer does otherwise in a ring that can be overwritten: it holds one chunk, which has left
//! the table, and may miss those that it does not hold. See [`taken`](crate::spsc::taken) for the word by
//! which both halves agree.

use super::Consumer;
use crate::error::PopError;
use crate::primitive::{Cursor, Ordering, Slot, or_few_in_a_model};
use crate::spsc::taken::Seen;
use core::ptr::{self, NonNull};

/// What the entry of a chunk has said when it was entered.
pub(super) struct HeldChunk<T> {
    pub(super) first: *mut Slot<T>,
    pub(super) start: usize,
    pub(super) len: usize,
}

/// How often a count is begun anew, at most, where chunks are being evicted.
const LOOKS: usize = or_few_in_a_model(8, 2);

/// Slots that idle chunks are kept for, within bounds: a ring that is overwritten is one whose chunks are all in use.
const FOR_ALL: usize = usize::MAX;

impl<T> Consumer<T> {
    /// The rest of [`refill_at_boundary`](Self::refill_at_boundary) in a ring that can be overwritten.
    #[cold]
    #[inline(never)]
    pub(super) fn refill_overwritable(&mut self, mut tail: usize) -> Result<(), PopError> {
        loop {
            if self.in_chunk && tail != self.stop_position {
                if self.look_into_chunk(tail) {
                    return Ok(());
                }
                // It was closed after its last item had been taken.
                self.retire();
            }
            // Acquire: pairs with the Release store in the producer's drop. What is looked at below was
            // stored before it, so nothing comes after it has said yes.
            let closed = self.shared.settings.producer_gone.load(Ordering::Acquire);
            // Acquire: as in `refill`.
            tail = self.shared.producer.tail.load(Ordering::Acquire);
            let found = if self.in_chunk {
                tail != self.stop_position
            } else {
                self.enter_oldest(&mut tail)
            };
            if !found {
                self.tell_position();
                return Err(if closed {
                    PopError::Closed
                } else {
                    PopError::Empty
                });
            }
        }
    }

    /// Holds the oldest chunk that nobody has taken, if there is an item in it, and moves the position to
    /// its start; `tail` becomes one that is beyond it.
    fn enter_oldest(&mut self, tail: &mut usize) -> bool {
        let shared = &*self.shared;
        // Comes to an end unless the producer evicts chunks as fast as this half looks at them.
        loop {
            let seen = shared.taken.load();
            // Acquire: pairs with the producer's Release store; the entries before it are seen.
            let installed = shared.producer.installed.load(Ordering::Acquire);
            let untaken = seen.untaken(installed);
            if untaken == 0 {
                return false;
            }
            let entry = shared.entry(installed.wrapping_sub(untaken));
            // Relaxed: seen with `installed`. Before the exchange, which says whether the entry was still
            // that chunk's: afterwards the producer may write it again.
            let first = entry.first.load(Ordering::Relaxed);
            let start = entry.start.load(Ordering::Relaxed);
            let len = entry.len.load(Ordering::Relaxed);
            // Acquire: as in `refill`.
            *tail = shared.producer.tail.load(Ordering::Acquire);
            if *tail == start {
                if shared.taken.is_still(seen) {
                    return false;
                }
                continue;
            }
            // Relaxed: seen with the exchange.
            shared.consumer.held.start.store(start, Ordering::Relaxed);
            if shared.taken.enter(seen) {
                self.held = HeldChunk { first, start, len };
                self.slot = Cursor::at(first);
                self.go_on(start, 0);
                self.limit = start;
                self.finished = start;
                self.end = start.wrapping_add(len);
                self.hole = 0;
                self.in_chunk = true;
                return true;
            }
        }
    }

    /// Slots of the chunk that this half holds that hold items once it is complete.
    #[cold]
    #[inline(never)]
    pub(super) fn held_used(&self) -> usize {
        // SAFETY: by invariant 4 the chunk is this half's, and it came from the ring's form.
        let used = unsafe { self.shared.settings.form.used(self.held.first) };
        // Relaxed: the tail that completed the chunk has been acquired.
        used.load(Ordering::Relaxed)
    }

    /// [`retire`](Self::retire) in a ring that can be overwritten.
    #[cold]
    #[inline(never)]
    pub(super) fn give_back(&mut self) {
        let HeldChunk { first, len, .. } = self.held;
        let first = NonNull::new(first).expect("a chunk that is held has slots");
        self.forget_held();
        let shared = &*self.shared;
        let settings = &*shared.settings;
        // Relaxed: settings.
        let outdated = len != settings.chunk_len.load(Ordering::Relaxed)
            || shared.count_overwritable() > settings.chunks.load(Ordering::Relaxed);
        if outdated {
            // SAFETY: by invariant 4 the chunk is this half's, which has forgotten it, and every item has
            // been moved out.
            unsafe { settings.form.free(first, len, &settings.pool) };
        } else if shared.has_idle(shared.reclaimed(), self.seq.wrapping_add(1), len, || {
            FOR_ALL
        }) {
            // SAFETY: as above.
            unsafe { settings.form.put(first, len, &settings.pool) };
        } else {
            let entry = shared.idle_entry(self.seq);
            // Relaxed: seen with the head.
            entry.first.store(first.as_ptr(), Ordering::Relaxed);
            entry.len.store(len, Ordering::Relaxed);
            self.seq = self.seq.wrapping_add(1);
            // Release: pairs with the Acquire load of the producer, and of whoever trims; every item has
            // been moved out before anybody else uses the chunk, and its entry has been written.
            shared.consumer.head.store(self.seq, Ordering::Release);
        }
        // After the head: whoever counts the chunk as gone sees that it is idle.
        shared.taken.leave();
    }

    /// Goes beyond the chunk that this half holds. Whether it is still held is for the others to know.
    pub(super) fn forget_held(&mut self) {
        let items = self.end.wrapping_sub(self.held.start);
        self.taken = self.taken.wrapping_add(items);
        let position = self.end.wrapping_add(core::mem::take(&mut self.hole));
        self.go_on(position, 0);
        self.limit = position;
        self.finished = position;
        self.end = position;
        self.in_chunk = false;
        self.held.first = ptr::null_mut();
        self.tell_position();
    }

    /// Items that this half has ever taken, in a ring that can be overwritten.
    #[cold]
    #[inline(never)]
    pub(super) fn items_taken(&self) -> usize {
        let of_this_chunk = if self.in_chunk {
            self.position().wrapping_sub(self.held.start)
        } else {
            0
        };
        self.taken.wrapping_add(of_this_chunk)
    }

    /// [`len`](Self::len) in a ring that can be overwritten.
    #[cold]
    #[inline(never)]
    pub(super) fn len_overwritable(&self) -> usize {
        let shared = &*self.shared;
        let mut count = 0;
        for _ in 0..LOOKS {
            let seen = shared.taken.load();
            // Acquire: as in `refill`.
            let tail = shared.producer.tail.load(Ordering::Acquire);
            // Acquire: pairs with the producer's Release store; the entries before it are seen.
            let installed = shared.producer.installed.load(Ordering::Acquire);
            count = self
                .len_of_held(tail)
                .wrapping_add(self.len_of_others(tail, installed, seen));
            if shared.taken.is_still(seen) {
                return count;
            }
        }
        // Chunks have been evicted all the time, so there were items.
        count.clamp(1, self.capacity().max(1))
    }

    /// Items left in the chunk that this half holds.
    fn len_of_held(&self, tail: usize) -> usize {
        if !self.in_chunk {
            return 0;
        }
        let position = self.position();
        let ready = tail.wrapping_sub(position);
        if ready
            < self
                .held
                .start
                .wrapping_add(self.held.len)
                .wrapping_sub(position)
        {
            return ready;
        }
        let end = self.held.start.wrapping_add(self.held_used());
        end.wrapping_sub(position)
    }

    /// Items before `tail` in the chunks that nobody has taken. Of no meaning if one of those has been
    /// evicted meanwhile.
    fn len_of_others(&self, tail: usize, installed: usize, seen: Seen) -> usize {
        let untaken = seen.untaken(installed);
        if untaken == 0 {
            return 0;
        }
        // Relaxed, here and below: seen with `installed`, and `used` with the tail.
        let oldest = self.shared.entry(installed.wrapping_sub(untaken));
        let start = oldest.start.load(Ordering::Relaxed);
        let gone = start.wrapping_sub(oldest.holes.load(Ordering::Relaxed));
        // The chunk that the tail lies in: `installed` may be newer than it.
        let ahead = |back: usize| {
            let entry = self.shared.entry(installed.wrapping_sub(back));
            (tail.wrapping_sub(entry.start.load(Ordering::Relaxed)) as isize) < 0
        };
        let Some(back) = (1..=untaken).find(|back| !ahead(*back)) else {
            return 0;
        };
        let entry = self.shared.entry(installed.wrapping_sub(back));
        let len = entry.len.load(Ordering::Relaxed);
        let mut holes = entry.holes.load(Ordering::Relaxed);
        if tail.wrapping_sub(entry.start.load(Ordering::Relaxed)) == len {
            holes = holes.wrapping_add(len.wrapping_sub(entry.used.load(Ordering::Relaxed)));
        }
        tail.wrapping_sub(holes).wrapping_sub(gone)
    }

    /// As many items as can be taken whatever the producer does meanwhile.
    #[cfg(not(loom))]
    pub(in crate::spsc) fn len_for_certain(&mut self) -> usize {
        if self.is_overwritable() {
            return self.read().map_or(0, |ready| ready.len());
        }
        self.len()
    }

    pub(in crate::spsc) fn is_overwritable(&self) -> bool {
        self.shared.settings.overwritable
    }
}
