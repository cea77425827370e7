//! What can be said on the command line, and the help.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  every log is good
  1  a log is bad
  2  usage error, or a file cannot be read or written";

const EXAMPLES: &str = "\
Examples:
  eventlog check program.eventlog           is it whole and sound?
  eventlog show program.eventlog | less     what happened, in order?
  eventlog stats program.eventlog           how much of what, and where?
  eventlog tail /run/program.sock           what happens just now?
  eventlog record host:9000 -o my.eventlog  keep it
  eventlog merge a.eventlog b.eventlog -o both.eventlog
  eventlog split long.eventlog --every 10 -o long
  eventlog replay rts.writes -o rts.eventlog
  eventlog flamegraph program.eventlog -o time.svg

Exit codes:
  0  every log is good
  1  a log is bad
  2  usage error, or a file cannot be read or written";

/// Checks, shows, summarises, follows and records event logs in GHC's format
///
/// A Haskell program writes such a log when it is run with `+RTS -l`, a Rust program by the crate
/// ghc-eventlog. Logs of GHC 6.12 to 9.12 are read.
#[derive(Parser, Debug)]
#[command(name = "eventlog", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Check(CheckArgs),
    Show(ShowArgs),
    Stats(StatsArgs),
    Tail(TailArgs),
    Record(RecordArgs),
    Merge(MergeArgs),
    Split(SplitArgs),
    Replay(ReplayArgs),
    #[cfg(target_os = "linux")]
    Objects(ObjectsArgs),
    Flamegraph(FlamegraphArgs),
    Renumber(RenumberArgs),
}

/// Check that logs are whole and that every event can be read
///
/// Prints one line for each file: "FILE: ok, ..." or "FILE: byte OFFSET: REASON" with the first
/// fault. The framing must be without fault from the header to the end marker, with nothing behind
/// it, and the payload of every event must be that of its type. Events are counted with their
/// block markers, which are events too.
#[derive(ClapArgs, Debug)]
#[command(after_help = concat_help("\
Examples:
  eventlog check program.eventlog
  eventlog check *.eventlog && echo all good
  ssh host cat program.eventlog | eventlog check -
