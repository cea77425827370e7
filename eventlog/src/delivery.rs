//! A writer that takes whole blocks in order, or memory that does. What a writer refuses is kept, and
//! offered again before anything else.

use crate::block_store::BlockStore;
use crate::buffer_reader::{Losses, count_events};
use crate::format::{BlockMarker, CapNo, END_MARKER, Header};
use crate::missed::{Missed, begin_of};
use crate::queued_sink::Queue;
use crate::reader::Waiter;
use crate::sticky::Moment;
use crate::user_writer::UserWriter;
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::ops::AddAssign;
use std::sync::Arc;
use std::{fmt, mem};

/// A writer, and what it is still to take; or memory, which takes everything at once.
pub(crate) struct Delivery {
    target: Target,
    /// While the log goes to it and to nobody else at most one block. Where others go on, the log has
    /// ended or gone elsewhere, what is left for it.
    pending: VecDeque<Pending>,
    /// Bytes of blocks that are pending.
    kept: usize,
    /// What has been dropped behind what is pending.
    missed: Missed,
    /// Where the log was that it was left by.
    left: Option<Moment>,
    /// Something of a log has been written, by this process.
    begun: Option<u32>,
    /// Nobody else can have begun a log there.
    is_new: bool,
    /// That of the log, by which its events can be counted; there is one where blocks are pending.
    header: Option<Arc<Header>>,
    counts: Counts,
}

/// Where the blocks go.
enum Target {
    Writer(UserWriter),
    Memory(Filler),
    /// A writer that a thread of its own waits for.
    Queue(Box<Queue>),
}

/// The right to put blocks into a store. When it is gone, so is the hope of more.
struct Filler(Arc<BlockStore>);

impl Drop for Filler {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Events that a writer has not taken, and whose they are.
pub(crate) type Undelivered = (Option<CapNo>, u64);

/// How a writer ended.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) outcome: io::Result<()>,
    /// What it never took.
    pub(crate) undelivered: Vec<Undelivered>,
    pub(crate) counts: Counts,
}

/// What a writer has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Taken.
    pub(crate) bytes: u64,
    /// Taken wholly.
    pub(crate) blocks: u64,
    /// Refusals.
    pub(crate) errors: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.bytes += other.bytes;
        self.blocks += other.blocks;
        self.errors += other.errors;
    }
}

/// A block that the writer has refused, or one behind such a block.
struct Pending {
    owner: Option<CapNo>,
    bytes: Vec<u8>,
    /// Bytes of it that the writer has taken.
    taken: usize,
    /// Events of the program, and not what is told of them.
    is_block: bool,
}

