//! The same for the ring for several producers.

use crate::Fate::{BeyondLoom, Equivalent, KilledBy, KilledByPlain};
use crate::Mutant;

const FLAGS: &str = "ring/src/mpsc/flags.rs";
const IDLE: &str = "ring/src/mpsc/idle.rs";
const WORD: &str = "ring/src/mpsc/word.rs";
const SHARED: &str = "ring/src/mpsc/shared.rs";
const PRODUCER: &str = "ring/src/mpsc/producer.rs";
const CONSUMER: &str = "ring/src/mpsc/consumer.rs";

/// In the order of the sources, so that a missing one shows.
pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "mpsc_item_relaxed",
        file: FLAGS,
        find: ".store(ITEM, Ordering::Release)",
        nth: None,
        replace: ".store(ITEM, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "the consumer reads a slot before its item is there",
    },
    Mutant {
        name: "mpsc_end_relaxed",
        file: FLAGS,
        find: ".store(END, Ordering::Release)",
        nth: None,
        replace: ".store(END, Ordering::Relaxed)",
        bound: 2,
        fate: BeyondLoom,
        why: "the flag is cleared, or freed, by a plain write, which must come after this store; under loom it is cleared by an atomic one",
    },
    Mutant {
        name: "mpsc_mark_relaxed",
        file: FLAGS,
        find: ".store(mark, Ordering::Release)",
        nth: None,
        replace: ".store(mark, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_waits_for_every_answer"]),
        why: "the consumer reads slots before their items are there",
    },
    Mutant {
        name: "mpsc_flag_load_relaxed",
        file: FLAGS,
        find: "let mark = unsafe { self.flag(index) }.load(Ordering::Acquire);",
        nth: None,
        replace: "let mark = unsafe { self.flag(index) }.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_waits_for_every_answer"]),
        why: "the consumer reads a slot before its item is there",
    },
    Mutant {
        name: "mpsc_flags_at_once_relaxed",
        file: FLAGS,
        find: "all &= unsafe { self.flag(at + offset) }.load(Ordering::Acquire);",
        nth: None,
        replace: "all &= unsafe { self.flag(at + offset) }.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_publication::items_of_two_producers_are_seen_whole"]),
        why: "the consumer reads slots before their items are there",
    },
    Mutant {
        name: "mpsc_last_flags_relaxed",
        file: FLAGS,
        find: "unsafe { self.flag(at) }.load(Ordering::Acquire) == ITEM",
        nth: None,
        replace: "unsafe { self.flag(at) }.load(Ordering::Relaxed) == ITEM",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "the consumer reads a slot before its item is there",
    },
    Mutant {
        name: "mpsc_skip_taken_for_an_item",
        file: FLAGS,
        find: "SKIP => Run::Skips(1)",
        nth: None,
        replace: "SKIP => Run::Items(1)",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "a slot that was left unused is read",
    },
    Mutant {
        name: "mpsc_skips_taken_for_items",
        file: FLAGS,
        find: "SKIPS => Run::Skips(",
        nth: None,
        replace: "SKIPS => Run::Items(",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_grant_goes_while_the_consumer_does"]),
        why: "slots that were left unused are read",
    },
    Mutant {
        name: "mpsc_end_taken_for_one_slot",
        file: FLAGS,
        find: "Run::End => Ok((false, self.len - index))",
        nth: None,
        replace: "Run::End => Ok((false, 1))",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::a_chunk_is_sealed_with_most_of_it_unused"]),
        why: "the rest of a chunk that ended early is waited for",
    },
    Mutant {
        name: "mpsc_pending_passed_over",
        file: FLAGS,
        find: "            Run::Pending if self.quiet => Ok((false, 1)),
            Run::Pending => Err(()),
",
        nth: None,
        replace: "            Run::Pending => Ok((false, 1)),
",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "an item is forgotten that comes later",
    },
    Mutant {
        name: "mpsc_quiet_waits",
        file: FLAGS,
        find: "Run::Pending if self.quiet",
        nth: None,
        replace: "Run::Pending if false",
        bound: 2,
        fate: Equivalent,
        why: "when the producers are gone every claim is answered and the last chunk is sealed, unless no slot of it was claimed: then nothing is missed in it",
    },
    Mutant {
        name: "mpsc_run_of_one_slot_less",
        file: FLAGS,
        find: "ITEMS => Run::Items(unsafe { self.length(index) })",
        nth: None,
        replace: "ITEMS => Run::Items(unsafe { self.length(index) } - 1)",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "the last item of a grant is never found",
    },
    Mutant {
        name: "mpsc_spare_put_relaxed",
        file: IDLE,
        find: "                pack_idle(first, len),
                Ordering::Release,
",
        nth: None,
        replace: "                pack_idle(first, len),
                Ordering::Relaxed,
",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::memory_that_is_refused_is_told_by_both"]),
        why: "a spare chunk is used before it was read",
    },
    Mutant {
        name: "mpsc_spare_put_over_another",
        file: IDLE,
        find: "            let put = spare.compare_exchange(
                ptr::null_mut(),
                pack_idle(first, len),
                Ordering::Release,
                Ordering::Relaxed,
            );
            if put.is_ok() {",
        nth: None,
        replace: "            spare.store(pack_idle(first, len), Ordering::Release);
            if true {",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_trim_at_once"]),
        why: "a spare chunk is leaked",
    },
    Mutant {
        name: "mpsc_spare_take_relaxed",
        file: IDLE,
        find: "spare.swap(ptr::null_mut(), Ordering::Acquire)",
        nth: None,
        replace: "spare.swap(ptr::null_mut(), Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::memory_that_is_refused_is_told_by_both"]),
        why: "a spare chunk is used before it was read",
    },
    Mutant {
        name: "mpsc_spare_take_load_then_store",
        file: IDLE,
        find: "let taken = spare.swap(ptr::null_mut(), Ordering::Acquire);",
        nth: None,
        replace: "let taken = spare.load(Ordering::Acquire);
            spare.store(ptr::null_mut(), Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_trim_at_once"]),
        why: "two threads own the same spare chunk",
    },
    Mutant {
        name: "mpsc_idle_count_own_relaxed",
        file: IDLE,
        find: "let taken = self.taken.load(Ordering::Acquire);",
        nth: None,
        replace: "let taken = self.taken.load(Ordering::Relaxed);",
        bound: 2,
        fate: BeyondLoom,
        why: "the consumer could write an entry that another thread, which moved `taken` past it, still loads: that load would see a store that is younger than itself, and loom runs stores in order",
    },
    Mutant {
        name: "mpsc_idle_put_relaxed",
        file: IDLE,
        find: "self.put.store(put.wrapping_add(1), Ordering::Release)",
        nth: None,
        replace: "self.put.store(put.wrapping_add(1), Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::a_chunk_behind_the_spare_one_is_used_when_it_was_read"]),
        why: "an idle chunk is taken before its entry is there, or before it was read",
    },
    Mutant {
        name: "mpsc_idle_take_put_relaxed",
        file: IDLE,
        find: "let put = self.put.load(Ordering::Acquire);",
        nth: None,
        replace: "let put = self.put.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::a_chunk_behind_the_spare_one_is_used_when_it_was_read"]),
        why: "an idle chunk is taken before its entry is there, or before it was read",
    },
    Mutant {
        name: "mpsc_idle_take_release_relaxed",
        file: IDLE,
        find: "                taken.wrapping_add(1),
                Ordering::Release,
",
        nth: None,
        replace: "                taken.wrapping_add(1),
                Ordering::Relaxed,
",
        bound: 2,
        fate: BeyondLoom,
        why: "as above",
    },
    Mutant {
        name: "mpsc_idle_take_load_then_store",
        file: IDLE,
        find: "            match self.taken.compare_exchange(
                taken,
                taken.wrapping_add(1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_)",
        nth: None,
        replace: "            self.taken.store(taken.wrapping_add(1), Ordering::Release);
            match Ok::<usize, usize>(taken) {
                Ok(_)",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_trim_at_once"]),
        why: "two threads own the same idle chunk",
    },
    Mutant {
        name: "mpsc_idle_not_taken_off",
        file: IDLE,
        find: "                taken.wrapping_add(1),
",
        nth: None,
        replace: "                taken,
",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_trim_at_once"]),
        why: "an idle chunk is used although it is in traffic already",
    },
    Mutant {
        name: "mpsc_idle_looked_up_after_the_exchange",
        file: IDLE,
        find: "                Ok(_) => return NonNull::new(first).map(|first| (first, len)),
",
        nth: None,
        replace: "                Ok(_) => {
                    let first = entry.first.load(Ordering::Relaxed);
                    return NonNull::new(first).map(|first| (first, len));
                }
