//! Chunks that leave a ring for several producers whole: every item once, in order, and with its memory.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, TakeError};
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push, record};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

#[test]
fn an_open_chunk_stays() {
    model_with_floors("an_open_chunk_stays", [550, 690], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.take(1);
            inbox
        });
        assert_eq!(push(&mut producer, 0, 1, 1), 1);
        assert_eq!(sender.join().unwrap(), 1);
        let mut inbox = receiver.join().unwrap();
        assert_eq!(inbox.taken % 2, 0, "a chunk that is being filled was taken");
        inbox.take(1);
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Open);
        inbox.drain();
        assert_eq!(inbox.next, [2, 1, 0]);
    });
}

#[test]
fn a_chunk_waits_for_every_answer() {
    model_with_floors("a_chunk_waits_for_every_answer", [10, 6], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        // It claims the chunk's last slot.
        let sender = thread::spawn(move || {
            let mut grant = other.reserve(1).unwrap();
            grant.push(item(1, 0)).unwrap();
            grant.commit_all();
        });
        let mut inbox = Inbox::new(consumer);
        match inbox.consumer.take_chunk() {
            Ok(chunk) => {
                assert_eq!(chunk.len(), 2);
                inbox.empty(chunk);
            }
            Err(why) => assert_eq!(why, TakeError::Open),
        }
        sender.join().unwrap();
        inbox.take(1);
        assert_eq!(inbox.next, [1, 1, 0]);
    });
}

#[test]
fn a_sealed_chunk_can_be_taken() {
    model_with_floors("a_sealed_chunk_can_be_taken", [71, 190], || {
        let (mut producer, consumer) = ring(4, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        consumer.seal();
        let mut inbox = Inbox::new(consumer);
        inbox.take(1);
        assert_eq!(sender.join().unwrap(), 1);
        inbox.take(1);
        assert_ne!(inbox.taken, 0, "it was sealed, and every claim is answered");
        inbox.drain();
        assert_eq!(inbox.next, [1, 1, 0]);
        assert_eq!(push(&mut producer, 0, 1, 1), 1);
        producer.seal();
        inbox.take(1);
        assert_eq!(inbox.next, [2, 1, 0]);
    });
}

#[test]
fn items_behind_unused_slots_move_up() {
    model_with_floors("items_behind_unused_slots_move_up", [15, 18], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            let mut grant = other.reserve(2).unwrap();
            grant.push(item(1, 0)).unwrap();
            grant.commit_all();
        });
        assert_eq!(push(&mut producer, 0, 1, 1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.take(1);
        sender.join().unwrap();
        inbox.take(1);
        assert_eq!(inbox.next, [2, 1, 0]);
        assert_eq!(push(&mut producer, 0, 2, 5), 4);
        inbox.drain();
    });
}

#[test]
fn what_was_popped_is_not_handed_over() {
    model_with_floors("what_was_popped_is_not_handed_over", [350, 210], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            let pushed = 1 + push(&mut producer, 0, 1, 2);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        inbox.take(2);
        let (_producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed, 3);
        inbox.take(1);
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn room_comes_back_with_a_chunk_that_leaves() {
    model_with_floors("room_comes_back_with_a_chunk_that_leaves", [4, 1], || {
        let (mut producer, mut consumer) = ring(1, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let receiver = thread::spawn(move || {
            let chunk = consumer.take_chunk().unwrap();
            (consumer, chunk)
        });
        let early = push(&mut producer, 0, 1, 1);
        let (consumer, chunk) = receiver.join().unwrap();
        assert_eq!(early + push(&mut producer, 0, 1 + early, 1 - early), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.empty(chunk);
        inbox.drain();
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn a_chunk_goes_from_its_owner_to_a_producer() {
    model_with_floors(
        "a_chunk_goes_from_its_owner_to_a_producer",
        [44, 25],
        || {
            let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
            let mut other = producer.clone();
            producer.push(item(0, 0)).unwrap();
            let mut inbox = Inbox::new(consumer);
            let chunk = inbox.consumer.take_chunk().unwrap();
            let owner = thread::spawn(move || {
                for item in chunk {
                    assert_eq!(item.value(), 0);
                }
            });
            let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
            let there = sender.join().unwrap();
            assert_eq!(there, 1);
            owner.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.next, [0, 1, 0]);
            drop((producer, inbox));
        },
    );
}

#[test]
fn the_last_chunk_is_sealed_by_the_end() {
    model_with_floors("the_last_chunk_is_sealed_by_the_end", [1900, 1100], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || assert_eq!(push(&mut other, 1, 0, 2), 2));
        drop(producer);
        let mut inbox = Inbox::new(consumer);
        for _ in 0..2 {
            let closed = inbox.consumer.is_closed();
            match inbox.consumer.take_chunk() {
                Ok(chunk) => inbox.empty(chunk),
                Err(TakeError::Closed) => assert_eq!(inbox.taken, 3),
                Err(TakeError::Open | TakeError::Empty) => assert!(!closed),
            }
        }
        sender.join().unwrap();
        inbox.take(2);
        assert_eq!(inbox.taken, 3, "the last chunk stays open");
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Closed);
    });
}

#[test]
fn a_chunk_of_an_old_length_is_handed_over() {
    model_with_floors("a_chunk_of_an_old_length_is_handed_over", [67, 380], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let changer = thread::spawn({
            let control = control.clone();
            move || control.set_chunk_len(1).unwrap()
        });
        assert_eq!(push(&mut producer, 0, 1, 2), 2);
        let mut inbox = Inbox::new(consumer);
        inbox.take(2);
        changer.join().unwrap();
        producer.seal();
        inbox.take(1);
        assert_eq!(inbox.taken, 3);
        control.trim();
        assert_eq!(control.pool().used(), 0, "the memory of a chunk is lost");
    });
}

#[test]
fn a_chunk_that_ended_early_is_handed_over() {
    model_with_floors("a_chunk_that_ended_early_is_handed_over", [95, 94], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            let got = record(&mut producer, 0, 1, 2);
            (producer, got)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.take(2);
        let (_producer, got) = sender.join().unwrap();
        assert!(got);
        inbox.take(2);
        assert_eq!(inbox.taken, 3);
        assert_eq!(inbox.consumer.len(), 0);
    });
}
