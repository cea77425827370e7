//! A ring that grows: nothing is lost, no more chunks than may be are in traffic, and what is beyond the
//! ring's own number goes back when it has been read.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, Policy};
use in_order::Inbox;
use loom::thread;
use loom_tests::model;

fn growing(max_chunks: usize) -> Builder {
    Builder::new(1, 1)
        .max_chunks(max_chunks)
        .policy(Policy::Grow { max_chunks })
}

/// `items` through a ring of up to two chunks, which the other side looks for `looks` times.
fn hand_over(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let control = consumer.control();
    assert_eq!(in_order::push(&mut producer, 0, 1), 1);
    let sender = thread::spawn(move || {
        let pushed = 1 + in_order::push(&mut producer, 1, items - 1);
        (producer, pushed)
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(looks);
    let (mut producer, pushed) = sender.join().unwrap();
    assert!(pushed >= items.min(2), "refused below its bound");
    assert!(control.chunks_in_use() <= 2, "beyond its bound");
    let refused = control.statistics().refused_full;
    assert_eq!(refused, usize::from(pushed < items));
    inbox.drain();
    assert_eq!(inbox.taken, pushed);
    assert!(control.chunks_in_use() <= 1, "what is beyond goes back");
    assert_eq!(in_order::push(&mut producer, pushed, 3), 2);
    assert!(producer.is_full() && inbox.consumer.is_full());
    inbox.drain();
    drop((producer, inbox));
    control.trim();
    assert_eq!(control.pool().used(), 0);
}

#[test]
fn a_ring_grows_while_it_is_read() {
    model("a_ring_grows_while_it_is_read", 130, || {
        hand_over(&growing(2), 3, 2);
    });
}

#[test]
fn a_ring_that_could_be_overwritten_grows_while_it_is_read() {
    model(
        "a_ring_that_could_be_overwritten_grows_while_it_is_read",
        500,
        || {
            hand_over(&growing(2).overwritable(true), 3, 2);
        },
    );
}

#[test]
fn a_chunk_that_is_beyond_goes_back_while_the_producer_works() {
    model(
        "a_chunk_that_is_beyond_goes_back_while_the_producer_works",
        10,
        || {
            let (mut producer, consumer) = growing(2).spsc().unwrap();
            let control = consumer.control();
            assert_eq!(in_order::push(&mut producer, 0, 2), 2);
            let receiver = thread::spawn(move || {
                let mut inbox = Inbox::new(consumer);
                inbox.look(2);
                inbox
            });
            let pushed = 2 + in_order::push(&mut producer, 2, 1);
            let mut inbox = receiver.join().unwrap();
            inbox.drain();
            assert_eq!(inbox.taken, pushed);
            assert!(control.chunks_in_use() <= 1);
        },
    );
}