",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::a_place_is_written_again_only_when_it_was_read"]),
        why: "the chunk that was put there meanwhile is taken, and taken again",
    },
    Mutant {
        name: "mpsc_idle_put_over_another",
        file: IDLE,
        find: "if self.table.is_empty() || self.count_own() >= self.table.len() {",
        nth: None,
        replace: "if self.table.is_empty() {",
        bound: 2,
        fate: Equivalent,
        why: "whoever gives a chunk back has counted the idle ones before, and the ring has no more chunks than there is room for",
    },
    Mutant {
        name: "mpsc_idle_taken_where_there_is_none",
        file: IDLE,
        find: "if (put.wrapping_sub(taken) as isize) <= 0 {",
        nth: None,
        replace: "if (put.wrapping_sub(taken) as isize) < 0 {",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_trim_at_once"]),
        why: "a chunk is taken that is in traffic already",
    },
    Mutant {
        name: "mpsc_busy_chunk_not_counted",
        file: WORD,
        find: "isize::from(self.has(HELD | BUSY))",
        nth: None,
        replace: "isize::from(self.has(HELD))",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::no_more_chunks_are_counted_than_there_are"]),
        why: "another chunk is taken while one is being given back",
    },
    Mutant {
        name: "mpsc_held_chunk_not_counted",
        file: WORD,
        find: "isize::from(self.has(HELD | BUSY))",
        nth: None,
        replace: "0",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::no_more_chunks_are_counted_than_there_are"]),
        why: "the ring has one chunk more than it may have",
    },
    Mutant {
        name: "mpsc_table_as_long_as_the_ring",
        file: SHARED,
        find: "let entries = 2 * plan.entries;",
        nth: None,
        replace: "let entries = plan.entries;",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::two_producers_need_the_chunk_just_read"]),
        why: "the next chunk needs the entry of the oldest",
    },
    Mutant {
        name: "mpsc_preallocated_not_idle",
        file: SHARED,
        find: "if let Err(first) = shared.idle.put(first, plan.chunk_len) {",
        nth: None,
        replace: "if let Err(first) = Err::<(), _>(first) {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::preallocated_chunks_are_used_and_used_again"]),
        why: "chunks that were made beforehand are not used",
    },
    Mutant {
        name: "mpsc_advance_consumer_gone_relaxed",
        file: SHARED,
        find: "if self.settings.consumer_gone.load(Ordering::Acquire) {",
        nth: None,
        replace: "if self.settings.consumer_gone.load(Ordering::Relaxed) {",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::what_the_consumer_did_before_its_end_is_seen"]),
        why: "the consumer is known to be gone, and what it did is not",
    },
    Mutant {
        name: "mpsc_advance_trusts_a_refusal",
        file: SHARED,
        find: "if now.seq() == tail.seq() && !now.is_open() {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: Equivalent,
        why: "it was true when it was looked at; the second look only makes it rarer",
    },
    Mutant {
        name: "mpsc_advance_for_nobody",
        file: SHARED,
        find: "if self.settings.consumer_gone.load(Ordering::Acquire) {",
        nth: None,
        replace: "if false && self.settings.consumer_gone.load(Ordering::Acquire) {",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::a_reservation_hears_of_the_consumers_end"]),
        why: "producers fill the ring for nobody",
    },
    Mutant {
        name: "mpsc_rounds_not_counted",
        file: SHARED,
        find: "if rounds & 1 != next.seq().half() {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: BeyondLoom,
        why: "as for mpsc_rounds_not_compared",
    },
    Mutant {
        name: "mpsc_open_relaxed",
        file: SHARED,
        find: "                next.0,
                Ordering::Release,
",
        nth: None,
        replace: "                next.0,
                Ordering::Relaxed,
",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "a claim does not see the chunk that it is in",
    },
    Mutant {
        name: "mpsc_open_load_then_store",
        file: SHARED,
        find: "            match self.tail.next.compare_exchange_weak(
                seen.0,
                next.0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,",
        nth: None,
        replace: "            self.tail.next.store(next.0, Ordering::Release);
            match Ok::<u64, u64>(seen.0) {
                Ok(_) => return true,",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "a chunk is opened again, and its slots are claimed twice",
    },
    Mutant {
        name: "mpsc_open_gives_up_after_a_late_claim",
        file: SHARED,
        find: "                Err(now) => seen = Tail(now),
            }
        }
        false",
        nth: None,
        replace: "                Err(_) => return false,
            }
        }
        false",
        bound: 2,
        fate: Equivalent,
        why: "the caller looks again",
    },
    Mutant {
        name: "mpsc_install_taken_relaxed",
        file: SHARED,
        find: "            // seen empty below, and idle chunks are there.
            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));",
        nth: None,
        replace: "            // seen empty below, and idle chunks are there.
            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::room_that_is_seen_has_its_chunk"]),
        why: "room is seen, and the idle chunk is not",
    },
    Mutant {
        name: "mpsc_install_entry_relaxed",
        file: SHARED,
        find: "let seen = load_ptr_before_write(entry, Ordering::Acquire);",
        nth: None,
        replace: "let seen = load_ptr_before_write(entry, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "whoever opens a chunk that another has installed does not pass on what that one did",
    },
    Mutant {
        name: "mpsc_install_ignores_the_lap",
        file: SHARED,
        find: "Entry::Chunk(chunk) if chunk.lap == self.lap(next) => {",
        nth: None,
        replace: "Entry::Chunk(chunk) if true => {",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_held_chunk_was_detached"]),
        why: "the chunk that the consumer holds is opened again",
    },
    Mutant {
        name: "mpsc_install_never_detaches",
        file: SHARED,
        find: "                    if self.detach(next)? {
                        continue;
                    }
                    return Ok(None);",
        nth: None,
        replace: "                    let _ = Self::detach;
                    return Err(Refused::Full);",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_with_an_unanswered_claim_is_not_detached"]),
        why: "one chunk that is held stops the ring after a round of its table",
    },
    Mutant {
        name: "mpsc_install_ignores_the_tag",
        file: SHARED,
        find: "Entry::Empty if seen != empty(next) => return Ok(None),",
        nth: None,
        replace: "Entry::Empty if false => return Ok(None),",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::sequence_numbers_come_round"]),
        why: "an old view of the tail installs a chunk a round too early",
    },
    Mutant {
        name: "mpsc_install_beyond_the_limit",
        file: SHARED,
        find: "taken.chunks_before(next) < self.limit()",
        nth: Some(1),
        replace: "taken.chunks_before(next) <= self.limit()",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "the ring has one chunk more than it may have",
    },
    Mutant {
        name: "mpsc_install_below_the_limit",
        file: SHARED,
        find: "taken.chunks_before(next) < self.limit()",
        nth: Some(1),
        replace: "taken.chunks_before(next) + 1 < self.limit()",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "full although a chunk is free",
    },
    Mutant {
        name: "mpsc_install_always_overwrites",
        file: SHARED,
        find: "} else if self.settings.policy() != Policy::Overwrite {",
        nth: None,
        replace: "} else if false {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "items are lost that the policy would refuse",
    },
    Mutant {
        name: "mpsc_install_never_overwrites",
        file: SHARED,
        find: "} else if self.settings.policy() != Policy::Overwrite {",
        nth: None,
        replace: "} else if true {",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_chunk_of_the_round_before_is_not_taken"]),
        why: "the newest items are refused",
    },
    Mutant {
        name: "mpsc_refused_memory_is_final",
        file: SHARED,
        find: "if load_ptr_before_write(entry, Ordering::Relaxed) == seen {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: Equivalent,
        why: "as above",
    },
    Mutant {
        name: "mpsc_install_relaxed",
        file: SHARED,
        find: "entry.compare_exchange(seen, pack(&chunk), Ordering::Release, Ordering::Relaxed);",
        nth: None,
        replace: "entry.compare_exchange(seen, pack(&chunk), Ordering::Relaxed, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "a chunk is used by somebody who does not see what its last owner did",
    },
    Mutant {
        name: "mpsc_install_load_then_store",
        file: SHARED,
        find: "entry.compare_exchange(seen, pack(&chunk), Ordering::Release, Ordering::Relaxed);",
        nth: None,
        replace: "{ entry.store(pack(&chunk), Ordering::Release); Ok::<*mut Slot<T>, *mut Slot<T>>(seen) };",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "a chunk takes the place of another, which is leaked",
    },
    Mutant {
        name: "mpsc_install_keeps_what_it_lost",
        file: SHARED,
        find: "            self.put(first, len);
        }
    }

    /// Takes the oldest chunk out",
        nth: None,
        replace: "            let _ = (first, len);
        }
    }

    /// Takes the oldest chunk out",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "the chunk of the producer that came second is leaked",
    },
    Mutant {
        name: "mpsc_evict_without_another_look_at_the_limit",
        file: SHARED,
        find: "        if taken.chunks_before(next) < self.limit()
            || load",
        nth: None,
        replace: "        if false
            || load",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::two_producers_overwrite_one_chunk"]),
        why: "two producers overwrite two chunks for one",
    },
    Mutant {
        name: "mpsc_evict_without_another_look_at_the_entry",
        file: SHARED,
        find: "            || load_ptr_before_write(self.entry(next), Ordering::Relaxed) != empty(next)
",
        nth: None,
        replace: "            || false
",
        bound: 2,
        fate: Equivalent,
        why: "it differs only where the ring was made smaller meanwhile, and then a chunk too many is overwritten, as it would be by the next producer that needs one",
    },
    Mutant {
        name: "mpsc_evict_entry_relaxed",
        file: SHARED,
        find: "        let entry = load_ptr_before_write(self.entry(seq), Ordering::Acquire);
        let Entry::Chunk(chunk) = unpack(entry) else {
            return Ok(None);",
        nth: None,
        replace: "        let entry = load_ptr_before_write(self.entry(seq), Ordering::Relaxed);
        let Entry::Chunk(chunk) = unpack(entry) else {
            return Ok(None);",
        bound: 2,
        fate: BeyondLoom,
        why: "a flag of what the memory was before could be taken for an answer; under loom the flags are made anew with each chunk",
    },
    Mutant {
        name: "mpsc_evict_what_is_not_answered",
        file: SHARED,
        find: "        // SAFETY: chunks that are not taken stay while `taken` is locked.
        if !unsafe { self.runs(&chunk, false).is_complete(0) } {
            return Err(Refused::Full);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_grant_that_is_held_is_not_overwritten"]),
        why: "a slot is given away that somebody is writing",
    },
    Mutant {
        name: "mpsc_evict_leaves_the_entry",
        file: SHARED,
        find: "        self.entry(seq).store(self.emptied(seq), Ordering::Relaxed);
        lock.pass_oldest = true;",
        nth: None,
        replace: "        lock.pass_oldest = true;",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_chunk_of_the_round_before_is_not_taken"]),
        why: "a chunk that was overwritten stays in its entry",
    },
    Mutant {
        name: "mpsc_evict_leaves_the_chunk",
        file: SHARED,
        find: "        lock.pass_oldest = true;
",
        nth: None,
        replace: "        let _ = &mut lock;
",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "a chunk is the producer's and the ring's",
    },
    Mutant {
        name: "mpsc_evicted_items_not_dropped",
        file: SHARED,
        find: "        items.drop_all();
        if chunk.len() != len {",
        nth: None,
        replace: "        if chunk.len() != len {",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_drop_that_panics_while_it_is_overwritten_leaks_nothing_else"]),
        why: "items are leaked",
    },
    Mutant {
        name: "mpsc_evicted_items_not_counted",
        file: SHARED,
        find: "            overwritten: true,",
        nth: None,
        replace: "            overwritten: false,",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "items are lost and nobody knows",
    },
    Mutant {
        name: "mpsc_evicted_chunk_of_another_length_used",
        file: SHARED,
        find: "        if chunk.len() != len {
            drop(items);
            return self.obtain(len);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_ring_of_another_length_is_overwritten"]),
        why: "a chunk has another length than its entry says",
    },
    Mutant {
        name: "mpsc_evicted_chunk_leaked",
        file: SHARED,
        find: "        if chunk.len() != len {
            drop(items);",
        nth: None,
        replace: "        if chunk.len() != len {
            core::mem::forget(items);",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_ring_of_another_length_is_overwritten"]),
        why: "the memory of a chunk of another length is leaked",
    },
    Mutant {
        name: "mpsc_evicted_chunk_freed_and_used",
        file: SHARED,
        find: "        items.free = false;
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "the chunk is freed and used",
    },
    Mutant {
        name: "mpsc_evicted_flags_not_cleared",
        file: SHARED,
        find: "        unsafe { self.settings.form.clear_flags(chunk.first, len) };
        Some(chunk.first)",
        nth: None,
        replace: "        Some(chunk.first)",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_chunk_of_the_round_before_is_not_taken"]),
        why: "old answers are taken for new ones",
    },
    Mutant {
        name: "mpsc_detach_with_an_old_tail",
        file: SHARED,
        find: "        if tail.seq().next() != next {
            return Ok(false);
        }
        if chunk",
        nth: None,
        replace: "        if false && tail.seq().next() != next {
            return Ok(false);
        }
        if chunk",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_producer_sleeps_a_whole_round_of_the_table"]),
        why: "a chunk is taken out of the ring by somebody who is a round behind",
    },
    Mutant {
        name: "mpsc_detach_the_next_chunk",
        file: SHARED,
        find: "        if chunk.lap == self.lap(next) {
            return Ok(true);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_producer_sleeps_a_whole_round_of_the_table"]),
        why: "a chunk is taken out of the ring that another has installed meanwhile",
    },
    Mutant {
        name: "mpsc_detach_what_is_not_held",
        file: SHARED,
        find: "!lock.taken.has(HELD) || ",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_stays_over_a_whole_round"]),
        why: "the chunk that the consumer is giving back is taken for a held one",
    },
    Mutant {
        name: "mpsc_detach_what_is_not_answered",
        file: SHARED,
        find: "if !lock.taken.has(HELD) || !unsafe { self.runs(&chunk, false).is_complete(0) } {",
        nth: None,
        replace: "if !lock.taken.has(HELD) {",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_producer_sleeps_a_whole_round_of_the_table"]),
        why: "a producer does not find the chunk that it has a claim in",
    },
    Mutant {
        name: "mpsc_detach_not_told",
        file: SHARED,
        find: "        lock.detached = true;
",
        nth: None,
        replace: "        let _ = &mut lock;
",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_leaves_after_a_whole_round"]),
        why: "the consumer empties the entry of another chunk",
    },
    Mutant {
        name: "mpsc_obtain_any_length",
        file: SHARED,
        find: "if its_len == len {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::an_idle_chunk_of_another_length_is_not_used"]),
        why: "a chunk has another length than its entry says",
    },
    Mutant {
        name: "mpsc_obtain_leaks",
        file: SHARED,
        find: "            self.free(first, its_len);
        }
        let made = self",
        nth: None,
        replace: "            let _ = first;
        }
        let made = self",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::an_idle_chunk_of_another_length_is_not_used"]),
        why: "idle chunks of another length are leaked",
    },
    Mutant {
        name: "mpsc_obtain_from_the_pool_only",
        file: SHARED,
        find: "while let Some((first, its_len)) = self.idle.take() {",
        nth: None,
        replace: "while let Some((first, its_len)) = None::<(NonNull<Slot<T>>, usize)> {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::memory_that_is_refused_is_told_by_both"]),
        why: "idle chunks are not used",
    },
    Mutant {
        name: "mpsc_close_relaxed",
        file: SHARED,
        find: "            Tail::closed(tail.seq()).0,
            Ordering::Acquire,",
        nth: None,
        replace: "            Tail::closed(tail.seq()).0,
            Ordering::Relaxed,",
        bound: 2,
        fate: Equivalent,
        why: "the exchange finds the very word that was acquired when it was looked at, by a reservation or by `seal`",
    },
    Mutant {
        name: "mpsc_close_load_then_store",
        file: SHARED,
        find: "        let closed = self.tail.next.compare_exchange(
            tail.0,
            Tail::closed(tail.seq()).0,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
",
        nth: None,
        replace: "        self.tail.next.store(Tail::closed(tail.seq()).0, Ordering::Release);
        let closed = Ok::<u64, u64>(tail.0);
",
        bound: 2,
        fate: KilledByPlain(&["mpsc_drops::a_chunk_ended_early"]),
        why: "a claim is taken for unclaimed",
    },
    Mutant {
        name: "mpsc_close_without_an_answer",
        file: SHARED,
        find: "            unsafe { self.flags(&chunk).end(index) };
",
        nth: None,
        replace: "            let _ = (index, Flags::end);
",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::a_producer_seals_what_another_fills"]),
        why: "the rest of a closed chunk is waited for",
    },
    Mutant {
        name: "mpsc_close_ends_too_early",
        file: SHARED,
        find: "unsafe { self.flags(&chunk).end(index) };",
        nth: None,
        replace: "unsafe { self.flags(&chunk).end(index - 1) };",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "the last item of a closed chunk is forgotten",
    },
    Mutant {
        name: "mpsc_only_chunk_never",
        file: SHARED,
        find: ".chunks_before(next) <= 1",
        nth: None,
        replace: ".chunks_before(next) < 1",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::the_only_chunk_is_closed_by_a_reservation_that_is_refused"]),
        why: "a ring of one chunk stays full for a reservation that does not fit into its rest",
    },
    Mutant {
        name: "mpsc_only_chunk_always",
        file: SHARED,
        find: ".chunks_before(next) <= 1",
        nth: None,
        replace: ".chunks_before(next) >= 0",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::a_refused_reservation_leaves_the_rest_of_the_chunk"]),
        why: "a reservation that is refused takes the rest of a chunk away",
    },
    Mutant {
        name: "mpsc_seal_tail_relaxed",
        file: SHARED,
        find: "            // Acquire: pairs with the Release exchange in `open`; the entry is seen.
            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));",
        nth: None,
        replace: "            // Acquire: pairs with the Release exchange in `open`; the entry is seen.
            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));",
        bound: 2,
        fate: KilledByPlain(&["mpsc_early_close::a_chunk_of_a_round_before_is_not_taken_for_an_empty_one"]),
        why: "the length of a chunk of the round before is taken for that of the open one",
    },
    Mutant {
        name: "mpsc_seal_an_empty_chunk",
        file: SHARED,
        find: "if tail.room() == chunk.len() || self.close(tail) {",
        nth: None,
        replace: "if self.close(tail) {",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::an_empty_chunk_is_not_sealed"]),
        why: "a chunk in which there is nothing is lost",
    },
    Mutant {
        name: "mpsc_seal_once",
        file: SHARED,
        find: "if tail.room() == chunk.len() || self.close(tail) {",
        nth: None,
        replace: "if { self.close(tail); true } {",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::an_empty_chunk_is_not_sealed"]),
        why: "a chunk stays open where another has claimed a slot meanwhile",
    },
    Mutant {
        name: "mpsc_claimed_counts_whole_chunks",
        file: SHARED,
        find: "if seq == tail.seq() && tail.is_open() {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::a_producer_counts_what_was_claimed"]),
        why: "slots are counted that nobody has claimed",
    },
    Mutant {
        name: "mpsc_traffic_taken_relaxed",
        file: SHARED,
        find: "            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            // Acquire: not newer",
        nth: None,
        replace: "            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            // Acquire: not newer",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::chunks_that_the_pool_has_are_not_counted_as_too_many"]),
        why: "the tail is seen older than what was taken",
    },
    Mutant {
        name: "mpsc_room_without_the_open_chunk",
        file: SHARED,
        find: "let rest = if tail.is_open() { tail.room() } else { 0 };",
        nth: None,
        replace: "let rest = 0_usize;",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::a_chunk_is_sealed_just_as_it_is_used_up"]),
        why: "full although the open chunk has room",
    },
    Mutant {
        name: "mpsc_lock_relaxed",
        file: SHARED,
        find: "                    seen.with(LOCKED).0,
                    Ordering::Acquire,",
        nth: None,
        replace: "                    seen.with(LOCKED).0,
                    Ordering::Relaxed,",
        bound: 2,
        fate: BeyondLoom,
        why: "a producer could see a chunk of a round before in the entry of the oldest; it takes a whole round of the table between two steps of one producer, with plain loads, which is more than a model can afford",
    },
    Mutant {
        name: "mpsc_lock_of_two",
        file: SHARED,
        find: "            if !seen.has(LOCKED) {
                // Acquire: pairs with the Release stores of whoever had the lock before",
        nth: None,
        replace: "            if true {
                // Acquire: pairs with the Release stores of whoever had the lock before",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "two producers overwrite the same chunk",
    },
    Mutant {
        name: "mpsc_take_taken_relaxed",
        file: SHARED,
        find: "let seen = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            if seen.has(LOCKED) && !locked {",
        nth: None,
        replace: "let seen = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            if seen.has(LOCKED) && !locked {",
        bound: 2,
        fate: KilledByPlain(&["mpsc_overwrite::a_chunk_of_the_round_before_is_not_taken"]),
        why: "the consumer takes a chunk that was overwritten a round before",
    },
    Mutant {
        name: "mpsc_take_what_is_locked",
        file: SHARED,
        find: "            if seen.has(LOCKED) && !locked {
                relax();
                continue;
            }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "the consumer takes a chunk that is being overwritten",
    },
    Mutant {
        name: "mpsc_take_entry_relaxed",
        file: SHARED,
        find: "            let entry = load_ptr_before_write(self.entry(seq), Ordering::Acquire);
            let Entry::Chunk(chunk) = unpack(entry) else {
                if entry == empty(seq)",
        nth: None,
        replace: "            let entry = load_ptr_before_write(self.entry(seq), Ordering::Relaxed);
            let Entry::Chunk(chunk) = unpack(entry) else {
                if entry == empty(seq)",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::the_next_chunk_is_read_before_it_is_opened"]),
        why: "the consumer enters a chunk and does not see what its installer did",
    },
    Mutant {
        name: "mpsc_take_load_then_store",
        file: SHARED,
        find: "            let taken = self.taken.compare_exchange(
                seen.0,
                Taken::new(seq.next(), state).0,
                Ordering::Release,
                Ordering::Relaxed,
            );
