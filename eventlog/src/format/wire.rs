//! How a field lies in a payload: big-endian, no padding. Nothing here knows of events or framing.

use core::mem::MaybeUninit;

use super::error::EventErrorKind;

/// A field type of the format.
pub(super) trait Wire<'a>: Copy {
    /// Bytes of the field however far its text is cut.
    const MIN: usize;

    /// Bytes of the field as it is.
    #[inline]
    fn wire_len(self) -> usize {
        Self::MIN
    }

    /// The field cut so that it takes at most `MIN + spare` bytes.
    #[inline]
    fn cut(self, spare: usize) -> Self {
        let _ = spare;
        self
    }

    fn put<S: Sink>(self, out: &mut S);

    fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind>;
}

/// Where encoded bytes go.
pub(super) trait Sink {
    fn array<const N: usize>(&mut self, bytes: [u8; N]);
    fn slice(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }

    fn slice(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Writes into memory that was measured beforehand, so that the bounds checks of fixed-size events
/// fold into the one that cut the slice.
pub(super) struct Cursor<'o> {
    rest: &'o mut [MaybeUninit<u8>],
}

impl<'o> Cursor<'o> {
    #[inline(always)]
    pub(super) fn new(out: &'o mut [MaybeUninit<u8>]) -> Self {
        Self { rest: out }
    }

    /// Whether all of the memory has been written.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.rest.is_empty()
    }
}

const MEASURED: &str = "the output was measured before it was written";

impl Sink for Cursor<'_> {
    #[inline(always)]
    fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        let rest = core::mem::take(&mut self.rest);
        let (head, rest) = rest.split_first_chunk_mut::<N>().expect(MEASURED);
        *head = bytes.map(MaybeUninit::new);
        self.rest = rest;
    }

    #[inline(always)]
    fn slice(&mut self, bytes: &[u8]) {
        let rest = core::mem::take(&mut self.rest);
        let (head, rest) = rest.split_at_mut_checked(bytes.len()).expect(MEASURED);
        copy(head, bytes);
        self.rest = rest;
    }
}

/// Copies `from` to `to`, which are of the same length. Texts are short: where two moves that overlap
/// are enough, that is faster than to call for a copy of any length.
#[inline(always)]
fn copy(to: &mut [MaybeUninit<u8>], from: &[u8]) {
    match from.len() {
        32..=64 => copy_ends::<32>(to, from),
        16..=31 => copy_ends::<16>(to, from),
        8..=15 => copy_ends::<8>(to, from),
        4..=7 => copy_ends::<4>(to, from),
        _ => {
            for (slot, byte) in to.iter_mut().zip(from) {
                slot.write(*byte);
            }
        }
    }
}

/// Copies the first and the last `N` bytes, which must be all of them.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [MaybeUninit<u8>], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = from.map(MaybeUninit::new);
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = from.map(MaybeUninit::new);
    }
}

/// Reads a payload front to back.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    #[inline(always)]
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self {
            rest: payload,
            len: payload.len(),
        }
    }

    /// Offset in the payload of the next byte.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline(always)]
    pub(super) fn take_rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], EventErrorKind> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(self.too_short(N)),
        }
    }

    #[inline]
    pub(super) fn slice(&mut self, n: usize) -> Result<&'a [u8], EventErrorKind> {
        match self.rest.split_at_checked(n) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(self.too_short(n)),
        }
    }

    #[cold]
    fn too_short(&self, need: usize) -> EventErrorKind {
        EventErrorKind::TooShort {
            size: self.len,
            least: self.position() + need,
        }
    }
}

macro_rules! integers {
    ($($int:ty),*) => { $(
        impl<'a> Wire<'a> for $int {
            const MIN: usize = size_of::<$int>();

            #[inline(always)]
            fn put<S: Sink>(self, out: &mut S) {
                out.array(self.to_be_bytes());
            }

            #[inline(always)]
            fn get(input: &mut Reader<'a>) -> Result<Self, EventErrorKind> {
                Ok(<$int>::from_be_bytes(input.array()?))
            }
        }
    )* };
}

integers!(u8, u16, u32, u64);
