//! A parallel job that profiles itself: a pool of threads indexes the words of a text corpus, and
//! every thread logs what it does. Writes `live_profile.eventlog` to the current directory.
//!
//! ```text
//! cargo run --release --example live_profile            # a corpus made up on the spot
//! cargo run --release --example live_profile -- DIR     # the text files below DIR
//! ```

use ghc_eventlog::format::{Decoder, Event, Record, StopStatus, ThreadId};
use ghc_eventlog::{BufferStatistics, Capability, CapabilityError, EventLog, Statistics};
use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const LOG: &str = "live_profile.eventlog";

fn main() -> ExitCode {
    let Err(error) = run() else {
        return ExitCode::SUCCESS;
    };
    eprint!("live_profile: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprint!(": {error}");
        cause = error.source();
    }
    eprintln!();
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let log = EventLog::builder().file(LOG)?;

    // The main thread logs like any other.
    let mut main = Worker::start(&log, 1, "main")?;
    main.capability.marker("corpus");
    let (source, corpus) = match std::env::args_os().nth(1) {
        Some(directory) => read_corpus(Path::new(&directory))?,
        None => ("made-up documents".to_owned(), make_corpus(2_000)),
    };
    let workers = thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));

    main.capability.marker("index");
    // All of them before the first one can end: its number would be free for the next.
    let staff: Result<Vec<_>, _> = (0..workers)
        .map(|number| Worker::start(&log, number as u32 + 2, &format!("indexer {number}")))
        .collect();
    let staff = staff?;
    let next = AtomicUsize::new(0);
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = staff
            .into_iter()
            .map(|worker| scope.spawn(|| index(worker, &corpus, &next)))
            .collect();
        // The scheduler's view: this thread waits for the others.
        main.pause(StopStatus::BlockedOnMVar);
        let parts: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().expect("an indexer panicked"))
            .collect();
        main.resume();
        parts
    });

    main.capability.marker("merge");
    let index = merge(parts);
    main.capability.marker("done");
    main.finish();

    let statistics = log.stop()?;
    let in_file = count_events(&fs::read(LOG)?)?;
    print_job(&source, &corpus, &index, workers, started);
    print_log(&statistics, in_file);
    Ok(())
}

/// A thread of the job, as the log knows it.
struct Worker {
    capability: Capability,
    thread: ThreadId,
}

impl Worker {
    fn start(log: &EventLog, number: u32, label: &str) -> Result<Self, CapabilityError> {
        let mut capability = log.capability()?;
        let thread = ThreadId(number);
        capability.emit(&Event::CreateThread { thread });
        capability.emit(&Event::ThreadLabel { thread, label });
        capability.emit(&Event::RunThread { thread });
        Ok(Worker { capability, thread })
    }

    fn pause(&mut self, status: StopStatus) {
        let thread = self.thread;
        self.capability.emit(&Event::StopThread {
            thread,
            status,
            info: 0,
        });
    }

    fn resume(&mut self) {
        self.capability.emit(&Event::RunThread {
            thread: self.thread,
        });
    }

    fn finish(mut self) {
        self.pause(StopStatus::Finished);
    }
}

/// Occurrences of a word, and the documents it stands in.
#[derive(Default)]
struct Entry {
    occurrences: usize,
    documents: Vec<u32>,
}

type Index = HashMap<String, Entry>;

/// Indexes documents as long as there are any. Each is a work item, a stretch of running in the log.
fn index(mut worker: Worker, corpus: &[String], next: &AtomicUsize) -> Index {
    let mut index = Index::new();
    worker.capability.marker("first document");
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(document) = corpus.get(number) else {
            break;
        };
        let words = index_document(&mut index, number as u32, document);
        worker
            .capability
            .message(&format!("document {number}: {words} words"));
        worker.pause(StopStatus::Yielding);
        worker.resume();
    }
    worker.capability.marker("no document left");
    worker.finish();
    index
}

fn index_document(index: &mut Index, number: u32, document: &str) -> usize {
    let mut words = 0;
    for word in document
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        words += 1;
        let word = word.to_lowercase();
        let entry = index.entry(word).or_default();
        entry.occurrences += 1;
        if entry.documents.last() != Some(&number) {
            entry.documents.push(number);
        }
    }
    words
}

fn merge(parts: Vec<Index>) -> Index {
    let mut whole = Index::new();
    for (word, part) in parts.into_iter().flatten() {
        let entry = whole.entry(word).or_default();
        entry.occurrences += part.occurrences;
        entry.documents.extend(part.documents);
    }
    whole
}

