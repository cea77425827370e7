//! What a log holds is what was emitted.

mod written;

use ghc_eventlog::EventLog;
use ghc_eventlog::format::{CapNo, CapsetId, CapsetType, Event, ThreadId, ZStr};
use std::thread;
use std::time::Duration;
use written::{Memory, Written};

#[test]
fn every_event_arrives_once_and_in_order_of_emission() {
    const THREADS: u16 = 4;
    const EVENTS: usize = 5_000;
    let memory = Memory::default();
    // Small buffers and a collector that comes often: many blocks, many chunk ends.
    let log = EventLog::builder()
        .buffer_size(1 << 18)
        .flush_interval(Duration::from_millis(1))
        .start(memory.clone())
        .unwrap();
    let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
    thread::scope(|scope| {
        for mut capability in capabilities {
            scope.spawn(move || {
                let number = capability.number();
                for event in 0..EVENTS {
                    let text = format!("{number} {event} {}", "x".repeat(event % 97));
                    while capability
                        .try_emit(&Event::UserMessage { text: &text })
                        .is_err()
                    {
                        thread::yield_now();
                    }
                }
            });
        }
        let log = &log;
        scope.spawn(move || {
            for event in 0..EVENTS / 10 {
                log.message(&format!("shared {event}"));
            }
        });
    });
    let statistics = log.stop().unwrap();
    let written = Written::read("order", &memory.content());

    for cap in 0..THREADS {
        let messages = written.messages(cap);
        assert_eq!(messages.len(), EVENTS);
        for (event, text) in messages.into_iter().enumerate() {
            assert_eq!(text, format!("{cap} {event} {}", "x".repeat(event % 97)));
        }
        let counted = statistics.capabilities[usize::from(cap)];
        assert_eq!(counted.capability, CapNo::new(cap));
        assert_eq!(counted.events, written.count(CapNo::new(cap)));
    }
    let shared: Vec<_> = written
        .events
        .iter()
        .filter(|event| event.cap.is_none())
        .collect();
    assert_eq!(statistics.shared.events, shared.len() as u64);
    assert_eq!(
        shared.iter().filter(|event| event.id == 19).count(),
        EVENTS / 10
    );
    assert_eq!(statistics.blocks, written.blocks.len() as u64);
    assert_eq!(statistics.bytes_written, memory.content().len() as u64);
}

#[test]
fn time_never_runs_backwards_within_a_capability_and_blocks_enclose_their_events() {
    let memory = Memory::default();
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .start(memory.clone())
        .unwrap();
    let mut first = log.capability().unwrap();
    // A capability that moves between threads may move between processors, too.
    for _ in 0..20 {
        first = thread::spawn(move || {
            for _ in 0..200 {
                first.emit(&Event::GcStart);
            }
            first
        })
        .join()
        .unwrap();
    }
    drop(first);
    log.stop().unwrap();
    let written = Written::read("time", &memory.content());
    let times: Vec<_> = written
        .events
        .iter()
        .filter(|e| e.cap.is_some())
        .map(|e| e.time)
        .collect();
    assert_eq!(times.len(), 4_000);
    assert!(times.is_sorted());
    let of_cap = || written.blocks.iter().filter(|block| block.cap.is_some());
    assert_eq!(
        of_cap().map(|block| block.begin).min(),
        times.first().copied()
    );
    assert!(of_cap().map(|block| block.end).max() >= times.last().copied());
    assert!(written.blocks.iter().all(|block| block.begin <= block.end));
}

#[test]
fn the_log_says_first_what_process_it_is_of_and_last_that_it_is_gone() {
    let memory = Memory::default();
    let log = EventLog::builder()
        .arguments(["prog", "a b", "nul\0cut"])
        .start(memory.clone())
        .unwrap();
    let dropped = log.capability().unwrap();
    let left = log.capability().unwrap();
    drop(dropped);
    log.stop().unwrap();
    drop(left);

    let content = memory.content();
    let written = Written::read("process", &content);
    let shared: Vec<_> = written
        .events
        .iter()
        .filter(|e| e.cap.is_none())
        .map(|event| event.id)
        .collect();
    let beginning = [25, 25, 29, 30, 32, 33, 43];
    assert_eq!(shared[..7], beginning);
    // Each capability comes (45, 27, 27) and goes (28, 28, 46); then the sets do (26).
    let rest = [45, 27, 27, 45, 27, 27, 28, 28, 46, 28, 28, 46, 26, 26];
    assert_eq!(shared[7..], rest);

    let mut arguments = Vec::new();
    let args = [
        ZStr::new("prog").unwrap(),
        ZStr::new("a b").unwrap(),
        ZStr::new("nul").unwrap(),
    ];
    let args = ghc_eventlog::format::Strings::new(&args);
    Event::ProgramArgs {
        capset: CapsetId::OS_PROCESS,
        args,
    }
    .encode_to_vec(0, &mut arguments);
    let payload = &arguments[10..];
    assert!(
        content
            .windows(payload.len())
            .any(|window| window == payload)
    );
    let mut pid = Vec::new();
    Event::OsProcessPid {
        capset: CapsetId::OS_PROCESS,
        pid: std::process::id(),
    }
    .encode_to_vec(0, &mut pid);
    assert!(content.windows(8).any(|window| window == &pid[10..]));
    let mut kind = Vec::new();
    Event::CapsetCreate {
        capset: CapsetId::CLOCK_DOMAIN,
        kind: CapsetType::ClockDomain,
    }
    .encode_to_vec(0, &mut kind);
    assert!(content.windows(6).any(|window| window == &kind[10..]));
}

#[test]
fn text_that_is_too_long_is_cut_between_characters() {
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    let mut capability = log.capability().unwrap();
    capability.message(&"ü".repeat(100_000));
    capability.marker(&"a".repeat(65_535));
    capability.emit(&Event::ThreadLabel {
        thread: ThreadId(1),
        label: &"€".repeat(30_000),
    });
    drop(capability);
    assert_eq!(log.stop().unwrap().capabilities[0].events, 3);
    let written = Written::read("cut", &memory.content());
    let texts: Vec<_> = written
        .events
        .iter()
        .filter(|e| e.cap.is_some())
        .map(|e| e.text.as_str())
        .collect();
    assert_eq!(texts[0], "ü".repeat(32_767));
    assert_eq!(texts[1], "a".repeat(65_535));
}

#[test]
fn the_lowest_free_number_is_given_out_and_its_users_are_counted_together() {
    let memory = Memory::default();
    let log = EventLog::builder().start(memory.clone()).unwrap();
    let numbers = |log: &EventLog| {
        let mut capabilities: Vec<_> = (0..3).map(|_| log.capability().unwrap()).collect();
        for capability in &mut capabilities {
            capability.message("here");
        }
        capabilities
            .iter()
            .map(|capability| capability.number().get())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&log), [0, 1, 2]);
    // The numbers are free once the last event has been written.
    log.flush().unwrap();
    assert_eq!(numbers(&log), [0, 1, 2]);
    let statistics = log.stop().unwrap();
    let events: Vec<_> = statistics
        .capabilities
        .iter()
        .map(|buffer| buffer.events)
        .collect();
    assert_eq!(events, [2, 2, 2]);
    let written = Written::read("numbers", &memory.content());
    assert_eq!(written.messages(1), ["here", "here"]);
}
