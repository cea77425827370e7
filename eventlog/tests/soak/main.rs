//! Everything that can be done to a running log, again and again at full rate: no event goes missing that is not told of,
//! and no memory stays behind.
//!
//! The test takes two seconds. For a soak it is told how many:
//!
//! ```console
//! EVENTLOG_SOAK_SECONDS=600 cargo test --release -p ghc-eventlog --test soak -- --nocapture
//! ```

mod checked;
mod memory;

use checked::{Check, Content, Gate, Manner, Mannered, Numbered, SinkNo, lock};
use ghc_eventlog::format::Event;
use ghc_eventlog::{
    AttachOptions, Capability, EmitError, EventLog, Policy, Previous, ReaderId, Sink, Start,
    StickyId,
};
use memory::{Counting, Memory};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Capabilities that are written all the time. Their numbers are the first ones.
const LASTING: u16 = 2;
/// Bytes of a buffer where it is measured what the log takes.
const SIZE: usize = 1 << 18;
/// Bytes that buffers are resized to.
const SIZES: [usize; 5] = [65_571, 100_000, SIZE, 1 << 20, 2 << 20];
/// Readers at a time.
const READERS: usize = 4;
/// Bytes of the largest buffer's chunks: when as much has been written, none of the old size is written to.
const OLD_CHUNKS: u64 = 2 << 20;
/// Bytes that the chunks of all buffers may take beyond their size, the shared one's twice its size.
const ALLOWANCE: usize = 16 * 1024;
/// Threads that write to the shared buffer now and then, beside the one that does all the time. Each may have
/// made a chunk that another was faster with, and which waits in the ring's pool.
const OTHERS: usize = 2;
/// Bytes of a reader's queue.
const QUEUE: usize = 1 << 20;
/// Sinks that are kept to be continued.
const SAVED: usize = 3;
/// Rounds that are made in any case, the first of which is not measured.
const ROUNDS: usize = 4;
/// Bytes that may be in use more than at another time when all is at rest: those chunks, and some pieces that are small.
const MORE: usize = OTHERS * SIZE + 64 * 1024;
/// Passes after which the collector has given back what it copied a full buffer to: some more than two of its looks at
/// that memory, of which each pass makes at least one.
const IDLE_PASSES: usize = 150;
/// Pieces of memory that may be in use more than at another time.
const FEW: usize = 16;
/// Bytes that a buffer may grow to.
const LARGEST: usize = 4 << 20;
/// As long as a loaded machine may take, where something must not take for ever.
const PATIENCE: Duration = Duration::from_secs(600);

