//! What can be wrong with a log, and where. Nothing here decides that something is.

use core::fmt;

use super::event_type::EventSize;
use super::header::HEADER_BEGIN;

/// The log's framing is broken: nothing after `offset` can be trusted.
///
/// ```
/// use ghc_eventlog::format::{DecodeErrorKind, Decoder};
///
/// let error = Decoder::new().next(&mut &b"not a log"[..]).unwrap_err();
/// assert_eq!(error.offset, 0);
/// assert_eq!(error.to_string(), "byte 0: expected the tag \"hdrb\", found \"not \"");
/// assert!(matches!(error.kind, DecodeErrorKind::Tag { .. }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Where the first byte is that cannot be accepted, counted from the start of the log. For
    /// [`DecodeErrorKind::Truncated`], where the last whole record ended.
    pub offset: u64,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

/// A part of a log that a [lenient](super::Decoder::lenient) decoder has left out.
///
/// ```
/// use ghc_eventlog::format::{DecodeErrorKind, Gap};
///
/// let gap = Gap { offset: 3200, len: 1, reason: DecodeErrorKind::UndeclaredEvent { id: 7 } };
/// let text = "byte 3200: 1 byte skipped: event type 7 is not declared in the header";
/// assert_eq!(gap.to_string(), text);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Where it starts, in bytes from the start of the log.
    pub offset: u64,
    /// Bytes of it. 0 where what comes next could be read at once: a block in the place of the
    /// rest of another one, or a second log.
    pub len: u64,
    /// What is wrong at its start.
    pub reason: DecodeErrorKind,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            len,
            reason,
        } = self;
        let bytes = if *len == 1 { "byte" } else { "bytes" };
        write!(f, "byte {offset}: {len} {bytes} skipped: {reason}")
    }
}

/// The ways in which a log's framing can be broken.
///
/// ```
/// use ghc_eventlog::format::DecodeErrorKind;
///
/// let kind = DecodeErrorKind::BlockTooShort { size: 23, least: 24 };
/// assert_eq!(kind.to_string(), "block size 23 is below the 24 bytes of its own marker");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// A four-byte tag of the header is another one.
    Tag {
        /// The tag that belongs here.
        expected: [u8; 4],
        /// The bytes that are here.
        found: [u8; 4],
    },
    /// The bytes ended within the first tag, and are not its start. Given by
    /// [`finish`](super::Decoder::finish) only: from the fourth byte on, it is a [`Tag`](Self::Tag).
    Beginning {
        /// The bytes that are there, with zeros behind them.
        found: [u8; 3],
        /// How many they are: 1 to 3.
        len: usize,
    },
    /// The header declares something that no log can hold.
    Header(HeaderError),
    /// An event's id is not in the header, so that its size is unknown.
    UndeclaredEvent {
        /// The undeclared id.
        id: u16,
    },
    /// An event is longer than what is left of its block.
    CrossesBlock {
        /// The event's id.
        id: u16,
        /// Offset just after the event (at least).
        event_end: u64,
        /// Offset just after the block.
        block_end: u64,
    },
    /// A block marker lies inside another block.
    MarkerInsideBlock {
        /// Offset just after the outer block.
        block_end: u64,
    },
    /// A block marker's size field is smaller than the marker itself.
    BlockTooShort {
        /// The size field, in bytes.
        size: u32,
        /// The size of the marker, in bytes.
        least: u32,
    },
    /// The end marker lies inside a block, and is not its last two bytes.
    EndInsideBlock {
        /// Offset just after the block.
        block_end: u64,
    },
    /// There are bytes after the end marker.
    AfterEnd,
    /// The bytes ended before the end marker.
    Truncated {
        /// Bytes after the last whole record, which are part of an unfinished one. 0 if the log
        /// was cut between two records.
        partial: u64,
    },
}

fn other_tag(f: &mut fmt::Formatter<'_>, expected: [u8; 4], found: &[u8]) -> fmt::Result {
    let (expected, found) = (expected.escape_ascii(), found.escape_ascii());
    write!(f, "expected the tag \"{expected}\", found \"{found}\"")
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Tag { expected, found } => other_tag(f, expected, &found),
            Self::Beginning { found, len } => {
                other_tag(f, HEADER_BEGIN, &found[..len.min(found.len())])
            }
            Self::Header(error) => error.fmt(f),
            Self::UndeclaredEvent { id } => {
                write!(f, "event type {id} is not declared in the header")
            }
            Self::CrossesBlock {
                id,
                event_end,
                block_end,
            } => write!(
                f,
                "event of type {id} reaches byte {event_end}, its block ends at byte {block_end}"
            ),
            Self::MarkerInsideBlock { block_end } => {
                write!(
                    f,
                    "block marker inside the block that ends at byte {block_end}"
                )
            }
            Self::BlockTooShort { size, least } => {
                write!(
                    f,
                    "block size {size} is below the {least} bytes of its own marker"
                )
            }
            Self::EndInsideBlock { block_end } => {
                write!(
                    f,
                    "end marker inside the block that ends at byte {block_end}"
                )
            }
            Self::AfterEnd => f.write_str("bytes after the end marker"),
            Self::Truncated { partial: 0 } => f.write_str("the log ends without an end marker"),
            Self::Truncated { partial } => {
                write!(f, "the log ends {partial} bytes into an unfinished record")
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.kind {
            DecodeErrorKind::Header(error) => Some(error),
            _ => None,
        }
    }
}

