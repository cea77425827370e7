//! Halves of the ring for several producers that sleep: hand-overs that would hang on a lost wake-up.

#![cfg(feature = "std")]

use chunkring::wait::{self, Consumer, PopWaitError, Producer, PushWaitError, ReserveWaitError};
use chunkring::{Builder, Policy, mpsc};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::thread;
use std::time::Duration;

type Sender<T> = Producer<mpsc::Producer<T>>;
type Receiver<T> = Consumer<mpsc::Consumer<T>>;

assert_impl_all!(Sender<u8>: Send, Clone);
assert_not_impl_any!(Sender<u8>: Sync);
assert_impl_all!(Receiver<u8>: Send);
assert_not_impl_any!(Receiver<u8>: Sync, Clone);

fn ring<T>(builder: &Builder) -> (Sender<T>, Receiver<T>) {
    let (producer, consumer) = builder.mpsc().unwrap();
    wait::pair(producer, consumer).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn items_of_four_sleeping_producers_arrive_once_and_in_order() {
    const ITEMS: u64 = 5_000;
    for (chunk_len, chunks) in [(1, 1), (1, 2), (4, 2)] {
        let (producer, mut consumer) = ring::<(usize, u64)>(&Builder::new(chunk_len, chunks));
        let senders: Vec<_> = (0..4)
            .map(|id| {
                let mut producer = producer.clone();
                thread::spawn(move || {
                    for number in 0..ITEMS {
                        if number % 8 == 7 && chunk_len > 1 {
                            let mut grant = producer.reserve_wait_for(2, LONG).unwrap();
                            grant.push((id, number)).unwrap();
                            grant.commit_all();
                        } else {
                            producer.push_wait_for((id, number), LONG).unwrap();
                        }
                    }
                })
            })
            .collect();
        drop(producer);
        let control = consumer.control();
        let mut next = [0; 4];
        for (id, number) in consumer.iter() {
            assert_eq!(number, next[id]);
            next[id] += 1;
        }
        assert_eq!(next, [ITEMS; 4]);
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(control.waiting(), (0, 0), "somebody stays behind");
    }
}

#[test]
fn whole_chunks_wake_a_consumer_that_waits_for_them() {
    let (mut producer, mut consumer) = ring::<u32>(&Builder::new(4, 2));
    let mut other = producer.clone();
    let sender = thread::spawn(move || {
        other.push_whole_slice_wait(&[1, 2, 3]).unwrap();
        other.seal();
        other.push_whole_slice_wait(&[4, 5, 6, 7]).unwrap();
    });
    assert_eq!(*consumer.take_chunk_wait_for(LONG).unwrap(), [1, 2, 3]);
    assert_eq!(*consumer.take_chunk_wait_for(LONG).unwrap(), [4, 5, 6, 7]);
    sender.join().unwrap();
    producer.push(8).unwrap();
    consumer.seal();
    assert_eq!(*consumer.take_chunk_wait_for(LONG).unwrap(), [8]);
}

#[test]
fn a_grant_that_is_dropped_wakes_the_consumer_for_what_waited_behind_it() {
    let (mut slow, mut consumer) = ring::<u32>(&Builder::new(8, 2));
    let mut fast = slow.clone();
    let grant = slow.reserve(2).unwrap();
    fast.push(7).unwrap();
    let refused = consumer.pop_wait_for(Duration::from_millis(1));
    assert_eq!(refused, Err(PopWaitError::Timeout));
    let receiver = thread::spawn(move || consumer.pop_wait_for(LONG));
    thread::sleep(Duration::from_millis(20));
    drop(grant);
    assert_eq!(receiver.join().unwrap(), Ok(7));
}

#[test]
fn a_grant_that_is_forgotten_wakes_the_consumer_when_its_producer_is_used_again_or_dropped() {
    for dropped in [false, true] {
        let (mut slow, mut consumer) = ring::<u32>(&Builder::new(8, 2));
        let mut fast = slow.clone();
        std::mem::forget(slow.reserve(2).unwrap());
        fast.push(7).unwrap();
        let receiver =
            thread::spawn(move || consumer.pop_wait_for(LONG).map(|item| (item, consumer)));
        thread::sleep(Duration::from_millis(20));
        if dropped {
            drop(slow);
        } else {
            slow.push(8).unwrap();
        }
        let (item, _consumer) = receiver.join().unwrap().unwrap();
        assert_eq!(item, 7);
    }
}

#[test]
fn a_size_that_never_fits_is_refused_at_once() {
    let (mut producer, _consumer) = ring::<u32>(&Builder::new(4, 2));
    let refused = producer.reserve_wait(5).unwrap_err();
    assert!(
        matches!(refused, ReserveWaitError::TooLong { .. }),
        "{refused:?}"
    );
}

#[test]
fn the_last_clone_wakes_a_consumer_that_waits_and_the_consumer_all_producers() {
    let (producer, mut consumer) = ring::<u32>(&Builder::new(1, 1));
    let other = producer.clone();
    let receiver = thread::spawn(move || consumer.pop_wait_for(LONG));
    drop(producer);
    thread::sleep(Duration::from_millis(10));
    drop(other);
    assert_eq!(receiver.join().unwrap(), Err(PopWaitError::Closed));

    let (mut producer, consumer) = ring::<u32>(&Builder::new(1, 1));
    producer.push(1).unwrap();
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let mut producer = producer.clone();
            thread::spawn(move || producer.push_wait_for(2, LONG))
        })
        .collect();
    while consumer.control().waiting().1 != 3 {
        thread::yield_now();
    }
    drop(consumer);
    for sender in senders {
        assert_eq!(sender.join().unwrap(), Err(PushWaitError::Closed(2)));
    }
}

#[test]
fn a_resize_wakes_every_producer_and_overwriting_needs_no_wait() {
    let (mut producer, mut consumer) = ring::<u32>(&Builder::new(1, 1).max_chunks(8));
    let control = producer.control();
    producer.push(0).unwrap();
    let senders: Vec<_> = (1..=3)
        .map(|number| {
            let mut producer = producer.clone();
            thread::spawn(move || producer.push_wait_for(number, LONG))
        })
        .collect();
    while control.waiting().1 != 3 {
        thread::yield_now();
    }
    control.set_chunks(4).unwrap();
    for sender in senders {
        sender.join().unwrap().unwrap();
    }
    assert!(producer.push(4).is_err());
    control.set_policy(Policy::Overwrite).unwrap();
    producer.push_wait_for(4, Duration::ZERO).unwrap();
    assert_eq!(control.statistics().overwritten, 1);
    drop(producer);
    assert_eq!(consumer.iter().count(), 4);
}

#[test]
fn producers_that_have_clones_are_not_wrapped() {
    let (producer, consumer) = Builder::new(1, 1).mpsc::<u8>().unwrap();
    let clone = producer.clone();
    let refused = wait::pair(producer, consumer).unwrap_err();
    drop(clone);
    assert!(wait::pair(refused.producer, refused.consumer).is_ok());
}
