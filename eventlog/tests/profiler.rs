//! The profiler: what it writes is what was, and every sink can be read by itself.
#![cfg(target_os = "linux")]

mod written;

use ghc_eventlog::format::{Decoded, Decoder, Event, HeapBreakdown, Record};
use ghc_eventlog::objects::{
    ProfiledAllocator, Profiler, ProfilerBuilder, ProfilerError, evl_object_attach,
    evl_object_detach, registry,
};
use ghc_eventlog::{EmitError, EventLog, Previous, Sink, Start};
use ghc_eventlog_object::{ABI_MAJOR, CostCentre, HostSlot, Object, Scope, object, scc};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use written::Written;

object!("profiler test", register);

/// Whatever takes longer has gone wrong.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a log holds of profiles.
#[derive(Default)]
struct Profile {
    names: HashMap<u32, String>,
    tick_interval: Option<u64>,
    /// Tick, slot and stack, innermost first, by name.
    ticks: Vec<(u64, u32, Vec<String>)>,
    period: Option<u64>,
    /// The stacks of each sample.
    heap: Vec<Vec<(Vec<String>, u64)>>,
}

impl Profile {
    fn names_of(&self, ids: impl Iterator<Item = u32>) -> Vec<String> {
        ids.map(|id| {
            let name = self.names.get(&id);
            name.unwrap_or_else(|| panic!("cost centre {id} has no definition before it"))
                .clone()
        })
        .collect()
    }
}

/// Reads a log as the readers of heap profiles do: in the order of the file. Asserts what they rely on: that the program is
/// told before profiles, a profile before its samples, and each cost centre before the samples that it is in; that
/// samples of the heap begin and end in turns, each later than the one before; and that nothing of it belongs to a
/// capability. Also that no tick finds anybody in an object that has been unloaded, if its name was its own.
fn read(mut log: &[u8]) -> Profile {
    let mut profile = Profile::default();
    let mut program = false;
    let mut era = None;
    let mut open = false;
    let mut unloaded = HashSet::new();
    let mut decoder = Decoder::new();
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(raw) = record else {
            continue;
        };
        let Decoded::Known(event) = raw.decode().unwrap() else {
            continue;
        };
        match event {
            Event::ProgramArgs { args, .. } => program = !args.is_empty(),
            Event::HeapProfCostCentre {
                cost_centre, label, ..
            } => {
                let name = label.as_str().to_owned();
                let before = profile.names.insert(cost_centre, name.clone());
                assert!(
                    before.is_none_or(|before| before == name),
                    "{cost_centre} is two"
                );
            }
            Event::ProfBegin { tick_interval_ns } => {
                assert!(program);
                profile.tick_interval = Some(tick_interval_ns);
            }
            Event::ProfSampleCostCentre { cap, tick, stack } => {
                assert!(profile.tick_interval.is_some());
                assert!(!stack.is_empty());
                let stack = profile.names_of(stack.iter());
                assert!(
                    stack.iter().all(|name| !unloaded.contains(name)),
                    "{stack:?}"
                );
                profile.ticks.push((tick, cap, stack));
            }
            Event::HeapProfBegin {
                profile: 0,
                period_ns,
                breakdown: HeapBreakdown::CostCentre,
                ..
            } => {
                assert!(program);
                profile.period = Some(period_ns);
            }
            Event::HeapProfSampleBegin { era: begun } => {
                assert!(profile.period.is_some() && !open);
                assert!(era.is_none_or(|before| before < begun));
                (era, open) = (Some(begun), true);
                profile.heap.push(Vec::new());
            }
            Event::HeapProfSampleCostCentre {
                profile: 0,
                residency,
                stack,
            } => {
                assert!(open && residency > 0);
                let stack = profile.names_of(stack.iter());
                profile.heap.last_mut().unwrap().push((stack, residency));
            }
            Event::HeapProfSampleEnd { era: ended } => {
                assert!(open && era == Some(ended));
                open = false;
            }
            Event::UserMarker { name } => {
                if let Some((_, name)) = name.split_once(" unloaded: generation ") {
                    unloaded.insert(format!("generation {name}"));
                }
            }
            _ => continue,
        }
        assert_eq!(raw.cap, None);
    }
    decoder.finish().unwrap();
    assert!(!open, "a sample of the heap has no end");
    profile
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

/// What is kept for ever, so that who looks for leaks finds none.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn hold<T>(pointer: *const T) {
    KEPT.lock().unwrap().push(pointer.expose_provenance());
}

/// Allocates, and keeps it for ever.
fn keep(allocator: &ProfiledAllocator, size: usize) {
    // SAFETY: the size is not 0.
    let block = unsafe { allocator.alloc(layout(size)) };
    assert!(!block.is_null());
    hold(block);
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !done() {
        assert!(Instant::now() < deadline, "{what} takes too long");
        thread::yield_now();
    }
}

