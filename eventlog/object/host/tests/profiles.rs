//! Profiles of objects that are loaded, unloaded and loaded again while a log goes on in other sinks.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use ghc_eventlog::objects::{ProfiledAllocator, Profiler, ProfilerBuilder, Unload};
use ghc_eventlog::{EventLog, Previous, Sink, Start};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

/// What was allocated, where who looks for leaks finds it.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Allocates, and keeps it; then stays until the profiler has looked.
extern "C" fn back() {
    // SAFETY: the layout's size is not 0.
    let block = unsafe { ALLOCATOR.alloc(Layout::new::<[u64; 2]>()) };
    assert!(!block.is_null());
    KEPT.lock().unwrap().push(block.expose_provenance());
    let profiler = PROFILER.lock().unwrap();
    let stacks = || profiler.as_ref().unwrap().statistics().stacks;
    let (before, deadline) = (stacks(), Instant::now() + Duration::from_secs(120));
    // The first tick may have begun before.
    while stacks() < before + 2 {
        assert!(Instant::now() < deadline, "no tick");
        thread::yield_now();
    }
}

static PROFILER: Mutex<Option<Profiler>> = Mutex::new(None);

/// The stacks of a log's ticks and of its last sample of the heap, by number. Each number has been defined before.
fn samples(mut log: &[u8]) -> (Vec<Vec<u32>>, HashMap<Vec<u32>, u64>) {
    let mut names = HashMap::new();
    let (mut ticks, mut heap) = (Vec::new(), HashMap::new());
    let mut decoder = Decoder::new();
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(raw) = record else {
            continue;
        };
        let Decoded::Known(event) = raw.decode().unwrap() else {
            continue;
        };
        let stack: Vec<u32> = match event {
            Event::ProfSampleCostCentre { stack, .. }
            | Event::HeapProfSampleCostCentre { stack, .. } => stack.iter().collect(),
            _ => Vec::new(),
        };
        for id in &stack {
            let name: Option<&String> = names.get(id);
            assert_eq!(name.map(String::as_str), Some("calls_back.work"), "{id}");
        }
        match event {
            Event::HeapProfCostCentre {
                cost_centre,
                label,
                module,
                ..
            } => {
                let name = format!("{}.{}", module.as_str(), label.as_str());
                names.insert(cost_centre, name);
            }
            Event::ProfSampleCostCentre { .. } => ticks.push(stack),
            Event::HeapProfSampleBegin { .. } => heap.clear(),
            Event::HeapProfSampleCostCentre { residency, .. } => {
                heap.insert(stack, residency);
            }
            _ => {}
        }
    }
    decoder.finish().unwrap();
    (ticks, heap)
}

#[test]
fn samples_speak_of_every_generation_of_an_object_and_each_sink_knows_them() {
    const GENERATIONS: usize = 10;
    let path = support::c("calls_back.c", "calls_back", &[]);
    let (sink, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder().sink(sink).unwrap();
    let profiler = Profiler::builder()
        .time(ProfilerBuilder::MINIMUM)
        .heap(ALLOCATOR.counts(), None)
        .start(&log)
        .unwrap();
    *PROFILER.lock().unwrap() = Some(profiler);
    for _ in 0..GENERATIONS {
        let object = support::load(&path);
        type CallBack = unsafe extern "C" fn(extern "C" fn());
        let call_back = support::symbol::<CallBack>(&object, c"call_back");
        {
            let entered = object.enter().unwrap();
            // SAFETY: it calls back, and nothing else.
            unsafe { entered.get(&call_back)(back) };
        }
        assert_eq!(
            object.unload(Duration::from_secs(60)).unwrap(),
            Unload::Unmapped
        );
        let profiler = PROFILER.lock().unwrap();
        profiler.as_ref().unwrap().sample_heap().unwrap();
        let (sink, content) = Sink::memory();
        log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        contents.push(content);
    }
    let statistics = PROFILER.lock().unwrap().take().unwrap().stop();
    log.stop().unwrap();
    assert_eq!(statistics.lost, 0);
    let mut generations: Vec<Vec<u32>> = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let (mut ticks, heap) = samples(&content.bytes());
        ticks.dedup();
        match number < GENERATIONS {
            // One generation was there, with a number of its own.
            true => assert_eq!(ticks.len(), 1),
            false => assert!(ticks.is_empty(), "nothing is loaded any more"),
        }
        generations.extend(ticks);
        // What earlier ones have allocated is live.
        let held: HashMap<Vec<u32>, u64> = generations.iter().map(|id| (id.clone(), 16)).collect();
        assert_eq!(heap, held);
    }
    assert_eq!(generations.len(), GENERATIONS);
    assert!(
        generations.is_sorted_by(|one, next| one < next),
        "{generations:?}"
    );
}
