//! A ring for one producer that overwrites, under load.
//!
//! The number of items is bounded, and so is the time: a run is also short enough for a sanitizer.

use chunkring::{Builder, Policy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Items of all threads of one test taken together.
const ITEMS: u64 = 300_000;

/// A small generator of the xorshift family (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Now and then, lets another thread go on where two have one core.
    fn maybe_yield(&mut self) {
        if self.below(64) == 0 {
            thread::yield_now();
        }
    }
}

/// An item of several words, so that a torn or early read shows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Item {
    number: u64,
    check: [u64; 3],
}

impl Item {
    fn new(number: u64) -> Self {
        Item {
            number,
            check: [
                !number,
                number.rotate_left(17),
                number.wrapping_mul(0x9E37_79B9),
            ],
        }
    }
}

/// What one thread has put into a ring that overwrites and another has seen of it, by every means there
/// is, while a third changes the shape and the policy.
#[test]
fn a_ring_that_is_overwritten_while_it_is_read_loses_exactly_what_it_says() {
    for (chunk_len, chunks, origin) in [(1, 2, 0), (4, 1, 7), (8, 4, usize::MAX - 1000)] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks)
            .policy(Policy::Overwrite)
            .max_chunks(8)
            .origin(origin)
            .spsc()
            .unwrap();
        let control = producer.control();
        let done = AtomicBool::new(false);
        let (put, mut got, mut newest) = thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let mut random = Random(0x2545_F491_4F6C_DD1D ^ chunk_len as u64);
                let mut put = 0;
                for number in 0..ITEMS / 3 {
                    random.maybe_yield();
                    if random.below(50) == 0 {
                        producer.seal();
                    }
                    put += u64::from(producer.push(Item::new(number)).is_ok());
                }
                done.store(true, Ordering::Release);
                put
            });
            scope.spawn(|| {
                let mut random = Random(0x9E37_79B9_7F4A_7C15);
                while !done.load(Ordering::Acquire) {
                    let policy = match random.below(6) {
                        0 => Policy::Refuse,
                        1 => Policy::Grow { max_chunks: 8 },
                        _ => Policy::Overwrite,
                    };
                    control.set_policy(policy).unwrap();
                    if random.below(4) == 0 {
                        let len = chunk_len + random.below(2);
                        control.resize(len, chunks + random.below(3)).unwrap();
                    }
                    if random.below(16) == 0 {
                        control.trim();
                    }
                    assert!(control.statistics().chunks_in_use <= control.max_chunks());
                    thread::yield_now();
                }
            });
            let (mut got, mut newest) = (0, None);
            let mut see = |item: &Item| {
                assert_eq!(*item, Item::new(item.number));
                assert!(newest < Some(item.number), "an item came late");
                newest = Some(item.number);
                got += 1;
            };
            let mut random = Random(0x1234_5678_9ABC_DEF1);
            while !done.load(Ordering::Acquire) {
                random.maybe_yield();
                match random.below(4) {
                    0 => {
                        if let Ok(ready) = consumer.read() {
                            let count = random.below(ready.len() + 1);
                            ready[..count].iter().for_each(&mut see);
                            // What is read stays, whatever happens meanwhile.
                            let copy = ready.to_vec();
                            thread::yield_now();
                            assert_eq!(*ready, *copy);
                            ready.release(count);
                        }
                    }
                    1 => {
                        if let Ok(chunk) = consumer.take_chunk() {
                            chunk.iter().for_each(&mut see);
                        }
                    }
                    2 => assert!(consumer.len() <= 8 * (chunk_len + 1) * 2),
                    _ => {
                        if let Ok(item) = consumer.pop() {
                            see(&item);
                        }
                    }
                }
            }
            (sender.join().unwrap(), got, newest)
        });
        let left = consumer.len() as u64;
        let statistics = control.statistics();
        assert_eq!(put, got + left + statistics.overwritten as u64);
        let refused = statistics.refused_full + statistics.refused_memory;
        assert_eq!(ITEMS / 3 - put, refused as u64);
        assert!(statistics.overwritten > 0);
        for item in consumer.try_iter() {
            assert!(newest < Some(item.number));
            newest = Some(item.number);
            got += 1;
        }
        assert_eq!(put, got + statistics.overwritten as u64);
    }
}
