//! The profiler: a thread that writes samples to a log, of where the program's threads are, and of what is live.

use super::heap::{Holder, LiveBytes};
use super::registry::registry;
use super::stack;
use crate::error::EmitError;
use crate::format::{CostCentreFlags, CostCentreStack, Event, HeapBreakdown, HeapProfFilter, ZStr};
use crate::log::{Core, EventLog};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A profile of the process that is being written to a log, by time, by bytes, or both.
///
/// ```
/// use ghc_eventlog::objects::{ProfiledAllocator, Profiler};
/// use ghc_eventlog::{EventLog, Sink};
/// use std::time::Duration;
///
/// #[global_allocator]
/// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let profiler = Profiler::builder()
///     .time(Duration::from_millis(1))
///     .heap(ALLOCATOR.counts(), Some(Duration::from_millis(100)))
///     .start(&log)?;
/// // What is to be profiled, with cost centres.
/// let statistics = profiler.stop();
/// log.stop()?;
/// assert_eq!(statistics.lost, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **By time.** At each tick a thread of the profiler's reads which cost centres every thread is in, without stopping it, and
/// writes an event `ProfSampleCostCentre` for each that is in any. Its capability is a small number for the
/// thread, its [slot](stack::Stack::slot). Ticks are told by the clock on the wall: a thread that waits within a cost centre
/// is in it as one that works. A tick that comes too late for its turn is left out, and counted; the numbers of
/// ticks say how many were.
///
/// **By bytes.** A sample of the heap profile says how many bytes are live of each cost-centre stack, as a
/// [`ProfiledAllocator`](super::ProfiledAllocator) counts them; what was allocated in no cost centre is of the empty stack, and
/// what the allocator could not tell apart is of a cost centre `OTHERS`. Counting goes on while a sample is being made, so its
/// bytes are not of exactly one moment. A sample is whole in one log: no redirection or reader comes between its
/// beginning and its end.
///
/// **Every cost centre that a sample speaks of is defined before it**, in the same log, whatever was unloaded or redirected
/// meanwhile. The log [defines](super::Registry::define_in) those that are there when the profiler starts, and those that come.
/// Bytes may be live of cost centres that were unloaded before: these are called `unloaded`.
/// Definitions that the log loses are repeated before the next sample of the heap; the samples of a log whose
/// [policy](crate::Policy) overwrites, or whose buffer is full, may lack some until then.
///
/// While the profiler waits for the log's sink, which it does where the buffer is getting full, no object is unloaded. The
/// sink must not load or unload objects.
///
/// One profiler for a log: with two of them each tick and each byte is told twice. A profiler that is dropped is
/// [stopped](Self::stop). It keeps no log from being stopped; once that is, it writes nothing any more.
#[derive(Debug)]
#[must_use = "the profiler is stopped when this is dropped"]
pub struct Profiler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a profiler is to do.
///
/// ```
/// use ghc_eventlog::objects::{Profiler, ProfilerError};
/// use ghc_eventlog::{EventLog, Sink};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let refused = Profiler::builder().start(&log).unwrap_err();
/// assert!(matches!(refused, ProfilerError::Nothing));
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ProfilerBuilder {
    tick: Option<Duration>,
    heap: Option<(&'static LiveBytes, Option<Duration>)>,
}

impl ProfilerBuilder {
    /// The shortest time between two ticks, or two samples of the heap.
    ///
    /// ```
    /// use ghc_eventlog::objects::ProfilerBuilder;
    /// assert_eq!(ProfilerBuilder::MINIMUM.as_micros(), 50);
    /// ```
    // About what a thread oversleeps.
    pub const MINIMUM: Duration = Duration::from_micros(50);

    /// Profiles by time, with a tick after each of these. A millisecond is usual, and costs the profiled threads next to nothing.
    ///
    /// ```
    /// use ghc_eventlog::objects::Profiler;
    /// use std::time::Duration;
    ///
    /// let builder = Profiler::builder().time(Duration::from_millis(1));
    /// assert!(format!("{builder:?}").contains("1ms"));
    /// ```
    pub fn time(mut self, tick: Duration) -> Self {
        self.tick = Some(tick);
        self
    }

    /// Profiles by bytes: what is counted there, at the end, [on demand](Profiler::sample_heap), and after each of these if there
    /// is such a time.
    ///
    /// ```
    /// use ghc_eventlog::objects::{ProfiledAllocator, Profiler};
    /// use std::time::Duration;
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// let builder = Profiler::builder().heap(ALLOCATOR.counts(), Some(Duration::from_secs(1)));
    /// assert!(format!("{builder:?}").contains("LiveBytes"));
    /// ```
    pub fn heap(mut self, counts: &'static LiveBytes, every: Option<Duration>) -> Self {
        self.heap = Some((counts, every));
        self
    }

    /// Says in the log what profiles begin, defines the cost centres there, flushes it, and starts the thread. Waits for the
    /// log's sink.
    ///
    /// # Errors
    /// [`ProfilerError`] where there is nothing to do, a time is too short or too long, the log has been stopped or does not
    /// take it, or there is no thread to be had. The log may have been told of a profile then, with no samples.
    ///
    /// ```
    /// use ghc_eventlog::objects::Profiler;
    /// use ghc_eventlog::{EventLog, Sink};
    /// use std::time::Duration;
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let profiler = Profiler::builder().time(Duration::from_millis(10)).start(&log)?;
    /// drop(profiler);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(self, log: &EventLog) -> Result<Profiler, ProfilerError> {
        let every = self.heap.and_then(|(_, every)| every);
        if self.tick.is_none() && self.heap.is_none() {
            return Err(ProfilerError::Nothing);
        }
        let tick = self.tick.map(nanoseconds).transpose()?;
        let every = every.map(nanoseconds).transpose()?;
        let core = Arc::clone(log.core());
        core.check_process().map_err(ProfilerError::Log)?;
        let say = |event: Event<'_>| core.define(&event).map_err(ProfilerError::Refused);
        if let Some(tick_interval_ns) = tick {
            say(Event::ProfBegin { tick_interval_ns })?;
        }
        if self.heap.is_some() {
            say(Event::HeapProfBegin {
                profile: 0,
                period_ns: every.unwrap_or(0),
                breakdown: HeapBreakdown::CostCentre,
                filter: HeapProfFilter::default(),
            })?;
        }
        let first_new = registry().next_id();
        registry().define_in(log);
        // Whatever was defined there before is known from now on.
        log.flush().map_err(ProfilerError::Log)?;
        let shared = Arc::new(Shared {
            core,
            counts: self.heap.map(|(counts, _)| counts),
            first_new,
            stop: AtomicBool::new(false),
            era: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            late: AtomicU64::new(0),
            stacks: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            heap_samples: AtomicU64::new(0),
            heap_failures: AtomicU64::new(0),
        });
        let mut profiler = Profiler {
            shared: Arc::clone(&shared),
            thread: None,
        };
        if tick.is_some() || every.is_some() {
            let thread = thread::Builder::new()
                .name("eventlog profiler".into())
                .spawn(move || shared.run(tick, every))
                .map_err(ProfilerError::Thread)?;
            profiler.thread = Some(thread);
        }
        Ok(profiler)
    }
}

