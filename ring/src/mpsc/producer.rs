//! The producers' handle, and the contiguous slots that it reserves.

use super::entry::{Entry, unpack};
use super::flags::Flags;
use super::pace::Turns;
use super::shared::Shared;
use super::word::{MAX_PRODUCERS, Seq, Tail};
use crate::control::{Control, Ring};
use crate::counted::Counted;
use crate::error::{PushError, Refused, ReserveError};
use crate::primitive::{LINE, Ordering, Slot, load_u64_before_write, prefetch_to_write};
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

/// Cache lines that a push asks for ahead of the one that it writes. An atomic addition waits until all that was written
/// before has arrived where it goes, so a line that is not there is waited for in full.
const LINES_AHEAD: usize = 2;

/// A handle that puts items in. It may be sent to another thread and cloned for another, and is not
/// shared.
///
/// Dropping the last one closes the ring: the consumer takes what is there and then sees
/// [`PopError::Closed`](crate::PopError::Closed).
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).mpsc()?;
/// let mut other = producer.clone();
/// std::thread::spawn(move || other.push("over there")).join().unwrap()?;
/// producer.push("here")?;
/// assert_eq!(consumer.try_iter().collect::<Vec<_>>(), ["over there", "here"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It goes to another thread only where its items may go:
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// let (mut producer, _consumer) = chunkring::mpsc::bounded(8).unwrap();
/// std::thread::spawn(move || producer.push(Rc::new(1)).unwrap());
/// ```
///
/// and is not shared by threads; each has a clone of its own:
///
/// ```compile_fail,E0277
/// let (producer, _consumer) = chunkring::mpsc::bounded::<u8>(8).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| producer.len());
/// });
/// ```
///
/// What its items borrow must outlive it:
///
/// ```compile_fail,E0597
/// let (mut producer, _consumer) = chunkring::mpsc::bounded::<&String>(8).unwrap();
/// {
///     let short = String::from("short");
///     producer.push(&short).unwrap();
/// }
/// ```
pub struct Producer<T> {
    /// Whether the tail must be looked at before the next claim: it was found closed, or there is a
    /// grant.
    look: bool,
    /// What follows describes the chunk of the last claim, which is where the next one most likely goes. It
    /// is used only for claims of that very chunk: the first claim's `tail`, and how often sequence numbers
    /// had come half round then. These are addresses and no pointers, since the chunk may be gone by now.
    base: Tail,
    rounds: usize,
    /// The length; zero where no claim was made yet.
    len: usize,
    first: usize,
    flags: usize,
    /// Slots of the grant that has not ended, if any, from `granted_from` on.
    granted: usize,
    granted_from: usize,
    /// Chunks that this producer has ended, and grants that it has given up for somebody who forgot them.
    ended: usize,
    turns: Turns,
    /// Each thread has a producer of its own.
    unshared: PhantomData<*mut T>,
    shared: Counted<Shared<T>>,
}

// SAFETY: a producer only ever moves items into the ring, so it may go wherever they may go. The
// addresses in it are used only for a chunk that a claim of its own keeps in the ring, which `shared`
// keeps alive.
unsafe impl<T: Send> Send for Producer<T> {}

impl<T> Producer<T> {
    pub(super) fn new(shared: Counted<Shared<T>>) -> Self {
        Producer {
            look: true,
            base: Tail::closed(Seq::new(0)),
            rounds: 0,
            len: 0,
            first: 0,
            flags: 0,
            granted: 0,
            granted_from: 0,
            ended: 0,
            turns: Turns::new(),
            unshared: PhantomData,
            shared,
        }
    }

    /// Slots from one push that asks for a line ahead, and finds out whether it is alone, to the next: those of
    /// a line, as nearly as a power of two can say it, eight at most.
    const LOOK_EVERY: usize = match size_of::<T>() {
        0..=8 => 8,
        9..=16 => 4,
        17..=32 => 2,
        _ => 1,
    };

