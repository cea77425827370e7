//! Rings that overwrite: what is lost is the oldest that nobody reads, and it is counted exactly.

mod witness;

use chunkring::{Builder, Policy, Pool, PopError, PushError, ReserveError, ResizeError, TakeError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use witness::Ledger;

fn overwriting(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks).policy(Policy::Overwrite)
}

#[test]
fn of_six_items_in_four_chunks_of_one_the_first_two_are_dropped() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = overwriting(1, 4).spsc().unwrap();
    for _ in 0..6 {
        producer.push(ledger.item()).unwrap();
    }
    assert_eq!(ledger.drops(), [1, 1, 0, 0, 0, 0]);
    assert_eq!((producer.len(), consumer.len()), (4, 4));
    let left: Vec<_> = consumer.try_iter().collect();
    assert!(left.iter().map(|item| item.number()).eq(2..6));
    assert_eq!(consumer.pop().unwrap_err(), PopError::Empty);
    let statistics = consumer.control().statistics();
    assert_eq!((statistics.overwritten, statistics.refused_full), (2, 0));
    drop((producer, consumer, left));
    ledger.assert_each_dropped_once(6);
}

#[test]
fn what_is_being_read_stays_while_the_ring_is_overwritten_ten_times_round() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = overwriting(2, 3).max_chunks(3).spsc().unwrap();
    for _ in 0..2 {
        producer.push(ledger.item()).unwrap();
    }
    let held = consumer.read().unwrap();
    assert_eq!(held.len(), 2);
    for round in 0..10 * 8 {
        producer.push(ledger.item()).unwrap();
        assert!(held.iter().map(|item| item.number()).eq([0, 1]), "{round}");
        assert_eq!(ledger.drops()[..2], [0, 0]);
    }
    held.release(1);
    assert_eq!(
        (producer.len(), consumer.len()),
        (6, 5),
        "one is not told yet"
    );
    let left: Vec<_> = consumer.try_iter().map(|item| item.number()).collect();
    assert_eq!(left, [1, 78, 79, 80, 81]);
    assert_eq!(producer.control().statistics().overwritten, 76);
    assert!(producer.is_empty() && consumer.is_empty());
    drop((producer, consumer));
    ledger.assert_each_dropped_once(82);
}

#[test]
fn what_growth_has_added_is_freed_when_it_is_overwritten() {
    let pool = Pool::new(usize::MAX).unwrap();
    let builder = Builder::new(8, 4).max_chunks(18).overwritable(true);
    let (mut producer, mut consumer) = builder.pool(&pool).spsc().unwrap();
    let control = producer.control();
    while producer.push(0).is_ok() {}
    let of_four = pool.used();
    control.set_policy(Policy::Grow { max_chunks: 18 }).unwrap();
    while producer.push(1).is_ok() {}
    assert_eq!(pool.used(), of_four / 4 * 18);
    control.set_policy(Policy::Overwrite).unwrap();
    for _ in 0..8 {
        producer.push(2).unwrap();
    }
    assert_eq!(pool.used(), of_four);
    assert_eq!(consumer.try_iter().count(), 4 * 8);
    assert_eq!(pool.used(), of_four);
}

#[test]
fn the_end_of_a_held_chunk_is_known_when_its_entry_is_another_chunks() {
    for reader_goes_first in [false, true] {
        let ledger = Ledger::new();
        let (mut producer, mut consumer) = overwriting(4, 2).max_chunks(2).spsc().unwrap();
        producer.push(ledger.item()).unwrap();
        drop(consumer.read().unwrap()); // holds the chunk, which is not complete
        producer.push(ledger.item()).unwrap();
        producer.seal();
        for _ in 0..40 {
            producer.push(ledger.item()).unwrap();
        }
        assert_eq!(consumer.len(), 2 + 4);
        if reader_goes_first {
            drop(consumer);
            assert_eq!(ledger.drops()[..2], [0, 0], "dropped with the later half");
            drop(producer);
        } else {
            assert_eq!(consumer.read().unwrap().len(), 2);
            assert_eq!(consumer.take_chunk().unwrap().len(), 2);
            assert_eq!(consumer.read().unwrap().len(), 4);
            drop(producer);
            assert_eq!(consumer.try_iter().count(), 4);
            assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Closed);
        }
        ledger.assert_each_dropped_once(42);
    }
}

