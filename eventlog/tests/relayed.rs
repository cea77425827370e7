//! A log whose blocks come from another writer is a log like any other: redirected, attached to, kept in memory,
//! recorded, resized, stopped.

mod relay_support;

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoder, END_MARKER, Event, Header, LossCause, Record, StopStatus,
    ThreadId, UserEventType,
};
use ghc_eventlog::{
    AttachOptions, BlockWriter, CapabilityError, EmitError, EventLog, Keep, NoChunk, Policy,
    Previous, ResizeError, Sink, Start, StartError, WhenFull,
};
use relay_support::{block_of, check, keep, messages, read, writes_of};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

fn started(sink: Sink) -> (EventLog, BlockWriter) {
    let started = EventLog::builder().relayed(sink, Header::standard());
    let (log, writer) = started.unwrap();
    writer.write(&Header::standard().encode()).unwrap();
    (log, writer)
}

fn text(cap: u16, number: usize) -> String {
    format!("{cap} {number}")
}

/// A block of so many messages, numbered on.
fn numbered(cap: u16, from: usize, count: usize) -> Vec<u8> {
    let texts: Vec<_> = (from..from + count)
        .map(|number| text(cap, number))
        .collect();
    messages(cap, from as u64 + 1, &texts)
}

/// Takes what it is given when it is told that it may.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>, Arc<Mutex<Vec<u8>>>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The beginning of the log is taken at once.
        if !bytes.starts_with(b"hdrb") {
            let mut open = self.0.0.lock().unwrap();
            while !*open {
                open = self.0.1.wait(open).unwrap();
            }
        }
        self.1.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_block_of_two_threads_is_in_exactly_one_of_many_sinks_and_in_order() {
    const BLOCKS: usize = 3_000;
    let (first, content) = Sink::memory();
    // Each block counts for 4 KiB, and there may be nobody to take any for a long time.
    let builder = EventLog::builder().buffer_size(2 * BLOCKS * 4096);
    let (log, writer) = builder.relayed(first, Header::standard()).unwrap();
    let mut contents = vec![content];
    let (done, cuts) = (AtomicBool::new(false), AtomicUsize::new(0));
    let cuts = &cuts;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|cap| {
                let writer = writer.clone();
                scope.spawn(move || {
                    for number in 0..BLOCKS {
                        writer.write(&numbered(cap, number * 3, 3)).unwrap();
                        // Relaxed, as below: it orders nothing.
                        while cuts.load(Ordering::Relaxed) < number / 200 {
                            std::thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for writer in writers {
                writer.join().unwrap();
            }
            // Relaxed: it orders nothing.
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) && contents.len() < 200 {
            let (next, content) = Sink::memory();
            log.set_sink(next, Previous::Close, Start::Header).unwrap();
            contents.push(content);
            cuts.fetch_add(1, Ordering::Relaxed);
        }
        cuts.store(BLOCKS, Ordering::Relaxed);
    });
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);
    assert_eq!(statistics.events(), 2 * 3 * BLOCKS as u64);
    let mut found: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (index, content) in contents.iter().enumerate() {
        let bytes = content.bytes();
        if index < 3 {
            keep(&format!("relayed-sink-{index}.eventlog"), &bytes);
        }
        for text in read(&bytes).0 {
            let (cap, number) = text.split_once(' ').unwrap();
            let list = found.entry(cap.parse().unwrap()).or_default();
            list.push(number.parse().unwrap());
        }
    }
    assert_eq!(found.len(), 2);
    for numbers in found.values() {
        assert!(numbers.iter().copied().eq(0..3 * BLOCKS));
    }
    assert!(contents.len() >= 14, "it was redirected while they wrote");
}

#[test]
fn a_cut_is_between_what_has_been_handed_over_and_what_has_not() {
    let (first, before) = Sink::memory();
    let (log, writer) = started(first);
    writer.write(&numbered(0, 0, 2)).unwrap();
    writer.write(&numbered(1, 0, 1)).unwrap();
    let (second, after) = Sink::memory();
    let kept = log.sink();
    log.set_sink(second, Previous::Keep, Start::Header).unwrap();
    writer.write(&numbered(0, 2, 1)).unwrap();
    log.set_sink(kept, Previous::Close, Start::Continue)
        .unwrap();
    writer.write(&numbered(1, 1, 1)).unwrap();
    log.stop().unwrap();
    assert_eq!(read(&before.bytes()).0, ["0 0", "0 1", "1 0", "1 1"]);
    assert_eq!(read(&after.bytes()).0, ["0 2"]);
}

#[test]
fn a_log_that_begins_late_is_told_what_came_before_in_the_time_of_the_other_writer() {
    let (log, writer) = started(Sink::null());
    let mut body = Vec::new();
    let thread = ThreadId(7);
    Event::CreateThread { thread }.encode_to_vec(1_000, &mut body);
    Event::ThreadLabel {
        thread,
        label: "worker",
    }
    .encode_to_vec(1_001, &mut body);
    Event::RunThread { thread }.encode_to_vec(1_002, &mut body);
    writer.write(&block_of(0, 1_002, &body)).unwrap();
    writer.write(&messages(1, 1_500, &[text(1, 0)])).unwrap();
    let (late, content) = Sink::memory();
    log.set_sink(late, Previous::Close, Start::Header).unwrap();
    let mut body = Vec::new();
    let (status, info) = (StopStatus::Finished, 0);
    let stopped = Event::StopThread {
        thread,
        status,
        info,
    };
    stopped.encode_to_vec(2_000, &mut body);
    writer.write(&block_of(0, 2_000, &body)).unwrap();
    log.stop().unwrap();
    let bytes = content.bytes();
    keep("log-threads-relayed.eventlog", &bytes);
    let first = bytes[Header::standard().encoded_len()..].first_chunk();
    let first = BlockMarker::from_bytes(first.unwrap());
    assert_eq!(
        (first.begin, first.end),
        (1_002, 1_500),
        "told at the latest time"
    );
    let mut decoder = ghc_eventlog::format::Decoder::new();
    let mut input = &bytes[..];
    let mut events = Vec::new();
    while let Some(record) = decoder.next(&mut input).unwrap() {
        if let ghc_eventlog::format::Record::Event(raw) = record {
            events.push((raw.id, raw.time, raw.cap.map(CapNo::get)));
        }
    }
    let cap = Some(0);
    let expected = [
        (0, 1_002, cap),
        (44, 1_002, cap),
        (1, 1_002, cap),
        (2, 2_000, cap),
    ];
    assert_eq!(events, expected);
}

#[test]
fn an_attached_reader_gets_a_log_of_its_own() {
    let (sink, all) = Sink::memory();
    let (log, writer) = started(sink);
    writer.write(&numbered(0, 0, 1)).unwrap();
    let (_, content) = Sink::memory();
    let reader = log
        .attach(content.clone(), AttachOptions::default())
        .unwrap();
    writer.write(&numbered(0, 1, 1)).unwrap();
    assert_eq!(log.detach(reader).unwrap().unwrap().lost_events, 0);
    writer.write(&numbered(0, 2, 1)).unwrap();
    log.stop().unwrap();
    assert_eq!(read(&content.bytes()).0, ["0 1"]);
    assert_eq!(read(&all.bytes()).0, ["0 0", "0 1", "0 2"]);
}

#[test]
fn every_block_is_a_chunk_that_is_valid_behind_the_header() {
    let (sink, chunks) = Sink::chunks(1 << 20, WhenFull::DropNewest);
    let (log, writer) = started(sink);
    let (_, attached) = Sink::memory();
    let reader = log.attach(attached.clone(), AttachOptions::default());
    // A small write is copied, a large one changes hands.
    let sizes = [1, 3, 400, 2_000];
    let mut from = 0;
    for count in sizes {
        writer.write(&numbered(0, from, count)).unwrap();
        from += count;
    }
    log.flush().unwrap();
    assert_eq!(chunks.len(), sizes.len());
    let used = chunks.used();
    let mut texts = Vec::new();
    for count in sizes {
        let chunk = chunks.chunk().unwrap();
        assert!(!chunk.is_final());
        let log = [&chunks.header()[..], &chunk, &END_MARKER].concat();
        let (found, _) = read(&log);
        assert_eq!(found.len(), count);
        texts.extend(found);
    }
    assert!(
        texts.iter().map(String::as_str).eq((0..from)
            .map(|number| text(0, number))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str))
    );
    assert!(used > 0);
    assert_eq!(chunks.used(), 0, "dropped chunks give their memory back");
    log.detach(reader.unwrap()).unwrap();
    assert_eq!(
        read(&attached.bytes()).0,
        texts,
        "who looks on has them, too"
    );
    writer.write(&numbered(0, from, 1)).unwrap();
    log.stop().unwrap();
    assert!(chunks.wait_chunk(Duration::ZERO).unwrap().is_final());
    assert_eq!(chunks.chunk().unwrap_err(), NoChunk::Finished);
}

