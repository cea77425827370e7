//! Payloads of older and newer run-time systems are read as the events that they would be today.

use ghc_eventlog::format::{
    CapNo, CapsetId, Decoded, Event, EventSize, EventType, Header, KernelThreadId, StopStatus,
    TaskId, ThreadId, TickyInfo, ZStr, events,
};

/// The event in a payload, in a log that declares these types besides.
fn read(types: &[(u16, u16)], id: u16, payload: &[u8], check: impl Fn(Decoded<'_>)) {
    let header = Header::new(
        types
            .iter()
            .map(|(id, size)| EventType::new(*id, EventSize::from_field(*size), "")),
    )
    .unwrap();
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend(1u64.to_be_bytes());
    if header.size(id).unwrap() == EventSize::Variable {
        bytes.extend((payload.len() as u16).to_be_bytes());
    }
    bytes.extend(payload);
    let mut found = events(&bytes, &header);
    check(found.next().unwrap().unwrap().decode().unwrap());
    assert_eq!(found.next(), None);
}

fn reads_as(types: &[(u16, u16)], id: u16, payload: &[u8], want: Event<'_>) {
    read(types, id, payload, |found| {
        assert_eq!(found, Decoded::Known(want))
    });
}

/// `n` bytes that count from 1.
fn counting(n: u8) -> Vec<u8> {
    (1..=n).collect()
}

#[test]
fn a_stop_before_7_2_has_no_info() {
    for (code, status) in [(1, StopStatus::HeapOverflow), (6, StopStatus::ForeignCall)] {
        let want = Event::StopThread {
            thread: ThreadId(5),
            status,
            info: 0,
        };
        reads_as(&[(2, 6)], 2, &[0, 0, 0, 5, 0, code], want);
    }
    // What a blocked thread waits for was not told.
    read(&[(2, 6)], 2, &[0, 0, 0, 5, 0, 4], |found| {
        assert_eq!(
            found,
            Decoded::Other {
                id: 2,
                payload: &[0, 0, 0, 5, 0, 4]
            }
        );
    });
}

#[test]
fn gc_statistics_before_8_8_lack_the_last_field() {
    let at = |bytes: [u8; 8]| u64::from_be_bytes(bytes);
    let want = |par_balanced_copied| Event::GcStatsGhc {
        capset: CapsetId(0x0102_0304),
        generation: 0x0506,
        copied: at([7, 8, 9, 10, 11, 12, 13, 14]),
        slop: at([15, 16, 17, 18, 19, 20, 21, 22]),
        fragmentation: at([23, 24, 25, 26, 27, 28, 29, 30]),
        par_threads: 0x1f20_2122,
        par_max_copied: at([35, 36, 37, 38, 39, 40, 41, 42]),
        par_total_copied: at([43, 44, 45, 46, 47, 48, 49, 50]),
        par_balanced_copied,
    };
    reads_as(&[(53, 50)], 53, &counting(50), want(0));
    // Between two layouts, the smaller one counts.
    reads_as(&[(53, 57)], 53, &counting(57), want(0));
    let last = at([51, 52, 53, 54, 55, 56, 57, 58]);
    reads_as(&[(53, 58)], 53, &counting(58), want(last));
    reads_as(&[(53, 66)], 53, &counting(66), want(last));
}

#[test]
fn a_task_of_14_bytes_has_a_narrow_kernel_thread() {
    let want = |kernel_thread| Event::TaskCreate {
        task: TaskId(0x0102_0304_0506_0708),
        cap: CapNo::new(0x090a).unwrap(),
        kernel_thread: KernelThreadId(kernel_thread),
    };
    reads_as(&[(55, 14)], 55, &counting(14), want(0x0b0c_0d0e));
    reads_as(&[(55, 18)], 55, &counting(18), want(0x0b0c_0d0e_0f10_1112));
}

#[test]
fn the_end_of_marking_may_lack_its_count() {
    reads_as(
        &[(201, 0)],
        201,
        &[],
        Event::ConcMarkEnd { marked_objects: 0 },
    );
    reads_as(
        &[(201, 4)],
        201,
        &counting(4),
        Event::ConcMarkEnd {
            marked_objects: 0x0102_0304,
        },
    );
}

#[test]
fn a_census_tells_block_sizes_either_way() {
    let want = |block_size| Event::NonmovingHeapCensus {
        block_size,
        active_segments: 1,
        filled_segments: 2,
        live_blocks: 3,
    };
    let counts = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
    reads_as(
        &[(207, 13)],
        207,
        &[&[15][..], &counts].concat(),
        want(0x8000),
    );
    reads_as(&[(207, 13)], 207, &[&[3][..], &counts].concat(), want(8));
    reads_as(
        &[(207, 14)],
        207,
        &[&[0, 24][..], &counts].concat(),
        want(24),
    );
}

#[test]
fn a_ticky_counter_has_up_to_two_fields_more() {
    let (kinds, name) = (ZStr::new(">").unwrap(), ZStr::new("f").unwrap());
    let want = |info| Event::TickyCounterDef {
        counter: 7,
        arity: 1,
        argument_kinds: kinds,
        name,
        info,
    };
    let base = b"\0\0\0\0\0\0\0\x07\0\x01>\0f\0";
    let info = [&base[..], &[0, 0, 0, 0, 0, 0, 0, 9]].concat();
    let json = [&info[..], b"{}\0"].concat();
    let longer = [&json[..], b"more"].concat();
    reads_as(&[(210, 0xffff)], 210, base, want(None));
    let some = |json| {
        Some(TickyInfo {
            info_table: 9,
            json,
        })
    };
    reads_as(&[(210, 0xffff)], 210, &info, want(some(None)));
    let json_text = Some(ZStr::new("{}").unwrap());
    reads_as(&[(210, 0xffff)], 210, &json, want(some(json_text)));
    reads_as(&[(210, 0xffff)], 210, &longer, want(some(json_text)));
}

#[test]
fn what_a_longer_layout_has_more_is_left_out() {
    reads_as(&[(212, 32)], 212, &[7; 32], Event::TickyCounterBeginSample);
    reads_as(&[(9, 3)], 9, &[7; 3], Event::GcStart);
    let sample = [&[0; 9][..], b"x\0", &[7; 5]].concat();
    let label = ZStr::new("x").unwrap();
    let want = Event::HeapProfSampleString {
        profile: 0,
        residency: 0,
        label,
    };
    reads_as(&[(164, 0xffff)], 164, &sample, want);
    // A variable event may be declared with a fixed size, and the other way round.
    reads_as(&[(19, 2)], 19, b"ab", Event::UserMessage { text: "ab" });
    reads_as(
        &[(1, 0xffff)],
        1,
        &[0, 0, 0, 9],
        Event::RunThread {
            thread: ThreadId(9),
        },
    );
}

#[test]
fn logs_of_6_12_have_wide_thread_ids() {
    let types = [
        (0, 8),
        (1, 8),
        (2, 10),
        (3, 8),
        (4, 10),
        (8, 10),
        (15, 8),
        (9, 0),
    ];
    let thread = ThreadId(0x0102_0304);
    let wide = [0, 0, 0, 0, 1, 2, 3, 4];
    let with = |cap: u8| [&wide[..], &[0, cap]].concat();
    let cap = CapNo::new(5).unwrap();
    reads_as(&types, 0, &wide, Event::CreateThread { thread });
    reads_as(&types, 1, &wide, Event::RunThread { thread });
    reads_as(&types, 3, &wide, Event::ThreadRunnable { thread });
    reads_as(
        &types,
        4,
        &with(5),
        Event::MigrateThread { thread, to: cap },
    );
    reads_as(
        &types,
        8,
        &with(5),
        Event::ThreadWakeup { thread, other: cap },
    );
    reads_as(&types, 15, &wide, Event::CreateSparkThread { thread });
    reads_as(&types, 9, &[], Event::GcStart);
    let status = StopStatus::Finished;
    reads_as(
        &types,
        2,
        &with(5),
        Event::StopThread {
            thread,
            status,
            info: 0,
        },
    );
    read(&types, 2, &with(4), |found| {
        assert!(matches!(found, Decoded::Other { id: 2, .. }))
    });
}

#[test]
fn logs_of_7_8_2_have_moved_stop_statuses() {
    use StopStatus::*;
    let moved = [
        (6, ForeignCall),
        (7, BlockedOnMVar),
        (8, BlockedOnMVarRead),
        (9, BlockedOnBlackHole),
        (10, BlockedOnRead),
        (11, BlockedOnWrite),
        (12, BlockedOnDelay),
        (13, BlockedOnStm),
        (14, BlockedOnDoProc),
        (18, BlockedOnMsgThrowTo),
    ];
    for (code, status) in moved {
        let payload = [0, 0, 0, 1, 0, code, 0, 0, 0, 2];
        let want = Event::StopThread {
            thread: ThreadId(1),
            status,
            info: 2,
        };
        reads_as(&[(2, 10), (58, 0xffff)], 2, &payload, want);
        let today = StopStatus::from_code(u16::from(code));
        if let Some(status) = today {
            let want = Event::StopThread {
                thread: ThreadId(1),
                status,
                info: 2,
            };
            reads_as(&[(2, 10), (58, 0xffff), (59, 0)], 2, &payload, want);
        }
    }
}

#[test]
fn retired_reserved_and_unknown_types_are_given_as_bytes() {
    for id in [
        5, 6, 7, 13, 14, 17, 23, 24, 42, 59, 60, 100, 140, 170, 213, 1000, 0xfffe,
    ] {
        read(&[(id, 3)], id, b"abc", |found| {
            assert_eq!(
                found,
                Decoded::Other {
                    id,
                    payload: b"abc"
                }
            );
        });
    }
}

#[test]
fn a_marker_longer_than_today_s_starts_a_block_all_the_same() {
    use ghc_eventlog::format::{BlockMarker, Decoder, END_MARKER, Record};
    let types = [(18, 16), (9, 0)].map(|(id, size)| EventType::new(id, EventSize::Fixed(size), ""));
    let marker = BlockMarker {
        begin: 1,
        size: 36,
        end: 2,
        cap: CapNo::new(3),
    };
    let mut body = marker.encode().to_vec();
    body.extend([0, 0]);
    Event::GcStart.encode_to_vec(1, &mut body);
    body.extend(END_MARKER);
    let mut decoder = Decoder::after_header(Header::new(types).unwrap());
    let mut input = &body[..];
    let begin = decoder.next(&mut input).unwrap();
    assert_eq!(begin, Some(Record::BlockBegin { offset: 0, marker }));
    let Some(Record::Event(event)) = decoder.next(&mut input).unwrap() else {
        panic!()
    };
    assert_eq!((event.offset, event.cap, event.id), (26, CapNo::new(3), 9));
    assert_eq!(decoder.next(&mut input), Ok(Some(Record::End)));
}

#[test]
fn a_loss_tells_its_cause_and_what_it_cost() {
    use ghc_eventlog::format::LossCause;
    let counts = [&7u64.to_be_bytes()[..], &900u64.to_be_bytes()].concat();
    let causes = [
        (1, LossCause::Full),
        (2, LossCause::Overwritten),
        (3, LossCause::Sink),
        (4, LossCause::Stopped),
        (5, LossCause::TooLarge),
    ];
    assert_eq!(causes.map(|(_, cause)| cause), LossCause::ALL);
    for (code, cause) in causes {
        let want = Event::EventsLost {
            cause,
            events: 7,
            bytes: 900,
        };
        reads_as(&[(1024, 17)], 1024, &[&[code][..], &counts].concat(), want);
        let mut bytes = Vec::new();
        want.encode_to_vec(1, &mut bytes);
        assert_eq!(bytes.len(), 10 + 17);
        assert_eq!((bytes[10], &bytes[11..]), (code, &counts[..]));
    }
    for code in [0, 6, 255] {
        read(
            &[(1024, 17)],
            1024,
            &[&[code][..], &counts].concat(),
            |found| {
                let Decoded::Known(Event::EventsLost { cause, .. }) = found else {
                    panic!("{found:?}")
                };
                assert_eq!(cause.code(), code);
                assert!(!LossCause::ALL.contains(&cause));
            },
        );
    }
}
