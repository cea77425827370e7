//! Halves that sleep: no wake-up is lost, and nobody who has given up stays behind. A lost wake-up is a
//! deadlock, which loom reports.

#![cfg(loom)]

use chunkring::wait::{self, Closed, Consumer, Producer, PushWaitError, ReserveWaitError};
use chunkring::{Builder, Pool, spsc};
use loom::sync::Notify;
use loom::thread;
use loom_tests::{Tracked, model};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

type Sender = Producer<spsc::Producer<Tracked>>;
type Receiver = Consumer<spsc::Consumer<Tracked>>;

/// A ring of that shape whose halves wait, with `items` in it, numbered from zero.
fn ring(builder: &Builder, items: usize) -> (Sender, Receiver) {
    let (producer, consumer) = builder.spsc().unwrap();
    let (mut producer, consumer) = wait::pair(producer, consumer).unwrap();
    for number in 0..items {
        producer.push(Tracked::new(number)).unwrap();
    }
    (producer, consumer)
}

/// What `chunk_len` slots for a `Tracked` take of a pool.
fn chunk_size(chunk_len: usize) -> usize {
    let pool = Pool::new(usize::MAX).unwrap();
    let builder = Builder::new(chunk_len, 1).max_chunks(1).pool(&pool);
    let (_producer, _consumer) = ring(&builder, 1);
    pool.used()
}

/// A task of a thread of its own.
struct Task(Notify);

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Task(Notify::new()))
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let task = Task::new();
    let waker = Waker::from(Arc::clone(&task));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => task.0.wait(),
        }
    }
}

