//! Thread-specific keys of objects. A key whose destructor is code of an object crashes the next thread that ends after the
//! object was unmapped; Rust's standard library makes such a key for `std::thread::current()`. Here every key that the process
//! makes is seen, so that unloading can delete those.
//!
//! The C library keeps the destructors to itself, hence the function below in the place of its own.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

type Destructor = unsafe extern "C" fn(*mut c_void);

/// Keys that a process can have: `PTHREAD_KEYS_MAX` of the C library.
const MAX: usize = 1024;

/// The destructors' addresses, by key.
static DESTRUCTORS: [AtomicUsize; MAX] = [const { AtomicUsize::new(0) }; MAX];

unsafe extern "C" {
    /// What `pthread_key_create` of the C library is another name of.
    fn __pthread_key_create(key: *mut libc::pthread_key_t, destructor: Option<Destructor>)
    -> c_int;
}

/// The C library's `pthread_key_create`, which is called here, and remembers the destructor.
///
/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(
    key: *mut libc::pthread_key_t,
    destructor: Option<Destructor>,
) -> c_int {
    // SAFETY: the caller's.
    let code = unsafe { __pthread_key_create(key, destructor) };
    if code == 0 {
        // SAFETY: it has been written.
        let made = unsafe { *key } as usize;
        if let Some(slot) = DESTRUCTORS.get(made) {
            // Relaxed: an object's keys are looked at by whoever has waited for its calls, and these include this one.
            slot.store(
                destructor.map_or(0, |code| code as usize),
                Ordering::Relaxed,
            );
        }
    }
    code
}

/// Whether keys that are made by the function of that name are seen. Linkers export the function above, since the C library
/// has one of that name; other names go past it.
pub(super) fn are_seen(by: &str) -> bool {
    let own = (pthread_key_create as *const ()).addr();
    by == "pthread_key_create"
        && super::linker::address_of(c"pthread_key_create")
            .is_some_and(|found| found.addr().get() == own)
}

/// Deletes the keys whose destructors lie there. What they hold for a thread is leaked.
///
/// # Safety
/// No thread uses these keys, or is just ending with one of them set.
pub(super) unsafe fn delete_in(range: &Range<usize>) {
    for (key, destructor) in DESTRUCTORS.iter().enumerate() {
        // Relaxed: as above.
        if range.contains(&destructor.load(Ordering::Relaxed)) {
            destructor.store(0, Ordering::Relaxed);
            // SAFETY: a key that was made and, since its destructor is the object's, is the object's.
            unsafe { libc::pthread_key_delete(key as libc::pthread_key_t) };
        }
    }
}
