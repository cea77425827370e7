//! From the writer's threads to the sink: a ring, and a thread that empties it.
//!
//! ```text
//! write ──mender──▶ ring ──collector──▶ sink
//!   ▲                │        ▲  │
//!   │   wakes (unpark) ───────┘  │
//!   └──────────── wakes (freed) ─┘
//! ```

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use chunkring::ReserveError;
use chunkring::spsc::{Consumer, Producer};

use super::error::{FinishError, SinkError, StartError, WriteError};
use super::mender::Mender;
use super::mends::Mends;
use crate::format::{BlockMarker, END_MARKER};

/// The longest block that a relay takes where nobody says otherwise: 2 MiB, the size of the
/// run-time system's buffers, and a marker that was lost.
pub const DEFAULT_BLOCK_LIMIT: usize = (2 << 20) + BlockMarker::LEN;

const DEFAULT_BUFFERS: usize = 4;

/// Makes a [`Relay`].
///
/// ```
/// use ghc_eventlog::relay::Relay;
///
/// // For a run-time system whose buffers were made smaller.
/// let relay = Relay::builder().block_limit(70_024).buffers(8).start(std::io::sink())?;
/// relay.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    block_limit: usize,
    buffers: usize,
}

impl Builder {
    /// The longest block, and header, in bytes; also the size of a buffer. By default
    /// [`DEFAULT_BLOCK_LIMIT`].
    ///
    /// ```
    /// let builder = ghc_eventlog::relay::Relay::builder().block_limit(1 << 16);
    /// ```
    pub const fn block_limit(mut self, bytes: usize) -> Self {
        self.block_limit = bytes;
        self
    }

    /// How many buffers there are between the writer and the sink. By default 4. A block lies in
    /// one of them as a whole, so what the limit leaves unused at their ends is the price.
    ///
    /// ```
    /// let builder = ghc_eventlog::relay::Relay::builder().buffers(2);
    /// ```
    pub const fn buffers(mut self, count: usize) -> Self {
        self.buffers = count;
        self
    }

    /// Starts a relay, and its thread. All buffers are allocated now; pages of them that are never
    /// used cost no memory on most systems.
    ///
    /// The sink gets all bytes from that thread, whole blocks in each call of
    /// [`Write::write_all`], and is flushed whenever nothing is left to write.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running then.
    ///
    /// ```
    /// let relay = ghc_eventlog::relay::Relay::builder().start(std::io::sink())?;
    /// # Ok::<(), ghc_eventlog::relay::StartError>(())
    /// ```
    pub fn start<W: Write + Send + 'static>(&self, sink: W) -> Result<Relay, StartError> {
        if self.block_limit < BlockMarker::LEN {
            return Err(StartError::BlockLimit {
                bytes: self.block_limit,
                least: BlockMarker::LEN,
            });
        }
        // Preallocated, so that a full ring always is one that the collector has work in.
        let (producer, consumer) = chunkring::Builder::new(self.block_limit, self.buffers)
            .preallocate(true)
            .spsc()
            .map_err(StartError::Buffers)?;
        let room = Arc::new(Room::default());
        let collector = Collector {
            consumer: Some(consumer),
            room: Arc::clone(&room),
        };
        let thread = thread::Builder::new()
            .name("eventlog-relay".to_owned())
            .spawn(move || collector.run(sink))
            .map_err(StartError::Thread)?;
        Ok(Relay {
            mender: Mender::with_block_limit(self.block_limit),
            room,
            waits: 0,
            running: Some(Running { producer, thread }),
        })
    }
}

/// What a relay has done.
///
/// ```
/// use ghc_eventlog::relay::Relay;
///
/// let statistics = Relay::builder().start(std::io::sink())?.finish()?;
/// assert_eq!(statistics.bytes_written, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// What came of the writes.
    pub mends: Mends,
    /// Bytes that the sink has taken, the end marker's included. Of what is waiting in the buffers
    /// nothing is counted here.
    pub bytes_written: u64,
    /// How often [`Relay::write`] had to wait for room.
    pub waits: u64,
}

