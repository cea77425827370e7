//! A wish of the consumer's, which the producer meets when it looks.

use chunkring::{Builder, TakeError};

#[test]
fn a_wish_to_seal_is_met_once() {
    let (mut producer, mut consumer) = Builder::new(4, 2).spsc().unwrap();
    producer.push(1).unwrap();
    assert!(!producer.seal_if_requested());
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Open);
    consumer.request_seal();
    consumer.request_seal();
    assert!(producer.seal_if_requested());
    assert_eq!(*consumer.take_chunk().unwrap(), [1]);
    producer.push(2).unwrap();
    assert!(!producer.seal_if_requested());
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Open);
}
