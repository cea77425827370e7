//! Empties the buffers into the outputs, in order, and says what the log itself has to say. It is
//! the only user of the outputs, and works under one lock, which no emitting thread ever takes.

use crate::buffer_reader::BufferReader;
use crate::capability::CAPSETS;
use crate::clock::Clock;
use crate::error::{AttachError, SetSinkError};
use crate::flight_recorder::{Recording, SnapshotError, Turn};
use crate::format::{CapNo, Event};
use crate::outputs::{Extent, Outputs};
use crate::reader::{AttachOptions, Reader, ReaderId, ReaderStatistics};
use crate::registry::Registry;
use crate::shared_buffer::SharedBuffer;
use crate::sink::{Previous, Sink, Start, Unavailable};
use crate::statistics::{BufferStatistics, Statistics};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Collector {
    clock: Clock,
    outputs: Outputs,
    /// Where the collector says of capabilities that they are gone.
    shared_writer: Arc<SharedBuffer>,
    shared: BufferReader,
    capabilities: Vec<BufferReader>,
    /// What became of the events of capabilities that are gone.
    ended: BTreeMap<CapNo, BufferStatistics>,
    /// When the log ended: everything has been handed to the outputs.
    stopped_at: Option<u64>,
    /// The sink has taken everything.
    delivered: bool,
}

