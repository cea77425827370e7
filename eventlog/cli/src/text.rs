//! One event as text, on one line.

use std::fmt::Write;

use ghc_eventlog::format::{
    CapsetType, Decoded, Event, EventType, Header, HeapBreakdown, StopStatus, UserEvent, Value,
};

use crate::units::{counted, size};

/// The event in words. Those of types without an [`Event`] have the name that the header gives
/// them, and their payload as hexadecimal digits.
pub(crate) fn of(event: Decoded<'_>, header: &Header) -> String {
    match event {
        Decoded::Known(event) => known(&event),
        Decoded::User(event) => user(&event),
        Decoded::Other { id, payload } => {
            let name = type_name(id, header);
            if payload.is_empty() {
                name
            } else {
                format!("{name}: {}", hex(payload))
            }
        }
    }
}

/// An event of the program's own: its name, then each field's name and value.
fn user(event: &UserEvent<'_>) -> String {
    let mut text = escaped(event.name());
    for (at, (field, value)) in event.fields().enumerate() {
        text.push_str(if at == 0 { ": " } else { ", " });
        text.push_str(field.name());
        text.push(' ');
        text.push_str(&match value {
            Value::U8(number) => number.to_string(),
            Value::U16(number) => number.to_string(),
            Value::U32(number) => number.to_string(),
            Value::U64(number) => number.to_string(),
            Value::I64(number) => number.to_string(),
            Value::F64(number) => number.to_string(),
            Value::Str(text) => format!("\"{}\"", escaped(text)),
            Value::Bytes(bytes) => hex(bytes),
            other => format!("{other:?}"),
        });
    }
    text
}

/// What the header calls a type.
pub(crate) fn type_name(id: u16, header: &Header) -> String {
    let declared = header
        .event_types()
        .iter()
        .rev()
        .find(|known| known.id == id);
    let name = declared.map_or("", |EventType { description, .. }| description.trim());
    format!("[{id}] {}", escaped(name))
}

