//! Loads, unloads, calls, walks over the list and samples, all at once. `OBJECTS_ROUNDS` says for how many loads.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::format::{CostCentreStack, Decoded, Decoder, Event, Record};
use ghc_eventlog::objects::{Object, Objects, Unload, registry, stack};
use ghc_eventlog::{EventLog, Sink};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn rounds() -> u64 {
    match std::env::var("OBJECTS_ROUNDS") {
        Ok(count) => count.parse().expect("OBJECTS_ROUNDS is a number"),
        Err(_) => 60,
    }
}

/// Samples every thread, and tells the log.
fn sample(log: &EventLog, tick: u64) -> u64 {
    let _sampling = registry().sampling();
    let mut count = 0;
    stack::each(|stack| {
        log.emit(&Event::ProfSampleCostCentre {
            cap: stack.thread(),
            tick,
            stack: CostCentreStack::innermost(stack.ids()),
        });
        count += 1;
    });
    count
}

/// Cost centres of samples that no event before them defines, and samples.
fn undefined(mut log: &[u8]) -> (Vec<u32>, u64) {
    let mut decoder = Decoder::new();
    let (mut defined, mut undefined, mut samples) = (HashSet::new(), Vec::new(), 0);
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(event) = record else {
            continue;
        };
        match event.decode().unwrap() {
            Decoded::Known(Event::HeapProfCostCentre { cost_centre, .. }) => {
                defined.insert(cost_centre);
            }
            Decoded::Known(Event::ProfSampleCostCentre { stack, .. }) => {
                samples += 1;
                undefined.extend(stack.iter().filter(|id| !defined.contains(id)));
            }
            _ => {}
        }
    }
    (undefined, samples)
}

#[test]
fn everything_at_once_and_every_sample_is_of_what_was_defined_before_it() {
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().buffer_size(4 << 20).sink(sink).unwrap();
    let objects = Objects::with_log(&log);
    let paths = [support::c_sample(), support::rust_sample()];
    let slots: [Mutex<Option<Object>>; 2] = Default::default();
    let stop = AtomicBool::new(false);
    let [calls, walks, samples] = [const { AtomicU64::new(0) }; 3];
    thread::scope(|scope| {
        for caller in 0..3 {
            let (slots, stop, calls) = (&slots, &stop, &calls);
            scope.spawn(move || {
                // Relaxed, here and below: wishes and counts.
                while !stop.load(Ordering::Relaxed) {
                    let object = slots[caller % 2].lock().unwrap().clone();
                    let Some(object) = object else {
                        thread::yield_now();
                        continue;
                    };
                    // SAFETY: this is its type.
                    let Ok(run) = (unsafe { object.symbol::<support::Run>(c"sample_run") }) else {
                        continue;
                    };
                    if let Some(entered) = object.enter() {
                        // SAFETY: takes any number.
                        unsafe { entered.get(&run)(50) };
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        scope.spawn(|| {
            let mut tick = 0;
            while !stop.load(Ordering::Relaxed) {
                let list = objects.cost_centres();
                for cost_centre in list.iter() {
                    assert_eq!(list.get(cost_centre.id), Some(cost_centre));
                    assert!(["run", "round", "hold"].contains(&&*cost_centre.label));
                }
                tick += 1;
                samples.fetch_add(sample(&log, tick), Ordering::Relaxed);
                walks.fetch_add(1, Ordering::Relaxed);
                // Samples come as fast as they can, and all of them are to be in the log.
                if tick % 256 == 0 {
                    log.flush().unwrap();
                }
                thread::yield_now();
            }
        });
        let enough = |count: &AtomicU64, least| count.load(Ordering::Relaxed) >= least;
        let mut round = 0;
        let deadline = Instant::now() + Duration::from_secs(120);
        // Every thread has had its turn, on a loaded machine, too; one that has failed has none.
        while Instant::now() < deadline
            && (round < rounds()
                || !enough(&calls, 100)
                || !enough(&walks, 100)
                || !enough(&samples, 1))
        {
            round += 1;
            for (slot, path) in slots.iter().zip(&paths) {
                let mut object = support::load(path);
                *slot.lock().unwrap() = Some(object.clone());
                let before = calls.load(Ordering::Relaxed);
                for _ in 0..1_000 {
                    if calls.load(Ordering::Relaxed) > before + 2 {
                        break;
                    }
                    thread::yield_now();
                }
                *slot.lock().unwrap() = None;
                loop {
                    match object.unload(Duration::from_micros(100)) {
                        Ok(outcome) => break assert_eq!(outcome, Unload::Unmapped),
                        Err(busy) => object = busy.object,
                    }
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(objects.loaded().is_empty() && objects.cost_centres().is_empty());
    assert_eq!(registry().undefined(), 0);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    let (undefined, in_log) = undefined(&content.bytes());
    assert_eq!(
        (undefined, in_log),
        (vec![], samples.load(Ordering::Relaxed))
    );
}
