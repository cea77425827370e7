//! Whatever is in a ring for several producers when its halves go, and in whichever order they go, is
//! dropped once, and every chunk is freed.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Policy};
use loom::thread;
use loom_tests::{Tracked, model_with_floors};
use per_producer::{Inbox, item, push, record};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

/// `before` items are in. Two producers push and go; the consumer takes up to `takes` items and goes.
fn go_at_any_time(ring: &Builder, before: usize, (items, others): (usize, usize), takes: usize) {
    let (mut producer, consumer) = ring.mpsc().unwrap();
    let mut other = producer.clone();
    assert_eq!(push(&mut producer, 0, 0, before), before);
    let sender = thread::spawn(move || {
        push(&mut other, 1, 0, others);
    });
    push(&mut producer, 0, before, items);
    drop(producer);
    let mut inbox = Inbox::new(consumer);
    inbox.look(takes);
    drop(inbox);
    sender.join().unwrap();
}

#[test]
fn nothing_was_ever_read() {
    model_with_floors("nothing_was_ever_read", [100, 130], || {
        go_at_any_time(&ring(2, 2), 0, (1, 1), 0)
    });
}

#[test]
fn a_chunk_was_half_read() {
    model_with_floors("a_chunk_was_half_read", [150, 430], || {
        go_at_any_time(&ring(4, 1), 0, (2, 1), 1)
    });
}

#[test]
fn a_later_chunk_was_half_read() {
    model_with_floors("a_later_chunk_was_half_read", [210, 3200], || {
        go_at_any_time(&ring(2, 2), 2, (1, 1), 3)
    });
}

#[test]
fn a_chunk_was_idle() {
    model_with_floors("a_chunk_was_idle", [410, 3000], || {
        go_at_any_time(&ring(1, 2), 0, (1, 1), 1)
    });
}

#[test]
fn sequence_numbers_come_round_at_the_end() {
    model_with_floors("sequence_numbers_come_round_at_the_end", [170, 270], || {
        go_at_any_time(&ring(1, 2).origin(usize::MAX), 0, (1, 1), 0);
    });
}

#[test]
fn all_go_at_once() {
    model_with_floors("all_go_at_once", [32, 32], || {
        let (mut producer, mut consumer) = ring(2, 2).mpsc().unwrap();
        let other = producer.clone();
        assert_eq!(push(&mut producer, 0, 0, 3), 3);
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let sender = thread::spawn(move || drop(producer));
        let another = thread::spawn(move || drop(other));
        drop(consumer);
        sender.join().unwrap();
        another.join().unwrap();
    });
}

#[test]
fn a_control_stays() {
    model_with_floors("a_control_stays", [140, 230], || {
        let (mut producer, mut consumer) = ring(1, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        drop(consumer.pop().unwrap());
        let sender = thread::spawn(move || drop(producer));
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        drop(consumer);
        sender.join().unwrap();
        trimmer.join().unwrap();
        assert_eq!(
            control.pool().used(),
            0,
            "items and chunks go with the halves"
        );
        assert_eq!(control.chunks_in_use(), 0);
    });
}

#[test]
fn a_grant_goes_while_the_consumer_does() {
    model_with_floors("a_grant_goes_while_the_consumer_does", [14, 8], || {
        let (mut producer, mut consumer) = ring(4, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(item(0, 1)).unwrap();
            drop(grant);
            let mut grant = producer.reserve(1).unwrap();
            grant.push(item(0, 1)).unwrap();
            grant.commit(1);
        });
        drop(consumer.pop());
        drop(consumer);
        sender.join().unwrap();
    });
}

#[test]
fn a_chunk_ended_early() {
    model_with_floors("a_chunk_ended_early", [51, 1200], || {
        let (mut producer, consumer) = ring(2, 3).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            record(&mut other, 1, 0, 2);
        });
        // The next chunk may be installed and not opened by then.
        push(&mut producer, 0, 1, 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        drop((producer, inbox));
        sender.join().unwrap();
    });
}

#[test]
fn a_held_chunk_was_detached() {
    model_with_floors("a_held_chunk_was_detached", [29, 29], || {
        let ring = Builder::new(2, 2).max_chunks(2).policy(Policy::Overwrite);
        let (mut producer, mut consumer) = ring.mpsc().unwrap();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let sender = thread::spawn(move || {
            // The table has four entries.
            for round in 1..5 {
                push(&mut producer, 0, 2 * round, 2);
            }
        });
        drop(consumer);
        sender.join().unwrap();
    });
}

/// Unwinds when it is dropped.
struct Unwinds(
    bool,
    #[expect(dead_code, reason = "held for its drop")] Tracked,
);

impl Drop for Unwinds {
    fn drop(&mut self) {
        if self.0 {
            // Without a hook, which would print.
            resume_unwind(Box::new("dropped"));
        }
    }
}

#[test]
fn a_drop_that_panics_at_the_end_leaks_nothing_else() {
    model_with_floors(
        "a_drop_that_panics_at_the_end_leaks_nothing_else",
        [4, 4],
        || {
            let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
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

#[test]
fn a_drop_that_panics_while_it_is_overwritten_leaks_nothing_else() {
    let name = "a_drop_that_panics_while_it_is_overwritten_leaks_nothing_else";
    model_with_floors(name, [12, 6], || {
        let ring = Builder::new(2, 1).max_chunks(1).policy(Policy::Overwrite);
        let (mut producer, mut consumer) = ring.mpsc().unwrap();
        let control = producer.control();
        for number in 0..2 {
            let item = Unwinds(number == 0, Tracked::new(number));
            assert!(producer.push(item).is_ok());
        }
        let sender = thread::spawn(move || {
            let push = || producer.push(Unwinds(false, Tracked::new(2))).is_ok();
            let unwound = catch_unwind(AssertUnwindSafe(push)).is_err();
            (producer, unwound)
        });
        let early = catch_unwind(AssertUnwindSafe(|| consumer.pop().map(drop)));
        let (producer, unwound) = sender.join().unwrap();
        assert!(unwound || early.is_err(), "the item was dropped");
        drop((producer, consumer));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn idle_chunks_go_with_the_halves() {
    model_with_floors("idle_chunks_go_with_the_halves", [4, 4], || {
        let (mut producer, mut consumer) = ring(1, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        drop(consumer.pop().unwrap());
        let sender = thread::spawn(move || drop(producer));
        drop(consumer);
        sender.join().unwrap();
        assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
    });
}
