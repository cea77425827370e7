//! The programs in `c/`: each checks the library by itself, and what it has written is read here.
//!
//! `CC` names another compiler than `cc`. `.ci/capi.sh` runs them in other ways: `CAPI_LANGUAGE` is what
//! the compiler is to take them for (`-x c -std=c99`), `CAPI_FLAGS` are more flags, and `CAPI_RUN` is
//! what runs them; `CAPI_RUN_FORKING`, where that one is to run otherwise which forks.

mod programs;

use ghc_eventlog::format::END_MARKER;
use ghc_eventlog::relay::{CaptureReader, Mender};
use programs::{Library, Program, messages_of, profile, read, whole_logs};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

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
fn a_stream_that_the_run_time_systems_log_leaves_is_closed_once_or_kept() {
    let run = Program::new("closed_once", Library::Shared).run(1);
    let names = ["closed-0", "closed-1", "closed-2", "closed-3"];
    whole_logs(&run, &names);
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

#[test]
fn a_program_that_opens_the_library_has_cost_centres_on_threads_of_before_and_after() {
    Program::new("opened", Library::Opened).run(1);
}

const SAMPLE: &str = "sample/sample.c";
const TRAP: &str = "host/tests/c/trap.c";
const BAD: &str = "host/tests/c/bad.c";

fn host_of_objects(library: Library) -> Program {
    let key = "-DKEY=pthread_key_t key; pthread_key_create(&key, key_destructor)";
    Program::new("objects", library)
        .with_object("sample.so", SAMPLE, &[])
        .with_object("trap.so", TRAP, &[])
        .with_object("nodelete.so", TRAP, &["-Wl,-z,nodelete"])
        .with_object("key.so", TRAP, &[key])
}

#[test]
fn a_host_of_objects_loads_calls_lists_profiles_and_unloads_them() {
    let run = host_of_objects(Library::Shared).run(rounds(30));
    whole_logs(&run, &["life", "profile", "together"]);
    let profile = profile(&run, "profile");
    assert!(profile.ticks > 4);
    // On demand, when the profile was stopped, and when its log was dropped.
    assert_eq!(profile.bytes["objects.host"], [1_016, 1_016, 2_016]);
    let names: Vec<&str> = profile.names.iter().map(String::as_str).collect();
    assert_eq!(names, ["objects.host", "sample.hold"]);
}

#[test]
fn a_host_of_objects_does_the_same_with_the_static_library() {
    let run = host_of_objects(Library::Static).run(rounds(30));
    whole_logs(&run, &["life", "profile", "together"]);
}

#[test]
fn each_bad_object_is_told_by_a_code_of_its_own_and_never_runs() {
    let undefined = ["-DNO_OBJECT", "-Wl,-z,undefs"];
    let needs_std = ["-Wl,--no-as-needed", "-l:libstd-0123456789abcdef.so"];
    let table = "-DOWN_TABLE=sizeof(evl_object), 7, \"x\", 0, 0, &slot, 0, 0";
    Program::new("bad_objects", Library::Shared)
        .with_object("plain.so", BAD, &[])
        .with_object("none.so", BAD, &undefined)
        .with_object("libstd-0123456789abcdef.so", BAD, &undefined)
        .with_object("shared_std.so", BAD, &needs_std)
        .with_object("no_table.so", BAD, &["-DNO_TABLE"])
        .with_object("major.so", BAD, &["-DEVL_ABI_MAJOR=9"])
        .with_object("minor.so", BAD, &["-DEVL_ABI_MINOR=3"])
        .with_object("way.so", BAD, &["-DEVL_WAY=0u"])
        .with_object("layout.so", BAD, &["-DEVL_FINGERPRINT=UINT64_C(0x1234)"])
        .with_object("missing.so", BAD, &["-DMISSING=evl_way_prof_abi9"])
        .with_object("undefined.so", BAD, &["-DMISSING=nobody_has_this"])
        .with_object("ifunc.so", BAD, &["-DIFUNC"])
        .with_object("table.so", BAD, &[table, "-DHARMLESS"])
        .with_object("init.so", TRAP, &["-DINIT=77"])
        .run(1);
}

#[test]
fn whatever_is_wrong_with_a_call_about_objects_is_told() {
    Program::new("objects_misuse", Library::Shared)
        .with_object("sample.so", SAMPLE, &[])
        .run(1);
}

#[test]
fn a_child_finds_nothing_of_its_parents_objects() {
    Program::new("objects_fork", Library::Shared)
        .with_object("sample.so", SAMPLE, &[])
        .run_forking(rounds(50));
}

#[test]
fn what_a_run_time_system_has_written_is_in_the_logs_once() {
    for capture in ["plain", "small", "restart", "refused"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = path.join(format!("../tests/data/capture-{capture}.writes"));
        let run = Program::new("handed_over", Library::Static)
            .with_file(&path, "capture.writes")
            .run(1);
        let logs = (0..4).map(|log| read(&run, &log.to_string()));
        let mut found: Vec<_> = logs.flat_map(|log| log.messages).collect();
        let mut expected = messages_of_capture(&path);
        assert!(!expected.is_empty());
        found.sort();
        expected.sort();
        assert!(found == expected, "{capture}: {} messages", found.len());
    }
}

/// The messages of all writes that are recorded there.
fn messages_of_capture(path: &Path) -> Vec<String> {
    let mut capture = CaptureReader::new(File::open(path).unwrap());
    let mut mender = Mender::new();
    let mut log = Vec::new();
    while let Some(write) = capture.next_write().unwrap() {
        for piece in mender.take(write).unwrap() {
            log.extend(piece.parts().concat());
        }
    }
    log.extend(END_MARKER);
    messages_of(&log).unwrap()
}

/// How often something is done; less where everything is slower.
fn rounds(usual: u32) -> u32 {
    match std::env::var_os("CAPI_RUN") {
        Some(_) => usual.div_ceil(5),
        None => usual,
    }
}
