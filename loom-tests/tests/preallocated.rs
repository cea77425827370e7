//! Chunks allocated up front wait as idle ones do.

#![cfg(loom)]

mod in_order;

use chunkring::Builder;
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

#[test]
fn preallocated_chunks_are_used_and_used_again() {
    model("preallocated_chunks_are_used_and_used_again", 850, || {
        let (mut producer, consumer) = Builder::new(1, 2)
            .max_chunks(2)
            .preallocate(true)
            .spsc()
            .unwrap();
        assert_eq!((producer.len(), producer.free_slots()), (0, 2));
        let sender = thread::spawn(move || {
            let pushed = in_order::push(&mut producer, 0, 4);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(4);
        let (mut producer, pushed) = sender.join().unwrap();
        assert!(pushed >= 2, "refused although there was room");
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        assert_eq!(in_order::push(&mut producer, pushed, 3), 2);
        assert_eq!((producer.len(), inbox.consumer.len()), (2, 2));
    });
}

#[test]
fn a_single_preallocated_chunk_is_used_again() {
    model("a_single_preallocated_chunk_is_used_again", 290, || {
        let (mut producer, consumer) = Builder::new(2, 1)
            .max_chunks(1)
            .preallocate(true)
            .origin(usize::MAX - 1)
            .spsc()
            .unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 0, 4));
        let mut inbox = Inbox::new(consumer);
        inbox.look(3);
        let pushed = sender.join().unwrap();
        assert!(pushed >= 2);
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
    });
}

#[test]
fn preallocated_chunks_are_freed_used_or_not() {
    model("preallocated_chunks_are_freed_used_or_not", 24, || {
        let (mut producer, mut consumer) = Builder::new(2, 3)
            .max_chunks(3)
            .preallocate(true)
            .spsc()
            .unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || in_order::push(&mut producer, 1, 2));
        let first: Option<Tracked> = consumer.pop().ok();
        assert!(first.is_none_or(|item| item.value() == 0));
        drop(consumer);
        assert!(
            sender.join().unwrap() >= 1,
            "the chunk has room, whoever reads it"
        );
    });
}
