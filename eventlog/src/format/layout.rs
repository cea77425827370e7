//! Layouts that GHC wrote once and writes no more. Each gives the event of today's layout.

use super::error::EventErrorKind;
use super::event::Event;
use super::value::{KernelThreadId, ThreadId};
use super::wire::{Reader, Wire};

/// The event of type `id` in a payload that does not fit today's layout, for the reason `kind`.
#[cold]
pub(super) fn older(
    id: u16,
    payload: &[u8],
    kind: EventErrorKind,
) -> Result<Event<'_>, EventErrorKind> {
    let EventErrorKind::TooShort { size, least } = kind else {
        return Err(kind);
    };
    let mut input = Reader::new(payload);
    let input = &mut input;
    match (id, size) {
        // Before 7.2.
        (2, 6..) => Ok(Event::StopThread {
            thread: Wire::get(input)?,
            status: Wire::get(input)?,
            info: 0,
        }),
        // Before 8.8.
        (53, 50..) => Ok(Event::GcStatsGhc {
            capset: Wire::get(input)?,
            generation: Wire::get(input)?,
            copied: Wire::get(input)?,
            slop: Wire::get(input)?,
            fragmentation: Wire::get(input)?,
            par_threads: Wire::get(input)?,
            par_max_copied: Wire::get(input)?,
            par_total_copied: Wire::get(input)?,
            par_balanced_copied: 0,
        }),
        // Declared by a development version of 9.1.
        (55, 14..) => Ok(Event::TaskCreate {
            task: Wire::get(input)?,
            cap: Wire::get(input)?,
            kernel_thread: KernelThreadId(u64::from(u32::get(input)?)),
        }),
        // Declared by a development version of 9.1.
        (201, _) => Ok(Event::ConcMarkEnd { marked_objects: 0 }),
        // Before 9.8: the logarithm of the block size.
        (207, 13..) => {
            let log2 = u8::get(input)?;
            let block_size = 1u16
                .checked_shl(u32::from(log2))
                .ok_or(EventErrorKind::Value {
                    field: "logarithm of a block size",
                    value: u64::from(log2),
                })?;
            Ok(Event::NonmovingHeapCensus {
                block_size,
                active_segments: Wire::get(input)?,
                filled_segments: Wire::get(input)?,
                live_blocks: Wire::get(input)?,
            })
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

/// The event of a type that names a thread, as GHC 6.12 wrote it: thread ids take eight bytes.
/// `None` for all other types, which are as they are today.
#[cold]
pub(super) fn wide_threads(id: u16, payload: &[u8]) -> Result<Option<Event<'_>>, EventErrorKind> {
    let least = match id {
        0 | 1 | 3 | 15 => 8,
        2 | 4 | 8 => 10,
        _ => return Ok(None),
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
    Ok(Some(match id {
        0 => Event::CreateThread { thread },
        1 => Event::RunThread { thread },
        2 => Event::StopThread {
            thread,
            status: Wire::get(&mut input)?,
            info: 0,
        },
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
    }))
}
