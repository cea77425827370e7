//! A log that begins late says first what its reader has to know.

mod written;

use ghc_eventlog::format::{
    CapNo, CapsetId, CapsetType, CostCentreFlags, Decoded, Decoder, Event, HeapBreakdown,
    HeapProfFilter, Record, StopStatus, ThreadId, ZStr,
};
use ghc_eventlog::{Capability, EventLog, MemoryContent, Policy, Previous, Sink, Start};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use written::Written;

/// The log's next sink, with a header.
fn redirect(log: &EventLog) -> MemoryContent {
    let (sink, content) = Sink::memory();
    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
    content
}

/// A line for each event: its capability and what it is.
fn lines(mut log: &[u8]) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut lines = Vec::new();
    while let Some(record) = decoder.next(&mut log).unwrap() {
        if let Record::Event(raw) = record {
            let Decoded::Known(event) = raw.decode().unwrap() else {
                panic!("an event of no known type");
            };
            let cap = raw.cap.map(CapNo::get);
            lines.push(format!("{cap:?} {event:?}"));
        }
    }
    lines
}

fn count(lines: &[String], what: &str) -> usize {
    lines.iter().filter(|line| line.contains(what)).count()
}

/// The state machine of `ghc-events validate threads`, over all events in order of time.
fn validate_threads(mut log: &[u8]) -> Result<HashMap<ThreadId, &'static str>, String> {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    while let Some(record) = decoder.next(&mut log).map_err(|e| e.to_string())? {
        if let Record::Event(raw) = record {
            let step = match raw.decode().map_err(|e| e.to_string())? {
                Decoded::Known(Event::CreateThread { thread }) => (thread, "create"),
                Decoded::Known(Event::RunThread { thread }) => (thread, "run"),
                Decoded::Known(Event::ThreadWakeup { thread, .. }) => (thread, "wake up"),
                Decoded::Known(Event::StopThread { thread, status, .. }) => match status {
                    StopStatus::Finished => (thread, "finish"),
                    StopStatus::HeapOverflow
                    | StopStatus::StackOverflow
                    | StopStatus::ForeignCall => (thread, "requeue"),
                    _ => (thread, "stop"),
                },
                _ => continue,
            };
            events.push((raw.time, step));
        }
    }
    events.sort_by_key(|(time, _)| *time);
    let mut states = HashMap::new();
    for (time, (thread, step)) in events {
        let state = states.entry(thread).or_insert("initial");
        *state = match (*state, step) {
            ("initial", "create") => "queued",
            ("queued" | "stopped", "run") => "running",
            ("queued" | "stopped", "wake up") => "queued",
            ("running", "requeue") => "queued",
            ("running", "finish") => "final",
            ("running", "stop") => "stopped",
            (state, step) => return Err(format!("{step} of {state} {thread:?} at {time}")),
        };
    }
    Ok(states)
}

