//! Every way in which a log can be broken is told with the byte at which it is.

use ghc_eventlog::format::{
    BlockMarker, CapNo, DecodeError, DecodeErrorKind, Decoded, Decoder, END_MARKER, Event,
    EventErrorKind, EventSize, EventType, Header, HeaderError, MAX_HEADER_LEN, Record, ThreadId,
    ZStr, events,
};

/// The length of the standard header, at which the data starts.
fn data() -> u64 {
    Header::standard().encoded_len() as u64
}

/// A log with the standard header and these bytes of data.
fn log(parts: &[&[u8]]) -> Vec<u8> {
    let mut log = Header::standard().encode();
    parts.iter().for_each(|part| log.extend(*part));
    log
}

fn marker(size: u32) -> [u8; 24] {
    BlockMarker {
        begin: 0,
        size,
        end: 0,
        cap: CapNo::new(0),
    }
    .encode()
}

fn event(event: Event<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    event.encode_to_vec(1, &mut bytes);
    bytes
}

/// An event with a payload that is not one of ours.
fn raw(id: u16, variable: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend(1u64.to_be_bytes());
    if variable {
        bytes.extend((payload.len() as u16).to_be_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// Number of records, and how the log ended, whole or byte by byte.
fn read(log: &[u8]) -> (usize, Result<(), DecodeError>) {
    let in_pieces = |size: usize| {
        let mut decoder = Decoder::new();
        let mut records = 0;
        for mut piece in log.chunks(size) {
            loop {
                match decoder.next(&mut piece) {
                    Ok(Some(_)) => records += 1,
                    Ok(None) => break,
                    Err(error) => {
                        assert_eq!(decoder.next(&mut piece), Err(error), "an error stays");
                        assert_eq!(decoder.finish(), Err(error), "an error stays");
                        return (records, Err(error));
                    }
                }
            }
        }
        (records, decoder.finish())
    };
    let whole = in_pieces(log.len().max(1));
    assert_eq!(in_pieces(1), whole);
    whole
}

fn broken(log: &[u8]) -> (usize, u64, DecodeErrorKind) {
    let (records, end) = read(log);
    let DecodeError { offset, kind } = end.unwrap_err();
    (records, offset, kind)
}

/// A header whose only type has these fields, in a log that ends with it.
fn header(id: u16, size: u16, description: &[u8], end: [u8; 4]) -> Vec<u8> {
    let mut log = b"hdrbhetbetb\0".to_vec();
    log.extend(id.to_be_bytes());
    log.extend(size.to_be_bytes());
    log.extend((description.len() as u32).to_be_bytes());
    log.extend(description);
    log.extend(0u32.to_be_bytes());
    log.extend(end);
    log.extend(b"hetehdredatb");
    log
}

#[test]
fn each_tag_of_the_header_is_checked() {
    let good = header(1, 4, b"Run", *b"ete\0");
    assert_eq!(
        broken(&good),
        (
            1,
            good.len() as u64,
            DecodeErrorKind::Truncated { partial: 0 }
        )
    );
    let tags: [(usize, &[u8; 4]); 7] = [
        (0, b"hdrb"),
        (4, b"hetb"),
        (8, b"etb\0"),
        (27, b"ete\0"),
        (31, b"etb\0"),
        (35, b"hdre"),
        (39, b"datb"),
    ];
    for (at, tag) in tags {
        let mut log = good.clone();
        log[at..at + 4].copy_from_slice(b"wha?");
        let kind = DecodeErrorKind::Tag {
            expected: *tag,
            found: *b"wha?",
        };
        assert_eq!(broken(&log), (0, at as u64, kind));
    }
}

#[test]
fn no_more_than_the_first_tag_is_needed_to_tell_what_is_no_log() {
    // In the second half of eight bytes is nothing that is looked at.
    for log in [&b"what"[..], b"hdrx", b"hello\n", b"noise, a"] {
        let found = *log.first_chunk().unwrap();
        let expected = *b"hdrb";
        let mut decoder = Decoder::new();
        let kind = DecodeErrorKind::Tag { expected, found };
        let error = DecodeError { offset: 0, kind };
        assert_eq!(decoder.next(&mut &log[..4]), Err(error));
        assert_eq!(broken(log), (0, 0, kind));
    }
    for log in [&b"w"[..], b"hi", b"hdx"] {
        let mut found = [0; 3];
        found[..log.len()].copy_from_slice(log);
        let len = log.len();
        let kind = DecodeErrorKind::Beginning { found, len };
        assert_eq!(broken(log), (0, 0, kind));
        let text = format!(
            "expected the tag \"hdrb\", found \"{}\"",
            log.escape_ascii()
        );
        assert_eq!(kind.to_string(), text);
        let mut lenient = Decoder::lenient();
        assert_eq!(lenient.next(&mut &log[..]), Ok(None));
        assert_eq!(lenient.finish(), Err(DecodeError { offset: 0, kind }));
    }
    for log in [&b"h"[..], b"hdr", b"hdrb", b"hdrbhe"] {
        let partial = log.len() as u64;
        assert_eq!(broken(log), (0, 0, DecodeErrorKind::Truncated { partial }));
    }
}

#[test]
fn a_header_declares_no_end_marker() {
    let kind = DecodeErrorKind::Header(HeaderError::EndMarkerId);
    assert_eq!(broken(&header(0xffff, 0, b"", *b"ete\0")), (0, 12, kind));
}

#[test]
fn a_header_declares_block_markers_with_all_their_fields() {
    for (field, size) in [(13, EventSize::Fixed(13)), (0xffff, EventSize::Variable)] {
        let error = HeaderError::BlockMarkerSize { size, least: 14 };
        let kind = DecodeErrorKind::Header(error);
        assert_eq!(broken(&header(18, field, b"", *b"ete\0")), (0, 12, kind));
    }
    assert_eq!(read(&header(18, 15, b"", *b"ete\0")).0, 1);
}

#[test]
fn a_header_over_the_limit_is_refused_before_it_is_read() {
    let mut log = header(1, 4, b"", *b"ete\0");
    log[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
    let limit = MAX_HEADER_LEN as u64;
    let bytes = 20 + u64::from(u32::MAX) + 4;
    let kind = DecodeErrorKind::Header(HeaderError::TooLong { bytes, limit });
    assert_eq!(broken(&log), (0, 20, kind));

    let long = |len| EventType::new(1, EventSize::Fixed(4), "x".repeat(len));
    let most = MAX_HEADER_LEN - 40;
    let longest = Header::new([long(most)]).unwrap();
    assert_eq!(longest.encoded_len(), MAX_HEADER_LEN);
    let mut decoder = Decoder::new();
    let bytes = longest.encode();
    assert_eq!(
        decoder.next(&mut &bytes[..]),
        Ok(Some(Record::Header(&longest)))
    );
    let bytes = limit + 1;
    assert_eq!(
        Header::new([long(most + 1)]),
        Err(HeaderError::TooLong { bytes, limit })
    );
}

#[test]
fn an_undeclared_event_is_refused() {
    let log = log(&[&event(Event::GcStart), &raw(5, false, &[0; 4])]);
    let kind = DecodeErrorKind::UndeclaredEvent { id: 5 };
    assert_eq!(broken(&log), (2, data() + 10, kind));
}

#[test]
fn the_header_is_known_after_an_error_in_the_data() {
    let log = log(&[&raw(5, false, &[0; 4])]);
    let mut decoder = Decoder::new();
    let mut input = &log[..];
    assert_eq!(decoder.next(&mut &log[..50]), Ok(None));
    assert_eq!(decoder.header(), None);
    input = &input[50..];
    assert!(decoder.next(&mut input).unwrap().is_some());
    assert!(decoder.next(&mut input).is_err());
    assert_eq!(decoder.header(), Some(Header::standard()));
}

#[test]
fn an_event_that_crosses_its_block_is_refused() {
    let run = event(Event::RunThread {
        thread: ThreadId(1),
    });
    let at = data() + 24;
    for left in 2..14 {
        let block_end = at + left;
        let kind = DecodeErrorKind::CrossesBlock {
            id: 1,
            event_end: at + 14,
            block_end,
        };
        assert_eq!(
            broken(&log(&[&marker(24 + left as u32), &run])),
            (2, at, kind)
        );
    }
    let message = event(Event::UserMessage { text: "four" });
    for left in 2..16 {
        let block_end = at + left;
        // Before its length is in the block, an event is known to take its head only.
        let event_end = at + if left < 12 { 12 } else { 16 };
        let kind = DecodeErrorKind::CrossesBlock {
            id: 19,
            event_end,
            block_end,
        };
        assert_eq!(
            broken(&log(&[&marker(24 + left as u32), &message])),
            (2, at, kind)
        );
    }
    assert_eq!(
        read(&log(&[&marker(24 + 14), &run, &END_MARKER])),
        (4, Ok(()))
    );
}

#[test]
fn a_block_inside_a_block_is_refused() {
    let log = log(&[&marker(100), &marker(24)]);
    let kind = DecodeErrorKind::MarkerInsideBlock {
        block_end: data() + 100,
    };
    assert_eq!(broken(&log), (2, data() + 24, kind));
}

#[test]
fn a_block_shorter_than_its_marker_is_refused() {
    let kind = DecodeErrorKind::BlockTooShort {
        size: 23,
        least: 24,
    };
    assert_eq!(broken(&log(&[&marker(23)])), (1, data(), kind));
    assert_eq!(
        read(&log(&[&marker(24), &marker(24), &END_MARKER])),
        (4, Ok(()))
    );
}

#[test]
fn an_end_marker_is_the_end_of_a_block_or_outside() {
    for left in [1, 3, 50] {
        let block_end = data() + 24 + left;
        let kind = DecodeErrorKind::EndInsideBlock { block_end };
        let log = log(&[&marker(24 + left as u32), &END_MARKER]);
        assert_eq!(broken(&log), (2, data() + 24, kind));
    }
    assert_eq!(read(&log(&[&marker(26), &END_MARKER])), (3, Ok(())));
    assert_eq!(read(&log(&[&marker(24), &END_MARKER])), (3, Ok(())));
    assert_eq!(read(&log(&[&END_MARKER])), (2, Ok(())));
}

#[test]
fn nothing_follows_the_end_marker() {
    let ended = log(&[&marker(26), &END_MARKER]);
    let twice = [&ended[..], &ended[..]].concat();
    assert_eq!(broken(&twice), (3, data() + 26, DecodeErrorKind::AfterEnd));
}

#[test]
fn a_cut_log_is_truncated_after_its_last_whole_record() {
    let log = log(&[&marker(34), &event(Event::GcStart), &END_MARKER]);
    for (cut, whole, offset) in [(1, 3, 34), (2, 3, 34), (3, 2, 24), (12, 2, 24), (13, 1, 0)] {
        let partial = (log.len() - cut) as u64 - (data() + offset);
        let kind = DecodeErrorKind::Truncated { partial };
        assert_eq!(
            broken(&log[..log.len() - cut]),
            (whole, data() + offset, kind)
        );
    }
    assert_eq!(
        broken(&[]),
        (0, 0, DecodeErrorKind::Truncated { partial: 0 })
    );
}

#[test]
fn time_may_run_backwards_and_events_may_lie_outside_blocks() {
    let mut body = Vec::new();
    Event::GcStart.encode_to_vec(9, &mut body);
    Event::GcEnd.encode_to_vec(3, &mut body);
    let log = log(&[&marker(44), &body, &body, &END_MARKER]);
    let mut decoder = Decoder::new();
    let mut input = &log[..];
    let mut seen = Vec::new();
    while let Some(record) = decoder.next(&mut input).unwrap() {
        if let Record::Event(event) = record {
            seen.push((event.cap, event.time));
        }
    }
    assert_eq!(
        seen,
        [(CapNo::new(0), 9), (CapNo::new(0), 3), (None, 9), (None, 3)]
    );
}

#[test]
fn a_walk_stops_at_what_breaks_a_block() {
    let walk = |body: &[u8]| {
        let mut events = events(body, Header::standard());
        let broken = events.find_map(Result::err);
        assert_eq!(events.next(), None);
        broken.map(|error| (error.offset, error.kind))
    };
    let run = event(Event::RunThread {
        thread: ThreadId(1),
    });
    let after = |part: &[u8]| [&run[..], part].concat();
    assert_eq!(walk(&run), None);
    assert_eq!(walk(&after(&END_MARKER)), None);
    assert_eq!(
        walk(&after(&[0])),
        Some((14, DecodeErrorKind::Truncated { partial: 1 }))
    );
    let kind = DecodeErrorKind::CrossesBlock {
        id: 1,
        event_end: 28,
        block_end: 27,
    };
    assert_eq!(walk(&after(&run[..13])), Some((14, kind)));
    let kind = DecodeErrorKind::UndeclaredEvent { id: 7 };
    assert_eq!(walk(&after(&raw(7, false, &[]))), Some((14, kind)));
    let kind = DecodeErrorKind::MarkerInsideBlock { block_end: 38 };
    assert_eq!(walk(&after(&marker(24))), Some((14, kind)));
    let kind = DecodeErrorKind::EndInsideBlock { block_end: 17 };
    assert_eq!(walk(&after(&[0xff; 3])), Some((14, kind)));
}

/// What is wrong with the payload of the only event of a log, and that the log goes on after it.
fn unfit(bytes: &[u8], header: &Header) -> EventErrorKind {
    let mut body = bytes.to_vec();
    Event::GcEnd.encode_to_vec(2, &mut body);
    let found: Vec<_> = events(&body, header).map(Result::unwrap).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].decode(), Ok(Decoded::Known(Event::GcEnd)));
    let error = found[0].decode().unwrap_err();
    assert_eq!((error.offset, error.id), (0, found[0].id));
    error.kind
}

#[test]
fn a_payload_that_is_no_utf_8_is_told_with_its_byte() {
    let standard = Header::standard();
    let at = |at| EventErrorKind::Utf8 { at };
    assert_eq!(unfit(&raw(19, true, b"ab\xffc"), standard), at(2));
    assert_eq!(unfit(&raw(44, true, b"\0\0\0\x01\xc3"), standard), at(4));
    assert_eq!(unfit(&raw(30, true, b"\0\0\0\0a\0\x80"), standard), at(6));
    assert_eq!(
        unfit(&raw(164, true, b"\0\0\0\0\0\0\0\0\0x\xe2\0"), standard),
        at(10)
    );
}

#[test]
fn text_without_its_nul_is_told_with_its_start() {
    let kind = unfit(&raw(164, true, b"\0\0\0\0\0\0\0\0\0xy"), Header::standard());
    assert_eq!(kind, EventErrorKind::Unterminated { at: 9 });
}

#[test]
fn a_number_without_a_meaning_is_told() {
    let standard = Header::standard();
    let value = |field, value| EventErrorKind::Value { field, value };
    for code in [0, 4, 14, 15, 16, 17, 19, 21, 0xffff] {
        let payload = [&[0, 0, 0, 1][..], &u16::to_be_bytes(code), &[0; 4]].concat();
        let kind = value("stop status", u64::from(code));
        assert_eq!(unfit(&raw(2, false, &payload), standard), kind);
    }
    assert_eq!(
        unfit(&raw(45, false, &[0xff; 2]), standard),
        value("capability", 0xffff)
    );
    let kind = value("capability set type", 4);
    assert_eq!(unfit(&raw(25, false, &[0, 0, 0, 0, 0, 4]), standard), kind);
    let profile = [&[0; 9][..], &[0, 0, 0, 10], &[0; 7]].concat();
    let kind = value("heap profile breakdown", 10);
    assert_eq!(unfit(&raw(160, true, &profile), standard), kind);
    let old = declaring(&[(207, 13), (10, 0)]);
    let census = [&[16][..], &[0; 12]].concat();
    let kind = value("logarithm of a block size", 16);
    assert_eq!(unfit(&raw(207, false, &census), &old), kind);
}

fn declaring(types: &[(u16, u16)]) -> Header {
    Header::new(
        types
            .iter()
            .map(|(id, size)| EventType::new(*id, EventSize::from_field(*size), "")),
    )
    .unwrap()
}

#[test]
fn a_payload_below_the_smallest_layout_is_told_with_it() {
    let least = [
        (1, 4),
        (2, 6),
        (4, 6),
        (53, 50),
        (55, 14),
        (207, 13),
        (211, 32),
        (52, 38),
    ];
    for (id, least) in least {
        let header = declaring(&[(id, least - 1), (10, 0)]);
        let size = usize::from(least - 1);
        let kind = EventErrorKind::TooShort {
            size,
            least: usize::from(least),
        };
        assert_eq!(
            unfit(&raw(id, false, &vec![0; size]), &header),
            kind,
            "{id}"
        );
    }
    let stack = raw(163, true, b"\0\0\0\0\0\0\0\0\0\x02\0\0\0\x01");
    let kind = EventErrorKind::TooShort {
        size: 14,
        least: 18,
    };
    assert_eq!(unfit(&stack, Header::standard()), kind);
    let ticky = raw(210, true, b"\0\0\0\0\0\0\0\0\0\0\0\0abc");
    let kind = EventErrorKind::TooShort {
        size: 15,
        least: 20,
    };
    assert_eq!(unfit(&ticky, Header::standard()), kind);
}

#[test]
fn errors_name_the_value_and_the_limit() {
    let texts = [
        (
            DecodeErrorKind::Tag {
                expected: *b"etb\0",
                found: *b"\xffab\n",
            }
            .to_string(),
            r#"expected the tag "etb\x00", found "\xffab\n""#,
        ),
        (
            DecodeErrorKind::Header(HeaderError::BlockMarkerSize {
                size: EventSize::Variable,
                least: 14,
            })
            .to_string(),
            "block markers are declared as variable, the least is 14 bytes",
        ),
        (
            DecodeErrorKind::Header(HeaderError::EndMarkerId).to_string(),
            "event type 65535 is the end marker",
        ),
        (
            DecodeErrorKind::UndeclaredEvent { id: 5 }.to_string(),
            "event type 5 is not declared in the header",
        ),
        (
            DecodeErrorKind::CrossesBlock {
                id: 1,
                event_end: 28,
                block_end: 27,
            }
            .to_string(),
            "event of type 1 reaches byte 28, its block ends at byte 27",
        ),
        (
            DecodeErrorKind::MarkerInsideBlock { block_end: 9 }.to_string(),
            "block marker inside the block that ends at byte 9",
        ),
        (
            DecodeErrorKind::EndInsideBlock { block_end: 9 }.to_string(),
            "end marker inside the block that ends at byte 9",
        ),
        (
            DecodeErrorKind::AfterEnd.to_string(),
            "bytes after the end marker",
        ),
        (
            DecodeErrorKind::Truncated { partial: 0 }.to_string(),
            "the log ends without an end marker",
        ),
        (
            DecodeErrorKind::Truncated { partial: 3 }.to_string(),
            "the log ends 3 bytes into an unfinished record",
        ),
        (
            EventErrorKind::Utf8 { at: 2 }.to_string(),
            "text is not utf-8 at byte 2 of the payload",
        ),
        (
            EventErrorKind::Unterminated { at: 9 }.to_string(),
            "text at byte 9 of the payload has no terminating nul",
        ),
        (
            ZStr::new("a\0b").unwrap_err().to_string(),
            "nul at byte 1 of a nul-terminated text",
        ),
    ];
    for (text, want) in texts {
        assert_eq!(text, want);
    }
}

#[test]
#[should_panic(expected = "an event of 14 bytes does not fit into 13")]
fn an_event_is_not_written_where_it_does_not_fit() {
    let mut out = [core::mem::MaybeUninit::uninit(); 13];
    Event::RunThread {
        thread: ThreadId(1),
    }
    .encode(0, &mut out);
}
