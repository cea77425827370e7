//! What can be refused, and why. An error that concerns an item gives the item back.

use core::fmt;

/// Why [`push`](crate::spsc::Producer::push) refused an item; the item is inside.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, PushError};
///
/// let (mut producer, _consumer) = Builder::new(1, 1).spsc::<&str>()?;
/// producer.push("first").unwrap();
/// assert_eq!(producer.push("second"), Err(PushError::Full("second")));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushError<T> {
    /// Every chunk is in use, or memory for one more could not be had. Try again later.
    Full(T),
    /// The consumer is gone: nobody will ever take the item.
    Closed(T),
}

impl<T> PushError<T> {
    /// The item that was refused.
    ///
    /// ```
    /// assert_eq!(chunkring::PushError::Full(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            PushError::Full(item) | PushError::Closed(item) => item,
        }
    }

    /// Whether the ring had no room.
    ///
    /// ```
    /// assert!(chunkring::PushError::Full(()).is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, PushError::Full(_))
    }

    /// Whether the consumer was gone.
    ///
    /// ```
    /// assert!(chunkring::PushError::Closed(()).is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, PushError::Closed(_))
    }
}

// By hand, so that no `T: Debug` is asked for.
impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "Full(..)",
            PushError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "the ring is full",
            PushError::Closed(_) => "the ring is closed: its consumer is gone",
        })
    }
}

impl<T> core::error::Error for PushError<T> {}

/// Why there was nothing to [`pop`](crate::spsc::Consumer::pop) or
/// [`read`](crate::spsc::Consumer::read).
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, PopError};
///
/// let (mut producer, mut consumer) = Builder::new(4, 2).spsc::<u32>()?;
/// assert_eq!(consumer.pop(), Err(PopError::Empty));
/// producer.push(1).unwrap();
/// drop(producer);
/// assert_eq!(consumer.pop(), Ok(1));
/// assert_eq!(consumer.pop(), Err(PopError::Closed));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopError {
    /// Nothing is there now; the producer lives and may bring more.
    Empty,
    /// Nothing is there and nothing will ever come: the producer is gone, and every item it had
    /// committed has been taken.
    Closed,
}

impl PopError {
    /// Whether items may still come.
    ///
    /// ```
    /// assert!(chunkring::PopError::Empty.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, PopError::Empty)
    }

    /// Whether nothing will ever come again.
    ///
    /// ```
    /// assert!(chunkring::PopError::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, PopError::Closed)
    }
}

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PopError::Empty => "the ring is empty",
            PopError::Closed => "the ring is closed: its producer is gone and no item is left",
        })
    }
}

impl core::error::Error for PopError {}

/// Why there was no chunk to [take out](crate::spsc::Consumer::take_chunk).
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, TakeError};
///
/// let (mut producer, mut consumer) = Builder::new(2, 2).spsc()?;
/// assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Empty);
/// producer.push(1).unwrap();
/// assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Open);
/// drop(producer);
/// assert_eq!(consumer.take_chunk().unwrap().len(), 1);
/// assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Closed);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeError {
    /// Nothing is there now; the producer lives and may bring more.
    Empty,
    /// There are items, in a chunk that the producer is still filling.
    Open,
    /// Nothing is there and nothing will ever come.
    Closed,
}

impl TakeError {
    /// Whether there was no item.
    ///
    /// ```
    /// assert!(chunkring::TakeError::Empty.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        matches!(self, TakeError::Empty)
    }

    /// Whether there were items, in a chunk that is not complete yet.
    ///
    /// ```
    /// assert!(chunkring::TakeError::Open.is_open());
    /// ```
    pub fn is_open(&self) -> bool {
        matches!(self, TakeError::Open)
    }

    /// Whether nothing will ever come again.
    ///
    /// ```
    /// assert!(chunkring::TakeError::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, TakeError::Closed)
    }
}

impl From<PopError> for TakeError {
    fn from(error: PopError) -> Self {
        match error {
            PopError::Empty => TakeError::Empty,
            PopError::Closed => TakeError::Closed,
        }
    }
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TakeError::Empty => "the ring is empty",
            TakeError::Open => "the oldest chunk is still being filled",
            TakeError::Closed => "the ring is closed: its producer is gone and no item is left",
        })
    }
}

impl core::error::Error for TakeError {}

