//! The loops that are timed. Each makes its queue, warms it up, moves so many items through it, checks their sum, and
//! tells the nanoseconds an item took.

use crate::machine::{Line, Patience, Pause, pin};
use crate::queues::{self, Queue, Receiver, Sender};
use crate::slices::{
    BatchQueue, BatchReceiver, BatchSender, RecordQueue, RecordReceiver, RecordSender,
};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Items of a burst.
const BURST: u64 = 8_192;
/// Records of a burst: they fit into 64 KiB.
const RECORD_BURST: u64 = 1_024;
/// Items of a block on one thread.
const BLOCK: u64 = 1_000;
/// Items of a batch.
pub(crate) const BATCH: usize = 64;
/// Items that each producer puts in where nobody takes them out meanwhile.
const FILL: u64 = 16_384;
/// Room in bytes of the queues of records.
pub(crate) const RECORD_ROOM: usize = 65_536;

/// What a thread gives back, so that it is dropped when the time has been taken.
type Used<'a> = Box<dyn Send + 'a>;
/// The core, and what is to be done there.
type Task<'a> = (usize, Box<dyn FnOnce() -> Used<'a> + Send + 'a>);

/// Runs every task on its own thread, and tells the time from the first one's start to the last one's end.
fn race(tasks: Vec<Task<'_>>) -> Duration {
    let (count, ready) = (tasks.len(), &AtomicUsize::new(0));
    let ran: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = tasks
            .into_iter()
            .map(|(core, task)| {
                scope.spawn(move || {
                    pin(core);
                    ready.fetch_add(1, Ordering::AcqRel);
                    let mut patience = Patience::new("the start", Pause::Yield);
                    while ready.load(Ordering::Acquire) < count {
                        patience.wait();
                    }
                    let start = Instant::now();
                    let used = task();
                    (start, Instant::now(), used)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let start = ran.iter().map(|(start, _, _)| *start).min();
    let end = ran.iter().map(|(_, end, _)| *end).max();
    end.zip(start)
        .map_or(Duration::ZERO, |(end, start)| end - start)
}

fn nanoseconds(time: Duration, items: u64) -> f64 {
    time.as_nanos() as f64 / items as f64
}

/// The sum of all numbers below `items`.
fn sum_below(items: u64) -> u64 {
    items.wrapping_mul(items.wrapping_sub(1)) / 2
}

fn check(queue: &str, sum: u64, expected: u64) {
    assert_eq!(sum, expected, "{queue} lost or changed items");
}

/// Uses all the memory once.
fn warm_up(capacity: usize, sender: &mut impl Sender, receiver: &mut impl Receiver) {
    for _ in 0..capacity {
        if !sender.push(0) {
            break;
        }
    }
    while receiver.pop().is_some() {}
}

fn send(queue: &'static str, sender: &mut impl Sender, items: u64, pause: Pause) {
    for item in 0..items {
        if !sender.push(item) {
            let mut patience = Patience::new(queue, pause);
            patience.wait();
            while !sender.push(item) {
                patience.wait();
            }
        }
    }
}

/// The sum of the next `items`.
#[inline(always)]
fn receive(queue: &'static str, receiver: &mut impl Receiver, items: u64, pause: Pause) -> u64 {
    let mut sum = 0_u64;
    for _ in 0..items {
        let item = match receiver.pop() {
            Some(item) => item,
            None => {
                let mut patience = Patience::new(queue, pause);
                loop {
                    patience.wait();
                    if let Some(item) = receiver.pop() {
                        break item;
                    }
                }
            }
        };
        sum = sum.wrapping_add(item);
    }
    sum
}

/// One producer and one consumer, both as fast as they can.
pub(crate) fn free<Q: Queue>(capacity: usize, pause: Pause, items: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(capacity);
    warm_up(capacity, &mut sender, &mut receiver);
    run_free::<Q>(sender, receiver, pause, items)
}

fn run_free<Q: Queue>(
    mut sender: Q::Sender,
    mut receiver: Q::Receiver,
    pause: Pause,
    items: u64,
) -> f64 {
    let time = race(vec![
        (
            0,
            Box::new(move || {
                send(Q::NAME, &mut sender, items, pause);
                Box::new(sender)
            }),
        ),
        (
            1,
            Box::new(move || {
                let sum = receive(Q::NAME, &mut receiver, items, pause);
                check(Q::NAME, sum, sum_below(items));
                Box::new(receiver)
            }),
        ),
    ]);
    nanoseconds(time, items)
}

/// What a third thread does meanwhile.
#[derive(Clone, Copy)]
pub(crate) enum Meanwhile {
    Nothing,
    /// Wakes up a thousand times a second.
    Wake,
    /// Wakes up as often, and changes the ring's shape each time.
    Resize,
}

/// Our ring of 1,024 items, while its shape may change.
pub(crate) fn resized(meanwhile: Meanwhile, pause: Pause, items: u64) -> f64 {
    const PERIOD: Duration = Duration::from_millis(1);
    let (mut sender, mut receiver) = queues::Chunkring::new(1_024);
    warm_up(1_024, &mut sender, &mut receiver);
    let control = receiver.control();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        if !matches!(meanwhile, Meanwhile::Nothing) {
            scope.spawn(|| {
                let mut shapes = [(64, 16), (256, 4), (128, 8)].into_iter().cycle();
                let mut next = Instant::now();
                while !done.load(Ordering::Relaxed) {
                    if let (Meanwhile::Resize, Some((chunk_len, chunks))) =
                        (meanwhile, shapes.next())
                    {
                        control.resize(chunk_len, chunks).unwrap();
                    }
                    next += PERIOD;
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            });
        }
        let time = run_free::<queues::Chunkring>(sender, receiver, pause, items);
        done.store(true, Ordering::Relaxed);
        time
    })
}

/// Several producers, on both cores in turn, and a consumer on the second.
pub(crate) fn several<Q: Queue<Sender: Clone>>(
    capacity: usize,
    producers: usize,
    items: u64,
) -> f64 {
    let each = items / producers as u64;
    let (mut sender, mut receiver) = Q::new(capacity);
    warm_up(capacity, &mut sender, &mut receiver);
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for producer in 0..producers {
        let mut sender = sender.clone();
        tasks.push((
            producer % 2,
            Box::new(move || {
                send(Q::NAME, &mut sender, each, Pause::Yield);
                Box::new(sender)
            }),
        ));
    }
    tasks.push((
        1,
        Box::new(move || {
            let all = each * producers as u64;
            let sum = receive(Q::NAME, &mut receiver, all, Pause::Yield);
            check(Q::NAME, sum, sum_below(each).wrapping_mul(producers as u64));
            Box::new(receiver)
        }),
    ));
    nanoseconds(race(tasks), each * producers as u64)
}

/// Two producers at once, with room for all that they put in, and nobody who takes it out before they are done.
pub(crate) fn fill<Q: Queue<Sender: Clone>>(capacity: usize, items: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(capacity);
    warm_up(capacity, &mut sender, &mut receiver);
    let turns = (items / (2 * FILL)).max(1);
    let mut time = Duration::ZERO;
    for _ in 0..turns {
        let tasks = [0, 1].map(|core| -> Task<'_> {
            let mut sender = sender.clone();
            let fill = move || -> Used<'_> {
                send(Q::NAME, &mut sender, FILL, Pause::Spin(1));
                Box::new(sender)
            };
            (core, Box::new(fill))
        });
        time += race(Vec::from(tasks));
        let sum = receive(Q::NAME, &mut receiver, 2 * FILL, Pause::Yield);
        check(Q::NAME, sum, 2 * sum_below(FILL));
    }
    nanoseconds(time, turns * 2 * FILL)
}

/// Both sides take turns on their cores. `first` does the even ones, `second` the odd ones; the time that each takes,
/// without the waiting for the other.
fn take_turns<'a, A: Send + 'a, B: Send + 'a>(
    turns: u64,
    (mut sender, mut put): (A, impl FnMut(&mut A) + Send),
    (mut receiver, mut take): (B, impl FnMut(&mut B) + Send),
) -> [Duration; 2] {
    let turn = &Line(AtomicU64::new(0));
    let mut times = [Duration::ZERO; 2];
    let [put_time, take_time] = &mut times;
    let wait_for = |wanted| {
        let mut patience = Patience::new("the other side", Pause::Spin(1));
        while turn.0.load(Ordering::Acquire) != wanted {
            patience.wait();
        }
    };
    race(vec![
        (
            0,
            Box::new(move || {
                for even in (0..2 * turns).step_by(2) {
                    wait_for(even);
                    let start = Instant::now();
                    put(&mut sender);
                    *put_time += start.elapsed();
                    turn.0.store(even + 1, Ordering::Release);
                }
                Box::new(sender)
            }),
        ),
        (
            1,
            Box::new(move || {
                for even in (0..2 * turns).step_by(2) {
                    wait_for(even + 1);
                    let start = Instant::now();
                    take(&mut receiver);
                    *take_time += start.elapsed();
                    turn.0.store(even + 2, Ordering::Release);
                }
                Box::new(receiver)
            }),
        ),
    ]);
    times
}

