//! A walk over the events of a block that lies in memory.

use core::iter::FusedIterator;

use super::error::{DecodeError, DecodeErrorKind};
use super::frame::{Frame, Place};
use super::header::Header;
use super::raw::RawEvent;

/// The events of a block's body: the bytes after its marker. Costs a few nanoseconds an event and
/// looks at no payload.
///
/// Offsets are counted from the start of `body`. The events' `cap` is `None`: the marker has it. An
/// end marker that is the last two bytes of the body is no event.
///
/// The iterator ends after the first error. Whatever breaks the framing of a block is one; an event
/// that is cut is a [`DecodeErrorKind::CrossesBlock`], or a [`DecodeErrorKind::Truncated`] if not
/// even its id is whole.
///
/// ```
/// use ghc_eventlog::format::{Event, Header, events};
///
/// let mut body = Vec::new();
/// Event::GcStart.encode_to_vec(1, &mut body);
/// Event::GcEnd.encode_to_vec(2, &mut body);
/// assert_eq!(events(&body, Header::standard()).count(), 2);
/// ```
#[must_use]
pub fn events<'a>(body: &'a [u8], header: &'a Header) -> Events<'a> {
    Events {
        header,
        rest: body,
        place: Place {
            offset: 0,
            block_end: body.len() as u64,
            cap: None,
        },
    }
}

/// The events at these places of a body, where there are some that are whole.
pub(crate) fn events_at<'a>(
    body: &'a [u8],
    header: &'a Header,
    places: &'a [u32],
) -> impl Iterator<Item = RawEvent<'a>> {
    places.iter().filter_map(move |place| {
        let rest = body.get(*place as usize..)?;
        events(rest, header).next()?.ok()
    })
}

/// An iterator over the events of a block, see [`events`].
///
/// ```
/// use ghc_eventlog::format::{Header, events};
///
/// assert!(events(&[], Header::standard()).next().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Events<'a> {
    header: &'a Header,
    rest: &'a [u8],
    place: Place,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<RawEvent<'a>, DecodeError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Ok(Frame::Event { head, len }) = self.place.frame(self.header, self.rest) {
            let (event, rest) = self.rest.split_at(len);
            self.rest = rest;
            return Some(Ok(self.place.pass_event(event, head, self.header)));
        }
        self.stop().map(Err)
    }
}

impl Events<'_> {
    /// What is wrong with the rest, if anything is.
    #[cold]
    fn stop(&mut self) -> Option<DecodeError> {
        let rest = core::mem::take(&mut self.rest);
        let kind = match self.place.frame(self.header, rest) {
            Ok(Frame::End) => return None,
            Ok(_) if rest.is_empty() => return None,
            Ok(_) => DecodeErrorKind::Truncated {
                partial: rest.len() as u64,
            },
            Err(kind) => kind,
        };
        Some(DecodeError {
            offset: self.place.offset,
            kind,
        })
    }
}

impl FusedIterator for Events<'_> {}
