//! The consumer's half that waits for items, and what it reads in place.

use super::error::{Closed, PopWaitError};
use super::halves::{Pop, Read, Release};
use super::link::{Link, Look, Side, after};
use crate::control::Control;
use crate::error::{PopError, TakeError};
use crate::owned::OwnedChunk;
use crate::spsc;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;
use std::time::Instant;

/// A consumer that wakes the producer, and that can wait for items; made by [`pair`](super::pair).
///
/// Dropping it closes the ring and wakes the producer.
///
/// # Examples
///
/// ```
/// use chunkring::{spsc, wait};
/// use std::{thread, time::Duration};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// let sender = thread::spawn(move || producer.push_wait("hello"));
/// assert_eq!(consumer.pop_wait(), Ok("hello"));
/// assert_eq!(consumer.pop_wait(), Err(wait::Closed(())));
/// sender.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Consumer<C: Pop> {
    // In this order: the link tells of the half's end, so that comes first.
    pub(super) half: C,
    pub(super) link: Link<C::Item>,
}

/// Does something with the half, and wakes the producer where it has given a chunk back.
#[inline]
pub(super) fn telling<C: Pop, R>(
    half: &mut C,
    link: &Link<C::Item>,
    action: impl FnOnce(&mut C) -> R,
) -> R {
    let before = half.given_back();
    let result = action(half);
    if half.given_back() != before {
        link.tell();
    }
    result
}

/// What a look comes to that has found this.
pub(super) fn looked<R>(found: Result<R, TakeError>) -> Look<Result<R, Closed>> {
    match found {
        Ok(found) => Look::Done(Ok(found)),
        Err(TakeError::Closed) => Look::Done(Err(Closed(()))),
        Err(TakeError::Empty | TakeError::Open) => Look::NotYet { unannounced: false },
    }
}

impl<C: Pop> Consumer<C> {
    pub(super) fn new(half: C) -> Self {
        let link = Link::new(half.control(), Side::Consumer);
        Consumer { half, link }
    }

    pub(super) fn into_half(self) -> C {
        self.half
    }

    /// Waits until `take` finds something.
    fn before<R>(
        &mut self,
        deadline: Option<Instant>,
        mut take: impl FnMut(&mut C) -> Result<R, TakeError>,
    ) -> Result<R, PopWaitError> {
        let Consumer { half, link } = self;
        match link.block(deadline, |link| looked(telling(half, link, &mut take))) {
            Some(Ok(found)) => Ok(found),
            Some(Err(Closed(()))) => Err(PopWaitError::Closed),
            None => Err(PopWaitError::Timeout),
        }
    }

    /// Waits until `take` finds something, however long that takes.
    fn ever<R>(&mut self, take: impl FnMut(&mut C) -> Result<R, TakeError>) -> Result<R, Closed> {
        // Without a deadline there is no time-out.
        self.before(None, take).map_err(|_| Closed(()))
    }

