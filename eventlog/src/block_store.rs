//! The blocks that a log keeps in memory, oldest first, within a limit. Who takes them out, or looks at
//! them, is no concern of this file.
//!
//! The collector puts blocks in, one at a time; any thread takes them out. Blocks that were overwritten
//! leave a note in the place where they were, before the oldest block: how many events of whom are missing
//! there. It comes out as a block of its own.

use crate::block::{Account, Block, OVERHEAD};
use crate::format::{self, BlockMarker, CapNo, Decoded, EVENTS_LOST, Event, Header, LossCause};
use crate::log::DEFAULT_STICKY_LIMIT;
use crate::marks::Marks;
use crate::signals::Signals;
use crate::sticky::Sticky;
use std::collections::{BTreeMap, VecDeque};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// Bytes of all blocks, those included that have been taken out, as long as somebody has them.
    Budget { bytes: usize, when_full: WhenFull },
    /// The newest blocks: bytes of those that are here, and nanoseconds.
    Newest { bytes: usize, window: Option<u64> },
}

/// What a log does that is kept in memory as [chunks](crate::Chunks), when the budget is used up.
///
/// ```
/// use ghc_eventlog::{Sink, WhenFull};
///
/// let (sink, chunks) = Sink::chunks(1 << 20, WhenFull::OverwriteOldest);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// What has been collected stays. Events wait in the buffers until somebody drops a chunk; when
    /// these are full, too, new events are lost, and counted as [`full`](crate::Lost::full).
    #[default]
    DropNewest,
    /// The oldest chunk that nobody has popped makes room. Its events are counted as
    /// [`overwritten`](crate::Lost::overwritten), and told in the log where they are missing. Where
    /// popped chunks use up the whole budget, this is as `DropNewest`.
    OverwriteOldest,
}

#[derive(Debug)]
pub(crate) struct BlockStore {
    /// The process whose log it keeps.
    process: AtomicU32,
    limit: Limit,
    account: Account,
    kept: Mutex<Kept>,
    /// A block has come, or the end.
    came: Condvar,
    /// Somebody writes out what is kept.
    snapshot: AtomicBool,
}

#[derive(Debug)]
struct Kept {
    /// That of the log which is kept, by which its events can be told apart.
    header: Arc<Header>,
    blocks: VecDeque<Arc<Block>>,
    /// Bytes that these are counted for.
    size: usize,
    /// What a flight recorder remembers of the blocks that it has forgotten.
    before: Option<Before>,
    /// Blocks that have come so far: the number of the next one.
    next: u64,
    /// What came before the oldest of them.
    note: Note,
    /// Overwritten events that the log has not counted yet.
    uncounted: BTreeMap<Option<CapNo>, u64>,
    /// When the blocks of a [window](Limit::Newest) were last cut.
    cut_at: u64,
    end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    None,
    /// The last blocks are coming: the newest stays here until it is known whether it is the last.
    Near,
    Reached,
}

/// What comes out of a store.
#[derive(Debug)]
pub(crate) enum Next {
    Block {
        block: Arc<Block>,
        is_final: bool,
    },
    Empty,
    /// Nothing will come any more.
    End,
}

impl BlockStore {
    pub(crate) fn new(limit: Limit) -> Arc<Self> {
        let header = Arc::new(Header::standard().clone());
        let before = match limit {
            Limit::Budget { .. } => None,
            Limit::Newest { .. } => Some(Before::new(&header)),
        };
        let kept = Kept {
            header,
            blocks: VecDeque::new(),
            size: 0,
            before,
            next: 0,
            note: Note::default(),
            uncounted: BTreeMap::new(),
            cut_at: 0,
            end: End::None,
        };
        Arc::new(BlockStore {
            process: AtomicU32::new(process::id()),
            limit,
            account: Account::default(),
            kept: Mutex::new(kept),
            came: Condvar::new(),
            snapshot: AtomicBool::new(false),
        })
    }

    /// Says that a log of this process is kept from now on.
    pub(crate) fn begin(&self) {
        // Relaxed: a process knows its own number, or that of one before it.
        self.process.store(process::id(), Ordering::Relaxed);
    }