/// The producer's time and the consumer's: one waits while the other works.
pub(crate) fn burst<Q: Queue>(capacity: usize, items: u64) -> [f64; 2] {
    let (mut sender, mut receiver) = Q::new(capacity);
    warm_up(capacity, &mut sender, &mut receiver);
    let turns = (items / BURST).max(1);
    let times = take_turns(
        turns,
        (sender, |sender: &mut Q::Sender| {
            send(Q::NAME, sender, BURST, Pause::Spin(1));
        }),
        (receiver, |receiver: &mut Q::Receiver| {
            let sum = receive(Q::NAME, receiver, BURST, Pause::Spin(1));
            check(Q::NAME, sum, sum_below(BURST));
        }),
    );
    times.map(|time| nanoseconds(time, turns * BURST))
}

/// To the other thread and back, through two queues.
pub(crate) fn round_trip<Q: Queue>(capacity: usize, items: u64) -> f64 {
    let (mut there, mut arrived) = Q::new(capacity);
    let (mut back, mut returned) = Q::new(capacity);
    let pause = Pause::Spin(1);
    let time = race(vec![
        (
            0,
            Box::new(move || {
                for item in 0..items {
                    assert!(there.push(item), "{} has room", Q::NAME);
                    check(Q::NAME, receive(Q::NAME, &mut returned, 1, pause), item);
                }
                Box::new((there, returned))
            }),
        ),
        (
            1,
            Box::new(move || {
                for _ in 0..items {
                    let item = receive(Q::NAME, &mut arrived, 1, pause);
                    assert!(back.push(item), "{} has room", Q::NAME);
                }
                Box::new((back, arrived))
            }),
        ),
    ]);
    nanoseconds(time, items)
}

