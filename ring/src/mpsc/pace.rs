//! How long both sides keep away from cache lines that another thread is at work on.
//!
//! A line that two threads write in turn, or that one writes and the other reads, goes to and fro between their
//! cores, and each way costs as much as some ten items do. So it is less work for all where a thread leaves
//! the line to the other for a while, and then has many items to do at once. What is done here is only to
//! pause, for a bounded number of times: nobody waits for anybody, and nothing depends on it.

use super::word::{Seq, Tail};
use crate::primitive::{AtomicU64, Ordering, PAUSES_COUNT, pause};

/// How far a look goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the end of the line of flags in which something is. Producers are most likely at work in the next one, which
    /// a look at it would take away from them.
    Line,
    /// As far as there is anything.
    All,
}

/// Runs that make a look at a chunk of so many slots worth the while: as many as have their flags in one line, or half of
/// that where they would be all that a chunk has.
const fn many(chunk_len: usize) -> usize {
    if chunk_len < 128 { 32 } else { 64 }
}

/// Runs beyond which a look is put off less. In between, it is put off as long as before.
const ENOUGH: usize = 96;

/// Pauses that a look is put off at most.
const MOST_BEFORE_A_LOOK: u32 = 32;

/// Pauses that a look at one line is put off more after one that has found the line being filled.
const MORE: u32 = 6;

/// Pauses that a look at one line is put off less after one that has found the line full. So one in seven looks comes too
/// early, and takes the line away from whoever fills it. Were it one in nine, short chunks would be come to late instead.
const LESS: u32 = 1;

/// Looks that are put off, of which one finds out whether that is of any use.
const CHECK: u32 = 64;

/// Looks that are not put off after it was of no use, as a power of two: at the most.
const MAX_RESTS: u32 = 10;

/// The consumer's looks at a chunk that is being filled: put off where each finds some runs, but few, so that
/// the producers are at work just there. Where one thread has both halves they are not, though its looks find
/// the same: then nothing comes during the pauses, and the next looks are done without, twice as many each time.
#[derive(Default)]
pub(super) struct Looks {
    pauses: u32,
    /// Looks that are still to be put off before one finds out again.
    unchecked: u32,
    /// Looks that are still not to be put off.
    rest: u32,
    /// How often in a row nothing has come during the pauses.
    in_vain: u32,
}

impl Looks {
    /// Whether a look is to be put off, of which nothing is known to be there.
    #[inline]
    pub(super) fn are_put_off(&self) -> bool {
        self.pauses != 0 && PAUSES_COUNT
    }

    /// Whether there is to be a look before the pauses, too, so that one sees what they are good for. Where a look goes
    /// as far as there is anything, only once it is put off as long as can be.
    #[inline]
    pub(super) fn are_checked(&mut self, reach: Reach) -> bool {
        if reach == Reach::All && self.pauses < MOST_BEFORE_A_LOOK {
            return false;
        }
        let now = self.unchecked == 0;
        self.unchecked = if now { CHECK } else { self.unchecked } - 1;
        now
    }

    /// Tells that the look before the pauses has come as far as it could, and so says nothing of them: the next one is
    /// to be such a look instead.
    #[inline]
    pub(super) fn check_again(&mut self) {
        self.unchecked = 0;
    }

    #[inline]
    pub(super) fn pause(&self) {
        for _ in 0..self.pauses {
            pause();
        }
    }

    /// Tells whether more was there after the pauses than before.
    pub(super) fn learn(&mut self, more: bool) {
        if more {
            self.in_vain = 0;
        } else {
            self.in_vain = (self.in_vain + 1).min(MAX_RESTS);
            self.rest = 1 << self.in_vain;
            self.pauses = 0;
            self.unchecked = 0;
        }
    }