    /// Puts `item` in.
    ///
    /// Never blocks. Allocates a chunk when the current one is used up, none is idle, and the ring
    /// has fewer than it may have.
    ///
    /// # Errors
    /// The item comes back. [`PushError::Full`] where every chunk is in use, or the pool refused one
    /// more. [`PushError::Closed`] where the consumer is gone; that is noticed when a new chunk is
    /// needed, so up to a chunk's length of items may still be accepted after its end (they are dropped
    /// with the ring); [`is_closed`](Self::is_closed) tells at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use chunkring::{Builder, PushError};
    ///
    /// let (mut producer, consumer) = Builder::new(2, 1).mpsc()?;
    /// producer.push(1).unwrap();
    /// producer.clone().push(2).unwrap();
    /// assert_eq!(producer.push(3), Err(PushError::Full(3)));
    /// drop(consumer);
    /// assert_eq!(producer.push(3), Err(PushError::Closed(3)));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), PushError<T>> {
        let (tail, index) = loop {
            if self.look {
                // The item stays here meanwhile: a large one is costly to hand down and back.
                if let Err(refused) = self.prepare(1) {
                    return Err(refused.with(item));
                }
            }
            // Acquire: pairs with the Release exchange that has opened the chunk; it and its entry are
            // seen.
            let tail = Tail(self.shared.tail.next.fetch_add(1, Ordering::Acquire));
            if let Some(index) = self.find(tail) {
                break (tail, index);
            }
        };
        // SAFETY: by invariant 1 the claimed slot is this call's, and empty, until it is answered below.
        unsafe {
            (*self.first().add(index)).write(item);
            self.flags().item(index);
        }
        if index % Self::LOOK_EVERY == 0 {
            self.prefetch_after(index);
            let tail_word = &self.shared.tail.next;
            self.turns.answered(tail, Self::LOOK_EVERY, tail_word);
        }
        Ok(())
    }

    /// The slot of a claim; `None` where it came too late, and the tail is to be looked at.
    #[inline(always)]
    fn find(&mut self, tail: Tail) -> Option<usize> {
        // Relaxed: not older than what the chunk's opener has left there, by the claim's Acquire.
        let rounds = self.shared.tail.rounds.load(Ordering::Relaxed);
        let index = tail.since(self.base);
        if index < self.len && rounds == self.rounds {
            return Some(index);
        }
        self.enter(tail)
    }

    /// The first slot of the chunk of the last claim.
    #[inline(always)]
    fn first(&self) -> *mut Slot<T> {
        // Whoever has installed the chunk has exposed it.
        ptr::with_exposed_provenance_mut(self.first)
    }

    /// The flags of the chunk of the last claim.
    #[inline(always)]
    fn flags(&self) -> Flags {
        Flags::at(self.flags)
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, tail: Tail) -> Option<usize> {
        if !tail.is_open() {
            self.look = true;
            return None;
        }
        // Relaxed: acquired with the tail. The claim keeps the chunk there (invariant 1).
        let entry = self.shared.entry(tail.seq()).load(Ordering::Relaxed);
        let Entry::Chunk(chunk) = unpack(entry) else {
            unreachable!("a claim keeps its chunk in the table");
        };
        self.base = Tail::open(tail.seq(), chunk.log2);
        self.rounds = self.shared.tail.rounds.load(Ordering::Relaxed);
        self.len = chunk.len();
        self.first = chunk.first.as_ptr().addr();
        self.flags = self.shared.flags(&chunk).address();
        self.prefetch_first();
        Some(tail.since(self.base))
    }

    /// Asks for the line some lines after the slot at `index`, of this chunk only: what is behind it may be in
    /// others' use.
    #[inline(always)]
    fn prefetch_after(&self, index: usize) {
        if size_of::<T>() != 0 {
            let ahead = index + LINES_AHEAD * LINE.div_ceil(size_of::<T>());
            prefetch_to_write(self.first + ahead.min(self.len - 1) * size_of::<T>());
        }
    }

    /// Asks for a chunk's first lines: those of the slots that come before what a push asks for, and the first
    /// ones of the flags.
    fn prefetch_first(&self) {
        let slots = (self.len * size_of::<T>()).min(LINES_AHEAD * LINE);
        let flags = self.len.min(LINES_AHEAD * LINE);
        for offset in (0..slots).step_by(LINE) {
            prefetch_to_write(self.first + offset);
        }
        for offset in (0..flags).step_by(LINE) {
            prefetch_to_write(self.flags + offset);
        }
    }

    /// Makes sure that the next claim is likely to succeed. Where it cannot, `items` count as refused.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, items: usize) -> Result<(), Refused> {
        self.end_forgotten_grant();
        self.shared
            .advance()
            .inspect_err(|why| self.shared.settings.losses.refuse(*why, items))?;
        self.look = false;
        Ok(())
    }

    /// Answers for the slots of a grant that was forgotten. What was put into them is leaked.
    fn end_forgotten_grant(&mut self) {
        let count = core::mem::take(&mut self.granted);
        if count != 0 {
            self.ended = self.ended.wrapping_add(1);
            // SAFETY: the claim has not been answered, and the grant's borrow of `self` has ended, so it
            // never will be by anybody else.
            unsafe { self.flags().skips(self.granted_from, count) };
        }
    }

    /// Reserves `count` slots side by side, to be filled and [committed](Grant::commit) in one go.
    ///
    /// Where they do not fit into the rest of the current chunk, that rest is left unused and the
    /// next chunk begins. Never blocks; allocates as [`push`](Self::push) does. Reserving no slots
    /// always succeeds.
    ///
    /// **Items that other producers put in after this call wait for the grant's end**: the consumer gets
    /// them only when this one is committed or dropped. See [what a grant holds up](super#grants).
    ///
    /// # Errors
    /// [`ReserveError::TooLong`] where a chunk is shorter than `count`, whatever is in the ring;
    /// [`ReserveError::Full`] and [`ReserveError::Closed`] as for [`push`](Self::push). A refused
    /// reservation takes nothing away from what is in the ring. It leaves the rest of the current
    /// chunk usable for shorter ones, unless it was refused as [`Full`](ReserveError::Full) and that
    /// chunk is the only one that the consumer has not given back, as it is in a ring of one chunk:
    /// then it must be closed, or the consumer could never give it back. So it is where it is the next
    /// to be [overwritten](crate::Policy::Overwrite).
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).mpsc()?;
    /// let mut grant = producer.reserve(5)?;
    /// grant.extend_from_slice(b"hello");
    /// grant.commit_all();
    /// assert_eq!(&*consumer.read()?, b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reserve(&mut self, count: usize) -> Result<Grant<'_, T>, ReserveError> {
        self.claim(count, count, count)
    }

    /// From one slot to `most`, as many as are left of a chunk; no fewer than that of the next one.
    /// Nothing counts as refused.
    pub(super) fn reserve_rest(&mut self, most: usize) -> Result<Grant<'_, T>, ReserveError> {
        self.claim(1, most, 0)
    }

    /// Claims from `least` to `most` slots. Where there is no room, `items` count as refused.
    fn claim(
        &mut self,
        least: usize,
        most: usize,
        items: usize,
    ) -> Result<Grant<'_, T>, ReserveError> {
        self.end_forgotten_grant();
        let (index, count) = if least == 0 {
            (0, 0)
        } else {
            self.claim_slots(least, most, items)?
        };
        self.granted = count;
        self.granted_from = index;
        // So that the next call sees whether the grant was forgotten.
        self.look = true;
        Ok(Grant {
            producer: self,
            index,
            len: count,
            filled: 0,
        })
    }

    /// The first claimed slot, and how many there are.
    fn claim_slots(
        &mut self,
        least: usize,
        most: usize,
        items: usize,
    ) -> Result<(usize, usize), ReserveError> {
        loop {
            // A guess, which the exchange confirms. Acquire: as `install` asks for; pairs with the Release
            // exchange in `open`, so that no entry is seen as it was a round before.
            let tail = Tail(load_u64_before_write(
                &self.shared.tail.next,
                Ordering::Acquire,
            ));
            if !tail.is_open() {
                self.check_len(least)?;
                self.prepare(items)?;
                continue;
            }
            let count = tail.room().min(most);
            if count < least {
                self.check_len(least)?;
                self.make_room(tail, items)?;
                continue;
            }
            // Acquire: as in `push`.
            let claimed = self.shared.tail.next.compare_exchange_weak(
                tail.0,
                tail.after(count).0,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if claimed.is_ok() {
                if let Some(index) = self.find(tail) {
                    self.turns.claimed(tail.after(count), Self::LOOK_EVERY);
                    return Ok((index, count));
                }
            }
        }
    }

    fn check_len(&self, count: usize) -> Result<(), ReserveError> {
        let chunk_len = self.chunk_len();
        if count > chunk_len {
            return Err(ReserveError::TooLong {
                requested: count,
                chunk_len,
            });
        }
        Ok(())
    }

    /// Closes the chunk of `tail`, in which a reservation does not fit, if there can be another one.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, tail: Tail, items: usize) -> Result<(), ReserveError> {
        let next = tail.seq().next();
        let installed = if self.is_closed() {
            Err(Refused::Closed)
        } else {
            self.shared.install(next)
        };
        match installed {
            Ok(Some(_)) => {
                // Where it fails, somebody else has claimed or closed; look again.
                self.close(tail);
                Ok(())
            }
            // The tail is old.
            Ok(None) => Ok(()),
            Err(why) => {
                if !self.is_closed() {
                    if matches!(why, Refused::Full) && self.shared.is_overwritten_next(next) {
                        // Then it makes room itself, or the reservation is refused at the next look.
                        self.close(tail);
                        return Ok(());
                    }
                    // Nobody else can do that for a consumer that waits for the chunk's end.
                    if self.shared.is_only_chunk(next) && !self.close(tail) {
                        return Ok(());
                    }
                }
                self.shared.settings.losses.refuse(why, items);
                Err(why.into())
            }
        }
    }

    /// Closes the chunk of `tail`, if nobody has claimed a slot of it since.
    fn close(&mut self, tail: Tail) -> bool {
        let closed = self.shared.close(tail);
        self.ended = self.ended.wrapping_add(usize::from(closed));
        closed
    }

    /// Another number where this producer has ended a chunk, or a grant that was forgotten.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn ended(&self) -> usize {
        self.ended
    }

    /// Whether the ring may have one more chunk in traffic, or overwrite one, so that it is for want of
    /// something that nobody announces where it was refused one.
    #[cfg(feature = "std")]
    pub(crate) fn may_begin(&self) -> bool {
        self.shared.may_begin()
    }

    /// Whether there are others.
    #[cfg(feature = "std")]
    pub(crate) fn is_cloned(&self) -> bool {
        // Relaxed: whoever could clone is this one, where there is no other.
        self.shared.producers.load(Ordering::Relaxed) != 1
    }

    /// Ends the current chunk, so that the consumer can take it out whole; the next item begins
    /// another one. Its empty slots stay unused. A chunk in which there is nothing yet is left alone.
    ///
    /// Never blocks and never allocates. Slots that other producers have claimed are still theirs to
    /// answer; the chunk is complete when they have.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// assert!(consumer.take_chunk().is_err(), "it is still being filled");
    /// producer.seal();
    /// assert_eq!(&*consumer.take_chunk()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal(&mut self) {
        self.end_forgotten_grant();
        self.shared.seal();
    }

    /// A handle to change the ring's shape with, from any thread.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).mpsc::<u8>()?;
    /// producer.control().set_chunks(8)?;
    /// assert_eq!(producer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<T> {
        Control::new(Ring::Mpsc(Counted::clone(&self.shared)))
    }

    /// Slots that are in use: items, and slots that are being written or were left unused, as far as the
    /// consumer has not gone past their chunk or told how far it is in its own. So there are never more
    /// items than that. Looks at every chunk that is in traffic.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// assert_eq!(producer.len(), 1);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.shared.claimed()
    }

    /// Whether [`len`](Self::len) is zero.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert!(producer.is_empty());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a [`push`](Self::push) would be refused now for want of a chunk, or
    /// [overwrite](crate::Policy::Overwrite) one. It knows the chunks alone: where the [pool](crate::Pool)'s budget
    /// or the allocator refuses the memory for one, this is false and yet each push is refused.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(1, 1).mpsc()?;
    /// assert!(!producer.is_full());
    /// producer.push(1).unwrap();
    /// assert!(producer.is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_full(&self) -> bool {
        self.free_slots() == 0
    }

    /// Slots that could be pushed to at the moment of the call: the rest of the current chunk and the
    /// chunks not in use. Another producer may be there first. Usually less than capacity minus length,
    /// since room comes back a chunk at a time. It knows the chunks alone: not that the [pool](crate::Pool)'s budget or
    /// the allocator will refuse the memory for one, even where the budget has no room for a single chunk.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// assert_eq!(producer.free_slots(), 8);
    /// producer.push(1).unwrap();
    /// assert_eq!(producer.free_slots(), 7);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn free_slots(&self) -> usize {
        self.shared.free_slots()
    }

    /// The most items that the ring can hold: chunks times chunk length, both as set now. A ring that
    /// [grows](crate::Policy::Grow) can hold more for a while.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert_eq!(producer.capacity(), 8);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Slots of the chunks that come: the longest reservation that is granted sooner or later.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert_eq!(producer.chunk_len(), 4);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn chunk_len(&self) -> usize {
        // Relaxed: a setting.
        self.shared.settings.chunk_len.load(Ordering::Relaxed)
    }

    /// Whether the consumer is gone.
    ///
    /// ```
    /// let (producer, consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert!(!producer.is_closed());
    /// drop(consumer);
    /// assert!(producer.is_closed());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release store in the consumer's drop; what its thread did before
        // is seen after this has said yes.
        self.shared.settings.consumer_gone.load(Ordering::Acquire)
    }
}

