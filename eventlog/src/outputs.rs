//! Where the events of a log go: the one place that every block passes on its way out of the buffers.
//!
//! The collector says which buffer is to be read, and how far; here is decided what becomes of the
//! events: the sticky ones are remembered, and all are given to the primary output, which may take
//! them as slices or as whole chunks, and to the readers that are attached.

use crate::block::Block;
use crate::block_store::BlockStore;
use crate::buffer_reader::{Body, BufferReader};
use crate::clock::LogTime;
use crate::delivery::{Counts, Delivery, Undelivered};
use crate::format::{self, BlockMarker, CapNo, Header};
use crate::intake::Write as Handed;
use crate::marks::Marks;
use crate::missed;
use crate::reader::{AttachOptions, OnError, Piece, Reader, ReaderFailure, ReaderId};
use crate::reader::{ReaderStatistics, Waiter};
use crate::signals::Signals;
use crate::sink::{Previous, Sink};
use crate::sticky::Sticky;
use crate::user_writer::UserWriter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{io, mem};

/// The output that a log is for. What it has not taken yet stays in the buffers, or is kept by it.
#[derive(Debug)]
enum Primary {
    /// A writer, which gets a copy of the bytes, and the handle that it is given back to.
    Writer { sink: Sink, delivery: Delivery },
}

/// What has been found in a block that another writer has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'b> {
    /// The latest time of an event.
    pub(crate) latest: u64,
    /// Where the events are that are to be looked at.
    pub(crate) notable: &'b [u32],
}

impl Seen<'_> {
    /// Nothing but events of that time.
    pub(crate) const fn at(time: u64) -> Self {
        Seen {
            latest: time,
            notable: &[],
        }
    }
}

/// How far a buffer is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    /// What it holds now, and what has come by the last block of that. Where blocks are kept in memory,
    /// only chunks that are complete: they need not be copied.
    Complete,
    /// What it holds now, and what has come by the last block of that.
    Ready,
    /// Until it is empty, and what was lost since.
    All,
    /// What lies before the mark, and what follows up to the time `at`. The primary output is given it where
    /// it `keeps` all of the cut.
    Cut { mark: u64, at: u64, keeps: bool },
}

/// All that takes a log's blocks.
#[derive(Debug)]
pub(crate) struct Outputs {
    time: LogTime,
    /// What a log begins with, and by which its events can be told apart.
    header: Arc<Header>,
    sticky: Sticky,
    marks: Arc<Mutex<Marks>>,
    primary: Primary,
    /// Bytes of blocks that are kept for a sink that refuses while others go on.
    backlog_limit: usize,
    /// Why the sink has refused since the pass began, where the readers have gone on.
    refusal: Option<io::Error>,
    readers: Vec<Reader>,
    /// The number of the newest.
    last_reader: u64,
    /// The sum of those that are not attached any more.
    former: ReaderStatistics,
    /// Why the last one failed of those that did.
    reader_failure: Option<ReaderFailure>,
    /// Sinks that the log has been redirected away from, as long as they have not taken all of it.
    owing: Vec<Sink>,
    /// Queues of sinks that the log has been redirected away from, which are to end their logs.
    ending: Vec<Delivery>,
    /// What was done by sinks that are not the primary output any more.
    earlier: Counts,
    /// Events that sinks did not take, which have been closed, or which were too far behind.
    lost: BTreeMap<Option<CapNo>, u64>,
    /// Events that were kept in memory until newer ones came.
    overwritten: BTreeMap<Option<CapNo>, u64>,
    signals: Arc<Signals>,
}

