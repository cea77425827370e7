//! The parts of a write that are passed on. Nothing here decides which ones.

use core::fmt;
use core::iter::FusedIterator;
use core::ops::Range;
use std::collections::VecDeque;

use super::evidence::tells_of_a_thread;
use crate::format::{BlockMarker, CapNo, END_MARKER, EVENTS_LOST, RawEvent};
use crate::sticky::is_tracked;

/// The header or one whole block, to be passed on in one go: its bytes are those of
/// [`parts`](Self::parts), one after the other.
///
/// ```
/// use ghc_eventlog::format::Header;
/// use ghc_eventlog::relay::{Mender, Piece};
///
/// let header = Header::standard().encode();
/// let mut mender = Mender::new();
/// let pieces: Vec<Piece> = mender.take(&header)?.collect();
/// assert!(pieces[0].is_header());
/// assert_eq!(pieces[0].len(), header.len());
/// assert_eq!(pieces[0].parts().concat(), header);
/// # Ok::<(), ghc_eventlog::relay::SetAside>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Piece<'w> {
    is_header: bool,
    marker: Option<[u8; BlockMarker::LEN]>,
    bytes: &'w [u8],
    content: Content,
}

/// What a block holds, as a walk over it has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Content {
    /// Bytes of its events.
    pub(crate) len: usize,
    /// Events of the program, and not what tells of losses.
    pub(crate) events: u64,
    /// The latest time of an event; 0 where there is none.
    pub(crate) latest: u64,
    /// Which of the places of notable events are its own.
    first_notable: u32,
    past_notable: u32,
}

impl Content {
    /// That of a block, as long as nothing has been found in it.
    pub(super) fn after(notable: &[u32]) -> Self {
        let next = notable.len() as u32;
        Content {
            first_notable: next,
            past_notable: next,
            ..Content::default()
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, event: &RawEvent<'_>, notable: &mut Vec<u32>) {
        self.len += event.bytes().len();
        self.events += u64::from(event.id != EVENTS_LOST);
        self.latest = self.latest.max(event.time);
        if is_tracked(event.id) || tells_of_a_thread(event.id) {
            // A block is no longer than that says.
            notable.push(event.offset as u32);
            self.past_notable += 1;
        }
    }

    pub(super) fn notable(&self) -> Range<usize> {
        self.first_notable as usize..self.past_notable as usize
    }
}

/// What the blocks of a write hold, in order. Allocates from the second one on.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    first: Option<Content>,
    others: VecDeque<Content>,
}

impl Contents {
    pub(super) fn push(&mut self, content: Content) {
        match self.first {
            None => self.first = Some(content),
            Some(_) => self.others.push_back(content),
        }
    }

    pub(super) fn pop(&mut self) -> Content {
        let first = self.first.take();
        first
            .or_else(|| self.others.pop_front())
            .unwrap_or_default()
    }
}

impl<'w> Piece<'w> {
    /// The bytes: a marker that was changed or added, empty if none was; then those of the write.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        let marker: &[u8] = self.marker.as_ref().map_or(&[], |marker| marker);
        [marker, self.bytes]
    }

    /// Bytes in all.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    /// Whether this is the header, not a block.
    #[must_use]
    pub const fn is_header(&self) -> bool {
        self.is_header
    }

    /// The block's marker and its events; `None` for the header.
    pub(crate) fn block(&self) -> Option<(BlockMarker, &'w [u8])> {
        if self.is_header {
            return None;
        }
        match &self.marker {
            Some(marker) => Some((BlockMarker::from_bytes(marker), self.bytes)),
            None => {
                let (marker, body) = self.bytes.split_first_chunk()?;
                Some((BlockMarker::from_bytes(marker), body))
            }
        }
    }

    /// What the block holds.
    pub(crate) const fn content(&self) -> Content {
        self.content
    }

    /// Whether the bytes are not just what the write holds.
    #[must_use]
    pub const fn is_mended(&self) -> bool {
        self.marker.is_some()
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Piece")
            .field("is_header", &self.is_header)
            .field("is_mended", &self.is_mended())
            .field("len", &self.len())
            .finish()
    }
}

/// What is passed on of one write, see [`Mender::take`](super::Mender::take).
///
/// ```
/// use ghc_eventlog::relay::Mender;
///
/// assert!(Mender::new().take(&[])?.next().is_none());
/// # Ok::<(), ghc_eventlog::relay::SetAside>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pieces<'w> {
    pub(super) header: Option<&'w [u8]>,
    /// Events and the marker that goes in front of them.
    pub(super) loose: Option<([u8; BlockMarker::LEN], &'w [u8])>,
    pub(super) loose_content: Content,
    /// Whole blocks, whose sizes were checked.
    pub(super) blocks: &'w [u8],
    /// What they hold.
    pub(super) contents: Contents,
    /// Whether an end marker is to be cut from the last block.
    pub(super) cut_last: bool,
}

/// A block of the write as it came.
#[derive(Clone, Copy)]
pub(super) struct Block<'w> {
    pub(super) marker: BlockMarker,
    /// What follows the marker, an end marker left out.
    pub(super) body: &'w [u8],
    bytes: &'w [u8],
    cut: bool,
}

impl<'w> Pieces<'w> {
    pub(super) fn next_block(&mut self) -> Option<Block<'w>> {
        let marker = BlockMarker::from_bytes(self.blocks.first_chunk()?);
        let (bytes, rest) = self.blocks.split_at_checked(marker.size as usize)?;
        self.blocks = rest;
        let cut = self.cut_last && rest.is_empty();
        let end = bytes.len() - if cut { END_MARKER.len() } else { 0 };
        Some(Block {
            marker,
            body: bytes.get(BlockMarker::LEN..end)?,
            bytes,
            cut,
        })
    }

    /// Whether the write is one block, and passed on as it is.
    pub(crate) fn is_one_block(&self, write: &[u8]) -> bool {
        let mut pieces = self.clone();
        let first = pieces.next();
        first.is_some_and(|first| {
            !first.is_header && !first.is_mended() && first.bytes.len() == write.len()
        })
    }

    /// The capability of the first block that has a marker.
    pub(super) fn first_cap(&self) -> Option<Option<CapNo>> {
        self.clone().next_block().map(|block| block.marker.cap)
    }
}

impl<'w> Iterator for Pieces<'w> {
    type Item = Piece<'w>;

    fn next(&mut self) -> Option<Piece<'w>> {
        if let Some(bytes) = self.header.take() {
            return Some(Piece {
                is_header: true,
                marker: None,
                bytes,
                content: Content::default(),
            });
        }
        if let Some((marker, bytes)) = self.loose.take() {
            return Some(Piece {
                is_header: false,
                marker: Some(marker),
                bytes,
                content: self.loose_content,
            });
        }
        let block = self.next_block()?;
        let (marker, bytes) = if block.cut {
            let size = (BlockMarker::LEN + block.body.len()) as u32;
            let marker = BlockMarker {
                size,
                ..block.marker
            };
            (Some(marker.encode()), block.body)
        } else {
            (None, block.bytes)
        };
        Some(Piece {
            is_header: false,
            marker,
            bytes,
            content: self.contents.pop(),
        })
    }
}

impl FusedIterator for Pieces<'_> {}