#[test]
fn the_only_chunk_is_full_while_it_is_read_and_makes_room_otherwise() {
    let (mut producer, mut consumer) = overwriting(2, 1).spsc().unwrap();
    for number in 0..5 {
        producer.push(number).unwrap();
    }
    assert_eq!(consumer.len(), 1);
    let ready = consumer.read().unwrap();
    assert_eq!(*ready, [4]);
    producer.push(5).unwrap();
    assert_eq!(producer.push(6), Err(PushError::Full(6)));
    assert_eq!(producer.reserve(2).unwrap_err(), ReserveError::Full);
    ready.release_all();
    assert_eq!(
        producer.push(6),
        Err(PushError::Full(6)),
        "5 is still to be read"
    );
    assert_eq!(consumer.pop(), Ok(5));
    producer.push(6).unwrap();
    producer.push(7).unwrap();
    producer.push(8).unwrap();
    assert_eq!(consumer.pop(), Ok(8));
    let statistics = producer.control().statistics();
    assert_eq!((statistics.overwritten, statistics.refused_full), (6, 4));
}

#[test]
fn a_reservation_that_does_not_fit_overwrites_only_whole_chunks() {
    let (mut producer, mut consumer) = overwriting(4, 2).spsc().unwrap();
    for number in 0..7 {
        producer.push(number).unwrap();
    }
    // One slot is left; the oldest chunk makes room for two, and the slot stays unused.
    producer.push_whole_slice(&[7, 8]).unwrap();
    assert_eq!(producer.control().statistics().overwritten, 4);
    assert_eq!((producer.len(), consumer.len()), (5, 5));
    let mut out = [0; 5];
    assert_eq!(
        consumer.pop_whole_slice(&mut out).unwrap_err().there,
        3,
        "side by side"
    );
    assert_eq!(consumer.pop_partial_slice(&mut out), 5);
    assert_eq!(out, [4, 5, 6, 7, 8]);
    // Of one chunk alone, the rest that is left is closed before it goes.
    let (mut producer, mut consumer) = overwriting(4, 1).spsc().unwrap();
    producer.push_whole_slice(&[1, 2, 3]).unwrap();
    producer.push_whole_slice(&[4, 5]).unwrap();
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [4, 5]);
    assert_eq!(producer.control().statistics().overwritten, 3);
}

#[test]
fn a_chunk_that_was_taken_out_is_nobodys_to_overwrite() {
    let (mut producer, mut consumer) = overwriting(2, 2).spsc().unwrap();
    producer.extend(0..4);
    let chunk = consumer.take_chunk().unwrap();
    producer.extend(4..20);
    assert_eq!(*chunk, [0, 1]);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [16, 17, 18, 19]);
    assert_eq!(producer.control().statistics().overwritten, 14);
}

#[test]
fn a_drop_that_panics_while_its_chunk_is_overwritten_leaves_the_ring_sound() {
    let ledger = Ledger::panicking_at(&[1]);
    let (mut producer, mut consumer) = overwriting(3, 2).spsc().unwrap();
    producer.push(ledger.item()).unwrap();
    producer.push(ledger.item()).unwrap();
    for _ in 0..4 {
        producer.push(ledger.item()).unwrap();
    }
    let refused = catch_unwind(AssertUnwindSafe(|| producer.push(ledger.item())));
    assert!(refused.is_err());
    assert_eq!(ledger.drops(), [1, 1, 1, 0, 0, 0, 1]);
    assert_eq!((producer.len(), consumer.len()), (3, 3));
    producer.push(ledger.item()).unwrap();
    assert_eq!(producer.control().statistics().overwritten, 3);
    let left: Vec<_> = consumer.try_iter().map(|item| item.number()).collect();
    assert_eq!(left, [3, 4, 5, 7]);
    let control = producer.control();
    drop((producer, consumer));
    control.trim();
    assert_eq!(control.pool().used(), 0);
    ledger.assert_each_dropped_once(8);
}

