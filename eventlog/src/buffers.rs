//! The collector's end of all the buffers of a log whose events threads emit: how far each is read, and what
//! the log itself has to say of them.

use crate::buffer_reader::BufferReader;
use crate::capability::CAPSETS;
use crate::clock::Clock;
#[cfg(all(feature = "objects", target_os = "linux"))]
use crate::error::EmitError;
use crate::format::{CapNo, Event};
use crate::outputs::{Extent, Outputs};
use crate::registry::Registry;
use crate::shared_buffer::SharedBuffer;
use crate::statistics::BufferStatistics;
use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct Buffers {
    clock: Clock,
    /// Where the collector says of capabilities that they are gone.
    shared_writer: Arc<SharedBuffer>,
    shared: BufferReader,
    capabilities: Vec<BufferReader>,
    /// What became of the events of capabilities that are gone.
    ended: BTreeMap<CapNo, BufferStatistics>,
}

impl Buffers {
    pub(crate) fn new(
        clock: Clock,
        shared_writer: Arc<SharedBuffer>,
        shared: BufferReader,
    ) -> Self {
        Buffers {
            clock,
            shared_writer,
            shared,
            capabilities: Vec::new(),
            ended: BTreeMap::new(),
        }
    }

    /// Hands out what had been committed when it was called.
    ///
    /// # Errors
    /// The primary output's, after which the rest waits in the buffers, but where there are readers.
    pub(crate) fn pass(
        &mut self,
        outputs: &mut Outputs,
        registry: &Mutex<Registry>,
        extent: Extent,
    ) -> io::Result<()> {
        self.adopt(registry);
        outputs.begin_pass()?;
        let settled = outputs.wants_settling();
        if settled {
            self.shared_writer.wait_for_writers();
        }
        // The shared buffer first: it introduces the capabilities.
        outputs.drain(&mut self.shared, extent)?;
        for reader in &mut self.capabilities {
            outputs.drain(reader, extent)?;
        }
        outputs.end_pass(extent, settled);
        self.retire(outputs, registry)
    }

    /// Hands out what was committed when this was called, on whatever buffer, and of what comes
    /// meanwhile what has a time stamp of before the call: the events of one moment and before. The
    /// outputs keep what they do not take; all of it, however much, where they are not too far behind, and
    /// else nothing. Tells that time: what is left is later.
    pub(crate) fn cut(&mut self, outputs: &mut Outputs, registry: &Mutex<Registry>) -> u64 {
        self.adopt(registry);
        // An event of the shared buffer can be read only when those before it have been written.
        self.shared_writer.wait_for_writers();
        self.shared.gather();
        let keeps = outputs.has_room_for_cut();
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
            let _ = outputs.drain(reader, Extent::Cut { mark, at, keeps });
        }
        outputs.end_cut();
        at
    }

    /// Hands out all that is left, and says that everything is gone. No writer may begin any more.
    pub(crate) fn finish(&mut self, outputs: &mut Outputs, registry: &Mutex<Registry>) {
        self.adopt(registry);
        self.write_all_blocks(outputs);
        self.emit_end(outputs);
        self.write_all_blocks(outputs);
    }

    /// Hands everything to the sink, which keeps what it does not take.
    fn write_all_blocks(&mut self, outputs: &mut Outputs) {
        for reader in [&mut self.shared].into_iter().chain(&mut self.capabilities) {
            let _ = outputs.drain(reader, Extent::All);
        }
    }

    /// Says that everything is gone, after the writers' last events. What the sink refuses it keeps.
    fn emit_end(&mut self, outputs: &mut Outputs) {
        let left: Vec<_> = self
            .capabilities
            .iter()
            .filter_map(BufferReader::capability)
            .collect();
        for cap in left {
            if self.shared_writer.wants_draining() {
                self.write_all_blocks(outputs);
            }
            self.say(&removal(cap));
        }
        let end = CAPSETS.map(|capset| Event::CapsetDelete { capset });
        if self.shared_writer.wants_draining() {
            self.write_all_blocks(outputs);
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

    /// Emits an event to the shared buffer, after making room where it is getting scarce.
    ///
    /// # Errors
    /// Where other threads have taken the room. The loss is counted.
    #[cfg(all(feature = "objects", target_os = "linux"))]
    pub(crate) fn emit(
        &mut self,
        outputs: &mut Outputs,
        event: &Event<'_>,
    ) -> Result<(), EmitError> {
        if self.shared_writer.wants_draining() {
            // What the sink refuses it gets later; then there may be no room.
            let _ = outputs.drain(&mut self.shared, Extent::Ready);
        }
        self.shared_writer.emit_last(event)
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
    fn retire(&mut self, outputs: &mut Outputs, registry: &Mutex<Registry>) -> io::Result<()> {
        let mut index = 0;
        while let Some(reader) = self.capabilities.get(index) {
            let Some(cap) = reader.capability().filter(|_| reader.is_finished()) else {
                index += 1;
                continue;
            };
            // Here and not where the capability is dropped: one that is dropped while the log is
            // stopped is spoken of once, too, and the number's next user later.
            if self.shared_writer.wants_draining() {
                outputs.drain(&mut self.shared, Extent::Ready)?;
            }
            let mut reader = self.capabilities.swap_remove(index);
            // Nothing is left but losses; the output keeps what it refuses.
            let _ = outputs.drain(&mut reader, Extent::All);
            self.say(&removal(cap));
            let statistics = reader.ended_statistics();
            let sum = self.ended.entry(cap).or_default();
            *sum += statistics;
            sum.capability = Some(cap);
            lock(registry).give_back(cap);
        }
        Ok(())
    }

    /// What has become of the events of every capability, and of the shared buffer's; where the log has
    /// `ended` of all of them.
    pub(crate) fn statistics(
        &mut self,
        registry: &Mutex<Registry>,
        ended: bool,
    ) -> (BTreeMap<CapNo, BufferStatistics>, BufferStatistics) {
        self.adopt(registry);
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
        (capabilities, of(&mut self.shared))
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
