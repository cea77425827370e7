//! What it costs to emit an event, to encode one, and to read a log.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoder, END_MARKER, Event, Header, Record, ThreadId,
};
use ghc_eventlog::{Clock, EventLog};
use std::hint::black_box;
use std::mem::MaybeUninit;

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

criterion_group!(benches, emit, encode, decode);
criterion_main!(benches);