#[test]
fn what_memory_has_no_room_for_waits_and_then_is_lost_and_counted() {
    let (sink, chunks) = Sink::chunks(200_000, WhenFull::DropNewest);
    let builder = EventLog::builder().buffer_size(100_000);
    let (log, writer) = builder.relayed(sink, Header::standard()).unwrap();
    let block = |number: usize| numbered(0, number * 1_000, 1_000);
    let mut lost = 0;
    for number in 0..40 {
        match writer.write(&block(number)) {
            Ok(()) => {}
            Err(EmitError::Full) => lost += 1_000,
            Err(error) => panic!("{error}"),
        }
        let is_full = log.flush().is_err();
        assert!(chunks.used() <= 200_000, "{} bytes", chunks.used());
        assert!(is_full || lost == 0);
    }
    assert!(lost > 0);
    let mut log_bytes = chunks.header();
    let mut popped = Vec::new();
    // Everything that was taken in comes out as room comes.
    loop {
        log.flush().ok();
        match chunks.chunk() {
            Ok(chunk) => popped.extend_from_slice(&chunk),
            Err(_) => break,
        }
    }
    let statistics = log.stop().unwrap();
    while let Ok(chunk) = chunks.chunk() {
        popped.extend_from_slice(&chunk);
    }
    log_bytes.extend(popped);
    log_bytes.extend(END_MARKER);
    let (texts, losses) = read(&log_bytes);
    assert_eq!(texts.len() as u64 + lost, 40_000);
    assert_eq!(statistics.lost().full, lost);
    let told: u64 = losses.iter().map(|(_, _, events)| events).sum();
    assert_eq!(told, lost);
}

