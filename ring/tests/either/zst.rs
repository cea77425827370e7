//! Items without a size still have a number, an order of drops, and a place in the capacity.

use crate::kind::Make;
use chunkring::{Builder, PopError, PushError};
use std::cell::Cell;

thread_local! {
    static DROPS: Cell<usize> = const { Cell::new(0) };
}

/// Nothing, with a drop.
#[derive(Debug)]
struct Nothing;

impl Drop for Nothing {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
    }
}

/// Nothing, at an address that not every allocation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(4096))]
struct AlignedNothing;

#[test]
fn the_capacity_counts_for_items_without_a_size() {
    for (chunk_len, chunks) in [(4, 1), (2, 2), (1, 4)] {
        for preallocate in [false, true] {
            let (mut producer, mut consumer) = Builder::new(chunk_len, chunks)
                .preallocate(preallocate)
                .ring()
                .unwrap();
            for _ in 0..10 {
                for _ in 0..4 {
                    producer.push(()).unwrap();
                }
                assert_eq!(producer.push(()), Err(PushError::Full(())));
                assert_eq!((producer.len(), consumer.len()), (4, 4));
                for _ in 0..4 {
                    consumer.pop().unwrap();
                }
                assert_eq!(consumer.pop(), Err(PopError::Empty));
            }
        }
    }
}

#[test]
fn every_item_without_a_size_is_dropped_once() {
    for chunk_len in [1, 3, 4] {
        DROPS.set(0);
        let (mut producer, mut consumer) = Builder::new(chunk_len, 5).ring().unwrap();
        for _ in 0..5 {
            producer.push(Nothing).unwrap();
        }
        drop(consumer.pop().unwrap());
        assert_eq!(DROPS.get(), 1);
        let ready = consumer.read().unwrap();
        let count = ready.len();
        ready.release_all();
        assert_eq!(DROPS.get(), 1 + count);
        let mut grant = producer.reserve(chunk_len).unwrap();
        grant.push(Nothing).unwrap();
        drop(grant);
        assert_eq!(DROPS.get(), 2 + count);
        drop(consumer);
        drop(producer);
        assert_eq!(DROPS.get(), 6);
    }
}

#[test]
fn references_to_items_without_a_size_are_aligned() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    producer.push(AlignedNothing).unwrap();
    let mut grant = producer.reserve(2).unwrap();
    assert_eq!(grant.spare_mut().as_ptr() as usize % 4096, 0);
    grant.extend_from_slice(&[AlignedNothing; 2]);
    grant.commit_all();
    let ready = consumer.read().unwrap();
    assert_eq!(ready.as_ptr() as usize % 4096, 0);
    assert_eq!(*ready, [AlignedNothing; 3]);
}
