//! What a log, a reader or a snapshot is written to: `evl_sink` and its functions.

use crate::callback::Callback;
use crate::chunk::Popper;
use crate::code::{Code, Failure, Outcome, entry};
use crate::fork;
use crate::object::{Id, Out, null};
use crate::reader::{self, Options};
use crate::signals::PipeBlocked;
use crate::stream::Stream;
use crate::text;
use crate::within::SinkWriter;
use ghc_eventlog::{AttachOptions, Keep, Sink, WhenFull};
use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::net::TcpStream;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// `EVL_CLOSE`
const CLOSE: c_int = 1;

/// How long a write to a socket may last before it is an error, which is counted and tried again.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(5);

/// What `evl_sink` stands for.
pub(crate) struct SinkObject {
    state: Mutex<State>,
    /// Of a sink that is memory, what is taken out.
    popper: Option<Popper>,
    /// The stream that it writes to, or null.
    stream: Told,
    /// Whether that is closed when its writer is dropped.
    closes_stream: bool,
}

/// A stream that is told to whoever asks, and never followed here.
struct Told(*mut libc::FILE);

// SAFETY: a pointer that is not followed is a number.
unsafe impl Send for Told {}
// SAFETY: as above.
unsafe impl Sync for Told {}

/// What it is used for.
enum State {
    /// For nothing yet.
    Writer(Writer),
    /// For a log.
    Sink(Sink),
    /// For a reader or a snapshot, which has the writer.
    Given,
}

/// What takes bytes.
type Writer = Box<dyn Write + Send>;

impl SinkObject {
    pub(crate) fn of_writer(writer: Writer) -> Self {
        SinkObject {
            state: Mutex::new(State::Writer(writer)),
            popper: None,
            stream: Told(ptr::null_mut()),
            closes_stream: false,
        }
    }

    /// One that is a sink already.
    pub(crate) fn of_sink(sink: Sink, popper: Option<Popper>) -> Self {
        SinkObject {
            state: Mutex::new(State::Sink(sink)),
            popper,
            stream: Told(ptr::null_mut()),
            closes_stream: false,
        }
    }

    /// A stream.
    ///
    /// # Safety
    /// As for [`Stream::new`].
    pub(crate) unsafe fn of_stream(file: NonNull<libc::FILE>, is_owned: bool) -> Self {
        // SAFETY: as the caller says.
        let stream = unsafe { Stream::new(file, is_owned) };
        SinkObject {
            stream: Told(file.as_ptr()),
            closes_stream: is_owned,
            ..SinkObject::of_writer(Box::new(stream))
        }
    }

    /// The stream that it writes to; null where it writes to none.
    pub(crate) const fn stream(&self) -> *mut libc::FILE {
        self.stream.0
    }

    /// The stream that nobody closes but who has given it; none where the sink closes it itself.
    pub(crate) fn givers_stream(&self) -> Option<NonNull<libc::FILE>> {
        NonNull::new(self.stream.0).filter(|_| !self.closes_stream)
    }

