//! Whatever is in the ring when its halves go, and in whichever order they go, is dropped once, and
//! every chunk is freed.

#![cfg(loom)]

mod in_order;

use chunkring::Builder;
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The producer puts records in and goes; the consumer takes up to `takes` items and goes.
fn go_at_any_time(ring: &Builder, lengths: &[usize], takes: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let lengths = lengths.to_vec();
    let sender = thread::spawn(move || {
        let mut put = 0;
        for length in lengths {
            if in_order::record(&mut producer, put, length) {
                put += length;
            }
        }
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(takes);
    drop(inbox);
    sender.join().unwrap();
}

#[test]
fn nothing_was_ever_read() {
    model("nothing_was_ever_read", 16, || {
        go_at_any_time(&Builder::new(2, 2).max_chunks(2), &[1, 1, 1], 0);
    });
}

#[test]
fn a_chunk_was_half_read() {
    model("a_chunk_was_half_read", 64, || {
        go_at_any_time(&Builder::new(3, 1).max_chunks(1), &[1, 1], 1);
    });
}

#[test]
fn a_later_chunk_was_half_read() {
    model("a_later_chunk_was_half_read", 1410, || {
        go_at_any_time(&Builder::new(2, 3).max_chunks(3), &[2, 2, 1], 3);
    });
}

#[test]
fn a_chunk_had_a_hole() {
    model("a_chunk_had_a_hole", 96, || {
        go_at_any_time(&Builder::new(2, 2).max_chunks(2), &[1, 2], 1);
    });
}

#[test]
fn a_chunk_was_empty() {
    model("a_chunk_was_empty", 72, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            // Nothing is put in, so there is nothing to seal.
            drop(producer.reserve(1));
            in_order::push(&mut producer, 0, 2);
            drop(producer.reserve(1));
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        drop(inbox);
        sender.join().unwrap();
    });
}

#[test]
fn a_chunk_was_idle() {
    model("a_chunk_was_idle", 290, || {
        go_at_any_time(&Builder::new(1, 3).max_chunks(3), &[1, 1], 2);
    });
}

#[test]
fn both_go_at_once() {
    model("both_go_at_once", 10, || {
        let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        assert_eq!(in_order::push(&mut producer, 0, 3), 3);
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let sender = thread::spawn(move || drop(producer));
        let receiver = thread::spawn(move || drop(consumer));
        sender.join().unwrap();
        receiver.join().unwrap();
    });
}

#[test]
fn a_grant_goes_while_the_consumer_does() {
    model("a_grant_goes_while_the_consumer_does", 11, || {
        let (mut producer, mut consumer) = Builder::new(3, 1).max_chunks(1).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(Tracked::new(1)).unwrap();
            drop(grant);
            let mut grant = producer.reserve(2).unwrap();
            grant.push(Tracked::new(1)).unwrap();
            grant.push(Tracked::new(2)).unwrap();
            grant.commit(1);
        });
        let item = consumer.pop().ok();
        drop(consumer);
        assert!(item.is_none_or(|item| item.value() == 0));
        sender.join().unwrap();
    });
}

#[test]
fn a_forgotten_grant_leaves_the_ring_in_order() {
    model("a_forgotten_grant_leaves_the_ring_in_order", 6, || {
        // Plain numbers: what a forgotten grant holds is leaked, and that is no fault.
        let (mut producer, mut consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(9).unwrap();
            std::mem::forget(grant);
            producer.push(0).unwrap();
            producer
        });
        let early = consumer.pop().ok();
        assert!(early.is_none_or(|item| item == 0));
        let producer = sender.join().unwrap();
        assert!(early.is_some() || consumer.pop() == Ok(0));
        assert!(consumer.pop().unwrap_err().is_empty());
        drop(producer);
        assert!(consumer.pop().unwrap_err().is_closed());
    });
}

/// Its drop ends in a panic, which no hook reports, where it says so.
struct Unwinds(
    bool,
    #[expect(dead_code, reason = "held for its drop")] Tracked,
);

impl Drop for Unwinds {
    fn drop(&mut self) {
        if self.0 {
            resume_unwind(Box::new("dropped"));
        }
    }
}

#[test]
fn a_drop_that_panics_at_the_end_leaks_nothing_else() {
    model(
        "a_drop_that_panics_at_the_end_leaks_nothing_else",
        4,
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            for number in 0..3 {
                let item = Unwinds(number == 0, Tracked::new(number));
                assert!(producer.push(item).is_ok());
            }
            let sender =
                thread::spawn(move || catch_unwind(AssertUnwindSafe(|| drop(producer))).is_err());
            let here = catch_unwind(AssertUnwindSafe(|| drop(consumer))).is_err();
            assert_ne!(
                here,
                sender.join().unwrap(),
                "only the half that goes last drops items"
            );
        },
    );
}
