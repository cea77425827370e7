//! A pool hands each block to one owner at a time, keeps to its budget, and loses nothing.

#![cfg(loom)]

mod in_order;

use chunkring::spsc::{Consumer, Producer};
use chunkring::{Builder, OwnedChunk, Pool, Source};
use loom::thread;
use loom_tests::{Tracked, model};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A ring of one chunk of one item on that pool, which has sent its chunk out.
fn handed_out(pool: &Pool) -> (Producer<Tracked>, Consumer<Tracked>, OwnedChunk<Tracked>) {
    let (mut producer, mut consumer) = Builder::new(1, 1).pool(pool).spsc().unwrap();
    producer.push(Tracked::new(0)).unwrap();
    let chunk = consumer.take_chunk().unwrap();
    (producer, consumer, chunk)
}

/// Bytes of a chunk of one item.
fn one_chunk() -> usize {
    let pool = Pool::new(usize::MAX).unwrap();
    let (mut producer, _consumer) = Builder::new(1, 1).pool(&pool).spsc().unwrap();
    producer.push(Tracked::new(0)).unwrap();
    pool.used()
}

#[test]
fn two_rings_never_exceed_their_budget() {
    model("two_rings_never_exceed_their_budget", 4, || {
        let budget = one_chunk();
        let pool = Pool::new(budget).unwrap();
        let ring = Builder::new(1, 1).pool(&pool);
        let (mut here, _to_here) = ring.spsc().unwrap();
        let (mut there, to_there) = ring.spsc().unwrap();
        let other = thread::spawn({
            let pool = pool.clone();
            move || {
                let got = there.push(Tracked::new(1)).is_ok();
                assert!(pool.used() <= budget, "more than the budget");
                (there, got)
            }
        });
        let got = here.push(Tracked::new(0)).is_ok();
        assert!(pool.used() <= budget, "more than the budget");
        let (mut there, got_there) = other.join().unwrap();
        assert!(got != got_there, "one of two chunks fits");
        // What is refused is not counted.
        assert_eq!(pool.used(), budget);
        if got_there {
            drop((there, to_there));
            assert!(here.push(Tracked::new(2)).is_ok());
        } else {
            drop((here, _to_here));
            assert!(there.push(Tracked::new(2)).is_ok());
        }
        drop(ring);
    });
}

#[test]
fn an_idle_block_goes_to_one_of_two() {
    model("an_idle_block_goes_to_one_of_two", 3, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (mut first, _to_first, chunk) = handed_out(&pool);
        let (mut second, to_second, other) = handed_out(&pool);
        let size = pool.used() / 2;
        drop((chunk, other));
        assert_eq!(pool.used(), size, "one is kept, and one is freed");
        let there = thread::spawn(move || first.push(Tracked::new(1)).unwrap());
        second.push(Tracked::new(2)).unwrap();
        there.join().unwrap();
        assert_eq!(pool.used(), 2 * size);
        drop((second, to_second, _to_first));
        pool.trim();
        assert_eq!(pool.used(), 0);
    });
}

#[test]
fn a_block_comes_back_while_another_is_wanted() {
    model("a_block_comes_back_while_another_is_wanted", 5, || {
        let pool = Pool::new(one_chunk()).unwrap();
        let (mut producer, mut consumer) = Builder::new(1, 1).pool(&pool).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let chunk = consumer.take_chunk().unwrap();
        let owner = thread::spawn(move || drop(chunk));
        let early = producer.push(Tracked::new(1)).is_ok();
        owner.join().unwrap();
        assert!(
            early || producer.push(Tracked::new(1)).is_ok(),
            "memory did not come back"
        );
        assert_eq!(consumer.pop().unwrap().value(), 1);
    });
}

#[test]
fn two_blocks_come_back_at_once() {
    model("two_blocks_come_back_at_once", 10, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (_first, _to_first, chunk) = handed_out(&pool);
        let (_second, _to_second, other) = handed_out(&pool);
        let size = pool.used() / 2;
        let owner = thread::spawn(move || drop(other));
        drop(chunk);
        owner.join().unwrap();
        assert_eq!(pool.used(), size);
        pool.trim();
        assert_eq!(pool.used(), 0);
    });
}

#[test]
fn no_block_is_kept_beyond_a_smaller_budget() {
    model("no_block_is_kept_beyond_a_smaller_budget", 8, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (_producer, _consumer, chunk) = handed_out(&pool);
        let owner = thread::spawn(move || drop(chunk));
        pool.set_budget(0);
        owner.join().unwrap();
        assert_eq!(pool.used(), 0, "memory beyond the budget");
    });
}

