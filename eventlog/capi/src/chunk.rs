//! What is taken out of a log that is kept in memory: `evl_chunk` and its functions, and copies.

use crate::code::{Code, Failure, Outcome, entry};
use crate::object::{Id, Out};
use crate::sink::SinkObject;
use ghc_eventlog::{Chunk, Chunks, NoChunk};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Pops chunks, and takes those back that nobody got.
pub(crate) struct Popper {
    chunks: Chunks,
    returned: Mutex<Returned>,
}

/// Chunks that nobody got.
#[derive(Default)]
struct Returned {
    /// The next first. There is room for those that are out.
    chunks: VecDeque<Chunk>,
    /// Calls that may give one back.
    out: usize,
}

impl Popper {
    pub(crate) fn new(chunks: Chunks) -> Self {
        Popper {
            chunks,
            returned: Mutex::default(),
        }
    }

    /// The oldest chunk, waited for as long as that.
    fn pop(&self, timeout_ns: u64) -> Outcome<Chunk> {
        let returned = self.returned().chunks.pop_front();
        if let Some(chunk) = returned {
            return Ok(chunk);
        }
        let popped = match timeout_ns {
            0 => self.chunks.chunk(),
            u64::MAX => self.chunks.wait_chunk(Duration::MAX),
            limit => self.chunks.wait_chunk(Duration::from_nanos(limit)),
        };
        popped.map_err(|none| {
            Failure::of(match none {
                NoChunk::Finished => Code::Finished,
                _ => Code::Empty,
            })
        })
    }

    /// A copy of the oldest chunk, which the caller frees with `free`, and its length.
    ///
    /// # Errors
    /// Where there is none in time, or no memory: then it is the next one again.
    pub(crate) fn copy(&self, timeout_ns: u64) -> Outcome<(NonNull<u8>, usize)> {
        self.make_room()?;
        let copied = self.pop(timeout_ns).and_then(|chunk| match copy(&chunk) {
            Ok(copy) => Ok((copy, chunk.len())),
            Err(failure) => {
                self.put_back(chunk);
                Err(failure)
            }
        });
        self.returned().out -= 1;
        copied
    }

    /// Sees to it that one more chunk can come back when no memory is left.
    ///
    /// # Errors
    /// Where there is none now.
    fn make_room(&self) -> Outcome {
        let mut returned = self.returned();
        let out = returned.out + 1;
        let reserved = returned.chunks.try_reserve(out);
        reserved.map_err(|_| Failure::new(Code::Memory, "no memory to take a chunk"))?;
        returned.out = out;
        Ok(())
    }

    /// A copy of the header, which the caller frees with `free`, and its length.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(crate) fn header(&self) -> Outcome<(NonNull<u8>, usize)> {
        let header = self.chunks.header();
        Ok((copy(&header)?, header.len()))
    }

    /// Puts one back, to be the next.
    fn put_back(&self, chunk: Chunk) {
        self.returned().chunks.push_front(chunk);
    }

    fn returned(&self) -> MutexGuard<'_, Returned> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy that the caller frees with `free`.
///
/// # Errors
/// Where there is no memory.
fn copy(bytes: &[u8]) -> Outcome<NonNull<u8>> {
    // SAFETY: any size may be asked for. None is 0: a chunk has its marker, and a header its frame.
    let copy = NonNull::new(unsafe { libc::malloc(bytes.len()) }.cast::<u8>());
    let copy = copy.ok_or_else(|| {
        Failure::new(Code::Memory, format!("no memory for {} bytes", bytes.len()))
    })?;
    // SAFETY: there is room for so many bytes, which is new.
    unsafe {
        copy.as_ptr()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
    Ok(copy)
}

/// `evl_chunk_header`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_header(
    sink: Id<Arc<SinkObject>>,
    bytes: *mut *mut u8,
    len: *mut usize,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for valid places.
        let (mut bytes, mut len) = unsafe { (Out::new(bytes, "bytes")?, Out::new(len, "len")?) };
        let sink = sink.get()?;
        let (copy, copied) = sink.popper()?.header()?;
        bytes.put(copy.as_ptr());
        len.put(copied);
        Ok(())
    })
}

