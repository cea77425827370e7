//! Readers beside the sink: how they are attached, and how they are let go.

use crate::error::AttachError;
use crate::log::{Core, EventLog};
use crate::reader::{AttachOptions, ReaderId, ReaderStatistics};
use crate::user_writer::UserWriter;
use std::io::{self, Write};
use std::time::Instant;

impl EventLog {
    /// Attaches a reader: from now on it gets, beside the sink and any other reader, a log of its own
    /// with the header, the [sticky events](Self::emit_sticky), and every event that is emitted after
    /// this call, in whole blocks. Events that were emitted before are not in it, but for the sticky
    /// ones.
    ///
    /// It is served by a thread of its own from a queue of its own. Where the queue is full blocks
    /// are dropped for this reader alone; it is told so at that place by an
    /// [`EventsLost`](crate::format::Event::EventsLost) event for each capability, and
    /// [`Statistics::readers`](crate::Statistics::readers) counts it. Sticky events
    /// in a dropped block are not told again: it may have threads that it has not seen being made. A reader that is slow, stuck or
    /// dead disturbs nobody. One whose writer fails is let go, for a
    /// [reason](crate::Statistics::reader_failure) that is kept; a writer that would have to wait
    /// (`WouldBlock`, `TimedOut`) is tried again.
    ///
    /// Each block is copied once for all readers. Waits for the collector and, as that may be
    /// writing, for the sink. While the *sink* refuses blocks readers go on; see
    /// [`Builder::sink_backlog`](crate::Builder::sink_backlog). A sink that *hangs* in a write holds the
    /// collector, and so the readers, unless it is [queued](crate::Sink::queued); and memory that is
    /// [full](crate::Builder::in_memory), in which the log is kept.
    ///
    /// # Errors
    /// [`AttachError`].
    ///
    /// ```
    /// use ghc_eventlog::{AttachOptions, EventLog, Sink};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let (_, memory) = Sink::memory();
    /// let reader = log.attach(memory.clone(), AttachOptions::default())?;
    /// log.message("for the reader");
    /// log.detach(reader)?;
    /// log.message("for nobody");
    /// assert!(memory.bytes().ends_with(b"for the reader\xff\xff"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach(
        &self,
        writer: impl Write + Send + 'static,
        options: AttachOptions,
    ) -> Result<ReaderId, AttachError> {
        attach(self.core(), UserWriter::new(writer), &options)
    }

    /// Lets a reader go: it gets every event that was emitted before this call, and the end of its log.
    /// Waits for it, at most its [linger](AttachOptions::linger) time. Tells what became of it;
    /// `None` where it is not attached: it has failed, has been detached, or the log has been stopped. Why the last one
    /// failed is in [`Statistics::reader_failure`](crate::Statistics::reader_failure).
    ///
    /// # Errors
    /// Where the call cannot be made: from within the log's own sink, or in a forked child.
    ///
    /// ```
    /// use ghc_eventlog::{AttachOptions, EventLog, Sink};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let reader = log.attach(std::io::sink(), AttachOptions::default())?;
    /// assert_eq!(log.detach(reader)?.unwrap().lost_events, 0);
    /// assert_eq!(log.detach(reader)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(&self, reader: ReaderId) -> io::Result<Option<ReaderStatistics>> {
        let core = self.core();
        let mut collector = core.collector()?;
        let Some(mut reader) = collector.detach(&core.registry, reader) else {
            return Ok(None);
        };
        // Waited for without the collector: others go on.
        drop(collector);
        reader.end();
        let statistics = reader.waiter(Instant::now()).wait();
        core.collector()?.count_former(&reader, statistics);
        Ok(Some(statistics))
    }
}

/// As [`EventLog::attach`], for whoever has no handle.
pub(crate) fn attach(
    core: &Core,
    writer: UserWriter,
    options: &AttachOptions,
) -> Result<ReaderId, AttachError> {
    let mut collector = core.collector().map_err(AttachError::Unavailable)?;
    collector.attach(&core.registry, writer, options)
}
