//! The order of a capability's events: a log that is made of others keeps it, also where events are dated back.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoder, END_MARKER, Event, Header, RawEvent, Record,
};
use support::{LOGS, log, run};

/// The events of each capability, in the order of the log.
type Order = BTreeMap<Option<u16>, Vec<Vec<u8>>>;

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Gives each event, in the order of the log.
fn each(file: &Path, mut visit: impl FnMut(&RawEvent<'_>)) {
    let log = fs::read(file).unwrap();
    let mut decoder = Decoder::new();
    let mut rest = &log[..];
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        if let Record::Event(event) = record {
            visit(&event);
        }
    }
    decoder.finish().unwrap();
}

fn order(file: &Path) -> Order {
    let mut order = Order::new();
    each(file, |event| {
        let of_cap = order.entry(event.cap.map(CapNo::get)).or_default();
        of_cap.push(event.bytes().to_vec());
    });
    order
}

fn sorted(mut order: Order) -> Order {
    for of_cap in order.values_mut() {
        of_cap.sort();
    }
    order
}

fn ok(args: &[&str]) -> String {
    let ran = run(args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    ran.out
}

/// Bytes of the pieces that a log is split into, by their paths.
fn split(dir: &Path, file: &Path, how: &[&str]) -> BTreeMap<PathBuf, u64> {
    let stem = dir.join("piece");
    let out = ok(&[&["split", path(file), "-o", path(&stem)], how].concat());
    let pieces = out.lines().map(|line| {
        let piece = PathBuf::from(line.split(": ").next().unwrap());
        let size = fs::metadata(&piece).unwrap().len();
        (piece, size)
    });
    pieces.collect()
}

/// The time that a reader which counts microseconds, and leaves those of one as they lie, finds spent in the collections of
/// that log: of each, what the capability that tells its statistics took, if it tells them before it ends.
fn collected(file: &Path) -> u64 {
    const GC_START: u16 = 9;
    const GC_END: u16 = 10;
    const GC_GLOBAL_SYNC: u16 = 54;
    let mut all = Vec::new();
    each(file, |event| {
        all.push((event.time / 1_000, event.id, event.cap))
    });
    all.sort_by_key(|(time, ..)| *time);
    let (mut starts, mut main, mut sum) = (BTreeMap::new(), None, 0);
    for (time, id, cap) in all {
        match id {
            GC_START => drop(starts.insert(cap, time)),
            GC_GLOBAL_SYNC => main = starts.get(&cap).map(|_| cap),
            GC_END => {
                let start = starts.remove(&cap);
                if main == Some(cap) {
                    sum += time - start.unwrap();
                    main = None;
                }
            }
            _ => {}
        }
    }
    sum
}

#[test]
fn collections_are_found_in_a_merged_log_as_in_the_log_itself() {
    let dir = tempfile::tempdir().unwrap();
    let merged = dir.path().join("merged");
    for name in ["threads-N2", "heap-hT", "multiblock"] {
        let log = log(name);
        ok(&["merge", path(&log), path(&log), "-o", path(&merged)]);
        assert!(collected(&log) > 0, "{name}");
        assert_eq!(collected(&merged), collected(&log), "{name}");
    }
}

#[test]
fn real_logs_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let merged = dir.path().join("merged");
    for name in LOGS {
        let log = log(name);
        let whole = order(&log);
        ok(&["merge", path(&log), path(&log), "-o", path(&merged)]);
        assert!(order(&merged) == whole, "{name} merged");
        let pieces = split(dir.path(), &log, &["--from", "0"]);
        let piece = pieces.keys().next().unwrap();
        assert!(order(piece) == whole, "{name} split");
        for (cap, of_cap) in split_by_cap(dir.path(), &log) {
            assert!(of_cap == whole[&cap], "{name}, capability {cap:?}");
        }
    }
}

/// The events of each capability, from the piece that is its own.
fn split_by_cap(dir: &Path, file: &Path) -> Order {
    let pieces = split(dir, file, &["--caps"]);
    let own = pieces.keys().map(|piece| {
        let name = piece.file_stem().unwrap().to_str().unwrap();
        let cap = name
            .strip_prefix("piece-cap")
            .map(|cap| cap.parse().unwrap());
        (cap, order(piece).remove(&cap).unwrap())
    });
    own.collect()
}

