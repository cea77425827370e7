//! The ring for several producers and one consumer.
//!
//! [`Producer`] is a handle that can be cloned, [`Consumer`] the one half that takes items out. They have
//! the vocabulary of [the ring for one producer](crate::spsc), and their chunks are [resized](crate::Control),
//! [pooled](crate::Pool) and [handed over](Consumer::take_chunk) in the same way, except that
//! **chunk lengths are powers of two**, at most 2^24: another length that is asked for is rounded up, and
//! a chunk takes a byte more for every slot, for a flag.
//!
//! # Order
//!
//! Claiming slots is one atomic step, and items arrive in the order in which their slots were claimed. So
//!
//! - the items of one producer arrive in the order in which it put them in;
//! - where one `push` or `reserve` ended before another began, on whatever threads, its items come
//!   first: there is one order of all items, and everybody would agree on it;
//! - the items of a [`reserve`](Producer::reserve) or a whole slice lie together, with no others between.
//!
//! Whatever a thread did before it committed an item *happens before* what the consumer does after it
//! has received that item.
//!
//! # Grants
//!
//! The price of that order is that an item waits for those that were claimed before it. What becomes of
//! a claim that is not answered at once, by a producer that
//!
//! - **is preempted** in a call, or takes its time with a grant: the other producers go on, as far as
//!   there is room. The consumer gets what was claimed before, and finds the ring empty at that slot until
//!   it is answered.
//! - **drops** its grant, or **panics** while it has one: what was filled in is dropped, the slots stay
//!   unused, and the consumer goes past them.
//! - **forgets** its grant ([`core::mem::forget`]): what was filled in is leaked. The slots count as
//!   dropped as soon as the producer is used again or dropped.
//! - is **killed** in a call, or forgotten together with its grant: the consumer stays there, and producers
//!   are refused as full in the end. Once nobody else is in a call,
//!   [`Consumer::skip_unanswered`] gives the slots up; that cannot be checked, so it is `unsafe`. (One
//!   that is killed while it looks at what it is about to overwrite keeps the consumer from the oldest chunk
//!   for ever.)
//!
//! In none of these cases is a slot read that was not written, and none loses another producer's items.
//!
//! # Progress
//!
//! `push` and `reserve` are lock-free: a claim is one atomic addition, or an exchange for several slots,
//! and a producer that finds a chunk used up installs the next one itself, whoever used it up.
//! The consumer's calls are wait-free but for other threads' claims as said above. Exceptions are
//! what the allocator does, the drops of items, and [`Policy::Overwrite`](crate::Policy::Overwrite):
//! while a producer looks at the chunk that it is about to overwrite, which is a short time if its thread
//! runs, the consumer can find the ring empty, and another producer that has to overwrite waits for a
//! bounded time and is then refused. So is one that would have to overwrite a slot that is not answered, and
//! one that meets a consumer which counts what is there ([`len`](Consumer::len)) or is just giving a chunk back.
//!
//! # Pauses
//!
//! Threads that are at work in the same place hand cache lines to and fro, and that costs more than all else. So a
//! call pauses now and then, by a hint to the processor that is some 10 to 40 ns long, where it finds that it would
//! only be in others' way:
//!
//! - a `push`, **after** its item is in, at most 520 times, where other producers claim slots at that very time and as
//!   long as they do. Then each puts in many items in a row, instead of one in turn; their order is what it would be
//!   otherwise.
//! - a `pop`, [`read`](Consumer::read) or [`take_chunk`](Consumer::take_chunk) that has nothing left from the look
//!   before, at most 32 times before it looks again, where look after look has found some items, but few: for a
//!   `pop`, which looks at 64 slots of a chunk at a time, fewer than these. It never does so where each look finds
//!   one, nor again and again where it finds nothing; and hardly ever where nothing comes during the pauses, as
//!   where one thread puts some items in and takes them out again.
//!
//! Nobody waits for anybody thereby, and an item that is there is found no later than after these pauses.
//!
//! # Room
//!
//! A chunk comes back when the consumer has gone past its last slot. A contiguous
//! [`reserve`](Producer::reserve) that does not fit into what is left of a chunk leaves that rest unused;
//! slots that are not committed stay unused, too. The consumer goes past unused slots at its next look: a
//! [`read`](Consumer::read), or a [`pop`](Consumer::pop) that has nothing left from the look before.
//!
//! # End
//!
//! Dropping the consumer closes the ring for the producers, dropping the last producer closes it for the
//! consumer; items still there are dropped with the later side, on its thread. A half that is forgotten
//! ([`core::mem::forget`]) closes nothing: the others go on as if it still lived, and the ring's memory is
//! never freed.
//!
//! # Examples
//!
//! ```
//! use std::thread;
//!
//! let (producer, mut consumer) = chunkring::mpsc::bounded(1000)?;
//!
//! let senders: Vec<_> = (0..4_u64)
//!     .map(|sender| {
//!         let mut producer = producer.clone();
//!         thread::spawn(move || {
//!             for number in 0..1000 {
//!                 let mut item = (sender, number);
//!                 while let Err(refused) = producer.push(item) {
//!                     item = refused.into_inner();
//!                     thread::yield_now();
//!                 }
//!             }
//!         })
//!     })
//!     .collect();
//! drop(producer);
//!
//! let mut next = [0; 4];
//! loop {
//!     match consumer.pop() {
//!         Ok((sender, number)) => {
//!             assert_eq!(number, next[sender as usize]);
//!             next[sender as usize] += 1;
//!         }
//!         Err(nothing) if nothing.is_closed() => break,
//!         Err(_) => thread::yield_now(),
//!     }
//! }
//! assert_eq!(next, [1000; 4]);
//! for sender in senders {
//!     sender.join().unwrap();
//! }
//! # Ok::<(), chunkring::BuildError>(())
//! ```

mod consumer;
mod entry;
mod flags;
mod idle;
#[cfg(all(feature = "std", not(loom)))]
mod io;
mod pace;
mod producer;
mod several;
pub(crate) mod shared;
mod word;

pub use consumer::{Consumer, ReadSlice};
pub use producer::{Grant, Producer};
pub use several::TryIter;

use crate::builder::Builder;
use crate::counted::Counted;
use crate::error::BuildError;
use crate::settings::Plan;
use shared::Shared;

/// The longest chunk.
pub(crate) const MAX_CHUNK_LEN: usize = word::MAX_CHUNK_LEN;

/// A ring in which `capacity` items always fit; short for
/// [`Builder::with_capacity(capacity).mpsc()`](Builder::with_capacity).
///
/// # Errors
/// [`BuildError`] where the capacity is zero or too large, or the allocator refuses.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::mpsc::bounded(100)?;
/// producer.clone().push("hello").unwrap();
/// producer.push("there").unwrap();
/// assert_eq!(consumer.pop(), Ok("hello"));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
pub fn bounded<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), BuildError> {
    Builder::with_capacity(capacity).mpsc()
}

/// Both halves of a new ring.
pub(crate) fn ring<T>(plan: &Plan<T>) -> Result<(Producer<T>, Consumer<T>), BuildError> {
    let shared = Counted::new(Shared::new(plan)?).ok_or(BuildError::OutOfMemory)?;
    Ok((
        Producer::new(Counted::clone(&shared)),
        Consumer::new(shared),
    ))
}
