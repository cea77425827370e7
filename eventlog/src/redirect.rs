//! Redirection: a running log goes on in another sink, with a cut that no event straddles.

use crate::error::SetSinkError;
use crate::log::EventLog;
use crate::sink::{Previous, Sink, Start};
use std::mem;
use std::sync::PoisonError;

impl EventLog {
    /// Goes on in another sink. The call returns when the cut is made: every event that was emitted
    /// before the call, by this thread or in a way that this thread knows of, on whatever capability
    /// or on the shared buffer, is in the old sink; every one that is emitted after its return is in
    /// the new one; those that other threads emit meanwhile are in one of both, at one moment in
    /// time for all of them. Nothing is lost, and nothing is there twice. With
    /// [`Start::Header`] the new sink's log is valid from its first byte.
    ///
    /// Threads that emit never wait for this. The call itself waits for the collector and for both
    /// sinks. What the old sink refuses at the cut (at most what the buffers held) is kept with it, unless
    /// it is already [too far behind](crate::Builder::sink_backlog) by calls that have failed, or readers:
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
        let mut other = sink;
        if matches!(outcome, Ok(()) | Err(SetSinkError::Previous { .. })) {
            // While the collector is held: two calls name their sinks in the order of their cuts.
            let mut named = core.sink.lock().unwrap_or_else(PoisonError::into_inner);
            mem::swap(&mut *named, &mut other);
        }
        drop(collector);
        // Without any lock: where this is its last handle the writer goes, and may call the log.
        drop(other);
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
