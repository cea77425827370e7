//! How much memory a log takes that is kept in memory, however long it runs.

use ghc_eventlog::format::Event;
use ghc_eventlog::{Capability, EventLog, Keep, NoChunk, WhenFull};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Counts what is allocated by the process and not freed.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// All that has ever been allocated.
static TOTAL: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's own doing; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        TOTAL.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests share the count, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

const BUFFER: usize = 4 * 66_000;
const BUDGET: usize = 1 << 20;
/// Two buffers, that of no capability, and what each may keep of chunks that came back: 16 of a quarter of it.
const BUFFERS: usize = 3 * (BUFFER + 16 * BUFFER / 4);
/// What the log takes besides, threads and lists.
const REST: usize = 1 << 20;

/// The most memory that `run` had in use beyond what was there before.
fn peak_of(run: impl FnOnce()) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run();
    PEAK.load(Ordering::Relaxed) - before
}

/// Events of so many bytes, each tried until it is taken in.
fn emit(capability: &mut Capability, bytes: usize) {
    let text = "x".repeat(1_000);
    let mut emitted = 0;
    while emitted < bytes {
        match capability.try_emit(&Event::UserMessage { text: &text }) {
            Ok(()) => emitted += text.len(),
            Err(_) => thread::yield_now(),
        }
    }
}

#[test]
fn filled_chunks_are_handed_over_without_a_copy_and_used_again() {
    let _turn = TURN.lock().unwrap();
    let builder = EventLog::builder().buffer_size(BUFFER);
    let (log, chunks) = builder.in_memory(BUDGET, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    let before = TOTAL.load(Ordering::Relaxed);
    let mut popped = 0;
    for _ in 0..200 {
        emit(&mut capability, BUFFER / 4);
        while let Ok(chunk) = chunks.chunk() {
            popped += chunk.len();
        }
    }
    assert!(popped > 100 * BUFFER / 4);
    let allocated = TOTAL.load(Ordering::Relaxed) - before;
    assert!(allocated < popped / 4, "{allocated} for {popped}");
    log.stop().unwrap();
}

#[test]
fn chunks_take_no_more_than_the_budget_and_the_buffers_however_much_goes_through() {
    let _turn = TURN.lock().unwrap();
    let peak = peak_of(|| {
        let builder = EventLog::builder().buffer_size(BUFFER);
        let (log, chunks) = builder.in_memory(BUDGET, WhenFull::DropNewest).unwrap();
        let capabilities = [log.capability().unwrap(), log.capability().unwrap()];
        let consumer = thread::spawn(move || {
            let mut bytes = 0;
            loop {
                match chunks.wait_chunk(Duration::from_secs(60)) {
                    Ok(chunk) => bytes += chunk.len(),
                    Err(NoChunk::Finished) => return bytes,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        thread::scope(|scope| {
            for mut capability in capabilities {
                scope.spawn(move || emit(&mut capability, 20 * BUDGET));
            }
        });
        log.stop().unwrap();
        assert!(consumer.join().unwrap() > 40 * BUDGET);
    });
    assert!(peak > BUFFER, "the counting works: {peak}");
    assert!(peak < BUDGET + BUFFERS + REST, "{peak}");
}

#[test]
fn a_recorder_takes_what_it_keeps_and_the_buffers_and_twice_as_much_for_a_snapshot() {
    let _turn = TURN.lock().unwrap();
    let peak = peak_of(|| {
        let log = EventLog::builder()
            .buffer_size(BUFFER)
            .flush_interval(Duration::from_millis(2))
            .flight_recorder(Keep::bytes(BUDGET))
            .unwrap();
        let capabilities = [log.capability().unwrap(), log.capability().unwrap()];
        thread::scope(|scope| {
            for mut capability in capabilities {
                scope.spawn(move || emit(&mut capability, 20 * BUDGET));
            }
            for _ in 0..50 {
                log.snapshot(io::sink()).unwrap();
            }
        });
        assert!(log.stop().unwrap().lost().overwritten > 30_000);
    });
    assert!(peak > BUDGET, "the counting works: {peak}");
    assert!(peak < 2 * BUDGET + BUFFERS + REST, "{peak}");
}
