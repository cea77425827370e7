//! A reader that is attached to a running log: a queue of whole blocks, bounded, and a thread that
//! writes them. The collector only ever puts blocks in, and never waits.

use crate::buffer_reader::{Losses, count_events};
use crate::format::{BlockMarker, CapNo, END_MARKER, Header};
use crate::missed::Missed;
use crate::user_writer::UserWriter;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::ops::AddAssign;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, mem};

/// Which reader it is, of those of a log; see [`EventLog::attach`](crate::EventLog::attach).
///
/// ```
/// use ghc_eventlog::{AttachOptions, EventLog};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// let reader = log.attach(std::io::sink(), AttachOptions::default())?;
/// assert_eq!(log.statistics().readers[0].id, Some(reader));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReaderId(pub(crate) u64);

/// How a reader is served, see [`EventLog::attach`](crate::EventLog::attach), or a
/// [queued sink](crate::Sink::queued).
///
/// ```
/// use ghc_eventlog::AttachOptions;
/// use std::time::Duration;
///
/// let options = AttachOptions::default().queue(64 * 1024 * 1024).linger(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct AttachOptions {
    pub(crate) queue: usize,
    pub(crate) linger: Duration,
    pub(crate) readers: usize,
}

impl Default for AttachOptions {
    /// A queue of 8 MiB, a linger of one second, and at most 64 readers of a listener.
    fn default() -> Self {
        AttachOptions {
            queue: 8 * 1024 * 1024,
            linger: Duration::from_secs(1),
            readers: 64,
        }
    }
}

impl AttachOptions {
    /// Bytes of blocks that may wait for the reader: 8 MiB where this is not called. Blocks that do
    /// not fit are dropped for this reader; one that is longer than the queue is taken where it has
    /// the queue for itself. The log's beginning comes on top.
    ///
    /// ```
    /// let options = ghc_eventlog::AttachOptions::default().queue(1024 * 1024);
    /// ```
    pub fn queue(mut self, bytes: usize) -> Self {
        self.queue = bytes;
        self
    }

    /// How long the reader is waited for when it is detached or the log is stopped: one second where
    /// this is not called. After that it is on its own, and what it has not taken is lost to it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let options = ghc_eventlog::AttachOptions::default().linger(Duration::ZERO);
    /// ```
    pub fn linger(mut self, time: Duration) -> Self {
        self.linger = time;
        self
    }

    /// How many readers a [listener](crate::EventLog::listen) serves at a time: 64 where this is not called. Each
    /// takes a thread and its queue. Who connects beyond that finds the connection closed, and is
    /// [counted](crate::Listener::refused). Nothing else heeds it.
    ///
    /// ```
    /// let options = ghc_eventlog::AttachOptions::default().readers(4);
    /// ```
    pub fn readers(mut self, most: usize) -> Self {
        self.readers = most;
        self
    }
}

/// What has become of the blocks of an attached reader.
///
/// ```
/// let statistics = ghc_eventlog::ReaderStatistics::default();
/// assert_eq!((statistics.bytes_written, statistics.lost_events), (0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderStatistics {
    /// Which reader; `None` for several.
    pub id: Option<ReaderId>,
    /// Blocks that it has taken, the beginning of its log left out.
    pub blocks: u64,
    /// Bytes that it has taken.
    pub bytes_written: u64,
    /// Bytes that wait in its queue.
    pub queued_bytes: u64,
    /// Events that it did not get since its queue was full, or since it was gone.
    pub lost_events: u64,
    /// Bytes of these events.
    pub lost_bytes: u64,
    /// Why it takes no more, where its writer has failed; for several, why the last one failed of those that did.
    /// [`Statistics::reader_failure`](crate::Statistics::reader_failure) has the words.
    pub error: Option<io::ErrorKind>,
}

/// Why a reader was let go: its writer has failed, or panicked, also as it was dropped.
///
/// ```
/// use ghc_eventlog::{AttachOptions, EventLog, Sink};
/// use std::io;
///
/// /// A reader that has gone away.
/// struct Gone;
/// impl io::Write for Gone {
///     fn write(&mut self, _: &[u8]) -> io::Result<usize> {
///         Err(io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads this"))
///     }
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let reader = log.attach(Gone, AttachOptions::default())?;
/// let statistics = log.stop()?;
/// let failure = statistics.reader_failure.unwrap();
/// assert_eq!((failure.reader, failure.kind), (reader, io::ErrorKind::BrokenPipe));
/// assert_eq!(failure.to_string(), "an attached reader was let go: nobody reads this");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderFailure {
    /// Which reader.
    pub reader: ReaderId,
    /// What kind of error.
    pub kind: io::ErrorKind,
    /// The error in words.
    pub text: String,
}

