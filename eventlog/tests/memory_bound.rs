//! How much memory a log takes that is kept in memory, however long it runs.

mod counted;

use counted::{allocated, peak_of, turn};
use ghc_eventlog::format::Event;
use ghc_eventlog::{Capability, EventLog, Keep, NoChunk, WhenFull};
use std::io;
use std::thread;
use std::time::Duration;

const BUFFER: usize = 4 * 66_000;
const BUDGET: usize = 1 << 20;
/// Two buffers, that of no capability, and what each may keep of chunks that came back: 16 of a quarter of it.
const BUFFERS: usize = 3 * (BUFFER + 16 * BUFFER / 4);
/// What the log takes besides, threads and lists.
const REST: usize = 1 << 20;

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
    let _turn = turn();
    let builder = EventLog::builder().buffer_size(BUFFER);
    let (log, chunks) = builder.in_memory(BUDGET, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    let before = allocated();
    let mut popped = 0;
    for _ in 0..200 {
        emit(&mut capability, BUFFER / 4);
        while let Ok(chunk) = chunks.chunk() {
            popped += chunk.len();
        }
    }
    assert!(popped > 100 * BUFFER / 4);
    let allocated = allocated() - before;
    assert!(allocated < popped / 4, "{allocated} for {popped}");
    log.stop().unwrap();
}

#[test]
fn chunks_take_no_more_than_the_budget_and_the_buffers_however_much_goes_through() {
    let _turn = turn();
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
    let _turn = turn();
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
