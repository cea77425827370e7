//! How long an event takes at worst, while readers come and go, hang, and sinks change, beside what the same work of the
//! processor does to it when no reader has to do with it.

use ghc_eventlog::format::Event;
use ghc_eventlog::{AttachOptions, Clock, EventLog, Previous, ReaderId, Sink, Start};
use std::collections::VecDeque;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Rounds where `--rounds` does not say otherwise.
const ROUNDS: usize = 11;
/// Events of a sample.
const EVENTS: usize = 200_000;
/// Nanoseconds from one event to the next.
const PERIOD: u64 = 1_000;
/// Things that are done in a sample, beside the events, at even distances.
const ACTIONS: u32 = 100;
/// The shares of events that are told, in events of 10,000.
const SHARES: [usize; 4] = [5_000, 9_900, 9_990, 9_999];

/// What goes on beside the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Nothing, and no event is emitted either: what measuring takes.
    Measuring,
    Nothing,
    /// Readers are attached and detached.
    Readers,
    /// A reader is attached that takes nothing.
    StuckReader,
    Redirections,
    /// A thread that works as long as the readers did.
    Work,
    /// Threads that come and go, and work as long as the readers did.
    Threads,
}

const BESIDE: [(Beside, &str); 7] = [
    (Beside::Measuring, "no event"),
    (Beside::Nothing, "alone"),
    (Beside::Readers, "100 readers come and go"),
    (Beside::StuckReader, "a reader hangs"),
    (Beside::Redirections, "100 redirections"),
    (Beside::Work, "control: a thread works"),
    (Beside::Threads, "control: 100 threads"),
];

/// Where the threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The thread that emits has the first core for itself.
    Apart,
    /// Wherever the system puts them.
    Anywhere,
}

/// What came of one sample.
struct Sample {
    /// Nanoseconds at each of the shares, and the most.
    times: [f64; SHARES.len() + 1],
    /// Time of the processor, in seconds.
    work: f64,
    lost: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let told = arguments.iter().position(|word| word == "--rounds");
    let rounds = match told.and_then(|place| arguments.get(place + 1)) {
        Some(number) => number.parse().expect("--rounds has a number"),
        // Tests only see whether it runs.
        None if !arguments.iter().any(|word| word == "--bench") => 1,
        None => ROUNDS,
    };
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if cores.len() < 2 {
        println!("{} core can be used, and two are needed", cores.len());
        return;
    }
    for place in [Place::Apart, Place::Anywhere] {
        let mut samples: Vec<Vec<Sample>> = BESIDE.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (index, (beside, _)) in BESIDE.iter().enumerate() {
                let mean = |of: Beside| {
                    let index = BESIDE.iter().position(|(other, _)| *other == of);
                    let samples = &samples[index.expect("it is one of them")];
                    samples.iter().map(|sample| sample.work).sum::<f64>() / samples.len() as f64
                };
                let work = match beside {
                    Beside::Work | Beside::Threads => {
                        let more = mean(Beside::Readers) - mean(Beside::Nothing);
                        Duration::from_secs_f64(more.max(0.0)) / ACTIONS
                    }
                    _ => Duration::ZERO,
                };
                // What is started in there inherits the core.
                let sample = thread::scope(|scope| {
                    let take = scope.spawn(|| take_sample(*beside, place, work, &cores));
                    take.join().expect("nothing fails")
                });
                samples[index].push(sample);
            }
        }
        report(place, &samples);
    }
}

fn pin(place: Place, core: core_affinity::CoreId) {
    if place == Place::Apart {
        // Only Linux is known to keep a thread there; elsewhere both tables show the same.
        core_affinity::set_for_current(core);
    }
}

/// Emits, and does beside it what is to be done.
fn take_sample(
    beside: Beside,
    place: Place,
    work: Duration,
    cores: &[core_affinity::CoreId],
) -> Sample {
    pin(place, cores[1]);
    let log = EventLog::builder()
        .sink(Sink::null())
        .expect("memory is there");
    let mut capability = log.capability().expect("memory is there");
    let mut actions = Actions::new(&log, beside, work);
    // Its pages are there before the time is taken.
    let mut times = vec![u32::MAX; EVENTS];
    let before = processor_seconds();
    thread::scope(|scope| {
        let emitting = scope.spawn(|| {
            pin(place, cores[0]);
            let clock = Clock::new();
            let text = black_box("sixteen bytes...");
            let mut due = clock.now();
            for time in &mut times {
                let mut start = clock.now();
                while start < due {
                    start = clock.now();
                }
                if beside != Beside::Measuring {
                    capability.emit(&Event::UserMessage { text });
                }
                let end = clock.now();
                *time = u32::try_from(end - start).unwrap_or(u32::MAX);
                // Where the thread was away, what it has missed is not made up for.
                due = (due + PERIOD).max(end);
            }
        });
        let start = Instant::now();
        let distance = Duration::from_nanos(PERIOD * EVENTS as u64) / ACTIONS;
        for number in 1..=ACTIONS {
            actions.act();
            thread::sleep((start + distance * number).saturating_duration_since(Instant::now()));
        }
        emitting.join().expect("emitting does not fail");
    });
    let work = processor_seconds() - before;
    actions.end();
    drop(capability);
    let statistics = log.stop().expect("the sink takes everything");
    times.sort_unstable();
    let at = |share: usize| f64::from(times[EVENTS / 10_000 * share]);
    let [half, p99, p999, p9999] = SHARES.map(at);
    Sample {
        times: [half, p99, p999, p9999, f64::from(times[EVENTS - 1])],
        work,
        lost: statistics.lost().total(),
    }
}