impl fmt::Display for ReaderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an attached reader was let go: {}", self.text)
    }
}

impl AddAssign for ReaderStatistics {
    /// Adds the other's counts, and takes over its error, where it has one.
    fn add_assign(&mut self, other: ReaderStatistics) {
        self.blocks += other.blocks;
        self.bytes_written += other.bytes_written;
        self.queued_bytes += other.queued_bytes;
        self.lost_events += other.lost_events;
        self.lost_bytes += other.lost_bytes;
        self.error = other.error.or(self.error);
    }
}

/// Something for readers to write.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Vec<u8>,
    /// Of a block of the log, the log's, by which its events can be counted; nothing of a log's beginning, or of what
    /// tells of a loss.
    header: Option<Arc<Header>>,
}

impl Piece {
    /// A block that all readers are given.
    pub(crate) fn block(marker: &BlockMarker, body: &[u8], header: &Arc<Header>) -> Arc<Self> {
        Arc::new(Piece {
            bytes: [&marker.encode(), body].concat(),
            header: Some(Arc::clone(header)),
        })
    }

    /// Something that has none of the program's events.
    pub(crate) fn other(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Piece {
            bytes,
            header: None,
        })
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The program's events in the first `taken` bytes, and their bytes.
    fn content_until(&self, taken: usize) -> (u64, u64) {
        let Some(header) = &self.header else {
            return (0, 0);
        };
        let taken = taken.min(self.len());
        let body = self.bytes.get(BlockMarker::LEN..taken).unwrap_or_default();
        (count_events(body, header), body.len() as u64)
    }

    /// What the block itself tells to be lost.
    fn losses_told(&self) -> Losses {
        let body = self.bytes.get(BlockMarker::LEN..).unwrap_or_default();
        self.header
            .as_ref()
            .map_or_else(Losses::default, |header| Losses::told_in(body, header))
    }

    /// The program's events in it, and their bytes, but for the first `taken` bytes. A reader makes nothing of a
    /// part of an event.
    fn content_from(&self, taken: usize) -> (u64, u64) {
        let (events, bytes) = self.content_until(self.len());
        let (got_events, got_bytes) = self.content_until(taken);
        (events - got_events, bytes - got_bytes)
    }

    /// Whose block it is.
    fn owner(&self) -> Option<CapNo> {
        let marker = self.header.as_ref().and(self.bytes.first_chunk());
        marker.and_then(|marker| BlockMarker::from_bytes(marker).cap)
    }
}

/// What becomes of a writer that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// It is let go.
    LetGo,
    /// It is offered the same again later.
    TryAgain,
}

/// The collector's end.
#[derive(Debug)]
pub(crate) struct Reader {
    id: ReaderId,
    link: Arc<Link>,
    /// Bytes that the queue takes.
    capacity: usize,
    linger: Duration,
    /// What has been dropped of each capability's blocks, and not been told yet, since when.
    missed: Missed,
}

/// What both ends share.
#[derive(Debug)]
struct Link {
    state: Mutex<State>,
    /// Something has been put in, or the thread is done.
    changed: Condvar,
    on_error: OnError,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Arc<Piece>>,
    /// What is being written, and how much of it has been.
    in_flight: Option<(Arc<Piece>, usize)>,
    /// Bytes in the queue, and of what is being written.
    queued: usize,
    end: End,
    /// Nobody waits for it any more.
    given_up: bool,
    /// The thread writes no more.
    done: bool,
    statistics: ReaderStatistics,
    /// Why the writer has failed, in words.
    failure: Option<String>,
    /// Lost events by whose they were, as long as nobody has asked.
    lost: BTreeMap<Option<CapNo>, u64>,
    /// Writes that were refused, and are tried again.
    refusals: u64,
}

