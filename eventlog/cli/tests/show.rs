//! `eventlog show`: what happened, in words and in order.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use ghc_eventlog::format::{
    Decoder, END_MARKER, Event, FieldType, Header, LossCause, Record, UserEventType, Value,
};
use support::{LOGS, command, expected, log, run};

fn show(args: &[&str], name: &str) -> Vec<String> {
    let file = log(name);
    let args = ["show"].iter().chain(args).copied();
    let ran = run(args.chain([file.to_str().unwrap()]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out.lines().map(str::to_owned).collect()
}

fn time(line: &str) -> u64 {
    let (seconds, rest) = line.trim_start().split_once('.').unwrap();
    let nanos = &rest[..9];
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap()
}

#[test]
fn events_are_told_in_words() {
    let lines = show(&[], "threads-N2");
    for wanted in [
        "   0.000217814  cap -    create capability set 0 (process)",
        "   0.000273798  cap -    process id of 0: 11274",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted}");
    }
    let texts: Vec<&str> = lines.iter().map(|line| &line[25..]).collect();
    for wanted in [
        "run thread 5",
        "label thread 4: TimerManager",
        "run-time system of 0: GHC-9.0.2 rts_thr_l",
        "GC starts",
    ] {
        assert!(texts.contains(&wanted), "{wanted}");
    }
}

#[test]
fn every_event_has_a_line_and_is_sorted_by_time() {
    let expected = expected();
    for name in LOGS {
        let of = &expected["logs"][format!("{name}.eventlog")];
        let events = of["events"].as_u64().unwrap() - of["blocks"].as_u64().unwrap();
        let lines = show(&[], name);
        assert_eq!(lines.len() as u64, events, "{name}");
        assert!(lines.is_sorted_by_key(|line| time(line)), "{name}");
        assert!(!lines.iter().any(|line| line.contains("unreadable")));

        let mut unsorted = show(&["--unsorted"], name);
        assert_eq!(unsorted.len(), lines.len());
        // Stable: sorting what is not sorted gives the same.
        unsorted.sort_by_key(|line| time(line));
        assert_eq!(unsorted, lines);
    }
}

#[test]
fn a_capability_and_a_number_of_lines_can_be_chosen() {
    let all = show(&[], "threads-N2");
    let mut sum = 0;
    for (arg, column) in [("0", "cap 0 "), ("1", "cap 1 "), ("none", "cap - ")] {
        let some = show(&["--cap", arg], "threads-N2");
        assert!(some.iter().all(|line| line.contains(column)));
        sum += some.len();
    }
    assert_eq!(sum, all.len());
    assert_eq!(show(&["--limit", "5"], "threads-N2"), all[..5]);
    assert!(show(&["--limit", "0"], "threads-N2").is_empty());
    let unsorted = show(&["--unsorted"], "threads-N2");
    assert_eq!(
        show(&["--unsorted", "--limit", "7"], "threads-N2"),
        unsorted[..7]
    );
    assert_eq!(run(["show", "--cap", "65535", "some.eventlog"]).code, 2);
}

#[test]
fn a_capability_that_has_no_event_is_told() {
    let file = log("threads-N2");
    let file = file.to_str().unwrap();
    for how in [&[][..], &["--unsorted"], &["--lenient"], &["--limit", "9"]] {
        let ran = run(["show", "--cap", "77", file].iter().chain(how));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{how:?}");
        let told = format!("eventlog: {file}: no event is of capability 77\n");
        assert_eq!(ran.err, told, "{how:?}");
    }
    // Nothing was asked for.
    let ran = run(["show", "--cap", "77", "--limit", "0", file]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

#[test]
fn of_a_bad_log_what_is_before_the_fault_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.eventlog");
    let whole = fs::read(log("user-only")).unwrap();
    fs::write(&path, &whole[..whole.len() - 2]).unwrap();
    let file = path.to_str().unwrap();
    for args in [vec!["show", file], vec!["show", "--unsorted", file]] {
        let ran = run(args);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.out.lines().count(), 106);
        let reason = "the log ends without an end marker";
        let wanted = format!("eventlog: {file}: byte {}: {reason}\n", whole.len() - 2);
        assert_eq!(ran.err, wanted);
    }
}

#[test]
fn an_event_that_cannot_be_read_is_shown_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.eventlog");
    let mut wrong = fs::read(log("user-only")).unwrap();
    wrong[2712 + 12] = 0xff;
    fs::write(&path, &wrong).unwrap();
    let ran = run(["show", path.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    let line = ran
        .out
        .lines()
        .find(|line| line.contains("unreadable"))
        .unwrap();
    let text = "[58] User marker: unreadable: text is not utf-8 at byte 0 of the payload";
    assert!(line.ends_with(text), "{line}");
    assert_eq!(ran.out.lines().count(), 106);
}

#[test]
fn a_damaged_log_is_shown_leniently() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("damaged.eventlog");
    let file = path.to_str().unwrap();
    let mut damaged = fs::read(log("threads-N2")).unwrap();
    // The second event; a second log behind this one.
    let at = {
        let (mut decoder, mut rest, mut offsets) = (Decoder::new(), &damaged[..], Vec::new());
        while let Some(record) = decoder.next(&mut rest).unwrap() {
            if let Record::Event(event) = record {
                offsets.push(event.offset as usize);
            }
        }
        offsets[1]
    };
    damaged[at..at + 2].copy_from_slice(&[0, 5]);
    let len = damaged.len();
    damaged.extend(fs::read(log("user-only")).unwrap());
    fs::write(&path, &damaged).unwrap();
    let strict = run(["show", file]);
    assert_eq!((strict.code, strict.out.lines().count()), (1, 1));
    let whole = show(&[], "threads-N2").len() + show(&[], "user-only").len();
    for args in [
        vec!["show", "--lenient"],
        vec!["show", "--lenient", "--unsorted"],
    ] {
        let ran = run(args.into_iter().chain([file]));
        assert_eq!(ran.code, 1);
        let lines = ran.out.lines().count();
        assert!(lines > 120 && lines < whole, "{lines}");
        let told: Vec<&str> = ran.err.lines().collect();
        let first = format!("eventlog: {file}: byte {at}: ");
        let reason = " bytes skipped: event type 5 is not declared in the header";
        assert!(
            told[0].starts_with(&first) && told[0].ends_with(reason),
            "{told:?}"
        );
        let second = "0 bytes skipped: bytes after the end marker";
        assert_eq!(told[1], format!("eventlog: {file}: byte {len}: {second}"));
        assert_eq!(told.len(), 2);
    }
}

#[test]
fn what_is_not_ghc_s_is_told_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.eventlog");
    let request = UserEventType::builder(4, "request")
        .field("bytes", FieldType::U64)
        .field("path", FieldType::Str)
        .field("key", FieldType::Bytes)
        .field("load", FieldType::F64)
        .field("balance", FieldType::I64);
    let request = request.build().unwrap();
    let tick = UserEventType::builder(5, "tick").build().unwrap();
    let header = Header::standard().declaring([&request, &tick]).unwrap();
    let values = [
        Value::U64(512),
        Value::Str("/a\nb"),
        Value::Bytes(&[1, 255]),
        Value::F64(0.5),
        Value::I64(-3),
    ];
    let mut bytes = header.encode();
    request.event(&values).unwrap().encode_to_vec(1, &mut bytes);
    tick.event(&[]).unwrap().encode_to_vec(2, &mut bytes);
    let cause = LossCause::Overwritten;
    let (events, bytes_lost) = (1_000, 2_048);
    Event::EventsLost {
        cause,
        events,
        bytes: bytes_lost,
    }
    .encode_to_vec(3, &mut bytes);
    bytes.extend(END_MARKER);
    fs::write(&path, &bytes).unwrap();
    let ran = run(["show", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let texts: Vec<&str> = ran.out.lines().map(|line| &line[25..]).collect();
    let request = r#"request: bytes 512, path "/a\nb", key 01ff (2 bytes), load 0.5, balance -3"#;
    let lost = "lost here: 1,000 events, 2.0 KiB (overwritten)";
    assert_eq!(texts, [request, "tick", lost]);
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    for args in [vec!["show"], vec!["show", "--unsorted"]] {
        let file = log("multiblock");
        let mut child = command(args.into_iter().chain([file.to_str().unwrap()]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn a_missing_file_is_told() {
    let ran = run(["show", "/nonexistent/log"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.starts_with("eventlog: /nonexistent/log: "));
}

#[test]
#[cfg(target_os = "linux")]
fn a_fault_that_nobody_reads_is_an_exit_code() {
    for verb in ["check", "show", "stats", "tail", "objects"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = command([verb, "/nonexistent/log"]);
        let status = child.stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(2), "{verb}");
    }
}
