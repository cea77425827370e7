//! What the flags beside the slots say.
//!
//! A claim covers a run of slots, and is answered at the run's first flag: by a mark, stored last. A run
//! of one slot has a mark of its own; the length of a longer one stands in the flags that follow, six
//! bits in each, the lowest first. (Those of a run of `n` slots are `n - 1`, always enough: two flags
//! say up to 4,095.) So a record of any length costs one Release store and one Acquire load.
//!
//! A thread that is killed in between leaves a length without its mark. So no flag of a length looks like
//! a mark.

use crate::primitive::{AtomicU8, FLAGS_AT_ONCE, Ordering};
use core::ptr::{self, NonNull};

/// Not answered yet, or not even claimed.
const PENDING: u8 = 0;
/// One item.
const ITEM: u8 = 1;
/// One slot that was claimed and not used.
const SKIP: u8 = 2;
/// Items, as many as the flags that follow say.
const ITEMS: u8 = 4;
/// Slots that were claimed and not used, as many as the flags that follow say.
const SKIPS: u8 = 6;
/// Nothing from here to the end of the chunk.
const END: u8 = 8;

/// Set in each flag of a length, and in no mark.
const LENGTH: u8 = 0x40;
/// Set in each flag of a length but the last.
const MORE: u8 = 0x80;
const LENGTH_BITS: u32 = 6;

/// What begins at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Pending,
    Items(usize),
    Skips(usize),
    End,
}

/// The flags of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Flags(*mut AtomicU8);

impl Flags {
    /// Of no chunk.
    pub(super) fn none() -> Self {
        Flags(ptr::null_mut())
    }

    /// The flags from `address` on, of a chunk that was [exposed](super::shared::Chunk).
    #[inline(always)]
    pub(super) fn at(address: usize) -> Self {
        Flags(ptr::with_exposed_provenance_mut(address))
    }

    #[inline(always)]
    pub(super) fn address(self) -> usize {
        self.0.addr()
    }

    pub(super) fn new(first: NonNull<AtomicU8>) -> Self {
        Flags(first.as_ptr())
    }

    /// # Safety
    /// The flags must be those of a chunk that lives, and `index` be a slot's of it.
    #[inline(always)]
    unsafe fn flag<'a>(self, index: usize) -> &'a AtomicU8 {
        // SAFETY: as the caller says.
        unsafe { &*self.0.add(index) }
    }

    /// Answers the claim of one slot with an item.
    ///
    /// # Safety
    /// The slot must be the caller's, by a claim that is not answered yet, and hold an item.
    #[inline(always)]
    pub(super) unsafe fn item(self, index: usize) {
        // Release: pairs with the Acquire load in `run`; the item is seen.
        // SAFETY: a claim that is not answered keeps the chunk where it is.
        unsafe { self.flag(index) }.store(ITEM, Ordering::Release);
    }

    /// Answers a claim, or the part of it from `index` on: `count` slots that hold items.
    ///
    /// # Safety
    /// As for [`item`](Self::item). The claim's first slot must be answered last.
    pub(super) unsafe fn items(self, index: usize, count: usize) {
        // SAFETY: as the caller says.
        unsafe { self.mark(index, count, ITEM, ITEMS) };
    }

    /// Answers a claim, or the part of it from `index` on: `count` slots that stay unused.
    ///
    /// # Safety
    /// As for [`items`](Self::items), but that the slots hold nothing that anybody will drop.
    pub(super) unsafe fn skips(self, index: usize, count: usize) {
        // SAFETY: as the caller says.
        unsafe { self.mark(index, count, SKIP, SKIPS) };
    }

    /// Says that nothing comes from `index` on.
    ///
    /// # Safety
    /// The caller must have closed the chunk, with its slots from `index` on unclaimed.
    pub(super) unsafe fn end(self, index: usize) {
        // Release: pairs with the Acquire load in `run`; the closer has done with the chunk.
        // SAFETY: slots that are not answered keep the chunk where it is.
        unsafe { self.flag(index) }.store(END, Ordering::Release);
    }

