//! A ring for several producers that changes its shape while it is used: nothing is lost, and in the end it
//! is as it was told.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Control, Policy, ReserveError};
use loom::thread;
use loom_tests::{Tracked, model_with_floors};
use per_producer::{Inbox, item, push, record};

/// `items` of one producer, and `others` of a second one, while a third thread changes the ring to
/// `chunks` chunks of `chunk_len`; the consumer looks `looks` times.
fn hand_over(
    ring: &Builder,
    (items, others): (usize, usize),
    looks: usize,
    (chunk_len, chunks): (usize, usize),
    change: impl FnOnce(&Control<Tracked>) + Send + 'static,
) {
    let (mut producer, consumer) = ring.mpsc().unwrap();
    let control = consumer.control();
    // Length and number may change one after the other.
    let least = control.chunk_len().min(chunk_len) * control.chunks().min(chunks);
    // One beforehand, so that all have something to do from the start.
    producer.push(item(0, 0)).unwrap();
    let mut other = producer.clone();
    let sender = thread::spawn(move || push(&mut other, 1, 0, others));
    let changer = thread::spawn(move || {
        change(&control);
        control
    });
    let mut inbox = Inbox::new(consumer);
    let pushed = 1 + push(&mut producer, 0, 1, items);
    inbox.look(looks);
    let control = changer.join().unwrap();
    let pushed = [pushed, sender.join().unwrap()];
    assert!(
        pushed.iter().sum::<usize>() >= least.min(1 + items + others),
        "refused although there was room"
    );
    inbox.drain();
    assert_eq!(inbox.next[..2], pushed, "an item was lost");

    // From the next chunk on, the ring is as if it had been made so.
    let mut put = pushed[0];
    for _ in 0..2 {
        producer.seal();
        inbox.drain();
        let more = push(&mut producer, 0, put, chunk_len * chunks + 1);
        assert!(more >= chunk_len * chunks, "the ring is smaller than told");
        put += more;
        producer.seal();
        inbox.drain();
    }
    assert_eq!(
        push(&mut producer, 0, put, chunk_len * chunks + 1),
        chunk_len * chunks
    );
    assert_eq!(control.chunks_in_use(), chunks);
    inbox.drain();
    drop((producer, inbox));
    control.trim();
    assert_eq!(control.pool().used(), 0, "a chunk is lost");
}

#[test]
fn more_chunks() {
    model_with_floors("more_chunks", [9, 9], || {
        let ring = Builder::new(1, 1).max_chunks(2);
        hand_over(&ring, (1, 0), 1, (1, 2), |ring| ring.set_chunks(2).unwrap());
    });
}

#[test]
fn more_chunks_for_two() {
    model_with_floors("more_chunks_for_two", [290, 340], || {
        let ring = Builder::new(1, 1).max_chunks(2);
        hand_over(&ring, (1, 1), 0, (1, 2), |ring| ring.set_chunks(2).unwrap());
    });
}

#[test]
fn fewer_chunks() {
    model_with_floors("fewer_chunks", [35, 37], || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, (1, 0), 0, (1, 1), |ring| ring.set_chunks(1).unwrap());
    });
}

#[test]
fn fewer_chunks_for_two() {
    model_with_floors("fewer_chunks_for_two", [54, 24], || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, (0, 1), 0, (1, 1), |ring| ring.set_chunks(1).unwrap());
    });
}

#[test]
fn longer_chunks() {
    model_with_floors("longer_chunks", [210, 4100], || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, (1, 0), 1, (2, 2), |ring| {
            ring.set_chunk_len(2).unwrap()
        });
    });
}

#[test]
fn longer_chunks_for_two() {
    model_with_floors("longer_chunks_for_two", [66, 25], || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, (0, 1), 0, (2, 2), |ring| {
            ring.set_chunk_len(2).unwrap()
        });
    });
}

#[test]
fn shorter_chunks_for_two() {
    model_with_floors("shorter_chunks_for_two", [120, 460], || {
        let ring = Builder::new(2, 1).max_chunks(2);
        hand_over(&ring, (1, 1), 1, (1, 1), |ring| {
            ring.set_chunk_len(1).unwrap()
        });
    });
}

#[test]
fn another_shape() {
    model_with_floors("another_shape", [77, 46], || {
        let ring = Builder::new(2, 1).max_chunks(2);
        hand_over(&ring, (0, 1), 1, (1, 2), |ring| ring.resize(1, 2).unwrap());
    });
}

#[test]
fn a_length_is_rounded_up() {
    model_with_floors("a_length_is_rounded_up", [32, 9], || {
        let ring = Builder::new(1, 1).max_chunks(1);
        hand_over(&ring, (0, 1), 0, (4, 1), |ring| {
            ring.set_chunk_len(3).unwrap()
        });
    });
}

#[test]
fn a_reservation_gets_the_length_that_was_looked_at() {
    model_with_floors(
        "a_reservation_gets_the_length_that_was_looked_at",
        [47, 18],
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).mpsc().unwrap();
            let control = producer.control();
            let changer = thread::spawn(move || control.set_chunk_len(1).unwrap());
            let got = match producer.reserve(2) {
                Ok(grant) => {
                    assert_eq!(grant.len(), 2);
                    true
                }
                Err(why) => {
                    assert!(why.is_too_long());
                    false
                }
            };
            changer.join().unwrap();
            let mut inbox = Inbox::new(consumer);
            inbox.drain();
            // The grant was dropped, so the chunk of two slots is used up.
            let again = record(&mut producer, 0, 0, 2);
            assert!(!got || !again);
            producer.seal();
            inbox.drain();
            assert!(matches!(
                producer.reserve(2).err(),
                Some(ReserveError::TooLong { chunk_len: 1, .. })
            ));
        },
    );
}

#[test]
fn the_ring_grows_while_it_is_full() {
    model_with_floors("the_ring_grows_while_it_is_full", [6, 6], || {
        let (mut producer, consumer) = Builder::new(1, 1).max_chunks(2).mpsc().unwrap();
        let control = producer.control();
        producer.push(item(0, 0)).unwrap();
        let changer = thread::spawn({
            let control = control.clone();
            move || control.set_policy(Policy::Grow { max_chunks: 2 }).unwrap()
        });
        let early = push(&mut producer, 0, 1, 1);
        changer.join().unwrap();
        assert_eq!(early + push(&mut producer, 0, 1 + early, 2 - early), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        assert_eq!(
            control.chunks_in_use(),
            1,
            "what is too many goes as it was read"
        );
        inbox.drain();
        assert_eq!(inbox.taken, 2);
        assert!(control.chunks_in_use() <= 1);
    });
}

#[test]
fn a_chunk_of_another_length_is_freed_when_it_was_read() {
    model_with_floors(
        "a_chunk_of_another_length_is_freed_when_it_was_read",
        [4, 1],
        || {
            let (mut producer, consumer) = Builder::new(1, 1).max_chunks(1).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 1), 1);
            let mut inbox = Inbox::new(consumer);
            control.set_chunk_len(2).unwrap();
            let receiver = thread::spawn(move || {
                inbox.look(1);
                inbox
            });
            // Which finds the chunk only where nobody else has it.
            control.trim();
            let inbox = receiver.join().unwrap();
            assert_eq!(inbox.taken, 1);
            assert_eq!(control.pool().used(), 0, "nobody can use what is idle");
        },
    );
}
