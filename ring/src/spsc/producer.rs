//! The producer's half, and the contiguous slots that it reserves.

mod overwritable;

use super::shared::{Entry, Shared};
use crate::control::{Control, Ring};
use crate::counted::Counted;
use crate::error::{PushError, Refused, ReserveError};
use crate::primitive::{Ordering, Slot, load_own};
use core::fmt;
use core::ptr::{self, NonNull};

/// The half that puts items in. It may be sent to another thread, and is not shared.
///
/// Dropping it closes the ring: the consumer takes what is there and then sees
/// [`PopError::Closed`](crate::PopError::Closed).
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).spsc()?;
/// producer.push(String::from("one")).unwrap();
/// assert_eq!(producer.len(), 1);
/// assert_eq!(consumer.pop().unwrap(), "one");
/// # Ok::<(), chunkring::BuildError>(())
/// ```
///
/// It goes to another thread only where its items may go:
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// let (mut producer, _consumer) = chunkring::spsc::bounded(8).unwrap();
/// std::thread::spawn(move || producer.push(Rc::new(1)).unwrap());
/// ```
///
/// and is not shared by threads:
///
/// ```compile_fail,E0277
/// let (producer, _consumer) = chunkring::spsc::bounded::<u8>(8).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| producer.len());
/// });
/// ```
///
/// What its items borrow must outlive it:
///
/// ```compile_fail,E0597
/// let (mut producer, _consumer) = chunkring::spsc::bounded::<&String>(8).unwrap();
/// {
///     let short = String::from("short");
///     producer.push(&short).unwrap();
/// }
/// ```
pub struct Producer<T> {
    /// The next slot's position: what `tail` says. Kept here as well, since the consumer's looks take the
    /// tail's line away: a push that read it back would wait for it.
    position: usize,
    /// The current chunk's first slot, moved back by the chunk's start: `base + position` is a slot.
    base: *mut Slot<T>,
    /// Where the current chunk's range ends. Equal to the tail where there is no chunk, or it is
    /// used up.
    end: usize,
    /// Sequence number of the next chunk to be installed: what `installed` says.
    seq: usize,
    /// `head` as last seen, acquired.
    head: usize,
    /// Positions lost to holes so far.
    holes: usize,
    /// Slots of the current chunk.
    len: usize,
    shared: Counted<Shared<T>>,
}

// SAFETY: a producer only ever moves items into the ring, so it may go wherever they may go. The
// pointer in it is into memory that `shared` keeps alive.
unsafe impl<T: Send> Send for Producer<T> {}

impl<T> Producer<T> {
    pub(super) fn new(shared: Counted<Shared<T>>, origin: usize) -> Self {
        let seq = load_own(&shared.producer.installed);
        let head = shared.consumer.head.load(Ordering::Relaxed);
        Producer {
            position: origin,
            base: ptr::null_mut(),
            end: origin,
            seq,
            head,
            holes: 0,
            len: 0,
            shared,
        }
    }

    /// Makes everything before `position` the consumer's.
    #[inline(always)]
    fn publish(&mut self, position: usize) {
        self.position = position;
        // Release: pairs with the consumer's Acquire loads of the tail, which then see the items,
        // the entry of their chunk, and its `used` where the chunk is complete.
        self.shared.producer.tail.store(position, Ordering::Release);
    }

