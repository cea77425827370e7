//! A program that looks at its own event log while it runs. Its log stays in memory; a thread of its own pops
//! it chunk by chunk, and finds out how long the workers had to wait for each other, and when it was worst.
//!
//! ```text
//! cargo run --release --example in_memory
//! ```

use ghc_eventlog::format::{CapNo, Decoded, Decoder, Event, Record, StopStatus, ThreadId};
use ghc_eventlog::{Capability, Chunks, EventLog, NoChunk, WhenFull};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const WORKERS: u32 = 4;
const ROUNDS: u64 = 30_000;

/// Bytes of memory for chunks, popped ones included.
const BUDGET: usize = 4 << 20;

/// How many pauses are shown.
const SHOWN: usize = 5;

fn main() -> Outcome<()> {
    let (log, chunks) = EventLog::builder().in_memory(BUDGET, WhenFull::DropNewest)?;
    let watcher = thread::spawn({
        let log = log.clone();
        move || watch(&log, &chunks)
    });

    let workers: Result<Vec<_>, _> = (1..=WORKERS).map(|_| log.capability()).collect();
    let workers = workers?;
    let statistics = log.statistics();
    let buffers = statistics.capabilities.iter().chain([&statistics.shared]);
    let buffers = buffers.map(|buffer| buffer.memory).sum::<usize>();
    let account = Mutex::new(0);
    thread::scope(|scope| {
        for (number, capability) in (1..).zip(workers) {
            let account = &account;
            scope.spawn(move || work(ThreadId(number), capability, account));
        }
    });
    let statistics = log.stop()?;
    let pauses = watcher.join().map_err(|_| "the watcher panicked")??;
    pauses.print();
    println!(
        "{} events, {} lost; a budget of {} for chunks, and buffers that began with {}",
        statistics.events(),
        statistics.lost().total(),
        size(BUDGET),
        size(buffers)
    );
    Ok(())
}

/// Computes a little, and books the result to an account that all workers share.
fn work(thread: ThreadId, mut capability: Capability, account: &Mutex<u64>) {
    capability.emit(&Event::CreateThread { thread });
    capability.emit(&Event::RunThread { thread });
    for round in 0..ROUNDS {
        let result = compute(round);
        let mut account = match account.try_lock() {
            Ok(account) => account,
            Err(_) => {
                let status = StopStatus::BlockedOnMVar;
                capability.emit(&Event::StopThread {
                    thread,
                    status,
                    info: 0,
                });
                let account = account.lock().expect("no worker panics");
                capability.emit(&Event::RunThread { thread });
                account
            }
        };
        *account = compute(result ^ *account);
        drop(account);
        capability.message("booked");
    }
    let status = StopStatus::Finished;
    capability.emit(&Event::StopThread {
        thread,
        status,
        info: 0,
    });
}

/// Takes some microseconds.
fn compute(start: u64) -> u64 {
    (0..1_000).fold(start, |sum, n| {
        std::hint::black_box(sum ^ n).wrapping_mul(31)
    })
}

/// What the log told so far.
#[derive(Default)]
struct Pauses {
    /// When each thread stopped.
    stopped: HashMap<ThreadId, u64>,
    count: u64,
    total: u64,
    /// By length, in nanoseconds: whose it was, and when it began.
    longest: BTreeMap<u64, (ThreadId, u64)>,
    /// Bytes popped while the program was running, and chunks.
    bytes: usize,
    chunks: usize,
    events: BTreeMap<Option<CapNo>, u64>,
}

/// Takes chunks as they come, until the log has ended.
fn watch(log: &EventLog, chunks: &Chunks) -> Outcome<Pauses> {
    let mut pauses = Pauses::default();
    let mut decoder = Decoder::new();
    // A reader is given the header once, and then any number of chunks.
    pauses.read(&mut decoder, &chunks.header())?;
    loop {
        match chunks.wait_chunk(Duration::from_millis(50)) {
            Ok(chunk) => {
                pauses.read(&mut decoder, &chunk)?;
                pauses.bytes += chunk.len();
                pauses.chunks += 1;
            }
            Err(NoChunk::Finished) => return Ok(pauses),
            // No thread has filled a chunk lately: what there is will do. (Refused where the budget is used
            // up, which the next chunk changes.)
            Err(_) => drop(log.flush()),
        }
    }
}

impl Pauses {
    fn read(&mut self, decoder: &mut Decoder, mut bytes: &[u8]) -> Outcome<()> {
        while let Some(record) = decoder.next(&mut bytes)? {
            let Record::Event(event) = record else {
                continue;
            };
            *self.events.entry(event.cap).or_default() += 1;
            match event.decode()? {
                Decoded::Known(Event::StopThread { thread, .. }) => {
                    self.stopped.insert(thread, event.time);
                }
                Decoded::Known(Event::RunThread { thread }) => {
                    if let Some(begin) = self.stopped.remove(&thread) {
                        self.add(thread, begin, event.time - begin);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, thread: ThreadId, begin: u64, length: u64) {
        self.count += 1;
        self.total += length;
        self.longest.insert(length, (thread, begin));
        if self.longest.len() > SHOWN {
            self.longest.pop_first();
        }
    }

    fn print(&self) {
        println!("popped {} chunks, {}:", self.chunks, size(self.bytes));
        for (cap, events) in &self.events {
            match cap {
                Some(cap) => println!("  {events:>8} events of capability {}", cap.get()),
                None => println!("  {events:>8} events of none"),
            }
        }
        println!(
            "{} waits for the account, {} in all; the longest:",
            self.count,
            time(self.total)
        );
        for (length, (thread, begin)) in self.longest.iter().rev() {
            println!(
                "  {:>12}  thread {} at {}",
                time(*length),
                thread.0,
                time(*begin)
            );
        }
    }
}

fn time(nanoseconds: u64) -> String {
    format!("{:?}", Duration::from_nanos(nanoseconds))
}

fn size(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
