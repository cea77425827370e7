//! `eventlog check`: good logs are told from bad ones, with the place of the fault.

mod support;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use support::{LOGS, command, elv, expected, log, run};

/// Checks these bytes as a file; gives the line without the file's name, and the exit code.
fn check(bytes: &[u8]) -> (String, i32) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("some.eventlog");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let ran = run(["check", path]);
    assert_eq!(ran.err, "");
    let line = ran.out.strip_suffix('\n').unwrap();
    let line = line.strip_prefix(&format!("{path}: ")).unwrap();
    assert!(!line.contains('\n'));
    (line.to_owned(), ran.code)
}

#[test]
fn real_logs_are_ok() {
    let files: Vec<PathBuf> = LOGS.map(log).to_vec();
    let mut args = vec!["check"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    let ran = run(args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), LOGS.len());
    let expected = expected();
    for ((line, file), name) in lines.iter().zip(&files).zip(LOGS) {
        let of = &expected["logs"][format!("{name}.eventlog")];
        let (events, blocks) = (&of["events"], &of["blocks"]);
        let start = format!(
            "{}: ok, {events} events in {blocks} blocks, ",
            file.display()
        );
        assert!(line.starts_with(&start), "{line}");
    }
    assert!(lines[7].ends_with("2 capabilities, 10.3 ms, GHC-9.0.2 rts_thr_l"));
}

#[test]
fn standard_input_is_read_in_any_pieces() {
    let mut child = command(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in fs::read(log("user-only")).unwrap().chunks(1001) {
        stdin.write_all(piece).unwrap();
        stdin.flush().unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(
        output
            .stdout
            .starts_with(b"-: ok, 109 events in 3 blocks, ")
    );
}

#[test]
fn the_outcome_is_that_of_the_worst_file() {
    let good = log("binary");
    let good = good.to_str().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad");
    fs::write(&bad, b"hdrb").unwrap();
    let bad = bad.to_str().unwrap();
    let ran = run(["check", bad, good]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.out.lines().count(),
        2,
        "the files after a bad one are checked"
    );
    let ran = run(["check", "/nonexistent/log", bad, good]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.out.lines().count(), 2);
    assert_eq!(ran.err.lines().count(), 1);
    assert!(ran.err.starts_with("eventlog: /nonexistent/log: "));
}

#[test]
fn what_is_no_log_is_told_at_its_first_byte() {
    let (line, code) = check(b"");
    assert_eq!((line.as_str(), code), ("byte 0: the file is empty", 1));
    let (line, code) = check(b"#!/bin/sh\n");
    let wanted = "byte 0: expected the tag \"hdrb\", found \"#!/b\"";
    assert_eq!((line.as_str(), code), (wanted, 1));
}

#[test]
fn a_directory_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(["check", dir.path().to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("eventlog: "), "{}", ran.err);
}

#[test]
fn a_cut_is_told_with_the_last_whole_record() {
    let whole = fs::read(log("user-only")).unwrap();
    let (line, code) = check(&whole[..whole.len() - 2]);
    let wanted = format!(
        "byte {}: the log ends without an end marker",
        whole.len() - 2
    );
    assert_eq!((line, code), (wanted, 1));
    let (line, code) = check(&whole[..100]);
    let wanted = "byte 0: the log ends 100 bytes into an unfinished record";
    assert_eq!((line.as_str(), code), (wanted, 1));
    // The first block's marker ends 24 bytes after the header.
    let (line, code) = check(&whole[..2688 + 24 + 5]);
    let wanted = "byte 2712: the log ends 5 bytes into an unfinished record";
    assert_eq!((line.as_str(), code), (wanted, 1));
}

#[test]
fn wrong_bytes_are_told_at_their_place() {
    let whole = fs::read(log("user-only")).unwrap();
    let mut wrong = whole.clone();
    wrong[2712..2714].copy_from_slice(&999u16.to_be_bytes());
    let (line, code) = check(&wrong);
    let wanted = "byte 2712: event type 999 is not declared in the header";
    assert_eq!((line.as_str(), code), (wanted, 1));

    let mut wrong = whole.clone();
    wrong[2688 + 10..2688 + 14].copy_from_slice(&7u32.to_be_bytes());
    let (line, code) = check(&wrong);
    let wanted = "byte 2688: block size 7 is below the 24 bytes of its own marker";
    assert_eq!((line.as_str(), code), (wanted, 1));

    let (line, code) = check(&[&whole[..], b"more"].concat());
    let wanted = format!("byte {}: bytes after the end marker", whole.len());
    assert_eq!((line, code), (wanted, 1));
}

#[test]
fn events_that_cannot_be_read_make_a_log_bad() {
    // The first event of the first block is a marker of the program.
    let mut wrong = fs::read(log("user-only")).unwrap();
    assert_eq!(wrong[2712..2714], [0, 58]);
    wrong[2712 + 12 + 2] = 0xff;
    let (line, code) = check(&wrong);
    let wanted = "byte 2712: event of type 58: text is not utf-8 at byte 2 of the payload";
    assert_eq!((line.as_str(), code), (wanted, 1));
    // It stays the first fault if there is another one behind it.
    let len = wrong.len();
    let (line, _) = check(&wrong[..len - 1]);
    assert_eq!(line, wanted);
}

#[test]
fn an_independent_reader_finds_the_same_logs_bad() {
    let dir = tempfile::tempdir().unwrap();
    let whole = fs::read(log("threads-N2")).unwrap();
    let mut logs = Vec::new();
    // It is no judge of a header that was cut.
    let cuts = (2688..whole.len()).step_by(397).chain([whole.len()]);
    for (at, len) in cuts.enumerate() {
        let path = dir.path().join(format!("cut-{at}.eventlog"));
        fs::write(&path, &whole[..len]).unwrap();
        logs.push(path);
    }
    let Some(theirs) = elv(&logs) else { return };
    for (path, theirs) in logs.iter().zip(theirs) {
        let ran = run(["check", path.to_str().unwrap()]);
        assert_eq!(theirs["ok"], ran.code == 0, "{}", ran.out);
    }
}
