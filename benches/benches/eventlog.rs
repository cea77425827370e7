//! What it costs to emit an event, to keep a log in memory, to encode an event, and to read a log; and what calls take
//! while events are emitted.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoder, END_MARKER, Event, Header, Record, StopStatus, ThreadId,
};
use ghc_eventlog::{
    AttachOptions, Capability, Clock, EventLog, Keep, Policy, Previous, Sink, Start, WhenFull,
};
use std::hint::black_box;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The events that are measured, by a name for the report.
const EVENTS: [(&str, Event<'static>); 3] = [
    (
        "run_thread",
        Event::RunThread {
            thread: ThreadId(7),
        },
    ),
    (
        "message_16",
        Event::UserMessage {
            text: "sixteen bytes...",
        },
    ),
    (
        "message_64",
        Event::UserMessage {
            text: "a message of sixty-four bytes, as a program may well write one..",
        },
    ),
];

fn emit(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/emit");
    let clock = Clock::new();
    group.bench_function("time_stamp", |b| b.iter(|| black_box(clock.now())));
    for (name, event) in EVENTS {
        let log = EventLog::builder()
            .buffer_size(1 << 23)
            .start(std::io::sink())
            .unwrap();
        let mut capability = log.capability().unwrap();
        group.bench_function(name, |b| b.iter(|| capability.emit(black_box(&event))));
        let statistics = log.stop().unwrap();
        let lost = statistics.lost().full;
        if lost > 0 {
            eprintln!(
                "{name}: {lost} of {} events did not fit",
                lost + statistics.events()
            );
        }
    }
    group.finish();
}

/// Every policy by its name, none of which has anything to do while the collector keeps up.
fn policies(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/emit_policy");
    let event = EVENTS[1].1;
    let grow = Policy::Grow { max_bytes: 1 << 25 };
    let wait = Policy::Wait {
        limit: Duration::from_secs(1),
    };
    for (name, policy) in [
        ("drop_newest", Policy::DropNewest),
        ("overwrite_oldest", Policy::OverwriteOldest),
        ("grow", grow),
        ("wait", wait),
    ] {
        let log = EventLog::builder()
            .buffer_size(1 << 23)
            .policy(policy)
            .start(std::io::sink())
            .unwrap();
        let mut capability = log.capability().unwrap();
        group.bench_function(name, |b| b.iter(|| capability.emit(black_box(&event))));
    }
    group.finish();
}

/// The shared buffer, written by one thread, and by one that others do the same beside. Its buffer is
/// full now and then; that costs less than an event that is taken in.
fn shared(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/emit_shared");
    let event = EVENTS[1].1;
    for threads in [1, 2, 4] {
        let log = EventLog::builder()
            .buffer_size(1 << 23)
            .start(std::io::sink())
            .unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        log.emit(black_box(&event));
                    }
                });
            }
            group.bench_function(format!("threads_{threads}"), |b| {
                b.iter(|| log.emit(black_box(&event)));
            });
            done.store(true, Ordering::Relaxed);
        });
    }
    group.finish();
}

/// Emits the event, and waits for room where there is none.
fn insist(capability: &mut Capability, event: &Event<'_>) {
    while capability.try_emit(black_box(event)).is_err() {
        thread::yield_now();
    }
}

