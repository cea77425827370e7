//! `eventlog merge` and `eventlog split`: nothing is lost or doubled, and every piece is a log.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{
    BlockMarker, CapNo, CapsetId, CapsetType, Decoded, END_MARKER, Event, EventSize, EventType,
    EventsByTime, Header, StopStatus, ThreadId, UserEventType,
};
use support::{Ran, data, elv, log, run};

/// An event as far as it must not change.
type Seen = (u64, Option<u16>, Vec<u8>);

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The events of a sound log in the order of time.
fn events(file: &Path) -> Vec<Seen> {
    assert_eq!(run(["check", path(file)]).code, 0, "{file:?}");
    let mut events = EventsByTime::new(File::open(file).unwrap()).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let cap = event.cap.map(CapNo::get);
        seen.push((event.time, cap, event.bytes().to_vec()));
    }
    seen
}

/// Events without their order among those of one time.
fn bag(mut events: Vec<Seen>) -> Vec<Seen> {
    events.sort();
    events
}

fn ok(ran: Ran) -> String {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
}

/// Splits a log, and gives the pieces, in order of their names.
fn split(dir: &Path, file: &Path, how: &[&str]) -> Vec<PathBuf> {
    let stem = dir.join("piece");
    let args = ["split", path(file), "-o", path(&stem)];
    let out = ok(run(args.iter().chain(how)));
    let mut pieces: Vec<PathBuf> = out
        .lines()
        .map(|line| PathBuf::from(line.split(": ").next().unwrap()))
        .collect();
    pieces.sort();
    pieces
}

/// Merges logs, and gives what came out.
fn merge(dir: &Path, files: &[PathBuf], how: &[&str]) -> PathBuf {
    let merged = dir.join("merged");
    let files = files.iter().map(|file| path(file));
    let args = ["merge", "-o", path(&merged)].into_iter();
    ok(run(args.chain(how.iter().copied()).chain(files)));
    merged
}

/// Asserts that another reader takes these logs, too, if there is one.
fn assert_sound(files: &[PathBuf]) {
    for of in elv(files).unwrap_or_default() {
        assert_eq!(of["ok"], true, "{of}");
    }
}

#[test]
fn pieces_make_the_whole_again() {
    for name in [
        "threads-N2",
        "sparks-N2",
        "heap-hT",
        "nonmoving",
        "user-only",
    ] {
        let all = bag(events(&log(name)));
        let last = all.last().unwrap().0;
        let every = format!("{:.9}", (last / 5 + 1) as f64 / 1e9);
        for how in [
            vec!["--every", &every],
            vec!["--size", "5K"],
            vec!["--caps"],
        ] {
            let dir = tempfile::tempdir().unwrap();
            let pieces = split(dir.path(), &log(name), &how);
            assert!(pieces.len() > 1, "{name} by {how:?}");
            assert_sound(&pieces);
            let merged = merge(dir.path(), &pieces, &[]);
            assert!(bag(events(&merged)) == all, "{name} by {how:?}");
            assert_sound(&[merged]);
        }
    }
}

#[test]
fn a_log_that_is_merged_with_itself_stays_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let all = events(&log("threads-N2"));
    let merged = merge(dir.path(), &[log("threads-N2"), log("threads-N2")], &[]);
    assert!(bag(events(&merged)) == bag(all.clone()));
    // Within one log, what is there twice is there twice.
    let mut header = Header::standard().encode();
    for _ in 0..2 {
        Event::GcStart.encode_to_vec(5, &mut header);
    }
    header.extend(END_MARKER);
    let twice = dir.path().join("twice");
    fs::write(&twice, header).unwrap();
    let merged = merge(dir.path(), &[twice.clone(), twice], &[]);
    assert_eq!(events(&merged).len(), 2);
}

