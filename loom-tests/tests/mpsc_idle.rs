//! Chunks that were read circulate in a ring for several producers, each with one owner, or are given back.

#![cfg(loom)]

mod per_producer;

use chunkring::{Builder, Policy, Pool, Source};
use loom::thread;
use loom_tests::{loads_are_plain, model_with_floors};
use per_producer::{Inbox, item, push};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn an_idle_chunk_goes_to_one_of_two() {
    model_with_floors("an_idle_chunk_goes_to_one_of_two", [91, 1400], || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        let pushed = 2 + push(&mut producer, 0, 2, 2);
        assert_eq!(pushed, 4);
        trimmer.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        drop((producer, inbox));
        control.trim();
        assert_eq!(control.pool().used(), 0, "a chunk is lost");
    });
}

#[test]
fn two_trim_at_once() {
    model_with_floors("two_trim_at_once", [78, 41], || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        assert_eq!(control.chunks_in_use(), 2);
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        control.trim();
        trimmer.join().unwrap();
        assert_eq!((control.chunks_in_use(), control.pool().used()), (0, 0));
    });
}

#[test]
fn a_place_is_written_again_only_when_it_was_read() {
    model_with_floors(
        "a_place_is_written_again_only_when_it_was_read",
        [740, 59000],
        || {
            // With plain loads, one more would have millions of executions, and show nothing else.
            let more = if loads_are_plain() { 1 } else { 2 };
            // Room for a spare chunk and one behind it.
            let (mut producer, consumer) = Builder::new(1, 3).max_chunks(3).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let mut inbox = Inbox::new(consumer);
            inbox.look(2);
            let trimmer = thread::spawn({
                let control = control.clone();
                move || control.trim()
            });
            let pushed = 2 + push(&mut producer, 0, 2, more);
            inbox.look(more);
            trimmer.join().unwrap();
            assert_eq!(inbox.taken, pushed);
            assert!(control.chunks_in_use() <= 3);
            control.trim();
            assert_eq!(control.pool().used(), 0, "a chunk is lost");
        },
    );
}

#[test]
fn a_chunk_behind_the_spare_one_is_used_when_it_was_read() {
    model_with_floors(
        "a_chunk_behind_the_spare_one_is_used_when_it_was_read",
        [42, 190],
        || {
            let (mut producer, consumer) = Builder::new(1, 3).max_chunks(4).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            // There is memory for two chunks, and room for three.
            control.pool().set_budget(control.pool().used());
            let mut inbox = Inbox::new(consumer);
            inbox.pop().unwrap();
            let sender = thread::spawn(move || {
                let pushed = push(&mut producer, 0, 2, 2);
                (producer, pushed)
            });
            inbox.pop().unwrap();
            let (_producer, pushed) = sender.join().unwrap();
            assert!((1..=2).contains(&pushed), "{pushed} items");
            inbox.drain();
            assert_eq!(inbox.taken, 2 + pushed);
        },
    );
}

#[test]
fn room_that_is_seen_has_its_chunk() {
    model_with_floors("room_that_is_seen_has_its_chunk", [17, 100], || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 2), 2);
        // There is memory for as many chunks as there is room for, and no more.
        control.pool().set_budget(control.pool().used());
        let mut inbox = Inbox::new(consumer);
        inbox.pop().unwrap();
        let sender = thread::spawn(move || {
            // The first takes the spare chunk, the second the one behind it.
            let pushed = push(&mut producer, 0, 2, 2);
            (producer, pushed)
        });
        inbox.pop().unwrap();
        let (_producer, pushed) = sender.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, 2 + pushed);
        let refused = control.statistics().refused_memory;
        assert_eq!(refused, 0, "a chunk that is there was not found");
    });
}