impl Outputs {
    pub(crate) fn new(
        time: LogTime,
        signals: Arc<Signals>,
        sink: Sink,
        delivery: Delivery,
        sticky: Sticky,
        marks: Arc<Mutex<Marks>>,
        header: Arc<Header>,
    ) -> Self {
        if let Some(store) = delivery.store() {
            store.serve(&signals);
        }
        Outputs {
            time,
            header,
            sticky,
            marks,
            primary: Primary::Writer { sink, delivery },
            backlog_limit: 0,
            refusal: None,
            readers: Vec::new(),
            last_reader: 0,
            former: ReaderStatistics::default(),
            reader_failure: None,
            owing: Vec::new(),
            ending: Vec::new(),
            earlier: Counts::default(),
            lost: BTreeMap::new(),
            overwritten: BTreeMap::new(),
            signals,
        }
    }

    /// Keeps so many bytes of blocks for a sink that refuses while others go on.
    pub(crate) fn with_backlog(mut self, bytes: usize) -> Self {
        self.backlog_limit = bytes;
        self
    }

    /// Makes blocks of what the buffer holds, and hands them out.
    ///
    /// # Errors
    /// The primary output's. The block that it refused is its own all the same; memory that is full
    /// refuses before. [`Extent::Complete`] and [`Extent::Ready`] leave the rest in the buffer, but where a
    /// writer refuses and there are readers. They and the other extents go on, so the output keeps it, as far
    /// as that is allowed, and there is no error.
    pub(crate) fn drain(&mut self, reader: &mut BufferReader, extent: Extent) -> io::Result<()> {
        if let Some(store) = self.store().map(Arc::clone) {
            let room = match extent {
                // Where the cut is in a chunk is known only before it is taken.
                Extent::Cut { .. } => true,
                Extent::Complete | Extent::Ready | Extent::All => {
                    self.take_chunks(&store, reader, extent)
                }
            };
            match extent {
                Extent::Complete if room => return Ok(()),
                Extent::Ready if store.admits(BlockMarker::LEN + reader.left()) => {}
                // Nothing needs room.
                Extent::Ready if room && reader.left() == 0 => return Ok(()),
                Extent::Complete | Extent::Ready => return Err(out_of_budget(&store)),
                Extent::All | Extent::Cut { .. } => {}
            }
        }
        let capability = reader.capability();
        let mark = match extent {
            Extent::Complete | Extent::Ready | Extent::All => reader.ready(),
            Extent::Cut { mark, .. } => mark,
        };
        // At least one look, which also gives a chunk back that was closed after its last event.
        while let Some(body) = reader.read() {
            let len = match extent {
                Extent::Complete | Extent::Ready | Extent::All => body.len(),
                Extent::Cut { at, .. } => len_until(&body, &self.header, body.before(mark), at),
            };
            if len == 0 {
                break;
            }
            let whole = len == body.len();
            let tracked = match body.is_tracked() {
                false => 0,
                true => self
                    .sticky
                    .observe(capability, &body[..len], &mut lock(&self.marks)),
            };
            let keeps = match extent {
                Extent::Complete | Extent::Ready => self.has_room(len),
                Extent::All => true,
                Extent::Cut { keeps, .. } => keeps,
            };
            let outcome = self.hand_out(capability, body, len, keeps);
            reader.count_tracked(tracked);
            match extent {
                Extent::Complete | Extent::Ready => {
                    self.go_on(outcome)?;
                    if reader.position() >= mark {
                        break;
                    }
                }
                Extent::All => {}
                // The first event of the rest is later.
                Extent::Cut { .. } if !whole => break,
                Extent::Cut { .. } => {}
            }
        }
        if let Extent::All = extent {
            if let Some(body) = reader.last_losses(self.time.now()) {
                // Kept where it is refused.
                let len = body.len();
                let _ = self.hand_out(capability, body, len, true);
            }
        }
        Ok(())
    }

    /// Whether the primary output has room for a block of `len` bytes of events.
    fn has_room(&self, len: usize) -> bool {
        match &self.primary {
            Primary::Writer { delivery, .. } => delivery.has_room(len, self.backlog_limit),
        }
    }