"))]
pub(crate) struct CheckArgs {
    /// Logs; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

/// Print the events of a log, one a line
///
/// A line is the time in seconds since the program's start (of a Rust program: since the log's), the
/// capability ("-" for none), and the event. Block markers are left out. Events of the same time stay
/// in the order of the log. Sorting a file takes memory for the blocks that overlap in time, sorting
/// what comes by a pipe about as much as the log is long. Of a log that is bad, what comes before
/// the fault is shown, then the fault is told.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog show program.eventlog
  eventlog show --cap 0 --limit 20 program.eventlog
  eventlog show --lenient damaged.eventlog
  eventlog show --unsorted - < program.eventlog | grep 'user message'

Exit codes:
  0  the log is good
  1  the log is bad, or no event is of the capability that --cap names
  2  usage error, or the file cannot be read")]
pub(crate) struct ShowArgs {
    /// The log; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Keep the order of the log, in which capabilities take turns, and print while reading
    #[arg(long)]
    pub(crate) unsorted: bool,
    /// Go on after what is broken, at the next block or log that can be read, and tell what was left
    /// out. Takes about as much memory as the log is long, unless it is unsorted
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Show this capability's events only; "none" for events that belong to none
    #[arg(long, value_name = "N", value_parser = parse_cap)]
    pub(crate) cap: Option<Cap>,
    /// Show the first N events only
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

/// A capability, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cap(pub(crate) Option<u16>);

fn parse_cap(text: &str) -> Result<Cap, String> {
    match text {
        "none" | "-" => Ok(Cap(None)),
        _ => match text.parse::<u16>() {
            Ok(number) if number < u16::MAX => Ok(Cap(Some(number))),
            _ => Err("a capability is a number from 0 to 65534, or \"none\"".to_owned()),
        },
    }
}

/// Summarise logs: events and bytes by capability and by type, times, profiles, and what program it was
///
/// Where a log holds a profile by cost centre, it is told what each cost: of the time profile the ticks, of
/// the heap profile the bytes of the sample that holds the most. The share "Indiv." is what was spent in the
/// cost centre itself, "Inher." takes in what it called. What belongs to no cost centre is "(none)", and GHC's
/// own cost centres (GC, IDLE and others) count like any. Of a log that is bad, what comes before the fault is summarised, then the fault is told. Logs are
/// streamed, so they may be of any length.
#[derive(ClapArgs, Debug)]
#[command(after_help = concat_help("\
With --json there is one object a line for each file. Times are in nanoseconds since the program's \
start (of a Rust program: since the log's). Block markers are counted in events, counts and names, not in events_per_cap. Keys are \
capabilities (\"none\" for none, 65535 in blocks_per_cap), or numbers or names of event types. \
Individual and inherited costs are in ticks of the time profile, and in bytes of the heap profile.

Examples:
  eventlog stats program.eventlog
  eventlog stats --json *.eventlog | jq -r 'select(.ok | not) | .file'
"))]
pub(crate) struct StatsArgs {
    /// Logs; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Print JSON, one object a line for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on after what is broken, at the next block or log that can be read, and tell what was left out
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Print the events of a log while it is being written
///
/// SOURCE is a Unix socket or a HOST:PORT at which a program serves its log, or a file that grows.
/// Events are printed as by "show --unsorted" as soon as they come, until the log ends, N events
/// have been printed, or Ctrl-C.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog tail /run/program.sock
  eventlog tail localhost:9000 --count 100
  eventlog tail program.eventlog --cap 0

Exit codes:
  0  the log has ended, N events have been printed, or Ctrl-C
  1  the log is bad, or its source has ended before it
  2  usage error, or the source cannot be read")]
pub(crate) struct TailArgs {
    /// A Unix socket, HOST:PORT, or a file; - for standard input
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// End after N events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Show this capability's events only; "none" for events that belong to none
    #[arg(long, value_name = "N", value_parser = parse_cap)]
    pub(crate) cap: Option<Cap>,
}

/// Write a log that is served to a file
///
/// SOURCE is a Unix socket or a HOST:PORT at which a program serves its log, or a file. The log is
/// checked while it comes, and written a block at a time, with an end marker behind it: the file is a
/// whole log at any time, also when the connection breaks, or after Ctrl-C. The last block may be
/// unfinished then, as it is in a log that is cut: its whole events are a shorter block in the file.
/// Tells what it got, and what was left out.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog record /run/program.sock -o program.eventlog
  eventlog record localhost:9000 -o - | ssh host 'cat > program.eventlog'
  eventlog record cut.eventlog -o mended.eventlog

Exit codes:
  0  the log has ended, or Ctrl-C
  1  the log is bad, or its source has ended before it
  2  usage error, or the source cannot be read, or the file cannot be written")]
pub(crate) struct RecordArgs {
    /// A Unix socket, HOST:PORT, or a file; - for standard input
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Where the log goes; a file that is there is replaced; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Put several logs of one program together
///
/// The logs are pieces of one time line, as when the log of a running program was sent first to one
/// file and then to another, or when several readers recorded it. Events are merged by time, those
/// that several logs hold are kept once, and no number is changed. What the headers declare must agree.
///
/// A log that was sent to another file begins there with what its threads did last, at the times at
/// which they last ran. What the logs before it tell of that is dropped. The rest is kept, so that a
/// piece may be missing; a thread that runs as far as is known, and has done something else since, or
/// has gone, is stopped before that shows. A merged log does not tell any more what was at the
/// beginning of its pieces: they are merged all at once, or from the first one on.
///
/// With --processes the logs are of several processes: their times are aligned by the wall clock
/// that each log tells, and capabilities, capability sets and threads get new numbers; cost centres,
/// ticky counters and tasks keep theirs, and nothing is dropped. Of a log that is bad, what comes
/// before the fault is merged, and with --lenient what can be read of the rest.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog merge morning.eventlog evening.eventlog -o day.eventlog
  eventlog merge --processes server.eventlog client.eventlog -o both.eventlog

Exit codes:
  0  the logs are good and have been merged
  1  a log is bad, or the logs do not belong together
  2  usage error, or a file cannot be read or written")]
pub(crate) struct MergeArgs {
    /// The logs
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Where the log goes; a file that is there is replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The logs are of several processes
    #[arg(long)]
    pub(crate) processes: bool,
    /// Go on after what is broken, at the next block or log that can be read, and tell what was left out
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Make several logs of one: by time, by capability or by size
///
/// Each piece is a log by itself: it begins with the header, and with what was said before it and
/// is still so: capabilities and their sets, the program, the names of threads and what they do, and
/// the definitions of profiles, at the times at which that was said. Files that are there are
/// replaced. Of a log that is bad, what comes before the fault is split, and with --lenient what can be
/// read of the rest.
///
/// Pieces are numbered with three digits, by --every with as many as the last one takes. By --size it is
/// not known before how many there will be: -1000 comes after -999, and before it where names are sorted
/// ("sort -V" has them in order).
#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "eventlog split <FILE> --output <STEM> <HOW>...",
    group = clap::ArgGroup::new("how").args(["every", "size", "caps", "from", "to"]).required(true).multiple(true),
    after_help = "\
Examples:
  eventlog split long.eventlog --from 1.5 --to 2 -o short    makes short.eventlog
  eventlog split long.eventlog --every 10 -o long            makes long-001.eventlog, ...
  eventlog split long.eventlog --size 64M -o long            makes long-001.eventlog, ...
  eventlog split long.eventlog --caps -o long                makes long-cap0.eventlog, ...

Exit codes:
  0  the log is good and has been split
  1  the log is bad, or has no events there
  2  usage error, or a file cannot be read or written")]
pub(crate) struct SplitArgs {
    /// The log
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// What the names of the pieces begin with
    #[arg(short, long, value_name = "STEM")]
    pub(crate) output: PathBuf,
    /// Leave out what was before that time, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) from: Option<u64>,
    /// Leave out what was at that time and later, in seconds; it must be after --from
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) to: Option<u64>,
    /// A piece for every so many seconds in which there are events; at least 0.001
    #[arg(long, value_name = "SECONDS", value_parser = parse_span, conflicts_with_all = ["size", "caps"])]
    pub(crate) every: Option<u64>,
    /// Pieces of at most so many bytes, or so many with K, M or G behind the number. A piece is
    /// longer only where what must be told first and one event are
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "caps")]
    pub(crate) size: Option<u64>,
    /// A piece for each capability, and one for what belongs to none
    #[arg(long)]
    pub(crate) caps: bool,
    /// Go on after what is broken, at the next block or log that can be read, and tell what was left out
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// The shortest span of time for which a piece is made, in nanoseconds: each piece is a file, with all that it must be
/// told first.
const LEAST_SPAN: u64 = 1_000_000;

/// Seconds with up to nine decimals, in nanoseconds.
fn parse_seconds(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if digits(whole) && digits(decimals) && decimals.len() <= 9 && !text.ends_with('.')
    {
        let whole = whole.parse::<u64>().ok();
        let nanoseconds = format!("{decimals:0<9}").parse::<u64>().ok();
        whole
            .and_then(|whole| whole.checked_mul(1_000_000_000))
            .zip(nanoseconds)
            .and_then(|(whole, nanoseconds)| whole.checked_add(nanoseconds))
    } else {
        None
    };
    parsed.ok_or_else(|| "a time is a number of seconds with up to nine decimals".to_owned())
}

fn parse_span(text: &str) -> Result<u64, String> {
    match parse_seconds(text)? {
        span if span < LEAST_SPAN => {
            let least = LEAST_SPAN as f64 / 1e9;
            Err(format!("a span of time is at least {least} seconds"))
        }
        span => Ok(span),
    }
}

/// Bytes, as in "64M".
fn parse_size(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) if text.ends_with('K') => (number, 1 << 10),
        Some(number) if text.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1u64 << 30),
        None => (text, 1),
    };
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err("a size is a number of bytes, with K, M or G behind it or not".to_owned());
    }
    let parsed = number.parse::<u64>().ok();
    match parsed.and_then(|number| number.checked_mul(factor)) {
        Some(0) => Err("a size is at least 1 byte".to_owned()),
        Some(size) => Ok(size),
        None => Err(format!("a size is at most {} bytes", u64::MAX)),
    }
}

