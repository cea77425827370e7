//! One framed event, whose payload is not looked at before it is asked for.

use super::error::{EventError, EventErrorKind};
use super::event::Event;
use super::layout::{self, Dialect, Special};
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    pub(super) dialect: Dialect,
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
        if self.dialect != Dialect::Current {
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
            || Ok(self.other()),
        )
    }

    #[cold]
    fn decode_older(&self, kind: EventErrorKind) -> Result<Decoded<'a>, EventError> {
        self.result(layout::older(self.id, self.payload, kind))
    }

    #[cold]
    fn decode_special(&self) -> Result<Decoded<'a>, EventError> {
        match self.dialect.special(self.id, self.payload) {
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
            Err(kind) => Err(EventError {
                offset: self.offset,
                id: self.id,
                kind,
            }),
        }
    }

    fn other(&self) -> Decoded<'a> {
        Decoded::Other {
            id: self.id,
            payload: self.payload,
        }
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
    /// An event of another type: one that GHC writes no more, one that is reserved, or a new one.
    /// Also a thread's stop in a log of GHC before 7.2 that does not tell what the thread waits for.
    Other {
        /// The number of its type.
        id: u16,
        /// Its payload.
        payload: &'a [u8],
    },
}