/// Fewer items were there than [asked for](crate::spsc::Consumer::pop_whole_slice); none was taken.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, TooFewItems};
///
/// let (_producer, mut consumer) = Builder::new(4, 2).spsc::<u8>()?;
/// let refused = consumer.pop_whole_slice(&mut [0; 3]);
/// assert_eq!(refused, Err(TooFewItems { requested: 3, there: 0 }));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewItems {
    /// Items that were asked for.
    pub requested: usize,
    /// Items that were there.
    pub there: usize,
}

impl fmt::Display for TooFewItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooFewItems { requested, there } = self;
        write!(f, "{requested} items were asked for, and {there} are there")
    }
}

impl core::error::Error for TooFewItems {}

/// Why a [`Control`](crate::Control) refused a shape or a policy. Nothing was changed.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, ResizeError};
///
/// let (producer, _consumer) = Builder::new(64, 4).spsc::<u8>()?;
/// let refused = producer.control().set_chunks(1_000_000).unwrap_err();
/// assert!(matches!(refused, ResizeError::TooManyChunks { chunks: 1_000_000, .. }));
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// Chunks of no slots were asked for.
    ZeroChunkLen,
    /// No chunks were asked for.
    ZeroChunks,
    /// The ring's table has no room for so many chunks.
    TooManyChunks {
        /// Number of chunks that was asked for.
        chunks: usize,
        /// The most that there can be.
        max: usize,
    },
    /// The ring was not [made to be overwritten](crate::Builder::overwritable), so
    /// [`Policy::Overwrite`](crate::Policy::Overwrite) cannot be set.
    NotOverwritable,
    /// Chunks of that length would exceed the address space, or the range of positions, or, in a ring for
    /// several producers, 2^24 slots.
    TooLong {
        /// Slots in a chunk that were asked for.
        chunk_len: usize,
        /// The most that there can be.
        max: usize,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResizeError::ZeroChunkLen => f.write_str("a chunk needs at least 1 slot, not 0"),
            ResizeError::ZeroChunks => f.write_str("a ring needs at least 1 chunk, not 0"),
            ResizeError::TooManyChunks { chunks, max } => {
                write!(
                    f,
                    "the ring was made for at most {max} chunks, not {chunks}"
                )
            }
            ResizeError::NotOverwritable => f.write_str("the ring was not made to be overwritten"),
            ResizeError::TooLong { chunk_len, max } => {
                write!(
                    f,
                    "a chunk of the ring can have at most {max} slots, not {chunk_len}"
                )
            }
        }
    }
}

impl core::error::Error for ResizeError {}

/// Why [`reserve`](crate::spsc::Producer::reserve) gave no slots.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, ReserveError};
///
/// let (mut producer, _consumer) = Builder::new(8, 2).spsc::<u8>()?;
/// assert_eq!(
///     producer.reserve(9).unwrap_err(),
///     ReserveError::TooLong { requested: 9, chunk_len: 8 },
/// );
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError {
    /// Every chunk is in use, or memory for one more could not be had. Try again later.
    Full,
    /// The consumer is gone: nobody will ever read the slots.
    Closed,
    /// The slots can never lie side by side: a chunk is shorter than that.
    TooLong {
        /// Slots that were asked for.
        requested: usize,
        /// Slots in a chunk, the most that can be had.
        chunk_len: usize,
    },
}

impl ReserveError {
    /// Whether the ring had no room.
    ///
    /// ```
    /// assert!(chunkring::ReserveError::Full.is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, ReserveError::Full)
    }

    /// Whether the consumer was gone.
    ///
    /// ```
    /// assert!(chunkring::ReserveError::Closed.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, ReserveError::Closed)
    }

    /// Whether no chunk is long enough.
    ///
    /// ```
    /// assert!(chunkring::ReserveError::TooLong { requested: 9, chunk_len: 8 }.is_too_long());
    /// ```
    pub fn is_too_long(&self) -> bool {
        matches!(self, ReserveError::TooLong { .. })
    }
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReserveError::Full => f.write_str("the ring is full"),
            ReserveError::Closed => f.write_str("the ring is closed: its consumer is gone"),
            ReserveError::TooLong {
                requested,
                chunk_len,
            } => write!(
                f,
                "{requested} contiguous slots can never be had: a chunk has {chunk_len}"
            ),
        }
    }
}

