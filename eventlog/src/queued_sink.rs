//! A sink that is written to by a thread of its own, from a queue of its own: whoever hands it blocks never
//! waits for the writer.

use crate::delivery::{Counts, Delivery, Undelivered};
use crate::format::{BlockMarker, Header};
use crate::reader::{AttachOptions, OnError, Piece, Reader, ReaderId, Waiter};
use crate::sink::Sink;
use crate::user_writer::UserWriter;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

impl Sink {
    /// Anything that can be written to, written to by a thread of its own. A write that blocks, for ever even, then
    /// holds up neither the collector nor whoever waits for it: [attached](crate::EventLog::attach) readers get
    /// their events, and [redirecting](crate::EventLog::set_sink), flushing and stopping the log return. For a pipe
    /// that nobody may read, or a file on another machine.
    ///
    /// Blocks are copied into a queue of `options`' [bytes](AttachOptions::queue). What does not fit is dropped,
    /// counted in [`Lost::sink`](crate::Lost::sink) at once, and told in the sink's log at its place by an
    /// [`EventsLost`](crate::format::Event::EventsLost) event for each capability. (Sticky events in a dropped
    /// block are missing.) Where the writer fails, it is offered the rest again twenty times a second; so long the
    /// queue fills up.
    ///
    /// What differs from other sinks: that it does not take the header is no error of the call that begins the log;
    /// [`flush`](crate::EventLog::flush) returns when everything is in the queue, whose thread flushes the writer
    /// each time that the queue is empty. [`stop`](crate::EventLog::stop) and [`close`](Self::close) wait
    /// for the writer as long as it [lingers](AttachOptions::linger); what it has not taken by then is lost, counted,
    /// and an error. Where the log is redirected away from it with [`Previous::Close`](crate::Previous::Close),
    /// nobody waits, and what it does not take is counted when the log is stopped.
    ///
    /// ```
    /// use ghc_eventlog::{AttachOptions, EventLog, Sink};
    /// use std::time::Duration;
    ///
    /// let (_, content) = Sink::memory();
    /// let options = AttachOptions::default().queue(64 << 20).linger(Duration::from_secs(5));
    /// let log = EventLog::builder().sink(Sink::queued(content.clone(), options))?;
    /// log.message("hello");
    /// assert_eq!(log.stop()?.lost().total(), 0);
    /// assert!(content.bytes().ends_with(&[0xff, 0xff]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn queued(writer: impl Write + Send + 'static, options: AttachOptions) -> Self {
        Sink::of(Delivery::queued(Queue {
            writer: Some(UserWriter::new(writer)),
            options,
            reader: None,
            process: std::process::id(),
            counted: Counts::default(),
        }))
    }
}

/// A writer, before its log has begun, or the queue from then on.
pub(crate) struct Queue {
    writer: Option<UserWriter>,
    options: AttachOptions,
    reader: Option<Reader>,
    /// The one that has the thread.
    process: u32,
    /// What has been asked for of what the writer has done.
    counted: Counts,
}

impl Queue {
    /// Starts the thread, which writes the beginning of the log first.
    ///
    /// # Errors
    /// Where the thread cannot be had; the writer is gone then.
    pub(crate) fn begin(&mut self, beginning: Vec<u8>) -> io::Result<()> {
        let Some(writer) = self.writer.take() else {
            return Err(io::Error::other("the sink has begun a log before"));
        };
        // Its number names it among attached readers, of which it is none.
        let id = ReaderId(0);
        let reader = Reader::new(id, writer, beginning, &self.options, OnError::TryAgain)?;
        self.reader = Some(reader);
        self.process = std::process::id();
        Ok(())
    }

    /// Puts a block in, or counts it as lost.
    pub(crate) fn offer(&mut self, marker: &BlockMarker, body: &[u8], header: &Arc<Header>) {
        if let Some(reader) = &mut self.reader {
            reader.offer(
                marker.cap,
                marker.begin,
                &Piece::block(marker, body, header),
            );
        }
    }

    /// Puts in whole blocks that have none of the program's events.
    pub(crate) fn put(&mut self, blocks: Vec<u8>) {
        if let Some(reader) = self.reader.as_mut().filter(|_| !blocks.is_empty()) {
            reader.put(blocks);
        }
    }

    /// Puts the log's end behind everything else.
    pub(crate) fn end(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.end();
        }
    }

    /// What waits for it when it has been [ended](Self::end).
    pub(crate) fn waiter(&self) -> Option<Waiter> {
        let reader = self.reader.as_ref()?;
        Some(reader.waiter(Instant::now()))
    }

    /// Drops it. A writer whose log has begun is its thread's.
    ///
    /// # Errors
    /// Where the drop of a writer panics whose log has not begun.
    pub(crate) fn let_go(mut self) -> io::Result<()> {
        self.writer.take().map_or(Ok(()), UserWriter::let_go)
    }

    /// Whether it has been waited for with success.
    ///
    /// # Errors
    /// Where it had not taken all when its time was up.
    pub(crate) fn outcome(&self) -> io::Result<()> {
        let Some(reader) = &self.reader else {
            return Ok(());
        };
        let statistics = reader.statistics();
        if let Some(failure) = reader.failure() {
            return Err(io::Error::new(failure.kind, failure.text));
        }
        if reader.is_given_up() {
            let (lost, linger) = (statistics.lost_events, reader.linger());
            let message = format!(
                "the sink had not taken the end of the log when it had been waited for {linger:?}: \
                 {lost} events lost to it"
            );
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        Ok(())
    }

    /// What the writer has done since this was last [taken](Self::take_counts).
    pub(crate) fn counts(&self) -> Counts {
        let all = self.all_counts();
        Counts {
            bytes: all.bytes - self.counted.bytes,
            blocks: all.blocks - self.counted.blocks,
            errors: all.errors - self.counted.errors,
        }
    }

    pub(crate) fn take_counts(&mut self) -> Counts {
        let counts = self.counts();
        self.counted += counts;
        counts
    }

    fn all_counts(&self) -> Counts {
        self.reader.as_ref().map_or_else(Counts::default, |reader| {
            let statistics = reader.statistics();
            Counts {
                bytes: statistics.bytes_written,
                blocks: statistics.blocks,
                errors: reader.refusals(),
            }
        })
    }

    /// Events that were lost since this was last asked, and whose they were.
    pub(crate) fn take_lost(&self) -> Vec<Undelivered> {
        let lost = self.reader.as_ref().map(Reader::take_lost);
        lost.into_iter().flatten().collect()
    }

    /// Events that are in the queue, and whose they are.
    pub(crate) fn waiting(&self) -> Vec<Undelivered> {
        self.reader
            .as_ref()
            .map(Reader::waiting)
            .unwrap_or_default()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // In a forked child there is no thread, and nobody may ever let go of what it held.
        if let Some(reader) = self.reader.as_mut() {
            if self.process == std::process::id() {
                reader.leave();
            }
        }
    }
}
