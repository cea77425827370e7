//! Any script of operations on a ring, resizes, policies, hand-off and a tight budget included, against a
//! queue that cannot be wrong. Items are on the heap, so that AddressSanitizer sees one that is dropped
//! twice, read after its end, or never dropped.
#![no_main]

use chunkring::{Builder, OwnedChunk, Policy, Pool, PopError, ReserveError, TakeError};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;

/// The script: bytes, of which each operation takes what it needs.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<usize> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(usize::from(*byte))
    }

    /// A number below `bound`; 0 at the script's end.
    fn below(&mut self, bound: usize) -> usize {
        self.next().unwrap_or(0) % bound
    }
}

/// The items that are in the ring or were overwritten, in order.
#[derive(Default)]
struct Model {
    items: VecDeque<u32>,
    /// Items that are known to be overwritten, since a later one has come out.
    missed: usize,
}

impl Model {
    /// Before `next` comes out, or nothing because there is nothing, all items before it were overwritten.
    fn miss_before(&mut self, next: Option<u32>) {
        while self.items.front().is_some_and(|item| Some(*item) != next) {
            self.items.pop_front();
            self.missed += 1;
        }
    }

    /// Items that are in the ring, of which so many were overwritten.
    fn len(&self, overwritten: usize) -> usize {
        self.items.len() - (overwritten - self.missed)
    }
}

/// A policy for a ring of up to eight chunks.
fn policy(script: &mut Script<'_>) -> Policy {
    match script.below(3) {
        0 => Policy::Refuse,
        1 => Policy::Overwrite,
        _ => Policy::Grow {
            max_chunks: 1 + script.below(8),
        },
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut script = Script(bytes);
    let chunk_len = 1 + script.below(6);
    let chunks = 1 + script.below(5);
    let budget = match script.below(4) {
        0 => 2_000,
        _ => usize::MAX,
    };
    let origin = match script.below(3) {
        0 => 0,
        1 => usize::MAX - script.below(32),
        _ => isize::MAX as usize - script.below(32),
    };
    let pool = Pool::new(budget).unwrap();
    let builder = Builder::new(chunk_len, chunks)
        .max_chunks(8)
        .preallocate(script.below(4) == 0)
        .headroom(script.below(3))
        .policy(policy(&mut script))
        .overwritable(script.below(2) == 0)
        .pool(&pool)
        .origin(origin);
    let Ok((producer, consumer)) = builder.spsc::<Box<u32>>() else {
        assert_ne!(budget, usize::MAX, "only the budget can refuse such a ring");
        return;
    };
    let control = producer.control();
    let (mut producer, mut consumer) = (Some(producer), Some(consumer));
    let mut model = Model::default();
    let mut held: Vec<OwnedChunk<Box<u32>>> = Vec::new();
    let mut number = 0_u32;

    while let Some(operation) = script.next() {
        match (operation % 17, &mut producer, &mut consumer) {
            (0..=2, Some(producer), consumer) => {
                let free = producer.free_slots();
                match producer.push(Box::new(number)) {
                    Ok(()) => {
                        assert!(free != 0 || control.policy() == Policy::Overwrite);
                        model.items.push_back(number);
                        number += 1;
                    }
                    Err(refused) if refused.is_closed() => assert!(consumer.is_none()),
                    Err(refused) => {
                        assert!(free == 0 || budget != usize::MAX);
                        assert_eq!(*refused.into_inner(), number);
                    }
                }
            }
            (3 | 4, Some(producer), consumer) => {
                let count = script.below(9);
                let longest = control.chunk_len();
                match producer.reserve(count) {
                    Ok(mut grant) => {
                        assert_eq!(grant.len(), count);
                        let fill = script.below(count + 1);
                        for index in 0..fill {
                            grant.push(Box::new(number + index as u32)).unwrap();
                        }
                        let keep = script.below(fill + 1);
                        grant.commit(keep);
                        model.items.extend((number..).take(keep));
                        number += keep as u32;
                    }
                    Err(ReserveError::TooLong {
                        requested,
                        chunk_len,
                    }) => {
                        assert_eq!((requested, chunk_len), (count, longest));
                        assert!(count > longest);
                    }
                    Err(ReserveError::Closed) => assert!(consumer.is_none()),
                    Err(ReserveError::Full) => assert!(count <= longest),
                }
            }
            (5 | 6, producer, Some(consumer)) => match consumer.pop() {
                Ok(item) => {
                    model.miss_before(Some(*item));
                    assert_eq!(Some(*item), model.items.pop_front());
                }
                Err(error) => {
                    model.miss_before(None);
                    assert_eq!(error == PopError::Closed, producer.is_none());
                }
            },
            (7 | 8, _, Some(consumer)) => match consumer.read() {
                Ok(ready) => {
                    model.miss_before(Some(*ready[0]));
                    assert!(
                        ready
                            .iter()
                            .map(|item| **item)
                            .eq(model.items.range(..ready.len()).copied())
                    );
                    let count = script.below(ready.len() + 1);
                    ready.release(count);
                    model.items.drain(..count);
                }
                Err(_) => model.miss_before(None),
            },
            (9, _, Some(consumer)) => match consumer.take_chunk() {
                Ok(chunk) => {
                    assert!(!chunk.is_empty());
                    model.miss_before(Some(*chunk[0]));
                    assert!(
                        chunk
                            .iter()
                            .map(|item| **item)
                            .eq(model.items.drain(..chunk.len()))
                    );
                    held.push(chunk);
                }
                Err(TakeError::Open) => assert!(!consumer.is_empty()),
                Err(TakeError::Empty | TakeError::Closed) => model.miss_before(None),
            },
            (10, Some(producer), _) => producer.seal(),
            (11, ..) => {
                let (chunk_len, chunks) = (script.below(8), script.below(10));
                let before = (control.chunk_len(), control.chunks());
                match control.resize(chunk_len, chunks) {
                    Ok(()) => {
                        assert_eq!((control.chunk_len(), control.chunks()), (chunk_len, chunks))
                    }
                    Err(_) => {
                        assert!(chunk_len == 0 || chunks == 0 || chunks > control.max_chunks());
                        assert_eq!((control.chunk_len(), control.chunks()), before);
                    }
                }
            }
            (12, ..) => control.trim(),
            (13, ..) => {
                let index = script.below(held.len() + 1);
                if index < held.len() {
                    drop(held.swap_remove(index));
                }
            }
            (14, producer, _) if script.below(16) == 0 => *producer = None,
            (15, _, consumer) if script.below(16) == 0 => *consumer = None,
            (16, ..) => {
                let (policy, before) = (policy(&mut script), control.policy());
                let now = match control.set_policy(policy) {
                    Ok(()) => policy,
                    Err(_) => {
                        assert!(policy != Policy::Refuse);
                        before
                    }
                };
                assert_eq!(control.policy(), now);
            }
            _ => {}
        }
        let len = model.len(control.statistics().overwritten);
        if let Some(consumer) = &consumer {
            assert_eq!(consumer.len(), len);
        }
        if let Some(producer) = &producer {
            assert!(consumer.is_none() || producer.len() >= len);
        }
        assert!(pool.used() <= budget);
        assert!(control.chunks_in_use() <= control.max_chunks());
    }
    if script.below(2) == 0 {
        drop(producer);
        drop(consumer);
    }
    drop((held, control));
});
