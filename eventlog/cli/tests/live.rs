//! `eventlog tail` and `eventlog record`: logs that are served, or grow.

#![cfg(unix)]

#[path = "support/server.rs"]
mod server;
mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoder, END_MARKER, Event, FieldType, Header, Record, UserEventType, Value,
};
use ghc_eventlog::{Address, AttachOptions, EventLog, Previous, Sink, Start};
use server::Then;
use support::{LOGS, Ran, command, log, run};

/// How long a test waits for what must happen.
const LONG: Duration = Duration::from_secs(60);

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What `show --unsorted` prints of a log.
fn shown(name: &str) -> String {
    let ran = run(["show", "--unsorted", path(&log(name))]);
    assert_eq!(ran.code, 0);
    ran.out
}

fn spawn(args: &[&str]) -> Child {
    command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a signal to a child of ours, as Ctrl-C does.
fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-s", name, &id]).status();
    assert!(status.unwrap().success());
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Where each record of a log ends.
fn ends(bytes: &[u8]) -> Vec<(usize, bool)> {
    let mut decoder = Decoder::new();
    let mut rest = bytes;
    let (mut ends, mut block_end) = (Vec::new(), 0);
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        if let Record::BlockBegin { offset, marker } = record {
            block_end = offset as usize + marker.size as usize;
        }
        let end = bytes.len() - rest.len();
        ends.push((end, end >= block_end));
    }
    ends
}

/// Up to where a log is whole that is cut there.
fn whole(bytes: &[u8], cut: usize) -> usize {
    let ends = ends(bytes);
    let mut whole = ends.iter().filter(|(end, whole)| *whole && *end <= cut);
    whole.next_back().unwrap().0
}

/// A log that is cut there, with the whole events of its last block as a block.
fn mended(bytes: &[u8], cut: usize) -> Vec<u8> {
    let start = whole(bytes, cut);
    let (end, _) = *ends(bytes).iter().rfind(|(end, _)| *end <= cut).unwrap();
    let mut log = bytes[..end].to_vec();
    if end > start + BlockMarker::LEN {
        let events = &bytes[start + BlockMarker::LEN..end];
        let marker = BlockMarker::from_bytes(bytes[start..].first_chunk().unwrap());
        let mut decoder = Decoder::new();
        let (mut rest, mut latest) = (bytes, marker.begin);
        while let Some(record) = decoder.next(&mut rest).unwrap() {
            match record {
                Record::Event(raw) if (start..end).contains(&(raw.offset as usize)) => {
                    latest = latest.max(raw.time);
                }
                _ => {}
            }
        }
        let size = (BlockMarker::LEN + events.len()) as u32;
        let marker = BlockMarker {
            size,
            end: latest,
            ..marker
        };
        log.splice(start..start + BlockMarker::LEN, marker.encode());
    } else {
        log.truncate(start);
    }
    log.extend(END_MARKER);
    log
}

/// A log of so many messages in one block, and its length up to the end of each.
fn one_block(messages: u64) -> (Vec<u8>, Vec<usize>) {
    let mut events = Vec::new();
    let mut ends = Vec::new();
    for at in 0..messages {
        let text = format!("message {at}");
        // Each second one is dated back.
        let time = 1_000 + at - at % 2 * 10;
        Event::UserMessage { text: &text }.encode_to_vec(time, &mut events);
        ends.push(events.len());
    }
    let mut log = Header::standard().encode();
    let marker = BlockMarker {
        begin: 1_000,
        size: (BlockMarker::LEN + events.len()) as u32,
        end: 1_000_000,
        cap: CapNo::new(3),
    };
    log.extend(marker.encode());
    ends.iter_mut().for_each(|end| *end += log.len());
    log.extend(events);
    log.extend(END_MARKER);
    (log, ends)
}