fn nanoseconds(time: Duration) -> Result<u64, ProfilerError> {
    if time < ProfilerBuilder::MINIMUM {
        return Err(ProfilerError::TooShort { time });
    }
    u64::try_from(time.as_nanos()).map_err(|_| ProfilerError::TooLong { time })
}

/// Why a profile could not be started, or a sample not be made.
///
/// ```
/// use ghc_eventlog::objects::{Profiler, ProfilerError};
/// use ghc_eventlog::{EventLog, Sink};
/// use std::time::Duration;
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let refused = Profiler::builder().time(Duration::ZERO).start(&log).unwrap_err();
/// assert_eq!(refused.to_string(), "0ns between samples is too short: the least is 50µs");
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ProfilerError {
    /// Neither a profile by time nor one by bytes was asked for.
    Nothing,
    /// A time between samples is below [the least](ProfilerBuilder::MINIMUM).
    TooShort {
        /// The time that was asked for.
        time: Duration,
    },
    /// A time between samples is more than a log can say: 2^64 nanoseconds.
    TooLong {
        /// The time that was asked for.
        time: Duration,
    },
    /// There is no profile by bytes to make a sample of.
    NoHeap,
    /// The log has been stopped, or its shared buffer is full.
    Refused(EmitError),
    /// The log's sink refuses, the sink itself has called, or the log belongs to another process.
    Log(io::Error),
    /// No thread could be had.
    Thread(io::Error),
}

