//! Rings in which the oldest items make room for new ones.

use crate::witness::{Ledger, Witness, assert_drop_panics};
use chunkring::mpsc::{Consumer, Producer};
use chunkring::{Builder, Policy, PopError, PushError, ReserveError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

fn ring<T>(chunk_len: usize, chunks: usize) -> (Producer<T>, Consumer<T>) {
    let builder = Builder::new(chunk_len, chunks).policy(Policy::Overwrite);
    builder.mpsc().unwrap()
}

fn overwritten<T>(producer: &Producer<T>) -> usize {
    producer.control().statistics().overwritten
}

#[test]
fn only_as_many_of_the_oldest_are_dropped_as_there_are_new_ones() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = ring(1, 4);
    for _ in 0..6 {
        producer.push(ledger.item()).unwrap();
    }
    assert_eq!(ledger.drops(), [1, 1, 0, 0, 0, 0]);
    assert_eq!(overwritten(&producer), 2);
    for number in 2..6 {
        assert_eq!(consumer.pop().unwrap().number(), number);
    }
    assert_eq!(consumer.pop().unwrap_err(), PopError::Empty);
    ledger.assert_each_dropped_once(6);
    assert_eq!(overwritten(&producer), 2);
}

#[test]
fn a_chunk_at_a_time_makes_room_and_every_item_of_it_is_counted() {
    for chunk_len in [1, 2, 4, 8] {
        for chunks in [1, 2, 3, 5] {
            let (mut producer, mut consumer) = ring(chunk_len, chunks);
            let mut other = producer.clone();
            let capacity = chunk_len * chunks;
            let items = 3 * capacity + 1;
            for number in 0..items {
                let handle = [&mut producer, &mut other];
                handle[number % 2].push(number).unwrap();
                assert!(consumer.len() <= capacity);
            }
            let lost = overwritten(&producer);
            assert_eq!(lost, (items - capacity).next_multiple_of(chunk_len));
            assert!(consumer.try_iter().eq(lost..items));
        }
    }
}

