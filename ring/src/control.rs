//! The handle that changes a ring's shape while it is used.

use crate::counted::Counted;
use crate::error::ResizeError;
#[cfg(target_has_atomic = "64")]
use crate::mpsc;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::primitive::Ordering;
use crate::settings::Resizable;
#[cfg(feature = "std")]
use crate::settings::Settings;
use crate::spsc;
use crate::statistics::Statistics;
use core::fmt;

/// Changes the shape of a ring, from any thread, while the producer and the consumer run.
///
/// Neither half waits for it, nothing in the ring is lost or moved, and slices and chunks that
/// somebody holds stay valid. Clones are for the same ring. It does not keep items alive: those are
/// dropped with the later half.
///
/// # When a new shape is in force
///
/// Both settings are looked at when the producer needs another chunk, and when the consumer has
/// finished one. So a longer chunk, or more of them, come with the next chunk. Fewer chunks drop
/// nothing: the producer is refused new ones until as few are left (or, where the
/// [policy](crate::Policy) says so, overwrites the oldest then). Idle chunks are freed at once, and
/// others as they are finished, so that memory goes back even if the producer sleeps. (A chunk that is
/// being finished at that very moment may be missed; the next one to be finished, the next resize or
/// [`trim`](Control::trim) gets it.)
///
/// A producer that waits for room (feature `std`) is woken by each change, and looks again.
///
/// Chunks are allocated when they are needed, also in a ring that was
/// [preallocated](crate::Builder::preallocate): a resize itself allocates nothing.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(2, 1).spsc()?;
/// let control = producer.control();
/// producer.push(1).unwrap();
/// producer.push(2).unwrap();
/// assert!(producer.push(3).is_err());
///
/// let other = control.clone();
/// std::thread::spawn(move || other.set_chunks(4)).join().unwrap()?;
/// producer.push(3).unwrap();
/// assert_eq!(consumer.pop(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Control<T> {
    ring: Ring<T>,
}

/// The ring of a control.
pub(crate) enum Ring<T> {
    Spsc(Counted<spsc::shared::Shared<T>>),
    #[cfg(target_has_atomic = "64")]
    Mpsc(Counted<mpsc::shared::Shared<T>>),
}

impl<T> Ring<T> {
    fn shared(&self) -> &(dyn Resizable<T> + '_) {
        match self {
            Ring::Spsc(shared) => &**shared,
            #[cfg(target_has_atomic = "64")]
            Ring::Mpsc(shared) => &**shared,
        }
    }
}

#[cfg(feature = "std")]
impl<T> Ring<T> {
    /// As by [`shared`](Self::shared), but for the call through a table: this is asked for each item.
    #[inline]
    fn settings(&self) -> &Settings<T> {
        match self {
            Ring::Spsc(shared) => &shared.settings,
            #[cfg(target_has_atomic = "64")]
            Ring::Mpsc(shared) => shared.settings(),
        }
    }
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        match self {
            Ring::Spsc(shared) => Ring::Spsc(Counted::clone(shared)),
            #[cfg(target_has_atomic = "64")]
            Ring::Mpsc(shared) => Ring::Mpsc(Counted::clone(shared)),
        }
    }
}

// SAFETY: a control reaches no item: those are dropped by the later half.
unsafe impl<T> Send for Control<T> {}
// SAFETY: as above, and everything that it changes is atomic.
unsafe impl<T> Sync for Control<T> {}

impl<T> Control<T> {
    pub(crate) fn new(ring: Ring<T>) -> Self {
        Control { ring }
    }

    fn shared(&self) -> &(dyn Resizable<T> + '_) {
        self.ring.shared()
    }

