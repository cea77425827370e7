//! Threads that wait for room in a buffer, and the collector that wakes them. Nothing is known here of
//! buffers.
//!
//! No wake-up is lost: whoever waits registers, and *then looks again*; the collector makes room, and
//! *then looks for those who wait*. Each has a `SeqCst` fence between the two, so one of them sees what
//! the other has done. Every wait has a limit all the same.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Room {
    waiting: AtomicUsize,
    /// How often room has come.
    turns: Mutex<u64>,
    came: Condvar,
}

impl Room {
    fn turns(&self) -> MutexGuard<'_, u64> {
        // A number is whole whoever has panicked.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until there is an outcome, asleep in between, and once more when the time is up.
    pub(crate) fn wait<R>(
        &self,
        deadline: Instant,
        mut look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // Relaxed: ordered by the fence below.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        // SeqCst: pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        loop {
            let turn = *self.turns();
            if let Some(outcome) = look() {
                return Some(outcome);
            }
            let mut turns = self.turns();
            while *turns == turn {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    drop(turns);
                    return look();
                }
                let woken = self.came.wait_timeout(turns, left);
                (turns, _) = woken.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Wakes all who wait. To be called after whatever may let them go on.
    #[inline]
    pub(crate) fn notify(&self) {
        // SeqCst: pairs with the fence in `wait`.
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        *self.turns() += 1;
        self.came.notify_all();
    }
}

/// One of those who wait, until the end of the scope.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Relaxed: a number that is too large costs a wake-up for nobody.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
