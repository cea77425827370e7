//! Test data and sinks for the tests of the relay.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ghc_eventlog::format::{Decoder, END_MARKER};
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

/// A sink whose bytes can be looked at afterwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedSink(Arc<Mutex<Vec<u8>>>);

impl SharedSink {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for SharedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
