//! When a consumer that is on its producer's heels looks a second time, a moment later.
//!
//! Two halves that run at the same time share the cache lines between them. A consumer that is faster than
//! its producer always comes to the line that is just being filled, takes it away for an item or two, and
//! takes the tail's line away with each look. A moment later the same look finds many more items, and
//! the producer was not disturbed meanwhile. So a look that finds little in the middle of a stream is
//! followed by a few pauses (some half a microsecond, at the most) and another look.
//!
//! Whoever reads in place takes all that is ready, and so finds nothing where who pops finds little. In the
//! middle of a stream that is followed by a few more looks as well: it is soon over, as a rule, and who was told of it
//! would look for other work, or go to sleep.
//!
//! Nobody waits for what does not come: the first look after an empty one is never delayed, so an item that
//! comes alone is taken at once; and where nothing has come during the pauses, which is so where one thread
//! has both halves, the next looks are done without, twice as many each time.

use crate::primitive::{LINE, PAUSES_COUNT, Slot, pause};

/// Pauses before another look, at the most.
const MOST_PAUSES: usize = 16;

/// Pauses of who reads in place: what comes in slices comes fast, and may fill the ring meanwhile.
pub(super) const PAUSES_TO_READ: usize = 4;

/// Looks of who reads in place, after one that has found nothing.
pub(super) const LOOKS_FOR_ANY: u32 = 3;

/// Looks without a pause after one that was in vain, as a power of two: at the most.
const MAX_RESTS: u32 = 10;

/// Pauses before another look into a chunk in which so many slots of `T` are still to be read: one for each of their
/// lines, as far as there are not many. More than they are will not be found, and the producer of a ring of few and
/// short chunks would soon be waiting for this one.
pub(super) fn pauses_for<T>(slots: usize) -> usize {
    // No more than the size of a chunk.
    (slots * size_of::<T>()).div_ceil(LINE).min(MOST_PAUSES)
}

pub(super) fn let_pass(pauses: usize) {
    for _ in 0..pauses {
        pause();
    }
}

/// What a consumer remembers of its last looks.
#[derive(Default)]
pub(super) struct Heels {
    /// Whether the last look found something.
    in_stream: bool,
    /// Looks that are still to be done without pauses.
    rest: u32,
    /// How often in a row the pauses were in vain.
    in_vain: u32,
}

impl Heels {
    /// A look has found something, after one that had found nothing.
    pub(super) fn see(&mut self) {
        self.in_stream = true;
    }

    /// A look has found nothing.
    #[inline(always)]
    pub(super) fn lose(&mut self) {
        self.in_stream = false;
    }

    /// A look has found `ready` items of `T`. Whether to pause and to look again.
    #[inline(always)]
    pub(super) fn found<T>(&mut self, ready: usize) -> bool {
        let in_stream = core::mem::replace(&mut self.in_stream, true);
        ready < Slot::<T>::FEW && in_stream && self.is_due()
    }

    /// A look has found nothing. Whether to pause and to look again.
    #[inline(always)]
    pub(super) fn lose_unless_due(&mut self) -> bool {
        core::mem::take(&mut self.in_stream) && PAUSES_COUNT && self.is_due()
    }

    #[inline(always)]
    fn is_due(&mut self) -> bool {
        let due = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        due
    }

    /// Whether more was there after the pauses.
    #[inline(always)]
    pub(super) fn learn(&mut self, more: bool) {
        if more {
            self.in_vain = 0;
        } else {
            self.in_vain = (self.in_vain + 1).min(MAX_RESTS);
            self.rest = 1 << self.in_vain;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_a_short_find_in_a_stream_asks_for_another_look() {
        let mut heels = Heels::default();
        assert!(!heels.found::<u64>(1), "the first after nothing");
        assert!(heels.found::<u64>(127));
        assert!(!heels.found::<u64>(128), "sixteen lines are not little");
        heels.lose();
        assert!(!heels.found::<u64>(1));
        assert!(heels.found::<u64>(1));
        assert!(!heels.found::<[u8; 1025]>(1));
    }

    #[test]
    fn no_more_pauses_than_lines_that_can_be_found() {
        for (slots, pauses) in [(0, 0), (1, 1), (8, 1), (9, 2), (128, 16), (1024, 16)] {
            assert_eq!(pauses_for::<u64>(slots), pauses, "{slots}");
        }
        assert_eq!(pauses_for::<()>(usize::MAX), 0);
    }

    #[test]
    fn nothing_asks_for_another_look_only_in_a_stream() {
        let mut heels = Heels::default();
        assert!(!heels.lose_unless_due(), "there was none");
        assert!(!heels.found::<u64>(1000));
        assert!(heels.lose_unless_due());
        assert!(!heels.lose_unless_due(), "it is over");
        heels.found::<u64>(1000);
        heels.learn(false);
        assert!(!heels.lose_unless_due(), "it was in vain");
    }

    #[test]
    fn pauses_in_vain_become_rare() {
        let mut heels = Heels::default();
        heels.found::<u64>(1);
        let looks = 100_000;
        let mut pauses = 0;
        for _ in 0..looks {
            if heels.found::<u64>(1) {
                pauses += 1;
                heels.learn(false);
            }
        }
        assert!((10..=120).contains(&pauses), "{pauses} pauses");
        while !heels.found::<u64>(1) {}
        heels.learn(true);
        assert!(heels.found::<u64>(1), "what has paid is done again");
    }
}