    /// Whether the primary output can be handed a cut.
    pub(crate) fn has_room_for_cut(&self) -> bool {
        match &self.primary {
            Primary::Writer { delivery, .. } => delivery.has_room_for_cut(self.backlog_limit),
        }
    }

    /// Begins a pass over the buffers: offers again what the primary output has refused.
    ///
    /// # Errors
    /// The output's, where there is nobody else for whom to go on.
    pub(crate) fn begin_pass(&mut self) -> io::Result<()> {
        self.refusal = None;
        let outcome = self.retry();
        self.go_on(outcome)
    }

    /// What becomes of a pass where the primary output has refused: with readers, who must not wait for it,
    /// it goes on.
    fn go_on(&mut self, outcome: io::Result<()>) -> io::Result<()> {
        if self.readers.is_empty() {
            return outcome;
        }
        if let Err(error) = outcome {
            self.refusal.get_or_insert(error);
        }
        Ok(())
    }

    /// Makes a block of the first `len` bytes of `body`, and hands it out; to the primary output only
    /// where `keeps`.
    fn hand_out(
        &mut self,
        capability: Option<CapNo>,
        body: Body<'_>,
        len: usize,
        keeps: bool,
    ) -> io::Result<()> {
        let block = &body[..len];
        let marker = marker(capability, block, self.time.now());
        let outcome = self.give(&marker, block, keeps);
        self.offer(&marker, block);
        body.release(len);
        outcome
    }

    /// Offers a block to the readers that are attached.
    fn offer(&mut self, marker: &BlockMarker, block: &[u8]) {
        if self.readers.is_empty() {
            return;
        }
        // Once for all of them, and they keep it.
        let piece = Piece::block(marker, block, &self.header);
        let begin = missed::begin_of(marker, block);
        for reader in &mut self.readers {
            reader.offer(marker.cap, begin, &piece);
        }
    }

    /// Hands out a block that another writer has made.
    ///
    /// # Errors
    /// The primary output's, as for [`drain`](Self::drain). The block is its own all the same.
    pub(crate) fn pass_on(
        &mut self,
        marker: &BlockMarker,
        body: &[u8],
        seen: Seen<'_>,
        extent: Extent,
    ) -> io::Result<()> {
        self.look_at(marker, body, seen);
        let keeps = match extent {
            // Without readers this is the rest of what was being handed over when the output refused: the pass ends
            // with it.
            Extent::Complete | Extent::Ready => {
                self.readers.is_empty() || self.has_room(body.len())
            }
            Extent::All => true,
            Extent::Cut { keeps, .. } => keeps,
        };
        let outcome = self.give(marker, body, keeps);
        self.offer(marker, body);
        match extent {
            Extent::Complete | Extent::Ready => self.go_on(outcome),
            // It is kept.
            Extent::All | Extent::Cut { .. } => Ok(()),
        }
    }

    /// As [`pass_on`](Self::pass_on), where blocks are kept in memory, which takes the write as it is.
    pub(crate) fn pass_on_whole(&mut self, marker: &BlockMarker, write: Handed, seen: Seen<'_>) {
        let Some(store) = self.store().map(Arc::clone) else {
            return;
        };
        self.announce(marker, &write[BlockMarker::LEN..], seen);
        store.keep(write, seen.latest);
    }

    /// Hands a block out to all but memory, where blocks are kept in memory; that is given it
    /// [together with others](Self::keep_together).
    pub(crate) fn announce(&mut self, marker: &BlockMarker, body: &[u8], seen: Seen<'_>) {
        self.look_at(marker, body, seen);
        let Primary::Writer { delivery, .. } = &mut self.primary;
        delivery.count_block(body.len());
        self.offer(marker, body);
    }

    /// Puts blocks into memory as one chunk, the latest event of which is of the time `end`.
    pub(crate) fn keep_together(&self, blocks: Vec<u8>, end: u64) {
        if let (Some(store), false) = (self.store(), blocks.is_empty()) {
            store.write(blocks, end);
        }
    }

