//! A program that profiles itself, by time and by live bytes: two threads index the words of made-up documents, in cost
//! centres. Writes `profiled.eventlog` to the current directory.
//!
//! ```text
//! cargo run --release --features ghc-eventlog/objects --example profiled
//! cargo run --release --bin eventlog -- stats profiled.eventlog
//! cargo run --release --bin eventlog -- flamegraph profiled.eventlog -o time.svg
//! cargo run --release --bin eventlog -- flamegraph --bytes profiled.eventlog -o bytes.svg
//! ```

use ghc_eventlog::EventLog;
use ghc_eventlog::objects::{ProfiledAllocator, Profiler};
use ghc_eventlog_object::{object, scc};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

// Cost centres belong to an object. This one is the program itself, which registers them when it starts.
object!("profiled", register);

// Counts what is live, by the cost centres that allocated it.
#[global_allocator]
static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

const LOG: &str = "profiled.eventlog";

fn main() -> Result<(), Box<dyn Error>> {
    let log = EventLog::builder().file(LOG)?;
    let profiler = Profiler::builder()
        .time(Duration::from_millis(1))
        .heap(ALLOCATOR.counts(), Some(Duration::from_millis(20)))
        .start(&log)?;
    let words = std::thread::scope(|scope| {
        let threads = [0, 1].map(|half| scope.spawn(move || count(half)));
        let counts = threads.map(|thread| thread.join().expect("a thread panicked"));
        merge(counts)
    });
    let statistics = profiler.stop();
    log.stop()?;
    println!(
        "{words} different words. {LOG}: {} ticks, {} late, {} stacks; {} samples of the heap; {} lost.",
        statistics.ticks,
        statistics.late,
        statistics.stacks,
        statistics.heap_samples,
        statistics.lost,
    );
    println!("Look at it:");
    println!("  cargo run --release --bin eventlog -- stats {LOG}");
    println!("  cargo run --release --bin eventlog -- flamegraph {LOG} -o time.svg");
    println!("  cargo run --release --bin eventlog -- flamegraph --bytes {LOG} -o bytes.svg");
    Ok(())
}

type Counts = BTreeMap<String, u64>;

/// Counts the words of every other document.
fn count(half: u64) -> Counts {
    scc!("count");
    let mut counts = Counts::new();
    for number in (half..400).step_by(2) {
        let document = document(number);
        index(&mut counts, &document);
    }
    counts
}

/// A document of made-up words.
fn document(number: u64) -> String {
    scc!("document");
    let mut random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut text = String::new();
    for _ in 0..2_000 {
        // xorshift64: Marsaglia, "Xorshift RNGs".
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Of the products of two numbers, the small ones are frequent, as some words are.
        let word = (random % 200) * (random >> 32 & 0xff) * (random >> 52 & 0x3);
        text.push_str(&spelled(word));
        text.push(' ');
    }
    text
}

fn spelled(mut word: u64) -> String {
    scc!("spelled");
    const SYLLABLES: [&str; 8] = ["an", "ber", "co", "da", "el", "fi", "gor", "ha"];
    let mut text = String::new();
    loop {
        text.push_str(SYLLABLES[(word % 8) as usize]);
        word /= 8;
        if word == 0 {
            return text;
        }
    }
}

fn index(counts: &mut Counts, document: &str) {
    scc!("index");
    for word in document.split_whitespace() {
        let word = {
            scc!("uppercase");
            word.to_uppercase()
        };
        *counts.entry(word).or_default() += 1;
    }
}

fn merge(parts: [Counts; 2]) -> usize {
    scc!("merge");
    let mut whole = Counts::new();
    for (word, count) in parts.into_iter().flatten() {
        *whole.entry(word).or_default() += count;
    }
    whole.len()
}
