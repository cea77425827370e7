//! A sink that refuses, beside readers that do not wait for it: what it is given later, and what it loses.

mod written;

use ghc_eventlog::format::{CapNo, LossCause};
use ghc_eventlog::{
    AttachOptions, Builder, Capability, EventLog, Previous, ReaderId, SetSinkError, Sink, Start,
};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use written::{Memory, Read, Written};

/// Takes a header, and then nothing as long as it is broken.
#[derive(Clone, Default)]
struct Broken(Arc<AtomicBool>, Memory);

impl Broken {
    fn set(&self, broken: bool) {
        self.0.store(broken, Ordering::Relaxed);
    }
}

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log that is collected when it is flushed, a capability of it, and its sink.
fn log(builder: Builder) -> (EventLog, Capability, Broken) {
    let sink = Broken::default();
    let builder = builder.flush_interval(Duration::MAX);
    let log = builder.start(sink.clone()).unwrap();
    let capability = log.capability().unwrap();
    log.flush().unwrap();
    (log, capability, sink)
}

fn attach(log: &EventLog) -> (ReaderId, Memory) {
    let memory = Memory::default();
    let options = AttachOptions::default()
        .queue(1 << 30)
        .linger(Duration::from_secs(60));
    let id = log.attach(memory.clone(), options).unwrap();
    (id, memory)
}

fn emit(capability: &mut Capability, numbers: std::ops::Range<u32>) {
    for number in numbers {
        capability.message(&format!("{number:08}"));
    }
}

/// Bytes of one of these events.
const LEN: u64 = 12 + 8;

fn texts(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("{number:08}")).collect()
}

fn losses(written: &Written) -> Vec<&Read> {
    let events = written.events.iter();
    events.filter(|event| event.lost.is_some()).collect()
}

#[test]
fn readers_go_on_while_the_sink_refuses_and_it_gets_all_that_its_backlog_has_room_for() {
    let (log, mut capability, sink) = log(EventLog::builder());
    let (_, reader) = attach(&log);
    sink.set(true);
    for round in 0..20 {
        emit(&mut capability, round * 100..(round + 1) * 100);
        // The refusal is told all the same.
        let refused = log.flush().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    }
    // In the middle of it, with what has been and what comes.
    let (late, second) = attach(&log);
    emit(&mut capability, 2_000..2_100);
    let late = log.detach(late).unwrap().unwrap();
    assert_eq!(late.lost_events, 0);
    let second = Written::read("behind-late-reader", &second.content());
    assert_eq!(second.messages(0), texts(2_000..2_100));
    assert_eq!(log.statistics().lost().total(), 0);
    sink.set(false);
    log.flush().unwrap();
    emit(&mut capability, 2_100..2_200);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    assert_eq!(statistics.former_readers.lost_events, 0);
    for (name, memory) in [("sink", &sink.1), ("reader", &reader)] {
        let written = Written::read(&format!("behind-{name}"), &memory.content());
        assert_eq!(written.messages(0), texts(0..2_200), "{name}");
        assert!(losses(&written).is_empty());
    }
}

