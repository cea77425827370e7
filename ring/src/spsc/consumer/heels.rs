//! When a consumer that is on its producer's heels looks a second time, a moment later.
//!
//! Two halves that run at the same time share the cache lines between them. A consumer that is faster than
//! its producer always comes to the line that is just being filled, takes it away for an item or two, and
//! takes the tail's line away with each look. A moment later the same look finds many more items, and
//! the producer was not disturbed meanwhile. So a look that finds little in the middle of a stream is
//! followed by a few pauses (a tenth of a microsecond, about) and another look.
//!
//! Nobody waits for what does not come: the first look after an empty one is never delayed, so an item that
//! comes alone is taken at once; and where nothing has come during the pauses, which is so where one thread
//! has both halves, the next looks are done without, twice as many each time.

use crate::primitive::{Slot, relax};

/// Pauses before another look.
const PAUSES: u32 = 4;

/// Looks without a pause after one that was in vain, as a power of two: at the most.
const MAX_RESTS: u32 = 10;

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
    /// A look has found nothing.
    #[inline(always)]
    pub(super) fn lose(&mut self) {
        self.in_stream = false;
    }

    /// A look has found `ready` items of `T`. Whether to pause and to look again.
    #[inline(always)]
    pub(super) fn found<T>(&mut self, ready: usize) -> bool {
        if ready >= Slot::<T>::FEW || !core::mem::replace(&mut self.in_stream, true) {
            return false;
        }
        if self.rest != 0 {
            self.rest -= 1;
            return false;
        }
        true
    }

    pub(super) fn pause() {
        for _ in 0..PAUSES {
            relax();
        }
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
        assert!(heels.found::<u64>(31));
        assert!(!heels.found::<u64>(32), "four lines are not little");
        heels.lose();
        assert!(!heels.found::<u64>(1));
        assert!(heels.found::<u64>(1));
        assert!(!heels.found::<[u8; 256]>(1));
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