/// An object that registers itself, with one cost centre; it can be taken back.
struct Loaded {
    object: &'static Object,
    cost_centre: &'static CostCentre,
}

impl Loaded {
    /// The object and the cost centre have that name.
    fn new(name: &str) -> Self {
        let label: &'static CStr = Box::leak(CString::new(name).unwrap().into_boxed_c_str());
        let cost_centre: &'static [CostCentre] = Box::leak(Box::new([CostCentre::new(
            label,
            c"plugin",
            c"plugin.rs:1:1",
            0,
        )]));
        let host: &'static HostSlot = Box::leak(Box::new(HostSlot::new(ptr::null_mut())));
        let object: &'static Object = Box::leak(Box::new(Object {
            size: size_of::<Object>() as u32,
            abi: u32::from(ABI_MAJOR),
            name: label.as_ptr(),
            begin: cost_centre.as_ptr_range().start,
            end: cost_centre.as_ptr_range().end,
            host,
            init: None,
            fini: None,
        }));
        hold(label.as_ptr());
        hold(object);
        hold(host);
        hold(cost_centre.as_ptr());
        // SAFETY: the table is whole, and is never freed.
        assert_ne!(unsafe { evl_object_attach(object) }, 0);
        Loaded {
            object,
            cost_centre: &cost_centre[0],
        }
    }

    fn enter(&self) -> Scope {
        Scope::enter(self.cost_centre)
    }

    fn unload(self) {
        // SAFETY: nobody is within its cost centre any more.
        unsafe { evl_object_detach(self.object) };
    }
}

#[test]
fn a_profile_by_time_says_where_the_threads_are() {
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let profiler = Profiler::builder()
        .time(Duration::from_millis(1))
        .start(&log)
        .unwrap();
    // Relaxed: it is only a wish to end.
    let stop = AtomicBool::new(false);
    let runs = || {
        while !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    };
    let statistics = thread::scope(|scope| {
        scope.spawn(|| {
            scc!("server");
            scc!("parse");
            runs();
        });
        scope.spawn(|| {
            scc!("client");
            runs();
        });
        wait_for("a few ticks", || profiler.statistics().stacks > 40);
        let statistics = profiler.stop();
        stop.store(true, Ordering::Relaxed);
        statistics
    });
    log.stop().unwrap();
    Written::read("profiler-time", &content.bytes());
    let profile = read(&content.bytes());
    assert_eq!(profile.tick_interval, Some(1_000_000));
    assert_eq!((statistics.lost, statistics.heap_samples), (0, 0));
    // Other tests of this program run beside this one, in threads that are sampled, too.
    assert_eq!(profile.ticks.len() as u64, statistics.stacks);
    let last = profile.ticks.last().unwrap().0;
    assert!(last <= statistics.ticks + statistics.late);
    assert!(profile.ticks.is_sorted_by_key(|(tick, ..)| *tick));
    let of = |wanted: &[&str]| -> Vec<(u64, u32)> {
        let ticks = profile.ticks.iter().filter(|(.., stack)| stack == wanted);
        ticks.map(|(tick, cap, _)| (*tick, *cap)).collect()
    };
    let (server, client) = (of(&["parse", "server"]), of(&["client"]));
    assert!(!server.is_empty() && !client.is_empty());
    for thread in [&server, &client] {
        assert!(
            thread.iter().all(|(_, cap)| *cap == thread[0].1),
            "one number"
        );
        assert!(
            thread.is_sorted_by(|(one, _), (next, _)| one < next),
            "once a tick"
        );
    }
    assert_ne!(server[0].1, client[0].1);
}

#[test]
fn a_sample_of_the_heap_says_what_is_live() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let profiler = Profiler::builder()
        .heap(ALLOCATOR.counts(), None)
        .start(&log)
        .unwrap();
    keep(&ALLOCATOR, 8);
    let block = {
        scc!("table");
        keep(&ALLOCATOR, 1_000);
        scc!("row");
        // SAFETY: the size is not 0.
        unsafe { ALLOCATOR.alloc(layout(200)) }
    };
    profiler.sample_heap().unwrap();
    // SAFETY: it was allocated there so.
    unsafe { ALLOCATOR.dealloc(block, layout(200)) };
    let statistics = profiler.stop();
    log.stop().unwrap();
    Written::read("profiler-heap", &content.bytes());
    let profile = read(&content.bytes());
    assert_eq!(profile.period, Some(0), "on demand");
    assert_eq!(
        (statistics.heap_samples, statistics.lost, statistics.ticks),
        (2, 0, 0)
    );
    let stack = |names: &[&str], bytes| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        (names, bytes)
    };
    let mut heap = profile.heap;
    heap.iter_mut().for_each(|sample| sample.sort());
    let first = [
        stack(&[], 8),
        stack(&["row", "table"], 200),
        stack(&["table"], 1_000),
    ];
    assert_eq!(
        heap,
        [first.to_vec(), vec![first[0].clone(), first[2].clone()]]
    );
}

