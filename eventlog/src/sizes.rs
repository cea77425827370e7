//! How large a log's buffers are and what they do when they are full: one setting for all of them, which
//! can be changed while they are used.

use crate::EventLog;
use crate::buffer::{BufferShape, BufferWriter, MAX_CHUNKS};
use crate::buffer_reader::BufferReader;
use crate::clock::Clock;
use crate::counter::Counters;
use crate::error::ResizeError;
use crate::format::{CapNo, Header};
use crate::policy::Policy;
use crate::shared_buffer::{self, SharedBuffer};
use crate::signals::Signals;
use crate::stock::{Blocks, Stock};
use chunkring::{BuildError, Builder, Control, Pool};
use crossbeam_utils::CachePadded;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Which ring a buffer is made of.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Capability,
    Shared,
}

impl Kind {
    fn shape(self, bytes: usize) -> BufferShape {
        match self {
            Kind::Capability => BufferShape::of_capability(bytes),
            Kind::Shared => BufferShape::of_shared(bytes),
        }
    }
}

fn builder(shape: BufferShape, pool: &Pool) -> Builder {
    // Chunks are long, so that what it costs to be ready for overwriting is paid seldom.
    Builder::new(shape.chunk_len, shape.chunks)
        .max_chunks(MAX_CHUNKS)
        .overwritable(true)
        .preallocate(true)
        .pool(pool)
}

/// The handle by which one buffer's size and policy are changed.
#[derive(Debug)]
pub(crate) struct BufferControl {
    kind: Kind,
    ring: Control<u8>,
    stock: Stock,
}

impl BufferControl {
    /// Bytes that the buffer may hold, as set.
    pub(crate) fn size(&self) -> usize {
        let chunk_len = self.ring.chunk_len();
        let share = match self.kind {
            Kind::Capability => chunk_len - BufferShape::OVERHEAD,
            Kind::Shared => chunk_len,
        };
        share * self.ring.chunks()
    }

    /// Bytes of a chunk to come.
    pub(crate) fn chunk_len(&self) -> usize {
        self.ring.chunk_len()
    }

    /// Bytes of all its chunks.
    pub(crate) fn memory(&self) -> usize {
        self.ring.pool().used()
    }

    /// Allocates what the buffer needs to have that shape and has not.
    fn prepare(&self, shape: BufferShape) -> Result<Blocks, BuildError> {
        let mut missing = shape.chunks;
        if shape.chunk_len == self.ring.chunk_len() {
            missing = missing.saturating_sub(self.ring.chunks());
        }
        if missing == 0 {
            return Ok(Blocks::default());
        }
        // A ring that is never used has chunks of the same layout, and leaves them in its stock.
        let stock = Stock::keeping(missing).ok_or(BuildError::OutOfMemory)?;
        let pool = Pool::with_source(usize::MAX, stock.clone())?;
        let shape = BufferShape {
            chunks: missing,
            ..shape
        };
        match self.kind {
            Kind::Capability => drop(builder(shape, &pool).spsc::<u8>()?),
            Kind::Shared => drop(shared_buffer::ring(&builder(shape, &pool))?),
        }
        drop(pool);
        Ok(stock.take())
    }

    /// Gives the buffer that shape, with the memory that was prepared for it.
    fn apply(&self, shape: BufferShape, prepared: Blocks, policy: Policy) {
        {
            let mut stock = self.stock.blocks();
            let kept = if shape.chunk_len == self.ring.chunk_len() {
                // One that is still in stock is of a chunk that the buffer has not needed yet.
                let fewer = self.ring.chunks().saturating_sub(shape.chunks);
                stock.len().saturating_sub(fewer)
            } else {
                0
            };
            stock.truncate(kept);
            stock.append(prepared);
        }
        self.ring
            .resize(shape.chunk_len, shape.chunks)
            .expect("a size within the bounds is one that the ring can have");
        self.set_policy(policy, shape);
    }

