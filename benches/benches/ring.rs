//! What a ring's operations cost, on one thread and between two.

use chunkring::Builder;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Items a block of pushes, and then pops, is long.
const BLOCK: u64 = 1_000;

fn items(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring/items");
    group.throughput(Throughput::Elements(BLOCK));
    for chunk_len in [16, 64, 128, 512] {
        let chunks = 2_048 / chunk_len;
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).spsc::<u64>().unwrap();
        group.bench_function(format!("push_pop/{chunks}x{chunk_len}"), |b| {
            b.iter(|| {
                for item in 0..BLOCK {
                    producer.push(black_box(item)).unwrap();
                }
                for _ in 0..BLOCK {
                    black_box(consumer.pop().unwrap());
                }
            });
        });
    }
    group.finish();
}

/// The same on the ring for several producers, by one of them.
fn items_mpsc(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring/items_mpsc");
    group.throughput(Throughput::Elements(BLOCK));
    for chunk_len in [16, 64, 128, 512] {
        let chunks = 2_048 / chunk_len;
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).mpsc::<u64>().unwrap();
        group.bench_function(format!("push_pop/{chunks}x{chunk_len}"), |b| {
            b.iter(|| {
                for item in 0..BLOCK {
                    producer.push(black_box(item)).unwrap();
                }
                for _ in 0..BLOCK {
                    black_box(consumer.pop().unwrap());
                }
            });
        });
    }
    group.finish();
}

/// Chunks of 128 items, filled, taken out whole, and dropped.
fn hand_off(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring/hand_off");
    group.throughput(Throughput::Elements(BLOCK));
    let (mut producer, mut consumer) = Builder::new(125, 16).spsc::<u64>().unwrap();
    group.bench_function("push_take_chunk", |b| {
        b.iter(|| {
            for item in 0..BLOCK {
                producer.push(black_box(item)).unwrap();
            }
            while let Ok(chunk) = consumer.take_chunk() {
                black_box(&*chunk);
            }
        });
    });
    group.finish();
}

fn bytes(c: &mut Criterion) {
    let mut group = c.benchmark_group("ring/bytes");
    group.throughput(Throughput::Elements(BLOCK));
    let record = [7_u8; 36];
    let (mut producer, mut consumer) = Builder::new(4_096, 16).spsc::<u8>().unwrap();
    group.bench_function("reserve_commit_read_release", |b| {
        b.iter(|| {
            for _ in 0..BLOCK {
                let mut grant = producer.reserve(record.len()).unwrap();
                grant.extend_from_slice(black_box(&record));
                grant.commit_all();
            }
            let mut left = BLOCK as usize * record.len();
            while left > 0 {
                let ready = consumer.read().unwrap();
                left -= ready.len();
                black_box(&*ready);
                ready.release_all();
            }
        });
    });
    group.finish();
}

fn two_threads(c: &mut Criterion) {
    const ITEMS: u64 = 200_000;
    let mut group = c.benchmark_group("ring/two_threads");
    group
        .throughput(Throughput::Elements(ITEMS))
        .sample_size(20);
    for capacity in [64, 1_024, 65_536] {
        group.bench_function(format!("push_pop/{capacity}"), |b| {
            b.iter_batched(
                || chunkring::spsc::bounded::<u64>(capacity).unwrap(),
                |(mut producer, mut consumer)| {
                    thread::scope(|scope| {
                        scope.spawn(move || {
                            for item in 0..ITEMS {
                                while producer.push(item).is_err() {
                                    spin_loop();
                                }
                            }
                        });
                        let mut sum = 0;
                        for _ in 0..ITEMS {
                            sum += loop {
                                match consumer.pop() {
                                    Ok(item) => break item,
                                    Err(_) => spin_loop(),
                                }
                            };
                        }
                        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
                    });
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// Two threads push the same number of items each, this one pops them.
fn two_producers(c: &mut Criterion) {
    const ITEMS: u64 = 100_000;
    let mut group = c.benchmark_group("ring/two_producers");
    group
        .throughput(Throughput::Elements(2 * ITEMS))
        .sample_size(20);
    for capacity in [1_024, 65_536] {
        group.bench_function(format!("push_pop/{capacity}"), |b| {
            b.iter_batched(
                || chunkring::mpsc::bounded::<u64>(capacity).unwrap(),
                |(producer, mut consumer)| {
                    thread::scope(|scope| {
                        for mut producer in [producer.clone(), producer] {
                            scope.spawn(move || {
                                for item in 0..ITEMS {
                                    while producer.push(item).is_err() {
                                        thread::yield_now();
                                    }
                                }
                            });
                        }
                        let mut sum = 0;
                        for _ in 0..2 * ITEMS {
                            sum += loop {
                                match consumer.pop() {
                                    Ok(item) => break item,
                                    Err(_) => thread::yield_now(),
                                }
                            };
                        }
                        assert_eq!(sum, ITEMS * (ITEMS - 1));
                    });
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// The items of `two_threads`, while a third thread changes the ring's shape all the time.
fn resized(c: &mut Criterion) {
    const ITEMS: u64 = 200_000;
    let mut group = c.benchmark_group("ring/resized");
    group
        .throughput(Throughput::Elements(ITEMS))
        .sample_size(20);
    group.bench_function("push_pop/1024", |b| {
        b.iter_batched(
            || chunkring::spsc::bounded::<u64>(1_024).unwrap(),
            |(mut producer, mut consumer)| {
                let control = producer.control();
                let done = AtomicBool::new(false);
                thread::scope(|scope| {
                    scope.spawn(|| {
                        let mut shapes = [(64, 16), (128, 9), (128, 16), (256, 5)]
                            .into_iter()
                            .cycle();
                        while !done.load(Ordering::Relaxed) {
                            let (chunk_len, chunks) = shapes.next().unwrap();
                            control.resize(chunk_len, chunks).unwrap();
                            thread::sleep(Duration::from_micros(500));
                        }
                    });
                    scope.spawn(move || {
                        for item in 0..ITEMS {
                            while producer.push(item).is_err() {
                                spin_loop();
                            }
                        }
                    });
                    let mut sum = 0;
                    for _ in 0..ITEMS {
                        sum += loop {
                            match consumer.pop() {
                                Ok(item) => break item,
                                Err(_) => spin_loop(),
                            }
                        };
                    }
                    assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
                    done.store(true, Ordering::Relaxed);
                });
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(
    benches,
    items,
    items_mpsc,
    bytes,
    hand_off,
    two_threads,
    two_producers,
    resized
);
criterion_main!(benches);
