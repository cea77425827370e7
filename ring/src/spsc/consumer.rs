//! The consumer's half, and the contiguous items that it reads in place.

mod ahead;
mod heels;
mod overwritable;

use super::shared::Shared;
use crate::control::{Control, Ring};
use crate::counted::Counted;
use crate::error::{PopError, TakeError};
use crate::owned::OwnedChunk;
use crate::primitive::{Cursor, Ordering, Slot};
use ahead::Ahead;
use core::fmt;
use core::ptr::{self, NonNull};
use heels::Heels;
use overwritable::HeldChunk;

/// The half that takes items out. It may be sent to another thread, and is not shared.
///
/// Dropping it closes the ring: the producer's next need of a chunk is refused as
/// [`PushError::Closed`](crate::PushError::Closed). Items that were not taken are dropped when both
/// halves are gone.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).spsc()?;
/// producer.push(1).unwrap();
/// producer.push(2).unwrap();
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
/// let (_producer, mut consumer) = chunkring::spsc::bounded::<Rc<u8>>(8).unwrap();
/// std::thread::spawn(move || consumer.pop().is_ok());
/// ```
///
/// and is not shared by threads:
///
/// ```compile_fail,E0277
/// let (_producer, consumer) = chunkring::spsc::bounded::<u8>(8).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| consumer.len());
/// });
/// ```
pub struct Consumer<T> {
    /// The next item's slot, where there is a current chunk: an address instead of a position, of which
    /// [`pop`](Self::pop) would have to make one. See [`position`](Self::position).
    slot: Cursor<T>,
    /// Where [`pop`](Self::pop) has more to do than to take an item: at `limit`, at the chunk's last item, and
    /// now and then before. Never beyond `limit`, nor before the position.
    stop: Cursor<T>,
    /// The position of `stop`.
    stop_position: usize,
    /// Everything from the position to here is known to be items of the current chunk.
    limit: usize,
    /// The lines of the current chunk that end here or before have been [finished](Slot::finish).
    finished: usize,
    /// Where the current chunk gives its last item, as far as known: the end of its range, or the
    /// beginning of its hole. Equal to the position where there is no current chunk.
    end: usize,
    /// Slots from `end` to the end of the current chunk's range.
    hole: usize,
    /// The tail as it was seen when the current chunk was entered, or later; not ahead of the position where all that
    /// it told of has been taken, and never behind the current chunk's start. Of no meaning in a ring that can be
    /// overwritten.
    tail: usize,
    /// Sequence number of the chunk to be entered next; in a ring that can be overwritten, of the next one
    /// to be given back.
    seq: usize,
    /// Whether there is a current chunk: chunk `seq - 1`, or, in a ring that can be overwritten, the one
    /// that this half holds.
    in_chunk: bool,
    /// Positions lost to holes before the current chunk.
    holes: usize,
    /// What was last stored to `read`.
    told: usize,
    /// What `reclaimed` was when it was last looked at. It has not gone back since.
    reclaimed: usize,
    heels: Heels,
    ahead: Ahead,
    /// The chunk that this half holds, in a ring that can be overwritten.
    held: HeldChunk<T>,
    /// Items that were taken from the chunks before that one.
    taken: usize,
    shared: Counted<Shared<T>>,
}

// SAFETY: a consumer only ever moves items out of the ring, so it may go wherever they may go. The
// pointer in it is into memory that `shared` keeps alive.
unsafe impl<T: Send> Send for Consumer<T> {}

impl<T> Consumer<T> {
    pub(super) fn new(shared: Counted<Shared<T>>, origin: usize) -> Self {
        let seq = shared.consumer.head.load(Ordering::Relaxed);
        Consumer {
            slot: Cursor::nowhere(),
            stop: Cursor::nowhere(),
            stop_position: origin,
            limit: origin,
            finished: origin,
            end: origin,
            hole: 0,
            tail: origin,
            seq,
            in_chunk: false,
            holes: 0,
            told: origin,
            reclaimed: origin,
            heels: Heels::default(),
            ahead: Ahead::default(),
            held: HeldChunk {
                first: ptr::null_mut(),
                start: origin,
                len: 0,
            },
            taken: origin,
            shared,
        }
    }

