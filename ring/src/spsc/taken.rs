//! The word by which the halves of an overwritable ring agree who has a chunk, and nothing about what is
//! in the chunks.
//!
//! ```text
//!  evicted or read   oldest                     installed
//!        ...       | nobody's ...  , being filled |
//!                  ^ taken                        ^
//!  and apart from these, wherever it was: the one chunk that the consumer holds, or none
//! ```
//!
//! The word is the sequence number of the oldest chunk that nobody has taken, and a bit for whether the
//! consumer holds a chunk. All three things that can happen are one exchange of it:
//!
//! | who | what | exchange |
//! |---|---|---|
//! | consumer | enters the oldest chunk | `(seq, free)` to `(seq + 1, held)` |
//! | producer | evicts the oldest chunk | `(seq, any)` to `(seq + 1, the same)` |
//! | consumer | leaves the chunk that it holds | `(any, held)` to `(the same, free)` |
//!
//! So a chunk is either entered or evicted, never both, and one that is held is neither evicted nor, on
//! later laps of the table, mistaken for another. Nobody waits: a producer evicts past a held chunk as
//! often as it likes.
//!
//! # Orderings
//!
//! | exchange | pairs |
//! |---|---|
//! | enter | Release: with the producer's Acquire. The consumer has read the chunk's entry before, and the producer writes that entry again only after it has seen the sequence number go past it |
//! | evict | Acquire: with the consumer's Release, as above and below. Release: with the Acquire of whoever loads the word: `installed` is seen not to be behind it |
//! | leave | Release: with the producer's Acquire: the head of the idle chunks, which the consumer has moved before, is seen by a producer that counts the chunk as gone |

use crate::primitive::{AtomicWide, Ordering, Wide, load_wide_before_write, narrow};

/// The word.
pub(super) struct Taken(AtomicWide);

/// What it said at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(Wide);

/// The bit of a chunk that is held.
const HELD: Wide = 1;
/// One chunk further.
const NEXT: Wide = 2;

impl Seen {
    /// Whether the consumer holds a chunk.
    pub(super) fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    /// Chunks before `installed` that nobody has taken.
    pub(super) fn untaken(self, installed: usize) -> usize {
        // A sequence number lacks its highest bit here, and a ring has fewer chunks than that.
        installed.wrapping_sub(narrow(self.0 >> 1)) & (usize::MAX >> 1)
    }

    /// Chunks in traffic: those, and the one that is held.
    pub(super) fn in_traffic(self, installed: usize) -> usize {
        self.untaken(installed) + usize::from(self.is_held())
    }
}

impl Taken {
    /// As long as no chunk has been installed since `seq`, and none is held.
    pub(super) fn new(seq: usize) -> Self {
        Taken(AtomicWide::new((seq as Wide) << 1))
    }

    pub(super) fn load(&self) -> Seen {
        // Acquire: pairs with the Release exchanges below.
        Seen(load_wide_before_write(&self.0, Ordering::Acquire))
    }

    /// What it says, for whoever only counts.
    pub(super) fn peek(&self) -> Seen {
        // Relaxed: a count of the moment.
        Seen(load_wide_before_write(&self.0, Ordering::Relaxed))
    }

    /// The consumer, which has given back the one it held, takes the oldest chunk, unless the word has changed since.
    pub(super) fn enter(&self, seen: Seen) -> bool {
        let held = seen.0.wrapping_add(NEXT) | HELD;
        // Release: pairs with the producer's Acquire, so that the loads of the entry, which come before,
        // cannot see what the producer writes there after that.
        self.0
            .compare_exchange(seen.0, held, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// The producer takes the oldest chunk, unless the word has changed since.
    pub(super) fn evict(&self, seen: Seen) -> bool {
        let next = seen.0.wrapping_add(NEXT);
        // Acquire: pairs with the consumer's Release exchanges. Release: pairs with the Acquire in
        // `load`.
        self.0
            .compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// The consumer has done with the chunk that it holds.
    pub(super) fn leave(&self) {
        // Release: pairs with the producer's Acquire.
        let before = self.0.fetch_sub(HELD, Ordering::Release);
        debug_assert!(Seen(before).is_held(), "a chunk is held");
    }

    /// Whether the word is what it was, and so whatever the consumer has read of entries since belongs to
    /// chunks that nobody has taken.
    pub(super) fn is_still(&self, seen: Seen) -> bool {
        // Release: as in `enter`, which a load could not do.
        self.0
            .compare_exchange(seen.0, seen.0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// No chunk is left before `installed`, and both halves are gone.
    pub(super) fn end(&self, installed: usize) {
        // Relaxed: counts alone are left to be read.
        self.0.store((installed as Wide) << 1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_across_every_wrap_around() {
        for base in [0, 7, usize::MAX >> 1, usize::MAX] {
            for seq in (0..4).map(|more| base.wrapping_sub(2).wrapping_add(more)) {
                let taken = Taken::new(seq);
                let installed = seq.wrapping_add(3);
                assert_eq!(taken.load().untaken(installed), 3);
                assert!(taken.enter(taken.load()) && taken.evict(taken.load()));
                let seen = taken.load();
                assert!(seen.is_held() && !taken.evict(Taken::new(seq).load()));
                assert_eq!(
                    (seen.untaken(installed), seen.in_traffic(installed)),
                    (1, 2)
                );
                taken.leave();
                assert_eq!(taken.load().in_traffic(installed), 1);
            }
        }
    }
}
