//! The ends of a ring for several producers: told once, to the other side, after everything else.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, PopError, PushError};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push};

fn ring(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).max_chunks(chunks)
}

#[test]
fn every_item_comes_before_the_end() {
    model_with_floors("every_item_comes_before_the_end", [970, 1800], || {
        let (producer, consumer) = ring(2, 2).mpsc().unwrap();
        let senders = [0, 1].map(|who| {
            let mut producer = producer.clone();
            thread::spawn(move || assert_eq!(push(&mut producer, who, 0, 1), 1))
        });
        drop(producer);
        let mut inbox = Inbox::new(consumer);
        for _ in 0..2 {
            if let Err(nothing) = inbox.pop() {
                assert!(
                    nothing == PopError::Empty || inbox.taken == 2,
                    "closed too early"
                );
            }
        }
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(inbox.drain(), PopError::Closed);
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn the_last_item_comes_before_the_end() {
    model_with_floors("the_last_item_comes_before_the_end", [24, 21], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.pop().unwrap();
        let sender = thread::spawn(move || assert_eq!(push(&mut producer, 0, 1, 1), 1));
        for _ in 0..2 {
            if let Err(nothing) = inbox.pop() {
                assert!(
                    nothing == PopError::Empty || inbox.taken == 2,
                    "closed too early"
                );
            }
        }
        sender.join().unwrap();
        assert_eq!(inbox.drain(), PopError::Closed);
        assert_eq!(inbox.taken, 2);
    });
}

#[test]
fn another_producers_item_comes_before_the_end() {
    model_with_floors(
        "another_producers_item_comes_before_the_end",
        [52, 49],
        || {
            let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
            let mut other = producer.clone();
            assert_eq!(push(&mut producer, 0, 0, 1), 1);
            let mut inbox = Inbox::new(consumer);
            inbox.pop().unwrap();
            let sender = thread::spawn(move || assert_eq!(push(&mut other, 1, 0, 1), 1));
            let last = thread::spawn(move || drop(producer));
            if let Err(nothing) = inbox.pop() {
                assert_eq!(nothing, PopError::Empty, "closed too early");
            }
            sender.join().unwrap();
            last.join().unwrap();
            assert_eq!(inbox.drain(), PopError::Closed);
            assert_eq!(inbox.taken, 2);
        },
    );
}

#[test]
fn what_the_producers_did_before_their_end_is_seen() {
    model_with_floors(
        "what_the_producers_did_before_their_end_is_seen",
        [60, 60],
        || {
            let (producer, mut consumer) = ring(1, 1).mpsc::<()>().unwrap();
            let notes: [Arc<UnsafeCell<usize>>; 2] = [(); 2].map(|()| Arc::new(UnsafeCell::new(0)));
            let senders = [0, 1].map(|who| {
                let producer = producer.clone();
                let note = Arc::clone(&notes[who]);
                thread::spawn(move || {
                    // SAFETY: others look only after the producers' end.
                    note.with_mut(|note| unsafe { *note = 7 });
                    drop(producer);
                })
            });
            drop(producer);
            if consumer.is_closed() {
                assert_eq!(consumer.pop(), Err(PopError::Closed));
                for note in &notes {
                    // SAFETY: the producers are gone.
                    assert_eq!(note.with(|note| unsafe { *note }), 7);
                }
            }
            for sender in senders {
                sender.join().unwrap();
            }
            assert_eq!(consumer.pop(), Err(PopError::Closed));
        },
    );
}

#[test]
fn a_clone_lives_on() {
    model_with_floors("a_clone_lives_on", [32, 17], || {
        let (producer, consumer) = ring(1, 1).mpsc().unwrap();
        let original = producer.clone();
        let sender = thread::spawn(move || {
            let mut clone = original.clone();
            drop(original);
            assert_eq!(push(&mut clone, 0, 0, 1), 1);
        });
        drop(producer);
        let mut inbox = Inbox::new(consumer);
        match inbox.pop() {
            Ok(()) => {}
            Err(nothing) => assert_eq!(nothing, PopError::Empty, "a producer is left"),
        }
        sender.join().unwrap();
        assert_eq!(inbox.drain(), PopError::Closed);
        assert_eq!(inbox.taken, 1);
    });
}

#[test]
fn what_the_consumer_did_before_its_end_is_seen() {
    model_with_floors(
        "what_the_consumer_did_before_its_end_is_seen",
        [6, 6],
        || {
            let (mut producer, consumer) = ring(1, 2).mpsc().unwrap();
            let note = Arc::new(UnsafeCell::new(0));
            let receiver = thread::spawn({
                let note = Arc::clone(&note);
                move || {
                    // SAFETY: the other thread looks only after the consumer's end.
                    note.with_mut(|note| unsafe { *note = 7 });
                    drop(consumer);
                }
            });
            let look = || {
                // SAFETY: the consumer is gone.
                assert_eq!(note.with(|note| unsafe { *note }), 7);
            };
            match producer.push(item(0, 0)) {
                Ok(()) => {}
                Err(PushError::Closed(_)) => look(),
                Err(PushError::Full(_)) => panic!("there is room"),
            }
            if producer.is_closed() {
                look();
                assert!(producer.push(item(0, 1)).unwrap_err().is_closed());
                assert!(producer.reserve(1).unwrap_err().is_closed());
            }
            receiver.join().unwrap();
            assert!(producer.push(item(0, 2)).unwrap_err().is_closed());
        },
    );
}

#[test]
fn a_reservation_hears_of_the_consumers_end() {
    model_with_floors("a_reservation_hears_of_the_consumers_end", [6, 6], || {
        let (mut producer, consumer) = ring(2, 1).mpsc().unwrap();
        producer.push(item(0, 0)).unwrap();
        let receiver = thread::spawn(move || drop(consumer));
        let early = producer.reserve(2).unwrap_err();
        receiver.join().unwrap();
        assert!(early.is_full() || early.is_closed());
        assert!(producer.reserve(2).unwrap_err().is_closed());
        let open = producer.reserve(1).is_ok();
        assert!(
            open || early.is_full(),
            "a ring that is closed leaves its chunk as it is"
        );
    });
}
