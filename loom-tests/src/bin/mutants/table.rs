//! The damages that the models must notice: one for each ordering and each check that the ring's
//! correctness leans on.

use crate::Fate::{BeyondLoom, Equivalent, KilledBy, KilledByPlain};
use crate::Mutant;

const COUNTED: &str = "ring/src/counted.rs";
const POOL: &str = "ring/src/pool.rs";
const BUILDER: &str = "ring/src/builder.rs";
const ERROR: &str = "ring/src/error.rs";
const OWNED: &str = "ring/src/owned.rs";
const CONTROL: &str = "ring/src/control.rs";
const SETTINGS: &str = "ring/src/settings.rs";
const SHARED: &str = "ring/src/spsc/shared.rs";
const PRODUCER: &str = "ring/src/spsc/producer.rs";
const CONSUMER: &str = "ring/src/spsc/consumer.rs";
const MPSC_CONSUMER: &str = "ring/src/mpsc/consumer.rs";
const POLICY: &str = "ring/src/policy.rs";
const STATISTICS: &str = "ring/src/statistics.rs";
const TAKEN: &str = "ring/src/spsc/taken.rs";
const POVER: &str = "ring/src/spsc/producer/overwritable.rs";
const COVER: &str = "ring/src/spsc/consumer/overwritable.rs";
const EVENT: &str = "ring/src/event.rs";
const WAIT_LINK: &str = "ring/src/wait/link.rs";
const WAIT_PRODUCER: &str = "ring/src/wait/producer.rs";
const WAIT_CONSUMER: &str = "ring/src/wait/consumer.rs";
const WAIT_TASK: &str = "ring/src/wait/task.rs";

/// In the order of the sources, so that a missing one shows.
pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "last_owner_does_not_release",
        file: COUNTED,
        find: "self.owners().fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "self.owners().fetch_sub(1, Ordering::Acquire)",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory is freed without knowing what another owner did last",
    },
    Mutant {
        name: "last_owner_does_not_acquire",
        file: COUNTED,
        find: "self.owners().fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "self.owners().fetch_sub(1, Ordering::Release)",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "as above",
    },
    Mutant {
        name: "last_owner_relaxed",
        file: COUNTED,
        find: "self.owners().fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "self.owners().fetch_sub(1, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "as above",
    },
    Mutant {
        name: "last_owner_load_then_store",
        file: COUNTED,
        find: "self.owners().fetch_sub(1, Ordering::AcqRel)",
        nth: None,
        replace: "{ let before = self.owners().load(Ordering::Acquire); self.owners().store(before - 1, Ordering::Release); before }",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "two owners that go at once leave one of them counted, and nothing is freed",
    },
    Mutant {
        name: "last_owner_does_not_look",
        file: COUNTED,
        find: "        if self.owners().fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
",
        nth: None,
        replace: "        self.owners().fetch_sub(1, Ordering::AcqRel);
",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory is freed by every owner",
    },
    Mutant {
        name: "last_owner_but_one_frees",
        file: COUNTED,
        find: "self.owners().fetch_sub(1, Ordering::AcqRel) != 1",
        nth: None,
        replace: "self.owners().fetch_sub(1, Ordering::AcqRel) != 2",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory is freed by the owner before the last",
    },
    Mutant {
        name: "owner_not_counted",
        file: COUNTED,
        find: "let before = self.owners().fetch_add(1, Ordering::Relaxed);",
        nth: None,
        replace: "let before = self.owners().load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory is freed before the last owner is gone",
    },
    Mutant {
        name: "owner_counted_twice",
        file: COUNTED,
        find: "let before = self.owners().fetch_add(1, Ordering::Relaxed);",
        nth: None,
        replace: "let before = self.owners().fetch_add(2, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "nothing is ever freed",
    },
    Mutant {
        name: "counted_memory_not_freed",
        file: COUNTED,
        find: "        unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Block<V>>()) };
",
        nth: None,
        replace: "        let _ = (self.0, dealloc);
",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory that the owners share is leaked",
    },
    Mutant {
        name: "counted_not_dropped",
        file: COUNTED,
        find: "        unsafe { self.block.drop_in_place() };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["last_owner::a_control_may_be_the_last_owner", "pool::rings_and_owners_share_a_pool"]),
        why: "the pool of a ring is leaked",
    },
    Mutant {
        name: "counted_memory_leaked_where_a_drop_panics",
        file: COUNTED,
        find: "        let _memory = Memory(self.block);
",
        nth: None,
        replace: "        let _memory = core::mem::ManuallyDrop::new(Memory(self.block));
",
        bound: 2,
        fate: KilledBy(&["last_owner::the_later_half_frees_the_ring"]),
        why: "the memory is kept from its freeing",
    },
    Mutant {
        name: "table_as_long_as_the_ring",
        file: BUILDER,
        find: "            .checked_next_power_of_two()
",
        nth: None,
        replace: "            .checked_add(0)
",
        bound: 2,
        fate: KilledBy(&["boundary::a_table_longer_than_the_ring_is_no_extra_room"]),
        why: "chunks in traffic share an entry",
    },
    Mutant {
        name: "preallocated_not_idle",
        file: SHARED,
        find: "                shared.consumer.head.store(next, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["preallocated::preallocated_chunks_are_used_and_used_again"]),
        why: "chunks allocated up front count as in traffic, so the ring is full from the start",
    },
    Mutant {
        name: "preallocated_not_installed",
        file: SHARED,
        find: "                shared.producer.installed.store(next, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["preallocated::preallocated_chunks_are_used_and_used_again"]),
        why: "sequence numbers begin before the idle chunks",
    },
    Mutant {
        name: "count_reclaimed_relaxed",
        file: SHARED,
        find: "let reclaimed = self.reclaimed.load(Ordering::Acquire);",
        nth: None,
        replace: "let reclaimed = self.reclaimed.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["trim::no_more_chunks_are_counted_than_there_are"]),
        why: "chunks before the head that is seen count as idle ones, all the way round",
    },
    Mutant {
        name: "count_head_relaxed",
        file: SHARED,
        find: "let head = self.consumer.head.load(Ordering::Acquire);
        let installed",
        nth: None,
        replace: "let head = self.consumer.head.load(Ordering::Relaxed);
        let installed",
        bound: 2,
        fate: KilledBy(&["trim::a_chunk_taken_out_is_not_counted"]),
        why: "a chunk that has left counts as idle",
    },
    Mutant {
        name: "count_with_detached",
        file: SHARED,
        find: "(in_traffic + idle - detached)",
        nth: None,
        replace: "(in_traffic + idle - 0 * detached)",
        bound: 2,
        fate: KilledBy(&["trim::a_chunk_taken_out_is_not_counted"]),
        why: "a chunk that has left counts as idle",
    },
    Mutant {
        name: "idle_chunks_never_exceed",
        file: SHARED,
        find: "(count as isize) > 0 && count > most",
        nth: None,
        replace: "false && count > most",
        bound: 2,
        fate: KilledBy(&["trim::two_trim_at_once"]),
        why: "idle chunks are never freed before the ring",
    },
    Mutant {
        name: "idle_chunks_exceed_too_early",
        file: SHARED,
        find: "(count as isize) > 0 && count > most",
        nth: None,
        replace: "(count as isize) > 0 && count >= most",
        bound: 2,
        fate: KilledBy(&["trim::two_idle_chunks_circulate"]),
        why: "a chunk is given back that the ring may keep",
    },
    Mutant {
        name: "idle_chunk_not_taken_off",
        file: SHARED,
        find: "                seq,
                seq.wrapping_add(1),
",
        nth: None,
        replace: "                seq,
                seq,
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "an idle chunk is used although it is in traffic already",
    },
    Mutant {
        name: "newest_idle_chunk_taken",
        file: SHARED,
        find: "            let entry = self.idle_entry(seq);
            // Before the exchange",
        nth: None,
        replace: "            let entry = self.idle_entry(head.wrapping_sub(1));
            // Before the exchange",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk", "preallocated::preallocated_chunks_are_used_and_used_again", "boundary::a_table_longer_than_the_ring_is_no_extra_room"]),
        why: "the chunk that is used is not the one taken off the idle ones",
    },
    Mutant {
        name: "reclaim_load_relaxed",
        file: SHARED,
        find: "let mut seq = load_before_write(&self.reclaimed, Ordering::Acquire)",
        nth: None,
        replace: "let mut seq = load_before_write(&self.reclaimed, Ordering::Relaxed)",
        bound: 2,
        fate: BeyondLoom,
        why: "the producer could write an entry that another thread, which moved `reclaimed` past it, still loads: that load would see a store that is younger than itself, and loom runs stores in order",
    },
    Mutant {
        name: "reclaim_release_relaxed",
        file: SHARED,
        find: "                Ordering::Release,
                Ordering::Acquire,
",
        nth: None,
        replace: "                Ordering::Relaxed,
                Ordering::Acquire,
",
        bound: 2,
        fate: KilledBy(&["trim::no_more_chunks_are_counted_than_there_are"]),
        why: "`reclaimed` is seen before the head that allowed it; and as above, which loom cannot see",
    },
    Mutant {
        name: "reclaim_failure_relaxed",
        file: SHARED,
        find: "                Ordering::Release,
                Ordering::Acquire,
",
        nth: None,
        replace: "                Ordering::Release,
                Ordering::Relaxed,
",
        bound: 2,
        fate: BeyondLoom,
        why: "as for `reclaim_load_relaxed`",
    },
    Mutant {
        name: "idle_chunk_looked_up_after_the_exchange",
        file: SHARED,
        find: "                Ok(_) => match NonNull::new(first) {
                    Some(first) => return Some((first, len)),
",
        nth: None,
        replace: "                Ok(_) => match NonNull::new(self.entry(seq).first.load(Ordering::Relaxed)) {
                    Some(first) => return Some((first, len)),
",
        bound: 2,
        fate: KilledBy(&["trim::idle_chunks_are_reclaimed_or_trimmed", "trim::all_three_at_once"]),
        why: "the chunk that was installed there meanwhile is freed",
    },
    Mutant {
        name: "reclaim_load_then_store",
        file: SHARED,
        find: "            match self.reclaimed.compare_exchange(
                seq,
                seq.wrapping_add(1),
                Ordering::Release,
                Ordering::Acquire,
            ) {
",
        nth: None,
        replace: "            self.reclaimed.store(seq.wrapping_add(1), Ordering::Release);
            match Ok::<usize, usize>(seq) {
",
        bound: 2,
        fate: KilledBy(&["trim::two_trim_at_once"]),
        why: "two threads own the same idle chunk",
    },
    Mutant {
        name: "entry_without_a_chunk_ends_the_search",
        file: SHARED,
        find: "None => seq = seq.wrapping_add(1),",
        nth: None,
        replace: "None => return None,",
        bound: 2,
        fate: KilledBy(&["trim::idle_chunks_behind_an_empty_entry_are_found"]),
        why: "idle chunks behind one that has left are not found",
    },
    Mutant {
        name: "chunk_in_traffic_reclaimed",
        file: SHARED,
        find: "while (head.wrapping_sub(seq) as isize) > 0 {",
        nth: None,
        replace: "while (head.wrapping_sub(seq) as isize) >= 0 {",
        bound: 2,
        fate: KilledBy(&["trim::a_chunk_is_trimmed_once_it_was_read"]),
        why: "the chunk that the head names is freed",
    },
    Mutant {
        name: "trim_head_relaxed",
        file: SHARED,
        find: "let head = self.consumer.head.load(Ordering::Acquire);
        // Relaxed: how",
        nth: None,
        replace: "let head = self.consumer.head.load(Ordering::Relaxed);
        // Relaxed: how",
        bound: 2,
        fate: KilledBy(&["trim::a_chunk_is_trimmed_once_it_was_read"]),
        why: "a chunk is freed while its item is being moved out",
    },
    Mutant {
        name: "trim_leaks",
        file: SHARED,
        find: "            // SAFETY: by invariant 2 (or 5) the chunk is this call's, and it holds no items.
            unsafe { settings.form.free(first, len, &settings.pool) };
",
        nth: None,
        replace: "            let _ = (first, len);
",
        bound: 2,
        fate: KilledBy(&["trim::two_trim_at_once"]),
        why: "what is trimmed is leaked",
    },
    Mutant {
        name: "half_end_does_not_release",
        file: SHARED,
        find: "half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "half_gone.swap(true, Ordering::Acquire)",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "items are dropped by a half that does not know what the other did last",
    },
    Mutant {
        name: "half_end_does_not_acquire",
        file: SHARED,
        find: "half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "half_gone.swap(true, Ordering::Release)",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "as above",
    },
    Mutant {
        name: "half_end_relaxed",
        file: SHARED,
        find: "half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "half_gone.swap(true, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "as above",
    },
    Mutant {
        name: "half_end_load_then_store",
        file: SHARED,
        find: "self.settings.half_gone.swap(true, Ordering::AcqRel)",
        nth: None,
        replace: "{ let gone = self.settings.half_gone.load(Ordering::Acquire); self.settings.half_gone.store(true, Ordering::Release); gone }",
        bound: 2,
        fate: KilledBy(&["drops::both_go_at_once"]),
        why: "two halves that go at once both take themselves for the first",
    },
    Mutant {
        name: "first_half_ends",
        file: SHARED,
        find: "if self.settings.half_gone.swap(true, Ordering::AcqRel) {",
        nth: None,
        replace: "if !self.settings.half_gone.swap(true, Ordering::AcqRel) {",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "items are dropped by the half that goes first",
    },
    Mutant {
        name: "both_halves_end",
        file: SHARED,
        find: "        if self.settings.half_gone.swap(true, Ordering::AcqRel) {
            self.end();
        }
",
        nth: None,
        replace: "        self.settings.half_gone.swap(true, Ordering::AcqRel);
        self.end();
",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "items are dropped by either half",
    },
    Mutant {
        name: "no_half_ends",
        file: SHARED,
        find: "            self.end();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "items left in the ring are leaked",
    },
    Mutant {
        name: "one_half_is_gone_from_the_start",
        file: SETTINGS,
        find: "half_gone: AtomicBool::new(false)",
        nth: None,
        replace: "half_gone: AtomicBool::new(true)",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read", "drops::both_go_at_once"]),
        why: "items are dropped by either half",
    },
    Mutant {
        name: "end_ignores_position",
        file: SHARED,
        find: "self.read.take().map_or(0, |read| read.wrapping_sub(start))",
        nth: None,
        replace: "0",
        bound: 2,
        fate: KilledBy(&["drops::a_chunk_was_half_read"]),
        why: "items that were taken from the oldest chunk are dropped again",
    },
    Mutant {
        name: "end_applies_position_to_all",
        file: SHARED,
        find: "self.read.take().map_or(0, |read| read.wrapping_sub(start))",
        nth: None,
        replace: "self.read.map_or(0, |read| read.wrapping_sub(start))",
        bound: 2,
        fate: KilledBy(&["drops::a_later_chunk_was_half_read", "drops::both_go_at_once"]),
        why: "items of later chunks are forgotten",
    },
    Mutant {
        name: "end_trusts_position",
        file: SHARED,
        find: "        let begin = begin.min(end);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: Equivalent,
        why: "the position that a consumer tells at its end lies in its chunk, and before every item that it has not taken: the bound is never the smaller",
    },
    Mutant {
        name: "end_ignores_hole",
        file: SHARED,
        find: "if committed < len { committed } else { used }",
        nth: None,
        replace: "if committed < len { committed } else { len.max(used) }",
        bound: 2,
        fate: KilledBy(&["drops::a_chunk_had_a_hole"]),
        why: "empty slots of a hole are dropped as items",
    },
    Mutant {
        name: "end_ignores_tail",
        file: SHARED,
        find: "let end = if committed < len {",
        nth: None,
        replace: "let end = if false {",
        bound: 2,
        fate: KilledBy(&["drops::a_chunk_was_empty"]),
        why: "slots beyond the tail are dropped as items",
    },
    Mutant {
        name: "end_drops_no_items",
        file: SHARED,
        find: "        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
",
        nth: None,
        replace: "        let _ = (&memory, begin);
",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read"]),
        why: "items left in the ring are leaked",
    },
    Mutant {
        name: "end_drops_items_twice",
        file: SHARED,
        find: "        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
",
        nth: None,
        replace: "        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read"]),
        why: "items left in the ring are dropped twice",
    },
    Mutant {
        name: "end_leaks_memory_where_a_drop_panics",
        file: SHARED,
        find: "        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
",
        nth: None,
        replace: "        let memory = core::mem::ManuallyDrop::new(memory);
        unsafe { Slot::drop_range(memory.first.wrapping_add(begin), end - begin) };
        drop(core::mem::ManuallyDrop::into_inner(memory));
",
        bound: 2,
        fate: KilledBy(&["drops::a_drop_that_panics_at_the_end_leaks_nothing_else"]),
        why: "a chunk is leaked where an item in it does not go quietly",
    },
    Mutant {
        name: "end_stops_where_a_drop_panics",
        file: SHARED,
        find: "        // Reached with chunks left only when dropping an item has panicked: go on with the others.
        self.free_all();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["drops::a_drop_that_panics_at_the_end_leaks_nothing_else"]),
        why: "later chunks are leaked where an item does not go quietly",
    },
    Mutant {
        name: "end_frees_no_memory",
        file: SHARED,
        find: "            unsafe { settings.form.free(first, self.len, &settings.pool) };
",
        nth: None,
        replace: "            let _ = (settings, first, self.len);
",
        bound: 2,
        fate: KilledBy(&["drops::nothing_was_ever_read"]),
        why: "chunks are leaked",
    },
    Mutant {
        name: "end_from_reclaimed",
        file: SHARED,
        find: "            seq: self.consumer.head.load(Ordering::Relaxed),
",
        nth: None,
        replace: "            seq: self.reclaimed.load(Ordering::Relaxed),
",
        bound: 2,
        fate: KilledBy(&["drops::a_chunk_was_idle"]),
        why: "idle chunks are freed twice",
    },
    Mutant {
        name: "end_keeps_idle_chunks",
        file: SHARED,
        find: "        self.shared.free_idle();
        if core::mem",
        nth: None,
        replace: "        if core::mem",
        bound: 2,
        fate: KilledBy(&["last_owner::a_control_outlives_the_halves"]),
        why: "idle chunks stay as long as a control",
    },
    Mutant {
        name: "end_leaves_entries",
        file: SHARED,
        find: "        entry.first.store(ptr::null_mut(), Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["last_owner::a_control_outlives_the_halves"]),
        why: "chunks are freed by the end and by whoever trims",
    },
    Mutant {
        name: "end_leaves_the_head",
        file: SHARED,
        find: "            .store(self.installed, Ordering::Release);",
        nth: None,
        replace: "            .store(self.shared.consumer.head.load(Ordering::Relaxed), Ordering::Release);",
        bound: 2,
        fate: KilledBy(&["last_owner::a_control_outlives_the_halves"]),
        why: "a ring that has ended seems to have chunks",
    },
    Mutant {
        name: "end_head_relaxed",
        file: SHARED,
        find: "            .store(self.installed, Ordering::Release);",
        nth: None,
        replace: "            .store(self.installed, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["last_owner::a_ring_ends_while_it_is_trimmed", "last_owner::a_ring_that_has_ended_is_trimmed"]),
        why: "chunks that the end has freed are freed by a trimmer",
    },
    Mutant {
        name: "ring_that_was_never_made_leaks",
        file: SHARED,
        find: "        // Idle chunks are what is left where the halves were never made.
        self.free_idle();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["pool::a_ring_that_cannot_have_all_its_chunks_keeps_none"]),
        why: "chunks are leaked where the ring cannot be made",
    },
    Mutant {
        name: "end_by_the_setting",
        file: SHARED,
        find: "let end = if committed < len {",
        nth: None,
        replace: "let end = if committed < self.shared.settings.chunk_len.load(Ordering::Relaxed) {",
        bound: 2,
        fate: KilledBy(&["last_owner::a_ring_that_ends_does_without_its_current_settings"]),
        why: "a hole is dropped as items",
    },
    Mutant {
        name: "tail_store_relaxed",
        file: PRODUCER,
        find: "self.shared.producer.tail.store(position, Ordering::Release);",
        nth: None,
        replace: "self.shared.producer.tail.store(position, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["publication::items_of_one_chunk_are_seen_whole"]),
        why: "the tail is seen before the items, and the entry of their chunk",
    },
    Mutant {
        name: "tail_before_item",
        file: PRODUCER,
        find: "        unsafe { (*self.base.wrapping_add(position)).write(item) };
        self.publish(position.wrapping_add(1));
",
        nth: None,
        replace: "        self.publish(position.wrapping_add(1));
        unsafe { (*self.base.wrapping_add(position)).write(item) };
",
        bound: 2,
        fate: KilledBy(&["publication::items_of_one_chunk_are_seen_whole"]),
        why: "an item is committed before it is there",
    },
    Mutant {
        name: "tail_before_entry",
        file: PRODUCER,
        find: "        let entry: &Entry<T> = shared.entry(self.seq);
",
        nth: None,
        replace: "        shared.producer.tail.store(start.wrapping_add(1), Ordering::Release);
        shared.producer.tail.store(start, Ordering::Release);
        let entry: &Entry<T> = shared.entry(self.seq);
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk", "publication::items_of_one_chunk_are_seen_whole"]),
        why: "the tail reaches into a chunk whose entry is not written",
    },
    Mutant {
        name: "end_of_chunk_off_by_one",
        file: PRODUCER,
        find: "self.end = start.wrapping_add(len);",
        nth: None,
        replace: "self.end = start.wrapping_add(len - 1);",
        bound: 2,
        fate: KilledBy(&["boundary::an_old_chunk_is_emptied_before_the_next"]),
        why: "ranges are shorter than their chunks",
    },
    Mutant {
        name: "refused_reservation_keeps_the_chunk_open",
        file: PRODUCER,
        find: "if self.in_traffic() == 1 {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["early_close::a_single_chunk_never_stands_in_the_way_of_a_reservation"]),
        why: "the only chunk is never given back, so the reservation never fits",
    },
    Mutant {
        name: "refused_reservation_always_closes",
        file: PRODUCER,
        find: "if self.in_traffic() == 1 {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["early_close::a_refused_reservation_leaves_the_rest_of_its_chunk_to_shorter_ones"]),
        why: "room is lost to a reservation that was refused",
    },
    Mutant {
        name: "reservation_for_nobody_closes",
        file: PRODUCER,
        find: "                Refused::Closed => ReserveError::Closed,
",
        nth: None,
        replace: "                Refused::Closed => {
                    self.close_chunk();
                    ReserveError::Closed
                }
