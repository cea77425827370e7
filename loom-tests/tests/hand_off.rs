//! Chunks that leave the ring whole, with their items: each once, in order, and with its memory.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, OwnedChunk, TakeError};
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Takes the items out of a chunk, which must be the next ones.
fn empty(inbox: &mut Inbox, chunk: OwnedChunk<Tracked>) {
    let len = chunk.len();
    assert_ne!(len, 0, "a chunk without items was handed over");
    let before = inbox.taken;
    for item in chunk {
        assert_eq!(item.value(), inbox.taken);
        inbox.taken += 1;
    }
    assert_eq!(inbox.taken - before, len);
}

/// Tries to take `times` chunks.
fn take(inbox: &mut Inbox, times: usize) {
    for _ in 0..times {
        if let Ok(chunk) = inbox.consumer.take_chunk() {
            empty(inbox, chunk);
        }
    }
}

#[test]
fn an_open_chunk_stays() {
    model("an_open_chunk_stays", 550, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            let pushed = in_order::push(&mut producer, 0, 3);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        take(&mut inbox, 3);
        assert_eq!(inbox.taken % 2, 0, "a chunk that is being filled was taken");
        let (producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed, 3);
        take(&mut inbox, 1);
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Open);
        assert_eq!((inbox.consumer.len(), producer.len()), (1, 1));
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn a_sealed_chunk_can_be_taken() {
    model("a_sealed_chunk_can_be_taken", 280, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            producer.seal();
            producer.push(Tracked::new(0)).unwrap();
            producer.seal();
            producer.seal();
            let pushed = 1 + in_order::push(&mut producer, 1, 2);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        take(&mut inbox, 2);
        assert_ne!(inbox.taken, 2, "the sealed chunk held one item");
        let (mut producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed, 3, "sealing lost a chunk");
        take(&mut inbox, 2);
        assert_eq!(inbox.taken, 3);
        producer.seal();
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Empty);
        let room = producer.free_slots();
        assert_eq!(in_order::push(&mut producer, 3, room + 1), room);
    });
}

#[test]
fn a_chunk_with_a_hole_holds_what_was_before_it() {
    model("a_chunk_with_a_hole_holds_what_was_before_it", 69, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            producer.push(Tracked::new(0)).unwrap();
            let got = in_order::record(&mut producer, 1, 2);
            (producer, got)
        });
        let mut inbox = Inbox::new(consumer);
        take(&mut inbox, 2);
        let (_producer, got) = sender.join().unwrap();
        assert!(got, "there is room for another chunk");
        take(&mut inbox, 2);
        assert_eq!(inbox.taken, 3);
        assert_eq!(inbox.consumer.len(), 0);
    });
}

#[test]
fn what_was_popped_is_not_handed_over() {
    model("what_was_popped_is_not_handed_over", 1370, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 0, 4));
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        take(&mut inbox, 1);
        inbox.look(1);
        assert_eq!(sender.join().unwrap(), 4);
        take(&mut inbox, 2);
        inbox.drain();
        assert_eq!(inbox.taken, 4);
    });
}

