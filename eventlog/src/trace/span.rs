//! Spans of time, and of waiting: guards whose ends are events.

use super::installed::enabled;
use super::text::{Text, cut};
use super::thread;
use crate::format::{Event, MAX_PAYLOAD};
use std::marker::PhantomData;

const START: &str = "START ";
const STOP: &str = "STOP ";

/// Emits `START name`, and `STOP name` when it is dropped; see [`span`].
///
/// It belongs to the thread that made it, and cannot be sent to another.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::trace::{self, Span};
/// use ghc_eventlog::EventLog;
///
/// /// Measured from its making to its end.
/// struct Job<'a>(Span<'a>);
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// drop(Job(trace::span("job")));
/// // The thread was made, labelled, ran, began and ended the span, and stopped.
/// let statistics = trace::uninstall().expect("it is installed").stop()?;
/// assert_eq!(statistics.capabilities[0].events, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a span ends where it is dropped"]
pub struct Span<'a> {
    /// `None` where no log was installed.
    name: Option<&'a str>,
    _not_send: PhantomData<*const ()>,
}

/// Begins a span of that name, which ends where the guard is dropped. Nothing is emitted where no
/// log is installed when it begins, nor at its end where the log is another one by then.
///
/// The name is cut at 65,529 bytes, between two characters. Readers pair the ends by the name, so
/// what differs from call to call is better said by an event within.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// {
///     let _span = trace::span("parse");
///     trace::event(format_args!("{} bytes", 17));
/// }
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn span(name: &str) -> Span<'_> {
    let name = enabled().then(|| {
        begin(name);
        name
    });
    Span {
        name,
        _not_send: PhantomData,
    }
}

impl Span<'_> {
    /// A span that says nothing. Allocates nothing.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, trace};
    ///
    /// trace::install(EventLog::builder().start(Vec::new())?)?;
    /// let verbose = false;
    /// let _span = if verbose { trace::span("step") } else { trace::Span::none() };
    /// assert!(trace::uninstall().expect("it is installed").stop()?.capabilities.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub const fn none() -> Self {
        Span {
            name: None,
            _not_send: PhantomData,
        }
    }
}

impl Drop for Span<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(name) = self.name {
            end(name);
        }
    }
}

pub(super) fn begin(name: &str) {
    with_label(START, name, |text| {
        // A thread that is busy or gone has no spans.
        let _ = thread::with(|writer| writer.begin(&Event::UserMessage { text }));
    });
}

pub(super) fn end(name: &str) {
    if enabled() {
        with_label(STOP, name, |text| {
            let _ = thread::with(|writer| writer.end(&Event::UserMessage { text }));
        });
    }
}

fn with_label(what: &str, name: &str, emit: impl FnOnce(&str)) {
    // Both ends cut a name at the same place.
    let name = cut(name, MAX_PAYLOAD - START.len());
    Text::make(
        |text| {
            text.push(what);
            text.push(name);
        },
        emit,
    );
}

/// Says that the thread runs again when it is dropped; see [`blocked`].
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// drop(trace::blocked());
/// // The thread was made, labelled, ran, stopped to wait, could run, ran, and stopped.
/// let statistics = trace::uninstall().expect("it is installed").stop()?;
/// assert_eq!(statistics.capabilities[0].events, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the waiting ends where this is dropped"]
pub struct Blocked {
    /// Whether this has stopped the thread.
    stopped: bool,
    _not_send: PhantomData<*const ()>,
}

/// Says that the thread stops running, as it is about to wait for something; it runs again when the
/// guard is dropped. ThreadScope shows a gap in the thread's bar. Within another such guard nothing
/// is emitted, and nothing where the thread has no capability.
///
/// The log gives `BlockedOnMVar` as the reason: the format's reasons are those of Haskell's run-time
/// system, and this is the one for waiting for another thread.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
/// use std::sync::mpsc::channel;
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// let (sender, receiver) = channel();
/// sender.send(1)?;
/// let item = {
///     let _waiting = trace::blocked();
///     receiver.recv()?
/// };
/// assert_eq!(item, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn blocked() -> Blocked {
    Blocked {
        stopped: enabled() && thread::with(thread::Writer::block) == Ok(true),
        _not_send: PhantomData,
    }
}

impl Drop for Blocked {
    #[inline]
    fn drop(&mut self) {
        if self.stopped && enabled() {
            let _ = thread::with(thread::Writer::unblock);
        }
    }
}
