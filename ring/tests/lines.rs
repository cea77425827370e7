//! The consumer writes into cache lines that it has done with: never where an item is, whatever its size is.

use chunkring::Builder;
use chunkring::spsc::{Consumer, Producer};
use std::collections::VecDeque;

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

fn item<const N: usize>(number: u8) -> [u8; N] {
    // No byte of an item is zero, as those are that the consumer writes.
    [number | 1; N]
}

fn put<const N: usize>(
    producer: &mut Producer<[u8; N]>,
    expected: &mut VecDeque<u8>,
    numbers: &mut Numbers,
) {
    let number = numbers.below(256) as u8;
    if numbers.below(4) == 0 {
        let count = 1 + numbers.below(producer.chunk_len());
        if let Ok(mut grant) = producer.reserve(count) {
            grant.extend_from_slice(&vec![item(number); count]);
            grant.commit_all();
            expected.extend(vec![number; count]);
        }
    } else if producer.push(item(number)).is_ok() {
        expected.push_back(number);
    }
    if numbers.below(16) == 0 {
        producer.seal();
    }
}

fn take<const N: usize>(
    consumer: &mut Consumer<[u8; N]>,
    expected: &mut VecDeque<u8>,
    numbers: &mut Numbers,
) {
    if numbers.below(3) != 0 {
        assert_eq!(consumer.pop().ok(), expected.pop_front().map(item));
        return;
    }
    let Ok(ready) = consumer.read() else {
        assert!(expected.is_empty());
        return;
    };
    let all = expected.iter().map(|number| item(*number));
    assert!(ready.iter().copied().eq(all.take(ready.len())));
    let count = numbers.below(ready.len() + 1);
    ready.release(count);
    expected.drain(..count);
}

fn items_of<const N: usize>() {
    for (chunk_len, chunks) in [(1, 2), (5, 1), (7, 3), (64, 2), (300, 2)] {
        for overwritable in [false, true] {
            let builder = Builder::new(chunk_len, chunks).overwritable(overwritable);
            let (mut producer, mut consumer) = builder.spsc::<[u8; N]>().unwrap();
            let mut expected = VecDeque::new();
            let mut numbers = Numbers(N as u64);
            for _ in 0..300 {
                for _ in 0..numbers.below(2 * chunk_len) {
                    put(&mut producer, &mut expected, &mut numbers);
                }
                for _ in 0..numbers.below(2 * chunk_len) {
                    take(&mut consumer, &mut expected, &mut numbers);
                }
            }
        }
    }
}

#[test]
fn items_of_any_size_stay_as_they_are_until_they_are_taken() {
    items_of::<1>();
    items_of::<3>();
    items_of::<8>();
    items_of::<24>();
    items_of::<64>();
    items_of::<100>();
    items_of::<0>();
}

#[test]
fn a_chunk_that_is_sealed_meanwhile_goes_back_with_its_last_item() {
    let (mut producer, mut consumer) = Builder::new(4, 1).spsc().unwrap();
    for number in 0..3 {
        producer.push(number).unwrap();
    }
    assert_eq!(consumer.pop(), Ok(0));
    producer.seal();
    // A look that takes nothing, but sees where the chunk ends.
    assert_eq!(consumer.read().unwrap().len(), 2);
    assert_eq!(consumer.pop(), Ok(1));
    assert!(producer.is_full());
    assert_eq!(consumer.pop(), Ok(2));
    assert_eq!(producer.free_slots(), 4);
    producer.push(3).unwrap();
}
