//! Sinks with a queue and a thread of their own: a write that blocks is nobody else's business.

mod written;

use ghc_eventlog::format::{CapNo, Event, Header, LossCause};
use ghc_eventlog::{AttachOptions, Capability, EventLog, Policy, Previous, Sink, Start};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use written::{Memory, Written};

/// No test waits so long for what must not take for ever.
const LONG: Duration = Duration::from_secs(60);

/// A writer that takes so many bytes, and then hangs until it may take more.
#[derive(Clone, Default)]
struct Valve {
    room: Arc<(Mutex<usize>, Condvar)>,
    memory: Memory,
}

impl Valve {
    fn open(&self, bytes: usize) {
        *self.room.0.lock().unwrap() = bytes;
        self.room.1.notify_all();
    }
}

impl Write for Valve {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.0.lock().unwrap();
        let mut room = self.room.1.wait_while(room, |room| *room == 0).unwrap();
        let count = bytes.len().min(*room);
        *room -= count;
        self.memory.clone().write(&bytes[..count])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn queue(bytes: usize, linger: Duration) -> AttachOptions {
    AttachOptions::default().queue(bytes).linger(linger)
}

/// A log that loses nothing in its buffers.
fn patient(sink: Sink) -> EventLog {
    let builder = EventLog::builder().policy(Policy::Wait { limit: LONG });
    builder.sink(sink).unwrap()
}

fn emit_all(capability: &mut Capability, from: u64, count: u64) {
    for number in from..from + count {
        let text = &number.to_string();
        capability.try_emit(&Event::UserMessage { text }).unwrap();
    }
}

fn numbers(written: &Written, cap: u16) -> Vec<u64> {
    let messages = written.messages(cap);
    messages.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_sink_that_blocks_for_ever_costs_a_reader_nothing_and_stop_returns_in_time() {
    let valve = Valve::default();
    valve.open(10_000);
    let linger = Duration::from_millis(20);
    let log = patient(Sink::queued(valve.clone(), queue(200_000, linger)));
    let reader = Memory::default();
    log.attach(reader.clone(), queue(1 << 30, LONG)).unwrap();
    let mut capability = log.capability().unwrap();
    emit_all(&mut capability, 0, 50_000);
    log.flush().unwrap();
    emit_all(&mut capability, 50_000, 50_000);
    drop(capability);

    let begin = Instant::now();
    let refused = log.stop().unwrap_err();
    assert!(begin.elapsed() < LONG, "stop waited for a sink that hangs");
    let text = std::error::Error::source(&refused).unwrap().to_string();
    let statistics = refused.statistics();
    let lost = statistics.lost();
    assert!(
        text.contains("20ms") && text.contains(&format!("{} events", lost.sink)),
        "{text}"
    );
    assert_eq!((lost.total(), lost.full), (lost.sink, 0));

    let read = Written::read("queued-reader", &reader.content());
    assert_eq!(numbers(&read, 0), (0..100_000).collect::<Vec<_>>());
    let taken = Written::read_prefix(&valve.memory.content(), false);
    for of in statistics.capabilities.iter().chain([&statistics.shared]) {
        let taken = taken.count(of.capability);
        assert_eq!(of.events, taken + of.lost.sink, "of {:?}", of.capability);
    }
    // Nothing of what was counted comes later, but for what was being written.
    assert!(log.stop().is_err());
    valve.open(usize::MAX);
}

#[test]
fn what_a_queue_has_no_room_for_is_counted_by_capability_and_told_at_its_place() {
    let valve = Valve::default();
    let log = patient(Sink::queued(valve.clone(), queue(100_000, LONG)));
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    for round in 0..20 {
        for (capability, count) in capabilities.iter_mut().zip([500, 700]) {
            emit_all(capability, round * 1_000, count);
        }
        log.flush().unwrap();
    }
    let lost = log.statistics().lost().sink;
    assert!(lost > 0, "nothing was lost that the queue has no room for");
    valve.open(usize::MAX);
    // Until the queue has room again, which is its thread's affair.
    let begin = Instant::now();
    let mut lost = lost;
    let last = (100_000..)
        .find(|number| {
            emit_all(&mut capabilities[0], *number, 1);
            log.flush().unwrap();
            let before = std::mem::replace(&mut lost, log.statistics().lost().sink);
            assert!(begin.elapsed() < LONG, "the queue never has room again");
            lost == before
        })
        .unwrap();
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().sink, statistics.lost().total());
    let written = Written::read("queued-full", &valve.memory.content());
    for of in statistics.capabilities.iter().chain([&statistics.shared]) {
        let (told, _) = written.lost(of.capability, LossCause::Sink);
        assert_eq!(told, of.lost.sink, "of {:?}", of.capability);
        assert_eq!(of.events, written.count(of.capability) + told);
    }
    assert_eq!(numbers(&written, 0).last(), Some(&last));
    assert_eq!(written.lost(CapNo::new(0), LossCause::Full), (0, 0));
}

/// Refuses every other write, and panics in every tenth.
#[derive(Clone, Default)]
struct Moody {
    writes: Arc<AtomicU64>,
    memory: Memory,
}

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Relaxed: only the sink's thread writes.
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        assert!(number % 10 != 4, "this panic is what the test is about");
        if number % 2 == 0 {
            return Err(io::Error::other("not now"));
        }
        self.memory.write(&bytes[..bytes.len().min(40_000)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_queued_writer_that_fails_and_recovers_gets_everything() {
    let moody = Moody::default();
    let log = patient(Sink::queued(moody.clone(), queue(1 << 30, LONG)));
    let mut capability = log.capability().unwrap();
    emit_all(&mut capability, 0, 10_000);
    drop(capability);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    assert!(statistics.sink_errors > 0);
    let content = moody.memory.content();
    assert_eq!(statistics.bytes_written, content.len() as u64);
    let written = Written::read("queued-moody", &content);
    assert_eq!(numbers(&written, 0), (0..10_000).collect::<Vec<_>>());
    assert_eq!(statistics.blocks, written.blocks.len() as u64);
}

#[test]
fn redirecting_away_from_a_queued_sink_that_blocks_returns_and_it_goes_on_by_itself() {
    let valve = Valve::default();
    let log = patient(Sink::queued(valve.clone(), queue(1 << 30, LONG)));
    let mut capability = log.capability().unwrap();
    emit_all(&mut capability, 0, 1_000);
    let (second, after) = Sink::memory();
    log.set_sink(second, Previous::Close, Start::Header)
        .unwrap();
    emit_all(&mut capability, 1_000, 1_000);
    log.flush().unwrap();
    assert!(valve.memory.content().is_empty());
    valve.open(usize::MAX);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    let content = valve.memory.content();
    let lens = content.len() + after.bytes().len();
    assert_eq!(statistics.bytes_written, lens as u64);
    let before = Written::read("queued-before", &content);
    assert_eq!(numbers(&before, 0), (0..1_000).collect::<Vec<_>>());
    let after = Written::read("queued-after", &after.bytes());
    assert_eq!(numbers(&after, 0), (1_000..2_000).collect::<Vec<_>>());
}

#[test]
fn a_queue_goes_on_with_a_log_that_the_program_has_begun() {
    let log = patient(Sink::null());
    let memory = Memory::default();
    let header = Header::standard().encode();
    memory.clone().write_all(&header).unwrap();
    let queued = Sink::queued(memory.clone(), queue(1 << 30, LONG));
    log.set_sink(queued, Previous::Close, Start::Continue)
        .unwrap();
    let mut capability = log.capability().unwrap();
    emit_all(&mut capability, 0, 100);
    drop(capability);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    let written = Written::read("queued-continued", &memory.content());
    assert_eq!(numbers(&written, 0), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_queued_sink_that_was_kept_goes_on_and_what_it_never_takes_is_counted() {
    let valve = Valve::default();
    let queued = Sink::queued(valve.clone(), queue(1 << 30, Duration::from_millis(5)));
    let log = patient(queued.clone());
    let mut capability = log.capability().unwrap();
    emit_all(&mut capability, 0, 100);
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    emit_all(&mut capability, 100, 100);
    log.set_sink(queued.clone(), Previous::Close, Start::Continue)
        .unwrap();
    emit_all(&mut capability, 200, 100);
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    emit_all(&mut capability, 300, 100);
    // Not taken yet, and not lost either.
    assert_eq!(log.statistics().lost().total(), 0);
    let late = queued.close().unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    drop(capability);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.sink, 200);
    valve.open(usize::MAX);
}
