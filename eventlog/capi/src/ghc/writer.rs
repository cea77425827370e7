//! `evl_ghc_writer`: the functions that the run-time system calls. They may be called by several threads at
//! once, with locks of the run-time system held, and never fail: after a write that is refused it loses what was
//! in its buffer, and the block marker of what follows.

use super::process::Process;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// `EventLogWriter` of GHC 9.0 to 9.14.
#[repr(C)]
pub(super) struct EventLogWriter {
    init: unsafe extern "C" fn(),
    write: unsafe extern "C" fn(*mut c_void, usize) -> bool,
    flush: unsafe extern "C" fn(),
    stop: unsafe extern "C" fn(),
}

/// `evl_ghc_writer`
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
static evl_ghc_writer: EventLogWriter = EventLogWriter {
    init,
    write,
    flush,
    stop,
};

/// Runs it, and lets no panic out.
fn guarded(run: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(run));
}

unsafe extern "C" fn init() {
    guarded(|| Process::current().set_running(true));
}

unsafe extern "C" fn write(bytes: *mut c_void, len: usize) -> bool {
    if !bytes.is_null() && len <= isize::MAX as usize {
        // SAFETY: the run-time system says that so many bytes are there, and leaves them alone meanwhile.
        let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>().cast_const(), len) };
        guarded(|| Process::current().write(bytes));
    }
    true
}

/// What has been handed over is on its way already.
unsafe extern "C" fn flush() {}

unsafe extern "C" fn stop() {
    guarded(|| Process::current().pause());
}
