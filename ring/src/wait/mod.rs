//! Halves that sleep until the other has done something, as threads (feature `std`) or as tasks
//! (feature `async`).
//!
//! [`pair`] wraps the two halves of a ring, which poll, into halves that wake each other. The ring stays
//! as it is: it can be [resized](crate::Control), shares its [pool](crate::Pool), and
//! [refuses](crate::PushError::Full) what does not fit. To wait is to try again after the ring has said
//! `Full` or `Empty`, whatever the reason.
//!
//! # What is waited for
//!
//! A consumer waits for items: it is woken by every push and commit, and by the producer's end. A
//! producer waits for a chunk: it is woken when the consumer has given one back (with a chunk's last
//! item, see [room](crate::spsc#room)) or is gone, when a ring of the same pool has given memory back, an
//! [`OwnedChunk`](crate::OwnedChunk) included, and by every change of the ring's shape or of the pool's
//! budget, through any handle, older ones included.
//!
//! Where the ring may have one more chunk, but memory for it was refused, the allocator tells nobody when
//! it has some again. So a *thread* that waits for memory looks again every 10 ms. A *task* does not: it
//! is woken by what happens in its ring and its pool, but not where the allocator or a
//! [`Source`](crate::Source) has found memory elsewhere, nor where another ring of the pool was just
//! counting memory that it then did not get.
//!
//! # What it costs
//!
//! A push, a commit, and a chunk given back take a fence and a load more than those of the polling halves
//! (some nanoseconds), and the wake-up itself only where somebody waits. Taking single items costs
//! nothing more. Waiting allocates the first time, for the list of those who wait; where that is refused,
//! a thread looks every 10 ms, and a task asks to be polled again at once.
//!
//! # Fairness
//!
//! Whoever waits for an event is woken by it, all of them, in the order in which they came, and then each
//! tries for itself. A half that does not wait, or comes later, may be faster. So no wake-up is lost with
//! somebody who does not use it, but a producer may wait for long where others of the same ring or pool
//! always come first.
//!
//! # Wakers
//!
//! A task's [`Waker`](core::task::Waker) is woken in the middle of a call of whoever lets it happen: of the
//! other half, of a ring of the same pool, of a [`Control`](crate::Control). It may use all of these again.
//! Where it panics, the panic ends there and the others are woken all the same.
//!
//! # Examples
//!
//! ```
//! use chunkring::{Builder, wait};
//! use std::thread;
//!
//! // Two chunks of one slot: each side has to wait for the other all the time.
//! let (producer, consumer) = Builder::new(1, 2).spsc()?;
//! let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
//!
//! let sender = thread::spawn(move || {
//!     for number in 1..=1000_u64 {
//!         producer.push_wait(number).expect("the consumer lives");
//!     }
//! });
//! assert_eq!(consumer.iter().sum::<u64>(), 500_500);
//! sender.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod consumer;
mod error;
mod halves;
#[cfg(target_has_atomic = "64")]
mod halves_mpsc;
mod link;
mod producer;
#[cfg(feature = "async")]
mod task;

pub use consumer::{Consumer, IntoIter, Iter, ReadSlice};
pub use error::{Closed, PairError, PopWaitError, PushWaitError, ReserveWaitError};
pub use halves::{Commit, Pop, Push, Read, Release, Reserve};
pub use producer::{Grant, Producer};
#[cfg(feature = "async")]
pub use task::{PopFuture, PushFuture};

/// Wraps the halves of one ring, so that each wakes the other. Allocates nothing.
///
/// # Errors
/// [`PairError`] gives the halves back where they belong to different rings, or where the producer has
/// clones: those would wake nobody. (Clones of the wrapped producer are as good as itself.)
///
/// ```
/// use chunkring::{Builder, wait};
///
/// let (producer, consumer) = Builder::new(64, 4).spsc()?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// producer.push("hello").unwrap();
/// assert_eq!(consumer.pop_wait().unwrap(), "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Halves of two rings are refused:
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, _) = spsc::bounded::<u8>(8)?;
/// let (_, consumer) = spsc::bounded::<u8>(8)?;
/// assert!(wait::pair(producer, consumer).is_err());
/// # Ok::<(), chunkring::BuildError>(())
/// ```
pub fn pair<P, C>(producer: P, consumer: C) -> Result<(Producer<P>, Consumer<C>), PairError<P, C>>
where
    P: Push,
    C: Pop<Item = P::Item>,
{
    let of_one_ring = producer.control().is_of_the_same_ring(&consumer.control());
    if !of_one_ring || producer.is_cloned() {
        return Err(PairError {
            producer,
            consumer,
            of_one_ring,
        });
    }
    let settings = producer.control();
    settings.settings().items.arm();
    settings.settings().pool.room().arm();
    Ok((Producer::new(producer), Consumer::new(consumer)))
}

/// Gives the polling halves back. Both at once, since neither would wake the other any more.
///
/// # Errors
/// [`PairError`] as for [`pair`]; where the producer has clones, those would never be woken.
///
/// ```
/// use chunkring::{Builder, wait};
///
/// let (producer, consumer) = Builder::new(64, 4).spsc()?;
/// let (mut producer, consumer) = wait::pair(producer, consumer)?;
/// producer.push(1).unwrap();
/// let (_producer, mut consumer) = wait::unpair(producer, consumer)?;
/// assert_eq!(consumer.pop(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unpair<P, C>(
    producer: Producer<P>,
    consumer: Consumer<C>,
) -> Result<(P, C), PairError<Producer<P>, Consumer<C>>>
where
    P: Push,
    C: Pop<Item = P::Item>,
{
    let of_one_ring = producer.control().is_of_the_same_ring(&consumer.control());
    if !of_one_ring || producer.is_cloned() {
        return Err(PairError {
            producer,
            consumer,
            of_one_ring,
        });
    }
    Ok((producer.into_half(), consumer.into_half()))
}
