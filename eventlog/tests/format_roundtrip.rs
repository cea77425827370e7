//! What is encoded is decoded as the same, however the bytes are split.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;

use ghc_eventlog::format::{
    BlockMarker, CapNo, CapsetId, CapsetType, CostCentreFlags, CostCentreStack, Decoded, Decoder,
    END_MARKER, Event, FIXED_HEAD, Header, HeapBreakdown, HeapProfFilter, KernelThreadId,
    LossCause, MAX_PAYLOAD, Record, StopStatus, Strings, TaskId, ThreadId, TickyInfo,
    VARIABLE_HEAD, ZStr, events,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Everything that an event of any type can be made of.
#[derive(Clone, Debug)]
struct Fields {
    variant: usize,
    ints: [u64; 9],
    cap: CapNo,
    to: CapNo,
    status: StopStatus,
    kind: CapsetType,
    breakdown: HeapBreakdown,
    texts: Vec<String>,
    list: Vec<String>,
    bytes: Vec<u8>,
    stack: Vec<u32>,
    more: u8,
}

/// Numbers at the edges as often as in between.
fn int() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..1000u64]
}

fn cap() -> impl Strategy<Value = CapNo> {
    prop_oneof![Just(0), Just(0xfffe), 0..0xffffu16].prop_map(|cap| CapNo::new(cap).unwrap())
}

/// Text of all kinds of characters but NUL.
fn text(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    let char = prop_oneof![
        prop::char::range('\u{1}', '\u{7f}'),
        prop::char::range('\u{80}', '\u{10ffff}'),
        select(vec!['ö', '€', '𝄞']),
    ];
    vec(char, len).prop_map(String::from_iter)
}

fn fields(
    texts: impl Strategy<Value = Vec<String>>,
    list: impl Strategy<Value = Vec<String>>,
    bytes: impl Strategy<Value = Vec<u8>>,
) -> impl Strategy<Value = Fields> {
    (
        any::<usize>(),
        prop::array::uniform9(int()),
        (cap(), cap()),
        select(StopStatus::ALL),
        select(CapsetType::ALL),
        select(HeapBreakdown::ALL),
        (texts, list, bytes, vec(any::<u32>(), 0..300), 0..3u8),
    )
        .prop_map(
            |(variant, ints, (cap, to), status, kind, breakdown, rest)| {
                let (texts, list, bytes, stack, more) = rest;
                Fields {
                    variant,
                    ints,
                    cap,
                    to,
                    status,
                    kind,
                    breakdown,
                    texts,
                    list,
                    bytes,
                    stack,
                    more,
                }
            },
        )
}

fn any_fields() -> impl Strategy<Value = Fields> {
    fields(
        vec(text(0..20), 7),
        vec(text(0..10), 0..6),
        vec(any::<u8>(), 0..50),
    )
}