    /// Takes the oldest item out, and wakes the producer where that gives a chunk back. Never waits.
    ///
    /// # Errors
    /// [`PopError`], as by the polling half's [`pop`](spsc::Consumer::pop).
    ///
    /// ```
    /// use chunkring::{PopError, spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (_producer, mut consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(consumer.pop(), Err(PopError::Empty));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Result<C::Item, PopError> {
        telling(&mut self.half, &self.link, C::pop)
    }

    /// Takes the oldest item out, and sleeps as long as there is none.
    ///
    /// # Errors
    /// [`Closed`] where every item has been taken and the producer is gone.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || producer.push(1));
    /// assert_eq!(consumer.pop_wait()?, 1);
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_wait(&mut self) -> Result<C::Item, Closed> {
        self.ever(|half| Ok(half.pop()?))
    }

    /// As [`pop_wait`](Self::pop_wait), for at most `limit`. Looks at least once, also where that is
    /// zero; one that the clock cannot count to has no end.
    ///
    /// # Errors
    /// [`PopWaitError`].
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert_eq!(consumer.pop_wait_for(Duration::ZERO), Ok(1));
    /// assert!(consumer.pop_wait_for(Duration::from_millis(1)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_wait_for(&mut self, limit: Duration) -> Result<C::Item, PopWaitError> {
        self.before(after(limit), |half| Ok(half.pop()?))
    }

    /// As [`pop_wait`](Self::pop_wait), until `deadline`. Looks at least once.
    ///
    /// # Errors
    /// [`PopWaitError`].
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    /// use std::time::Instant;
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (_producer, mut consumer) = wait::pair(producer, consumer)?;
    /// assert!(consumer.pop_wait_until(Instant::now()).unwrap_err().is_timeout());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_wait_until(&mut self, deadline: Instant) -> Result<C::Item, PopWaitError> {
        self.before(Some(deadline), |half| Ok(half.pop()?))
    }

    /// Takes items out, and sleeps where there is none; ends when the ring is closed and empty.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// producer.push(2)?;
    /// drop(producer);
    /// assert_eq!(consumer.iter().collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&mut self) -> Iter<'_, C> {
        Iter { consumer: self }
    }

    /// A handle to change the ring's shape with, from any thread. A change wakes a producer that waits
    /// for it.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(64, 4).spsc::<u8>()?;
    /// let (_producer, consumer) = wait::pair(producer, consumer)?;
    /// consumer.control().set_chunks(8)?;
    /// assert_eq!(consumer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<C::Item> {
        self.link.control().clone()
    }

    /// Whether the producer is gone. Items may still be there.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (producer, consumer) = wait::pair(producer, consumer)?;
    /// drop(producer);
    /// assert!(consumer.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        self.half.is_closed()
    }

    /// Items that are ready, as exact as the polling half [knows](spsc::Consumer::len).
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert_eq!(consumer.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.half.items()
    }

    /// Whether there is nothing to take now.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (_producer, consumer) = wait::pair(producer, consumer)?;
    /// assert!(consumer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most items that the ring can hold, as set now.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).spsc::<u8>()?;
    /// let (_producer, consumer) = wait::pair(producer, consumer)?;
    /// assert_eq!(consumer.capacity(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.half.capacity()
    }
}

impl<C: Read> Consumer<C> {
    /// All items that are ready and lie side by side, to be read in place; never waits for them. The
    /// producer is woken where [releasing](ReadSlice::release) them gives a chunk back.
    ///
    /// # Errors
    /// [`PopError`], as by the polling half's [`read`](spsc::Consumer::read).
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert_eq!(*consumer.read()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&mut self) -> Result<ReadSlice<'_, C>, PopError> {
        // To look can give a chunk back, too: one that was ended after its last item had been taken.
        telling(&mut self.half, &self.link, |half| half.read().map(drop))?;
        self.slice()
    }

    /// What a look has just found.
    fn slice(&mut self) -> Result<ReadSlice<'_, C>, PopError> {
        let Consumer { half, link } = self;
        let slice = half.read()?;
        Ok(ReadSlice { slice, link })
    }

    /// As [`read`](Self::read), but sleeps as long as there is nothing. At least one item.
    ///
    /// # Errors
    /// [`Closed`] where every item has been taken and the producer is gone.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || producer.push(1));
    /// let ready = consumer.read_wait()?;
    /// assert_eq!(*ready, [1]);
    /// ready.release_all();
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_wait(&mut self) -> Result<ReadSlice<'_, C>, Closed> {
        self.ever(|half| Ok(half.read().map(drop)?))?;
        // What was found stays: this half alone takes it out.
        self.slice().map_err(|_| Closed(()))
    }

    /// As [`read_wait`](Self::read_wait), for at most `limit`. Looks at least once, also where that is
    /// zero; one that the clock cannot count to has no end.
    ///
    /// # Errors
    /// [`PopWaitError`].
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = spsc::bounded::<u8>(8)?;
    /// let (_producer, mut consumer) = wait::pair(producer, consumer)?;
    /// assert!(consumer.read_wait_for(Duration::from_millis(1)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_wait_for(&mut self, limit: Duration) -> Result<ReadSlice<'_, C>, PopWaitError> {
        self.before(after(limit), |half| Ok(half.read().map(drop)?))?;
        // As above.
        self.slice().map_err(|_| PopWaitError::Closed)
    }
}

