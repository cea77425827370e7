//! A buffer as the collector sees it: whole events, ready to become blocks, and what is missing between
//! them.

use crate::chunk_record::{ChunkEnd, ChunkHead, Label};
use crate::copied::Copied;
use crate::counter::{Counters, Tally};
use crate::format::{self, CapNo, Decoded, EVENTS_LOST, Event, Header, LossCause};
use crate::shared_buffer::{self, Stripes};
use crate::signals::Signals;
use crate::sizes::BufferControl;
use crate::statistics::{BufferStatistics, Lost};
use chunkring::{OwnedChunk, spsc};
use crossbeam_utils::CachePadded;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::thread;

/// The end that the collector drains.
#[derive(Debug)]
pub(crate) struct BufferReader {
    capability: Option<CapNo>,
    events: Events,
    control: Arc<BufferControl>,
    signals: Arc<Signals>,
    /// The log's, by which its events can be told apart.
    header: Arc<Header>,
    /// Losses that have been found and not been told in the log.
    untold: Losses,
    /// Losses that have been told in the log.
    told: Losses,
    /// Events that tell of losses, not taken from the buffer.
    made: Vec<u8>,
    /// Bytes of events that have come out, of those that came late, too.
    out: u64,
    /// Events found after the last block.
    late: Tally,
    /// Losses found after the last block.
    late_losses: Losses,
    blocks: u64,
}

/// What was lost by the buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    full: Tally,
    overwritten: Tally,
}

impl Losses {
    /// What found no room.
    pub(crate) fn full(full: Tally) -> Losses {
        Losses {
            full,
            overwritten: Tally::default(),
        }
    }

    /// What newer ones have taken the place of.
    pub(crate) fn overwritten(overwritten: Tally) -> Losses {
        Losses {
            full: Tally::default(),
            overwritten,
        }
    }

    fn is_none(&self) -> bool {
        self.full.events == 0 && self.overwritten.events == 0
    }

    /// What has come since it was `earlier`.
    fn since(self, earlier: Losses) -> Losses {
        Losses {
            full: self.full.since(earlier.full),
            overwritten: self.overwritten.since(earlier.overwritten),
        }
    }

    pub(crate) fn add(&mut self, more: Losses) {
        self.full += more.full;
        self.overwritten += more.overwritten;
    }

    /// What a run of whole events of a log of ours with this header tells of.
    pub(crate) fn told_in(body: &[u8], header: &Header) -> Losses {
        let mut losses = Losses::default();
        let events = format::events(body, header);
        for event in events.map_while(Result::ok) {
            if event.id != EVENTS_LOST {
                continue;
            }
            if let Ok(Decoded::Known(Event::EventsLost {
                cause,
                events,
                bytes,
            })) = event.decode()
            {
                let tally = Tally { events, bytes };
                match cause {
                    LossCause::Overwritten => losses.overwritten += tally,
                    LossCause::Full => losses.full += tally,
                    // A buffer tells of no other: the program has said this by itself.
                    _ => {}
                }
            }
        }
        losses
    }

    /// Appends the events that tell of it.
    pub(crate) fn tell(&self, time: u64, out: &mut Vec<u8>) {
        for (cause, Tally { events, bytes }) in [
            (LossCause::Overwritten, self.overwritten),
            (LossCause::Full, self.full),
        ] {
            if events != 0 {
                let event = Event::EventsLost {
                    cause,
                    events,
                    bytes,
                };
                event.encode_to_vec(time, out);
            }
        }
    }
}

/// Where the events come from.
#[derive(Debug)]
enum Events {
    Own(OwnEvents),
    Shared(SharedEvents),
}

/// A capability's buffer.
#[derive(Debug)]
struct OwnEvents {
    consumer: spsc::Consumer<u8>,
    counters: Arc<CachePadded<Counters>>,
    /// Bytes of events that have come out or were overwritten, as the writer counts them: so others can be
    /// overwritten meanwhile, and a mark stays where it is.
    position: u64,
    /// Bytes of the current chunk that have not come out yet; 0 between two chunks.
    left: usize,
    /// What the writer had counted where the part that has been read ends, as far as that is known.
    taken: Tally,
    refused: Tally,
    /// Events that have come out, or were lost, that were to be looked at.
    tracked: u64,
}

