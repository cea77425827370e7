//! Items one by one: order, room, closing, and the counts that either half gives.

use crate::kind::{Consumer, Make, bounded, rounded};
use chunkring::{Builder, PopError, PushError};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Shapes that differ in what may go wrong: one chunk, one slot, odd lengths.
const SHAPES: [(usize, usize); 10] = [
    (1, 1),
    (1, 2),
    (1, 5),
    (2, 1),
    (2, 3),
    (3, 2),
    (5, 1),
    (7, 3),
    (8, 4),
    (64, 2),
];

#[test]
fn items_come_out_in_the_order_they_went_in() {
    for (chunk_len, chunks) in SHAPES {
        for preallocate in [false, true] {
            let (mut producer, mut consumer) = Builder::new(chunk_len, chunks)
                .preallocate(preallocate)
                .ring()
                .unwrap();
            let (mut next_in, mut next_out) = (0, 0);
            for round in 0..200 {
                for _ in 0..round % 11 {
                    match producer.push(next_in) {
                        Ok(()) => next_in += 1,
                        Err(refused) => assert_eq!(refused, PushError::Full(next_in)),
                    }
                }
                for _ in 0..round % 7 {
                    match consumer.pop() {
                        Ok(item) => {
                            assert_eq!(item, next_out);
                            next_out += 1;
                        }
                        Err(nothing) => {
                            assert_eq!(nothing, PopError::Empty);
                            assert_eq!(next_out, next_in);
                        }
                    }
                }
            }
            assert!(next_out > 100);
        }
    }
}

#[test]
fn a_ring_holds_exactly_its_capacity_and_again_once_drained() {
    for (chunk_len, chunks) in SHAPES {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).ring().unwrap();
        let chunk_len = rounded(chunk_len);
        let capacity = chunk_len * chunks;
        assert_eq!(
            (producer.capacity(), consumer.capacity()),
            (capacity, capacity)
        );
        assert_eq!(producer.chunk_len(), chunk_len);
        for round in 0..3 {
            for number in 0..capacity {
                assert!(!producer.is_full() && !consumer.is_full());
                assert_eq!(producer.free_slots(), capacity - number);
                assert_eq!(producer.len(), number);
                producer.push(number + round).unwrap();
                assert_eq!((producer.len(), consumer.len()), (number + 1, number + 1));
            }
            assert!(producer.is_full() && consumer.is_full());
            assert_eq!(producer.free_slots(), 0);
            for _ in 0..3 {
                assert_eq!(producer.push(99), Err(PushError::Full(99)));
            }
            for number in 0..capacity {
                assert_eq!(consumer.len(), capacity - number);
                assert!(!consumer.is_empty() && !producer.is_empty());
                assert_eq!(consumer.pop(), Ok(number + round));
            }
            // Drained to the last item, all room is back without another look.
            assert!(consumer.is_empty() && producer.is_empty());
            assert_eq!(producer.free_slots(), capacity);
        }
    }
}

#[test]
fn room_comes_back_a_chunk_at_a_time() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    for number in 0..8 {
        producer.push(number).unwrap();
    }
    for number in 0..3 {
        assert_eq!(consumer.pop(), Ok(number));
        assert_eq!(producer.push(8), Err(PushError::Full(8)));
        assert!(producer.is_full() && consumer.is_full());
    }
    assert_eq!(consumer.pop(), Ok(3));
    assert!(!producer.is_full() && !consumer.is_full());
    assert_eq!(producer.free_slots(), 4);
    producer.push(8).unwrap();
}

#[test]
fn the_producers_count_is_exact_once_the_consumer_has_found_nothing() {
    let (mut producer, mut consumer) = Builder::new(8, 2).ring().unwrap();
    for number in 0..3 {
        producer.push(number).unwrap();
    }
    consumer.pop().unwrap();
    assert!(matches!(producer.len(), 2..=3));
    while consumer.pop().is_ok() {}
    assert_eq!(producer.len(), 0);
    producer.push(3).unwrap();
    assert_eq!(producer.len(), 1);
}