/// `evl_chunk_copy`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_copy(
    sink: Id<Arc<SinkObject>>,
    timeout_ns: u64,
    bytes: *mut *mut u8,
    len: *mut usize,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for valid places.
        let (mut bytes, mut len) = unsafe { (Out::new(bytes, "bytes")?, Out::new(len, "len")?) };
        let sink = sink.get()?;
        let (copy, copied) = sink.popper()?.copy(timeout_ns)?;
        bytes.put(copy.as_ptr());
        len.put(copied);
        Ok(())
    })
}

/// `evl_chunk_take`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_take(
    sink: Id<Arc<SinkObject>>,
    timeout_ns: u64,
    out: *mut Id<Chunk>,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "chunk") }?;
        let sink = sink.get()?;
        let popper = sink.popper()?;
        // A chunk that is popped comes out once: a handle for it must be there.
        out.put(Id::new_with(|| popper.pop(timeout_ns))?);
        Ok(())
    })
}

/// `evl_chunk_bytes`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_bytes(
    chunk: Id<Chunk>,
    bytes: *mut *const u8,
    len: *mut usize,
) -> c_int {
    entry(|| {
        // SAFETY: the header asks for valid places.
        let (mut bytes, mut len) = unsafe { (Out::new(bytes, "bytes")?, Out::new(len, "len")?) };
        // They stay where they are until the chunk is released.
        chunk.read(|chunk| {
            bytes.put(chunk.as_ptr());
            len.put(chunk.len());
        })
    })
}

/// `evl_chunk_is_final`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_is_final(chunk: Id<Chunk>, out: *mut c_int) -> c_int {
    entry(|| {
        // SAFETY: the header asks for a valid place.
        let mut out = unsafe { Out::new(out, "is_final") }?;
        out.put(c_int::from(chunk.read(|chunk| chunk.is_final())?));
        Ok(())
    })
}

/// `evl_chunk_release`
#[unsafe(no_mangle)]
extern "C" fn evl_chunk_release(chunk: Id<Chunk>) -> c_int {
    entry(|| chunk.take().map(drop))
}

/// `evl_chunk_count`
#[unsafe(no_mangle)]
unsafe extern "C" fn evl_chunk_count(
    sink: Id<Arc<SinkObject>>,
    chunks: *mut u64,
    used_bytes: *mut u64,
) -> c_int {
    entry(|| {
        let sink = sink.get()?;
        let popper = sink.popper()?;
        let count = popper.chunks.len() + popper.returned().chunks.len();
        // SAFETY: the header asks for null or valid places, both times.
        if let Ok(mut chunks) = unsafe { Out::new(chunks, "chunks") } {
            chunks.put(count as u64);
        }
        // SAFETY: as above.
        if let Ok(mut used_bytes) = unsafe { Out::new(used_bytes, "used_bytes") } {
            used_bytes.put(popper.chunks.used() as u64);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghc_eventlog::{EventLog, WhenFull};

    #[test]
    fn chunks_that_are_put_back_are_the_next() {
        let builder = EventLog::builder();
        let (log, chunks) = builder.in_memory(1 << 20, WhenFull::DropNewest).unwrap();
        let popper = Popper::new(chunks);
        for text in ["first", "second"] {
            log.flush().unwrap();
            log.message(text);
        }
        log.stop().unwrap();
        let first = popper.pop(0).unwrap();
        let second = popper.pop(0).unwrap();
        let bytes = [first.to_vec(), second.to_vec()];
        assert_ne!(bytes[0], bytes[1]);
        // As two calls do that find no memory for their copies.
        popper.put_back(second);
        popper.put_back(first);
        for bytes in &bytes {
            assert_eq!(*popper.pop(u64::MAX).unwrap(), *bytes);
        }
        while let Ok(next) = popper.pop(0) {
            assert!(!bytes.contains(&next.to_vec()));
        }
    }
}
