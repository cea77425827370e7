//! Where chunks' memory comes from and goes to: budgets, sources, and what is kept.

use crate::kind::{Consumer, Make, Producer, pass_unused};
use chunkring::{BuildError, Builder, Pool, PushError, ReserveError, Source};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A source that keeps book of every block, and refuses where it is told to.
#[derive(Clone, Default)]
struct Bank(Arc<Book>);

#[derive(Default)]
struct Book {
    /// Blocks that are out, by address.
    out: Mutex<HashMap<usize, Layout>>,
    calls: AtomicUsize,
    /// The call to refuse, counted from 1.
    refused: AtomicUsize,
    /// Whether to refuse every call.
    empty: AtomicBool,
    dropped: AtomicUsize,
}

/// Bytes behind each block that nobody may write, and what is in them.
const FENCE_LEN: usize = 256;
const FENCE: u8 = 0xA5;

fn fenced(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size() + FENCE_LEN, layout.align()).unwrap()
}

// SAFETY: all memory is the global allocator's.
unsafe impl Source for Bank {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        let call = self.0.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call == self.0.refused.load(Ordering::Relaxed) || self.0.empty.load(Ordering::Relaxed) {
            return None;
        }
        assert_ne!(layout.size(), 0);
        // SAFETY: the size is not zero.
        let memory = NonNull::new(unsafe { alloc(fenced(layout)) })?;
        // SAFETY: behind the block there are so many bytes more.
        unsafe { memory.add(layout.size()).write_bytes(FENCE, FENCE_LEN) };
        let before = self
            .0
            .out
            .lock()
            .unwrap()
            .insert(memory.as_ptr() as usize, layout);
        assert!(before.is_none());
        Some(memory)
    }

    unsafe fn free(&self, memory: NonNull<u8>, layout: Layout) {
        let given = self
            .0
            .out
            .lock()
            .unwrap()
            .remove(&(memory.as_ptr() as usize));
        assert_eq!(given, Some(layout), "what comes back is what was given");
        // SAFETY: `allocate` has written so many bytes behind the block.
        let fence =
            unsafe { std::slice::from_raw_parts(memory.add(layout.size()).as_ptr(), FENCE_LEN) };
        assert_eq!(fence, [FENCE; FENCE_LEN], "somebody wrote beyond the block");
        // SAFETY: the global allocator gave this memory for this layout.
        unsafe { dealloc(memory.as_ptr(), fenced(layout)) };
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Bank {
    fn bytes_out(&self) -> usize {
        self.0.out.lock().unwrap().values().map(Layout::size).sum()
    }

    fn blocks_out(&self) -> usize {
        self.0.out.lock().unwrap().len()
    }
}

fn fill(producer: &mut Producer<u64>, next: &mut u64) -> usize {
    let before = *next;
    while producer.push(*next).is_ok() {
        *next += 1;
    }
    (*next - before) as usize
}

fn drain(consumer: &mut Consumer<u64>, next: &mut u64) -> usize {
    let before = *next;
    while let Ok(item) = consumer.pop() {
        assert_eq!(item, *next);
        *next += 1;
    }
    (*next - before) as usize
}

/// Bytes of a chunk of so many items of eight bytes.
const fn chunk(len: usize) -> usize {
    128 + 8 * len
}

#[test]
fn a_budget_is_used_to_the_last_byte_and_never_exceeded() {
    for (budget, chunks) in [
        (0, 0),
        (chunk(4) - 1, 0),
        (chunk(4), 1),
        (2 * chunk(4) - 1, 1),
        (3 * chunk(4), 3),
        (usize::MAX, 8),
    ] {
        let pool = Pool::new(budget).unwrap();
        let (mut producer, mut consumer) = Builder::new(4, 8).pool(&pool).ring().unwrap();
        let (mut put, mut taken) = (0, 0);
        for _ in 0..5 {
            assert_eq!(fill(&mut producer, &mut put), 4 * chunks, "{budget} bytes");
            assert_eq!(producer.push(1), Err(PushError::Full(1)));
            assert_eq!(pool.used(), chunks * chunk(4));
            assert_eq!(drain(&mut consumer, &mut taken), 4 * chunks);
            assert!(pool.used() <= budget);
        }
    }
}

#[test]
fn a_preallocated_ring_beyond_its_budget_is_refused_and_takes_nothing() {
    let pool = Pool::new(3 * chunk(4) - 1).unwrap();
    let builder = Builder::new(4, 3).preallocate(true).pool(&pool);
    let over_budget = |used| BuildError::OverBudget {
        bytes: 3 * chunk(4),
        used,
        budget: pool.budget(),
    };
    assert_eq!(builder.ring::<u64>().unwrap_err(), over_budget(0));
    assert_eq!(pool.used(), 0);
    pool.set_budget(3 * chunk(4));
    let ring = builder.ring::<u64>().unwrap();
    assert_eq!(pool.used(), pool.budget());
    assert_eq!(
        builder.ring::<u64>().unwrap_err(),
        over_budget(3 * chunk(4))
    );
    drop(ring);
    // What the ring itself has had so far does not count as used by others.
    let (mut producer, _consumer) = Builder::new(4, 1).pool(&pool).ring::<u64>().unwrap();
    producer.push(1).unwrap();
    assert_eq!(builder.ring::<u64>().unwrap_err(), over_budget(chunk(4)));
    drop((producer, _consumer));
    assert_eq!(pool.used(), 0);
}

#[test]
fn a_chunk_that_is_out_counts_until_it_is_dropped() {
    let pool = Pool::new(2 * chunk(4)).unwrap();
    let (mut producer, mut consumer) = Builder::new(4, 8).pool(&pool).ring().unwrap();
    let mut put = 0;
    assert_eq!(fill(&mut producer, &mut put), 8);
    let first = consumer.take_chunk().unwrap();
    let second = consumer.take_chunk().unwrap();
    assert_eq!(
        producer.free_slots(),
        32,
        "chunks are free, only memory is not"
    );
    assert_eq!(producer.push(8), Err(PushError::Full(8)));
    assert_eq!(pool.used(), 2 * chunk(4));
    drop(first);
    assert_eq!(fill(&mut producer, &mut put), 4);
    drop(second);
    assert_eq!(fill(&mut producer, &mut put), 4);
    assert_eq!(*consumer.take_chunk().unwrap(), [8, 9, 10, 11]);
}

#[test]
fn a_smaller_budget_frees_idle_chunks_at_once_and_refuses_until_others_come_back() {
    let pool = Pool::new(usize::MAX).unwrap();
    let (mut producer, mut consumer) = Builder::new(4, 16).pool(&pool).ring().unwrap();
    let (mut put, mut taken) = (0, 0);
    fill(&mut producer, &mut put);
    for _ in 0..32 {
        assert_eq!(consumer.pop(), Ok(taken));
        taken += 1;
    }
    // Eight chunks in traffic, two idle in the ring, six in the pool.
    assert_eq!(pool.used(), 16 * chunk(4));
    pool.set_budget(3 * chunk(4));
    assert_eq!(pool.used(), 10 * chunk(4), "those of the pool are free");
    assert_eq!(fill(&mut producer, &mut put), 8, "two are idle in the ring");
    drain(&mut consumer, &mut taken);
    producer.control().trim();
    assert_eq!(pool.used(), 0);
    assert_eq!(fill(&mut producer, &mut put), 12);
    drain(&mut consumer, &mut taken);
    assert!(pool.used() <= pool.budget());
    pool.set_budget(0);
    producer.control().trim();
    assert_eq!((pool.used(), fill(&mut producer, &mut put)), (0, 0));
}

#[test]
fn a_ring_that_gets_no_chunk_at_the_kth_call_stays_intact_and_goes_on() {
    for preallocate in [false, true] {
        for k in 1..40 {
            let bank = Bank::default();
            bank.0.refused.store(k, Ordering::Relaxed);
            let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
            let builder = Builder::new(2, 4).preallocate(preallocate).pool(&pool);
            let (mut producer, mut consumer) = match builder.ring() {
                Ok(ring) => ring,
                Err(error) => {
                    assert_eq!((error, bank.blocks_out()), (BuildError::OutOfMemory, 0));
                    continue;
                }
            };
            let control = producer.control();
            let (mut put, mut taken) = (0, 0);
            for round in 0..8 {
                let capacity = control.chunk_len() * control.chunks();
                let before = producer.len();
                let pushed = fill(&mut producer, &mut put);
                // Only the refusal makes it less, and another try gives the rest.
                let again = fill(&mut producer, &mut put);
                assert!(again == 0 || bank.0.calls.load(Ordering::Relaxed) > k);
                assert_eq!(
                    (producer.len(), consumer.len()),
                    (put as usize - taken as usize, put as usize - taken as usize)
                );
                if round == 0 {
                    assert_eq!(before + pushed + again, capacity);
                }
                control.resize(round % 3 + 2, round % 4 + 1).unwrap();
                let mut held = None;
                if let Ok(chunk) = consumer.take_chunk() {
                    assert_eq!(chunk[0], taken);
                    taken += chunk.len() as u64;
                    held = Some(chunk);
                }
                match producer.reserve(2) {
                    Ok(mut grant) => {
                        grant.extend_from_slice(&[put, put + 1]);
                        grant.commit_all();
                        put += 2;
                    }
                    Err(error) => assert_eq!(error, ReserveError::Full),
                }
                drain(&mut consumer, &mut taken);
                assert_eq!(taken, put);
                drop(held);
                assert_eq!(bank.bytes_out(), pool.used());
                if round == 5 {
                    control.trim();
                    assert!(control.chunks_in_use() <= 1, "the one being filled");
                    assert_eq!(bank.blocks_out(), control.chunks_in_use());
                }
            }
            drop((producer, consumer, control));
            pool.trim();
            assert_eq!((bank.blocks_out(), pool.used()), (0, 0));
        }
    }
}

#[test]
fn a_reservation_in_a_ring_of_which_a_chunk_is_refused_is_granted_in_the_end() {
    let bank = Bank::default();
    let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
    let (mut producer, mut consumer) = Builder::new(8, 4).pool(&pool).ring().unwrap();
    producer.push(0).unwrap();
    bank.0.empty.store(true, Ordering::Relaxed);
    for number in 0..50 {
        assert_eq!(producer.reserve(8).map(drop), Err(ReserveError::Full));
        assert_eq!(consumer.pop(), Ok(number));
        pass_unused(&mut consumer);
        let mut grant = producer.reserve(8).unwrap();
        grant.extend_from_slice(&[number + 1]);
        grant.commit_all();
    }
    assert_eq!(bank.blocks_out(), 1);
}

#[test]
fn rings_of_one_size_use_each_others_idle_chunks() {
    let bank = Bank::default();
    let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
    let builder = Builder::new(4, 8).pool(&pool);
    let (mut first, mut first_out) = builder.ring().unwrap();
    let (mut second, mut second_out) = builder.ring().unwrap();
    let (mut put, mut taken) = (0, 0);
    fill(&mut first, &mut put);
    drain(&mut first_out, &mut taken);
    let calls = bank.0.calls.load(Ordering::Relaxed);
    assert_eq!(calls, 8);
    let (mut put, mut taken) = (0, 0);
    assert_eq!(fill(&mut second, &mut put), 32);
    assert_eq!(
        bank.0.calls.load(Ordering::Relaxed),
        calls + 2,
        "two stayed where they were"
    );
    assert_eq!(drain(&mut second_out, &mut taken), 32);
}

#[test]
fn rings_of_different_items_share_a_budget_and_free_each_others_idle_chunks() {
    let pool = Pool::new(2 * chunk(16)).unwrap();
    let (mut small, mut small_out) = Builder::new(16, 8).pool(&pool).ring().unwrap();
    let (mut large, mut large_out) = Builder::new(4, 8).pool(&pool).ring::<[u64; 8]>().unwrap();
    let mut put = 0;
    assert_eq!(fill(&mut small, &mut put), 32);
    assert_eq!(large.push([1; 8]).unwrap_err().into_inner(), [1; 8]);
    // Out of the ring, so that they are idle in the pool.
    drop(small_out.take_chunk().unwrap());
    drop(small_out.take_chunk().unwrap());
    assert_eq!(pool.used(), 2 * chunk(16));
    large.push([2; 8]).unwrap();
    assert_eq!(pool.used(), 128 + 4 * 64);
    assert_eq!(fill(&mut small, &mut put), 0);
    assert_eq!(large_out.pop(), Ok([2; 8]));
}

#[test]
fn a_pool_keeps_no_more_than_sixteen_idle_chunks() {
    let bank = Bank::default();
    let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
    let (mut producer, mut consumer) = Builder::new(1, 1000).pool(&pool).ring().unwrap();
    let (mut put, mut taken) = (0, 0);
    assert_eq!(fill(&mut producer, &mut put), 1000);
    assert_eq!(bank.blocks_out(), 1000);
    let held = (0..100)
        .map(|_| consumer.take_chunk().unwrap())
        .collect::<Vec<_>>();
    taken += 100;
    drain(&mut consumer, &mut taken);
    assert!((16..=2 + 16).contains(&(bank.blocks_out() - 100)));
    assert_eq!(bank.bytes_out(), pool.used());
    drop(held);
    assert!((16..=2 + 16).contains(&bank.blocks_out()));
    let mut put_again = put;
    fill(&mut producer, &mut put_again);
    drain(&mut consumer, &mut taken);
    assert_eq!(bank.blocks_out(), 2 + 16);
    drop((producer, consumer));
    assert_eq!(bank.blocks_out(), 16, "the pool lives");
    drop(pool);
    assert_eq!(bank.blocks_out(), 0);
    assert_eq!(bank.0.dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn a_source_lives_until_the_last_chunk_is_gone() {
    let bank = Bank::default();
    let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
    let (mut producer, mut consumer) = Builder::new(2, 2).pool(&pool).ring().unwrap();
    producer.push(String::from("a")).unwrap();
    producer.push(String::from("b")).unwrap();
    let chunk = consumer.take_chunk().unwrap();
    drop((pool, producer, consumer));
    assert_eq!(
        (bank.blocks_out(), bank.0.dropped.load(Ordering::Relaxed)),
        (1, 0)
    );
    assert_eq!(*chunk, ["a", "b"]);
    drop(chunk);
    assert_eq!(
        (bank.blocks_out(), bank.0.dropped.load(Ordering::Relaxed)),
        (0, 1)
    );
}

#[test]
fn chunks_of_an_old_length_do_not_stand_in_the_way() {
    let pool = Pool::new(4 * chunk(8)).unwrap();
    let (mut producer, mut consumer) = Builder::new(8, 4).pool(&pool).ring().unwrap();
    let control = producer.control();
    let (mut put, mut taken) = (0, 0);
    fill(&mut producer, &mut put);
    let held = [
        consumer.take_chunk().unwrap(),
        consumer.take_chunk().unwrap(),
    ];
    taken += 16;
    control.set_chunk_len(16).unwrap();
    drop(held); // idle in the pool, of the old length
    drain(&mut consumer, &mut taken);
    assert_eq!(
        pool.used(),
        2 * chunk(8),
        "only what the pool could not know to be old"
    );
    assert_eq!(fill(&mut producer, &mut put), 3 * 16);
    assert_eq!(pool.used(), pool.budget());
    drain(&mut consumer, &mut taken);
}

/// Pushes and pops on one thread with random resizes, until the other threads have done theirs too.
fn use_a_share(pool: &Pool, bank: &Bank, seed: usize, rounds: usize) {
    let (mut producer, mut consumer) = Builder::new(seed % 5 + 1, 8).pool(pool).ring().unwrap();
    let control = producer.control();
    let (mut put, mut taken) = (0, 0);
    for round in 0..rounds {
        fill(&mut producer, &mut put);
        let used = pool.used();
        assert!(used <= pool.budget(), "{used} bytes");
        // What is out is counted before it is taken and until after it has been given back.
        assert!(bank.bytes_out() <= pool.budget());
        if let Ok(chunk) = consumer.take_chunk() {
            assert_eq!(chunk[0], taken);
            taken += chunk.len() as u64;
        }
        drain(&mut consumer, &mut taken);
        control.set_chunk_len((round + seed) % 7 + 1).unwrap();
        if round % 16 == seed {
            pool.trim();
        }
    }
    assert_eq!(put, taken);
}

#[test]
fn the_budget_holds_while_several_rings_take_and_give_at_once() {
    let bank = Bank::default();
    let pool = Pool::with_source(5 * chunk(7), bank.clone()).unwrap();
    let threads = (0..4).map(|seed| {
        let (pool, bank) = (pool.clone(), bank.clone());
        thread::spawn(move || use_a_share(&pool, &bank, seed, 1000))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    assert_eq!(pool.used(), bank.bytes_out());
    pool.trim();
    assert_eq!((pool.used(), bank.blocks_out()), (0, 0));
}

#[test]
fn no_idle_chunk_stays_above_a_budget_that_became_smaller_meanwhile() {
    const ROUNDS: usize = 5000;
    let pool = Pool::new(usize::MAX).unwrap();
    // Rounds that each side has come to; both spin, to do theirs at the same moment.
    let come = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let meet = |come: &[AtomicUsize; 2], me: usize, round: usize| {
        come[me].store(round, Ordering::Release);
        for spins in 0.. {
            if come[1 - me].load(Ordering::Acquire) >= round {
                break;
            }
            if spins > 1000 {
                thread::yield_now();
            }
        }
    };
    let user = thread::spawn({
        let (pool, come) = (pool.clone(), Arc::clone(&come));
        move || {
            let (mut producer, mut consumer) = Builder::new(1, 8).pool(&pool).ring().unwrap();
            for round in 0..ROUNDS {
                (0..8).for_each(|number| producer.push(number).unwrap());
                let chunks = (0..8).map(|_| consumer.take_chunk().unwrap());
                let chunks = chunks.collect::<Vec<_>>();
                meet(&come, 0, 3 * round + 1);
                drop(chunks);
                meet(&come, 0, 3 * round + 2);
                meet(&come, 0, 3 * round + 3);
            }
        }
    });
    let mut left = 0;
    for round in 0..ROUNDS {
        meet(&come, 1, 3 * round + 1);
        (0..round % 50).for_each(|_| std::hint::spin_loop());
        pool.set_budget(0);
        meet(&come, 1, 3 * round + 2);
        left += pool.used();
        pool.set_budget(usize::MAX);
        meet(&come, 1, 3 * round + 3);
    }
    user.join().unwrap();
    assert_eq!(left, 0);
}

#[test]
fn no_chunk_is_used_beyond_its_memory_while_lengths_change_under_load() {
    const ITEMS: u64 = 50_000;
    let bank = Bank::default();
    let pool = Pool::with_source(usize::MAX, bank.clone()).unwrap();
    let (mut producer, mut consumer) = Builder::new(1, 3).pool(&pool).ring().unwrap();
    let control = producer.control();
    let stop = Arc::new(AtomicBool::new(false));
    let resizer = thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(Ordering::Relaxed) {
                for chunk_len in [1, 24, 2] {
                    control.set_chunk_len(chunk_len).unwrap();
                }
            }
        }
    });
    let receiver = thread::spawn(move || {
        for number in 0..ITEMS {
            while let Err(nothing) = consumer.pop().map(|item| assert_eq!(item, number)) {
                assert!(nothing.is_empty());
                thread::yield_now();
            }
        }
    });
    for number in 0..ITEMS {
        while let Err(refused) = producer.push(number) {
            assert!(refused.is_full());
            thread::yield_now();
        }
    }
    receiver.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    resizer.join().unwrap();
    drop(producer);
    pool.trim();
    assert_eq!((pool.used(), bank.blocks_out()), (0, 0));
}

#[test]
fn a_producer_knows_its_chunks_and_not_what_memory_there_is_for_them() {
    let pool = Pool::new(1).unwrap();
    let (mut producer, _consumer) = Builder::new(8, 2).pool(&pool).ring::<u8>().unwrap();
    assert_eq!((producer.free_slots(), producer.is_full()), (16, false));
    assert_eq!(producer.push(1), Err(PushError::Full(1)));
    assert_eq!((producer.free_slots(), producer.is_full()), (16, false));
}
