//! The five functions of the request of 2016, by its names and with its types. They return what it says; why one
//! has not done what it was asked for, `evl_last_error` tells.

use super::control::resize;
use super::process::Process;
use super::rts;
use crate::code::{Outcome, entry};
use crate::log::not_in_sink;
use crate::object::Out;
use ghc_eventlog::{Previous, Start};
use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// `rts_setEventLogSink`
#[unsafe(no_mangle)]
extern "C" fn rts_setEventLogSink(sink: *mut libc::FILE, close_prev: c_int, emit_header: c_int) {
    entry(|| {
        not_in_sink()?;
        let previous = match close_prev {
            0 => Previous::Keep,
            _ => Previous::Close,
        };
        let start = match emit_header {
            0 => Start::Continue,
            _ => Start::Header,
        };
        let process = Process::current();
        process.gather();
        process.set_stream(NonNull::new(sink), previous, start)
    });
}

/// `rts_getEventLogSink`
#[unsafe(no_mangle)]
extern "C" fn rts_getEventLogSink() -> *mut libc::FILE {
    let mut found = ptr::null_mut();
    entry(|| {
        let stream = Process::current().stream()?;
        found = stream.map_or(ptr::null_mut(), NonNull::as_ptr);
        Ok(())
    });
    found
}

/// `rts_getEventLogChunk`
#[unsafe(no_mangle)]
unsafe extern "C" fn rts_getEventLogChunk(chunk: *mut *mut i8) -> u64 {
    let mut len = 0;
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut chunk = unsafe { Out::new(chunk, "chunk") }?;
        chunk.put(ptr::null_mut());
        let Some(memory) = Process::current().memory()? else {
            return Ok(());
        };
        let (copy, copied) = memory.popper()?.copy(0)?;
        chunk.put(copy.as_ptr().cast());
        len = copied as u64;
        Ok(())
    });
    len
}

/// `rts_resizeEventLog`
#[unsafe(no_mangle)]
extern "C" fn rts_resizeEventLog(size: u64) {
    entry(|| resize(size).map(drop));
}

/// `rts_getEventLogBuffersSize`
#[unsafe(no_mangle)]
extern "C" fn rts_getEventLogBuffersSize() -> u64 {
    let mut bytes = 0;
    entry(|| {
        bytes = buffers_size()?;
        Ok(())
    });
    bytes
}

/// That of each of the run-time system's buffers, where it can be known; else the log's budget.
fn buffers_size() -> Outcome<u64> {
    let object = Process::current().object()?;
    Ok(rts::buffer_bytes().unwrap_or(object.log.buffers_size() as u64))
}