    /// Takes the oldest item out.
    ///
    /// Never blocks and never allocates. The chunk goes back to the producer with its last item, or
    /// at the next look where it was closed early since the last one (see [room](super#room)).
    ///
    /// # Errors
    /// [`PopError::Empty`] where nothing is there now, [`PopError::Closed`] where nothing will ever
    /// come: the latter only after every item of the producer has been taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use chunkring::PopError;
    ///
    /// let (mut producer, mut consumer) = chunkring::spsc::bounded(4)?;
    /// assert_eq!(consumer.pop(), Err(PopError::Empty));
    /// producer.push(5).unwrap();
    /// assert_eq!(consumer.pop(), Ok(5));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        if self.slot == self.stop {
            return self.pop_at_stop();
        }
        // SAFETY: `stop` is not beyond `limit`, so there is an item.
        Ok(unsafe { self.take() })
    }

    /// Position of the next item.
    #[inline(always)]
    fn position(&self) -> usize {
        self.stop_position
            .wrapping_sub(self.slot.slots_to(self.stop))
    }

    /// Goes `count` slots of the current chunk on from `position`, where this half is, and stops there.
    #[inline(always)]
    fn go_on(&mut self, position: usize, count: usize) {
        self.slot = self.slot.after(count);
        self.stop = self.slot;
        self.stop_position = position.wrapping_add(count);
    }

    /// Makes the next pop stop, as it must where the end of what is there may come before the stop that was known.
    #[inline(always)]
    fn stop_here(&mut self) {
        if self.slot != self.stop {
            self.go_on(self.position(), 0);
        }
    }

    /// Takes the next item out, and does nothing else.
    ///
    /// # Safety
    /// The position must be before `limit`.
    #[inline(always)]
    unsafe fn take(&mut self) -> T {
        debug_assert!(
            self.end.wrapping_sub(self.position()).wrapping_sub(1) < self.chunk_len(),
            "the slot lies in the current chunk"
        );
        // SAFETY: the slots from the position to `limit` hold items that are this half's (invariant
        // 1), and this one counts as moved once the position has passed it.
        let item = unsafe { (*self.slot.slot()).read() };
        self.slot = self.slot.after(1);
        item
    }

    /// [`pop`](Self::pop) where that is not all there is to do.
    #[inline(never)]
    fn pop_at_stop(&mut self) -> Result<T, PopError> {
        // Those before the chunk's last item are finished when it is given back.
        if self.finished != self.stop_position && self.stop_position.wrapping_add(1) != self.end {
            self.finish_lines();
        }
        if self.stop_position == self.limit {
            self.refill_in_stream()?;
        }
        // SAFETY: the position is before `limit` where a look has succeeded.
        let item = unsafe { self.take() };
        let next = self.stop_position.wrapping_add(1);
        if next == self.end {
            self.stop = self.slot;
            self.stop_position = next;
            self.retire();
        } else {
            // The chunk's last item is taken here, since the chunk is given back with it.
            let last = usize::from(self.limit == self.end);
            let ready = self.limit.wrapping_sub(next) - last;
            let ahead = ready.min(Slot::<T>::STRIDE);
            self.stop = self.slot.after(ahead);
            self.stop_position = next.wrapping_add(ahead);
        }
        Ok(item)
    }

    /// Finishes the lines of the current chunk that end before the stop, where this half is.
    #[inline(always)]
    fn finish_lines(&mut self) {
        let count = self.stop_position.wrapping_sub(self.finished);
        let first = self.slot.slot().wrapping_sub(count);
        self.finished = self.stop_position;
        // SAFETY: by invariant 3 (or 4) the chunk is this half's until it is given back, and its items up to there
        // have been taken.
        unsafe { Slot::finish(first, count) };
    }

    /// All items that are ready and lie side by side, to be read in place: the rest of the oldest
    /// chunk, as far as it is committed. At least one.
    ///
    /// Nothing is taken out before [`release`](ReadSlice::release). In the midst of a stream it may let some pauses pass
    /// before it says what is there, or that nothing is, twelve at the most (see [pace](super#pace)).
    ///
    /// # Errors
    /// As for [`pop`](Self::pop).
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
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
        self.stop_here();
        if self.stop_position == self.end && self.sees_further() {
            self.refill_at_boundary(self.tail)?;
        }
        // A fresh look at the tail, since more may have come than was known before; but what a complete chunk has
        // left does not become more.
        if self.limit != self.end || self.stop_position == self.end {
            let none_known = self.limit == self.stop_position;
            match self.refill() {
                Ok(()) if none_known && self.has_found_few() => {
                    self.look_again(heels::PAUSES_TO_READ)?
                }
                Ok(()) => (),
                Err(error) => self.look_again_for_any(error)?,
            }
        }
        Ok(ReadSlice { consumer: self })
    }

    /// As [`refill`](Self::refill); but where it finds little in the middle of a stream, looks again a moment
    /// later. See [`heels`].
    #[inline(always)]
    fn refill_in_stream(&mut self) -> Result<(), PopError> {
        let sees_further = self.sees_further();
        let found = if sees_further {
            self.refill_at_boundary(self.tail)
        } else {
            self.refill()
        };
        if found.is_err() {
            self.heels.lose();
        }
        if sees_further {
            return found;
        }
        found?;
        if self.has_found_few() {
            let pauses = heels::pauses_for::<T>(self.end.wrapping_sub(self.stop_position));
            self.look_again(pauses)?;
        }
        Ok(())
    }

    /// Whether to look again after a look that has found something.
    #[inline(always)]
    fn has_found_few(&mut self) -> bool {
        let ready = self.limit.wrapping_sub(self.stop_position);
        // What a complete chunk has left does not become more.
        self.limit != self.end && self.heels.found::<T>(ready)
    }

    #[cold]
    #[inline(never)]
    fn look_again(&mut self, pauses: usize) -> Result<(), PopError> {
        let before = self.limit;
        heels::let_pass(pauses);
        self.refill()?;
        self.heels.learn(self.limit != before);
        Ok(())
    }

    /// To be called after a look that has found nothing, as `error` says; which is told where it stays so.
    #[cold]
    #[inline(never)]
    fn look_again_for_any(&mut self, error: PopError) -> Result<(), PopError> {
        if !self.heels.lose_unless_due() || error == PopError::Closed {
            return Err(error);
        }
        for _ in 0..heels::LOOKS_FOR_ANY {
            heels::let_pass(heels::PAUSES_TO_READ);
            match self.refill() {
                Err(PopError::Empty) => (),
                found => {
                    self.heels.learn(true);
                    self.heels.see();
                    return found;
                }
            }
        }
        self.heels.learn(false);
        Err(error)
    }

    /// Whether the last look has told of more than what is before the position, which must be the stop's and the end of
    /// what is known of the current chunk. Then the next one is entered without another look, which would take the
    /// tail's line away from the producer.
    #[inline(always)]
    fn sees_further(&self) -> bool {
        (self.tail.wrapping_sub(self.stop_position) as isize) > 0
            && !self.shared.settings.overwritable
    }

    /// Looks for items at the position, which must be the stop's; on success `limit` is beyond it.
    #[inline]
    fn refill(&mut self) -> Result<(), PopError> {
        // Acquire: pairs with the producer's Release stores of the tail: the items before it, their
        // chunk's entry, and `used` of complete chunks are seen.
        let tail = self.shared.producer.tail.load(Ordering::Acquire);
        let position = self.stop_position;
        let ready = tail.wrapping_sub(position);
        if ready != 0 && ready < self.end.wrapping_sub(position) {
            self.limit = tail;
            return Ok(());
        }
        // Relaxed: that the producer is gone is for another look to find out.
        if ready == 0
            && position != self.end
            && !self.shared.settings.producer_gone.load(Ordering::Relaxed)
        {
            self.tell_position();
            return Err(PopError::Empty);
        }
        self.refill_at_boundary(tail)
    }

    #[cold]
    #[inline(never)]
    fn refill_at_boundary(&mut self, tail: usize) -> Result<(), PopError> {
        if tail != self.stop_position && !self.shared.settings.overwritable {
            self.tail = tail;
            if !self.in_chunk {
                self.enter(tail);
            }
            if self.look_into_chunk(tail) {
                return Ok(());
            }
        }
        self.refill_otherwise(tail)
    }

    /// [`refill_at_boundary`](Self::refill_at_boundary) where there is more to do than to go on to a chunk with items.
    #[cold]
    #[inline(never)]
    fn refill_otherwise(&mut self, mut tail: usize) -> Result<(), PopError> {
        if self.in_chunk && self.stop_position == self.end {
            // A drop that panicked in `release` has kept the chunk from being given back; or it was closed
            // after its last item had been taken.
            self.retire();
        }
        if self.shared.settings.overwritable {
            return self.refill_overwritable(tail);
        }
        loop {
            if tail == self.stop_position {
                // Acquire: pairs with the Release store in the producer's drop. Its last tail was
                // stored before, so one more look tells whether anything came in between.
                let closed = self.shared.settings.producer_gone.load(Ordering::Acquire);
                let seen = tail;
                tail = self.shared.producer.tail.load(Ordering::Acquire);
                if tail == seen {
                    // How far this half is has been told: with the chunk before, or there is nobody to ask.
                    return Err(if closed {
                        PopError::Closed
                    } else {
                        PopError::Empty
                    });
                }
                self.tail = tail;
            }
            if !self.in_chunk {
                self.enter(tail);
            }
            if self.look_into_chunk(tail) {
                return Ok(());
            }
            // It was closed after its last item had been taken.
            self.retire();
        }
    }

    /// Looks for items of the current chunk, into which the tail has been seen to reach, or beyond. Where there are
    /// none, it was closed after its last item had been taken.
    #[inline(always)]
    fn look_into_chunk(&mut self, tail: usize) -> bool {
        let position = self.stop_position;
        if tail.wrapping_sub(position) < self.end.wrapping_sub(position) {
            self.limit = tail;
            return true;
        }
        // The chunk is complete: there are items up to where it was closed.
        self.see_hole();
        self.limit = self.end;
        self.limit != position
    }

    /// Slots of the current chunk.
    fn chunk_len(&self) -> usize {
        if self.shared.settings.overwritable {
            return self.held.len;
        }
        let entry = self.shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: acquired with the chunk.
        entry.len.load(Ordering::Relaxed)
    }

    /// Moves `end` to where the items of the current chunk end, which must be complete.
    fn see_hole(&mut self) {
        if self.shared.settings.overwritable {
            let range_end = self.held.start.wrapping_add(self.held.len);
            self.hole = self.held.len - self.held_used();
            self.end = range_end.wrapping_sub(self.hole);
            return;
        }
        let entry = self.shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: the tail that completed the chunk has been acquired.
        let used = entry.used.load(Ordering::Relaxed);
        let range_end = self.end.wrapping_add(self.hole);
        self.hole = entry.len.load(Ordering::Relaxed) - used;
        self.end = range_end.wrapping_sub(self.hole);
    }

    /// Makes the next chunk, into which the tail has been seen to reach, the current one.
    #[inline(always)]
    fn enter(&mut self, tail: usize) {
        self.ahead.see(tail.wrapping_sub(self.stop_position));
        let entry = self.shared.entry(self.seq);
        // Relaxed: the tail beyond the chunk's start has been acquired, and the entry was written
        // before it.
        let first = entry.first.load(Ordering::Relaxed);
        let start = entry.start.load(Ordering::Relaxed);
        debug_assert!(!first.is_null(), "the chunk's entry is seen");
        // Else it could fall behind until its distance to the position wraps around.
        debug_assert_eq!(tail, self.tail, "the tail is remembered");
        debug_assert_eq!(
            start, self.stop_position,
            "chunks follow each other without a gap"
        );
        self.end = start.wrapping_add(entry.len.load(Ordering::Relaxed));
        self.slot = Cursor::at(first);
        self.go_on(start, 0);
        self.seq = self.seq.wrapping_add(1);
        self.in_chunk = true;
    }

    /// Gives the current chunk, from which every item has been taken, back to the producer, or to
    /// the pool where the producer has enough or wants another length by now. This half must be at a stop, there.
    #[cold]
    #[inline(never)]
    fn retire(&mut self) {
        self.finish_lines();
        if self.shared.settings.overwritable {
            return self.give_back();
        }
        let shared = &*self.shared;
        let settings = &*shared.settings;
        let entry = shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: the entry was acquired with the chunk.
        let len = entry.len.load(Ordering::Relaxed);
        // Relaxed: settings; the number of chunks is a matter of the moment.
        let chunks = settings.chunks.load(Ordering::Relaxed);
        let outdated = len != settings.chunk_len.load(Ordering::Relaxed)
            // Asked first, since both words below are in lines that the producer writes.
            || chunks < settings.most_ever.load(Ordering::Relaxed)
                && shared.exceeds(shared.producer.installed.load(Ordering::Relaxed), chunks);
        let mut many = || {
            let lately = || self.ahead.most();
            shared.has_idle(self.reclaimed, self.seq, len, lately) && {
                // As last seen, at least. The line is the producer's.
                self.reclaimed = shared.reclaimed();
                shared.has_idle(self.reclaimed, self.seq, len, lately)
            }
        };
        if outdated || many() {
            return self.give_up(len, outdated);
        }
        self.leave();
    }

    /// Takes the current chunk of `len` slots, from which every item has been taken, out of the ring. It is freed where it
    /// is outdated.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self, len: usize, outdated: bool) {
        let first = self.detach();
        let settings = &*self.shared.settings;
        // SAFETY: by invariant 3 a chunk that this half has taken out of its entry is this
        // half's, and every item has been moved out.
        unsafe {
            if outdated {
                settings.form.free(first, len, &settings.pool);
            } else {
                settings.form.put(first, len, &settings.pool);
            }
        }
        self.leave();
    }

    /// Takes the current chunk out of its entry, for good.
    fn detach(&self) -> NonNull<Slot<T>> {
        let entry = self.shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: acquired with the chunk; whoever finds the entry idle has acquired the head.
        let first = entry.first.load(Ordering::Relaxed);
        entry.first.store(ptr::null_mut(), Ordering::Relaxed);
        NonNull::new(first).expect("a chunk in traffic is in its entry")
    }

    /// Goes beyond the current chunk, with which this half has done.
    fn leave(&mut self) {
        let hole = core::mem::take(&mut self.hole);
        self.holes = self.holes.wrapping_add(hole);
        let position = self.end.wrapping_add(hole);
        self.go_on(position, 0);
        self.limit = position;
        self.finished = position;
        self.end = position;
        self.in_chunk = false;
        // Before the head, so that `read` is never behind the chunk that the head names.
        self.tell(position);
        // Release: pairs with the Acquire load of the producer, and of whoever trims; every item has
        // been moved out before anybody else uses the chunk or its entry.
        self.shared.consumer.head.store(self.seq, Ordering::Release);
    }

    /// Takes the oldest chunk out whole, with those of its items that have not been taken yet, to be
    /// kept as long as one likes, read in place, or sent to another thread.
    ///
    /// Never blocks, copies no item, and allocates nothing. For the ring it is as if every item had
    /// been taken; the memory counts against the [pool](crate::Pool)'s budget until the chunk is
    /// dropped.
    ///
    /// # Errors
    /// [`TakeError::Open`] where the chunk is still being filled: it is complete when it is full, when
    /// the producer has [sealed](super::Producer::seal) it or gone on to another, or when the
    /// producer is gone. [`TakeError::Empty`] and [`TakeError::Closed`] as for [`pop`](Self::pop).
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(2, 2).spsc()?;
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
        self.stop_here();
        self.refill()?;
        // Only a complete chunk is known to its end.
        if self.limit != self.end {
            return Err(TakeError::Open);
        }
        let settings = &*self.shared.settings;
        // Before anything changes, since the clone may panic.
        let pool = settings.pool.clone();
        let (first, start, len) = if settings.overwritable {
            let HeldChunk { first, start, len } = self.held;
            let first = NonNull::new(first).expect("a chunk that is held has slots");
            (first, start, len)
        } else {
            let first = self.detach();
            let entry = self.shared.entry(self.seq.wrapping_sub(1));
            // Relaxed: acquired with the chunk.
            let start = entry.start.load(Ordering::Relaxed);
            (first, start, entry.len.load(Ordering::Relaxed))
        };
        let items = self.position().wrapping_sub(start)..self.end.wrapping_sub(start);
        // SAFETY: by invariant 3 (or 4) the chunk is this half's, and by invariant 1 these slots hold
        // items; the ring forgets both.
        let chunk = unsafe { OwnedChunk::new(first, len, items, settings.form, pool) };
        if settings.overwritable {
            self.forget_held();
            self.shared.taken.leave();
        } else {
            self.leave();
        }
        Ok(chunk)
    }

    /// Asks the producer to seal the chunk that it is filling; it does so when it next
    /// [looks](super::Producer::seal_if_requested).
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// consumer.request_seal();
    /// assert!(producer.seal_if_requested());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn request_seal(&self) {
        // Relaxed: a wish; nothing is read because of it.
        self.shared
            .settings
            .seal_wanted
            .store(true, Ordering::Relaxed);
    }

    /// A handle to change the ring's shape with, from any thread.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// consumer.control().set_chunk_len(128)?;
    /// assert_eq!(consumer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<T> {
        Control::new(Ring::Spsc(Counted::clone(&self.shared)))
    }

    /// Lets the producer's `len` know how far this half has come. Stored only where nothing is to be
    /// done anyway or a chunk is given back, so that taking an item costs no shared store.
    fn tell_position(&mut self) {
        let read = if self.shared.settings.overwritable {
            self.items_taken()
        } else {
            self.position()
        };
        if self.told != read {
            self.tell(read);
        }
    }

    #[inline(always)]
    fn tell(&mut self, read: usize) {
        self.told = read;
        // Relaxed: a count, not a permission.
        self.shared.consumer.read.store(read, Ordering::Relaxed);
    }

    /// Items that are ready. All of them can be taken, but for those that are
    /// [overwritten](super#overwriting) meanwhile; more may have come since. Never more than
    /// [`capacity`](Self::capacity), but after a [shrink](Control) until the backlog fits.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// assert_eq!(consumer.len(), 1);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn len(&self) -> usize {
        let shared = &*self.shared;
        if shared.settings.overwritable {
            return self.len_overwritable();
        }
        // Acquire: as in `refill`.
        let tail = shared.producer.tail.load(Ordering::Acquire);
        let position = self.position();
        if tail == position {
            return 0;
        }
        // Acquire: pairs with the producer's Release store; the entries before it are seen. It may
        // be newer than the tail, so look for the chunk that the tail lies in.
        let mut seq = shared
            .producer
            .installed
            .load(Ordering::Acquire)
            .wrapping_sub(1);
        let mut entry = shared.entry(seq);
        while (tail.wrapping_sub(entry.start.load(Ordering::Relaxed)) as isize) < 0 {
            seq = seq.wrapping_sub(1);
            entry = shared.entry(seq);
        }
        let start = entry.start.load(Ordering::Relaxed);
        let len = entry.len.load(Ordering::Relaxed);
        let mut holes = entry.holes.load(Ordering::Relaxed);
        if tail.wrapping_sub(start) == len {
            holes = holes.wrapping_add(len - entry.used.load(Ordering::Relaxed));
        }
        let put = tail.wrapping_sub(holes);
        let taken = position.wrapping_sub(self.holes);
        put.wrapping_sub(taken)
    }

    /// Whether there is nothing to take now.
    ///
    /// This only asks: it gives no chunk back. A consumer that waits should [`pop`](Self::pop) or
    /// [`read`](Self::read) rather than wait for this to become false, since a producer that is
    /// refused a long reservation may itself wait for the chunk that such a look returns.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert!(consumer.is_empty());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the producer would be refused a slot now for want of a chunk, or would overwrite one. Not whether
    /// there is memory for a chunk: see the producer's [`is_full`](super::Producer::is_full).
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(1, 1).spsc()?;
    /// assert!(!consumer.is_full());
    /// producer.push(1).unwrap();
    /// assert!(consumer.is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_full(&self) -> bool {
        let shared = &*self.shared;
        // Acquire: pairs with the producer's Release store; the last chunk's entry is seen.
        let installed = shared.producer.installed.load(Ordering::Acquire);
        let head = if shared.settings.overwritable {
            installed.wrapping_sub(shared.taken.load().in_traffic(installed))
        } else if self.in_chunk {
            self.seq.wrapping_sub(1)
        } else {
            self.seq
        };
        if installed.wrapping_sub(head) < shared.settings.most_chunks() {
            return false;
        }
        let entry = shared.entry(installed.wrapping_sub(1));
        let end = entry
            .start
            .load(Ordering::Relaxed)
            .wrapping_add(entry.len.load(Ordering::Relaxed));
        // Relaxed: nothing is read on the strength of it.
        shared.producer.tail.load(Ordering::Relaxed) == end
    }

    /// Sequence number of the oldest chunk that has not been given back.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn given_back(&self) -> usize {
        self.seq.wrapping_sub(usize::from(self.in_chunk))
    }

    /// The most items that the ring can hold: chunks times chunk length, both as set now. A ring that
    /// [grows](crate::Policy::Grow) can hold more for a while.
    ///
    /// ```
    /// let (_producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert_eq!(consumer.capacity(), 8);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Whether the producer is gone. Items may still be there: only
    /// [`PopError::Closed`] says that none is.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// drop(producer);
    /// assert!(consumer.is_closed());
    /// assert_eq!(consumer.pop(), Ok(1));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release store in the producer's drop.
        self.shared.settings.producer_gone.load(Ordering::Acquire)
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        if self.shared.settings.overwritable {
            let held = &self.shared.consumer.held;
            // Relaxed: looked at after both halves have ended.
            held.first.store(self.held.first, Ordering::Relaxed);
            held.len.store(self.held.len, Ordering::Relaxed);
            held.position.store(self.position(), Ordering::Relaxed);
        }
        // Where the items begin that are dropped with the ring.
        self.tell_position();
        // Release: pairs with the producer's Acquire loads; what this thread did, and how far this
        // half came, is seen by a producer that knows of the end.
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
/// let (mut producer, mut consumer) = chunkring::Builder::new(16, 2).spsc()?;
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
/// let (_producer, mut consumer) = chunkring::spsc::bounded::<u8>(8).unwrap();
/// let ready = consumer.read().unwrap();
/// let item = consumer.pop();
/// ready.release_all();
/// ```
///
/// and nothing of it is kept beyond the release:
///
/// ```compile_fail,E0505
/// let (_producer, mut consumer) = chunkring::spsc::bounded::<String>(8).unwrap();
/// let ready = consumer.read().unwrap();
/// let kept: &str = &ready[0];
/// ready.release_all();
/// println!("{kept}");
/// ```
#[must_use = "a slice that is not released stays in the ring"]
pub struct ReadSlice<'a, T> {
    /// At a stop. Its items from there to `limit`, at least one.
    consumer: &'a mut Consumer<T>,
}

