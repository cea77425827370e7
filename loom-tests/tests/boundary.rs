//! From chunk to chunk: every item arrives once and in order, a chunk is used again only when it
//! has been read, and room comes back with its last item.

#![cfg(loom)]

mod in_order;

use chunkring::Builder;
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

/// `items` through a ring of this shape, while the other side looks `looks` times.
fn hand_over(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let room = items.min(producer.capacity());
    let sender = thread::spawn(move || {
        let pushed = in_order::push(&mut producer, 0, items);
        (producer, pushed)
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(looks);
    let (mut producer, pushed) = sender.join().unwrap();
    assert!(pushed >= room, "refused although there was room");
    inbox.drain();
    assert_eq!(inbox.taken, pushed, "an item was lost");

    // With everything taken, all chunks but the current one are free, and no more than those.
    let free = producer.free_slots();
    let used = pushed % producer.chunk_len();
    assert_eq!(free, producer.capacity() - used);
    assert_eq!(in_order::push(&mut producer, pushed, free + 1), free);
    inbox.drain();
    assert_eq!(inbox.taken, pushed + free);
}

#[test]
fn every_push_needs_a_chunk() {
    model("every_push_needs_a_chunk", 830, || {
        hand_over(&Builder::new(1, 2).max_chunks(2), 4, 4);
    });
}

#[test]
fn every_push_needs_the_chunk_just_read() {
    model("every_push_needs_the_chunk_just_read", 88, || {
        hand_over(&Builder::new(1, 1).max_chunks(1), 4, 4);
    });
}

#[test]
fn an_old_chunk_is_emptied_before_the_next() {
    model("an_old_chunk_is_emptied_before_the_next", 920, || {
        hand_over(&Builder::new(2, 2).max_chunks(2), 5, 3);
    });
}

#[test]
fn a_table_longer_than_the_ring_is_no_extra_room() {
    model("a_table_longer_than_the_ring_is_no_extra_room", 100, || {
        hand_over(&Builder::new(1, 3).max_chunks(3), 4, 1);
    });
}

#[test]
fn numbers_wrap_around() {
    model("numbers_wrap_around", 400, || {
        hand_over(
            &Builder::new(1, 2).max_chunks(2).origin(usize::MAX - 1),
            4,
            3,
        );
    });
}

#[test]
fn the_last_item_of_a_chunk_gives_it_back_at_once() {
    model("the_last_item_of_a_chunk_gives_it_back_at_once", 34, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        let receiver = thread::spawn(move || {
            // No look at the ring after the item has been taken.
            let taken = (0..3).find_map(|_| consumer.pop().ok());
            (consumer, taken)
        });
        producer.push(Tracked::new(0)).unwrap();
        let early = producer.push(Tracked::new(1)).is_ok();
        let (_consumer, taken) = receiver.join().unwrap();
        if taken.is_some() {
            assert!(early || producer.push(Tracked::new(1)).is_ok());
        } else {
            assert!(!early, "the only chunk holds an item");
        }
    });
}

#[test]
fn the_last_of_several_items_gives_their_chunk_back_at_once() {
    model(
        "the_last_of_several_items_gives_their_chunk_back_at_once",
        1,
        || {
            let (mut producer, mut consumer) = Builder::new(2, 1).max_chunks(1).spsc().unwrap();
            for number in 0..2 {
                producer.push(Tracked::new(number)).unwrap();
            }
            for number in 0..2 {
                assert_eq!(consumer.pop().unwrap().value(), number);
            }
            producer
                .push(Tracked::new(2))
                .expect("the last item gave the chunk back");
        },
    );
}