#[test]
fn pieces_by_time_have_names_in_their_order_however_many_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let text = Event::UserMessage { text: "" };
    let times: Vec<u64> = (0..1_000).map(|at| at * 1_000_000).collect();
    let messages: Vec<_> = times.iter().map(|time| (*time, text)).collect();
    let whole = dir.path().join("whole");
    fs::write(&whole, made(&[(None, &messages)])).unwrap();
    let pieces = split(dir.path(), &whole, &["--every", "0.001"]);
    assert_eq!(pieces.len(), times.len());
    assert_eq!(pieces[0], dir.path().join("piece-0001.eventlog"));
    for at in (0..times.len()).step_by(111) {
        assert_eq!(events(&pieces[at])[0].0, times[at]);
    }
    // Three digits are enough for what is asked for.
    let how = ["--every", "0.001", "--from", "0.9", "--to", "0.95"];
    let pieces = split(dir.path(), &whole, &how);
    assert_eq!(pieces.len(), 50);
    assert_eq!(pieces[0], dir.path().join("piece-001.eventlog"));
}

#[test]
fn a_piece_keeps_its_size_and_its_span() {
    let dir = tempfile::tempdir().unwrap();
    let pieces = split(dir.path(), &log("multiblock"), &["--size", "20K"]);
    assert!(pieces.len() > 5);
    for piece in &pieces {
        let size = fs::metadata(piece).unwrap().len();
        assert!(size <= 20 << 10, "{piece:?}: {size}");
    }
    let all = events(&log("threads-N2"));
    let (from, to) = (all[all.len() / 3].0, all[all.len() / 2].0);
    let [from_arg, to_arg] = [from, to].map(|ns| format!("0.{ns:09}"));
    let how = ["--from", &from_arg, "--to", &to_arg];
    let pieces = split(dir.path(), &log("threads-N2"), &how);
    assert_eq!(pieces, [dir.path().join("piece.eventlog")]);
    let within = |event: &&Seen| (from..to).contains(&event.0);
    let piece = events(&pieces[0]);
    let wanted: Vec<&Seen> = all.iter().filter(within).collect();
    assert_eq!(piece.iter().filter(within).collect::<Vec<_>>(), wanted);
    // The rest is from before, and defines something.
    let before = piece.iter().filter(|event| event.0 < from).count();
    assert!(before > 5);
    assert_eq!(before + wanted.len(), piece.len());
}

#[test]
fn pieces_of_a_capability_hold_its_events_and_what_tells_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let all = events(&log("threads-N2"));
    let pieces = split(dir.path(), &log("threads-N2"), &["--caps"]);
    let names: Vec<&str> = pieces
        .iter()
        .map(|piece| piece.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "piece-cap0.eventlog",
            "piece-cap1.eventlog",
            "piece-none.eventlog"
        ]
    );
    for (piece, cap) in pieces.iter().zip([Some(0), Some(1), None]) {
        let piece = events(piece);
        let of = |events: &[Seen]| -> Vec<Seen> {
            events
                .iter()
                .filter(|event| event.1 == cap)
                .cloned()
                .collect()
        };
        assert!(of(&piece) == of(&all));
        // The program's name is known to each.
        assert!(piece.iter().any(|(_, _, bytes)| bytes[..2] == [0, 30]));
    }
}

