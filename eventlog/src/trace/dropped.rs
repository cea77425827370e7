//! How many events were dropped since they interrupted another one of their thread.

use std::sync::atomic::{AtomicU64, Ordering};

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Events of this process that this module has dropped since it began, over all logs: those that
/// came while their own thread was in the midst of another one. Only code that the event log calls,
/// or that interrupts it, can do that: the allocator, a sink, a signal handler. They are in no log's
/// [`Statistics`](crate::Statistics).
///
/// ```
/// assert_eq!(ghc_eventlog::trace::dropped(), 0);
/// ```
#[must_use]
pub fn dropped() -> u64 {
    // Relaxed: it counts and orders nothing.
    DROPPED.load(Ordering::Relaxed)
}

#[cold]
pub(super) fn count() {
    // Relaxed: it counts and orders nothing.
    DROPPED.fetch_add(1, Ordering::Relaxed);
}
