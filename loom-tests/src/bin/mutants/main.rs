//! Damages the ring's sources, one small place at a time, and runs the models that must notice.
//!
//! A green loom run alone proves little: a model may explore too little, or assert too little. One
//! that fails on a damaged ring, and only there, does look. `loom-tests/README.md` says how to add a
//! mutant.

mod table;
mod table_mpsc;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

/// One damage.
#[derive(Debug)]
pub(crate) struct Mutant {
    /// Unique; what the command line and the report call it.
    name: &'static str,
    /// The damaged file, from the workspace's root.
    file: &'static str,
    /// The text to replace, exactly as it stands in the file.
    find: &'static str,
    /// Which occurrence of `find`, from 1; `None` if it must be the only one.
    nth: Option<usize>,
    /// What stands there instead.
    replace: &'static str,
    /// The smallest preemption bound at which a model notices.
    bound: usize,
    /// What must come of it.
    fate: Fate,
    /// What goes wrong with the damage, or why nothing can.
    why: &'static str,
}

/// Every ordering that something can lean on.
const ORDERINGS: [&str; 4] = [
    "Ordering::Acquire",
    "Ordering::Release",
    "Ordering::AcqRel",
    "Ordering::SeqCst",
];

impl Mutant {
    /// Whether an atomic access loses its ordering, or is lost altogether.
    fn weakens_an_ordering(&self) -> bool {
        let ordered = |text: &str| ORDERINGS.map(|ordering| text.matches(ordering).count());
        ordered(self.find) != ordered(self.replace)
    }
}

/// What must come of a mutant.
#[derive(Debug)]
#[allow(dead_code, reason = "the table may need only some of them")]
enum Fate {
    /// One of these models fails, each named `file::test` after `loom-tests/tests/file.rs`.
    KilledBy(&'static [&'static str]),
    /// The same, where the ring's loads are plain ones (`LOOM_LOADS=plain`).
    KilledByPlain(&'static [&'static str]),
    /// Loom cannot show what goes wrong, so there is nothing to run; `why` tells it.
    BeyondLoom,
    /// No execution can differ, so there is nothing to run; `why` argues it.
    Equivalent,
}

impl Fate {
    /// The models that must notice, and whether they run with plain loads.
    fn models(&self) -> Option<(&'static [&'static str], bool)> {
        match *self {
            Self::KilledBy(models) => Some((models, false)),
            Self::KilledByPlain(models) => Some((models, true)),
            Self::BeyondLoom | Self::Equivalent => None,
        }
    }
}

/// What came of a mutant.
#[derive(Debug, PartialEq)]
enum Verdict {
    Killed { model: String, by: String },
    Equivalent,
    BeyondLoom,
    NotRun,
    Survived,
    TimedOut(String),
    Stale(String),
    Broken(String),
}

impl Verdict {
    fn is_good(&self) -> bool {
        matches!(
            self,
            Self::Killed { .. } | Self::Equivalent | Self::BeyondLoom | Self::NotRun
        )
    }

    fn cells(&self) -> (&'static str, String) {
        match self {
            Self::Killed { model, by } => ("killed", format!("`{model}`: {by}")),
            Self::Equivalent => ("equivalent", String::new()),
            Self::BeyondLoom => ("beyond loom", String::new()),
            Self::NotRun => ("not run", "the time budget was used up".into()),
            Self::Survived => ("**SURVIVED**", "every model named for it passed".into()),
            Self::TimedOut(model) => (
                "**TIMED OUT**",
                format!("`{model}`; not finishing is not noticing"),
            ),
            Self::Stale(what) => ("**STALE**", what.clone()),
            Self::Broken(what) => ("**BROKEN**", what.clone()),
        }
    }
}

/// All of them.
fn mutants() -> impl Iterator<Item = &'static Mutant> {
    table::MUTANTS.iter().chain(table_mpsc::MUTANTS)
}

const USAGE: &str = "\
usage: mutants [--list] [--budget SECONDS] [NAME...]

