//! What can be asked of the run-time system: that it hands over what is in its own buffers, and that these get
//! another size. How that is done depends on its release, and on what the program is linked with:
//! functions that the program has [registered](Functions) (the shim does), or one that is found by its name.

use crate::code::{Code, Failure, Outcome, entry};
use crate::object::null;
use ghc_eventlog::format::Header;
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// An event that run-time systems declare whose `flushEventLog` hands over what is in the buffers: those of GHC 9.2 and
/// later. In 9.0 a function of that name does something else.
const OF_GHC_9_2: u16 = 90;

/// `evl_ghc_rts`
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Functions {
    size: u64,
    flush: Option<unsafe extern "C" fn() -> c_int>,
    resize: Option<unsafe extern "C" fn(u64) -> c_int>,
    buffer_bytes: Option<unsafe extern "C" fn() -> u64>,
}

/// What has been registered last; what was before stays where it is, for those who have looked. No lock: it could be
/// held when the process is forked.
static REGISTERED: AtomicPtr<Functions> = AtomicPtr::new(ptr::null_mut());

fn registered() -> Option<Functions> {
    // Acquire: pairs with the Release in `evl_ghc_set_rts`.
    let found = REGISTERED.load(Ordering::Acquire);
    // SAFETY: null, or made there and never freed.
    unsafe { found.as_ref() }.copied()
}

/// Makes the run-time system hand over what it holds. Says whether it has, all of it. No lock may be held: the
/// threads of the program are stopped for it, and the writer is called.
pub(super) fn flush(header: Option<&Header>) -> bool {
    if let Some(flush) = registered().and_then(|functions| functions.flush) {
        // SAFETY: who registered it says that it can be called by whoever may call this library's functions.
        return unsafe { flush() } == 0;
    }
    if header.is_none_or(|header| header.size(OF_GHC_9_2).is_none()) {
        return false;
    }
    // SAFETY: the name ends with a NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"flushEventLog".as_ptr()) };
    if found.is_null() {
        return false;
    }
    // SAFETY: it is the run-time system's function of that name, as its release is one that has it with this type.
    let flush =
        unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut *mut c_void)>(found) };
    // SAFETY: without a capability, which the header of this library asks its caller not to hold.
    unsafe { flush(ptr::null_mut()) };
    true
}

/// Gives the buffers of the run-time system another size. Says whether it could be asked to.
///
/// # Errors
/// Where it has refused.
pub(super) fn resize(bytes: u64) -> Outcome<bool> {
    let Some(resize) = registered().and_then(|functions| functions.resize) else {
        return Ok(false);
    };
    // SAFETY: as in `flush`.
    match unsafe { resize(bytes) } {
        0 => Ok(true),
        _ => Err(Failure::new(
            Code::Memory,
            format!("no memory for buffers of {bytes} bytes each in the run-time system"),
        )),
    }
}

/// Bytes of each of the run-time system's buffers, where that can be known.
pub(super) fn buffer_bytes() -> Option<u64> {
    let ask = registered()?.buffer_bytes?;
    // SAFETY: as in `flush`.
    let bytes = unsafe { ask() };
    (bytes != 0).then_some(bytes)
}

/// `evl_ghc_set_rts`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_ghc_set_rts(functions: *const Functions) -> c_int {
    entry(|| {
        if functions.is_null() {
            return Err(null("functions"));
        }
        // SAFETY: the header asks for a structure that begins with its size.
        let size = unsafe { (*functions).size };
        if size != mem::size_of::<Functions>() as u64 {
            let text = format!(
                "evl_ghc_rts of {size} bytes: it has {}",
                mem::size_of::<Functions>()
            );
            return Err(Failure::new(Code::Size, text));
        }
        // SAFETY: it is of that size.
        let functions = unsafe { *functions };
        // Release: pairs with the Acquire in `registered`.
        REGISTERED.store(Box::into_raw(Box::new(functions)), Ordering::Release);
        Ok(())
    })
}