impl Delivery {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Delivery::to(Target::Writer(UserWriter::new(writer)))
    }

    /// A writer behind which nothing can be yet.
    pub(crate) fn new_and_empty(writer: impl Write + Send + 'static) -> Self {
        Delivery {
            is_new: true,
            ..Delivery::new(writer)
        }
    }

    /// Blocks that are kept in memory.
    pub(crate) fn in_memory(store: Arc<BlockStore>) -> Self {
        Delivery::to(Target::Memory(Filler(store)))
    }

    /// Blocks that are queued for a thread of their own.
    pub(crate) fn queued(queue: Queue) -> Self {
        Delivery::to(Target::Queue(Box::new(queue)))
    }

    fn to(target: Target) -> Self {
        Delivery {
            target,
            pending: VecDeque::new(),
            kept: 0,
            missed: Missed::default(),
            left: None,
            begun: None,
            is_new: false,
            header: None,
            counts: Counts::default(),
        }
    }

    /// What it has done since it was last asked by [`take_counts`](Self::take_counts).
    pub(crate) fn counts(&self) -> Counts {
        match &self.target {
            Target::Queue(queue) => queue.counts(),
            Target::Writer(_) | Target::Memory(_) => self.counts,
        }
    }

    pub(crate) fn take_counts(&mut self) -> Counts {
        match &mut self.target {
            Target::Queue(queue) => queue.take_counts(),
            Target::Writer(_) | Target::Memory(_) => mem::take(&mut self.counts),
        }
    }

    /// Whether a thread of its own waits for the writer.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(self.target, Target::Queue(_))
    }

    /// What waits for the thread that writes, after the [end](Self::end), where there is one.
    pub(crate) fn waiter(&self) -> Option<Waiter> {
        match &self.target {
            Target::Queue(queue) => queue.waiter(),
            Target::Writer(_) | Target::Memory(_) => None,
        }
    }

    /// Whether the thread that writes, where there is one, had all when it had been waited for.
    ///
    /// # Errors
    /// Where it had not.
    pub(crate) fn queue_outcome(&self) -> io::Result<()> {
        match &self.target {
            Target::Queue(queue) => queue.outcome(),
            Target::Writer(_) | Target::Memory(_) => Ok(()),
        }
    }

    /// Events that a queue had no room for, or that were in it when it was given up, since this was last asked, and
    /// whose they were.
    pub(crate) fn take_lost(&self) -> Vec<Undelivered> {
        match &self.target {
            Target::Queue(queue) => queue.take_lost(),
            Target::Writer(_) | Target::Memory(_) => Vec::new(),
        }
    }

    /// Says that the log which is written has that header.
    pub(crate) fn set_header(&mut self, header: &Arc<Header>) {
        if let Target::Memory(Filler(store)) = &self.target {
            store.set_header(header);
        }
        self.header = Some(Arc::clone(header));
    }

    /// Whether something of a log has been written.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether it is known that there is no log that could be gone on with.
    pub(crate) fn is_known_to_be_empty(&self) -> bool {
        self.is_new && self.begun.is_none()
    }

    /// Whether it has begun a log of the process that this one was forked from.
    pub(crate) fn is_of_parent(&self) -> bool {
        self.begun
            .is_some_and(|process| process != std::process::id())
    }

    /// Whether it is known to have all that it was given.
    pub(crate) fn has_all(&self) -> bool {
        self.pending.is_empty() && !self.is_queued()
    }

    /// Whether a block of `len` bytes of events can be kept within `limit` bytes, or need not be kept.
    pub(crate) fn has_room(&self, len: usize, limit: usize) -> bool {
        let more = self.missed.told_len() + BlockMarker::LEN + len;
        self.pending.is_empty() || self.kept + more <= limit
    }

    /// Whether it can be handed a cut, of whatever size: it keeps no more than a block that was refused,
    /// or no more than `limit` bytes.
    pub(crate) fn has_room_for_cut(&self, limit: usize) -> bool {
        self.pending.len() <= 1 || self.kept <= limit
    }

    /// Drops a block, to be told when what is pending has been taken. Tells how many events it had.
    pub(crate) fn miss(&mut self, marker: &BlockMarker, body: &[u8]) -> u64 {
        let header = self.header.as_deref().unwrap_or(Header::standard());
        let events = count_events(body, header);
        let content = (events, body.len() as u64);
        let losses = Losses::told_in(body, header);
        let begin = begin_of(marker, body);
        self.missed.add(marker.cap, begin, content, losses);
        events
    }

    /// Writes the beginning of a log that has that header, with it. Where that fails and [something](Self::has_begun) has been taken,
    /// the writer can be used no more.
    pub(crate) fn begin(&mut self, header: &Arc<Header>, beginning: &[u8]) -> io::Result<()> {
        self.set_header(header);
        if let Target::Memory(Filler(store)) = &self.target {
            self.begun = Some(std::process::id());
            store.begin();
            // The header has another way to whoever takes chunks, and a snapshot gets a beginning of its own.
            let blocks = &beginning[header.encoded_len()..];
            if store.is_recorder() {
                store.remember(blocks);
            } else if let Some(marker) = blocks.first_chunk() {
                store.write(blocks.to_vec(), BlockMarker::from_bytes(marker).end);
            }
            return Ok(());
        }
        if let Target::Queue(queue) = &mut self.target {
            self.begun = Some(std::process::id());
            return queue.begin(beginning.to_vec());
        }
        self.write_parts(beginning, &[], &mut 0)
    }

    /// Writes one block, behind those that are pending. Whatever the outcome, the block has
    /// been handed over: where the writer refuses, it is kept, and [`retry`](Self::retry) offers the rest
    /// again.
    ///
    /// # Errors
    /// The writer's. None where the block was put behind others and not offered.
    pub(crate) fn write_block(&mut self, marker: &BlockMarker, body: &[u8]) -> io::Result<()> {
        if let Target::Memory(Filler(store)) = &self.target {
            store.copy(marker, body);
            self.count_block(body.len());
            return Ok(());
        }
        if let (Target::Queue(queue), Some(header)) = (&mut self.target, &self.header) {
            queue.offer(marker, body, header);
            return Ok(());
        }
        let owner = marker.cap;
        let marker = marker.encode();
        let mut taken = 0;
        let mut outcome = Ok(());
        self.tell();
        if self.pending.is_empty() {
            outcome = self.write_parts(&marker, body, &mut taken);
            if outcome.is_ok() {
                self.counts.blocks += 1;
                return Ok(());
            }
        }
        self.keep(Pending {
            owner,
            bytes: [&marker, body].concat(),
            taken,
            is_block: true,
        });
        outcome
    }

    /// Puts what has been missed behind what is pending.
    fn tell(&mut self) {
        for block in self.missed.take_told() {
            self.keep_other(block);
        }
    }

    fn keep(&mut self, pending: Pending) {
        self.kept += pending.bytes.len();
        self.pending.push_back(pending);
    }

    /// Puts something behind what is pending that is none of the program's events.
    fn keep_other(&mut self, bytes: Vec<u8>) {
        self.keep(Pending {
            owner: None,
            bytes,
            taken: 0,
            is_block: false,
        });
    }

    /// Goes on behind what is there: offers what is pending. A queue whose log was begun by somebody else starts.
    ///
    /// # Errors
    /// The writer's. Where a queue's thread cannot be had, and something [has begun](Self::has_begun) since, it can be
    /// used no more.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        if let (Target::Queue(queue), None) = (&mut self.target, self.begun) {
            self.begun = Some(std::process::id());
            return queue.begin(Vec::new());
        }
        self.retry()
    }

    /// Remembers where the log is that goes elsewhere.
    pub(crate) fn leave(&mut self, moment: Moment) {
        self.left = Some(moment);
    }

    /// Where the log was that it was left by, if it has been since.
    pub(crate) fn take_left(&mut self) -> Option<Moment> {
        self.left.take()
    }

    /// Goes on with blocks that say what has come while it was away. What is refused is kept.
    pub(crate) fn go_on(&mut self, blocks: Vec<u8>) {
        match &mut self.target {
            // What a recorder's log begins with says what came before its first block.
            Target::Memory(Filler(store)) if store.is_recorder() => {}
            Target::Memory(Filler(store)) => {
                if let Some(marker) = blocks.first_chunk().map(BlockMarker::from_bytes) {
                    store.write(blocks, marker.end);
                }
            }
            Target::Queue(queue) => queue.put(blocks),
            Target::Writer(_) if blocks.is_empty() => {}
            Target::Writer(_) => {
                self.keep_other(blocks);
                let _ = self.retry();
            }
        }
    }

    /// Whether it takes whole chunks of buffers.
    pub(crate) fn store(&self) -> Option<&Arc<BlockStore>> {
        match &self.target {
            Target::Writer(_) | Target::Queue(_) => None,
            Target::Memory(Filler(store)) => Some(store),
        }
    }

    /// Counts a block of `len` bytes of events that has been put into memory.
    pub(crate) fn count_block(&mut self, len: usize) {
        self.counts.blocks += 1;
        self.counts.bytes += (BlockMarker::LEN + len) as u64;
    }

    /// Puts the end marker behind everything else.
    pub(crate) fn end(&mut self) {
        match &mut self.target {
            Target::Memory(Filler(store)) => return store.finish(),
            Target::Queue(queue) => return queue.end(),
            Target::Writer(_) => {}
        }
        self.tell();
        self.keep_other(END_MARKER.to_vec());
    }

    /// Offers what is pending.
    pub(crate) fn retry(&mut self) -> io::Result<()> {
        loop {
            let Some(mut pending) = self.pending.pop_front() else {
                self.tell();
                match self.pending.is_empty() {
                    true => break,
                    false => continue,
                }
            };
            let outcome = self.write_parts(&pending.bytes, &[], &mut pending.taken);
            if outcome.is_err() {
                self.pending.push_front(pending);
                return outcome;
            }
            self.kept -= pending.bytes.len();
            self.counts.blocks += u64::from(pending.is_block);
        }
        Ok(())
    }

    /// Ends what has been written, offers all of it, and lets go of the writer.
    pub(crate) fn close(mut self) -> Closed {
        if self.begun.is_some() || self.store().is_some() {
            self.end();
        }
        if let Some(waiter) = self.waiter() {
            waiter.wait();
        }
        let outcome = self.retry().and_then(|()| self.flush());
        let outcome = outcome.and_then(|()| self.queue_outcome());
        let undelivered = self.undelivered().into_iter().chain(self.take_lost());
        let undelivered = undelivered.filter(|&(_, events)| events > 0).collect();
        let counts = self.take_counts();
        let dropped = match self.target {
            Target::Writer(writer) => writer.let_go(),
            Target::Queue(queue) => queue.let_go(),
            Target::Memory(_) => Ok(()),
        };
        Closed {
            outcome: outcome.and(dropped),
            undelivered,
            counts,
        }
    }

    /// Events that the writer has not wholly taken of the blocks that are pending, and whose they
    /// are.
    pub(crate) fn undelivered(&self) -> Vec<Undelivered> {
        if let Target::Queue(queue) = &self.target {
            return queue.waiting();
        }
        let header = self.header.as_deref().unwrap_or(Header::standard());
        let blocks = self.pending.iter().filter(|pending| pending.is_block);
        let undelivered = blocks.map(|pending| {
            let body = pending.bytes.get(BlockMarker::LEN..).unwrap_or_default();
            // Taken bytes may end within an event, of which a reader makes nothing.
            let taken = pending.taken.saturating_sub(BlockMarker::LEN);
            let taken = &body[..taken.min(body.len())];
            (
                pending.owner,
                count_events(body, header) - count_events(taken, header),
            )
        });
        undelivered.collect()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let Target::Writer(writer) = &mut self.target else {
            return Ok(());
        };
        let outcome = writer.flush();
        self.counts.errors += u64::from(outcome.is_err());
        outcome
    }

    /// Writes `first` and then `second`, but for the first `taken` bytes of both together.
    fn write_parts(&mut self, first: &[u8], second: &[u8], taken: &mut usize) -> io::Result<()> {
        let Target::Writer(writer) = &mut self.target else {
            return Ok(());
        };
        let all = first.len() + second.len();
        while *taken < all {
            let rest_of_first = &first[(*taken).min(first.len())..];
            let rest_of_second = &second[taken.saturating_sub(first.len())..];
            let parts = [IoSlice::new(rest_of_first), IoSlice::new(rest_of_second)];
            // Writers that know nothing of vectors take the first part that is not empty.
            let refused = match writer.write_vectored(&parts) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) if count > all - *taken => {
                    let given = all - *taken;
                    io::Error::other(format!(
                        "the sink says that it took {count} bytes, more than the {given} it was given"
                    ))
                }
                Ok(count) => {
                    *taken += count;
                    // Asked for once.
                    self.begun.get_or_insert_with(std::process::id);
                    self.counts.bytes += count as u64;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.counts.errors += 1;
            return Err(refused);
        }
        Ok(())
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
