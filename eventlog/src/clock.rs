//! Time stamps: nanoseconds since a log's start.

use std::fmt;

/// Nanoseconds since the clock was made, from the processor's time stamp counter where that is
/// reliable (by `quanta`), from the operating system's monotonic clock elsewhere.
///
/// Reading it takes no lock and makes no system call on machines with an invariant counter; there,
/// making the first clock of a process takes some milliseconds of calibration. Clones count from the
/// same moment.
///
/// # Examples
///
/// ```
/// let clock = ghc_eventlog::Clock::new();
/// let earlier = clock.now();
/// assert!(clock.now() >= earlier);
/// ```
#[derive(Clone)]
pub struct Clock {
    source: quanta::Clock,
    start: u64,
}

impl Clock {
    /// A clock that starts now.
    ///
    /// ```
    /// let clock = ghc_eventlog::Clock::new();
    /// assert!(clock.now() < 60_000_000_000, "a minute cannot have passed");
    /// ```
    pub fn new() -> Self {
        let source = quanta::Clock::new();
        let start = source.raw();
        Clock { source, start }
    }

    /// Nanoseconds since the start. Never less than what the same thread has read before, provided
    /// that the counters of the processors agree; a log makes sure of it for each buffer itself.
    ///
    /// ```
    /// let clock = ghc_eventlog::Clock::new();
    /// std::thread::sleep(std::time::Duration::from_millis(2));
    /// assert!(clock.now() >= 1_000_000);
    /// ```
    #[inline]
    pub fn now(&self) -> u64 {
        self.source.delta_as_nanos(self.start, self.source.raw())
    }
}

/// The time as a log's collector knows it.
#[derive(Debug)]
pub(crate) enum LogTime {
    /// Whoever emits stamps by this clock.
    Clock(Clock),
    /// Somebody else has stamped what came: the latest that was seen.
    Latest(u64),
}

impl LogTime {
    pub(crate) fn now(&self) -> u64 {
        match self {
            LogTime::Clock(clock) => clock.now(),
            LogTime::Latest(time) => *time,
        }
    }

    /// Says that something came that was stamped then.
    pub(crate) fn see(&mut self, time: u64) {
        if let LogTime::Latest(latest) = self {
            *latest = time.max(*latest);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