/// Why no log can have such a header.
///
/// ```
/// use ghc_eventlog::format::HeaderError;
///
/// let error = HeaderError::TooLong { bytes: 2_000_000, limit: 1_048_576 };
/// assert_eq!(error.to_string(), "header of 2000000 bytes or more, the limit is 1048576");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HeaderError {
    /// Id 0xffff is the end marker.
    EndMarkerId,
    /// Block markers hold less than their fields.
    BlockMarkerSize {
        /// Their declared size.
        size: EventSize,
        /// Bytes of their fields.
        least: u16,
    },
    /// Two event types have one id.
    DeclaredTwice {
        /// The id.
        id: u16,
    },
    /// Two headers declare a type with different sizes or extra information.
    Disagree {
        /// The id of the type.
        id: u16,
    },
    /// Of two headers, one is of an early release of GHC, in whose logs threads or stop statuses have
    /// other numbers.
    OtherRelease,
    /// The header is longer than [`MAX_HEADER_LEN`](super::MAX_HEADER_LEN).
    TooLong {
        /// What it takes at least.
        bytes: u64,
        /// The most that it may take.
        limit: u64,
    },
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndMarkerId => f.write_str("event type 65535 is the end marker"),
            Self::BlockMarkerSize { size, least } => {
                write!(
                    f,
                    "block markers are declared as {size}, the least is {least} bytes"
                )
            }
            Self::DeclaredTwice { id } => {
                write!(f, "event type {id} is declared already, as another one")
            }
            Self::Disagree { id } => {
                write!(f, "event type {id} is declared in two ways")
            }
            Self::OtherRelease => f.write_str(
                "one header is of an early release of ghc, whose events mean something else",
            ),
            Self::TooLong { bytes, limit } => {
                write!(f, "header of {bytes} bytes or more, the limit is {limit}")
            }
        }
    }
}

impl core::error::Error for HeaderError {}

impl From<HeaderError> for DecodeErrorKind {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}

/// One event's payload does not fit its type. The framing is sound: the events after it can be
/// read.
///
/// ```
/// use ghc_eventlog::format::{EventError, EventErrorKind};
///
/// let error = EventError {
///     offset: 4000,
///     id: 2,
///     kind: EventErrorKind::Value { field: "stop status", value: 17 },
/// };
/// assert_eq!(error.to_string(), "byte 4000: event of type 2: 17 is not a known stop status");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventError {
    /// Where the event starts, counted from the start of the log.
    pub offset: u64,
    /// The event's type.
    pub id: u16,
    /// What is wrong with it.
    pub kind: EventErrorKind,
}

/// The ways in which a payload can be unfit for its event type.
///
/// ```
/// use ghc_eventlog::format::EventErrorKind;
///
/// let kind = EventErrorKind::TooShort { size: 3, least: 4 };
/// assert_eq!(kind.to_string(), "payload of 3 bytes is shorter than the least, 4");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventErrorKind {
    /// The payload ends before the last field of the smallest layout known.
    TooShort {
        /// Bytes in the payload.
        size: usize,
        /// Bytes that are needed.
        least: usize,
    },
    /// Text is not UTF-8.
    Utf8 {
        /// Offset in the payload of the first byte that is not.
        at: usize,
    },
    /// Text that must end with a NUL does not.
    Unterminated {
        /// Offset in the payload where the text starts.
        at: usize,
    },
    /// A field holds a number that has no meaning.
    Value {
        /// The field.
        field: &'static str,
        /// The number.
        value: u64,
    },
}

impl fmt::Display for EventErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { size, least } => {
                write!(
                    f,
                    "payload of {size} bytes is shorter than the least, {least}"
                )
            }
            Self::Utf8 { at } => write!(f, "text is not utf-8 at byte {at} of the payload"),
            Self::Unterminated { at } => {
                write!(f, "text at byte {at} of the payload has no terminating nul")
            }
            Self::Value { field, value } => write!(f, "{value} is not a known {field}"),
        }
    }
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "byte {}: event of type {}: {}",
            self.offset, self.id, self.kind
        )
    }
}

impl core::error::Error for EventError {}
