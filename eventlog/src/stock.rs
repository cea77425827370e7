//! Memory for a buffer's chunks that was allocated beforehand, so that a change of size is known to
//! succeed before anything has changed. Knows nothing of what is in the chunks.

use chunkring::Source;
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a buffer's ring gets the memory for its chunks from: blocks that lie in stock, and the global
/// allocator where none is of the right layout. Clones are the same stock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stock(Arc<Mutex<Blocks>>);

/// Blocks that nothing uses.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    idle: Vec<Block>,
    /// How many blocks that come back are kept.
    wanted: usize,
}

#[derive(Debug)]
struct Block {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is memory that nothing else uses, and may be used and freed by any thread.
unsafe impl Send for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the memory came from the global allocator with this layout, and is this block's.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl Blocks {
    /// Keeps no more than `most`.
    pub(crate) fn truncate(&mut self, most: usize) {
        self.idle.truncate(most);
    }

    pub(crate) fn len(&self) -> usize {
        self.idle.len()
    }

    pub(crate) fn append(&mut self, mut more: Blocks) {
        self.idle.append(&mut more.idle);
    }
}

impl Stock {
    /// A stock that keeps the first `wanted` blocks that come back to it; `None` where memory for the
    /// list cannot be had.
    pub(crate) fn keeping(wanted: usize) -> Option<Self> {
        let mut idle = Vec::new();
        idle.try_reserve_exact(wanted).ok()?;
        Some(Stock(Arc::new(Mutex::new(Blocks { idle, wanted }))))
    }

    /// What is in stock, to be looked at or changed.
    pub(crate) fn blocks(&self) -> MutexGuard<'_, Blocks> {
        // Nothing that panics is done under it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes everything out.
    pub(crate) fn take(&self) -> Blocks {
        std::mem::take(&mut *self.blocks())
    }
}

// SAFETY: a block in stock is the global allocator's of exactly its layout, and is given away once;
// anything else comes from the global allocator itself.
unsafe impl Source for Stock {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let mut blocks = self.blocks();
        if let Some(index) = blocks.idle.iter().position(|block| block.layout == layout) {
            let block = std::mem::ManuallyDrop::new(blocks.idle.swap_remove(index));
            return Some(block.memory);
        }
        drop(blocks);
        // SAFETY: the layout's size is not zero, as the ring promises.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
        let block = Block { memory, layout };
        let mut blocks = self.blocks();
        if blocks.idle.len() < blocks.wanted {
            blocks.idle.push(block);
        } else {
            drop(blocks);
            drop(block);
        }
    }
}
