//! Writers whose drop panics: that is an error like any other, and goes on to nobody who lets go of one.

use ghc_eventlog::{AttachError, AttachOptions, EventLog, Previous, Sink, Start};
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Says that it has been dropped, and panics.
struct Trap(Arc<AtomicBool>);

impl Write for Trap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        // A panic, without the hook's message.
        resume_unwind(Box::new("the writer is broken"));
    }
}

fn trap() -> (Trap, impl Fn() -> bool) {
    let dropped = Arc::<AtomicBool>::default();
    (Trap(Arc::clone(&dropped)), move || {
        dropped.load(Ordering::SeqCst)
    })
}

#[test]
fn dropping_the_last_handle_of_a_log_does_not_panic() {
    for stops in [false, true] {
        let (trap, is_dropped) = trap();
        let log = EventLog::builder().start(trap).unwrap();
        log.message("hello");
        if stops {
            log.stop().unwrap();
        }
        drop(log);
        assert!(is_dropped());
    }
}

#[test]
fn a_log_that_is_dropped_while_a_panic_unwinds_does_not_abort_the_process() {
    let (trap, is_dropped) = trap();
    let unwound = thread::spawn(move || {
        let _log = EventLog::builder().start(trap).unwrap();
        resume_unwind(Box::new("the program's own"));
    });
    let payload = unwound.join().unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the program's own"));
    assert!(is_dropped());
}

#[test]
fn dropping_a_sink_that_no_log_uses_does_not_panic() {
    let (unused, is_unused_dropped) = trap();
    drop(Sink::writer(unused));
    assert!(is_unused_dropped());
    let (queued, is_queued_dropped) = trap();
    drop(Sink::queued(queued, AttachOptions::default()));
    assert!(is_queued_dropped());

    let (kept, is_kept_dropped) = trap();
    let log = EventLog::builder().start(kept).unwrap();
    let sink = log.sink();
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    assert!(!is_kept_dropped());
    drop(sink);
    assert!(is_kept_dropped());
}

#[test]
fn a_log_that_is_not_started_and_a_reader_that_is_not_attached_do_not_panic() {
    let (refused, is_refused_dropped) = trap();
    EventLog::builder()
        .buffer_size(1)
        .start(refused)
        .unwrap_err();
    assert!(is_refused_dropped());

    let log = EventLog::builder().sink(Sink::null()).unwrap();
    log.stop().unwrap();
    let (reader, is_reader_dropped) = trap();
    let refused = log.attach(reader, AttachOptions::default());
    assert!(matches!(refused, Err(AttachError::Stopped)));
    assert!(is_reader_dropped());
}

#[test]
fn whoever_closes_a_sink_is_told_of_it() {
    for sink in [
        Sink::writer(trap().0),
        Sink::queued(trap().0, AttachOptions::default()),
    ] {
        let told = sink.close().unwrap_err();
        assert_eq!(told.to_string(), "the sink panicked");
    }

    let log = EventLog::builder().start(trap().0).unwrap();
    let told = log.set_sink(Sink::null(), Previous::Close, Start::Header);
    assert!(told.is_err());

    let reader = log.attach(trap().0, AttachOptions::default()).unwrap();
    let statistics = log.detach(reader).unwrap().unwrap();
    assert_eq!(statistics.error, Some(io::ErrorKind::Other));
}