",
        bound: 2,
        fate: KilledBy(&["ends::a_reservation_for_nobody_leaves_the_rest_of_its_chunk"]),
        why: "room is lost to a reservation that was refused",
    },
    Mutant {
        name: "reservation_for_nobody_says_full",
        file: PRODUCER,
        find: "                Refused::Closed => ReserveError::Closed,
",
        nth: None,
        replace: "                Refused::Closed => ReserveError::Full,
",
        bound: 2,
        fate: KilledBy(&["ends::a_reservation_for_nobody_leaves_the_rest_of_its_chunk"]),
        why: "a producer that waits for room waits for ever",
    },
    Mutant {
        name: "reservation_without_room_says_closed",
        file: PRODUCER,
        find: "                    ReserveError::Full
",
        nth: None,
        replace: "                    ReserveError::Closed
",
        bound: 2,
        fate: KilledBy(&["early_close::the_last_item_before_a_known_hole_gives_the_chunk_back_at_once"]),
        why: "a producer gives up although the consumer lives",
    },
    Mutant {
        name: "push_for_nobody_says_full",
        file: ERROR,
        find: "Refused::Closed => PushError::Closed(item)",
        nth: None,
        replace: "Refused::Closed => PushError::Full(item)",
        bound: 2,
        fate: KilledBy(&["ends::the_producer_hears_of_the_end_at_its_next_chunk"]),
        why: "a producer that waits for room waits for ever",
    },
    Mutant {
        name: "push_without_room_says_closed",
        file: ERROR,
        find: "Refused::Full | Refused::Memory => PushError::Full(item)",
        nth: None,
        replace: "Refused::Full | Refused::Memory => PushError::Closed(item)",
        bound: 2,
        fate: KilledBy(&["ends::the_producer_hears_of_the_end_at_its_next_chunk"]),
        why: "a producer gives up although the consumer lives",
    },
    Mutant {
        name: "reservation_longer_than_a_chunk",
        file: PRODUCER,
        find: "if count > chunk_len {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["early_close::a_refused_reservation_leaves_the_rest_of_its_chunk_to_shorter_ones"]),
        why: "a grant reaches beyond its chunk",
    },
    Mutant {
        name: "tail_before_used",
        file: PRODUCER,
        find: "        // Relaxed: the consumer looks at `used` only after it has seen the tail stored below.
",
        nth: None,
        replace: "        self.shared.producer.tail.store(self.end, Ordering::Release);
",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "the chunk looks complete before its hole is known",
    },
    Mutant {
        name: "close_without_used",
        file: PRODUCER,
        find: "entry.used.store(self.len - hole, Ordering::Relaxed);",
        nth: None,
        replace: "entry.used.store(self.len, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "a hole is read as items",
    },
    Mutant {
        name: "close_without_tail",
        file: PRODUCER,
        find: "        self.holes = self.holes.wrapping_add(hole);
        self.publish(self.end);
",
        nth: None,
        replace: "        self.holes = self.holes.wrapping_add(hole);
",
        bound: 2,
        fate: KilledBy(&["early_close::a_single_chunk_never_stands_in_the_way_of_a_reservation"]),
        why: "the consumer never learns that its chunk is complete",
    },
    Mutant {
        name: "close_without_counting_the_hole",
        file: PRODUCER,
        find: "        self.holes = self.holes.wrapping_add(hole);
        self.publish",
        nth: None,
        replace: "        self.publish",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "holes are counted as items",
    },
    Mutant {
        name: "full_chunk_closed_too",
        file: PRODUCER,
        find: "        if hole == 0 {
            return;
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["early_close::the_last_item_before_a_known_hole_gives_the_chunk_back_at_once"]),
        why: "a chunk that is closed twice loses its hole, which is then read as items",
    },
    Mutant {
        name: "chunk_left_open_for_the_next",
        file: PRODUCER,
        find: "        self.close_chunk();
        self.install(first.as_ptr(), len);
",
        nth: None,
        replace: "        self.install(first.as_ptr(), len);
",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "the next chunk begins behind slots that the tail has not passed",
    },
    Mutant {
        name: "consumer_end_noticed_relaxed",
        file: PRODUCER,
        find: "if settings.consumer_gone.load(Ordering::Acquire) {",
        nth: None,
        replace: "if settings.consumer_gone.load(Ordering::Relaxed) {",
        bound: 2,
        fate: KilledBy(&["ends::what_the_consumer_has_left_is_known_after_a_refusal"]),
        why: "the producer counts items as left that the consumer has taken",
    },
    Mutant {
        name: "consumer_end_not_noticed",
        file: PRODUCER,
        find: "if settings.consumer_gone.load(Ordering::Acquire) {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["ends::the_producer_hears_of_the_end_at_its_next_chunk"]),
        why: "a push for nobody is accepted or says full",
    },
    Mutant {
        name: "head_not_looked_at",
        file: PRODUCER,
        find: "self.find_idle(len)?",
        nth: None,
        replace: "None",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "a chunk more than the ring may have is allocated",
    },
    Mutant {
        name: "head_not_looked_at_again",
        file: PRODUCER,
        find: "self.head = self.shared.consumer.head.load(Ordering::Acquire);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "chunks that were given back are never used",
    },
    Mutant {
        name: "head_load_relaxed",
        file: PRODUCER,
        find: "self.head = self.shared.consumer.head.load(Ordering::Acquire);",
        nth: None,
        replace: "self.head = self.shared.consumer.head.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_the_chunk_just_read"]),
        why: "a slot is written while its item is being moved out",
    },
    Mutant {
        name: "no_full_check",
        file: PRODUCER,
        find: "        if !self.has_room(chunks) && !self.has_room(policy().most_chunks(chunks)) {
",
        nth: None,
        replace: "            if false {
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "more chunks are in traffic than the table holds",
    },
    Mutant {
        name: "full_check_one_late",
        file: PRODUCER,
        find: "self.seq.wrapping_sub(self.head) < most",
        nth: None,
        replace: "self.seq.wrapping_sub(self.head) <= most",
        bound: 2,
        fate: KilledBy(&["boundary::a_table_longer_than_the_ring_is_no_extra_room"]),
        why: "one chunk too many",
    },
    Mutant {
        name: "full_check_one_early",
        file: PRODUCER,
        find: "self.seq.wrapping_sub(self.head) < most",
        nth: None,
        replace: "self.seq.wrapping_sub(self.head) + 1 < most",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "one chunk is never used",
    },
    Mutant {
        name: "used_not_reset",
        file: PRODUCER,
        find: "entry.used.store(len, Ordering::Relaxed);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["publication::items_of_one_chunk_are_seen_whole", "boundary::every_push_needs_a_chunk"]),
        why: "a chunk seems to end where its predecessor in the entry did",
    },
    Mutant {
        name: "address_not_in_entry",
        file: PRODUCER,
        find: "entry.first.store(first, Ordering::Relaxed);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "the consumer reads another chunk than the one that was filled",
    },
    Mutant {
        name: "start_not_in_entry",
        file: PRODUCER,
        find: "entry.start.store(start, Ordering::Relaxed);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "a chunk seems to begin where its predecessor in the entry did",
    },
    Mutant {
        name: "used_reset_only_once",
        file: PRODUCER,
        find: "entry.used.store(len, Ordering::Relaxed);",
        nth: None,
        replace: "if load_own(&entry.used) == 0 { entry.used.store(len, Ordering::Relaxed); }",
        bound: 2,
        fate: KilledBy(&["early_close::a_chunk_with_a_hole_can_be_filled_the_next_time"]),
        why: "a chunk that was closed early keeps its hole",
    },
    Mutant {
        name: "holes_not_in_entry",
        file: PRODUCER,
        find: "entry.holes.store(self.holes, Ordering::Relaxed);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "holes before a chunk are counted as items",
    },
    Mutant {
        name: "installed_store_relaxed",
        file: PRODUCER,
        find: "shared.producer.installed.store(self.seq, Ordering::Release);",
        nth: None,
        replace: "shared.producer.installed.store(self.seq, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["counts::len_knows_the_hole_before_the_newest_chunk"]),
        why: "the entry of the last chunk is not seen with its number",
    },
    Mutant {
        name: "installed_before_entry",
        file: PRODUCER,
        find: "        let entry: &Entry<T> = shared.entry(self.seq);
",
        nth: None,
        replace: "        let entry: &Entry<T> = shared.entry(self.seq);
        shared.producer.installed.store(self.seq.wrapping_add(1), Ordering::Release);
",
        bound: 2,
        fate: KilledBy(&["counts::len_knows_the_hole_before_the_newest_chunk"]),
        why: "a chunk counts as installed before its entry is written",
    },
    Mutant {
        name: "producer_len_head_relaxed",
        file: PRODUCER,
        find: "let head = shared.consumer.head.load(Ordering::Acquire);",
        nth: None,
        replace: "let head = shared.consumer.head.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few"]),
        why: "a position before the head's chunk counts as all of it",
    },
    Mutant {
        name: "producer_len_without_a_chunk",
        file: PRODUCER,
        find: "if head == self.seq {
            return 0;",
        nth: None,
        replace: "if false {
            return 0;",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "the numbers of a chunk that is long gone are counted",
    },
    Mutant {
        name: "producer_len_ignores_position",
        file: PRODUCER,
        find: "            .wrapping_sub(start)
            .min(used);
",
        nth: None,
        replace: "            .wrapping_sub(start)
            .min(0 * used);
",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few"]),
        why: "items that the consumer has taken and told of are counted",
    },
    Mutant {
        name: "producer_len_trusts_new_position",
        file: PRODUCER,
        find: "            .wrapping_sub(start)
            .min(used);
",
        nth: None,
        replace: "            .wrapping_sub(start)
            .min(used + usize::MAX / 2);
",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few_after_a_hole"]),
        why: "a position beyond the oldest chunk takes more from it than was in it",
    },
    Mutant {
        name: "producer_len_counts_holes",
        file: PRODUCER,
        find: "self.position.wrapping_sub(self.holes)",
        nth: Some(2),
        replace: "self.position",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "holes are counted as items",
    },
    Mutant {
        name: "producer_len_forgets_earlier_holes",
        file: PRODUCER,
        find: "put.wrapping_sub(start.wrapping_sub(holes))",
        nth: None,
        replace: "put.wrapping_sub(start.wrapping_sub(0 * holes))",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "holes before the oldest chunk are taken off twice",
    },
    Mutant {
        name: "producer_len_may_wrap",
        file: PRODUCER,
        find: ".saturating_sub(taken)",
        nth: None,
        replace: ".wrapping_sub(taken)",
        bound: 2,
        fate: Equivalent,
        why: "no position that was told is beyond the tail, which is read later by the half that writes it, and no more of a chunk is taken off than was in it: the difference is never negative",
    },
    Mutant {
        name: "free_slots_one_chunk_more",
        file: PRODUCER,
        find: "chunks.saturating_sub(in_traffic)",
        nth: None,
        replace: "(chunks + 1).saturating_sub(in_traffic)",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_can_push_what_free_slots_says"]),
        why: "room is promised that is not there",
    },
    Mutant {
        name: "free_slots_without_rest",
        file: PRODUCER,
        find: "rest + free_chunks",
        nth: None,
        replace: "0 * rest + free_chunks",
        bound: 2,
        fate: KilledBy(&["boundary::an_old_chunk_is_emptied_before_the_next", "counts::the_producer_can_push_what_free_slots_says"]),
        why: "the rest of the current chunk is not counted",
    },
    Mutant {
        name: "producer_is_closed_relaxed",
        file: PRODUCER,
        find: "self.shared.settings.consumer_gone.load(Ordering::Acquire)",
        nth: None,
        replace: "self.shared.settings.consumer_gone.load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["ends::what_the_consumer_did_before_its_end_is_seen"]),
        why: "the consumer is known to be gone, and what it did is not",
    },
    Mutant {
        name: "producer_gone_store_relaxed",
        file: PRODUCER,
        find: ".store(true, Ordering::Release);",
        nth: None,
        replace: ".store(true, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "the end is seen before the last tail",
    },
    Mutant {
        name: "producer_end_not_told",
        file: PRODUCER,
        find: ".store(true, Ordering::Release);",
        nth: None,
        replace: ".store(false, Ordering::Release);",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "the consumer waits for ever",
    },
    Mutant {
        name: "grant_gives_too_many_slots",
        file: PRODUCER,
        find: "if self.filled == self.len {",
        nth: None,
        replace: "if self.filled > self.len {",
        bound: 2,
        fate: KilledBy(&["publication::a_grant_shows_what_it_committed_and_nothing_else"]),
        why: "a slot beyond the reservation is filled",
    },
    Mutant {
        name: "commit_all_instead_of_count",
        file: PRODUCER,
        find: ".publish(self.producer.position.wrapping_add(count));",
        nth: None,
        replace: ".publish(self.producer.position.wrapping_add(count + rest_len));",
        bound: 2,
        fate: KilledBy(&["publication::a_grant_shows_what_it_committed_and_nothing_else"]),
        why: "slots that were not to be committed are",
    },
    Mutant {
        name: "commit_of_nothing_is_published",
        file: PRODUCER,
        find: "        if count != 0 {
            self.producer
",
        nth: None,
        replace: "        if true {
            self.producer
",
        bound: 2,
        fate: Equivalent,
        why: "the tail that is already there is stored once more: time, and nothing else",
    },
    Mutant {
        name: "commit_before_rest_is_found",
        file: PRODUCER,
        find: "        let rest = self.slot(count);
        let rest_len = core::mem::take(&mut self.filled) - count;
        if count != 0 {
            self.producer
                .publish(self.producer.position.wrapping_add(count));
        }
",
        nth: None,
        replace: "        let rest_len = core::mem::take(&mut self.filled) - count;
        if count != 0 {
            self.producer
                .publish(self.producer.position.wrapping_add(count));
        }
        let rest = self.slot(count);
",
        bound: 2,
        fate: KilledBy(&["publication::a_grant_shows_what_it_committed_and_nothing_else"]),
        why: "the rest is looked for behind the new tail, and other slots are dropped",
    },
    Mutant {
        name: "commit_leaves_filled",
        file: PRODUCER,
        find: "core::mem::take(&mut self.filled) - count",
        nth: None,
        replace: "self.filled - count",
        bound: 2,
        fate: KilledBy(&["drops::a_grant_goes_while_the_consumer_does", "publication::a_grant_shows_what_it_committed_and_nothing_else"]),
        why: "the grant drops what it has committed",
    },
    Mutant {
        name: "commit_leaks_rest",
        file: PRODUCER,
        find: "        unsafe { Slot::drop_range(rest, rest_len) };
",
        nth: None,
        replace: "        let _ = (rest, rest_len);
",
        bound: 2,
        fate: KilledBy(&["publication::a_grant_shows_what_it_committed_and_nothing_else"]),
        why: "what is filled and not committed is leaked",
    },
    Mutant {
        name: "dropped_grant_leaks",
        file: PRODUCER,
        find: "            unsafe { Slot::drop_range(self.slot(0), filled) };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["drops::a_grant_goes_while_the_consumer_does"]),
        why: "what a dropped grant holds is leaked",
    },
    Mutant {
        name: "reservation_looks_at_the_length_again",
        file: PRODUCER,
        find: "self.next_chunk(chunk_len, items)",
        nth: None,
        replace: "self.next_chunk(self.shared.settings.chunk_len.load(Ordering::Relaxed), items)",
        bound: 2,
        fate: KilledBy(&["resize::a_reservation_gets_the_length_that_was_looked_at"]),
        why: "a grant reaches beyond its chunk",
    },
    Mutant {
        name: "chunk_of_another_length_used",
        file: PRODUCER,
        find: "if its_len == len {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["resize::an_idle_chunk_of_another_length_is_not_used"]),
        why: "slots beyond a chunk are filled",
    },
    Mutant {
        name: "known_chunk_of_another_length_used",
        file: PRODUCER,
        find: "if its_len == len =>",
        nth: None,
        replace: "if its_len != 0 =>",
        bound: 2,
        fate: KilledBy(&["resize::a_known_idle_chunk_of_another_length_is_not_used"]),
        why: "a chunk is shorter than its entry says",
    },
    Mutant {
        name: "chunk_of_another_length_leaked",
        file: PRODUCER,
        find: "        unsafe { settings.form.free(first, its_len, &settings.pool) };
",
        nth: None,
        replace: "        let _ = (settings, first, its_len);
",
        bound: 2,
        fate: KilledBy(&["resize::an_idle_chunk_of_another_length_is_not_used"]),
        why: "a chunk that is too short is leaked",
    },
    Mutant {
        name: "idle_chunks_not_looked_for",
        file: PRODUCER,
        find: "Ok(self.reclaim(len))",
        nth: None,
        replace: "Ok(None)",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "the entry of an idle chunk is written again",
    },
    Mutant {
        name: "no_memory_says_closed",
        file: PRODUCER,
        find: ".map_err(|_| Refused::Memory)",
        nth: None,
        replace: ".map_err(|_| Refused::Closed)",
        bound: 2,
        fate: KilledBy(&["pool::a_block_beyond_the_budget_is_freed_by_its_owner"]),
        why: "a producer gives up although memory will come back",
    },
    Mutant {
        name: "length_not_in_entry",
        file: PRODUCER,
        find: "entry.len.store(len, Ordering::Relaxed);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "a chunk seems as long as its predecessor in the entry",
    },
    Mutant {
        name: "empty_chunk_sealed",
        file: PRODUCER,
        find: "if self.end.wrapping_sub(self.position) != self.len {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["hand_off::an_empty_chunk_is_not_sealed"]),
        why: "a chunk is lost that nothing was put into",
    },
    Mutant {
        name: "chunk_not_sealed",
        file: PRODUCER,
        find: "if self.end.wrapping_sub(self.position) != self.len {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["hand_off::a_sealed_chunk_can_be_taken"]),
        why: "whoever takes whole chunks waits for ever",
    },
    Mutant {
        name: "last_chunk_not_sealed",
        file: PRODUCER,
        find: "        // Whoever takes whole chunks gets the last one, too.
        self.seal();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["hand_off::the_last_chunk_is_sealed_by_the_end"]),
        why: "the last chunk stays open",
    },
    Mutant {
        name: "last_chunk_sealed_after_the_end",
        file: PRODUCER,
        find: "        self.seal();
        // Release: pairs with the consumer's Acquire loads; it then sees the last tail.
        self.shared
            .settings
            .producer_gone
            .store(true, Ordering::Release);
",
        nth: None,
        replace: "        self.shared
            .settings
            .producer_gone
            .store(true, Ordering::Release);
        self.seal();
",
        bound: 2,
        fate: KilledBy(&["hand_off::the_last_chunk_is_sealed_by_the_end"]),
        why: "the last chunk is open although the producer is gone",
    },
    Mutant {
        name: "wish_to_seal_not_forgotten",
        file: PRODUCER,
        find: "wanted.load(Ordering::Relaxed) && wanted.swap(false, Ordering::Relaxed)",
        nth: None,
        replace: "wanted.load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["hand_off::a_wish_to_seal_is_heard_once"]),
        why: "a wish is heard again",
    },
    Mutant {
        name: "wish_to_seal_not_heard",
        file: PRODUCER,
        find: "wanted.load(Ordering::Relaxed) && wanted.swap(false, Ordering::Relaxed)",
        nth: None,
        replace: "wanted.load(Ordering::Relaxed) && false",
        bound: 2,
        fate: KilledBy(&["hand_off::a_wish_to_seal_is_heard_once"]),
        why: "whoever takes whole chunks waits for ever",
    },
    Mutant {
        name: "sealed_without_a_wish",
        file: PRODUCER,
        find: "        if wanted {
            self.seal();",
        nth: None,
        replace: "        if true {
            self.seal();",
        bound: 2,
        fate: KilledBy(&["hand_off::a_wish_to_seal_is_heard_once"]),
        why: "chunks are closed for nobody",
    },
    Mutant {
        name: "idle_chunk_taken_beyond_the_limit",
        file: PRODUCER,
        find: "if !settings.overwritable && self.has_room(chunks) {",
        nth: None,
        replace: "if !settings.overwritable {",
        bound: 2,
        fate: KilledBy(&["trim::fewer_chunks_while_some_are_idle"]),
        why: "more chunks are in traffic than may be",
    },
    Mutant {
        name: "free_slots_below_nothing",
        file: PRODUCER,
        find: "chunks.saturating_sub(",
        nth: None,
        replace: "chunks.wrapping_sub(",
        bound: 2,
        fate: KilledBy(&["resize::a_smaller_ring_is_full_until_it_was_read"]),
        why: "a ring that was made smaller promises endless room",
    },
    Mutant {
        name: "chunk_closed_by_the_setting",
        file: PRODUCER,
        find: "entry.used.store(self.len - hole, Ordering::Relaxed);",
        nth: None,
        replace: "entry.used.store(self.shared.settings.chunk_len.load(Ordering::Relaxed).wrapping_sub(hole), Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["resize::shorter_chunks"]),
        why: "a chunk seems to have held as many items as one of the new length would",
    },
    Mutant {
        name: "retire_before_item_is_out",
        file: CONSUMER,
        find: "        let item = unsafe { self.take() };
        let next = self.stop_position.wrapping_add(1);
        if next == self.end {
",
        nth: None,
        replace: "        let next = self.stop_position.wrapping_add(1);
        if next == self.end {
            let slot = self.slot.slot();
            self.leave();
            return Ok(unsafe { (*slot).read() });
        }
        let item = unsafe { self.take() };
        if next == self.end {
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_the_chunk_just_read"]),
        why: "the producer gets a chunk whose last item is still in it",
    },
    Mutant {
        name: "line_written_after_its_chunk_went_back",
        file: CONSUMER,
        find: "            return self.give_up(len, outdated);
        }
        self.leave();
",
        nth: None,
        replace: "            return self.give_up(len, outdated);
        }
        let last = self.slot.slot().wrapping_sub(1);
        self.leave();
        unsafe { Slot::finish(last, 1) };
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_the_chunk_just_read"]),
        why: "the consumer writes into a slot that the producer fills",
    },
    Mutant {
        name: "line_written_before_its_items_are_out",
        file: CONSUMER,
        find: "            self.finish_lines();
        }
        if self.stop_position == self.limit {",
        nth: None,
        replace: "            self.finish_lines();
        }
        let ready = self.limit.wrapping_sub(self.stop_position);
        unsafe { Slot::finish(self.slot.slot(), ready) };
        if self.stop_position == self.limit {",
        bound: 2,
        fate: KilledBy(&["early_close::a_chunk_closed_where_the_look_ended_goes_back_at_once"]),
        why: "the consumer writes into a slot that holds an item",
    },
    Mutant {
        name: "line_written_before_its_items_are_released",
        file: CONSUMER,
        find: "            consumer.finish_lines();
",
        nth: None,
        replace: "            consumer.finish_lines();
            let ready = consumer.limit.wrapping_sub(consumer.stop_position);
            unsafe { Slot::finish(consumer.slot.slot(), ready) };
",
        bound: 2,
        fate: KilledBy(&["read_in_place::what_is_not_released_comes_again"]),
        why: "the consumer writes into a slot that holds an item",
    },
    Mutant {
        name: "stop_beyond_a_hole",
        file: CONSUMER,
        find: "        self.stop_here();
        if self.stop_position == self.end &&",
        nth: None,
        replace: "        if self.stop_position == self.end &&",
        bound: 2,
        fate: KilledBy(&["early_close::a_chunk_closed_where_the_look_ended_goes_back_at_once"]),
        why: "a chunk that was closed since comes back only with the next look",
    },
    Mutant {
        name: "seen_tail_behind_counts",
        file: CONSUMER,
        find: "(self.tail.wrapping_sub(self.stop_position) as isize) > 0",
        nth: None,
        replace: "self.tail != self.stop_position",
        bound: 2,
        fate: KilledBy(&["publication::items_of_a_chunk_already_entered_are_seen_whole"]),
        why: "slots are taken for items that an old look has told of and that were taken since",
    },
    Mutant {
        name: "seen_tail_one_too_far",
        file: CONSUMER,
        find: "overwritable {
            self.tail = tail;",
        nth: None,
        replace: "overwritable {
            self.tail = tail.wrapping_add(1);",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "a chunk is entered of which no look has told",
    },
    Mutant {
        name: "seen_tail_not_of_the_second_look",
        file: CONSUMER,
        find: "                self.tail = tail;
            }
            if !self.in_chunk {",
        nth: None,
        replace: "            }
            if !self.in_chunk {",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "what is remembered falls behind, in the end by half of all positions, and then seems to be ahead",
    },
    Mutant {
        name: "seen_tail_where_chunks_are_overwritten",
        file: CONSUMER,
        find: "(self.tail.wrapping_sub(self.stop_position) as isize) > 0
            && !self.shared.settings.overwritable",
        nth: None,
        replace: "(self.tail.wrapping_sub(self.stop_position) as isize) > 0",
        bound: 2,
        fate: BeyondLoom,
        why: "what was seen would be of no meaning, and half of all positions have to pass until it seems to be ahead",
    },
    Mutant {
        name: "read_content_with_what_was_seen",
        file: CONSUMER,
        find: "        if self.stop_position == self.end && self.sees_further() {
            self.refill_at_boundary(self.tail)?;
        }",
        nth: None,
        replace: "        if self.stop_position == self.end && self.sees_further() {
            self.refill_at_boundary(self.tail)?;
            return Ok(ReadSlice { consumer: self });
        }",
        bound: 2,
        fate: KilledBy(&["read_in_place::a_slice_of_a_chunk_seen_before_holds_all_that_is_ready"]),
        why: "items that have come to a chunk since it was seen are not in the slice",
    },
    Mutant {
        name: "chunk_taken_from_the_stop_on",
        file: CONSUMER,
        find: "        self.stop_here();
        self.refill()?;
        // Only",
        nth: None,
        replace: "        self.refill()?;
        // Only",
        bound: 2,
        fate: KilledBy(&["hand_off::the_rest_of_a_chunk_that_is_sealed_is_handed_over"]),
        why: "what is there up to the stop counts as taken",
    },
    Mutant {
        name: "release_goes_beyond_stop",
        file: CONSUMER,
        find: "        consumer.go_on(position, count);
",
        nth: None,
        replace: "        consumer.slot = consumer.slot.after(count);
",
        bound: 2,
        fate: KilledBy(&["read_in_place::what_is_not_released_comes_again"]),
        why: "items are taken that are not there",
    },
    Mutant {
        name: "retire_not_eager",
        file: CONSUMER,
        find: "            let last = usize::from(self.limit == self.end);
",
        nth: None,
        replace: "            let last = 0;
",
        bound: 2,
        fate: KilledBy(&["boundary::the_last_of_several_items_gives_their_chunk_back_at_once"]),
        why: "a chunk comes back only with the next look",
    },
    Mutant {
        name: "read_without_a_look",
        file: CONSUMER,
        find: "if self.limit != self.end || self.stop_position == self.end {",
        nth: None,
        replace: "if self.stop_position == self.limit {",
        bound: 2,
        fate: KilledBy(&["read_in_place::a_slice_holds_all_that_is_ready"]),
        why: "a slice leaves out items that are known to be there",
    },
    Mutant {
        name: "read_of_a_chunk_that_has_nothing_left",
        file: CONSUMER,
        find: "if self.limit != self.end || self.stop_position == self.end {",
        nth: None,
        replace: "if self.limit != self.end {",
        bound: 2,
        fate: KilledBy(&["read_in_place::a_slice_holds_all_that_is_ready"]),
        why: "a slice is there, and nothing in it",
    },
    Mutant {
        name: "tail_load_relaxed",
        file: CONSUMER,
        find: "        let tail = self.shared.producer.tail.load(Ordering::Acquire);
",
        nth: None,
        replace: "        let tail = self.shared.producer.tail.load(Ordering::Relaxed);
",
        bound: 2,
        fate: KilledBy(&["publication::items_of_a_chunk_already_entered_are_seen_whole"]),
        why: "the tail is seen before the items",
    },
    Mutant {
        name: "nothing_counts_as_ready",
        file: CONSUMER,
        find: "if ready != 0 && ready <",
        nth: None,
        replace: "if ready <",
        bound: 2,
        fate: KilledBy(&["publication::items_of_a_chunk_already_entered_are_seen_whole"]),
        why: "a slot is read that holds no item yet",
    },
    Mutant {
        name: "complete_chunk_not_looked_at",
        file: CONSUMER,
        find: "if ready != 0 && ready <",
        nth: None,
        replace: "if ready != 0 && ready <=",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "a hole is read as items",
    },
    Mutant {
        name: "second_look_relaxed",
        file: CONSUMER,
        find: "                tail = self.shared.producer.tail.load(Ordering::Acquire);
",
        nth: None,
        replace: "                tail = self.shared.producer.tail.load(Ordering::Relaxed);
",
        bound: 2,
        fate: KilledBy(&["publication::items_of_one_chunk_are_seen_whole"]),
        why: "as above, where the first look has found nothing",
    },
    Mutant {
        name: "no_second_look",
        file: CONSUMER,
        find: "                tail = self.shared.producer.tail.load(Ordering::Acquire);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "closed although an item came between the two looks",
    },
    Mutant {
        name: "second_look_before_end",
        file: CONSUMER,
        find: "                let closed = self.shared.settings.producer_gone.load(Ordering::Acquire);
                let seen = tail;
                tail = self.shared.producer.tail.load(Ordering::Acquire);
",
        nth: None,
        replace: "                let seen = tail;
                tail = self.shared.producer.tail.load(Ordering::Acquire);
                let closed = self.shared.settings.producer_gone.load(Ordering::Acquire);
",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "as above",
    },
    Mutant {
        name: "second_look_in_vain",
        file: CONSUMER,
        find: "if tail == seen {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "as above",
    },
    Mutant {
        name: "producer_gone_load_relaxed",
        file: CONSUMER,
        find: "                let closed = self.shared.settings.producer_gone.load(Ordering::Acquire);
",
        nth: None,
        replace: "                let closed = self.shared.settings.producer_gone.load(Ordering::Relaxed);
",
        bound: 2,
        fate: KilledBy(&["ends::the_last_item_comes_before_the_end"]),
        why: "the end is seen before the last tail",
    },
    Mutant {
        name: "kept_chunk_not_given_back",
        file: CONSUMER,
        find: "if self.in_chunk && self.stop_position == self.end {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["read_in_place::a_drop_that_panics_only_delays_the_return_of_its_chunk"]),
        why: "a chunk is kept for ever after a drop has panicked",
    },
    Mutant {
        name: "position_not_told_when_empty",
        file: CONSUMER,
        find: "            self.tell_position();
            return",
        nth: None,
        replace: "            return",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few"]),
        why: "the producer counts items of a ring that was found empty",
    },
    Mutant {
        name: "hole_read",
        file: CONSUMER,
        find: "self.hole = entry.len.load(Ordering::Relaxed) - used;",
        nth: None,
        replace: "self.hole = 0 * used;",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read", "read_in_place::a_slice_ends_before_the_hole"]),
        why: "a hole is read as items",
    },
    Mutant {
        name: "known_hole_forgotten",
        file: CONSUMER,
        find: "let range_end = self.end.wrapping_add(self.hole);",
        nth: None,
        replace: "let range_end = self.end;",
        bound: 2,
        fate: KilledBy(&["hand_off::the_rest_of_a_chunk_that_is_sealed_is_handed_over"]),
        why: "a hole that is looked at again takes items off its chunk",
    },
    Mutant {
        name: "hole_of_the_next_chunk",
        file: CONSUMER,
        find: "        let entry = self.shared.entry(self.seq.wrapping_sub(1));
        // Relaxed: the tail that completed",
        nth: None,
        replace: "        let entry = self.shared.entry(self.seq);
        // Relaxed: the tail that completed",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "a chunk seems to end where another does",
    },
    Mutant {
        name: "known_hole_not_given_back",
        file: CONSUMER,
        find: "        if next == self.end {
",
        nth: None,
        replace: "        if next == self.end && self.hole == 0 {
",
        bound: 2,
        fate: KilledBy(&["early_close::the_last_item_before_a_known_hole_gives_the_chunk_back_at_once"]),
        why: "a chunk with a hole comes back only with the next look",
    },
    Mutant {
        name: "hole_alone_is_something",
        file: CONSUMER,
        find: "        self.limit != position
",
        nth: None,
        replace: "        true
",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "a hole that nothing is left before is read",
    },
    Mutant {
        name: "hole_not_skipped",
        file: CONSUMER,
        find: "let position = self.end.wrapping_add(hole);",
        nth: None,
        replace: "let position = self.end;",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "the next chunk is entered at the hole before it",
    },
    Mutant {
        name: "hole_not_reset",
        file: CONSUMER,
        find: "core::mem::take(&mut self.hole)",
        nth: None,
        replace: "self.hole",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read", "early_close::holes_among_many_chunks"]),
        why: "the next chunk seems longer by the hole before it",
    },
    Mutant {
        name: "limit_before_the_hole",
        file: CONSUMER,
        find: "        self.limit = position;
        self.finished",
        nth: None,
        replace: "        self.finished",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "slots of a chunk that was given back count as items",
    },
    Mutant {
        name: "end_before_the_hole",
        file: CONSUMER,
        find: "        self.end = position;
        self.in_chunk",
        nth: None,
        replace: "        self.in_chunk",
        bound: 2,
        fate: KilledBy(&["early_close::a_hole_is_never_read"]),
        why: "a chunk that was given back seems to go on",
    },
    Mutant {
        name: "retired_chunk_still_current",
        file: CONSUMER,
        find: "        self.in_chunk = false;
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["counts::a_ring_that_looks_full_is_full"]),
        why: "a chunk that was given back counts as being read, and the next one is never entered",
    },
    Mutant {
        name: "chunk_entered_again",
        file: CONSUMER,
        find: "self.in_chunk = true;",
        nth: None,
        replace: "self.in_chunk = false;",
        bound: 2,
        fate: KilledBy(&["boundary::an_old_chunk_is_emptied_before_the_next"]),
        why: "a chunk that is being read is taken for the next one",
    },
    Mutant {
        name: "position_told_after_the_head",
        file: CONSUMER,
        find: "        self.tell(position);
        // Release: pairs with the Acquire load of the producer, and of whoever trims; every item has
        // been moved out before anybody else uses the chunk or its entry.
        self.shared.consumer.head.store(self.seq, Ordering::Release);
",
        nth: None,
        replace: "        // Release: pairs with the Acquire load of the producer, and of whoever trims; every item has
        // been moved out before anybody else uses the chunk or its entry.
        self.shared.consumer.head.store(self.seq, Ordering::Release);
        self.tell(position);
",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few"]),
        why: "a position before the head's chunk counts as all of it",
    },
    Mutant {
        name: "position_not_told_with_the_head",
        file: CONSUMER,
        find: "        // Before the head, so that `read` is never behind the chunk that the head names.
        self.tell(position);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["counts::the_producer_counts_no_item_too_few"]),
        why: "as above",
    },
    Mutant {
        name: "consumer_forgets_holes",
        file: CONSUMER,
        find: "self.holes = self.holes.wrapping_add(hole);",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "holes are counted as items",
    },
    Mutant {
        name: "consumer_counts_holes_twice",
        file: CONSUMER,
        find: "self.holes = self.holes.wrapping_add(hole);",
        nth: None,
        replace: "self.holes = self.holes.wrapping_add(2 * hole);",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "items are taken for holes",
    },
    Mutant {
        name: "head_store_relaxed",
        file: CONSUMER,
        find: "self.shared.consumer.head.store(self.seq, Ordering::Release);",
        nth: None,
        replace: "self.shared.consumer.head.store(self.seq, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_the_chunk_just_read"]),
        why: "a slot is written while its item is being moved out",
    },
    Mutant {
        name: "head_one_late",
        file: CONSUMER,
        find: "self.shared.consumer.head.store(self.seq, Ordering::Release);",
        nth: None,
        replace: "self.shared.consumer.head.store(self.seq.wrapping_sub(1), Ordering::Release);",
        bound: 2,
        fate: KilledBy(&["boundary::the_last_item_of_a_chunk_gives_it_back_at_once"]),
        why: "a chunk comes back only with the one after it",
    },
    Mutant {
        name: "head_at_entry",
        file: CONSUMER,
        find: "        self.seq = self.seq.wrapping_add(1);
        self.in_chunk = true;
",
        nth: None,
        replace: "        self.seq = self.seq.wrapping_add(1);
        self.in_chunk = true;
        self.shared.consumer.head.store(self.seq, Ordering::Release);
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_the_chunk_just_read"]),
        why: "a chunk is given back when its first item is looked at",
    },
    Mutant {
        name: "chunk_not_counted",
        file: CONSUMER,
        find: "        self.seq = self.seq.wrapping_add(1);
        self.in_chunk = true;
",
        nth: None,
        replace: "        self.in_chunk = true;
",
        bound: 2,
        fate: KilledBy(&["boundary::every_push_needs_a_chunk"]),
        why: "a chunk is never given back, and entered again",
    },
    Mutant {
        name: "position_told_again",
        file: CONSUMER,
        find: "if self.told != read {",
        nth: None,
        replace: "if true {",
        bound: 2,
        fate: Equivalent,
        why: "the value that is already there is stored once more: time, and nothing else",
    },
    Mutant {
        name: "len_tail_relaxed",
        file: CONSUMER,
        find: "        let tail = shared.producer.tail.load(Ordering::Acquire);
",
        nth: None,
        replace: "        let tail = shared.producer.tail.load(Ordering::Relaxed);
",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "the tail is seen before the entry of its chunk",
    },
    Mutant {
        name: "len_installed_relaxed",
        file: CONSUMER,
        find: "            .installed
            .load(Ordering::Acquire)",
        nth: None,
        replace: "            .installed
            .load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["counts::len_knows_the_hole_before_the_newest_chunk"]),
        why: "the entry of the last chunk is not seen with its number",
    },
    Mutant {
        name: "len_trusts_the_newest_chunk",
        file: CONSUMER,
        find: "while (tail.wrapping_sub(entry.start.load(Ordering::Relaxed)) as isize) < 0 {",
        nth: None,
        replace: "while false {",
        bound: 2,
        fate: KilledBy(&["counts::len_knows_the_hole_before_the_newest_chunk"]),
        why: "holes behind the tail that was seen are left out too",
    },
    Mutant {
        name: "len_counts_the_last_hole",
        file: CONSUMER,
        find: "        if tail.wrapping_sub(start) == len {
",
        nth: None,
        replace: "        if false {
",
        bound: 2,
        fate: KilledBy(&["counts::len_leaves_holes_out"]),
        why: "the hole that the tail stands behind is counted as items",
    },
    Mutant {
        name: "full_installed_relaxed",
        file: CONSUMER,
        find: "let installed = shared.producer.installed.load(Ordering::Acquire);",
        nth: None,
        replace: "let installed = shared.producer.installed.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["counts::a_ring_that_looks_full_is_full"]),
        why: "the entry of the last chunk is not seen with its number",
    },
    Mutant {
        name: "full_forgets_the_current_chunk",
        file: CONSUMER,
        find: "            self.seq.wrapping_sub(1)
        } else {",
        nth: None,
        replace: "            self.seq
        } else {",
        bound: 2,
        fate: KilledBy(&["counts::a_ring_is_full_also_while_its_oldest_chunk_is_read"]),
        why: "a chunk that is being read counts as given back",
    },
    Mutant {
        name: "full_with_a_chunk_free",
        file: CONSUMER,
        find: "if installed.wrapping_sub(head) < shared.settings.most_chunks() {",
        nth: None,
        replace: "if installed == head {",
        bound: 2,
        fate: KilledBy(&["counts::len_counts_every_push_that_is_known"]),
        why: "full although a chunk is free",
    },
    Mutant {
        name: "full_with_a_slot_free",
        file: CONSUMER,
        find: "shared.producer.tail.load(Ordering::Relaxed) == end
",
        nth: None,
        replace: "shared.producer.tail.load(Ordering::Relaxed) != end.wrapping_add(1 << 20)
",
        bound: 2,
        fate: KilledBy(&["counts::a_ring_that_looks_full_is_full", "counts::a_ring_is_full_also_while_its_oldest_chunk_is_read"]),
        why: "full although the last chunk has room",
    },
    Mutant {
        name: "consumer_is_closed_relaxed",
        file: CONSUMER,
        find: "        self.shared.settings.producer_gone.load(Ordering::Acquire)
",
        nth: None,
        replace: "        self.shared.settings.producer_gone.load(Ordering::Relaxed)
",
        bound: 2,
        fate: KilledBy(&["ends::what_the_producer_did_before_its_end_is_seen", "ends::a_ring_that_is_closed_and_empty_stays_empty"]),
        why: "closed and empty although an item is there",
    },
    Mutant {
        name: "position_not_told_at_the_end",
        file: CONSUMER,
        find: "        // Where the items begin that are dropped with the ring.
        self.tell_position();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["drops::a_chunk_was_half_read"]),
        why: "items that were taken are dropped again with the ring",
    },
    Mutant {
        name: "position_told_after_the_end",
        file: CONSUMER,
        find: "        self.tell_position();
        // Release: pairs with the producer's Acquire loads; what this thread did, and how far this
        // half came, is seen by a producer that knows of the end.
        self.shared
            .settings
            .consumer_gone
            .store(true, Ordering::Release);
",
        nth: None,
        replace: "        self.shared
            .settings
            .consumer_gone
            .store(true, Ordering::Release);
        self.tell_position();
",
        bound: 2,
        fate: KilledBy(&["ends::what_the_consumer_has_left_is_known_after_its_end"]),
        why: "the producer counts items as left that the consumer has taken",
    },
    Mutant {
        name: "consumer_gone_store_relaxed",
        file: CONSUMER,
        find: ".store(true, Ordering::Release);",
        nth: None,
        replace: ".store(true, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["ends::what_the_consumer_did_before_its_end_is_seen"]),
        why: "the consumer is known to be gone, and what it did is not",
    },
    Mutant {
        name: "consumer_end_not_told",
        file: CONSUMER,
        find: ".store(true, Ordering::Release);",
        nth: None,
        replace: ".store(false, Ordering::Release);",
        bound: 2,
        fate: KilledBy(&["ends::the_producer_hears_of_the_end_at_its_next_chunk"]),
        why: "the producer fills the ring for nobody",
    },
    Mutant {
        name: "release_keeps_items",
        file: CONSUMER,
        find: "        consumer.go_on(position, count);
",
        nth: None,
        replace: "        consumer.go_on(position, 0);
",
        bound: 2,
        fate: KilledBy(&["read_in_place::what_is_not_released_comes_again"]),
        why: "items are dropped and come again",
    },
    Mutant {
        name: "release_counts_after_the_drops",
        file: CONSUMER,
        find: "        consumer.go_on(position, count);
        // SAFETY: these slots hold items that are this half's (invariant 1); they count as moved,
        // and the producer does not get the chunk back before `retire`.
        unsafe { Slot::drop_range(first, count) };
",
        nth: None,
        replace: "        unsafe { Slot::drop_range(first, count) };
        consumer.go_on(position, count);
",
        bound: 2,
        fate: KilledBy(&["read_in_place::a_drop_that_panics_only_delays_the_return_of_its_chunk"]),
        why: "an item whose drop has panicked is met again",
    },
    Mutant {
        name: "release_leaks",
        file: CONSUMER,
        find: "        unsafe { Slot::drop_range(first, count) };
",
        nth: None,
        replace: "        let _ = first;
",
        bound: 2,
        fate: KilledBy(&["read_in_place::what_is_not_released_comes_again"]),
        why: "released items are never dropped",
    },
    Mutant {
        name: "release_keeps_the_chunk",
        file: CONSUMER,
        find: "        if consumer.stop_position == consumer.end {
            consumer.retire();
        } else {
            consumer.finish_lines();
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["read_in_place::the_writer_waits_for_the_release"]),
        why: "a chunk that was released whole comes back only with the next look",
    },
    Mutant {
        name: "release_keeps_a_chunk_with_a_hole",
        file: CONSUMER,
        find: "if consumer.stop_position == consumer.end {",
        nth: None,
        replace: "if consumer.stop_position == consumer.end && consumer.hole == 0 {",
        bound: 2,
        fate: KilledBy(&["early_close::a_release_before_a_known_hole_gives_the_chunk_back_at_once"]),
        why: "a chunk with a hole that was released whole comes back only with the next look",
    },
    Mutant {
        name: "retire_before_release",
        file: CONSUMER,
        find: "        unsafe { Slot::drop_range(first, count) };
        if consumer.stop_position == consumer.end {
            consumer.retire();
        } else {
",
        nth: None,
        replace: "        if consumer.stop_position == consumer.end {
            consumer.leave();
            unsafe { Slot::drop_range(first, count) };
        } else {
            unsafe { Slot::drop_range(first, count) };
",
        bound: 2,
        fate: KilledBy(&["read_in_place::the_writer_waits_for_the_release"]),
        why: "the producer gets a chunk whose items are still being dropped",
    },
    Mutant {
        name: "outdated_length_kept",
        file: CONSUMER,
        find: "let outdated = len != settings.chunk_len.load(Ordering::Relaxed)",
        nth: None,
        replace: "let outdated = false",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_of_another_length_is_freed_when_it_was_read"]),
        why: "chunks of another length wait to be used again",
    },
    Mutant {
        name: "outdated_number_kept",
        file: CONSUMER,
        find: "                && shared.exceeds(",
        nth: None,
        replace: "                && false && shared.exceeds(",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_too_many_is_freed_when_it_was_read"]),
        why: "a smaller ring keeps its chunks",
    },
    Mutant {
        name: "retire_keeps_every_chunk",
        file: CONSUMER,
        find: "if outdated || many() {",
        nth: None,
        replace: "if outdated {",
        bound: 2,
        fate: KilledBy(&["trim::two_idle_chunks_circulate"]),
        why: "all chunks circulate, and none goes to the pool",
    },
    Mutant {
        name: "retire_frees_what_is_not_outdated",
        file: CONSUMER,
        find: "            if outdated {
",
        nth: None,
        replace: "            if true {
",
        bound: 2,
        fate: KilledBy(&["trim::two_idle_chunks_circulate"]),
        why: "chunks go to the source and not to the pool",
    },
    Mutant {
        name: "retire_keeps_what_is_outdated",
        file: CONSUMER,
        find: "            if outdated {
",
        nth: None,
        replace: "            if false {
",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_of_another_length_is_freed_when_it_was_read"]),
        why: "the pool keeps chunks of a length that nobody asks for",
    },
    Mutant {
        name: "retire_head_before_detach",
        file: CONSUMER,
        find: "        let first = self.detach();
        let settings",
        nth: None,
        replace: "        self.shared.consumer.head.store(self.seq, Ordering::Release);
        let first = self.detach();
        let settings",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_of_another_length_is_freed_when_it_was_read"]),
        why: "the chunk is idle, and put into the pool",
    },
    Mutant {
        name: "detach_leaves_the_entry",
        file: CONSUMER,
        find: "        entry.first.store(ptr::null_mut(), Ordering::Relaxed);
        NonNull",
        nth: None,
        replace: "        NonNull",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_lent_to_many_is_given_back_by_the_last"]),
        why: "a chunk is idle, and somebody else's",
    },
    Mutant {
        name: "open_chunk_taken",
        file: CONSUMER,
        find: "        if self.limit != self.end {
            return Err(TakeError::Open);",
        nth: None,
        replace: "        if false {
            return Err(TakeError::Open);",
        bound: 2,
        fate: KilledBy(&["hand_off::an_open_chunk_stays"]),
        why: "items go into a chunk that has left",
    },
    Mutant {
        name: "take_head_before_detach",
        file: CONSUMER,
        find: "            let first = self.detach();
            let entry",
        nth: None,
        replace: "            self.shared.consumer.head.store(self.seq, Ordering::Release);
            let first = self.detach();
            let entry",
        bound: 2,
        fate: KilledBy(&["hand_off::room_comes_back_with_a_chunk_that_leaves"]),
        why: "the producer fills a chunk that leaves",
    },
    Mutant {
        name: "taken_items_begin_at_the_start",
        file: CONSUMER,
        find: "let items = self.position().wrapping_sub(start)..",
        nth: None,
        replace: "let items = 0..",
        bound: 2,
        fate: KilledBy(&["hand_off::what_was_popped_is_not_handed_over"]),
        why: "items that were taken are handed over",
    },
    Mutant {
        name: "taken_items_end_at_the_end",
        file: CONSUMER,
        find: "..self.end.wrapping_sub(start);",
        nth: None,
        replace: "..len;",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_with_a_hole_holds_what_was_before_it"]),
        why: "a hole is handed over as items",
    },
    Mutant {
        name: "taken_chunk_not_left",
        file: CONSUMER,
        find: "            self.leave();
        }
        Ok(chunk)",
        nth: None,
        replace: "        }
        Ok(chunk)",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_with_a_hole_holds_what_was_before_it"]),
        why: "a chunk is handed over again",
    },
    Mutant {
        name: "wish_to_seal_not_told",
        file: CONSUMER,
        find: "            .seal_wanted
            .store(true,",
        nth: None,
        replace: "            .seal_wanted
            .store(false,",
        bound: 2,
        fate: KilledBy(&["hand_off::a_wish_to_seal_is_heard_once"]),
        why: "whoever takes whole chunks waits for ever",
    },
    Mutant {
        name: "chunk_entered_by_the_setting",
        file: CONSUMER,
        find: "self.end = start.wrapping_add(entry.len.load(Ordering::Relaxed));",
        nth: None,
        replace: "self.end = start.wrapping_add(self.shared.settings.chunk_len.load(Ordering::Relaxed));",
        bound: 2,
        fate: KilledBy(&["resize::longer_chunks"]),
        why: "a chunk seems to have the new length",
    },
    Mutant {
        name: "len_by_the_setting",
        file: CONSUMER,
        find: "let len = entry.len.load(Ordering::Relaxed);
        let mut holes",
        nth: None,
        replace: "let len = shared.settings.chunk_len.load(Ordering::Relaxed);
        let mut holes",
        bound: 2,
        fate: KilledBy(&["resize::len_knows_chunks_of_any_length"]),
        why: "as above",
    },
    Mutant {
        name: "full_by_the_setting",
        file: CONSUMER,
        find: "            .wrapping_add(entry.len.load(Ordering::Relaxed));
        // Relaxed: nothing",
        nth: None,
        replace: "            .wrapping_add(shared.settings.chunk_len.load(Ordering::Relaxed));
        // Relaxed: nothing",
        bound: 2,
        fate: KilledBy(&["resize::a_smaller_ring_is_full_until_it_was_read"]),
        why: "as above",
    },
    Mutant {
        name: "chunk_handed_over_by_the_setting",
        file: CONSUMER,
        find: "(first, start, entry.len.load(Ordering::Relaxed))",
        nth: None,
        replace: "(first, start, settings.chunk_len.load(Ordering::Relaxed))",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_of_an_old_length_is_handed_over"]),
        why: "as above",
    },
    Mutant {
        name: "outdated_chunk_leaked",
        file: CONSUMER,
        find: "                settings.form.free(first, len, &settings.pool);
",
        nth: None,
        replace: "                let _ = first;
",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_too_many_is_freed_when_it_was_read"]),
        why: "chunks that are too many are leaked",
    },
    Mutant {
        name: "chunk_for_the_pool_leaked",
        file: CONSUMER,
        find: "                settings.form.put(first, len, &settings.pool);
",
        nth: None,
        replace: "                let _ = first;
",
        bound: 2,
        fate: KilledBy(&["trim::two_idle_chunks_circulate"]),
        why: "chunks that do not circulate are leaked",
    },
    Mutant {
        name: "bag_put_relaxed",
        file: POOL,
        find: "                    Ordering::Release,
",
        nth: None,
        replace: "                    Ordering::Relaxed,
",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_goes_from_its_owner_to_the_producer"]),
        why: "a block is used by the next owner while the last one still does",
    },
    Mutant {
        name: "bag_take_relaxed",
        file: POOL,
        find: "place.swap(ptr::null_mut(), Ordering::Acquire)",
        nth: None,
        replace: "place.swap(ptr::null_mut(), Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_goes_from_its_owner_to_the_producer"]),
        why: "as above",
    },
    Mutant {
        name: "bag_take_load_then_store",
        file: POOL,
        find: "place.swap(ptr::null_mut(), Ordering::Acquire)",
        nth: None,
        replace: "{ let block = place.load(Ordering::Acquire); place.store(ptr::null_mut(), Ordering::Relaxed); block }",
        bound: 2,
        fate: KilledBy(&["pool::an_idle_block_goes_to_one_of_two"]),
        why: "a block has two owners",
    },
    Mutant {
        name: "bag_put_over_another",
        file: POOL,
        find: "                let put = place.compare_exchange(
                    ptr::null_mut(),
                    block.as_ptr(),
                    Ordering::Release,
                    Ordering::Relaxed,
                );
