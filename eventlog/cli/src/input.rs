//! Logs as streams: files or standard input, read piece by piece.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;

use ghc_eventlog::format::{
    ByTimeError, DecodeError, DecodeErrorKind, Decoder, EventsByTime, Gap, Header, HeaderError,
    Record,
};

const PIECE: usize = 1 << 18;

/// Why a log could not be read to its end.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The log is bad.
    Log(DecodeError),
    /// The file cannot be read.
    Io(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(DecodeError {
                offset: 0,
                kind: DecodeErrorKind::Truncated { partial: 0 },
            }) => f.write_str("byte 0: the file is empty"),
            Self::Log(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl From<ByTimeError> for Fault {
    fn from(error: ByTimeError) -> Self {
        match error {
            ByTimeError::Decode(error) => Self::Log(error),
            ByTimeError::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(other)),
        }
    }
}

/// The file of that name, if one can go back in it.
pub(crate) fn seekable(name: &str) -> io::Result<Option<File>> {
    // Asked before it is opened: a pipe that is opened and closed again is over.
    if name == "-" || !fs::metadata(name)?.is_file() {
        return Ok(None);
    }
    File::open(name).map(Some)
}

/// The events of the file of that name in the order of time. Where `lenient`, tells `skip` what is left out.
pub(crate) fn by_time(
    name: &str,
    lenient: bool,
    skip: impl FnMut(&Gap),
) -> Result<EventsByTime<File>, Fault> {
    let Some(file) = seekable(name).map_err(Fault::Io)? else {
        if name != "-" && fs::metadata(name).is_ok_and(|there| there.is_dir()) {
            return Err(Fault::Io(ErrorKind::IsADirectory.into()));
        }
        let text = "not a file in which one can go back, as the order of time asks for: \
                    'eventlog record SOURCE -o FILE' makes one of a pipe, a socket, or - for standard input";
        return Err(Fault::Io(io::Error::other(text)));
    };
    let events = match lenient {
        true => EventsByTime::lenient(file, skip),
        false => EventsByTime::new(file),
    };
    Ok(events?)
}

/// What all headers of a log declare together.
pub(crate) fn header(events: &EventsByTime<File>) -> Result<Header, HeaderError> {
    let mut others = events.headers().iter().skip(1);
    others.try_fold(events.header().clone(), |all, header| all.union(header))
}

/// The file of that name; standard input for "-".
pub(crate) fn open(name: &str) -> io::Result<Box<dyn Read>> {
    if name == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(name)?))
}

/// Gives every record of a log, with the offset of the first byte after it, to `visit`, which may
/// end the reading.
pub(crate) fn read(
    input: &mut dyn Read,
    visit: impl FnMut(Record<'_>, u64) -> ControlFlow<()>,
) -> Result<(), Fault> {
    read_by(Decoder::new(), input, visit)
}

/// The same by a decoder that is given.
pub(crate) fn read_by(
    mut decoder: Decoder,
    input: &mut dyn Read,
    mut visit: impl FnMut(Record<'_>, u64) -> ControlFlow<()>,
) -> Result<(), Fault> {
    let mut buffer = vec![0; PIECE];
    let mut start = 0;
    loop {
        let len = fill(input, &mut buffer).map_err(Fault::Io)?;
        if len == 0 {
            return decoder.finish().map_err(Fault::Log);
        }
        let mut rest = &buffer[..len];
        while let Some(record) = decoder.next(&mut rest).map_err(Fault::Log)? {
            if visit(record, start + (len - rest.len()) as u64).is_break() {
                return Ok(());
            }
        }
        start += len as u64;
    }
}

/// Reads once, whatever signals come.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
