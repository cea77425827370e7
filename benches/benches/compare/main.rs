//! Compares chunkring with other queues, and events with those of other crates, in one run on two cores: `--help` says how, `benches/README.md` what for.

mod binary;
mod events;
mod loops;
mod machine;
mod queues;
mod report;
mod slices;
mod suites;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use report::{Place, Sample};
use suites::{Row, Suite};

/// Compares chunkring with other queues.
///
/// Every round measures each queue of a suite once, one after the other, so that whatever the machine does meanwhile
/// does to all of them. Before and after each sample the round trip of a cache line between the two cores tells whether
/// they are near to each other or far apart; a sample with both is dropped. Ratios are against the queue that is named
/// at the top of the column, by rounds: 2.00 is twice as fast.
#[derive(Parser)]
#[command(name = "compare")]
struct Options {
    /// The beginnings of the names of the suites to run; all where none is given
    suites: Vec<String>,

    /// Lists the suites
    #[arg(long)]
    list: bool,

    /// Samples of each queue
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Milliseconds that a sample takes, about
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    ms: u32,

    /// Only queues whose names contain one of these
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    queues: Vec<String>,

    /// The producer's core and the consumer's; else the first two that the process may use
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    cores: Option<Vec<usize>>,

    /// Nanoseconds of a line's round trip from which on two cores count as far apart
    #[arg(long, value_name = "NS", default_value_t = 220)]
    far: u32,

    /// Moves so many items through the one queue that has the name given by `--queues`, in the one suite named, and
    /// measures nothing; for tools that count instructions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    once: Option<u64>,

    /// What `cargo bench` passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    // `cargo test --all-targets` runs benches without any argument.
    if std::env::args().len() == 1 {
        println!("Nothing to do: see --help, or run it by `cargo bench`.");
        return;
    }
    let options = Options::parse();
    if let Err(message) = run(&options) {
        Options::command()
            .error(ErrorKind::InvalidValue, message)
            .exit();
    }
}

fn run(options: &Options) -> Result<(), String> {
    let mut suites = suites::all();
    if options.list {
        for suite in &suites {
            println!("{:<20} {}", suite.name, suite.about);
        }
        return Ok(());
    }
    if let Some(items) = options.once {
        return once(options, &suites, items);
    }
    for prefix in &options.suites {
        if !suites.iter().any(|suite| suite.name.starts_with(prefix)) {
            return Err(format!(
                "no suite's name begins with '{prefix}' (--list shows all)"
            ));
        }
    }
    let chosen = |name: &str| {
        options.suites.is_empty() || options.suites.iter().any(|prefix| name.starts_with(prefix))
    };
    suites.retain(|suite| chosen(&suite.name));
    if !options.queues.is_empty() {
        for suite in &mut suites {
            let named = |row: &Row| options.queues.iter().any(|part| row.queue.contains(part));
            suite.rows.retain(named);
        }
        suites.retain(|suite| !suite.rows.is_empty());
        if suites.is_empty() {
            return Err(format!(
                "no queue is called {}",
                options.queues.join(" or ")
            ));
        }
    }
    machine::choose_cores(options.cores.as_deref())?;
    println!(
        "{}; a line's round trip: {:.0} ns",
        machine::describe(),
        machine::round_trip()
    );
    for suite in &suites {
        let samples = measure(options, suite);
        report::print(suite, &samples);
    }
    println!("\nload at the end: {}", machine::load());
    Ok(())
}

/// All samples of a suite but the mixed ones.
fn measure(options: &Options, suite: &Suite) -> Vec<Sample> {
    eprintln!("{} ...", suite.name);
    let items: Vec<_> = suite
        .rows
        .iter()
        .map(|row| calibrate(row, f64::from(options.ms) * 1e6))
        .collect();
    let place = || {
        if !suite.two_cores {
            Place::One
        } else if machine::round_trip() < f64::from(options.far) {
            Place::Near
        } else {
            Place::Far
        }
    };
    let mut samples = Vec::new();
    let count = suite.rows.len();
    for round in 0..options.rounds as usize {
        for step in 0..count {
            // Backwards in every other round, so that nobody always comes after the same one.
            let step = if round % 2 == 0 {
                step
            } else {
                count - 1 - step
            };
            let row = (step + round) % count;
            let before = place();
            let nanoseconds = (suite.rows[row].run)(items[row]);
            if place() == before {
                samples.push(Sample {
                    row,
                    round,
                    place: before,
                    nanoseconds,
                });
            }
        }
    }
    samples
}

/// As many items as take about so many nanoseconds.
fn calibrate(row: &Row, nanoseconds: f64) -> u64 {
    let mut items = 16_384;
    loop {
        let each: f64 = (row.run)(items).iter().sum();
        let took = each * items as f64;
        if took >= nanoseconds / 4.0 {
            return (nanoseconds / each).max(1_000.0) as u64;
        }
        items *= ((nanoseconds / 2.0 / took) as u64).clamp(2, 16);
    }
}

fn once(options: &Options, suites: &[Suite], items: u64) -> Result<(), String> {
    let ([suite], [queue]) = (&options.suites[..], &options.queues[..]) else {
        return Err("--once takes one suite, and one queue by --queues".to_owned());
    };
    let suite = suites
        .iter()
        .find(|other| other.name == *suite)
        .ok_or_else(|| format!("no suite is called '{suite}' (--list shows all)"))?;
    let row = suite
        .rows
        .iter()
        .find(|row| row.queue == queue)
        .ok_or_else(|| format!("no queue of {} is called '{queue}'", suite.name))?;
    if suite.two_cores {
        machine::choose_cores(options.cores.as_deref())?;
    }
    counted(row, items);
    Ok(())
}

/// A name by which tools find the items' work.
#[inline(never)]
fn counted(row: &Row, items: u64) {
    (row.run)(items);
}
