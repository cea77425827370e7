//! The producer's half that waits for room, and the slots that it reserves.

use super::error::{Closed, PushWaitError, ReserveWaitError};
use super::halves::{Commit, Push, Reserve};
use super::link::{Link, Look, Side, after};
use crate::control::Control;
use crate::error::{PushError, ReserveError};
use crate::spsc;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use std::time::Instant;

/// A producer that wakes the consumer, and that can wait for room; made by [`pair`](super::pair).
///
/// Dropping it closes the ring and wakes the consumer. Where the polling half can be cloned, so can
/// this; then the last one closes the ring.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, wait};
/// use std::thread;
///
/// let (producer, consumer) = Builder::new(2, 1).spsc()?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// let receiver = thread::spawn(move || consumer.iter().collect::<Vec<_>>());
/// for number in 0..5 {
///     producer.push_wait(number)?;
/// }
/// drop(producer);
/// assert_eq!(receiver.join().unwrap(), [0, 1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Producer<P: Push> {
    // In this order: the link tells of the half's end, so that comes first.
    pub(super) inlet: Inlet<P>,
    pub(super) link: Link<P::Item>,
}

/// The polling half, and what comes before its next item.
pub(super) struct Inlet<P: Push> {
    half: P,
    /// An item that a sink has accepted and the ring has not.
    #[cfg(feature = "async")]
    pub(super) kept: Option<P::Item>,
}

impl<P: Push> Inlet<P> {
    /// Pushes what was accepted before, if there is any.
    #[inline]
    pub(super) fn settle(&mut self, link: &Link<P::Item>) -> Result<(), PushError<()>> {
        #[cfg(feature = "async")]
        if let Some(kept) = self.kept.take() {
            let refused = match self.half.push(kept) {
                Ok(()) => {
                    link.tell();
                    return Ok(());
                }
                Err(refused) => refused,
            };
            let closed = refused.is_closed();
            self.kept = Some(refused.into_inner());
            return Err(if closed {
                PushError::Closed(())
            } else {
                PushError::Full(())
            });
        }
        let _ = link;
        Ok(())
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        item: P::Item,
        link: &Link<P::Item>,
    ) -> Result<(), PushError<P::Item>> {
        match self.settle(link) {
            Ok(()) => {}
            Err(PushError::Full(())) => return Err(PushError::Full(item)),
            Err(PushError::Closed(())) => return Err(PushError::Closed(item)),
        }
        let pushed = self.half.push(item);
        // Where it was refused, too: a grant may have been given up on the way that was forgotten, and
        // others' items have waited for it.
        link.tell();
        pushed
    }

    /// One look of whoever waits to push `item`, which is put back where it has to wait on.
    pub(super) fn look(
        &mut self,
        item: &mut Option<P::Item>,
        link: &Link<P::Item>,
    ) -> Look<Result<(), Closed<P::Item>>> {
        let Some(next) = item.take() else {
            return Look::Done(Ok(()));
        };
        match self.push(next, link) {
            Ok(()) => Look::Done(Ok(())),
            Err(PushError::Closed(next)) => Look::Done(Err(Closed(next))),
            Err(PushError::Full(next)) => {
                *item = Some(next);
                self.not_yet()
            }
        }
    }

    pub(super) fn not_yet<R>(&self) -> Look<R> {
        Look::NotYet {
            // Not for want of a chunk, so for want of memory.
            unannounced: self.half.may_begin(),
        }
    }
}

impl<P: Reserve> Inlet<P> {
    #[inline]
    fn reserve(
        &mut self,
        count: usize,
        link: &Link<P::Item>,
    ) -> Result<P::Grant<'_>, ReserveError> {
        match self.settle(link) {
            Ok(()) => {}
            Err(PushError::Full(())) => return Err(ReserveError::Full),
            Err(PushError::Closed(())) => return Err(ReserveError::Closed),
        }
        let before = self.half.begun();
        let reserved = self.half.reserve(count);
        // A chunk that was ended can be taken out; and one that has nothing in it any more, ended
        // because it is the only one, must be given back by the consumer, which may be asleep.
        let ended = match &reserved {
            Ok(grant) => grant.begun() != before,
            Err(refused) => refused.is_full(),
        };
        if ended {
            link.tell();
        }
        reserved
    }
}

impl<P: Push> Producer<P> {
    pub(super) fn new(half: P) -> Self {
        let link = Link::new(half.control(), Side::Producer);
        Producer {
            inlet: Inlet {
                half,
                #[cfg(feature = "async")]
                kept: None,
            },
            link,
        }
    }

