//! The memory that two halves own jointly, freed by the half that ends last.
//!
//! An `Arc` would do but for its allocation, which aborts the process where memory cannot be had.

use super::shared::Shared;
use crate::primitive::{AtomicBool, Ordering, alloc, dealloc};
use core::alloc::Layout;
use core::ops::Deref;
use core::ptr::NonNull;

/// One of the two owners of a [`Shared`].
pub(super) struct Joint<T> {
    block: NonNull<Block<T>>,
}

struct Block<T> {
    shared: Shared<T>,
    /// Whether one owner is gone, so that the other is the last.
    one_gone: AtomicBool,
}

impl<T> Joint<T> {
    /// Both owners of `shared`, or `None` where the allocator refuses; then `shared` is dropped.
    pub(super) fn pair(shared: Shared<T>) -> Option<(Self, Self)> {
        // SAFETY: a block has fields, so its layout's size is not zero.
        let memory = unsafe { alloc(Layout::new::<Block<T>>()) };
        let block = NonNull::new(memory.cast::<Block<T>>())?;
        let one_gone = AtomicBool::new(false);
        // SAFETY: the memory was just allocated for a block.
        unsafe { block.write(Block { shared, one_gone }) };
        Some((Joint { block }, Joint { block }))
    }
}

impl<T> Deref for Joint<T> {
    type Target = Shared<T>;

    #[inline(always)]
    fn deref(&self) -> &Shared<T> {
        // SAFETY: the block lives until both owners are gone, and only shared references to its
        // parts are made before that.
        unsafe { &(*self.block.as_ptr()).shared }
    }
}

impl<T> Drop for Joint<T> {
    fn drop(&mut self) {
        // SAFETY: this owner is not gone yet, so the block lives.
        let one_gone = unsafe { &(*self.block.as_ptr()).one_gone };
        // Release: what this owner did comes before the other's freeing. Acquire: what the other
        // owner did comes before this one's. Both pair with the other owner's same swap.
        if !one_gone.swap(true, Ordering::AcqRel) {
            return;
        }
        debug_assert!(
            self.fixed.producer_gone.load(Ordering::Relaxed)
                && self.fixed.consumer_gone.load(Ordering::Relaxed),
            "what a half still uses is not freed"
        );
        // Freed also where dropping an item panics.
        let _memory = Memory(self.block);
        // SAFETY: the other owner is gone, so nothing uses the block any more, and it is dropped
        // by the last owner only.
        unsafe { self.block.drop_in_place() };
    }
}

/// A block's memory, freed at the end of the scope.
struct Memory<T>(NonNull<Block<T>>);

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: `pair` has allocated the block with this layout, and its owners are gone.
        unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Block<T>>()) };
    }
}
