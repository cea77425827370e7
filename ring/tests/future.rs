//! Halves that wait as tasks: futures, the stream and the sink, and wakers that misbehave.

#![cfg(feature = "async")]

use chunkring::wait::{self, Closed, Consumer, Producer};
use chunkring::{Builder, Control, Pool, PushError, ReserveError, spsc};
use futures_executor::block_on;
use futures_util::{FutureExt, Sink, SinkExt, StreamExt, future, stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

type Sender<T> = Producer<spsc::Producer<T>>;
type Receiver<T> = Consumer<spsc::Consumer<T>>;

type Halves<T> = (Sender<T>, Receiver<T>);

fn ring<T>(builder: &Builder) -> Halves<T> {
    let (producer, consumer) = builder.spsc().unwrap();
    wait::pair(producer, consumer).unwrap()
}

/// Counts its wake-ups.
#[derive(Default)]
struct Task(AtomicUsize);

impl Task {
    fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls once, as that task.
fn poll<F: Future + Unpin>(task: &Arc<Task>, future: &mut F) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(task));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

#[test]
fn a_slot_is_handed_over_many_times() {
    const ITEMS: u64 = if cfg!(miri) { 100 } else { 100_000 };
    for chunks in 1..=2 {
        let (mut producer, mut consumer) = ring(&Builder::new(1, chunks));
        let control = producer.control();
        let sender = thread::spawn(move || {
            block_on(async {
                for number in 0..ITEMS {
                    if number % 2 == 0 {
                        producer.push_async(number).await.unwrap();
                    } else {
                        producer.send(number).await.unwrap();
                    }
                }
            });
        });
        block_on(async {
            for number in 0..ITEMS {
                let popped = match number % 3 {
                    0 => consumer.pop_async().await.ok(),
                    1 => consumer.next().await,
                    // A task's waker and a thread's take turns.
                    _ => consumer.pop_wait().ok(),
                };
                assert_eq!(popped, Some(number));
            }
            assert_eq!(consumer.next().await, None);
        });
        sender.join().unwrap();
        assert_eq!(control.waiting(), (0, 0));
    }
}

#[test]
fn two_tasks_of_one_thread_hand_over() {
    let (mut producer, consumer) = ring(&Builder::new(1, 1));
    let send = async {
        producer
            .send_all(&mut stream::iter((0..1000).map(Ok)))
            .await
            .unwrap();
        drop(producer);
    };
    let ((), items) = block_on(future::join(send, consumer.collect::<Vec<_>>()));
    assert!(items.into_iter().eq(0..1000));
}

#[test]
fn items_need_not_be_sent_to_another_thread() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    block_on(async {
        producer.push_async(Rc::new(1)).await.unwrap();
        assert_eq!(*consumer.pop_async().await.unwrap(), 1);
    });
}

#[test]
fn a_future_that_is_dropped_leaves_nothing_behind() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let task = Arc::<Task>::default();
    for _ in 0..1000 {
        let mut pop = consumer.pop_async();
        assert!(poll(&task, &mut pop).is_pending());
        assert_eq!(control.waiting(), (1, 0));
        drop(pop);
        assert_eq!(control.waiting(), (0, 0));
    }
    producer.push(1).unwrap();
    for _ in 0..1000 {
        let mut push = producer.push_async(2);
        assert!(poll(&task, &mut push).is_pending());
        assert_eq!(control.waiting(), (0, 1));
        drop(push);
        assert_eq!(control.waiting(), (0, 0));
    }
    assert_eq!(consumer.pop(), Ok(1));
    assert!(
        consumer.pop().is_err(),
        "a dropped future has pushed its item"
    );
    assert_eq!(task.woken(), 0);
    assert_eq!(Arc::strong_count(&task), 1, "a waker stays behind");
}

#[test]
fn a_future_that_was_woken_and_is_dropped_takes_nothing_with_it() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let task = Arc::<Task>::default();
    let mut pop = consumer.pop_async();
    assert!(poll(&task, &mut pop).is_pending());
    producer.push(1).unwrap();
    assert_eq!(task.woken(), 1);
    drop(pop);
    assert_eq!(block_on(consumer.pop_async()), Ok(1));
}