#[test]
fn a_late_log_says_what_process_it_is_of_and_which_capabilities_live() {
    let log = EventLog::builder()
        .arguments(["prog", "a b"])
        .sink(Sink::null())
        .unwrap();
    let gone = log.capability().unwrap();
    let stays = log.capability().unwrap();
    drop(gone);
    log.flush().unwrap();
    // Says that it is gone.
    log.flush().unwrap();
    let content = redirect(&log);
    drop(stays);
    log.stop().unwrap();
    let content = content.bytes();
    Written::read("sticky-process", &content);
    let lines = lines(&content);
    let ids: Vec<_> = lines
        .iter()
        .map(|line| line.split([' ', '{']).nth(1).unwrap())
        .collect();
    let expected = [
        "CapsetCreate",
        "CapsetCreate",
        "RtsIdentifier",
        "ProgramArgs",
        "OsProcessPid",
        "OsProcessPpid",
        "WallClockTime",
        "CapCreate",
        "CapsetAssignCap",
        "CapsetAssignCap",
        // And its end.
        "CapsetRemoveCap",
        "CapsetRemoveCap",
        "CapDelete",
        "CapsetDelete",
        "CapsetDelete",
    ];
    assert_eq!(ids, expected);
    assert_eq!(count(&lines, "CapCreate { cap: CapNo(1) }"), 1);
    assert_eq!(count(&lines, r#"["prog", "a b"]"#), 1);
}

/// One event of every kind of definition, with the number in it.
fn definitions(number: u32, emit: &mut dyn FnMut(&Event<'_>)) {
    let text = format!("definition {number}");
    let text = ZStr::new(&text).unwrap();
    let empty = ZStr::new("").unwrap();
    emit(&Event::HeapProfBegin {
        profile: number as u8,
        period_ns: 5,
        breakdown: HeapBreakdown::CostCentre,
        filter: HeapProfFilter::default(),
    });
    emit(&Event::HeapProfCostCentre {
        cost_centre: number,
        label: text,
        module: text,
        location: text,
        flags: CostCentreFlags::CAF,
    });
    emit(&Event::InfoTable {
        info: u64::from(number),
        name: text,
        closure_description: ZStr::new("7").unwrap(),
        type_description: empty,
        label: empty,
        module: empty,
        location: empty,
    });
    emit(&Event::TickyCounterDef {
        counter: u64::from(number),
        arity: 1,
        argument_kinds: text,
        name: text,
        info: None,
    });
    emit(&Event::ProfBegin {
        tick_interval_ns: u64::from(number),
    });
    emit(&Event::CapsetCreate {
        capset: CapsetId(number + 10),
        kind: CapsetType::Custom,
    });
}

#[test]
fn definitions_are_replayed_once_the_newest_of_each_number() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let mut capability = log.capability().unwrap();
    for number in [1, 2, 2] {
        definitions(number, &mut |event| log.emit(event));
    }
    // From a capability, too.
    definitions(3, &mut |event| capability.emit(event));
    log.emit(&Event::CapsetDelete {
        capset: CapsetId(11),
    });
    // Not yet collected: the cut makes it so.
    let first = redirect(&log);
    definitions(4, &mut |event| log.emit(event));
    let second = redirect(&log);
    log.stop().unwrap();
    for (content, last) in [(first, 4), (second, 4)] {
        let content = content.bytes();
        Written::read(&format!("sticky-definitions-{last}"), &content);
        let lines = lines(&content);
        for number in 1..=last {
            let text = format!("\"definition {number}\"");
            assert_eq!(count(&lines, &format!("cost_centre: {number}, ")), 1);
            assert_eq!(count(&lines, &format!("InfoTable {{ info: {number}, ")), 1);
            assert_eq!(
                count(&lines, &format!("TickyCounterDef {{ counter: {number}, ")),
                1
            );
            assert_eq!(
                count(&lines, &format!("HeapProfBegin {{ profile: {number}, ")),
                1
            );
            assert!(count(&lines, &text) == 3, "{number}");
        }
        assert_eq!(count(&lines, "capset: CapsetId(11)"), 0);
        assert_eq!(count(&lines, "CapsetCreate { capset: CapsetId(12)"), 1);
        // What is defined on a capability stays there.
        assert_eq!(count(&lines, "Some(0) InfoTable { info: 3,"), 1);
    }
}

#[test]
fn what_the_program_marks_is_replayed_until_it_is_removed() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let mut capability = log.capability().unwrap();
    let message = |text| Event::UserMessage { text };
    capability.message("twin");
    let marked = capability.emit_sticky(&message("twin")).unwrap();
    capability.message("twin");
    let shared = log.emit_sticky(&message("shared")).unwrap();
    let never = log.emit_sticky(&message("never replayed")).unwrap();
    // Before the collector has come to it.
    log.remove_sticky(never);
    let first = redirect(&log);
    log.flush().unwrap();
    let second = redirect(&log);
    log.remove_sticky(marked);
    let third = redirect(&log);
    log.remove_sticky(shared);
    log.remove_sticky(shared);
    let fourth = redirect(&log);
    log.stop().unwrap();
    let found = |content: &MemoryContent| {
        let lines = lines(&content.bytes());
        let lines = lines
            .into_iter()
            .filter(|line| line.contains("UserMessage"));
        lines.collect::<Vec<_>>()
    };
    let twin = r#"Some(0) UserMessage { text: "twin" }"#.to_owned();
    let of_shared = r#"None UserMessage { text: "shared" }"#.to_owned();
    assert_eq!(found(&second), found(&first));
    assert_eq!(found(&third), [of_shared]);
    assert_eq!(found(&fourth), Vec::<String>::new());
    assert_eq!(
        found(&first).iter().filter(|line| **line == twin).count(),
        1
    );
    assert_eq!(found(&first).len(), 2);
}

#[test]
fn threads_go_on_in_a_late_log_where_they_were() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let mut capability = log.capability().unwrap();
    let mut stop = |thread, status, info| {
        capability.emit(&Event::CreateThread { thread });
        capability.emit(&Event::RunThread { thread });
        capability.emit(&Event::StopThread {
            thread,
            status,
            info,
        });
    };
    stop(ThreadId(1), StopStatus::Finished, 0);
    stop(ThreadId(2), StopStatus::BlockedOnBlackHole, 77);
    stop(ThreadId(3), StopStatus::HeapOverflow, 0);
    stop(ThreadId(4), StopStatus::BlockedOnMVar, 0);
    let thread = ThreadId(4);
    let other = capability.number();
    capability.emit(&Event::ThreadWakeup { thread, other });
    capability.emit(&Event::CreateThread {
        thread: ThreadId(5),
    });
    let thread = ThreadId(6);
    capability.emit(&Event::CreateThread { thread });
    capability.emit(&Event::RunThread { thread });
    for label in ["first", "six"] {
        capability.emit(&Event::ThreadLabel { thread, label });
    }
    let content = redirect(&log);
    // They go on as they must.
    capability.emit(&Event::StopThread {
        thread,
        status: StopStatus::Finished,
        info: 0,
    });
    for number in 2..=5 {
        let thread = ThreadId(number);
        capability.emit(&Event::RunThread { thread });
        capability.emit(&Event::StopThread {
            thread,
            status: StopStatus::Yielding,
            info: 0,
        });
    }
    let later = redirect(&log);
    log.stop().unwrap();
    let content = content.bytes();
    Written::read("threads-states", &content);
    let states = validate_threads(&content).unwrap();
    assert_eq!(states[&ThreadId(6)], "final");
    assert_eq!((states.len(), states[&ThreadId(5)]), (5, "stopped"));
    let lines = lines(&content);
    let stopped =
        "Some(0) StopThread { thread: ThreadId(2), status: BlockedOnBlackHole, info: 77 }";
    assert_eq!(count(&lines, stopped), 1);
    assert_eq!(
        count(
            &lines,
            r#"ThreadLabel { thread: ThreadId(6), label: "six" }"#
        ),
        1
    );
    assert_eq!(count(&lines, "first"), 0);
    let states = validate_threads(&later.bytes()).unwrap();
    assert!((2..=5).all(|number| states[&ThreadId(number)] == "stopped"));
    assert!(!states.contains_key(&ThreadId(6)));
}

