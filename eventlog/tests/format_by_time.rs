//! Events in the order of time: all of them, stable, and with memory for the runs in flight.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::rc::Rc;

use ghc_eventlog::format::{
    BlockMarker, ByTimeError, CapNo, DecodeErrorKind, Decoded, Decoder, END_MARKER, Event,
    EventSize, EventType, EventsByTime, Gap, Header, Record,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// An event as far as its place matters.
type Seen = (u64, u64, Option<CapNo>, Vec<u8>);

/// The events of a log as they lie in it, sorted by time, and then by place.
fn sorted(log: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut decoder = Decoder::new();
    let mut rest = log;
    while let Ok(Some(record)) = decoder.next(&mut rest) {
        if let Record::Event(event) = record {
            seen.push((event.time, event.offset, event.cap, event.bytes().to_vec()));
        }
    }
    seen.sort_by_key(|(time, ..)| *time);
    seen
}

fn by_time<R: Read + Seek>(events: &mut EventsByTime<R>) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().unwrap() {
        seen.push((event.time, event.offset, event.cap, event.bytes().to_vec()));
    }
    assert!(events.next().unwrap().is_none());
    seen
}

fn check(log: &[u8]) -> EventsByTime<Cursor<Vec<u8>>> {
    let mut events = EventsByTime::new(Cursor::new(log.to_vec())).unwrap();
    assert!(by_time(&mut events) == sorted(log));
    events
}

/// A block of messages of that length at these times.
fn block(cap: Option<u16>, times: impl IntoIterator<Item = u64>, len: usize) -> Vec<u8> {
    let text = "x".repeat(len);
    let mut body = Vec::new();
    for time in times {
        Event::UserMessage { text: &text }.encode_to_vec(time, &mut body);
    }
    let size = (BlockMarker::LEN + body.len()) as u32;
    let cap = cap.and_then(CapNo::new);
    let (begin, end) = (0, u64::MAX);
    let mut block = BlockMarker {
        begin,
        size,
        end,
        cap,
    }
    .encode()
    .to_vec();
    block.extend(body);
    block
}

fn log(blocks: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut log = Header::standard().encode();
    log.extend(blocks.into_iter().flatten());
    log.extend(END_MARKER);
    log
}

#[test]
fn real_logs_are_put_in_order() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut count = 0;
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "eventlog") {
            let log = std::fs::read(&path).unwrap();
            assert_eq!(check(&log).fault(), None, "{path:?}");
            check_places(&log);
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
}

#[test]
fn memory_is_for_what_overlaps_in_time() {
    const CAPS: u64 = 4;
    let one = block(Some(0), 0..50, 100).len();
    // Each capability's blocks follow each other; those of different ones overlap.
    let blocks = (0..CAPS * 100).map(|n| {
        let start = n / CAPS * 50;
        block(Some((n % CAPS) as u16), start..start + 50, 100)
    });
    let log = log(blocks);
    let events = check(&log);
    let bytes_of_notes = 50 * 16;
    let most = CAPS as usize * 2 * (one + bytes_of_notes);
    assert!((1..=most).contains(&events.most_in_flight()));
    assert!(log.len() > 40 * most);
}

#[test]
fn a_long_block_is_read_in_parts() {
    let log = log([
        block(Some(0), 0..5_000, 1_000),
        block(Some(1), 0..5_000, 1_000),
    ]);
    let most = check(&log).most_in_flight();
    assert!(most < 5 * (65_536 + 1_012 + 66 * 16), "{most}");
    assert!(log.len() > 20 * most);
}

