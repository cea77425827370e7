//! A resize that memory cannot be had for changes nothing.

mod written;

use ghc_eventlog::{CapabilityError, EventLog, ResizeError, StartError};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use written::{Memory, Written};

/// Refuses large blocks to a thread that has been given so many.
struct Limited;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

// SAFETY: everything is the system allocator's own doing, or refused.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= 1 << 17 {
            let Some(left) = LEFT.get().checked_sub(1) else {
                return std::ptr::null_mut();
            };
            LEFT.set(left);
        }
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Runs with only so many large blocks to be had by this thread.
fn with_blocks<R>(blocks: u64, run: impl FnOnce() -> R) -> R {
    LEFT.set(blocks);
    let outcome = run();
    LEFT.set(u64::MAX);
    outcome
}

#[test]
fn a_resize_changes_all_buffers_or_none_wherever_memory_ends() {
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    let mut capabilities: Vec<_> = (0..3).map(|_| log.capability().unwrap()).collect();
    for capability in &mut capabilities {
        capability.message("before");
    }
    let sizes = |log: &EventLog| {
        let statistics = log.statistics();
        let buffers = statistics.capabilities.iter().chain([&statistics.shared]);
        buffers
            .map(|buffer| (buffer.size, buffer.memory))
            .collect::<Vec<_>>()
    };
    let before = sizes(&log);
    // Four chunks for each of four buffers.
    for blocks in 0..16 {
        let refused = with_blocks(blocks, || log.resize(2 << 20)).unwrap_err();
        assert!(matches!(refused, ResizeError::Buffer { bytes, .. } if bytes == 2 << 20));
        assert_eq!(sizes(&log), before, "{blocks} blocks");
        assert_eq!(log.buffers_size(), 512 * 1024);
    }
    with_blocks(16, || log.resize(2 << 20)).unwrap();
    assert!(sizes(&log).iter().all(|(size, _)| *size == 2 << 20));
    // What was said to be there is there, whatever memory is left.
    let text = "x".repeat(60_000);
    for capability in &mut capabilities {
        with_blocks(0, || {
            for _ in 0..20 {
                capability.message(&text);
            }
        });
    }
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    let written = Written::read("resize-refused", &memory.content());
    for cap in 0..3 {
        assert_eq!(written.messages(cap).len(), 21);
    }
}

#[test]
fn a_capability_without_memory_is_refused_and_leaves_no_trace() {
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    for blocks in 0..4 {
        let refused = with_blocks(blocks, || log.capability()).unwrap_err();
        assert!(matches!(refused, CapabilityError::Buffer(_)));
    }
    assert_eq!(log.capability().unwrap().number().get(), 0);
    log.stop().unwrap();
    let written = Written::read("no-memory", &memory.content());
    assert_eq!(
        written.events.iter().filter(|event| event.id == 45).count(),
        1
    );
}

#[test]
fn a_file_is_not_touched_where_the_buffers_cannot_be_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.eventlog");
    std::fs::write(&path, "an earlier log").unwrap();
    let refused = with_blocks(0, || EventLog::builder().file(&path)).unwrap_err();
    assert!(matches!(refused, StartError::Buffer(_)));
    assert_eq!(std::fs::read(&path).unwrap(), b"an earlier log");
}
