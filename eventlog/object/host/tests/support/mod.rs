//! Builds the objects that the tests load.

#![allow(dead_code, reason = "each test uses a part")]

use ghc_eventlog::objects::{LoadOptions, Object, Objects, Symbol};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs};

pub(crate) type Run = unsafe extern "C" fn(u64) -> u64;
pub(crate) type Trap = unsafe extern "C" fn() -> u64;

/// Where objects are built.
fn directory() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut roots = above.filter(|directory| directory.join("Cargo.lock").exists());
    roots.next().unwrap().to_owned()
}

/// Builds a package of this repository as cargo does, but without the flags that the test itself is built with:
/// objects have a standard library of their own.
fn cargo(package: &str) -> PathBuf {
    let target = directory().join("objects");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package, "--target-dir"])
        .arg(&target)
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .unwrap();
    assert!(built.success(), "{package} was not built");
    target.join(format!("debug/lib{}.so", package.replace('-', "_")))
}

/// The sample in Rust.
pub(crate) fn rust_sample() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| cargo("sample-object")).clone()
}

/// The sample in C.
pub(crate) fn c_sample() -> PathBuf {
    compiled(
        &root().join("eventlog/object/sample/sample.c"),
        "sample",
        &[],
    )
}

/// The object with everything in Rust that makes unloading hard.
pub(crate) fn rust_traps() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| cargo("trap-object")).clone()
}

/// A file of `tests/c`, built with these arguments under that name, once a process.
pub(crate) fn c(file: &str, name: &str, arguments: &[&str]) -> PathBuf {
    let source = root().join("eventlog/object/host/tests/c").join(file);
    compiled(&source, name, arguments)
}

/// A file in C, built with these arguments under that name, once a process.
pub(crate) fn compiled(source: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let built = built.get_or_insert_default();
    if let Some(path) = built.get(name) {
        return path.clone();
    }
    // Several processes build at the same time; each writes its own, and the last one stays.
    let path = directory().join(format!("{name}.so"));
    let mine = directory().join(format!("{name}-{}.so", std::process::id()));
    let status = Command::new(env::var_os("CC").unwrap_or("cc".into()))
        .args(["-O1", "-g0", "-fPIC", "-shared", "-fvisibility=hidden"])
        .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(root().join("eventlog/object/include"))
        .arg(source)
        .arg("-o")
        .arg(&mine)
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success(), "{name} was not built");
    fs::rename(&mine, &path).unwrap();
    built.insert(name.to_owned(), path.clone());
    path
}

/// Loads an object that is ours.
pub(crate) fn load(path: impl AsRef<Path>) -> Object {
    // SAFETY: these tests' objects keep the contract, or are called so that it is kept.
    unsafe { Objects::new().load(path, LoadOptions::new()) }.unwrap_or_else(|error| {
        panic!(
            "{error}: {:?}",
            std::error::Error::source(&error).map(ToString::to_string)
        )
    })
}

/// A function of an object that takes and returns what `T` says.
pub(crate) fn symbol<T: Copy>(object: &Object, name: &std::ffi::CStr) -> Symbol<T> {
    // SAFETY: the tests name the functions by their types.
    unsafe { object.symbol(name) }.unwrap()
}

/// Calls `sample_run`.
pub(crate) fn run(object: &Object, rounds: u64) -> u64 {
    let run = symbol::<Run>(object, c"sample_run");
    let entered = object.enter().unwrap();
    // SAFETY: takes any number.
    unsafe { entered.get(&run)(rounds) }
}

/// Calls a function without arguments.
pub(crate) fn call(object: &Object, name: &std::ffi::CStr) -> u64 {
    let trap = symbol::<Trap>(object, name);
    let entered = object.enter().unwrap();
    // SAFETY: takes nothing.
    unsafe { entered.get(&trap)() }
}

/// Lines of the memory map.
pub(crate) fn maps() -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().map(str::to_owned).collect()
}

/// Lines of the memory map that are of copies of objects.
pub(crate) fn mapped_objects() -> Vec<String> {
    maps()
        .into_iter()
        .filter(|line| line.contains("/memfd:evl:"))
        .collect()
}

/// The files, and copies of objects, that open descriptors are of. Left out is what the C library and the sanitizers
/// open on any thread at any time: a new thread that first allocates asks how many cores there are, and a
/// report goes through pipes.
pub(crate) fn descriptors() -> Vec<PathBuf> {
    let anybodys = |target: &PathBuf| {
        !target.is_absolute()
            || target.starts_with("/sys/devices/system/cpu")
            || target.starts_with("/proc") && target.ends_with("maps")
    };
    let entries = fs::read_dir("/proc/self/fd").unwrap();
    let targets = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let mut targets: Vec<PathBuf> = targets.filter(|target| !anybodys(target)).collect();
    targets.sort_unstable();
    targets
}

/// Memory in use, in kilobytes.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What is mapped of files and copies of objects: names and how often. (The heap and the stacks of other
/// threads come and go.)
pub(crate) fn maps_of_files() -> Vec<String> {
    let name = |line: &String| Some(line.split_once('/')?.1.to_owned());
    let mut names: Vec<String> = maps().iter().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Keeps other tests of the same program from loading objects meanwhile.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
