//! A word of each thread's own, null at first. It has no destructor, so it is there from a thread's first moment to its
//! last, and using it allocates nothing. What it points to is no concern of this file.
//!
//! As a thread local of Rust it costs a call of the C library's each time where the code is in a shared library, since
//! that might be opened when the thread's memory has long been laid out. With the feature `static-tls` it lies in the
//! memory that the linker lays out for every thread from the beginning, some bytes of which are kept free for libraries
//! that are opened later: two instructions reach it, from wherever.

#[cfg(not(all(
    feature = "static-tls",
    target_arch = "x86_64",
    target_pointer_width = "64",
    target_env = "gnu"
)))]
mod word {
    use std::cell::Cell;

    thread_local! {
        static WORD: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    }

    #[inline]
    pub(crate) fn get() -> *const () {
        WORD.get()
    }

    pub(crate) fn set(word: *const ()) {
        WORD.set(word);
    }
}

#[cfg(all(
    feature = "static-tls",
    target_arch = "x86_64",
    target_pointer_width = "64",
    target_env = "gnu"
))]
mod word {
    use std::arch::{asm, global_asm};

    // Hidden, so that it is this library's own, and global, since the code below may be in another file of the
    // compiler's.
    global_asm!(
        ".pushsection .tbss.ghc_eventlog_own_word,\"awT\",@nobits",
        ".globl ghc_eventlog_own_word",
        ".hidden ghc_eventlog_own_word",
        ".type ghc_eventlog_own_word,@object",
        ".p2align 3",
        "ghc_eventlog_own_word:",
        ".zero 8",
        ".size ghc_eventlog_own_word, 8",
        ".popsection",
    );

    #[inline]
    pub(crate) fn get() -> *const () {
        let word;
        // SAFETY: the first instruction gives where the word lies from where the thread's register points, and the
        // second reads it there. It is eight bytes, aligned, and no other thread's.
        unsafe {
            asm!(
                "mov {word}, qword ptr [rip + ghc_eventlog_own_word@GOTTPOFF]",
                "mov {word}, qword ptr fs:[{word}]",
                word = out(reg) word,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }

    pub(crate) fn set(word: *const ()) {
        // SAFETY: as in `get`. Nothing has a reference to it.
        unsafe {
            asm!(
                "mov {place}, qword ptr [rip + ghc_eventlog_own_word@GOTTPOFF]",
                "mov qword ptr fs:[{place}], {word}",
                place = out(reg) _,
                word = in(reg) word,
                options(nostack, preserves_flags),
            );
        }
    }
}

pub(super) use word::{get, set};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_and_finds_null_in_it_first() {
        let (here, there) = (7_u64, 8_u64);
        let before = get();
        set((&raw const here).cast());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(get().is_null());
                set((&raw const there).cast());
                assert_eq!(get(), (&raw const there).cast());
            });
        });
        assert_eq!(get(), (&raw const here).cast());
        set(before);
    }
}
