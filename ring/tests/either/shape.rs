//! Shapes: which can be had, how a capacity is divided, and chunks too large for a stack.

use crate::kind::{Consumer, Make, Producer, bounded};
use crate::nothing::pool_of_nothing;
use chunkring::{BuildError, Builder};
use std::thread;

#[test]
fn a_ring_of_no_slots_is_refused() {
    assert_eq!(
        Builder::new(0, 1).ring::<u8>().unwrap_err(),
        BuildError::ZeroChunkLen
    );
    assert_eq!(
        Builder::new(1, 0).ring::<u8>().unwrap_err(),
        BuildError::ZeroChunks
    );
    let refused = bounded::<u8>(0).unwrap_err();
    assert_eq!(refused, BuildError::ZeroCapacity);
    let told = "a ring's capacity is at least 1 item, not 0";
    assert_eq!(refused.to_string(), told);
    assert_eq!(bounded::<()>(0).unwrap_err(), BuildError::ZeroCapacity);
}

#[test]
fn a_capacity_is_divided_into_a_few_chunks_and_never_short() {
    fn check<T>(capacity: usize) {
        let largest_chunk = capacity.div_ceil(1024).checked_mul(size_of::<T>());
        if largest_chunk.is_none_or(|bytes| bytes > isize::MAX as usize) {
            // Where addresses have 32 bits.
            assert!(bounded::<T>(capacity).is_err());
            return;
        }
        let (producer, _consumer) = bounded::<T>(capacity).unwrap();
        let chunk_len = producer.chunk_len();
        let chunks = producer.capacity() / chunk_len;
        assert!(producer.capacity() >= capacity + chunk_len - 1);
        assert!(
            (2..=1025).contains(&chunks),
            "{chunks} chunks for {capacity}"
        );
        // No more than the chunk that is added and what dividing rounds up.
        assert!(producer.capacity() < capacity + 2 * chunk_len);
    }
    for capacity in (1..2000).chain([4095, 4096, 65_537, 1 << 20, (1 << 30) + 1]) {
        check::<u8>(capacity);
        check::<u64>(capacity);
        check::<[u8; 100]>(capacity);
        check::<[u8; 5000]>(capacity);
        check::<()>(capacity);
    }
}

#[test]
fn a_headroom_as_large_as_the_refusal_names_can_be_had_and_one_byte_more_is_refused() {
    fn check<T>(chunk_len: usize) {
        let pool = pool_of_nothing();
        let make = |headroom| {
            let builder = Builder::new(chunk_len, 1).headroom(headroom).pool(&pool);
            builder.ring::<T>()
        };
        let max = match make(usize::MAX).map(drop).unwrap_err() {
            error @ BuildError::HeadroomTooLarge { headroom, max } => {
                assert_eq!(headroom, usize::MAX);
                let text = error.to_string();
                for number in [headroom, max] {
                    assert!(text.contains(&number.to_string()), "{text}");
                }
                max
            }
            error => panic!("{error}"),
        };
        let slots = chunk_len * size_of::<T>();
        let rest = isize::MAX as usize - slots - max;
        assert!(rest <= 1024 + 2 * chunk_len, "{rest} bytes are not used");
        let headroom = max + 1;
        assert_eq!(
            make(headroom).map(drop).unwrap_err(),
            BuildError::HeadroomTooLarge { headroom, max }
        );
        let (mut producer, _consumer) = make(max).unwrap();
        assert!(producer.chunk_len() >= chunk_len);
        assert!(producer.control().max_chunk_len() >= chunk_len);
        // The pool is asked for a block that can be, and has none.
        assert!(producer.reserve(chunk_len).unwrap_err().is_full());
    }
    for chunk_len in [1, 3, 16, 1000] {
        check::<()>(chunk_len);
        check::<u8>(chunk_len);
        check::<u64>(chunk_len);
        check::<[u32; 7]>(chunk_len);
    }
}

#[test]
fn chunks_take_two_kibibytes_or_half_of_what_is_asked_for() {
    fn check<T>(capacity: usize, chunk_len: usize, chunks: usize) {
        let (producer, _consumer) = bounded::<T>(capacity).unwrap();
        let shape = (producer.chunk_len(), producer.capacity());
        assert_eq!(shape, (chunk_len, chunk_len * chunks), "{capacity}");
    }
    check::<u64>(64, 32, 3);
    check::<u64>(256, 128, 3);
    check::<u64>(512, 256, 3);
    check::<u64>(1024, 256, 5);
    check::<u64>(65_536, 256, 257);
    check::<u8>(65_536, 2048, 33);
    // Not fewer than 32, however large they are.
    check::<[u64; 100]>(1024, 32, 33);
}