/// Events and their times.
type Timed<'a> = &'a [(u64, Event<'a>)];

/// A log whose blocks each hold the events of a capability.
fn made(blocks: &[(Option<u16>, Timed<'_>)]) -> Vec<u8> {
    let mut log = Header::standard().encode();
    for (cap, events) in blocks {
        let mut body = Vec::new();
        for (time, event) in *events {
            event.encode_to_vec(*time, &mut body);
        }
        let marker = BlockMarker {
            begin: 0,
            size: (BlockMarker::LEN + body.len()) as u32,
            end: u64::MAX,
            cap: cap.and_then(CapNo::new),
        };
        log.extend(marker.encode());
        log.extend(body);
    }
    log.extend(END_MARKER);
    log
}

#[test]
fn a_piece_is_told_what_is_still_so() {
    let (alive, dead, cap) = (ThreadId(1), ThreadId(2), CapNo::new(0).unwrap());
    let gone = CapNo::new(1).unwrap();
    let (kind, capset) = (CapsetType::Custom, CapsetId(7));
    let blocked = StopStatus::BlockedOnMVar;
    let stop = |thread, status| Event::StopThread {
        thread,
        status,
        info: 0,
    };
    let global = [
        (1, Event::CapsetCreate { capset, kind }),
        (2, Event::CapCreate { cap }),
        (3, Event::CapsetAssignCap { capset, cap }),
        (4, Event::CapCreate { cap: gone }),
        (5, Event::CapsetAssignCap { capset, cap: gone }),
        (6, Event::CapDelete { cap: gone }),
    ];
    let own = [
        (10, Event::CreateThread { thread: alive }),
        (
            11,
            Event::ThreadLabel {
                thread: alive,
                label: "alive",
            },
        ),
        (12, Event::CreateThread { thread: dead }),
        (13, Event::RunThread { thread: dead }),
        (14, stop(dead, StopStatus::Finished)),
        (15, Event::RunThread { thread: alive }),
        (16, stop(alive, StopStatus::Yielding)),
        (17, Event::RunThread { thread: alive }),
        (18, stop(alive, blocked)),
        (19, Event::UserMessage { text: "before" }),
        (1_000_000, Event::ThreadRunnable { thread: alive }),
        (1_000_001, Event::RunThread { thread: alive }),
        (2_000_000, stop(alive, blocked)),
    ];
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    fs::write(&whole, made(&[(Some(0), &own), (None, &global)])).unwrap();
    let pieces = split(dir.path(), &whole, &["--every", "0.001"]);
    let times = |piece: &Path| -> Vec<u64> {
        let events = events(piece);
        events.iter().map(|(time, ..)| *time).collect()
    };
    assert_eq!(pieces.len(), 3);
    assert_eq!(times(&pieces[0]).len(), 16);
    assert_eq!(
        times(&pieces[1]),
        [1, 2, 3, 10, 11, 17, 18, 1_000_000, 1_000_001]
    );
    assert_eq!(times(&pieces[2]), [1, 2, 3, 10, 11, 1_000_001, 2_000_000]);
}

#[test]
fn logs_of_several_processes_are_aligned_and_renumbered() {
    let dir = tempfile::tempdir().unwrap();
    let capset = CapsetId(0);
    let (cap, thread) = (CapNo::new(1).unwrap(), ThreadId(4));
    let files: Vec<PathBuf> = [(100, 40), (100, 25)]
        .into_iter()
        .enumerate()
        .map(|(at, (unix_seconds, time))| {
            let clock = Event::WallClockTime {
                capset,
                unix_seconds,
                nanoseconds: 7,
            };
            let pid = at as u32;
            let bytes = made(&[
                (
                    None,
                    &[(time, clock), (30, Event::OsProcessPid { capset, pid })],
                ),
                (
                    Some(1),
                    &[
                        (50, Event::CreateThread { thread }),
                        (51, Event::MigrateThread { thread, to: cap }),
                        (
                            52,
                            Event::StopThread {
                                thread,
                                status: StopStatus::BlockedOnBlackHole,
                                info: 3,
                            },
                        ),
                    ],
                ),
            ]);
            let file = dir.path().join(format!("{at}.eventlog"));
            fs::write(&file, bytes).unwrap();
            file
        })
        .collect();
    let both = [path(&files[0]), path(&files[1])];
    let out = dir.path().join("both");
    let ran = run(["merge", both[0], both[1], "-o", path(&out)]);
    assert_eq!(ran.code, 1);
    let reason = "of process 1, and ";
    assert!(
        ran.err.contains(reason) && ran.err.contains("--processes"),
        "{}",
        ran.err
    );
    assert!(!out.exists());

    let merged = merge(dir.path(), &files, &["--processes"]);
    // The first one's clock showed the same 15 ns later after its start: it began first.
    let mut events = EventsByTime::new(File::open(&merged).unwrap()).unwrap();
    let mut told = Vec::new();
    while let Some(raw) = events.next().unwrap() {
        let Ok(Decoded::Known(event)) = raw.decode() else {
            panic!()
        };
        told.push((raw.time, raw.cap.map(CapNo::get), format!("{event:?}")));
    }
    let wanted: Vec<_> = [(0, 0, 0, 0), (15, 2, 1, 5)]
        .into_iter()
        .flat_map(|(shift, caps, capsets, threads)| {
            let capset = CapsetId(capsets);
            let (to, thread) = (CapNo::new(1 + caps).unwrap(), ThreadId(4 + threads));
            let cap = Some(1 + caps);
            let clock = Event::WallClockTime {
                capset,
                unix_seconds: 100,
                nanoseconds: 7,
            };
            let pid = capsets;
            let stop = Event::StopThread {
                thread,
                status: StopStatus::BlockedOnBlackHole,
                info: 3 + threads,
            };
            [
                (40, None, clock),
                (30 + shift, None, Event::OsProcessPid { capset, pid }),
                (50 + shift, cap, Event::CreateThread { thread }),
                (51 + shift, cap, Event::MigrateThread { thread, to }),
                (52 + shift, cap, stop),
            ]
        })
        .map(|(time, cap, event)| (time, cap, format!("{event:?}")))
        .collect();
    let sorted = |mut told: Vec<(u64, Option<u16>, String)>| {
        told.sort();
        told
    };
    assert_eq!(sorted(told), sorted(wanted));
    assert_sound(&[merged]);

    let without = dir.path().join("without");
    fs::write(&without, made(&[(Some(0), &[(1, Event::GcStart)])])).unwrap();
    let ran = run([
        "merge",
        "--processes",
        both[0],
        path(&without),
        "-o",
        path(&out),
    ]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("without: tells no wall clock time"),
        "{}",
        ran.err
    );
}

#[test]
fn real_logs_of_several_processes_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["threads-N2", "threads-N1", "sparks-N2", "heap-hT"].map(log);
    let sum: usize = files.iter().map(|file| events(file).len()).sum();
    let merged = merge(dir.path(), &files, &["--processes"]);
    let merged_events = events(&merged);
    assert_eq!(merged_events.len(), sum);
    let caps: std::collections::BTreeSet<Option<u16>> =
        merged_events.iter().map(|(_, cap, _)| *cap).collect();
    assert_eq!(caps.len(), 1 + 2 + 1 + 2 + 1);
    assert_sound(&[merged]);
}

#[test]
fn headers_must_agree() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, header: &Header| {
        let file = dir.path().join(name);
        let bytes = [header.encode(), END_MARKER.to_vec()].concat();
        fs::write(&file, bytes).unwrap();
        file
    };
    let tick = UserEventType::builder(0, "tick").build().unwrap();
    let with = write("with", &Header::standard().declaring([&tick]).unwrap());
    let without = write("without", Header::standard());
    let merged = merge(dir.path(), &[without.clone(), with], &[]);
    let read = EventsByTime::new(File::open(merged).unwrap()).unwrap();
    assert_eq!(read.header().user_type(1088), Some(&tick));

    let old = EventType::new(53, EventSize::Fixed(50), "GC statistics");
    let known = Header::standard().event_types().iter().cloned();
    let types = known.filter(|ty| ty.id != 53).chain([old]);
    let older = write("older", &Header::new(types).unwrap());
    let known = Header::standard().event_types().iter().cloned();
    let moved = write(
        "moved",
        &Header::new(known.filter(|ty| ty.id != 59)).unwrap(),
    );
    for (file, reason) in [
        (older, "event type 53 is declared in two ways"),
        (moved, "one header is of an early release of ghc"),
    ] {
        let out = dir.path().join("out");
        let ran = run(["merge", path(&without), path(&file), "-o", path(&out)]);
        assert_eq!(ran.code, 1);
        let start = format!("eventlog: {}: {reason}", path(&file));
        assert!(ran.err.starts_with(&start), "{}", ran.err);
        assert!(!out.exists());
    }
}

#[test]
fn of_a_bad_log_what_is_before_the_fault_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut");
    let bytes = fs::read(log("user-only")).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 2]).unwrap();
    let all = events(&log("user-only"));
    let fault = format!(
        "byte {}: the log ends without an end marker",
        bytes.len() - 2
    );
    let out = dir.path().join("out");
    let ran = run(["merge", path(&cut), path(&cut), "-o", path(&out)]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains(&fault), "{}", ran.err);
    assert!(bag(events(&out)) == bag(all.clone()));
    let ran = run(["split", path(&cut), "-o", path(&out), "--from", "0"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains(&fault), "{}", ran.err);
    assert!(bag(events(&dir.path().join("out.eventlog"))) == bag(all));
}

