//! Redirection: a running log goes on in another sink, with a cut that no event straddles.

use crate::log::EventLog;
use crate::sink::Sink;
use std::sync::PoisonError;
use std::{error, fmt, io};

/// What becomes of the sink that a log is redirected away from.
///
/// ```
/// assert_ne!(ghc_eventlog::Previous::Close, ghc_eventlog::Previous::Keep);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// It gets the end marker, is flushed, and let go of.
    Close,
    /// It stays as it is. Its [handle](Sink) keeps it open, and it can be set again with
    /// [`Start::Continue`], or [closed](Sink::close). What it has refused stays with it.
    Keep,
}

/// How a log begins in the sink that it is redirected to.
///
/// ```
/// assert_ne!(ghc_eventlog::Start::Header, ghc_eventlog::Start::Continue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the header and the sticky events: a valid log from its first byte.
    Header,
    /// With the next block: the sink has begun a log before. What happened while it was away is
    /// missing there.
    Continue,
}

/// Why a log was not redirected, or not as wished. But for [`Previous`](Self::Previous) nothing has
/// changed: the sink that was set before goes on, and no event is lost.
///
/// ```
/// use ghc_eventlog::{EventLog, Previous, SetSinkError, Sink, Start};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let same = log.set_sink(log.sink(), Previous::Keep, Start::Continue);
/// assert!(matches!(same, Err(SetSinkError::InUse)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SetSinkError {
    /// The log has been stopped.
    Stopped,
    /// A log writes to that sink now, this one or another.
    InUse,
    /// That sink has been ended, or has refused the middle of a header.
    Closed,
    /// That sink has begun a log, and cannot take another header.
    Begun,
    /// That sink did not take the header, or what it had refused before.
    Refused(io::Error),
    /// The log *has* been redirected, and the sink that was set before did not take its end.
    Previous {
        /// Its error.
        source: io::Error,
        /// Events that it did not take. They are counted as [lost](crate::Lost::sink).
        lost: u64,
    },
    /// The call cannot be made here: from within the log's own sink, or in a forked child.
    Unavailable(io::Error),
}

impl fmt::Display for SetSinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetSinkError::Stopped => f.write_str("the event log has been stopped"),
            SetSinkError::InUse => f.write_str("an event log writes to that sink already"),
            SetSinkError::Closed => f.write_str("that sink has been closed"),
            SetSinkError::Begun => {
                f.write_str("that sink has begun a log, which cannot have another header")
            }
            SetSinkError::Refused(_) => {
                f.write_str("the new sink did not take the log's beginning")
            }
            SetSinkError::Previous { lost, .. } => write!(
                f,
                "the log was redirected, but its previous sink did not take the end: {lost} events lost"
            ),
            SetSinkError::Unavailable(_) => f.write_str("the event log cannot be redirected here"),
        }
    }
}

impl error::Error for SetSinkError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            SetSinkError::Refused(source)
            | SetSinkError::Previous { source, .. }
            | SetSinkError::Unavailable(source) => Some(source),
            SetSinkError::Stopped
            | SetSinkError::InUse
            | SetSinkError::Closed
            | SetSinkError::Begun => None,
        }
    }
}

impl EventLog {
    /// Goes on in another sink. The call returns when the cut is made: every event that was emitted
    /// before the call, by this thread or in a way that this thread knows of, on whatever capability
    /// or on the shared buffer, is in the old sink; every one that is emitted after its return is in
    /// the new one; those that other threads emit meanwhile are in one of both, at one moment in
    /// time for all of them. Nothing is lost, and nothing is there twice. With
    /// [`Start::Header`] the new sink's log is valid from its first byte.
    ///
    /// Threads that emit never wait for this. The call itself waits for the collector and for both
    /// sinks. What the old sink refuses at the cut (at most what the buffers held) is kept with it:
    /// where it is [kept](Previous::Keep) it is offered again when it is set again, when its handle
    /// is [closed](Sink::close), or when the log is stopped; where it is [closed](Previous::Close)
    /// it is offered once more, and is then lost and counted.
    ///
    /// # Errors
    /// [`SetSinkError`]. Where the new sink does not take the header nothing has changed, but that it
    /// can be used no more if it took a part.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Previous, Sink, Start};
    ///
    /// let (first, before) = Sink::memory();
    /// let (second, after) = Sink::memory();
    /// let log = EventLog::builder().sink(first)?;
    /// let mut capability = log.capability()?;
    /// capability.message("apple");
    /// log.set_sink(second, Previous::Close, Start::Header)?;
    /// capability.message("peach");
    /// log.stop()?;
    /// let has = |bytes: &[u8], text: &[u8]| bytes.windows(5).any(|window| window == text);
    /// assert!(has(&before.bytes(), b"apple") && !has(&before.bytes(), b"peach"));
    /// assert!(has(&after.bytes(), b"peach") && !has(&after.bytes(), b"apple"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_sink(
        &self,
        sink: Sink,
        previous: Previous,
        start: Start,
    ) -> Result<(), SetSinkError> {
        let core = self.core();
        let mut collector = core.collector().map_err(SetSinkError::Unavailable)?;
        let outcome = collector.redirect(&core.registry, &sink, previous, start);
        if matches!(outcome, Ok(()) | Err(SetSinkError::Previous { .. })) {
            // While the collector is held: two calls name their sinks in the order of their cuts.
            *core.sink.lock().unwrap_or_else(PoisonError::into_inner) = sink;
        }
        outcome
    }

    /// A handle of the sink that the log is written to. Keeps it, so that it can be set again after
    /// another has been. Never waits for the sink.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Previous, Sink, Start};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let saved = log.sink();
    /// log.set_sink(Sink::null(), Previous::Keep, Start::Header)?;
    /// log.set_sink(saved, Previous::Close, Start::Continue)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sink(&self) -> Sink {
        let sink = self.core().sink.lock();
        sink.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