#[test]
fn the_only_chunk_survives_a_drop_that_panics() {
    let ledger = Ledger::panicking_at(&[0]);
    let (mut producer, mut consumer) = overwriting(2, 1).spsc().unwrap();
    producer.push(ledger.item()).unwrap();
    producer.push(ledger.item()).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| producer.push(ledger.item()))).is_err());
    assert!(producer.is_empty() && consumer.is_empty());
    producer.push(ledger.item()).unwrap();
    assert_eq!(consumer.pop().unwrap().number(), 3);
    drop((producer, consumer));
    ledger.assert_each_dropped_once(4);
}

#[test]
fn an_overwriting_ring_needs_no_more_memory_than_its_chunks() {
    for (chunks, preallocate) in [(2, false), (2, true), (20, true), (20, false)] {
        let (mut producer, mut consumer) = overwriting(8, chunks)
            .preallocate(preallocate)
            .spsc()
            .unwrap();
        let control = producer.control();
        let mut most = 0;
        for round in 0..1000 {
            producer.push(round).unwrap();
            if round % 70 == 69 {
                consumer.try_iter().take(round / 10).for_each(drop);
            }
            most = most.max(control.chunks_in_use());
        }
        assert_eq!(most, chunks);
        if preallocate {
            assert_eq!(control.chunks_in_use(), chunks, "they stay");
        }
        control.trim();
        consumer.try_iter().for_each(drop);
        producer.seal();
        let _ = consumer.pop();
        control.trim();
        assert_eq!((control.chunks_in_use(), control.pool().used()), (0, 0));
    }
}

#[test]
fn memory_that_is_refused_is_told_apart() {
    let pool = Pool::new(1000).unwrap();
    let (mut producer, mut consumer) = overwriting(64, 8).pool(&pool).spsc::<u64>().unwrap();
    let control = producer.control();
    for number in 0..64 {
        producer.push(number).unwrap();
    }
    // The budget has room for one chunk, and the ring may have eight: nothing is overwritten.
    assert_eq!(producer.push(64), Err(PushError::Full(64)));
    assert_eq!(producer.reserve(5).unwrap_err(), ReserveError::Full);
    let statistics = control.statistics();
    assert_eq!(
        (
            statistics.refused_memory,
            statistics.refused_full,
            statistics.overwritten
        ),
        (6, 0, 0)
    );
    control.set_chunks(1).unwrap();
    producer.push(64).unwrap();
    assert_eq!(control.statistics().overwritten, 64);
    // A longer chunk is not to be had, though the old one has made room for it.
    control.set_chunk_len(200).unwrap();
    for number in 65..128 {
        producer.push(number).unwrap();
    }
    assert_eq!(producer.push(128), Err(PushError::Full(128)));
    assert_eq!((producer.len(), consumer.len()), (0, 0));
    assert_eq!(consumer.pop(), Err(PopError::Empty));
    assert_eq!((control.statistics().overwritten, pool.used()), (128, 0));
    control.set_chunk_len(1).unwrap();
    producer.push(129).unwrap();
    assert_eq!(consumer.pop(), Ok(129));
}