#[test]
fn what_a_full_table_has_no_place_for_is_told_as_others() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let profiler = Profiler::builder()
        .heap(ALLOCATOR.counts(), None)
        .start(&log)
        .unwrap();
    // Stacks of 64 cost centres, two of them each.
    let plugins: Vec<Loaded> = (0..64).map(|_| Loaded::new("many")).collect();
    for outer in &plugins {
        let _outer = outer.enter();
        for inner in &plugins {
            let _inner = inner.enter();
            keep(&ALLOCATOR, 16);
        }
    }
    drop(profiler);
    log.stop().unwrap();
    let counts = ALLOCATOR.counts();
    assert!(counts.others() > 0);
    let sample = &read(&content.bytes()).heap[0];
    assert_eq!(
        sample.iter().map(|(_, bytes)| bytes).sum::<u64>(),
        64 * 64 * 16
    );
    let others = sample
        .iter()
        .find(|(names, _)| names == &["OTHERS"])
        .unwrap();
    assert_eq!(others.1, counts.others() * 16);
    assert_eq!(sample.len(), counts.stacks() + 1);
    plugins.into_iter().for_each(Loaded::unload);
}

#[test]
fn every_sink_defines_what_its_samples_speak_of_whatever_is_loaded_unloaded_and_redirected() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    const SINKS: usize = 40;
    let (sink, content) = Sink::memory();
    let mut contents = vec![content];
    let log = EventLog::builder().sink(sink).unwrap();
    let profiler = Profiler::builder()
        .time(ProfilerBuilder::MINIMUM)
        .heap(ALLOCATOR.counts(), Some(ProfilerBuilder::MINIMUM))
        .start(&log)
        .unwrap();
    // Relaxed: it is only a wish to end.
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Generation after generation of one plugin, each of which leaves something.
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                let plugin = Loaded::new(&format!("generation {round}"));
                {
                    scc!("calls");
                    let _within = plugin.enter();
                    if round < 200 {
                        keep(&ALLOCATOR, 8);
                    }
                    thread::yield_now();
                }
                plugin.unload();
                round += 1;
            }
        });
        let samples = || {
            let statistics = profiler.statistics();
            (statistics.heap_samples, statistics.stacks)
        };
        for _ in 0..SINKS {
            let (heap, stacks) = samples();
            wait_for("a sample of each kind", || {
                let (heap_now, stacks_now) = samples();
                heap_now > heap && stacks_now > stacks
            });
            let (sink, content) = Sink::memory();
            contents.push(content);
            log.set_sink(sink, Previous::Close, Start::Header).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let statistics = profiler.stop();
    log.stop().unwrap();
    let profiles: Vec<Profile> = contents
        .iter()
        .map(|content| read(&content.bytes()))
        .collect();
    assert_eq!((statistics.lost, statistics.heap_failures), (0, 0));
    let heap: usize = profiles.iter().map(|profile| profile.heap.len()).sum();
    let ticks: usize = profiles.iter().map(|profile| profile.ticks.len()).sum();
    assert_eq!(heap as u64, statistics.heap_samples);
    assert_eq!(ticks as u64, statistics.stacks);
    // What was unloaded long ago is told by its name, in the last sink, too.
    let last = profiles.last().unwrap().heap.last().unwrap();
    for generation in [0, 1] {
        let stack = [format!("generation {generation}"), "calls".to_owned()];
        assert!(last.iter().any(|(names, _)| *names == stack), "{last:?}");
    }
    Written::read("profiler-redirected", &contents[SINKS].bytes());
}

#[test]
fn what_was_unloaded_before_a_profile_has_its_name_only_where_the_log_knew_it() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    let logs = [Sink::memory(), Sink::memory()].map(|(sink, content)| {
        let log = EventLog::builder().sink(sink).unwrap();
        (log, content)
    });
    let [(knows, _), (does_not, _)] = &logs;
    registry().define_in(knows);
    let plugin = Loaded::new("gone");
    {
        let _within = plugin.enter();
        keep(&ALLOCATOR, 8);
    }
    plugin.unload();
    for log in [knows, does_not] {
        let profiler = Profiler::builder()
            .heap(ALLOCATOR.counts(), None)
            .start(log)
            .unwrap();
        assert_eq!(profiler.stop().heap_samples, 1);
    }
    let names = logs.map(|(log, content)| {
        log.stop().unwrap();
        read(&content.bytes()).heap[0][0].0.clone()
    });
    assert_eq!(names, [["gone"], ["unloaded"]]);
}

