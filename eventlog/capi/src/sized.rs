//! Structures that begin with their size, so that programs and libraries of different ages understand
//! each other: both sides know the fields that the shorter one has.

use crate::code::{Code, Failure, Outcome};
use crate::object::null;
use std::mem;
use std::ptr::{self, NonNull};

/// A structure of `eventlog.h` whose first field is `uint64_t size`.
///
/// # Safety
/// It is `repr(C)` without padding, its first field is a `u64`, and all its fields are numbers or raw
/// pointers: any bytes are one.
pub(crate) unsafe trait Versioned: Copy {
    /// What it is called in C.
    const NAME: &'static str;
}

/// What has more is no structure that any version of the library will have.
const MOST: u64 = 4096;

const fn known<T>() -> usize {
    mem::size_of::<T>()
}

/// Bytes that both sides know of.
fn shared<T: Versioned>(size: u64) -> Outcome<usize> {
    let known = known::<T>();
    if !(16..=MOST).contains(&size) || size % 8 != 0 {
        let name = T::NAME;
        let text = format!(
            "{name} says that it has {size} bytes: put sizeof({name}) into its size, which is {known} here \
             (16 to {MOST}, a multiple of 8)"
        );
        return Err(Failure::new(Code::Size, text));
    }
    Ok(known.min(size as usize))
}

/// Reads a structure. Fields that the caller does not know of are as in `default`.
///
/// # Errors
/// Where its size is impossible, or it has fields that this library does not know, which are not 0.
///
/// # Safety
/// What is not null points to a `u64`, and to so many bytes as that says where it is no less than 16.
pub(crate) unsafe fn get<T: Versioned>(from: *const T, default: T) -> Outcome<T> {
    let Some(from) = NonNull::new(from.cast_mut().cast::<u8>()) else {
        return Ok(default);
    };
    let mut value = default;
    // SAFETY: the caller vouches for a size, which may lie anywhere.
    let size = unsafe { from.cast::<u64>().as_ptr().read_unaligned() };
    let shared = shared::<T>(size)?;
    for at in known::<T>()..size as usize {
        // SAFETY: the caller vouches for `size` bytes.
        if unsafe { from.as_ptr().add(at).read() } != 0 {
            let text = format!(
                "{} of {size} bytes has a value at byte {at}; this library knows {} bytes of it",
                T::NAME,
                known::<T>()
            );
            return Err(Failure::new(Code::Size, text));
        }
    }
    let to = ptr::from_mut(&mut value).cast::<u8>();
    // SAFETY: both have so many bytes, and any bytes are a `T`.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, shared) };
    Ok(value)
}

/// A structure that a call fills in.
#[derive(Debug)]
pub(crate) struct Filled<T> {
    to: NonNull<T>,
    size: u64,
}

impl<T: Versioned> Filled<T> {
    /// One whose size the caller has put into it.
    ///
    /// # Errors
    /// Where it is null, or its size impossible.
    ///
    /// # Safety
    /// As for [`get`], and for writes, for as long as this is used.
    pub(crate) unsafe fn new(to: *mut T) -> Outcome<Self> {
        let to = NonNull::new(to).ok_or_else(|| null(T::NAME))?;
        // SAFETY: the caller vouches for a size, which may lie anywhere.
        let size = unsafe { to.cast::<u64>().as_ptr().read_unaligned() };
        // SAFETY: as the caller says.
        unsafe { Filled::with_size(to.as_ptr(), size) }
    }

    /// One that has `size` bytes.
    ///
    /// # Errors
    /// Where it is null, or the size impossible.
    ///
    /// # Safety
    /// What is not null is valid for writes of so many bytes for as long as this is used.
    pub(crate) unsafe fn with_size(to: *mut T, size: u64) -> Outcome<Self> {
        let to = NonNull::new(to).ok_or_else(|| null(T::NAME))?;
        shared::<T>(size)?;
        Ok(Filled { to, size })
    }

    /// Fills it in. Its size stays, and fields that this library does not know become 0.
    pub(crate) fn put(&mut self, value: &T) {
        let to = self.to.cast::<u8>().as_ptr();
        let from = ptr::from_ref(value).cast::<u8>();
        let shared = known::<T>().min(self.size as usize);
        // SAFETY: the place has `size` bytes, `value` has no fewer than are copied, and there is no padding.
        unsafe {
            ptr::copy_nonoverlapping(from, to, shared);
            to.add(shared).write_bytes(0, self.size as usize - shared);
            to.cast::<u64>().write_unaligned(self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Three {
        size: u64,
        first: u64,
        second: u64,
    }

    // SAFETY: numbers without padding.
    unsafe impl Versioned for Three {
        const NAME: &'static str = "three";
    }

    const DEFAULT: Three = Three {
        size: 0,
        first: 10,
        second: 20,
    };

    fn read(words: &[u64]) -> Result<Three, Code> {
        // SAFETY: every size here is that of the words, or refused.
        unsafe { get(words.as_ptr().cast(), DEFAULT) }.map_err(|failure| failure.code)
    }

    #[test]
    fn fields_that_a_caller_does_not_know_are_as_by_default() {
        let old = read(&[16, 1]).unwrap();
        assert_eq!((old.first, old.second), (1, 20));
        let same = read(&[24, 1, 2]).unwrap();
        assert_eq!((same.first, same.second), (1, 2));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { get(ptr::null(), DEFAULT) }.unwrap(), DEFAULT);
    }

    #[test]
    fn fields_that_the_library_does_not_know_must_be_zero() {
        let new = read(&[40, 1, 2, 0, 0]).unwrap();
        assert_eq!((new.first, new.second), (1, 2));
        assert_eq!(read(&[40, 1, 2, 0, 1]), Err(Code::Size));
    }

    #[test]
    fn an_impossible_size_is_refused() {
        for size in [0, 1, 8, 15, 20, MOST + 8, u64::MAX] {
            assert_eq!(read(&[size, 1, 2]), Err(Code::Size), "{size}");
        }
    }

    #[test]
    fn what_is_filled_in_keeps_to_its_size() {
        let value = Three {
            size: 0,
            first: 1,
            second: 2,
        };
        for (size, filled) in [
            (16, [16_u64, 1, 7, 7, 7]),
            (24, [24, 1, 2, 7, 7]),
            (32, [32, 1, 2, 0, 7]),
        ] {
            let mut words = [size, 7, 7, 7, 7];
            // SAFETY: no size is more than that of the words.
            let mut place = unsafe { Filled::<Three>::new(words.as_mut_ptr().cast()) }.unwrap();
            place.put(&value);
            assert_eq!(words, filled);
        }
    }
}