Runs the named mutants, or all. --budget starts none after that time.
MUTANT_SECONDS limits one model on one mutant (default 120).";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, String> {
    let mut list = false;
    let mut budget = None;
    let mut names = Vec::new();
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = true,
            "--budget" => {
                let seconds = args.next().and_then(|s| s.parse().ok()).ok_or(USAGE)?;
                budget = Some(Duration::from_secs(seconds));
            }
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(true);
            }
            _ if arg.starts_with('-') => return Err(USAGE.into()),
            _ => names.push(arg),
        }
    }
    if let Some(unknown) = names.iter().find(|n| mutants().all(|m| m.name != **n)) {
        return Err(format!("no mutant is called {unknown}; --list shows all"));
    }
    let chosen: Vec<_> = mutants()
        .filter(|m| names.is_empty() || names.iter().any(|n| n == m.name))
        .collect();
    if list {
        for m in chosen {
            println!("{:32} {:28} {}", m.name, m.file, m.why);
        }
        return Ok(true);
    }
    let limit = env::var("MUTANT_SECONDS")
        .map_or(Ok(120), |s| s.parse())
        .map_err(|_| USAGE)?;
    judge(&chosen, Duration::from_secs(limit), budget)
}

/// Runs them all, prints the report, and says whether it is a good one.
fn judge(chosen: &[&Mutant], limit: Duration, budget: Option<Duration>) -> Result<bool, String> {
    let start = Instant::now();
    let lab = Lab::new(limit).map_err(|e| format!("the copy of the sources failed: {e}"))?;
    lab.check_models(chosen)?;
    let mut report = Vec::new();
    for m in in_running_order(chosen) {
        let begun = Instant::now();
        let verdict = if budget.is_some_and(|b| start.elapsed() > b) && m.fate.models().is_some() {
            Verdict::NotRun
        } else {
            lab.try_out(m).map_err(|e| format!("{}: {e}", m.name))?
        };
        eprintln!(
            "mutant {}: {}, {:.1} s",
            m.name,
            verdict.cells().0,
            begun.elapsed().as_secs_f64()
        );
        report.push((m, verdict));
    }
    // As in the table, where one mutant's words may lean on those before.
    report.sort_by_key(|(m, _)| chosen.iter().position(|c| c.name == m.name));
    println!("| mutant | verdict | by | what it breaks |\n|---|---|---|---|");
    for (m, verdict) in &report {
        let (word, by) = verdict.cells();
        let cells = [m.name, word, &by, m.why].map(|c| c.replace('|', "\\|").replace('\n', " "));
        println!("| {} |", cells.join(" | "));
    }
    let count = |good: fn(&Verdict) -> bool| report.iter().filter(|(_, v)| good(v)).count();
    println!(
        "\n{} killed, {} equivalent, {} beyond loom, {} not run, {} bad, in {:.0} s",
        count(|v| matches!(v, Verdict::Killed { .. })),
        count(|v| *v == Verdict::Equivalent),
        count(|v| *v == Verdict::BeyondLoom),
        count(|v| *v == Verdict::NotRun),
        count(|v| !v.is_good()),
        start.elapsed().as_secs_f64(),
    );
    Ok(report.iter().all(|(_, v)| v.is_good()))
}

/// The order that a budget cuts off least badly: one mutant of each file, then every weakened
/// ordering, then the others, by turns from all files.
fn in_running_order<'a>(chosen: &[&'a Mutant]) -> Vec<&'a Mutant> {
    let mut seen = BTreeMap::new();
    let mut order: Vec<_> = chosen
        .iter()
        .map(|&m| {
            let turn: &mut usize = seen.entry(m.file).or_default();
            *turn += 1;
            (*turn != 1, !m.weakens_an_ordering(), *turn, m)
        })
        .collect();
    order.sort_by_key(|&(later, sound, turn, _)| (later, sound, turn));
    order.into_iter().map(|(.., m)| m).collect()
}

/// A copy of the sources that may be damaged, with a target directory that all mutants share.
#[derive(Debug)]
struct Lab {
    sources: PathBuf,
    target: PathBuf,
    limit: Duration,
}

