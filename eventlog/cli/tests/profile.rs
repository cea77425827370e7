//! Profiles by cost centre: told, drawn, and renumbered.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ghc_eventlog::format::{
    BlockMarker, CostCentreFlags, CostCentreStack, END_MARKER, Event, Header, HeapBreakdown,
    HeapProfFilter, ZStr,
};
use serde_json::Value;
use support::{log, run, stats};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A log of these events, a microsecond apart, in one block.
fn write(path: &Path, events: &[Event<'_>]) {
    let mut body = Vec::new();
    for (time, event) in (1..).zip(events) {
        event.encode_to_vec(time * 1_000, &mut body);
    }
    let marker = BlockMarker {
        begin: 1_000,
        size: u32::try_from(BlockMarker::LEN + body.len()).unwrap(),
        end: events.len() as u64 * 1_000,
        cap: None,
    };
    let mut bytes = Header::standard().encode();
    bytes.extend(marker.encode());
    bytes.extend(body);
    bytes.extend(END_MARKER);
    fs::write(path, bytes).unwrap();
}

fn define(id: u32, label: &str) -> Event<'_> {
    Event::HeapProfCostCentre {
        cost_centre: id,
        label: ZStr::up_to_nul(label),
        module: ZStr::new("m").unwrap(),
        location: ZStr::new("m.rs:1").unwrap(),
        flags: CostCentreFlags(0),
    }
}

fn tick(ids: &[u32]) -> Event<'_> {
    Event::ProfSampleCostCentre {
        cap: 0,
        tick: 1,
        stack: CostCentreStack::innermost(ids),
    }
}

fn holds(residency: u64, ids: &[u32]) -> Event<'_> {
    Event::HeapProfSampleCostCentre {
        profile: 0,
        residency,
        stack: CostCentreStack::innermost(ids),
    }
}

#[test]
fn the_profile_of_a_ghc_log_is_this() {
    let ran = run(["stats", text(&log("heap-hc-prof"))]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let wanted = "
  Time by cost centre: 118 ticks of 1.0 ms
  Cost centre  Module      Time  Indiv.  Inher.  Source
  GC           GC      101.0 ms   85.6%   85.6%  <built-in>
  summarise    Main      9.0 ms    7.6%    7.6%  Heap.hs:13:37-71
  build        Main      6.0 ms    5.1%    5.1%  Heap.hs:10:29-79
  (none)                 1.0 ms    0.8%    0.8%
  SYSTEM       SYSTEM    1.0 ms    0.8%    0.8%  <built-in>

  Bytes by cost centre: 10 samples; the largest, at 0.117836668 s, holds 6.1 MiB
  Cost centre  Module             Bytes  Indiv.  Inher.  Source
  build        Main             6.1 MiB  100.0%  100.0%  Heap.hs:10:29-79
  CAF          GHC.Conc.Signal    640 B    0.0%    0.0%  <entire-module>
  (none)                          160 B    0.0%    0.0%
";
    assert!(ran.out.ends_with(wanted), "{}", ran.out);
}

#[test]
fn json_tells_of_each_cost_centre_what_show_tells_of_each_tick() {
    let file = log("heap-hc-prof");
    let told = &stats(std::slice::from_ref(&file))[0];
    let shown = run(["show", text(&file)]).out;
    let profile = &told["time_profile"];
    assert_eq!(profile["interval"], 1_000_000);
    let mut ticks = 0;
    for row in profile["by_cost_centre"].as_array().unwrap() {
        let stack = match row["id"].as_u64() {
            Some(id) => format!("in cost centres [{id}]"),
            None => "in cost centres []".to_owned(),
        };
        let lines = shown.lines().filter(|line| line.ends_with(&stack)).count() as u64;
        assert_eq!(row["individual"], lines, "{row}");
        ticks += lines;
    }
    assert_eq!(profile["ticks"], ticks);
    let heap = &told["heap_profile"];
    assert_eq!(heap["samples"], 10);
    let rows = heap["by_cost_centre"].as_array().unwrap();
    let sum: u64 = rows
        .iter()
        .map(|row| row["individual"].as_u64().unwrap())
        .sum();
    assert_eq!(heap["bytes"], sum);
    assert_eq!(rows[0]["label"], "build");
    assert_eq!(rows[0]["module"], "Main");
    assert_eq!(rows[0]["source"], "Heap.hs:10:29-79");
    assert_eq!(rows[0]["caf"], false);
    assert_eq!(rows[1]["caf"], true);

    let other = &stats(&[log("heap-hT")])[0];
    assert_eq!(other["time_profile"], Value::Null);
    assert_eq!(other["heap_profile"], Value::Null);
}

#[test]
fn a_long_profile_is_cut_for_people_and_whole_in_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.eventlog");
    let ids: Vec<u32> = (1..=50).collect();
    let mut events: Vec<Event<'_>> = ids.iter().map(|id| define(*id, "many")).collect();
    events.extend(ids.iter().map(|id| tick(std::slice::from_ref(id))));
    write(&path, &events);
    let ran = run(["stats", text(&path)]);
    assert_eq!(
        ran.out
            .lines()
            .filter(|line| line.starts_with("  many "))
            .count(),
        40
    );
    assert!(ran.out.ends_with("\n  and 10 more, which --json tells\n"));
    let rows = &stats(&[path])[0]["time_profile"]["by_cost_centre"];
    assert_eq!(rows.as_array().unwrap().len(), 50);
}