#[test]
fn a_half_that_is_dropped_while_it_waits_leaves_nothing_behind() {
    let task = Arc::<Task>::default();
    let waker = Waker::from(Arc::clone(&task));
    let (producer, mut consumer) = ring::<u8>(&Builder::new(1, 1));
    let control = producer.control();
    // A stream has no future whose end would take the waker back.
    assert!(
        consumer
            .poll_next_unpin(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert_eq!(control.waiting(), (1, 0));
    drop(consumer);
    assert_eq!(control.waiting(), (0, 0));
    drop(waker);
    assert_eq!(Arc::strong_count(&task), 1, "a waker stays behind");
    drop(producer);
}

#[test]
fn the_task_that_polled_last_is_woken() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let (first, second) = (Arc::<Task>::default(), Arc::<Task>::default());
    let mut pop = consumer.pop_async();
    assert!(poll(&first, &mut pop).is_pending());
    assert!(poll(&second, &mut pop).is_pending());
    assert_eq!(
        Arc::strong_count(&first),
        1,
        "a waker that was replaced stays behind"
    );
    producer.push(1).unwrap();
    assert_eq!((first.woken(), second.woken()), (0, 1));
    assert_eq!(poll(&first, &mut pop), Poll::Ready(Ok(1)));
}

#[test]
fn a_wake_up_comes_once() {
    let (mut producer, mut consumer) = ring(&Builder::new(8, 1));
    let task = Arc::<Task>::default();
    let mut pop = consumer.pop_async();
    assert!(poll(&task, &mut pop).is_pending());
    for number in 0..5 {
        producer.push(number).unwrap();
    }
    assert_eq!(task.woken(), 1);
    assert_eq!(poll(&task, &mut pop), Poll::Ready(Ok(0)));
}

#[test]
fn the_end_of_either_half_ends_the_others_wait() {
    let task = Arc::<Task>::default();
    let (producer, mut consumer) = ring::<u8>(&Builder::new(1, 1));
    let mut pop = consumer.pop_async();
    assert!(poll(&task, &mut pop).is_pending());
    drop(producer);
    assert_eq!(task.woken(), 1);
    assert_eq!(poll(&task, &mut pop), Poll::Ready(Err(Closed(()))));
    drop(pop);
    assert_eq!(block_on(consumer.next()), None);

    let (mut producer, consumer) = ring(&Builder::new(1, 1));
    producer.push(0).unwrap();
    let mut push = producer.push_async(1);
    assert!(poll(&task, &mut push).is_pending());
    drop(consumer);
    assert_eq!(task.woken(), 2);
    assert_eq!(poll(&task, &mut push), Poll::Ready(Err(Closed(1))));
}

#[test]
#[should_panic(expected = "the future was done before")]
fn a_push_is_not_polled_again() {
    let (mut producer, _consumer) = ring(&Builder::new(1, 1));
    let task = Arc::<Task>::default();
    let mut push = producer.push_async(1);
    assert!(poll(&task, &mut push).is_ready());
    let _ = poll(&task, &mut push);
}

#[test]
fn a_sink_keeps_one_item_and_loses_none() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let task = Arc::<Task>::default();
    assert!(poll(&task, &mut producer.feed(1)).is_ready());
    assert!(poll(&task, &mut producer.feed(2)).is_ready(), "it is kept");
    assert!(poll(&task, &mut producer.flush()).is_pending());
    assert!(poll(&task, &mut producer.feed(3)).is_pending());
    // Nothing overtakes it.
    assert_eq!(producer.push(3), Err(PushError::Full(3)));
    assert_eq!(producer.reserve(1).unwrap_err(), ReserveError::Full);
    assert!(producer.push_wait_for(3, Duration::from_millis(1)).is_err());

    let woken = task.woken();
    assert!(producer.flush().now_or_never().is_none());
    assert!(poll(&task, &mut producer.flush()).is_pending());
    assert_eq!(consumer.pop(), Ok(1));
    assert_eq!(task.woken(), woken + 1);
    assert!(poll(&task, &mut producer.close()).is_ready());
    assert_eq!(consumer.pop(), Ok(2));
    // Closing has flushed, and no more.
    producer.push(3).unwrap();
    assert_eq!(consumer.pop(), Ok(3));
    assert_eq!(control.waiting(), (0, 0));
}

