//! Items that are read in place stay as they are until they are released.

#![cfg(loom)]

use chunkring::Builder;
use chunkring::spsc::Consumer;
use loom::thread;
use loom_tests::{Tracked, model};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Reads in place, checks that item `next` and its followers are there, releases at most `most` of
/// them. Returns how many were released.
fn read(consumer: &mut Consumer<Tracked>, next: usize, most: usize) -> usize {
    let Ok(ready) = consumer.read() else { return 0 };
    let mut count = 0;
    ready.for_each(|item| {
        assert_eq!(item.value(), next + count);
        count += 1;
    });
    assert!(count > 0, "a slice that is there holds something");
    // A second look, so that a writer that does not wait for the release has time to show.
    let mut again = 0;
    ready.for_each(|_| again += 1);
    assert_eq!(again, count);
    let count = count.min(most);
    ready.release(count);
    count
}

#[test]
fn the_writer_waits_for_the_release() {
    model("the_writer_waits_for_the_release", 54, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || {
            let pushed = (0..3)
                .take_while(|n| producer.push(Tracked::new(*n)).is_ok())
                .count();
            (producer, pushed)
        });
        let mut taken = 0;
        for most in [0, 1, 1] {
            taken += read(&mut consumer, taken, most);
        }
        let (mut producer, pushed) = sender.join().unwrap();
        // No look at the ring after the last release, which was of a whole chunk.
        if taken == pushed {
            producer
                .push(Tracked::new(taken))
                .expect("the release gave the chunk back");
        }
    });
}

#[test]
fn a_slice_holds_all_that_is_ready() {
    model("a_slice_holds_all_that_is_ready", 390, || {
        let (mut producer, mut consumer) = Builder::new(4, 1).max_chunks(1).spsc().unwrap();
        let sender = thread::spawn(move || {
            for number in 0..3 {
                producer.push(Tracked::new(number)).unwrap();
            }
        });
        let mut taken = read(&mut consumer, 0, 1);
        let len = consumer.len();
        let ready = read(&mut consumer, taken, usize::MAX);
        assert!(ready >= len, "an item that was there is not in the slice");
        taken += ready;
        sender.join().unwrap();
        taken += read(&mut consumer, taken, usize::MAX);
        assert_eq!(taken, 3);
        assert!(consumer.read().unwrap_err().is_closed());
    });
}

#[test]
fn a_slice_of_a_chunk_seen_before_holds_all_that_is_ready() {
    let name = "a_slice_of_a_chunk_seen_before_holds_all_that_is_ready";
    model(name, 1, || {
        let (mut producer, mut consumer) = Builder::new(2, 3).max_chunks(4).spsc().unwrap();
        for number in 0..3 {
            producer.push(Tracked::new(number)).unwrap();
        }
        // This look tells of the first item of the next chunk as well.
        assert_eq!(read(&mut consumer, 0, 2), 2);
        let sender = thread::spawn(move || {
            for number in 3..6 {
                producer.push(Tracked::new(number)).unwrap();
            }
        });
        let len = consumer.len();
        let mut taken = 2 + read(&mut consumer, 2, usize::MAX);
        assert!(
            taken - 2 >= len.min(2),
            "an item that was there is not in the slice"
        );
        while let Ok(item) = consumer.pop() {
            assert_eq!(item.value(), taken);
            taken += 1;
        }
        sender.join().unwrap();
        while let Ok(item) = consumer.pop() {
            assert_eq!(item.value(), taken);
            taken += 1;
        }
        assert_eq!(taken, 6);
    });
}

#[test]
fn what_is_not_released_comes_again() {
    model("what_is_not_released_comes_again", 350, || {
        let (mut producer, mut consumer) = Builder::new(2, 2).max_chunks(2).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            1 + (1..5)
                .take_while(|n| producer.push(Tracked::new(*n)).is_ok())
                .count()
        });
        let mut taken = 0;
        for most in [1, 0, 2] {
            taken += read(&mut consumer, taken, most);
        }
        if let Ok(item) = consumer.pop() {
            assert_eq!(item.value(), taken);
            taken += 1;
        }
        let pushed = sender.join().unwrap();
        assert!(pushed >= 4);
        loop {
            match read(&mut consumer, taken, 2) {
                0 => break,
                count => taken += count,
            }
        }
        assert_eq!(taken, pushed);
    });
}

#[test]
fn a_slice_ends_before_the_hole() {
    model("a_slice_ends_before_the_hole", 320, || {
        let (mut producer, mut consumer) = Builder::new(3, 2).max_chunks(2).spsc().unwrap();
        let sender = thread::spawn(move || {
            let mut put = 0;
            for length in [2, 2, 3] {
                let Ok(mut grant) = producer.reserve(length) else {
                    break;
                };
                for _ in 0..length {
                    grant.push(Tracked::new(put)).unwrap();
                    put += 1;
                }
                grant.commit_all();
            }
            (producer, put)
        });
        let mut taken = 0;
        for most in [1, 3, 3] {
            taken += read(&mut consumer, taken, most);
        }
        let (producer, put) = sender.join().unwrap();
        loop {
            match read(&mut consumer, taken, 1) {
                0 => break,
                count => taken += count,
            }
        }
        assert_eq!(taken, put);
        assert_eq!(producer.len(), 0);
    });
}

/// Its drop ends in a panic that no hook reports.
struct Unwinds(#[expect(dead_code, reason = "held for its drop")] Tracked);

impl Drop for Unwinds {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

#[test]
fn a_drop_that_panics_only_delays_the_return_of_its_chunk() {
    model(
        "a_drop_that_panics_only_delays_the_return_of_its_chunk",
        4,
        || {
            let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
            producer.push(Some(Unwinds(Tracked::new(0)))).ok().unwrap();
            let receiver = thread::spawn(move || {
                let ready = consumer.read().unwrap();
                assert!(catch_unwind(AssertUnwindSafe(|| ready.release(1))).is_err());
                let next = consumer.pop().ok();
                assert!(
                    next.as_ref().is_none_or(Option::is_none),
                    "an item came twice"
                );
                (consumer, next.is_some())
            });
            let early = producer.push(None).is_ok();
            let (mut consumer, taken) = receiver.join().unwrap();
            assert!(
                early || producer.push(None).is_ok(),
                "the chunk never came back"
            );
            if taken {
                assert!(consumer.pop().is_err());
            } else {
                assert!(consumer.pop().is_ok());
            }
        },
    );
}