    unsafe fn mark(self, index: usize, count: usize, one: u8, several: u8) {
        let mark = match count {
            0 => return,
            1 => one,
            _ => {
                let mut rest = count;
                let mut at = index;
                while rest != 0 {
                    at += 1;
                    let low = (rest & ((1 << LENGTH_BITS) - 1)) as u8 | LENGTH;
                    rest >>= LENGTH_BITS;
                    let more = if rest == 0 { 0 } else { MORE };
                    // Relaxed: seen with the mark.
                    // SAFETY: a run of two slots and more has flags enough for its length.
                    unsafe { self.flag(at) }.store(low | more, Ordering::Relaxed);
                }
                several
            }
        };
        // Release: pairs with the Acquire load in `run`; the items and the length are seen.
        // SAFETY: as the caller says.
        unsafe { self.flag(index) }.store(mark, Ordering::Release);
    }

    /// What begins at slot `index`, at which a run must begin.
    ///
    /// # Safety
    /// The chunk must stay where it is during the call.
    #[inline(always)]
    pub(super) unsafe fn run(self, index: usize) -> Run {
        // Acquire: pairs with the Release stores above.
        // SAFETY: as the caller says.
        let mark = unsafe { self.flag(index) }.load(Ordering::Acquire);
        // Single items are what a scan goes over one by one, and a jump through a table would cost more than
        // all else that is done for one.
        if mark == ITEM {
            return Run::Items(1);
        }
        // SAFETY: as the caller says.
        unsafe { self.other_run(index, mark) }
    }

    /// The end of the single items from slot `index` on, at which a run must begin: at the latest `end`, where
    /// one begins, too.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline(always)]
    pub(super) unsafe fn single_items(self, index: usize, end: usize) -> usize {
        // First, since a slice or a record is a longer run, and there are several of those in a row as well.
        // Relaxed: only a hint, since an item's flag is loaded once more.
        // SAFETY: as the caller says.
        if index == end || unsafe { self.flag(index) }.load(Ordering::Relaxed) != ITEM {
            return index;
        }
        let mut at = index;
        while end - at >= FLAGS_AT_ONCE {
            let mut all = ITEM;
            for offset in 0..FLAGS_AT_ONCE {
                // Acquire: as in `run`.
                // SAFETY: as the caller says.
                all &= unsafe { self.flag(at + offset) }.load(Ordering::Acquire);
            }
            if all & ITEM == 0 {
                break;
            }
            at += FLAGS_AT_ONCE;
        }
        // Acquire: as in `run`.
        // SAFETY: as the caller says.
        while at != end && unsafe { self.flag(at) }.load(Ordering::Acquire) == ITEM {
            at += 1;
        }
        at
    }

    /// What begins at slot `index`, whose flag is `mark`, no single item's.
    ///
    /// # Safety
    /// As for [`run`](Self::run), and the mark must have been acquired.
    #[inline(never)]
    unsafe fn other_run(self, index: usize, mark: u8) -> Run {
        match mark {
            PENDING => Run::Pending,
            SKIP => Run::Skips(1),
            // SAFETY: as the caller says.
            ITEMS => Run::Items(unsafe { self.length(index) }),
            // SAFETY: as the caller says.
            SKIPS => Run::Skips(unsafe { self.length(index) }),
            END => Run::End,
            // Of a length whose mark will not come.
            _ => Run::Pending,
        }
    }

    unsafe fn length(self, index: usize) -> usize {
        let mut length = 0;
        let mut shift = 0;
        let mut at = index;
        loop {
            at += 1;
            // Relaxed: acquired with the mark.
            // SAFETY: whoever stored the mark has stored the length in the flags that follow.
            let flag = unsafe { self.flag(at) }.load(Ordering::Relaxed);
            length |= usize::from(flag & !(LENGTH | MORE)) << shift;
            if flag & MORE == 0 {
                return length;
            }
            shift += LENGTH_BITS;
        }
    }
}

/// The runs of a chunk that can be told apart, from a slot on at which a run begins.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    pub(super) flags: Flags,
    pub(super) len: usize,
    /// Whether no claim will be answered any more: a pending slot is as good as an unused one.
    pub(super) quiet: bool,
}

impl Runs {
    /// The run at slot `index`, cut to the chunk: `None` at the end of it, a pending one as `Err`.
    ///
    /// # Safety
    /// As for [`Flags::run`]; quiet only where it is true.
    #[inline(always)]
    pub(super) unsafe fn at(self, index: usize) -> Option<Result<(bool, usize), ()>> {
        if index == self.len {
            return None;
        }
        // SAFETY: as the caller says.
        Some(match unsafe { self.flags.run(index) } {
            Run::Items(count) => Ok((true, count)),
            Run::Skips(count) => Ok((false, count)),
            Run::End => Ok((false, self.len - index)),
            Run::Pending if self.quiet => Ok((false, 1)),
            Run::Pending => Err(()),
        })
    }

