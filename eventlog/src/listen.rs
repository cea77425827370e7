//! A log that is served: whoever connects to a socket is a reader from then on.

use crate::attach::attach;
use crate::error::{AttachError, ListenError};
use crate::log::{Core, EventLog};
use crate::reader::AttachOptions;
use crate::sink::naming;
use crate::user_writer::UserWriter;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
#[cfg(unix)]
use std::os::unix::net::UnixListener;
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often somebody who wants to connect is looked for.
const INTERVAL: Duration = Duration::from_millis(20);

/// How long a write to a socket may last before the reader's thread looks whether it is still wanted.
const WRITE_TIMEOUT: Duration = Duration::from_millis(100);

/// Where a log is served; see [`EventLog::listen`].
///
/// ```
/// use ghc_eventlog::Address;
///
/// let any_free_port = Address::Tcp(([127, 0, 0, 1], 0).into());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A Unix socket at this path, that only this user can connect to. The path has 107 bytes at most on Linux, 103
    /// elsewhere, and so has that of the directory beside it in which the socket is [made](EventLog::listen).
    #[cfg(unix)]
    Unix(PathBuf),
    /// A TCP port for programs of this machine: the address must be a loopback one. Port 0 stands for
    /// any that is free. Any user of the machine can connect.
    Tcp(SocketAddr),
    /// A TCP port for whoever can reach it. What the log says goes over the network in clear.
    TcpAnywhere(SocketAddr),
}

/// A log that is served. Dropping it closes the socket to new readers; those that have connected stay
/// attached.
///
/// ```
/// use ghc_eventlog::{Address, AttachOptions, EventLog, Sink};
/// use std::io::Read;
/// use std::net::TcpStream;
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let address = Address::Tcp(([127, 0, 0, 1], 0).into());
/// let listener = log.listen(address, AttachOptions::default())?;
/// let Address::Tcp(address) = listener.address() else { unreachable!() };
/// let mut reader = TcpStream::connect(address)?;
/// let mut beginning = [0; 4];
/// reader.read_exact(&mut beginning)?;
/// assert_eq!(&beginning, b"hdrb");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One that nothing keeps serves nobody; the compiler warns of it:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// use ghc_eventlog::{Address, AttachOptions, EventLog, Sink};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// log.listen(Address::Tcp(([127, 0, 0, 1], 0).into()), AttachOptions::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the socket is closed when this is dropped"]
pub struct Listener {
    address: Address,
    door: Arc<Door>,
    thread: Thread,
    /// The process that listens. A child that it forks does not.
    process: u32,
}

impl Listener {
    /// Where it listens, with the port that was found.
    ///
    /// ```
    /// use ghc_eventlog::{Address, AttachOptions, EventLog, Sink};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let free = Address::Tcp(([127, 0, 0, 1], 0).into());
    /// let listener = log.listen(free.clone(), AttachOptions::default())?;
    /// assert_ne!(listener.address(), &free);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How many have connected and not been served: there were [as many readers](AttachOptions::readers) as may be,
    /// or a thread could not be had, or memory in which the log is kept was full.
    ///
    /// ```
    /// use ghc_eventlog::{Address, AttachOptions, EventLog, Sink};
    ///
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let free = Address::Tcp(([127, 0, 0, 1], 0).into());
    /// let listener = log.listen(free, AttachOptions::default().readers(4))?;
    /// assert_eq!(listener.refused(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refused(&self) -> usize {
        // Relaxed: a count.
        self.door.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        self.door.close();
        // Not waited for: it may be waiting for the log's sink, within which this may be.
        self.thread.unpark();
    }
}

/// Whether somebody may still come in, how many have, and the name by which.
#[derive(Debug, Default)]
struct Door {
    closed: AtomicBool,
    /// Readers that are served.
    inside: Arc<AtomicUsize>,
    /// Those who were not let in.
    refused: AtomicUsize,
    /// The name of a Unix socket, and the file that has to be found there.
    #[cfg(unix)]
    name: Option<(PathBuf, unix::FileId)>,
}

impl Door {
    fn is_closed(&self) -> bool {
        // Relaxed: see `close`.
        self.closed.load(Ordering::Relaxed)
    }

