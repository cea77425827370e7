//! Idle chunks that circulate within the ring: put there by the consumer, taken by whoever needs one.
//!
//! The first few are *spare*: each in a word of its own, all in one cache line, which is all that two threads
//! have to hand each other where few chunks circulate. They are taken first, so those that were used last, and
//! are still in somebody's cache, are used again before those behind them.
//!
//! # Orderings
//!
//! | word | pairs |
//! |---|---|
//! | a spare | the consumer's Release exchange with the takers' Acquire exchanges: the consumer has done with the chunk |
//! | `put` | the consumer's Release store with the takers' Acquire loads: the entry, and that the consumer has done with the chunk |
//! | `taken` | the takers' Release exchanges with the consumer's Acquire load: whoever moves it has read the entry before the consumer writes it again |

use super::entry::{pack_idle, unpack_idle};
use crate::error::BuildError;
use crate::primitive::{
    AtomicPtr, AtomicUsize, Ordering, Slot, load_before_write, load_own, load_ptr_before_write,
    or_few_in_a_model,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use crossbeam_utils::CachePadded;

/// Chunks that can be spare. One in a model, so that few chunks are enough to get behind it.
const SPARES: usize = or_few_in_a_model(2, 1);

pub(super) struct Idle<T> {
    spares: CachePadded<[AtomicPtr<Slot<T>>; SPARES]>,
    /// Chunks behind the spare ones, of which the oldest is taken first: a power of two of entries, or none.
    table: Box<[Entry<T>]>,
    put: CachePadded<AtomicUsize>,
    taken: CachePadded<AtomicUsize>,
    /// Chunks that are kept.
    most: usize,
}

struct Entry<T> {
    first: AtomicPtr<Slot<T>>,
    len: AtomicUsize,
}

impl<T> Idle<T> {
    /// Room for `most` chunks.
    pub(super) fn new(most: usize, origin: usize) -> Result<Self, BuildError> {
        let entries = match most.saturating_sub(SPARES) {
            0 => 0,
            more => more.next_power_of_two(),
        };
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..entries).map(|_| Entry {
            first: AtomicPtr::new(ptr::null_mut()),
            len: AtomicUsize::new(0),
        }));
        Ok(Idle {
            spares: CachePadded::new(core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()))),
            table: table.into_boxed_slice(),
            put: CachePadded::new(AtomicUsize::new(origin)),
            taken: CachePadded::new(AtomicUsize::new(origin)),
            most,
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
            + self.count_spare()
    }

    fn count_spare(&self) -> usize {
        // Relaxed: as above, and a word that the consumer has seen empty stays so until it fills it.
        let is_there = |spare: &&AtomicPtr<Slot<T>>| {
            !load_ptr_before_write(spare, Ordering::Relaxed).is_null()
        };
        self.spares.iter().filter(is_there).count()
    }

    /// Chunks behind the spare ones, for the consumer only.
    fn count_own(&self) -> usize {
        // Acquire: pairs with the Release exchange in `take`; the entries before it have been read.
        let taken = self.taken.load(Ordering::Acquire);
        load_own(&self.put).wrapping_sub(taken)
    }

    /// Whether one more is kept. Stays true until the consumer, which alone may ask, puts one there.
    pub(super) fn has_room(&self) -> bool {
        let spare = self.count_spare();
        let behind = if self.table.is_empty() {
            0
        } else {
            self.count_own()
        };
        spare + behind < self.most
    }

    /// Keeps a chunk, or gives it back where there is no room. To be called by the consumer only, which
    /// must own the chunk.
    pub(super) fn put(&self, first: NonNull<Slot<T>>, len: usize) -> Result<(), NonNull<Slot<T>>> {
        for spare in self.spares.iter().take(self.most) {
            // Release: pairs with the Acquire exchange in `take`. Relaxed where there is one already.
            let put = spare.compare_exchange(
                ptr::null_mut(),
                pack_idle(first, len),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if put.is_ok() {
                return Ok(());
            }
        }
        if self.table.is_empty() || self.count_own() >= self.table.len() {
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

    /// Owns a chunk: a spare one, or the oldest behind them. Gives its first slot and its length.
    pub(super) fn take(&self) -> Option<(NonNull<Slot<T>>, usize)> {
        for spare in self.spares.iter() {
            // Acquire: pairs with the Release exchange in `put`.
            let taken = spare.swap(ptr::null_mut(), Ordering::Acquire);
            if let Some(chunk) = unpack_idle(taken) {
                return Some(chunk);
            }
        }
        if self.table.is_empty() {
            return None;
        }
        self.take_behind()
    }

    fn take_behind(&self) -> Option<(NonNull<Slot<T>>, usize)> {
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