    pub(super) fn is_cloned(&self) -> bool {
        self.inlet.half.is_cloned()
    }

    pub(super) fn into_half(self) -> P {
        self.inlet.half
    }

    /// Puts `item` in, and wakes the consumer where it waits.
    ///
    /// Never waits for room. Allocates as the polling half's does.
    ///
    /// # Errors
    /// [`PushError`], as by the polling half's [`push`](spsc::Producer::push).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert!(producer.push(2).unwrap_err().is_full());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn push(&mut self, item: P::Item) -> Result<(), PushError<P::Item>> {
        self.inlet.push(item, &self.link)
    }

    /// Puts `item` in, and sleeps as long as the ring is full.
    ///
    /// # Errors
    /// [`Closed`] gives the item back where the consumer is gone, be it before or while this waits.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || (0..3).try_for_each(|n| producer.push_wait(n)));
    /// assert_eq!(consumer.iter().collect::<Vec<_>>(), [0, 1, 2]);
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_wait(&mut self, item: P::Item) -> Result<(), Closed<P::Item>> {
        // Without a deadline there is no time-out.
        self.push_before(item, None)
            .map_err(|refused| Closed(refused.into_inner()))
    }

    /// As [`push_wait`](Self::push_wait), for at most `limit`. Tries at least once, also where that is
    /// zero; one that the clock cannot count to has no end.
    ///
    /// # Errors
    /// [`PushWaitError`] gives the item back: the ring stayed full, or the consumer is gone.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// let limit = Duration::from_millis(1);
    /// producer.push_wait_for(1, limit)?;
    /// assert!(producer.push_wait_for(2, limit).unwrap_err().is_timeout());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_wait_for(
        &mut self,
        item: P::Item,
        limit: Duration,
    ) -> Result<(), PushWaitError<P::Item>> {
        self.push_before(item, after(limit))
    }

    /// As [`push_wait`](Self::push_wait), until `deadline`. Tries at least once.
    ///
    /// # Errors
    /// As for [`push_wait_for`](Self::push_wait_for).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use std::time::Instant;
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.push_wait_until(1, Instant::now())?;
    /// assert!(producer.push_wait_until(2, Instant::now()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_wait_until(
        &mut self,
        item: P::Item,
        deadline: Instant,
    ) -> Result<(), PushWaitError<P::Item>> {
        self.push_before(item, Some(deadline))
    }

    fn push_before(
        &mut self,
        item: P::Item,
        deadline: Option<Instant>,
    ) -> Result<(), PushWaitError<P::Item>> {
        let Producer { inlet, link } = self;
        let mut item = Some(item);
        match link.block(deadline, |link| inlet.look(&mut item, link)) {
            Some(Ok(())) => Ok(()),
            Some(Err(Closed(item))) => Err(PushWaitError::Closed(item)),
            // Where the time is up, the last look has put the item back.
            None => item.map_or(Ok(()), |item| Err(PushWaitError::Timeout(item))),
        }
    }

    /// A handle to change the ring's shape with, from any thread. A change wakes whoever waits for it.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(64, 4).spsc::<u8>()?;
    /// let (producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.control().set_chunks(8)?;
    /// assert_eq!(producer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<P::Item> {
        self.link.control().clone()
    }

    /// Whether the consumer is gone.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (producer, consumer) = wait::pair(producer, consumer)?;
    /// drop(consumer);
    /// assert!(producer.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        self.inlet.half.is_closed()
    }

    /// Items in the ring, as exact as the polling half [knows](spsc::Producer::len).
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert_eq!(producer.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.inlet.half.items()
    }

    /// Whether [`len`](Self::len) is zero.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (producer, _consumer) = wait::pair(producer, consumer)?;
    /// assert!(producer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a [`push`](Self::push) would be refused now for want of a chunk; see the polling half's
    /// [`is_full`](spsc::Producer::is_full) for what it does not know.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(1, 1).spsc()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert!(producer.is_full());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_full(&self) -> bool {
        self.free_slots() == 0
    }

    /// Slots (items) that can be pushed to now; see the polling half's
    /// [`free_slots`](spsc::Producer::free_slots).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (producer, _consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(producer.free_slots(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn free_slots(&self) -> usize {
        self.inlet.half.free_slots()
    }

    /// The most items that the ring can hold, as set now.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (producer, _consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(producer.capacity(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.inlet.half.capacity()
    }

    /// Slots (items) of the chunks that come: the longest reservation there can be.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (producer, _consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(producer.chunk_len(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunk_len(&self) -> usize {
        self.inlet.half.chunk_len()
    }
}