    fn set_policy(&self, policy: Policy, shape: BufferShape) {
        let policy = match policy {
            Policy::DropNewest | Policy::Wait { .. } => chunkring::Policy::Refuse,
            Policy::OverwriteOldest => chunkring::Policy::Overwrite,
            Policy::Grow { max_bytes } => chunkring::Policy::Grow {
                max_chunks: shape.most_chunks(max_bytes),
            },
        };
        self.ring
            .set_policy(policy)
            .expect("the ring was made for every policy");
    }
}

/// The settings of all buffers of a log.
#[derive(Debug)]
pub(crate) struct Sizes {
    state: Mutex<State>,
    clock: Clock,
    signals: Arc<Signals>,
    header: Arc<Header>,
}

#[derive(Debug)]
struct State {
    bytes: usize,
    policy: Policy,
    /// Those that live, and some that have ended.
    buffers: Vec<Weak<BufferControl>>,
}

impl State {
    /// The buffers that live.
    fn buffers(&self) -> impl Iterator<Item = Arc<BufferControl>> {
        self.buffers.iter().filter_map(Weak::upgrade)
    }

    fn control(
        &mut self,
        kind: Kind,
        shape: BufferShape,
        stock: Stock,
        ring: Control<u8>,
    ) -> Arc<BufferControl> {
        let control = Arc::new(BufferControl { kind, ring, stock });
        control.set_policy(self.policy, shape);
        self.buffers.retain(|buffer| buffer.strong_count() != 0);
        self.buffers.push(Arc::downgrade(&control));
        control
    }
}

impl Sizes {
    /// The settings of a log to come; `bytes` must be within the bounds.
    pub(crate) fn new(
        bytes: usize,
        policy: Policy,
        clock: Clock,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        signals.set_wait_limit(policy.wait_limit());
        Sizes {
            state: Mutex::new(State {
                bytes,
                policy,
                buffers: Vec::new(),
            }),
            clock,
            signals,
            header,
        }
    }

