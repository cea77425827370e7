//! When there is no log, another log, or an ended one; and when the thread itself is ending.

mod traced;
mod written;

use ghc_eventlog::{EventLog, trace, trace_event, trace_marker, trace_span};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use traced::{Said, on_thread, traced, turn};
use written::Memory;

/// Says that it was formatted.
struct Noisy<'a>(&'a Cell<u32>);

impl std::fmt::Display for Noisy<'_> {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.set(self.0.get() + 1);
        Ok(())
    }
}

#[test]
fn nothing_is_evaluated_without_a_log() {
    let _turn = turn();
    let calls = Cell::new(0);
    let called = || calls.set(calls.get() + 1);
    let use_all = || {
        trace_event!("{} {:?}", Noisy(&calls), called());
        trace_marker!("{} {:?}", Noisy(&calls), called());
        let _span = trace_span!({
            called();
            "span"
        });
        let _waiting = trace::blocked();
    };
    use_all();
    assert_eq!(calls.get(), 0);
    assert_eq!(trace::thread_id(), None);
    trace::install(EventLog::builder().start(std::io::sink()).unwrap()).unwrap();
    use_all();
    assert_eq!(calls.get(), 5);
    trace::uninstall();
    use_all();
    assert_eq!(calls.get(), 5);
}

#[test]
fn a_second_log_is_given_back_and_the_first_goes_on() {
    let _turn = turn();
    let first = Memory::default();
    trace::install(EventLog::builder().start(first.clone()).unwrap()).unwrap();
    let second = Memory::default();
    let error = trace::install(EventLog::builder().start(second.clone()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("installed already"));
    trace_event!("to the first");
    let trace::InstallError::AlreadyInstalled(log) = error else {
        panic!("{error}");
    };
    log.message("to the second");
    drop(log);
    assert_eq!(
        Said::read("second", &second.content()).shared,
        ["message to the second"]
    );
    trace::uninstall();
    assert_eq!(
        Said::read("first", &first.content()).texts(0),
        ["message to the first"]
    );
    assert!(trace::uninstall().is_none());
}

#[test]
fn taking_the_last_handle_away_ends_the_log_though_threads_go_on() {
    let _turn = turn();
    let memory = Memory::default();
    trace::install(EventLog::builder().start(memory.clone()).unwrap()).unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let thread = std::thread::spawn({
        let barrier = Arc::clone(&barrier);
        move || {
            trace_event!("taken");
            barrier.wait();
            barrier.wait();
            trace_event!("not taken");
        }
    });
    barrier.wait();
    assert!(trace::uninstall().is_some());
    let said = Said::read("ended", &memory.content());
    assert_eq!(said.texts(0), ["message taken"]);
    barrier.wait();
    thread.join().unwrap();
}

#[test]
fn a_thread_follows_to_the_next_log_and_a_span_does_not() {
    let _turn = turn();
    let logs = [Memory::default(), Memory::default()];
    let install = |memory: &Memory| {
        trace::install(EventLog::builder().start(memory.clone()).unwrap()).unwrap();
    };
    let numbers = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                install(&logs[0]);
                let outer = trace_span!("outer");
                let first = trace::thread_id().unwrap();
                let waiting = trace::blocked();
                trace::uninstall();
                install(&logs[1]);
                let inner = trace_span!("inner");
                let second = trace::thread_id().unwrap();
                drop(waiting);
                drop(inner);
                drop(outer);
                trace::uninstall();
                [first, second]
            })
            .join()
            .unwrap()
    });
    assert_ne!(numbers[0], numbers[1]);
    let [first, second] = logs.map(|memory| Said::read("followed", &memory.content()));
    let n = numbers[0];
    assert_eq!(first.texts(0), ["message START outer"]);
    let ends = ["runnable N", "run N", "stop N Finished"];
    let ends = ends.map(|event| event.replace('N', &n.to_string()));
    assert!(first.caps[0].ends_with(&ends), "{first:?}");
    assert_eq!(
        second.texts(0),
        ["message START inner", "message STOP inner"]
    );
    assert_eq!(
        second.caps[0]
            .iter()
            .filter(|event| event.starts_with("run "))
            .count(),
        1
    );
}