/// A log with a type that is not declared in the place of its last event's, and another log behind it.
fn damaged(dir: &Path) -> (PathBuf, u64) {
    let mut bytes = fs::read(log("user-only")).unwrap();
    let mut events = EventsByTime::new(File::open(log("user-only")).unwrap()).unwrap();
    let mut last = 0;
    while let Some(event) = events.next().unwrap() {
        last = last.max(event.offset);
    }
    bytes[last as usize..][..2].copy_from_slice(&[0, 5]);
    bytes.extend(fs::read(log("user-only")).unwrap());
    let file = dir.join("damaged");
    fs::write(&file, bytes).unwrap();
    (file, last)
}

#[test]
fn what_lies_behind_the_damage_is_merged_and_split_leniently() {
    let dir = tempfile::tempdir().unwrap();
    let (file, at) = damaged(dir.path());
    let name = path(&file);
    let all = events(&log("user-only"));
    let out = dir.path().join("out");
    let piece = dir.path().join("piece.eventlog");
    let stem = dir.path().join("piece");
    let split = ["split", name, "-o", path(&stem), "--from", "0"];
    let merge = ["merge", name, name, "-o", path(&out)];
    let fault = format!("eventlog: {name}: byte {at}: event type 5 is not declared");
    for (args, made) in [(&split[..], &piece), (&merge[..], &out)] {
        let strict = run(args);
        assert_eq!(strict.code, 1);
        assert!(strict.err.starts_with(&fault), "{}", strict.err);
        assert_eq!(events(made).len(), all.len() - 1);
    }

    let skipped = format!("eventlog: {name}: byte {at}: ");
    for (args, made, times) in [(&split[..], &piece, 1), (&merge[..], &out, 2)] {
        let lenient = run(args.iter().chain(&["--lenient"]));
        assert_eq!(lenient.code, 1, "{}", lenient.err);
        let told = lenient
            .err
            .lines()
            .filter(|line| line.starts_with(&skipped));
        assert_eq!(told.count(), times, "{}", lenient.err);
        // Both logs that lie in it, the first without its last event.
        let lasting = [&all[..], &all[..]].concat();
        let made = bag(events(made));
        assert_eq!(made.len(), lasting.len() - 1);
        assert!(made.iter().all(|event| all.contains(event)));
    }
    let good = log("user-only");
    let args = [
        "split",
        path(&good),
        "-o",
        path(&stem),
        "--lenient",
        "--to",
        "99",
    ];
    ok(run(args));
    assert!(bag(events(&piece)) == bag(all));
}

