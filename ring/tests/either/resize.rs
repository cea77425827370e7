//! A ring that changes its shape while it is used.

use crate::kind::{
    Consumer, Make, Producer, chunk_bytes, longest, rounded, seal_if_wanted, want_seal,
};
use crate::nothing::pool_of_nothing;
use crate::witness::Ledger;
use chunkring::{Builder, Control, Pool, PopError, PushError, ReserveError, ResizeError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

fn push_all(producer: &mut Producer<u64>, items: std::ops::Range<u64>) {
    for item in items {
        producer.push(item).unwrap();
    }
}

fn pop_all(consumer: &mut Consumer<u64>, items: std::ops::Range<u64>) {
    for item in items {
        assert_eq!(consumer.pop(), Ok(item));
    }
    assert_eq!(consumer.pop(), Err(PopError::Empty));
}

#[test]
fn more_chunks_count_from_the_next_chunk_on_and_nothing_is_lost() {
    let (mut producer, mut consumer) = Builder::new(2, 4).ring().unwrap();
    let control = producer.control();
    push_all(&mut producer, 0..8);
    assert_eq!(producer.push(8), Err(PushError::Full(8)));
    control.set_chunks(6).unwrap();
    assert_eq!((producer.capacity(), consumer.capacity()), (12, 12));
    assert!(!producer.is_full() && !consumer.is_full());
    assert_eq!(producer.free_slots(), 4);
    push_all(&mut producer, 8..12);
    assert_eq!(producer.push(12), Err(PushError::Full(12)));
    assert_eq!((producer.len(), consumer.len()), (12, 12));
    pop_all(&mut consumer, 0..12);
}

#[test]
fn a_new_length_counts_from_the_next_chunk_on_and_nothing_is_lost() {
    for (before, after) in [(4, 7), (4, 3), (1, 16), (16, 1)] {
        let (mut producer, mut consumer) = Builder::new(before, 2).ring().unwrap();
        let control = consumer.control();
        producer.push(0).unwrap();
        control.set_chunk_len(after).unwrap();
        assert_eq!(producer.chunk_len(), rounded(after));
        assert_eq!(control.chunk_len(), rounded(after));
        // The rest of the chunk that is being filled, and one of the new length.
        let (before, after) = (rounded(before), rounded(after));
        let room = before + after;
        assert_eq!(producer.free_slots(), room - 1);
        push_all(&mut producer, 1..room as u64);
        assert!(producer.is_full() && consumer.is_full());
        assert_eq!(producer.push(9), Err(PushError::Full(9)));
        assert_eq!((producer.len(), consumer.len()), (room, room));
        assert_eq!(consumer.read().unwrap().len(), before);
        pop_all(&mut consumer, 0..room as u64);
        assert_eq!(producer.free_slots(), 2 * after);
    }
}

#[test]
fn fewer_chunks_refuse_new_ones_until_the_backlog_fits_and_more_fit_again_later() {
    let (mut producer, mut consumer) = Builder::new(1, 8).ring().unwrap();
    let control = producer.control();
    push_all(&mut producer, 0..8);
    control.set_chunks(4).unwrap();
    assert_eq!((control.chunks(), control.chunks_in_use()), (4, 8));
    assert_eq!(
        (producer.len(), consumer.len()),
        (8, 8),
        "nothing is dropped"
    );
    for item in 0..4 {
        assert!(producer.is_full() && consumer.is_full());
        assert_eq!(producer.free_slots(), 0);
        assert_eq!(producer.push(99), Err(PushError::Full(99)));
        assert_eq!(consumer.pop(), Ok(item));
        assert_eq!(control.chunks_in_use(), 7 - item as usize);
    }
    assert_eq!(
        producer.push(99),
        Err(PushError::Full(99)),
        "four are in it"
    );
    assert_eq!(consumer.pop(), Ok(4));
    producer.push(8).unwrap();
    assert!(producer.push(9).is_err());
    control.set_chunks(16).unwrap();
    push_all(&mut producer, 9..21);
    assert!(producer.push(21).is_err());
    pop_all(&mut consumer, 5..21);
}

#[test]
fn a_refusal_names_the_bound_and_changes_nothing() {
    let (mut producer, mut consumer) = Builder::new(4, 3).max_chunks(20).ring().unwrap();
    push_all(&mut producer, 0..5);
    let control = producer.control();
    let max = control.max_chunks();
    assert_eq!(max, 32, "a power of two of entries");
    let max_len = control.max_chunk_len();
    // So that 32 of them stay within `isize::MAX` slots.
    assert_eq!(max_len, longest(isize::MAX as usize / 32));
    let zero_len = ResizeError::ZeroChunkLen;
    let zero_chunks = ResizeError::ZeroChunks;
    let too_many = |chunks| ResizeError::TooManyChunks { chunks, max };
    let too_long = |chunk_len| ResizeError::TooLong {
        chunk_len,
        max: max_len,
    };
    assert_eq!(control.set_chunk_len(0), Err(zero_len));
    assert_eq!(control.set_chunks(0), Err(zero_chunks));
    for chunks in [max + 1, isize::MAX as usize, usize::MAX] {
        assert_eq!(control.set_chunks(chunks), Err(too_many(chunks)));
        assert_eq!(control.resize(5, chunks), Err(too_many(chunks)));
    }
    for chunk_len in [max_len + 1, isize::MAX as usize, usize::MAX] {
        assert_eq!(control.set_chunk_len(chunk_len), Err(too_long(chunk_len)));
        assert_eq!(control.resize(chunk_len, 5), Err(too_long(chunk_len)));
    }
    assert_eq!(control.resize(0, 5), Err(zero_len));
    assert_eq!(control.resize(5, 0), Err(zero_chunks));
    assert!(too_many(33).to_string().contains("32"));
    assert!(
        too_long(usize::MAX)
            .to_string()
            .contains(&max_len.to_string())
    );

    assert_eq!((control.chunk_len(), control.chunks()), (4, 3));
    assert_eq!((producer.capacity(), producer.len()), (12, 5));
    pop_all(&mut consumer, 0..5);

    // The bounds themselves are within: there is only no memory for such a chunk.
    let builder = Builder::new(4, 3).max_chunks(20).pool(&pool_of_nothing());
    let (mut producer, _consumer) = builder.ring().unwrap();
    producer.control().resize(max_len, max).unwrap();
    assert!(producer.capacity() <= isize::MAX as usize);
    assert_eq!(producer.free_slots(), max * max_len);
    assert_eq!(producer.push(8_u64), Err(PushError::Full(8)));
    assert!(producer.reserve(max_len).unwrap_err().is_full());
}

#[test]
fn a_grant_a_slice_and_a_chunk_that_are_held_stay_valid() {
    let shapes = [(1, 1), (32, 16), (5, 2), (8, 1)];
    let (mut producer, mut consumer) = Builder::new(8, 4).ring().unwrap();
    let control = producer.control();
    push_all(&mut producer, 0..11);
    let chunk = consumer.take_chunk().unwrap();
    let mut grant = producer.reserve(5).unwrap();
    let ready = consumer.read().unwrap();
    grant.push(11).unwrap();
    let other = control.clone();
    let resizer = thread::spawn(move || {
        for (chunk_len, chunks) in shapes {
            other.resize(chunk_len, chunks).unwrap();
            other.trim();
        }
    });
    resizer.join().unwrap();
    grant.extend_from_slice(&[12, 13, 14, 15]);
    assert_eq!(*ready, [8, 9, 10]);
    ready.release(1);
    grant.commit_all();
    assert_eq!(*chunk, [0, 1, 2, 3, 4, 5, 6, 7]);
    pop_all(&mut consumer, 9..16);
    control.trim();
    let held = chunk_bytes::<u64>(8);
    assert_eq!(control.pool().used(), held, "the chunk that is held");
    drop(chunk);
    control.trim();
    assert_eq!(control.pool().used(), 0);
}

#[test]
fn items_on_the_heap_survive_growth_and_shrinking_and_are_dropped_once() {
    let ledger = Ledger::new();
    let (mut producer, mut consumer) = Builder::new(3, 3).ring().unwrap();
    let control = producer.control();
    let mut made = 0;
    let mut taken = 0;
    for (chunk_len, chunks) in [(1, 1), (7, 2), (2, 9), (3, 1), (16, 16)] {
        while producer.push(ledger.item()).is_ok() {
            made += 1;
        }
        made += 1; // the one that was refused
        control.resize(chunk_len, chunks).unwrap();
        for _ in 0..consumer.len() / 2 {
            drop(consumer.pop().unwrap());
            taken += 1;
        }
    }
    assert!(taken > 10 && !consumer.is_empty());
    drop((producer, consumer));
    ledger.assert_each_dropped_once(made);
    assert_eq!(control.pool().used(), 0);
}

#[test]
fn a_control_outlives_both_halves_and_finds_nothing_there() {
    for order in 0..6 {
        let ledger = Ledger::new();
        let (mut producer, mut consumer) = Builder::new(2, 4).ring().unwrap();
        for _ in 0..7 {
            producer.push(ledger.item()).unwrap();
        }
        let chunk = consumer.take_chunk().unwrap();
        drop(consumer.pop().unwrap());
        let control = consumer.control();
        let pool = control.pool().clone();
        let mut ends: [Option<Box<dyn FnOnce()>>; 4] = [
            Some(Box::new(|| drop(producer))),
            Some(Box::new(|| drop(consumer))),
            Some(Box::new(|| drop(chunk))),
            Some(Box::new(move || {
                control.resize(5, 3).unwrap();
                control.trim();
                let _ = format!("{control:?}");
                assert_eq!(control.chunks(), 3);
            })),
        ];
        let orders = [
            [0, 1, 2, 3],
            [1, 0, 3, 2],
            [3, 2, 1, 0],
            [2, 1, 3, 0],
            [0, 3, 1, 2],
            [1, 3, 0, 2],
        ];
        for end in orders[order] {
            ends[end].take().unwrap()();
        }
        ledger.assert_each_dropped_once(7);
        pool.trim();
        assert_eq!(pool.used(), 0, "order {order}");
    }
}

#[test]
fn sequence_numbers_and_positions_wrap_under_resizing() {
    for origin in [
        usize::MAX - 9,
        isize::MAX as usize - 9,
        u32::MAX as usize - 9,
    ] {
        for preallocate in [false, true] {
            let builder = Builder::new(2, 3).preallocate(preallocate).origin(origin);
            let (mut producer, mut consumer) = builder.ring().unwrap();
            let control = producer.control();
            let mut put = 0;
            let mut taken = 0;
            for round in 0..60 {
                control.resize(round % 5 + 1, round % 7 + 1).unwrap();
                while producer.push(put).is_ok() {
                    put += 1;
                }
                assert_eq!(consumer.len() as u64, put - taken);
                for _ in 0..consumer.len() * 2 / 3 {
                    assert_eq!(consumer.pop(), Ok(taken));
                    taken += 1;
                }
                if round % 3 == 0 {
                    control.trim();
                }
                let chunks = control.chunks_in_use();
                assert!(chunks <= 7, "{chunks} chunks at {origin}, round {round}");
            }
            pop_all(&mut consumer, taken..put);
        }
    }
}

/// A small generator of the xorshift family (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// How often to resize, unless the environment says so.
fn resizes() -> usize {
    std::env::var("CHUNKRING_RESIZES").map_or(10_000, |number| number.parse().unwrap())
}

/// Puts in numbers, one by one and as slices, until told to stop; gives how many there were. Says when there is one.
fn produce(mut producer: Producer<Box<u64>>, begun: &AtomicBool, stop: &AtomicBool) -> u64 {
    let mut random = Random(7);
    let mut next = 0;
    while !stop.load(Ordering::Relaxed) {
        match random.below(8) {
            0 => producer.seal(),
            1 => seal_if_wanted(&mut producer),
            2 | 3 => {
                let count = random.below(producer.chunk_len() + 1);
                match producer.reserve(count) {
                    Ok(mut grant) => {
                        for number in next..next + count as u64 {
                            grant.push(Box::new(number)).unwrap();
                        }
                        grant.commit_all();
                        next += count as u64;
                    }
                    Err(ReserveError::Closed) => panic!("the consumer lives"),
                    Err(_) => thread::yield_now(),
                }
            }
            _ => match producer.push(Box::new(next)) {
                Ok(()) => next += 1,
                Err(refused) => {
                    assert_eq!((refused.is_full(), *refused.into_inner()), (true, next));
                    thread::yield_now();
                }
            },
        }
        if next > 0 {
            begun.store(true, Ordering::Relaxed);
        }
        // Whether or not another thread changes the shape meanwhile.
        assert!(producer.len() <= 1 << 20 && producer.free_slots() <= 1 << 20);
    }
    next
}

/// Takes everything out, one by one, as slices and as chunks; gives how many there were.
fn consume(mut consumer: Consumer<Box<u64>>) -> u64 {
    let mut random = Random(9);
    let mut next = 0;
    let mut held = Vec::new();
    loop {
        let mut check = |item: &u64| {
            assert_eq!(*item, next);
            next += 1;
        };
        let result = match random.below(8) {
            0 | 1 => match consumer.take_chunk() {
                Ok(chunk) => {
                    chunk.iter().for_each(|item| check(item));
                    held.push((next, chunk));
                    Ok(())
                }
                Err(error) if error.is_closed() => Err(PopError::Closed),
                Err(error) => {
                    if error.is_open() {
                        want_seal(&mut consumer);
                    }
                    Err(PopError::Empty)
                }
            },
            2 | 3 => consumer.read().map(|ready| {
                let count = random.below(ready.len() + 1);
                ready.iter().take(count).for_each(|item| check(item));
                ready.release(count);
            }),
            _ => consumer.pop().map(|item| check(&item)),
        };
        if held.len() > random.below(6) {
            let (end, chunk) = held.remove(0);
            let numbers = chunk.into_iter().map(|item| *item).collect::<Vec<_>>();
            assert!(numbers.iter().copied().eq(end - numbers.len() as u64..end));
        }
        match result {
            Ok(()) => {}
            Err(PopError::Empty) => thread::yield_now(),
            Err(PopError::Closed) => return next,
        }
    }
}

/// Changes the shape at random, so many times.
fn resize(control: &Control<Box<u64>>, number: usize, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..number {
        let (chunk_len, chunks) = (random.below(64) + 1, random.below(16) + 1);
        match random.below(5) {
            0 => control.set_chunks(chunks).unwrap(),
            1 => control.set_chunk_len(chunk_len).unwrap(),
            2 => control.trim(),
            _ => control.resize(chunk_len, chunks).unwrap(),
        }
        if random.below(4) == 0 {
            thread::yield_now();
        }
        // In traffic or idle, in the pool, held by the consumer, and in the hands of a thread.
        let most = (16 + 16 + 7 + 5) * chunk_bytes::<Box<u64>>(64);
        let used = control.pool().used();
        assert!(used <= most.min(control.pool().budget()), "{used} bytes");
    }
}

fn resize_under_load(resizers: usize, budget: Option<usize>, preallocate: bool) {
    let pool = Pool::new(budget.unwrap_or(usize::MAX)).unwrap();
    let (producer, consumer) = Builder::new(8, 4)
        .pool(&pool)
        .preallocate(preallocate)
        .origin(usize::MAX - 5000)
        .ring()
        .unwrap();
    let control = producer.control();
    let begun = Arc::new(AtomicBool::new(false));
    let stop = Arc::new(AtomicBool::new(false));
    let sender = thread::spawn({
        let (begun, stop) = (Arc::clone(&begun), Arc::clone(&stop));
        move || produce(producer, &begun, &stop)
    });
    let receiver = thread::spawn(move || consume(consumer));
    // A loaded machine might run the sender only after all has been resized.
    while !begun.load(Ordering::Relaxed) {
        assert!(!sender.is_finished(), "the sender has failed");
        thread::yield_now();
    }
    let barrier = Arc::new(Barrier::new(resizers));
    let threads = (0..resizers).map(|seed| {
        let (control, barrier) = (control.clone(), Arc::clone(&barrier));
        thread::spawn(move || {
            barrier.wait();
            resize(&control, resizes() / resizers, seed as u64 * 77 + 5);
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let sent = sender.join().unwrap();
    assert_eq!(receiver.join().unwrap(), sent);
    assert!(sent > 0);
    assert!(
        pool.used() <= 16 * chunk_bytes::<Box<u64>>(64),
        "only idle blocks are left"
    );
    control.trim();
    assert_eq!((pool.used(), control.chunks_in_use()), (0, 0));
}

#[test]
fn order_and_content_survive_thousands_of_random_resizes_under_load() {
    resize_under_load(1, None, false);
}

#[test]
fn several_threads_resize_and_trim_at_once_under_load() {
    resize_under_load(3, None, false);
    resize_under_load(3, None, true);
}

#[test]
fn a_tight_budget_is_no_obstacle_to_resizing_under_load() {
    // Room for three of the longest chunks.
    resize_under_load(2, Some(3 * chunk_bytes::<Box<u64>>(64)), false);
}

#[test]
fn the_end_of_a_ring_and_trims_by_others_free_every_chunk_once() {
    for round in 0..300 {
        let (mut producer, mut consumer) = Builder::new(1, 16).preallocate(true).ring().unwrap();
        let pool = producer.control().pool().clone();
        let barrier = Arc::new(Barrier::new(4));
        let mut threads = Vec::new();
        for _ in 0..2 {
            let (control, barrier) = (producer.control(), Arc::clone(&barrier));
            threads.push(thread::spawn(move || {
                barrier.wait();
                control.trim();
                control.set_chunks(1).unwrap();
                control.trim();
            }));
        }
        let start = Arc::clone(&barrier);
        threads.push(thread::spawn(move || {
            start.wait();
            for number in 0..round % 20 {
                let _ = producer.push(Box::new(number));
            }
        }));
        barrier.wait();
        while consumer.pop().is_ok() {}
        drop(consumer);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(pool.used(), 0);
    }
}
