//! How a log begins and ends.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{CapabilityError, EmitError, EventLog, StartError};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use written::{Memory, Written};

/// A collector that would sleep through the whole test.
fn sleepy(memory: &Memory) -> EventLog {
    let builder = EventLog::builder().flush_interval(Duration::from_secs(3_600));
    builder.start(memory.clone()).unwrap()
}

#[test]
fn dropping_the_last_clone_writes_everything_and_ends_the_log() {
    let memory = Memory::default();
    let log = sleepy(&memory);
    let clone = log.clone();
    let mut capability = log.capability().unwrap();
    capability.message("kept");
    drop(log);
    assert!(
        !memory.content().ends_with(&[0xff; 2]),
        "there is another clone"
    );
    drop(clone);
    assert_eq!(
        Written::read("dropped", &memory.content()).messages(0),
        ["kept"]
    );
    // The capability has outlived its log.
    let refused = capability.try_emit(&Event::GcStart);
    assert_eq!(refused, Err(EmitError::Stopped));
}

#[test]
fn a_stopped_log_stays_stopped() {
    let memory = Memory::default();
    let log = sleepy(&memory);
    let mut capability = log.capability().unwrap();
    capability.message("before");
    let first = log.stop().unwrap();
    let content = memory.content();

    capability.message("after");
    log.message("after");
    assert_eq!(log.capability().unwrap_err(), CapabilityError::Stopped);
    log.flush().unwrap();
    log.resize(1 << 20).unwrap();
    let second = log.stop().unwrap();
    assert_eq!(second.elapsed, first.elapsed);
    assert_eq!(second.capabilities[0].events, 1);
    assert_eq!(second.capabilities[0].lost.stopped, 1);
    assert_eq!(second.shared.lost.stopped, 1);
    drop((capability, log));
    assert_eq!(memory.content(), content);
}

#[test]
fn flush_writes_what_was_emitted_before_it() {
    let memory = Memory::default();
    let log = sleepy(&memory);
    let mut capability = log.capability().unwrap();
    for number in 0..100 {
        capability.message(&number.to_string());
        log.flush().unwrap();
        let written = Written::read_prefix(&memory.content(), false);
        assert_eq!(written.messages(0).len(), number + 1);
    }
}

