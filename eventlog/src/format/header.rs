//! The header: which event types a log may hold, and their sizes.

use std::sync::LazyLock;

use super::block::{BLOCK_MARKER, BlockMarker};
use super::error::HeaderError;
use super::event::{self, FIXED_HEAD};
use super::event_type::{EventSize, EventType};
use super::layout::Dialect;
use super::user_type::UserEventType;

pub(super) const HEADER_BEGIN: [u8; 4] = *b"hdrb";
pub(super) const TYPES_BEGIN: [u8; 4] = *b"hetb";
pub(super) const TYPE_BEGIN: [u8; 4] = *b"etb\0";
pub(super) const TYPE_END: [u8; 4] = *b"ete\0";
pub(super) const TYPES_END: [u8; 4] = *b"hete";
pub(super) const HEADER_END: [u8; 4] = *b"hdre";
pub(super) const DATA_BEGIN: [u8; 4] = *b"datb";

/// The most bytes that a header may take, 1 MiB. GHC's take about 3 KiB.
pub const MAX_HEADER_LEN: usize = 1 << 20;

/// Bytes of an event type in a header besides its texts.
const TYPE_FRAME: usize = 20;
/// Bytes of a header besides its event types.
const HEADER_FRAME: usize = 20;

/// The event types that a log declares.
///
/// ```
/// use ghc_eventlog::format::{EventSize, Header};
///
/// let header = Header::standard();
/// assert_eq!(header.size(19), Some(EventSize::Variable));
/// assert_eq!(header.size(5), None);
/// assert_eq!(header.encode().len(), header.encoded_len());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    types: Vec<EventType>,
    encoded_len: usize,
    /// Indexed by id, so that a walk over events finds the size by one load.
    lengths: Vec<EventLength>,
    /// The types that programs have declared, by id.
    user_types: Vec<UserEventType>,
    dialect: Dialect,
}

/// Bytes of a whole event of some type: its head and payload if that is fixed, or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EventLength(pub(super) u32);

impl EventLength {
    pub(super) const UNDECLARED: Self = Self(0);
    pub(super) const VARIABLE: Self = Self(u32::MAX);
}

