//! The shape of a ring: how long its chunks are, and how many there may be.

use crate::chunk::Form;
use crate::error::BuildError;
#[cfg(target_has_atomic = "64")]
use crate::mpsc;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::settings::Plan;
use crate::spsc;

/// Bytes of items that a chunk holds where nobody says otherwise.
const DEFAULT_CHUNK_BYTES: usize = 2048;

/// Most chunks that [`Builder::with_capacity`] divides a ring into.
const DEFAULT_MAX_CHUNKS: usize = 1024;

/// Chunks that a ring can grow to at least, where nobody says otherwise.
const DEFAULT_ENTRIES: usize = 16;

/// Makes rings of a given shape.
///
/// A ring is `chunks` chunks of `chunk_len` slots each. Short chunks give room back sooner; long
/// ones allow longer contiguous reservations and cost less at their ends. Room comes back a chunk
/// at a time, so a ring of two chunks can be half empty and yet refuse an item.
///
/// # Examples
///
/// ```
/// use chunkring::Builder;
///
/// // Four chunks of 256 bytes, all of them allocated now rather than when first needed.
/// let (producer, consumer) = Builder::new(256, 4).preallocate(true).spsc::<u8>()?;
/// assert_eq!(producer.capacity(), 1024);
/// assert_eq!(consumer.capacity(), 1024);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    shape: Shape,
    preallocate: bool,
    max_chunks: Option<usize>,
    headroom: usize,
    pool: Option<Pool>,
    policy: Policy,
    overwritable: bool,
    origin: usize,
}

/// What one kind of ring can be.
struct Kind {
    max_entries: usize,
    max_chunk_len: usize,
    /// Whether the chunks' lengths are powers of two.
    powers_of_two: bool,
    overwritable: bool,
}

impl Kind {
    /// The longest chunk that can exist at all.
    fn longest<T>(&self, form: Form<T>) -> usize {
        self.round_down(form.max_len().min(self.max_chunk_len))
    }

    /// The length that a chunk gets where `len` is asked for. What is too long stays so.
    fn round_up(&self, len: usize) -> usize {
        if self.powers_of_two {
            len.checked_next_power_of_two().unwrap_or(len)
        } else {
            len
        }
    }

    /// The longest length that a chunk can get and that is not more than `len`.
    fn round_down(&self, len: usize) -> usize {
        if self.powers_of_two {
            len.checked_ilog2().map_or(0, |bits| 1 << bits)
        } else {
            len
        }
    }
}

/// What was asked for: the shape depends on the size of an item only where it is left open.
#[derive(Clone, Debug)]
enum Shape {
    Exact { chunk_len: usize, chunks: usize },
    Capacity(usize),
}