impl core::error::Error for ReserveError {}

/// Why there is no next chunk, more exactly than the caller is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// No chunk was free.
    Full,
    /// The pool had no memory for one.
    Memory,
    /// The consumer is gone.
    Closed,
}

impl Refused {
    #[cold]
    pub(crate) fn with<T>(self, item: T) -> PushError<T> {
        match self {
            Refused::Full | Refused::Memory => PushError::Full(item),
            Refused::Closed => PushError::Closed(item),
        }
    }
}

/// Why a [`Builder`](crate::Builder) made no ring. Nothing is left allocated.
///
/// # Examples
///
/// ```
/// use chunkring::{BuildError, Builder};
///
/// assert_eq!(Builder::new(0, 4).spsc::<u8>().unwrap_err(), BuildError::ZeroChunkLen);
/// assert_eq!(
///     Builder::new(20_000_000, 2).mpsc::<u8>().unwrap_err().to_string(),
///     "a chunk of such a ring can have at most 16777216 slots, not 20000000",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A chunk of no slots was asked for.
    ZeroChunkLen,
    /// A ring of no chunks was asked for.
    ZeroChunks,
    /// A ring of [capacity](crate::Builder::with_capacity) zero was asked for.
    ZeroCapacity,
    /// A chunk would have more slots than one can have: with its items it must stay within `isize::MAX`
    /// bytes, and in a ring for several producers within 2^24 slots.
    ChunkTooLong {
        /// Slots in a chunk that were asked for, or that a [capacity](crate::Builder::with_capacity)
        /// comes to.
        chunk_len: usize,
        /// The most that there can be, in a chunk of such items without a headroom.
        max: usize,
    },
    /// The [headroom](crate::Builder::headroom) and the slots of a chunk would exceed the address space.
    HeadroomTooLarge {
        /// Bytes that were asked for.
        headroom: usize,
        /// The most bytes that there can be before as many slots.
        max: usize,
    },
    /// The ring would have, could be [given](crate::Builder::max_chunks) or could
    /// [grow](crate::Policy::Grow) to more chunks than there can be: their slots must stay within
    /// `isize::MAX`, and the table of them within `isize::MAX` bytes, or 2^32 chunks in a ring for several
    /// producers.
    TooManyChunks {
        /// Number of chunks that was asked for, or that a [capacity](crate::Builder::with_capacity)
        /// comes to.
        chunks: usize,
        /// Slots in each of them.
        chunk_len: usize,
        /// The most chunks that there can be, of that length.
        max: usize,
    },
    /// Chunks were to be allocated [up front](crate::Builder::preallocate), and the budget of the
    /// [pool](crate::Builder::pool) has no room for them.
    OverBudget {
        /// Bytes that all the chunks of the ring take.
        bytes: usize,
        /// Bytes of the budget that were used already.
        used: usize,
        /// The budget, in bytes.
        budget: usize,
    },
    /// The allocator, or the [source](crate::Source) of the pool, refused the words that both halves share,
    /// the table of chunks, or a chunk that was to be allocated up front.
    OutOfMemory,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::ZeroChunkLen => f.write_str("a chunk needs at least 1 slot, not 0"),
            BuildError::ZeroChunks => f.write_str("a ring needs at least 1 chunk, not 0"),
            BuildError::ZeroCapacity => f.write_str("a ring's capacity is at least 1 item, not 0"),
            BuildError::ChunkTooLong { chunk_len, max } => write!(
                f,
                "a chunk of such a ring can have at most {max} slots, not {chunk_len}"
            ),
            BuildError::HeadroomTooLarge { headroom, max } => write!(
                f,
                "a chunk of such a ring can have a headroom of at most {max} bytes, not {headroom}"
            ),
            BuildError::TooManyChunks {
                chunks,
                chunk_len,
                max,
            } => write!(
                f,
                "a ring can have at most {max} chunks of {chunk_len} slots, not {chunks}"
            ),
            BuildError::OverBudget {
                bytes,
                used,
                budget,
            } => write!(
                f,
                "the ring's chunks take {bytes} bytes, and of the pool's budget of {budget} bytes, \
                 {used} are used already"
            ),
            BuildError::OutOfMemory => f.write_str("the allocator refused the ring's memory"),
        }
    }
}

impl core::error::Error for BuildError {}
