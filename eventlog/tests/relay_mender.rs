//! What a mender does to a write, write by write.

mod relay_support;

use ghc_eventlog::format::{
    BlockMarker, CapNo, DecodeErrorKind, Decoder, END_MARKER, Event, EventSize, EventType, Header,
    Record, StopStatus, ThreadId,
};
use ghc_eventlog::relay::{Mender, SetAsideReason};
use proptest::prelude::*;
use relay_support::{check, log_of, writes_of};

fn header() -> Vec<u8> {
    Header::standard().encode()
}

fn body(list: &[(u64, Event<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (time, event) in list {
        event.encode_to_vec(*time, &mut out);
    }
    out
}

fn block_of(cap: u16, end: u64, body: &[u8]) -> Vec<u8> {
    let marker = BlockMarker {
        begin: 0,
        size: (BlockMarker::LEN + body.len()) as u32,
        end,
        cap: CapNo::new(cap),
    };
    [&marker.encode(), body].concat()
}

fn block(cap: u16, list: &[(u64, Event<'_>)]) -> Vec<u8> {
    let end = list.iter().map(|(time, _)| *time).max().unwrap_or(0);
    block_of(cap, end, &body(list))
}

fn run(thread: u32) -> Event<'static> {
    Event::RunThread {
        thread: ThreadId(thread),
    }
}

fn stop(thread: u32) -> Event<'static> {
    Event::StopThread {
        thread: ThreadId(thread),
        status: StopStatus::Yielding,
        info: 0,
    }
}

fn create(thread: u32) -> Event<'static> {
    Event::CreateThread {
        thread: ThreadId(thread),
    }
}

fn migrate(thread: u32, to: u16) -> Event<'static> {
    Event::MigrateThread {
        thread: ThreadId(thread),
        to: CapNo::new(to).unwrap(),
    }
}

const MESSAGE: Event<'static> = Event::UserMessage { text: "hello" };

/// A mender that has seen these blocks.
fn after(blocks: &[Vec<u8>]) -> Mender {
    let mut mender = Mender::new();
    mender.take(&header()).unwrap();
    for block in blocks {
        mender.take(block).unwrap();
    }
    mender
}

/// The capability that these events are given after these blocks.
fn cap_of(blocks: &[Vec<u8>], loose: &[(u64, Event<'_>)]) -> Option<u16> {
    let write = body(loose);
    let mut mender = after(blocks);
    let pieces: Vec<_> = mender.take(&write).unwrap().collect();
    assert_eq!(pieces.len(), 1);
    let [marker, events] = pieces[0].parts();
    assert_eq!(events, write);
    let marker = BlockMarker::from_bytes(marker.first_chunk().unwrap());
    assert_eq!(
        mender.mends().markers_without_cap,
        u64::from(marker.cap.is_none())
    );
    marker.cap.map(CapNo::get)
}

/// Why the write is set aside; and that it leaves no trace but in the counts.
fn refused(mender: &mut Mender, write: &[u8]) -> (u64, SetAsideReason) {
    let before = *mender.mends();
    let aside = mender.take(write).unwrap_err();
    assert_eq!(aside.len, write.len());
    let after = *mender.mends();
    assert_eq!(after.writes, before.writes + 1);
    assert_eq!(after.writes_set_aside, before.writes_set_aside + 1);
    assert_eq!(
        after.bytes_set_aside,
        before.bytes_set_aside + write.len() as u64
    );
    assert_eq!(after.bytes_passed, before.bytes_passed);
    assert_eq!(after.mended(), before.mended());
    (aside.offset, aside.reason)
}

#[test]
fn an_end_marker_inside_a_block_is_cut_off() {
    let events = body(&[(1, MESSAGE)]);
    let whole = block_of(u16::MAX, 2, &[&events[..], &END_MARKER].concat());
    let mut mender = after(&[]);
    let pieces: Vec<_> = mender.take(&whole).unwrap().collect();
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].parts().concat(), block_of(u16::MAX, 2, &events));
    assert!(mender.has_ended());
    let mends = mender.mends();
    assert_eq!((mends.end_markers, mends.end_markers_cut), (1, 1));
    assert_eq!(mends.early_end_markers, 0);
}