#[test]
fn a_full_queue_drops_whole_writes_and_the_log_tells_of_them_in_their_place() {
    let gate = Gate::default();
    let builder = EventLog::builder().buffer_size(70_000);
    let sink = Sink::writer(gate.clone());
    let (log, writer) = builder.relayed(sink, Header::standard()).unwrap();
    // One goes to the sink, which holds it; the budget has room for another one, perhaps.
    let mut taken = 0;
    let mut refused = Vec::new();
    for number in 0..12 {
        // Counts for 16 KiB.
        match writer.write(&numbered(number as u16 % 2, number * 1_000, 800)) {
            Ok(()) => taken += 1,
            Err(error) => {
                assert_eq!(error, EmitError::Full);
                refused.push(number);
            }
        }
    }
    assert!(taken >= 4 && refused.len() >= 4, "{taken} {refused:?}");
    // What carries no event is taken all the same.
    writer.write(&END_MARKER).unwrap();
    writer.write(&Header::standard().encode()).unwrap();
    let before = log_statistics_of(&log, &gate);
    assert_eq!(before, 800 * refused.len() as u64);
    writer.write(&numbered(0, 20_000, 1)).unwrap();
    writer.write(&numbered(1, 20_000, 1)).unwrap();
    let statistics = log.stop().unwrap();
    let relay = statistics.relay.unwrap();
    assert_eq!(relay.dropped_writes, refused.len() as u64);
    assert_eq!(relay.mends.repeated_headers, 0);
    assert_eq!(relay.mends.end_markers, 1);
    for capability in &statistics.capabilities {
        let cap = usize::from(capability.capability.unwrap().get());
        let of_cap = refused.iter().filter(|number| *number % 2 == cap).count();
        assert_eq!(capability.lost.full, 800 * of_cap as u64);
    }
    let (texts, losses) = read(&gate.1.lock().unwrap());
    assert_eq!(texts.len(), 800 * taken + 2);
    // Told before what came after, once for each capability.
    let lost = |cap: usize| {
        let of_cap = refused.iter().filter(|number| *number % 2 == cap).count();
        (Some(cap as u16), LossCause::Full, 800 * of_cap as u64)
    };
    assert_eq!(losses, [lost(0), lost(1)]);
}

