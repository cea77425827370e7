//! Objects that are loaded: loading, calling and unloading them. `evl_loaded`, `evl_call` and their functions.

use super::cost_centres::CostCentreList;
use super::info::{CObjectInfo, Info, check_failure};
use super::{file, own_process};
use crate::code::{Code, Failure, Outcome, entry};
use crate::log::not_in_sink;
use crate::object::{Id, Out};
use crate::signals::PipeBlocked;
use crate::sized::Filled;
use crate::text;
use ghc_eventlog::objects::{
    BusyReason, LoadError, LoadOptions, Object, Objects, OwnedEntered, Symbol, Unload,
};
use std::ffi::{c_char, c_int, c_void};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// `EVL_DIRECT`
const DIRECT: c_int = 4;

/// `EVL_UNMAPPED`
const UNMAPPED: c_int = 0;

/// `EVL_PINNED`
const PINNED: c_int = 1;

/// What `evl_loaded` stands for.
pub(crate) struct LoadedObject {
    object: Object,
    info: Info,
}

/// What `evl_call` stands for.
pub(crate) struct CallObject(#[expect(dead_code, reason = "it is dropped")] OwnedEntered);

/// A function of an object, whatever its type is.
type Function = unsafe extern "C" fn();

fn load_failure(error: &LoadError) -> Failure {
    let code = match error {
        LoadError::Io { .. } => Code::Io,
        LoadError::Check { path, source } => {
            let failure = check_failure(source);
            let text = format!("{}: {}", path.display(), failure.text());
            return Failure::new(failure.code, text);
        }
        LoadError::Linker { .. } => Code::ObjectLinker,
        LoadError::Table { .. } => Code::ObjectTable,
        LoadError::AlreadyLoaded { .. } => Code::ObjectLoaded,
        LoadError::Init { .. } => Code::ObjectInit,
        LoadError::NumbersSpent { .. } => Code::Limit,
        // `WithinConstructor`; and there is no other.
        _ => Code::ObjectWithin,
    };
    Failure::from_error(code, error)
}

/// `evl_objects_load`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_load(
    path: *const c_char,
    flags: c_int,
    out: *mut Id<Arc<LoadedObject>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "object") }?;
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        if flags & !DIRECT != 0 {
            let text = format!("flags are {flags:#x}: 0 or EVL_DIRECT ({DIRECT}) is possible");
            return Err(Failure::new(Code::Argument, text));
        }
        own_process()?;
        not_in_sink()?;
        let options = LoadOptions::new()
            .direct(flags & DIRECT != 0)
            .exports(file::exports());
        // The logs that are told may be pipes.
        let _blocked = PipeBlocked::new();
        // SAFETY: the header asks for an object that keeps the contract.
        let object = unsafe { Objects::new().load(path, options) };
        let object = object.map_err(|error| load_failure(&error))?;
        let info = Info::new(
            object.info(),
            object.path(),
            object.id().0,
            object.name(),
            object.cost_centres().cost_centres().len(),
        );
        let unhandled = object.clone();
        let id = Id::new(Arc::new(LoadedObject { object, info }));
        if id.is_err() {
            // Nobody has got to know of it, and nobody could unload it.
            let _ = unhandled.unload(Duration::ZERO);
        }
        out.put(id?);
        Ok(())
    })
}

/// `evl_loaded_info`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_info(
    object: Id<Arc<LoadedObject>>,
    out: *mut CObjectInfo,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        object.read(|object| out.put(&object.info.for_c()))
    })
}

/// `evl_loaded_cost_centres`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_cost_centres(
    object: Id<Arc<LoadedObject>>,
    out: *mut Id<Arc<CostCentreList>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "list") }?;
        let object = object.get()?;
        let list = CostCentreList::of(std::iter::once(object.object.cost_centres()));
        out.put(Id::new(Arc::new(list))?);
        Ok(())
    })
}

