//! The numbers of capabilities, capability sets and threads in events, found and changed where they
//! lie, whatever the layout after them.

use ghc_eventlog::format::RawEvent;

/// What a number in a payload stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Cap,
    /// A capability in four bytes.
    WideCap,
    Capset,
    Thread,
}

/// Where numbers lie in the payload of a type, in bytes from its start.
fn fields(id: u16, payload: &[u8]) -> &'static [(usize, Kind)] {
    use Kind::{Cap, Capset, Thread, WideCap};
    /// A stop whose further information is a thread.
    const BLOCKED_ON_BLACK_HOLE: [u8; 2] = [0, 8];
    match id {
        2 if payload.get(4..6) == Some(&BLOCKED_ON_BLACK_HOLE) => &[(0, Thread), (6, Thread)],
        0..=3 | 15 | 44 => &[(0, Thread)],
        4 | 8 => &[(0, Thread), (4, Cap)],
        27 | 28 => &[(0, Capset), (4, Cap)],
        25 | 26 | 29..=33 | 43 | 49..=53 | 90 | 91 => &[(0, Capset)],
        39 | 45..=48 | 206 => &[(0, Cap)],
        55 => &[(8, Cap)],
        56 => &[(8, Cap), (10, Cap)],
        167 => &[(0, WideCap)],
        _ => &[],
    }
}

impl Kind {
    const fn len(self) -> usize {
        match self {
            Self::Cap => 2,
            Self::WideCap | Self::Capset | Self::Thread => 4,
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// How many numbers of each kind a log uses: one more than the greatest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) caps: u64,
    pub(crate) capsets: u64,
    pub(crate) threads: u64,
}

impl Numbers {
    /// Takes in the numbers of an event.
    pub(crate) fn see(&mut self, raw: &RawEvent<'_>) {
        if let Some(cap) = raw.cap {
            self.caps = self.caps.max(u64::from(cap.get()) + 1);
        }
        for (at, kind) in fields(raw.id, raw.payload) {
            let Some(bytes) = raw.payload.get(*at..at + kind.len()) else {
                continue;
            };
            let count = u64::from(number(bytes)) + 1;
            let most = match kind {
                Kind::Cap | Kind::WideCap => &mut self.caps,
                Kind::Capset => &mut self.capsets,
                Kind::Thread => &mut self.threads,
            };
            *most = (*most).max(count);
        }
    }

    /// Adds these to the numbers in an event, whose bytes before the payload are `head`. The sums
    /// must be within what numbers of their kind can be.
    pub(crate) fn add_to(&self, id: u16, event: &mut [u8], head: usize) {
        let Some((_, payload)) = event.split_at_mut_checked(head) else {
            return;
        };
        for (at, kind) in fields(id, payload) {
            let Some(bytes) = payload.get_mut(*at..at + kind.len()) else {
                continue;
            };
            let more = match kind {
                Kind::Cap | Kind::WideCap => self.caps,
                Kind::Capset => self.capsets,
                Kind::Thread => self.threads,
            };
            let sum = u64::from(number(bytes)) + more;
            bytes.copy_from_slice(&sum.to_be_bytes()[8 - kind.len()..]);
        }
    }
}
