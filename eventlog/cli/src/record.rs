//! `eventlog record`: a log that is served, written to a file that is a whole log at any time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{DecodeError, Decoder, END_MARKER, Record};

use crate::args::RecordArgs;
use crate::check;
use crate::gather::{Bad, Gatherer};
use crate::outcome::{Outcome, complain};
use crate::stream::{AtEnd, Piece, Stream, hopeless};
use crate::units::{counted, size};

/// The most bytes of a block, which is kept until it is whole.
const MOST: usize = 256 << 20;

/// Why recording ends at a fault.
const BAD: &str = "the log is bad";

/// Where a block's marker has its size, in bytes from the marker's start. A header may declare more behind its fields.
const SIZE: Range<usize> = 10..14;

/// Where it has the time at which the block was ended.
const END_TIME: Range<usize> = 14..22;

pub(crate) fn run(args: &RecordArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let source = &args.source;
    let output = args.output.display().to_string();
    match crate::replay::same_file(Path::new(source), &args.output) {
        Ok(true) => {
            complain(&output, &"the log would overwrite what it is recorded from");
            return Ok(Outcome::Failed);
        }
        Ok(false) => {}
        // What is no file will be told when it is opened.
        Err(_) => {}
    }
    let mut stream = match Stream::open(source, AtEnd::Stop) {
        Ok(stream) => stream,
        Err(error) => {
            complain(source, &error);
            return Ok(Outcome::Failed);
        }
    };
    let mut sink = Sink {
        path: args.output.clone(),
        file: None,
        ended: false,
    };
    let mut whole = Whole::default();
    let mut got = Gatherer::new();
    let mut outcome = Outcome::Good;
    let why = loop {
        let piece = match stream.ready() {
            Some(piece) => piece,
            None => {
                if let Some(error) = hopeless(&whole.decoder) {
                    complain(source, &error);
                    outcome = Outcome::Bad;
                    break BAD;
                }
                stream.next()
            }
        };
        let bytes = match piece {
            Piece::Bytes(bytes) => bytes,
            Piece::Interrupted => break "interrupted",
            Piece::End => {
                if let Err(error) = whole.decoder.finish() {
                    complain(source, &format!("closed before the end: {error}"));
                    outcome = Outcome::Bad;
                }
                break "the source has ended";
            }
            Piece::Failed(error) => {
                complain(source, &error);
                outcome = Outcome::Failed;
                break "the connection broke";
            }
        };
        let taken = whole.take(&bytes);
        let ready = whole.ready();
        if let Err(error) = sink.write(ready, whole.ended) {
            complain(&output, &error);
            return Ok(Outcome::Failed);
        }
        // What was framed once is framed again.
        let _ = got.take(ready);
        whole.release();
        if let Err(fault) = taken {
            complain(source, &fault);
            outcome = Outcome::Bad;
            break BAD;
        }
        if whole.ended {
            break "the log has ended";
        }
        if whole.pending.len() > MOST {
            let reason = format!("a block is longer than {}", size(MOST as u64));
            complain(source, &reason);
            outcome = Outcome::Bad;
            break BAD;
        }
    };
    let kept = whole.close_block();
    let ready = whole.ready();
    if let Err(error) = sink.write(ready, whole.ended).and_then(|()| sink.finish()) {
        complain(&output, &error);
        return Ok(Outcome::Failed);
    }
    let _ = got.take(ready);
    whole.release();
    if sink.file.is_none() {
        complain(&output, &"not written: no header came");
        return Ok(outcome.max(Outcome::Bad));
    }
    let left = whole.pending.len() as u64;
    let summary = got.finish();
    // Where the log itself goes to standard output, what is told of it must not.
    let mut told = io::stderr();
    let out: &mut dyn Write = if is_stdout(&args.output) {
        &mut told
    } else {
        out
    };
    writeln!(out, "{output}: {}", check::describe(&summary))?;
    write!(out, "  {why}")?;
    if kept > 0 {
        let kept = counted(kept, "event", "events");
        write!(out, "; of an unfinished block: {kept}")?;
    }
    if why == BAD {
        // Nobody has looked at how much that is.
        write!(out, "; left out: all after the last whole event")?;
    } else if left > 0 {
        let left = counted(left, "byte", "bytes");
        write!(out, "; left out: {left} after the last whole event")?;
    }
    writeln!(out)?;
    if let Some(Bad::Log(reason)) = &summary.fault {
        complain(&output, reason);
        outcome = outcome.max(Outcome::Bad);
    }
    Ok(outcome)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Finds out up to where a log is whole: its header, blocks, and events outside of blocks.
#[derive(Default)]
struct Whole {
    decoder: Decoder,
    /// What has come and has not been released.
    pending: Vec<u8>,
    /// Where `pending` starts, in bytes from the start of the log.
    start: u64,
    /// Up to where the log is whole.
    end: u64,
    block_end: u64,
    /// What has come of a block that is not whole.
    block: Option<Unfinished>,
    /// Whether the end marker has come.
    ended: bool,
}

/// A block of which whole events have come, but not all of them.
struct Unfinished {
    /// Where its marker starts, in bytes from the start of the log.
    start: u64,
    /// Where the last whole event ends.
    end: u64,
    events: u64,
    /// The latest time of those events, and of the block's begin.
    latest: u64,
}

impl Whole {
    /// Takes in what comes next. What was whole before an error stays so.
    fn take(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let begin = self.start + self.pending.len() as u64;
        self.pending.extend_from_slice(bytes);
        let mut rest = bytes;
        while let Some(record) = self.decoder.next(&mut rest)? {
            match record {
                Record::BlockBegin { offset, marker } => {
                    self.block_end = offset + u64::from(marker.size);
                    self.block = Some(Unfinished {
                        start: offset,
                        end: offset,
                        events: 0,
                        latest: marker.begin,
                    });
                }
                Record::Event(raw) => {
                    if let Some(block) = &mut self.block {
                        block.end = raw.offset + raw.bytes().len() as u64;
                        block.events += 1;
                        block.latest = block.latest.max(raw.time);
                    }
                }
                Record::End => self.ended = true,
                _ => {}
            }
            let end = begin + (bytes.len() - rest.len()) as u64;
            if end >= self.block_end {
                self.end = end;
                self.block = None;
            }
        }
        Ok(())
    }

    /// Makes a whole block of the events that have come of an unfinished one: its marker tells their length, and the
    /// time of the latest as its end. Gives how many they are. Nothing may be taken in any more.
    fn close_block(&mut self) -> u64 {
        let Some(block) = self.block.take().filter(|block| block.events > 0) else {
            return 0;
        };
        let marker = &mut self.pending[(block.start - self.start) as usize..];
        // Less than the size that the marker had.
        let size = (block.end - block.start) as u32;
        marker[SIZE].copy_from_slice(&size.to_be_bytes());
        marker[END_TIME].copy_from_slice(&block.latest.to_be_bytes());
        self.end = block.end;
        block.events
    }

    /// What is whole and has not been released.
    fn ready(&self) -> &[u8] {
        &self.pending[..(self.end - self.start) as usize]
    }

    /// Forgets what is whole.
    fn release(&mut self) {
        self.pending.drain(..(self.end - self.start) as usize);
        self.start = self.end;
    }
}

/// Where the log goes. An end marker is always behind it, and is written over by what comes next.
struct Sink {
    path: PathBuf,
    file: Option<Output>,
    /// Whether an end marker is there to stay.
    ended: bool,
}

enum Output {
    /// A file in which one can go back.
    File(File),
    /// What has been written cannot be written over: the end marker comes last.
    Pipe(Box<dyn Write>),
}

impl Sink {
    /// Writes what is whole. `last` tells that it ends with the log's end marker.
    fn write(&mut self, bytes: &[u8], last: bool) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let again = self.file.is_some();
        // What is no log at all must not cost a file that is there.
        if self.file.is_none() {
            self.file = Some(open(&self.path)?);
        }
        self.ended = last;
        match self.file.as_mut() {
            Some(Output::File(file)) => {
                if again {
                    file.seek(SeekFrom::Current(-(END_MARKER.len() as i64)))?;
                }
                if last {
                    return file.write_all(bytes);
                }
                // In one write, so that little is between two states in which it is a log.
                file.write_all(&[bytes, &END_MARKER].concat())
            }
            Some(Output::Pipe(pipe)) => {
                pipe.write_all(bytes)?;
                pipe.flush()
            }
            None => Ok(()),
        }
    }

    /// Writes the end marker where it is not there yet.
    fn finish(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some(Output::Pipe(pipe)) if !self.ended => {
                pipe.write_all(&END_MARKER)?;
                pipe.flush()
            }
            _ => Ok(()),
        }
    }
}

fn open(path: &Path) -> io::Result<Output> {
    if is_stdout(path) {
        return Ok(Output::Pipe(Box::new(io::stdout())));
    }
    let file = File::create(path)?;
    if file.metadata()?.is_file() {
        return Ok(Output::File(file));
    }
    Ok(Output::Pipe(Box::new(file)))
}