/// Tell what profiled objects carry, and whether a program would load them
///
/// An object is a shared library that a Rust program with the crate ghc-eventlog loads and unloads while it
/// runs. Its file is looked into, and no code of it runs. Prints its name, its cost centres, the libraries that it needs,
/// and what may keep it mapped when it is unloaded; or why it is not loaded.
#[cfg(target_os = "linux")]
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog objects target/release/libsample_object.so

Exit codes:
  0  a program of this version would load every object
  1  it would refuse one
  2  usage error, or a file cannot be read")]
pub(crate) struct ObjectsArgs {
    /// Objects
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A symbol that the program exports for its objects besides those of the crate
    #[arg(long, value_name = "SYMBOL")]
    pub(crate) export: Vec<String>,
}

/// Make a log of the recorded writes of a run-time system
///
/// WRITES holds what GHC's run-time system handed to its event log writer, call by call: for each
/// write its length, four bytes big-endian, and its bytes. Headers that come again, end markers
/// before the end and events that have lost their block marker are mended; writes that do not parse
/// are left out. Tells what was done, and whether the log that came out is good.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog replay rts.writes -o rts.eventlog
  gunzip -c rts.writes.gz | eventlog replay - -o rts.eventlog

Exit codes:
  0  the log is good and nothing was left out
  1  something was left out, or WRITES is cut or no capture
  2  usage error, or a file cannot be read or written")]
