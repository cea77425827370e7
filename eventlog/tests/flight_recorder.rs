//! A flight recorder: what a snapshot has, what it leaves alone, and what is forgotten.

mod written;

use ghc_eventlog::format::{
    BlockMarker, Decoded, END_MARKER, Event, Header, LossCause, StopStatus, ThreadId, events,
};
use ghc_eventlog::{Builder, EventLog, Keep, Sink, SnapshotError};
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use written::{Memory, Written};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(60);

fn sleepy() -> Builder {
    EventLog::builder()
        .buffer_size(4 * 66_000)
        .flush_interval(Duration::from_secs(3_600))
}

fn snapshot(log: &EventLog) -> Vec<u8> {
    let mut written = Vec::new();
    let bytes = log.snapshot(&mut written).unwrap();
    assert_eq!(bytes, written.len() as u64);
    written
}

/// Numbers in the user messages of one capability, as they come.
fn numbers(written: &Written, cap: u16) -> Vec<u64> {
    let messages = written.messages(cap);
    messages
        .iter()
        .map(|text| text.trim().parse().unwrap())
        .collect()
}

/// Events that the log says are lost for that reason.
fn told(log: &[u8], reason: LossCause) -> u64 {
    let header = Header::standard();
    let mut blocks = &log[header.encode().len()..];
    let mut sum = 0;
    while blocks.len() > END_MARKER.len() {
        let marker = BlockMarker::from_bytes(blocks.first_chunk().unwrap());
        let (block, rest) = blocks.split_at(marker.size as usize);
        for event in events(&block[BlockMarker::LEN..], header) {
            if let Decoded::Known(Event::EventsLost { cause, events, .. }) =
                event.unwrap().decode().unwrap()
            {
                sum += if cause == reason { events } else { 0 };
            }
        }
        blocks = rest;
    }
    sum
}

#[test]
fn a_snapshot_has_what_was_emitted_before_it_and_consumes_nothing() {
    let log = sleepy().flight_recorder(Keep::bytes(1 << 20)).unwrap();
    let mut capability = log.capability().unwrap();
    for number in 0..50 {
        capability.message(&number.to_string());
        let written = Written::read("snapshot", &snapshot(&log));
        assert!(numbers(&written, 0).into_iter().eq(0..=number));
    }
    log.flush().unwrap();
    log.stop().unwrap();
    let after = Written::read_prefix(&snapshot(&log), true);
    assert_eq!(
        numbers(&after, 0).len(),
        50,
        "the last part of a stopped log"
    );
}

