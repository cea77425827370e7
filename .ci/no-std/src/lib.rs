//! A program without std: what it defines here, std would define a second time.

#![no_std]

extern crate alloc;

use chunkring as _;
use core::alloc::{GlobalAlloc, Layout};

struct NoMemory;

// SAFETY: null is the documented answer of an allocator that has nothing to give, and nothing is ever given back.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoMemory = NoMemory;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