impl Collector {
    pub(crate) fn new(
        clock: Clock,
        outputs: Outputs,
        shared_writer: Arc<SharedBuffer>,
        shared: BufferReader,
    ) -> Self {
        Collector {
            clock,
            outputs,
            shared_writer,
            shared,
            capabilities: Vec::new(),
            ended: BTreeMap::new(),
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
        self.adopt(registry);
        self.outputs.begin_pass()?;
        let settled = self.outputs.wants_settling();
        if settled {
            self.shared_writer.wait_for_writers();
        }
        // The shared buffer first: it introduces the capabilities.
        self.outputs.drain(&mut self.shared, extent)?;
        for reader in &mut self.capabilities {
            self.outputs.drain(reader, extent)?;
        }
        self.outputs.end_pass(extent, settled);
        self.retire(registry)?;
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
            store.forget(self.clock.now());
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

    /// Hands out what was committed when this was called, on whatever buffer, and of what comes
    /// meanwhile what has a time stamp of before the call: the events of one moment and before. The
    /// outputs keep what they do not take; all of it, however much, where they are not too far behind, and
    /// else nothing. Tells that time: what is left is later.
    fn cut(&mut self, registry: &Mutex<Registry>) -> u64 {
        self.adopt(registry);
        // An event of the shared buffer can be read only when those before it have been written.
        self.shared_writer.wait_for_writers();
        self.shared.gather();
        let keeps = self.outputs.has_room_for_cut();
        let readers = || [&self.shared].into_iter().chain(&self.capabilities);
        // In this order: what is ready has been stamped. The marks are needed where the counters of
        // two processors differ.
        let marks: Vec<_> = readers().map(BufferReader::mark).collect();
        let at = self.clock.now();
        // Whatever has a stamp of before has been written after this.
        self.shared_writer.wait_for_writers();
        self.shared.gather();
        // Who knows of an event on a buffer that was made meanwhile may have emitted the next one elsewhere.
        self.adopt(registry);
        let marks = marks.into_iter().chain(iter::repeat(0));
        let readers = [&mut self.shared].into_iter().chain(&mut self.capabilities);
        for (reader, mark) in readers.zip(marks) {
            let _ = self.outputs.drain(reader, Extent::Cut { mark, at, keeps });
        }
        at
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
        // What it still refuses it keeps, and what follows, too.
        let _ = self.outputs.retry();
        let at = self.cut(registry);
        let begun = match start {
            Start::Header => {
                let beginning = self.outputs.beginning();
                delivery.begin(self.outputs.header(), &beginning)
            }
            Start::Continue => delivery
                .retry()
                .map(|()| self.outputs.tell(&mut delivery, at)),
        };
        if let Err(source) = begun {
            match start {
                Start::Header if delivery.has_begun() => sink.put_back_closed(),
                Start::Header | Start::Continue => sink.put_back(delivery),
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
        writer: Box<dyn Write + Send>,
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

    /// Waits for the readers, after the log's end.
    pub(crate) fn wait_for_readers(&mut self) {
        self.outputs.wait_for_readers();
    }

    pub(crate) fn count_former(&mut self, reader: ReaderStatistics) {
        self.outputs.count_former(reader);
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
            self.adopt(registry);
            // The sink may still refuse what it has refused before, and then keeps the rest, too.
            let _ = self.outputs.retry();
            self.outputs.begin_end();
            self.write_all_blocks();
            self.emit_end();
            self.write_all_blocks();
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

    /// Hands everything to the sink, which keeps what it does not take.
    fn write_all_blocks(&mut self) {
        for reader in [&mut self.shared].into_iter().chain(&mut self.capabilities) {
            let _ = self.outputs.drain(reader, Extent::All);
        }
    }

    /// Says that everything is gone, after the writers' last events. What the sink refuses it keeps.
    fn emit_end(&mut self) {
        let left: Vec<_> = self
            .capabilities
            .iter()
            .filter_map(BufferReader::capability)
            .collect();
        for cap in left {
            if self.shared_writer.wants_draining() {
                self.write_all_blocks();
            }
            self.say(&removal(cap));
        }
        let end = CAPSETS.map(|capset| Event::CapsetDelete { capset });
        if self.shared_writer.wants_draining() {
            self.write_all_blocks();
        }
        self.say(&end);
    }

    /// Emits to the shared buffer, also when the log has been stopped.
    fn say(&self, events: &[Event<'_>]) {
        for event in events {
            // Where other threads have taken the room, the loss is counted.
            let _ = self.shared_writer.emit_last(event);
        }
    }

    /// Takes over the buffers that have been made since the last look.
    fn adopt(&mut self, registry: &Mutex<Registry>) {
        let mut registry = lock(registry);
        self.capabilities.append(registry.new_readers());
    }

    /// Lets go of buffers whose writers are gone and whose last event has been written.
    ///
    /// # Errors
    /// The sink's, where room for saying so had to be made.
    fn retire(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        let mut index = 0;
        while let Some(reader) = self.capabilities.get(index) {
            let Some(cap) = reader.capability().filter(|_| reader.is_finished()) else {
                index += 1;
                continue;
            };
            // Here and not where the capability is dropped: one that is dropped while the log is
            // stopped is spoken of once, too, and the number's next user later.
            if self.shared_writer.wants_draining() {
                self.outputs.drain(&mut self.shared, Extent::Ready)?;
            }
            let mut reader = self.capabilities.swap_remove(index);
            // Nothing is left but losses; the output keeps what it refuses.
            let _ = self.outputs.drain(&mut reader, Extent::All);
            self.say(&removal(cap));
            let statistics = reader.ended_statistics();
            let sum = self.ended.entry(cap).or_default();
            *sum += statistics;
            sum.capability = Some(cap);
            lock(registry).give_back(cap);
        }
        Ok(())
    }

    pub(crate) fn statistics(&mut self, registry: &Mutex<Registry>) -> Statistics {
        self.adopt(registry);
        let ended = self.stopped_at.is_some();
        let of = |reader: &mut BufferReader| match ended {
            false => reader.statistics(),
            true => reader.last_statistics(),
        };
        let mut capabilities = self.ended.clone();
        for reader in &mut self.capabilities {
            let statistics = of(reader);
            if let Some(cap) = statistics.capability {
                let sum = capabilities.entry(cap).or_default();
                *sum += statistics;
                sum.capability = Some(cap);
            }
        }
        let mut shared = of(&mut self.shared);
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
            sticky_refused: self.outputs.sticky().refused(),
        }
    }
}

fn lock(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a log says of a capability that is gone.
fn removal(cap: CapNo) -> [Event<'static>; 3] {
    let [process, clock] = CAPSETS.map(|capset| Event::CapsetRemoveCap { capset, cap });
    [process, clock, Event::CapDelete { cap }]
}