/// The lines of folded text.
fn folded(args: &[&str]) -> BTreeMap<String, u64> {
    let ran = run(["flamegraph", "--folded"].iter().chain(args));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let line = |line: &str| {
        let (stack, sum) = line.rsplit_once(' ').unwrap();
        (stack.to_owned(), sum.parse().unwrap())
    };
    ran.out.lines().map(line).collect()
}

#[test]
fn folded_stacks_are_outermost_first_with_names_that_cannot_be_mistaken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.eventlog");
    let events = [
        Event::ProfBegin {
            tick_interval_ns: 1_000_000,
        },
        define(1, "a;b"),
        define(2, "phase 2"),
        define(3, "twin"),
        define(4, "twin"),
        tick(&[1, 2]),
        tick(&[3, 2]),
        tick(&[4, 2]),
        tick(&[9]),
        tick(&[]),
    ];
    write(&path, &events);
    let wanted = [
        ("m.phase_2;m.a,b", 1),
        ("m.phase_2;m.twin", 2),
        ("(number_9)", 1),
        ("(none)", 1),
    ];
    let wanted = wanted.map(|(stack, sum)| (stack.to_owned(), sum));
    assert_eq!(folded(&[text(&path)]), BTreeMap::from(wanted));
}

#[test]
fn the_heap_s_graph_is_that_of_the_sample_that_holds_the_most() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("heap.eventlog");
    let sample = |era| {
        [
            Event::HeapProfSampleBegin { era },
            Event::HeapProfSampleEnd { era },
        ]
    };
    let [[begin_0, end_0], [begin_1, end_1], [begin_2, end_2]] = [0, 1, 2].map(sample);
    let events = [
        Event::HeapProfBegin {
            profile: 0,
            period_ns: 1_000,
            breakdown: HeapBreakdown::CostCentre,
            filter: HeapProfFilter::default(),
        },
        define(1, "parse"),
        define(2, "main"),
        begin_0,
        holds(5_000, &[1, 2]),
        end_0,
        begin_1,
        holds(6_000, &[2]),
        holds(700, &[1, 2]),
        end_1,
        begin_2,
        holds(6_600, &[2]),
        end_2,
    ];
    write(&path, &events);
    let wanted = [("m.main", 6_000), ("m.main;m.parse", 700)];
    let wanted = wanted.map(|(stack, sum)| (stack.to_owned(), sum));
    assert_eq!(folded(&["--bytes", text(&path)]), BTreeMap::from(wanted));
    let told = &stats(std::slice::from_ref(&path))[0]["heap_profile"];
    assert_eq!(
        (&told["bytes"], &told["time"]),
        (&6_700.into(), &7_000.into())
    );
    let ran = run(["flamegraph", text(&path)]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err
            .ends_with(": no time profile; --bytes draws the heap profile\n")
    );
}

#[test]
fn a_graph_is_an_svg_that_names_every_cost_centre() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("time.svg");
    let file = log("heap-hc-prof");
    let ran = run(["flamegraph", text(&file), "-o", text(&path)]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
    for wanted in [
        "Time by cost centre",
        "118 ticks of 1.0 ms",
        "<title>GC.GC (101 ticks, 85.59%)</title>",
        "<title>Main.build (6 ticks, 5.08%)</title>",
        "<title>Main.summarise (9 ticks, 7.63%)</title>",
        "<title>SYSTEM.SYSTEM (1 ticks, 0.85%)</title>",
    ] {
        assert!(svg.contains(wanted), "{wanted}");
    }
    assert_eq!(
        run(["flamegraph", text(&file)]).out,
        svg,
        "the same once more"
    );
    let bytes = run(["flamegraph", "--bytes", text(&file)]).out;
    assert!(bytes.contains("6.1 MiB at 0.117836668 s"));
}