#[test]
fn tail_prints_what_is_served_until_the_log_ends() {
    let dir = tempfile::tempdir().unwrap();
    for name in LOGS {
        let bytes = fs::read(log(name)).unwrap();
        let socket = dir.path().join(format!("{name}.sock"));
        // The connection stays open: it is the end marker that ends it.
        let server = server::unix(&socket, bytes, Then::Keep);
        let ran = run(["tail", path(&socket)]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        assert!(ran.out == shown(name), "{name}");
        server.join().unwrap();
    }
    let bytes = fs::read(log("user-only")).unwrap();
    let (address, server) = server::tcp(bytes, Then::Close);
    let ran = run(["tail", &address]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out == shown("user-only"));
    server.join().unwrap();
}

#[test]
fn tail_ends_after_so_many_events() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(log("threads-N2")).unwrap();
    let all = shown("threads-N2");
    let of_none: Vec<&str> = all.lines().filter(|line| line.contains("cap - ")).collect();
    let wanted = [
        (vec!["--count", "7"], all.lines().take(7).collect()),
        (vec!["--count", "0"], vec![]),
        (vec!["--cap", "none", "--count", "3"], of_none[..3].to_vec()),
        (vec!["--cap", "none"], of_none),
    ];
    for (at, (args, lines)) in wanted.into_iter().enumerate() {
        let socket = dir.path().join(format!("{at}.sock"));
        let server = server::unix(&socket, bytes.clone(), Then::Keep);
        let ran = run(["tail"].into_iter().chain(args).chain([path(&socket)]));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert_eq!(ran.out.lines().collect::<Vec<_>>(), lines);
        server.join().unwrap();
    }
}

#[test]
fn tail_follows_a_file_that_grows() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("growing.eventlog");
    let bytes = fs::read(log("user-only")).unwrap();
    let ends = ends(&bytes);
    // Up to the tenth event, and a part of the next one.
    let first = ends[12].0 + 5;
    fs::write(&file, &bytes[..first]).unwrap();
    let mut child = spawn(&["tail", path(&file)]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let shown = shown("user-only");
    let mut wanted = shown.lines();
    // What is there is printed while the log goes on.
    for _ in 0..10 {
        assert_eq!(lines.next().unwrap().unwrap(), wanted.next().unwrap());
    }
    let mut growing = OpenOptions::new().append(true).open(&file).unwrap();
    growing.write_all(&bytes[first..]).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(rest, wanted.collect::<Vec<_>>());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn tail_ends_well_when_it_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(log("user-only")).unwrap();
    let socket = dir.path().join("sock");
    let cut = bytes.len() - 2;
    let server = server::unix(&socket, bytes[..cut].to_vec(), Then::Keep);
    let mut child = spawn(&["tail", path(&socket)]);
    let out = child.stdout.take().unwrap();
    let mut lines = BufReader::new(out).lines();
    let shown = shown("user-only");
    for wanted in shown.lines() {
        assert_eq!(lines.next().unwrap().unwrap(), wanted);
    }
    signal(&child, "INT");
    assert!(lines.next().is_none());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    server.join().unwrap();
}

#[test]
fn a_connection_that_breaks_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = fs::read(log("user-only")).unwrap();
    let cut = bytes.len() - 10;
    let (end, _) = ends(&bytes)
        .into_iter()
        .rfind(|(end, _)| *end <= cut)
        .unwrap();
    let partial = cut - end;
    let (address, server) = server::tcp(bytes[..cut].to_vec(), Then::Close);
    let ran = run(["tail", &address]);
    server.join().unwrap();
    let fault = format!(
        "eventlog: {address}: closed before the end: byte {end}: the log ends {partial} bytes into \
         an unfinished record\n"
    );
    assert_eq!((ran.code, ran.err), (1, fault));
    assert!(shown("user-only").starts_with(&ran.out));

    let file = dir.path().join("got.eventlog");
    let (address, server) = server::tcp(bytes[..cut].to_vec(), Then::Close);
    let ran = run(["record", &address, "-o", path(&file)]);
    server.join().unwrap();
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("closed before the end: "), "{}", ran.err);
    let whole = whole(&bytes, cut);
    let block = ends(&bytes)
        .iter()
        .filter(|end| (whole..=cut).contains(&end.0))
        .count()
        - 2;
    let told = format!(
        "  the source has ended; of an unfinished block: {block} events; left out: {partial} bytes \
         after the last whole event\n"
    );
    assert!(ran.out.ends_with(&told), "{}", ran.out);
    assert_eq!(fs::read(&file).unwrap(), mended(&bytes, cut));
    assert_eq!(run(["check", path(&file)]).code, 0);
}

