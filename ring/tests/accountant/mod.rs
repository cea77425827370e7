//! The allocator of the tests that count what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what each thread allocates, and refuses where it is told to.
struct Accountant;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    /// How many more allocations are granted.
    static GRANTED: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: every request is handed to the system's allocator as it came, or refused.
unsafe impl GlobalAlloc for Accountant {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        assert_ne!(layout.size(), 0, "an allocation of no bytes");
        let granted = GRANTED.get();
        if granted == 0 {
            return std::ptr::null_mut();
        }
        GRANTED.set(if granted == usize::MAX {
            granted
        } else {
            granted - 1
        });
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ACCOUNTANT: Accountant = Accountant;

/// What `f` returned, how many allocations it made, and by how many bytes memory grew.
pub(crate) fn accounted<R>(f: impl FnOnce() -> R) -> (R, usize, isize) {
    let (allocations, bytes) = (ALLOCATIONS.get(), LIVE_BYTES.get());
    let result = f();
    (
        result,
        ALLOCATIONS.get() - allocations,
        LIVE_BYTES.get() - bytes,
    )
}

/// Runs `f`, in which every allocation after the first `granted` is refused.
pub(crate) fn with_grants<R>(granted: usize, f: impl FnOnce() -> R) -> R {
    GRANTED.set(granted);
    let result = f();
    GRANTED.set(usize::MAX);
    result
}
