//! A log that is kept in memory: whole blocks that the program itself takes out, one chunk at a time.

use crate::block::Block;
use crate::block_store::{BlockStore, Limit, Next, WhenFull};
use crate::delivery::Delivery;
use crate::error::StartError;
use crate::format::Header;
use crate::log::{Builder, EventLog};
use crate::sink::Sink;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{error, fmt, process};

/// The chunks of a log that is kept in memory; see [`Sink::chunks`] and [`Builder::in_memory`]. Clones take
/// from the same chunks, on whatever thread: each chunk comes out once. In a forked child there are none: its parent has
/// them.
///
/// A chunk is one or more whole blocks. The [header](Self::header), any chunk, and the
/// [end marker](crate::format::END_MARKER) are a valid log; so are the header, all chunks in order, and the
/// end marker. The header never comes as a chunk, and the end marker does not either:
/// [`NoChunk::Finished`] stands for it.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, NoChunk, WhenFull};
/// use ghc_eventlog::format::END_MARKER;
///
/// let (log, chunks) = EventLog::builder().in_memory(1 << 20, WhenFull::DropNewest)?;
/// let mut capability = log.capability()?;
/// capability.message("kept");
/// assert!(matches!(chunks.chunk(), Err(NoChunk::Empty)), "no chunk is complete yet");
/// log.flush()?;
/// assert!(chunks.chunk().is_ok());
/// log.stop()?;
///
/// let mut last = chunks.header();
/// while let Ok(chunk) = chunks.chunk() {
///     last.extend_from_slice(&chunk);
/// }
/// last.extend(END_MARKER);
/// assert!(matches!(chunks.chunk(), Err(NoChunk::Finished)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunks(Arc<BlockStore>);

impl Chunks {
    /// Pops the oldest chunk. Never waits, but for the moment in which another thread pops.
    ///
    /// # Errors
    /// [`NoChunk`] tells an end from a want of chunks.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, NoChunk, WhenFull};
    ///
    /// let (log, chunks) = EventLog::builder().in_memory(1 << 20, WhenFull::DropNewest)?;
    /// assert_eq!(chunks.chunk().unwrap_err(), NoChunk::Empty);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunk(&self) -> Result<Chunk, NoChunk> {
        match self.0.is_of_parent() {
            true => Err(NoChunk::Finished),
            false => chunk(self.0.pop()),
        }
    }

    /// Pops the oldest chunk, and waits for one where there is none, at most for `timeout`. A chunk, the
    /// log's stop, and the sink's end wake it up at once. A chunk comes when a thread has filled it or
    /// [`EventLog::flush`] is called; this alone asks for nothing.
    ///
    /// # Errors
    /// [`NoChunk::Empty`] where the time is up; [`NoChunk::Finished`] as soon as nothing can come any more.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, NoChunk, WhenFull};
    /// use std::time::Duration;
    ///
    /// let (log, chunks) = EventLog::builder().in_memory(1 << 20, WhenFull::DropNewest)?;
    /// let consumer = std::thread::spawn(move || {
    ///     let mut bytes = 0;
    ///     loop {
    ///         match chunks.wait_chunk(Duration::from_secs(60)) {
    ///             Ok(chunk) => bytes += chunk.len(),
    ///             Err(NoChunk::Finished) => return bytes,
    ///             Err(_) => {}
    ///         }
    ///     }
    /// });
    /// log.stop()?;
    /// assert!(consumer.join().unwrap() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_chunk(&self, timeout: Duration) -> Result<Chunk, NoChunk> {
        if self.0.is_of_parent() {
            return Err(NoChunk::Finished);
        }
        // Without an end where the clock cannot tell it.
        chunk(self.0.pop_until(Instant::now().checked_add(timeout)))
    }

    /// What a reader needs before any chunk: the header of the log, always the same bytes. Where no log
    /// goes there yet, that of one which [declares](Builder::declare) no types.
    ///
    /// ```
    /// let (_sink, chunks) = ghc_eventlog::Sink::chunks(1 << 20, Default::default());
    /// assert!(chunks.header().starts_with(b"hdrb"));
    /// ```
    pub fn header(&self) -> Vec<u8> {
        match self.0.is_of_parent() {
            true => Header::standard().encode(),
            false => self.0.header().encode(),
        }
    }

    /// Chunks that can be popped now.
    ///
    /// ```
    /// let (_sink, chunks) = ghc_eventlog::Sink::chunks(1 << 20, Default::default());
    /// assert_eq!(chunks.len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        match self.0.is_of_parent() {
            true => 0,
            false => self.0.len(),
        }
    }

    /// Whether no chunk can be popped now.
    ///
    /// ```
    /// let (_sink, chunks) = ghc_eventlog::Sink::chunks(1 << 20, Default::default());
    /// assert!(chunks.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that count against the budget now: those of the chunks that can be popped, and of
    /// those that have been and were not dropped yet.
    ///
    /// ```
    /// let (_sink, chunks) = ghc_eventlog::Sink::chunks(1 << 20, Default::default());
    /// assert_eq!(chunks.used(), 0);
    /// ```
    pub fn used(&self) -> usize {
        match self.0.is_of_parent() {
            true => 0,
            false => self.0.used(),
        }
    }
}