#[test]
fn what_a_thread_did_before_it_finished_does_not_revive_it_whichever_capability_is_read_first() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    let stop = |thread, status| Event::StopThread {
        thread,
        status,
        info: 0,
    };
    for (number, first) in [(1, 0), (2, 1)] {
        let thread = ThreadId(number);
        let begins = &mut capabilities[first];
        begins.emit(&Event::CreateThread { thread });
        begins.emit(&Event::RunThread { thread });
        begins.emit(&Event::ThreadLabel {
            thread,
            label: "gone",
        });
        begins.emit(&stop(thread, StopStatus::Yielding));
        let ends = &mut capabilities[1 - first];
        ends.emit(&Event::RunThread { thread });
        ends.emit(&stop(thread, StopStatus::Finished));
    }
    // What was in the same blocks, and then nothing but what is known.
    let contents = [redirect(&log), redirect(&log)];
    log.flush().unwrap();
    // The number is another thread's now.
    let thread = ThreadId(1);
    capabilities[1].emit(&Event::CreateThread { thread });
    let last = redirect(&log);
    log.stop().unwrap();
    for content in contents {
        let lines = lines(&content.bytes());
        assert_eq!(count(&lines, "RunThread"), 0, "{lines:?}");
        assert_eq!(count(&lines, "gone"), 0, "{lines:?}");
    }
    let states = validate_threads(&last.bytes()).unwrap();
    assert_eq!(states, HashMap::from([(thread, "queued")]));
}

/// What a thread does next, from 0: is made, runs, waits, is woken up, runs again, finishes.
fn step(capability: &mut Capability, thread: ThreadId, step: usize) {
    let other = capability.number();
    let stop = |status| Event::StopThread {
        thread,
        status,
        info: 0,
    };
    capability.emit(&match step {
        0 => Event::CreateThread { thread },
        1 | 4 => Event::RunThread { thread },
        2 => stop(StopStatus::BlockedOnMVar),
        3 => Event::ThreadWakeup { thread, other },
        _ => stop(StopStatus::Finished),
    });
}

