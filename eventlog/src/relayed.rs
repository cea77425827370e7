//! The collector's end of a log whose blocks come from another writer: what was handed over is mended, counted,
//! and passed on, block by block.

use crate::error::StartError;
use crate::format::{BlockMarker, CapNo, Header};
use crate::intake::{BlockWriter, Entry, Intake, Write};
use crate::log::{Builder, EventLog};
use crate::missed::Missed;
use crate::outputs::{Extent, Outputs, Seen, out_of_budget};
use crate::relay::{Content, Mender, Mends, SetAside};
use crate::sink::Sink;
use crate::statistics::BufferStatistics;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// What has become of the writes of a [relayed](crate::Builder::relayed) log.
///
/// ```
/// use ghc_eventlog::{EventLog, Sink, format::Header};
///
/// let (log, writer) = EventLog::builder().relayed(Sink::null(), Header::standard())?;
/// writer.write(&Header::standard().encode())?;
/// let relay = log.stop()?.relay.unwrap();
/// assert_eq!((relay.mends.writes, relay.dropped_writes), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RelayStatistics {
    /// What came of the writes that the collector has looked at. Those that found no room and are none of a log
    /// are counted here as set aside.
    pub mends: Mends,
    /// Writes that were dropped: since there was no room for them, or since they came too late. Their events are
    /// counted as [lost](crate::Lost), by cause.
    pub dropped_writes: u64,
    /// Bytes of these writes.
    pub dropped_bytes: u64,
    /// Why the last one of the writes was set aside that have been.
    pub last_set_aside: Option<SetAside>,
}

impl Builder {
    /// Starts a log whose events come as blocks from another writer, GHC's run-time system above all, which has
    /// written that `header` or is about to. What is handed to the [`BlockWriter`] is copied at once; the log's
    /// collector mends it, as a [`Mender`] does, and passes it on. It is a log like any other:
    /// it can be redirected (at a cut between the blocks that have been handed over and those that have not),
    /// kept in memory (a [`Chunk`](crate::Chunk) is a block, or the blocks of one write), recorded, attached to,
    /// served and stopped. But:
    ///
    /// - Only the other writer writes to it: [`EventLog::capability`], [`EventLog::emit`] and the like are refused.
    /// - Its time is the other writer's. The log knows no time but that of the latest event, whatever the markers of
    ///   blocks say.
    /// - Its header declares, after what `header` does, the event by which the log
    ///   [tells of losses](crate::format::Event::EventsLost), and the types that were [declared](Self::declare).
    /// - The [buffer size](Self::buffer_size) is the budget of bytes for all writes that the sink has not taken: 16
    ///   MiB where it is not called. Each write counts for the next power of two, 4 KiB at least; one that is longer
    ///   than the budget is taken where it has the budget for itself. Memory is allocated when it is needed, kept
    ///   for the next writes, and freed by a [resize](EventLog::resize) that leaves no room for it.
    /// - The [policy](Self::policy) holds for whole writes. Nobody ever waits: [`Policy::Wait`](crate::Policy::Wait)
    ///   is as `DropNewest`. With `OverwriteOldest` threads that write wait for each other while the events of a
    ///   dropped write are counted.
    /// - The other writer's end is not the log's: it may begin again. [`EventLog::stop`] ends the log.
    ///
    /// # Errors
    /// As for [`sink`](Self::sink), and where the header cannot declare what the log needs.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Sink, relay};
    ///
    /// # let first_write = ghc_eventlog::format::Header::standard().encode();
    /// let header = relay::header_of(&first_write)?;
    /// let (log, writer) = EventLog::builder().relayed(Sink::null(), &header)?;
    /// writer.write(&first_write)?;
    /// assert!(log.capability().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relayed(
        self,
        sink: Sink,
        header: &Header,
    ) -> Result<(EventLog, BlockWriter), StartError> {
        let (log, intake) = self.start_relayed(sink, header)?;
        Ok((log, BlockWriter::new(intake)))
    }
}

/// What has been passed on of one capability's.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    events: u64,
    bytes: u64,
    blocks: u64,
}

/// Blocks that memory keeps as one chunk, and counts as one: many may be short.
#[derive(Default)]
struct Together {
    blocks: Vec<u8>,
    /// The latest time of an event in them.
    end: u64,
}

