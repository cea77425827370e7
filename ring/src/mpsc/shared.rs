//! What the halves share: the tail, the table of chunks, and the end of it all.
//!
//! # Invariants
//!
//! 1. A slot belongs to whoever has claimed it, by moving an open tail over it, until that claim is
//!    answered at its run's first flag; from then on to the consumer. **A claim that is not answered
//!    keeps its chunk where it is**: nobody gives a chunk back before every slot of it is answered.
//!    Whoever closes a chunk early answers for the slots that nobody has claimed.
//! 2. The chunks from the oldest that is not taken to the tail's are in their entries, and so is the
//!    one after it from the moment that somebody has installed it. A chunk that is taken out of an
//!    entry leaves it empty, tagged with the sequence number that the entry waits for; whoever
//!    replaces the tag has installed the chunk of that number, and nobody else has or will.
//! 3. Whoever moves `taken` past a chunk owns it: the consumer, which then holds it, or a producer that
//!    overwrites. While `taken` is locked it is not moved but by the owner of the lock, the held chunk
//!    stays with the consumer, and so both may be looked at.
//!
//! # Orderings
//!
//! | word | pairs |
//! |---|---|
//! | `tail` | the Release exchange that opens a chunk with the Acquire claims: the entry is seen, and the chunk's memory as its installer has it; and with the looks of who installs the next one: no entry is seen as it was a round before |
//! | `tail`'s rounds | none of their own: counted before a chunk is opened, and so seen with the tail |
//! | an entry | the Release exchange that installs a chunk with the Acquire loads of helpers and of the consumer, who pass on or use what they see; the store that empties it is seen with `taken` |
//! | `taken` | the Release stores of whoever gives a chunk back, or its place, with the Acquire loads of who needs a chunk: the entry is empty, the idle chunk is there; and of the consumer that takes the next one. Taking a chunk releases what is said of it to those who count. Locking acquires, unlocking releases, and so does the consumer's giving back acquire: flags are not cleared while somebody looks at them |
//! | a flag | Release answers with the Acquire loads of the consumer and of who overwrites: the items are seen; the chunk is nobody else's once all of its slots are answered |
//! | `producers` | each that goes releases, the last acquires: what all of them did comes before `producer_gone` |
//! | `producer_gone`, `consumer_gone`, `half_gone` | as in the ring for one producer |
//! | `held`'s words | none of their own: seen with `taken`, and at the end with `half_gone` |

use super::entry::{Chunk, Entry, empty, pack, unpack};
use super::flags::{Flags, Runs};
use super::idle::Idle;
use super::word::{BUSY, DETACHED, HELD, LOCKED, Seq, Tail, Taken};
use crate::error::{BuildError, Refused};
use crate::policy::Policy;
use crate::primitive::{
    AtomicPtr, AtomicU64, AtomicUsize, Ordering, Slot, load_ptr_before_write,
    load_u64_before_write, or_few_in_a_model, relax,
};
use crate::settings::{Plan, Resizable, Settings};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use crossbeam_utils::CachePadded;

/// Counts that are made of a ring whose chunks are taken out meanwhile.
const ATTEMPTS: usize = or_few_in_a_model(8, 2);

/// Looks at a word that another thread is about to change, before that counts as taking too long.
const SPINS: usize = or_few_in_a_model(256, 2);

pub(crate) struct Shared<T> {
    pub(super) tail: CachePadded<End>,
    pub(super) taken: CachePadded<AtomicU64>,
    /// A power of two of entries; chunk `seq` has entry `seq % len`.
    table: Box<[AtomicPtr<Slot<T>>]>,
    pub(super) idle: Idle<T>,
    pub(super) producers: AtomicUsize,
    /// Chunks that were made and not given up, wherever they are.
    pub(super) made: AtomicUsize,
    pub(super) held: CachePadded<Held<T>>,
    pub(super) settings: CachePadded<Settings<T>>,
}

/// Where the next claim goes.
pub(super) struct End {
    pub(super) next: AtomicU64,
    /// How often sequence numbers have come half round, or more. So a producer that has not claimed for very
    /// long does not take a chunk for the one that had the same number a round of them before. It is here
    /// because whoever claims has this line.
    pub(super) rounds: AtomicUsize,
}

/// The consumer's chunk: its length, how far the consumer has gone in it when it last found nothing or
/// ended, and what else is needed after its end.
pub(super) struct Held<T> {
    pub(super) first: AtomicPtr<Slot<T>>,
    pub(super) len: AtomicUsize,
    pub(super) position: AtomicUsize,
    /// Every slot from `position` to here holds an item. A run begins here, but not always at `position`.
    pub(super) limit: AtomicUsize,
}

