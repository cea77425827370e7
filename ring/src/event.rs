//! Something that can be waited for: who waits, and how they are woken. It knows nothing of rings.
//!
//! Nobody pays for it while nobody waits, but for a fence and a load where it happens.
//!
//! # No wake-up is lost
//!
//! Whoever waits registers, and *then looks again* whether what they wait for has come. Whoever lets it
//! come does so, and *then looks for those who wait*. Between the two steps each has a `SeqCst` fence,
//! and of two such fences one is first: if it is the waiter's, the other sees the registration; if not,
//! the waiter sees what has come. The word that is looked at, `waiting`, may have been set back to zero
//! in between, but only by somebody who took the registration to wake it, or by the waiter itself.
//!
//! All who wait are woken, in the order in which they came, and each looks for itself. So whoever was
//! woken and does not want it any more has taken it from nobody.
//!
//! # Foreign code
//!
//! A [`Waker`](core::task::Waker) is somebody else's: to clone, to wake and to drop one may panic, or come
//! back here. None of that is ever done under the lock. A waker that panics when it is woken does so in
//! the middle of another's call, of a ring perhaps that has nothing to do with it: the panic ends here,
//! after the panic hook has told of it.

use crate::primitive::{Armed, AtomicUsize, Mutex, MutexGuard, Ordering, Unparker, fence};
use alloc::collections::VecDeque;
#[cfg(feature = "async")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

pub(crate) struct Event {
    /// How many wait. Written under the lock only.
    waiting: AtomicUsize,
    queue: Mutex<Queue>,
    armed: Armed,
}

struct Queue {
    /// In the order of their tickets.
    waiters: VecDeque<Waiter>,
    /// The ticket of whoever comes next.
    next: u64,
}

struct Waiter {
    ticket: u64,
    wakes: Wakes,
}

/// How somebody is woken.
pub(crate) enum Wakes {
    Thread(Unparker),
    #[cfg(feature = "async")]
    Task(core::task::Waker),
}

impl Wakes {
    fn wake(self) {
        match self {
            Wakes::Thread(thread) => thread.unpark(),
            #[cfg(feature = "async")]
            Wakes::Task(task) => {
                let woken = catch_unwind(AssertUnwindSafe(|| task.wake()));
                // To drop what it panicked with may panic again; what comes of that is leaked.
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(woken)));
                dropped.unwrap_or_else(core::mem::forget);
            }
        }
    }
}

/// Somebody's place among those who wait: none before the first time.
#[derive(Default)]
pub(crate) struct Ticket(Option<u64>);

impl Event {
    pub(crate) fn new() -> Self {
        Event {
            waiting: AtomicUsize::new(0),
            queue: Mutex::new(Queue {
                waiters: VecDeque::new(),
                next: 0,
            }),
            armed: Armed::new(),
        }
    }

    /// To be called before anybody can wait for it.
    pub(crate) fn arm(&self) {
        self.armed.arm();
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiters.len()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing that can panic is done under it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has changed. To be called after whatever has happened; wakes all who wait.
    #[inline]
    pub(crate) fn notify(&self) {
        if !self.armed.is_armed() {
            return;
        }
        // SeqCst: pairs with the fence in `register` (see "No wake-up is lost").
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence. A plain load also under loom, although this thread may store
        // next: stores are made under the lock, and loom sees all of that. An exchange of nothing would
        // be a store that is not.
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.wake_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self) {
        // Those who come meanwhile look for themselves; else two who wake each other would never end.
        let end = self.lock().next;
        loop {
            let (waiter, more) = self.take(end);
            if let Some(waiter) = waiter {
                waiter.wakes.wake();
            }
            if !more {
                return;
            }
        }
    }

    /// Puts `wakes` into the place of `ticket`, or at the end where it has none any more. The caller
    /// must look again afterwards whether what it waits for has come.
    ///
    /// `false` where memory for it could not be had: then nobody will wake the caller.
    #[must_use]
    pub(crate) fn register(&self, ticket: &mut Ticket, wakes: Wakes) -> bool {
        let mut queue = self.lock();
        let mut before = None;
        let registered = if let Some(place) = queue.find(ticket) {
            before = Some(core::mem::replace(&mut queue.waiters[place].wakes, wakes));
            true
        } else if queue.waiters.try_reserve(1).is_ok() {
            let next = queue.next;
            queue.next = next + 1;
            queue.waiters.push_back(Waiter {
                ticket: next,
                wakes,
            });
            *ticket = Ticket(Some(next));
            self.tell(&queue);
            true
        } else {
            before = Some(wakes);
            false
        };
        drop(queue);
        // Foreign code, so not under the lock.
        drop(before);
        // SeqCst: pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        registered
    }

    /// Takes the registration back, if it is still there.
    pub(crate) fn cancel(&self, ticket: &mut Ticket) {
        if ticket.0.is_none() {
            return;
        }
        let mut queue = self.lock();
        let place = queue.find(ticket);
        let waiter = place.and_then(|place| queue.waiters.remove(place));
        self.tell(&queue);
        drop(queue);
        *ticket = Ticket(None);
        // Foreign code, so not under the lock.
        drop(waiter);
    }

    /// Takes the first of those out who came before `end`, and says whether there are more of them.
    fn take(&self, end: u64) -> (Option<Waiter>, bool) {
        let mut queue = self.lock();
        let comes = |queue: &Queue| {
            queue
                .waiters
                .front()
                .is_some_and(|first| first.ticket < end)
        };
        if !comes(&queue) {
            return (None, false);
        }
        let waiter = queue.waiters.pop_front();
        self.tell(&queue);
        (waiter, comes(&queue))
    }

    fn tell(&self, queue: &Queue) {
        // Relaxed: the lock orders stores, and the fences what is looked for.
        self.waiting.store(queue.waiters.len(), Ordering::Relaxed);
    }
}

impl Queue {
    fn find(&self, ticket: &Ticket) -> Option<usize> {
        let ticket = ticket.0?;
        self.waiters
            .binary_search_by_key(&ticket, |waiter| waiter.ticket)
            .ok()
    }
}
