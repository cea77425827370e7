//! Test data and blocks for the tests of what another writer hands over.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

use ghc_eventlog::format::{
    BlockMarker, CapNo, Decoded, Decoder, END_MARKER, Event, Header, LossCause, Record,
};
use ghc_eventlog::relay::{CaptureReader, Mender, Mends};

pub(crate) fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read(path.join(name)).unwrap()
}

pub(crate) fn writes_of(name: &str) -> Vec<Vec<u8>> {
    let bytes = data(&format!("capture-{name}.writes"));
    let mut capture = CaptureReader::new(&bytes[..]);
    let mut writes = Vec::new();
    while let Some(write) = capture.next_write().unwrap() {
        writes.push(write.to_vec());
    }
    writes
}

/// The log that a mender makes of these writes; empty without a header.
pub(crate) fn log_of(writes: &[Vec<u8>]) -> (Vec<u8>, Mends) {
    let mut mender = Mender::new();
    let mut log = Vec::new();
    for write in writes {
        if let Ok(pieces) = mender.take(write) {
            for piece in pieces {
                log.extend(piece.parts().concat());
            }
        }
    }
    assert_eq!(log.len() as u64, mender.mends().bytes_passed);
    if mender.header().is_some() {
        log.extend(END_MARKER);
    }
    (log, *mender.mends())
}

/// Asserts that the framing is valid, and gives the number of events.
pub(crate) fn check(log: &[u8]) -> usize {
    let mut decoder = Decoder::new();
    let mut input = log;
    let mut events = 0;
    while let Some(record) = decoder.next(&mut input).unwrap() {
        events += usize::from(matches!(record, ghc_eventlog::format::Record::Event(_)));
    }
    decoder.finish().unwrap();
    events
}

/// Leaves a log for other checkers, in the directory that `ELV_LOGS` names.
pub(crate) fn keep(name: &str, log: &[u8]) {
    if let Some(dir) = std::env::var_os("ELV_LOGS") {
        let dir = PathBuf::from(dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(name), log).unwrap();
    }
}

/// The same log with a header that declares how losses are told, too: what a relayed log begins with.
pub(crate) fn declaring_losses(log: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::new();
    let mut rest = log;
    let Some(Record::Header(header)) = decoder.next(&mut rest).unwrap() else {
        panic!("no header")
    };
    if header.size(1024).is_some() {
        return log.to_vec();
    }
    let own = Header::standard().event_types().iter();
    let own = own.filter(|declared| declared.id == 1024).cloned();
    let types = header.event_types().iter().cloned().chain(own);
    [&Header::new(types).unwrap().encode(), rest].concat()
}

/// A block of so many messages, each of its own text, of the time `time`.
pub(crate) fn messages(cap: u16, time: u64, texts: &[String]) -> Vec<u8> {
    let mut body = Vec::new();
    for text in texts {
        Event::UserMessage { text }.encode_to_vec(time, &mut body);
    }
    block_of(cap, time, &body)
}

/// A block of these events.
pub(crate) fn block_of(cap: u16, time: u64, body: &[u8]) -> Vec<u8> {
    let marker = BlockMarker {
        begin: time,
        size: (BlockMarker::LEN + body.len()) as u32,
        end: time,
        cap: CapNo::new(cap),
    };
    [&marker.encode(), body].concat()
}

/// Events that a log tells to be missing: whose, why, and how many.
pub(crate) type Missing = (Option<u16>, LossCause, u64);

/// The messages of a log, in its order, and the losses that it tells of.
pub(crate) fn read(log: &[u8]) -> (Vec<String>, Vec<Missing>) {
    let mut decoder = Decoder::new();
    let mut input = log;
    let (mut texts, mut losses) = (Vec::new(), Vec::new());
    while let Some(record) = decoder.next(&mut input).unwrap() {
        let Record::Event(raw) = record else { continue };
        match raw.decode().unwrap() {
            Decoded::Known(Event::UserMessage { text }) => texts.push(text.to_owned()),
            Decoded::Known(Event::EventsLost { cause, events, .. }) => {
                losses.push((raw.cap.map(CapNo::get), cause, events));
            }
            _ => {}
        }
    }
    decoder.finish().unwrap();
    (texts, losses)
}
