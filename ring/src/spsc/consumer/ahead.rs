//! How far the producer has been ahead lately: as many idle chunks are worth keeping.
//!
//! Idle chunks go round in the order in which they came back. So a ring that once had many in traffic, and now has one or
//! two, would write through all of its memory again and again, and out of the nearest cache. What is kept is what was
//! needed lately, so the chunks of a burst stay as long as bursts come.

/// Chunks after which what was seen before them is forgotten: as many as the shortest ones of those that a ring
/// keeps.
const SPAN: usize = 64;

/// The most slots that were ahead at the beginning of a chunk, over the last one or two spans.
#[derive(Default)]
pub(super) struct Ahead {
    most: usize,
    /// The same of the span before.
    before: usize,
    /// Chunks of this span.
    chunks: usize,
}

impl Ahead {
    /// A chunk begins, and so many slots are known to be in use from there on.
    pub(super) fn see(&mut self, slots: usize) {
        if self.chunks == SPAN {
            *self = Ahead {
                before: self.most,
                ..Ahead::default()
            };
        }
        self.chunks += 1;
        self.most = self.most.max(slots);
    }

    pub(super) fn most(&self) -> usize {
        self.most.max(self.before)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_remembered_for_a_span_and_forgotten_after_two() {
        let mut ahead = Ahead::default();
        assert_eq!(ahead.most(), 0);
        for start in 0..SPAN {
            let mut ahead = Ahead::default();
            (0..start).for_each(|_| ahead.see(1));
            ahead.see(1000);
            (0..SPAN).for_each(|_| ahead.see(2));
            assert_eq!(ahead.most(), 1000, "{start}");
            (0..SPAN).for_each(|_| ahead.see(3));
            assert_eq!(ahead.most(), 3, "{start}");
        }
        // Bursts of as many chunks as are kept, one after the other.
        for _ in 0..10 {
            (0..SPAN).rev().for_each(|left| ahead.see(left + 1));
            assert_eq!(ahead.most(), SPAN);
        }
    }
}
