//! A reservation that does not fit closes its chunk early: the hole is never read, and never in
//! the way.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, ReserveError};
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

/// Records of these lengths through a ring of this shape, while the other side looks.
fn records(ring: &Builder, lengths: &[usize], looks: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let lengths = lengths.to_vec();
    let sender = thread::spawn(move || {
        let mut put = 0;
        for length in lengths {
            if !in_order::record(&mut producer, put, length) {
                break;
            }
            put += length;
        }
        (producer, put)
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(looks);
    let (mut producer, put) = sender.join().unwrap();
    inbox.drain();
    assert_eq!(inbox.taken, put, "an item was lost");
    let chunk_len = producer.chunk_len();
    assert!(
        in_order::record(&mut producer, put, chunk_len),
        "a ring that has been emptied has room for a chunk's length"
    );
    inbox.drain();
    assert_eq!(inbox.taken, put + chunk_len);
}

#[test]
fn a_hole_is_never_read() {
    model("a_hole_is_never_read", 340, || {
        records(&Builder::new(2, 2).max_chunks(2), &[1, 2, 1], 3);
    });
}

#[test]
fn a_chunk_with_a_hole_can_be_filled_the_next_time() {
    model(
        "a_chunk_with_a_hole_can_be_filled_the_next_time",
        170,
        || {
            records(&Builder::new(2, 1).max_chunks(1), &[1, 2, 2], 4);
        },
    );
}

#[test]
fn holes_among_many_chunks() {
    model("holes_among_many_chunks", 420, || {
        records(
            &Builder::new(3, 2).max_chunks(2).origin(usize::MAX - 3),
            &[2, 2, 3, 1],
            4,
        );
    });
}

#[test]
fn a_single_chunk_never_stands_in_the_way_of_a_reservation() {
    model(
        "a_single_chunk_never_stands_in_the_way_of_a_reservation",
        91,
        || {
            let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
            let sender = thread::spawn(move || {
                producer.push(Tracked::new(0)).unwrap();
                let second = in_order::record(&mut producer, 1, 2);
                (producer, second)
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(3);
            let (mut producer, second) = sender.join().unwrap();
            inbox.drain();
            assert!(
                second || in_order::record(&mut producer, 1, 2),
                "the chunk never came back"
            );
            inbox.drain();
            assert_eq!(inbox.taken, 3);
        },
    );
}

#[test]
fn the_last_item_before_a_known_hole_gives_the_chunk_back_at_once() {
    model(
        "the_last_item_before_a_known_hole_gives_the_chunk_back_at_once",
        3,
        || {
            let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
            producer.push(Tracked::new(0)).unwrap();
            assert_eq!(producer.reserve(2).unwrap_err(), ReserveError::Full);
            let receiver = thread::spawn(move || {
                let mut inbox = Inbox::new(consumer);
                inbox.pop().unwrap();
                inbox
            });
            let early = in_order::record(&mut producer, 1, 2);
            let mut inbox = receiver.join().unwrap();
            assert!(early || in_order::record(&mut producer, 1, 2));
            inbox.drain();
            assert_eq!(inbox.taken, 3);
        },
    );
}

#[test]
fn a_release_before_a_known_hole_gives_the_chunk_back_at_once() {
    model(
        "a_release_before_a_known_hole_gives_the_chunk_back_at_once",
        3,
        || {
            let (mut producer, mut consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
            producer.push(Tracked::new(0)).unwrap();
            assert_eq!(producer.reserve(2).unwrap_err(), ReserveError::Full);
            let receiver = thread::spawn(move || {
                consumer.read().unwrap().release_all();
                consumer
            });
            let early = in_order::record(&mut producer, 1, 2);
            let _consumer = receiver.join().unwrap();
            assert!(early || in_order::record(&mut producer, 1, 2));
        },
    );
}

#[test]
fn a_refused_reservation_leaves_the_rest_of_its_chunk_to_shorter_ones() {
    model(
        "a_refused_reservation_leaves_the_rest_of_its_chunk_to_shorter_ones",
        1320,
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            let sender = thread::spawn(move || {
                assert_eq!(in_order::push(&mut producer, 0, 3), 3);
                assert!(
                    producer.reserve(3).is_err(),
                    "no chunk is as long, however many are free"
                );
                if in_order::record(&mut producer, 3, 2) {
                    return 5;
                }
                assert_eq!(
                    in_order::push(&mut producer, 3, 1),
                    1,
                    "the slot had been free"
                );
                4
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(3);
            let put = sender.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.taken, put);
        },
    );
}

#[test]
fn a_chunk_closed_where_the_look_ended_goes_back_at_once() {
    model(
        "a_chunk_closed_where_the_look_ended_goes_back_at_once",
        1,
        || {
            let (mut producer, mut consumer) = Builder::new(4, 1).max_chunks(1).spsc().unwrap();
            for number in 0..2 {
                producer.push(Tracked::new(number)).unwrap();
            }
            assert_eq!(consumer.pop().unwrap().value(), 0);
            producer.seal();
            // A look that takes nothing, but sees where the chunk ends.
            drop(consumer.read().unwrap());
            assert_eq!(consumer.pop().unwrap().value(), 1);
            producer
                .push(Tracked::new(2))
                .expect("the last item gave the chunk back");
        },
    );
}
