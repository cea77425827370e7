//! Events of a program's own types in a log that is written: declared, emitted, counted, read back.

mod written;

use ghc_eventlog::format::{
    CapNo, Decoded, Decoder, END_MARKER, Encode, Event, FieldType, LossCause, Record,
    UserEventType, Value,
};
use ghc_eventlog::{
    AttachOptions, Capability, EmitError, EventLog, Keep, Previous, Sink, Start, StartError,
    WhenFull, trace,
};
use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use written::{Gated, Memory, Written};

/// Of variable size.
fn request() -> UserEventType {
    UserEventType::builder(0, "request")
        .field("bytes", FieldType::U64)
        .field("path", FieldType::Str)
        .build()
        .unwrap()
}

/// Of a fixed size.
fn tick() -> UserEventType {
    let builder = UserEventType::builder(1, "tick");
    builder.field("number", FieldType::U32).build().unwrap()
}

/// The program's own events of a whole log that is left for another checker, as text, with whose they
/// are.
fn user_events(name: &str, log: &[u8]) -> Vec<(Option<u16>, String)> {
    Written::read(name, log);
    let mut decoder = Decoder::new();
    let mut rest = log;
    let mut found = Vec::new();
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        if let Record::Event(raw) = record {
            if let Decoded::User(event) = raw.decode().unwrap() {
                found.push((raw.cap.map(CapNo::get), format!("{event:?}")));
            }
        }
    }
    found
}

fn tick_text(number: u32) -> String {
    format!("tick {{ number: U32({number}) }}")
}

#[test]
fn every_log_that_begins_declares_the_types_and_has_its_events() {
    let (request, tick) = (request(), tick());
    let (first, first_content) = Sink::memory();
    let log = EventLog::builder()
        .declare(&request)
        .declare(&tick)
        .sink(first)
        .unwrap();
    let mut capability = log.capability().unwrap();
    let mut emit = |log: &EventLog, number: u32| {
        let path = format!("/{number}");
        let values = [Value::U64(number.into()), Value::Str(&path)];
        capability
            .try_emit(&request.event(&values).unwrap())
            .unwrap();
        let values = [Value::U32(number)];
        log.try_emit(&tick.event(&values).unwrap()).unwrap();
    };
    let sticky = [Value::U64(9), Value::Str("sticky")];
    emit(&log, 1);
    log.emit_sticky(&request.event(&sticky).unwrap()).unwrap();
    let reader = Memory::default();
    log.attach(reader.clone(), AttachOptions::default())
        .unwrap();
    emit(&log, 2);
    let (second, second_content) = Sink::memory();
    log.set_sink(second, Previous::Close, Start::Header)
        .unwrap();
    emit(&log, 3);
    log.stop().unwrap();

    let of = |number: u32| {
        let request = format!("request {{ bytes: U64({number}), path: Str(\"/{number}\") }}");
        [(Some(0), request), (None, tick_text(number))]
    };
    let replayed = (
        None,
        "request { bytes: U64(9), path: Str(\"sticky\") }".into(),
    );
    let sorted = |events: &[&[(Option<u16>, String)]]| {
        let mut events = events.concat();
        events.sort();
        events
    };
    for (name, content, expected) in [
        (
            "user-events-1",
            first_content.bytes(),
            [of(1), of(2)].concat(),
        ),
        ("user-events-2", second_content.bytes(), of(3).to_vec()),
        (
            "user-events-reader",
            reader.content(),
            [of(2), of(3)].concat(),
        ),
    ] {
        let found = user_events(name, &content);
        let replayed = std::slice::from_ref(&replayed);
        assert_eq!(sorted(&[&found]), sorted(&[&expected, replayed]), "{name}");
    }
}

