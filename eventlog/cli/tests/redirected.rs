//! `eventlog merge` of a log that was redirected while threads lived: each event once, and no thread does
//! what it cannot, also where a piece is missing.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{
    CapNo, CostCentreFlags, Decoded, Decoder, Event, EventsByTime, Record, StopStatus, ThreadId,
    ZStr,
};
use ghc_eventlog::{Capability, EventLog, MemoryContent, Previous, Sink, Start};
use support::{elv, run};

/// What a capability says of a thread.
fn create(on: &mut Capability, thread: u32, label: &str) {
    let thread = ThreadId(thread);
    on.emit(&Event::CreateThread { thread });
    on.emit(&Event::ThreadLabel { thread, label });
}

fn runs(on: &mut Capability, thread: u32) {
    let thread = ThreadId(thread);
    on.emit(&Event::RunThread { thread });
}

fn stops(on: &mut Capability, thread: u32, status: StopStatus) {
    let thread = ThreadId(thread);
    on.emit(&Event::StopThread {
        thread,
        status,
        info: 0,
    });
}

fn wakes(on: &mut Capability, thread: u32) {
    let (thread, other) = (ThreadId(thread), on.number());
    on.emit(&Event::ThreadWakeup { thread, other });
}

fn redirect(log: &EventLog) -> MemoryContent {
    let (sink, content) = Sink::memory();
    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
    content
}

/// A log in three files, with threads that live across the cuts.
fn pieces(dir: &Path) -> [PathBuf; 3] {
    let (sink, first) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let capability = || log.capability().unwrap();
    let (mut one, mut two, mut three) = (capability(), capability(), capability());
    let (mut four, mut five, mut six) = (capability(), capability(), capability());
    log.emit(&Event::HeapProfCostCentre {
        cost_centre: 7,
        label: ZStr::new("centre").unwrap(),
        module: ZStr::new("Main").unwrap(),
        location: ZStr::new("here").unwrap(),
        flags: CostCentreFlags::CAF,
    });
    log.emit_sticky(&Event::UserMarker { name: "sticky" })
        .unwrap();
    for thread in 1..=8 {
        create(&mut one, thread, &format!("thread {thread}"));
    }
    // Those that stay as they are over both cuts: made, stopped, woken up, and running.
    for thread in [2, 3, 7] {
        runs(&mut one, thread);
        stops(&mut one, thread, StopStatus::BlockedOnMVar);
    }
    wakes(&mut two, 3);
    runs(&mut three, 4);
    // Those that run over the first cut.
    runs(&mut two, 5);
    runs(&mut four, 6);
    create(&mut five, 10, "gone");
    runs(&mut five, 10);
    create(&mut one, 11, "again");
    runs(&mut one, 11);
    stops(&mut one, 11, StopStatus::BlockedOnMVar);
    wakes(&mut two, 11);
    create(&mut one, 12, "moved");
    runs(&mut six, 12);
    one.message("first");
    let second = redirect(&log);
    stops(&mut two, 5, StopStatus::BlockedOnMVar);
    wakes(&mut one, 5);
    stops(&mut four, 6, StopStatus::Yielding);
    create(&mut two, 9, "late");
    runs(&mut four, 9);
    runs(&mut one, 6);
    wakes(&mut two, 7);
    let label = "renamed";
    let thread = ThreadId(8);
    one.emit(&Event::ThreadLabel { thread, label });
    stops(&mut five, 10, StopStatus::Finished);
    runs(&mut two, 11);
    stops(&mut two, 11, StopStatus::BlockedOnMVar);
    wakes(&mut six, 11);
    stops(&mut six, 12, StopStatus::Yielding);
    runs(&mut five, 12);
    one.message("second");
    let third = redirect(&log);
    one.message("third");
    wakes(&mut two, 2);
    stops(&mut three, 4, StopStatus::Finished);
    runs(&mut two, 3);
    stops(&mut one, 6, StopStatus::HeapOverflow);
    runs(&mut one, 5);
    stops(&mut five, 12, StopStatus::Yielding);
    runs(&mut five, 7);
    stops(&mut four, 9, StopStatus::Finished);
    log.stop().unwrap();
    let contents = [first, second, third].map(|content| content.bytes());
    let mut at = 0;
    contents.map(|content| {
        at += 1;
        let file = dir.join(format!("piece-{at}"));
        fs::write(&file, content).unwrap();
        file
    })
}

/// What happened, by what it happened to, in order of time, and where threads ended up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Story {
    threads: BTreeMap<u32, Vec<String>>,
    labels: BTreeMap<u32, Vec<String>>,
    states: BTreeMap<u32, &'static str>,
    /// Which thread runs where.
    running: BTreeMap<u16, u32>,
    others: BTreeMap<&'static str, u32>,
}

