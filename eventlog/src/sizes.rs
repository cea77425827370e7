//! How large a log's buffers are and what they do when they are full: one setting for all of them, which
//! can be changed while they are used.

use crate::buffer::{BufferShape, BufferWriter, MAX_CHUNKS};
use crate::buffer_reader::BufferReader;
use crate::clock::Clock;
use crate::counter::Counters;
use crate::error::{BufferError, ResizeError};
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
        if self.buffers.len() == self.buffers.capacity() {
            self.buffers.retain(|buffer| buffer.strong_count() != 0);
            // The next look at all of them is when as many have come again: a look for each that comes would make
            // many take a time that grows with their square.
            self.buffers.reserve(self.buffers.len() + 1);
        }
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

    /// Bytes of each buffer, as last asked for.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    pub(crate) fn policy(&self) -> Policy {
        self.state().policy
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Changed as a whole, by nothing that panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes both ends of a capability's buffer, with all its memory.
    pub(crate) fn buffer(&self, cap: CapNo) -> Result<(BufferWriter, BufferReader), BufferError> {
        let mut state = self.state();
        let bytes = state.bytes;
        self.make_buffer(&mut state, cap)
            .map_err(|source| BufferError { bytes, source })
    }

    fn make_buffer(
        &self,
        state: &mut State,
        cap: CapNo,
    ) -> Result<(BufferWriter, BufferReader), BuildError> {
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
    pub(crate) fn shared_buffer(&self) -> Result<(SharedBuffer, BufferReader), BufferError> {
        let mut state = self.state();
        let bytes = state.bytes;
        self.make_shared_buffer(&mut state)
            .map_err(|source| BufferError { bytes, source })
    }

    fn make_shared_buffer(
        &self,
        state: &mut State,
    ) -> Result<(SharedBuffer, BufferReader), BuildError> {
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

    pub(crate) fn resize(&self, bytes: usize) -> Result<(), ResizeError> {
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

    pub(crate) fn set_policy(&self, policy: Policy) {
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
