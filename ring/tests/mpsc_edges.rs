//! Corners of the ring for several producers, one by one.

use chunkring::{Builder, Policy, Pool, Source};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_smaller_ring_that_overwrites_gets_as_small_as_it_was_told() {
    let (mut producer, mut consumer) = Builder::new(1, 6).policy(Policy::Overwrite).mpsc().unwrap();
    let control = producer.control();
    for number in 0..6 {
        producer.push(number).unwrap();
    }
    control.set_chunks(2).unwrap();
    assert_eq!(consumer.len(), 6, "a resize drops nothing");
    producer.push(6).unwrap();
    assert_eq!(control.chunks_in_use(), 2);
    assert_eq!(control.statistics().overwritten, 5);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn nothing_is_overwritten_where_that_makes_no_room_in_a_smaller_ring() {
    let (mut producer, mut consumer) = Builder::new(1, 3).policy(Policy::Overwrite).mpsc().unwrap();
    producer.push_partial_slice(&[1, 2, 3]);
    assert_eq!(*consumer.read().unwrap(), [1]);
    producer.control().set_chunks(1).unwrap();
    assert!(producer.push(4).unwrap_err().is_full());
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
    producer.push(5).unwrap();
    producer.push(6).unwrap();
    assert_eq!(consumer.pop(), Ok(6));
}

#[test]
fn a_reservation_overwrites_also_the_only_chunk() {
    let (mut producer, mut consumer) = Builder::new(4, 1).policy(Policy::Overwrite).mpsc().unwrap();
    producer.push_whole_slice(&[1, 2, 3]).unwrap();
    producer.push_whole_slice(&[4, 5]).unwrap();
    assert_eq!(producer.control().statistics().overwritten, 3);
    assert_eq!(*consumer.read().unwrap(), [4, 5]);
    // That one is the consumer's now.
    assert!(producer.push_whole_slice(&[6, 7, 8]).unwrap_err().is_full());
}

#[test]
fn a_reservation_overwrites_what_is_behind_the_consumers_chunk() {
    let (mut producer, mut consumer) = Builder::new(4, 2).policy(Policy::Overwrite).mpsc().unwrap();
    producer.push_whole_slice(&[1, 2, 3, 4]).unwrap();
    assert_eq!(consumer.read().unwrap().len(), 4);
    producer.push_whole_slice(&[5, 6, 7]).unwrap();
    producer.push_whole_slice(&[8, 9]).unwrap();
    assert_eq!(*consumer.read().unwrap(), [1, 2, 3, 4]);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 8, 9]);
}

#[test]
fn a_header_adjoins_also_where_the_first_grant_was_dropped() {
    for taken in 0..2 {
        let (mut producer, mut consumer) = Builder::new(16, 2).headroom(4).mpsc().unwrap();
        drop(producer.reserve(3).unwrap());
        drop(producer.reserve(1).unwrap());
        producer.push_whole_slice(b"abc").unwrap();
        drop(producer.reserve(2).unwrap());
        producer.push_whole_slice(b"de").unwrap();
        producer.seal();
        assert_eq!(consumer.pop_partial_slice(&mut [0; 2][..taken]), taken);
        let mut chunk = consumer.take_chunk().unwrap();
        assert_eq!(*chunk, b"abcde"[taken..]);
        if taken == 0 {
            assert_eq!(chunk.with_header(b"head"), b"headabcde");
        }
    }
}

#[test]
fn the_rest_of_a_slice_is_dropped_with_the_ring() {
    let item = Arc::new(());
    for len in 2..70 {
        for taken in 1..=len {
            for producer_last in [false, true] {
                let (mut producer, mut consumer) = Builder::new(128, 2).mpsc().unwrap();
                let mut grant = producer.reserve(len).unwrap();
                for _ in 0..len {
                    grant.push(Arc::clone(&item)).unwrap();
                }
                grant.commit_all();
                producer.push(Arc::clone(&item)).unwrap();
                consumer.read().unwrap().release(taken);
                assert_eq!(Arc::strong_count(&item), 2 + len - taken);
                if producer_last {
                    drop(consumer);
                    drop(producer);
                } else {
                    drop(producer);
                    drop(consumer);
                }
                assert_eq!(Arc::strong_count(&item), 1, "{taken} of {len}");
            }
        }
    }
}

/// Counts what is allocated.
struct Counting(Arc<AtomicUsize>);

// SAFETY: all memory is the global allocator's.
unsafe impl Source for Counting {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a chunk's layout is never of size zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives back what `allocate` gave, with the same layout.
        unsafe { dealloc(memory.as_ptr(), layout) }
    }
}

/// Runs `check` beside a producer that fills the ring as fast as it can, for a while.
fn beside_a_busy_producer(
    mut producer: chunkring::mpsc::Producer<u64>,
    check: impl FnOnce(&dyn Fn() -> bool),
) {
    let stop = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_millis(500);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += u64::from(producer.push(number).is_ok());
            }
        });
        let stop = &stop;
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(stop);
        check(&|| Instant::now() < until);
    });
}

#[test]
fn a_preallocated_ring_keeps_its_chunks_although_others_overwrite() {
    let allocated = Arc::new(AtomicUsize::new(0));
    let pool = Pool::with_source(usize::MAX, Counting(Arc::clone(&allocated))).unwrap();
    let (producer, mut consumer) = Builder::new(1, 3)
        .preallocate(true)
        .policy(Policy::Overwrite)
        .pool(&pool)
        .mpsc::<u64>()
        .unwrap();
    beside_a_busy_producer(producer, |go_on| {
        while go_on() {
            for _ in 0..1000 {
                let _ = consumer.pop();
            }
        }
    });
    assert_eq!(allocated.load(Ordering::Relaxed), 3);
}

#[test]
fn a_whole_slice_is_whole_although_others_overwrite() {
    let (producer, mut consumer) = Builder::new(4, 4)
        .policy(Policy::Overwrite)
        .mpsc::<u64>()
        .unwrap();
    beside_a_busy_producer(producer, |go_on| {
        let mut next = 0;
        let mut whole = 0;
        while whole < 5 || go_on() {
            let mut out = [u64::MAX; 11];
            if consumer.pop_whole_slice(&mut out).is_err() {
                continue;
            }
            whole += 1;
            for number in out {
                assert!(number != u64::MAX && number >= next, "{out:?} after {next}");
                next = number + 1;
            }
        }
    });
}
