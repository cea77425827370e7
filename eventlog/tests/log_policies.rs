//! What becomes of events that do not fit is as the policy says, and told where they are missing.

mod written;

use ghc_eventlog::format::{CapNo, Event, LossCause};
use ghc_eventlog::{BufferStatistics, EmitError, EventLog, Policy};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use written::{Gated, Memory, Written};

const SIZE: usize = 1 << 18;

/// A log that nobody drains until somebody asks for it, with a gate that a sink waits at.
fn gated(policy: Policy) -> (EventLog, Memory, Arc<Mutex<()>>) {
    let gate = Arc::new(Mutex::new(()));
    let memory = Memory::default();
    let sink = Gated {
        gate: Arc::clone(&gate),
        memory: memory.clone(),
    };
    let log = EventLog::builder()
        .buffer_size(SIZE)
        .policy(policy)
        .flush_interval(Duration::from_secs(3_600))
        .start(sink)
        .unwrap();
    (log, memory, gate)
}

/// The message that `number` stands in, of a length that depends on it.
fn text(number: u64) -> String {
    format!("{number} {}", "x".repeat(number as usize % 300))
}

fn number_in(text: &str) -> u64 {
    let number = text.split(' ').next().unwrap();
    number.parse().unwrap()
}

/// Checks that messages from 0 on come in order, and that what is missing between two of them is told
/// just there. Gives how many there are, and the number after the last.
fn check_places(written: &Written, cap: u16) -> (u64, u64) {
    let (mut count, mut next, mut told) = (0, 0, 0);
    for event in &written.events {
        if event.cap != CapNo::new(cap) {
            continue;
        }
        if let Some((_, events, _)) = event.lost {
            told += events;
        }
        if event.id == 19 {
            let number = number_in(&event.text);
            assert_eq!(number, next + told, "missing and told before {number}");
            next = number + 1;
            told = 0;
            count += 1;
        }
    }
    (count, next + told)
}

/// Checks that what the log tells of losses is what the statistics count.
fn check_told(written: &Written, counted: &BufferStatistics) {
    let told = |cause| written.lost(counted.capability, cause).0;
    assert_eq!(told(LossCause::Full), counted.lost.full, "{counted:?}");
    assert_eq!(
        told(LossCause::Overwritten),
        counted.lost.overwritten,
        "{counted:?}"
    );
    let in_log = written.count(counted.capability);
    let gone = counted.lost.overwritten + counted.lost.sink;
    assert_eq!(in_log + gone, counted.events, "{counted:?}");
}

/// Every policy, as tests under load use it.
fn policies() -> [Policy; 4] {
    [
        Policy::DropNewest,
        Policy::OverwriteOldest,
        Policy::Grow {
            max_bytes: 4 * SIZE,
        },
        Policy::Wait {
            limit: Duration::from_millis(2),
        },
    ]
}

#[test]
fn seven_drops_are_told_in_the_log_where_they_are_missing() {
    let (log, memory, gate) = gated(Policy::DropNewest);
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let closed = gate.lock().unwrap();
    let mut taken = 0;
    while capability
        .try_emit(&Event::UserMessage { text: &text(taken) })
        .is_ok()
    {
        taken += 1;
    }
    for more in 1..7 {
        capability.message(&text(taken + more));
    }
    let bytes: u64 = (taken..taken + 7)
        .map(|number| 12 + text(number).len() as u64)
        .sum();
    drop(closed);
    log.flush().unwrap();
    capability.message(&text(taken + 7));
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.full, 7);
    let written = Written::read("seven-drops", &memory.content());
    assert_eq!(check_places(&written, 0), (taken + 1, taken + 8));
    assert_eq!(written.lost(CapNo::new(0), LossCause::Full), (7, bytes));
    // Right before the event that came after them.
    let own: Vec<_> = written
        .events
        .iter()
        .filter(|event| event.cap.is_some())
        .collect();
    let [.., lost, last] = own[..] else {
        panic!("there are events")
    };
    assert!(lost.lost.is_some() && last.text == text(taken + 7));
    assert!(lost.time <= last.time);
}

#[test]
fn what_is_lost_last_is_told_before_the_end() {
    for policy in [Policy::DropNewest, Policy::OverwriteOldest] {
        for drop_first in [false, true] {
            let (log, memory, gate) = gated(policy);
            let mut capability = log.capability().unwrap();
            log.flush().unwrap();
            let closed = gate.lock().unwrap();
            for number in 0..20_000 {
                capability.message(&text(number));
                log.message(&text(number));
            }
            if drop_first {
                drop(capability);
            }
            drop(closed);
            let statistics = log.stop().unwrap();
            let written = Written::read("lost-last", &memory.content());
            let (count, next) = check_places(&written, 0);
            assert!(count < next && next == 20_000, "{policy:?}");
            check_told(&written, &statistics.capabilities[0]);
            check_told(&written, &statistics.shared);
            assert!(statistics.shared.lost.total() > 0);
        }
    }
}

