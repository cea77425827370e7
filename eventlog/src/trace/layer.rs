//! A layer for `tracing-subscriber`, by which a program that is instrumented with `tracing` gets an event log.

use super::installed::enabled;
use super::text::Text;
use super::{message, span};
use std::fmt::{self, Write};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Writes what `tracing` sees to the log that is [installed](super::install). Needs the feature
/// `tracing`.
///
/// | `tracing` | in the log |
/// |---|---|
/// | an event | the user message `LEVEL target: message field=value …` |
/// | a span with fields is made, or a field of it is recorded | the user message `SPAN name: field=value …` |
/// | a span is entered, left | the user messages `START name`, `STOP name`, as of [`span`](super::span()) |
/// | a thread's first event or span | the thread signs on, see [the module](super) |
///
/// Values are written as their `Debug` has them, and the message as text. The name in `START` and `STOP`
/// is the span's alone, so that readers can sum up all spans of that name; a span that is entered several
/// times is several pairs. A span that was entered before the log was installed has no end there.
///
/// Filters are the usual ones: give the layer one of its own by
/// [`with_filter`](Layer::with_filter), or have one for all layers.
///
/// An event costs what [`trace_event!`](crate::trace_event) with arguments does, and what `tracing` and the
/// other layers cost. While no log is installed it costs a load and a branch beyond these. What can be
/// lost, text that is too long, and unusual places are as in [the module](super).
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
/// use tracing_subscriber::filter::LevelFilter;
/// use tracing_subscriber::prelude::*;
///
/// let layer = trace::TracingLayer::new().with_filter(LevelFilter::INFO);
/// let subscriber = tracing_subscriber::registry().with(layer);
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// tracing::subscriber::with_default(subscriber, || {
///     let _span = tracing::info_span!("parse").entered();
///     tracing::info!(files = 17, "parsed");
///     tracing::debug!("not in the log");
/// });
/// // The thread was made, labelled, ran, began the span, parsed, ended it, and stopped.
/// let statistics = trace::uninstall().expect("it is installed").stop()?;
/// assert_eq!(statistics.capabilities[0].events, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TracingLayer;

impl TracingLayer {
    /// A layer that writes everything that it is given.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, trace};
    /// use tracing_subscriber::prelude::*;
    ///
    /// let subscriber = tracing_subscriber::registry().with(trace::TracingLayer::new());
    /// trace::install(EventLog::builder().start(Vec::new())?)?;
    /// tracing::subscriber::with_default(subscriber, || tracing::trace!("hello"));
    /// assert!(trace::uninstall().expect("it is installed").stop()?.events() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        TracingLayer
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if enabled() && !attributes.is_empty() {
            let name = attributes.metadata().name();
            tell_fields(name, |fields| attributes.record(fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if enabled() && !values.is_empty() {
            if let Some(span) = context.metadata(id) {
                tell_fields(span.name(), |fields| values.record(fields));
            }
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !enabled() {
            return;
        }
        let metadata = event.metadata();
        Text::make(
            |text| {
                text.push(metadata.level().as_str());
                text.push(" ");
                text.push(metadata.target());
                text.push(":");
                event.record(&mut Fields(text));
            },
            message,
        );
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if enabled() {
            if let Some(span) = context.metadata(id) {
                span::begin(span.name());
            }
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if enabled() {
            if let Some(span) = context.metadata(id) {
                span::end(span.name());
            }
        }
    }
}

/// Emits what is known of a span.
fn tell_fields(name: &str, record: impl FnOnce(&mut Fields<'_>)) {
    Text::make(
        |text| {
            text.push("SPAN ");
            text.push(name);
            text.push(":");
            record(&mut Fields(text));
        },
        message,
    );
}

/// Writes ` name=value` for each field, and only the value for the message.
struct Fields<'a>(&'a mut Text);

impl Fields<'_> {
    fn push_name(&mut self, field: &Field) {
        self.0.push(" ");
        if field.name() != "message" {
            self.0.push(field.name());
            self.0.push("=");
        }
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.push_name(field);
            self.0.push(value);
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push_name(field);
        // An error is that of the `Debug`, and what it has written counts.
        let _ = write!(self.0, "{value:?}");
    }
}
