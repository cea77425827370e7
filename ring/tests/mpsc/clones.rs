//! Several producers: when the ring is closed, in which order items come, and how many there can be.

use crate::witness::Ledger;
use chunkring::mpsc::{Consumer, Grant, Producer, ReadSlice, TryIter};
use chunkring::{Builder, PopError, PushError};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

assert_impl_all!(Producer<u8>: Clone, Send);
assert_impl_all!(Producer<std::cell::Cell<u8>>: Clone, Send);
assert_not_impl_any!(Producer<u8>: Sync);
assert_not_impl_any!(Producer<Rc<u8>>: Send, Sync);
assert_not_impl_any!(Consumer<u8>: Sync, Clone);
assert_not_impl_any!(Consumer<Rc<u8>>: Send);
assert_not_impl_any!(Grant<'static, u8>: Sync, Clone);
assert_not_impl_any!(Grant<'static, Rc<u8>>: Send);
assert_not_impl_any!(ReadSlice<'static, Rc<u8>>: Send);
assert_impl_all!(TryIter<'static, u8>: Iterator, Send);

#[test]
fn the_ring_is_closed_by_the_last_producer_and_not_before() {
    let (first, mut consumer) = Builder::new(2, 4).mpsc().unwrap();
    let mut second = first.clone();
    let mut third = second.clone();
    drop(first);
    second.push(2).unwrap();
    assert!(!consumer.is_closed());
    drop(second);
    assert_eq!(consumer.pop(), Ok(2));
    assert_eq!(consumer.pop(), Err(PopError::Empty));
    let mut fourth = third.clone();
    third.push(3).unwrap();
    drop(third);
    fourth.push(4).unwrap();
    assert!(!consumer.is_closed());
    drop(fourth);
    assert!(consumer.is_closed());
    assert_eq!((consumer.pop(), consumer.pop()), (Ok(3), Ok(4)));
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn every_producer_is_told_of_the_consumers_end() {
    let (mut first, consumer) = Builder::new(2, 2).mpsc().unwrap();
    let mut second = first.clone();
    first.push(1).unwrap();
    drop(consumer);
    assert!(first.is_closed() && second.is_closed() && first.clone().is_closed());
    second.push(2).unwrap();
    for producer in [&mut first, &mut second] {
        assert_eq!(producer.push(3), Err(PushError::Closed(3)));
        assert!(producer.reserve(2).unwrap_err().is_closed());
        assert_eq!(producer.push_iter(&mut [3].into_iter()), 0);
    }
    assert_eq!(first.control().statistics().refused_closed, 2 * 3);
}

#[test]
fn a_push_that_ended_before_another_began_comes_first_on_whatever_threads() {
    let (producer, mut consumer) = Builder::new(2, 3).mpsc().unwrap();
    let threads = 3;
    let (turns, mut waiting): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| mpsc::sync_channel::<usize>(1)).unzip();
    let items = 600;
    thread::scope(|scope| {
        for id in (0..threads).rev() {
            let (mut producer, my_turn) = (producer.clone(), waiting.pop().unwrap());
            let next_turn = turns[(id + 1) % threads].clone();
            scope.spawn(move || {
                for number in my_turn {
                    if number == items {
                        // The others are to end, too.
                        let _ = next_turn.send(items);
                        break;
                    }
                    while producer.push(number).is_err() {
                        thread::yield_now();
                    }
                    if next_turn.send(number + 1).is_err() {
                        break;
                    }
                }
            });
        }
        turns[0].send(0).unwrap();
        drop(turns);
        for number in 0..items {
            let item = loop {
                match consumer.pop() {
                    Ok(item) => break item,
                    Err(_) => thread::yield_now(),
                }
            };
            assert_eq!(item, number);
        }
    });
}

#[test]
fn the_items_of_a_reservation_or_a_whole_slice_have_no_others_between_them() {
    let (producer, mut consumer) = Builder::new(16, 4).mpsc().unwrap();
    let threads = (0..3).map(|id| {
        let mut producer = producer.clone();
        thread::spawn(move || {
            for round in 0..3000 {
                let length = round * 7 % 9 + 1;
                let record = (0..length).map(|index| (id, round, length - index));
                let record = record.collect::<Vec<_>>();
                while producer.push_whole_slice(&record).is_err() {
                    thread::yield_now();
                }
            }
        })
    });
    let threads = threads.collect::<Vec<_>>();
    drop(producer);
    let mut next = [0; 3];
    let mut rest = 0;
    let mut last = (0, 0);
    loop {
        match consumer.pop() {
            Ok((id, round, left)) => {
                if rest == 0 {
                    assert_eq!((round, left), (next[id], round * 7 % 9 + 1));
                    next[id] += 1;
                    last = (id, round);
                    rest = left;
                }
                assert_eq!((last, rest), ((id, round), left));
                rest -= 1;
            }
            Err(PopError::Empty) => thread::yield_now(),
            Err(PopError::Closed) => break,
        }
    }
    assert_eq!((next, rest), ([3000; 3], 0));
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_full_ring_says_so_at_once_to_every_producer_while_its_oldest_chunk_is_being_read() {
    let (mut producer, mut consumer) = Builder::new(2, 2).mpsc().unwrap();
    assert_eq!(producer.push_partial_slice(&[0, 1, 2, 3]), 4);
    let ready = consumer.read().unwrap();
    let threads = (0..2).map(|_| {
        let mut producer = producer.clone();
        thread::spawn(move || {
            (0..1000).all(|_| producer.push(4) == Err(PushError::Full(4)) && producer.is_full())
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        assert!(thread.join().unwrap());
    }
    assert_eq!(*ready, [0, 1]);
    ready.release_all();
    producer.push(4).unwrap();
}

#[test]
fn whoever_ends_last_drops_each_item_and_frees_each_chunk_once() {
    // All ends at the same time, with so many items left.
    for chunk_len in [1, 2, 8] {
        for left in [0, 1, chunk_len - 1, chunk_len, chunk_len + 1, 3 * chunk_len] {
            for round in 0..30 {
                let ledger = Ledger::new();
                let (mut producer, mut consumer) = Builder::new(chunk_len, 4).mpsc().unwrap();
                let control = producer.control();
                let items = left.min(4 * chunk_len);
                for _ in 0..items {
                    producer.push(ledger.item()).unwrap();
                }
                if round % 2 == 0 && items > 0 {
                    drop(consumer.pop().unwrap());
                }
                let barrier = Arc::new(Barrier::new(4));
                let mut threads = Vec::new();
                for _ in 0..2 {
                    let (producer, barrier) = (producer.clone(), Arc::clone(&barrier));
                    threads.push(thread::spawn(move || {
                        barrier.wait();
                        drop(producer);
                    }));
                }
                let other = Arc::clone(&barrier);
                threads.push(thread::spawn(move || {
                    other.wait();
                    drop(producer);
                }));
                barrier.wait();
                drop(consumer);
                threads
                    .into_iter()
                    .for_each(|thread| thread.join().unwrap());
                ledger.assert_each_dropped_once(items);
                control.trim();
                assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
            }
        }
    }
}

#[test]
fn what_was_pushed_is_received_before_closed_whoever_was_the_last_producer() {
    for _ in 0..500 {
        let (producer, mut consumer) = Builder::new(1, 2).mpsc().unwrap();
        let threads = (0..2).map(|id| {
            let mut producer = producer.clone();
            thread::spawn(move || producer.push(id).unwrap())
        });
        let threads = threads.collect::<Vec<_>>();
        drop(producer);
        let mut received = Vec::new();
        loop {
            match consumer.pop() {
                Ok(item) => received.push(item),
                Err(PopError::Empty) => thread::yield_now(),
                Err(PopError::Closed) => break,
            }
        }
        received.sort_unstable();
        assert_eq!(received, [0, 1]);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_producer_has_no_items_of_its_own_to_lose_at_its_end() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = Builder::new(2, 2).mpsc().unwrap();
    let mut other = producer.clone();
    for _ in 0..4 {
        producer.push(ledger.item()).unwrap();
    }
    // The ring is full; what it refuses is the caller's.
    let refused = producer.push(ledger.item()).unwrap_err();
    drop(producer);
    assert_eq!(ledger.total(), 0);
    drop(consumer.pop().unwrap());
    drop(consumer.pop().unwrap());
    other.push(refused.into_inner()).unwrap();
    drop(other);
    let numbers = consumer.try_iter().map(|item| item.number());
    assert!(numbers.eq([2, 3, 4]));
}

#[test]
fn a_clone_begins_with_no_grant_and_without_the_others_view() {
    let (mut producer, mut consumer) = Builder::new(2, 2).mpsc().unwrap();
    let mut early = producer.clone();
    std::mem::forget(producer.reserve(1).unwrap());
    let mut late = producer.clone();
    drop(late.clone());
    early.push(1).unwrap();
    late.push(2).unwrap();
    assert_eq!(consumer.pop(), Err(PopError::Empty));
    producer.push(3).unwrap();
    assert!(consumer.try_iter().eq([1, 2, 3]));
}

/// A ring of which producers were forgotten: kept, so that a leak checker finds it.
static KEPT: Mutex<Option<(Producer<u8>, Consumer<u8>)>> = Mutex::new(None);

#[test]
fn more_producers_than_there_can_be_are_refused_as_often_as_one_tries() {
    const MOST: usize = 1 << 24;
    let (mut producer, mut consumer) = Builder::new(1, 2).mpsc().unwrap();
    for _ in 1..MOST {
        std::mem::forget(producer.clone());
    }
    for _ in 0..3 {
        let refused = catch_unwind(AssertUnwindSafe(|| drop(producer.clone())));
        let why = refused.unwrap_err();
        let why = why.downcast_ref::<String>().unwrap();
        assert_eq!(*why, format!("a ring can have {MOST} producers at most"));
        for number in 0..3 {
            producer.push(number).unwrap();
            assert_eq!(consumer.pop(), Ok(number));
        }
    }
    *KEPT.lock().unwrap() = Some((producer, consumer));
}
