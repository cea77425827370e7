//! Reading in place: what a slice shows, what a release takes, and when a chunk goes back.

use crate::kind::{Make, pass_unused};
use chunkring::{Builder, PopError, ReserveError};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_short_write_keeps_what_the_sink_did_not_take() {
    for chunk_len in [4, 5, 8] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, 2).ring().unwrap();
        let mut grant = producer.reserve(4).unwrap();
        grant.extend_from_slice(b"abcd");
        grant.commit_all();
        let ready = consumer.read().unwrap();
        assert_eq!(&*ready, b"abcd");
        ready.release(3);
        assert_eq!(&*consumer.read().unwrap(), b"d");
        assert_eq!(consumer.len(), 1);
        assert_eq!(consumer.pop(), Ok(b'd'));
        assert_eq!(consumer.read().unwrap_err(), PopError::Empty);
    }
}

#[test]
fn every_partial_release_leaves_the_rest_in_order() {
    for chunk_len in [1, 3, 4] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, 3).ring().unwrap();
        let (mut next_in, mut next_out) = (0, 0);
        for step in 0..500 {
            while producer.push(next_in).is_ok() {
                next_in += 1;
            }
            let ready = consumer.read().unwrap();
            let expected: Vec<i32> = (next_out..next_out + ready.len() as i32).collect();
            assert_eq!(*ready, *expected);
            let count = step % (ready.len() + 1);
            ready.release(count);
            next_out += count as i32;
        }
        assert!(next_out > 100);
    }
}

#[test]
fn a_slice_is_never_empty_and_never_crosses_a_chunk() {
    let (mut producer, mut consumer) = Builder::new(4, 3).ring().unwrap();
    for number in 0..10 {
        producer.push(number).unwrap();
    }
    for expected in [&[0, 1, 2, 3][..], &[4, 5, 6, 7], &[8, 9]] {
        let ready = consumer.read().unwrap();
        assert_eq!(&*ready, expected);
        ready.release_all();
    }
    assert!(consumer.read().is_err());
}

#[test]
fn what_is_looked_at_and_not_released_comes_again() {
    let (mut producer, mut consumer) = Builder::new(2, 1).ring().unwrap();
    producer.push(1).unwrap();
    for _ in 0..2 {
        let _ = consumer.read().unwrap();
    }
    consumer.read().unwrap().release(0);
    // More may have come by the next look.
    producer.push(2).unwrap();
    assert_eq!(*consumer.read().unwrap(), [1, 2]);
    assert_eq!(consumer.pop(), Ok(1));
    assert_eq!(*consumer.read().unwrap(), [2]);
}

#[test]
fn a_read_sees_what_came_since_the_last_pop_looked() {
    let (mut producer, mut consumer) = Builder::new(8, 1).ring().unwrap();
    producer.push(0).unwrap();
    producer.push(1).unwrap();
    assert_eq!(consumer.pop(), Ok(0));
    producer.push(2).unwrap();
    assert_eq!(*consumer.read().unwrap(), [1, 2]);
}

#[test]
fn a_release_of_more_than_is_there_panics_and_takes_nothing() {
    let (mut producer, mut consumer) = Builder::new(4, 1).ring().unwrap();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    for bad in [3, 4, 5, usize::MAX] {
        let ready = consumer.read().unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| ready.release(bad))).is_err());
    }
    assert_eq!(*consumer.read().unwrap(), [1, 2]);
}

#[test]
fn a_chunk_goes_back_with_its_last_item_whether_it_was_full_or_closed() {
    for filled in 1..=8 {
        for by_pop in [false, true] {
            let (mut producer, mut consumer) = Builder::new(8, 1).ring().unwrap();
            for number in 0..filled {
                producer.push(number).unwrap();
            }
            assert_eq!(producer.reserve(8).unwrap_err(), ReserveError::Full);
            if by_pop {
                for number in 0..filled {
                    assert_eq!(producer.free_slots(), 0);
                    assert_eq!(consumer.pop(), Ok(number));
                }
            } else {
                consumer.read().unwrap().release(filled - 1);
                assert_eq!(producer.free_slots(), 0);
                consumer.read().unwrap().release(1);
            }
            pass_unused(&mut consumer);
            assert_eq!(producer.free_slots(), 8);
            assert_eq!((producer.len(), consumer.len()), (0, 0));
            assert!(producer.reserve(8).is_ok());
            assert_eq!(consumer.pop(), Err(PopError::Empty));
        }
    }
}

#[test]
fn a_slice_stays_as_it_is_while_the_producer_goes_on_and_ends() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    producer.push(String::from("a")).unwrap();
    let ready = consumer.read().unwrap();
    for word in ["b", "c", "d", "e", "f", "g", "h"] {
        producer.push(word.to_owned()).unwrap();
    }
    assert!(producer.push(String::from("i")).is_err());
    drop(producer);
    assert_eq!(*ready, ["a"]);
    ready.release(1);
    assert_eq!(*consumer.read().unwrap(), ["b", "c", "d"]);
}
