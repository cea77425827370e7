//! Any bytes in any split: the decoder never panics, the split changes nothing, and what decodes as
//! an event is written and read again as the same.

#![no_main]

use ghc_eventlog::format::{
    BlockMarker, DecodeError, Decoded, Decoder, Event, Gap, Header, MAX_PAYLOAD, Record, UserEvent, Value, events,
};
use libfuzzer_sys::fuzz_target;

/// What a record is, without what it borrows.
#[derive(PartialEq, Debug)]
enum Seen {
    Header(Header),
    Block(u64, BlockMarker),
    Event(u64, Vec<u8>),
    End,
    Skipped(Gap),
}

fn read(
    mut decoder: Decoder,
    pieces: impl Iterator<Item: AsRef<[u8]>>,
) -> (Vec<Seen>, Result<(), DecodeError>) {
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = piece.as_ref();
        loop {
            match decoder.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Record::Header(header))) => seen.push(Seen::Header(header.clone())),
                Ok(Some(Record::BlockBegin { offset, marker })) => {
                    seen.push(Seen::Block(offset, marker));
                }
                Ok(Some(Record::Event(raw))) => {
                    match raw.decode() {
                        Ok(Decoded::Known(event)) => check_round_trip(raw.time, event),
                        Ok(Decoded::User(event)) => check_user_round_trip(raw.time, event),
                        Ok(Decoded::Other { .. }) | Err(_) => {}
                    }
                    seen.push(Seen::Event(raw.offset, raw.bytes().to_vec()));
                }
                Ok(Some(Record::End)) => seen.push(Seen::End),
                Ok(Some(Record::Skipped(gap))) => seen.push(Seen::Skipped(gap)),
                Ok(Some(record)) => panic!("{record:?}"),
                Err(error) => return (seen, Err(error)),
            }
        }
        assert!(input.is_empty());
    }
    (seen, decoder.finish())
}

fn check_round_trip(time: u64, event: Event<'_>) {
    let mut bytes = Vec::new();
    let len = event.encode_to_vec(time, &mut bytes);
    assert_eq!(len, event.encoded_len());
    assert_eq!(len, bytes.len());
    let again = events(&bytes, Header::standard()).next().unwrap().unwrap();
    assert_eq!((again.time, again.bytes()), (time, &bytes[..]));
    assert!(again.payload.len() <= MAX_PAYLOAD);
    // A layout of today may be longer than the one that was read: then text was cut.
    assert_eq!(again.decode(), Ok(Decoded::Known(event.fitted())));
}

fn check_user_round_trip(time: u64, event: UserEvent<'_>) {
    let header = Header::new([event.event_type().event_type()]).unwrap();
    assert_eq!(header.user_type(event.id()), Some(event.event_type()));
    let mut bytes = Vec::new();
    let len = event.encode_to_vec(time, &mut bytes);
    assert_eq!((len, len), (event.encoded_len(), bytes.len()));
    let again = events(&bytes, &header).next().unwrap().unwrap();
    assert_eq!((again.time, again.bytes()), (time, &bytes[..]));
    assert_eq!(again.decode(), Ok(Decoded::User(event)));
    let values: Vec<Value<'_>> = event.fields().map(|(_, value)| value).collect();
    assert_eq!(event.event_type().event(&values), Ok(event));
}

// The first two bytes tell how to split and whether a header comes first.
fuzz_target!(|data: &[u8]| {
    let Some(([split, mode], log)) = data.split_first_chunk() else {
        return;
    };
    let decoder = || {
        if mode & 1 == 0 {
            Decoder::new()
        } else {
            Decoder::after_header(Header::standard().clone())
        }
    };
    let whole = read(decoder(), std::iter::once(log));
    let pieces = read(decoder(), log.chunks(usize::from(*split) + 1));
    assert_eq!(whole, pieces);

    let lenient = read(Decoder::lenient(), std::iter::once(log));
    let pieces = read(Decoder::lenient(), log.chunks(usize::from(*split) + 1));
    assert_eq!(lenient, pieces);
    if mode & 1 == 0 {
        // It goes on where the strict one stops, and differs in nothing before.
        assert!(lenient.0.starts_with(&whole.0));
    }
    for seen in &lenient.0 {
        if let Seen::Skipped(gap) = seen {
            assert!(gap.offset + gap.len <= log.len() as u64);
        }
    }

    let mut walked = 0;
    for raw in events(log, Header::standard()) {
        let Ok(raw) = raw else { break };
        walked += raw.bytes().len();
        if let Ok(Decoded::Known(event)) = raw.decode() {
            check_round_trip(raw.time, event);
        }
    }
    assert!(walked <= log.len());
});