#[test]
fn two_idle_chunks_circulate() {
    model_with_floors("two_idle_chunks_circulate", [23, 1], || {
        let (mut producer, consumer) = Builder::new(1, 3).max_chunks(4).mpsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0, 0, 3), 3);
        let one = control.pool().used() / 3;
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        assert_eq!(control.chunks_in_use(), 3);
        let receiver = thread::spawn(move || {
            inbox.pop().unwrap();
            inbox
        });
        let used = control.chunks_in_use();
        assert!((2..=3).contains(&used), "{used} chunks");
        let _inbox = receiver.join().unwrap();
        assert_eq!(control.chunks_in_use(), 2);
        // The third is the pool's.
        assert_eq!(control.pool().used(), 3 * one);
        control.pool().trim();
        assert_eq!(control.pool().used(), 2 * one);
    });
}

#[test]
fn a_smaller_ring_gives_memory_back_though_nobody_works() {
    model_with_floors(
        "a_smaller_ring_gives_memory_back_though_nobody_works",
        [480, 1300],
        || {
            let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).mpsc().unwrap();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let control = consumer.control();
            let mut inbox = Inbox::new(consumer);
            inbox.pop().unwrap();
            let receiver = thread::spawn(move || {
                inbox.pop().unwrap();
                inbox
            });
            control.set_chunks(1).unwrap();
            let inbox = receiver.join().unwrap();
            assert_eq!(inbox.taken, 2);
            control.set_chunks(2).unwrap();
            control.set_chunks(1).unwrap();
            assert!(control.chunks_in_use() <= 1, "memory is kept for nobody");
            control.trim();
            assert_eq!(control.pool().used(), 0);
        },
    );
}

#[test]
fn an_idle_chunk_of_another_length_is_not_used() {
    model_with_floors(
        "an_idle_chunk_of_another_length_is_not_used",
        [42, 790],
        || {
            let (mut producer, consumer) = Builder::new(2, 1).max_chunks(1).mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let mut inbox = Inbox::new(consumer);
            let changer = thread::spawn({
                let control = control.clone();
                move || control.set_chunk_len(1).unwrap()
            });
            inbox.look(2);
            changer.join().unwrap();
            assert_eq!(push(&mut producer, 0, 2, 1), 1);
            producer.seal();
            inbox.drain();
            assert_eq!(push(&mut producer, 0, 3, 2), 1);
            inbox.drain();
            control.trim();
            assert_eq!(control.pool().used(), 0, "a chunk is lost");
        },
    );
}

#[test]
fn the_consumer_puts_a_chunk_where_two_look_for_one() {
    model_with_floors(
        "the_consumer_puts_a_chunk_where_two_look_for_one",
        [140, 68],
        || {
            let (mut producer, consumer) = Builder::new(1, 1).max_chunks(1).mpsc().unwrap();
            let mut other = producer.clone();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 1), 1);
            let mut inbox = Inbox::new(consumer);
            let receiver = thread::spawn(move || {
                inbox.pop().unwrap();
                inbox
            });
            let sender = thread::spawn(move || push(&mut other, 1, 0, 1));
            let here = push(&mut producer, 0, 1, 1);
            let there = sender.join().unwrap();
            let mut inbox = receiver.join().unwrap();
            assert!(here + there <= 1);
            inbox.drain();
            assert_eq!(inbox.next, [1 + here, there, 0]);
            drop((producer, inbox));
            control.trim();
            assert_eq!(control.pool().used(), 0, "a chunk is lost");
        },
    );
}

#[test]
fn chunks_that_have_left_the_ring_are_not_counted_as_too_many() {
    model_with_floors(
        "chunks_that_have_left_the_ring_are_not_counted_as_too_many",
        [270, 180],
        || {
            let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).mpsc().unwrap();
            let control = producer.control();
            producer.push(item(0, 0)).unwrap();
            let chunk = consumer.take_chunk().unwrap();
            let owner = thread::spawn(move || drop(chunk));
            producer.push(item(0, 1)).unwrap();
            drop(consumer.pop().unwrap());
            assert_eq!(control.chunks_in_use(), 1, "another was taken out");
            control.trim();
            producer.push(item(0, 2)).unwrap();
            drop(consumer.pop().unwrap());
            assert_eq!(control.chunks_in_use(), 1, "another was trimmed");
            owner.join().unwrap();
        },
    );
}