/// One event of each type.
fn all_events<'a>(fields: &'a Fields, list: &'a [ZStr<'a>]) -> Vec<Event<'a>> {
    let Fields {
        ints,
        cap,
        to,
        status,
        kind,
        breakdown,
        texts,
        bytes,
        stack,
        more,
        ..
    } = fields;
    let (cap, to, status, kind, breakdown) = (*cap, *to, *status, *kind, *breakdown);
    let [a, b, c, d, e, f, g, h, i] = *ints;
    let z = |n: usize| ZStr::new(&texts[n]).unwrap();
    let (capset, thread, task) = (CapsetId(a as u32), ThreadId(a as u32), TaskId(a));
    let (text, stack) = (&texts[0][..], CostCentreStack::innermost(stack));
    let profile = b as u8;
    let filter = HeapProfFilter {
        module: z(0),
        closure_description: z(1),
        type_description: z(2),
        cost_centre: z(3),
        cost_centre_stack: z(4),
        retainer: z(5),
        biography: z(6),
    };
    let info = match more {
        0 => None,
        1 => Some(TickyInfo {
            info_table: b,
            json: None,
        }),
        _ => Some(TickyInfo {
            info_table: b,
            json: Some(z(2)),
        }),
    };
    vec![
        Event::CreateThread { thread },
        Event::RunThread { thread },
        Event::StopThread {
            thread,
            status,
            info: b as u32,
        },
        Event::ThreadRunnable { thread },
        Event::MigrateThread { thread, to },
        Event::ThreadWakeup { thread, other: cap },
        Event::GcStart,
        Event::GcEnd,
        Event::RequestSeqGc,
        Event::RequestParGc,
        Event::CreateSparkThread { thread },
        Event::LogMessage { text },
        Event::UserMessage { text },
        Event::GcIdle,
        Event::GcWork,
        Event::GcDone,
        Event::CapsetCreate { capset, kind },
        Event::CapsetDelete { capset },
        Event::CapsetAssignCap { capset, cap },
        Event::CapsetRemoveCap { capset, cap },
        Event::RtsIdentifier { capset, name: text },
        Event::ProgramArgs {
            capset,
            args: Strings::new(list),
        },
        Event::ProgramEnv {
            capset,
            vars: Strings::new(list),
        },
        Event::OsProcessPid {
            capset,
            pid: b as u32,
        },
        Event::OsProcessPpid {
            capset,
            ppid: b as u32,
        },
        Event::SparkCounters {
            created: a,
            dud: b,
            overflowed: c,
            converted: d,
            gcd: e,
            fizzled: f,
            remaining: g,
        },
        Event::SparkCreate,
        Event::SparkDud,
        Event::SparkOverflow,
        Event::SparkRun,
        Event::SparkSteal { victim: cap },
        Event::SparkFizzle,
        Event::SparkGc,
        Event::WallClockTime {
            capset,
            unix_seconds: b,
            nanoseconds: c as u32,
        },
        Event::ThreadLabel {
            thread,
            label: text,
        },
        Event::CapCreate { cap },
        Event::CapDelete { cap },
        Event::CapDisable { cap },
        Event::CapEnable { cap },
        Event::HeapAllocated { capset, bytes: b },
        Event::HeapSize { capset, bytes: b },
        Event::HeapLive { capset, bytes: b },
        Event::HeapInfoGhc {
            capset,
            generations: b as u16,
            max_heap_size: c,
            allocation_area_size: d,
            mblock_size: e,
            block_size: f,
        },
        Event::GcStatsGhc {
            capset,
            generation: b as u16,
            copied: c,
            slop: d,
            fragmentation: e,
            par_threads: f as u32,
            par_max_copied: g,
            par_total_copied: h,
            par_balanced_copied: i,
        },
        Event::GcGlobalSync,
        Event::TaskCreate {
            task,
            cap,
            kernel_thread: KernelThreadId(b),
        },
        Event::TaskMigrate {
            task,
            from: cap,
            to,
        },
        Event::TaskDelete { task },
        Event::UserMarker { name: text },
        Event::MemReturn {
            capset,
            current: b as u32,
            needed: c as u32,
            returned: d as u32,
        },
        Event::BlocksSize { capset, bytes: b },
        Event::HeapProfBegin {
            profile,
            period_ns: c,
            breakdown,
            filter,
        },
        Event::HeapProfCostCentre {
            cost_centre: a as u32,
            label: z(0),
            module: z(1),
            location: z(2),
            flags: CostCentreFlags(b as u8),
        },
        Event::HeapProfSampleBegin { era: a },
        Event::HeapProfSampleCostCentre {
            profile,
            residency: c,
            stack,
        },
        Event::HeapProfSampleString {
            profile,
            residency: c,
            label: z(0),
        },
        Event::HeapProfSampleEnd { era: a },
        Event::HeapBioProfSampleBegin { era: a, time_ns: b },
        Event::ProfSampleCostCentre {
            cap: a as u32,
            tick: b,
            stack,
        },
        Event::ProfBegin {
            tick_interval_ns: a,
        },
        Event::InfoTable {
            info: a,
            name: z(0),
            closure_description: z(1),
            type_description: z(2),
            label: z(3),
            module: z(4),
            location: z(5),
        },
        Event::UserBinaryMessage { bytes },
        Event::ConcMarkBegin,
        Event::ConcMarkEnd {
            marked_objects: a as u32,
        },
        Event::ConcSyncBegin,
        Event::ConcSyncEnd,
        Event::ConcSweepBegin,
        Event::ConcSweepEnd,
        Event::ConcUpdRemSetFlush { cap },
        Event::NonmovingHeapCensus {
            block_size: a as u16,
            active_segments: b as u32,
            filled_segments: c as u32,
            live_blocks: d as u32,
        },
        Event::NonmovingPrunedSegments {
            pruned: a as u32,
            free: b as u32,
        },
        Event::TickyCounterDef {
            counter: a,
            arity: c as u16,
            argument_kinds: z(0),
            name: z(1),
            info,
        },
        Event::TickyCounterSample {
            counter: a,
            entries: b,
            allocations: c,
            allocated: d,
        },
        Event::TickyCounterBeginSample,
        Event::EventsLost {
            cause: LossCause::from_code(a as u8),
            events: b,
            bytes: c,
        },
    ]
}

