//! Live bytes by cost-centre stack: an allocator that counts them, and the table in which it does.
//!
//! The allocator puts a number in front of each allocation: the place in the table of the stack that allocated it. So
//! what is freed is taken from the stack that it was counted for, whichever thread frees it, and whether the cost
//! centre is still there or not.
//!
//! # Invariants
//!
//! 1. A key that is not 0 is not changed any more. Its place is that of one stack for ever.
//! 2. Whoever has written a key writes the place's span, once, after the numbers that it spans.
//! 3. Numbers are written once, by whoever has taken their place from `taken_ids`.

use super::stack::{self, Current};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Places for stacks in a table: a power of two.
const PLACES: usize = 4_096;

/// The first bits of a key are its stack's place, unless that is taken.
const PLACE_BITS: u32 = PLACES.trailing_zeros();

/// Room for the numbers in all stacks together.
const IDS: usize = 1 << 16;

/// Where the bytes of the empty stack are counted.
const NONE: u32 = 0;

/// Where the bytes of stacks that have no place are counted.
const OTHERS: u32 = 1;

/// Places before those of stacks.
const FIRST: usize = 2;

/// Counters of one place. Threads are spread over them, so that not all of them write to one line of the cache.
const SHARDS: usize = 4;

/// A span of a stack whose numbers found no room.
const NO_IDS: u64 = u64::MAX;

/// Bits of a span that say how many numbers there are.
const DEPTH_BITS: u32 = 8;

/// Bytes that are live, by the cost-centre stack that allocated them.
///
/// Counting takes no lock and allocates nothing. The table has [room](Self::MOST_STACKS) for so many stacks, and for 65,536 cost
/// centres in them. What is allocated in further ones is counted as one, [the others](Self::others). A stack keeps its place
/// when nothing of it is live any more, since it is likely to allocate again. Stacks are told apart by
/// [a hash of 64 bits](stack::Current::key).
///
/// ```
/// use ghc_eventlog::objects::ProfiledAllocator;
///
/// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
///
/// let counts = ALLOCATOR.counts();
/// assert_eq!((counts.total(), counts.stacks(), counts.others()), (0, 0, 0));
/// ```
pub struct LiveBytes {
    keys: [AtomicU64; PLACES],
    /// Where the numbers of a stack begin, and how many there are. 0 until they are there.
    spans: [AtomicU64; PLACES],
    /// Innermost first.
    ids: [AtomicU32; IDS],
    taken_places: AtomicU32,
    taken_ids: AtomicU32,
    /// Allocations by stacks that have no place, and stacks that have no numbers.
    others: AtomicU64,
    live: [[AtomicI64; FIRST + PLACES]; SHARDS],
}

impl LiveBytes {
    /// Stacks that have a place of their own.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::objects::LiveBytes::MOST_STACKS, 3_072);
    /// ```
    // Of the places, so many that a look for a stack that has none soon comes to a place that is free.
    pub const MOST_STACKS: usize = PLACES / 4 * 3;

    const fn new() -> Self {
        LiveBytes {
            keys: [const { AtomicU64::new(0) }; PLACES],
            spans: [const { AtomicU64::new(0) }; PLACES],
            ids: [const { AtomicU32::new(0) }; IDS],
            taken_places: AtomicU32::new(0),
            taken_ids: AtomicU32::new(0),
            others: AtomicU64::new(0),
            live: [const { [const { AtomicI64::new(0) }; FIRST + PLACES] }; SHARDS],
        }
    }

    /// Bytes that are live, of all stacks. Exact where no other thread allocates or frees meanwhile.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    /// use std::alloc::{GlobalAlloc, Layout};
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// let layout = Layout::new::<[u64; 10]>();
    /// // SAFETY: the layout's size is not 0.
    /// let block = unsafe { ALLOCATOR.alloc(layout) };
    /// assert_eq!(ALLOCATOR.counts().total(), 80);
    /// // SAFETY: it was allocated here, with that layout.
    /// unsafe { ALLOCATOR.dealloc(block, layout) };
    /// assert_eq!(ALLOCATOR.counts().total(), 0);
    /// ```
    #[must_use]
    pub fn total(&self) -> u64 {
        (0..FIRST + PLACES).map(|place| self.bytes(place)).sum()
    }