/// A chunk, from its first event until another thread could have it: emitting is most of it.
fn hand_off(c: &mut Criterion) {
    const BUFFER: usize = 1 << 20;
    let (name, event) = EVENTS[2];
    let mut bytes = Vec::new();
    event.encode_to_vec(1, &mut bytes);
    let each = BUFFER / 4 / bytes.len();
    let mut group = c.benchmark_group("eventlog/in_memory");
    group.throughput(Throughput::Bytes((each * bytes.len()) as u64));
    let builder = EventLog::builder().buffer_size(BUFFER);
    let (log, chunks) = builder.in_memory(1 << 24, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    group.bench_function(format!("emit_and_pop/{name}"), |b| {
        b.iter(|| {
            for _ in 0..each {
                insist(&mut capability, &event);
            }
            while let Ok(chunk) = chunks.chunk() {
                black_box(chunk);
            }
        });
    });
    drop(log);
    let log = EventLog::builder()
        .buffer_size(BUFFER)
        .flight_recorder(Keep::bytes(1 << 24))
        .unwrap();
    let mut capability = log.capability().unwrap();
    group.bench_function(format!("emit_and_forget/{name}"), |b| {
        b.iter(|| {
            for _ in 0..each {
                insist(&mut capability, &event);
            }
        });
    });
    group.finish();
}

/// A snapshot of what a flight recorder keeps, while another thread emits as fast as it can.
fn snapshot(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/snapshot");
    for mebibytes in [1, 16] {
        let log = EventLog::builder()
            .buffer_size(1 << 20)
            .flush_interval(Duration::from_millis(5))
            .flight_recorder(Keep::bytes(mebibytes << 20))
            .unwrap();
        let mut capability = log.capability().unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    capability.emit(black_box(&EVENTS[2].1));
                }
            });
            group.bench_function(format!("under_load/{mebibytes}_mib"), |b| {
                b.iter(|| log.snapshot(io::sink()).unwrap());
            });
            stop.store(true, Ordering::Relaxed);
        });
    }
    group.finish();
}

/// What a flush takes, for events that go out as they are, and for those that are kept track of: one
/// thread of the program that runs on, and many in turn.
fn collect(c: &mut Criterion) {
    const EVENTS_HELD: u64 = 500_000;
    let mut group = c.benchmark_group("eventlog/collect");
    let run = |thread| Event::RunThread {
        thread: ThreadId(thread),
    };
    let stop = |thread| Event::StopThread {
        thread: ThreadId(thread),
        status: StopStatus::Yielding,
        info: 0,
    };
    let mut measure = |name: &str, event: &dyn Fn(u32) -> Event<'static>| {
        let log = EventLog::builder()
            .buffer_size(1 << 25)
            .flush_interval(Duration::from_secs(3_600))
            .start(std::io::sink())
            .unwrap();
        let mut capability = log.capability().unwrap();
        let len: usize = (0..EVENTS_HELD as u32)
            .map(|number| event(number).encoded_len())
            .sum();
        group.throughput(Throughput::Bytes(len as u64));
        group.sample_size(20);
        group.bench_function(name, |b| {
            b.iter_custom(|rounds| {
                let mut taken = Duration::ZERO;
                for _ in 0..rounds {
                    for number in 0..EVENTS_HELD as u32 {
                        capability.emit(&event(number));
                    }
                    let begin = Instant::now();
                    log.flush().unwrap();
                    taken += begin.elapsed();
                }
                taken
            });
        });
        assert_eq!(log.stop().unwrap().lost().total(), 0);
    };
    measure("message_16", &|_| EVENTS[1].1);
    for (name, threads) in [("one_thread", 1), ("many_threads", 1_000)] {
        measure(name, &|number| match number % 2 {
            0 => run(number / 2 % threads),
            _ => stop(number / 2 % threads),
        });
    }
    group.finish();
}

fn encode(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/encode");
    let mut out = [MaybeUninit::uninit(); 128];
    for (name, event) in EVENTS {
        group.bench_function(name, |b| {
            b.iter(|| black_box(&event).encode(black_box(1), black_box(&mut out)));
        });
    }
    group.finish();
}

