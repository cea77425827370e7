//! Runs the command, and another program that reads logs, if there is one.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What the command can do on this system.
pub(crate) const VERBS: &[&str] = &[
    "check",
    "show",
    "stats",
    "tail",
    "record",
    "merge",
    "split",
    "replay",
    "flamegraph",
    "renumber",
    #[cfg(target_os = "linux")]
    "objects",
];

pub(crate) const LOGS: [&str; 9] = [
    "binary",
    "heap-hT",
    "heap-hc-prof",
    "multiblock",
    "nonmoving",
    "sparks-N2",
    "threads-N1",
    "threads-N2",
    "user-only",
];

pub(crate) fn data(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    path.join(name)
}

pub(crate) fn log(name: &str) -> PathBuf {
    data(&format!("{name}.eventlog"))
}

pub(crate) fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(data("expected.json")).unwrap()).unwrap()
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eventlog"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    command(args).output().unwrap().into()
}

/// The independent checker that `ELV` names, and what it says of logs. `None` without one; that is
/// an error where `ELV_REQUIRED` is 1.
pub(crate) fn elv(logs: &[PathBuf]) -> Option<Vec<Value>> {
    let Some(path) = std::env::var_os("ELV") else {
        let required = std::env::var_os("ELV_REQUIRED").is_some_and(|value| value == "1");
        assert!(!required, "ELV_REQUIRED is 1, and ELV is not set");
        return None;
    };
    let output = Command::new(path)
        .arg("check")
        .args(logs)
        .output()
        .expect("ELV names a program");
    let text = String::from_utf8(output.stdout).unwrap();
    let values: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(values.len(), logs.len());
    Some(values)
}

/// The object that `eventlog stats --json` prints for each of these logs.
pub(crate) fn stats(logs: &[PathBuf]) -> Vec<Value> {
    let args = ["stats", "--json"].map(OsStr::new).into_iter();
    let ran = run(args.chain(logs.iter().map(|log| log.as_os_str())));
    ran.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Asserts that two accounts of a log agree. `theirs` may count a capability's block markers among
/// its events.
pub(crate) fn assert_agree(ours: &Value, theirs: &Value, their_events_per_cap: &str) {
    for field in [
        "ok",
        "bytes",
        "header_bytes",
        "event_types",
        "events",
        "blocks",
        "outside_block",
        "backwards_in_block",
        "data_end",
        "t_min",
        "t_max",
        "blocks_per_cap",
        "counts",
        "names",
    ] {
        assert_eq!(ours[field], theirs[field], "{field} of {}", ours["file"]);
    }
    let events = theirs[their_events_per_cap].as_object().unwrap();
    let sum: u64 = events.values().map(|n| n.as_u64().unwrap()).sum();
    let markers_too = sum == theirs["events"].as_u64().unwrap();
    let without_markers: serde_json::Map<_, _> = events
        .iter()
        .map(|(cap, n)| {
            let key = if cap == "none" { "65535" } else { cap };
            let blocks = theirs["blocks_per_cap"][key].as_u64().unwrap_or(0);
            let blocks = if markers_too { blocks } else { 0 };
            (cap.clone(), Value::from(n.as_u64().unwrap() - blocks))
        })
        .filter(|(_, n)| *n != 0)
        .collect();
    let ours_per_cap = ours["events_per_cap"].as_object().unwrap();
    assert_eq!(*ours_per_cap, without_markers, "{}", ours["file"]);
}
