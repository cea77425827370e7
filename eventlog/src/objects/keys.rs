//! Thread-specific keys of objects. A key whose destructor is code of an object crashes the next thread that
//! ends after the object was unmapped; Rust's standard library makes such a key for `std::thread::current()`.
//! Here every key that the process makes is seen, so that unloading can delete those.
//!
//! The C library keeps the destructors to itself, hence `pthread_key_create` below in the place of its own: it
//! calls the C library's, by its other name, and remembers the destructor. It is in assembly since a sanitizer
//! calls it while it is still making itself ready, when code that it has instrumented must not run.
//!
//! So is `pthread_key_delete`, which forgets: the number is given out again, and whoever gets it may have asked for
//! it by a name that goes past the function above.

use super::linker;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keys that a process can have: `PTHREAD_KEYS_MAX` of the C library.
const MAX: usize = 1024;

/// The destructors' addresses, by key.
static DESTRUCTORS: [AtomicUsize; MAX] = [const { AtomicUsize::new(0) }; MAX];

#[cfg(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    target_env = "gnu"
))]
std::arch::global_asm!(
    ".pushsection .text.pthread_key_create,\"ax\",@progbits",
    ".globl pthread_key_create",
    ".type pthread_key_create,@function",
    "pthread_key_create:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call __pthread_key_create@PLT",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "test eax, eax",
    "jne 2f",
    "mov ecx, dword ptr [rdi]",
    "cmp ecx, {max}",
    "jae 2f",
    "lea rdx, [rip + {destructors}]",
    "mov qword ptr [rdx + 8*rcx], rsi",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size pthread_key_create, . - pthread_key_create",
    ".globl pthread_key_delete",
    ".type pthread_key_delete,@function",
    "pthread_key_delete:",
    "jmp {delete}",
    ".size pthread_key_delete, . - pthread_key_delete",
    ".popsection",
    max = const MAX,
    destructors = sym DESTRUCTORS,
    delete = sym delete,
);

#[cfg(all(
    target_arch = "aarch64",
    target_pointer_width = "64",
    target_env = "gnu"
))]
std::arch::global_asm!(
    ".pushsection .text.pthread_key_create,\"ax\",@progbits",
    ".globl pthread_key_create",
    ".type pthread_key_create,@function",
    "pthread_key_create:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset x29, -32",
    ".cfi_offset x30, -24",
    "stp x0, x1, [sp, #16]",
    "bl __pthread_key_create",
    "ldp x2, x1, [sp, #16]",
    "ldp x29, x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "cbnz w0, 2f",
    "ldr w3, [x2]",
    "cmp w3, #{max}",
    "b.hs 2f",
    "adrp x4, {destructors}",
    "add x4, x4, :lo12:{destructors}",
    "str x1, [x4, w3, uxtw #3]",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size pthread_key_create, . - pthread_key_create",
    ".globl pthread_key_delete",
    ".type pthread_key_delete,@function",
    "pthread_key_delete:",
    "b {delete}",
    ".size pthread_key_delete, . - pthread_key_delete",
    ".popsection",
    max = const MAX,
    destructors = sym DESTRUCTORS,
    delete = sym delete,
);

/// What `pthread_key_delete` does here.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    target_env = "gnu",
))]
extern "C" fn delete(key: libc::pthread_key_t) -> std::ffi::c_int {
    type Delete = unsafe extern "C" fn(libc::pthread_key_t) -> std::ffi::c_int;
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    // Relaxed: an address of code, which is always the same.
    let mut next = NEXT.load(Ordering::Relaxed);
    if next == 0 {
        let found = linker::next_address_of(c"pthread_key_delete");
        next = found.map_or(0, |at| at.as_ptr().expose_provenance());
        NEXT.store(next, Ordering::Relaxed);
    }
    if next == 0 {
        return libc::EINVAL;
    }
    // Before it is deleted: then its number may be another's at once. Relaxed: the C library orders the two.
    if let Some(destructor) = DESTRUCTORS.get(key as usize) {
        destructor.store(0, Ordering::Relaxed);
    }
    // SAFETY: the function of that name that this one is in the place of, which takes any number.
    unsafe {
        let next: *const () = std::ptr::with_exposed_provenance(next);
        std::mem::transmute::<*const (), Delete>(next)(key)
    }
}

/// Whether keys that are made by the function of that name are seen. Linkers export the functions above, since
/// the C library has some of these names; other names go past them.
pub(super) fn are_seen(by: &str) -> bool {
    let is_called = |(name, own): (&CStr, usize)| {
        linker::address_of(name).is_some_and(|called| called.addr().get() == own)
    };
    by == "pthread_key_create" && own().is_some_and(|own| own.into_iter().all(is_called))
}

/// The names and addresses of the functions above, if they are there for this processor.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    target_env = "gnu",
))]
fn own() -> Option<[(&'static CStr, usize); 2]> {
    unsafe extern "C" {
        safe static pthread_key_create: u8;
        safe static pthread_key_delete: u8;
    }
    Some([
        (
            c"pthread_key_create",
            (&raw const pthread_key_create).addr(),
        ),
        (
            c"pthread_key_delete",
            (&raw const pthread_key_delete).addr(),
        ),
    ])
}

#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    target_env = "gnu",
)))]
fn own() -> Option<[(&'static CStr, usize); 2]> {
    None
}

/// Deletes the keys whose destructors lie there. What they hold for a thread is leaked.
///
/// # Safety
/// No thread uses these keys, or is just ending with one of them set.
pub(super) unsafe fn delete_in(range: &Range<usize>) {
    for (key, destructor) in DESTRUCTORS.iter().enumerate() {
        // Relaxed: an object's keys are made by its code, and whoever comes here has waited for that.
        if range.contains(&destructor.load(Ordering::Relaxed)) {
            destructor.store(0, Ordering::Relaxed);
            // SAFETY: a key that was made, was not deleted since, and is the object's, as its destructor is.
            unsafe { libc::pthread_key_delete(key as libc::pthread_key_t) };
        }
    }
}