#[test]
fn a_smaller_ring_overwrites_until_it_fits() {
    let (mut producer, mut consumer) = overwriting(1, 6).spsc().unwrap();
    producer.extend(0..6);
    assert_eq!(consumer.read().unwrap().len(), 1);
    let control = producer.control();
    control.set_chunks(2).unwrap();
    assert_eq!(consumer.len(), 6, "nothing is lost before room is needed");
    producer.push(6).unwrap();
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [0, 6]);
    assert_eq!(control.statistics().overwritten, 5);
    producer.extend(7..9);
    drop(consumer.read().unwrap());
    control.set_chunks(1).unwrap();
    assert_eq!(
        producer.push(9),
        Err(PushError::Full(9)),
        "only what is read may stay, and it stays"
    );
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn a_policy_can_be_changed_at_any_time() {
    let (mut producer, mut consumer) = Builder::new(1, 2)
        .max_chunks(4)
        .overwritable(true)
        .spsc()
        .unwrap();
    let control = consumer.control();
    assert_eq!(control.policy(), Policy::Refuse);
    producer.extend(0..3);
    control.set_policy(Policy::Overwrite).unwrap();
    producer.push(3).unwrap();
    control.set_policy(Policy::Grow { max_chunks: 4 }).unwrap();
    assert_eq!(producer.free_slots(), 2);
    producer.extend(4..7);
    assert!(producer.is_full() && consumer.is_full());
    assert_eq!(control.statistics().chunks_in_use, 4);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [1, 3, 4, 5]);
    assert!(control.chunks_in_use() <= 2, "what is beyond goes back");
    control.set_policy(Policy::Refuse).unwrap();
    producer.extend(7..10);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [7, 8]);
    drop(consumer);
    producer.extend([10]);
    let statistics = control.statistics();
    assert_eq!(
        (
            statistics.overwritten,
            statistics.refused_full,
            statistics.refused_closed
        ),
        (1, 3, 1)
    );
}

#[test]
fn what_a_policy_cannot_have_is_refused() {
    let (producer, _consumer) = Builder::new(8, 2).max_chunks(4).spsc::<u8>().unwrap();
    let control = producer.control();
    let grow = |max_chunks| control.set_policy(Policy::Grow { max_chunks });
    assert_eq!(
        grow(5),
        Err(ResizeError::TooManyChunks { chunks: 5, max: 4 })
    );
    assert_eq!(grow(0), Err(ResizeError::ZeroChunks));
    assert_eq!(
        control.set_policy(Policy::Overwrite),
        Err(ResizeError::NotOverwritable)
    );
    assert_eq!(control.policy(), Policy::Refuse);
    assert_eq!(grow(4), Ok(()));

    use chunkring::BuildError;
    let build = |max_chunks| {
        let builder = Builder::new(8, 2).policy(Policy::Grow { max_chunks });
        builder
            .spsc::<u8>()
            .map(|(producer, _)| producer.control().max_chunks())
    };
    assert_eq!(build(100), Ok(128));
    assert_eq!(build(0), Err(BuildError::ZeroChunks));
    let refused = build(usize::MAX).unwrap_err();
    let BuildError::TooManyChunks {
        chunks: usize::MAX,
        chunk_len: 8,
        max,
    } = refused
    else {
        panic!("{refused}");
    };
    assert!(refused.to_string().contains(&max.to_string()));
}

#[test]
fn a_ring_that_grows_refuses_at_its_bound_and_gives_back_what_was_read() {
    let (mut producer, mut consumer) = Builder::new(2, 2)
        .policy(Policy::Grow { max_chunks: 5 })
        .spsc()
        .unwrap();
    let control = producer.control();
    assert_eq!((producer.capacity(), producer.free_slots()), (4, 10));
    producer.extend(0..12);
    assert_eq!(control.statistics().refused_full, 2);
    assert_eq!(control.chunks_in_use(), 5);
    for (taken, in_use) in [(2, 4), (4, 3), (6, 2)] {
        for _ in 0..2 {
            consumer.pop().unwrap();
        }
        assert_eq!(control.chunks_in_use(), in_use, "after {taken}");
    }
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [6, 7, 8, 9]);
}
