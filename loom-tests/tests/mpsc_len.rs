//! What a producer of a ring for several says of length, while the consumer goes from chunk to chunk.

#![cfg(loom)]

use chunkring::Builder;
use loom::thread;
use loom_tests::{Tracked, model, model_with_floors};

#[test]
fn a_producer_counts_every_item_that_is_not_taken() {
    model("a_producer_counts_every_item_that_is_not_taken", 28, || {
        let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).mpsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        drop(consumer.pop().unwrap());
        // Tells how far the consumer is in the first chunk.
        assert!(consumer.pop().is_err());
        assert_eq!(producer.len(), 0);
        producer.push(Tracked::new(1)).unwrap();
        producer.push(Tracked::new(2)).unwrap();
        let reader = thread::spawn(move || {
            assert_eq!(consumer.pop().unwrap().value(), 1);
            // The second chunk is taken, and nothing out of it.
            drop(consumer.read().unwrap());
            consumer
        });
        let len = producer.len();
        // One slot more, where it is only to be learnt that the consumer has gone past it.
        assert!((1..=3).contains(&len), "{len} of two items at most");
        let consumer = reader.join().unwrap();
        assert_eq!((producer.len(), consumer.len()), (1, 1));
    });
}

#[test]
fn no_more_is_counted_than_fits() {
    model("no_more_is_counted_than_fits", 22, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(2).mpsc().unwrap();
        let other = producer.clone();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            // Refused, where the item before it is still there.
            let _ = producer.push(Tracked::new(1));
            producer
        });
        let reader = thread::spawn(move || {
            let _ = consumer.pop();
            consumer
        });
        assert!(other.len() <= 1);
        drop((sender.join().unwrap(), reader.join().unwrap()));
    });
}

#[test]
fn no_more_is_counted_than_fits_when_the_tail_is_all_that_is_seen() {
    model_with_floors(
        "no_more_is_counted_than_fits_when_the_tail_is_all_that_is_seen",
        [36, 1100],
        || {
            let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(2).mpsc().unwrap();
            let other = producer.clone();
            producer.push(Tracked::new(0)).unwrap();
            let both = thread::spawn(move || {
                drop(consumer.pop().unwrap());
                producer.push(Tracked::new(1)).unwrap();
                (producer, consumer)
            });
            let counter = thread::spawn(move || {
                // So that the halves have done all, of which nothing need be seen.
                thread::yield_now();
                assert!(other.len() <= 1);
                other
            });
            drop((both.join().unwrap(), counter.join().unwrap()));
        },
    );
}
