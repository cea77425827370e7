//! What a log has taken in, passed on and lost.

use crate::format::CapNo;
use crate::reader::{ReaderFailure, ReaderStatistics};
use crate::relayed::RelayStatistics;
use std::time::Duration;

/// What has become of a log's events so far; see
/// [`EventLog::statistics`](crate::EventLog::statistics).
///
/// # Examples
///
/// ```
/// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
/// let mut capability = log.capability()?;
/// capability.message("hello");
/// let statistics = log.stop()?;
/// assert_eq!(statistics.capabilities[0].events, 1);
/// assert_eq!(statistics.lost().total(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Time since the log was started; since it was stopped, the time it ran.
    pub elapsed: Duration,
    /// One for each capability number ever used, in order of number; where several capabilities
    /// have had the same number one after the other, their sum.
    pub capabilities: Vec<BufferStatistics>,
    /// The buffer of events that belong to no capability.
    pub shared: BufferStatistics,
    /// Blocks that the sinks have taken.
    pub blocks: u64,
    /// Bytes that the sinks have taken: header, block markers, events, end marker.
    pub bytes_written: u64,
    /// Writes that the sinks have refused. What it refused is kept and offered again, so this alone
    /// loses nothing.
    pub sink_errors: u64,
    /// Memory that the sticky events take, roughly, in bytes.
    pub sticky_bytes: u64,
    /// Sticky events that are in the log but will not be replayed, since they went beyond
    /// [`Builder::sticky_limit`](crate::Builder::sticky_limit).
    pub sticky_refused: u64,
    /// The readers that are attached.
    pub readers: Vec<ReaderStatistics>,
    /// The sum of the readers that were; its [`error`](ReaderStatistics::error) is that of the last one that failed.
    pub former_readers: ReaderStatistics,
    /// Why the last reader failed of those that did, attached or not any more. Earlier ones' reasons are not kept.
    pub reader_failure: Option<ReaderFailure>,
    /// What has become of the writes that were handed to a [relayed](crate::Builder::relayed) log; `None` for
    /// others. There [`events`](BufferStatistics::events) counts what the collector has looked at, and of the
    /// [`shared`](Self::shared) buffer [`size`](BufferStatistics::size) is the budget for all writes, and
    /// [`memory`](BufferStatistics::memory) what they take and what is kept for the next ones.
    pub relay: Option<RelayStatistics>,
}

impl Statistics {
    /// Events taken in, over all buffers.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::Statistics::default().events(), 0);
    /// ```
    pub fn events(&self) -> u64 {
        self.buffers().map(|buffer| buffer.events).sum()
    }

    /// Events lost, over all buffers.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::Statistics::default().lost().total(), 0);
    /// ```
    pub fn lost(&self) -> Lost {
        self.buffers()
            .fold(Lost::default(), |sum, buffer| sum + buffer.lost)
    }

    fn buffers(&self) -> impl Iterator<Item = &BufferStatistics> {
        self.capabilities.iter().chain([&self.shared])
    }
}

/// What has become of the events of one buffer.
///
/// # Examples
///
/// ```
/// let log = ghc_eventlog::EventLog::builder().start(Vec::new())?;
/// let statistics = log.statistics();
/// assert_eq!(statistics.shared.capability, None);
/// assert!(statistics.shared.events > 0, "the log describes the process first");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferStatistics {
    /// Whose buffer it is; `None` for the shared one.
    pub capability: Option<CapNo>,
    /// Events taken in. Those that are not counted in [`lost`](Self::lost) are in the sink, or will
    /// be after the next flush.
    pub events: u64,
    /// Bytes of these events.
    pub bytes: u64,
    /// Blocks made of them, those included that tell of losses.
    pub blocks: u64,
    /// Bytes that the buffer may hold, as it is set for the chunks to come; the shared one's is rounded
    /// up. 0 for a capability that is gone; the sum, where several have the same number.
    pub size: usize,
    /// Bytes of memory that the buffer's chunks take: more than its size by some for each chunk, until it
    /// has been drained after a shrink, and while it has grown; less, where chunks have not been needed
    /// yet since a change of size (their memory is there all the same).
    pub memory: usize,
    /// Events lost.
    pub lost: Lost,
}

/// Events lost, by cause.
///
/// # Examples
///
/// ```
/// let lost = ghc_eventlog::Lost::default();
/// assert_eq!(lost.total(), lost.full + lost.overwritten + lost.stopped + lost.sink);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Refused since the buffer was full.
    pub full: u64,
    /// Taken in, and overwritten by newer ones: in the buffer, as far as the collector has come to where
    /// they are missing (after a flush it has); or in [memory](crate::Builder::in_memory).
    pub overwritten: u64,
    /// Emitted after the log had been stopped (or while it was: such an event may have been taken in
    /// and come too late for the last block).
    pub stopped: u64,
    /// Taken in, and not delivered since the sink would not take them. Counted once they are beyond
    /// [`Builder::sink_backlog`](crate::Builder::sink_backlog), the sink has been closed, or the log
    /// stopped; before, they are kept and offered again.
    pub sink: u64,
    /// They are of a [type](crate::format::UserEventType) that the log does not
    /// [declare](crate::Builder::declare). No event of the log tells of them.
    pub undeclared: u64,
    /// The program itself has emitted them to a log that only [relays](crate::Builder::relayed) another writer's
    /// blocks. No event of the log tells of them.
    pub relayed: u64,
}

impl Lost {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::Lost::default().total(), 0);
    /// ```
    pub fn total(&self) -> u64 {
        self.full + self.overwritten + self.stopped + self.sink + self.undeclared + self.relayed
    }
}

impl std::ops::Add for Lost {
    type Output = Lost;

    fn add(self, other: Lost) -> Lost {
        Lost {
            full: self.full + other.full,
            overwritten: self.overwritten + other.overwritten,
            stopped: self.stopped + other.stopped,
            sink: self.sink + other.sink,
            undeclared: self.undeclared + other.undeclared,
            relayed: self.relayed + other.relayed,
        }
    }
}

impl std::ops::AddAssign for BufferStatistics {
    /// Adds the other's counts; the capability stays.
    fn add_assign(&mut self, other: BufferStatistics) {
        self.events += other.events;
        self.bytes += other.bytes;
        self.blocks += other.blocks;
        self.size += other.size;
        self.memory += other.memory;
        self.lost = self.lost + other.lost;
    }
}
