//! Chunks that leave the ring whole.

use crate::kind::{Make, seal_if_wanted, want_seal};
use crate::nothing::pool_of_nothing;
use crate::witness::{Ledger, assert_drop_panics};
use chunkring::{Builder, OwnedChunk, PopError, PushError, TakeError};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::thread;

assert_impl_all!(OwnedChunk<u8>: Send, Sync);
assert_impl_all!(OwnedChunk<Cell<u8>>: Send);
assert_not_impl_any!(OwnedChunk<Cell<u8>>: Sync);
assert_not_impl_any!(OwnedChunk<Rc<u8>>: Send, Sync);
assert_impl_all!(chunkring::Control<Rc<u8>>: Send, Sync, Clone);
assert_impl_all!(chunkring::Pool: Send, Sync, Clone);

#[test]
fn only_a_complete_chunk_is_taken_out_and_each_refusal_says_why() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Empty);
    producer.push(0).unwrap();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Open);
    assert_eq!(consumer.len(), 3, "a refusal takes nothing");
    producer.push(3).unwrap();
    assert_eq!(*consumer.take_chunk().unwrap(), [0, 1, 2, 3]);
    producer.push(4).unwrap();
    assert_eq!(consumer.pop(), Ok(4));
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Empty);
    producer.push(5).unwrap();
    drop(producer);
    assert_eq!(*consumer.take_chunk().unwrap(), [5], "the last is complete");
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Closed);
}

#[test]
fn a_chunk_has_what_was_left_of_it_and_the_ring_goes_on_behind_it() {
    for sealed in [false, true] {
        for taken in 0..3 {
            let (mut producer, mut consumer) = Builder::new(4, 3).ring().unwrap();
            let count = if sealed { 3 } else { 4 };
            for number in 0..count {
                producer.push(number).unwrap();
            }
            producer.seal();
            producer.push(100).unwrap();
            for number in 0..taken {
                assert_eq!(consumer.pop(), Ok(number));
            }
            let before = consumer.len();
            let chunk = consumer.take_chunk().unwrap();
            assert!(chunk.iter().copied().eq(taken..count));
            assert_eq!((consumer.len(), producer.len()), (before - chunk.len(), 1));
            assert_eq!(consumer.pop(), Ok(100));
            assert_eq!(consumer.pop(), Err(PopError::Empty));
            assert!(chunk.into_iter().eq(taken..count));
        }
    }
}

#[test]
fn a_chunk_that_is_out_takes_no_place_in_the_ring() {
    let (mut producer, mut consumer) = Builder::new(2, 2).ring().unwrap();
    let mut held = Vec::new();
    for round in 0..50 {
        for number in 0..4 {
            producer.push(round * 4 + number).unwrap();
        }
        assert_eq!(producer.push(0), Err(PushError::Full(0)));
        held.push(consumer.take_chunk().unwrap());
        assert_eq!(producer.free_slots(), 2);
        held.push(consumer.take_chunk().unwrap());
        assert_eq!((producer.free_slots(), producer.len()), (4, 0));
    }
    drop((producer, consumer));
    assert!(
        held.iter()
            .flat_map(|chunk| chunk.iter())
            .copied()
            .eq(0..200)
    );
}

#[test]
fn sealing_an_empty_a_full_or_a_sealed_chunk_changes_nothing() {
    let (mut producer, mut consumer) = Builder::new(4, 1).ring().unwrap();
    for _ in 0..3 {
        producer.seal();
        assert_eq!(producer.free_slots(), 4);
        producer.push(1).unwrap();
        producer.seal();
        assert_eq!(producer.free_slots(), 0);
        producer.seal();
        assert_eq!(consumer.len(), 1);
        assert_eq!(*consumer.take_chunk().unwrap(), [1]);
        for number in 0..4 {
            producer.push(number).unwrap();
        }
        producer.seal();
        assert_eq!(*consumer.take_chunk().unwrap(), [0, 1, 2, 3]);
    }
}