/// The most entries of a table that can exist at all, and whose chunks a sequence number can count: a
/// power of two.
pub(crate) const MAX_ENTRIES: usize = {
    let fit = (isize::MAX as usize / size_of::<usize>()).ilog2();
    1 << if fit < 32 { fit - 1 } else { 32 }
};

impl<T> Shared<T> {
    pub(super) fn new(plan: &Plan<T>) -> Result<Self, BuildError> {
        let settings = Settings::new(plan);
        let before = Seq::new(plan.origin);
        // More than there can be chunks in traffic, so that the entry for the next chunk is never the
        // oldest one's: it is empty, or the consumer's, which others have been overwritten behind.
        let entries = 2 * plan.entries;
        let mut table = Vec::new();
        table
            .try_reserve_exact(entries)
            .map_err(|_| BuildError::OutOfMemory)?;
        table.extend((0..entries).map(|_| AtomicPtr::new(ptr::null_mut())));
        for count in 1..=entries {
            let seq = before.add(count);
            table[seq.low() & (entries - 1)] = AtomicPtr::new(empty(seq));
        }
        let kept = settings.keep_idle.min(plan.entries);
        let shared = Shared {
            // That chunk does not exist: the first push installs the one after it.
            tail: CachePadded::new(End {
                next: AtomicU64::new(Tail::closed(before).0),
                rounds: AtomicUsize::new(before.half()),
            }),
            taken: CachePadded::new(AtomicU64::new(Taken::new(before.next(), 0).0)),
            table: table.into_boxed_slice(),
            idle: Idle::new(kept, plan.origin)?,
            producers: AtomicUsize::new(1),
            made: AtomicUsize::new(0),
            held: CachePadded::new(Held {
                first: AtomicPtr::new(ptr::null_mut()),
                len: AtomicUsize::new(0),
                position: AtomicUsize::new(0),
                limit: AtomicUsize::new(0),
            }),
            settings: CachePadded::new(settings),
        };
        if plan.preallocate {
            // Where one cannot be had, dropping `shared` frees those before it.
            for made in 0..plan.chunks {
                let settings = &*shared.settings;
                let first = settings.make_ahead(plan.chunk_len, plan.chunks, made)?;
                // Relaxed: nobody else knows of the ring yet.
                shared.made.fetch_add(1, Ordering::Relaxed);
                if let Err(first) = shared.idle.put(first, plan.chunk_len) {
                    // Cannot be: there is room for all of them.
                    shared.free(first, plan.chunk_len);
                }
            }
        }
        Ok(shared)
    }

    /// The table's entry of chunk `seq`.
    #[inline(always)]
    pub(super) fn entry(&self, seq: Seq) -> &AtomicPtr<Slot<T>> {
        &self.table[seq.low() & (self.table.len() - 1)]
    }

    /// The round of the table that chunk `seq` belongs to, modulo two.
    pub(super) fn lap(&self, seq: Seq) -> usize {
        seq.low() >> self.table.len().trailing_zeros() & 1
    }

    /// What chunk `seq`'s entry says once it has none any more.
    pub(super) fn emptied(&self, seq: Seq) -> *mut Slot<T> {
        empty(seq.add(self.table.len()))
    }

    pub(super) fn flags(&self, chunk: &Chunk<T>) -> Flags {
        // SAFETY: every chunk of this ring has flags, and was made with its length.
        Flags::new(unsafe { self.settings.form.flags(chunk.first, chunk.len()) })
    }

    fn runs(&self, chunk: &Chunk<T>, quiet: bool) -> Runs {
        Runs {
            flags: self.flags(chunk),
            len: chunk.len(),
            quiet,
        }
    }

    /// Frees a chunk that the caller owns and in which there is no item.
    pub(super) fn free(&self, first: NonNull<Slot<T>>, len: usize) {
        self.gives_up();
        // SAFETY: the chunk is the caller's, by invariant 3 or because it was never installed.
        unsafe { self.settings.form.free(first, len, &self.settings.pool) };
    }

    /// Gives a chunk that the caller owns and in which there is no item to the pool.
    pub(super) fn put(&self, first: NonNull<Slot<T>>, len: usize) {
        self.gives_up();
        // SAFETY: as above.
        unsafe { self.settings.form.put(first, len, &self.settings.pool) };
    }

