//! What the types may be used for: which threads they may go to, and how they print.

use crate::kind::{Consumer, Grant, Make, Producer, ReadSlice};
use chunkring::{BuildError, Builder, PopError, PushError, ReserveError};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::MutexGuard;

// A half may go where its items may go, and no half is shared: not even items that may be shared
// make it so.
assert_impl_all!(Producer<u8>: Send, Unpin, Debug);
assert_impl_all!(Consumer<u8>: Send, Unpin, Debug);
assert_impl_all!(Producer<Cell<u8>>: Send);
assert_impl_all!(Consumer<Cell<u8>>: Send);
assert_not_impl_any!(Producer<u8>: Sync);
assert_not_impl_any!(Consumer<u8>: Sync, Clone);
assert_not_impl_any!(Producer<Rc<()>>: Send, Sync);
assert_not_impl_any!(Consumer<Rc<()>>: Send, Sync);
assert_not_impl_any!(Producer<*mut u8>: Send, Sync);
assert_not_impl_any!(Consumer<*mut u8>: Send, Sync);
// Items that may be shared but not sent.
assert_not_impl_any!(Producer<MutexGuard<'static, u8>>: Send, Sync);
assert_not_impl_any!(Consumer<MutexGuard<'static, u8>>: Send, Sync);

// The same holds for what is borrowed from them.
assert_impl_all!(Grant<'static, u8>: Send, Debug);
assert_impl_all!(ReadSlice<'static, u8>: Send, Debug, std::ops::Deref<Target = [u8]>);
assert_not_impl_any!(Grant<'static, u8>: Sync, Clone);
assert_not_impl_any!(ReadSlice<'static, u8>: Sync, Clone, std::ops::DerefMut);
assert_not_impl_any!(Grant<'static, Rc<()>>: Send, Sync);
assert_not_impl_any!(ReadSlice<'static, Rc<()>>: Send, Sync);
assert_not_impl_any!(ReadSlice<'static, MutexGuard<'static, u8>>: Send, Sync);

/// An item without any trait at all.
struct Plain;

assert_impl_all!(Producer<Plain>: Debug);
assert_impl_all!(Consumer<Plain>: Debug);
assert_impl_all!(Grant<'static, Plain>: Debug);
assert_impl_all!(ReadSlice<'static, Plain>: Debug);
assert_impl_all!(PushError<Plain>: Debug, std::fmt::Display, Error);

assert_impl_all!(PushError<u8>: Error, Copy, Eq, Send, Sync);
assert_impl_all!(PopError: Error, Copy, Eq, Send, Sync);
assert_impl_all!(ReserveError: Error, Copy, Eq, Send, Sync);
assert_impl_all!(BuildError: Error, Copy, Eq, Send, Sync);
assert_impl_all!(Builder: Clone, Debug, Send, Sync);

#[test]
fn each_predicate_of_an_error_is_true_for_exactly_one_variant() {
    for error in [PushError::Full(()), PushError::Closed(())] {
        assert_eq!(error.is_full(), matches!(error, PushError::Full(())));
        assert_eq!(error.is_closed(), matches!(error, PushError::Closed(())));
    }
    for error in [PopError::Empty, PopError::Closed] {
        assert_eq!(error.is_empty(), matches!(error, PopError::Empty));
        assert_eq!(error.is_closed(), matches!(error, PopError::Closed));
    }
    let too_long = ReserveError::TooLong {
        requested: 9,
        chunk_len: 8,
    };
    for error in [ReserveError::Full, ReserveError::Closed, too_long] {
        assert_eq!(error.is_full(), error == ReserveError::Full);
        assert_eq!(error.is_closed(), error == ReserveError::Closed);
        assert_eq!(error.is_too_long(), error == too_long);
    }
}

#[test]
fn every_error_says_something_of_its_own() {
    let errors: [Box<dyn Error>; 15] = [
        Box::new(PushError::Full(())),
        Box::new(PushError::Closed(())),
        Box::new(PopError::Empty),
        Box::new(PopError::Closed),
        Box::new(ReserveError::Full),
        Box::new(ReserveError::Closed),
        Box::new(ReserveError::TooLong {
            requested: 9,
            chunk_len: 8,
        }),
        Box::new(BuildError::ZeroChunkLen),
        Box::new(BuildError::ZeroChunks),
        Box::new(BuildError::ZeroCapacity),
        Box::new(BuildError::OutOfMemory),
        Box::new(BuildError::ChunkTooLong {
            chunk_len: 33,
            max: 32,
        }),
        Box::new(BuildError::HeadroomTooLarge {
            headroom: 33,
            max: 32,
        }),
        Box::new(BuildError::TooManyChunks {
            chunks: 33,
            chunk_len: 5,
            max: 32,
        }),
        Box::new(BuildError::OverBudget {
            bytes: 33,
            used: 5,
            budget: 32,
        }),
    ];
    for error in &errors {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.ends_with('.'), "{text:?}");
        assert!(error.source().is_none());
    }
    assert!(errors[6].to_string().contains('9') && errors[6].to_string().contains('8'));
    for error in &errors[11..] {
        let text = error.to_string();
        assert!(text.contains("33") && text.contains("32"), "{text}");
    }
    for error in &errors[13..] {
        assert!(error.to_string().contains('5'), "{error}");
    }
}

#[test]
fn debugging_a_half_shows_its_counts_and_no_item() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    producer.push(Plain).ok().unwrap();
    let text = format!("{producer:?}");
    assert_eq!(
        text,
        "Producer { len: 1, capacity: 8, is_closed: false, .. }"
    );
    assert_eq!(
        text.replace("Producer", "Consumer"),
        format!("{consumer:?}")
    );
    assert_eq!(
        format!("{:?}", consumer.read().unwrap()),
        "ReadSlice { len: 1 }"
    );
    let grant = producer.reserve(2).unwrap();
    assert_eq!(format!("{grant:?}"), "Grant { len: 2, filled: 0 }");
    assert_eq!(format!("{:?}", PushError::Full(Plain)), "Full(..)");
}