#[test]
fn a_chunk_survives_everything_else_and_each_item_is_dropped_once() {
    for moved_out in 0..=3 {
        for send in [false, true] {
            let ledger = Ledger::new();
            let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
            for _ in 0..5 {
                producer.push(ledger.item()).unwrap();
            }
            drop(consumer.pop().unwrap());
            let chunk = consumer.take_chunk().unwrap();
            drop((consumer, producer));
            assert_eq!(ledger.drops(), [1, 0, 0, 0, 1]);
            let finish = move || {
                let mut items = chunk.into_iter();
                for number in 1..=moved_out {
                    assert_eq!(items.len(), 4 - number);
                    assert_eq!(items.next().unwrap().number(), number);
                }
                if moved_out == 3 {
                    assert!(items.next().is_none() && items.next().is_none());
                }
            };
            if send {
                thread::spawn(finish).join().unwrap();
            } else {
                finish();
            }
            ledger.assert_each_dropped_once(5);
        }
    }
}

#[test]
fn a_drop_that_panics_in_a_chunk_drops_the_others_once_and_gives_the_memory_back() {
    for first_moved in [false, true] {
        let ledger = Ledger::panicking_at(&[1]);
        let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
        for _ in 0..4 {
            producer.push(ledger.item()).unwrap();
        }
        let pool = producer.control().pool().clone();
        let chunk = consumer.take_chunk().unwrap();
        if first_moved {
            let mut items = chunk.into_iter();
            drop(items.next());
            assert_drop_panics(move || drop(items));
        } else {
            assert_drop_panics(move || drop(chunk));
        }
        ledger.assert_each_dropped_once(4);
        pool.trim();
        assert_eq!(pool.used(), 0);
        producer.push(ledger.item()).unwrap();
        drop(consumer.pop().unwrap());
    }
}

#[test]
fn a_drop_that_panics_on_the_way_keeps_no_chunk_from_being_taken_out() {
    let ledger = Ledger::panicking_at(&[1]);
    let (mut producer, mut consumer) = Builder::new(2, 2).ring().unwrap();
    for _ in 0..4 {
        producer.push(ledger.item()).unwrap();
    }
    assert_drop_panics(|| consumer.read().unwrap().release_all());
    let chunk = consumer.take_chunk().unwrap();
    assert_eq!(
        chunk.iter().map(|item| item.number()).collect::<Vec<_>>(),
        [2, 3]
    );
    drop((producer, consumer, chunk));
    ledger.assert_each_dropped_once(4);
}

#[test]
fn items_of_a_chunk_can_be_changed_in_place() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    for number in [3, 1, 4, 2] {
        producer.push(number).unwrap();
    }
    let mut chunk = consumer.take_chunk().unwrap();
    chunk.sort_unstable();
    chunk[0] += 10;
    assert_eq!(*chunk, [11, 2, 3, 4]);
    assert!(!chunk.is_empty());
}

#[test]
fn the_headroom_adjoins_the_first_slot_whatever_its_length() {
    for headroom in [0, 1, 24, 111, 112, 113, 128, 1000, 5000] {
        let builder = Builder::new(300, 2).headroom(headroom);
        let (mut producer, mut consumer) = builder.ring().unwrap();
        let body = (0..300).map(|n| n as u8).collect::<Vec<_>>();
        for length in [1, 255, 300] {
            let mut grant = producer.reserve(length).unwrap();
            grant.extend_from_slice(&body[..length]);
            grant.commit_all();
            producer.seal();
            let mut chunk = consumer.take_chunk().unwrap();
            let first = chunk.as_ptr();
            assert_eq!(first as usize % 128, 0);
            let room = chunk.headroom_mut();
            assert_eq!(room.as_ptr_range().end.cast(), first);
            assert_eq!(room.len(), headroom);
            room.fill(MaybeUninit::new(0xAA));
            let header = vec![0x55; headroom / 2];
            let whole = chunk.with_header(&header);
            assert_eq!(whole, [&header, &body[..length]].concat());
            assert_eq!(*chunk, body[..length]);
            let header = vec![0x77; headroom];
            let whole = chunk.with_header(&header).to_vec();
            assert_eq!(whole, [&header, &body[..length]].concat());
        }
    }
}

