//! The longest chunks, and the most of them.

use crate::nothing::pool_of_nothing;
use chunkring::{BuildError, Builder};

#[test]
fn long_chunks_bound_their_number_and_many_chunks_their_length() {
    let half = isize::MAX as usize;
    let (producer, _consumer) = Builder::new(half / 3, 2).spsc::<()>().unwrap();
    let control = producer.control();
    assert_eq!(
        (control.max_chunks(), control.max_chunk_len()),
        (3, half / 3)
    );
    control.set_chunks(3).unwrap();
    assert!(producer.capacity() <= half && producer.free_slots() <= half);
    assert!(control.set_chunks(4).is_err());
    let asked = Builder::new(half / 3, 2).max_chunks(4);
    let too_many = BuildError::TooManyChunks {
        chunks: 4,
        chunk_len: half / 3,
        max: 3,
    };
    assert_eq!(
        asked.spsc::<()>().unwrap_err(),
        too_many,
        "what was asked for is not cut down"
    );
    let (producer, _consumer) = Builder::new(1, 3).max_chunks(0).spsc::<()>().unwrap();
    assert_eq!(producer.control().max_chunks(), 4);
}

#[test]
fn the_largest_shapes_are_told_apart_from_impossible_ones() {
    let half = isize::MAX as usize;
    assert!(Builder::new(half, 1).spsc::<()>().is_ok());
    assert!(Builder::new(half / 3, 3).spsc::<()>().is_ok());
    let too_many = BuildError::TooManyChunks {
        chunks: 3,
        chunk_len: half / 3 + 1,
        max: 2,
    };
    assert_eq!(
        Builder::new(half / 3 + 1, 3).spsc::<()>().unwrap_err(),
        too_many
    );
    assert_eq!(
        Builder::new(half + 1, 1).spsc::<()>().unwrap_err(),
        BuildError::ChunkTooLong {
            chunk_len: half + 1,
            max: half
        }
    );
    // The largest block there may be, which no chunk is allocated of before it is needed.
    // It begins with a head, and is rounded up to its alignment of 128 bytes.
    let longest = half - 127 - 128;
    let builder = Builder::new(longest, 1).pool(&pool_of_nothing());
    let (mut producer, _consumer) = builder.spsc::<u8>().unwrap();
    assert!(producer.push(1).unwrap_err().is_full());
    assert!(producer.reserve(longest).unwrap_err().is_full());
    assert!(producer.reserve(longest + 1).unwrap_err().is_too_long());
    assert_eq!(
        builder.preallocate(true).spsc::<u8>().unwrap_err(),
        BuildError::OutOfMemory
    );
    assert_eq!(
        Builder::new(longest + 1, 1).spsc::<u8>().unwrap_err(),
        BuildError::ChunkTooLong {
            chunk_len: longest + 1,
            max: longest
        }
    );
}

#[test]
fn a_chunk_of_items_without_a_size_may_be_as_long_as_positions_reach() {
    let len = isize::MAX as usize;
    let (mut producer, mut consumer) = Builder::new(len, 1).preallocate(true).spsc().unwrap();
    producer.reserve(len).unwrap().commit_all();
    let mut grant = producer.reserve(2).unwrap();
    grant.extend_from_slice(&[(), ()]);
    grant.commit_all();
    assert_eq!((producer.free_slots(), consumer.len()), (len - 2, 2));
    assert_eq!(*consumer.read().unwrap(), [(), ()]);
}