    /// Tells of a look that has found something: how many runs, in a chunk of how many slots, and whether it has come
    /// as far as it could.
    #[inline]
    pub(super) fn found(&mut self, reach: Reach, runs: usize, chunk_len: usize, full: bool) {
        if self.rest != 0 {
            self.rest -= 1;
            return;
        }
        if runs < 2 {
            // Whoever answers item by item is not to wait.
            self.pauses = 0;
            return;
        }
        self.pauses = match reach {
            Reach::Line if full => self.pauses.saturating_sub(LESS),
            Reach::Line => (self.pauses + MORE).min(MOST_BEFORE_A_LOOK),
            Reach::All if runs > ENOUGH => self.pauses / 2,
            // Whoever takes complete chunks is not to wait for what a pop has found once.
            Reach::All if full => self.pauses.saturating_sub(LESS),
            Reach::All if runs < many(chunk_len) => (2 * self.pauses).clamp(1, MOST_BEFORE_A_LOOK),
            Reach::All => self.pauses,
        };
    }

    /// Tells of a look that has found nothing.
    #[inline]
    pub(super) fn found_nothing(&mut self) {
        self.pauses /= 2;
    }
}

/// Pauses in which a producer that meets others finds out whether they are at work right now, and slots that must be
/// claimed meanwhile.
const GLANCE: (u32, u64) = (8, 3);

/// Pauses that a producer is away for at a time, and slots that others must claim meanwhile for it to stay away.
const AWAY: (u32, u64) = (128, 128);

/// How often in a row it stays away.
const TIMES_AWAY: u32 = 4;

/// Slots that are claimed, by whomever, before a producer that is back, or has found nobody at work, looks again.
const BURST: u64 = 4;

/// A producer's turns at the tail, where several are at work at once: each leaves it to the others for a while
/// after it has claimed some slots. All that it has claimed is answered by then, so no item waits for that.
pub(super) struct Turns {
    /// What the next of its claims that are looked at finds if it is alone.
    expected: Tail,
    /// The tail when it was last back.
    back: Tail,
}

impl Turns {
    pub(super) fn new() -> Self {
        let none = Tail::closed(Seq::new(0));
        Turns {
            expected: none,
            back: none,
        }
    }

    /// To be called when the claim of the one slot at `claim` has been answered, if that is one of the slots that
    /// are looked at: every `every`th of a chunk, a power of two.
    #[inline(always)]
    pub(super) fn answered(&mut self, claim: Tail, every: usize, tail: &AtomicU64) {
        if !PAUSES_COUNT {
            return;
        }
        // Relaxed: only compared. The line is this thread's since the claim, unless there are others. Two that claim in
        // turn may find what they expect all the same, since the slots that are looked at are then one's.
        let now = tail.load(Ordering::Relaxed);
        if claim != self.expected || now != claim.after(1).0 {
            self.met_others(claim, now, tail);
        }
        self.expected = claim.after(every);
    }

    /// To be called with the tail after a claim of any other kind.
    #[inline(always)]
    pub(super) fn claimed(&mut self, after: Tail, every: usize) {
        // A chunk's first slot is a multiple, unless the chunk is shorter: then no other slot of it is looked at.
        self.expected = Tail(after.0.next_multiple_of(every as u64));
    }

    #[cold]
    #[inline(never)]
    fn met_others(&mut self, claim: Tail, now: u64, tail: &AtomicU64) {
        if !self.is_due(claim, now) {
            return;
        }
        self.back = claim;
        // Of two that meet, the one that looks later finds that the other has gone away, and stays. Were both away,
        // nothing would be done.
        if slots_claimed_in(GLANCE.0, claim, tail) < GLANCE.1 {
            return;
        }
        self.stay_away(|from| slots_claimed_in(AWAY.0, from, tail));
    }

    /// Comes back where others have stopped, or are away themselves, or it has been away for long. What is given tells
    /// how many slots they claim from a tail on, in the meantime.
    fn stay_away(&mut self, mut claimed: impl FnMut(Tail) -> u64) {
        for _ in 0..TIMES_AWAY {
            let now = claimed(self.back);
            self.back = Tail(self.back.0.wrapping_add(now));
            if now < AWAY.1 {
                break;
            }
        }
    }

    /// Whether there is a sign of others, and it is this producer's turn to find out whether it should go away.
    fn is_due(&self, claim: Tail, now: u64) -> bool {
        // A chunk's first claim is none by itself.
        (claim.seq() == self.expected.seq() || now != claim.after(1).0)
            && claim.0.wrapping_sub(self.back.0) >= BURST
    }
}