    /// Puts `item` in.
    ///
    /// Never blocks. Allocates a chunk when the current one is used up, none is idle, and the ring
    /// has fewer than it may have. Where it has as many, its [policy](crate::Policy) decides: with
    /// [`Policy::Overwrite`](crate::Policy::Overwrite) the oldest items that nobody reads are dropped,
    /// and counted.
    ///
    /// # Errors
    /// The item comes back, and is counted in the [statistics](Control::statistics).
    /// [`PushError::Full`] where every chunk is in use, or the pool refused one more. [`PushError::Closed`] where the consumer is gone; that is noticed when a
    /// new chunk is needed, so up to a chunk's length of items may still be accepted after its end
    /// (they are dropped with the ring); [`is_closed`](Self::is_closed) tells at once.
    ///
    /// # Panics
    /// Where dropping an item that is overwritten panics. The others of its chunk are dropped all the
    /// same, and `item` as well; the ring stays usable.
    ///
    /// # Examples
    ///
    /// ```
    /// use chunkring::{Builder, PushError};
    ///
    /// let (mut producer, consumer) = Builder::new(2, 1).spsc()?;
    /// producer.push(1).unwrap();
    /// producer.push(2).unwrap();
    /// assert_eq!(producer.push(3), Err(PushError::Full(3)));
    /// drop(consumer);
    /// assert_eq!(producer.push(3), Err(PushError::Closed(3)));
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), PushError<T>> {
        let position = self.position;
        if position == self.end {
            // The item stays here meanwhile: a large one is costly to hand down and back.
            // Relaxed: a setting.
            let len = self.shared.settings.chunk_len.load(Ordering::Relaxed);
            if let Err(refused) = self.next_chunk(len, 1) {
                return Err(refused.with(item));
            }
        }
        debug_assert!(
            self.end.wrapping_sub(position).wrapping_sub(1) < self.len,
            "the slot lies in the current chunk"
        );
        // SAFETY: by invariant 1 the current chunk's slots from the tail to its end are empty and
        // this half's. A new chunk begins where the one before it has ended.
        unsafe { (*self.base.wrapping_add(position)).write(item) };
        self.publish(position.wrapping_add(1));
        Ok(())
    }

    /// Reserves `count` slots side by side, to be filled and [committed](Grant::commit) in one go.
    ///
    /// Where they do not fit into the rest of the current chunk, that rest is left unused and the
    /// next chunk begins. Never blocks; allocates, and overwrites, as [`push`](Self::push) does. Reserving
    /// no slots always succeeds.
    ///
    /// # Errors
    /// [`ReserveError::TooLong`] where a chunk is shorter than `count`, whatever is in the ring;
    /// [`ReserveError::Full`] and [`ReserveError::Closed`] as for [`push`](Self::push). A refused
    /// reservation takes nothing away from what is in the ring. It leaves the rest of the current
    /// chunk usable for shorter ones, unless it was refused as [`Full`](ReserveError::Full) and that
    /// chunk is the only one that the consumer has not given back, as it is in a ring of one chunk:
    /// then it must be closed, or the consumer could never give it back. It does so with the chunk's
    /// last item, or, having taken that already, when it next looks for one.
    ///
    /// # Examples
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).spsc()?;
    /// let mut grant = producer.reserve(5)?;
    /// grant.extend_from_slice(b"hello");
    /// grant.commit_all();
    /// assert_eq!(&*consumer.read()?, b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reserve(&mut self, count: usize) -> Result<Grant<'_, T>, ReserveError> {
        if self.end.wrapping_sub(self.position) < count {
            self.make_room(count, count)?;
        }
        Ok(self.grant(count))
    }

    /// As [`reserve`](Self::reserve), for callers that tell how much they have put in: nothing counts
    /// as refused.
    #[inline]
    pub(super) fn reserve_quietly(&mut self, count: usize) -> Result<Grant<'_, T>, ReserveError> {
        if self.end.wrapping_sub(self.position) < count {
            self.make_room(count, 0)?;
        }
        Ok(self.grant(count))
    }

    /// The next `count` slots, which must be there.
    #[inline(always)]
    fn grant(&mut self, count: usize) -> Grant<'_, T> {
        debug_assert!(
            (count..=self.len).contains(&self.end.wrapping_sub(self.position)),
            "the slots lie in the current chunk"
        );
        Grant {
            len: count,
            filled: 0,
            producer: self,
        }
    }

    /// Goes to the next chunk, since `count` slots do not fit into this one. Where there is none,
    /// `items` count as refused.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, count: usize, items: usize) -> Result<(), ReserveError> {
        // Relaxed: a setting. Looked at once, so that the chunk is as long as was promised.
        let chunk_len = self.shared.settings.chunk_len.load(Ordering::Relaxed);
        if count > chunk_len {
            return Err(ReserveError::TooLong {
                requested: count,
                chunk_len,
            });
        }
        self.next_chunk(chunk_len, items)
            .map_err(|refused| match refused {
                Refused::Full | Refused::Memory => {
                    if self.in_traffic() == 1 {
                        // The chunk that is being filled is the only one in traffic.
                        self.close_chunk();
                    }
                    ReserveError::Full
                }
                Refused::Closed => ReserveError::Closed,
            })
    }

    /// Ends the current chunk where it stands; the slots left become a hole.
    fn close_chunk(&mut self) {
        let position = self.position;
        let hole = self.end.wrapping_sub(position);
        if hole == 0 {
            return;
        }
        let entry = self.shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: the consumer looks at `used` only after it has seen the tail stored below.
        entry.used.store(self.len - hole, Ordering::Relaxed);
        if self.shared.settings.overwritable {
            self.tell_used(self.len - hole);
        }
        self.holes = self.holes.wrapping_add(hole);
        self.publish(self.end);
    }

    /// Installs another chunk of `len` slots as the current one, closing the one before it. Where there
    /// is none, `items` count as refused.
    #[cold]
    #[inline(never)]
    fn next_chunk(&mut self, len: usize, items: usize) -> Result<(), Refused> {
        let shared = &*self.shared;
        let settings = &*shared.settings;
        // Acquire: pairs with the Release store in the consumer's drop, so that a refusal says as much
        // as `is_closed` does.
        if settings.consumer_gone.load(Ordering::Acquire) {
            return self.refuse(Refused::Closed, items);
        }
        // Relaxed: a setting.
        let chunks = settings.chunks.load(Ordering::Relaxed);
        let known = if !settings.overwritable && self.has_room(chunks) {
            shared.reclaim(self.head)
        } else {
            None
        };
        match known {
            Some((first, its_len)) if its_len == len => {
                self.begin(first, len);
                Ok(())
            }
            _ => self.next_chunk_otherwise(known, len, items),
        }
    }

    /// [`next_chunk`](Self::next_chunk) where no idle chunk is known of, but perhaps one of another length. All that is
    /// called from there is here, so that the usual case saves no registers.
    #[inline(never)]
    fn next_chunk_otherwise(
        &mut self,
        unfit: Option<(NonNull<Slot<T>>, usize)>,
        len: usize,
        items: usize,
    ) -> Result<(), Refused> {
        if let Some((first, its_len)) = unfit {
            self.free(first, its_len);
        }
        match self.find_chunk(len) {
            Ok(first) => {
                self.begin(first, len);
                Ok(())
            }
            Err(refused) => self.refuse(refused, items),
        }
    }

    /// Counts `items` as refused.
    #[cold]
    #[inline(never)]
    fn refuse(&self, refused: Refused, items: usize) -> Result<(), Refused> {
        self.shared.settings.losses.refuse(refused, items);
        Err(refused)
    }

    /// Goes on from the current chunk to the one at `first`, whose slots are all empty and this half's.
    #[inline(always)]
    fn begin(&mut self, first: NonNull<Slot<T>>, len: usize) {
        self.close_chunk();
        self.install(first.as_ptr(), len);
    }

    /// Chunks in traffic, as last seen.
    fn in_traffic(&self) -> usize {
        if self.shared.settings.overwritable {
            self.shared.taken.peek().in_traffic(self.seq)
        } else {
            self.seq.wrapping_sub(self.head)
        }
    }

    /// A chunk of `len` empty slots for this half, as far as the ring may have one more.
    #[inline(always)]
    fn find_chunk(&mut self, len: usize) -> Result<NonNull<Slot<T>>, Refused> {
        let idle = if self.shared.settings.overwritable {
            self.make_way(len)?
        } else {
            self.find_idle(len)?
        };
        let settings = &*self.shared.settings;
        match idle {
            Some(first) => Ok(first),
            // No chunk is idle, and fewer are in traffic than may be.
            None => settings
                .form
                .make(len, &settings.pool)
                .map_err(|_| Refused::Memory),
        }
    }

    /// Whether fewer chunks than `most` are in traffic, as last seen.
    #[inline(always)]
    fn has_room(&self, most: usize) -> bool {
        self.seq.wrapping_sub(self.head) < most
    }

    /// An idle chunk of `len` slots, also of those that have come back since the last look, or none where one
    /// is to be made.
    #[inline(always)]
    fn find_idle(&mut self, len: usize) -> Result<Option<NonNull<Slot<T>>>, Refused> {
        // Relaxed: a setting.
        let chunks = self.shared.settings.chunks.load(Ordering::Relaxed);
        // Acquire: pairs with the consumer's Release store of the head; it has moved every item
        // out of the chunks before it.
        self.head = self.shared.consumer.head.load(Ordering::Acquire);
        // The policy is looked at only where it matters.
        let policy = || self.shared.settings.policy();
        if !self.has_room(chunks) && !self.has_room(policy().most_chunks(chunks)) {
            return Err(Refused::Full);
        }
        Ok(self.reclaim(len))
    }

    /// The oldest idle chunk of `len` slots; those of other lengths are freed.
    #[inline(always)]
    fn reclaim(&self, len: usize) -> Option<NonNull<Slot<T>>> {
        loop {
            let (first, its_len) = self.shared.reclaim(self.head)?;
            if its_len == len {
                return Some(first);
            }
            self.free(first, its_len);
        }
    }

    /// Frees a chunk that was idle.
    fn free(&self, first: NonNull<Slot<T>>, its_len: usize) {
        let settings = &*self.shared.settings;
        // SAFETY: by invariant 2 the chunk is this half's, and it holds no items.
        unsafe { settings.form.free(first, its_len, &settings.pool) };
    }

    /// Makes the chunk at `first`, whose slots are all empty and this half's, the current one.
    fn install(&mut self, first: *mut Slot<T>, len: usize) {
        let shared = &*self.shared;
        let start = self.end;
        let entry: &Entry<T> = shared.entry(self.seq);
        // Relaxed: the consumer reads the entry only after it has seen a tail beyond `start`, or
        // `installed` beyond this chunk; a trimmer, after it has seen a head beyond it.
        entry.first.store(first, Ordering::Relaxed);
        entry.len.store(len, Ordering::Relaxed);
        entry.start.store(start, Ordering::Relaxed);
        entry.used.store(len, Ordering::Relaxed);
        entry.holes.store(self.holes, Ordering::Relaxed);
        self.seq = self.seq.wrapping_add(1);
        // Release: pairs with the Acquire loads in the consumer's `len` and `is_full`.
        shared.producer.installed.store(self.seq, Ordering::Release);
        self.base = first.wrapping_sub(start);
        self.end = start.wrapping_add(len);
        self.len = len;
        if self.shared.settings.overwritable {
            self.tell_used(len);
        }
    }

    /// Ends the current chunk, so that the consumer can take it out whole; the next item begins
    /// another one. Its empty slots stay unused. A chunk in which there is nothing yet is left alone.
    ///
    /// Never blocks and never allocates.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// assert!(consumer.take_chunk().is_err(), "it is still being filled");
    /// producer.seal();
    /// assert_eq!(&*consumer.take_chunk()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal(&mut self) {
        if self.end.wrapping_sub(self.position) != self.len {
            self.close_chunk();
        }
    }

    /// [Seals](Self::seal) the current chunk if the consumer has
    /// [asked](crate::spsc::Consumer::request_seal) for it since the last call. Says whether it had.
    ///
    /// The wish is not looked at elsewhere, so that a push costs nothing for it; a producer whose
    /// consumer takes chunks calls this where it suits, once in a while.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// assert!(!producer.seal_if_requested());
    /// consumer.request_seal();
    /// assert!(producer.seal_if_requested());
    /// assert_eq!(&*consumer.take_chunk()?, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal_if_requested(&mut self) -> bool {
        let wanted = &self.shared.settings.seal_wanted;
        // Relaxed: a wish; nothing is read because of it. Looked at before it is changed, so that
        // the line stays where it is while nobody wishes anything.
        let wanted = wanted.load(Ordering::Relaxed) && wanted.swap(false, Ordering::Relaxed);
        if wanted {
            self.seal();
        }
        wanted
    }

    /// A handle to change the ring's shape with, from any thread.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(64, 4).spsc::<u8>()?;
    /// producer.control().set_chunks(8)?;
    /// assert_eq!(producer.capacity(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn control(&self) -> Control<T> {
        Control::new(Ring::Spsc(Counted::clone(&self.shared)))
    }

    /// Items in the ring. Exact but for the chunk that the consumer is reading: of that one, items
    /// already taken may still be counted until the consumer has finished it, has found the ring
    /// empty, or is gone. Never more than [`capacity`](Self::capacity), but after a
    /// [shrink](Control) until the backlog fits.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// producer.push(1).unwrap();
    /// assert_eq!(producer.len(), 1);
    /// assert!(consumer.pop().is_ok() && consumer.pop().is_err());
    /// assert_eq!(producer.len(), 0);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn len(&self) -> usize {
        let shared = &*self.shared;
        if shared.settings.overwritable {
            // All that was ever put in, but for what has gone (invariant 6).
            // Relaxed: a count, as below.
            let read = shared.consumer.read.load(Ordering::Relaxed);
            let overwritten = shared.settings.losses.overwritten();
            let put = self.position.wrapping_sub(self.holes);
            return put.wrapping_sub(overwritten).wrapping_sub(read);
        }
        // Acquire: pairs with the consumer's Release store; the `read` below is at least as new, so
        // it is not behind the start of the head's chunk.
        let head = shared.consumer.head.load(Ordering::Acquire);
        if head == self.seq {
            return 0;
        }
        // An entry is this half's own writing.
        let entry = shared.entry(head);
        let start = load_own(&entry.start);
        let used = load_own(&entry.used);
        let holes = load_own(&entry.holes);
        // Relaxed: a count that another thread changes is only ever a hint. The consumer may have
        // come to a later chunk meanwhile.
        let taken = shared
            .consumer
            .read
            .load(Ordering::Relaxed)
            .wrapping_sub(start)
            .min(used);
        let put = self.position.wrapping_sub(self.holes);
        put.wrapping_sub(start.wrapping_sub(holes))
            .saturating_sub(taken)
    }

    /// Whether [`len`](Self::len) is zero.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert!(producer.is_empty());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a [`push`](Self::push) would be refused now for want of a chunk, or would overwrite one.
    /// It knows the chunks alone: where the [pool](crate::Pool)'s budget or the allocator refuses the memory for one,
    /// this is false and yet each push is refused.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(1, 1).spsc()?;
    /// assert!(!producer.is_full());
    /// producer.push(1).unwrap();
    /// assert!(producer.is_full());
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn is_full(&self) -> bool {
        self.free_slots() == 0
    }

    /// Slots that can be pushed to now, however slow the consumer is, unless the ring is made smaller
    /// meanwhile: the rest of the current chunk and the chunks not in use, those included that the ring may
    /// [grow](crate::Policy::Grow) by; not those that it would have to overwrite. Usually less than
    /// capacity minus length, since room comes back a chunk at a time. It knows the chunks alone: not that the
    /// [pool](crate::Pool)'s budget or the allocator will refuse the memory for one, even where the budget has no room
    /// for a single chunk, nor that the consumer will end.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// assert_eq!(producer.free_slots(), 8);
    /// producer.push(1).unwrap();
    /// assert_eq!(producer.free_slots(), 7);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn free_slots(&self) -> usize {
        let shared = &*self.shared;
        // Relaxed: a count; the slots themselves are acquired when a push needs them.
        let head = shared.consumer.head.load(Ordering::Relaxed);
        // Relaxed: settings. More chunks may be in traffic than may be by now.
        let chunks = shared.settings.most_chunks();
        let in_traffic = if shared.settings.overwritable {
            shared.taken.peek().in_traffic(self.seq)
        } else {
            self.seq.wrapping_sub(head)
        };
        let free_chunks = chunks.saturating_sub(in_traffic);
        let rest = self.end.wrapping_sub(self.position);
        rest + free_chunks * shared.settings.chunk_len.load(Ordering::Relaxed)
    }

    /// Slots left in the current chunk: the longest reservation that does not begin another one.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc()?;
    /// assert_eq!(producer.rest_of_chunk(), 0);
    /// producer.push(1).unwrap();
    /// assert_eq!(producer.rest_of_chunk(), 3);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    #[inline]
    pub fn rest_of_chunk(&self) -> usize {
        self.end.wrapping_sub(self.position)
    }

    /// Sequence number of the chunk to be begun next: another one where a chunk was ended since.
    #[cfg(feature = "std")]
    pub(crate) fn begun(&self) -> usize {
        self.seq
    }

    /// Whether the ring may have one more chunk in traffic, so that it is for want of memory where it
    /// was refused one.
    #[cfg(feature = "std")]
    pub(crate) fn may_begin(&self) -> bool {
        // Relaxed: whoever asks has looked just before, and will look again.
        let head = self.shared.consumer.head.load(Ordering::Relaxed);
        self.seq.wrapping_sub(head) < self.shared.settings.most_chunks()
    }

    /// The most items that the ring can hold: chunks times chunk length, both as set now. A ring that
    /// [grows](crate::Policy::Grow) can hold more for a while.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert_eq!(producer.capacity(), 8);
    /// # Ok::<(), chunkring::BuildError>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Slots of the chunks that come: the longest reservation that is granted sooner or later.
    ///
    /// ```
    /// let (producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
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
    /// let (producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
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

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // Whoever takes whole chunks gets the last one, too.
        self.seal();
        // Release: pairs with the consumer's Acquire loads; it then sees the last tail.
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

