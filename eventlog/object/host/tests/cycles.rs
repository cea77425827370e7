//! Loading and unloading leaves nothing behind, however often. `OBJECTS_CYCLES` says how often.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{LoadOptions, Objects, Unload, registry};
use std::path::Path;
use std::time::Duration;

fn cycles() -> usize {
    match std::env::var("OBJECTS_CYCLES") {
        Ok(count) => count.parse().expect("OBJECTS_CYCLES is a number"),
        Err(_) => 100,
    }
}

fn cycle(path: &Path, direct: bool) {
    let options = LoadOptions::new().direct(direct);
    // SAFETY: the samples keep the contract.
    let object = unsafe { Objects::new().load(path, options) }.unwrap();
    support::run(&object, 10);
    assert_eq!(
        object.unload(Duration::from_secs(60)).unwrap(),
        Unload::Unmapped
    );
}

/// One test: they would see each other's memory.
#[test]
fn nothing_is_left_of_objects_that_were_unloaded() {
    for path in [support::c_sample(), support::rust_sample()] {
        for direct in [false, true] {
            // What is allocated once for all.
            for _ in 0..20 {
                cycle(&path, direct);
            }
            let files = (support::maps_of_files(), support::descriptors());
            let before = support::resident();
            for _ in 0..cycles() {
                cycle(&path, direct);
            }
            assert_eq!((support::maps_of_files(), support::descriptors()), files);
            assert!(registry().cost_centres().is_empty());
            assert!(Objects::new().loaded().is_empty());
            let grown = support::resident().saturating_sub(before);
            println!("{}: {} cycles, {grown} kB more", path.display(), cycles());
            assert!(
                grown <= 256,
                "{}: {grown} kB more than {before}",
                path.display()
            );
        }
    }
}
