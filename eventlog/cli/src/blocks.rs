//! Events put into blocks again, and a log made of those.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ghc_eventlog::format::{BlockMarker, CapNo, END_MARKER, Header};

/// Bytes of events from which on a block is long enough.
const BLOCK: usize = 1 << 16;

/// Bytes of events that wait for their block to be long enough, in all. What is written together
/// lies close in time, too, so that a reader that sorts needs little memory.
const WAITING: usize = 1 << 20;

/// Where an event lies among those of its capability: by when it comes in its log, which is later than its time
/// where it is dated back, by the log, and by the offset there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) time: u64,
    pub(crate) input: usize,
    pub(crate) offset: u64,
}

/// Writes a log, event by event. Those of a capability stay in order: readers that do not sort, or not by nanoseconds,
/// learn from that order which garbage collection an end belongs to, though the end is dated back.
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
    /// Those that are dated back, until what comes before them in their log is there: time and bytes.
    late: BTreeMap<Place, (u64, Box<[u8]>)>,
    /// Bytes of those.
    late_len: usize,
}

impl Block {
    fn begun(&self) -> bool {
        !self.body.is_empty() || !self.late.is_empty()
    }

    fn take_late(&mut self) -> Option<(u64, Box<[u8]>)> {
        let (_, (time, event)) = self.late.pop_first()?;
        self.late_len -= event.len();
        Some((time, event))
    }
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

    /// Adds an event of that time, whose bytes these are, and which is of no other log.
    pub(crate) fn event(&mut self, cap: Option<CapNo>, time: u64, event: &[u8]) -> io::Result<()> {
        let place = Place {
            time,
            input: 0,
            offset: 0,
        };
        self.placed(cap, time, place, event)
    }

    /// Adds an event of another log. They are to come in the order of time.
    pub(crate) fn placed(
        &mut self,
        cap: Option<CapNo>,
        time: u64,
        place: Place,
        event: &[u8],
    ) -> io::Result<()> {
        self.size += self.cost(cap, event.len());
        self.events += 1;
        let block = self.caps.entry(cap).or_default();
        if place.time > time {
            block.late_len += event.len();
            block.late.insert(place, (time, event.into()));
            // So many are not dated back; it is the clock that went wrong.
            return self.write_late(cap, |block| block.late_len >= WAITING);
        }
        self.write_late(cap, |block| {
            let first = block.late.first_key_value();
            first.is_some_and(|(late, _)| *late < place)
        })?;
        self.add(cap, time, event)
    }

    fn write_late(
        &mut self,
        cap: Option<CapNo>,
        is_due: impl Fn(&Block) -> bool,
    ) -> io::Result<()> {
        while let Some(block) = self.caps.get_mut(&cap).filter(|block| is_due(block)) {
            let Some((time, event)) = block.take_late() else {
                break;
            };
            self.add(cap, time, &event)?;
        }
        Ok(())
    }

    fn add(&mut self, cap: Option<CapNo>, time: u64, event: &[u8]) -> io::Result<()> {
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
            if !block.late.is_empty() {
                // They are in a block of their own then.
                self.size += BlockMarker::LEN as u64;
            }
            return write(&mut self.out, cap, block);
        }
        if self.waiting >= WAITING {
            return self.write_all();
        }
        Ok(())
    }

    /// Bytes by which an event of that length makes the log longer.
    fn cost(&self, cap: Option<CapNo>, len: usize) -> u64 {
        let begun = self.caps.get(&cap).is_some_and(Block::begun);
        (len + if begun { 0 } else { BlockMarker::LEN }) as u64
    }

    /// The most bytes by which an event of that length makes the log longer, with the blocks that are full then.
    pub(crate) fn most(&self, cap: Option<CapNo>, len: usize) -> u64 {
        let late = self.caps.get(&cap).filter(|block| !block.late.is_empty());
        let blocks = late.map_or(0, |block| (block.body.len() + block.late_len + len) / BLOCK);
        self.cost(cap, len) + (blocks * BlockMarker::LEN) as u64
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
        let caps: Vec<_> = self.caps.keys().copied().collect();
        for cap in caps {
            self.write_late(cap, |_| true)?;
        }
        self.write_all()?;
        self.out.write_all(&END_MARKER)?;
        self.out.flush()
    }

    fn write_all(&mut self) -> io::Result<()> {
        for (cap, block) in &mut self.caps {
            // What is late is to come into the same block.
            if !block.body.is_empty() && block.late.is_empty() {
                self.waiting -= block.body.len();
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
