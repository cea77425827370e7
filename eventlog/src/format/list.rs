//! Lists in payloads, made from native slices or lying in a log. Neither way allocates.

use core::fmt;

use super::error::EventErrorKind;
use super::text::{ZStr, utf8};
use super::wire::{Reader, Sink, Wire};

/// Texts, each with a NUL after it: program arguments or environment variables.
///
/// Lists are equal if their texts are, wherever they lie.
///
/// ```
/// use ghc_eventlog::format::{Strings, ZStr};
///
/// let args = [ZStr::new("sh")?, ZStr::new("-c")?];
/// let args = Strings::new(&args);
/// assert_eq!(args.iter().collect::<Vec<_>>(), ["sh", "-c"]);
/// assert!(Strings::default().is_empty());
/// # Ok::<(), ghc_eventlog::format::NulError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Strings<'a>(StringsRepr<'a>);

#[derive(Clone, Copy)]
enum StringsRepr<'a> {
    /// `limit` bytes of them, terminators counted.
    Native { texts: &'a [ZStr<'a>], limit: usize },
    /// As it lies in the payload. The last NUL may be missing.
    Wire(&'a str),
}

impl<'a> Strings<'a> {
    /// A list of these texts.
    #[must_use]
    pub const fn new(texts: &'a [ZStr<'a>]) -> Self {
        Self(StringsRepr::Native {
            texts,
            limit: usize::MAX,
        })
    }

    /// The texts, in order.
    #[must_use]
    pub fn iter(&self) -> StringsIter<'a> {
        StringsIter(self.0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl Default for Strings<'_> {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl PartialEq for Strings<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(*other)
    }
}

impl Eq for Strings<'_> {}

impl fmt::Debug for Strings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

impl<'a> IntoIterator for Strings<'a> {
    type Item = &'a str;
    type IntoIter = StringsIter<'a>;

    fn into_iter(self) -> StringsIter<'a> {
        self.iter()
    }
}

/// The texts of a [`Strings`].
///
/// ```
/// let mut texts = ghc_eventlog::format::Strings::default().iter();
/// assert_eq!(texts.next(), None);
/// ```
#[derive(Clone)]
pub struct StringsIter<'a>(StringsRepr<'a>);

impl fmt::Debug for StringsIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> Iterator for StringsIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match &mut self.0 {
            StringsRepr::Native { texts, limit } => {
                let (first, rest) = texts.split_first()?;
                let whole = first.as_str();
                let text = first.cut_to(limit.checked_sub(1)?).as_str();
                // Nothing follows a text that was cut, even where a shorter one would fit.
                *limit = if text.len() < whole.len() {
                    0
                } else {
                    *limit - text.len() - 1
                };
                *texts = rest;
                Some(text)
            }
            StringsRepr::Wire("") => None,
            StringsRepr::Wire(text) => {
                let (first, rest) = text.split_once('\0').unwrap_or((text, ""));
                *text = rest;
                Some(first)
            }
        }
    }
}

impl<'a> Wire<'a> for Strings<'a> {
    const MIN: usize = 0;

    fn wire_len(self) -> usize {
        match self.0 {
            StringsRepr::Native { .. } => self.iter().map(|text| text.len() + 1).sum(),
            StringsRepr::Wire(text) => text.len(),
        }
    }

    fn cut(self, spare: usize) -> Self {
        match self.0 {
            StringsRepr::Native { texts, limit } => Self(StringsRepr::Native {
                texts,
                limit: limit.min(spare),
            }),
            // It came out of a payload behind a field of the same size: it fits.
            StringsRepr::Wire(_) => self,
        }
    }

    fn put<S: Sink>(self, out: &mut S) {
        match self.0 {
            StringsRepr::Native { .. } => {
                for text in self {
                    out.slice(text.as_bytes());
                    out.array([0]);
                }
            }
            StringsRepr::Wire(text) => out.slice(text.as_bytes()),
        }
    }

    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let at = input.position();
        Ok(Self(StringsRepr::Wire(utf8(
            input.slice(input.rest().len())?,
            at,
        )?)))
    }
}

