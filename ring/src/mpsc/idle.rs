//! Idle chunks that circulate within the ring: put there by the consumer, taken by whoever needs one.
//!
//! # Orderings
//!
//! | word | pairs |
//! |---|---|
//! | `put` | the consumer's Release store with the takers' Acquire loads: the entry, and that the consumer has done with the chunk |
//! | `taken` | the takers' Release exchanges with the consumer's Acquire load: whoever moves it has read the entry before the consumer writes it again |

use crate::error::BuildError;
use crate::primitive::{AtomicPtr, AtomicUsize, Ordering, Slot, load_before_write, load_own};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use crossbeam_utils::CachePadded;

pub(super) struct Idle<T> {
    /// A power of two of entries.
    table: Box<[Entry<T>]>,
    put: CachePadded<AtomicUsize>,
    taken: CachePadded<AtomicUsize>,
}

struct Entry<T> {
    first: AtomicPtr<Slot<T>>,
    len: AtomicUsize,
}

impl<T> Idle<T> {
    /// Room for at least `most` chunks.
    pub(super) fn new(most: usize, origin: usize) -> Result<Self, BuildError> {
        let entries = most.next_power_of_two();
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..entries).map(|_| Entry {
            first: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
        }));
        Ok(Idle {
            table: table.into_boxed_slice(),
            put: CachePadded::new(AtomicUsize::new(origin)),
            taken: CachePadded::new(AtomicUsize::new(origin)),
        })
    }

    fn entry(&self, number: usize) -> &Entry<T> {
        &self.table[number & (self.table.len() - 1)]
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        // Relaxed: a count of the moment. Where `put` is the older of the two, too many are counted, but
        // no more than there is room for.
        let taken = load_before_write(&self.taken, Ordering::Relaxed);
        self.put
            .load(Ordering::Relaxed)
            .wrapping_sub(taken)
            .min(self.table.len())
    }

    /// As [`count`](Self::count), for the consumer only.
    pub(super) fn count_own(&self) -> usize {
        // Acquire: pairs with the Release exchange in `take`; the entries before it have been read.
        let taken = self.taken.load(Ordering::Acquire);
        load_own(&self.put).wrapping_sub(taken)
    }

    /// Keeps a chunk, or gives it back where there is no room. To be called by the consumer only, which
    /// must own the chunk.
    pub(super) fn put(&self, first: NonNull<Slot<T>>, len: usize) -> Result<(), NonNull<Slot<T>>> {
        if self.count_own() >= self.table.len() {
            return Err(first);
        }
        let put = load_own(&self.put);
        let entry = self.entry(put);
        // Relaxed: seen with `put`.
        entry.first.store(first.as_ptr(), Ordering::Relaxed);
        entry.len.store(len, Ordering::Relaxed);
        // Release: pairs with the Acquire load in `take`.
        self.put.store(put.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Owns the oldest chunk. Gives its first slot and its length.
    pub(super) fn take(&self) -> Option<(NonNull<Slot<T>>, usize)> {
        // Relaxed, here and where the exchange fails: a guess, which the exchange confirms.
        let mut taken = load_before_write(&self.taken, Ordering::Relaxed);
        loop {
            // Acquire: pairs with the Release store in `put`.
            let put = self.put.load(Ordering::Acquire);
            if (put.wrapping_sub(taken) as isize) <= 0 {
                return None;
            }
            let entry = self.entry(taken);
            // Before the exchange: once it has succeeded, the consumer may write the entry again.
            // Relaxed: acquired with `put`.
            let first = entry.first.load(Ordering::Relaxed);
            let len = entry.len.load(Ordering::Relaxed);
            // Release: pairs with the consumer's Acquire load; otherwise the loads of the entry could come
            // after the exchange, and see the next chunk.
            match self.taken.compare_exchange(
                taken,
                taken.wrapping_add(1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return NonNull::new(first).map(|first| (first, len)),
                Err(seen) => taken = seen,
            }
        }
    }
}