    /// Counts a chunk that is no longer the ring's.
    pub(super) fn gives_up(&self) {
        // Relaxed: a count of the moment.
        self.made.fetch_sub(1, Ordering::Relaxed);
    }

    /// The most chunks that may be in traffic.
    fn limit(&self) -> isize {
        self.settings.most_chunks() as isize
    }

    /// Makes sure that slots can be claimed, or says why they cannot. Lock-free: whoever finds the tail
    /// closed helps, and nobody waits for whose claim has closed it.
    #[cold]
    #[inline(never)]
    pub(super) fn advance(&self) -> Result<(), Refused> {
        loop {
            // Acquire: pairs with the Release exchanges in `open`, of which each later tail passes on all
            // earlier ones; the entries are not seen as they were before the chunk that is closed here.
            // Two rounds before, the next one's would look as if it had been installed.
            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
            if tail.is_open() {
                return Ok(());
            }
            // Acquire: pairs with the Release store in the consumer's drop, so that a refusal says as
            // much as `is_closed` does.
            if self.settings.consumer_gone.load(Ordering::Acquire) {
                return Err(Refused::Closed);
            }
            let next = tail.seq().next();
            match self.install(next) {
                Ok(Some(log2)) => {
                    if self.open(tail, Tail::open(next, log2)) {
                        return Ok(());
                    }
                }
                Ok(None) => relax(),
                Err(refused) => {
                    // True at the moment that `install` looked, if no chunk has come since.
                    let now = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
                    if now.seq() == tail.seq() && !now.is_open() {
                        return Err(refused);
                    }
                }
            }
        }
    }