#[test]
fn an_otherwise_empty_block_with_the_end_marker_becomes_an_empty_one() {
    let (log, mends) = log_of(&[header(), block_of(u16::MAX, 2, &END_MARKER)]);
    assert_eq!(
        log,
        [header(), block(u16::MAX, &[]), END_MARKER.to_vec()]
            .concat()
            .into_iter()
            .enumerate()
            .map(|(at, byte)| {
                // The time at which the block ended stays.
                if at == header().len() + 21 { 2 } else { byte }
            })
            .collect::<Vec<_>>()
    );
    assert_eq!(mends.end_markers_cut, 1);
    check(&log);
}

#[test]
fn payload_that_looks_like_an_end_marker_stays() {
    let message = Event::UserBinaryMessage {
        bytes: &[0xff, 0xff],
    };
    let (log, mends) = log_of(&[header(), block(0, &[(1, message)])]);
    assert_eq!(mends.end_markers, 0);
    assert_eq!(check(&log), 1);
}

#[test]
fn an_end_marker_is_early_only_if_something_follows() {
    let some = block(0, &[(1, MESSAGE)]);
    for (writes, early) in [
        (vec![header(), END_MARKER.to_vec()], 0),
        (vec![header(), END_MARKER.to_vec(), header()], 0),
        (vec![header(), END_MARKER.to_vec(), END_MARKER.to_vec()], 1),
        (vec![header(), END_MARKER.to_vec(), some.clone()], 1),
        (
            vec![header(), [&some[..], &END_MARKER].concat(), some.clone()],
            1,
        ),
    ] {
        let (log, mends) = log_of(&writes);
        assert_eq!(mends.early_end_markers, early);
        check(&log);
    }
}

#[test]
fn nothing_passes_before_a_header() {
    let mut mender = Mender::new();
    for write in [
        block(0, &[(1, MESSAGE)]),
        END_MARKER.to_vec(),
        b"hd".to_vec(),
    ] {
        assert_eq!(refused(&mut mender, &write), (0, SetAsideReason::NoHeader));
    }
    assert!(mender.take(&[]).unwrap().next().is_none());
    let len = header().len() - 1;
    let (offset, reason) = refused(&mut mender, &header()[..len]);
    let partial = len as u64;
    assert_eq!(
        reason,
        SetAsideReason::Header(DecodeErrorKind::Truncated { partial })
    );
    assert_eq!(offset, 0);
    assert_eq!(mender.take(&header()).unwrap().count(), 1);
}

#[test]
fn another_header_and_all_under_it_is_set_aside_until_the_first_one_comes_again() {
    let types = Header::standard().event_types().iter().cloned();
    let mine = EventType::new(19, EventSize::Fixed(1), "User message");
    let other = Header::new(types.filter(|known| known.id != 19).chain([mine])).unwrap();
    let some = block(0, &[(1, MESSAGE)]);
    let mut mender = after(std::slice::from_ref(&some));
    assert_eq!(
        refused(&mut mender, &other.encode()),
        (0, SetAsideReason::OtherHeader)
    );
    assert_eq!(
        refused(&mut mender, &some),
        (0, SetAsideReason::UnderOtherHeader)
    );
    assert_eq!(
        refused(&mut mender, &END_MARKER),
        (0, SetAsideReason::UnderOtherHeader)
    );
    assert_eq!(mender.take(&header()).unwrap().count(), 0);
    assert_eq!(mender.take(&some).unwrap().count(), 1);
    assert_eq!(mender.mends().repeated_headers, 1);
}

#[test]
fn a_header_without_ghcs_block_markers_is_set_aside() {
    let standard = || Header::standard().event_types().iter().cloned();
    let without = Header::new(standard().filter(|known| known.id != 18)).unwrap();
    let reason = SetAsideReason::BlockMarkers { size: None };
    assert_eq!(refused(&mut Mender::new(), &without.encode()), (0, reason));
    let longer = Header::new(standard().map(|known| {
        let size = if known.id == 18 {
            EventSize::Fixed(20)
        } else {
            known.size
        };
        EventType::new(known.id, size, known.description)
    }));
    let size = Some(EventSize::Fixed(20));
    let reason = SetAsideReason::BlockMarkers { size };
    assert_eq!(
        refused(&mut Mender::new(), &longer.unwrap().encode()),
        (0, reason)
    );
}

#[test]
fn a_stray_marker_is_dropped_before_the_first_header_too() {
    let stray = [block(u16::MAX, &[]), header()].concat();
    let (log, mends) = log_of(&[stray]);
    assert_eq!(log, [header(), END_MARKER.to_vec()].concat());
    assert_eq!((mends.stray_markers, mends.repeated_headers), (1, 0));
}