    /// Whether it keeps the log of a process that this one was forked from: its locks may be held by threads that are
    /// not here. A system call.
    pub(crate) fn is_of_parent(&self) -> bool {
        // Relaxed: see `begin`.
        self.process.load(Ordering::Relaxed) != process::id()
    }

    /// Whether its blocks are there for snapshots, and not to be taken out.
    pub(crate) fn is_recorder(&self) -> bool {
        matches!(self.limit, Limit::Newest { .. })
    }

    /// Says that the log which is kept has that header. To be said before blocks come.
    pub(crate) fn set_header(&self, header: &Arc<Header>) {
        let mut kept = self.kept();
        kept.header = Arc::clone(header);
        if let Some(before) = &mut kept.before {
            before.sticky.set_header(header);
        }
    }

    /// What a log begins with that the blocks are of.
    pub(crate) fn header(&self) -> Arc<Header> {
        Arc::clone(&self.kept().header)
    }

    /// The blocks come from that log from now on.
    pub(crate) fn serve(&self, signals: &Arc<Signals>) {
        self.account.serve(signals);
    }

    /// Whether there is, or can be made, room for a block of `bytes`.
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        let needed = bytes + OVERHEAD;
        match self.limit {
            Limit::Newest { .. } => true,
            Limit::Budget { bytes, when_full } => {
                // Taken out in between, they are counted as before.
                let can_go = match when_full {
                    WhenFull::DropNewest => 0,
                    WhenFull::OverwriteOldest => self.kept().size,
                };
                self.account.admits(needed, bytes, can_go)
            }
        }
    }

    /// Bytes that all blocks may take, where there is such a bound.
    pub(crate) fn budget(&self) -> Option<usize> {
        match self.limit {
            Limit::Newest { .. } => None,
            Limit::Budget { bytes, .. } => Some(bytes),
        }
    }

    /// Whether more is kept than the budget has room for.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.budget()
            .is_some_and(|bytes| self.account.used() > bytes)
    }

    /// Whether blocks that are not whole chunks should be made, too, so that old events can be told from
    /// newer ones: four times in a window.
    pub(crate) fn wants_cut(&self, now: u64) -> bool {
        match self.limit {
            Limit::Newest {
                window: Some(window),
                ..
            } => now.saturating_sub(self.kept().cut_at) >= window / 4,
            Limit::Newest { .. } | Limit::Budget { .. } => false,
        }
    }

    /// Such blocks are made now.
    pub(crate) fn note_cut(&self, now: u64) {
        self.kept().cut_at = now;
    }

    /// Puts a copy in of some events of a buffer.
    pub(crate) fn copy(&self, marker: &BlockMarker, body: &[u8]) {
        self.put(Block::copied(marker, body, &self.account));
    }

    /// Puts whole blocks in that were written for the purpose.
    pub(crate) fn write(&self, bytes: Vec<u8>, now: u64) {
        self.put(Block::written(bytes, now, &self.account));
    }

    /// Puts a whole chunk of a buffer in.
    pub(crate) fn take(&self, marker: &BlockMarker, chunk: crate::buffer_reader::TakenChunk) {
        self.put(Block::taken(marker, chunk, &self.account));
    }

    /// Puts a block in that another writer has handed over, as it is; its latest event is of the time `end`.
    pub(crate) fn keep(&self, write: crate::intake::Write, end: u64) {
        self.put(Block::handed(write, end, &self.account));
    }

    fn put(&self, block: Block) {
        let now = block.end();
        let mut kept = self.kept();
        kept.size += block.size();
        kept.blocks.push_back(Arc::new(block));
        kept.next += 1;
        // Dropped after the lock: that gives memory back.
        let mut gone = Vec::new();
        // The newest stays, whatever its size.
        while kept.blocks.len() > 1 && self.exceeds(&kept, &gone) {
            gone.extend(kept.overwrite_oldest());
        }
        self.forget_old(&mut kept, now, &mut gone);
        drop(kept);
        self.came.notify_one();
    }

    /// Whether the limit would be exceeded once `gone` is gone.
    fn exceeds(&self, kept: &Kept, gone: &[Arc<Block>]) -> bool {
        match self.limit {
            Limit::Newest { bytes, .. } => kept.size > bytes,
            Limit::Budget {
                bytes,
                when_full: WhenFull::OverwriteOldest,
            } => {
                let gone: usize = gone.iter().map(|block| block.size()).sum();
                self.account.used().saturating_sub(gone) > bytes
            }
            Limit::Budget { .. } => false,
        }
    }

    /// Forgets what is older than the window.
    pub(crate) fn forget(&self, now: u64) {
        let mut gone = Vec::new();
        self.forget_old(&mut self.kept(), now, &mut gone);
    }

    fn forget_old(&self, kept: &mut Kept, now: u64, gone: &mut Vec<Arc<Block>>) {
        let Limit::Newest {
            window: Some(window),
            ..
        } = self.limit
        else {
            return;
        };
        let oldest = now.saturating_sub(window);
        while kept
            .blocks
            .front()
            .is_some_and(|block| block.end() < oldest)
        {
            gone.extend(kept.overwrite_oldest());
        }
    }

    /// The oldest block, which is taken out.
    pub(crate) fn pop(&self) -> Next {
        self.kept().pop(&self.account)
    }

    /// As [`pop`](Self::pop), and waits until `deadline` for a block or the end; for ever without one.
    pub(crate) fn pop_until(&self, deadline: Option<Instant>) -> Next {
        let mut kept = self.kept();
        loop {
            let next = kept.pop(&self.account);
            if !matches!(next, Next::Empty) {
                return next;
            }
            kept = match deadline {
                None => self.came.wait(kept).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Next::Empty;
                    }
                    let woken = self.came.wait_timeout(kept, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Whether nobody else is writing out what is kept; then the caller may.
    pub(crate) fn begin_snapshot(&self) -> bool {
        // Relaxed, here and below: it guards nothing but the right itself.
        !self.snapshot.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn end_snapshot(&self) {
        self.snapshot.store(false, Ordering::Relaxed);
    }

    /// All blocks, which stay. What a reader needs to know before them is appended to `beginning`: the sticky
    /// events of before, those `marked` by the program among them, and the note of what is missing.
    pub(crate) fn look<'a>(
        &self,
        marked: impl Iterator<Item = (Option<CapNo>, &'a [u8])>,
        beginning: &mut Vec<u8>,
    ) -> Vec<Arc<Block>> {
        let kept = self.kept();
        if let Some(before) = &kept.before {
            before.encode(&kept.header, marked, beginning);
        }
        beginning.extend(kept.note.clone().encode());
        kept.blocks.iter().map(Arc::clone).collect()
    }

    /// What has happened before the first block that comes, as blocks.
    pub(crate) fn remember(&self, blocks: &[u8]) {
        let mut kept = self.kept();
        let header = Arc::clone(&kept.header);
        if let Some(before) = &mut kept.before {
            for_each_block(blocks, |marker, body| {
                before.forget(&header, marker.cap, body);
            });
        }
    }

    /// Says that every buffer has been read to where it was when the pass began.
    pub(crate) fn end_pass(&self) {
        let mut kept = self.kept();
        let next = kept.next;
        if let Some(before) = &mut kept.before {
            // Two say as much as more.
            if before
                .passes
                .iter()
                .rev()
                .take_while(|pass| **pass == next)
                .count()
                < 2
            {
                before.passes.push_back(next);
            }
        }
    }

    /// What is put in from now on may be the last.
    pub(crate) fn begin_end(&self) {
        let mut kept = self.kept();
        if kept.end == End::None {
            kept.end = End::Near;
        }
    }

    /// Nothing more will be put in.
    pub(crate) fn finish(&self) {
        self.kept().end = End::Reached;
        self.came.notify_all();
    }

    /// Overwritten events, and whose they were, that have not been asked for yet.
    pub(crate) fn take_overwritten(&self) -> BTreeMap<Option<CapNo>, u64> {
        std::mem::take(&mut self.kept().uncounted)
    }

    /// Bytes that are counted for now.
    pub(crate) fn used(&self) -> usize {
        self.account.used()
    }

    /// Blocks that are here.
    pub(crate) fn len(&self) -> usize {
        self.kept().blocks.len()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What panics in here is an allocation that fails, and then the lists are as before.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BlockStore {
    fn drop(&mut self) {
        if self.is_of_parent() {
            // Kept for ever: giving memory back takes locks.
            let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(&mut kept.blocks));
        }
    }
}

impl Kept {
    fn overwrite_oldest(&mut self) -> Option<Arc<Block>> {
        let block = self.blocks.pop_front()?;
        self.size -= block.size();
        let header = &*self.header;
        for_each_block(block.bytes(), |marker, body| {
            let forgotten = match &mut self.before {
                Some(before) => before.forget(header, marker.cap, body),
                None => Forgotten::of(header, body),
            };
            if forgotten.events > 0 {
                *self.uncounted.entry(marker.cap).or_default() += forgotten.events;
            }
            self.note.add(marker.cap, forgotten);
        });
        if let Some(before) = &mut self.before {
            before.end_passes(self.next - self.blocks.len() as u64);
        }
        Some(block)
    }

    fn pop(&mut self, account: &Account) -> Next {
        if !self.note.0.is_empty() {
            let note = std::mem::take(&mut self.note);
            let end = note.0.values().map(|missing| missing.time).max();
            let block = Block::written(note.encode(), end.unwrap_or(0), account);
            return Next::Block {
                block: Arc::new(block),
                is_final: false,
            };
        }
        if self.end == End::Near && self.blocks.len() < 2 {
            return Next::Empty;
        }
        let Some(block) = self.blocks.pop_front() else {
            return match self.end {
                End::Reached => Next::End,
                End::None | End::Near => Next::Empty,
            };
        };
        self.size -= block.size();
        Next::Block {
            block,
            is_final: self.end == End::Reached && self.blocks.is_empty(),
        }
    }
}

/// Calls `look` with each block and its events.
fn for_each_block(mut blocks: &[u8], mut look: impl FnMut(BlockMarker, &[u8])) {
    while let Some(marker) = blocks.first_chunk() {
        let marker = BlockMarker::from_bytes(marker);
        let (block, rest) = blocks.split_at(marker.size as usize);
        look(marker, &block[BlockMarker::LEN..]);
        blocks = rest;
    }
}

/// What a reader needs to know of blocks that have been forgotten: the sticky events as they were when the
/// oldest block that is kept began.
#[derive(Debug)]
struct Before {
    sticky: Sticky,
    /// Before which block a pass over all buffers has ended.
    passes: VecDeque<u64>,
    /// The time of each capability's last event that has been forgotten.
    last: BTreeMap<Option<CapNo>, u64>,
}

impl Before {
    fn new(header: &Arc<Header>) -> Self {
        Before {
            sticky: Sticky::new(DEFAULT_STICKY_LIMIT, Arc::clone(header)),
            passes: VecDeque::new(),
            last: BTreeMap::new(),
        }
    }

    /// Takes in the events of a block that is forgotten, and adds them up.
    fn forget(&mut self, header: &Header, cap: Option<CapNo>, body: &[u8]) -> Forgotten {
        let mut forgotten = Forgotten::default();
        // What the program has marked is known elsewhere.
        self.sticky
            .observe_with(cap, body, &mut Marks::default(), |event| {
                forgotten.add(header, event);
            });
        if let Some(time) = forgotten.last {
            let last = self.last.entry(cap).or_default();
            *last = time.max(*last);
        }
        forgotten
    }

    /// The blocks before the one of that number are forgotten.
    fn end_passes(&mut self, oldest: u64) {
        while self.passes.front().is_some_and(|pass| *pass <= oldest) {
            self.passes.pop_front();
            self.sticky.end_pass();
        }
    }

    fn encode<'a>(
        &self,
        header: &Header,
        marked: impl Iterator<Item = (Option<CapNo>, &'a [u8])>,
        out: &mut Vec<u8>,
    ) {
        let now = self.last.values().copied().max().unwrap_or(0);
        self.sticky.blocks(now, out);
        for (cap, event) in marked {
            let raw = format::events(event, header).next();
            let Some(Ok(raw)) = raw else { continue };
            // A later one is still there in its place.
            if self.last.get(&cap).is_some_and(|last| raw.time <= *last) {
                let marker = BlockMarker {
                    begin: raw.time,
                    // No event is longer than 64 KiB and a head.
                    size: (BlockMarker::LEN + event.len()) as u32,
                    end: raw.time,
                    cap,
                };
                out.extend(marker.encode());
                out.extend(event);
            }
        }
    }
}

/// The events of a block that is forgotten, added up.
#[derive(Debug, Default)]
struct Forgotten {
    /// Those that tell of losses left out, as in the next two.
    events: u64,
    bytes: u64,
    /// The latest time.
    latest: u64,
    /// The time of the last event.
    last: Option<u64>,
    /// Losses that they tell of, by cause.
    told: Vec<(u8, Missing)>,
}

impl Forgotten {
    fn of(header: &Header, body: &[u8]) -> Self {
        let mut forgotten = Forgotten::default();
        for event in format::events(body, header).map_while(Result::ok) {
            forgotten.add(header, event.bytes());
        }
        forgotten
    }

    #[inline]
    fn add(&mut self, header: &Header, event: &[u8]) {
        let Some(&[i0, i1, t0, t1, t2, t3, t4, t5, t6, t7]) = event.first_chunk() else {
            return;
        };
        let time = u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        self.last = Some(time);
        if u16::from_be_bytes([i0, i1]) == EVENTS_LOST && self.tell(header, time, event) {
            return;
        }
        self.events += 1;
        self.bytes += event.len() as u64;
        self.latest = self.latest.max(time);
    }

    /// Whether the event can be read, which tells of a loss.
    #[cold]
    fn tell(&mut self, header: &Header, time: u64, event: &[u8]) -> bool {
        let raw = format::events(event, header).next().and_then(Result::ok);
        let Some(Ok(Decoded::Known(Event::EventsLost {
            cause,
            events,
            bytes,
        }))) = raw.map(|raw| raw.decode())
        else {
            return false;
        };
        let missing = Missing {
            events,
            bytes,
            time,
        };
        self.told.push((cause.code(), missing));
        true
    }
}

/// What is missing before the oldest block, by capability and cause.
#[derive(Clone, Debug, Default)]
struct Note(BTreeMap<(Option<CapNo>, u8), Missing>);

#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    events: u64,
    bytes: u64,
    /// That of the last event.
    time: u64,
}

impl Note {
    /// Notes the events of a block, which are to be forgotten. What these say themselves of losses goes on
    /// being said.
    fn add(&mut self, cap: Option<CapNo>, forgotten: Forgotten) {
        let own = Missing {
            events: forgotten.events,
            bytes: forgotten.bytes,
            time: forgotten.latest,
        };
        let own = (own.events > 0).then_some((LossCause::Overwritten.code(), own));
        for (cause, more) in own.into_iter().chain(forgotten.told) {
            let missing = self.0.entry((cap, cause)).or_default();
            missing.events += more.events;
            missing.bytes += more.bytes;
            missing.time = missing.time.max(more.time);
        }
    }

    /// The note as blocks, one for each capability.
    fn encode(self) -> Vec<u8> {
        let mut blocks = Vec::new();
        let mut losses = self.0.into_iter().peekable();
        while let Some(&((cap, _), first)) = losses.peek() {
            let mut body = Vec::new();
            let mut time = first.time;
            while let Some(((_, code), missing)) = losses.next_if(|((owner, _), _)| *owner == cap) {
                time = time.max(missing.time);
                let event = Event::EventsLost {
                    cause: LossCause::from_code(code),
                    events: missing.events,
                    bytes: missing.bytes,
                };
                event.encode_to_vec(time, &mut body);
            }
            let marker = BlockMarker {
                begin: first.time,
                // A few events of 27 bytes.
                size: (BlockMarker::LEN + body.len()) as u32,
                end: time,
                cap,
            };
            blocks.extend(marker.encode());
            blocks.extend(body);
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_of_the_process_that_has_begun_a_log_in_it() {
        let store = BlockStore::new(Limit::Budget {
            bytes: 1000,
            when_full: WhenFull::DropNewest,
        });
        assert!(!store.is_of_parent());
        // As a child finds what its parent has made.
        store.process.store(0, Ordering::Relaxed);
        assert!(store.is_of_parent());
        store.begin();
        assert!(!store.is_of_parent());
    }
}