/// Lets the sink go on, and tells what had been lost.
fn log_statistics_of(log: &EventLog, gate: &Gate) -> u64 {
    gate.open();
    log.flush().unwrap();
    log.statistics().lost().full
}

#[test]
fn with_overwrite_the_oldest_writes_make_room() {
    let gate = Gate::default();
    let builder = EventLog::builder().buffer_size(70_000);
    let (log, writer) = builder
        .policy(Policy::OverwriteOldest)
        .relayed(Sink::writer(gate.clone()), Header::standard())
        .unwrap();
    for number in 0..12 {
        writer.write(&numbered(0, number * 1_000, 800)).unwrap();
    }
    gate.open();
    let statistics = log.stop().unwrap();
    let (texts, losses) = read(&gate.1.lock().unwrap());
    assert_eq!(texts.last().unwrap(), "0 11799");
    let lost: u64 = losses.iter().map(|(_, _, events)| events).sum();
    assert!(lost >= 800);
    assert!(
        losses
            .iter()
            .all(|(_, cause, _)| *cause == LossCause::Overwritten)
    );
    assert_eq!(statistics.lost().overwritten, lost);
    assert_eq!(texts.len() as u64 + lost, 12 * 800);
    assert_eq!(statistics.events(), 12 * 800);
}

#[test]
fn with_overwrite_what_comes_under_another_header_is_not_taken_for_the_logs() {
    let gate = Gate::default();
    let builder = EventLog::builder().buffer_size(70_000);
    let (log, writer) = builder
        .policy(Policy::OverwriteOldest)
        .relayed(Sink::writer(gate.clone()), Header::standard())
        .unwrap();
    let ty = UserEventType::builder(3, "other").build().unwrap();
    let other = Header::standard().declaring([&ty]).unwrap();
    let header = Header::standard().encode();
    // The sink takes no block yet.
    writer.write(&header).unwrap();
    writer.write(&numbered(0, 0, 1)).unwrap();
    for header in [&other.encode(), &header, &other.encode()] {
        writer.write(header).unwrap();
    }
    for number in 1..13 {
        writer.write(&numbered(0, number * 1_000, 800)).unwrap();
    }
    writer.write(&header).unwrap();
    writer.write(&numbered(0, 50_000, 1)).unwrap();
    gate.open();
    let statistics = log.stop().unwrap();
    let (texts, _) = read(&gate.1.lock().unwrap());
    assert_eq!(texts.last().unwrap(), "0 50000");
    let of_the_other = |text: &&String| !["0 0", "0 50000"].contains(&text.as_str());
    assert_eq!(texts.iter().filter(of_the_other).count(), 0);
    let relay = statistics.relay.unwrap();
    assert!(relay.mends.writes_set_aside > 0 && relay.dropped_writes > 0);
}

#[test]
fn a_write_longer_than_the_budget_is_taken_where_it_is_alone() {
    let (sink, content) = Sink::memory();
    let builder = EventLog::builder().buffer_size(70_000);
    let (log, writer) = builder.relayed(sink, Header::standard()).unwrap();
    for number in 0..3 {
        writer.write(&numbered(0, number * 20_000, 20_000)).unwrap();
        log.flush().unwrap();
    }
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    assert_eq!(read(&content.bytes()).0.len(), 60_000);
}