#[test]
fn faults_are_told_with_their_place() {
    let good = block(0, &[(1, MESSAGE)]);
    let mut mender = after(&[]);
    let mut fault = |write: &[u8]| refused(&mut mender, write);

    let beyond = SetAsideReason::BlockBeyondWrite {
        size: good.len() as u32,
        left: good.len() - 1,
    };
    assert_eq!(fault(&good[..good.len() - 1]), (0, beyond));
    assert_eq!(
        fault(&[&good[..], &good[..40]].concat()).0,
        good.len() as u64
    );

    let (offset, reason) = fault(&[&good[..], &[0; 14]].concat());
    assert_eq!(
        (offset, reason),
        (good.len() as u64, SetAsideReason::AfterBlock)
    );
    let (offset, reason) = fault(&[&good[..], &good[..23]].concat());
    let partial = 23;
    let cut = SetAsideReason::Framing(DecodeErrorKind::Truncated { partial });
    assert_eq!((offset, reason), (good.len() as u64, cut));

    let mut short = good.clone();
    short[10..14].copy_from_slice(&23u32.to_be_bytes());
    let kind = DecodeErrorKind::BlockTooShort {
        size: 23,
        least: 24,
    };
    assert_eq!(fault(&short), (0, SetAsideReason::Framing(kind)));

    let mut undeclared = good.clone();
    undeclared[24..26].copy_from_slice(&900u16.to_be_bytes());
    let kind = DecodeErrorKind::UndeclaredEvent { id: 900 };
    assert_eq!(fault(&undeclared), (24, SetAsideReason::Framing(kind)));

    let mut crossing = [&good[..], &good].concat();
    let at = good.len() + 24 + 11;
    crossing[at] += 1;
    let kind = DecodeErrorKind::CrossesBlock {
        id: 19,
        event_end: crossing.len() as u64 + 1,
        block_end: crossing.len() as u64,
    };
    let offset = good.len() as u64 + 24;
    assert_eq!(fault(&crossing), (offset, SetAsideReason::Framing(kind)));

    let inner = block_of(0, 1, &good);
    let block_end = inner.len() as u64;
    let kind = DecodeErrorKind::MarkerInsideBlock { block_end };
    assert_eq!(fault(&inner), (24, SetAsideReason::Framing(kind)));

    let early = [block_of(0, 1, &END_MARKER), good.clone()].concat();
    let kind = DecodeErrorKind::AfterEnd;
    assert_eq!(fault(&early), (26, SetAsideReason::Framing(kind)));
    let early = block_of(0, 1, &[&END_MARKER[..], &body(&[(1, MESSAGE)])].concat());
    let block_end = early.len() as u64;
    let kind = DecodeErrorKind::EndInsideBlock { block_end };
    assert_eq!(fault(&early), (24, SetAsideReason::Framing(kind)));

    assert_eq!(mender.take(&good).unwrap().count(), 1);
    assert_eq!(mender.mends().blocks, 1);
}

#[test]
fn the_limit_counts_the_marker_that_is_added() {
    let loose = body(&[(1, MESSAGE)]);
    let size = loose.len() + 24;
    let limit = header().len();
    let pad = Event::UserBinaryMessage {
        bytes: &vec![0; limit - size - 12],
    };
    let fits = body(&[(1, MESSAGE), (2, pad)]);
    assert_eq!(fits.len() + 24, limit);
    let mut mender = Mender::with_block_limit(limit);
    mender.take(&header()).unwrap();
    assert_eq!(mender.take(&fits).unwrap().next().unwrap().len(), limit);
    let whole = block_of(0, 1, &[&fits[..], &END_MARKER].concat());
    assert_eq!(mender.take(&whole).unwrap().next().unwrap().len(), limit);
    let over = [fits, body(&[(3, Event::GcStart)])].concat();
    let too_long = SetAsideReason::BlockTooLong {
        size: limit + 10,
        limit,
    };
    assert_eq!(refused(&mut mender, &over), (0, too_long));
    assert_eq!(refused(&mut mender, &block_of(0, 1, &over)), (0, too_long));
}

#[test]
fn a_thread_that_goes_on_running_tells_the_capability() {
    let blocks = [block(0, &[(1, run(7))]), block(1, &[(1, run(8))])];
    assert_eq!(
        cap_of(
            &blocks,
            &[(2, MESSAGE), (3, stop(7)), (4, run(8)), (5, run(9))]
        ),
        Some(0)
    );
    assert_eq!(cap_of(&blocks, &[(2, MESSAGE), (3, stop(8))]), Some(1));
}