#[test]
fn a_sink_that_is_continued_hears_of_what_was_defined_and_of_what_threads_did_while_it_was_away() {
    const STEPS: usize = 6;
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    // Each thread is left at one step and found at another, on the other capability.
    let pairs = || (0..=STEPS).flat_map(|left| (left..=STEPS).map(move |found| (left, found)));
    let thread = |(left, found): (usize, usize)| ThreadId((10 * left + found) as u32);
    for (left, found) in pairs() {
        for number in 0..left {
            step(&mut capabilities[0], thread((left, found)), number);
        }
    }
    definitions(1, &mut |event| log.emit(event));
    let saved = log.sink();
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    for (left, found) in pairs() {
        for number in left..found {
            step(&mut capabilities[1], thread((left, found)), number);
        }
    }
    let labelled = ThreadId(12);
    capabilities[1].emit(&Event::ThreadLabel {
        thread: labelled,
        label: "named",
    });
    definitions(2, &mut |event| log.emit(event));
    let marked = log
        .emit_sticky(&Event::UserMarker { name: "marked" })
        .unwrap();
    capabilities[0].message("for nobody");
    log.set_sink(saved, Previous::Close, Start::Continue)
        .unwrap();
    // They go on as they must.
    for (left, found) in pairs() {
        for number in found..STEPS {
            step(&mut capabilities[0], thread((left, found)), number);
        }
    }
    log.remove_sticky(marked);
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let content = content.bytes();
    Written::read("sticky-continued", &content);
    let states = validate_threads(&content).unwrap();
    let made = pairs().filter(|pair| *pair != (0, STEPS)).count();
    // One that was made and finished while the sink was away is nobody's business.
    assert_eq!(states.len(), made);
    assert!(states.values().all(|state| *state == "final"));
    let lines = lines(&content);
    for number in [1, 2] {
        assert_eq!(count(&lines, &format!("InfoTable {{ info: {number},")), 1);
        assert_eq!(count(&lines, &format!("cost_centre: {number}, ")), 1);
    }
    assert_eq!(count(&lines, "marked"), 1);
    assert_eq!(count(&lines, "for nobody"), 0);
    assert_eq!(count(&lines, r#"label: "named""#), 1);
    assert_eq!(count(&lines, "CapCreate"), 2);
}

#[test]
fn a_thread_that_ran_on_a_capability_that_is_gone_is_forgotten() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    for number in 0..100 {
        let mut capability = log.capability().unwrap();
        let thread = ThreadId(number);
        capability.emit(&Event::CreateThread { thread });
        capability.emit(&Event::RunThread { thread });
    }
    log.flush().unwrap();
    log.flush().unwrap();
    let content = redirect(&log);
    let statistics = log.stop().unwrap();
    assert_eq!(count(&lines(&content.bytes()), "CreateThread"), 0);
    assert_eq!(
        statistics.sticky_bytes, 0,
        "everything has been said to be gone"
    );
}

#[test]
fn sticky_events_beyond_their_limit_are_counted_and_not_replayed() {
    let log = EventLog::builder()
        .sticky_limit(20_000)
        .sink(Sink::null())
        .unwrap();
    for number in 0..1_000 {
        log.emit(&Event::InfoTable {
            info: number,
            name: ZStr::new("a table").unwrap(),
            closure_description: ZStr::default(),
            type_description: ZStr::default(),
            label: ZStr::default(),
            module: ZStr::default(),
            location: ZStr::default(),
        });
    }
    let content = redirect(&log);
    let statistics = log.statistics();
    assert!(statistics.sticky_bytes <= 20_000);
    let replayed = count(&lines(&content.bytes()), "InfoTable");
    assert!(replayed > 50);
    assert_eq!(statistics.sticky_refused, 1_000 - replayed as u64);
    assert_eq!(statistics.lost().total(), 0);
    log.stop().unwrap();
}

/// Runs that are allowed where none will be any more.
const NO_MORE: i64 = i64::MIN / 4;

/// Runs green threads that come to it, as many as it may, and sends them on to the others.
fn schedule(
    mut capability: Capability,
    queue: &Receiver<(ThreadId, u32)>,
    others: &[Sender<(ThreadId, u32)>],
    allowed: &AtomicI64,
) {
    let mut emit = |event: &Event<'_>| {
        while capability.try_emit(event).is_err() {
            thread::yield_now();
        }
    };
    let mut turn = 0;
    while allowed.load(Ordering::Relaxed) > NO_MORE {
        if allowed.fetch_sub(1, Ordering::Relaxed) <= 0 {
            allowed.fetch_add(1, Ordering::Relaxed);
            thread::yield_now();
            continue;
        }
        let Ok((thread, runs)) = queue.recv_timeout(Duration::from_millis(5)) else {
            continue;
        };
        turn += 1;
        if runs == 0 {
            emit(&Event::CreateThread { thread });
            emit(&Event::ThreadLabel {
                thread,
                label: &format!("thread {thread}"),
            });
        }
        emit(&Event::RunThread { thread });
        emit(&Event::UserMessage { text: "runs" });
        let (status, next) = match runs % 5 {
            4 => (StopStatus::Finished, 0),
            1 => (StopStatus::HeapOverflow, runs + 1),
            2 => (StopStatus::BlockedOnMVar, runs + 1),
            _ => (StopStatus::Yielding, runs + 1),
        };
        emit(&Event::StopThread {
            thread,
            status,
            info: 0,
        });
        let thread = match status {
            // A new one, with a number of its own.
            StopStatus::Finished => ThreadId(thread.0 + 1_000),
            _ => thread,
        };
        let _ = others[turn % others.len()].send((thread, next));
    }
}

