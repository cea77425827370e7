//! A program that says what it does with three macros, and nothing else: workers count the primes of
//! ranges that they are handed. Writes `trace_macros.eventlog` to the current directory, or to the
//! path that is given.
//!
//! ```text
//! cargo run --release --example trace_macros
//! cargo run --release --bin eventlog -- show trace_macros.eventlog
//! ```

use ghc_eventlog::{EventLog, trace, trace_event, trace_marker, trace_span};
use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

const WORKERS: usize = 3;
const RANGES: u32 = 24;
const NUMBERS: u32 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("trace_macros.eventlog"), PathBuf::from);
    trace::install(EventLog::builder().file(&path)?)?;
    let primes = count();
    trace_marker!("done: {primes} primes");

    // The last handle that is left writes the rest, and tells what became of the events.
    let log = trace::uninstall().ok_or("the log has been taken away")?;
    let statistics = log.stop()?;
    println!(
        "{primes} primes below {}; {} events in {}, {} lost",
        RANGES * NUMBERS,
        statistics.events(),
        path.display(),
        statistics.lost().total()
    );
    Ok(())
}

/// Hands ranges out to workers, and adds up what they have found.
fn count() -> usize {
    trace_marker!("start");
    let (sender, ranges) = channel();
    let ranges = Mutex::new(ranges);
    let workers = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let ranges = &ranges;
                // The log knows a thread by the name that it is spawned with.
                let builder = thread::Builder::new().name(format!("worker {number}"));
                builder.spawn_scoped(scope, || work(ranges))
            })
            .collect();
        for range in 0..RANGES {
            let start = range * NUMBERS;
            trace_event!("range {range} of {RANGES}");
            // The receiver is there until this function returns.
            let _ = sender.send(start..start + NUMBERS);
        }
        drop(sender);
        // A gap in this thread's bar, for as long as it has nothing to do.
        let _waiting = trace::blocked();
        let join = |worker: thread::ScopedJoinHandle<'_, usize>| worker.join().unwrap_or(0);
        workers
            .into_iter()
            .filter_map(Result::ok)
            .map(join)
            .collect::<Vec<_>>()
    });
    workers.iter().sum()
}

fn work(ranges: &Mutex<Receiver<Range<u32>>>) -> usize {
    let mut found = 0;
    loop {
        let range = {
            let _waiting = trace::blocked();
            let Ok(ranges) = ranges.lock() else {
                return found;
            };
            match ranges.recv() {
                Ok(range) => range,
                Err(_) => return found,
            }
        };
        let _span = trace_span!("count");
        let primes = range.clone().filter(|&number| is_prime(number)).count();
        trace_event!("{range:?}: {primes} primes");
        found += primes;
    }
}

fn is_prime(number: u32) -> bool {
    let divisors = (2..).take_while(|divisor| divisor * divisor <= number);
    number > 1 && divisors.into_iter().all(|divisor| number % divisor != 0)
}
