//! Empties the buffers into the outputs, in order, and says what the log itself has to say. It is
//! the only user of the outputs, and works under one lock, which no emitting thread ever takes.

use crate::buffers::Buffers;
use crate::clock::Clock;
#[cfg(all(feature = "objects", target_os = "linux"))]
use crate::error::EmitError;
use crate::error::{AttachError, SetSinkError};
use crate::flight_recorder::{Recording, SnapshotError, Turn};
#[cfg(all(feature = "objects", target_os = "linux"))]
use crate::format::Event;
use crate::outputs::{Extent, Outputs};
use crate::reader::{AttachOptions, Reader, ReaderId, ReaderStatistics, Waiter};
use crate::registry::Registry;
use crate::relayed::Relayed;
use crate::sink::{Previous, Sink, Start, Unavailable};
use crate::statistics::Statistics;
use crate::user_writer::UserWriter;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the events come from.
#[derive(Debug)]
pub(crate) enum Events {
    /// Threads of this program emit them.
    Emitted(Buffers),
    /// Another writer hands them over, in blocks.
    Relayed(Relayed),
}

impl Events {
    /// Hands out what there was when it was called, and what was there of what comes meanwhile.
    ///
    /// # Errors
    /// The primary output's, after which the rest waits, but where there are readers.
    fn pass(
        &mut self,
        outputs: &mut Outputs,
        registry: &Mutex<Registry>,
        extent: Extent,
    ) -> io::Result<()> {
        match self {
            Events::Emitted(buffers) => buffers.pass(outputs, registry, extent),
            Events::Relayed(relayed) => relayed.pass(outputs),
        }
    }

    /// Hands out what there was when it was called, and what else is of before. Tells the time: what is left is
    /// later.
    fn cut(&mut self, outputs: &mut Outputs, registry: &Mutex<Registry>) -> u64 {
        match self {
            Events::Emitted(buffers) => buffers.cut(outputs, registry),
            Events::Relayed(relayed) => relayed.cut(outputs),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Collector {
    clock: Clock,
    outputs: Outputs,
    events: Events,
    /// When the log ended: everything has been handed to the outputs.
    stopped_at: Option<u64>,
    /// The sink has taken everything.
    delivered: bool,
}

impl Collector {
    pub(crate) fn new(clock: Clock, outputs: Outputs, events: Events) -> Self {
        Collector {
            clock,
            outputs,
            events,
            stopped_at: None,
            delivered: false,
        }
    }

    /// Writes what had been committed when it was called. After the log's end it writes nothing.
    ///
    /// # Errors
    /// The sink's, after which the rest waits in the buffers for the next pass, but where there are readers.
    pub(crate) fn pass(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        let extent = self.outputs.usual_extent();
        self.pass_to(registry, extent)
    }

    fn pass_to(&mut self, registry: &Mutex<Registry>, extent: Extent) -> io::Result<()> {
        if self.stopped_at.is_some() {
            return Ok(());
        }
        self.events.pass(&mut self.outputs, registry, extent)?;
        self.outputs.take_refusal()
    }

    /// What the log's flight recorder keeps, up to now.
    ///
    /// # Errors
    /// Where there is none, or another snapshot is being made.
    pub(crate) fn snapshot(
        &mut self,
        registry: &Mutex<Registry>,
    ) -> Result<Recording, SnapshotError> {
        let recorder = self.outputs.store().filter(|store| store.is_recorder());
        let store = recorder.map(Arc::clone);
        let store = store.ok_or(SnapshotError::NotRecording)?;
        let turn = Turn::take(&store).ok_or(SnapshotError::Busy)?;
        if self.stopped_at.is_none() {
            // Whole chunks first: what the cut takes is copied.
            let _ = self.pass_to(registry, Extent::Complete);
            self.cut(registry);
            store.forget(self.outputs.now());
        }
        let (beginning, blocks) = self.outputs.recording(&store);
        Ok(Recording {
            beginning,
            blocks,
            turn,
        })
    }

    /// As [`pass`](Self::pass), and makes the sink pass on what it has taken. After the log's end
    /// offers again what the sink has refused.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn flush(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        if self.stopped_at.is_some() {
            return self.deliver();
        }
        self.pass_to(registry, Extent::Ready)?;
        self.outputs.flush()
    }

    /// Hands out what there was when this was called; the outputs keep what they do not take. Tells the time of
    /// the cut.
    fn cut(&mut self, registry: &Mutex<Registry>) -> u64 {
        self.events.cut(&mut self.outputs, registry)
    }

    /// Goes on in another sink.
    ///
    /// # Errors
    /// See [`SetSinkError`].
    pub(crate) fn redirect(
        &mut self,
        registry: &Mutex<Registry>,
        sink: &Sink,
        previous: Previous,
        start: Start,
    ) -> Result<(), SetSinkError> {
        if self.stopped_at.is_some() {
            return Err(SetSinkError::Stopped);
        }
        let mut delivery = sink.take().map_err(|unavailable| match unavailable {
            Unavailable::InUse => SetSinkError::InUse,
            Unavailable::Closed => SetSinkError::Closed,
        })?;
        if start == Start::Header && delivery.has_begun() {
            sink.put_back(delivery);
            return Err(SetSinkError::Begun);
        }
        if start == Start::Continue && delivery.is_known_to_be_empty() {
            sink.put_back(delivery);
            return Err(SetSinkError::NotBegun);
        }
        let had_begun = delivery.has_begun();
        // What it still refuses it keeps, and what follows, too.
        let _ = self.outputs.retry();
        let at = self.cut(registry);
        let begun = match start {
            Start::Header => {
                let beginning = self.outputs.beginning();
                delivery.begin(self.outputs.header(), &beginning)
            }
            Start::Continue => delivery
                .resume()
                .map(|()| self.outputs.tell(&mut delivery, at)),
        };
        if let Err(source) = begun {
            match !had_begun && delivery.has_begun() {
                true => sink.put_back_closed(),
                false => sink.put_back(delivery),
            }
            return Err(SetSinkError::Refused(source));
        }
        self.outputs
            .replace(sink, delivery, previous)
            .map_err(|(source, lost)| SetSinkError::Previous { source, lost })
    }

    /// Offers the sink what it has refused before, before a cut hands it more. A writer keeps what it refuses
    /// still.
    ///
    /// # Errors
    /// That of memory that is full.
    fn offer_backlog(&mut self) -> io::Result<()> {
        let _ = self.outputs.retry();
        self.outputs.check_budget()
    }

    /// Starts a reader with what is emitted from now on.
    ///
    /// # Errors
    /// See [`AttachError`].
    pub(crate) fn attach(
        &mut self,
        registry: &Mutex<Registry>,
        writer: UserWriter,
        options: &AttachOptions,
    ) -> Result<ReaderId, AttachError> {
        if self.stopped_at.is_some() {
            return Err(AttachError::Stopped);
        }
        self.offer_backlog().map_err(AttachError::Sink)?;
        self.cut(registry);
        self.outputs
            .attach(writer, options)
            .map_err(AttachError::Thread)
    }

    /// Takes a reader out that has been given what was emitted up to now.
    pub(crate) fn detach(&mut self, registry: &Mutex<Registry>, id: ReaderId) -> Option<Reader> {
        if self.stopped_at.is_none() && self.offer_backlog().is_ok() {
            self.cut(registry);
        }
        self.outputs.detach(id)
    }

    /// What waits for the readers and for queues of sinks, after the log's end. To be waited for without the collector.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        self.outputs.waiters()
    }