    /// Opens the chunk after the closed one of `tail`. Whether this call has done so.
    fn open(&self, tail: Tail, next: Tail) -> bool {
        // Relaxed, here and in the exchange: seen with the tail that is released below, by whomever. Only once in
        // a very long time there is something to count. Who comes late may count too much, and nobody too little.
        let rounds = self.tail.rounds.load(Ordering::Relaxed);
        if rounds & 1 != next.seq().half() {
            let _ = self.tail.rounds.compare_exchange(
                rounds,
                rounds.wrapping_add(1),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        let mut seen = tail;
        // Claims that come too late move the index meanwhile.
        while seen.seq() == tail.seq() && !seen.is_open() {
            // Release: pairs with the Acquire claims; they see the chunk and its entry. The chunk is
            // not looked at here: where `tail` is old it may be gone, and then the exchange fails.
            match self.tail.next.compare_exchange_weak(
                seen.0,
                next.0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => seen = Tail(now),
            }
        }
        false
    }

    /// Makes sure that chunk `next`, which must be the one after a tail's that was acquired, is in its
    /// entry, and tells its length. `None` where that tail is old.
    pub(super) fn install(&self, next: Seq) -> Result<Option<u32>, Refused> {
        let entry = self.entry(next);
        loop {
            // Acquire: pairs with the Release stores of whoever gave chunks back: their entries are
            // seen empty below, and idle chunks are there.
            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            // Acquire: pairs with the Release exchange below; opening the chunk passes on what its
            // installer did.
            let seen = load_ptr_before_write(entry, Ordering::Acquire);
            match unpack(seen) {
                Entry::Chunk(chunk) if chunk.lap == self.lap(next) => {
                    return Ok(Some(chunk.log2));
                }
                // Either the view of the tail is old, and it is the next round's; or the consumer has held
                // it since the round before, and others have been overwritten meanwhile.
                Entry::Chunk(_) => {
                    if self.detach(next)? {
                        continue;
                    }
                    return Ok(None);
                }
                Entry::Empty if seen != empty(next) => return Ok(None),
                Entry::Empty => {}
            }
            // Relaxed: a setting.
            let len = self.settings.chunk_len.load(Ordering::Relaxed);
            let found = if taken.chunks_before(next) < self.limit() {
                self.obtain(len)
            } else if self.settings.policy() != Policy::Overwrite {
                return Err(Refused::Full);
            } else if let Some((evicted, makes_room)) = self.evict(next)? {
                if !makes_room {
                    // The ring was made smaller.
                    self.overwritten(&evicted).drop_all();
                    continue;
                }
                self.empty_out(&evicted, len)
            } else {
                relax();
                continue;
            };
            let Some(first) = found else {
                // Another may have got what there was, for the same entry.
                if load_ptr_before_write(entry, Ordering::Relaxed) == seen {
                    return Err(Refused::Memory);
                }
                continue;
            };
            let chunk = Chunk {
                first,
                log2: len.trailing_zeros(),
                lap: self.lap(next),
            };
            // Release: pairs with the Acquire loads above and in the consumer; what the chunk's last
            // owner did is seen.
            let installed =
                entry.compare_exchange(seen, pack(&chunk), Ordering::Release, Ordering::Relaxed);
            if installed.is_ok() {
                return Ok(Some(chunk.log2));
            }
            self.put(first, len);
        }
    }

    /// Takes the oldest chunk out of the ring, whose limit it has reached before chunk `next`, and tells
    /// whether there is room for that one then. `None` where it is no longer so.
    ///
    /// The producer whose claim closed the chunk before `next` may not have answered it yet, nor any other
    /// that was slower; what is not answered is not overwritten.
    fn evict(&self, next: Seq) -> Result<Option<(Chunk<T>, bool)>, Refused> {
        let mut lock = self.lock().ok_or(Refused::Full)?;
        let taken = lock.taken;
        // Relaxed: a comparison. While the entry waits for `next`, no chunk behind that is in traffic, and
        // the one before it is closed, as it was when the caller looked.
        if taken.chunks_before(next) < self.limit()
            || load_ptr_before_write(self.entry(next), Ordering::Relaxed) != empty(next)
        {
            return Ok(None);
        }
        let seq = taken.seq();
        let oldest = next.ahead_of(seq);
        if oldest <= 0 || taken.chunks_before(next) - oldest >= self.limit() {
            // There is only room for the consumer's chunk: to overwrite the others would make none.
            return Err(Refused::Full);
        }
        // Acquire: pairs with the Release exchange in `install`.
        let entry = load_ptr_before_write(self.entry(seq), Ordering::Acquire);
        let Entry::Chunk(chunk) = unpack(entry) else {
            return Ok(None);
        };
        // SAFETY: chunks that are not taken stay while `taken` is locked.
        if !unsafe { self.runs(&chunk, false).is_complete(0) } {
            return Err(Refused::Full);
        }
        // Relaxed: seen with `taken`.
        self.entry(seq).store(self.emptied(seq), Ordering::Relaxed);
        lock.pass_oldest = true;
        let makes_room = taken.chunks_before(next) <= self.limit();
        Ok(Some((chunk, makes_room)))
    }

    /// The items of an evicted chunk, and its memory.
    fn overwritten(&self, chunk: &Chunk<T>) -> Items<'_, T> {
        Items {
            shared: self,
            first: chunk.first,
            runs: self.runs(chunk, false),
            at: 0,
            limit: 0,
            free: true,
            overwritten: true,
        }
    }

    /// Drops the items of an evicted chunk, and makes one of `len` slots of it.
    fn empty_out(&self, chunk: &Chunk<T>, len: usize) -> Option<NonNull<Slot<T>>> {
        let mut items = self.overwritten(chunk);
        items.drop_all();
        if chunk.len() != len {
            drop(items);
            return self.obtain(len);
        }
        items.free = false;
        drop(items);
        // SAFETY: the chunk is this call's (invariant 3), since every slot of it was answered.
        unsafe { self.settings.form.clear_flags(chunk.first, len) };
        Some(chunk.first)
    }

    /// Takes the consumer's chunk out of the entry that chunk `next` needs, once the table has come round
    /// to it. The consumer goes on to read the chunk, and gives it back as ever. False where `next` is no
    /// longer the next.
    fn detach(&self, next: Seq) -> Result<bool, Refused> {
        let mut lock = self.lock().ok_or(Refused::Full)?;
        // Relaxed: what the caller has seen there it has acquired, and it is looked at no further where it is
        // another chunk by now.
        let entry = load_ptr_before_write(self.entry(next), Ordering::Relaxed);
        let Entry::Chunk(chunk) = unpack(entry) else {
            return Ok(true);
        };
        // Relaxed: not older than what the installer of the chunk just seen has looked at. Where `next` is
        // next, that chunk is one of a round before; it stays there while `taken` is locked, and so
        // `next` stays next.
        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
        if tail.seq().next() != next {
            return Ok(false);
        }
        if chunk.lap == self.lap(next) {
            return Ok(true);
        }
        // Only the consumer has a chunk that is so old. It may be about to give it back.
        // Whoever has a claim in it that is not answered may still have to look it up.
        // SAFETY: the held chunk stays while `taken` is locked.
        if !lock.taken.has(HELD) || !unsafe { self.runs(&chunk, false).is_complete(0) } {
            return Err(Refused::Full);
        }
        // Relaxed: whoever installs a chunk there replaces this very word.
        self.entry(next).store(empty(next), Ordering::Relaxed);
        lock.detached = true;
        Ok(true)
    }

    /// A chunk of `len` slots that nobody uses, if there is memory for one.
    fn obtain(&self, len: usize) -> Option<NonNull<Slot<T>>> {
        while let Some((first, its_len)) = self.idle.take() {
            if its_len == len {
                return Some(first);
            }
            self.free(first, its_len);
        }
        let made = self.settings.form.make(len, &self.settings.pool).ok()?;
        // Relaxed: a count of the moment.
        self.made.fetch_add(1, Ordering::Relaxed);
        Some(made)
    }

    /// Closes the open chunk of `tail`, if no slot of it has been claimed since, and answers for the
    /// slots that are left.
    pub(super) fn close(&self, tail: Tail) -> bool {
        // Acquire: pairs with the Release exchange in `open`; the chunk and its entry are seen.
        let closed = self.tail.next.compare_exchange(
            tail.0,
            Tail::closed(tail.seq()).0,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if closed.is_err() {
            return false;
        }
        // Relaxed: acquired above. The slots that are left keep the chunk there (invariant 1).
        let entry = self.entry(tail.seq()).load(Ordering::Relaxed);
        if let Entry::Chunk(chunk) = unpack(entry) {
            let index = tail.index(chunk.len() - 1);
            // SAFETY: the slots from `index` on are unclaimed, and nobody can claim them any more.
            unsafe { self.flags(&chunk).end(index) };
        }
        true
    }

    /// Whether there may be one more chunk in traffic, or the oldest be overwritten.
    #[cfg(feature = "std")]
    pub(super) fn may_begin(&self) -> bool {
        // Relaxed: whoever asks has looked just before, and will look again.
        let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
        taken.chunks_before(tail.seq().next()) < self.limit()
            || self.settings.policy() == Policy::Overwrite
    }

    /// Whether the chunk before `next` is the only one in traffic.
    pub(super) fn is_only_chunk(&self, next: Seq) -> bool {
        // Relaxed: not older than what `install` has seen.
        Taken(load_u64_before_write(&self.taken, Ordering::Relaxed)).chunks_before(next) <= 1
    }

    /// Whether the chunk before `next` is the one to be overwritten once it is closed.
    pub(super) fn is_overwritten_next(&self, next: Seq) -> bool {
        // Relaxed: as above.
        let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
        self.settings.policy() == Policy::Overwrite && taken.seq().next() == next
    }

    /// Closes the open chunk, if there is something in it.
    pub(super) fn seal(&self) {
        loop {
            // Acquire: pairs with the Release exchange in `open`; the entry is seen.
            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
            if !tail.is_open() {
                return;
            }
            // Relaxed: acquired with the tail. Where the tail is old the exchange in `close` fails.
            let entry = load_ptr_before_write(self.entry(tail.seq()), Ordering::Relaxed);
            if let Entry::Chunk(chunk) = unpack(entry) {
                if tail.room() == chunk.len() || self.close(tail) {
                    return;
                }
            }
            relax();
        }
    }

    /// Slots that are claimed and not given back, but for those of its chunk that the consumer has said
    /// to have gone past.
    pub(super) fn claimed(&self) -> usize {
        let mut count = 0;
        for _ in 0..ATTEMPTS {
            // Acquire: pairs with the Release exchange in `take`; what was said of the chunks before is not
            // taken for the held one's.
            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            count = self.claimed_since(taken);
            // Relaxed: only compared. So long as chunks are taken meanwhile, the tail may be far ahead of
            // what was taken, and the count be more than ever was there.
            let now = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            if now.without(LOCKED | DETACHED) == taken.without(LOCKED | DETACHED) {
                return count;
            }
            relax();
        }
        count.min(self.capacity())
    }

    fn claimed_since(&self, taken: Taken) -> usize {
        // Acquire: a tail that is not older than what was taken, and not newer than what is after this.
        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
        // Relaxed, here and below: counts of the moment; nothing is accessed on the strength of them.
        let used = |seq: Seq, len: usize| {
            if seq == tail.seq() && tail.is_open() {
                len - tail.room().min(len)
            } else {
                len
            }
        };
        let mut count = 0;
        if taken.has(HELD) {
            let len = self.held.len.load(Ordering::Relaxed);
            let gone = self.held.position.load(Ordering::Relaxed);
            // An open chunk is never overwritten, so if there is none to be taken it is the held one.
            let next = taken.seq();
            let in_it = if tail.seq().next() == next {
                used(tail.seq(), len)
            } else {
                len
            };
            count += in_it.saturating_sub(gone);
        }
        let mut seq = taken.seq();
        while tail.seq().ahead_of(seq) >= 0 {
            if let Entry::Chunk(chunk) =
                unpack(load_ptr_before_write(self.entry(seq), Ordering::Relaxed))
            {
                count += used(seq, chunk.len());
            }
            seq = seq.next();
        }
        count
    }

    /// Slots of chunk `seq`, which must be in traffic, that are claimed, or will never be.
    pub(super) fn claimed_of(&self, seq: Seq, len: usize) -> usize {
        // Relaxed: a count of the moment.
        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
        match tail.seq().ahead_of(seq) {
            // Not opened yet.
            ..0 => 0,
            0 if tail.is_open() => len - tail.room().min(len),
            _ => len,
        }
    }

    /// Slots that could be claimed now.
    pub(super) fn free_slots(&self) -> usize {
        // Relaxed: counts of the moment.
        let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
        let chunks = (self.limit() - taken.chunks_before(tail.seq().next())).max(0) as usize;
        let rest = if tail.is_open() { tail.room() } else { 0 };
        rest.saturating_add(chunks.saturating_mul(self.settings.chunk_len.load(Ordering::Relaxed)))
    }

    /// The most items that fit, as set.
    pub(super) fn capacity(&self) -> usize {
        // Relaxed: settings. Their bounds keep the product below `isize::MAX`.
        self.settings.chunk_len.load(Ordering::Relaxed)
            * self.settings.chunks.load(Ordering::Relaxed)
    }

    /// Chunks in traffic.
    pub(super) fn chunks_in_traffic(&self) -> usize {
        let mut least = usize::MAX;
        for _ in 0..ATTEMPTS {
            // Acquire: a tail that is not older than what was taken. The installed chunk is not counted
            // before the tail is there.
            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            // Acquire: not newer than what is looked at next.
            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
            let count = taken.chunks_before(tail.seq().next()).max(0) as usize;
            least = least.min(count);
            // Relaxed: only compared. A chunk that was overwritten meanwhile is not counted beside the one
            // that has come for it, or another would be freed for it.
            if Taken(load_u64_before_write(&self.taken, Ordering::Relaxed)) == taken {
                return count;
            }
        }
        least
    }

    /// Keeps the oldest chunk and the held one where they are; `None` where another thread does that
    /// for long.
    pub(super) fn lock(&self) -> Option<Lock<'_, T>> {
        for _ in 0..SPINS {
            let seen = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            if !seen.has(LOCKED) {
                // Acquire: pairs with the Release stores of whoever had the lock before, or gave a
                // chunk back.
                let locked = self.taken.compare_exchange_weak(
                    seen.0,
                    seen.with(LOCKED).0,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                );
                if locked.is_ok() {
                    return Some(Lock {
                        shared: self,
                        taken: seen,
                        pass_oldest: false,
                        detached: false,
                    });
                }
            }
            relax();
        }
        None
    }

    /// Takes the oldest chunk, if there is one, for the consumer, which must have none. `locked` where the
    /// consumer itself has locked.
    pub(super) fn take(&self, locked: bool) -> Option<(Seq, Chunk<T>)> {
        let state = if locked { HELD | LOCKED } else { HELD };
        for _ in 0..SPINS {
            // Acquire: pairs with the Release store of whoever has overwritten chunks. What stood in their
            // entries is not seen any more, above all not the chunk that this one's held a round before.
            let seen = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            if seen.has(LOCKED) && !locked {
                relax();
                continue;
            }
            let seq = seen.seq();
            // Before the exchange, which says that it was still that chunk's.
            // Acquire: pairs with the Release exchange in `install`.
            let entry = load_ptr_before_write(self.entry(seq), Ordering::Acquire);
            let Entry::Chunk(chunk) = unpack(entry) else {
                if entry == empty(seq) {
                    return None;
                }
                continue;
            };
            // Relaxed: seen with the exchange; nobody looks at them before it.
            self.held.len.store(chunk.len(), Ordering::Relaxed);
            self.held.position.store(0, Ordering::Relaxed);
            // Release: pairs with the Acquire loads in `claimed`. What else is to be seen comes with the
            // entry and with the flags.
            let taken = self.taken.compare_exchange(
                seen.0,
                Taken::new(seq.next(), state).0,
                Ordering::Release,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                return Some((seq, chunk));
            }
        }
        None
    }

    /// Begins to give the consumer's chunk back, whose sequence number is `seq`: from here on nobody
    /// looks at it. Not where somebody does so for long. `locked` where the consumer itself has locked.
    pub(super) fn begin_return(&self, seq: Seq, locked: bool) -> Option<Return<'_, T>> {
        for _ in 0..SPINS {
            let seen = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            if !seen.has(LOCKED) || locked {
                // Acquire: pairs with the Release store of whoever had the lock: it has done with the
                // chunk's flags.
                let busy = self.taken.compare_exchange_weak(
                    seen.0,
                    seen.without(HELD | DETACHED).with(BUSY).0,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                );
                if busy.is_ok() {
                    if !seen.has(DETACHED) {
                        // Relaxed: seen with `taken`, at the end of the return.
                        self.entry(seq).store(self.emptied(seq), Ordering::Relaxed);
                    }
                    return Some(Return(self));
                }
            }
            relax();
        }
        None
    }