#[test]
fn an_item_wakes_the_consumer() {
    model("an_item_wakes_the_consumer", 54, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let sender = thread::spawn(move || {
            producer.push(Tracked::new(0)).unwrap();
            producer
        });
        assert_eq!(consumer.pop_wait().unwrap().value(), 0);
        let _producer = sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn a_commit_wakes_the_consumer() {
    model("a_commit_wakes_the_consumer", 83, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 1).max_chunks(1), 0);
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(Tracked::new(0)).unwrap();
            grant.push(Tracked::new(1)).unwrap();
            grant.commit(1);
            producer
        });
        let ready = consumer.read_wait().unwrap();
        ready.for_each(|item| assert_eq!(item.value(), 0));
        ready.release_all();
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_whole_commit_wakes_the_consumer() {
    model("a_whole_commit_wakes_the_consumer", 83, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 1).max_chunks(1), 0);
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve(2).unwrap();
            grant.push(Tracked::new(0)).unwrap();
            grant.commit_all();
            producer
        });
        assert_eq!(consumer.pop_wait().unwrap().value(), 0);
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_chunk_wakes_the_producer() {
    model("a_chunk_wakes_the_producer", 24, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let control = producer.control();
        let sender = thread::spawn(move || {
            producer.push_wait(Tracked::new(1)).unwrap();
            producer
        });
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let _producer = sender.join().unwrap();
        assert_eq!(consumer.pop().unwrap().value(), 1);
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn a_release_wakes_the_producer() {
    model("a_release_wakes_the_producer", 24, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let sender = thread::spawn(move || {
            producer.push_wait(Tracked::new(1)).unwrap();
            producer
        });
        consumer.read().unwrap().release_all();
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_chunk_taken_out_wakes_the_producer() {
    model("a_chunk_taken_out_wakes_the_producer", 24, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let sender = thread::spawn(move || {
            producer.push_wait(Tracked::new(1)).unwrap();
            producer
        });
        let chunk = consumer.take_chunk().unwrap();
        let _producer = sender.join().unwrap();
        drop(chunk);
    });
}

#[test]
fn both_sleep_by_turns() {
    model("both_sleep_by_turns", 5050, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let sender = thread::spawn(move || {
            for number in 0..2 {
                producer.push_wait(Tracked::new(number)).unwrap();
            }
        });
        for number in 0..2 {
            assert_eq!(consumer.pop_wait().unwrap().value(), number);
        }
        assert_eq!(consumer.pop_wait().unwrap_err(), Closed(()));
        sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn the_producers_end_wakes_the_consumer() {
    model("the_producers_end_wakes_the_consumer", 31, || {
        let (producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let sender = thread::spawn(move || drop(producer));
        assert_eq!(consumer.pop_wait().unwrap_err(), Closed(()));
        sender.join().unwrap();
    });
}

#[test]
fn the_consumers_end_wakes_the_producer() {
    model("the_consumers_end_wakes_the_producer", 31, || {
        let (mut producer, consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let receiver = thread::spawn(move || drop(consumer));
        let Closed(item) = producer.push_wait(Tracked::new(1)).unwrap_err();
        assert_eq!(item.value(), 1);
        receiver.join().unwrap();
    });
}

#[test]
fn more_chunks_wake_the_producer() {
    model("more_chunks_wake_the_producer", 58, || {
        let (mut producer, consumer) = ring(&Builder::new(1, 1).max_chunks(2), 1);
        // As old as the ring, and on a thread of its own.
        let control = consumer.control();
        let resizer = thread::spawn(move || control.set_chunks(2).unwrap());
        producer.push_wait(Tracked::new(1)).unwrap();
        resizer.join().unwrap();
    });
}

#[test]
fn longer_chunks_wake_a_reservation() {
    model("longer_chunks_wake_a_reservation", 120, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(2), 1);
        let control = consumer.control();
        let resizer = thread::spawn(move || control.resize(2, 2).unwrap());
        match producer.reserve_wait(1) {
            Ok(mut grant) => {
                grant.push(Tracked::new(1)).unwrap();
                grant.commit_all();
            }
            Err(refused) => panic!("{refused}"),
        }
        resizer.join().unwrap();
        assert_eq!(consumer.pop().unwrap().value(), 0);
        assert_eq!(consumer.pop().unwrap().value(), 1);
    });
}

#[test]
fn shorter_chunks_wake_a_reservation() {
    model("shorter_chunks_wake_a_reservation", 31, || {
        let (mut producer, consumer) = ring(&Builder::new(2, 1).max_chunks(1), 2);
        let control = consumer.control();
        let resizer = thread::spawn(move || control.set_chunk_len(1).unwrap());
        let too_long = ReserveWaitError::TooLong {
            requested: 2,
            chunk_len: 1,
        };
        assert_eq!(producer.reserve_wait(2).unwrap_err(), too_long);
        resizer.join().unwrap();
    });
}

#[test]
fn a_larger_budget_wakes_the_producer() {
    model("a_larger_budget_wakes_the_producer", 31, || {
        let pool = Pool::new(0).unwrap();
        let builder = Builder::new(1, 1).max_chunks(1).pool(&pool);
        let (mut producer, _consumer) = ring(&builder, 0);
        let setter = thread::spawn(move || pool.set_budget(usize::MAX));
        producer.push_wait(Tracked::new(0)).unwrap();
        setter.join().unwrap();
    });
}

#[test]
fn a_chunk_that_comes_back_wakes_the_producer() {
    model("a_chunk_that_comes_back_wakes_the_producer", 45, || {
        let pool = Pool::new(chunk_size(1)).unwrap();
        let builder = Builder::new(1, 2).max_chunks(2).pool(&pool);
        let (mut producer, mut consumer) = ring(&builder, 1);
        let chunk = consumer.take_chunk().unwrap();
        let owner = thread::spawn(move || drop(chunk));
        producer.push_wait(Tracked::new(1)).unwrap();
        owner.join().unwrap();
    });
}

#[test]
fn memory_of_another_ring_wakes_the_producer() {
    model("memory_of_another_ring_wakes_the_producer", 31, || {
        let pool = Pool::new(chunk_size(1)).unwrap();
        let builder = Builder::new(1, 1).max_chunks(1).pool(&pool);
        // This one's only chunk is idle.
        let (_other, mut consumer) = ring(&builder, 1);
        let control = consumer.control();
        drop(consumer.pop().unwrap());
        let (mut producer, _consumer) = ring(&builder, 0);
        let trimmer = thread::spawn(move || control.trim());
        producer.push_wait(Tracked::new(1)).unwrap();
        trimmer.join().unwrap();
    });
}

#[test]
fn two_producers_are_both_woken() {
    model("two_producers_are_both_woken", 620, || {
        let pool = Pool::new(0).unwrap();
        let builder = Builder::new(1, 1).max_chunks(1).pool(&pool);
        let (mut first, _first) = ring(&builder, 0);
        let (mut second, _second) = ring(&builder, 0);
        let control = first.control();
        let senders = [
            thread::spawn(move || first.push_wait(Tracked::new(0)).unwrap()),
            thread::spawn(move || second.push_wait(Tracked::new(0)).unwrap()),
        ];
        pool.set_budget(usize::MAX);
        for sender in senders {
            sender.join().unwrap();
        }
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn a_chunk_ended_for_a_reservation_comes_back() {
    model("a_chunk_ended_for_a_reservation_comes_back", 1570, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 1).max_chunks(1), 1);
        // Nothing is left in the only chunk, and a slot of it is free.
        drop(consumer.pop().unwrap());
        let sender = thread::spawn(move || {
            let mut grant = producer.reserve_wait(2).unwrap();
            grant.push(Tracked::new(1)).unwrap();
            grant.commit_all();
            producer
        });
        assert_eq!(consumer.pop_wait().unwrap().value(), 1);
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_sealed_chunk_wakes_the_consumer() {
    model("a_sealed_chunk_wakes_the_consumer", 31, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 1).max_chunks(1), 1);
        let sender = thread::spawn(move || {
            producer.seal();
            producer
        });
        assert_eq!(consumer.take_chunk_wait().unwrap().len(), 1);
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_chunk_sealed_on_request_wakes_the_consumer() {
    model("a_chunk_sealed_on_request_wakes_the_consumer", 31, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 1).max_chunks(1), 1);
        consumer.request_seal();
        let sender = thread::spawn(move || {
            assert!(producer.seal_if_requested());
            producer
        });
        assert_eq!(consumer.take_chunk_wait().unwrap().len(), 1);
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_chunk_that_was_left_wakes_the_consumer() {
    model("a_chunk_that_was_left_wakes_the_consumer", 28, || {
        let (mut producer, mut consumer) = ring(&Builder::new(2, 2).max_chunks(2), 1);
        let receiver = thread::spawn(move || {
            assert_eq!(consumer.take_chunk_wait().unwrap().len(), 1);
            consumer
        });
        // Goes on to the next chunk, and stays there until the one before has arrived.
        let grant = producer.reserve(2).unwrap();
        let _consumer = receiver.join().unwrap();
        drop(grant);
    });
}

#[test]
fn a_producer_that_gave_up_is_gone() {
    model("a_producer_that_gave_up_is_gone", 22, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let control = producer.control();
        let sender = thread::spawn(move || {
            let outcome = producer.push_wait_for(Tracked::new(1), Duration::ZERO);
            if let Err(refused) = &outcome {
                assert!(refused.is_timeout());
            }
            (producer, outcome.map_err(PushWaitError::into_inner))
        });
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let (mut producer, outcome) = sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
        if let Err(item) = outcome {
            producer.push_wait(item).unwrap();
        }
        assert_eq!(consumer.pop_wait().unwrap().value(), 1);
    });
}

#[test]
fn a_consumer_that_gave_up_is_gone() {
    model("a_consumer_that_gave_up_is_gone", 17, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let receiver = thread::spawn(move || {
            let outcome = consumer.pop_wait_for(Duration::ZERO);
            (consumer, outcome.is_ok())
        });
        producer.push(Tracked::new(0)).unwrap();
        let (mut consumer, taken) = receiver.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
        assert_eq!(consumer.pop().is_ok(), !taken);
    });
}

#[test]
fn futures_are_woken() {
    model("futures_are_woken", 3030, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let sender = thread::spawn(move || {
            for number in 0..2 {
                block_on(producer.push_async(Tracked::new(number))).unwrap();
            }
        });
        for number in 0..2 {
            assert_eq!(block_on(consumer.pop_async()).unwrap().value(), number);
        }
        sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn a_future_that_is_dropped_is_gone() {
    model("a_future_that_is_dropped_is_gone", 17, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let its_control = control.clone();
        let receiver = thread::spawn(move || {
            let task = Waker::from(Task::new());
            let mut future = Box::pin(consumer.pop_async());
            let polled = future.as_mut().poll(&mut Context::from_waker(&task));
            drop(future);
            // Before the other half wakes it, which would take it out as well.
            assert_eq!(its_control.waiting(), (0, 0), "a waiter stays behind");
            (consumer, polled.is_ready())
        });
        producer.push(Tracked::new(0)).unwrap();
        let (mut consumer, taken) = receiver.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
        drop(producer);
        assert_eq!(consumer.pop_wait().is_ok(), !taken);
    });
}

#[test]
fn a_future_that_is_dropped_takes_no_wake_up_with_it() {
    model(
        "a_future_that_is_dropped_takes_no_wake_up_with_it",
        30,
        || {
            let pool = Pool::new(0).unwrap();
            let builder = Builder::new(1, 1).max_chunks(1).pool(&pool);
            let (mut first, _first) = ring(&builder, 0);
            let (mut second, _second) = ring(&builder, 0);
            let task = Waker::from(Task::new());
            let mut future = Box::pin(first.push_async(Tracked::new(0)));
            // First in the row.
            assert!(
                future
                    .as_mut()
                    .poll(&mut Context::from_waker(&task))
                    .is_pending()
            );
            let sender = thread::spawn(move || second.push_wait(Tracked::new(0)).unwrap());
            pool.set_budget(usize::MAX);
            drop(future);
            sender.join().unwrap();
        },
    );
}

#[test]
fn a_push_that_is_dropped_is_gone() {
    model("a_push_that_is_dropped_is_gone", 22, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 1);
        let control = producer.control();
        let its_control = control.clone();
        let sender = thread::spawn(move || {
            let task = Waker::from(Task::new());
            let mut future = Box::pin(producer.push_async(Tracked::new(1)));
            let polled = future.as_mut().poll(&mut Context::from_waker(&task));
            drop(future);
            // Before the other half wakes it, which would take it out as well.
            assert_eq!(its_control.waiting(), (0, 0), "a waiter stays behind");
            (producer, polled.is_ready())
        });
        assert_eq!(consumer.pop().unwrap().value(), 0);
        let (producer, pushed) = sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
        drop(producer);
        assert_eq!(consumer.pop_wait().is_ok(), pushed);
    });
}

#[test]
fn a_half_that_is_dropped_is_gone() {
    model("a_half_that_is_dropped_is_gone", 26, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let control = producer.control();
        let counts = control.clone();
        let receiver = thread::spawn(move || {
            let task = Waker::from(Task::new());
            // Forgotten, so that its end takes nothing back.
            let mut future = ManuallyDrop::new(consumer.pop_async());
            let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(&task));
            drop(consumer);
            assert_eq!(counts.waiting().0, 0, "a waiter stays behind");
            polled.is_ready()
        });
        let pushed = producer.push(Tracked::new(0)).is_ok();
        let taken = receiver.join().unwrap();
        assert!(pushed || !taken);
        assert_eq!(control.waiting(), (0, 0), "a waiter stays behind");
    });
}

#[test]
fn the_last_task_to_poll_is_woken() {
    model("the_last_task_to_poll_is_woken", 62, || {
        let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(1), 0);
        let first = Waker::from(Task::new());
        let mut future = Box::pin(consumer.pop_async());
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&first))
                .is_pending()
        );
        let sender = thread::spawn(move || {
            producer.push(Tracked::new(0)).unwrap();
            producer
        });
        assert_eq!(block_on(future).unwrap().value(), 0);
        let _producer = sender.join().unwrap();
    });
}

#[test]
fn a_wake_that_panics_loses_no_other() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            // As a panic does, but in silence: there are many executions.
            resume_unwind(Box::new("the wake panics"));
        }
    }

    model("a_wake_that_panics_loses_no_other", 27, || {
        let pool = Pool::new(0).unwrap();
        let builder = Builder::new(1, 1).max_chunks(1).pool(&pool);
        let (mut first, _first) = ring(&builder, 0);
        let (mut second, _second) = ring(&builder, 0);
        let task = Waker::from(Arc::new(Panics));
        let mut future = Box::pin(first.push_async(Tracked::new(0)));
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&task))
                .is_pending()
        );
        let sender = thread::spawn(move || second.push_wait(Tracked::new(0)).unwrap());
        pool.set_budget(usize::MAX);
        sender.join().unwrap();
        drop(future);
    });
}
