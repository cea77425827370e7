//! What the process takes of memory: what its allocations add up to, and what it occupies.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, and how much of it is in use.
pub(crate) struct Counting;

// Relaxed: the numbers stand for themselves, and are compared only while the threads that allocate rest.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's own doing; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the system allocator's demands.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            let before = BYTES.fetch_add(layout.size(), Ordering::Relaxed);
            PEAK.fetch_max(before + layout.size(), Ordering::Relaxed);
            BLOCKS.fetch_add(1, Ordering::Relaxed);
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Bytes that are allocated, and in how many pieces.
    pub(crate) bytes: usize,
    pub(crate) blocks: usize,
    /// The most bytes since this was last asked for.
    pub(crate) peak: usize,
    /// Bytes of the process that are in memory; 0 where the system does not say so.
    pub(crate) resident: usize,
}

impl Memory {
    /// What is in use now.
    pub(crate) fn now() -> Self {
        let bytes = BYTES.load(Ordering::Relaxed);
        Memory {
            bytes,
            blocks: BLOCKS.load(Ordering::Relaxed),
            peak: PEAK.swap(bytes, Ordering::Relaxed),
            resident: resident(),
        }
    }
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| {
        let rest = line.strip_prefix("VmRSS:")?;
        rest.trim().strip_suffix(" kB")?.parse::<usize>().ok()
    });
    kilobytes.unwrap_or(0) * 1024
}
