//! `eventlog replay`: recorded writes come out as good logs, and nothing is lost by accident.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{Decoder, Header, Record};
use support::{Ran, assert_agree, command, data, elv, log, run, stats};

fn replay(writes: &Path, output: &Path) -> Ran {
    run([
        "replay",
        writes.to_str().unwrap(),
        "-o",
        output.to_str().unwrap(),
    ])
}

/// Replays these bytes; gives the log too, if there is one.
fn replay_bytes(bytes: &[u8]) -> (Ran, Option<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let writes = dir.path().join("rts.writes");
    fs::write(&writes, bytes).unwrap();
    let output = dir.path().join("rts.eventlog");
    let ran = replay(&writes, &output);
    (ran, fs::read(&output).ok())
}

/// The same log with a header that declares how losses are told, too: what a replay makes of it.
fn declaring_losses(log: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::new();
    let mut rest = log;
    let Some(Record::Header(header)) = decoder.next(&mut rest).unwrap() else {
        panic!("no header")
    };
    let own = Header::standard().event_types().iter();
    let own = own.filter(|declared| declared.id == 1024).cloned();
    let types = header.event_types().iter().cloned().chain(own);
    [&Header::new(types).unwrap().encode(), rest].concat()
}

fn capture(writes: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for write in writes {
        bytes.extend((write.len() as u32).to_be_bytes());
        bytes.extend(*write);
    }
    bytes
}