impl Lab {
    fn new(limit: Duration) -> io::Result<Self> {
        let root = workspace_root();
        let base = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |t| root.join(t))
            .join("mutants");
        let sources = base.join("sources");
        if sources.exists() {
            fs::remove_dir_all(&sources)?;
        }
        for package in ["ring", "loom-tests"] {
            copy_tree(&root.join(package), &sources.join(package))?;
        }
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        fs::write(
            sources.join("Cargo.toml"),
            only_these_members(&manifest, &["ring", "loom-tests"]),
        )?;
        fs::copy(root.join("Cargo.lock"), sources.join("Cargo.lock"))?;
        Ok(Self {
            sources,
            target: base.join("target"),
            limit,
        })
    }

    /// A model that fails on the healthy ring, or does not exist, would seem to kill any mutant.
    fn check_models(&self, chosen: &[&Mutant]) -> Result<(), String> {
        let mut models: BTreeMap<&str, BTreeSet<(usize, bool)>> = BTreeMap::new();
        for m in chosen {
            if let Some((names, plain)) = m.fate.models() {
                for name in names {
                    models.entry(name).or_default().insert((m.bound, plain));
                }
            }
        }
        if models.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = models.keys().copied().collect();
        let programs = self.build(&names)?;
        for (model, ways) in models {
            for (bound, plain) in ways {
                match self.model(&programs, model, bound, plain)? {
                    Outcome::Passed => {}
                    Outcome::Failed(by) => {
                        return Err(format!("{model} fails on the healthy ring: {by}"));
                    }
                    Outcome::TimedOut => {
                        return Err(format!("{model} takes too long on the healthy ring"));
                    }
                }
            }
        }
        Ok(())
    }

    fn try_out(&self, m: &Mutant) -> Result<Verdict, String> {
        let (models, plain) = match m.fate.models() {
            Some(models) => models,
            None if matches!(m.fate, Fate::BeyondLoom) => return Ok(Verdict::BeyondLoom),
            None => return Ok(Verdict::Equivalent),
        };
        let path = self.sources.join(m.file);
        let Ok(healthy) = fs::read_to_string(&path) else {
            return Ok(Verdict::Stale(format!("there is no {}", m.file)));
        };
        let damaged = match damage(&healthy, m) {
            Ok(text) => text,
            Err(what) => return Ok(Verdict::Stale(what)),
        };
        fs::write(&path, damaged).map_err(|e| e.to_string())?;
        let verdict = self.expose(m, models, plain);
        fs::write(&path, healthy).map_err(|e| e.to_string())?;
        verdict
    }

    fn expose(&self, m: &Mutant, models: &[&str], plain: bool) -> Result<Verdict, String> {
        let programs = match self.build(models) {
            Ok(programs) => programs,
            Err(what) => {
                return Ok(Verdict::Broken(format!(
                    "does not compile: {}",
                    first_error(&what)
                )));
            }
        };
        let mut endless = None;
        for model in models {
            match self.model(&programs, model, m.bound, plain)? {
                Outcome::Passed => {}
                Outcome::Failed(by) => {
                    return Ok(Verdict::Killed {
                        model: (*model).into(),
                        by,
                    });
                }
                Outcome::TimedOut => endless = Some((*model).to_string()),
            }
        }
        Ok(endless.map_or(Verdict::Survived, Verdict::TimedOut))
    }

    /// Builds the models' test programs: file name to executable.
    fn build(&self, models: &[&str]) -> Result<BTreeMap<String, PathBuf>, String> {
        let files: BTreeSet<_> = models
            .iter()
            .map(|m| m.split("::").next().unwrap_or(m))
            .collect();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args([
                "test",
                "--no-run",
                "--profile",
                "loom",
                "-p",
                "loom-tests",
                "--message-format",
                "short",
            ])
            .args(files.iter().flat_map(|f| ["--test", f]))
            .current_dir(&self.sources)
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", &self.target)
            // Almost all of the time goes into builds: models that run for a moment are not worth
            // more optimisation, and a damaged place leaves most of its crate as it was.
            .env("CARGO_PROFILE_LOOM_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_LOOM_DEBUG", "0")
            .env("CARGO_PROFILE_LOOM_INCREMENTAL", "true")
            .env("CARGO_TERM_COLOR", "never")
            .stdin(Stdio::null());
        let output = cargo
            .output()
            .map_err(|e| format!("cargo did not start: {e}"))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(text);
        }
        let mut programs = BTreeMap::new();
        for line in text
            .lines()
            .filter_map(|l| l.trim_start().strip_prefix("Executable "))
        {
            if let Some((source, program)) = line.split_once(" (")
                && let Some(file) = Path::new(source).file_stem()
            {
                let program = self.sources.join(program.trim_end_matches(')'));
                programs.insert(file.to_string_lossy().into_owned(), program);
            }
        }
        Ok(programs)
    }

    fn model(
        &self,
        programs: &BTreeMap<String, PathBuf>,
        model: &str,
        bound: usize,
        plain: bool,
    ) -> Result<Outcome, String> {
        let (file, test) = model
            .split_once("::")
            .ok_or_else(|| format!("{model} is not of the form file::test"))?;
        let program = programs
            .get(file)
            .ok_or_else(|| format!("loom-tests/tests/{file}.rs was not built"))?;
        // A file takes any amount of output without a reader.
        let log_path = self.target.join("model.log");
        let log = fs::File::create(&log_path).map_err(|e| e.to_string())?;
        let mut child = Command::new(program)
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env("LOOM_MAX_PREEMPTIONS", bound.to_string())
            .env("LOOM_LOADS", if plain { "plain" } else { "exchanges" })
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(|e| e.to_string())?)
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break status;
            }
            if start.elapsed() > self.limit {
                child
                    .kill()
                    .and_then(|()| child.wait())
                    .map_err(|e| e.to_string())?;
                return Ok(Outcome::TimedOut);
            }
            thread::sleep(Duration::from_millis(10));
        };
        let log = fs::read(&log_path).map_err(|e| e.to_string())?;
        outcome(
            &String::from_utf8_lossy(&log),
            status.success(),
            &status.to_string(),
        )
        .ok_or_else(|| format!("there is no model {model}"))
    }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Passed,
    Failed(String),
    TimedOut,
}