    /// To be called by the last producer and by the consumer as its last doing. The later of them drops
    /// the items that are left and frees the chunks.
    pub(super) fn half_ends(&self) {
        // Release: what this half did comes before the other's doing below. Acquire: what the other
        // did comes before this one's.
        if self.settings.half_gone.swap(true, Ordering::AcqRel) {
            // Relaxed: as said, all is seen.
            let taken = Taken(self.taken.load(Ordering::Relaxed));
            let mut rest = Rest {
                shared: self,
                left: NonNull::new(self.held.first.load(Ordering::Relaxed)),
                seq: taken.seq(),
            };
            rest.free_all();
        }
    }

    fn free_idle(&self) {
        while let Some((first, len)) = self.idle.take() {
            self.free(first, len);
        }
    }
}

/// Keeps the oldest chunk and the held one where they are.
pub(super) struct Lock<'a, T> {
    shared: &'a Shared<T>,
    /// As it was before it was locked.
    pub(super) taken: Taken,
    /// Whether the oldest chunk is the lock's owner's afterwards.
    pass_oldest: bool,
    /// Whether the held chunk is no longer in its entry.
    detached: bool,
}

impl<T> Lock<'_, T> {
    /// Items that are ready from the oldest chunk that is not taken on, one after the other; no more
    /// than `most` are counted.
    pub(super) fn count_ready(&self, most: usize, quiet: bool) -> usize {
        let mut count = 0;
        let mut seq = self.taken.seq();
        while count < most {
            // Acquire: pairs with the Release exchange in `install`.
            let entry = load_ptr_before_write(self.shared.entry(seq), Ordering::Acquire);
            let Entry::Chunk(chunk) = unpack(entry) else {
                break;
            };
            // The held one, or that of the round before.
            if chunk.lap != self.shared.lap(seq) {
                break;
            }
            // SAFETY: chunks that are not taken stay while `taken` is locked.
            let (ready, complete) =
                unsafe { self.shared.runs(&chunk, quiet).count_items(0, most - count) };
            count += ready;
            if !complete {
                break;
            }
            seq = seq.next();
        }
        count
    }
}

