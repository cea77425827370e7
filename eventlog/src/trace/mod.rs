//! Tracing without ceremony: one log for the whole process, macros, and threads that sign on and off
//! by themselves.
//!
//! ```
//! use ghc_eventlog::{EventLog, trace, trace_event, trace_marker, trace_span};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("my.eventlog");
//! trace::install(EventLog::builder().file(&path)?)?;
//! trace_marker!("start");
//! std::thread::scope(|scope| {
//!     for worker in 1..=2 {
//!         scope.spawn(move || {
//!             trace::set_thread_label(&format!("worker {worker}"));
//!             let _span = trace_span!("work");
//!             trace_event!("{} items", 17 * worker);
//!         });
//!     }
//! });
//! // The log ends with its last handle.
//! trace::uninstall();
//! # assert!(std::fs::read(&path)?.ends_with(b"\xff\xff"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use what
//!
//! | you have | use |
//! |---|---|
//! | a program, or a library with an event log in mind | this module |
//! | a program that is instrumented with `tracing` | `TracingLayer` (feature `tracing`), and no other change |
//! | a pool whose threads are yours, several logs, every nanosecond counted | a [`Capability`] for each thread |
//! | a test, or a part of a process, with a log of its own | an [`EventLog`] that is not installed |
//!
//! A log that is installed is an ordinary one: [`log`] gives a handle, and threads may have further
//! capabilities of it. Numbers of threads are given out here one after the other, from 1 on;
//! a program that emits events about threads of its own making does well to begin far above.
//!
//! # Threads
//!
//! With its first event a thread takes a capability (which allocates a buffer of the log's
//! [size](crate::Builder::buffer_size), and may wait for the sink as
//! [`EventLog::capability`] says), and emits `CREATE_THREAD`, `THREAD_LABEL` with the name that the
//! standard library knows, and `RUN_THREAD`. At its end it emits `STOP_THREAD` with the status
//! *finished*, and gives the capability back. So ThreadScope draws a row with a bar for each thread
//! that lives, and several in one row where one began after another had ended.
//!
//! The bar tells that the thread is there, not that it computes. [`blocked`] makes a gap in it while
//! the thread waits.
//!
//! Where no capability can be had, as there are 65,535 of them or memory is short, the thread's
//! events go to the log's shared buffer, until another log is installed. Then the log does not say
//! which thread they are of, and the thread has no bar.
//!
//! # Events and spans
//!
//! [`trace_event!`](crate::trace_event) emits a user message, a tick in the thread's row with its
//! text in ThreadScope's list of events. [`trace_marker!`](crate::trace_marker) emits a user marker,
//! for the few moments that matter to the whole program. [`emit`] emits any event.
//!
//! GHC's format has no spans. [`trace_span!`](crate::trace_span) follows the convention that
//! `ghc-events-analyze` reads: the user messages `START name` and `STOP name`, from which that tool
//! sums up each name's time and draws it. ThreadScope shows both as ticks. Markers instead would
//! cover ThreadScope's timeline, and threads made for spans would make its bars tell something else
//! than what ran.
//!
//! # Cost
//!
//! Without an installed log, each macro is a relaxed load and a branch, and its arguments are not
//! evaluated. With one, an event costs what [`Capability::emit`] costs, a look at a thread local, and
//! the formatting; text without arguments is not formatted. Text is formatted in memory that
//! the thread keeps, which grows to what its longest text has needed, 128 KiB at most: in the steady
//! state nothing is allocated. What exceeds the format's 65,535 bytes is cut off between two characters.
//!
//! # Where it is used in unusual places
//!
//! Nothing here panics, or waits for the thread's own doing.
//!
//! - **An argument whose `Display` traces**: its events come first, whole; then the event that it is
//!   formatted for. Each such event inside another one allocates. Where a `Display` panics, its event
//!   is not emitted; where it returns an error, the text up to there is.
//! - **The destructor of a thread local** that runs after the thread has signed off: its events go to
//!   the shared buffer, and its spans are not emitted. A thread whose first event comes from such a
//!   destructor signs on and off like any other.
//! - **The allocator, a sink, a signal handler** that traces while its own thread is in the midst of
//!   an event: the event is dropped, and counted by [`dropped`]. Between events, a signal handler may
//!   emit text without arguments on a thread that has traced before to the same log; anything more
//!   may allocate.
//! - **After [`uninstall`]** nothing is emitted. A span ends silently where its log is gone, also
//!   where another one is installed by then.
//! - **After the log was stopped**, and is still installed: each event is counted as
//!   [lost](crate::Lost) by the log.
//!
//! [`Capability`]: crate::Capability
//! [`Capability::emit`]: crate::Capability::emit
//! [`EventLog`]: crate::EventLog
//! [`EventLog::capability`]: crate::EventLog::capability

