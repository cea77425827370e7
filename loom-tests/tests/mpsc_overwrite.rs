//! A full ring for several producers that overwrites: what is lost is counted, what is read stays, and no
//! chunk has two owners.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Policy};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use loom_tests::model;
use per_producer::{Inbox, push};

fn overwriting(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks)
        .max_chunks(chunks)
        .policy(Policy::Overwrite)
}

/// `items` by one producer, `looks` by the consumer meanwhile.
fn overtake(ring: &Builder, items: usize, looks: usize) {
    let (mut producer, consumer) = ring.mpsc().unwrap();
    let control = producer.control();
    let sender = thread::spawn(move || push(&mut producer, 0, 0, items));
    let mut inbox = Inbox::with_gaps(consumer);
    inbox.look(looks);
    let pushed = sender.join().unwrap();
    inbox.drain();
    let lost = control.statistics().overwritten;
    assert_eq!(
        inbox.taken + lost,
        pushed,
        "an item was lost and not counted"
    );
    assert_eq!(inbox.next[0], pushed, "the newest item stays");
    drop(inbox);
    control.trim();
    assert_eq!(control.pool().used(), 0, "a chunk is lost");
}

#[test]
fn the_oldest_chunk_goes_to_one_of_two() {
    model("the_oldest_chunk_goes_to_one_of_two", 1, || {
        overtake(&overwriting(1, 2), 3, 2);
    });
}

#[test]
fn the_consumer_sleeps_a_whole_round_of_the_table() {
    model("the_consumer_sleeps_a_whole_round_of_the_table", 1, || {
        overtake(&overwriting(1, 1), 3, 1);
    });
}

#[test]
fn a_chunk_of_the_round_before_is_not_taken() {
    model("a_chunk_of_the_round_before_is_not_taken", 1, || {
        let (mut producer, consumer) = overwriting(1, 1).mpsc().unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let sender = thread::spawn({
            let done = Arc::clone(&done);
            move || {
                assert_eq!(push(&mut producer, 0, 0, 3), 3);
                // Relaxed: so that the consumer begins now, and knows nothing of it.
                done.store(true, Ordering::Relaxed);
            }
        });
        let mut inbox = Inbox::with_gaps(consumer);
        while !done.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        inbox.look(1);
        sender.join().unwrap();
        inbox.drain();
        assert_eq!((inbox.taken, inbox.next[0]), (1, 3));
    });
}
