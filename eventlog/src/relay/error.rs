//! What can go wrong between the run-time system and the sink. Nothing here decides that it has.

use core::fmt;
use std::io;
use std::sync::Arc;

use chunkring::BuildError;

use super::mends::Mends;
use super::pipe::Statistics;
use crate::format::{BlockMarker, DecodeError, DecodeErrorKind, EventSize};

/// A write that is not passed on, in whole: what broke it may have broken all of it.
///
/// ```
/// use ghc_eventlog::relay::{Mender, SetAsideReason};
///
/// let aside = Mender::new().take(b"rubbish").unwrap_err();
/// assert_eq!(aside.reason, SetAsideReason::NoHeader);
/// assert_eq!(aside.to_string(), "write of 7 bytes set aside: byte 0: no header has come yet");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetAside {
    /// Bytes in the write.
    pub len: usize,
    /// Where in the write the fault is, in bytes from its start.
    pub offset: u64,
    /// The fault.
    pub reason: SetAsideReason,
}

/// Why a write is not passed on.
///
/// ```
/// use ghc_eventlog::relay::SetAsideReason;
///
/// let reason = SetAsideReason::BlockTooLong { size: 5000, limit: 4096 };
/// assert_eq!(reason.to_string(), "block of 5000 bytes, the limit is 4096");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SetAsideReason {
    /// The first writes hold no header, so that their events have no known sizes.
    NoHeader,
    /// The header is no header.
    Header(DecodeErrorKind),
    /// The header declares block markers that are not the ones GHC writes.
    BlockMarkers {
        /// What it declares; `None` if they are missing.
        size: Option<EventSize>,
    },
    /// The header says something else than the first one. Readers go by the first header of a log:
    /// they would take the events under this one for others.
    OtherHeader,
    /// The write came under a header that was set aside as an [`OtherHeader`](Self::OtherHeader).
    UnderOtherHeader,
    /// An event or a marker breaks the framing. Offsets in it are those in the write.
    Framing(DecodeErrorKind),
    /// A block's size field reaches beyond the write.
    BlockBeyondWrite {
        /// The size field, in bytes.
        size: u32,
        /// Bytes from the marker to the write's end.
        left: usize,
    },
    /// Something follows a block that is no block.
    AfterBlock,
    /// The header or a block is longer than what can be passed on in one go.
    BlockTooLong {
        /// What it takes, in bytes.
        size: usize,
        /// The most that it may take.
        limit: usize,
    },
}

impl fmt::Display for SetAsideReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("no header has come yet"),
            Self::Header(kind) => write!(f, "bad header: {kind}"),
            Self::BlockMarkers { size } => {
                match size {
                    Some(size) => write!(f, "header declares block markers as {size}")?,
                    None => f.write_str("header declares no block markers")?,
                }
                write!(f, ", not {} bytes", BlockMarker::LEN - 10)
            }
            Self::OtherHeader => f.write_str("header differs from the first one"),
            Self::UnderOtherHeader => {
                f.write_str("comes under a header that differs from the first one")
            }
            Self::Framing(kind) => kind.fmt(f),
            Self::BlockBeyondWrite { size, left } => {
                write!(f, "block of {size} bytes, the write has {left} more")
            }
            Self::AfterBlock => f.write_str("no block marker after the end of a block"),
            Self::BlockTooLong { size, limit } => {
                write!(f, "block of {size} bytes, the limit is {limit}")
            }
        }
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            len,
            offset,
            reason,
        } = self;
        write!(f, "write of {len} bytes set aside: byte {offset}: {reason}")
    }
}

impl core::error::Error for SetAside {}

impl SetAside {
    pub(super) fn framing(error: DecodeError, base: u64, len: usize) -> Self {
        let kind = match error.kind {
            DecodeErrorKind::CrossesBlock {
                id,
                event_end,
                block_end,
            } => DecodeErrorKind::CrossesBlock {
                id,
                event_end: base + event_end,
                block_end: base + block_end,
            },
            DecodeErrorKind::MarkerInsideBlock { block_end } => {
                DecodeErrorKind::MarkerInsideBlock {
                    block_end: base + block_end,
                }
            }
            DecodeErrorKind::EndInsideBlock { block_end } => DecodeErrorKind::EndInsideBlock {
                block_end: base + block_end,
            },
            kind => kind,
        };
        Self {
            len,
            offset: base + error.offset,
            reason: SetAsideReason::Framing(kind),
        }
    }
}