/// The shared buffer.
#[derive(Debug)]
struct SharedEvents {
    consumer: shared_buffer::Consumer<u8>,
    stripes: Arc<Stripes>,
    copied: Copied,
    /// What each writer had counted behind the last of its events that came out: taken and refused.
    seen: Vec<(Tally, Tally)>,
}

impl SharedEvents {
    /// Copies everything that lies side by side, with the losses where they were found. Tells how many
    /// bytes of the ring that was, and how many of them were events.
    fn copy(&mut self, losses: &mut Losses) -> Option<(usize, u64)> {
        let records = self.consumer.read().ok()?;
        let len = records.len();
        let bytes = copy_records(&records, &mut self.seen, &mut self.copied, losses);
        records.release_all();
        // Goes past slots that stay unused, and so gives a chunk back that they are the end of.
        let _ = self.consumer.read();
        Some((len, bytes))
    }

    /// As [`copy`](Self::copy), where a chunk is complete. Tells how many bytes were events.
    fn copy_chunk(&mut self, losses: &mut Losses) -> Option<u64> {
        let records = self.consumer.take_chunk().ok()?;
        Some(copy_records(
            &records,
            &mut self.seen,
            &mut self.copied,
            losses,
        ))
    }

    /// Copies everything that is ready now, in the order of its time stamps. Tells how many bytes of it
    /// were events.
    fn gather(&mut self, losses: &mut Losses, header: &Header) -> u64 {
        self.copied.forget_done();
        let begin = self.copied.left().len();
        let mut left = self.consumer.len();
        let mut bytes = 0;
        while left != 0 {
            let Some((len, events)) = self.copy(losses) else {
                break;
            };
            left = left.saturating_sub(len);
            bytes += events;
        }
        sort_by_time(self.copied.bytes_mut(), begin, header);
        bytes
    }

    /// What is missing behind the last events that came out; nobody may be writing.
    fn missing(&mut self) -> Losses {
        let mut missing = Losses::default();
        for (writer, counters) in self.stripes.counters().enumerate() {
            if self.seen.len() <= writer {
                self.seen.resize(writer + 1, Default::default());
            }
            let (taken, refused) = &mut self.seen[writer];
            missing.overwritten += counters.taken().since(*taken);
            missing.full += counters.refused().since(*refused);
            (*taken, *refused) = (counters.taken(), counters.refused());
        }
        missing
    }
}

/// Copies the events of these records, with the losses where they are found. Tells how many bytes they
/// were.
fn copy_records(
    records: &[u8],
    seen: &mut Vec<(Tally, Tally)>,
    copied: &mut Copied,
    losses: &mut Losses,
) -> u64 {
    let mut rest = records;
    let mut bytes = 0;
    while rest.len() > Label::LEN {
        let label = Label::decode(rest);
        let (event, behind) = rest[Label::LEN..].split_at(label.len as usize);
        rest = behind;
        let writer = label.writer as usize;
        if seen.len() <= writer {
            seen.resize(writer + 1, Default::default());
        }
        let (taken, refused) = &mut seen[writer];
        let lost = Losses {
            overwritten: label.taken.since(*taken),
            full: label.refused.since(*refused),
        };
        if !lost.is_none() {
            losses.add(lost);
            lost.tell(time_of(event), copied.bytes_mut());
        }
        let this = Tally {
            events: 1,
            bytes: event.len() as u64,
        };
        bytes += this.bytes;
        *taken = label.taken;
        *taken += this;
        *refused = label.refused;
        copied.push(event, label.tracked);
    }
    bytes
}

/// What comes next out of a capability's buffer.
enum Next {
    Nothing,
    /// Events, the first of which has this time stamp.
    Events(u64),
}

