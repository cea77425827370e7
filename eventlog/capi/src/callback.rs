//! A function of the program's that a log is written to.

use std::ffi::{c_int, c_void};
use std::io::{self, IoSlice, Write};

/// Takes a piece: 0 where it has, or the number of an error (`errno`).
type WriteFn = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;

/// Lets go of the context.
type ReleaseFn = unsafe extern "C" fn(*mut c_void);

/// A function with its context.
#[derive(Debug)]
pub(crate) struct Callback {
    write: WriteFn,
    release: Option<ReleaseFn>,
    context: *mut c_void,
    /// Kept for its memory.
    piece: Vec<u8>,
}

// SAFETY: whoever gave it has promised that it may be called by any thread, by one at a time.
unsafe impl Send for Callback {}

impl Callback {
    /// # Safety
    /// Any thread may call `write` with the context, one at a time, until this is dropped; then one calls
    /// `release`, once.
    pub(crate) unsafe fn new(
        write: WriteFn,
        release: Option<ReleaseFn>,
        context: *mut c_void,
    ) -> Self {
        Callback {
            write,
            release,
            context,
            piece: Vec::new(),
        }
    }

    fn call(&self, piece: &[u8]) -> io::Result<usize> {
        // SAFETY: `new` was promised that it may be called so, and there are so many bytes.
        match unsafe { (self.write)(self.context, piece.as_ptr(), piece.len()) } {
            0 => Ok(piece.len()),
            // What is interrupted is tried again at once, and for ever.
            error if error > 0 && error != libc::EINTR => Err(io::Error::from_raw_os_error(error)),
            error => Err(io::Error::other(format!(
                "the sink's function returned {error}"
            ))),
        }
    }
}

impl Write for Callback {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        for part in parts {
            piece.extend_from_slice(part);
        }
        let outcome = self.call(&piece);
        self.piece = piece;
        outcome
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: `new` was promised that it may be called so, once.
            unsafe { release(self.context) };
        }
    }
}
