//! How the C programs are compiled, run and read.

use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Which library a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Shared,
    Static,
}

/// A program that has been compiled.
pub(crate) struct Program {
    name: String,
    directory: TempDir,
}

/// A program that has run without finding anything wrong.
pub(crate) struct Run {
    program: Program,
}

/// Words of a variable of the environment.
fn words(name: &str, default: &str) -> Vec<String> {
    let words = env::var(name).unwrap_or_else(|_| default.to_owned());
    words.split_whitespace().map(str::to_owned).collect()
}

/// Where the libraries are that were built for this test.
fn libraries() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

impl Program {
    /// Compiles a program of `c/`.
    pub(crate) fn new(name: &str, library: Library) -> Self {
        let directory = TempDir::new().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let compiler = env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
        let mut command = Command::new(&compiler);
        command
            .args(words("CAPI_LANGUAGE", "-x c -std=c99"))
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1"])
            .args(words("CAPI_FLAGS", ""))
            .arg("-I")
            .arg(here.join("include"))
            .arg(here.join("tests/c").join(name).with_extension("c"))
            // What follows is no source.
            .args(["-x", "none", "-o"])
            .arg(directory.path().join(name));
        match library {
            Library::Shared => {
                // The program looks for the library by its name for programs.
                let link = directory.path().join("libghceventlog.so.0");
                std::os::unix::fs::symlink(libraries().join("libghceventlog.so"), &link).unwrap();
                command.arg(&link).arg("-Wl,-rpath,$ORIGIN");
            }
            Library::Static => {
                command.arg(libraries().join("libghceventlog.a"));
            }
        }
        command.args(["-pthread", "-ldl", "-lm"]);
        let compiled = command.status();
        let compiled = compiled.unwrap_or_else(|error| {
            panic!("these tests need a C compiler, and {compiler:?} (CC names another) does not run: {error}")
        });
        assert!(compiled.success(), "{name}.c does not compile: {command:?}");
        Program {
            name: name.to_owned(),
            directory,
        }
    }

    /// Runs it, with so many rounds.
    pub(crate) fn run(self, rounds: u32) -> Run {
        self.run_by(rounds, words("CAPI_RUN", ""))
    }

    /// As [`run`](Self::run), a program that forks.
    pub(crate) fn run_forking(self, rounds: u32) -> Run {
        let usual = env::var("CAPI_RUN").unwrap_or_default();
        self.run_by(rounds, words("CAPI_RUN_FORKING", &usual))
    }

    fn run_by(self, rounds: u32, words: Vec<String>) -> Run {
        let program = self.directory.path().join(&self.name);
        let mut words = words.into_iter();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.arg(self.directory.path()).arg(rounds.to_string());
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}: {}\n{}{}",
            self.name,
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Run { program: self }
    }
}

impl Run {
    /// The names of the logs that it has written.
    pub(crate) fn logs(&self) -> Vec<String> {
        let files = fs::read_dir(self.program.directory.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter_map(|name| Some(name.strip_suffix(".eventlog")?.to_owned()))
            .collect();
        names.sort();
        names
    }
}

/// What is in a log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) messages: Vec<String>,
}

/// Reads a log strictly to its end, and leaves it in the directory that the environment's `ELV_LOGS`
/// names, for another checker to judge.
pub(crate) fn read(run: &Run, name: &str) -> Log {
    let program = &run.program;
    let path = program
        .directory
        .path()
        .join(name)
        .with_extension("eventlog");
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    if let Some(directory) = env::var_os("ELV_LOGS") {
        let directory = PathBuf::from(directory);
        fs::create_dir_all(&directory).unwrap();
        let copy = format!("capi-{}-{name}.eventlog", program.name);
        fs::write(directory.join(copy), &bytes).unwrap();
    }
    let mut log = Log::default();
    let mut decoder = Decoder::new();
    let mut rest = &bytes[..];
    let problem = |error: &dyn std::error::Error| panic!("{}, {name}: {error}", program.name);
    loop {
        match decoder.next(&mut rest) {
            Ok(Some(Record::Event(event))) => {
                if let Ok(Decoded::Known(Event::UserMessage { text })) = event.decode() {
                    log.messages.push(text.to_owned());
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => problem(&error),
        }
    }
    if let Err(error) = decoder.finish() {
        problem(&error);
    }
    log
}

/// Each of these logs is whole.
pub(crate) fn whole_logs(run: &Run, names: &[&str]) {
    for name in names {
        read(run, name);
    }
}
