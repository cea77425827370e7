//! What either side of a ring for several producers says of length and room holds, however old its view of
//! the others is.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Policy};
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

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
    model_with_floors("the_consumer_can_take_what_len_says", [320, 350], || {
        let (mut producer, consumer) = ring(1, 2).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let mut inbox = Inbox::new(consumer);
        take_what_len_says(&mut inbox, 2);
        assert!(inbox.taken >= 1);
        if !inbox.consumer.is_empty() {
            inbox.pop().expect("a ring that is not empty has an item");
        }
        assert_eq!(sender.join().unwrap(), 1);
        take_what_len_says(&mut inbox, 2);
        assert_eq!(inbox.next, [1, 1, 0]);
    });
}

#[test]
fn len_leaves_unused_slots_out() {
    model_with_floors("len_leaves_unused_slots_out", [72, 69], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || {
            drop(producer.reserve(1).unwrap());
            producer.push(item(0, 1)).unwrap();
            producer
        });
        let mut inbox = Inbox::new(consumer);
        take_what_len_says(&mut inbox, 2);
        let _producer = sender.join().unwrap();
        assert_eq!(inbox.consumer.len(), 2 - inbox.taken);
        take_what_len_says(&mut inbox, 2);
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn len_holds_while_chunks_are_overwritten() {
    model_with_floors("len_holds_while_chunks_are_overwritten", [54, 220], || {
        let ring = Builder::new(1, 2).max_chunks(2).policy(Policy::Overwrite);
        let (mut producer, consumer) = ring.mpsc().unwrap();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        let sender = thread::spawn(move || {
            let pushed = push(&mut producer, 0, 2, 1);
            (producer, 2 + pushed)
        });
        let mut inbox = Inbox::with_gaps(consumer);
        let len = inbox.consumer.len();
        assert!(len <= 3, "{len} items");
        inbox.look(1);
        let (producer, pushed) = sender.join().unwrap();
        let lost = producer.control().statistics().overwritten;
        assert_eq!(inbox.consumer.len(), pushed - lost - inbox.taken);
        inbox.drain();
        assert_eq!(inbox.taken + lost, pushed);
    });
}

#[test]
fn a_producer_counts_what_it_knows() {
    model_with_floors("a_producer_counts_what_it_knows", [1000, 450], || {
        let (mut producer, consumer) = ring(1, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(1);
            inbox
        });
        assert!(producer.len() <= 2);
        assert!(producer.free_slots() <= 2);
        assert_eq!(sender.join().unwrap(), 1);
        assert!((1..=2).contains(&producer.len()));
        let mut inbox = receiver.join().unwrap();
        assert_eq!(inbox.taken, 1, "the first item was there from the start");
        assert_eq!((producer.len(), producer.free_slots()), (1, 1));
        inbox.drain();
        assert!(producer.is_empty());
        assert_eq!(producer.free_slots(), 2);
    });
}

#[test]
fn a_ring_that_has_a_free_slot_takes_an_item() {
    model_with_floors("a_ring_that_has_a_free_slot_takes_an_item", [7, 1], || {
        let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(1);
            inbox
        });
        let full = producer.is_full();
        let pushed = push(&mut producer, 0, 1, 1);
        assert!(
            full || pushed == 1,
            "there was a free slot, and nobody else to take it"
        );
        let mut inbox = receiver.join().unwrap();
        assert_eq!(inbox.consumer.is_full(), pushed == 1);
        inbox.drain();
        assert_eq!(inbox.taken, 1 + pushed);
    });
}

#[test]
fn no_more_chunks_are_counted_than_there_are() {
    model_with_floors("no_more_chunks_are_counted_than_there_are", [24, 1], || {
        let (mut producer, consumer) = Builder::new(1, 1).max_chunks(8).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(1);
            inbox
        });
        // One that is being given back may count twice.
        assert!((1..=2).contains(&control.chunks_in_use()));
        let _inbox = receiver.join().unwrap();
        assert_eq!(control.chunks_in_use(), 1);
    });
}

#[test]
fn a_slot_that_another_thread_sees_free_takes_an_item() {
    model_with_floors(
        "a_slot_that_another_thread_sees_free_takes_an_item",
        [10, 40],
        || {
            let (mut producer, consumer) = ring(1, 1).mpsc().unwrap();
            let control = producer.control();
            producer.push(item(0, 0)).unwrap();
            let sender = thread::spawn(move || {
                let full = producer.is_full();
                let pushed = push(&mut producer, 0, 1, 1);
                assert!(
                    full || pushed == 1,
                    "there was a free slot, and nobody else to take it"
                );
                (producer, pushed)
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(1);
            let (_producer, pushed) = sender.join().unwrap();
            assert_eq!(inbox.consumer.is_full(), pushed == 1);
            inbox.drain();
            assert_eq!(inbox.taken, 1 + pushed);
            assert_eq!(control.chunks_in_use(), 1);
        },
    );
}

#[test]
fn a_producer_counts_what_was_claimed() {
    model_with_floors("a_producer_counts_what_was_claimed", [7, 1], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        let mut other = producer.clone();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        assert!((1..=2).contains(&producer.len()));
        assert!((2..=3).contains(&producer.free_slots()));
        assert_eq!(sender.join().unwrap(), 1);
        assert_eq!((producer.len(), producer.free_slots()), (2, 2));
        assert_eq!((consumer.len(), consumer.is_full()), (2, false));
    });
}

#[test]
fn items_behind_an_unanswered_claim_do_not_count() {
    let name = "items_behind_an_unanswered_claim_do_not_count";
    model_with_floors(name, [6, 7], || {
        let (mut producer, consumer) = ring(2, 3).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let mut inbox = Inbox::new(consumer);
        inbox.pop().unwrap();
        // The rest of the chunk that the consumer holds, and then all of the next one.
        for len in [1, 2] {
            let mut grant = producer.reserve(len).unwrap();
            let sender = thread::spawn(move || {
                let first = if len == 1 { 0 } else { 1 };
                assert_eq!(push(&mut other, 1, first, 1), 1);
                other
            });
            assert!(inbox.consumer.is_empty());
            other = sender.join().unwrap();
            assert_eq!(inbox.consumer.len(), 0, "it waits for the grant");
            grant.push(item(0, inbox.next[0])).unwrap();
            grant.commit_all();
            inbox.drain();
            producer.seal();
            inbox.drain();
        }
        assert_eq!(inbox.next, [3, 2, 0]);
    });
}
