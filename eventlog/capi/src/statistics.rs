//! What has become of a log's events, as C has it: `evl_statistics` and its functions.

use crate::code::{Code, Failure, entry};
use crate::log::{LogObject, not_in_sink};
use crate::object::Id;
use crate::sized::{Filled, Versioned};
use ghc_eventlog::{BufferStatistics, Lost, ReaderStatistics, Statistics};
use std::ffi::c_int;
use std::sync::Arc;

/// `EVL_SHARED`
const SHARED: u16 = u16::MAX;

/// `evl_lost`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CLost {
    pub(crate) full: u64,
    pub(crate) overwritten: u64,
    pub(crate) stopped: u64,
    pub(crate) sink: u64,
    pub(crate) undeclared: u64,
}

/// `evl_statistics`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CStatistics {
    pub(crate) size: u64,
    pub(crate) elapsed_ns: u64,
    pub(crate) events: u64,
    pub(crate) blocks: u64,
    pub(crate) bytes_written: u64,
    pub(crate) sink_errors: u64,
    pub(crate) sticky_bytes: u64,
    pub(crate) sticky_refused: u64,
    pub(crate) lost: CLost,
    pub(crate) capabilities: u64,
    pub(crate) readers: u64,
    pub(crate) reader_lost_events: u64,
}

/// `evl_buffer_statistics`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CBufferStatistics {
    pub(crate) size: u64,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) buffer_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) lost: CLost,
}

/// `evl_reader_statistics`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CReaderStatistics {
    pub(crate) size: u64,
    pub(crate) blocks: u64,
    pub(crate) bytes_written: u64,
    pub(crate) queued_bytes: u64,
    pub(crate) lost_events: u64,
    pub(crate) lost_bytes: u64,
    pub(crate) has_failed: u64,
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CStatistics {
    const NAME: &'static str = "evl_statistics";
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CBufferStatistics {
    const NAME: &'static str = "evl_buffer_statistics";
}

// SAFETY: numbers without padding.
unsafe impl Versioned for CReaderStatistics {
    const NAME: &'static str = "evl_reader_statistics";
}

impl CLost {
    fn of(lost: Lost) -> Self {
        CLost {
            full: lost.full,
            overwritten: lost.overwritten,
            stopped: lost.stopped,
            sink: lost.sink,
            undeclared: lost.undeclared,
        }
    }
}

/// The structure's own size is put in where it is copied to.
pub(crate) fn of(statistics: &Statistics) -> CStatistics {
    let readers = statistics.readers.iter();
    let former = statistics.former_readers.lost_events;
    CStatistics {
        size: 0,
        elapsed_ns: u64::try_from(statistics.elapsed.as_nanos()).unwrap_or(u64::MAX),
        events: statistics.events(),
        blocks: statistics.blocks,
        bytes_written: statistics.bytes_written,
        sink_errors: statistics.sink_errors,
        sticky_bytes: statistics.sticky_bytes,
        sticky_refused: statistics.sticky_refused,
        lost: CLost::of(statistics.lost()),
        capabilities: statistics.capabilities.len() as u64,
        readers: statistics.readers.len() as u64,
        reader_lost_events: readers.map(|reader| reader.lost_events).sum::<u64>() + former,
    }
}

fn of_buffer(buffer: &BufferStatistics) -> CBufferStatistics {
    CBufferStatistics {
        size: 0,
        events: buffer.events,
        bytes: buffer.bytes,
        blocks: buffer.blocks,
        buffer_bytes: buffer.size as u64,
        memory_bytes: buffer.memory as u64,
        lost: CLost::of(buffer.lost),
    }
}

pub(crate) fn of_reader(reader: &ReaderStatistics) -> CReaderStatistics {
    CReaderStatistics {
        size: 0,
        blocks: reader.blocks,
        bytes_written: reader.bytes_written,
        queued_bytes: reader.queued_bytes,
        lost_events: reader.lost_events,
        lost_bytes: reader.lost_bytes,
        has_failed: u64::from(reader.error.is_some()),
    }
}

/// `evl_get_statistics`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_get_statistics(log: Id<Arc<LogObject>>, out: *mut CStatistics) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        let log = log.get()?;
        not_in_sink()?;
        out.put(&of(&log.log.statistics()));
        Ok(())
    })
}

/// `evl_get_buffer_statistics`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_get_buffer_statistics(
    log: Id<Arc<LogObject>>,
    number: u16,
    out: *mut CBufferStatistics,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        let log = log.get()?;
        not_in_sink()?;
        let statistics = log.log.statistics();
        let mut capabilities = statistics.capabilities.iter();
        let found = match number {
            SHARED => Some(&statistics.shared),
            number => {
                capabilities.find(|one| one.capability.is_some_and(|cap| cap.get() == number))
            }
        };
        let found = found.ok_or_else(|| {
            let text = format!(
                "no capability has had number {number}: {} have been used, and {SHARED} (EVL_SHARED) is the \
                 shared buffer",
                statistics.capabilities.len()
            );
            Failure::new(Code::Argument, text)
        })?;
        out.put(&of_buffer(found));
        Ok(())
    })
}
