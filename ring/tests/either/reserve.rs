//! Contiguous reservations: what fits, what is refused, and what is left of a chunk.

use crate::kind::{Consumer, Make, Producer, UNUSED_COUNT, pass_unused, rounded};
use chunkring::{Builder, PushError, ReserveError};

fn ring(chunk_len: usize, chunks: usize) -> (Producer<u32>, Consumer<u32>) {
    Builder::new(chunk_len, chunks).ring().unwrap()
}

/// Reserves, fills and commits `items` in one go.
fn put(producer: &mut Producer<u32>, items: &[u32]) -> Result<(), ReserveError> {
    let mut grant = producer.reserve(items.len())?;
    grant.extend_from_slice(items);
    grant.commit_all();
    Ok(())
}

#[track_caller]
fn assert_drains(consumer: &mut Consumer<u32>, items: impl IntoIterator<Item = u32>) {
    for item in items {
        assert_eq!(consumer.pop(), Ok(item));
    }
    assert!(consumer.pop().is_err());
}

#[test]
fn what_can_never_fit_is_refused_at_once_whatever_is_in_the_ring() {
    const HALF: usize = isize::MAX as usize;
    for before in [0, 1, 4, 5, 8, 9, 16] {
        let (mut producer, mut consumer) = ring(8, 2);
        for number in 0..before {
            producer.push(number).unwrap();
        }
        for taken in [0, before / 2] {
            for number in 0..taken {
                assert_eq!(consumer.pop(), Ok(number));
            }
            for requested in [9, 16, 17, HALF, HALF + 1, usize::MAX - 1, usize::MAX] {
                let free = producer.free_slots();
                let refused = producer.reserve(requested).unwrap_err();
                assert_eq!(
                    refused,
                    ReserveError::TooLong {
                        requested,
                        chunk_len: 8
                    }
                );
                // Nothing is closed or taken for it.
                assert_eq!(producer.free_slots(), free);
            }
            for requested in (0..64).map(|back| usize::MAX - back) {
                assert!(producer.reserve(requested).unwrap_err().is_too_long());
            }
        }
        while producer.push(100).is_ok() {}
        for number in before / 2..before {
            assert_eq!(consumer.pop(), Ok(number));
        }
        while consumer.pop() == Ok(100) {}
        put(&mut producer, &[1; 8]).unwrap();
    }
}

#[test]
fn what_can_never_fit_is_told_apart_from_a_closed_ring() {
    let (mut producer, consumer) = ring(4, 1);
    drop(consumer);
    assert!(producer.reserve(5).unwrap_err().is_too_long());
    assert!(producer.reserve(4).unwrap_err().is_closed());
}

#[test]
fn a_reservation_fits_exactly_or_goes_to_the_next_chunk() {
    // The rest of the chunk is shorter than the record by one, exactly as long, or longer by one.
    for chunk_len in (1..=9).map(rounded) {
        for filled in 0..=chunk_len {
            for record in 0..=chunk_len {
                let (mut producer, mut consumer) = ring(chunk_len, 2);
                for number in 0..filled {
                    producer.push(number as u32).unwrap();
                }
                let items: Vec<u32> = (100..100 + record as u32).collect();
                put(&mut producer, &items).unwrap();
                let hole = if filled + record > chunk_len && filled > 0 {
                    chunk_len - filled
                } else {
                    0
                };
                assert_eq!(
                    producer.free_slots(),
                    2 * chunk_len - filled - record - hole
                );
                let counted = if UNUSED_COUNT { hole } else { 0 };
                assert_eq!(producer.len(), filled + record + counted);
                assert_eq!(consumer.len(), filled + record);
                assert_drains(&mut consumer, (0..filled as u32).chain(items));
                // Nothing is lost to the hole for good.
                pass_unused(&mut consumer);
                producer.reserve(chunk_len).unwrap().commit_all();
            }
        }
    }
}

#[test]
fn records_of_every_length_come_out_as_they_went_in() {
    for chunk_len in [1, 2, 3, 5, 8, 13] {
        for chunks in [1, 2, 3] {
            let (mut producer, mut consumer) = ring(chunk_len, chunks);
            let (mut next_in, mut next_out) = (0, 0);
            for round in 0..400 {
                let len = round * 7 % (chunk_len as u32 + 1);
                let record: Vec<u32> = (next_in..next_in + len).collect();
                if put(&mut producer, &record).is_ok() {
                    next_in += len;
                }
                if round % 3 == 0 || len == 0 {
                    while let Ok(ready) = consumer.read() {
                        for &item in &*ready {
                            assert_eq!(item, next_out);
                            next_out += 1;
                        }
                        ready.release_all();
                    }
                }
            }
            while let Ok(item) = consumer.pop() {
                assert_eq!(item, next_out);
                next_out += 1;
            }
            assert_eq!(next_out, next_in);
            assert!(next_out > 20);
        }
    }
}

#[test]
fn a_ring_of_one_chunk_is_not_blocked_by_a_reservation_that_does_not_fit() {
    let (mut producer, mut consumer) = ring(8, 1);
    for round in 0..50 {
        put(&mut producer, &[round; 5]).unwrap();
        assert_eq!(producer.reserve(4).unwrap_err(), ReserveError::Full);
        // The chunk had to be closed.
        assert_eq!(producer.push(1), Err(PushError::Full(1)));
        assert!(producer.is_full() && consumer.is_full());
        let counted = if UNUSED_COUNT { 8 } else { 5 };
        assert_eq!((producer.len(), consumer.len()), (counted, 5));
        let ready = consumer.read().unwrap();
        assert_eq!(*ready, [round; 5]);
        ready.release_all();
        pass_unused(&mut consumer);
        assert!(!producer.is_full() && !consumer.is_full());
        assert_eq!((producer.len(), consumer.len()), (0, 0));
    }
}

