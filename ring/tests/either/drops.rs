//! Every item is dropped once, wherever it is when it is no longer wanted.

use crate::kind::{Consumer, Make, Producer, rounded};
use crate::witness::{Ledger, Witness};
use chunkring::Builder;
use std::mem::ManuallyDrop;

/// Lengths around those of a chunk and of the whole ring.
const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 3), (4, 1), (4, 3), (5, 2), (32, 2)];

fn ring(chunk_len: usize, chunks: usize) -> (Producer<Witness>, Consumer<Witness>) {
    Builder::new(chunk_len, chunks).ring().unwrap()
}

/// Drops both halves, in either order or at the same time.
fn end(order: usize, producer: Producer<Witness>, consumer: Consumer<Witness>) {
    match order {
        0 => {
            drop(producer);
            drop(consumer);
        }
        1 => {
            drop(consumer);
            drop(producer);
        }
        _ => {
            let other = std::thread::spawn(move || drop(producer));
            drop(consumer);
            other.join().unwrap();
        }
    }
}

#[test]
fn items_left_in_the_ring_are_dropped_with_it_in_either_order() {
    for (chunk_len, chunks) in SHAPES {
        let capacity = rounded(chunk_len) * chunks;
        for order in 0..3 {
            for pushed in 0..=capacity {
                for popped in [0, pushed / 2, pushed.saturating_sub(1), pushed] {
                    let ledger = Ledger::new();
                    let (mut producer, mut consumer) = ring(chunk_len, chunks);
                    for _ in 0..pushed {
                        producer.push(ledger.item()).unwrap();
                    }
                    for number in 0..popped {
                        assert_eq!(consumer.pop().unwrap().number(), number);
                    }
                    assert_eq!(ledger.total() as usize, popped);
                    end(order, producer, consumer);
                    ledger.assert_each_dropped_once(pushed);
                }
            }
        }
    }
}

#[test]
fn items_are_dropped_once_after_the_ring_has_gone_round() {
    for (chunk_len, chunks) in SHAPES {
        for rounds in 0..3 * chunk_len * chunks {
            let ledger = Ledger::new();
            let (mut producer, mut consumer) = ring(chunk_len, chunks);
            for _ in 0..rounds {
                producer.push(ledger.item()).unwrap();
                drop(consumer.pop().unwrap());
            }
            let mut left = 0;
            while producer.push(ledger.item()).is_ok() {
                left += 1;
            }
            end(rounds % 3, producer, consumer);
            // One more was refused, and dropped by the test.
            ledger.assert_each_dropped_once(rounds + left + 1);
        }
    }
}

#[test]
fn items_before_a_hole_are_dropped_once_and_the_hole_is_not() {
    for order in 0..3 {
        for (filled, taken) in [(1, 0), (1, 1), (5, 0), (5, 4), (5, 5), (7, 3)] {
            for chunks in [1, 2, 3] {
                let ledger = Ledger::new();
                let (mut producer, mut consumer) = ring(8, chunks);
                let mut made = filled;
                for _ in 0..filled {
                    producer.push(ledger.item()).unwrap();
                }
                // Taken before the chunk is closed, so that the consumer does not know of the hole.
                for _ in 0..taken {
                    drop(consumer.pop().unwrap());
                }
                if let Ok(mut grant) = producer.reserve(8) {
                    made += 2;
                    grant.push(ledger.item()).unwrap();
                    grant.push(ledger.item()).unwrap();
                    grant.commit_all();
                } else {
                    assert_eq!(chunks, 1);
                }
                end(order, producer, consumer);
                ledger.assert_each_dropped_once(made);
            }
        }
    }
}

