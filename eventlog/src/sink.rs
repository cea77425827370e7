//! What a log can be written to: a [`Sink`], and the handle by which it is kept and given back.

use crate::delivery::{Counts, Delivery, Undelivered};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where a log is written to; see [`EventLog::set_sink`].
///
/// Clones are handles of the same sink. A sink that a log has been redirected away from with
/// [`Previous::Keep`] is open as long as there is a handle, and can be set again.
///
/// A sink is used by one thread at a time, gets whole blocks in few large writes, and needs no
/// buffer of its own. It may take part of a write, fail and recover, block, or panic, also when it is dropped (an
/// error like any other, of which nobody is told where a last handle lets go of it). What it refuses is kept, and
/// offered again before anything else. While it blocks the
/// collector waits for it, and so do attached readers and the calls that wait for the collector, unless it is
/// [queued](Sink::queued); threads that emit never do, and what does not fit into their buffers meanwhile is counted
/// as [lost](crate::Lost).
///
/// [`EventLog::set_sink`]: crate::EventLog::set_sink
/// [`Previous::Keep`]: crate::Previous::Keep
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, Previous, Sink, Start};
///
/// let (memory, content) = Sink::memory();
/// let log = EventLog::builder().sink(memory)?;
/// log.message("first");
/// let first = log.sink();
/// log.set_sink(Sink::null(), Previous::Keep, Start::Header)?;
/// log.message("for nobody");
/// log.set_sink(first, Previous::Close, Start::Continue)?;
/// log.message("last");
/// log.stop()?;
/// assert!(content.bytes().ends_with(&[0xff, 0xff]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sink(Arc<Mutex<Slot>>);

/// What a handle finds.
#[derive(Debug)]
enum Slot {
    /// Open, and no log writes to it now.
    Idle(Delivery),
    /// A log has taken it.
    InUse,
    /// Ended, or spoilt: nothing can be written any more. What it did not take and what it did, until
    /// the log has counted that.
    Closed(Option<(Vec<Undelivered>, Counts)>),
}

/// Why a sink cannot be taken.
#[derive(Debug)]
pub(crate) enum Unavailable {
    InUse,
    Closed,
}

/// What becomes of the sink that a log is redirected away from.
///
/// ```
/// assert_ne!(ghc_eventlog::Previous::Close, ghc_eventlog::Previous::Keep);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previous {
    /// It gets the end marker, is flushed, and let go of.
    Close,
    /// It stays as it is. Its handle keeps it open, and it can be set again with
    /// [`Start::Continue`], or [closed](Sink::close). What it has refused stays with it.
    Keep,
}

/// How a log begins in the sink that it is redirected to.
///
/// ```
/// assert_ne!(ghc_eventlog::Start::Header, ghc_eventlog::Start::Continue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the header and the sticky events: a valid log from its first byte.
    Header,
    /// Without a header: the sink has begun a log before, or the program sees to the header. A new
    /// [file](Sink::file), and new [memory](Sink::memory), are refused: nothing can have begun there. What happened while it was away is missing there,
    /// but for the [sticky events](crate::EventLog::emit_sticky) that came meanwhile, and for what brings threads
    /// from where they were to where they are; one that has finished is said to stop there. That capabilities
    /// and sets have gone is not told. Nothing is told to a flight recorder, or to a sink that was not kept by
    /// this log.
    Continue,
}

/// How long a write to a socket may last before it is an error, which is counted and tried again
/// like any other.
pub(crate) const SOCKET_TIMEOUT: Duration = Duration::from_secs(5);

impl Sink {
    /// Anything that can be written to.
    ///
    /// ```
    /// let sink = ghc_eventlog::Sink::writer(std::io::sink());
    /// ```
    pub fn writer(writer: impl Write + Send + 'static) -> Self {
        Sink::of(Delivery::new(writer))
    }

    pub(crate) fn of(delivery: Delivery) -> Self {
        Sink(Arc::new(Mutex::new(Slot::Idle(delivery))))
    }