#[test]
fn memory_stays_within_the_budget_and_goes_back_with_it() {
    let builder = EventLog::builder().buffer_size(1 << 20);
    let (log, writer) = builder.relayed(Sink::null(), Header::standard()).unwrap();
    for number in 0..50 {
        writer
            .write(&numbered(0, number * 1_000, 1 + 400 * (number % 9)))
            .unwrap();
        log.flush().unwrap();
        let memory = log.statistics().shared.memory;
        assert!(memory <= 1 << 20, "{memory} bytes");
    }
    let before = log.statistics().shared.memory;
    assert_eq!(log.buffers_size(), 1 << 20);
    log.resize(65_571).unwrap();
    assert_eq!(log.buffers_size(), 65_571);
    let after = log.statistics().shared.memory;
    assert!(before > 65_571 && after <= 65_571, "{before}, {after}");
    let refused = log.resize(100).unwrap_err();
    let minimum = 65_571;
    assert_eq!(
        refused,
        ResizeError::TooSmall {
            bytes: 100,
            minimum
        }
    );
    assert_eq!(log.buffers_size(), 65_571);
    let grow = Policy::Grow { max_bytes: 1 << 22 };
    log.set_policy(grow);
    assert_eq!(log.policy(), grow);
}

#[test]
fn chunks_that_somebody_has_are_not_of_the_budget_and_their_memory_goes_back_into_it() {
    let (sink, chunks) = Sink::chunks(4 << 20, WhenFull::DropNewest);
    let builder = EventLog::builder().buffer_size(200_000);
    let (log, writer) = builder.relayed(sink, Header::standard()).unwrap();
    let mut taken = Vec::new();
    for number in 0..20 {
        // Counts for 64 KiB.
        writer.write(&numbered(0, number * 2_000, 2_000)).unwrap();
        log.flush().unwrap();
        taken.push(chunks.chunk().unwrap());
    }
    assert!(chunks.used() >= 20 << 16);
    drop(taken);
    assert_eq!(chunks.used(), 0);
    let memory = log.statistics().shared.memory;
    assert!((1 << 16..=200_000).contains(&memory), "{memory} bytes");
    assert_eq!(log.stop().unwrap().lost().total(), 0);
}

#[test]
fn a_snapshot_holds_the_newest_blocks() {
    let sink = Sink::flight_recorder(Keep::bytes(100_000));
    let (log, writer) = started(sink);
    for number in 0..20 {
        writer.write(&numbered(0, number * 1_000, 1_000)).unwrap();
    }
    let mut snapshot = Vec::new();
    log.snapshot(&mut snapshot).unwrap();
    keep("relayed-snapshot.eventlog", &snapshot);
    let (texts, losses) = read(&snapshot);
    assert_eq!(texts.last().unwrap(), "0 19999");
    let lost: u64 = losses.iter().map(|(_, _, events)| events).sum();
    assert_eq!(texts.len() as u64 + lost, 20_000);
    assert_eq!(log.statistics().lost().overwritten, lost);
}

#[test]
fn the_window_of_a_recorder_is_in_the_time_of_the_other_writer() {
    let window = Keep::bytes(1 << 20).newest(Duration::from_nanos(1_500));
    let (log, writer) = started(Sink::flight_recorder(window));
    for number in 0..10 {
        writer.write(&numbered(0, number * 1_000, 2)).unwrap();
    }
    let mut snapshot = Vec::new();
    log.snapshot(&mut snapshot).unwrap();
    let (texts, _) = read(&snapshot);
    assert_eq!(texts, ["0 8000", "0 8001", "0 9000", "0 9001"]);
}

/// A block that says of itself that it began and ended when no clock will ever be.
fn misdated(cap: u16, from: usize, count: usize) -> Vec<u8> {
    let mut block = numbered(cap, from, count);
    block[2..10].fill(0xff);
    block[14..22].fill(0xff);
    block
}

/// The time of the last event of a log, and the latest.
fn last_and_latest(log: &[u8]) -> (u64, u64) {
    let mut decoder = Decoder::new();
    let mut input = log;
    let (mut last, mut latest) = (0, 0);
    while let Some(record) = decoder.next(&mut input).unwrap() {
        if let Record::Event(raw) = record {
            last = raw.time;
            latest = raw.time.max(latest);
        }
    }
    (last, latest)
}

