//! What a program that is instrumented with `tracing` gets.

mod traced;
mod written;

use ghc_eventlog::{EventLog, trace, trace_event};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use traced::{Said, on_thread, traced, turn};
use tracing::subscriber::with_default;
use tracing::{Level, debug, error, event, info, info_span, span};
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;
use written::Memory;

#[test]
fn events_have_level_target_message_and_fields() {
    let subscriber = registry().with(trace::TracingLayer::new());
    let (said, statistics) = traced("layer-events", || {
        with_default(subscriber, || {
            info!("plain");
            let files = 17;
            debug!(target: "parser", files, ok = true, name = "a b", part = 1.5, "parsed {files} files");
            error!(shown = %"text", printed = ?Some(1));
            event!(Level::TRACE, message = "as a field", negative = -1);
        });
    });
    assert_eq!(
        said.texts(0),
        [
            "message INFO trace_layer: plain",
            "message DEBUG parser: parsed 17 files files=17 ok=true name=\"a b\" part=1.5",
            "message ERROR trace_layer: shown=text printed=Some(1)",
            "message TRACE trace_layer: as a field negative=-1",
        ]
    );
    assert_eq!(statistics.lost().total(), 0);
}

#[test]
fn spans_begin_and_end_where_they_are_entered_and_left_and_tell_their_fields_once() {
    let subscriber = registry().with(trace::TracingLayer::new());
    let (said, _) = traced("layer-spans", || {
        with_default(subscriber, || {
            let request = info_span!("request", id = 7, status = tracing::field::Empty);
            request.in_scope(|| {
                span!(Level::DEBUG, "parse").in_scope(|| info!("within"));
                request.record("status", 200);
            });
            request.in_scope(|| ());
        });
    });
    assert_eq!(
        said.texts(0),
        [
            "message SPAN request: id=7",
            "message START request",
            "message START parse",
            "message INFO trace_layer: within",
            "message STOP parse",
            "message SPAN request: status=200",
            "message STOP request",
            "message START request",
            "message STOP request",
        ]
    );
}

#[test]
fn a_span_that_moves_between_threads_begins_and_ends_on_each() {
    let dispatch = tracing::Dispatch::new(registry().with(trace::TracingLayer::new()));
    let (said, _) = traced("layer-threads", || {
        let span = tracing::dispatcher::with_default(&dispatch, || info_span!("moving"));
        for name in ["first", "second"] {
            let (span, dispatch) = (span.clone(), dispatch.clone());
            on_thread(name, move || {
                tracing::dispatcher::with_default(&dispatch, || span.in_scope(|| ()));
            });
        }
    });
    let all: Vec<_> = said.caps.concat();
    let count = |text: &str| all.iter().filter(|event| event.ends_with(text)).count();
    assert_eq!(count("message START moving"), 2);
    assert_eq!(count("message STOP moving"), 2);
    assert_eq!(
        (count(" first"), count(" second")),
        (1, 1),
        "both are labelled"
    );
}

#[test]
fn filters_apply_to_the_layer_alone_or_to_all() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let targets = Targets::new()
        .with_target("wanted", LevelFilter::INFO)
        .with_target("trace_layer", LevelFilter::WARN);
    let other = filter_fn(|_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        true
    });
    let subscriber = registry()
        .with(trace::TracingLayer::new().with_filter(targets))
        .with(NoLayer.with_filter(other))
        .with(LevelFilter::DEBUG);
    let (said, _) = traced("layer-filters", || {
        with_default(subscriber, || {
            info!(target: "wanted", "in");
            debug!(target: "wanted", "too detailed");
            info!("not that important");
            error!("important");
            let _span = info_span!("filtered").entered();
            let _wanted = info_span!(target: "wanted", "wanted", a = 1).entered();
        });
    });
    assert_eq!(
        said.texts(0),
        [
            "message INFO wanted: in",
            "message ERROR trace_layer: important",
            "message SPAN wanted: a=1",
            "message START wanted",
            "message STOP wanted",
        ]
    );
    assert!(
        ASKED.load(Ordering::Relaxed) > 0,
        "the other layer has its own filter"
    );
}

struct NoLayer;

impl<S: tracing::Subscriber> Layer<S> for NoLayer {}

/// Emits an event when it is formatted, and says that it was.
struct Chatty(&'static AtomicBool);

impl fmt::Debug for Chatty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.store(true, Ordering::Relaxed);
        trace_event!("from within");
        f.write_str("chatty")
    }
}

#[test]
fn values_may_trace_and_are_not_formatted_without_a_log() {
    static FORMATTED: AtomicBool = AtomicBool::new(false);
    let dispatch = tracing::Dispatch::new(registry().with(trace::TracingLayer::new()));
    let run = || {
        tracing::dispatcher::with_default(&dispatch, || {
            info!(value = ?Chatty(&FORMATTED), "has");
            let _span = info_span!("span", value = ?Chatty(&FORMATTED)).entered();
        });
    };
    let (said, _) = traced("layer-chatty", || {
        FORMATTED.store(false, Ordering::Relaxed);
        run();
        assert!(FORMATTED.load(Ordering::Relaxed));
    });
    assert_eq!(
        said.texts(0),
        [
            "message from within",
            "message INFO trace_layer: has value=chatty",
            "message from within",
            "message SPAN span: value=chatty",
            "message START span",
            "message STOP span",
        ]
    );
    let _turn = turn();
    FORMATTED.store(false, Ordering::Relaxed);
    run();
    assert!(!FORMATTED.load(Ordering::Relaxed));
}

#[test]
fn a_span_that_was_entered_before_the_log_came_has_no_end_in_it() {
    let _turn = turn();
    let memory = Memory::default();
    let subscriber = registry().with(trace::TracingLayer::new());
    with_default(subscriber, || {
        let before = info_span!("before").entered();
        trace::install(EventLog::builder().start(memory.clone()).unwrap()).unwrap();
        info_span!("during").in_scope(|| ());
        drop(before);
        trace::uninstall();
    });
    let said = Said::read("layer-late", &memory.content());
    assert_eq!(
        said.texts(0),
        ["message START during", "message STOP during"]
    );
}
