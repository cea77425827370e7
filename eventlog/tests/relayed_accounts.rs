//! What becomes of the writes of a relayed log where its sink refuses, or memory is full: nothing is lost that is not
//! counted and told, and no more is kept than there is room for.

mod relay_support;

use ghc_eventlog::format::{END_MARKER, Header, LossCause};
use ghc_eventlog::{BlockWriter, EmitError, EventLog, Policy, Sink, WhenFull};
use relay_support::{messages, read};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A block of so many messages, numbered on.
fn numbered(cap: u16, from: usize, count: usize) -> Vec<u8> {
    let numbers = from..from + count;
    let texts: Vec<_> = numbers.map(|number| format!("{cap} {number}")).collect();
    messages(cap, from as u64 + 1, &texts)
}

/// What a sink refuses.
#[derive(Clone, Copy, Default, PartialEq)]
enum Refused {
    #[default]
    Nothing,
    Everything,
    /// Blocks with one event that tells of a loss.
    Losses,
}

/// Takes what it is not told to refuse.
#[derive(Clone, Default)]
struct Choosy(Arc<Mutex<(Refused, Vec<u8>)>>);

impl Choosy {
    fn refuse(&self, what: Refused) {
        self.0.lock().unwrap().0 = what;
    }

    fn taken(&self) -> Vec<u8> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Write for Choosy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Markers come alone.
        const LOSS: usize = 24 + 27;
        let (refused, taken) = &mut *self.0.lock().unwrap();
        let is_loss = bytes.len() == 24 && bytes[10..14] == (LOSS as u32).to_be_bytes();
        match refused {
            Refused::Everything => return Err(io::Error::other("not now")),
            Refused::Losses if is_loss => return Err(io::Error::other("not now")),
            _ => {}
        }
        taken.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn count_until_full(writer: &BlockWriter, mut write: impl FnMut(usize) -> Vec<u8>) -> usize {
    (0..)
        .find(|number| writer.write(&write(*number)).is_err())
        .unwrap()
}

#[test]
fn a_write_of_several_blocks_that_is_refused_is_kept_as_a_whole() {
    let sink = Choosy::default();
    let builder = EventLog::builder().sink_backlog(0);
    let started = builder.relayed(Sink::writer(sink.clone()), Header::standard());
    let (log, writer) = started.unwrap();
    sink.refuse(Refused::Everything);
    let blocks = [0, 1, 2].map(|cap| numbered(cap, 0, 2));
    writer.write(&blocks.concat()).unwrap();
    log.flush().unwrap_err();
    assert_eq!(log.statistics().lost().total(), 0);
    sink.refuse(Refused::Nothing);
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let (texts, losses) = read(&sink.taken());
    assert_eq!(texts, ["0 0", "0 1", "1 0", "1 1", "2 0", "2 1"]);
    assert_eq!(losses, []);
}

#[test]
fn losses_of_every_capability_are_told_though_the_sink_refuses_the_first() {
    let sink = Choosy::default();
    let builder = EventLog::builder().buffer_size(70_000).sink_backlog(0);
    let started = builder.relayed(Sink::writer(sink.clone()), Header::standard());
    let (log, writer) = started.unwrap();
    sink.refuse(Refused::Everything);
    writer.write(&numbered(0, 0, 1)).unwrap();
    log.flush().unwrap_err();
    let taken = count_until_full(&writer, |number| numbered(0, 1_000 * number, 800));
    for cap in [1, 2] {
        assert_eq!(writer.write(&numbered(cap, 0, 900)), Err(EmitError::Full));
    }
    sink.refuse(Refused::Losses);
    log.flush().unwrap_err();
    sink.refuse(Refused::Nothing);
    assert_eq!(log.stop().unwrap().lost().full, 800 + 900 + 900);
    let (texts, losses) = read(&sink.taken());
    assert_eq!(texts.len(), 1 + 800 * taken);
    let lost = |cap, events| (Some(cap), LossCause::Full, events);
    assert_eq!(losses, [lost(0, 800), lost(1, 900), lost(2, 900)]);
}

#[test]
fn what_tells_of_losses_takes_no_more_memory_than_there_is() {
    const BUDGET: usize = 200_000;
    let (sink, chunks) = Sink::chunks(BUDGET, WhenFull::DropNewest);
    let builder = EventLog::builder()
        .buffer_size(70_000)
        .policy(Policy::OverwriteOldest);
    let (log, writer) = builder.relayed(sink, Header::standard()).unwrap();
    for number in 0..300 {
        writer.write(&numbered(0, number * 1_000, 800)).unwrap();
        let _ = log.flush();
        let used = chunks.used();
        assert!(used <= BUDGET, "{used} bytes after {number} writes");
    }
    let mut taken = chunks.header();
    let mut take = || {
        while let Ok(chunk) = chunks.chunk() {
            taken.extend_from_slice(&chunk);
        }
    };
    take();
    let statistics = log.stop().unwrap();
    take();
    taken.extend(END_MARKER);
    let (texts, losses) = read(&taken);
    let told: u64 = losses.iter().map(|(_, _, events)| events).sum();
    assert!(told > 0);
    assert_eq!(told, statistics.lost().overwritten);
    assert_eq!(texts.len() as u64 + told, 300 * 800);
}

#[test]
fn a_write_of_many_short_blocks_takes_no_more_memory_than_there_is() {
    const BUDGET: usize = 400_000;
    let (sink, chunks) = Sink::chunks(BUDGET, WhenFull::DropNewest);
    let (log, writer) = EventLog::builder()
        .relayed(sink, Header::standard())
        .unwrap();
    for number in 0..20 {
        let blocks = (0..800).map(|block| numbered(0, 1_000 * number + block, 1));
        writer.write(&blocks.collect::<Vec<_>>().concat()).unwrap();
        let _ = log.flush();
        let used = chunks.used();
        assert!(used <= BUDGET, "{used} bytes after {number} writes");
    }
}

#[test]
fn the_bytes_of_overwritten_writes_are_counted_with_their_events() {
    let sink = Choosy::default();
    let builder = EventLog::builder()
        .buffer_size(70_000)
        .policy(Policy::OverwriteOldest);
    let started = builder.relayed(Sink::writer(sink.clone()), Header::standard());
    let (log, writer) = started.unwrap();
    sink.refuse(Refused::Everything);
    writer.write(&numbered(0, 0, 1)).unwrap();
    log.flush().unwrap_err();
    let write = numbered(0, 1_000, 800);
    for _ in 0..12 {
        writer.write(&write).unwrap();
    }
    sink.refuse(Refused::Nothing);
    let statistics = log.stop().unwrap();
    let of = statistics.capabilities[0];
    assert!(of.lost.overwritten > 0);
    let first = numbered(0, 0, 1).len() - 24;
    assert_eq!(of.events, 12 * 800 + 1);
    assert_eq!(of.bytes, 12 * (write.len() as u64 - 24) + first as u64);
}

#[test]
fn a_log_that_has_been_stopped_keeps_no_memory_for_writes() {
    let (log, writer) = EventLog::builder()
        .relayed(Sink::null(), Header::standard())
        .unwrap();
    for number in 0..20 {
        writer.write(&numbered(0, number * 10_000, 10_000)).unwrap();
        log.flush().unwrap();
    }
    assert!(log.statistics().shared.memory > 0);
    let statistics = log.stop().unwrap();
    assert_eq!(statistics.shared.memory, 0);
    assert_eq!(writer.write(&numbered(0, 0, 1)), Err(EmitError::Stopped));
}
