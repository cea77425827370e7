//! Two threads at full speed, with records of random length, partial releases and random pauses.
//!
//! The number of items is bounded, and so is the time: a run is also short enough for a sanitizer.

use crate::kind::{Consumer, Make, Producer};
use chunkring::{Builder, PopError, ReserveError};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Puts in items up to `items` by every means there is.
fn produce(mut producer: Producer<Item>, items: u64, mut random: Random) {
    let chunk_len = producer.chunk_len();
    let mut next = 0;
    while next < items {
        random.maybe_yield();
        if random.below(4) == 0 {
            match producer.push(Item::new(next)) {
                Ok(()) => next += 1,
                Err(refused) => {
                    assert_eq!(refused.into_inner(), Item::new(next));
                    thread::yield_now();
                }
            }
            continue;
        }
        let count = random.below(chunk_len + 1);
        match producer.reserve(count) {
            Ok(mut grant) => {
                let fill = random.below(count + 1);
                if random.below(2) == 0 {
                    for (slot, number) in grant.spare_mut().iter_mut().zip(next..).take(fill) {
                        slot.write(Item::new(number));
                    }
                    // SAFETY: the first `fill` slots have just been written.
                    unsafe { grant.assume_filled(fill) };
                } else {
                    for number in next..next + fill as u64 {
                        grant.push(Item::new(number)).unwrap();
                    }
                }
                let commit = (random.below(fill + 1) as u64).min(items - next);
                grant.commit(commit as usize);
                next += commit;
            }
            Err(ReserveError::Full) => thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Takes items out by every means there is, and returns how many there were.
fn consume(mut consumer: Consumer<Item>, mut random: Random) -> u64 {
    let mut next = 0;
    loop {
        random.maybe_yield();
        let result = if random.below(3) == 0 {
            consumer.pop().map(|item| {
                assert_eq!(item, Item::new(next));
                next += 1;
            })
        } else {
            consumer.read().map(|ready| {
                assert!(!ready.is_empty());
                for (item, number) in ready.iter().zip(next..) {
                    assert_eq!(*item, Item::new(number));
                }
                let count = match random.below(3) {
                    0 => random.below(ready.len() + 1),
                    _ => ready.len(),
                };
                ready.release(count);
                next += count as u64;
            })
        };
        match result {
            Ok(()) => {}
            Err(PopError::Empty) => thread::yield_now(),
            Err(PopError::Closed) => return next,
        }
    }
}

#[test]
fn order_and_content_survive_two_threads_at_full_speed() {
    let shapes = [
        (1, 1),
        (1, 2),
        (2, 2),
        (3, 3),
        (8, 1),
        (16, 2),
        (64, 4),
        (256, 2),
    ];
    for (seed, (chunk_len, chunks)) in (1..).zip(shapes) {
        let (producer, consumer) = Builder::new(chunk_len, chunks)
            .preallocate(seed % 2 == 0)
            .origin(usize::MAX - 1000)
            .ring()
            .unwrap();
        let items = ITEMS / shapes.len() as u64;
        let receiver = thread::spawn(move || consume(consumer, Random(seed * 0xBEEF)));
        produce(producer, items, Random(seed * 0xCAFE));
        assert_eq!(
            receiver.join().unwrap(),
            items,
            "{chunks} chunks of {chunk_len}"
        );
    }
}

#[test]
fn items_on_the_heap_are_freed_by_whoever_comes_to_it() {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    for seed in 1..300 {
        let (mut producer, mut consumer) = Builder::new(4, 3).ring::<Box<u64>>().unwrap();
        let sender = thread::spawn(move || {
            STARTED.store(seed, Ordering::Relaxed);
            for number in 0..Random(seed).next() % 40 {
                if producer.push(Box::new(number)).is_err() {
                    thread::yield_now();
                }
            }
        });
        while STARTED.load(Ordering::Relaxed) != seed {
            std::hint::spin_loop();
        }
        let mut last = None;
        for _ in 0..Random(seed + 1000).next() % 40 {
            match consumer.pop() {
                Ok(number) => {
                    assert!(last.is_none_or(|last| last < *number));
                    last = Some(*number);
                }
                Err(_) => thread::yield_now(),
            }
        }
        // Both ends may come at the same time, with items left.
        drop(consumer);
        sender.join().unwrap();
    }
}