impl Header {
    /// The header of the logs that this library writes: every type of [`Event`](super::Event), by
    /// id. GHC's are in the layout of its current development version, with its descriptions; the
    /// library's own have ids from 1024 on, which readers of GHC's logs skip by the declared size.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Header> = LazyLock::new(|| {
            let mut types = event::types();
            types.extend([
                EventType::new(BLOCK_MARKER, EventSize::Fixed(14), "Block marker"),
                EventType::new(42, EventSize::Variable, "Intern string"),
                // Old readers take its presence for the present meaning of stop statuses.
                EventType::new(59, EventSize::Fixed(0), "Empty event for bug #9003"),
            ]);
            types.sort_by_key(|declared| declared.id);
            Header::new(types).expect("the standard header is a legal one")
        });
        &STANDARD
    }

    /// A header that declares these types. Where an id comes twice the last one counts.
    ///
    /// # Errors
    /// If no log can have such a header, see [`HeaderError`].
    ///
    /// ```
    /// use ghc_eventlog::format::{EventSize, EventType, Header, HeaderError};
    ///
    /// let mine = EventType::new(0xffff, EventSize::Fixed(8), "Mine");
    /// assert_eq!(Header::new([mine]), Err(HeaderError::EndMarkerId));
    /// ```
    pub fn new(types: impl IntoIterator<Item = EventType>) -> Result<Self, HeaderError> {
        let mut header = Self::empty();
        types
            .into_iter()
            .try_for_each(|declared| header.declare(declared))?;
        Ok(header)
    }

    pub(super) const fn empty() -> Self {
        Self {
            types: Vec::new(),
            encoded_len: HEADER_FRAME,
            lengths: Vec::new(),
            user_types: Vec::new(),
            dialect: Dialect::Current,
        }
    }

    /// This header, and these event types of a program's own after what it declares. Declaring the
    /// same type twice is declaring it once.
    ///
    /// # Errors
    /// [`HeaderError::DeclaredTwice`] if another type has the id of one of them,
    /// [`HeaderError::TooLong`] if there are too many.
    ///
    /// ```
    /// use ghc_eventlog::format::{Header, HeaderError, UserEventType};
    ///
    /// let tick = UserEventType::builder(0, "tick").build()?;
    /// let header = Header::standard().declaring([&tick])?;
    /// assert_eq!(header.user_type(1088), Some(&tick));
    ///
    /// let tock = UserEventType::builder(0, "tock").build()?;
    /// let error = header.declaring([&tock]).unwrap_err();
    /// assert_eq!(error, HeaderError::DeclaredTwice { id: 1088 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn declaring<'t>(
        &self,
        types: impl IntoIterator<Item = &'t UserEventType>,
    ) -> Result<Self, HeaderError> {
        let mut header = self.clone();
        for ty in types {
            let id = ty.id();
            if header.size(id).is_none() {
                header.declare(ty.event_type())?;
                let declared = header.user_types.iter_mut().find(|known| *known == ty);
                // Not what was read from the text: the program's clones are soon known to be the same.
                declared.into_iter().for_each(|known| *known = ty.clone());
            } else if header.user_type(id) != Some(ty) {
                return Err(HeaderError::DeclaredTwice { id });
            }
        }
        Ok(header)
    }

    /// This header, and the event that tells of losses after what it declares.
    ///
    /// # Errors
    /// [`HeaderError::DeclaredTwice`] if its id is another event's, [`HeaderError::TooLong`] if there is no room.
    pub(crate) fn telling_losses(&self) -> Result<Self, HeaderError> {
        let own = Self::standard()
            .types
            .iter()
            .find(|own| own.id == event::EVENTS_LOST);
        let own = own.expect("the standard header has every event of the library's");
        let mut header = self.clone();
        match self.size(own.id) {
            None => header.declare(own.clone())?,
            Some(size) if size == own.size => {}
            Some(_) => return Err(HeaderError::DeclaredTwice { id: own.id }),
        }
        Ok(header)
    }

    /// What both headers declare: the types of this one, then those that only `other` has. A log that
    /// has it may hold the events of logs with either.
    ///
    /// # Errors
    /// If events of one type are not the same in both: [`HeaderError::Disagree`] if their sizes or
    /// extra information differ, [`HeaderError::OtherRelease`] if the same bytes mean something else
    /// since the logs are of early releases of GHC. [`HeaderError::TooLong`] if it is too much.
    ///
    /// ```
    /// use ghc_eventlog::format::{EventSize, EventType, Header, HeaderError};
    ///
    /// let declaring = |id, bytes| {
    ///     Header::new([EventType::new(id, EventSize::Fixed(bytes), "Mine")]).unwrap()
    /// };
    /// let both = declaring(1000, 8).union(&declaring(1001, 8))?;
    /// assert_eq!(both.event_types().len(), 2);
    /// let error = both.union(&declaring(1000, 4)).unwrap_err();
    /// assert_eq!(error, HeaderError::Disagree { id: 1000 });
    /// # Ok::<(), HeaderError>(())
    /// ```
    pub fn union(&self, other: &Self) -> Result<Self, HeaderError> {
        if self.dialect != other.dialect {
            return Err(HeaderError::OtherRelease);
        }
        let mut union = self.clone();
        for declared in &other.types {
            let id = declared.id;
            let known = union.types.iter().rfind(|known| known.id == id);
            match known {
                None => union.declare(declared.clone())?,
                Some(known) if (known.size, &known.extra) == (declared.size, &declared.extra) => {}
                Some(_) => return Err(HeaderError::Disagree { id }),
            }
        }
        if union.dialect != self.dialect {
            return Err(HeaderError::OtherRelease);
        }
        Ok(union)
    }

    pub(super) fn declare(&mut self, declared: EventType) -> Result<(), HeaderError> {
        check_type(declared.id, declared.size)?;
        let texts = declared.description.len() + declared.extra.len();
        let encoded_len = self.encoded_len + TYPE_FRAME + texts;
        check_len(encoded_len as u64)?;
        let index = usize::from(declared.id);
        if self.lengths.len() <= index {
            self.lengths.resize(index + 1, EventLength::UNDECLARED);
        }
        self.lengths[index] = match declared.size {
            EventSize::Fixed(payload) => EventLength(FIXED_HEAD as u32 + u32::from(payload)),
            EventSize::Variable => EventLength::VARIABLE,
        };
        self.encoded_len = encoded_len;
        let place = self
            .user_types
            .binary_search_by_key(&declared.id, UserEventType::id);
        match (UserEventType::declared(&declared), place) {
            (Some(ty), Ok(at)) => self.user_types[at] = ty,
            (Some(ty), Err(at)) => self.user_types.insert(at, ty),
            (None, Ok(at)) => drop(self.user_types.remove(at)),
            (None, Err(_)) => {}
        }
        self.types.push(declared);
        self.dialect = Dialect::of(self);
        Ok(())
    }

    /// The declared types, in the order of the header.
    #[must_use]
    pub fn event_types(&self) -> &[EventType] {
        &self.types
    }

    /// The size declared for events of that id; `None` if the id is not declared.
    #[must_use]
    pub fn size(&self, id: u16) -> Option<EventSize> {
        match self.event_length(id) {
            EventLength::UNDECLARED => None,
            EventLength::VARIABLE => Some(EventSize::Variable),
            EventLength(len) => Some(EventSize::Fixed((len - FIXED_HEAD as u32) as u16)),
        }
    }

    /// The type of a program's own that is declared with that id, and whose fields the header tells.
    ///
    /// ```
    /// assert!(ghc_eventlog::format::Header::standard().user_type(19).is_none());
    /// ```
    #[must_use]
    pub fn user_type(&self, id: u16) -> Option<&UserEventType> {
        let found = self.user_types.binary_search_by_key(&id, UserEventType::id);
        found.ok().map(|at| &self.user_types[at])
    }

    #[inline(always)]
    pub(super) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    #[inline(always)]
    pub(super) fn event_length(&self, id: u16) -> EventLength {
        self.lengths
            .get(usize::from(id))
            .copied()
            .unwrap_or(EventLength::UNDECLARED)
    }

    /// Bytes from the start of the log to its first event.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.encoded_len
    }

    /// Everything from the start of the log to its first event.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len);
        out.extend(HEADER_BEGIN);
        out.extend(TYPES_BEGIN);
        for declared in &self.types {
            out.extend(TYPE_BEGIN);
            out.extend(declared.id.to_be_bytes());
            out.extend(declared.size.field().to_be_bytes());
            out.extend((declared.description.len() as u32).to_be_bytes());
            out.extend(declared.description.as_bytes());
            out.extend((declared.extra.len() as u32).to_be_bytes());
            out.extend(declared.extra.as_ref());
            out.extend(TYPE_END);
        }
        out.extend(TYPES_END);
        out.extend(HEADER_END);
        out.extend(DATA_BEGIN);
        out
    }
}

/// Whether a header may declare that type.
pub(super) fn check_type(id: u16, size: EventSize) -> Result<(), HeaderError> {
    const LEAST: u16 = BlockMarker::PAYLOAD as u16;
    match (id, size) {
        (u16::MAX, _) => Err(HeaderError::EndMarkerId),
        (BLOCK_MARKER, EventSize::Fixed(LEAST..)) => Ok(()),
        (BLOCK_MARKER, _) => Err(HeaderError::BlockMarkerSize { size, least: LEAST }),
        _ => Ok(()),
    }
}

/// Whether a header may be that long.
pub(super) fn check_len(bytes: u64) -> Result<(), HeaderError> {
    const LIMIT: u64 = MAX_HEADER_LEN as u64;
    if bytes > LIMIT {
        return Err(HeaderError::TooLong {
            bytes,
            limit: LIMIT,
        });
    }
    Ok(())
}