/// A stack of cost centres, innermost first. At most 255 fit into an event.
///
/// Stacks are equal if their cost centres are, wherever they lie.
///
/// ```
/// use ghc_eventlog::format::CostCentreStack;
///
/// let stack = CostCentreStack::innermost(&[12, 3, 1]);
/// assert_eq!(stack.len(), 3);
/// assert_eq!(stack.iter().collect::<Vec<_>>(), [12, 3, 1]);
/// assert_eq!(CostCentreStack::innermost(&[0; 300]).len(), 255);
/// ```
#[derive(Clone, Copy)]
pub struct CostCentreStack<'a>(StackRepr<'a>);

#[derive(Clone, Copy)]
enum StackRepr<'a> {
    Native(&'a [u32]),
    /// As it lies in the payload: four bytes each.
    Wire(&'a [u8]),
}

impl<'a> CostCentreStack<'a> {
    /// The most cost centres in an event: their number is one byte.
    pub const MAX_LEN: usize = 255;

    /// A stack of these cost centres, innermost first. Those beyond the first
    /// [`MAX_LEN`](Self::MAX_LEN), the outermost, are left out, as GHC does.
    #[must_use]
    pub fn innermost(ids: &'a [u32]) -> Self {
        Self(StackRepr::Native(&ids[..ids.len().min(Self::MAX_LEN)]))
    }

    /// Number of cost centres.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        match self.0 {
            StackRepr::Native(ids) => ids.len(),
            StackRepr::Wire(bytes) => bytes.len() / 4,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cost centres, innermost first.
    #[must_use]
    pub fn iter(&self) -> CostCentreStackIter<'a> {
        CostCentreStackIter(self.0)
    }
}

impl Default for CostCentreStack<'_> {
    fn default() -> Self {
        Self(StackRepr::Native(&[]))
    }
}

impl PartialEq for CostCentreStack<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(*other)
    }
}

impl Eq for CostCentreStack<'_> {}

impl fmt::Debug for CostCentreStack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

impl<'a> IntoIterator for CostCentreStack<'a> {
    type Item = u32;
    type IntoIter = CostCentreStackIter<'a>;

    fn into_iter(self) -> CostCentreStackIter<'a> {
        self.iter()
    }
}

/// The cost centres of a [`CostCentreStack`].
///
/// ```
/// use ghc_eventlog::format::CostCentreStack;
///
/// let mut ids = CostCentreStack::innermost(&[5]).iter();
/// assert_eq!((ids.next(), ids.next()), (Some(5), None));
/// ```
#[derive(Clone)]
pub struct CostCentreStackIter<'a>(StackRepr<'a>);

impl fmt::Debug for CostCentreStackIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Iterator for CostCentreStackIter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match &mut self.0 {
            StackRepr::Native(ids) => {
                let (first, rest) = ids.split_first()?;
                *ids = rest;
                Some(*first)
            }
            StackRepr::Wire(bytes) => {
                let (first, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(u32::from_be_bytes(*first))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = CostCentreStack(self.0).len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for CostCentreStackIter<'_> {}

impl<'a> Wire<'a> for CostCentreStack<'a> {
    const MIN: usize = 1;

    #[inline]
    fn wire_len(self) -> usize {
        1 + 4 * self.len()
    }

    fn put<S: Sink>(self, out: &mut S) {
        out.array([self.len() as u8]);
        match self.0 {
            StackRepr::Native(ids) => ids.iter().for_each(|id| id.put(out)),
            StackRepr::Wire(bytes) => out.slice(bytes),
        }
    }

    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
        let depth = u8::get(input)?;
        Ok(Self(StackRepr::Wire(input.slice(4 * usize::from(depth))?)))
    }
}