impl<P: Reserve> Producer<P> {
    /// Reserves `count` slots side by side; never waits for them. The consumer is woken when they are
    /// [committed](Grant::commit).
    ///
    /// # Errors
    /// [`ReserveError`], as by the polling half's [`reserve`](spsc::Producer::reserve).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let mut grant = producer.reserve(2)?;
    /// grant.extend_from_slice(b"ab");
    /// grant.commit_all();
    /// assert_eq!(*consumer.read_wait()?, *b"ab");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reserve(&mut self, count: usize) -> Result<Grant<'_, P>, ReserveError> {
        let Producer { inlet, link } = self;
        let grant = inlet.reserve(count, link)?;
        Ok(Grant {
            grant,
            told: Told(link),
        })
    }

    /// Reserves `count` slots side by side, and sleeps as long as there is no room for them.
    ///
    /// # Errors
    /// [`ReserveWaitError::Closed`] where the consumer is gone, and
    /// [`ReserveWaitError::TooLong`] where a chunk is shorter than that, at once or when the ring is
    /// given shorter ones while this waits. Never [`Timeout`](ReserveWaitError::Timeout).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(producer.reserve_wait(4)?.len(), 4);
    /// assert!(producer.reserve_wait(5).unwrap_err().is_too_long());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve_wait(&mut self, count: usize) -> Result<Grant<'_, P>, ReserveWaitError> {
        self.reserve_before(count, None)
    }

    /// As [`reserve_wait`](Self::reserve_wait), for at most `limit`. Tries at least once, also where
    /// that is zero; one that the clock cannot count to has no end.
    ///
    /// # Errors
    /// [`ReserveWaitError`].
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = Builder::new(4, 1).spsc::<u8>()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// let limit = Duration::from_millis(1);
    /// assert!(producer.reserve_wait_for(4, limit).unwrap_err().is_timeout());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve_wait_for(
        &mut self,
        count: usize,
        limit: Duration,
    ) -> Result<Grant<'_, P>, ReserveWaitError> {
        self.reserve_before(count, after(limit))
    }

    fn reserve_before(
        &mut self,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<Grant<'_, P>, ReserveWaitError> {
        let Producer { inlet, link } = self;
        let inlet: *mut Inlet<P> = inlet;
        let reserved = link.block(deadline, |link| {
            // SAFETY: `inlet` comes from `self`, which is borrowed for as long as the grant that is
            // returned. Nothing else uses it meanwhile: a look ends the loop where it gives a grant,
            // and else leaves nothing borrowed. (The compiler does not tell these apart.)
            match unsafe { &mut *inlet }.reserve(count, link) {
                Ok(grant) => Look::Done(Ok(grant)),
                Err(ReserveError::Closed) => Look::Done(Err(ReserveWaitError::Closed)),
                Err(ReserveError::TooLong {
                    requested,
                    chunk_len,
                }) => Look::Done(Err(ReserveWaitError::TooLong {
                    requested,
                    chunk_len,
                })),
                // SAFETY: as above; there is no grant.
                Err(ReserveError::Full) => unsafe { &*inlet }.not_yet(),
            }
        });
        let grant = reserved.unwrap_or(Err(ReserveWaitError::Timeout))?;
        Ok(Grant {
            grant,
            told: Told(link),
        })
    }
}

impl<P: Reserve> Producer<P> {
    /// Ends the current chunk, so that the consumer can take it out whole, and wakes a consumer that
    /// waits for that; see the polling half's [`seal`](spsc::Producer::seal).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// producer.seal();
    /// assert_eq!(*consumer.take_chunk_wait()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal(&mut self) {
        self.inlet.half.seal();
        self.link.tell();
    }
}

impl<T> Producer<spsc::Producer<T>> {
    /// [Seals](Self::seal) the current chunk if the consumer has
    /// [asked](super::Consumer::request_seal) for it since the last call. Says whether it had.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (mut producer, consumer) = wait::pair(producer, consumer)?;
    /// consumer.request_seal();
    /// assert!(producer.seal_if_requested());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal_if_requested(&mut self) -> bool {
        let sealed = self.inlet.half.seal_if_requested();
        if sealed {
            self.link.tell();
        }
        sealed
    }
}