#[test]
fn a_capability_that_writes_late_has_its_turn() {
    let early = block(Some(1), [3, 1], 5);
    let log = log([
        block(Some(0), [2, 9, 4], 5),
        // Dated back to before the block in front of it.
        block(Some(0), [3, 10], 5),
        block(None, [0, 5], 5),
        early,
    ]);
    check(&log);
    let mut events = EventsByTime::new(Cursor::new(log)).unwrap();
    let seen = by_time(&mut events);
    let places: Vec<(u64, Option<u16>)> = seen
        .iter()
        .map(|(time, _, cap, _)| (*time, cap.map(CapNo::get)))
        .collect();
    let (none, zero, one) = (None, Some(0), Some(1));
    assert_eq!(
        places,
        [
            (0, none),
            (1, one),
            (2, zero),
            (3, zero),
            (3, one),
            (4, zero),
            (5, none),
            (9, zero),
            (10, zero),
        ]
    );
}

/// By place, the time at which each event comes in its capability.
fn places(log: &[u8]) -> HashMap<u64, u64> {
    let mut in_log = sorted(log);
    in_log.sort_by_key(|(_, offset, ..)| *offset);
    let mut reached = HashMap::new();
    let mut places = HashMap::new();
    for (time, offset, cap, _) in in_log {
        let reached: &mut u64 = reached.entry(cap).or_default();
        *reached = match time + 1_000_000_000 < *reached {
            true => time,
            false => time.max(*reached),
        };
        places.insert(offset, *reached);
    }
    places
}

fn check_places(log: &[u8]) {
    let wanted = places(log);
    let mut events = EventsByTime::new(Cursor::new(log)).unwrap();
    let mut seen = HashMap::new();
    while let Some((event, place)) = events.next_placed().unwrap() {
        seen.insert(event.offset, place);
    }
    assert_eq!(seen, wanted);
}

#[test]
fn what_is_dated_back_is_told_to_come_later() {
    const SECOND: u64 = 1_000_000_000;
    let log = log([
        block(Some(0), [SECOND, 7, SECOND + 5, 5], 5),
        // Another capability's times are nothing to it; in another block of the same one they are.
        block(Some(1), [9, 8], 5),
        block(Some(0), [3, SECOND + 9, 20], 5),
        block(Some(1), [8], 5),
    ]);
    check_places(&log);
    let mut events = EventsByTime::new(Cursor::new(log)).unwrap();
    let mut seen = Vec::new();
    while let Some((event, place)) = events.next_placed().unwrap() {
        seen.push((event.time, place));
    }
    let later = [
        // By more than a second: the clock was set.
        (3, 3),
        (5, SECOND + 5),
        (7, SECOND),
        (8, 9),
        (8, 9),
        (9, 9),
        (20, SECOND + 9),
        (SECOND, SECOND),
        (SECOND + 5, SECOND + 5),
        (SECOND + 9, SECOND + 9),
    ];
    assert_eq!(seen, later);
}

#[test]
fn the_times_of_a_log_are_nothing_to_the_log_behind_it() {
    let first = log([block(Some(0), [100], 5)]);
    let second = log([block(Some(0), [3, 2], 5)]);
    let both = Cursor::new([first, second].concat());
    let mut events = EventsByTime::lenient(both, |_| ()).unwrap();
    let mut seen = Vec::new();
    while let Some((event, place)) = events.next_placed().unwrap() {
        seen.push((event.time, place));
    }
    assert_eq!(seen, [(2, 3), (3, 3), (100, 100)]);
}

proptest! {
    #[test]
    fn any_blocks_are_put_in_order(
        blocks in vec((prop::option::of(0..3u16), vec(0..20u64, 0..12), any::<bool>()), 0..12),
    ) {
        let blocks = blocks.into_iter().map(|(cap, times, outside)| {
            let mut block = block(cap, times.iter().copied(), 3);
            // Without its marker, a block is events that belong to none.
            if outside {
                block.drain(..BlockMarker::LEN);
            }
            block
        });
        let log = log(blocks);
        check(&log);
        check_places(&log);
    }
}

