//! What is refused, each with an error of its own, before any code of it runs. Every code of these files kills
//! the process.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::objects::{
    CheckError, HostExports, LoadError, LoadOptions, Objects, inspect, registry,
};
use ghc_eventlog_object::{ABI_MAJOR, FINGERPRINT, NOTE_TYPE};
use std::error::Error;
use std::fs;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tries to load, both ways, and sees that nothing is left of it. The test is alone, since compilers take descriptors.
fn refused(path: &Path) -> LoadError {
    let before = (support::maps_of_files(), support::descriptors());
    let mut errors = [false, true].map(|direct| {
        let options = LoadOptions::new().direct(direct);
        // SAFETY: if code of it ran, this process would die.
        unsafe { Objects::new().load(path, options) }.unwrap_err()
    });
    assert_eq!((support::maps_of_files(), support::descriptors()), before);
    assert!(Objects::new().loaded().is_empty() && registry().cost_centres().is_empty());
    let texts = errors.each_ref().map(ToString::to_string);
    assert_eq!(
        mem::discriminant(&errors[0]),
        mem::discriminant(&errors[1]),
        "{texts:?}"
    );
    assert!(
        texts[0].contains(&path.display().to_string()),
        "{}",
        texts[0]
    );
    mem::replace(
        &mut errors[0],
        LoadError::WithinConstructor {
            path: PathBuf::new(),
        },
    )
}

fn check(path: &Path) -> CheckError {
    match refused(path) {
        LoadError::Check { source, .. } => source,
        other => panic!("{other}: {:?}", other.source()),
    }
}

fn bad(name: &str, arguments: &[&str]) -> PathBuf {
    support::c("bad.c", &format!("bad-{name}"), arguments)
}

/// A good object, with some bytes changed.
fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = fs::read(bad("plain", &[])).unwrap();
    change(&mut bytes);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bad-{name}.so"));
    fs::write(&path, bytes).unwrap();
    path
}

/// Where the content of the object's note is.
fn note(bytes: &[u8]) -> usize {
    let head = [24_u32.to_le_bytes(), NOTE_TYPE.to_le_bytes(), *b"EVL\0"].concat();
    bytes.windows(12).position(|window| window == head).unwrap() + 12
}

#[test]
fn a_file_that_is_no_library_of_this_machine() {
    let _alone = support::alone();
    let text = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad-text.so");
    fs::write(&text, "INPUT(libc.so)\n").unwrap();
    assert_eq!(check(&text), CheckError::NotElf);
    fs::write(&text, "").unwrap();
    assert_eq!(check(&text), CheckError::NotElf);
    let foreign = changed("machine", |bytes| bytes[18] = 40);
    assert!(matches!(
        check(&foreign),
        CheckError::Machine { machine: 40, .. }
    ));
    let narrow = changed("class", |bytes| bytes[4] = 1);
    assert!(matches!(
        check(&narrow),
        CheckError::Machine { class: 1, .. }
    ));
    let relocatable = changed("kind", |bytes| bytes[16] = 1);
    assert_eq!(check(&relocatable), CheckError::NotShared { kind: 1 });
    let missing = Path::new("/no/such/object.so");
    assert!(matches!(refused(missing), LoadError::Io { .. }));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    assert!(matches!(refused(directory), LoadError::Io { .. }));
}

#[test]
fn a_file_that_is_cut_anywhere_is_told_to_be_cut() {
    let _alone = support::alone();
    let whole = fs::read(bad("plain", &[])).unwrap();
    for keep in [17, 63, 64, 900, 4096, 4097] {
        let cut = changed("cut", |bytes| bytes.truncate(keep));
        match check(&cut) {
            CheckError::Truncated { needed, found } => {
                assert!(found == keep as u64 && needed > found && needed <= whole.len() as u64);
            }
            other => panic!("{keep}: {other:?}"),
        }
    }
    // What the dynamic linker does not map may be missing.
    let sections = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    let cut = changed("sections", |bytes| bytes.truncate(sections));
    let plain = check(&changed("way-cut", |bytes| {
        let at = note(bytes);
        bytes[at + 4] = 0;
        bytes.truncate(sections);
    }));
    assert!(
        matches!(plain, CheckError::Way { .. }),
        "{plain:?} {}",
        cut.display()
    );
}

