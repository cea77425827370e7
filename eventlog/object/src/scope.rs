//! The part of a thread's time that belongs to a cost centre.

use crate::table::{CostCentre, HOST, Host};
use core::marker::PhantomData;
use core::sync::atomic::Ordering;

/// A thread is within a cost centre as long as it has this; see [`scc!`](crate::scc!). It stays on its thread.
///
/// ```
/// use ghc_eventlog_object::{CostCentre, Scope};
///
/// static PARSE: CostCentre = CostCentre::new(c"parse", c"my_object", c"src/lib.rs:7", 0);
/// let parsing = Scope::enter(&PARSE);
/// drop(parsing);
/// ```
#[derive(Debug)]
#[must_use = "the cost centre is left when this is dropped"]
pub struct Scope {
    host: Option<&'static Host>,
    entered: u32,
    /// Leaving is of the thread that has entered.
    thread: PhantomData<*const ()>,
}

impl Scope {
    /// Enters a cost centre, if there is a host. Waits for nothing; the first one on a thread allocates in the host.
    ///
    /// ```
    /// use ghc_eventlog_object::{CostCentre, Scope};
    ///
    /// static SOLVE: CostCentre = CostCentre::new(c"solve", c"my_object", c"src/lib.rs:9", 0);
    /// let _solving = Scope::enter(&SOLVE);
    /// ```
    #[inline(always)]
    pub fn enter(cost_centre: &'static CostCentre) -> Self {
        // Pairs with the host's release store of a table that it never frees.
        let host = HOST.load(Ordering::Acquire);
        // SAFETY: the slot holds null or a host's table, which lives as long as the process.
        let host = unsafe { host.as_ref() };
        // SAFETY: a host that has set the slot has numbered every cost centre of this library.
        let entered = host.map_or(0, |host| unsafe { (host.enter)(cost_centre) });
        Scope {
            host,
            entered,
            thread: PhantomData,
        }
    }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(host) = self.host {
            // SAFETY: this is what `enter` has returned, on this thread, since a scope is not `Send`.
            unsafe { (host.leave)(self.entered) }
        }
    }
}