#[test]
fn logs_behind_each_other_that_declare_one_type_in_two_ways_are_not_put_into_one() {
    let dir = tempfile::tempdir().unwrap();
    let known = Header::standard().event_types().iter().cloned();
    let old = EventType::new(53, EventSize::Fixed(50), "GC statistics");
    let types = known.filter(|ty| ty.id != 53).chain([old]);
    let older = Header::new(types).unwrap();
    let file = dir.path().join("both");
    let two =
        [Header::standard(), &older].map(|header| [header.encode(), END_MARKER.to_vec()].concat());
    fs::write(&file, two.concat()).unwrap();
    let out = dir.path().join("out");
    for args in [
        vec![
            "split",
            path(&file),
            "-o",
            path(&out),
            "--caps",
            "--lenient",
        ],
        vec![
            "merge",
            path(&file),
            path(&file),
            "-o",
            path(&out),
            "--lenient",
        ],
    ] {
        let ran = run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        let reason = "event type 53 is declared in two ways";
        assert!(ran.err.contains(reason), "{}", ran.err);
        assert!(!out.exists());
    }
}

#[test]
fn a_log_in_which_one_cannot_go_back_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (out, there) = (dir.path().join("out"), dir.path().join("there"));
    fs::write(&there, "precious").unwrap();
    let good = log("user-only");
    for args in [
        vec!["merge", path(&good), "-", "-o", path(&out)],
        vec!["merge", path(&good), "-", "-o", path(&there)],
        vec!["renumber", "-", "-o", path(&out)],
        vec!["renumber", "-", "-o", path(&there)],
        vec!["split", "-", "-o", path(&out), "--caps"],
        vec![
            "split",
            "/dev/null",
            "-o",
            path(&out),
            "--caps",
            "--lenient",
        ],
    ] {
        let ran = run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        let advice = "'eventlog record SOURCE -o FILE' makes one";
        assert!(ran.err.contains(advice), "{}", ran.err);
        assert!(!out.exists());
        assert_eq!(fs::read(&there).unwrap(), b"precious");
    }
}

