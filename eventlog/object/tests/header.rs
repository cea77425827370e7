//! The C header says what this package says.

use ghc_eventlog_object::{ABI_MAJOR, ABI_MINOR, CAF, FINGERPRINT, LAYOUT, NOTE_TYPE, fingerprint};

const HEADER: &str = include_str!("../include/eventlog_object.h");

/// What the header defines that name as.
fn defined(name: &str) -> u64 {
    let line = format!("#define {name} ");
    let value = HEADER
        .lines()
        .find_map(|text| text.strip_prefix(&line))
        .unwrap_or_else(|| panic!("{name} is not defined"));
    let value = value
        .trim_start_matches("UINT64_C(")
        .trim_end_matches(['u', ')']);
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => value.parse().unwrap(),
    }
}

#[test]
fn both_sides_have_the_fingerprint_of_the_same_text() {
    assert_eq!(FINGERPRINT, fingerprint(LAYOUT.as_bytes()));
    assert_eq!(defined("EVL_FINGERPRINT"), FINGERPRINT);
}

#[test]
fn both_sides_have_the_same_numbers() {
    assert_eq!(defined("EVL_ABI_MAJOR"), u64::from(ABI_MAJOR));
    assert_eq!(defined("EVL_ABI_MINOR"), u64::from(ABI_MINOR));
    assert_eq!(defined("EVL_CAF"), u64::from(CAF));
    assert_eq!(
        defined("EVL_WAY"),
        u64::from(ghc_eventlog_object::WAY_PROFILED)
    );
    assert!(HEADER.contains(&format!("{NOTE_TYPE:#x}u")));
}

/// The fields of a table, in C's order.
fn fields(table: &str) -> Vec<String> {
    let begin = format!("typedef struct {table} {{");
    let body = HEADER
        .split_once(&begin)
        .unwrap()
        .1
        .split_once("\n}")
        .unwrap()
        .0;
    let name = |line: &str| {
        let declared = line.split(';').next()?.trim();
        let declared = match declared.split_once("(*") {
            Some((_, function)) => function.split(')').next()?,
            None => declared.rsplit([' ', '*']).next()?,
        };
        Some(declared.to_owned())
    };
    body.lines()
        .filter(|line| line.contains(';'))
        .filter_map(name)
        .collect()
}

/// The fields of a table, in the order of the text that the fingerprint is of.
fn in_layout(table: &str) -> Vec<String> {
    let begin = format!("{table}{{");
    let body = LAYOUT
        .split_once(&begin)
        .unwrap()
        .1
        .split_once('}')
        .unwrap()
        .0;
    body.split(',')
        .map(|field| field.split(':').next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_header_s_tables_have_the_fields_of_the_text_in_that_order() {
    for (c, text) in [
        ("evl_cost_centre", "cost_centre"),
        ("evl_host", "host"),
        ("evl_object", "object"),
    ] {
        assert_eq!(fields(c), in_layout(text), "{c}");
    }
}