#[test]
fn chunks_that_the_pool_has_are_not_counted_as_too_many() {
    model_with_floors(
        "chunks_that_the_pool_has_are_not_counted_as_too_many",
        [150, 7],
        || {
            let (mut producer, consumer) = Builder::new(1, 3).max_chunks(4).mpsc().unwrap();
            let control = producer.control();
            let mut inbox = Inbox::new(consumer);
            assert_eq!(push(&mut producer, 0, 0, 3), 3);
            let three = control.pool().used();
            inbox.look(3);
            assert_eq!(push(&mut producer, 0, 3, 3), 3);
            let receiver = thread::spawn(move || {
                inbox.look(3);
                inbox
            });
            let used = control.chunks_in_use();
            // One that is just given back may count twice.
            assert!((2..=4).contains(&used), "{used} chunks");
            let inbox = receiver.join().unwrap();
            assert_eq!(inbox.taken, 6);
            // Two are idle, and one is the pool's again.
            assert_eq!((control.chunks_in_use(), control.pool().used()), (2, three));
        },
    );
}

#[test]
fn preallocated_chunks_that_are_too_many_are_freed_when_they_were_read() {
    model_with_floors(
        "preallocated_chunks_that_are_too_many_are_freed_when_they_were_read",
        [7, 1],
        || {
            let builder = Builder::new(1, 2).max_chunks(2).preallocate(true);
            let (mut producer, consumer) = builder.mpsc().unwrap();
            let control = producer.control();
            assert_eq!(push(&mut producer, 0, 0, 2), 2);
            let two = control.pool().used();
            let mut inbox = Inbox::new(consumer);
            control.set_chunks(1).unwrap();
            let receiver = thread::spawn(move || {
                inbox.pop().unwrap();
                inbox
            });
            assert!(control.chunks_in_use() <= 2);
            let _inbox = receiver.join().unwrap();
            assert_eq!(
                control.pool().used(),
                two / 2,
                "a smaller ring keeps a chunk"
            );
        },
    );
}

/// The language's memory, which it counts.
struct Counted(Arc<AtomicUsize>);

// SAFETY: all memory is the global allocator's.
unsafe impl Source for Counted {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a chunk's layout is never of size zero.
        NonNull::new(unsafe { std::alloc::alloc(layout) })
    }

    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives back what `allocate` gave, with the same layout.
        unsafe { std::alloc::dealloc(memory.as_ptr(), layout) }
    }
}

#[test]
fn preallocated_chunks_stay_while_they_are_overwritten() {
    let name = "preallocated_chunks_stay_while_they_are_overwritten";
    model_with_floors(name, [45, 1], || {
        let allocated = Arc::new(AtomicUsize::new(0));
        let pool = Pool::with_source(usize::MAX, Counted(Arc::clone(&allocated))).unwrap();
        let (mut producer, consumer) = Builder::new(1, 2)
            .max_chunks(2)
            .preallocate(true)
            .policy(Policy::Overwrite)
            .pool(&pool)
            .mpsc()
            .unwrap();
        let block = pool.used() / 2;
        let sender = thread::spawn(move || {
            push(&mut producer, 0, 0, 3);
            producer
        });
        let mut inbox = Inbox::with_gaps(consumer);
        inbox.look(1);
        let producer = sender.join().unwrap();
        assert_eq!(pool.used(), 2 * block, "a chunk was freed");
        assert_eq!(
            allocated.load(Ordering::Relaxed),
            2,
            "one more was allocated"
        );
        drop((producer, inbox));
    });
}