impl fmt::Display for ProfilerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfilerError::Nothing => f.write_str("neither time nor bytes are to be profiled"),
            ProfilerError::TooShort { time } => write!(
                f,
                "{time:?} between samples is too short: the least is {:?}",
                ProfilerBuilder::MINIMUM
            ),
            ProfilerError::TooLong { time } => write!(
                f,
                "{time:?} between samples is too long: the most is {:?}",
                Duration::from_nanos(u64::MAX)
            ),
            ProfilerError::NoHeap => f.write_str("bytes are not being profiled"),
            ProfilerError::Refused(_) => f.write_str("the event log did not take the profile"),
            ProfilerError::Log(_) => f.write_str("the event log could not be written to"),
            ProfilerError::Thread(_) => f.write_str("the profiler's thread could not be started"),
        }
    }
}

impl Error for ProfilerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ProfilerError::Refused(error) => Some(error),
            ProfilerError::Log(error) | ProfilerError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// What a profiler has done.
///
/// ```
/// use ghc_eventlog::objects::Profiler;
/// use ghc_eventlog::{EventLog, Sink};
/// use std::time::Duration;
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let profiler = Profiler::builder().time(Duration::from_secs(1)).start(&log)?;
/// assert_eq!(profiler.statistics().heap_samples, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfilerStatistics {
    /// Ticks at which stacks were read.
    pub ticks: u64,
    /// Ticks that were left out, since the profiler's thread had no turn in time, or the log kept it waiting.
    pub late: u64,
    /// Stacks that were written, of all ticks.
    pub stacks: u64,
    /// Stacks that were not, since they changed too often while they were read.
    pub missed: u64,
    /// Events that the log did not take, of ticks and of the heap.
    pub lost: u64,
    /// Samples of the heap that were written.
    pub heap_samples: u64,
    /// Samples of the heap that were not, since the log's sink refused.
    pub heap_failures: u64,
}

impl Profiler {
    /// Describes a profile to be started.
    ///
    /// ```
    /// use ghc_eventlog::objects::Profiler;
    /// use std::time::Duration;
    ///
    /// let builder = Profiler::builder().time(Duration::from_millis(1));
    /// assert!(format!("{builder:?}").contains("tick"));
    /// ```
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder::default()
    }

    /// Writes a sample of the heap now. Waits for the log's sink, as [`EventLog::flush`] does, and allocates.
    ///
    /// # Errors
    /// [`ProfilerError`] where bytes are not being profiled, or the log has been stopped, its sink refuses, or its
    /// buffer has no room; the sample may be there in part then, and what is missing is counted.
    ///
    /// ```
    /// use ghc_eventlog::objects::{ProfiledAllocator, Profiler};
    /// use ghc_eventlog::{EventLog, Sink};
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let profiler = Profiler::builder().heap(ALLOCATOR.counts(), None).start(&log)?;
    /// profiler.sample_heap()?;
    /// assert_eq!(profiler.statistics().heap_samples, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sample_heap(&self) -> Result<(), ProfilerError> {
        self.shared.sample_heap()
    }

    /// What has been done so far.
    ///
    /// ```
    /// use ghc_eventlog::objects::Profiler;
    /// use ghc_eventlog::{EventLog, Sink};
    /// use std::time::Duration;
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let profiler = Profiler::builder().time(Duration::from_secs(1)).start(&log)?;
    /// assert_eq!(profiler.statistics().lost, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> ProfilerStatistics {
        self.shared.statistics()
    }

    /// Ends the profile, with a last sample of the heap if bytes are profiled. To be called before the log is stopped, which
    /// takes no sample any more. Waits for the profiler's thread, and for the log's sink.
    ///
    /// What is called by the log's sink waits for nobody, and writes nothing: the thread ends by itself. In a forked child, too,
    /// nothing is done.
    ///
    /// ```
    /// use ghc_eventlog::objects::{ProfiledAllocator, Profiler};
    /// use ghc_eventlog::{EventLog, Sink};
    ///
    /// static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let profiler = Profiler::builder().heap(ALLOCATOR.counts(), None).start(&log)?;
    /// assert_eq!(profiler.stop().heap_samples, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop(mut self) -> ProfilerStatistics {
        self.end();
        self.shared.statistics()
    }

    fn end(&mut self) {
        let shared = &self.shared;
        // Relaxed: unparking tells it.
        if shared.stop.swap(true, Ordering::Relaxed) {
            return;
        }
        let thread = self.thread.take();
        if shared.core.check_process().is_err() {
            // It is a thread of the parent's.
            std::mem::forget(thread);
            return;
        }
        if let Some(thread) = thread {
            thread.thread().unpark();
            // It may be waiting for what this thread holds, or be this thread.
            if shared.core.is_collector_held_here() {
                return;
            }
            // It runs no code that panics but the sink's, which is guarded.
            let _ = thread.join();
        }
        if shared.counts.is_some() {
            // Counted where it fails.
            let _ = shared.sample_heap();
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        self.end();
    }
}

