//! A profiled object in Rust. `sample.c` beside it is the same in C.
//!
//!     cargo build -p sample-object
//!     cargo run --bin eventlog -- objects target/debug/libsample_object.so

use ghc_eventlog_object::{object, scc};
use std::sync::atomic::{AtomicU32, Ordering};

object!("sample", init = start, fini = stop);

/// What `init` has prepared and `fini` takes away.
static STARTED: AtomicU32 = AtomicU32::new(0);

extern "C" fn start() -> i32 {
    STARTED.store(1, Ordering::Relaxed);
    0
}

extern "C" fn stop() {
    STARTED.store(0, Ordering::Relaxed);
}

/// Which build of the object this is.
#[unsafe(no_mangle)]
pub extern "C" fn sample_version() -> u32 {
    1
}

/// Works for a while: so many rounds, each of them in a cost centre of its own.
#[unsafe(no_mangle)]
pub extern "C" fn sample_run(rounds: u64) -> u64 {
    scc!("run");
    (0..rounds).fold(0, |sum: u64, round| {
        scc!("round");
        sum.wrapping_mul(3) ^ round
    })
}

/// Stays in a cost centre until `go` is set; sets `entered` when it is there.
///
/// # Safety
/// Both are there until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sample_hold(entered: *const AtomicU32, go: *const AtomicU32) {
    scc!("hold");
    // SAFETY: the caller's.
    let (entered, go) = unsafe { (&*entered, &*go) };
    entered.store(1, Ordering::Release);
    while go.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
}
