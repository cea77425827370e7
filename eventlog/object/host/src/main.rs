//! Calls an object over and over, and loads it anew whenever its file has changed, while it runs. The log has
//! the cost centres of every generation, and samples of which it was in.
//!
//!     cargo build -p sample-object
//!     cargo run --bin hot_reload -- target/debug/libsample_object.so hot_reload.eventlog
//!
//! Then, in another terminal, edit `eventlog/object/sample/src/lib.rs`, say the name of a cost centre, and
//! build it again. Ctrl-C ends the program; so does a third argument, after so many seconds.

use ghc_eventlog::EventLog;
use ghc_eventlog::format::{CostCentreStack, Event};
use ghc_eventlog::objects::{LoadOptions, Object, Objects, Symbol, registry, stack};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, thread};

type Run = unsafe extern "C" fn(u64) -> u64;

/// How often samples are taken, and how often the file is looked at.
const TICK: Duration = Duration::from_millis(1);
const LOOK: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let usage = "usage: hot_reload OBJECT.so LOG.eventlog [SECONDS]";
    let (object, log) = arguments.next().zip(arguments.next()).ok_or(usage)?;
    let seconds = match arguments.next() {
        Some(text) => text
            .to_str()
            .and_then(|text| text.parse().ok())
            .ok_or(usage)?,
        None => u64::MAX,
    };
    let log = EventLog::builder().file(log)?;
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        // Relaxed: a wish to end.
        let sampler = scope.spawn(|| sample(&log, &stop));
        let outcome = reload(&object, &log, Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        sampler.join().expect("the sampler panicked");
        outcome
    });
    let statistics = log.stop()?;
    println!(
        "{} events, {} lost",
        statistics.events(),
        statistics.lost().total()
    );
    outcome
}

/// One generation of the object.
struct Generation {
    object: Object,
    run: Symbol<Run>,
    /// When its file was written.
    written: SystemTime,
}

impl Generation {
    fn load(path: &Path, objects: Objects) -> Result<Self, Box<dyn Error>> {
        let written = fs::metadata(path)
            .and_then(|file| file.modified())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: whoever names the object says that it keeps the contract.
        let object = unsafe { objects.load(path, LoadOptions::new()) }?;
        // SAFETY: as above, and this is the function's type in every generation.
        let run = unsafe { object.symbol(c"sample_run") }?;
        let labels: Vec<&str> = object
            .cost_centres()
            .cost_centres()
            .iter()
            .map(|cost_centre| &*cost_centre.label)
            .collect();
        println!("generation {}: {}", object.id(), labels.join(", "));
        Ok(Generation {
            object,
            run,
            written,
        })
    }

    fn call(&self) -> u64 {
        let entered = self.object.enter().expect("nobody else unloads it");
        // SAFETY: the function takes any number.
        unsafe { entered.get(&self.run)(50_000) }
    }
}

/// Calls the object until the time is over, always in its newest generation.
fn reload(path: &Path, log: &EventLog, time: Duration) -> Result<(), Box<dyn Error>> {
    let objects = Objects::with_log(log);
    let begin = Instant::now();
    let mut current = Generation::load(path, objects)?;
    let mut looked = Instant::now();
    while begin.elapsed() < time {
        std::hint::black_box(current.call());
        if looked.elapsed() < LOOK {
            continue;
        }
        looked = Instant::now();
        // While it is being written anew it may be missing, or half there, for a moment.
        let Ok(written) = fs::metadata(path).and_then(|file| file.modified()) else {
            continue;
        };
        if written == current.written {
            continue;
        }
        match Generation::load(path, objects) {
            Ok(new) => {
                let old = std::mem::replace(&mut current, new);
                println!(
                    "generation {}: {}",
                    old.object.id(),
                    old.object.unload(LOOK)?
                );
            }
            Err(error) => {
                println!("the old generation goes on: {error}");
                if let Some(source) = error.source() {
                    println!("  {source}");
                }
                current.written = written;
            }
        }
    }
    let outcome = current.object.unload(LOOK)?;
    println!("the last generation: {outcome}");
    Ok(())
}

/// Tells the log in which cost centres each thread is, a thousand times a second.
fn sample(log: &EventLog, stop: &AtomicBool) {
    let tick_interval_ns = TICK.as_nanos() as u64;
    log.emit(&Event::ProfBegin { tick_interval_ns });
    for tick in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let sampling = registry().sampling();
        stack::each(|stack| {
            let cap = stack.thread();
            let stack = CostCentreStack::innermost(stack.ids());
            log.emit(&Event::ProfSampleCostCentre { cap, tick, stack });
        });
        drop(sampling);
        thread::sleep(TICK);
    }
}
