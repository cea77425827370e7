//! Emitting an event allocates nothing, whatever becomes of it.

use ghc_eventlog::EventLog;
use ghc_eventlog::format::{Event, ThreadId};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what the calling thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's own doing; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    run();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn emitting_allocates_nothing_from_the_first_event_on() {
    assert_ne!(
        allocations_of(|| drop(Box::new(1))),
        0,
        "the counting works"
    );
    let log = EventLog::builder()
        .buffer_size(1 << 18)
        .start(std::io::sink())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let long = "é".repeat(50_000);
    let mut taken = 0;
    let allocations = allocations_of(|| {
        for number in 0..200_000 {
            let event = match number % 4 {
                0 => Event::GcStart,
                1 => Event::UserMessage { text: "a message" },
                2 => Event::RunThread {
                    thread: ThreadId(number),
                },
                _ if number % 1_000 == 999 => Event::UserMarker { name: &long },
                _ => Event::UserMarker { name: "a marker" },
            };
            taken += u64::from(capability.try_emit(&event).is_ok());
        }
    });
    assert_eq!(allocations, 0);
    let shared = allocations_of(|| {
        for _ in 0..1_000 {
            log.message("shared");
        }
    });
    assert_eq!(shared, 0);
    // Some chunks have been used again, and some events may not have fitted: neither allocates.
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].events, taken);
    assert_eq!(taken + statistics.capabilities[0].lost.full, 200_000);
    assert!(statistics.capabilities[0].bytes > 1 << 19);
}
