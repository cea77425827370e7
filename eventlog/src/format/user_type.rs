//! Event types that a program declares in the header of its log.

use core::fmt;
use core::ops::RangeInclusive;
use std::borrow::Cow;
use std::sync::Arc;

use super::error::EventErrorKind;
use super::event_type::{EventSize, EventType};
use super::schema::{self, Field, FieldType, MAX_FIELD_NAME, MAX_FIELDS};
use super::user_event::{UserEvent, UserEventError, Value};

/// The ids that no system but this library gives to event types: 1,024 to 2,047.
///
/// GHC's own are below 256 (of which 60 to 80 are Eden's, 100 to 139 Mercury's, 140 to 159 those of
/// perf, and 160 to 180 the profilers'). The first 64 are the library's, the others are a program's:
/// [`USER_EVENT_IDS`].
///
/// ```
/// use ghc_eventlog::format::{LIBRARY_IDS, USER_EVENT_IDS};
/// assert!(LIBRARY_IDS.contains(USER_EVENT_IDS.start()));
/// assert!(LIBRARY_IDS.contains(USER_EVENT_IDS.end()));
/// ```
pub const LIBRARY_IDS: RangeInclusive<u16> = 1024..=2047;

/// The ids of the event types that programs declare: 1,088 for number 0, to 2,047 for 959.
///
/// ```
/// assert_eq!(ghc_eventlog::format::USER_EVENT_IDS.count(), 960);
/// ```
pub const USER_EVENT_IDS: RangeInclusive<u16> = 1088..=2047;

/// The most bytes of a type's name.
const MAX_NAME: usize = 255;

/// An event type of a program's own: a number, a name, and named fields.
///
/// It is a value: make it once, declare it in the header of the log
/// ([`Header::declaring`](super::Header::declaring)), and make events with it. Its fields travel in
/// the header, so that [`Decoded::User`](super::Decoded::User) has them by name in a reader that
/// knows nothing of the program. Readers of GHC's logs skip such events by their size.
///
/// Where all fields are numbers, the events have a fixed size; else their size varies, and text and
/// bytes are cut so that the payload is at most [`MAX_PAYLOAD`](super::MAX_PAYLOAD) bytes: the first
/// ones keep the most, and text is cut between characters.
///
/// ```
/// use ghc_eventlog::format::{Decoded, FieldType, Header, UserEventType, Value, events};
///
/// let request = UserEventType::builder(0, "request")
///     .field("bytes", FieldType::U64)
///     .field("path", FieldType::Str)
///     .build()?;
/// let header = Header::standard().declaring([&request])?;
///
/// let mut body = Vec::new();
/// request.event(&[Value::U64(512), Value::Str("/index")])?.encode_to_vec(7, &mut body);
///
/// let raw = events(&body, &header).next().unwrap()?;
/// let Decoded::User(event) = raw.decode()? else { unreachable!() };
/// assert_eq!(event.name(), "request");
/// assert_eq!(event.get("bytes"), Some(Value::U64(512)));
/// assert_eq!(event.get("path"), Some(Value::Str("/index")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct UserEventType {
    id: u16,
    name: Cow<'static, str>,
    /// The same ones in every clone.
    fields: Arc<[Field]>,
    size: EventSize,
    /// Bytes of a payload, those of text and bytes left out.
    least: usize,
}

impl UserEventType {
    /// Describes an event type of that number, from 0 to 959, and name. The number must be another
    /// one for each type of a log; the name is for people.
    ///
    /// ```
    /// use ghc_eventlog::format::UserEventType;
    ///
    /// let tick = UserEventType::builder(7, "tick").build()?;
    /// assert_eq!((tick.id(), tick.fields().len()), (1095, 0));
    /// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
    /// ```
    pub fn builder(number: u16, name: impl Into<Cow<'static, str>>) -> UserTypeBuilder {
        UserTypeBuilder {
            number,
            name: name.into(),
            fields: Vec::new(),
        }
    }

    fn new(id: u16, name: Cow<'static, str>, fields: Vec<Field>) -> Self {
        let least = fields.iter().map(|field| field.ty.least()).sum();
        let size = if fields.iter().any(|field| field.ty.is_variable()) {
            EventSize::Variable
        } else {
            // At most 255 fields of 8 bytes.
            EventSize::Fixed(least as u16)
        };
        Self {
            id,
            name,
            fields: fields.into(),
            size,
            least,
        }
    }

    /// The type that a header declares; `None` if its fields are not told, or do not make the size
    /// that is declared.
    pub(super) fn declared(declared: &EventType) -> Option<Self> {
        if !LIBRARY_IDS.contains(&declared.id) {
            return None;
        }
        let fields = schema::from_text(&declared.extra)?;
        let ty = Self::new(declared.id, declared.description.clone(), fields);
        (ty.size == declared.size).then_some(ty)
    }

    /// The id of its events in a log.
    #[must_use]
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields, in the order in which they lie in a payload.
    #[must_use]
    #[inline]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many bytes of payload its events have.
    ///
    /// ```
    /// use ghc_eventlog::format::{EventSize, FieldType, UserEventType};
    ///
    /// let request = UserEventType::builder(0, "request").field("bytes", FieldType::U64).build()?;
    /// assert_eq!(request.size(), EventSize::Fixed(8));
    /// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
    /// ```
    #[must_use]
    pub const fn size(&self) -> EventSize {
        self.size
    }

    pub(super) const fn least(&self) -> usize {
        self.least
    }

