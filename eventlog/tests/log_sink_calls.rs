//! A sink may call the log that it belongs to: nothing waits for itself.

mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{Capability, EmitError, EventLog};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use written::{Memory, Written};

type Call = Box<dyn FnMut(EventLog) -> Option<EventLog> + Send>;

/// A sink that calls `call` with its log in each write, once it has been given one. What the call
/// gives back it has for the next write.
struct Calling {
    log: Arc<Mutex<Option<EventLog>>>,
    call: Call,
    memory: Memory,
}

impl Write for Calling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Not held during the call, which may come back here on another thread.
        let log = self.log.lock().unwrap().take();
        if let Some(log) = log {
            let left = (self.call)(log);
            *self.log.lock().unwrap() = left;
        }
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log whose sink calls `call`, and that sleeps until it is woken.
fn calling(
    memory: &Memory,
    call: impl FnMut(EventLog) -> Option<EventLog> + Send + 'static,
) -> (EventLog, Arc<Mutex<Option<EventLog>>>) {
    let slot = Arc::new(Mutex::new(None));
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .start(Calling {
            log: Arc::clone(&slot),
            call: Box::new(call),
            memory: memory.clone(),
        })
        .unwrap();
    // The collector looks once when it starts, and then sleeps: what follows is written when the
    // test wants it.
    while Written::read_prefix(&memory.content(), false)
        .blocks
        .is_empty()
    {
        thread::yield_now();
    }
    (log, slot)
}

/// Fails where `run` does not come to an end.
fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(run()));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("waits for itself"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}

#[test]
fn a_flush_within_the_sink_is_refused_and_costs_nothing() {
    in_time(|| {
        let memory = Memory::default();
        let (sender, refused) = mpsc::channel();
        let (log, slot) = calling(&memory, move |log| {
            sender.send(log.flush().unwrap_err()).unwrap();
            Some(log)
        });
        *slot.lock().unwrap() = Some(log.clone());
        log.message("kept");
        log.flush().unwrap();
        assert_eq!(
            refused.recv().unwrap().kind(),
            io::ErrorKind::Deadlock,
            "on the thread that flushes"
        );
        let statistics = log.stop().unwrap();
        assert_eq!(statistics.sink_errors, 0);
        assert!(refused.recv().is_ok(), "on the collector's thread");
        let written = Written::read("sink-flushes", &memory.content());
        assert_eq!(
            written.events.iter().filter(|e| e.text == "kept").count(),
            1
        );
        slot.lock().unwrap().take();
    });
}

#[test]
fn statistics_within_the_sink_panic_and_the_log_goes_on() {
    in_time(|| {
        let memory = Memory::default();
        let (log, slot) = calling(&memory, move |log| {
            let _ = log.statistics();
            Some(log)
        });
        *slot.lock().unwrap() = Some(log.clone());
        log.message("kept");
        assert_eq!(log.flush().unwrap_err().to_string(), "the sink panicked");
        let statistics = log.stop().unwrap();
        assert_eq!((statistics.sink_errors, statistics.lost().total()), (1, 0));
        Written::read("sink-asks", &memory.content());
    });
}

#[test]
fn a_stop_within_the_sink_ends_the_log_when_the_sink_has_returned() {
    for flushed_by_us in [true, false] {
        in_time(move || {
            let memory = Memory::default();
            let (log, slot) = calling(&memory, move |log| {
                let refused = log.stop().unwrap_err();
                assert_eq!(refused.statistics().events(), 0);
                None
            });
            let mut capability = log.capability().unwrap();
            capability.message("before");
            *slot.lock().unwrap() = Some(log.clone());
            if flushed_by_us {
                log.flush().unwrap();
            } else {
                // A good part of the buffer wakes the collector.
                for _ in 0..3 {
                    capability.message(&"x".repeat(60_000));
                }
            }
            while capability.try_emit(&Event::GcStart).is_ok() {
                thread::yield_now();
            }
            let end = Instant::now() + Duration::from_secs(30);
            while Written::is_cut(&memory.content()) {
                assert!(Instant::now() < end, "nobody ended the log");
                thread::yield_now();
            }
            let statistics = log.stop().unwrap();
            assert_eq!(statistics.sink_errors, 0);
            let written = Written::read("sink-stops", &memory.content());
            assert_eq!(written.messages(0)[0], "before");
            assert_eq!(
                statistics.capabilities[0].events,
                written.count(Some(capability.number()))
            );
        });
    }
}

#[test]
fn the_last_handle_dropped_within_the_sink_ends_the_log() {
    in_time(|| {
        let memory = Memory::default();
        let (log, slot) = calling(&memory, |log| {
            drop(log);
            None
        });
        let mut capability = log.capability().unwrap();
        capability.message("before");
        *slot.lock().unwrap() = Some(log);
        // A good part of the buffer wakes the collector, whose write ends the log.
        let end = Instant::now() + Duration::from_secs(30);
        let text = "x".repeat(60_000);
        let mut taken = 1;
        loop {
            match capability.try_emit(&Event::UserMessage { text: &text }) {
                Ok(()) => taken += 1,
                Err(EmitError::Stopped) => break,
                Err(_) => thread::yield_now(),
            }
            assert!(Instant::now() < end, "nobody stopped the log");
        }
        while Written::is_cut(&memory.content()) {
            assert!(Instant::now() < end, "nobody ended the log");
            thread::yield_now();
        }
        let written = Written::read("sink-drops", &memory.content());
        let messages = written.messages(0);
        // Some may have come too late for the last block.
        assert_eq!(messages[0], "before");
        assert!(
            (2..=taken).contains(&messages.len()),
            "{} of {taken}",
            messages.len()
        );
    });
}

#[test]
fn a_sink_may_emit_and_have_capabilities_that_come_and_go() {
    in_time(|| {
        let memory = Memory::default();
        let mut kept: Vec<Capability> = Vec::new();
        let (log, slot) = calling(&memory, move |log| {
            kept.pop();
            kept.extend(log.capability());
            log.message(&"from the sink".repeat(1_000));
            Some(log)
        });
        *slot.lock().unwrap() = Some(log.clone());
        for _ in 0..200 {
            log.flush().unwrap();
        }
        let statistics = log.stop().unwrap();
        assert_eq!(statistics.lost().full + statistics.lost().sink, 0);
        let written = Written::read("sink-emits", &memory.content());
        assert_eq!(statistics.shared.events, written.count(None));
        slot.lock().unwrap().take();
    });
}
