//! The buffers' size can be changed while they are used, and nothing is lost by it.

mod written;

use ghc_eventlog::format::{CapNo, Event};
use ghc_eventlog::{EventLog, ResizeError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use written::{Gated, Memory, Written};

const MINIMUM: usize = 65_571;

fn number_in(text: &str) -> usize {
    let number = text.split(' ').next().unwrap();
    number.parse().unwrap()
}

#[test]
fn a_million_events_of_four_threads_survive_a_thousand_resizes() {
    const THREADS: u16 = 4;
    const EVENTS: usize = if cfg!(miri) { 1_000 } else { 250_000 };
    const RESIZES: usize = 1_000;
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
    let running = AtomicUsize::new(THREADS.into());
    let resizes = thread::scope(|scope| {
        for mut capability in capabilities {
            let running = &running;
            scope.spawn(move || {
                for event in 0..EVENTS {
                    let text = format!("{event} {}", "x".repeat(event % 23));
                    while capability
                        .try_emit(&Event::UserMessage { text: &text })
                        .is_err()
                    {
                        thread::yield_now();
                    }
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let sizes = [MINIMUM, 1 << 18, 100_000, 1 << 20, 70_000, 300_000];
        let mut resizes = 0;
        // All of them are made, some after the last event where the threads were fast.
        while resizes < RESIZES || running.load(Ordering::Relaxed) != 0 {
            let size = sizes[resizes % sizes.len()];
            log.resize(size).unwrap();
            assert_eq!(log.buffers_size(), size);
            resizes += 1;
            thread::yield_now();
        }
        resizes
    });
    assert!(resizes >= RESIZES);
    let statistics = log.stop().unwrap();
    let written = Written::read("resized", &memory.content());
    for cap in 0..THREADS {
        let messages = written.messages(cap);
        assert_eq!(messages.len(), EVENTS);
        for (event, text) in messages.into_iter().enumerate() {
            assert_eq!(number_in(text), event);
        }
        assert_eq!(
            statistics.capabilities[usize::from(cap)].events,
            EVENTS as u64
        );
    }
    assert_eq!(statistics.shared.lost.total(), 0);
}

#[test]
fn every_block_keeps_its_marker_and_every_event_its_place_over_resizes_of_a_busy_and_an_idle_buffer()
 {
    let memory = Memory::default();
    let log = EventLog::builder()
        .buffer_size(2 << 20)
        .flush_interval(Duration::from_secs(3_600))
        .start(memory.clone())
        .unwrap();
    let mut busy = log.capability().unwrap();
    let idle = log.capability().unwrap();
    let of = |log: &EventLog| {
        let statistics = log.statistics();
        let [busy, idle] = statistics.capabilities[..] else {
            panic!("two capabilities")
        };
        (busy, idle, statistics.shared)
    };
    busy.message("2 MiB");
    assert_eq!(of(&log).1.size, 2 << 20);

    let small = MINIMUM;
    log.resize(small).unwrap();
    busy.message("the least");
    let (busy_now, idle_now, shared) = of(&log);
    assert_eq!((busy_now.size, idle_now.size), (small, small));
    // The idle one has given everything back, the busy one all but the chunk that it is filling.
    assert_eq!(idle_now.memory, 0);
    assert!(busy_now.memory < (2 << 20) / 4 + 1_024, "{busy_now:?}");
    // Its chunks have lengths that are powers of two, and a flag for each byte.
    assert_eq!(shared.size, 2 << 17);

    for refused in [65_536, 1, 0] {
        assert_eq!(
            log.resize(refused),
            Err(ResizeError::TooSmall {
                bytes: refused,
                minimum: MINIMUM
            })
        );
    }
    let refused = log.resize(usize::MAX).unwrap_err();
    assert!(matches!(
        refused,
        ResizeError::TooLarge {
            bytes: usize::MAX,
            ..
        }
    ));
    assert_eq!(log.buffers_size(), small);
    assert_eq!(of(&log).0.size, small);

    log.resize(2 << 20).unwrap();
    busy.message("2 MiB again");
    log.flush().unwrap();
    assert_eq!(log.buffers_size(), 2 << 20);
    let late = log.capability().unwrap();
    assert_eq!(log.statistics().capabilities[2].size, 2 << 20);
    drop((busy, idle, late));
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    let written = Written::read("resized-pending", &memory.content());
    assert_eq!(written.messages(0), ["2 MiB", "the least", "2 MiB again"]);
    let of_busy = written
        .blocks
        .iter()
        .filter(|block| block.cap == CapNo::new(0));
    assert_eq!(of_busy.count() as u64, statistics.capabilities[0].blocks);
}

#[test]
fn a_larger_buffer_takes_more_and_a_smaller_one_less_and_its_memory_comes_back() {
    let gate = Arc::new(Mutex::new(()));
    let log = EventLog::builder()
        .buffer_size(MINIMUM)
        .flush_interval(Duration::from_secs(3_600))
        .start(Gated {
            gate: Arc::clone(&gate),
            memory: Memory::default(),
        })
        .unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let event = Event::UserMessage {
        text: &"x".repeat(1_000),
    };
    let mut fill = || {
        let _closed = gate.lock().unwrap();
        let mut bytes = 0;
        while capability.try_emit(&event).is_ok() {
            bytes += event.encoded_len();
        }
        bytes
    };
    assert!(fill() >= MINIMUM - 1_012);
    log.resize(1 << 20).unwrap();
    log.flush().unwrap();
    assert!(fill() >= (1 << 20) - 4 * 1_012);
    log.flush().unwrap();
    let grown = log.statistics().capabilities[0].memory;
    assert!(grown >= 1 << 20, "{grown}");
    log.resize(MINIMUM).unwrap();
    fill();
    log.flush().unwrap();
    let shrunk = log.statistics().capabilities[0].memory;
    assert!(shrunk < MINIMUM + 1_024, "{shrunk}");
}

#[test]
fn a_log_that_has_ended_is_resized_without_effect() {
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    let capability = log.capability().unwrap();
    log.stop().unwrap();
    let content = memory.content();
    log.resize(1 << 20).unwrap();
    drop(capability);
    log.resize(MINIMUM).unwrap();
    drop(log);
    assert_eq!(memory.content(), content);
}