#[cfg(unix)]
#[test]
fn what_is_written_to_no_regular_file_is_not_read_back() {
    let (a, b) = (log("user-only"), log("heap-hc-prof"));
    let writes = data("capture-plain.writes");
    for args in [
        vec!["merge", path(&a), path(&a), "-o", "/dev/null"],
        vec!["renumber", path(&b), "-o", "/dev/null"],
        vec!["replay", path(&writes), "-o", "/dev/null"],
    ] {
        let out = ok(run(&args));
        assert!(!out.contains("/dev/null"), "{out}");
        assert!(!out.is_empty());
    }
}

#[test]
fn nothing_is_overwritten_that_is_read_and_faults_of_files_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own.eventlog");
    let bytes = fs::read(log("user-only")).unwrap();
    fs::write(&file, &bytes).unwrap();
    let stem = dir.path().join("own");
    let other = log("user-only");
    let missing = "/nonexistent/log";
    for args in [
        vec!["merge", path(&other), path(&file), "-o", path(&file)],
        vec!["split", path(&file), "-o", path(&stem), "--to", "1"],
        vec!["merge", path(&other), missing, "-o", path(&stem)],
        vec!["merge", path(&other), path(&file), "-o", "/nonexistent/out"],
        vec!["split", missing, "-o", path(&stem), "--caps"],
        vec!["split", path(&file), "-o", "/nonexistent/out", "--caps"],
    ] {
        let ran = run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with("eventlog: "), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1);
    }
    assert!(fs::read(&file).unwrap() == bytes);
    assert!(!stem.exists());
    for args in [
        vec!["split", path(dir.path()), "-o", path(&stem), "--caps"],
        vec!["merge", path(&other), path(dir.path()), "-o", path(&stem)],
    ] {
        let ran = run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.ends_with(": is a directory\n"), "{}", ran.err);
    }
    let args = ["split", path(&file), "-o", path(&stem), "--from", "100"];
    let ran = run(args);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.ends_with(": no events there: nothing written\n"));
}

#[test]
fn a_split_that_ends_before_it_begins_is_told_so_with_both_times() {
    let dir = tempfile::tempdir().unwrap();
    let stem = dir.path().join("piece");
    let file = log("threads-N1");
    for (from, to, told) in [
        ("2", "1", "--from 2.000000000 --to 1.000000000"),
        ("0.5", "0.5", "--from 0.500000000 --to 0.500000000"),
    ] {
        let args = [
            "split",
            path(&file),
            "-o",
            path(&stem),
            "--from",
            from,
            "--to",
            to,
        ];
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        let reason = format!(": the end must be after the begin: {told}\n");
        assert!(ran.err.ends_with(&reason), "{}", ran.err);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
