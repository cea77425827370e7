//! A log that is redirected while it is written: every event is in exactly one sink, cut at one
//! moment.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{Capability, EventLog, MemoryContent, Previous, SetSinkError, Sink, Start};
use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use written::{Memory, Written};

/// Emits until the event has been taken.
fn emit_surely(capability: &mut Capability, text: &str) {
    while capability.try_emit(&Event::UserMessage { text }).is_err() {
        thread::yield_now();
    }
}

/// The numbers in a capability's messages.
fn numbers(written: &Written, cap: u16) -> Vec<u64> {
    let messages = written.messages(cap);
    messages.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_million_events_over_a_thousand_redirections_are_each_in_exactly_one_sink() {
    const THREADS: u16 = 4;
    const EVENTS: u64 = 250_000;
    const REDIRECTIONS: usize = 1_000;
    let (first, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .sink(first)
        .unwrap();
    let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
    let mut own = log.capability().unwrap();
    let emitted = AtomicU64::new(0);
    // So that what is emitted and the cuts keep pace.
    let allowed = AtomicU64::new(4_000);
    thread::scope(|scope| {
        for mut capability in capabilities {
            let (emitted, allowed) = (&emitted, &allowed);
            scope.spawn(move || {
                for event in 0..EVENTS {
                    while emitted.load(Ordering::Relaxed) > allowed.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                    emit_surely(&mut capability, &event.to_string());
                    emitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..REDIRECTIONS {
            emit_surely(&mut own, &round.to_string());
            log.message(&format!("shared {round}"));
            let due = round as u64 * EVENTS * u64::from(THREADS) / REDIRECTIONS as u64;
            allowed.store(due + 4_000, Ordering::Relaxed);
            while emitted.load(Ordering::Relaxed) < due {
                thread::yield_now();
            }
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        allowed.store(u64::MAX, Ordering::Relaxed);
    });
    drop(own);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().sink, 0);

    let mut expected = [0; THREADS as usize];
    let mut with_events = 0;
    for (round, content) in contents.iter().enumerate() {
        let content = content.bytes();
        let written = match round {
            0 | 17 | 500 | REDIRECTIONS => Written::read(&format!("redirect-{round}"), &content),
            _ => Written::read_prefix(&content, true),
        };
        for cap in 0..THREADS {
            let next = &mut expected[usize::from(cap)];
            for number in numbers(&written, cap) {
                assert_eq!(number, *next, "capability {cap}, sink {round}");
                *next += 1;
            }
        }
        let busy = (0..THREADS).any(|cap| !written.messages(cap).is_empty());
        with_events += usize::from(busy);
        if round < REDIRECTIONS {
            // Emitted before the next call, after the one before it.
            assert_eq!(numbers(&written, THREADS), [round as u64]);
            let shared: Vec<_> = written
                .events
                .iter()
                .filter(|event| event.cap.is_none() && event.id == 19)
                .map(|event| event.text.clone())
                .collect();
            assert_eq!(shared, [format!("shared {round}")]);
        }
    }
    assert_eq!(expected, [EVENTS; THREADS as usize]);
    assert!(with_events > 200, "{with_events}");
}

#[test]
fn a_cut_is_one_moment_for_all_capabilities() {
    // Those between the ones that are used make the look at all of them take its time.
    const APART: usize = 400;
    let (first, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder()
        .buffer_size(1 << 16 | 1 << 8)
        .sink(first)
        .unwrap();
    let capabilities = (0..=APART).map(|_| log.capability().unwrap());
    let mut capabilities: Vec<_> = capabilities.collect();
    let done = AtomicBool::new(false);
    let progress = AtomicU64::new(0);
    let emitted = thread::scope(|scope| {
        // One after the other, each on another capability: no sink may have one without those before.
        let emitting = scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                emit_surely(&mut capabilities[number % 2 * APART], &number.to_string());
                number += 1;
                progress.store(number as u64, Ordering::Relaxed);
            }
            number as u64
        });
        for round in 1..=150 {
            // So that it is busy during every cut.
            while progress.load(Ordering::Relaxed) < 100 * round {
                thread::yield_now();
            }
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        emitting.join().unwrap()
    });
    drop(capabilities);
    log.stop().unwrap();
    let mut next = 0;
    for (index, content) in contents.iter().enumerate() {
        let written = Written::read_prefix(&content.bytes(), true);
        let used = [0, APART as u16].into_iter();
        let mut found: Vec<_> = used.flat_map(|cap| numbers(&written, cap)).collect();
        found.sort_unstable();
        let count = found.len() as u64;
        assert_eq!(
            found,
            (next..next + count).collect::<Vec<_>>(),
            "sink {index}"
        );
        next += count;
    }
    assert_eq!(next, emitted);
}

#[test]
fn a_cut_waits_for_whoever_is_in_the_middle_of_an_event_of_the_shared_buffer() {
    const REDIRECTIONS: usize = 150;
    let (first, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder().sink(first).unwrap();
    let running = AtomicBool::new(true);
    thread::scope(|scope| {
        let (log, running) = (&log, &running);
        // Long ones, so that somebody is within one most of the time.
        scope.spawn(move || {
            let text = "x".repeat(60_000);
            while running.load(Ordering::Relaxed) {
                log.message(&text);
            }
        });
        for round in 0..REDIRECTIONS {
            let text = &format!("shared {round}");
            while log.try_emit(&Event::UserMessage { text }).is_err() {
                thread::yield_now();
            }
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        running.store(false, Ordering::Relaxed);
    });
    log.stop().unwrap();
    for (round, content) in contents.iter().enumerate() {
        let written = Written::read_prefix(&content.bytes(), true);
        let texts = written.events.iter().map(|event| &event.text);
        let own: Vec<_> = texts.filter(|text| text.starts_with("shared")).collect();
        let expected = (round < REDIRECTIONS).then(|| format!("shared {round}"));
        assert_eq!(own, expected.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_cut_is_one_moment_for_capabilities_that_are_made_meanwhile_too() {
    let (first, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder().sink(first).unwrap();
    let mut old = log.capability().unwrap();
    let done = AtomicBool::new(false);
    let progress = AtomicU64::new(0);
    thread::scope(|scope| {
        // One after the other: no sink may have one without those before.
        scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) {
                let mut new = log.capability().unwrap();
                emit_surely(&mut new, &number.to_string());
                emit_surely(&mut old, &(number + 1).to_string());
                number += 2;
                progress.store(number, Ordering::Relaxed);
            }
        });
        for round in 1..=300 {
            while progress.load(Ordering::Relaxed) < 10 * round {
                thread::yield_now();
            }
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    drop(old);
    log.stop().unwrap();
    let mut next = 0;
    for (index, content) in contents.iter().enumerate() {
        let written = Written::read_prefix(&content.bytes(), true);
        let messages = written.events.iter().filter(|event| event.id == 19);
        let mut found: Vec<u64> = messages.map(|event| event.text.parse().unwrap()).collect();
        found.sort_unstable();
        let count = found.len() as u64;
        let expected: Vec<_> = (next..next + count).collect();
        assert_eq!(found, expected, "sink {index}");
        next += count;
    }
    assert_eq!(next, progress.into_inner());
}

#[test]
fn a_capabilitys_events_of_before_the_switch_are_in_the_old_sink() {
    let (first, before) = Sink::memory();
    let (second, after) = Sink::memory();
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .sink(first)
        .unwrap();
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    for (index, capability) in capabilities.iter_mut().enumerate() {
        for number in 0..3 {
            capability.message(&format!("before {index} {number}"));
        }
    }
    log.set_sink(second, Previous::Close, Start::Header)
        .unwrap();
    for (index, capability) in capabilities.iter_mut().enumerate() {
        for number in 0..3 {
            capability.message(&format!("after {index} {number}"));
        }
    }
    log.stop().unwrap();
    for (name, content) in [("before", before), ("after", after)] {
        let content = content.bytes();
        assert_eq!(count(&content, b"hdrb"), 1, "one header");
        let written = Written::read(&format!("redirect-{name}"), &content);
        for cap in 0..2 {
            let expected: Vec<_> = (0..3)
                .map(|number| format!("{name} {cap} {number}"))
                .collect();
            assert_eq!(written.messages(cap), expected);
        }
    }
}

fn count(bytes: &[u8], what: &[u8]) -> usize {
    let windows = bytes.windows(what.len());
    windows.filter(|window| *window == what).count()
}

#[test]
fn a_sink_that_was_kept_is_restored_without_a_header() {
    let (first, content) = Sink::memory();
    let (second, other) = Sink::memory();
    let log = EventLog::builder().sink(first).unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("one");
    let saved = log.sink();
    log.set_sink(second.clone(), Previous::Keep, Start::Header)
        .unwrap();
    capability.message("two");
    assert!(Written::is_cut(&content.bytes()), "kept, not ended");
    log.set_sink(saved, Previous::Keep, Start::Continue)
        .unwrap();
    capability.message("three");
    log.stop().unwrap();
    let written = Written::read("redirect-restored", &content.bytes());
    assert_eq!(written.messages(0), ["one", "three"]);
    assert_eq!(count(&content.bytes(), b"hdrb"), 1);
    assert!(Written::is_cut(&other.bytes()));
    second.close().unwrap();
    second.close().unwrap();
    let written = Written::read("redirect-closed-by-hand", &other.bytes());
    assert_eq!(written.messages(0), ["two"]);
}

/// Takes as many bytes as there is room for, and then refuses: with the error of a full disk, or of
/// a peer that does not read.
#[derive(Clone)]
struct Small {
    room: Arc<AtomicUsize>,
    refusal: io::ErrorKind,
    memory: Memory,
}

impl Small {
    fn new(room: usize, refusal: io::ErrorKind) -> Self {
        Small {
            room: Arc::new(AtomicUsize::new(room)),
            refusal,
            memory: Memory::default(),
        }
    }

    fn set_room(&self, bytes: usize) {
        self.room.store(bytes, Ordering::Relaxed);
    }
}

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room.load(Ordering::Relaxed));
        if taken == 0 {
            return Err(self.refusal.into());
        }
        self.room.fetch_sub(taken, Ordering::Relaxed);
        self.memory.write(&bytes[..taken])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log with 48 KiB of messages for a sink that takes 8 KiB of them.
fn stalled(refusal: io::ErrorKind) -> (EventLog, Capability, Small) {
    let small = Small::new(usize::MAX / 2, refusal);
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .start(small.clone())
        .unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    small.set_room(8 * 1024);
    for number in 0..48 {
        capability.message(&format!("{number} {}", "x".repeat(1_000)));
    }
    (log, capability, small)
}

#[test]
fn a_sink_that_stalls_in_a_block_is_kept_and_goes_on_when_it_is_restored() {
    let (log, mut capability, small) = stalled(io::ErrorKind::WouldBlock);
    let saved = log.sink();
    let (second, content) = Sink::memory();
    log.set_sink(second, Previous::Keep, Start::Header).unwrap();
    assert_eq!(log.statistics().lost().total(), 0, "kept, not lost");
    capability.message("elsewhere");
    // As long as it refuses, it cannot be restored, and the other goes on.
    let refused = log.set_sink(saved.clone(), Previous::Keep, Start::Continue);
    assert!(
        matches!(refused, Err(SetSinkError::Refused(e)) if e.kind() == io::ErrorKind::WouldBlock)
    );
    capability.message("still elsewhere");
    small.set_room(usize::MAX / 2);
    log.set_sink(saved, Previous::Close, Start::Continue)
        .unwrap();
    capability.message("back");
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let written = Written::read("redirect-stalled", &small.memory.content());
    let messages = written.messages(0);
    assert_eq!((messages.len(), messages[48]), (49, "back"));
    let written = Written::read("redirect-meanwhile", &content.bytes());
    assert_eq!(written.messages(0), ["elsewhere", "still elsewhere"]);
}

#[test]
fn what_a_sink_refuses_as_it_is_closed_is_told_and_counted_as_lost() {
    let (log, mut capability, small) = stalled(io::ErrorKind::StorageFull);
    let (second, content) = Sink::memory();
    let error = log
        .set_sink(second, Previous::Close, Start::Header)
        .unwrap_err();
    let SetSinkError::Previous { source, lost } = error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    // The log has been redirected all the same.
    capability.message("after");
    drop(capability);
    let statistics = log.stop().unwrap();
    let prefix = Written::read_prefix(&small.memory.content(), false);
    let taken = prefix.messages(0).len() as u64;
    assert!((1..48).contains(&taken));
    assert_eq!(lost, 48 - taken);
    assert_eq!(statistics.capabilities[0].lost.sink, lost);
    let written = Written::read("redirect-after-loss", &content.bytes());
    assert_eq!(written.messages(0), ["after"]);
}

#[test]
fn a_full_disk_that_recovers_before_the_switch_loses_nothing() {
    let (log, _capability, small) = stalled(io::ErrorKind::StorageFull);
    log.flush().unwrap_err();
    log.flush().unwrap_err();
    small.set_room(usize::MAX / 2);
    log.set_sink(Sink::null(), Previous::Close, Start::Header)
        .unwrap();
    let written = Written::read("redirect-enospc", &small.memory.content());
    assert_eq!(written.messages(0).len(), 48);
    assert_eq!(log.stop().unwrap().lost().total(), 0);
}

#[test]
fn what_a_kept_sink_owes_is_offered_when_the_log_stops_and_counted_where_it_is_refused() {
    for recovers in [true, false] {
        let (log, capability, small) = stalled(io::ErrorKind::StorageFull);
        log.set_sink(Sink::null(), Previous::Keep, Start::Header)
            .unwrap();
        if recovers {
            small.set_room(usize::MAX / 2);
        }
        drop(capability);
        let statistics = log.stop().unwrap();
        let there = Written::read_prefix(&small.memory.content(), false);
        let there = there.messages(0).len() as u64;
        assert_eq!(recovers, there == 48);
        assert_eq!(statistics.capabilities[0].lost.sink, 48 - there);
    }
}

#[test]
fn what_a_kept_sink_owes_when_it_is_closed_by_hand_is_counted() {
    let (log, capability, small) = stalled(io::ErrorKind::StorageFull);
    let saved = log.sink();
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    saved.close().unwrap_err();
    let there = Written::read_prefix(&small.memory.content(), false);
    let lost = 48 - there.messages(0).len() as u64;
    assert_eq!(log.statistics().lost().sink, lost);
    drop(capability);
    assert_eq!(log.stop().unwrap().lost().sink, lost);
}

#[test]
fn a_sink_that_refuses_the_header_changes_nothing() {
    for room in [0, 1, 1_000] {
        let (first, content) = Sink::memory();
        let log = EventLog::builder().sink(first).unwrap();
        let mut capability = log.capability().unwrap();
        capability.message("one");
        let small = Small::new(room, io::ErrorKind::StorageFull);
        let sink = Sink::writer(small.clone());
        let refused = log.set_sink(sink.clone(), Previous::Close, Start::Header);
        assert!(matches!(refused, Err(SetSinkError::Refused(_))));
        capability.message("two");
        small.set_room(usize::MAX / 2);
        let again = log.set_sink(sink, Previous::Close, Start::Header);
        match room {
            0 => again.unwrap(),
            // It has the beginning of a header.
            _ => assert!(matches!(again, Err(SetSinkError::Closed))),
        }
        capability.message("three");
        log.stop().unwrap();
        let written = Written::read("redirect-refused", &content.bytes());
        let all = ["one", "two", "three"];
        assert_eq!(written.messages(0), all[..if room == 0 { 2 } else { 3 }]);
    }
}

#[test]
fn a_sink_has_one_log_and_one_header() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let other = EventLog::builder().sink(Sink::null()).unwrap();
    let set = |sink: &Sink, start| log.set_sink(sink.clone(), Previous::Keep, start);
    let first = log.sink();
    assert!(matches!(
        set(&first, Start::Continue),
        Err(SetSinkError::InUse)
    ));
    assert!(matches!(
        set(&other.sink(), Start::Header),
        Err(SetSinkError::InUse)
    ));
    set(&Sink::null(), Start::Header).unwrap();
    assert!(matches!(
        set(&first, Start::Header),
        Err(SetSinkError::Begun)
    ));
    first.close().unwrap();
    assert!(matches!(
        set(&first, Start::Continue),
        Err(SetSinkError::Closed)
    ));
    EventLog::builder().sink(first).unwrap_err();
    EventLog::builder().sink(log.sink()).unwrap_err();
    log.stop().unwrap();
    assert!(matches!(
        set(&Sink::null(), Start::Header),
        Err(SetSinkError::Stopped)
    ));
}

#[test]
fn a_sink_that_is_new_cannot_go_on_with_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.eventlog");
    let (first, before) = Sink::memory();
    let log = EventLog::builder().sink(first).unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("one");
    for sink in [Sink::file(&path).unwrap(), Sink::memory().0] {
        let refused = log.set_sink(sink.clone(), Previous::Close, Start::Continue);
        let refused = refused.unwrap_err();
        assert!(matches!(refused, SetSinkError::NotBegun));
        assert!(refused.to_string().contains("needs a header"), "{refused}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), []);
    // Nothing has changed, and the sink can still begin a log, and go on with that.
    capability.message("two");
    let file = Sink::file(&path).unwrap();
    let set = |sink: &Sink, previous, start| log.set_sink(sink.clone(), previous, start);
    set(&file, Previous::Close, Start::Continue).unwrap_err();
    set(&file, Previous::Close, Start::Header).unwrap();
    capability.message("three");
    set(&Sink::null(), Previous::Keep, Start::Header).unwrap();
    set(&file, Previous::Close, Start::Continue).unwrap();
    capability.message("four");
    drop(capability);
    log.stop().unwrap();
    let before = Written::read("redirect-not-begun", &before.bytes());
    assert_eq!(before.messages(0), ["one", "two"]);
    let after = Written::read("redirect-begun", &std::fs::read(&path).unwrap());
    assert_eq!(after.messages(0), ["three", "four"]);
}

/// Calls its log when it is dropped.
struct Parting {
    log: Arc<Mutex<Option<EventLog>>>,
    gone: mpsc::Sender<bool>,
}

impl Write for Parting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        if let Some(log) = self.log.lock().unwrap().take() {
            drop(log.sink());
            let _ = self.gone.send(log.flush().is_ok());
        }
    }
}

#[test]
fn a_sink_whose_last_handle_goes_with_the_switch_may_call_its_log() {
    let held = Arc::new(Mutex::new(None));
    let (gone, told) = mpsc::channel();
    let sink = Parting {
        log: Arc::clone(&held),
        gone,
    };
    let log = EventLog::builder().start(sink).unwrap();
    *held.lock().unwrap() = Some(log.clone());
    thread::spawn(move || {
        log.set_sink(Sink::null(), Previous::Keep, Start::Header)
            .unwrap()
    });
    let flushed = told.recv_timeout(Duration::from_secs(60));
    assert_eq!(flushed, Ok(true));
}

#[test]
fn redirecting_within_a_sink_is_refused() {
    let slot: Arc<Mutex<Option<EventLog>>> = Arc::default();
    let refusals = Arc::new(AtomicU64::new(0));
    let sink = Sink::callback({
        let (slot, refusals) = (Arc::clone(&slot), Arc::clone(&refusals));
        move |_| {
            if let Some(log) = &*slot.lock().unwrap() {
                let refused = log.set_sink(Sink::null(), Previous::Close, Start::Header);
                assert!(matches!(refused, Err(SetSinkError::Unavailable(_))));
                // That it has one can be asked at any time.
                log.sink();
                refusals.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    let log = EventLog::builder().sink(sink).unwrap();
    *slot.lock().unwrap() = Some(log.clone());
    log.message("hello");
    log.flush().unwrap();
    slot.lock().unwrap().take();
    assert!(refusals.load(Ordering::Relaxed) > 0);
    log.stop().unwrap();
}

#[test]
fn every_kind_of_sink_gets_a_whole_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.eventlog");
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let pieces: Arc<Mutex<Vec<u8>>> = Arc::default();
    let callback = Sink::callback({
        let pieces = Arc::clone(&pieces);
        move |piece| {
            pieces.lock().unwrap().extend_from_slice(piece);
            Ok(())
        }
    });
    let sinks = [
        Sink::file(&path).unwrap(),
        Sink::tcp(tcp.local_addr().unwrap()).unwrap(),
        callback,
    ];
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    for sink in sinks {
        log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        log.capability().unwrap().message("hello");
    }
    log.stop().unwrap();
    let mut received = Vec::new();
    io::copy(&mut tcp.accept().unwrap().0, &mut received).unwrap();
    let pieces = pieces.lock().unwrap();
    let logs = [std::fs::read(path).unwrap(), received, pieces.clone()];
    for (index, log) in logs.iter().enumerate() {
        let written = Written::read(&format!("redirect-kind-{index}"), log);
        let hello = written.events.iter().filter(|event| event.text == "hello");
        assert_eq!(hello.count(), 1);
    }
}

#[test]
fn many_redirect_at_once_and_nothing_is_lost() {
    const EACH: usize = 50;
    let (first, content) = Sink::memory();
    let log = EventLog::builder().sink(first).unwrap();
    let mut capability = log.capability().unwrap();
    let contents: Mutex<Vec<MemoryContent>> = Mutex::new(vec![content]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let (sink, content) = Sink::memory();
                    contents.lock().unwrap().push(content);
                    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
                }
            });
        }
        for number in 0..10_000 {
            emit_surely(&mut capability, &number.to_string());
        }
    });
    drop(capability);
    log.stop().unwrap();
    let mut found = Vec::new();
    for content in contents.into_inner().unwrap() {
        let written = Written::read_prefix(&content.bytes(), true);
        found.extend(numbers(&written, 0));
    }
    found.sort_unstable();
    assert_eq!(found, (0..10_000).collect::<Vec<_>>());
}