/// The text files below `directory`.
fn read_corpus(directory: &Path) -> Result<(String, Vec<String>), Box<dyn Error>> {
    let mut corpus = Vec::new();
    let mut directories = vec![PathBuf::from(directory)];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                corpus.push(text);
            }
        }
    }
    if corpus.is_empty() {
        return Err(format!("{}: no text file found", directory.display()).into());
    }
    Ok((format!("files below {}", directory.display()), corpus))
}

/// Documents of made-up words, some of them frequent and most of them rare, as in real text.
fn make_corpus(documents: usize) -> Vec<String> {
    const SYLLABLES: [&str; 16] = [
        "an", "ber", "co", "da", "el", "fi", "gor", "ha", "in", "ka", "lu", "mo", "ne", "os", "ri",
        "tu",
    ];
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = move |below: u64| {
        // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators".
        random ^= random >> 12;
        random ^= random << 25;
        random ^= random >> 27;
        ((random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) * below) >> 32
    };
    (0..documents)
        .map(|_| {
            let words = 500 + draw(1_500);
            let mut text = String::with_capacity(words as usize * 7);
            for _ in 0..words {
                // Each word about as often as its rank says: Zipf's law.
                let share = draw(1 << 20) as f64 / (1 << 20) as f64;
                let mut word = 40_000_f64.powf(share) as u64 - 1;
                loop {
                    text.push_str(SYLLABLES[(word % 16) as usize]);
                    word /= 16;
                    if word == 0 {
                        break;
                    }
                }
                text.push(' ');
            }
            text
        })
        .collect()
}

/// Reads the log back, strictly, and counts its events. Block markers are not counted.
fn count_events(mut log: &[u8]) -> Result<u64, Box<dyn Error>> {
    let mut decoder = Decoder::new();
    let mut events = 0;
    while let Some(record) = decoder.next(&mut log)? {
        events += u64::from(matches!(record, Record::Event(_)));
    }
    decoder.finish()?;
    Ok(events)
}

fn print_job(source: &str, corpus: &[String], index: &Index, workers: usize, started: Instant) {
    let bytes: usize = corpus.iter().map(String::len).sum();
    println!(
        "Indexed {} {source} ({}) with {workers} threads in {:.0} ms.",
        corpus.len(),
        size(bytes as u64),
        started.elapsed().as_secs_f64() * 1e3,
    );
    let mut words: Vec<_> = index.iter().collect();
    words.sort_by(|a, b| b.1.occurrences.cmp(&a.1.occurrences).then(a.0.cmp(b.0)));
    let top: Vec<_> = words
        .iter()
        .take(3)
        .map(|(word, entry)| {
            format!(
                "{word} ({} times in {} documents)",
                entry.occurrences,
                entry.documents.len()
            )
        })
        .collect();
    println!(
        "{} different words; most frequent: {}.",
        index.len(),
        top.join(", ")
    );
}

fn print_log(statistics: &Statistics, in_file: u64) {
    println!();
    println!("  capability       events       bytes   blocks    lost");
    let row = |name: String, buffer: &BufferStatistics| {
        println!(
            "  {name:<13}  {:>8}  {:>10}  {:>7}  {:>6}",
            buffer.events,
            size(buffer.bytes),
            buffer.blocks,
            buffer.lost.total(),
        );
    };
    for buffer in &statistics.capabilities {
        let number = buffer.capability.map_or(0, |cap| cap.get());
        let name = if number == 0 {
            "main".to_owned()
        } else {
            format!("indexer {}", number - 1)
        };
        row(format!("{number} {name}"), buffer);
    }
    row("shared".into(), &statistics.shared);
    println!();
    let lost = statistics.lost().total();
    println!(
        "{LOG}: {} in {} blocks over {:.0} ms; {in_file} events read back, {}.",
        size(statistics.bytes_written),
        statistics.blocks,
        statistics.elapsed.as_secs_f64() * 1e3,
        if lost == 0 {
            "none lost".to_owned()
        } else {
            format!("{lost} lost")
        },
    );
    println!();
    println!("Look at it:");
    println!("  cargo run --release --bin eventlog -- stats {LOG}");
    println!("  cargo run --release --bin eventlog -- show --limit 20 {LOG}");
    println!(
        "or open it in ThreadScope: each capability is a row, each document a stretch of green."
    );
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
