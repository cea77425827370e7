//! Layouts and codes that GHC wrote once and writes no more. Each gives the event that it would be
//! today.

use super::error::EventErrorKind;
use super::event::Event;
use super::event_type::EventSize;
use super::header::Header;
use super::value::{KernelThreadId, StopStatus, ThreadId};
use super::wire::{Reader, Wire};

/// What a log's numbers mean, as far as payload sizes do not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    Current,
    /// The stop statuses of one release were moved by one.
    Ghc782,
    /// Thread ids take eight bytes.
    Ghc612,
}

/// What a payload of another dialect holds.
pub(super) enum Special<'a> {
    /// What it would hold today.
    AsToday,
    /// This; `None` if there is no [`Event`] for it.
    Event(Option<Event<'a>>),
}

impl Dialect {
    /// The dialect of a log with that header, told by the marks that `ghc-events` goes by.
    pub(super) fn of(header: &Header) -> Self {
        const CREATE_THREAD: u16 = 0;
        const USER_MARKER: u16 = 58;
        const HACK_BUG_T9003: u16 = 59;
        if header.size(CREATE_THREAD) == Some(EventSize::Fixed(8)) {
            Self::Ghc612
        } else if header.size(USER_MARKER).is_some() && header.size(HACK_BUG_T9003).is_none() {
            Self::Ghc782
        } else {
            Self::Current
        }
    }

    /// The event of type `id` in a payload, if it is not what it would be today.
    #[cold]
    pub(super) fn special(self, id: u16, payload: &[u8]) -> Result<Special<'_>, EventErrorKind> {
        match self {
            Self::Current => Ok(Special::AsToday),
            Self::Ghc782 => moved_stop(id, payload),
            Self::Ghc612 => wide_threads(id, payload),
        }
    }
}

/// The event of type `id` in a payload that is unfit for today's layout, for the reason `kind`.
pub(super) fn older(
    id: u16,
    payload: &[u8],
    kind: EventErrorKind,
) -> Result<Option<Event<'_>>, EventErrorKind> {
    let EventErrorKind::TooShort { size, least } = kind else {
        return Err(kind);
    };
    let mut input = Reader::new(payload);
    let input = &mut input;
    match (id, size) {
        // Before 7.2.
        (2, 6..) => {
            let thread = Wire::get(input)?;
            Ok(early_stop(thread, u16::get(input)?))
        }
        // Before 8.8.
        (53, 50..) => Ok(Some(Event::GcStatsGhc {
            capset: Wire::get(input)?,
            generation: Wire::get(input)?,
            copied: Wire::get(input)?,
            slop: Wire::get(input)?,
            fragmentation: Wire::get(input)?,
            par_threads: Wire::get(input)?,
            par_max_copied: Wire::get(input)?,
            par_total_copied: Wire::get(input)?,
            par_balanced_copied: 0,
        })),
        // Declared by a development version of 9.1.
        (55, 14..) => Ok(Some(Event::TaskCreate {
            task: Wire::get(input)?,
            cap: Wire::get(input)?,
            kernel_thread: KernelThreadId(u64::from(u32::get(input)?)),
        })),
        // Declared by a development version of 9.1.
        (201, _) => Ok(Some(Event::ConcMarkEnd { marked_objects: 0 })),
        // Before 9.8: the logarithm of the block size.
        (207, 13..) => {
            let log2 = u8::get(input)?;
            let block_size = 1u16
                .checked_shl(u32::from(log2))
                .ok_or(EventErrorKind::Value {
                    field: "logarithm of a block size",
                    value: u64::from(log2),
                })?;
            Ok(Some(Event::NonmovingHeapCensus {
                block_size,
                active_segments: Wire::get(input)?,
                filled_segments: Wire::get(input)?,
                live_blocks: Wire::get(input)?,
            }))
        }
        _ => {
            let least = match id {
                2 => 6,
                53 => 50,
                55 => 14,
                207 => 13,
                _ => least,
            };
            Err(EventErrorKind::TooShort { size, least })
        }
    }
}

/// A stop before GHC 7.2. A thread that was blocked, on whatever, has a status of its own (4), for
/// which there is no [`StopStatus`].
fn early_stop<'a>(thread: ThreadId, status: u16) -> Option<Event<'a>> {
    let status = StopStatus::from_code(status)?;
    Some(Event::StopThread {
        thread,
        status,
        info: 0,
    })
}

/// A stop of GHC 7.8.2, which put the status that is 20 today between 7 and 8.
fn moved_stop(id: u16, payload: &[u8]) -> Result<Special<'_>, EventErrorKind> {
    if id != 2 || payload.len() < 10 {
        return Ok(Special::AsToday);
    }
    let mut input = Reader::new(payload);
    let thread = Wire::get(&mut input)?;
    let status = match u16::get(&mut input)? {
        8 => StopStatus::BlockedOnMVarRead,
        code => {
            let today = if (9..=14).contains(&code) {
                code - 1
            } else {
                code
            };
            StopStatus::from_code(today).ok_or(EventErrorKind::Value {
                field: "stop status of ghc 7.8.2",
                value: u64::from(code),
            })?
        }
    };
    Ok(Special::Event(Some(Event::StopThread {
        thread,
        status,
        info: Wire::get(&mut input)?,
    })))
}

/// The event of a type that names a thread, as GHC 6.12 wrote it. All other types are as they
/// are today.
fn wide_threads(id: u16, payload: &[u8]) -> Result<Special<'_>, EventErrorKind> {
    let least = match id {
        0 | 1 | 3 | 15 => 8,
        2 | 4 | 8 => 10,
        _ => return Ok(Special::AsToday),
    };
    if payload.len() < least {
        return Err(EventErrorKind::TooShort {
            size: payload.len(),
            least,
        });
    }
    let mut input = Reader::new(payload);
    let wide = u64::get(&mut input)?;
    let thread = u32::try_from(wide)
        .map(ThreadId)
        .map_err(|_| EventErrorKind::Value {
            field: "thread",
            value: wide,
        })?;
    let event = match id {
        2 => return Ok(Special::Event(early_stop(thread, Wire::get(&mut input)?))),
        0 => Event::CreateThread { thread },
        1 => Event::RunThread { thread },
        3 => Event::ThreadRunnable { thread },
        4 => Event::MigrateThread {
            thread,
            to: Wire::get(&mut input)?,
        },
        8 => Event::ThreadWakeup {
            thread,
            other: Wire::get(&mut input)?,
        },
        _ => Event::CreateSparkThread { thread },
    };
    Ok(Special::Event(Some(event)))
}