impl OwnEvents {
    /// Goes to the next events, and adds to `losses` what is missing before them.
    fn advance(&mut self, losses: &mut Losses) -> Next {
        while let Ok(bytes) = self.consumer.read() {
            if self.left == 0 {
                let head = ChunkHead::decode(&bytes);
                losses.overwritten += head.taken.since(self.taken);
                losses.full += head.refused.since(self.refused);
                self.taken = head.taken;
                self.refused = head.refused;
                self.tracked = head.tracked;
                self.left = head.chunk_len as usize - ChunkHead::LEN;
                self.position = head.taken.bytes;
                bytes.release(ChunkHead::LEN);
                continue;
            }
            if let (0, Some(end)) = split_end(&bytes, self.left) {
                self.taken = end.taken;
                self.left = 0;
                bytes.release_all();
                continue;
            }
            return Next::Events(time_of(&bytes));
        }
        Next::Nothing
    }

    /// A whole chunk, with its head and its end, and what is missing before it.
    fn take(&mut self, losses: &mut Losses) -> Option<TakenChunk> {
        if self.left != 0 {
            // What was read in part is done with where nothing follows but its end.
            let bytes = self.consumer.read().ok()?;
            let (0, Some(end)) = split_end(&bytes, self.left) else {
                return None;
            };
            self.taken = end.taken;
            self.left = 0;
            bytes.release_all();
        }
        let chunk = self.consumer.take_chunk().ok()?;
        let head = ChunkHead::decode(&chunk);
        losses.overwritten += head.taken.since(self.taken);
        losses.full += head.refused.since(self.refused);
        self.refused = head.refused;
        self.tracked = head.tracked;
        let memory = head.chunk_len as usize;
        let (len, end) = split_end(&chunk[ChunkHead::LEN..], memory - ChunkHead::LEN);
        self.position = head.taken.bytes + len as u64;
        match end {
            Some(end) => self.taken = end.taken,
            // The writer is gone, and this was its last chunk.
            None => {
                self.taken = head.taken;
                self.left = memory - chunk.len();
            }
        }
        Some(TakenChunk {
            chunk,
            events: ChunkHead::LEN..ChunkHead::LEN + len,
            memory,
            tracked: self.counters.tracked() != self.tracked,
        })
    }

    /// Whether the rest of a chunk that has been read in part is complete.
    fn has_rest(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        // Asked first: nothing comes after it.
        let is_closed = self.consumer.is_closed();
        let bytes = self.consumer.read();
        bytes.is_ok_and(|bytes| bytes.len() == self.left || is_closed)
    }

    /// What is missing behind the last events that came out. Nothing may be left in the buffer.
    fn missing(&mut self, counted: Tally) -> Losses {
        let refused = self.counters.refused();
        let full = refused.since(self.refused);
        self.refused = refused;
        let mut overwritten = Tally::default();
        // Within a chunk all has come out that was put in.
        if self.left == 0 {
            overwritten = counted.since(self.taken);
            self.taken = counted;
        }
        Losses { full, overwritten }
    }
}

/// How many of these bytes are events, and the chunk's end, where they are the last of a chunk that has
/// `left` bytes left.
fn split_end(bytes: &[u8], left: usize) -> (usize, Option<ChunkEnd>) {
    if bytes.len() != left {
        return (bytes.len(), None);
    }
    let end = ChunkEnd::decode(bytes);
    let unused = ChunkEnd::LEN + end.padding as usize;
    (bytes.len() - unused, Some(end))
}

/// A chunk that has left its buffer.
#[derive(Debug)]
pub(crate) struct TakenChunk {
    pub(crate) chunk: OwnedChunk<u8>,
    /// Where the events are in it. What comes before and after nobody needs.
    pub(crate) events: Range<usize>,
    /// Bytes of the whole chunk.
    pub(crate) memory: usize,
    /// Whether there may be events among them that are to be looked at.
    pub(crate) tracked: bool,
}

impl TakenChunk {
    pub(crate) fn events(&self) -> &[u8] {
        &self.chunk[self.events.clone()]
    }
}