    /// Stacks that have a place of their own.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// assert_eq!(ALLOCATOR.counts().stacks(), 0);
    /// ```
    #[must_use]
    pub fn stacks(&self) -> usize {
        // Relaxed: a count.
        self.taken_places.load(Ordering::Relaxed) as usize
    }

    /// Allocations whose stack found no place, since the table was full, and stacks that found a place and no room for
    /// their cost centres: the bytes of both are told as one stack.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// assert_eq!(ALLOCATOR.counts().others(), 0);
    /// ```
    #[must_use]
    pub fn others(&self) -> u64 {
        // Relaxed: a count.
        self.others.load(Ordering::Relaxed)
    }

    /// What is live: in each stack, innermost first; in none; and in the others. Stacks of which nothing is live are left out.
    pub(crate) fn each(&self, mut take: impl FnMut(Holder<'_>, u64)) {
        let mut others = self.bytes(OTHERS as usize);
        let mut room = [0; stack::MAX_DEPTH];
        for (place, span) in self.spans.iter().enumerate() {
            let bytes = self.bytes(FIRST + place);
            // Acquire pairs with the release store in `fill`: the numbers are there.
            let span = span.load(Ordering::Acquire);
            if bytes == 0 {
                continue;
            }
            // What is being filled just now is told with the others, and at its place the next time.
            let ids = self.ids_of(span);
            if ids.is_empty() {
                others += bytes;
                continue;
            }
            for (to, id) in room.iter_mut().zip(ids) {
                // Relaxed: ordered by the span.
                *to = id.load(Ordering::Relaxed);
            }
            take(Holder::Stack(&room[..ids.len()]), bytes);
        }
        let none = self.bytes(NONE as usize);
        if none > 0 {
            take(Holder::None, none);
        }
        if others > 0 {
            take(Holder::Others, others);
        }
    }

    fn ids_of(&self, span: u64) -> &[AtomicU32] {
        if span == 0 || span == NO_IDS {
            return &[];
        }
        let depth = span as usize & ((1 << DEPTH_BITS) - 1);
        let begin = (span >> DEPTH_BITS) as usize;
        &self.ids[begin..begin + depth]
    }

    fn bytes(&self, place: usize) -> u64 {
        // Relaxed: sums that change all the time. What is freed may be seen before what was allocated on another shard:
        // then the sum is less than nothing.
        let shards = self
            .live
            .iter()
            .map(|shard| shard[place].load(Ordering::Relaxed));
        shards.sum::<i64>().max(0) as u64
    }

    /// The place of the calling thread's stack.
    #[inline]
    fn place(&self) -> u32 {
        let here = stack::current();
        let key = here.key();
        if key == 0 {
            return NONE;
        }
        let mut place = (key >> (u64::BITS - PLACE_BITS)) as usize;
        loop {
            // Relaxed: by invariant 1 the key tells all that is wanted here.
            match self.keys[place].load(Ordering::Relaxed) {
                found if found == key => return (FIRST + place) as u32,
                0 => return self.take_place(place, key, here),
                // Ends: some places stay free.
                _ => place = (place + 1) % PLACES,
            }
        }
    }

    /// Gives the stack the first place that is free, from that one on.
    #[cold]
    fn take_place(&self, mut place: usize, key: u64, here: Current) -> u32 {
        // Relaxed, here and below: the counters order nothing.
        let room = self
            .taken_places
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                ((taken as usize) < Self::MOST_STACKS).then_some(taken + 1)
            });
        if room.is_err() {
            self.others.fetch_add(1, Ordering::Relaxed);
            return OTHERS;
        }
        loop {
            // Relaxed: what the place is for is in the key, and what else there is of it is published by its span.
            let taken =
                self.keys[place].compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
            match taken {
                Ok(_) => {
                    self.fill(place, here);
                    return (FIRST + place) as u32;
                }
                // Another thread, in the same stack, was faster.
                Err(found) if found == key => {
                    self.taken_places.fetch_sub(1, Ordering::Relaxed);
                    return (FIRST + place) as u32;
                }
                Err(_) => place = (place + 1) % PLACES,
            }
        }
    }

    fn fill(&self, place: usize, here: Current) {
        let depth = here.depth();
        let begin = self
            .taken_ids
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken as usize + depth <= IDS).then_some(taken + depth as u32)
            });
        let span = match begin {
            Ok(begin) => {
                for (to, id) in self.ids[begin as usize..].iter().zip(here.ids()) {
                    // Relaxed: published by the span.
                    to.store(id, Ordering::Relaxed);
                }
                u64::from(begin) << DEPTH_BITS | depth as u64
            }
            Err(_) => {
                self.others.fetch_add(1, Ordering::Relaxed);
                NO_IDS
            }
        };
        // Release pairs with the acquire load in `each`.
        self.spans[place].store(span, Ordering::Release);
    }

    #[inline]
    fn add(&self, place: u32, bytes: i64) {
        // Threads have their stacks far from each other.
        let here = 0_u8;
        let shard = ((&raw const here).addr() >> 20).wrapping_mul(0x9e37_79b9) >> 16 & (SHARDS - 1);
        if let Some(live) = self.live[shard].get(place as usize) {
            // Relaxed: a sum.
            live.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for LiveBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveBytes")
            .field("total", &self.total())
            .field("stacks", &self.stacks())
            .field("others", &self.others())
            .finish_non_exhaustive()
    }
}

