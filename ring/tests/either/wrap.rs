//! Positions and sequence numbers past their wrap-around: nothing is lost, and no count goes wild.

use crate::kind::{Consumer, Make, Producer, rounded};
use chunkring::{Builder, PopError, PushError};

/// Lengths and numbers of chunks, few of them powers of two, for capacities of 3, 5, 6, 7, 10, 15.
const SHAPES: [(usize, usize); 12] = [
    (1, 3),
    (3, 1),
    (1, 5),
    (5, 1),
    (2, 3),
    (3, 2),
    (7, 1),
    (2, 5),
    (5, 2),
    (10, 1),
    (3, 5),
    (1, 1),
];

/// Origins that put the wrap-around of a word, of a signed word, and of 32 bits in reach.
fn origins() -> impl Iterator<Item = usize> {
    const HALF: usize = isize::MAX as usize;
    [usize::MAX, HALF, u32::MAX as usize, i32::MAX as usize]
        .into_iter()
        .flat_map(|edge| (0..12).map(move |back| edge - back))
        .chain([0, 1])
}

fn for_each_ring(mut test: impl FnMut(Producer<u64>, Consumer<u64>, usize)) {
    for (chunk_len, chunks) in SHAPES {
        for origin in origins() {
            for preallocate in [false, true] {
                let (producer, consumer) = Builder::new(chunk_len, chunks)
                    .preallocate(preallocate)
                    .origin(origin)
                    .ring()
                    .unwrap();
                test(producer, consumer, rounded(chunk_len) * chunks);
            }
        }
    }
}

#[test]
fn a_full_ring_refuses_one_more_item_and_keeps_the_others_across_the_wrap() {
    for_each_ring(|mut producer, mut consumer, capacity| {
        let mut next = 0;
        for _ in 0..4 {
            for item in next..next + capacity as u64 {
                producer.push(item).unwrap();
            }
            assert_eq!((producer.len(), consumer.len()), (capacity, capacity));
            assert!(producer.is_full() && consumer.is_full());
            assert_eq!(producer.push(1000), Err(PushError::Full(1000)));
            for left in (0..capacity).rev() {
                assert_eq!(consumer.pop(), Ok(next));
                assert_eq!(consumer.len(), left);
                assert!(producer.len() <= capacity && producer.len() >= left);
                next += 1;
            }
            assert_eq!((producer.len(), consumer.len()), (0, 0));
            assert_eq!(producer.free_slots(), capacity);
        }
    });
}

#[test]
fn a_constant_number_in_flight_passes_the_wrap() {
    for_each_ring(|mut producer, mut consumer, capacity| {
        let depth = capacity.min(4);
        let (mut next_in, mut next_out) = (0, 0);
        while next_out < 40 {
            while next_in - next_out < depth as u64 && producer.push(next_in).is_ok() {
                next_in += 1;
            }
            assert_eq!(consumer.len() as u64, next_in - next_out);
            assert!(producer.len() as u64 >= next_in - next_out);
            assert!(producer.len() <= capacity && producer.free_slots() <= capacity);
            assert_eq!(consumer.pop(), Ok(next_out));
            next_out += 1;
        }
    });
}

#[test]
fn reservations_and_holes_pass_the_wrap() {
    for_each_ring(|mut producer, mut consumer, capacity| {
        let chunk_len = producer.chunk_len();
        let (mut next_in, mut next_out) = (0, 0);
        let mut step = 0;
        while next_out < 40 {
            step += 1;
            let len = step % chunk_len + 1;
            if let Ok(mut grant) = producer.reserve(len) {
                while grant.push(next_in).is_ok() {
                    next_in += 1;
                }
                grant.commit_all();
            }
            assert_eq!(consumer.len() as u64, next_in - next_out);
            assert!(producer.len() as u64 >= next_in - next_out);
            assert!(producer.len() <= capacity && producer.free_slots() <= capacity);
            if step % 3 != 0 {
                if let Ok(ready) = consumer.read() {
                    let expected: Vec<u64> = (next_out..next_out + ready.len() as u64).collect();
                    assert_eq!(*ready, *expected);
                    let count = ready.len().min(step % 4 + 1);
                    ready.release(count);
                    next_out += count as u64;
                }
            }
        }
    });
}

#[test]
fn a_slice_that_ends_at_the_wrap_has_its_own_length() {
    for origin in origins() {
        let (mut producer, mut consumer) = Builder::new(8, 2).origin(origin).ring().unwrap();
        for item in 0..16 {
            producer.push(item).unwrap();
        }
        for expected in [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]] {
            let ready = consumer.read().unwrap();
            assert_eq!(ready.iter().count(), 8);
            assert_eq!(*ready, expected);
            ready.release_all();
        }
        assert_eq!(consumer.read().unwrap_err(), PopError::Empty);
    }
}

#[test]
fn items_left_across_the_wrap_are_dropped_once() {
    use std::rc::Rc;
    for (chunk_len, chunks) in SHAPES {
        for origin in origins() {
            let item = Rc::new(());
            let (mut producer, mut consumer) = Builder::new(chunk_len, chunks)
                .origin(origin)
                .ring()
                .unwrap();
            let mut pushed = 0;
            while producer.push(Rc::clone(&item)).is_ok() {
                pushed += 1;
            }
            for popped in 0..pushed / 2 {
                drop(consumer.pop().unwrap());
                assert_eq!(Rc::strong_count(&item), 1 + pushed - popped - 1);
            }
            drop(producer);
            drop(consumer);
            assert_eq!(Rc::strong_count(&item), 1);
        }
    }
}
