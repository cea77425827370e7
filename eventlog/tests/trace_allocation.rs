//! Tracing allocates nothing in the steady state, and does without a capability where there is no memory.

mod traced;
mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{EventLog, trace, trace_event, trace_marker, trace_span};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use traced::{on_thread, traced, traced_with, turn};

/// Counts what the calling thread allocates, and refuses what it is told to.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// The least bytes that are refused.
    static REFUSED: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: everything is the system allocator's own doing; counting allocates nothing, and a null
// pointer is a refusal.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        if layout.size() >= REFUSED.get() {
            return std::ptr::null_mut();
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
static ALLOCATOR: Counting = Counting;

fn allocations_of(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    run();
    ALLOCATIONS.with(Cell::get) - before
}

fn all_kinds(number: u64) {
    trace_event!("literal");
    trace_event!("{number} and {:>40}", "text");
    trace_marker!("{number:?}");
    let _span = trace_span!("a span");
    let _waiting = trace::blocked();
    trace::emit(&Event::GcStart);
    if number % 1_000 == 999 {
        trace_event!("{:>65535}", number);
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    let mut allocations = [0; 2];
    let builder = EventLog::builder().buffer_size(1 << 18);
    let (_, statistics) = traced_with("steady", builder, || {
        // Signs on, and has written its longest text.
        allocations[0] = allocations_of(|| all_kinds(999));
        allocations[1] = allocations_of(|| (0..20_000).for_each(all_kinds));
    });
    assert_ne!(allocations[0], 0, "the counting works");
    assert_eq!(allocations[1], 0);
    let of_thread = statistics.capabilities[0];
    assert!(of_thread.events + of_thread.lost.full > 20_000 * 9);
}

#[test]
fn nothing_is_allocated_without_a_log() {
    let _turn = turn();
    let allocations = on_thread("off", || allocations_of(|| (0..10).for_each(all_kinds)));
    assert_eq!(allocations, 0);
}

#[test]
fn without_memory_for_a_capability_events_go_to_the_shared_buffer() {
    let (said, statistics) = traced("refused", || {
        on_thread("poor", || {
            // Less than any buffer.
            REFUSED.set(60_000);
            trace_event!("{} is poor", "this thread");
            trace_marker!("poor");
            let _span = trace_span!("poor");
            let _waiting = trace::blocked();
            assert_eq!(trace::thread_id(), None);
            REFUSED.set(usize::MAX);
            // It stays there.
            trace_event!("rich");
        });
        on_thread("rich", || trace_event!("rich"));
    });
    assert_eq!(
        said.shared,
        [
            "message this thread is poor",
            "marker poor",
            "message START poor",
            "message rich",
            "message STOP poor",
        ]
    );
    assert_eq!(said.caps.len(), 1);
    assert_eq!(said.texts(0), ["message rich"]);
    assert_eq!(statistics.lost().total(), 0);
}
