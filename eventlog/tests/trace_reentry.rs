//! Events that come while their own thread is in the midst of another one.

mod traced;
mod written;

use ghc_eventlog::{EventLog, trace, trace_event, trace_marker, trace_span};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::hint::black_box;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use traced::{Said, on_thread, traced, turn};
use written::Memory;

/// Traces whatever a thread allocates, where that has been asked for: as a signal handler would, it
/// comes where nobody expects it.
struct Tracing;

thread_local! {
    static TRACES: Cell<bool> = const { Cell::new(false) };
    static TRACED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's own doing; tracing text without arguments on a thread
// that is busy allocates nothing, and neither does it on one that has traced before.
unsafe impl GlobalAlloc for Tracing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if TRACES.get() {
            TRACED.set(TRACED.get() + 1);
            trace_event!("allocating");
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
static ALLOCATOR: Tracing = Tracing;

/// Traces when it is formatted, so many levels deep.
struct Deep(u32);

impl fmt::Display for Deep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.0)?;
        if self.0 > 0 {
            let _span = trace_span!("deep");
            trace_event!("level {}", Deep(self.0 - 1));
        }
        write!(f, ">")
    }
}

#[test]
fn what_formatting_traces_comes_first_and_whole() {
    let (said, _) = traced("deep", || {
        let before = trace::dropped();
        trace_event!("top {} end", Deep(2));
        trace_marker!("{}", Deep(0));
        assert_eq!(trace::dropped(), before);
    });
    assert_eq!(
        said.texts(0),
        [
            "message START deep",
            "message START deep",
            "message level <0>",
            "message STOP deep",
            "message level <1>",
            "message STOP deep",
            "message top <2> end",
            "marker <0>",
        ]
    );
}

struct Failing(bool);

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("so far")?;
        assert!(!self.0, "on purpose");
        Err(fmt::Error)
    }
}

#[test]
fn formatting_that_fails_leaves_what_there_is_and_one_that_panics_leaves_nothing() {
    let (said, _) = traced("failing", || {
        trace_event!("{} and no further", Failing(false));
        let panic = || trace_event!("{}", Failing(true));
        assert!(catch_unwind(AssertUnwindSafe(panic)).is_err());
        trace_event!("{}", "all is well");
    });
    assert_eq!(said.texts(0), ["message so far", "message all is well"]);
}

#[test]
fn an_event_within_another_one_is_dropped_and_counted() {
    let mut counted = [0; 2];
    let mut dropped = 0;
    let (said, statistics) = traced("allocating", || {
        let before = trace::dropped();
        counted = on_thread("allocating", || {
            let allocating = |run: fn()| {
                let count = TRACED.get();
                TRACES.set(true);
                run();
                TRACES.set(false);
                TRACED.get() - count
            };
            // Signing on allocates a buffer, at least.
            let first = allocating(|| trace_event!("first"));
            // Formatting allocates memory, but then the thread is not busy.
            let second = allocating(|| trace_event!("{}", black_box("second")));
            [first, second]
        });
        dropped = trace::dropped() - before;
    });
    assert!(counted[0] > 0 && counted[1] > 0, "{counted:?}");
    assert_eq!(dropped, counted[0]);
    let [rest @ .., last] = &said.texts(0)[..] else {
        panic!("{said:?}");
    };
    assert_eq!(rest[0], "message first");
    assert_eq!(rest[1..], vec!["message allocating"; counted[1] as usize]);
    assert_eq!(*last, "message second");
    assert_eq!(statistics.lost().total(), 0);
}

#[test]
fn installing_asking_and_taking_away_allocate_nothing() {
    let _turn = turn();
    let log = EventLog::builder().start(io::sink()).unwrap();
    let before = TRACED.get();
    TRACES.set(true);
    trace::install(log).unwrap();
    let another = trace::log();
    let taken = trace::uninstall();
    TRACES.set(false);
    assert_eq!(TRACED.get(), before);
    assert!(another.is_some() && taken.is_some());
}

/// Keeps what it is given, and traces it.
struct Talking(Memory);

impl Write for Talking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        trace_event!("{} bytes", bytes.len());
        let _span = trace_span!("writing");
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        trace_event!("flushed");
        Ok(())
    }
}

#[test]
fn a_sink_may_trace_into_the_log_that_it_belongs_to_on_whatever_thread() {
    let _turn = turn();
    let memory = Memory::default();
    let log = EventLog::builder().start(Talking(memory.clone())).unwrap();
    trace::install(log).unwrap();
    let log = trace::log().unwrap();
    // The shared buffer is half full, so whoever signs on may have to empty it first, and is busy then.
    let text = "x".repeat(60_000);
    (0..6).for_each(|_| log.message(&text));
    on_thread("comes", || trace_event!("hello"));
    // The sink runs on this thread, which is not busy.
    log.flush().unwrap();
    on_thread("comes again", || trace_event!("hello"));
    assert!(trace::uninstall().is_some());
    log.stop().unwrap();
    let said = Said::read("talking", &memory.content());
    let said: Vec<_> = said.caps.concat();
    for event in ["hello", "START writing", "STOP writing"] {
        assert!(said.contains(&format!("message {event}")), "{event}");
    }
}