/// Who holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    /// The stack of these cost centres, innermost first.
    Stack(&'a [u32]),
    /// What is in no cost centre.
    None,
    /// Stacks that have no place.
    Others,
}

/// An allocator that counts what is live by the cost-centre stack that allocated it, and leaves the rest to another one.
///
/// ```
/// use ghc_eventlog::objects::ProfiledAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
///
/// fn main() {
///     let before = ALLOCATOR.counts().total();
///     let numbers = vec![0_u64; 1_000];
///     assert!(ALLOCATOR.counts().total() >= before + 8_000);
///     drop(numbers);
/// }
/// ```
///
/// A [`Profiler`](super::Profiler) writes the counts to a log.
///
/// **What is counted**: the bytes that were asked for, not what the inner allocator takes for them. What is reallocated counts as
/// freed and allocated again, for the stack that does it. What is allocated outside of cost centres, or before the first
/// was entered, counts for the empty stack, and stays there.
///
/// **What is not**: memory that does not come from this allocator: `mmap`, stacks, static data, `malloc` in C code and
/// in objects with an allocator of their own.
///
/// **What it costs**: each allocation takes as many bytes more as it is aligned to, 4 at least, and a look into a table, two
/// atomic additions for allocating and freeing, and no lock. The table takes 440 KiB of static data, which is not
/// touched before it is needed.
pub struct ProfiledAllocator<A = System> {
    inner: A,
    counts: LiveBytes,
}

