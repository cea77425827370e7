//! A full ring for several producers that overwrites: what is lost is counted, what is read stays, and no
//! chunk has two owners.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Policy};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use loom_tests::model_with_floors;
use per_producer::{Inbox, item, push};

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
    model_with_floors("the_oldest_chunk_goes_to_one_of_two", [280, 56], || {
        overtake(&overwriting(1, 2), 3, 2);
    });
}

#[test]
fn the_consumer_sleeps_a_whole_round_of_the_table() {
    model_with_floors(
        "the_consumer_sleeps_a_whole_round_of_the_table",
        [52, 3],
        || {
            overtake(&overwriting(1, 1), 3, 1);
        },
    );
}

#[test]
fn a_chunk_of_the_round_before_is_not_taken() {
    model_with_floors(
        "a_chunk_of_the_round_before_is_not_taken",
        [20, 190],
        || {
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
        },
    );
}

/// Two producers put `items` and `others` in; the consumer looks `looks` times.
fn both_overtake(ring: &Builder, (items, others): (usize, usize), looks: usize) {
    let (mut producer, consumer) = ring.mpsc().unwrap();
    let control = producer.control();
    let mut other = producer.clone();
    assert_eq!(push(&mut producer, 0, 0, 2), 2);
    let sender = thread::spawn(move || push(&mut other, 1, 0, others));
    let mut inbox = Inbox::with_gaps(consumer);
    let pushed = 2 + push(&mut producer, 0, 2, items);
    inbox.look(looks);
    let pushed = pushed + sender.join().unwrap();
    assert!(pushed >= 3, "one of them can overwrite");
    inbox.drain();
    let lost = control.statistics().overwritten;
    assert_eq!(
        inbox.taken + lost,
        pushed,
        "an item was lost and not counted"
    );
    drop((producer, inbox));
    control.trim();
    assert_eq!(control.pool().used(), 0, "a chunk is lost");
}

#[test]
fn two_producers_overwrite() {
    model_with_floors("two_producers_overwrite", [77, 270], || {
        both_overtake(&overwriting(1, 2), (1, 1), 0);
    });
}

#[test]
fn two_producers_overwrite_while_sequence_numbers_come_round() {
    let name = "two_producers_overwrite_while_sequence_numbers_come_round";
    model_with_floors(name, [77, 270], || {
        both_overtake(&overwriting(1, 2).origin(usize::MAX - 1), (1, 1), 0);
    });
}

#[test]
fn what_is_being_read_is_not_overwritten() {
    model_with_floors("what_is_being_read_is_not_overwritten", [10, 20], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 4), 4);
        let mut inbox = Inbox::with_gaps(consumer);
        let receiver = thread::spawn(move || {
            inbox.look(1);
            inbox
        });
        let pushed = 4 + push(&mut producer, 0, 4, 1);
        let mut inbox = receiver.join().unwrap();
        assert_eq!(
            pushed, 5,
            "nobody else overwrites, and one chunk is not being read"
        );
        inbox.drain();
        assert_eq!(control.statistics().overwritten, 2);
        assert_eq!(inbox.taken, 3);
    });
}

#[test]
fn what_is_not_answered_is_not_overwritten() {
    model_with_floors(
        "what_is_not_answered_is_not_overwritten",
        [120, 860],
        || {
            let (mut producer, consumer) = overwriting(2, 1).mpsc().unwrap();
            let mut other = producer.clone();
            producer.push(item(0, 0)).unwrap();
            let control = producer.control();
            let sender = thread::spawn(move || {
                // Refused where the first producer is about to answer.
                let Ok(mut grant) = other.reserve(1) else {
                    return 0;
                };
                grant.push(item(1, 0)).unwrap();
                grant.commit_all();
                1
            });
            let pushed = 1 + push(&mut producer, 0, 1, 2);
            let pushed = pushed + sender.join().unwrap();
            let mut inbox = Inbox::with_gaps(consumer);
            inbox.drain();
            let lost = control.statistics().overwritten;
            assert_eq!(inbox.taken + lost, pushed);
        },
    );
}

