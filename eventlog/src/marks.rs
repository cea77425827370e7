//! Which events the program has marked as sticky, from when they are emitted until the collector has
//! come to them.

use crate::format::{CapNo, Encode, RawEvent};
use std::collections::BTreeMap;
use std::mem;

/// An event that is replayed until it is removed; see
/// [`EventLog::emit_sticky`](crate::EventLog::emit_sticky).
///
/// ```
/// use ghc_eventlog::{EventLog, format::Event};
///
/// let log = EventLog::builder().start(Vec::new())?;
/// let phase = log.emit_sticky(&Event::UserMarker { name: "phase 1" })?;
/// log.remove_sticky(phase);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StickyId(u64);

/// Where an event will be seen: its capability and its time, and its number, as there may be several.
type Place = (Option<CapNo>, u64, u64);

/// An event that has been emitted, and not seen in a block yet.
#[derive(Debug)]
struct Pending {
    removed: bool,
    bytes: Vec<u8>,
    /// Passes that had ended when it was emitted.
    passes: u64,
}

/// Marks of which nobody asks why they are there.
const MANY: usize = 256;

/// What the program said of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It is to be replayed.
    Sticky(u64),
    /// It was to be, and no more.
    Removed,
}

#[derive(Debug, Default)]
pub(crate) struct Marks {
    next: u64,
    pending: BTreeMap<Place, Pending>,
    /// Where each of them is, by its number.
    places: BTreeMap<u64, Place>,
    removed: Vec<u64>,
    passes: u64,
}

impl Marks {
    /// Marks an event that has been emitted while the marks were held: the collector, which takes
    /// them when it has read a block, finds the mark of what is in it.
    pub(crate) fn add(
        &mut self,
        cap: Option<CapNo>,
        time: u64,
        event: &(impl Encode + ?Sized),
    ) -> StickyId {
        let id = self.number();
        let mut bytes = Vec::new();
        event.encode_to_vec(time, &mut bytes);
        let pending = Pending {
            removed: false,
            bytes,
            passes: self.passes,
        };
        let place = (cap, time, id.0);
        self.pending.insert(place, pending);
        self.places.insert(id.0, place);
        id
    }

    /// The name of an event that needs no mark.
    pub(crate) fn number(&mut self) -> StickyId {
        self.next += 1;
        StickyId(self.next)
    }

    pub(crate) fn remove(&mut self, id: StickyId) {
        let StickyId(number) = id;
        let place = self.places.get(&number);
        match place.and_then(|place| self.pending.get_mut(place)) {
            Some(mark) => mark.removed = true,
            None => self.removed.push(number),
        }
    }

    /// Whether there are so many that some are worth being looked for: those of events that were overwritten.
    pub(crate) fn wants_settling(&self) -> bool {
        self.pending.len() > MANY
    }

    /// A pass over all buffers has ended, or a cut. What a capability had emitted when it began has been seen, or was
    /// overwritten in its buffer and never will be. So it is with the shared buffer where the pass was
    /// `settled`: where no writer that had begun before was left. Behind an event that is still being written,
    /// others are not seen.
    pub(crate) fn end_pass(&mut self, settled: bool) {
        let passes = self.passes;
        self.passes += 1;
        let places = &mut self.places;
        self.pending.retain(|(cap, _, number), mark| {
            let may_come = mark.passes == passes || (cap.is_none() && !settled);
            if !may_come {
                places.remove(number);
            }
            may_come
        });
    }

    /// What has been removed since it was last asked.
    pub(crate) fn take_removed(&mut self) -> Vec<u64> {
        mem::take(&mut self.removed)
    }

    /// The mark of an event in a block of that capability, if it has one.
    pub(crate) fn take(&mut self, cap: Option<CapNo>, event: &RawEvent<'_>) -> Option<Mark> {
        let here = (cap, event.time, 0)..=(cap, event.time, u64::MAX);
        let found = self
            .pending
            .range(here)
            .find(|(_, mark)| mark.bytes == event.bytes());
        let place = *found?.0;
        let (_, _, number) = place;
        self.places.remove(&number);
        let Pending { removed, .. } = self.pending.remove(&place)?;
        Some(match removed {
            false => Mark::Sticky(number),
            true => Mark::Removed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Event, Header, events};

    #[test]
    fn marks_of_one_moment_are_taken_in_order_and_only_by_their_own_events() {
        let mut marks = Marks::default();
        let own = Some(CapNo::default());
        let messages = ["a", "b", "a"].map(|text| Event::UserMessage { text });
        let ids = messages.map(|event| marks.add(own, 7, &event));
        marks.remove(ids[2]);
        let take = |marks: &mut Marks, cap, time, event: &Event<'_>| {
            let mut bytes = Vec::new();
            event.encode_to_vec(time, &mut bytes);
            let raw = events(&bytes, Header::standard()).next().unwrap().unwrap();
            marks.take(cap, &raw)
        };
        let [a, b, _] = messages;
        assert_eq!(take(&mut marks, None, 7, &a), None);
        assert_eq!(take(&mut marks, own, 6, &a), None);
        assert_eq!(take(&mut marks, own, 7, &b), Some(Mark::Sticky(ids[1].0)));
        assert_eq!(take(&mut marks, own, 7, &a), Some(Mark::Sticky(ids[0].0)));
        assert_eq!(take(&mut marks, own, 7, &a), Some(Mark::Removed));
        assert_eq!(take(&mut marks, own, 7, &a), None);
        // The event has been seen: the set of sticky events has to forget it.
        marks.remove(ids[0]);
        assert_eq!(marks.take_removed(), [ids[0].0]);
    }

    #[test]
    fn the_mark_of_an_event_that_is_never_seen_goes_after_the_next_whole_pass() {
        let mut marks = Marks::default();
        let event = Event::UserMessage { text: "lost" };
        let own = Some(CapNo::default());
        let left = |marks: &Marks| {
            assert_eq!(marks.pending.len(), marks.places.len());
            let mut times: Vec<_> = marks.pending.keys().map(|(_, time, _)| *time).collect();
            times.sort_unstable();
            times
        };
        marks.end_pass(true);
        marks.add(own, 7, &event);
        marks.add(None, 8, &event);
        // This pass may have begun before.
        marks.end_pass(true);
        marks.add(own, 9, &event);
        assert_eq!(left(&marks), [7, 8, 9]);
        marks.end_pass(false);
        assert_eq!(left(&marks), [8, 9]);
        marks.end_pass(false);
        assert_eq!(left(&marks), [8]);
        marks.end_pass(true);
        assert_eq!(left(&marks), [0; 0]);
    }
}
