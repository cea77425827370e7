//! What the README says is so.

mod support;

use std::process::{Command, Stdio};
use support::{Ran, VERBS, data, run};

const README: &str = include_str!("../README.md");

/// The words of a text that look like long options.
fn options(text: &str) -> Vec<&str> {
    let word = |at: usize| {
        let rest = &text[at..];
        let end = rest[2..]
            .find(|letter: char| !letter.is_ascii_lowercase() && letter != '-')
            .map_or(rest.len(), |end| end + 2);
        &rest[..end]
    };
    let mut found: Vec<_> = text
        .match_indices("--")
        .map(|(at, _)| word(at))
        .filter(|option| option.len() > 2)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn its_examples_are_what_the_command_prints() {
    let mut examples = 0;
    for block in README.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in block.split("$ eventlog ").skip(1) {
            let (args, output) = example.split_once('\n').unwrap();
            let ran: Ran = Command::new(env!("CARGO_BIN_EXE_eventlog"))
                .args(args.split_whitespace())
                .current_dir(data(""))
                .stdin(Stdio::null())
                .output()
                .unwrap()
                .into();
            assert_eq!((ran.code, ran.out.as_str()), (0, output), "{args}");
            examples += 1;
        }
    }
    assert!(examples > 0);
}

#[test]
fn it_has_every_verb_with_its_options_and_no_others() {
    for &verb in VERBS {
        let row = format!("| `eventlog {verb} ");
        let row = README.lines().find(|line| line.starts_with(&row));
        let row = row.unwrap_or_else(|| panic!("no row for {verb}"));
        if verb == "objects" && !cfg!(target_os = "linux") {
            continue;
        }
        let help = run([verb, "--help"]).out;
        let defined = help.lines().filter_map(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("-o, ").unwrap_or(line);
            line.starts_with("--").then(|| options(line)[0])
        });
        let mut defined: Vec<_> = defined.collect();
        defined.sort_unstable();
        assert_eq!(options(row), defined, "{verb}");
    }
    let help = run(["--help"]).out;
    let verbs = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help");
    for verb in verbs {
        assert!(VERBS.contains(&verb), "{verb}");
    }
}