/// Another producer of the same ring.
///
/// # Panics
/// Where there are 2^24 already.
impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        let shared = Counted::clone(&self.shared);
        // Relaxed: whoever clones is one, so the count is not about to end.
        let before = shared.producers.fetch_add(1, Ordering::Relaxed);
        if before >= MAX_PRODUCERS {
            shared.producers.fetch_sub(1, Ordering::Relaxed);
            panic!("a ring can have {MAX_PRODUCERS} producers at most");
        }
        Producer::new(shared)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.end_forgotten_grant();
        // Release: what this producer did comes before the last one's doing below. Acquire: what the
        // others did comes before this one's, if it is the last.
        if self.shared.producers.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Whoever takes whole chunks gets the last one, too.
        self.shared.seal();
        // Release: pairs with the consumer's Acquire loads; it then sees every answer.
        self.shared
            .settings
            .producer_gone
            .store(true, Ordering::Release);
        self.shared.half_ends();
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl From<Refused> for ReserveError {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full | Refused::Memory => ReserveError::Full,
            Refused::Closed => ReserveError::Closed,
        }
    }
}

/// Contiguous slots, reserved and not yet committed; see [`Producer::reserve`].
///
/// Slots are filled from the first on, by [`push`](Self::push) or
/// [`extend_from_slice`](Self::extend_from_slice), or in place through
/// [`spare_mut`](Self::spare_mut). Nothing is visible to the consumer before
/// [`commit`](Self::commit). A grant that is dropped, by a panic for instance, commits nothing and drops
/// what was filled in. Slots that are not committed stay unused, since others may have claimed those
/// behind them.
///
/// A grant that is forgotten ([`core::mem::forget`]) leaks what was filled in. The consumer waits at its
/// slots until the producer is used again or dropped; see [what a grant holds up](super#grants).
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
/// let mut grant = producer.reserve(3)?;
/// for word in ["a", "b"] {
///     grant.push(word.to_owned()).unwrap();
/// }
/// grant.commit(1); // "b" is dropped
/// drop(producer);
/// assert_eq!(consumer.pop().unwrap(), "a");
/// assert!(consumer.pop().unwrap_err().is_closed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// There is one grant of a producer at a time:
///
/// ```compile_fail,E0499
/// let (mut producer, _consumer) = chunkring::mpsc::bounded::<u8>(8).unwrap();
/// let first = producer.reserve(1).unwrap();
/// let second = producer.reserve(1).unwrap();
/// first.commit_all();
/// ```
///
/// and it is committed once:
///
/// ```compile_fail,E0382
/// let (mut producer, _consumer) = chunkring::mpsc::bounded::<u8>(8).unwrap();
/// let grant = producer.reserve(1).unwrap();
/// grant.commit_all();
/// grant.commit_all();
/// ```
#[must_use = "a grant that is not committed leaves nothing in the ring"]
pub struct Grant<'a, T> {
    producer: &'a mut Producer<T>,
    /// The first slot in the producer's chunk.
    index: usize,
    len: usize,
    /// The first `filled` slots hold items, which are this grant's.
    filled: usize,
}

