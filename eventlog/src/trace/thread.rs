//! What each thread keeps for its events: its capability in the installed log, and the text that it
//! formats them in.
//!
//! A thread is *busy* while its [`Writer`] is borrowed. Only code that the event log calls can trace
//! then: the allocator, a sink that runs on this thread, a signal handler. Such an event would have
//! to wait for the one that it interrupts, so it is dropped, and counted.

use super::{dropped, installed};
use crate::capability::Capability;
use crate::format::{Encode, Event, StopStatus, ThreadId};
use crate::log::EventLog;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The number of the next thread that comes to a log. Never 0.
static NEXT_THREAD: AtomicU32 = AtomicU32::new(1);

thread_local! {
    static THREAD: Thread = const {
        Thread {
            writer: RefCell::new(Writer {
                generation: 0,
                capability: None,
                thread: ThreadId(0),
                running: false,
                spans: 0,
                label: None,
            }),
            text: Cell::new(String::new()),
        }
    };

    /// Whether the thread is busy once `THREAD` is gone. Needs no destructor, so it is always there.
    static LATE: Cell<bool> = const { Cell::new(false) };
}

struct Thread {
    writer: RefCell<Writer>,
    /// Empty while an event is formatted in it.
    text: Cell<String>,
}

/// A thread's place in the log that it has last written to.
pub(super) struct Writer {
    /// The log's number; 0 for no log.
    generation: u32,
    /// `None` where the log had none to give: events go to the shared buffer then.
    capability: Option<Capability>,
    /// The thread's number in that log, where it has a capability.
    thread: ThreadId,
    /// Whether the log says that the thread runs.
    running: bool,
    /// Spans whose beginning is in that log, and whose end is not.
    spans: u32,
    /// The name that the program has given the thread.
    label: Option<Box<str>>,
}

impl Writer {
    #[inline]
    pub(super) fn emit(&mut self, event: &(impl Encode + ?Sized)) {
        match &mut self.capability {
            Some(capability) => capability.emit(event),
            None => self.emit_shared(event),
        }
    }

