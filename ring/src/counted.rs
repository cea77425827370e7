//! A reference-counted value whose allocation can be refused.
//!
//! `Arc` would do but for that: it aborts the process where memory cannot be had. There are no weak
//! references here, and the count's own orderings carry everything over to the last owner, without
//! a fence.

use crate::primitive::{AtomicUsize, Handover, Ordering, alloc, dealloc};
use core::alloc::Layout;
use core::ops::Deref;
use core::ptr::NonNull;

/// One of the owners of a value; the last to go drops it.
pub(crate) struct Counted<V> {
    block: NonNull<Block<V>>,
}

struct Block<V> {
    value: V,
    owners: AtomicUsize,
    handed_over: Handover,
}

// SAFETY: owners on several threads share the value, and any of them may be the last, which drops
// it.
unsafe impl<V: Send + Sync> Send for Counted<V> {}
// SAFETY: as above; a shared owner can be cloned.
unsafe impl<V: Send + Sync> Sync for Counted<V> {}

impl<V> Counted<V> {
    /// The first owner of `value`, or `None` where the allocator refuses; then `value` is dropped.
    pub(crate) fn new(value: V) -> Option<Self> {
        // SAFETY: a block has fields, so its layout's size is not zero.
        let memory = unsafe { alloc(Layout::new::<Block<V>>()) };
        let block = NonNull::new(memory.cast::<Block<V>>())?;
        let first = Block {
            value,
            owners: AtomicUsize::new(1),
            handed_over: Handover::new(),
        };
        // SAFETY: the memory was just allocated for a block.
        unsafe { block.write(first) };
        Some(Counted { block })
    }

    fn owners(&self) -> &AtomicUsize {
        // SAFETY: this owner is not gone yet, so the block lives.
        unsafe { &(*self.block.as_ptr()).owners }
    }

    fn handed_over(&self) -> &Handover {
        // SAFETY: as above, or this is the last owner, which has not freed the block yet.
        unsafe { &(*self.block.as_ptr()).handed_over }
    }
}

impl<V> Clone for Counted<V> {
    fn clone(&self) -> Self {
        // Relaxed: whoever clones is an owner, so the count is not about to end.
        let before = self.owners().fetch_add(1, Ordering::Relaxed);
        // As many owners do not fit into memory, but they can be forgotten one by one; the count
        // must not come round to zero then. Taken back, so that going on after the panic does not
        // get it there either.
        if before > isize::MAX as usize {
            self.owners().fetch_sub(1, Ordering::Relaxed);
            panic!("too many owners");
        }
        Counted { block: self.block }
    }
}

impl<V> Deref for Counted<V> {
    type Target = V;

    #[inline(always)]
    fn deref(&self) -> &V {
        // SAFETY: the block lives until its last owner is gone, and only shared references to its
        // parts are made before that.
        unsafe { &(*self.block.as_ptr()).value }
    }
}

impl<V> Drop for Counted<V> {
    fn drop(&mut self) {
        self.handed_over().touch_shared();
        // Release: what this owner did comes before the last one's freeing. Acquire: what the others
        // did comes before this one's, if it is the last. Both pair with the other owners' same
        // operation.
        if self.owners().fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        self.handed_over().touch();
        // Freed also where dropping the value panics.
        let _memory = Memory(self.block);
        // SAFETY: the other owners are gone, so nothing uses the block any more, and it is dropped
        // by the last one only.
        unsafe { self.block.drop_in_place() };
    }
}

/// A block's memory, freed at the end of the scope.
struct Memory<V>(NonNull<Block<V>>);

impl<V> Drop for Memory<V> {
    fn drop(&mut self) {
        // SAFETY: `new` has allocated the block with this layout, and its owners are gone.
        unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Block<V>>()) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;

    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn owners_beyond_counting_are_refused_as_often_as_one_tries() {
        let first = Counted::new(7).unwrap();
        // As if so many had been cloned and forgotten.
        let many = isize::MAX as usize + 1;
        first.owners().store(many, Ordering::Relaxed);
        for _ in 0..3 {
            assert!(catch_unwind(|| drop(first.clone())).is_err());
            assert_eq!(first.owners().load(Ordering::Relaxed), many);
        }
        first.owners().store(1, Ordering::Relaxed);
        assert_eq!(*first.clone(), 7);
    }
}