#[test]
fn a_snapshot_under_load_is_a_valid_log_without_a_gap_and_is_no_burden() {
    let log = sleepy()
        .flush_interval(Duration::from_millis(2))
        .flight_recorder(Keep::bytes(1 << 19))
        .unwrap();
    let stop = AtomicBool::new(false);
    let emitted = [const { AtomicU64::new(0) }; 4];
    let capabilities: Vec<_> = (0..4).map(|_| log.capability().unwrap()).collect();
    thread::scope(|scope| {
        for (mut capability, emitted) in capabilities.into_iter().zip(&emitted) {
            let stop = &stop;
            scope.spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    let text = format!("{number:>40}");
                    if capability
                        .try_emit(&Event::UserMessage { text: &text })
                        .is_ok()
                    {
                        number += 1;
                        // Release: pairs with the Acquire below.
                        emitted.store(number, Ordering::Release);
                    } else {
                        thread::yield_now();
                    }
                }
            });
        }
        for round in 0..10 {
            let before = emitted
                .each_ref()
                .map(|emitted| emitted.load(Ordering::Acquire));
            let log = snapshot(&log);
            let written = match round % 5 {
                0 => Written::read(&format!("loaded-snapshot-{round}"), &log),
                _ => Written::read_prefix(&log, true),
            };
            for (cap, before) in before.into_iter().enumerate() {
                let numbers = numbers(&written, cap as u16);
                assert!(numbers.is_sorted());
                if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
                    assert_eq!(last - first + 1, numbers.len() as u64, "no gap");
                    assert!(last + 1 >= before, "what had been emitted is in it");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let statistics = log.stop().unwrap();
    let log = snapshot(&log);
    assert_eq!(
        told(&log, LossCause::Overwritten),
        statistics.lost().overwritten
    );
    assert!(log.len() < (1 << 19) + 100_000);
}

#[test]
fn what_is_forgotten_is_counted_and_told_before_what_is_kept() {
    let log = sleepy().flight_recorder(Keep::bytes(200_000)).unwrap();
    let mut capability = log.capability().unwrap();
    let mut refused = 0;
    let mut number = 0;
    while number < 20_000 {
        let text = format!("{number:>48}");
        match capability.try_emit(&Event::UserMessage { text: &text }) {
            Ok(()) => number += 1,
            Err(_) => {
                refused += 1;
                thread::yield_now();
            }
        }
    }
    let recorded = snapshot(&log);
    let statistics = log.statistics();
    let lost = statistics.lost();
    assert_eq!(lost.full, refused);
    assert!(lost.overwritten > 15_000);
    assert_eq!(told(&recorded, LossCause::Overwritten), lost.overwritten);
    let written = Written::read("forgotten", &recorded);
    let kept = numbers(&written, 0);
    assert!(kept.iter().copied().eq(20_000 - kept.len() as u64..20_000));
    assert_eq!(
        statistics.capabilities[0].lost.overwritten,
        20_000 - kept.len() as u64
    );
    assert!(recorded.len() < 200_000 + 10_000);
}

/// How often each event of that type is in the log.
fn count(written: &Written, id: u16) -> usize {
    written.events.iter().filter(|event| event.id == id).count()
}

#[test]
fn a_snapshot_defines_what_was_defined_in_blocks_that_are_forgotten_and_nothing_twice() {
    let log = sleepy().flight_recorder(Keep::bytes(200_000)).unwrap();
    let mut capability = log.capability().unwrap();
    let (thread, gone) = (ThreadId(7), ThreadId(8));
    for thread in [thread, gone] {
        capability.emit(&Event::CreateThread { thread });
        capability.emit(&Event::ThreadLabel {
            thread,
            label: "worker",
        });
        capability.emit(&Event::RunThread { thread });
        capability.emit(&Event::StopThread {
            thread,
            status: StopStatus::Yielding,
            info: 0,
        });
    }
    let text = "marked by the program";
    capability
        .emit_sticky(&Event::UserMessage { text })
        .unwrap();
    let mut rounds = Vec::new();
    for round in 0..6 {
        if round == 3 {
            capability.emit(&Event::RunThread { thread: gone });
            capability.emit(&Event::StopThread {
                thread: gone,
                status: StopStatus::Finished,
                info: 0,
            });
        }
        let filler = "x".repeat(1_000);
        for _ in 0..100 {
            while capability
                .try_emit(&Event::UserMarker { name: &filler })
                .is_err()
            {
                thread::yield_now();
            }
        }
        let written = Written::read(&format!("definitions-{round}"), &snapshot(&log));
        // Capability sets and what is said of them, the capability, its assignments, the mark.
        for (id, expected) in [
            (25, 2),
            (29, 1),
            (30, 1),
            (32, 1),
            (43, 1),
            (45, 1),
            (27, 2),
        ] {
            assert_eq!(count(&written, id), expected, "type {id} in round {round}");
        }
        assert_eq!(written.messages(0), [text]);
        rounds.push(count(&written, 0));
    }
    assert!(log.statistics().lost().overwritten > 200);
    assert_eq!(
        rounds[..4],
        [2; 4],
        "the finished thread ends in what is kept"
    );
    assert_eq!(rounds[5], 1, "it is forgotten with its end");
}

#[test]
fn a_window_keeps_what_is_younger_and_forgets_what_is_much_older() {
    let window = Duration::from_millis(300);
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(10))
        .flight_recorder(Keep::bytes(1 << 24).newest(window))
        .unwrap();
    let mut capability = log.capability().unwrap();
    let deadline = Instant::now() + DEADLINE;
    let mut emitted = Vec::new();
    loop {
        // Before it is emitted: its stamp is no earlier.
        emitted.push(log.clock().now());
        capability.message(&(emitted.len() - 1).to_string());
        let written = Written::read_prefix(&snapshot(&log), true);
        let end = log.clock().now();
        let kept = numbers(&written, 0);
        assert_eq!(kept.last().copied(), Some(emitted.len() as u64 - 1));
        let first = kept[0] as usize;
        assert_eq!(kept.len(), emitted.len() - first, "no gap");
        if first > 0 {
            // The clock went on during the snapshot, but the event before was there for the window.
            let age = Duration::from_nanos(end - emitted[first - 1]);
            assert!(age >= window, "forgotten at the age of {age:?}");
        }
        if first > 3 {
            break;
        }
        assert!(Instant::now() < deadline, "old events stay");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_second_snapshot_at_the_same_time_is_refused_and_a_later_one_is_not() {
    struct Nested(EventLog, Vec<u8>, u32);
    impl Write for Nested {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let refused = self.0.snapshot(io::sink()).unwrap_err();
            assert!(matches!(refused, SnapshotError::Busy));
            self.2 += 1;
            // The log itself goes on: nothing is locked here.
            self.0.message("meanwhile");
            self.0.flush().unwrap();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = sleepy().flight_recorder(Keep::bytes(1 << 20)).unwrap();
    let mut nested = Nested(log.clone(), Vec::new(), 0);
    log.snapshot(&mut nested).unwrap();
    assert!(nested.2 > 0);
    let before = Written::read_prefix(&nested.1, true);
    assert!(!before.events.iter().any(|event| event.text == "meanwhile"));
    let after = Written::read_prefix(&snapshot(&log), true);
    assert!(after.events.iter().any(|event| event.text == "meanwhile"));
}

#[test]
fn a_writer_that_fails_costs_the_recorder_nothing() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = sleepy().flight_recorder(Keep::bytes(1 << 20)).unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("1");
    for room in [0, 10, 3_000] {
        let failed = log.snapshot(Full(room)).unwrap_err();
        assert!(matches!(failed, SnapshotError::Io(_)), "{room}");
        let panics = panic::catch_unwind(panic::AssertUnwindSafe(|| log.snapshot(Panics)));
        assert!(panics.is_err());
    }
    assert_eq!(
        numbers(&Written::read_prefix(&snapshot(&log), true), 0),
        [1]
    );
}

struct Panics;

impl Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic::resume_unwind(Box::new("no"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_without_a_recorder_has_no_snapshot() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let refused = log.snapshot(io::sink()).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotRecording));
    let (log, _chunks) = EventLog::builder()
        .in_memory(1 << 20, Default::default())
        .unwrap();
    let refused = log.snapshot(io::sink()).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotRecording));
}

#[test]
fn a_panic_hook_writes_what_the_panicking_thread_emitted_last() {
    let log = sleepy().flight_recorder(Keep::bytes(1 << 20)).unwrap();
    let written = Memory::default();
    let before = panic::take_hook();
    panic::set_hook({
        let (log, written) = (log.clone(), written.clone());
        Box::new(move |info| {
            let ours = info.payload().downcast_ref::<&str>() == Some(&"as planned");
            if ours {
                log.message("panicked");
                log.snapshot(written.clone()).unwrap();
            } else {
                before(info);
            }
        })
    });
    let mut capability = log.capability().unwrap();
    let worker = thread::spawn(move || {
        capability.message("7");
        panic!("as planned");
    });
    assert!(worker.join().is_err());
    let written = Written::read("panicked", &written.content());
    assert_eq!(numbers(&written, 0), [7]);
    assert!(written.events.iter().any(|event| event.text == "panicked"));
}
