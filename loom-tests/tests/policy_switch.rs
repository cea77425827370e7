//! The policy is changed while both halves run: whatever each of them sees of it, every item that went in
//! comes out or is counted.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, Policy};
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

/// Three items into a ring of one chunk of one slot, or of two, while its policy is changed and it is
/// looked into.
fn switch(ring: &Builder, to: Policy) {
    let (mut producer, mut consumer) = ring.spsc().unwrap();
    let control = producer.control();
    producer.push(Tracked::new(0)).unwrap();
    let sender = thread::spawn(move || {
        let pushed = (1..3)
            .filter(|number| producer.push(Tracked::new(*number)).is_ok())
            .count();
        (producer, 1 + pushed)
    });
    let changer = thread::spawn({
        let control = control.clone();
        move || control.set_policy(to).unwrap()
    });
    let mut newest = None;
    let mut taken = 0;
    let mut look = || match consumer.pop() {
        Ok(item) => {
            assert!(newest < Some(item.value()));
            newest = Some(item.value());
            taken += 1;
            true
        }
        Err(_) => false,
    };
    look();
    let (producer, pushed) = sender.join().unwrap();
    changer.join().unwrap();
    assert_eq!(control.policy(), to);
    while look() {}
    let statistics = control.statistics();
    assert_eq!(pushed, taken + statistics.overwritten);
    assert_eq!(3 - pushed, statistics.refused_full);
    assert!(statistics.chunks_in_use <= statistics.chunks);
    drop((producer, consumer));
    control.trim();
    assert_eq!(control.pool().used(), 0);
}

#[test]
fn from_refusing_to_overwriting() {
    model("from_refusing_to_overwriting", 1350, || {
        let ring = Builder::new(1, 1).max_chunks(2).overwritable(true);
        switch(&ring, Policy::Overwrite);
    });
}

#[test]
fn from_overwriting_to_growing() {
    model("from_overwriting_to_growing", 5900, || {
        let ring = Builder::new(1, 1).max_chunks(2).policy(Policy::Overwrite);
        switch(&ring, Policy::Grow { max_chunks: 2 });
    });
}

#[test]
fn from_growing_to_refusing() {
    model("from_growing_to_refusing", 850, || {
        let grow = Policy::Grow { max_chunks: 2 };
        let ring = Builder::new(1, 1).policy(grow).overwritable(true);
        switch(&ring, Policy::Refuse);
    });
}

/// A ring that could be overwritten and is not: it is as any other.
fn hand_over(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let control = consumer.control();
    let capacity = producer.capacity();
    let at_first = control.chunks_in_use();
    assert_eq!(in_order::push(&mut producer, 0, 1), 1);
    let sender = thread::spawn(move || {
        let pushed = 1 + in_order::push(&mut producer, 1, items - 1);
        (producer, pushed)
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(looks);
    let (mut producer, pushed) = sender.join().unwrap();
    assert!(
        pushed >= items.min(capacity),
        "refused although there was room"
    );
    assert!(
        control.chunks_in_use() <= control.chunks(),
        "a chunk too many"
    );
    if at_first > 0 {
        assert_eq!(
            control.chunks_in_use(),
            at_first,
            "it keeps what it was given"
        );
    }
    assert!((pushed - inbox.taken..=capacity).contains(&producer.len()));
    inbox.drain();
    assert_eq!(inbox.taken, pushed);
    assert!(producer.is_empty() && inbox.consumer.is_empty());
    assert_eq!(in_order::push(&mut producer, pushed, capacity), capacity);
    assert_eq!(inbox.consumer.len(), capacity);
    inbox.drain();
    drop((producer, inbox));
    control.trim();
    assert_eq!(control.pool().used(), 0);
}

#[test]
fn one_chunk_goes_round() {
    model("one_chunk_goes_round", 150, || {
        hand_over(&Builder::new(1, 1).max_chunks(1).overwritable(true), 3, 3);
    });
}

#[test]
fn two_chunks_go_round() {
    model("two_chunks_go_round", 1250, || {
        hand_over(&Builder::new(1, 2).max_chunks(2).overwritable(true), 3, 3);
    });
}

#[test]
fn chunks_of_two_go_round() {
    model("chunks_of_two_go_round", 110, || {
        hand_over(&Builder::new(2, 1).max_chunks(1).overwritable(true), 4, 3);
    });
}

#[test]
fn preallocated_chunks_stay() {
    model("preallocated_chunks_stay", 3000, || {
        let ring = Builder::new(1, 3).max_chunks(3).preallocate(true);
        hand_over(&ring.overwritable(true), 4, 2);
    });
}

#[test]
fn idle_chunks_are_trimmed_while_they_are_used_again() {
    model(
        "idle_chunks_are_trimmed_while_they_are_used_again",
        1900,
        || {
            let ring = Builder::new(1, 2).max_chunks(2).overwritable(true);
            let (mut producer, consumer) = ring.spsc().unwrap();
            let control = consumer.control();
            let mut inbox = Inbox::new(consumer);
            assert_eq!(in_order::push(&mut producer, 0, 2), 2);
            inbox.look(1);
            let trimmer = thread::spawn({
                let control = control.clone();
                move || control.trim()
            });
            let sender = thread::spawn(move || {
                let pushed = 2 + in_order::push(&mut producer, 2, 1);
                (producer, pushed)
            });
            inbox.look(1);
            trimmer.join().unwrap();
            let (producer, pushed) = sender.join().unwrap();
            inbox.drain();
            assert_eq!((inbox.taken, pushed), (3, 3));
            drop((producer, inbox));
            control.trim();
            assert_eq!((control.chunks_in_use(), control.pool().used()), (0, 0));
        },
    );
}