/// Blocks of a thousand items in, and a thousand out, on this thread.
pub(crate) fn one_thread<Q: Queue>(capacity: usize, items: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(capacity);
    let blocks = (items / BLOCK).max(1);
    let mut sum = 0_u64;
    let start = Instant::now();
    for block in 0..blocks {
        for item in block * BLOCK..(block + 1) * BLOCK {
            assert!(sender.push(black_box(item)), "{} has room", Q::NAME);
        }
        sum = sum.wrapping_add(receive(Q::NAME, &mut receiver, BLOCK, Pause::Yield));
    }
    let time = start.elapsed();
    check(Q::NAME, sum, sum_below(blocks * BLOCK));
    nanoseconds(time, blocks * BLOCK)
}

/// The same, but the items leave with their chunks.
pub(crate) fn take_chunks(items: u64) -> f64 {
    let (mut producer, mut consumer) = chunkring::Builder::new(125, 16).spsc::<u64>().unwrap();
    let blocks = (items / BLOCK).max(1);
    let mut sum = 0_u64;
    let start = Instant::now();
    for block in 0..blocks {
        for item in block * BLOCK..(block + 1) * BLOCK {
            assert!(producer.push(black_box(item)).is_ok(), "the ring has room");
        }
        while let Ok(chunk) = consumer.take_chunk() {
            sum = chunk.iter().fold(sum, |sum, item| sum.wrapping_add(*item));
        }
    }
    let time = start.elapsed();
    check("chunkring", sum, sum_below(blocks * BLOCK));
    nanoseconds(time, blocks * BLOCK)
}

/// Batches, as fast as both can.
pub(crate) fn batches<Q: BatchQueue>(capacity: usize, pause: Pause, items: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(capacity);
    while sender.push_all(&[0; BATCH]) {}
    while receiver.take(BATCH, |_| ()) > 0 {}

    let batches = (items / BATCH as u64).max(1);
    let items = batches * BATCH as u64;
    let time = race(vec![
        (
            0,
            Box::new(move || {
                let mut batch = [1; BATCH];
                for number in 0..batches {
                    batch[0] = number;
                    if !sender.push_all(black_box(&batch)) {
                        let mut patience = Patience::new(Q::NAME, pause);
                        patience.wait();
                        while !sender.push_all(black_box(&batch)) {
                            patience.wait();
                        }
                    }
                }
                Box::new(sender)
            }),
        ),
        (
            1,
            Box::new(move || {
                let (mut sum, mut taken) = (0_u64, 0);
                let mut patience = Patience::new(Q::NAME, pause);
                while taken < items {
                    let count = receiver.take(BATCH, |items| {
                        sum = items.iter().fold(sum, |sum, item| sum.wrapping_add(*item));
                    });
                    if count == 0 {
                        patience.wait();
                    }
                    taken += count as u64;
                }
                let ones = batches * (BATCH as u64 - 1);
                check(Q::NAME, sum, sum_below(batches).wrapping_add(ones));
                Box::new(receiver)
            }),
        ),
    ]);
    nanoseconds(time, items)
}

/// Lengths from 8 to 64, the same for every queue.
fn lengths() -> Vec<usize> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        8 + (state >> 16) as usize % 57
    };
    std::iter::repeat_with(next)
        .take(RECORD_BURST as usize)
        .collect()
}

