//! The macros: nothing in them is evaluated where no log is installed.

/// Emits a user message, formatted as [`format!`] does, to the log that is
/// [installed](crate::trace::install).
///
/// Where there is none, this is a relaxed load and a branch; the arguments are not evaluated. See
/// [`trace`](crate::trace) for what it costs otherwise, and for everything else.
///
/// ```
/// use ghc_eventlog::{EventLog, trace, trace_event};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// let files = 17;
/// trace_event!("parsed {files} files");
/// let statistics = trace::uninstall().expect("it is installed").stop()?;
/// // The thread was made, labelled, ran, said it, and stopped.
/// assert_eq!(statistics.capabilities[0].events, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! trace_event {
    ($($argument:tt)+) => {
        if $crate::trace::enabled() {
            $crate::trace::event(::core::format_args!($($argument)+));
        }
    };
}

/// Emits a user marker, formatted as [`format!`] does: a named moment that viewers draw over the
/// whole timeline. Otherwise as [`trace_event!`](crate::trace_event).
///
/// ```
/// use ghc_eventlog::{EventLog, trace, trace_marker};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace_marker!("phase {}", 2);
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! trace_marker {
    ($($argument:tt)+) => {
        if $crate::trace::enabled() {
            $crate::trace::marker(::core::format_args!($($argument)+));
        }
    };
}

/// Begins a [`span`](crate::trace::span) of that name, a `&str`, and gives its guard: the span ends
/// where that is dropped, so bind it to a name. Where no log is installed, the name is not evaluated.
///
/// ```
/// use ghc_eventlog::{EventLog, trace, trace_span};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// {
///     let _span = trace_span!("parse");
///     // …
/// }
/// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! trace_span {
    ($name:expr $(,)?) => {
        if $crate::trace::enabled() {
            $crate::trace::span($name)
        } else {
            $crate::trace::Span::none()
        }
    };
}