/// The cost centre of what the allocator could not tell apart. No object's has its number: those end before.
const OTHERS: u32 = u32::MAX;

/// What the profiler and its thread have in common. All of the counts are Relaxed: they order nothing.
#[derive(Debug)]
struct Shared {
    /// Not the log's handle: the profiler keeps no log from being stopped.
    core: Arc<Core>,
    counts: Option<&'static LiveBytes>,
    /// The first cost centre that the registry has defined in the log for certain. Of others, those that are not in the
    /// list may never have been.
    first_new: u32,
    stop: AtomicBool,
    era: AtomicU64,
    ticks: AtomicU64,
    late: AtomicU64,
    stacks: AtomicU64,
    missed: AtomicU64,
    lost: AtomicU64,
    heap_samples: AtomicU64,
    heap_failures: AtomicU64,
}

/// When something is due that happens again and again, in nanoseconds since the start.
#[derive(Clone, Copy, Debug)]
struct Turns {
    every: u64,
    /// Those that are over.
    past: u64,
}

impl Turns {
    fn next(self) -> u64 {
        self.every.saturating_mul(self.past + 1)
    }

    /// Whether it is due, and how many turns before this one were missed.
    fn take(&mut self, now: u64) -> Option<u64> {
        let due = now / self.every;
        let missed = due.checked_sub(self.past + 1)?;
        self.past = due;
        Some(missed)
    }
}

impl Shared {
    fn run(&self, tick: Option<u64>, every: Option<u64>) {
        let start = Instant::now();
        let turns = |every| Turns { every, past: 0 };
        let (mut ticks, mut samples) = (tick.map(turns), every.map(turns));
        // Relaxed: unparking tells of it.
        while !self.stop.load(Ordering::Relaxed) {
            let now = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            if let Some(ticks) = &mut ticks {
                if let Some(late) = ticks.take(now) {
                    self.late.fetch_add(late, Ordering::Relaxed);
                    if self.tick(ticks.past) == Err(EmitError::Stopped) {
                        return;
                    }
                }
            }
            if samples.as_mut().and_then(|turns| turns.take(now)).is_some() {
                // What else goes wrong is counted.
                if let Err(ProfilerError::Refused(EmitError::Stopped)) = self.sample_heap() {
                    return;
                }
            }
            let next = [ticks, samples]
                .into_iter()
                .flatten()
                .map(Turns::next)
                .min();
            let now = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            if let Some(wait) = next.and_then(|next| next.checked_sub(now)) {
                thread::park_timeout(Duration::from_nanos(wait));
            }
        }
    }

