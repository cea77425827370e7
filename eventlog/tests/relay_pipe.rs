//! From the writer's calls to the sink: order, room, failures and ends.

mod relay_support;

use std::io::{self, ErrorKind, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ghc_eventlog::format::{BlockMarker, CapNo, END_MARKER, Event, Header};
use ghc_eventlog::relay::{
    CaptureErrorKind, CaptureReader, DEFAULT_BLOCK_LIMIT, Relay, SetAsideReason, WriteError,
};
use relay_support::{SharedSink, check, keep, writes_of};

fn block(cap: u16, number: u64, payload: usize) -> Vec<u8> {
    let bytes = vec![number as u8; payload];
    let event = Event::UserBinaryMessage { bytes: &bytes };
    let marker = BlockMarker {
        begin: number,
        size: (BlockMarker::LEN + event.encoded_len()) as u32,
        end: number,
        cap: CapNo::new(cap),
    };
    let mut out = marker.encode().to_vec();
    event.encode_to_vec(number, &mut out);
    out
}

struct Slow(SharedSink);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(Duration::from_micros(200));
        // Not all at once, as a socket may.
        self.0.write(&bytes[..bytes.len().min(3000)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn everything_arrives_in_order_however_small_the_ring_is() {
    for buffers in [1, 2, 3] {
        let sink = SharedSink::default();
        let mut relay = Relay::builder()
            .block_limit(4096)
            .buffers(buffers)
            .start(Slow(sink.clone()))
            .unwrap();
        let mut expected = Header::standard().encode();
        relay.write(&expected).unwrap();
        for number in 0..400 {
            let block = block(number as u16 % 3, number, (number as usize * 37) % 4000);
            expected.extend(&block);
            relay.write(&block).unwrap();
        }
        expected.extend(END_MARKER);
        let statistics = relay.finish().unwrap();
        assert!(sink.bytes() == expected);
        assert_eq!(check(&expected), 400);
        assert!(statistics.waits > 0, "the sink is slower than the writer");
        keep(&format!("relay-ring-{buffers}.eventlog"), &expected);
    }
}

#[test]
fn the_largest_block_of_a_run_time_system_fits() {
    const SIZE: usize = 2 << 20;
    let mut events = Vec::new();
    while events.len() + 24 < SIZE - 70_000 {
        Event::UserMessage {
            text: "x".repeat(60_000).as_str(),
        }
        .encode_to_vec(1, &mut events);
    }
    // Without a marker the events alone can take all of the buffer.
    for room in [SIZE - 24, SIZE] {
        let mut body = events.clone();
        while body.len() < room {
            let rest = room - body.len();
            let len = if rest > 65_000 + 24 { 65_000 } else { rest };
            let bytes = vec![0; len - 12];
            Event::UserBinaryMessage { bytes: &bytes }.encode_to_vec(2, &mut body);
        }
        assert_eq!(body.len(), room);
        let sink = SharedSink::default();
        let mut relay = Relay::builder().start(sink.clone()).unwrap();
        relay.write(&Header::standard().encode()).unwrap();
        if room == SIZE {
            relay.write(&body).unwrap();
        } else {
            let size = SIZE as u32;
            let marker = BlockMarker {
                begin: 1,
                size,
                end: 2,
                cap: None,
            };
            relay
                .write(&[&marker.encode(), &body[..]].concat())
                .unwrap();
        }
        relay.finish().unwrap();
        check(&sink.bytes());
    }
    assert_eq!(DEFAULT_BLOCK_LIMIT, SIZE + 24);
}

#[test]
fn a_block_beyond_the_limit_is_refused_before_anything_of_the_write_is_passed_on() {
    let sink = SharedSink::default();
    let mut relay = Relay::builder()
        .block_limit(4096)
        .start(sink.clone())
        .unwrap();
    let header = Header::standard().encode();
    relay.write(&header).unwrap();
    let small = block(0, 1, 10);
    let large = block(0, 2, 5000);
    let error = relay.write(&[&small[..], &large].concat()).unwrap_err();
    let WriteError::SetAside(aside) = &error else {
        panic!("{error}")
    };
    assert_eq!(aside.offset, small.len() as u64);
    let reason = SetAsideReason::BlockTooLong {
        size: 5036,
        limit: 4096,
    };
    assert_eq!(aside.reason, reason);
    assert!(
        error
            .to_string()
            .contains("block of 5036 bytes, the limit is 4096")
    );
    relay.write(&small).unwrap();
    let statistics = relay.finish().unwrap();
    assert_eq!(sink.bytes(), [&header[..], &small, &END_MARKER].concat());
    assert_eq!(statistics.mends.writes_set_aside, 1);
    assert_eq!(statistics.mends.bytes_set_aside, 46 + 5036);
}

/// Takes so many bytes, then fails.
struct Fails(usize);

impl Write for Fails {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_sink_surfaces_in_write_and_in_finish() {
    for room in [0, 100, 50_000] {
        let mut relay = Relay::builder()
            .block_limit(4096)
            .buffers(2)
            .start(Fails(room))
            .unwrap();
        let mut failed = None;
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut write = Header::standard().encode();
        while failed.is_none() {
            assert!(Instant::now() < deadline, "the failure never surfaced");
            failed = relay.write(&write).err();
            write = block(0, 1, 1000);
        }
        let Some(WriteError::Sink(error)) = failed else {
            panic!("{failed:?}")
        };
        assert_eq!(error.io().kind(), ErrorKind::StorageFull);
        assert!(
            matches!(relay.write(&write), Err(WriteError::Sink(_))),
            "and again"
        );
        let failed = relay.finish().unwrap_err();
        assert_eq!(failed.error.io().kind(), ErrorKind::StorageFull);
        assert!(failed.statistics.bytes_written <= room as u64);
        assert!(failed.statistics.mends.bytes_passed > failed.statistics.bytes_written);
    }
}

struct Unflushable;

impl Write for Unflushable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_flush_that_fails_surfaces() {
    let mut relay = Relay::builder().start(Unflushable).unwrap();
    let _ = relay.write(&Header::standard().encode());
    let failed = relay.finish().unwrap_err();
    assert_eq!(failed.error.io().kind(), ErrorKind::BrokenPipe);
}

struct Panics;

impl Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("a sink that panics, on purpose")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_panics_is_a_sink_that_fails() {
    let mut relay = Relay::builder()
        .block_limit(4096)
        .buffers(1)
        .start(Panics)
        .unwrap();
    relay.write(&Header::standard().encode()).unwrap();
    // The ring has no room for it: this waits until the collector is gone.
    let error = relay.write(&block(0, 1, 4000)).unwrap_err();
    assert!(matches!(error, WriteError::Sink(_)));
    let failed = relay.finish().unwrap_err();
    assert!(failed.to_string().contains("panicked"));
}

/// Says what it was asked to do.
struct Tells(mpsc::Sender<&'static str>, SharedSink);

impl Write for Tells {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.send("write");
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.send("flush");
        Ok(())
    }
}

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send("drop");
    }
}

#[test]
fn dropping_brings_the_log_to_its_end() {
    let (sender, told) = mpsc::channel();
    let sink = SharedSink::default();
    let mut relay = Relay::builder().start(Tells(sender, sink.clone())).unwrap();
    for write in writes_of("plain") {
        relay.write(&write).unwrap();
    }
    drop(relay);
    assert_eq!(sink.bytes(), writes_of("plain").concat());
    let told: Vec<_> = told.try_iter().collect();
    assert!(told.ends_with(&["write", "flush", "drop"]), "{told:?}");
}

#[test]
fn what_was_written_reaches_the_sink_and_is_flushed_without_more_writes() {
    let (sender, told) = mpsc::channel();
    let mut relay = Relay::builder()
        .start(Tells(sender, SharedSink::default()))
        .unwrap();
    relay.write(&Header::standard().encode()).unwrap();
    let wait = Duration::from_secs(60);
    assert_eq!(told.recv_timeout(wait), Ok("write"));
    assert_eq!(told.recv_timeout(wait), Ok("flush"));
    relay.finish().unwrap();
}

#[test]
fn without_a_header_nothing_is_written() {
    let sink = SharedSink::default();
    let mut relay = Relay::builder().start(sink.clone()).unwrap();
    assert!(relay.write(&block(0, 1, 10)).is_err());
    let statistics = relay.finish().unwrap();
    assert_eq!(statistics.mends.writes_set_aside, 1);
    assert!(sink.bytes().is_empty());
}

#[test]
fn a_relay_can_go_to_another_thread() {
    let sink = SharedSink::default();
    let mut relay = Relay::builder().start(sink.clone()).unwrap();
    relay.write(&Header::standard().encode()).unwrap();
    let relay = std::thread::spawn(move || {
        relay.write(&block(0, 1, 10)).unwrap();
        relay
    });
    relay.join().unwrap().finish().unwrap();
    assert_eq!(check(&sink.bytes()), 1);
}

#[test]
fn a_capture_cut_anywhere_gives_the_writes_before_the_cut() {
    let bytes = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x02de";
    let ends = [0, 7, 11, 17];
    for len in 0..=bytes.len() {
        let mut capture = CaptureReader::new(&bytes[..len]);
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        for _ in 0..whole {
            assert!(capture.next_write().unwrap().is_some());
        }
        assert_eq!(capture.offset(), ends[whole] as u64);
        if ends.contains(&len) {
            assert!(capture.next_write().unwrap().is_none());
        } else {
            let error = capture.next_write().unwrap_err();
            assert_eq!(error.offset, ends[whole] as u64);
            let CaptureErrorKind::Truncated { present, .. } = error.kind else {
                panic!("{error}")
            };
            assert_eq!(present, (len - ends[whole]) as u64);
        }
    }
}

#[test]
fn an_absurd_length_is_refused_before_memory_is_taken() {
    let error = CaptureReader::new(&b"\xff\xff\xff\xffabc"[..])
        .next_write()
        .unwrap_err();
    assert!(matches!(
        error.kind,
        CaptureErrorKind::TooLong { len: u32::MAX }
    ));
    let log = Header::standard().encode();
    let error = CaptureReader::new(&log[..]).next_write().unwrap_err();
    assert!(matches!(error.kind, CaptureErrorKind::Log));
}
