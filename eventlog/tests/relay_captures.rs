//! The recorded writes of a real run-time system come out as valid logs, in which nothing is lost.

mod relay_support;

use std::collections::BTreeMap;

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoded, Decoder, END_MARKER, Event, Header, Record, events,
};
use ghc_eventlog::relay::{CaptureErrorKind, CaptureReader, Mender, Mends, header_of};
use ghc_eventlog::{EventLog, Sink};
use relay_support::{data, declaring_losses, keep, log_of, writes_of};

fn relayed(name: &str) -> (Vec<u8>, Mends) {
    let bytes = data(&format!("capture-{name}.writes"));
    let mut capture = CaptureReader::new(&bytes[..]);
    let header = header_of(&writes_of(name)[0]).unwrap();
    let (sink, content) = Sink::memory();
    let (log, writer) = EventLog::builder().relayed(sink, &header).unwrap();
    while let Some(write) = capture.next_write().unwrap() {
        writer.write(write).unwrap();
    }
    assert_eq!(capture.offset(), bytes.len() as u64);
    let statistics = log.stop().unwrap();
    let log = content.bytes();
    keep(&format!("relay-{name}.eventlog"), &log);
    assert_eq!(statistics.bytes_written, log.len() as u64);
    assert_eq!(statistics.lost().total(), 0);
    let mends = statistics.relay.unwrap().mends;
    let declared = log.len() - declared_len(&header);
    assert_eq!(mends.bytes_passed + 2, declared as u64);
    let events: usize = read(&log).values().map(Vec::len).sum();
    assert_eq!(statistics.events(), events as u64);
    (log, mends)
}

/// Bytes that a relayed log's header has more than that of the writes.
fn declared_len(header: &Header) -> usize {
    declaring_losses(&header.encode()).len() - header.encoded_len()
}

/// Events by capability, in stream order. Every payload must be readable.
fn read(log: &[u8]) -> BTreeMap<Option<CapNo>, Vec<Vec<u8>>> {
    let mut caps: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut decoder = Decoder::new();
    let mut input = log;
    while let Some(record) = decoder.next(&mut input).unwrap() {
        if let Record::Event(raw) = record {
            raw.decode().unwrap();
            caps.entry(raw.cap).or_default().push(raw.bytes().to_vec());
        }
    }
    decoder.finish().unwrap();
    caps
}

/// The same out of the raw writes, read by the simplest means. `loose` are the capabilities of the
/// writes without a marker, in turn.
fn read_writes(writes: &[Vec<u8>], loose: &[u16]) -> BTreeMap<Option<CapNo>, Vec<Vec<u8>>> {
    let mut caps: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut loose = loose.iter();
    let mut decoder = Decoder::new();
    let header = match decoder.next(&mut &writes[0][..]).unwrap() {
        Some(Record::Header(header)) => header.clone(),
        other => panic!("{other:?}"),
    };
    for write in &writes[1..] {
        if *write == END_MARKER || write.windows(4).any(|tag| tag == b"hdrb") {
            continue;
        }
        let mut rest = &write[..];
        if rest[..2] != [0, 18] {
            let cap = CapNo::new(*loose.next().expect("one more write without a marker"));
            let list: &mut Vec<_> = caps.entry(cap).or_default();
            list.extend(events(rest, &header).map(|raw| raw.unwrap().bytes().to_vec()));
            continue;
        }
        while let Some(first) = rest.first_chunk() {
            let marker = BlockMarker::from_bytes(first);
            let (block, after) = rest.split_at(marker.size as usize);
            let list: &mut Vec<_> = caps.entry(marker.cap).or_default();
            let body = events(&block[BlockMarker::LEN..], &header);
            list.extend(body.map(|raw| raw.unwrap().bytes().to_vec()));
            rest = after;
        }
        assert!(rest.is_empty());
    }
    assert!(loose.next().is_none());
    caps.retain(|_, list| !list.is_empty());
    caps
}

#[test]
fn writes_that_need_no_mending_come_out_byte_by_byte() {
    for name in ["plain", "small"] {
        let (log, mends) = relayed(name);
        let writes = writes_of(name);
        assert!(log == declaring_losses(&writes.concat()), "{name}");
        assert_eq!(mends.mended(), 0);
        assert_eq!(mends.end_markers, 1);
        assert_eq!(mends.writes, writes.len() as u64);
        assert_eq!(mends.writes_set_aside, 0);
        assert_eq!(read(&log), read_writes(&writes, &[]));
    }
}

#[test]
fn a_restart_leaves_one_header_and_one_end_marker() {
    let (log, mends) = relayed("restart");
    assert_eq!(mends.stray_markers, 1);
    assert_eq!(mends.repeated_headers, 1);
    assert_eq!((mends.end_markers, mends.early_end_markers), (2, 1));
    assert_eq!(mends.mended(), 3, "and nothing else was mended");
    assert_eq!((mends.writes, mends.writes_set_aside), (10, 0));
    // Two of the writes hold two blocks each.
    assert_eq!(mends.blocks, 8);
    let writes = writes_of("restart");
    assert_eq!(read(&log), read_writes(&writes, &[]));
    let kept: Vec<Vec<u8>> = writes
        .iter()
        .enumerate()
        .filter(|(at, _)| ![4, 5].contains(at))
        .map(|(_, write)| write.clone())
        .collect();
    assert!(
        log == declaring_losses(&kept.concat()),
        "all else is as it was"
    );
}

