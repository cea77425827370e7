//! A program with event types of its own: they are declared in the header of its log, so that a reader
//! that has never seen the program knows the fields by name.
//!
//! Here the reader adds up what each path has been sent. `eventlog show` prints the same events, and
//! tools of GHC's logs skip them.

use ghc_eventlog::EventLog;
use ghc_eventlog::format::{Decoded, Decoder, FieldType, Record, UserEventType, Value};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::thread;
use std::time::Instant;

const LOG: &str = "user_events.eventlog";

fn main() -> Result<(), Box<dyn Error>> {
    let request = UserEventType::builder(0, "request")
        .field("path", FieldType::Str)
        .field("bytes", FieldType::U64)
        .field("seconds", FieldType::F64)
        .build()?;
    let log = EventLog::builder().declare(&request).file(LOG)?;
    let capabilities = [log.capability()?, log.capability()?];
    thread::scope(|scope| {
        for (worker, mut capability) in (1u64..).zip(capabilities) {
            let request = &request;
            scope.spawn(move || {
                for round in 1..=500 {
                    let begin = Instant::now();
                    let path = ["/", "/index", "/image"][round as usize % 3];
                    let values = [
                        Value::Str(path),
                        Value::U64(worker * round),
                        Value::F64(begin.elapsed().as_secs_f64()),
                    ];
                    let event = request.event(&values).expect("the values are the fields'");
                    capability.emit(&event);
                }
            });
        }
    });
    let lost = log.stop()?.lost().total();

    let sent = bytes_by_path(std::fs::File::open(LOG)?)?;
    for (path, (requests, bytes)) in &sent {
        println!("{path:8} {requests:4} requests {bytes:8} bytes");
    }
    let requests: u64 = sent.values().map(|(requests, _)| requests).sum();
    if requests + lost != 1_000 {
        return Err("the log does not have every request".into());
    }
    println!("{LOG} has them all; `eventlog show {LOG}` prints them");
    Ok(())
}

/// What a log says of each path, known by the names of event and fields alone.
fn bytes_by_path(mut log: impl Read) -> Result<BTreeMap<String, (u64, u64)>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes)?;
    let mut rest = &bytes[..];
    let mut decoder = Decoder::new();
    let mut sent = BTreeMap::<String, (u64, u64)>::new();
    while let Some(record) = decoder.next(&mut rest)? {
        let Record::Event(event) = record else {
            continue;
        };
        let Decoded::User(event) = event.decode()? else {
            continue;
        };
        if let (Some(Value::Str(path)), Some(Value::U64(bytes))) =
            (event.get("path"), event.get("bytes"))
        {
            let (requests, sum) = sent.entry(path.to_owned()).or_default();
            *requests += 1;
            *sum += bytes;
        }
    }
    decoder.finish()?;
    Ok(sent)
}
