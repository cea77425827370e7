//! Halves that sleep: limits, ends, resizes, and many hand-overs that would hang on a lost wake-up.

#![cfg(feature = "std")]

use chunkring::wait::{self, Closed, Consumer, PopWaitError, Producer, ReserveWaitError};
use chunkring::{Builder, Control, Pool, PopError, Source, spsc};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Sender<T> = Producer<spsc::Producer<T>>;
type Receiver<T> = Consumer<spsc::Consumer<T>>;

// As the polling halves.
assert_impl_all!(Sender<Cell<u8>>: Send, Unpin, Debug);
assert_impl_all!(Receiver<Cell<u8>>: Send, Unpin, Debug);
assert_not_impl_any!(Sender<u8>: Sync, Clone);
assert_not_impl_any!(Receiver<u8>: Sync, Clone);
assert_not_impl_any!(Sender<Rc<()>>: Send);
assert_not_impl_any!(Receiver<Rc<()>>: Send);
assert_impl_all!(wait::Grant<'static, spsc::Producer<u8>>: Send, Debug);
assert_not_impl_any!(wait::Grant<'static, spsc::Producer<u8>>: Sync);
assert_impl_all!(wait::ReadSlice<'static, spsc::Consumer<u8>>: Send, Debug);
assert_not_impl_any!(wait::ReadSlice<'static, spsc::Consumer<u8>>: Sync);
assert_impl_all!(Closed<Rc<()>>: Debug, std::error::Error);
assert_impl_all!(wait::PushWaitError<Rc<()>>: Debug, std::error::Error);
assert_impl_all!(wait::PairError<Rc<()>, Rc<()>>: Debug, std::error::Error);

fn ring<T>(builder: &Builder) -> (Sender<T>, Receiver<T>) {
    let (producer, consumer) = builder.spsc().unwrap();
    wait::pair(producer, consumer).unwrap()
}

/// Waits, awake, until so many wait: consumers of the ring, producers of its pool.
fn until_waiting<T>(control: &Control<T>, count: (usize, usize)) {
    while control.waiting() != count {
        thread::yield_now();
    }
    // They have registered, and may be about to look again; mostly, they sleep by then.
    thread::sleep(Duration::from_millis(1));
}

#[test]
fn a_thousand_producers_that_gave_up_leave_nothing_behind() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    producer.push("first").unwrap();
    for _ in 0..1000 {
        let begun = Instant::now();
        let refused = producer.push_wait_for("second", Duration::from_millis(1));
        assert_eq!(refused, Err(wait::PushWaitError::Timeout("second")));
        assert!(begun.elapsed() >= Duration::from_millis(1));
        assert_eq!(control.waiting(), (0, 0));
    }
    assert_eq!(consumer.pop_wait(), Ok("first"));
    assert_eq!(consumer.pop(), Err(PopError::Empty));
    producer.push_wait("third").unwrap();
    assert_eq!(consumer.pop_wait(), Ok("third"));
}

#[test]
fn a_thousand_consumers_that_gave_up_leave_nothing_behind() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let limit = Duration::from_micros(200);
    for _ in 0..1000 {
        assert_eq!(consumer.pop_wait_for(limit), Err(PopWaitError::Timeout));
        assert_eq!(control.waiting(), (0, 0));
    }
    assert!(consumer.read_wait_for(limit).unwrap_err().is_timeout());
    assert!(
        consumer
            .take_chunk_wait_for(limit)
            .unwrap_err()
            .is_timeout()
    );
    producer.push_wait(7).unwrap();
    assert_eq!(consumer.pop_wait_for(limit), Ok(7));
}

#[test]
fn no_time_at_all_is_one_try() {
    let (mut producer, mut consumer) = ring(&Builder::new(2, 1));
    assert!(consumer.pop_wait_for(Duration::ZERO).is_err());
    assert!(consumer.pop_wait_until(Instant::now()).is_err());
    assert_eq!(producer.push_wait_for(1, Duration::ZERO), Ok(()));
    assert_eq!(producer.push_wait_until(2, Instant::now()), Ok(()));
    assert!(producer.push_wait_for(3, Duration::ZERO).is_err());
    assert!(producer.reserve_wait_for(1, Duration::ZERO).is_err());
    assert_eq!(*consumer.read_wait_for(Duration::ZERO).unwrap(), [1, 2]);
    assert_eq!(consumer.pop_wait_for(Duration::ZERO), Ok(1));
    assert_eq!(consumer.pop_wait_until(Instant::now()), Ok(2));
}

#[test]
fn more_time_than_the_clock_can_count_has_no_end() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let sender = thread::spawn(move || {
        producer.push_wait_for(0, Duration::MAX).unwrap();
        producer.push_wait_for(1, Duration::MAX).unwrap();
        producer
    });
    until_waiting(&control, (0, 1));
    assert_eq!(consumer.pop_wait_for(Duration::MAX), Ok(0));
    let mut producer = sender.join().unwrap();
    assert_eq!(consumer.pop_wait_for(Duration::MAX), Ok(1));
    let receiver = thread::spawn(move || consumer.pop_wait_for(Duration::MAX));
    until_waiting(&control, (1, 0));
    producer
        .reserve_wait_for(1, Duration::MAX)
        .unwrap()
        .push(2)
        .unwrap();
    producer.push(2).unwrap();
    assert_eq!(receiver.join().unwrap(), Ok(2));
}

#[test]
fn a_wake_up_for_no_reason_ends_no_wait() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let receiver = thread::spawn(move || {
        // A token that is there already.
        thread::current().unpark();
        assert_eq!(
            consumer.pop_wait_for(Duration::from_millis(5)),
            Err(PopWaitError::Timeout)
        );
        consumer.pop_wait()
    });
    for _ in 0..100 {
        receiver.thread().unpark();
        thread::sleep(Duration::from_micros(100));
    }
    until_waiting(&control, (1, 0));
    receiver.thread().unpark();
    producer.push(1).unwrap();
    assert_eq!(receiver.join().unwrap(), Ok(1));
}

