//! How a log begins and ends.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{CapabilityError, EmitError, EventLog, StartError};
use std::io::{self, Write};
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
        std::thread::sleep(Duration::from_millis(1));
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
            std::thread::yield_now();
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
    for bytes in [0, 1, 65_546] {
        let error = EventLog::builder()
            .buffer_size(bytes)
            .start(Vec::new())
            .unwrap_err();
        assert!(matches!(
            error,
            StartError::BufferTooSmall {
                minimum: 65_547,
                ..
            }
        ));
        assert_eq!(
            error.to_string(),
            format!(
                "a buffer of {bytes} bytes cannot hold the largest event: at least 65547 are needed"
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
        .buffer_size(65_547)
        .start(memory.clone())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let text = "w".repeat(65_535);
    for _ in 0..5 {
        capability
            .try_emit(&Event::UserMessage { text: "small" })
            .unwrap();
        log.flush().unwrap();
        // The first may find that the chunk has to be closed for it.
        while capability
            .try_emit(&Event::UserMessage { text: &text })
            .is_err()
        {
            log.flush().unwrap();
        }
        log.flush().unwrap();
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
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("no/such/place"), "{source}");
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
