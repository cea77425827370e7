//! A program that logs to a file, hands its log to a profiler for a while, and goes back to the file,
//! without a pause and without losing an event.
//!
//! Here the profiler is a thread that listens on a Unix socket and counts what it is sent. It has not
//! seen the beginning of the log; it is told what it needs to know all the same.

use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use ghc_eventlog::{EventLog, Previous, Sink, Start};
use std::error::Error;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const LOG: &str = "redirect.eventlog";

fn main() -> Result<(), Box<dyn Error>> {
    let socket = std::env::temp_dir().join(format!("redirect-{}.sock", std::process::id()));
    let log = EventLog::builder().file(LOG)?;
    let done = AtomicBool::new(false);
    let at_profiler = thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let capability = log.capability().map_err(|error| error.to_string());
                let done = &done;
                scope.spawn(move || work(capability?, done))
            })
            .collect();
        let outcome = visit_profiler(&log, &socket);
        // Whatever has become of it, the workers are to end.
        done.store(true, Ordering::Relaxed);
        let mut emitted = 0;
        for worker in workers {
            emitted += worker.join().expect("a worker panicked")?;
        }
        let at_profiler = outcome?;
        println!("{emitted} messages were emitted");
        Ok::<_, Box<dyn Error>>((at_profiler, emitted))
    });
    let _ = std::fs::remove_file(&socket);
    let (at_profiler, emitted) = at_profiler?;
    let statistics = log.stop()?;
    let in_file = messages(std::fs::File::open(LOG)?)?;
    println!("{at_profiler} of them are at the profiler, {in_file} in {LOG}");
    let lost = statistics.lost().total();
    if at_profiler + in_file + lost != emitted {
        return Err("the two logs do not add up".into());
    }
    println!("{lost} were lost; every other one is in exactly one of both");
    Ok(())
}

/// Says something all the time, and tells how often.
fn work(mut capability: ghc_eventlog::Capability, done: &AtomicBool) -> Result<u64, String> {
    let mut said = 0;
    while !done.load(Ordering::Relaxed) {
        capability.message("working");
        said += 1;
        if said % 100 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(said)
}

/// From the file to the profiler, and back. Tells how many messages the profiler has got.
fn visit_profiler(log: &EventLog, socket: &Path) -> Result<u64, Box<dyn Error>> {
    thread::sleep(Duration::from_millis(100));
    let listener = UnixListener::bind(socket)?;
    let profiler = thread::spawn(move || {
        let (stream, _) = listener.accept().map_err(|error| error.to_string())?;
        messages(stream).map_err(|error| error.to_string())
    });
    let file = log.sink();
    log.set_sink(Sink::unix(socket)?, Previous::Keep, Start::Header)?;
    thread::sleep(Duration::from_millis(100));
    // The profiler's log is ended, the file's goes on where it was.
    log.set_sink(file, Previous::Close, Start::Continue)?;
    thread::sleep(Duration::from_millis(100));
    Ok(profiler.join().expect("the profiler panicked")?)
}

/// Reads a whole log, and counts the messages in it.
fn messages(mut log: impl Read) -> Result<u64, Box<dyn Error>> {
    let mut decoder = Decoder::new();
    let mut count = 0;
    let mut piece = vec![0; 64 * 1024];
    loop {
        let len = log.read(&mut piece)?;
        if len == 0 {
            decoder.finish()?;
            return Ok(count);
        }
        let mut rest = &piece[..len];
        while let Some(record) = decoder.next(&mut rest)? {
            if let Record::Event(event) = record {
                let decoded = event.decode()?;
                count += u64::from(matches!(decoded, Decoded::Known(Event::UserMessage { .. })));
            }
        }
    }
}