#[test]
fn a_marker_from_beyond_all_time_does_not_turn_the_clock_of_a_recorder() {
    let window = Keep::bytes(1 << 20).newest(Duration::from_nanos(1_500));
    let (log, writer) = started(Sink::flight_recorder(window));
    let written = |writes: &[Vec<u8>]| {
        for write in writes {
            writer.write(write).unwrap();
            log.flush().unwrap();
        }
        let mut snapshot = Vec::new();
        log.snapshot(&mut snapshot).unwrap();
        assert!(last_and_latest(&snapshot).1 < 10_000);
        read(&snapshot).0
    };
    // Alone in its write, and with another block.
    assert_eq!(written(&[misdated(0, 0, 2)]), ["0 0", "0 1"]);
    let two = [misdated(0, 1_000, 1), numbered(0, 1_001, 1)].concat();
    assert_eq!(written(&[two])[2..], ["0 1000", "0 1001"]);
    // What is younger than the window stays, what is older goes.
    let later = written(&[numbered(0, 2_000, 1), numbered(0, 3_000, 1)]);
    assert_eq!(later, ["0 2000", "0 3000"]);
}

#[test]
fn what_is_told_after_a_marker_from_beyond_all_time_is_told_in_the_time_of_the_events() {
    let (sink, content) = Sink::memory();
    let (log, writer) = started(sink);
    let event = Event::CreateThread {
        thread: ThreadId(7),
    };
    let mut body = Vec::new();
    event.encode_to_vec(5, &mut body);
    writer.write(&block_of(0, 5, &body)).unwrap();
    writer.write(&misdated(0, 10, 1)).unwrap();
    log.flush().unwrap();
    // A sink that begins late is told of the thread and of the capability, at the time of the log.
    let (late, told) = Sink::memory();
    log.set_sink(late, Previous::Close, Start::Header).unwrap();
    assert_eq!(last_and_latest(&content.bytes()), (11, 11));
    // What a full intake drops is told with the time of its events, too.
    let gate = Gate::default();
    log.set_sink(Sink::writer(gate.clone()), Previous::Close, Start::Header)
        .unwrap();
    assert!(last_and_latest(&told.bytes()).1 <= 11);
    log.resize(1 << 17).unwrap();
    let mut from = 20;
    while writer.write(&misdated(0, from, 1_000)).is_ok() {
        from += 1_000;
    }
    gate.open();
    log.stop().unwrap();
    let bytes = gate.1.lock().unwrap();
    assert!(!read(&bytes).1.is_empty(), "what was dropped is told");
    assert!(last_and_latest(&bytes).1 <= from as u64 + 1);
}

#[test]
fn the_program_itself_cannot_emit_and_is_told_so() {
    let (sink, content) = Sink::memory();
    let (log, writer) = started(sink);
    let event = Event::UserMessage { text: "own" };
    let refused = log.try_emit(&event).unwrap_err();
    assert_eq!(refused, EmitError::Relayed);
    assert_eq!(
        refused.to_string(),
        "the event log takes nothing but what its other writer hands over"
    );
    assert_eq!(log.emit_sticky(&event), Err(EmitError::Relayed));
    log.message("own");
    assert_eq!(log.capability().unwrap_err(), CapabilityError::Relayed);
    writer.write(&numbered(0, 0, 1)).unwrap();
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.shared.lost.relayed, 3);
    assert_eq!(statistics.lost().total(), 3);
    assert_eq!(read(&content.bytes()).0, ["0 0"]);
}

#[test]
fn what_comes_after_the_end_is_counted() {
    let (sink, content) = Sink::memory();
    let (log, writer) = started(sink);
    writer.write(&numbered(0, 0, 5)).unwrap();
    log.stop().unwrap();
    let before = content.bytes();
    assert_eq!(writer.write(&numbered(3, 0, 7)), Err(EmitError::Stopped));
    let statistics = log.statistics();
    assert_eq!(statistics.lost().stopped, 7);
    assert_eq!(
        statistics.capabilities[1].capability.map(CapNo::get),
        Some(3)
    );
    assert_eq!(content.bytes(), before);
    drop(log);
    assert_eq!(writer.write(&numbered(0, 0, 1)), Err(EmitError::Stopped));
}