    /// A new file, replacing one that is there. It has no log that could be gone on with, so a log begins there with
    /// [`Start::Header`]. A file that has one already is opened to be appended to, and is a [`writer`](Self::writer).
    ///
    /// # Errors
    /// Where the file cannot be made; the error names it.
    ///
    /// ```
    /// let directory = tempfile::tempdir()?;
    /// let sink = ghc_eventlog::Sink::file(directory.path().join("my.eventlog"))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|error| naming(path.display(), &error))?;
        Ok(Sink::of(Delivery::new_and_empty(file)))
    }

    /// A connection to somebody who listens on a Unix socket. A write that takes longer than five
    /// seconds is an error, and the rest is offered again later.
    ///
    /// # Errors
    /// Where nobody listens there; the error names the socket.
    ///
    /// ```
    /// use std::os::unix::net::UnixListener;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("profiler.sock");
    /// let listener = UnixListener::bind(&path)?;
    /// let sink = ghc_eventlog::Sink::unix(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(unix)]
    pub fn unix(path: impl AsRef<Path>) -> io::Result<Self> {
        use std::os::unix::net::UnixStream;
        let path = path.as_ref();
        let connect = || {
            let stream = UnixStream::connect(path)?;
            stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
            Ok(stream)
        };
        let stream = connect().map_err(|error: io::Error| naming(path.display(), &error))?;
        Ok(Sink::writer(stream))
    }

    /// A TCP connection to somebody who listens at `address`. A write that takes longer than five
    /// seconds is an error, and the rest is offered again later.
    ///
    /// # Errors
    /// Where nobody listens there.
    ///
    /// ```
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let sink = ghc_eventlog::Sink::tcp(listener.local_addr()?)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tcp(address: impl ToSocketAddrs) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
        // Blocks are large, and somebody may be waiting for the last one.
        stream.set_nodelay(true)?;
        Ok(Sink::writer(stream))
    }

    /// Memory, and a handle that gives what has been written so far. It grows without a bound. A log begins there with
    /// [`Start::Header`]: there is none that could be gone on with. (Blocks alone are taken by the handle, which is a
    /// [`writer`](Self::writer), too.)
    ///
    /// ```
    /// let (sink, content) = ghc_eventlog::Sink::memory();
    /// assert!(content.bytes().is_empty());
    /// ```
    pub fn memory() -> (Self, MemoryContent) {
        let content = MemoryContent::default();
        (Sink::of(Delivery::new_and_empty(content.clone())), content)
    }

    /// Takes everything and keeps nothing: for a log that is there for its attached readers, or to
    /// be silent for a while.
    ///
    /// ```
    /// let log = ghc_eventlog::EventLog::builder().sink(ghc_eventlog::Sink::null())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn null() -> Self {
        Sink::writer(io::sink())
    }

    /// Calls `call` with each piece: the header with the events that are replayed after it, a whole
    /// block, or the end marker. Where it returns an error it is called with the same piece again
    /// later.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Sink};
    /// use std::sync::mpsc;
    ///
    /// let (sender, pieces) = mpsc::channel();
    /// let log = EventLog::builder().sink(Sink::callback(move |piece| {
    ///     sender.send(piece.to_vec()).map_err(std::io::Error::other)
    /// }))?;
    /// log.stop()?;
    /// let pieces: Vec<_> = pieces.try_iter().collect();
    /// assert!(pieces[0].starts_with(b"hdrb"));
    /// assert_eq!(pieces.last().unwrap(), &[0xff, 0xff]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn callback(call: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static) -> Self {
        Sink::writer(Callback {
            call,
            piece: Vec::new(),
        })
    }

    /// Ends what has been written to a sink that no log uses now: offers what it has refused, writes
    /// the end marker, flushes, and lets go of the writer. Does nothing where that has been done.
    ///
    /// # Errors
    /// The writer's. It is let go all the same, and the log counts what it did not take as lost.
    /// [`io::ErrorKind::ResourceBusy`] where a log uses it: the log ends it. So in a forked child,
    /// where its parent has begun a log there.
    ///
    /// ```
    /// use ghc_eventlog::{EventLog, Previous, Sink, Start};
    ///
    /// let (first, content) = Sink::memory();
    /// let log = EventLog::builder().sink(first.clone())?;
    /// assert!(first.close().is_err());
    /// log.set_sink(Sink::null(), Previous::Keep, Start::Header)?;
    /// first.close()?;
    /// assert!(content.bytes().ends_with(&[0xff, 0xff]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) -> io::Result<()> {
        let delivery = {
            let mut slot = self.slot();
            match std::mem::replace(&mut *slot, Slot::InUse) {
                Slot::Idle(delivery) if !delivery.is_of_parent() => delivery,
                other => {
                    // A parent's log is its own, and in use as far as a child can know.
                    let in_use = !matches!(other, Slot::Closed(_));
                    *slot = other;
                    return match in_use {
                        true => Err(io::Error::new(
                            io::ErrorKind::ResourceBusy,
                            "an event log uses this sink",
                        )),
                        false => Ok(()),
                    };
                }
            }
        };
        let closed = delivery.close();
        *self.slot() = Slot::Closed(Some((closed.undelivered, closed.counts)));
        closed.outcome
    }

    /// Takes it for a log to write to.
    pub(crate) fn take(&self) -> Result<Delivery, Unavailable> {
        let mut slot = self.slot();
        match std::mem::replace(&mut *slot, Slot::InUse) {
            Slot::Idle(delivery) if !delivery.is_of_parent() => Ok(delivery),
            parents @ Slot::Idle(_) => {
                *slot = parents;
                Err(Unavailable::InUse)
            }
            Slot::InUse => Err(Unavailable::InUse),
            closed @ Slot::Closed(_) => {
                *slot = closed;
                Err(Unavailable::Closed)
            }
        }
    }

    /// Gives it back after a [`take`](Self::take).
    pub(crate) fn put_back(&self, delivery: Delivery) {
        *self.slot() = Slot::Idle(delivery);
    }

    /// Gives it back after a [`take`](Self::take), with nothing to be written any more.
    pub(crate) fn put_back_closed(&self) {
        *self.slot() = Slot::Closed(None);
    }

    /// How it was [closed](Self::close), if it was. It is told once.
    pub(crate) fn take_end(&self) -> Option<(Vec<Undelivered>, Counts)> {
        match &mut *self.slot() {
            Slot::Closed(end) => end.take(),
            Slot::Idle(_) | Slot::InUse => None,
        }
    }

    /// What it is still to take, if no log uses it now.
    pub(crate) fn undelivered(&self) -> Vec<Undelivered> {
        match &*self.slot() {
            Slot::Idle(delivery) => delivery.undelivered(),
            Slot::InUse | Slot::Closed(_) => Vec::new(),
        }
    }

    /// What its queue has lost since this was last asked, if no log uses it now.
    pub(crate) fn take_lost(&self) -> Vec<Undelivered> {
        match &*self.slot() {
            Slot::Idle(delivery) => delivery.take_lost(),
            Slot::InUse | Slot::Closed(_) => Vec::new(),
        }
    }

    pub(crate) fn is(&self, other: &Sink) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        // Writers' panics are caught, and nothing else in there panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error that says what it is about.
pub(crate) fn naming(what: impl std::fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// What has been written to a [`Sink::memory`]. Clones give the same.
///
/// ```
/// use ghc_eventlog::{EventLog, Sink};
///
/// let (sink, content) = Sink::memory();
/// let log = EventLog::builder().sink(sink)?;
/// log.message("hello");
/// log.stop()?;
/// assert!(content.bytes().windows(5).any(|window| window == b"hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryContent(Arc<Mutex<Vec<u8>>>);

impl MemoryContent {
    /// A copy of it.
    ///
    /// ```
    /// let (_sink, content) = ghc_eventlog::Sink::memory();
    /// assert_eq!(content.bytes(), []);
    /// ```
    pub fn bytes(&self) -> Vec<u8> {
        self.content().clone()
    }

    fn content(&self) -> MutexGuard<'_, Vec<u8>> {
        // A panic within `Vec` leaves the bytes of before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for MemoryContent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.content().write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.content().write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that is a function.
struct Callback<F> {
    call: F,
    /// Kept for its memory.
    piece: Vec<u8>,
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Callback<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.call)(bytes)?;
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.piece.clear();
        for part in parts {
            self.piece.extend_from_slice(part);
        }
        (self.call)(&self.piece)?;
        Ok(self.piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
