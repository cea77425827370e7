//! Events that are told to whoever begins to read later: `evl_sticky` and its functions.

use crate::code::entry;
use crate::emit::{self, Emit};
use crate::log::LogObject;
use crate::object::{Id, Out};
use crate::text;
use ghc_eventlog::format::Encode;
use ghc_eventlog::{EmitError, EventLog, StickyId};
use std::ffi::c_int;
use std::sync::Arc;

/// What `evl_sticky` stands for.
pub(crate) struct StickyObject {
    pub(crate) log: Id<Arc<LogObject>>,
    pub(crate) id: StickyId,
}

/// Emits sticky events to the shared buffer.
struct Sticky<'l>(&'l EventLog);

impl Emit for Sticky<'_> {
    type Done = StickyId;

    fn emit(self, event: &(impl Encode + ?Sized)) -> Result<StickyId, EmitError> {
        self.0.emit_sticky(event)
    }
}

/// `evl_emit_sticky`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_emit_sticky(
    log: Id<Arc<LogObject>>,
    id: u16,
    bytes: *const u8,
    len: usize,
    out: *mut Id<StickyObject>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "sticky") }?;
        // SAFETY: the header asks for so many bytes.
        let bytes = unsafe { text::bytes(bytes, len, "payload") }?;
        let object = log.get()?;
        let id = emit::payload(Sticky(&object.log), &object.header, id, bytes)?;
        out.put(Id::new(StickyObject { log, id })?);
        Ok(())
    })
}

/// `evl_sticky_remove`
#[unsafe(no_mangle)]
extern "C" fn evl_sticky_remove(sticky: Id<StickyObject>) -> c_int {
    entry(|| {
        let sticky = sticky.take()?;
        // Where the log is gone, so is what it would tell.
        if let Ok(object) = sticky.log.get() {
            object.log.remove_sticky(sticky.id);
        }
        Ok(())
    })
}
