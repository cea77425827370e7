//! The two words that everything turns on: where the next claim goes, and which chunk is the oldest.
//!
//! ```text
//!  tail    [ sequence : 38 | closed : 1 | index : 25 ]
//!  taken   [ sequence : 38 | .. | detached | locked | busy | held ]
//! ```
//!
//! The index of a chunk of `len` slots runs from `CLOSED - len` on, so that a claim of the last slot
//! carries into the closed bit: **a claim is valid exactly if the closed bit was clear before it**, and
//! nothing need be looked up to know that. Lengths are powers of two, so the slot is the index's low
//! bits.
//!
//! A claim that came too late leaves the index larger than it was. Every producer looks at the tail
//! before it claims again, so there is at most one such claim for each of them, and they never carry
//! into the sequence number: [`MAX_PRODUCERS`] is less than `CLOSED`.

const INDEX_BITS: u32 = 26;

/// Set while no slot of the chunk can be claimed.
const CLOSED: u64 = 1 << (INDEX_BITS - 1);
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
const SEQ_MASK: u64 = (1 << (64 - INDEX_BITS)) - 1;

/// The longest chunk, so that its first index is not negative.
pub(super) const MAX_CHUNK_LEN: usize = 1 << (INDEX_BITS - 2);

/// Producers that there can be at once.
pub(super) const MAX_PRODUCERS: usize = 1 << (INDEX_BITS - 2);

/// A chunk's sequence number. 38 bits of it count, so a thread would have to sleep in the middle of a
/// call for 2^38 chunks, at least an hour's work, to take one for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seq(u64);

impl Seq {
    /// The lowest bits of `number`, or the highest numbers for the highest ones, however long a word is.
    pub(super) fn new(number: usize) -> Self {
        Seq(number as isize as i64 as u64 & SEQ_MASK)
    }

    pub(super) fn add(self, count: usize) -> Self {
        Seq(self.0.wrapping_add(count as u64) & SEQ_MASK)
    }

    pub(super) fn next(self) -> Self {
        self.add(1)
    }

    /// How many chunks `self` is ahead of `other`; negative where it is behind.
    #[allow(clippy::cast_possible_wrap)]
    pub(super) fn ahead_of(self, other: Self) -> isize {
        ((self.0.wrapping_sub(other.0) << INDEX_BITS) as i64 >> INDEX_BITS) as isize
    }

    /// How often sequence numbers have come half round, modulo two.
    #[inline(always)]
    pub(super) fn half(self) -> usize {
        (self.0 >> (63 - INDEX_BITS)) as usize
    }

    /// The low bits.
    #[inline(always)]
    pub(super) fn low(self) -> usize {
        self.0 as usize
    }
}

/// Where the next claim goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail(pub(super) u64);

impl Tail {
    /// The first slot of a chunk of `1 << log2`.
    pub(super) fn open(seq: Seq, log2: u32) -> Self {
        Tail(seq.0 << INDEX_BITS | (CLOSED - (1 << log2)))
    }

    /// No slot of the chunk.
    pub(super) fn closed(seq: Seq) -> Self {
        Tail(seq.0 << INDEX_BITS | CLOSED)
    }

    #[inline(always)]
    pub(super) fn is_open(self) -> bool {
        self.0 & CLOSED == 0
    }

    #[inline(always)]
    pub(super) fn seq(self) -> Seq {
        Seq(self.0 >> INDEX_BITS)
    }

    /// Slots that are left, of an open chunk.
    pub(super) fn room(self) -> usize {
        (CLOSED - (self.0 & INDEX_MASK)) as usize
    }

    /// The next slot's index in its chunk of `mask + 1`.
    #[inline(always)]
    pub(super) fn index(self, mask: usize) -> usize {
        self.0 as usize & mask
    }

    /// Slots from `first`, a chunk's first, to this: the slot's index in that chunk where it is one of it, and
    /// otherwise not less than its length.
    #[inline(always)]
    pub(super) fn since(self, first: Self) -> usize {
        usize::try_from(self.0.wrapping_sub(first.0)).unwrap_or(usize::MAX)
    }

    /// After a claim of `count` slots, which must be left.
    pub(super) fn after(self, count: usize) -> Self {
        Tail(self.0 + count as u64)
    }
}

/// The consumer has a chunk that it has taken, and reads it.
pub(super) const HELD: u64 = 1;
/// The consumer is giving its chunk back.
pub(super) const BUSY: u64 = 2;
/// Somebody looks at the oldest chunk, or at the held one, which stay where they are meanwhile.
pub(super) const LOCKED: u64 = 4;
/// The held chunk is no longer in its entry.
pub(super) const DETACHED: u64 = 8;
const STATE_BITS: u32 = 4;

/// Which chunk is the oldest that the consumer has not taken, and what is going on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken(pub(super) u64);

impl Taken {
    pub(super) fn new(seq: Seq, state: u64) -> Self {
        Taken(seq.0 << STATE_BITS | state)
    }

    pub(super) fn seq(self) -> Seq {
        Seq(self.0 >> STATE_BITS & SEQ_MASK)
    }

    pub(super) fn has(self, state: u64) -> bool {
        self.0 & state != 0
    }

    pub(super) fn with(self, state: u64) -> Self {
        Taken(self.0 | state)
    }

    pub(super) fn without(self, state: u64) -> Self {
        Taken(self.0 & !state)
    }

    /// Goes on to the next chunk, and leaves the state as it is.
    pub(super) fn advanced(self) -> Self {
        Taken::new(self.seq().next(), self.0 & ((1 << STATE_BITS) - 1))
    }

    /// Chunks in traffic that are older than `next`, the one that the consumer has included.
    pub(super) fn chunks_before(self, next: Seq) -> isize {
        next.ahead_of(self.seq()) + isize::from(self.has(HELD | BUSY))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_slots_claim_closes_the_chunk() {
        for log2 in [0, 1, 7, 24] {
            let first = Tail::open(Seq::new(5), log2);
            assert!(first.is_open());
            assert_eq!(first.room(), 1 << log2);
            assert_eq!(first.index((1 << log2) - 1), 0);
            let last = first.after((1 << log2) - 1);
            assert!(last.is_open());
            assert_eq!(last.room(), 1);
            assert_eq!(last.index((1 << log2) - 1), (1 << log2) - 1);
            assert!(!last.after(1).is_open());
            assert_eq!(last.after(1).seq(), Seq::new(5));
        }
    }

    #[test]
    fn claims_that_come_too_late_do_not_reach_the_sequence_number() {
        let closed = Tail::closed(Seq::new(5));
        assert_eq!(closed.after(MAX_PRODUCERS).seq(), Seq::new(5));
        assert!(!closed.after(MAX_PRODUCERS).is_open());
        let full = Tail::open(Seq::new(5), 24).after(1 << 24);
        assert_eq!(full.after(MAX_PRODUCERS).seq(), Seq::new(5));
        assert!(!full.after(MAX_PRODUCERS).is_open());
    }

    #[test]
    fn sequence_numbers_wrap() {
        let last = Seq::new(usize::MAX);
        assert_eq!(last.next(), Seq::new(0));
        assert_eq!(last.next().ahead_of(last), 1);
        assert_eq!(last.ahead_of(last.next()), -1);
        assert_eq!(Tail::open(last, 3).seq(), last);
        assert_eq!(
            Taken::new(last, HELD | LOCKED).advanced().seq(),
            Seq::new(0)
        );
        assert_eq!(Taken::new(last, HELD).chunks_before(last.add(3)), 4);
    }
}