impl<T> Drop for Lock<'_, T> {
    fn drop(&mut self) {
        let mut seen = Taken(load_u64_before_write(&self.shared.taken, Ordering::Relaxed));
        loop {
            let mut after = seen.without(LOCKED);
            if self.pass_oldest {
                after = after.advanced();
            }
            if self.detached {
                after = after.with(DETACHED);
            }
            // Release: pairs with the Acquire exchanges of whoever locks next, and of the consumer that
            // gives its chunk back; and with the Acquire load in `install`, where an entry is seen empty.
            match self.shared.taken.compare_exchange_weak(
                seen.0,
                after.0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                // The consumer has ended a return.
                Err(now) => seen = Taken(now),
            }
        }
    }
}

/// The consumer's chunk on its way; at the end of the scope it no longer counts as in traffic.
pub(super) struct Return<'a, T>(&'a Shared<T>);

impl<T> Drop for Return<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire load in `install`; the entry is empty, and the chunk is where
        // idle ones are.
        self.0.taken.fetch_and(!BUSY, Ordering::Release);
    }
}

impl<T> Resizable<T> for Shared<T> {
    fn settings(&self) -> &Settings<T> {
        &self.settings
    }

    fn trim(&self, most: usize) {
        while self.chunks_in_traffic() + self.idle.count() > most {
            let Some((first, len)) = self.idle.take() else {
                break;
            };
            self.free(first, len);
        }
    }

