//! Chunks that end early, sealed or too short for a reservation, while another producer puts items in.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, ReserveError};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push, record};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

#[test]
fn a_producer_seals_what_another_fills() {
    model_with_floors("a_producer_seals_what_another_fills", [390, 430], || {
        let (mut producer, consumer) = ring(2, 3).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 2));
        producer.seal();
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        assert_eq!(sender.join().unwrap(), 2);
        inbox.drain();
        assert_eq!(inbox.next, [1, 2, 0]);
        assert_eq!(inbox.consumer.len(), 0);
    });
}

/// A pop looks at one line of flags, which are two in a model.
#[test]
fn items_come_from_behind_a_line_of_unused_slots() {
    let name = "items_come_from_behind_a_line_of_unused_slots";
    model_with_floors(name, [50, 30], || {
        let (mut producer, consumer) = ring(8, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            drop(producer.reserve(3).unwrap());
            producer.push(item(0, 1)).unwrap();
            producer
        });
        assert_eq!(push(&mut other, 1, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let _producer = sender.join().unwrap();
        while inbox.taken < 3 {
            assert!(inbox.pop().is_ok(), "an item that is there");
        }
    });
}

/// The same where a run of items goes over the line's end.
#[test]
fn items_come_from_behind_a_line_that_a_slice_goes_beyond() {
    let name = "items_come_from_behind_a_line_that_a_slice_goes_beyond";
    model_with_floors(name, [360, 780], || {
        let (mut producer, consumer) = ring(8, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || {
            assert!(record(&mut producer, 0, 0, 3));
            producer.push(item(0, 3)).unwrap();
            producer
        });
        assert_eq!(push(&mut other, 1, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let _producer = sender.join().unwrap();
        while inbox.taken < 5 {
            assert!(inbox.pop().is_ok(), "an item that is there");
        }
    });
}

#[test]
fn two_seal_at_once() {
    model_with_floors("two_seal_at_once", [13, 8], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sealer = thread::spawn(move || {
            other.seal();
            other
        });
        consumer.seal();
        assert!(
            producer.push(item(0, 1)).is_err(),
            "the only chunk is sealed"
        );
        sealer.join().unwrap();
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        assert_eq!(push(&mut producer, 0, 1, 3), 2);
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn a_chunk_is_sealed_just_as_it_is_used_up() {
    model_with_floors("a_chunk_is_sealed_just_as_it_is_used_up", [41, 47], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            let pushed = push(&mut producer, 0, 1, 1);
            (producer, pushed)
        });
        consumer.seal();
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (mut producer, pushed) = sender.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, 1 + pushed);
        let room = producer.free_slots();
        assert_eq!(push(&mut producer, 0, 1 + pushed, room + 1), room);
        inbox.drain();
    });
}

#[test]
fn an_empty_chunk_is_not_sealed() {
    model_with_floors("an_empty_chunk_is_not_sealed", [7, 7], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        let sealer = thread::spawn(move || {
            consumer.seal();
            consumer
        });
        // It may be sealed between the chunk's opening and the claim.
        let pushed = push(&mut producer, 0, 0, 1);
        assert_eq!(pushed, 1, "the chunk is there, and nothing was in it");
        let mut inbox = Inbox::new(sealer.join().unwrap());
        inbox.drain();
        producer.seal();
        inbox.drain();
        assert_eq!(push(&mut producer, 0, 1, 2), 2);
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn a_reservation_that_does_not_fit_ends_the_chunk() {
    model_with_floors(
        "a_reservation_that_does_not_fit_ends_the_chunk",
        [26, 70],
        || {
            let (mut producer, consumer) = ring(2, 3).mpsc().unwrap();
            let mut other = producer.clone();
            producer.push(item(0, 0)).unwrap();
            let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
            assert!(
                record(&mut producer, 0, 1, 2),
                "there is room for another chunk"
            );
            assert_eq!(sender.join().unwrap(), 1);
            let mut inbox = Inbox::new(consumer);
            inbox.drain();
            assert_eq!(inbox.next, [3, 1, 0]);
        },
    );
}

#[test]
fn two_reservations_that_do_not_fit() {
    model_with_floors("two_reservations_that_do_not_fit", [140, 390], || {
        let (mut producer, consumer) = ring(2, 3).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || record(&mut other, 1, 0, 2));
        assert!(record(&mut producer, 0, 1, 2));
        assert!(sender.join().unwrap());
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        assert_eq!(inbox.next, [3, 2, 0]);
    });
}

#[test]
fn the_consumer_goes_past_the_rest_of_a_chunk() {
    model_with_floors(
        "the_consumer_goes_past_the_rest_of_a_chunk",
        [240, 1],
        || {
            let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
            let sender = thread::spawn(move || {
                producer.push(item(0, 0)).unwrap();
                let got = record(&mut producer, 0, 1, 2);
                (producer, got)
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(3);
            let (_producer, got) = sender.join().unwrap();
            assert!(got);
            inbox.drain();
            assert_eq!(inbox.taken, 3);
        },
    );
}

#[test]
fn the_next_chunk_is_read_before_it_is_opened() {
    model_with_floors(
        "the_next_chunk_is_read_before_it_is_opened",
        [260, 2100],
        || {
            let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
            let mut other = producer.clone();
            producer.push(item(0, 0)).unwrap();
            let mut inbox = Inbox::new(consumer);
            // It installs the next chunk, and then cannot end the one before: the other has used it up.
            let sender = thread::spawn(move || record(&mut other, 1, 0, 2));
            let pushed = 1 + push(&mut producer, 0, 1, 1);
            inbox.look(3);
            let got = sender.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.next, [pushed, if got { 2 } else { 0 }, 0]);
        },
    );
}

#[test]
fn the_only_chunk_is_closed_by_a_reservation_that_is_refused() {
    let name = "the_only_chunk_is_closed_by_a_reservation_that_is_refused";
    model_with_floors(name, [26, 5], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(2);
            inbox
        });
        let mut got = record(&mut producer, 0, 1, 2);
        let mut inbox = receiver.join().unwrap();
        for _ in 0..2 {
            inbox.drain();
            got = got || record(&mut producer, 0, 1, 2);
        }
        assert!(
            got,
            "the rest of a chunk that nobody can use is never given back"
        );
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn a_refused_reservation_leaves_the_rest_of_the_chunk() {
    model_with_floors(
        "a_refused_reservation_leaves_the_rest_of_the_chunk",
        [4, 1],
        || {
            let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
            assert_eq!(push(&mut producer, 0, 0, 3), 3);
            let mut inbox = Inbox::new(consumer);
            let receiver = thread::spawn(move || {
                inbox.look(1);
                inbox
            });
            assert_eq!(producer.reserve(2).err(), Some(ReserveError::Full));
            assert_eq!(push(&mut producer, 0, 3, 1), 1, "its rest can be used");
            let mut inbox = receiver.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.taken, 4);
        },
    );
}

#[test]
fn a_chunk_is_sealed_with_most_of_it_unused() {
    model_with_floors("a_chunk_is_sealed_with_most_of_it_unused", [11, 6], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sealer = thread::spawn(move || {
            producer.seal();
            producer
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let mut producer = sealer.join().unwrap();
        inbox.drain();
        assert_eq!(push(&mut producer, 0, 1, 5), 4, "the chunk came back");
        inbox.drain();
    });
}

#[test]
fn a_chunk_of_a_round_before_is_not_taken_for_an_empty_one() {
    let name = "a_chunk_of_a_round_before_is_not_taken_for_an_empty_one";
    model_with_floors(name, [5, 450], || {
        // The table has two entries.
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        let mut inbox = Inbox::new(consumer);
        control.set_chunk_len(4).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let sender = thread::spawn({
            let done = Arc::clone(&done);
            move || {
                inbox.drain();
                assert!(record(&mut producer, 0, 2, 4));
                inbox.drain();
                assert!(record(&mut producer, 0, 6, 2));
                // Relaxed: so that the other begins now, and knows nothing of it.
                done.store(true, Ordering::Relaxed);
                (producer, inbox)
            }
        });
        while !done.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        // Half of the third chunk: as long as the first one was, which had the same entry.
        let seen = other.free_slots() == 2;
        other.seal();
        let (_producer, mut inbox) = sender.join().unwrap();
        if seen {
            inbox.take(1);
            assert_eq!(inbox.taken, 8, "it was open, and was not sealed");
        }
        inbox.drain();
    });
}
