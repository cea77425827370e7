//! Slices that went in as one, and come out in parts.

use crate::witness::Ledger;
use chunkring::{Builder, PopError};

/// Lengths that take one more byte to say than those before, and others.
const LENGTHS: [usize; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 64, 127, 128, 300];

#[test]
fn a_ring_that_ends_in_the_middle_of_a_slice_drops_the_rest_once() {
    for length in LENGTHS {
        for taken in [0, 1, 2, length / 2, length - 1, length] {
            for by_pop in [false, true] {
                for behind in 0..3 {
                    for consumer_first in [false, true] {
                        let taken = taken.min(length);
                        let ledger = Ledger::new();
                        let (mut producer, mut consumer) = Builder::new(512, 1).mpsc().unwrap();
                        let mut grant = producer.reserve(length).unwrap();
                        (0..length).for_each(|_| grant.push(ledger.item()).unwrap());
                        grant.commit_all();
                        let mut grant = producer.reserve(behind + 1).unwrap();
                        (0..behind).for_each(|_| grant.push(ledger.item()).unwrap());
                        grant.commit_all();
                        if by_pop {
                            (0..taken).for_each(|_| drop(consumer.pop().unwrap()));
                        } else {
                            consumer.read().unwrap().release(taken);
                        }
                        assert_eq!(ledger.total() as usize, taken);
                        if consumer_first {
                            drop((consumer, producer));
                        } else {
                            drop((producer, consumer));
                        }
                        ledger.assert_each_dropped_once(length + behind);
                    }
                }
            }
        }
    }
}

#[test]
fn items_are_popped_one_by_one_from_slices_wherever_they_begin() {
    for length in LENGTHS {
        for before in [0, 1, 62, 63, 64, 65] {
            for behind in [0, 1, 2, 64] {
                let (mut producer, mut consumer) = Builder::new(512, 1).mpsc().unwrap();
                let items: Vec<usize> = (0..before + length + behind).collect();
                for number in &items[..before] {
                    producer.push(*number).unwrap();
                }
                producer
                    .push_whole_slice(&items[before..before + length])
                    .unwrap();
                for number in &items[before + length..] {
                    producer.push(*number).unwrap();
                }
                for number in items {
                    assert_eq!(consumer.pop(), Ok(number), "{before}, {length}, {behind}");
                }
                assert_eq!(consumer.pop(), Err(PopError::Empty));
            }
        }
    }
}

#[test]
fn a_read_sees_all_that_is_ready_wherever_pops_have_ended() {
    for popped in [0, 1, 63, 64, 65, 128] {
        let (mut producer, mut consumer) = Builder::new(512, 1).mpsc().unwrap();
        for number in 0..300 {
            producer.push(number).unwrap();
        }
        for number in 0..popped {
            assert_eq!(consumer.pop(), Ok(number));
        }
        let ready = consumer.read().unwrap();
        assert!(ready.iter().copied().eq(popped..300), "after {popped}");
    }
}

#[test]
fn a_slice_is_taken_in_parts_whatever_its_length_and_by_whatever_means() {
    for length in LENGTHS {
        for step in [1, 2, 3, 7, 100] {
            let (mut producer, mut consumer) = Builder::new(512, 2).mpsc().unwrap();
            let items: Vec<usize> = (0..length).collect();
            for round in 0..5 {
                producer.push_whole_slice(&items).unwrap();
                let mut next = 0;
                while next < length {
                    assert_eq!(consumer.len(), length - next);
                    let ready = consumer.read().unwrap();
                    assert_eq!(*ready, items[next..]);
                    let count = step.min(ready.len());
                    if round % 2 == 0 {
                        ready.release(count);
                    } else {
                        for item in next..next + count {
                            assert_eq!(consumer.pop(), Ok(item));
                        }
                    }
                    next += count;
                }
                assert_eq!(consumer.pop(), Err(PopError::Empty));
            }
        }
    }
}

#[test]
fn a_chunk_that_leaves_in_the_middle_of_a_slice_has_the_rest() {
    for length in LENGTHS {
        for taken in [0, 1, length / 2, length - 1] {
            let ledger = Ledger::new();
            let (mut producer, mut consumer) = Builder::new(512, 1).mpsc().unwrap();
            for count in [length, 0, 3] {
                let mut grant = producer.reserve(count + 2).unwrap();
                (0..count).for_each(|_| grant.push(ledger.item()).unwrap());
                grant.commit_all();
            }
            for number in 0..taken {
                assert_eq!(consumer.pop().unwrap().number(), number);
            }
            consumer.seal();
            let chunk = consumer.take_chunk().unwrap();
            let numbers = chunk.iter().map(|item| item.number());
            assert!(numbers.eq(taken..length + 3));
            drop(chunk);
            ledger.assert_each_dropped_once(length + 3);
        }
    }
}
