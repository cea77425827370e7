//! What either half says of length and room holds, however old its view of the other half is.

#![cfg(loom)]

mod in_order;

use chunkring::Builder;
use in_order::Inbox;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use loom_tests::{Tracked, model};
// What loom must not see: it is to explore the ring, not the bookkeeping.
use std::sync::atomic::AtomicUsize as Ledger;

/// Asks for the length and takes that many.
fn take_what_len_says(inbox: &mut Inbox, capacity: usize) {
    let len = inbox.consumer.len();
    assert!(len <= capacity);
    for _ in 0..len {
        inbox
            .pop()
            .expect("len has counted an item that is not there");
    }
}

#[test]
fn the_consumer_can_take_what_len_says() {
    model("the_consumer_can_take_what_len_says", 160, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 0, 4));
        let mut inbox = Inbox::new(consumer);
        take_what_len_says(&mut inbox, 2);
        if !inbox.consumer.is_empty() {
            inbox.pop().expect("a ring that is not empty has an item");
        }
        take_what_len_says(&mut inbox, 2);
        let pushed = sender.join().unwrap();
        assert_eq!(inbox.consumer.len(), pushed - inbox.taken);
    });
}

#[test]
fn len_leaves_holes_out() {
    model("len_leaves_holes_out", 1060, || {
        let (mut producer, consumer) = Builder::new(3, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            let mut put = 0;
            for length in [2, 2, 3] {
                if !in_order::record(&mut producer, put, length) {
                    break;
                }
                put += length;
                assert!(producer.len() <= put);
            }
            (producer, put)
        });
        let mut inbox = Inbox::new(consumer);
        take_what_len_says(&mut inbox, 6);
        let _ = inbox.pop();
        take_what_len_says(&mut inbox, 6);
        let (producer, put) = sender.join().unwrap();
        assert_eq!(inbox.consumer.len(), put - inbox.taken);
        assert!(producer.len() >= put - inbox.taken);
        inbox.drain();
        assert_eq!(inbox.taken, put);
        assert_eq!((producer.len(), inbox.consumer.len()), (0, 0));
    });
}

#[test]
fn len_knows_the_hole_before_the_newest_chunk() {
    model("len_knows_the_hole_before_the_newest_chunk", 89, || {
        let (mut producer, consumer) = Builder::new(3, 2).max_chunks(2).spsc().unwrap();
        let mut inbox = Inbox::new(consumer);
        assert!(in_order::record(&mut producer, 0, 2) && in_order::record(&mut producer, 2, 2));
        inbox.look(3);
        // The next chunk takes the entry of the first, and comes after a second hole.
        let sender = thread::spawn(move || in_order::record(&mut producer, 4, 3));
        assert!(
            !inbox.consumer.is_empty(),
            "an item has been known all along"
        );
        take_what_len_says(&mut inbox, 6);
        take_what_len_says(&mut inbox, 6);
        assert!(sender.join().unwrap(), "the first chunk was free");
        assert_eq!(inbox.consumer.len() + inbox.taken, 7);
    });
}

#[test]
fn len_counts_every_push_that_is_known() {
    model("len_counts_every_push_that_is_known", 64, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let said = Arc::new(AtomicUsize::new(0));
        let sender = thread::spawn({
            let said = Arc::clone(&said);
            move || {
                for number in 0..2 {
                    producer.push(Tracked::new(number)).unwrap();
                    said.store(number + 1, Ordering::Release);
                }
            }
        });
        let known = said.load(Ordering::Acquire);
        assert!(consumer.len() >= known);
        assert!(known == 0 || !consumer.is_empty());
        assert!(known < 2 || consumer.is_full());
        assert!(!consumer.is_full() || consumer.len() == 2);
        sender.join().unwrap();
        assert!(consumer.is_full());
    });
}