/// Contiguous slots, reserved and not yet committed; see [`Producer::reserve`].
///
/// Slots are filled from the first on, by [`push`](Self::push) or
/// [`extend_from_slice`](Self::extend_from_slice), or in place through
/// [`spare_mut`](Self::spare_mut). Nothing is visible to the consumer before
/// [`commit`](Self::commit); a grant that is dropped commits nothing and drops what was filled in,
/// and one that is forgotten leaks that and nothing more. Slots that are not committed are the next
/// to be reserved.
///
/// # Examples
///
/// ```
/// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc()?;
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
/// There is one grant at a time:
///
/// ```compile_fail,E0499
/// let (mut producer, _consumer) = chunkring::spsc::bounded::<u8>(8).unwrap();
/// let first = producer.reserve(1).unwrap();
/// let second = producer.reserve(1).unwrap();
/// first.commit_all();
/// ```
///
/// and it is committed once:
///
/// ```compile_fail,E0382
/// let (mut producer, _consumer) = chunkring::spsc::bounded::<u8>(8).unwrap();
/// let grant = producer.reserve(1).unwrap();
/// grant.commit_all();
/// grant.commit_all();
/// ```
#[must_use = "a grant that is not committed leaves nothing in the ring"]
pub struct Grant<'a, T> {
    producer: &'a mut Producer<T>,
    len: usize,
    /// The first `filled` slots hold items, which are this grant's.
    filled: usize,
}