    /// Lets what it writes to go, for good.
    pub(crate) fn retire(&self) {
        let state = mem::replace(&mut *self.state(), State::Given);
        // Without the lock: it may be a sink whose release calls the library.
        drop(state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sink for a log.
    ///
    /// # Errors
    /// Where a reader or a snapshot has got it.
    pub(crate) fn sink(&self) -> Outcome<Sink> {
        let mut state = self.state();
        let sink = match mem::replace(&mut *state, State::Given) {
            State::Writer(writer) => Sink::writer(SinkWriter::new(writer)),
            State::Sink(sink) => sink,
            State::Given => return Err(given()),
        };
        *state = State::Sink(sink.clone());
        Ok(sink)
    }

    /// Gives it a queue and a thread.
    ///
    /// # Errors
    /// As for [`take_writer`](Self::take_writer).
    fn queue(&self, options: AttachOptions) -> Outcome {
        // Not marked as a log's: no call waits for it.
        let sink = Sink::queued(self.take_writer()?, options);
        *self.state() = State::Sink(sink);
        Ok(())
    }

    /// Its writer, for a reader or a snapshot.
    ///
    /// # Errors
    /// Where it has been used before, or is no writer.
    pub(crate) fn take_writer(&self) -> Outcome<Box<dyn Write + Send>> {
        let mut state = self.state();
        match mem::replace(&mut *state, State::Given) {
            State::Writer(writer) => Ok(writer),
            State::Sink(sink) => {
                *state = State::Sink(sink);
                let text =
                    "a log has had that sink, or it is memory, or has a queue: a new one is needed";
                Err(Failure::new(Code::Used, text))
            }
            State::Given => Err(given()),
        }
    }

    /// What is taken out of memory.
    ///
    /// # Errors
    /// Where it is no memory.
    pub(crate) fn popper(&self) -> Outcome<&Popper> {
        self.popper.as_ref().ok_or_else(|| {
            let text = "that sink gives no chunks: evl_sink_memory makes one that does";
            Failure::new(Code::Argument, text)
        })
    }
}

fn given() -> Failure {
    let text = "a reader or a snapshot has got that sink: each takes a new one";
    Failure::new(Code::Used, text)
}

/// Makes a sink, and puts its handle there.
///
/// # Safety
/// `out` is null or valid for writes.
unsafe fn make(out: *mut Id<Arc<SinkObject>>, make: impl FnOnce() -> Outcome<SinkObject>) -> c_int {
    entry(|| {
        // SAFETY: as the caller says.
        let mut out = unsafe { Out::new(out, "sink") }?;
        fork::get_ready()?;
        out.put(Id::new(Arc::new(make()?))?);
        Ok(())
    })
}

/// A connection to somebody who listens on a Unix socket.
///
/// # Errors
/// The system's.
pub(crate) fn connect_unix(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    let stream = UnixStream::connect(path)?;
    stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    Ok(Box::new(stream))
}

/// A connection to somebody who listens at a TCP address.
///
/// # Errors
/// The system's.
pub(crate) fn connect_tcp(address: &str) -> io::Result<Box<dyn Write + Send>> {
    let stream = TcpStream::connect(address)?;
    stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    // Blocks are large, and somebody may be waiting for the last one.
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// What the system says of a name.
fn at(what: impl std::fmt::Display, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("{what}: {error}"))
}

/// `evl_sink_file`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_file(path: *const c_char, out: *mut Id<Arc<SinkObject>>) -> c_int {
    let open = || {
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        let file = File::create(path).map_err(|error| at(path.display(), &error))?;
        Ok(SinkObject::of_writer(Box::new(file)))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, open) }
}

/// `evl_sink_stream`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_stream(
    stream: *mut libc::FILE,
    flags: c_int,
    out: *mut Id<Arc<SinkObject>>,
) -> c_int {
    let wrap = || {
        let stream = NonNull::new(stream).ok_or_else(|| null("stream"))?;
        let is_owned = check_flags(flags)?;
        // SAFETY: the header asks that it be open, stay open, and be closed once.
        Ok(unsafe { SinkObject::of_stream(stream, is_owned) })
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, wrap) }
}

/// `evl_sink_fd`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_fd(fd: c_int, flags: c_int, out: *mut Id<Arc<SinkObject>>) -> c_int {
    let wrap = || {
        let is_owned = check_flags(flags)?;
        // SAFETY: any number may be asked about.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return Err(at(
                format_args!("file descriptor {fd}"),
                &io::Error::last_os_error(),
            ));
        }
        // SAFETY: it is new, and belongs to nobody else.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(copy) });
        if is_owned {
            // SAFETY: the header asks that nobody else uses it from then on.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        Ok(SinkObject::of_writer(Box::new(file)))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, wrap) }
}

/// `evl_sink_unix`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_unix(path: *const c_char, out: *mut Id<Arc<SinkObject>>) -> c_int {
    let connect = || {
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        let stream = connect_unix(path).map_err(|error| at(path.display(), &error))?;
        Ok(SinkObject::of_writer(stream))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, connect) }
}

/// `evl_sink_tcp`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_tcp(address: *const c_char, out: *mut Id<Arc<SinkObject>>) -> c_int {
    let connect = || {
        // SAFETY: the header asks for a text that ends with a NUL.
        let address = unsafe { text::utf8_z(address, "address") }?;
        let stream = connect_tcp(address).map_err(|error| at(address, &error))?;
        Ok(SinkObject::of_writer(stream))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, connect) }
}

