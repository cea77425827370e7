//! A flight recorder: the newest part of a log is kept in memory, and written out when it is wanted.

use crate::block::Block;
use crate::block_store::{BlockStore, Limit};
use crate::delivery::Delivery;
use crate::error::StartError;
use crate::format::END_MARKER;
use crate::log::{Builder, EventLog};
use crate::sink::Sink;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use std::{error, fmt};

/// How much a flight recorder keeps; see [`Sink::flight_recorder`].
///
/// ```
/// use ghc_eventlog::Keep;
/// use std::time::Duration;
///
/// let keep = Keep::bytes(16 << 20).newest(Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    bytes: usize,
    window: Option<Duration>,
}

impl Keep {
    /// The newest `bytes` of the log, as far as whole blocks can be; the newest block always.
    ///
    /// A block counts as the whole chunk of a buffer that it is, a quarter of
    /// [its size](Builder::buffer_size), and 128 bytes; one that was cut off before it was full, as long
    /// as it is.
    ///
    /// ```
    /// let keep = ghc_eventlog::Keep::bytes(16 << 20);
    /// ```
    #[must_use]
    pub fn bytes(bytes: usize) -> Self {
        Keep {
            bytes,
            window: None,
        }
    }

    /// Of these no more than what is younger than `window`. A block is forgotten when its last event is
    /// older; so what is kept goes back for the window and at most as much longer as a block lasts. Blocks
    /// are cut off after a quarter of the window, or after the
    /// [flush interval](Builder::flush_interval) where that is longer.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let keep = ghc_eventlog::Keep::bytes(16 << 20).newest(Duration::from_secs(30));
    /// ```
    #[must_use]
    pub fn newest(mut self, window: Duration) -> Self {
        self.window = Some(window);
        self
    }
}

impl Sink {
    /// Memory that keeps the newest part of a log, for [`EventLog::snapshot`].
    ///
    /// Events that are forgotten are counted as [overwritten](crate::Lost::overwritten), and a snapshot tells
    /// in the place where they were how many there have been. What a reader needs of what was forgotten (the
    /// [sticky events](EventLog::emit_sticky), as they were before the oldest event that is kept) is remembered.
    ///
    /// Memory: what `keep` says, for the time of a snapshot up to twice that; sticky events once more, as far as
    /// they were forgotten, up to 64 MiB; and the [buffers](Builder::buffer_size), with up to 16 chunks for each
    /// that are used again. Threads that emit notice nothing of it.
    ///
    /// What is bounded by the buffers and not by `keep` is a burst: a buffer that is filled faster than the collector
    /// comes loses events, as its [policy](Builder::policy) says ([full](crate::Lost::full), where it drops the newest).
    /// Larger buffers, or [`Policy::Grow`](crate::Policy::Grow), take more.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Keep, Sink};
    ///
    /// let log = EventLog::builder().sink(Sink::flight_recorder(Keep::bytes(1 << 20)))?;
    /// log.snapshot(std::io::sink())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flight_recorder(keep: Keep) -> Self {
        let nanoseconds = |window: Duration| u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        let store = BlockStore::new(Limit::Newest {
            bytes: keep.bytes,
            window: keep.window.map(nanoseconds),
        });
        Sink::of(Delivery::in_memory(store))
    }
}

impl Builder {
    /// Starts a log whose newest part is kept in memory, as [`Sink::flight_recorder`] tells. The memory of the
    /// [buffers](Self::buffer_size) comes on top, and they, not `keep`, bound what a burst may take without loss.
    ///
    /// # Errors
    /// As for [`sink`](Self::sink).
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Keep};
    ///
    /// let log = EventLog::builder().flight_recorder(Keep::bytes(16 << 20))?;
    /// log.message("hello");
    /// let mut written = Vec::new();
    /// log.snapshot(&mut written)?;
    /// assert!(written.ends_with(b"hello\xff\xff"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flight_recorder(self, keep: Keep) -> Result<EventLog, StartError> {
        self.sink(Sink::flight_recorder(keep))
    }
}

