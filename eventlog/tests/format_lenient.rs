//! A lenient decoder goes on after what is broken, loses no more than that, and tells of it.

use std::path::PathBuf;

use ghc_eventlog::format::{
    BLOCK_MARKER, BlockMarker, CapNo, DecodeError, DecodeErrorKind, Decoder, END_MARKER, Event,
    Gap, Header, Record,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// What a record is, without what it borrows.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Header(usize),
    Block(u64, Option<CapNo>),
    Event(u64, Option<CapNo>, Vec<u8>),
    End,
    Skipped(Gap),
}

/// Reads in pieces of that size. Checks that every byte is in one record.
fn read_in(log: &[u8], size: usize) -> (Vec<Seen>, Result<(), DecodeError>) {
    let mut decoder = Decoder::lenient();
    let mut seen = Vec::new();
    let (mut at, mut marker_len, mut skipped) = (0, 0, 0);
    for mut piece in log.chunks(size) {
        while let Some(record) = decoder.next(&mut piece).unwrap() {
            seen.push(match record {
                Record::Header(header) => {
                    at += header.encoded_len() as u64;
                    let marker = header.size(BLOCK_MARKER);
                    marker_len = marker.map_or(0, |size| u64::from(size.field()) + 10);
                    Seen::Header(header.event_types().len())
                }
                Record::BlockBegin { offset, marker } => {
                    assert_eq!(offset, at);
                    at += marker_len;
                    Seen::Block(offset, marker.cap)
                }
                Record::Event(event) => {
                    assert_eq!(event.offset, at);
                    at += event.bytes().len() as u64;
                    assert_eq!(event.bytes(), &log[event.offset as usize..at as usize]);
                    Seen::Event(event.offset, event.cap, event.bytes().to_vec())
                }
                Record::End => {
                    at += 2;
                    Seen::End
                }
                Record::Skipped(gap) => {
                    assert_eq!(gap.offset, at);
                    at += gap.len;
                    skipped += gap.len;
                    Seen::Skipped(gap)
                }
                record => panic!("{record:?}"),
            });
        }
        assert!(piece.is_empty());
    }
    let end = decoder.finish();
    match end {
        Ok(()) => assert_eq!((at, decoder.skipped()), (log.len() as u64, skipped)),
        Err(error) => {
            assert_eq!(error.offset, at);
            let left = log.len() as u64 - at;
            match error.kind {
                DecodeErrorKind::Truncated { partial } => assert_eq!(partial, left),
                _ => assert_eq!(decoder.skipped(), skipped + left),
            }
        }
    }
    (seen, end)
}

fn read(log: &[u8]) -> (Vec<Seen>, Result<(), DecodeError>) {
    let whole = read_in(log, log.len().max(1));
    for size in [1, 23, 24, 25, 1_000] {
        assert_eq!(read_in(log, size), whole, "in pieces of {size}");
    }
    whole
}

fn gaps(seen: &[Seen]) -> Vec<Gap> {
    let gaps = seen.iter().filter_map(|seen| match seen {
        Seen::Skipped(gap) => Some(*gap),
        _ => None,
    });
    gaps.collect()
}

/// Texts of the messages, with the capability.
fn messages(seen: &[Seen]) -> Vec<(Option<u16>, String)> {
    let messages = seen.iter().filter_map(|seen| match seen {
        Seen::Event(_, cap, bytes) => {
            let text = String::from_utf8(bytes[12..].to_vec()).unwrap();
            Some((cap.map(CapNo::get), text))
        }
        _ => None,
    });
    messages.collect()
}

/// A block of messages.
fn block(cap: u16, texts: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for text in texts {
        Event::UserMessage { text }.encode_to_vec(7, &mut body);
    }
    let marker = BlockMarker {
        begin: 6,
        size: (BlockMarker::LEN + body.len()) as u32,
        end: 8,
        cap: CapNo::new(cap),
    };
    [&marker.encode()[..], &body].concat()
}

fn log(parts: &[&[u8]]) -> Vec<u8> {
    let header = Header::standard().encode();
    [&header[..], &parts.concat(), &END_MARKER].concat()
}

fn data() -> usize {
    Header::standard().encoded_len()
}

/// Messages, gaps and how the log ended.
type Told = (
    Vec<(Option<u16>, String)>,
    Vec<Gap>,
    Result<(), DecodeError>,
);

fn seen_messages(log: &[u8]) -> Told {
    let (seen, end) = read(log);
    (messages(&seen), gaps(&seen), end)
}

fn told(cap: u16, text: &str) -> (Option<u16>, String) {
    (Some(cap), text.to_owned())
}

#[test]
fn a_sound_log_is_read_as_by_a_strict_decoder() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["user-only", "threads-N2", "heap-hT", "nonmoving"] {
        let log = std::fs::read(data.join(format!("{name}.eventlog"))).unwrap();
        let (seen, end) = read_in(&log, 777);
        assert_eq!((gaps(&seen), end), (vec![], Ok(())), "{name}");
        let mut strict = Decoder::new();
        let mut rest = &log[..];
        let mut count = 0;
        while strict.next(&mut rest).unwrap().is_some() {
            count += 1;
        }
        assert_eq!(seen.len(), count);
    }
}

#[test]
fn what_is_broken_in_a_block_costs_the_rest_of_that_block() {
    let mut second = block(1, &["one", "two", "three"]);
    let at = 24 + 15;
    second[at..at + 2].copy_from_slice(&[0, 5]);
    let first = block(0, &["a"]);
    let log = log(&[&first, &second, &block(2, &["z"])]);
    let (messages, gaps, end) = seen_messages(&log);
    assert_eq!(messages, [told(0, "a"), told(1, "one"), told(2, "z")]);
    let gap = Gap {
        offset: (data() + first.len() + at) as u64,
        len: (second.len() - at) as u64,
        reason: DecodeErrorKind::UndeclaredEvent { id: 5 },
    };
    assert_eq!((gaps, end), (vec![gap], Ok(())));
}