#[test]
fn the_collector_writes_by_itself_after_the_flush_interval() {
    let memory = Memory::default();
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(5))
        .start(memory.clone())
        .unwrap();
    log.capability().unwrap().message("soon");
    let deadline = Instant::now() + Duration::from_secs(20);
    while Written::read_prefix(&memory.content(), false)
        .messages(0)
        .is_empty()
    {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_thread_that_fills_its_buffer_wakes_the_collector() {
    let memory = Memory::default();
    let log = sleepy(&memory);
    let mut capability = log.capability().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    // Many times the buffer's size.
    for _ in 0..100 {
        while capability
            .try_emit(&Event::UserMessage {
                text: &"z".repeat(60_000),
            })
            .is_err()
        {
            assert!(Instant::now() < deadline);
            thread::yield_now();
        }
    }
    drop(capability);
    log.stop().unwrap();
    assert_eq!(
        Written::read("watermark", &memory.content())
            .messages(0)
            .len(),
        100
    );
}

#[test]
fn a_buffer_size_out_of_bounds_is_refused_with_the_bound() {
    for bytes in [0, 1, 65_570] {
        let error = EventLog::builder()
            .buffer_size(bytes)
            .start(Vec::new())
            .unwrap_err();
        assert!(matches!(
            error,
            StartError::BufferTooSmall {
                minimum: 65_571,
                ..
            }
        ));
        assert_eq!(
            error.to_string(),
            format!(
                "a buffer of {bytes} bytes cannot hold the largest event: at least 65571 are needed"
            )
        );
    }
    let error = EventLog::builder()
        .buffer_size(usize::MAX)
        .start(Vec::new())
        .unwrap_err();
    assert!(matches!(
        error,
        StartError::BufferTooLarge {
            bytes: usize::MAX,
            ..
        }
    ));
}

#[test]
fn the_smallest_buffer_takes_the_largest_event_again_and_again() {
    let memory = Memory::default();
    let log = EventLog::builder()
        .buffer_size(65_571)
        .start(memory.clone())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let text = "w".repeat(65_535);
    for _ in 0..5 {
        for text in ["small", &text] {
            // The first try may find that the chunk has to be closed for it.
            while capability.try_emit(&Event::UserMessage { text }).is_err() {
                log.flush().unwrap();
            }
            log.flush().unwrap();
        }
    }
    drop(capability);
    log.stop().unwrap();
    let written = Written::read("smallest", &memory.content());
    assert_eq!(
        written.messages(0),
        [&"small", &text.as_str()]
            .repeat(5)
            .into_iter()
            .copied()
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = EventLog::builder()
        .file(directory.path().join("no/such/place"))
        .unwrap_err();
    assert!(error.to_string().contains("no/such/place"), "{error}");
    // A size that is refused leaves no file behind.
    let path = directory.path().join("new.eventlog");
    EventLog::builder().buffer_size(1).file(&path).unwrap_err();
    assert!(!path.exists());
}

#[test]
fn a_sink_that_refuses_the_header_starts_no_log() {
    struct Refusing;
    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = EventLog::builder().start(Refusing).unwrap_err();
    assert!(matches!(error, StartError::Io(e) if e.kind() == io::ErrorKind::PermissionDenied));
}

#[test]
fn every_capability_number_can_be_in_use_only_once() {
    // One buffer each would take 64 GiB of addresses; the numbers run out in the registry alone.
    let log = sleepy(&Memory::default());
    let capabilities: Vec<_> = (0..50).map(|_| log.capability().unwrap()).collect();
    let mut numbers: Vec<_> = capabilities.iter().map(|c| c.number().get()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_log_that_is_stopped_by_many_is_stopped_once() {
    let memory = Memory::default();
    let log = sleepy(&memory);
    let mut capability = log.capability().unwrap();
    capability.message("once");
    let all: Vec<_> = thread::scope(|scope| {
        let stopping: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| log.stop().unwrap()))
            .collect();
        stopping.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for statistics in &all {
        assert_eq!(statistics.elapsed, all[0].elapsed);
        assert_eq!(statistics.capabilities, all[0].capabilities);
        assert_eq!(statistics.bytes_written, memory.content().len() as u64);
    }
    assert_eq!(
        Written::read("stopped-by-many", &memory.content()).messages(0),
        ["once"]
    );
}

#[test]
fn a_capability_that_is_dropped_while_the_log_is_stopped_goes_once() {
    for round in 0..500 {
        let memory = Memory::default();
        let log = sleepy(&memory);
        let capabilities: Vec<_> = (0..3).map(|_| log.capability().unwrap()).collect();
        thread::scope(|scope| {
            for capability in capabilities {
                scope.spawn(move || drop(capability));
            }
            log.stop().unwrap();
        });
        let written = Written::read_prefix(&memory.content(), true);
        // Out of two sets each, and gone.
        let of = |id| written.events.iter().filter(|event| event.id == id).count();
        assert_eq!((of(28), of(46)), (6, 3), "round {round}");
    }
}

#[test]
fn a_capability_that_is_made_while_the_log_is_stopped_is_in_it_with_its_end_or_not_at_all() {
    for round in 0..200 {
        let memory = Memory::default();
        let log = EventLog::builder()
            .buffer_size(65_571)
            .start(memory.clone())
            .unwrap();
        let made = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut kept = Vec::new();
                    while let Ok(capability) = log.capability() {
                        kept.push(capability);
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while made.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            log.stop().unwrap();
        });
        let written = Written::read_prefix(&memory.content(), true);
        let of = |id| written.events.iter().filter(|event| event.id == id).count() as u64;
        let made = made.load(Ordering::Relaxed);
        assert_eq!([of(45), of(46)], [made, made], "round {round}");
        assert_eq!([of(27), of(28)], [2 * made, 2 * made], "round {round}");
    }
}

#[test]
fn the_smallest_buffer_tells_of_every_capability_and_of_long_arguments() {
    let memory = Memory::default();
    let log = EventLog::builder()
        .buffer_size(65_571)
        .flush_interval(Duration::MAX)
        .arguments(["é".repeat(1 << 20)])
        .start(memory.clone())
        .unwrap();
    // Dropped at once, and then such as are still there at the end.
    for _ in 0..2_000 {
        log.capability().unwrap();
    }
    let left: Vec<_> = (0..2_000).map(|_| log.capability().unwrap()).collect();
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    drop(left);
    let written = Written::read("smallest-churn", &memory.content());
    let of = |id| written.events.iter().filter(|event| event.id == id).count();
    assert_eq!(
        [of(45), of(27), of(28), of(46)],
        [4_000, 8_000, 8_000, 4_000]
    );
    assert_eq!(of(30), 1);
}

#[test]
fn flush_has_its_turn_while_threads_keep_the_collector_busy() {
    struct Slow(Arc<AtomicU64>);
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(2));
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let writes = Arc::new(AtomicU64::new(0));
    let log = EventLog::builder()
        .start(Slow(Arc::clone(&writes)))
        .unwrap();
    let done = AtomicBool::new(false);
    let mut most = 0;
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut capability = log.capability().unwrap();
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    capability.message("without a pause");
                }
            });
        }
        for _ in 0..20 {
            let before = writes.load(Ordering::Relaxed);
            log.flush().unwrap();
            most = most.max(writes.load(Ordering::Relaxed) - before);
        }
        done.store(true, Ordering::Relaxed);
    });
    // The pass that was under way, the flush's own, and one more where this thread was slow to ask:
    // each writes three full buffers and some of what has come meanwhile, and before each of the blocks
    // one that tells what has been dropped.
    assert!(most <= 160, "{most} writes");
}

#[test]
fn the_last_clone_may_be_dropped_as_its_thread_ends() {
    thread_local! {
        static LOG: std::cell::RefCell<Option<EventLog>> = const { std::cell::RefCell::new(None) };
    }
    let memory = Memory::default();
    let log = sleepy(&memory);
    thread::spawn(move || {
        log.message("kept");
        LOG.set(Some(log));
    })
    .join()
    .unwrap();
    let written = Written::read("thread-local", &memory.content());
    assert!(written.events.iter().any(|event| event.text == "kept"));
}