/// What is done beside the events.
struct Actions<'a> {
    log: &'a EventLog,
    beside: Beside,
    work: Duration,
    readers: VecDeque<ReaderId>,
    /// What the reader that hangs waits for.
    hanging: Option<Sender<()>>,
}

/// Hangs until the other end is gone.
struct Stuck(Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An error is what it waits for.
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Actions<'a> {
    fn new(log: &'a EventLog, beside: Beside, work: Duration) -> Self {
        let mut actions = Actions {
            log,
            beside,
            work,
            readers: VecDeque::new(),
            hanging: None,
        };
        if beside == Beside::StuckReader {
            let (sender, receiver) = channel();
            actions.hanging = Some(sender);
            actions.attach(Stuck(receiver));
        }
        actions
    }

    fn attach(&mut self, writer: impl Write + Send + 'static) {
        let attached = self.log.attach(writer, AttachOptions::default());
        self.readers
            .push_back(attached.expect("a thread can be had"));
    }

    fn act(&mut self) {
        match self.beside {
            Beside::Measuring | Beside::Nothing | Beside::StuckReader => {}
            Beside::Readers => {
                self.attach(io::sink());
                if self.readers.len() > 2 {
                    self.detach();
                }
            }
            Beside::Redirections => {
                let outcome = self
                    .log
                    .set_sink(Sink::null(), Previous::Close, Start::Header);
                outcome.expect("the sinks take everything");
            }
            Beside::Work => work_for(self.work),
            Beside::Threads => {
                let work = self.work;
                let thread = thread::spawn(move || work_for(work));
                thread.join().expect("it does not fail");
            }
        }
    }

    fn detach(&mut self) {
        if let Some(reader) = self.readers.pop_front() {
            let detached = self.log.detach(reader).expect("the log is this process's");
            assert!(detached.is_some(), "a reader has failed");
        }
    }

    fn end(mut self) {
        self.hanging = None;
        while !self.readers.is_empty() {
            self.detach();
        }
    }
}

/// Works so long, the time left out for which the thread has no core.
fn work_for(time: Duration) {
    let mut done = Duration::ZERO;
    let mut last = Instant::now();
    while done < time {
        let now = Instant::now();
        // Who was away longer than this had no core.
        done += (now - last).min(Duration::from_micros(10));
        last = now;
    }
}

/// Seconds of the processor that this process has had; 0 where the system does not say so.
fn processor_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let state = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may be anything: user and system time are the 12th and 13th.
    let words = state.rsplit(") ").next().unwrap_or_default();
    let ticks = words.split(' ').skip(11).take(2);
    let ticks = ticks.filter_map(|word| word.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_A_SECOND
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn report(place: Place, samples: &[Vec<Sample>]) {
    println!();
    match place {
        Place::Apart => println!("the thread that emits has a core for itself"),
        Place::Anywhere => println!("all threads wherever the system puts them"),
    }
    println!(
        "medians of {} rounds of {EVENTS} events, in ns; ratios within a round",
        samples[0].len()
    );
    println!(
        "| {:<24} | {:>5} | {:>5} | {:>6} | {:>7} | {:>8} | {:>9} | {:>14} | {:>16} | {:>9} | {:>6} |",
        "beside",
        "p50",
        "p99",
        "p99.9",
        "p99.99",
        "max",
        "worst max",
        "p99.9 of alone",
        "p99.9 of control",
        "CPU ms",
        "lost"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let of = |wanted: Beside| {
        let index = BESIDE.iter().position(|(beside, _)| *beside == wanted);
        &samples[index.expect("it is one of them")]
    };
    for ((_, name), own) in BESIDE.iter().zip(samples) {
        let times: Vec<f64> = (0..SHARES.len() + 1)
            .map(|index| median(own.iter().map(|sample| sample.times[index]).collect()))
            .collect();
        let worst = own.iter().map(|sample| sample.times[SHARES.len()]);
        let ratio = |to: &[Sample]| {
            let pairs = own.iter().zip(to);
            median(pairs.map(|(a, b)| a.times[2] / b.times[2]).collect())
        };
        let work = own.iter().map(|sample| sample.work).sum::<f64>() / own.len() as f64;
        println!(
            "| {name:<24} | {:>5} | {:>5} | {:>6} | {:>7} | {:>8} | {:>9} | {:>14.2} | {:>16.2} | {:>9.0} | {:>6} |",
            times[0],
            times[1],
            times[2],
            times[3],
            times[4],
            worst.fold(0.0, f64::max),
            ratio(of(Beside::Nothing)),
            ratio(of(Beside::Work)),
            work * 1_000.0,
            own.iter().map(|sample| sample.lost).sum::<u64>(),
        );
    }
}