fn in_time(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Numbers in no order, the same in each run.
struct Chance(u64);

impl Chance {
    /// One of those below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}

/// A thread that emits as fast as it can, as others see it.
#[derive(Debug, Default)]
struct Emitter {
    /// Events that it has tried to emit.
    tried: AtomicU64,
    rests: AtomicBool,
}

/// What the emitting threads are told.
#[derive(Debug, Default)]
struct Orders {
    rest: AtomicBool,
    end: AtomicBool,
}

impl Emitter {
    /// Emits numbered messages until it is told to end. Gives the number of those that were taken.
    fn run(
        &self,
        orders: &Orders,
        writer: u32,
        mut emit: impl FnMut(&Event<'_>) -> Result<(), EmitError>,
    ) -> u64 {
        let mut message = Numbered::by(writer);
        let (mut number, mut taken) = (0, 0);
        // Relaxed: nothing else depends on it.
        while !orders.end.load(Ordering::Relaxed) {
            // Acquire pairs with the release where the rest is over.
            if orders.rest.load(Ordering::Acquire) {
                // Release: who finds this at rest finds all that it has emitted.
                self.rests.store(true, Ordering::Release);
                thread::sleep(Duration::from_micros(100));
                continue;
            }
            self.rests.store(false, Ordering::Relaxed);
            let text = message.text(number);
            match emit(&Event::UserMessage { text }) {
                Ok(()) => taken += 1,
                Err(error) => assert_eq!(error, EmitError::Full),
            }
            number += 1;
            // Release: what was emitted before comes before what is done by who reads this.
            self.tried.store(number, Ordering::Release);
        }
        taken
    }

    fn tried(&self) -> u64 {
        // Acquire pairs with the release after each event.
        self.tried.load(Ordering::Acquire)
    }
}

/// What has been done to the log.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    attached: u64,
    redirected: u64,
    resized: u64,
    policies: u64,
    capabilities: u64,
    sticky: u64,
}

struct Attached {
    id: ReaderId,
    manner: Manner,
    content: Arc<Mutex<Content>>,
}

/// Does everything to a log that can be done to it.
struct Soak<'a> {
    log: EventLog,
    emitters: &'a [Emitter],
    chance: Chance,
    /// What the sinks got, one after the other.
    content: Arc<Mutex<Content>>,
    readers: Vec<Attached>,
    gate: Arc<Gate>,
    saved: Vec<(Sink, SinkNo)>,
    /// Which sink the log goes to.
    current: SinkNo,
    sticky: Vec<StickyId>,
    /// Sinks and readers that are there.
    alive: Arc<AtomicUsize>,
    writers: u32,
    done: Done,
}

impl Soak<'_> {
    fn tried(&self) -> Vec<u64> {
        self.emitters.iter().map(Emitter::tried).collect()
    }

    /// Bytes of the events that each lasting buffer has taken in.
    fn taken(&self) -> Vec<u64> {
        let statistics = self.log.statistics();
        let capabilities = statistics.capabilities.iter().take(usize::from(LASTING));
        let buffers = capabilities.chain([&statistics.shared]);
        buffers.map(|buffer| buffer.bytes).collect()
    }

    /// The first numbers that can be in a log which begins now.
    fn least(&self) -> Vec<u64> {
        self.emitters[..usize::from(LASTING)]
            .iter()
            .map(Emitter::tried)
            .collect()
    }

    fn step(&mut self) {
        match self.chance.below(9) {
            0 | 1 if self.readers.len() < READERS => self.attach(),
            0 | 1 => self.detach(),
            2 => self.redirect(),
            3 => self.go_back(),
            4 => {
                let size = SIZES[self.chance.below(SIZES.len())];
                self.log.resize(size).unwrap();
                self.done.resized += 1;
            }
            5 => {
                let policies = [
                    Policy::DropNewest,
                    Policy::OverwriteOldest,
                    Policy::Grow { max_bytes: LARGEST },
                    Policy::Wait {
                        limit: Duration::from_millis(2),
                    },
                ];
                self.log
                    .set_policy(policies[self.chance.below(policies.len())]);
                self.done.policies += 1;
            }
            6 => self.use_capability(),
            7 => self.mark_sticky(),
            _ => self.log.flush().unwrap(),
        }
        self.let_emit(self.chance.0 % 2_000);
    }

    /// Waits until every thread has tried so many more events.
    fn let_emit(&self, events: u64) {
        let before = self.tried();
        in_time("all go on emitting", || {
            let now = self.tried();
            before.iter().zip(now).all(|(old, new)| new >= old + events)
        });
    }

    fn attach(&mut self) {
        let manner = match self.chance.below(5) {
            0 | 1 => Manner::Fast,
            2 => Manner::Slow,
            3 => Manner::Stuck,
            _ => Manner::Dying(self.chance.below(4 * QUEUE)),
        };
        let must_end = matches!(manner, Manner::Fast | Manner::Slow);
        let linger = match manner {
            Manner::Stuck => Duration::ZERO,
            _ => PATIENCE,
        };
        let content = Content::new(LASTING, false);
        let writer = Mannered {
            manner,
            gate: Arc::clone(&self.gate),
            check: Check::new(&content, must_end, self.least(), &self.alive),
        };
        let options = AttachOptions::default().queue(QUEUE).linger(linger);
        let id = self.log.attach(writer, options).unwrap();
        self.readers.push(Attached {
            id,
            manner,
            content,
        });
        self.done.attached += 1;
    }

    fn detach(&mut self) {
        let index = self.chance.below(self.readers.len());
        let Attached {
            id,
            manner,
            content,
        } = self.readers.swap_remove(index);
        let statistics = self.log.detach(id).unwrap();
        let content = lock(&content);
        assert_eq!(content.fault(), None, "of a reader that is {manner:?}");
        if matches!(manner, Manner::Fast | Manner::Slow) {
            let statistics = statistics.expect("it has not failed");
            assert_eq!(statistics.error, None);
            assert_eq!(statistics.lost_events, content.told_of_sink());
        }
    }

    /// Another sink, and perhaps keeps the one that was.
    fn redirect(&mut self) {
        let keeps = self.saved.len() < SAVED && self.chance.below(2) == 0;
        self.redirect_from(if keeps {
            Previous::Keep
        } else {
            Previous::Close
        });
    }

    /// To another sink for as long as one event takes that is told to the one that was, too, when the log comes back.
    fn leave_and_return(&mut self) {
        self.redirect_from(Previous::Keep);
        in_time("there is room", || {
            let emitted = self
                .log
                .emit_sticky(&Event::UserMarker { name: "meanwhile" });
            self.sticky.extend(&emitted);
            emitted.is_ok()
        });
        self.go_back();
    }

    fn redirect_from(&mut self, previous: Previous) {
        if previous == Previous::Keep {
            self.saved.push((self.log.sink(), self.current));
        }
        let check = Check::new(&self.content, true, self.least(), &self.alive);
        self.current = check.number();
        let sink = Sink::writer(check);
        self.log.set_sink(sink, previous, Start::Header).unwrap();
        self.done.redirected += 1;
    }

    /// To a sink that was kept.
    fn go_back(&mut self) {
        if self.saved.is_empty() {
            return;
        }
        let (sink, number) = self.saved.swap_remove(self.chance.below(self.saved.len()));
        lock(&self.content).go_back_to(number);
        self.current = number;
        let previous = Previous::Close;
        self.log.set_sink(sink, previous, Start::Continue).unwrap();
        self.done.redirected += 1;
    }

    /// A capability that is soon gone.
    fn use_capability(&mut self) {
        self.writers += 1;
        let mut message = Numbered::by(self.writers);
        let mut capability = self.log.capability().unwrap();
        for number in 0..100 {
            capability.message(message.text(number));
        }
        self.done.capabilities += 1;
    }

    fn mark_sticky(&mut self) {
        if self.sticky.len() >= 10 {
            let id = self.sticky.swap_remove(self.chance.below(10));
            self.log.remove_sticky(id);
        }
        let name = "what a late reader has to know";
        // Where the buffer is full it is lost and counted as any other.
        self.sticky
            .extend(self.log.emit_sticky(&Event::UserMarker { name }));
        self.done.sticky += 1;
    }

    /// Brings the log back to what it was in the beginning, and tells what memory is in use then.
    fn rest(&mut self, orders: &Orders) -> Memory {
        self.gate.set_open(true);
        while !self.readers.is_empty() {
            self.detach();
        }
        for id in self.sticky.drain(..) {
            self.log.remove_sticky(id);
        }
        self.redirect();
        for (sink, _) in self.saved.drain(..) {
            sink.close().unwrap();
        }
        self.log.set_policy(Policy::DropNewest);
        self.log.resize(SIZE).unwrap();
        // What is written to when the size changes is of the old size until it is full.
        let before = self.taken();
        in_time("chunks of the old size are filled", || {
            let now = self.taken();
            before
                .iter()
                .zip(now)
                .all(|(old, new)| new >= old + OLD_CHUNKS)
        });
        // Release pairs with the acquire of the emitting threads.
        orders.rest.store(true, Ordering::Release);
        in_time("all rest", || {
            // Acquire pairs with the release of the emitting threads.
            let mut emitters = self.emitters.iter();
            emitters.all(|emitter| emitter.rests.load(Ordering::Acquire))
        });
        // More than one: what a capability's end is told by comes out with the second.
        for _ in 0..IDLE_PASSES {
            self.log.flush().unwrap();
        }
        in_time("none but the sink is there", || {
            self.alive.load(Ordering::Relaxed) == 1
        });
        let statistics = self.log.statistics();
        let buffers = statistics.capabilities.iter().chain([&statistics.shared]);
        let taken: usize = buffers.map(|buffer| buffer.memory).sum();
        let most = (usize::from(LASTING) + 2 + OTHERS) * SIZE + ALLOWANCE;
        assert!(taken <= most, "{taken} bytes in {statistics:?}");
        drop(statistics);
        let memory = Memory::now();
        self.gate.set_open(false);
        orders.rest.store(false, Ordering::Release);
        in_time("all go on", || {
            let mut emitters = self.emitters.iter();
            emitters.all(|emitter| !emitter.rests.load(Ordering::Relaxed))
        });
        assert_eq!(lock(&self.content).fault(), None, "of the sinks");
        memory
    }
}

