//! The dynamic linker: opening and closing libraries, their symbols, and what is mapped. No other file calls it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// A library that is open.
#[derive(Debug)]
pub(super) struct Library {
    handle: NonNull<c_void>,
}

// SAFETY: the dynamic linker takes a handle from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// What tells one library that is mapped from every other: where it lies, and the name that it was opened by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    base: usize,
    name: CString,
    range: Range<usize>,
}

impl Place {
    /// The addresses from its first segment to its last.
    pub(super) fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Whether it is mapped now.
    pub(super) fn is_mapped(&self) -> bool {
        let mut found = false;
        each_library(|base, name, _| {
            found = base == self.base && name == &*self.name;
            found
        });
        found
    }
}

/// What the dynamic linker says of its last failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure(pub(super) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Failure {
    fn last() -> Self {
        // SAFETY: has no conditions; the text is the thread's own, until its next call.
        let text = unsafe { libc::dlerror() };
        if text.is_null() {
            return Failure("the dynamic linker does not say why".to_owned());
        }
        // SAFETY: not null, so it is a text with a NUL behind it.
        Failure(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        )
    }
}

impl Library {
    /// Opens a library: resolves all of its symbols, and runs its constructors.
    ///
    /// # Safety
    /// Its code runs.
    pub(super) unsafe fn open(name: &CStr) -> Result<Self, Failure> {
        // SAFETY: the caller's.
        unsafe { Self::open_as(name, libc::RTLD_LOCAL) }
    }

    /// The same, with its symbols offered to the libraries that are opened later.
    ///
    /// # Safety
    /// Its code runs, and is called by others.
    pub(super) unsafe fn open_for_all(name: &CStr) -> Result<Self, Failure> {
        // SAFETY: the caller's.
        unsafe { Self::open_as(name, libc::RTLD_GLOBAL) }
    }

    /// # Safety
    /// As for [`open`](Self::open).
    unsafe fn open_as(name: &CStr, scope: c_int) -> Result<Self, Failure> {
        // SAFETY: the caller's.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | scope) };
        NonNull::new(handle)
            .map(|handle| Library { handle })
            .ok_or_else(Failure::last)
    }

    /// The address of a symbol of the library, or of one that it needs.
    pub(super) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }

    /// Where it is. `None` if the dynamic linker does not tell.
    pub(super) fn place(&self) -> Option<Place> {
        let mut map: *const LinkMap = ptr::null();
        let out = (&raw mut map).cast::<c_void>();
        // SAFETY: the handle is open, and this request writes one pointer.
        let code = unsafe { libc::dlinfo(self.handle.as_ptr(), libc::RTLD_DI_LINKMAP, out) };
        if code != 0 || map.is_null() {
            return None;
        }
        // SAFETY: the map of an open library, which begins so in every C library of ELF systems.
        let (base, name) = unsafe { ((*map).base, CStr::from_ptr((*map).name)) };
        let mut place = None;
        each_library(|other, other_name, segments| {
            let found = other == base && other_name == name;
            if found {
                place = range(base, segments).map(|range| Place {
                    base,
                    name: name.to_owned(),
                    range,
                });
            }
            found
        });
        place
    }

    /// Closes it. Its destructors run, and it is unmapped, unless something holds it.
    ///
    /// # Safety
    /// No code of it is in use, and none will be used.
    pub(super) unsafe fn close(self) {
        // A failure leaves it mapped, which whoever closes it finds out.
        // SAFETY: open until now; the rest is the caller's.
        let _ = unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

/// A segment, as this process has them.
#[cfg(target_pointer_width = "64")]
type Segment = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type Segment = libc::Elf32_Phdr;

/// The public part of `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

/// From the first page of the segments to behind the last.
fn range(base: usize, segments: &[Segment]) -> Option<Range<usize>> {
    let page = 4096_usize;
    let loaded = segments
        .iter()
        .filter(|segment| segment.p_type == libc::PT_LOAD);
    let ranges = loaded.map(|segment| {
        let begin = base.wrapping_add(segment.p_vaddr as usize);
        begin & !(page - 1)
            ..begin
                .wrapping_add(segment.p_memsz as usize)
                .next_multiple_of(page)
    });
    ranges.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
}

/// Calls `look` with the base, the name and the segments of each library, until it returns true.
fn each_library(mut look: impl FnMut(usize, &CStr, &[Segment]) -> bool) {
    type Look<'a> = &'a mut dyn FnMut(usize, &CStr, &[Segment]) -> bool;

    unsafe extern "C" fn call(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        look: *mut c_void,
    ) -> c_int {
        // SAFETY: what `each_library` has passed.
        let look = unsafe { &mut *look.cast::<Look<'_>>() };
        // SAFETY: the dynamic linker's own, for the time of the call.
        let info = unsafe { &*info };
        let segments = match info.dlpi_phdr.is_null() {
            true => &[],
            // SAFETY: not null, and so many of them.
            false => unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) },
        };
        let name = match info.dlpi_name.is_null() {
            true => c"",
            // SAFETY: not null, so it is a text with a NUL behind it.
            false => unsafe { CStr::from_ptr(info.dlpi_name) },
        };
        c_int::from(look(info.dlpi_addr as usize, name, segments))
    }

    let mut look: Look<'_> = &mut look;
    // SAFETY: `call` gets `look` back, which is there until this returns. It does not panic: what is passed
    // here compares.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut look).cast()) };
}

/// Where a symbol is that some library, or the program, exports for all.
pub(super) fn address_of(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: looks the symbol up.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Where the next symbol of that name is behind the library or program that this is in.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    target_env = "gnu",
))]
pub(super) fn next_address_of(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: looks the symbol up.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) })
}