#[test]
fn what_is_beyond_the_backlog_is_lost_to_the_sink_alone_and_told_where_it_is_missing() {
    const EACH: u32 = 100;
    let backlog = 5 * EACH as usize * LEN as usize;
    let (log, mut capability, sink) = log(EventLog::builder().sink_backlog(backlog));
    let mut other = log.capability().unwrap();
    log.flush().unwrap();
    let (_, reader) = attach(&log);
    sink.set(true);
    for round in 0..50 {
        emit(&mut capability, round * EACH..(round + 1) * EACH);
        emit(&mut other, round..round + 1);
        log.flush().unwrap_err();
        let lost = log.statistics().lost();
        assert_eq!(lost.sink, lost.total());
    }
    let lost = log.statistics();
    sink.set(false);
    log.flush().unwrap();
    emit(&mut capability, 5_000..5_100);
    emit(&mut other, 50..51);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost(), lost.lost());
    let got = Written::read("behind-lossy-sink", &sink.1.content());
    for (cap, emitted) in [(0, 5_100), (1, 51)] {
        let of_cap = &statistics.capabilities[usize::from(cap)];
        let messages = got.messages(cap);
        // It is told where it is missing, and so before the last that came.
        let told = losses(&got);
        let told = told.iter().filter(|event| event.cap == CapNo::new(cap));
        let told: Vec<_> = told.map(|event| event.lost.unwrap()).collect();
        assert!(
            told.iter()
                .all(|told| told.0 == LossCause::Sink && told.2 == told.1 * LEN)
        );
        assert_eq!(
            told.iter().map(|told| told.1).sum::<u64>(),
            of_cap.lost.sink
        );
        assert!(of_cap.lost.sink > emitted / 2, "{}", of_cap.lost.sink);
        assert_eq!(messages.len() as u64 + of_cap.lost.sink, emitted);
        let newest = got.events.iter().rposition(|event| event.lost.is_some());
        let last = got
            .events
            .iter()
            .rposition(|event| event.cap == CapNo::new(cap) && event.id == 19);
        assert!(newest < last);
    }
    let all = Written::read("behind-lossless-reader", &reader.content());
    assert_eq!(all.messages(0), texts(0..5_100));
    assert_eq!(all.messages(1), texts(0..51));
    assert!(losses(&all).is_empty());
}

#[test]
fn without_readers_the_buffers_are_the_backlog() {
    let (log, mut capability, sink) = log(EventLog::builder().sink_backlog(0));
    let (id, reader) = attach(&log);
    log.detach(id).unwrap().unwrap();
    sink.set(true);
    for round in 0..20 {
        emit(&mut capability, round * 100..(round + 1) * 100);
        log.flush().unwrap_err();
    }
    assert_eq!(log.statistics().lost().total(), 0);
    sink.set(false);
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let written = Written::read("behind-alone", &sink.1.content());
    assert_eq!(written.messages(0), texts(0..2_000));
    assert!(reader.content().ends_with(&[0xff, 0xff]));
}

/// A sink that does not take a header.
struct Refuses;

impl Write for Refuses {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn redirections_that_fail_while_the_sink_refuses_cost_no_more_than_its_backlog() {
    const ROUND: u32 = 1_000;
    let backlog = 10 * u64::from(ROUND) * LEN;
    let (log, mut capability, sink) = log(EventLog::builder().sink_backlog(backlog as usize));
    sink.set(true);
    for round in 0..100 {
        emit(&mut capability, round * ROUND..(round + 1) * ROUND);
        let refused = log.set_sink(Sink::writer(Refuses), Previous::Close, Start::Header);
        assert!(matches!(refused, Err(SetSinkError::Refused(_))));
        let lost = log.statistics().lost();
        assert_eq!(lost.sink, lost.total());
        let kept = u64::from(round + 1) * u64::from(ROUND) - lost.sink;
        // One cut on top, and the markers of the blocks.
        assert!(kept * LEN <= backlog + 2 * u64::from(ROUND) * LEN, "{kept}");
        assert!(round > 5 || lost.sink == 0);
    }
    // One that succeeds loses what is kept, as it closes the sink.
    let before = log.statistics().lost().sink;
    sink.set(false);
    log.set_sink(Sink::null(), Previous::Close, Start::Header)
        .unwrap();
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().sink, before);
    let written = Written::read("behind-redirections", &sink.1.content());
    let told: u64 = losses(&written)
        .iter()
        .map(|event| event.lost.unwrap().1)
        .sum();
    assert_eq!(told, before);
    assert_eq!(
        written.messages(0).len() as u64 + told,
        100 * u64::from(ROUND)
    );
}

#[test]
fn a_first_cut_loses_nothing_however_small_the_backlog_is() {
    let (log, mut capability, sink) = log(EventLog::builder().sink_backlog(0));
    sink.set(true);
    emit(&mut capability, 0..10_000);
    let saved = log.sink();
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    sink.set(false);
    saved.close().unwrap();
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let written = Written::read("behind-first-cut", &sink.1.content());
    assert_eq!(written.messages(0), texts(0..10_000));
}