#[test]
fn the_rest_of_a_chunk_that_is_sealed_is_handed_over() {
    let name = "the_rest_of_a_chunk_that_is_sealed_is_handed_over";
    model(name, 6, || {
        let (mut producer, consumer) = Builder::new(3, 1).spsc().unwrap();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let sender = thread::spawn(move || {
            producer.seal();
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        take(&mut inbox, 1);
        let _producer = sender.join().unwrap();
        take(&mut inbox, 1);
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn room_comes_back_with_a_chunk_that_leaves() {
    model("room_comes_back_with_a_chunk_that_leaves", 3, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let receiver = thread::spawn(move || {
            let chunk = consumer.take_chunk().unwrap();
            (consumer, chunk)
        });
        let early = producer.push(Tracked::new(1)).is_ok();
        let (consumer, chunk) = receiver.join().unwrap();
        assert!(early || producer.push(Tracked::new(1)).is_ok());
        let mut inbox = Inbox::new(consumer);
        empty(&mut inbox, chunk);
        inbox.drain();
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn an_entry_without_a_chunk_is_passed_over() {
    model("an_entry_without_a_chunk_is_passed_over", 98, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let sender = thread::spawn(move || {
            let pushed = 2 + in_order::push(&mut producer, 2, 1);
            (producer, pushed)
        });
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        let mut inbox = Inbox::new(consumer);
        let first = inbox.consumer.take_chunk().unwrap();
        trimmer.join().unwrap();
        let (mut producer, pushed) = sender.join().unwrap();
        empty(&mut inbox, first);
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        let room = producer.free_slots();
        assert_eq!(room, 2);
        assert_eq!(in_order::push(&mut producer, pushed, 3), 2);
        drop((producer, inbox));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn a_chunk_goes_from_its_owner_to_the_producer() {
    model("a_chunk_goes_from_its_owner_to_the_producer", 10, || {
        let (mut producer, consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let mut inbox = Inbox::new(consumer);
        let chunk = inbox.consumer.take_chunk().unwrap();
        let used = producer.control().pool().used();
        let owner = thread::spawn(move || {
            for item in chunk {
                assert_eq!(item.value(), 0);
            }
        });
        producer.push(Tracked::new(1)).unwrap();
        inbox.taken = 1;
        inbox.drain();
        owner.join().unwrap();
        assert_eq!(inbox.taken, 2);
        assert!(
            producer.control().pool().used() <= 2 * used,
            "a chunk was made though one was idle"
        );
    });
}

#[test]
fn a_chunk_outlives_its_ring() {
    model("a_chunk_outlives_its_ring", 60, || {
        let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        assert_eq!(in_order::push(&mut producer, 0, 3), 3);
        let mut chunk = consumer.take_chunk().unwrap().into_iter();
        assert_eq!(chunk.next().unwrap().value(), 0);
        let sender = thread::spawn(move || drop(producer));
        let owner = thread::spawn(move || drop(chunk));
        drop(consumer);
        sender.join().unwrap();
        owner.join().unwrap();
    });
}

#[test]
fn a_ring_ends_without_the_chunks_that_left() {
    model("a_ring_ends_without_the_chunks_that_left", 29, || {
        let (mut producer, mut consumer) = Builder::new(1, 3).max_chunks(3).spsc().unwrap();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let sender = thread::spawn(move || in_order::push(&mut producer, 2, 1));
        let chunk = consumer.take_chunk().unwrap();
        drop(consumer);
        sender.join().unwrap();
        assert_eq!(chunk.into_iter().next().unwrap().value(), 0);
    });
}

#[test]
fn the_last_chunk_is_sealed_by_the_end() {
    model("the_last_chunk_is_sealed_by_the_end", 2550, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            assert_eq!(in_order::push(&mut producer, 0, 3), 3);
        });
        let mut inbox = Inbox::new(consumer);
        for _ in 0..3 {
            let closed = inbox.consumer.is_closed();
            match inbox.consumer.take_chunk() {
                Ok(chunk) => empty(&mut inbox, chunk),
                Err(TakeError::Closed) => assert_eq!(inbox.taken, 3),
                Err(TakeError::Open | TakeError::Empty) => assert!(!closed),
            }
        }
        sender.join().unwrap();
        take(&mut inbox, 2);
        assert_eq!(inbox.taken, 3, "the last chunk stays open");
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Closed);
    });
}

#[test]
fn a_wish_to_seal_is_heard_once() {
    model("a_wish_to_seal_is_heard_once", 6, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            let early = producer.seal_if_requested();
            (producer, early)
        });
        let mut inbox = Inbox::new(consumer);
        assert_eq!(inbox.consumer.take_chunk().unwrap_err(), TakeError::Open);
        inbox.consumer.request_seal();
        take(&mut inbox, 1);
        let (mut producer, early) = sender.join().unwrap();
        assert!(early || inbox.taken == 0, "sealed though nobody wished it");
        assert_eq!(producer.seal_if_requested(), !early);
        assert!(!producer.seal_if_requested(), "a wish is heard again");
        take(&mut inbox, 1);
        assert_eq!(inbox.taken, 1);
    });
}

#[test]
fn a_chunk_lent_to_many_is_given_back_by_the_last() {
    model("a_chunk_lent_to_many_is_given_back_by_the_last", 10, || {
        let (mut producer, mut consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let first = consumer.take_chunk().unwrap();
        let second = consumer.take_chunk().unwrap();
        assert_eq!((first.len(), second.len()), (1, 1));
        let owner = thread::spawn(move || drop(second));
        drop(first);
        owner.join().unwrap();
        control.trim();
        assert_eq!(control.pool().used(), 0, "the memory of a chunk is lost");
    });
}

/// Its drop ends in a panic, which no hook reports.
struct Unwinds(#[expect(dead_code, reason = "held for its drop")] Tracked);

impl Drop for Unwinds {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

#[test]
fn a_chunk_is_given_back_also_where_a_drop_panics() {
    model("a_chunk_is_given_back_also_where_a_drop_panics", 1, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        let control = producer.control();
        assert!(producer.push(Unwinds(Tracked::new(0))).is_ok());
        let chunk = consumer.take_chunk().unwrap();
        let owner = thread::spawn(move || catch_unwind(AssertUnwindSafe(|| drop(chunk))).is_err());
        assert!(owner.join().unwrap());
        control.trim();
        assert_eq!(control.pool().used(), 0);
    });
}

#[test]
fn an_empty_chunk_is_not_sealed() {
    model("an_empty_chunk_is_not_sealed", 36, || {
        let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || {
            drop(producer.reserve(1).unwrap());
            producer.seal();
            let pushed = in_order::push(&mut producer, 0, 2);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        take(&mut inbox, 2);
        let (_producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed, 2, "the chunk is there, and nothing was in it");
        take(&mut inbox, 1);
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn a_chunk_of_an_old_length_is_handed_over() {
    model("a_chunk_of_an_old_length_is_handed_over", 3, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let changer = thread::spawn({
            let control = control.clone();
            move || control.set_chunk_len(1).unwrap()
        });
        let mut inbox = Inbox::new(consumer);
        let chunk = inbox.consumer.take_chunk().unwrap();
        changer.join().unwrap();
        empty(&mut inbox, chunk);
        assert_eq!(in_order::push(&mut producer, 2, 1), 1);
        take(&mut inbox, 1);
        assert_eq!(inbox.taken, 3);
        control.trim();
        assert_eq!(control.pool().used(), 0, "the memory of a chunk is lost");
    });
}