#[test]
fn record_writes_what_it_gets() {
    let dir = tempfile::tempdir().unwrap();
    for name in LOGS {
        let bytes = fs::read(log(name)).unwrap();
        let socket = dir.path().join(format!("{name}.sock"));
        let file = dir.path().join(format!("{name}.eventlog"));
        let server = server::unix(&socket, bytes.clone(), Then::Keep);
        let ran = run(["record", path(&socket), "-o", path(&file)]);
        server.join().unwrap();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        assert!(fs::read(&file).unwrap() == bytes, "{name}");
        let checked = run(["check", path(&file)]).out;
        let told = ran.out.strip_suffix("  the log has ended\n").unwrap();
        assert_eq!(told.replace(": ", ": ok, "), checked);
    }
}

#[test]
fn record_leaves_a_whole_log_when_it_is_interrupted_or_killed() {
    let bytes = fs::read(log("multiblock")).unwrap();
    // Two blocks, and a part of the third one.
    let cut = whole(&bytes, 150_000) + 200;
    let ends = ends(&bytes).into_iter().map(|(end, _)| end);
    let part = whole(&bytes, cut)..=cut;
    let cuts = ends.filter(|end| part.contains(end));
    // Nobody knows how much of that part has come when it is interrupted.
    let mended: Vec<_> = cuts.map(|end| mended(&bytes, end)).collect();
    let want = [&bytes[..whole(&bytes, cut)], &[0xff; 2]].concat();
    for name in ["INT", "TERM", "KILL"] {
        let dir = tempfile::tempdir().unwrap();
        let (socket, file) = (dir.path().join("sock"), dir.path().join("log"));
        let server = server::unix(&socket, bytes[..cut].to_vec(), Then::Keep);
        let child = spawn(&["record", path(&socket), "-o", path(&file)]);
        wait_until("the blocks are in the file", || {
            fs::read(&file).is_ok_and(|got| got == want)
        });
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        server.join().unwrap();
        let got = fs::read(&file).unwrap();
        assert_eq!(run(["check", path(&file)]).code, 0);
        if name == "KILL" {
            assert!(got == want);
        } else {
            assert!(mended.contains(&got), "{name}");
            let ran = Ran::from(output);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
            assert!(ran.out.contains("  interrupted"), "{}", ran.out);
        }
    }
}

#[test]
fn record_to_standard_output_ends_the_log_too() {
    let bytes = fs::read(log("user-only")).unwrap();
    let (address, server) = server::tcp(bytes[..bytes.len() - 2].to_vec(), Then::Close);
    let output = command(["record", &address, "-o", "-"]).output().unwrap();
    server.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout == bytes);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("-: 109 events in 3 blocks"), "{told}");
}

#[test]
fn what_is_no_log_costs_no_file_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("precious");
    fs::write(&file, "keep me").unwrap();
    for (bytes, reason) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "byte 0: expected the tag \"hdrb\"",
        ),
        (b"hdrb", "closed before the end: "),
        (b"", "closed before the end: "),
    ] {
        for verb in ["record", "tail"] {
            let (address, server) = server::tcp(bytes.to_vec(), Then::Close);
            let args = [verb, &address, "-o", path(&file)];
            let ran = run(&args[..if verb == "record" { 4 } else { 2 }]);
            server.join().unwrap();
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{verb}");
            assert!(ran.err.contains(reason), "{}", ran.err);
        }
    }
    assert_eq!(fs::read(&file).unwrap(), b"keep me");
    // Nor does one that goes wrong further on cost what was good of it.
    let mut bytes = fs::read(log("user-only")).unwrap();
    let whole = whole(&bytes, bytes.len() - 2);
    bytes.splice(whole.., [0x00, 0x05]);
    let (address, server) = server::tcp(bytes.clone(), Then::Close);
    let ran = run(["record", &address, "-o", path(&file)]);
    server.join().unwrap();
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("event type 5 is not declared"),
        "{}",
        ran.err
    );
    assert_eq!(
        fs::read(&file).unwrap(),
        [&bytes[..whole], &[0xff; 2]].concat()
    );
}