    /// Takes in what another writer's block tells.
    fn look_at(&mut self, marker: &BlockMarker, body: &[u8], seen: Seen<'_>) {
        // Not by the marker: one that is wrong would turn the log's clock for good.
        self.time.see(seen.latest);
        self.sticky.observe_at(marker.cap, body, seen.notable);
    }

    /// Gives a block to the primary output; where it does not keep it, counts what it misses.
    fn give(&mut self, marker: &BlockMarker, block: &[u8], keeps: bool) -> io::Result<()> {
        match &mut self.primary {
            // Taken in either way: written, or kept.
            Primary::Writer { delivery, .. } if keeps => delivery.write_block(marker, block),
            Primary::Writer { delivery, .. } => {
                *self.lost.entry(marker.cap).or_default() += delivery.miss(marker, block);
                Ok(())
            }
        }
    }

    /// The time of the log.
    pub(crate) fn now(&self) -> u64 {
        self.time.now()
    }

    /// Takes whole chunks out of the buffer, which are not copied where that is possible, as far as there is
    /// room. Says whether there was.
    fn take_chunks(
        &mut self,
        store: &BlockStore,
        reader: &mut BufferReader,
        extent: Extent,
    ) -> bool {
        let capability = reader.capability();
        let mark = reader.ready();
        while reader.position() < mark {
            if !matches!(extent, Extent::All) && !store.admits(reader.chunk_len()) {
                return false;
            }
            if let Some(chunk) = reader.take() {
                let events = chunk.events();
                if events.is_empty() {
                    continue;
                }
                let tracked = match chunk.tracked {
                    false => 0,
                    true => self
                        .sticky
                        .observe(capability, events, &mut lock(&self.marks)),
                };
                reader.count_tracked(tracked);
                let now = self.time.now();
                if let Some(losses) = reader.found_losses(begin_of(events)) {
                    let len = losses.len();
                    // Memory takes everything.
                    let _ = self.hand_out(capability, losses, len, true);
                }
                let marker = marker(capability, events, now);
                let Primary::Writer { delivery, .. } = &mut self.primary;
                delivery.count_block(events.len());
                self.offer(&marker, events);
                store.take(&marker, chunk);
            } else if let Some(body) = reader.read_complete() {
                let len = body.len();
                let tracked = match body.is_tracked() {
                    false => 0,
                    true => self
                        .sticky
                        .observe(capability, &body, &mut lock(&self.marks)),
                };
                let _ = self.hand_out(capability, body, len, true);
                reader.count_tracked(tracked);
            } else {
                break;
            }
        }
        true
    }

    /// The memory that is the primary output, where it is one.
    pub(crate) fn store(&self) -> Option<&Arc<BlockStore>> {
        let Primary::Writer { delivery, .. } = &self.primary;
        delivery.store()
    }

    /// How far the buffers are to be read when nobody has asked for it.
    pub(crate) fn usual_extent(&self) -> Extent {
        let Some(store) = self.store() else {
            return Extent::Ready;
        };
        let now = self.time.now();
        store.forget(now);
        // Readers that are attached are not to wait until a chunk is complete.
        if store.wants_cut(now) || self.sticky.wants_pass() || !self.readers.is_empty() {
            store.note_cut(now);
            return Extent::Ready;
        }
        Extent::Complete
    }

    /// What a log begins with that begins now: the header, and the sticky events of all that has been
    /// handed out.
    pub(crate) fn beginning(&mut self) -> Vec<u8> {
        self.sticky.unmark(&mut lock(&self.marks));
        let mut beginning = self.header.encode();
        self.sticky.blocks(self.time.now(), &mut beginning);
        beginning
    }

    /// Tells a sink that has been left what has come from then until the time `at`.
    pub(crate) fn tell(&mut self, delivery: &mut Delivery, at: u64) {
        self.sticky.unmark(&mut lock(&self.marks));
        if let Some(moment) = delivery.take_left() {
            let mut blocks = Vec::new();
            self.sticky.blocks_since(&moment, at, &mut blocks);
            delivery.go_on(blocks);
        }
    }

