//! Halves of the ring for several producers that sleep: no wake-up is lost, also where an item has waited
//! for a claim before it. A lost wake-up is a deadlock, which loom reports.

#![cfg(loom)]

use chunkring::wait::{self, Consumer, Producer};
use chunkring::{Builder, mpsc};
use loom::thread;
use loom_tests::{Tracked, model};

type Sender = Producer<mpsc::Producer<Tracked>>;
type Receiver = Consumer<mpsc::Consumer<Tracked>>;

fn ring(chunk_len: usize, chunks: usize) -> (Sender, Receiver) {
    let builder = Builder::new(chunk_len, chunks).max_chunks(chunks);
    let (producer, consumer) = builder.mpsc().unwrap();
    wait::pair(producer, consumer).unwrap()
}

#[test]
fn an_item_of_either_producer_wakes_the_consumer() {
    model("an_item_of_either_producer_wakes_the_consumer", 464, || {
        let (mut producer, mut consumer) = ring(2, 1);
        let mut other = producer.clone();
        let sender = thread::spawn(move || other.push(Tracked::new(1)).unwrap());
        producer.push(Tracked::new(2)).unwrap();
        let sum = consumer.pop_wait().unwrap().value() + consumer.pop_wait().unwrap().value();
        assert_eq!(sum, 3);
        sender.join().unwrap();
    });
}

#[test]
fn a_chunk_given_back_wakes_the_producer() {
    model("a_chunk_given_back_wakes_the_producer", 3500, || {
        let (mut producer, mut consumer) = ring(1, 1);
        let sender = thread::spawn(move || {
            for number in 0..2 {
                producer.push_wait(Tracked::new(number)).unwrap();
            }
        });
        for number in 0..2 {
            assert_eq!(consumer.pop_wait().unwrap().value(), number);
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_dropped_grant_wakes_the_consumer_for_the_item_behind_it() {
    model(
        "a_dropped_grant_wakes_the_consumer_for_the_item_behind_it",
        28,
        || {
            let (mut slow, mut consumer) = ring(2, 1);
            let mut fast = slow.clone();
            let grant = slow.reserve(1).unwrap();
            fast.push(Tracked::new(1)).unwrap();
            let receiver = thread::spawn(move || consumer.pop_wait().unwrap().value());
            drop(grant);
            assert_eq!(receiver.join().unwrap(), 1);
        },
    );
}

#[test]
fn a_forgotten_grant_wakes_the_consumer_when_its_producer_ends() {
    model(
        "a_forgotten_grant_wakes_the_consumer_when_its_producer_ends",
        68,
        || {
            let (mut slow, mut consumer) = ring(2, 1);
            let mut fast = slow.clone();
            std::mem::forget(slow.reserve(1).unwrap());
            fast.push(Tracked::new(1)).unwrap();
            let receiver = thread::spawn(move || consumer.pop_wait().unwrap().value());
            drop(slow);
            assert_eq!(receiver.join().unwrap(), 1);
            drop(fast);
        },
    );
}

#[test]
fn a_forgotten_grant_wakes_the_consumer_when_its_producer_is_refused() {
    model(
        "a_forgotten_grant_wakes_the_consumer_when_its_producer_is_refused",
        43,
        || {
            let (mut slow, mut consumer) = ring(2, 1);
            let mut fast = slow.clone();
            std::mem::forget(slow.reserve(1).unwrap());
            fast.push(Tracked::new(1)).unwrap();
            let receiver = thread::spawn(move || {
                let item = consumer.pop_wait().unwrap().value();
                (item, consumer)
            });
            // Refused, or not, if the consumer was faster.
            let _ = slow.push(Tracked::new(2));
            let (item, consumer) = receiver.join().unwrap();
            assert_eq!(item, 1);
            drop((slow, fast, consumer));
        },
    );
}

#[test]
fn a_reservation_that_ends_the_only_chunk_wakes_the_consumer_to_give_it_back() {
    model(
        "a_reservation_that_ends_the_only_chunk_wakes_the_consumer",
        8824,
        || {
            let (mut producer, mut consumer) = ring(2, 1);
            let sender = thread::spawn(move || {
                producer.push_wait(Tracked::new(0)).unwrap();
                let mut grant = producer.reserve_wait(2).unwrap();
                grant.push(Tracked::new(1)).unwrap();
                grant.commit_all();
            });
            for number in 0..2 {
                assert_eq!(consumer.pop_wait().unwrap().value(), number);
            }
            sender.join().unwrap();
        },
    );
}

#[test]
fn the_last_producers_end_wakes_the_consumer() {
    model(
        "the_last_producers_end_wakes_the_consumer_mpsc",
        1103,
        || {
            let (producer, mut consumer) = ring(1, 1);
            let other = producer.clone();
            let ends = thread::spawn(move || drop(other));
            let receiver = thread::spawn(move || consumer.pop_wait().is_err());
            drop(producer);
            assert!(receiver.join().unwrap());
            ends.join().unwrap();
        },
    );
}