/// Takes the writes of a run-time system and makes one valid log of them, in a sink.
///
/// Blocks are mended as [`Mender`] tells and copied, each as a whole, into a ring, out of which a
/// thread of the relay's own writes them to the sink, in order. So the caller waits for the sink
/// only when the ring is full.
///
/// ```
/// use std::fs::File;
/// use ghc_eventlog::relay::{CaptureReader, Relay};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("program.eventlog");
/// # let capture: &[u8] = &[0, 0, 0, 2, 0xff, 0xff];
/// let mut relay = Relay::builder().start(File::create(path)?)?;
/// let mut capture = CaptureReader::new(capture);
/// while let Some(write) = capture.next_write()? {
///     if let Err(error) = relay.write(write) {
///         eprintln!("{error}");
///     }
/// }
/// let statistics = relay.finish()?;
/// assert_eq!(statistics.mends.writes, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Relay {
    mender: Mender,
    room: Arc<Room>,
    waits: u64,
    /// `None` once the log was brought to its end.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    producer: Producer<u8>,
    thread: JoinHandle<()>,
}

impl Relay {
    /// Starts with the defaults.
    pub const fn builder() -> Builder {
        Builder {
            block_limit: DEFAULT_BLOCK_LIMIT,
            buffers: DEFAULT_BUFFERS,
        }
    }

    /// Takes one write. The bytes are copied and not needed afterwards.
    ///
    /// Where the ring has no room this waits, asleep, until the sink has taken enough: for ever, if
    /// the sink never does. Otherwise the cost is that of [`Mender::take`] and of a copy.
    ///
    /// # Errors
    /// [`WriteError::SetAside`] if the write is no good, a block longer than the limit included:
    /// then nothing of it was passed on, it was counted, and the next write is taken as any.
    /// [`WriteError::Sink`] if the sink has failed.
    ///
    /// ```
    /// use ghc_eventlog::format::Header;
    /// use ghc_eventlog::relay::{Relay, SetAsideReason, WriteError};
    ///
    /// let mut relay = Relay::builder().block_limit(2000).start(std::io::sink())?;
    /// let Err(WriteError::SetAside(aside)) = relay.write(&Header::standard().encode()) else {
    ///     panic!("the header is longer than that")
    /// };
    /// assert!(matches!(aside.reason, SetAsideReason::BlockTooLong { limit: 2000, .. }));
    /// # Ok::<(), ghc_eventlog::relay::StartError>(())
    /// ```
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        if running.producer.is_closed() {
            return Err(self.room.failure().into());
        }
        for piece in self.mender.take(bytes)? {
            running.pass(piece.parts(), &self.room, &mut self.waits)?;
        }
        Ok(())
    }

    /// What the relay has done so far.
    ///
    /// ```
    /// let relay = ghc_eventlog::relay::Relay::builder().start(std::io::sink())?;
    /// assert_eq!(relay.statistics().mends.writes, 0);
    /// # Ok::<(), ghc_eventlog::relay::StartError>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics {
            mends: *self.mender.mends(),
            bytes_written: self.room.lock().written,
            waits: self.waits,
        }
    }

    /// Brings the log to its end: writes the end marker, waits until the sink has taken everything
    /// and has flushed it, and drops the sink. Where no header has come there is no log, and nothing
    /// is written.
    ///
    /// # Errors
    /// If the sink has failed, now or before; the statistics are in the error.
    ///
    /// ```
    /// use ghc_eventlog::format::Header;
    /// use ghc_eventlog::relay::Relay;
    ///
    /// let mut relay = Relay::builder().start(std::io::sink())?;
    /// let header = Header::standard().encode();
    /// relay.write(&header)?;
    /// assert_eq!(relay.finish()?.bytes_written, header.len() as u64 + 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[allow(clippy::result_large_err, reason = "made once in the life of a log")]
    pub fn finish(mut self) -> Result<Statistics, FinishError> {
        let ended = self.end();
        let statistics = self.statistics();
        match ended {
            Ok(()) => Ok(statistics),
            Err(error) => Err(FinishError { error, statistics }),
        }
    }

    fn end(&mut self) -> Result<(), SinkError> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        if self.mender.header().is_some() {
            // If the sink has failed, that is told below.
            let _ = running.pass([&END_MARKER, &[]], &self.room, &mut self.waits);
        }
        let Running { producer, thread } = running;
        drop(producer);
        thread.thread().unpark();
        match thread.join() {
            Ok(()) => self.room.lock().failure.clone().map_or(Ok(()), Err),
            Err(_) => Err(SinkError::panicked()),
        }
    }
}

