//! Blocks: a marker, then whole events of one capability.

use super::value::CapNo;

/// The id of the event that starts a block.
pub const BLOCK_MARKER: u16 = 18;

/// The two bytes that end a log. Nothing may follow.
pub const END_MARKER: [u8; 2] = [0xff, 0xff];

/// The start of a block.
///
/// ```
/// use ghc_eventlog::format::{BlockMarker, CapNo};
///
/// let marker = BlockMarker { begin: 1, size: 24, end: 2, cap: CapNo::new(0) };
/// assert_eq!(marker.encode()[..2], [0, 18]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockMarker {
    /// Time at which the block was begun, in nanoseconds.
    pub begin: u64,
    /// Bytes of the block, those of the marker included: [`LEN`](Self::LEN) for an empty one.
    pub size: u32,
    /// Time at which the block was ended, in nanoseconds.
    pub end: u64,
    /// The capability of the block's events; `None` for events that belong to none.
    pub cap: Option<CapNo>,
}

impl BlockMarker {
    /// Bytes of a marker in a log.
    pub const LEN: usize = 24;

    pub(super) const PAYLOAD: usize = 14;

    /// The marker as it lies in a log.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LEN] {
        let cap = self.cap.map_or(u16::MAX, CapNo::get);
        let mut out = [0; Self::LEN];
        out[..2].copy_from_slice(&BLOCK_MARKER.to_be_bytes());
        out[2..10].copy_from_slice(&self.begin.to_be_bytes());
        out[10..14].copy_from_slice(&self.size.to_be_bytes());
        out[14..22].copy_from_slice(&self.end.to_be_bytes());
        out[22..].copy_from_slice(&cap.to_be_bytes());
        out
    }

    /// The marker in these bytes, whose id is not looked at.
    ///
    /// ```
    /// use ghc_eventlog::format::BlockMarker;
    ///
    /// let marker = BlockMarker { begin: 1, size: 24, end: 2, cap: None };
    /// assert_eq!(BlockMarker::from_bytes(&marker.encode()), marker);
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let [
            _,
            _,
            b0,
            b1,
            b2,
            b3,
            b4,
            b5,
            b6,
            b7,
            s0,
            s1,
            s2,
            s3,
            rest @ ..,
        ] = *bytes;
        let [e0, e1, e2, e3, e4, e5, e6, e7, c0, c1] = rest;
        Self {
            begin: u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]),
            size: u32::from_be_bytes([s0, s1, s2, s3]),
            end: u64::from_be_bytes([e0, e1, e2, e3, e4, e5, e6, e7]),
            cap: CapNo::new(u16::from_be_bytes([c0, c1])),
        }
    }
}
