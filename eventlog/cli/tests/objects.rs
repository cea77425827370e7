//! `eventlog objects`: what the file of an object tells.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::run;

/// The sample in C, built with these arguments.
fn sample(name: &str, arguments: &[&str]) -> PathBuf {
    let object = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let built = Command::new(std::env::var_os("CC").unwrap_or("cc".into()))
        .args(["-O1", "-fPIC", "-shared", "-Wl,-z,undefs", "-I"])
        .arg(object.join("include"))
        .args(arguments)
        .arg(object.join("sample/sample.c"))
        .arg("-o")
        .arg(&path)
        .status()
        .unwrap();
    assert!(built.success());
    path
}

#[test]
fn an_object_that_would_be_loaded_is_told_with_its_cost_centres() {
    let ran = run([Path::new("objects"), &sample("told", &[])]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for wanted in [
        "told.so\n  Name              sample_c\n",
        "  Tables            version 1.0\n",
        "  Registers itself  no\n",
        "  May stay mapped   no\n",
        "  Cost centre  Module  Source\n",
        "  It would be loaded.\n",
    ] {
        assert!(ran.out.contains(wanted), "{wanted:?} in {}", ran.out);
    }
    let labels = ["run", "round", "hold"].map(|label| format!("  {label:<11}  sample  "));
    assert!(
        labels.iter().all(|label| ran.out.contains(label)),
        "{}",
        ran.out
    );
}

#[test]
fn what_would_be_refused_is_told_with_the_reason() {
    let way = sample("way", &["-DEVL_WAY=0u"]);
    let pinned = sample("pinned", &["-Wl,-z,nodelete"]);
    let this = std::env::current_exe().unwrap();
    let ran = run([Path::new("objects"), &pinned, &way, &this]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    for wanted in [
        "  May stay mapped   it is linked with -z nodelete\n",
        "way.so\n  It would not be loaded: it is built in way 0, this host in way 1",
        "  It would not be loaded: it has no note of an object",
    ] {
        assert!(ran.out.contains(wanted), "{wanted:?} in {}", ran.out);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_code_2() {
    let ran = run(["objects", "/no/such/object.so"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("/no/such/object.so: "), "{}", ran.err);
}
