//! Sinks and readers that check a log while it is written to them, and keep nothing of it.

use ghc_eventlog::format::{Decoded, Decoder, Event, LossCause, Record};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A message that can be told from all others: who wrote it, and its number.
pub(crate) struct Numbered {
    text: [u8; Numbered::LONGEST],
}

impl Numbered {
    const HEAD: usize = 24;
    const LONGEST: usize = 200;

    pub(crate) fn by(writer: u32) -> Self {
        let mut text = [b'.'; Self::LONGEST];
        write_hex(u64::from(writer), &mut text[..8]);
        Numbered { text }
    }

    /// The text of message `number`, whose length depends on the number.
    pub(crate) fn text(&mut self, number: u64) -> &str {
        write_hex(number, &mut self.text[8..Self::HEAD]);
        let len = match number % 64 {
            0 => Self::LONGEST,
            short => Self::HEAD + short as usize % 24,
        };
        std::str::from_utf8(&self.text[..len]).unwrap()
    }

    fn read(text: &str) -> Option<(u32, u64)> {
        let writer = u32::from_str_radix(text.get(..8)?, 16).ok()?;
        let number = u64::from_str_radix(text.get(8..Self::HEAD)?, 16).ok()?;
        Some((writer, number))
    }
}

fn write_hex(number: u64, out: &mut [u8]) {
    let len = out.len();
    for (index, digit) in out.iter_mut().enumerate() {
        let nibble = number >> (4 * (len - 1 - index)) & 15;
        *digit = b"0123456789abcdef"[nibble as usize];
    }
}

/// What came of one buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Events, those left out that tell of losses or are replayed.
    pub(crate) events: u64,
    /// Events that the log says were lost, by cause.
    pub(crate) full: u64,
    pub(crate) overwritten: u64,
    pub(crate) sink: u64,
    /// Who wrote the last message, and the number that follows it.
    last: Option<(u32, u64)>,
    /// Events that were told as lost since then.
    told: u64,
}

impl Seen {
    /// The number after everything that was seen or told of.
    pub(crate) fn next(&self) -> u64 {
        self.last.map_or(0, |(_, next)| next) + self.told
    }
}

/// How much can be said of the numbers of a buffer's messages.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// What is missing has been told right there.
    Exact,
    /// They grow.
    Growing,
}

/// What has come of a log, in one sink after the other or in one reader.
#[derive(Debug)]
pub(crate) struct Content {
    seen: BTreeMap<Option<u16>, Seen>,
    /// The capabilities below this number have one writer for the whole time.
    lasting: u16,
    /// The log is seen from its beginning: what is missing before the first message is missed.
    from_start: bool,
    /// The sink that the log goes to now, and the one that it goes back to when that is closed.
    current: Option<SinkNo>,
    returning: Option<SinkNo>,
    /// Sinks that there have been.
    sinks: u64,
    /// Events that were replayed to sinks that the log has gone back to.
    pub(crate) repeated: u64,
    fault: Option<String>,
}

/// One of the sinks that take the same content one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SinkNo(u64);

