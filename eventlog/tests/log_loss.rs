//! Nothing is lost but what is counted as lost, by its cause.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{EmitError, EventLog};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;
use written::{Gated, Memory, Written};

/// How many logs a race is tried on, by the environment's `EVENTLOG_ROUNDS`: where everything is slow, each
/// is tried for longer.
fn rounds() -> u64 {
    let rounds = std::env::var("EVENTLOG_ROUNDS").ok();
    rounds.map_or(100, |rounds| rounds.parse().unwrap())
}

#[test]
fn a_stuck_sink_stops_nobody_and_costs_only_what_does_not_fit() {
    let gate = Arc::new(Mutex::new(()));
    let memory = Memory::default();
    let sink = Gated {
        gate: Arc::clone(&gate),
        memory: memory.clone(),
    };
    let log = EventLog::builder()
        .buffer_size(1 << 18)
        .start(sink)
        .unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();

    let closed: MutexGuard<'_, ()> = gate.lock().unwrap();
    let mut taken = Vec::new();
    let mut refused = 0;
    for number in 0..20_000 {
        let text = format!("number {number} of those that are emitted");
        match capability.try_emit(&Event::UserMessage { text: &text }) {
            Ok(()) => taken.push(text),
            Err(error) => {
                assert_eq!(error, EmitError::Full);
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && taken.len() > 1_000);
    drop(closed);
    log.flush().unwrap();
    // There is room again.
    capability
        .try_emit(&Event::UserMessage { text: "after" })
        .unwrap();
    taken.push("after".into());
    drop(capability);

    let statistics = log.stop().unwrap();
    let counted = statistics.capabilities[0];
    assert_eq!(
        (counted.events, counted.lost.full),
        (taken.len() as u64, refused)
    );
    assert_eq!(statistics.lost().total(), refused);
    let written = Written::read("stuck", &memory.content());
    assert_eq!(written.messages(0), taken);
}

/// Takes a few bytes at a time, is interrupted now and then, and sometimes has no room at all.
struct Moody {
    calls: u64,
    memory: Memory,
}

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        // The header goes through first.
        match self.calls % 11 {
            _ if self.calls == 1 => self.memory.write(bytes),
            3 => Err(io::ErrorKind::Interrupted.into()),
            7 => Err(io::ErrorKind::StorageFull.into()),
            9 => Ok(0),
            some => self
                .memory
                .write(&bytes[..bytes.len().min(some as usize * 1_000)]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_and_recovers_gets_every_byte_once() {
    let memory = Memory::default();
    let sink = Moody {
        calls: 0,
        memory: memory.clone(),
    };
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .start(sink)
        .unwrap();
    let mut capability = log.capability().unwrap();
    for number in 0..2_000 {
        let text = format!("{number} {}", "y".repeat(100));
        while capability
            .try_emit(&Event::UserMessage { text: &text })
            .is_err()
        {
            thread::yield_now();
        }
    }
    drop(capability);
    while log.flush().is_err() {}
    let errors = log.statistics().sink_errors;
    let statistics = loop {
        match log.stop() {
            Ok(statistics) => break statistics,
            // A bad moment: what is left is counted as lost, and offered again.
            Err(error) => assert!(error.statistics().sink_errors > errors),
        }
    };
    assert!(errors > 10, "{errors}");
    assert_eq!(statistics.lost().sink, 0);
    let written = Written::read("moody", &memory.content());
    let expected: Vec<_> = (0..2_000)
        .map(|number| format!("{number} {}", "y".repeat(100)))
        .collect();
    assert_eq!(written.messages(0), expected);
}

/// Takes `room` bytes and then no more.
struct Small {
    room: Arc<AtomicUsize>,
    memory: Memory,
}

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room.load(Ordering::Relaxed));
        self.room.fetch_sub(taken, Ordering::Relaxed);
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.memory.write(&bytes[..taken])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_a_sink_never_took_is_counted_when_the_log_is_stopped() {
    // Wherever the sink fills up: between blocks, in a marker, in an event.
    for room in (3_700..5_000).step_by(7) {
        let memory = Memory::default();
        let left = Arc::new(AtomicUsize::new(room));
        let sink = Small {
            room: Arc::clone(&left),
            memory: memory.clone(),
        };
        let log = EventLog::builder()
            .flush_interval(Duration::from_secs(3_600))
            .start(sink)
            .unwrap();
        let mut first = log.capability().unwrap();
        let mut second = log.capability().unwrap();
        for number in 0..20 {
            first.message(&format!("first {number}"));
            second.message(&format!("second {number}"));
            if number == 10 {
                // Where this fails, the rest of the block waits.
                let _ = log.flush();
                first.message("one more");
            }
        }
        drop(first);
        let (statistics, failed) = match log.stop() {
            Ok(statistics) => (statistics, false),
            Err(error) => (error.statistics().clone(), true),
        };
        let written = Written::read_prefix(&memory.content(), !failed);
        for buffer in statistics.capabilities.iter().chain([&statistics.shared]) {
            assert_eq!(
                buffer.events - buffer.lost.sink,
                written.count(buffer.capability),
                "room {room}, {buffer:?}"
            );
        }
        assert_eq!(statistics.capabilities[0].events, 21);
        assert_eq!(failed, Written::is_cut(&memory.content()));
        // A flush of a log that has ended is no success either, as long as something is left.
        assert_eq!(failed, log.flush().is_err());

        // More room turns the loss into a whole log.
        left.store(usize::MAX, Ordering::Relaxed);
        let statistics = log.stop().unwrap();
        assert_eq!(statistics.lost().total(), 0);
        let written = Written::read("small", &memory.content());
        for buffer in statistics.capabilities.iter().chain([&statistics.shared]) {
            assert_eq!(buffer.events, written.count(buffer.capability));
        }
    }
}

#[test]
fn a_sink_that_panics_is_a_sink_that_fails() {
    struct Panicking(bool);
    impl Write for Panicking {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(!std::mem::replace(&mut self.0, true), "the sink is broken");
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = EventLog::builder().start(Panicking(false)).unwrap();
    log.message("lost");
    assert_eq!(log.flush().unwrap_err().to_string(), "the sink panicked");
    let error = log.stop().unwrap_err();
    let shared = error.statistics().shared;
    assert_eq!(shared.events, shared.lost.sink);
}

#[test]
fn a_log_that_is_stopped_under_load_holds_exactly_the_events_it_counts() {
    for round in 0..20 {
        let memory = Memory::default();
        let log = EventLog::builder().start(memory.clone()).unwrap();
        let accepted = AtomicU64::new(0);
        let attempts = AtomicU64::new(0);
        let started = AtomicBool::new(false);
        let statistics = thread::scope(|scope| {
            for _ in 0..3 {
                let mut capability = log.capability().unwrap();
                let (accepted, attempts, started) = (&accepted, &attempts, &started);
                scope.spawn(move || {
                    loop {
                        let outcome = capability.try_emit(&Event::UserMessage { text: "again" });
                        attempts.fetch_add(1, Ordering::Relaxed);
                        started.store(true, Ordering::Relaxed);
                        match outcome {
                            Ok(()) => _ = accepted.fetch_add(1, Ordering::Relaxed),
                            Err(EmitError::Stopped) => break,
                            Err(_) => {}
                        }
                    }
                });
            }
            while !started.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_micros(round * 50));
            log.stop().unwrap();
            log.clone()
        })
        .statistics();
        let written = Written::read(&format!("load-{round}"), &memory.content());
        let in_log = written.events.iter().filter(|event| event.id == 19).count() as u64;
        let counted: u64 = statistics
            .capabilities
            .iter()
            .map(|buffer| buffer.events)
            .sum();
        assert_eq!(in_log, counted);
        // What the log took in late has been counted as lost, so everything is accounted for.
        let lost: u64 = statistics
            .capabilities
            .iter()
            .map(|buffer| buffer.lost.total())
            .sum();
        assert_eq!(counted + lost, attempts.load(Ordering::Relaxed));
        assert!(accepted.load(Ordering::Relaxed) >= counted);
    }
}

#[test]
fn what_stop_counts_is_what_the_log_holds_whoever_still_emits() {
    let rounds = rounds();
    for round in 0..rounds {
        let memory = Memory::default();
        let log = EventLog::builder().start(memory.clone()).unwrap();
        thread::scope(|scope| {
            // More threads than processors: some are stopped in the middle of an event.
            for _ in 0..4 {
                let mut capability = log.capability().unwrap();
                scope.spawn(move || {
                    while capability.try_emit(&Event::GcStart) != Err(EmitError::Stopped) {}
                });
            }
            thread::sleep(Duration::from_micros(500 + round * 3_000 / rounds));
            let statistics = log.stop().unwrap();
            let written = Written::read_prefix(&memory.content(), true);
            for buffer in statistics.capabilities.iter().chain([&statistics.shared]) {
                assert_eq!(buffer.events, written.count(buffer.capability));
                assert_eq!(buffer.lost.sink, 0);
            }
        });
    }
}

#[test]
fn statistics_never_go_back_while_threads_come_and_go() {
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .start(io::sink())
        .unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (log, done) = (&log, &done);
            scope.spawn(move || {
                for _ in 0..300 {
                    let mut capability = log.capability().unwrap();
                    for _ in 0..50 {
                        capability.emit(&Event::GcStart);
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
        }
        let mut last = log.statistics();
        while !done.load(Ordering::Relaxed) {
            let now = log.statistics();
            assert!(now.events() >= last.events() && now.elapsed >= last.elapsed);
            assert!(now.bytes_written >= last.bytes_written && now.blocks >= last.blocks);
            for before in &last.capabilities {
                let mut same = now.capabilities.iter();
                let after = same
                    .find(|after| after.capability == before.capability)
                    .expect("a capability that was there stays in the list");
                assert!(after.events >= before.events && after.bytes >= before.bytes);
            }
            last = now;
        }
    });
    let of_threads: u64 = log
        .stop()
        .unwrap()
        .capabilities
        .iter()
        .map(|buffer| buffer.events + buffer.lost.total())
        .sum();
    assert_eq!(of_threads, 2 * 300 * 50);
}
