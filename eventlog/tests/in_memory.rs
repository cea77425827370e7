//! A log that is kept in memory: what comes out as chunks, when, and what is lost where the budget ends.

mod written;

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoded, END_MARKER, Event, Header, LossCause, events,
};
use ghc_eventlog::{
    AttachOptions, Builder, Capability, Chunk, Chunks, EventLog, NoChunk, Previous, Sink, Start,
    WhenFull,
};
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use written::{Memory, Written};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Four chunks of a little more than the longest event.
const CHUNK: usize = 66_000;

fn sleepy() -> Builder {
    EventLog::builder()
        .buffer_size(4 * CHUNK)
        .flush_interval(Duration::from_secs(3_600))
}

/// The chunk as a log of its own.
fn alone(chunks: &Chunks, chunk: &[u8]) -> Vec<u8> {
    [&chunks.header(), chunk, &END_MARKER].concat()
}

/// All that is left, in order, as a log.
fn rest(chunks: &Chunks) -> Vec<u8> {
    let mut log = chunks.header();
    while let Ok(chunk) = chunks.chunk() {
        log.extend_from_slice(&chunk);
    }
    log.extend(END_MARKER);
    log
}

/// Emits the number until it is taken.
fn insist(capability: &mut Capability, number: u64) {
    let text = format!("{number:>48}");
    while capability
        .try_emit(&Event::UserMessage { text: &text })
        .is_err()
    {
        thread::yield_now();
    }
}

/// Numbers in the user messages of one capability, as they come.
fn numbers(written: &Written, cap: u16) -> Vec<u64> {
    let messages = written.messages(cap);
    messages
        .iter()
        .map(|text| text.trim().parse().unwrap())
        .collect()
}

/// Events that the log says are lost for that reason.
fn told(log: &[u8], reason: LossCause) -> u64 {
    let header = Header::standard();
    let mut blocks = &log[header.encode().len()..];
    let mut sum = 0;
    while blocks.len() > END_MARKER.len() {
        let marker = BlockMarker::from_bytes(blocks.first_chunk().unwrap());
        let (block, rest) = blocks.split_at(marker.size as usize);
        for event in events(&block[BlockMarker::LEN..], header) {
            if let Decoded::Known(Event::EventsLost { cause, events, .. }) =
                event.unwrap().decode().unwrap()
            {
                sum += if cause == reason { events } else { 0 };
            }
        }
        blocks = rest;
    }
    sum
}

#[test]
fn one_and_a_half_chunks_both_come_out_and_the_last_is_final() {
    let (log, chunks) = sleepy().in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    let count = CHUNK * 3 / 2 / 60;
    for number in 0..count as u64 {
        capability.message(&format!("{number:>48}"));
    }
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.lost().total(), 0);

    let mut own = Vec::new();
    let mut last: Option<Chunk> = None;
    while let Ok(chunk) = chunks.chunk() {
        assert!(last.is_none_or(|last| !last.is_final()));
        let written = Written::read("half-a-chunk", &alone(&chunks, &chunk));
        if !written.messages(0).is_empty() {
            own.push(numbers(&written, 0));
        }
        last = Some(chunk);
    }
    assert!(last.unwrap().is_final());
    assert_eq!(chunks.chunk().unwrap_err(), NoChunk::Finished);
    assert_eq!(own.len(), 2, "a whole chunk, and half of one");
    assert!(own[1].len() * 3 > own[0].len() && own[1].len() < own[0].len());
    assert!(own.concat().into_iter().eq(0..count as u64));
}

