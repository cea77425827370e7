//! The traps of unmapping a library, each in a child process, each with its outcome. Each test runs this
//! program again as a child, in which `child` plays the part and exits with 0.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{
    BusyReason, LoadOptions, Object, Objects, PinReason, Unload, registry,
};
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const PART: &str = "OBJECTS_TRAPS_PART";

/// Builds what the part needs, so that the child does not wait for it under its deadline, and plays it.
fn play(part: &str) {
    support::rust_traps();
    support::c_sample();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env(PART, part)
        // What an object holds in static variables, and in keys, is leaked when it is unmapped.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{part}: {:?}\n{told}", child.status);
}

fn unload(object: Object) -> Unload {
    object.unload(Duration::from_secs(60)).unwrap()
}

/// A thread that calls a function of the object, says so, and ends when it is told to.
fn caller(object: &Object, function: &'static CStr) -> (JoinHandle<()>, mpsc::Sender<()>) {
    let (called, is_called) = mpsc::channel();
    let (end, is_to_end) = mpsc::channel();
    let object = object.clone();
    let thread = thread::spawn(move || {
        support::call(&object, function);
        drop(object);
        called.send(()).unwrap();
        is_to_end.recv().unwrap();
    });
    is_called.recv().unwrap();
    (thread, end)
}

fn end((thread, end): (JoinHandle<()>, mpsc::Sender<()>)) {
    end.send(()).unwrap();
    thread.join().unwrap();
}

fn trap(name: &str, arguments: &[&str]) -> Object {
    support::load(support::c("trap.c", name, arguments))
}

