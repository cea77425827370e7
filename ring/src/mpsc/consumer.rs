//! The consumer's half, and the contiguous items that it reads in place.

use super::flags::{Flags, Runs};
use super::pace::{Looks, Reach};
use super::shared::Shared;
use super::word::Seq;
use crate::control::{Control, Ring};
use crate::counted::Counted;
use crate::error::{PopError, TakeError};
use crate::owned::OwnedChunk;
use crate::policy::Policy;
use crate::primitive::{FLAGS_IN_A_LINE, Ordering, Slot, load_own};
use core::fmt;
use core::ptr::NonNull;

/// Bytes of a chunk whose lines are [taken over](Slot::finish) before it is given back. Those of a longer one are
/// no longer in the nearest cache.
const MOST_OWNED: usize = 16 * 1024;

/// The half that takes items out. It may be sent to another thread, and is not shared.
///
/// Dropping it closes the ring: a producer's next need of a chunk is refused as
/// [`PushError::Closed`](crate::PushError::Closed). Items that were not taken are dropped when both
/// sides are gone.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).mpsc()?;
/// producer.push(1).unwrap();
/// producer.clone().push(2).unwrap();
/// assert_eq!(consumer.pop(), Ok(1));
/// assert_eq!(consumer.len(), 1);
/// # Ok::<(), chunkring::BuildError>(())
/// ```
///
/// It goes to another thread only where its items may go:
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// let (_producer, mut consumer) = chunkring::mpsc::bounded::<Rc<u8>>(8).unwrap();
/// std::thread::spawn(move || consumer.pop().is_ok());
/// ```
///
/// and is not shared by threads:
///
/// ```compile_fail,E0277
/// let (_producer, consumer) = chunkring::mpsc::bounded::<u8>(8).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| consumer.len());
/// });
/// ```
pub struct Consumer<T> {
    /// The chunk that is held; what follows is about it.
    chunk: Option<NonNull<Slot<T>>>,
    /// The next item's slot.
    position: usize,
    /// Every slot from `position` to here holds an item.
    limit: usize,
    len: usize,
    flags: Flags,
    seq: Seq,
    /// Chunks that were given back so far.
    given_back: usize,
    /// Runs that the last scan has found.
    runs_found: usize,
    looks: Looks,
    shared: Counted<Shared<T>>,
}

// SAFETY: a consumer only ever moves items out of the ring, so it may go wherever they may go. The
// pointers in it are into memory that `shared` keeps alive.
unsafe impl<T: Send> Send for Consumer<T> {}

impl<T> Consumer<T> {
    pub(super) fn new(shared: Counted<Shared<T>>) -> Self {
        Consumer {
            chunk: None,
            position: 0,
            limit: 0,
            len: 0,
            flags: Flags::none(),
            seq: Seq::new(0),
            given_back: 0,
            runs_found: 0,
            looks: Looks::default(),
            shared,
        }
    }

