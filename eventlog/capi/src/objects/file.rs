//! The file of an object, looked into before anything of it runs: `evl_object_file` and its functions.

use super::cost_centres::CostCentreList;
use super::info::{CObjectInfo, Info, check_failure};
use super::own_process;
use crate::code::{Code, Failure, Outcome, entry};
use crate::object::{Id, Out};
use crate::sized::Filled;
use crate::text;
use ghc_eventlog::objects::{HostExports, inspect};
use std::ffi::{c_char, c_int};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `evl_object_file` stands for.
pub(crate) struct ObjectFile {
    info: Info,
    cost_centres: Arc<CostCentreList>,
}

/// What the program exports for its objects besides what the library does.
static EXPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What begins otherwise is left to the dynamic linker.
const PREFIX: &str = "evl_";

fn exported() -> MutexGuard<'static, Vec<String>> {
    // Each change is one call.
    EXPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the program exports besides.
pub(super) fn exports() -> Vec<String> {
    exported().clone()
}

fn look_into(bytes: &[u8], path: &Path) -> Outcome<ObjectFile> {
    let host = HostExports::complete().with(exports());
    let info = inspect(bytes, &host).map_err(|error| check_failure(&error))?;
    Ok(ObjectFile {
        info: Info::new(&info, path, 0, &info.name, info.cost_centres.len()),
        cost_centres: Arc::new(CostCentreList::of_file(&info)),
    })
}

/// `evl_objects_export`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_export(name: *const c_char) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a text that ends with a NUL.
        let name = unsafe { text::utf8_z(name, "name") }?;
        own_process()?;
        if !name.starts_with(PREFIX) {
            let text = format!(
                "{name:?} does not begin with {PREFIX}: such symbols objects find by themselves"
            );
            return Err(Failure::new(Code::Argument, text));
        }
        let mut exports = exported();
        if !exports.iter().any(|known| known == name) {
            exports.push(name.to_owned());
        }
        Ok(())
    })
}

/// `evl_objects_inspect`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_inspect(
    path: *const c_char,
    out: *mut Id<Arc<ObjectFile>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "file") }?;
        // SAFETY: the header asks for a text that ends with a NUL.
        let path = unsafe { text::path(path, "path") }?;
        own_process()?;
        let shown = path.display().to_string();
        let bytes =
            fs::read(path).map_err(|error| Failure::new(Code::Io, format!("{shown}: {error}")))?;
        let file = look_into(&bytes, path).map_err(|failure| {
            let text = format!("{shown}: {}", failure.text());
            Failure::new(failure.code, text)
        })?;
        out.put(Id::new(Arc::new(file))?);
        Ok(())
    })
}

/// `evl_objects_inspect_bytes`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_objects_inspect_bytes(
    bytes: *const u8,
    len: usize,
    out: *mut Id<Arc<ObjectFile>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "file") }?;
        // SAFETY: the header asks for so many bytes.
        let bytes = unsafe { text::bytes(bytes, len, "bytes") }?;
        own_process()?;
        out.put(Id::new(Arc::new(look_into(bytes, Path::new(""))?))?);
        Ok(())
    })
}

/// `evl_object_file_info`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_object_file_info(
    file: Id<Arc<ObjectFile>>,
    out: *mut CObjectInfo,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a structure with its size.
        let mut out = unsafe { Filled::new(out) }?;
        file.read(|file| out.put(&file.info.for_c()))
    })
}

/// `evl_object_file_cost_centres`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_object_file_cost_centres(
    file: Id<Arc<ObjectFile>>,
    out: *mut Id<Arc<CostCentreList>>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "list") }?;
        let list = file.read(|file| Arc::clone(&file.cost_centres))?;
        out.put(Id::new(list)?);
        Ok(())
    })
}

/// `evl_object_file_release`
#[unsafe(no_mangle)]
extern "C" fn evl_object_file_release(file: Id<Arc<ObjectFile>>) -> c_int {
    entry(|| file.take().map(drop))
}
