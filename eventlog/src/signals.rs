//! What every buffer of a log shares with the collector besides data: whether the log has been
//! stopped, whom to wake, and who waits.

use crate::room::Room;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Signals {
    /// The process whose log it is.
    process: u32,
    stopped: AtomicBool,
    collector: OnceLock<Thread>,
    /// The thread that holds the collector, as `here` names it; 0 where there is none.
    holder: AtomicUsize,
    /// How long an event waits for room, in microseconds; 0 where it does not.
    wait_limit: AtomicU32,
    /// Writers that wait for room.
    pub(crate) room: Room,
}

/// A name for this thread that no other thread has at the same time. Unlike
/// [`thread::current`](std::thread::current), it can be had to the very end of the thread.
fn here() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Default for Signals {
    fn default() -> Self {
        Signals {
            process: std::process::id(),
            stopped: AtomicBool::default(),
            collector: OnceLock::default(),
            holder: AtomicUsize::default(),
            wait_limit: AtomicU32::default(),
            room: Room::default(),
        }
    }
}

impl Signals {
    /// Whether this is a child of the process whose log it is: there is no collector, and a lock may be held by a
    /// thread that is not there. A system call.
    pub(crate) fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

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
        self.room.notify();
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: see `stop`.
        self.stopped.load(Ordering::Relaxed)
    }

    /// Says whether this thread holds the collector from now on.
    pub(crate) fn set_holder(&self, held: bool) {
        // Relaxed, here and below: a thread finds its own name only if it has written that itself.
        let holder = if held { here() } else { 0 };
        self.holder.store(holder, Ordering::Relaxed);
    }

    /// Whether this thread holds the collector, and so is within a call of the sink's or about to make
    /// one.
    pub(crate) fn is_held_here(&self) -> bool {
        self.holder.load(Ordering::Relaxed) == here()
    }

    /// Says how long events wait for room.
    pub(crate) fn set_wait_limit(&self, limit: Duration) {
        // No more than an hour, so it fits. No shorter than what can be said, unless it is zero.
        let micros = limit.as_nanos().div_ceil(1_000);
        let micros = u32::try_from(micros).unwrap_or(u32::MAX);
        // Relaxed: a setting.
        self.wait_limit.store(micros, Ordering::Relaxed);
    }

    /// Whether events wait for room.
    pub(crate) fn is_waited(&self) -> bool {
        // Relaxed: a setting.
        self.wait_limit.load(Ordering::Relaxed) != 0
    }

    /// How long this thread may wait for room; `None` where it may not. Whoever holds the collector
    /// would wait for itself, and a forked child for nobody.
    pub(crate) fn may_wait(&self) -> Option<Duration> {
        // Relaxed: a setting.
        let micros = self.wait_limit.load(Ordering::Relaxed);
        let may_wait = micros != 0 && !self.is_held_here() && !self.is_forked();
        may_wait.then(|| Duration::from_micros(micros.into()))
    }
}
