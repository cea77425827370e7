//! Events put into blocks again, and a log made of those.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ghc_eventlog::format::{BlockMarker, CapNo, END_MARKER, Header};

/// Bytes of events from which on a block is long enough.
const BLOCK: usize = 1 << 16;

/// Bytes of events that wait for their block to be long enough, in all. What is written together
/// lies close in time, too, so that a reader that sorts needs little memory.
const WAITING: usize = 1 << 20;

/// Writes a log, event by event. Those of a capability stay in order.
pub(crate) struct Blocks<W> {
    out: W,
    caps: BTreeMap<Option<CapNo>, Block>,
    waiting: usize,
    /// Bytes of the log if it ended now.
    size: u64,
    events: u64,
}

#[derive(Default)]
struct Block {
    begin: u64,
    end: u64,
    body: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    /// Writes the header.
    pub(crate) fn new(mut out: W, header: &Header) -> io::Result<Self> {
        out.write_all(&header.encode())?;
        Ok(Self {
            out,
            caps: BTreeMap::new(),
            waiting: 0,
            size: (header.encoded_len() + END_MARKER.len()) as u64,
            events: 0,
        })
    }

    /// Adds an event of that time, whose bytes these are.
    pub(crate) fn event(&mut self, cap: Option<CapNo>, time: u64, event: &[u8]) -> io::Result<()> {
        self.size += self.cost(cap, event.len());
        self.events += 1;
        let block = self.caps.entry(cap).or_default();
        if block.body.is_empty() {
            (block.begin, block.end) = (time, time);
        }
        block.begin = block.begin.min(time);
        block.end = block.end.max(time);
        block.body.extend_from_slice(event);
        self.waiting += event.len();
        if block.body.len() >= BLOCK {
            self.waiting -= block.body.len();
            return write(&mut self.out, cap, block);
        }
        if self.waiting >= WAITING {
            return self.write_all();
        }
        Ok(())
    }

    /// Bytes by which an event of that length makes the log longer.
    pub(crate) fn cost(&self, cap: Option<CapNo>, len: usize) -> u64 {
        let begun = self
            .caps
            .get(&cap)
            .is_some_and(|block| !block.body.is_empty());
        (len + if begun { 0 } else { BlockMarker::LEN }) as u64
    }

    /// Bytes of the log if it ended now.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// How many events there are.
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// Ends the log, and flushes it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_all()?;
        self.out.write_all(&END_MARKER)?;
        self.out.flush()
    }

    fn write_all(&mut self) -> io::Result<()> {
        self.waiting = 0;
        for (cap, block) in &mut self.caps {
            if !block.body.is_empty() {
                write(&mut self.out, *cap, block)?;
            }
        }
        Ok(())
    }
}

fn write(out: &mut impl Write, cap: Option<CapNo>, block: &mut Block) -> io::Result<()> {
    let marker = BlockMarker {
        begin: block.begin,
        // Less than a block and an event.
        size: (BlockMarker::LEN + block.body.len()) as u32,
        end: block.end,
        cap,
    };
    out.write_all(&marker.encode())?;
    out.write_all(&block.body)?;
    block.body.clear();
    Ok(())
}
