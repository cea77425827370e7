//! What a ring's operations cost, on one thread and between two.

use chunkring::Builder;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::{black_box, spin_loop};
use std::thread;

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

criterion_group!(benches, items, bytes, two_threads);
criterion_main!(benches);
