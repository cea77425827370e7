//! A thread of the ring for several producers that has an old view of the table.
#![cfg(loom)]

use chunkring::{Builder, Policy};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use loom_tests::{Tracked, model};

#[test]
fn the_consumer_takes_the_chunk_that_was_asked_for() {
    model(
        "the_consumer_takes_the_chunk_that_was_asked_for",
        220,
        || {
            // Two entries, so that the third chunk comes where the first was.
            let (mut producer, mut consumer) = Builder::new(1, 1)
                .max_chunks(1)
                .policy(Policy::Overwrite)
                .mpsc()
                .unwrap();
            producer.push(Tracked::new(0)).unwrap();
            let pushing = thread::spawn(move || {
                for value in 1..4 {
                    let _ = producer.push(Tracked::new(value));
                }
            });
            let mut next = 0;
            for _ in 0..2 {
                if let Ok(item) = consumer.pop() {
                    assert!(item.value() >= next, "{} comes after {next}", item.value());
                    next = item.value() + 1;
                }
            }
            pushing.join().unwrap();
            while let Ok(item) = consumer.pop() {
                assert!(item.value() >= next, "{} comes after {next}", item.value());
                next = item.value() + 1;
            }
        },
    );
}

#[test]
fn a_producer_opens_only_a_chunk_that_is_there() {
    model("a_producer_opens_only_a_chunk_that_is_there", 4, || {
        let (mut producer, mut consumer) = Builder::new(1, 1)
            .max_chunks(1)
            .policy(Policy::Overwrite)
            .mpsc()
            .unwrap();
        let mut other = producer.clone();
        let pushed = Arc::new(AtomicUsize::new(0));
        let pushing = thread::spawn({
            let pushed = Arc::clone(&pushed);
            move || {
                // Twice round the table.
                for value in 0..4 {
                    producer.push(Tracked::new(value)).unwrap();
                }
                pushed.store(1, Ordering::Relaxed);
            }
        });
        // Relaxed: known to be so, but nothing is seen with it.
        if pushed.load(Ordering::Relaxed) == 1 {
            let _ = other.push(Tracked::new(4));
        }
        pushing.join().unwrap();
        assert!(consumer.pop().is_ok());
    });
}
