//! Which signals a thread takes while it works for a log. A program's handlers are not to run on the
//! library's threads, and a reader that is gone is an error, not the end of the program.

use std::mem::MaybeUninit;
use std::ptr;

/// While it is there the thread takes no signals, and threads that it starts never do. What it writes itself to a pipe
/// or socket that nobody reads is an error, as with [`PipeBlocked`].
pub(crate) struct AllBlocked {
    _pipe: PipeBlocked,
}

impl AllBlocked {
    pub(crate) fn new() -> Self {
        let pipe = PipeBlocked::new();
        let mut all = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initialises the set that it is given.
        let all = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            all.assume_init()
        };
        // That restores the mask of before, when it has taken the signal of its own write.
        change_mask(libc::SIG_SETMASK, &all);
        AllBlocked { _pipe: pipe }
    }
}

/// While it is there, writing to a pipe or socket that nobody reads is an error and nothing else for
/// this thread.
pub(crate) struct PipeBlocked {
    before: libc::sigset_t,
    was_pending: bool,
}

impl PipeBlocked {
    pub(crate) fn new() -> Self {
        let was_pending = is_pending();
        PipeBlocked {
            before: change_mask(libc::SIG_BLOCK, &pipe()),
            was_pending,
        }
    }
}

impl Drop for PipeBlocked {
    fn drop(&mut self) {
        if !self.was_pending && is_pending() {
            let now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: both point to what lives until the call returns; nothing is wanted of the signal.
            unsafe { libc::sigtimedwait(&pipe(), ptr::null_mut(), &now) };
        }
        change_mask(libc::SIG_SETMASK, &self.before);
    }
}

/// The set of SIGPIPE alone.
fn pipe() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set that it is given.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

fn is_pending() -> bool {
    let mut pending = MaybeUninit::uninit();
    // SAFETY: `sigpending` initialises the set that it is given.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
    }
}

/// Changes the thread's mask, and tells what it was.
fn change_mask(how: i32, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: `before` is initialised where the call succeeds, and it fails for a wrong `how` only.
    unsafe {
        libc::pthread_sigmask(how, set, before.as_mut_ptr());
        before.assume_init()
    }
}
