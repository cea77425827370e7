//! What a ring has lost or refused, counted where it happens, and the picture of it for whoever asks.

use crate::error::Refused;
use crate::policy::Policy;
use crate::primitive::{AtomicUsize, Ordering};
use crate::settings::Resizable;

/// The counters. Touched only where a chunk is used up; on a line of their own, so that a producer which
/// is refused again and again disturbs nobody.
#[repr(align(64))]
pub(crate) struct Losses {
    overwritten: AtomicUsize,
    refused_full: AtomicUsize,
    refused_memory: AtomicUsize,
    refused_closed: AtomicUsize,
}

impl Losses {
    pub(crate) fn new() -> Self {
        Losses {
            overwritten: AtomicUsize::new(0),
            refused_full: AtomicUsize::new(0),
            refused_memory: AtomicUsize::new(0),
            refused_closed: AtomicUsize::new(0),
        }
    }

    /// Items that the ring has dropped to make room.
    pub(crate) fn overwritten(&self) -> usize {
        // Relaxed: as below.
        self.overwritten.load(Ordering::Relaxed)
    }

    /// Counts items that the ring has dropped to make room.
    pub(crate) fn overwrite(&self, items: usize) {
        // Relaxed: a count; nothing is reached through it.
        self.overwritten.fetch_add(items, Ordering::Relaxed);
    }

    /// Counts items that were refused.
    #[cold]
    pub(crate) fn refuse(&self, why: Refused, items: usize) {
        let counter = match why {
            Refused::Full => &self.refused_full,
            Refused::Memory => &self.refused_memory,
            Refused::Closed => &self.refused_closed,
        };
        // Relaxed: as above.
        counter.fetch_add(items, Ordering::Relaxed);
    }
}

/// A ring at one moment; see [`Control::statistics`](crate::Control::statistics).
///
/// The counters count items since the ring was made, and come round to zero after `usize::MAX`. Only
/// overwritten items are lost by the ring. A refused one was handed back to the caller, or never left
/// it, and counts at each attempt: one for a refused [`push`](crate::spsc::Producer::push), as many as
/// were asked for where a [`reserve`](crate::spsc::Producer::reserve) or a whole slice is refused, and
/// none where a partial slice or an iterator goes in as far as there is room. What can never fit (a
/// reservation that is `TooLong`) is not counted.
///
/// # Examples
///
/// ```
/// use chunkring::{Builder, Policy};
///
/// let (mut producer, _consumer) = Builder::new(2, 1).spsc()?;
/// let control = producer.control();
/// for number in 0..5 {
///     let _ = producer.push(number);
/// }
/// let statistics = control.statistics();
/// assert_eq!(statistics.refused_full, 3);
/// assert_eq!((statistics.chunk_len, statistics.chunks, statistics.chunks_in_use), (2, 1, 1));
/// assert_eq!(statistics.policy, Policy::Refuse);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Slots (items) of the chunks that come, as set.
    pub chunk_len: usize,
    /// Chunks that the ring may have, as set.
    pub chunks: usize,
    /// What it does when they are used up, as set.
    pub policy: Policy,
    /// Chunks that it has; see [`Control::chunks_in_use`](crate::Control::chunks_in_use).
    pub chunks_in_use: usize,
    /// Items that were dropped to make room for new ones.
    pub overwritten: usize,
    /// Items that were refused since no chunk was free.
    pub refused_full: usize,
    /// Items that were refused since a chunk was due and the pool's budget or the allocator refused it.
    pub refused_memory: usize,
    /// Items that were refused since the consumer was gone.
    pub refused_closed: usize,
    /// Bytes that the ring's pool uses, for all its rings; see [`Pool::used`](crate::Pool::used).
    pub pool_used: usize,
    /// Bytes that the pool may use.
    pub pool_budget: usize,
}

/// How often a picture is taken at most.
const ATTEMPTS: usize = 8;

impl Statistics {
    /// Takes pictures until two in a row are the same, so that every number in it was true at one moment
    /// (unless something changed and changed back between the two).
    pub(crate) fn of<T>(ring: &dyn Resizable<T>) -> Self {
        let mut last = Self::once(ring);
        for _ in 1..ATTEMPTS {
            let next = Self::once(ring);
            if next == last {
                break;
            }
            last = next;
        }
        last
    }

    fn once<T>(ring: &dyn Resizable<T>) -> Self {
        let settings = ring.settings();
        // Relaxed, here and below: settings and counts.
        let load = |word: &AtomicUsize| word.load(Ordering::Relaxed);
        Statistics {
            chunk_len: load(&settings.chunk_len),
            chunks: load(&settings.chunks),
            policy: settings.policy(),
            chunks_in_use: ring.chunks_in_use(),
            overwritten: settings.losses.overwritten(),
            refused_full: load(&settings.losses.refused_full),
            refused_memory: load(&settings.losses.refused_memory),
            refused_closed: load(&settings.losses.refused_closed),
            pool_used: settings.pool.used(),
            pool_budget: settings.pool.budget(),
        }
    }
}