/// Whole events, to be made a block of.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    bytes: Bytes<'a>,
    /// Whether there may be events among them that are to be looked at.
    tracked: bool,
    signals: &'a Signals,
    blocks: &'a mut u64,
}

#[derive(Debug)]
enum Bytes<'a> {
    /// In the buffer.
    Here {
        slice: spsc::ReadSlice<'a, u8>,
        /// Bytes of it that are events.
        len: usize,
        end: Option<ChunkEnd>,
        left: &'a mut usize,
        taken: &'a mut Tally,
        position: &'a mut u64,
        out: &'a mut u64,
    },
    /// Copied out of the buffer.
    Copied(&'a mut Copied),
    /// Losses that come before the next events.
    Losses {
        bytes: &'a [u8],
        untold: &'a mut Losses,
        told: &'a mut Losses,
        position: u64,
    },
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Here { slice, len, .. } => &slice[..*len],
            Bytes::Copied(copied) => copied.left(),
            Bytes::Losses { bytes, .. } => bytes,
        }
    }
}

impl Body<'_> {
    /// Whether there may be events among these that are to be looked at; see
    /// [`count_tracked`](BufferReader::count_tracked).
    pub(crate) fn is_tracked(&self) -> bool {
        self.tracked
    }

    /// How many bytes of it lie before a [mark](BufferReader::mark).
    pub(crate) fn before(&self, mark: u64) -> usize {
        let (position, all_or_nothing) = match &self.bytes {
            Bytes::Here { position, .. } => (**position, false),
            Bytes::Copied(copied) => (copied.position(), false),
            Bytes::Losses { position, .. } => (*position, true),
        };
        let before = usize::try_from(mark.saturating_sub(position)).unwrap_or(usize::MAX);
        if all_or_nothing && before != 0 {
            return self.len();
        }
        before.min(self.len())
    }

    /// Takes the first `len` bytes, which must be whole events, out of the buffer, as a block that has
    /// been made of them. What is left comes again.
    pub(crate) fn release(self, len: usize) {
        *self.blocks += 1;
        self.take_out(len);
    }

    fn take_out(self, count: usize) {
        match self.bytes {
            Bytes::Here {
                slice,
                len,
                end,
                left,
                taken,
                position,
                out,
            } => {
                let whole = end.filter(|_| count == len);
                let bytes = if whole.is_some() { slice.len() } else { count };
                slice.release(bytes);
                *left -= bytes;
                *position += count as u64;
                *out += count as u64;
                if let Some(end) = whole {
                    *taken = end.taken;
                }
                self.signals.room.notify();
            }
            Bytes::Copied(copied) => copied.take_out(count),
            Bytes::Losses { untold, told, .. } => told.add(std::mem::take(untold)),
        }
    }
}

impl BufferReader {
    /// The end of a capability's buffer.
    pub(crate) fn own(
        capability: CapNo,
        consumer: spsc::Consumer<u8>,
        counters: Arc<CachePadded<Counters>>,
        control: Arc<BufferControl>,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        let events = Events::Own(OwnEvents {
            consumer,
            counters,
            position: 0,
            left: 0,
            taken: Tally::default(),
            refused: Tally::default(),
            tracked: 0,
        });
        Self::new(Some(capability), events, control, signals, header)
    }

    /// The end of the shared buffer.
    pub(crate) fn shared(
        consumer: shared_buffer::Consumer<u8>,
        stripes: Arc<Stripes>,
        control: Arc<BufferControl>,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        let events = Events::Shared(SharedEvents {
            consumer,
            stripes,
            copied: Copied::default(),
            seen: Vec::new(),
        });
        Self::new(None, events, control, signals, header)
    }

    fn new(
        capability: Option<CapNo>,
        events: Events,
        control: Arc<BufferControl>,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        BufferReader {
            capability,
            events,
            control,
            signals,
            header,
            untold: Losses::default(),
            told: Losses::default(),
            made: Vec::new(),
            out: 0,
            late: Tally::default(),
            late_losses: Losses::default(),
            blocks: 0,
        }
    }

