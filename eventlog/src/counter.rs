//! Counts that one thread at a time writes and any thread may read.

#[cfg(target_has_atomic = "64")]
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(target_has_atomic = "64"))]
use std::sync::{Mutex, PoisonError};

/// A count that only ever grows. Behind a lock where the processor has no atomic word of its size.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    #[cfg(target_has_atomic = "64")]
    value: AtomicU64,
    #[cfg(not(target_has_atomic = "64"))]
    value: Mutex<u64>,
}

impl Counter {
    /// Adds to the count. No two threads may do so at the same time.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        #[cfg(target_has_atomic = "64")]
        // Relaxed: single writer. Release, for the Acquire in `get`: who sees the count sees what it
        // counts, and what was counted before.
        self.value
            .store(self.value.load(Ordering::Relaxed) + n, Ordering::Release);
        #[cfg(not(target_has_atomic = "64"))]
        {
            *self.value.lock().unwrap_or_else(PoisonError::into_inner) += n;
        }
    }

    /// The count now.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        #[cfg(target_has_atomic = "64")]
        // Acquire: pairs with the Release in `add`.
        return self.value.load(Ordering::Acquire);
        #[cfg(not(target_has_atomic = "64"))]
        return *self.value.lock().unwrap_or_else(PoisonError::into_inner);
    }
}

/// Events, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Tally {
    /// What has come since the count was `earlier`.
    pub(crate) fn since(self, earlier: Tally) -> Tally {
        Tally {
            events: self.events.saturating_sub(earlier.events),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Tally) {
        self.events += more.events;
        self.bytes += more.bytes;
    }
}

/// What has become of the events that one writer was given.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    events: Counter,
    bytes: Counter,
    refused_events: Counter,
    refused_bytes: Counter,
    stopped: Counter,
    undeclared: Counter,
    tracked: Counter,
}

impl Counters {
    /// Counts an event that was taken in. To be called after its commit.
    #[inline]
    pub(crate) fn take(&self, bytes: usize) {
        // In this order: see `taken`.
        self.events.add(1);
        self.bytes.add(bytes as u64);
    }

    /// Counts an event that the collector is to look at. To be called before its commit.
    #[inline]
    pub(crate) fn track(&self) {
        self.tracked.add(1);
    }

    /// Events that the collector is to look at.
    #[inline]
    pub(crate) fn tracked(&self) -> u64 {
        self.tracked.get()
    }

    /// Counts an event that found no room.
    pub(crate) fn refuse(&self, bytes: usize) {
        self.refused_bytes.add(bytes as u64);
        self.refused_events.add(1);
    }

    /// Counts an event that came after the log's end.
    pub(crate) fn stop(&self) {
        self.stopped.add(1);
    }

    /// Events taken in. Where one is just being counted, its bytes may still be missing.
    pub(crate) fn taken(&self) -> Tally {
        // In this order: the bytes were counted after the event.
        let bytes = self.bytes.get();
        let events = self.events.get();
        Tally { events, bytes }
    }

    /// Events that found no room. Where one is just being counted, its bytes may be ahead of it.
    pub(crate) fn refused(&self) -> Tally {
        let events = self.refused_events.get();
        let bytes = self.refused_bytes.get();
        Tally { events, bytes }
    }

    /// Events that came after the log's end.
    pub(crate) fn stopped(&self) -> u64 {
        self.stopped.get()
    }

    /// Counts an event whose type the log does not declare.
    pub(crate) fn miss_declaration(&self) {
        self.undeclared.add(1);
    }

    /// Events whose type the log does not declare.
    pub(crate) fn undeclared(&self) -> u64 {
        self.undeclared.get()
    }
}