#[test]
fn a_library_that_is_no_object() {
    let _alone = support::alone();
    assert_eq!(
        check(&bad("none", &["-DNO_OBJECT", "-Wl,-z,undefs"])),
        CheckError::NoNote
    );
    let libc = support::maps()
        .into_iter()
        .find_map(|line| {
            line.split_whitespace()
                .last()
                .filter(|path| path.contains("/libc.so"))
                .map(PathBuf::from)
        })
        .unwrap();
    assert_eq!(check(&libc), CheckError::NoNote);
    assert_eq!(check(&bad("table", &["-DNO_TABLE"])), CheckError::NoTable);
    let short = changed("short", |bytes| {
        let at = note(bytes);
        bytes[at - 12] = 20;
    });
    assert_eq!(
        check(&short),
        CheckError::BadNote {
            found: 20,
            minimum: 24
        }
    );
}

#[test]
fn tables_of_another_version_way_size_or_layout() {
    let _alone = support::alone();
    let host = (ABI_MAJOR, 0);
    let major = check(&bad("major", &["-DEVL_ABI_MAJOR=9"]));
    assert_eq!(
        major,
        CheckError::Abi {
            found: (9, 0),
            host
        }
    );
    let minor = check(&bad("minor", &["-DEVL_ABI_MINOR=3"]));
    assert_eq!(
        minor,
        CheckError::Abi {
            found: (1, 3),
            host
        }
    );
    assert_eq!(
        check(&bad("way", &["-DEVL_WAY=0u"])),
        CheckError::Way { found: 0, host: 1 }
    );
    let layout = check(&bad("layout", &["-DEVL_FINGERPRINT=UINT64_C(0x1234)"]));
    assert_eq!(
        layout,
        CheckError::Fingerprint {
            found: 0x1234,
            host: FINGERPRINT
        }
    );
    for (at, table, host) in [(8, "cost centre", 32), (12, "object table", 56)] {
        let path = changed("size", |bytes| {
            let begin = note(bytes);
            bytes[begin + at] = 24;
        });
        assert_eq!(
            check(&path),
            CheckError::Size {
                table,
                found: 24,
                host
            }
        );
    }
}

#[test]
fn a_symbol_that_this_host_does_not_export() {
    let _alone = support::alone();
    let path = bad("missing", &["-DMISSING=evl_way_prof_abi9"]);
    let names = vec!["evl_way_prof_abi9".to_owned()];
    assert_eq!(check(&path), CheckError::MissingHostSymbols { names });
    let path = bad("missing-ifunc", &["-DMISSING=evl_way_prof_abi9", "-DIFUNC"]);
    assert!(matches!(
        check(&path),
        CheckError::MissingHostSymbols { .. }
    ));
    // What is nobody's by its name is looked for by the dynamic linker, which then runs nothing.
    let path = bad("undefined", &["-DMISSING=nobody_has_this"]);
    match refused(&path) {
        LoadError::Linker { message, .. } => {
            assert!(message.contains("nobody_has_this"), "{message}")
        }
        other => panic!("{other}"),
    }
}

/// The number at a place of the file.
fn number(bytes: &[u8], at: usize, size: usize) -> usize {
    let mut number = [0; 8];
    number[..size].copy_from_slice(&bytes[at..at + size]);
    usize::from_le_bytes(number)
}

#[test]
fn cost_centres_at_the_end_of_all_addresses_are_not_looked_at() {
    let _alone = support::alone();
    let mut bytes = fs::read(bad("plain", &[])).unwrap();
    let top = u64::MAX - 15;
    // The wish for a stack becomes a segment that reaches beyond the last address.
    let (programs, count) = (number(&bytes, 32, 8), number(&bytes, 56, 2));
    let mut programs = (0..count).map(|index| programs + 56 * index);
    let stack = programs.find(|at| number(&bytes, *at, 4) == 0x6474_e551);
    let stack = stack.unwrap();
    bytes[stack..stack + 4].copy_from_slice(&1_u32.to_le_bytes());
    for (field, value) in [(8, 0), (16, top), (32, 256), (40, 256)] {
        bytes[stack + field..stack + field + 8].copy_from_slice(&u64::to_le_bytes(value));
    }
    // The section of the cost centres lies there.
    let (sections, count) = (number(&bytes, 40, 8), number(&bytes, 60, 2));
    let names = number(&bytes, sections + 64 * number(&bytes, 62, 2) + 24, 8);
    let mut sections = (0..count).map(|index| sections + 64 * index);
    let cost_centres = sections.find(|at| {
        let name = names + number(&bytes, *at, 4);
        bytes[name..].starts_with(b"evl_cc\0")
    });
    let cost_centres = cost_centres.unwrap();
    bytes[cost_centres + 16..cost_centres + 24].copy_from_slice(&top.to_le_bytes());
    let info = inspect(&bytes, &HostExports::complete()).unwrap();
    assert!(info.cost_centres.is_empty());
}

