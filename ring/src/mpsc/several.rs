//! Several items in one call, copied or moved. Only what can be said in terms of single items,
//! reservations and slices; nothing here knows of chunks.

use super::consumer::Consumer;
use super::producer::Producer;
#[cfg(not(loom))]
use crate::error::{ReserveError, TooFewItems};
use core::fmt;

impl<T> Producer<T> {
    /// Puts items of `items` in until it ends or the ring refuses one, and tells how many. An item is
    /// asked for only when there is a slot for it, so none is lost: the iterator goes on where this
    /// has stopped.
    ///
    /// Each item is visible at once, but a slot is reserved while the iterator is asked for the next one,
    /// and [holds up](super#grants) items of other producers for so long. Where the iterator ends then, and
    /// has not told so by its [`size_hint`](Iterator::size_hint), that slot stays unused. Never blocks;
    /// allocates as [`push`](Self::push) does.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).mpsc()?;
    /// let mut numbers = 0..6;
    /// assert_eq!(producer.push_iter(&mut numbers), 4);
    /// assert_eq!(consumer.try_iter().count(), 4);
    /// assert_eq!(producer.push_iter(&mut numbers), 2);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn push_iter(&mut self, items: &mut impl Iterator<Item = T>) -> usize {
        let mut count = 0;
        // Not for an iterator that says to be at its end: the slot would stay unused.
        while items.size_hint().1 != Some(0) {
            let Ok(mut grant) = self.reserve_rest(1) else {
                break;
            };
            let Some(item) = items.next() else { break };
            // A slot was reserved for it.
            let _ = grant.push(item);
            grant.commit_all();
            count += 1;
        }
        count
    }
}

#[cfg(not(loom))]
impl<T: Copy> Producer<T> {
    /// Copies as many of `items` in as fit, from the first on, and tells how many. They may come to
    /// lie in several chunks, with items of other producers between those, and the consumer may see some
    /// of them before the others.
    ///
    /// Never blocks; allocates as [`push`](Self::push) does. None where the ring is full or
    /// [closed](Self::is_closed).
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// assert_eq!(producer.push_partial_slice(&[1; 5]), 5);
    /// assert_eq!(producer.push_partial_slice(&[2; 5]), 3);
    /// assert!(consumer.is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn push_partial_slice(&mut self, items: &[T]) -> usize {
        let mut rest = items;
        while !rest.is_empty() {
            // What is left of a chunk, so that none of it stays unused.
            let Ok(mut grant) = self.reserve_rest(rest.len()) else {
                break;
            };
            let (now, later) = rest.split_at(grant.len());
            grant.extend_from_slice(now);
            grant.commit_all();
            rest = later;
        }
        items.len() - rest.len()
    }

    /// Copies all of `items` in, side by side in one chunk and visible at once, or none of them.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push_whole_slice(&[1, 2, 3])?;
    /// producer.push_whole_slice(&[4, 5, 6])?; // in the next chunk
    /// assert!(producer.push_whole_slice(&[7, 8]).unwrap_err().is_full());
    /// assert_eq!(*consumer.read()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_whole_slice(&mut self, items: &[T]) -> Result<(), ReserveError> {
        let mut grant = self.reserve(items.len())?;
        grant.extend_from_slice(items);
        grant.commit_all();
        Ok(())
    }
}

/// Puts every item of an iterator in. **An item that the ring refuses is dropped**, and counted as refused in
/// [`Statistics`](crate::Statistics): that suits a ring that [overwrites](crate::Policy::Overwrite) or
/// [grows](crate::Policy::Grow), or items that may be lost. [`push_iter`](Producer::push_iter) loses none:
/// it takes no more from the iterator than fit.
///
/// ```
/// use chunkring::{Builder, Policy};
///
/// let (mut producer, mut consumer) = Builder::new(1, 3).policy(Policy::Overwrite).mpsc()?;
/// producer.extend(1..=5);
/// assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [3, 4, 5]);
///
/// let control = producer.control();
/// control.set_policy(Policy::Refuse)?;
/// producer.extend(6..=10);
/// assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [6, 7, 8]);
///
/// let statistics = control.statistics();
/// assert_eq!((statistics.overwritten, statistics.refused_full), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T> Extend<T> for Producer<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            // A refused item has been counted.
            let _ = self.push(item);
        }
    }
}

impl<T> Consumer<T> {
    /// Takes items out as long as there are any. The iterator ends where the ring is empty, and more
    /// may come later.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// producer.push(2).unwrap();
    /// assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn try_iter(&mut self) -> TryIter<'_, T> {
        TryIter { consumer: self }
    }
}

#[cfg(not(loom))]
impl<T: Copy> Consumer<T> {
    /// Copies as many items out as there are and `out` has room for, to its beginning, and tells how
    /// many. They may come from several chunks.
    ///
    /// Never blocks and never allocates.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).mpsc()?;
    /// producer.push_partial_slice(&[1, 2, 3]);
    /// let mut out = [0; 4];
    /// assert_eq!(consumer.pop_partial_slice(&mut out), 3);
    /// assert_eq!(out, [1, 2, 3, 0]);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn pop_partial_slice(&mut self, out: &mut [T]) -> usize {
        let mut count = 0;
        while count < out.len() {
            let Ok(ready) = self.read() else { break };
            let rest = &mut out[count..];
            let now = ready.len().min(rest.len());
            rest[..now].copy_from_slice(&ready[..now]);
            ready.release(now);
            count += now;
        }
        count
    }

    /// Fills all of `out` with items, which may come from several chunks, or takes none.
    ///
    /// Never blocks and never allocates.
    ///
    /// # Errors
    /// [`TooFewItems`] where fewer are there.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).mpsc()?;
    /// producer.push_partial_slice(&[1, 2, 3]);
    /// let mut out = [0; 4];
    /// assert_eq!(consumer.pop_whole_slice(&mut out).unwrap_err().there, 3);
    /// consumer.pop_whole_slice(&mut out[..3]).unwrap();
    /// assert_eq!(out, [1, 2, 3, 0]);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn pop_whole_slice(&mut self, out: &mut [T]) -> Result<(), TooFewItems> {
        self.pop_whole(out).map_err(|there| TooFewItems {
            requested: out.len(),
            there,
        })
    }
}

/// Takes items out as long as there are any; see [`Consumer::try_iter`].
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
/// producer.push('a').unwrap();
/// let mut items = consumer.try_iter();
/// assert_eq!(items.next(), Some('a'));
/// assert_eq!(items.next(), None);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[must_use = "an iterator that is not advanced takes nothing out"]
pub struct TryIter<'a, T> {
    consumer: &'a mut Consumer<T>,
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.consumer.pop().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More may come while it runs, and others be overwritten.
        (self.consumer.count_kept(), None)
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryIter")
            .field("ready", &self.consumer.len())
            .finish()
    }
}
