//! What a profile costs the program: the sampler its threads, the allocator an allocation, and a sample its own thread.
//!
//! ```console
//! cargo bench -p benches --features objects --bench profiler
//! ```

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ghc_eventlog::objects::{ProfiledAllocator, Profiler, ProfilerBuilder};
use ghc_eventlog::{EventLog, Sink};
use ghc_eventlog_object::{object, scc};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::time::Duration;

object!("benches", register);

static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

/// So deep in cost centres that differ.
fn within(depth: u32, run: &mut dyn FnMut()) {
    if depth == 0 {
        run();
    } else if depth % 2 == 0 {
        scc!("even");
        within(depth - 1, run);
    } else {
        scc!("odd");
        within(depth - 1, run);
    }
}

/// Entering a cost centre and leaving it, on a thread that nobody samples, or that is sampled so often.
fn sampled(c: &mut Criterion) {
    let mut group = c.benchmark_group("profiler/sampled");
    let ticks = [
        ("not", None),
        ("1000_a_second", Some(Duration::from_millis(1))),
        ("20000_a_second", Some(ProfilerBuilder::MINIMUM)),
    ];
    for (name, tick) in ticks {
        let log = EventLog::builder().sink(Sink::null()).unwrap();
        let profiler = tick.map(|tick| Profiler::builder().time(tick).start(&log).unwrap());
        // One around it, so that there always is something to be read.
        scc!("around");
        group.bench_function(name, |b| {
            b.iter(|| {
                scc!("pair");
                black_box(0)
            })
        });
        drop(profiler);
        log.stop().unwrap();
    }
    group.finish();
}

/// Allocating 64 bytes and freeing them, by the system's allocator, and counted, so deep in cost centres.
fn allocator(c: &mut Criterion) {
    let mut group = c.benchmark_group("profiler/allocator");
    pair(&mut group, "system", &System);
    for depth in [0, 1, 10, 100] {
        within(depth, &mut || {
            pair(&mut group, &format!("counted/{depth}"), &ALLOCATOR);
        });
    }
    group.finish();
}

fn pair(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, allocator: &dyn GlobalAlloc) {
    let layout = Layout::new::<[u64; 8]>();
    group.bench_function(name, |b| {
        b.iter(|| {
            // SAFETY: the layout's size is not 0, and it is freed with the same one.
            unsafe {
                let block = black_box(allocator.alloc(layout));
                allocator.dealloc(block, layout);
            }
        })
    });
}

/// A sample of the heap, in which so many stacks hold something.
fn sample(c: &mut Criterion) {
    let mut group = c.benchmark_group("profiler/heap_sample");
    let layout = Layout::new::<u64>();
    let keep = || {
        // SAFETY: the layout's size is not 0. It is kept for ever.
        let block = unsafe { ALLOCATOR.alloc(layout) };
        assert!(!block.is_null());
    };
    let mut held = 0;
    for stacks in [1, 100] {
        while held < stacks {
            held += 1;
            within(held, &mut || keep());
        }
        let log = EventLog::builder().sink(Sink::null()).unwrap();
        let profiler = Profiler::builder()
            .heap(ALLOCATOR.counts(), None)
            .start(&log)
            .unwrap();
        group.bench_function(format!("{stacks}"), |b| {
            b.iter(|| profiler.sample_heap().unwrap())
        });
        drop(profiler);
        log.stop().unwrap();
    }
    group.finish();
}

criterion_group!(benches, sampled, allocator, sample);
criterion_main!(benches);
