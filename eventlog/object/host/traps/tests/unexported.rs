//! Objects in a program that exports nothing: this one is linked without the arguments that hosts are advised to use.
#![cfg(target_os = "linux")]

#[path = "../../tests/support/mod.rs"]
mod support;

use ghc_eventlog::objects::{Unload, registry};
use std::time::Duration;

#[test]
fn objects_are_loaded_called_and_unloaded() {
    let _alone = support::alone();
    let path = support::c("trap.c", "trap-self-unexported", &["-DSELF_REGISTER"]);
    for path in [support::c_sample(), path] {
        let object = support::load(path);
        support::run(&object, 3);
        assert!(!registry().cost_centres().is_empty());
        assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
        assert!(registry().cost_centres().is_empty());
    }
}

#[test]
fn keys_of_an_object_are_deleted_and_its_threads_end_well() {
    let _alone = support::alone();
    let object = support::load(support::rust_traps());
    let handle = object.clone();
    std::thread::spawn(move || {
        support::call(&object, c"trap_thread_current");
        assert_eq!(
            object.unload(Duration::from_secs(60)).unwrap(),
            Unload::Unmapped
        );
        // Ends now, and calls into nothing if the key is still there.
    })
    .join()
    .unwrap();
    assert!(!handle.is_mapped());
}