#[test]
fn an_event_of_a_type_that_is_not_declared_is_refused_and_counted() {
    let (request, tick) = (request(), tick());
    let memory = Memory::default();
    let log = EventLog::builder()
        .declare(&tick)
        .start(memory.clone())
        .unwrap();
    let mut capability = log.capability().unwrap();
    let path = [Value::U64(1), Value::Str("/")];
    let undeclared = request.event(&path).unwrap();
    let refused = EmitError::Undeclared { id: 1088 };
    assert_eq!(capability.try_emit(&undeclared), Err(refused));
    assert_eq!(capability.emit_sticky(&undeclared), Err(refused));
    assert_eq!(log.try_emit(&undeclared), Err(refused));
    assert_eq!(log.emit_sticky(&undeclared), Err(refused));
    capability.emit(&undeclared);
    let text = "the event log does not declare this event type, whose id is 1088";
    assert_eq!(refused.to_string(), text);

    // Of the same number, and as long.
    let other = UserEventType::builder(1, "tick").field("count", FieldType::U32);
    let other = other.build().unwrap();
    let number = [Value::U32(7)];
    let refused = capability.try_emit(&other.event(&number).unwrap());
    assert_eq!(refused, Err(EmitError::Undeclared { id: 1089 }));
    // The same one, made once more.
    let again = self::tick();
    capability.try_emit(&again.event(&number).unwrap()).unwrap();
    // Whatever it is.
    let any: [&dyn Encode; 2] = [&Event::GcStart, &tick.event(&number).unwrap()];
    any.iter()
        .for_each(|event| capability.try_emit(*event).unwrap());

    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].lost.undeclared, 4);
    assert_eq!(statistics.shared.lost.undeclared, 2);
    assert_eq!(statistics.lost().total(), 6);
    assert_eq!(statistics.capabilities[0].events, 3);
    let found = user_events("user-events-undeclared", &memory.content());
    assert_eq!(found, [(Some(0), tick_text(7)), (Some(0), tick_text(7))]);
}

#[test]
fn two_types_of_one_number_or_name_are_refused_before_a_file_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.eventlog");
    std::fs::write(&path, "old").unwrap();
    let start = |types: &[UserEventType]| {
        let builder = EventLog::builder();
        let builder = types
            .iter()
            .fold(builder, |builder, ty| builder.declare(ty));
        builder.file(&path)
    };
    let ty = |number, name: &'static str| UserEventType::builder(number, name).build().unwrap();

    let refused = start(&[ty(3, "a"), ty(4, "b"), ty(3, "c")]).unwrap_err();
    assert!(matches!(refused, StartError::TypeIdTwice { id: 1091, .. }));
    let text = "event types \"a\" and \"c\" both have id 1091";
    assert_eq!(refused.to_string(), text);
    let refused = start(&[ty(3, "a"), ty(4, "a")]).unwrap_err();
    assert!(matches!(refused, StartError::TypeNameTwice { .. }));
    let text = "the event types of ids 1091 and 1092 are both named \"a\"";
    assert_eq!(refused.to_string(), text);

    // More than a header takes: 100 types with 255 fields of long names.
    let long = (0..100).map(|number| {
        let builder = UserEventType::builder(number, format!("long {number}"));
        let fields = (0..255).map(|field| format!("{field:0>200}"));
        let builder = fields.fold(builder, |builder, name| builder.field(name, FieldType::U8));
        builder.build().unwrap()
    });
    let refused = start(&long.collect::<Vec<_>>()).unwrap_err();
    assert!(matches!(refused, StartError::Types(_)), "{refused}");
    assert!(refused.source().is_some());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");

    start(&[ty(3, "a"), ty(3, "a")]).unwrap().stop().unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn events_that_find_no_room_are_counted_and_told() {
    let tick = tick();
    let gate = Arc::new(Mutex::new(()));
    let memory = Memory::default();
    let sink = Gated {
        gate: Arc::clone(&gate),
        memory: memory.clone(),
    };
    let log = EventLog::builder()
        .declare(&tick)
        .buffer_size(1 << 18)
        .start(sink)
        .unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let (mut taken, mut refused) = (Vec::new(), 0);
    let mut emit = |number| {
        let values = [Value::U32(number)];
        match capability.try_emit(&tick.event(&values).unwrap()) {
            Ok(()) => taken.push((Some(0), tick_text(number))),
            Err(error) => {
                assert_eq!(error, EmitError::Full);
                refused += 1;
            }
        }
    };
    let closed = gate.lock().unwrap();
    (0..40_000).for_each(&mut emit);
    drop(closed);
    log.flush().unwrap();
    emit(40_000);
    let statistics = log.stop().unwrap();
    assert!(refused > 0);
    assert_eq!(statistics.capabilities[0].lost.full, refused);
    assert_eq!(user_events("user-events-full", &memory.content()), taken);
    let written = Written::read_prefix(&memory.content(), true);
    // 14 bytes each.
    let lost = written.lost(CapNo::new(0), LossCause::Full);
    assert_eq!(lost, (refused, refused * 14));
}

