//! Chunks that end and begin under several producers: whoever finds one used up installs the next.

#![cfg(loom)]

mod per_producer;

use chunkring::Builder;
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, push};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

/// Bytes of a chunk of such a ring.
fn chunk_memory(ring: &Builder) -> usize {
    let (mut producer, _consumer) = ring.mpsc().unwrap();
    assert_eq!(push(&mut producer, 0, 0, 1), 1);
    producer.control().pool().used()
}

/// Two producers put `items` in each; then the consumer looks `looks` times, while one may still be at it.
fn both_push(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.mpsc().unwrap();
    let mut other = producer.clone();
    let control = producer.control();
    let capacity = producer.capacity();
    let one = chunk_memory(ring);
    let sender = thread::spawn(move || push(&mut other, 1, 0, items));
    let mut inbox = Inbox::new(consumer);
    let pushed = push(&mut producer, 0, 0, items);
    inbox.look(looks);
    let pushed = [pushed, sender.join().unwrap()];
    assert!(
        pushed.iter().sum::<usize>() >= capacity.min(2 * items),
        "refused although there was room"
    );
    inbox.drain();
    assert_eq!(inbox.next[..2], pushed, "an item was lost");
    // The whole of the ring is there again. The chunk that is open may have been used in part.
    assert_eq!(inbox.consumer.len(), 0);
    let room = producer.free_slots();
    assert_eq!(push(&mut producer, 0, pushed[0], room + 1), room);
    inbox.drain();
    assert!(control.chunks_in_use() <= control.chunks());
    assert!(
        control.pool().used() <= (control.chunks() + 1) * one,
        "more memory stays than that of all chunks, and one for the other producer"
    );
    drop((producer, inbox));
    control.trim();
    assert_eq!(control.pool().used(), 0, "a chunk is lost");
}

#[test]
fn two_producers_begin_the_same_chunk() {
    model_with_floors("two_producers_begin_the_same_chunk", [100, 140], || {
        both_push(&ring(2, 1), 1, 1)
    });
}

#[test]
fn every_push_of_two_producers_needs_a_chunk() {
    model_with_floors(
        "every_push_of_two_producers_needs_a_chunk",
        [78, 90],
        || {
            both_push(&ring(1, 2), 1, 0);
        },
    );
}

#[test]
fn two_producers_go_on_to_the_next_chunk() {
    model_with_floors("two_producers_go_on_to_the_next_chunk", [88, 180], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        assert_eq!(push(&mut producer, 0, 1, 2), 2);
        assert_eq!(sender.join().unwrap(), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        assert_eq!(inbox.next, [3, 1, 0]);
    });
}

#[test]
fn every_push_needs_the_chunk_just_read() {
    model_with_floors("every_push_needs_the_chunk_just_read", [60, 1], || {
        let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
        producer.push(per_producer::item(0, 0)).unwrap();
        let control = producer.control();
        let used = control.pool().used();
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(3);
            inbox
        });
        let mut pushed = 1;
        for _ in 0..3 {
            pushed += push(&mut producer, 0, pushed, 1);
            assert_eq!(
                control.pool().used(),
                used,
                "the chunk is there to be used again"
            );
        }
        let mut inbox = receiver.join().unwrap();
        assert_ne!(inbox.taken, 0);
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
    });
}

#[test]
fn every_push_of_another_thread_needs_the_chunk_just_read() {
    model_with_floors(
        "every_push_of_another_thread_needs_the_chunk_just_read",
        [39, 33],
        || {
            let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
            producer.push(per_producer::item(0, 0)).unwrap();
            let control = producer.control();
            let used = control.pool().used();
            let sender = thread::spawn(move || 1 + push(&mut producer, 0, 1, 2));
            let mut inbox = Inbox::new(consumer);
            inbox.look(2);
            let pushed = sender.join().unwrap();
            assert_ne!(inbox.taken, 0);
            inbox.drain();
            assert_eq!(inbox.taken, pushed);
            assert!(control.pool().used() <= used, "there is one chunk");
        },
    );
}

#[test]
fn two_producers_need_the_chunk_just_read() {
    model_with_floors("two_producers_need_the_chunk_just_read", [88, 900], || {
        let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(per_producer::item(0, 0)).unwrap();
        let mut inbox = Inbox::new(consumer);
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        inbox.pop().unwrap();
        let here = push(&mut producer, 0, 1, 1);
        let there = sender.join().unwrap();
        assert_eq!(here + there, 1, "one of them finds room");
        inbox.drain();
        assert_eq!(inbox.next, [1 + here, there, 0]);
    });
}

#[test]
fn sequence_numbers_come_round() {
    model_with_floors("sequence_numbers_come_round", [170, 1200], || {
        both_push(&ring(1, 1).origin(usize::MAX), 1, 1);
    });
}

#[test]
fn preallocated_chunks_are_used_and_used_again() {
    model_with_floors(
        "preallocated_chunks_are_used_and_used_again",
        [35, 76],
        || {
            let (mut producer, consumer) = ring(1, 2).preallocate(true).mpsc().unwrap();
            let mut other = producer.clone();
            let used = producer.control().pool().used();
            assert_ne!(used, 0);
            let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
            assert_eq!(push(&mut producer, 0, 0, 1), 1);
            assert_eq!(sender.join().unwrap(), 1);
            let mut inbox = Inbox::new(consumer);
            inbox.drain();
            assert_eq!(push(&mut producer, 0, 1, 3), 2);
            // One more where both needed the first chunk at once.
            assert!(producer.control().pool().used() <= used / 2 * 3);
            assert_eq!(producer.control().chunks_in_use(), 2);
            inbox.drain();
        },
    );
}

#[test]
fn memory_that_is_refused_is_told_by_both() {
    model_with_floors("memory_that_is_refused_is_told_by_both", [79, 950], || {
        let (mut producer, consumer) = ring(1, 2).mpsc().unwrap();
        let control = producer.control();
        producer.push(per_producer::item(0, 0)).unwrap();
        // There is memory for one chunk.
        control.pool().set_budget(control.pool().used());
        let mut inbox = Inbox::new(consumer);
        let mut other = producer.clone();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        inbox.pop().unwrap();
        let here = push(&mut producer, 0, 1, 1);
        let there = sender.join().unwrap();
        assert_eq!(here + there, 1, "one of them gets the chunk that is idle");
        inbox.drain();
        assert_eq!(inbox.next, [1 + here, there, 0]);
    });
}

#[test]
fn a_producer_goes_on_in_a_chunk_that_another_has_opened() {
    let name = "a_producer_goes_on_in_a_chunk_that_another_has_opened";
    model_with_floors(name, [1, 1], || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).mpsc().unwrap();
        let mut other = producer.clone();
        // So that it does not look before its next claim.
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let sender = thread::spawn(move || push(&mut other, 1, 0, 2));
        assert_eq!(push(&mut producer, 0, 1, 1), 1);
        assert_eq!(sender.join().unwrap(), 2);
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        assert_eq!(inbox.taken, 4);
    });
}