fn with_event<R>(fields: &Fields, then: impl FnOnce(Event<'_>) -> R) -> R {
    let list: Vec<ZStr<'_>> = fields
        .list
        .iter()
        .map(|text| ZStr::new(text).unwrap())
        .collect();
    let events = all_events(fields, &list);
    then(events[fields.variant % events.len()])
}

/// The event, written by both ways of encoding.
fn encode(event: Event<'_>, time: u64) -> Vec<u8> {
    let mut bytes = vec![0xaa; 3];
    assert_eq!(event.encode_to_vec(time, &mut bytes), event.encoded_len());
    assert_eq!(bytes.len(), 3 + event.encoded_len());
    let mut out = vec![MaybeUninit::new(0xaa); event.encoded_len() + 5];
    assert_eq!(event.encode(time, &mut out), event.encoded_len());
    // SAFETY: every byte was initialised above, and none is made uninitialised by a write.
    let out: Vec<u8> = out
        .iter()
        .map(|byte| unsafe { byte.assume_init() })
        .collect();
    assert_eq!(out[..event.encoded_len()], bytes[3..]);
    assert_eq!(out[event.encoded_len()..], [0xaa; 5]);
    bytes.split_off(3)
}

/// The only event in these bytes must be this one.
fn assert_decodes_as(bytes: &[u8], time: u64, want: Event<'_>) {
    let mut found = events(bytes, Header::standard());
    let raw = found.next().unwrap().unwrap();
    assert_eq!((raw.id, raw.time, raw.bytes()), (want.id(), time, bytes));
    assert_eq!(raw.decode(), Ok(Decoded::Known(want)));
    assert_eq!(found.next(), None);
}

#[test]
fn every_type_that_the_header_declares_has_an_event() {
    let sample = Fields {
        variant: 0,
        ints: [1; 9],
        cap: CapNo::default(),
        to: CapNo::default(),
        status: StopStatus::Finished,
        kind: CapsetType::Custom,
        breakdown: HeapBreakdown::Era,
        texts: vec![String::new(); 7],
        list: vec![],
        bytes: vec![],
        stack: vec![],
        more: 0,
    };
    let ids: BTreeSet<u16> = all_events(&sample, &[]).iter().map(Event::id).collect();
    let declared = Header::standard()
        .event_types()
        .iter()
        .map(|declared| declared.id);
    // The block marker, and two that are declared and never written.
    let other = [18, 42, 59];
    assert_eq!(ids, declared.filter(|id| !other.contains(id)).collect());
}

proptest! {
    #[test]
    fn an_event_that_fits_is_decoded_as_itself(fields in any_fields(), time in int()) {
        with_event(&fields, |event| {
            assert_eq!(event.fitted(), event);
            assert_decodes_as(&encode(event, time), time, event);
        });
    }

    #[test]
    fn a_log_is_decoded_as_its_events_in_any_split(
        blocks in vec((prop::option::of(cap()), vec((any_fields(), int()), 0..8)), 0..4),
        cuts in vec(any::<Index>(), 0..20),
        end_inside in any::<bool>(),
    ) {
        let mut log = Header::standard().encode();
        let mut want = Vec::new();
        for (n, (cap, events)) in blocks.iter().enumerate() {
            let mut body = Vec::new();
            for (fields, time) in events {
                with_event(fields, |event| {
                    want.push((*cap, *time, format!("{event:?}")));
                    body.extend(encode(event, *time));
                });
            }
            if end_inside && n + 1 == blocks.len() {
                body.extend(END_MARKER);
            }
            let size = (BlockMarker::LEN + body.len()) as u32;
            log.extend(BlockMarker { begin: 1, size, end: 2, cap: *cap }.encode());
            log.extend(body);
        }
        if !end_inside || blocks.is_empty() {
            log.extend(END_MARKER);
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(log.len())).collect();
        cuts.extend([0, log.len()]);
        cuts.sort_unstable();

        let mut found = Vec::new();
        let mut ended = false;
        let mut decoder = Decoder::new();
        for piece in cuts.windows(2) {
            let mut input = &log[piece[0]..piece[1]];
            while let Some(record) = decoder.next(&mut input).unwrap() {
                match record {
                    Record::Event(raw) => {
                        assert_eq!(raw.bytes(), &log[raw.offset as usize..][..raw.bytes().len()]);
                        let Decoded::Known(event) = raw.decode().unwrap() else { panic!() };
                        found.push((raw.cap, raw.time, format!("{event:?}")));
                    }
                    Record::End => ended = true,
                    _ => {}
                }
            }
            assert!(input.is_empty());
        }
        decoder.finish().unwrap();
        assert!(ended);
        assert_eq!(found, want);
    }
}

/// Texts, lists and bytes of which any may be too long for an event.
fn huge_fields() -> impl Strategy<Value = Fields> {
    let huge = || {
        (text(1..4), prop_oneof![0..300usize, 15_000..70_000usize])
            .prop_map(|(unit, len)| unit.repeat(len / unit.len() + 1))
    };
    let bytes = (any::<u8>(), 60_000..70_000usize).prop_map(|(byte, len)| vec![byte; len]);
    fields(vec(huge(), 7), vec(huge(), 0..6), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_too_long_is_cut_between_characters(fields in huge_fields(), time in int()) {
        with_event(&fields, |event| {
            let bytes = encode(event, time);
            assert!(bytes.len() <= VARIABLE_HEAD + MAX_PAYLOAD);
            assert_decodes_as(&bytes, time, event.fitted());
            // The cut loses no more than the rest of the characters that it goes through, of
            // which a filter has up to seven.
            if event.fitted() != event && !matches!(event, Event::TickyCounterDef { .. }) {
                assert!(bytes.len() > VARIABLE_HEAD + MAX_PAYLOAD - 7 * 4, "{}", bytes.len());
            }
        });
    }
}

#[test]
fn text_is_cut_at_the_limit_and_not_before() {
    let text = "x".repeat(MAX_PAYLOAD + 1);
    for over in [0, 1] {
        let event = Event::UserMessage {
            text: &text[..MAX_PAYLOAD + over],
        };
        assert_eq!(event.encoded_len(), VARIABLE_HEAD + MAX_PAYLOAD);
        let want = Event::UserMessage {
            text: &text[..MAX_PAYLOAD],
        };
        assert_decodes_as(&encode(event, 1), 1, want);
    }
    // The last character that fits is whole.
    for (character, len) in [("ö", 65_534), ("€", 65_535), ("𝄞", 65_532)] {
        let text = character.repeat(40_000);
        let want = Event::UserMarker { name: &text[..len] };
        assert_decodes_as(&encode(Event::UserMarker { name: &text }, 1), 1, want);
    }
}

#[test]
fn lists_lose_their_last_texts() {
    let long = "x".repeat(40_000);
    let texts = [&long[..], &long, "", "short"].map(|text| ZStr::new(text).unwrap());
    let event = Event::ProgramArgs {
        capset: CapsetId(0),
        args: Strings::new(&texts),
    };
    let Event::ProgramArgs { args, .. } = event.fitted() else {
        panic!()
    };
    let left: Vec<usize> = args.iter().map(str::len).collect();
    assert_eq!(left, [40_000, MAX_PAYLOAD - 4 - 40_001 - 1]);
    assert_decodes_as(&encode(event, 1), 1, event.fitted());
}

#[test]
fn events_that_lie_whole_in_a_piece_are_borrowed_from_it() {
    let mut data = Vec::new();
    for text in ["first", "second", "third"] {
        Event::UserMessage { text }.encode_to_vec(1, &mut data);
    }
    let second = VARIABLE_HEAD + "first".len();
    let mut decoder = Decoder::after_header(Header::standard().clone());
    let mut borrowed = Vec::new();
    // The second event is split.
    for piece in [&data[..second + 3], &data[second + 3..]] {
        let mut input = piece;
        while let Some(record) = decoder.next(&mut input).unwrap() {
            let Record::Event(event) = record else {
                panic!()
            };
            borrowed.push(piece.as_ptr_range().contains(&event.bytes().as_ptr()));
        }
    }
    assert_eq!(borrowed, [true, false, true]);
}

#[test]
fn a_fixed_event_has_its_declared_size() {
    let fixed = Event::SparkSteal {
        victim: CapNo::default(),
    };
    assert_eq!(encode(fixed, 1).len(), FIXED_HEAD + 2);
    for time in [0, 1, u64::MAX] {
        assert_decodes_as(&encode(fixed, time), time, fixed);
    }
}