    fn chunks_in_use(&self) -> usize {
        // In this order: a chunk that is given back meanwhile may count twice, but is not missed.
        (self.chunks_in_traffic() + self.idle.count()).min(self.settings.max_chunks)
    }

    fn round_chunk_len(&self, chunk_len: usize) -> usize {
        chunk_len.next_power_of_two()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Idle chunks are what is left where the halves were never made.
        self.free_idle();
    }
}

/// The chunks in traffic that are still to be freed when the ring ends.
struct Rest<'a, T> {
    shared: &'a Shared<T>,
    left: Option<NonNull<Slot<T>>>,
    seq: Seq,
}

impl<T> Rest<'_, T> {
    fn free_all(&mut self) {
        self.shared.free_idle();
        if let Some(first) = self.left.take() {
            let held = &self.shared.held;
            let [len, position, limit] =
                [&held.len, &held.position, &held.limit].map(|word| word.load(Ordering::Relaxed));
            self.free(first, len, position, limit);
        }
        // Relaxed: whoever gets here has acquired all that the halves wrote.
        while let Entry::Chunk(chunk) = unpack(self.shared.entry(self.seq).load(Ordering::Relaxed))
        {
            if chunk.lap != self.shared.lap(self.seq) {
                break;
            }
            let entry = self.shared.entry(self.seq);
            entry.store(self.shared.emptied(self.seq), Ordering::Relaxed);
            self.seq = self.seq.next();
            self.free(chunk.first, chunk.len(), 0, 0);
        }
        // Whoever counts chunks finds none.
        self.shared
            .taken
            .store(Taken::new(self.seq, 0).0, Ordering::Relaxed);
    }

    /// Drops a chunk's items from slot `position` on, and frees its memory. Up to slot `limit`, at which a
    /// run begins, there are items only.
    fn free(&self, first: NonNull<Slot<T>>, len: usize, position: usize, limit: usize) {
        // SAFETY: every chunk of this ring has flags, and was made with its length.
        let flags = Flags::new(unsafe { self.shared.settings.form.flags(first, len) });
        let mut items = Items {
            shared: self.shared,
            first,
            runs: Runs {
                flags,
                len,
                // The producers are gone, and grants that were forgotten with them.
                quiet: true,
            },
            at: position,
            limit,
            free: true,
            overwritten: false,
        };
        items.drop_all();
    }
}

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        // Reached with chunks left only when dropping an item has panicked: go on with the others.
        self.free_all();
    }
}