#[test]
fn a_builder_makes_rings_that_have_nothing_in_common() {
    let builder = Builder::new(1, 1);
    let (mut producer, _consumer) = builder.ring().unwrap();
    let (_producer, mut consumer) = builder.clone().ring::<u8>().unwrap();
    producer.push(1_u8).unwrap();
    assert!(consumer.pop().is_err());
}

/// Runs `work` on a thread with a stack of 256 KiB.
fn on_a_small_stack(work: fn()) {
    thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_chunk_larger_than_the_stack_is_never_on_it() {
    on_a_small_stack(|| {
        // 64 items of 4 KiB are as much as the stack.
        for preallocate in [false, true] {
            let (mut producer, mut consumer) = Builder::new(64, 2)
                .preallocate(preallocate)
                .ring::<[u8; 4 << 10]>()
                .unwrap();
            producer.push([1; 4 << 10]).unwrap();
            assert_eq!(consumer.pop().unwrap()[5], 1);
        }
    });
}

#[test]
fn an_item_of_an_eighth_of_the_stack_goes_in_and_out() {
    const SIZE: usize = 32 << 10;

    // Moving a value is a copy each time in a debug build, and a frame holds all of its copies; so
    // each step has a frame of its own.
    fn put(producer: &mut Producer<[u8; SIZE]>, byte: u8) -> bool {
        producer.push([byte; SIZE]).is_ok()
    }
    fn take(consumer: &mut Consumer<[u8; SIZE]>) -> Option<u8> {
        consumer.pop().as_ref().map(|item| item[77]).ok()
    }
    on_a_small_stack(|| {
        let (mut producer, mut consumer) = Builder::new(32, 1).ring().unwrap();
        for round in 0..3 {
            for number in 0..32 {
                assert!(put(&mut producer, round * 32 + number));
            }
            assert!(!put(&mut producer, 0));
            for number in 0..32 {
                assert_eq!(take(&mut consumer), Some(round * 32 + number));
            }
        }
    });
}

#[test]
fn items_filled_in_place_are_never_on_the_stack() {
    on_a_small_stack(|| {
        // A byte chunk of 16 MiB, filled in place.
        let (mut producer, mut consumer) = Builder::new(16 << 20, 1).ring::<u8>().unwrap();
        let mut grant = producer.reserve(16 << 20).unwrap();
        for slot in grant.spare_mut() {
            slot.write(7);
        }
        // SAFETY: every slot has just been written.
        unsafe { grant.assume_filled(16 << 20) };
        grant.commit_all();
        assert!(consumer.read().unwrap().iter().all(|byte| *byte == 7));

        for preallocate in [false, true] {
            // Chunks of 64 items of 32 KiB, of which one at a time is on the stack.
            let item = [1; 32 << 10];
            let (mut producer, mut consumer) = Builder::new(64, 2)
                .preallocate(preallocate)
                .ring::<[u8; 32 << 10]>()
                .unwrap();
            let mut grant = producer.reserve(64).unwrap();
            for _ in 0..64 {
                grant.extend_from_slice(std::slice::from_ref(&item));
            }
            grant.commit_all();
            let ready = consumer.read().unwrap();
            assert_eq!((ready.len(), ready[63][5]), (64, 1));
            ready.release_all();

            // A whole mebibyte an item, which must not be moved at all.
            let (mut producer, mut consumer) = Builder::new(2, 1)
                .preallocate(preallocate)
                .ring::<[u8; 1 << 20]>()
                .unwrap();
            let mut grant = producer.reserve(2).unwrap();
            for slot in grant.spare_mut() {
                // SAFETY: the slot is writable, and any byte is a `u8`.
                unsafe { slot.as_mut_ptr().write_bytes(3, 1) };
            }
            // SAFETY: both slots have just been written.
            unsafe { grant.assume_filled(2) };
            grant.commit_all();
            let ready = consumer.read().unwrap();
            assert_eq!((ready.len(), ready[1][9]), (2, 3));
            ready.release_all();
        }
    });
}