",
        nth: None,
        replace: "                let put = Ok::<_, ()>(place.swap(block.as_ptr(), Ordering::Release));
",
        bound: 2,
        fate: KilledBy(&["pool::two_blocks_come_back_at_once"]),
        why: "the block that was in the place is leaked",
    },
    Mutant {
        name: "bag_not_used",
        file: POOL,
        find: "        if self.used() <= self.budget() {
",
        nth: None,
        replace: "        if false {
",
        bound: 2,
        fate: KilledBy(&["pool::two_blocks_come_back_at_once"]),
        why: "no block is ever kept",
    },
    Mutant {
        name: "budget_change_relaxed",
        file: POOL,
        find: "self.0.budget.swap(bytes, Ordering::AcqRel);",
        nth: None,
        replace: "self.0.budget.swap(bytes, Ordering::Relaxed);",
        bound: 2,
        fate: KilledByPlain(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "neither of the two who put a block in and change the budget sees the other",
    },
    Mutant {
        name: "budget_change_does_not_acquire",
        file: POOL,
        find: "self.0.budget.swap(bytes, Ordering::AcqRel);",
        nth: None,
        replace: "self.0.budget.swap(bytes, Ordering::Release);",
        bound: 2,
        fate: KilledByPlain(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "neither of the two who put a block in and change the budget sees the other",
    },
    Mutant {
        name: "budget_looked_at_again_relaxed",
        file: POOL,
        find: "self.0.budget.fetch_add(0, Ordering::AcqRel)",
        nth: None,
        replace: "self.0.budget.fetch_add(0, Ordering::Relaxed)",
        bound: 2,
        fate: KilledByPlain(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "neither of the two who put a block in and change the budget sees the other",
    },
    Mutant {
        name: "budget_not_looked_at_again",
        file: POOL,
        find: "if self.used() > self.0.budget.fetch_add(0, Ordering::AcqRel) {",
        nth: None,
        replace: "if false {",
        bound: 2,
        fate: KilledBy(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "a block is kept beyond the budget",
    },
    Mutant {
        name: "budget_change_frees_nothing",
        file: POOL,
        find: "        if self.used() > bytes {
",
        nth: None,
        replace: "        if false {
",
        bound: 2,
        fate: KilledBy(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "a block is kept beyond the budget",
    },
    Mutant {
        name: "budget_ignored",
        file: POOL,
        find: ".filter(|more| *more <= budget)?",
        nth: None,
        replace: ".filter(|_| budget != 1)?",
        bound: 2,
        fate: KilledBy(&["pool::two_rings_never_exceed_their_budget"]),
        why: "more memory is used than may be",
    },
    Mutant {
        name: "used_load_then_store",
        file: POOL,
        find: "            match self.0.used.compare_exchange_weak(
                used,
                more,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
",
        nth: None,
        replace: "            self.0.used.store(more, Ordering::Relaxed);
            match Ok::<usize, usize>(used) {
",
        bound: 2,
        fate: KilledBy(&["pool::two_rings_never_exceed_their_budget"]),
        why: "as above, where two rings ask at once",
    },
    Mutant {
        name: "refused_memory_stays_counted",
        file: POOL,
        find: "            self.0.used.fetch_sub(layout.size(), Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["pool::memory_that_was_refused_is_not_counted"]),
        why: "the budget shrinks with every refusal",
    },
    Mutant {
        name: "freed_memory_stays_counted",
        file: POOL,
        find: "        self.0.used.fetch_sub(size, Ordering::Relaxed);
",
        nth: None,
        replace: "        let _ = size;
",
        bound: 2,
        fate: KilledBy(&["pool::two_blocks_come_back_at_once"]),
        why: "the budget shrinks with every block",
    },
    Mutant {
        name: "block_of_another_size_used",
        file: POOL,
        find: "layout == layout {",
        nth: None,
        replace: "layout.align() == layout.align() {",
        bound: 2,
        fate: KilledBy(&["pool::a_block_of_another_size_is_no_use"]),
        why: "a block is not as large as it counts",
    },
    Mutant {
        name: "block_of_another_size_leaked",
        file: POOL,
        find: "            // SAFETY: as above.
            unsafe { self.free(block) };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["pool::a_block_of_another_size_is_no_use"]),
        why: "a block that does not fit is leaked",
    },
    Mutant {
        name: "trimmed_block_leaked",
        file: POOL,
        find: "                unsafe { self.free(block) };
            }
        }
    }

    /// A block of",
        nth: None,
        replace: "                let _ = block;
            }
        }
    }

    /// A block of",
        bound: 2,
        fate: KilledBy(&["pool::two_blocks_come_back_at_once"]),
        why: "what a pool is trimmed of is leaked",
    },
    Mutant {
        name: "pool_end_leaks",
        file: POOL,
        find: "                // SAFETY: the bag's blocks are nobody's, and this one is not in the bag any more.
                unsafe { self.free(block) };
            }
        }
    }
}
",
        nth: None,
        replace: "                let _ = block;
            }
        }
    }
}
",
        bound: 2,
        fate: KilledBy(&["pool::rings_and_owners_share_a_pool"]),
        why: "idle blocks are leaked with their pool",
    },
    Mutant {
        name: "owned_chunk_freed_not_kept",
        file: OWNED,
        find: "self.form.put(self.first",
        nth: None,
        replace: "self.form.free(self.first",
        bound: 2,
        fate: KilledBy(&["pool::two_blocks_come_back_at_once"]),
        why: "chunks that come back are not used again",
    },
    Mutant {
        name: "owned_chunk_memory_leaked",
        file: OWNED,
        find: "        unsafe { self.form.put(self.first, self.len, self.pool) };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_outlives_its_ring"]),
        why: "the memory of a chunk that was taken is leaked",
    },
    Mutant {
        name: "owned_chunk_items_leaked",
        file: OWNED,
        find: "        unsafe { Slot::drop_range(memory.first.as_ptr().wrapping_add(items.start), items.len()) };
",
        nth: None,
        replace: "        let _ = (&memory, items);
",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_outlives_its_ring"]),
        why: "items that were not taken from their chunk are leaked",
    },
    Mutant {
        name: "owned_chunk_leaked_where_a_drop_panics",
        file: OWNED,
        find: "        let items = core::mem::replace(",
        nth: None,
        replace: "        let memory = core::mem::ManuallyDrop::new(memory);
        let items = core::mem::replace(",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_is_given_back_also_where_a_drop_panics"]),
        why: "a chunk is leaked where an item in it does not go quietly",
    },
    Mutant {
        name: "owned_item_taken_stays",
        file: OWNED,
        find: "let index = self.items.next()?;",
        nth: None,
        replace: "let index = self.items.clone().next()?;",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_outlives_its_ring"]),
        why: "an item that was taken from its chunk is dropped with it",
    },
    Mutant {
        name: "owned_chunk_dropped_from_its_start",
        file: OWNED,
        find: "memory.first.as_ptr().wrapping_add(items.start)",
        nth: None,
        replace: "memory.first.as_ptr()",
        bound: 2,
        fate: KilledBy(&["hand_off::a_chunk_outlives_its_ring"]),
        why: "as above",
    },
    Mutant {
        name: "fewer_chunks_trim_nothing",
        file: CONTROL,
        find: "            self.shared().trim(chunks);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["resize::a_smaller_ring_gives_memory_back_though_nobody_works"]),
        why: "memory comes back only when somebody works",
    },
    Mutant {
        name: "another_length_trims_nothing",
        file: CONTROL,
        find: "        if chunk_len != before {
",
        nth: None,
        replace: "        if false {
",
        bound: 2,
        fate: KilledBy(&["resize::an_idle_chunk_of_another_length_is_not_used"]),
        why: "as above",
    },
    Mutant {
        name: "trim_leaves_the_pool",
        file: CONTROL,
        find: "        self.shared().trim(0);
        self.shared().settings().pool.trim();
",
        nth: None,
        replace: "        self.shared().trim(0);
",
        bound: 2,
        fate: KilledBy(&["pool::a_control_trims_the_pool_too"]),
        why: "idle blocks stay",
    },
    Mutant {
        name: "more_chunks_trim",
        file: CONTROL,
        find: "        if chunks < before {
",
        nth: None,
        replace: "        if chunks > before {
",
        bound: 2,
        fate: KilledBy(&["resize::a_smaller_ring_gives_memory_back_though_nobody_works"]),
        why: "memory comes back only when somebody works",
    },
    Mutant {
        name: "resize_forgets_the_number",
        file: CONTROL,
        find: "        self.store_chunk_len(chunk_len);
        self.store_chunks(chunks);
",
        nth: None,
        replace: "        self.store_chunk_len(chunk_len);
",
        bound: 2,
        fate: KilledBy(&["resize::another_shape"]),
        why: "only the length changes",
    },
    Mutant {
        name: "budget_change_does_not_release",
        file: POOL,
        find: "self.0.budget.swap(bytes, Ordering::AcqRel);",
        nth: None,
        replace: "self.0.budget.swap(bytes, Ordering::Acquire);",
        bound: 2,
        fate: Equivalent,
        why: "the block is seen by whoever comes second in the order of `budget`: by `set_budget`, which acquires what `put` has released, or by `put`, which has just put it in itself and needs the number alone",
    },
    Mutant {
        name: "budget_looked_at_again_does_not_acquire",
        file: POOL,
        find: "self.0.budget.fetch_add(0, Ordering::AcqRel)",
        nth: None,
        replace: "self.0.budget.fetch_add(0, Ordering::Release)",
        bound: 2,
        fate: Equivalent,
        why: "as above",
    },
    Mutant {
        name: "budget_looked_at_again_does_not_release",
        file: POOL,
        find: "self.0.budget.fetch_add(0, Ordering::AcqRel)",
        nth: None,
        replace: "self.0.budget.fetch_add(0, Ordering::Acquire)",
        bound: 2,
        fate: KilledByPlain(&["pool::no_block_is_kept_beyond_a_smaller_budget"]),
        why: "neither of the two who put a block in and change the budget sees the other",
    },
    Mutant {
        name: "notify_does_not_fence",
        file: EVENT,
        find: "        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.",
        nth: None,
        replace: "        // Relaxed: ordered by the fence.",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "neither of the two who wait and who let it come sees the other",
    },
    Mutant {
        name: "notify_fence_weaker",
        file: EVENT,
        find: "        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.",
        nth: None,
        replace: "        fence(Ordering::AcqRel);
        // Relaxed: ordered by the fence.",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "as above",
    },
    Mutant {
        name: "register_does_not_fence",
        file: EVENT,
        find: "        fence(Ordering::SeqCst);
        registered
",
        nth: None,
        replace: "        registered
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "as above",
    },
    Mutant {
        name: "register_fence_weaker",
        file: EVENT,
        find: "        fence(Ordering::SeqCst);
        registered
",
        nth: None,
        replace: "        fence(Ordering::AcqRel);
        registered
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "as above",
    },
    Mutant {
        name: "a_single_waiter_is_not_seen",
        file: EVENT,
        find: "self.waiting.load(Ordering::Relaxed) != 0",
        nth: None,
        replace: "self.waiting.load(Ordering::Relaxed) > 1",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "wake_up_without_a_lock",
        file: EVENT,
        find: "        let end = self.lock().next;
",
        nth: None,
        replace: "        let end = 1;
",
        bound: 2,
        fate: KilledBy(&["wake::both_sleep_by_turns"]),
        why: "only the first who ever waited is woken",
    },
    Mutant {
        name: "waker_not_replaced",
        file: EVENT,
        find: "before = Some(core::mem::replace(&mut queue.waiters[place].wakes, wakes));",
        nth: None,
        replace: "{ let _ = place; before = Some(wakes); }",
        bound: 2,
        fate: KilledBy(&["wake::the_last_task_to_poll_is_woken"]),
        why: "a task is woken that waits no more, and the one that does is not",
    },
    Mutant {
        name: "waiter_not_told",
        file: EVENT,
        find: "            self.tell(&queue);
            true
",
        nth: None,
        replace: "            true
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "waiter_stays",
        file: EVENT,
        find: "place.and_then(|place| queue.waiters.remove(place))",
        nth: None,
        replace: "place.and_then(|_| None::<Waiter>)",
        bound: 2,
        fate: KilledBy(&["wake::a_producer_that_gave_up_is_gone"]),
        why: "whoever has given up is still woken, wherever that leads",
    },
    Mutant {
        name: "last_waiter_not_woken",
        file: EVENT,
        find: "first.ticket < end",
        nth: None,
        replace: "first.ticket + 1 < end",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "first_waiter_woken_only",
        file: EVENT,
        find: "            if !more {
                return;
            }