#[test]
fn what_has_no_profile_says_so_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, graph) = (
        directory.path().join("empty.eventlog"),
        directory.path().join("g"),
    );
    let begin = Event::HeapProfBegin {
        profile: 0,
        period_ns: 1_000,
        breakdown: HeapBreakdown::CostCentre,
        filter: HeapProfFilter::default(),
    };
    let ticks = Event::ProfBegin {
        tick_interval_ns: 1_000,
    };
    write(&path, &[begin, ticks]);
    let no_profile = "no profile by cost centre";
    let cases: [(PathBuf, bool, &str); 6] = [
        (log("user-only"), false, no_profile),
        (log("user-only"), true, no_profile),
        (log("heap-hT"), false, no_profile),
        (
            log("heap-hT"),
            true,
            "the heap profile is by closure type, not by cost centre",
        ),
        (
            path.clone(),
            false,
            "a time profile begins, and there is no tick in it",
        ),
        (
            path.clone(),
            true,
            "a heap profile begins, and there is no sample in it",
        ),
    ];
    for (file, bytes, reason) in cases {
        let mut args = vec!["flamegraph", text(&file), "-o", text(&graph)];
        args.extend(bytes.then_some("--bytes"));
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert_eq!(ran.err, format!("eventlog: {}: {reason}\n", text(&file)));
        assert!(!graph.exists());
    }
    let ran = run(["renumber", text(&log("user-only")), "-o", text(&graph)]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.ends_with(": no cost centre\n"));
    assert!(!graph.exists());
}

#[test]
fn a_log_is_not_overwritten_by_what_is_made_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.eventlog");
    write(&path, &[define(1, "a"), tick(&[1])]);
    let before = fs::read(&path).unwrap();
    for verb in ["flamegraph", "renumber"] {
        let ran = run([verb, text(&path), "-o", text(&path)]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{verb}");
        assert!(ran.err.contains("would overwrite the"), "{}", ran.err);
        assert!(fs::read(&path).unwrap() == before, "{verb}");
    }
}

#[test]
fn of_a_log_that_is_cut_what_is_there_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.eventlog");
    let whole = directory.path().join("whole.eventlog");
    write(&whole, &[define(1, "a"), tick(&[1]), tick(&[1])]);
    let bytes = fs::read(&whole).unwrap();
    // The end marker, and a byte of the last event.
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let ran = run(["flamegraph", "--folded", text(&path)]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "m.a 1\n"));
    assert!(ran.err.contains("unfinished record"), "{}", ran.err);
}

/// The cost centres of a log in the order of their definitions, and what is in its ticks.
fn numbers(path: &Path) -> (Vec<(u32, String)>, Vec<String>) {
    let shown = run(["show", text(path)]).out;
    let mut defined = Vec::new();
    let mut ticks = Vec::new();
    for line in shown.lines() {
        if let Some((_, definition)) = line.split_once("    cost centre ") {
            assert!(ticks.is_empty(), "a definition after a tick");
            let (id, name) = definition.split_once(": ").unwrap();
            defined.push((id.parse().unwrap(), name.to_owned()));
        } else if let Some((_, stack)) = line.split_once(" cost centres ") {
            ticks.push(stack.to_owned());
        }
    }
    (defined, ticks)
}

#[test]
fn a_renumbered_log_has_its_definitions_where_their_numbers_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.eventlog");
    let dense = directory.path().join("dense.eventlog");
    let events = [
        define(70_000, "a"),
        tick(&[70_000]),
        define(9, "b"),
        tick(&[9, 70_000]),
        tick(&[500]),
        tick(&[]),
        Event::HeapProfSampleBegin { era: 0 },
        holds(10, &[9]),
        Event::HeapProfSampleEnd { era: 0 },
    ];
    write(&path, &events);
    let ran = run(["renumber", text(&path), "-o", text(&dense)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (defined, ticks) = numbers(&dense);
    let wanted = [
        (10, "IDLE.IDLE at <built-in>"),
        (9, "SYSTEM.PINNED at <built-in>"),
        (8, "MAIN.DONT_CARE at <built-in>"),
        (7, "PROFILING.OVERHEAD_of at <built-in>"),
        (6, "GC.GC at <built-in>"),
        (5, "SYSTEM.SYSTEM at <built-in>"),
        (4, "MAIN.MAIN at <built-in>"),
        (3, "m.a at m.rs:1"),
        (2, ".cost centre 500 at "),
        (1, "m.b at m.rs:1"),
    ];
    let wanted = wanted.map(|(id, name)| (id, name.to_owned()));
    assert_eq!(defined, wanted);
    assert_eq!(ticks, ["[3]", "[1, 3]", "[2]", "[]", "[1]"]);
    // Once more: nothing changes.
    let again = directory.path().join("again.eventlog");
    run(["renumber", text(&dense), "-o", text(&again)]);
    assert!(fs::read(&again).unwrap() == fs::read(&dense).unwrap());
}

#[test]
fn a_log_of_ghc_keeps_its_numbers_and_its_profile() {
    let directory = tempfile::tempdir().unwrap();
    let dense = directory.path().join("dense.eventlog");
    let file = log("heap-hc-prof");
    let ran = run(["renumber", text(&file), "-o", text(&dense)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(numbers(&dense), numbers(&file));
    let profiles = stats(&[file, dense]);
    for field in ["time_profile", "heap_profile", "counts"] {
        let but_blocks = |value: &Value| {
            let mut value = value[field].clone();
            value.as_object_mut().unwrap().remove("18");
            value
        };
        assert_eq!(
            but_blocks(&profiles[0]),
            but_blocks(&profiles[1]),
            "{field}"
        );
    }
}