#[test]
fn what_was_pushed_before_the_producers_end_is_received_before_closed() {
    let (mut producer, mut consumer) = Builder::new(2, 3).ring().unwrap();
    for number in 0..5 {
        producer.push(number).unwrap();
    }
    assert!(!consumer.is_closed());
    drop(producer);
    assert!(consumer.is_closed());
    for number in 0..5 {
        assert_eq!(consumer.pop(), Ok(number));
    }
    for _ in 0..3 {
        assert_eq!(consumer.pop(), Err(PopError::Closed));
        assert_eq!(consumer.read().unwrap_err(), PopError::Closed);
    }
}

#[test]
fn a_last_item_that_races_with_its_producers_end_is_never_lost() {
    let rounds = 2000;
    let (to_consumer, rings) = mpsc::sync_channel::<Consumer<usize>>(4);
    let receiver = thread::spawn(move || {
        let mut received = 0;
        for mut consumer in rings {
            received += loop {
                match consumer.pop() {
                    Ok(number) => break number,
                    Err(PopError::Empty) => thread::yield_now(),
                    Err(PopError::Closed) => panic!("closed before the item was received"),
                }
            };
            while consumer.pop() != Err(PopError::Closed) {
                thread::yield_now();
            }
        }
        received
    });
    for _ in 0..rounds {
        let (mut producer, consumer) = Builder::new(1, 1).ring().unwrap();
        to_consumer.send(consumer).unwrap();
        producer.push(1).unwrap();
    }
    drop(to_consumer);
    assert_eq!(receiver.join().unwrap(), rounds);
}

#[test]
fn a_ring_without_its_consumer_refuses_at_the_next_chunk() {
    let (mut producer, consumer) = Builder::new(4, 2).ring().unwrap();
    producer.push(0).unwrap();
    assert!(!producer.is_closed());
    drop(consumer);
    assert!(producer.is_closed());
    for number in 1..4 {
        producer.push(number).unwrap();
    }
    for _ in 0..3 {
        assert_eq!(producer.push(4), Err(PushError::Closed(4)));
        assert!(producer.reserve(1).unwrap_err().is_closed());
    }
}