",
        nth: None,
        replace: "            let _ = more;
            return;
",
        bound: 2,
        fate: KilledBy(&["wake::two_producers_are_both_woken"]),
        why: "of two who wait one is not woken",
    },
    Mutant {
        name: "waker_dropped_not_woken",
        file: EVENT,
        find: "                waiter.wakes.wake();
",
        nth: None,
        replace: "                drop((waiter, Wakes::wake));
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "waiters_lost_where_a_wake_panics",
        file: EVENT,
        find: "                let woken = catch_unwind(AssertUnwindSafe(|| task.wake()));
                // To drop what it panicked with may panic again; what comes of that is leaked.
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(woken)));
                dropped.unwrap_or_else(core::mem::forget);
",
        nth: None,
        replace: "                let _ = (catch_unwind(AssertUnwindSafe(|| ())), task.wake());
",
        bound: 2,
        fate: KilledBy(&["wake::a_wake_that_panics_loses_no_other"]),
        why: "those behind a waker that panics are not woken, and whoever wakes them is unwound",
    },
    Mutant {
        name: "thread_looks_before_it_registers",
        file: WAIT_LINK,
        find: "            let registered = waiting.0.register(Wakes::Thread(parker.unparker()));
            let unannounced = match look(waiting.0) {
",
        nth: None,
        replace: "            let looked = look(waiting.0);
            let registered = waiting.0.register(Wakes::Thread(parker.unparker()));
            let unannounced = match looked {
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "what comes between the look and the registration wakes nobody",
    },
    Mutant {
        name: "own_side_told",
        file: WAIT_LINK,
        find: "self.side.other().waits_for(&self.control).notify();",
        nth: None,
        replace: "self.side.waits_for(&self.control).notify(); let _ = Side::other;",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "waiter_stays_after_its_half",
        file: WAIT_LINK,
        find: "        // Drops a waker, which may panic: the other half has been told by then.
        self.cancel();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake::a_half_that_is_dropped_is_gone"]),
        why: "a half that is gone is still woken",
    },
    Mutant {
        name: "end_not_told",
        file: WAIT_LINK,
        find: "        self.tell();
        // Drops a waker",
        nth: None,
        replace: "        // Drops a waker",
        bound: 2,
        fate: KilledBy(&["wake::the_producers_end_wakes_the_consumer"]),
        why: "the end of the other half is slept through",
    },
    Mutant {
        name: "waiter_stays_after_its_wait",
        file: WAIT_LINK,
        find: "        self.0.cancel();
",
        nth: None,
        replace: "        let _ = &self.0;
",
        bound: 2,
        fate: KilledBy(&["wake::a_producer_that_gave_up_is_gone"]),
        why: "whoever has given up is still woken",
    },
    Mutant {
        name: "push_not_told",
        file: WAIT_PRODUCER,
        find: "        link.tell();
        pushed
",
        nth: None,
        replace: "        pushed
",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "push_told_before",
        file: WAIT_PRODUCER,
        find: "        let pushed = self.half.push(item);
        // Where",
        nth: None,
        replace: "        link.tell();
        return self.half.push(item);
        #[allow(unreachable_code)]
        let pushed = Ok(());
        // Where",
        bound: 2,
        fate: KilledBy(&["wake::an_item_wakes_the_consumer"]),
        why: "the consumer looks too early, and sleeps on",
    },
    Mutant {
        name: "left_chunk_not_told",
        file: WAIT_PRODUCER,
        find: "Ok(grant) => grant.begun() != before,",
        nth: None,
        replace: "Ok(grant) => grant.begun() != before && false,",
        bound: 2,
        fate: KilledBy(&["wake::a_chunk_that_was_left_wakes_the_consumer"]),
        why: "a chunk that is complete is not taken out",
    },
    Mutant {
        name: "refused_reservation_not_told",
        file: WAIT_PRODUCER,
        find: "Err(refused) => refused.is_full(),",
        nth: None,
        replace: "Err(refused) => refused.is_full() && false,",
        bound: 2,
        fate: KilledBy(&["wake::a_chunk_ended_for_a_reservation_comes_back"]),
        why: "the consumer sleeps on the only chunk, and the producer waits for it",
    },
    Mutant {
        name: "seal_not_told",
        file: WAIT_PRODUCER,
        find: "        self.inlet.half.seal();
        self.link.tell();
",
        nth: None,
        replace: "        self.inlet.half.seal();
",
        bound: 2,
        fate: KilledBy(&["wake::a_sealed_chunk_wakes_the_consumer"]),
        why: "a chunk that is complete is not taken out",
    },
    Mutant {
        name: "seal_on_request_not_told",
        file: WAIT_PRODUCER,
        find: "        if sealed {
            self.link.tell();
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake::a_chunk_sealed_on_request_wakes_the_consumer"]),
        why: "as above",
    },
    Mutant {
        name: "commit_not_told",
        file: WAIT_PRODUCER,
        find: "        let Grant { grant, told: _told } = self;
        grant.commit(count);
",
        nth: None,
        replace: "        let Grant { grant, told } = self;
        let _not_told = core::mem::ManuallyDrop::new(told);
        grant.commit(count);
",
        bound: 2,
        fate: KilledBy(&["wake::a_commit_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "whole_commit_not_told",
        file: WAIT_PRODUCER,
        find: "        let Grant { grant, told: _told } = self;
        grant.commit_all();
",
        nth: None,
        replace: "        let Grant { grant, told } = self;
        let _not_told = core::mem::ManuallyDrop::new(told);
        grant.commit_all();
",
        bound: 2,
        fate: KilledBy(&["wake::a_whole_commit_wakes_the_consumer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "producers_end_told_before",
        file: WAIT_PRODUCER,
        find: "    pub(super) inlet: Inlet<P>,
    pub(super) link: Link<P::Item>,
",
        nth: None,
        replace: "    pub(super) link: Link<P::Item>,
    pub(super) inlet: Inlet<P>,
",
        bound: 2,
        fate: KilledBy(&["wake::the_producers_end_wakes_the_consumer"]),
        why: "the other half looks too early, and sleeps on",
    },
    Mutant {
        name: "consumers_end_told_before",
        file: WAIT_CONSUMER,
        find: "    pub(super) half: C,
    pub(super) link: Link<C::Item>,
",
        nth: None,
        replace: "    pub(super) link: Link<C::Item>,
    pub(super) half: C,
",
        bound: 2,
        fate: KilledBy(&["wake::the_consumers_end_wakes_the_producer"]),
        why: "as above",
    },
    Mutant {
        name: "chunk_given_back_not_told",
        file: WAIT_CONSUMER,
        find: "    if half.given_back() != before {
        link.tell();
    }
",
        nth: None,
        replace: "    let _ = (before, link);
",
        bound: 2,
        fate: KilledBy(&["wake::a_chunk_wakes_the_producer", "wake::a_chunk_taken_out_wakes_the_producer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "release_not_told",
        file: WAIT_CONSUMER,
        find: "        if self.slice.release(count) {
            self.link.tell();
        }
",
        nth: None,
        replace: "        self.slice.release(count);
",
        bound: 2,
        fate: KilledBy(&["wake::a_release_wakes_the_producer"]),
        why: "whoever sleeps is not woken",
    },
    Mutant {
        name: "task_looks_before_it_registers",
        file: WAIT_TASK,
        find: "        let registered = self.register(Wakes::Task(context.waker().clone()));
        if let Look::Done(done) = look(self) {
",
        nth: None,
        replace: "        let looked = look(self);
        let registered = self.register(Wakes::Task(context.waker().clone()));
        if let Look::Done(done) = looked {
",
        bound: 2,
        fate: KilledBy(&["wake::futures_are_woken"]),
        why: "what comes between the look and the registration wakes nobody",
    },
    Mutant {
        name: "dropped_push_stays",
        file: WAIT_TASK,
        find: "        self.producer.link.cancel();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake::a_push_that_is_dropped_is_gone"]),
        why: "a future that is gone is still woken",
    },
    Mutant {
        name: "dropped_pop_stays",
        file: WAIT_TASK,
        find: "        self.consumer.link.cancel();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake::a_future_that_is_dropped_is_gone"]),
        why: "as above",
    },
    Mutant {
        name: "block_put_not_told",
        file: POOL,
        find: "                    self.room_came();
                    return;
",
        nth: None,
        replace: "                    return;
",
        bound: 2,
        fate: KilledBy(&["wake::a_chunk_that_comes_back_wakes_the_producer"]),
        why: "a producer sleeps though there is memory",
    },
    Mutant {
        name: "block_freed_not_told",
        file: POOL,
        find: "        self.0.used.fetch_sub(size, Ordering::Relaxed);
        self.room_came();
",
        nth: None,
        replace: "        self.0.used.fetch_sub(size, Ordering::Relaxed);
",
        bound: 2,
        fate: KilledBy(&["wake::memory_of_another_ring_wakes_the_producer"]),
        why: "as above",
    },
    Mutant {
        name: "budget_not_told",
        file: POOL,
        find: "            self.trim();
        }
        self.room_came();
    }

    /// Frees the idle",
        nth: None,
        replace: "            self.trim();
        }
    }

    /// Frees the idle",
        bound: 2,
        fate: KilledBy(&["wake::a_larger_budget_wakes_the_producer"]),
        why: "as above",
    },
    Mutant {
        name: "number_of_chunks_not_told",
        file: CONTROL,
        find: "        // Also where it is smaller: whoever waits may wait for too much by now.
        self.shared().settings().pool.room_came();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake::more_chunks_wake_the_producer"]),
        why: "a producer sleeps though the ring has room",
    },
    Mutant {
        name: "chunk_length_not_told",
        file: CONTROL,
        find: "            self.trim();
        }
        self.shared().settings().pool.room_came();