#[test]
fn whatever_is_pushed_comes_after_the_item_that_a_sink_keeps() {
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1).max_chunks(3));
    let control = producer.control();
    assert!(producer.feed(1).now_or_never().is_some());
    assert!(producer.feed(2).now_or_never().is_some());
    control.set_chunks(3).unwrap();
    producer.push_wait(3).unwrap();
    assert_eq!(consumer.iter().take(3).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_sink_gives_the_item_back_that_nobody_takes() {
    let (mut producer, consumer) = ring(&Builder::new(1, 1));
    assert_eq!(producer.feed(1).now_or_never(), Some(Ok(())));
    assert_eq!(producer.feed(2).now_or_never(), Some(Ok(())));
    let task = Arc::<Task>::default();
    let mut flush = producer.flush();
    assert!(poll(&task, &mut flush).is_pending());
    drop(consumer);
    assert_eq!(task.woken(), 1);
    assert_eq!(poll(&task, &mut flush), Poll::Ready(Err(Closed(2))));
    assert_eq!(producer.send(3).now_or_never(), Some(Err(Closed(3))));
    assert_eq!(producer.close().now_or_never(), Some(Ok(())));
}

#[test]
#[should_panic(expected = "the sink was not ready")]
fn a_sink_takes_no_second_item_unasked() {
    let (mut producer, _consumer) = ring(&Builder::new(1, 1));
    for number in 0..3 {
        let _ = Pin::new(&mut producer).start_send(number);
    }
}

#[test]
fn an_item_that_a_sink_keeps_is_dropped_with_it() {
    let item = Rc::new(());
    let (mut producer, _consumer) = ring(&Builder::new(1, 1));
    for _ in 0..2 {
        assert!(producer.feed(Rc::clone(&item)).now_or_never().is_some());
    }
    assert_eq!(Rc::strong_count(&item), 3);
    drop(producer);
    assert_eq!(Rc::strong_count(&item), 2, "one is in the ring");
}

/// Two rings whose producers wait for a budget.
fn without_memory() -> (Pool, [Halves<u8>; 2]) {
    let pool = Pool::new(0).unwrap();
    let builder = Builder::new(1, 1).pool(&pool);
    let rings = [ring(&builder), ring(&builder)];
    (pool, rings)
}

#[test]
fn those_who_wait_are_woken_in_the_order_in_which_they_came() {
    struct Named(usize, Arc<Mutex<Vec<usize>>>);

    impl Wake for Named {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    let (pool, [(mut first, _first), (mut second, _second)]) = without_memory();
    let order = Arc::<Mutex<Vec<usize>>>::default();
    let waker = |name| Waker::from(Arc::new(Named(name, Arc::clone(&order))));
    let mut late = first.push_async(0);
    let mut early = second.push_async(0);
    assert!(
        early
            .poll_unpin(&mut Context::from_waker(&waker(0)))
            .is_pending()
    );
    assert!(
        late.poll_unpin(&mut Context::from_waker(&waker(1)))
            .is_pending()
    );
    // To poll again is not to come again.
    assert!(
        early
            .poll_unpin(&mut Context::from_waker(&waker(2)))
            .is_pending()
    );
    pool.set_budget(usize::MAX);
    assert_eq!(*order.lock().unwrap(), [2, 1]);
}

#[test]
fn a_wake_that_panics_loses_no_other() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the wake panics");
        }
    }

    let (pool, [(mut first, _first), (mut second, _second)]) = without_memory();
    let control = first.control();
    let waker = Waker::from(Arc::new(Panics));
    let task = Arc::<Task>::default();
    let mut panics = first.push_async(0);
    let mut waits = second.push_async(0);
    assert!(
        panics
            .poll_unpin(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(poll(&task, &mut waits).is_pending());
    // Nor does it harm whoever has woken it.
    pool.set_budget(usize::MAX);
    assert_eq!(task.woken(), 1);
    assert_eq!(control.waiting(), (0, 0));
    assert!(poll(&task, &mut waits).is_ready());
}

#[test]
fn a_wake_that_panics_costs_another_ring_nothing() {
    static WOKEN: AtomicBool = AtomicBool::new(false);

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            WOKEN.store(true, Ordering::Relaxed);
            panic!("the wake panics");
        }
    }

    let pool = Pool::new(usize::MAX).unwrap();
    // Polling halves, that share nothing with the ring that waits but the pool.
    let (mut polled, mut polled_out) = Builder::new(1, 8).pool(&pool).spsc().unwrap();
    for number in 0..8 {
        polled.push(number).unwrap();
    }
    pool.set_budget(pool.used());
    let (mut producer, _consumer) = ring(&Builder::new(1, 1).pool(&pool));
    let control = producer.control();
    let waker = Waker::from(Arc::new(Panics));
    let mut push = producer.push_async(0_u64);
    for number in 0..8 {
        // Chunks beyond two go to the pool: it is then that the waker is woken.
        if !WOKEN.load(Ordering::Relaxed) {
            let polled = push.poll_unpin(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        assert_eq!(polled_out.pop(), Ok(number));
    }
    assert!(WOKEN.load(Ordering::Relaxed));
    assert_eq!(control.waiting(), (0, 0));
    assert!(push.poll_unpin(&mut Context::from_waker(&waker)).is_ready());
    for number in 0..100 {
        polled.push(number).unwrap();
        assert_eq!(polled_out.pop(), Ok(number));
    }
}

#[test]
fn a_waker_whose_drop_panics_does_not_keep_the_end_from_the_other_half() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the drop panics");
        }
    }

    // Without memory there is no room and no item, so both wait.
    let pool = Pool::new(0).unwrap();
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1).pool(&pool));
    let task = Arc::<Task>::default();
    let mut push = producer.push_async(1);
    assert!(poll(&task, &mut push).is_pending());
    let waker = Waker::from(Arc::new(Panics));
    let polled = consumer.poll_next_unpin(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    // So that the last is the ring's.
    drop(waker);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(consumer))).is_err());
    assert_eq!(task.woken(), 1);
    assert_eq!(poll(&task, &mut push), Poll::Ready(Err(Closed(1))));
}