fn chunk(next: Next) -> Result<Chunk, NoChunk> {
    match next {
        Next::Block { block, is_final } => Ok(Chunk {
            block,
            is_final,
            process: process::id(),
        }),
        Next::Empty => Err(NoChunk::Empty),
        Next::End => Err(NoChunk::Finished),
    }
}

/// A chunk of a log, by [`Deref`] its bytes: one or more whole blocks. Valid for as long as it is kept, by
/// whatever thread, also when the log is gone.
///
/// It is the memory that a thread has written its events to: nothing has been copied, unless the chunk was
/// cut off by a [flush](EventLog::flush), a redirection or the log's end before it was full, or the events
/// belong to no capability. Dropping it gives the memory back; in a forked child, which may read it, it keeps its memory.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, WhenFull};
/// use ghc_eventlog::format::BlockMarker;
///
/// let (log, chunks) = EventLog::builder().in_memory(1 << 20, WhenFull::DropNewest)?;
/// log.flush()?;
/// let chunk = chunks.chunk()?;
/// drop((log, chunks));
/// let marker = BlockMarker::from_bytes(chunk.first_chunk().unwrap());
/// assert_eq!((marker.cap, marker.size as usize), (None, chunk.len()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Chunk {
    block: Arc<Block>,
    is_final: bool,
    /// The process that has popped it.
    process: u32,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.process != process::id() {
            // Kept for ever: giving the memory back takes locks, which threads of the parent may hold.
            std::mem::forget(Arc::clone(&self.block));
        }
    }
}

impl Chunk {
    /// Whether this is the last one of its log. (The last one that is popped is final where the log has
    /// been stopped; where the sink was closed instead, it may have been popped before that was known.)
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, WhenFull};
    ///
    /// let (log, chunks) = EventLog::builder().in_memory(1 << 20, WhenFull::DropNewest)?;
    /// log.stop()?;
    /// let mut last = chunks.chunk()?;
    /// while let Ok(next) = chunks.chunk() {
    ///     assert!(!last.is_final());
    ///     last = next;
    /// }
    /// assert!(last.is_final());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.block.bytes()
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("len", &self.len())
            .field("is_final", &self.is_final)
            .finish()
    }
}

/// Why no chunk was popped.
///
/// ```
/// assert_ne!(ghc_eventlog::NoChunk::Empty, ghc_eventlog::NoChunk::Finished);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoChunk {
    /// There is none now.
    Empty,
    /// There will be none any more: the log was stopped, or the sink closed or dropped, or it is the log of a process
    /// that this one was forked from.
    Finished,
}

impl fmt::Display for NoChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoChunk::Empty => f.write_str("no chunk of the event log is complete"),
            NoChunk::Finished => f.write_str("the event log has ended, and all chunks are taken"),
        }
    }
}

impl error::Error for NoChunk {}