    /// A place for one more reader, where there are fewer than `most`.
    fn enter(&self, most: usize) -> Option<Inside> {
        // Relaxed, here and where one leaves: a count, which only the listener's thread raises.
        if self.inside.load(Ordering::Relaxed) >= most {
            return None;
        }
        self.inside.fetch_add(1, Ordering::Relaxed);
        Some(Inside(Arc::clone(&self.inside)))
    }

    /// Counts somebody who was not let in.
    fn refuse(&self) {
        // Relaxed: a count.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the name away and says that nobody is let in any more, once.
    fn close(&self) {
        // Relaxed: nothing is told by it but that one caller is the first.
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        #[cfg(unix)]
        if let Some((path, file)) = &self.name {
            // Somebody else may have removed it, and may have another socket there now.
            if unix::FileId::of(path).is_ok_and(|found| found == *file) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A reader that is served, for as long as its thread has the connection.
#[derive(Debug)]
struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        // Relaxed: see `Door::enter`.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection.
struct Served {
    stream: Box<dyn Write + Send>,
    _inside: Inside,
}

impl Write for Served {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl EventLog {
    /// Serves the log at a socket: whoever connects is [attached](Self::attach) as a reader, and gets
    /// a log from its first byte. The socket is closed when the [`Listener`] is dropped or the log
    /// stopped. A thread of its own waits for readers, and looks for them fifty times a second. No more are served
    /// at a time than the options [say](AttachOptions::readers).
    ///
    /// A Unix socket is only there, under its name, when its mode is 0600 and somebody answers: it is
    /// made in a directory that only this user can enter, beside the path, and moved. A socket that is
    /// left over from a process that is gone is replaced; one where somebody answers, or a file that
    /// is no socket, is an error. The name is removed when the socket is closed, unless another
    /// socket has it by then; a process that ends without that leaves it behind.
    ///
    /// # Errors
    /// [`ListenError`].
    ///
    /// ```
    /// use ghc_eventlog::{Address, AttachOptions, EventLog, Sink};
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("my.sock");
    /// let log = EventLog::builder().sink(Sink::null())?;
    /// let _listener = log.listen(Address::Unix(path.clone()), AttachOptions::default())?;
    /// let mut reader = UnixStream::connect(&path)?;
    /// reader.read_exact(&mut [0; 4])?;
    /// log.message("hello");
    /// log.stop()?;
    /// let mut rest = Vec::new();
    /// reader.read_to_end(&mut rest)?;
    /// assert!(rest.ends_with(&[0xff, 0xff]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listen(
        &self,
        address: Address,
        options: AttachOptions,
    ) -> Result<Listener, ListenError> {
        self.core().check_process().map_err(ListenError::Io)?;
        if self.core().is_stopped() {
            return Err(ListenError::Stopped);
        }
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix sockets have names"))]
        let mut door = Door::default();
        let (socket, address) = match address {
            #[cfg(unix)]
            Address::Unix(path) => {
                let bound = unix::bind(&path).map_err(|error| at(path.display(), &error));
                let (listener, file) = bound?;
                door.name = Some((path.clone(), file));
                (Socket::Unix(listener), Address::Unix(path))
            }
            Address::Tcp(address) if !address.ip().is_loopback() => {
                return Err(ListenError::NotLoopback { address });
            }
            Address::Tcp(address) => {
                let (socket, address) = bind_tcp(address)?;
                (socket, Address::Tcp(address))
            }
            Address::TcpAnywhere(address) => {
                let (socket, address) = bind_tcp(address)?;
                (socket, Address::TcpAnywhere(address))
            }
        };
        let door = Arc::new(door);
        let thread = thread::Builder::new()
            .name("eventlog-listener".into())
            .spawn({
                let (core, door) = (Arc::clone(self.core()), Arc::clone(&door));
                move || {
                    serve(&core, &socket, &options, &door);
                    door.close();
                }
            })
            .map_err(|error| {
                door.close();
                ListenError::Io(error)
            })?;
        Ok(Listener {
            address,
            door,
            thread: thread.thread().clone(),
            process: std::process::id(),
        })
    }
}

/// A socket that is listened at.
#[derive(Debug)]
enum Socket {
    #[cfg(unix)]
    Unix(UnixListener),
    Tcp(TcpListener),
}

fn at(what: impl std::fmt::Display, error: &io::Error) -> ListenError {
    ListenError::Io(naming(what, error))
}

fn bind_tcp(address: SocketAddr) -> Result<(Socket, SocketAddr), ListenError> {
    let bind = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((Socket::Tcp(listener), address))
    };
    bind().map_err(|error: io::Error| at(address, &error))
}

impl Socket {
    /// Somebody who has connected.
    ///
    /// # Errors
    /// `WouldBlock` where there is nobody.
    fn accept(&self) -> io::Result<Box<dyn Write + Send>> {
        match self {
            #[cfg(unix)]
            Socket::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                Ok(Box::new(stream))
            }
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

/// The listener's thread.
fn serve(core: &Core, socket: &Socket, options: &AttachOptions, door: &Door) {
    while !door.is_closed() && !core.is_stopped() {
        match socket.accept() {
            // After the name was taken away: as if it had come later.
            Ok(_) if door.is_closed() => {}
            Ok(stream) => {
                // Whoever is refused finds the connection closed.
                let Some(inside) = door.enter(options.readers) else {
                    door.refuse();
                    continue;
                };
                let served = Served {
                    stream,
                    _inside: inside,
                };
                match attach(core, UserWriter::new(served), options) {
                    Ok(_) => {}
                    Err(AttachError::Stopped) => return,
                    Err(
                        AttachError::Thread(_) | AttachError::Sink(_) | AttachError::Unavailable(_),
                    ) => door.refuse(),
                }
            }
            // Nobody, or somebody who has gone again, or too many open files: later.
            Err(_) => thread::park_timeout(INTERVAL),
        }
    }
}

#[cfg(unix)]
mod unix {
    //! Unix sockets that only this user can connect to, from the first moment on.

    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Which file it is, whatever its name: its device and its number there.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct FileId(u64, u64);

    impl FileId {
        pub(super) fn of(path: &Path) -> io::Result<Self> {
            let found = fs::symlink_metadata(path)?;
            Ok(FileId(found.dev(), found.ino()))
        }
    }

    pub(super) fn bind(path: &Path) -> io::Result<(UnixListener, FileId)> {
        // Nobody could connect to a name that is longer.
        check_len(path, "the socket's path")?;
        check_free(path)?;
        let directory = Private::beside(path)?;
        let inside = directory.0.join("s");
        check_len(
            &inside,
            format_args!("a socket is made at {} first, whose path", inside.display()),
        )?;
        let listener = UnixListener::bind(&inside)?;
        fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let file = FileId::of(&inside)?;
        // In the place of one that is left over, in one step.
        fs::rename(&inside, path)?;
        Ok((listener, file))
    }

    /// The bytes of a socket's path, of which one ends it.
    const PATH_LEN: usize = if cfg!(any(target_os = "linux", target_os = "android")) {
        108
    } else {
        104
    };

    /// Whether a socket's path, which errors call `what`, can be that long.
    fn check_len(path: &Path, what: impl std::fmt::Display) -> io::Result<()> {
        let (len, most) = (path.as_os_str().len(), PATH_LEN - 1);
        if len > most {
            let message = format!("{what} has {len} bytes: at most {most} are possible");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }

    /// Whether the name can be had: nothing is there, or a socket where nobody answers.
    fn check_free(path: &Path) -> io::Result<()> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if !found.file_type().is_socket() {
            let message = "there is a file that is no socket";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                let message = "somebody listens there already";
                Err(io::Error::new(io::ErrorKind::AddrInUse, message))
            }
        }
    }

    /// A directory that only this user can enter, and that is gone afterwards.
    struct Private(PathBuf);

    impl Private {
        fn beside(path: &Path) -> io::Result<Self> {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let mut tries = 0;
            loop {
                // Relaxed: only that it is another one.
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let name = format!(".{:x}-{number:x}", std::process::id());
                let directory = path.with_file_name(name);
                match DirBuilder::new().mode(0o700).create(&directory) {
                    // Of an earlier process of the same number, which was killed.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => {
                        tries += 1;
                    }
                    outcome => return outcome.map(|()| Private(directory)),
                }
            }
        }
    }

    impl Drop for Private {
        fn drop(&mut self) {
            // A socket that could not be moved is there still.
            let _ = fs::remove_file(self.0.join("s"));
            let _ = fs::remove_dir(&self.0);
        }
    }
}