#[test]
fn a_log_that_is_stopped_under_a_profile_ends_with_whole_samples() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    let plugins: Vec<Loaded> = (0..100).map(|_| Loaded::new("one of many")).collect();
    for plugin in &plugins {
        let _within = plugin.enter();
        keep(&ALLOCATOR, 8);
    }
    for _ in 0..30 {
        let (sink, content) = Sink::memory();
        let log = EventLog::builder().sink(sink).unwrap();
        let profiler = Profiler::builder()
            .heap(ALLOCATOR.counts(), Some(ProfilerBuilder::MINIMUM))
            .start(&log)
            .unwrap();
        wait_for("a sample", || profiler.statistics().heap_samples > 0);
        log.stop().unwrap();
        let refused = profiler.sample_heap();
        assert!(matches!(
            refused,
            Err(ProfilerError::Refused(EmitError::Stopped))
        ));
        let statistics = profiler.stop();
        let profile = read(&content.bytes());
        assert_eq!(profile.heap.len() as u64, statistics.heap_samples);
        assert!(profile.heap.iter().all(|sample| sample.len() == 100));
    }
    plugins.into_iter().for_each(Loaded::unload);
}

#[test]
fn a_sink_may_sample_and_stop_the_profiler_that_writes_to_it() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    /// Drops the profiler in the first write that comes when there is one.
    struct Drops(Arc<Mutex<Option<Profiler>>>, Arc<AtomicBool>);
    impl io::Write for Drops {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(profiler) = self.0.lock().unwrap().take() {
                assert!(matches!(profiler.sample_heap(), Err(ProfilerError::Log(_))));
                // Time for its thread to wait for this sink.
                thread::sleep(Duration::from_millis(20));
                drop(profiler);
                // Relaxed: the log is stopped before it is looked at.
                self.1.store(true, Ordering::Relaxed);
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (kept, dropped) = (Arc::default(), Arc::default());
    let log = EventLog::builder()
        .start(Drops(Arc::clone(&kept), Arc::clone(&dropped)))
        .unwrap();
    let profiler = Profiler::builder()
        .time(Duration::from_millis(1))
        .heap(ALLOCATOR.counts(), Some(Duration::from_millis(1)))
        .start(&log)
        .unwrap();
    *kept.lock().unwrap() = Some(profiler);
    log.message("something to write");
    let (to_tell, done) = std::sync::mpsc::channel();
    thread::spawn(move || to_tell.send(log.flush().is_ok() && log.stop().is_ok()));
    assert_eq!(done.recv_timeout(DEADLINE), Ok(true));
    assert!(dropped.load(Ordering::Relaxed));
}

#[test]
fn a_tick_waits_for_who_else_is_sampling_as_unloading_does() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let profiler = Profiler::builder()
        .time(ProfilerBuilder::MINIMUM)
        .start(&log)
        .unwrap();
    wait_for("a tick", || profiler.statistics().ticks > 0);
    let sampling = registry().sampling();
    let before = profiler.statistics().ticks;
    // A hundred ticks, if nothing kept them.
    thread::sleep(100 * ProfilerBuilder::MINIMUM);
    assert_eq!(profiler.statistics().ticks, before);
    drop(sampling);
    wait_for("a tick", || profiler.statistics().ticks > before);
}

#[test]
fn what_cannot_be_profiled_is_refused_with_the_reason() {
    static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let short = Duration::from_micros(49);
    let refusals = [
        (
            Profiler::builder(),
            "neither time nor bytes are to be profiled",
        ),
        (
            Profiler::builder().time(short),
            "49µs between samples is too short: the least is 50µs",
        ),
        (
            Profiler::builder().heap(ALLOCATOR.counts(), Some(Duration::ZERO)),
            "0ns between samples is too short: the least is 50µs",
        ),
        (
            Profiler::builder().time(Duration::MAX),
            "18446744073709551615.999999999s between samples is too long: the most is 18446744073.709551615s",
        ),
    ];
    for (builder, reason) in refusals {
        assert_eq!(builder.start(&log).unwrap_err().to_string(), reason);
    }
    let by_time = Profiler::builder().time(DEADLINE).start(&log).unwrap();
    assert!(matches!(by_time.sample_heap(), Err(ProfilerError::NoHeap)));
    // Though its next tick is far away.
    drop(by_time);
    log.stop().unwrap();
    let refused = Profiler::builder().time(DEADLINE).start(&log).unwrap_err();
    assert!(matches!(
        refused,
        ProfilerError::Refused(EmitError::Stopped)
    ));
}