/// What comes behind the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// More.
    #[default]
    Open,
    /// The end of the log.
    Marked,
    /// Nothing.
    Bare,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whole between any two statements; and nothing in there panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Starts a thread that writes `beginning` and what follows.
    ///
    /// # Errors
    /// Where the thread cannot be had.
    pub(crate) fn new(
        id: ReaderId,
        writer: UserWriter,
        beginning: Vec<u8>,
        options: &AttachOptions,
        on_error: OnError,
    ) -> io::Result<Self> {
        let link = Arc::new(Link {
            state: Mutex::default(),
            changed: Condvar::new(),
            on_error,
        });
        {
            let mut state = link.state();
            state.statistics.id = Some(id);
            state.queued = beginning.len();
            state.queue.push_back(Piece::other(beginning));
        }
        thread::Builder::new()
            .name("eventlog-reader".into())
            .spawn({
                let link = Arc::clone(&link);
                move || serve(&link, writer)
            })?;
        Ok(Reader {
            id,
            link,
            capacity: options.queue,
            linger: options.linger,
            missed: Missed::default(),
        })
    }

    pub(crate) fn id(&self) -> ReaderId {
        self.id
    }

    /// Puts a block in, or drops it where there is no room. A block that is longer than the whole
    /// queue is taken where nothing else is in there.
    pub(crate) fn offer(&mut self, cap: Option<CapNo>, begin: u64, block: &Arc<Piece>) {
        let mut state = self.link.state();
        if !state.done {
            let told = self.missed.told_len();
            if state.queue.is_empty() && state.queued == 0
                || state.queued + told + block.len() <= self.capacity
            {
                tell(&mut self.missed, &mut state);
                state.put(Arc::clone(block));
                drop(state);
                self.link.changed.notify_all();
                return;
            }
        }
        drop(state);
        // Counted without the lock: the reader need not wait for it.
        let content = block.content_from(0);
        self.missed.add(cap, begin, content, block.losses_told());
        self.link.state().lose(cap, content);
    }

    /// Puts in something that is none of the program's events, however much is there.
    pub(crate) fn put(&mut self, bytes: Vec<u8>) {
        self.change(|state| state.put(Piece::other(bytes)));
    }

    /// Puts in what is still to be told, and lets the thread end the log when it has come to it.
    pub(crate) fn end(&mut self) {
        self.change(|state| state.end = End::Marked);
    }

    /// As [`end`](Self::end), without the log's end, unless that is to come already.
    pub(crate) fn leave(&mut self) {
        self.change(|state| {
            if state.end == End::Open {
                state.end = End::Bare;
            }
        });
    }

    /// Puts in what is still to be told, and then changes something.
    fn change(&mut self, change: impl FnOnce(&mut State)) {
        let mut state = self.link.state();
        tell(&mut self.missed, &mut state);
        change(&mut state);
        drop(state);
        self.link.changed.notify_all();
    }

    /// What waits for it, after it has been [ended](Self::end) at `now`, as long as it lingers.
    pub(crate) fn waiter(&self, now: Instant) -> Waiter {
        Waiter {
            link: Arc::clone(&self.link),
            deadline: now.checked_add(self.linger),
        }
    }

    /// How long it is waited for.
    pub(crate) fn linger(&self) -> Duration {
        self.linger
    }

    /// Writes that were refused, and are tried again.
    pub(crate) fn refusals(&self) -> u64 {
        self.link.state().refusals
    }

    /// Lost events, and whose they were, since this was asked last.
    pub(crate) fn take_lost(&self) -> BTreeMap<Option<CapNo>, u64> {
        mem::take(&mut self.link.state().lost)
    }

    /// Events that have neither been written nor been lost yet, and whose they are.
    pub(crate) fn waiting(&self) -> Vec<(Option<CapNo>, u64)> {
        let state = self.link.state();
        let in_flight = state.in_flight.iter();
        let in_flight = in_flight.map(|(piece, taken)| (piece, *taken));
        let queued = state.queue.iter().map(|piece| (piece, 0));
        let pieces = in_flight.chain(queued);
        pieces
            .map(|(piece, taken)| (piece.owner(), piece.content_from(taken).0))
            .collect()
    }

    /// Whether it was given up before it had all.
    pub(crate) fn is_given_up(&self) -> bool {
        self.link.state().given_up
    }

    /// Whether its writer has failed: nothing will be written any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.link.state().done
    }

    pub(crate) fn statistics(&self) -> ReaderStatistics {
        self.link.state().statistics()
    }

    /// Why its writer has failed, if it has.
    pub(crate) fn failure(&self) -> Option<ReaderFailure> {
        let state = self.link.state();
        let (kind, text) = (state.statistics.error?, state.failure.clone()?);
        Some(ReaderFailure {
            reader: self.id,
            kind,
            text,
        })
    }
}

/// Waits for a reader that has been ended.
#[derive(Debug)]
pub(crate) struct Waiter {
    link: Arc<Link>,
    deadline: Option<Instant>,
}

impl Waiter {
    /// Waits until the thread has written all of it, or until the deadline, from when on it is on its
    /// own: it writes no more once its writer has come back to it, and what it was writing counts as lost. Tells
    /// what became of it.
    pub(crate) fn wait(&self) -> ReaderStatistics {
        let mut state = self.link.state();
        while !state.done && !state.given_up {
            let left = match self.deadline {
                None => Duration::MAX,
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
            };
            if left.is_zero() {
                state.give_up();
                break;
            }
            let waited = self.link.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let statistics = state.statistics();
        drop(state);
        self.link.changed.notify_all();
        statistics
    }
}

impl State {
    fn put(&mut self, piece: Arc<Piece>) {
        self.queued += piece.len();
        self.queue.push_back(piece);
    }

