//! How the C programs are compiled, run and read.

use ghc_eventlog::format::{DecodeError, Decoded, Decoder, Event, Record};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The shared one, which the program opens.
    Opened,
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
            .arg("-I")
            .arg(here.join("../object/include"))
            .arg(here.join("tests/c").join(name).with_extension("c"))
            // What follows is no source.
            .args(["-x", "none", "-o"])
            .arg(directory.path().join(name));
        match library {
            Library::Shared | Library::Opened => {
                // The program looks for the library by its name for programs.
                let link = directory.path().join("libghceventlog.so.0");
                std::os::unix::fs::symlink(libraries().join("libghceventlog.so"), &link).unwrap();
                if library == Library::Shared {
                    command.arg(&link).arg("-Wl,-rpath,$ORIGIN");
                }
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

    /// Builds a shared library for the program to load, of a source in `eventlog/object`, where the program looks for it.
    pub(crate) fn with_object(self, name: &str, source: &str, arguments: &[&str]) -> Self {
        let objects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../object");
        let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        command
            .args(["-x", "c", "-std=gnu99", "-Wall", "-Wextra", "-Werror"])
            .args(["-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-I"])
            .arg(objects.join("include"))
            .arg(objects.join(source))
            .args(["-x", "none", "-o"])
            .arg(self.directory.path().join(name))
            .arg("-L")
            .arg(self.directory.path())
            .args(arguments);
        assert!(command.status().unwrap().success(), "{name}: {command:?}");
        self
    }

    /// Puts a copy of a file where it finds it by that name.
    pub(crate) fn with_file(self, file: &Path, name: &str) -> Self {
        fs::copy(file, self.directory.path().join(name)).unwrap();
        self
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
    let messages = messages_of(&bytes);
    let messages = messages.unwrap_or_else(|error| panic!("{}, {name}: {error}", program.name));
    Log { messages }
}

/// The messages of a log, which is read strictly to its end.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn messages_of(log: &[u8]) -> Result<Vec<String>, DecodeError> {
    let mut messages = Vec::new();
    let mut decoder = Decoder::new();
    let mut rest = log;
    while let Some(record) = decoder.next(&mut rest)? {
        if let Record::Event(event) = record {
            if let Ok(Decoded::Known(Event::UserMessage { text })) = event.decode() {
                messages.push(text.to_owned());
            }
        }
    }
    decoder.finish()?;
    Ok(messages)
}

/// What profiles in a log say. Each cost centre is by its module and label.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// Stacks of ticks.
    pub(crate) ticks: usize,
    /// Bytes of the stacks that are that cost centre alone, in the order of the samples.
    pub(crate) bytes: BTreeMap<String, Vec<u64>>,
    /// All that samples speak of.
    pub(crate) names: BTreeSet<String>,
}

/// Reads the profiles in a log. What samples speak of has been defined before.
pub(crate) fn profile(run: &Run, name: &str) -> Profile {
    let file = run.program.directory.path().join(name);
    let bytes = fs::read(file.with_extension("eventlog")).unwrap();
    let mut profile = Profile::default();
    let mut defined = BTreeMap::new();
    let mut decoder = Decoder::new();
    let mut rest = &bytes[..];
    while let Some(record) = decoder.next(&mut rest).unwrap() {
        let Record::Event(event) = record else {
            continue;
        };
        let Ok(Decoded::Known(event)) = event.decode() else {
            continue;
        };
        let stack = match &event {
            Event::HeapProfCostCentre {
                cost_centre,
                label,
                module,
                ..
            } => {
                let name = format!("{}.{}", module.as_str(), label.as_str());
                defined.insert(*cost_centre, name);
                continue;
            }
            Event::ProfSampleCostCentre { stack, .. } => stack,
            Event::HeapProfSampleCostCentre { stack, .. } => stack,
            _ => continue,
        };
        let names: Vec<String> = stack.iter().map(|id| defined[&id].clone()).collect();
        match (&event, &names[..]) {
            (Event::ProfSampleCostCentre { .. }, _) => profile.ticks += 1,
            (Event::HeapProfSampleCostCentre { residency, .. }, [only]) => {
                let bytes = profile.bytes.entry(only.clone()).or_default();
                bytes.push(*residency);
            }
            _ => {}
        }
        profile.names.extend(names);
    }
    profile
}

/// Each of these logs is whole.
pub(crate) fn whole_logs(run: &Run, names: &[&str]) {
    for name in names {
        read(run, name);
    }
}
