//! `eventlog record`: a log that is served, written to a file that is a whole log at any time.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{DecodeError, Decoder, END_MARKER, Record};

use crate::args::RecordArgs;
use crate::check;
use crate::gather::{Bad, Gatherer};
use crate::outcome::{Outcome, complain};
use crate::stream::{AtEnd, Piece, Stream};
use crate::units::{counted, size};

/// The most bytes of a block, which is kept until it is whole.
const MOST: usize = 256 << 20;

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
        let bytes = match stream.next() {
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
            break "the log is bad";
        }
        if whole.ended {
            break "the log has ended";
        }
        if whole.pending.len() > MOST {
            let reason = format!("a block is longer than {}", size(MOST as u64));
            complain(source, &reason);
            outcome = Outcome::Bad;
            break "the log is bad";
        }
    };
    if let Err(error) = sink.finish() {
        complain(&output, &error);
        return Ok(Outcome::Failed);
    }
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
    match left {
        0 => writeln!(out, "  {why}")?,
        _ => {
            let left = counted(left, "byte", "bytes");
            writeln!(out, "  {why}; left out: {left} of no whole block")?;
        }
    }
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
    /// Whether the end marker has come.
    ended: bool,
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
                }
                Record::End => self.ended = true,
                _ => {}
            }
            let end = begin + (bytes.len() - rest.len()) as u64;
            if end >= self.block_end {
                self.end = end;
            }
        }
        Ok(())
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
