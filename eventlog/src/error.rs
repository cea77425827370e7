//! What a log can refuse, and why. The format's own errors are in [`crate::format`].

use crate::format::HeaderError;
use crate::statistics::Statistics;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{error, fmt, io};

/// Why an event was not taken in. It has been counted as [lost](crate::Lost), by the same cause.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EmitError, EventLog, format::Event};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// let mut capability = log.capability()?;
/// log.stop()?;
/// let refused = capability.try_emit(&Event::UserMessage { text: "too late" });
/// assert_eq!(refused, Err(EmitError::Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// The buffer is full: events come faster than the sink takes them, and the
    /// [policy](crate::Policy) has no other way (any more).
    Full,
    /// The log has been stopped, or a forked child has asked for what only its parent can have.
    Stopped,
    /// The event is of a [type](crate::format::UserEventType) of the program's own that the log does
    /// not [declare](crate::Builder::declare), or declares with another name or other fields.
    Undeclared {
        /// The type's [id](crate::format::UserEventType::id).
        id: u16,
    },
    /// The log takes nothing but the blocks of [another writer](crate::Builder::relayed).
    Relayed,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::Full => f.write_str("the event buffer is full"),
            EmitError::Stopped => f.write_str("the event log has been stopped"),
            EmitError::Undeclared { id } => write!(
                f,
                "the event log does not declare this event type, whose id is {id}"
            ),
            EmitError::Relayed => f.write_str(RELAYED),
        }
    }
}

impl error::Error for EmitError {}

const RELAYED: &str = "the event log takes nothing but what its other writer hands over";

/// Why a log could not be started.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, StartError};
///
/// let refused = EventLog::builder().buffer_size(100).start(Vec::new()).unwrap_err();
/// assert!(matches!(refused, StartError::BufferTooSmall { bytes: 100, .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A buffer of that size could not hold the largest event and its block's marker.
    BufferTooSmall {
        /// Bytes asked for.
        bytes: usize,
        /// The least that will do.
        minimum: usize,
    },
    /// A block of that size could not say its length.
    BufferTooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// The most that will do.
        maximum: usize,
    },
    /// Memory for the shared buffer could not be had.
    Buffer(BufferError),
    /// A log writes to the sink already, or has done so, or it has been closed.
    SinkUsed,
    /// Two event types have been [declared](crate::Builder::declare) with one number.
    TypeIdTwice {
        /// Their [id](crate::format::UserEventType::id).
        id: u16,
        /// The name of each.
        names: [String; 2],
    },
    /// Two event types have been [declared](crate::Builder::declare) with one name.
    TypeNameTwice {
        /// Their name.
        name: String,
        /// The [id](crate::format::UserEventType::id) of each.
        ids: [u16; 2],
    },
    /// No header takes the event types that have been [declared](crate::Builder::declare).
    Types(HeaderError),
    /// The file of the log could not be made.
    File {
        /// Where it was to be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The sink did not take the header, or the collector's thread could not be started.
    Io(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::BufferTooSmall { bytes, minimum } => too_small(f, *bytes, *minimum),
            StartError::BufferTooLarge { bytes, maximum } => too_large(f, *bytes, *maximum),
            StartError::Buffer(error) => error.fmt(f),
            StartError::SinkUsed => f.write_str("that sink has been used for a log before"),
            StartError::TypeIdTwice {
                id,
                names: [first, second],
            } => write!(f, "event types {first:?} and {second:?} both have id {id}"),
            StartError::TypeNameTwice {
                name,
                ids: [first, second],
            } => write!(
                f,
                "the event types of ids {first} and {second} are both named {name:?}"
            ),
            StartError::Types(_) => f.write_str("no log can declare these event types"),
            StartError::File { path, .. } => {
                write!(
                    f,
                    "the event log's file {} could not be made",
                    path.display()
                )
            }
            StartError::Io(_) => f.write_str("the event log could not be started"),
        }
    }
}

impl error::Error for StartError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            StartError::Buffer(error) => error.source(),
            StartError::Types(source) => Some(source),
            StartError::File { source, .. } | StartError::Io(source) => Some(source),
            StartError::BufferTooSmall { .. }
            | StartError::BufferTooLarge { .. }
            | StartError::SinkUsed
            | StartError::TypeIdTwice { .. }
            | StartError::TypeNameTwice { .. } => None,
        }
    }
}

/// Why a buffer could not be made.
///
/// ```
/// use ghc_eventlog::{EventLog, StartError};
///
/// let most = (u32::MAX as usize - 24) / 2;
/// match EventLog::builder().buffer_size(most).start(std::io::sink()) {
///     Err(StartError::Buffer(error)) => assert_eq!(error.bytes(), most),
///     other => drop(other?),
/// }
/// # Ok::<(), StartError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferError {
    pub(crate) bytes: usize,
    pub(crate) source: chunkring::BuildError,
}