fn length(lengths: &[usize], record: u64) -> usize {
    lengths[(record % RECORD_BURST) as usize]
}

/// The number that a record begins with.
#[inline(always)]
fn number(front: &[u8], back: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    if let Some(first) = front.first_chunk() {
        bytes = *first;
    } else {
        let (start, rest) = bytes.split_at_mut(front.len());
        start.copy_from_slice(front);
        rest.copy_from_slice(&back[..rest.len()]);
    }
    u64::from_le_bytes(bytes)
}

/// Writes records until they are `count` more.
#[inline(always)]
fn write_records(
    queue: &'static str,
    sender: &mut impl RecordSender,
    lengths: &[usize],
    count: u64,
    pause: Pause,
) {
    let mut bytes = [7; 64];
    for record in 0..count {
        bytes[..8].copy_from_slice(&record.to_le_bytes());
        let bytes = &black_box(&bytes)[..length(lengths, record)];
        if !sender.write(bytes) {
            let mut patience = Patience::new(queue, pause);
            patience.wait();
            while !sender.write(bytes) {
                patience.wait();
            }
        }
    }
}

/// Reads so many records, and checks the numbers' sum and each length.
#[inline(always)]
fn read_records(
    queue: &'static str,
    receiver: &mut impl RecordReceiver,
    lengths: &[usize],
    count: u64,
    pause: Pause,
) {
    let (mut sum, mut taken, mut wrong) = (0_u64, 0, 0);
    let mut patience = Patience::new(queue, pause);
    while taken < count {
        let before = taken;
        receiver.read(|front, back| {
            sum = sum.wrapping_add(number(front, back));
            wrong |= (front.len() + back.len()) ^ length(lengths, taken);
            taken += 1;
        });
        if taken == before {
            patience.wait();
        }
    }
    assert_eq!(wrong, 0, "{queue} changed a length");
    check(queue, sum, sum_below(count));
}

fn warm_up_records(sender: &mut impl RecordSender, receiver: &mut impl RecordReceiver) {
    while sender.write(&[0; 64]) {}
    while receiver.read(|_, _| ()) > 0 {}
}

/// Records, as fast as both can.
pub(crate) fn records<Q: RecordQueue>(pause: Pause, count: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(RECORD_ROOM);
    warm_up_records(&mut sender, &mut receiver);
    let (written, read) = (lengths(), lengths());
    let time = race(vec![
        (
            0,
            Box::new(move || {
                write_records(Q::NAME, &mut sender, &written, count, pause);
                Box::new(sender)
            }),
        ),
        (
            1,
            Box::new(move || {
                read_records(Q::NAME, &mut receiver, &read, count, pause);
                Box::new(receiver)
            }),
        ),
    ]);
    nanoseconds(time, count)
}

/// The writer's time and the reader's: one waits while the other works.
pub(crate) fn record_burst<Q: RecordQueue>(count: u64) -> [f64; 2] {
    let (mut sender, mut receiver) = Q::new(RECORD_ROOM);
    warm_up_records(&mut sender, &mut receiver);
    let turns = (count / RECORD_BURST).max(1);
    let (written, read) = (lengths(), lengths());
    let pause = Pause::Spin(1);
    let times = take_turns(
        turns,
        (sender, |sender: &mut Q::Sender| {
            write_records(Q::NAME, sender, &written, RECORD_BURST, pause);
        }),
        (receiver, |receiver: &mut Q::Receiver| {
            read_records(Q::NAME, receiver, &read, RECORD_BURST, pause);
        }),
    );
    times.map(|time| nanoseconds(time, turns * RECORD_BURST))
}

/// Blocks of a thousand records of 36 bytes in, and a thousand out, on this thread.
pub(crate) fn records_on_one_thread<Q: RecordQueue>(count: u64) -> f64 {
    let (mut sender, mut receiver) = Q::new(RECORD_ROOM);
    warm_up_records(&mut sender, &mut receiver);
    let blocks = (count / BLOCK).max(1);
    let mut bytes = [7; 36];
    let mut sum = 0_u64;
    let start = Instant::now();
    for block in 0..blocks {
        for record in block * BLOCK..(block + 1) * BLOCK {
            bytes[..8].copy_from_slice(&record.to_le_bytes());
            assert!(sender.write(black_box(&bytes)), "{} has room", Q::NAME);
        }
        let mut taken = 0;
        while taken < BLOCK {
            taken += receiver.read(|front, back| {
                sum = sum.wrapping_add(number(front, back));
            }) as u64;
        }
    }
    let time = start.elapsed();
    check(Q::NAME, sum, sum_below(blocks * BLOCK));
    nanoseconds(time, blocks * BLOCK)
}
