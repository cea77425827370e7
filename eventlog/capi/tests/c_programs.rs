//! The programs in `c/`: each checks the library by itself, and what it has written is read here.
//!
//! `CC` names another compiler than `cc`. `.ci/capi.sh` runs them in other ways: `CAPI_LANGUAGE` is what
//! the compiler is to take them for (`-x c -std=c99`), `CAPI_FLAGS` are more flags, and `CAPI_RUN` is
//! what runs them; `CAPI_RUN_FORKING`, where that one is to run otherwise which forks.

mod programs;

use programs::{Library, Program, read, whole_logs};
use std::collections::BTreeMap;

#[test]
fn every_function_does_what_it_is_for() {
    let run = Program::new("every_function", Library::Shared).run(1);
    whole_logs(
        &run,
        &[
            "life",
            "own_types",
            "first",
            "second",
            "third",
            "snapshot",
            "snapshot-2",
            "reader",
            "queued",
        ],
    );
}

#[test]
fn the_static_library_does_the_same() {
    let run = Program::new("every_function", Library::Static).run(1);
    whole_logs(&run, &["life", "first", "second", "third", "reader"]);
}

#[test]
fn whatever_is_wrong_with_a_call_is_told() {
    Program::new("misuse", Library::Shared).run(1);
}

#[test]
fn threads_do_everything_at_once() {
    let run = Program::new("threads", Library::Shared).run(rounds(20));
    whole_logs(&run, &["threads"]);
}

#[test]
fn a_redirected_log_has_every_event_in_exactly_one_sink() {
    let rounds = rounds(25);
    let run = Program::new("redirect", Library::Shared).run(rounds);
    // As the program has them.
    let (threads, events, files) = (4, 400 * rounds, 8 * rounds / 5);
    let mut found = BTreeMap::new();
    for file in 0..files {
        let name = format!("redirect-{file}");
        for text in read(&run, &name).messages {
            if let Some((thread, number)) = text.split_once(' ') {
                if let (Ok(thread), Ok(number)) = (thread.parse(), number.parse()) {
                    *found.entry((thread, number)).or_insert(0) += 1;
                }
            }
        }
    }
    let all =
        (0..threads).flat_map(|thread: u32| (0..events).map(move |event: u32| (thread, event)));
    for event in all {
        assert_eq!(found.remove(&event), Some(1), "{event:?}");
    }
    assert_eq!(found.len(), 0);
}

#[test]
fn each_chunk_is_a_log_behind_the_header() {
    let run = Program::new("chunks", Library::Shared).run(rounds(2_000));
    let logs = run.logs();
    assert!(logs.len() > 5, "{logs:?}");
    let mut copied = 0;
    for name in logs {
        let log = read(&run, &name);
        if name.starts_with("chunk-") {
            copied += log
                .messages
                .iter()
                .filter(|text| text.starts_with("number "))
                .count();
        }
    }
    assert_eq!(copied, rounds(2_000) as usize);
}

#[test]
fn streams_stay_the_programs_own() {
    let run = Program::new("streams", Library::Shared).run(1);
    whole_logs(&run, &["stream", "both", "owned", "after"]);
}

#[test]
fn a_callback_is_told_each_piece_and_cannot_wait_for_itself() {
    let run = Program::new("callbacks", Library::Shared).run(1);
    whole_logs(&run, &["callback", "refusing"]);
}

#[test]
fn a_sink_may_ask_for_the_log_of_the_run_time_system() {
    Program::new("ghc_writer", Library::Shared).run(1);
}

#[test]
fn a_child_finds_nothing_of_its_parents_and_writes_nothing_of_it() {
    let run = Program::new("fork", Library::Shared).run_forking(rounds(10));
    whole_logs(&run, &["parent", "child"]);
    let parents = read(&run, "parent").messages;
    let mut numbers: Vec<u32> = parents
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "nothing is there twice");
}

/// How often something is done; less where everything is slower.
fn rounds(usual: u32) -> u32 {
    match std::env::var_os("CAPI_RUN") {
        Some(_) => usual.div_ceil(5),
        None => usual,
    }
}