#[test]
fn the_newest_events_stay_where_the_oldest_are_overwritten_but_not_what_is_being_read() {
    let (log, memory, gate) = gated(Policy::OverwriteOldest);
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let closed = gate.lock().unwrap();
    // Enough to wake the collector, which hangs with it in its hands.
    let mut number = 0;
    while number < 500 {
        capability.message(&text(number));
        number += 1;
    }
    let flushing = {
        let log = log.clone();
        thread::spawn(move || log.flush().unwrap())
    };
    while number < 50_000 {
        let event = text(number);
        let outcome = capability.try_emit(&Event::UserMessage { text: &event });
        assert_eq!(outcome, Ok(()), "nothing is refused");
        number += 1;
    }
    drop(closed);
    flushing.join().unwrap();
    let statistics = log.stop().unwrap();
    let counted = statistics.capabilities[0];
    assert_eq!((counted.events, counted.lost.full), (50_000, 0));
    assert!(counted.lost.overwritten > 40_000);
    let written = Written::read("overwritten", &memory.content());
    let (count, next) = check_places(&written, 0);
    assert_eq!((count, next), (50_000 - counted.lost.overwritten, 50_000));
    assert_eq!(number_in(written.messages(0).last().unwrap()), 49_999);
    check_told(&written, &counted);
}

#[test]
fn a_buffer_grows_to_its_bound_and_its_memory_comes_back() {
    const BOUND: usize = 4 * SIZE;
    let (log, memory, gate) = gated(Policy::Grow { max_bytes: BOUND });
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let closed = gate.lock().unwrap();
    let mut bytes = 0;
    let mut number = 0;
    let refused = loop {
        let event = text(number);
        match capability.try_emit(&Event::UserMessage { text: &event }) {
            Ok(()) => bytes += 12 + event.len(),
            Err(refused) => break refused,
        }
        number += 1;
    };
    assert_eq!(refused, EmitError::Full);
    assert!(bytes <= BOUND && bytes > BOUND - BOUND / 10, "{bytes}");
    drop(closed);
    log.flush().unwrap();
    let counted = log.statistics().capabilities[0];
    assert!(
        counted.size >= SIZE && counted.size < SIZE + SIZE / 4,
        "{counted:?}"
    );
    assert!(counted.memory < counted.size + SIZE / 4, "{counted:?}");
    capability.message(&text(number + 1));
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.full, 1);
    let written = Written::read("grown", &memory.content());
    assert_eq!(check_places(&written, 0), (number + 1, number + 2));
}

#[test]
fn whoever_may_wait_waits_as_long_as_the_limit_says_and_no_longer() {
    const LIMIT: Duration = Duration::from_millis(50);
    let (log, _, gate) = gated(Policy::Wait { limit: LIMIT });
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let closed = gate.lock().unwrap();
    let waited = |emit: &mut dyn FnMut() -> Result<(), EmitError>| {
        loop {
            let begun = Instant::now();
            if let Err(refused) = emit() {
                assert_eq!(refused, EmitError::Full);
                break begun.elapsed();
            }
        }
    };
    let event = Event::UserMessage { text: &text(299) };
    assert!(waited(&mut || capability.try_emit(&event)) >= LIMIT);
    assert!(waited(&mut || log.try_emit(&event)) >= LIMIT);
    drop(closed);
    // Where room comes meanwhile, nothing is lost.
    log.set_policy(Policy::Wait {
        limit: Duration::from_secs(3_600),
    });
    for _ in 0..5_000 {
        capability.try_emit(&event).unwrap();
        log.try_emit(&event).unwrap();
    }
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.total(), 1);
    assert_eq!(statistics.shared.lost.total(), 1);
}

#[test]
fn another_policy_and_the_logs_end_let_those_go_on_who_wait() {
    for stop in [false, true] {
        let (log, _, gate) = gated(Policy::Wait {
            limit: Duration::from_secs(3_600),
        });
        let mut capability = log.capability().unwrap();
        log.flush().unwrap();
        let closed = gate.lock().unwrap();
        let emitted = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (log, emitted) = (&log, &emitted);
            let waiting = [
                scope.spawn(move || {
                    while capability.try_emit(&Event::GcStart).is_ok() {
                        emitted.fetch_add(1, Ordering::Relaxed);
                    }
                }),
                scope.spawn(move || {
                    while log.try_emit(&Event::GcStart).is_ok() {
                        emitted.fetch_add(1, Ordering::Relaxed);
                    }
                }),
            ];
            // Until nothing goes in any more, so far as one can see.
            let mut before = usize::MAX;
            while before != emitted.load(Ordering::Relaxed) {
                before = emitted.load(Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
            if stop {
                let stopping = scope.spawn(|| log.stop().unwrap());
                for thread in waiting {
                    thread.join().unwrap();
                }
                drop(closed);
                stopping.join().unwrap();
            } else {
                log.set_policy(Policy::DropNewest);
                for thread in waiting {
                    thread.join().unwrap();
                }
            }
        });
    }
}