#[test]
fn the_end_of_either_half_ends_the_others_wait() {
    let (producer, mut consumer) = ring::<u8>(&Builder::new(1, 1));
    let control = producer.control();
    let receiver = thread::spawn(move || {
        assert_eq!(consumer.pop_wait(), Err(Closed(())));
        assert_eq!(consumer.read_wait().unwrap_err(), Closed(()));
        assert_eq!(consumer.take_chunk_wait().unwrap_err(), Closed(()));
        assert_eq!(
            consumer.pop_wait_for(Duration::MAX),
            Err(PopWaitError::Closed)
        );
        assert_eq!(consumer.iter().next(), None);
    });
    until_waiting(&control, (1, 0));
    drop(producer);
    receiver.join().unwrap();

    let (mut producer, consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let sender = thread::spawn(move || {
        producer.push(0).unwrap();
        assert_eq!(producer.push_wait(1), Err(Closed(1)));
        assert!(
            producer
                .push_wait_for(1, Duration::MAX)
                .unwrap_err()
                .is_closed()
        );
        assert!(producer.reserve_wait(1).unwrap_err().is_closed());
        assert!(
            producer
                .push_whole_slice_wait(&[1])
                .unwrap_err()
                .is_closed()
        );
    });
    until_waiting(&control, (0, 1));
    drop(consumer);
    sender.join().unwrap();
    assert_eq!(control.waiting(), (0, 0));
}

#[test]
fn a_reservation_is_refused_once_it_can_never_fit() {
    let (mut producer, mut consumer) = ring::<u8>(&Builder::new(4, 1));
    let control = producer.control();
    let too_long = |requested, chunk_len| ReserveWaitError::TooLong {
        requested,
        chunk_len,
    };
    assert_eq!(producer.reserve_wait(5).unwrap_err(), too_long(5, 4));
    producer.push_whole_slice_wait(b"full").unwrap();
    let sender = thread::spawn(move || {
        let refused = producer.reserve_wait(3).unwrap_err();
        (producer, refused)
    });
    until_waiting(&control, (0, 1));
    // Three still fit into this.
    control.set_chunk_len(3).unwrap();
    until_waiting(&control, (0, 1));
    assert!(!sender.is_finished());
    control.set_chunk_len(2).unwrap();
    let (mut producer, refused) = sender.join().unwrap();
    assert_eq!(refused, too_long(3, 2));

    consumer.read().unwrap().release_all();
    assert_eq!(producer.reserve_wait(2).unwrap().len(), 2);
    assert_eq!(control.waiting(), (0, 0));
}

#[test]
fn a_control_from_before_the_pairing_wakes_the_producer() {
    let (producer, consumer) = Builder::new(1, 1).max_chunks(4).spsc().unwrap();
    let control = producer.control();
    let (mut producer, _consumer) = wait::pair(producer, consumer).unwrap();
    let sender = thread::spawn(move || {
        for number in 0..4 {
            producer.push_wait(number).unwrap();
        }
    });
    for chunks in 2..=4 {
        until_waiting(&control, (0, 1));
        control.set_chunks(chunks).unwrap();
    }
    sender.join().unwrap();
}

#[test]
fn memory_wakes_the_producer_wherever_it_comes_from() {
    let pool = Pool::new(usize::MAX).unwrap();
    let builder = Builder::new(16, 8).pool(&pool);
    let (mut first, mut first_out) = ring::<u64>(&builder);
    let (mut second, _second_out) = ring::<u64>(&builder);
    let control = second.control();
    first.push_whole_slice_wait(&[1; 16]).unwrap();
    first.push_whole_slice_wait(&[2; 16]).unwrap();
    pool.set_budget(pool.used());

    let sender = thread::spawn(move || {
        for _ in 0..3 * 16 {
            second.push_wait(7).unwrap();
        }
        second
    });
    // A chunk that was taken out.
    until_waiting(&control, (0, 1));
    let chunk = first_out.take_chunk().unwrap();
    thread::sleep(Duration::from_millis(1));
    assert!(!sender.is_finished());
    drop(chunk);
    // An idle chunk of another ring.
    until_waiting(&control, (0, 1));
    first_out.read().unwrap().release_all();
    first.control().trim();
    // A larger budget.
    until_waiting(&control, (0, 1));
    pool.set_budget(usize::MAX);
    let second = sender.join().unwrap();
    assert_eq!(second.len(), 48);
    assert_eq!(control.waiting(), (0, 0));
}

#[test]
fn memory_that_nobody_tells_of_is_found() {
    static THERE_IS_SOME: AtomicBool = AtomicBool::new(false);

    struct Later;

    // SAFETY: all memory is the global allocator's.
    unsafe impl Source for Later {
        fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
            if !THERE_IS_SOME.load(Ordering::Relaxed) {
                return None;
            }
            // SAFETY: a chunk's layout is never of size zero.
            NonNull::new(unsafe { alloc(layout) })
        }

        unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
            // SAFETY: `allocate` gave it, with the same layout.
            unsafe { dealloc(memory.as_ptr(), layout) }
        }
    }

    let pool = Pool::with_source(usize::MAX, Later).unwrap();
    let (mut producer, mut consumer) = ring(&Builder::new(4, 2).pool(&pool));
    let control = producer.control();
    let limit = Duration::from_millis(30);
    assert!(producer.push_wait_for(1, limit).unwrap_err().is_timeout());
    let sender = thread::spawn(move || producer.push_wait(1));
    until_waiting(&control, (0, 1));
    THERE_IS_SOME.store(true, Ordering::Relaxed);
    assert_eq!(consumer.pop_wait(), Ok(1));
    sender.join().unwrap().unwrap();
}

