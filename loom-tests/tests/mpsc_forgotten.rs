//! Grants that are forgotten: what was in them is leaked, and nobody waits for them for ever.

#![cfg(loom)]

mod per_producer;

use chunkring::Builder;
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

#[test]
fn the_next_use_gives_the_slots_up() {
    model_with_floors("the_next_use_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        let sender = thread::spawn(move || {
            core::mem::forget(producer.reserve(2).unwrap());
            producer.push(item(0, 0)).unwrap();
            core::mem::forget(producer.reserve(1).unwrap());
            drop(producer.reserve(0).unwrap());
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let _producer = sender.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, 1);
        assert_eq!(inbox.consumer.len(), 0);
    });
}

#[test]
fn a_seal_gives_the_slots_up() {
    model_with_floors("a_seal_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || {
            core::mem::forget(producer.reserve(1).unwrap());
            producer.seal();
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        let _producer = sender.join().unwrap();
        inbox.drain();
        assert_eq!(push(&mut other, 1, 0, 3), 2, "the chunk came back");
        inbox.drain();
    });
}

#[test]
fn its_producers_drop_gives_the_slots_up() {
    model_with_floors("its_producers_drop_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        core::mem::forget(producer.reserve(1).unwrap());
        let sender = thread::spawn(move || drop(producer));
        assert_eq!(push(&mut other, 1, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        sender.join().unwrap();
        assert!(inbox.drain().is_empty());
        assert_eq!(inbox.next, [0, 1, 0]);
    });
}

#[test]
fn the_last_producers_end_gives_the_slots_up() {
    model_with_floors("the_last_producers_end_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || {
            core::mem::forget(other.reserve(1).unwrap());
        });
        let mut inbox = Inbox::new(consumer);
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        drop(producer);
        for _ in 0..2 {
            match inbox.pop() {
                Ok(()) => {}
                Err(nothing) => assert!(!nothing.is_closed() || inbox.taken == 1),
            }
        }
        sender.join().unwrap();
        assert!(inbox.drain().is_closed());
        assert_eq!(inbox.taken, 1);
    });
}

#[test]
fn slots_that_nobody_answers_are_skipped() {
    model_with_floors("slots_that_nobody_answers_are_skipped", [1, 1], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        let mut lost = producer.clone();
        let sender = thread::spawn(move || {
            core::mem::forget(lost.reserve(2).unwrap());
            lost
        });
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        let early = inbox.pop().is_ok();
        let lost = sender.join().unwrap();
        if early {
            assert_eq!(push(&mut producer, 0, 1, 1), 1);
        }
        let behind = inbox.pop().is_err();
        // SAFETY: no other thread is left, and the grant was forgotten.
        let skipped = unsafe { inbox.consumer.skip_unanswered() };
        assert_eq!(skipped, if behind { 2 } else { 0 });
        // A producer that is lost does not end; this one does, so that the ring is freed. The chunk is
        // still there, with the item behind.
        drop(lost);
        inbox.drain();
        assert_eq!(inbox.taken, if early { 2 } else { 1 });
        assert_eq!(
            push(&mut producer, 0, inbox.taken, 5),
            4,
            "all of the ring is there"
        );
        inbox.drain();
    });
}

#[test]
fn a_push_gives_the_slots_up() {
    model_with_floors("a_push_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            core::mem::forget(producer.reserve(2).unwrap());
            producer.push(item(0, 1)).unwrap();
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let _producer = sender.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn a_reservation_gives_the_slots_up() {
    model_with_floors("a_reservation_gives_the_slots_up", [1, 1], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            core::mem::forget(producer.reserve(1).unwrap());
            drop(producer.reserve(0).unwrap());
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let _producer = sender.join().unwrap();
        inbox.drain();
        assert_eq!(push(&mut other, 1, 0, 3), 2, "the chunk came back");
        inbox.drain();
    });
}