#[test]
fn more_than_may_be_in_flight_is_an_error_that_stays() {
    let blocks = (0..10).map(|cap| block(Some(cap), [1, 100], 1_000));
    let each = 2 * (1_012 + 16);
    let log = log(blocks);
    let open = |limit| {
        EventsByTime::new(Cursor::new(log.clone()))
            .unwrap()
            .limit(limit)
    };
    assert_eq!(by_time(&mut open(10 * each)).len(), 20);
    let mut events = open(10 * each - 1);
    for _ in 0..2 {
        let Err(ByTimeError::Limit { needed, limit }) = events.next() else {
            panic!()
        };
        assert_eq!((needed, limit), (10 * each, 10 * each - 1));
    }
}

#[test]
fn of_a_bad_log_there_is_what_is_before_the_fault() {
    let whole = log([block(Some(0), [5, 1], 3), block(Some(1), [4, 2], 3)]);
    let cut = &whole[..whole.len() - 7];
    let events = check(cut);
    let kind = events.fault().unwrap().kind;
    // The end marker, and five bytes of the last event.
    assert_eq!(kind, DecodeErrorKind::Truncated { partial: 10 });
    let mut bad = whole.clone();
    let second = Header::standard().encoded_len() + 24 + 2 * 15;
    bad[second..second + 2].copy_from_slice(&[0, 5]);
    let events = check(&bad);
    let fault = events.fault().unwrap();
    assert_eq!(fault.offset, second as u64);
    assert_eq!(fault.kind, DecodeErrorKind::UndeclaredEvent { id: 5 });
    for (bytes, offset) in [(&whole[..100], 0), (b"", 0), (b"hdrbwhat", 4)] {
        let Err(ByTimeError::Decode(error)) = EventsByTime::new(Cursor::new(bytes)) else {
            panic!()
        };
        assert_eq!(error.offset, offset);
    }
}

/// What a lenient decoder gives of a log: its events, sorted by time, and then by place, and what it leaves out.
fn sorted_leniently(log: &[u8]) -> (Vec<Seen>, Vec<Gap>) {
    let (mut seen, mut gaps) = (Vec::new(), Vec::new());
    let mut decoder = Decoder::lenient();
    let mut rest = log;
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        match record {
            Record::Event(event) => {
                seen.push((event.time, event.offset, event.cap, event.bytes().to_vec()));
            }
            Record::Skipped(gap) => gaps.push(gap),
            _ => {}
        }
    }
    seen.sort_by_key(|(time, ..)| *time);
    (seen, gaps)
}

#[test]
fn a_log_that_is_damaged_anywhere_is_put_in_order_around_the_damage() {
    let whole = log([
        block(Some(0), [5, 2, 9], 7),
        block(Some(1), [4, 1], 200),
        block(None, [3, 8], 5),
    ]);
    let start = Header::standard().encoded_len();
    let mut left_out = 0;
    for at in start..whole.len() {
        for value in [0, 5, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            damaged.extend(&whole);
            let mut gaps = Vec::new();
            let input = Cursor::new(damaged.clone());
            let mut events = EventsByTime::lenient(input, |gap| gaps.push(*gap)).unwrap();
            let (seen, expected) = sorted_leniently(&damaged);
            assert!(by_time(&mut events) == seen, "{value} at {at}");
            assert_eq!(gaps, expected, "{value} at {at}");
            assert!(seen.len() >= 7, "the log behind the damage is there");
            left_out += usize::from(seen.len() < 14);
        }
    }
    assert!(left_out > 100, "{left_out}");
}

#[test]
fn each_event_is_read_by_the_header_of_its_own_log() {
    let declaring = |bytes| {
        let mine = EventType::new(1000, EventSize::Fixed(bytes), "Mine");
        Header::new([mine, EventType::new(18, EventSize::Fixed(24 - 10), "Block")]).unwrap()
    };
    let mut bytes = Vec::new();
    for (payload, time) in [(4_u16, 9_u64), (1, 3), (4, 6)] {
        bytes.extend(declaring(payload).encode());
        bytes.extend(1000_u16.to_be_bytes());
        bytes.extend(time.to_be_bytes());
        bytes.extend(vec![7; usize::from(payload)]);
        bytes.extend(END_MARKER);
    }
    let mut events = EventsByTime::lenient(Cursor::new(bytes), |_| ()).unwrap();
    assert_eq!(events.headers(), [declaring(4), declaring(1)]);
    let mut seen = Vec::new();
    while let Some(event) = events.next().unwrap() {
        seen.push((event.time, event.payload.len()));
    }
    assert_eq!(seen, [(3, 1), (6, 4), (9, 4)]);
}