#[test]
fn the_headroom_of_aligned_items_and_of_items_without_a_size_is_there() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(1024))]
    struct Wide(u8);
    let (mut producer, mut consumer) = Builder::new(2, 2).headroom(1000).ring().unwrap();
    producer.push(Wide(1)).unwrap();
    producer.push(Wide(2)).unwrap();
    let mut chunk = consumer.take_chunk().unwrap();
    chunk.headroom_mut().fill(MaybeUninit::new(0xFF));
    assert_eq!(chunk.as_ptr() as usize % 1024, 0);
    assert_eq!(*chunk, [Wide(1), Wide(2)]);

    let (mut producer, mut consumer) = Builder::new(9, 2).headroom(7).ring().unwrap();
    for _ in 0..5 {
        producer.push(()).unwrap();
    }
    producer.seal();
    let mut chunk = consumer.take_chunk().unwrap();
    chunk.headroom_mut().fill(MaybeUninit::new(0xFF));
    assert_eq!(chunk.headroom_mut().len(), 7);
    assert_eq!((*chunk).len(), 5);
    assert_eq!(chunk.into_iter().count(), 5);
}

#[test]
fn a_headroom_that_cannot_exist_is_refused() {
    let half = isize::MAX as usize;
    for headroom in [usize::MAX, usize::MAX - 127, half, half - 128, half + 1] {
        for preallocate in [false, true] {
            let builder = Builder::new(8, 2)
                .headroom(headroom)
                .preallocate(preallocate);
            assert!(builder.ring::<u8>().is_err(), "{headroom}");
            assert!(builder.ring::<()>().is_err(), "{headroom}");
        }
    }
    // One that can exist, but not be had.
    let builder = Builder::new(8, 2).headroom(half - 4096);
    let (mut producer, _consumer) = builder.pool(&pool_of_nothing()).ring().unwrap();
    assert_eq!(producer.push(1_u8), Err(PushError::Full(1)));
    assert!(producer.control().max_chunk_len() < 4096);
}

#[test]
#[should_panic(expected = "a header of 4 bytes does not fit into a headroom of 3")]
fn a_header_longer_than_the_headroom_panics() {
    let (mut producer, mut consumer) = Builder::new(1, 1).headroom(3).ring().unwrap();
    producer.push(1).unwrap();
    consumer.take_chunk().unwrap().with_header(&[0; 4]);
}

#[test]
#[should_panic(expected = "bytes at the chunk's start have been taken out")]
fn a_header_before_bytes_that_are_gone_panics() {
    let (mut producer, mut consumer) = Builder::new(2, 1).headroom(3).ring().unwrap();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    consumer.pop().unwrap();
    consumer.take_chunk().unwrap().with_header(&[0]);
}

#[test]
fn chunks_go_through_three_threads_in_order() {
    const ITEMS: u64 = 50_000;
    let (mut producer, mut consumer) = Builder::new(16, 4).ring().unwrap();
    let pool = producer.control().pool().clone();
    let (chunks, received) = std::sync::mpsc::channel::<OwnedChunk<Box<u64>>>();
    let sender = thread::spawn(move || {
        for number in 0..ITEMS {
            let mut item = Box::new(number);
            while let Err(refused) = producer.push(item) {
                assert!(refused.is_full());
                item = refused.into_inner();
                thread::yield_now();
            }
            if number % 7 == 0 {
                seal_if_wanted(&mut producer);
            }
        }
    });
    let taker = thread::spawn(move || {
        loop {
            match consumer.take_chunk() {
                Ok(chunk) => chunks.send(chunk).unwrap(),
                Err(TakeError::Closed) => break,
                Err(error) => {
                    if error.is_open() {
                        want_seal(&mut consumer);
                    }
                    thread::yield_now();
                }
            }
        }
    });
    let mut next = 0;
    for chunk in received {
        assert!(!chunk.is_empty() && chunk.len() <= 16);
        for item in chunk {
            assert_eq!(*item, next);
            next += 1;
        }
    }
    assert_eq!(next, ITEMS);
    sender.join().unwrap();
    taker.join().unwrap();
    pool.trim();
    assert_eq!(pool.used(), 0);
}
