//! What a log does with an event that its buffer has no room for.

use std::time::Duration;

/// What becomes of an event that does not fit into its buffer. It is set by
/// [`Builder::policy`](crate::Builder::policy), can be [changed](crate::EventLog::set_policy) by any
/// thread while all others emit, and holds for every buffer of the log.
///
/// Whatever is lost is counted in the [statistics](crate::Statistics), in events and by cause, and told
/// in the log itself, where it is missing, by an
/// [`EventsLost`](crate::format::Event::EventsLost) event.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, Policy};
///
/// let log = EventLog::builder().policy(Policy::OverwriteOldest).start(std::io::sink())?;
/// assert_eq!(log.policy(), Policy::OverwriteOldest);
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The new event is dropped.
    #[default]
    DropNewest,
    /// The new event goes in, and the oldest chunk of the buffer (a quarter of it, where the longest
    /// event allows for four) makes room. The chunk that the collector is reading is never
    /// overwritten; where that is all there is, the new event is dropped.
    OverwriteOldest,
    /// The buffer grows, by a chunk at a time, as far as the bound and memory allow; then the new event
    /// is dropped. Emitting allocates where the buffer grows. What is beyond the buffer's size goes
    /// back as soon as it has been read.
    Grow {
        /// The most bytes of each buffer. No less than the buffer's size is meant by it, and no more
        /// than 128 chunks: 32 times the size of a buffer of four chunks.
        max_bytes: usize,
    },
    /// Whoever emits waits for the collector to make room, and then the event is dropped. Nobody waits
    /// once the log has been stopped, nor within the log's own sink, which would wait for itself, nor in a forked
    /// child, which has no collector, nor who writes to a [relayed](crate::Builder::relayed) log.
    Wait {
        /// The longest wait for one event; an hour at most.
        limit: Duration,
    },
}

/// The longest wait: nobody waits for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

impl Policy {
    /// How long an event waits for room, where it does.
    pub(crate) fn wait_limit(self) -> Duration {
        match self {
            Policy::Wait { limit } => limit.min(LONGEST_WAIT),
            _ => Duration::ZERO,
        }
    }
}