/// Answers for a grant's slots at the end of the scope: items first, the others unused.
struct Answer<'a, T> {
    producer: &'a mut Producer<T>,
    index: usize,
    items: usize,
    len: usize,
}

impl<T> Drop for Answer<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let producer = &mut *self.producer;
        producer.granted = 0;
        // SAFETY: by invariant 1 the slots are this grant's until their first flag is answered, which
        // comes last. The first `items` of them hold items, the others nothing that will be dropped.
        unsafe {
            producer
                .flags()
                .skips(self.index + self.items, self.len - self.items);
            producer.flags().items(self.index, self.items);
        }
    }
}

impl<T> Grant<'_, T> {
    /// As of the producer.
    #[cfg(feature = "std")]
    pub(crate) fn ended(&self) -> usize {
        self.producer.ended
    }

    /// Slots that were reserved.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert_eq!(producer.reserve(3)?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no slot was reserved.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert!(producer.reserve(0)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Slots that have been filled.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// let mut grant = producer.reserve(3)?;
    /// grant.push(1).unwrap();
    /// assert_eq!(grant.filled(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// The slot that comes `index` slots after the grant's first. Only an address: it may be none.
    #[inline(always)]
    fn slot(&self, index: usize) -> *mut Slot<T> {
        self.producer.first().wrapping_add(self.index + index)
    }

    /// Fills the next slot.
    ///
    /// # Errors
    /// The item comes back where every slot is filled.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// let mut grant = producer.reserve(1)?;
    /// assert_eq!(grant.push('a'), Ok(()));
    /// assert_eq!(grant.push('b'), Err('b'));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.filled == self.len {
            return Err(item);
        }
        // SAFETY: the grant's slots from `filled` to `len` are empty and this grant's (invariant 1).
        unsafe { (*self.slot(self.filled)).write(item) };
        self.filled += 1;
        Ok(())
    }

    /// Makes the first `count` slots the consumer's, and drops what was filled in beyond them. The slots
    /// beyond stay unused.
    ///
    /// # Panics
    /// Where fewer than `count` slots have been filled; nothing is committed then.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// let mut grant = producer.reserve(4)?;
    /// grant.extend_from_slice(&[1, 2, 3]);
    /// grant.commit(2);
    /// assert_eq!(consumer.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commit(mut self, count: usize) {
        assert!(
            count <= self.filled,
            "{count} slots cannot be committed: {} have been filled",
            self.filled
        );
        self.end(count);
    }

    /// Makes every filled slot the consumer's.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// let mut grant = producer.reserve(4)?;
    /// grant.extend_from_slice(&[1, 2, 3]);
    /// grant.commit_all();
    /// assert_eq!(consumer.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commit_all(mut self) {
        self.end(self.filled);
    }

    /// Answers for the slots. The first `count` of them are committed. A second call does nothing.
    #[inline]
    fn end(&mut self, count: usize) {
        let rest = self.slot(count);
        let rest_len = core::mem::take(&mut self.filled) - count;
        // Also where dropping an item panics. Not before the drops: the slots are this grant's until
        // they are answered, and no longer.
        let _answer = Answer {
            index: self.index,
            items: count,
            len: core::mem::take(&mut self.len),
            producer: &mut *self.producer,
        };
        // SAFETY: these slots were filled and are not committed; `filled` no longer counts them.
        unsafe { Slot::drop_range(rest, rest_len) };
    }
}

