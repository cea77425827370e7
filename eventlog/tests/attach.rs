//! Readers beside the sink: each has a log of its own, and none disturbs anybody.

mod written;

use ghc_eventlog::format::{CapNo, Decoded, Decoder, Event, LossCause, Record};
use ghc_eventlog::{AttachOptions, Capability, EventLog, ReaderId, Sink};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
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

/// As long as a loaded machine may take, where something must not take for ever.
fn in_time(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A writer that hangs as long as its gate is closed.
#[derive(Clone, Default)]
struct Gated {
    closed: Arc<(Mutex<bool>, Condvar)>,
    memory: Memory,
}

impl Gated {
    fn set_closed(&self, closed: bool) {
        *self.closed.0.lock().unwrap() = closed;
        self.closed.1.notify_all();
    }
}

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let closed = self.closed.0.lock().unwrap();
        drop(self.closed.1.wait_while(closed, |closed| *closed).unwrap());
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_gets_a_log_of_its_own_from_when_it_is_attached() {
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("before");
    log.emit_sticky(&Event::UserMarker { name: "sticky" })
        .unwrap();
    let (first, second) = (Memory::default(), Memory::default());
    let id = log.attach(first.clone(), AttachOptions::default()).unwrap();
    capability.message("both");
    log.attach(second.clone(), AttachOptions::default())
        .unwrap();
    capability.message("all");
    let statistics = log.detach(id).unwrap().unwrap();
    assert_eq!(statistics.bytes_written, first.content().len() as u64);
    assert_eq!((statistics.queued_bytes, statistics.lost_events), (0, 0));
    capability.message("after");
    log.stop().unwrap();
    let logs = [
        (
            "sink",
            content.bytes(),
            &["before", "both", "all", "after"][..],
        ),
        ("first", first.content(), &["both", "all"]),
        ("second", second.content(), &["all", "after"]),
    ];
    for (name, content, messages) in logs {
        let written = Written::read(&format!("attach-{name}"), &content);
        assert_eq!(written.messages(0), messages, "{name}");
        let sticky = written.events.iter().filter(|e| e.text == "sticky");
        assert_eq!(sticky.count(), 1);
        let of = |id| written.events.iter().filter(|e| e.id == id).count();
        assert_eq!((of(45), of(32), of(43)), (1, 1, 1));
    }
}

#[test]
fn readers_that_come_and_go_under_load_cost_nobody_anything() {
    const READERS: usize = 100;
    const THREADS: u16 = 3;
    let (sink, content) = Sink::memory();
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .sink(sink)
        .unwrap();
    let capabilities: Vec<_> = (0..THREADS).map(|_| log.capability().unwrap()).collect();
    let options = AttachOptions::default()
        .queue(1 << 30)
        .linger(Duration::from_secs(60));
    let permanent = Memory::default();
    log.attach(permanent.clone(), options.clone()).unwrap();
    let done = AtomicBool::new(false);
    let emitted = AtomicU64::new(0);
    let mut passing = Vec::new();
    let totals: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = capabilities
            .into_iter()
            .map(|mut capability| {
                let (done, emitted) = (&done, &emitted);
                scope.spawn(move || {
                    let mut number = 0;
                    while !done.load(Ordering::Relaxed) {
                        emit_surely(&mut capability, &number.to_string());
                        number += 1;
                        emitted.fetch_add(1, Ordering::Relaxed);
                    }
                    number
                })
            })
            .collect();
        for round in 0..READERS as u64 {
            let memory = Memory::default();
            let id = log.attach(memory.clone(), options.clone()).unwrap();
            passing.push(memory);
            let until = emitted.load(Ordering::Relaxed) + 20 * (round % 10);
            while emitted.load(Ordering::Relaxed) < until {
                thread::yield_now();
            }
            let statistics = log.detach(id).unwrap().unwrap();
            assert_eq!((statistics.lost_events, statistics.error), (0, None));
        }
        done.store(true, Ordering::Relaxed);
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.former_readers.lost_events, 0);
    assert_eq!(statistics.lost().sink, 0);
    for whole in [content.bytes(), permanent.content()] {
        let written = Written::read("attach-permanent", &whole);
        for cap in 0..THREADS {
            let total = totals[usize::from(cap)];
            assert_eq!(numbers(&written, cap), (0..total).collect::<Vec<_>>());
        }
    }
    let mut some = 0;
    for memory in passing {
        let written = Written::read_prefix(&memory.content(), true);
        for cap in 0..THREADS {
            let found = numbers(&written, cap);
            some += found.len();
            if let Some(first) = found.first() {
                let expected = *first..first + found.len() as u64;
                assert_eq!(found, expected.collect::<Vec<_>>());
            }
        }
    }
    assert!(some > 1_000, "{some}");
}