/// The sink has failed; what had not been written by then is lost. Clones are the same failure.
///
/// ```
/// use std::io::{self, ErrorKind};
/// use ghc_eventlog::relay::{Relay, WriteError};
///
/// struct Full;
///
/// impl io::Write for Full {
///     fn write(&mut self, _: &[u8]) -> io::Result<usize> {
///         Err(ErrorKind::StorageFull.into())
///     }
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let mut relay = Relay::builder().start(Full)?;
/// relay.write(&ghc_eventlog::format::Header::standard().encode())?;
/// let failed = relay.finish().unwrap_err();
/// assert_eq!(failed.error.io().kind(), ErrorKind::StorageFull);
/// assert_eq!(failed.statistics.bytes_written, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SinkError(Arc<io::Error>);

impl SinkError {
    pub(super) fn new(error: io::Error) -> Self {
        Self(Arc::new(error))
    }

    pub(super) fn panicked() -> Self {
        Self::new(io::Error::other("the sink panicked"))
    }

    /// What the sink said.
    #[must_use]
    pub fn io(&self) -> &io::Error {
        &self.0
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the sink failed: {}", self.0)
    }
}

impl core::error::Error for SinkError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// Why [`Relay::write`](super::Relay::write) did not pass a write on.
///
/// ```
/// use ghc_eventlog::relay::{Relay, WriteError};
///
/// let mut relay = Relay::builder().start(std::io::sink())?;
/// let error = relay.write(b"rubbish").unwrap_err();
/// assert!(matches!(error, WriteError::SetAside(aside) if aside.len == 7));
/// # Ok::<(), ghc_eventlog::relay::StartError>(())
/// ```
#[derive(Clone, Debug)]
pub enum WriteError {
    /// The write is no good. It was counted, nothing of it is in the log, and the relay goes on.
    SetAside(SetAside),
    /// The sink has failed, at this write or before. All later writes give the same error.
    Sink(SinkError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetAside(aside) => aside.fmt(f),
            Self::Sink(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::SetAside(_) => None,
            Self::Sink(error) => core::error::Error::source(error),
        }
    }
}

impl From<SetAside> for WriteError {
    fn from(aside: SetAside) -> Self {
        Self::SetAside(aside)
    }
}

impl From<SinkError> for WriteError {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

/// Why [`Relay::finish`](super::Relay::finish) could not bring the log to its end.
///
/// ```
/// use ghc_eventlog::relay::FinishError;
///
/// fn lost(error: &FinishError) -> u64 {
///     error.statistics.mends.bytes_passed - error.statistics.bytes_written
/// }
/// ```
#[derive(Clone, Debug)]
pub struct FinishError {
    /// What the sink said.
    pub error: SinkError,
    /// What had come of the writes by then.
    pub statistics: Statistics,
}

impl fmt::Display for FinishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mends { bytes_passed, .. } = self.statistics.mends;
        let written = self.statistics.bytes_written;
        write!(
            f,
            "{} (after {written} of {bytes_passed} bytes)",
            self.error
        )
    }
}

impl core::error::Error for FinishError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        core::error::Error::source(&self.error)
    }
}

/// Why [`Builder::start`](super::Builder::start) made no relay.
///
/// ```
/// use ghc_eventlog::relay::{Relay, StartError};
///
/// let error = Relay::builder().block_limit(10).start(std::io::sink()).unwrap_err();
/// assert!(matches!(error, StartError::BlockLimit { bytes: 10, least: 24 }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// Not even an empty block would fit.
    BlockLimit {
        /// The limit asked for.
        bytes: usize,
        /// The least.
        least: usize,
    },
    /// The buffers are impossible, or memory for them cannot be had.
    Buffers(BuildError),
    /// The operating system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockLimit { bytes, least } => {
                write!(f, "block limit of {bytes} bytes, the least is {least}")
            }
            Self::Buffers(error) => write!(f, "no buffers: {error}"),
            Self::Thread(error) => write!(f, "no thread for the collector: {error}"),
        }
    }
}

impl core::error::Error for StartError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::BlockLimit { .. } => None,
            Self::Buffers(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}
