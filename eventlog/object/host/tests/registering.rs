//! Objects that register themselves, by a constructor and a destructor.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{LoadError, LoadOptions, Objects, Unload, registry, stack};
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn object() -> PathBuf {
    support::c("trap.c", "trap-self", &["-DSELF_REGISTER"])
}

fn open(path: &Path) -> *mut c_void {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: it keeps the contract.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    handle
}

fn close(handle: *mut c_void) {
    // SAFETY: nothing of it is in use.
    assert_eq!(unsafe { libc::dlclose(handle) }, 0);
}

fn labels() -> Vec<Box<str>> {
    registry()
        .cost_centres()
        .iter()
        .map(|one| one.label.clone())
        .collect()
}

#[test]
fn an_object_that_is_opened_by_the_program_itself_is_listed_until_it_is_closed() {
    let _alone = support::alone();
    let handle = open(&object());
    assert_eq!(labels(), [Box::from("work")]);
    // SAFETY: this is its type.
    let stay = unsafe {
        let at = libc::dlsym(handle, c"trap_stay".as_ptr());
        std::mem::transmute::<*mut c_void, support::Trap>(at)
    };
    // SAFETY: takes nothing.
    unsafe { stay() };
    let id = registry().cost_centres().iter().next().unwrap().id;
    assert!(stack::current().ids().eq([id]));
    // SAFETY: this is its type, and it takes nothing.
    unsafe {
        let at = libc::dlsym(handle, c"trap_leave".as_ptr());
        std::mem::transmute::<*mut c_void, support::Trap>(at)();
    }
    close(handle);
    assert!(labels().is_empty());
    // And again, with other numbers.
    let handle = open(&object());
    assert_eq!(labels(), [Box::from("work")]);
    assert!(registry().cost_centres().iter().next().unwrap().id > id);
    close(handle);
}

#[test]
fn what_was_entered_without_a_host_leaves_nothing_when_there_is_one() {
    let _alone = support::alone();
    let handle = open(&support::c(
        "trap.c",
        "trap-early",
        &["-DSELF_REGISTER", "-DEARLY"],
    ));
    let id = registry().cost_centres().iter().next().unwrap().id;
    let entered = stack::enter(id);
    // SAFETY: this is its type, and it takes nothing.
    unsafe {
        let at = libc::dlsym(handle, c"trap_leave".as_ptr());
        std::mem::transmute::<*mut c_void, support::Trap>(at)();
    }
    assert!(stack::current().ids().eq([id]));
    stack::leave(entered);
    assert_eq!(stack::current().depth(), 0);
    close(handle);
}

#[test]
fn an_object_that_is_loaded_is_registered_once() {
    let _alone = support::alone();
    let loaded = support::load(object());
    assert!(loaded.info().registers_itself);
    assert_eq!(labels(), [Box::from("work")]);
    support::run(&loaded, 1);
    assert_eq!(loaded.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert!(labels().is_empty());

    // In Rust, too, where the constructor has a table of its own.
    let loaded = support::load(support::rust_traps());
    assert!(loaded.info().registers_itself);
    assert_eq!(labels().len(), loaded.info().cost_centres.len());
    assert_eq!(support::call(&loaded, c"trap_panic"), 1);
    assert_eq!(loaded.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert!(labels().is_empty());
}

#[test]
fn what_is_there_already_is_not_loaded_directly_but_as_a_copy() {
    let _alone = support::alone();
    let handle = open(&object());
    // SAFETY: it keeps the contract.
    let load = |direct| unsafe { Objects::new().load(object(), LoadOptions::new().direct(direct)) };
    assert!(matches!(load(true), Err(LoadError::AlreadyLoaded { .. })));
    assert_eq!(labels(), [Box::from("work")]);
    let copy = load(false).unwrap();
    assert_eq!(labels().len(), 2);
    let direct = load(true);
    assert!(matches!(direct, Err(LoadError::AlreadyLoaded { .. })));
    close(handle);
    assert_eq!(labels().len(), 1, "the copy is still there");
    copy.unload(Duration::ZERO).unwrap();
    let first = load(true).unwrap();
    assert!(matches!(load(true), Err(LoadError::AlreadyLoaded { .. })));
    assert_eq!(first.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert!(labels().is_empty());
}

#[test]
fn an_object_that_comes_with_another_is_registered_by_itself() {
    let _alone = support::alone();
    let needed = object();
    let directory = needed.parent().unwrap().display();
    let arguments = [
        format!("-L{directory}"),
        format!("-Wl,--no-as-needed,-rpath,{directory}"),
        "-l:trap-self.so".to_owned(),
    ];
    let arguments = arguments.each_ref().map(|argument| &**argument);
    let loaded = support::load(support::c("trap.c", "trap-needs", &arguments));
    assert_eq!(labels().len(), 2);
    let names: Vec<String> = registry()
        .cost_centres()
        .objects()
        .map(|one| one.name().into())
        .collect();
    assert_eq!(names, ["trap_c", "trap_c"]);
    assert_eq!(loaded.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
    assert!(labels().is_empty(), "the other one's destructor has run");
}

#[test]
fn a_forked_child_that_ends_waits_for_no_thread_of_its_parents() {
    let _alone = support::alone();
    let handle = open(&object());
    let sampling = registry().sampling();
    // SAFETY: the child runs the object's destructor, as at its end, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: nothing of the object is in use, and nothing else is to be done.
        unsafe {
            libc::dlclose(handle);
            libc::_exit(0)
        }
    }
    assert!(child > 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut status = -1;
    loop {
        // SAFETY: asks for a child of this process.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended != 0 {
            break;
        }
        if Instant::now() > deadline {
            // SAFETY: a child of this process, which has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0);
    drop(sampling);
    // The parent has what it had.
    assert_eq!(labels(), [Box::from("work")]);
    close(handle);
    assert!(labels().is_empty());
}

#[test]
fn a_thread_that_is_ending_may_open_an_object() {
    struct Opens;

    impl Drop for Opens {
        fn drop(&mut self) {
            close(open(&object()));
        }
    }

    thread_local! {
        static OPENS: Opens = const { Opens };
    }

    let _alone = support::alone();
    // First what is destroyed last.
    let ending = std::thread::spawn(|| {
        OPENS.with(|_| ());
        close(open(&object()));
    });
    ending.join().unwrap();
    assert!(labels().is_empty());
}