impl Drop for Relay {
    /// As [`finish`](Relay::finish), but nobody learns how it went.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Running {
    /// Puts one piece into the ring.
    fn pass(&mut self, parts: [&[u8]; 2], room: &Room, waits: &mut u64) -> Result<(), SinkError> {
        let collector = self.thread.thread();
        let len = parts[0].len() + parts[1].len();
        let mut guard: Option<MutexGuard<'_, State>> = None;
        loop {
            match self.producer.reserve(len) {
                Ok(mut grant) => {
                    grant.extend_from_slice(parts[0]);
                    grant.extend_from_slice(parts[1]);
                    grant.commit_all();
                    collector.unpark();
                    return Ok(());
                }
                Err(ReserveError::Full) => {
                    guard = Some(match guard {
                        // Room may have been made before the lock was taken, so look again.
                        None => {
                            *waits += 1;
                            room.lock()
                        }
                        Some(guard) => {
                            // The ring may have closed a chunk that the collector has read up to.
                            collector.unpark();
                            room.wait(guard)
                        }
                    });
                }
                Err(ReserveError::Closed) => {
                    drop(guard);
                    return Err(room.failure());
                }
                Err(ReserveError::TooLong {
                    requested,
                    chunk_len,
                }) => unreachable!("a piece of {requested} bytes, beyond the limit of {chunk_len}"),
            }
        }
    }
}

/// Where the two threads meet, other than in the ring.
#[derive(Debug, Default)]
struct Room {
    state: Mutex<State>,
    /// Signalled whenever the ring may have more room, and when the collector goes.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that the sink has taken.
    written: u64,
    failure: Option<SinkError>,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.freed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the collector is gone while there was work for it.
    fn failure(&self) -> SinkError {
        self.lock()
            .failure
            .clone()
            .unwrap_or_else(SinkError::panicked)
    }
}

struct Collector {
    /// `None` once the ring was closed.
    consumer: Option<Consumer<u8>>,
    room: Arc<Room>,
}

impl Collector {
    fn run<W: Write>(mut self, mut sink: W) {
        if let Err(error) = self.collect(&mut sink) {
            self.room.lock().failure = Some(SinkError::new(error));
        }
    }

    fn collect<W: Write>(&mut self, sink: &mut W) -> io::Result<()> {
        let Some(consumer) = &mut self.consumer else {
            return Ok(());
        };
        let mut flushed = true;
        loop {
            match consumer.read() {
                Ok(ready) => {
                    sink.write_all(&ready)?;
                    flushed = false;
                    let len = ready.len() as u64;
                    ready.release_all();
                    self.room.lock().written += len;
                    self.room.freed.notify_one();
                }
                Err(_) if !flushed => {
                    sink.flush()?;
                    flushed = true;
                }
                Err(error) if error.is_closed() => return Ok(()),
                Err(_) => {
                    // Finding the ring empty gives back a chunk that was closed early. Under the
                    // lock, as the writer looks for room under it before it waits.
                    drop(self.room.lock());
                    self.room.freed.notify_one();
                    thread::park();
                }
            }
        }
    }
}

impl Drop for Collector {
    /// Also when the sink panics: a writer that waits must learn that nobody makes room any more.
    fn drop(&mut self) {
        self.consumer = None;
        drop(self.room.lock());
        self.room.freed.notify_one();
    }
}