#[test]
fn a_chunk_closed_after_its_last_item_was_taken_comes_back_at_the_next_look() {
    let (mut producer, mut consumer) = ring(8, 1);
    for round in 0..50 {
        put(&mut producer, &[round; 5]).unwrap();
        consumer.read().unwrap().release_all();
        assert_eq!(producer.reserve(4).unwrap_err(), ReserveError::Full);
        assert!(consumer.is_empty() && consumer.is_full());
        if round % 2 == 0 {
            assert!(consumer.pop().unwrap_err().is_empty());
        } else {
            assert!(consumer.read().unwrap_err().is_empty());
        }
        assert_eq!((producer.free_slots(), producer.len()), (8, 0));
        assert!(!consumer.is_full());
    }
}

#[test]
fn a_refused_reservation_leaves_the_rest_of_a_longer_ring_usable() {
    let (mut producer, mut consumer) = ring(4, 2);
    put(&mut producer, &[0, 1, 2, 3]).unwrap();
    put(&mut producer, &[4, 5]).unwrap();
    assert_eq!(producer.reserve(3).unwrap_err(), ReserveError::Full);
    assert_eq!(producer.free_slots(), 2);
    put(&mut producer, &[6, 7]).unwrap();
    assert_drains(&mut consumer, 0..8);
}

#[test]
fn a_reservation_of_nothing_always_succeeds_and_changes_nothing() {
    let (mut producer, mut consumer) = ring(2, 1);
    for number in 0..3 {
        let free = producer.free_slots();
        let mut grant = producer.reserve(0).unwrap();
        assert!(grant.is_empty());
        assert_eq!((grant.len(), grant.filled()), (0, 0));
        assert_eq!(grant.push(9), Err(9));
        grant.extend_from_slice(&[]);
        assert!(grant.spare_mut().is_empty());
        // SAFETY: no slot is said to have been written.
        unsafe { grant.assume_filled(0) };
        grant.commit(0);
        assert_eq!(producer.free_slots(), free);
        let _ = producer.push(number);
    }
    drop(producer.reserve(0).unwrap());
    assert_drains(&mut consumer, 0..2);
    producer.reserve(0).unwrap().commit_all();
    drop(consumer);
    producer.reserve(0).unwrap().commit_all();
}

#[test]
fn a_reservation_of_nothing_needs_no_chunk_for_items_that_have_a_drop() {
    let (mut producer, consumer) = Builder::new(2, 1).ring::<String>().unwrap();
    producer.reserve(0).unwrap().commit_all();
    drop(producer.reserve(0).unwrap());
    drop(producer);
    drop(consumer);
}

#[test]
fn nothing_is_visible_before_the_commit() {
    let (mut producer, consumer) = ring(4, 1);
    let mut grant = producer.reserve(3).unwrap();
    grant.extend_from_slice(&[1, 2, 3]);
    assert!(consumer.is_empty());
    grant.commit(2);
    assert_eq!(consumer.len(), 2);
}

#[test]
fn a_grant_is_filled_from_the_first_slot_on_by_whatever_means() {
    let (mut producer, mut consumer) = ring(8, 1);
    let mut grant = producer.reserve(7).unwrap();
    grant.push(0).unwrap();
    grant.extend_from_slice(&[1, 2]);
    let spare = grant.spare_mut();
    assert_eq!(spare.len(), 4);
    spare[0].write(3);
    spare[1].write(4);
    // SAFETY: the first two slots have just been written.
    unsafe { grant.assume_filled(2) };
    grant.push(5).unwrap();
    grant.extend_from_slice(&[6]);
    assert_eq!((grant.filled(), grant.len()), (7, 7));
    assert!(grant.spare_mut().is_empty());
    assert_eq!(grant.push(7), Err(7));
    grant.commit_all();
    assert_drains(&mut consumer, 0..7);
}

#[test]
fn slices_of_every_length_around_the_chunk_length_survive_the_round_trip() {
    for chunk_len in [1, 2, 7, 8, 9] {
        let (mut producer, mut consumer) = ring(chunk_len, 3);
        for len in 0..=2 * chunk_len as u32 + 1 {
            let items: Vec<u32> = (0..len).collect();
            // A slice longer than a chunk goes in by chunks.
            for part in items.chunks(chunk_len) {
                put(&mut producer, part).unwrap();
                let ready = consumer.read().unwrap();
                assert_eq!(&*ready, part);
                ready.release_all();
            }
            assert!(consumer.read().is_err());
        }
    }
}

#[test]
fn a_commit_of_more_than_was_filled_panics_and_commits_nothing() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let (mut producer, mut consumer) = ring(16, 1);
    for bad in [2, 3, usize::MAX] {
        let mut grant = producer.reserve(3).unwrap();
        grant.push(1).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| grant.commit(bad))).is_err());
        assert!(consumer.is_empty());
    }
    let mut grant = producer.reserve(3).unwrap();
    grant.push(1).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| grant.extend_from_slice(&[0; 3]))).is_err());
    for bad in [3, usize::MAX] {
        // SAFETY: refused, since that many slots are not left.
        let fill = AssertUnwindSafe(|| unsafe { grant.assume_filled(bad) });
        assert!(catch_unwind(fill).is_err());
    }
    assert_eq!(grant.filled(), 1);
    grant.extend_from_slice(&[2, 3]);
    grant.commit_all();
    assert_drains(&mut consumer, 1..4);
}
