//! Texts that come from C: checked once, at the border.

use crate::code::{Code, Failure, Outcome};
use crate::object::null;
use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// `EVL_NUL_ENDED`: the text ends with a NUL.
const NUL_ENDED: usize = usize::MAX;

/// Bytes that the caller gives. A null pointer will do for none.
///
/// # Errors
/// Where it is null, and there are to be some.
///
/// # Safety
/// What is not null points to so many bytes, which nobody changes for `'a`.
pub(crate) unsafe fn bytes<'a>(from: *const u8, len: usize, name: &str) -> Outcome<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return Err(null(name));
    }
    if len > isize::MAX as usize {
        let text = format!(
            "{name} of {len} bytes: no memory has more than {}",
            isize::MAX
        );
        return Err(Failure::new(Code::Argument, text));
    }
    // SAFETY: there are so many bytes, as the caller says; their number is one that there can be.
    Ok(unsafe { slice::from_raw_parts(from, len) })
}

/// Bytes of a text, up to a NUL where `len` is `EVL_NUL_ENDED`.
///
/// # Errors
/// As for [`bytes`].
///
/// # Safety
/// As for [`bytes`]; or the text ends with a NUL.
pub(crate) unsafe fn text<'a>(from: *const c_char, len: usize, name: &str) -> Outcome<&'a [u8]> {
    if len != NUL_ENDED {
        // SAFETY: as the caller says.
        return unsafe { bytes(from.cast(), len, name) };
    }
    // SAFETY: as the caller says.
    Ok(unsafe { nul_ended(from, name) }?.to_bytes())
}

/// A text for people, in which what is not UTF-8 is replaced.
///
/// # Errors
/// As for [`text`].
///
/// # Safety
/// As for [`text`].
#[inline]
pub(crate) unsafe fn lossy<'a>(
    from: *const c_char,
    len: usize,
    name: &str,
) -> Outcome<Cow<'a, str>> {
    // SAFETY: as the caller says.
    Ok(String::from_utf8_lossy(unsafe { text(from, len, name) }?))
}

/// A text that ends with a NUL.
///
/// # Errors
/// Where it is null.
///
/// # Safety
/// What is not null ends with a NUL, and nobody changes it for `'a`.
pub(crate) unsafe fn nul_ended<'a>(from: *const c_char, name: &str) -> Outcome<&'a CStr> {
    if from.is_null() {
        return Err(null(name));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { CStr::from_ptr(from) })
}

/// A name of a file or socket.
///
/// # Errors
/// Where it is null.
///
/// # Safety
/// As for [`nul_ended`].
pub(crate) unsafe fn path<'a>(from: *const c_char, name: &str) -> Outcome<&'a Path> {
    // SAFETY: as the caller says.
    let text = unsafe { nul_ended(from, name) }?;
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// A text that ends with a NUL and is UTF-8.
///
/// # Errors
/// Where it is null, or not UTF-8.
///
/// # Safety
/// As for [`nul_ended`].
pub(crate) unsafe fn utf8_z<'a>(from: *const c_char, name: &str) -> Outcome<&'a str> {
    // SAFETY: as the caller says.
    utf8(unsafe { nul_ended(from, name) }?.to_bytes(), name)
}

/// A text that is UTF-8.
///
/// # Errors
/// Where it is not; the failure tells where.
pub(crate) fn utf8<'a>(bytes: &'a [u8], name: &str) -> Outcome<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let text = format!("{name} is not UTF-8 at byte {}", error.valid_up_to());
        Failure::new(Code::Text, text)
    })
}