#[test]
fn threads_speak_for_where_they_were_last_seen() {
    let blocks = [
        block(0, &[(1, run(7)), (2, stop(7)), (3, run(9)), (4, stop(9))]),
        block(1, &[(1, run(8)), (2, stop(8)), (3, migrate(9, 0))]),
    ];
    assert_eq!(cap_of(&blocks, &[(5, run(7))]), Some(0));
    assert_eq!(
        cap_of(&blocks, &[(5, run(8)), (6, stop(8)), (7, run(8))]),
        Some(1)
    );
    // Two to one, however often each of them runs.
    let threads = [
        (5, run(8)),
        (6, stop(8)),
        (7, run(8)),
        (8, run(7)),
        (9, run(9)),
    ];
    assert_eq!(cap_of(&blocks, &threads), Some(0));
}

#[test]
fn a_draw_and_silence_are_decided_for_no_capability() {
    let blocks = [
        block(0, &[(1, run(7)), (2, stop(7))]),
        block(1, &[(1, run(8)), (2, stop(8))]),
    ];
    assert_eq!(cap_of(&blocks, &[(5, run(7)), (6, run(8))]), None);
    assert_eq!(cap_of(&blocks, &[(5, MESSAGE)]), None);
    assert_eq!(
        cap_of(&blocks, &[(5, create(7)), (6, run(7))]),
        None,
        "made again"
    );
    assert_eq!(cap_of(&[], &[(5, run(7))]), None);
}

#[test]
fn events_that_no_capability_emits_belong_to_none() {
    let blocks = [block(0, &[(1, run(7))])];
    let cap = CapNo::new(0).unwrap();
    assert_eq!(cap_of(&blocks, &[(5, Event::CapCreate { cap })]), None);
}

#[test]
fn what_a_thread_did_later_says_nothing() {
    let blocks = [
        block(0, &[(1, run(7)), (2, stop(7))]),
        block(1, &[(1, run(8)), (2, stop(8)), (90, run(7)), (91, stop(7))]),
        block(2, &[(1, run(9)), (2, stop(9))]),
    ];
    assert_eq!(cap_of(&blocks, &[(5, run(7))]), None);
}

#[test]
fn all_but_one_can_be_ruled_out() {
    let two = [block(0, &[(1, MESSAGE)]), block(1, &[(1, MESSAGE)])];
    assert_eq!(cap_of(&two, &[(5, migrate(3, 0))]), Some(1));
    let victim = CapNo::new(1).unwrap();
    assert_eq!(cap_of(&two, &[(5, Event::SparkSteal { victim })]), Some(0));
    let later = [block(0, &[(1, MESSAGE)]), block(1, &[(100, MESSAGE)])];
    assert_eq!(
        cap_of(&later, &[(5, run(3))]),
        Some(0),
        "capability 1 is beyond that"
    );
    assert_eq!(
        cap_of(&two[..1], &[(5, MESSAGE)]),
        Some(0),
        "the only one known"
    );
    // Collections are dated back: their times rule out nothing.
    assert_eq!(cap_of(&later, &[(5, Event::GcStart)]), None);
}

#[test]
fn a_block_in_the_same_write_tells_the_capability() {
    let mut mender = after(&[block(0, &[(1, run(7))]), block(1, &[(1, MESSAGE)])]);
    let write = [body(&[(2, MESSAGE)]), block(1, &[(3, MESSAGE)])].concat();
    let caps: Vec<_> = mender
        .take(&write)
        .unwrap()
        .map(|piece| piece.parts().concat()[22..24].to_vec())
        .collect();
    assert_eq!(caps, [[0, 1], [0, 1]]);
}

#[test]
fn a_restart_makes_running_threads_unknown() {
    let blocks = [
        block(0, &[(1, run(7))]),
        block(
            1,
            &[(1, run(8)), (2, stop(8)), (3, run(9)), (4, migrate(7, 1))],
        ),
        header(),
    ];
    assert_eq!(
        cap_of(&blocks, &[(5, stop(7))]),
        Some(1),
        "where it was last moved to"
    );
}

#[test]
fn thread_numbers_of_any_size_and_count_are_remembered_in_bounded_memory() {
    let mut list: Vec<_> = (0..20_000).map(|at| (at, run(at as u32))).collect();
    list.push((20_000, run(u32::MAX)));
    list.push((20_001, stop(u32::MAX)));
    let blocks = [block(3, &list), block(4, &[(1, run(1)), (20_001, stop(1))])];
    assert_eq!(cap_of(&blocks, &[(30_000, run(u32::MAX))]), Some(3));
    assert_eq!(cap_of(&blocks, &[(30_000, run(19_999))]), Some(3));
    assert_eq!(cap_of(&blocks, &[(30_000, run(2))]), None, "forgotten");
}