#[test]
fn a_broken_block_at_the_end_does_not_cost_the_end() {
    let mut last = block(1, &["one", "two"]);
    let at = 24 + 15;
    last[at..at + 2].copy_from_slice(&[0, 5]);
    let whole = log(&[&last]);
    let (messages, gaps, end) = seen_messages(&whole);
    assert_eq!(messages, [told(1, "one")]);
    assert_eq!((gaps.len(), end), (1, Ok(())));
    // With nothing behind it, the reason is told.
    let (_, gaps, end) = seen_messages(&whole[..whole.len() - 2]);
    let kind = DecodeErrorKind::UndeclaredEvent { id: 5 };
    let offset = (data() + at) as u64;
    assert_eq!((gaps, end), (vec![], Err(DecodeError { offset, kind })));
}

#[test]
fn a_block_that_is_cut_short_does_not_cost_the_next_one() {
    let first = block(0, &["one", "two"]);
    // The cut is after a whole event, within one, and after the marker.
    for (cut, seen, skipped) in [(24 + 15, 1, 0), (24 + 15 + 9, 1, 9), (24, 0, 0)] {
        let log = log(&[&first[..cut], &block(1, &["z"]), &block(2, &["y"])]);
        let (messages, gaps, end) = seen_messages(&log);
        let mut want = vec![told(0, "one"); seen];
        want.extend([told(1, "z"), told(2, "y")]);
        assert_eq!((messages, end), (want, Ok(())), "{cut}");
        let lens: Vec<u64> = gaps.iter().map(|gap| gap.len).collect();
        assert_eq!(lens, [skipped], "{cut}");
    }
}

#[test]
fn a_second_log_is_read_after_the_first() {
    let first = log(&[&block(0, &["a"])]);
    let second = log(&[&block(1, &["b"])]);
    let reason = DecodeErrorKind::AfterEnd;
    for between in [&b""[..], b"junk"] {
        let both = [&first[..], between, &second].concat();
        let (messages, gaps, end) = seen_messages(&both);
        assert_eq!(messages, [told(0, "a"), told(1, "b")]);
        let gap = Gap {
            offset: first.len() as u64,
            len: between.len() as u64,
            reason,
        };
        assert_eq!((gaps, end), (vec![gap], Ok(())));
    }
    // One that breaks off, and one whose header is broken.
    let cut = &first[..first.len() - 5];
    let (messages, ..) = seen_messages(&[cut, &second].concat());
    assert_eq!(messages, [told(1, "b")]);
    let mut broken = first.clone();
    broken[8] = b'x';
    let (messages, gaps, end) = seen_messages(&[&broken[..], &second].concat());
    assert_eq!(messages, [told(1, "b")]);
    let reason = DecodeErrorKind::Tag {
        expected: *b"etb\0",
        found: *b"xtb\0",
    };
    let (offset, len) = (0, first.len() as u64);
    let gap = Gap {
        offset,
        len,
        reason,
    };
    assert_eq!((gaps, end), (vec![gap], Ok(())));
}

#[test]
fn what_is_no_log_is_skipped_to_its_end() {
    let text = b"no log, but text that is longer than any tag or marker";
    let (seen, end) = read(text);
    assert_eq!(seen, []);
    let kind = DecodeErrorKind::Tag {
        expected: *b"hdrb",
        found: *b"no l",
    };
    assert_eq!(end, Err(DecodeError { offset: 0, kind }));
    let ended = log(&[&block(0, &["a"])]);
    let (messages, gaps, end) = seen_messages(&[&ended[..], text].concat());
    assert_eq!((messages, gaps), (vec![told(0, "a")], vec![]));
    let offset = ended.len() as u64;
    let kind = DecodeErrorKind::AfterEnd;
    assert_eq!(end, Err(DecodeError { offset, kind }));
}

#[test]
fn a_marker_that_cannot_be_one_is_passed_over() {
    let sound = block(1, &["z"]);
    let time = |at: usize, value: u64| {
        let mut bytes = block(0, &[]);
        bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
        bytes
    };
    let size = |value: u32| {
        let mut bytes = block(0, &[]);
        bytes[10..14].copy_from_slice(&value.to_be_bytes());
        bytes
    };
    // It ends before it begins, or ages later; is too short or too long.
    for wrong in [
        time(2, 9),
        time(14, 1 << 60),
        size(23),
        size((256 << 20) + 1),
    ] {
        let log = log(&[&[0, 5, 0], &wrong, &sound]);
        let (messages, gaps, end) = seen_messages(&log);
        assert_eq!((messages, end), (vec![told(1, "z")], Ok(())));
        assert_eq!(gaps[0].len, 3 + 24);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// `read` checks that each byte is in a record, and that pieces change nothing.
    #[test]
    fn whatever_is_broken_every_byte_is_accounted_for(
        changes in vec((any::<Index>(), any::<u8>()), 0..6),
        cuts in vec((any::<Index>(), 0..60usize), 0..3),
    ) {
        let texts = ["one", "two", "a longer message than these"];
        let blocks: Vec<Vec<u8>> = (0..5).map(|cap| block(cap, &texts)).collect();
        let mut body: Vec<u8> = blocks.concat();
        body.extend(END_MARKER);
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        for (at, len) in cuts {
            let at = at.index(body.len());
            body.drain(at..(at + len).min(body.len()));
        }
        let mut log = Header::standard().encode();
        log.extend(body);
        let (seen, _) = read(&log);
        prop_assert!(matches!(seen[0], Seen::Header(_)));
    }
}
