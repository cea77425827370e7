//! What errors say: the value that was given, and the limit that it is beyond.

use ghc_eventlog::format::{Event, UserEventType};
use ghc_eventlog::{
    Address, AttachError, AttachOptions, CapabilityError, EventLog, ListenError, Sink, StartError,
    WhenFull,
};
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

/// An error's text, and those of its causes.
fn told(error: &(dyn Error + 'static)) -> String {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    texts.join(": ")
}

fn log() -> EventLog {
    EventLog::builder().sink(Sink::null()).unwrap()
}

#[test]
fn a_buffer_size_that_is_refused_is_named_with_its_bound() {
    let start = |bytes| EventLog::builder().buffer_size(bytes).start(io::sink());
    let too_small =
        "a buffer of 100 bytes cannot hold the largest event: at least 65571 are needed";
    assert_eq!(told(&start(100).unwrap_err()), too_small);
    assert_eq!(told(&log().resize(100).unwrap_err()), too_small);
    let too_large = "a buffer of 3000000000 bytes is too large: at most 2147483635 are possible";
    if let Ok(bytes) = usize::try_from(3_000_000_000_u64) {
        assert_eq!(told(&start(bytes).unwrap_err()), too_large);
        assert_eq!(told(&log().resize(bytes).unwrap_err()), too_large);
    }
}

#[test]
fn a_capability_beyond_the_last_number_is_told_how_many_there_can_be() {
    let text = told(&CapabilityError::Exhausted { limit: 65_535 });
    assert_eq!(
        text,
        "an event log can have 65535 capabilities at a time, not more"
    );
}

#[test]
fn types_that_cannot_be_declared_together_are_named() {
    let ty = |number, name| UserEventType::builder(number, name).build().unwrap();
    let start = |types: [UserEventType; 2]| {
        let builder = EventLog::builder().declare(&types[0]).declare(&types[1]);
        told(&builder.start(io::sink()).unwrap_err())
    };
    let id = ty(3, "one").id();
    let twice = format!("event types \"one\" and \"two\" both have id {id}");
    assert_eq!(start([ty(3, "one"), ty(3, "two")]), twice);
    let (first, second) = (ty(3, "one").id(), ty(4, "one").id());
    let named = format!("the event types of ids {first} and {second} are both named \"one\"");
    assert_eq!(start([ty(3, "one"), ty(4, "one")]), named);
    let refused = log()
        .try_emit(&ty(3, "one").event(&[]).unwrap())
        .unwrap_err();
    assert!(
        told(&refused).ends_with(&format!("id is {id}")),
        "{refused}"
    );
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing").join("my.eventlog");
    let refused = EventLog::builder().file(&path).unwrap_err();
    let StartError::File {
        path: named,
        source,
    } = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!((named, source.kind()), (&path, io::ErrorKind::NotFound));
    let file = format!("the event log's file {} could not be made", path.display());
    assert_eq!(refused.to_string(), file);
    assert_eq!(told(&refused), format!("{file}: {source}"));
    // As a program tells it whose `main` returns the error.
    let debug = format!("{refused:?}");
    assert!(debug.contains(path.to_str().unwrap()), "{debug}");
    assert!(debug.contains("NotFound"), "{debug}");
}

#[cfg(unix)]
#[test]
fn a_socket_is_refused_with_its_path_or_its_address_and_the_bound() {
    let directory = tempfile::tempdir().unwrap();
    let options = AttachOptions::default;
    let long = directory.path().join("x".repeat(100)).join("my.sock");
    std::fs::create_dir(long.parent().unwrap()).unwrap();
    let refused = log()
        .listen(Address::Unix(long.clone()), options())
        .unwrap_err();
    let text = told(&refused);
    assert!(text.contains(long.to_str().unwrap()), "{text}");
    let most = if cfg!(target_os = "linux") { 107 } else { 103 };
    assert!(text.contains(&format!("at most {most} are")), "{text}");
    assert!(
        std::fs::read_dir(long.parent().unwrap())
            .unwrap()
            .next()
            .is_none()
    );

    let file = directory.path().join("no.sock");
    std::fs::write(&file, "").unwrap();
    let text = told(
        &log()
            .listen(Address::Unix(file.clone()), options())
            .unwrap_err(),
    );
    assert!(
        text.contains(file.to_str().unwrap()) && text.contains("no socket"),
        "{text}"
    );

    let anywhere = Address::Tcp(([192, 0, 2, 1], 7).into());
    let text = told(&log().listen(anywhere, options()).unwrap_err());
    assert!(
        text.starts_with("192.0.2.1:7 is no loopback address"),
        "{text}"
    );
    let stopped = log();
    stopped.stop().unwrap();
    let free = Address::Tcp(([127, 0, 0, 1], 0).into());
    let refused = stopped.listen(free, options()).unwrap_err();
    assert!(matches!(refused, ListenError::Stopped));
    assert_eq!(told(&refused), "the event log has been stopped");
}

#[test]
fn memory_that_is_full_is_told_with_its_budget() {
    let builder = EventLog::builder().flush_interval(Duration::MAX);
    let (log, chunks) = builder.in_memory(1_000, WhenFull::DropNewest).unwrap();
    let mut capability = log.capability().unwrap();
    for _ in 0..100 {
        capability.message("something to keep");
    }
    // The first block is taken in whatever the budget.
    let _ = log.flush();
    capability.message("something else");
    let full = log.flush().unwrap_err();
    let of = format!("take {} bytes of their budget of 1000", chunks.used());
    assert!(told(&full).contains(&of), "{full}: not {of}");
    // The first one is given a cut, which goes beyond the budget.
    log.attach(io::sink(), AttachOptions::default()).unwrap();
    let refused = log
        .attach(io::sink(), AttachOptions::default())
        .unwrap_err();
    assert!(matches!(refused, AttachError::Sink(_)));
    assert!(
        told(&refused).contains("of their budget of 1000"),
        "{}",
        told(&refused)
    );
}

/// Takes the header, and then more than it is given, as it says.
struct Greedy(bool);

impl Write for Greedy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len() + usize::from(std::mem::replace(&mut self.0, true)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_took_more_than_it_was_given_is_told_how_much_that_was_and_what_is_lost() {
    let log = EventLog::builder().start(Greedy(false)).unwrap();
    let mut capability = log.capability().unwrap();
    capability.try_emit(&Event::GcStart).unwrap();
    let refused = log.stop().unwrap_err();
    let lost = refused.statistics().lost().sink;
    let text = told(&refused);
    let start = format!("the sink did not take the end of the event log: {lost} events lost: ");
    assert!(lost > 0 && text.starts_with(&start), "{text}");
    assert!(
        text.contains("that it took ") && text.contains(" bytes, more than the "),
        "{text}"
    );
}