    /// What a header says of the type: its name as description, its fields as extra information.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType};
    ///
    /// let request = UserEventType::builder(0, "request").field("bytes", FieldType::U64).build()?;
    /// assert_eq!(&request.event_type().extra[..], b"evl:1 bytes:u64");
    /// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
    /// ```
    #[must_use]
    pub fn event_type(&self) -> EventType {
        EventType {
            id: self.id,
            size: self.size,
            description: self.name.clone(),
            extra: schema::to_text(&self.fields).into_bytes().into(),
        }
    }

    /// An event with these values, one for each field, in order. Allocates nothing but an error's texts.
    ///
    /// # Errors
    /// If there are more or fewer values than fields, or one is not of its field's type.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType, Value};
    ///
    /// let request = UserEventType::builder(0, "request").field("bytes", FieldType::U64).build()?;
    /// assert_eq!(request.event(&[Value::U64(5)])?.encoded_len(), 18);
    /// let error = request.event(&[Value::U8(5)]).unwrap_err();
    /// assert_eq!(error.to_string(), "field bytes of request takes u64, not u8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn event<'a>(&'a self, values: &'a [Value<'a>]) -> Result<UserEvent<'a>, UserEventError> {
        UserEvent::new(self, values)
    }

    pub(super) fn read<'a>(&'a self, payload: &'a [u8]) -> Result<UserEvent<'a>, EventErrorKind> {
        UserEvent::read(self, payload)
    }
}

impl PartialEq for UserEventType {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Clones, which are what is compared most of all, are told by where their fields lie.
        self.id == other.id
            && (Arc::ptr_eq(&self.fields, &other.fields)
                || (&self.name, &self.fields) == (&other.name, &other.fields))
    }
}

impl Eq for UserEventType {}

/// Describes an event type, see [`UserEventType::builder`].
///
/// ```
/// use ghc_eventlog::format::{FieldType, UserEventType};
///
/// let load = UserEventType::builder(3, "load").field("average", FieldType::F64).build()?;
/// assert_eq!(load.name(), "load");
/// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is declared before it is built"]
pub struct UserTypeBuilder {
    number: u16,
    name: Cow<'static, str>,
    fields: Vec<Field>,
}

impl UserTypeBuilder {
    /// Adds a field after those that are there. Its name is made of letters, digits, `_`, `-` and
    /// `.`.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType};
    ///
    /// let builder = UserEventType::builder(0, "request").field("path", FieldType::Str);
    /// assert_eq!(builder.build()?.fields().len(), 1);
    /// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
    /// ```
    pub fn field(mut self, name: impl Into<Cow<'static, str>>, ty: FieldType) -> Self {
        let name = name.into();
        self.fields.push(Field { name, ty });
        self
    }

    /// The type.
    ///
    /// # Errors
    /// [`UserTypeError`], if no log can declare such a type.
    ///
    /// ```
    /// use ghc_eventlog::format::{UserEventType, UserTypeError};
    ///
    /// let error = UserEventType::builder(960, "one too many").build().unwrap_err();
    /// assert_eq!(error.to_string(), "event type number 960, the greatest is 959");
    /// ```
    pub fn build(self) -> Result<UserEventType, UserTypeError> {
        let Self {
            number,
            name,
            fields,
        } = self;
        let first = *USER_EVENT_IDS.start();
        let greatest = *USER_EVENT_IDS.end() - first;
        if number > greatest {
            return Err(UserTypeError::Number { number, greatest });
        }
        if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
            return Err(UserTypeError::Name { name });
        }
        if fields.len() > MAX_FIELDS {
            return Err(UserTypeError::TooManyFields {
                fields: fields.len(),
                most: MAX_FIELDS,
            });
        }
        if let Some(field) = fields.iter().find(|one| !schema::is_field_name(&one.name)) {
            let name = field.name.clone();
            return Err(UserTypeError::FieldName { name });
        }
        if let Some(field) = schema::repeated(&fields) {
            let name = field.name.clone();
            return Err(UserTypeError::FieldTwice { name });
        }
        Ok(UserEventType::new(first + number, name, fields))
    }
}

/// Why no log can declare such an event type.
///
/// ```
/// use ghc_eventlog::format::{FieldType, UserEventType};
///
/// let builder = UserEventType::builder(0, "request").field("the path", FieldType::Str);
/// let error = builder.build().unwrap_err();
/// let text = "\"the path\" is no name of a field: 1 to 255 bytes of letters, digits, _, - and .";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UserTypeError {
    /// The number is too great.
    Number {
        /// The number.
        number: u16,
        /// The greatest number.
        greatest: u16,
    },
    /// The name is empty, longer than 255 bytes, or has control characters in it.
    Name {
        /// The name.
        name: Cow<'static, str>,
    },
    /// There are too many fields.
    TooManyFields {
        /// How many there are.
        fields: usize,
        /// The most.
        most: usize,
    },
    /// A field's name is empty, longer than 255 bytes, or has other characters in it than letters,
    /// digits, `_`, `-` and `.`.
    FieldName {
        /// The name.
        name: Cow<'static, str>,
    },
    /// Two fields have the same name.
    FieldTwice {
        /// The name.
        name: Cow<'static, str>,
    },
}

impl fmt::Display for UserTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { number, greatest } => {
                write!(f, "event type number {number}, the greatest is {greatest}")
            }
            Self::Name { name } => write!(
                f,
                "{name:?} is no name of an event type: 1 to {MAX_NAME} bytes without control \
                 characters"
            ),
            Self::TooManyFields { fields, most } => {
                write!(f, "event type of {fields} fields, the most are {most}")
            }
            Self::FieldName { name } => write!(
                f,
                "{name:?} is no name of a field: 1 to {MAX_FIELD_NAME} bytes of letters, digits, \
                 _, - and ."
            ),
            Self::FieldTwice { name } => write!(f, "two fields are named {name:?}"),
        }
    }
}

impl core::error::Error for UserTypeError {}
