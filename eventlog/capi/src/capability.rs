//! What one thread writes its events with: `evl_capability` and its functions.

use crate::code::{Code, entry};
use crate::emit::{self, Emit};
use crate::log::{LogObject, failure};
use crate::object::{Id, Out};
use crate::signals::PipeBlocked;
use crate::sticky::StickyObject;
use crate::text;
use crate::user_type::CValue;
use ghc_eventlog::format::{Encode, Header, UserEventType};
use ghc_eventlog::{Capability, CapabilityError, EmitError, StickyId};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// What `evl_capability` stands for.
pub(crate) struct CapabilityObject {
    pub(crate) capability: Capability,
    /// The log's. It does not keep the log from ending.
    header: Arc<Header>,
    log: Id<Arc<LogObject>>,
}

impl Emit for &mut Capability {
    type Done = ();

    #[inline]
    fn emit(self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        self.try_emit(event)
    }
}

/// Emits sticky events.
struct Sticky<'c>(&'c mut Capability);

impl Emit for Sticky<'_> {
    type Done = StickyId;

    fn emit(self, event: &(impl Encode + ?Sized)) -> Result<StickyId, EmitError> {
        self.0.emit_sticky(event)
    }
}

/// A handle of a capability.
type CapabilityId = Id<Box<CapabilityObject>>;

/// `evl_capability_new`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_new(log: Id<Arc<LogObject>>, out: *mut CapabilityId) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "capability") }?;
        let object = log.get()?;
        // Where the shared buffer is half full, this thread writes it out.
        let _blocked = PipeBlocked::new();
        let capability = object.log.capability().map_err(|error| {
            let code = match error {
                CapabilityError::Exhausted { .. } => Code::Limit,
                CapabilityError::Stopped => Code::Stopped,
                CapabilityError::Forked => Code::Forked,
                CapabilityError::Relayed => Code::Relayed,
                _ => Code::Memory,
            };
            failure(code, &error)
        })?;
        let header = Arc::clone(&object.header);
        out.put(Id::new(Box::new(CapabilityObject {
            capability,
            header,
            log,
        }))?);
        Ok(())
    })
}

/// `evl_capability_release`
#[unsafe(no_mangle)]
extern "C" fn evl_capability_release(capability: CapabilityId) -> c_int {
    entry(|| capability.take().map(drop))
}

/// `evl_capability_number`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_number(capability: CapabilityId, out: *mut u16) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "number") }?;
        capability.exclusive(|object| {
            out.put(object.capability.number().get());
            Ok(())
        })
    })
}

/// `evl_capability_emit`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_emit(
    capability: CapabilityId,
    id: u16,
    bytes: *const u8,
    len: usize,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for so many bytes.
        let bytes = unsafe { text::bytes(bytes, len, "payload") }?;
        capability
            .exclusive(|object| emit::payload(&mut object.capability, &object.header, id, bytes))
    })
}

/// `evl_capability_emit_values`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_emit_values(
    capability: CapabilityId,
    ty: Id<Arc<UserEventType>>,
    values: *const CValue,
    len: usize,
) -> c_int {
    entry(|| {
        capability.exclusive(|object| {
            // SAFETY: the header asks for it.
            unsafe { emit::values(&mut object.capability, ty, values, len) }
        })
    })
}

/// `evl_capability_message`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_message(
    capability: CapabilityId,
    text: *const c_char,
    len: usize,
) -> c_int {
    entry(|| {
        capability.exclusive(|object| {
            // SAFETY: the header asks for it.
            unsafe { emit::message(&mut object.capability, text, len) }
        })
    })
}

/// `evl_capability_marker`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_marker(
    capability: CapabilityId,
    text: *const c_char,
    len: usize,
) -> c_int {
    entry(|| {
        capability.exclusive(|object| {
            // SAFETY: the header asks for it.
            unsafe { emit::marker(&mut object.capability, text, len) }
        })
    })
}

/// `evl_capability_emit_sticky`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_capability_emit_sticky(
    capability: CapabilityId,
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
        let (log, id) = capability.exclusive(|object| {
            let emit = Sticky(&mut object.capability);
            let id = emit::payload(emit, &object.header, id, bytes)?;
            Ok((object.log, id))
        })?;
        out.put(Id::new(StickyObject { log, id })?);
        Ok(())
    })
}