    /// Takes the oldest item out.
    ///
    /// Never blocks and never allocates. The chunk goes back with its last item, or at the next look
    /// where what is left of it stays unused (see [room](super#room)).
    ///
    /// # Errors
    /// [`PopError::Empty`] where nothing is there now, or the next item waits for a slower producer's
    /// (see [order](super#order)); [`PopError::Closed`] where nothing will ever come: the latter only
    /// after every item of every producer has been taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use chunkring::PopError;
    ///
    /// let (mut producer, mut consumer) = chunkring::mpsc::bounded(4)?;
    /// assert_eq!(consumer.pop(), Err(PopError::Empty));
    /// producer.push(5).unwrap();
    /// assert_eq!(consumer.pop(), Ok(5));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        if self.position == self.limit {
            self.refill_line()?;
        }
        // SAFETY: the slots from `position` to `limit` hold items that are this half's (invariant
        // 1), and this one counts as moved once the position has passed it.
        let item = unsafe { (*self.slot(self.position)).read() };
        self.position += 1;
        if self.position == self.len {
            self.retire(false);
        }
        Ok(item)
    }

    /// A slot of the held chunk.
    #[inline(always)]
    fn slot(&self, index: usize) -> *mut Slot<T> {
        let first = self.chunk.map_or(core::ptr::null_mut(), NonNull::as_ptr);
        first.wrapping_add(index)
    }

    /// All items that are ready and lie side by side, to be read in place: from the oldest on, up to the
    /// next slot that is unused or not answered yet, or the chunk's end. At least one.
    ///
    /// Nothing is taken out before [`release`](ReadSlice::release).
    ///
    /// # Errors
    /// As for [`pop`](Self::pop).
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// for number in 1..=3 {
    ///     producer.push(number).unwrap();
    /// }
    /// let ready = consumer.read()?;
    /// assert_eq!(&*ready, [1, 2, 3]);
    /// ready.release(2);
    /// assert_eq!(consumer.pop(), Ok(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn read(&mut self) -> Result<ReadSlice<'_, T>, PopError> {
        // Always a fresh look, since more may have come than was known before.
        self.refill_all()?;
        Ok(ReadSlice { consumer: self })
    }

    /// As [`refill`](Self::refill), to the end of a line.
    #[inline(never)]
    fn refill_line(&mut self) -> Result<(), PopError> {
        self.refill(Reach::Line)
    }

    /// As [`refill`](Self::refill), as far as there is anything.
    #[inline(never)]
    fn refill_all(&mut self) -> Result<(), PopError> {
        self.refill(Reach::All)
    }

    /// Looks for items at `position`; on success `limit` is beyond it. Compiled into each of the two above, where it is
    /// known how far the look goes.
    #[inline(always)]
    fn refill(&mut self, reach: Reach) -> Result<(), PopError> {
        if self.position == self.limit && self.looks.are_put_off() && self.put_off(reach) {
            return Ok(());
        }
        if self.find(reach, false, false) {
            self.tell(reach);
            return Ok(());
        }
        self.looks.found_nothing();
        let told = &self.shared.held.position;
        if self.chunk.is_some() && load_own(told) != self.position {
            // Relaxed: a count of the moment.
            told.store(self.position, Ordering::Relaxed);
        }
        // Acquire: pairs with the Release store of the last producer's drop. Every answer was stored
        // before, so one more look tells whether anything came in between; what is not answered by
        // then was forgotten.
        if !self.is_closed() {
            return Err(PopError::Empty);
        }
        if self.find(reach, true, false) {
            Ok(())
        } else {
            Err(PopError::Closed)
        }
    }

    /// Tells `looks` what the last one has found.
    #[inline]
    fn tell(&mut self, reach: Reach) {
        let full = self.is_at_end(reach);
        self.looks.found(reach, self.runs_found, self.len, full);
    }

    /// Whether a look has come as far as it could, so that another one would find no more.
    #[inline]
    fn is_at_end(&self, reach: Reach) -> bool {
        self.limit >= self.end_of_look(reach, self.position)
    }

    /// Where a look from slot `index` on ends.
    #[inline]
    fn end_of_look(&self, reach: Reach, index: usize) -> usize {
        let end = match reach {
            Reach::Line => (index / FLAGS_IN_A_LINE + 1) * FLAGS_IN_A_LINE,
            Reach::All => self.len,
        };
        end.min(self.len)
    }

    /// Pauses before a look. True where that look has come first, and has found something.
    #[cold]
    #[inline(never)]
    fn put_off(&mut self, reach: Reach) -> bool {
        let found = self.looks.are_checked(reach) && self.find(reach, false, false);
        if found && self.is_at_end(reach) {
            self.looks.check_again();
            self.tell(reach);
            return true;
        }
        self.looks.pause();
        if found {
            let before = self.limit;
            self.scan(reach, false);
            self.looks.learn(self.limit != before);
        }
        found
    }

    /// Goes to the next item, over slots that stay unused. Quiet: see [`Runs::quiet`]; locked: see
    /// [`Shared::take`].
    #[inline(always)]
    fn find(&mut self, reach: Reach, quiet: bool, locked: bool) -> bool {
        loop {
            if self.chunk.is_some() {
                self.scan(reach, quiet);
                if self.limit != self.position {
                    return true;
                }
                if self.position != self.len || !self.retire(locked) {
                    return false;
                }
            }
            let Some((seq, chunk)) = self.shared.take(locked) else {
                return false;
            };
            self.chunk = Some(chunk.first);
            self.flags = self.shared.flags(&chunk);
            self.len = chunk.len();
            self.seq = seq;
            self.position = 0;
            self.limit = 0;
        }
    }

    /// The held chunk's runs.
    fn runs(&self, quiet: bool) -> Runs {
        Runs {
            flags: self.flags,
            len: self.len,
            quiet,
        }
    }

    /// Moves `limit` beyond the items that are ready. Where there are none, moves both beyond the slots
    /// that stay unused.
    #[inline(always)]
    fn scan(&mut self, reach: Reach, quiet: bool) {
        let runs = self.runs(quiet);
        // Here meanwhile: through memory, each look would wait for the one before.
        let mut position = self.position;
        let mut limit = self.limit;
        let mut runs_found = 0;
        let mut end = self.end_of_look(reach, limit);
        while limit < end {
            // SAFETY: the held chunk stays until this half gives it back. Quiet is true only when the
            // producers are gone.
            let singles = unsafe { runs.flags.single_items(limit, end) };
            runs_found += singles - limit;
            limit = singles;
            if limit == end {
                break;
            }
            // SAFETY: as above.
            let Some(Ok((items, count))) = (unsafe { runs.at(limit) }) else {
                break;
            };
            if !items {
                if limit != position {
                    break;
                }
                position += count;
                end = self.end_of_look(reach, position);
            }
            limit += count;
            runs_found += 1;
        }
        self.position = position;
        self.limit = limit;
        self.runs_found = runs_found;
    }

    /// Gives the held chunk, of which no slot is left, back; or leaves that to the next call, where
    /// another thread looks at it.
    #[cold]
    #[inline(never)]
    fn retire(&mut self, locked: bool) -> bool {
        let Some(first) = self.chunk else {
            return true;
        };
        // Ended also where the source of the memory panics.
        let Some(_returning) = self.shared.begin_return(self.seq, locked) else {
            return false;
        };
        self.chunk = None;
        self.limit = self.position;
        self.given_back = self.given_back.wrapping_add(1);
        let len = self.len;
        let shared = &*self.shared;
        let settings = &*shared.settings;
        // Relaxed: settings; the number of chunks is a matter of the moment.
        if len != settings.chunk_len.load(Ordering::Relaxed)
            || shared.made.load(Ordering::Relaxed) > settings.chunks.load(Ordering::Relaxed)
        {
            shared.free(first, len);
            return true;
        }
        if len * size_of::<T>() <= MOST_OWNED {
            // SAFETY: the chunk is this half's, and its items are gone, or were leaked with a forgotten grant.
            unsafe { Slot::finish(first.as_ptr(), len) };
        }
        if shared.idle.has_room() {
            // SAFETY: the chunk is this half's, and so are its flags: every slot is answered.
            unsafe { settings.form.clear_flags(first, len) };
            if let Err(first) = shared.idle.put(first, len) {
                shared.put(first, len);
            }
        } else {
            shared.put(first, len);
        }
        true
    }

    /// How many chunks were given back: another number where one was.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn given_back(&self) -> usize {
        self.given_back
    }

    /// Takes the oldest chunk out whole, with those of its items that have not been taken yet, to be
    /// kept as long as one likes, read in place, or sent to another thread.
    ///
    /// Never blocks and allocates nothing. No item is copied, unless slots before or between them were left
    /// unused by a grant that was dropped or committed in part: then the items behind those move up. For the
    /// ring it is as if every item had been taken; the memory counts against the [pool](crate::Pool)'s
    /// budget until the chunk is dropped.
    ///
    /// # Errors
    /// [`TakeError::Open`] where the chunk is still being filled: it is complete when it is full or
    /// [sealed](Self::seal) or the producers have gone on to another, and every claim of a slot of it is
    /// answered; or when the producers are gone. [`TakeError::Empty`] and [`TakeError::Closed`] as for
    /// [`pop`](Self::pop).
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).mpsc()?;
    /// for number in 1..=4 {
    ///     producer.push(number).unwrap();
    /// }
    /// let first = consumer.take_chunk()?;
    /// let second = consumer.take_chunk()?;
    /// producer.push(5).unwrap(); // two chunks are free again
    /// assert_eq!(*first, [1, 2]);
    /// assert_eq!(std::thread::spawn(move || second.iter().sum::<i32>()).join().unwrap(), 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_chunk(&mut self) -> Result<OwnedChunk<T>, TakeError> {
        self.refill_all()?;
        let runs = self.runs(self.is_closed());
        let Some(first) = self.chunk else {
            return Err(TakeError::Empty);
        };
        // SAFETY: the held chunk stays until this half gives it back; quiet when the producers are gone.
        if !unsafe { runs.is_complete(self.limit) } {
            return Err(TakeError::Open);
        }
        let settings = &*self.shared.settings;
        // Before anything changes, since the clone may panic.
        let pool = settings.pool.clone();
        let Some(returning) = self.shared.begin_return(self.seq, false) else {
            return Err(TakeError::Open);
        };
        // Where nothing was taken out of it, its items begin at its start, so that a header adjoins.
        // SAFETY: as above.
        let whole = unsafe { runs.are_unused(self.position) };
        let (start, mut end, mut at) = if whole {
            (0, 0, self.position)
        } else {
            (self.position, self.limit, self.limit)
        };
        // SAFETY: every slot is answered, so the chunk is this half's alone. The slots of a run of items
        // hold some, which are moved to where there are none.
        unsafe {
            while let Some(Ok((items, count))) = runs.at(at) {
                if items {
                    Slot::move_down(first, at, end, count);
                    end += count;
                }
                at += count;
            }
        }
        // SAFETY: as above, and the slots from `start` to `end` hold items; the ring forgets both.
        let chunk = unsafe { OwnedChunk::new(first, self.len, start..end, settings.form, pool) };
        self.shared.gives_up();
        drop(returning);
        self.chunk = None;
        self.position = self.len;
        self.limit = self.len;
        self.given_back = self.given_back.wrapping_add(1);
        Ok(chunk)
    }

    /// Ends the chunk that is being filled, so that it can be [taken out](Self::take_chunk) whole as
    /// soon as every claim of a slot of it is answered; the next item begins another one. A chunk in
    /// which there is nothing yet is left alone.
    ///
    /// Never blocks and never allocates.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// consumer.seal();
    /// assert_eq!(&*consumer.take_chunk()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal(&self) {
        self.shared.seal();
    }

    /// Gives up every slot that was claimed and is not answered, from the oldest item's on to the next
    /// that is, and tells how many there were. It seals the current chunk.
    ///
    /// This is for a producer that will never answer and that was not dropped either, one whose thread was
    /// killed in a call, or that was [forgotten](core::mem::forget) together with a grant. (A grant
    /// that was forgotten alone needs nothing: its slots are given up when its producer is used again or
    /// dropped.) Until then the items behind the slot stay where they are, and producers are refused as
    /// full in the end.
    ///
    /// # Safety
    /// During the call no producer may be in a call of its own, but those that were killed in it, and no
    /// grant may exist that is still to be committed or dropped. A producer whose grant was forgotten,
    /// and that has not been used since, must not be used or dropped any more after the call: it would answer
    /// for slots that may be another's by then, or in memory that was freed.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// let mut lost = producer.clone();
    /// std::mem::forget(lost.reserve(2)?);
    /// std::mem::forget(lost);
    /// producer.push(3).unwrap();
    /// assert!(consumer.pop().is_err());
    ///
    /// // SAFETY: the other producer does nothing meanwhile, and its grant is forgotten.
    /// assert_eq!(unsafe { consumer.skip_unanswered() }, 2);
    /// assert_eq!(consumer.pop(), Ok(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn skip_unanswered(&mut self) -> usize {
        // So that what is not answered was claimed.
        self.shared.seal();
        let mut skipped = 0;
        while !self.find(Reach::All, false, false) {
            if self.chunk.is_none() || self.position >= self.shared.claimed_of(self.seq, self.len) {
                break;
            }
            // SAFETY: the slot is claimed, and nobody will answer for it, as the caller says. Run by
            // run of one slot, since the claim's length is not known.
            unsafe { self.flags.skips(self.position, 1) };
            skipped += 1;
        }
        skipped
    }

    /// A handle to change the ring's shape with, from any thread.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(64, 4).mpsc::<u8>()?;
    /// consumer.control().set_chunk_len(128)?;
    /// assert_eq!(consumer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<T> {
        Control::new(Ring::Mpsc(Counted::clone(&self.shared)))
    }

    /// Items that can be taken one after the other; more may have come since. Looks at each item that
    /// came alone, and at each slice once.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// assert_eq!(consumer.len(), 1);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.count_ready(usize::MAX)
    }

    /// Items that are ready, counted up to `most`.
    pub(super) fn count_ready(&self, most: usize) -> usize {
        let quiet = self.is_closed();
        let (mut count, complete) = self.count_held(most, quiet);
        if complete {
            if let Some(lock) = self.shared.lock() {
                count += lock.count_ready(most - count, quiet);
            }
        }
        count.min(most)
    }

    /// The same of the held chunk alone, and whether the count goes on behind it.
    fn count_held(&self, most: usize, quiet: bool) -> (usize, bool) {
        if self.chunk.is_none() {
            return (0, most != 0);
        }
        let count = self.limit - self.position;
        if count >= most {
            return (most, false);
        }
        // SAFETY: the held chunk stays until this half gives it back; quiet when the producers are
        // gone.
        let (more, complete) = unsafe { self.runs(quiet).count_items(self.limit, most - count) };
        ((count + more).min(most), complete)
    }

    /// Items that will be there until they are taken, whoever overwrites meanwhile.
    pub(super) fn count_kept(&self) -> usize {
        if self.shared.settings.policy() == Policy::Overwrite {
            self.count_held(usize::MAX, self.is_closed()).0
        } else {
            self.len()
        }
    }

    /// Fills all of `out`, or tells how many items there are, which are too few.
    #[cfg(not(loom))]
    pub(super) fn pop_whole(&mut self, out: &mut [T]) -> Result<(), usize>
    where
        T: Copy,
    {
        let quiet = self.is_closed();
        let (held, complete) = self.count_held(out.len(), quiet);
        if held == out.len() {
            self.pop_there(out, quiet, false);
            return Ok(());
        }
        if !complete {
            return Err(held);
        }
        // Others may overwrite what was counted behind the held chunk, so they are kept away until it was
        // taken.
        let shared = Counted::clone(&self.shared);
        let lock = shared.lock().ok_or(held)?;
        let there = held + lock.count_ready(out.len() - held, quiet);
        if there < out.len() {
            return Err(there);
        }
        self.pop_there(out, quiet, true);
        drop(lock);
        Ok(())
    }

    /// Fills `out` with items, of which there must be enough.
    #[cfg(not(loom))]
    fn pop_there(&mut self, out: &mut [T], quiet: bool, locked: bool)
    where
        T: Copy,
    {
        let mut rest = out;
        while !rest.is_empty() {
            let found = self.find(Reach::All, quiet, locked);
            assert!(found, "items that were counted can be taken");
            let count = rest.len().min(self.limit - self.position);
            let (now, later) = rest.split_at_mut(count);
            // SAFETY: the slots from `position` to `limit` hold items that are this half's (invariant
            // 1), and these count as moved once the position has passed them.
            unsafe {
                let first = self.slot(self.position).cast::<T>();
                now.as_mut_ptr().copy_from_nonoverlapping(first, count);
            }
            self.position += count;
            if self.position == self.len {
                self.retire(locked);
            }
            rest = later;
        }
    }

    /// Whether there is nothing to take now.
    ///
    /// This only asks: it gives no chunk back. A consumer that waits should [`pop`](Self::pop) or
    /// [`read`](Self::read) rather than wait for this to become false.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert!(consumer.is_empty());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.count_ready(1) == 0
    }

    /// Whether a producer would be refused a slot now for want of a chunk, or
    /// [overwrite](crate::Policy::Overwrite) one. Not whether there is memory for a chunk: see the producers'
    /// [`is_full`](super::Producer::is_full).
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(1, 1).mpsc()?;
    /// assert!(!consumer.is_full());
    /// producer.push(1).unwrap();
    /// assert!(consumer.is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_full(&self) -> bool {
        self.shared.free_slots() == 0
    }

    /// The most items that the ring can hold: chunks times chunk length, both as set now. A ring that
    /// [grows](crate::Policy::Grow) can hold more for a while.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(4, 2).mpsc::<u8>()?;
    /// assert_eq!(consumer.capacity(), 8);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Whether every producer is gone. Items may still be there: only
    /// [`PopError::Closed`] says that none is.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// drop(producer);
    /// assert!(consumer.is_closed());
    /// assert_eq!(consumer.pop(), Ok(1));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release store in the last producer's drop.
        self.shared.settings.producer_gone.load(Ordering::Acquire)
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        if let Some(first) = self.chunk {
            let held = &self.shared.held;
            // Relaxed: seen with `half_gone`.
            held.first.store(first.as_ptr(), Ordering::Relaxed);
            held.position.store(self.position, Ordering::Relaxed);
            held.limit.store(self.limit, Ordering::Relaxed);
        }
        // Release: pairs with the producers' Acquire loads; what this thread did is seen by a producer
        // that knows of the end.
        self.shared
            .settings
            .consumer_gone
            .store(true, Ordering::Release);
        self.shared.half_ends();
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Contiguous items, read in place; see [`Consumer::read`]. A slice of them by `Deref`.
///
/// Dropping it takes nothing out: the same items come again.
///
/// # Examples
///
/// Writing bytes to something that takes only a part of them:
///
/// ```
/// use std::io::Write;
///
/// let (mut producer, mut consumer) = chunkring::Builder::new(16, 2).mpsc()?;
/// let mut grant = producer.reserve(5)?;
/// grant.extend_from_slice(b"hello");
/// grant.commit_all();
///
/// let mut narrow = [0; 3];
/// let ready = consumer.read()?;
/// let written = narrow.as_mut_slice().write(&ready)?;
/// ready.release(written);
/// assert_eq!(&narrow, b"hel");
/// assert_eq!(&*consumer.read()?, b"lo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nothing is taken out meanwhile:
///
/// ```compile_fail,E0499
/// let (_producer, mut consumer) = chunkring::mpsc::bounded::<u8>(8).unwrap();
/// let ready = consumer.read().unwrap();
/// let item = consumer.pop();
/// ready.release_all();
/// ```
///
/// and nothing of it is kept beyond the release:
///
/// ```compile_fail,E0505
/// let (_producer, mut consumer) = chunkring::mpsc::bounded::<String>(8).unwrap();
/// let ready = consumer.read().unwrap();
/// let kept: &str = &ready[0];
/// ready.release_all();
/// println!("{kept}");
/// ```
#[must_use = "a slice that is not released stays in the ring"]
pub struct ReadSlice<'a, T> {
    /// Its items from `position` to `limit`, at least one.
    consumer: &'a mut Consumer<T>,
}