impl BufferError {
    /// Bytes that the buffer was to have.
    ///
    /// ```
    /// fn report(error: &ghc_eventlog::BufferError) {
    ///     eprintln!("no memory for {} bytes", error.bytes());
    /// }
    /// ```
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an event buffer of {} bytes could not be made",
            self.bytes
        )
    }
}

impl error::Error for BufferError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why the buffers' size was not changed. All of them are as they were.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, ResizeError};
///
/// let log = EventLog::builder().start(std::io::sink())?;
/// let refused = log.resize(64).unwrap_err();
/// assert!(matches!(refused, ResizeError::TooSmall { bytes: 64, minimum: 65_571 }));
/// # Ok::<(), ghc_eventlog::StartError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResizeError {
    /// A buffer of that size could not hold the largest event and its block's marker.
    TooSmall {
        /// Bytes asked for.
        bytes: usize,
        /// The least that will do.
        minimum: usize,
    },
    /// A block of that size could not say its length.
    TooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// The most that will do.
        maximum: usize,
    },
    /// Memory for buffers of that size could not be had.
    Buffer {
        /// Bytes asked for, of each buffer.
        bytes: usize,
        /// Why not.
        source: chunkring::BuildError,
    },
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ResizeError::TooSmall { bytes, minimum } => too_small(f, bytes, minimum),
            ResizeError::TooLarge { bytes, maximum } => too_large(f, bytes, maximum),
            ResizeError::Buffer { bytes, .. } => {
                write!(f, "event buffers of {bytes} bytes each could not be made")
            }
        }
    }
}

impl error::Error for ResizeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            ResizeError::Buffer { source, .. } => Some(source),
            ResizeError::TooSmall { .. } | ResizeError::TooLarge { .. } => None,
        }
    }
}

fn too_small(f: &mut fmt::Formatter<'_>, bytes: usize, minimum: usize) -> fmt::Result {
    write!(
        f,
        "a buffer of {bytes} bytes cannot hold the largest event: at least {minimum} are needed"
    )
}

fn too_large(f: &mut fmt::Formatter<'_>, bytes: usize, maximum: usize) -> fmt::Result {
    write!(
        f,
        "a buffer of {bytes} bytes is too large: at most {maximum} are possible"
    )
}

/// Why a log gave no capability.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{CapabilityError, EventLog};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// log.stop()?;
/// assert!(matches!(log.capability(), Err(CapabilityError::Stopped)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapabilityError {
    /// Every capability number is in use.
    Exhausted {
        /// Capabilities that a log can have at a time.
        limit: usize,
    },
    /// Memory for the capability's buffer could not be had.
    Buffer(BufferError),
    /// The log has been stopped.
    Stopped,
    /// The log belongs to the process that this one was forked from.
    Forked,
    /// The log takes nothing but the blocks of [another writer](crate::Builder::relayed).
    Relayed,
}

impl fmt::Display for CapabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapabilityError::Exhausted { limit } => {
                write!(
                    f,
                    "an event log can have {limit} capabilities at a time, not more"
                )
            }
            CapabilityError::Buffer(error) => error.fmt(f),
            CapabilityError::Stopped => f.write_str("the event log has been stopped"),
            CapabilityError::Forked => {
                f.write_str("the event log belongs to the process that this one was forked from")
            }
            CapabilityError::Relayed => f.write_str(RELAYED),
        }
    }
}

impl error::Error for CapabilityError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            CapabilityError::Buffer(error) => error.source(),
            CapabilityError::Exhausted { .. }
            | CapabilityError::Stopped
            | CapabilityError::Forked
            | CapabilityError::Relayed => None,
        }
    }
}

/// The sink did not take the end of the log. The log takes no more events all the same; what was not
/// delivered is counted in [`statistics`](Self::statistics) as lost to the sink, until another
/// [`stop`](crate::EventLog::stop) delivers it.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::EventLog;
/// use std::io;
///
/// /// Takes the header, and then nothing.
/// struct Broken(bool);
/// impl io::Write for Broken {
///     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
///         if std::mem::replace(&mut self.0, true) {
///             return Err(io::Error::other("no more room"));
///         }
///         Ok(bytes.len())
///     }
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let log = EventLog::builder().start(Broken(false))?;
/// let mut capability = log.capability()?;
/// capability.message("lost");
/// let error = log.stop().unwrap_err();
/// assert_eq!(error.statistics().capabilities[0].lost.sink, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StopError {
    pub(crate) source: io::Error,
    pub(crate) statistics: Box<Statistics>,
}

impl StopError {
    /// What became of the log's events. All zero where the log's own sink has called for the stop:
    /// that was not known yet.
    ///
    /// ```
    /// fn report(error: &ghc_eventlog::StopError) {
    ///     eprintln!("{error}: {} events lost", error.statistics().lost().total());
    /// }
    /// ```
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sink did not take the end of the event log")?;
        match self.statistics.lost().sink {
            0 => Ok(()),
            lost => write!(f, ": {lost} events lost"),
        }
    }
}

