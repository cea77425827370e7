//! What both kinds of ring have: a shape that can be changed, the pool, and the words that tell of
//! the halves' ends.

use crate::chunk::Form;
use crate::error::BuildError;
#[cfg(feature = "std")]
use crate::event::Event;
use crate::policy::Policy;
use crate::pool::{NoBlock, Pool};
use crate::primitive::{AtomicBool, AtomicUsize, Ordering, Slot, or_few_in_a_model};
use crate::statistics::Losses;
use core::ptr::NonNull;
use crossbeam_utils::CachePadded;

/// What both halves read and hardly anybody writes.
pub(crate) struct Settings<T> {
    /// Slots of the next chunk.
    pub(crate) chunk_len: AtomicUsize,
    /// Chunks that may be in traffic.
    pub(crate) chunks: AtomicUsize,
    /// The most chunks that could be in traffic at any time so far: where as many may be now, there are not
    /// too many.
    pub(crate) most_ever: AtomicUsize,
    /// The most chunks that the ring can be given.
    pub(crate) max_chunks: usize,
    /// The longest chunk that the ring can be given.
    pub(crate) max_chunk_len: usize,
    /// Idle chunks that stay in the ring; more go to the pool.
    pub(crate) keep_idle: usize,
    /// More stay as long as they are no more bytes than these.
    pub(crate) keep_bytes: usize,
    /// What happens when the chunks are used up; see [`policy`](Self::policy).
    pub(crate) policy: AtomicUsize,
    /// Whether the policy may become [`Policy::Overwrite`].
    pub(crate) overwritable: bool,
    pub(crate) form: Form<T>,
    pub(crate) pool: Pool,
    /// Whether no producer is left.
    pub(crate) producer_gone: AtomicBool,
    pub(crate) consumer_gone: AtomicBool,
    /// Whether one half is gone, so that the other is the last.
    pub(crate) half_gone: AtomicBool,
    /// The consumer would like the current chunk to be sealed.
    pub(crate) seal_wanted: AtomicBool,
    /// In lines of their own: a producer that is refused again and again counts each time, and must not
    /// take away what the consumer looks at.
    pub(crate) losses: CachePadded<Losses>,
    /// What a consumer waits for: items, or the producer's end.
    #[cfg(feature = "std")]
    pub(crate) items: Event,
}

/// A ring's shape, checked but for the memory that it needs.
pub(crate) struct Plan<T> {
    pub(crate) chunk_len: usize,
    pub(crate) chunks: usize,
    /// Entries of the table, a power of two.
    pub(crate) entries: usize,
    /// The most chunks that the ring can be given.
    pub(crate) max_chunks: usize,
    /// The longest chunk that the ring can be given.
    pub(crate) max_chunk_len: usize,
    pub(crate) preallocate: bool,
    /// Whether other rings may take their chunks from the same pool.
    pub(crate) shares_pool: bool,
    pub(crate) policy: Policy,
    /// Whether the policy may become [`Policy::Overwrite`]; true where it begins as that.
    pub(crate) overwritable: bool,
    pub(crate) origin: usize,
    pub(crate) form: Form<T>,
    pub(crate) pool: Pool,
}

/// Idle chunks that circulate within the ring. Few, so that they stay in the cache; two, so that a
/// producer that is one chunk ahead need not wait for the pool.
const KEEP_IDLE: usize = 2;

/// Bytes of idle chunks that a ring for one producer keeps where nobody else can use them, and as many were needed
/// lately: a burst of as many comes and goes without the allocator. They fit into a core's second cache.
const KEEP_BYTES: usize = or_few_in_a_model(64 << 10, 0);

/// Bytes of them that stay also where fewer were needed lately: two halves that are at work at the same time are less in
/// each other's way where they do not write the same few lines.
pub(crate) const FEW_BYTES: usize = 16 << 10;

impl<T> Settings<T> {
    pub(crate) fn new(plan: &Plan<T>) -> Self {
        Settings {
            chunk_len: AtomicUsize::new(plan.chunk_len),
            chunks: AtomicUsize::new(plan.chunks),
            most_ever: AtomicUsize::new(plan.policy.most_chunks(plan.chunks)),
            max_chunks: plan.max_chunks,
            max_chunk_len: plan.max_chunk_len,
            // A ring that was given all its chunks beforehand keeps them.
            keep_idle: if plan.preallocate {
                usize::MAX
            } else {
                KEEP_IDLE
            },
            keep_bytes: if plan.shares_pool { 0 } else { KEEP_BYTES },
            policy: AtomicUsize::new(plan.policy.encode()),
            overwritable: plan.overwritable,
            form: plan.form,
            pool: plan.pool.clone(),
            producer_gone: AtomicBool::new(false),
            consumer_gone: AtomicBool::new(false),
            half_gone: AtomicBool::new(false),
            seal_wanted: AtomicBool::new(false),
            losses: CachePadded::new(Losses::new()),
            #[cfg(feature = "std")]
            items: Event::new(),
        }
    }

    /// One of the `chunks` chunks that a ring is to have from the beginning, and of which it has `made` so far.
    pub(crate) fn make_ahead(
        &self,
        chunk_len: usize,
        chunks: usize,
        made: usize,
    ) -> Result<NonNull<Slot<T>>, BuildError> {
        self.form.make(chunk_len, &self.pool).map_err(|why| {
            let block = self.form.block_size(chunk_len).unwrap_or(usize::MAX);
            match why {
                NoBlock::Memory => BuildError::OutOfMemory,
                NoBlock::Budget => BuildError::OverBudget {
                    bytes: block.saturating_mul(chunks),
                    used: self.pool.used().saturating_sub(block.saturating_mul(made)),
                    budget: self.pool.budget(),
                },
            }
        })
    }

    /// What happens when the chunks are used up, as set.
    pub(crate) fn policy(&self) -> Policy {
        // Relaxed: a setting.
        Policy::decode(self.policy.load(Ordering::Relaxed))
    }

    /// The most chunks that may be in traffic: as many as the ring may have, or may grow to.
    pub(crate) fn most_chunks(&self) -> usize {
        // Relaxed: settings.
        self.policy()
            .most_chunks(self.chunks.load(Ordering::Relaxed))
    }
}

/// What a [`Control`](crate::Control) needs of either kind of ring.
pub(crate) trait Resizable<T> {
    fn settings(&self) -> &Settings<T>;

    /// Frees idle chunks until the ring has at most `most`, as far as there are idle ones.
    fn trim(&self, most: usize);

    /// Chunks in traffic and idle ones.
    fn chunks_in_use(&self) -> usize;

    /// The length that chunks get where `chunk_len` is asked for.
    fn round_chunk_len(&self, chunk_len: usize) -> usize;
}