#[test]
fn what_a_grant_does_not_commit_is_dropped_at_once() {
    for filled in 0..=4 {
        for committed in 0..=filled {
            let ledger = Ledger::new();
            let (mut producer, consumer) = ring(8, 1);
            let mut grant = producer.reserve(4).unwrap();
            for _ in 0..filled {
                grant.push(ledger.item()).unwrap();
            }
            assert_eq!(ledger.total(), 0);
            grant.commit(committed);
            let drops: Vec<u32> = (0..filled).map(|n| u32::from(n >= committed)).collect();
            assert_eq!(ledger.drops(), drops);
            assert_eq!(consumer.len(), committed);
            end(committed % 3, producer, consumer);
            ledger.assert_each_dropped_once(filled);
        }
    }
}

#[test]
fn what_a_dropped_grant_holds_is_dropped_at_once() {
    let ledger = Ledger::new();
    let (mut producer, consumer) = ring(8, 1);
    let mut grant = producer.reserve(4).unwrap();
    for _ in 0..3 {
        grant.push(ledger.item()).unwrap();
    }
    drop(grant);
    ledger.assert_each_dropped_once(3);
    assert!(consumer.is_empty());
    producer.push(ledger.item()).unwrap();
    end(0, producer, consumer);
    ledger.assert_each_dropped_once(4);
}

#[test]
fn a_release_drops_what_it_takes_at_once_and_nothing_else() {
    for count in 0..=4 {
        let ledger = Ledger::new();
        let (mut producer, mut consumer) = ring(4, 2);
        for _ in 0..6 {
            producer.push(ledger.item()).unwrap();
        }
        let ready = consumer.read().unwrap();
        assert_eq!(ready.len(), 4);
        ready.release(count);
        let drops: Vec<u32> = (0..6).map(|number| u32::from(number < count)).collect();
        assert_eq!(ledger.drops(), drops);
        end(count % 3, producer, consumer);
        ledger.assert_each_dropped_once(6);
    }
}

#[test]
fn a_refused_item_comes_back_alive() {
    let ledger = Ledger::new();
    let (mut producer, consumer) = ring(1, 1);
    producer.push(ledger.item()).unwrap();
    let refused = producer.push(ledger.item()).unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_inner().number(), 1);
    assert_eq!(ledger.drops(), [0, 1]);
    drop(consumer);
    let refused = producer.push(ledger.item()).unwrap_err();
    assert!(refused.is_closed());
    assert_eq!(refused.into_inner().number(), 2);
    assert_eq!(
        producer.reserve(1).unwrap_err(),
        chunkring::ReserveError::Closed
    );
    assert_eq!(ledger.drops(), [0, 1, 1]);
    drop(producer);
    ledger.assert_each_dropped_once(3);
}

#[test]
fn items_accepted_after_the_consumers_end_are_dropped_with_the_ring() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = ring(8, 2);
    for _ in 0..3 {
        producer.push(ledger.item()).unwrap();
    }
    drop(consumer.pop().unwrap());
    drop(consumer);
    for _ in 0..5 {
        producer.push(ledger.item()).unwrap();
    }
    assert!(producer.push(ledger.item()).is_err());
    drop(producer);
    ledger.assert_each_dropped_once(9);
}

#[test]
fn the_other_half_of_a_forgotten_one_goes_on() {
    let ledger = Ledger::new();
    let (mut producer, consumer) = ring(2, 2);
    let consumer = ManuallyDrop::new(consumer);
    assert!(!producer.is_closed());
    for _ in 0..4 {
        producer.push(ledger.item()).unwrap();
    }
    assert!(producer.push(ledger.item()).unwrap_err().is_full());
    drop(producer);
    // Nobody knows that the items will never be taken.
    assert_eq!(ledger.drops(), [0, 0, 0, 0, 1]);
    drop(ManuallyDrop::into_inner(consumer));
    ledger.assert_each_dropped_once(5);

    let ledger = Ledger::new();
    let (mut producer, mut consumer) = ring(2, 2);
    producer.push(ledger.item()).unwrap();
    let producer = ManuallyDrop::new(producer);
    assert_eq!(consumer.pop().unwrap().number(), 0);
    assert!(consumer.pop().unwrap_err().is_empty());
    drop(consumer);
    drop(ManuallyDrop::into_inner(producer));
    ledger.assert_each_dropped_once(1);
}