impl ProfiledAllocator<System> {
    /// A wrapper of the system's allocator, for a static.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    ///
    /// #[global_allocator]
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// assert_eq!(ALLOCATOR.counts().others(), 0);
    /// ```
    #[must_use]
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> ProfiledAllocator<A> {
    /// A wrapper of that allocator. It is large: it belongs into a static.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    /// use std::alloc::System;
    ///
    /// static ALLOCATOR: ProfiledAllocator<System> = ProfiledAllocator::new(System);
    ///
    /// assert_eq!(ALLOCATOR.counts().total(), 0);
    /// ```
    #[must_use]
    pub const fn new(inner: A) -> Self {
        ProfiledAllocator {
            inner,
            counts: LiveBytes::new(),
        }
    }

    /// What is live.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfiledAllocator;
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// assert_eq!(ALLOCATOR.counts().total(), 0);
    /// ```
    #[must_use]
    pub const fn counts(&self) -> &LiveBytes {
        &self.counts
    }

    /// Counts an allocation of the inner allocator's, and gives the part of it that is the program's.
    ///
    /// # Safety
    /// `base` is an allocation of the layout that [`widened`] makes of `layout`.
    unsafe fn begin(&self, base: *mut u8, layout: Layout) -> *mut u8 {
        let place = self.counts.place();
        // Fits: a layout's size does.
        self.counts.add(place, layout.size() as i64);
        // SAFETY: by the caller, the allocation is longer by the margin, and aligned to 4 at least; so is the margin.
        unsafe {
            let block = base.add(margin(layout));
            block.cast::<u32>().sub(1).write(place);
            block
        }
    }

    /// Counts it as freed.
    ///
    /// # Safety
    /// `block` is what [`begin`](Self::begin) gave for that layout.
    unsafe fn end(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `begin` has written it there.
        let place = unsafe { block.cast::<u32>().sub(1).read() };
        self.counts.add(place, -(layout.size() as i64));
    }
}

impl<A> fmt::Debug for ProfiledAllocator<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfiledAllocator")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Bytes in front of an allocation: room for a place's number, and the alignment is kept.
#[inline]
const fn margin(layout: Layout) -> usize {
    match layout.align() {
        1 | 2 => align_of::<u32>(),
        align => align,
    }
}

/// The layout with a margin, if there can be one.
#[inline]
fn widened(layout: Layout) -> Option<Layout> {
    let margin = margin(layout);
    let size = layout.size().checked_add(margin)?;
    // The margin is a power of two, and no less than the alignment.
    Layout::from_size_align(size, margin).ok()
}

// SAFETY: what is handed out lies within an allocation of the inner allocator's, has its size and alignment, and goes back
// to it with the layout that it was asked for. Nothing here unwinds: there is no panic, and no allocation.
unsafe impl<A: GlobalAlloc> GlobalAlloc for ProfiledAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = widened(layout) else {
            return std::ptr::null_mut();
        };
        // SAFETY: its size is not 0.
        let base = unsafe { self.inner.alloc(wide) };
        if base.is_null() {
            return base;
        }
        // SAFETY: it was allocated so.
        unsafe { self.begin(base, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = widened(layout) else {
            return std::ptr::null_mut();
        };
        // SAFETY: its size is not 0.
        let base = unsafe { self.inner.alloc_zeroed(wide) };
        if base.is_null() {
            return base;
        }
        // SAFETY: it was allocated so.
        unsafe { self.begin(base, layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // What could not be had was not allocated.
        let Some(wide) = widened(layout) else {
            return;
        };
        // SAFETY: by the caller, `begin` gave it for that layout: the allocation begins a margin before it.
        unsafe {
            self.end(block, layout);
            self.inner.dealloc(block.sub(margin(layout)), wide);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = Layout::from_size_align(size, layout.align()).ok();
        let (Some(wide), Some(new)) = (widened(layout), new) else {
            return std::ptr::null_mut();
        };
        let Some(new_wide) = widened(new) else {
            return std::ptr::null_mut();
        };
        // SAFETY: by the caller, `begin` gave it for that layout: the allocation begins a margin before it. The new size is
        // that of a layout of the same alignment.
        let base = unsafe {
            self.inner
                .realloc(block.sub(margin(layout)), wide, new_wide.size())
        };
        if base.is_null() {
            return base;
        }
        // SAFETY: the margin has come along, and it is now an allocation of the new layout.
        unsafe {
            self.end(base.add(margin(layout)), layout);
            self.begin(base, new)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stack::{enter, leave};
    use super::*;

    fn held(counts: &LiveBytes) -> Vec<(Option<Vec<u32>>, u64)> {
        let mut held = Vec::new();
        counts.each(|holder, bytes| {
            let ids = match holder {
                Holder::Stack(ids) => Some(ids.to_vec()),
                Holder::None => Some(Vec::new()),
                Holder::Others => None,
            };
            held.push((ids, bytes));
        });
        held.sort();
        held
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    fn allocate(allocator: &ProfiledAllocator, size: usize) -> *mut u8 {
        // SAFETY: the size is not 0.
        let block = unsafe { allocator.alloc(layout(size)) };
        assert!(!block.is_null());
        block
    }

    fn free(allocator: &ProfiledAllocator, block: *mut u8, size: usize) {
        // SAFETY: it was allocated by `allocate` or `realloc`, with that size.
        unsafe { allocator.dealloc(block, layout(size)) };
    }

    #[test]
    fn bytes_are_counted_for_the_stack_that_allocates_and_taken_from_it_whoever_frees() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        let counts = ALLOCATOR.counts();
        let outside = allocate(&ALLOCATOR, 10);
        let outer = enter(1);
        let first = allocate(&ALLOCATOR, 100);
        let inner = enter(2);
        let second = allocate(&ALLOCATOR, 1_000);
        let third = allocate(&ALLOCATOR, 2_000).addr();
        leave(inner);
        leave(outer);
        let all = [
            (Some(vec![]), 10),
            (Some(vec![1]), 100),
            (Some(vec![2, 1]), 3_000),
        ];
        assert_eq!(held(counts), all);
        assert_eq!((counts.total(), counts.stacks()), (3_110, 2));
        // On another thread, in another cost centre.
        std::thread::spawn(move || {
            let token = enter(3);
            free(
                &ALLOCATOR,
                std::ptr::with_exposed_provenance_mut(third),
                2_000,
            );
            leave(token);
        })
        .join()
        .unwrap();
        free(&ALLOCATOR, first, 100);
        assert_eq!(
            held(counts),
            [(Some(vec![]), 10), (Some(vec![2, 1]), 1_000)]
        );
        free(&ALLOCATOR, second, 1_000);
        free(&ALLOCATOR, outside, 10);
        assert_eq!(held(counts), []);
        assert_eq!((counts.total(), counts.stacks()), (0, 2));
    }

    #[test]
    fn what_is_reallocated_keeps_its_content_and_counts_for_the_stack_that_did_it() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        let counts = ALLOCATOR.counts();
        let token = enter(1);
        let block = allocate(&ALLOCATOR, 16);
        // SAFETY: it is that long.
        unsafe { block.write_bytes(0xa5, 16) };
        leave(token);
        let token = enter(2);
        // SAFETY: it was allocated so.
        let block = unsafe { ALLOCATOR.realloc(block, layout(16), 50_000) };
        leave(token);
        assert_eq!(held(counts), [(Some(vec![2]), 50_000)]);
        // SAFETY: the first bytes were written.
        let kept = unsafe { std::slice::from_raw_parts(block, 16) };
        assert_eq!(kept, [0xa5; 16]);
        free(&ALLOCATOR, block, 50_000);
        assert_eq!(counts.total(), 0);
    }

    #[test]
    fn every_alignment_is_kept_and_zeros_are_zeros() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        for align in (0..13).map(|bits| 1 << bits) {
            for size in [1, 7, 64, 5_000] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the size is not 0; it is freed with the layout of its last allocation.
                unsafe {
                    let block = ALLOCATOR.alloc_zeroed(layout);
                    assert_eq!(block.addr() % align, 0);
                    let content = std::slice::from_raw_parts_mut(block, size);
                    assert!(content.iter().all(|byte| *byte == 0));
                    content.fill(1);
                    let block = ALLOCATOR.realloc(block, layout, size * 3);
                    assert_eq!(block.addr() % align, 0);
                    let content = std::slice::from_raw_parts(block, size);
                    assert!(content.iter().all(|byte| *byte == 1));
                    let longer = Layout::from_size_align(size * 3, align).unwrap();
                    assert_eq!(ALLOCATOR.counts().total(), longer.size() as u64);
                    ALLOCATOR.dealloc(block, longer);
                }
            }
        }
        assert_eq!(ALLOCATOR.counts().total(), 0);
    }

    #[test]
    fn what_is_refused_is_not_counted() {
        struct Refuses;
        // SAFETY: it hands out nothing.
        unsafe impl GlobalAlloc for Refuses {
            unsafe fn alloc(&self, _: Layout) -> *mut u8 {
                std::ptr::null_mut()
            }
            unsafe fn dealloc(&self, _: *mut u8, _: Layout) {
                panic!("nothing was handed out");
            }
        }
        static ALLOCATOR: ProfiledAllocator<Refuses> = ProfiledAllocator::new(Refuses);
        let longest = Layout::from_size_align(isize::MAX as usize - 7, 8).unwrap();
        for layout in [layout(1), longest] {
            // SAFETY: the sizes are not 0.
            let blocks = unsafe { [ALLOCATOR.alloc(layout), ALLOCATOR.alloc_zeroed(layout)] };
            assert!(blocks.iter().all(|block| block.is_null()));
        }
        assert_eq!(ALLOCATOR.counts().total(), 0);
    }

    #[test]
    fn a_table_that_is_full_counts_the_rest_as_others() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        let counts = ALLOCATOR.counts();
        let stacks = LiveBytes::MOST_STACKS as u32 + 100;
        let blocks: Vec<*mut u8> = (1..=stacks)
            .map(|id| {
                let token = enter(id);
                let block = allocate(&ALLOCATOR, 8);
                leave(token);
                block
            })
            .collect();
        assert_eq!(counts.stacks(), LiveBytes::MOST_STACKS);
        assert_eq!(counts.others(), 100);
        let all = held(counts);
        assert_eq!(all.len(), LiveBytes::MOST_STACKS + 1);
        assert_eq!(all[0], (None, 800));
        assert!(
            all[1..]
                .iter()
                .all(|(ids, bytes)| ids.as_ref().unwrap().len() == 1 && *bytes == 8)
        );
        for block in blocks {
            free(&ALLOCATOR, block, 8);
        }
        assert_eq!(counts.total(), 0);
    }

    #[test]
    fn stacks_that_are_too_deep_together_count_as_others_too() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        let counts = ALLOCATOR.counts();
        // Each is as deep as can be, and they are different.
        let deep = IDS / stack::MAX_DEPTH;
        let mut blocks = Vec::new();
        for number in 0..deep as u32 + 5 {
            let bottom = enter(1_000 + number);
            for level in 1..stack::MAX_DEPTH as u32 {
                enter(1 + level % 2);
            }
            blocks.push(allocate(&ALLOCATOR, 8));
            leave(bottom);
        }
        let all = held(counts);
        assert_eq!(all[0], (None, 40));
        assert_eq!((all.len(), counts.others()), (deep + 1, 5));
        assert!(
            all[1..]
                .iter()
                .all(|(ids, _)| ids.as_ref().unwrap().len() == stack::MAX_DEPTH)
        );
        for block in blocks {
            free(&ALLOCATOR, block, 8);
        }
    }

    #[test]
    fn counts_are_exact_whatever_threads_allocate_and_free_for_each_other() {
        static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
        const ROUNDS: usize = 2_000;
        let (to_free, freed) = std::sync::mpsc::sync_channel::<usize>(100);
        std::thread::scope(|scope| {
            for thread in 0..3_u32 {
                let to_free = to_free.clone();
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        // The threads have some stacks in common.
                        let outer = enter(1 + round as u32 % 50);
                        enter(100 + thread % 2);
                        to_free
                            .send(allocate(&ALLOCATOR, 24).expose_provenance())
                            .unwrap();
                        leave(outer);
                    }
                });
            }
            drop(to_free);
            let mut kept = Vec::new();
            for (number, block) in freed.iter().enumerate() {
                let block = std::ptr::with_exposed_provenance_mut(block);
                match number % 3 {
                    0 => kept.push(block),
                    _ => free(&ALLOCATOR, block, 24),
                }
                // What is read meanwhile is never more than there was.
                assert!(ALLOCATOR.counts().stacks() <= 100);
            }
            let all = held(ALLOCATOR.counts());
            assert!(
                all.iter()
                    .all(|(ids, bytes)| ids.as_ref().unwrap().len() == 2 && bytes % 24 == 0)
            );
            assert_eq!(
                all.iter().map(|(_, bytes)| bytes).sum::<u64>(),
                kept.len() as u64 * 24
            );
            kept.into_iter()
                .for_each(|block| free(&ALLOCATOR, block, 24));
        });
        assert_eq!(ALLOCATOR.counts().total(), 0);
        assert_eq!(ALLOCATOR.counts().stacks(), 100);
    }
}