/// What is kept of a log at one moment.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The header, what a reader needs to know of before, and what is missing before the blocks.
    pub(crate) beginning: Vec<u8>,
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) turn: Turn,
}

/// The right to make a snapshot, which one thread has at a time.
#[derive(Debug)]
pub(crate) struct Turn(Arc<BlockStore>);

impl Turn {
    /// `None` where another has it.
    pub(crate) fn take(store: &Arc<BlockStore>) -> Option<Self> {
        store.begin_snapshot().then(|| Turn(Arc::clone(store)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.end_snapshot();
    }
}

impl EventLog {
    /// Writes what the log's [flight recorder](Sink::flight_recorder) keeps to `writer`, as a valid log:
    /// header, what was lost before, blocks in order, end marker. Tells how many bytes these were. The recorder
    /// keeps all of it, so that the next snapshot has it, too.
    ///
    /// It is a cut in time: it has every event that was emitted before the call, by this thread or in a way
    /// that this thread knows of, and of the others those up to one moment. Threads that emit go on
    /// undisturbed. The call waits for the collector, and then for the writer, holding nothing. After the
    /// log was stopped, it gives its last part.
    ///
    /// It may be called by a panic hook, also where the panicking thread holds a
    /// [`Capability`](crate::Capability): see the example `flight_recorder`. It may **not** be called by a signal
    /// handler: it takes locks, and allocates. A process that aborts or is killed writes nothing.
    ///
    /// # Errors
    /// [`SnapshotError`]. Where the writer fails, it has a part of the log, readable up to its last whole
    /// event, and the recorder has lost nothing.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Keep};
    ///
    /// let log = EventLog::builder().flight_recorder(Keep::bytes(16 << 20))?;
    /// let mut capability = log.capability()?;
    /// capability.message("it is getting hot");
    /// let (mut first, mut second) = (Vec::new(), Vec::new());
    /// log.snapshot(&mut first)?;
    /// log.snapshot(&mut second)?;
    /// assert_eq!(first, second);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self, mut writer: impl Write) -> Result<u64, SnapshotError> {
        let core = self.core();
        let recording = {
            let mut collector = core.collector().map_err(SnapshotError::Unavailable)?;
            collector.snapshot(&core.registry)?
        };
        recording.write(&mut writer).map_err(SnapshotError::Io)
    }
}

impl Recording {
    fn write(self, writer: &mut impl Write) -> io::Result<u64> {
        let blocks = self.blocks.iter().map(|block| block.bytes());
        let parts = [&*self.beginning].into_iter().chain(blocks);
        let mut bytes = 0;
        for part in parts.chain([END_MARKER.as_slice()]) {
            writer.write_all(part)?;
            bytes += part.len() as u64;
        }
        writer.flush()?;
        // Not before: it was this call's turn until here.
        drop(self.turn);
        Ok(bytes)
    }
}

/// Why there is no snapshot, or not a whole one.
///
/// ```
/// use ghc_eventlog::{EventLog, Sink, SnapshotError};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let refused = log.snapshot(Vec::new()).unwrap_err();
/// assert!(matches!(refused, SnapshotError::NotRecording));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The log goes to something else than a [flight recorder](Sink::flight_recorder).
    NotRecording,
    /// Another snapshot is being written.
    Busy,
    /// The call cannot be made here: within a sink of the log, or in a forked child.
    Unavailable(io::Error),
    /// The writer failed.
    Io(io::Error),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SnapshotError::NotRecording => "the event log has no flight recorder",
            SnapshotError::Busy => "another snapshot of the event log is being written",
            SnapshotError::Unavailable(_) => "no snapshot can be made here",
            SnapshotError::Io(_) => "the snapshot could not be written",
        })
    }
}

impl error::Error for SnapshotError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            SnapshotError::NotRecording | SnapshotError::Busy => None,
            SnapshotError::Unavailable(source) | SnapshotError::Io(source) => Some(source),
        }
    }
}
