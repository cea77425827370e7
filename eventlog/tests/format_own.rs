//! Events that are not GHC's, those of this library and those of programs: what is encoded is decoded
//! as the same, and other readers skip it.

mod written;

use std::mem::MaybeUninit;

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoded, Decoder, END_MARKER, Encode, Event, EventErrorKind, EventSize,
    EventType, FieldType, Header, HeaderError, LIBRARY_IDS, LossCause, MAX_HEADER_LEN, MAX_PAYLOAD,
    Record, USER_EVENT_IDS, UserEvent, UserEventError, UserEventType, UserTypeError, VARIABLE_HEAD,
    Value, events,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use written::Written;

/// A log with one block of capability 0, which holds these bytes.
fn log(header: &Header, body: &[u8]) -> Vec<u8> {
    let mut log = header.encode();
    let marker = BlockMarker {
        begin: 1,
        size: (BlockMarker::LEN + body.len()) as u32,
        end: 9,
        cap: CapNo::new(0),
    };
    log.extend(marker.encode());
    log.extend(body);
    log.extend(END_MARKER);
    log
}

/// The event, written by every way of encoding.
fn encode(event: UserEvent<'_>, time: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(event.encode_to_vec(time, &mut bytes), event.encoded_len());
    let any: &dyn Encode = &event;
    assert_eq!((any.id(), any.encoded_len()), (event.id(), bytes.len()));
    let mut out = vec![MaybeUninit::new(0xaa); bytes.len() + 3];
    assert_eq!(any.encode(time, &mut out), bytes.len());
    // SAFETY: every byte was initialised above, and none is made uninitialised by a write.
    let out: Vec<u8> = out
        .iter()
        .map(|byte| unsafe { byte.assume_init() })
        .collect();
    assert_eq!(out, [&bytes[..], &[0xaa; 3]].concat());
    bytes
}

/// One field of each type.
fn all_types() -> UserEventType {
    let mut builder = UserEventType::builder(7, "all types");
    for name in ["u8", "u16", "u32", "u64", "i64", "f64", "str", "bytes"] {
        builder = builder.field(name, FieldType::from_name(name).unwrap());
    }
    builder.build().unwrap()
}

#[test]
fn a_loss_stands_among_the_events_of_its_capability() {
    let mut body = Vec::new();
    Event::UserMessage { text: "before" }.encode_to_vec(2, &mut body);
    for cause in LossCause::ALL {
        let lost = Event::EventsLost {
            cause: *cause,
            events: 1_000,
            bytes: 14_000,
        };
        lost.encode_to_vec(3, &mut body);
    }
    Event::UserMessage { text: "after" }.encode_to_vec(4, &mut body);
    let read = Written::read("own-loss", &log(Header::standard(), &body));
    let ids: Vec<u16> = read.events.iter().map(|event| event.id).collect();
    assert_eq!(ids, [19, 1024, 1024, 1024, 1024, 1024, 19]);
    let (events, bytes) = read.lost(CapNo::new(0), LossCause::Full);
    assert_eq!((events, bytes), (1_000, 14_000));
    // It is no event that the program has emitted.
    assert_eq!(read.count(CapNo::new(0)), 2);
}

#[test]
fn a_program_s_events_are_skipped_by_those_who_do_not_know_them() {
    let all = all_types();
    let tick = UserEventType::builder(959, "tick").build().unwrap();
    let load = UserEventType::builder(0, "load").field("average", FieldType::F64);
    let load = load.build().unwrap();
    let header = Header::standard().declaring([&all, &tick, &load]).unwrap();
    let values = [
        Value::U8(1),
        Value::U16(2),
        Value::U32(3),
        Value::U64(4),
        Value::I64(-5),
        Value::F64(6.5),
        Value::Str("sieben"),
        Value::Bytes(&[8; 8]),
    ];
    let mut body = Vec::new();
    Event::UserMessage { text: "before" }.encode_to_vec(2, &mut body);
    body.extend(encode(all.event(&values).unwrap(), 3));
    body.extend(encode(tick.event(&[]).unwrap(), 4));
    body.extend(encode(load.event(&[Value::F64(0.5)]).unwrap(), 5));
    Event::UserMessage { text: "after" }.encode_to_vec(6, &mut body);
    let read = Written::read("own-declared", &log(&header, &body));
    let ids: Vec<u16> = read.events.iter().map(|event| event.id).collect();
    assert_eq!(ids, [19, 1095, 2047, 1088, 19]);
}