/// Tells how it goes, not more often than somebody can read it.
struct Report {
    start: Instant,
    next: Duration,
    peak: usize,
}

impl Report {
    fn new() -> Self {
        println!(
            "{:>8} {:>8} {:>14} {:>14} {:>9} {:>9} {:>8} {:>8} {:>10} {:>7} {:>10} {:>9}",
            "seconds",
            "rounds",
            "events",
            "lost",
            "attached",
            "redirect",
            "resized",
            "policies",
            "bytes",
            "blocks",
            "peak",
            "RSS KiB"
        );
        Report {
            start: Instant::now(),
            next: Duration::ZERO,
            peak: 0,
        }
    }

    fn tell(&mut self, soak: &Soak<'_>, rounds: usize, memory: Memory) {
        self.peak = self.peak.max(memory.peak);
        let elapsed = self.start.elapsed();
        if elapsed < self.next {
            return;
        }
        self.next = elapsed + Duration::from_secs(10);
        let statistics = soak.log.statistics();
        let done = soak.done;
        println!(
            "{:>8.1} {rounds:>8} {:>14} {:>14} {:>9} {:>9} {:>8} {:>8} {:>10} {:>7} {:>10} {:>9}",
            elapsed.as_secs_f64(),
            statistics.events(),
            statistics.lost().total(),
            done.attached,
            done.redirected,
            done.resized,
            done.policies,
            memory.bytes,
            memory.blocks,
            std::mem::take(&mut self.peak),
            memory.resident / 1024,
        );
    }
}

