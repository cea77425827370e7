//! `evl_ghc_*`: the log that the run-time system writes, for whoever knows of handles.

use super::environment::LEAST_BUDGET;
use super::process::Process;
use super::rts;
use crate::code::{Code, Failure, entry};
use crate::log::{LogObject, not_in_sink, read_previous, read_start};
use crate::object::{Id, Out};
use crate::signals::PipeBlocked;
use crate::sink::SinkObject;
use crate::text;
use ghc_eventlog::Address;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Buffers of the run-time system that the log has room for where both are resized.
const BUFFERS: u64 = 8;

/// `evl_ghc_log`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_log(out: *mut Id<Arc<LogObject>>) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "log") }?;
        out.put(Process::current().id()?);
        Ok(())
    })
}

/// `evl_ghc_set_sink`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_set_sink(
    sink: Id<Arc<SinkObject>>,
    previous: c_int,
    start: c_int,
    exact: *mut c_int,
) -> c_int {
    entry(|| {
        let (previous, start) = (read_previous(previous)?, read_start(start)?);
        let sink = sink.get()?;
        not_in_sink()?;
        let process = Process::current();
        // SAFETY: the header asks for null or a valid place.
        unsafe { put(exact, process.gather()) };
        process.set_sink(sink, previous, start)
    })
}

/// `evl_ghc_flush`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_flush(exact: *mut c_int) -> c_int {
    entry(|| {
        not_in_sink()?;
        let process = Process::current();
        let object = process.object()?;
        // SAFETY: the header asks for null or a valid place.
        unsafe { put(exact, process.gather()) };
        let _blocked = PipeBlocked::new();
        let flushed = object.log.flush();
        flushed.map_err(|error| Failure::from_io(Code::Sink, &error, &error))
    })
}

/// `evl_ghc_resize`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_resize(bytes: u64, both: *mut c_int) -> c_int {
    entry(|| {
        let is_rts = resize(bytes)?;
        // SAFETY: the header asks for null or a valid place.
        unsafe { put(both, is_rts) };
        Ok(())
    })
}

/// `evl_ghc_set_stream`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_set_stream(
    stream: *mut libc::FILE,
    previous: c_int,
    start: c_int,
    exact: *mut c_int,
) -> c_int {
    entry(|| {
        let (previous, start) = (read_previous(previous)?, read_start(start)?);
        not_in_sink()?;
        let process = Process::current();
        // SAFETY: the header asks for null or a valid place.
        unsafe { put(exact, process.gather()) };
        process.set_stream(std::ptr::NonNull::new(stream), previous, start)
    })
}

/// `evl_ghc_chunk_header`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_chunk_header(bytes: *mut *mut u8, len: *mut usize) -> c_int {
    entry(|| {
        // SAFETY: the header asks for valid places.
        let (mut bytes, mut len) = unsafe { (Out::new(bytes, "bytes")?, Out::new(len, "len")?) };
        let memory = Process::current().memory()?;
        let memory = memory.ok_or_else(|| Failure::of(Code::Empty))?;
        let (copy, copied) = memory.popper()?.header()?;
        bytes.put(copy.as_ptr());
        len.put(copied);
        Ok(())
    })
}

/// `evl_ghc_listen`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_listen(path: *const c_char) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        Process::current().listen(Address::Unix(path.to_owned()))
    })
}

/// `evl_ghc_snapshot`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_snapshot(path: *const c_char) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        not_in_sink()?;
        let object = Process::current().object()?;
        let _blocked = PipeBlocked::new();
        object.snapshot_to(path)
    })
}

/// Resizes the buffers of the run-time system, if that is possible, and the log's budget. Says whether it was.
pub(super) fn resize(bytes: u64) -> crate::code::Outcome<bool> {
    let process = Process::current();
    let object = process.object()?;
    if bytes < LEAST_BUDGET as u64 {
        let text = format!("buffers of {bytes} bytes: at least {LEAST_BUDGET} are needed");
        return Err(Failure::new(Code::Argument, text));
    }
    let is_rts = rts::resize(bytes)?;
    let budget = match is_rts {
        true => bytes.saturating_mul(BUFFERS).max(process.usual_budget()),
        false => bytes,
    };
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let resized = object.log.resize(budget);
    resized.map_err(|error| Failure::from_error(Code::Argument, &error))?;
    Ok(is_rts)
}

/// Tells something that the caller may not want to know.
///
/// # Safety
/// `out` is null or valid for writes.
unsafe fn put(out: *mut c_int, value: bool) {
    // SAFETY: as the caller says.
    if let Ok(mut out) = unsafe { Out::new(out, "out") } {
        out.put(value.into());
    }
}
