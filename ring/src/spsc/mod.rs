//! The ring for one producer and one consumer.
//!
//! [`Producer`] and [`Consumer`] are the two halves; each may be sent to a thread of its own. Every
//! operation of either half ends in a bounded number of steps, whatever the other half does
//! (wait-free), except for what the allocator does where a chunk is allocated, for the count of a
//! pool that several rings take memory from at once (lock-free), and for the drops of the items
//! themselves.
//!
//! Neither half waits or wakes; those of the module `wait` (feature `std`) are wrapped around them and do.
//!
//! # Order
//!
//! Items arrive in the order in which they were committed, and whatever a thread did before it
//! committed an item *happens before* what another does after it has received that item.
//!
//! # Room
//!
//! The producer takes a chunk when the one before it is used up; the consumer gives a chunk back as
//! soon as it has taken the chunk's last item. So [`Producer::push`] can say full although the
//! consumer has taken items of the oldest chunk: up to a chunk's length minus one.
//!
//! A contiguous [`reserve`](Producer::reserve) that does not fit into what is left of a chunk leaves
//! that rest unused. Where the consumer has not looked since then, it cannot know which item was the
//! chunk's last; the chunk then goes back at its next look: a [`read`](Consumer::read), or a
//! [`pop`](Consumer::pop) that has nothing left from the look before, which may have told of items in several chunks.
//!
//! # Pace
//!
//! Two halves that run at once take the same cache lines from each other. So a [`pop`](Consumer::pop) looks for new items only
//! where all is taken that the last look has told of, and a [`read`](Consumer::read) that goes on to the next chunk does, too. Where it catches its producer up again and again, and finds fewer
//! items than sixteen cache lines hold, it lets some pause instructions pass and looks once more: in a
//! [`pop`](Consumer::pop) one for each line that its chunk may still give, sixteen at the most (some half a
//! microsecond), and four in a [`read`](Consumer::read). In the midst of such a stream a `read` that finds nothing looks up to
//! three times more, with four pauses before each; a `pop` that finds nothing says so at once. The first look after one that found nothing is never put
//! off, so who waits for a single item has it as soon as it is there; and where nothing came
//! meanwhile, looks without a pause follow, twice as many each time. A consumer also writes a byte into each cache line of
//! a chunk from which it has taken every item, which makes it cheaper for the producer to fill it again.
//!
//! # Overwriting
//!
//! In a ring with [`Policy::Overwrite`](crate::Policy::Overwrite) a producer that finds no room drops the
//! items of the oldest chunk that the consumer does not hold. The consumer holds a chunk from its first
//! look at an item in it ([`pop`](Consumer::pop), [`read`](Consumer::read),
//! [`take_chunk`](Consumer::take_chunk)) until it has taken the last one. Items come in order, with a gap
//! where chunks were overwritten; how many items were, [statistics](crate::Control::statistics) tell. To enter a chunk
//! is lock-free only: it begins anew where the producer has just taken that chunk away.
//!
//! # End
//!
//! Dropping one half closes the ring for the other; items still there are dropped with the later
//! half, on its thread. A half that is forgotten ([`core::mem::forget`]) closes nothing: the other
//! goes on as if it still lived, and the ring's memory is never freed.
//!
//! # Examples
//!
//! ```
//! use std::thread;
//!
//! let (mut producer, mut consumer) = chunkring::spsc::bounded(1000)?;
//!
//! let sender = thread::spawn(move || {
//!     for mut number in 0..10_000_u64 {
//!         while let Err(refused) = producer.push(number) {
//!             number = refused.into_inner();
//!             thread::yield_now();
//!         }
//!     }
//! });
//!
//! let mut sum = 0;
//! loop {
//!     match consumer.pop() {
//!         Ok(number) => sum += number,
//!         Err(nothing) if nothing.is_closed() => break,
//!         Err(_) => thread::yield_now(),
//!     }
//! }
//! sender.join().unwrap();
//! assert_eq!(sum, 10_000 * 9_999 / 2);
//! # Ok::<(), chunkring::BuildError>(())
//! ```

mod consumer;
#[cfg(all(feature = "std", not(loom)))]
mod io;
mod producer;
mod several;
pub(crate) mod shared;
mod taken;

pub use consumer::{Consumer, ReadSlice};
pub use producer::{Grant, Producer};
pub use several::TryIter;

use crate::builder::Builder;
use crate::counted::Counted;
use crate::error::BuildError;
use crate::settings::Plan;
use shared::Shared;

/// A ring in which `capacity` items always fit; short for
/// [`Builder::with_capacity(capacity).spsc()`](Builder::with_capacity).
///
/// # Errors
/// [`BuildError`] where the capacity is zero or too large, or the allocator refuses.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::spsc::bounded(100)?;
/// producer.push("hello").unwrap();
/// assert_eq!(consumer.pop(), Ok("hello"));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
pub fn bounded<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), BuildError> {
    Builder::with_capacity(capacity).spsc()
}

/// Both halves of a new ring.
pub(crate) fn ring<T>(plan: Plan<T>) -> Result<(Producer<T>, Consumer<T>), BuildError> {
    let origin = plan.origin;
    let shared = Counted::new(Shared::new(plan)?).ok_or(BuildError::OutOfMemory)?;
    Ok((
        Producer::new(Counted::clone(&shared), origin),
        Consumer::new(shared, origin),
    ))
}