/// Reads a test program's log; `None` if it ran no test.
fn outcome(log: &str, success: bool, status: &str) -> Option<Outcome> {
    if success {
        return log
            .contains("test result: ok. 1 passed")
            .then_some(Outcome::Passed);
    }
    let by = first_panic(log).unwrap_or_else(|| status.to_string());
    Some(if by.contains("maximum number of branches") {
        // loom's own word for a thread that spins for ever.
        Outcome::TimedOut
    } else if by.starts_with("below its floor") {
        // Fewer executions than on the healthy ring are no defect that a model has seen.
        Outcome::Passed
    } else {
        Outcome::Failed(by)
    })
}

/// The message of the first panic, which std prints below its place.
fn first_panic(log: &str) -> Option<String> {
    let mut lines = log
        .lines()
        .skip_while(|l| !(l.starts_with("thread ") && l.contains(" panicked at ")));
    lines.next()?;
    let message = lines.next()?.trim();
    Some(message.chars().take(120).collect())
}

fn first_error(log: &str) -> &str {
    log.lines()
        .find(|l| l.contains("error"))
        .unwrap_or("no error was printed")
}

/// `text` with the mutant's damage done to it, or why it can't be.
fn damage(text: &str, m: &Mutant) -> Result<String, String> {
    let at = place(text, m)?;
    Ok([&text[..at], m.replace, &text[at + m.find.len()..]].concat())
}

/// Where in `text` the mutant's damage is done.
fn place(text: &str, m: &Mutant) -> Result<usize, String> {
    let places: Vec<_> = text.match_indices(m.find).map(|(at, _)| at).collect();
    match (m.nth, places.as_slice()) {
        (_, []) => Err(format!("the text to find is not in {}", m.file)),
        (None, [at]) => Ok(*at),
        (None, _) => Err(format!(
            "the text to find stands {} times in {}",
            places.len(),
            m.file
        )),
        (Some(n), _) => n
            .checked_sub(1)
            .and_then(|i| places.get(i).copied())
            .ok_or_else(|| {
                format!(
                    "there is no occurrence {n} of the text to find in {}",
                    m.file
                )
            }),
    }
}