impl<T> Grant<'_, T> {
    /// Slots that were reserved.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert_eq!(producer.reserve(3)?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// As of its producer.
    #[cfg(feature = "std")]
    pub(crate) fn begun(&self) -> usize {
        self.producer.begun()
    }

    /// Whether no slot was reserved.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// assert!(producer.reserve(0)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Slots that have been filled.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
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
        let producer = &*self.producer;
        producer
            .base
            .wrapping_add(producer.position)
            .wrapping_add(index)
    }

    /// Fills the next slot.
    ///
    /// # Errors
    /// The item comes back where every slot is filled.
    ///
    /// ```
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc()?;
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
        // SAFETY: the grant's slots from `filled` to `len` are empty and this half's (invariant 1).
        unsafe { (*self.slot(self.filled)).write(item) };
        self.filled += 1;
        Ok(())
    }

    /// Makes the first `count` slots the consumer's, and drops what was filled in beyond them.
    ///
    /// # Panics
    /// Where fewer than `count` slots have been filled; nothing is committed then.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
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
        // From here on the committed items are the ring's. Dropping the grant drops the others,
        // which lie behind the tail wherever it is.
        let rest = self.slot(count);
        let rest_len = core::mem::take(&mut self.filled) - count;
        if count != 0 {
            self.producer
                .publish(self.producer.position.wrapping_add(count));
        }
        // SAFETY: these slots were filled and not committed; `filled` no longer counts them.
        unsafe { Slot::drop_range(rest, rest_len) };
    }

    /// Makes every filled slot the consumer's.
    ///
    /// ```
    /// let (mut producer, consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
    /// let mut grant = producer.reserve(4)?;
    /// grant.extend_from_slice(&[1, 2, 3]);
    /// grant.commit_all();
    /// assert_eq!(consumer.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commit_all(self) {
        let filled = self.filled;
        self.commit(filled);
    }
}

// A slot is not laid out as the item alone under loom, so there are no slices of them there.
#[cfg(not(loom))]
impl<T> Grant<'_, T> {
    /// The slots that are not filled yet, to be filled in place from the first on; see
    /// [`assume_filled`](Self::assume_filled). An item that is made here is never on the stack.
    ///
    /// ```
    /// let (mut producer, mut consumer) = chunkring::Builder::new(4, 2).spsc::<u32>()?;
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
        // this half's (invariant 1); a slot is laid out as a `MaybeUninit<T>`.
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
    /// let (mut producer, _consumer) = chunkring::Builder::new(4, 2).spsc::<u8>()?;
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
    /// let (mut producer, mut consumer) = chunkring::Builder::new(8, 2).spsc()?;
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
        // SAFETY: the slots are this half's and at least as many as the items (checked above), and
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
        let filled = core::mem::take(&mut self.filled);
        if filled != 0 {
            // SAFETY: the first `filled` slots hold items that are not committed.
            unsafe { Slot::drop_range(self.slot(0), filled) };
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