#[test]
fn logs_of_several_processes_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let merged = dir.path().join("merged");
    let logs = ["threads-N2", "heap-hT"].map(log);
    let both = [path(&logs[0]), path(&logs[1])];
    ok(&[
        "merge",
        "--processes",
        both[0],
        both[1],
        "-o",
        path(&merged),
    ]);
    // Times and numbers are not what they were, but the types of the events are.
    let types = |of_cap: &[Vec<u8>]| -> Vec<[u8; 2]> {
        of_cap.iter().map(|event| [event[0], event[1]]).collect()
    };
    let merged = order(&merged);
    let (first, second) = (order(&logs[0]), order(&logs[1]));
    for (cap, of_cap) in first.iter().filter(|(cap, _)| cap.is_some()) {
        assert!(types(&merged[cap]) == types(of_cap), "{cap:?}");
    }
    assert!(types(&merged[&Some(2)]) == types(&second[&Some(0)]));
}

/// A log of two capabilities, whose messages are of up to `len` bytes, one in four of which is dated back.
fn dated_back(dir: &Path, count: usize, len: u64) -> PathBuf {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut bytes = Header::standard().encode();
    for cap in 0..2 {
        let mut body = Vec::new();
        let mut now = 1_000;
        for at in 0..count {
            // Often at one time with the one before.
            now += random(3);
            let back = if random(4) == 0 { random(200) } else { 0 };
            let text = format!("{at}{}", "x".repeat(random(len) as usize));
            Event::UserMessage { text: &text }.encode_to_vec(now - back, &mut body);
        }
        let marker = BlockMarker {
            begin: 0,
            size: (BlockMarker::LEN + body.len()) as u32,
            end: now,
            cap: CapNo::new(cap),
        };
        bytes.extend(marker.encode());
        bytes.extend(body);
    }
    bytes.extend(END_MARKER);
    let file = dir.join("dated-back");
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn what_is_dated_back_stays_where_it_was_across_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let merged = dir.path().join("merged");
    for len in [8, 2_000] {
        let log = dated_back(dir.path(), 2_000, len);
        let whole = order(&log);
        ok(&["merge", path(&log), path(&log), "-o", path(&merged)]);
        assert!(order(&merged) == whole, "{len}");
        let pieces = split(dir.path(), &log, &["--size", "70K"]);
        let mut all = Order::new();
        for (piece, size) in pieces {
            assert!(size <= 70 << 10, "{piece:?}: {size}");
            for (cap, of_cap) in order(&piece) {
                all.entry(cap).or_default().extend(of_cap);
            }
        }
        // Between pieces it is the time that counts.
        assert!(sorted(all) == sorted(whole), "{len}");
    }
}

#[test]
fn the_size_of_a_piece_is_told_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let log = dated_back(dir.path(), 2_000, 300);
    // A log that is written anew ends as long as was foretold, or a piece would be longer than it may be.
    let whole = split(dir.path(), &log, &["--from", "0"]);
    let (_, size) = whole.iter().next().unwrap();
    let told = (size + 1).to_string();
    let once = split(dir.path(), &log, &["--size", &told]);
    assert_eq!(once.into_values().collect::<Vec<_>>(), [*size]);
}

#[test]
fn a_clock_that_goes_wrong_loses_nothing_and_takes_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let text = "x".repeat(1_000);
    let mut body = Vec::new();
    Event::GcStart.encode_to_vec(900_000_000, &mut body);
    // More than is held back.
    for time in 0..3_000 {
        Event::UserMessage { text: &text }.encode_to_vec(time, &mut body);
    }
    let log = dir.path().join("wrong");
    let bytes = [&Header::standard().encode(), &body[..], &END_MARKER].concat();
    fs::write(&log, bytes).unwrap();
    let merged = dir.path().join("merged");
    ok(&["merge", path(&log), path(&log), "-o", path(&merged)]);
    assert!(sorted(order(&merged)) == sorted(order(&log)));
    // What comes first is not the one with the time that is too late.
    assert!(order(&merged)[&None][0] != order(&log)[&None][0]);
}
