//! `eventlog tail`: the events of a log that is being written, as they come.

use std::io::{self, Write};

use ghc_eventlog::format::{CapNo, DecodeError, Decoder, Header, Record};

use crate::args::{Cap, TailArgs};
use crate::outcome::{Outcome, complain};
use crate::show::Printer;
use crate::stream::{AtEnd, Piece, Stream, hopeless};

pub(crate) fn run(args: &TailArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let source = &args.source;
    let mut stream = match Stream::open(source, AtEnd::Follow) {
        Ok(stream) => stream,
        Err(error) => {
            complain(source, &error);
            return Ok(Outcome::Failed);
        }
    };
    let mut tail = Tail {
        decoder: Decoder::new(),
        header: None,
        cap: args.cap,
        ended: args.count == Some(0),
        printer: Printer {
            out,
            left: args.count.unwrap_or(u64::MAX),
            unreadable: 0,
        },
    };
    let mut outcome = Outcome::Good;
    while !tail.ended {
        // What has come is shown before more is waited for.
        let piece = match stream.ready() {
            Some(piece) => piece,
            None => {
                tail.printer.out.flush()?;
                if let Some(error) = hopeless(&tail.decoder) {
                    complain(source, &error);
                    outcome = Outcome::Bad;
                    break;
                }
                stream.next()
            }
        };
        let fault = match piece {
            Piece::Bytes(bytes) => match tail.take(&bytes)? {
                Ok(()) => continue,
                Err(error) => error,
            },
            Piece::End => match tail.decoder.finish() {
                Ok(()) => break,
                Err(error) => {
                    tail.printer.out.flush()?;
                    complain(source, &format!("closed before the end: {error}"));
                    outcome = Outcome::Bad;
                    break;
                }
            },
            Piece::Interrupted => break,
            Piece::Failed(error) => {
                tail.printer.out.flush()?;
                complain(source, &error);
                outcome = Outcome::Failed;
                break;
            }
        };
        tail.printer.out.flush()?;
        complain(source, &fault);
        outcome = Outcome::Bad;
        break;
    }
    tail.printer.out.flush()?;
    let unreadable = tail.printer.unreadable;
    if unreadable > 0 {
        let reason = format!("{unreadable} of the events shown cannot be read");
        complain(source, &reason);
        outcome = outcome.max(Outcome::Bad);
    }
    Ok(outcome)
}

struct Tail<'o> {
    decoder: Decoder,
    header: Option<Header>,
    cap: Option<Cap>,
    /// Whether nothing more is to be shown.
    ended: bool,
    printer: Printer<'o>,
}

impl Tail<'_> {
    /// Prints the events of the next piece.
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<Result<(), DecodeError>> {
        loop {
            match self.decoder.next(&mut bytes) {
                Err(error) => return Ok(Err(error)),
                Ok(None) => return Ok(Ok(())),
                Ok(Some(Record::Header(header))) => self.header = Some(header.clone()),
                Ok(Some(Record::Event(raw))) => {
                    let Some(header) = &self.header else { continue };
                    if self.cap.is_none_or(|cap| cap.0 == raw.cap.map(CapNo::get)) {
                        self.printer.print(raw.cap, &raw, header)?;
                    }
                    if self.printer.left == 0 {
                        self.ended = true;
                        return Ok(Ok(()));
                    }
                }
                Ok(Some(Record::End)) => {
                    self.ended = true;
                    return Ok(Ok(()));
                }
                Ok(Some(_)) => {}
            }
        }
    }
}
