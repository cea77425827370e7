//! Logs that GHC wrote are read as independent readers read them, and written back byte by byte.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ghc_eventlog::format::{
    BLOCK_MARKER, BlockMarker, CapNo, DecodeError, DecodeErrorKind, Decoded, Decoder, END_MARKER,
    EventSize, Header, Record, events,
};
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(data("expected.json")).unwrap()).unwrap()
}

/// Name and bytes of every log.
fn logs() -> Vec<(String, Vec<u8>)> {
    let expected = expected();
    let names: Vec<String> = expected["logs"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names.len(), 9);
    names
        .into_iter()
        .map(|name| {
            let bytes = std::fs::read(data(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

/// What `expected.json` tells of a log.
#[derive(Default, Debug)]
struct Summary {
    events: u64,
    blocks: u64,
    outside_block: u64,
    backwards_in_block: u64,
    event_types: usize,
    header_bytes: usize,
    t_min: Option<u64>,
    t_max: Option<u64>,
    counts: BTreeMap<String, u64>,
    names: BTreeMap<String, u64>,
    blocks_per_cap: BTreeMap<String, u64>,
    events_per_cap: BTreeMap<String, u64>,
    ended: bool,
}

impl Summary {
    fn count(&mut self, header: &Header, id: u16, time: u64) {
        let declared = header
            .event_types()
            .iter()
            .find(|declared| declared.id == id)
            .unwrap();
        self.events += 1;
        *self.counts.entry(id.to_string()).or_default() += 1;
        *self
            .names
            .entry(declared.description.to_string())
            .or_default() += 1;
        self.t_min = Some(self.t_min.map_or(time, |t| t.min(time)));
        self.t_max = Some(self.t_max.map_or(time, |t| t.max(time)));
    }

    fn of(log: &[u8]) -> Self {
        let mut summary = Self::default();
        let mut header = Header::new([]).unwrap();
        let mut previous = 0;
        let mut block_end = 0;
        let mut decoder = Decoder::new();
        let mut input = log;
        while let Some(record) = decoder.next(&mut input).unwrap() {
            match record {
                Record::Header(read) => {
                    header = read.clone();
                    summary.event_types = read.event_types().len();
                    summary.header_bytes = read.encoded_len();
                }
                Record::BlockBegin { offset, marker } => {
                    let cap = marker.cap.map_or(u16::MAX, CapNo::get);
                    *summary.blocks_per_cap.entry(cap.to_string()).or_default() += 1;
                    // `ghc-events` counts the marker among the events of its capability.
                    let cap = marker.cap.map_or("none".to_owned(), |cap| cap.to_string());
                    *summary.events_per_cap.entry(cap).or_default() += 1;
                    summary.blocks += 1;
                    summary.count(&header, BLOCK_MARKER, marker.begin);
                    previous = marker.begin;
                    block_end = offset + u64::from(marker.size);
                }
                Record::Event(event) => {
                    let cap = event.cap.map_or("none".to_owned(), |cap| cap.to_string());
                    *summary.events_per_cap.entry(cap).or_default() += 1;
                    if event.offset >= block_end {
                        summary.outside_block += 1;
                    } else if event.time < previous {
                        summary.backwards_in_block += 1;
                    }
                    previous = event.time;
                    summary.count(&header, event.id, event.time);
                }
                Record::End => summary.ended = true,
                record => panic!("{record:?}"),
            }
        }
        decoder.finish().unwrap();
        summary
    }
}

#[test]
fn real_logs_read_as_ghc_events_reads_them() {
    let expected = expected();
    for (name, log) in logs() {
        let want = &expected["logs"][&name];
        let got = Summary::of(&log);
        let counts = |field: &str| -> BTreeMap<String, u64> {
            let object = want[field].as_object().unwrap();
            object
                .iter()
                .map(|(key, count)| (key.clone(), count.as_u64().unwrap()))
                .collect()
        };
        assert_eq!(log.len() as u64, want["bytes"].as_u64().unwrap(), "{name}");
        assert_eq!(got.events, want["events"].as_u64().unwrap(), "{name}");
        assert_eq!(got.blocks, want["blocks"].as_u64().unwrap(), "{name}");
        assert_eq!(
            got.outside_block,
            want["outside_block"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            got.backwards_in_block,
            want["backwards_in_block"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            got.event_types as u64,
            want["event_types"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            got.header_bytes as u64,
            want["header_bytes"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(got.t_min, want["t_min"].as_u64(), "{name}");
        assert_eq!(got.t_max, want["t_max"].as_u64(), "{name}");
        assert_eq!(got.ended, want["data_end"].as_bool().unwrap(), "{name}");
        assert_eq!(got.counts, counts("counts"), "{name}");
        assert_eq!(got.names, counts("names"), "{name}");
        assert_eq!(got.blocks_per_cap, counts("blocks_per_cap"), "{name}");
        assert_eq!(got.events_per_cap, counts("events_per_cap"), "{name}");
    }
}

#[test]
fn real_logs_are_written_back_byte_by_byte() {
    let mut census = 0;
    for (name, log) in logs() {
        let mut written = Vec::new();
        let mut decoder = Decoder::new();
        let mut input = &log[..];
        while let Some(record) = decoder.next(&mut input).unwrap() {
            match record {
                Record::Header(header) => written.extend(header.encode()),
                Record::BlockBegin { marker, .. } => written.extend(marker.encode()),
                Record::Event(raw) => {
                    let Decoded::Known(event) = raw.decode().unwrap() else {
                        panic!("{name}: {raw:?}")
                    };
                    let start = written.len();
                    let len = event.encode_to_vec(raw.time, &mut written);
                    assert_eq!(len, written.len() - start);
                    if raw.id == 207 {
                        // The one layout that has changed since: a byte with the logarithm of the
                        // block size is now two bytes with the size.
                        let size = u16::from_be_bytes([written[start + 10], written[start + 11]]);
                        assert_eq!(size, 1 << raw.payload[0]);
                        written.splice(start + 10..start + 12, [raw.payload[0]]);
                        census += 1;
                    }
                    assert_eq!(&written[start..], raw.bytes(), "{name}: {event:?}");
                }
                Record::End => written.extend([0xff, 0xff]),
                record => panic!("{record:?}"),
            }
        }
        assert!(written == log, "{name}");
    }
    assert!(census > 0, "no log has a census");
}

#[test]
fn the_standard_header_declares_what_ghc_declares() {
    // Layouts that have grown since the logs were made.
    let grown = [(207, EventSize::Fixed(14))];
    for (name, log) in logs() {
        let mut decoder = Decoder::new();
        assert!(matches!(
            decoder.next(&mut &log[..]),
            Ok(Some(Record::Header(_)))
        ));
        for declared in decoder.header().unwrap().event_types() {
            let size = Header::standard().size(declared.id).unwrap();
            if size != declared.size {
                assert!(grown.contains(&(declared.id, size)), "{name}: {declared:?}");
            }
        }
    }
    let ids: Vec<u16> = Header::standard()
        .event_types()
        .iter()
        .map(|t| t.id)
        .collect();
    assert!(ids.is_sorted());
    // GHC's own, and what is ours.
    let ours = ids.iter().filter(|id| **id >= 1024).count();
    assert_eq!((ids.len(), ours), (77 + 1, 1));
    let loss = 20 + "Events lost".len();
    assert_eq!(Header::standard().encoded_len(), 3180 + loss);
}

/// Where each record of a log ends, the header's included.
fn record_ends(log: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut decoder = Decoder::new();
    let mut input = log;
    while let Some(record) = decoder.next(&mut input).unwrap() {
        ends.push(match record {
            Record::Header(header) => header.encoded_len(),
            Record::BlockBegin { offset, .. } => offset as usize + 24,
            Record::Event(event) => event.offset as usize + event.bytes().len(),
            Record::End => log.len(),
            record => panic!("{record:?}"),
        });
    }
    ends
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_its_last_whole_record() {
    for (name, log) in logs() {
        let ends = record_ends(&log);
        let mut decoder = Decoder::new();
        let mut whole = 0;
        // To go on byte by byte after a look at what `finish` says is a cut at every byte.
        for at in 0..log.len() {
            let offset = ends[..whole].last().map_or(0, |end| *end as u64);
            let kind = DecodeErrorKind::Truncated {
                partial: at as u64 - offset,
            };
            assert_eq!(
                decoder.finish(),
                Err(DecodeError { offset, kind }),
                "{name} at {at}"
            );
            let mut byte = &log[at..=at];
            while let Some(record) = decoder.next(&mut byte).unwrap() {
                assert_eq!(ends[whole], at + 1, "{name}: {record:?}");
                if let Record::Event(event) = record {
                    assert_eq!(event.bytes(), &log[event.offset as usize..=at], "{name}");
                }
                whole += 1;
            }
            assert!(whole == ends.len() || ends[whole] > at + 1, "{name}: {at}");
        }
        decoder.finish().unwrap();
        assert_eq!(whole, ends.len());
    }
}

/// The writes of a capture: each is a length and so many bytes.
fn writes(name: &str) -> Vec<Vec<u8>> {
    let capture = std::fs::read(data(name)).unwrap();
    let mut rest = &capture[..];
    let mut writes = Vec::new();
    while let Some((len, bytes)) = rest.split_first_chunk() {
        let (write, after) = bytes.split_at(u32::from_be_bytes(*len) as usize);
        writes.push(write.to_vec());
        rest = after;
    }
    assert!(rest.is_empty());
    writes
}

#[test]
fn each_write_of_a_run_time_system_is_what_it_is_taken_for() {
    let mut events_seen = 0;
    let mut check = |body: &[u8], header: &Header| {
        for event in events(body, header) {
            event.unwrap().decode().unwrap();
            events_seen += 1;
        }
    };
    for (name, want) in expected()["captures"].as_object().unwrap() {
        let writes = writes(name);
        let want = want.as_array().unwrap();
        assert_eq!(writes.len(), want.len(), "{name}");
        let mut header = None;
        for (write, want) in writes.iter().zip(want) {
            assert_eq!(write.len() as u64, want["len"].as_u64().unwrap(), "{name}");
            let mut block = &write[..];
            match want["kind"].as_str().unwrap() {
                kind @ ("header" | "marker+header") => {
                    if kind == "marker+header" {
                        block = &block[BlockMarker::LEN..];
                    }
                    let mut decoder = Decoder::new();
                    let read = decoder.next(&mut block).unwrap();
                    assert!(matches!(read, Some(Record::Header(_))), "{name}");
                    assert!(block.is_empty(), "{name}");
                    header = decoder.header().cloned();
                    continue;
                }
                "end" => {
                    assert_eq!(block, END_MARKER, "{name}");
                    continue;
                }
                // One block, or an empty one in front of it after a restart.
                "block" => {
                    while let Some((marker, _)) = block.split_first_chunk() {
                        let marker = BlockMarker::from_bytes(marker);
                        let cap = marker.cap.map_or(u16::MAX, CapNo::get);
                        assert_eq!(u64::from(cap), want["cap"].as_u64().unwrap(), "{name}");
                        let (whole, rest) = block.split_at(marker.size as usize);
                        check(&whole[BlockMarker::LEN..], header.as_ref().unwrap());
                        block = rest;
                    }
                    assert!(block.is_empty(), "{name}");
                }
                kind => {
                    assert_eq!(kind, "no-marker", "{name}");
                    check(block, header.as_ref().unwrap());
                }
            }
        }
    }
    assert!(events_seen > 10_000, "{events_seen}");
}

#[test]
fn a_second_log_after_the_first_is_refused_where_it_starts() {
    let log = writes("capture-restart.writes").concat();
    let mut decoder = Decoder::new();
    let mut input = &log[..];
    let error = loop {
        match decoder.next(&mut input) {
            Ok(record) => assert!(record.is_some()),
            Err(error) => break error,
        }
    };
    let first_five_writes = 2688 + 2794 + 3296 + 580 + 2;
    let kind = DecodeErrorKind::AfterEnd;
    assert_eq!(
        error,
        DecodeError {
            offset: first_five_writes,
            kind
        }
    );
}
