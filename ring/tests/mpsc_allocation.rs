//! What a ring with several producers allocates, when, and what happens where it cannot be had.

mod accountant;

use accountant::{accounted, with_grants};
use chunkring::mpsc::{Consumer, Producer, bounded};
use chunkring::{BuildError, Builder, OwnedChunk, Policy, PushError, ReserveError};

/// Bytes of a chunk of so many items of eight bytes: what the pool keeps of it and the flags, on a boundary
/// of 128 bytes, and the slots.
const fn chunk(len: isize) -> isize {
    (16 + len + 127) / 128 * 128 + 8 * len
}

const SHAPES: [(usize, usize); 6] = [(1, 1), (1, 2), (4, 1), (4, 3), (64, 4), (256, 2)];

fn fill(producer: &mut Producer<u64>) -> usize {
    let mut count = 0;
    while producer.push(count as u64).is_ok() {
        count += 1;
    }
    count
}

fn drain(consumer: &mut Consumer<u64>) -> usize {
    let mut count = 0;
    while consumer.pop().is_ok() {
        count += 1;
    }
    count
}

#[test]
fn a_ring_in_its_steady_state_does_not_allocate() {
    for (chunk_len, chunks) in SHAPES {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).mpsc::<u64>().unwrap();
        let mut other = producer.clone();
        fill(&mut producer);
        drain(&mut consumer);
        let ((), allocations, bytes) = accounted(|| {
            for number in 0..10_000 {
                other.push(number).unwrap();
                assert_eq!(consumer.pop(), Ok(number));
            }
            for _ in 0..1000 {
                let mut grant = producer.reserve(chunk_len).unwrap_or_else(|_| {
                    panic!("{chunks} chunks of {chunk_len}, and nothing in them");
                });
                while grant.push(7).is_ok() {}
                grant.commit_all();
                consumer.read().unwrap().release_all();
                // Past the chunk in which the other one has left some slots.
                assert!(consumer.pop().is_err());
                drop(producer.clone());
            }
        });
        assert_eq!(
            (allocations, bytes),
            (0, 0),
            "{chunks} chunks of {chunk_len}"
        );
    }
}

#[test]
fn a_ring_that_overwrites_does_not_allocate_in_its_steady_state() {
    for (chunk_len, chunks) in SHAPES {
        let builder = Builder::new(chunk_len, chunks).policy(Policy::Overwrite);
        let (mut producer, mut consumer) = builder.mpsc::<u64>().unwrap();
        let items = (3 * chunk_len * chunks) as u64;
        (0..items).for_each(|number| producer.push(number).unwrap());
        let ((), allocations, bytes) = accounted(|| {
            for _ in 0..20 {
                (0..items).for_each(|number| producer.push(number).unwrap());
            }
        });
        assert_eq!(
            (allocations, bytes),
            (0, 0),
            "{chunks} chunks of {chunk_len}"
        );
        drain(&mut consumer);
        assert_eq!(drain(&mut consumer), 0);
    }
}

#[test]
fn depth_one_needs_no_more_than_two_chunks_ever() {
    let (mut producer, mut consumer) = Builder::new(16, 100).mpsc::<u64>().unwrap();
    let ((), allocations, bytes) = accounted(|| {
        for number in 0..10_000 {
            producer.push(number).unwrap();
            assert_eq!(consumer.pop(), Ok(number));
        }
    });
    assert!(allocations <= 2, "{allocations} chunks were allocated");
    assert!(bytes <= 2 * chunk(16));
}

#[test]
fn a_preallocated_ring_never_allocates_again() {
    // More chunks than the ring and its pool keep of another.
    for chunks in [5, 40] {
        let builder = Builder::new(8, chunks).preallocate(true);
        let (mut producer, mut consumer) = builder.mpsc::<u64>().unwrap();
        let ((), allocations, bytes) = accounted(|| {
            for _ in 0..7 {
                assert_eq!(fill(&mut producer), 8 * chunks);
                assert_eq!(drain(&mut consumer), 8 * chunks);
            }
            // Another handle needs no memory either.
            assert_eq!(fill(&mut producer.clone()), 8 * chunks);
        });
        assert_eq!((allocations, bytes), (0, 0));
    }
}