#[test]
fn a_grant_that_is_held_is_not_overwritten() {
    model_with_floors("a_grant_that_is_held_is_not_overwritten", [1, 1], || {
        let (mut producer, consumer) = overwriting(1, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let mut grant = producer.reserve(1).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        grant.push(item(0, 0)).unwrap();
        assert_eq!(
            sender.join().unwrap(),
            0,
            "what is not answered is in the way"
        );
        grant.commit_all();
        let mut inbox = Inbox::new(consumer);
        inbox.drain();
        assert_eq!(inbox.next, [1, 0, 0]);
    });
}

#[test]
fn a_held_chunk_stays_over_a_whole_round() {
    model_with_floors("a_held_chunk_stays_over_a_whole_round", [30, 46], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 6), 6);
        let mut inbox = Inbox::with_gaps(consumer);
        // It holds a chunk, and reads it to its end while the table comes round to its entry.
        inbox.pop().unwrap();
        assert_eq!(push(&mut producer, 0, 6, 4), 4);
        assert_eq!(inbox.consumer.len(), 3);
        let receiver = thread::spawn(move || {
            inbox.look(1);
            inbox
        });
        let pushed = 10 + push(&mut producer, 0, 10, 1);
        let mut inbox = receiver.join().unwrap();
        assert_eq!(inbox.next[0], 4, "what is held stays as it is");
        inbox.drain();
        let lost = control.statistics().overwritten;
        assert_eq!(inbox.taken + lost, pushed);
        assert_eq!(inbox.next[0], pushed);
        // The ring is whole again.
        producer.seal();
        let mut put = pushed;
        for _ in 0..5 {
            put += push(&mut producer, 0, put, 2);
            inbox.drain();
            assert_eq!(inbox.next[0], put);
        }
        drop((producer, inbox));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn a_held_chunk_leaves_after_a_whole_round() {
    model_with_floors("a_held_chunk_leaves_after_a_whole_round", [70, 130], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        let mut inbox = Inbox::with_gaps(consumer);
        inbox.pop().unwrap();
        assert_eq!(push(&mut producer, 0, 2, 6), 6);
        let receiver = thread::spawn(move || {
            inbox.take(1);
            inbox
        });
        let pushed = 8 + push(&mut producer, 0, 8, 3);
        let mut inbox = receiver.join().unwrap();
        assert!(inbox.next[0] == 2 || inbox.taken == 1);
        inbox.drain();
        let lost = control.statistics().overwritten;
        assert_eq!(inbox.taken + lost, pushed);
        drop((producer, inbox));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn two_producers_come_round_to_a_held_chunk() {
    model_with_floors(
        "two_producers_come_round_to_a_held_chunk",
        [170, 3700],
        || {
            let (mut producer, consumer) = overwriting(1, 2).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let mut other = producer.clone();
            // A chunk of one slot goes back with its item, so that what is held has two.
            control.set_chunk_len(2).unwrap();
            let mut inbox = Inbox::with_gaps(consumer);
            inbox.look(2);
            assert_eq!(push(&mut producer, 0, 2, 2), 2);
            inbox.pop().unwrap();
            assert_eq!(push(&mut producer, 0, 4, 6), 6);
            let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
            let pushed = 10 + push(&mut producer, 0, 10, 1);
            let pushed = pushed + sender.join().unwrap();
            assert!(pushed >= 11);
            inbox.pop().unwrap();
            assert_eq!(inbox.next[0], 4, "what is held stays as it is");
            inbox.drain();
            let lost = control.statistics().overwritten;
            assert_eq!(inbox.taken + lost, pushed);
            drop((producer, inbox));
            control.trim();
            assert_eq!(control.pool().used(), 0, "a chunk is lost");
        },
    );
}

#[test]
fn a_held_chunk_with_an_unanswered_claim_is_not_detached() {
    let name = "a_held_chunk_with_an_unanswered_claim_is_not_detached";
    model_with_floors(name, [3, 3], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let mut other = producer.clone();
        producer.push(item(0, 0)).unwrap();
        let mut inbox = Inbox::with_gaps(consumer);
        inbox.pop().unwrap();
        let mut grant = other.reserve(1).unwrap();
        // The entries of a table of four, but that of the held chunk.
        assert_eq!(push(&mut producer, 0, 1, 6), 6);
        let sender = thread::spawn(move || {
            let pushed = push(&mut producer, 0, 7, 1);
            (producer, pushed)
        });
        grant.push(item(1, 0)).unwrap();
        grant.commit_all();
        let (mut producer, pushed) = sender.join().unwrap();
        assert_eq!(pushed + push(&mut producer, 0, 7 + pushed, 1 - pushed), 1);
        inbox.pop().unwrap();
        assert_eq!(inbox.next[..2], [1, 1]);
        inbox.drain();
        assert_eq!(inbox.next[..2], [8, 1]);
    });
}

#[test]
fn the_policy_changes_while_the_ring_is_full() {
    model_with_floors(
        "the_policy_changes_while_the_ring_is_full",
        [16, 16],
        || {
            let (mut producer, consumer) = Builder::new(1, 1).max_chunks(1).mpsc().unwrap();
            let control = producer.control();
            producer.push(item(0, 0)).unwrap();
            let changer = thread::spawn({
                let control = control.clone();
                move || {
                    control.set_policy(Policy::Overwrite).unwrap();
                    control.set_policy(Policy::Refuse).unwrap();
                }
            });
            let mut inbox = Inbox::with_gaps(consumer);
            let pushed = 1 + push(&mut producer, 0, 1, 1);
            inbox.look(1);
            changer.join().unwrap();
            inbox.drain();
            let lost = control.statistics().overwritten;
            assert_eq!(inbox.taken + lost, pushed);
            assert_eq!(lost, pushed - 1);
        },
    );
}

#[test]
fn a_ring_of_another_length_is_overwritten() {
    model_with_floors(
        "a_ring_of_another_length_is_overwritten",
        [130, 560],
        || {
            let (mut producer, consumer) = overwriting(1, 2).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let changer = thread::spawn({
                let control = control.clone();
                move || control.set_chunk_len(2).unwrap()
            });
            let pushed = 2 + push(&mut producer, 0, 2, 2);
            let mut inbox = Inbox::with_gaps(consumer);
            changer.join().unwrap();
            inbox.drain();
            let lost = control.statistics().overwritten;
            assert_eq!((inbox.taken + lost, pushed), (4, 4));
            drop((producer, inbox));
            control.trim();
            assert_eq!(control.pool().used(), 0, "a chunk is lost");
        },
    );
}

#[test]
fn two_overwrite_what_the_consumer_would_take() {
    model_with_floors(
        "two_overwrite_what_the_consumer_would_take",
        [210, 11000],
        || {
            both_overtake(&overwriting(1, 1), (1, 1), 1);
        },
    );
}

#[test]
fn two_producers_overwrite_one_chunk() {
    model_with_floors("two_producers_overwrite_one_chunk", [1, 1], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let control = producer.control();
        let mut other = producer.clone();
        assert_eq!(push(&mut producer, 0, 0, 4), 4);
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let pushed = push(&mut producer, 0, 4, 1) + sender.join().unwrap();
        assert!(pushed >= 1, "one of them can overwrite");
        assert_eq!(
            control.statistics().overwritten,
            2,
            "both fit into one chunk"
        );
        let mut inbox = Inbox::with_gaps(consumer);
        inbox.drain();
        assert_eq!(inbox.taken, 2 + pushed);
    });
}

#[test]
fn a_producer_sleeps_a_whole_round_of_the_table() {
    // Plain loads see so many old values in so many pushes that there is no end of executions.
    if std::env::var("LOOM_LOADS").is_ok_and(|loads| loads == "plain") {
        return;
    }
    let name = "a_producer_sleeps_a_whole_round_of_the_table";
    model_with_floors(name, [1, 1], || {
        let (mut producer, consumer) = overwriting(2, 2).mpsc().unwrap();
        let control = producer.control();
        let mut other = producer.clone();
        assert_eq!(push(&mut producer, 0, 0, 1), 1);
        let mut inbox = Inbox::with_gaps(consumer);
        // It holds the first chunk. Those that come have one slot, so that a round is short.
        inbox.pop().unwrap();
        control.set_chunk_len(1).unwrap();
        let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
        let pushed = 1 + push(&mut producer, 0, 1, 6);
        let pushed = pushed + sender.join().unwrap();
        inbox.drain();
        let lost = control.statistics().overwritten;
        assert_eq!(inbox.taken + lost, pushed);
        drop((producer, inbox));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}