impl Builder {
    /// A ring of exactly `chunks` chunks of `chunk_len` slots (items).
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 3).spsc::<u8>()?;
    /// assert_eq!(producer.capacity(), 192);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn new(chunk_len: usize, chunks: usize) -> Self {
        Builder {
            shape: Shape::Exact { chunk_len, chunks },
            preallocate: false,
            max_chunks: None,
            headroom: 0,
            pool: None,
            policy: Policy::Refuse,
            overwritable: false,
            origin: 0,
        }
    }

    /// A ring in which `capacity` items always fit, divided as suits the size of an item: chunks
    /// of about 2 KiB or 32 items, whichever is more; shorter ones in a small ring, so that there are
    /// several, and longer ones in a huge ring, so that there are no more than about a thousand.
    ///
    /// One chunk more is added than the capacity needs, so that an item is never refused while
    /// fewer than `capacity` are in the ring, wherever in its chunks they lie. (Long contiguous
    /// reservations can leave slots unused; only those can eat into this promise.) With a capacity of zero no ring is
    /// made ([`BuildError::ZeroCapacity`]).
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::with_capacity(1000).spsc::<u64>()?;
    /// assert!(producer.capacity() >= 1000);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn with_capacity(capacity: usize) -> Self {
        Builder {
            shape: Shape::Capacity(capacity),
            preallocate: false,
            max_chunks: None,
            headroom: 0,
            pool: None,
            policy: Policy::Refuse,
            overwritable: false,
            origin: 0,
        }
    }

    /// Whether every chunk is allocated when the ring is made, so that no push allocates.
    /// Otherwise (the default) a chunk is allocated when it is first needed.
    ///
    /// Where several producers need a chunk at the same moment, each may take one, which it asks the pool for, and
    /// is refused where that has nothing. All but one of them give theirs to the pool, which keeps it for the next
    /// that is needed. So a ring may have one chunk more for each producer but one, whichever size it has, until
    /// [`trim`](crate::Control::trim).
    ///
    /// Either way a chunk that has been read is used again. A ring that was given all its chunks keeps
    /// them, but for those that are [taken out](crate::spsc::Consumer::take_chunk),
    /// [trimmed](crate::Control::trim), or no longer of the ring's shape; another has a few of them idle
    /// (two; or 16 KiB, and up to 64 KiB, 64 chunks at most, if as many were in use lately, where it is for one producer
    /// and no [pool](Self::pool) is shared), and
    /// gives the others' memory back.
    ///
    /// ```
    /// let ring = chunkring::Builder::new(4096, 8).preallocate(true).spsc::<u8>()?;
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[must_use]
    pub fn preallocate(mut self, yes: bool) -> Self {
        self.preallocate = yes;
        self
    }

    /// How many chunks the ring can be [given](crate::Control::set_chunks) while it is used: at least
    /// as many as this says and as it begins with. Where it is not called, 16 or as many as it begins
    /// with, as far as their slots stay within `isize::MAX`. The table takes 64 bytes for each,
    /// rounded up to a power of two.
    ///
    /// This makes room and takes none away: a number below what the ring begins with, or below what its
    /// [policy](Self::policy) lets it grow to, changes nothing. How many chunks a ring has is said by
    /// [`new`](Self::new).
    ///
    /// ```
    /// use chunkring::Builder;
    ///
    /// let (producer, _consumer) = Builder::new(64, 4).max_chunks(64).spsc::<u8>()?;
    /// producer.control().set_chunks(64)?;
    /// let (producer, _consumer) = Builder::new(64, 100).max_chunks(10).spsc::<u8>()?;
    /// assert_eq!((producer.control().chunks(), producer.control().max_chunks()), (100, 128));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_chunks(mut self, max: usize) -> Self {
        self.max_chunks = Some(max);
        self
    }

    /// Bytes that each chunk has before its first slot, for whoever [takes it
    /// out](crate::spsc::Consumer::take_chunk) to put a header there; see
    /// [`OwnedChunk::headroom_mut`](crate::OwnedChunk::headroom_mut). None where this is not called. A ring is
    /// refused ([`BuildError::HeadroomTooLarge`]) where it and the chunk's slots exceed the address space.
    ///
    /// ```
    /// let builder = chunkring::Builder::new(4096, 4).headroom(24);
    /// ```
    #[must_use]
    pub fn headroom(mut self, bytes: usize) -> Self {
        self.headroom = bytes;
        self
    }

    /// The pool that the chunks come from. A ring has one of its own, without a budget, where this
    /// is not called.
    ///
    /// ```
    /// let pool = chunkring::Pool::new(1 << 20)?;
    /// let builder = chunkring::Builder::new(4096, 4).pool(&pool);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[must_use]
    pub fn pool(mut self, pool: &Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// What the ring does when its chunks are used up: [`Policy::Refuse`] where this is not called. A
    /// [`Control`](crate::Control::set_policy) can change it later.
    ///
    /// [`Policy::Grow`] makes the ring's table long enough for its bound, as
    /// [`max_chunks`](Self::max_chunks) does. [`Policy::Overwrite`] makes the ring
    /// [overwritable](Self::overwritable).
    ///
    /// ```
    /// use chunkring::{Builder, Policy};
    ///
    /// let builder = Builder::new(64, 4).policy(Policy::Grow { max_chunks: 100 });
    /// assert!(builder.spsc::<u8>()?.0.control().max_chunks() >= 100);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Whether the policy of a single-producer single-consumer ring may be
    /// [changed](crate::Control::set_policy) to [`Policy::Overwrite`] later. A ring that is built with
    /// that policy is overwritable whatever is said here. Not otherwise (the default), since an
    /// overwritable ring pays for it: one more atomic exchange for each half and chunk, and twice the
    /// memory for its table.
    ///
    /// ```
    /// use chunkring::{Builder, Policy};
    ///
    /// let (producer, _consumer) = Builder::new(64, 4).overwritable(true).spsc::<u8>()?;
    /// producer.control().set_policy(Policy::Overwrite)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn overwritable(mut self, yes: bool) -> Self {
        self.overwritable = yes;
        self
    }

    /// Where positions and sequence numbers begin, so that tests reach their wrap-around.
    #[doc(hidden)]
    #[must_use]
    pub fn origin(mut self, origin: usize) -> Self {
        self.origin = origin;
        self
    }

    /// Makes a single-producer single-consumer ring.
    ///
    /// Allocates the words that the halves share and a pool (about a kibibyte and a half), the table (64 bytes
    /// for each of [`max_chunks`](Self::max_chunks), twice that in an
    /// [overwritable](Self::overwritable) ring), and the chunks too where
    /// [`preallocate`](Self::preallocate) asks for it.
    ///
    /// # Errors
    /// [`BuildError`] where the shape is impossible, or memory for it cannot be had or exceeds the
    /// [pool](Self::pool)'s budget; nothing is left allocated then.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(16, 4).spsc()?;
    /// producer.push('a').unwrap();
    /// assert_eq!(consumer.pop(), Ok('a'));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn spsc<T>(&self) -> Result<(spsc::Producer<T>, spsc::Consumer<T>), BuildError> {
        let kind = Kind {
            max_entries: spsc::shared::MAX_ENTRIES,
            // Positions reach no farther.
            max_chunk_len: isize::MAX as usize,
            powers_of_two: false,
            overwritable: self.overwritable || self.policy == Policy::Overwrite,
        };
        spsc::ring(self.plan(&kind, Form::new())?)
    }

    /// Makes a multi-producer single-consumer ring. Chunk lengths are rounded up to powers of two.
    ///
    /// Allocates the words that both sides share and a pool (less than two kibibytes), the table (16
    /// bytes for each of [`max_chunks`](Self::max_chunks), rounded up to a power of two, and as much again
    /// in a ring that is preallocated), and the chunks too where
    /// [`preallocate`](Self::preallocate) asks for it.
    ///
    /// # Errors
    /// [`BuildError`] where the shape is impossible (a chunk has at most 2^24 slots, and there are at most
    /// 2^32 of them), or memory for it cannot be had or exceeds the [pool](Self::pool)'s budget; nothing
    /// is left allocated then.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(16, 4).mpsc()?;
    /// let mut other = producer.clone();
    /// producer.push('a').unwrap();
    /// other.push('b').unwrap();
    /// assert_eq!(consumer.pop(), Ok('a'));
    /// assert_eq!(consumer.pop(), Ok('b'));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[cfg(target_has_atomic = "64")]
    pub fn mpsc<T>(&self) -> Result<(mpsc::Producer<T>, mpsc::Consumer<T>), BuildError> {
        let kind = Kind {
            max_entries: mpsc::shared::MAX_ENTRIES,
            max_chunk_len: mpsc::MAX_CHUNK_LEN,
            powers_of_two: true,
            overwritable: true,
        };
        mpsc::ring(&self.plan(&kind, Form::with_flags())?)
    }

    /// The shape, checked for one kind of ring.
    fn plan<T>(&self, kind: &Kind, form: Form<T>) -> Result<Plan<T>, BuildError> {
        let (chunk_len, chunks) = self.resolve(size_of::<T>(), kind)?;
        let longest = kind.longest(form);
        if chunk_len > longest {
            return Err(BuildError::ChunkTooLong {
                chunk_len: match self.shape {
                    // As it was asked for: it may have been rounded up.
                    Shape::Exact { chunk_len, .. } => chunk_len,
                    Shape::Capacity(_) => chunk_len,
                },
                max: longest,
            });
        }
        let headroom = self.headroom;
        let form = form
            .with_headroom(headroom, chunk_len)
            .map_err(|max| BuildError::HeadroomTooLarge { headroom, max })?;
        let grown = match self.policy {
            Policy::Grow { max_chunks: 0 } => return Err(BuildError::ZeroChunks),
            Policy::Grow { max_chunks } => max_chunks,
            _ => 1,
        };
        let least = chunks.max(self.max_chunks.unwrap_or(1)).max(grown);
        // Half the range of a position tells "ahead" from "behind" after a wrap-around.
        let most = (isize::MAX as usize / chunk_len).min(kind.max_entries);
        let too_many = BuildError::TooManyChunks {
            chunks: least,
            chunk_len,
            max: most,
        };
        if least > most {
            return Err(too_many);
        }
        let entries = least
            .max(self.max_chunks.unwrap_or(DEFAULT_ENTRIES))
            .checked_next_power_of_two()
            .ok_or(too_many)?;
        let max_chunks = entries.min(most);
        let pool = match &self.pool {
            Some(pool) => pool.clone(),
            None => Pool::new(usize::MAX)?,
        };
        let longest = kind.longest(form).min(isize::MAX as usize / max_chunks);
        Ok(Plan {
            chunk_len,
            chunks,
            entries,
            max_chunks,
            max_chunk_len: kind.round_down(longest),
            preallocate: self.preallocate,
            shares_pool: self.pool.is_some(),
            policy: self.policy,
            overwritable: kind.overwritable,
            origin: self.origin,
            form,
            pool,
        })
    }

    /// The chunk length and the number of chunks for items of `item_size` bytes.
    fn resolve(&self, item_size: usize, kind: &Kind) -> Result<(usize, usize), BuildError> {
        let (chunk_len, chunks) = match self.shape {
            Shape::Exact {
                chunk_len: 0,
                chunks,
            } => (0, chunks),
            Shape::Exact { chunk_len, chunks } => (kind.round_up(chunk_len), chunks),
            Shape::Capacity(0) => return Err(BuildError::ZeroCapacity),
            Shape::Capacity(capacity) => {
                let by_bytes = (DEFAULT_CHUNK_BYTES / item_size.max(1)).max(32);
                // Small rings get several chunks all the same: room comes back by chunks.
                let share = capacity.div_ceil(2);
                let least = capacity.div_ceil(DEFAULT_MAX_CHUNKS);
                let chunk_len = kind.round_up(by_bytes.min(share).max(least));
                let chunk_len = chunk_len.min(kind.max_chunk_len);
                (chunk_len, capacity.div_ceil(chunk_len).saturating_add(1))
            }
        };
        match (chunk_len, chunks) {
            (0, _) => Err(BuildError::ZeroChunkLen),
            (_, 0) => Err(BuildError::ZeroChunks),
            shape => Ok(shape),
        }
    }
}
