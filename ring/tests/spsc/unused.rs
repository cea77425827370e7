//! Slots that were reserved and not committed: they are the next to be reserved again.

use chunkring::spsc::{Consumer, Producer};
use chunkring::{Builder, PopError, ReserveError};
use std::cell::Cell;

fn ring(chunk_len: usize, chunks: usize) -> (Producer<u32>, Consumer<u32>) {
    Builder::new(chunk_len, chunks).spsc().unwrap()
}

fn put(producer: &mut Producer<u32>, items: &[u32]) {
    producer.push_whole_slice(items).unwrap();
}

#[track_caller]
fn assert_drains(consumer: &mut Consumer<u32>, items: impl IntoIterator<Item = u32>) {
    assert!(consumer.try_iter().eq(items));
}

/// An item that owns nothing, so that a leak checker has nothing to find where it is forgotten.
struct Counted<'a>(&'a Cell<u32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_forgotten_grant_leaks_what_it_holds_and_nothing_else() {
    let drops = [const { Cell::new(0) }; 7];
    let (mut producer, mut consumer) = Builder::new(4, 1).spsc().unwrap();
    let mut grant = producer.reserve(4).unwrap();
    for count in &drops[..3] {
        assert!(grant.push(Counted(count)).is_ok());
    }
    std::mem::forget(grant);
    for count in &drops[3..] {
        assert!(producer.push(Counted(count)).is_ok());
        assert!(std::ptr::eq(consumer.pop().ok().unwrap().0, count));
    }
    drop(consumer);
    drop(producer);
    assert_eq!(drops.map(Cell::into_inner), [0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn a_chunk_in_which_nothing_was_committed_is_not_sealed() {
    let (mut producer, mut consumer) = Builder::new(3, 1).spsc().unwrap();
    drop(producer.reserve(1).unwrap());
    producer.seal();
    assert_eq!(producer.free_slots(), 3, "nothing is in the chunk yet");
    producer.push(1).unwrap();
    producer.seal();
    assert_eq!((producer.free_slots(), producer.len()), (0, 1));
    assert_eq!(*consumer.take_chunk().unwrap(), [1]);
}

#[test]
fn a_forgotten_grant_commits_nothing_and_jams_nothing() {
    let (mut producer, mut consumer) = ring(4, 1);
    for round in 0..20 {
        let mut grant = producer.reserve(3).unwrap();
        grant.extend_from_slice(&[7, 8, 9]);
        std::mem::forget(grant);
        assert!(consumer.is_empty());
        put(&mut producer, &[round, round + 1, round + 2, round + 3]);
        assert_drains(&mut consumer, round..round + 4);
    }
}

#[test]
fn slots_that_are_not_committed_are_the_next_to_be_reserved() {
    let (mut producer, mut consumer) = ring(8, 1);
    for committed in 0..=4 {
        let mut grant = producer.reserve(4).unwrap();
        grant.extend_from_slice(&[0, 1, 2, 3]);
        grant.commit(committed);
        for number in 0..committed as u32 {
            assert_eq!(consumer.pop(), Ok(number));
        }
        if committed == 3 {
            // 0 + 1 + 2 + 3 of eight slots are used; a reservation of three closes the chunk.
            assert!(producer.reserve(3).unwrap_err().is_full());
            assert!(consumer.pop().is_err());
        }
    }
}

#[test]
fn a_reservation_is_as_long_as_the_new_length_allows_and_an_empty_chunk_goes_back() {
    for chunks in [1, 3] {
        let (mut producer, mut consumer) = Builder::new(4, chunks).spsc().unwrap();
        let control = producer.control();
        drop(producer.reserve(1).unwrap()); // a chunk in which there is nothing
        let refused = producer.reserve(6).unwrap_err();
        assert!(matches!(
            refused,
            ReserveError::TooLong {
                requested: 6,
                chunk_len: 4
            }
        ));
        control.set_chunk_len(6).unwrap();
        if chunks == 1 {
            assert!(producer.reserve(6).unwrap_err().is_full());
            assert_eq!(
                consumer.pop(),
                Err(PopError::Empty),
                "the look gives it back"
            );
        }
        let mut grant = producer.reserve(6).unwrap();
        grant.extend_from_slice(&[1, 2, 3, 4, 5, 6]);
        grant.commit_all();
        assert_eq!((producer.len(), consumer.len()), (6, 6));
        control.set_chunk_len(2).unwrap();
        assert_eq!(*consumer.read().unwrap(), [1, 2, 3, 4, 5, 6]);
        let chunk = consumer.take_chunk().unwrap();
        assert_eq!(*chunk, [1, 2, 3, 4, 5, 6]);
        let refused = producer.reserve(3).unwrap_err();
        assert!(matches!(
            refused,
            ReserveError::TooLong {
                requested: 3,
                chunk_len: 2
            }
        ));
        // What a longer chunk has left is there to be used all the same.
        control.set_chunk_len(8).unwrap();
        producer.push(7).unwrap();
        control.set_chunk_len(2).unwrap();
        assert_eq!(producer.reserve(7).unwrap().len(), 7);
    }
}
