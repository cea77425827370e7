//! The longest chunks, the most of them, and lengths that are no power of two.

use chunkring::{BuildError, Builder, ReserveError, ResizeError};

const LONGEST: usize = 1 << 24;

#[test]
fn a_length_is_rounded_up_to_a_power_of_two_wherever_it_is_told() {
    for (asked, given) in [
        (1, 1),
        (2, 2),
        (3, 4),
        (5, 8),
        (7, 8),
        (9, 16),
        (1000, 1024),
    ] {
        let (mut producer, mut consumer) = Builder::new(asked, 3).mpsc::<u8>().unwrap();
        let control = producer.control();
        assert_eq!(producer.chunk_len(), given);
        assert_eq!(
            (producer.capacity(), consumer.capacity()),
            (3 * given, 3 * given)
        );
        assert_eq!(control.statistics().chunk_len, given);
        assert_eq!(producer.reserve(given).unwrap().len(), given);
        let too_long = ReserveError::TooLong {
            requested: given + 1,
            chunk_len: given,
        };
        assert_eq!(producer.reserve(given + 1).unwrap_err(), too_long);
        control.set_chunk_len(1).unwrap();
        control.set_chunk_len(asked).unwrap();
        assert_eq!((control.chunk_len(), producer.chunk_len()), (given, given));
        control.resize(asked, 2).unwrap();
        assert_eq!(producer.capacity(), 2 * given);
        assert!(consumer.pop().is_err());
    }
}

#[test]
fn the_longest_chunk_has_its_slots_and_one_more_is_refused() {
    let (mut producer, mut consumer) = Builder::new(LONGEST, 1).mpsc::<()>().unwrap();
    for _ in 0..2 {
        let mut grant = producer.reserve(LONGEST).unwrap();
        grant.extend_from_slice(&[(); LONGEST]);
        grant.commit_all();
        assert!(producer.push(()).unwrap_err().is_full());
        assert_eq!((producer.len(), consumer.len()), (LONGEST, LONGEST));
        consumer.read().unwrap().release(LONGEST - 1);
        assert_eq!((consumer.len(), producer.free_slots()), (1, 0));
        consumer.pop().unwrap();
        assert_eq!(producer.free_slots(), LONGEST);
    }
    assert!(producer.reserve(LONGEST + 1).unwrap_err().is_too_long());
    for chunk_len in [LONGEST + 1, isize::MAX as usize, usize::MAX] {
        let refused = Builder::new(chunk_len, 1).mpsc::<()>().unwrap_err();
        let max = LONGEST;
        assert_eq!(refused, BuildError::ChunkTooLong { chunk_len, max });
        assert!(!refused.to_string().contains("address"), "{refused}");
    }
    let control = producer.control();
    assert_eq!(control.max_chunk_len(), LONGEST);
    let too_long = ResizeError::TooLong {
        chunk_len: LONGEST + 1,
        max: LONGEST,
    };
    assert_eq!(control.set_chunk_len(LONGEST + 1), Err(too_long));
}

#[test]
fn a_long_item_bounds_a_chunk_to_a_power_of_two_that_can_be_had() {
    const BITS: u32 = usize::BITS * 5 / 8;
    type Long = [u8; 1 << BITS];
    // Twice as many would exceed the address space by what comes before them.
    let max = 1 << (usize::BITS - 2 - BITS);
    let chunk_len = 2 * max - 1;
    let refused = Builder::new(chunk_len, 1).mpsc::<Long>().unwrap_err();
    assert_eq!(refused, BuildError::ChunkTooLong { chunk_len, max });
    let (producer, _consumer) = Builder::new(max, 1).mpsc::<Long>().unwrap();
    assert_eq!(producer.control().max_chunk_len(), max);
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_huge_capacity_is_divided_into_chunks_that_can_be() {
    let (producer, _consumer) = Builder::with_capacity(1 << 36)
        .pool(&crate::nothing::pool_of_nothing())
        .mpsc::<u8>()
        .unwrap();
    assert_eq!(producer.chunk_len(), LONGEST);
    assert!(producer.capacity() >= (1 << 36) + LONGEST - 1);
}

#[test]
fn many_long_chunks_are_bounded_together() {
    // A sequence number counts 2^32 chunks; where addresses have 32 bits, fewer have a position.
    let most = usize::try_from(1_u64 << 32).unwrap_or(isize::MAX as usize / LONGEST);
    for chunks in [most + 1, usize::MAX] {
        let too_many = BuildError::TooManyChunks {
            chunks,
            chunk_len: LONGEST,
            max: most,
        };
        let refused = Builder::new(LONGEST, chunks).mpsc::<()>();
        assert_eq!(refused.unwrap_err(), too_many);
        let refused = Builder::new(LONGEST, 1).max_chunks(chunks).mpsc::<()>();
        assert_eq!(refused.unwrap_err(), too_many);
    }
}

#[test]
fn items_without_a_size_fill_the_longest_chunk_one_by_one_past_its_flags_padding() {
    let (mut producer, mut consumer) = Builder::new(1 << 12, 2).mpsc().unwrap();
    let mut count = 0;
    while producer.push(()).is_ok() {
        count += 1;
    }
    assert_eq!(count, 1 << 13);
    assert_eq!(consumer.try_iter().count(), count);
}