impl Story {
    fn count(&mut self, what: &'static str) {
        *self.others.entry(what).or_default() += 1;
    }

    /// The state machines of `ghc-events validate threads`.
    fn step(&mut self, cap: Option<u16>, thread: ThreadId, step: &str) {
        let state = self.states.entry(thread.0).or_insert("initial");
        *state = match (*state, step) {
            ("initial", "create") => "queued",
            ("queued" | "stopped", "run") => "running",
            ("queued" | "stopped", "wake up") => "queued",
            ("running", "requeue") => "queued",
            ("running", "finish") => "final",
            ("running", "stop") => "stopped",
            (state, step) => panic!("{step} of {state} {thread:?}: {:?}", self.threads),
        };
        let (cap, thread) = (cap.unwrap(), thread.0);
        match step {
            "run" => assert_eq!(self.running.insert(cap, thread), None, "of {thread}"),
            "requeue" | "finish" | "stop" => {
                assert_eq!(self.running.remove(&cap), Some(thread));
            }
            _ => {}
        }
        let steps = self.threads.entry(thread).or_default();
        steps.push(format!("{step} {cap}"));
    }
}

/// Asserts that a log has each capability's events in the order of time.
fn assert_in_order(log: &Path) {
    let bytes = fs::read(log).unwrap();
    let (mut decoder, mut rest) = (Decoder::new(), &bytes[..]);
    let mut last = BTreeMap::new();
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        if let Record::Event(raw) = record {
            let before = last.insert(raw.cap, raw.time).unwrap_or(0);
            assert!(before <= raw.time, "{before}, then {raw:?}");
        }
    }
}

/// Merges these pieces, and reads what came out.
fn merged(dir: &Path, pieces: &[&PathBuf]) -> Story {
    let out = dir.join("merged");
    let args = ["merge", "-o", out.to_str().unwrap()].into_iter();
    let ran = run(args.chain(pieces.iter().map(|piece| piece.to_str().unwrap())));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_in_order(&out);
    let mut events = EventsByTime::new(File::open(&out).unwrap()).unwrap();
    let mut story = Story::default();
    while let Some(raw) = events.next().unwrap() {
        let cap = raw.cap.map(CapNo::get);
        match raw.decode().unwrap() {
            Decoded::Known(Event::CreateThread { thread }) => story.step(cap, thread, "create"),
            Decoded::Known(Event::RunThread { thread }) => story.step(cap, thread, "run"),
            Decoded::Known(Event::ThreadWakeup { thread, .. }) => {
                story.step(cap, thread, "wake up");
            }
            Decoded::Known(Event::StopThread { thread, status, .. }) => {
                let step = match status {
                    StopStatus::Finished => "finish",
                    StopStatus::HeapOverflow => "requeue",
                    _ => "stop",
                };
                story.step(cap, thread, step);
            }
            Decoded::Known(Event::ThreadLabel { thread, label }) => {
                story
                    .labels
                    .entry(thread.0)
                    .or_default()
                    .push(label.to_owned());
            }
            Decoded::Known(Event::HeapProfCostCentre { .. }) => story.count("cost centre"),
            Decoded::Known(Event::UserMarker { .. }) => story.count("sticky"),
            Decoded::Known(Event::UserMessage { text: "first" }) => story.count("first"),
            Decoded::Known(Event::UserMessage { text: "second" }) => story.count("second"),
            Decoded::Known(Event::UserMessage { text: "third" }) => story.count("third"),
            _ => {}
        }
    }
    for of in elv(&[out]).unwrap_or_default() {
        assert_eq!(of["ok"], true, "{of}");
    }
    story
}