impl<T> ReadSlice<'_, T> {
    /// Takes the first `count` items out and drops them. Where these are the chunk's last, the chunk
    /// goes back to the producer (see [room](super#room)).
    ///
    /// Where dropping an item panics, the other items are dropped all the same and every one of the
    /// `count` counts as taken; only the chunk's return waits for the consumer's next call.
    ///
    /// # Panics
    /// Where there are fewer than `count` items; nothing is taken then.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// producer.push(2).unwrap();
    /// consumer.read()?.release(1);
    /// assert_eq!(consumer.pop(), Ok(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release(self, count: usize) {
        let consumer = self.consumer;
        let position = consumer.stop_position;
        let ready = consumer.limit.wrapping_sub(position);
        assert!(
            count <= ready,
            "{count} items cannot be released: {ready} are there"
        );
        let first = consumer.slot.slot();
        // Before the drops: an item whose drop panics must not be met again.
        consumer.go_on(position, count);
        // SAFETY: these slots hold items that are this half's (invariant 1); they count as moved,
        // and the producer does not get the chunk back before `retire`.
        unsafe { Slot::drop_range(first, count) };
        if consumer.stop_position == consumer.end {
            consumer.retire();
        } else {
            consumer.finish_lines();
        }
    }

    /// How many there are.
    #[cfg(feature = "std")]
    pub(crate) fn ready(&self) -> usize {
        self.consumer
            .limit
            .wrapping_sub(self.consumer.stop_position)
    }

    /// As [`release`](Self::release); says whether a chunk was given back.
    #[cfg(feature = "std")]
    pub(crate) fn release_and_tell(self, count: usize) -> bool {
        let before = self.consumer.given_back();
        ReadSlice {
            consumer: &mut *self.consumer,
        }
        .release(count);
        self.consumer.given_back() != before
    }

    /// Takes all of these items out and drops them; otherwise as [`release`](Self::release).
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// consumer.read()?.release_all();
    /// assert!(consumer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release_all(self) {
        let ready = self
            .consumer
            .limit
            .wrapping_sub(self.consumer.stop_position);
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
        // SAFETY: the slots from the position to `limit` lie side by side in one chunk, hold items
        // that are this half's (invariant 1), and stay as they are while `self` is borrowed; a slot
        // is laid out as the item it holds.
        unsafe {
            core::slice::from_raw_parts(
                consumer.slot.slot().cast::<T>(),
                consumer.limit.wrapping_sub(consumer.stop_position),
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
        for index in 0..consumer.limit.wrapping_sub(consumer.stop_position) {
            let slot = consumer.slot.slot();
            // SAFETY: the slots from the position to `limit` hold items that are this half's
            // (invariant 1).
            unsafe { (*slot.wrapping_add(index)).look(&mut look) };
        }
    }
}

impl<T> fmt::Debug for ReadSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ready = self
            .consumer
            .limit
            .wrapping_sub(self.consumer.stop_position);
        f.debug_struct("ReadSlice").field("len", &ready).finish()
    }
}