impl<C: Read> Consumer<C> {
    /// Takes the oldest chunk out whole, and wakes the producer, which has room for another. Never
    /// waits.
    ///
    /// # Errors
    /// [`TakeError`], as by the polling half's [`take_chunk`](spsc::Consumer::take_chunk).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(2, 2).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// assert!(consumer.take_chunk().unwrap_err().is_open());
    /// producer.push(2)?;
    /// assert_eq!(*consumer.take_chunk()?, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_chunk(&mut self) -> Result<OwnedChunk<C::Item>, TakeError> {
        telling(&mut self.half, &self.link, C::take_chunk)
    }

    /// Takes the oldest chunk out whole, and sleeps as long as there is none that is complete: full,
    /// [sealed](super::Producer::seal), or followed by another. It does not ask for that by itself; see
    /// [`request_seal`](Self::request_seal).
    ///
    /// # Errors
    /// [`Closed`] where every item has been taken and the producer is gone.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(2, 2).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// let sender = std::thread::spawn(move || (0..3).try_for_each(|n| producer.push_wait(n)));
    /// assert_eq!(*consumer.take_chunk_wait()?, [0, 1]);
    /// assert_eq!(*consumer.take_chunk_wait()?, [2], "the producer's end completes the last");
    /// sender.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_chunk_wait(&mut self) -> Result<OwnedChunk<C::Item>, Closed> {
        self.ever(C::take_chunk)
    }

    /// As [`take_chunk_wait`](Self::take_chunk_wait), for at most `limit`. Looks at least once, also
    /// where that is zero; one that the clock cannot count to has no end.
    ///
    /// # Errors
    /// [`PopWaitError`]; after a time-out there may be items all the same, in a chunk that is not
    /// complete.
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    /// use std::time::Duration;
    ///
    /// let (producer, consumer) = Builder::new(2, 2).spsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// let limit = Duration::from_millis(1);
    /// assert!(consumer.take_chunk_wait_for(limit).unwrap_err().is_timeout());
    /// assert_eq!(consumer.pop(), Ok(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_chunk_wait_for(
        &mut self,
        limit: Duration,
    ) -> Result<OwnedChunk<C::Item>, PopWaitError> {
        self.before(after(limit), C::take_chunk)
    }
}

impl<T> Consumer<spsc::Consumer<T>> {
    /// Asks the producer to seal the chunk that it is filling; it does so when it next
    /// [looks](super::Producer::seal_if_requested). This wakes nobody.
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
    pub fn request_seal(&self) {
        self.half.request_seal();
    }
}

#[cfg(target_has_atomic = "64")]
impl<T> Consumer<crate::mpsc::Consumer<T>> {
    /// Ends the chunk that is being filled; see the polling half's
    /// [`seal`](crate::mpsc::Consumer::seal).
    ///
    /// ```
    /// use chunkring::{Builder, wait};
    ///
    /// let (producer, consumer) = Builder::new(4, 2).mpsc()?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// consumer.seal();
    /// assert_eq!(*consumer.take_chunk_wait()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal(&self) {
        self.half.seal();
    }
}

impl<C: Pop + fmt::Debug> fmt::Debug for Consumer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Consumer").field(&self.half).finish()
    }
}

/// Contiguous items of a [`Consumer`], read in place; a slice of them by `Deref`. Dropping it takes
/// nothing out.
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// producer.push_whole_slice_wait(&[1, 2, 3])?;
/// let ready = consumer.read_wait()?;
/// assert_eq!(*ready, [1, 2, 3]);
/// ready.release(2);
/// assert_eq!(consumer.pop_wait()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a slice that is not released stays in the ring"]
pub struct ReadSlice<'a, C: Read + 'a> {
    slice: C::Slice<'a>,
    link: &'a Link<C::Item>,
}

