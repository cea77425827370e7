//! The memory that one write is copied into. Where writes are long it lies on huge pages of the system's: a copy
//! to a cold 2 MiB takes half of the time there, and the first one a sixth, as one page is cleared for it and not 512.
//!
//! Long writes are copied past the caches where the processor can do so. The thread that has read what was there before
//! still has it in its core's caches, from where every line would have to be called back first: that takes three quarters
//! of a copy where the two cores share a cache, and ten times as long as the copy where they do not.
//!
//! 1. Bytes up to the length have been written; the length is at most the size.

use std::fmt;
use std::ops::Deref;

/// Memory of a fixed size, and how much of it is filled.
pub(crate) struct WriteMemory {
    room: Room,
}

enum Room {
    /// Of the allocator's, with a capacity of exactly the size.
    Heap { bytes: Vec<u8>, size: usize },
    #[cfg(target_os = "linux")]
    Pages(pages::Pages),
}

impl WriteMemory {
    /// Memory for `size` bytes, which is a power of two; `None` where it cannot be had.
    pub(crate) fn new(size: usize) -> Option<Self> {
        #[cfg(target_os = "linux")]
        if size >= pages::HUGE {
            let room = Room::Pages(pages::Pages::new(size)?);
            return Some(WriteMemory { room });
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok()?;
        let room = Room::Heap { bytes, size };
        Some(WriteMemory { room })
    }

    /// Bytes that it takes, however few are filled.
    pub(crate) fn size(&self) -> usize {
        match &self.room {
            Room::Heap { size, .. } => *size,
            #[cfg(target_os = "linux")]
            Room::Pages(pages) => pages.size(),
        }
    }

    /// Holds these bytes and no others from now on.
    ///
    /// # Panics
    /// If they are more than its size.
    pub(crate) fn fill(&mut self, with: &[u8]) {
        assert!(with.len() <= self.size(), "a write fits into its memory");
        match &mut self.room {
            Room::Heap { bytes, .. } => {
                bytes.clear();
                bytes.extend_from_slice(with);
            }
            #[cfg(target_os = "linux")]
            Room::Pages(pages) => pages.fill(with),
        }
    }

    /// Writes to all of it, so that whoever fills it finds pages of the system's in their places.
    pub(crate) fn make_ready(&mut self) {
        match &mut self.room {
            Room::Heap { bytes, size } => {
                bytes.clear();
                bytes.resize(*size, 1);
            }
            #[cfg(target_os = "linux")]
            Room::Pages(pages) => pages.make_ready(),
        }
    }
}

impl Deref for WriteMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.room {
            Room::Heap { bytes, .. } => bytes,
            #[cfg(target_os = "linux")]
            Room::Pages(pages) => pages.filled(),
        }
    }
}

impl fmt::Debug for WriteMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteMemory")
            .field("size", &self.size())
            .field("len", &self.len())
            .finish()
    }
}

/// Pages that the system gives, huge ones where it can.
#[cfg(target_os = "linux")]
mod pages {
    use std::ptr::{self, NonNull};
    use std::slice;

    /// Bytes of a huge page on most machines. Where they have another size the advice is of no use, and does no harm.
    pub(super) const HUGE: usize = 2 << 20;

    /// A mapping of its own, which begins where a huge page may.
    pub(super) struct Pages {
        start: NonNull<u8>,
        size: usize,
        len: usize,
    }

    // SAFETY: the mapping is this value's alone, and may be used and unmapped by any thread.
    unsafe impl Send for Pages {}
    // SAFETY: shared, it is only read.
    unsafe impl Sync for Pages {}

    impl Pages {
        /// `size` bytes, a multiple of [`HUGE`].
        pub(super) fn new(size: usize) -> Option<Self> {
            let mapped = size.checked_add(HUGE)?;
            // SAFETY: a new mapping, wherever there is room.
            let start = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    mapped,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return None;
            }
            let before = start.addr().wrapping_neg() % HUGE;
            let aligned = start.wrapping_byte_add(before);
            // SAFETY: what is unmapped are whole pages of the new mapping on both sides of the bytes that are kept;
            // nothing fails that matters, as the advice is advice.
            unsafe {
                if before > 0 {
                    libc::munmap(start, before);
                }
                if before < HUGE {
                    libc::munmap(aligned.wrapping_byte_add(size), HUGE - before);
                }
                libc::madvise(aligned, size, libc::MADV_HUGEPAGE);
            }
            Some(Pages {
                start: NonNull::new(aligned.cast())?,
                size,
                len: 0,
            })
        }