#[test]
fn a_reservation_longer_than_the_rest_of_the_only_chunk_is_granted() {
    let (mut producer, mut consumer) = ring(&Builder::new(4, 1));
    let control = producer.control();
    producer.push(1).unwrap();
    let receiver = thread::spawn(move || {
        let sum = consumer.pop_wait().unwrap();
        consumer.iter().fold(sum, |sum, number| sum + number)
    });
    until_waiting(&control, (1, 0));
    // The consumer sleeps, has taken everything, and holds the chunk.
    producer.push_whole_slice_wait(&[1; 4]).unwrap();
    drop(producer);
    assert_eq!(receiver.join().unwrap(), 5);
}

#[test]
fn a_chunk_that_was_sealed_left_or_filled_is_taken() {
    let (mut producer, mut consumer) = ring(&Builder::new(2, 4));
    let control = producer.control();
    let receiver = thread::spawn(move || {
        let mut chunks = Vec::new();
        while let Ok(chunk) = consumer.take_chunk_wait() {
            chunks.push(chunk.to_vec());
        }
        chunks
    });
    until_waiting(&control, (1, 0));
    producer.push(1).unwrap();
    until_waiting(&control, (1, 0));
    producer.seal();
    until_waiting(&control, (1, 0));
    producer.push(2).unwrap();
    until_waiting(&control, (1, 0));
    drop(producer.reserve(2).unwrap());
    until_waiting(&control, (1, 0));
    producer.push_whole_slice_wait(&[3, 4]).unwrap();
    until_waiting(&control, (1, 0));
    producer.push(5).unwrap();
    drop(producer);
    assert_eq!(
        receiver.join().unwrap(),
        [vec![1], vec![2], vec![3, 4], vec![5]]
    );
}

