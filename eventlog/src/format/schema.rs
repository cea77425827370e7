//! How an event of a program's own lies in its payload: named fields, one after the other, and the
//! text that tells of them in a header.

use core::fmt;
use std::borrow::Cow;

/// What a field of a program's own event holds.
///
/// Numbers are big-endian. Text and bytes have their length in two bytes before them.
///
/// ```
/// use ghc_eventlog::format::FieldType;
///
/// assert_eq!(FieldType::F64.to_string(), "f64");
/// assert_eq!(FieldType::from_name("str"), Some(FieldType::Str));
/// assert_eq!(FieldType::from_name("u128"), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FieldType {
    /// A number of one byte.
    U8,
    /// A number of two bytes.
    U16,
    /// A number of four bytes.
    U32,
    /// A number of eight bytes.
    U64,
    /// A number of eight bytes that may be negative: two's complement.
    I64,
    /// A floating-point number of eight bytes: IEEE 754.
    F64,
    /// Text: UTF-8 of at most 65,535 bytes.
    Str,
    /// At most 65,535 bytes of anything.
    Bytes,
}

impl FieldType {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::U8, "u8"),
        (Self::U16, "u16"),
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::I64, "i64"),
        (Self::F64, "f64"),
        (Self::Str, "str"),
        (Self::Bytes, "bytes"),
    ];

    /// The name of the type in a header, as in Rust.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::format::FieldType::Bytes.name(), "bytes");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The type of that name.
    ///
    /// ```
    /// use ghc_eventlog::format::FieldType;
    /// assert_eq!(FieldType::from_name("i64"), Some(FieldType::I64));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::NAMES.iter().find(|(_, known)| *known == name);
        named.map(|(ty, _)| *ty)
    }

    /// Bytes in a payload, those of text and bytes left out.
    pub(super) const fn least(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::Str | Self::Bytes => 2,
            Self::U32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    pub(super) const fn is_variable(self) -> bool {
        matches!(self, Self::Str | Self::Bytes)
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A field of a program's own event.
///
/// ```
/// use ghc_eventlog::format::{FieldType, UserEventType};
///
/// let request = UserEventType::builder(0, "request").field("bytes", FieldType::U64).build()?;
/// let field = &request.fields()[0];
/// assert_eq!((field.name(), field.field_type()), ("bytes", FieldType::U64));
/// # Ok::<(), ghc_eventlog::format::UserTypeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub(super) name: Cow<'static, str>,
    pub(super) ty: FieldType,
}

impl Field {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub const fn field_type(&self) -> FieldType {
        self.ty
    }
}

/// The most fields of an event.
pub(super) const MAX_FIELDS: usize = 255;

/// The most bytes of a field's name.
pub(super) const MAX_FIELD_NAME: usize = 255;

/// What a header's text about fields begins with. The number is that of the text's own form.
const MAGIC: &str = "evl:1";

/// Whether a field may have that name: it must not be taken for what stands around it in the text.
pub(super) fn is_field_name(name: &str) -> bool {
    let fits = (1..=MAX_FIELD_NAME).contains(&name.len());
    fits && name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// The first field whose name an earlier one has.
pub(super) fn repeated(fields: &[Field]) -> Option<&Field> {
    let later = fields.iter().enumerate();
    later
        .filter(|(at, field)| fields[..*at].iter().any(|one| one.name == field.name))
        .map(|(_, field)| field)
        .next()
}

/// The text about fields in a header: `evl:1 bytes:u64 path:str`.
pub(super) fn to_text(fields: &[Field]) -> String {
    let mut text = MAGIC.to_owned();
    for Field { name, ty } in fields {
        text.extend([" ", name, ":", ty.name()]);
    }
    text
}

/// The fields that a header's text tells of; `None` if it is not such a text, or of a newer form.
pub(super) fn from_text(text: &[u8]) -> Option<Vec<Field>> {
    let mut words = core::str::from_utf8(text).ok()?.split(' ');
    if words.next() != Some(MAGIC) {
        return None;
    }
    let mut fields = Vec::new();
    for word in words {
        let (name, ty) = word.split_once(':')?;
        if !is_field_name(name) || fields.len() == MAX_FIELDS {
            return None;
        }
        fields.push(Field {
            name: name.to_owned().into(),
            ty: FieldType::from_name(ty)?,
        });
    }
    repeated(&fields).is_none().then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_about_fields_tells_of_none() {
        let names = |text: &str| {
            let fields = from_text(text.as_bytes())?;
            Some(fields.iter().map(|field| field.name.to_string()).collect())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names("evl:1"), some(&[]));
        assert_eq!(names("evl:1 a:u8 größe:str"), some(&["a", "größe"]));
        let wrong: [&str; 10] = [
            "",
            "evl:2 a:u8",
            "evl:1a:u8",
            "evl:1 ",
            "evl:1  a:u8",
            "evl:1 a",
            "evl:1 :u8",
            "evl:1 a:u128",
            "evl:1 a:u8 a:u8",
            "evl:1 a/b:u8",
        ];
        for text in wrong {
            assert_eq!(names(text), None::<Vec<String>>, "{text:?}");
        }
        assert_eq!(from_text(b"evl:1 \xff:u8"), None);
        let many = |n: usize| {
            let words: String = (0..n).map(|at| format!(" f{at}:u8")).collect();
            from_text(format!("evl:1{words}").as_bytes())
        };
        assert_eq!(
            many(MAX_FIELDS).map(|fields| fields.len()),
            Some(MAX_FIELDS)
        );
        assert_eq!(many(MAX_FIELDS + 1), None);
    }
}