#[test]
fn headers_without_end_are_refused() {
    let logs = |count: u16| {
        let log = |id| {
            let mine = EventType::new(2000 + id, EventSize::Fixed(1), "Mine");
            [Header::new([mine]).unwrap().encode(), END_MARKER.to_vec()].concat()
        };
        Cursor::new((0..count).flat_map(log).collect::<Vec<_>>())
    };
    let events = EventsByTime::lenient(logs(64), |_| ()).unwrap();
    assert_eq!(events.headers().len(), 64);
    let error = EventsByTime::lenient(logs(65), |_| ()).unwrap_err();
    assert!(matches!(error, ByTimeError::Headers { limit: 64 }));
    let text = "there are logs behind each other with more than 64 headers that differ";
    assert_eq!(error.to_string(), text);
}

#[test]
fn an_input_in_which_one_cannot_go_back_is_refused_before_it_is_read() {
    #[derive(Debug)]
    struct Pipe;

    impl Read for Pipe {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("what is read from a pipe is gone")
        }
    }

    impl Seek for Pipe {
        fn seek(&mut self, _: SeekFrom) -> std::io::Result<u64> {
            Err(ErrorKind::NotSeekable.into())
        }
    }

    let error = EventsByTime::new(Pipe).unwrap_err();
    assert!(matches!(&error, ByTimeError::Io(error) if error.kind() == ErrorKind::NotSeekable));
    let advice = "an input in which one can go back, as in a file; write it to one first: ";
    assert!(error.to_string().contains(advice), "{error}");
}

#[test]
fn a_log_may_lie_anywhere_in_its_input() {
    let log = log([block(Some(0), [2, 1], 3)]);
    let mut input = Cursor::new([&b"before it"[..], &log].concat());
    input.set_position(9);
    let mut events = EventsByTime::new(input).unwrap();
    assert_eq!(events.header(), Header::standard());
    assert_eq!(events.next_time().unwrap(), Some(1));
    let event = events.next().unwrap().unwrap();
    let message = Event::UserMessage { text: "xxx" };
    assert_eq!(event.decode(), Ok(Decoded::Known(message)));
    assert_eq!(events.next_time().unwrap(), Some(2));
}

/// A log that others may write to.
#[derive(Clone)]
struct Shared(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

/// Changes a log whose first event is at that place.
type Change = fn(&mut Vec<u8>, usize);

#[test]
fn a_log_that_changes_meanwhile_is_an_error() {
    let whole = log([block(Some(0), [2, 1], 3)]);
    let first = Header::standard().encoded_len() + 24;
    let changes: [(Change, ErrorKind); 4] = [
        (|log, at| log[at + 1] = 5, ErrorKind::InvalidData),
        (|log, at| log[at + 9] = 0, ErrorKind::InvalidData),
        (|log, at| log[at + 10] = 0xff, ErrorKind::InvalidData),
        (|log, at| log.truncate(at + 5), ErrorKind::UnexpectedEof),
    ];
    for (change, kind) in changes {
        let shared = Shared(Rc::new(RefCell::new(Cursor::new(whole.clone()))));
        let mut events = EventsByTime::new(shared.clone()).unwrap();
        change(shared.0.borrow_mut().get_mut(), first);
        let Err(ByTimeError::Io(error)) = events.next() else {
            panic!()
        };
        assert_eq!(error.kind(), kind);
    }
}