#[test]
fn what_cannot_become_a_log_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (file, output) = (dir.path().join("growing"), dir.path().join("out"));
    for (at, bytes) in ["x", "hx", "hdr\n", "hello\n"].into_iter().enumerate() {
        fs::write(&file, bytes).unwrap();
        let found = bytes[..bytes.len().min(4)].escape_default();
        let reason = format!("byte 0: expected the tag \"hdrb\", found \"{found}\"");
        for verb in ["tail", "record"] {
            let socket = dir.path().join(format!("{verb}{at}"));
            let server = server::unix(&socket, bytes.into(), Then::Keep);
            let mut runs = vec![vec![verb, path(&socket)]];
            if verb == "tail" {
                runs.push(vec![verb, path(&file)]);
            }
            for mut args in runs {
                let source = args[1].to_owned();
                if verb == "record" {
                    args.extend(["-o", path(&output)]);
                }
                let mut child = spawn(&args);
                wait_until("it is refused", || child.try_wait().unwrap().is_some());
                let ran = Ran::from(child.wait_with_output().unwrap());
                assert_eq!((ran.code, ran.out.as_str()), (1, ""));
                let begun = format!("eventlog: {source}: byte 0: expected the tag \"hdrb\", found");
                assert!(ran.err.starts_with(&begun), "{}", ran.err);
            }
            server.join().unwrap();
        }
        let checked = run(["check", path(&file)]);
        assert_eq!((checked.code, checked.err.as_str()), (1, ""));
        assert_eq!(checked.out, format!("{}: {reason}\n", path(&file)));
    }
    assert!(!output.exists());
}

#[test]
fn what_cannot_be_opened_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out");
    let dead = dir.path().join("dead.sock");
    drop(UnixListener::bind(&dead).unwrap());
    for (source, reason) in [
        ("/nonexistent/sock", "No such file or directory"),
        (path(&dead), "Connection refused"),
        // Where nothing has been served for decades.
        ("127.0.0.1:1", "Connection refused"),
        (
            "127.0.0.1:65536",
            "no such file, and a port is at most 65535\n",
        ),
    ] {
        for args in [
            vec!["tail", source],
            vec!["record", source, "-o", path(&file)],
        ] {
            let ran = run(args);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""));
            let start = format!("eventlog: {source}: {reason}");
            assert!(ran.err.starts_with(&start), "{}", ran.err);
        }
    }
    assert!(!file.exists());
    let (address, server) = server::tcp(fs::read(log("user-only")).unwrap(), Then::Close);
    let ran = run(["record", &address, "-o", "/nonexistent/log"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with("eventlog: /nonexistent/log: "),
        "{}",
        ran.err
    );
    server.join().unwrap();
}

#[test]
fn record_does_not_write_over_what_it_reads_and_mends_a_cut_file() {
    let dir = tempfile::tempdir().unwrap();
    let (cut, mended) = (dir.path().join("cut"), dir.path().join("mended"));
    let bytes = fs::read(log("threads-N2")).unwrap();
    let at = bytes.len() - 300;
    File::create(&cut).unwrap().write_all(&bytes[..at]).unwrap();
    let ran = run(["record", path(&cut), "-o", path(&cut)]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err
            .ends_with(": the log would overwrite what it is recorded from\n")
    );
    assert!(fs::read(&cut).unwrap() == bytes[..at]);
    assert_eq!(run(["record", path(&cut), "-o", path(&mended)]).code, 1);
    assert!(fs::read(&mended).unwrap() == self::mended(&bytes, at));
    assert_eq!(run(["check", path(&mended)]).code, 0);
}

#[test]
fn record_keeps_the_whole_events_of_a_block_that_is_cut() {
    const MESSAGES: u64 = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let (cut, file) = (dir.path().join("cut"), dir.path().join("mended"));
    let (bytes, ends) = one_block(MESSAGES);
    let at = bytes.len() * 9 / 10;
    let kept = ends.iter().filter(|end| **end <= at).count();
    fs::write(&cut, &bytes[..at]).unwrap();
    let (address, server) = server::tcp(bytes[..at].to_vec(), Then::Close);
    for source in [path(&cut), &address] {
        let ran = run(["record", source, "-o", path(&file)]);
        assert_eq!(ran.code, 1);
        let left = at - ends[kept - 1];
        let (thousands, rest) = (kept / 1000, kept % 1000);
        let told = format!(
            "  the source has ended; of an unfinished block: {thousands},{rest:03} events; left out: \
             {left} bytes after the last whole event\n"
        );
        assert!(ran.out.ends_with(&told), "{}", ran.out);
        assert!(fs::read(&file).unwrap() == mended(&bytes, at));
        let shown = run(["show", path(&file)]);
        assert_eq!((shown.code, shown.err.as_str()), (0, ""));
        assert_eq!(shown.out.lines().count(), kept);
        assert_eq!(shown.out, run(["show", path(&cut)]).out);
    }
    server.join().unwrap();
}