#[test]
fn a_stuck_reader_disturbs_nobody_not_even_stop() {
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let mut capability = log.capability().unwrap();
    let stuck = Gated::default();
    stuck.set_closed(true);
    let linger = Duration::from_millis(50);
    let options = AttachOptions::default().queue(10_000).linger(linger);
    let id = log.attach(stuck.clone(), options.clone()).unwrap();
    log.attach(stuck.clone(), options).unwrap();
    let other = Memory::default();
    log.attach(other.clone(), AttachOptions::default()).unwrap();
    for number in 0..2_000 {
        emit_surely(&mut capability, &number.to_string());
        if number % 100 == 0 {
            log.flush().unwrap();
        }
    }
    let statistics = log.detach(id).unwrap().unwrap();
    assert_eq!((statistics.blocks, statistics.bytes_written), (0, 0));
    // Its queue, and the piece that it hangs in: all that was emitted since it came.
    assert_eq!(
        (statistics.lost_events, statistics.queued_bytes),
        (2_000, 0)
    );
    drop(capability);
    let statistics = log.stop().unwrap();
    // And the end of the capability and of the sets.
    assert_eq!(statistics.former_readers.lost_events, 2_000 + 2_005);
    assert_eq!(statistics.lost().total(), 0);
    assert_eq!(statistics.readers, []);
    let all: Vec<_> = (0..2_000).collect();
    for content in [content.bytes(), other.content()] {
        assert_eq!(numbers(&Written::read("attach-stuck", &content), 0), all);
    }
    // What it wakes up to is not written behind everybody's back: at most what it was given first.
    stuck.set_closed(false);
    thread::sleep(Duration::from_millis(20));
    assert!(stuck.memory.content().len() < 20_000);
}

/// The numbers of the messages, with the sum of what is told as lost in between.
fn with_losses(mut log: &[u8]) -> (Vec<u64>, u64) {
    let mut decoder = Decoder::new();
    let (mut found, mut lost) = (Vec::new(), 0);
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(raw) = record else { continue };
        match raw.decode().unwrap() {
            Decoded::Known(Event::UserMessage { text }) => {
                let number = text.parse().unwrap();
                // Its place is told by what has been lost before.
                assert_eq!(number, found.len() as u64 + lost);
                found.push(number);
            }
            Decoded::Known(Event::EventsLost {
                cause,
                events,
                bytes,
            }) => {
                assert_eq!((cause, raw.cap.unwrap().get()), (LossCause::Sink, 0));
                assert!(bytes >= 13 * events);
                lost += events;
            }
            _ => {}
        }
    }
    decoder.finish().unwrap();
    (found, lost)
}

#[test]
fn what_does_not_fit_into_a_readers_queue_is_counted_and_told_at_its_place() {
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .sink(Sink::null())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let slow = Gated::default();
    let options = AttachOptions::default()
        .queue(4_000)
        .linger(Duration::from_secs(60));
    let id = log.attach(slow.clone(), options).unwrap();
    let mut emit = |range: std::ops::Range<u64>| {
        for number in range {
            emit_surely(&mut capability, &number.to_string());
            if number % 10 == 9 {
                log.flush().unwrap();
            }
        }
    };
    let queued = |log: &EventLog| log.statistics().readers[0].queued_bytes;
    for round in 0..3 {
        in_time("the queue is emptied", || queued(&log) == 0);
        slow.set_closed(true);
        emit(round * 1_000..round * 1_000 + 1_000);
        slow.set_closed(false);
    }
    // The last loss is told although nothing comes after it.
    let statistics = log.detach(id).unwrap().unwrap();
    let (found, lost) = with_losses(&slow.memory.content());
    assert_eq!(statistics.lost_events, lost);
    assert_eq!(found.len() as u64 + lost, 3_000);
    assert!(lost > 1_500 && found.len() > 200, "{lost}");
    Written::read("attach-losses", &slow.memory.content());
    assert_eq!(log.stop().unwrap().former_readers.lost_events, lost);
}