#[test]
fn a_block_beyond_the_budget_is_freed_by_its_owner() {
    model("a_block_beyond_the_budget_is_freed_by_its_owner", 1, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (mut producer, _consumer, chunk) = handed_out(&pool);
        pool.set_budget(0);
        assert_ne!(pool.used(), 0, "a chunk in use stays");
        drop(chunk);
        assert_eq!(pool.used(), 0);
        assert!(producer.push(Tracked::new(1)).unwrap_err().is_full());
        pool.set_budget(usize::MAX);
        assert!(producer.push(Tracked::new(1)).is_ok());
    });
}

#[test]
fn a_block_of_another_size_is_no_use() {
    model("a_block_of_another_size_is_no_use", 13, || {
        let size = one_chunk();
        let pool = Pool::new(usize::MAX).unwrap();
        let (mut long, mut to_long) = Builder::new(2, 1).pool(&pool).spsc().unwrap();
        assert_eq!(in_order::push(&mut long, 0, 2), 2);
        let chunk = to_long.take_chunk().unwrap();
        let (mut short, mut consumer) = Builder::new(1, 1).pool(&pool).spsc().unwrap();
        let owner = thread::spawn(move || drop(chunk));
        assert_eq!(in_order::push(&mut short, 0, 2), 1);
        owner.join().unwrap();
        pool.trim();
        assert_eq!(pool.used(), size);
        drop(consumer.take_chunk().unwrap());
        assert_eq!(pool.used(), size, "a chunk that comes back is kept");
        pool.trim();
        assert_eq!(pool.used(), 0);
    });
}

#[test]
fn a_control_trims_the_pool_too() {
    model("a_control_trims_the_pool_too", 2, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (producer, _consumer, chunk) = handed_out(&pool);
        drop(chunk);
        let control = producer.control();
        let trimmer = thread::spawn(move || control.trim());
        drop(producer);
        trimmer.join().unwrap();
        assert_eq!(pool.used(), 0);
    });
}

#[test]
fn rings_and_owners_share_a_pool() {
    model("rings_and_owners_share_a_pool", 14, || {
        let pool = Pool::new(usize::MAX).unwrap();
        let (producer, consumer, chunk) = handed_out(&pool);
        drop(consumer);
        let ring = thread::spawn(move || drop(producer));
        let owner = thread::spawn(move || drop(chunk));
        drop(pool);
        ring.join().unwrap();
        owner.join().unwrap();
    });
}

/// The global allocator, but for requests after the first few.
struct Few {
    left: AtomicUsize,
    live: Arc<AtomicUsize>,
}

// SAFETY: all memory is the global allocator's.
unsafe impl Source for Few {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let take = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()?;
        self.live.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a chunk's layout is never of size zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
        self.live.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller gives back what `allocate` gave, with the same layout.
        unsafe { dealloc(memory.as_ptr(), layout) }
    }
}

#[test]
fn memory_that_was_refused_is_not_counted() {
    model("memory_that_was_refused_is_not_counted", 3, || {
        let live = Arc::new(AtomicUsize::new(0));
        let source = Few {
            left: AtomicUsize::new(1),
            live: Arc::clone(&live),
        };
        let pool = Pool::with_source(usize::MAX, source).unwrap();
        let ring = Builder::new(1, 1).pool(&pool);
        let (mut here, to_here) = ring.spsc().unwrap();
        let (mut there, to_there) = ring.spsc().unwrap();
        let other = thread::spawn(move || {
            let got = there.push(Tracked::new(1)).is_ok();
            (there, got)
        });
        let got = here.push(Tracked::new(0)).is_ok();
        let (there, got_there) = other.join().unwrap();
        assert!(got != got_there);
        assert_eq!(live.load(Ordering::Relaxed), 1);
        drop((here, to_here, there, to_there));
        assert_eq!((pool.used(), live.load(Ordering::Relaxed)), (0, 0));
    });
}

#[test]
fn a_ring_that_cannot_have_all_its_chunks_keeps_none() {
    model(
        "a_ring_that_cannot_have_all_its_chunks_keeps_none",
        1,
        || {
            let pool = Pool::new(one_chunk()).unwrap();
            let ring = Builder::new(1, 2).preallocate(true).pool(&pool);
            assert!(ring.spsc::<Tracked>().is_err());
            assert_eq!(pool.used(), 0);
        },
    );
}
