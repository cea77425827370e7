//! An item that has been taken is whole, and so is everything that its producer did before.

#![cfg(loom)]

mod in_order;

use chunkring::Builder;
use in_order::Inbox;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Tracked, model};

#[test]
fn what_was_done_before_a_push_is_seen_after_the_pop() {
    model(
        "what_was_done_before_a_push_is_seen_after_the_pop",
        98,
        || {
            let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            let note = Arc::new(UnsafeCell::new(0));
            let sender = thread::spawn({
                let note = Arc::clone(&note);
                move || {
                    // SAFETY: the other thread looks only after it has taken the item.
                    note.with_mut(|note| unsafe { *note = 7 });
                    producer.push(Tracked::new(0)).unwrap();
                }
            });
            for _ in 0..2 {
                if consumer.pop().is_ok() {
                    // SAFETY: the writer has pushed since, and writes no more.
                    assert_eq!(note.with(|note| unsafe { *note }), 7);
                }
            }
            sender.join().unwrap();
        },
    );
}

#[test]
fn items_of_one_chunk_are_seen_whole() {
    model("items_of_one_chunk_are_seen_whole", 640, || {
        let (mut producer, consumer) = Builder::new(4, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 0, 3));
        let mut inbox = Inbox::new(consumer);
        inbox.look(3);
        assert_eq!(sender.join().unwrap(), 3);
        inbox.drain();
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn items_of_a_chunk_already_entered_are_seen_whole() {
    model(
        "items_of_a_chunk_already_entered_are_seen_whole",
        115,
        || {
            let (mut producer, consumer) = Builder::new(4, 1).max_chunks(1).spsc().unwrap();
            let mut inbox = Inbox::new(consumer);
            producer.push(Tracked::new(0)).unwrap();
            inbox.pop().unwrap();
            let sender = thread::spawn(move || in_order::push(&mut producer, 1, 2));
            inbox.look(3);
            assert_eq!(sender.join().unwrap(), 2);
            inbox.drain();
            assert_eq!(inbox.taken, 3);
        },
    );
}

#[test]
fn a_grant_shows_what_it_committed_and_nothing_else() {
    model(
        "a_grant_shows_what_it_committed_and_nothing_else",
        360,
        || {
            let (mut producer, consumer) = Builder::new(6, 1).max_chunks(1).spsc().unwrap();
            let sender = thread::spawn(move || {
                let mut grant = producer.reserve(3).unwrap();
                for (number, value) in [0, 1, 9].into_iter().enumerate() {
                    assert_eq!(grant.filled(), number);
                    grant.push(Tracked::new(value)).unwrap();
                }
                assert!(
                    grant.push(Tracked::new(9)).is_err(),
                    "no more than was reserved"
                );
                grant.commit(2);
                // The slot that was filled and not committed is the next to be used.
                producer.push(Tracked::new(2)).unwrap();
                let mut grant = producer.reserve(1).unwrap();
                grant.push(Tracked::new(9)).unwrap();
            });
            let mut inbox = Inbox::new(consumer);
            if inbox.pop().is_ok() {
                inbox.pop().expect("both items of the grant come at once");
            }
            inbox.look(2);
            sender.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.taken, 3);
        },
    );
}
