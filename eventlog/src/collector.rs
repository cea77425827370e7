//! Turns what the buffers hold into whole blocks, in order, and hands them to the sink. It is the
//! only user of the sink, and works under one lock, which no emitting thread ever takes.

use crate::buffer::BufferReader;
use crate::capability::CAPSETS;
use crate::clock::Clock;
use crate::format::{BlockMarker, CapNo, Event};
use crate::registry::Registry;
use crate::shared_buffer::SharedBuffer;
use crate::sink::Sink;
use crate::statistics::{BufferStatistics, Statistics};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Collector {
    clock: Clock,
    sink: Sink,
    /// Where the collector says of capabilities that they are gone.
    shared_writer: Arc<SharedBuffer>,
    shared: BufferReader,
    capabilities: Vec<BufferReader>,
    /// What became of the events of capabilities that are gone.
    ended: BTreeMap<CapNo, BufferStatistics>,
    /// When the log ended: everything has been handed to the sink.
    stopped_at: Option<u64>,
    /// The sink has taken everything.
    delivered: bool,
}

impl Collector {
    pub(crate) fn new(
        clock: Clock,
        sink: Sink,
        shared_writer: Arc<SharedBuffer>,
        shared: BufferReader,
    ) -> Self {
        Collector {
            clock,
            sink,
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
        self.retire(registry)
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
        self.pass(registry)?;
        self.sink.flush()
    }

    /// Writes all that is left, and the log's end. No writer may begin any more. What the sink
    /// refuses is kept for the next call; once all has been written, a call does nothing.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn finish(&mut self, registry: &Mutex<Registry>) -> io::Result<()> {
        if self.stopped_at.is_none() {
            self.adopt(registry);
            // The sink may still refuse what it has refused before, and then keeps the rest, too.
            let _ = self.sink.retry();
            self.write_all_blocks();
            self.emit_end();
            self.write_all_blocks();
            self.sink.end();
            self.stopped_at = Some(self.clock.now());
        }
        self.deliver()
    }

    /// After the log's end: offers what is left of it.
    fn deliver(&mut self) -> io::Result<()> {
        if self.delivered {
            return Ok(());
        }
        self.sink.retry()?;
        self.sink.flush()?;
        self.delivered = true;
        Ok(())
    }

    /// Hands everything to the sink, which keeps what it does not take.
    fn write_all_blocks(&mut self) {
        for reader in [&mut self.shared].into_iter().chain(&mut self.capabilities) {
            while reader.read().is_some() {
                let _ = write_blocks(reader, &mut self.sink, &self.clock);
            }
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
            if self.shared_writer.wants_draining(len_of(&removal(cap))) {
                self.write_all_blocks();
            }
            self.say(&removal(cap));
        }
        let end = CAPSETS.map(|capset| Event::CapsetDelete { capset });
        if self.shared_writer.wants_draining(len_of(&end)) {
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
        let mut registry = registry.lock().unwrap_or_else(PoisonError::into_inner);
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
            if self.shared_writer.wants_draining(len_of(&removal(cap))) {
                write_blocks(&mut self.shared, &mut self.sink, &self.clock)?;
            }
            self.say(&removal(cap));
            let statistics = self.capabilities.swap_remove(index).statistics();
            let sum = self.ended.entry(cap).or_default();
            *sum += statistics;
            sum.capability = Some(cap);
            registry
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .give_back(cap);
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
        if ended {
            for (owner, events) in self.sink.undelivered() {
                let owner = match owner {
                    Some(cap) => capabilities.entry(cap).or_default(),
                    None => &mut shared,
                };
                owner.lost.sink += events;
            }
        }
        Statistics {
            elapsed: Duration::from_nanos(self.stopped_at.unwrap_or_else(|| self.clock.now())),
            capabilities: capabilities.into_values().collect(),
            shared,
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
    // At least one look, which also gives a chunk back that was closed after its last event.
    while let Some(body) = reader.read() {
        left = left.saturating_sub(body.len());
        let marker = marker(capability, begin_of(&body), &body, clock.now());
        // Taken in either way: written, or kept by the sink.
        let outcome = sink.write_block(&marker, &body);
        let len = body.len();
        body.release_all();
        reader.count_block(len);
        outcome?;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

/// What a log says of a capability that is gone.
fn removal(cap: CapNo) -> [Event<'static>; 3] {
    let [process, clock] = CAPSETS.map(|capset| Event::CapsetRemoveCap { capset, cap });
    [process, clock, Event::CapDelete { cap }]
}

fn len_of(events: &[Event<'_>]) -> usize {
    events.iter().map(Event::encoded_len).sum()
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
