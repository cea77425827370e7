//! `eventlog replay`: recorded writes in, one log out.

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use ghc_eventlog::relay::{self, CaptureError, CaptureErrorKind, CaptureReader, Mends, SetAside};
use ghc_eventlog::{BlockWriter, EventLog, Sink, StartError};

use crate::args::ReplayArgs;
use crate::check;
use crate::outcome::{Outcome, complain};
use crate::units::{counted, size};

pub(crate) fn run(args: &ReplayArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let writes = args.writes.display().to_string();
    let output = args.output.display().to_string();
    let failed = |file: &str, reason: &dyn Display| {
        complain(file, reason);
        Ok(Outcome::Failed)
    };

    let input = match open(&args.writes) {
        Ok(input) => input,
        Err(error) => return failed(&writes, &error),
    };
    match same_file(&args.writes, &args.output) {
        Ok(false) => {}
        Ok(true) => return failed(&output, &"the log would overwrite the recorded writes"),
        Err(error) => return failed(&output, &error),
    }
    let mut capture = CaptureReader::new(BufReader::new(input));
    // What is no capture at all must not cost a log that is there.
    let first = match capture.next_write() {
        Ok(Some(write)) => write.to_vec(),
        Ok(None) => {
            complain(&writes, &"no writes in it");
            return Ok(Outcome::Bad);
        }
        Err(error) => return Ok(told(&writes, &error)),
    };
    let sink = match File::create(&args.output) {
        Ok(sink) => Sink::writer(sink),
        Err(error) => return failed(&output, &error),
    };

    let mut outcome = Outcome::Good;
    let mut mends = Mends::default();
    let mut started = None;
    let mut offset = 0;
    let mut write = Some(&first[..]);
    while let Some(bytes) = write {
        let aside = match &started {
            None => match relay::header_of(bytes) {
                Ok(header) => match EventLog::builder().relayed(sink.clone(), &header) {
                    Ok((log, writer)) => {
                        let aside = pass(&log, &writer, bytes);
                        started = Some((log, writer));
                        aside
                    }
                    Err(StartError::Io(error)) => return failed(&output, &error),
                    Err(error) => return failed(&output, &error),
                },
                Err(aside) => {
                    mends.writes += 1;
                    mends.bytes += bytes.len() as u64;
                    mends.writes_set_aside += 1;
                    mends.bytes_set_aside += bytes.len() as u64;
                    Ok(Some(aside))
                }
            },
            Some((log, writer)) => pass(log, writer, bytes),
        };
        match aside {
            Ok(None) => {}
            Ok(Some(aside)) => {
                complain(&writes, &format!("byte {offset}: {aside}"));
                outcome = outcome.max(Outcome::Bad);
            }
            Err(error) => return failed(&output, &error),
        }
        offset = capture.offset();
        write = match capture.next_write() {
            Ok(write) => write,
            Err(error) => {
                outcome = outcome.max(told(&writes, &error));
                None
            }
        };
    }
    let Some((log, _)) = started else {
        report(&writes, &mends, out)?;
        complain(&output, &"no log: no header came");
        return Ok(outcome.max(Outcome::Bad));
    };
    let statistics = match log.stop() {
        Ok(statistics) => statistics,
        Err(error) => {
            let reason = error
                .source()
                .map_or(error.to_string(), ToString::to_string);
            return failed(&output, &reason);
        }
    };
    let before = mends;
    mends = statistics.relay.unwrap_or_default().mends;
    mends.writes += before.writes;
    mends.bytes += before.bytes;
    mends.writes_set_aside += before.writes_set_aside;
    mends.bytes_set_aside += before.bytes_set_aside;
    report(&writes, &mends, out)?;
    Ok(outcome.max(check::written(&args.output, out)?))
}

/// The recorded writes; standard input for "-".
fn open(writes: &Path) -> io::Result<Box<dyn Read>> {
    if writes == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(writes)?))
}

/// Passes one write on to the sink, and tells why it was set aside if it was.
fn pass(log: &EventLog, writer: &BlockWriter, write: &[u8]) -> io::Result<Option<SetAside>> {
    let set_aside = |log: &EventLog| log.statistics().relay.unwrap_or_default();
    let before = set_aside(log).mends.writes_set_aside;
    // With nothing in the queue every write is taken.
    writer.write(write).map_err(io::Error::other)?;
    log.flush()?;
    let relay = set_aside(log);
    let is_aside = relay.mends.writes_set_aside > before;
    Ok(relay.last_set_aside.filter(|_| is_aside))
}

/// Tells a fault of the capture.
fn told(writes: &str, error: &CaptureError) -> Outcome {
    match &error.kind {
        CaptureErrorKind::Io(error) => {
            complain(writes, error);
            Outcome::Failed
        }
        _ => {
            complain(writes, error);
            Outcome::Bad
        }
    }
}

fn report(writes: &str, mends: &Mends, out: &mut dyn Write) -> io::Result<()> {
    let Mends {
        writes: count,
        bytes,
        stray_markers,
        repeated_headers,
        early_end_markers,
        end_markers_cut,
        markers_added,
        markers_without_cap,
        writes_set_aside,
        bytes_set_aside,
        ..
    } = *mends;
    let count = counted(count, "write", "writes");
    writeln!(out, "{writes}: {count}, {}", size(bytes))?;
    let added = match markers_without_cap {
        0 => "put before events that had none".to_owned(),
        some => format!("put before events that had none, {some} of them for no capability"),
    };
    let mends = [
        (
            stray_markers,
            "stray block marker",
            "dropped before a header",
        ),
        (repeated_headers, "repeated header", "dropped"),
        (early_end_markers, "early end marker", "dropped"),
        (end_markers_cut, "end marker", "cut out of a block"),
        (markers_added, "block marker", &added),
    ];
    let mut all_sound = true;
    for (count, what, how) in mends {
        if count > 0 {
            let count = counted(count, what, &format!("{what}s"));
            writeln!(out, "  mended: {count} {how}")?;
            all_sound = false;
        }
    }
    if writes_set_aside > 0 {
        let count = counted(writes_set_aside, "write", "writes");
        writeln!(out, "  set aside: {count}, {}", size(bytes_set_aside))?;
    } else if all_sound {
        writeln!(out, "  nothing to mend")?;
    }
    Ok(())
}

/// Whether both names lead to one file, by whatever way. What is not there is no file; as an input, "-" is standard
/// input.
pub(crate) fn same_file(input: &Path, output: &Path) -> io::Result<bool> {
    let there = match fs::metadata(output) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if input == Path::new("-") {
        let input = fs::metadata("/dev/stdin");
        return Ok(there.is_file() && input.is_ok_and(|input| same_place(&input, &there)));
    }
    Ok(same_place(&fs::metadata(input)?, &there)
        || fs::canonicalize(input)? == fs::canonicalize(output)?)
}

#[cfg(unix)]
fn same_place(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_place(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}