/// Takes so many bytes, and no more.
struct Full {
    room: usize,
    taken: Memory,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.room);
        if len == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= len;
        self.taken.write(&bytes[..len])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn events_that_a_sink_or_a_reader_does_not_take_are_counted() {
    const EVENTS: u32 = 1_000;
    let (request, tick) = (request(), tick());
    // All events are handed out at once, before the reader fails.
    let builder = EventLog::builder()
        .declare(&tick)
        .declare(&request)
        .flush_interval(Duration::from_secs(600));
    let (header, content) = Sink::memory();
    builder.clone().sink(header).unwrap().stop().unwrap();
    // The header, what every log begins with, and a part of the events.
    let room = content.bytes().len() + 5_000;
    let [sink, reader] = [Memory::default(), Memory::default()].map(|taken| Full { room, taken });
    let contents = [sink.taken.clone(), reader.taken.clone()];
    let log = builder.start(sink).unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    log.attach(reader, AttachOptions::default()).unwrap();
    for number in 0..EVENTS / 2 {
        let values = [Value::U32(number)];
        capability.emit(&tick.event(&values).unwrap());
        let values = [Value::U64(number.into()), Value::Str("/")];
        capability.emit(&request.event(&values).unwrap());
    }
    let refused = log.stop().unwrap_err();
    let statistics = refused.statistics();
    let arrived = contents.map(|content| {
        let written = Written::read_prefix(&content.content(), false);
        let own = |event: &&written::Read| event.id >= 1088;
        written.events.iter().filter(own).count() as u64
    });
    assert_eq!(statistics.capabilities[0].events, u64::from(EVENTS));
    let sink = statistics.capabilities[0].lost.sink;
    assert_eq!(arrived[0] + sink, u64::from(EVENTS));
    assert!(arrived[0] > 0 && sink > 0);
    let reader = statistics.former_readers.lost_events;
    // Besides, it does not hear of the end of the capability and of the sets.
    let ends = arrived[1] + reader - u64::from(EVENTS);
    assert!(ends <= 5, "{ends} more than were emitted");
    assert!(arrived[1] > 0 && reader > 0);
}

#[test]
fn chunks_and_snapshots_have_the_types_declared() {
    let tick = tick();
    let emit = |capability: &mut Capability, numbers: std::ops::Range<u32>| {
        for number in numbers {
            let values = [Value::U32(number)];
            capability.emit(&tick.event(&values).unwrap());
        }
    };
    let builder = EventLog::builder().declare(&tick).buffer_size(1 << 18);
    let (log, chunks) = builder
        .clone()
        .in_memory(1 << 18, WhenFull::OverwriteOldest)
        .unwrap();
    let mut capability = log.capability().unwrap();
    let mut emitted = 0;
    for _ in 0..10 {
        emit(&mut capability, emitted..emitted + 5_000);
        emitted += 5_000;
        log.flush().unwrap();
    }
    drop(capability);
    let lost = log.stop().unwrap().capabilities[0].lost;
    let mut whole = chunks.header();
    while let Ok(chunk) = chunks.chunk() {
        whole.extend_from_slice(&chunk);
    }
    whole.extend(END_MARKER);
    let found = user_events("user-events-chunks", &whole);
    assert!(lost.overwritten > 0);
    assert_eq!(found.len() as u64 + lost.overwritten, emitted.into());
    assert_eq!(found.last(), Some(&(Some(0), tick_text(emitted - 1))));

    let log = builder.flight_recorder(Keep::bytes(1 << 18)).unwrap();
    log.emit_sticky(&tick.event(&[Value::U32(77)]).unwrap())
        .unwrap();
    let mut capability = log.capability().unwrap();
    for _ in 0..10 {
        emit(&mut capability, 0..5_000);
        log.flush().unwrap();
    }
    let mut snapshot = Vec::new();
    log.snapshot(&mut snapshot).unwrap();
    let found = user_events("user-events-snapshot", &snapshot);
    assert_eq!(found.last(), Some(&(Some(0), tick_text(4_999))));
    assert_eq!(found.iter().filter(|(cap, _)| cap.is_none()).count(), 1);
    let overwritten =
        Written::read_prefix(&snapshot, true).lost(CapNo::new(0), LossCause::Overwritten);
    assert_eq!(found.len() as u64 - 1 + overwritten.0, 50_000);
}

#[test]
fn the_installed_log_takes_them_from_any_thread() {
    let tick = tick();
    let (sink, content) = Sink::memory();
    trace::install(EventLog::builder().declare(&tick).sink(sink).unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| trace::emit(&tick.event(&[Value::U32(5)]).unwrap()));
    });
    trace::uninstall().unwrap().stop().unwrap();
    let found = user_events("user-events-trace", &content.bytes());
    assert_eq!(found, [(Some(0), tick_text(5))]);
}