/// The items of a chunk that is this call's; dropped at the end of the scope at the latest.
pub(super) struct Items<'a, T> {
    shared: &'a Shared<T>,
    first: NonNull<Slot<T>>,
    runs: Runs,
    at: usize,
    /// Every slot from `at` to here, if that is ahead, holds an item; then a run begins.
    limit: usize,
    /// Whether the chunk's memory goes with them.
    free: bool,
    /// Whether they count as such.
    overwritten: bool,
}

impl<T> Items<'_, T> {
    fn drop_all(&mut self) {
        let found = self.limit.saturating_sub(self.at);
        let first = self.first.as_ptr().wrapping_add(self.at);
        // Before the drops: an item whose drop panics must not be met again.
        self.at += found;
        // SAFETY: these slots hold items, which are this call's and are not met again.
        unsafe { Slot::drop_range(first, found) };
        // SAFETY: the chunk is this call's.
        while let Some(Ok((items, count))) = unsafe { self.runs.at(self.at) } {
            let first = self.first.as_ptr().wrapping_add(self.at);
            // Before the drops, as above.
            self.at += count;
            if items {
                if self.overwritten {
                    self.shared.settings.losses.overwrite(count);
                }
                // SAFETY: these slots hold items, which are this call's and are not met again.
                unsafe { Slot::drop_range(first, count) };
            }
        }
    }
}

impl<T> Drop for Items<'_, T> {
    fn drop(&mut self) {
        // Also when dropping an item panics once more.
        struct End<'a, T>(&'a Shared<T>, NonNull<Slot<T>>, usize);
        impl<T> Drop for End<'_, T> {
            fn drop(&mut self) {
                self.0.free(self.1, self.2);
            }
        }
        let _end = self
            .free
            .then(|| End(self.shared, self.first, self.runs.len));
        self.drop_all();
    }
}
