//! What the macros write is what a reader expects: threads, text, spans and waiting.

mod traced;
mod written;

use ghc_eventlog::format::Event;
use ghc_eventlog::{trace, trace_event, trace_marker, trace_span};
use std::collections::HashSet;
use std::fmt;
use traced::{on_thread, traced};

#[test]
fn a_thread_signs_on_with_its_name_at_its_first_event_and_off_at_its_end() {
    let mut number = None;
    let (said, statistics) = traced("signs", || {
        number = on_thread("worker", || {
            trace_event!("first");
            let number = trace::thread_id();
            trace_marker!("second {}", 2);
            number
        });
    });
    let n = number.expect("it has a capability");
    assert_eq!(
        said.caps[0],
        [
            format!("create {n}"),
            format!("label {n} worker"),
            format!("run {n}"),
            "message first".into(),
            "marker second 2".into(),
            format!("stop {n} Finished"),
        ]
    );
    assert_eq!(
        said.caps.len(),
        1,
        "the thread that has said nothing is not there"
    );
    assert_eq!(statistics.lost().total(), 0);
}

#[test]
fn the_thread_that_takes_the_log_away_signs_off_there_and_a_scoped_one_when_it_ends() {
    let (said, _) = traced("scoped", || {
        trace_event!("outside");
        std::thread::scope(|scope| {
            scope.spawn(|| trace_event!("inside"));
        });
        // The scope ends when the closure has, which is before the thread's locals are gone.
        on_thread("later", || trace_event!("later"));
    });
    let n = said.caps[0][0].strip_prefix("create ").unwrap();
    assert_eq!(said.texts(0), ["message outside"]);
    assert_eq!(said.caps[0].last(), Some(&format!("stop {n} Finished")));
    let all: Vec<_> = said.caps[1..].concat();
    assert!(all.contains(&"message inside".to_owned()));
    assert!(all.contains(&"message later".to_owned()));
}

#[test]
fn a_label_replaces_the_threads_name_also_in_the_next_log() {
    let (said, _) = traced("label", || {
        on_thread("spawned", || {
            trace::set_thread_label("first");
            trace_event!("a");
            trace::set_thread_label("second");
            let log = trace::uninstall().unwrap();
            trace::set_thread_label("third");
            trace::install(log).unwrap();
            trace_event!("b");
        });
    });
    let all = said.caps.concat();
    let labels: Vec<_> = all
        .iter()
        .filter_map(|event| event.strip_prefix("label "))
        .map(|label| label.split_once(' ').unwrap())
        .collect();
    assert_eq!(
        labels.iter().map(|label| label.1).collect::<Vec<_>>(),
        ["first", "second", "third"]
    );
    assert_eq!(labels[0].0, labels[1].0);
    assert_ne!(
        labels[1].0, labels[2].0,
        "a finished thread's number is not used again"
    );
}

#[test]
fn numbers_of_threads_are_unique() {
    let mut numbers = Vec::new();
    traced("numbers", || {
        for _ in 0..20 {
            let threads: Vec<_> = (0..4)
                .map(|_| std::thread::spawn(trace::thread_id))
                .collect();
            numbers.extend(threads.into_iter().map(|t| t.join().unwrap().unwrap()));
        }
    });
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 80);
    assert!(!numbers.iter().any(|number| number.0 == 0));
}

#[test]
fn spans_are_pairs_of_messages_that_nest() {
    let (said, _) = traced("spans", || {
        let outer = trace_span!("outer");
        for _ in 0..2 {
            let name = String::from("inner");
            let _inner = trace_span!(&name);
            trace_event!("within");
        }
        drop(outer);
    });
    assert_eq!(
        said.texts(0),
        [
            "message START outer",
            "message START inner",
            "message within",
            "message STOP inner",
            "message START inner",
            "message within",
            "message STOP inner",
            "message STOP outer",
        ]
    );
}

#[test]
fn waiting_stops_the_thread_once_however_guards_nest() {
    let (said, _) = traced("waiting", || {
        on_thread("waits", || {
            {
                let _outer = trace::blocked();
                let _inner = trace::blocked();
                trace_event!("while waiting");
            }
            // A thread that ends while it waits runs once more.
            std::mem::forget(trace::blocked());
        });
    });
    let n = said.caps[0][0].strip_prefix("create ").unwrap();
    let expected = [
        "create N",
        "label N waits",
        "run N",
        "stop N BlockedOnMVar",
        "message while waiting",
        "runnable N",
        "run N",
        "stop N BlockedOnMVar",
        "runnable N",
        "run N",
        "stop N Finished",
    ];
    assert_eq!(said.caps[0], expected.map(|event| event.replace('N', n)));
}

#[test]
fn text_is_formatted_as_format_does_and_cut_between_characters() {
    struct Long(&'static str, usize);
    impl fmt::Display for Long {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (0..self.1).try_for_each(|_| f.write_str(self.0))
        }
    }
    let (said, statistics) = traced("text", || {
        let x = 17;
        trace_event!("{x} {:>5} {:?}", "ab", Some(1.5));
        trace_event!("{{no arguments}}");
        trace_event!("{}{}{}", Long("é", 40_000), "cut", "x");
        trace_event!("a{}{}", Long("é", 32_767), "fits no more");
        trace_event!("a{}", Long("é", 32_767));
        // Once something has been left out, nothing comes after it.
        trace_event!("{}{}{}", Long("a", 65_534), "€", "b");
        trace_marker!("{}", Long("a", 70_000));
        trace::event(format_args!("{}", ""));
        let name = "é".repeat(40_000);
        let _span = trace_span!(&name);
        trace::emit(&Event::UserMarker { name: &name });
    });
    let texts = said.texts(0);
    assert_eq!(texts[0], "message 17    ab Some(1.5)");
    assert_eq!(texts[1], "message {no arguments}");
    assert_eq!(texts[2], format!("message {}", "é".repeat(32_767)));
    let whole = format!("message a{}", "é".repeat(32_767));
    assert_eq!(texts[3], whole);
    assert_eq!(texts[4], whole);
    assert_eq!(texts[5], format!("message {}", "a".repeat(65_534)));
    assert_eq!(texts[6], format!("marker {}", "a".repeat(65_535)));
    assert_eq!(texts[7], "message ");
    let name = "é".repeat(32_764);
    assert_eq!(texts[8], format!("message START {name}"));
    assert_eq!(texts[9], format!("marker {}", "é".repeat(32_767)));
    assert_eq!(texts[10], format!("message STOP {name}"));
    assert_eq!(statistics.lost().total(), 0);
}

#[test]
fn every_thread_of_many_says_all_it_has_to_say_in_order() {
    const EVENTS: usize = 2_000;
    let (said, statistics) = traced("many", || {
        let threads: Vec<_> = (0..4)
            .map(|worker| {
                std::thread::spawn(move || {
                    for event in 0..EVENTS {
                        trace_event!("{worker} {event}");
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(statistics.lost().total(), 0);
    let texts: Vec<_> = said.caps.concat();
    for worker in 0..4 {
        let start = format!("message {worker} ");
        let own: Vec<_> = texts
            .iter()
            .filter_map(|text| text.strip_prefix(&start))
            .collect();
        assert_eq!(
            own,
            (0..EVENTS)
                .map(|event| event.to_string())
                .collect::<Vec<_>>()
        );
    }
}
