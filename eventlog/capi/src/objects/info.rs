//! What there is to know of an object, in its file or loaded: `evl_object_info`.

use super::c_text;
use crate::code::{Code, Failure};
use crate::sized::Versioned;
use ghc_eventlog::objects::{CheckError, ObjectInfo};
use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `evl_object_info`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CObjectInfo {
    pub(crate) size: u64,
    // Side by side, so that there is no padding where pointers have four bytes.
    pub(crate) name: *const c_char,
    pub(crate) path: *const c_char,
    pub(crate) needed: *const c_char,
    pub(crate) pins: *const c_char,
    pub(crate) number: u64,
    pub(crate) way: u64,
    pub(crate) abi_major: u64,
    pub(crate) abi_minor: u64,
    pub(crate) cost_centres: u64,
    pub(crate) constructors: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) registers_itself: u64,
}

// SAFETY: numbers and pointers without padding.
unsafe impl Versioned for CObjectInfo {
    const NAME: &'static str = "evl_object_info";
}

/// The way in which every object is built that a host takes: with cost centres.
const PROFILED: u64 = 1;

/// What an object's file tells, with the texts that C is given pointers to.
pub(super) struct Info {
    name: CString,
    path: CString,
    needed: CString,
    pins: CString,
    numbers: CObjectInfo,
}

// SAFETY: the pointers in `numbers` are null; the others are made from the texts beside them when they are asked for.
unsafe impl Send for Info {}
// SAFETY: as above; nothing is changed after it was made.
unsafe impl Sync for Info {}

impl Info {
    /// `number` is the loaded object's, and 0 for a file. `name` and `cost_centres` are what is known better
    /// when it is loaded.
    pub(super) fn new(
        info: &ObjectInfo,
        path: &Path,
        number: u32,
        name: &str,
        cost_centres: usize,
    ) -> Self {
        let pins: Vec<String> = info.pins.iter().map(ToString::to_string).collect();
        let null = std::ptr::null();
        Info {
            name: c_text(name),
            // It came from C, so it has no NUL.
            path: CString::new(path.as_os_str().as_bytes()).unwrap_or_default(),
            needed: c_text(&info.needed.join("; ")),
            pins: c_text(&pins.join("; ")),
            numbers: CObjectInfo {
                size: 0,
                name: null,
                path: null,
                needed: null,
                pins: null,
                number: u64::from(number),
                way: PROFILED,
                abi_major: u64::from(info.abi.0),
                abi_minor: u64::from(info.abi.1),
                cost_centres: cost_centres as u64,
                constructors: info.constructors,
                memory_bytes: info.memory,
                registers_itself: u64::from(info.registers_itself),
            },
        }
    }

    /// Its texts are there for as long as this is.
    pub(super) fn for_c(&self) -> CObjectInfo {
        CObjectInfo {
            name: self.name.as_ptr(),
            path: self.path.as_ptr(),
            needed: self.needed.as_ptr(),
            pins: self.pins.as_ptr(),
            ..self.numbers
        }
    }
}

/// The code of what is wrong with an object's file.
pub(super) fn check_code(error: &CheckError) -> Code {
    match error {
        CheckError::NotElf => Code::ObjectNotElf,
        CheckError::Machine { .. } => Code::ObjectMachine,
        CheckError::Truncated { .. } => Code::ObjectTruncated,
        CheckError::NotShared { .. } => Code::ObjectNotShared,
        CheckError::NoNote => Code::ObjectNoNote,
        CheckError::BadNote { .. } => Code::ObjectBadNote,
        CheckError::Abi { .. } => Code::ObjectAbi,
        CheckError::Way { .. } => Code::ObjectWay,
        CheckError::Size { .. } => Code::ObjectSize,
        CheckError::Fingerprint { .. } => Code::ObjectFingerprint,
        CheckError::MissingHostSymbols { .. } => Code::ObjectSymbols,
        CheckError::NoTable => Code::ObjectNoTable,
        CheckError::Resolvers { .. } => Code::ObjectResolvers,
        CheckError::SharedStd { .. } => Code::ObjectSharedStd,
        // `Malformed`; and there is no other.
        _ => Code::ObjectMalformed,
    }
}

/// What is wrong with an object's file.
pub(super) fn check_failure(error: &CheckError) -> Failure {
    Failure::from_error(check_code(error), error)
}