fn decode(c: &mut Criterion) {
    let mut body = Vec::new();
    let mut time = 0;
    while body.len() < 1 << 20 {
        for (_, event) in EVENTS {
            time += 100;
            event.encode_to_vec(time, &mut body);
        }
    }
    let size = (BlockMarker::LEN + body.len()) as u32;
    let mut log = Header::standard().encode();
    log.extend(
        BlockMarker {
            begin: 0,
            size,
            end: time,
            cap: CapNo::new(0),
        }
        .encode(),
    );
    log.extend(body);
    log.extend(END_MARKER);

    let mut group = c.benchmark_group("eventlog/decode");
    group.throughput(Throughput::Bytes(log.len() as u64));
    for typed in [false, true] {
        group.bench_function(if typed { "typed" } else { "framing" }, |b| {
            b.iter(|| {
                let mut decoder = Decoder::new();
                let mut input = log.as_slice();
                let mut events = 0;
                while let Some(record) = decoder.next(&mut input).unwrap() {
                    if let Record::Event(event) = record {
                        events += 1;
                        if typed {
                            black_box(event.decode().unwrap());
                        }
                    }
                }
                decoder.finish().unwrap();
                events
            });
        });
    }
    group.finish();
}

/// Emits to two capabilities as fast as two threads can, as long as `measure` takes.
fn under_load(log: &EventLog, measure: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let event = EVENTS[1].1;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut capability = log.capability().unwrap();
            let done = &done;
            scope.spawn(move || {
                // Relaxed: nothing else is handed over by it.
                while !done.load(Ordering::Relaxed) {
                    if capability.try_emit(black_box(&event)).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        measure();
        done.store(true, Ordering::Relaxed);
    });
}

/// What a call takes that waits for the collector, while two threads emit all that they can. It has to share the cores with them.
fn calls_under_load(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/under_load");
    let null = || EventLog::builder().sink(Sink::null()).unwrap();

    let log = null();
    under_load(&log, || {
        group.bench_function("redirect_null", |b| {
            b.iter(|| {
                log.set_sink(Sink::null(), Previous::Close, Start::Header)
                    .unwrap()
            });
        });
    });

    let directory = tempfile::tempdir().unwrap();
    let paths = ["even", "odd"].map(|name| directory.path().join(name));
    let log = EventLog::builder().file(&paths[0]).unwrap();
    under_load(&log, || {
        let mut number = 0;
        // Two files in turns, each of which is emptied when it is begun.
        let mut next = || {
            number += 1;
            Sink::file(&paths[number % 2]).unwrap()
        };
        group.bench_function("redirect_file", |b| {
            b.iter_batched(
                &mut next,
                |sink| log.set_sink(sink, Previous::Close, Start::Header).unwrap(),
                BatchSize::PerIteration,
            );
        });
    });

    let log = null();
    under_load(&log, || {
        group.bench_function("attach_detach", |b| {
            b.iter(|| {
                let reader = log.attach(std::io::sink(), AttachOptions::default());
                log.detach(reader.unwrap()).unwrap()
            });
        });
    });

    let log = null();
    under_load(&log, || {
        let mut size = 1 << 18;
        group.bench_function("resize", |b| {
            b.iter(|| {
                size = (1 << 18) + (1 << 20) - size;
                log.resize(size).unwrap();
            });
        });
    });
    group.finish();
}

/// Takes each block only after a rest.
struct Slow;

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(10));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An event while readers are there, who cost the collector's core more.
fn emit_beside_readers(c: &mut Criterion) {
    let mut group = c.benchmark_group("eventlog/emit_beside");
    let event = EVENTS[1].1;
    for name in ["nobody", "reader", "slow_reader"] {
        let log = EventLog::builder()
            .buffer_size(1 << 23)
            .sink(Sink::null())
            .unwrap();
        let options = AttachOptions::default();
        match name {
            "reader" => log.attach(std::io::sink(), options).map(Some),
            "slow_reader" => log.attach(Slow, options).map(Some),
            _ => Ok(None),
        }
        .unwrap();
        let mut capability = log.capability().unwrap();
        group.bench_function(name, |b| b.iter(|| capability.emit(black_box(&event))));
        let statistics = log.stop().unwrap();
        let lost = statistics.lost().full;
        if lost > 0 {
            let all = lost + statistics.events();
            eprintln!("{name}: {lost} of {all} events did not fit");
        }
    }
    group.finish();
}

criterion_group!(load, calls_under_load, emit_beside_readers);
criterion_group!(
    benches, emit, policies, shared, collect, hand_off, snapshot, encode, decode
);
criterion_main!(benches, load);