",
        nth: None,
        replace: "            self.taken.store(Taken::new(seq.next(), state).0, Ordering::Release);
            let taken = Ok::<u64, u64>(0);
",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "a chunk is the consumer's and that of a producer that overwrites it",
    },
    Mutant {
        name: "mpsc_return_relaxed",
        file: SHARED,
        find: "                    seen.without(HELD | DETACHED).with(BUSY).0,
                    Ordering::Acquire,",
        nth: None,
        replace: "                    seen.without(HELD | DETACHED).with(BUSY).0,
                    Ordering::Relaxed,",
        bound: 2,
        fate: BeyondLoom,
        why: "flags could be cleared while a producer that has the lock still loads them: such a load would see a store that is younger than itself, and loom runs stores in order",
    },
    Mutant {
        name: "mpsc_return_while_locked",
        file: SHARED,
        find: "            if !seen.has(LOCKED) || locked {",
        nth: None,
        replace: "            if true || locked {",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_leaves_after_a_whole_round"]),
        why: "a held chunk is given back while a producer detaches it",
    },
    Mutant {
        name: "mpsc_return_empties_a_detached_entry",
        file: SHARED,
        find: "if !seen.has(DETACHED) {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_leaves_after_a_whole_round"]),
        why: "the entry of a chunk in traffic is emptied",
    },
    Mutant {
        name: "mpsc_return_leaves_the_entry",
        file: SHARED,
        find: "if !seen.has(DETACHED) {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "an entry is never free again",
    },
    Mutant {
        name: "mpsc_return_keeps_the_mark_of_detachment",
        file: SHARED,
        find: "seen.without(HELD | DETACHED).with(BUSY)",
        nth: None,
        replace: "seen.without(HELD).with(BUSY)",
        bound: 2,
        fate: Equivalent,
        why: "whoever takes the next chunk writes all of the state",
    },
    Mutant {
        name: "mpsc_end_return_relaxed",
        file: SHARED,
        find: "self.0.taken.fetch_and(!BUSY, Ordering::Release);",
        nth: None,
        replace: "self.0.taken.fetch_and(!BUSY, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::room_that_is_seen_has_its_chunk"]),
        why: "room is seen, and the idle chunk is not",
    },
    Mutant {
        name: "mpsc_end_return_missing",
        file: SHARED,
        find: "self.0.taken.fetch_and(!BUSY, Ordering::Release);",
        nth: None,
        replace: "let _ = (self.0, BUSY);",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::preallocated_chunks_are_used_and_used_again"]),
        why: "a chunk counts as in traffic for ever",
    },
    Mutant {
        name: "mpsc_unlock_relaxed",
        file: SHARED,
        find: "                after.0,
                Ordering::Release,",
        nth: None,
        replace: "                after.0,
                Ordering::Relaxed,",
        bound: 2,
        fate: KilledByPlain(&["mpsc_overwrite::a_chunk_of_the_round_before_is_not_taken"]),
        why: "the next one does not see that an entry was emptied",
    },
    Mutant {
        name: "mpsc_unlock_forgets_a_return",
        file: SHARED,
        find: "            match self.shared.taken.compare_exchange_weak(
                seen.0,
                after.0,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,",
        nth: None,
        replace: "            self.shared.taken.store(after.0, Ordering::Release);
            match Ok::<u64, u64>(seen.0) {
                Ok(_) => return,",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "a chunk counts as being given back for ever",
    },
    Mutant {
        name: "mpsc_half_end_does_not_release",
        file: SHARED,
        find: "half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "half_gone.swap(true, Ordering::Acquire)",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "items are dropped by a side that does not know what the other did last",
    },
    Mutant {
        name: "mpsc_half_end_does_not_acquire",
        file: SHARED,
        find: "half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "half_gone.swap(true, Ordering::Release)",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "as above",
    },
    Mutant {
        name: "mpsc_half_end_load_then_store",
        file: SHARED,
        find: "if self.settings.half_gone.swap(true, Ordering::AcqRel) {",
        nth: None,
        replace: "if { let gone = self.settings.half_gone.load(Ordering::Acquire); self.settings.half_gone.store(true, Ordering::Release); gone } {",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "two sides that go at once both take themselves for the first",
    },
    Mutant {
        name: "mpsc_first_half_ends",
        file: SHARED,
        find: "if self.settings.half_gone.swap(true, Ordering::AcqRel) {",
        nth: None,
        replace: "if !self.settings.half_gone.swap(true, Ordering::AcqRel) {",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "items are dropped by the side that goes first",
    },
    Mutant {
        name: "mpsc_count_ready_entry_relaxed",
        file: SHARED,
        find: "let entry = load_ptr_before_write(self.shared.entry(seq), Ordering::Acquire);",
        nth: None,
        replace: "let entry = load_ptr_before_write(self.shared.entry(seq), Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "flags are read before they are there",
    },
    Mutant {
        name: "mpsc_count_ready_ignores_the_lap",
        file: SHARED,
        find: "            if chunk.lap != self.shared.lap(seq) {
                break;
            }
            // SAFETY",
        nth: None,
        replace: "            // SAFETY",
        bound: 2,
        fate: KilledBy(&["mpsc_overwrite::a_held_chunk_stays_over_a_whole_round"]),
        why: "the chunk that is held is counted as one that comes",
    },
    Mutant {
        name: "mpsc_count_ready_goes_past_an_open_chunk",
        file: SHARED,
        find: "            if !complete {
                break;
            }
            seq = seq.next();",
        nth: None,
        replace: "            let _ = complete;
            seq = seq.next();",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::items_behind_an_unanswered_claim_do_not_count"]),
        why: "items are counted that cannot be taken yet",
    },
    Mutant {
        name: "mpsc_end_forgets_idle_chunks",
        file: SHARED,
        find: "    fn free_all(&mut self) {
        self.shared.free_idle();
",
        nth: None,
        replace: "    fn free_all(&mut self) {
",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::idle_chunks_go_with_the_halves"]),
        why: "idle chunks stay as long as a control",
    },
    Mutant {
        name: "mpsc_end_forgets_what_was_held",
        file: SHARED,
        find: "if let Some(first) = self.left.take() {",
        nth: None,
        replace: "if let Some(first) = None::<NonNull<Slot<T>>> {",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "the chunk that the consumer held is leaked",
    },
    Mutant {
        name: "mpsc_end_ignores_the_position",
        file: SHARED,
        find: "self.free(first, len, position, limit);",
        nth: None,
        replace: "self.free(first, len, 0 * position, limit);",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "items that were taken are dropped again",
    },
    Mutant {
        name: "mpsc_end_ignores_the_lap",
        file: SHARED,
        find: "            if chunk.lap != self.shared.lap(self.seq) {
                break;
            }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_held_chunk_was_detached"]),
        why: "the chunk that the consumer held is freed twice",
    },
    Mutant {
        name: "mpsc_end_leaves_the_entry",
        file: SHARED,
        find: "            entry.store(self.shared.emptied(self.seq), Ordering::Relaxed);
            self.seq",
        nth: None,
        replace: "            let _ = entry;
            self.seq",
        bound: 2,
        fate: Equivalent,
        why: "each entry is looked at once, and a round later its chunk is of another lap",
    },
    Mutant {
        name: "mpsc_end_leaves_the_count",
        file: SHARED,
        find: "        self.shared
            .taken
            .store(Taken::new(self.seq, 0).0, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_control_stays"]),
        why: "chunks count as in traffic that are freed",
    },
    Mutant {
        name: "mpsc_end_stops_where_a_drop_panics",
        file: SHARED,
        find: "        // Reached with chunks left only when dropping an item has panicked: go on with the others.
        self.free_all();",
        nth: None,
        replace: "        // Reached with chunks left only when dropping an item has panicked: go on with the others.",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_drop_that_panics_at_the_end_leaks_nothing_else"]),
        why: "later chunks are leaked where an item does not go quietly",
    },
    Mutant {
        name: "mpsc_items_memory_leaked",
        file: SHARED,
        find: "                self.0.free(self.1, self.2);",
        nth: None,
        replace: "                let _ = (&self.0, self.1, self.2);",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "chunks are leaked",
    },
    Mutant {
        name: "mpsc_trim_nothing",
        file: SHARED,
        find: "while self.chunks_in_traffic() + self.idle.count() > most {",
        nth: None,
        replace: "while false && self.idle.count() > most {",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::a_place_is_written_again_only_when_it_was_read"]),
        why: "idle chunks are never freed before the ring",
    },
    Mutant {
        name: "mpsc_trim_leaks",
        file: SHARED,
        find: "            self.free(first, len);
        }
    }

    fn chunks_in_use",
        nth: None,
        replace: "            let _ = (first, len);
        }
    }

    fn chunks_in_use",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_control_stays"]),
        why: "what is trimmed is leaked",
    },
    Mutant {
        name: "mpsc_length_not_rounded",
        file: SHARED,
        find: "chunk_len.next_power_of_two()",
        nth: None,
        replace: "chunk_len",
        bound: 2,
        fate: KilledBy(&["mpsc_resize::a_length_is_rounded_up"]),
        why: "a chunk's length is no power of two",
    },
    Mutant {
        name: "mpsc_push_claim_relaxed",
        file: PRODUCER,
        find: "self.shared.tail.next.fetch_add(1, Ordering::Acquire)",
        nth: None,
        replace: "self.shared.tail.next.fetch_add(1, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::a_producer_goes_on_in_a_chunk_that_another_has_opened"]),
        why: "a claim does not see the chunk that it is in",
    },
    Mutant {
        name: "mpsc_push_claim_load_then_store",
        file: PRODUCER,
        find: "Tail(self.shared.tail.next.fetch_add(1, Ordering::Acquire))",
        nth: None,
        replace: "{ let tail = Tail(self.shared.tail.next.load(Ordering::Acquire)); self.shared.tail.next.store(tail.after(1).0, Ordering::Release); tail }",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "two producers claim one slot",
    },
    Mutant {
        name: "mpsc_push_into_a_closed_chunk",
        file: PRODUCER,
        find: "        if !tail.is_open() {
            self.look = true;",
        nth: None,
        replace: "        if false {
            self.look = true;",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "a slot beyond the chunk, or another's, is written",
    },
    Mutant {
        name: "mpsc_chunk_not_compared",
        file: PRODUCER,
        find: "        if index < self.len && rounds == self.rounds {
            return Some(index);",
        nth: None,
        replace: "        if self.len != 0 {
            let _ = (index, rounds);
            return Some(tail.index(self.len - 1));",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_of_two_producers_needs_a_chunk"]),
        why: "an item goes into the chunk before",
    },
    Mutant {
        name: "mpsc_rounds_not_compared",
        file: PRODUCER,
        find: " && rounds == self.rounds",
        nth: None,
        replace: " && (rounds == self.rounds || true)",
        bound: 2,
        fate: BeyondLoom,
        why: "sequence numbers have to come round while a producer does nothing, which is 2^38 chunks; unit tests set the words",
    },
    Mutant {
        name: "mpsc_answer_before_the_item",
        file: PRODUCER,
        find: "            (*self.first().add(index)).write(item);
            self.flags().item(index);",
        nth: None,
        replace: "            self.flags().item(index);
            (*self.first().add(index)).write(item);",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "the consumer reads a slot before its item is there",
    },
    Mutant {
        name: "mpsc_forgotten_grant_stays_before_a_push",
        file: PRODUCER,
        find: "    fn prepare(&mut self, items: usize) -> Result<(), Refused> {
        self.end_forgotten_grant();
",
        nth: None,
        replace: "    fn prepare(&mut self, items: usize) -> Result<(), Refused> {
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::a_push_gives_the_slots_up"]),
        why: "the consumer waits for a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_forgotten_grant_stays_before_a_reserve",
        file: PRODUCER,
        find: "    ) -> Result<Grant<'_, T>, ReserveError> {
        self.end_forgotten_grant();
",
        nth: None,
        replace: "    ) -> Result<Grant<'_, T>, ReserveError> {
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::a_reservation_gives_the_slots_up"]),
        why: "the consumer waits for a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_forgotten_grant_stays_before_a_seal",
        file: PRODUCER,
        find: "    pub fn seal(&mut self) {
        self.end_forgotten_grant();
",
        nth: None,
        replace: "    pub fn seal(&mut self) {
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::a_seal_gives_the_slots_up"]),
        why: "the consumer waits for a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_forgotten_grant_stays_at_the_end",
        file: PRODUCER,
        find: "    fn drop(&mut self) {
        self.end_forgotten_grant();
",
        nth: None,
        replace: "    fn drop(&mut self) {
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::its_producers_drop_gives_the_slots_up"]),
        why: "the consumer waits for a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_grant_not_looked_for",
        file: PRODUCER,
        find: "        self.look = true;
        Ok(Grant {",
        nth: None,
        replace: "        Ok(Grant {",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::a_push_gives_the_slots_up"]),
        why: "a push goes on behind a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_forgotten_grant_not_remembered",
        file: PRODUCER,
        find: "        self.granted = count;
",
        nth: None,
        replace: "        self.granted = 0;
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::a_seal_gives_the_slots_up"]),
        why: "the consumer waits for a grant that was forgotten",
    },
    Mutant {
        name: "mpsc_grant_remembered_after_its_end",
        file: PRODUCER,
        find: "        producer.granted = 0;
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "a slot is answered for again that is another's by then",
    },
    Mutant {
        name: "mpsc_claim_relaxed",
        file: PRODUCER,
        find: "                tail.after(count).0,
                Ordering::Acquire,",
        nth: None,
        replace: "                tail.after(count).0,
                Ordering::Relaxed,",
        bound: 2,
        fate: Equivalent,
        why: "the exchange finds the very word that was acquired when it was looked at",
    },
    Mutant {
        name: "mpsc_claim_load_then_store",
        file: PRODUCER,
        find: "            let claimed = self.shared.tail.next.compare_exchange_weak(
                tail.0,
                tail.after(count).0,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
",
        nth: None,
        replace: "            self.shared.tail.next.store(tail.after(count).0, Ordering::Release);
            let claimed = Ok::<u64, u64>(tail.0);
",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "two producers claim the same slots",
    },
    Mutant {
        name: "mpsc_reservation_over_the_end",
        file: PRODUCER,
        find: "            if count < least {",
        nth: None,
        replace: "            if false {",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "a grant is shorter than was asked for",
    },
    Mutant {
        name: "mpsc_room_made_before_there_is_a_chunk",
        file: PRODUCER,
        find: "            self.shared.install(next)
        };",
        nth: None,
        replace: "            Ok(Some(0))
        };",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::a_refused_reservation_leaves_the_rest_of_the_chunk"]),
        why: "a reservation that is refused takes the rest of the chunk away",
    },
    Mutant {
        name: "mpsc_length_not_checked",
        file: PRODUCER,
        find: "        if count > chunk_len {",
        nth: None,
        replace: "        if false {",
        bound: 2,
        fate: KilledBy(&["mpsc_resize::a_reservation_gets_the_length_that_was_looked_at"]),
        why: "a reservation that can never fit is refused as full, or waited for",
    },
    Mutant {
        name: "mpsc_producer_is_closed_relaxed",
        file: PRODUCER,
        find: "self.shared.settings.consumer_gone.load(Ordering::Acquire)",
        nth: None,
        replace: "self.shared.settings.consumer_gone.load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::what_the_consumer_did_before_its_end_is_seen"]),
        why: "the consumer is known to be gone, and what it did is not",
    },
    Mutant {
        name: "mpsc_clone_not_counted",
        file: PRODUCER,
        find: "let before = shared.producers.fetch_add(1, Ordering::Relaxed);",
        nth: None,
        replace: "let before = shared.producers.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::two_producers_begin_the_same_chunk"]),
        why: "closed although a producer is left",
    },
    Mutant {
        name: "mpsc_last_producer_does_not_release",
        file: PRODUCER,
        find: "producers.fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "producers.fetch_sub(1, Ordering::Acquire)",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "closed before another producer's item is there",
    },
    Mutant {
        name: "mpsc_last_producer_does_not_acquire",
        file: PRODUCER,
        find: "producers.fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "producers.fetch_sub(1, Ordering::Release)",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "closed before another producer's item is there",
    },
    Mutant {
        name: "mpsc_last_producer_load_then_store",
        file: PRODUCER,
        find: "self.shared.producers.fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "{ let before = self.shared.producers.load(Ordering::Acquire); self.shared.producers.store(before - 1, Ordering::Release); before }",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_chunk_ended_early"]),
        why: "two producers that go at once leave one of them counted",
    },
    Mutant {
        name: "mpsc_every_producer_closes",
        file: PRODUCER,
        find: "if self.shared.producers.fetch_sub(1, Ordering::AcqRel) != 1 {",
        nth: None,
        replace: "if self.shared.producers.fetch_sub(1, Ordering::AcqRel) == 0 {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::two_producers_begin_the_same_chunk"]),
        why: "closed although a producer is left",
    },
    Mutant {
        name: "mpsc_last_chunk_not_sealed",
        file: PRODUCER,
        find: "        // Whoever takes whole chunks gets the last one, too.
        self.shared.seal();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: Equivalent,
        why: "when the producers are gone the consumer takes what is pending for unused, so that the last chunk is complete all the same",
    },
    Mutant {
        name: "mpsc_producer_gone_relaxed",
        file: PRODUCER,
        find: ".store(true, Ordering::Release);",
        nth: None,
        replace: ".store(true, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::a_clone_lives_on"]),
        why: "closed before the last item is there",
    },
    Mutant {
        name: "mpsc_rest_of_a_grant_not_answered",
        file: PRODUCER,
        find: "            producer
                .flags()
                .skips(self.index + self.items, self.len - self.items);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "the consumer waits for slots that were not committed",
    },
    Mutant {
        name: "mpsc_items_answered_before_the_rest",
        file: PRODUCER,
        find: "            producer
                .flags()
                .skips(self.index + self.items, self.len - self.items);
            producer.flags().items(self.index, self.items);
",
        nth: None,
        replace: "            producer.flags().items(self.index, self.items);
            producer
                .flags()
                .skips(self.index + self.items, self.len - self.items);
",
        bound: 2,
        fate: Equivalent,
        why: "the consumer meets the rest later, and waits for it",
    },
    Mutant {
        name: "mpsc_dropped_grant_not_answered",
        file: PRODUCER,
        find: "        if self.len != 0 {
            self.end(0);
        }