    /// Sets the number of chunks that the ring may have.
    ///
    /// # Errors
    /// [`ResizeError`] where that is none, or more than [`max_chunks`](Self::max_chunks); nothing is
    /// changed then.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// let control = producer.control();
    /// control.set_chunks(2)?;
    /// assert_eq!(control.chunks(), 2);
    /// assert!(control.set_chunks(0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_chunks(&self, chunks: usize) -> Result<(), ResizeError> {
        self.check_chunks(chunks)?;
        self.store_chunks(chunks);
        Ok(())
    }

    /// Sets the number of slots (items) of the chunks that come.
    ///
    /// # Errors
    /// [`ResizeError`] where that is none, or more than [`max_chunk_len`](Self::max_chunk_len);
    /// nothing is changed then.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// let control = producer.control();
    /// control.set_chunk_len(100)?;
    /// assert_eq!(control.chunk_len(), 100);
    /// assert!(control.set_chunk_len(usize::MAX).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_chunk_len(&self, chunk_len: usize) -> Result<(), ResizeError> {
        self.check_chunk_len(chunk_len)?;
        self.store_chunk_len(chunk_len);
        Ok(())
    }

    /// Sets both. (A producer that needs a chunk meanwhile may see one of them changed and the other
    /// not yet.)
    ///
    /// # Errors
    /// [`ResizeError`] as for [`set_chunk_len`](Self::set_chunk_len) and
    /// [`set_chunks`](Self::set_chunks); nothing is changed then.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// let control = producer.control();
    /// control.resize(128, 8)?;
    /// assert_eq!(producer.capacity(), 1024);
    /// assert!(control.resize(256, 0).is_err());
    /// assert_eq!(producer.capacity(), 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, chunk_len: usize, chunks: usize) -> Result<(), ResizeError> {
        self.check_chunk_len(chunk_len)?;
        self.check_chunks(chunks)?;
        self.store_chunk_len(chunk_len);
        self.store_chunks(chunks);
        Ok(())
    }

    fn check_chunks(&self, chunks: usize) -> Result<(), ResizeError> {
        match chunks {
            0 => Err(ResizeError::ZeroChunks),
            _ if chunks > self.max_chunks() => Err(ResizeError::TooManyChunks {
                chunks,
                max: self.max_chunks(),
            }),
            _ => Ok(()),
        }
    }

    fn check_chunk_len(&self, chunk_len: usize) -> Result<(), ResizeError> {
        match chunk_len {
            0 => Err(ResizeError::ZeroChunkLen),
            _ if chunk_len > self.max_chunk_len() => Err(ResizeError::TooLong {
                chunk_len,
                max: self.max_chunk_len(),
            }),
            _ => Ok(()),
        }
    }

    fn store_chunks(&self, chunks: usize) {
        let settings = self.shared().settings();
        // Relaxed, twice: settings. Whoever sees the second without the first takes the ring for one that has
        // never had more chunks, for the moment.
        settings.most_ever.fetch_max(chunks, Ordering::Relaxed);
        let before = settings.chunks.swap(chunks, Ordering::Relaxed);
        if chunks < before {
            self.shared().trim(chunks);
            self.shared().settings().pool.trim();
        }
        // Also where it is smaller: whoever waits may wait for too much by now.
        self.shared().settings().pool.room_came();
    }

    fn store_chunk_len(&self, chunk_len: usize) {
        let chunk_len = self.shared().round_chunk_len(chunk_len);
        // Relaxed: a setting.
        let before = self
            .shared()
            .settings()
            .chunk_len
            .swap(chunk_len, Ordering::Relaxed);
        if chunk_len != before {
            self.trim();
        }
        self.shared().settings().pool.room_came();
    }

    /// Chunks that the ring may have, as set.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// assert_eq!(producer.control().chunks(), 4);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn chunks(&self) -> usize {
        // Relaxed: a setting.
        self.shared().settings().chunks.load(Ordering::Relaxed)
    }

    /// Slots of the chunks that come, as set.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// assert_eq!(producer.control().chunk_len(), 64);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn chunk_len(&self) -> usize {
        // Relaxed: a setting.
        self.shared().settings().chunk_len.load(Ordering::Relaxed)
    }

    /// Chunks that the ring has now: those in traffic and those that wait to be used again. More
    /// than [`chunks`](Self::chunks) only after a shrink, until the backlog fits. A chunk that the
    /// consumer has taken out whole or given to the pool is not counted.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(1, 4).spsc::<u8>()?;
    /// let control = producer.control();
    /// producer.push(1).unwrap();
    /// producer.push(2).unwrap();
    /// assert_eq!(control.chunks_in_use(), 2);
    /// control.set_chunks(1)?;
    /// assert_eq!(control.chunks_in_use(), 2, "nothing is dropped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks_in_use(&self) -> usize {
        self.shared().chunks_in_use()
    }

    /// The most chunks that the ring can be given; see
    /// [`Builder::max_chunks`](crate::Builder::max_chunks).
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).max_chunks(100).spsc::<u8>()?;
    /// assert!(producer.control().max_chunks() >= 100);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn max_chunks(&self) -> usize {
        self.shared().settings().max_chunks
    }

    /// The longest chunk that the ring can be given: [`max_chunks`](Self::max_chunks) of them must
    /// stay within `isize::MAX` slots, and one of them within `isize::MAX` bytes.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// assert!(producer.control().max_chunk_len() < usize::MAX / 2);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn max_chunk_len(&self) -> usize {
        self.shared().settings().max_chunk_len
    }

    /// Sets what the ring does when its chunks are used up. In force from the next time that one is.
    /// Blocks nobody, allocates nothing and drops nothing by itself.
    ///
    /// # Errors
    /// [`ResizeError::NotOverwritable`] where [`Policy::Overwrite`] is set and the ring was not
    /// [made for it](crate::Builder::overwritable); [`ResizeError::ZeroChunks`] and
    /// [`ResizeError::TooManyChunks`] where [`Policy::Grow`] has no bound in `1..=max_chunks` (of
    /// [`Control::max_chunks`](Self::max_chunks)). Nothing is changed then.
    ///
    /// ```
    /// use chunkring::{Builder, Policy, ResizeError};
    ///
    /// let (mut producer, _consumer) = Builder::new(1, 1).max_chunks(2).spsc()?;
    /// let control = producer.control();
    /// producer.push('a').unwrap();
    /// assert!(producer.push('b').is_err());
    ///
    /// control.set_policy(Policy::Grow { max_chunks: 2 })?;
    /// producer.push('b').unwrap();
    /// assert!(producer.push('c').is_err());
    ///
    /// let refused = control.set_policy(Policy::Grow { max_chunks: 3 });
    /// assert_eq!(refused, Err(ResizeError::TooManyChunks { chunks: 3, max: 2 }));
    /// assert_eq!(control.set_policy(Policy::Overwrite), Err(ResizeError::NotOverwritable));
    /// assert_eq!(control.policy(), Policy::Grow { max_chunks: 2 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_policy(&self, policy: Policy) -> Result<(), ResizeError> {
        let settings = self.shared().settings();
        match policy {
            Policy::Refuse => {}
            Policy::Overwrite if !settings.overwritable => {
                return Err(ResizeError::NotOverwritable);
            }
            Policy::Overwrite => {}
            Policy::Grow { max_chunks } => {
                self.check_chunks(max_chunks)?;
                // Relaxed: a setting.
                settings.most_ever.fetch_max(max_chunks, Ordering::Relaxed);
            }
        }
        // Relaxed: a setting.
        settings.policy.store(policy.encode(), Ordering::Relaxed);
        Ok(())
    }

    /// What the ring does when its chunks are used up, as set.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// assert_eq!(producer.control().policy(), chunkring::Policy::Refuse);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn policy(&self) -> Policy {
        self.shared().settings().policy()
    }

    /// The ring's shape, memory and losses in one picture.
    ///
    /// Never blocks and never allocates. The numbers are collected until two collections in a row agree,
    /// at most eight times; then they belong together. Where the ring changes faster than that they are
    /// the last ones that were collected, each true at some moment of the call.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(64, 4).spsc()?;
    /// producer.push(1).unwrap();
    /// let statistics = consumer.control().statistics();
    /// assert_eq!(statistics.chunks_in_use, 1);
    /// assert!(statistics.pool_used > 0 && statistics.pool_budget == usize::MAX);
    /// assert_eq!(statistics.overwritten + statistics.refused_full, 0);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self.shared())
    }

    /// Frees every idle chunk, of the ring and of its pool.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(1, 4).spsc()?;
    /// let control = producer.control();
    /// producer.push(1).unwrap();
    /// consumer.pop()?;
    /// assert!(control.pool().used() > 0);
    /// control.trim();
    /// assert_eq!(control.pool().used(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trim(&self) {
        self.shared().trim(0);
        self.shared().settings().pool.trim();
    }

    /// The pool that the ring's chunks come from.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// producer.control().pool().set_budget(1 << 20);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn pool(&self) -> &Pool {
        &self.shared().settings().pool
    }
}

#[cfg(feature = "std")]
impl<T> Control<T> {
    #[inline]
    pub(crate) fn settings(&self) -> &Settings<T> {
        self.ring.settings()
    }

    /// Whether both are for the same ring.
    pub(crate) fn is_of_the_same_ring(&self, other: &Self) -> bool {
        core::ptr::eq(self.settings(), other.settings())
    }

    /// Consumers that wait for this ring's items, and producers that wait for a chunk of its pool, so
    /// that tests see whether one stays behind.
    #[doc(hidden)]
    pub fn waiting(&self) -> (usize, usize) {
        let settings = self.settings();
        (settings.items.waiting(), settings.pool.room().waiting())
    }
}

impl<T> Clone for Control<T> {
    fn clone(&self) -> Self {
        Control {
            ring: self.ring.clone(),
        }
    }
}

impl<T> fmt::Debug for Control<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("chunk_len", &self.chunk_len())
            .field("chunks", &self.chunks())
            .field("chunks_in_use", &self.chunks_in_use())
            .finish_non_exhaustive()
    }
}