impl error::Error for StopError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why a log was not redirected, or not as wished. But for [`Previous`](Self::Previous) nothing has
/// changed: the sink that was set before goes on, and no event is lost.
///
/// ```
/// use ghc_eventlog::{EventLog, Previous, SetSinkError, Sink, Start};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let same = log.set_sink(log.sink(), Previous::Keep, Start::Continue);
/// assert!(matches!(same, Err(SetSinkError::InUse)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SetSinkError {
    /// The log has been stopped.
    Stopped,
    /// A log writes to that sink now, this one or another.
    InUse,
    /// That sink has been ended, or has refused the middle of a header.
    Closed,
    /// That sink has begun a log, and cannot take another header.
    Begun,
    /// That sink is a new [file](crate::Sink::file), or new [memory](crate::Sink::memory), and has no log that could be
    /// gone on with: it wants [`Start::Header`](crate::Start::Header).
    NotBegun,
    /// That sink did not take the header, or what it had refused before.
    Refused(io::Error),
    /// The log *has* been redirected, and the sink that was set before did not take its end.
    Previous {
        /// Its error.
        source: io::Error,
        /// Events that it did not take. They are counted as [lost](crate::Lost::sink).
        lost: u64,
    },
    /// The call cannot be made here: from within the log's own sink, or in a forked child.
    Unavailable(io::Error),
}

impl fmt::Display for SetSinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetSinkError::Stopped => f.write_str("the event log has been stopped"),
            SetSinkError::InUse => f.write_str("an event log writes to that sink already"),
            SetSinkError::Closed => f.write_str("that sink has been closed"),
            SetSinkError::Begun => {
                f.write_str("that sink has begun a log, which cannot have another header")
            }
            SetSinkError::NotBegun => {
                f.write_str("that sink is new, and has no log to be continued: it needs a header")
            }
            SetSinkError::Refused(_) => {
                f.write_str("the new sink did not take the log's beginning")
            }
            SetSinkError::Previous { lost, .. } => write!(
                f,
                "the log was redirected, but its previous sink did not take the end: {lost} events lost"
            ),
            SetSinkError::Unavailable(_) => f.write_str("the event log cannot be redirected here"),
        }
    }
}

impl error::Error for SetSinkError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            SetSinkError::Refused(source)
            | SetSinkError::Previous { source, .. }
            | SetSinkError::Unavailable(source) => Some(source),
            SetSinkError::Stopped
            | SetSinkError::InUse
            | SetSinkError::Closed
            | SetSinkError::Begun
            | SetSinkError::NotBegun => None,
        }
    }
}

/// Why a reader was not attached.
///
/// ```
/// use ghc_eventlog::{AttachError, AttachOptions, EventLog};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// log.stop()?;
/// let refused = log.attach(std::io::sink(), AttachOptions::default());
/// assert!(matches!(refused, Err(AttachError::Stopped)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AttachError {
    /// The log has been stopped.
    Stopped,
    /// The reader's thread could not be started.
    Thread(io::Error),
    /// The log is [kept in memory](crate::Builder::in_memory), which has no room for what was emitted before:
    /// later, when some has been taken.
    Sink(io::Error),
    /// The call cannot be made here: from within the log's own sink, or in a forked child.
    Unavailable(io::Error),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AttachError::Stopped => "the event log has been stopped",
            AttachError::Thread(_) => "a reader's thread could not be started",
            AttachError::Sink(_) => "memory has no room for what was emitted before",
            AttachError::Unavailable(_) => "a reader cannot be attached here",
        })
    }
}

impl error::Error for AttachError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            AttachError::Stopped => None,
            AttachError::Thread(source)
            | AttachError::Sink(source)
            | AttachError::Unavailable(source) => Some(source),
        }
    }
}

/// Why a log is not served.
///
/// ```
/// use ghc_eventlog::{Address, AttachOptions, EventLog, ListenError, Sink};
///
/// let log = EventLog::builder().sink(Sink::null())?;
/// let everywhere = Address::Tcp(([0, 0, 0, 0], 0).into());
/// let refused = log.listen(everywhere, AttachOptions::default());
/// assert!(matches!(refused, Err(ListenError::NotLoopback { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The log has been stopped: there is nothing to serve.
    Stopped,
    /// The address could be reached from other machines.
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The socket could not be had; the error names it. Or its thread could not be started.
    Io(io::Error),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenError::Stopped => f.write_str("the event log has been stopped"),
            ListenError::NotLoopback { address } => write!(
                f,
                "{address} is no loopback address: `Address::TcpAnywhere` serves other machines"
            ),
            ListenError::Io(_) => f.write_str("the event log cannot be served there"),
        }
    }
}

impl error::Error for ListenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            ListenError::Stopped | ListenError::NotLoopback { .. } => None,
            ListenError::Io(source) => Some(source),
        }
    }
}

/// Capabilities that a log can have at a time: a capability number has 16 bits, of which one value
/// stands for "none".
pub(crate) const MAX_CAPABILITIES: usize = u16::MAX as usize;