    fn lose(&mut self, owner: Option<CapNo>, (events, bytes): (u64, u64)) {
        self.statistics.lost_events += events;
        self.statistics.lost_bytes += bytes;
        if events > 0 {
            *self.lost.entry(owner).or_default() += events;
        }
    }

    fn statistics(&self) -> ReaderStatistics {
        ReaderStatistics {
            queued_bytes: self.queued as u64,
            ..self.statistics
        }
    }

    /// Nothing more is written: counts what is in the queue and what is being written as lost.
    fn give_up(&mut self) {
        self.given_up = true;
        let in_flight = self.in_flight.take();
        let queued = mem::take(&mut self.queue);
        let queued = queued.into_iter().map(|piece| (piece, 0));
        for (piece, taken) in in_flight.into_iter().chain(queued) {
            self.queued -= piece.len();
            self.lose(piece.owner(), piece.content_from(taken));
        }
    }

    /// What was being written has been, unless the reader has been given up meanwhile.
    fn land(&mut self) {
        if let Some((piece, _)) = self.in_flight.take() {
            self.queued -= piece.len();
            self.statistics.blocks += u64::from(piece.header.is_some());
        }
    }
}

/// Tells the reader what it has missed, at the place where it would have been.
fn tell(missed: &mut Missed, state: &mut State) {
    for block in missed.take_told() {
        state.put(Piece::other(block));
    }
}

/// The reader's thread.
fn serve(link: &Link, mut writer: UserWriter) {
    let outcome = serve_until_end(link, &mut writer);
    // The writer goes first: who waits for the thread finds the connection closed.
    let dropped = writer.let_go();
    let mut state = link.state();
    if let Err(error) = outcome.and(dropped) {
        state.statistics.error = Some(error.kind());
        state.failure = Some(error.to_string());
    }
    // All was written, or nothing more is.
    let given_up = state.given_up;
    state.give_up();
    state.given_up = given_up;
    state.done = true;
    drop(state);
    link.changed.notify_all();
}

fn serve_until_end(link: &Link, writer: &mut UserWriter) -> io::Result<()> {
    loop {
        let mut state = link.state();
        while state.queue.is_empty() && state.end == End::Open && !state.given_up {
            state = link
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.given_up {
            return Ok(());
        }
        let Some(piece) = state.queue.pop_front() else {
            let end = state.end;
            drop(state);
            if end == End::Marked {
                write(link, writer, &END_MARKER)?;
            }
            return writer.flush();
        };
        state.in_flight = Some((Arc::clone(&piece), 0));
        drop(state);
        // What is not written of it stays in flight.
        write(link, writer, &piece.bytes)?;
        let mut state = link.state();
        state.land();
        if state.queue.is_empty() && !state.given_up {
            drop(state);
            // Somebody may be looking on.
            flush(link, writer)?;
        }
    }
}

/// Makes the writer pass on what it has taken.
fn flush(link: &Link, writer: &mut UserWriter) -> io::Result<()> {
    match (writer.flush(), link.on_error) {
        (Err(_), OnError::TryAgain) => {
            link.state().refusals += 1;
            Ok(())
        }
        (outcome, _) => outcome,
    }
}

/// How long a writer that would have to wait is left alone.
const PAUSE: Duration = Duration::from_millis(5);

/// How long a writer is left alone that has failed, and is tried again.
const LONG_PAUSE: Duration = Duration::from_millis(50);

/// Writes all of it, however long that takes, unless the reader has been given up.
fn write(link: &Link, writer: &mut UserWriter, bytes: &[u8]) -> io::Result<()> {
    let mut taken = 0;
    while taken < bytes.len() {
        let outcome = writer.write(&bytes[taken..]);
        let mut state = link.state();
        let refused = match outcome {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(count) if count > bytes.len() - taken => {
                let message = format!(
                    "the reader says that it took {count} bytes, more than the {} it was given",
                    bytes.len() - taken
                );
                Err(io::Error::other(message))
            }
            Ok(count) => {
                taken += count;
                state.statistics.bytes_written += count as u64;
                if let Some((_, in_flight)) = &mut state.in_flight {
                    *in_flight = taken;
                }
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = refused {
            let pause = match (error.kind(), link.on_error) {
                (io::ErrorKind::Interrupted, _) => Duration::ZERO,
                // A socket whose time is up has not failed; its peer is slow.
                (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, _) => PAUSE,
                (_, OnError::TryAgain) => LONG_PAUSE,
                (_, OnError::LetGo) => return Err(error),
            };
            state.refusals += u64::from(pause == LONG_PAUSE);
            if !pause.is_zero() && !state.given_up {
                let waited = link.changed.wait_timeout(state, pause);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        if state.given_up {
            return Ok(());
        }
    }
    Ok(())
}