#[test]
fn events_of_a_log_that_was_stopped_are_counted_as_lost_to_that() {
    let _turn = turn();
    trace::install(EventLog::builder().start(std::io::sink()).unwrap()).unwrap();
    trace_event!("taken");
    let log = trace::log().unwrap();
    log.stop().unwrap();
    trace_event!("lost {}", 1);
    // A thread that comes now gets no capability.
    on_thread("late", || {
        trace_event!("lost {}", 2);
        assert_eq!(trace::thread_id(), None);
        drop(trace_span!("lost, both ends"));
        drop(trace::blocked());
    });
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.stopped, 1);
    assert_eq!(statistics.shared.lost.stopped, 3);
    assert_eq!(trace::dropped(), 0);
    trace::uninstall();
}

/// Traces when it is dropped.
struct Parting(&'static str);

impl Drop for Parting {
    fn drop(&mut self) {
        trace_event!("{} formatted", self.0);
        trace_event!("literal");
        let _span = trace_span!("no span");
        let _waiting = trace::blocked();
        trace::set_thread_label("no thread");
    }
}

thread_local! {
    static PARTING: Cell<Option<Parting>> = const { Cell::new(None) };
}

#[test]
fn a_destructor_of_a_thread_local_traces_before_and_after_the_thread_has_signed_off() {
    let (said, statistics) = traced("destructors", || {
        // Whichever is registered first is destroyed last, or the other way about: either is fine.
        on_thread("registered first", || {
            PARTING.set(Some(Parting("first")));
            trace_event!("alive");
        });
        on_thread("registered last", || {
            trace_event!("alive");
            PARTING.set(Some(Parting("last")));
        });
    });
    let all: Vec<_> = said.caps.concat();
    for name in ["first", "last"] {
        let text = format!("message {name} formatted");
        let within = all.iter().filter(|event| **event == text).count();
        let shared = said.shared.iter().filter(|event| **event == text).count();
        assert_eq!(within + shared, 1, "{text}");
    }
    let finished = all
        .iter()
        .filter(|event| event.ends_with(" Finished"))
        .count();
    let created = all
        .iter()
        .filter(|event| event.starts_with("create "))
        .count();
    assert_eq!((created, finished), (2, 2));
    assert_eq!(statistics.lost().total(), 0);
    if cfg!(target_os = "linux") {
        // There, what was registered first is destroyed last.
        let expected = ["message first formatted", "message literal"];
        assert_eq!(said.shared, expected);
    }
}

#[test]
fn a_thread_whose_first_event_is_in_a_destructor_signs_on_and_off() {
    let (said, _) = traced("only-destructor", || {
        on_thread("parting", || PARTING.set(Some(Parting("only"))));
    });
    let all: Vec<_> = said.caps.concat();
    assert!(
        all.iter().any(|event| event.ends_with(" parting")),
        "{all:?}"
    );
    assert!(all.contains(&"message only formatted".to_owned()));
    assert!(all.last().unwrap().ends_with(" Finished"));
}

/// Ends the threads that wait for it, also where the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn logs_come_and_go_while_threads_trace_and_each_log_is_whole() {
    let _turn = turn();
    let done = AtomicBool::new(false);
    let mut logs = Vec::new();
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let done = &done;
            scope.spawn(move || {
                let mut event = 0;
                while !done.load(Ordering::Relaxed) {
                    let _span = trace_span!("span");
                    trace_event!("{worker} {event}");
                    event += 1;
                    std::thread::yield_now();
                }
            });
        }
        let _end = End(&done);
        for _ in 0..20 {
            let memory = Memory::default();
            // Large enough for whoever does nothing else meanwhile.
            let builder = EventLog::builder().buffer_size(1 << 20);
            trace::install(builder.start(memory.clone()).unwrap()).unwrap();
            std::thread::yield_now();
            trace_event!("main");
            let statistics = trace::uninstall().unwrap().stop().unwrap();
            logs.push((memory, statistics));
        }
    });
    for (memory, statistics) in logs {
        let said = Said::read("come-and-go", &memory.content());
        let main = "message main".to_owned();
        assert!(said.caps.concat().contains(&main));
        let told: usize = said.caps.iter().map(Vec::len).sum();
        let counted: u64 = statistics
            .capabilities
            .iter()
            .map(|buffer| buffer.events)
            .sum();
        assert_eq!(told as u64, counted);
        for cap in said.caps {
            // A span begins before it ends, in the same log.
            let mut open = 0_i32;
            for event in cap {
                match event.as_str() {
                    "message START span" => open += 1,
                    "message STOP span" => open -= 1,
                    _ => {}
                }
                assert!((0..=1).contains(&open));
            }
        }
    }
}