#[test]
fn a_ring_that_is_not_empty_gives_an_item() {
    // Every push of chunks this short goes to another chunk.
    for chunk_len in [1, 2] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, 3).ring().unwrap();
        let items = 20_000;
        let sender = thread::spawn(move || {
            for number in 0..items {
                while producer.push(number).is_err() {
                    thread::yield_now();
                }
            }
        });
        let mut next = 0;
        while next < items {
            if consumer.is_empty() {
                thread::yield_now();
                continue;
            }
            let ready = consumer.len();
            for _ in 0..ready {
                assert_eq!(consumer.pop(), Ok(next));
                next += 1;
            }
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_push_that_has_returned_is_seen_by_whoever_was_told_of_it() {
    let (mut producer, mut consumer) = Builder::new(1, 2).ring().unwrap();
    let (tell, told) = mpsc::sync_channel(0);
    let sender = thread::spawn(move || {
        for number in 0..500 {
            while producer.push(number).is_err() {
                thread::yield_now();
            }
            tell.send(()).unwrap();
        }
    });
    let mut next = 0;
    for () in told {
        assert!(!consumer.is_empty());
        assert_eq!(consumer.pop(), Ok(next));
        next += 1;
    }
    assert_eq!(next, 500);
    sender.join().unwrap();
}

#[test]
fn no_count_exceeds_the_capacity_while_the_other_half_works() {
    let (mut producer, mut consumer) = Builder::new(4, 3).ring().unwrap();
    let items = 20_000;
    let capacity = 12;
    let sender = thread::spawn(move || {
        let mut next = 0;
        while next < items {
            let free = producer.free_slots();
            assert!(free <= capacity, "{free} slots free");
            assert!(producer.len() <= capacity, "{} items", producer.len());
            assert_eq!(producer.capacity(), capacity);
            // Every second step reserves, so that there are holes too.
            if next % 2 == 0 {
                if let Ok(mut grant) = producer.reserve(2) {
                    grant.extend_from_slice(&[next, next + 1]);
                    grant.commit_all();
                    next += 2;
                }
            } else {
                next += usize::from(producer.push(next).is_ok());
            }
            if next % 5 == 0 && producer.push(next).is_ok() {
                next += 1;
            }
        }
    });
    let mut next = 0;
    loop {
        let ready = consumer.len();
        assert!(ready <= capacity, "{ready} items");
        for _ in 0..ready {
            assert_eq!(consumer.pop(), Ok(next));
            next += 1;
        }
        match consumer.pop() {
            Ok(item) => {
                assert_eq!(item, next);
                next += 1;
            }
            Err(PopError::Closed) => break,
            Err(PopError::Empty) => thread::yield_now(),
        }
    }
    assert!(next >= items);
    sender.join().unwrap();
}

#[test]
fn every_slot_said_to_be_free_can_be_pushed_to() {
    let (mut producer, mut consumer) = Builder::new(2, 3).ring().unwrap();
    let receiver = thread::spawn(move || {
        let mut next = 0;
        while let Ok(()) | Err(PopError::Empty) = consumer.pop().map(|item| {
            assert_eq!(item, next);
            next += 1;
        }) {
            thread::yield_now();
        }
        next
    });
    let mut next = 0;
    while next < 5000 {
        let free = producer.free_slots();
        assert!(free == 0 || !producer.is_full());
        for _ in 0..free {
            producer.push(next).unwrap();
            next += 1;
        }
        thread::yield_now();
    }
    drop(producer);
    assert_eq!(receiver.join().unwrap(), next);
}

#[test]
fn a_full_ring_says_so_at_once_while_its_oldest_chunk_is_being_read() {
    let (mut producer, mut consumer) = Builder::new(2, 2).ring().unwrap();
    for number in 0..4 {
        producer.push(number).unwrap();
    }
    let ready = consumer.read().unwrap();
    let refused = thread::spawn(move || {
        let refused = producer.push(4);
        (producer, refused)
    });
    let (mut producer, refused) = refused.join().unwrap();
    assert_eq!(refused, Err(PushError::Full(4)));
    assert_eq!(*ready, [0, 1]);
    ready.release_all();
    producer.push(4).unwrap();
}

#[test]
fn what_a_half_did_before_its_end_is_seen_by_who_finds_it_closed() {
    // The word is written without synchronisation of its own; a sanitizer tells if there is none.
    struct Plain(UnsafeCell<u32>);
    // SAFETY: the accesses below are ordered by the ring's closing, which is what is tested.
    unsafe impl Sync for Plain {}
    for round in 0..400 {
        let word = Arc::new(Plain(UnsafeCell::new(0)));
        let (producer, consumer) = Builder::new(1, 1).ring::<u8>().unwrap();
        let set = {
            let word = Arc::clone(&word);
            // SAFETY: the other thread looks at the word only after this one's half is gone.
            move || unsafe { *word.0.get() = 1 }
        };
        let other = if round % 2 == 0 {
            let other = thread::spawn(move || {
                set();
                drop(consumer);
            });
            while !producer.is_closed() {
                thread::yield_now();
            }
            other
        } else {
            let other = thread::spawn(move || {
                set();
                drop(producer);
            });
            while !consumer.is_closed() {
                thread::yield_now();
            }
            other
        };
        // SAFETY: the half is gone, and its thread wrote the word before.
        assert_eq!(unsafe { *word.0.get() }, 1);
        other.join().unwrap();
    }
}

#[test]
fn a_bounded_ring_refuses_nothing_below_its_capacity_wherever_its_items_lie() {
    for capacity in (1..70).chain([255, 256, 257, 1000, 1025]) {
        let (mut producer, mut consumer) = bounded(capacity).unwrap();
        let mut next = 0;
        // Every phase of the chunks against each other.
        for oldest in 0..2 * producer.capacity() {
            while next - oldest < capacity {
                producer.push(next).unwrap();
                next += 1;
            }
            assert_eq!(consumer.pop(), Ok(oldest));
        }
    }
}

#[test]
fn halves_can_go_through_any_number_of_threads() {
    static HOPS: AtomicUsize = AtomicUsize::new(0);
    let (mut producer, mut consumer) = bounded(10).unwrap();
    for hop in 0..20 {
        (producer, consumer) = thread::spawn(move || {
            producer.push(hop).unwrap();
            assert_eq!(consumer.pop(), Ok(hop));
            HOPS.fetch_add(1, Ordering::Relaxed);
            (producer, consumer)
        })
        .join()
        .unwrap();
    }
    assert_eq!(HOPS.load(Ordering::Relaxed), 20);
}