    /// Whether buffers can have that size.
    pub(crate) fn check(bytes: usize) -> Result<(), ResizeError> {
        if bytes < BufferShape::MINIMUM {
            return Err(ResizeError::TooSmall {
                bytes,
                minimum: BufferShape::MINIMUM,
            });
        }
        if bytes > BufferShape::MAXIMUM {
            return Err(ResizeError::TooLarge {
                bytes,
                maximum: BufferShape::MAXIMUM,
            });
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Changed as a whole, by nothing that panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes both ends of a capability's buffer, with all its memory.
    pub(crate) fn buffer(&self, cap: CapNo) -> Result<(BufferWriter, BufferReader), BuildError> {
        let mut state = self.state();
        let shape = BufferShape::of_capability(state.bytes);
        let stock = Stock::default();
        let pool = Pool::with_source(usize::MAX, stock.clone())?;
        let (producer, consumer) = builder(shape, &pool).spsc()?;
        let control = state.control(Kind::Capability, shape, stock, producer.control());
        let counters = Arc::new(CachePadded::new(Counters::default()));
        let writer = BufferWriter::new(
            producer,
            self.clock.clone(),
            Arc::clone(&counters),
            Arc::clone(&self.signals),
            Arc::clone(&self.header),
        );
        let signals = Arc::clone(&self.signals);
        let header = Arc::clone(&self.header);
        let reader = BufferReader::own(cap, consumer, counters, control, signals, header);
        Ok((writer, reader))
    }

    /// Makes both ends of the shared buffer, with all its memory.
    pub(crate) fn shared_buffer(&self) -> Result<(SharedBuffer, BufferReader), BuildError> {
        let mut state = self.state();
        let shape = BufferShape::of_shared(state.bytes);
        let stock = Stock::default();
        let pool = Pool::with_source(usize::MAX, stock.clone())?;
        let (producer, consumer) = shared_buffer::ring(&builder(shape, &pool))?;
        let control = state.control(Kind::Shared, shape, stock, producer.control());
        let signals = Arc::clone(&self.signals);
        let header = Arc::clone(&self.header);
        let shared = SharedBuffer::new(
            producer,
            self.clock.clone(),
            Arc::clone(&signals),
            Arc::clone(&header),
        );
        let reader = BufferReader::shared(consumer, shared.stripes(), control, signals, header);
        Ok((shared, reader))
    }

    fn resize(&self, bytes: usize) -> Result<(), ResizeError> {
        Self::check(bytes)?;
        let mut state = self.state();
        let mut prepared = Vec::new();
        for buffer in state.buffers() {
            let shape = buffer.kind.shape(bytes);
            let blocks = buffer
                .prepare(shape)
                .map_err(|source| ResizeError::Buffer { bytes, source })?;
            prepared.push((buffer, shape, blocks));
        }
        state.bytes = bytes;
        for (buffer, shape, blocks) in prepared {
            buffer.apply(shape, blocks, state.policy);
        }
        drop(state);
        self.signals.room.notify();
        Ok(())
    }

    fn set_policy(&self, policy: Policy) {
        let mut state = self.state();
        state.policy = policy;
        self.signals.set_wait_limit(policy.wait_limit());
        for buffer in state.buffers() {
            buffer.set_policy(policy, buffer.kind.shape(state.bytes));
        }
        drop(state);
        // Who waits looks at the policy again.
        self.signals.room.notify();
    }
}

/// The size of the buffers, and what they do when they are full.
impl EventLog {
    /// Changes the size of every buffer of the log, of idle ones and of those to come, too: bytes of
    /// each capability's buffer and of the shared one, as for
    /// [`Builder::buffer_size`](crate::Builder::buffer_size). Any thread may call it while all others
    /// emit; it waits for nobody but for another call of this kind, or for a capability that is being
    /// made.
    ///
    /// All or nothing: the memory for every buffer is allocated first. (Until the buffers have been
    /// drained, the old chunks that are not empty are there as well.)
    ///
    /// In force is the new size for each buffer from its next chunk on; nothing that is in the buffers is
    /// lost. Chunks of the old size are freed at once where they are idle, and else as soon as they have
    /// been read. Where a buffer has become smaller than what is in it, it is full until it has been
    /// drained.
    ///
    /// # Errors
    /// [`ResizeError`] where the size is out of bounds, which it names, or memory cannot be had. Nothing
    /// has been changed then.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, ResizeError};
    ///
    /// let log = EventLog::builder().start(std::io::sink())?;
    /// log.resize(2 * 1024 * 1024)?;
    /// assert!(matches!(log.resize(1), Err(ResizeError::TooSmall { bytes: 1, minimum: 65_571 })));
    /// assert_eq!(log.buffers_size(), 2 * 1024 * 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize(&self, bytes: usize) -> Result<(), ResizeError> {
        self.sizes().resize(bytes)
    }

    /// Bytes of each buffer, as last asked for. What is in force for each of them, the
    /// [statistics](crate::BufferStatistics::size) tell.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(std::io::sink())?;
    /// assert_eq!(log.buffers_size(), 512 * 1024);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn buffers_size(&self) -> usize {
        self.sizes().state().bytes
    }

    /// Changes what becomes of events that do not fit, for every buffer of the log. Any thread may call
    /// it while all others emit. In force for each buffer from the next time that one of its chunks is
    /// used up; threads that wait for room look again at once. Waits as [`resize`](Self::resize) does,
    /// and allocates nothing.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Policy};
    ///
    /// let log = EventLog::builder().start(std::io::sink())?;
    /// log.set_policy(Policy::Grow { max_bytes: 8 * 1024 * 1024 });
    /// assert_eq!(log.policy(), Policy::Grow { max_bytes: 8 * 1024 * 1024 });
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn set_policy(&self, policy: Policy) {
        self.sizes().set_policy(policy);
    }

    /// What becomes of events that do not fit, as last set.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().start(std::io::sink())?;
    /// assert_eq!(log.policy(), ghc_eventlog::Policy::DropNewest);
    /// # Ok::<(), ghc_eventlog::StartError>(())
    /// ```
    pub fn policy(&self) -> Policy {
        self.sizes().state().policy
    }
}