#[test]
fn a_ring_that_looks_full_is_full() {
    model("a_ring_that_looks_full_is_full", 220, || {
        let (mut producer, consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        let mut inbox = Inbox::new(consumer);
        // So that the next chunk takes an entry that has been written before.
        producer.push(Tracked::new(0)).unwrap();
        inbox.pop().unwrap();
        let sender = thread::spawn(move || {
            let pushed = 1 + in_order::push(&mut producer, 1, 2);
            (producer, pushed)
        });
        for _ in 0..3 {
            if inbox.consumer.is_full() {
                assert_eq!(inbox.consumer.len(), 1);
            }
            let _ = inbox.pop();
        }
        let (producer, pushed) = sender.join().unwrap();
        assert_eq!(inbox.consumer.is_full(), pushed > inbox.taken);
        assert_eq!(producer.is_full(), pushed > inbox.taken);
    });
}

#[test]
fn a_ring_is_full_also_while_its_oldest_chunk_is_read() {
    model(
        "a_ring_is_full_also_while_its_oldest_chunk_is_read",
        88,
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            let sender = thread::spawn(move || {
                let pushed = in_order::push(&mut producer, 0, 4);
                (producer, pushed)
            });
            let mut inbox = Inbox::new(consumer);
            let _ = inbox.pop();
            if inbox.consumer.is_full() {
                assert_eq!(inbox.consumer.len() + inbox.taken, 4);
            }
            let (mut producer, pushed) = sender.join().unwrap();
            assert_eq!(pushed, 4);
            assert!(inbox.consumer.is_full() && producer.is_full());
            assert!(producer.push(Tracked::new(4)).is_err());
        },
    );
}

#[test]
fn the_producer_counts_no_item_too_few() {
    model("the_producer_counts_no_item_too_few", 830, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let mut put = in_order::push(&mut producer, 0, 2);
        let begun = std::sync::Arc::new(Ledger::new(0));
        let receiver = thread::spawn({
            let begun = std::sync::Arc::clone(&begun);
            move || {
                let mut inbox = Inbox::new(consumer);
                for _ in 0..3 {
                    begun.store(inbox.taken + 1, Ordering::Relaxed);
                    let _ = inbox.pop();
                }
                begun.store(inbox.taken, Ordering::Relaxed);
                inbox
            }
        });
        for _ in 0..3 {
            put += in_order::push(&mut producer, put, 1);
            let len = producer.len();
            assert!(len <= 4 && len <= put);
            assert!(len + begun.load(Ordering::Relaxed) >= put);
        }
        let mut inbox = receiver.join().unwrap();
        assert!(producer.len() >= put - inbox.taken);
        inbox.drain();
        assert_eq!(inbox.taken, put);
        assert!(producer.is_empty(), "the consumer has found the ring empty");
    });
}

#[test]
fn the_producer_counts_no_item_too_few_after_a_hole() {
    model(
        "the_producer_counts_no_item_too_few_after_a_hole",
        100,
        || {
            let (mut producer, consumer) = Builder::new(3, 2).max_chunks(2).spsc().unwrap();
            assert!(in_order::record(&mut producer, 0, 2) && in_order::record(&mut producer, 2, 2));
            let begun = std::sync::Arc::new(Ledger::new(0));
            let receiver = thread::spawn({
                let begun = std::sync::Arc::clone(&begun);
                move || {
                    let mut inbox = Inbox::new(consumer);
                    for _ in 0..5 {
                        begun.store(inbox.taken + 1, Ordering::Relaxed);
                        let _ = inbox.pop();
                        begun.store(inbox.taken, Ordering::Relaxed);
                    }
                }
            });
            producer.push(Tracked::new(4)).unwrap();
            let len = producer.len();
            assert!(len <= 5);
            assert!(len + begun.load(Ordering::Relaxed) >= 5);
            receiver.join().unwrap();
        },
    );
}

#[test]
fn the_producer_can_push_what_free_slots_says() {
    model("the_producer_can_push_what_free_slots_says", 14, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let mut put = in_order::push(&mut producer, 0, 3);
        let receiver = thread::spawn(move || {
            let mut inbox = Inbox::new(consumer);
            inbox.look(3);
            inbox
        });
        for _ in 0..2 {
            let free = producer.free_slots();
            assert!(free <= 4);
            assert_eq!(in_order::push(&mut producer, put, free), free);
            put += free;
        }
        let mut inbox = receiver.join().unwrap();
        let (free, full) = (producer.free_slots(), producer.is_full());
        assert_eq!(full, free == 0);
        assert_eq!(in_order::push(&mut producer, put, free + 1), free);
        inbox.drain();
        assert_eq!(inbox.taken, put + free);
    });
}