#[test]
fn a_reader_finds_the_fields_of_a_program_that_it_does_not_know() {
    let request = UserEventType::builder(1, "request")
        .field("größe", FieldType::U16)
        .field("path", FieldType::Str)
        .build()
        .unwrap();
    let header = Header::standard().declaring([&request]).unwrap();
    let values = [Value::U16(0x0102), Value::Str("/ö")];
    let body = encode(request.event(&values).unwrap(), 5);
    assert_eq!(body[..2], [0x04, 0x41]);
    assert_eq!(body[10..], *b"\0\x07\x01\x02\0\x03/\xc3\xb6");

    let bytes = log(&header, &body);
    let mut decoder = Decoder::new();
    let mut found = 0;
    // Byte by byte, so that the header's texts are split, too.
    for mut piece in bytes.chunks(1) {
        while let Some(record) = decoder.next(&mut piece).unwrap() {
            match record {
                Record::Header(read) => {
                    assert_eq!(*read, header);
                    assert_eq!(read.encode(), header.encode());
                    assert_eq!(read.user_type(1089), Some(&request));
                }
                Record::Event(raw) => {
                    let Ok(Decoded::User(event)) = raw.decode() else {
                        panic!("{raw:?}")
                    };
                    assert_eq!((event.id(), event.name()), (1089, "request"));
                    assert_eq!(event, request.event(&values).unwrap());
                    assert_eq!(event.get("größe"), Some(Value::U16(0x0102)));
                    assert_eq!(event.get("path"), Some(Value::Str("/ö")));
                    assert_eq!(event.get("size"), None);
                    found += 1;
                }
                _ => {}
            }
        }
    }
    decoder.finish().unwrap();
    assert_eq!(found, 1);
}

