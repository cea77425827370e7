//! Loops that emit user events, in our ways and in those of other crates, and tell the nanoseconds that an event took. All
//! of them check that no event was lost.

use crate::binary::{self, Binary};
use crate::machine::pin;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use ghc_eventlog::format::Event;
use ghc_eventlog::{Capability, Clock, EventLog, Statistics, trace, trace_event};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tracing::subscriber::with_default;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;

/// What every event says.
const TEXT: &str = "sixteen bytes...";
/// Bytes of our buffers.
const BUFFER: usize = 8 << 20;
/// Events of ours that go once through such a buffer, which makes its pages the process's own.
const WARM_UP: u64 = (BUFFER / 28) as u64;
/// Events within one span of fastrace, which are handed over when the span ends.
const WITHIN_SPAN: u64 = 1_000;
/// Samples that are thrown away, one after the other, since the other core was taken away and a buffer filled.
const RETRIES: usize = 20;

/// A way to emit an event from one thread.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Only reads the clock that time stamps are from.
    Clock,
    /// `Capability::emit` with a literal.
    Capability,
    /// The same with a text of which the compiler knows nothing.
    AnyText,
    Macro,
    /// The macro while no log is installed.
    Off,
    /// `tracing` with our layer.
    Layer,
    Fastrace,
    Binary,
    Appender,
}

