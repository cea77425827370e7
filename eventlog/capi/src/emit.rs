//! How events come from C: as the bytes of a payload, as text, or as values. The functions of a log's
//! shared buffer are here; those of a capability are [beside it](crate::capability).

use crate::code::{Code, Failure, Outcome, entry};
use crate::log::LogObject;
use crate::object::Id;
use crate::text;
use crate::user_type::{CValue, with_values};
use ghc_eventlog::EmitError;
use ghc_eventlog::format::{
    Decoded, Encode, Event, EventSize, FIXED_HEAD, Header, MAX_PAYLOAD, UserEventType,
    VARIABLE_HEAD,
};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// What emits.
pub(crate) trait Emit {
    type Done;

    fn emit(self, event: &(impl Encode + ?Sized)) -> Result<Self::Done, EmitError>;
}

impl Emit for &LogObject {
    type Done = ();

    fn emit(self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        self.log.try_emit(event)
    }
}

/// Whether an event was taken in.
fn taken<T>(outcome: Result<T, EmitError>) -> Outcome<T> {
    outcome.map_err(|error| match error {
        EmitError::Full => Failure::of(Code::Full),
        EmitError::Stopped => Failure::of(Code::Stopped),
        EmitError::Relayed => Failure::of(Code::Relayed),
        error => Failure::from_error(Code::Undeclared, &error),
    })
}

/// Emits an event of that type, whose payload is these bytes.
///
/// # Errors
/// Where they are not, or it is not taken in.
#[inline]
pub(crate) fn payload<E: Emit>(
    emit: E,
    header: &Header,
    id: u16,
    payload: &[u8],
) -> Outcome<E::Done> {
    if payload.len() > MAX_PAYLOAD {
        return Err(too_large(id, payload.len()));
    }
    let head = match header.size(id) {
        Some(EventSize::Fixed(_)) => FIXED_HEAD,
        Some(EventSize::Variable) => VARIABLE_HEAD,
        None => return Err(undeclared(id)),
    };
    let decoded = header.decode(id, payload).map_err(|error| {
        let text = format!(
            "{} bytes as the payload of an event: {error}",
            payload.len()
        );
        Failure::new(Code::Payload, text)
    })?;
    let event: &dyn Encode = match &decoded {
        Decoded::Known(event) => event,
        Decoded::User(event) => event,
        Decoded::Other { .. } => return Err(not_emitted(id)),
    };
    let len = event.encoded_len() - head;
    if len != payload.len() {
        return Err(wrong_length(id, payload.len(), len));
    }
    taken(match &decoded {
        Decoded::Known(event) => emit.emit(event),
        Decoded::User(event) => emit.emit(event),
        Decoded::Other { .. } => return Err(not_emitted(id)),
    })
}

#[cold]
fn too_large(id: u16, len: usize) -> Failure {
    let text = format!(
        "{len} bytes as the payload of an event of type {id}: at most {MAX_PAYLOAD} are possible"
    );
    Failure::new(Code::TooLarge, text)
}

#[cold]
fn undeclared(id: u16) -> Failure {
    taken::<()>(Err(EmitError::Undeclared { id }))
        .err()
        .unwrap_or_else(|| Failure::of(Code::Undeclared))
}

#[cold]
fn not_emitted(id: u16) -> Failure {
    let text = format!(
        "events of type {id} are no program's to emit: the log's own, reserved, or of an old GHC"
    );
    Failure::new(Code::Undeclared, text)
}

#[cold]
fn wrong_length(id: u16, len: usize, expected: usize) -> Failure {
    let text = format!(
        "{len} bytes as the payload of an event of type {id}, whose fields take {expected}"
    );
    Failure::new(Code::Payload, text)
}

/// Emits an event that is made of values.
///
/// # Errors
/// Where they are not those of such an event, or it is not taken in.
///
/// # Safety
/// As for [`with_values`].
pub(crate) unsafe fn values<E: Emit>(
    emit: E,
    ty: Id<Arc<UserEventType>>,
    from: *const CValue,
    len: usize,
) -> Outcome<E::Done> {
    let ty = ty.get()?;
    // SAFETY: as the caller says.
    unsafe {
        with_values(from, len, |values| {
            let event = ty.event(values);
            let event = event.map_err(|error| Failure::from_error(Code::Payload, &error))?;
            taken(emit.emit(&event))
        })
    }
}

/// Emits a message.
///
/// # Errors
/// Where the text is null, or the event is not taken in.
///
/// # Safety
/// As for [`text::lossy`].
#[inline]
pub(crate) unsafe fn message<E: Emit>(
    emit: E,
    text: *const c_char,
    len: usize,
) -> Outcome<E::Done> {
    // SAFETY: as the caller says.
    let text = unsafe { text::lossy(text, len, "text") }?;
    taken(emit.emit(&Event::UserMessage { text: &text }))
}

/// Emits a marker.
///
/// # Errors
/// Where the text is null, or the event is not taken in.
///
/// # Safety
/// As for [`text::lossy`].
#[inline]
pub(crate) unsafe fn marker<E: Emit>(emit: E, text: *const c_char, len: usize) -> Outcome<E::Done> {
    // SAFETY: as the caller says.
    let text = unsafe { text::lossy(text, len, "text") }?;
    taken(emit.emit(&Event::UserMarker { name: &text }))
}

/// `evl_emit`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_emit(
    log: Id<Arc<LogObject>>,
    id: u16,
    bytes: *const u8,
    len: usize,
) -> c_int {
    entry(|| {
        let log = log.get()?;
        // SAFETY: the header asks for so many bytes.
        let bytes = unsafe { text::bytes(bytes, len, "payload") }?;
        payload(&*log, &log.header, id, bytes)
    })
}

/// `evl_emit_values`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_emit_values(
    log: Id<Arc<LogObject>>,
    ty: Id<Arc<UserEventType>>,
    from: *const CValue,
    len: usize,
) -> c_int {
    // SAFETY: the header asks for it.
    entry(|| unsafe { values(&*log.get()?, ty, from, len) })
}

/// `evl_message`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_message(
    log: Id<Arc<LogObject>>,
    text: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: the header asks for it.
    entry(|| unsafe { message(&*log.get()?, text, len) })
}

/// `evl_marker`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_marker(log: Id<Arc<LogObject>>, text: *const c_char, len: usize) -> c_int {
    // SAFETY: the header asks for it.
    entry(|| unsafe { marker(&*log.get()?, text, len) })
}
