//! One framed event, whose payload is not looked at before it is asked for.

use core::fmt;

use super::error::{EventError, EventErrorKind};
use super::event::Event;
use super::header::Header;
use super::layout::{self, Dialect, Special};
use super::user_event::UserEvent;
use super::value::CapNo;

/// An event of a log: where it is, what type it has, and its bytes.
///
/// ```
/// use ghc_eventlog::format::{Decoded, Event, Header, events};
///
/// let mut body = Vec::new();
/// Event::UserMarker { name: "here" }.encode_to_vec(7, &mut body);
/// let raw = events(&body, Header::standard()).next().unwrap()?;
/// assert_eq!((raw.id, raw.time, raw.payload), (58, 7, &b"here"[..]));
/// assert_eq!(raw.bytes(), body);
/// assert_eq!(raw.decode()?, Decoded::Known(Event::UserMarker { name: "here" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct RawEvent<'a> {
    /// Where the event starts, in bytes from the start of the log (or of what was walked over).
    pub offset: u64,
    /// The capability of its block; `None` if that belongs to none, or outside blocks.
    pub cap: Option<CapNo>,
    /// The number of its type.
    pub id: u16,
    /// Its time, in nanoseconds since the program's start.
    pub time: u64,
    /// Its payload.
    pub payload: &'a [u8],
    pub(super) bytes: &'a [u8],
    /// What the log declares, so that payloads can be read by it.
    pub(super) header: &'a Header,
}

impl<'a> RawEvent<'a> {
    /// The whole event as it lies in the log.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The event with its fields.
    ///
    /// The size of the payload tells which layout of the type it is. Where a log of an older GHC
    /// lacks a field, that is 0; where one of a newer GHC has more, the rest is left out.
    ///
    /// # Errors
    /// If the payload does not fit the type. The events after this one can be read all the same.
    #[inline]
    pub fn decode(&self) -> Result<Decoded<'a>, EventError> {
        if self.header.dialect() != Dialect::Current {
            return self.decode_special();
        }
        self.decode_current()
    }

    #[inline(always)]
    fn decode_current(&self) -> Result<Decoded<'a>, EventError> {
        Event::from_payload(
            self.id,
            self.payload,
            |event| Ok(Decoded::Known(event)),
            |kind| self.decode_older(kind),
            || self.decode_user(),
        )
    }

    /// An event that has no [`Event`].
    #[inline(never)]
    fn decode_user(&self) -> Result<Decoded<'a>, EventError> {
        let Some(ty) = self.header.user_type(self.id) else {
            return Ok(self.other());
        };
        ty.read(self.payload)
            .map(Decoded::User)
            .map_err(|kind| self.error(kind))
    }

    #[cold]
    fn decode_older(&self, kind: EventErrorKind) -> Result<Decoded<'a>, EventError> {
        self.result(layout::older(self.id, self.payload, kind))
    }

    #[cold]
    fn decode_special(&self) -> Result<Decoded<'a>, EventError> {
        match self.header.dialect().special(self.id, self.payload) {
            Ok(Special::AsToday) => self.decode_current(),
            Ok(Special::Event(event)) => self.result(Ok(event)),
            Err(kind) => self.result(Err(kind)),
        }
    }

    fn result(
        &self,
        event: Result<Option<Event<'a>>, EventErrorKind>,
    ) -> Result<Decoded<'a>, EventError> {
        match event {
            Ok(Some(event)) => Ok(Decoded::Known(event)),
            Ok(None) => Ok(self.other()),
            Err(kind) => Err(self.error(kind)),
        }
    }

    fn error(&self, kind: EventErrorKind) -> EventError {
        EventError {
            offset: self.offset,
            id: self.id,
            kind,
        }
    }

    fn other(&self) -> Decoded<'a> {
        Decoded::Other {
            id: self.id,
            payload: self.payload,
        }
    }
}

impl Header {
    /// The event of that type with that payload, as it would be read in a log that has this header: what
    /// [`RawEvent::decode`] does, for a payload that lies in no log.
    ///
    /// ```
    /// use ghc_eventlog::format::{Decoded, Event, Header};
    ///
    /// let marker = Header::standard().decode(58, b"here")?;
    /// assert_eq!(marker, Decoded::Known(Event::UserMarker { name: "here" }));
    /// assert!(Header::standard().decode(58, b"\xff").is_err(), "no text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the payload does not fit the type.
    #[inline]
    pub fn decode<'a>(&'a self, id: u16, payload: &'a [u8]) -> Result<Decoded<'a>, EventError> {
        let raw = RawEvent {
            offset: 0,
            cap: None,
            id,
            time: 0,
            payload,
            bytes: payload,
            header: self,
        };
        raw.decode()
    }
}

/// Events are equal if they lie at the same place and are the same bytes there.
impl PartialEq for RawEvent<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.cap, self.bytes) == (other.offset, other.cap, other.bytes)
    }
}

impl Eq for RawEvent<'_> {}

impl fmt::Debug for RawEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawEvent")
            .field("offset", &self.offset)
            .field("cap", &self.cap)
            .field("id", &self.id)
            .field("time", &self.time)
            .field("payload", &self.payload)
            .finish_non_exhaustive()
    }
}

/// What an event's payload means.
///
/// ```
/// use ghc_eventlog::format::{Decoded, Event};
///
/// let decoded = Decoded::Known(Event::GcStart);
/// assert_ne!(decoded, Decoded::Other { id: 9, payload: &[] });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoded<'a> {
    /// An event of a type that has an [`Event`].
    Known(Event<'a>),
    /// An event of a type that the program has declared, whose fields the header tells.
    User(UserEvent<'a>),
    /// An event of another type: one that GHC writes no more, one that is reserved, or a new one.
    /// Also a thread's stop in a log of GHC before 7.2 that does not tell what the thread waits for.
    Other {
        /// The number of its type.
        id: u16,
        /// Its payload.
        payload: &'a [u8],
    },
}