#[test]
fn chunks_that_are_mostly_padding_come_out_like_any_other() {
    let (log, chunks) = sleepy().in_memory(1 << 24, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    // A little more than half a chunk: each has a chunk of its own.
    let text = "x".repeat(CHUNK / 2 + 100);
    let mut count = 0;
    for _ in 0..3 {
        for _ in 0..3 {
            let event = Event::UserMessage { text: &text };
            capability.try_emit(&event).unwrap();
            count += 1;
        }
        log.flush().unwrap();
        let mut of_capability = 0;
        while let Ok(chunk) = chunks.chunk() {
            let written = Written::read_prefix(&alone(&chunks, &chunk), true);
            of_capability += written.messages(0).len();
        }
        assert_eq!(of_capability, 3);
    }
    assert_eq!(log.stop().unwrap().capabilities[0].events, count);
}

#[test]
fn a_flush_makes_the_part_of_a_chunk_poppable_and_the_interval_does_not() {
    let builder = EventLog::builder().flush_interval(Duration::from_millis(1));
    let (log, chunks) = builder.in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    for number in 0..20 {
        insist(&mut capability, number);
        assert_eq!(chunks.chunk().unwrap_err(), NoChunk::Empty);
        log.flush().unwrap();
        let written = Written::read_prefix(&rest(&chunks), true);
        assert_eq!(numbers(&written, 0), [number]);
    }
    drop(capability);
    // A capability that has ended holds nothing back of what others write.
    for _ in 0..2 {
        log.message("to be popped at once");
        log.flush().unwrap();
        let chunk = std::iter::from_fn(|| chunks.chunk().ok()).last();
        let text = b"to be popped at once";
        let popped = chunk.is_some_and(|chunk| chunk.windows(text.len()).any(|part| part == text));
        assert!(popped);
    }
    log.stop().unwrap();
    assert!(numbers(&Written::read_prefix(&rest(&chunks), true), 0).is_empty());
}

#[test]
fn every_chunk_of_a_run_under_load_is_valid_alone_and_every_event_is_in_one() {
    const EACH: u64 = 20_000;
    let builder = sleepy().flush_interval(Duration::from_millis(5));
    let (log, chunks) = builder.in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let consumers: Vec<_> = (0..2)
        .map(|_| {
            let chunks = chunks.clone();
            thread::spawn(move || {
                let mut seen = Vec::new();
                loop {
                    match chunks.wait_chunk(DEADLINE) {
                        Ok(chunk) => seen.push((chunk.to_vec(), chunk.is_final())),
                        Err(NoChunk::Finished) => return seen,
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    let capabilities: Vec<_> = (0..4).map(|_| log.capability().unwrap()).collect();
    thread::scope(|scope| {
        for mut capability in capabilities {
            scope.spawn(move || (0..EACH).for_each(|number| insist(&mut capability, number)));
        }
        scope.spawn(|| {
            for _ in 0..10 {
                // Refused where the consumers are slow.
                let _ = log.flush();
                log.message("from no capability");
            }
        });
    });
    let statistics = log.stop().unwrap();
    let mut all: [Vec<u64>; 4] = Default::default();
    let (mut checked, mut finals) = (0, 0);
    for consumer in consumers {
        // What one consumer gets is in order.
        let mut last = [None; 4];
        for (chunk, is_final) in consumer.join().unwrap() {
            finals += u32::from(is_final);
            let log = alone(&chunks, &chunk);
            let written = match checked % 7 {
                0 => Written::read(&format!("chunk-{checked}"), &log),
                _ => Written::read_prefix(&log, true),
            };
            checked += 1;
            for (cap, all) in all.iter_mut().enumerate() {
                for number in numbers(&written, cap as u16) {
                    assert!(last[cap].replace(number).is_none_or(|last| last < number));
                    all.push(number);
                }
            }
        }
    }
    for mut numbers in all {
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..EACH), "each is there once");
    }
    assert!(checked > 20);
    assert_eq!(finals, 1);
    assert_eq!(statistics.lost().total(), statistics.lost().full);
    assert_eq!(chunks.used(), 0);
}

#[test]
fn what_the_budget_has_no_room_for_is_counted_exactly_and_what_was_taken_in_comes_out() {
    let (log, chunks) = sleepy().in_memory(3 * CHUNK, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    let (mut taken, mut refused) = (Vec::new(), 0);
    for number in 0..30_000 {
        let text = format!("{number:>48}");
        match capability.try_emit(&Event::UserMessage { text: &text }) {
            Ok(()) => taken.push(number),
            Err(_) => refused += 1,
        }
        if number % 1_000 == 0 {
            thread::yield_now();
        }
    }
    assert!(refused > 1_000, "nobody pops");
    assert!(chunks.used() <= 3 * CHUNK);
    let held = log.flush().unwrap_err();
    assert_eq!(held.kind(), std::io::ErrorKind::StorageFull);

    let statistics = log.stop().unwrap();
    assert_eq!(statistics.capabilities[0].events, taken.len() as u64);
    assert_eq!(statistics.lost().full, refused);
    assert_eq!(statistics.lost().total(), refused);
    let log = rest(&chunks);
    assert_eq!(told(&log, LossCause::Full), refused);
    let written = Written::read("budget", &log);
    assert_eq!(numbers(&written, 0), taken);
}

#[test]
fn chunks_that_are_dropped_make_room_again_though_the_collector_sleeps() {
    let (log, chunks) = sleepy().in_memory(2 * CHUNK, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    let consumer = thread::spawn(move || {
        let mut log = chunks.header();
        while let Ok(chunk) = chunks.wait_chunk(DEADLINE) {
            log.extend_from_slice(&chunk);
        }
        log.extend(END_MARKER);
        log
    });
    (0..20_000).for_each(|number| insist(&mut capability, number));
    log.stop().unwrap();
    let written = Written::read_prefix(&consumer.join().unwrap(), true);
    assert!(numbers(&written, 0).into_iter().eq(0..20_000));
}

#[test]
fn overwritten_chunks_are_counted_and_told_in_their_place() {
    let (log, chunks) = sleepy()
        .in_memory(3 * CHUNK, WhenFull::OverwriteOldest)
        .unwrap();
    let mut capability = log.capability().unwrap();
    for number in 0..10_000 {
        insist(&mut capability, number);
        log.message("of no capability");
    }
    let statistics = log.stop().unwrap();
    let lost = statistics.lost();
    assert!(lost.overwritten > 5_000);
    assert_eq!(lost.full, lost.total() - lost.overwritten);
    assert!(
        chunks.used() <= 3 * CHUNK + 8 * CHUNK,
        "the buffers' rest comes on top"
    );

    let log = rest(&chunks);
    assert_eq!(told(&log, LossCause::Overwritten), lost.overwritten);
    let written = Written::read("overwritten", &log);
    // What is left are the newest ones without a gap, after the note.
    let left = numbers(&written, 0);
    assert!(left.iter().copied().eq(10_000 - left.len() as u64..10_000));
    let own = CapNo::new(0);
    let own: Vec<_> = written
        .events
        .iter()
        .filter(|event| event.cap == own)
        .collect();
    assert_eq!(own[0].id, 1024);
    assert!(own.is_sorted_by_key(|event| event.time));
    let left = written.events.iter().filter(|event| event.id != 1024);
    assert_eq!(left.count() as u64 + lost.overwritten, statistics.events());
}

#[test]
fn popped_chunks_count_until_they_are_dropped_and_are_not_overwritten() {
    let (log, chunks) = sleepy()
        .in_memory(2 * CHUNK + 1_000, WhenFull::OverwriteOldest)
        .unwrap();
    let mut capability = log.capability().unwrap();
    log.flush().unwrap();
    drop(chunks.chunk().unwrap());
    assert_eq!(chunks.used(), 0);
    let mut held = Vec::new();
    while held.len() < 2 {
        (0..1_200).for_each(|number| insist(&mut capability, number));
        if let Ok(chunk) = chunks.wait_chunk(Duration::from_millis(1)) {
            held.push((chunk.to_vec(), chunk));
        }
    }
    let refused = |capability: &mut Capability| {
        let event = Event::UserMessage {
            text: &"x".repeat(1_000),
        };
        (0..2_000).any(|_| capability.try_emit(&event).is_err())
    };
    let deadline = Instant::now() + DEADLINE;
    while !refused(&mut capability) {
        assert!(Instant::now() < deadline);
    }
    for (bytes, chunk) in &held {
        assert_eq!(bytes, &chunk.to_vec());
    }
    drop(held);
    log.stop().unwrap();
}

#[test]
fn a_waiting_consumer_is_woken_by_a_flush_and_by_the_end_and_else_by_its_limit() {
    let (log, chunks) = sleepy().in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    assert_eq!(
        chunks.wait_chunk(Duration::ZERO).unwrap_err(),
        NoChunk::Empty
    );
    let limit = Duration::from_millis(20);
    let begin = Instant::now();
    assert_eq!(chunks.wait_chunk(limit).unwrap_err(), NoChunk::Empty);
    assert!(begin.elapsed() >= limit);

    let (send, outcomes) = mpsc::channel();
    let consumers: Vec<_> = (0..3)
        .map(|_| {
            let (chunks, send) = (chunks.clone(), send.clone());
            thread::spawn(move || {
                loop {
                    // Without an end.
                    match chunks.wait_chunk(Duration::MAX) {
                        Ok(chunk) => send.send(chunk.len()).unwrap(),
                        Err(end) => return end,
                    }
                }
            })
        })
        .collect();
    for _ in 0..200 {
        log.message("hello");
        log.flush().unwrap();
        assert!(outcomes.recv_timeout(DEADLINE).unwrap() > 0);
    }
    log.stop().unwrap();
    for consumer in consumers {
        assert_eq!(consumer.join().unwrap(), NoChunk::Finished);
    }
}

#[test]
fn a_consumer_hears_of_a_sink_that_is_dropped() {
    let (log, chunks) = sleepy().in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let consumer = thread::spawn(move || while chunks.wait_chunk(Duration::MAX).is_ok() {});
    // Nobody keeps it.
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    consumer.join().unwrap();
    let (sink, chunks) = Sink::chunks(1 << 20, WhenFull::DropNewest);
    drop(sink);
    assert_eq!(chunks.chunk().unwrap_err(), NoChunk::Finished);
}

#[test]
fn a_log_goes_from_memory_to_a_sink_and_back_with_every_event_once_and_no_header_among_the_chunks()
{
    let (log, chunks) = sleepy().in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    let mut emit = |first: u64| {
        for capability in &mut capabilities {
            (first..first + 3).for_each(|number| insist(capability, number));
        }
    };
    let in_memory = log.sink();
    let file = Memory::default();
    emit(0);
    let writer = Sink::writer(file.clone());
    log.set_sink(writer, Previous::Keep, Start::Header).unwrap();
    emit(3);
    let mut kept = chunks.header();
    // It stays poppable.
    kept.extend_from_slice(&chunks.chunk().unwrap());
    log.set_sink(in_memory, Previous::Close, Start::Continue)
        .unwrap();
    emit(6);
    log.set_sink(Sink::null(), Previous::Close, Start::Header)
        .unwrap();
    emit(9);

    let mut last = false;
    loop {
        match chunks.chunk() {
            Ok(chunk) => {
                assert!(!chunk.windows(4).any(|bytes| bytes == b"hdrb"));
                kept.extend_from_slice(&chunk);
                last = chunk.is_final();
            }
            Err(end) => {
                assert_eq!(end, NoChunk::Finished, "the sink was closed, not the log");
                break;
            }
        }
    }
    assert!(last);
    kept.extend(END_MARKER);
    let kept = Written::read("memory-and-back", &kept);
    let away = Written::read("away-from-memory", &file.content());
    for cap in 0..2 {
        assert_eq!(numbers(&away, cap), [3, 4, 5]);
        let kept = numbers(&kept, cap);
        assert_eq!(kept, [0, 1, 2, 6, 7, 8]);
    }
    log.stop().unwrap();
}

#[test]
fn an_attached_reader_gets_once_what_goes_to_memory_and_what_goes_elsewhere() {
    const EACH: u64 = 5_000;
    let builder = sleepy().flush_interval(Duration::from_millis(2));
    let (log, chunks) = builder.in_memory(1 << 22, WhenFull::DropNewest).unwrap();
    let (early, late) = (Memory::default(), Memory::default());
    let options = AttachOptions::default();
    let reader = log.attach(early.clone(), options.clone()).unwrap();
    let mut capabilities = [log.capability().unwrap(), log.capability().unwrap()];
    let mut phase = |number: u64| {
        thread::scope(|scope| {
            for capability in &mut capabilities {
                let numbers = number * EACH..(number + 1) * EACH;
                scope.spawn(|| numbers.for_each(|number| insist(capability, number)));
            }
        });
    };
    phase(0);
    log.attach(late.clone(), options).unwrap();
    phase(1);
    let in_memory = log.sink();
    log.set_sink(Sink::null(), Previous::Keep, Start::Header)
        .unwrap();
    phase(2);
    log.set_sink(in_memory, Previous::Close, Start::Continue)
        .unwrap();
    phase(3);
    assert_eq!(log.detach(reader).unwrap().unwrap().lost_events, 0);
    phase(4);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.former_readers.lost_events, 0);

    let early = Written::read("early-reader-of-memory", &early.content());
    let late = Written::read("late-reader-of-memory", &late.content());
    let kept = Written::read("memory-beside-readers", &rest(&chunks));
    for cap in 0..2 {
        assert!(numbers(&early, cap).into_iter().eq(0..4 * EACH));
        assert!(numbers(&late, cap).into_iter().eq(EACH..5 * EACH));
        let expected = (0..2 * EACH).chain(3 * EACH..5 * EACH);
        assert!(numbers(&kept, cap).into_iter().eq(expected));
    }
}

#[test]
fn a_reader_is_given_what_fills_no_chunk_after_the_flush_interval() {
    let builder = EventLog::builder().flush_interval(Duration::from_millis(2));
    let (log, _chunks) = builder.in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let read = Memory::default();
    log.attach(read.clone(), AttachOptions::default()).unwrap();
    log.capability().unwrap().message("soon");
    let deadline = Instant::now() + DEADLINE;
    while Written::read_prefix(&read.content(), false)
        .messages(0)
        .is_empty()
    {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn chunks_that_begin_late_have_in_the_first_what_a_reader_needs() {
    let log = sleepy().sink(Sink::null()).unwrap();
    let mut capability = log.capability().unwrap();
    insist(&mut capability, 0);
    let (sink, chunks) = Sink::chunks(1 << 20, WhenFull::DropNewest);
    log.set_sink(sink.clone(), Previous::Close, Start::Header)
        .unwrap();
    insist(&mut capability, 1);
    log.flush().unwrap();
    let again = log.set_sink(sink, Previous::Keep, Start::Header);
    assert!(again.is_err(), "the log goes there already");
    let written = Written::read("late-chunks", &rest(&chunks));
    assert_eq!(numbers(&written, 0), [1]);
}

#[test]
fn a_chunk_outlives_its_log_and_goes_to_other_threads() {
    let (log, chunks) = sleepy().in_memory(1 << 20, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    (0..2_000).for_each(|number| insist(&mut capability, number));
    drop(log);
    let all: Vec<_> = std::iter::from_fn(|| chunks.chunk().ok()).collect();
    let header = chunks.header();
    drop((capability, chunks));
    let log = thread::spawn(move || {
        let mut log = header;
        all.iter().for_each(|chunk| log.extend_from_slice(chunk));
        log.extend(END_MARKER);
        log
    });
    let written = Written::read_prefix(&log.join().unwrap(), true);
    assert!(numbers(&written, 0).into_iter().eq(0..2_000));
}

/// Bytes that a log's first events take in memory, and how many a capability's message more.
fn first_and_message() -> (usize, usize) {
    let (log, mut capability, chunks) = with_budget(1 << 20);
    let first = chunks.used();
    capability.message("message");
    log.flush().unwrap();
    (first, chunks.used() - first)
}

/// A log in memory whose first events have been flushed.
fn with_budget(budget: usize) -> (EventLog, Capability, Chunks) {
    let started = sleepy().in_memory(budget, WhenFull::DropNewest);
    let (log, chunks) = started.unwrap();
    let capability = log.capability().unwrap();
    log.flush().unwrap();
    (log, capability, chunks)
}

#[test]
fn a_flush_for_which_nothing_is_left_needs_no_room() {
    let (first, message) = first_and_message();
    let budget = first + message;
    let (log, mut capability, chunks) = with_budget(budget);
    capability.message("message");
    log.flush().unwrap();
    assert_eq!(chunks.used(), budget);
    log.flush().unwrap();
    capability.message("message");
    let error = log.flush().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn the_marker_of_a_block_is_of_the_budget() {
    let (first, message) = first_and_message();
    for less in [1, 24, 25] {
        let budget = first + message - less;
        let (log, mut capability, chunks) = with_budget(budget);
        capability.message("message");
        let error = log.flush().err().map(|error| error.kind());
        let used = chunks.used();
        assert!(used <= budget, "{used} of {budget} bytes");
        assert_eq!(error, Some(io::ErrorKind::StorageFull));
    }
}
