//! Why waiting came to an end without what was waited for.

use core::fmt;

/// The other half is gone, so that waiting would never end. What was to be pushed is inside.
///
/// For a consumer it says that every item has been taken, too.
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, consumer) = spsc::bounded(8)?;
/// let (mut producer, mut consumer) = wait::pair(producer, consumer)?;
/// producer.push_wait(1)?;
/// drop(producer);
/// assert_eq!(consumer.pop_wait(), Ok(1));
/// assert_eq!(consumer.pop_wait(), Err(wait::Closed(())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T = ()>(pub T);

// By hand, so that no `T: Debug` is asked for.
impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is closed: its other half is gone")
    }
}

impl<T> core::error::Error for Closed<T> {}

/// Why [`push_wait_for`](super::Producer::push_wait_for) gave up; the item is inside.
///
/// ```
/// use chunkring::{Builder, wait};
/// use std::time::Duration;
///
/// let (producer, consumer) = Builder::new(1, 1).spsc()?;
/// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
/// producer.push(1).unwrap();
/// let refused = producer.push_wait_for(2, Duration::from_millis(1));
/// assert_eq!(refused, Err(wait::PushWaitError::Timeout(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushWaitError<T> {
    /// The ring was full all the time.
    Timeout(T),
    /// The consumer is gone: nobody will ever take the item.
    Closed(T),
}

impl<T> PushWaitError<T> {
    /// The item that was refused.
    ///
    /// ```
    /// assert_eq!(chunkring::wait::PushWaitError::Timeout(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            PushWaitError::Timeout(item) | PushWaitError::Closed(item) => item,
        }
    }

    /// Whether there was no room in time.
    ///
    /// ```
    /// assert!(chunkring::wait::PushWaitError::Timeout(()).is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, PushWaitError::Timeout(_))
    }

    /// Whether the consumer was gone.
    ///
    /// ```
    /// assert!(chunkring::wait::PushWaitError::Closed(()).is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, PushWaitError::Closed(_))
    }
}

// By hand, so that no `T: Debug` is asked for.
impl<T> fmt::Debug for PushWaitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushWaitError::Timeout(_) => "Timeout(..)",
            PushWaitError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushWaitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushWaitError::Timeout(_) => "the ring was full until the time was up",
            PushWaitError::Closed(_) => "the ring is closed: its consumer is gone",
        })
    }
}

impl<T> core::error::Error for PushWaitError<T> {}

/// Why [`pop_wait_for`](super::Consumer::pop_wait_for) and the like gave up.
///
/// ```
/// use chunkring::{spsc, wait};
/// use std::time::Duration;
///
/// let (producer, consumer) = spsc::bounded::<u8>(8)?;
/// let (producer, mut consumer) = wait::pair(producer, consumer)?;
/// let short = Duration::from_millis(1);
/// assert_eq!(consumer.pop_wait_for(short), Err(wait::PopWaitError::Timeout));
/// drop(producer);
/// assert_eq!(consumer.pop_wait_for(short), Err(wait::PopWaitError::Closed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopWaitError {
    /// Nothing came until the time was up.
    Timeout,
    /// Nothing is there and nothing will ever come.
    Closed,
}

impl PopWaitError {
    /// Whether nothing came in time.
    ///
    /// ```
    /// assert!(chunkring::wait::PopWaitError::Timeout.is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, PopWaitError::Timeout)
    }

    /// Whether nothing will ever come again.
    ///
    /// ```
    /// assert!(chunkring::wait::PopWaitError::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, PopWaitError::Closed)
    }
}

impl fmt::Display for PopWaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PopWaitError::Timeout => "nothing came until the time was up",
            PopWaitError::Closed => "the ring is closed: its producer is gone and no item is left",
        })
    }
}

impl core::error::Error for PopWaitError {}

/// Why [`reserve_wait`](super::Producer::reserve_wait) and the like gave no slots.
///
/// ```
/// use chunkring::{Builder, wait};
///
/// let (producer, consumer) = Builder::new(8, 2).spsc::<u8>()?;
/// let (mut producer, _consumer) = wait::pair(producer, consumer)?;
/// let too_long = wait::ReserveWaitError::TooLong { requested: 9, chunk_len: 8 };
/// assert_eq!(producer.reserve_wait(9).unwrap_err(), too_long);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveWaitError {
    /// The ring was full until the time was up.
    Timeout,
    /// The consumer is gone: nobody will ever read the slots.
    Closed,
    /// The slots can never lie side by side: a chunk is shorter than that, or has become so meanwhile.
    TooLong {
        /// Slots that were asked for.
        requested: usize,
        /// Slots in a chunk, the most that can be had.
        chunk_len: usize,
    },
}

impl ReserveWaitError {
    /// Whether there was no room in time.
    ///
    /// ```
    /// assert!(chunkring::wait::ReserveWaitError::Timeout.is_timeout());
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, ReserveWaitError::Timeout)
    }

    /// Whether the consumer was gone.
    ///
    /// ```
    /// assert!(chunkring::wait::ReserveWaitError::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, ReserveWaitError::Closed)
    }

    /// Whether no chunk is long enough.
    ///
    /// ```
    /// let too_long = chunkring::wait::ReserveWaitError::TooLong { requested: 9, chunk_len: 8 };
    /// assert!(too_long.is_too_long());
    /// ```
    pub fn is_too_long(&self) -> bool {
        matches!(self, ReserveWaitError::TooLong { .. })
    }
}

impl fmt::Display for ReserveWaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReserveWaitError::Timeout => f.write_str("the ring was full until the time was up"),
            ReserveWaitError::Closed => f.write_str("the ring is closed: its consumer is gone"),
            ReserveWaitError::TooLong {
                requested,
                chunk_len,
            } => write!(
                f,
                "{requested} contiguous slots can never be had: a chunk has {chunk_len}"
            ),
        }
    }
}

impl core::error::Error for ReserveWaitError {}

/// Why two halves could not be [paired](super::pair) or [unpaired](super::unpair): they belong to
/// different rings, or the producer has clones. Nothing was changed.
///
/// ```
/// use chunkring::{spsc, wait};
///
/// let (producer, _) = spsc::bounded::<u8>(8)?;
/// let (_, consumer) = spsc::bounded::<u8>(8)?;
/// let refused = wait::pair(producer, consumer).unwrap_err();
/// assert!(!refused.of_one_ring);
/// let (_producer, _consumer) = (refused.producer, refused.consumer);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
pub struct PairError<P, C> {
    /// The producer, given back.
    pub producer: P,
    /// The consumer, given back.
    pub consumer: C,
    /// Whether they belong to one ring; then it is that the producer has clones.
    pub of_one_ring: bool,
}

// By hand, so that nothing is asked of the halves, and they may be dropped where it is printed.
impl<P, C> fmt::Debug for PairError<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairError")
            .field("of_one_ring", &self.of_one_ring)
            .finish_non_exhaustive()
    }
}

impl<P, C> fmt::Display for PairError<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.of_one_ring {
            "the producer has clones, which would not be changed with it"
        } else {
            "the producer and the consumer belong to different rings"
        })
    }
}

impl<P, C> core::error::Error for PairError<P, C> {}
