//! A private copy of a library's file, in memory and sealed: what was checked is what is mapped, and whoever
//! replaces or overwrites the file changes nothing here.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// The most bytes of a name that the kernel takes, less what is put before it.
const NAME_LEN: usize = 200;

/// The copy. The dynamic linker tells libraries apart by their names, and the name of this one is its file
/// descriptor's: it stays open for as long as the library is mapped.
#[derive(Debug)]
pub(super) struct Image {
    file: OwnedFd,
}

impl Image {
    /// Copies `bytes`. The name is what `/proc/self/maps` shows.
    pub(super) fn new(name: &OsStr, bytes: &[u8]) -> io::Result<Self> {
        let mut shown = b"evl:".to_vec();
        shown.extend(
            name.as_bytes()
                .iter()
                .take(NAME_LEN)
                .filter(|byte| **byte != 0),
        );
        let shown = CString::new(shown)?;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: makes a file.
        let made = unsafe { libc::memfd_create(shown.as_ptr(), flags) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and nobody else's.
        let mut file = unsafe { File::from_raw_fd(made) };
        file.write_all(bytes)?;
        let seals =
            libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: sets the seals of that file.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Image { file: file.into() })
    }

    /// The name by which it is opened.
    pub(super) fn path(&self) -> CString {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        CString::new(path).unwrap_or_default()
    }
}
