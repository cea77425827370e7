//! Items whose drop panics: none is dropped twice, none is lost, and the ring goes on.

use crate::kind::{Consumer, Make, Producer, rounded};
use crate::witness::{Ledger, Witness, assert_drop_panics};
use chunkring::Builder;
use std::sync::Arc;

fn filled_ring(
    ledger: &Arc<Ledger>,
    chunk_len: usize,
    chunks: usize,
    items: usize,
) -> (Producer<Witness>, Consumer<Witness>) {
    let (mut producer, consumer) = Builder::new(chunk_len, chunks).ring().unwrap();
    for _ in 0..items {
        producer.push(ledger.item()).unwrap();
    }
    (producer, consumer)
}

#[test]
fn every_item_of_a_release_is_dropped_once_when_a_drop_panics() {
    for chunk_len in [4, 5, 8] {
        for bad in 0..3 {
            for count in bad + 1..=4 {
                let ledger = Ledger::panicking_at(&[bad]);
                let (mut producer, mut consumer) = filled_ring(&ledger, chunk_len, 1, 4);
                let ready = consumer.read().unwrap();
                assert_drop_panics(|| ready.release(count));
                let drops: Vec<u32> = (0..4).map(|number| u32::from(number < count)).collect();
                assert_eq!(
                    ledger.drops(),
                    drops,
                    "chunk of {chunk_len}, item {bad} of {count}"
                );
                // What was taken stays taken, and the rest is still there.
                assert_eq!(consumer.len(), 4 - count);
                for number in count..4 {
                    assert_eq!(consumer.pop().unwrap().number(), number);
                }
                assert!(consumer.pop().unwrap_err().is_empty());
                // The chunk has gone back, if it had to.
                let mut more = 4;
                while producer.push(ledger.item()).is_ok() {
                    more += 1;
                }
                let room = rounded(chunk_len);
                assert_eq!(more, if room == 4 { 8 } else { room });
                drop(producer);
                drop(consumer);
                ledger.assert_each_dropped_once(more + 1);
            }
        }
    }
}

#[test]
fn a_chunk_whose_last_release_panicked_comes_back_at_the_consumers_next_call() {
    for (closed_early, by_read) in [(false, false), (false, true), (true, false), (true, true)] {
        let ledger = Ledger::panicking_at(&[1]);
        let items = if closed_early { 3 } else { 4 };
        let (mut producer, mut consumer) = filled_ring(&ledger, 4, 1, items);
        if closed_early {
            assert!(producer.reserve(2).unwrap_err().is_full());
        }
        let ready = consumer.read().unwrap();
        assert_drop_panics(|| ready.release_all());
        assert_eq!(consumer.len(), 0);
        assert!(consumer.is_empty());
        if by_read {
            assert!(consumer.read().unwrap_err().is_empty());
        } else {
            assert!(consumer.pop().unwrap_err().is_empty());
        }
        assert_eq!((producer.free_slots(), producer.len()), (4, 0));
        for number in items..items + 8 {
            producer.push(ledger.item()).unwrap();
            assert_eq!(consumer.pop().unwrap().number(), number);
        }
        ledger.assert_each_dropped_once(items + 8);
    }
}

#[test]
fn a_consumer_that_ends_after_a_panicking_release_leaves_nothing_to_be_dropped_twice() {
    for closed_early in [false, true] {
        for consumer_first in [false, true] {
            let ledger = Ledger::panicking_at(&[2]);
            let items = if closed_early { 3 } else { 4 };
            let (mut producer, mut consumer) = filled_ring(&ledger, 4, 1, items);
            if closed_early {
                assert!(producer.reserve(2).unwrap_err().is_full());
            }
            let ready = consumer.read().unwrap();
            assert_drop_panics(|| ready.release_all());
            if consumer_first {
                drop(consumer);
                drop(producer);
            } else {
                drop(producer);
                drop(consumer);
            }
            ledger.assert_each_dropped_once(items);
        }
    }
}

#[test]
fn a_commit_is_done_when_the_drop_of_what_it_leaves_out_panics() {
    for bad in 2..4 {
        let ledger = Ledger::panicking_at(&[bad]);
        let (mut producer, mut consumer) = filled_ring(&ledger, 8, 1, 0);
        let mut grant = producer.reserve(5).unwrap();
        for _ in 0..4 {
            grant.push(ledger.item()).unwrap();
        }
        assert_drop_panics(|| grant.commit(2));
        assert_eq!(ledger.drops(), [0, 0, 1, 1]);
        assert_eq!(consumer.len(), 2);
        producer.push(ledger.item()).unwrap();
        for number in [0, 1, 4] {
            assert_eq!(consumer.pop().unwrap().number(), number);
        }
        drop(producer);
        drop(consumer);
        ledger.assert_each_dropped_once(5);
    }
}

#[test]
fn every_item_of_a_dropped_grant_is_dropped_once_when_a_drop_panics() {
    for bad in 0..3 {
        let ledger = Ledger::panicking_at(&[bad]);
        let (mut producer, mut consumer) = filled_ring(&ledger, 4, 1, 0);
        let mut grant = producer.reserve(3).unwrap();
        for _ in 0..3 {
            grant.push(ledger.item()).unwrap();
        }
        assert_drop_panics(|| drop(grant));
        ledger.assert_each_dropped_once(3);
        assert!(consumer.pop().unwrap_err().is_empty());
        producer.push(ledger.item()).unwrap();
        assert_eq!(consumer.pop().unwrap().number(), 3);
    }
}

#[test]
fn every_item_of_an_ending_ring_is_dropped_once_when_a_drop_panics() {
    for bad in 0..10 {
        for producer_first in [false, true] {
            let ledger = Ledger::panicking_at(&[bad]);
            let (producer, mut consumer) = filled_ring(&ledger, 4, 3, 10);
            let taken = bad.min(2);
            for _ in 0..taken {
                drop(consumer.pop().unwrap());
            }
            if producer_first {
                drop(producer);
                assert_drop_panics(|| drop(consumer));
            } else {
                drop(consumer);
                assert_drop_panics(|| drop(producer));
            }
            ledger.assert_each_dropped_once(10);
            // All that the ring held has let go of the ledger: its memory is not leaked either.
            assert_eq!(Arc::strong_count(&ledger), 1);
        }
    }
}

#[test]
fn a_panic_while_a_grant_is_filled_drops_what_was_filled_and_jams_nothing() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = filled_ring(&ledger, 4, 1, 0);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut grant = producer.reserve(4).unwrap();
        grant.push(ledger.item()).unwrap();
        grant.push(ledger.item()).unwrap();
        panic!("the writer fails half way");
    }));
    assert!(panic.is_err());
    ledger.assert_each_dropped_once(2);
    assert!(consumer.is_empty());
    assert!(consumer.pop().unwrap_err().is_empty());
    for number in 2..12 {
        producer.push(ledger.item()).unwrap();
        assert_eq!(consumer.pop().unwrap().number(), number);
    }
}

#[test]
fn a_panic_while_a_slice_is_read_takes_nothing_out() {
    let ledger = Ledger::new();
    let (_producer, mut consumer) = filled_ring(&ledger, 4, 1, 3);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let ready = consumer.read().unwrap();
        assert_eq!(ready.len(), 4, "the reader expects another item");
    }));
    assert!(panic.is_err());
    assert_eq!((consumer.len(), ledger.total()), (3, 0));
}