#[test]
fn unused_slots_make_room_and_are_not_counted() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = ring(4, 2);
    let mut grant = producer.reserve(3).unwrap();
    grant.push(ledger.item()).unwrap();
    grant.push(ledger.item()).unwrap();
    grant.commit(1); // the second is dropped, two slots stay unused
    drop(producer.reserve(1).unwrap());
    for _ in 0..5 {
        producer.push(ledger.item()).unwrap();
    }
    assert_eq!(overwritten(&producer), 1);
    assert_eq!(ledger.drops(), [1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(consumer.try_iter().count(), 5);
    ledger.assert_each_dropped_once(7);
}

#[test]
fn a_reservation_makes_room_as_a_push_does() {
    let (mut producer, mut consumer) = ring(4, 2);
    for round in 0..10 {
        producer.push_whole_slice(&[round; 3]).unwrap();
    }
    // The rest of each chunk was left unused.
    assert_eq!(overwritten(&producer), 8 * 3);
    let too_long = ReserveError::TooLong {
        requested: 5,
        chunk_len: 4,
    };
    assert_eq!(producer.push_whole_slice(&[0; 5]), Err(too_long));
    assert_eq!(producer.push_partial_slice(&[10; 5]), 5);
    assert_eq!(overwritten(&producer), 9 * 3);
    assert!(consumer.try_iter().eq([9, 9, 9, 10, 10, 10, 10, 10]));
    assert_eq!(producer.control().statistics().refused_full, 0);
}

#[test]
fn an_iterator_at_its_end_overwrites_nothing() {
    let (mut producer, mut consumer) = ring(2, 2);
    assert_eq!(producer.push_iter(&mut (0..4)), 4);
    assert_eq!(producer.push_iter(&mut (0..0)), 0);
    assert_eq!(overwritten(&producer), 0);
    assert!(consumer.try_iter().eq(0..4));
}

#[test]
fn what_is_being_read_stays_while_the_table_goes_round_ten_times() {
    // By turns on one thread, so that no claim is ever unanswered: then nothing is refused.
    for (chunk_len, chunks) in [(1, 2), (4, 2), (4, 5), (8, 3)] {
        for taken in 0..chunk_len {
            let (mut producer, mut consumer) = ring(chunk_len, chunks);
            let mut other = producer.clone();
            let entries = 2 * producer.control().max_chunks();
            let items = 10 * entries * chunk_len;
            for number in 0..chunk_len {
                producer.push(Box::new(number)).unwrap();
            }
            for number in 0..taken {
                assert_eq!(*consumer.pop().unwrap(), number);
            }
            let ready = consumer.read().unwrap();
            for number in chunk_len..items {
                let handle = [&mut producer, &mut other];
                handle[number % 2].push(Box::new(number)).unwrap();
            }
            assert!(ready.iter().map(|item| **item).eq(taken..chunk_len));
            drop(ready);
            let left = (chunks - 1) * chunk_len;
            let lost = overwritten(&producer);
            assert_eq!(lost, items - chunk_len - left);
            assert_eq!(consumer.len(), chunk_len - taken + left);
            let numbers = consumer.try_iter().map(|item| *item);
            assert!(numbers.eq((taken..chunk_len).chain(items - left..items)));
        }
    }
}

#[test]
fn what_is_being_read_stays_while_two_threads_go_round_the_table_ten_times() {
    let (producer, mut consumer) = ring(4, 3);
    let items = 10 * 2 * producer.control().max_chunks() * 4;
    let first = 4;
    let mut filler = producer.clone();
    for number in 0..first {
        filler.push(Box::new((2, number))).unwrap();
    }
    assert_eq!(*consumer.pop().unwrap(), (2, 0));
    let ready = consumer.read().unwrap();
    let threads = (0..2).map(|id| {
        let mut producer = producer.clone();
        thread::spawn(move || {
            for number in 0..items {
                let mut item = Box::new((id, number));
                // While the other one is between its claim and its answer.
                while let Err(refused) = producer.push(item) {
                    assert!(refused.is_full());
                    item = refused.into_inner();
                    thread::yield_now();
                }
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    assert!(ready.iter().map(|item| **item).eq((1..4).map(|n| (2, n))));
    ready.release(1);
    assert!((2..4).all(|number| *consumer.pop().unwrap() == (2, number)));
    let left = consumer.try_iter().collect::<Vec<_>>();
    assert_eq!(overwritten(&producer), 2 * items - left.len());
    assert!(left.len() <= 8);
    // Nobody is in a call any more.
    for number in 0..100 {
        filler.push(Box::new((2, number))).unwrap();
    }
}

#[test]
fn a_slot_that_is_not_answered_is_not_overwritten_and_overwriting_goes_on_afterwards() {
    for committed in [true, false] {
        let (mut slow, mut consumer) = ring(2, 2);
        let mut producer = slow.clone();
        let mut grant = slow.reserve(1).unwrap();
        for number in 1..4 {
            producer.push(number).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(producer.push(4), Err(PushError::Full(4)));
            assert!(producer.reserve(2).unwrap_err().is_full());
        }
        assert_eq!(overwritten(&producer), 0);
        assert_eq!(consumer.pop(), Err(PopError::Empty));
        if committed {
            grant.push(0).unwrap();
            grant.commit_all();
        } else {
            drop(grant);
        }
        // What the consumer has looked at is its own.
        assert_eq!(consumer.pop(), Ok(usize::from(!committed)));
        for number in 4..100 {
            producer.push(number).unwrap();
        }
        assert!(overwritten(&producer) > 80);
        assert_eq!(consumer.try_iter().last(), Some(99));
    }
}

#[test]
fn a_slot_in_the_oldest_chunk_that_is_answered_late_is_overwritten_then() {
    let (mut slow, mut consumer) = ring(2, 2);
    let mut producer = slow.clone();
    let mut grant = slow.reserve(1).unwrap();
    for number in 1..4 {
        producer.push(number).unwrap();
    }
    assert!(producer.push(4).unwrap_err().is_full());
    grant.push(0).unwrap();
    grant.commit_all();
    producer.push(4).unwrap();
    assert_eq!(overwritten(&producer), 2);
    assert!(consumer.try_iter().eq(2..5));
}

#[test]
fn a_ring_of_which_all_is_being_read_refuses() {
    let (mut producer, mut consumer) = ring(2, 1);
    producer.push_whole_slice(&[0, 1]).unwrap();
    assert_eq!(consumer.pop(), Ok(0));
    assert_eq!(producer.push(2), Err(PushError::Full(2)));
    assert_eq!(producer.control().statistics().refused_full, 1);
    assert_eq!(consumer.pop(), Ok(1));
    producer.push_whole_slice(&[2, 3]).unwrap();
    producer.push(4).unwrap();
    assert_eq!(overwritten(&producer), 2);
    assert!(consumer.try_iter().eq([4]));
}

#[test]
fn a_ring_is_full_where_it_would_have_to_overwrite() {
    let (mut producer, mut consumer) = ring(2, 2);
    for number in 0..20 {
        let free = producer.free_slots();
        assert_eq!(producer.is_full(), free == 0);
        assert_eq!(consumer.is_full(), free == 0);
        let before = overwritten(&producer);
        producer.push(number).unwrap();
        assert_eq!(overwritten(&producer) > before, free == 0);
    }
    assert!(consumer.try_iter().eq(16..20));
    assert_eq!(producer.free_slots(), 4);
}

#[test]
fn a_chunk_that_was_taken_out_is_not_overwritten() {
    let (mut producer, mut consumer) = ring(2, 2);
    producer.push_partial_slice(&[0, 1, 2, 3]);
    let chunk = consumer.take_chunk().unwrap();
    for number in 4..100 {
        producer.push(number).unwrap();
    }
    assert_eq!(*chunk, [0, 1]);
    assert!(consumer.try_iter().eq(96..100));
    assert_eq!(overwritten(&producer), 100 - 2 - 4);
}

#[test]
fn the_policy_changes_from_the_next_chunk_on() {
    let (mut producer, mut consumer) = Builder::new(1, 2).mpsc().unwrap();
    let control = producer.control();
    let mut push = |number: u8| producer.push(number).is_ok();
    assert!(push(0) && push(1) && !push(2));
    control.set_policy(Policy::Overwrite).unwrap();
    assert!(push(2) && push(3));
    control.set_policy(Policy::Grow { max_chunks: 3 }).unwrap();
    assert!(push(4) && !push(5));
    // Three are more than two, and stay.
    control.set_policy(Policy::Refuse).unwrap();
    assert!(!push(5));
    control.set_policy(Policy::Overwrite).unwrap();
    assert!(push(5));
    // Overwriting goes on until there are two again.
    assert!(consumer.try_iter().eq([4, 5]));
    assert_eq!(control.statistics().overwritten, 4);
}

#[test]
fn a_shorter_or_longer_chunk_makes_room_too() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = ring(4, 3);
    let control = producer.control();
    let mut made = 0;
    for round in 0..40 {
        control.set_chunk_len([1, 8, 4, 2][round % 4]).unwrap();
        for _ in 0..round {
            producer.push(ledger.item()).unwrap();
            made += 1;
        }
    }
    let left = consumer.len();
    assert!(left > 0);
    assert_eq!(overwritten(&producer) + left, made);
    let numbers = consumer.try_iter().map(|item| item.number());
    assert!(numbers.eq(made - left..made));
    ledger.assert_each_dropped_once(made);
}

#[test]
fn every_item_of_an_overwritten_chunk_is_dropped_once_when_a_drop_panics() {
    for (bad, new_len) in [(0, 4), (1, 4), (3, 4), (2, 8)] {
        let ledger = Ledger::panicking_at(&[bad]);
        let (mut producer, mut consumer) = ring(4, 2);
        for _ in 0..8 {
            producer.push(ledger.item()).unwrap();
        }
        let control = producer.control();
        control.set_chunk_len(new_len).unwrap();
        assert_drop_panics(|| drop(producer.push(ledger.item())));
        // The item that was to be pushed has gone with the panic.
        assert_eq!(ledger.drops(), [1, 1, 1, 1, 0, 0, 0, 0, 1]);
        assert_eq!(overwritten(&producer), 4);
        producer.push(ledger.item()).unwrap();
        let numbers = consumer.try_iter().map(|item| item.number());
        assert!(numbers.eq([4, 5, 6, 7, 9]));
        drop((producer, consumer));
        ledger.assert_each_dropped_once(10);
        control.trim();
        assert_eq!(control.pool().used(), 0);
    }
}

#[test]
fn every_item_is_taken_or_counted_as_overwritten_under_load() {
    const ITEMS: usize = 20_000;
    for (chunk_len, chunks) in [(1, 1), (1, 4), (4, 2), (16, 3)] {
        let drops = Arc::new(AtomicUsize::new(0));
        let (producer, mut consumer) = ring(chunk_len, chunks);
        let control = producer.control();
        let done = Arc::new(AtomicBool::new(false));
        let threads = (0..4).map(|id| {
            let mut producer = producer.clone();
            let drops = Arc::clone(&drops);
            thread::spawn(move || {
                let mut put = 0;
                for number in 0..ITEMS {
                    let item = Counted(Box::new((id, number)), Arc::clone(&drops));
                    match producer.push(item) {
                        Ok(()) => put += 1,
                        Err(refused) => {
                            assert!(refused.is_full());
                            thread::yield_now();
                        }
                    }
                }
                put
            })
        });
        let threads = threads.collect::<Vec<_>>();
        drop(producer);
        let receiver = thread::spawn({
            let done = Arc::clone(&done);
            move || {
                let mut taken = 0;
                let mut next = [0; 4];
                while !done.load(Ordering::Relaxed) {
                    if let Ok(ready) = consumer.read() {
                        for Counted(item, _) in ready.iter() {
                            let (id, number) = **item;
                            assert!(number >= next[id], "{id} goes back");
                            next[id] = number + 1;
                        }
                        taken += ready.len();
                        thread::yield_now();
                        ready.release_all();
                    }
                    thread::yield_now();
                }
                (consumer, taken)
            }
        });
        let put = threads.into_iter().map(|thread| thread.join().unwrap());
        let put = put.sum::<usize>();
        done.store(true, Ordering::Relaxed);
        let (consumer, taken) = receiver.join().unwrap();
        let left = consumer.len();
        let statistics = control.statistics();
        assert_eq!(put, taken + statistics.overwritten + left);
        assert_eq!(4 * ITEMS - put, statistics.refused_full);
        assert_eq!(drops.load(Ordering::Relaxed), 4 * ITEMS - left);
        drop(consumer);
        assert_eq!(drops.load(Ordering::Relaxed), 4 * ITEMS);
        control.trim();
        assert_eq!(control.pool().used(), 0);
    }
}

/// An item on the heap that counts its drop.
struct Counted(Box<(usize, usize)>, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_consumer_that_ends_while_it_holds_a_chunk_leaves_nothing_to_be_dropped_twice() {
    for (taken, more) in [(0, 0), (1, 0), (1, 6), (3, 100), (4, 100)] {
        let ledger = Ledger::new();
        let (mut producer, mut consumer) = ring(4, 3);
        producer.push_iter(&mut (0..4).map(|_| ledger.item()));
        let _ = consumer.read().unwrap();
        for _ in 0..taken {
            drop::<Witness>(consumer.pop().unwrap());
        }
        for _ in 0..more {
            producer.push(ledger.item()).unwrap();
        }
        drop(consumer);
        for _ in 0..20 {
            let _ = producer.push(ledger.item());
        }
        drop(producer);
        ledger.assert_each_dropped_once(4 + more + 20);
    }
}

#[test]
fn every_item_is_accounted_for_while_policy_and_shape_change_and_grants_are_given_up() {
    const GRANTS: usize = 10_000;
    let (mut producer, mut consumer) = Builder::new(4, 2)
        .policy(Policy::Overwrite)
        .max_chunks(8)
        .mpsc::<usize>()
        .unwrap();
    let control = producer.control();
    // So that some are overwritten, however fast the consumer is.
    let before = (0..40).filter(|item| producer.push(*item).is_ok()).count();
    let done = AtomicBool::new(false);
    let (put, refused, taken) = thread::scope(|scope| {
        let senders = [3_usize, 5].map(|step| {
            let mut producer = producer.clone();
            scope.spawn(move || {
                let (mut put, mut refused) = (0, 0);
                for number in 0..GRANTS {
                    let count = 1 + number * step % 4;
                    match producer.reserve(count) {
                        Ok(mut grant) => {
                            // Of some, a part or nothing is put in; the rest stays unused.
                            let part = if number % 7 == 0 { count / 2 } else { count };
                            grant.extend_from_slice(&vec![number; part]);
                            if number % 11 == 0 {
                                drop(grant);
                            } else {
                                put += part;
                                grant.commit(part);
                            }
                        }
                        Err(_) => {
                            refused += count;
                            thread::yield_now();
                        }
                    }
                }
                (put, refused)
            })
        });
        scope.spawn(|| {
            for step in 0_usize.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let policy = match step % 4 {
                    0 => Policy::Refuse,
                    1 => Policy::Grow { max_chunks: 6 },
                    _ => Policy::Overwrite,
                };
                control.set_policy(policy).unwrap();
                if step % 3 == 0 {
                    control.resize(4 << (step / 3 % 3), 1 + step % 4).unwrap();
                }
                thread::yield_now();
            }
        });
        let receiver = scope.spawn(|| {
            let mut taken = 0;
            for step in 0_usize.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                if step % 3 == 0 {
                    taken += consumer.take_chunk().map_or(0, |chunk| chunk.len());
                } else if let Ok(ready) = consumer.read() {
                    taken += ready.len();
                    ready.release_all();
                }
                thread::yield_now();
            }
            taken + consumer.try_iter().count()
        });
        let sums = senders.map(|sender| sender.join().unwrap());
        done.store(true, Ordering::Relaxed);
        let [(put, refused), (more, others)] = sums;
        (put + more, refused + others, receiver.join().unwrap())
    });
    let statistics = control.statistics();
    assert_eq!(before + put, taken + statistics.overwritten);
    assert_eq!(refused, statistics.refused_full + statistics.refused_memory);
    assert!(statistics.overwritten > 0);
}
