//! A pool that has no memory to give, for shapes that no memory is large enough for: not every
//! allocator that tests run with refuses those quietly.

use chunkring::{Pool, Source};
use std::alloc::Layout;
use std::ptr::NonNull;

struct Nothing;

// SAFETY: no memory is ever given.
unsafe impl Source for Nothing {
    fn allocate(&self, _: Layout) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn free(&self, _: NonNull<u8>, _: Layout) {}
}

pub(crate) fn pool_of_nothing() -> Pool {
    Pool::with_source(usize::MAX, Nothing).unwrap()
}
