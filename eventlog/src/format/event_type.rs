//! What a header says of one event type.

use std::borrow::Cow;

use core::fmt;

/// How many bytes of payload an event type has.
///
/// ```
/// use ghc_eventlog::format::EventSize;
/// assert_eq!(EventSize::Fixed(4).to_string(), "4 bytes");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventSize {
    /// Always so many, below 65,535.
    Fixed(u16),
    /// Each event tells.
    Variable,
}

impl EventSize {
    /// The size that a header's size field means.
    ///
    /// ```
    /// use ghc_eventlog::format::EventSize;
    /// assert_eq!(EventSize::from_field(0xffff), EventSize::Variable);
    /// ```
    #[must_use]
    pub const fn from_field(field: u16) -> Self {
        if field == u16::MAX {
            Self::Variable
        } else {
            Self::Fixed(field)
        }
    }

    /// The size field of a header for this size.
    ///
    /// ```
    /// use ghc_eventlog::format::EventSize;
    /// assert_eq!(EventSize::Fixed(14).field(), 14);
    /// ```
    #[must_use]
    pub const fn field(self) -> u16 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Variable => u16::MAX,
        }
    }
}

/// What a header says of one event type.
///
/// ```
/// use ghc_eventlog::format::{EventSize, EventType};
///
/// let mine = EventType::new(1000, EventSize::Fixed(8), "Mine");
/// assert_eq!(mine.description, "Mine");
/// assert!(mine.extra.is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventType {
    /// Its number.
    pub id: u16,
    /// Its payload.
    pub size: EventSize,
    /// What it is, for people.
    pub description: Cow<'static, str>,
    /// Extra information, for programs. GHC gives none and its readers skip it; here it tells the
    /// fields of a program's own events, see [`UserEventType`](super::UserEventType).
    pub extra: Cow<'static, [u8]>,
}

impl EventType {
    /// A type without extra information.
    ///
    /// ```
    /// use ghc_eventlog::format::{EventSize, EventType};
    /// assert_eq!(EventType::new(1000, EventSize::Variable, "Mine").id, 1000);
    /// ```
    pub fn new(id: u16, size: EventSize, description: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id,
            size,
            description: description.into(),
            extra: Cow::Borrowed(&[]),
        }
    }
}

impl fmt::Display for EventSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes} bytes"),
            Self::Variable => f.write_str("variable"),
        }
    }
}