",
        nth: None,
        replace: "        let _ = self.len;
",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_grant_goes_while_the_consumer_does"]),
        why: "a dropped grant leaks its items, and is waited for",
    },
    Mutant {
        name: "mpsc_commit_leaks_the_rest",
        file: PRODUCER,
        find: "        unsafe { Slot::drop_range(rest, rest_len) };
",
        nth: None,
        replace: "        let _ = (rest, rest_len);
",
        bound: 2,
        fate: KilledBy(&["mpsc_drops::a_grant_goes_while_the_consumer_does"]),
        why: "what was filled in and not committed is leaked",
    },
    Mutant {
        name: "mpsc_closed_without_a_second_look",
        file: CONSUMER,
        find: "        if self.find(reach, true, false) {
            Ok(())",
        nth: None,
        replace: "        if false {
            Ok(())",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::a_clone_lives_on"]),
        why: "closed although an item came in between",
    },
    Mutant {
        name: "mpsc_consumer_is_closed_relaxed",
        file: CONSUMER,
        find: "self.shared.settings.producer_gone.load(Ordering::Acquire)",
        nth: None,
        replace: "self.shared.settings.producer_gone.load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::a_clone_lives_on"]),
        why: "closed before an item is there",
    },
    Mutant {
        name: "mpsc_quiet_from_the_start",
        file: CONSUMER,
        find: "if self.find(reach, false, false) {",
        nth: None,
        replace: "if self.find(reach, true, false) {",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "an item is forgotten that comes later",
    },
    Mutant {
        name: "mpsc_consumer_gone_relaxed",
        file: CONSUMER,
        find: "            .consumer_gone
            .store(true, Ordering::Release);",
        nth: None,
        replace: "            .consumer_gone
            .store(true, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["mpsc_ends::what_the_consumer_did_before_its_end_is_seen"]),
        why: "the consumer is known to be gone, and what it did is not",
    },
    Mutant {
        name: "mpsc_held_chunk_not_told",
        file: CONSUMER,
        find: "            held.first.store(first.as_ptr(), Ordering::Relaxed);
",
        nth: None,
        replace: "            let _ = first;
",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "the chunk that the consumer held is leaked",
    },
    Mutant {
        name: "mpsc_position_not_told",
        file: CONSUMER,
        find: "            held.position.store(self.position, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "items that were taken are dropped again",
    },
    Mutant {
        name: "mpsc_scan_over_unused_slots",
        file: CONSUMER,
        find: "                if limit != position {
                    break;
                }
                position += count;",
        nth: None,
        replace: "                position += count;",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_leaves_unused_slots_out"]),
        why: "items before a slot that was left unused are forgotten",
    },
    Mutant {
        name: "mpsc_look_ends_with_a_line_of_unused_slots",
        file: CONSUMER,
        find: "                end = self.end_of_look(reach, position);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_early_close::items_come_from_behind_a_line_of_unused_slots"]),
        why: "nothing is found where items are",
    },
    Mutant {
        name: "mpsc_look_goes_on_behind_its_end",
        file: CONSUMER,
        find: "        while limit < end {",
        nth: None,
        replace: "        loop {",
        bound: 2,
        fate: KilledBy(&[
            "mpsc_early_close::items_come_from_behind_a_line_that_a_slice_goes_beyond",
        ]),
        why: "flags of no slot are looked at, where a run goes beyond the line",
    },
    Mutant {
        name: "mpsc_look_goes_to_the_end_of_the_chunk",
        file: CONSUMER,
        find: "Reach::Line => (index / FLAGS_IN_A_LINE + 1) * FLAGS_IN_A_LINE,",
        nth: None,
        replace: "Reach::Line => self.len,",
        bound: 2,
        fate: Equivalent,
        why: "a line is left to the producers for speed alone; what is there is found by this look or by the next",
    },
    Mutant {
        name: "mpsc_look_goes_beyond_the_chunk",
        file: CONSUMER,
        find: "end.min(self.len)",
        nth: None,
        replace: "end",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "flags of no slot are looked at",
    },
    Mutant {
        name: "mpsc_retire_not_at_once",
        file: CONSUMER,
        find: "        if self.position == self.len {
            self.retire(false);
        }
        Ok(item)",
        nth: None,
        replace: "        Ok(item)",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::memory_that_is_refused_is_told_by_both"]),
        why: "a chunk comes back only with the next look",
    },
    Mutant {
        name: "mpsc_retire_of_another_length",
        file: CONSUMER,
        find: "if len != settings.chunk_len.load(Ordering::Relaxed)
",
        nth: None,
        replace: "if false && len != settings.chunk_len.load(Ordering::Relaxed)
",
        bound: 2,
        fate: KilledBy(&["mpsc_resize::a_chunk_of_another_length_is_freed_when_it_was_read"]),
        why: "idle chunks stay that nobody can use",
    },
    Mutant {
        name: "mpsc_retire_too_many",
        file: CONSUMER,
        find: "            || shared.made.load(Ordering::Relaxed) > settings.chunks.load(Ordering::Relaxed)
",
        nth: None,
        replace: "            || false
",
        bound: 2,
        fate: KilledBy(&["mpsc_resize::fewer_chunks"]),
        why: "a smaller ring keeps its chunks",
    },
    Mutant {
        name: "mpsc_retire_keeps_every_chunk",
        file: CONSUMER,
        find: "if shared.idle.has_room() {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: Equivalent,
        why: "there is room for no more in the table of idle chunks, and what does not fit goes to the pool as well",
    },
    Mutant {
        name: "mpsc_retire_flags_not_cleared",
        file: CONSUMER,
        find: "            unsafe { settings.form.clear_flags(first, len) };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_boundary::every_push_needs_the_chunk_just_read"]),
        why: "old answers are taken for new ones",
    },
    Mutant {
        name: "mpsc_retire_leaks",
        file: CONSUMER,
        find: "            if let Err(first) = shared.idle.put(first, len) {
                shared.put(first, len);
            }",
        nth: None,
        replace: "            let _ = shared.idle.put(first, len);",
        bound: 2,
        fate: Equivalent,
        why: "as for mpsc_idle_put_over_another: there is room",
    },
    Mutant {
        name: "mpsc_retire_ends_before_the_chunk_is_idle",
        file: CONSUMER,
        find: "            unsafe { settings.form.clear_flags(first, len) };
            if let Err",
        nth: None,
        replace: "            unsafe { settings.form.clear_flags(first, len) };
            drop(_returning);
            if let Err",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::no_more_chunks_are_counted_than_there_are"]),
        why: "room is seen, and the idle chunk is not",
    },
    Mutant {
        name: "mpsc_open_chunk_taken",
        file: CONSUMER,
        find: "        if !unsafe { runs.is_complete(self.limit) } {
            return Err(TakeError::Open);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_waits_for_every_answer"]),
        why: "items go into a chunk that has left",
    },
    Mutant {
        name: "mpsc_take_chunk_without_the_lock",
        file: CONSUMER,
        find: "        let Some(returning) = self.shared.begin_return(self.seq, false) else {
            return Err(TakeError::Open);
        };