impl Together {
    /// Adds a block whose latest event is of that time.
    fn add(&mut self, latest: u64, parts: [&[u8]; 2]) {
        for part in parts {
            self.blocks.extend_from_slice(part);
        }
        self.end = self.end.max(latest);
    }

    fn keep(self, outputs: &Outputs) {
        outputs.keep_together(self.blocks, self.end);
    }
}

#[derive(Debug)]
pub(crate) struct Relayed {
    intake: Arc<Intake>,
    mender: Mender,
    passed: BTreeMap<Option<CapNo>, Passed>,
    last_set_aside: Option<SetAside>,
    round: Round,
}

/// Blocks of one capability come in the order of their times; those of several do not. When every capability has
/// had a block, what was in its buffer at the round's beginning has come.
#[derive(Debug, Default)]
struct Round {
    known: BTreeSet<CapNo>,
    to_come: BTreeSet<CapNo>,
}

impl Round {
    /// Whether a block of that capability ends the round. Those of none are in no capability's buffer.
    fn is_ended_by(&mut self, cap: Option<CapNo>) -> bool {
        let Some(cap) = cap else {
            return false;
        };
        self.known.insert(cap);
        self.to_come.remove(&cap);
        if self.to_come.is_empty() {
            self.to_come.clone_from(&self.known);
            return true;
        }
        false
    }
}

impl Relayed {
    pub(crate) fn new(intake: Arc<Intake>, mender: Mender) -> Self {
        Relayed {
            intake,
            mender,
            passed: BTreeMap::new(),
            last_set_aside: None,
            round: Round::default(),
        }
    }

    /// Passes on what had been handed over when it was called.
    ///
    /// # Errors
    /// The primary output's, after which the rest waits in the queue, but where there are readers.
    pub(crate) fn pass(&mut self, outputs: &mut Outputs) -> io::Result<()> {
        self.intake.make_ready();
        outputs.begin_pass()?;
        let mark = self.intake.mark();
        self.drain(outputs, Extent::Ready, mark)?;
        outputs.tidy();
        Ok(())
    }

    /// Passes on what has been handed over; the outputs keep what they do not take, where they are not too far
    /// behind. Tells the latest time.
    pub(crate) fn cut(&mut self, outputs: &mut Outputs) -> u64 {
        let mark = self.intake.mark();
        let keeps = outputs.has_room_for_cut();
        let at = u64::MAX;
        // Nothing is refused.
        let _ = self.drain(outputs, Extent::Cut { mark, at, keeps }, mark);
        outputs.now()
    }

    /// Takes nothing in any more, and passes on what is left.
    pub(crate) fn finish(&mut self, outputs: &mut Outputs) {
        self.intake.close();
        let mark = self.intake.mark();
        // Nothing is refused.
        let _ = self.drain(outputs, Extent::All, mark);
    }

    fn drain(&mut self, outputs: &mut Outputs, extent: Extent, mark: u64) -> io::Result<()> {
        loop {
            if let (Extent::Ready, Some(store)) = (extent, outputs.store()) {
                let needed = self.intake.next_memory(mark);
                if needed.is_some_and(|needed| !store.admits(needed)) {
                    return Err(out_of_budget(store));
                }
            }
            match self.intake.take(mark) {
                Some(Entry::Write(write)) => self.pass_on(outputs, write, extent)?,
                Some(Entry::Lost(missed)) => self.tell(outputs, missed, extent)?,
                None => return Ok(()),
            }
        }
    }

    /// Tells of what was dropped, as a whole: what is refused of it is kept.
    fn tell(
        &mut self,
        outputs: &mut Outputs,
        mut missed: Missed,
        extent: Extent,
    ) -> io::Result<()> {
        let in_memory = outputs.store().is_some();
        let mut together = Together::default();
        let mut outcome = Ok(());
        for block in missed.take_told() {
            let Some(marker) = block.first_chunk().map(BlockMarker::from_bytes) else {
                continue;
            };
            self.passed.entry(marker.cap).or_default().blocks += 1;
            let body = &block[BlockMarker::LEN..];
            if in_memory {
                outputs.announce(&marker, body, Seen::at(marker.end));
                together.add(marker.end, [&block, &[]]);
            } else {
                let seen = Seen::at(marker.end);
                outcome = outcome.and(outputs.pass_on(&marker, body, seen, extent));
            }
        }
        together.keep(outputs);
        outcome
    }