impl<C: Read> ReadSlice<'_, C> {
    /// Takes the first `count` items out and drops them; see the polling half's
    /// [`release`](spsc::ReadSlice::release). Wakes the producer where that gives a chunk back.
    ///
    /// # Panics
    /// Where there are fewer than `count` items; nothing is taken then.
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// consumer.read()?.release(1);
    /// assert!(consumer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release(self, count: usize) {
        if self.slice.release(count) {
            self.link.tell();
        }
    }

    /// Takes all of these items out and drops them; otherwise as [`release`](Self::release).
    ///
    /// ```
    /// use chunkring::{spsc, wait};
    ///
    /// let (producer, consumer) = spsc::bounded(8)?;
    /// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
    /// producer.push(1)?;
    /// consumer.read()?.release_all();
    /// assert!(consumer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release_all(self) {
        let ready = self.slice.ready();
        self.release(ready);
    }
}

#[cfg(not(loom))]
impl<C: Read> Deref for ReadSlice<'_, C> {
    type Target = [C::Item];

    #[inline]
    fn deref(&self) -> &[C::Item] {
        &self.slice
    }
}

/// What models have instead of the slice.
#[cfg(loom)]
impl<'a, C: Read> Deref for ReadSlice<'a, C> {
    type Target = C::Slice<'a>;

    fn deref(&self) -> &C::Slice<'a> {
        &self.slice
    }
}

impl<C: Read> fmt::Debug for ReadSlice<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadSlice")
            .field("len", &self.slice.ready())
            .finish()
    }
}

/// Takes items out, and sleeps where there is none; see [`Consumer::iter`].
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded::<u8>(8)?;
/// let (producer, mut consumer) = wait::pair(producer, consumer)?;
/// drop(producer);
/// assert_eq!(consumer.iter().next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an iterator that is not advanced takes nothing out"]
pub struct Iter<'a, C: Pop> {
    consumer: &'a mut Consumer<C>,
}

impl<C: Pop> Iterator for Iter<'_, C> {
    type Item = C::Item;

    fn next(&mut self) -> Option<C::Item> {
        self.consumer.pop_wait().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More may come while it runs.
        (self.consumer.len(), None)
    }
}

impl<C: Pop> core::iter::FusedIterator for Iter<'_, C> {}

impl<C: Pop + fmt::Debug> fmt::Debug for Iter<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Iter").field(&self.consumer.half).finish()
    }
}

/// Takes items out of a [`Consumer`] that it owns, and sleeps where there is none.
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, consumer) = wait::pair(producer, consumer)?;
/// producer.push(1)?;
/// drop(producer);
/// assert_eq!(consumer.into_iter().collect::<Vec<_>>(), [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an iterator that is not advanced takes nothing out"]
pub struct IntoIter<C: Pop> {
    consumer: Consumer<C>,
}

impl<C: Pop> Iterator for IntoIter<C> {
    type Item = C::Item;

    fn next(&mut self) -> Option<C::Item> {
        self.consumer.pop_wait().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More may come while it runs.
        (self.consumer.len(), None)
    }
}

impl<C: Pop> core::iter::FusedIterator for IntoIter<C> {}

impl<C: Pop> IntoIterator for Consumer<C> {
    type Item = C::Item;
    type IntoIter = IntoIter<C>;

    fn into_iter(self) -> IntoIter<C> {
        IntoIter { consumer: self }
    }
}

impl<'a, C: Pop> IntoIterator for &'a mut Consumer<C> {
    type Item = C::Item;
    type IntoIter = Iter<'a, C>;

    fn into_iter(self) -> Iter<'a, C> {
        self.iter()
    }
}

impl<C: Pop + fmt::Debug> fmt::Debug for IntoIter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter")
            .field(&self.consumer.half)
            .finish()
    }
}