/// What an event takes on the thread that emits it, while whatever takes it from there runs on the second core.
pub(crate) fn emit(way: Way, events: u64) -> f64 {
    let take_sample = || {
        // Threads that are started here begin on the second core.
        pin(1);
        match way {
            Way::Clock => {
                let clock = Clock::new();
                Some(timed(events, || {
                    black_box(clock.now());
                }))
            }
            Way::Capability => of_capability(events, |capability| {
                capability.emit(&Event::UserMessage { text: TEXT });
            }),
            Way::AnyText => {
                // Not for each event: what is written here as two words is read as one, and has to wait for it.
                let text = black_box(TEXT);
                of_capability(events, |capability| {
                    capability.emit(&Event::UserMessage { text });
                })
            }
            Way::Macro => {
                trace::install(log(io::sink())).expect("none is installed");
                warm_up(|| trace_event!("sixteen bytes..."));
                let time = timed(events, || trace_event!("sixteen bytes..."));
                let log = trace::uninstall().expect("it is installed");
                all_taken(&log).then_some(time)
            }
            Way::Off => Some(timed(events, || trace_event!("sixteen bytes..."))),
            Way::Layer => {
                trace::install(log(io::sink())).expect("none is installed");
                let subscriber = registry().with(trace::TracingLayer::new());
                let time = with_default(subscriber, || {
                    warm_up(|| tracing::info!("sixteen bytes..."));
                    timed(events, || tracing::info!("sixteen bytes..."))
                });
                let log = trace::uninstall().expect("it is installed");
                all_taken(&log).then_some(time)
            }
            Way::Fastrace => {
                let reported = report_to(None);
                let spans = events.div_ceil(WITHIN_SPAN);
                let time = timed(spans, in_span);
                fastrace::flush();
                assert_eq!(
                    EVENTS_REPORTED.load(Ordering::Relaxed) - reported,
                    spans * WITHIN_SPAN,
                    "fastrace lost events"
                );
                Some(time / (spans * WITHIN_SPAN) as f64 * events as f64)
            }
            Way::Binary => {
                Binary::install();
                let before = binary::events();
                let time = timed(events, || tracing::info!("sixteen bytes..."));
                assert_eq!(
                    binary::events() - before,
                    events,
                    "an event was not encoded"
                );
                Some(time)
            }
            Way::Appender => {
                let lines = Arc::new(AtomicU64::new(0));
                let (writer, guard) = appender(Lines(io::sink(), Arc::clone(&lines)));
                let time = with_default(formatting(writer), || {
                    timed(events, || tracing::info!("sixteen bytes..."))
                });
                wait_for(&lines, events);
                drop(guard);
                Some(time)
            }
        }
    };
    for _ in 0..RETRIES {
        let sample = thread::scope(|scope| scope.spawn(take_sample).join());
        match sample {
            Ok(Some(nanoseconds)) => return nanoseconds / events as f64,
            Ok(None) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    panic!("events were lost in each of {RETRIES} samples: the second core is too busy to measure");
}

/// Nanoseconds that so many events take; `None` where one was lost.
fn of_capability(events: u64, mut emit: impl FnMut(&mut Capability)) -> Option<f64> {
    let log = log(io::sink());
    let mut capability = log.capability().expect("a new log has capabilities");
    warm_up(|| emit(&mut capability));
    let time = timed(events, || emit(&mut capability));
    drop(capability);
    all_taken(&log).then_some(time)
}

/// Goes once through the buffer. Room comes back while this sleeps.
fn warm_up(mut emit: impl FnMut()) {
    for _ in 0..8 {
        (0..WARM_UP / 8).for_each(|_| emit());
        thread::sleep(Duration::from_millis(2));
    }
}

/// Nanoseconds that `emit` takes so many times on the first core.
fn timed(times: u64, emit: impl FnMut()) -> f64 {
    pin(0);
    let start = Instant::now();
    counted_events(times, emit);
    start.elapsed().as_nanos() as f64
}

/// A name by which tools find the events' work.
#[inline(never)]
fn counted_events(times: u64, mut emit: impl FnMut()) {
    for _ in 0..times {
        emit();
    }
}

fn log(sink: impl Write + Send + 'static) -> EventLog {
    let builder = EventLog::builder().buffer_size(BUFFER);
    builder.start(sink).expect("there is memory")
}

fn all_taken(log: &EventLog) -> bool {
    let statistics = log.stop().expect("the sink takes everything");
    statistics.lost().total() == 0
}

fn emit_surely(capability: &mut Capability) {
    while capability
        .try_emit(&Event::UserMessage { text: TEXT })
        .is_err()
    {
        thread::yield_now();
    }
}

/// A span with its events.
fn in_span() {
    let span = fastrace::Span::root("span", SpanContext::random());
    let _parent = span.set_local_parent();
    for _ in 0..WITHIN_SPAN {
        LocalSpan::add_event(fastrace::Event::new(TEXT));
    }
}

static EVENTS_REPORTED: AtomicU64 = AtomicU64::new(0);
static REPORTED_TO: Mutex<Option<BufWriter<File>>> = Mutex::new(None);

/// Counts events, and writes the time, the length and the name of each to the file, if there is one.
struct Report;

impl Reporter for Report {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        let mut file = REPORTED_TO.lock().unwrap_or_else(PoisonError::into_inner);
        for event in spans.iter().flat_map(|span| &span.events) {
            if let Some(file) = &mut *file {
                let len = event.name.len() as u16;
                file.write_all(&event.timestamp_unix_ns.to_be_bytes())
                    .and_then(|()| file.write_all(&len.to_be_bytes()))
                    .and_then(|()| file.write_all(event.name.as_bytes()))
                    .expect("the file takes it");
            }
            EVENTS_REPORTED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Makes fastrace report there, and tells the number of events that it has reported so far.
fn report_to(file: Option<File>) -> u64 {
    static REPORT: Once = Once::new();
    REPORT.call_once(|| {
        let config = Config::default().report_interval(Duration::from_millis(10));
        fastrace::set_reporter(Report, config);
    });
    let file = file.map(|file| BufWriter::with_capacity(1 << 16, file));
    *REPORTED_TO.lock().unwrap_or_else(PoisonError::into_inner) = file;
    EVENTS_REPORTED.load(Ordering::Relaxed)
}

/// Counts what is written to it: tracing-appender writes line by line.
struct Lines<W>(W, Arc<AtomicU64>);

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(line)?;
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Its queue has room for 128,000 lines, as it has where nobody says otherwise; who finds it full waits.
fn appender(writer: impl Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default().lossy(false).finish(writer)
}

/// Events as lines of text, as tracing-subscriber formats them.
fn formatting(writer: NonBlocking) -> impl tracing::Subscriber + Send + Sync {
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(writer)
        .finish()
}

fn wait_for(lines: &AtomicU64, expected: u64) {
    let start = Instant::now();
    while lines.load(Ordering::Relaxed) < expected {
        assert!(start.elapsed().as_secs() < 20, "a line was lost");
        thread::yield_now();
    }
}

/// A way for events to get into a file.
#[derive(Clone, Copy)]
pub(crate) enum Filed {
    Ours,
    Fastrace,
    Appender,
}

/// What an event takes of two threads, one on each core, from the first event to the last one's being in the file.
pub(crate) fn file(way: Filed, events: u64) -> f64 {
    let scratch = Scratch::new();
    let file = File::create(&scratch.0).expect("a file can be made in the temporary directory");
    let each = events.div_ceil(2 * WITHIN_SPAN) * WITHIN_SPAN;
    let time = match way {
        Filed::Ours => {
            let log = log(file);
            let mut capabilities = [(); 2].map(|()| log.capability().expect("memory is there"));
            let [first, second] = &mut capabilities;
            let start = both(
                || (0..each).for_each(|_| emit_surely(first)),
                || (0..each).for_each(|_| emit_surely(second)),
            );
            drop(capabilities);
            let Statistics { capabilities, .. } = log.stop().expect("the file takes it");
            let taken: u64 = capabilities.iter().map(|buffer| buffer.events).sum();
            assert_eq!(taken, 2 * each);
            start.elapsed()
        }
        Filed::Fastrace => {
            let reported = report_to(Some(file));
            let spans = || (0..each / WITHIN_SPAN).for_each(|_| in_span());
            let start = both(spans, spans);
            fastrace::flush();
            let now = report_to(None);
            let time = start.elapsed();
            assert_eq!(now - reported, 2 * each, "fastrace lost events");
            time
        }
        Filed::Appender => {
            let lines = Arc::new(AtomicU64::new(0));
            let (writer, guard) = appender(Lines(file, Arc::clone(&lines)));
            let events = || {
                with_default(formatting(writer.clone()), || {
                    (0..each).for_each(|_| tracing::info!("sixteen bytes..."));
                });
            };
            let start = both(events, events);
            wait_for(&lines, 2 * each);
            let time = start.elapsed();
            drop(guard);
            time
        }
    };
    time.as_nanos() as f64 / (2 * each) as f64
}

/// Runs each on its core, and tells when the first of them began.
fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) -> Instant {
    let together = &Barrier::new(2);
    // They take the time themselves: who waits for them may come late to the core.
    let begin = |core| {
        pin(core);
        together.wait();
        Instant::now()
    };
    thread::scope(|scope| {
        let second = scope.spawn(move || {
            let start = begin(1);
            second();
            start
        });
        let first = scope.spawn(move || {
            let start = begin(0);
            first();
            start
        });
        let [first, second] =
            [first, second].map(|thread| thread.join().expect("no event is lost"));
        first.min(second)
    })
}

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("compare-events-{}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays; nothing else depends on it.
        let _ = fs::remove_file(&self.0);
    }
}
