//! What a fork leaves to the child: nothing of the parent's that a call could find or wait for.
//!
//! Handlers that run around every `fork` count the child into a new *epoch*, in which no handle of its
//! parent is valid, and hold the fork up while a thread is in a *section*: the moments in which a
//! stream's buffer holds a part of a log, or a process-wide value is made.

use crate::code::{Code, Failure, Outcome};
use ghc_eventlog::Clock;
use ghc_eventlog::format::Header;
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many forks lie between the first process and this one.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Threads that are in a section.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Forks that are under way.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// How long a fork waits for a section: one whose stream is stuck must not hold the program up for ever.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often is looked at what is waited for.
const INTERVAL: Duration = Duration::from_micros(100);

/// The number of this process among its ancestors.
pub(crate) fn epoch() -> u32 {
    // Relaxed: it changes in a child before any code but the handler's runs there, on its only thread.
    EPOCH.load(Ordering::Relaxed)
}

/// While it is there a fork waits, [for a time](PATIENCE).
pub(crate) struct Section {
    epoch: u32,
}

impl Section {
    pub(crate) fn enter() -> Self {
        loop {
            // SeqCst: pairs with `prepare`, which says first that it forks and looks then who is inside.
            // One of both sees the other.
            INSIDE.fetch_add(1, Ordering::SeqCst);
            if FORKING.load(Ordering::SeqCst) == 0 {
                return Section { epoch: epoch() };
            }
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            // Relaxed: it is looked at again, above.
            while FORKING.load(Ordering::Relaxed) != 0 {
                thread::sleep(INTERVAL);
            }
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // A child that was forked within the section has forgotten it.
        if self.epoch == epoch() {
            // SeqCst: pairs with the look in `prepare`, which sees what was done in the section.
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

extern "C" fn prepare() {
    // SeqCst: pairs with `Section::enter`.
    FORKING.fetch_add(1, Ordering::SeqCst);
    let start = Instant::now();
    while INSIDE.load(Ordering::SeqCst) != 0 && start.elapsed() < PATIENCE {
        thread::sleep(INTERVAL);
    }
}

extern "C" fn in_parent() {
    // SeqCst: pairs with `Section::enter`.
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    // Relaxed, all of them: there is one thread.
    FORKING.store(0, Ordering::Relaxed);
    INSIDE.store(0, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::Relaxed);
    crate::handle::forget_all();
}

/// How far [`get_ready`] has come, and in which process: its id and one of the phases.
static READY: AtomicU64 = AtomicU64::new(0);
const AT_IT: u64 = 1;
const DONE: u64 = 2;

/// Sets the handlers up, once, and makes what all logs of a process share.
///
/// # Errors
/// Where there is no memory for that.
pub(crate) fn get_ready() -> Outcome {
    let mine = u64::from(process::id()) << 2 | AT_IT;
    loop {
        // Acquire: pairs with the Release below.
        let found = READY.load(Ordering::Acquire);
        if found == DONE {
            return Ok(());
        }
        if found == mine {
            thread::sleep(INTERVAL);
            continue;
        }
        // Nobody is at it, or a thread of the parent that is not here.
        // Relaxed: whoever fails looks again; what is done is told by the Release below.
        let won = READY.compare_exchange(found, mine, Ordering::Relaxed, Ordering::Relaxed);
        if won.is_ok() {
            break;
        }
    }
    // SAFETY: the handlers are functions that stay, as the library is never unloaded.
    let refused = unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) };
    if refused != 0 {
        // Release: pairs with the Acquire above.
        READY.store(0, Ordering::Release);
        return Err(Failure::of(Code::Memory));
    }
    {
        let _section = Section::enter();
        let _ = Clock::new();
        let _ = Header::standard();
    }
    // Release: pairs with the Acquire above.
    READY.store(DONE, Ordering::Release);
    Ok(())
}
