//! The help says what one needs to know.

mod support;

use support::{VERBS, run};

#[test]
fn every_verb_has_help_with_examples_and_exit_codes() {
    for &verb in VERBS {
        let ran = run([verb, "--help"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let example = format!("Examples:\n  eventlog {verb} ");
        for wanted in [example.as_str(), "Exit codes:\n  0  ", "  1  ", "  2  "] {
            assert!(ran.out.contains(wanted), "{wanted:?} in the help of {verb}");
        }
        assert!(
            ran.out.lines().all(|line| line.chars().count() <= 100),
            "{verb}"
        );
    }
    let ran = run(["--help"]);
    assert_eq!(ran.code, 0);
    for &wanted in VERBS.iter().chain(&["Exit codes:"]) {
        assert!(ran.out.contains(wanted), "{wanted}");
    }
}

#[test]
fn wrong_usage_is_told_with_code_2() {
    for args in [
        vec![],
        vec!["check"],
        vec!["stats", "--json"],
        vec!["show", "a", "b"],
        vec!["show", "--limit", "many", "a"],
        vec!["replay", "a"],
        vec!["tail"],
        vec!["tail", "--count", "-1", "a"],
        vec!["record", "a"],
        vec!["merge", "a", "-o", "b"],
        vec!["merge", "a", "b"],
        vec!["split", "a", "-o", "b"],
        vec!["split", "a", "--caps"],
        vec!["split", "a", "-o", "b", "--caps", "--size", "64M"],
        vec!["split", "a", "-o", "b", "--every", "0"],
        vec!["split", "a", "-o", "b", "--from", "1.0000000001"],
        vec!["split", "a", "-o", "b", "--size", "64T"],
        vec!["split", "a", "-o", "b", "--size", "0"],
        vec!["flamegraph"],
        vec!["flamegraph", "a", "b"],
        vec!["renumber", "a"],
        vec!["frobnicate"],
    ] {
        let ran = run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn a_size_that_cannot_be_is_told_with_its_bound() {
    for (size, bound) in [
        ("0", "at least 1 byte"),
        ("0K", "at least 1 byte"),
        ("18446744073709551616", "at most 18446744073709551615 bytes"),
        ("17179869184G", "at most 18446744073709551615 bytes"),
        ("K", "a number of bytes"),
        ("+1", "a number of bytes"),
    ] {
        let ran = run(["split", "a", "-o", "b", "--size", size]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{size}");
        assert!(
            ran.err.contains(size) && ran.err.contains(bound),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_span_that_is_too_short_is_told_with_its_bound() {
    for span in ["0", "0.000000001", "0.000999999"] {
        let ran = run(["split", "a", "-o", "b", "--every", span]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{span}");
        let told = ran.err.contains("a span of time is at least 0.001 seconds");
        assert!(told && ran.err.contains(span), "{}", ran.err);
    }
    let ran = run(["split", "/nonexistent/a", "-o", "b", "--every", "0.001"]);
    assert!(
        ran.err.starts_with("eventlog: /nonexistent/a: "),
        "{}",
        ran.err
    );
}