",
        nth: None,
        replace: "            self.trim();
        }
",
        bound: 2,
        fate: KilledBy(&["wake::shorter_chunks_wake_a_reservation"]),
        why: "a producer sleeps though it can never get what it waits for",
    },
    Mutant {
        name: "a_grant_tells_of_its_end_before_it",
        file: WAIT_PRODUCER,
        find: "    grant: P::Grant<'a>,
    told: Told<'a, P::Item>,",
        nth: None,
        replace: "    told: Told<'a, P::Item>,
    grant: P::Grant<'a>,",
        bound: 2,
        fate: KilledBy(&["wake_mpsc::a_dropped_grant_wakes_the_consumer_for_the_item_behind_it"]),
        why: "an item that has waited for the grant wakes nobody",
    },
    Mutant {
        name: "a_refused_push_tells_nobody",
        file: WAIT_PRODUCER,
        find: "        let pushed = self.half.push(item);
        // Where",
        nth: None,
        replace: "        let pushed = self.half.push(item);
        if pushed.is_err() {
            return pushed;
        }
        // Where",
        bound: 2,
        fate: KilledBy(&["wake_mpsc::a_forgotten_grant_wakes_the_consumer_when_its_producer_is_refused"]),
        why: "an item that has waited for a forgotten grant wakes nobody",
    },
    Mutant {
        name: "mpsc_consumer_does_not_count_what_it_gives_back",
        file: MPSC_CONSUMER,
        find: "        self.given_back = self.given_back.wrapping_add(1);
",
        nth: Some(1),
        replace: "",
        bound: 2,
        fate: KilledBy(&["wake_mpsc::a_chunk_given_back_wakes_the_producer"]),
        why: "the producer sleeps on",
    },
    Mutant {
        name: "mpsc_held_chunk_not_released",
        file: "ring/src/mpsc/shared.rs",
        find: "Taken::new(seq.next(), state).0,
                Ordering::Release,",
        nth: None,
        replace: "Taken::new(seq.next(), state).0,
                Ordering::Relaxed,",
        bound: 2,
        fate: KilledBy(&["mpsc_len::a_producer_counts_every_item_that_is_not_taken"]),
        why: "how far the consumer was in its last chunk is taken for how far it is in this one",
    },
    Mutant {
        name: "taken_load_relaxed",
        file: TAKEN,
        find: "Seen(load_wide_before_write(&self.0, Ordering::Acquire))",
        nth: None,
        replace: "Seen(load_wide_before_write(&self.0, Ordering::Relaxed))",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::a_chunk_is_taken_out_or_overwritten", "overwrite::a_chunk_of_two_is_taken_out_or_overwritten", "policy_switch::from_refusing_to_overwriting", "policy_switch::from_overwriting_to_growing", "policy_switch::from_growing_to_refusing"]),
        why: "a chunk that was given back is not seen to be idle, or an entry not to be there",
    },
    Mutant {
        name: "enter_relaxed",
        file: TAKEN,
        find: ".compare_exchange(seen.0, held, Ordering::Release, Ordering::Relaxed)",
        nth: None,
        replace: ".compare_exchange(seen.0, held, Ordering::Relaxed, Ordering::Relaxed)",
        bound: 2,
        fate: BeyondLoom,
        why: "the loads of the entry could come after the exchange, and see the chunk that the producer installs there next",
    },
    Mutant {
        name: "enter_load_then_store",
        file: TAKEN,
        find: "        self.0
            .compare_exchange(seen.0, held, Ordering::Release, Ordering::Relaxed)
            .is_ok()
",
        nth: None,
        replace: "        let same = self.0.load(Ordering::Acquire) == seen.0;
        if same {
            self.0.store(held, Ordering::Release);
        }
        same
",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::a_chunk_is_taken_out_or_overwritten", "overwrite::a_chunk_of_two_is_taken_out_or_overwritten"]),
        why: "a chunk is entered and evicted",
    },
    Mutant {
        name: "enter_does_not_hold",
        file: TAKEN,
        find: "let held = seen.0.wrapping_add(NEXT) | HELD;",
        nth: None,
        replace: "let held = seen.0.wrapping_add(NEXT);",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own", "overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "the ring forgets the chunk that is held",
    },
    Mutant {
        name: "enter_stays",
        file: TAKEN,
        find: "let held = seen.0.wrapping_add(NEXT) | HELD;",
        nth: None,
        replace: "let held = seen.0 | HELD;",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own", "overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "a chunk that is held is entered again, or evicted",
    },
    Mutant {
        name: "evict_does_not_acquire",
        file: TAKEN,
        find: ".compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Relaxed)",
        nth: None,
        replace: ".compare_exchange(seen.0, next, Ordering::Release, Ordering::Relaxed)",
        bound: 2,
        fate: Equivalent,
        why: "the exchange reads the very value that `load` has acquired, or one that no consumer has stored since: the word never comes back to it",
    },
    Mutant {
        name: "evict_does_not_release",
        file: TAKEN,
        find: ".compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Relaxed)",
        nth: None,
        replace: ".compare_exchange(seen.0, next, Ordering::Acquire, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten", "overwrite::a_producer_that_ends_leaves_the_rest_to_the_consumer", "overwrite::a_record_that_does_not_fit_overwrites"]),
        why: "`installed` is seen to be behind the oldest chunk, and what is no entry is entered",
    },
    Mutant {
        name: "evict_load_then_store",
        file: TAKEN,
        find: "        self.0
            .compare_exchange(seen.0, next, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
",
        nth: None,
        replace: "        let same = self.0.load(Ordering::Acquire) == seen.0;
        if same {
            self.0.store(next, Ordering::Release);
        }
        same
",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::a_chunk_is_taken_out_or_overwritten", "overwrite::a_chunk_of_two_is_taken_out_or_overwritten"]),
        why: "a chunk is evicted and entered",
    },
    Mutant {
        name: "leave_relaxed",
        file: TAKEN,
        find: "self.0.fetch_sub(HELD, Ordering::Release)",
        nth: None,
        replace: "self.0.fetch_sub(HELD, Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "policy_switch::preallocated_chunks_stay"]),
        why: "a chunk that was given back is not seen to be idle, and there is one too many",
    },
    Mutant {
        name: "leave_holds",
        file: TAKEN,
        find: "self.0.fetch_sub(HELD, Ordering::Release)",
        nth: None,
        replace: "self.0.fetch_sub(0, Ordering::Release)",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten"]),
        why: "a chunk that was given back counts as held",
    },
    Mutant {
        name: "is_still_relaxed",
        file: TAKEN,
        find: ".compare_exchange(seen.0, seen.0, Ordering::Release, Ordering::Relaxed)",
        nth: None,
        replace: ".compare_exchange(seen.0, seen.0, Ordering::Relaxed, Ordering::Relaxed)",
        bound: 2,
        fate: BeyondLoom,
        why: "the loads of the entries could come after the exchange, as in `enter_relaxed`",
    },
    Mutant {
        name: "seen_forgets_what_is_held",
        file: TAKEN,
        find: "self.untaken(installed) + usize::from(self.is_held())",
        nth: None,
        replace: "self.untaken(installed)",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "policy_switch::from_refusing_to_overwriting", "policy_switch::from_overwriting_to_growing", "policy_switch::from_growing_to_refusing"]),
        why: "one chunk too many while one is held",
    },
    Mutant {
        name: "idle_head_relaxed",
        file: POVER,
        find: "self.head = self.shared.consumer.head.load(Ordering::Acquire);",
        nth: None,
        replace: "self.head = self.shared.consumer.head.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "policy_switch::preallocated_chunks_stay", "policy_switch::idle_chunks_are_trimmed_while_they_are_used_again"]),
        why: "an idle chunk is taken without its entry, or while its items are being moved out",
    },
    Mutant {
        name: "idle_head_not_looked_at",
        file: POVER,
        find: "        self.head = self.shared.consumer.head.load(Ordering::Acquire);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "policy_switch::preallocated_chunks_stay"]),
        why: "idle chunks are never used again",
    },
    Mutant {
        name: "overwrites_whatever_the_policy",
        file: POVER,
        find: "policy != Policy::Overwrite ||",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "policy_switch::from_refusing_to_overwriting", "policy_switch::from_overwriting_to_growing", "policy_switch::from_growing_to_refusing"]),
        why: "a ring that refuses loses items",
    },
    Mutant {
        name: "chunk_of_the_reader_would_have_to_go",
        file: POVER,
        find: "(most == 1 || far)",
        nth: None,
        replace: "far",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::a_smaller_ring_overwrites_what_no_longer_fits"]),
        why: "there is nothing to evict",
    },
    Mutant {
        name: "only_chunk_never_overwritten",
        file: POVER,
        find: "seen.is_held() && (most == 1 || far)",
        nth: None,
        replace: "most == 1",
        bound: 2,
        fate: KilledBy(&["overwrite::a_chunk_that_is_used_again_forgets_its_hole"]),
        why: "a ring of one chunk refuses, though nobody reads it",
    },
    Mutant {
        name: "surplus_chunk_leaked",
        file: POVER,
        find: "                unsafe { form.free(first, len, &shared.settings.pool) };
",
        nth: None,
        replace: "                let _ = first;
",
        bound: 2,
        fate: KilledBy(&["overwrite::a_smaller_ring_overwrites_what_no_longer_fits"]),
        why: "chunks that are too many are leaked",
    },
    Mutant {
        name: "evicted_chunk_of_another_length_used",
        file: POVER,
        find: "Some((first, its_len)) if its_len == len => evicted = Some(first),",
        nth: None,
        replace: "Some((first, its_len)) if its_len != 0 => evicted = Some(first),",
        bound: 2,
        fate: KilledBy(&["overwrite::chunks_of_another_length_are_overwritten_too"]),
        why: "a chunk is shorter than it counts",
    },
    Mutant {
        name: "evicted_chunk_of_another_length_leaked",
        file: POVER,
        find: "                    form.free(first, its_len, &self.shared.settings.pool);
",
        nth: None,
        replace: "                    let _ = (first, its_len);
",
        bound: 2,
        fate: KilledBy(&["overwrite::chunks_of_another_length_are_overwritten_too"]),
        why: "a chunk that does not fit is leaked",
    },
    Mutant {
        name: "current_chunk_evicted_open",
        file: POVER,
        find: "        if untaken == 1 {",
        nth: None,
        replace: "        if false {",
        bound: 2,
        fate: KilledBy(&["overwrite::a_record_that_does_not_fit_overwrites"]),
        why: "the next chunk begins behind slots that the tail has not passed, or what is evicted counts too much",
    },
    Mutant {
        name: "overwritten_not_counted",
        file: POVER,
        find: "        shared.settings.losses.overwrite(used);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "what is lost is not told",
    },
    Mutant {
        name: "overwritten_hole_counted",
        file: POVER,
        find: "shared.settings.losses.overwrite(used);",
        nth: None,
        replace: "shared.settings.losses.overwrite(len);",
        bound: 2,
        fate: KilledBy(&["overwrite::a_chunk_that_is_used_again_forgets_its_hole", "overwrite::a_record_that_does_not_fit_overwrites"]),
        why: "slots that held nothing count as lost",
    },
    Mutant {
        name: "overwritten_items_leaked",
        file: POVER,
        find: "        unsafe { Slot::drop_range(first, used) };
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten"]),
        why: "items that are overwritten are never dropped",
    },
    Mutant {
        name: "overwritten_hole_dropped",
        file: POVER,
        find: "unsafe { Slot::drop_range(first, used) };",
        nth: None,
        replace: "unsafe { Slot::drop_range(first, len) };",
        bound: 2,
        fate: KilledBy(&["overwrite::a_chunk_that_is_used_again_forgets_its_hole", "overwrite::a_record_that_does_not_fit_overwrites"]),
        why: "slots that hold nothing are dropped",
    },
    Mutant {
        name: "used_not_told_to_the_chunk",
        file: POVER,
        find: "        word.store(used, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own", "overwrite::a_chunk_that_is_used_again_forgets_its_hole"]),
        why: "a hole is read",
    },
    Mutant {
        name: "used_of_a_chunk_told_at_its_end_only",
        file: PRODUCER,
        find: "        if self.shared.settings.overwritable {
            self.tell_used(len);
        }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_chunk_that_is_used_again_forgets_its_hole"]),
        why: "a chunk that is used again seems to end where it ended before",
    },
    Mutant {
        name: "used_of_a_closed_chunk_not_told",
        file: PRODUCER,
        find: "            self.tell_used(self.len - hole);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own"]),
        why: "a hole is read",
    },
    Mutant {
        name: "overwritable_producer_len_counts_holes",
        file: PRODUCER,
        find: "let put = self.position.wrapping_sub(self.holes);
            return",
        nth: None,
        replace: "let put = self.position;
            return",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "holes are counted as items",
    },
    Mutant {
        name: "overwritable_producer_len_counts_what_is_gone",
        file: PRODUCER,
        find: "put.wrapping_sub(overwritten).wrapping_sub(read)",
        nth: None,
        replace: "put.wrapping_sub(read)",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten"]),
        why: "items that were overwritten are counted",
    },
    Mutant {
        name: "overwritable_consumer_is_closed_relaxed",
        file: COVER,
        find: "self.shared.settings.producer_gone.load(Ordering::Acquire)",
        nth: None,
        replace: "self.shared.settings.producer_gone.load(Ordering::Relaxed)",
        bound: 2,
        fate: KilledBy(&["overwrite::a_producer_that_ends_leaves_the_rest_to_the_consumer"]),
        why: "closed and empty although an item is there",
    },
    Mutant {
        name: "overwritable_tail_relaxed",
        file: COVER,
        find: "            tail = self.shared.producer.tail.load(Ordering::Acquire);",
        nth: None,
        replace: "            tail = self.shared.producer.tail.load(Ordering::Relaxed);",
        bound: 2,
        fate: Equivalent,
        why: "within a chunk the look comes here only when the producer is seen to be gone, which has been acquired just before; elsewhere `enter_oldest` loads the tail again",
    },
    Mutant {
        name: "enter_installed_relaxed",
        file: COVER,
        find: "            // Acquire: pairs with the producer's Release store; the entries before it are seen.
            let installed = shared.producer.installed.load(Ordering::Acquire);
            let untaken",
        nth: None,
        replace: "            let installed = shared.producer.installed.load(Ordering::Relaxed);
            let untaken",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "overwrite::a_chunk_is_taken_out_or_overwritten", "overwrite::a_chunk_of_two_is_taken_out_or_overwritten"]),
        why: "the entry of the chunk is not seen with its number",
    },
    Mutant {
        name: "enter_tail_relaxed",
        file: COVER,
        find: "*tail = shared.producer.tail.load(Ordering::Acquire);",
        nth: None,
        replace: "*tail = shared.producer.tail.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round"]),
        why: "a slot is read before its item is there",
    },
    Mutant {
        name: "entry_read_after_the_exchange",
        file: COVER,
        find: "                self.held = HeldChunk { first, start, len };
                self.slot",
        nth: None,
        replace: "                let first = entry.first.load(Ordering::Relaxed);
                let start = entry.start.load(Ordering::Relaxed);
                self.held = HeldChunk { first, start, len };
                self.slot",
        bound: 2,
        fate: KilledBy(&["overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten", "overwrite::a_chunk_is_taken_out_or_overwritten", "overwrite::a_chunk_of_two_is_taken_out_or_overwritten"]),
        why: "another chunk is read than was entered",
    },
    Mutant {
        name: "empty_without_looking_again",
        file: COVER,
        find: "                if shared.taken.is_still(seen) {
                    return false;",
        nth: None,
        replace: "                if true {
                    return false;",
        bound: 2,
        fate: KilledBy(&["overwrite::where_there_always_is_an_item_one_is_found"]),
        why: "empty although an item is there",
    },
    Mutant {
        name: "enters_an_empty_chunk",
        file: COVER,
        find: "            if *tail == start {
                if shared.taken.is_still(seen) {
                    return false;
                }
                continue;
            }
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_look_at_nothing_holds_nothing"]),
        why: "a chunk is held in which there is nothing",
    },
    Mutant {
        name: "overwritable_hole_read",
        file: COVER,
        find: "        used.load(Ordering::Relaxed)
    }

    /// [`retire`]",
        nth: None,
        replace: "        let _ = used;
        self.held.len
    }

    /// [`retire`]",
        bound: 2,
        fate: KilledBy(&["overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own", "overwrite::a_chunk_that_is_used_again_forgets_its_hole"]),
        why: "a hole is read",
    },
    Mutant {
        name: "idle_head_store_relaxed",
        file: COVER,
        find: "shared.consumer.head.store(self.seq, Ordering::Release);",
        nth: None,
        replace: "shared.consumer.head.store(self.seq, Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["policy_switch::idle_chunks_are_trimmed_while_they_are_used_again", "policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round"]),
        why: "a chunk is used, or freed, by somebody who has not seen what was done with it",
    },
    Mutant {
        name: "leaves_before_the_head",
        file: COVER,
        find: "            self.seq = self.seq.wrapping_add(1);
            // Release",
        nth: None,
        replace: "            shared.taken.leave();
            self.seq = self.seq.wrapping_add(1);
            shared.consumer.head.store(self.seq, Ordering::Release);
            return;
            #[allow(unreachable_code)]
            // Release",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round", "policy_switch::preallocated_chunks_stay"]),
        why: "a chunk that was given back is not seen to be idle, and there is one too many",
    },
    Mutant {
        name: "idle_chunk_leaked",
        file: COVER,
        find: "            entry.first.store(first.as_ptr(), Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["policy_switch::one_chunk_goes_round", "policy_switch::two_chunks_go_round", "policy_switch::chunks_of_two_go_round"]),
        why: "a chunk that was given back is leaked",
    },
    Mutant {
        name: "overwritable_outdated_leaked",
        file: COVER,
        find: "            unsafe { settings.form.free(first, len, &settings.pool) };
",
        nth: None,
        replace: "            let _ = first;
",
        bound: 2,
        fate: KilledBy(&["overwrite::chunks_of_another_length_are_overwritten_too", "overwrite::a_smaller_ring_overwrites_what_no_longer_fits", "grow::a_ring_grows_while_it_is_read", "grow::a_ring_that_could_be_overwritten_grows_while_it_is_read", "grow::a_chunk_that_is_beyond_goes_back_while_the_producer_works"]),
        why: "chunks that are too many are leaked",
    },
    Mutant {
        name: "overwritable_keeps_what_is_beyond",
        file: COVER,
        find: "shared.count_overwritable() > settings.chunks.load(Ordering::Relaxed)",
        nth: None,
        replace: "false",
        bound: 2,
        fate: KilledBy(&["grow::a_ring_that_could_be_overwritten_grows_while_it_is_read"]),
        why: "a ring that has grown keeps its chunks",
    },
    Mutant {
        name: "items_of_a_chunk_counted_twice",
        file: COVER,
        find: "        let items = self.end.wrapping_sub(self.held.start);",
        nth: None,
        replace: "        let items = self.held.len;",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "holes count as taken",
    },
    Mutant {
        name: "taken_items_not_told",
        file: COVER,
        find: "        self.taken = self.taken.wrapping_add(items);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten", "overwrite::an_item_is_read_or_counted", "overwrite::the_only_chunk_is_read_or_overwritten", "overwrite::the_only_chunk_of_two_slots_is_read_or_overwritten"]),
        why: "items that were taken count as being there",
    },
    Mutant {
        name: "overwritable_len_tail_relaxed",
        file: COVER,
        find: "            let tail = shared.producer.tail.load(Ordering::Acquire);",
        nth: None,
        replace: "            let tail = shared.producer.tail.load(Ordering::Relaxed);",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "the tail is seen before the word that says where a chunk ends",
    },
    Mutant {
        name: "overwritable_len_installed_relaxed",
        file: COVER,
        find: "            let installed = shared.producer.installed.load(Ordering::Acquire);
            count",
        nth: None,
        replace: "            let installed = shared.producer.installed.load(Ordering::Relaxed);
            count",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "the entry of the last chunk is not seen with its number",
    },
    Mutant {
        name: "overwritable_len_not_looked_at_again",
        file: COVER,
        find: "            if shared.taken.is_still(seen) {
                return count;",
        nth: None,
        replace: "            if true {
                return count;",
        bound: 2,
        fate: KilledBy(&["overwrite::counts_are_true_while_chunks_are_overwritten", "overwrite::holes_do_not_count_while_chunks_are_overwritten"]),
        why: "the counts of several moments are mixed",
    },
    Mutant {
        name: "overwritable_len_forgets_what_is_held",
        file: COVER,
        find: "        if !self.in_chunk {
            return 0;",
        nth: None,
        replace: "        if true {
            return 0;",
        bound: 2,
        fate: KilledBy(&["overwrite::what_is_held_stays_while_the_table_comes_round", "overwrite::the_end_of_a_held_chunk_is_its_own"]),
        why: "what is being read does not count",
    },
    Mutant {
        name: "count_installed_relaxed",
        file: SHARED,
        find: "        let installed = self.producer.installed.load(Ordering::Acquire);
        // Relaxed, twice",
        nth: None,
        replace: "        let installed = self.producer.installed.load(Ordering::Relaxed);
        // Relaxed, twice",
        bound: 2,
        fate: KilledByPlain(&["policy_switch::preallocated_chunks_stay"]),
        why: "a chunk counts as idle and in traffic, and is freed",
    },
    Mutant {
        name: "held_chunk_leaked",
        file: SHARED,
        find: "            self.free_held();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "the chunk that the consumer held is leaked",
    },
    Mutant {
        name: "held_chunk_not_told",
        file: CONSUMER,
        find: "            held.first.store(self.held.first, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "the chunk that the consumer held is leaked",
    },
    Mutant {
        name: "held_position_not_told",
        file: CONSUMER,
        find: "            held.position.store(self.position(), Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "items that were taken are dropped again with the ring",
    },
    Mutant {
        name: "overwritable_end_counts_chunks",
        file: SHARED,
        find: "            self.shared.taken.end(self.installed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["overwrite::a_consumer_that_ends_leaves_the_rest_to_the_ring", "overwrite::both_halves_end_while_a_chunk_is_held"]),
        why: "a ring that has ended seems to have chunks",
    },
    Mutant {
        name: "grows_without_end",
        file: POLICY,
        find: "Policy::Grow { max_chunks } => chunks.max(max_chunks),",
        nth: None,
        replace: "Policy::Grow { max_chunks } => chunks.max(max_chunks) + 1,",
        bound: 2,
        fate: KilledBy(&["grow::a_ring_grows_while_it_is_read", "grow::a_ring_that_could_be_overwritten_grows_while_it_is_read", "grow::a_chunk_that_is_beyond_goes_back_while_the_producer_works"]),
        why: "one chunk too many",
    },
    Mutant {
        name: "never_grows",
        file: POLICY,
        find: "Policy::Grow { max_chunks } => chunks.max(max_chunks),",
        nth: None,
        replace: "Policy::Grow { max_chunks } => chunks.min(max_chunks),",
        bound: 2,
        fate: KilledBy(&["grow::a_ring_grows_while_it_is_read", "grow::a_ring_that_could_be_overwritten_grows_while_it_is_read", "grow::a_chunk_that_is_beyond_goes_back_while_the_producer_works"]),
        why: "a ring that may grow refuses",
    },
    Mutant {
        name: "refused_items_not_counted",
        file: STATISTICS,
        find: "counter.fetch_add(items, Ordering::Relaxed);",
        nth: None,
        replace: "let _ = (counter, items);",
        bound: 2,
        fate: KilledBy(&["grow::a_ring_grows_while_it_is_read", "grow::a_ring_that_could_be_overwritten_grows_while_it_is_read", "grow::a_chunk_that_is_beyond_goes_back_while_the_producer_works", "policy_switch::from_refusing_to_overwriting", "policy_switch::from_overwriting_to_growing", "policy_switch::from_growing_to_refusing"]),
        why: "what is refused is not told",
    },
    Mutant {
        name: "policy_not_set",
        file: CONTROL,
        find: "        settings.policy.store(policy.encode(), Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["policy_switch::from_overwriting_to_growing"]),
        why: "the policy stays",
    },
    Mutant {
        name: "most_chunks_not_told_by_the_number",
        file: CONTROL,
        find: "        settings.most_ever.fetch_max(chunks, Ordering::Relaxed);
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_too_many_is_freed_though_the_ring_began_with_fewer"]),
        why: "a ring that was made larger and then smaller keeps its chunks",
    },
    Mutant {
        name: "most_chunks_not_told_by_the_policy",
        file: CONTROL,
        find: "settings.most_ever.fetch_max(max_chunks, Ordering::Relaxed);",
        nth: None,
        replace: "let _ = max_chunks;",
        bound: 2,
        fate: KilledBy(&["resize::a_chunk_too_many_is_freed_though_the_ring_began_by_refusing"]),
        why: "a ring that was told to grow keeps what is beyond its number",
    },
    Mutant {
        name: "most_chunks_without_the_first_policy",
        file: SETTINGS,
        find: "AtomicUsize::new(plan.policy.most_chunks(plan.chunks))",
        nth: None,
        replace: "AtomicUsize::new(plan.chunks)",
        bound: 2,
        fate: KilledBy(&["grow::a_ring_grows_while_it_is_read", "grow::a_chunk_that_is_beyond_goes_back_while_the_producer_works"]),
        why: "as above",
    },
    Mutant {
        name: "idle_chunks_bounded_too_low",
        file: SHARED,
        find: "count.min(settings.most_ever.load(Ordering::Relaxed))",
        nth: None,
        replace: "count.min(settings.keep_idle)",
        bound: 2,
        fate: KilledBy(&["trim::a_third_idle_chunk_leaves_the_table"]),
        why: "every idle chunk stays",
    },
    Mutant {
        name: "idle_chunks_without_a_bound",
        file: SHARED,
        find: "count.min(settings.most_ever.load(Ordering::Relaxed))",
        nth: None,
        replace: "count",
        bound: 2,
        fate: Equivalent,
        why: "an old count asks for a new one, which has no more than there are but for chunks that have left",
    },
    Mutant {
        name: "idle_chunks_counted_from_long_ago",
        file: CONSUMER,
        find: "                self.reclaimed = shared.reclaimed();
",
        nth: None,
        replace: "",
        bound: 2,
        fate: KilledBy(&["trim::a_chunk_that_is_used_again_and_again_stays_in_the_table"]),
        why: "chunks that were used again count as idle, and every chunk goes to the pool",
    },
    Mutant {
        name: "end_unseen_within_a_chunk",
        file: CONSUMER,
        find: "            && !self.shared.settings.producer_gone.load(Ordering::Relaxed)
",
        nth: None,
        replace: "",
        bound: 2,
        fate: Equivalent,
        why: "a producer's end closes the chunk that it has begun, so the tail is beyond the position, and the look goes on to the boundary",
    },
];