    /// Writes in which cost centres the threads are.
    fn tick(&self, tick: u64) -> Result<(), EmitError> {
        // No object goes before its last sample is written.
        let _sampling = registry().sampling();
        let mut outcome = Ok(());
        let missed = stack::each(|stack| {
            let sample = Event::ProfSampleCostCentre {
                cap: stack.slot(),
                tick,
                stack: CostCentreStack::innermost(stack.ids()),
            };
            match self.core.define(&sample) {
                Ok(()) => self.stacks.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    outcome = Err(error);
                    self.lost.fetch_add(1, Ordering::Relaxed)
                }
            };
        });
        self.missed.fetch_add(missed as u64, Ordering::Relaxed);
        self.ticks.fetch_add(1, Ordering::Relaxed);
        match self.core.is_stopped() {
            true => Err(EmitError::Stopped),
            false => outcome,
        }
    }

    fn sample_heap(&self) -> Result<(), ProfilerError> {
        let counts = self.counts.ok_or(ProfilerError::NoHeap)?;
        // Before the log is looked at: what is held here was defined, if it is defined at all, before it was allocated.
        let held = Held::read(counts);
        let mut log = self.core.collector().map_err(ProfilerError::Log)?;
        if log.has_ended() {
            return Err(ProfilerError::Refused(EmitError::Stopped));
        }
        // Definitions that have been emitted are known once this is over.
        if let Err(error) = log.pass(&self.core.registry) {
            self.heap_failures.fetch_add(1, Ordering::Relaxed);
            return Err(ProfilerError::Log(error));
        }
        let list = registry().cost_centres();
        let ids: BTreeSet<u32> = held.ids.iter().copied().collect();
        let unknown: Vec<u32> = ids
            .into_iter()
            .filter(|id| !log.defines_cost_centre(*id))
            .collect();
        let mut outcome = Ok(());
        let mut emit = |event: Event<'_>| {
            if let Err(error) = log.emit(&event) {
                outcome = Err(ProfilerError::Refused(error));
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        };
        for id in unknown {
            match list.get(id) {
                Some(cost_centre) => emit(cost_centre.event()),
                None if id < self.first_new || id == OTHERS => emit(substitute(id)),
                // It is defined, in what the collector has yet to write.
                None => {}
            }
        }
        // Relaxed: changed by whoever holds the collector alone.
        let era = self.era.fetch_add(1, Ordering::Relaxed);
        emit(Event::HeapProfSampleBegin { era });
        for (stack, residency) in &held.stacks {
            emit(Event::HeapProfSampleCostCentre {
                profile: 0,
                residency: *residency,
                stack: CostCentreStack::innermost(&held.ids[stack.clone()]),
            });
        }
        emit(Event::HeapProfSampleEnd { era });
        self.heap_samples.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn statistics(&self) -> ProfilerStatistics {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProfilerStatistics {
            ticks: count(&self.ticks),
            late: count(&self.late),
            stacks: count(&self.stacks),
            missed: count(&self.missed),
            lost: count(&self.lost),
            heap_samples: count(&self.heap_samples),
            heap_failures: count(&self.heap_failures),
        }
    }
}

/// The definition of a cost centre that is in no list.
fn substitute(id: u32) -> Event<'static> {
    let (label, module) = match id {
        OTHERS => ("OTHERS", "PROFILING"),
        _ => ("unloaded", "unloaded"),
    };
    Event::HeapProfCostCentre {
        cost_centre: id,
        label: ZStr::up_to_nul(label),
        module: ZStr::up_to_nul(module),
        location: ZStr::up_to_nul("<built-in>"),
        flags: CostCentreFlags(0),
    }
}

/// What is live, as it was read.
#[derive(Debug, Default)]
struct Held {
    /// Of all stacks.
    ids: Vec<u32>,
    /// Where the cost centres of each are among these, and its bytes.
    stacks: Vec<(Range<usize>, u64)>,
}

impl Held {
    fn read(counts: &LiveBytes) -> Self {
        let mut held = Self::default();
        counts.each(|holder, bytes| {
            let begin = held.ids.len();
            match holder {
                Holder::Stack(ids) => held.ids.extend(ids),
                Holder::Others => held.ids.push(OTHERS),
                Holder::None => {}
            }
            held.stacks.push((begin..held.ids.len(), bytes));
        });
        held
    }
}