    pub(crate) fn capability(&self) -> Option<CapNo> {
        self.capability
    }

    /// Where what has been committed by now ends, for whoever asks when the [position](Self::position) is
    /// there: of what is known of, and so for the shared buffer of what has been
    /// [gathered](Self::gather).
    pub(crate) fn mark(&self) -> u64 {
        match &self.events {
            // Whoever knows of an event knows that it has been counted.
            Events::Own(own) => own.counters.taken().bytes,
            Events::Shared(shared) => shared.copied.end(),
        }
    }

    /// A mark that is not before the end of what has been committed by now.
    pub(crate) fn ready(&self) -> u64 {
        match &self.events {
            Events::Own(_) => self.mark(),
            Events::Shared(shared) => self.mark() + shared.consumer.len() as u64,
        }
    }

    /// How far the buffer has been read.
    pub(crate) fn position(&self) -> u64 {
        match &self.events {
            Events::Own(own) => own.position,
            Events::Shared(shared) => shared.copied.position(),
        }
    }

    /// Copies what is ready now out of the shared buffer, so that its events, those that were gathered
    /// together, come in the order of their time stamps.
    pub(crate) fn gather(&mut self) {
        if let Events::Shared(shared) = &mut self.events {
            let mut losses = Losses::default();
            self.out += shared.gather(&mut losses, &self.header);
            self.told.add(losses);
            self.signals.room.notify();
        }
    }

