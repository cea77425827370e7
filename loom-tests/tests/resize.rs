//! A ring that changes its shape while it is used: nothing is lost, and in the end it holds what it
//! was told to.

#![cfg(loom)]

mod in_order;

use chunkring::{Builder, Control, Policy, ReserveError};
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

/// `items` through a ring, while the other side looks `looks` times and a third thread changes the
/// ring to `chunks` chunks of `chunk_len` items.
fn hand_over(
    ring: &Builder,
    items: usize,
    looks: usize,
    (chunk_len, chunks): (usize, usize),
    change: impl FnOnce(&Control<Tracked>) + Send + 'static,
) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let control = consumer.control();
    // Length and number may change one after the other.
    let least = control.chunk_len().min(chunk_len) * control.chunks().min(chunks);
    // One beforehand, so that both sides have something to do from the start.
    producer.push(Tracked::new(0)).unwrap();
    let sender = thread::spawn(move || {
        let pushed = 1 + in_order::push(&mut producer, 1, items - 1);
        (producer, pushed)
    });
    let changer = thread::spawn(move || {
        change(&control);
        control
    });
    let mut inbox = Inbox::new(consumer);
    inbox.look(looks);
    let control = changer.join().unwrap();
    let (mut producer, pushed) = sender.join().unwrap();
    assert!(
        pushed >= items.min(least),
        "refused although there was room"
    );
    inbox.drain();
    assert_eq!(inbox.taken, pushed, "an item was lost");

    // From the next chunk on, the ring is as if it had been made so.
    producer.seal();
    inbox.drain();
    let more = in_order::push(&mut producer, pushed, chunk_len * chunks + 1);
    assert!(more >= chunk_len * chunks, "the ring is smaller than told");
    inbox.drain();
    producer.seal();
    inbox.drain();
    let pushed = pushed + more;
    assert_eq!(
        in_order::push(&mut producer, pushed, chunk_len * chunks + 1),
        chunk_len * chunks
    );
    assert_eq!(control.chunks_in_use(), chunks);
    inbox.drain();
}

#[test]
fn more_chunks() {
    model("more_chunks", 340, || {
        let ring = Builder::new(1, 1).max_chunks(2);
        hand_over(&ring, 2, 2, (1, 2), |ring| ring.set_chunks(2).unwrap());
    });
}

#[test]
fn fewer_chunks() {
    model("fewer_chunks", 650, || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, 2, 1, (1, 1), |ring| ring.set_chunks(1).unwrap());
    });
}

#[test]
fn longer_chunks() {
    model("longer_chunks", 870, || {
        let ring = Builder::new(1, 2).max_chunks(2);
        hand_over(&ring, 2, 1, (2, 2), |ring| ring.set_chunk_len(2).unwrap());
    });
}

#[test]
fn shorter_chunks() {
    model("shorter_chunks", 175, || {
        let ring = Builder::new(2, 1).max_chunks(2);
        hand_over(&ring, 3, 2, (1, 1), |ring| ring.set_chunk_len(1).unwrap());
    });
}

#[test]
fn another_shape() {
    model("another_shape", 5, || {
        let ring = Builder::new(2, 1).max_chunks(2);
        hand_over(&ring, 2, 1, (1, 2), |ring| ring.resize(1, 2).unwrap());
    });
}

#[test]
fn a_reservation_gets_the_length_that_was_looked_at() {
    model(
        "a_reservation_gets_the_length_that_was_looked_at",
        7,
        || {
            let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
            let control = producer.control();
            let changer = thread::spawn(move || control.set_chunk_len(1).unwrap());
            let got = in_order::record(&mut producer, 0, 2);
            changer.join().unwrap();
            assert!(matches!(
                producer.reserve(2).err(),
                Some(ReserveError::TooLong { chunk_len: 1, .. })
            ));
            let mut inbox = Inbox::new(consumer);
            inbox.drain();
            assert_eq!(inbox.taken, if got { 2 } else { 0 });
        },
    );
}