#[test]
fn record_keeps_what_is_before_a_fault_inside_of_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let (bad, file) = (dir.path().join("bad"), dir.path().join("mended"));
    let (mut bytes, ends) = one_block(20);
    // An event of no type that is declared, as the first one, in the middle, and as the last one.
    for kept in [0, 7, 19] {
        let at = match kept {
            0 => ends[0] - (ends[1] - ends[0]),
            _ => ends[kept - 1],
        };
        let good = bytes[at..at + 2].to_vec();
        bytes[at..at + 2].copy_from_slice(&[0xf0, 0x00]);
        fs::write(&bad, &bytes).unwrap();
        let ran = run(["record", path(&bad), "-o", path(&file)]);
        assert_eq!(ran.code, 1);
        let told = "  the log is bad; ";
        let left = "left out: all after the last whole event\n";
        let told = match kept {
            0 => format!("{told}{left}"),
            _ => format!("{told}of an unfinished block: {kept} events; {left}"),
        };
        assert!(ran.out.ends_with(&told), "{}", ran.out);
        bytes[at..at + 2].copy_from_slice(&good);
        assert!(fs::read(&file).unwrap() == mended(&bytes, at), "{kept}");
        let shown = run(["show", path(&file)]);
        assert_eq!((shown.code, shown.out.lines().count()), (0, kept));
    }
}

#[test]
fn record_mends_a_log_wherever_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (cut, file) = (dir.path().join("cut"), dir.path().join("mended"));
    let (bytes, ends) = one_block(3);
    let header = ends[0] - BlockMarker::LEN - (ends[1] - ends[0]);
    for at in header..bytes.len() {
        fs::write(&cut, &bytes[..at]).unwrap();
        assert_eq!(run(["record", path(&cut), "-o", path(&file)]).code, 1);
        assert!(fs::read(&file).unwrap() == mended(&bytes, at), "{at}");
        assert_eq!(run(["check", path(&file)]).code, 0);
    }
}

#[test]
fn a_log_that_a_program_writes_is_recorded_and_followed_at_once_until_it_is_stopped() {
    const EVENTS: u32 = 200;
    let dir = tempfile::tempdir().unwrap();
    let (socket, recorded) = (dir.path().join("socket"), dir.path().join("recorded"));
    let beat = UserEventType::builder(0, "heartbeat")
        .field("number", FieldType::U32)
        .build()
        .unwrap();
    let log = EventLog::builder()
        .declare(&beat)
        .sink(Sink::null())
        .unwrap();
    // Held up for as long as a busy machine may need.
    let options = AttachOptions::default().linger(LONG);
    let _listener = log.listen(Address::Unix(socket.clone()), options).unwrap();
    let record = spawn(&["record", path(&socket), "-o", path(&recorded)]);
    let tail = spawn(&["tail", path(&socket)]);
    wait_until("both are attached", || log.statistics().readers.len() == 2);
    let mut capability = log.capability().unwrap();
    for number in 0..EVENTS {
        if number == EVENTS / 2 {
            log.set_sink(Sink::memory().0, Previous::Close, Start::Header)
                .unwrap();
        }
        let values = [Value::U32(number)];
        capability.try_emit(&beat.event(&values).unwrap()).unwrap();
    }
    drop(capability);
    log.stop().unwrap();

    let record = Ran::from(record.wait_with_output().unwrap());
    assert_eq!((record.code, record.err.as_str()), (0, ""));
    let tail = Ran::from(tail.wait_with_output().unwrap());
    assert_eq!((tail.code, tail.err.as_str()), (0, ""));
    assert_eq!(run(["check", path(&recorded)]).code, 0);
    let beats = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("heartbeat"));
        lines.map(str::to_owned).collect()
    };
    let shown = beats(&run(["show", "--unsorted", path(&recorded)]).out);
    assert_eq!(shown.len(), EVENTS as usize);
    assert_eq!(shown, beats(&tail.out));
}
