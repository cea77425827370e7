//! Two halves and any number of controls own a ring: the later half ends it, the last owner frees
//! what is left, each exactly once.

#![cfg(loom)]

mod in_order;

use chunkring::spsc::Consumer;
use chunkring::{Builder, Control};
use loom::thread;
use loom_tests::{Tracked, model};

/// A ring with an idle chunk, a chunk that is half read, and one that is half filled.
fn in_use() -> (
    chunkring::spsc::Producer<Tracked>,
    Consumer<Tracked>,
    Control<Tracked>,
) {
    let (mut producer, mut consumer) = Builder::new(2, 3).max_chunks(4).spsc().unwrap();
    assert_eq!(in_order::push(&mut producer, 0, 5), 5);
    for number in 0..3 {
        assert_eq!(consumer.pop().unwrap().value(), number);
    }
    let control = producer.control();
    (producer, consumer, control)
}

#[test]
fn the_later_half_frees_the_ring() {
    model("the_later_half_frees_the_ring", 4, || {
        let (producer, consumer) = Builder::new(1, 1).spsc::<Tracked>().unwrap();
        let sender = thread::spawn(move || drop(producer));
        drop(consumer);
        sender.join().unwrap();
    });
}

#[test]
fn a_control_may_be_the_last_owner() {
    model("a_control_may_be_the_last_owner", 24, || {
        let (producer, consumer, control) = in_use();
        let sender = thread::spawn(move || drop(producer));
        let keeper = thread::spawn(move || drop(control));
        drop(consumer);
        sender.join().unwrap();
        keeper.join().unwrap();
    });
}

#[test]
fn a_control_outlives_the_halves() {
    model("a_control_outlives_the_halves", 4, || {
        let (producer, consumer, control) = in_use();
        let sender = thread::spawn(move || drop(producer));
        drop(consumer);
        sender.join().unwrap();
        assert_eq!(control.pool().used(), 0, "chunks are kept for nobody");
        assert_eq!(control.chunks_in_use(), 0);
        control.trim();
        control.resize(1, 2).unwrap();
        assert_eq!((control.chunk_len(), control.chunks()), (1, 2));
        assert_eq!(control.clone().pool().used(), 0);
    });
}

#[test]
fn a_ring_ends_while_it_is_trimmed() {
    model("a_ring_ends_while_it_is_trimmed", 110, || {
        let (producer, consumer, control) = in_use();
        let sender = thread::spawn(move || drop(producer));
        let trimmer = thread::spawn(move || {
            control.trim();
            control
        });
        drop(consumer);
        sender.join().unwrap();
        let control = trimmer.join().unwrap();
        assert_eq!(control.pool().used(), 0);
    });
}

#[test]
fn a_ring_that_has_ended_is_trimmed() {
    model("a_ring_that_has_ended_is_trimmed", 100, || {
        let (producer, consumer, control) = in_use();
        drop(producer);
        let receiver = thread::spawn(move || drop(consumer));
        control.set_chunks(1).unwrap();
        control.trim();
        assert!(control.chunks_in_use() <= 3);
        receiver.join().unwrap();
        assert_eq!(control.pool().used(), 0);
        assert_eq!(control.chunks_in_use(), 0);
    });
}

#[test]
fn a_ring_that_ends_does_without_its_current_settings() {
    model(
        "a_ring_that_ends_does_without_its_current_settings",
        51,
        || {
            let (producer, consumer, control) = in_use();
            drop(consumer);
            let sender = thread::spawn(move || drop(producer));
            control.resize(3, 1).unwrap();
            sender.join().unwrap();
            assert_eq!(control.pool().used(), 0);
        },
    );
}