/// What the program did.
fn truth() -> Story {
    let threads = [
        (1, "create 0"),
        (2, "create 0, run 0, stop 0, wake up 1"),
        (3, "create 0, run 0, stop 0, wake up 1, run 1"),
        (4, "create 0, run 2, finish 2"),
        (5, "create 0, run 1, stop 1, wake up 0, run 0"),
        (6, "create 0, run 3, stop 3, run 0, requeue 0"),
        (7, "create 0, run 0, stop 0, wake up 1, run 4"),
        (8, "create 0"),
        (9, "create 1, run 3, finish 3"),
        (10, "create 4, run 4, finish 4"),
        (
            11,
            "create 0, run 0, stop 0, wake up 1, run 1, stop 1, wake up 5",
        ),
        (12, "create 0, run 5, stop 5, run 4, stop 4"),
    ];
    let threads = threads.map(|(thread, steps)| {
        let steps = steps.split(", ").map(str::to_owned);
        (thread, steps.collect())
    });
    let states = ["queued", "queued", "running", "final", "running", "queued"];
    let states = states
        .into_iter()
        .chain(["running", "queued", "final", "final", "queued", "stopped"]);
    let mut labels: BTreeMap<u32, Vec<String>> = (1..=8)
        .map(|thread| (thread, vec![format!("thread {thread}")]))
        .collect();
    labels.get_mut(&8).unwrap().push("renamed".to_owned());
    labels.insert(9, vec!["late".to_owned()]);
    labels.insert(10, vec!["gone".to_owned()]);
    labels.insert(11, vec!["again".to_owned()]);
    labels.insert(12, vec!["moved".to_owned()]);
    let others = ["cost centre", "sticky", "first", "second", "third"];
    Story {
        threads: threads.into(),
        labels,
        states: (1..).zip(states).collect(),
        running: [(1, 3), (0, 5), (4, 7)].into(),
        others: others.map(|what| (what, 1)).into(),
    }
}

#[test]
fn every_event_is_there_once_in_whatever_order_the_pieces_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second, third] = &pieces(dir.path());
    for order in [
        vec![first, second, third],
        vec![third, second, first],
        vec![second, first, third],
        vec![second, third, first, second],
    ] {
        assert_eq!(merged(dir.path(), &order), truth(), "{order:?}");
    }
}

#[test]
fn merging_from_the_first_on_makes_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second, third] = &pieces(dir.path());
    merged(dir.path(), &[first, second]);
    let both = dir.path().join("both");
    fs::rename(dir.path().join("merged"), &both).unwrap();
    assert_eq!(merged(dir.path(), &[&both, third]), truth());
    // What goes on from the first one overlaps with it here.
    assert_eq!(merged(dir.path(), &[third, second, &both]), truth());
}

#[test]
fn threads_end_up_where_they_are_whatever_piece_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second, third] = &pieces(dir.path());
    for some in [vec![first, third], vec![third, first], vec![second, third]] {
        let story = merged(dir.path(), &some);
        assert_eq!(story.states, truth().states, "{some:?}");
        for (thread, labels) in truth().labels {
            assert_eq!(story.labels[&thread].last(), labels.last(), "{some:?}");
        }
    }
    let story = merged(dir.path(), &[first, third]);
    // What is known of the missing piece: not when, but that.
    let steps = |thread| story.threads[&thread].join(", ");
    assert_eq!(steps(1), "create 0");
    assert_eq!(steps(2), "create 0, run 0, stop 0, wake up 1");
    assert_eq!(steps(5), "create 0, run 1, stop 1, wake up 1, run 0");
    assert_eq!(steps(6), "create 0, run 3, stop 3, run 0, requeue 0");
    assert_eq!(steps(9), "create 3, run 3, finish 3");
    assert_eq!(steps(10), "create 4, run 4, finish 4");
    assert_eq!(steps(11), "create 0, run 0, stop 0, wake up 1");
    assert_eq!(steps(12), "create 0, run 5, stop 5, run 4, stop 4");
    assert_eq!(story.labels[&8], ["thread 8", "renamed"]);
    assert_eq!(story.labels[&2], ["thread 2"]);
}

#[test]
fn nothing_is_added_to_what_a_program_says_of_its_threads() {
    let dir = tempfile::tempdir().unwrap();
    let (sink, first) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let mut capability = log.capability().unwrap();
    // Three threads on one capability, none of which stops.
    for thread in [1, 2] {
        create(&mut capability, thread, "runs");
        runs(&mut capability, thread);
    }
    let second = redirect(&log);
    create(&mut capability, 3, "runs");
    runs(&mut capability, 3);
    log.stop().unwrap();
    let [first_file, second_file, out] = ["1", "2", "merged"].map(|name| dir.path().join(name));
    fs::write(&first_file, first.bytes()).unwrap();
    fs::write(&second_file, second.bytes()).unwrap();
    let files = [&first_file, &second_file, &out].map(|file| file.to_str().unwrap());
    let ran = run(["merge", files[0], files[1], "-o", files[2]]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let mut events = EventsByTime::new(File::open(&out).unwrap()).unwrap();
    let mut seen = Vec::new();
    while let Some(raw) = events.next().unwrap() {
        match raw.decode().unwrap() {
            Decoded::Known(Event::RunThread { thread }) => seen.push(thread.0),
            Decoded::Known(Event::StopThread { thread, .. }) => panic!("{thread:?} is stopped"),
            _ => {}
        }
    }
    assert_eq!(seen, [1, 2, 3]);
}
