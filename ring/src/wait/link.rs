//! What binds a wrapped half to the other: what it waits for, what it tells, and its place among those
//! who wait.

use crate::control::Control;
use crate::event::{Event, Ticket, Wakes};
use crate::primitive::Parker;
use core::time::Duration;
use std::time::Instant;

/// How long a thread sleeps where nobody may be there to wake it.
const NAP: Duration = Duration::from_millis(10);

/// To be dropped after its half: then the half's end is told.
pub(super) struct Link<T> {
    control: Control<T>,
    side: Side,
    ticket: Ticket,
}

#[derive(Clone, Copy)]
pub(super) enum Side {
    Producer,
    Consumer,
}

impl Side {
    #[inline]
    fn other(self) -> Self {
        match self {
            Side::Producer => Side::Consumer,
            Side::Consumer => Side::Producer,
        }
    }

    #[inline]
    fn waits_for<T>(self, control: &Control<T>) -> &Event {
        let settings = control.settings();
        match self {
            Side::Producer => settings.pool.room(),
            Side::Consumer => &settings.items,
        }
    }
}

/// What came of one look.
pub(super) enum Look<R> {
    Done(R),
    /// It is to be waited for. `unannounced` where it may come without anybody's telling.
    NotYet {
        unannounced: bool,
    },
}

impl<T> Link<T> {
    pub(super) fn new(control: Control<T>, side: Side) -> Self {
        Link {
            control,
            side,
            ticket: Ticket::default(),
        }
    }

    /// Wakes the other half, which has something to look for.
    #[inline]
    pub(super) fn tell(&self) {
        self.side.other().waits_for(&self.control).notify();
    }

    pub(super) fn control(&self) -> &Control<T> {
        &self.control
    }

    /// After this the caller must look again.
    #[must_use]
    pub(super) fn register(&mut self, wakes: Wakes) -> bool {
        let event = self.side.waits_for(&self.control);
        event.register(&mut self.ticket, wakes)
    }

    pub(super) fn cancel(&mut self) {
        let event = self.side.waits_for(&self.control);
        event.cancel(&mut self.ticket);
    }

    /// Looks until it is done, asleep in between; `None` where it is not when the time is up. The last
    /// look comes after that time.
    pub(super) fn block<R>(
        &mut self,
        deadline: Option<Instant>,
        mut look: impl FnMut(&Self) -> Look<R>,
    ) -> Option<R> {
        if let Look::Done(done) = look(self) {
            return Some(done);
        }
        let parker = Parker::new();
        let waiting = Registered(self);
        loop {
            let registered = waiting.0.register(Wakes::Thread(parker.unparker()));
            let unannounced = match look(waiting.0) {
                Look::Done(done) => return Some(done),
                Look::NotYet { unannounced } => unannounced || !registered,
            };
            if !parker.park(deadline, unannounced.then_some(NAP)) {
                return None;
            }
        }
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        self.tell();
        // Drops a waker, which may panic: the other half has been told by then.
        self.cancel();
    }
}

/// Takes the registration back at the end of the scope, however that comes.
struct Registered<'a, T>(&'a mut Link<T>);

impl<T> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// When a wait that begins now is over; never, where that is beyond what the clock can tell.
pub(super) fn after(limit: Duration) -> Option<Instant> {
    Instant::now().checked_add(limit)
}