#[test]
fn what_the_buffer_has_lost_is_told_to_a_reader_that_misses_the_place() {
    let sink = Gated::default();
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .start(sink.clone())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let reader = Gated::default();
    reader.set_closed(true);
    let options = AttachOptions::default()
        .queue(100)
        .linger(Duration::from_secs(60));
    let id = log.attach(reader.clone(), options).unwrap();
    sink.set_closed(true);
    let mut number = 0;
    while capability
        .try_emit(&Event::UserMessage {
            text: &number.to_string(),
        })
        .is_ok()
    {
        number += 1;
    }
    for more in 1..7 {
        capability.message(&(number + more).to_string());
    }
    number += 7;
    sink.set_closed(false);
    log.flush().unwrap();
    // What tells of the seven is in a block with these, which is too long for the queue.
    for _ in 0..1_000 {
        emit_surely(&mut capability, &number.to_string());
        number += 1;
    }
    log.flush().unwrap();
    reader.set_closed(false);
    let in_queue = || log.statistics().readers[0].queued_bytes;
    in_time("the queue is emptied", || in_queue() == 0);
    emit_surely(&mut capability, &number.to_string());
    log.flush().unwrap();
    let statistics = log.detach(id).unwrap().unwrap();
    let written = Written::read("attach-told-twice", &reader.memory.content());
    let cap = CapNo::new(0);
    let lost = |cause| written.lost(cap, cause).0;
    assert_eq!(numbers(&written, 0), [number]);
    assert_eq!(lost(LossCause::Full), 7);
    assert_eq!(lost(LossCause::Sink), statistics.lost_events);
    assert_eq!(statistics.lost_events, number - 7);
}

/// Takes so many bytes, and is then dead.
struct Dying(usize, Memory);

