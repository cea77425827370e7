//! Text in payloads: to the payload's end, or up to a NUL.

use core::ffi::CStr;
use core::fmt;
use core::str::Utf8Error;

use super::error::EventErrorKind;
use super::wire::{Reader, Sink, Wire};

/// The longest start of `text` that is whole characters and at most `limit` bytes.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[inline(always)]
pub(super) fn utf8(bytes: &[u8], at: usize) -> Result<&str, EventErrorKind> {
    match core::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => Err(not_utf8(error, at)),
    }
}

#[cold]
fn not_utf8(error: Utf8Error, at: usize) -> EventErrorKind {
    EventErrorKind::Utf8 {
        at: at + error.valid_up_to(),
    }
}

impl<'a> Wire<'a> for &'a str {
    const MIN: usize = 0;

    #[inline]
    fn wire_len(self) -> usize {
        self.len()
    }

    fn cut(self, spare: usize) -> Self {
        cut(self, spare)
    }

    #[inline]
    fn put<S: Sink>(self, out: &mut S) {
        out.slice(self.as_bytes());
    }

    #[inline(always)]
    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let at = input.position();
        utf8(input.take_rest(), at)
    }
}

impl<'a> Wire<'a> for &'a [u8] {
    const MIN: usize = 0;

    #[inline]
    fn wire_len(self) -> usize {
        self.len()
    }

    fn cut(self, spare: usize) -> Self {
        &self[..self.len().min(spare)]
    }

    #[inline]
    fn put<S: Sink>(self, out: &mut S) {
        out.slice(self);
    }

    #[inline(always)]
    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        Ok(input.take_rest())
    }
}

/// Text without a NUL in it, which is written with one after it.
///
/// ```
/// use ghc_eventlog::format::ZStr;
///
/// assert_eq!(ZStr::new("main")?.as_str(), "main");
/// assert_eq!(ZStr::new("ma\0in").unwrap_err().position, 2);
/// assert_eq!(ZStr::up_to_nul("ma\0in").as_str(), "ma");
/// # Ok::<(), ghc_eventlog::format::NulError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ZStr<'a>(&'a str);

impl<'a> ZStr<'a> {
    /// The text as it is.
    ///
    /// # Errors
    /// If there is a NUL in it.
    pub const fn new(text: &'a str) -> Result<Self, NulError> {
        let bytes = text.as_bytes();
        let mut position = 0;
        while position < bytes.len() {
            if bytes[position] == 0 {
                return Err(NulError { position });
            }
            position += 1;
        }
        Ok(Self(text))
    }

    /// The text before the first NUL, which is what a reader of C strings would see.
    #[must_use]
    pub fn up_to_nul(text: &'a str) -> Self {
        Self(text.split('\0').next().unwrap_or_default())
    }

    /// The text.
    #[must_use]
    #[inline]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    pub(super) fn cut_to(self, limit: usize) -> Self {
        Self(cut(self.0, limit))
    }
}

impl fmt::Debug for ZStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl fmt::Display for ZStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }
}

impl AsRef<str> for ZStr<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl<'a> TryFrom<&'a str> for ZStr<'a> {
    type Error = NulError;

    fn try_from(text: &'a str) -> Result<Self, NulError> {
        Self::new(text)
    }
}

impl<'a> Wire<'a> for ZStr<'a> {
    const MIN: usize = 1;

    #[inline]
    fn wire_len(self) -> usize {
        self.0.len() + 1
    }

    fn cut(self, spare: usize) -> Self {
        self.cut_to(spare)
    }

    #[inline]
    fn put<S: Sink>(self, out: &mut S) {
        out.slice(self.0.as_bytes());
        out.array([0]);
    }

    #[inline(always)]
    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let at = input.position();
        let text = CStr::from_bytes_until_nul(input.rest())
            .map_err(|_| EventErrorKind::Unterminated { at })?;
        input.slice(text.count_bytes() + 1)?;
        Ok(Self(utf8(text.to_bytes(), at)?))
    }
}

/// Text that must not hold a NUL holds one.
///
/// ```
/// use ghc_eventlog::format::ZStr;
///
/// let error = ZStr::new("a\0").unwrap_err();
/// assert_eq!(error.to_string(), "nul at byte 1 of a nul-terminated text");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NulError {
    /// Offset of the first NUL, in bytes.
    pub position: usize,
}

impl fmt::Display for NulError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nul at byte {} of a nul-terminated text", self.position)
    }
}

impl core::error::Error for NulError {}