#[test]
fn a_chunk_is_allocated_when_it_is_first_needed() {
    let (mut producer, _consumer) = Builder::new(128, 4).mpsc::<u64>().unwrap();
    for number in 0..512 {
        let (result, allocations, bytes) = accounted(|| producer.push(number));
        result.unwrap();
        let expected = if number % 128 == 0 {
            (1, chunk(128))
        } else {
            (0, 0)
        };
        assert_eq!((allocations, bytes), expected, "item {number}");
    }
    let (result, allocations, _) = accounted(|| producer.push(512));
    assert_eq!((result, allocations), (Err(PushError::Full(512)), 0));
}

#[test]
fn one_item_in_a_ring_of_a_thousand_million_takes_one_chunk() {
    let (ring, _, bytes) = accounted(|| bounded::<u8>(1 << 30));
    let (mut producer, mut consumer) = ring.unwrap();
    assert!(producer.capacity() >= 1 << 30);
    // A table of twice 2048 entries of 8 bytes, and what both sides share with a pool.
    assert!(
        bytes <= 2 * 2048 * 8 + 2048,
        "{bytes} bytes before the first item"
    );
    let ((), allocations, bytes) = accounted(|| producer.push(1).unwrap());
    // A slot is a byte, and so is its flag.
    assert_eq!(allocations, 1);
    assert!(
        bytes <= 2 * producer.chunk_len() as isize + 256,
        "{bytes} bytes"
    );
    assert_eq!(consumer.pop(), Ok(1));
}

