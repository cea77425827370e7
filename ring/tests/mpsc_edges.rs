//! Corners of the ring for several producers, one by one.

use chunkring::{Builder, Policy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `check` beside a producer that fills the ring as fast as it can, for a while.
fn beside_a_busy_producer(
    mut producer: chunkring::mpsc::Producer<u64>,
    check: impl FnOnce(&dyn Fn() -> bool),
) {
    let stop = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_millis(500);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += u64::from(producer.push(number).is_ok());
            }
        });
        let stop = &stop;
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(stop);
        check(&|| Instant::now() < until);
    });
}

#[test]
fn a_whole_slice_is_whole_although_others_overwrite() {
    let (producer, mut consumer) = Builder::new(4, 4)
        .policy(Policy::Overwrite)
        .mpsc::<u64>()
        .unwrap();
    beside_a_busy_producer(producer, |go_on| {
        let mut next = 0;
        let mut whole = 0;
        while go_on() {
            let mut out = [u64::MAX; 11];
            if consumer.pop_whole_slice(&mut out).is_err() {
                continue;
            }
            whole += 1;
            for number in out {
                assert!(number != u64::MAX && number >= next, "{out:?} after {next}");
                next = number + 1;
            }
        }
        assert!(whole > 100, "{whole}");
    });
}