mod dropped;
mod installed;
#[cfg(feature = "tracing")]
mod layer;
mod macros;
mod span;
mod text;
mod thread;

pub use dropped::dropped;
pub use installed::{InstallError, enabled, install, log};
#[cfg(feature = "tracing")]
pub use layer::TracingLayer;
pub use span::{Blocked, Span, blocked, span};

use crate::format::{Encode, Event, ThreadId};
use crate::log::EventLog;
use std::fmt::{self, Write};
use text::Text;

/// Takes the log away that is installed, and gives it back; `None` where there is none.
///
/// The calling thread's part of the log ends: its thread stops, and its capability is given back.
/// Other threads emit nothing more once they have noticed. One that is in the midst of an event may
/// finish it; it is in the log, or is counted as [lost](crate::Lost) where the log has been stopped
/// by then. They keep their capabilities, and the memory of these, until they end or write to
/// another log.
///
/// Dropping what is given back [stops](EventLog::stop) the log where it is the last handle: so
/// `trace::uninstall();` at the end of `main` writes everything. Without it, the log is never
/// stopped: what has not been written yet when the process ends is lost, as the log's own
/// documentation says.
///
/// ```
/// use ghc_eventlog::{EventLog, trace, trace_event};
///
/// assert!(trace::uninstall().is_none());
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// let log = trace::uninstall().expect("it is installed");
/// trace_event!("for nobody");
/// assert!(log.stop()?.capabilities.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn uninstall() -> Option<EventLog> {
    let log = installed::take()?;
    thread::leave();
    Some(log)
}

/// Emits a user message. [`trace_event!`](crate::trace_event) is the way to call it.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace::event(format_args!("parsed {} files", 17));
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn event(text: fmt::Arguments<'_>) {
    match text.as_str() {
        Some(text) => message(text),
        None => formatted(text, message),
    }
}

/// Emits a user marker. [`trace_marker!`](crate::trace_marker) is the way to call it.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace::marker(format_args!("phase {}", 2));
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn marker(text: fmt::Arguments<'_>) {
    match text.as_str() {
        Some(text) => named_moment(text),
        None => formatted(text, named_moment),
    }
}

/// Emits `event` from the calling thread, which signs on where it has not done so: an [`Event`], or one
/// of a type that the installed log [declares](crate::Builder::declare). Nothing where no log is
/// installed. An event that cannot be taken in is counted as [lost](crate::Lost).
///
/// ```
/// use ghc_eventlog::format::Event;
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace::emit(&Event::GcStart);
/// trace::emit(&Event::GcEnd);
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn emit(event: &(impl Encode + ?Sized)) {
    if enabled() {
        thread::emit(event);
    }
}

/// Names the calling thread, in the log that is installed now, and in those that it writes to later.
/// Without this, its name is the one that it was spawned with, if any. Allocates a copy of the name.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// std::thread::spawn(|| trace::set_thread_label("downloader")).join().unwrap();
/// // Made, labelled, run, stopped.
/// let statistics = trace::uninstall().expect("it is installed").stop()?;
/// assert_eq!(statistics.capabilities[0].events, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_thread_label(label: &str) {
    thread::set_label(label);
}

/// The calling thread's number in the log that is installed; the thread signs on where it has not done
/// so. `None` where no log is installed, or the thread has no capability. A thread has another number
/// in the next log.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// assert_eq!(trace::thread_id(), None);
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// assert!(trace::thread_id().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn thread_id() -> Option<ThreadId> {
    if !enabled() {
        return None;
    }
    thread::with(|writer| writer.thread()).ok().flatten()
}

fn message(text: &str) {
    thread::message(text);
}

fn named_moment(name: &str) {
    thread::emit(&Event::UserMarker { name });
}

fn formatted(arguments: fmt::Arguments<'_>, emit: impl FnOnce(&str)) {
    Text::make(
        // An error is that of a `Display`, and what it has written counts.
        |text| {
            let _ = text.write_fmt(arguments);
        },
        emit,
    );
}