        pub(super) fn size(&self) -> usize {
            self.size
        }

        /// `with` is at most the size.
        pub(super) fn fill(&mut self, with: &[u8]) {
            let len = with.len().min(self.size);
            // SAFETY: so many bytes are mapped, from an address that is a multiple of a page's size on, and nobody else's.
            unsafe { copy(with.as_ptr(), self.start.as_ptr(), len) };
            self.len = len;
        }

        pub(super) fn make_ready(&mut self) {
            // SAFETY: so many bytes are mapped.
            unsafe { ptr::write_bytes(self.start.as_ptr(), 1, self.size) };
            self.len = 0;
        }

        pub(super) fn filled(&self) -> &[u8] {
            // SAFETY: 1. They stay as they are while this is borrowed.
            unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
        }
    }

    /// Copies `len` bytes, and leaves no copy in the caches but of the last few.
    ///
    /// # Safety
    /// As for [`ptr::copy_nonoverlapping`]; `to` is a multiple of 16.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

        const STEP: usize = size_of::<[__m128i; 4]>();
        let whole = len - len % STEP;
        for at in (0..whole).step_by(STEP) {
            // SAFETY: at + STEP <= len, for which the caller answers on both sides; STEP keeps `to` a multiple of 16.
            unsafe {
                let from = from.add(at).cast::<__m128i>();
                let to = to.add(at).cast::<__m128i>();
                let words = [0, 1, 2, 3].map(|word| _mm_loadu_si128(from.add(word)));
                for (word, bits) in words.into_iter().enumerate() {
                    _mm_stream_si128(to.add(word), bits);
                }
            }
        }
        // SAFETY: the rest of both. The fence has nothing to keep; it puts these stores before all that come later, which
        // no other ordering does.
        unsafe {
            ptr::copy_nonoverlapping(from.add(whole), to.add(whole), len - whole);
            _mm_sfence();
        }
    }

    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    use ptr::copy_nonoverlapping as copy;

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: `new` has mapped that, and nothing borrows it any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On both sides of where pages of the system's are used.
    const SIZES: [usize; 4] = [1 << 12, 1 << 20, 1 << 21, 1 << 23];

    #[test]
    fn it_holds_what_it_was_filled_with_last() {
        for size in SIZES {
            let mut memory = WriteMemory::new(size).unwrap();
            assert_eq!((memory.size(), memory.len()), (size, 0));
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            memory.fill(&bytes);
            assert!(*memory == *bytes);
            memory.fill(b"less");
            assert_eq!((memory.size(), &*memory), (size, &b"less"[..]));
            memory.make_ready();
            memory.fill(&bytes[1..]);
            assert!(*memory == bytes[1..]);
            for len in (0..200).chain((size - 70..size).step_by(23)) {
                // From where nothing is a multiple of anything, to where the one before has left something else.
                memory.fill(&bytes[..len]);
                assert_eq!(memory.last(), bytes[..len].last(), "{len} of {size}");
                memory.fill(&bytes[size - len..]);
                assert!(*memory == bytes[size - len..], "{len} of {size}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for size in SIZES {
            let mut memory = WriteMemory::new(size).unwrap();
            let bytes = vec![0; size + 1];
            let fill = std::panic::AssertUnwindSafe(|| memory.fill(&bytes));
            assert!(std::panic::catch_unwind(fill).is_err());
        }
        assert!(WriteMemory::new(1 << (usize::BITS - 1)).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn long_memory_begins_where_a_huge_page_may() {
        let memory = [pages::HUGE; 4].map(|size| WriteMemory::new(size).unwrap());
        for memory in &memory {
            assert_eq!(memory.as_ptr().addr() % pages::HUGE, 0);
        }
    }
}