#[cfg(not(loom))]
impl<P: Reserve> Producer<P>
where
    P::Item: Copy,
{
    /// Copies all of `items` in, side by side in one chunk and visible at once, and sleeps as long as
    /// there is no room for them.
    ///
    /// # Errors
    /// As for [`reserve_wait`](Self::reserve_wait); nothing is copied then.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 1).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || {
    ///     producer.push_whole_slice_wait(&[1, 2, 3])?;
    ///     producer.push_whole_slice_wait(&[4, 5, 6])
    /// });
    /// assert_eq!(consumer.iter().sum::<i32>(), 21);
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_whole_slice_wait(&mut self, items: &[P::Item]) -> Result<(), ReserveWaitError> {
        let mut grant = self.reserve_wait(items.len())?;
        grant.extend_from_slice(items);
        grant.commit_all();
        Ok(())
    }

    /// As [`push_whole_slice_wait`](Self::push_whole_slice_wait), for at most `limit`.
    ///
    /// # Errors
    /// As for [`reserve_wait_for`](Self::reserve_wait_for); nothing is copied then.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = Builder::new(4, 1).spsc()?;
    /// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
    /// let limit = Duration::from_millis(1);
    /// producer.push_whole_slice_wait_for(&[1, 2, 3], limit)?;
    /// assert!(producer.push_whole_slice_wait_for(&[4, 5], limit).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_whole_slice_wait_for(
        &mut self,
        items: &[P::Item],
        limit: Duration,
    ) -> Result<(), ReserveWaitError> {
        let mut grant = self.reserve_wait_for(items.len(), limit)?;
        grant.extend_from_slice(items);
        grant.commit_all();
        Ok(())
    }
}

/// Another producer of the same ring. An item that a sink has accepted and the ring has not stays with
/// the first.
impl<P: Push + Clone> Clone for Producer<P> {
    fn clone(&self) -> Self {
        Producer::new(self.inlet.half.clone())
    }
}

impl<P: Push + fmt::Debug> fmt::Debug for Producer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Producer").field(&self.inlet.half).finish()
    }
}

/// Slots of a [`Producer`] that are reserved and not yet committed; by `Deref` those of the polling half,
/// such as [`spsc::Grant`], to fill them. The consumer is woken when they are committed.
///
/// ```
/// use chunkring::{Builder, wait};
///
/// let (producer, consumer) = Builder::new(4, 2).spsc()?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// let mut grant = producer.reserve_wait(2)?;
/// grant.push('a').unwrap();
/// grant.commit_all();
/// assert_eq!(consumer.pop_wait()?, 'a');
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a grant that is not committed leaves nothing in the ring"]
pub struct Grant<'a, P: Reserve + 'a> {
    // In this order: the consumer is told when the grant has ended, however that comes. Where there are
    // several producers, others' items may have waited for it.
    grant: P::Grant<'a>,
    told: Told<'a, P::Item>,
}

impl<P: Reserve> Grant<'_, P> {
    /// Makes the first `count` slots the consumer's, and drops what was filled in beyond them.
    ///
    /// # Panics
    /// Where fewer than `count` slots have been filled; nothing is committed then.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc()?;
    /// let (mut producer, consumer) = wait::pair(producer, consumer)?;
    /// let mut grant = producer.reserve_wait(3)?;
    /// grant.extend_from_slice(&[1, 2, 3]);
    /// grant.commit(2);
    /// assert_eq!(consumer.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commit(self, count: usize) {
        // Told also where the drop of an item that was not committed panics.
        let Grant { grant, told: _told } = self;
        grant.commit(count);
    }

    /// Makes every filled slot the consumer's.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc()?;
    /// let (mut producer, consumer) = wait::pair(producer, consumer)?;
    /// let mut grant = producer.reserve_wait(3)?;
    /// grant.extend_from_slice(&[1, 2, 3]);
    /// grant.commit_all();
    /// assert_eq!(consumer.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commit_all(self) {
        let Grant { grant, told: _told } = self;
        grant.commit_all();
    }
}

/// Wakes the other half at the end of the scope.
struct Told<'a, T>(&'a Link<T>);

impl<T> Drop for Told<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.tell();
    }
}

impl<'a, P: Reserve> Deref for Grant<'a, P> {
    type Target = P::Grant<'a>;

    #[inline]
    fn deref(&self) -> &P::Grant<'a> {
        &self.grant
    }
}

impl<P: Reserve> DerefMut for Grant<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.grant
    }
}

impl<'a, P: Reserve> fmt::Debug for Grant<'a, P>
where
    P::Grant<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grant.fmt(f)
    }
}
