//! Where events begin and end. The rules stand here once, for streams and for walks over memory.

use super::block::{BLOCK_MARKER, BlockMarker, END_MARKER};
use super::error::DecodeErrorKind;
use super::event::{FIXED_HEAD, VARIABLE_HEAD};
use super::header::{EventLength, Header};
use super::raw::RawEvent;
use super::value::CapNo;

/// A place in a log's data, between two records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// Offset just after the block; at or before `offset` outside blocks.
    pub(super) block_end: u64,
    pub(super) cap: Option<CapNo>,
}

/// What lies at a place.
pub(super) enum Frame {
    /// So many bytes must be seen, from the place on, to tell.
    Need(usize),
    /// An event that is whole: bytes before its payload, and bytes in all.
    Event {
        head: usize,
        len: usize,
    },
    /// A block marker that is whole.
    Marker,
    End,
}

impl Place {
    #[inline(always)]
    fn block(&self) -> Option<u64> {
        if self.offset < self.block_end {
            Some(self.block_end)
        } else {
            None
        }
    }

    /// What lies at this place, of which `bytes` have been seen.
    #[inline(always)]
    pub(super) fn frame(&self, header: &Header, bytes: &[u8]) -> Result<Frame, DecodeErrorKind> {
        let Some((id, _)) = bytes.split_first_chunk() else {
            return Ok(Frame::Need(2));
        };
        let id = u16::from_be_bytes(*id);
        let (head, len) = match header.event_length(id) {
            _ if id == u16::MAX => return self.end(),
            EventLength::UNDECLARED => return Err(DecodeErrorKind::UndeclaredEvent { id }),
            EventLength::VARIABLE => {
                self.check_fits(id, VARIABLE_HEAD)?;
                let Some([.., high, low]) = bytes.first_chunk::<VARIABLE_HEAD>() else {
                    return Ok(Frame::Need(VARIABLE_HEAD));
                };
                let payload = u16::from_be_bytes([*high, *low]);
                (VARIABLE_HEAD, VARIABLE_HEAD + usize::from(payload))
            }
            EventLength(len) => (FIXED_HEAD, len as usize),
        };
        if id == BLOCK_MARKER {
            return self.marker(len, bytes);
        }
        self.check_fits(id, len)?;
        if bytes.len() < len {
            return Ok(Frame::Need(len));
        }
        Ok(Frame::Event { head, len })
    }

    #[inline(always)]
    fn check_fits(&self, id: u16, len: usize) -> Result<(), DecodeErrorKind> {
        let event_end = self.offset + len as u64;
        match self.block() {
            Some(block_end) if event_end > block_end => Err(DecodeErrorKind::CrossesBlock {
                id,
                event_end,
                block_end,
            }),
            _ => Ok(()),
        }
    }

    #[cold]
    fn marker(&self, len: usize, bytes: &[u8]) -> Result<Frame, DecodeErrorKind> {
        if let Some(block_end) = self.block() {
            return Err(DecodeErrorKind::MarkerInsideBlock { block_end });
        }
        let Some(marker) = bytes.first_chunk() else {
            return Ok(Frame::Need(BlockMarker::LEN));
        };
        let size = BlockMarker::from_bytes(marker).size;
        let least = len as u32;
        if size < least {
            return Err(DecodeErrorKind::BlockTooShort { size, least });
        }
        if bytes.len() < len {
            return Ok(Frame::Need(len));
        }
        Ok(Frame::Marker)
    }

    #[cold]
    fn end(&self) -> Result<Frame, DecodeErrorKind> {
        match self.block() {
            // GHC counts the end marker into the last block, from 9.2 on.
            Some(block_end) if self.offset + END_MARKER.len() as u64 != block_end => {
                Err(DecodeErrorKind::EndInsideBlock { block_end })
            }
            _ => Ok(Frame::End),
        }
    }

    /// Goes past an event, whose bytes these are.
    #[inline(always)]
    pub(super) fn pass_event<'a>(
        &mut self,
        bytes: &'a [u8],
        head: usize,
        header: &'a Header,
    ) -> RawEvent<'a> {
        let cap = if self.block().is_some() {
            self.cap
        } else {
            None
        };
        let [i0, i1, t0, t1, t2, t3, t4, t5, t6, t7] =
            *bytes.first_chunk().expect("a framed event has a head");
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        RawEvent {
            offset,
            cap,
            id: u16::from_be_bytes([i0, i1]),
            time: u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            payload: &bytes[head..],
            bytes,
            header,
        }
    }

    /// Goes past a block marker, whose bytes these are.
    pub(super) fn pass_marker(&mut self, bytes: &[u8]) {
        let marker =
            BlockMarker::from_bytes(bytes.first_chunk().expect("a framed marker is whole"));
        self.block_end = self.offset + u64::from(marker.size);
        self.cap = marker.cap;
        self.offset += bytes.len() as u64;
    }
}