// A slot is not laid out as the item alone under loom, so there are no slices of them there.
#[cfg(not(loom))]
impl<T> Grant<'_, T> {
    /// The slots that are not filled yet, to be filled in place from the first on; see
    /// [`assume_filled`](Self::assume_filled). An item that is made here is never on the stack.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc::<u32>()?;
    /// let mut grant = producer.reserve(2)?;
    /// grant.spare_mut()[0].write(7);
    /// // SAFETY: the first slot has just been written.
    /// unsafe { grant.assume_filled(1) };
    /// grant.commit_all();
    /// assert_eq!(consumer.pop(), Ok(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn spare_mut(&mut self) -> &mut [core::mem::MaybeUninit<T>] {
        if self.len == self.filled {
            return &mut [];
        }
        // SAFETY: the grant's slots from `filled` to `len` lie side by side in one chunk and are
        // this grant's (invariant 1); a slot is laid out as a `MaybeUninit<T>`.
        unsafe {
            core::slice::from_raw_parts_mut(self.slot(self.filled).cast(), self.len - self.filled)
        }
    }

    /// Counts `count` more slots as filled.
    ///
    /// # Safety
    /// The first `count` slots of [`spare_mut`](Self::spare_mut) must have been written.
    ///
    /// # Panics
    /// Where fewer slots than that are left.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// let mut grant = producer.reserve(1)?;
    /// grant.spare_mut()[0].write(1);
    /// // SAFETY: the slot has just been written.
    /// unsafe { grant.assume_filled(1) };
    /// assert_eq!(grant.filled(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub unsafe fn assume_filled(&mut self, count: usize) {
        let left = self.len - self.filled;
        assert!(
            count <= left,
            "{count} slots cannot have been filled: {left} were left"
        );
        self.filled += count;
    }

    /// Copies `items` into the next slots.
    ///
    /// # Panics
    /// Where `items` is longer than the slots left; nothing is copied then.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).mpsc()?;
    /// let mut grant = producer.reserve(4)?;
    /// grant.extend_from_slice(&[1, 2]);
    /// grant.extend_from_slice(&[3, 4]);
    /// grant.commit_all();
    /// assert_eq!(&*consumer.read()?, [1, 2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Copy,
    {
        let left = self.len - self.filled;
        assert!(
            items.len() <= left,
            "{} items do not fit into {left} slots",
            items.len()
        );
        if items.is_empty() {
            return;
        }
        // SAFETY: the slots are this grant's and at least as many as the items (checked above), and
        // no reference to `items` can point into empty slots.
        unsafe {
            ptr::copy_nonoverlapping(
                items.as_ptr(),
                self.slot(self.filled).cast::<T>(),
                items.len(),
            );
        }
        self.filled += items.len();
    }
}