#[test]
fn a_log_that_everything_is_done_to_loses_nothing_uncounted_and_no_memory() {
    let told = std::env::var("EVENTLOG_SOAK_SECONDS").ok();
    let length = told.as_ref().map_or(2.0, |seconds| {
        seconds
            .parse()
            .expect("EVENTLOG_SOAK_SECONDS is a number of seconds")
    });
    let length = Duration::from_secs_f64(length);
    // Things that are done before the next look at the memory: fewer where everything is slow.
    let told = std::env::var("EVENTLOG_SOAK_STEPS").ok();
    let steps = told.map_or(20, |steps| {
        let steps = steps.parse::<u32>();
        steps.expect("EVENTLOG_SOAK_STEPS is a number")
    });
    let content = Content::new(LASTING, true);
    let alive = Arc::default();
    let first = Check::new(&content, true, vec![], &alive);
    let current = first.number();
    let log = EventLog::builder()
        .buffer_size(SIZE)
        .flush_interval(Duration::from_millis(5))
        .sink(Sink::writer(first))
        .unwrap();
    let mut capabilities: Vec<Capability> =
        (0..LASTING).map(|_| log.capability().unwrap()).collect();
    let orders = &Orders::default();
    let emitters: Vec<Emitter> = (0..=LASTING).map(|_| Emitter::default()).collect();
    let mut at_rest = Vec::new();
    let mut soak = Soak {
        log: log.clone(),
        emitters: &emitters,
        chance: Chance(0x9e37_79b9_7f4a_7c15),
        content: Arc::clone(&content),
        readers: Vec::new(),
        gate: Arc::default(),
        saved: Vec::new(),
        current,
        sticky: Vec::new(),
        alive,
        writers: 1_000,
        done: Done::default(),
    };
    let taken: Vec<u64> = thread::scope(|scope| {
        let mut threads: Vec<_> = capabilities
            .drain(..)
            .zip(&emitters)
            .map(|(mut capability, emitter)| {
                scope.spawn(move || {
                    let writer = u32::from(capability.number().get());
                    emitter.run(orders, writer, |event| capability.try_emit(event))
                })
            })
            .collect();
        let (shared, emitter) = (log.clone(), &emitters[usize::from(LASTING)]);
        threads.push(scope.spawn(move || {
            emitter.run(orders, u32::from(LASTING), |event| shared.try_emit(event))
        }));
        let end = EndOnDrop(orders);
        let mut report = Report::new();
        while report.start.elapsed() < length || at_rest.len() < ROUNDS {
            soak.leave_and_return();
            for _ in 0..steps {
                soak.step();
            }
            let memory = soak.rest(orders);
            report.tell(&soak, at_rest.len(), memory);
            at_rest.push(memory);
        }
        report.next = Duration::ZERO;
        report.tell(&soak, at_rest.len(), Memory::now());
        drop(end);
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let done = soak.done;
    drop(soak);
    let statistics = log.stop().unwrap();
    drop(log);

    // Every event is in the log, or counted and told.
    let content = lock(&content);
    assert_eq!(content.fault(), None, "of the sinks");
    assert_eq!(statistics.sink_errors, 0);
    let buffers = statistics.capabilities.iter().chain([&statistics.shared]);
    for buffer in buffers {
        let cap = buffer.capability.map(|cap| cap.get());
        let seen = content.of(cap);
        let lost = buffer.lost;
        assert_eq!(seen.events + lost.overwritten, buffer.events, "{cap:?}");
        assert_eq!((seen.full, seen.overwritten), (lost.full, lost.overwritten));
        assert_eq!((seen.sink, lost.sink, lost.stopped), (0, 0, 0));
        if let Some(index) = cap.filter(|cap| *cap < LASTING).map(usize::from) {
            let tried = emitters[index].tried();
            assert_eq!(
                (buffer.events, lost.full),
                (taken[index], tried - taken[index])
            );
            assert_eq!(seen.next(), tried);
        }
    }
    let events = statistics.events();
    assert!(events > 10_000 && done.attached > 0 && done.redirected > 0);
    assert!(content.repeated > 0, "no sink was told what it had missed");

    // What is in use is the same in the end as in the beginning.
    let measured = &at_rest[1..];
    let bytes = || measured.iter().map(|memory| memory.bytes);
    let (least, most) = (bytes().min().unwrap(), bytes().max().unwrap());
    let blocks = || measured.iter().map(|memory| memory.blocks);
    let (fewest, more) = (blocks().min().unwrap(), blocks().max().unwrap());
    println!(
        "{events} events in {:.1} s, {} lost, {} replayed; {done:?}; at rest {least} to {most} bytes in {fewest} to \
         {more} blocks",
        statistics.elapsed.as_secs_f64(),
        statistics.lost().total(),
        content.repeated,
    );
    assert!(most - least <= MORE, "{least} to {most} bytes");
    assert!(more - fewest <= FEW, "{fewest} to {more} blocks");
}

/// Ends the emitting threads, also where the test fails: they would be waited for.
struct EndOnDrop<'a>(&'a Orders);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end.store(true, Ordering::Relaxed);
    }
}
