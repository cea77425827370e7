//! What a ring does when its chunks are used up, and how what it refuses is counted.

use crate::kind::{Make, chunk_bytes};
use crate::nothing::pool_of_nothing;
use chunkring::{Builder, Policy, Pool, ReserveError, ResizeError, Statistics};

#[test]
fn refused_items_are_counted_by_the_reason_at_each_attempt() {
    let (mut producer, mut consumer) = Builder::new(4, 1).ring().unwrap();
    let control = producer.control();
    let counts = || {
        let Statistics {
            refused_full,
            refused_memory,
            refused_closed,
            overwritten,
            ..
        } = control.statistics();
        [refused_full, refused_memory, refused_closed, overwritten]
    };
    assert_eq!(producer.push_partial_slice(&[0, 1, 2, 3, 4]), 4);
    assert_eq!(producer.push_iter(&mut (0..3)), 0);
    assert_eq!(counts(), [0; 4], "what is asked for as far as it fits");
    assert!(producer.push(4).is_err());
    assert!(producer.push(4).is_err());
    assert_eq!(counts(), [2, 0, 0, 0]);
    assert!(producer.reserve(3).is_err());
    assert!(producer.push_whole_slice(&[1, 2]).is_err());
    assert_eq!(counts(), [7, 0, 0, 0]);
    assert!(producer.reserve(5).unwrap_err().is_too_long());
    producer.reserve(0).unwrap().commit_all();
    assert_eq!(counts(), [7, 0, 0, 0], "what can never fit, and nothing");
    assert_eq!(consumer.try_iter().count(), 4);
    assert_eq!(producer.push(4), Ok(()));
    assert_eq!(counts(), [7, 0, 0, 0]);
    drop(consumer);
    assert_eq!(producer.push_partial_slice(&[5, 6, 7, 8]), 3);
    assert!(producer.push(8).unwrap_err().is_closed());
    assert!(producer.reserve(2).unwrap_err().is_closed());
    assert_eq!(counts(), [7, 0, 3, 0]);

    let builder = Builder::new(4, 2).pool(&pool_of_nothing());
    let (mut producer, _consumer) = builder.ring::<u8>().unwrap();
    assert!(producer.push(1).unwrap_err().is_full());
    assert!(producer.reserve(3).unwrap_err().is_full());
    let statistics = producer.control().statistics();
    assert_eq!((statistics.refused_memory, statistics.refused_full), (4, 0));
}

#[test]
fn a_ring_grows_to_its_bound_and_the_memory_of_more_chunks_goes_back_with_them() {
    for (chunks, most) in [(1, 3), (2, 9), (4, 4), (3, 2)] {
        let grow = Policy::Grow { max_chunks: most };
        let builder = Builder::new(4, chunks).policy(grow);
        let (mut producer, mut consumer) = builder.ring().unwrap();
        let control = producer.control();
        let room = 4 * chunks.max(most);
        let mut next = 0;
        for _ in 0..3 {
            let first = next;
            while producer.push(next).is_ok() {
                next += 1;
            }
            assert_eq!(next - first, room);
            assert_eq!(consumer.len(), room);
            assert!(consumer.is_full() && producer.is_full());
            assert_eq!(producer.capacity(), 4 * chunks, "as set");
            assert_eq!(control.chunks_in_use(), chunks.max(most));
            for number in first..next {
                assert_eq!(consumer.pop(), Ok(number));
            }
            assert!(consumer.pop().is_err());
            assert!(control.chunks_in_use() <= chunks);
            assert!(control.pool().used() <= (chunks + 16) * chunk_bytes::<usize>(4));
        }
        assert_eq!(control.statistics().refused_full, 3);
    }
}

#[test]
fn a_ring_grows_as_far_as_its_pools_budget_goes() {
    let pool = Pool::new(3 * chunk_bytes::<u64>(4)).unwrap();
    let builder = Builder::new(4, 1)
        .policy(Policy::Grow { max_chunks: 10 })
        .pool(&pool);
    let (mut producer, mut consumer) = builder.ring().unwrap();
    for _ in 0..3 {
        assert_eq!(producer.push_iter(&mut (0..100_u64)), 12);
        assert_eq!(pool.used(), pool.budget());
        assert!(producer.push(0).unwrap_err().is_full());
        assert!(consumer.try_iter().eq(0..12));
    }
    let statistics = producer.control().statistics();
    assert_eq!((statistics.refused_memory, statistics.refused_full), (3, 0));
}

#[test]
fn the_policy_can_be_changed_at_any_time_and_nothing_is_lost() {
    let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(8).ring().unwrap();
    let control = producer.control();
    let fill = |producer: &mut crate::kind::Producer<u64>| producer.push_iter(&mut (0..100));
    assert_eq!(control.policy(), Policy::Refuse);
    assert_eq!(fill(&mut producer), 4);
    let grow = |max_chunks| Policy::Grow { max_chunks };
    control.set_policy(grow(5)).unwrap();
    assert_eq!((fill(&mut producer), producer.free_slots()), (6, 0));
    control.set_policy(grow(3)).unwrap();
    assert_eq!(fill(&mut producer), 0);
    control.set_policy(grow(8)).unwrap();
    assert_eq!(producer.free_slots(), 6);
    control.set_policy(Policy::Refuse).unwrap();
    assert_eq!((fill(&mut producer), producer.free_slots()), (0, 0));
    assert!(consumer.try_iter().eq((0..4).chain(0..6)));
    assert_eq!(producer.free_slots(), 4);
    assert!(control.chunks_in_use() <= 2);
}

#[test]
fn a_policy_that_cannot_be_is_refused_and_changes_nothing() {
    let (producer, _consumer) = Builder::new(2, 2).max_chunks(8).ring::<u8>().unwrap();
    let control = producer.control();
    let grow = |max_chunks| Policy::Grow { max_chunks };
    control.set_policy(grow(8)).unwrap();
    assert_eq!(control.set_policy(grow(0)), Err(ResizeError::ZeroChunks));
    for chunks in [9, usize::MAX] {
        let refused = ResizeError::TooManyChunks { chunks, max: 8 };
        assert_eq!(control.set_policy(grow(chunks)), Err(refused));
    }
    assert_eq!(control.policy(), grow(8));
    let builder = Builder::new(2, 2);
    assert!(builder.clone().policy(grow(0)).ring::<u8>().is_err());
    assert!(builder.policy(grow(usize::MAX)).ring::<u8>().is_err());
}

#[test]
fn a_reservation_in_a_growing_ring_takes_another_chunk_where_it_does_not_fit() {
    let grow = Policy::Grow { max_chunks: 3 };
    let (mut producer, mut consumer) = Builder::new(4, 1).policy(grow).ring().unwrap();
    for round in 0..3 {
        producer.push_whole_slice(&[round; 3]).unwrap();
    }
    let refused = producer.push_whole_slice(&[3; 3]);
    assert_eq!(refused, Err(ReserveError::Full));
    assert!(consumer.try_iter().eq([0, 0, 0, 1, 1, 1, 2, 2, 2]));
}

#[test]
fn what_extend_is_refused_is_dropped_and_counted() {
    let (mut producer, mut consumer) = Builder::new(2, 2).ring().unwrap();
    producer.extend(0..6);
    assert!(consumer.try_iter().eq(0..4));
    assert_eq!(producer.control().statistics().refused_full, 2);
}