impl<T> Drop for Grant<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.len != 0 {
            self.end(0);
        }
    }
}

impl<T> fmt::Debug for Grant<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("len", &self.len)
            .field("filled", &self.filled)
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::Builder;
    use crate::primitive::Ordering;

    #[test]
    fn a_chunk_is_not_taken_for_that_of_the_same_number_a_round_before() {
        let (mut producer, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
        producer.push(1).unwrap();
        // As if numbers had come round, and the chunk that had this one were long gone.
        producer.shared.tail.rounds.fetch_add(2, Ordering::Relaxed);
        producer.first = 0;
        producer.flags = 0;
        producer.push(2).unwrap();
        assert_eq!((consumer.pop(), consumer.pop()), (Ok(1), Ok(2)));
    }

    #[test]
    fn it_is_counted_how_often_numbers_come_half_round() {
        let origin = usize::MAX - 2;
        let (mut producer, mut consumer) = Builder::new(1, 2).origin(origin).mpsc().unwrap();
        for item in 0..9 {
            let rounds = producer.shared.tail.rounds.load(Ordering::Relaxed);
            assert_eq!(rounds, if item < 3 { 1 } else { 2 }, "before item {item}");
            producer.push(item).unwrap();
            assert_eq!(consumer.pop(), Ok(item));
        }
    }
}