/// An item whose drop may panic.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0 || thread::panicking(), "the drop panics");
    }
}

#[test]
fn a_chunk_whose_last_release_panicked_wakes_the_producer_at_the_next_call() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    producer.push(Bomb(true)).unwrap();
    let sender = thread::spawn(move || {
        assert!(producer.push_wait(Bomb(false)).is_ok());
        producer
    });
    until_waiting(&control, (0, 1));
    let ready = consumer.read().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| ready.release_all())).is_err());
    assert!(consumer.pop_wait().is_ok());
    let _producer = sender.join().unwrap();
}

#[test]
fn what_was_committed_wakes_the_consumer_though_the_drop_of_the_rest_panics() {
    let (mut producer, mut consumer) = ring(&Builder::new(2, 1));
    let control = producer.control();
    let receiver = thread::spawn(move || consumer.pop_wait().is_ok());
    until_waiting(&control, (1, 0));
    let mut grant = producer.reserve(2).unwrap();
    assert!(grant.push(Bomb(false)).is_ok());
    assert!(grant.push(Bomb(true)).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| grant.commit(1))).is_err());
    assert!(receiver.join().unwrap());
}

#[test]
fn only_halves_of_one_ring_are_paired() {
    let (producer, mine) = spsc::bounded(4).unwrap();
    let (other, consumer) = spsc::bounded(4).unwrap();
    let refused = wait::pair(producer, consumer).unwrap_err();
    assert!(!refused.of_one_ring);
    let (mut producer, mut consumer) = wait::pair(refused.producer, mine).unwrap();
    let (others, others_out) = wait::pair(other, refused.consumer).unwrap();
    producer.push(7).unwrap();

    let refused = wait::unpair(producer, others_out).unwrap_err();
    assert!(!refused.of_one_ring);
    (producer, _) = (refused.producer, others);
    assert_eq!(consumer.pop(), Ok(7));
    let (mut producer, mut consumer) = wait::unpair(producer, consumer).unwrap();
    producer.push(8).unwrap();
    assert_eq!(consumer.pop(), Ok(8));
}

#[test]
fn iterators_end_with_the_ring() {
    let (mut producer, mut consumer) = ring(&Builder::new(2, 2));
    let sender = thread::spawn(move || (0..100).try_for_each(|number| producer.push_wait(number)));
    assert!((&mut consumer).into_iter().take(50).eq(0..50));
    assert!(consumer.into_iter().eq(50..100));
    sender.join().unwrap().unwrap();
}

