//! Several producers at full speed, while the shape changes thousands of times and the consumer takes items
//! out by every means there is.

use crate::kind::chunk_bytes;
use chunkring::mpsc::{Consumer, Producer};
use chunkring::{Builder, Control, OwnedChunk, Policy, Pool, PopError, ReserveError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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

/// Who has sent it, and the how manieth of that sender it is; on the heap, so that a sanitizer sees its end.
type Item = Box<(usize, usize)>;

/// Puts items in by every means there is, until told to stop; tells how many were put in.
fn produce(mut producer: Producer<Item>, id: usize, stop: &AtomicBool) -> usize {
    let mut random = Random(id as u64 + 1);
    let mut next = 0;
    while !stop.load(Ordering::Relaxed) {
        match random.below(16) {
            0 => producer.seal(),
            1 => {
                let count = random.below(4);
                let mut items = (next..next + count).map(|number| Box::new((id, number)));
                next += producer.push_iter(&mut items);
            }
            // A new handle, and the end of the old one.
            2 => producer = producer.clone(),
            3..=6 => {
                let count = random.below(producer.chunk_len().min(20) + 1);
                match producer.reserve(count) {
                    Ok(mut grant) => {
                        let fill = random.below(count + 1);
                        for number in next..next + fill {
                            grant.push(Box::new((id, number))).unwrap();
                        }
                        match random.below(4) {
                            0 => drop(grant),
                            1 => {
                                let keep = random.below(fill + 1);
                                grant.commit(keep);
                                next += keep;
                            }
                            _ => {
                                grant.commit_all();
                                next += fill;
                            }
                        }
                    }
                    Err(ReserveError::Closed) => panic!("the consumer lives"),
                    Err(_) => thread::yield_now(),
                }
            }
            _ => match producer.push(Box::new((id, next))) {
                Ok(()) => next += 1,
                Err(refused) => {
                    assert!(refused.is_full());
                    assert_eq!(*refused.into_inner(), (id, next));
                    thread::yield_now();
                }
            },
        }
    }
    next
}

/// What the consumer has seen.
struct Seen {
    next: Vec<usize>,
    taken: Arc<AtomicUsize>,
    /// Whether items may be missing.
    gaps: bool,
}

impl Seen {
    fn check(&mut self, item: &(usize, usize)) {
        let (id, number) = *item;
        let expected = &mut self.next[id];
        assert!(
            number == *expected || self.gaps && number > *expected,
            "{number} of producer {id} instead of {expected}"
        );
        *expected = number + 1;
        self.taken.fetch_add(1, Ordering::Relaxed);
    }
}

/// A chunk that was taken out, with what must be in it.
type Held = (OwnedChunk<Item>, Vec<(usize, usize)>);

/// Takes everything out by every means there is, until the ring is closed.
fn consume(consumer: &mut Consumer<Item>, seen: &mut Seen) {
    let mut random = Random(9);
    let mut held = Vec::<Held>::new();
    loop {
        let result = match random.below(8) {
            0 | 1 => match consumer.take_chunk() {
                Ok(chunk) => {
                    assert!(!chunk.is_empty());
                    chunk.iter().for_each(|item| seen.check(item));
                    let copy = chunk.iter().map(|item| **item).collect();
                    held.push((chunk, copy));
                    Ok(())
                }
                Err(error) if error.is_closed() => Err(PopError::Closed),
                Err(error) => {
                    if error.is_open() {
                        consumer.seal();
                    }
                    Err(PopError::Empty)
                }
            },
            2 | 3 => consumer.read().map(|ready| {
                let count = random.below(ready.len() + 1);
                if random.below(8) == 0 {
                    // Held for a while.
                    thread::yield_now();
                }
                ready.iter().take(count).for_each(|item| seen.check(item));
                ready.release(count);
            }),
            4 => {
                let ready = consumer.len();
                for _ in 0..ready {
                    match consumer.pop() {
                        Ok(item) => seen.check(&item),
                        // Only what is overwritten is no longer there.
                        Err(_) => assert!(seen.gaps),
                    }
                }
                Ok(())
            }
            _ => consumer.pop().map(|item| seen.check(&item)),
        };
        if held.len() > random.below(6) {
            let (chunk, copy) = held.remove(0);
            assert!(chunk.into_iter().map(|item| *item).eq(copy));
        }
        match result {
            Ok(()) => {}
            Err(PopError::Empty) => thread::yield_now(),
            Err(PopError::Closed) => return,
        }
    }
}

/// Waits until another item has come out; that nobody goes on is a failure.
fn wait_for_one(taken: &AtomicUsize) {
    let before = taken.load(Ordering::Relaxed);
    let start = Instant::now();
    while taken.load(Ordering::Relaxed) == before {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody goes on");
        thread::yield_now();
    }
}

/// Changes the shape at random, so many times.
fn resize(control: &Control<Item>, taken: &AtomicUsize, number: usize) {
    let mut random = Random(5);
    for step in 0..number {
        if step % 64 == 0 {
            wait_for_one(taken);
        }
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
        assert!(control.chunks_in_use() <= 16);
    }
}

/// Lets so many producers and a consumer run until `meanwhile` has ended. What there is then in the ring comes
/// out, too, and must be all that was put in.
fn under_load(
    producers: usize,
    builder: &Builder,
    meanwhile: impl FnOnce(&Control<Item>, &AtomicUsize),
) {
    let (producer, mut consumer) = builder.mpsc().unwrap();
    let control = producer.control();
    let gaps = control.policy() == Policy::Overwrite;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = (0..producers).map(|id| {
        let (producer, stop) = (producer.clone(), Arc::clone(&stop));
        thread::spawn(move || produce(producer, id, &stop))
    });
    let senders = senders.collect::<Vec<_>>();
    drop(producer);
    let taken = Arc::new(AtomicUsize::new(0));
    let progress = Arc::clone(&taken);
    let receiver = thread::spawn(move || {
        let mut seen = Seen {
            next: vec![0; producers],
            taken: progress,
            gaps,
        };
        consume(&mut consumer, &mut seen);
        (consumer, seen)
    });
    meanwhile(&control, &taken);
    stop.store(true, Ordering::Relaxed);
    let sent = senders.into_iter().map(|sender| sender.join().unwrap());
    let sent = sent.collect::<Vec<_>>();
    let (consumer, seen) = receiver.join().unwrap();
    let statistics = control.statistics();
    assert_eq!(
        taken.load(Ordering::Relaxed) + statistics.overwritten,
        sent.iter().sum::<usize>()
    );
    if !gaps {
        assert_eq!((seen.next, statistics.overwritten), (sent, 0));
    }
    // The idle ones at most, and those of the pool, wherever the shapes have been before.
    assert!(
        statistics.chunks_in_use <= statistics.chunks,
        "{statistics:?}"
    );
    let most = (statistics.chunks + 16) * chunk_bytes::<Item>(64);
    assert!(statistics.pool_used <= most.min(statistics.pool_budget));
    drop(consumer);
    control.trim();
    assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
}

fn resize_under_load(producers: usize, policy: Policy, budget: usize) {
    let pool = Pool::new(budget).unwrap();
    let builder = Builder::new(8, 4)
        .policy(policy)
        .pool(&pool)
        .origin(usize::MAX - 5000);
    under_load(producers, &builder, |control, taken| {
        resize(control, taken, resizes() / 3);
        control.resize(8, 4).unwrap();
    });
}

fn under_every_policy(producers: usize) {
    for policy in [
        Policy::Refuse,
        Policy::Overwrite,
        Policy::Grow { max_chunks: 12 },
    ] {
        resize_under_load(producers, policy, usize::MAX);
    }
}

#[test]
fn order_and_content_survive_thousands_of_resizes_with_one_producer() {
    under_every_policy(1);
}

#[test]
fn order_and_content_survive_thousands_of_resizes_with_two_producers() {
    under_every_policy(2);
}

#[test]
fn order_and_content_survive_thousands_of_resizes_with_four_producers() {
    under_every_policy(4);
}

#[test]
fn a_tight_budget_is_no_obstacle_to_two_producers_in_a_ring_that_is_resized() {
    // Room for three of the longest chunks.
    resize_under_load(2, Policy::Refuse, 3 * chunk_bytes::<Item>(64));
}

#[test]
fn order_and_content_survive_the_shortest_chunks_at_full_speed() {
    for (chunk_len, chunks) in [(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (16, 2)] {
        for policy in [
            Policy::Refuse,
            Policy::Overwrite,
            Policy::Grow { max_chunks: 8 },
        ] {
            for producers in [2, 4] {
                let builder = Builder::new(chunk_len, chunks).policy(policy);
                under_load(producers, &builder, |control, taken| {
                    for _ in 0..30 {
                        wait_for_one(taken);
                        assert!(control.chunks_in_use() <= control.max_chunks());
                    }
                });
            }
        }
    }
}
