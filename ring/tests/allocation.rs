//! What is allocated, when, and what happens where it cannot be had.

mod accountant;

use accountant::{accounted, with_grants};
use chunkring::spsc::{Consumer, Producer, bounded};
use chunkring::{BuildError, Builder, OwnedChunk, Policy, Pool, PushError, ReserveError, Source};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Bytes of a chunk before its first slot, where its items need no more than the usual alignment.
const HEAD: isize = 128;

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
    for (chunk_len, chunks) in [(1, 1), (1, 2), (4, 1), (4, 3), (64, 4)] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).spsc::<u64>().unwrap();
        fill(&mut producer);
        drain(&mut consumer);
        let ((), allocations, bytes) = accounted(|| {
            for number in 0..10_000 {
                producer.push(number).unwrap();
                assert_eq!(consumer.pop(), Ok(number));
            }
            for _ in 0..1000 {
                let mut grant = producer.reserve(chunk_len).unwrap();
                while grant.push(7).is_ok() {}
                grant.commit_all();
                consumer.read().unwrap().release_all();
                assert!(consumer.pop().is_err());
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
fn depth_one_needs_no_more_than_two_chunks_ever() {
    let (mut producer, mut consumer) = Builder::new(16, 100).spsc::<u64>().unwrap();
    let ((), allocations, bytes) = accounted(|| {
        for number in 0..10_000 {
            producer.push(number).unwrap();
            assert_eq!(consumer.pop(), Ok(number));
        }
    });
    assert!(allocations <= 2, "{allocations} chunks were allocated");
    assert!(bytes <= 2 * (HEAD + 16 * 8));
}

#[test]
fn a_preallocated_ring_never_allocates_again() {
    // More chunks than the ring and its pool keep of another.
    for chunks in [5, 40] {
        let builder = Builder::new(8, chunks).preallocate(true);
        let (mut producer, mut consumer) = builder.spsc::<u64>().unwrap();
        let ((), allocations, bytes) = accounted(|| {
            for _ in 0..7 {
                assert_eq!(fill(&mut producer), 8 * chunks);
                assert_eq!(drain(&mut consumer), 8 * chunks);
            }
        });
        assert_eq!((allocations, bytes), (0, 0));
    }
}

#[test]
fn a_chunk_is_allocated_when_it_is_first_needed() {
    let (mut producer, _consumer) = Builder::new(8, 4).spsc::<u64>().unwrap();
    for number in 0..32 {
        let (result, allocations, bytes) = accounted(|| producer.push(number));
        result.unwrap();
        let expected = if number % 8 == 0 {
            (1, HEAD + 64)
        } else {
            (0, 0)
        };
        assert_eq!((allocations, bytes), expected, "item {number}");
    }
    let (result, allocations, _) = accounted(|| producer.push(32));
    assert_eq!(result, Err(PushError::Full(32)));
    assert_eq!(allocations, 0);
}

#[test]
fn one_item_in_a_ring_of_a_thousand_million_takes_one_chunk() {
    let (ring, _, bytes) = accounted(|| bounded::<u8>(1 << 30));
    let (mut producer, mut consumer) = ring.unwrap();
    assert!(producer.capacity() >= 1 << 30);
    // A table of 2048 entries of 64 bytes, the words that the halves share, and a pool.
    assert!(
        bytes <= 2048 * 64 + 1408,
        "{bytes} bytes before the first item"
    );
    let ((), allocations, bytes) = accounted(|| producer.push(1).unwrap());
    assert_eq!(
        (allocations, bytes),
        (1, HEAD + producer.chunk_len() as isize)
    );
    assert_eq!(producer.chunk_len(), 1 << 20);
    assert_eq!(consumer.pop(), Ok(1));
}

#[test]
fn the_table_takes_64_bytes_a_chunk_rounded_up_to_a_power_of_two() {
    let builder = |chunks| Builder::new(1, chunks).max_chunks(1);
    let (one, _, least) = accounted(|| builder(1).spsc::<u8>().unwrap());
    for (chunks, entries) in [(2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1024, 1024)] {
        let (ring, _, bytes) = accounted(|| builder(chunks).spsc::<u8>().unwrap());
        assert_eq!(bytes - least, (entries - 1) * 64, "{chunks} chunks");
        drop(ring);
        // As many where the ring can grow to them.
        let (ring, _, bytes) = accounted(|| builder(1).max_chunks(chunks).spsc::<u8>().unwrap());
        assert_eq!(bytes - least, (entries - 1) * 64, "up to {chunks} chunks");
        drop(ring);
        // Twice as many where idle chunks have a table of their own.
        let (ring, _, bytes) =
            accounted(|| builder(chunks).overwritable(true).spsc::<u8>().unwrap());
        assert_eq!(bytes - least, (2 * entries - 1) * 64, "{chunks} chunks");
        drop(ring);
    }
    for (chunks, entries) in [(1, 16), (16, 16), (17, 32)] {
        let (ring, _, bytes) = accounted(|| Builder::new(1, chunks).spsc::<u8>().unwrap());
        assert_eq!(bytes - least, (entries - 1) * 64, "{chunks} chunks");
        drop(ring);
    }
    drop(one);
    assert!(least <= 64 + 1408, "{least} bytes for the least ring");
}

#[test]
fn an_impossible_shape_is_refused_before_anything_is_allocated() {
    const HALF: usize = isize::MAX as usize;
    fn refused<T>(builder: &Builder) -> BuildError {
        let (result, allocations, _) = accounted(|| builder.spsc::<T>());
        assert_eq!(allocations, 0, "{builder:?}");
        result.map(drop).unwrap_err()
    }
    let too_large = |error| {
        matches!(
            error,
            BuildError::ChunkTooLong { .. } | BuildError::TooManyChunks { .. }
        )
    };
    for preallocate in [false, true] {
        for (chunk_len, chunks) in [
            (usize::MAX, 1),
            (1, usize::MAX),
            (usize::MAX, usize::MAX),
            (HALF + 1, 1),
            (1, HALF + 1),
            (HALF, 2),
            (HALF / 2 + 1, 2),
            (1, HALF),
            (HALF, 1),
            (HALF - 64, 1),
            (1 << (usize::BITS / 2), 1 << (usize::BITS / 2)),
        ] {
            let builder = Builder::new(chunk_len, chunks).preallocate(preallocate);
            assert!(too_large(refused::<u8>(&builder)), "{builder:?}");
            assert!(too_large(refused::<[u64; 100]>(&builder)), "{builder:?}");
        }
        for capacity in [usize::MAX, HALF + 1] {
            let builder = Builder::with_capacity(capacity).preallocate(preallocate);
            assert!(too_large(refused::<u8>(&builder)), "{builder:?}");
            assert!(too_large(refused::<()>(&builder)), "{builder:?}");
            assert!(too_large(refused::<[u8; 4096]>(&builder)), "{builder:?}");
        }
        for (builder, error) in [
            (Builder::new(0, 4), BuildError::ZeroChunkLen),
            (Builder::new(4, 0), BuildError::ZeroChunks),
            (Builder::new(0, 0), BuildError::ZeroChunkLen),
            (Builder::new(0, usize::MAX), BuildError::ZeroChunkLen),
            (Builder::with_capacity(0), BuildError::ZeroCapacity),
        ] {
            assert_eq!(refused::<u8>(&builder.preallocate(preallocate)), error);
        }
        let builder = Builder::new(4, 4).headroom(HALF).preallocate(preallocate);
        let error = refused::<u8>(&builder);
        assert!(
            matches!(error, BuildError::HeadroomTooLarge { headroom: HALF, .. }),
            "{error}"
        );
    }
}

#[test]
fn as_many_chunks_as_the_refusal_names_can_be_had_but_for_memory() {
    let refused = |builder: Builder| {
        let (result, _, _) = accounted(|| with_grants(0, || builder.spsc::<u64>().map(drop)));
        result.unwrap_err()
    };
    let chunks = |chunks| Builder::new(1, chunks);
    let grow = |max_chunks| Builder::new(1, 1).policy(Policy::Grow { max_chunks });
    let room = |max| Builder::new(1, 1).max_chunks(max);
    for builder in [&chunks as &dyn Fn(usize) -> Builder, &grow, &room] {
        let max = match refused(builder(usize::MAX)) {
            BuildError::TooManyChunks {
                chunks: usize::MAX,
                chunk_len: 1,
                max,
            } => max,
            error => panic!("{error}"),
        };
        let too_many = BuildError::TooManyChunks {
            chunks: max + 1,
            chunk_len: 1,
            max,
        };
        assert_eq!(refused(builder(max + 1)), too_many);
        assert_eq!(refused(builder(max)), BuildError::OutOfMemory);
    }
}

#[test]
fn a_build_that_is_refused_memory_says_so_and_leaves_nothing_behind() {
    for (preallocate, needed) in [(false, 3), (true, 3 + 5)] {
        let builder = Builder::new(8, 5).preallocate(preallocate);
        for granted in 0..needed {
            let (result, _, bytes) =
                accounted(|| with_grants(granted, || builder.spsc::<u64>().map(drop)));
            assert_eq!(
                result,
                Err(BuildError::OutOfMemory),
                "{granted} allocations"
            );
            assert_eq!(bytes, 0, "{granted} allocations");
        }
        let (result, _, bytes) =
            accounted(|| with_grants(needed, || builder.spsc::<u64>().map(drop)));
        assert_eq!((result, bytes), (Ok(()), 0));
    }
}

#[test]
fn a_push_that_is_refused_a_chunk_says_full_and_the_ring_goes_on() {
    for granted in 0..4 {
        let ((), _, bytes) = accounted(|| {
            let (mut producer, mut consumer) = Builder::new(4, 4).spsc::<u64>().unwrap();
            let pushed = with_grants(granted, || fill(&mut producer));
            assert_eq!(pushed, 4 * granted);
            let item = pushed as u64;
            assert_eq!(
                with_grants(0, || producer.push(item)),
                Err(PushError::Full(item))
            );
            // With memory again, the rest of the chunks is filled.
            for number in item..16 {
                producer.push(number).unwrap();
            }
            assert_eq!(producer.push(16), Err(PushError::Full(16)));
            for number in 0..16 {
                assert_eq!(consumer.pop(), Ok(number));
            }
            assert!(consumer.pop().is_err());
        });
        assert_eq!(bytes, 0);
    }
}

#[test]
fn a_ring_that_gets_no_second_chunk_works_with_its_first() {
    let (mut producer, mut consumer) = Builder::new(8, 4).spsc::<u64>().unwrap();
    producer.push(0).unwrap();
    for round in 0..100 {
        // The rest of the chunk does not take eight, so it has to be closed.
        let refused = with_grants(0, || producer.reserve(8).map(drop));
        assert_eq!(refused, Err(ReserveError::Full));
        assert_eq!(consumer.pop(), Ok(round));
        let granted = with_grants(0, || {
            producer.reserve(8).map(|mut grant| {
                grant.extend_from_slice(&[round + 1]);
                grant.commit_all();
            })
        });
        assert_eq!(granted, Ok(()), "round {round}");
    }
    assert_eq!(consumer.len(), 1);
}

#[test]
fn a_reservation_that_is_refused_a_chunk_leaves_the_rest_of_a_longer_ring_usable() {
    let (mut producer, mut consumer) = Builder::new(4, 4).spsc::<u64>().unwrap();
    for number in 0..6 {
        producer.push(number).unwrap();
    }
    let refused = with_grants(0, || producer.reserve(3).map(drop));
    assert_eq!(refused, Err(ReserveError::Full));
    let mut grant = producer.reserve(2).unwrap();
    grant.extend_from_slice(&[6, 7]);
    grant.commit_all();
    let refused = with_grants(0, || producer.push(8));
    assert_eq!(refused, Err(PushError::Full(8)));
    for number in 0..8 {
        assert_eq!(consumer.pop(), Ok(number));
    }
    assert!(with_grants(0, || producer.reserve(3).is_ok()));
}

#[test]
fn memory_of_few_chunks_is_kept_while_the_ring_lives_and_freed_in_either_order_of_its_ends() {
    for producer_first in [false, true] {
        for left in [0, 1, 5, 20] {
            let ((), _, bytes) = accounted(|| {
                let (mut producer, mut consumer) = Builder::new(4, 5).spsc::<u64>().unwrap();
                let (_, allocations, bytes) = accounted(|| fill(&mut producer));
                assert_eq!((allocations, bytes), (5, 5 * (HEAD + 4 * 8)));
                let (_, allocations, bytes) = accounted(|| {
                    for _ in left..20 {
                        consumer.pop().unwrap();
                    }
                });
                assert_eq!((allocations, bytes), (0, 0));
                if producer_first {
                    drop(producer);
                    drop(consumer);
                } else {
                    drop(consumer);
                    drop(producer);
                }
            });
            assert_eq!(bytes, 0);
        }
    }
}

#[test]
fn chunks_of_zero_sized_items_take_a_head_and_no_more() {
    let (mut producer, mut consumer) = Builder::new(1 << 20, 2).spsc().unwrap();
    let ((), allocations, bytes) = accounted(|| producer.push(()).unwrap());
    assert_eq!((allocations, bytes), (1, HEAD));
    let ((), allocations, _) = accounted(|| {
        for _ in 0..100 {
            producer.push(()).unwrap();
            consumer.pop().unwrap();
        }
    });
    assert_eq!(allocations, 0);
}

#[test]
fn a_pool_that_is_refused_memory_says_so_and_leaves_nothing_behind() {
    struct Words(#[allow(dead_code, reason = "it only takes memory")] [u64; 4]);
    // SAFETY: no memory is ever given.
    unsafe impl Source for Words {
        fn allocate(&self, _: Layout) -> Option<NonNull<u8>> {
            None
        }
        unsafe fn free(&self, _: NonNull<u8>, _: Layout) {}
    }
    for (with_source, needed) in [(false, 1), (true, 2)] {
        let make = || {
            if with_source {
                Pool::with_source(1, Words([0; 4])).map(drop)
            } else {
                Pool::new(1).map(drop)
            }
        };
        for granted in 0..needed {
            let (result, _, bytes) = accounted(|| with_grants(granted, make));
            assert_eq!((result, bytes), (Err(BuildError::OutOfMemory), 0));
        }
        let (result, allocations, bytes) = accounted(|| with_grants(needed, make));
        assert_eq!((result, allocations, bytes), (Ok(()), needed, 0));
    }
}

#[test]
fn a_ring_whose_chunks_are_taken_out_does_not_allocate_in_its_steady_state() {
    for (chunk_len, chunks) in [(1, 1), (1, 2), (4, 1), (4, 3), (64, 4)] {
        let builder = Builder::new(chunk_len, chunks).headroom(24);
        let (mut producer, mut consumer) = builder.spsc::<u64>().unwrap();
        let mut round = |held: Option<OwnedChunk<u64>>| {
            for number in 0..chunk_len.div_ceil(2) as u64 {
                producer.push(number).unwrap();
            }
            producer.seal();
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
fn after_a_burst_memory_returns_to_a_few_idle_chunks_and_those_of_the_pool() {
    // A kibibyte or less each, and more.
    for (len, kept) in [(64, 64), (128, 64), (512, 16), (8192, 2)] {
        memory_returns_after_a_burst(Builder::new(len, 200), len, kept);
        let pool = Pool::new(usize::MAX).unwrap();
        memory_returns_after_a_burst(Builder::new(len, 200).pool(&pool), len, 2);
    }
}

/// Items of a ring of 200 chunks come and go. `kept` of its chunks are left, and 16 in the pool.
fn memory_returns_after_a_burst(builder: Builder, len: usize, kept: isize) {
    let chunk = HEAD + len as isize * 8;
    let (mut producer, mut consumer) = builder.spsc::<u64>().unwrap();
    let control = producer.control();
    let (live, _, bytes) = accounted(|| {
        assert_eq!(fill(&mut producer), 200 * len);
        assert_eq!(control.pool().used() as isize, 200 * chunk);
        assert_eq!(drain(&mut consumer), 200 * len);
        control.pool().used() as isize
    });
    assert_eq!(bytes, live, "the pool counts what the allocator gave");
    assert_eq!(bytes, (kept + 16) * chunk);
    let ((), allocations, freed) = accounted(|| control.trim());
    assert_eq!((allocations, freed), (0, -bytes));
    assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
}

#[test]
fn a_ring_that_needs_few_chunks_for_long_keeps_few() {
    let len = 128;
    let chunk = HEAD + 1024;
    let (mut producer, mut consumer) = Builder::new(len, 64).spsc::<u64>().unwrap();
    let pool = producer.control().pool().clone();
    for _ in 0..3 {
        let burst = |producer: &mut Producer<u64>, consumer: &mut Consumer<u64>| {
            assert_eq!(fill(producer), 64 * len);
            assert_eq!(drain(consumer), 64 * len);
        };
        burst(&mut producer, &mut consumer);
        let ((), allocations, _) = accounted(|| burst(&mut producer, &mut consumer));
        assert_eq!(allocations, 0, "bursts come one after the other");
        assert_eq!(pool.used() as isize, 64 * chunk);
        // Never more than one chunk in use, for the two spans that a burst is remembered, and a round of the table
        // until all that is idle has been met.
        for item in 0..3 * 64 * len {
            producer.push(item as u64).unwrap();
            assert_eq!(consumer.pop(), Ok(item as u64));
        }
        // 16 KiB of idle chunks, the one in use, one that is on its way, and those of the pool.
        let most = (16 + 2 + 16) * chunk;
        assert!(pool.used() as isize <= most, "{} bytes", pool.used());
    }
}

#[test]
fn a_resize_allocates_nothing_and_a_shrink_frees_idle_chunks_at_once() {
    const CHUNK: isize = HEAD + 4 * 8;
    let builder = Builder::new(4, 8).max_chunks(64).preallocate(true);
    let (mut producer, mut consumer) = builder.spsc::<u64>().unwrap();
    let control = consumer.control();
    let (_, allocations, bytes) = accounted(|| control.set_chunks(64));
    assert_eq!((allocations, bytes), (0, 0));
    let (_, allocations, bytes) = accounted(|| control.set_chunks(3));
    assert_eq!((allocations, bytes), (0, -5 * CHUNK));
    assert_eq!(control.chunks_in_use(), 3);
    let (_, allocations, bytes) = accounted(|| control.set_chunk_len(5));
    assert_eq!((allocations, bytes), (0, -3 * CHUNK), "none fits any more");

    // What is in traffic goes as it is finished, with the producer asleep.
    control.resize(4, 8).unwrap();
    assert_eq!(fill(&mut producer), 32);
    let ((), allocations, bytes) = accounted(|| control.resize(4, 2).unwrap());
    assert_eq!((allocations, bytes), (0, 0));
    for left in (2..8).rev() {
        let (_, allocations, bytes) = accounted(|| (0..4).all(|_| consumer.pop().is_ok()));
        assert_eq!((allocations, bytes), (0, -CHUNK));
        assert_eq!(control.chunks_in_use(), left);
    }
    let (_, allocations, bytes) = accounted(|| control.set_chunk_len(1));
    assert_eq!((allocations, bytes), (0, 0), "both are in traffic");
    let (_, allocations, bytes) = accounted(|| drain(&mut consumer));
    assert_eq!((allocations, bytes), (0, -2 * CHUNK));
    assert_eq!(control.pool().used(), 0);
}

/// Halves that wait.
#[cfg(feature = "std")]
mod waiting {
    use super::*;
    use chunkring::wait;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_pair_allocates_nothing_and_a_wait_only_the_first_time() {
        let (producer, consumer) = Builder::new(1, 1).preallocate(true).spsc().unwrap();
        let ((mut producer, mut consumer), allocations, _) =
            accounted(|| wait::pair(producer, consumer).unwrap());
        assert_eq!(allocations, 0);
        let limit = Duration::from_micros(100);
        assert!(consumer.pop_wait_for(limit).is_err());
        producer.push(0).unwrap();
        assert!(producer.push_wait_for(1, limit).is_err());
        let ((), allocations, bytes) = accounted(|| {
            for number in 1..100 {
                assert!(producer.push_wait_for(number, limit).is_err());
                assert_eq!(consumer.pop_wait(), Ok(number - 1));
                assert!(consumer.pop_wait_for(limit).is_err());
                producer.push_wait(number).unwrap();
            }
        });
        assert_eq!((allocations, bytes), (0, 0));
    }

    #[test]
    fn a_thread_that_is_refused_its_place_among_those_who_wait_looks_again() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};

        let (producer, consumer) = bounded(1).unwrap();
        let (mut producer, mut consumer) = wait::pair(producer, consumer).unwrap();
        let control = producer.control();
        let waits_again = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&waits_again);
        let receiver = thread::spawn(move || {
            with_grants(0, || {
                let limit = Duration::from_millis(30);
                let refused = consumer.pop_wait_for(limit);
                told.store(true, Ordering::Relaxed);
                (refused, consumer.pop_wait())
            })
        });
        // An item that came before would be the first wait's, and the second have no end.
        while !waits_again.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(15));
        assert_eq!(control.waiting(), (0, 0), "it has no place");
        producer.push(7).unwrap();
        let (refused, popped) = receiver.join().unwrap();
        assert!(refused.unwrap_err().is_timeout());
        assert_eq!(popped, Ok(7));
    }

    #[cfg(feature = "async")]
    #[test]
    fn a_task_that_is_refused_its_place_among_those_who_wait_is_polled_again_at_once() {
        use std::pin::Pin;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::task::{Context, Wake, Waker};

        struct Task(AtomicUsize);

        impl Wake for Task {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        let (producer, consumer) = bounded::<u8>(1).unwrap();
        let (_producer, mut consumer) = wait::pair(producer, consumer).unwrap();
        let task = Arc::new(Task(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&task));
        let mut context = Context::from_waker(&waker);
        let mut pop = consumer.pop_async();
        for polls in 1..=3 {
            let polled = with_grants(0, || Pin::new(&mut pop).poll(&mut context));
            assert!(polled.is_pending());
            assert_eq!(task.0.load(Ordering::Relaxed), polls);
        }
        assert!(Pin::new(&mut pop).poll(&mut context).is_pending());
        assert_eq!(task.0.load(Ordering::Relaxed), 3, "now it has a place");
    }
}