    /// Whole events, ready to become a block; `None` where there are none now. Losses are told by events
    /// of their own, where the lost ones would have been.
    pub(crate) fn read(&mut self) -> Option<Body<'_>> {
        let mut tracked = false;
        let bytes = match &mut self.events {
            Events::Shared(shared) => {
                if shared.copied.left().is_empty() {
                    shared.copied.forget_done();
                    let mut losses = Losses::default();
                    let (_, bytes) = shared.copy(&mut losses)?;
                    self.signals.room.notify();
                    self.out += bytes;
                    self.told.add(losses);
                }
                tracked = shared.copied.is_tracked();
                Bytes::Copied(&mut shared.copied)
            }
            Events::Own(own) => {
                let Next::Events(time) = own.advance(&mut self.untold) else {
                    // Chunks may have been given back that had nothing but an end.
                    self.signals.room.notify();
                    return None;
                };
                if self.untold.is_none() {
                    let slice = own.consumer.read().ok()?;
                    let (len, end) = split_end(&slice, own.left);
                    // Counted before the commit of what has just been read.
                    tracked = own.counters.tracked() != own.tracked;
                    Bytes::Here {
                        slice,
                        len,
                        end,
                        left: &mut own.left,
                        taken: &mut own.taken,
                        position: &mut own.position,
                        out: &mut self.out,
                    }
                } else {
                    self.made.clear();
                    self.untold.tell(time, &mut self.made);
                    Bytes::Losses {
                        bytes: &self.made,
                        untold: &mut self.untold,
                        told: &mut self.told,
                        position: own.position,
                    }
                }
            }
        };
        Some(Body {
            bytes,
            tracked,
            signals: &self.signals,
            blocks: &mut self.blocks,
        })
    }

    /// A whole chunk of a capability's events, which leaves the buffer and is not copied; `None` where there
    /// is none, or the writer may still put more into it. What is missing before it is
    /// [told](Self::found_losses) apart.
    pub(crate) fn take(&mut self) -> Option<TakenChunk> {
        let Events::Own(own) = &mut self.events else {
            return None;
        };
        let taken = own.take(&mut self.untold)?;
        if !taken.events.is_empty() {
            self.blocks += 1;
            self.out += taken.events.len() as u64;
        }
        self.signals.room.notify();
        Some(taken)
    }

    /// As [`read`](Self::read), where a whole chunk is complete that cannot be [taken](Self::take): one of
    /// the shared buffer, or the rest of one that has been read in part.
    pub(crate) fn read_complete(&mut self) -> Option<Body<'_>> {
        let is_complete = match &mut self.events {
            Events::Own(own) => own.has_rest(),
            Events::Shared(shared) if !shared.copied.left().is_empty() => true,
            Events::Shared(shared) => {
                shared.copied.forget_done();
                let mut losses = Losses::default();
                let bytes = shared.copy_chunk(&mut losses)?;
                self.out += bytes;
                self.told.add(losses);
                self.signals.room.notify();
                true
            }
        };
        if is_complete { self.read() } else { None }
    }

    /// Bytes that are there and have not come out, or a little more.
    pub(crate) fn left(&self) -> usize {
        // An event may have come out that its writer has not counted yet.
        let left = self.ready().saturating_sub(self.position());
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk_len(&self) -> usize {
        self.control.chunk_len()
    }

    /// What was lost behind the last event that has come out, to be told at the time `now`; `None` where
    /// nothing was. To be called when nothing is left in the buffer, and where nothing is told later.
    pub(crate) fn last_losses(&mut self, now: u64) -> Option<Body<'_>> {
        self.find_missing();
        self.found_losses(now)
    }

    /// Losses that have been found and not been told in the log, to be told at the time `now`.
    pub(crate) fn found_losses(&mut self, now: u64) -> Option<Body<'_>> {
        if self.untold.is_none() {
            return None;
        }
        self.made.clear();
        self.untold.tell(now, &mut self.made);
        let position = self.position();
        Some(Body {
            bytes: Bytes::Losses {
                bytes: &self.made,
                untold: &mut self.untold,
                told: &mut self.told,
                position,
            },
            tracked: false,
            signals: &self.signals,
            blocks: &mut self.blocks,
        })
    }

    fn find_missing(&mut self) {
        match &mut self.events {
            Events::Own(own) => {
                // In this order: what was counted has been committed.
                let counted = own.counters.taken();
                if let Next::Nothing = own.advance(&mut self.untold) {
                    self.untold.add(own.missing(counted));
                }
            }
            Events::Shared(shared) => self.untold.add(shared.missing()),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.events {
            Events::Own(own) => own.consumer.is_empty(),
            Events::Shared(shared) => shared.consumer.is_empty() && shared.copied.left().is_empty(),
        }
    }

    /// Counts events of a block that were to be looked at.
    pub(crate) fn count_tracked(&mut self, count: u64) {
        if let Events::Own(own) = &mut self.events {
            own.tracked += count;
        }
    }

    /// Whether nothing is here and nothing will come.
    pub(crate) fn is_finished(&self) -> bool {
        match &self.events {
            // In this order: what the writer committed last is seen once its end has been.
            Events::Own(own) => own.consumer.is_closed() && own.consumer.is_empty(),
            Events::Shared(_) => false,
        }
    }

    /// Takes everything out that is ready, and counts it as come too late for the last block.
    fn discard_late(&mut self) {
        let (told, out) = (self.told, self.out);
        let mut events = 0;
        let header = Arc::clone(&self.header);
        while let Some(body) = self.read() {
            events += count_events(&body, &header);
            let len = body.len();
            body.take_out(len);
        }
        self.late += Tally {
            events,
            bytes: self.out - out,
        };
        // What was found to be missing meanwhile has not been told.
        let found = std::mem::replace(&mut self.told, told);
        self.late_losses.add(found.since(told));
        self.find_missing();
        self.late_losses.add(std::mem::take(&mut self.untold));
    }

    /// What the writers have counted as taken in.
    fn counted(&self) -> Tally {
        match &self.events {
            Events::Own(own) => own.counters.taken(),
            Events::Shared(shared) => {
                shared
                    .stripes
                    .counters()
                    .fold(Tally::default(), |mut sum, counters| {
                        sum += counters.taken();
                        sum
                    })
            }
        }
    }

    /// The statistics after the last block, in which each event is either in a block or lost. Where
    /// the writer has just committed an event, waits until it has counted it, too: some
    /// instructions, or as long as its thread is kept from running.
    pub(crate) fn last_statistics(&mut self) -> BufferStatistics {
        loop {
            self.discard_late();
            let counted = self.counted();
            let lost = self.told.overwritten.bytes + self.late_losses.overwritten.bytes;
            // All that came out or was overwritten has been counted, and nothing that is still inside.
            if counted.bytes == self.out + lost && self.is_empty() {
                let late = self.late.events + self.late_losses.overwritten.events;
                let late_bytes = self.late.bytes + self.late_losses.overwritten.bytes;
                return BufferStatistics {
                    events: counted.events - late,
                    bytes: counted.bytes - late_bytes,
                    lost: Lost {
                        full: self.told.full.events,
                        overwritten: self.told.overwritten.events,
                        stopped: self.stopped() + late + self.late_losses.full.events,
                        sink: 0,
                        undeclared: self.undeclared(),
                        relayed: 0,
                    },
                    ..self.statistics()
                };
            }
            thread::yield_now();
        }
    }

    pub(crate) fn statistics(&self) -> BufferStatistics {
        let Tally { events, bytes } = self.counted();
        let full = match &self.events {
            Events::Own(own) => own.counters.refused().events,
            Events::Shared(shared) => {
                let refused = shared.stripes.counters().map(Counters::refused);
                refused.map(|refused| refused.events).sum()
            }
        };
        BufferStatistics {
            capability: self.capability,
            events,
            bytes,
            blocks: self.blocks,
            size: self.control.size(),
            memory: self.control.memory(),
            lost: Lost {
                full,
                overwritten: self.told.overwritten.events + self.untold.overwritten.events,
                stopped: self.stopped(),
                sink: 0,
                undeclared: self.undeclared(),
                relayed: 0,
            },
        }
    }

    /// The statistics of a buffer whose memory is about to be freed.
    pub(crate) fn ended_statistics(&self) -> BufferStatistics {
        BufferStatistics {
            size: 0,
            memory: 0,
            ..self.statistics()
        }
    }

    fn undeclared(&self) -> u64 {
        match &self.events {
            Events::Own(own) => own.counters.undeclared(),
            Events::Shared(shared) => shared.stripes.counters().map(Counters::undeclared).sum(),
        }
    }

    fn stopped(&self) -> u64 {
        match &self.events {
            Events::Own(own) => own.counters.stopped(),
            Events::Shared(shared) => shared.stripes.counters().map(Counters::stopped).sum(),
        }
    }
}