#[test]
fn each_predicate_of_an_error_is_true_for_exactly_one_variant() {
    let pop = [PopWaitError::Timeout, PopWaitError::Closed];
    assert_eq!(pop.map(|error| error.is_timeout()), [true, false]);
    assert_eq!(pop.map(|error| error.is_closed()), [false, true]);
    let push = [
        wait::PushWaitError::Timeout(()),
        wait::PushWaitError::Closed(()),
    ];
    assert_eq!(push.map(|error| error.is_timeout()), [true, false]);
    assert_eq!(push.map(|error| error.is_closed()), [false, true]);
    let reserve = [
        ReserveWaitError::Timeout,
        ReserveWaitError::Closed,
        ReserveWaitError::TooLong {
            requested: 9,
            chunk_len: 8,
        },
    ];
    assert_eq!(reserve.map(|e| e.is_timeout()), [true, false, false]);
    assert_eq!(reserve.map(|e| e.is_closed()), [false, true, false]);
    assert_eq!(reserve.map(|e| e.is_too_long()), [false, false, true]);
    assert!(reserve[2].to_string().contains('9') && reserve[2].to_string().contains('8'));
    for error in [pop.map(|e| e.to_string()), push.map(|e| e.to_string())] {
        assert_ne!(error[0], error[1]);
    }
}

/// Hand-overs in the stress below.
const ITEMS: u64 = if cfg!(miri) { 100 } else { 100_000 };

#[test]
fn a_slot_is_handed_over_many_times() {
    for chunks in 1..=2 {
        let (mut producer, mut consumer) = ring(&Builder::new(1, chunks));
        let control = producer.control();
        let sender = thread::spawn(move || {
            for number in 0..ITEMS {
                match number % 3 {
                    0 => producer.push_wait(number).unwrap(),
                    1 => {
                        let mut grant = producer.reserve_wait(1).unwrap();
                        grant.push(number).unwrap();
                        grant.commit_all();
                    }
                    _ => producer
                        .push_wait_for(number, Duration::from_secs(100))
                        .unwrap(),
                }
            }
        });
        for number in 0..ITEMS {
            match number % 4 {
                0 => assert_eq!(consumer.pop_wait(), Ok(number)),
                1 => {
                    let ready = consumer.read_wait().unwrap();
                    assert_eq!(*ready, [number]);
                    ready.release_all();
                }
                2 => assert_eq!(*consumer.take_chunk_wait().unwrap(), [number]),
                _ => assert_eq!(consumer.pop_wait_for(Duration::from_secs(100)), Ok(number)),
            }
        }
        assert_eq!(consumer.pop_wait(), Err(Closed(())));
        sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0));
    }
}

#[test]
fn records_go_through_while_the_ring_is_resized() {
    let records = ITEMS / 4;
    let (mut producer, mut consumer) = ring(&Builder::new(8, 2).max_chunks(4));
    let control = producer.control();
    let done = Arc::new(AtomicBool::new(false));
    let resizer = thread::spawn({
        let done = Arc::clone(&done);
        let control = control.clone();
        move || {
            let mut round = 0;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                control.resize(4 + round % 7, 1 + round % 4).unwrap();
                thread::sleep(Duration::from_micros(20));
            }
        }
    });
    let sender = thread::spawn(move || {
        for record in 0..records {
            let record = [record; 4];
            producer
                .push_whole_slice_wait(&record[..1 + record[0] as usize % 4])
                .unwrap();
        }
    });
    for record in 0..records {
        for _ in 0..1 + record % 4 {
            assert_eq!(consumer.pop_wait(), Ok(record));
        }
    }
    assert_eq!(consumer.pop_wait(), Err(Closed(())));
    sender.join().unwrap();
    done.store(true, Ordering::Relaxed);
    resizer.join().unwrap();
    assert_eq!(control.waiting(), (0, 0));
}

#[test]
fn limits_and_wake_ups_that_come_at_once_lose_no_item() {
    let items = ITEMS / 10;
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let sender = thread::spawn(move || {
        let mut refused = 0_u64;
        for number in 0..items {
            let mut item = number;
            while let Err(error) = producer.push_wait_for(item, Duration::from_micros(item % 20)) {
                assert!(error.is_timeout());
                item = error.into_inner();
                refused += 1;
            }
        }
        refused
    });
    for number in 0..items {
        loop {
            match consumer.pop_wait_for(Duration::from_micros(number % 10)) {
                Ok(popped) => break assert_eq!(popped, number),
                Err(error) => assert!(error.is_timeout()),
            }
        }
    }
    sender.join().unwrap();
    assert_eq!(consumer.pop_wait(), Err(Closed(())));
    assert_eq!(control.waiting(), (0, 0));
}