/// A type of any fields, with values of theirs.
#[derive(Clone, Debug)]
enum Owned {
    Number(Value<'static>),
    Str(String),
    Bytes(Vec<u8>),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Number(value) => *value,
            Self::Str(text) => Value::Str(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn owned(lens: impl Strategy<Value = usize> + Clone) -> impl Strategy<Value = Owned> {
    prop_oneof![
        any::<u8>().prop_map(|n| Owned::Number(n.into())),
        any::<u16>().prop_map(|n| Owned::Number(n.into())),
        any::<u32>().prop_map(|n| Owned::Number(n.into())),
        any::<u64>().prop_map(|n| Owned::Number(n.into())),
        any::<i64>().prop_map(|n| Owned::Number(n.into())),
        any::<u64>().prop_map(|n| Owned::Number(f64::from_bits(n).into())),
        (select(vec!["x", "ö", "€", "𝄞"]), lens.clone())
            .prop_map(|(unit, len)| Owned::Str(unit.repeat(len / unit.len()))),
        (any::<u8>(), lens).prop_map(|(byte, len)| Owned::Bytes(vec![byte; len])),
    ]
}

fn type_of(values: &[Owned]) -> UserEventType {
    let mut builder = UserEventType::builder(3, "any");
    for (at, value) in values.iter().enumerate() {
        builder = builder.field(format!("field-{at}"), value.value().field_type());
    }
    builder.build().unwrap()
}

fn check_round_trip(values: &[Owned], time: u64) {
    let ty = type_of(values);
    let header = Header::standard().declaring([&ty]).unwrap();
    let values: Vec<Value<'_>> = values.iter().map(Owned::value).collect();
    let event = ty.event(&values).unwrap();
    let bytes = encode(event, time);
    assert!(bytes.len() <= VARIABLE_HEAD + MAX_PAYLOAD);
    let mut found = events(&bytes, &header);
    let raw = found.next().unwrap().unwrap();
    assert_eq!((raw.id, raw.time, raw.bytes()), (1091, time, &bytes[..]));
    assert_eq!(raw.decode(), Ok(Decoded::User(event)));
    assert_eq!(found.next(), None);
    let Ok(Decoded::User(read)) = raw.decode() else {
        unreachable!()
    };
    assert_eq!(encode(read, time), bytes);
    // What is cut is the end of a text, and only where all is full.
    for ((_, read), given) in read.fields().zip(&values) {
        match (read, given) {
            (Value::Str(read), Value::Str(given)) => assert!(given.starts_with(read)),
            (Value::Bytes(read), Value::Bytes(given)) => assert!(given.starts_with(read)),
            (read, given) => assert_eq!(read, *given),
        }
        if read != *given {
            assert!(bytes.len() > VARIABLE_HEAD + MAX_PAYLOAD - 4);
        }
    }
}

proptest! {
    #[test]
    fn an_event_is_decoded_as_itself(
        values in vec(owned(0..40usize), 0..20),
        time in any::<u64>(),
    ) {
        check_round_trip(&values, time);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_too_long_is_cut_between_characters(
        values in vec(owned(prop_oneof![0..40usize, 20_000..70_000usize]), 1..8),
    ) {
        check_round_trip(&values, 1);
    }
}

#[test]
fn a_type_that_no_log_can_declare_is_refused() {
    let build = |builder: ghc_eventlog::format::UserTypeBuilder| builder.build().unwrap_err();
    let builder = |name: &'static str| UserEventType::builder(0, name);
    let number = UserTypeError::Number {
        number: 960,
        greatest: 959,
    };
    assert_eq!(build(UserEventType::builder(960, "x")), number);
    for name in ["", "a\nb", &*"x".repeat(256)] {
        let name = name.to_owned();
        let error = build(UserEventType::builder(0, name.clone()));
        assert_eq!(error, UserTypeError::Name { name: name.into() });
    }
    for name in ["", "a b", "a:b", "a\0", &*"x".repeat(256)] {
        let name = name.to_owned();
        let error = build(builder("x").field(name.clone(), FieldType::U8));
        assert_eq!(error, UserTypeError::FieldName { name: name.into() });
    }
    let twice = builder("x")
        .field("a", FieldType::U8)
        .field("b", FieldType::U8)
        .field("a", FieldType::Str);
    let name = "a".into();
    assert_eq!(build(twice), UserTypeError::FieldTwice { name });
    let many = |n| {
        (0..n).fold(builder("x"), |all, at| {
            all.field(format!("f{at}"), FieldType::U64)
        })
    };
    assert_eq!(many(255).build().unwrap().size(), EventSize::Fixed(2040));
    let error = UserTypeError::TooManyFields {
        fields: 256,
        most: 255,
    };
    assert_eq!(build(many(256)), error);
}

#[test]
fn values_must_be_those_of_the_fields() {
    let ty = UserEventType::builder(0, "request").field("bytes", FieldType::U64);
    let ty = ty.build().unwrap();
    let count = |values| UserEventError::Count {
        event_type: "request".to_owned(),
        values,
        fields: 1,
    };
    assert_eq!(ty.event(&[]), Err(count(0)));
    assert_eq!(ty.event(&[Value::U64(1); 2]), Err(count(2)));
    let error = UserEventError::Type {
        event_type: "request".to_owned(),
        field: "bytes".to_owned(),
        expected: FieldType::U64,
        found: FieldType::I64,
    };
    assert_eq!(ty.event(&[Value::I64(1)]), Err(error));
}

#[test]
fn an_id_stands_for_one_type() {
    let tick = UserEventType::builder(0, "tick").build().unwrap();
    let tock = UserEventType::builder(0, "tock").build().unwrap();
    let once = Header::standard().declaring([&tick]).unwrap();
    assert_eq!(once.declaring([&tick, &tick]).as_ref(), Ok(&once));
    let error = HeaderError::DeclaredTwice { id: 1088 };
    assert_eq!(once.declaring([&tock]), Err(error));
    assert_eq!(Header::standard().declaring([&tick, &tock]), Err(error));
    let first = Header::standard().event_types().len();
    assert_eq!(once.event_types().len(), first + 1);
    assert!(LIBRARY_IDS.contains(&1024));
    assert!(!USER_EVENT_IDS.contains(&1024));
}

#[test]
fn a_header_that_grows_too_long_is_refused() {
    let name = |at: usize| format!("{at:0>255}");
    let types: Vec<UserEventType> = (0..20)
        .map(|number| {
            let builder = UserEventType::builder(number, "long");
            let fields = (0..255).fold(builder, |all, at| all.field(name(at), FieldType::U8));
            fields.build().unwrap()
        })
        .collect();
    let Err(HeaderError::TooLong { bytes, limit }) = Header::standard().declaring(&types) else {
        panic!()
    };
    assert_eq!(limit, MAX_HEADER_LEN as u64);
    assert!(bytes > limit);
}

/// What the events of a type with that extra information are read as.
fn read_as(id: u16, size: u16, extra: &'static [u8], payload: &[u8], check: impl Fn(Decoded<'_>)) {
    let mut ty = EventType::new(id, EventSize::from_field(size), "mine");
    ty.extra = extra.into();
    let header = Header::new([ty]).unwrap();
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend([0; 8]);
    if size == 0xffff {
        bytes.extend((payload.len() as u16).to_be_bytes());
    }
    bytes.extend(payload);
    check(
        events(&bytes, &header)
            .next()
            .unwrap()
            .unwrap()
            .decode()
            .unwrap(),
    );
}

#[test]
fn what_a_header_does_not_tell_is_given_as_bytes() {
    let user = |found: Decoded<'_>| assert!(matches!(found, Decoded::User(_)), "{found:?}");
    let other = |found: Decoded<'_>| assert!(matches!(found, Decoded::Other { .. }), "{found:?}");
    read_as(1088, 1, b"evl:1 a:u8", &[7], user);
    // Also of a type of the library's own that is newer than the reader.
    read_as(1025, 1, b"evl:1 a:u8", &[7], user);
    read_as(1088, 1, b"", &[7], other);
    read_as(1088, 1, b"evl:2 a:u8", &[7], other);
    read_as(1088, 1, b"evl:1 a:u128", &[7], other);
    // The fields do not make the size.
    read_as(1088, 2, b"evl:1 a:u8", &[7, 7], other);
    read_as(1088, 0xffff, b"evl:1 a:u8", &[7], other);
    read_as(1088, 2, b"evl:1 a:str", &[0, 0], other);
    // Ids of other systems.
    for id in [60, 140, 1023, 2048] {
        read_as(id, 1, b"evl:1 a:u8", &[7], other);
    }
    // What the library knows is what it says.
    read_as(19, 0xffff, b"evl:1 a:str", b"hi", |found| {
        assert_eq!(found, Decoded::Known(Event::UserMessage { text: "hi" }));
    });
    // The last declaration counts, in the fields as in the size.
    let of = |extra: &'static [u8]| {
        let mut ty = EventType::new(1088, EventSize::Fixed(1), "mine");
        ty.extra = extra.into();
        ty
    };
    let header = Header::new([of(b"evl:1 a:u8"), of(b"")]).unwrap();
    assert_eq!(header.user_type(1088), None);
    let header = Header::new([of(b""), of(b"evl:1 a:u8")]).unwrap();
    assert!(header.user_type(1088).is_some());
}

#[test]
fn a_payload_that_does_not_fit_its_fields_is_told() {
    let ty = UserEventType::builder(0, "x")
        .field("n", FieldType::U8)
        .field("text", FieldType::Str)
        .build()
        .unwrap();
    let header = Header::standard().declaring([&ty]).unwrap();
    let unfit = |payload: &[u8]| {
        let mut bytes = vec![0x04, 0x40, 0, 0, 0, 0, 0, 0, 0, 1];
        bytes.extend((payload.len() as u16).to_be_bytes());
        bytes.extend(payload);
        Event::GcEnd.encode_to_vec(2, &mut bytes);
        let found: Vec<_> = events(&bytes, &header).map(Result::unwrap).collect();
        assert_eq!(found.len(), 2, "the events after it can be read");
        found[0].decode().map_err(|error| error.kind).map(|_| ())
    };
    assert_eq!(unfit(b"\x01\0\x02ab"), Ok(()));
    // What a payload has more is left out.
    assert_eq!(unfit(b"\x01\0\x02abc"), Ok(()));
    let short = |size, least| Err(EventErrorKind::TooShort { size, least });
    assert_eq!(unfit(b"\x01\0"), short(2, 3));
    assert_eq!(unfit(b"\x01\0\x03ab"), short(5, 6));
    assert_eq!(
        unfit(b"\x01\0\x02a\xff"),
        Err(EventErrorKind::Utf8 { at: 4 })
    );
}