/// Events in a run of whole events of a log of ours that has that header, those that tell of losses
/// left out.
pub(crate) fn count_events(body: &[u8], header: &Header) -> u64 {
    format::events(body, header)
        .map_while(Result::ok)
        .filter(|event| event.id != EVENTS_LOST)
        .count() as u64
}

/// Brings the events from `begin` on into the order of their time stamps; those of the same time stay as
/// they are.
fn sort_by_time(events: &mut Vec<u8>, begin: usize, header: &Header) {
    let body = &events[begin..];
    let places: Vec<(u64, usize)> = format::events(body, header)
        .map_while(Result::ok)
        .map(|event| (event.time, event.offset as usize))
        .collect();
    if places.is_sorted_by_key(|(time, _)| *time) {
        return;
    }
    let ends = places.iter().skip(1).map(|(_, offset)| *offset);
    let mut runs: Vec<_> = places
        .iter()
        .zip(ends.chain([body.len()]))
        .map(|((time, begin), end)| (*time, *begin..end))
        .collect();
    runs.sort_by_key(|(time, _)| *time);
    let sorted: Vec<u8> = runs
        .into_iter()
        .flat_map(|(_, range)| &body[range])
        .copied()
        .collect();
    events.truncate(begin);
    events.extend_from_slice(&sorted);
}

/// The time stamp of the first of these events.
fn time_of(events: &[u8]) -> u64 {
    let stamp = events.get(2..10).and_then(|bytes| bytes.try_into().ok());
    u64::from_be_bytes(stamp.unwrap_or_default())
}
