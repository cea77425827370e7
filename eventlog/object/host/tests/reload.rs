//! An object whose file is replaced, in whatever way, while it is loaded, and loaded again.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{Unload, registry};
use std::fs;
use std::time::Duration;

/// A generation of an object: what it calls its cost centre.
fn generation(label: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("generation.c");
    let text = format!(
        "#include \"eventlog_object.h\"\n\
         EVL_SCC_DECL(cc, \"{label}\", \"generation\");\n\
         EVL_OBJECT(\"generation\", 0, 0);\n\
         __attribute__((visibility(\"default\"))) uint64_t sample_run(uint64_t n);\n\
         uint64_t sample_run(uint64_t n) {{ evl_leave(evl_enter(&cc)); return n + sizeof \"{label}\"; }}\n"
    );
    fs::write(&source, text).unwrap();
    fs::read(support::compiled(
        &source,
        &format!("generation-{label}"),
        &[],
    ))
    .unwrap()
}

#[test]
fn a_file_that_is_replaced_is_loaded_anew_and_the_old_object_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("generation.so");
    let beside = directory.path().join("new.so");
    let generations = [
        generation("a"),
        generation("bb"),
        generation("ccc"),
        generation("dddd"),
    ];
    let label = |index: usize| ["a", "bb", "ccc", "dddd"][index];

    fs::write(&path, &generations[0]).unwrap();
    let mut old = support::load(&path);
    for (index, bytes) in generations.iter().enumerate().skip(1) {
        match index {
            // In place, as `cp` does; shorter for a moment.
            1 => fs::write(&path, bytes).unwrap(),
            // By another file that takes the name, as `mv` and linkers do.
            2 => {
                fs::write(&beside, bytes).unwrap();
                fs::rename(&beside, &path).unwrap();
            }
            // Gone, and there again.
            _ => {
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
        assert_eq!(support::run(&old, 0), label(index - 1).len() as u64 + 1);
        let new = support::load(&path);
        assert_eq!(support::run(&new, 0), label(index).len() as u64 + 1);
        assert_eq!(support::run(&old, 0), label(index - 1).len() as u64 + 1);
        let list = registry().cost_centres();
        let labels: Vec<&str> = list.iter().map(|one| &*one.label).collect();
        assert_eq!(labels, [label(index - 1), label(index)]);
        assert_eq!(old.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
        old = new;
    }
    assert_eq!(old.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
}