impl Sink {
    /// Memory, as whole blocks that are taken out by the program itself: a sink for a log, and the chunks
    /// that it will be made of.
    ///
    /// **Memory** is bounded by `budget`, in bytes, for all chunks together, popped ones included until they
    /// are dropped. (Each counts as the whole chunk of a buffer that it is, and 128 bytes; a copied one as
    /// long as it is.) A chunk is admitted where there is no other, whatever its size; and what is left in
    /// the buffers when the log is stopped or redirected, or a reader comes or goes, is handed over beyond the
    /// budget, so that nothing is lost. So is what tells of a buffer's losses before a chunk of it, 206 bytes at most. (Where the budget is exceeded already, no reader can be attached.) What happens when the budget is used up says `when_full`. Next to the budget there are the
    /// [buffers](Builder::buffer_size), and up to 16 chunks for each, that have come back and are used again.
    ///
    /// **A burst** is bounded by the [buffers](Builder::buffer_size), not by the budget: a buffer that threads fill
    /// faster than the collector comes loses events, as its [policy](Builder::policy) says, and counts them as
    /// [full](crate::Lost::full), however much of the budget is free. Larger buffers take more, and with
    /// [`Policy::Grow`](crate::Policy::Grow) a buffer grows to its bound first. What the budget refuses stays in the
    /// buffers, and is counted so, too, when these are full.
    ///
    /// **A chunk comes** when a thread has filled it, at [`EventLog::flush`], and when the log is stopped or
    /// redirected. The flush interval alone cuts none off, which would copy it, unless a
    /// [reader](EventLog::attach) is attached, which is not to wait. A flush for which the budget
    /// has no room is an error ([`io::ErrorKind::StorageFull`](std::io::ErrorKind::StorageFull)) and loses
    /// nothing.
    ///
    /// **Switching** between memory and another sink goes as for any two sinks, by
    /// [`EventLog::set_sink`]: what has been collected stays and can be popped. Where the log begins in
    /// memory with [`Start::Header`](crate::Start::Header), what a late reader needs comes as the first
    /// chunk, and the header, which is always the same, from [`Chunks::header`].
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Previous, Sink, Start, WhenFull};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let mut capability = log.capability()?;
    /// capability.message("for nobody");
    /// let (sink, chunks) = Sink::chunks(1 << 20, WhenFull::DropNewest);
    /// log.set_sink(sink, Previous::Close, Start::Header)?;
    /// capability.message("kept");
    /// log.set_sink(Sink::null(), Previous::Close, Start::Header)?;
    /// let mut bytes = Vec::new();
    /// while let Ok(chunk) = chunks.chunk() {
    ///     bytes.extend_from_slice(&chunk);
    /// }
    /// assert!(bytes.ends_with(b"kept"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chunks(budget: usize, when_full: WhenFull) -> (Self, Chunks) {
        let store = BlockStore::new(Limit::Budget {
            bytes: budget,
            when_full,
        });
        let sink = Sink::of(Delivery::in_memory(Arc::clone(&store)));
        (sink, Chunks(store))
    }
}

impl Builder {
    /// Starts a log that is kept in memory, within `budget` bytes, as [`Sink::chunks`] tells. The memory of the
    /// [buffers](Self::buffer_size) comes on top, and their size and [policy](Self::policy) bound what a burst may
    /// take: what does not fit before the collector comes is lost and counted as [full](crate::Lost::full), however
    /// much of the budget is free.
    ///
    /// # Errors
    /// As for [`sink`](Self::sink).
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, WhenFull};
    ///
    /// let (log, chunks) = EventLog::builder().in_memory(16 << 20, WhenFull::OverwriteOldest)?;
    /// log.message("hello");
    /// log.flush()?;
    /// assert!(chunks.chunk()?.ends_with(b"hello"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(
        self,
        budget: usize,
        when_full: WhenFull,
    ) -> Result<(EventLog, Chunks), StartError> {
        let (sink, chunks) = Sink::chunks(budget, when_full);
        Ok((self.sink(sink)?, chunks))
    }
}
