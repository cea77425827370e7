//! Turns what the buffers hold into whole blocks, in order, and hands them to the sink. It is the
//! only user of the sink, and works under one lock, which no emitting thread ever takes.

use crate::buffer::BufferReader;
use crate::capability::CAPSETS;
use crate::clock::Clock;
use crate::format::{BlockMarker, CapNo, END_MARKER, Event};
use crate::registry::Registry;
use crate::shared_buffer::SharedBuffer;
use crate::sink::Sink;
use crate::statistics::{BufferStatistics, Statistics};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Collector {
    clock: Clock,
    sink: Sink,
    shared: BufferReader,
    capabilities: Vec<BufferReader>,
    /// What became of the events of capabilities that are gone.
    ended: BTreeMap<CapNo, BufferStatistics>,
    /// When the log ended.
    stopped_at: Option<u64>,
}

impl Collector {
    pub(crate) fn new(clock: Clock, sink: Sink, shared: BufferReader) -> Self {
        Collector {
            clock,
            sink,
            shared,
            capabilities: Vec::new(),
            ended: BTreeMap::new(),
            stopped_at: None,
        }
    }

    /// Writes what had been committed when it was called. After the log's end it writes nothing.
    ///
    /// # Errors
    /// The sink's, after which the rest waits in the buffers for the next pass.
    pub(crate) fn pass(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        if self.stopped_at.is_some() {
            return Ok(());
        }
        self.adopt(registry);
        self.sink.retry()?;
        // The shared buffer first: it introduces the capabilities.
        write_blocks(&mut self.shared, &mut self.sink, &self.clock)?;
        for reader in &mut self.capabilities {
            write_blocks(reader, &mut self.sink, &self.clock)?;
        }
        self.retire(registry);
        Ok(())
    }

    /// Passes on to the sink's storage what the sink has taken.
    pub(crate) fn flush_sink(&mut self) -> io::Result<()> {
        if self.stopped_at.is_some() {
            Ok(())
        } else {
            self.sink.flush()
        }
    }

    /// Writes all that is left, and the log's end. No writer may begin any more.
    ///
    /// # Errors
    /// The sink's; what it has not taken is then given up and counted.
    pub(crate) fn finish(
        &mut self,
        registry: &Mutex<Registry>,
        shared: &SharedBuffer,
    ) -> io::Result<()> {
        let outcome = self.pass(registry).and_then(|()| self.write_end(shared));
        if outcome.is_err() {
            self.give_up();
        }
        self.stopped_at = Some(self.clock.now());
        outcome
    }

    /// Counts everything that the sink has not taken as lost to it.
    fn give_up(&mut self) {
        for reader in self.readers() {
            reader.discard_undeliverable();
        }
        let (owner, events) = self.sink.abandon();
        let owning = self.readers().find(|reader| reader.capability() == owner);
        match (owning, owner) {
            (Some(reader), _) => reader.count_lost_to_sink(events),
            (None, Some(cap)) => self.ended.entry(cap).or_default().lost.sink += events,
            (None, None) => unreachable!("the shared buffer is always there"),
        }
    }

    fn readers(&mut self) -> impl Iterator<Item = &mut BufferReader> {
        self.capabilities.iter_mut().chain([&mut self.shared])
    }

    fn write_end(&mut self, shared: &SharedBuffer) -> io::Result<()> {
        let left: Vec<_> = self
            .capabilities
            .iter()
            .filter_map(BufferReader::capability)
            .collect();
        for cap in left {
            for capset in CAPSETS {
                self.emit_last(shared, &Event::CapsetRemoveCap { capset, cap })?;
            }
            self.emit_last(shared, &Event::CapDelete { cap })?;
        }
        for capset in CAPSETS {
            self.emit_last(shared, &Event::CapsetDelete { capset })?;
        }
        write_blocks(&mut self.shared, &mut self.sink, &self.clock)?;
        self.sink.write_plain(&END_MARKER)?;
        self.sink.flush()
    }

    /// Emits an event of the log's end, which comes after the writers' last.
    fn emit_last(&mut self, shared: &SharedBuffer, event: &Event<'_>) -> io::Result<()> {
        if shared.is_crowded() {
            write_blocks(&mut self.shared, &mut self.sink, &self.clock)?;
        }
        // There is room, and a refusal would be counted.
        let _ = shared.emit_last(event);
        Ok(())
    }

    /// Takes over the buffers that have been made since the last look.
    fn adopt(&mut self, registry: &Mutex<Registry>) {
        let mut registry = registry.lock().unwrap_or_else(PoisonError::into_inner);
        self.capabilities.append(registry.new_readers());
    }

    /// Lets go of buffers whose writers are gone and whose last event has been written.
    fn retire(&mut self, registry: &Mutex<Registry>) {
        let ended = &mut self.ended;
        self.capabilities.retain(|reader| {
            let Some(cap) = reader.capability().filter(|_| reader.is_finished()) else {
                return true;
            };
            let statistics = reader.statistics();
            let sum = ended.entry(cap).or_default();
            *sum += statistics;
            sum.capability = Some(cap);
            registry
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .give_back(cap);
            false
        });
    }

    pub(crate) fn statistics(&mut self, registry: &Mutex<Registry>) -> Statistics {
        self.adopt(registry);
        if self.stopped_at.is_some() {
            // Emitted while the log was being stopped, and committed after the last block.
            for reader in self.readers() {
                reader.discard_late();
            }
        }
        let mut capabilities = self.ended.clone();
        for reader in &self.capabilities {
            let statistics = reader.statistics();
            if let Some(cap) = statistics.capability {
                let sum = capabilities.entry(cap).or_default();
                *sum += statistics;
                sum.capability = Some(cap);
            }
        }
        Statistics {
            elapsed: Duration::from_nanos(self.stopped_at.unwrap_or_else(|| self.clock.now())),
            capabilities: capabilities.into_values().collect(),
            shared: self.shared.statistics(),
            blocks: self.sink.blocks(),
            bytes_written: self.sink.bytes(),
            sink_errors: self.sink.errors(),
        }
    }
}

/// Writes what the buffer held when this was called, and what has come by the last block of that.
fn write_blocks(reader: &mut BufferReader, sink: &mut Sink, clock: &Clock) -> io::Result<()> {
    let capability = reader.capability();
    let mut left = reader.ready();
    while left > 0 {
        let Some(body) = reader.read() else { break };
        left = left.saturating_sub(body.len());
        let marker = marker(capability, begin_of(&body), &body, clock.now());
        // Taken in either way: written, or kept by the sink.
        let outcome = sink.write_block(&marker, &body);
        body.release_all();
        reader.count_block();
        outcome?;
    }
    Ok(())
}

/// The marker of a block that ends now.
fn marker(cap: Option<CapNo>, begin: u64, body: &[u8], now: u64) -> BlockMarker {
    let size = u32::try_from(BlockMarker::LEN + body.len())
        .expect("a chunk is at most half of what a block can say");
    // The first event may have been stamped by a clock that is a little ahead of this thread's.
    BlockMarker {
        begin,
        size,
        end: now.max(begin),
        cap,
    }
}

/// The time stamp of the first event.
fn begin_of(body: &[u8]) -> u64 {
    let stamp = body.get(2..10).and_then(|bytes| bytes.try_into().ok());
    u64::from_be_bytes(stamp.expect("a block begins with a whole event"))
}