impl Content {
    pub(crate) fn new(lasting: u16, from_start: bool) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Content {
            seen: BTreeMap::new(),
            lasting,
            from_start,
            current: None,
            returning: None,
            sinks: 0,
            repeated: 0,
            fault: None,
        }))
    }

    pub(crate) fn of(&self, cap: Option<u16>) -> Seen {
        self.seen.get(&cap).copied().unwrap_or_default()
    }

    /// Events that the log says its reader did not get.
    pub(crate) fn told_of_sink(&self) -> u64 {
        self.seen.values().map(|seen| seen.sink).sum()
    }

    /// What was wrong first. (A panic would be caught by the log.)
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Says that the log goes back to this sink as soon as the one that it goes to is closed. Until then the sink gets
    /// nothing but a replay of what it has missed.
    pub(crate) fn go_back_to(&mut self, sink: SinkNo) {
        self.returning = Some(sink);
    }

    fn order(&self, cap: Option<u16>) -> Order {
        match cap {
            Some(cap) if cap < self.lasting => Order::Exact,
            _ => Order::Growing,
        }
    }

    fn message(&mut self, cap: Option<u16>, text: &str, least: u64) -> Result<(), String> {
        let order = self.order(cap);
        let from_start = self.from_start;
        let seen = self.seen.entry(cap).or_default();
        let (writer, number) = Numbered::read(text).ok_or_else(|| format!("message {text:?}"))?;
        let told = std::mem::take(&mut seen.told);
        let last = seen.last.replace((writer, number + 1));
        let is_right = match (last, order) {
            (Some((of, next)), Order::Exact) => of == writer && number == next + told,
            (None, Order::Exact) => !from_start || number == told,
            (Some((of, next)), Order::Growing) => of != writer || number >= next,
            (None, Order::Growing) => true,
        };
        if !is_right || number < least {
            return Err(format!(
                "message {number} of writer {writer} to {cap:?} after {last:?} and {told} lost, \
                 least {least}"
            ));
        }
        Ok(())
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks one log, whose content may go on in another.
pub(crate) struct Check {
    content: Arc<Mutex<Content>>,
    number: SinkNo,
    decoder: Decoder,
    /// The log's beginning has been written, which replays what was before.
    has_begun: bool,
    /// Whether the log must be whole when nobody writes it any more.
    must_end: bool,
    /// Nothing of before this was to be in here: for each lasting capability, the first number.
    least: Vec<u64>,
    _alive: Alive,
}

impl Check {
    pub(crate) fn new(
        content: &Arc<Mutex<Content>>,
        must_end: bool,
        least: Vec<u64>,
        alive: &Arc<AtomicUsize>,
    ) -> Self {
        let sinks = &mut lock(content).sinks;
        *sinks += 1;
        Check {
            content: Arc::clone(content),
            number: SinkNo(*sinks),
            decoder: Decoder::new(),
            has_begun: false,
            must_end,
            least,
            _alive: Alive::new(alive),
        }
    }

    pub(crate) fn number(&self) -> SinkNo {
        self.number
    }

    fn look(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let mut content = lock(&self.content);
        let is_beginning = !std::mem::replace(&mut self.has_begun, true);
        if is_beginning {
            content.current = Some(self.number);
        }
        let is_back = content.current != Some(self.number);
        loop {
            let record = match self.decoder.next(&mut bytes) {
                Ok(None) => return Ok(()),
                Ok(Some(record)) => record,
                Err(error) => return Err(error.to_string()),
            };
            let Record::Event(raw) = record else { continue };
            let cap = raw.cap.map(|cap| cap.get());
            let event = match raw.decode() {
                Ok(Decoded::Known(event)) => event,
                other => return Err(format!("{other:?}")),
            };
            if is_beginning || is_back {
                content.repeated += u64::from(is_back);
                if let Event::UserMessage { text } = event {
                    return Err(format!("message {text:?} is replayed"));
                }
                continue;
            }
            match event {
                Event::EventsLost { cause, events, .. } => {
                    let seen = content.seen.entry(cap).or_default();
                    let sum = match cause {
                        LossCause::Full => &mut seen.full,
                        LossCause::Overwritten => &mut seen.overwritten,
                        LossCause::Sink => &mut seen.sink,
                        other => return Err(format!("a loss by {other:?}")),
                    };
                    *sum += events;
                    seen.told += events;
                }
                Event::UserMessage { text } => {
                    content.seen.entry(cap).or_default().events += 1;
                    let least = cap.and_then(|cap| self.least.get(usize::from(cap)));
                    content.message(cap, text, least.copied().unwrap_or(0))?;
                }
                _ => content.seen.entry(cap).or_default().events += 1,
            }
        }
    }
}

impl Write for Check {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(fault) = self.look(bytes) {
            lock(&self.content).fault.get_or_insert(fault);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        let mut content = lock(&self.content);
        if content.current == Some(self.number) {
            content.current = content.returning.take();
        }
        if let (true, Err(error)) = (self.must_end, self.decoder.finish()) {
            content.fault.get_or_insert(error.to_string());
        }
    }
}

/// Counts those that are there.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        // Relaxed, as below: nothing but the number is read.
        count.fetch_add(1, Ordering::Relaxed);
        Alive(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a reader behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Fast,
    /// Rests after each block.
    Slow,
    /// Takes nothing until the gate is opened.
    Stuck,
    /// Fails after so many bytes.
    Dying(usize),
}

/// What stuck readers wait at.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn set_open(&self, open: bool) {
        *lock(&self.is_open) = open;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let waited = self.changed.wait_while(lock(&self.is_open), |open| !*open);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// A reader of some manner.
pub(crate) struct Mannered {
    pub(crate) manner: Manner,
    pub(crate) gate: Arc<Gate>,
    pub(crate) check: Check,
}

impl Write for Mannered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.manner {
            Manner::Fast => {}
            Manner::Slow => thread::sleep(Duration::from_millis(2)),
            Manner::Stuck => self.gate.pass(),
            Manner::Dying(left) => {
                if *left == 0 {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                // All of the first write, which is the beginning.
                *left = left.saturating_sub(bytes.len());
            }
        }
        self.check.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
