//! The lock around the collector: one that knows when its holder asks for it again, as a sink does
//! that calls its own log, and that makes nobody wait for ever.

use crate::collector::Collector;
use crate::signals::Signals;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct CollectorLock {
    /// Held while waiting for the collector. The collector's thread asks again as soon as it has let
    /// go, and would win every time against a thread that has to wake up first.
    turn: Mutex<()>,
    collector: Mutex<Collector>,
    /// Knows the thread that holds the collector.
    signals: Arc<Signals>,
}

impl CollectorLock {
    pub(crate) fn new(collector: Collector, signals: Arc<Signals>) -> Self {
        CollectorLock {
            turn: Mutex::new(()),
            collector: Mutex::new(collector),
            signals,
        }
    }

    /// The collector, or `None` where this thread holds it already: waiting would never end.
    pub(crate) fn lock(&self) -> Option<Held<'_>> {
        if self.is_held_here() {
            return None;
        }
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // The sink's panics are caught before they come here, and the collector has no others.
        let collector = self
            .collector
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        self.signals.set_holder(true);
        Some(Held {
            collector,
            signals: &self.signals,
        })
    }

    /// Whether this thread is within a call of the sink's.
    pub(crate) fn is_held_here(&self) -> bool {
        self.signals.is_held_here()
    }
}

/// The collector, locked.
pub(crate) struct Held<'a> {
    collector: MutexGuard<'a, Collector>,
    signals: &'a Signals,
}

impl Deref for Held<'_> {
    type Target = Collector;

    fn deref(&self) -> &Collector {
        &self.collector
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Collector {
        &mut self.collector
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // While the lock is still held: fields are dropped after this.
        self.signals.set_holder(false);
    }
}
