//! The cost centres that the calling thread is in: `evl_stack_*`.

use super::cost_centres::unknown;
use super::own_process;
use crate::code::{Code, Failure, entry};
use crate::object::{Out, null};
use ghc_eventlog::objects::{registry, stack};
use std::ffi::c_int;

/// `evl_stack_enter`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_stack_enter(id: u32, out: *mut u32) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "entered") }?;
        own_process()?;
        // Of an object that is unloaded just now it may be entered all the same: the number stays its own, and defined.
        if registry().cost_centres().get(id).is_none() {
            return Err(unknown(id));
        }
        out.put(stack::enter(id));
        Ok(())
    })
}

/// `evl_stack_leave`
#[unsafe(no_mangle)]
extern "C" fn evl_stack_leave(entered: u32) -> c_int {
    entry(|| {
        let depth = stack::current().depth();
        if entered as usize > depth {
            let text = format!("{entered} is deeper than this thread's stack, which has {depth}");
            return Err(Failure::new(Code::Argument, text));
        }
        stack::leave(entered);
        Ok(())
    })
}

/// `evl_stack_get`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_stack_get(ids: *mut u32, len: usize, out: *mut usize) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "depth") }?;
        if ids.is_null() && len > 0 {
            return Err(null("ids"));
        }
        let current = stack::current();
        for (at, id) in current.ids().take(len).enumerate() {
            // SAFETY: the header asks for room for `len` numbers.
            unsafe { ids.add(at).write(id) };
        }
        out.put(current.depth());
        Ok(())
    })
}