    /// Why the primary output has refused since the pass began, where the pass has gone on.
    ///
    /// # Errors
    /// That.
    pub(crate) fn take_refusal(&mut self) -> io::Result<()> {
        self.refusal.take().map_or(Ok(()), Err)
    }

    /// What a flight recorder's log begins with, and its blocks.
    pub(crate) fn recording(&mut self, store: &BlockStore) -> (Vec<u8>, Vec<Arc<Block>>) {
        self.sticky.unmark(&mut lock(&self.marks));
        let mut beginning = self.header.encode();
        let blocks = store.look(self.sticky.marked(), &mut beginning);
        (beginning, blocks)
    }

    /// Whether the next pass ought to wait for the shared buffer's writers first, to know which of the
    /// events that are to be replayed are gone.
    pub(crate) fn wants_settling(&self) -> bool {
        lock(&self.marks).wants_settling()
    }

    /// Says that every buffer has been read to where it was when the pass began, and whether no writer of the
    /// shared one was left then.
    pub(crate) fn end_pass(&mut self, extent: Extent, settled: bool) {
        self.tidy();
        let store = self.store().map(Arc::clone);
        if let (Extent::Complete, Some(_)) = (extent, &store) {
            // Chunks that are not complete have not been read.
            return;
        }
        self.sticky.end_pass();
        lock(&self.marks).end_pass(settled);
        if let Some(store) = store {
            store.end_pass();
        }
    }

    /// Says that every buffer has been read to where it was when the cut began, when no writer was left.
    pub(crate) fn end_cut(&mut self) {
        lock(&self.marks).end_pass(true);
    }

    /// Forgets what is gone: readers, and what the program has removed.
    pub(crate) fn tidy(&mut self) {
        self.part_from_gone();
        self.sticky.unmark(&mut lock(&self.marks));
    }

    /// Says that every capability's block has come that was being filled when the last round ended.
    pub(crate) fn end_round(&mut self) {
        self.sticky.end_pass();
        if let Some(store) = self.store() {
            store.end_pass();
        }
    }

    /// Forgets readers whose writers have failed.
    fn part_from_gone(&mut self) {
        if !self.readers.iter().any(Reader::is_gone) {
            return;
        }
        let readers = mem::take(&mut self.readers);
        let (gone, left): (Vec<_>, Vec<_>) = readers.into_iter().partition(Reader::is_gone);
        self.readers = left;
        for reader in gone {
            self.count_former(&reader, reader.statistics());
        }
    }

    /// Starts a reader with what has not been handed out yet.
    ///
    /// # Errors
    /// Where its thread cannot be had.
    pub(crate) fn attach(
        &mut self,
        writer: UserWriter,
        options: &AttachOptions,
    ) -> io::Result<ReaderId> {
        self.last_reader += 1;
        let id = ReaderId(self.last_reader);
        let beginning = self.beginning();
        let reader = Reader::new(id, writer, beginning, options, OnError::LetGo)?;
        self.readers.push(reader);
        Ok(id)
    }

    /// Takes a reader out, which gets nothing more.
    pub(crate) fn detach(&mut self, id: ReaderId) -> Option<Reader> {
        self.part_from_gone();
        let place = self.readers.iter().position(|reader| reader.id() == id)?;
        Some(self.readers.remove(place))
    }