#[test]
fn every_late_log_under_load_satisfies_the_state_machine_of_threads() {
    const CAPABILITIES: usize = 3;
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .sink(Sink::null())
        .unwrap();
    let mut contents = Vec::new();
    let allowed = AtomicI64::new(0);
    let (senders, queues): (Vec<_>, Vec<_>) = (0..CAPABILITIES).map(|_| channel()).unzip();
    for number in 0..20 {
        senders[number as usize % CAPABILITIES]
            .send((ThreadId(number), 0))
            .unwrap();
    }
    thread::scope(|scope| {
        for queue in queues {
            let capability = log.capability().unwrap();
            let (senders, allowed) = (senders.clone(), &allowed);
            scope.spawn(move || schedule(capability, &queue, &senders, allowed));
        }
        drop(senders);
        for _ in 0..200 {
            allowed.fetch_add(50, Ordering::Relaxed);
            // While they run, and so that they all get to.
            while allowed.load(Ordering::Relaxed) > 30 {
                thread::yield_now();
            }
            contents.push(redirect(&log));
        }
        allowed.store(i64::MIN / 2, Ordering::Relaxed);
    });
    log.stop().unwrap();
    let mut seen = 0;
    for (round, content) in contents.iter().enumerate() {
        let content = content.bytes();
        let states = validate_threads(&content).unwrap_or_else(|error| {
            panic!("sink {round}: {error}\n{}", lines(&content).join("\n"));
        });
        // Some have finished, and the one after them is not made yet.
        seen += usize::from(states.len() >= 10);
        match round {
            50 | 100 | 199 => Written::read(&format!("threads-load-{round}"), &content),
            _ => Written::read_prefix(&content, true),
        };
    }
    assert!(seen > 150, "{seen} logs know of threads");
}

#[test]
fn marks_of_overwritten_events_are_forgotten_and_those_of_others_are_not() {
    let builder = EventLog::builder()
        .buffer_size(264_000)
        .policy(Policy::OverwriteOldest)
        .flush_interval(Duration::from_secs(3_600));
    let log = builder.sink(Sink::null()).unwrap();
    let text = "x".repeat(1_000);
    // Far more than the buffer holds, wherever the collector comes in between.
    for round in 0..4 {
        for _ in 0..400 {
            // Refused where the collector reads the oldest chunk.
            let _ = log.emit_sticky(&Event::UserMarker { name: &text });
        }
        let last = format!("last of round {round}");
        let event = Event::UserMarker { name: &last };
        while log.emit_sticky(&event).is_err() {
            thread::yield_now();
        }
        log.flush().unwrap();
    }
    let (sink, content) = Sink::memory();
    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
    log.stop().unwrap();
    let written = Written::read("sticky-overwritten", &content.bytes());
    let last: Vec<_> = written
        .events
        .iter()
        .filter(|event| event.text.starts_with("last"))
        .map(|event| event.text.clone())
        .collect();
    let expected: Vec<_> = (0..4)
        .map(|round| format!("last of round {round}"))
        .collect();
    assert_eq!(last, expected);
}