    /// After these have been waited for.
    ///
    /// # Errors
    /// Where the sink's queue was not emptied in time.
    pub(crate) fn part_from_waited(&mut self) -> io::Result<()> {
        self.outputs.part_from_waited()
    }

    pub(crate) fn count_former(&mut self, reader: &Reader, statistics: ReaderStatistics) {
        self.outputs.count_former(reader, statistics);
    }

    /// Writes all that is left, and the log's end. No writer may begin any more. What the sink
    /// refuses is kept for the next call; once all has been written, a call does nothing.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn finish(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        if self.stopped_at.is_none() {
            // Before the last look at the registry: who comes later is told so, and is not in the log.
            lock(registry).end();
            // The sink may still refuse what it has refused before, and then keeps the rest, too.
            let _ = self.outputs.retry();
            self.outputs.begin_end();
            match &mut self.events {
                Events::Emitted(buffers) => buffers.finish(&mut self.outputs, registry),
                Events::Relayed(relayed) => relayed.finish(&mut self.outputs),
            }
            self.outputs.end();
            self.stopped_at = Some(self.clock.now());
        }
        self.deliver()
    }

    /// After the log's end: offers what is left of it.
    fn deliver(&mut self) -> io::Result<()> {
        if self.delivered {
            return Ok(());
        }
        self.outputs.retry()?;
        self.outputs.flush()?;
        self.delivered = true;
        Ok(())
    }

    /// Whether the log has ended: nothing is written any more.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn has_ended(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Whether a log that begins now would be told what that cost centre is.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn defines_cost_centre(&self, id: u32) -> bool {
        self.outputs.sticky().defines_cost_centre(id)
    }

    /// Emits an event to the shared buffer, after making room where it is getting scarce. Whoever holds the collector
    /// from one such event to another has them in one log: no redirection, no reader and no end comes between.
    ///
    /// # Errors
    /// Where other threads have taken the room: the loss is counted. And where another writer hands events over.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn emit(&mut self, event: &Event<'_>) -> Result<(), EmitError> {
        match &mut self.events {
            Events::Emitted(buffers) => buffers.emit(&mut self.outputs, event),
            Events::Relayed(_) => Err(EmitError::Relayed),
        }
    }

    pub(crate) fn statistics(&mut self, registry: &Mutex<Registry>) -> Statistics {
        let ended = self.stopped_at.is_some();
        let (mut capabilities, mut shared) = match &mut self.events {
            Events::Emitted(buffers) => buffers.statistics(registry, ended),
            Events::Relayed(relayed) => relayed.statistics(),
        };
        self.outputs.settle();
        let undelivered = match ended {
            false => Vec::new(),
            true => self.outputs.undelivered(),
        };
        for (owner, events) in self.outputs.lost().chain(undelivered) {
            let owner = match owner {
                Some(cap) => capabilities.entry(cap).or_default(),
                None => &mut shared,
            };
            owner.lost.sink += events;
        }
        for (owner, events) in self.outputs.overwritten() {
            let owner = match owner {
                Some(cap) => capabilities.entry(cap).or_default(),
                None => &mut shared,
            };
            owner.lost.overwritten += events;
        }
        let counts = self.outputs.counts();
        let (readers, former_readers) = self.outputs.readers();
        Statistics {
            elapsed: Duration::from_nanos(self.stopped_at.unwrap_or_else(|| self.clock.now())),
            capabilities: capabilities.into_values().collect(),
            shared,
            blocks: counts.blocks,
            bytes_written: counts.bytes,
            sink_errors: counts.errors,
            sticky_bytes: self.outputs.sticky().bytes(),
            readers,
            former_readers,
            reader_failure: self.outputs.reader_failure(),
            sticky_refused: self.outputs.sticky().refused(),
            relay: match &self.events {
                Events::Emitted(_) => None,
                Events::Relayed(relayed) => Some(relayed.relay_statistics()),
            },
        }
    }
}

fn lock(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}