    #[cold]
    fn emit_shared(&self, event: &(impl Encode + ?Sized)) {
        // A handle that this kept would keep the log from ending with its last handle.
        if let Some((generation, log)) = installed::current() {
            if generation == self.generation {
                log.emit(event);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn emit_shared_message(&self, text: &str) {
        self.emit_shared(&Event::UserMessage { text });
    }

    /// Goes over to the log that is installed now, if any.
    #[cold]
    fn change(&mut self) {
        self.leave();
        if let Some((generation, log)) = installed::current() {
            self.generation = generation;
            self.join(&log);
        }
    }

    /// Says that the thread is there, and runs.
    fn join(&mut self, log: &EventLog) {
        // Where there are no more capabilities, or the log has been stopped, the shared buffer takes
        // the events in, or counts them.
        let Ok(mut capability) = log.capability() else {
            return;
        };
        self.thread = next_thread();
        self.running = true;
        let thread = self.thread;
        capability.emit(&Event::CreateThread { thread });
        let current = thread::current();
        if let Some(label) = self.label.as_deref().or(current.name()) {
            capability.emit(&Event::ThreadLabel { thread, label });
        }
        capability.emit(&Event::RunThread { thread });
        self.capability = Some(capability);
    }

    /// Says that the thread is done, and lets go of the capability.
    fn leave(&mut self) {
        // A thread can finish only while it runs.
        self.unblock();
        if let Some(mut capability) = self.capability.take() {
            capability.emit(&Event::StopThread {
                thread: self.thread,
                status: StopStatus::Finished,
                info: 0,
            });
        }
        self.generation = 0;
        self.running = false;
        self.spans = 0;
    }

    /// Says that the thread waits; whether that is news.
    pub(super) fn block(&mut self) -> bool {
        let Some(capability) = &mut self.capability else {
            return false;
        };
        let was_running = std::mem::replace(&mut self.running, false);
        if was_running {
            capability.emit(&Event::StopThread {
                thread: self.thread,
                status: StopStatus::BlockedOnMVar,
                info: 0,
            });
        }
        was_running
    }

    /// Says that the thread waits no longer.
    pub(super) fn unblock(&mut self) {
        let thread = self.thread;
        if let Some(capability) = &mut self.capability {
            if !std::mem::replace(&mut self.running, true) {
                capability.emit(&Event::ThreadRunnable { thread });
                capability.emit(&Event::RunThread { thread });
            }
        }
    }

    /// Emits the beginning of a span.
    pub(super) fn begin(&mut self, event: &Event<'_>) {
        self.spans += 1;
        self.emit(event);
    }

    /// Emits the end of a span, where its beginning is in the same log.
    pub(super) fn end(&mut self, event: &Event<'_>) {
        if let Some(spans) = self.spans.checked_sub(1) {
            self.spans = spans;
            self.emit(event);
        }
    }

    /// The thread's number in the log, where it has a capability there.
    pub(super) fn thread(&self) -> Option<ThreadId> {
        self.capability.as_ref().map(|_| self.thread)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.leave();
    }
}

fn next_thread() -> ThreadId {
    loop {
        // Relaxed: nothing but the number is wanted.
        let number = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
        if number != 0 {
            return ThreadId(number);
        }
    }
}

/// Why a thread cannot write in its own place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unavailable {
    /// It is in the midst of an event. Counted.
    Busy,
    /// It is ending: its locals have been destroyed.
    Gone,
}

/// Emits `event` where a log is installed.
#[inline]
pub(super) fn emit(event: &(impl Encode + ?Sized)) {
    if with(|writer| writer.emit(event)) == Err(Unavailable::Gone) {
        emit_late(event);
    }
}

/// Emits a user message where a log is installed, as [`emit`] does. It is an event in memory only where it does not go to
/// the thread's capability.
#[inline]
pub(super) fn message(text: &str) {
    let emitted = with(|writer| match &mut writer.capability {
        Some(capability) => capability.message(text),
        None => writer.emit_shared_message(text),
    });
    if emitted == Err(Unavailable::Gone) {
        emit_late_message(text);
    }
}

#[cold]
#[inline(never)]
fn emit_late_message(text: &str) {
    emit_late(&Event::UserMessage { text });
}

/// Runs `act` on what the thread has in the log that is installed now, if any.
#[inline]
pub(super) fn with<R>(act: impl FnOnce(&mut Writer) -> R) -> Result<R, Unavailable> {
    let outcome = THREAD.try_with(|thread| {
        let Ok(mut writer) = thread.writer.try_borrow_mut() else {
            dropped::count();
            return Err(Unavailable::Busy);
        };
        if writer.generation != installed::generation() {
            writer.change();
        }
        Ok(act(&mut writer))
    });
    outcome.unwrap_or(Err(Unavailable::Gone))
}

/// Names the thread. One that is busy keeps its name, and one that is gone needs none.
pub(super) fn set_label(label: &str) {
    let _ = THREAD.try_with(|thread| {
        let Ok(mut writer) = thread.writer.try_borrow_mut() else {
            return dropped::count();
        };
        writer.label = Some(label.into());
        if writer.generation != installed::generation() {
            // Tells the name.
            return writer.change();
        }
        let thread = writer.thread;
        if let Some(capability) = &mut writer.capability {
            capability.emit(&Event::ThreadLabel { thread, label });
        }
    });
}

/// Emits `event` to the shared buffer.
#[cold]
fn emit_late(event: &(impl Encode + ?Sized)) {
    if LATE.replace(true) {
        dropped::count();
        return;
    }
    if let Some((_, log)) = installed::current() {
        log.emit(event);
    }
    LATE.set(false);
}

/// Ends the thread's part of the log that it writes to.
pub(super) fn leave() {
    let _ = THREAD.try_with(|thread| {
        // A thread whose sink takes the log away leaves at its next event, or when it ends.
        if let Ok(mut writer) = thread.writer.try_borrow_mut() {
            writer.leave();
        }
    });
}

/// The text that the thread formats events in, empty; a new one where another event is being
/// formatted.
pub(super) fn take_text() -> String {
    THREAD
        .try_with(|thread| thread.text.take())
        .unwrap_or_default()
}

/// Keeps the text for the next event.
pub(super) fn keep_text(mut text: String) {
    text.clear();
    let _ = THREAD.try_with(|thread| thread.text.set(text));
}
