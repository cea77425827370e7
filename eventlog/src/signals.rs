//! What every buffer of a log shares with the collector besides data: whether the log has been
//! stopped, and whom to wake.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

#[derive(Debug, Default)]
pub(crate) struct Signals {
    stopped: AtomicBool,
    collector: OnceLock<Thread>,
}

impl Signals {
    /// Names the thread that drains the buffers. Only the first call counts.
    pub(crate) fn set_collector(&self, thread: Thread) {
        let _ = self.collector.set(thread);
    }

    /// Makes the collector look at the buffers soon. Neither blocks nor allocates: a swap, and a
    /// system call where the collector sleeps.
    pub(crate) fn wake_collector(&self) {
        if let Some(thread) = self.collector.get() {
            thread.unpark();
        }
    }

    /// Says that no more events are wanted, and makes the collector end the log.
    pub(crate) fn stop(&self) {
        // Relaxed: events that are committed in spite of it are counted afterwards, and being woken
        // tells the collector of it.
        self.stopped.store(true, Ordering::Relaxed);
        self.wake_collector();
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: see `stop`.
        self.stopped.load(Ordering::Relaxed)
    }
}
