//! What an output has not been given since it was behind, as long as it has not been told.

use crate::buffer_reader::Losses;
use crate::format::{BlockMarker, CapNo, Event, LossCause};
use std::collections::BTreeMap;

/// Blocks that have been dropped for one output, added up for each capability.
#[derive(Debug, Default)]
pub(crate) struct Missed(BTreeMap<Option<CapNo>, Gap>);

#[derive(Clone, Copy, Debug)]
struct Gap {
    /// When the first of the events was.
    since: u64,
    events: u64,
    bytes: u64,
    /// What the buffer had lost, as it was told in what has been dropped.
    losses: Losses,
}

/// When the first event of a block was, by its own stamp: what another writer's marker says may be wrong.
pub(crate) fn begin_of(marker: &BlockMarker, body: &[u8]) -> u64 {
    let stamp = body.get(2..10).and_then(|bytes| bytes.try_into().ok());
    stamp.map_or(marker.begin, u64::from_be_bytes)
}

impl Missed {
    /// Bytes of a block that tells of losses by three causes, the most that there are.
    const TOLD_LEN: usize = BlockMarker::LEN + 3 * 27;

    /// Adds a block: the time of its first event, its events and their bytes, and the losses that it
    /// told of.
    pub(crate) fn add(
        &mut self,
        cap: Option<CapNo>,
        begin: u64,
        (events, bytes): (u64, u64),
        losses: Losses,
    ) {
        let gap = self.0.entry(cap).or_insert(Gap {
            since: begin,
            events: 0,
            bytes: 0,
            losses: Losses::default(),
        });
        gap.since = gap.since.min(begin);
        gap.events += events;
        gap.bytes += bytes;
        gap.losses.add(losses);
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was missed elsewhere.
    pub(crate) fn merge(&mut self, other: Missed) {
        for (cap, gap) in other.0 {
            let (content, losses) = ((gap.events, gap.bytes), gap.losses);
            self.add(cap, gap.since, content, losses);
        }
    }

    /// Bytes of the blocks that tell of it.
    pub(crate) fn told_len(&self) -> usize {
        self.0.len() * Self::TOLD_LEN
    }

    /// Takes out the blocks that tell of it, one for each capability.
    pub(crate) fn take_told(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        std::mem::take(&mut self.0).into_iter().map(|(cap, gap)| {
            let mut body = Vec::new();
            gap.losses.tell(gap.since, &mut body);
            // A block can have told of nothing else.
            if gap.events != 0 {
                let lost = Event::EventsLost {
                    cause: LossCause::Sink,
                    events: gap.events,
                    bytes: gap.bytes,
                };
                lost.encode_to_vec(gap.since, &mut body);
            }
            let marker = BlockMarker {
                begin: gap.since,
                size: (BlockMarker::LEN + body.len()) as u32,
                end: gap.since,
                cap,
            };
            [&marker.encode(), &body[..]].concat()
        })
    }
}