#[test]
fn functions_that_would_be_called_before_it_is_loaded() {
    let _alone = support::alone();
    assert!(matches!(
        check(&bad("ifunc", &["-DIFUNC"])),
        CheckError::Resolvers { count: 1.. }
    ));
    let local = bad("local-ifunc", &["-DLOCAL_IFUNC"]);
    assert_eq!(check(&local), CheckError::Resolvers { count: 1 });
}

#[test]
fn a_standard_library_that_is_shared() {
    let _alone = support::alone();
    let library = bad("std", &["-DNO_OBJECT", "-Wl,-z,undefs"]);
    let named = library.with_file_name("libstd-0123456789abcdef.so");
    fs::copy(&library, &named).unwrap();
    let directory = format!("-L{}", library.parent().unwrap().display());
    let arguments = [
        &*directory,
        "-Wl,--no-as-needed",
        "-l:libstd-0123456789abcdef.so",
    ];
    let path = bad("prefer-dynamic", &arguments);
    let name = "libstd-0123456789abcdef.so".to_owned();
    assert_eq!(check(&path), CheckError::SharedStd { name });
}

#[test]
fn a_table_that_is_not_what_the_note_promises() {
    let _alone = support::alone();
    for (name, table, what) in [
        (
            "version",
            "sizeof(evl_object), 7, \"x\", 0, 0, &slot, 0, 0",
            "another version",
        ),
        ("size", "8, 1, \"x\", 0, 0, &slot, 0, 0", "shorter"),
        (
            "list",
            "sizeof(evl_object), 1, \"x\", elsewhere + 1, elsewhere, &slot, 0, 0",
            "its cost centres",
        ),
        (
            "host",
            "sizeof(evl_object), 1, \"x\", 0, 0, 0, 0, 0",
            "its slot",
        ),
    ] {
        let own = format!("-DOWN_TABLE={table}");
        // The dynamic linker has opened it, so its constructors would have run.
        let path = bad(&format!("own-{name}"), &[&own, "-DHARMLESS"]);
        match refused(&path) {
            LoadError::Table { what: told, .. } => assert!(told.contains(what), "{told}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn an_object_whose_init_refuses() {
    let _alone = support::alone();
    let path = support::c("trap.c", "refusing", &["-DINIT=77"]);
    match refused(&path) {
        LoadError::Init { code: 77, .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn a_program_that_is_no_host_cannot_open_an_object() {
    let _alone = support::alone();
    let directory = tempfile::tempdir().unwrap();
    let [source, program] = ["open.c", "open"].map(|name| directory.path().join(name));
    fs::write(
        &source,
        "#include <dlfcn.h>\n#include <stdio.h>\n\
         int main(int n, char **v) { (void)n; void *h = dlopen(v[1], RTLD_NOW); puts(h ? \"opened\" : dlerror()); return 0; }\n",
    )
    .unwrap();
    let built = Command::new("cc")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .status();
    assert!(built.unwrap().success());
    let opened = Command::new(&program)
        .arg(support::c_sample())
        .output()
        .unwrap();
    let said = String::from_utf8(opened.stdout).unwrap();
    assert!(
        said.contains("undefined symbol: evl_way_prof_abi1"),
        "{said}"
    );
}

/// That code of these files would not go unnoticed.
#[test]
fn code_of_a_bad_object_kills_the_process() {
    if let Some(path) = std::env::var_os("EVL_OPEN") {
        let path = std::ffi::CString::new(path.into_encoded_bytes()).unwrap();
        // SAFETY: it is wanted.
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        return;
    }
    let _alone = support::alone();
    for name in [
        bad("major", &["-DEVL_ABI_MAJOR=9"]),
        bad("only-ifunc", &["-DIFUNC", "-DHARMLESS"]),
        bad("only-local-ifunc", &["-DLOCAL_IFUNC", "-DHARMLESS"]),
    ] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "code_of_a_bad_object_kills_the_process"])
            .env("EVL_OPEN", name)
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(libc::SIGILL), "{child:?}");
    }
}
