//! The log that is installed, and the number by which threads notice that it has changed.

use super::dropped;
use crate::log::EventLog;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{error, fmt};

/// The number of the installed log; 0 while there is none. Written under the lock of [`INSTALLED`].
static GENERATION: AtomicU32 = AtomicU32::new(0);

static INSTALLED: Mutex<Installed> = Mutex::new(Installed {
    log: None,
    latest: 0,
});

thread_local! {
    /// Whether this thread is at the lock: an event that interrupts it must not wait for that.
    static LOCKED: Cell<bool> = const { Cell::new(false) };
}

struct Installed {
    log: Option<EventLog>,
    /// The latest number given out.
    latest: u32,
}

/// Why a log was not installed; it comes back with the error.
///
/// # Examples
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// let second = EventLog::builder().start(Vec::new())?;
/// let trace::InstallError::AlreadyInstalled(second) = trace::install(second).unwrap_err() else {
///     unreachable!("there is no other reason");
/// };
/// second.message("still a log of its own");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallError {
    /// Another log is installed: [`uninstall`](super::uninstall) it first.
    AlreadyInstalled(EventLog),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::AlreadyInstalled(_) => {
                f.write_str("an event log is installed already, and a process has one at a time")
            }
        }
    }
}

impl error::Error for InstallError {}

/// Makes `log` the one that this module's functions and macros write to, on every thread.
///
/// Other threads notice it at their next event; one that has synchronised with this call (was
/// spawned after it, say) notices it at once. Allocates nothing.
///
/// # Errors
/// [`InstallError`] where there is one already. It holds `log`, which is as it was.
///
/// ```
/// use ghc_eventlog::{EventLog, trace, trace_event};
///
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace_event!("the first event of {}", "many");
/// let log = trace::uninstall().expect("it is installed");
/// assert_eq!(log.stop()?.lost().total(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn install(log: EventLog) -> Result<(), InstallError> {
    with(|installed| {
        if installed.log.is_some() {
            return Err(InstallError::AlreadyInstalled(log));
        }
        installed.log = Some(log);
        installed.latest = installed.latest.checked_add(1).unwrap_or(1);
        // Relaxed: it says no more than that there is a log; who wants to use it takes the lock.
        GENERATION.store(installed.latest, Ordering::Relaxed);
        Ok(())
    })
}

/// Takes the log away that is installed.
pub(super) fn take() -> Option<EventLog> {
    with(|installed| {
        // Relaxed: as in `install`.
        GENERATION.store(0, Ordering::Relaxed);
        installed.log.take()
    })
}

/// The log that is installed, if there is one. Taking a handle waits for nothing but other threads
/// that do the same.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// assert!(trace::log().is_none());
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// trace::log().expect("it is installed").flush()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn log() -> Option<EventLog> {
    with(|installed| installed.log.clone())
}

/// Whether a log is installed: a relaxed load of a static, and a comparison. What is expensive to
/// find out only for an event is best put behind it; the macros do so themselves.
///
/// ```
/// use ghc_eventlog::{EventLog, trace};
///
/// assert!(!trace::enabled());
/// trace::install(EventLog::builder().start(Vec::new())?)?;
/// assert!(trace::enabled());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline(always)]
#[must_use]
pub fn enabled() -> bool {
    generation() != 0
}

#[inline(always)]
pub(super) fn generation() -> u32 {
    // Relaxed: a thread that has synchronised with `install` sees its store; nothing else is read by
    // virtue of this.
    GENERATION.load(Ordering::Relaxed)
}

/// The log that is installed, and its number. `None` also where this interrupts the same thread's
/// use of the lock, which is counted.
pub(super) fn current() -> Option<(u32, EventLog)> {
    if LOCKED.get() {
        dropped::count();
        return None;
    }
    with(|installed| Some((installed.latest, installed.log.clone()?)))
}

/// Runs `act` under the lock. No code of others runs in it.
fn with<R>(act: impl FnOnce(&mut Installed) -> R) -> R {
    LOCKED.set(true);
    let result = act(&mut INSTALLED.lock().unwrap_or_else(PoisonError::into_inner));
    LOCKED.set(false);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_interrupts_its_threads_use_of_the_lock_is_dropped_and_waits_for_nothing() {
        let before = dropped::dropped();
        assert!(with(|_| current()).is_none());
        assert_eq!(dropped::dropped() - before, 1);
        // Not an interruption any more: it is not counted.
        assert!(current().is_none());
        assert_eq!(dropped::dropped() - before, 1);
    }
}
