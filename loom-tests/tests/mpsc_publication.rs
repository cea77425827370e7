//! An item of any producer that has been taken is whole, and so is everything that its producer did
//! before.

#![cfg(loom)]

mod per_producer;

use chunkring::Builder;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{Tracked, model_with_floors};
use per_producer::{Inbox, item, push, record};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

#[test]
fn what_was_done_before_a_push_is_seen_after_the_pop() {
    let name = "what_was_done_before_a_push_is_seen_after_the_pop";
    model_with_floors(name, [78, 15], || {
        let (mut producer, mut consumer) = ring(2, 1).mpsc().unwrap();
        let note = Arc::new(UnsafeCell::new(0));
        let sender = thread::spawn({
            let note = Arc::clone(&note);
            move || {
                // SAFETY: the other thread looks only after it has taken the item.
                note.with_mut(|note| unsafe { *note = 7 });
                producer.push(item(0, 0)).unwrap();
            }
        });
        for _ in 0..2 {
            if consumer.pop().is_ok() {
                // SAFETY: the writer has pushed since, and writes no more.
                assert_eq!(note.with(|note| unsafe { *note }), 7);
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn items_of_two_producers_are_seen_whole() {
    model_with_floors("items_of_two_producers_are_seen_whole", [130, 96], || {
        let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let mut inbox = Inbox::new(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(2);
            inbox
        });
        assert_eq!(push(&mut producer, 0, 1, 1), 1);
        assert_eq!(sender.join().unwrap(), 1);
        let mut inbox = receiver.join().unwrap();
        assert_ne!(inbox.taken, 0, "an item that was there from the start");
        inbox.drain();
        assert_eq!(inbox.next, [2, 1, 0]);
    });
}

#[test]
fn a_grant_of_two_comes_at_once() {
    model_with_floors("a_grant_of_two_comes_at_once", [470, 350], || {
        let (mut producer, mut consumer) = ring(4, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || {
            assert!(record(&mut producer, 0, 0, 2));
        });
        let another = thread::spawn(move || push(&mut other, 1, 0, 1));
        let look = |consumer: &mut chunkring::mpsc::Consumer<Tracked>| {
            let mut seen = Vec::new();
            if let Ok(ready) = consumer.read() {
                ready.for_each(|item| seen.push(item.value()));
            }
            seen
        };
        let seen = look(&mut consumer);
        assert!(
            [&[][..], &[0, 1], &[100], &[0, 1, 100], &[100, 0, 1]].contains(&&*seen),
            "half of a grant: {seen:?}"
        );
        sender.join().unwrap();
        assert_eq!(another.join().unwrap(), 1);
        let all = look(&mut consumer);
        assert_eq!(all[..seen.len()], seen, "what is not released comes again");
        assert_eq!(all.len(), 3);
        consumer.read().unwrap().release_all();
        assert!(consumer.pop().unwrap_err().is_closed());
    });
}

#[test]
fn a_grant_shows_what_it_committed_and_nothing_else() {
    model_with_floors(
        "a_grant_shows_what_it_committed_and_nothing_else",
        [59, 12],
        || {
            let (mut producer, consumer) = ring(4, 1).mpsc().unwrap();
            let sender = thread::spawn(move || {
                let mut grant = producer.reserve(3).unwrap();
                for (number, value) in [0, 8, 9].into_iter().enumerate() {
                    assert_eq!(grant.filled(), number);
                    grant.push(item(0, value)).unwrap();
                }
                assert!(grant.push(item(0, 9)).is_err(), "no more than was reserved");
                grant.commit(1);
                producer.push(item(0, 1)).unwrap();
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(2);
            sender.join().unwrap();
            assert!(inbox.drain().is_closed());
            assert_eq!(inbox.taken, 2);
        },
    );
}

#[test]
fn a_dropped_grant_is_passed_over() {
    model_with_floors("a_dropped_grant_is_passed_over", [740, 580], || {
        let (mut producer, consumer) = ring(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(item(0, 9)).unwrap();
            drop(grant);
        });
        let another = thread::spawn(move || push(&mut other, 1, 0, 1));
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        sender.join().unwrap();
        assert_eq!(another.join().unwrap(), 1);
        assert!(inbox.drain().is_closed());
        assert_eq!(inbox.next, [0, 1, 0]);
    });
}

#[test]
fn a_chunk_read_in_place_goes_back_with_its_release() {
    model_with_floors(
        "a_chunk_read_in_place_goes_back_with_its_release",
        [4, 1],
        || {
            let (mut producer, mut consumer) = ring(2, 1).mpsc().unwrap();
            assert!(record(&mut producer, 0, 0, 2));
            let receiver = thread::spawn(move || {
                let ready = consumer.read().unwrap();
                let mut seen = Vec::new();
                ready.for_each(|item| seen.push(item.value()));
                assert_eq!(seen, [0, 1]);
                ready.release_all();
                consumer
            });
            let early = push(&mut producer, 0, 2, 2);
            let mut consumer = receiver.join().unwrap();
            assert_eq!(early + push(&mut producer, 0, 2 + early, 2 - early), 2);
            assert_eq!(consumer.pop().unwrap().value(), 2);
            consumer.read().unwrap().release(1);
            assert!(consumer.pop().unwrap_err().is_empty());
        },
    );
}