fn known(event: &Event<'_>) -> String {
    match *event {
        Event::CreateThread { thread } => format!("create thread {thread}"),
        Event::RunThread { thread } => format!("run thread {thread}"),
        Event::StopThread {
            thread,
            status,
            info,
        } => format!("stop thread {thread}: {}", stop_status(status, info)),
        Event::ThreadRunnable { thread } => format!("thread {thread} is runnable"),
        Event::MigrateThread { thread, to } => format!("migrate thread {thread} to cap {to}"),
        Event::ThreadWakeup { thread, other } => format!("wake up thread {thread} on cap {other}"),
        Event::CreateSparkThread { thread } => format!("create spark thread {thread}"),
        Event::ThreadLabel { thread, label } => {
            format!("label thread {thread}: {}", escaped(label))
        }

        Event::GcStart => "GC starts".to_owned(),
        Event::GcEnd => "GC ends".to_owned(),
        Event::RequestSeqGc => "request sequential GC".to_owned(),
        Event::RequestParGc => "request parallel GC".to_owned(),
        Event::GcIdle => "GC idle".to_owned(),
        Event::GcWork => "GC working".to_owned(),
        Event::GcDone => "GC done".to_owned(),
        Event::GcGlobalSync => "all capabilities stopped for GC".to_owned(),
        Event::GcStatsGhc {
            capset,
            generation,
            copied,
            slop,
            fragmentation,
            par_threads,
            par_max_copied,
            par_total_copied,
            par_balanced_copied,
        } => format!(
            "GC statistics of heap {capset}: generation {generation}, {} copied, {} slop, {} \
             fragmentation, {par_threads} threads, {} by the busiest, {} by all, {} balanced",
            size(copied),
            size(slop),
            size(fragmentation),
            size(par_max_copied),
            size(par_total_copied),
            size(par_balanced_copied),
        ),
        Event::HeapAllocated { capset, bytes } => {
            format!("allocated on heap {capset} so far: {}", size(bytes))
        }
        Event::HeapSize { capset, bytes } => format!("size of heap {capset}: {}", size(bytes)),
        Event::BlocksSize { capset, bytes } => {
            format!("size of heap {capset} in blocks: {}", size(bytes))
        }
        Event::HeapLive { capset, bytes } => format!("live on heap {capset}: {}", size(bytes)),
        Event::HeapInfoGhc {
            capset,
            generations,
            max_heap_size,
            allocation_area_size,
            mblock_size,
            block_size,
        } => {
            let max = match max_heap_size {
                0 => "any size".to_owned(),
                bytes => format!("at most {}", size(bytes)),
            };
            format!(
                "heap {capset}: {generations} generations, {max}, allocation area {}, megablock \
                 {}, block {}",
                size(allocation_area_size),
                size(mblock_size),
                size(block_size),
            )
        }
        Event::MemReturn {
            capset,
            current,
            needed,
            returned,
        } => format!(
            "megablocks of heap {capset}: {current} held, {needed} needed, {returned} returned"
        ),

        Event::UserMessage { text } => format!("user message: {}", escaped(text)),
        Event::UserMarker { name } => format!("user marker: {}", escaped(name)),
        Event::UserBinaryMessage { bytes } => {
            format!("user binary message: {}", hex(bytes))
        }
        Event::LogMessage { text } => format!("log message: {}", escaped(text)),

        Event::CapsetCreate { capset, kind } => {
            let kind = match kind {
                CapsetType::Custom => "custom",
                CapsetType::OsProcess => "process",
                CapsetType::ClockDomain => "clock domain",
            };
            format!("create capability set {capset} ({kind})")
        }
        Event::CapsetDelete { capset } => format!("delete capability set {capset}"),
        Event::CapsetAssignCap { capset, cap } => {
            format!("cap {cap} joins capability set {capset}")
        }
        Event::CapsetRemoveCap { capset, cap } => {
            format!("cap {cap} leaves capability set {capset}")
        }
        Event::CapCreate { cap } => format!("create cap {cap}"),
        Event::CapDelete { cap } => format!("delete cap {cap}"),
        Event::CapDisable { cap } => format!("disable cap {cap}"),
        Event::CapEnable { cap } => format!("enable cap {cap}"),
        Event::RtsIdentifier { capset, name } => {
            format!("run-time system of {capset}: {}", escaped(name))
        }
        Event::ProgramArgs { capset, args } => format!("program arguments of {capset}: {args:?}"),
        Event::ProgramEnv { capset, vars } => format!("environment of {capset}: {vars:?}"),
        Event::OsProcessPid { capset, pid } => format!("process id of {capset}: {pid}"),
        Event::OsProcessPpid { capset, ppid } => format!("parent process id of {capset}: {ppid}"),
        Event::WallClockTime {
            capset,
            unix_seconds,
            nanoseconds,
        } => format!("wall clock of {capset}: {unix_seconds}.{nanoseconds:09} s since 1970"),

        Event::TaskCreate {
            task,
            cap,
            kernel_thread,
        } => format!(
            "create task {task:#x} on cap {cap} (kernel thread {kernel_thread})",
            task = task.0
        ),
        Event::TaskMigrate { task, from, to } => {
            format!("migrate task {:#x} from cap {from} to cap {to}", task.0)
        }
        Event::TaskDelete { task } => format!("delete task {:#x}", task.0),

        Event::SparkCounters {
            created,
            dud,
            overflowed,
            converted,
            gcd,
            fizzled,
            remaining,
        } => format!(
            "sparks: {created} created, {dud} dud, {overflowed} overflowed, {converted} \
             converted, {gcd} collected, {fizzled} fizzled, {remaining} remaining"
        ),
        Event::SparkCreate => "spark created".to_owned(),
        Event::SparkDud => "spark is a dud".to_owned(),
        Event::SparkOverflow => "spark overflowed".to_owned(),
        Event::SparkRun => "run spark".to_owned(),
        Event::SparkSteal { victim } => format!("steal spark from cap {victim}"),
        Event::SparkFizzle => "spark fizzled".to_owned(),
        Event::SparkGc => "spark collected".to_owned(),

        Event::HeapProfBegin {
            profile,
            period_ns,
            breakdown,
            filter: _,
        } => format!(
            "heap profile {profile} begins: by {}, every {period_ns} ns",
            heap_breakdown(breakdown)
        ),
        Event::HeapProfCostCentre {
            cost_centre,
            label,
            module,
            location,
            flags,
        } => {
            let caf = if flags.is_caf() { ", a CAF" } else { "" };
            let (label, module) = (escaped(label.as_str()), escaped(module.as_str()));
            let location = escaped(location.as_str());
            format!("cost centre {cost_centre}: {module}.{label} at {location}{caf}")
        }
        Event::HeapProfSampleBegin { era } => format!("heap sample {era} begins"),
        Event::HeapBioProfSampleBegin { era, time_ns } => {
            format!("biographical heap sample {era} begins, of {time_ns} ns")
        }
        Event::HeapProfSampleEnd { era } => format!("heap sample {era} ends"),
        Event::HeapProfSampleCostCentre {
            profile,
            residency,
            stack,
        } => format!(
            "heap profile {profile}: {} held by cost centres {stack:?}",
            size(residency)
        ),
        Event::HeapProfSampleString {
            profile,
            residency,
            label,
        } => {
            let label = escaped(label.as_str());
            format!(
                "heap profile {profile}: {} held by {label}",
                size(residency)
            )
        }
        Event::ProfBegin { tick_interval_ns } => {
            format!("time profile begins: a tick every {tick_interval_ns} ns")
        }
        Event::ProfSampleCostCentre { cap, tick, stack } => {
            format!("tick {tick} on cap {cap}: in cost centres {stack:?}")
        }
        Event::InfoTable {
            info,
            name,
            closure_description,
            type_description,
            label,
            module,
            location,
        } => {
            let [name, closure, kind, label, module, location] = [
                name,
                closure_description,
                type_description,
                label,
                module,
                location,
            ]
            .map(|text| escaped(text.as_str()));
            format!(
                "info table {info:#x}: {name}, closure type {closure}, type {kind}, {module}.{label} \
                 at {location}"
            )
        }

        Event::ConcMarkBegin => "concurrent mark begins".to_owned(),
        Event::ConcMarkEnd { marked_objects } => {
            format!("concurrent mark ends: {marked_objects} objects marked")
        }
        Event::ConcSyncBegin => "synchronisation after concurrent mark begins".to_owned(),
        Event::ConcSyncEnd => "synchronisation after concurrent mark ends".to_owned(),
        Event::ConcSweepBegin => "concurrent sweep begins".to_owned(),
        Event::ConcSweepEnd => "concurrent sweep ends".to_owned(),
        Event::ConcUpdRemSetFlush { cap } => format!("remembered set of cap {cap} flushed"),
        Event::NonmovingHeapCensus {
            block_size,
            active_segments,
            filled_segments,
            live_blocks,
        } => format!(
            "non-moving heap census of {block_size}-byte blocks: {active_segments} active and \
             {filled_segments} filled segments, {live_blocks} live blocks"
        ),
        Event::NonmovingPrunedSegments { pruned, free } => {
            format!("non-moving heap: {pruned} segments pruned, {free} free")
        }

        Event::TickyCounterDef {
            counter,
            arity,
            argument_kinds,
            name,
            info: _,
        } => {
            let (kinds, name) = (escaped(argument_kinds.as_str()), escaped(name.as_str()));
            format!("ticky counter {counter:#x}: {name}, {arity} arguments ({kinds})")
        }
        Event::TickyCounterBeginSample => "ticky sample begins".to_owned(),
        Event::TickyCounterSample {
            counter,
            entries,
            allocations,
            allocated,
        } => format!(
            "ticky counter {counter:#x}: {entries} entries, {} allocated, {} for closures",
            size(allocations),
            size(allocated)
        ),
        Event::EventsLost {
            cause,
            events,
            bytes,
        } => {
            let count = counted(events, "event", "events");
            let bytes = match bytes {
                0 => String::new(),
                some => format!(", {}", size(some)),
            };
            format!("lost here: {count}{bytes} ({cause})")
        }
        event => format!("{event:?}"),
    }
}