/// The pointer to what an object exports, while a call is open.
///
/// # Safety
/// `T` is the type of a pointer to it.
unsafe fn symbol<T: Copy>(object: &Object, name: *const c_char) -> Outcome<T> {
    // SAFETY: the header asks for a text that ends with a NUL.
    let name = unsafe { text::nul_ended(name, "name") }?;
    let unloaded = || Failure::of(Code::ObjectUnloaded);
    let entered = object.enter().ok_or_else(unloaded)?;
    // SAFETY: the caller's.
    let symbol: Result<Symbol<T>, _> = unsafe { object.symbol(name) };
    let symbol = symbol.map_err(|error| Failure::from_error(Code::ObjectSymbol, &error))?;
    Ok(entered.get(&symbol))
}

/// `evl_loaded_function`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_function(
    object: Id<Arc<LoadedObject>>,
    name: *const c_char,
    out: *mut Function,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "function") }?;
        // SAFETY: the header asks for the name of a function, and C calls it by its type.
        out.put(unsafe { symbol::<Function>(&object.get()?.object, name) }?);
        Ok(())
    })
}

/// `evl_loaded_variable`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_variable(
    object: Id<Arc<LoadedObject>>,
    name: *const c_char,
    out: *mut *mut c_void,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "variable") }?;
        // SAFETY: any address is such a pointer.
        out.put(unsafe { symbol::<*mut c_void>(&object.get()?.object, name) }?);
        Ok(())
    })
}

/// `evl_loaded_enter`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_enter(
    object: Id<Arc<LoadedObject>>,
    out: *mut Id<CallObject>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "call") }?;
        let entered = object.read(|object| object.object.enter_owned())?;
        let entered = entered.ok_or_else(|| Failure::of(Code::ObjectUnloaded))?;
        out.put(Id::new(CallObject(entered))?);
        Ok(())
    })
}

/// `evl_call_leave`
#[unsafe(no_mangle)]
extern "C" fn evl_call_leave(call: Id<CallObject>) -> c_int {
    entry(|| call.take().map(drop))
}

/// `evl_loaded_unload`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_loaded_unload(
    object: Id<Arc<LoadedObject>>,
    wait_ns: u64,
    outcome: *mut c_int,
    reasons: *mut c_char,
    len: usize,
) -> c_int {
    entry(|| {
        if reasons.is_null() && len > 0 {
            return Err(crate::object::null("reasons"));
        }
        let loaded = object.get()?;
        not_in_sink()?;
        // The logs that are told may be pipes.
        let _blocked = PipeBlocked::new();
        let unloaded = loaded.object.clone().unload(Duration::from_nanos(wait_ns));
        let unloaded = unloaded.map_err(|busy| {
            let code = match busy.reason {
                BusyReason::WithinConstructor => Code::ObjectWithin,
                _ => Code::ObjectInUse,
            };
            Failure::from_error(code, &busy)
        })?;
        // Another thread, which has unloaded it at the same time, may have given the handle back.
        let _ = object.take();
        let (number, text) = match &unloaded {
            Unload::Unmapped => (UNMAPPED, String::new()),
            Unload::Pinned(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                (PINNED, reasons.join("; "))
            }
            // There is no other.
            other => (PINNED, other.to_string()),
        };
        // SAFETY: the header asks for null or a valid place.
        if let Ok(mut outcome) = unsafe { Out::new(outcome, "outcome") } {
            outcome.put(number);
        }
        if len > 0 {
            // SAFETY: the header asks for so many bytes.
            put_text(&text, unsafe {
                slice::from_raw_parts_mut(reasons.cast::<u8>(), len)
            });
        }
        Ok(())
    })
}

/// Writes as much of a text as fits, with a NUL behind it. There is room for that.
fn put_text(text: &str, out: &mut [u8]) {
    let mut end = text.len().min(out.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out[..end].copy_from_slice(&text.as_bytes()[..end]);
    out[end] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        for (len, expected) in [
            (1, &b"\0"[..]),
            (2, b"a\0"),
            (3, b"a\0"),
            (4, b"a\xc3\xa4\0"),
            (6, b"a\xc3\xa4b\0"),
        ] {
            let mut out = vec![7; len];
            put_text("aäb", &mut out);
            assert!(out.starts_with(expected), "{len}: {out:?}");
        }
    }
}