impl Write for Dying {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        if taken == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0 -= taken;
        self.1.write(&bytes[..taken])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_dies_in_the_middle_of_a_block_is_let_go_and_counted() {
    let (sink, content) = Sink::memory();
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .sink(sink)
        .unwrap();
    let mut capability = log.capability().unwrap();
    let memory = Memory::default();
    let dying = Dying(6_000, memory.clone());
    let id = log.attach(dying, AttachOptions::default()).unwrap();
    let other = Memory::default();
    log.attach(other.clone(), AttachOptions::default()).unwrap();
    for number in 0..1_000 {
        emit_surely(&mut capability, &number.to_string());
        if number % 10 == 9 {
            log.flush().unwrap();
        }
    }
    let gone = || log.statistics().readers.iter().all(|r| r.id != Some(id));
    in_time("it is let go", || {
        log.flush().unwrap();
        gone()
    });
    assert_eq!(log.detach(id).unwrap(), None);
    let former = log.statistics().former_readers;
    drop(capability);
    log.stop().unwrap();
    // Cut in the middle, and readable so far.
    let got = numbers(&Written::read_prefix(&memory.content(), false), 0);
    assert!(!got.is_empty() && got.len() < 1_000);
    assert_eq!(former.bytes_written, 6_000);
    assert_eq!(former.error, Some(io::ErrorKind::BrokenPipe));
    // What it did not get before it was let go.
    assert!((1..=1_000 - got.len() as u64).contains(&former.lost_events));
    let all: Vec<_> = (0..1_000).collect();
    for content in [content.bytes(), other.content()] {
        assert_eq!(numbers(&Written::read("attach-dying", &content), 0), all);
    }
}

/// Would have to wait every other time, and takes little.
struct Hesitating(bool, Memory);

impl Write for Hesitating {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = !self.0;
        match self.0 {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => self.1.write(&bytes[..bytes.len().min(1_000)]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails with that text.
struct Failing(&'static str);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, self.0))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn why_a_reader_was_let_go_is_kept() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let options = AttachOptions::default().linger(Duration::from_secs(60));
    assert_eq!(log.statistics().reader_failure, None);
    let first = log.attach(Failing("the door is shut"), options.clone());
    let first = first.unwrap();
    in_time("it is let go", || {
        log.flush().unwrap();
        log.statistics().readers.is_empty()
    });
    assert_eq!(log.detach(first).unwrap(), None);
    let statistics = log.statistics();
    let denied = io::ErrorKind::PermissionDenied;
    assert_eq!(statistics.former_readers.error, Some(denied));
    let failure = statistics.reader_failure.unwrap();
    assert_eq!((failure.reader, failure.kind), (first, denied));
    assert_eq!(failure.text, "the door is shut");

    // One that has not failed does not cover it up.
    let sound = log.attach(io::sink(), options.clone()).unwrap();
    let statistics = log.detach(sound).unwrap().unwrap();
    assert_eq!(statistics.error, None);
    assert_eq!(log.statistics().former_readers.error, Some(denied));
    assert_eq!(log.statistics().reader_failure, Some(failure));

    // The last one is kept.
    let last = log.attach(Panicking, options).unwrap();
    let statistics = log.stop().unwrap();
    let failure = statistics.reader_failure.unwrap();
    assert_eq!(failure.reader, last);
    assert_eq!(failure.text, "the sink panicked");
    let error = statistics.former_readers.error;
    assert_eq!(error, Some(io::ErrorKind::Other));
}

struct Panicking;

impl Write for Panicking {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("the reader is broken")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_would_have_to_wait_goes_on_and_one_that_panics_is_let_go() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let memory = Memory::default();
    let hesitating = Hesitating(false, memory.clone());
    let options = AttachOptions::default().linger(Duration::from_secs(60));
    log.attach(hesitating, options).unwrap();
    let id = log.attach(Panicking, AttachOptions::default()).unwrap();
    let of = |id: ReaderId| {
        let readers = log.statistics().readers;
        readers.into_iter().find(|reader| reader.id == Some(id))
    };
    in_time("it is let go", || {
        log.flush().unwrap();
        of(id).is_none()
    });
    log.capability().unwrap().message(&"x".repeat(10_000));
    log.stop().unwrap();
    let written = Written::read("attach-hesitating", &memory.content());
    assert_eq!(written.messages(0).len(), 1);
}

#[test]
fn attaching_within_the_sink_is_refused_and_a_reader_may_call_the_log() {
    let slot: Arc<Mutex<Option<EventLog>>> = Arc::default();
    let refusals = Arc::new(AtomicU64::new(0));
    let sink = Sink::callback({
        let (slot, refusals) = (Arc::clone(&slot), Arc::clone(&refusals));
        move |_| {
            if let Some(log) = &*slot.lock().unwrap() {
                log.attach(io::sink(), AttachOptions::default())
                    .unwrap_err();
                refusals.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    struct Calling(Arc<Mutex<Option<EventLog>>>);
    impl Write for Calling {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let log = self.0.lock().unwrap().clone();
            if let Some(log) = log {
                log.flush()?;
                log.statistics();
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let log = EventLog::builder().sink(sink).unwrap();
    let other = Arc::new(Mutex::new(Some(log.clone())));
    let id = log
        .attach(Calling(Arc::clone(&other)), AttachOptions::default())
        .unwrap();
    *slot.lock().unwrap() = Some(log.clone());
    log.message("hello");
    log.flush().unwrap();
    slot.lock().unwrap().take();
    assert!(refusals.load(Ordering::Relaxed) > 0);
    let statistics = log.detach(id).unwrap().unwrap();
    assert_eq!(statistics.error, None);
    other.lock().unwrap().take();
    log.stop().unwrap();
}
