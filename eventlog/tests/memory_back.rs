//! Memory that a burst of events takes and that goes back when it is over.

mod counted;

use counted::{live, turn};
use ghc_eventlog::format::Event;
use ghc_eventlog::{EventLog, Policy, Previous, Sink, Start};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Rounded up, it is three chunks of 128 KiB, each of which holds 124 events of a thousand bytes, or 63 of two thousand.
const BUFFER: usize = 4 * 66_000;
/// What lists may take more than before, and a thread that has not ended yet.
const REST: usize = 48 * 1024;
/// Flushes after which the collector has seen that it needs no memory for copies.
const FLUSHES: usize = 150;

/// Takes nothing while the lock is held.
struct Gated(Arc<Mutex<()>>);

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Emits so many sticky events of so many bytes while nothing is taken out of the buffer, removes them all, and lets
/// `finish` follow. Tells how many were overwritten, and how many bytes more than before are in use.
fn burst(events: usize, bytes: usize, finish: impl FnOnce(&EventLog)) -> (u64, usize) {
    let _turn = turn();
    let gate = Arc::new(Mutex::new(()));
    let log = EventLog::builder()
        .buffer_size(BUFFER)
        .policy(Policy::OverwriteOldest)
        .flush_interval(Duration::from_secs(3_600))
        .start(Gated(Arc::clone(&gate)))
        .unwrap();
    log.flush().unwrap();
    let before = live();
    let name = "x".repeat(bytes);
    let closed = gate.lock().unwrap();
    let mut ids = Vec::new();
    for _ in 0..events {
        // Refused where the collector holds the oldest chunk and that is all there is.
        ids.extend(log.emit_sticky(&Event::UserMarker { name: &name }));
    }
    drop(closed);
    log.flush().unwrap();
    for id in ids {
        log.remove_sticky(id);
    }
    finish(&log);
    let lost = log.statistics().shared.lost.overwritten;
    (lost, live().saturating_sub(before))
}

fn redirect(log: &EventLog) {
    let sink = Sink::null();
    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
}

fn flush_often(log: &EventLog) {
    for _ in 0..FLUSHES {
        log.flush().unwrap();
    }
}

#[test]
fn the_marks_of_many_overwritten_events_go_with_the_passes() {
    let (lost, more) = burst(3_000, 1_000, flush_often);
    assert!(lost > 1_000, "{lost}");
    assert!(more <= REST, "{more} bytes");
}

#[test]
fn the_marks_of_a_few_overwritten_events_go_with_a_cut() {
    // All of them are fewer than the passes care for; a chunk of them or more is lost.
    let (lost, more) = burst(256, 2_000, |log| {
        flush_often(log);
        redirect(log);
        redirect(log);
    });
    assert!(lost > 50, "{lost}");
    assert!(more <= REST, "{more} bytes");
}

#[test]
fn what_a_full_buffer_was_copied_to_goes_back() {
    let (lost, more) = burst(150, 1_000, flush_often);
    assert_eq!(lost, 0);
    assert!(more <= REST, "{more} bytes");
}
