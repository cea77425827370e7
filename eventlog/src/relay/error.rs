//! What can be wrong with a write of the run-time system. Nothing here decides that it is.

use core::fmt;

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
