//! Events of the types that programs declare: made of values, or lying in a log. Neither way
//! allocates.

use core::fmt;
use core::iter::FusedIterator;
use core::mem::MaybeUninit;

use super::error::EventErrorKind;
use super::event::{FIXED_HEAD, MAX_PAYLOAD, VARIABLE_HEAD, no_room};
use super::event_type::EventSize;
use super::schema::{Field, FieldType};
use super::text::{cut, utf8};
use super::user_type::UserEventType;
use super::wire::{Cursor, Reader, Sink, Wire};

/// What a field of a program's own event holds.
///
/// Floating-point numbers are equal if their bits are.
///
/// ```
/// use ghc_eventlog::format::{FieldType, Value};
///
/// assert_eq!(Value::from("text"), Value::Str("text"));
/// assert_eq!(Value::from(-1i64).field_type(), FieldType::I64);
/// assert_eq!(Value::F64(f64::NAN), Value::F64(f64::NAN));
/// assert_ne!(Value::U8(1), Value::U16(1));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Of a [`FieldType::U8`].
    U8(u8),
    /// Of a [`FieldType::U16`].
    U16(u16),
    /// Of a [`FieldType::U32`].
    U32(u32),
    /// Of a [`FieldType::U64`].
    U64(u64),
    /// Of a [`FieldType::I64`].
    I64(i64),
    /// Of a [`FieldType::F64`].
    F64(f64),
    /// Of a [`FieldType::Str`].
    Str(&'a str),
    /// Of a [`FieldType::Bytes`].
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The type of the fields that hold it.
    #[must_use]
    #[inline]
    pub const fn field_type(&self) -> FieldType {
        match self {
            Self::U8(_) => FieldType::U8,
            Self::U16(_) => FieldType::U16,
            Self::U32(_) => FieldType::U32,
            Self::U64(_) => FieldType::U64,
            Self::I64(_) => FieldType::I64,
            Self::F64(_) => FieldType::F64,
            Self::Str(_) => FieldType::Str,
            Self::Bytes(_) => FieldType::Bytes,
        }
    }

    /// Bytes of text.
    #[inline]
    const fn variable_len(&self) -> usize {
        match self {
            Self::Str(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// The value with at most so many bytes of text.
    #[inline]
    fn cut(self, spare: usize) -> Self {
        match self {
            Self::Str(text) => Self::Str(cut(text, spare)),
            Self::Bytes(bytes) => Self::Bytes(&bytes[..bytes.len().min(spare)]),
            number => number,
        }
    }

    #[inline]
    fn put<S: Sink>(self, out: &mut S) {
        match self {
            Self::U8(number) => number.put(out),
            Self::U16(number) => number.put(out),
            Self::U32(number) => number.put(out),
            Self::U64(number) => number.put(out),
            Self::I64(number) => out.array(number.to_be_bytes()),
            Self::F64(number) => out.array(number.to_be_bytes()),
            Self::Str(text) => {
                (text.len() as u16).put(out);
                out.slice(text.as_bytes());
            }
            Self::Bytes(bytes) => {
                (bytes.len() as u16).put(out);
                out.slice(bytes);
            }
        }
    }

    fn get(ty: FieldType, input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        Ok(match ty {
            FieldType::U8 => Self::U8(Wire::get(input)?),
            FieldType::U16 => Self::U16(Wire::get(input)?),
            FieldType::U32 => Self::U32(Wire::get(input)?),
            FieldType::U64 => Self::U64(Wire::get(input)?),
            FieldType::I64 => Self::I64(i64::from_be_bytes(input.array()?)),
            FieldType::F64 => Self::F64(f64::from_be_bytes(input.array()?)),
            FieldType::Str => {
                let len = u16::get(input)?;
                let at = input.position();
                Self::Str(utf8(input.slice(usize::from(len))?, at)?)
            }
            FieldType::Bytes => {
                let len = u16::get(input)?;
                Self::Bytes(input.slice(usize::from(len))?)
            }
        })
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::U8(a), Self::U8(b)) => a == b,
            (Self::U16(a), Self::U16(b)) => a == b,
            (Self::U32(a), Self::U32(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value<'_> {}

macro_rules! values {
    ($($ty:ty => $variant:ident,)*) => { $(
        impl<'a> From<$ty> for Value<'a> {
            #[inline]
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        }
    )* };
}

values! {
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    i64 => I64,
    f64 => F64,
    &'a str => Str,
    &'a [u8] => Bytes,
}

/// An event of a type that a program has declared: of values that were given, or as it lies in a log.
///
/// Events are equal if their types and values are, wherever they lie.
///
/// ```
/// use ghc_eventlog::format::{FieldType, UserEventType, Value};
///
/// let load = UserEventType::builder(0, "load").field("average", FieldType::F64).build()?;
/// let values = [Value::F64(0.5)];
/// let event = load.event(&values)?;
/// assert_eq!((event.id(), event.name()), (1088, "load"));
/// for (field, value) in event.fields() {
///     assert_eq!((field.name(), value), ("average", Value::F64(0.5)));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct UserEvent<'a> {
    ty: &'a UserEventType,
    values: Values<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    /// As they were given, before any cut. There is one for each field, of its type.
    Native(&'a [Value<'a>]),
    /// As they lie in a payload, which has been read to its last field.
    Wire(&'a [u8]),
}

impl<'a> UserEvent<'a> {
    #[inline]
    pub(super) fn new(
        ty: &'a UserEventType,
        values: &'a [Value<'a>],
    ) -> Result<Self, UserEventError> {
        let fields = ty.fields();
        if values.len() != fields.len() {
            return Err(UserEventError::Count {
                event_type: ty.name().to_owned(),
                values: values.len(),
                fields: fields.len(),
            });
        }
        for (field, value) in fields.iter().zip(values) {
            if field.ty != value.field_type() {
                return Err(UserEventError::Type {
                    event_type: ty.name().to_owned(),
                    field: field.name().to_owned(),
                    expected: field.ty,
                    found: value.field_type(),
                });
            }
        }
        let values = Values::Native(values);
        Ok(Self { ty, values })
    }

    pub(super) fn read(ty: &'a UserEventType, payload: &'a [u8]) -> Result<Self, EventErrorKind> {
        let (size, least) = (payload.len(), ty.least());
        if size < least {
            return Err(EventErrorKind::TooShort { size, least });
        }
        let mut input = Reader::new(payload);
        for field in ty.fields() {
            Value::get(field.ty, &mut input)?;
        }
        let values = Values::Wire(payload);
        Ok(Self { ty, values })
    }

    /// The type that it is of.
    #[must_use]
    pub const fn event_type(&self) -> &'a UserEventType {
        self.ty
    }

    /// The number of its type in a log.
    #[must_use]
    pub const fn id(&self) -> u16 {
        self.ty.id()
    }

    /// The name of its type.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.ty.name()
    }

    /// Its fields with their values, in order. Text and bytes are as a reader will see them: cut
    /// where all of it does not fit, as [`UserEventType`] tells.
    #[must_use]
    #[inline]
    pub fn fields(&self) -> UserFields<'a> {
        UserFields {
            fields: self.ty.fields().iter(),
            values: self.values,
            spare: MAX_PAYLOAD - self.ty.least(),
        }
    }

    /// The value of the field of that name.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType, Value};
    ///
    /// let load = UserEventType::builder(0, "load").field("average", FieldType::F64).build()?;
    /// let values = [Value::F64(0.5)];
    /// assert_eq!(load.event(&values)?.get("average"), Some(Value::F64(0.5)));
    /// assert_eq!(load.event(&values)?.get("Average"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let mut fields = self.fields();
        fields
            .find(|(field, _)| field.name() == name)
            .map(|(_, value)| value)
    }

    #[inline]
    fn payload_len(&self) -> usize {
        let variable: usize = match self.ty.size() {
            EventSize::Fixed(_) => 0,
            EventSize::Variable => self.fields().map(|(_, value)| value.variable_len()).sum(),
        };
        self.ty.least() + variable
    }

    #[inline]
    fn head_len(&self) -> usize {
        match self.ty.size() {
            EventSize::Fixed(_) => FIXED_HEAD,
            EventSize::Variable => VARIABLE_HEAD,
        }
    }

    /// Bytes that the event takes in a log, after any cut. At most 65,547.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType, Value};
    ///
    /// let path = UserEventType::builder(0, "open").field("path", FieldType::Str).build()?;
    /// assert_eq!(path.event(&[Value::Str("/")])?.encoded_len(), 12 + 2 + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.head_len() + self.payload_len()
    }

    /// Writes the event to the start of `out`. Initialises and returns exactly
    /// [`encoded_len`](Self::encoded_len) bytes.
    ///
    /// # Panics
    /// If `out` is shorter than that. Nothing is written then.
    ///
    /// ```
    /// use core::mem::MaybeUninit;
    /// use ghc_eventlog::format::UserEventType;
    ///
    /// let tick = UserEventType::builder(0, "tick").build()?;
    /// let mut out = [MaybeUninit::uninit(); 64];
    /// assert_eq!(tick.event(&[])?.encode(5, &mut out), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn encode(&self, time_ns: u64, out: &mut [MaybeUninit<u8>]) -> usize {
        let payload = self.payload_len();
        let len = self.head_len() + payload;
        let room = out.len();
        let Some(out) = out.get_mut(..len) else {
            no_room(len, room)
        };
        let mut out = Cursor::new(out);
        self.put(time_ns, payload, &mut out);
        assert!(out.is_full(), "an event is as long as it was measured");
        len
    }

    /// Appends the event, as [`encode`](Self::encode) writes it, and returns its length in bytes.
    ///
    /// ```
    /// use ghc_eventlog::format::{FieldType, UserEventType, Value};
    ///
    /// let mine = UserEventType::builder(0, "mine").field("n", FieldType::U16).build()?;
    /// let mut log = Vec::new();
    /// assert_eq!(mine.event(&[Value::U16(258)])?.encode_to_vec(1, &mut log), 12);
    /// assert_eq!(log, [4, 64, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_to_vec(&self, time_ns: u64, out: &mut Vec<u8>) -> usize {
        let payload = self.payload_len();
        let len = self.head_len() + payload;
        out.reserve(len);
        self.put(time_ns, payload, out);
        len
    }

    #[inline]
    fn put<S: Sink>(&self, time_ns: u64, payload: usize, out: &mut S) {
        self.id().put(out);
        time_ns.put(out);
        if self.ty.size() == EventSize::Variable {
            (payload as u16).put(out);
        }
        for (_, value) in self.fields() {
            value.put(out);
        }
    }
}

