//! `eventlog stats`: the numbers are those that independent readers find.

mod support;

use std::fs;
use std::path::PathBuf;

use support::{LOGS, assert_agree, elv, expected, log, run, stats};

#[test]
fn json_has_the_numbers_of_independent_readers() {
    let expected = expected();
    let files: Vec<PathBuf> = LOGS.map(log).to_vec();
    let ours = stats(&files);
    assert_eq!(ours.len(), LOGS.len());
    for ((ours, name), file) in ours.iter().zip(LOGS).zip(&files) {
        let theirs = &expected["logs"][format!("{name}.eventlog")];
        assert_agree(ours, theirs, "events_per_cap");
        assert_eq!(ours["file"], file.to_str().unwrap());
        assert!(ours["error"].is_null());
    }
    if let Some(theirs) = elv(&files) {
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_agree(ours, theirs, "decoded_per_cap");
        }
    }
}

#[test]
fn of_a_bad_log_what_is_before_the_fault_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.eventlog");
    let mut bad = fs::read(log("user-only")).unwrap();
    let len = bad.len();
    bad.extend([0; 100_000]);
    fs::write(&path, &bad).unwrap();
    let file = path.to_str().unwrap();
    let ran = run(["stats", "--json", file]);
    assert_eq!(ran.code, 1);
    let error = format!("byte {len}: bytes after the end marker");
    assert_eq!(ran.err, format!("eventlog: {file}: {error}\n"));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["ok"], false);
    assert_eq!(json["error"], error);
    assert_eq!(json["events"], 109);
    assert_eq!(json["bytes"], bad.len());

    let ran = run(["stats", file]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("109, 3 block markers among them"));
    assert_eq!(ran.err, format!("eventlog: {file}: {error}\n"));
}

#[test]
fn a_file_that_cannot_be_read_has_its_object_too() {
    let good = log("binary");
    let ran = run([
        "stats",
        "--json",
        "/nonexistent/log",
        good.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 2);
    let lines: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["ok"], false);
    assert!(lines[0]["error"].is_string());
    assert_eq!(lines[1]["ok"], true);
}

#[test]
fn tables_are_aligned_and_fit_a_terminal() {
    for name in LOGS {
        let file = log(name);
        let ran = run(["stats", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let mut tables = ran.out.split("\n\n");
        let facts = tables.next().unwrap();
        assert!(facts.lines().any(|line| line.starts_with("  Size  ")));
        let tables: Vec<&str> = tables.collect();
        // Profiles come after them, with places in the source at their full length.
        let (events, profiles) = tables.split_at(2);
        let wanted = if name == "heap-hc-prof" { 2 } else { 0 };
        assert_eq!(profiles.len(), wanted, "{name}");
        for table in events {
            let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
            assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
            assert!(widths[0] <= 80, "{table}");
        }
    }
}

#[test]
fn the_tables_of_a_log_are_these() {
    let file = log("user-only");
    let ran = run(["stats", file.to_str().unwrap()]);
    let rest = ran.out.strip_prefix(file.to_str().unwrap()).unwrap();
    let wanted = "
  Program          ../progs/threads +RTS -l-au -N2 -oluser-only.eventlog -RTS
  Run-time system  GHC-9.0.2 rts_thr_l
  Size             5.4 KiB, of which the header takes 2.6 KiB
  Time             10.4 ms, from 0.000145146 s to 0.010518906 s
  Events           109, 3 block markers among them

  Capability  Blocks  Events  Share    Bytes    First (s)     Last (s)
";
    assert!(rest.starts_with(wanted), "{rest}");
    let wanted = "
  Id  Event type                             Events  Share    Bytes
  19  User message                               80  73.4%  2.2 KiB
";
    assert!(rest.contains(wanted), "{rest}");
}

#[test]
fn a_damaged_log_is_summarised_leniently_with_what_lies_behind_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.eventlog");
    let file = path.to_str().unwrap();
    let first = fs::read(log("user-only")).unwrap();
    let mut damaged = first.clone();
    damaged.extend(fs::read(log("user-only")).unwrap());
    fs::write(&path, &damaged).unwrap();
    let ran = run(["stats", "--json", file]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, json["events"].as_u64()), (1, Some(109)));

    let ran = run(["stats", "--json", "--lenient", file]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, json["events"].as_u64()), (1, Some(2 * 109)));
    assert_eq!(
        (&json["ok"], &json["data_end"]),
        (&false.into(), &true.into())
    );
    assert_eq!(json["bytes"], damaged.len());
    let len = first.len();
    let gap = format!("byte {len}: 0 bytes skipped: bytes after the end marker");
    assert_eq!(json["error"], gap);
    assert_eq!(ran.err, format!("eventlog: {file}: {gap}\n"));
    let good = run([
        "stats",
        "--json",
        "--lenient",
        log("user-only").to_str().unwrap(),
    ]);
    assert_eq!((good.code, good.err.as_str()), (0, ""));
}