fn stop_status(status: StopStatus, info: u32) -> String {
    let text = match status {
        StopStatus::HeapOverflow => "heap overflow",
        StopStatus::StackOverflow => return format!("stack overflow (size {info})"),
        StopStatus::Yielding => "yielding",
        StopStatus::Finished => "finished",
        StopStatus::ForeignCall => "making a foreign call",
        StopStatus::BlockedOnMVar => "blocked on an MVar",
        StopStatus::BlockedOnMVarRead => "blocked on reading an MVar",
        StopStatus::BlockedOnBlackHole => {
            return format!("blocked on a value that thread {info} computes");
        }
        StopStatus::BlockedOnRead => "blocked on reading a file",
        StopStatus::BlockedOnWrite => "blocked on writing a file",
        StopStatus::BlockedOnDelay => "blocked on a delay",
        StopStatus::BlockedOnStm => "blocked in STM",
        StopStatus::BlockedOnDoProc => "blocked on an asynchronous call",
        StopStatus::BlockedOnMsgThrowTo => "blocked on throwTo",
    };
    text.to_owned()
}

/// What a heap profile is grouped by.
pub(crate) fn heap_breakdown(breakdown: HeapBreakdown) -> &'static str {
    match breakdown {
        HeapBreakdown::CostCentre => "cost centre",
        HeapBreakdown::Module => "module",
        HeapBreakdown::ClosureDescription => "closure description",
        HeapBreakdown::TypeDescription => "type",
        HeapBreakdown::Retainer => "retainer",
        HeapBreakdown::Biography => "biography",
        HeapBreakdown::ClosureType => "closure type",
        HeapBreakdown::InfoTable => "info table",
        HeapBreakdown::Era => "era",
    }
}

/// The text without what would break the line or confuse a terminal.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The first bytes as hexadecimal digits, and how many there are.
fn hex(bytes: &[u8]) -> String {
    const MOST: usize = 32;
    let mut out = String::new();
    for byte in bytes.iter().take(MOST) {
        let _ = write!(out, "{byte:02x}");
    }
    let dots = if bytes.len() > MOST { "..." } else { "" };
    format!("{out}{dots} ({} bytes)", bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_its_line() {
        assert_eq!(escaped("a\nb\u{1b}[1mß"), r"a\nb\u{1b}[1mß");
    }

    #[test]
    fn long_binary_messages_are_cut() {
        assert_eq!(hex(&[1, 255]), "01ff (2 bytes)");
        assert_eq!(hex(&[0; 33]), format!("{}... (33 bytes)", "00".repeat(32)));
    }
}