impl PartialEq for UserEvent<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty && self.fields().eq(other.fields())
    }
}

impl Eq for UserEvent<'_> {}

impl fmt::Debug for UserEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.name());
        for (field, value) in self.fields() {
            out.field(field.name(), &value);
        }
        out.finish()
    }
}

/// An iterator over the fields of an event and their values, see [`UserEvent::fields`].
///
/// ```
/// use ghc_eventlog::format::UserEventType;
///
/// let tick = UserEventType::builder(0, "tick").build()?;
/// assert!(tick.event(&[])?.fields().next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct UserFields<'a> {
    fields: core::slice::Iter<'a, Field>,
    values: Values<'a>,
    /// Bytes of text that still fit.
    spare: usize,
}

impl<'a> Iterator for UserFields<'a> {
    type Item = (&'a Field, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?;
        let value = match &mut self.values {
            Values::Native(values) => {
                let (first, rest) = values.split_first()?;
                *values = rest;
                first.cut(self.spare)
            }
            Values::Wire(payload) => {
                let mut input = Reader::new(payload);
                let value = Value::get(field.ty, &mut input).ok()?;
                *payload = input.take_rest();
                value
            }
        };
        // No payload in a log is longer than what was spare at first.
        self.spare = self.spare.saturating_sub(value.variable_len());
        Some((field, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.fields.size_hint()
    }
}

impl ExactSizeIterator for UserFields<'_> {}
impl FusedIterator for UserFields<'_> {}

/// Why values are not those of an event of that type.
///
/// ```
/// use ghc_eventlog::format::UserEventType;
///
/// let tick = UserEventType::builder(0, "tick").build()?;
/// let error = tick.event(&[1u8.into()]).unwrap_err();
/// assert_eq!(error.to_string(), "1 values for tick, which has 0 fields");
/// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UserEventError {
    /// There are more or fewer values than fields.
    Count {
        /// The name of the event type.
        event_type: String,
        /// Number of values given.
        values: usize,
        /// Number of fields.
        fields: usize,
    },
    /// A value is not of its field's type.
    Type {
        /// The name of the event type.
        event_type: String,
        /// The name of the field.
        field: String,
        /// What the field holds.
        expected: FieldType,
        /// What was given.
        found: FieldType,
    },
}

impl fmt::Display for UserEventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count {
                event_type,
                values,
                fields,
            } => write!(
                f,
                "{values} values for {event_type}, which has {fields} fields"
            ),
            Self::Type {
                event_type,
                field,
                expected,
                found,
            } => write!(
                f,
                "field {field} of {event_type} takes {expected}, not {found}"
            ),
        }
    }
}

impl core::error::Error for UserEventError {}