#[test]
fn a_sink_that_emits_to_its_own_full_log_does_not_wait_for_itself() {
    struct Talking(Arc<Mutex<Option<EventLog>>>, Memory);
    impl Write for Talking {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(log) = &*self.0.lock().unwrap() {
                // More than fits.
                for _ in 0..4_000 {
                    log.message(&"x".repeat(300));
                }
            }
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let own = Arc::new(Mutex::new(None));
    let memory = Memory::default();
    let log = EventLog::builder()
        .buffer_size(SIZE)
        .policy(Policy::Wait {
            limit: Duration::from_secs(3_600),
        })
        .flush_interval(Duration::from_secs(3_600))
        .start(Talking(Arc::clone(&own), memory.clone()))
        .unwrap();
    *own.lock().unwrap() = Some(log.clone());
    // Whoever writes this, here or the collector's thread, has the sink talk.
    log.message("begin");
    log.flush().unwrap();
    *own.lock().unwrap() = None;
    let statistics = log.stop().unwrap();
    assert!(statistics.shared.lost.full > 0);
    let written = Written::read("talking", &memory.content());
    check_told(&written, &statistics.shared);
}

/// Takes a moment for each block, so that buffers fill.
struct Slow(Memory);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_micros(200));
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_event_is_in_the_log_or_told_to_be_lost_under_every_policy_and_every_switch() {
    const THREADS: u16 = 2;
    const EVENTS: u64 = 60_000;
    // Each alone, and each after each other.
    let mut plans: Vec<Vec<Policy>> = policies().map(|policy| vec![policy]).into();
    let [drop_newest, overwrite, grow, wait] = policies();
    plans.push(vec![
        drop_newest,
        overwrite,
        drop_newest,
        grow,
        drop_newest,
        wait,
        overwrite,
        grow,
        overwrite,
        wait,
        grow,
        wait,
    ]);
    for (index, plan) in plans.into_iter().enumerate() {
        let memory = Memory::default();
        let log = EventLog::builder()
            .buffer_size(SIZE)
            .policy(plan[0])
            .start(Slow(memory.clone()))
            .unwrap();
        let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
        let accepted = AtomicU64::new(0);
        let running = AtomicUsize::new(usize::from(THREADS) + 1);
        thread::scope(|scope| {
            let (log, running, accepted) = (&log, &running, &accepted);
            for mut capability in capabilities {
                scope.spawn(move || {
                    for number in 0..EVENTS {
                        let taken = capability.try_emit(&Event::UserMessage {
                            text: &text(number),
                        });
                        accepted.fetch_add(u64::from(taken.is_ok()), Ordering::Relaxed);
                    }
                    running.fetch_sub(1, Ordering::Relaxed);
                });
            }
            scope.spawn(move || {
                for number in 0..EVENTS / 10 {
                    log.message(&text(number));
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
            for policy in plan.iter().cycle().skip(1) {
                if running.load(Ordering::Relaxed) == 0 {
                    break;
                }
                log.set_policy(*policy);
                thread::yield_now();
            }
        });
        let statistics = log.stop().unwrap();
        let written = Written::read(&format!("policies-{index}"), &memory.content());
        let mut taken = 0;
        for cap in 0..THREADS {
            let counted = statistics.capabilities[usize::from(cap)];
            let (count, next) = check_places(&written, cap);
            assert_eq!(next, EVENTS);
            assert_eq!(count + counted.lost.total(), EVENTS);
            check_told(&written, &counted);
            taken += counted.events;
        }
        assert_eq!(taken, accepted.load(Ordering::Relaxed));
        check_told(&written, &statistics.shared);
    }
}

#[test]
fn the_shared_buffer_keeps_the_events_of_eight_threads_whole_in_order_and_counted() {
    const THREADS: usize = 8;
    const EVENTS: usize = 5_000;
    for policy in policies() {
        let memory = Memory::default();
        let log = EventLog::builder()
            .buffer_size(SIZE)
            .policy(policy)
            .start(Slow(memory.clone()))
            .unwrap();
        let before = log.statistics().shared.events;
        let accepted = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (log, accepted) = (&log, &accepted);
                scope.spawn(move || {
                    for number in 0..EVENTS {
                        // Some are as long as events can be.
                        let len = if number % 1_000 == 999 {
                            70_000
                        } else {
                            number % 50
                        };
                        let text = format!("{thread} {number} {}", "y".repeat(len));
                        let taken = log.try_emit(&Event::UserMessage { text: &text });
                        accepted.fetch_add(u64::from(taken.is_ok()), Ordering::Relaxed);
                    }
                });
            }
        });
        let statistics = log.stop().unwrap();
        let written = Written::read("shared-by-eight", &memory.content());
        let mut next = [0; THREADS];
        for event in written.events.iter().filter(|event| event.id == 19) {
            let mut words = event.text.split(' ').map(str::to_owned);
            let mut number = || words.next().unwrap().parse::<usize>();
            let (thread, this) = (number().unwrap(), number().unwrap());
            assert!(this >= next[thread], "{policy:?}: {this} of {thread}");
            next[thread] = this + 1;
        }
        check_told(&written, &statistics.shared);
        let counted = statistics.shared;
        assert_eq!(counted.lost.sink + counted.lost.stopped, 0);
        // The log's own: what it says first, and that it is gone.
        assert_eq!(
            counted.events - before - 2,
            accepted.load(Ordering::Relaxed)
        );
    }
}