impl<T> ReadSlice<'_, T> {
    /// Takes the first `count` items out and drops them. Where these are the chunk's last, the chunk
    /// goes back (see [room](super#room)).
    ///
    /// Where dropping an item panics, the other items are dropped all the same and every one of the
    /// `count` counts as taken; only the chunk's return waits for the consumer's next call.
    ///
    /// # Panics
    /// Where there are fewer than `count` items; nothing is taken then.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// producer.push(2).unwrap();
    /// consumer.read()?.release(1);
    /// assert_eq!(consumer.pop(), Ok(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release(self, count: usize) {
        let consumer = self.consumer;
        let ready = consumer.limit - consumer.position;
        assert!(
            count <= ready,
            "{count} items cannot be released: {ready} are there"
        );
        let first = consumer.slot(consumer.position);
        // Before the drops: an item whose drop panics must not be met again.
        consumer.position += count;
        // SAFETY: these slots hold items that are this half's (invariant 1); they count as moved,
        // and nobody else gets the chunk before `retire`.
        unsafe { Slot::drop_range(first, count) };
        if consumer.position == consumer.len {
            consumer.retire(false);
        }
    }

    /// How many there are.
    #[cfg(feature = "std")]
    pub(crate) fn ready(&self) -> usize {
        self.consumer.limit - self.consumer.position
    }

    /// As [`release`](Self::release); says whether a chunk was given back.
    #[cfg(feature = "std")]
    pub(crate) fn release_and_tell(self, count: usize) -> bool {
        let before = self.consumer.given_back;
        ReadSlice {
            consumer: &mut *self.consumer,
        }
        .release(count);
        self.consumer.given_back != before
    }

    /// Takes all of these items out and drops them; otherwise as [`release`](Self::release).
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).mpsc()?;
    /// producer.push(1).unwrap();
    /// consumer.read()?.release_all();
    /// assert!(consumer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release_all(self) {
        let ready = self.consumer.limit - self.consumer.position;
        self.release(ready);
    }
}

// A slot is not laid out as the item alone under loom, so there are no slices of them there.
#[cfg(not(loom))]
impl<T> core::ops::Deref for ReadSlice<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let consumer = &*self.consumer;
        // SAFETY: the slots from `position` to `limit` lie side by side in one chunk, hold items
        // that are this half's (invariant 1), and stay as they are while `self` is borrowed; a slot
        // is laid out as the item it holds.
        unsafe {
            core::slice::from_raw_parts(
                consumer.slot(consumer.position).cast::<T>(),
                consumer.limit - consumer.position,
            )
        }
    }
}

/// What models have instead of the slice.
#[cfg(loom)]
impl<T> ReadSlice<'_, T> {
    /// Lets `look` see every item.
    pub fn for_each(&self, mut look: impl FnMut(&T)) {
        let consumer = &*self.consumer;
        for index in consumer.position..consumer.limit {
            // SAFETY: the slots from `position` to `limit` hold items that are this half's
            // (invariant 1).
            unsafe { (*consumer.slot(index)).look(&mut look) };
        }
    }
}

impl<T> fmt::Debug for ReadSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ready = self.consumer.limit - self.consumer.position;
        f.debug_struct("ReadSlice").field("len", &ready).finish()
    }
}
