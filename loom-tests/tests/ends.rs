//! The end of either half: the consumer gets every item before it hears that there will be no more,
//! and the producer hears of the consumer's end.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, PopError, PushError};
use in_order::Inbox;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Tracked, model};

/// The producer puts `items` in and is gone; the consumer looks `looks` times meanwhile.
fn push_and_go(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let sender = thread::spawn(move || {
        assert_eq!(in_order::push(&mut producer, 0, items), items);
    });
    let mut inbox = Inbox::new(consumer);
    for _ in 0..looks {
        if inbox.pop() == Err(PopError::Closed) {
            assert_eq!(inbox.taken, items, "closed with an item inside");
        }
    }
    sender.join().unwrap();
    assert_eq!(inbox.drain(), PopError::Closed);
    assert_eq!(inbox.taken, items);
}

#[test]
fn the_last_item_comes_before_the_end() {
    model("the_last_item_comes_before_the_end", 98, || {
        push_and_go(&Builder::new(2, 2).max_chunks(2), 1, 2);
    });
}

#[test]
fn the_last_chunk_comes_before_the_end() {
    model("the_last_chunk_comes_before_the_end", 410, || {
        push_and_go(&Builder::new(1, 2).max_chunks(2), 2, 3);
    });
}

#[test]
fn a_hole_is_no_item_at_the_end() {
    model("a_hole_is_no_item_at_the_end", 270, || {
        let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || {
            producer.push(Tracked::new(0)).unwrap();
            // Closes the chunk, whether there is another or not.
            producer.reserve(2).is_ok()
        });
        let mut inbox = Inbox::new(consumer);
        for _ in 0..3 {
            if inbox.pop() == Err(PopError::Closed) {
                assert_eq!(inbox.taken, 1);
            }
        }
        sender.join().unwrap();
        assert_eq!(inbox.drain(), PopError::Closed);
        assert_eq!(inbox.taken, 1);
    });
}

#[test]
fn a_ring_that_is_closed_and_empty_stays_empty() {
    model("a_ring_that_is_closed_and_empty_stays_empty", 58, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 0, 2));
        let mut inbox = Inbox::new(consumer);
        let _ = inbox.pop();
        if inbox.consumer.is_closed() {
            assert_eq!(
                inbox.consumer.len() + inbox.taken,
                2,
                "len does not know the last items"
            );
        }
        assert_eq!(sender.join().unwrap(), 2);
    });
}

#[test]
fn the_producer_hears_of_the_end_at_its_next_chunk() {
    model(
        "the_producer_hears_of_the_end_at_its_next_chunk",
        550,
        || {
            let (mut producer, mut consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
            let receiver = thread::spawn(move || {
                let _ = consumer.pop();
            });
            let mut pushed = 0;
            for _ in 0..4 {
                let gone = producer.is_closed();
                match producer.push(Tracked::new(pushed)) {
                    Ok(()) => {
                        assert!(!gone, "a chunk for nobody");
                        pushed += 1;
                    }
                    Err(PushError::Closed(_)) => assert!(producer.is_closed()),
                    Err(PushError::Full(_)) => assert!(!gone && pushed >= 2),
                }
            }
            receiver.join().unwrap();
            assert!(producer.push(Tracked::new(9)).unwrap_err().is_closed());
            assert!(producer.reserve(1).unwrap_err().is_closed());
        },
    );
}

#[test]
fn a_reservation_for_nobody_leaves_the_rest_of_its_chunk() {
    model(
        "a_reservation_for_nobody_leaves_the_rest_of_its_chunk",
        3,
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            producer.push(Tracked::new(0)).unwrap();
            let receiver = thread::spawn(move || drop(consumer));
            let refused = producer.reserve(2).err();
            receiver.join().unwrap();
            match refused {
                // The chunk was closed early, and the next one is the current one.
                None => assert_eq!(in_order::push(&mut producer, 1, 3), 2),
                Some(refused) => {
                    assert!(refused.is_closed());
                    assert_eq!(in_order::push(&mut producer, 1, 2), 1);
                }
            }
        },
    );
}

#[test]
fn what_the_consumer_has_left_is_known_after_its_end() {
    model(
        "what_the_consumer_has_left_is_known_after_its_end",
        3,
        || {
            let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            assert_eq!(in_order::push(&mut producer, 0, 3), 3);
            let receiver = thread::spawn(move || drop(consumer.pop().unwrap()));
            if producer.is_closed() {
                assert_eq!(producer.len(), 2);
            }
            receiver.join().unwrap();
            assert_eq!(producer.len(), 2);
        },
    );
}

#[test]
fn what_the_consumer_has_left_is_known_after_a_refusal() {
    model(
        "what_the_consumer_has_left_is_known_after_a_refusal",
        3,
        || {
            let (mut producer, mut consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
            assert_eq!(in_order::push(&mut producer, 0, 2), 2);
            let receiver = thread::spawn(move || drop(consumer.pop().unwrap()));
            let refused = producer.push(Tracked::new(2)).unwrap_err();
            if refused.is_closed() {
                assert_eq!(producer.len(), 1);
            }
            receiver.join().unwrap();
            assert_eq!(producer.len(), 1);
        },
    );
}

#[test]
fn what_the_consumer_did_before_its_end_is_seen() {
    model("what_the_consumer_did_before_its_end_is_seen", 3, || {
        let (producer, consumer) = Builder::new(1, 1).max_chunks(1).spsc::<Tracked>().unwrap();
        let note = Arc::new(UnsafeCell::new(0));
        let receiver = thread::spawn({
            let note = Arc::clone(&note);
            move || {
                // SAFETY: the other thread looks only after this half is gone.
                note.with_mut(|note| unsafe { *note = 7 });
                drop(consumer);
            }
        });
        if producer.is_closed() {
            // SAFETY: the writer has dropped its half since, and writes no more.
            assert_eq!(note.with(|note| unsafe { *note }), 7);
        }
        receiver.join().unwrap();
        assert!(producer.is_closed());
    });
}

#[test]
fn what_the_producer_did_before_its_end_is_seen() {
    model("what_the_producer_did_before_its_end_is_seen", 6, || {
        let (producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc::<Tracked>().unwrap();
        let note = Arc::new(UnsafeCell::new(0));
        let sender = thread::spawn({
            let note = Arc::clone(&note);
            move || {
                // SAFETY: the other thread looks only after this half is gone.
                note.with_mut(|note| unsafe { *note = 7 });
                drop(producer);
            }
        });
        if consumer.is_closed() {
            // SAFETY: the writer has dropped its half since, and writes no more.
            assert_eq!(note.with(|note| unsafe { *note }), 7);
        }
        if consumer.pop().unwrap_err().is_closed() {
            // SAFETY: as above.
            assert_eq!(note.with(|note| unsafe { *note }), 7);
        }
        sender.join().unwrap();
        assert!(consumer.is_closed());
    });
}

#[test]
fn the_end_is_seen_in_a_chunk_that_is_not_used_up() {
    model("the_end_is_seen_in_a_chunk_that_is_not_used_up", 16, || {
        let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
        assert_eq!(in_order::push(&mut producer, 0, 1), 1);
        let sender = thread::spawn(move || drop(producer));
        let mut inbox = Inbox::new(consumer);
        inbox.pop().unwrap();
        assert!(inbox.pop().is_err());
        sender.join().unwrap();
        assert!(inbox.pop().unwrap_err().is_closed());
    });
}
