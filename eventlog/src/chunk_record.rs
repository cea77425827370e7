//! What lies in a buffer besides events: running counts, by which the reading end knows how many events
//! are missing where.
//!
//! ```text
//!  chunk of a capability's buffer:  head | event | event | ... | padding | end
//!  record of the shared buffer:     label | event
//! ```
//!
//! Chunks are lost as a whole, and events are refused where one chunk has ended and the next has not
//! begun. So the difference between the end of the last chunk that was read and the head of the next is
//! what was lost in between. In the shared buffer every record tells how many its writer has put in
//! before, since several write to a chunk.
//!
//! Numbers are in the machine's byte order: none of this leaves the process.

use crate::counter::Tally;

/// What a chunk of a capability's buffer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    /// Events taken in before this chunk.
    pub(crate) taken: Tally,
    /// Events refused before this chunk.
    pub(crate) refused: Tally,
    /// Events before this chunk that the collector was to look at.
    pub(crate) tracked: u64,
    /// Bytes of the chunk, this head included.
    pub(crate) chunk_len: u64,
}

impl ChunkHead {
    pub(crate) const LEN: usize = 48;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        encode([
            self.taken.events,
            self.taken.bytes,
            self.refused.events,
            self.refused.bytes,
            self.tracked,
            self.chunk_len,
        ])
    }

    /// The head at the start of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let [events, taken, refused, refused_bytes, tracked, chunk_len] = decode(bytes);
        ChunkHead {
            tracked,
            taken: Tally {
                events,
                bytes: taken,
            },
            refused: Tally {
                events: refused,
                bytes: refused_bytes,
            },
            chunk_len,
        }
    }
}

/// The last bytes of a chunk of a capability's buffer, once the writer has gone on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkEnd {
    /// Events taken in before the end.
    pub(crate) taken: Tally,
    /// Unused bytes between the last event and this.
    pub(crate) padding: u64,
}

impl ChunkEnd {
    pub(crate) const LEN: usize = 24;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        encode([self.taken.events, self.taken.bytes, self.padding])
    }

    /// The end at the end of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let [events, taken, padding] = decode(&bytes[bytes.len() - Self::LEN..]);
        ChunkEnd {
            taken: Tally {
                events,
                bytes: taken,
            },
            padding,
        }
    }
}

/// What comes before an event in the shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The number of the writer.
    pub(crate) writer: u32,
    /// Whether the collector is to look at the event.
    pub(crate) tracked: bool,
    /// Bytes of the event.
    pub(crate) len: u32,
    /// Events that this writer has put in before.
    pub(crate) taken: Tally,
    /// Events that were refused to it before.
    pub(crate) refused: Tally,
}

impl Label {
    pub(crate) const LEN: usize = 40;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        encode([
            u64::from(self.writer) << 32 | u64::from(self.tracked) << 31 | u64::from(self.len),
            self.taken.events,
            self.taken.bytes,
            self.refused.events,
            self.refused.bytes,
        ])
    }

    /// The label at the start of `bytes`.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let [both, events, taken, refused, refused_bytes] = decode(bytes);
        Label {
            writer: (both >> 32) as u32,
            tracked: both & 1 << 31 != 0,
            len: both as u32 & !(1 << 31),
            taken: Tally {
                events,
                bytes: taken,
            },
            refused: Tally {
                events: refused,
                bytes: refused_bytes,
            },
        }
    }
}

fn encode<const WORDS: usize, const LEN: usize>(words: [u64; WORDS]) -> [u8; LEN] {
    const { assert!(LEN == 8 * WORDS, "every word has its place") };
    let mut bytes = [0; LEN];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

fn decode<const WORDS: usize>(bytes: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        // Eight of them.
        *word = u64::from_ne_bytes(place.try_into().unwrap_or_default());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(events: u64) -> Tally {
        Tally {
            events,
            bytes: events << 40 | 7,
        }
    }

    #[test]
    fn records_are_the_same_after_they_were_bytes() {
        let head = ChunkHead {
            taken: tally(1),
            refused: tally(2),
            tracked: 9,
            chunk_len: 1 << 33,
        };
        assert_eq!(ChunkHead::decode(&head.encode()), head);
        let end = ChunkEnd {
            taken: tally(3),
            padding: 65_000,
        };
        assert_eq!(
            ChunkEnd::decode(&[b"events".as_slice(), &end.encode()].concat()),
            end
        );
        let label = Label {
            writer: u32::MAX,
            tracked: true,
            len: 65_547,
            taken: tally(4),
            refused: tally(5),
        };
        for tracked in [false, true] {
            let label = Label { tracked, ..label };
            assert_eq!(Label::decode(&label.encode()), label);
        }
    }
}