pub(crate) struct ReplayArgs {
    /// The recorded writes; - for standard input
    #[arg(value_name = "WRITES")]
    pub(crate) writes: PathBuf,
    /// Where the log goes; a file that is there is replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Draw a profile by cost centre as a flame graph
///
/// Draws the time profile, where each tick of each capability counts one; with --bytes the sample of the heap
/// profile that holds the most. Frames are named MODULE.LABEL; those of one name that are called from the same
/// frame are one. The picture is an SVG that a browser lets you search and zoom. Of a log that is bad, what
/// comes before the fault is drawn, then the fault is told.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog flamegraph program.eventlog -o time.svg
  eventlog flamegraph --bytes program.eventlog -o bytes.svg
  eventlog flamegraph --folded program.eventlog | sort -k 2 -n | tail

Exit codes:
  0  the profile has been drawn
  1  the log is bad, or holds no such profile
  2  usage error, or a file cannot be read or written")]
pub(crate) struct FlamegraphArgs {
    /// The log; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Where the picture goes; a file that is there is replaced; standard output where none is named, or -
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw what was live, not what took time
    #[arg(long)]
    pub(crate) bytes: bool,
    /// Write the stacks as text, a line each: frames, outermost first, with semicolons between, and the sum. In
    /// names, semicolons become commas, and blanks underscores
    #[arg(long)]
    pub(crate) folded: bool,
}

/// Number the cost centres of a log without gaps, in the order that hs-speedscope takes them in
///
/// Some tools find a cost centre by where its definition stands among the others, as a log of GHC has them:
/// first its seven own, then the rest with falling numbers, down to 1. In the log that is written all definitions
/// stand so, before everything else, and samples have the new numbers. Own cost centres of GHC that the log does not
/// have are put in, and so is a name for a cost centre that a sample has and the log does not define. All else is
/// as it was.
#[derive(ClapArgs, Debug)]
#[command(after_help = "\
Examples:
  eventlog renumber program.eventlog -o dense.eventlog && hs-speedscope dense.eventlog

Exit codes:
  0  the log is good and has been renumbered
  1  the log is bad, or holds no cost centre
  2  usage error, or a file cannot be read or written")]
pub(crate) struct RenumberArgs {
    /// The log
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Where the log goes; a file that is there is replaced
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

fn concat_help(text: &str) -> String {
    format!("{text}\n{EXIT_CODES}")
}