unsafe extern "C" {
    fn tss_create(
        key: *mut libc::pthread_key_t,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
}

#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    match &*part {
        "nothing" => {
            for function in [c"trap_panic", c"trap_print"] {
                let object = support::load(support::rust_traps());
                assert_eq!(support::call(&object, function), 1);
                assert_eq!(unload(object), Unload::Unmapped, "{function:?}");
            }
        }
        "memory of static variables" => {
            let cycle = || {
                let object = support::load(support::rust_traps());
                assert_eq!(support::call(&object, c"trap_print"), 1);
                assert_eq!(unload(object), Unload::Unmapped);
            };
            // SAFETY: asks the allocator of C, which is that of the object, too.
            let held = || unsafe { libc::mallinfo2() }.uordblks;
            (0..10).for_each(|_| cycle());
            let before = held();
            (0..100).for_each(|_| cycle());
            let leaked = held().saturating_sub(before) / 100;
            // The buffer of its standard output, and a little for what is around that.
            assert!(leaked <= 2_048, "{leaked} bytes each time");
        }
        "thread local of a thread that has ended" => {
            // A thread that starts another has thread locals of the standard library, too.
            for function in [c"trap_thread_local", c"trap_thread"] {
                let object = support::load(support::rust_traps());
                end(caller(&object, function));
                assert_eq!(unload(object), Unload::Unmapped, "{function:?}");
            }
        }
        "thread local of a thread that lives" => {
            let object = support::load(support::rust_traps());
            let handle = object.clone();
            let thread = caller(&object, c"trap_thread_local");
            assert_eq!(
                unload(object),
                Unload::Pinned(vec![PinReason::ThreadLocals])
            );
            assert!(registry().cost_centres().is_empty() && handle.enter().is_none());
            // Its destructor is still there, and runs.
            end(thread);
            // It goes with the next library that is closed.
            assert_eq!(unload(support::load(support::c_sample())), Unload::Unmapped);
            assert!(!handle.is_mapped());
        }
        "key of a thread that lives" => {
            let object = support::load(support::rust_traps());
            let keys = PinReason::ThreadKeys("pthread_key_create".to_owned());
            assert!(object.info().pins.contains(&keys));
            let thread = caller(&object, c"trap_thread_current");
            assert_eq!(unload(object), Unload::Unmapped);
            // This would call into nothing if the key were still there.
            end(thread);
        }
        "key of C" => {
            let make = "-DKEY=pthread_key_t key; pthread_key_create(&key, key_destructor)";
            let object = trap("trap-key", &[make]);
            let thread = caller(&object, c"trap_key");
            assert_eq!(unload(object), Unload::Unmapped);
            end(thread);
        }
        "key that is not seen" => {
            let make = "-DKEY=tss_t key; tss_create(&key, key_destructor)";
            let object = trap("trap-tss", &[make]);
            let thread = caller(&object, c"trap_key");
            let keys = PinReason::ThreadKeys("tss_create".to_owned());
            assert_eq!(unload(object), Unload::Pinned(vec![keys]));
            // Its destructor is code that is still there, and enters a cost centre of nobody.
            end(thread);
        }
        "key that the object has deleted" => {
            let make = "-DKEY=pthread_key_t key; pthread_key_create(&key, key_destructor); \
                        pthread_key_delete(key); return key";
            let object = trap("trap-key-deleted", &[make]);
            let objects = support::call(&object, c"trap_key");
            // The program gets the number, by a name that goes past what is watched.
            let mut own = 0;
            let value = (&raw mut own).cast::<c_void>();
            // SAFETY: makes a key without a destructor, and sets it for this thread.
            unsafe {
                assert_eq!(tss_create(&raw mut own, None), 0);
                assert_eq!(u64::from(own), objects);
                assert_eq!(libc::pthread_setspecific(own, value), 0);
            }
            assert_eq!(unload(object), Unload::Unmapped);
            // SAFETY: asks for what this thread has set.
            assert_eq!(unsafe { libc::pthread_getspecific(own) }, value);
        }
        "key of the main thread" => {
            let object = support::load(support::rust_traps());
            support::call(&object, c"trap_thread_current");
            assert_eq!(unload(object), Unload::Unmapped);
        }
        "unique symbol" => {
            let object = trap("trap-unique", &["-DUNIQUE"]);
            let name = "unique_counter".to_owned();
            assert_eq!(
                unload(object),
                Unload::Pinned(vec![PinReason::UniqueSymbol(name)])
            );
        }
        "nodelete" => {
            let object = trap("trap-nodelete", &["-Wl,-z,nodelete"]);
            assert_eq!(unload(object), Unload::Pinned(vec![PinReason::NoDelete]));
        }
        "open elsewhere" => {
            let path = support::c("trap.c", "trap", &[]);
            // SAFETY: it keeps the contract.
            let object = unsafe { Objects::new().load(&path, LoadOptions::new().direct(true)) };
            let object = object.unwrap();
            let handle = object.clone();
            let name = CString::new(path.as_os_str().as_bytes()).unwrap();
            // SAFETY: as above.
            let other = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            assert!(!other.is_null());
            assert_eq!(
                unload(object),
                Unload::Pinned(vec![PinReason::OpenElsewhere])
            );
            // SAFETY: nothing of it is in use.
            assert_eq!(unsafe { libc::dlclose(other) }, 0);
            assert!(!handle.is_mapped());
        }
        "signal handler" => {
            let object = trap("trap", &[]);
            assert_eq!(support::call(&object, c"trap_signal"), 0);
            let handler = PinReason::SignalHandler(libc::SIGUSR1);
            assert_eq!(unload(object), Unload::Pinned(vec![handler]));
            // SAFETY: the handler is still there.
            unsafe { libc::raise(libc::SIGUSR1) };
        }
        "atexit" => {
            let object = trap("trap", &[]);
            assert_eq!(support::call(&object, c"trap_atexit"), 0);
            assert_eq!(unload(object), Unload::Unmapped);
            // The process exits without calling into nothing.
        }
        "loaded at exit" => {
            let object = support::load(support::rust_traps());
            support::call(&object, c"trap_thread_current");
            support::call(&object, c"trap_thread_local");
            let object = support::load(support::c("trap.c", "trap-self", &["-DSELF_REGISTER"]));
            support::call(&object, c"trap_atexit");
        }
        "within a call" => {
            let object = trap("trap", &[]);
            let other = object.clone();
            let entered = object.enter().unwrap();
            let busy = other.unload(Duration::ZERO).unwrap_err();
            assert_eq!(busy.reason, BusyReason::Calls(1));
            drop(entered);
            assert_eq!(unload(busy.object), Unload::Unmapped);
        }
        other => panic!("no part: {other}"),
    }
}

#[test]
fn panics_and_printing_leave_nothing_behind() {
    play("nothing");
}

#[test]
fn what_static_variables_hold_is_leaked_and_no_more() {
    play("memory of static variables");
}

#[test]
fn a_thread_local_pins_while_its_thread_lives() {
    play("thread local of a thread that has ended");
    play("thread local of a thread that lives");
}

#[test]
fn a_thread_specific_key_is_deleted_before_its_destructor_goes() {
    play("key of a thread that lives");
    play("key of the main thread");
    play("key of C");
}

#[test]
fn a_key_that_has_become_somebody_else_s_is_not_deleted() {
    play("key that the object has deleted");
}

#[test]
fn an_object_whose_keys_are_not_seen_is_not_closed() {
    play("key that is not seen");
}

#[test]
fn what_the_dynamic_linker_never_unmaps_is_pinned() {
    play("unique symbol");
    play("nodelete");
}

#[test]
fn an_object_that_somebody_else_has_open_is_pinned() {
    play("open elsewhere");
}

#[test]
fn a_signal_handler_that_is_left_behind_pins() {
    play("signal handler");
}

#[test]
fn functions_for_the_exit_run_when_the_object_is_unloaded() {
    play("atexit");
}

#[test]
fn a_process_may_exit_with_objects_loaded() {
    play("loaded at exit");
}

#[test]
fn a_thread_within_a_call_cannot_unload_under_itself() {
    play("within a call");
}
