//! `eventlog stats`: tables for people, or JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ghc_eventlog::format::{CapNo, Decoder};
use serde::Serialize;

use crate::args::StatsArgs;
use crate::gather::{Bad, Span, Summary, TypeSummary};
use crate::input;
use crate::outcome::{Outcome, complain};
use crate::profile::{self, Profile, Row};
use crate::table::{self, Align};
use crate::text::escaped;
use crate::units::{counted, duration, seconds, share, size, thousands};

pub(crate) fn run(args: &StatsArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut outcome = Outcome::Good;
    for (at, file) in args.files.iter().enumerate() {
        let mut gaps = Vec::new();
        let decoder = match args.lenient {
            true => Decoder::lenient(),
            false => Decoder::new(),
        };
        let mut summary = match input::open(file) {
            Ok(mut input) => {
                Summary::with_profile(decoder, &mut *input, |gap| gaps.push(gap.to_string()))
            }
            Err(error) => Summary {
                fault: Some(Bad::Io(error)),
                ..Summary::default()
            },
        };
        if summary.fault.is_none() && !gaps.is_empty() {
            summary.fault = Some(Bad::Log(gaps.remove(0)));
        }
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
        gaps.iter().for_each(|gap| complain(file, gap));
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
        if let Some(profile) = &summary.profile {
            profiles(profile, out)?;
        }
    }
    Ok(())
}

/// The most rows of a profile that are for people; JSON has all.
const PROFILE_ROWS: usize = 40;

fn profiles(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    if let Some(rows) = profile.time.rows() {
        let time = &profile.time;
        let ticks = counted(time.ticks, "tick", "ticks");
        let interval = match time.interval {
            Some(interval) => format!(" of {}", duration(interval)),
            None => String::new(),
        };
        writeln!(out)?;
        writeln!(out, "  Time by cost centre: {ticks}{interval}")?;
        let cell = |sum: u64| match time.interval {
            Some(interval) => duration(sum.saturating_mul(interval)),
            None => thousands(sum),
        };
        by_cost_centre(profile, &rows, time.ticks, ("Time", &cell), out)?;
    }
    if let Some(largest) = profile.heap.largest() {
        let samples = counted(profile.heap.samples, "sample", "samples");
        writeln!(out)?;
        writeln!(
            out,
            "  Bytes by cost centre: {samples}; the largest, at {} s, holds {}",
            seconds(largest.time),
            size(largest.bytes)
        )?;
        let rows = profile::rows(&largest.stacks);
        by_cost_centre(profile, &rows, largest.bytes, ("Bytes", &size), out)?;
    }
    Ok(())
}

/// The name of the column of sums, and how one is written.
type Sums<'a> = (&'a str, &'a dyn Fn(u64) -> String);

fn by_cost_centre(
    profile: &Profile,
    rows: &[Row],
    total: u64,
    (head, cell): Sums<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let head = ["Cost centre", "Module", head, "Indiv.", "Inher.", "Source"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for row in rows.iter().take(PROFILE_ROWS) {
        let of = row.id.and_then(|id| profile.cost_centres.get(&id));
        let label = match (row.id, of) {
            (None, _) => "(none)".to_owned(),
            (Some(id), None) => format!("(number {id})"),
            (_, Some(of)) => shortened(&escaped(&of.label), 24),
        };
        let (module, source) = of.map_or(("", ""), |of| (&of.module, &of.source));
        table.push(vec![
            label,
            shortened(&escaped(module), 20),
            cell(row.individual),
            share(row.individual, total),
            share(row.inherited, total),
            escaped(source),
        ]);
    }
    use Align::{Left, Right};
    table::write(out, &[Left, Left, Right, Right, Right, Left], &table)?;
    match rows.len().checked_sub(PROFILE_ROWS) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(out, "  and {more} more, which --json tells"),
    }
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
    time_profile: Option<JsonTime<'a>>,
    heap_profile: Option<JsonHeap<'a>>,
}

/// The time profile of a log that has one.
#[derive(Serialize)]
struct JsonTime<'a> {
    ticks: u64,
    /// Nanoseconds.
    interval: Option<u64>,
    /// Sums are in ticks.
    by_cost_centre: Vec<JsonRow<'a>>,
}

/// The heap profile by cost centre of a log that has one.
#[derive(Serialize)]
struct JsonHeap<'a> {
    samples: u64,
    /// When the largest sample began, and what it holds.
    time: u64,
    bytes: u64,
    /// Sums are in bytes of the largest sample.
    by_cost_centre: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    /// None for what is in no cost centre. The texts are none, too, where the log does not define it.
    id: Option<u32>,
    label: Option<&'a str>,
    module: Option<&'a str>,
    source: Option<&'a str>,
    caf: bool,
    individual: u64,
    inherited: u64,
}

impl<'a> JsonRow<'a> {
    fn all(profile: &'a Profile, rows: &[Row]) -> Vec<Self> {
        rows.iter()
            .map(|row| {
                let of = row.id.and_then(|id| profile.cost_centres.get(&id));
                Self {
                    id: row.id,
                    label: of.map(|of| &*of.label),
                    module: of.map(|of| &*of.module),
                    source: of.map(|of| &*of.source),
                    caf: of.is_some_and(|of| of.is_caf),
                    individual: row.individual,
                    inherited: row.inherited,
                }
            })
            .collect()
    }
}

impl<'a> JsonTime<'a> {
    fn of(profile: &'a Profile) -> Option<Self> {
        Some(Self {
            ticks: profile.time.ticks,
            interval: profile.time.interval,
            by_cost_centre: JsonRow::all(profile, &profile.time.rows()?),
        })
    }
}

impl<'a> JsonHeap<'a> {
    fn of(profile: &'a Profile) -> Option<Self> {
        let largest = profile.heap.largest()?;
        Some(Self {
            samples: profile.heap.samples,
            time: largest.time,
            bytes: largest.bytes,
            by_cost_centre: JsonRow::all(profile, &profile::rows(&largest.stacks)),
        })
    }
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
            time_profile: summary.profile.as_ref().and_then(JsonTime::of),
            heap_profile: summary.profile.as_ref().and_then(JsonHeap::of),
        }
    }
}