    /// Items from slot `index` on, one run after the other, counted up to `most`; and whether the rest of
    /// the chunk was seen to be answered.
    ///
    /// # Safety
    /// As for [`at`](Self::at).
    pub(super) unsafe fn count_items(self, index: usize, most: usize) -> (usize, bool) {
        let mut count = 0;
        let mut at = index;
        loop {
            // SAFETY: as the caller says.
            match unsafe { self.at(at) } {
                None => return (count, true),
                Some(Err(())) => return (count, false),
                Some(Ok((items, slots))) => {
                    at += slots;
                    if items {
                        count += slots;
                        if count >= most {
                            return (count, false);
                        }
                    }
                }
            }
        }
    }

    /// Whether the slots before `index`, at which a run must begin or in an item, were left unused.
    ///
    /// # Safety
    /// As for [`at`](Self::at).
    pub(super) unsafe fn are_unused(self, index: usize) -> bool {
        let mut at = 0;
        while at < index {
            // SAFETY: as the caller says.
            match unsafe { self.at(at) } {
                Some(Ok((false, count))) => at += count,
                _ => return false,
            }
        }
        true
    }

    /// Whether every slot from `index` on is answered.
    ///
    /// # Safety
    /// As for [`at`](Self::at).
    pub(super) unsafe fn is_complete(self, index: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe { self.count_items(index, usize::MAX) }.1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_length_of_a_run_is_read_back_and_fits_into_it() {
        let lengths = (1..300).chain([16_383, 16_384, 16_385, (1 << 21) - 1, 1 << 21, 1 << 24]);
        for count in lengths {
            let bytes: Vec<AtomicU8> = (0..count).map(|_| AtomicU8::new(0)).collect();
            let flags = Flags::new(NonNull::from(&bytes[0]));
            // SAFETY: there are `count` flags, and they are this thread's.
            unsafe {
                assert_eq!(flags.run(0), Run::Pending);
                flags.items(0, count);
                assert_eq!(flags.run(0), Run::Items(count));
                flags.skips(0, count);
                assert_eq!(flags.run(0), Run::Skips(count));
                flags.end(0);
                assert_eq!(flags.run(0), Run::End);
            }
        }
    }

    #[test]
    fn a_length_without_its_mark_is_no_answer() {
        for count in (2..300).chain([4095, 4096, 1 << 18, 1 << 24]) {
            let bytes: Vec<AtomicU8> = (0..count).map(|_| AtomicU8::new(0)).collect();
            let flags = Flags::new(NonNull::from(&bytes[0]));
            // SAFETY: there are `count` flags, and they are this thread's.
            unsafe {
                flags.items(0, count);
                // As if the thread had been killed before the last store.
                flags.flag(0).store(PENDING, Ordering::Relaxed);
                let runs = Runs {
                    flags,
                    len: count,
                    quiet: false,
                };
                for index in 0..count.min(8) {
                    assert_eq!(flags.run(index), Run::Pending, "{count} at {index}");
                    flags.skips(index, 1);
                }
                assert_eq!(runs.count_items(0, 1).0, 0);
            }
        }
    }

    #[test]
    fn single_items_are_found_up_to_whatever_else_there_is() {
        let bytes: Vec<AtomicU8> = (0..40).map(|_| AtomicU8::new(0)).collect();
        let flags = Flags::new(NonNull::from(&bytes[0]));
        // SAFETY: there are 40 flags, and they are this thread's.
        unsafe {
            assert_eq!(flags.single_items(0, 40), 0);
            for index in 0..40 {
                flags.item(index);
            }
            for from in 0..=40 {
                assert_eq!(flags.single_items(from, 40), 40);
                assert_eq!(flags.single_items(0, from), from);
            }
            for at in 0..38 {
                for other in [0, 1, 2, 3] {
                    match other {
                        0 => flags.flag(at).store(PENDING, Ordering::Relaxed),
                        1 => flags.skips(at, 1),
                        2 => flags.skips(at, 3),
                        _ => flags.items(at, 2),
                    }
                    assert_eq!(flags.single_items(0, 40), at, "{other}");
                    flags.items(at, 1);
                    flags.items(at + 1, 1);
                }
                flags.end(at);
                assert_eq!(flags.single_items(0, 40), at);
                flags.item(at);
            }
        }
    }
}