#[test]
fn len_knows_chunks_of_any_length() {
    model("len_knows_chunks_of_any_length", 200, || {
        let (mut producer, consumer) = Builder::new(1, 3).max_chunks(3).spsc().unwrap();
        let control = producer.control();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            control.set_chunk_len(2).unwrap();
            let pushed = in_order::push(&mut producer, 1, 3);
            (producer, pushed)
        });
        let mut inbox = Inbox::new(consumer);
        let known = inbox.consumer.len();
        assert!((1..=4).contains(&known));
        for _ in 0..known {
            inbox.pop().expect("len counts what is there");
        }
        let (mut producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed, 3);
        assert_eq!(inbox.consumer.len(), 4 - inbox.taken);
        assert!((4 - inbox.taken..=4).contains(&producer.len()));
        inbox.drain();
        // A hole in a chunk of another length than is told by now.
        assert_eq!(in_order::push(&mut producer, 4, 2), 2);
        producer.seal();
        producer.control().set_chunk_len(3).unwrap();
        assert_eq!(inbox.consumer.len(), 2);
        inbox.drain();
    });
}

#[test]
fn chunks_of_an_old_length_are_freed() {
    model("chunks_of_an_old_length_are_freed", 34, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(4).spsc().unwrap();
        let control = consumer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let changer = thread::spawn(move || control.set_chunk_len(2).unwrap());
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        changer.join().unwrap();
        let pool = producer.control().pool().clone();
        let control = producer.control();
        // One chunk as long as is told now, and whatever was idle before is too short for it.
        assert_eq!(in_order::push(&mut producer, 2, 1), 1);
        let with_one = pool.used();
        control.trim();
        assert_eq!(pool.used(), with_one, "a chunk of another length is kept");
        inbox.drain();
    });
}

#[test]
fn a_smaller_ring_gives_memory_back_though_nobody_works() {
    model(
        "a_smaller_ring_gives_memory_back_though_nobody_works",
        26,
        || {
            let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
            assert_eq!(in_order::push(&mut producer, 0, 2), 2);
            let control = consumer.control();
            let receiver = thread::spawn(move || {
                let mut inbox = Inbox::new(consumer);
                inbox.look(2);
                inbox
            });
            control.set_chunks(1).unwrap();
            let inbox = receiver.join().unwrap();
            assert_eq!(inbox.taken, 2);
            control.set_chunks(2).unwrap();
            control.set_chunks(1).unwrap();
            assert!(control.chunks_in_use() <= 1, "memory is kept for nobody");
            control.trim();
            assert_eq!(control.pool().used(), 0);
        },
    );
}

#[test]
fn a_known_idle_chunk_of_another_length_is_not_used() {
    let name = "a_known_idle_chunk_of_another_length_is_not_used";
    model(name, 29, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 4), 4);
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        // From here on the producer knows of two idle chunks, of which it takes one.
        assert_eq!(in_order::push(&mut producer, 4, 2), 2);
        let changer = thread::spawn({
            let control = control.clone();
            move || control.set_chunk_len(1).unwrap()
        });
        let pushed = 6 + in_order::push(&mut producer, 6, 1);
        changer.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        producer.seal();
        inbox.drain();
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn an_idle_chunk_of_another_length_is_not_used() {
    model("an_idle_chunk_of_another_length_is_not_used", 34, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 4), 4);
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        let changer = thread::spawn({
            let control = control.clone();
            move || control.set_chunk_len(1).unwrap()
        });
        let pushed = 4 + in_order::push(&mut producer, 4, 2);
        changer.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        control.trim();
        control.set_chunk_len(2).unwrap();
        producer.seal();
        inbox.drain();
        assert_eq!(in_order::push(&mut producer, pushed, 4), 4);
        inbox.drain();
        assert_eq!(control.chunks_in_use(), 2);
        control.set_chunk_len(1).unwrap();
        assert_eq!(control.pool().used(), 0, "nobody can use what is idle");
    });
}