    /// Passes on a write, as a whole: what is refused of it is kept.
    fn pass_on(&mut self, outputs: &mut Outputs, write: Write, extent: Extent) -> io::Result<()> {
        let pieces = match self.mender.take(&write) {
            Ok(pieces) => pieces,
            Err(aside) => {
                self.last_set_aside = Some(aside);
                return Ok(());
            }
        };
        if outputs.store().is_some() && pieces.is_one_block(&write) {
            let first = pieces.clone().next();
            let whole = first.and_then(|piece| Some((piece.block()?.0, piece.content())));
            drop(pieces);
            if let Some((marker, content)) = whole {
                let ends_round = self.count(&marker, content);
                outputs.pass_on_whole(&marker, write, self.seen(content));
                if ends_round || outputs.sticky().remembers_too_many() {
                    outputs.end_round();
                }
            }
            return Ok(());
        }
        if outputs.store().is_some() {
            let mut together = Together::default();
            let mut ends_round = false;
            for piece in pieces {
                let Some((marker, body)) = piece.block() else {
                    continue;
                };
                let content = piece.content();
                ends_round |= self.count(&marker, content);
                outputs.announce(&marker, body, self.seen(content));
                together.add(content.latest, piece.parts());
            }
            together.keep(outputs);
            if ends_round || outputs.sticky().remembers_too_many() {
                outputs.end_round();
            }
            return Ok(());
        }
        let mut outcome = Ok(());
        for piece in pieces {
            let Some((marker, body)) = piece.block() else {
                continue;
            };
            let content = piece.content();
            let ends_round = self.count(&marker, content);
            let done = outputs.pass_on(&marker, body, self.seen(content), extent);
            outcome = outcome.and(done);
            if ends_round || outputs.sticky().remembers_too_many() {
                outputs.end_round();
            }
        }
        outcome
    }

    /// What a block of the last write tells.
    fn seen(&self, content: Content) -> Seen<'_> {
        Seen {
            latest: content.latest,
            notable: self.mender.notable(content),
        }
    }

    /// Counts a block that is passed on. Says whether it ends a round.
    fn count(&mut self, marker: &BlockMarker, content: Content) -> bool {
        let passed = self.passed.entry(marker.cap).or_default();
        passed.blocks += 1;
        passed.events += content.events;
        passed.bytes += content.len as u64;
        self.round.is_ended_by(marker.cap)
    }

    /// What has become of the events of every capability, and of those of none.
    pub(crate) fn statistics(&self) -> (BTreeMap<CapNo, BufferStatistics>, BufferStatistics) {
        let counts = self.intake.counts();
        let mut capabilities = BTreeMap::<CapNo, BufferStatistics>::new();
        let mut shared = BufferStatistics {
            size: counts.budget,
            memory: counts.memory,
            ..BufferStatistics::default()
        };
        shared.lost.relayed = counts.own;
        let mut of = |owner: Option<CapNo>, add: &dyn Fn(&mut BufferStatistics)| match owner {
            Some(cap) => {
                let statistics = capabilities.entry(cap).or_default();
                statistics.capability = Some(cap);
                add(statistics);
            }
            None => add(&mut shared),
        };
        for (owner, passed) in &self.passed {
            of(*owner, &|statistics| {
                statistics.events = passed.events;
                statistics.bytes = passed.bytes;
                statistics.blocks = passed.blocks;
            });
        }
        for (owner, dropped) in &counts.lost {
            of(*owner, &|statistics| {
                // What was taken in and overwritten before the collector came to it.
                statistics.events += dropped.overwritten.events;
                statistics.bytes += dropped.overwritten.bytes;
                statistics.lost.full = dropped.full;
                statistics.lost.overwritten = dropped.overwritten.events;
                statistics.lost.stopped = dropped.stopped;
            });
        }
        (capabilities, shared)
    }

    pub(crate) fn relay_statistics(&self) -> RelayStatistics {
        let counts = self.intake.counts();
        let mut mends = *self.mender.mends();
        mends.writes += counts.unreadable_writes;
        mends.bytes += counts.unreadable_bytes;
        mends.writes_set_aside += counts.unreadable_writes;
        mends.bytes_set_aside += counts.unreadable_bytes;
        RelayStatistics {
            mends,
            dropped_writes: counts.dropped_writes,
            dropped_bytes: counts.dropped_bytes,
            last_set_aside: self.last_set_aside,
        }
    }
}
