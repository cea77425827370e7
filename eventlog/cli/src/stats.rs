//! `eventlog stats`: tables for people, or JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ghc_eventlog::format::CapNo;
use serde::Serialize;

use crate::args::StatsArgs;
use crate::gather::{Bad, Span, Summary, TypeSummary};
use crate::input;
use crate::outcome::{Outcome, complain};
use crate::table::{self, Align};
use crate::units::{counted, duration, seconds, share, size, thousands};

pub(crate) fn run(args: &StatsArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut outcome = Outcome::Good;
    for (at, file) in args.files.iter().enumerate() {
        let summary = match input::open(file) {
            Ok(mut input) => Summary::of(&mut *input),
            Err(error) => Summary {
                fault: Some(Bad::Io(error)),
                ..Summary::default()
            },
        };
        if args.json {
            serde_json::to_writer(&mut *out, &Json::of(file, &summary))?;
            writeln!(out)?;
        } else if summary.header_bytes > 0 {
            if at > 0 {
                writeln!(out)?;
            }
            tables(file, &summary, out)?;
        }
        if let Some(fault) = &summary.fault {
            // What was found comes before what was not.
            out.flush()?;
            outcome = outcome.max(match fault {
                Bad::Log(reason) => {
                    complain(file, reason);
                    Outcome::Bad
                }
                Bad::Io(error) => {
                    complain(file, error);
                    Outcome::Failed
                }
            });
        }
    }
    Ok(outcome)
}

fn tables(file: &str, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{file}")?;
    let mut facts = Vec::new();
    if let Some(program) = &summary.program {
        facts.push(("Program", program.clone()));
    }
    if let Some(rts) = &summary.rts {
        facts.push(("Run-time system", rts.clone()));
    }
    facts.push((
        "Size",
        format!(
            "{}, of which the header takes {}",
            size(summary.bytes),
            size(summary.header_bytes)
        ),
    ));
    if let Some(Span { first, last }) = summary.times {
        facts.push((
            "Time",
            format!(
                "{}, from {} s to {} s",
                duration(summary.duration()),
                seconds(first),
                seconds(last)
            ),
        ));
    }
    facts.push((
        "Events",
        format!(
            "{}, {} among them",
            thousands(summary.events),
            counted(summary.blocks, "block marker", "block markers")
        ),
    ));
    if summary.outside_block > 0 {
        let outside = thousands(summary.outside_block);
        facts.push(("Outside blocks", format!("{outside} of the events")));
    }
    if !summary.data_end {
        facts.push(("End", "missing".to_owned()));
    }
    for (name, value) in facts {
        writeln!(out, "  {name:<15}  {value}")?;
    }
    if summary.events > 0 {
        writeln!(out)?;
        caps(summary, out)?;
        writeln!(out)?;
        types(summary, out)?;
    }
    Ok(())
}

fn caps(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let total: u64 = summary.caps.values().map(|cap| cap.events).sum();
    let head = [
        "Capability",
        "Blocks",
        "Events",
        "Share",
        "Bytes",
        "First (s)",
        "Last (s)",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    // Events of no capability are an appendix.
    let (none, caps): (Vec<_>, Vec<_>) = summary.caps.iter().partition(|(cap, _)| cap.is_none());
    for (cap, of) in caps.into_iter().chain(none) {
        let time =
            |pick: fn(Span) -> u64| of.times.map_or("-".to_owned(), |span| seconds(pick(span)));
        rows.push(vec![
            cap_name(*cap),
            thousands(of.blocks),
            thousands(of.events),
            share(of.events, total),
            size(of.bytes),
            time(|span| span.first),
            time(|span| span.last),
        ]);
    }
    use Align::{Left, Right};
    table::write(
        out,
        &[Left, Right, Right, Right, Right, Right, Right],
        &rows,
    )
}

fn types(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let total = summary.events;
    let head = ["Id", "Event type", "Events", "Share", "Bytes"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut seen: Vec<_> = seen(summary).collect();
    seen.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.events));
    for (id, kind) in seen {
        rows.push(vec![
            id.to_string(),
            shortened(&kind.name, 44),
            thousands(kind.events),
            share(kind.events, total),
            size(kind.bytes),
        ]);
    }
    use Align::{Left, Right};
    table::write(out, &[Right, Left, Right, Right, Right], &rows)
}

/// The types that occur, by id.
fn seen(summary: &Summary) -> impl Iterator<Item = (u16, &TypeSummary)> {
    let types = summary.types.iter().filter(|(_, kind)| kind.events > 0);
    types.map(|(id, kind)| (*id, kind))
}

/// Text that takes at most so many columns, for tables of a terminal's width.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most - 3).collect();
    format!("{}...", start.trim_end())
}

fn cap_name(cap: Option<CapNo>) -> String {
    cap.map_or("none".to_owned(), |cap| cap.to_string())
}

/// The object of one file. Its fields are a promise to whoever reads them by program.
#[derive(Serialize)]
struct Json<'a> {
    file: &'a str,
    ok: bool,
    error: Option<String>,
    bytes: u64,
    header_bytes: u64,
    event_types: usize,
    events: u64,
    blocks: u64,
    outside_block: u64,
    backwards_in_block: u64,
    data_end: bool,
    t_min: u64,
    t_max: u64,
    blocks_per_cap: BTreeMap<u16, u64>,
    events_per_cap: BTreeMap<String, u64>,
    counts: BTreeMap<u16, u64>,
    names: BTreeMap<&'a str, u64>,
    program: Option<&'a str>,
    rts: Option<&'a str>,
}

impl<'a> Json<'a> {
    fn of(file: &'a str, summary: &'a Summary) -> Self {
        let times = summary.times.unwrap_or(Span { first: 0, last: 0 });
        let mut names = BTreeMap::new();
        for (_, kind) in seen(summary) {
            *names.entry(kind.name.as_str()).or_default() += kind.events;
        }
        let with_blocks = summary.caps.iter().filter(|(_, of)| of.blocks > 0);
        let with_events = summary.caps.iter().filter(|(_, of)| of.events > 0);
        Self {
            file,
            ok: summary.fault.is_none(),
            error: summary.fault.as_ref().map(|fault| match fault {
                Bad::Log(reason) => reason.clone(),
                Bad::Io(error) => error.to_string(),
            }),
            bytes: summary.bytes,
            header_bytes: summary.header_bytes,
            event_types: summary.event_types,
            events: summary.events,
            blocks: summary.blocks,
            outside_block: summary.outside_block,
            backwards_in_block: summary.backwards_in_block,
            data_end: summary.data_end,
            t_min: times.first,
            t_max: times.last,
            blocks_per_cap: with_blocks
                .map(|(cap, of)| (cap.map_or(u16::MAX, CapNo::get), of.blocks))
                .collect(),
            events_per_cap: with_events
                .map(|(cap, of)| (cap_name(*cap), of.events))
                .collect(),
            counts: seen(summary).map(|(id, kind)| (id, kind.events)).collect(),
            names,
            program: summary.program.as_deref(),
            rts: summary.rts.as_deref(),
        }
    }
}
