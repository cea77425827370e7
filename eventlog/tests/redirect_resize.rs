//! A log that is redirected and resized at the same time, while it is written.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{EventLog, Previous, Sink, Start};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use written::Written;

/// How many redirections and resizes there are, by the environment's `EVENTLOG_ROUNDS`: fewer where everything
/// is slow.
fn rounds() -> u64 {
    let rounds = std::env::var("EVENTLOG_ROUNDS").ok();
    rounds.map_or(1_000, |rounds| rounds.parse().unwrap())
}

#[test]
fn redirections_and_resizes_at_once_leave_every_event_in_exactly_one_sink() {
    const THREADS: u16 = 4;
    /// Of each thread, for each redirection.
    const EVENTS: u64 = 250;
    let rounds = rounds();
    let (first, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .sink(first)
        .unwrap();
    let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
    let emitted = AtomicU64::new(0);
    // So that what is emitted and the cuts keep pace.
    let allowed = AtomicU64::new(4_000);
    let redirecting = AtomicBool::new(true);
    let resizes = thread::scope(|scope| {
        for mut capability in capabilities {
            let (emitted, allowed) = (&emitted, &allowed);
            scope.spawn(move || {
                for event in 0..EVENTS * rounds {
                    // Relaxed: only how far others have come.
                    while emitted.load(Ordering::Relaxed) > allowed.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                    let text = &event.to_string();
                    while capability.try_emit(&Event::UserMessage { text }).is_err() {
                        thread::yield_now();
                    }
                    emitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let resizing = scope.spawn(|| {
            let sizes = [65_571, 1 << 18, 100_000, 1 << 20, 70_000, 300_000];
            let mut resizes = 0;
            while resizes < rounds || redirecting.load(Ordering::Relaxed) {
                log.resize(sizes[resizes as usize % sizes.len()]).unwrap();
                resizes += 1;
                thread::yield_now();
            }
            resizes
        });
        for round in 0..rounds {
            log.message(&format!("shared {round}"));
            let due = round * EVENTS * u64::from(THREADS);
            allowed.store(due + 4_000, Ordering::Relaxed);
            while emitted.load(Ordering::Relaxed) < due {
                thread::yield_now();
            }
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        redirecting.store(false, Ordering::Relaxed);
        allowed.store(u64::MAX, Ordering::Relaxed);
        resizing.join().unwrap()
    });
    assert!(resizes >= rounds);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().sink, 0);

    let mut expected = [0; THREADS as usize];
    for (round, content) in contents.iter().enumerate() {
        let written = Written::read_prefix(&content.bytes(), true);
        for cap in 0..THREADS {
            let next = &mut expected[usize::from(cap)];
            for number in written.messages(cap) {
                assert_eq!(number, next.to_string(), "capability {cap}, sink {round}");
                *next += 1;
            }
        }
        let shared = written.events.iter();
        let shared: Vec<_> = shared
            .filter(|event| event.cap.is_none() && event.id == 19)
            .map(|event| event.text.as_str())
            .collect();
        match (round as u64) < rounds {
            true => assert_eq!(shared, [format!("shared {round}")]),
            false => assert!(shared.is_empty()),
        }
    }
    assert_eq!(expected, [EVENTS * rounds; THREADS as usize]);
}