/// `evl_sink_callback`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_callback(
    write: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int>,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
    out: *mut Id<Arc<SinkObject>>,
) -> c_int {
    let wrap = || {
        let write = write.ok_or_else(|| null("write"))?;
        // SAFETY: the header asks that they may be called so, until `release` has been.
        let callback = unsafe { Callback::new(write, release, context) };
        Ok(SinkObject::of_writer(Box::new(callback)))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, wrap) }
}

/// `evl_sink_memory`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_memory(
    budget: u64,
    when_full: c_int,
    out: *mut Id<Arc<SinkObject>>,
) -> c_int {
    let reserve = || {
        let when_full = match when_full {
            0 => WhenFull::DropNewest,
            1 => WhenFull::OverwriteOldest,
            other => {
                let text = format!(
                    "{other} is nothing to do when memory is full: EVL_KEEP_OLDEST (0) or EVL_KEEP_NEWEST (1)"
                );
                return Err(Failure::new(Code::Argument, text));
            }
        };
        let (sink, chunks) = Sink::chunks(memory_size(budget, "a budget")?, when_full);
        Ok(SinkObject::of_sink(sink, Some(Popper::new(chunks))))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, reserve) }
}

/// `evl_sink_recorder`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_recorder(
    bytes: u64,
    window_ns: u64,
    out: *mut Id<Arc<SinkObject>>,
) -> c_int {
    let reserve = || {
        let mut keep = Keep::bytes(memory_size(bytes, "a flight recorder")?);
        if window_ns != 0 {
            keep = keep.newest(Duration::from_nanos(window_ns));
        }
        Ok(SinkObject::of_sink(Sink::flight_recorder(keep), None))
    };
    // SAFETY: the header asks for it.
    unsafe { make(out, reserve) }
}

/// `evl_sink_null`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_null(out: *mut Id<Arc<SinkObject>>) -> c_int {
    // SAFETY: the header asks for it.
    unsafe { make(out, || Ok(SinkObject::of_writer(Box::new(io::sink())))) }
}

/// `evl_sink_queue`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_queue(sink: Id<Arc<SinkObject>>, options: *const Options) -> c_int {
    entry(|| {
        // SAFETY: the header asks for it.
        let options = unsafe { reader::options(options) }?;
        sink.get()?.queue(options)
    })
}

/// `evl_sink_get_stream`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_sink_get_stream(
    sink: Id<Arc<SinkObject>>,
    out: *mut *mut libc::FILE,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "stream") }?;
        let stream = sink.get()?.stream.0;
        if stream.is_null() {
            return Err(Failure::new(Code::Argument, "that sink is no stream"));
        }
        out.put(stream);
        Ok(())
    })
}

/// `evl_sink_close`
#[unsafe(no_mangle)]
extern "C" fn evl_sink_close(sink: Id<Arc<SinkObject>>) -> c_int {
    entry(|| {
        let sink = sink.get()?;
        let _blocked = PipeBlocked::new();
        let closed = sink.sink()?.close();
        closed.map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => Failure::new(
                Code::Used,
                "an event log writes to that sink, or has ended there: evl_set_sink, evl_stop and evl_drop end it",
            ),
            _ => Failure::from_io(Code::Sink, &error, &error),
        })
    })
}

/// `evl_sink_release`
#[unsafe(no_mangle)]
extern "C" fn evl_sink_release(sink: Id<Arc<SinkObject>>) -> c_int {
    entry(|| {
        let sink = sink.take()?;
        // Where it was the last one that knew of it, the writer is let go, which may write.
        let _blocked = PipeBlocked::new();
        drop(sink);
        Ok(())
    })
}

/// Whether the caller gives the descriptor or stream away.
fn check_flags(flags: c_int) -> Outcome<bool> {
    match flags {
        0 => Ok(false),
        CLOSE => Ok(true),
        other => Err(Failure::new(
            Code::Argument,
            format!("flags {other:#x}: 0, or EVL_CLOSE ({CLOSE:#x})"),
        )),
    }
}

/// A number of bytes of memory.
fn memory_size(bytes: u64, what: &str) -> Outcome<usize> {
    match usize::try_from(bytes) {
        Ok(0) => Err(Failure::new(
            Code::Argument,
            format!("{what} of 0 bytes: at least 1 is needed"),
        )),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(Failure::new(
            Code::Argument,
            format!(
                "{what} of {bytes} bytes: at most {} are possible",
                usize::MAX
            ),
        )),
    }
}