/// A chunk is read on another thread after `change`. Returns the bytes of chunks before and after.
fn left_of_a_chunk(
    ring: &Builder,
    items: usize,
    change: impl FnOnce(&Control<Tracked>),
) -> (usize, usize) {
    left_after(ring, items, |_| {}, change)
}

/// As [`left_of_a_chunk`]; `prepare` comes before the items.
fn left_after(
    ring: &Builder,
    items: usize,
    prepare: impl FnOnce(&Control<Tracked>),
    change: impl FnOnce(&Control<Tracked>),
) -> (usize, usize) {
    let (mut producer, mut consumer) = ring.spsc().unwrap();
    let control = producer.control();
    prepare(&control);
    assert_eq!(in_order::push(&mut producer, 0, items), items);
    let before = control.pool().used();
    change(&control);
    let receiver = thread::spawn(move || {
        drop(consumer.pop().unwrap());
        consumer
    });
    // Which finds the chunk only where nobody else has it.
    control.trim();
    receiver.join().unwrap();
    (before, control.pool().used())
}

#[test]
fn a_chunk_of_another_length_is_freed_when_it_was_read() {
    model(
        "a_chunk_of_another_length_is_freed_when_it_was_read",
        3,
        || {
            let ring = Builder::new(1, 1);
            let (_, after) = left_of_a_chunk(&ring, 1, |ring| ring.set_chunk_len(2).unwrap());
            assert_eq!(after, 0);
        },
    );
}

#[test]
fn a_chunk_too_many_is_freed_when_it_was_read() {
    model("a_chunk_too_many_is_freed_when_it_was_read", 3, || {
        let ring = Builder::new(1, 2);
        let (before, after) = left_of_a_chunk(&ring, 2, |ring| ring.set_chunks(1).unwrap());
        assert_eq!(after, before / 2);
    });
}

#[test]
fn a_chunk_too_many_is_freed_though_the_ring_began_with_fewer() {
    model(
        "a_chunk_too_many_is_freed_though_the_ring_began_with_fewer",
        6,
        || {
            let ring = Builder::new(1, 1).max_chunks(2);
            let grow = |ring: &Control<Tracked>| ring.set_chunks(2).unwrap();
            let (before, after) = left_after(&ring, 2, grow, |ring| ring.set_chunks(1).unwrap());
            assert_eq!(after, before / 2);
        },
    );
}

#[test]
fn a_chunk_too_many_is_freed_though_the_ring_began_by_refusing() {
    model(
        "a_chunk_too_many_is_freed_though_the_ring_began_by_refusing",
        6,
        || {
            let ring = Builder::new(1, 1).max_chunks(2);
            let grow = |ring: &Control<Tracked>| {
                ring.set_policy(Policy::Grow { max_chunks: 2 }).unwrap();
            };
            let (before, after) = left_after(&ring, 2, grow, |_| {});
            assert_eq!(after, before / 2);
        },
    );
}

#[test]
fn a_smaller_ring_is_full_until_it_was_read() {
    model("a_smaller_ring_is_full_until_it_was_read", 39, || {
        let (mut producer, consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 4), 4);
        let changer = thread::spawn(move || control.resize(1, 1).unwrap());
        assert_eq!(producer.free_slots(), 0);
        assert!(producer.push(Tracked::new(4)).is_err());
        let mut inbox = Inbox::new(consumer);
        assert!(inbox.consumer.is_full());
        changer.join().unwrap();
        inbox.look(2);
        assert!(inbox.consumer.is_full() && producer.is_full());
        assert!(producer.push(Tracked::new(4)).is_err());
        inbox.look(2);
        assert_eq!(in_order::push(&mut producer, 4, 2), 1);
        assert!(inbox.consumer.is_full());
        inbox.drain();
        assert_eq!(inbox.taken, 5);
    });
}