#[test]
fn writes_that_lost_their_marker_get_the_right_one() {
    let (log, mends) = relayed("refused");
    assert_eq!((mends.markers_added, mends.mended()), (2, 2));
    assert_eq!(mends.markers_without_cap, 0);
    assert_eq!(mends.writes_set_aside, 0);

    // The program pins four threads that send messages, numbered from 0, to the capabilities in
    // turn: with two of them, even ones run on capability 0 and odd ones on capability 1. The first
    // write without a marker holds messages of the threads 0 and 2 only, the second one of 1 and 3.
    let writes = writes_of("refused");
    let caps = read_writes(&writes, &[0, 1]);
    assert_eq!(read(&log), caps);
    let mut messages = [0, 0];
    let mut decoder = Decoder::new();
    let mut input = &log[..];
    while let Some(record) = decoder.next(&mut input).unwrap() {
        let Record::Event(raw) = record else { continue };
        if let Decoded::Known(Event::UserMessage { text }) = raw.decode().unwrap() {
            let (_, rest) = text.split_once(" t").unwrap();
            let thread: u16 = rest.split_once(" #").unwrap().0.parse().unwrap();
            let cap = raw
                .cap
                .expect("every message belongs to a capability")
                .get();
            assert_eq!(cap, thread % 2, "{text}");
            messages[usize::from(cap)] += 1;
        }
    }
    // Two threads each: 50, then 1700, then 300 messages.
    assert_eq!(messages, [4100, 4100]);
}

#[test]
fn an_added_marker_spans_its_events() {
    let writes = writes_of("refused");
    let mut mender = Mender::new();
    let mut added = Vec::new();
    for write in &writes {
        for piece in mender.take(write).unwrap() {
            if piece.is_mended() {
                let [marker, body] = piece.parts();
                let marker = BlockMarker::from_bytes(marker.first_chunk().unwrap());
                assert_eq!(marker.size as usize, piece.len());
                assert_eq!(
                    body.as_ptr(),
                    write.as_ptr(),
                    "events are borrowed, not copied"
                );
                let times = events(body, mender_header(&writes))
                    .map(|raw| raw.unwrap().time)
                    .collect::<Vec<_>>();
                assert_eq!(Some(&marker.begin), times.iter().min());
                assert_eq!(Some(&marker.end), times.iter().max());
                added.push(marker.cap.map(CapNo::get));
            }
        }
    }
    assert_eq!(added, [Some(0), Some(1)]);
}

fn mender_header(writes: &[Vec<u8>]) -> &'static Header {
    use std::sync::OnceLock;
    static HEADER: OnceLock<Header> = OnceLock::new();
    HEADER.get_or_init(|| {
        let mut mender = Mender::new();
        mender.take(&writes[0]).unwrap();
        mender.header().unwrap().clone()
    })
}

#[test]
fn the_pieces_of_all_writes_are_the_log() {
    for name in ["plain", "small", "restart", "refused"] {
        let (log, mends) = log_of(&writes_of(name));
        let (relayed, relay_mends) = relayed(name);
        assert!(declaring_losses(&log) == relayed, "{name}");
        assert_eq!(mends, relay_mends);
    }
}

#[test]
fn logs_of_whole_files_pass_unchanged_when_written_block_by_block() {
    for name in [
        "binary",
        "heap-hT",
        "heap-hc-prof",
        "multiblock",
        "nonmoving",
        "sparks-N2",
        "threads-N1",
        "threads-N2",
        "user-only",
    ] {
        let log = data(&format!("{name}.eventlog"));
        let (out, mends) = log_of(std::slice::from_ref(&log));
        assert!(out == log, "{name}");
        assert_eq!(mends.mended(), 0);
    }
}

#[test]
fn a_capture_cut_anywhere_gives_the_writes_before_the_cut() {
    let bytes = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x02de";
    let ends = [0, 7, 11, 17];
    for len in 0..=bytes.len() {
        let mut capture = CaptureReader::new(&bytes[..len]);
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        for _ in 0..whole {
            assert!(capture.next_write().unwrap().is_some());
        }
        assert_eq!(capture.offset(), ends[whole] as u64);
        if ends.contains(&len) {
            assert!(capture.next_write().unwrap().is_none());
        } else {
            let error = capture.next_write().unwrap_err();
            assert_eq!(error.offset, ends[whole] as u64);
            let CaptureErrorKind::Truncated { present, .. } = error.kind else {
                panic!("{error}")
            };
            assert_eq!(present, (len - ends[whole]) as u64);
        }
    }
}

#[test]
fn an_absurd_length_is_refused_before_memory_is_taken() {
    let error = CaptureReader::new(&b"\xff\xff\xff\xffabc"[..])
        .next_write()
        .unwrap_err();
    assert!(matches!(
        error.kind,
        CaptureErrorKind::TooLong { len: u32::MAX }
    ));
    let log = Header::standard().encode();
    let error = CaptureReader::new(&log[..]).next_write().unwrap_err();
    assert!(matches!(error.kind, CaptureErrorKind::Log));
}