#[test]
fn a_corrupt_write_is_set_aside_and_the_log_goes_on() {
    let (sink, content) = Sink::memory();
    let (log, writer) = started(sink);
    let good = numbered(0, 0, 1);
    let mut bad = numbered(0, 1, 1);
    bad[24] = 0xee;
    writer.write(&good).unwrap();
    writer.write(&bad).unwrap();
    writer.write(&numbered(0, 2, 1)).unwrap();
    let relay = log.stop().unwrap().relay.unwrap();
    assert_eq!(relay.mends.writes_set_aside, 1);
    assert_eq!(relay.mends.bytes_set_aside, bad.len() as u64);
    assert_eq!(relay.last_set_aside.unwrap().len, bad.len());
    assert_eq!(read(&content.bytes()).0, ["0 0", "0 2"]);
}

#[test]
fn the_writer_may_end_and_begin_again() {
    let (sink, content) = Sink::memory();
    let (log, writer) = started(sink);
    let stray = block_of(0, 0, &[]);
    writer.write(&numbered(0, 0, 1)).unwrap();
    writer.write(&END_MARKER).unwrap();
    let again = [&stray[..], &Header::standard().encode()].concat();
    writer.write(&again).unwrap();
    writer.write(&numbered(0, 1, 1)).unwrap();
    writer.write(&END_MARKER).unwrap();
    let relay = log.stop().unwrap().relay.unwrap();
    assert_eq!(relay.mends.repeated_headers, 1);
    assert_eq!(relay.mends.stray_markers, 1);
    assert_eq!(relay.mends.early_end_markers, 1);
    assert_eq!(read(&content.bytes()).0, ["0 0", "0 1"]);
}

#[test]
fn captures_that_two_threads_hand_over_at_once_make_valid_logs() {
    for name in ["plain", "small", "restart", "refused"] {
        let writes = writes_of(name);
        let header = ghc_eventlog::relay::header_of(&writes[0]).unwrap();
        let (sink, content) = Sink::memory();
        let (log, writer) = EventLog::builder().relayed(sink, &header).unwrap();
        writer.write(&writes[0]).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (writer, writes) = (writer.clone(), &writes);
                scope.spawn(move || {
                    for write in writes.iter().skip(1 + thread).step_by(2) {
                        writer.write(write).unwrap();
                    }
                });
            }
        });
        let statistics = log.stop().unwrap();
        let bytes = content.bytes();
        keep(&format!("relayed-threads-{name}.eventlog"), &bytes);
        assert_eq!(check(&bytes) as u64, statistics.events());
        let relay = statistics.relay.unwrap();
        assert_eq!(relay.mends.writes, writes.len() as u64);
        assert_eq!(relay.mends.writes_set_aside, 0);
    }
}

#[test]
fn threads_that_have_finished_are_not_told_of_though_another_capability_is_late() {
    let (log, writer) = started(Sink::null());
    let thread = ThreadId(9);
    let event = |event: Event<'_>, time| {
        let mut body = Vec::new();
        event.encode_to_vec(time, &mut body);
        body
    };
    let (status, info) = (StopStatus::Finished, 0);
    let finished = Event::StopThread {
        thread,
        status,
        info,
    };
    let message = event(Event::UserMessage { text: "x" }, 1);
    for cap in [0, 1] {
        writer.write(&block_of(cap, 1, &message)).unwrap();
    }
    // It was made on capability 0, whose buffer is not full for long, and ended on capability 1.
    writer
        .write(&block_of(1, 50, &event(finished, 50)))
        .unwrap();
    for time in 51..60 {
        writer.write(&block_of(1, time, &message)).unwrap();
        log.flush().unwrap();
    }
    let late = event(Event::CreateThread { thread }, 10);
    writer.write(&block_of(0, 60, &late)).unwrap();
    let (sink, content) = Sink::memory();
    log.set_sink(sink, Previous::Close, Start::Header).unwrap();
    log.stop().unwrap();
    assert_eq!(check(&content.bytes()), 0, "nobody lives");
}

#[test]
fn a_header_that_has_another_event_for_losses_is_refused() {
    use ghc_eventlog::format::{EventSize, EventType};
    let types = Header::standard().event_types().iter().cloned();
    let types = types.filter(|declared| declared.id != 1024);
    let other = EventType::new(1024, EventSize::Fixed(3), "Something else");
    let header = Header::new(types.chain([other])).unwrap();
    let refused = EventLog::builder().relayed(Sink::null(), &header);
    assert!(matches!(refused, Err(StartError::Types(_))));
}