#[test]
fn a_waker_may_come_back_to_the_ring() {
    /// Asks, when it is woken and when it is dropped, what needs the lock.
    struct Asks {
        control: Control<u8>,
        asked: Arc<AtomicUsize>,
    }

    impl Asks {
        fn ask(&self) {
            self.control.waiting();
            self.control.pool().set_budget(usize::MAX);
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            self.ask();
        }
    }

    impl Drop for Asks {
        fn drop(&mut self) {
            self.ask();
        }
    }

    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let asked = Arc::<AtomicUsize>::default();
    let waker = || {
        Waker::from(Arc::new(Asks {
            control: control.clone(),
            asked: Arc::clone(&asked),
        }))
    };
    let mut pop = consumer.pop_async();
    assert!(
        pop.poll_unpin(&mut Context::from_waker(&waker()))
            .is_pending()
    );
    // The first waker is replaced, and so dropped.
    assert!(
        pop.poll_unpin(&mut Context::from_waker(&waker()))
            .is_pending()
    );
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    producer.push(1).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    drop(pop);
    assert_eq!(consumer.pop(), Ok(1));
    // A producer's is dropped with its future.
    producer.push(2).unwrap();
    let mut push = producer.push_async(3);
    assert!(
        push.poll_unpin(&mut Context::from_waker(&waker()))
            .is_pending()
    );
    drop(push);
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn a_producer_is_woken_by_a_resize() {
    let (mut producer, _consumer) = ring(&Builder::new(1, 1).max_chunks(2));
    let control = producer.control();
    producer.push(1).unwrap();
    let task = Arc::<Task>::default();
    let mut push = producer.push_async(2);
    assert!(poll(&task, &mut push).is_pending());
    control.set_chunks(2).unwrap();
    assert_eq!(task.woken(), 1);
    assert_eq!(poll(&task, &mut push), Poll::Ready(Ok(())));
}

#[test]
fn futures_that_are_dropped_at_any_time_lose_no_item() {
    const ITEMS: u32 = if cfg!(miri) { 100 } else { 20_000 };
    let (mut producer, mut consumer) = ring(&Builder::new(1, 1));
    let control = producer.control();
    let done = Arc::new(AtomicBool::new(false));
    let sender = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            for number in 0..ITEMS {
                producer.push_wait(number).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        }
    });
    let task = Arc::<Task>::default();
    for number in 0..ITEMS {
        loop {
            let mut pop = consumer.pop_async();
            // Given up after one look, or woken and not looked at any more.
            if let Poll::Ready(popped) = poll(&task, &mut pop) {
                assert_eq!(popped, Ok(number));
                break;
            }
            thread::yield_now();
            drop(pop);
        }
    }
    sender.join().unwrap();
    assert!(done.load(Ordering::Relaxed));
    assert_eq!(control.waiting(), (0, 0));
}