    /// What waits for the readers and the queues of sinks that have been given the log's end. Each has its own time
    /// from now on, and they have it at once.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        let now = Instant::now();
        let readers = self.readers.iter().map(|reader| reader.waiter(now));
        let Primary::Writer { delivery, .. } = &self.primary;
        let queues = self.ending.iter().chain([delivery]);
        readers.chain(queues.filter_map(Delivery::waiter)).collect()
    }

    /// After all have been waited for: counts what became of the readers, and tells whether the sink's queue, where it
    /// has one, was emptied.
    ///
    /// # Errors
    /// Where it was not.
    pub(crate) fn part_from_waited(&mut self) -> io::Result<()> {
        for reader in mem::take(&mut self.readers) {
            self.count_former(&reader, reader.statistics());
        }
        self.settle();
        self.ending.clear();
        let Primary::Writer { delivery, .. } = &self.primary;
        delivery.queue_outcome()
    }

    /// Counts a reader that is not attached any more.
    pub(crate) fn count_former(&mut self, reader: &Reader, statistics: ReaderStatistics) {
        self.former += statistics;
        // Not what has come since the statistics were told.
        if statistics.error.is_some() {
            self.reader_failure = reader.failure().or(self.reader_failure.take());
        }
    }

    /// Why the last reader failed that did.
    pub(crate) fn reader_failure(&self) -> Option<ReaderFailure> {
        let attached = self.readers.iter().filter_map(Reader::failure).next_back();
        attached.or_else(|| self.reader_failure.clone())
    }

    /// The readers that are attached, and the sum of those that were.
    pub(crate) fn readers(&self) -> (Vec<ReaderStatistics>, ReaderStatistics) {
        let readers = self.readers.iter().map(Reader::statistics);
        (readers.collect(), self.former)
    }

    /// What the log declares.
    pub(crate) fn header(&self) -> &Arc<Header> {
        &self.header
    }

    pub(crate) fn sticky(&self) -> &Sticky {
        &self.sticky
    }

    /// Makes `sink` the primary output. The one that was gets what it has refused and the log's end,
    /// or keeps it.
    ///
    /// # Errors
    /// That of the one that was, where it was to be closed, and the events that it did not take.
    pub(crate) fn replace(
        &mut self,
        sink: &Sink,
        mut delivery: Delivery,
        previous: Previous,
    ) -> Result<(), (io::Error, u64)> {
        self.owing.retain(|owing| !owing.is(sink));
        delivery.set_header(&self.header);
        self.count_overwritten();
        if let Some(store) = delivery.store() {
            store.serve(&self.signals);
        }
        let primary = Primary::Writer {
            sink: sink.clone(),
            delivery,
        };
        let Primary::Writer { sink, mut delivery } = mem::replace(&mut self.primary, primary);
        match previous {
            Previous::Keep => {
                self.earlier += delivery.take_counts();
                delivery.leave(self.sticky.moment());
                if !delivery.has_all() {
                    self.owing.push(sink.clone());
                }
                sink.put_back(delivery);
                Ok(())
            }
            Previous::Close if delivery.is_queued() => {
                delivery.end();
                self.ending.push(delivery);
                sink.put_back_closed();
                Ok(())
            }
            Previous::Close => {
                let closed = delivery.close();
                sink.put_back_closed();
                let lost = closed.undelivered.iter().map(|(_, events)| events).sum();
                self.count_end(closed.undelivered, closed.counts);
                closed.outcome.map_err(|error| (error, lost))
            }
        }
    }

    fn count_end(&mut self, undelivered: Vec<Undelivered>, counts: Counts) {
        for (owner, events) in undelivered {
            *self.lost.entry(owner).or_default() += events;
        }
        self.earlier += counts;
    }

    fn count_overwritten(&mut self) {
        let Some(store) = self.store().map(Arc::clone) else {
            return;
        };
        for (owner, events) in store.take_overwritten() {
            *self.overwritten.entry(owner).or_default() += events;
        }
    }

    /// Events that were kept in memory until newer ones came, and whose they were.
    pub(crate) fn overwritten(&mut self) -> impl Iterator<Item = (Option<CapNo>, u64)> + use<'_> {
        self.count_overwritten();
        self.overwritten
            .iter()
            .map(|(owner, events)| (*owner, *events))
    }

    /// Counts what became of sinks that somebody else has closed meanwhile, and what queues have lost.
    pub(crate) fn settle(&mut self) {
        let Primary::Writer { delivery, .. } = &self.primary;
        let mut lost = delivery.take_lost();
        lost.extend(self.owing.iter().flat_map(Sink::take_lost));
        lost.extend(self.ending.iter().flat_map(Delivery::take_lost));
        for ending in &mut self.ending {
            self.earlier += ending.take_counts();
        }
        self.count_end(lost, Counts::default());
        let mut index = 0;
        while let Some(sink) = self.owing.get(index) {
            let Some((undelivered, counts)) = sink.take_end() else {
                index += 1;
                continue;
            };
            self.owing.swap_remove(index);
            self.count_end(undelivered, counts);
        }
    }

    /// Offers again what has been refused.
    ///
    /// # Errors
    /// The primary output's.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        match &mut self.primary {
            Primary::Writer { delivery, .. } => delivery.retry(),
        }
    }

    /// # Errors
    /// Where memory has taken all that its budget has room for, or more: a cut would make it more still.
    pub(crate) fn check_budget(&self) -> io::Result<()> {
        match self.store() {
            Some(store) if store.is_over_budget() => Err(out_of_budget(store)),
            _ => Ok(()),
        }
    }

    /// Makes the primary output pass on what it has taken.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.primary {
            Primary::Writer { delivery, .. } => delivery.flush(),
        }
    }

    /// Says that what is handed out from now on may be the last.
    pub(crate) fn begin_end(&self) {
        if let Some(store) = self.store() {
            store.begin_end();
        }
    }

    /// Puts the log's end behind everything else, for all that take it, and offers earlier sinks what they owe.
    pub(crate) fn end(&mut self) {
        match &mut self.primary {
            Primary::Writer { delivery, .. } => delivery.end(),
        }
        self.readers.iter_mut().for_each(Reader::end);
        for sink in &self.owing {
            if let Ok(mut delivery) = sink.take() {
                // What is refused is counted as undelivered.
                let _ = delivery.retry();
                self.earlier += delivery.take_counts();
                sink.put_back(delivery);
            }
        }
    }

    /// Events that have been handed out and not taken, and whose they are: those that are lost, and
    /// those that will be where nothing takes them any more.
    pub(crate) fn undelivered(&self) -> Vec<Undelivered> {
        let mut undelivered: Vec<_> = match &self.primary {
            Primary::Writer { delivery, .. } => delivery.undelivered(),
        };
        undelivered.extend(self.owing.iter().flat_map(Sink::undelivered));
        undelivered
    }

    /// Events that are lost for good: nothing will be offered them again.
    pub(crate) fn lost(&self) -> impl Iterator<Item = Undelivered> {
        self.lost.iter().map(|(owner, events)| (*owner, *events))
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = self.earlier;
        match &self.primary {
            Primary::Writer { delivery, .. } => counts += delivery.counts(),
        }
        counts
    }
}

/// The error of a flush that memory has no room for.
pub(crate) fn out_of_budget(store: &BlockStore) -> io::Error {
    let used = store.used();
    let budget = store.budget().unwrap_or(used);
    let message =
        format!("the chunks that are kept in memory take {used} bytes of their budget of {budget}");
    io::Error::new(io::ErrorKind::StorageFull, message)
}

/// Bytes of the events within the first `ready` ones, and of those after them up to the time `at`.
fn len_until(body: &[u8], header: &Header, ready: usize, at: u64) -> usize {
    if body.len() <= ready {
        return body.len();
    }
    format::events(body, header)
        .map_while(Result::ok)
        .find(|event| event.offset >= ready as u64 && event.time > at)
        .map_or(body.len(), |event| event.offset as usize)
}

fn lock(marks: &Mutex<Marks>) -> MutexGuard<'_, Marks> {
    // Whole whatever a thread that panicked has done with them.
    marks.lock().unwrap_or_else(PoisonError::into_inner)
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