#[test]
fn captures_come_out_as_good_logs() {
    let dir = tempfile::tempdir().unwrap();
    let mut logs: Vec<PathBuf> = Vec::new();
    for (name, mended) in [
        ("plain", vec!["nothing to mend"]),
        ("small", vec!["nothing to mend"]),
        (
            "restart",
            vec![
                "mended: 1 stray block marker dropped before a header",
                "mended: 1 repeated header dropped",
                "mended: 1 early end marker dropped",
            ],
        ),
        (
            "refused",
            vec!["mended: 2 block markers put before events that had none"],
        ),
    ] {
        let output = dir.path().join(format!("replay-{name}.eventlog"));
        let ran = replay(&data(&format!("capture-{name}.writes")), &output);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        let lines: Vec<&str> = ran.out.lines().map(str::trim).collect();
        assert_eq!(lines[1..lines.len() - 1], mended[..]);
        let last = lines[lines.len() - 1];
        assert!(
            last.starts_with(&format!("{}: ok, ", output.display())),
            "{last}"
        );
        logs.push(output);
    }
    let ours = stats(&logs);
    assert!(
        ours.iter()
            .all(|log| log["ok"] == true && log["outside_block"] == 0)
    );
    if let Some(theirs) = elv(&logs) {
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_agree(ours, theirs, "decoded_per_cap");
        }
    }
    if let Some(keep) = std::env::var_os("ELV_LOGS").map(PathBuf::from) {
        fs::create_dir_all(&keep).unwrap();
        for log in &logs {
            fs::copy(log, keep.join(log.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn writes_set_aside_are_told_and_the_log_is_written_all_the_same() {
    let whole = fs::read(log("user-only")).unwrap();
    let bytes = capture(&[&whole, b"rubbish"]);
    let (ran, log) = replay_bytes(&bytes);
    assert_eq!(ran.code, 1);
    assert_eq!(log, Some(declaring_losses(&whole)));
    assert!(
        ran.out.contains("  set aside: 1 write, 7 B\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(": ok, 109 events"), "{}", ran.out);
    let place = format!(
        ": byte {}: write of 7 bytes set aside: byte 0: ",
        4 + whole.len()
    );
    assert!(
        ran.err.starts_with("eventlog: ") && ran.err.contains(&place),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.lines().count(), 1);
}

#[test]
fn a_cut_capture_gives_the_log_up_to_the_cut() {
    let whole = fs::read(log("user-only")).unwrap();
    let mut bytes = capture(&[&whole]);
    bytes.extend([0, 0, 1, 0, 1, 2, 3]);
    let (ran, log) = replay_bytes(&bytes);
    assert_eq!(ran.code, 1);
    assert_eq!(log, Some(declaring_losses(&whole)));
    let reason = format!("byte {}: cut after 7 of 260 bytes", 4 + whole.len());
    assert!(ran.err.contains(&reason), "{}", ran.err);
}

#[test]
fn what_is_no_capture_makes_no_file() {
    let (ran, log) = replay_bytes(b"");
    assert_eq!((ran.code, log), (1, None));
    assert!(ran.err.ends_with(": no writes in it\n"));
    let (ran, log) = replay_bytes(&fs::read(self::log("binary")).unwrap());
    assert_eq!((ran.code, log), (1, None));
    assert!(
        ran.err
            .ends_with(": byte 0: this is an eventlog, not a capture of writes\n")
    );
    let (ran, log) = replay_bytes(b"#!/bin/sh\n");
    assert_eq!((ran.code, log), (1, None));
    assert!(
        ran.err
            .contains(": byte 0: write of 589377378 bytes, the limit is ")
    );
}

#[test]
fn without_a_header_there_is_no_log() {
    let (ran, log) = replay_bytes(&capture(&[b"rubbish"]));
    assert_eq!((ran.code, log), (1, Some(Vec::new())));
    assert!(ran.err.contains("no header has come yet"), "{}", ran.err);
    assert!(
        ran.err.ends_with(": no log: no header came\n"),
        "{}",
        ran.err
    );
}

#[test]
fn the_capture_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(data("capture-plain.writes")).unwrap();
    let writes = dir.path().join("rts.writes");
    fs::write(&writes, &bytes).unwrap();
    let hard = dir.path().join("hard");
    fs::hard_link(&writes, &hard).unwrap();
    let roundabout = dir.path().join(".").join("rts.writes");
    let mut outputs = vec![writes.clone(), hard, roundabout];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink(&writes, dir.path().join("soft")).unwrap();
        outputs.push(dir.path().join("soft"));
    }
    for output in outputs {
        let ran = replay(&writes, &output);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (2, ""),
            "{}",
            output.display()
        );
        assert!(
            ran.err
                .ends_with(": the log would overwrite the recorded writes\n")
        );
        assert!(fs::read(&writes).unwrap() == bytes);
    }
}

#[test]
fn writes_come_by_standard_input_too() {
    let dir = tempfile::tempdir().unwrap();
    let (wanted, output) = (dir.path().join("wanted"), dir.path().join("out"));
    let writes = data("capture-plain.writes");
    assert_eq!(replay(&writes, &wanted).code, 0);
    // Where nothing is yet, and where something is.
    for _ in 0..2 {
        let mut command = command(["replay", "-", "-o", output.to_str().unwrap()]);
        command.stdin(fs::File::open(&writes).unwrap());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(ran.out.starts_with("-: "), "{}", ran.out);
        assert_eq!(fs::read(&output).unwrap(), fs::read(&wanted).unwrap());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_input_is_not_overwritten_while_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for (verb, source) in [
        ("replay", data("capture-plain.writes")),
        ("record", data("user-only.eventlog")),
        ("flamegraph", data("heap-hc-prof.eventlog")),
    ] {
        let bytes = fs::read(source).unwrap();
        let file = dir.path().join(verb);
        fs::write(&file, &bytes).unwrap();
        let mut command = command([verb, "-", "-o", file.to_str().unwrap()]);
        command.stdin(fs::File::open(&file).unwrap());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains("would overwrite"), "{}", ran.err);
        assert!(fs::read(&file).unwrap() == bytes);
    }
}

#[test]
fn files_that_cannot_be_opened_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out");
    let ran = replay(Path::new("/nonexistent/writes"), &output);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("eventlog: /nonexistent/writes: "));
    assert!(!output.exists());
    let ran = replay(
        &data("capture-plain.writes"),
        &dir.path().join("no/such/dir"),
    );
    assert_eq!(ran.code, 2);
    let ran = replay(&data("capture-plain.writes"), dir.path());
    assert_eq!(ran.code, 2);
    let ran = replay(dir.path(), &output);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!output.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_told() {
    let ran = replay(&data("capture-plain.writes"), Path::new("/dev/full"));
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with("eventlog: /dev/full: No space left"),
        "{}",
        ran.err
    );
}