",
        nth: None,
        replace: "        let returning = ();
",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_goes_from_its_owner_to_a_producer"]),
        why: "a chunk has left and is still in its entry",
    },
    Mutant {
        name: "mpsc_take_chunk_does_not_move_up",
        file: CONSUMER,
        find: "                    Slot::move_down(first, at, end, count);
",
        nth: None,
        replace: "                    let _ = Slot::<T>::move_down;
",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::items_behind_unused_slots_move_up"]),
        why: "unused slots are handed over as items",
    },
    Mutant {
        name: "mpsc_taken_items_begin_at_the_start",
        file: CONSUMER,
        find: "start..end",
        nth: None,
        replace: "0..end",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_sealed_chunk_can_be_taken"]),
        why: "items that were taken are handed over",
    },
    Mutant {
        name: "mpsc_taken_items_end_at_the_end",
        file: CONSUMER,
        find: "start..end",
        nth: None,
        replace: "start..self.len",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_of_an_old_length_is_handed_over"]),
        why: "unused slots are handed over as items",
    },
    Mutant {
        name: "mpsc_taken_chunk_not_left",
        file: CONSUMER,
        find: "        drop(returning);
        self.chunk = None;
",
        nth: None,
        replace: "        drop(returning);
",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_goes_from_its_owner_to_a_producer"]),
        why: "a chunk that has left is given back",
    },
    Mutant {
        name: "mpsc_take_chunk_stays_in_traffic",
        file: CONSUMER,
        find: "        drop(returning);
        self.chunk",
        nth: None,
        replace: "        core::mem::forget(returning);
        self.chunk",
        bound: 2,
        fate: KilledBy(&["mpsc_hand_off::a_chunk_goes_from_its_owner_to_a_producer"]),
        why: "a chunk counts as in traffic for ever",
    },
    Mutant {
        name: "mpsc_skip_nothing",
        file: CONSUMER,
        find: "            unsafe { self.flags.skips(self.position, 1) };
",
        nth: None,
        replace: "            let _ = Flags::skips;
            break;
",
        bound: 2,
        fate: KilledBy(&["mpsc_forgotten::slots_that_nobody_answers_are_skipped"]),
        why: "a slot that nobody answers stays in the way",
    },
    Mutant {
        name: "mpsc_len_of_the_held_chunk_only",
        file: CONSUMER,
        find: "if let Some(lock) = self.shared.lock() {",
        nth: None,
        replace: "if let (false, Some(lock)) = (true, self.shared.lock()) {",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::len_holds_while_chunks_are_overwritten"]),
        why: "items of later chunks are not counted",
    },
    Mutant {
        name: "mpsc_len_goes_past_an_open_chunk",
        file: CONSUMER,
        find: "        if complete {
            if let Some(lock)",
        nth: None,
        replace: "        let _ = complete;
        {
            if let Some(lock)",
        bound: 2,
        fate: KilledBy(&["mpsc_counts::items_behind_an_unanswered_claim_do_not_count"]),
        why: "items are counted that cannot be taken yet",
    },
    Mutant {
        name: "mpsc_release_keeps_items",
        file: CONSUMER,
        find: "        unsafe { Slot::drop_range(first, count) };
        if consumer",
        nth: None,
        replace: "        let _ = first;
        if consumer",
        bound: 2,
        fate: KilledBy(&["mpsc_publication::a_chunk_read_in_place_goes_back_with_its_release"]),
        why: "items that were released are leaked",
    },
    Mutant {
        name: "mpsc_release_keeps_the_chunk",
        file: CONSUMER,
        find: "        if consumer.position == consumer.len {
            consumer.retire(false);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_publication::a_chunk_read_in_place_goes_back_with_its_release"]),
        why: "a chunk that was released whole comes back only with the next look",
    },
    Mutant {
        name: "mpsc_advance_tail_relaxed",
        file: SHARED,
        find: "            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
            if tail.is_open() {
                return Ok(());",
        nth: None,
        replace: "            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
            if tail.is_open() {
                return Ok(());",
        bound: 2,
        fate: KilledByPlain(&["mpsc_stale::a_producer_opens_only_a_chunk_that_is_there"]),
        why: "as above",
    },
    Mutant {
        name: "mpsc_claimed_taken_relaxed",
        file: SHARED,
        find: "            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Acquire));
            count = self",
        nth: None,
        replace: "            let taken = Taken(load_u64_before_write(&self.taken, Ordering::Relaxed));
            count = self",
        bound: 2,
        fate: KilledBy(&["mpsc_len::a_producer_counts_every_item_that_is_not_taken"]),
        why: "how far the consumer was in its last chunk is taken for how far it is in this one",
    },
    Mutant {
        name: "mpsc_claimed_tail_relaxed",
        file: SHARED,
        find: "        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
        // Relaxed, here",
        nth: None,
        replace: "        let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
        // Relaxed, here",
        bound: 2,
        fate: KilledByPlain(&["mpsc_len::no_more_is_counted_than_fits_when_the_tail_is_all_that_is_seen"]),
        why: "the second look at what was taken comes before the look at the tail",
    },
    Mutant {
        name: "mpsc_traffic_tail_relaxed",
        file: SHARED,
        find: "            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Acquire));
            let count = taken",
        nth: None,
        replace: "            let tail = Tail(load_u64_before_write(&self.tail.next, Ordering::Relaxed));
            let count = taken",
        bound: 2,
        fate: BeyondLoom,
        why: "a chunk is counted beside the one that has come for it, and another is freed; whoever counts has stored to the word before, after which loom leaves plain loads of old values out",
    },
    Mutant {
        name: "mpsc_traffic_looked_at_once",
        file: SHARED,
        find: "            if Taken(load_u64_before_write(&self.taken, Ordering::Relaxed)) == taken {
                return count;
            }
        }
        least",
        nth: None,
        replace: "            if true {
                return count;
            }
        }
        least",
        bound: 2,
        fate: BeyondLoom,
        why: "as above; on real threads, `mpsc_edges` of the ring's tests shows it",
    },
    Mutant {
        name: "mpsc_claim_tail_relaxed",
        file: PRODUCER,
        find: "                &self.shared.tail.next,
                Ordering::Acquire,
",
        nth: None,
        replace: "                &self.shared.tail.next,
                Ordering::Relaxed,
",
        bound: 2,
        fate: BeyondLoom,
        why: "full is said, or a chunk overwritten, on the strength of an entry as it was a round before; the exchanges that follow undo all else, and no model shows it",
    },
    Mutant {
        name: "mpsc_made_not_counted",
        file: SHARED,
        find: "        self.made.fetch_add(1, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::two_idle_chunks_circulate", "mpsc_idle::chunks_that_have_left_the_ring_are_not_counted_as_too_many"]),
        why: "the ring seems to have more chunks than there are, once one was given up, and frees each",
    },
    Mutant {
        name: "mpsc_preallocated_not_counted",
        file: SHARED,
        find: "                shared.made.fetch_add(1, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::preallocated_chunks_that_are_too_many_are_freed_when_they_were_read"]),
        why: "a smaller ring keeps its chunks",
    },
    Mutant {
        name: "mpsc_freed_chunk_still_counted",
        file: SHARED,
        find: "        self.gives_up();
",
        nth: Some(1),
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::chunks_that_have_left_the_ring_are_not_counted_as_too_many"]),
        why: "the ring frees every chunk that it has read",
    },
    Mutant {
        name: "mpsc_pooled_chunk_still_counted",
        file: SHARED,
        find: "        self.gives_up();
",
        nth: Some(2),
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::chunks_that_the_pool_has_are_not_counted_as_too_many"]),
        why: "as above",
    },
    Mutant {
        name: "mpsc_chunk_taken_out_still_counted",
        file: CONSUMER,
        find: "        self.shared.gives_up();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["mpsc_idle::chunks_that_have_left_the_ring_are_not_counted_as_too_many"]),
        why: "as above",
    },
    Mutant {
        name: "mpsc_idle_chunks_without_a_bound",
        file: IDLE,
        find: "spare + behind < self.most",
        nth: None,
        replace: "spare + behind < self.most + 1",
        bound: 2,
        fate: Equivalent,
        why: "there is a place for no more than these, and what does not fit goes to the pool as well",
    },
];