#[test]
fn chunks_circulate_however_many_were_handed_over() {
    let (mut producer, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
    for _ in 0..3 {
        (0..4).for_each(|item| producer.push(item).unwrap());
        assert_eq!(*consumer.take_chunk().unwrap(), [0, 1, 2, 3]);
    }
    let (_, allocations, _) = accounted(|| {
        for item in 0..64 {
            producer.push(item).unwrap();
            assert_eq!(consumer.pop(), Ok(item));
        }
    });
    assert!(allocations <= 1, "{allocations} chunks for one");
}

#[test]
fn what_both_sides_share_is_as_small_as_documented() {
    let built = |chunks, preallocate| {
        let builder = Builder::new(1, chunks).max_chunks(1);
        let builder = builder.preallocate(preallocate);
        let (ring, _, bytes) = accounted(|| builder.mpsc::<u8>().unwrap());
        bytes - ring.0.control().pool().used() as isize
    };
    assert!(built(1, false) < 2048, "{} bytes", built(1, false));
    let least = built(2, false);
    let word = size_of::<usize>() as isize;
    // Two idle chunks are spare; those behind them have a table of their own.
    for (chunks, entries, behind) in [(2, 2, 0), (3, 4, 2), (1000, 1024, 1024)] {
        assert_eq!(built(chunks, false) - least, (entries - 2) * 2 * word);
        let table = (entries - 2) * 2 * word;
        assert_eq!(built(chunks, true) - least, table + behind * 2 * word);
    }
}

#[test]
fn an_impossible_shape_is_refused_before_anything_is_allocated() {
    const HALF: usize = isize::MAX as usize;
    fn refused<T>(builder: &Builder) {
        let (result, allocations, _) = accounted(|| builder.mpsc::<T>());
        assert!(
            matches!(
                result,
                Err(BuildError::ChunkTooLong { .. } | BuildError::TooManyChunks { .. })
            ),
            "{builder:?}"
        );
        assert_eq!(allocations, 0, "{builder:?}");
    }
    for preallocate in [false, true] {
        for (chunk_len, chunks) in [
            (usize::MAX, 1),
            (1, usize::MAX),
            (usize::MAX, usize::MAX),
            (HALF + 1, 1),
            (1, HALF),
            ((1 << 24) + 1, 1),
            (1 << 24, HALF),
        ] {
            let builder = Builder::new(chunk_len, chunks).preallocate(preallocate);
            refused::<u8>(&builder);
            refused::<[u64; 100]>(&builder);
        }
        for capacity in [usize::MAX, HALF + 1] {
            let builder = Builder::with_capacity(capacity).preallocate(preallocate);
            refused::<u8>(&builder);
            refused::<()>(&builder);
            refused::<[u8; 4096]>(&builder);
        }
    }
}

#[test]
fn a_build_that_is_refused_memory_says_so_and_leaves_nothing_behind() {
    for preallocate in [false, true] {
        let builder = Builder::new(8, 5).preallocate(preallocate);
        let make = || builder.mpsc::<u64>().map(drop);
        let (result, needed, bytes) = accounted(make);
        assert_eq!((result, bytes), (Ok(()), 0));
        assert!(needed >= if preallocate { 5 + 3 } else { 3 });
        for granted in 0..needed {
            let (result, _, bytes) = accounted(|| with_grants(granted, make));
            assert_eq!(
                result,
                Err(BuildError::OutOfMemory),
                "{granted} allocations"
            );
            assert_eq!(bytes, 0, "{granted} allocations");
        }
        assert_eq!(with_grants(needed, make), Ok(()));
    }
}

#[test]
fn a_push_that_is_refused_a_chunk_says_full_and_the_ring_goes_on() {
    for granted in 0..4 {
        let ((), _, bytes) = accounted(|| {
            let (mut producer, mut consumer) = Builder::new(4, 4).mpsc::<u64>().unwrap();
            let mut other = producer.clone();
            let pushed = with_grants(granted, || fill(&mut producer));
            assert_eq!(pushed, 4 * granted);
            let item = pushed as u64;
            let refused = with_grants(0, || other.push(item));
            assert_eq!(refused, Err(PushError::Full(item)));
            let reserved = with_grants(0, || other.reserve(2).map(drop));
            assert_eq!(reserved, Err(ReserveError::Full));
            assert_eq!(producer.control().statistics().refused_memory, 1 + 1 + 2);
            // With memory again, the rest of the chunks is filled.
            (item..16).for_each(|number| other.push(number).unwrap());
            assert_eq!(producer.push(16), Err(PushError::Full(16)));
            assert!(consumer.try_iter().eq(0..16));
        });
        assert_eq!(bytes, 0);
    }
}

#[test]
fn a_ring_that_gets_no_second_chunk_works_with_its_first() {
    let (mut producer, mut consumer) = Builder::new(8, 4).mpsc::<u64>().unwrap();
    producer.push(0).unwrap();
    for round in 0..100 {
        // The rest of the chunk does not take eight, so it has to be closed.
        let refused = with_grants(0, || producer.reserve(8).map(drop));
        assert_eq!(refused, Err(ReserveError::Full));
        assert_eq!(consumer.pop(), Ok(round));
        assert!(consumer.pop().is_err());
        let granted = with_grants(0, || producer.push_whole_slice(&[round + 1; 1]));
        assert_eq!(granted, Ok(()), "round {round}");
    }
    assert_eq!(consumer.len(), 1);
}

#[test]
fn an_overwritten_chunk_of_another_length_makes_room_only_where_there_is_memory() {
    let builder = Builder::new(4, 2).policy(Policy::Overwrite);
    let (mut producer, mut consumer) = builder.mpsc::<u64>().unwrap();
    (0..8).for_each(|number| producer.push(number).unwrap());
    let control = producer.control();
    control.set_chunk_len(8).unwrap();
    let refused = with_grants(0, || producer.push(8));
    assert_eq!(refused, Err(PushError::Full(8)));
    // Every item is taken or counted all the same.
    producer.push(8).unwrap();
    let lost = control.statistics().overwritten;
    assert!(consumer.try_iter().eq(lost as u64..9));
}

#[test]
fn memory_is_freed_in_either_order_of_the_ends() {
    for producer_first in [false, true] {
        for left in [0, 1, 5, 20] {
            let ((), _, bytes) = accounted(|| {
                let (mut producer, mut consumer) = Builder::new(4, 5).mpsc::<u64>().unwrap();
                let (_, allocations, bytes) = accounted(|| fill(&mut producer));
                assert_eq!((allocations, bytes), (5, 5 * chunk(4)));
                let (_, allocations, bytes) = accounted(|| {
                    for _ in left..20 {
                        consumer.pop().unwrap();
                    }
                });
                assert_eq!((allocations, bytes), (0, 0));
                if producer_first {
                    drop((producer.clone(), producer, consumer));
                } else {
                    drop((consumer, producer.clone(), producer));
                }
            });
            assert_eq!(bytes, 0);
        }
    }
}

#[test]
fn a_ring_whose_chunks_are_taken_out_does_not_allocate_in_its_steady_state() {
    for (chunk_len, chunks) in SHAPES {
        let builder = Builder::new(chunk_len, chunks).headroom(24);
        let (mut producer, mut consumer) = builder.mpsc::<u64>().unwrap();
        let mut round = |held: Option<OwnedChunk<u64>>| {
            for number in 0..chunk_len.div_ceil(2) as u64 {
                producer.push(number).unwrap();
            }
            consumer.seal();
            let chunk = consumer.take_chunk().unwrap();
            assert_eq!(chunk.len(), chunk_len.div_ceil(2));
            drop(held);
            chunk
        };
        let mut held = Some(round(None));
        held = Some(round(held));
        let (last, allocations, bytes) = accounted(|| {
            for _ in 0..1000 {
                held = Some(round(held.take()));
            }
            held
        });
        drop(last);
        assert_eq!(
            (allocations, bytes),
            (0, 0),
            "{chunks} chunks of {chunk_len}"
        );
    }
}

#[test]
fn after_a_burst_memory_returns_to_two_idle_chunks_and_those_of_the_pool() {
    let ring = Builder::new(64, 1000).mpsc::<u64>();
    let (mut producer, mut consumer) = ring.unwrap();
    let control = producer.control();
    let (live, _, bytes) = accounted(|| {
        assert_eq!(fill(&mut producer), 64_000);
        assert_eq!(control.pool().used() as isize, 1000 * chunk(64));
        assert_eq!(drain(&mut consumer), 64_000);
        control.pool().used() as isize
    });
    assert_eq!(bytes, live, "the pool counts what the allocator gave");
    assert_eq!(bytes, (2 + 16) * chunk(64));
    let ((), allocations, freed) = accounted(|| control.trim());
    assert_eq!((allocations, freed), (0, -bytes));
    assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
}

#[test]
fn a_resize_allocates_nothing_and_a_shrink_frees_idle_chunks_at_once() {
    let builder = Builder::new(4, 8).max_chunks(64).preallocate(true);
    let (mut producer, mut consumer) = builder.mpsc::<u64>().unwrap();
    let control = consumer.control();
    let (_, allocations, bytes) = accounted(|| control.set_chunks(64));
    assert_eq!((allocations, bytes), (0, 0));
    let (_, allocations, bytes) = accounted(|| control.set_chunks(3));
    assert_eq!((allocations, bytes), (0, -5 * chunk(4)));
    assert_eq!(control.chunks_in_use(), 3);
    let (_, allocations, bytes) = accounted(|| control.set_chunk_len(3));
    assert_eq!((allocations, bytes), (0, 0), "they are as long as before");
    let (_, allocations, bytes) = accounted(|| control.set_chunk_len(5));
    assert_eq!(
        (allocations, bytes),
        (0, -3 * chunk(4)),
        "none fits any more"
    );

    // What is in traffic goes as it is finished, with the producers asleep.
    control.resize(4, 8).unwrap();
    assert_eq!(fill(&mut producer), 32);
    let ((), allocations, bytes) = accounted(|| control.resize(4, 2).unwrap());
    assert_eq!((allocations, bytes), (0, 0));
    for left in (2..8).rev() {
        let (_, allocations, bytes) = accounted(|| (0..4).all(|_| consumer.pop().is_ok()));
        assert_eq!((allocations, bytes), (0, -chunk(4)));
        assert_eq!(control.chunks_in_use(), left);
    }
    let (_, allocations, bytes) = accounted(|| drain(&mut consumer));
    assert_eq!((allocations, bytes), (0, 0), "two may stay");
    let (_, allocations, bytes) = accounted(|| control.set_chunk_len(1));
    assert_eq!((allocations, bytes), (0, -2 * chunk(4)));
    assert_eq!(control.pool().used(), 0);
}