/// Blocks that pass must make a log whatever else was in the stream.
fn assert_valid(writes: &[Vec<u8>]) {
    let (log, mends) = log_of(writes);
    let bytes: usize = writes.iter().map(Vec::len).sum();
    assert_eq!(mends.bytes, bytes as u64);
    if !log.is_empty() {
        check(&log);
    }
}

/// Header, short writes of every kind, and the starts of long ones without a marker.
fn every_kind_of_write() -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut writes = writes_of("restart");
    let header = writes.remove(0);
    for mut loose in writes_of("refused").drain(5..7) {
        loose.truncate(700);
        writes.push(loose);
    }
    (header, writes)
}

#[test]
fn a_write_cut_anywhere_leaves_a_valid_log() {
    let (header, writes) = every_kind_of_write();
    for write in &writes {
        for len in 0..write.len() {
            let cut = write[..len].to_vec();
            assert_valid(&[header.clone(), cut, writes[2].clone()]);
        }
    }
    for len in 0..header.len() {
        let cut = header[..len].to_vec();
        assert_valid(&[cut, writes[2].clone(), header.clone(), writes[2].clone()]);
    }
}

#[test]
fn a_wrong_byte_anywhere_leaves_a_valid_log() {
    let (header, mut writes) = every_kind_of_write();
    let global = writes[2].clone();
    writes.push(header.clone());
    for write in &writes {
        for at in 0..write.len() {
            let mut wrong = write.clone();
            wrong[at] ^= 1 << (at % 8);
            assert_valid(&[header.clone(), wrong.clone(), global.clone()]);
            assert_valid(&[wrong, global.clone()]);
        }
    }
}

fn writes() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let loose = body(&[(1, MESSAGE), (2, run(3)), (3, stop(3))]);
    let part = prop_oneof![
        4 => Just(block(0, &[(1, MESSAGE), (2, run(3))])),
        4 => Just(loose),
        2 => Just(END_MARKER.to_vec()),
        1 => Just(header()),
        1 => Just(block_of(u16::MAX, 1, &END_MARKER)),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        1 => prop::collection::vec(prop_oneof![Just(0u8), Just(18), Just(0xff)], 0..40),
    ];
    let write = prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat());
    prop::collection::vec(write, 0..8)
}

proptest! {
    #[test]
    fn any_mixture_of_writes_makes_a_valid_log(writes in writes(), with_header: bool) {
        let mut all = Vec::new();
        if with_header {
            all.push(header());
        }
        all.extend(writes);
        assert_valid(&all);
    }

    #[test]
    fn changed_bytes_make_a_valid_log(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        name in prop::sample::select(vec!["plain", "restart"]),
    ) {
        let mut writes = writes_of(name);
        for (at, value) in changes {
            let total: usize = writes.iter().map(Vec::len).sum();
            let mut at = at.index(total);
            for write in &mut writes {
                if at < write.len() {
                    write[at] = value;
                    break;
                }
                at -= write.len();
            }
        }
        assert_valid(&writes);
    }
}

#[test]
fn a_header_is_told_from_its_first_bytes() {
    let mut decoder = Decoder::new();
    assert!(matches!(
        decoder.next(&mut &header()[..]).unwrap(),
        Some(Record::Header(_))
    ));
    let mut mender = Mender::new();
    mender.take(&header()).unwrap();
    assert_eq!(mender.header(), Some(Header::standard()));
}

#[test]
fn the_logs_header_ends_what_comes_under_another_also_where_it_comes_for_the_first_time() {
    let mut mender = Mender::under(Header::standard().clone());
    let other = EventType::new(300, EventSize::Variable, "other");
    let mut types = Header::standard().event_types().to_vec();
    types.push(other);
    let other = Header::new(types).unwrap().encode();
    let events = block(0, &[(5, Event::GcStart)]);
    assert_eq!(
        mender.take(&other).unwrap_err().reason,
        SetAsideReason::OtherHeader
    );
    assert_eq!(
        mender.take(&events).unwrap_err().reason,
        SetAsideReason::UnderOtherHeader
    );
    mender.take(&header()).unwrap();
    assert_eq!(mender.take(&events).unwrap().count(), 1);
}