/// The workspace's manifest with other members.
fn only_these_members(manifest: &str, members: &[&str]) -> String {
    let Some(start) = manifest.find("\nmembers") else {
        return manifest.into();
    };
    let end = manifest[start..]
        .find(']')
        .map_or(manifest.len(), |n| start + n + 1);
    format!(
        "{}\nmembers = {members:?}{}",
        &manifest[..start],
        &manifest[end..]
    )
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is inside the workspace")
        .into()
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                copy_tree(&entry.path(), &target)?;
            }
        } else {
            // Written anew, so that it is newer than what was built from an earlier, damaged copy.
            fs::write(target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(find: &'static str, nth: Option<usize>) -> Mutant {
        Mutant {
            name: "m",
            file: "f",
            find,
            nth,
            replace: "X",
            bound: 2,
            fate: Fate::Equivalent,
            why: "",
        }
    }

    #[test]
    fn damage_is_done_in_the_only_place() {
        assert_eq!(damage("abcd", &mutant("bc", None)).unwrap(), "aXd");
    }

    #[test]
    fn an_ambiguous_place_is_refused() {
        assert!(
            damage("a b a", &mutant("a", None))
                .unwrap_err()
                .contains("2 times")
        );
    }

    #[test]
    fn the_nth_place_is_counted_from_one() {
        assert_eq!(damage("a b a", &mutant("a", Some(2))).unwrap(), "a b X");
        assert!(damage("a b a", &mutant("a", Some(3))).is_err());
        assert!(damage("a b a", &mutant("a", Some(0))).is_err());
    }

    #[test]
    fn a_missing_place_is_refused() {
        assert!(
            damage("abc", &mutant("x", None))
                .unwrap_err()
                .contains("not in")
        );
    }

    #[test]
    fn an_endless_loop_is_no_kill() {
        let log =
            "thread 'm' panicked at path.rs:1:2:\nModel exceeded maximum number of branches.\n";
        assert_eq!(
            outcome(log, false, "exit status: 101"),
            Some(Outcome::TimedOut)
        );
    }

    #[test]
    fn too_few_executions_are_no_kill() {
        let log =
            "thread 'm' panicked at lib.rs:1:2:\nbelow its floor: model m explored 1 executions\n";
        assert_eq!(
            outcome(log, false, "exit status: 101"),
            Some(Outcome::Passed)
        );
    }

    #[test]
    fn the_first_panic_names_the_kill() {
        let log = "one\nthread 'm' (7) panicked at a.rs:\nassertion failed: a\nthread 'm' panicked at b.rs:\n";
        assert_eq!(
            outcome(log, false, "exit status: 101"),
            Some(Outcome::Failed("assertion failed: a".into()))
        );
    }

    #[test]
    fn a_crash_without_a_panic_is_a_kill() {
        assert_eq!(
            outcome("", false, "signal: 11"),
            Some(Outcome::Failed("signal: 11".into()))
        );
    }

    #[test]
    fn a_model_that_does_not_exist_is_noticed() {
        assert_eq!(
            outcome(
                "test result: ok. 0 passed; 0 failed",
                true,
                "exit status: 0"
            ),
            None
        );
    }

    #[test]
    fn members_are_replaced_and_the_rest_stays() {
        let manifest = "[workspace]\nmembers = [\n  \"a\",\n]\nexclude = [\"x\"]\n";
        assert_eq!(
            only_these_members(manifest, &["b", "c"]),
            "[workspace]\nmembers = [\"b\", \"c\"]\nexclude = [\"x\"]\n"
        );
    }

    #[test]
    fn a_budget_covers_files_and_orderings_first() {
        let all = [
            ("a1", "a", ""),
            ("a2", "a", ""),
            ("a3", "a", "x.load(Ordering::Acquire)"),
            ("b1", "b", ""),
            ("b2", "b", ""),
        ]
        .map(|(name, file, find)| Mutant {
            name,
            file,
            ..mutant(find, None)
        });
        let order = in_running_order(&all.iter().collect::<Vec<_>>());
        let names: Vec<_> = order.iter().map(|m| m.name).collect();
        assert_eq!(names, ["a1", "b1", "a3", "a2", "b2"]);
    }

    #[test]
    fn every_mutant_still_fits_the_sources() {
        let mut names = BTreeSet::new();
        for m in mutants() {
            assert!(names.insert(m.name), "two mutants are called {}", m.name);
            let text = fs::read_to_string(workspace_root().join(m.file)).unwrap();
            assert_ne!(
                damage(&text, m).unwrap_or_else(|e| panic!("{}: {e}", m.name)),
                text,
                "{} does nothing",
                m.name
            );
        }
    }

    #[test]
    fn every_ordering_has_a_mutant_that_weakens_it() {
        let root = workspace_root();
        let mut files = [
            "ring/src/pool.rs",
            "ring/src/counted.rs",
            "ring/src/event.rs",
        ]
        .map(|file| root.join(file))
        .to_vec();
        let mut directories = ["ring/src/spsc", "ring/src/mpsc"]
            .map(|rings| root.join(rings))
            .to_vec();
        while let Some(directory) = directories.pop() {
            for path in fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()) {
                if path.is_dir() {
                    directories.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let damaged: Vec<_> = mutants()
                .filter(|m| root.join(m.file) == path && m.weakens_an_ordering())
                .map(|m| {
                    let at = place(&text, m).unwrap();
                    at..at + m.find.len()
                })
                .collect();
            for (at, ordering) in ORDERINGS.iter().flat_map(|o| text.match_indices(o)) {
                assert!(
                    damaged.iter().any(|range| range.contains(&at)),
                    "no mutant weakens {ordering} in line {} of {}",
                    text[..at].lines().count(),
                    path.display()
                );
            }
        }
    }
}
