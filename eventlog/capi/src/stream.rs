//! A `FILE *` of the C library that a log is written to.

use crate::fork::Section;
use crate::signals::PipeBlocked;
use std::ffi::{c_int, c_void};
use std::io::{self, IoSlice, Write};
use std::ptr::NonNull;

unsafe extern "C" {
    fn flockfile(stream: *mut libc::FILE);
    fn funlockfile(stream: *mut libc::FILE);
}

/// A stream. Each write is one for the stream's own lock, and has left its buffer when it returns: what
/// the program writes to the same stream stands before a block or behind it, and a child that is forked
/// finds nothing in the buffer that it would write a second time.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Open for as long as this is there: whoever gave it has promised that.
    file: NonNull<libc::FILE>,
    /// Whether it is closed when this is dropped.
    is_owned: bool,
    /// It has failed within a write, and cannot tell how much it has taken.
    is_spoilt: bool,
}

// SAFETY: the C library locks a stream for whatever thread uses it.
unsafe impl Send for Stream {}

/// Holds a stream's lock, which the same thread may take again.
struct Locked(NonNull<libc::FILE>);

impl Locked {
    fn new(stream: &Stream) -> Self {
        // SAFETY: the stream is open.
        unsafe { flockfile(stream.file.as_ptr()) };
        Locked(stream.file)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and `new` has taken the lock.
        unsafe { funlockfile(self.0.as_ptr()) };
    }
}

impl Stream {
    /// Takes a stream that is open for writing.
    ///
    /// # Safety
    /// It must stay open until this has been dropped, and be closed by nobody else where `is_owned`.
    pub(crate) unsafe fn new(file: NonNull<libc::FILE>, is_owned: bool) -> Self {
        Stream {
            file,
            is_owned,
            is_spoilt: false,
        }
    }

    /// Where the next byte goes; `None` where the stream cannot tell.
    fn position(&self) -> Option<u64> {
        // SAFETY: the stream is open.
        u64::try_from(unsafe { libc::ftello(self.file.as_ptr()) }).ok()
    }

    /// Writes out what is in the stream's buffer.
    fn flush_buffer(&self) -> io::Result<()> {
        // SAFETY: the stream is open.
        done(unsafe { libc::fflush(self.file.as_ptr()) })
    }

    /// Puts it all into the stream, and out of its buffer.
    fn put(&self, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let bytes = part.as_ptr().cast::<c_void>();
            // SAFETY: the stream is open, and there are so many bytes.
            let taken = unsafe { libc::fwrite(bytes, 1, part.len(), self.file.as_ptr()) };
            if taken < part.len() {
                return Err(io::Error::last_os_error());
            }
        }
        self.flush_buffer()
    }

    fn write_parts(&mut self, parts: &[&[u8]]) -> io::Result<usize> {
        if self.is_spoilt {
            return Err(spoilt());
        }
        let _section = Section::enter();
        let _locked = Locked::new(self);
        // What the program has put in: where that fails, nothing of the log has been taken.
        self.clear_error_after(self.flush_buffer())?;
        let before = self.position();
        let all = parts.iter().map(|part| part.len()).sum();
        let outcome = self.put(parts);
        let Err(error) = self.clear_error_after(outcome) else {
            return Ok(all);
        };
        // The C library drops what its buffer held, and does not say how much that was.
        let (Some(before), Some(after)) = (before, self.position()) else {
            self.is_spoilt = true;
            return Err(error);
        };
        match usize::try_from(after.saturating_sub(before))
            .unwrap_or(all)
            .min(all)
        {
            0 => Err(error),
            taken => Ok(taken),
        }
    }

    /// Lets the stream go on after an error.
    fn clear_error_after(&self, outcome: io::Result<()>) -> io::Result<()> {
        if outcome.is_err() {
            // SAFETY: the stream is open.
            unsafe { libc::clearerr(self.file.as_ptr()) };
        }
        outcome
    }
}

fn done(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn spoilt() -> io::Error {
    io::Error::other("the stream has failed within a write, and cannot tell how much it took")
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_parts(&[bytes])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match parts {
            // As the library has them: the marker of a block, and its events.
            [first, second] => self.write_parts(&[first, second]),
            parts => {
                let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
                self.write_parts(&parts)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let _section = Section::enter();
        let _locked = Locked::new(self);
        self.clear_error_after(self.flush_buffer())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_owned {
            // What the program has put in is written out.
            let _blocked = PipeBlocked::new();
            // SAFETY: the stream is open, and this alone closes it.
            unsafe { libc::fclose(self.file.as_ptr()) };
        }
    }
}