/// How far `tail` is beyond `claim` after so many pauses; very far where it is in another chunk.
fn slots_claimed_in(pauses: u32, claim: Tail, tail: &AtomicU64) -> u64 {
    for _ in 0..pauses {
        pause();
    }
    // Relaxed: only compared.
    tail.load(Ordering::Relaxed).wrapping_sub(claim.0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn looks_are_put_off_only_while_each_finds_some() {
        for (len, many) in [(32, 32), (64, 32), (128, 64), (1 << 20, 64)] {
            let mut looks = Looks::default();
            looks.found(Reach::All, 1, len, false);
            looks.found(Reach::All, many, len, false);
            looks.found(Reach::All, many - 1, len, true);
            assert_eq!(looks.pauses, 0, "one, many, or all of {len}");
            looks.found(Reach::All, 2, len, false);
            assert_eq!(looks.pauses, 1);
            for _ in 0..40 {
                looks.found(Reach::All, many - 1, len, false);
            }
            assert_eq!(looks.pauses, MOST_BEFORE_A_LOOK);
            looks.found(Reach::All, ENOUGH, len, false);
            assert_eq!(looks.pauses, MOST_BEFORE_A_LOOK);
            looks.found(Reach::All, ENOUGH + 1, len, false);
            assert_eq!(looks.pauses, MOST_BEFORE_A_LOOK / 2);
            for _ in 0..MOST_BEFORE_A_LOOK.ilog2() {
                looks.found_nothing();
            }
            assert_eq!(looks.pauses, 0);
            looks.found(Reach::All, 2, len, false);
            looks.found(Reach::All, 1, len, false);
            assert_eq!(looks.pauses, 0);
        }
    }

    #[test]
    fn complete_chunks_are_not_waited_for_because_a_pop_has_found_few() {
        let mut looks = Looks::default();
        looks.found(Reach::Line, 2, 128, false);
        assert_eq!(looks.pauses, MORE);
        for _ in 0..MORE {
            looks.found(Reach::All, 90, 128, true);
        }
        assert_eq!(looks.pauses, 0);
    }

    #[test]
    fn looks_are_hardly_put_off_where_nothing_comes_meanwhile() {
        let mut looks = Looks::default();
        let rounds = 100_000;
        let mut pauses = 0;
        for _ in 0..rounds {
            if looks.are_put_off() {
                pauses += looks.pauses;
                if looks.are_checked(Reach::All) {
                    looks.learn(false);
                    continue;
                }
            }
            looks.found(Reach::All, 10, 128, false);
        }
        assert!((1_000..=10_000).contains(&pauses), "{pauses} pauses");
        while !(looks.are_put_off() && looks.are_checked(Reach::All)) {
            looks.found(Reach::All, 10, 128, false);
        }
        looks.learn(true);
        assert_eq!(looks.pauses, MOST_BEFORE_A_LOOK, "it goes on where it pays");
        let unchecked = (0..).take_while(|_| !looks.are_checked(Reach::All)).count();
        assert_eq!(unchecked, CHECK as usize - 1);
        looks.learn(false);
        assert_eq!((looks.pauses, looks.rest), (0, 2), "a new beginning");
    }

    #[test]
    fn looks_at_a_line_are_put_off_until_most_find_it_full() {
        let mut looks = Looks::default();
        looks.found(Reach::Line, 1, 128, false);
        looks.found(Reach::Line, 64, 128, true);
        assert_eq!(looks.pauses, 0, "one, or all of the line");
        looks.found(Reach::Line, 63, 128, false);
        assert_eq!(looks.pauses, MORE);
        looks.found(Reach::Line, 64, 128, true);
        assert_eq!(looks.pauses, MORE - LESS);
        for _ in 0..40 {
            looks.found(Reach::Line, 2, 128, false);
        }
        assert_eq!(looks.pauses, MOST_BEFORE_A_LOOK);
        looks.found(Reach::Line, 1, 128, true);
        assert_eq!(
            looks.pauses, 0,
            "whoever answers item by item does not wait"
        );
    }

    #[test]
    fn looks_at_a_line_are_hardly_put_off_where_nothing_comes_meanwhile() {
        // A thread that puts some items in and takes them out again; every other look finds the end of a line.
        for every in [1, 2, 3, 16, 17] {
            let mut looks = Looks::default();
            let mut pauses = 0;
            for look in 0..100_000 {
                let full = look % every == every - 1 && every != 1;
                if looks.are_put_off() {
                    if looks.are_checked(Reach::Line) {
                        if full {
                            looks.check_again();
                        } else {
                            pauses += looks.pauses;
                            looks.learn(false);
                            continue;
                        }
                    } else {
                        pauses += looks.pauses;
                    }
                }
                looks.found(Reach::Line, 10, 128, full);
            }
            assert!(pauses <= 10_000, "{pauses} pauses, 1 of {every} full");
        }
    }

    /// What a producer does whose claim is looked at, and whose tail is `now` slots beyond that, and stays there.
    fn answer(turns: &mut Turns, claim: Tail, now: u64) -> Tail {
        turns.answered(claim, 1, &AtomicU64::new(claim.0 + now));
        turns.back
    }

    #[test]
    fn a_producer_goes_away_only_from_others_that_are_at_work() {
        let mut turns = Turns::new();
        let none = turns.back;
        // Alone, over the end of a chunk.
        let first = Tail::open(Seq::new(7), 10);
        for index in 0..1 << 10 {
            assert_eq!(answer(&mut turns, first.after(index), 1), none);
        }
        let first = Tail::open(Seq::new(8), 10);
        assert_eq!(answer(&mut turns, first, 1), none);
        // Others have claimed since, but do nothing now; so it does not look again at once.
        assert_eq!(answer(&mut turns, first.after(16), 1), first.after(16));
        assert_eq!(answer(&mut turns, first.after(19), 500), first.after(16));
        // They are at work, and stop then.
        assert_eq!(answer(&mut turns, first.after(64), 200), first.after(264));
        assert_eq!(answer(&mut turns, first.after(267), 200), first.after(264));
        // Fewer than it would stay away from, but it was away once.
        assert_eq!(answer(&mut turns, first.after(301), 3), first.after(304));
    }

    #[test]
    fn a_producer_is_away_as_long_as_others_are_at_work_and_not_for_ever() {
        let first = Tail::open(Seq::new(7), 12);
        for (at_work, times) in [(0, 1), (1, 2), (3, 4), (4, 4), (9, 4)] {
            let mut turns = Turns::new();
            turns.back = first;
            let mut asked = 0;
            turns.stay_away(|from| {
                assert_eq!(from, first.after(asked * 200));
                asked += 1;
                if asked <= at_work { 200 } else { AWAY.1 - 1 }
            });
            assert_eq!(
                asked, times,
                "others are at work for {at_work} times as long"
            );
        }
        // What is promised of a push.
        assert_eq!(GLANCE.0 + TIMES_AWAY * AWAY.0, 520);
    }

    #[test]
    fn others_are_met_that_claim_in_turn() {
        let first = Tail::open(Seq::new(7), 10);
        let mut turns = Turns::new();
        let none = turns.back;
        for index in 0..32 {
            assert_eq!(answer(&mut turns, first.after(index), 1), none);
        }
        // Nobody has claimed the slot that this one expects, but many those behind it.
        assert_eq!(turns.expected, first.after(32));
        assert_eq!(answer(&mut turns, first.after(32), 200), first.after(232));
        // The same at a chunk's first slot.
        let first = Tail::open(Seq::new(8), 10);
        assert_eq!(answer(&mut turns, first, 200), first.after(200));
    }

    #[test]
    fn a_producer_that_is_alone_finds_what_it_expects() {
        let first = Tail::open(Seq::new(7), 14);
        // What a chunk's first push expects.
        let mut turns = Turns::new();
        let none = turns.back;
        turns.claimed(first, 8);
        let (mut claim, mut looks) = (first, 0);
        for run in (0..40).cycle().take(80) {
            // A run of slots, as a record takes them, and as many single ones.
            claim = claim.after(run);
            turns.claimed(claim, 8);
            for _ in 0..run {
                if claim.since(first) % 8 == 0 {
                    assert_eq!(claim, turns.expected);
                    turns.answered(claim, 8, &AtomicU64::new(claim.after(1).0));
                    assert_eq!(turns.back, none);
                    looks += 1;
                }
                claim = claim.after(1);
            }
        }
        assert!(looks > 150, "{looks} looks");
    }
}
