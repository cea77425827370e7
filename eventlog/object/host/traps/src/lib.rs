//! An object that uses what can keep a shared library mapped, or make its unloading a crash. For tests.

use ghc_eventlog_object::{object, scc};
use std::cell::RefCell;
use std::hint::black_box;

object!("trap", register);

struct Loud(Vec<u64>);

impl Drop for Loud {
    fn drop(&mut self) {
        black_box(&self.0);
    }
}

thread_local! {
    static LOUD: RefCell<Loud> = const { RefCell::new(Loud(Vec::new())) };
}

/// Has a destructor of this library run when the calling thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn trap_thread_local() -> u64 {
    scc!("thread local");
    LOUD.with_borrow_mut(|loud| {
        loud.0.push(1);
        loud.0.len() as u64
    })
}

/// Has the standard library of this library make a key for the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn trap_thread_current() -> u64 {
    scc!("thread current");
    black_box(std::thread::current().name().map_or(0, str::len) as u64)
}

/// Panics, and catches it.
#[unsafe(no_mangle)]
pub extern "C" fn trap_panic() -> u64 {
    scc!("panic");
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| {
        scc!("within the panic");
        panic!("in the object");
    });
    std::panic::set_hook(hook);
    u64::from(caught.is_err())
}

/// Starts a thread of this library, and waits for its end.
#[unsafe(no_mangle)]
pub extern "C" fn trap_thread() -> u64 {
    scc!("thread");
    std::thread::spawn(|| 1).join().unwrap_or(0)
}

/// Prints, so that the standard library registers what flushes at exit.
#[unsafe(no_mangle)]
pub extern "C" fn trap_print() -> u64 {
    scc!("print");
    println!("the object prints");
    1
}
