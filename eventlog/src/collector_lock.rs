//! The lock around the collector: one that knows when its holder asks for it again, as a sink does
//! that calls its own log, and that makes nobody wait for ever.

use crate::collector::Collector;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(crate) struct CollectorLock {
    /// Held while waiting for the collector. The collector's thread asks again as soon as it has let
    /// go, and would win every time against a thread that has to wake up first.
    turn: Mutex<()>,
    collector: Mutex<Collector>,
    /// The thread that holds the collector, as `here` names it; 0 where there is none.
    holder: AtomicUsize,
}

impl CollectorLock {
    pub(crate) fn new(collector: Collector) -> Self {
        CollectorLock {
            turn: Mutex::new(()),
            collector: Mutex::new(collector),
            holder: AtomicUsize::new(0),
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
        // Relaxed, here and below: a thread finds its own name only if it has written that itself.
        self.holder.store(here(), Ordering::Relaxed);
        Some(Held {
            collector,
            holder: &self.holder,
        })
    }

    /// Whether this thread is within a call of the sink's.
    pub(crate) fn is_held_here(&self) -> bool {
        self.holder.load(Ordering::Relaxed) == here()
    }
}

/// A name for this thread that no other thread has at the same time. Unlike
/// [`thread::current`](std::thread::current), it can be had to the very end of the thread.
fn here() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// The collector, locked.
pub(crate) struct Held<'a> {
    collector: MutexGuard<'a, Collector>,
    holder: &'a AtomicUsize,
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
        self.holder.store(0, Ordering::Relaxed);
    }
}
