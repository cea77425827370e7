//! Where the events of a log go: the one place that every block passes on its way out of the buffers.
//!
//! The collector says which buffer is to be read, and how far; here is decided what becomes of the
//! events: they are given to the primary output, which may take them as slices or as whole chunks.

use crate::buffer::BufferReader;
use crate::clock::Clock;
use crate::delivery::Delivery;
use crate::format::{BlockMarker, CapNo};
use std::io;

/// The output that a log is for. What it has not taken yet stays in the buffers, or is kept by it.
#[derive(Debug)]
enum Primary {
    /// A writer, which gets a copy of the bytes.
    Writer(Delivery),
}

/// How far a buffer is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// What it holds now, and what has come by the last block of that.
    Ready,
    /// Until it is empty.
    All,
}

/// All that takes a log's blocks.
#[derive(Debug)]
pub(crate) struct Outputs {
    clock: Clock,
    primary: Primary,
}

impl Outputs {
    pub(crate) fn new(clock: Clock, writer: Delivery) -> Self {
        Outputs {
            clock,
            primary: Primary::Writer(writer),
        }
    }

    /// Makes blocks of what the buffer holds, and hands them out.
    ///
    /// # Errors
    /// The primary output's. The block that it refused is its own all the same. [`Extent::Ready`]
    /// leaves the rest in the buffer; [`Extent::All`] goes on, so the output keeps all of it, and
    /// there is no error.
    pub(crate) fn drain(&mut self, reader: &mut BufferReader, extent: Extent) -> io::Result<()> {
        let capability = reader.capability();
        let mut left = reader.ready();
        // At least one look, which also gives a chunk back that was closed after its last event.
        while let Some(body) = reader.read() {
            left = left.saturating_sub(body.len());
            let marker = marker(capability, &body, self.clock.now());
            let outcome = match &mut self.primary {
                // Taken in either way: written, or kept.
                Primary::Writer(writer) => writer.write_block(&marker, &body),
            };
            let len = body.len();
            body.release_all();
            reader.count_block(len);
            match extent {
                Extent::Ready => {
                    outcome?;
                    if left == 0 {
                        break;
                    }
                }
                Extent::All => {}
            }
        }
        Ok(())
    }

    /// Offers again what has been refused.
    ///
    /// # Errors
    /// The primary output's.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        match &mut self.primary {
            Primary::Writer(writer) => writer.retry(),
        }
    }

    /// Makes the primary output pass on what it has taken.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.primary {
            Primary::Writer(writer) => writer.flush(),
        }
    }

    /// Puts the log's end behind everything else.
    pub(crate) fn end(&mut self) {
        match &mut self.primary {
            Primary::Writer(writer) => writer.end(),
        }
    }

    /// Events that have been handed out and not taken, and whose they are.
    pub(crate) fn undelivered(&self) -> impl Iterator<Item = (Option<CapNo>, u64)> {
        match &self.primary {
            Primary::Writer(writer) => writer.undelivered(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match &self.primary {
            Primary::Writer(writer) => writer.bytes(),
        }
    }

    pub(crate) fn blocks(&self) -> u64 {
        match &self.primary {
            Primary::Writer(writer) => writer.blocks(),
        }
    }

    pub(crate) fn errors(&self) -> u64 {
        match &self.primary {
            Primary::Writer(writer) => writer.errors(),
        }
    }
}

/// The marker of a block that ends now.
fn marker(cap: Option<CapNo>, body: &[u8], now: u64) -> BlockMarker {
    let size = u32::try_from(BlockMarker::LEN + body.len())
        .expect("a chunk is at most half of what a block can say");
    let begin = begin_of(body);
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
